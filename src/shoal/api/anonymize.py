"""``shoal.anonymize``: from a table and a policy to a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from shoal.api.arguments import PolicyWords, Progress, Source, opened, policy_of

if TYPE_CHECKING:
    from shoal.model.plan import Plan
    from shoal.release.make.release import Release
    from shoal.release.policy.policy import Policy


def anonymize(
    table: Source,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    *,
    key_file: str | Path | None = None,
    format: str = "csv",
    plan: Plan | str | Path | None = None,
    to_table: str | None = None,
    previous: Sequence[str | Path] = (),
    progress: Progress | None = None,
    **words: Unpack[PolicyWords],
) -> Release:
    """Make a table safe to share, and prove it.

    Parameters
    ----------
    table : Table, path, URL or frame
        Whatever :func:`shoal.open` takes, or what it gave.
    policy : Policy, mapping or path
        What is asked; keywords (``quasi=…, sensitive=…, k=5``) may say it instead.
    key_file : path, optional
        Ed25519 key to sign with (mode 0600). Without it ``SHOAL_SIGNING_KEY_FILE`` or ``SHOAL_SIGNING_KEY`` is used, or a key
        is made for this release.
    format : str
        ``csv``, ``parquet``, ``arrow``, ``excel``, ``spss`` or ``stata``.
    plan : Plan or path, optional
        A plan.json made earlier: no search; the plan is carried out on these data and everything is checked again.
    to_table : str, optional
        Publish the data as a new table of this name in the database of the input, instead of a file.
    previous : sequence of paths
        Folders of earlier releases of the same people: the composition is attacked before anything is written.

    Returns
    -------
    Release
        ``r.write("release/")``, ``r.certificate``, ``r.report()``, ``r.k``, ``r.plan``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31, 32, 33, 45, 46, 47] * 2, "ill": ["flu", "cold"] * 6})
    >>> r = anonymize(people, quasi={"age": {"hierarchy": {"intervals": [10]}}}, sensitive=["ill"], k=3)
    >>> r.k, r.certificate["after"]["classes"]
    (6, 2)
    """
    from shoal.release.make.release import anonymize as decide
    from shoal.release.plan.earlier_plan import read_plan
    from shoal.release.plan.prepare import silent

    asked = policy_of(policy, words)
    earlier = tuple(Path(p) for p in previous)
    given = read_plan(plan) if isinstance(plan, str | Path) else plan
    return decide(
        opened(table),
        asked,
        key_file=key_file,
        format=format,
        progress=progress or silent,
        earlier=earlier,
        plan=given,
        to_table=to_table,
    )

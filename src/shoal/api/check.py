"""``check``: does a table, as it is, meet a policy? The gate of pipelines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from shoal.api.arguments import PolicyOptions, Source, opened, policy_of
from shoal.model.display import Progress
from shoal.release.events.gate import check_events
from shoal.release.gate.check import check as judge_table
from shoal.release.gate.result import CheckResult
from shoal.release.policy.policy import Policy


def check(
    table: Source,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    *,
    progress: Progress | None = None,
    **options: Unpack[PolicyOptions],
) -> CheckResult:
    """Count a table where it is and judge it by a policy; nothing is written and nothing is changed.

    Direct identifiers that the policy names must be gone: each one still there is a failed requirement.

    Parameters
    ----------
    table : Table, path, URL or frame
        Anything that :func:`shoal.open` accepts, or a table that it returned.
    policy : Policy, mapping or path
        The requirements; keywords (``quasi=…, sensitive=…, k=5``) may state them instead.

    Returns
    -------
    CheckResult
        ``c.met``, ``c.findings``, ``c.failed``, ``c.render("junit")``.

    Examples
    --------
    >>> people = {"age": [31, 31, 45, 45], "ill": ["flu", "cold", "flu", "cold"]}
    >>> check(people, quasi=["age"], sensitive=["ill"], k=2).met, check(people, quasi=["age"], sensitive=["ill"], k=3).met
    (True, False)
    """
    chosen = policy_of(policy, options)
    if chosen.events is not None:
        return check_events(opened(table, read=chosen.read), chosen, progress=progress)
    return judge_table(opened(table, read=chosen.read), chosen, progress=progress)

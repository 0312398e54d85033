"""``shoal.anonymize``: from a table and a policy to a release.

::

    Policy.of        release/policy         the requirements
    prepare          release/plan           count the classes, build the hierarchies
    decide           release/plan           search for the plan that loses least (or check the one given)
    Release.write    release/make           carry_out: recode, count_again, attacks, certify; then the folder gets its name
    verify           release/certificate    prove the folder again
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from shoal.api.arguments import PolicyOptions, Source, opened, policy_of
from shoal.engines.core.limits import refused
from shoal.engines.core.memory import RELEASED, RELEASED_AT_MOST
from shoal.engines.exclusion import leave_out
from shoal.engines.files.frames import as_arrow
from shoal.engines.table import Table
from shoal.errors import UsageError
from shoal.model.display import Progress, silent
from shoal.model.plan import Plan
from shoal.release.linked.policy import LinkedPolicy, is_linked
from shoal.release.make.carry_out import Output
from shoal.release.make.frame import FrameTypes, types_of
from shoal.release.make.release import Release
from shoal.release.plan.decide import decide
from shoal.release.plan.plan_json import read_plan
from shoal.release.plan.prepare import prepare
from shoal.release.policy.policy import Policy

if TYPE_CHECKING:
    from shoal.release.events.plan_file import EventPlan
    from shoal.release.linked.make import LinkedRelease


def anonymize(
    table: Source,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    *,
    key_file: str | Path | None = None,
    format: str = "csv",
    plan: Plan | EventPlan | str | Path | None = None,
    to_table: str | None = None,
    replace: bool = False,
    previous: Sequence[str | Path] = (),
    exclude: str | Path | Iterable[Any] | None = None,
    exclude_by: str | None = None,
    accepted: Mapping[str, Mapping[str, Any]] | None = None,
    progress: Progress | None = None,
    **options: Unpack[PolicyOptions],
) -> Release:
    """Make a table safe to share, and prove it.

    Parameters
    ----------
    table : Table, path, URL or frame
        Anything that :func:`shoal.open` accepts, or a table that it returned.
    policy : Policy, mapping or path
        The requirements; keywords (``quasi=…, sensitive=…, k=5``) may state them instead.
    key_file : path, optional
        Ed25519 key to sign with (mode 0600). Without it ``SHOAL_SIGNING_KEY_FILE`` or ``SHOAL_SIGNING_KEY`` is used, or a key
        is made for this release.
    format : str
        ``csv``, ``parquet``, ``delta``, ``arrow``, ``excel``, ``spss`` or ``stata``.
    plan : Plan or path, optional
        A plan.json made earlier: no search; the plan is applied to these data and everything is checked again.
    to_table : str, optional
        Publish the data as a new table of this name in the database of the input, instead of a file.
    replace : bool
        The new table takes the place of the one of this name, if there is one, in one step; after a failure the old one is there.
    previous : sequence of paths
        Folders of earlier releases of the same people: the composition is attacked before anything is written.
    exclude : path or ids, optional
        Opt-outs: a file with one id per line, ``FILE:column``, or the ids. Their rows are left out before
        anything is counted; the certificate tells how many and names nobody.
    exclude_by : str, optional
        The column of the table that holds these ids; the person column (``unit``) by default.
    accepted : mapping, optional
        Findings of an earlier run that a person accepted: by the name of the attack its ``sentence``, the ``reason`` and ``by``
        whom. Those found again stand with their reason in the certificate, the report and the signing page.

    Returns
    -------
    Release
        ``r.write("release/")``, ``r.certificate``, ``r.report()``, ``r.k``, ``r.plan``; ``r.to_pandas()``, ``r.to_polars()``
        and ``r.to_arrow()`` give the released table itself. For a policy with ``events`` it is an
        :class:`~shoal.release.events.release.EventRelease`: a release whose plan and certificate are those of event tables.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31, 32, 33, 45, 46, 47] * 2, "ill": ["flu", "cold"] * 6})
    >>> r = anonymize(people, quasi={"age": {"hierarchy": {"intervals": [10]}}}, sensitive=["ill"], k=3)
    >>> r.k, r.certificate.after.classes
    (6, 2)
    """
    started = time.perf_counter()
    if is_linked(policy):
        raise UsageError("this policy names several tables.", hint="Use shoal.anonymize_tables(policy).")
    chosen, report = policy_of(policy, options).seeded(), progress or silent
    table, types = _frame(table)
    source, left = opened(table, read=chosen.read), None
    if source.only_aggregates:
        raise refused("a release is made of rows of the table", hint="shoal check and shoal measure read aggregates only.")
    held = source.hold(write=to_table is not None)
    if exclude is not None:
        unit = chosen.unit if chosen.events is None else chosen.events.unit
        left = leave_out(source, exclude, exclude_by or unit)
        source = left.table
    if replace and to_table is None:
        raise UsageError("--replace requires --to-table.", hint="Name the table: --to-table visits_public --replace")
    passing = f"{''.join(str(to_table).rpartition('.')[:2])}shoal_{secrets.token_hex(8)}" if replace else to_table
    earlier = tuple(Path(p) for p in previous)
    output = Output(key_file, format, earlier, passing, left, held, accepted or {}, str(to_table) if replace else "")
    if chosen.events is not None:
        from shoal.release.events.release import decide_events  # as much again to load, for event tables only

        return decide_events(source, chosen, output, plan=_event_plan(plan), progress=report)
    source.check_written("a release of this table", RELEASED, RELEASED_AT_MOST)
    prepared = prepare(source, chosen, progress=report, begin_coarser=plan is None and not previous)
    decision = decide(prepared, given=_plan(plan), progress=report, later=bool(previous))
    return Release(prepared, decision, output, started, types)


def _plan(plan: Plan | EventPlan | str | Path | None) -> Plan | None:
    if plan is None or isinstance(plan, Plan):
        return plan
    if isinstance(plan, str | Path):
        return read_plan(plan)
    raise UsageError("this is the plan of an event table.", hint="Name events in the policy: person, time and place.")


def _event_plan(plan: Plan | EventPlan | str | Path | None) -> EventPlan | None:
    if isinstance(plan, Plan):
        hint = "Use the plan.json of an event release."
        raise UsageError("this is the plan of a table of people, not of an event table.", hint=hint)
    from shoal.release.events.plan_file import read_event_plan

    return read_event_plan(Path(plan)) if isinstance(plan, str | Path) else plan


def _frame(table: Source) -> tuple[Source, FrameTypes]:
    """A data frame as an Arrow table with the types it had; other sources as they are."""
    if isinstance(table, Table | str | Path) or type(table).__module__.partition(".")[0] in ("duckdb", "_duckdb"):
        return table, FrameTypes()
    arrow = as_arrow(table)
    return arrow, types_of(table, arrow)


def anonymize_tables(
    policy: LinkedPolicy | Mapping[str, Any] | str | Path,
    *,
    key_file: str | Path | None = None,
    format: str = "csv",
    exclude: str | Path | Iterable[Any] | None = None,
    progress: Progress | None = None,
) -> LinkedRelease:
    """Make several tables of one database safe to share together, and prove it.

    k is judged over people, by what the person table and all rows of the linked tables say of each of them together; or, with
    ``require: {k: 5, known: 2}``, by what the person table and any two rows say. The same person gets the same fresh
    pseudonym in every table.

    Parameters
    ----------
    policy : mapping or path
        ``tables`` (name: ``{table: …, roles: …, transform: …}``), ``links`` (``{visits.person_id: person.id}``), ``require``,
        ``allow``. In a mapping a table may be a frame or what :func:`shoal.open` gave.
    key_file : path, optional
        Ed25519 key to sign with; without it as for :func:`shoal.anonymize`.
    format : str
        Of the files: ``csv``, ``parquet``, ``arrow``, ``excel``, ``spss`` or ``stata``.
    exclude : path or ids, optional
        Opt-outs: their rows are left out of every table first.

    Returns
    -------
    LinkedRelease
        ``r.write("release/")``, ``r.certificate``, ``r.levels``, ``r.loss``.

    Examples
    --------
    >>> person = {"id": list(range(12)), "sex": ["f", "m"] * 6}
    >>> visits = {"who": list(range(12)), "ward": ["a", "a", "b", "b"] * 3}
    >>> r = anonymize_tables({
    ...     "tables": {
    ...         "person": {"table": person, "roles": {"quasi": ["sex"]}},
    ...         "visits": {"table": visits, "roles": {"quasi": ["ward"]}},
    ...     },
    ...     "links": {"visits.who": "person.id"},
    ...     "require": {"k": 3},
    ... })
    >>> r.levels
    {'person': {'sex': 0}, 'visits': {'ward': 0}}
    """
    from shoal.release.linked.gather import gather
    from shoal.release.linked.make import LinkedRelease
    from shoal.release.linked.search import choose

    report = progress or silent
    report(0.02, "counting the people")
    family = gather(LinkedPolicy.of(policy), exclude)
    return LinkedRelease(family, choose(family, report), key_file, format)

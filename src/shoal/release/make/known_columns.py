"""What a few published columns find together: counted for every release, and for drafts to leave out the columns that do.

Takes    a plan that is decided, and the data written by it
Returns  the worst set of at most three columns, as a certificate states it; columns to leave out
Keeps    quasi-identifiers count as published; columns that a step changes do not count: nobody knows their new values. People are
         counted where the file tells them; where it does not, the limit also holds for the people behind the records
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.disk.atomic import scratch
from shoal.errors import VerificationError
from shoal.measures.subsets.column_sets import ColumnSets, KnownColumns
from shoal.model.certificate.parts import Known
from shoal.release.make.recode import ByEngine, by_engine, published_unit, recode, remove_passing
from shoal.release.make.value_links import too_much
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision
from shoal.release.proof.recount import FileColumns
from shoal.steps import Keep

MOST_KNOWN = 5_000_000
"""Published records up to which it is counted what a few columns find together."""


def count_known(prepared: Prepared, decision: Decision, file: FileColumns, seen: ByEngine | None) -> Known | None:
    """What a few published columns find; None if the engine counts the data itself, or they are too large to be held."""
    sets = _published_sets(prepared, decision, file, seen, published_unit(prepared, decision.plan))
    return None if sets is None else known_part(sets.count())


def known_share(prepared: Prepared, decision: Decision, known: Known | None) -> float:
    """The share that the limit of ``known_columns`` is held against: that of the file; where it does not tell people, that of the
    people behind it if it is larger. 1 where it was not counted."""
    if known is None:
        return 1.0
    if prepared.policy.unit is None or published_unit(prepared, decision.plan) is not None:
        return known.share_at_most
    behind = max((c.share(c.at_most) for c in _counted_before(prepared, decision).values()), default=1.0)
    return max(known.share_at_most, behind)


def known_part(counted: KnownColumns) -> Known:
    """A count of known columns as a certificate states it."""
    worst, number = counted.worst()
    names = tuple(c[0] for c in counted.found if len(c) == 1)
    return Known(worst if number else (), number, counted.people, counted.all_columns, names, counted.left_out)


def name_worst(error: VerificationError, known: Known | None, quasi: Sequence[str]) -> VerificationError:
    """The refusal with the columns that find most, if known columns find too much, and what to do with them."""
    missed = [v.requirement for v in getattr(error, "findings", ()) if v.requirement.name == "known_columns"]
    if not missed or known is None:
        return error
    if known.alone and all(known.share <= r.limit for r in missed):
        together, of = len(known.counted) - len(known.alone), len(known.counted)
        error.hint = (
            f"Sets of {together} of {of} columns could be counted, and all {of} find more than the limit: that no three do is not"
        )
        error.hint += " known. Publish fewer columns, or leave known_columns out of the policy."
        return error
    free = [f"'{c}'" for c in known.columns if c not in quasi]
    if not free:
        return error
    worst = ", ".join(f"'{c}'" for c in known.columns)
    error.hint = f"{worst} find {100 * known.share:.0f} %: move {' or '.join(free)} to direct and run again. {error.hint}"
    return error


def count_sets(file: FileColumns, names: Sequence[str], unit: str | None) -> KnownColumns:
    """Whom sets of the columns of a file find: people by the column ``unit``; records without such a column."""
    return _sets_of(file, names, unit).count()


def _sets_of(file: FileColumns, names: Sequence[str], unit: str | None, fixed: Sequence[str] = ()) -> ColumnSets:
    codes = file.of([*names, unit] if unit else names)
    return ColumnSets({n: codes[n] for n in names}, codes[unit].astype(np.int64) - 1 if unit else None, fixed=fixed)


def _limits(prepared: Prepared) -> list[float]:
    return [r.limit for r in prepared.policy.requirements if r.name == "known_columns"]


def _published_sets(
    prepared: Prepared,
    decision: Decision,
    file: FileColumns,
    seen: ByEngine | None,
    unit: str | None,
    fixed: Sequence[str] = (),
) -> ColumnSets | None:
    policy, steps = prepared.policy, decision.plan.for_column
    others = {*policy.sensitive, *policy.insensitive, policy.weight}
    kept = [c for c in prepared.schema.names if c in others and all(isinstance(s, Keep) for s in steps(c))]
    names, records = [*prepared.quasi, *kept], int(decision.released.n_records)
    if seen is not None or not records or records > MOST_KNOWN or too_much(prepared, records, len(names)):
        return None
    return _sets_of(file, names, unit, fixed)


def finds_few(prepared: Prepared, decision: Decision) -> bool:
    """Whether a release of this decision would meet the limit of ``known_columns``; true without one, or if it is not counted."""
    limits = _limits(prepared)
    return not limits or all(c.share(c.at_most) <= min(limits) for c in _counted_before(prepared, decision).values())


def _counted_before(prepared: Prepared, decision: Decision) -> dict[str, KnownColumns]:
    return {who: sets.count() for who, sets in _sets_before(prepared, decision).items()}


def _sets_before(prepared: Prepared, decision: Decision, fixed: Sequence[str] = ()) -> dict[str, ColumnSets]:
    """The published columns of the data that this decision would write: with "people", where there is a column for them, and
    "records" where that is not published. Nothing if they are not to be counted."""
    unit = prepared.policy.unit
    units: dict[str, str | None] = {"people": unit} if unit else {}
    units |= {} if published_unit(prepared, decision.plan) else {"records": None}
    with scratch() as place:
        done = recode(prepared, decision, place / "data.parquet", keep_unit=unit is not None)
        seen, file = by_engine(prepared.table, done, prepared.quasi), FileColumns(place / "data.parquet")
        sets = {who: _published_sets(prepared, decision, file, seen, one, fixed) for who, one in units.items()}
        remove_passing(done, place / "data.parquet")
    return {who: one for who, one in sets.items() if one is not None}


def finding_columns(prepared: Prepared, decision: Decision, limit: float) -> tuple[dict[str, str], bool]:
    """Columns to leave out so that no three published ones find more than ``limit`` of people or records, each with a reason; and
    whether it is known that none of the others do.

    Quasi-identifiers stay: together they find nobody. If there are too many sets, the columns that are left are counted again.
    """
    out: dict[str, str] = {}
    sets = _sets_before(prepared, decision, prepared.quasi)
    while sets:
        before, counted = len(out), {who: one.count(out, together=False) for who, one in sets.items()}
        for who, one in counted.items():
            _leave_out(out, prepared, one, limit, who)
        if not any(one.left_out for one in counted.values()):
            return out, True
        if len(out) == before:
            return out, all(one.share(one.at_most) <= limit for one in (some.count(out) for some in sets.values()))
    return out, False


def _leave_out(out: dict[str, str], prepared: Prepared, counted: KnownColumns, limit: float, who: str) -> None:
    """Add one column of every set that finds more than ``limit``, with the reason."""
    finding = [(s, number) for s, number in counted.found.items() if counted.share(number) > limit]
    for worst, number in sorted(finding, key=lambda s: (-s[1], len(s[0]), s[0])):
        free = [c for c in worst if c not in prepared.quasi]
        if not free or any(c in out for c in worst):
            continue
        column = max(free, key=lambda c: (counted.found[c,], c))
        others = [f"'{c}'" for c in worst if c != column]
        beside = f"with {' and '.join(others)} " if others else ""
        out[column] = f"{beside}it finds {100 * counted.share(number):.0f} % of the {who}"

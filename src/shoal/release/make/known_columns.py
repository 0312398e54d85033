"""What a few published columns find together: counted for every release, and for drafts to leave out the columns that do.

Takes    a plan that is decided, and the data written by it
Returns  the worst set of at most three columns, as a certificate states it; columns to leave out
Keeps    quasi-identifiers count as published; columns that a step changes do not count: nobody knows their new values
"""

from __future__ import annotations

from shoal.disk.atomic import scratch
from shoal.measures.subsets.column_sets import KnownColumns, known_columns
from shoal.model.certificate.parts import Known
from shoal.release.make.recode import ByEngine, by_engine, recode, remove_passing
from shoal.release.make.value_links import too_much
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision
from shoal.release.proof.recount import FileColumns
from shoal.steps import Keep

MOST_KNOWN = 5_000_000
"""Published records up to which it is counted what a few columns find together."""


def count_known(prepared: Prepared, decision: Decision, file: FileColumns, seen: ByEngine | None) -> Known | None:
    """What a few published columns find; None if the engine counts the data itself, or they are too large to be held."""
    counted = _counted_sets(prepared, decision, file, seen)
    return None if counted is None else known_part(counted)


def known_part(counted: KnownColumns) -> Known:
    """A count of known columns as a certificate states it."""
    worst, found = counted.worst()
    names = tuple(c[0] for c in counted.found if len(c) == 1)
    return Known(worst if found else (), found, counted.people, counted.all_columns, names, counted.left_out)


def _counted_sets(prepared: Prepared, decision: Decision, file: FileColumns, seen: ByEngine | None) -> KnownColumns | None:
    policy, steps = prepared.policy, decision.plan.for_column
    others = {*policy.sensitive, *policy.insensitive, policy.weight}
    kept = [c for c in prepared.schema.names if c in others and all(isinstance(s, Keep) for s in steps(c))]
    names, records = [*prepared.quasi, *kept], int(decision.released.n_records)
    if seen is not None or not records or records > MOST_KNOWN or too_much(prepared, records, len(names)):
        return None
    return known_columns(file.of(names))


def finds_few(prepared: Prepared, decision: Decision) -> bool:
    """Whether a release of this decision would meet the limit of ``known_columns``; true without one, or if it is not counted."""
    limits = [r.limit for r in prepared.policy.requirements if r.name == "known_columns"]
    counted = _counted_before(prepared, decision) if limits else None
    return counted is None or counted.share(counted.worst()[1]) <= min(limits)


def _counted_before(prepared: Prepared, decision: Decision) -> KnownColumns | None:
    """What a few columns find in the data that this decision would write."""
    with scratch() as place:
        done = recode(prepared, decision, place / "data.parquet")
        seen = by_engine(prepared.table, done, prepared.quasi)
        counted = _counted_sets(prepared, decision, FileColumns(place / "data.parquet"), seen)
        remove_passing(done, place / "data.parquet")
    return counted


def finding_columns(prepared: Prepared, decision: Decision, limit: float) -> dict[str, str] | None:
    """Columns to leave out so that no three published ones find more than ``limit`` of the records, each with what it finds.

    Quasi-identifiers stay: together they find nobody. None if it was not counted.
    """
    counted = _counted_before(prepared, decision)
    if counted is None:
        return None
    out: dict[str, str] = {}
    for worst, found in sorted(counted.found.items(), key=lambda s: (-s[1], len(s[0]), s[0])):
        free = [c for c in worst if c not in prepared.quasi]
        if counted.share(found) <= limit:
            break
        if not free or any(c in out for c in worst):
            continue
        column = max(free, key=lambda c: (counted.found[c,], c))
        others = [f"'{c}'" for c in worst if c != column]
        beside = f"with {' and '.join(others)} " if others else ""
        out[column] = f"{beside}it finds {100 * counted.share(found):.0f} % of the records"
    return out

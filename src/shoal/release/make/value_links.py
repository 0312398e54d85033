"""Linkage by value, tried with the original beside the release: every number, date and place that is not a quasi-identifier.

A column that is published as it was is counted in the written file. For changed ones the plan is applied once more, in
private, with the true values beside the published ones; the same seed and the same order of rows give the same changes.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.attacks.by_value import ValueLink, nearest_found, places_found, rank_found, same_found, surely_found
from shoal.engines.open import open as opened
from shoal.errors import InfeasibleError, InternalError
from shoal.kernels.group import group_codes
from shoal.kernels.people import memberships
from shoal.model.plan import Plan, RowStep, Step
from shoal.release.gate.column_facts import has_values
from shoal.release.make.recode import ByEngine, published_unit
from shoal.release.plan.prepare import Prepared, without_unit
from shoal.release.plan.published_classes import Decision
from shoal.release.proof.read import batches
from shoal.release.proof.recount import number_groups, whole_codes
from shoal.steps import Drop, Keep
from shoal.steps.expression import ExpressionStep

MOST_COUNTED = 20_000_000
"""Published records up to which columns that are published as they were are looked at."""
MOST_PAIRED = 5_000_000
"""Published records up to which the true values are laid beside changed ones."""
MOST_PLACES = 200_000
"""Published records up to which positions are looked for in the plane."""
_HIDDEN = ("keyed_hash", "fake", "pseudonymize")
"""Steps that put a name in the place of a value: nobody finds it by the value."""

_NORTH = re.compile(r"(?i)(?<![a-z])lat(itude)?(?![a-z])|(?<=[a-z])_?lat$")
_EAST = re.compile(r"(?i)(?<![a-z])(lon|lng|long)(gitude|itude)?(?![a-z])|(?<=[a-z])_?(lon|lng)$")

Codes = npt.NDArray[np.int64]


def value_links(
    prepared: Prepared, decision: Decision, data: Path, stage: Path, seen: ByEngine | None = None
) -> tuple[ValueLink, ...]:
    """What each such column of the written file gives away to one who knows it; ``seen`` counts files that the engine wrote."""
    names = [n for n in (*prepared.policy.sensitive, *prepared.policy.insensitive) if _looked_at(prepared, decision, n)]
    kept = [n for n in names if _as_it_was(decision, n)]
    changed = [n for n in names if n not in kept]
    records = int(decision.released.n_records)
    if seen is not None:
        out = [_seen_link(prepared, decision, name, seen) for name in kept]
    else:
        out = _kept_links(prepared, decision, data, kept) if kept and records <= MOST_COUNTED else []
    if changed and records <= MOST_PAIRED:
        pairs = _pairs(prepared, decision, changed, stage)
        groups, _ = number_groups(whole_codes(pairs.select(list(prepared.quasi)).to_batches(), len(prepared.quasi)))
        out += [_changed_link(prepared, decision, name, pairs, f"{_mark(prepared)}{name}", groups) for name in changed]
        out += [_place_link(prepared, decision, two, pairs) for two in positions(changed) if records <= MOST_PLACES]
    return tuple(out)


def positions(names: Sequence[str]) -> list[tuple[str, str]]:
    """Columns that are latitude and longitude of one position, by their names.

    >>> positions(["home_lat", "pay", "home_lon", "latitude", "plateau"])
    [('home_lat', 'home_lon')]
    """
    east = {_EAST.sub("", n): n for n in names if _EAST.search(n)}
    return [(n, east[_NORTH.sub("", n)]) for n in names if _NORTH.search(n) and _NORTH.sub("", n) in east]


def share_found(links: Sequence[ValueLink]) -> float:
    """The number that a requirement of linkage is about: the share that the worst limited column finds; 0 without one."""
    return max((link.rate for link in links if link.limited), default=0.0)


def limited(prepared: Prepared, decision: Decision, name: str) -> bool:
    """Whether a limit is about a column: one that the policy states about all of them, the default about those it changes.

    To publish a column as it is, is a decision that it may be known; its cost is stated. A change is there to hide people:
    where it does not, the release stops. What ``allow: {identifying: …}`` names was looked at by a person.
    """
    policy = prepared.policy
    if name in policy.identifying:
        return False
    stated = any(r.needs_original for r in policy.requirements)
    return stated or not _as_it_was(decision, name)


def _looked_at(prepared: Prepared, decision: Decision, name: str) -> bool:
    steps = decision.plan.for_column(name)
    hidden = any(isinstance(s, Drop) or s.kind in _HIDDEN for s in steps)
    return not hidden and has_values(prepared.reader, name, prepared.table.schema[name].kind)


def _as_it_was(decision: Decision, name: str) -> bool:
    return all(isinstance(s, Keep) for s in decision.plan.for_column(name)) and not _row_changed(decision, name)


def _row_changed(decision: Decision, name: str) -> bool:
    """Whether a step of another column replaces this one too."""
    return any(name in s.columns and s.column != name for s in decision.plan.steps if not isinstance(s, RowStep))


def _kept_links(prepared: Prepared, decision: Decision, data: Path, kept: Sequence[str]) -> list[ValueLink]:
    """Columns that are published as they were: anyone who knows the value looks for the same one."""
    quasi = prepared.quasi
    codes = whole_codes(batches(data, [*quasi, *kept]), len(quasi) + len(kept))
    classes, _ = number_groups(codes[: len(quasi)])
    out = []
    for name, own in zip(kept, codes[len(quasi) :], strict=True):
        known = own > 0
        one = np.zeros(int(known.sum()), dtype=np.int64)
        alone, inside = same_found(own[known], one), same_found(own[known], classes[known])
        certain = int((alone == 1.0).sum())
        limit = limited(prepared, decision, name)
        out.append(ValueLink(name, len(one), float(alone.sum()), float(inside.sum()), certain, False, limit))
    return out


def _seen_link(prepared: Prepared, decision: Decision, name: str, seen: ByEngine) -> ValueLink:
    """The same by the engine: records that share a value find one of them, so that as many are found as there are values."""
    found = seen.kept(name)
    limit = limited(prepared, decision, name)
    return ValueLink(name, found.known, float(found.values), float(found.pairs), found.single, False, limit)


def _changed_link(prepared: Prepared, decision: Decision, name: str, pairs: Any, before: str, groups: Codes) -> ValueLink:
    """A changed column: nearest values and ranks, whichever finds more; texts by their label."""
    true, published = _numbers(pairs[before]), _numbers(pairs[name])
    limit = limited(prepared, decision, name)
    if true is None or published is None:
        return _label_link(decision, name, pairs, before, groups, limit)
    known, there = ~np.isnan(true.astype(np.float64)), ~np.isnan(published.astype(np.float64))
    both = known & there
    x, y = true[both], published[both]
    alone = nearest_found(x, y, np.zeros(len(x), dtype=np.int64)).sum() if len(x) else 0.0
    ranked = rank_found(x, y).sum() if len(x) else 0.0
    inside = nearest_found(x, y, groups[both]).sum() if len(x) else 0.0
    return ValueLink(name, int(known.sum()), float(max(alone, ranked)), float(inside), surely_found(x, y), True, limit)


def _label_link(decision: Decision, name: str, pairs: Any, before: str, groups: Codes, limit: bool) -> ValueLink:
    """Labels: known to anyone who knows the value where the plan says how they are made; after a random change the same text."""
    true, published = whole_codes(pairs.select([before, name]).combine_chunks().to_batches(), 2)
    known = true > 0
    if not all(isinstance(s, ExpressionStep) for s in decision.plan.for_column(name)):
        texts, seen = pairs[before].cast("string"), pairs[name].cast("string")
        same = np.array([a is not None and a == b for a, b in zip(texts.to_pylist(), seen.to_pylist(), strict=True)])
    else:
        same = known
    one = np.zeros(len(published), dtype=np.int64)
    alone, inside = same_found(published, one)[same & known], same_found(published, groups)[same & known]
    return ValueLink(name, int(known.sum()), float(alone.sum()), float(inside.sum()), int((alone == 1).sum()), True, limit)


def _place_link(prepared: Prepared, decision: Decision, two: tuple[str, str], pairs: Any) -> ValueLink:
    """Both parts of a changed position together."""
    mark = _mark(prepared)
    true, published = [[_numbers(pairs[f"{before}{n}"]) for n in two] for before in (mark, "")]
    name = " and ".join(two)
    if any(part is None for part in (*true, *published)):
        return ValueLink(name, 0, 0.0, 0.0, 0, True, False)
    x, y = np.stack(true, axis=1), np.stack(published, axis=1)  # type: ignore[arg-type]
    both = ~np.isnan(x).any(axis=1) & ~np.isnan(y).any(axis=1)
    found = float(places_found(x[both], y[both]).sum()) if both.any() else 0.0
    limit = all(limited(prepared, decision, n) for n in two)
    return ValueLink(name, int((~np.isnan(x).any(axis=1)).sum()), found, found, 0, True, limit)


def _numbers(column: Any) -> npt.NDArray[Any] | None:
    """Numbers, dates and times as numbers, missing as not-a-number; None for texts that are none of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _numbers(column.cast(kind.value_type))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _texts_as_numbers(column)
    if pa.types.is_date(kind):
        column = column.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        column = column.cast(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    out: npt.NDArray[Any] = pc.cast(column, pa.float64(), safe=False).to_numpy().astype(np.float64)
    return out


def _texts_as_numbers(column: Any) -> npt.NDArray[Any] | None:
    import pyarrow as pa

    for kind in (pa.float64(), pa.timestamp("us")):
        try:
            return _numbers(column.cast(kind))
        except pa.ArrowInvalid:
            continue
    return None


class Beside(Keep):
    """A true value carried along: the rows are ordered, and random steps draw, as in the release that does not have it."""

    in_order: ClassVar[bool] = False


def _mark(prepared: Prepared) -> str:
    """What the names of the true columns begin with: no column of the table does."""
    mark = "true "
    while any(name.startswith(mark) for name in prepared.schema.names):
        mark += "."
    return mark


def _pairs(prepared: Prepared, decision: Decision, changed: Sequence[str], stage: Path) -> Any:
    """The published quasi-identifiers and changed columns of every record, with the true values beside them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = pa.Table.from_batches(list(prepared.table.scan()))
    mark = _mark(prepared)
    for name in changed:
        rows = rows.append_column(f"{mark}{name}", rows[name])
    wanted = {*prepared.quasi, *changed}
    steps: list[Step] = [s for s in decision.plan.steps if isinstance(s, RowStep) or set(s.columns) & wanted]
    covered = {c for s in steps if not isinstance(s, RowStep) for c in s.columns}
    mapped = set(decision.class_map.column_names) if decision.class_map is not None else set()
    steps += [Drop(n) for n in prepared.schema.names if n not in covered and n not in mapped]
    steps += [Beside(f"{mark}{n}") for n in changed]
    plan = Plan(tuple(steps), decision.plan.suppression, decision.plan.seed, shuffle=False)
    hidden = stage / ".pairs"
    hidden.mkdir(mode=0o700)
    try:
        with opened(rows, name=prepared.table.name) as table:
            table.recode(plan, hidden / "pairs.parquet", kept=decision.kept, class_map=decision.class_map)
        found = pq.read_table(hidden / "pairs.parquet")
    finally:
        shutil.rmtree(hidden)
    if found.num_rows != decision.released.n_records:
        raise InternalError("the private copy of the release has another number of records.")
    return found


def check_links(prepared: Prepared, decision: Decision) -> None:
    """Refuse a plan that publishes the person column and leaves fewer than k people with the same records in the same classes."""
    unit, k = published_unit(prepared, decision.plan), prepared.policy.smallest_class
    if unit is None:
        return
    alike = people_alike(prepared, decision, unit)
    few = sum(n for n in alike if n < k)
    if few:
        raise InfeasibleError(
            f"people with several records stay linked: as few as {min(alike)} have the same number of records in the same "
            f"classes, {k} are asked. {few:,} of {sum(alike):,} people share theirs with too few.",
            hint="Publish the unit as 'drop', so that records of a person are not linked; or leave these people out "
            "first; or give each a pseudonym that is renewed (shoal vault domain add --renew-uses 1).",
        )


def people_alike(prepared: Prepared, decision: Decision, unit: str) -> list[int]:
    """The sizes of the groups of people who have the same number of published records in the same published classes."""
    base = prepared.base
    pairs = without_unit(prepared.counted).count((unit, *base.columns))
    where = memberships(pairs, base)
    classes = group_codes(list(decision.codes), n_rows=base.n_classes).ids.astype(np.int64)
    gone = ~decision.stays[where.classes]
    number = np.where(gone, -1, classes[where.classes])
    records: dict[int, Counter[int]] = {}
    for person, klass, n in zip(where.people.tolist(), number.tolist(), pairs.sizes.tolist(), strict=True):
        if klass >= 0 or prepared.policy.scope == "cells":
            records.setdefault(person, Counter())[klass] += n
    return list(Counter(frozenset(r.items()) for r in records.values()).values())

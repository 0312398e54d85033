"""Attack any table with its original and a control group: perturbed and synthetic data too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoal.api.arguments import Names, Source, names, opened
from shoal.attacks.tables.continuous import (
    distance_linkage,
    inference,
    interval_disclosure,
    linkability,
    robust_intervals,
    singling_out,
)
from shoal.attacks.tables.exposed import exposed_people
from shoal.attacks.tables.rows import Rows, closest_records, drawn, membership, ordered, overlaps
from shoal.comparison.columns import Coded, matched_rows, read_columns
from shoal.errors import DataError
from shoal.model.attack import AttackResult, worst_first
from shoal.model.counts.classes import FloatArray

MOST_POOL, MOST_PEOPLE, TRIES, MOST_SECRETS = 10_000, 1_000, 500, 8
CONTINUOUS = 20
"""Different numbers from which a column is taken as continuous, where none is named."""
LEAST = 20
"""Records of each table below which nothing can be distinguished from chance."""


def attack_table(
    table: Source,
    original: Source,
    control: Source,
    *,
    secrets: Names | None = None,
    leave_out: str | None = None,
    seed: int = 0,
) -> tuple[str, tuple[AttackResult, ...]]:
    """Singling out, linkability, inference, closest records, copies, membership and exposed people, held against the control.

    ``original`` holds people that the table was made from, ``control`` people of the same kind that it was not made from. Both
    are drawn down to equally many, large tables to 10,000 records and 1,000 people. Columns are those that all three have;
    ``leave_out`` names people and tells nothing. A control group with people of the original is refused.
    """
    three = [opened(t) for t in (table, original, control)]
    shared = [n for n in three[0].schema.names if n != leave_out and all(n in t.schema for t in three[1:])]
    asked = names(secrets)
    for name in asked:
        for t in three:
            t.schema.require(name, what="secret")
    if not shared:
        raise DataError("the three tables have no column in common.", hint="Columns are matched by their names.")
    sides = [read_columns(t, shared) for t in three]
    for t, side in zip(three, sides, strict=True):
        n = len(side[shared[0]].codes)
        if n < LEAST:
            raise DataError(f"table '{t.name}' has {n} records; at least {LEAST} are needed.", hint="Use more records.")
    rows = [ordered(r) for r in _side_by_side(shared, sides)]
    rng = np.random.default_rng(seed)
    pool = drawn(rows[0], MOST_POOL, rng)
    equal = min(rows[1].n, rows[2].n, MOST_POOL)
    inside, outside = (drawn(r, equal, rng) for r in rows[1:])
    if overlaps(rows[1], rows[2]):
        raise DataError(
            "the control group holds people of the original, so no attack could do better on the original.",
            hint="Name people that the table was not made from.",
        )
    few = [drawn(r, MOST_PEOPLE, rng) for r in (inside, outside)]
    places = [shared.index(s) for s in asked] or list(range(len(shared)))[:MOST_SECRETS]
    found: list[AttackResult | None] = [
        singling_out(pool, inside, outside, tries=TRIES, rng=rng),
        linkability(pool, *few),
        inference(pool, few[0], few[1], shared, places),
        *closest_records(drawn(pool, MOST_PEOPLE, rng), inside, outside, (rows[0], rows[1])),
        membership(pool, *few),
        exposed_people(drawn(rows[0], MOST_POOL, rng), inside, outside, shared, rng),
    ]
    return three[0].name, tuple(worst_first(r for r in found if r is not None))


def attack_numbers(
    table: Source, original: Source, key: str, *, numbers: Names | None = None, seed: int = 0
) -> tuple[str, tuple[AttackResult, ...]]:
    """Interval disclosure, distance linkage and robust intervals of numbers, each record held against its own original.

    ``key`` names the same person in both tables. Without ``numbers`` the columns are those that hold numbers in both, at least
    :data:`CONTINUOUS` different ones. Records without one of them are left out; of large tables 10,000 are drawn.
    """
    made, people = opened(table), opened(original)
    for name in (key, *names(numbers)):
        for t in (made, people):
            t.schema.require(name, what="key" if name == key else "number")
    shared = names(numbers) or [n for n in people.schema.names if n in made.schema and n != key]
    before, after = read_columns(people, shared), read_columns(made, shared)
    use = [n for n in shared if before[n].numbers is not None and after[n].numbers is not None]
    if numbers is not None and len(use) < len(shared):
        lacking = next(n for n in shared if n not in use)
        raise DataError(f"column '{lacking}' does not hold numbers in both tables.", hint="Name columns of numbers.")
    if numbers is None:
        use = [n for n in use if len(before[n].texts) >= CONTINUOUS]
    if not use:
        raise DataError("the tables share no column of numbers.", hint="Name the columns: --numbers a,b.")
    here, there = matched_rows(people, made, key)
    x, y = (np.stack([_numbers(side[n])[rows] for n in use], axis=1) for side, rows in ((before, here), (after, there)))
    whole = np.isfinite(x).all(axis=1) & np.isfinite(y).all(axis=1)
    x, y = x[whole], y[whole]
    varied = np.ptp(x, axis=0) > 0 if len(x) else np.zeros(len(use), dtype=bool)
    x, y = x[:, varied], y[:, varied]
    if len(x) < LEAST or len(x) <= 2 * x.shape[1] or not x.shape[1]:
        raise DataError(f"{len(x)} records have all numbers in both tables; more are needed.", hint="Name fewer columns.")
    order = np.lexsort((*y.T, *x.T))  # what is drawn depends on what the records hold, not on their order
    rng = np.random.default_rng(seed)
    if len(order) > MOST_POOL:
        order = order[np.sort(rng.choice(len(order), MOST_POOL, replace=False))]
    x, y = x[order], y[order]
    kept = [n for n, v in zip(use, varied, strict=True) if v]
    said = f"columns {', '.join(kept)}"
    found = (interval_disclosure(x, y, kept, rng), distance_linkage(x, y), robust_intervals(x, y, rng))
    return made.name, tuple(replace(r, worst=said) for r in found)


def _numbers(column: Coded) -> FloatArray:
    """The number of each record; NaN where there is none."""
    known = column.numbers if column.numbers is not None else np.zeros(0)
    out: FloatArray = np.append(known, np.nan)[column.codes]
    return out


def _side_by_side(shared: Sequence[str], sides: Sequence[dict[str, Coded]]) -> list[Rows]:
    """The columns of all tables in one form: numbers over the range of all three, categories in one code."""
    columns: list[list[np.ndarray[tuple[int, ...], np.dtype[np.float64]] | np.ndarray[tuple[int, ...], np.dtype[np.int64]]]]
    columns = [[] for _ in sides]
    for name in shared:
        three = [side[name] for side in sides]
        if all(c.numbers is not None or not c.texts for c in three):
            numbers = [_numbers(c) for c in three]
            known = np.concatenate([x[np.isfinite(x)] for x in numbers])
            low, wide = (float(known.min()), float(np.ptp(known))) if len(known) else (0.0, 0.0)
            for out, x in zip(columns, numbers, strict=True):
                out.append((x - low) / (wide or 1.0))
        else:
            place: dict[str, int] = {}
            for out, c in zip(columns, three, strict=True):
                code = np.array([place.setdefault(t, len(place)) for t in c.texts] + [-1], dtype=np.int64)
                out.append(code[c.codes])
    return [Rows(tuple(c)) for c in columns]

"""Levels for every quasi-identifier of every table: as fine as the people allow.

Takes    a family, k, the rows that may be known, the share of people that may be left out
Returns  a level for each column, and who stays
Keeps    no single column can be made finer by one level; that no other combination loses less is not proven

From the coarsest levels downwards: the column whose next finer level gives back most is tried first. Coarser levels never send
people away, so a column that could not be refined once is not tried again. The same is done with each column in turn refined
before all others, as long as there is time, and the best of these plans is taken.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.errors import InfeasibleError, UsageError
from shoal.model.compare import most_of
from shoal.model.counts.classes import BoolArray as Mask
from shoal.model.counts.classes import FloatArray, IntArray
from shoal.model.display import Progress, silent
from shoal.release.linked.gather import Family, Part
from shoal.search.problem.column import joins_missing

Place = tuple[int, str]
"""A column: the number of its table, and its name."""

Charges = dict[Place, FloatArray]
"""What each column loses at each level."""

SEARCH_SECONDS = 30.0
"""After this time no further order is tried; the first is always finished."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """The levels of each table's columns, who stays, and the share of information lost (0 nothing, 1 all)."""

    levels: tuple[dict[str, int], ...]
    staying: Mask
    loss: float


def choose(family: Family, progress: Progress = silent) -> Chosen:
    """The levels that lose little and leave everybody among k."""
    policy = family.policy
    limit = most_of(policy.suppress, family.n)
    top = [{c: _highest(part, c) for c in part.prepared.quasi} for part in family.parts]
    staying = _allow(family, top, limit)
    if staying is None:
        raise _infeasible(family, top, limit)
    charge = {(i, c): charges(part, c) for i, part in enumerate(family.parts) for c in part.prepared.quasi}
    ends, best = time.monotonic() + SEARCH_SECONDS, _refine(family, charge, top, limit, None)
    for done, first in enumerate(sorted(charge)):
        progress(0.2 + 0.3 * done / len(charge), "searching")
        if time.monotonic() > ends:
            break
        other = _refine(family, charge, top, limit, first)
        best = other if other.loss < best.loss else best
    if best.loss > policy.loss:
        what = f"the best plan found would lose {best.loss:.2f} of what the quasi-identifiers tell; the limit is {policy.loss:g}."
        hint = "Ask for a smaller k or 'known', allow more suppression, give finer hierarchies, or allow it: allow: {loss: 1}."
        raise InfeasibleError(what, hint=hint)
    return best


def _refine(family: Family, charge: Charges, top: Levels, limit: int, first: Place | None) -> Chosen:
    """From the coarsest levels downwards; ``first`` is a column that is refined before all others."""
    levels = [dict(at) for at in top]
    staying = np.ones(family.n, dtype=np.bool_)
    left = {(i, c) for i, c in charge if levels[i][c] > _lowest(family.parts[i], c)}
    moved = False
    while left:
        gain = {(i, c): _weight(family, i, c) * np.diff(charge[i, c])[levels[i][c] - 1] for i, c in left}
        i, column = first if first in left and first is not None else max(sorted(left), key=lambda place: gain[place])
        levels[i][column] -= 1
        allowed = _allow(family, levels, limit)
        if allowed is None:
            levels[i][column] += 1
            left.discard((i, column))
            continue
        staying, moved = allowed, True
        if levels[i][column] == _lowest(family.parts[i], column):
            left.discard((i, column))
    if not moved:
        staying = stays(family, levels, family.policy.k, family.policy.known)
    return Chosen(tuple(levels), staying, _loss(family, levels, staying, charge))


def _weight(family: Family, part: int, column: str) -> float:
    return family.parts[part].prepared.policy.quasi[column].weight


def _allow(family: Family, levels: Levels, limit: int) -> Mask | None:
    """Who stays, where that is enough people."""
    allowed = stays(family, levels, family.policy.k, family.policy.known, most=limit)
    return allowed if allowed.any() and int((~allowed).sum()) <= limit else None


def _highest(part: Part, column: str) -> int:
    rule, height = part.prepared.policy.quasi[column], part.prepared.hierarchies[column].height
    return height if rule.max_level is None else min(rule.max_level, height)


def _lowest(part: Part, column: str) -> int:
    return min(part.prepared.policy.quasi[column].min_level or 0, _highest(part, column))


def charges(part: Part, column: str) -> FloatArray:
    """The share of information lost in a column at each level, over its rows: leaves covered, less one, over all, less one."""
    hierarchy = part.prepared.hierarchies[column]
    span = max(1, hierarchy.n_leaves - 1)
    rows = part.rows.astype(np.float64)
    out = []
    for number, level in enumerate(hierarchy.levels):
        covered = np.append(level.leaf_counts, 1)  # a missing value covers itself, until it is joined
        codes = part.codes(column, number)
        missing = joins_missing(hierarchy, number)
        lost = (covered[codes] - 1) / span if not missing else np.ones(len(codes))
        out.append(float((lost * rows).sum() / max(1.0, rows.sum())) if hierarchy.n_leaves > 1 else 0.0)
    return np.array(out)


def _loss(family: Family, levels: Levels, staying: Mask, charge: Charges) -> float:
    """The weighted mean over all columns; a row that is left out has lost everything."""
    total, weights = 0.0, 0.0
    for i, part in enumerate(family.parts):
        rows = part.rows.astype(np.float64)
        kept = float(rows[staying[part.person]].sum() / max(1.0, rows.sum()))
        for column in part.prepared.quasi:
            weight = _weight(family, i, column)
            total += weight * (1 - kept * (1 - charge[i, column][levels[i][column]]))
            weights += weight
    return total / weights if weights else 0.0


def _infeasible(family: Family, levels: Levels, limit: int) -> InfeasibleError:
    """What is wrong at the coarsest levels, and what could be had instead."""
    policy = family.policy
    short = int((~stays(family, levels, policy.k, policy.known)).sum())
    offers = [f"allow: {{suppress: {_share(short, family.n)}}}"] if short < family.n else []
    best = _best_k(family, levels, limit)
    offers += [f"require: {{k: {best}}}"] if best >= 2 else []
    fewer = range(1, policy.known) if policy.known is not None else (1, 2, 3)
    for known in reversed(fewer):
        if _fits(family, levels, known, limit):
            offers.append(f"require: {{k: {policy.k}, known: {known}}}")
            break
    what = "all their rows" if policy.known is None else f"any {policy.known} of their rows"
    most = ", ".join(
        f"{p.linked.name} up to {int(np.bincount(p.person, weights=p.rows).max(initial=0)):,}" for p in family.parts[1:]
    )
    return InfeasibleError(
        f"even at the coarsest levels {short:,} of {family.n:,} people share their attributes and {what} with fewer than "
        f"{policy.k - 1:,} others; {limit:,} may be left out. People differ by their number of rows ({most} per person).",
        hint="Nearest that would do: " + "; or ".join(offers) + "." if offers else "Leave people with very many rows out first.",
    )


def _fits(family: Family, levels: Levels, known: int, limit: int) -> bool:
    try:
        allowed = stays(family, levels, family.policy.k, known, most=limit)
    except UsageError:  # too many choices to look at
        return False
    return bool(allowed.any()) and int((~allowed).sum()) <= limit


def _best_k(family: Family, levels: Levels, limit: int) -> int:
    """The largest k below the one asked for that leaves out no more people than allowed; 1 where there is none."""
    policy = family.policy
    if policy.known is None:
        sizes = np.sort(alike(family, levels))
        return int(min(sizes[min(limit, len(sizes) - 1)], policy.k - 1))
    low, high = 1, policy.k - 1
    while low < high:
        middle = (low + high + 1) // 2
        allowed = stays(family, levels, middle, policy.known, most=limit)
        enough = allowed.any() and int((~allowed).sum()) <= limit
        low, high = (middle, high) if enough else (low, middle - 1)
    return low


def _share(number: int, total: int) -> float:
    """The share, rounded up to three digits after the point."""
    return float(np.ceil(1000 * number / total) / 1000)


Levels = Sequence[Mapping[str, int]]
"""For each part the level of each of its quasi-identifiers."""

MOST_SETS = 40_000_000
"""Choices of known rows that are looked at, at most."""


def stays(family: Family, levels: Levels, k: int, known: int | None, *, most: int | None = None) -> Mask:
    """Who may stay. Once more than ``most`` people have left, no further round is looked at."""
    if known is None:
        return alike(family, levels) >= k
    rows = _Rows.of(family, levels, known)
    staying = np.ones(family.n, dtype=np.bool_)
    while True:
        short = staying & (rows.fewest(staying, known) < k)
        staying &= ~short
        if not short.any() or (most is not None and int((~staying).sum()) > most):
            return staying


def alike(family: Family, levels: Levels) -> IntArray:
    """For each person the number of people, herself included, with the same attributes and the same rows."""
    group = groups(family, levels)
    return np.bincount(group)[group]


def fewest(family: Family, levels: Levels, staying: Mask, known: int | None) -> IntArray:
    """For each person who stays: the fewest staying people who share her attributes and the rows that may be known."""
    if known is not None:
        return _Rows.of(family, levels, known).fewest(staying, known)
    group = groups(family, levels)
    return np.bincount(group, weights=staying).astype(np.int64)[group]


def groups(family: Family, levels: Levels) -> IntArray:
    """For each person the number of the group with the same attributes and the same rows."""
    rng = np.random.default_rng(20261115)
    sums = np.zeros((2, family.n), dtype=np.uint64)
    for part, at in zip(family.parts, levels, strict=True):
        classes = part.classes(at)
        weights = rng.integers(0, 2**64, size=(2, int(classes.max(initial=-1)) + 1), dtype=np.uint64)
        for total, weight in zip(sums, weights, strict=True):
            np.add.at(total, part.person, weight[classes] * part.rows.astype(np.uint64))
    one = np.ascontiguousarray(sums.T).view([("a", np.uint64), ("b", np.uint64)]).ravel()
    return np.asarray(np.unique(one, return_inverse=True)[1].ravel().astype(np.int64))


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of everybody, sorted by person, class and copy; person p has those from ``start[p]`` to ``start[p + 1]``."""

    attributes: IntArray
    start: IntArray
    item: IntArray
    copy: IntArray

    @classmethod
    def of(cls, family: Family, levels: Levels, most: int) -> _Rows:
        own = np.zeros(family.n, dtype=np.int64)
        own[family.parts[0].person] = family.parts[0].classes(levels[0])
        person, item, times, offset = [], [], [], 0
        for part, at in zip(family.parts[1:], levels[1:], strict=True):
            classes = part.classes(at)
            person.append(part.person)
            item.append(classes + offset)
            times.append(part.rows)
            offset += int(classes.max(initial=-1)) + 1
        key = np.concatenate(person) * max(1, offset) + np.concatenate(item)
        both, at_key = np.unique(key, return_inverse=True)
        number = np.bincount(at_key.ravel(), weights=np.concatenate(times), minlength=len(both)).astype(np.int64)
        copies = np.minimum(number, most)
        first = np.repeat(np.cumsum(copies) - copies, copies)
        flat = np.repeat(both, copies)
        start = np.searchsorted(flat // max(1, offset), np.arange(family.n + 1))
        return cls(own, start.astype(np.int64), flat % max(1, offset), np.arange(len(flat)) - first)

    def fewest(self, staying: Mask, most: int) -> IntArray:
        """For each person who stays: the fewest staying people whom one of her choices of at most ``most`` rows fits."""
        people = np.flatnonzero(staying)
        group, fewest = self.attributes[people], np.zeros(len(staying), dtype=np.int64)
        group, support = _count_keys(group)
        fewest[people] = support
        last = self.start[people] - 1
        width = int(self.item.max(initial=0)) + 1
        for _ in range(most):
            room = self.start[people + 1] - 1 - last
            if int(room.sum()) > MOST_SETS:
                what = f"some people have very many rows: more than {MOST_SETS:,} choices of known rows would be looked at."
                hint = "Ask for a smaller 'known', give coarser hierarchies, or leave people with very many rows out first."
                raise UsageError(what, hint=hint)
            base = np.repeat(np.arange(len(people)), room)
            row = last[base] + 1 + (np.arange(len(base)) - np.repeat(np.cumsum(room) - room, room))
            fits = (self.copy[row] == 0) | (row - 1 == last[base])
            base, row = base[fits], row[fits]
            if not len(base):
                break
            group, support = _count_keys(group[base] * width + self.item[row])  # its copy follows from those before
            people, last = people[base], row
            np.minimum.at(fewest, people, support)
        return fewest


def _count_keys(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Number of the key of each entry, and how many entries have it."""
    _, number, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return number.ravel().astype(np.int64), sizes[number.ravel()].astype(np.int64)

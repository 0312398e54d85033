"""Composition: what the sensitive values of two releases tell together.

Takes    for each release the class that each base class of the original is published in, and the sensitive values that its own
         published file shows in each class
Returns  people whose value is left less open by both releases than by either; groups of fewer than k people whose values are
         read off by subtracting one release from the other
Keeps    the same classes with the same values in both releases tell nothing new
Source   Ganta, Kasiviswanathan & Smith 2008 (composition); differencing is subtraction of published counts
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.attacks.certified import Certified, short
from shoal.attacks.downcoding import Recoded, in_both, joint_sizes
from shoal.errors import UsageError
from shoal.kernels.group import group_codes
from shoal.kernels.text import canonical_text
from shoal.model.attack import AttackResult
from shoal.model.counts.classes import IntArray
from shoal.model.display import one_in

VALUES = "Somebody is known to be in both releases: which sensitive values do both leave possible?"
CHANGES = "Which sensitive values are read off where one release is subtracted from the other?"


@dataclass(frozen=True, eq=False)
class Cells:
    """``counts[i]`` records of class ``classes[i]`` have the sensitive value with code ``values[i]`` (missing is −1)."""

    classes: IntArray
    values: IntArray
    counts: IntArray

    def whole(self, n_values: int) -> npt.NDArray[np.float64]:
        """Records of each value in all classes; ``[0]`` is the missing value."""
        return np.bincount(self.values + 1, weights=self.counts, minlength=n_values).astype(np.float64)

    def sets(self) -> dict[int, set[int]]:
        """The values of each class."""
        out: dict[int, set[int]] = {}
        for klass, value in zip(self.classes.tolist(), self.values.tolist(), strict=True):
            out.setdefault(klass, set()).add(value)
        return out


@dataclass(frozen=True, eq=False)
class Shown:
    """One release: the class of each base class (−1 where it is not published) and the cells of each sensitive column."""

    classes: IntArray
    cells: Mapping[str, Cells] = field(default_factory=dict)


def values_left(
    sizes: IntArray, new: Shown, earlier: Sequence[Shown], column: str, *, distinct: int | None = None
) -> AttackResult:
    """People for whom the values possible by all releases are fewer than ``distinct`` (two where none is certified).

    Only what the releases do together counts: where one of them alone already shows fewer values, its own attacks say so.
    """
    inside = [r.cells[column].sets() for r in (new, *earlier)]
    codes = [r.classes for r in (new, *earlier)]
    joint = group_codes([c.astype(np.int32) for c in codes], n_rows=len(sizes))
    both = (codes[0] >= 0) & np.logical_or.reduce([c >= 0 for c in codes[1:]])
    people = np.bincount(joint.ids[both], weights=sizes[both], minlength=joint.n).astype(np.int64)
    telling, certain = 0, 0
    for cell in np.flatnonzero(people):
        at = joint.first[cell]
        seen = [sets.get(int(c[at]), set()) for sets, c in zip(inside, codes, strict=True) if c[at] >= 0]
        left = len(set.intersection(*seen))
        if 0 < left < min(distinct or 2, *(len(s) for s in seen)):
            telling += int(people[cell])
            certain += int(people[cell]) if left == 1 else 0
    total = int(people.sum())
    name = f"intersection: values of '{column}'"
    if not total:
        return AttackResult.not_run(name, "no class of one release has the labels of the other's", VALUES)
    sentence = f"For {telling} of {total} people the releases together leave fewer than {distinct or 2} values of '{column}' "
    sentence += f"possible; for {certain} of them only one."
    worst = f"{certain} people have one value left" if telling else ""
    return AttackResult.exact(name, VALUES, telling / total, 0.0, worst, "broken" if telling else "holds", sentence)


def changes(new: Shown, old: Shown, column: str, *, k: int, distinct: int = 1, asked: Certified | None = None) -> AttackResult:
    """Sums of classes that both releases show, subtracted: a change of fewer than ``k`` records is read off value by value.

    Compared are (a) the smallest sets of classes that cover the same people in both (classes with the same labels; where
    one release is coarser, its class and the finer ones inside), (b) each new class and the earlier classes inside it,
    (c) each earlier class and the new ones inside it. ``distinct`` is the number of values that a larger change must show;
    ``asked`` the diversity and closeness that it must have.
    """
    tried = []
    for groups in _comparable(old.classes, new.classes, _length(old, column), _length(new, column)):
        difference = _Difference.between(old.cells[column], groups[0], new.cells[column], groups[1])
        tells = difference.tells(k, distinct)
        if asked:
            tells |= difference.short(asked, new.cells[column], old.cells[column])
        tried.append((int((difference.judged & tells).sum()), int(difference.judged.sum())))
    broken, compared = max(tried)
    name = f"differencing: '{column}' against an earlier release"
    if not compared:
        return AttackResult.not_run(name, "the two releases have no classes that can be subtracted", CHANGES)
    rate = broken / compared
    more = f" or has fewer than {distinct} values" if distinct > 1 else ""
    more += " or is less diverse or close than certified" if asked else ""
    sentence = (
        f"In {broken} of {compared} comparisons of classes the earlier release and this one differ by a group that is smaller "
        f"than {k} records{more}: the values of '{column}' of anyone who came, left or was left out are read off."
        if broken
        else f"Where classes can be subtracted ({compared} comparisons), the values of '{column}' are the same or differ by at "
        f"least {k} records."
    )
    return AttackResult.exact(name, CHANGES, rate, 0.0, "", "broken" if broken else "holds", sentence)


def _length(shown: Shown, column: str) -> int:
    return int(max(shown.classes.max(initial=-1), shown.cells[column].classes.max(initial=-1))) + 1


def _comparable(old: IntArray, new: IntArray, n_old: int, n_new: int) -> list[tuple[IntArray, IntArray]]:
    """The group of each earlier class and of each new class, in three ways; −1 is in no group."""
    both = (old >= 0) & (new >= 0)
    old, new = old[both], new[both]
    once = group_codes([old, new]).first
    pairs = old[once], new[once]
    part = _connected(pairs[0], pairs[1] + n_old, n_old + n_new)
    return [
        (part[:n_old], part[n_old:]),
        (_inside(pairs[0], pairs[1], n_old), np.arange(n_new, dtype=np.int64)),
        (np.arange(n_old, dtype=np.int64), _inside(pairs[1], pairs[0], n_new)),
    ]


def _connected(a: IntArray, b: IntArray, n: int) -> IntArray:
    """The connected part of each of n points, where a[i] and b[i] are joined: everybody follows a smaller neighbour."""
    leader = np.arange(n, dtype=np.int64)
    while True:
        least = np.minimum(leader[a], leader[b])
        before = leader.copy()
        for end in (a, b):
            np.minimum.at(leader, before[end], least)
            np.minimum.at(leader, end, least)
        leader = leader[leader]
        if np.array_equal(leader, before):
            return np.unique(leader, return_inverse=True)[1].astype(np.int64)


def _inside(inner: IntArray, outer: IntArray, n: int) -> IntArray:
    """The one class of the other release that each class lies in; −1 where it lies in several or in none."""
    out = np.full(n, -1, dtype=np.int64)
    out[inner] = outer
    out[np.bincount(inner, minlength=n) > 1] = -1
    return out


@dataclass(frozen=True, eq=False)
class _Difference:
    """For each group: records more and fewer than before, and how many values each has; ``cells`` holds them value by value."""

    cells: Cells
    judged: npt.NDArray[np.bool_]
    more: IntArray
    fewer: IntArray
    values_more: IntArray
    values_fewer: IntArray

    @classmethod
    def between(cls, old: Cells, group_old: IntArray, new: Cells, group_new: IntArray) -> _Difference:
        group = np.concatenate([group_old[old.classes], group_new[new.classes]])
        value = np.concatenate([old.values, new.values]) + 1
        signed = np.concatenate([-old.counts, new.counts])
        n = int(max(group_old.max(initial=-1), group_new.max(initial=-1))) + 1
        inside, width = group >= 0, int(value.max(initial=0)) + 1
        key, place = np.unique(group[inside] * width + value[inside], return_inverse=True)
        change = np.bincount(place, weights=signed[inside], minlength=len(key)).astype(np.int64)
        at = key // width
        sums = [np.bincount(at, weights=w, minlength=n).astype(np.int64) for w in _parts(change)]
        judged = np.isin(np.arange(n), group_old[old.classes]) & np.isin(np.arange(n), group_new[new.classes])
        return cls(Cells(at, key % width - 1, change), judged, *sums)

    def tells(self, k: int, distinct: int) -> npt.NDArray[np.bool_]:
        out = np.zeros(len(self.judged), dtype=np.bool_)
        for records, values in ((self.more, self.values_more), (self.fewer, self.values_fewer)):
            out |= (records > 0) & ((records < k) | (values < distinct))
        return out

    def short(self, asked: Certified, new: Cells, old: Cells) -> npt.NDArray[np.bool_]:
        """Groups whose newcomers, or whose leavers, have values that fall short of what is certified."""
        out, n = np.zeros(len(self.judged), dtype=np.bool_), len(self.judged)
        n_values = max(asked.n_values, int(max(new.values.max(initial=0), old.values.max(initial=0))) + 2)
        for sign, file in ((1, new), (-1, old)):
            some = sign * self.cells.counts > 0
            weight = (sign * self.cells.counts[some]).astype(np.float64)
            out |= short(self.cells.classes[some], self.cells.values[some], weight, n, file.whole(n_values), asked)
        return out


def _parts(change: IntArray) -> tuple[npt.NDArray[np.int64], ...]:
    return np.maximum(change, 0), np.maximum(-change, 0), (change > 0).astype(np.int64), (change < 0).astype(np.int64)


QUESTION = "Somebody has this release and an earlier one: how small do the groups become together?"


def intersection(releases: Sequence[Recoded], *, k: int) -> AttackResult:
    """With the original at hand: exact sizes of the groups that are alike in this release (the first) and the earlier ones."""
    if len(releases) < 2:
        raise UsageError("an intersection needs at least two releases.")
    sizes = joint_sizes(releases)
    if len(sizes) == 0:
        return AttackResult.exact("intersection", QUESTION, 0.0, 0.0, "", "holds", "No person is in both releases.")
    weights = releases[0].base.sizes[in_both(releases)]
    people, below = int(weights.sum()), int(weights[sizes < k].sum())
    smallest = int(sizes.min())
    sentence = f"{below:,} of {people:,} people who may be in both are in joint groups smaller than {k}; the smallest has "
    sentence += f"{smallest} ({one_in(1 / smallest)})."
    rate, worst = below / people, f"smallest joint group: {smallest}"
    return AttackResult.exact("intersection", QUESTION, rate, 0.0, worst, "broken" if smallest < k else "holds", sentence)


def joined_records(released: Any, previous: Any, columns: Sequence[str], keyed: Sequence[str] = ()) -> AttackResult:
    """Without the original: records that can be joined because their values in shared columns are unique in both files.

    ``released`` and ``previous`` are pyarrow tables, ``columns`` the columns that both publish unchanged, ``keyed`` those with
    pseudonyms of the same key, each of which joins records alone too. A joined record has the quasi-identifiers of both
    releases, so neither file's k protects it any more.
    """
    question = "Can records of two releases be joined through the columns that both publish?"
    name, ways = "intersection: joined records", [list(columns), *([c] for c in keyed), [*columns, *keyed]]
    joined, way = max(((_count_joined(released, previous, way), way) for way in ways if way), key=lambda j: j[0], default=(0, []))
    if not way:
        return AttackResult.not_run(name, "the releases share no column that could join them", question)
    rate = joined / max(released.num_rows, 1)
    through = "equal pseudonyms of the same key" if way[0] in keyed else "the shared columns"
    sentence = f"{joined} of {released.num_rows} records are one of a kind in both files on {through} and can be joined."
    worst, verdict = f"through {len(way)} shared columns", "warning" if joined else "holds"
    return AttackResult.exact(name, question, rate, None, worst, verdict, sentence)  # type: ignore[arg-type]


def _count_joined(released: Any, previous: Any, columns: Sequence[str]) -> int:
    ours, theirs = _unique(released, columns), _unique(previous, columns)
    return ours.join(theirs, keys=list(columns), join_type="inner").num_rows if ours.num_rows and theirs.num_rows else 0


def _unique(table: Any, columns: Sequence[str]) -> Any:
    """Combinations that occur once; missing values are given a text of their own so that they compare equal."""
    texts = {c: pc.fill_null(canonical_text(table[c].combine_chunks()), "\x00missing") for c in columns}
    grouped = pa.table(texts).group_by(list(columns)).aggregate([([], "count_all")])
    return grouped.filter(pc.equal(grouped["count_all"], 1)).select(list(columns))

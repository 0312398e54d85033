"""Three rules for a missing quasi-identifier, all derived from the classes counted under the strict one.

``own``: a missing value is a value (strict; the only rule that is ever certified). ``wildcard``: it matches every value, so
a record is alike to all records that agree wherever both are known. ``drop``: rows with one are left out.

Takes    ClassCounts under ``own``
Keeps    wildcard sizes ≥ own sizes; without a missing value all three agree; everybody is one, by the smallest crowd they are in
Cost     wildcard: one grouping per set of columns that two missing patterns share, over the classes of such patterns
Differs  where people were counted (``unit``) and are in several classes, people of matching classes cannot be added up; the
         largest matching class is then a lower bound, and the result says so
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import EmptyTableError
from shoal.kernels.group import Memberships, group_codes, sum_by
from shoal.measures.classes.anonymity import k_anonymity, unique_members
from shoal.model.counts.classes import MISSING, ClassCounts, IntArray, PackedCodes, SensitiveCounts
from shoal.model.roles import MissingPolicy

MOST_PATTERNS = 200
"""With more patterns of missing columns the wildcard rule, which compares every two, is computed only when asked for."""
TOO_MANY = {"k": None, "unique": None, "note": "too many patterns of missing values: ask for it by name"}


@dataclass(frozen=True)
class Crowds:
    """``members[i]`` people hide in a crowd of ``sizes[i]``, each counted once, in the smallest crowd they are in.

    ``of_classes`` is the crowd of each class, ``records`` the rows in them.
    """

    policy: MissingPolicy
    sizes: IntArray
    members: IntArray
    of_classes: IntArray
    records: int
    exact: bool = True

    @property
    def n_members(self) -> int:
        return int(self.members.sum())

    def to_json(self) -> dict[str, object]:
        out: dict[str, object] = {
            "k": k_anonymity(self),
            "unique": unique_members(self),
            "people": self.n_members,
            "records": self.records,
            "classes": len(self.of_classes),
        }
        return out if self.exact else out | {"bound": "lower bound on k: people of matching classes cannot be added up"}


def adds_up(counts: ClassCounts) -> bool:
    """Whether class sizes may be added: records were counted, or every person is in exactly one class."""
    return counts.adds_up


def crowds(counts: ClassCounts, policy: MissingPolicy = MissingPolicy.OWN, who: Memberships | None = None) -> Crowds:
    """Crowd sizes under a rule for missing values; ``who`` is in which class, where people are in several.

    >>> c = ClassCounts((1, 2, 1), columns=("age", "sex"), codes=([0, 0, -1], [0, 1, 1]))
    >>> for rule in MissingPolicy:
    ...     found = crowds(c, rule)
    ...     print(rule.value, k_anonymity(found), unique_members(found), found.sizes.tolist())
    own 1 2 [1, 2, 1]
    wildcard 1 1 [1, 3, 3]
    drop 1 1 [1, 2]
    """
    if policy is MissingPolicy.OWN or not bool(counts.has_missing().any()):
        return _as_counted(counts, policy)
    if policy is MissingPolicy.DROP:
        sizes_only = replace(counts, columns=(), codes=(), categories=(), sensitive={}, weights=None)
        return _as_counted(dropped(sizes_only, ~counts.has_missing(), who), policy)
    return _by_wildcard(counts, _patterns(counts), who)


def _by_wildcard(counts: ClassCounts, patterns: Sequence[IntArray], who: Memberships | None) -> Crowds:
    policy, wild = MissingPolicy.WILDCARD, _wildcard_sizes(counts, patterns)
    if counts.adds_up:
        return Crowds(policy, wild, counts.sizes, wild, counts.n_records)
    once = counts.everybody if who is None else who.counts(wild)  # own crowds, never larger, where nobody knows who is where
    return Crowds(policy, once.sizes, once.members, wild, counts.n_records, exact=False)


def _as_counted(counts: ClassCounts, policy: MissingPolicy) -> Crowds:
    once = counts.everybody
    return Crowds(policy, once.sizes, once.members, counts.sizes, counts.n_records)


def drop_missing(counts: ClassCounts, who: Memberships | None = None) -> ClassCounts:
    """The classes without a missing quasi-identifier; ``who`` is in which class, where people are in several.

    >>> c = ClassCounts((1, 2), columns=("age",), codes=([0, -1],))
    >>> drop_missing(c).sizes.tolist()
    [1]
    """
    return dropped(counts, ~counts.has_missing(), who)


def dropped(counts: ClassCounts, keep: npt.NDArray[np.bool_], who: Memberships | None = None) -> ClassCounts:
    """The classes in ``keep``, counted under the rule 'drop'."""
    if bool(keep.all()):
        return counts
    if not bool(keep.any()):
        hint = "Use the rule 'own', or leave out the column that is never filled."
        raise EmptyTableError("every row has a missing quasi-identifier, so nothing is left under the rule 'drop'.", hint=hint)
    place = np.cumsum(keep) - 1
    left = counts.sizes[keep]
    n_people = int(left.sum()) if counts.unit is not None and counts.adds_up else None
    once = None if counts.unit is None or counts.adds_up or who is None else who.inside(keep).counts(left)
    return ClassCounts(
        left,
        columns=counts.columns,
        codes=[c[keep] for c in counts.codes],
        categories=counts.categories,
        sensitive={n: _kept(s, keep, place) for n, s in counts.sensitive.items()},
        records=None if counts.records is None else counts.records[keep],
        weights=None if counts.weights is None else counts.weights[keep],
        n_people=n_people if once is None else once.n_members,
        unit=counts.unit,
        missing=MissingPolicy.DROP,
        people=once,
    )


def _kept(s: SensitiveCounts, keep: np.ndarray[Any, np.dtype[np.bool_]], place: IntArray) -> SensitiveCounts:
    there = keep[s.classes]
    return SensitiveCounts(s.column, place[s.classes[there]], s.values[there], s.counts[there], s.categories, s.order)


def wildcard_sizes(counts: ClassCounts) -> IntArray:
    """For each class the members of all classes that agree with it wherever both are known.

    Classes are sorted by which columns are missing. Two patterns meet on the columns known to both: the classes of all patterns
    that meet on the same columns are grouped there once, and the members of one are handed to the others.
    """
    return _wildcard_sizes(counts, _patterns(counts))


def _wildcard_sizes(counts: ClassCounts, patterns: Sequence[IntArray]) -> IntArray:
    join = sum_by if counts.adds_up else _largest
    out = np.zeros(counts.n_classes, dtype=np.int64)
    codes, distinct = tuple(counts.codes), isinstance(counts.codes, PackedCodes)  # as an engine counts them
    known = np.stack([c[[rows[0] for rows in patterns]] != MISSING for c in codes], axis=1)
    for columns, meeting in _meetings(known):
        if len(meeting) == 1 and distinct:  # no two classes of one pattern agree wherever both are known
            (own,) = (patterns[a] for a in meeting)
            out[own] = out[own] + counts.sizes[own] if counts.adds_up else np.maximum(out[own], counts.sizes[own])
            continue
        rows = np.concatenate([patterns[a] for a in meeting])
        grouping = group_codes([codes[j][rows] for j in columns], n_rows=len(rows))
        cuts = np.cumsum([len(patterns[a]) for a in meeting])[:-1]
        ids = dict(zip(meeting, np.split(grouping.ids, cuts), strict=True))
        for a, others in meeting.items():
            there = np.concatenate([ids[b] for b in others])
            members = counts.sizes[np.concatenate([patterns[b] for b in others])]
            sizes = join(there, members, grouping.n)[ids[a]]
            out[patterns[a]] = out[patterns[a]] + sizes if counts.adds_up else np.maximum(out[patterns[a]], sizes)
    return out


def _meetings(known: npt.NDArray[np.bool_]) -> Iterator[tuple[IntArray, dict[int, list[int]]]]:
    """The sets of columns on which patterns meet; for each pattern that does so there, those it meets."""
    meetings: dict[bytes, dict[int, list[int]]] = {}
    for a, mine in enumerate(known):
        for b, both in enumerate(mine & known):
            meetings.setdefault(both.tobytes(), {}).setdefault(a, []).append(b)
    for shared, meeting in meetings.items():
        yield np.flatnonzero(np.frombuffer(shared, dtype=np.bool_)), meeting


def _largest(ids: IntArray, members: IntArray, n: int) -> IntArray:
    best = np.zeros(n, dtype=np.int64)
    np.maximum.at(best, ids, members)
    return best


def _patterns(counts: ClassCounts) -> list[IntArray]:
    """Rows of each pattern of missing columns."""
    grouping = group_codes([flags.astype(np.int32) for flags in counts.lacking()], n_rows=counts.n_classes)
    ids = grouping.ids.astype(np.int16) if grouping.n < 2**15 else grouping.ids  # two bytes are sorted by radix
    order = np.argsort(ids, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(grouping.ids[order])) + 1)


def people_with_missing(counts: ClassCounts, who: Memberships | None = None) -> int:
    """People (rows, without a unit) with at least one record that lacks a quasi-identifier; at most so many where nobody knows
    who is in which class.

    >>> people_with_missing(ClassCounts((1, 2), columns=("age",), codes=([0, -1],)))
    2
    """
    lacking = counts.has_missing()
    if not counts.adds_up and who is not None:
        return who.inside(lacking).n_people
    people = int(counts.sizes[lacking].sum())
    return people if counts.n_people is None else min(people, counts.n_people)


def k_under_all_policies(counts: ClassCounts) -> dict[str, int | None]:
    """The smallest crowd under each rule; None where nothing is left, or where there are too many patterns to compare.

    >>> k_under_all_policies(ClassCounts((1, 2, 1), columns=("age", "sex"), codes=([0, 0, -1], [0, 1, 1])))
    {'own': 1, 'wildcard': 1, 'drop': 1}
    """
    lacking = counts.has_missing()
    if not bool(lacking.any()):
        return dict.fromkeys((p.value for p in MissingPolicy), k_anonymity(counts))
    left = counts.sizes[~lacking]
    wild = wildcard_sizes(counts) if len(_patterns(counts)) <= MOST_PATTERNS else None
    return {
        "own": k_anonymity(counts),
        "wildcard": None if wild is None else int(wild.min()),
        "drop": int(left.min()) if len(left) else None,
    }


def under_all_policies(counts: ClassCounts, who: Memberships | None = None) -> dict[str, dict[str, Any]]:
    """k and uniques under the three rules side by side; a rule that leaves nothing says so instead of a number."""
    out: dict[str, dict[str, Any]] = {}
    for policy in MissingPolicy:
        if policy is MissingPolicy.WILDCARD and bool(counts.has_missing().any()):
            patterns = _patterns(counts)
            few = len(patterns) <= MOST_PATTERNS
            out[policy.value] = _by_wildcard(counts, patterns, who).to_json() if few else TOO_MANY
            continue
        try:
            if policy is MissingPolicy.DROP and not counts.adds_up and who is None and bool(counts.has_missing().any()):
                out[policy.value] = {"k": None, "unique": None, "note": "not counted: people have rows in several classes"}
                continue
            out[policy.value] = crowds(counts, policy, who).to_json()
        except EmptyTableError:
            out[policy.value] = {"k": None, "unique": None, "people": 0, "records": 0, "classes": 0, "note": "nothing is left"}
    return out

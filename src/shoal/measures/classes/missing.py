"""Three rules for a missing quasi-identifier, all derived from the classes counted under the strict one.

``own``: a missing value is a value (strict; the only rule that is ever certified). ``wildcard``: it matches every value, so
a record is alike to all records that agree wherever both are known. ``drop``: rows with one are left out.

Takes    ClassCounts under ``own``
Keeps    wildcard sizes ≥ own sizes; without a missing value all three agree
Cost     wildcard: one grouping per pair of missing patterns, over the classes of the two patterns
Differs  where people were counted (``unit``) and are in several classes, people of matching classes cannot be added up; the
         largest matching class is then a lower bound, and the result says so
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import EmptyTableError
from shoal.kernels.group import group_codes, sum_by
from shoal.measures.classes.anonymity import k_anonymity, unique_members
from shoal.model.counts.classes import MISSING, ClassCounts, IntArray, SensitiveCounts
from shoal.model.roles import MissingPolicy

MOST_PATTERNS = 200
"""With more patterns of missing columns the wildcard rule, which compares every two, is computed only when asked for."""


@dataclass(frozen=True)
class Crowds:
    """For each counted class its members, and the size of the crowd that each of them hides in."""

    policy: MissingPolicy
    sizes: IntArray
    members: IntArray
    exact: bool = True

    @property
    def n_members(self) -> int:
        return int(self.members.sum())

    def to_json(self) -> dict[str, Any]:
        out = {"k": k_anonymity(self), "unique": unique_members(self), "records": self.n_members, "classes": len(self.sizes)}
        return out if self.exact else out | {"bound": "lower bound on k: people of matching classes cannot be added up"}


def adds_up(counts: ClassCounts) -> bool:
    """Whether class sizes may be added: records were counted, or every person is in exactly one class."""
    return counts.unit is None or counts.n_members == counts.n_people


def crowds(counts: ClassCounts, policy: MissingPolicy = MissingPolicy.OWN) -> Crowds:
    """Crowd sizes under a rule for missing values.

    >>> c = ClassCounts((1, 2, 1), columns=("age", "sex"), codes=([0, 0, -1], [0, 1, 1]))
    >>> for rule in MissingPolicy:
    ...     found = crowds(c, rule)
    ...     print(rule.value, k_anonymity(found), unique_members(found), found.sizes.tolist())
    own 1 2 [1, 2, 1]
    wildcard 1 1 [1, 3, 3]
    drop 1 1 [1, 2]
    """
    if policy is MissingPolicy.OWN or not bool(counts.has_missing().any()):
        return Crowds(policy, counts.sizes, counts.sizes)
    if policy is MissingPolicy.DROP:
        kept = drop_missing(counts)
        return Crowds(policy, kept.sizes, kept.sizes)
    return Crowds(policy, wildcard_sizes(counts), counts.sizes, exact=adds_up(counts))


def drop_missing(counts: ClassCounts, *, n_people: int | None = None) -> ClassCounts:
    """The classes without a missing quasi-identifier; ``n_people`` are the people who are left, where somebody counted them.

    >>> c = ClassCounts((1, 2), columns=("age",), codes=([0, -1],))
    >>> drop_missing(c).sizes.tolist()
    [1]
    """
    keep = ~counts.has_missing()
    if bool(keep.all()):
        return counts
    if not bool(keep.any()):
        raise EmptyTableError(
            "every row has a missing quasi-identifier, so nothing is left under the rule 'drop'.",
            hint="Use the rule 'own', or leave out the column that is never filled.",
        )
    place = np.cumsum(keep) - 1
    if n_people is None and counts.unit is not None and adds_up(counts):
        n_people = int(counts.sizes[keep].sum())
    return ClassCounts(
        counts.sizes[keep],
        columns=counts.columns,
        codes=[c[keep] for c in counts.codes],
        categories=counts.categories,
        sensitive={n: _kept(s, keep, place) for n, s in counts.sensitive.items()},
        records=None if counts.records is None else counts.records[keep],
        weights=None if counts.weights is None else counts.weights[keep],
        n_people=n_people,
        unit=counts.unit,
        missing=MissingPolicy.DROP,
    )


def _kept(s: SensitiveCounts, keep: np.ndarray[Any, np.dtype[np.bool_]], place: IntArray) -> SensitiveCounts:
    there = keep[s.classes]
    return SensitiveCounts(s.column, place[s.classes[there]], s.values[there], s.counts[there], s.categories, s.order)


def wildcard_sizes(counts: ClassCounts) -> IntArray:
    """For each class the members of all classes that agree with it wherever both are known.

    Classes are sorted by which columns are missing. Two patterns meet on the columns known to both: the classes of both are
    grouped there, and the members of one are handed to the other.
    """
    patterns = _patterns(counts)
    add = adds_up(counts)
    out = np.zeros(counts.n_classes, dtype=np.int64)
    codes = tuple(counts.codes)
    known = np.stack([c[[rows[0] for rows in patterns]] != MISSING for c in codes], axis=1)
    for a, rows_a in enumerate(patterns):
        for b, rows_b in enumerate(patterns):
            columns = np.flatnonzero(known[a] & known[b])
            both = np.concatenate((rows_a, rows_b))
            grouping = group_codes([codes[j][both] for j in columns], n_rows=len(both))
            here, there = grouping.ids[: len(rows_a)], grouping.ids[len(rows_a) :]
            if add:
                out[rows_a] += sum_by(there, counts.sizes[rows_b], grouping.n)[here]
            else:
                best = np.zeros(grouping.n, dtype=np.int64)
                np.maximum.at(best, there, counts.sizes[rows_b])
                out[rows_a] = np.maximum(out[rows_a], best[here])
    return out


def _patterns(counts: ClassCounts) -> list[IntArray]:
    """Rows of each pattern of missing columns."""
    flags = [(c == MISSING).astype(np.int32) for c in counts.codes]
    grouping = group_codes(flags, n_rows=counts.n_classes)
    order = np.argsort(grouping.ids, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(grouping.ids[order])) + 1)


def under_all_policies(counts: ClassCounts) -> dict[str, dict[str, Any]]:
    """k and uniques under the three rules side by side; a rule that leaves nothing says so instead of a number."""
    out: dict[str, dict[str, Any]] = {}
    for policy in MissingPolicy:
        if policy is MissingPolicy.WILDCARD and len(_patterns(counts)) > MOST_PATTERNS:
            out[policy.value] = {"k": None, "unique": None, "note": "too many patterns of missing values: ask for it by name"}
            continue
        try:
            out[policy.value] = crowds(counts, policy).to_json()
        except EmptyTableError:
            out[policy.value] = {"k": None, "unique": None, "records": 0, "classes": 0, "note": "nothing is left"}
    return out

r"""SUDA2: minimal sample uniques, and a score per record and per column.

A *minimal sample unique* (MSU) of a record is a set of columns on which the record is the only one, while it is not on any
smaller part of the set. The fewer columns an MSU has, the more special the record. With :math:`M` columns an MSU of size
:math:`s` weighs, in the original scores of Elliot,

.. math:: (M - s)!

and in the scaled scores of sdcMicro's default :math:`(2^{M-s} - 1)\, s!\,(M-s)!/M!`. A record's score is the sum over its
MSUs; a column's contribution is the share of the score in MSUs that hold the column. The DIS-SUDA score spreads the
probability that a unique match is right (Skinner and Elliot) over the records by their scores.

Takes    ClassCounts with codes
Keeps    only records that are unique on all columns score; an original score is 0 exactly without an MSU (scaled, an MSU
         of all columns weighs 0 too)
Cost     sets of columns, pruned: see ``suda_loops.py``
Source   Elliot, Manning & Ford 2002; Manning, Haglin & Keane 2008; scores checked against the SDC practice guide
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.kernels.jit import HAVE_NUMBA, njit
from shoal.measures.classes.missing import adds_up
from shoal.model.counts.classes import ClassCounts, FloatArray, IntArray

MOST_SETS = 20_000_000
"""More sets of columns than this are refused."""

OVERLAP = (
    "A minimal unique counts for each of its columns, so the shares of the columns overlap and can add up to more than 100 %."
)

Scores = Literal["original", "scaled"]


@dataclass(frozen=True)
class Suda:
    """Minimal sample uniques of a table and what follows from them."""

    columns: tuple[str, ...]
    score: FloatArray  # per class
    dis: FloatArray  # per class: DIS-SUDA score
    share: FloatArray  # classes × columns: share of the score in MSUs with the column
    msu_class: IntArray
    msu_mask: IntArray  # bit j: column j
    members: IntArray
    scores: Scores

    @property
    def by_size(self) -> dict[int, int]:
        """Number of MSUs of each size."""
        sizes = np.bitwise_count(self.msu_mask)
        return {int(s): int(n) for s, n in zip(*np.unique(sizes, return_counts=True), strict=True)}

    @property
    def by_column(self) -> dict[str, float]:
        """Share of the total score in MSUs that hold the column (shares overlap, so they add up to more than 1)."""
        total = float(self.score.sum())
        if total == 0.0:
            return dict.fromkeys(self.columns, 0.0)
        part = (self.share * self.score[:, None]).sum(axis=0) / total
        return {name: float(x) for name, x in zip(self.columns, part, strict=True)}

    def to_json(self) -> dict[str, object]:
        return {
            "records_with_msu": int(np.count_nonzero(self.score)),
            "msus": len(self.msu_mask),
            "msus_by_size": self.by_size,
            "max_score": float(self.score.max()),
            "contribution": self.by_column,
            "remark": OVERLAP,
            "scores": self.scores,
        }


def suda(
    counts: ClassCounts,
    *,
    up_to: int | None = None,
    scores: Scores = "original",
    missing: Literal["own", "ignore"] = "own",
    sampling_fraction: float = 0.01,
) -> Suda:
    """Minimal sample uniques (MSUs) of up to ``up_to`` columns, of all sizes by default, and SUDA scores.

    ``scores``: ``original`` (Elliot) or ``scaled`` (sdcMicro's default). ``missing``: ``own``, a missing value is a value;
    ``ignore``, it may not be part of an MSU, as in sdcMicro. ``sampling_fraction`` is the share of the population in the table,
    for DIS-SUDA.

    >>> c = ClassCounts((2, 1, 1), columns=("age", "sex", "town"), codes=([0, 0, 1], [0, 1, 1], [0, 0, 0]))
    >>> s = suda(c)
    >>> s.score.tolist(), s.by_size
    ([0.0, 1.0, 2.0], {1: 1, 2: 1})
    """
    _check(counts, up_to, sampling_fraction)

    width = len(counts.columns)
    order = np.argsort([len(np.unique(c)) for c in counts.codes], kind="stable")  # most values: highest bit
    codes = np.stack([counts.codes[j] for j in order])
    single = counts.sizes == 1
    klass, mask = minimal_uniques(codes, single, min(up_to or width, width), missing == "ignore")
    bits = (mask[:, None] >> np.arange(width)) & 1 == 1
    holds = np.zeros_like(bits)
    holds[:, order] = bits
    weight = _weights(width, scores)[holds.sum(axis=1)]
    score = np.bincount(klass, weights=weight, minlength=counts.n_classes).astype(np.float64, copy=False)
    share = np.zeros((counts.n_classes, width))
    for j in range(width):
        share[:, j] = np.bincount(klass[holds[:, j]], weights=weight[holds[:, j]], minlength=counts.n_classes)
    share /= np.where(score > 0, score, 1.0)[:, None]
    own_mask = (holds.astype(np.int64) << np.arange(width)).sum(axis=1)
    dis = _dis(score, counts, width, sampling_fraction)
    return Suda(counts.columns, score, dis, share, klass, own_mask, counts.sizes, scores)


def _check(counts: ClassCounts, up_to: int | None, sampling_fraction: float) -> None:
    width = len(counts.codes)
    if width == 0:
        raise UsageError("SUDA needs the codes of the quasi-identifiers.", hint="Count a table, not only class sizes.")
    if not adds_up(counts):
        hint = "Measure records: leave out unit."
        raise UsageError("people are in several classes, so minimal uniques are not defined by class.", hint=hint)
    if up_to is not None and up_to < 1:
        raise UsageError(f"a minimal unique has at least one column; found {up_to}.", hint="Use for example up_to=3.")
    if not 0.0 < sampling_fraction <= 1.0:
        raise UsageError("the sampling fraction lies above 0 and at most at 1.", hint="Use for example 0.01.")
    number = sum(math.comb(width, r) for r in range(1, min(up_to or width, width) + 1))
    if number > MOST_SETS or width > 60:
        raise UsageError(f"{width} columns have {number:,} sets to search.", hint="Limit the size of the sets, for example to 3.")


def _weights(width: int, scores: Scores) -> FloatArray:
    """Weight of an MSU by its size 0 … width."""
    if scores == "original":
        return np.array([0.0] + [float(math.factorial(width - s)) for s in range(1, width + 1)])
    if scores == "scaled":
        return np.array([0.0] + [(2.0 ** (width - s) - 1) / math.comb(width, s) for s in range(1, width + 1)])
    raise UsageError(f"scores '{scores}' are not known.", hint="Scores: original, scaled.")


def _dis(score: FloatArray, counts: ClassCounts, width: int, fraction: float) -> FloatArray:
    """DIS-SUDA: the chance that a unique match is right, spread over the records by score."""
    ones = int(np.count_nonzero(counts.sizes == 1))
    twos = int(np.count_nonzero(counts.sizes == 2))
    out = np.zeros(counts.n_classes)
    scored = score > 0
    if ones == 0 or not bool(scored.any()):
        return out
    theta = ones * fraction / (ones * fraction + 2 * twos * (1 - fraction))
    power = score[scored] ** (1.0 + (8.0 - width) / 20.0)
    scale = float((1.0 / power).sum())
    out[scored] = 1.0 / (1.0 + ones * (1.0 / theta - 1.0) / (power * scale))
    return out


Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]


def minimal_uniques(codes: Codes, single: npt.NDArray[np.bool_], most: int, ignore_missing: bool) -> tuple[Ints, Ints]:
    """The class of each minimal sample unique, and its mask; in ``codes`` (columns × classes) −1 is missing, column j is bit j.

    ``single`` says whether a class has one record, ``most`` limits the columns of a set. With ``ignore_missing`` a missing value
    is no part of a minimal unique; else it is a value like any other.
    """
    cards = np.array([int(c.max()) + 2 for c in codes], dtype=np.int64)
    if HAVE_NUMBA:
        return _search(np.ascontiguousarray(codes), cards, single, most, ignore_missing)
    return by_numpy(codes, single, most, ignore_missing)


@njit
def _split(
    codes: Codes, card: int, rows: Codes, group: Codes, out: Codes, new: Codes, seen: Codes, slots: Ints, slot_group: Codes,
    used: Ints, ignore_missing: bool,
) -> tuple[int, int]:  # pragma: no cover - compiled  # fmt: skip
    """Refine the groups of ``rows`` by one more column: rows to ``out``, their groups to ``new``, group sizes to ``seen``."""
    size = len(slots)
    direct = (int(group.max()) + 1) * card <= size
    kept = groups = 0
    for i in range(len(rows)):
        code = codes[rows[i]]
        if ignore_missing and code < 0:
            continue
        key = np.int64(group[i]) * card + (code + 1)
        slot = key if direct else (key * np.int64(-7046029254386353131) >> 13) & (size - 1)
        while slots[slot] != -1 and slots[slot] != key:
            slot = (slot + 1) & (size - 1)
        if slots[slot] == -1:
            slots[slot] = key
            slot_group[slot] = groups
            seen[groups] = 0
            used[groups] = slot
            groups += 1
        new[kept] = slot_group[slot]
        out[kept] = rows[i]
        seen[slot_group[slot]] += 1
        kept += 1
    for i in range(groups):
        slots[used[i]] = -1
    return kept, groups


@njit
def _is_minimal(mask: int, at: int, masks: Ints, chain: Ints) -> bool:  # pragma: no cover - compiled
    """Whether none of the masks found for a class so far (a linked list from ``at``) lies inside ``mask``."""
    while at >= 0:
        if masks[at] & ~mask == 0:
            return False
        at = chain[at]
    return True


@njit
def _grow(array: Ints) -> Ints:  # pragma: no cover - compiled
    return np.concatenate((array, np.empty(len(array), np.int64)))


@njit
def _search(
    codes: Codes, cards: Ints, single: npt.NDArray[np.bool_], most: int, ignore_missing: bool
) -> tuple[Ints, Ints]:  # pragma: no cover - compiled
    n_columns, n = codes.shape
    rows = np.empty((most + 1, n), np.int32)  # classes still in the search at each depth
    group = np.zeros((most + 1, n), np.int32)  # and their group there
    left = np.zeros(most + 1, np.int64)
    column = np.full(most + 1, -1, np.int64)
    masks = np.zeros(most + 1, np.int64)
    rows[0], left[0] = np.arange(n), n
    size = 1
    while size < 2 * n + 2:
        size *= 2
    slots, slot_group = np.full(size, -1, np.int64), np.zeros(size, np.int32)
    new, seen, used = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
    head = np.full(n, -1, np.int64)  # last found mask of a class; earlier ones follow by `chain`
    klass, mask_of, chain = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    count = depth = 0
    while depth >= 0:
        column[depth] += 1
        c = column[depth]
        if depth == most or left[depth] == 0 or c >= (n_columns if depth == 0 else column[depth - 1]):
            column[depth] = -1
            depth -= 1
            continue
        mask = masks[depth] | (1 << c)
        here, below = rows[depth, : left[depth]], rows[depth + 1]
        kept, _ = _split(
            codes[c], cards[c], here, group[depth, : left[depth]], below, new, seen, slots, slot_group, used, ignore_missing
        )
        stay = 0
        for i in range(kept):
            r = below[i]
            if seen[new[i]] > 1:
                below[stay], group[depth + 1, stay] = r, new[i]
                stay += 1
            elif single[r] and _is_minimal(mask, head[r], mask_of, chain):
                if count == len(klass):
                    klass, mask_of, chain = _grow(klass), _grow(mask_of), _grow(chain)
                klass[count], mask_of[count], chain[count] = r, mask, head[r]
                head[r] = count
                count += 1
        depth += 1
        left[depth], masks[depth], column[depth] = stay, mask, -1
    return klass[:count].copy(), mask_of[:count].copy()


def by_numpy(codes: Codes, single: npt.NDArray[np.bool_], most: int, ignore_missing: bool) -> tuple[Ints, Ints]:
    """The same by definition: a set is minimal for a class that is unique on it and on none of its parts."""
    n_columns, n = codes.shape
    unique_on = {0: np.zeros(n, np.bool_)}
    out_class, out_mask = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for mask in range(1, 1 << n_columns):
        columns = [j for j in range(n_columns) if mask >> j & 1]
        if len(columns) > most:
            continue
        _, inverse, count = np.unique(codes[columns], axis=1, return_inverse=True, return_counts=True)
        alone = (count[inverse] == 1) & single
        if ignore_missing:
            alone &= (codes[columns] >= 0).all(axis=0)
        part = np.zeros(n, np.bool_)
        for j in columns:
            part |= unique_on[mask & ~(1 << j)]
        minimal = np.flatnonzero(alone & ~part)
        unique_on[mask] = alone | part
        out_class.append(minimal.astype(np.int64))
        out_mask.append(np.full(len(minimal), mask, np.int64))
    return np.concatenate(out_class), np.concatenate(out_mask)

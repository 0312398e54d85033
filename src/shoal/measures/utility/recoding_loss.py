"""How much did the recoding lose? Granularity, precision, ARX's loss, entropies, mutual information, certainty penalty.

Takes    Recoding (original leaf and published set of each class, per column)
Keeps    0 for the identity; 1 (where it is a share) when everything is suppressed; MI utility + loss = mean entropy
Source   METHODS §20, §22 (2e, 2g, 2h); Iyengar 2002; Gionis & Tassa 2009; Goldberger & Tassa 2010; PEERS (ARX)
Differs  entropy losses take probabilities of the published **set**, not of the original value: only so are they monotone
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shoal.errors import UsageError
from shoal.measures.metrics import metric
from shoal.measures.utility.recoding import ColumnRecoding, Recoding
from shoal.model.counts.classes import FloatArray, SensitiveCounts

HELPERS = ("attribute_losses", "column_granularity", "recoding_losses", "table_loss")


def recoding_losses(recoding: Recoding) -> dict[str, float]:
    """Every loss that the recoding allows, by the name of its metric.

    Precision needs hierarchy levels in every column, private information the counts of a sensitive column.

    >>> r = Recoding([1, 1], [ColumnRecoding.from_groups("x", [0, 1], [0, 0])])
    >>> found = recoding_losses(r)
    >>> found["granularity"], found["mutual_information_loss"], "precision" in found
    (1.0, 1.0, False)
    """
    losses: list[Callable[[Recoding], float]] = [granularity, certainty_penalty, arx_loss, monotone_entropy, nonuniform_entropy]
    losses += [mutual_information_utility, mutual_information_loss]
    if all(c.height is not None for c in recoding.columns):
        losses.append(precision)
    if recoding.sensitive is not None:
        losses += [private_information_utility, private_information_loss]
    return {loss.__name__: loss(recoding) for loss in losses}


@metric("granularity", reads="recoding", low=0, high=1, safer="neither", merging="never lower")
def granularity(recoding: Recoding) -> float:
    """Mean loss per cell; numbers by width, other values by leaves.

    >>> r = Recoding([1], [ColumnRecoding.from_groups("x", [0], [0, 0, 0, 1, 2, 3, 4, 5])])
    >>> round(granularity(r), 7)
    0.2857143
    """
    return float(np.mean([column_granularity(recoding, c) for c in recoding.columns]))


def column_granularity(recoding: Recoding, column: ColumnRecoding) -> float:
    """Granularity loss of one column."""
    if column.values is not None:
        domain = float(column.values.max() - column.values.min())
        cell = column.span[column.published] / domain if domain > 0 else np.zeros(len(column.leaf))
    else:
        cell = (column.covered - 1) / max(1, column.n_leaves - 1)
    if column.n_leaves == 1:
        return 0.0
    return _mean(recoding, np.where(recoding.suppressed, 1.0, cell))


@metric("certainty_penalty", reads="recoding", low=0, high=1, safer="neither", merging="never lower")
def certainty_penalty(recoding: Recoding) -> float:
    """Normalised certainty penalty by leaves.

    >>> r = Recoding([3, 1], [ColumnRecoding.from_groups("x", [0, 2], [0, 0, 1])])
    >>> certainty_penalty(r)
    0.375
    """
    cells = [
        _mean(recoding, np.where(recoding.suppressed, 1.0, (c.covered - 1) / (c.n_leaves - 1))) if c.n_leaves > 1 else 0.0
        for c in recoding.columns
    ]
    return float(np.mean(cells))


@metric("arx_loss", reads="recoding", low=0, high=1, safer="neither", merging="never lower")
def arx_loss(recoding: Recoding) -> float:
    """ARX's loss of a recoding.

    >>> r = Recoding([2, 2], [ColumnRecoding.from_groups("x", [0, 2], [0, 0, 1, 2])])
    >>> round(arx_loss(r), 9)
    0.166666667
    """
    return table_loss(attribute_losses(recoding))


def attribute_losses(recoding: Recoding) -> FloatArray:
    """ARX's loss of each column."""
    n = recoding.n_records
    out = []
    for c in recoding.columns:
        d = c.n_leaves
        share = np.where(recoding.suppressed, 1.0, c.covered / d)
        total = float((share * recoding.sizes).sum())
        out.append((total - n / d) / (n - n / d) if d > 1 else 0.0)
    return np.maximum(np.array(out, dtype=np.float64), 0.0)


def table_loss(losses: FloatArray) -> float:
    """Geometric mean of 1 + L over columns, minus 1.

    >>> round(table_loss(np.array([0.0, 1.0])), 6)
    0.414214
    """
    return float(np.expm1(np.log1p(losses).mean()))


@metric("precision", reads="recoding", low=0, high=1, safer="neither", merging="free")
def precision(recoding: Recoding) -> float:
    """Sweeney's precision.

    >>> from shoal.model.hierarchy import Hierarchy
    >>> h = Hierarchy.from_rows("x", [["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"]])
    >>> precision(Recoding([1, 1], [ColumnRecoding.from_level(h, [0, 2], 1)]))
    0.5
    """
    cells = []
    for c in recoding.columns:
        if c.height is None:
            raise UsageError(f"precision of '{c.column}' needs hierarchy levels.", hint="Use granularity for local recoding.")
        cells.append(_mean(recoding, np.where(recoding.suppressed, 1.0, c.height[c.published])))
    return 1.0 - float(np.mean(cells))


@metric("monotone_entropy", reads="recoding", low=0, safer="neither", merging="never lower", doubling="same")
def monotone_entropy(recoding: Recoding) -> float:
    """Monotone entropy per cell (times records and columns it is the sum of the sources).

    >>> x = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3]
    >>> r = Recoding([1] * 12, [ColumnRecoding.from_groups("x", x, [0, 0, 1, 1])])
    >>> round(12 * monotone_entropy(r), 7)
    6.0458286
    """
    out = 0.0
    for c in recoding.columns:
        p = recoding.frequencies(c)
        within = _set_entropy(c, p)
        whole = float(-_plogp(p).sum())
        cell = np.where(recoding.suppressed, whole, (c.per_set(p) * within)[c.published])
        out += _mean(recoding, cell)
    return out / len(recoding.columns)


@metric("nonuniform_entropy", reads="recoding", low=0, safer="neither", merging="never lower", doubling="doubles")
def nonuniform_entropy(recoding: Recoding) -> float:
    """Non-uniform entropy of the whole table, in bits.

    >>> x = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3]
    >>> r = Recoding([1] * 12, [ColumnRecoding.from_groups("x", x, [0, 0, 1, 1])])
    >>> round(nonuniform_entropy(r) / 12, 7)
    0.9792792
    """
    return mutual_information_loss(recoding) * recoding.n_records * len(recoding.columns)


@metric("mutual_information_utility", reads="recoding", low=0, safer="neither", merging="never higher")
def mutual_information_utility(recoding: Recoding) -> float:
    """Mutual information utility in bits per cell.

    >>> x = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3]
    >>> r = Recoding([1] * 12, [ColumnRecoding.from_groups("x", x, [0, 0, 1, 1])])
    >>> round(mutual_information_utility(r), 7)
    0.9798688
    """
    return max(0.0, float(np.mean([-_mean(recoding, np.log2(recoding.set_mass(c))) for c in recoding.columns])))


@metric("mutual_information_loss", reads="recoding", low=0, safer="neither", merging="never lower")
def mutual_information_loss(recoding: Recoding) -> float:
    """Mutual information loss in bits per cell.

    >>> r = Recoding([1, 1], [ColumnRecoding.from_groups("x", [0, 1], [0, 0])])
    >>> mutual_information_loss(r)
    1.0
    """
    out = []
    for c in recoding.columns:
        value = recoding.frequencies(c)[c.leaf]
        out.append(-_mean(recoding, np.log2(value / recoding.set_mass(c))))
    return max(0.0, float(np.mean(out)))


@metric("private_information_utility", reads="recoding", low=-math.inf, safer="neither", merging="free")
def private_information_utility(recoding: Recoding) -> float:
    """Private mutual information utility in bits per cell.

    >>> from shoal.model.counts.classes import SensitiveCounts
    >>> y = SensitiveCounts.from_dense("y", [[2, 1], [1, 1], [0, 3], [2, 2]])
    >>> r = Recoding([3, 2, 3, 4], [ColumnRecoding.from_groups("x", [0, 1, 2, 3], [0, 0, 1, 1])], sensitive=y)
    >>> round(private_information_utility(r) + private_information_loss(r), 6)
    0.979869
    """
    return _sensitive_entropy(recoding) - private_information_loss(recoding)


@metric("private_information_loss", reads="recoding", low=0, safer="neither", merging="free")
def private_information_loss(recoding: Recoding) -> float:
    """Private mutual information loss in bits per cell."""
    s = _sensitive(recoding)
    value = s.values.astype(np.int64) + 1
    width = int(value.max()) + 1
    rows = np.bincount(value, weights=s.counts, minlength=width)
    out = []
    for c in recoding.columns:
        table = np.zeros((c.n_leaves, width))
        np.add.at(table, (c.leaf[s.classes], value), s.counts)
        sets = np.add.reduceat(table[c.members], c.starts[:-1], axis=0)
        at = c.published[s.classes]
        share = sets[at, value] / sets[at].sum(axis=1)
        share = np.where(recoding.suppressed[s.classes], rows[value] / rows.sum(), share)
        out.append(-float((np.log2(share) * s.counts).sum() / s.counts.sum()))
    return max(0.0, float(np.mean(out)))


def _sensitive(recoding: Recoding) -> SensitiveCounts:
    if recoding.sensitive is None:
        raise UsageError("private information needs the counts of a sensitive column.", hint="Build the recoding with them.")
    return recoding.sensitive


def _sensitive_entropy(recoding: Recoding) -> float:
    s = _sensitive(recoding)
    p = np.bincount(s.values.astype(np.int64) + 1, weights=s.counts) / s.counts.sum()
    return float(-_plogp(p).sum())


def _set_entropy(column: ColumnRecoding, p: FloatArray) -> FloatArray:
    """Entropy in bits of the original values inside each set."""
    mass = column.per_set(p)
    safe = np.where(mass > 0, mass, 1.0)
    return np.maximum(np.log2(safe) - column.per_set(_plogp(p)) / safe, 0.0)


def _plogp(p: FloatArray) -> FloatArray:
    out: FloatArray = np.where(p > 0, p * np.log2(np.where(p > 0, p, 1.0)), 0.0)
    return out


def _mean(recoding: Recoding, cell: FloatArray) -> float:
    """Mean over records of a number per class."""
    return float((cell * recoding.sizes).sum() / recoding.n_records)

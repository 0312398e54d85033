"""The numbers of a comparison: column by column, pair by pair, about sensitive values, and over the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from shoal.comparison.columns import ComparedColumn
from shoal.comparison.result import ColumnChange, PairChange
from shoal.kernels.group import count_by, group_codes
from shoal.measures.utility import distances
from shoal.measures.utility.analyses import contingency, correlations, cramers_v, ranks, table_distance
from shoal.measures.utility.class_losses import average_class_size, discernibility
from shoal.model.counts.classes import ClassCounts, FloatArray, IntArray

LOSSES = (
    *("granularity", "certainty_penalty", "monotone_entropy", "nonuniform_entropy"),
    *("mutual_information_utility", "mutual_information_loss", "entropy"),
)
MOST_PAIRED = 20
"""Columns whose pairs are tabulated; the first ones, where there are more."""
MOST_CELLS = 20_000_000
"""Cells of a table of values and sensitive values."""
MOST_CODES = 5_000
"""Distinct values of a column that is tabulated with another: beyond, a table of both is nearly a list of the records."""


def column_change(c: ComparedColumn, rows: tuple[IntArray, IntArray] | None) -> ColumnChange:
    """Every number of one column; ``rows`` pairs records of both tables, where a key does."""
    losses: dict[str, float | None] = distances.column_losses(c.published) if c.published is not None else dict.fromkeys(LOSSES)
    distance = original = far = None
    if c.before is not None and c.after is not None:
        p, q = (np.bincount(x, minlength=c.codes) / max(1, len(x)) for x in (c.before, c.after))
        distance, far = distances.total_variation(p, q), distances.hellinger(p, q)
    if c.published is not None:
        original = distances.total_variation(c.published.share, c.published.spread())
    numbers = None if c.numbers is None else _numbers(*c.numbers)
    matched = {} if rows is None or c.numbers is None else _match_records(c.numbers[0][rows[0]], c.numbers[1][rows[1]])
    if rows is not None and c.is_exact and c.published is not None:
        alone = c.published.covered[c.label[rows[1]]] == 1
        own = c.published.members[c.published.starts[:-1]][c.label[rows[1]]]
        matched["cells_changed"] = 1.0 - float((alone & (own == c.leaf[rows[0]])).mean())
    return ColumnChange(
        c.name, c.kind, c.values, c.missing, losses, distance, original, far, numbers, c.unread_records, matched
    )  # fmt: skip


def _numbers(x: FloatArray, y: FloatArray) -> dict[str, tuple[float, float] | float]:
    """Mean, deviation and quartiles of both, Kolmogorov–Smirnov, and how far numbers moved in deviations."""
    a, b = x[np.isfinite(x)], y[np.isfinite(y)]
    if not len(a) or not len(b):
        return {}
    spread = float(a.std())
    out: dict[str, tuple[float, float] | float] = {"mean": (float(a.mean()), float(b.mean()))}
    out["deviation"] = (spread, float(b.std()))
    for name, at in (("q1", 0.25), ("median", 0.5), ("q3", 0.75)):
        out[name] = (float(np.quantile(a, at)), float(np.quantile(b, at)))
    out["kolmogorov_smirnov"] = distances.kolmogorov_smirnov(a, b)
    out["wasserstein"] = distances.wasserstein(a, b) / spread if spread > 0 else 0.0
    return out


def _match_records(x: FloatArray, y: FloatArray) -> dict[str, float]:
    """Record by record: squared error over the original's spread, and sdcMicro's IL1s (mean difference over √2 deviations)."""
    both = np.isfinite(x) & np.isfinite(y)
    a, b = x[both], y[both]
    spread = float(a.std(ddof=1)) if len(a) > 1 else 0.0
    if not spread:
        return {}
    error = float(((a - b) ** 2).sum()) / float(((a - a.mean()) ** 2).sum())
    return {"squared_error": error, "il1s": float((np.abs(a - b) / (np.sqrt(2.0) * spread)).mean())}


def overall_losses(columns: Sequence[ComparedColumn], changes: Sequence[ColumnChange]) -> dict[str, float | None]:
    """Means over the columns whose labels can be read; ARX's loss is their geometric mean, non-uniform entropy their sum."""
    out: dict[str, float | None] = {}
    for name in LOSSES:
        losses = [c.losses[name] for c in changes]
        known = [x for x in losses if x is not None]
        whole = len(known) == sum(c.published is not None for c in columns) and len(known) > 0
        out[name] = (float(np.sum(known)) if name == "nonuniform_entropy" else float(np.mean(known))) if whole else None
    penalties = [c.losses["certainty_penalty"] for c in changes if c.losses["certainty_penalty"] is not None]
    out["arx_loss"] = float(np.expm1(np.mean(np.log1p(penalties)))) if penalties else None
    apart = [c.distance for c in changes if c.distance is not None]
    out["distance"] = float(np.mean(apart)) if apart else None
    return out


def pair_changes(columns: Sequence[ComparedColumn]) -> list[PairChange]:
    """Contingency tables of every pair at a detail that both tables have; two numbers also by their correlation."""
    usable = [c for c in columns if c.before is not None and c.after is not None and c.codes <= MOST_CODES][:MOST_PAIRED]
    out = []
    for a, b in combinations(usable, 2):
        (x, x2), (y, y2) = _cells(a), _cells(b)
        one, two = contingency(x, y, b.codes), contingency(x2, y2, b.codes)
        v = cramers_v(one, b.codes), cramers_v(two, b.codes)
        out.append(PairChange((a.name, b.name), table_distance(one, two), "Cramér's V", *v))
    return out


def _cells(c: ComparedColumn) -> tuple[IntArray, IntArray]:
    """Codes of original and released records at one detail; a blank column has one code."""
    if c.before is None or c.after is None:
        return np.zeros(len(c.leaf), np.int64), np.zeros(len(c.label), np.int64)
    return c.before, c.after


def correlation_change(columns: Sequence[ComparedColumn]) -> dict[str, Any]:
    """Pearson and Spearman of the numbers before and after, the largest and mean difference, the change of eigenvalues."""
    numbers = [(c.name, c.numbers) for c in columns if c.numbers is not None][:MOST_PAIRED]
    if len(numbers) < 2:
        return {}
    out: dict[str, Any] = {"columns": [name for name, _ in numbers]}
    for method, change in (("pearson", lambda x: x), ("spearman", ranks)):
        before, after = (correlations([change(pair[side]) for _, pair in numbers]) for side in (0, 1))
        upper = np.triu_indices(len(numbers), 1)
        moved = np.abs(before - after)[upper]
        known = moved[np.isfinite(moved)]
        ends = (float(known.max()), float(known.mean())) if len(known) else (None, None)
        out[method] = {"before": before, "after": after, "largest_change": ends[0], "mean_change": ends[1]}
        if method == "pearson":
            out["eigenvalues"] = _eigenvalues(before, after)
    return out


def _eigenvalues(before: FloatArray, after: FloatArray) -> float | None:
    """Mean relative difference of the eigenvalues of the correlation matrices (sdcMicro's comparison of eigenvalues)."""
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        return None
    a, b = np.sort(np.linalg.eigvalsh(before))[::-1], np.sort(np.linalg.eigvalsh(after))[::-1]
    return float((np.abs(a - b) / np.maximum(np.abs(a), 1e-12)).mean())


def private_changes(
    columns: Sequence[ComparedColumn], sensitive: Sequence[str]
) -> tuple[dict[str, dict[str, tuple[float, float]]], list[str]]:
    """What each column tells about each sensitive value (private mutual information), and why some of it is unknown."""
    by_name = {c.name: c for c in columns}
    out: dict[str, dict[str, tuple[float, float]]] = {}
    notes = []
    for target in sensitive:
        y = by_name.get(target)
        if y is None or y.published is None or y.kind != "unchanged":
            notes.append(f"Private information about '{target}' needs its values unchanged in the release.")
            continue
        width = y.published.n_values
        value = y.published.members[y.label]
        changes = {}
        for c in columns:
            if c.name == target or c.published is None or c.published.n_values * width > MOST_CELLS:
                continue
            before = _matrix(c.leaf, y.leaf, c.published.n_values, width)
            after = _matrix(c.label, value, len(c.published.after), width)
            bits = distances.private_information(c.published, before, after)
            if bits is not None:
                changes[c.name] = bits
        out[target] = changes
    return out, notes


def _matrix(x: IntArray, y: IntArray, rows: int, width: int) -> FloatArray:
    cells = np.bincount(x * width + y, minlength=rows * width).reshape(rows, width)
    return cells.astype(np.float64)


def class_change(
    columns: Mapping[str, ComparedColumn], quasi: Sequence[str], sensitive: Sequence[str], lost: int
) -> dict[str, Any]:
    """Losses over the classes of the quasi-identifiers: k, discernibility, average size, classification metric and others."""
    inside = [columns[name] for name in quasi]
    before = group_codes([c.leaf for c in inside])
    after = group_codes([c.label for c in inside])
    one, two = (ClassCounts(count_by(g.ids, g.n)) for g in (before, after))
    out: dict[str, Any] = {
        "quasi": list(quasi),
        "k": {"before": int(one.sizes.min()), "after": int(two.sizes.min())},
        "unique": {"before": int((one.sizes == 1).sum()), "after": int((two.sizes == 1).sum())},
        "classes": {"before": one.n_classes, "after": two.n_classes},
        "discernibility": {"before": discernibility(one), "after": discernibility(two, suppressed=lost)},
        "average_class_size": {"before": average_class_size(one), "after": average_class_size(two)},
        "classification_metric": {},
    }
    for target in sensitive:
        y = columns.get(target)
        if y is not None and y.kind == "unchanged":
            errors = _majority_errors(before.ids, y.leaf, 0), _majority_errors(after.ids, y.label, lost)
            out["classification_metric"][target] = {"before": errors[0], "after": errors[1]}
    if all(c.published is not None for c in inside):
        penalties = [distances.column_losses(c.published)["certainty_penalty"] or 0.0 for c in inside if c.published is not None]
        out["loss"] = float(np.expm1(np.mean(np.log1p(penalties))))
        out["ambiguity"] = _ambiguity(inside, lost)
        if all(c.is_exact for c in inside):
            out["kl_divergence"] = divergence(inside, lost)
    return out


def _majority_errors(ids: IntArray, y: IntArray, lost: int) -> float:
    """Share of the records outside the majority of their class; a record that was left out is an error."""
    pairs = group_codes([ids, y])
    size = count_by(pairs.ids, pairs.n)
    most = np.zeros(int(ids.max()) + 1, dtype=np.int64)
    np.maximum.at(most, ids[pairs.first], size)
    return float((len(ids) - int(most.sum()) + lost) / (len(ids) + lost))


def _ambiguity(inside: Sequence[ComparedColumn], lost: int) -> float:
    """Mean over the records of how many original combinations a published record may stand for."""
    product = np.ones(len(inside[0].label))
    every = 1.0
    for c in inside:
        assert c.published is not None
        product = product * c.published.covered[c.label]
        every *= c.published.n_values
    return float((product.sum() + lost * every) / (len(product) + lost))


MOST_LOOKED_UP = 20_000_000
"""Original combinations × sets of blank columns; beyond, the number is left out."""


def divergence(inside: Sequence[ComparedColumn], lost: int) -> float | None:
    """Bits of KL divergence between the combinations of the original and those that the release suggests.

    A published record is spread evenly over the combinations it may stand for, a blank cell over all values of its column, and
    a record that was left out over everything. None where some original combination is then impossible.
    """
    own = group_codes([c.leaf for c in inside])
    records = len(inside[0].label) + lost
    every = float(np.prod([c.published.n_values for c in inside if c.published is not None], dtype=np.float64))
    suggested = _suggest(inside, own.first, own.n)
    if suggested is None:
        return None
    guess = (suggested + lost / every) / records
    if (guess <= 0).any():
        return None
    p = count_by(own.ids, own.n) / len(own.ids)
    return max(0.0, float((p * np.log2(p / guess)).sum()))


def _suggest(inside: Sequence[ComparedColumn], first: np.ndarray, n: int) -> FloatArray | None:
    """Published records per original combination (given by its first record), each record spread over what it may stand for."""
    blank, value, label = [], [], []
    volume = np.ones(len(inside[0].label))
    for c in inside:
        assert c.published is not None
        blank.append(c.published.blank[c.label])
        label.append(c.label)
        value.append(c.label_of_value()[c.leaf[first]])
        volume = volume * c.published.covered[c.label]
    patterns = group_codes([b.astype(np.int64) for b in blank])
    if patterns.n * n > MOST_LOOKED_UP:
        return None
    out = np.zeros(n)
    for i, row in enumerate(patterns.first):
        here = np.flatnonzero(patterns.ids == i)
        shown = [j for j in range(len(inside)) if not blank[j][row]]
        both = group_codes([np.concatenate((label[j][here], value[j])) for j in shown], n_rows=len(here) + n)
        spread = np.bincount(both.ids[: len(here)], weights=1.0 / volume[here], minlength=both.n)
        out += spread[both.ids[len(here) :]]
    return out

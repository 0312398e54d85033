r"""Gaussian copula with the margins of the sample (Rocher, Hendrickx & de Montjoye).

Every column is a rounded normal; each pair's correlation is the one at which the two rounded columns have the mutual information
of the sample. The share of a combination is the probability of a box of the multivariate normal (Genz's transformation, lattice
points). The correlations are few and are fitted once; when people are left out, only the margins are fitted again.

Needs    codes in the order of the values where they have one; the sign of a correlation is that of the codes
Source   METHODS §33; Rocher et al. 2019; Genz 1992
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from shoal.prediction.attributes.correlation import fit_margins, gaussian_copula, mutual_information
from shoal.prediction.distribution import Floats
from shoal.prediction.population.sample import Ints, Sample, strength

POINTS = 199
BINS = 12
"""Columns are joined into this many groups where correlations are fitted."""
COPULA_DRAWS = 4_000
MOST_COLUMNS = 10
STRONGEST = 0.97
MIXED = 0.02
"""Share of plain independence mixed in: under a strong correlation alone, combinations that occur would be impossible."""
CHUNK = 2_000
_ALPHAS = np.sqrt([2.0, 3, 5, 7, 11, 13, 17, 19, 23])


class Copula:
    """Correlations fitted to a sample, and the dependence that they give each class."""

    def __init__(self, s: Sample, rng: np.random.Generator) -> None:
        self.root: Floats = np.linalg.cholesky(correlations(s)).astype(np.float64)
        self.shift = rng.random(max(s.columns - 1, 1))
        normal = rng.standard_normal((COPULA_DRAWS, s.columns)) @ self.root.T
        from shoal.kernels.scipy.special import ndtr

        u = ndtr(normal)
        drawn = [np.minimum(np.searchsorted(np.cumsum(m), u[:, j]), m.size - 1) for j, m in enumerate(s.margins)]
        self.drawn: Ints = np.stack(drawn, axis=1).astype(np.int64)
        for j, m in enumerate(s.margins):
            self.drawn[: round(MIXED * COPULA_DRAWS), j] = rng.choice(m.size, round(MIXED * COPULA_DRAWS), p=m)
        self.observed = self._ratio(s, s.codes)
        self.every = self._ratio(s, self.drawn)
        self.full = s

    def shares(self, s: Sample) -> Shares:
        """Shares with the margins of ``s``, a part of the sample that the copula was fitted to."""
        at = self.every * _product(s, self.drawn)
        weight = 1.0 / (self.every * _product(self.full, self.drawn) * COPULA_DRAWS)
        return Shares("copula", self.observed * _product(s, s.codes), at, weight)

    def _ratio(self, s: Sample, codes: Ints) -> Floats:
        """How much likelier each combination is than under independence."""
        if s.columns == 1:
            return np.ones(codes.shape[0])
        parts = [self._boxes(s, codes[i : i + CHUNK]) for i in range(0, codes.shape[0], CHUNK)]
        out: Floats = MIXED + (1 - MIXED) * np.concatenate(parts) / _product(s, codes)
        return out

    def _boxes(self, s: Sample, codes: Ints) -> Floats:
        """Probability of the box of each combination."""
        from shoal.kernels.scipy.special import ndtr, ndtri

        u = np.abs(2 * ((np.arange(1, POINTS + 1)[:, None] * _ALPHAS[: s.columns - 1] + self.shift) % 1.0) - 1)
        weight = np.ones((codes.shape[0], POINTS))
        done: list[Floats] = []
        for j, m in enumerate(s.margins):
            edges = ndtri(np.concatenate(([0.0], np.minimum(np.cumsum(m), 1.0)[:-1], [1.0])))
            mean = sum((self.root[j, i] * y for i, y in enumerate(done)), np.zeros_like(weight))
            low = ndtr((edges[codes[:, j]][:, None] - mean) / self.root[j, j])
            high = ndtr((edges[codes[:, j] + 1][:, None] - mean) / self.root[j, j])
            weight *= high - low
            if j < s.columns - 1:
                done.append(ndtri(np.clip(low + u[None, :, j] * (high - low), 1e-300, 1 - 1e-16)))
        out: Floats = weight.mean(axis=1)
        return out


def correlations(s: Sample) -> Floats:
    """The correlation of each pair of columns, as a matrix that is positive definite."""
    out = np.eye(s.columns)
    for i, j in itertools.combinations(range(s.columns), 2):
        out[i, j] = out[j, i] = _rho(s, i, j)
    values, vectors = np.linalg.eigh(out)
    if float(values.min()) < 1e-3:
        out = (vectors * np.maximum(values, 1e-3)) @ vectors.T
        scale = np.sqrt(np.diag(out))
        out = out / np.multiply.outer(scale, scale)
    return out


def _rho(s: Sample, i: int, j: int) -> float:
    from shoal.kernels.scipy import optimize

    pair = smoothed(s, i, j)
    for axis in (0, 1):
        pair = _joined(pair, axis)
    x, y = pair.sum(axis=1), pair.sum(axis=0)
    information = mutual_information(pair / pair.sum())
    a, b = np.cumsum(x) - x / 2, np.cumsum(y) - y / 2
    sign = 1 if float((pair * np.multiply.outer(a - 0.5, b - 0.5)).sum()) >= 0 else -1

    def gap(r: float) -> float:
        return mutual_information(gaussian_copula([x / x.sum(), y / y.sum()], sign * r)) - information

    if information <= 1e-9:
        return 0.0
    if gap(STRONGEST) <= 0:  # more information than the copula may give: as strong as it gets
        return sign * STRONGEST
    return sign * float(optimize.brentq(gap, 0.0, STRONGEST, xtol=1e-3))


def _joined(pair: Floats, axis: int) -> Floats:
    """Neighbouring values joined into groups of about equal share."""
    share = pair.sum(axis=1 - axis)
    if share.size <= BINS:
        return pair
    group = np.minimum((BINS * (np.cumsum(share) - share / 2)).astype(np.int64), BINS - 1)
    moved = np.moveaxis(pair, axis, 0)
    out = np.zeros((BINS, moved.shape[1]))
    np.add.at(out, group, moved)
    return np.moveaxis(out[out.sum(axis=1) > 0], 0, axis)


def _product(s: Sample, codes: Ints) -> Floats:
    out: Floats = np.prod([m[codes[:, j]] for j, m in enumerate(s.margins)], axis=0)
    return out


MOST_CELLS = 1_000_000
"""All pairs are fitted on tables of at most this many combinations."""
SWEEPS = 40
CLOSE = 1e-6
"""Fitting stops when no pair is off by more than this share of the people."""
LOGLINEAR_DRAWS = 20_000


@dataclass(frozen=True, eq=False)
class Shares:
    """What a model says: the share of each class of the sample, and all combinations as ``at`` with their ``numbers``.

    A sum over all combinations of h(share) is ``(numbers * h(at)).sum()``: exact where the table was listed, else by draws from
    the model, each standing for one over its share.
    """

    model: str
    observed: Floats
    at: Floats
    numbers: Floats
    drawn: bool = True

    @classmethod
    def listed(cls, model: str, observed: Floats, every: Floats) -> Shares:
        """From the share of every combination: shares within half a percent of each other are joined at their mean."""
        share = every[every > 0]
        place = np.floor(np.log(share) * 200).astype(np.int64)
        place -= int(place.min())
        count, total = np.bincount(place), np.bincount(place, weights=share)
        full = count > 0
        return cls(model, observed, total[full] / count[full], count[full].astype(np.float64), drawn=False)


def independent(s: Sample, rng: np.random.Generator) -> Shares:
    """Main effects only."""
    observed = np.prod([m[s.codes[:, j]] for j, m in enumerate(s.margins)], axis=0)
    if s.cells <= MOST_CELLS:
        return Shares.listed("independent", observed, outer(s.margins).ravel())
    drawn = np.stack([rng.choice(m.size, LOGLINEAR_DRAWS, p=m) for m in s.margins], axis=1)
    at = np.prod([m[drawn[:, j]] for j, m in enumerate(s.margins)], axis=0)
    return Shares("independent", observed, at, 1.0 / (at * LOGLINEAR_DRAWS))


def tree(s: Sample, rng: np.random.Generator) -> Shares:
    """The spanning tree of pairs with the most information; each pair drawn towards independence."""
    edges = spanning_tree(s)
    steps = [(a, b, smoothed(s, a, b)) for a, b in edges]
    start = edges[0][0] if edges else 0

    def share(codes: Ints) -> Floats:
        out = s.margins[start][codes[:, start]].copy()
        for a, b, pair in steps:
            out *= pair[codes[:, a], codes[:, b]] / s.margins[a][codes[:, a]]
        return out

    drawn = np.zeros((LOGLINEAR_DRAWS, s.columns), dtype=np.int64)
    drawn[:, start] = rng.choice(s.levels[start], LOGLINEAR_DRAWS, p=s.margins[start])
    for a, b, pair in steps:
        drawn[:, b] = _draw_rows(pair / s.margins[a][:, None], drawn[:, a], rng)
    at = share(drawn)
    return Shares("tree", share(s.codes), at, 1.0 / (at * LOGLINEAR_DRAWS))


def two_way(s: Sample) -> Shares:
    """Main and all two-way effects; only for tables of at most :data:`MOST_CELLS` combinations."""
    table = two_way_table(s)
    return Shares.listed("two-way", table[tuple(s.codes.T)], table.ravel())


def two_way_table(s: Sample) -> Floats:
    """The whole table with main and two-way effects, one axis per column."""
    pairs = {(i, j): smoothed(s, i, j) for i, j in itertools.combinations(range(s.columns), 2)}
    table = outer(s.margins)
    for _ in range(SWEEPS):
        worst = 0.0
        for (i, j), goal in pairs.items():
            now = table.sum(axis=tuple(a for a in range(s.columns) if a not in (i, j)))
            ratio = np.divide(goal, now, out=np.zeros_like(goal), where=now > 0)
            worst = max(worst, float(np.abs(now - goal).max()))
            table = table * ratio.reshape([s.levels[a] if a in (i, j) else 1 for a in range(s.columns)])
        if worst < CLOSE:
            break
    out: Floats = table / table.sum()
    return out


def spanning_tree(s: Sample) -> list[tuple[int, int]]:
    """Edges (parent, child) of the tree of greatest mutual information, each child after its parent."""
    gain = np.full((s.columns, s.columns), -1.0)
    for i, j in itertools.combinations(range(s.columns), 2):
        gain[i, j] = gain[j, i] = mutual_information(smoothed(s, i, j))
    done, edges = [0], []
    while len(done) < s.columns:
        left = [j for j in range(s.columns) if j not in done]
        a, b = max(((a, b) for a in done for b in left), key=lambda e: (gain[e], -e[0], -e[1]))
        edges.append((a, b))
        done.append(b)
    return edges


def smoothed(s: Sample, i: int, j: int) -> Floats:
    """Shares of two columns together, drawn towards independence by the strength of greatest likelihood."""
    counts = s.pair(i, j)
    centre = np.outer(s.margins[i], s.margins[j])
    alpha = strength(counts, centre)
    return fit_margins((counts + alpha * centre) / (s.people + alpha), [s.margins[i], s.margins[j]])


def outer(margins: tuple[Floats, ...]) -> Floats:
    """The table of the product of margins."""
    out = margins[0]
    for m in margins[1:]:
        out = np.multiply.outer(out, m)
    return out


def _draw_rows(rows: Floats, of: Ints, rng: np.random.Generator) -> Ints:
    """For each entry of ``of`` a draw from that row of a table of conditional shares."""
    cumulated = np.cumsum(rows, axis=1)
    u = rng.random(of.size) * cumulated[of, -1]
    out = np.zeros(of.size, dtype=np.int64)
    for value in np.unique(of):
        here = of == value
        out[here] = np.searchsorted(cumulated[value], u[here], side="right")
    inside: Ints = np.minimum(out, rows.shape[1] - 1).astype(np.int64)
    return inside

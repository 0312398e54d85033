r"""Gaussian copula with the margins of the sample (Rocher, Hendrickx & de Montjoye).

Every column is a rounded normal; each pair's correlation is the one at which the two rounded columns have the mutual information
of the sample. The share of a combination is the probability of a box of the multivariate normal (Genz's transformation, lattice
points). The correlations are few and are fitted once; when people are left out, only the margins are fitted again.

Needs    codes in the order of the values where they have one; the sign of a correlation is that of the codes
Source   METHODS §33; Rocher et al. 2019; Genz 1992
"""

from __future__ import annotations

import itertools

import numpy as np

from shoal.prediction.attributes.correlation import gaussian_copula, mutual_information
from shoal.prediction.distribution import Floats
from shoal.prediction.population.fitted.loglinear import Shares, smoothed
from shoal.prediction.population.fitted.sample import Ints, Sample

POINTS = 199
BINS = 12
"""Columns are joined into this many groups where correlations are fitted."""
DRAWS = 4_000
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
        normal = rng.standard_normal((DRAWS, s.columns)) @ self.root.T
        from shoal.kernels.scipy.special import ndtr

        u = ndtr(normal)
        drawn = [np.minimum(np.searchsorted(np.cumsum(m), u[:, j]), m.size - 1) for j, m in enumerate(s.margins)]
        self.drawn: Ints = np.stack(drawn, axis=1).astype(np.int64)
        for j, m in enumerate(s.margins):
            self.drawn[: round(MIXED * DRAWS), j] = rng.choice(m.size, round(MIXED * DRAWS), p=m)
        self.observed = self._ratio(s, s.codes)
        self.every = self._ratio(s, self.drawn)
        self.full = s

    def shares(self, s: Sample) -> Shares:
        """Shares with the margins of ``s``, a part of the sample that the copula was fitted to."""
        at = self.every * _product(s, self.drawn)
        weight = 1.0 / (self.every * _product(self.full, self.drawn) * DRAWS)
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

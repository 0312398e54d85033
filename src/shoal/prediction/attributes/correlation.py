r"""Several attributes at once: correlated normals, the Gaussian copula, and what margins alone allow.

Exact for two attributes (Gauss–Legendre in one times the conditional normal in the other); for more, rectangle probabilities
by Genz's transformation with randomly shifted lattice points, with their error. When only the margins are known:
:math:`\kappa(X,Y)=\kappa_X+\kappa_Y+I(X;Y)\ge\kappa_X+\kappa_Y`, and Fréchet's bounds for a joint share.

Source   Koot 2012 §6.3 (METHODS §5.5); Rocher, Hendrickx, de Montjoye 2019 (copula); Genz 1992 (rectangles)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.prediction.distribution import SUM_TOLERANCE, Distribution, Floats, whole
from shoal.prediction.group import moments as _moments

_FAR = 8.6  # a normal beyond this has probability 4e-18
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def frechet_bounds(shares: Sequence[float]) -> tuple[float, float]:
    """Least and greatest joint share of answers with these shares, under any dependence.

    >>> low, high = frechet_bounds([0.30, 0.79, 0.33, 0.37, 0.44, 0.00002])
    >>> low, high
    (0.0, 2e-05)
    >>> [round(x, 12) for x in frechet_bounds([0.9, 0.8])]
    [0.7, 0.8]
    """
    s = np.asarray(list(shares), dtype=np.float64)
    if s.size == 0 or not bool(np.all((s >= 0) & (s <= 1))):
        raise UsageError("shares lie between 0 and 1, and there must be at least one.")
    return max(0.0, float(s.sum()) - (s.size - 1)), float(s.min())


def mutual_information(joint: npt.ArrayLike) -> float:
    """I(X;Y) of a two-way table of probabilities, in nats.

    >>> mutual_information([[0.5, 0.0], [0.0, 0.5]]) == math.log(2)
    True
    """
    j = np.asarray(joint, dtype=np.float64)
    if j.ndim != 2 or not bool(np.all(np.isfinite(j) & (j >= 0))) or abs(float(j.sum()) - 1) > SUM_TOLERANCE:
        hint = "Divide counts by their sum."
        raise UsageError("mutual information needs a two-way table of probabilities that add up to 1.", hint=hint)
    product = j.sum(axis=1, keepdims=True) * j.sum(axis=0, keepdims=True)
    inside = j > 0
    return max(0.0, float((j[inside] * np.log(j[inside] / product[inside])).sum()))


def bivariate_normal(
    sds: tuple[float, float], rho: float, widths: tuple[float, float], *, origin: tuple[float, float] = (0.0, 0.0)
) -> Distribution:
    """Cell probabilities of two correlated normals (mean 0) rounded to a grid through ``origin``.

    >>> d = bivariate_normal((5.289, 4.83), 0.5028, (1, 1))
    >>> round(_moments.mean(d, 10), 5)
    9.68318
    """
    steps = [w / s for w, s in zip(widths, sds, strict=True)]
    if not all(s > 0 and math.isfinite(s) for s in steps):
        raise UsageError("widths and standard deviations must be positive.")
    if math.prod(2 * _FAR / s for s in steps) > 2e7:
        raise UsageError("the grid has more than 20 million cells.", hint="Use wider intervals.")
    edges = [_grid(s, o / sd) for s, o, sd in zip(steps, origin, sds, strict=True)]
    return Distribution.of(normal_rectangles(edges[0], edges[1], rho).ravel(), normalize=True)


def multivariate_normal(covariance: Any, widths: Sequence[float], *, rng: np.random.Generator | None = None) -> Distribution:
    """Cell probabilities of correlated normals (mean 0) rounded to a grid through the mean.

    Two are exact; more use lattice points (relative error about 1e-3) and at most 40,000 cells.

    >>> d = multivariate_normal([[1, 0.5, 0.2], [0.5, 1, 0.4], [0.2, 0.4, 1]], [1.0, 1.0, 1.0])
    >>> 8.1 < _moments.mean(d, 10) < 8.15
    True
    """
    sigma = _covariance(covariance)
    sds = np.sqrt(np.diag(sigma))
    steps = np.asarray(list(widths), dtype=np.float64) / sds
    if steps.size != sds.size or not bool(np.all(steps > 0)):
        raise UsageError(f"{sds.size} positive widths are needed, one per attribute.")
    corr = sigma / np.multiply.outer(sds, sds)
    if sds.size == 2:
        return bivariate_normal((float(sds[0]), float(sds[1])), float(corr[0, 1]), (float(widths[0]), float(widths[1])))
    reach = 8.6 if sds.size == 1 else 5.5  # beyond it lies 4e-8 of each margin, joined to the outermost cells
    edges = [_grid(float(s), 0.0, reach) for s in steps]
    if sds.size == 1:
        from shoal.kernels.scipy.special import ndtr

        return Distribution.of(np.diff(ndtr(edges[0])), normalize=True)
    return Distribution.of(_genz(edges, corr, rng or np.random.default_rng(0)).ravel(), normalize=True)


def normal_rectangles(x_edges: Floats, y_edges: Floats, rho: float) -> Floats:
    """P(X in a cell, Y in a cell) of a standard bivariate normal, for all cells; edges may be infinite.

    >>> inf = math.inf
    >>> normal_rectangles(np.array([-inf, 0, inf]), np.array([-inf, 0, inf]), 0.5).round(6).tolist()
    [[0.333333, 0.166667], [0.166667, 0.333333]]
    """
    from shoal.kernels.scipy.special import ndtr

    r = float(rho)
    if not -1 <= r <= 1:
        raise UsageError(f"a correlation lies between -1 and 1; found {rho!r}.")
    x, y = np.clip(x_edges, -_FAR, _FAR), np.asarray(y_edges, dtype=np.float64)
    if abs(r) == 1.0:  # the comonotone (+1) or countermonotone (-1) coupling
        a: Floats = ndtr(x_edges)[:, None]
        b: Floats = ndtr(y)[None, :]
        cdf = np.minimum(a, b) if r > 0 else np.maximum(a + b - 1, 0.0)
        return np.maximum(np.diff(np.diff(cdf, axis=0), axis=1), 0.0)
    root = math.sqrt((1 - r) * (1 + r))
    piece = min(0.5, max(root, 0.001))  # the conditional normal steps within root
    out = np.zeros((x.size - 1, y.size - 1))
    for i in range(x.size - 1):
        parts = max(1, math.ceil((x[i + 1] - x[i]) / piece))
        cuts = np.linspace(x[i], x[i + 1], parts + 1)
        half = np.diff(cuts)[:, None] / 2
        nodes = (cuts[:-1, None] + half * (_NODES + 1)).ravel()
        weights = (half * _WEIGHTS).ravel() * np.exp(-0.5 * nodes**2) / math.sqrt(2 * math.pi)
        z = (y[None, :] - r * nodes[:, None]) / root
        middle = (z[:, :-1] + z[:, 1:]) > 0  # use the smaller tail
        inner = np.where(middle, ndtr(-z[:, :-1]) - ndtr(-z[:, 1:]), ndtr(z[:, 1:]) - ndtr(z[:, :-1]))
        out[i] = weights @ inner
    return out


def gaussian_copula(margins: Sequence[Any], correlation: Any, *, rng: np.random.Generator | None = None) -> Floats:
    """Joint probabilities of attributes with these margins, tied by a Gaussian copula.

    ``correlation`` is rho for two attributes or a correlation matrix of the underlying normals. The array has one axis per
    attribute. Two attributes are exact; more use 4 × 2,039 shifted lattice points (relative error about 1e-3; pass ``rng`` for
    other shifts).

    >>> gaussian_copula([[0.5, 0.3, 0.2], [0.6, 0.4]], 0.5).round(6).tolist()
    [[0.380436, 0.119564], [0.157536, 0.142464], [0.062027, 0.137973]]
    """
    from shoal.kernels.scipy.special import ndtri

    laws = [np.asarray(m, dtype=np.float64) for m in margins]
    for m in laws:
        if m.size == 0 or not bool(np.all(m >= 0)) or abs(m.sum() - 1) > 1e-9:
            raise UsageError("each margin must be non-negative and sum to 1.")
    edges = [ndtri(np.concatenate(([0.0], np.minimum(np.cumsum(m), 1.0)[:-1], [1.0]))) for m in laws]
    if len(laws) == 1:
        return laws[0]
    matrix = np.asarray(correlation, dtype=np.float64)
    if len(laws) == 2:
        rho = float(matrix) if matrix.ndim == 0 else float(_covariance(matrix)[0, 1])
        joint = normal_rectangles(edges[0], edges[1], rho)
    else:
        joint = _genz(edges, _correlation(matrix, len(laws)), rng or np.random.default_rng(0))
    return fit_margins(joint, laws)


def rho_for_information(margin_x: Any, margin_y: Any, information: float, *, sign: int = 1) -> float:
    """The copula correlation at which the two rounded attributes have this mutual information (nats).

    >>> round(rho_for_information([0.5, 0.3, 0.2], [0.6, 0.4], 0.0665685), 5)
    0.5
    """
    from shoal.kernels.scipy import optimize

    def gap(r: float) -> float:
        return mutual_information(gaussian_copula([margin_x, margin_y], sign * r)) - information

    if information <= 0:
        return 0.0
    if gap(0.99999) < 0:
        what = f"a mutual information of {information:.6g} nats is more than these margins allow under a Gaussian copula."
        raise UsageError(what)
    return sign * float(optimize.brentq(gap, 0.0, 0.99999, xtol=1e-10))


def population_uniqueness(joint: npt.ArrayLike, population: int) -> float:
    """Expected share of unique people in a population with these joint probabilities, sum p (1-p)^(n-1)."""
    n = whole(population, what="population", least=1)
    return _moments.mean(Distribution.of(np.asarray(joint, dtype=np.float64).ravel(), normalize=True), n) / n


def _grid(step: float, origin: float, reach: float = _FAR) -> Floats:
    low, high = math.floor((-reach - origin) / step), math.ceil((reach - origin) / step)
    out: Floats = origin + step * np.arange(low, high + 1, dtype=np.float64)
    out[0], out[-1] = -math.inf, math.inf
    return out


def _genz(edges: Sequence[Floats], corr: Floats, rng: np.random.Generator) -> Floats:
    """Rectangle probabilities of all cells at once: shared lattice points, one attribute after the other."""
    d = len(edges)
    cells = math.prod(e.size - 1 for e in edges)
    if cells > 40_000:
        raise UsageError(f"{cells} linked cells are too many.", hint="Link fewer questions, or ask in wider bands.")
    root: Floats = np.linalg.cholesky(corr).astype(np.float64)
    points = 2039
    alphas = np.sqrt([2.0, 3, 5, 7, 11, 13, 17, 19, 23, 29][: d - 1])
    total = np.zeros(cells)
    chunk = max(1, 4_000_000 // (cells * d))
    for _ in range(4):
        u = np.abs(2 * ((np.arange(1, points + 1)[:, None] * alphas + rng.random(d - 1)) % 1.0) - 1)
        for start in range(0, points, chunk):
            total += _genz_points(edges, root, u[start : start + chunk])
    return (total / (4 * points)).reshape([e.size - 1 for e in edges])


def _genz_points(edges: Sequence[Floats], root: Floats, u: Floats) -> Floats:
    """Sum over points of the product of conditional interval probabilities, for every cell."""
    from shoal.kernels.scipy.special import ndtr, ndtri

    n, d = u.shape[0], len(edges)
    weight, done = np.ones((n, 1)), np.zeros((n, 1, 0))
    for axis in range(d):
        mean = done @ root[axis, :axis] if axis else np.zeros((n, 1))
        cdf = ndtr((edges[axis][None, None, :] - mean[:, :, None]) / root[axis, axis])
        mass = np.diff(cdf, axis=2)
        weight = (weight[:, :, None] * mass).reshape(n, -1)
        if axis < d - 1:
            place = np.clip(cdf[:, :, :-1] + u[:, axis, None, None] * mass, 1e-300, 1 - 1e-16)
            y = ndtri(place).reshape(n, -1)
            done = np.concatenate((np.repeat(done, mass.shape[2], axis=1), y[:, :, None]), axis=2)
    out: Floats = weight.sum(axis=0)
    return out


def fit_margins(joint: Floats, laws: Sequence[Floats]) -> Floats:
    """Scale to the given margins: removes the rest of the integration error (iterative proportional fitting)."""
    out = np.maximum(joint, 0.0)
    for _ in range(20):
        worst = 0.0
        for axis, law in enumerate(laws):
            now = out.sum(axis=tuple(i for i in range(out.ndim) if i != axis))
            with np.errstate(divide="ignore", invalid="ignore"):
                factor = np.where(now > 0, law / now, 0.0)
            worst = max(worst, float(np.abs(now - law).max()))
            out = out * factor.reshape([-1 if i == axis else 1 for i in range(out.ndim)])
        if worst < 1e-15:
            break
    return out


def _covariance(matrix: Any) -> Floats:
    sigma = np.asarray(matrix, dtype=np.float64)
    if sigma.ndim != 2 or sigma.shape[0] != sigma.shape[1] or not bool(np.allclose(sigma, sigma.T)):
        raise UsageError("a covariance must be a symmetric square matrix.")
    if float(np.linalg.eigvalsh(sigma).min()) <= 0:
        raise UsageError("the covariance is not positive definite.", hint="Some attribute is a combination of others.")
    return sigma


def _correlation(matrix: Floats, d: int) -> Floats:
    if matrix.ndim == 0:
        matrix = np.full((d, d), float(matrix))
        np.fill_diagonal(matrix, 1.0)
    out = _covariance(matrix)
    if out.shape[0] != d or not bool(np.allclose(np.diag(out), 1.0)):
        raise UsageError(f"a {d} by {d} correlation matrix with ones on the diagonal is needed.")
    return out

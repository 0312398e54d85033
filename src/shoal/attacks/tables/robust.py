r"""Centre and covariance that outliers do not move: the minimum covariance determinant.

Of all halves of the records the one whose covariance has the least determinant, looked for from many random starts by
concentration steps (each takes the half that is nearest by the covariance of the last half; the determinant never grows). The
covariance is made consistent for normal data, and then taken over all records that are not outlying by it (97.5 % point).
Where most records lie in a plane (a column that is mostly 0), no half has a determinant: the plain covariance is taken.

Takes    records × columns without missing values, more records than twice the columns
Returns  (centre, covariance)
Keeps    the same for any order of the rows up to the starts drawn by ``rng``; moves along with shifts and scales of columns
Source   Rousseeuw & Van Driessen 1999 (FAST-MCD); Croux & Haesbroeck 1999 (consistency)
"""

from __future__ import annotations

import numpy as np

from shoal.errors import DataError
from shoal.kernels.quantiles import chi_squared_chance, chi_squared_quantile
from shoal.model.counts.classes import FloatArray

STARTS, KEPT, FIRST, MOST_STEPS = 60, 6, 2, 100
OUTLYING = 0.975


def minimum_covariance(x: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Robust centre and covariance of the rows of ``x``.

    >>> rng = np.random.default_rng(1)
    >>> rows = np.concatenate([rng.normal(size=(80, 2)), np.full((20, 2), 50.0)])
    >>> centre, covariance = minimum_covariance(rows, rng)
    >>> bool(np.abs(centre).max() < 0.5 and covariance[0, 0] < 2 < np.cov(rows.T)[0, 0])
    True
    """
    n, d = x.shape
    if n <= 2 * d:
        raise DataError(f"{n} records are too few for {d} columns.", hint="Name fewer columns.")
    scale = x.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    z = (x - x.mean(axis=0)) / scale
    half = (n + d + 1) // 2
    tried = [_concentrated(z, rng.choice(n, d + 1, replace=False), half, FIRST) for _ in range(STARTS)]
    tried.sort(key=lambda t: t[0])
    _, inside = min((_concentrated(z, rows, half, MOST_STEPS) for _, rows in tried[:KEPT]), key=lambda t: t[0])
    flat = float(np.linalg.eigvalsh(np.atleast_2d(np.cov(z[inside].T))).min()) < 1e-10
    centre, covariance = (z.mean(axis=0), np.atleast_2d(np.cov(z.T))) if flat else _reweighted(z, inside)
    return x.mean(axis=0) + centre * scale, covariance * np.multiply.outer(scale, scale)


def robust_distances(x: FloatArray, centre: FloatArray, covariance: FloatArray) -> FloatArray:
    """Mahalanobis distance of each row; off the plane of a covariance without an inverse everything is very far.

    >>> robust_distances(np.array([[3.0, 4.0]]), np.zeros(2), np.eye(2)).tolist()
    [5.0]
    """
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.multiply.outer(scale, scale))
    along = ((x - centre) / scale) @ vectors
    out: FloatArray = np.sqrt((along**2 / np.maximum(values, 1e-12)).sum(axis=1))
    return out


def _concentrated(z: FloatArray, rows: np.ndarray, half: int, steps: int) -> tuple[float, np.ndarray]:
    """The rows after some concentration steps, and the logarithm of the determinant of their covariance."""
    value = np.inf
    for _ in range(steps):
        far = robust_distances(z, z[rows].mean(axis=0), np.atleast_2d(np.cov(z[rows].T)))
        rows = np.argsort(far, kind="stable")[:half]
        sign, logarithm = np.linalg.slogdet(np.atleast_2d(np.cov(z[rows].T)))
        now = float(logarithm) if sign > 0 else -np.inf
        if now >= value - 1e-12:
            break
        value = now
    return value, rows


def _reweighted(z: FloatArray, inside: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Centre and covariance of all rows that are not outlying by those of the best half."""
    n, d = z.shape
    share = len(inside) / n
    centre, covariance = z[inside].mean(axis=0), np.atleast_2d(np.cov(z[inside].T))
    covariance = covariance * share / _consistent(share, d)
    near = robust_distances(z, centre, covariance) ** 2 <= chi_squared_quantile(OUTLYING, d)
    if int(near.sum()) <= 2 * d:
        return centre, covariance
    wide = np.atleast_2d(np.cov(z[near].T)) * OUTLYING / _consistent(OUTLYING, d)
    return z[near].mean(axis=0), wide


def _consistent(share: float, d: int) -> float:
    """What the covariance of the nearest share of normal rows is short of, times that share."""
    return chi_squared_chance(chi_squared_quantile(share, d), d + 2)

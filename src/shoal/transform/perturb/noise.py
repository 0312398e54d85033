"""Noise on numbers: additive, multiplicative, or with the correlations of the columns. Every scale is stated in the plan.

Takes    numeric columns and a scale
Returns  steps on batches; row i always gets the same noise under the same seed, whatever the batches
Keeps    means (in expectation); correlated noise keeps correlations, and the plan says by how much variances grow
Source   Kim 1986 (correlated noise); Laplace and Gaussian by inversion

Anyone who knows the seed can subtract the noise: a published plan must not hold the seed it ran with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, PolicyError
from shoal.model.plan import StreamStep, register_step
from shoal.transform.columns import numbers, with_numbers
from shoal.transform.kernels import draws as random

FloatArray = npt.NDArray[np.float64]


@register_step
@dataclass(frozen=True)
class Noise(StreamStep):
    r"""x + s·e, or x·(1 + s·e), with e Gaussian (variance 1), Laplace (variance 2) or uniform on (−1, 1), and s the ``scale``.

    >>> import pyarrow as pa
    >>> t = pa.table({"pay": [100.0, 200.0, None]})
    >>> out = Noise("pay", scale=5.0).start(seed=1)(t, 0)["pay"]
    >>> out.null_count, abs(out[0].as_py() - 100) < 30
    (1, True)
    """

    scale: float = 1.0
    distribution: Literal["gaussian", "laplace", "uniform"] = "gaussian"
    mode: Literal["additive", "multiplicative"] = "additive"
    decimals: int | None = None
    kind: ClassVar[str] = "noise"
    truthful: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise PolicyError(f"the scale of the noise on '{self.column}' must be a positive number.")
        if self.distribution not in _DRAWS or self.mode not in ("additive", "multiplicative"):
            raise PolicyError("noise is gaussian, laplace or uniform, and additive or multiplicative.")

    @property
    def variance(self) -> float:
        """Variance of s·e: what an analyst subtracts from the variance of a column with additive noise."""
        return {"gaussian": 1.0, "laplace": 2.0, "uniform": 1 / 3}[self.distribution] * self.scale**2

    def start(self, seed: int) -> Callable[[Any, int], Any]:
        key = random.derive(seed, self.kind, self.column, self.distribution, self.mode)
        draw = _DRAWS[self.distribution]

        def run(table: Any, rows_before: int) -> Any:
            x, present = numbers(table, self.column)
            e = self.scale * draw(key, rows_before, len(x))
            with np.errstate(over="ignore"):  # told by with_numbers
                out = x + e if self.mode == "additive" else x * (1 + e)
            if self.decimals is not None:
                out = np.round(out, self.decimals)
            return with_numbers(table, self.column, out, present)

        return run


@register_step
@dataclass(frozen=True)
class CorrelatedNoise(StreamStep):
    r"""x + L·e over several columns at once; the noise has covariance L·Lᵀ = share · covariance of the data.

    Correlations stay as they are in expectation and every variance grows by the factor 1 + ``share``. ``factor`` is L, by rows.
    Rows with a missing value in any of the columns keep their other values with noise of the same kind.
    """

    others: tuple[str, ...] = ()
    factor: tuple[tuple[float, ...], ...] = ()
    share: float = 0.1
    kind: ClassVar[str] = "correlated_noise"
    truthful: ClassVar[bool] = False

    def __post_init__(self) -> None:
        size = len(self.columns)
        if len(self.factor) != size or any(len(row) != size for row in self.factor):
            raise PolicyError(f"correlated noise on {size} columns needs a factor of {size} × {size} numbers.")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, *self.others)

    @classmethod
    def fit(cls, table: Any, columns: tuple[str, ...], *, share: float = 0.1) -> CorrelatedNoise:
        """From a pyarrow table (or a sample of it) with the columns: the factor of ``share`` × their covariance."""
        found = [numbers(table, name) for name in columns]
        complete = np.logical_and.reduce([p for _, p in found])
        if complete.sum() < 2:
            raise DataError(f"columns {', '.join(map(repr, columns))} have fewer than two complete records.")
        data = np.array([x[complete] for x, _ in found])
        covariance = np.atleast_2d(np.cov(data)) * share
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.clip(values, 0, None))  # also where a column is a sum of others
        return cls(columns[0], tuple(columns[1:]), tuple(tuple(float(v) for v in row) for row in root), share)

    def start(self, seed: int) -> Callable[[Any, int], Any]:
        keys = [random.derive(seed, self.kind, *self.columns, str(i)) for i in range(len(self.columns))]
        factor = np.asarray(self.factor)

        def run(table: Any, rows_before: int) -> Any:
            found = [numbers(table, name) for name in self.columns]
            with np.errstate(over="ignore"):
                e = factor @ np.array([random.normals(key, rows_before, table.num_rows) for key in keys])
                noisy = [found[i][0] + e[i] for i in range(len(self.columns))]
            for i, name in enumerate(self.columns):
                table = with_numbers(table, name, noisy[i], found[i][1])
            return table

        return run


def noise_for(column: str, values: Any, counts: Any = None, *, share: float = 0.1, **settings: Any) -> Noise:
    """Additive noise whose deviation is ``share`` of the column's own; ``values`` are numbers, ``counts`` their records.

    >>> round(noise_for("x", [1.0, 2.0, 3.0], share=0.5).scale, 4)
    0.4082
    """
    x = np.asarray(values, dtype=np.float64)
    if not len(x):
        raise DataError(f"column '{column}' has no value: all are missing.", column=column)
    w = np.ones(len(x)) if counts is None else np.asarray(counts, dtype=np.float64)
    mean = np.average(x, weights=w)
    deviation = float(np.sqrt(np.average((x - mean) ** 2, weights=w)))
    if not deviation > 0:
        raise DataError(f"column '{column}' has one value only: noise relative to its spread has no size.", column=column)
    unit = Noise(column, 1.0, settings.get("distribution", "gaussian")).variance ** 0.5
    return Noise(column, share * deviation / unit, **settings)


def _symmetric(key: int, start: int, n: int) -> FloatArray:
    return 2 * random.uniforms(key, start, n) - 1


_DRAWS: dict[str, Callable[[int, int, int], FloatArray]] = {
    "gaussian": random.normals,
    "laplace": random.laplaces,
    "uniform": _symmetric,
}

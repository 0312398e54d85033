"""Noise on numbers: additive, multiplicative, or with the correlations of the columns. Every scale is stated in the plan.

Takes    numeric columns and a scale
Returns  steps on batches; a row always gets the same noise under the same seed, for any batches and order of the rows
Keeps    means (in expectation); correlated noise keeps correlations, and the plan says by how much variances grow
Source   Kim 1986 (correlated noise); Laplace and Gaussian by inversion; Mironov 2012 (why the result is rounded)

Anyone who knows the seed can subtract the noise: a published plan must not hold the seed it ran with. The draws depend on the
scale too: two outputs with noise of two sizes from the same draws would give the values. The result is rounded to
the column's own precision: the last digits of a double tell which true values it can come from. Noise of less than half a step
of the column is refused, since rounding would take it off again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import DataError, PolicyError
from shoal.model.plan import Publishes, StreamStep, register_step
from shoal.techniques.columns import FloatArray, numbers, with_numbers
from shoal.techniques.kernels import draws as random
from shoal.techniques.kernels.draws import RowNumbers


class Spread:
    """Means, products of deviations and decimals of columns that are read in parts: no value is kept.

    ``n`` counts the records with a value in every column. Results are rounded where they are used, so that the order of the
    rows changes nothing.
    """

    def __init__(self, columns: int) -> None:
        self.n = 0.0
        self.means: FloatArray = np.zeros(columns)
        self.products: FloatArray = np.zeros((columns, columns))
        self.decimals: list[int | None] = [0] * columns

    @classmethod
    def of(cls, tables: Iterable[Any], columns: Sequence[str]) -> Spread:
        """Of tables one after the other."""
        out = cls(len(columns))
        for table in tables:
            arrays = [numbers(table, name) for name in columns]
            out.add([x for x, _ in arrays], [p for _, p in arrays])
        return out

    def add(
        self, values: Sequence[FloatArray], present: Sequence[npt.NDArray[np.bool_]], weights: FloatArray | None = None
    ) -> None:
        """Take in more records; ``weights`` say how many times each is there."""
        for i, (x, p) in enumerate(zip(values, present, strict=True)):
            self.decimals[i] = decimals_of(x[p], self.decimals[i])
        complete = np.logical_and.reduce(list(present))
        x = np.array([v[complete] for v in values])
        w = np.ones(x.shape[1]) if weights is None else weights[complete]
        n = float(w.sum())
        if not n:
            return
        mean = (x * w).sum(axis=1) / n
        centred = x - mean[:, None]
        apart = mean - self.means
        both = self.n + n
        self.products += (centred * w) @ centred.T + np.outer(apart, apart) * (self.n * n / both)
        self.means = self.means + apart * (n / both)
        self.n = both

    def covariance(self) -> FloatArray:
        """With the divisor n − 1: deviations to six digits, correlations to six decimals."""
        matrix = self.products / (self.n - 1)
        exact = np.sqrt(matrix.diagonal())
        size = np.outer(exact, exact)
        related = np.round(np.divide(matrix, size, out=np.zeros_like(matrix), where=size > 0), 6)
        shown = np.array([float(f"{v:.6g}") for v in exact])
        return np.asarray(related * np.outer(shown, shown))


def decimals_of(values: FloatArray, least: int | None = 0) -> int | None:
    """The decimals that a column's numbers are written with; None for more than nine (a measurement of many digits).

    Of a column that is read in parts, ``least`` is what the parts before have.

    >>> decimals_of(np.array([1.25, 3.5])), decimals_of(np.array([3.0])), decimals_of(np.array([1 / 3]))
    (2, 0, None)
    """
    for d in range(10 if least is None else least, 10):
        if bool((np.abs(np.round(values, d) - values) <= 1e-14 * np.abs(values)).all()):
            return d
    return None


@register_step
@dataclass(frozen=True)
class Noise(StreamStep):
    r"""x + s·e, or x·(1 + s·e), with e Gaussian (variance 1), Laplace (variance 2) or uniform on (−1, 1), and s the ``scale``.

    >>> import pyarrow as pa
    >>> t = pa.table({"pay": [100.0, 200.0, None]})
    >>> out = Noise("pay", scale=5.0).start(seed=1)(t, random.places(0, 3))["pay"]
    >>> out.null_count, abs(out[0].as_py() - 100) < 30
    (1, True)
    """

    scale: float = 1.0
    distribution: Literal["gaussian", "laplace", "uniform"] = "gaussian"
    mode: Literal["additive", "multiplicative"] = "additive"
    decimals: int | None = None
    kind: ClassVar[str] = "noise"
    truthful: ClassVar[bool] = False
    publishes: ClassVar[Publishes] = "numbers"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise PolicyError(f"the scale of the noise on '{self.column}' must be a positive number.")
        if self.distribution not in _DRAWS or self.mode not in ("additive", "multiplicative"):
            raise PolicyError("noise is gaussian, laplace or uniform, and additive or multiplicative.")

    @property
    def variance(self) -> float:
        """Variance of s·e: what an analyst subtracts from the variance of a column with additive noise; rounding to the
        column's precision changes it by up to a quarter of a squared step."""
        return {"gaussian": 1.0, "laplace": 2.0, "uniform": 1 / 3}[self.distribution] * self.scale**2

    def look(self) -> Precision:
        """Sees the whole column before :meth:`start`: its own decimals, and whether rounding to them leaves any noise."""
        return Precision(self)

    def start(self, seed: int) -> Callable[[pa.Table, RowNumbers], pa.Table]:
        key = random.derive(seed, self.kind, self.column, self.distribution, self.mode, f"{self.scale:.9g}")
        draw = _DRAWS[self.distribution]

        def run(table: pa.Table, rows: RowNumbers) -> pa.Table:
            x, present = numbers(table, self.column)
            e = self.scale * draw(key, rows)
            own = own_decimals(table.schema.field(self.column).type)
            if self.mode == "additive":
                need_steps(self.column, self.variance**0.5, own)
            decimals = own if self.decimals is None else self.decimals
            with np.errstate(over="ignore"):  # told by with_numbers
                size = np.full(len(x), self.scale) if self.mode == "additive" else self.scale * np.abs(x)
                out = rounded(x + e if self.mode == "additive" else x * (1 + e), decimals, size)
            return with_numbers(table, self.column, out, present, whole=decimals == 0 and is_whole(table, self.column))

        return run


@register_step
@dataclass(frozen=True)
class CorrelatedNoise(StreamStep):
    r"""x + L·e over several columns at once; the noise has covariance L·Lᵀ = share · covariance of the data.

    Correlations stay as they are in expectation and every variance grows by the factor 1 + ``share``. ``factor`` is L, by rows.
    Rows with a missing value in any of the columns keep their other values with noise of the same kind. ``decimals`` has a
    number per column; without it whole numbers stay whole, and other numbers keep three digits of the noise.
    """

    others: tuple[str, ...] = ()
    factor: tuple[tuple[float, ...], ...] = ()
    share: float = 0.1
    decimals: tuple[int | None, ...] = ()
    kind: ClassVar[str] = "correlated_noise"
    truthful: ClassVar[bool] = False
    publishes: ClassVar[Publishes] = "numbers"

    def __post_init__(self) -> None:
        size = len(self.columns)
        if len(self.factor) != size or any(len(row) != size for row in self.factor):
            raise PolicyError(f"correlated noise on {size} columns needs a factor of {size} × {size} numbers.")
        if len(self.decimals) not in (0, size):
            raise PolicyError(f"correlated noise on {size} columns needs decimals for each of them, or for none.")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, *self.others)

    @classmethod
    def fit(cls, table: pa.Table, columns: tuple[str, ...], *, share: float = 0.1) -> CorrelatedNoise:
        """From a pyarrow table, or tables one after the other, with the columns: the factor of ``share`` × their covariance."""
        spread = Spread.of([table] if hasattr(table, "column_names") else table, columns)
        if spread.n < 2:
            raise DataError(f"columns {', '.join(map(repr, columns))} have fewer than two complete records.")
        values, vectors = np.linalg.eigh(spread.covariance() * share)
        root = vectors * np.sqrt(np.clip(values, 0, None))  # also where a column is a sum of others
        factor = tuple(tuple(float(v) for v in row) for row in root)
        for name, row, own in zip(columns, root, spread.decimals, strict=True):
            if row.any():
                need_steps(name, float(np.sqrt((row**2).sum())), own)
        return cls(columns[0], tuple(columns[1:]), factor, share, tuple(spread.decimals))

    def start(self, seed: int) -> Callable[[pa.Table, RowNumbers], pa.Table]:
        factor = np.asarray(self.factor)
        sizes = np.sqrt((factor**2).sum(axis=1))
        settings = [f"{size:.9g}" for size in sizes]
        keys = [random.derive(seed, self.kind, *self.columns, *settings, str(i)) for i in range(len(self.columns))]

        def run(table: pa.Table, rows: RowNumbers) -> pa.Table:
            columns = [numbers(table, name) for name in self.columns]
            with np.errstate(over="ignore"):
                e = factor @ np.array([random.normals(key, rows) for key in keys])
                noisy = [columns[i][0] + e[i] for i in range(len(self.columns))]
            for i, name in enumerate(self.columns):
                own = own_decimals(table.schema.field(name).type)
                if sizes[i] > 0:
                    need_steps(name, sizes[i], own)
                decimals = own if not self.decimals or own is not None else self.decimals[i]
                out = rounded(noisy[i], decimals, np.full(len(noisy[i]), sizes[i]))
                table = with_numbers(table, name, out, columns[i][1], whole=is_whole(table, name))
            return table

        return run


class Precision:
    """The decimals of a column's own numbers and the mean of their squares, read in parts."""

    def __init__(self, step: Noise) -> None:
        self._step = step
        self._decimals: int | None = 0
        self._squares, self._n = 0.0, 0

    def add(self, table: pa.Table) -> None:
        """Take in more rows."""
        x, present = numbers(table, self._step.column)
        x = x[present]
        self._decimals = decimals_of(x, self._decimals)
        self._n += len(x)
        if self._step.mode == "multiplicative":
            with np.errstate(over="ignore"):
                self._squares += float((x * x).sum())

    def step(self) -> Noise:
        """The step with the column's own decimals, where it names none."""
        size = (self._squares / max(1, self._n)) ** 0.5 if self._step.mode == "multiplicative" else 1.0
        if self._n:
            need_steps(self._step.column, size * self._step.variance**0.5, self._decimals)
        own = self._step.decimals is not None
        return self._step if own or not self._n else replace(self._step, decimals=self._decimals)


def noise_for(column: str, values: Any, counts: Any = None, *, share: float = 0.1, **settings: Any) -> Noise:
    """Additive noise whose deviation is ``share`` of the column's own; ``values`` are numbers, ``counts`` their records.

    >>> round(noise_for("x", [10.0, 20.0, 30.0], share=0.5).scale, 4)
    4.0825
    """
    x = np.asarray(values, dtype=np.float64)
    spread = Spread(1)
    spread.add([x], [np.ones(len(x), np.bool_)], None if counts is None else np.asarray(counts, dtype=np.float64))
    return noise_of(column, spread, share=share, **settings)


def noise_of(column: str, spread: Spread, *, share: float = 0.1, **settings: Any) -> Noise:
    """As :func:`noise_for`, from the spread of a column that was read in parts. The scale has six digits."""
    if not spread.n:
        raise DataError(f"column '{column}' has no value: all are missing.", column=column)
    deviation = float(np.sqrt(spread.products[0, 0] / spread.n))
    if not deviation > 0:
        raise DataError(f"column '{column}' has one value only: noise relative to its spread has no size.", column=column)
    unit = Noise(column, 1.0, settings.get("distribution", "gaussian")).variance ** 0.5
    own = spread.decimals[0]
    if settings.get("mode", "additive") == "additive":
        need_steps(column, share * deviation, own)
    return Noise(column, float(f"{share * deviation / unit:.6g}"), **{"decimals": own, **settings})


def own_decimals(kind: pa.DataType) -> int | None:
    """The decimals of a type that has them: whole numbers and decimals; None for doubles and texts."""
    if pa.types.is_integer(kind):
        return 0
    return int(kind.scale) if pa.types.is_decimal(kind) else None


def is_whole(table: pa.Table, column: str) -> bool:
    """Whether new numbers are written as int64; those of decimals without decimals, which reach further, are doubles."""
    return bool(pa.types.is_integer(table.schema.field(column).type))


def need_steps(column: str, deviation: float, decimals: int | None) -> None:
    """Refuse noise that rounding to the column's own steps would take off again."""
    if decimals is not None and deviation < 0.5 * 10.0**-decimals:
        raise PolicyError(
            f"the noise on '{column}' (deviation {deviation:.3g}) is less than half a step of the column: rounding takes it off.",
            hint=f"Take a deviation of at least {0.5 * 10.0**-decimals:g}, or rank_swap or pram.",
        )


def rounded(values: FloatArray, decimals: int | None, size: FloatArray) -> FloatArray:
    """To ``decimals``; where they are not known, to three digits of the noise, whose ``size`` is given per value."""
    if decimals is not None:
        return np.round(values, decimals)
    with np.errstate(divide="ignore"):
        digits = np.clip(2 - np.floor(np.log10(size)), -300, 300)
    out = values.copy()
    for d in np.unique(digits).tolist():
        mine = (digits == d) & (size > 0) & (np.abs(values) < 10.0 ** min(15 - d, 308))  # a double has no more digits
        out[mine] = np.round(values[mine], int(d))
    return out


_DRAWS: dict[str, Callable[[bytes, RowNumbers], FloatArray]] = {
    "gaussian": random.normals,
    "laplace": random.laplaces,
    "uniform": lambda key, rows: 2 * random.uniforms(key, rows) - 1,
}

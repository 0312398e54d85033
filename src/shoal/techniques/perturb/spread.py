"""Spread and decimals of columns that are read in parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.techniques.columns import FloatArray, numbers


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
            found = [numbers(table, name) for name in columns]
            out.add([x for x, _ in found], [p for _, p in found])
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
        found = self.products / (self.n - 1)
        exact = np.sqrt(found.diagonal())
        size = np.outer(exact, exact)
        related = np.round(np.divide(found, size, out=np.zeros_like(found), where=size > 0), 6)
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

r"""Products of many independent attributes: the law of :math:`-\ln p(X)` on a grid.

The number of cells of a product is astronomical, but every prediction is a sum :math:`\sum_z p_z\,g(p_z)=E\,g(e^{-Y})` with
:math:`Y=\sum_qY_q`, :math:`Y_q=-\ln p_q(X_q)`. Each :math:`Y_q` is put on a grid of step h by splitting its mass between two
neighbours so that the mean is kept; sums are convolutions, done by one FFT. The split adds variance of at most h²/4 per
attribute, so

.. math:: |\text{error}| \le \tfrac{m\,h^2}{8}\max|g''|

for m attributes, which is returned with the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shoal.prediction.distribution import Distribution, Floats

POINTS = 1 << 14


@dataclass(frozen=True, eq=False)
class Factor:
    """One attribute (or block of linked ones): surprisals and their masses, lowest first subtracted."""

    base: float
    y: Floats
    mass: Floats

    @classmethod
    def of(cls, d: Distribution) -> Factor:
        y = -np.log(d.p)
        base = float(y.min())
        mass = d.p if d.copies is None else d.p * d.copies
        return cls(base, y - base, mass)

    @property
    def span(self) -> float:
        return float(self.y.max())


@dataclass(frozen=True, eq=False)
class Grid:
    """A grid of ``points`` steps of size ``step``; spectra of factors on it multiply."""

    step: float
    points: int

    def spectrum(self, f: Factor) -> Any:
        """Fourier transform of the factor's mass on the grid, which is wide enough for all factors together."""
        place = f.y / self.step
        left = np.floor(place).astype(np.int64)
        part = place - left
        line = np.bincount(left, weights=f.mass * (1 - part), minlength=self.points)
        line[1:] += np.bincount(left, weights=f.mass * part, minlength=self.points)[:-1]
        return np.fft.rfft(line, n=self.points)

    def law(self, spectrum: Any) -> Floats:
        """Mass on the grid of the product of spectra."""
        out: Floats = np.maximum(np.fft.irfft(spectrum, n=self.points), 0.0).astype(np.float64)
        return out

    @cached_property
    def places(self) -> Floats:
        return self.step * np.arange(self.points, dtype=np.float64)

    def error(self, g: Floats, attributes: int) -> float:
        """Bound on the error of E g for g given on the grid."""
        if attributes == 0:
            return 0.0
        bend = float(np.abs(np.diff(g, n=2)).max()) / self.step**2
        return attributes * self.step**2 / 8 * bend + 1e-12


@dataclass(frozen=True)
class Product:
    """The law of the total surprisal of independent factors."""

    grid: Grid
    base: float
    mass: Floats
    attributes: int

    @classmethod
    def of(cls, factors: Sequence[Factor], *, powers: Sequence[int] | None = None, points: int = POINTS) -> Product:
        """The product of factors, each taken ``powers`` times."""
        times = [1] * len(factors) if powers is None else list(powers)
        span = sum(f.span * t for f, t in zip(factors, times, strict=True))
        grid = Grid(max(span, 1e-9) / (points - 2 - sum(times)), points)
        spectrum: Any = 1.0
        for f, t in zip(factors, times, strict=True):
            spectrum = spectrum * grid.spectrum(f) ** t
        base = sum(f.base * t for f, t in zip(factors, times, strict=True))
        return cls(grid, base, grid.law(spectrum), sum(times))

    def expect(self, g: Callable[[Floats], Floats]) -> tuple[float, float]:
        """E g(Y) and a bound on its error."""
        values = g(self.base + self.grid.places)
        return float(self.mass @ values), self.grid.error(values, self.attributes)


def alone(people: int) -> Callable[[Floats], Floats]:
    """g for "nobody else has this cell": (1-e^-y)^(n-1)."""
    m = people - 1

    def g(y: Floats) -> Floats:
        with np.errstate(divide="ignore", under="ignore", invalid="ignore"):
            out = np.exp(m * np.log1p(-np.exp(-np.maximum(y, 0.0))))
        return np.where(y <= 0, 1.0 if m == 0 else 0.0, out)

    return g


def fewer_than(people: int, k: int) -> Callable[[Floats], Floats]:
    """g for "fewer than k in the cell, with me": P(Bin(n-1, e^-y) ≤ k-2)."""
    if k == 2:
        return alone(people)
    from shoal.kernels.scipy.special import betaincc

    def g(y: Floats) -> Floats:
        if k < 2:
            return np.zeros_like(y)
        if people - 1 <= k - 2:
            return np.ones_like(y)
        return np.asarray(betaincc(k - 1, people - k + 1, np.exp(-np.maximum(y, 0.0))), dtype=np.float64)

    return g


def enumerate_cells(factors: Sequence[Factor], g: Callable[[Floats], Floats]) -> float:
    """E g(Y) as a plain sum over all cells; the last factor is taken block by block."""
    y, mass = np.array([0.0]), np.array([1.0])
    for f in factors[:-1]:
        y = np.add.outer(y, f.y + f.base).ravel()
        mass = np.multiply.outer(mass, f.mass).ravel()
    last_y, last_mass = factors[-1].y + factors[-1].base, factors[-1].mass
    block = max(1, 2_000_000 // last_y.size)
    total = 0.0
    for i in range(0, y.size, block):
        values = g(np.add.outer(y[i : i + block], last_y))
        total += float(mass[i : i + block] @ (values @ last_mass))
    return min(1.0, total)

"""Distributions over cells: what every prediction starts from.

Takes    probabilities, counts, grouped cells (alpha_i, F_i), or only a number of equal cells
Keeps    probabilities sum to one; cells without probability count in N; equal cells are held once with their number
Refuses  negative, infinite and not-a-number entries, and sums that differ from one by more than 1e-9
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError

Floats = npt.NDArray[np.float64]

SUM_TOLERANCE = 1e-9
LARGEST_GROUP = 2**53


@dataclass(frozen=True, eq=False)
class Distribution:
    """Cell probabilities, each with the number of cells that have it.

    ``p`` holds positive probabilities, ``copies`` how many cells have each (None: one each), ``cells`` the number N of
    all cells, also those of probability zero. Build it with :meth:`of`, :meth:`uniform`, :meth:`counts` or
    :meth:`grouped`.

    >>> d = Distribution.of([0.5, 0.25, 0.25, 0.0])
    >>> d.cells, d.occupied, round(d.kappa, 6), d.power_sum(2)
    (4, 3, 0.346574, 0.375)
    >>> Distribution.uniform(365).kappa
    0.0
    """

    p: Floats
    copies: Floats | None
    cells: int

    @classmethod
    def of(cls, probabilities: Any, *, normalize: bool = False) -> Distribution:
        """From one probability per cell; ``normalize=True`` divides by the sum instead of refusing.

        >>> Distribution.of([0.5, 0.6])
        Traceback (most recent call last):
        shoal.errors.UsageError: the probabilities sum to 1.1, not to 1.
          Check for a missing or doubled cell, or pass normalize=True (--normalize) to divide by the sum.
        """
        p = _check_values(probabilities, what="probabilities")
        return _positive(p, None, cells=p.size, normalize=normalize)

    @classmethod
    def counts(cls, counts: Any, *, cells: int | None = None) -> Distribution:
        """From how many people each cell holds. ``cells`` is N when empty cells were left out of ``counts``.

        >>> Distribution.counts([3, 1, 0]).p.tolist()
        [0.25, 0.75]
        """
        values = _check_values(counts, what="counts")
        n = values.size if cells is None else whole(cells, what="cells", least=1)
        if n < values.size:
            hint = "cells is the number of all possible cells, also the empty ones."
            raise UsageError(f"cells={n} is fewer than the {values.size} counts given.", hint=hint)
        if values.size and bool(np.all(values == np.floor(values))):
            distinct, copies = np.unique(values, return_counts=True)
            return _positive(distinct, copies.astype(np.float64), cells=n, normalize=True)
        return _positive(values, None, cells=n, normalize=True)

    @classmethod
    def uniform(cls, cells: int) -> Distribution:
        """N equal cells."""
        n = whole(cells, what="cells", least=1)
        return cls(np.array([1.0 / n]), np.array([float(n)]), n)

    @classmethod
    def grouped(cls, alpha: Sequence[float], sizes: Sequence[int]) -> Distribution:
        """``sizes[i]`` cells of probability ``alpha[i] / N`` each, N the sum of the sizes.

        >>> Distribution.grouped([0.5, 1.5], [10, 10]).p.tolist()
        [0.025, 0.075]
        """
        a, f = _check_values(alpha, what="alpha"), _check_values(sizes, what="sizes")
        if a.size != f.size:
            raise UsageError(f"{a.size} values of alpha were given for {f.size} group sizes.", hint="Give one each.")
        if bool(np.any(f != np.floor(f))) or f.sum() < 1:
            raise UsageError("group sizes must be whole numbers with at least one cell in all.")
        return _positive(a / f.sum(), f, cells=int(f.sum()), normalize=False)

    @classmethod
    def zipf(cls, cells: int, exponent: float) -> Distribution:
        """p_x proportional to x^(-exponent), x = 1..N."""
        n = whole(cells, what="cells", least=1)
        weight = np.exp(-exponent * np.log(np.arange(1, n + 1, dtype=np.float64)))
        return cls(weight / weight.sum(), None, n)

    @property
    def multiplicity(self) -> Floats:
        """Number of cells for each entry of ``p``, as an array."""
        return np.ones_like(self.p) if self.copies is None else self.copies

    @property
    def occupied(self) -> int:
        """Number of cells with positive probability."""
        return int(self.p.size) if self.copies is None else int(self.copies.sum())

    @cached_property
    def p_max(self) -> float:
        return float(self.p.max())

    @cached_property
    def log_rest(self) -> Floats:
        """ln(1 - p) for each entry of ``p``; of a cell above ½ from the sum of all others, so that no digit is lost.

        >>> Distribution.of([1.0, 1e-300], normalize=True).log_rest.round(3).tolist()
        [-690.776, -0.0]
        """
        with np.errstate(divide="ignore"):
            out: Floats = np.log1p(-self.p)
            if self.p_max > 0.5:
                at = int(self.p.argmax())
                others = np.delete(self.p, at), None if self.copies is None else np.delete(self.copies, at)
                out[at] = np.log(Distribution(*others, self.cells).total(others[0]))
        return out

    @cached_property
    def collapsed(self) -> Distribution:
        """The same distribution with equal probabilities held once (left as it is beyond four million entries)."""
        if self.p.size > 4_000_000:
            return self
        values, inverse = np.unique(self.p, return_inverse=True)
        if values.size == self.p.size:
            return self
        copies = np.bincount(inverse, weights=self.multiplicity).astype(np.float64)
        return Distribution(values, copies, self.cells)

    def total(self, values: Floats) -> float:
        """Sum over cells of one value per entry of ``p``."""
        return float(values.sum()) if self.copies is None else float((values * self.copies).sum())

    @cached_property
    def kappa(self) -> float:
        r"""Kullback–Leibler distance to the uniform, :math:`\sum p\ln(Np)`, in nats; between 0 and ln N."""
        return max(0.0, self.total(self.p * np.log(self.p * self.cells)))

    @cached_property
    def chi(self) -> float:
        r"""Half chi-square distance :math:`\tfrac12(N\sum p^2-1)`."""
        return 0.5 * (self.cells * self.power_sum(2) - 1.0)

    @cached_property
    def entropy(self) -> float:
        """Shannon entropy in nats."""
        return max(0.0, -self.total(self.p * np.log(self.p)))

    def power_sum(self, r: int) -> float:
        """:math:`S_r=\\sum p^r`."""
        return self.total(self.p**r)

    def expanded(self, *, limit: int = 50_000_000) -> Floats:
        """One entry per cell, zeros left out."""
        if self.occupied > limit:
            raise UsageError(f"{self.occupied} cells are too many to list.", hint="Use the grouped form.")
        return self.p if self.copies is None else np.repeat(self.p, self.copies.astype(np.int64))


def as_distribution(p: Any, *, normalize: bool = False) -> Distribution:
    """``p`` as a :class:`Distribution`: itself, a whole number N of equal cells, or probabilities."""
    if isinstance(p, Distribution):
        return p
    if isinstance(p, (int, np.integer)) and not isinstance(p, bool):
        return Distribution.uniform(int(p))
    return Distribution.of(p, normalize=normalize)


def whole(value: Any, *, what: str, least: int = 0) -> int:
    """``value`` as a whole number of at least ``least``.

    >>> whole(29.0, what="group_size")
    29
    >>> whole(-1, what="group_size")
    Traceback (most recent call last):
    shoal.errors.UsageError: group_size must be a whole number of at least 0; found -1.
    """
    try:
        number = int(value)
        fits = number == value and not isinstance(value, bool)
    except (TypeError, ValueError, OverflowError):
        number, fits = 0, False
    if not fits or number < least:
        raise UsageError(f"{what} must be a whole number of at least {least}; found {value!r}.")
    if number > LARGEST_GROUP:
        raise UsageError(f"{what}={number} is beyond 2^53: no such group exists.", hint="Give a number of people.")
    return number


def fraction(value: float, *, what: str, closed: bool = True) -> float:
    """``value`` as a number between 0 and 1 (ends included when ``closed``)."""
    x = float(value)
    if not (0.0 <= x <= 1.0) or (not closed and x in (0.0, 1.0)):
        ends = "from 0 to 1" if closed else "between 0 and 1"
        raise UsageError(f"{what} must be {ends}; found {value!r}.")
    return x


def _check_values(values: Any, *, what: str) -> Floats:
    """A one-dimensional array of finite, non-negative numbers."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the {what} are not numbers.", hint="Give a list or array of numbers.") from error
    array = array.ravel()
    if array.size == 0:
        raise UsageError(f"no {what} were given.", hint="At least one cell is needed.")
    lowest = float(array.min())  # not-a-number spreads through min
    if math.isnan(lowest) or not math.isfinite(float(array.max())):
        bad = int(np.count_nonzero(~np.isfinite(array)))
        raise UsageError(f"{bad} of the {array.size} {what} are not finite numbers.", hint="Remove or replace them.")
    if lowest < 0:
        bad = int(np.count_nonzero(array < 0))
        raise UsageError(f"{bad} of the {array.size} {what} are negative.", hint="A cell holds at least zero.")
    return array


def _positive(p: Floats, copies: Floats | None, *, cells: int, normalize: bool) -> Distribution:
    """Drop empty cells, check the sum, divide by it when asked or when it is off by rounding."""
    keep = (p > 0) if copies is None else (p > 0) & (copies > 0)
    if not bool(keep.all()):
        p, copies = p[keep], None if copies is None else copies[keep]
    with np.errstate(over="ignore"):
        weights = p if copies is None else p * copies
        total = float(weights.sum())
    if math.isfinite(total) and weights.size <= 100_000:
        total = math.fsum(weights.tolist())
    if not math.isfinite(total):
        raise UsageError("the counts are too large to be added up.", hint="Divide them all by the same large number.")
    if total <= 0:
        raise UsageError("all cells are empty: no distribution is defined.", hint="At least one cell must be positive.")
    if not normalize and abs(total - 1.0) > SUM_TOLERANCE:
        hint = "Check for a missing or doubled cell, or pass normalize=True (--normalize) to divide by the sum."
        raise UsageError(f"the probabilities sum to {total:.12g}, not to 1.", hint=hint, total=total)
    if abs(total - 1.0) > 1e-14:
        p = p / total
        keep = p > 0  # a cell may fall below the smallest number
        if not bool(keep.all()):
            p, copies = p[keep], None if copies is None else copies[keep]
    return Distribution(p, copies, cells)


def log_uniform(k: int, cells: int) -> float:
    r"""ln of :math:`\pi_u(k,N)=\prod_{i<k}(1-i/N)`; minus infinity when k > N.

    >>> round(math.exp(log_uniform(29, 95)), 14)
    0.008399253214
    """
    if k > cells:
        return -math.inf
    if k <= 1:
        return 0.0
    if k <= 2_000_000:
        return float(np.log1p(-np.arange(1, k, dtype=np.float64) / cells).sum())
    left = float(cells - k)
    if left < 1e5:
        return math.lgamma(cells + 1.0) - math.lgamma(left + 1.0) - k * math.log(cells)
    n = float(cells)
    return -(left + 0.5) * math.log1p(-k / n) - k + (1 / n - 1 / left) / 12 - (n**-3 - left**-3) / 360

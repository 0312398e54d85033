r"""The expansions in the width of an interval, kept by name: what :mod:`~shoal.prediction.attributes.rounding` gives exactly.

:math:`ES=k-k(k-1)\Delta\int f^2+\tfrac12k(k-1)(k-2)\Delta^2\int f^3+\dots`, valid while :math:`(k-1)\Delta\int f^2\le0.2`; the
integral :math:`k\int f(1-\Delta f)^{k-1}` for smooth densities; and the inverse rule of thumb for a normal value.

Takes    integrals of powers of a density, or a frozen scipy distribution; a width, a group size
Returns  Estimate of the number of unique people, graded C outside the validity
Source   Koot 2012 ch. 6, corrected (METHODS §5)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shoal.errors import UsageError
from shoal.model.display import written
from shoal.model.estimate import Estimate
from shoal.prediction.distribution import Floats, whole


def positive_width(width: float) -> float:
    """A width above 0, and finite."""
    w = float(width)
    if not (w > 0 and math.isfinite(w)):
        raise UsageError(f"the width of an interval must be positive; found {width!r}.")
    return w


def expansion(f2: float, f3: float, width: float, group_size: int, *, order: int = 2) -> Estimate:
    r"""The expansion in the width from :math:`\int f^2` and :math:`\int f^3`; clamped to [0, k] and graded C outside its range.

    ``details["unclamped"]`` is the value the formula gives.

    >>> e = expansion(1 / 365, 1 / 365**2, 1, group_size=10)
    >>> round(e.value, 10), e.grade
    (9.7561268531, 'B')
    """
    k = whole(group_size, what="group_size")
    first = k * (k - 1) * width * f2
    raw = k - first + (0.5 * k * (k - 1) * (k - 2) * width**2 * f3 if order == 2 else 0.0)
    value = min(float(k), max(0.0, raw))
    strain = max(0, k - 1) * width * f2
    name = f"expansion in the width, order {order}"
    if strain > 0.2:
        note = f"(k-1)·width·∫f² is {written(strain, 3)}, above 0.2: the expansion does not hold"
        return Estimate(value, 0.0, float(k), level=1.0, method=name, grade="C", notes=(note,), details={"unclamped": raw})
    error = k * strain**order  # the next term is smaller than this
    return Estimate(value, max(0.0, value - error), min(float(k), value + error), method=name, details={"unclamped": raw})


def groups_expansion(f2: float, f3: float, width: float, group_size: int) -> tuple[float, float, float]:
    r"""Shares of people alone, in pairs and in threes to second order in the width."""
    k = whole(group_size, what="group_size", least=1)
    one, two = (k - 1) * width * f2, (k - 1) * (k - 2) * width**2 * f3
    return 1 - one + two / 2, one - two, two / 2


def variance_expansion(f2: float, width: float, group_size: int) -> float:
    r"""First order of the variance of the number of unique people, :math:`2k(k-1)\Delta\int f^2`."""
    k = whole(group_size, what="group_size")
    return 2 * k * (k - 1) * width * f2


def density_integral(law: Any, power: int) -> float:
    r""":math:`\int f^m` of a frozen scipy distribution; closed for normal, exponential and uniform.

    >>> from scipy import stats
    >>> round(density_integral(stats.norm(), 2), 14), round(density_integral(stats.expon(scale=2), 3), 12)
    (0.28209479177388, 0.083333333333)
    """
    m = whole(power, what="power", least=1)
    name = getattr(getattr(law, "dist", None), "name", "")
    scale = float(law.std())
    if name == "norm":
        return float(m**-0.5 * (math.sqrt(2 * math.pi) * scale) ** -(m - 1))
    if name == "expon":
        return float(scale ** -(m - 1) / m)
    if name == "uniform":
        return float((scale * math.sqrt(12)) ** -(m - 1))
    pieces = _integrated(law, lambda f: f**m)
    whole_, ends = float(pieces.sum()), float(pieces[0] + pieces[-1])
    if not (math.isfinite(whole_) and ends <= 1e-4 * whole_):
        raise UsageError(
            f"the integral of f^{m} of this distribution does not exist or cannot be found.", hint="Use method='exact'."
        )
    return whole_


def _integrated(law: Any, of_density: Callable[[float], float]) -> Floats:
    r"""Integrals of a function of the density, :math:`\int g(f)\,dx=\int g(f)/f\,du` over quantiles u on a logarithmic scale.

    One number per piece, from the far lower tail over the median to the far upper tail.
    """
    from shoal.kernels.scipy import integrate

    marks = np.log([1e-60, 1e-30, 1e-13, 1e-9, 1e-6, 1e-3, 0.05, 0.25, 0.5])

    def piece(quantile: Callable[[float], float], a: float, b: float) -> float:
        def inner(s: float) -> float:
            f = float(law.pdf(quantile(math.exp(s))))
            return of_density(f) / f * math.exp(s) if f > 0 else 0.0

        return float(integrate.quad(inner, a, b, limit=200, full_output=1)[0])

    pairs = list(itertools.pairwise(marks))
    lower = [piece(law.ppf, a, b) for a, b in pairs]
    return np.array(lower + [piece(law.isf, a, b) for a, b in reversed(pairs)])


def integral_form(law: Any, step: float, k: int, f2: float) -> Estimate:
    """k times the integral of f (1 - width f)^(k-1)."""
    total = float(_integrated(law, lambda f: f * max(0.0, 1 - step * f) ** (k - 1)).sum())
    value = min(float(k), k * total)
    fine = step * step * f2 * f2 < 0.01
    error = value * 0.02 if fine else float(k)
    notes = () if fine else ("the intervals are wide against the spread",)
    return Estimate(
        value,
        max(0.0, value - error),
        min(float(k), value + error),
        method="k ∫ f (1 - width f)^(k-1)",
        grade="B" if fine else "C",
        notes=notes,
    )

r"""Fit Zipf's law to counts per place.

Least squares on the logarithms (the source's way, with R²) and maximum likelihood of the truncated law,
:math:`\sum f_x\ln x/\sum f_x=\sum x^{-c}\ln x/\sum x^{-c}`. Ranks come from the same counts, so expect a small bias either way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shoal.errors import UsageError
from shoal.prediction.zipf.records import Zipf


@dataclass(frozen=True)
class ZipfFit:
    """Exponent ``c``, fitted count of the first rank, R² on the logarithms, and the greatest gap of the distribution functions.

    ``ks`` is the Kolmogorov distance between the fitted and the observed law; ``p_value`` (when simulated) the share of
    samples from the fitted law that lie further away.
    """

    c: float
    first: float
    places: int
    r2: float
    ks: float
    method: str
    p_value: float | None = None

    @property
    def law(self) -> Zipf:
        return Zipf(self.c, self.places)

    def count(self, rank: float) -> float:
        """Fitted count at a rank."""
        return float(self.first * rank**-self.c)


def fit_zipf(
    counts: Any,
    *,
    method: Literal["mle", "least-squares"] = "mle",
    simulate: int = 0,
    rng: np.random.Generator | None = None,
) -> ZipfFit:
    """Fit Zipf's law to counts per place (any order; places without visits are left out).

    ``simulate`` draws that many samples from the fitted law for a p-value of the fit; it needs ``rng``.

    >>> f = fit_zipf([751018, 550350, 415908], method="least-squares")
    >>> round(f.c, 6), round(f.first)
    (0.528291, 762299)
    """
    f = np.sort(np.asarray(counts, dtype=np.float64).ravel())[::-1]
    if f.size and not (bool(np.all(np.isfinite(f))) and f[-1] >= 0):
        raise UsageError("counts must be finite and not negative.")
    f = f[f > 0]
    if f.size < 2:
        raise UsageError(f"{f.size} places with visits are too few to fit Zipf's law.", hint="At least two are needed.")
    x = np.arange(1, f.size + 1, dtype=np.float64)
    log_x, log_f = np.log(x), np.log(f)
    if method == "least-squares":
        centred = log_x - log_x.mean()
        slope = float((centred * log_f).sum() / (centred**2).sum())
        c, first = -slope, math.exp(float(log_f.mean()) - slope * float(log_x.mean()))
    elif method == "mle":
        c = _mle(f, log_x)
        first = float(f.sum()) / float((x**-c).sum())
    else:
        raise UsageError(f"method '{method}' is not known.", hint="Methods: mle, least-squares.")
    rest = log_f - (math.log(first) - c * log_x)
    r2 = 1 - float((rest**2).sum()) / max(float(((log_f - log_f.mean()) ** 2).sum()), 1e-300)
    ks = _distance(f, c, log_x)
    p_value = _p_value(f, c, ks, log_x, simulate, rng) if simulate else None
    return ZipfFit(c, first, int(f.size), r2, ks, method, p_value)


def _mle(f: np.ndarray, log_x: np.ndarray) -> float:
    aim = float((f * log_x).sum() / f.sum())

    def mean_log(c: float) -> float:
        w = np.exp(-c * log_x)
        return float((w * log_x).sum() / w.sum())

    low, high = -5.0, 5.0
    while mean_log(high) > aim and high < 200:
        high *= 2
    for _ in range(200):
        c = 0.5 * (low + high)
        low, high = (c, high) if mean_log(c) > aim else (low, c)
    return max(0.0, 0.5 * (low + high))


def _distance(f: np.ndarray, c: float, log_x: np.ndarray) -> float:
    w = np.exp(-c * log_x)
    return float(np.abs(np.cumsum(f) / f.sum() - np.cumsum(w) / w.sum()).max())


def _p_value(f: np.ndarray, c: float, ks: float, log_x: np.ndarray, simulate: int, rng: np.random.Generator | None) -> float:
    if rng is None:
        raise UsageError("a simulated p-value needs rng.", hint="Pass rng=numpy.random.default_rng(seed).")
    w = np.exp(-c * log_x)
    p = w / w.sum()
    further = 0
    for _ in range(simulate):
        drawn = np.sort(rng.multinomial(round(float(f.sum())), p)).astype(np.float64)[::-1]
        further += _distance(drawn, _mle(drawn, log_x), log_x) >= ks
    return (further + 1) / (simulate + 1)

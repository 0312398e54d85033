r"""Popular places follow Zipf's law: how identifying are a few linked records?

d places, visited with :math:`p(x)=a\,x^{-c}` for rank x. A pseudonym that covers s records puts n people into :math:`d^s`
cells. Two answers: the *hard threshold* of the source (a cell is "below" when it expects fewer than k people), in closed form
for every s; and what is really wanted, the expected share of people in cells with fewer than k members. Derivation: zipf.md.

Takes    a fitted or given law, the number of people n, records s, threshold k
Returns  ranks, shares, and how many records a pseudonym may cover
Source   Kikuchi & Takahashi 2016, corrected (METHODS §26–31)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shoal.errors import UsageError
from shoal.model.estimate import Estimate, Grade
from shoal.prediction.attributes import loggrid as _loggrid
from shoal.prediction.distribution import Distribution, Floats, as_distribution, fraction, whole

Kind = Literal["discrete", "continuous"]

MOST_PLACES = 50_000_000


@dataclass(frozen=True)
class Zipf:
    """p(x) = a x^-c on ranks 1..d: ``discrete`` (sums to one) or ``continuous`` (integrates to one, the source's form).

    >>> z = Zipf(0.632, 2497)
    >>> round(z.a, 7), round(Zipf(0.632, 2497, "continuous").a, 7)
    (0.0216513, 0.0219138)
    >>> round(z.distribution.kappa, 6)
    0.511945
    """

    c: float
    d: int
    kind: Kind = "discrete"

    def __post_init__(self) -> None:
        if not math.isfinite(self.c) or self.c < 0:
            raise UsageError(f"Zipf's exponent is a number of at least 0; found {self.c!r}.")
        if whole(self.d, what="the number of places", least=1) > MOST_PLACES:
            raise UsageError(f"{self.d} places are too many.", hint=f"At most {MOST_PLACES}; leave out those that nobody visits.")

    @property
    def a(self) -> float:
        """The factor that makes the law sum (or integrate) to one."""
        if self.kind == "discrete":
            return 1.0 / float((np.arange(1, self.d + 1, dtype=np.float64) ** -self.c).sum())
        if self.d == 1:
            raise UsageError("the continuous law needs at least two places.")
        b = 1 - self.c
        span = math.log(self.d)
        return 1 / span if abs(b) < 1e-12 else b / math.expm1(b * span)

    @property
    def distribution(self) -> Distribution:
        """The discrete law as a distribution."""
        return Distribution.zipf(self.d, self.c)


def threshold_rank(z: Zipf, people: int, records: int, *, k: int = 2, a: float | None = None) -> float:
    r"""The least unidentifiable rank product :math:`x^*=(a^sn/k)^{1/c}`: beyond it a cell expects fewer than k people.

    Falls with s. At least d^s: nobody is below; under 1: everybody.

    >>> round(threshold_rank(Zipf(0.632, 2497, "continuous"), 42_598_300, 3), 1)
    5238.1
    """
    n, s = whole(people, what="people", least=1), whole(records, what="records", least=1)
    threshold = whole(k, what="k", least=1)
    if z.c == 0:
        raise UsageError("with exponent 0 all places are equal: ranks are undefined.", hint="Use uniform_records.")
    log_x = (s * math.log(z.a if a is None else a) + math.log(n / threshold)) / z.c
    return math.exp(min(log_x, 700.0))


def mean_rank(z: Zipf, people: int, records: int, *, k: int = 2, a: float | None = None) -> float:
    """The geometric mean rank at the threshold, (x*)^(1/s)."""
    return float(threshold_rank(z, people, records, k=k, a=a) ** (1 / records))


def share_below(z: Zipf, rank: float, records: int, *, method: str = "auto") -> Estimate:
    """Share of people whose product of ranks exceeds ``rank``: the source's "anonymity ratio".

    Continuous law: closed form up to eight records. Discrete law: exact up to three records. Beyond: FFT on the log grid.

    >>> z = Zipf(0.7, 50, "continuous")
    >>> [round(share_below(z, 1000, s).value, 7) for s in (1, 2, 3, 4)]
    [0.0, 0.066065, 0.5331672, 0.8588045]
    >>> round(share_below(Zipf(0.632, 2497), 2_173_909, 2).value, 7)
    0.0639388
    """
    s = whole(records, what="records", least=1)
    if math.isnan(rank):
        raise UsageError("the rank is not a number.", hint="Use threshold_rank.")
    if not rank > 0:
        return Estimate.exact(1.0, method="threshold below the first rank")
    t = math.log(rank)
    if t >= s * math.log(z.d):
        return Estimate.exact(0.0, method="threshold beyond the last rank")
    if t < 0:
        return Estimate.exact(1.0, method="threshold below the first rank")
    if method != "grid":
        if z.kind == "continuous" and s <= 8:
            return Estimate.exact(_closed(z, t, s), method="closed form")
        if z.kind == "discrete" and (s <= 2 or (s == 3 and z.d <= 20_000)):
            return Estimate.exact(_discrete(z, rank, s), method="exact sum over ranks")
    return _grid_below(z, t, s)


def expected_share(laws: Any, people: int, records: int = 1, *, k: int = 2) -> Estimate:
    r"""Expected share of people in cells with fewer than k members, :math:`\sum_zp_z\,P(\mathrm{Bin}(n-1,p_z)\le k-2)`.

    ``laws`` is a :class:`Zipf`, a distribution, or a list of them (several attributes); each is used ``records`` times.
    With k = 2 this is the expected share of unique people.

    >>> e = expected_share(Zipf(0.632, 2497), 42_598_300, records=2)
    >>> round(e.value, 6), e.grade
    (0.023712, 'A')
    >>> round(expected_share(Zipf(0.632, 2497), 42_598_300, records=3).value, 4)
    0.9224
    """
    n, s = whole(people, what="people", least=1), whole(records, what="records", least=1)
    threshold = whole(k, what="k", least=1)
    parts = [_law(x) for x in (laws if isinstance(laws, (list, tuple)) else [laws])]
    g = _loggrid.fewer_than(n, threshold)
    factors = [_loggrid.Factor.of(d.collapsed) for d in parts]
    flat = [f for f in factors for _ in range(s)]
    if math.prod(f.y.size for f in flat) <= (8_000_000 if threshold <= 2 else 300_000):
        return Estimate.exact(_loggrid.enumerate_cells(flat, g), method="exact sum over cells")
    product = _loggrid.Product.of(factors, powers=[s] * len(factors), points=1 << 16)
    value, error = product.expect(g)
    value, notes = min(1.0, value), (f"grid error at most {error:.1e}",)
    grade: Grade = "A" if error < 1e-9 else "B"
    ends = max(0.0, value - error), min(1.0, value + error)
    return Estimate(value, *ends, level=1.0, method="log-grid convolution", grade=grade, notes=notes)


def pseudonym_life(laws: Any, people: int, limit: float, *, k: int = 2, most: int = 64) -> int:
    """The most records a pseudonym may cover before more than ``limit`` of the people are in cells under k; 0: none.

    >>> [pseudonym_life(Zipf(0.632, 2497), 42_598_300, t) for t in (0.01, 0.05, 0.5)]
    [1, 2, 2]
    """
    top = fraction(limit, what="limit")
    for s in range(1, most + 1):
        if expected_share(laws, people, s, k=k).low > top:
            return s - 1
    return most


def uniform_records(places: int, people: int, *, goal: str = "cells", level: float = 0.5, k: int = 2) -> float:
    """Records needed when all places are equal.

    ``goal``: "cells" (d^s = n, necessary only), "share" (a share ``level`` unique), "all" (all unique with probability
    ``level``), "k" (at most: k people per cell on average).

    >>> [round(uniform_records(2497, 42_598_300, goal=g, level=x), 4) for g, x in (("cells", 0), ("all", 0.5), ("share", 0.95))]
    [2.2456, 4.4495, 2.6253]
    """
    n, d = whole(people, what="people", least=2), whole(places, what="places", least=2)
    if goal in ("share", "all"):
        fraction(level, what="level", closed=False)
    needed = {
        "cells": lambda: float(n),
        "share": lambda: n / math.log(1 / level),
        "all": lambda: n * n / (2 * math.log(1 / level)),
        "k": lambda: n / k,
    }
    if goal not in needed:
        raise UsageError(f"goal '{goal}' is not known.", hint="Goals: " + ", ".join(needed) + ".")
    return math.log(needed[goal]()) / math.log(d)


def _law(x: Any) -> Distribution:
    return x.distribution if isinstance(x, Zipf) else as_distribution(x)


def _closed(z: Zipf, t: float, s: int) -> float:
    """1 - a^s sum_j (-1)^j C(s,j) d^(bj) G_s(t - jL), G_s(v) = v^s/s! 1F1(s; s+1; bv)."""
    from shoal.kernels.scipy.special import hyp1f1

    b, span = 1 - z.c, math.log(z.d)
    terms = []
    for j in range(min(s, int(t / span)) + 1):
        v = t - j * span
        g = v**s / math.factorial(s) * float(hyp1f1(s, s + 1, b * v))
        terms.append((-1) ** j * math.comb(s, j) * math.exp(b * j * span) * g)
    return min(1.0, max(0.0, 1 - z.a**s * math.fsum(terms)))


def _discrete(z: Zipf, rank: float, s: int) -> float:
    p = z.distribution.p
    tail = np.concatenate((np.cumsum(p[::-1])[::-1], [0.0]))  # tail[i] = P(rank > i)
    x = np.arange(1, z.d + 1, dtype=np.float64)

    def beyond(limit: Floats) -> Floats:
        out: Floats = tail[np.clip(np.floor(limit * (1 + 1e-14)), 0, z.d).astype(np.int64)]
        return out

    if s == 1:
        return float(beyond(np.array([rank]))[0])
    if s == 2:
        return float((p * beyond(rank / x)).sum())
    return float(sum(p_i * float((p * beyond(rank / x_i / x)).sum()) for p_i, x_i in zip(p.tolist(), x.tolist(), strict=True)))


def _grid_below(z: Zipf, t: float, s: int) -> Estimate:
    """P(sum of log ranks > t) by FFT; the interval is one grid step per record to either side."""
    points = 1 << 18
    if z.kind == "discrete":
        y, mass = np.log(np.arange(1, z.d + 1, dtype=np.float64)), z.distribution.p
    else:
        span, b = math.log(z.d), 1 - z.c
        fine = np.linspace(0, span, 200_001)
        y = 0.5 * (fine[1:] + fine[:-1])
        mass = np.diff(np.expm1(b * fine) / math.expm1(b * span)) if abs(b) > 1e-12 else np.full(y.size, 1 / y.size)
    product = _loggrid.Product.of([_loggrid.Factor(0.0, y, mass)], powers=[s], points=points)
    place, h = product.grid.places, product.grid.step
    low, value, high = (float(product.mass[place > t + shift].sum()) for shift in (s * h, 0.0, -s * h))
    return Estimate(min(1.0, value), max(0.0, low - 1e-12), min(1.0, high + 1e-12), level=1.0, method="log-grid convolution")


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
    counts: Any, *, method: Literal["mle", "least-squares"] = "mle", simulate: int = 0, rng: np.random.Generator | None = None
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

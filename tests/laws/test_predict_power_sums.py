"""Power sums: up to six people exact; beyond, the interval holds the exact value of every distribution with these sums."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shoal
from shoal.errors import UsageError
from shoal.prediction import uniqueness, uniqueness_from_power_sums

ORDERS = range(2, 7)


def shapes(rng: np.random.Generator, number: int):
    """Distributions of many kinds: equal, uneven, Zipf, two-level, geometric, one large cell, with small and large N."""
    for i in range(number):
        n = int(rng.integers(2, 50 if i % 2 else 500))
        kind = (
            lambda n: np.ones(n),
            lambda n: rng.dirichlet(np.full(n, rng.uniform(0.1, 5))),
            lambda n: np.arange(1, n + 1) ** -rng.uniform(0.1, 1.6),
            lambda n: np.where(np.arange(n) < rng.integers(1, n), 1.0, rng.uniform(0.05, 40)),
            lambda n: np.exp(-np.arange(n) * rng.uniform(0.1, 8) / n),
            lambda n: np.append(np.ones(n - 1), rng.uniform(1, n)),
        )[i % 6]
        p = kind(n)
        p = p[p > 0] / p.sum()
        yield p, int(rng.integers(2, len(p) + 1)) if len(p) > 2 else 2


def missed(p, k, found) -> bool:
    """Whether the exact probability, in logarithms, lies outside the interval."""
    exact = uniqueness(p, k).log_value
    if exact < -700:
        return False
    low = math.log(found.low) if found.low > 0 else -math.inf
    return not low - 1e-9 <= exact <= math.log(found.high) + 1e-9


def test_exact_sums_hold_the_truth():
    graded = {"A": 0, "B": 0, "C": 0}
    for p, k in shapes(np.random.default_rng(11), 360):
        sums = [float((p**r).sum()) for r in ORDERS]
        for p_max in (None, float(p.max())):
            found = uniqueness_from_power_sums(sums, k, p_max=p_max)
            assert not missed(p, k, found), (len(p), k)
            graded[found.grade] += 1
            if found.grade == "B":
                assert found.high <= 1.11 * found.low
    assert graded["A"] >= 60
    assert graded["B"] >= 100


@pytest.mark.parametrize("step", [0.01, 0.05])
def test_rounded_sums_hold_the_truth(step):
    for p, k in shapes(np.random.default_rng(12), 60):
        entropies = [round(-math.log(float((p**r).sum())) / (r - 1) / step) * step for r in ORDERS]
        sums = [min(1.0, math.exp(-(r - 1) * h)) for r, h in zip(ORDERS, entropies, strict=True)]
        loose = [math.expm1((r - 1) * step / 2) for r in ORDERS]
        assert not missed(p, k, uniqueness_from_power_sums(sums, k, error=loose)), (len(p), k)


@pytest.mark.parametrize(("cells", "group"), [(86, 31), (36, 13), (8, 3), (10, 2), (14, 5), (95, 28)])
def test_equal_cells_are_found(cells, group):
    found = uniqueness_from_power_sums([cells ** (1.0 - r) for r in ORDERS], group)
    assert found.value == pytest.approx(uniqueness(cells, group).value, rel=1e-5)


def test_impossible_sums_and_cells_are_refused():
    sums = [95.0 ** (1 - r) for r in ORDERS]
    with pytest.raises(UsageError, match="largest cell"):
        uniqueness_from_power_sums(sums, 10, p_max=0.001)
    with pytest.raises(UsageError, match="p_max"):
        uniqueness_from_power_sums(sums, 10, p_max=float("nan"))
    with pytest.raises(UsageError, match="no distribution"):
        uniqueness_from_power_sums([0.1, 0.2], 10)
    with pytest.raises(UsageError, match="error"):
        uniqueness_from_power_sums(sums, 10, error=-0.1)


@pytest.mark.parametrize("digits", [2, 3, 6, 9, 12])
def test_rounded_sums_of_small_groups_hold_the_truth(digits):
    """Up to a group of m the sums tell the answer but for their rounding: the range is narrow, and no grid may spoil it."""
    rng, out, widths = np.random.default_rng(77), [], []
    for _ in range(120):
        p = rng.dirichlet(np.full(int(rng.integers(3, 60)), rng.choice([0.1, 0.5, 1, 5, 50])))
        most = int(rng.choice([3, 4, 6]))
        k = int(rng.integers(2, min(len(p), most) + 1))
        texts = [f"{(p**r).sum():.{digits}g}" for r in range(2, most + 1)]
        found = shoal.predict("uniqueness", power_sums=",".join(texts), group_size=k).answer
        out += [(len(p), k)] if missed(p, k, found) else []
        widths.append(found.high - found.low)
    assert out == []
    assert np.median(widths) < 30 * 10.0**-digits + 1e-5

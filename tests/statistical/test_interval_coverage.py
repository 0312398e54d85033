"""The interval of "a unique match is right" holds at its level, also where pairs are few and classes uneven.

The full table is ``benchmarks/interval_coverage``; these are the populations on which it did not hold once.
"""

from __future__ import annotations

import numpy as np
import pytest

from shoal.prediction import match_probability

POPULATIONS = {
    "alone and in fifties": (np.append(np.ones(500, dtype=int), np.full(400, 50)), 0.2),
    "addresses beside crowds": (np.append(np.ones(5_000, dtype=int), np.full(150, 33)), 0.2),
    "one pair beside crowds": (np.append([2, 9, 15], np.full(10, 3000)), 0.9),
    "all in threes": (np.full(7_000, 3), 0.002),
    "few rare classes": (np.append([5, 7, 14, 60], np.full(10, 3000)), 0.01),
    "heavy tail": (np.minimum((np.random.default_rng(1).pareto(0.8, 4_000) + 1).astype(int), 3_000), 0.01),
}


@pytest.mark.parametrize("name", POPULATIONS)
def test_it_holds_at_its_level(name: str) -> None:
    population, rate = POPULATIONS[name]
    people = np.repeat(np.arange(len(population)), population)
    n, rng, held = round(rate * len(people)), np.random.default_rng(16), []
    for _ in range(400):
        which, counts = np.unique(rng.choice(people, n, replace=False), return_counts=True)
        n1, n2, n3 = (int((counts == j).sum()) for j in (1, 2, 3))
        if n1:
            e = match_probability(n1, n2, n / len(people), n3=n3)
            held.append(e.low <= n1 / population[which[counts == 1]].sum() <= e.high)
    assert len(held) >= 20
    assert np.mean(held) >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / len(held)), "but for the draw"


@pytest.mark.parametrize(("n1", "n2"), [(1, 0), (1, 1), (3, 2), (10, 9), (10, 10), (5000, 4000)])
@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.5, 0.999])
def test_value_and_ends_are_in_order_and_a_higher_level_is_wider(n1: int, n2: int, rate: float) -> None:
    some, more = match_probability(n1, n2, rate, n3=n2), match_probability(n1, n2, rate, n3=n2, level=0.99)
    assert 0 <= more.low <= some.low <= some.value <= some.high <= more.high <= 1

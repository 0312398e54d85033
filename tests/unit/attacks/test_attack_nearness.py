"""Parts of attacks that stand on their own feet, each beside a slow definition."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.attacks.composition import _connected
from shoal.attacks.tables.continuous import others_within


@pytest.mark.parametrize("seed", range(20))
def test_connected_parts_are_those_of_a_walk(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    a, b = rng.integers(0, n, (2, int(rng.integers(0, n + 1))))
    found = _connected(a, b, n)
    near: dict[int, set[int]] = {i: {i} for i in range(n)}
    for i, j in zip(a.tolist(), b.tolist(), strict=True):
        near[i].add(j)
        near[j].add(i)
    for start in range(n):
        seen, todo = set(), [start]
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo += near[at]
        assert set(np.flatnonzero(found == found[start]).tolist()) == seen
    assert sorted(set(found.tolist())) == list(range(found.max() + 1))


def test_a_long_chain_is_one_part() -> None:
    order = np.random.default_rng(0).permutation(5000)
    assert set(_connected(order[:-1], order[1:], 5000).tolist()) == {0}


@pytest.mark.parametrize("seed", range(6))
def test_neighbours_are_counted_pair_by_pair(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = np.round(rng.normal(size=(80, 1 + seed % 3)), 1)
    far = np.sqrt(((y[:, None] - y[None]) ** 2).sum(axis=2))
    for reach in (0.1, 0.3):
        assert others_within(y, reach).tolist() == ((far <= reach * (1 + 1e-9)).sum(axis=1) - 1).tolist()

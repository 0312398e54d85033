"""Parts of attacks that stand on their own feet, each beside a slow definition."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.attacks import by_value
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


@pytest.mark.parametrize("tree", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_the_nearest_place_is_found_pair_by_pair(seed: int, tree: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a tree and by a band, narrow at first so that it has to widen; grids make ties, which are shared."""
    monkeypatch.setattr(by_value, "_BAND", 1 + seed)
    if not tree:
        monkeypatch.setattr(by_value.importlib.util, "find_spec", lambda name: None)
    rng = np.random.default_rng(seed)
    true = np.round(rng.uniform(0, 0.02, (60, 2)), 3)
    published = np.round(true + rng.normal(0, 0.002, true.shape), 3 - seed % 2)
    narrow = np.array([1.0, np.cos(np.radians(np.median(true[:, 0])))])
    far = np.hypot(*np.moveaxis((true * narrow)[:, None] - (published * narrow)[None], 2, 0))
    least = far.min(axis=1)
    near = far <= (least + 1e-12 * np.maximum(np.abs(true * narrow).max(axis=1), least))[:, None]
    wanted = np.where(np.diag(near), 1 / near.sum(axis=1), 0.0)
    assert by_value.places_found(true, published) == pytest.approx(wanted, abs=1e-12)
    assert wanted.any()

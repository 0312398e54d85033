"""Groups from a tree are those of passes over all records, ties included; what a search finds is what a pass finds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal.techniques as tf
from shoal.techniques.group import near
from shoal.techniques.kernels import mdav, mdav_tree
from shoal.techniques.kernels import mdav_tree as near_tree

CASES = [(n, d, k, kind) for n, d, k in [(1, 1, 1), (16, 2, 3), (17, 1, 2), (33, 3, 4), (210, 2, 3), (300, 5, 7)]
         for kind in ("normal", "few values", "one value", "skewed")]  # fmt: skip


def made(n: int, d: int, kind: str) -> np.ndarray:
    z = np.random.default_rng(n + d).normal(size=(d, n))
    return {"normal": z, "few values": np.floor(z * 2), "one value": z * 0, "skewed": np.exp(2 * z)}[kind]


@pytest.mark.parametrize(("n", "d", "k", "kind"), CASES)
def test_groups_are_the_same(n: int, d: int, k: int, kind: str) -> None:
    z = made(n, d, kind)
    assert mdav_tree.mdav(z.copy(), k).tolist() == mdav.mdav(z.copy(), k).tolist()


@pytest.mark.parametrize("kind", ["normal", "few values", "one value"])
def test_searches_find_what_a_pass_finds_while_records_leave(kind: str) -> None:
    rng = np.random.default_rng(5)
    z = made(150, 2, kind)
    tree = near_tree.plant(z, np.array([0.3, -0.2]))
    there = list(range(150))
    found, near = np.empty(4, np.int64), np.empty(4)
    while there:
        to = z[:, rng.integers(150)] if rng.random() < 0.5 else rng.normal(size=2)
        far = (z[0] - to[0]) ** 2 + (z[1] - to[1]) ** 2
        ranked = sorted(there, key=lambda i: (far[i], i))
        size = near_tree.nearest(tree, to, 4, found, near)
        assert found[:size].tolist() == ranked[:4]
        assert near[:size].tolist() == far[ranked[:4]].tolist()
        assert near_tree.farthest(tree, to)[0] == min(there, key=lambda i: (-far[i], i))
        if len(there) % 10 == 0:
            near_tree.look_from(tree, to)
        there.remove(gone := int(rng.choice(there)))
        near_tree.leave(tree, gone)
    assert near_tree.farthest(tree, np.zeros(2))[0] == -1
    assert near_tree.nearest(tree, np.zeros(2), 4, found, near) == 0


@pytest.mark.parametrize("method", ["mdav", "v-mdav"])
def test_a_step_gives_the_same_with_a_tree_and_without(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    x, y = np.round(made(300, 2, "skewed"), 2)
    table = pa.table({"x": x, "y": pa.array([None if i % 9 == 0 else v for i, v in enumerate(y.tolist())])})
    step = tf.Microaggregate("x", ("y",), k=3, method=method)  # type: ignore[arg-type]
    without = step.run(table, 0)
    monkeypatch.setattr(near, "MANY_PAIRS", 100)
    assert step.run(table, 0).equals(without)

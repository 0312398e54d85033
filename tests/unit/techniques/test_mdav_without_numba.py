"""The passes in numpy give the groups that the compiled loops give, ties included."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from shoal.kernels import jit
from shoal.techniques.kernels import mdav

PASSES = ("_chunk", "_farthest", "_nearest", "_lower", "_closest_other", "_first_least")


def test_groups_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = importlib.import_module("shoal.techniques.kernels.mdav")
    names = ("mdav", "v_mdav", "_take", "_point", "_join_rest")
    own = {name: jit.plain(getattr(mdav, name)) for name in names}
    tables = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        n, d, k = int(rng.integers(6, 90)), int(rng.integers(1, 4)), int(rng.integers(1, 7))
        tables.append(
            (rng.integers(0, 5, (d, n)).astype(float) if seed % 2 else rng.normal(size=(d, n)), k, (0.2, 1.1, 1.6)[seed % 3])
        )
    wanted = [(mdav.mdav(x.copy(), k).tolist(), mdav.v_mdav(x.copy(), k, g).tolist()) for x, k, g in tables]
    for name in PASSES:
        monkeypatch.setattr(mdav, name, getattr(passes, name[1:]))
    for name, function in own.items():
        monkeypatch.setattr(mdav, name, function)
    assert [(mdav.mdav(x.copy(), k).tolist(), mdav.v_mdav(x.copy(), k, g).tolist()) for x, k, g in tables] == wanted

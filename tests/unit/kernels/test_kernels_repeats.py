"""Hashes that may come more than once, beside a count of each slot."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from shoal.kernels import order as repeats
from shoal.kernels.jit import plain
from shoal.kernels.order import Repeats


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("slots", [4, 16, 1024])
def test_a_hash_is_possible_where_its_slot_was_filled_twice(monkeypatch, slots, compiled):
    if not compiled:
        monkeypatch.setattr(repeats, "_fill", plain(repeats._fill))
        monkeypatch.setattr(repeats, "_look", plain(repeats._look))
    hashes = np.random.default_rng(slots).integers(0, 2**64, 300, dtype=np.uint64)
    seen = Repeats(slots)
    for part in np.array_split(hashes, 7):
        seen.add(part)
    filled = Counter((hashes % np.uint64(slots)).tolist())
    asked = np.append(hashes, np.arange(slots, dtype=np.uint64))
    assert seen.possible(asked).tolist() == [filled[int(h) % slots] >= 2 for h in asked]
    assert seen.possible(hashes[:0]).tolist() == []

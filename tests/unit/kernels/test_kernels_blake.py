"""Keyed digests of many rows, against hashlib."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from shoal.kernels import blake


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 16, 17])
@pytest.mark.parametrize("compiled", [False, True])
def test_digests_are_those_of_hashlib(columns: int, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight columns of 16 bytes fill one block of the hash, sixteen fill two; rows come in several parts."""
    monkeypatch.setattr(blake, "compiled_pays", lambda rows: compiled)
    monkeypatch.setattr(blake, "MANY", 50)
    monkeypatch.setattr(blake, "AT_ONCE", 20)
    draw, key = np.random.default_rng(columns), b"a key of this user"
    values = [draw.integers(0, 256, (5, 16), dtype=np.uint8) for _ in range(columns)]
    codes = [draw.integers(-1, 4, 50) for _ in range(columns)]
    rows = (b"".join(v[c].tobytes() for v, c in zip(values, at, strict=True)) for at in zip(*codes, strict=True))
    expected = [hashlib.blake2b(row, digest_size=8, key=key).digest() for row in rows]
    assert [d.tobytes() for d in blake.keyed_digests(values, codes, key)] == expected


@pytest.mark.parametrize("rows", [49, 50])
def test_few_rows_are_not_worth_compiling(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(blake, "compiled_pays", lambda n: asked.append(n))
    monkeypatch.setattr(blake, "MANY", 50)
    blake.keyed_digests([np.zeros((1, 16), np.uint8)], [np.zeros(rows, np.int64)], b"k")
    assert asked == [rows] * (rows >= 50)

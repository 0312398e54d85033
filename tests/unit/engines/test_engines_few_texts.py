"""Chunks of a column as codes, and when counting them is worth compiled code."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pytest

from shoal.engines.count.codes import CodedColumn
from shoal.kernels import count
from shoal.kernels.jit import HAVE_NUMBA
from shoal.model.roles import Column


@pytest.mark.skipif(not HAVE_NUMBA, reason="nothing is compiled without numba")
@pytest.mark.parametrize(("loaded", "rows", "pays"), [(False, count.FEW - 1, False), (False, count.FEW, True), (True, 1, True)])
def test_numba_is_not_loaded_for_few_rows(monkeypatch: pytest.MonkeyPatch, loaded: bool, rows: int, pays: bool) -> None:
    if loaded:
        monkeypatch.setitem(sys.modules, "numba", sys)
    else:
        monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert count.compiled_pays(rows) is pays


def test_chunks_with_dictionaries_of_their_own_have_one_meaning() -> None:
    """A chunk with few texts, one with many, and one that came with a dictionary."""
    chunks = [
        pa.array(["b", None, "a", "b"]),
        pa.array([f"v{i}" for i in range(256)] + ["a", None]),
        pa.array(["a", "z", "a", None]).dictionary_encode(),
    ]
    column = CodedColumn(Column("x", "text"))
    for chunk in chunks:
        column.add(chunk)
    values, places = column.distinct()
    for chunk, codes, place in zip(chunks, column.chunks, places, strict=True):
        texts = np.array([*values.to_pylist(), None], dtype=object)
        assert texts[place[codes]].tolist() == chunk.to_pylist()


def test_counts_of_short_columns_are_the_same_with_and_without_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    for space in (7, 10**6, 2**63):
        key = rng.integers(0, min(space, 500), 3000).astype(np.uint64) * np.uint64(max(1, space // 500) - (space > 500))
        monkeypatch.setattr(count, "compiled_pays", lambda n: False)
        slow = count.count_keys(key.copy(), space)
        monkeypatch.setattr(count, "compiled_pays", lambda n: HAVE_NUMBA)
        quick = count.count_keys(key.copy(), space)
        assert slow[0].tolist() == quick[0].tolist()
        assert slow[1].tolist() == quick[1].tolist()

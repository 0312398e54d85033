"""Texts are numbered as a dictionary would number them, byte for byte."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shoal.engines.count.codes import MOST, CodedColumn, few_texts, number_texts
from shoal.kernels import count, group
from shoal.kernels.jit import HAVE_NUMBA
from shoal.model.roles import Column

ENDS = ("", "x", "\0", "é", "12345678", "123456789", "1234567890123456", "12345678901234567", "123456789012345678901234")
TEXTS = st.one_of(st.none(), st.builds(lambda a, b: a + b, st.sampled_from(ENDS), st.sampled_from(ENDS)), st.text(max_size=40))


def as_dictionary(values: pa.Array) -> tuple[list[int], list[str]]:
    """1 + the number of each text in order of first appearance, 0 for missing; the texts."""
    order: dict[str, int] = {}
    codes = [0 if v is None else order.setdefault(v, len(order) + 1) for v in values.to_pylist()]
    return codes, list(order)


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXTS, max_size=40), st.integers(0, 5), st.integers(0, 3))
@example(["a", "a\0", "a\0\0", "", None, "\0"], 0, 0)
@example(["1234567890123456a", "1234567890123456b", "1234567890123456", "1234567890123456a"], 0, 0)
def test_texts_are_numbered_like_a_dictionary(texts: list[str | None], skip: int, end: int) -> None:
    values = pa.array(texts, pa.string())
    values = values.slice(skip, max(0, len(values) - skip - end))
    found = number_texts(values)
    codes, distinct = as_dictionary(values)
    if found is None:
        assert set(values.to_pylist()) <= {"", None}  # Arrow keeps no bytes of them
        return
    assert found[0].tolist() == codes
    assert values.take(pa.array(found[1])).to_pylist() == distinct


@pytest.mark.parametrize("n", [MOST - 1, MOST, MOST + 1])
def test_more_texts_than_a_byte_counts_are_left_to_arrow(n: int) -> None:
    values = pa.array([f"a common beginning {i}" for i in range(n)] * 2)
    found = number_texts(values)
    assert (found is None) == (n > MOST)
    if found is not None:
        assert found[0].tolist() == [*range(1, n + 1)] * 2
        assert found[1].tolist() == [*range(n)]


@pytest.mark.skipif(not HAVE_NUMBA, reason="nothing is compiled without numba")
@pytest.mark.parametrize(
    ("loaded", "rows", "pays"), [(False, group.WORTH, False), (False, group.WORTH + 1, True), (True, 1, True)]
)
def test_numba_is_not_loaded_for_few_rows(monkeypatch: pytest.MonkeyPatch, loaded: bool, rows: int, pays: bool) -> None:
    if loaded:
        monkeypatch.setitem(sys.modules, "numba", sys)
    else:
        monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(group, "_passed", [0])
    assert group.compiled_pays(rows) is pays
    if not pays:
        monkeypatch.setattr(group, "_passed", [0])
        assert few_texts(pa.array(["a"] * 9)) is None


@pytest.mark.skipif(not HAVE_NUMBA, reason="nothing is compiled without numba")
def test_what_numpy_does_quickly_as_well_hardly_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading numba would not pay for a count of a million records."""
    rows = count.FEW
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(group, "_passed", [0])
    count.add_digit(np.zeros(rows, np.uint64), np.zeros(rows, np.uint8), 2, np.zeros(2, np.uint32), np.zeros(2, np.bool_))
    assert group._passed == [rows // 8]
    count.count_keys(np.arange(rows, dtype=np.uint64), 2**40)
    assert group._passed == [rows // 8 + rows // 4]
    count.sort_words([np.arange(rows, dtype=np.uint64)], [2**40])
    assert group._passed == [rows // 8 + rows // 4 + rows // 2]
    assert few_texts(pa.array(["a"] * 9)) is None
    assert group._passed == [rows // 8 + rows // 4 + rows // 2 + 9 // 4]
    assert "numba" not in sys.modules


def test_chunks_by_both_ways_have_the_same_meaning() -> None:
    """A chunk with few texts, one with many, and one that came with a dictionary."""
    chunks = [
        pa.array(["b", None, "a", "b"]),
        pa.array([f"v{i}" for i in range(MOST + 1)] + ["a", None]),
        pa.array(["a", "z", "a", None]).dictionary_encode(),
    ]
    column = CodedColumn(Column("x", "text"))
    column._add_codes(number_texts(chunks[0])[0], chunks[0].take(pa.array(number_texts(chunks[0])[1])))  # type: ignore[index]
    for chunk in chunks[1:]:
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

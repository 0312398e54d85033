"""Texts ordered by words against pyarrow's own order: the same positions, or none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from shoal.engines.count import assemble
from shoal.kernels import text as text_order
from shoal.kernels.text import order_of_texts

ALPHABET = ["a", "b", "é", "z", "\x01", "\x7f", "\U0001f600", "0", " "]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_the_order_of_arrow(kind: pa.DataType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal texts, empty ones, bytes above 127, one that another begins with, slices; blocks that end anywhere."""
    monkeypatch.setattr(text_order, "BLOCK", 7)
    rng, ordered = np.random.default_rng(5), 0
    for case in range(150):
        begin = "".join(rng.choice(ALPHABET, case % 5))
        longest = 1 + case % 9
        texts = [begin + "".join(rng.choice(ALPHABET, rng.integers(0, longest))) for _ in range(40)]
        values = pa.array(["before", *texts, "behind"], kind).slice(1, 40)
        found = order_of_texts(values)
        if found is not None:
            assert found.tolist() == pc.sort_indices(values).to_pylist()
            ordered += 1
    assert ordered > 100


@pytest.mark.parametrize(
    ("texts", "goes"),
    [
        pytest.param(["id" + "x" * 16, "id" + "y" * 16, "id"], True, id="two words behind what all begin with"),
        pytest.param(["b" + "x" * 8, "a" + "x" * 7 + "z", "a" + "x" * 7 + "y"], True, id="the ninth byte decides"),
        pytest.param(["id" + "x" * 17, "id" + "y" * 17, "id"], False, id="one byte more"),
        pytest.param(["x" * 40 + "b", "x" * 40 + "a"], True, id="long, but little differs"),
        pytest.param(["b" + "x" * 16, "a" + "x" * 16], False, id="as long as any, and all differs"),
        pytest.param(["a\0", "a"], False, id="a byte 0"),
        pytest.param(["a", None], False, id="a missing text"),
        pytest.param(["same", "same"], True, id="all the same"),
        pytest.param(["", ""], True, id="all empty"),
        pytest.param([3, 1], False, id="numbers"),
    ],
)
def test_what_goes_by_words(texts: list[object], goes: bool) -> None:
    values = pa.array(texts)
    found = order_of_texts(values)
    assert (found is not None) is goes
    assert found is None or found.tolist() == pc.sort_indices(values).to_pylist()
    assert order_of_texts(values.slice(0, 0)) is None


@pytest.mark.parametrize("texts", [["b", "a", "c"], ["b\0", "b", "a"], [2, 1]])
def test_many_categories_are_in_the_same_order(texts: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    values = pa.array(texts)
    few, rank = assemble.sorted_categories(values)
    monkeypatch.setattr(assemble, "MANY", 1)
    many, same = assemble.sorted_categories(values)
    assert many.equals(few)
    assert same.tolist() == rank.tolist()

"""Keys of several words: counted, grouped and ordered as tuples of whole numbers are, on every path."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import count as wide
from shoal.kernels.count import count_words, sort_words
from shoal.kernels.group import group_codes, group_words
from shoal.model.counts.classes import LARGEST_KEY, PackedCodes, words_of

SPACES = [2**63, 2**40, 3]


def as_words(keys: list[tuple[int, ...]]) -> list[np.ndarray]:
    return [np.array(word, np.uint64) for word in zip(*keys, strict=True)]


def shapes(rng: np.random.Generator, n: int) -> dict[str, list[tuple[int, ...]]]:
    """Keys of three words: nearly all different, few, alike in the first word, alike up to the last."""
    high = rng.integers(0, 2**63, n).tolist()
    middle = rng.integers(0, 2**40, n).tolist()
    few = rng.integers(0, n // 100, n)
    return {
        "different": [(h, m, int(x)) for h, m, x in zip(high, middle, rng.integers(0, 3, n), strict=True)],
        "pairs": [(high[i // 2], middle[i // 4], i % 3) for i in range(n)],
        "few": [(high[i], middle[i], int(i) % 3) for i in few],
        "first word alike": [(5, m, 0) for m in middle],
        "last word decides": [(2**63 - 1, 2**40 - 1, int(x)) for x in rng.integers(0, 3, n)],
        "all alike": [(0, 0, 0)] * n,
    }


@pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "compiled"])
@pytest.mark.parametrize("shape", shapes(np.random.default_rng(0), 200))
def test_words_are_counted_as_tuples_are(shape: str, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = shapes(np.random.default_rng(7), 9000)[shape]
    monkeypatch.setattr(wide, "FEW", 0 if compiled else 10**9)
    found, counts = count_words(as_words(keys), SPACES)
    expected = sorted(Counter(keys).items())
    assert list(zip(*(w.tolist() for w in found), strict=True)) == [k for k, _ in expected]
    assert counts.tolist() == [c for _, c in expected]
    order, starts = sort_words(as_words(keys), SPACES)
    assert sorted(order.tolist()) == list(range(len(keys)))
    ordered = [keys[i] for i in order]
    assert ordered == sorted(keys)
    assert starts.tolist() == [i == 0 or ordered[i] != ordered[i - 1] for i in range(len(ordered))]


@settings(max_examples=60)
@given(st.lists(st.tuples(*[st.sampled_from([0, 1, 2**32, 2**63 - 1])] * 4), min_size=1, max_size=40), st.booleans())
def test_order_and_groups_by_hand(keys: list[tuple[int, ...]], compiled: bool) -> None:
    kept, wide.FEW = wide.FEW, 0 if compiled else 10**9
    try:
        found, counts = count_words(as_words(keys), [2**63] * 4)
    finally:
        wide.FEW = kept
    assert dict(zip(zip(*(w.tolist() for w in found), strict=True), counts.tolist(), strict=True)) == Counter(keys)
    ids = group_words(as_words(keys), [2**63] * 4).ids.tolist()
    first: dict[tuple[int, ...], int] = {}
    assert ids == [first.setdefault(k, len(first)) for k in keys]


def test_columns_are_divided_at_the_limit_and_not_before() -> None:
    assert words_of([2**31, 2**32 - 1]) == [range(2)]
    assert words_of([2**31, 2**32]) == [range(1), range(1, 2)]
    assert words_of([1, 2**62, 2]) == [range(2), range(2, 3)]
    assert words_of([LARGEST_KEY - 1, 1]) == [range(2)]
    assert words_of([]) == [range(0)]


@given(st.lists(st.integers(1, 2**31), min_size=1, max_size=12))
def test_every_column_is_in_one_word_that_holds_it(widths: list[int]) -> None:
    words = words_of(widths)
    assert [j for w in words for j in w] == list(range(len(widths)))
    for word, following in pairwise(words):
        space = prod(widths[word.start : word.stop])
        assert space < LARGEST_KEY <= space * widths[following.start]


def test_digits_of_several_words_come_off_as_they_went_on() -> None:
    rng = np.random.default_rng(2)
    widths = [2**20, 1000, 2**31, 2**31, 7, 2**30]
    digits = [rng.integers(0, w, 50) for w in widths]
    packed = []
    for columns in words_of(widths):
        word = np.zeros(50, np.uint64)
        for j in columns:
            word = word * np.uint64(widths[j]) + digits[j].astype(np.uint64)
        packed.append(word)
    codes = PackedCodes(packed, widths)
    assert len(packed) == 3
    assert all(np.array_equal(c, d) for c, d in zip(codes, digits, strict=True))
    for width in range(1, len(widths) + 1):
        assert [c.tolist() for c in PackedCodes(codes.first(width), widths[:width])] == [d.tolist() for d in digits[:width]]


@pytest.mark.parametrize("last", [2, 3, 4], ids=["below 2⁶³", "at 2⁶³", "above 2⁶³"])
def test_groups_at_the_limit_of_one_word(last: int) -> None:
    """Widths are one more than the number of categories: missing is a value too."""
    cards = [2**30 - 1, 2**31 - 1, last]
    rows = [(-1, -1, -1), (cards[0] - 1, cards[1] - 1, last - 1), (cards[0] - 1, cards[1] - 1, -1), (-1, -1, last - 1)]
    found = group_codes([list(c) for c in zip(*rows, *rows, strict=True)], cards)
    assert found.ids.tolist() == [0, 1, 2, 3] * 2

"""The loops behind counting and grouping, run by plain Python on few rows, against dictionaries and sorted lists.

The other tests reach them through numba, where it is installed, with many rows; here each loop is called by itself, at the sizes
where something happens: a hash table that doubles, a digit that is all alike, one bit more than a digit holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from shoal.kernels import _loops as counting
from shoal.kernels import _loops as grouping
from shoal.kernels.count import _sorted_runs
from shoal.kernels.group import _group_by_order
from shoal.kernels.jit import plain

BITS = grouping.RADIX_BITS


@pytest.fixture(autouse=True)
def _hashes_wrap_around() -> Iterator[None]:
    with np.errstate(over="ignore"):
        yield


def some_keys(bits: int, n: int = 60, seed: int = 1) -> np.ndarray:
    """Numbers of so many bits, the largest and the smallest among them, about half of them twice."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**bits, n, dtype=np.uint64)
    keys[: n // 4] = keys[n // 4 : n // 4 * 2]
    keys[-3:] = 0, 2**bits - 1, 2 ** (bits - 1)
    return rng.permutation(keys)


def by_first_row(keys: np.ndarray) -> tuple[list[int], list[int]]:
    first = {}
    for row, key in enumerate(keys.tolist()):
        first.setdefault(key, row)
    number = {key: g for g, key in enumerate(first)}
    return [number[key] for key in keys.tolist()], list(first.values())


@pytest.mark.parametrize("bits", [1, 2, BITS - 1, BITS, BITS + 1, 2 * BITS, 2 * BITS + 1, 63, 64])
def test_sorting_by_digits(bits: int) -> None:
    keys = some_keys(bits)
    assert grouping.order_of(keys, bits).tolist() == sorted(range(len(keys)), key=lambda i: keys[i])
    high = keys << np.uint64(64 - bits)  # the last digits are all alike
    assert grouping.order_of(high, 64).tolist() == sorted(range(len(high)), key=lambda i: high[i])


@pytest.mark.parametrize("bits", [(1, 1), (BITS, BITS + 1), (BITS + 1, 3), (64, 2), (3, 64), (2, 1, 12)])
def test_rows_are_sorted_by_their_words_and_the_rest_goes_along(bits: tuple[int, ...]) -> None:
    rows = np.column_stack([*(some_keys(b, seed=i) for i, b in enumerate(bits)), np.arange(60).astype(np.uint64)])
    found = plain(counting.sort_rows)(rows.copy(), np.array(bits))
    assert found.tolist() == sorted(rows.tolist(), key=lambda row: row[: len(bits)])


@pytest.mark.parametrize("keys", [[4], [4, 4, 4], [1, 2], [0, 0, 1, 7, 7, 7], [0, 3, 3]])
def test_runs(keys: list[int]) -> None:
    distinct, counts = _sorted_runs(np.array(keys, np.uint64)[::-1].copy())
    assert dict(zip(distinct.tolist(), counts.tolist(), strict=True)) == Counter(keys)
    assert distinct.tolist() == sorted(set(keys))


def test_runs_of_no_key() -> None:
    distinct, counts = _sorted_runs(np.zeros(0, np.uint64))
    assert (len(distinct), len(counts)) == (0, 0)


def test_digits_and_direct_counts() -> None:
    key, used = np.array([2, 0, 1], np.uint64), np.zeros(5, np.bool_)
    plain(counting.add_digit)(key, np.array([1, 0, 1], np.uint8), np.uint64(5), np.array([4, 2], np.uint32), used)
    assert key.tolist() == [12, 4, 7]
    assert np.flatnonzero(used).tolist() == [2, 4]


@pytest.mark.parametrize("bits", [1, 6, 64])
def test_groups_by_first_row(bits: int) -> None:
    keys = some_keys(bits)
    expected = by_first_row(keys)
    ways = [plain(grouping.group_hash)(keys), _group_by_order(keys, grouping.order_of(keys, bits))[:2]]
    if bits < 64:
        ways.append(plain(grouping.group_direct)(keys, 2**bits))
    for ids, first in ways:
        assert (ids.tolist(), first.tolist()) == expected


@pytest.mark.parametrize("distinct", [2047, 2048, 2049, 4097])
def test_a_hash_table_of_groups_doubles_when_half_full(distinct: int) -> None:
    keys = np.arange(distinct).astype(np.uint64) * np.uint64(3)
    keys = np.concatenate([keys, keys[::-1]])
    ids, first = plain(grouping.group_hash)(keys)
    assert (ids.tolist(), first.tolist()) == by_first_row(keys)


def test_a_hash_table_of_counts_gives_up_beyond_the_most() -> None:
    keys = np.array([5, 9, 5, 2**63, 9, 5], np.uint64)
    distinct, counts = plain(counting.count_hash)(keys, 3)
    assert dict(zip(distinct.tolist(), counts.tolist(), strict=True)) == {5: 3, 9: 2, 2**63: 1}
    assert len(plain(counting.count_hash)(keys, 2)[0]) == 0


def test_a_hash_table_of_counts_doubles_when_half_full() -> None:
    keys = np.arange(2**15 + 5).astype(np.uint64)  # the table begins with 2¹⁶ places
    distinct, counts = plain(counting.count_hash)(np.concatenate([keys, keys[-40:], keys[:40]]), 2**20)
    assert sorted(distinct.tolist()) == keys.tolist()
    twice = dict(zip(distinct.tolist(), counts.tolist(), strict=True))
    assert [twice[k] for k in range(2**15 + 5)] == [2] * 40 + [1] * (2**15 - 75) + [2] * 40

"""The innermost loops of a compiled search against dictionaries, run as Python runs them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from shoal.kernels.jit import plain
from shoal.search.full_domain.objective import node_strides
from shoal.search.kernels.compiled import loops
from shoal.search.kernels.compiled import state as at
from shoal.search.kernels.compiled import state as bounds

CELLS = 60


def blocks_of(n_blocks: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of some cells in each block, tables of four groups over five codes, and where the tables and strides are."""
    codes = rng.integers(0, 5, (n_blocks + at.N_CELL_CODES, CELLS)).astype(np.int32)
    maps = rng.integers(0, 4, 5 * n_blocks).astype(np.int32)
    blocks = np.zeros((at.N_BLOCKS, n_blocks + 1), np.int64)
    blocks[at.TABLE, :-1] = 5 * np.arange(n_blocks)
    blocks[at.KEY_STRIDE, :-1] = 4 ** np.arange(n_blocks)
    return codes, maps, blocks


@pytest.mark.parametrize("n_blocks", range(1, 9))
def test_a_key_is_the_sum_of_an_entry_of_each_table_times_its_stride(n_blocks: int) -> None:
    codes, maps, blocks = blocks_of(n_blocks, np.random.default_rng(n_blocks))
    start, stop = 7, 50
    expected = [sum(int(maps[5 * b + codes[b, c]]) * 4**b for b in range(n_blocks)) for c in range(start, stop)]
    long, short = np.full(stop - start, -9), np.full(stop - start, -9, np.int32)
    plain(loops.set_keys)(n_blocks, blocks, maps, codes, long, start, stop)
    plain(loops.set_short_keys)(n_blocks, blocks, maps, codes, short, start, stop)
    assert long.tolist() == short.tolist() == expected


def tiles(keys: list[int], way: str, base: int, slots: np.ndarray) -> tuple[list[int], list[int], list[int]]:
    """The group of each key, the first key of each group and its records (key i has i + 1), in tiles of seven keys."""
    n, dtype = len(keys), np.int64 if way == "long" else np.int32
    groups, first, known, sums = np.array(keys, np.int32), np.full(n, -1, np.int32), np.full(n, -1, dtype), np.full(n, -1)
    found = 0
    for start in range(0, n, 7):
        mine, before = groups[start : start + 7], found
        if way == "direct":
            found = plain(loops.number_direct)(slots, mine, first, base, found, start)
        else:
            asked = np.array(keys[start : start + 7], np.int64) if way == "long" else mine
            found = plain(loops.number_hashed)(slots, asked, known, mine, first, base, found, start, len(slots) - 1)
        plain(loops.add_records)(sums, mine, np.arange(start + 1, start + 1 + len(mine)), before, found)
    return groups.tolist(), first[:found].tolist(), sums[:found].tolist()


@pytest.mark.parametrize("way", ["direct", "long", "short"])
@pytest.mark.parametrize("space", [1, 9, 60])
def test_keys_are_numbered_as_they_appear_and_their_records_added(way: str, space: int) -> None:
    rng = np.random.default_rng(space)
    slots, base = np.zeros(128, np.int32), 1  # as full as a hash table becomes; what an earlier grouping left is empty
    for _ in range(3):
        keys = rng.integers(0, space, 60).tolist()
        number: dict[int, int] = {}
        expected = [number.setdefault(key, len(number)) for key in keys]
        records = [sum(i + 1 for i, key in enumerate(keys) if key == mine) for mine in number]
        with np.errstate(over="ignore"):
            assert tiles(keys, way, base, slots) == (expected, [keys.index(key) for key in number], records)
        base += len(keys)


def test_three_blocks_at_once_add_up_as_one_after_the_other() -> None:
    rng = np.random.default_rng(3)
    codes, _, _ = blocks_of(4, rng)
    codes[4 + at.CELL_LOST] = rng.permutation(CELLS)
    numbers, starts = rng.integers(1, 9, (at.N_CELL_NUMBERS, CELLS)), np.array([0, 5, 10, 15, 20])
    one, three = np.zeros(20, np.int64), np.zeros(20, np.int64)
    for b in (1, 2, 3):
        plain(loops.add_by_combination)(one, codes, numbers, b, starts[b], 41)
    plain(loops.add_by_three)(three, codes, numbers, 1, starts, 41)
    assert three.tolist() == one.tolist()
    assert one.sum() == 3 * numbers[at.RECORDS, codes[4 + at.CELL_LOST, :41]].sum()


@pytest.mark.parametrize("heights", [(0,), (3,), (2, 1), (1, 0, 2), (2, 1, 1, 0)])
def test_bounds_are_raised_closed_and_marked_at_just_the_nodes_below_or_above(heights: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(heights))
    nodes = list(itertools.product(*[range(h + 1) for h in heights]))
    columns = np.zeros((at.N_COLUMNS, len(heights) + 1), np.int64)
    columns[at.HEIGHT, :-1], columns[at.STRIDE, :-1] = heights, node_strides(heights)
    terms, scales = rng.random((2, len(heights), max(heights) + 1)), np.zeros((at.N_SCALES, len(heights) + 1))
    before = rng.random(len(nodes)) * len(heights)
    for node in nodes:
        columns[at.NODE, :-1] = node
        below = np.array([all(a <= b for a, b in zip(v, node, strict=True)) for v in nodes])
        above = np.array([all(a >= b for a, b in zip(v, node, strict=True)) for v in nodes])
        total = np.array([sum(terms[at.TERM, j, level] for j, level in enumerate(v)) for v in nodes])
        raised, closed, soft = before.copy(), before.copy(), np.zeros(len(nodes), np.bool_)
        plain(bounds.raise_below)(raised, columns, scales, terms)
        plain(bounds.close_below)(closed, columns)
        plain(bounds.mark_above)(soft, columns)
        assert raised == pytest.approx(np.where(below, np.maximum(before, total), before))
        assert closed.tolist() == np.where(below, np.inf, before).tolist()
        assert soft.tolist() == above.tolist()


@pytest.mark.parametrize("way", ["long", "short"])
def test_keys_that_meet_in_a_slot_stay_apart(way: str) -> None:
    """Eight keys in sixteen slots: some find the slots of others, that of the first group too."""
    rng = np.random.default_rng(16)
    for _ in range(20):
        few = rng.choice(1000, 8, replace=False)
        keys = rng.choice(few, 30).tolist()
        number: dict[int, int] = {}
        expected = [number.setdefault(key, len(number)) for key in keys]
        with np.errstate(over="ignore"):
            assert tiles(keys, way, 1, np.zeros(16, np.int32))[0] == expected


def test_cells_of_groups_below_the_least_size_are_listed() -> None:
    codes, _, _ = blocks_of(2, np.random.default_rng(1))
    numbers = np.zeros((at.N_CELL_NUMBERS, CELLS), np.int64)
    numbers[at.SUMS, :5] = 4, 5, 6, 0, 9
    groups = codes[2 + at.GID].tolist()
    n_lost = plain(loops.list_lost)(codes, numbers, 11, 30, 5)
    assert codes[2 + at.CELL_LOST, :n_lost].tolist() == [11 + c for c in range(30) if groups[c] in (0, 3)]


def test_groups_are_copied_as_cells_with_one_combination_of_each_group_of_a_block() -> None:
    n_blocks, found, place = 3, 6, 40
    rng = np.random.default_rng(2)
    codes, _, blocks = blocks_of(n_blocks, rng)
    blocks[at.COMBINATIONS, :-1], blocks[at.TABLE, :-1] = 5, 10 * np.arange(n_blocks)
    maps = rng.integers(0, 5, 10 * n_blocks).astype(np.int32)  # of each block: the group of a combination, one of each group
    numbers = rng.integers(1, 9, (at.N_CELL_NUMBERS, CELLS))
    first = codes[n_blocks + at.ONE, :found] = [3, 9, 14, 20, 28, 39]
    expected = [[int(maps[10 * b + 5 + maps[10 * b + codes[b, c]]]) for c in first] for b in range(n_blocks)]
    plain(loops.copy_groups)(codes, numbers, blocks, maps, place, found)
    assert codes[:n_blocks, place : place + found].tolist() == expected
    assert numbers[at.RECORDS, place : place + found].tolist() == numbers[at.SUMS, :found].tolist()

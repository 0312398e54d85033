"""Grouping cells for a search: the same groups whatever the key space, the number of threads and the breaks."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.search.kernels import entries as charging
from shoal.search.kernels import group_cells as search_group
from shoal.search.kernels.group_cells import Workspace


def slow(codes: np.ndarray, tables: list[tuple[np.ndarray, int]], records: np.ndarray) -> tuple[list[int], list[int], list[int]]:
    """Group of each cell, first cells and sums, by a dictionary."""
    seen: dict[tuple[int, ...], int] = {}
    gid, first, sums = [], [], []
    for c in range(codes.shape[1]):
        key = tuple(int(t[codes[b, c]]) for b, (t, _) in enumerate(tables))
        if key not in seen:
            seen[key] = len(seen)
            first.append(c)
            sums.append(0)
        gid.append(seen[key])
        sums[seen[key]] += int(records[c])
    return gid, first, sums


def cells(seed: int, card: int, *, n: int = 300) -> tuple[np.ndarray, list[tuple[np.ndarray, int]], np.ndarray, np.ndarray]:
    """Cells sorted by the first block, tables of five blocks with ``card`` groups, and the breaks between first blocks."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, (5, n)).astype(np.int32)
    codes = np.ascontiguousarray(codes[:, np.argsort(codes[0], kind="stable")])
    tables = [(np.sort(rng.integers(0, card, 6)), card) for _ in range(5)]
    tables[0] = (np.arange(6), card)
    ends = np.append(np.flatnonzero(np.diff(codes[0])) + 1, n).astype(np.int64)
    return codes, tables, rng.integers(1, 4, n), ends


WAYS = [0, 1, 2]
"""numpy, as for a few cells; compiled; compiled and two threads."""


def workspace(n_sums: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(search_group, "SHARED", 10)
    monkeypatch.setattr(search_group, "FEW", 0 if threads else 301)
    return Workspace(300, n_sums, [6] * 5, max(1, threads))


@pytest.mark.parametrize("card", [6, 40, 5000])  # direct table; direct or hash; a key space of 3e18: hash
@pytest.mark.parametrize("threads", WAYS)
def test_groups_are_those_of_a_dictionary(card: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    space = workspace(2, threads, monkeypatch)
    for seed in range(6):
        codes, tables, records, ends = cells(seed, card)
        gid, first, sums = slow(codes, tables, records)
        for breaks in (None, ends):
            found = space.group(codes, tables, np.stack([records, 2 * records]), breaks, least=4)
            assert found.n == len(first)
            assert found.gid.tolist() == gid
            assert found.first.tolist() == first
            assert found.sums[0].tolist() == sums
            assert found.sums[1].tolist() == [2 * s for s in sums]
            assert found.lost == sum(s for s in sums if s < 4)
            assert found.small == sum(s < 4 for s in sums)


@pytest.mark.parametrize("threads", WAYS)
def test_a_node_is_given_up_only_when_more_than_the_limit_is_lost(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    space = workspace(1, threads, monkeypatch)
    given_up = 0
    for seed in range(20):
        codes, tables, records, ends = cells(seed, 6)
        lost = sum(s for s in slow(codes, tables, records)[2] if s < 3)
        for limit in (0, lost // 8, lost - 1, lost, lost + 1):
            found = space.group(codes, tables, records[None, :], ends, least=3, limit=limit)
            assert (found.lost > limit) == (lost > limit)
            if found.n < 0:
                given_up += 1
                assert found.lost <= lost
            else:
                assert found.lost == lost
    assert given_up > 20


def test_slots_are_renewed_before_their_numbers_run_out() -> None:
    space = Workspace(300, 1, [6] * 5)
    codes, tables, records, _ = cells(3, 40)
    want = slow(codes, tables, records)[0]
    space.group(codes, tables, records[None, :])
    space._base = 2**31 - 400
    for _ in range(4):
        assert space.group(codes, tables, records[None, :]).gid.tolist() == want


@pytest.mark.parametrize("seed", range(5))
def test_numpy_and_the_compiled_loop_give_up_at_the_same_place(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    codes, tables, records, ends = cells(seed, 6)
    for limit in range(0, 60, 7):
        found = []
        for few in (0, 301):
            monkeypatch.setattr(search_group, "FEW", few)
            got = Workspace(300, 1, [6] * 5).group(codes, tables, records[None, :], ends, least=3, limit=limit)
            found.append((got.n, got.lost, got.small))
        assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(5))
def test_small_sums_are_the_same_by_numpy(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit: a plan must not depend on which way a loss was added up."""
    rng = np.random.default_rng(seed)
    n, sizes = 40, [3, 5, 9]
    codes = np.stack([rng.integers(0, s, n) for s in sizes]).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    gid = rng.integers(0, 6, n).astype(np.int32)
    score, records = rng.integers(0, 4, 6), rng.integers(1, 9, n)
    free, extra = rng.random((3, 4)), rng.random(4 * sum(sizes))
    offsets = (4 * starts[:-1]).astype(np.int64)
    results = []
    for few in (0, 10**6):
        monkeypatch.setattr(search_group, "FEW", few)
        monkeypatch.setattr(charging, "FEW", few)
        gone, out = np.zeros(sum(sizes), np.int64), np.zeros((3, 4))
        search_group.lost_by_code(score, 2, gid, codes, starts, records, gone)
        charging.charges(gone, starts, extra, offsets, free, np.array([3, 0, 2]), np.array([1, 0, 2]), out)
        results.append((gone.tolist(), out.tolist()))
    assert results[0] == results[1]
    assert sum(results[0][0]) == 3 * records[score[gid] < 2].sum()

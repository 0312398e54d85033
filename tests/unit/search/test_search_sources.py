"""Copies of the cells that nodes are grouped from: which are made, which stay, and that none of it changes an answer."""

from __future__ import annotations

import numpy as np
import pytest

from search_oracle import random_table
from shoal.model.requirement import K
from shoal.search import lattice
from shoal.search.full_domain import evaluator, sources
from shoal.search.full_domain.sources import Source, Sources
from shoal.search.kernels import group_cells

NONE = np.zeros(2, dtype=np.int64)


def source(cells: int, *node: int) -> Source:
    zeros = np.zeros(cells, dtype=np.int32)
    return Source(np.array(node or NONE), zeros[None, :], np.ones((1, cells), dtype=np.int64), zeros, ())


def asked(base: int, *nodes: tuple[int, int]) -> Sources:
    """Sources of so many cells that were asked for these nodes once."""
    made = Sources(source(base), [0, 1], (6, 6))
    for node in nodes:
        made.used(node, made.base, base, lambda: source(base))
    return made


@pytest.fixture(autouse=True)
def _even_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "FEW", 1)


@pytest.mark.parametrize(("base", "made"), [(40, True), (41, False)])
def test_a_copy_is_made_from_at_most_twice_the_cells_at_hand(base: int, made: bool) -> None:
    found = asked(base, (3, 3))
    found._keep((3, 3), source(20, 3, 3))
    starts = []

    def coarsen(start: Source, key: tuple[int, ...]) -> Source:
        starts.append(start.n_cells)
        return source(1, *key)

    found.below((3, 3), coarsen)
    assert starts == ([base] if made else [])


def test_a_copy_below_one_that_had_too_many_cells_is_not_tried() -> None:
    found = asked(100, (4, 5), (2, 5), (6, 5))
    tried = []

    def coarsen(start: Source, key: tuple[int, ...]) -> Source:
        tried.append(key)
        return source(51, *key)

    assert found.below((4, 5), coarsen) is found.base
    found.below((2, 5), coarsen)  # below (4, 4), which was no use
    assert tried == [(4, 4)]
    found.below((6, 5), coarsen)
    assert tried == [(4, 4), (6, 4)]


def test_copies_stay_when_the_cells_are_sorted() -> None:
    found = asked(100)
    kept, again = source(9, 1, 1), source(100)
    found._keep((1, 1), kept)
    found.start_from(again)
    assert found.base is again
    assert found.below((1, 1), lambda start, key: pytest.fail("nothing is made")) is kept
    assert found.below((0, 1), lambda start, key: pytest.fail("nothing is made")) is again


@pytest.mark.parametrize("seed", range(8))
def test_sorted_cells_copies_and_two_threads_give_the_same_plan_and_classes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(seed)
    counts, hierarchies = table.counts(), table.hierarchies()
    plain = lattice(counts, hierarchies, [K(3)], suppress=0.2, threads=1)
    monkeypatch.setattr(evaluator, "MANY", 0)
    monkeypatch.setattr(sources, "SHRINK", 1.0)
    monkeypatch.setattr(group_cells, "SHARED", 2)
    monkeypatch.setattr(group_cells, "FEW", 0)
    other = lattice(counts, hierarchies, [K(3)], suppress=0.2, threads=2)
    assert other.levels == plain.levels
    assert other.loss == plain.loss
    assert other.suppressed == plain.suppressed
    assert other.kept.tolist() == plain.kept.tolist()
    pairs = set(zip(plain.groups.tolist(), other.groups.tolist(), strict=True))
    assert len(pairs) == len(set(plain.groups.tolist())) == len(set(other.groups.tolist()))

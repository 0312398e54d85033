"""Exactly at a limit and one step beside it: every requirement, the suppression limit, the records that a share allows."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import InfeasibleError
from shoal.model import requirement as req
from shoal.model.counts.classes import ClassCounts, SensitiveCounts
from shoal.model.hierarchy import Hierarchy
from shoal.search import lattice
from shoal.search.full_domain.lattice import record_limit
from shoal.search.kernels.group_cells import FEW
from shoal.search.problem.control import COMPILING

STEP = 1e-6
"""More than any tolerance, less than any difference between tables."""


def two_classes(a: tuple[int, int], b: tuple[int, int]) -> ClassCounts:
    """Classes ``a`` and ``b`` with so many records of each of two sensitive values."""
    found = SensitiveCounts.from_dense("s", [list(a), list(b)])
    return ClassCounts((sum(a), sum(b)), ("q",), [[0, 1]], [pa.array(["a", "b"])], {"s": found})


TREE = {"q": Hierarchy.from_rows("q", [["a", "*"], ["b", "*"]])}
EVEN, SKEW = ((2, 2), (2, 2)), ((3, 1), (1, 3))
LIMITS = {
    "k": (EVEN, req.K(4), req.K(5)),
    "max-risk": (EVEN, req.MaxRisk(0.25), req.MaxRisk(0.25 - 1e-3)),
    "average-risk": (EVEN, req.AverageRisk(0.25), req.AverageRisk(0.25 - STEP)),
    "uniqueness": (((1, 0), (4, 5)), req.SampleUniqueness(0.1), req.SampleUniqueness(0.1 - STEP)),
    "distinct": (EVEN, req.DistinctDiversity("s", 2), req.DistinctDiversity("s", 3)),
    "p-sensitive": (((2, 2), (4, 0)), req.PSensitive("s", 1), req.PSensitive("s", 2)),
    "entropy": (EVEN, req.EntropyDiversity("s", 2.0), req.EntropyDiversity("s", 2.0 + STEP)),
    "recursive": (SKEW, req.RecursiveDiversity("s", 3.0 + STEP, 2), req.RecursiveDiversity("s", 3.0, 2)),
    "alpha": (SKEW, req.AlphaK("s", 0.75), req.AlphaK("s", 0.75 - STEP)),
    "t-equal": (SKEW, req.TCloseness("s", 0.25), req.TCloseness("s", 0.25 - STEP)),
    "t-ordered": (SKEW, req.TCloseness("s", 0.25, "ordered"), req.TCloseness("s", 0.25 - STEP, "ordered")),
    "beta": (SKEW, req.BasicBeta("s", 0.5), req.BasicBeta("s", 0.5 - STEP)),
    "enhanced-beta": (SKEW, req.EnhancedBeta("s", 0.5), req.EnhancedBeta("s", 0.5 - STEP)),
    "delta": (SKEW, req.DeltaDisclosure("s", math.log(2.0) + STEP), req.DeltaDisclosure("s", math.log(2.0))),
}


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", LIMITS)
def test_a_requirement_met_exactly_is_met_and_missed_by_little_is_missed(name: str, lazy: bool) -> None:
    (a, b), met, missed = LIMITS[name]
    counts, original = two_classes(a, b), {"q": (0, 0)}
    assert lattice(counts, TREE, [met], suppress=0.0, bounds=original, lazy=lazy).suppressed == 0
    with pytest.raises(InfeasibleError):
        lattice(counts, TREE, [missed], suppress=0.0, bounds=original, lazy=lazy)


@pytest.mark.parametrize("journalist", [False, True])
def test_the_population_at_the_limit(journalist: bool) -> None:
    counts, original = two_classes(*EVEN), {"q": (0, 0)}
    whole = ClassCounts((5, 9), ("q",), [[0, 1]], [pa.array(["a", "b"])])

    def ask(k: int) -> list[req.Requirement]:
        return [req.MaxRisk(1 / k, "journalist")] if journalist else [req.KMap(k)]

    assert lattice(counts, TREE, ask(5), suppress=0.0, bounds=original, population=whole).suppressed == 0
    with pytest.raises(InfeasibleError):
        lattice(counts, TREE, ask(6), suppress=0.0, bounds=original, population=whole)


def with_three_alone() -> ClassCounts:
    """A hundred records: 97 of one value and three that are alone; all at level 1 are one class."""
    sizes = np.array([97, 1, 1, 1])
    rows = [[49, 48], [1, 0], [1, 0], [0, 1]]
    found = {"s": SensitiveCounts.from_dense("s", rows)}
    return ClassCounts(sizes, ("q",), [[0, 1, 2, 3]], [pa.array(list("abcd"))], found)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("loss", ["loss", "discernibility"])
@pytest.mark.parametrize(
    "asked",
    [
        [req.K(2)],
        [req.K(2), req.DistinctDiversity("s", 2)],
        [req.AlphaK("s", 0.6)],
        [req.AverageRisk(0.02)],
        [req.SampleUniqueness(0.0)],
    ],
    ids=lambda asked: asked[-1].kind,
)
def test_the_last_record_that_may_be_suppressed(asked: list[req.Requirement], loss: str, lazy: bool) -> None:
    """Three records must go to keep the values as they are: a limit of three allows it, one of two does not."""
    counts = with_three_alone()
    tree = {"q": Hierarchy.from_rows("q", [[v, "*"] for v in "abcd"])}
    kept = lattice(counts, tree, asked, suppress=0.03, loss=loss, lazy=lazy)
    assert (kept.levels, kept.suppressed, kept.limit) == ({"q": 0}, 3, 3)
    joined = lattice(counts, tree, asked, suppress=0.029, loss=loss, lazy=lazy)
    assert (joined.levels, joined.suppressed, joined.limit) == ({"q": 1}, 0, 2)
    with pytest.raises(InfeasibleError):
        lattice(counts, tree, asked, suppress=0.029, loss=loss, lazy=lazy, bounds={"q": (0, 0)})


@pytest.mark.parametrize(
    ("share", "records", "limit"),
    [(0.01, 99, 0), (0.01, 100, 1), (0.01, 199, 1), (0.01, 200, 2), (0.29, 100, 29), (0.0, 5, 0), (1.0, 7, 7), (0.999999, 7, 6)],
)
def test_records_that_a_share_allows(share: float, records: int, limit: int) -> None:
    assert record_limit(share, records) == limit


@pytest.mark.parametrize("lazy", [False, True])
def test_two_sensitive_columns_with_different_numbers_of_values(lazy: bool) -> None:
    """Each is judged by its own entries: ``one`` has 4 in the two classes, ``two`` only 2, and only ``two`` needs the join."""
    one = SensitiveCounts.from_dense("one", [[2, 2], [2, 2]])
    two = SensitiveCounts.from_dense("two", [[4, 0], [0, 4]])
    counts = ClassCounts((4, 4), ("q",), [[0, 1]], [pa.array(["a", "b"])], {"one": one, "two": two})
    for asked, level in (("one", 0), ("two", 1)):
        found = lattice(counts, TREE, [req.DistinctDiversity(asked, 2)], suppress=0.0, lazy=lazy)
        assert found.levels == {"q": level}
    both = [req.DistinctDiversity("two", 1), req.EntropyDiversity("one", 2.0)]
    assert lattice(counts, TREE, both, suppress=0.0, lazy=lazy).levels == {"q": 0}
    assert lattice(counts, TREE, [req.DistinctDiversity("two", 2), *both], suppress=0.0, lazy=lazy).levels == {"q": 1}


@pytest.mark.parametrize("lazy", [False, True])
def test_what_a_first_search_waits_for_is_said_where_something_is_compiled(lazy: bool) -> None:
    def told(cells: int) -> list[str]:
        names = [f"v{i:05d}" for i in range(cells)]
        counts = ClassCounts((2,) * cells, ("q",), [list(range(cells))], [pa.array(names)])
        tree = {"q": Hierarchy.from_rows("q", [[n, "*"] for n in names])}
        said: list[str] = []
        lattice(counts, tree, [req.K(2)], suppress=0.0, lazy=lazy, progress=lambda _, what: said.append(what))
        return said

    assert told(FEW)[0] == COMPILING
    assert COMPILING not in told(FEW - 1)

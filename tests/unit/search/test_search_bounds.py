"""What a node says of all finer ones holds at each of them, by the slow oracle: records lost, and the loss."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from search_oracle import Table, Verdict, judge, passes, random_table
from shoal.model import requirement as req
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.objective import Objective
from shoal.search.kernels.sensitive_values import check_values
from shoal.search.problem.checks import build_checks
from shoal.search.problem.problem import Node, build_problem

ASKED: dict[str, list[req.Requirement]] = {
    "entropy": [req.EntropyDiversity("s", 2.2)],
    "recursive": [req.K(2), req.RecursiveDiversity("s", 1.2, 2)],
    "alpha": [req.AlphaK("s", 0.5)],
    "t-equal": [req.K(2), req.TCloseness("s", 0.25)],
    "t-ordered": [req.TCloseness("s", 0.15, "ordered")],
    "delta": [req.DeltaDisclosure("s", 1.2)],
    "basic-beta": [req.K(3), req.BasicBeta("s", 0.6)],
    "average-risk": [req.AverageRisk(0.2)],
    "uniqueness and t": [req.SampleUniqueness(0.02), req.TCloseness("s", 0.3)],
}


SEEDS = (16, 6, 28)
"""Tables of 20 to 40 records with 24 nodes."""


def below(hi: Node) -> Iterator[Node]:
    return itertools.product(*(range(level + 1) for level in hi))


def searched(table: Table, asked: list[req.Requirement], loss: str) -> tuple[Evaluator, Objective]:
    problem = build_problem(table.counts(), table.hierarchies())
    evaluator = Evaluator(problem, build_checks(problem.counts, asked, has_population=False), problem.n_records)
    objective = Objective(problem, loss)
    evaluator.wants_sizes = objective.needs_sizes
    return evaluator, objective


@pytest.mark.parametrize("name", ASKED)
def test_a_node_never_says_too_much_of_finer_ones(name: str) -> None:
    told = 0
    for seed, loss in zip(SEEDS, ("loss", "entropy", "discernibility"), strict=True):
        table = random_table(seed)
        evaluator, objective = searched(table, ASKED[name], loss)
        truth = {v: judge(table, v, ASKED[name], len(table.rows), loss) for v in table.nodes()}
        told += sum(_check(hi, evaluator, objective, truth) for hi in truth)
    assert told


def _check(hi: Node, evaluator: Evaluator, objective: Objective, truth: dict[Node, Verdict]) -> int:
    """Nodes of which something was told that is neither trivial nor true of the node itself only."""
    e = evaluator(hi)
    terms, told = objective.terms_below(e), 0
    for v in below(hi):
        assert e.lower <= truth[v].suppressed
        if objective.cells is not None:
            bound = objective.value(sum(terms[j, level] for j, level in enumerate(v)))
        else:
            bound = objective.total_above(evaluator(v)) + objective.more_below(e)
        assert bound <= truth[v].loss + 1e-9
        told += bool(e.some is not None or e.more or e.gone.any()) and v != hi
    assert e.binds == bool(e.more or e.some is not None or e.gone.any())
    return told


BAGS = [(5, 1), (4, 3, 1), (2, 2, 2), (6, 0, 1), (1, 1, 1, 4), (3, 2, 2, 1), (0, 0, 3), (7, 5)]
TABLE = ["a"] * 6 + ["b"] * 5 + ["c"] * 4 + ["d"] * 3
VALUES = {
    "entropy": req.EntropyDiversity("s", 2.0),
    "recursive": req.RecursiveDiversity("s", 1.0, 2),
    "alpha": req.AlphaK("s", 0.5),
    "t": req.TCloseness("s", 0.35),
    "t-ordered": req.TCloseness("s", 0.2, "ordered"),
    "beta": req.BasicBeta("s", 0.5),
    "delta": req.DeltaDisclosure("s", 0.9),
}


@pytest.mark.parametrize("k", [0, 4])
@pytest.mark.parametrize("name", VALUES)
def test_at_least_as_many_records_go_as_of_the_largest_part_that_passes(name: str, k: int) -> None:
    """One class of each bag of values; the largest part of it that passes, of all parts, is never above what is said to stay."""
    exact = 0
    for bag in BAGS:
        most = _largest_part(bag, VALUES[name], k)
        failed, weak, removal = _decided(bag, VALUES[name], k)
        if most == sum(bag):
            assert not failed
            assert not weak
        else:
            gone = sum(bag) if failed else int(removal)
            assert 1 <= gone <= sum(bag) - most
            assert failed or weak
            exact += gone == sum(bag) - most
    assert exact >= 2


def _largest_part(bag: tuple[int, ...], asked: req.Requirement, k: int) -> int:
    names = "abcd"[: len(bag)]
    best = 0
    for part in itertools.product(*(range(n + 1) for n in bag)):
        values = [s for s, n in zip(names, part, strict=True) for _ in range(n)]
        if max(k, 1) <= len(values) and len(values) > best and passes(asked, values, TABLE, 0, []):
            best = len(values)
    return best


def _decided(bag: tuple[int, ...], asked: req.Requirement, k: int) -> tuple[bool, bool, int]:
    """The verdict on one class with this bag of values, in the table."""
    whole = Table(("x",), [("1",)] * len(TABLE), list(TABLE), {"x": [["1", "*"]]})
    mine = build_checks(whole.counts(), [asked], has_population=False).sensitive[0]
    held = [(v, n) for v, n in enumerate(bag) if n]
    values, counts = np.array([v for v, _ in held], dtype=np.int32), np.array([n for _, n in held])
    pointer, order = np.array([0, len(held), 0]), np.arange(len(held), dtype=np.int32)
    failed, weak, removal = np.zeros(1, np.bool_), np.zeros(1, np.bool_), np.zeros(1, np.int64)
    c = mine.checks[0]
    check_values(
        pointer, order, values, counts, mine.share, c.kind, c.first, c.second, c.limits, c.groups, c.n_groups, c.mass, k,
        failed, weak, removal,
    )  # fmt: skip
    return bool(failed[0]), bool(weak[0]), int(removal[0])


@pytest.mark.parametrize(
    ("first", "free"),
    [
        pytest.param("prss", [6, 9, 14], id="three records of the cheapest"),
        pytest.param("pppr", [6, 7, 14], id="a single one"),
    ],
)
def test_records_lost_somewhere_in_a_class_are_charged_as_its_cheapest_and_those_lost_anywhere_as_the_cheapest_of_all(
    first: str, free: list[int]
) -> None:
    """Of four records with one value three times, two go: below, each adds what it adds at ``r`` and ``s``, not at ``p``."""
    tree = [["p", "p", "P", "*"], ["r", "R", "P", "*"], ["s", "R", "P", "*"], ["q", "q", "Q", "*"]]
    table = Table(("x",), [(x,) for x in f"{first}qq"], ["a", "a", "a", "b", "a", "b"], {"x": tree})
    evaluator, objective = searched(table, [req.AlphaK("s", 0.5)], "ncp")
    e = evaluator((2,))
    assert (e.lower, e.suppressed, e.gone.sum(), e.more) == (2, 4, 0, 0)
    assert e.some is not None
    assert e.some.sum() == 2
    span = 6 * 3  # a record covers one to four leaves; ``free`` are those that the records cover at each level
    each = [4 - 1, 4 - 2, 4 - 3]
    expected = [(free[level] - 6 + 2 * each[level]) / span for level in range(3)]
    assert objective.terms_below(e)[0, :3] == pytest.approx(expected)
    evaluator, objective = searched(table, [req.AverageRisk(0.5)], "ncp")
    e = evaluator((0,))  # classes of 1, 1, 2, 2, or of 1, 2, 3
    more = 2 if first == "prss" else 0
    assert (e.some, e.more, e.lower) == (None, more, more)
    assert objective.terms_below(e)[0, 0] == pytest.approx(more * 3 / span)


@pytest.mark.parametrize(("k", "whole"), [(2, False), (3, True)])
def test_a_class_of_which_too_little_can_stay_is_lost_below_in_full(k: int, whole: bool) -> None:
    table = Table(("x",), [("p",)] * 4 + [("q",)] * 4, list("aaababab"), {"x": [["p", "*"], ["q", "*"]]})
    evaluator, _ = searched(table, [req.K(k), req.AlphaK("s", 0.5)], "loss")
    e = evaluator((0,))
    assert (e.lower, int(e.gone.sum()), e.some is None) == ((4, 4, True) if whole else (2, 0, False))

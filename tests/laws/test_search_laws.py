"""The laws that pruning rests on: stated per requirement, checked on random classes and on whole lattices."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_oracle import fewest_removed, judge, passes, random_table
from shoal.model import requirement as req
from shoal.model.hierarchy import Hierarchy
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.objective import Objective
from shoal.search.problem.checks import build_checks
from shoal.search.problem.problem import build_problem

TREE = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]
KINDS = [
    req.K(3),
    req.KMap(3),
    req.MaxRisk(0.3),
    req.DistinctDiversity("s", 2),
    req.PSensitive("s", 3),
    req.EntropyDiversity("s", 1.8),
    req.RecursiveDiversity("s", 1.2, 2),
    req.AlphaK("s", 0.6),
    req.TCloseness("s", 0.3),
    req.TCloseness("s", 0.2, "ordered"),
    req.TCloseness("s", 0.25, "hierarchical", Hierarchy.from_rows("s", TREE)),
    req.DeltaDisclosure("s", 1.0),
    req.BasicBeta("s", 0.7),
    req.EnhancedBeta("s", 0.9),
    req.AverageRisk(0.3),
    req.SampleUniqueness(0.1),
    req.PopulationUniqueness(0.1, 1000),
]


@pytest.fixture(autouse=True)
def _copies_even_of_small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.search.full_domain.sources.FEW", 1)
    monkeypatch.setattr("shoal.search.full_domain.sources.SHRINK", 1.0)
    monkeypatch.setattr("shoal.search.full_domain.evaluator.MANY", 0)


a_class = st.lists(st.sampled_from("abcd"), min_size=1, max_size=9)


def test_every_kind_is_listed_here() -> None:
    kinds = req.requirement_kinds().values()
    searched = {k for k in kinds if k.scope != "trace" and not (k.needs_original or k.on_file)}
    assert {type(r) for r in KINDS} == searched


@pytest.mark.parametrize("r", [r for r in KINDS if r.scope == "class"], ids=lambda r: r.kind + getattr(r, "distance", ""))
@settings(max_examples=150, deadline=None)
@given(one=a_class, two=a_class, rest=a_class)
def test_joining_classes_keeps_what_the_law_says(r, one, two, rest) -> None:
    table = [*one, *two, *rest, *"abcd"]

    def good(values: list[str]) -> bool:
        return passes(r, values, table, len(values), TREE)

    if r.law == "merge" and (good(one) or good(two)):
        assert good(one + two)
    if r.law == "union" and good(one) and good(two):
        assert good(one + two)


@pytest.mark.parametrize("r", [r for r in KINDS if r.law == "union"], ids=lambda r: r.kind + getattr(r, "distance", ""))
def test_union_laws_are_not_merge_laws(r) -> None:
    """Each kind of law *union* has a passing class that fails after a failing one is joined: suppression breaks monotony."""
    rng = np.random.default_rng(7)
    for _ in range(5000):
        one = list(rng.choice(list("abcd"), int(rng.integers(1, 13))))
        two = list(rng.choice(list("abcd"), int(rng.integers(1, 13)), p=[0.85, 0.05, 0.05, 0.05]))
        table = [*one, *two, *"abcd" * 5]
        if passes(r, one, table, len(one), TREE) and not passes(r, one + two, table, len(one + two), TREE):
            return
    pytest.fail(f"no counter-example found for {r.kind}")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.sampled_from([0.15, 0.3, 0.5, 0.9]), st.booleans())
def test_smallest_first_removes_the_fewest_records(sizes, level, average) -> None:
    r = req.AverageRisk(level) if average else req.SampleUniqueness(level)
    named = {(str(i),): s for i, s in enumerate(sizes)}
    kept = fewest_removed(r, named, set(named), dict.fromkeys(named, 0))
    fewest = sum(sizes)
    for n in range(len(sizes) + 1):
        for part in itertools.combinations(sizes, n):
            total = sum(part)
            holds = n <= (level + 1e-9) * total if average else sum(s == 1 for s in part) <= (level + 1e-9) * total
            if holds:
                fewest = min(fewest, sum(sizes) - total)
    assert sum(sizes) - sum(named[c] for c in kept) == fewest


LATTICE_KINDS = [[r] for r in KINDS if not isinstance(r, req.TCloseness)]
LATTICE_KINDS += [
    [req.MaxRisk(0.2, "journalist")],
    [req.K(2), req.TCloseness("s", 0.3)],
    [req.TCloseness("s", 0.2, "ordered")],
    [req.AverageRisk(0.4), req.AlphaK("s", 0.7)],
]


@pytest.mark.parametrize("asked", LATTICE_KINDS, ids=lambda rs: "+".join(r.kind for r in rs))
def test_bounds_hold_for_every_pair_of_nodes(asked) -> None:
    """``lower`` of a node never exceeds what a specialisation suppresses; bounds never exceed its loss."""
    for seed in range(4):
        crowd = any(r.needs_population or getattr(r, "attacker", "") == "journalist" for r in asked)
        table = random_table(40_000 + seed, population=crowd)
        counts = table.counts()
        problem = build_problem(counts, table.hierarchies(), population=table.counts(table.population) if crowd else None)
        checks = build_checks(counts, asked, has_population=crowd)
        evaluate, objective = Evaluator(problem, checks, len(table.rows)), Objective(problem, "loss")
        nodes = list(itertools.product(*(range(h + 1) for h in problem.heights)))
        np.random.default_rng(seed).shuffle(nodes)
        done = {node: evaluate(node) for node in map(tuple, np.array(nodes).tolist())}
        free = objective.free_terms()
        for high, e in done.items():
            terms = objective.terms_below(e)
            for low, f in done.items():
                if all(a <= b for a, b in zip(low, high, strict=True)):
                    assert e.lower <= f.suppressed
                    total = objective.total(f)
                    assert sum(terms[j, x] for j, x in enumerate(low)) <= total + 1e-12
                    assert sum(free[j, x] for j, x in enumerate(low)) <= total + 1e-12
                    if checks.monotone(0) and f.suppressed == 0:
                        assert e.suppressed == 0


def test_evaluation_does_not_depend_on_the_order_of_nodes() -> None:
    table = random_table(5)
    counts = table.counts()
    problem = build_problem(counts, table.hierarchies())
    checks = build_checks(counts, [req.K(3), req.TCloseness("s", 0.4)], has_population=False)
    nodes = list(table.nodes())
    one, two = Evaluator(problem, checks, 5), Evaluator(problem, checks, 5)
    forward = {n: one(n) for n in nodes}
    backward = {n: two(n) for n in reversed(nodes)}
    for n in nodes:
        assert (forward[n].suppressed, forward[n].kept_groups) == (backward[n].suppressed, backward[n].kept_groups)
        assert np.array_equal(forward[n].lost.sum(), backward[n].lost.sum())


def test_published_classes_of_a_node_are_those_of_the_rows() -> None:
    table = random_table(11)
    problem = build_problem(table.counts(), table.hierarchies())
    checks = build_checks(table.counts(), [req.K(2)], has_population=False)
    for node in list(table.nodes())[::3]:
        gid, published = Evaluator(problem, checks, 0).groups(node)
        sums = np.bincount(gid, weights=problem.measures[0, : problem.n_base]).astype(int)
        want = Counter(Counter(table.publish(r, node) for r in table.rows).values())
        assert Counter(sums.tolist()) == want
        assert published.tolist() == (sums >= 2).tolist()
        assert judge(table, node, [req.K(2)], 99, "loss").suppressed == sum(n * c for n, c in want.items() if n < 2)
        assert len(np.unique(gid)) == len(published)

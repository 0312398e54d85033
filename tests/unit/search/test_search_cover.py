"""The compiled cover of local recoding is the plain one, class by class: sizes, people, key spaces, stops."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from shoal.kernels.jit import HAVE_NUMBA
from shoal.model import requirement as req
from shoal.model.counts.classes import ClassCounts
from shoal.model.hierarchy import Hierarchy
from shoal.search import local
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.local_recoding import cluster
from shoal.search.local_recoding import cover as covering
from shoal.search.local_recoding.published import make_trees
from shoal.search.problem.checks import build_checks
from shoal.search.problem.control import Control
from shoal.search.problem.problem import build_problem

pytestmark = pytest.mark.skipif(not HAVE_NUMBA, reason="compares compiled code with the plain way")


def tree(name: str, n: int, *, flat: bool = False) -> Hierarchy:
    """Values 00…, joined by two, by four and so on; flat ones are kept or suppressed."""
    rows = []
    for i in range(n):
        widths = [] if flat else [2**e for e in range(1, 6) if 2**e < n]
        rows.append([f"{i:02}", *(f"{name}{w}-{i // w}" for w in widths), "*"])
    return Hierarchy.from_rows(name, rows)


def people(seed: int, sizes: tuple[int, ...], n: int = 140):
    """Records of people, some with several: counts, hierarchies, and every pair of class and person."""
    rng = np.random.default_rng(seed)
    names = tuple("abcdefghijk"[: len(sizes)])
    rows = np.stack([np.minimum(rng.geometric(0.25, n) - 1, s - 1) for s in sizes], axis=1)
    classes, inverse = np.unique(rows, axis=0, return_inverse=True)
    person = rng.integers(0, n * 2 // 3, n)
    pairs = np.unique(np.stack([inverse.reshape(-1), person], axis=1), axis=0)
    counts = ClassCounts(
        np.bincount(pairs[:, 0]),
        names,
        [c.astype(np.int32) for c in classes.T],
        [pa.array([f"{i:02}" for i in range(s)]) for s in sizes],
        records=np.bincount(inverse.reshape(-1)),
        unit="id",
        n_people=len(set(person.tolist())),
    )
    return counts, {c: tree(c, s, flat=s == 2) for c, s in zip(names, sizes, strict=True)}, (pairs[:, 0], pairs[:, 1])


def labels(counts, trees, known, k: int) -> np.ndarray:
    problem = build_problem(counts, trees, people=known)
    evaluator = Evaluator(problem, build_checks(counts, [req.K(k)], has_population=False), 0)
    return covering.cover(evaluator, make_trees(problem), Control())


WIDE = ((60,) * 10, (60,) * 11)  # 61¹⁰ < 2⁶² < 61¹¹


@pytest.mark.parametrize("sizes", [(9,), (2, 9, 5), (16, 16, 16, 16), *WIDE])  # the third has more keys than slots
@pytest.mark.parametrize("known", ["pairs", "excess", "records"])
def test_compiled_code_makes_the_same_clusters(sizes, known: str, monkeypatch: pytest.MonkeyPatch) -> None:
    covered = 0
    for seed in range(4):
        counts, trees, pairs = people(seed, sizes)
        if known == "records":
            counts = ClassCounts(counts.records, counts.columns, counts.codes, counts.categories)
        who = pairs if known == "pairs" else None
        for k in (2, 3, 6):
            monkeypatch.setattr(covering, "NODES", 300)
            monkeypatch.setattr(covering, "MANY_NODES", 10**9)
            plain = labels(counts, trees, who, k)
            monkeypatch.setattr(covering, "MANY_NODES", 1)
            monkeypatch.setattr(covering, "SLICE", 7)
            assert labels(counts, trees, who, k).tolist() == plain.tolist()
            covered += int((plain >= 0).sum())
    assert covered


def test_a_cluster_has_k_different_people_and_a_class_alone_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the rows themselves: at k people a cluster stands, one fewer and it does not."""
    monkeypatch.setattr(covering, "MANY_NODES", 1)
    for seed in range(4):
        counts, trees, (classes, person) = people(10 + seed, (2, 9, 5))
        for k in (3, 4):
            found = labels(counts, trees, (classes, person), k)
            inside = [{int(p) for c, p in zip(classes, person, strict=True) if found[c] == x} for x in range(found.max() + 1)]
            assert min(map(len, inside)) >= k
            assert any(len(x) == k for x in inside)


def test_few_nodes_or_other_requirements_go_the_plain_way() -> None:
    counts, trees, pairs = people(1, (2, 9, 5))
    problem = build_problem(counts, trees, people=pairs)
    evaluator = Evaluator(problem, build_checks(counts, [req.K(3)], has_population=False), 0)
    assert covering.is_compiled(evaluator, covering.MANY_NODES)
    assert not covering.is_compiled(evaluator, covering.MANY_NODES - 1)
    for sizes in WIDE:
        counts, trees, _ = people(1, sizes)
        evaluator = Evaluator(build_problem(counts, trees), build_checks(counts, [req.K(3)], has_population=False), 0)
        assert covering.is_compiled(evaluator, covering.MANY_NODES)


@pytest.mark.parametrize(("loaded", "compiled"), [((), False), (("once",), True)])
def test_code_that_is_loaded_is_used_for_few_nodes(
    loaded: tuple[str, ...], compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = []
    monkeypatch.setattr(covering, "cover_nodes", SimpleNamespace(signatures=loaded))
    monkeypatch.setattr(covering, "_cover_by_size", lambda *_: ways.append("compiled"))
    counts, trees, pairs = people(1, (2, 9, 5))
    labels(counts, trees, pairs, 3)
    assert bool(ways) == compiled


@pytest.mark.parametrize("limit", [{"time_budget": 60.0}, {"steps": 10**6}])
def test_a_limited_cover_takes_the_same_way_whether_code_is_loaded_or_not(
    limit: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled code asks less often whether to stop, so that the plan would depend on what ran before in the process."""
    counts, trees, pairs = people(1, (2, 9, 5))
    problem = build_problem(counts, trees, people=pairs)
    evaluator = Evaluator(problem, build_checks(counts, [req.K(3)], has_population=False), 0)
    plain = covering.cover(evaluator, make_trees(problem), Control(**limit))
    monkeypatch.setattr(covering, "cover_nodes", SimpleNamespace(signatures=("once",)))
    monkeypatch.setattr(covering, "_cover_by_size", lambda *_: pytest.fail("compiled"))
    assert (covering.cover(evaluator, make_trees(problem), Control(**limit)) == plain).all()


@pytest.mark.parametrize("known", ["pairs", "records"])
@pytest.mark.parametrize("size", [200, 250])  # 201⁸ < 2⁶² < 251⁸
def test_columns_with_more_keys_than_a_number_holds_are_numbered_in_between(
    size: int, known: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measurements with many values each: groups would be mixed up if their keys wrapped around."""
    monkeypatch.setattr(covering, "NODES", 300)
    monkeypatch.setattr(covering, "MANY_NODES", 10**9)
    counts, trees, pairs = people(3, (size,) * 8, n=90)
    if known == "records":
        counts = ClassCounts(counts.records, counts.columns, counts.codes, counts.categories)
    plain = labels(counts, trees, pairs if known == "pairs" else None, 3)
    monkeypatch.setattr(covering, "MANY_NODES", 1)
    assert labels(counts, trees, pairs if known == "pairs" else None, 3).tolist() == plain.tolist()
    assert (plain >= 0).any()


def test_a_stopped_cover_is_still_a_recoding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covering, "MANY_NODES", 1)
    monkeypatch.setattr(covering, "SLICE", 1)
    counts, trees, (classes, person) = people(3, (2, 9, 5))
    for after in (0, 3):
        asked = iter(range(10**6))
        signal = SimpleNamespace(is_set=lambda asked=asked, after=after: next(asked) >= after)
        found = local(counts, trees, [req.K(3)], method="cover", people=(classes, person), cancel=signal)
        assert found.stopped == "cancelled"
        for group in range(found.classes):
            assert len({int(p) for c, p in zip(classes, person, strict=True) if found.groups[c] == group}) >= 3


@pytest.mark.parametrize("kind", ["set", "range"])
def test_compiled_joins_are_the_plain_ones(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    joined = 0
    for seed in range(6):
        counts, trees, _ = people(seed, (16, 9, 12, 5))
        problem = build_problem(counts, trees)
        rng = np.random.default_rng(seed)
        n = 40
        label = np.concatenate([np.arange(n), rng.integers(0, n, problem.n_base - n)])
        blocks = rng.integers(0, 2, n) * (seed % 2)
        failing = np.flatnonzero(rng.random(n) < 0.7)
        records = np.bincount(label, weights=problem.measures[0, : problem.n_base]).astype(np.int64)
        price = cluster.prices(problem, None)
        found = []
        for compiled in (True, False):
            monkeypatch.setattr(cluster, "FEW", 0 if compiled else 2**62)
            kinds = (kind, "set", kind, "set")
            found.append(cluster._join(problem, label, blocks, failing, kinds, price, records, 7 if seed > 3 else n, 1).tolist())
        assert found[0] == found[1]
        joined += found[0] != label.tolist()
    assert joined == 6

"""Listed search, lazy search and every node looked at: the same least loss on thousands of tables full of ties and near-ties.

The tables are small and regular, so that many plans lose the same, or the same but for a weight of 1 in 1,000. Where a search
closes a node whose bound is merely near the best loss, one of them is proven wrong here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from shoal.model import requirement as req
from shoal.model.counts.classes import ClassCounts, SensitiveCounts
from shoal.model.hierarchy import Hierarchy
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.lazy_search import LazySearch
from shoal.search.full_domain.listed_search import ListedSearch
from shoal.search.full_domain.objective import Evaluation, Incumbent, Objective
from shoal.search.problem.checks import build_checks
from shoal.search.problem.control import Control
from shoal.search.problem.losses import CELL_LOSSES
from shoal.search.problem.problem import build_problem

TREES = (
    [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]],
    [["a", "abc", "*"], ["b", "abc", "*"], ["c", "abc", "*"], ["d", "d", "*"]],
    [["a", "*"], ["b", "*"], ["c", "*"], ["d", "*"]],
)
ASKED: tuple[tuple[req.Requirement, ...], ...] = (
    (req.K(2),),
    (req.K(3),),
    (req.K(2), req.DistinctDiversity("s", 2)),
    (req.AlphaK("s", 0.7),),
    (req.K(2), req.TCloseness("s", 0.4)),
    (req.AverageRisk(0.4),),
)
LIMITS = (0.0, 0.1, 0.25)
WEIGHTS = (1.0, 1.001, 0.999, 1.01)


class Remembered(Evaluator):
    """Evaluates each node once, for all searches of a table."""

    def __call__(self, node: tuple[int, ...], too_dear: Callable[[Evaluation], bool] | None = None) -> Evaluation:
        known = self.__dict__.setdefault("known", {})
        if node not in known:
            known[node] = super().__call__(node)
        return known[node]


def tied(seed: int) -> tuple[Evaluator, list[Objective]]:
    """A table of up to 24 classes of 1 to 3 records over 2 to 4 columns, weights that are equal or nearly so."""
    rng = np.random.default_rng(seed)
    columns = tuple("pqrt"[: int(rng.choice([2, 3, 3, 3, 4]))])
    rows = rng.integers(0, 4, (int(rng.integers(4, 13)), len(columns)))
    mirrored = rng.random() < 0.6
    if mirrored:  # what a plan does to the first column, its mirror image does to the last
        rows = np.concatenate([rows, rows[:, ::-1]])
    codes = np.unique(rows, axis=0).T.astype(np.int32)
    sizes = np.full(codes.shape[1], 1 + seed % 2) if mirrored else rng.integers(1, 4, codes.shape[1])
    values = pa.array(list("abcd"))
    first = (sizes + 1) // 2
    kind = rng.integers(0, 3, (2, len(sizes))).astype(np.int32)
    kind[1] = np.where(kind[1] == kind[0], (kind[0] + 1) % 3, kind[1])
    entries = [(i, kind[0, i], first[i]) for i in range(len(sizes))]
    entries += [(i, kind[1, i], sizes[i] - first[i]) for i in range(len(sizes)) if sizes[i] > first[i]]
    entries.sort()
    classes, ranks, numbers = (np.array(part) for part in zip(*entries, strict=True))
    sensitive = SensitiveCounts("s", classes, ranks.astype(np.int32), numbers, pa.array(["x", "y", "z"]))
    counts = ClassCounts(sizes, columns, list(codes), [values] * len(columns), {"s": sensitive})
    tree = int(rng.integers(0, 3))
    trees = {c: TREES[tree if mirrored or rng.random() < 0.7 else int(rng.integers(0, 3))] for c in columns}
    problem = build_problem(counts, {c: Hierarchy.from_rows(c, lines) for c, lines in trees.items()})
    checks = build_checks(counts, ASKED[seed % len(ASKED)], has_population=False)
    weights = {c: float(rng.choice(WEIGHTS)) for c in columns} if rng.random() < 0.5 else None
    losses = ("discernibility",) if seed % 5 == 4 else ("loss", "ncp", "precision", "average_class_size")
    objectives = [Objective(problem, name, weights if name in CELL_LOSSES else None) for name in losses]
    limit = math.floor(LIMITS[int(rng.integers(0, 3))] * counts.n_records)
    evaluator = Remembered(problem, checks, limit)
    evaluator.wants_sizes = objectives[0].needs_sizes
    return evaluator, objectives


def every_node(evaluator: Evaluator, objective: Objective) -> dict[tuple[int, ...], float]:
    """The total of each feasible node."""
    nodes = itertools.product(*(range(h + 1) for h in evaluator.problem.heights))
    seen = [(e, objective.total(e)) for e in map(evaluator, nodes)]
    return {e.node: total for e, total in seen if e.feasible}


def check(found: Incumbent, totals: dict[tuple[int, ...], float]) -> None:
    least = min(totals.values(), default=math.inf)
    near = 1e-9 * max(1.0, abs(least)) if totals else 0.0
    if found.stopped:
        assert found.lower <= least + near
        assert found.best is None or totals[found.best.node] == found.total
        return
    assert found.total == pytest.approx(least, rel=1e-12, abs=1e-12)
    assert found.lower == found.total
    assert (found.best is None) == (not totals)
    if found.best is not None:
        assert totals[found.best.node] == found.total


def stop_after(steps: int) -> Control:
    left = itertools.count(-steps)
    return Control(cancel=SimpleNamespace(is_set=lambda: next(left) >= 0))


def compare(seeds: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> tuple[int, int, int]:
    """Cases with a plan, with several plans that lose least, and with a plan at most 2 % (but not 0) worse.

    Each is searched twice, also without a first plan: bounds then close nodes while the best plan is still poor.
    """
    plans = ties = near = 0
    for seed in seeds:
        evaluator, objectives = tied(seed)
        for objective in objectives:
            totals = every_node(evaluator, objective)
            with monkeypatch.context() as patch:
                for greedy in (True, False):
                    for search, name in ((ListedSearch, "listed_search"), (LazySearch, "lazy_search")):
                        if not greedy:
                            patch.setattr(f"shoal.search.full_domain.{name}.first_plan", lambda *_, **__: None)
                        check(search(evaluator, objective).run(Control()), totals)
                        check(search(evaluator, objective).run(stop_after(seed % 9)), totals)
            least = min(totals.values(), default=math.inf)
            plans += bool(totals)
            ties += sum(abs(t - least) <= 1e-12 for t in totals.values()) > 1
            near += any(least + 1e-12 < t <= 1.02 * least for t in totals.values())
    return plans, ties, near


@pytest.mark.parametrize("part", range(2))
def test_all_three_agree_on_thousands_of_cases(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plans, ties, near = compare(range(part, 200, 2), monkeypatch)
    assert plans > 280
    assert ties > 60, "the tables must hold ties"
    assert near > 20, "the tables must hold near-ties"

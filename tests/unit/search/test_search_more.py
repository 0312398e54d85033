"""Frontier, allocation, stopping early, refusals, alternatives."""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from search_oracle import Table, random_table
from shoal.errors import HierarchyGapError, InfeasibleError, MissingColumnError, StoppedError, UsageError
from shoal.model import requirement as req
from shoal.model.counts.classes import ClassCounts
from shoal.model.hierarchy import Hierarchy
from shoal.search import allocation, frontier, lattice
from shoal.search.problem.column import joins_missing, missing_label
from shoal.steps import Constant, Cut, Keep, MapValues


def test_frontier_equals_single_searches_and_is_monotone() -> None:
    table = random_table(32_000)
    ks, shares = (2, 3, 5), (0.0, 0.1, 0.4)
    points = frontier(table.counts(), table.hierarchies(), [req.DistinctDiversity("s", 2)], ks=ks, suppress=shares)
    losses = {}
    for p in points:
        asked = [req.K(p.k), req.DistinctDiversity("s", 2)]
        try:
            alone = lattice(table.counts(), table.hierarchies(), asked, suppress=p.suppress)
        except InfeasibleError:
            assert p.loss is None
            continue
        assert p.loss == pytest.approx(alone.loss, abs=1e-12)
        losses[p.k, p.suppress] = p.loss
    assert losses
    for (k, s), (k2, s2) in itertools.product(losses, losses):
        if k <= k2 and s >= s2:
            assert losses[k, s] <= losses[k2, s2] + 1e-12


def test_a_stopped_frontier_claims_nothing_about_the_rest() -> None:
    table = random_table(41)
    event = threading.Event()
    event.set()
    points = frontier(table.counts(), table.hierarchies(), [req.AlphaK("s", 0.34)], ks=(2,), suppress=(0.5,), cancel=event)
    assert points == ()


def test_frontier_refuses_half_a_person() -> None:
    table = random_table(6)
    with pytest.raises(UsageError, match="whole number"):
        frontier(table.counts(), table.hierarchies(), ks=(2.5,), suppress=(0.1,))


class TestAllocation:
    def test_hipaa_20000(self) -> None:
        areas = pa.array([f"{i:05d}" for i in range(400)])
        tree = Hierarchy.from_rows("zip", [[f"{i:05d}", f"a{i // 10}", "*"] for i in range(400)])
        margins = {
            "sex": (pa.array(["f", "m"]), [1, 1]),
            "age": (pa.array(range(100)), [1] * 100),
            "zip": (areas, [1] * 400),
        }
        found = allocation(
            margins, population=300_000_000, k=20_000, beta=0.1, keep=("sex", "age"), bound="chernoff", hierarchies={"zip": tree}
        )
        assert found.budget.people_per_cell == pytest.approx(20304.789, abs=1.5)
        assert [c.allowed for c in found.columns] == [2, 100, 73]
        assert found.cells <= found.budget.cells
        assert isinstance(found.columns[0].step, Keep)
        assert isinstance(found.columns[2].step, MapValues)
        assert 40 <= found.columns[2].groups <= 73

    def test_example_7_split_and_cuts(self) -> None:
        rng = np.random.default_rng(1)
        ages = np.arange(21_900)
        margins = {
            "sex": (pa.array(["f", "m"]), [10, 10]),
            "birth": (pa.array(ages), rng.integers(1, 9, len(ages))),
            "zip": (pa.array(np.arange(30_000)), np.ones(30_000, dtype=np.int64)),
        }
        found = allocation(margins, population=300_000_000, k=100, beta=0.1)
        assert found.columns[0].allowed == 2
        assert found.cells <= found.budget.cells == 2_654_620
        for c in found.columns[1:]:
            assert abs(c.allowed - math.sqrt(2_654_620 / 2)) < 2
            assert isinstance(c.step, Cut)
            assert c.groups <= c.allowed
        assert 0.0 <= found.failure <= 1.0

    def test_nothing_to_do_when_the_budget_is_large(self) -> None:
        table = random_table(1)
        found = allocation(table.counts(), population=10**9, k=2)
        assert all(isinstance(s, Keep) for s in found.steps)

    def test_missing_values_take_a_place(self) -> None:
        values = pa.array([*range(50), None])
        found = allocation({"x": (values, [2] * 51)}, population=200, k=10, beta=0.1)
        share = found.columns[0]
        assert share.groups <= share.allowed < 51
        assert isinstance(share.step, Cut)
        assert len(share.step.labels) <= share.allowed - 1

    def test_text_without_a_hierarchy_becomes_a_constant(self) -> None:
        found = allocation({"x": (pa.array(list("abcdefgh")), [5] * 8)}, population=20, k=5)
        assert isinstance(found.steps[0], Constant)

    @pytest.mark.parametrize("counts", [[0, 0, 0], [1, -2, 3], [1, 2], [1.5, 2.0, 3.0], []])
    def test_counts_that_are_none_are_refused(self, counts: list) -> None:
        with pytest.raises(UsageError, match="counts of 'x' must be whole numbers"):
            allocation({"x": (pa.array([1, 2, 3]), counts)}, population=200, k=10)

    def test_values_that_do_not_occur_or_occur_twice(self) -> None:
        found = allocation({"x": ([1, 2, 3], [5, 0, 5])}, population=200, k=10)
        assert (found.columns[0].values, found.columns[0].smallest) == (2, 0.5)
        with pytest.raises(UsageError, match="'x' is listed twice"):
            allocation({"x": (pa.array([1, 1, 2]), [5, 5, 5])}, population=200, k=10)

    def test_refusals(self) -> None:
        with pytest.raises(UsageError, match="columns to keep have"):
            allocation({"x": (pa.array(range(100)), [1] * 100)}, population=100, k=10, keep=("x",))
        with pytest.raises(MissingColumnError):
            allocation({"x": (pa.array(range(9)), [1] * 9)}, population=100, k=10, keep=("y",))


class TestStopping:
    def big(self) -> tuple[ClassCounts, dict[str, Hierarchy]]:
        """A lattice of 5^16 nodes."""
        rng = np.random.default_rng(5)
        names = tuple(f"q{j}" for j in range(16))
        trees = {
            n: Hierarchy.from_rows(n, [[f"{i:02d}", f"a{i // 2}", f"b{i // 4}", f"c{i // 8}", "*"] for i in range(16)])
            for n in names
        }
        codes = np.unique(rng.integers(0, 16, (3000, 16)), axis=0).T
        categories = [pa.array([f"{i:02d}" for i in range(16)])] * 16
        return ClassCounts(np.ones(codes.shape[1], dtype=np.int64), names, list(codes), categories), trees

    def test_huge_lattice_gives_the_best_so_far_and_a_proven_gap(self) -> None:
        counts, trees = self.big()
        found = lattice(counts, trees, [req.K(5)], suppress=0.05, time_budget=1.5)
        assert found.n_nodes == 5**16
        assert not found.proven
        assert found.stopped == "time budget used up"
        assert 0.0 < found.gap <= found.loss
        assert found.suppressed <= 150

    def test_cancel_returns_the_plan_found_so_far(self) -> None:
        counts, trees = self.big()
        left = itertools.count(-40)
        signal = SimpleNamespace(is_set=lambda: next(left) >= 0)
        found = lattice(counts, trees, [req.K(5)], suppress=0.05, cancel=signal)
        assert found.stopped == "cancelled"
        assert 0.0 < found.gap <= found.loss
        assert found.nodes_checked < 400

    @pytest.mark.parametrize("loss", ["loss", "ncp", "entropy", "discernibility", "average_class_size"])
    @pytest.mark.parametrize("lazy", [False, True])
    def test_the_gap_is_proven_wherever_the_search_stops(self, loss: str, lazy: bool) -> None:
        """The optimum lies between the loss less the gap and the loss, after any number of steps."""
        stopped = 0
        for seed in range(6):
            table = random_table(63_000 + seed)
            asked = [req.K(3)] if seed % 2 else [req.K(2), req.AlphaK("s", 0.7)]
            arguments = (table.counts(), table.hierarchies(), asked)
            try:
                best = lattice(*arguments, suppress=0.3, loss=loss).loss
            except InfeasibleError:
                continue
            for steps in range(0, 12, 2):
                left = itertools.count(-steps)
                signal = SimpleNamespace(is_set=lambda left=left: next(left) >= 0)
                with contextlib.suppress(StoppedError):
                    found = lattice(*arguments, suppress=0.3, loss=loss, lazy=lazy, cancel=signal)
                    assert found.loss - found.gap <= best * (1 + 1e-12) + 1e-12
                    assert best <= found.loss * (1 + 1e-12) + 1e-12
                    assert found.proven == (found.stopped == "")
                    stopped += not found.proven
        assert stopped >= 5

    def test_cancelled_before_anything_was_found(self) -> None:
        table = random_table(41)
        event = threading.Event()
        event.set()
        asked = [req.K(2), req.AlphaK("s", 0.34)]
        with pytest.raises(StoppedError, match="cancelled"):
            lattice(table.counts(), table.hierarchies(), asked, suppress=0.5, cancel=event, lazy=False)

    def test_budget_must_be_positive(self) -> None:
        table = random_table(4)
        with pytest.raises(UsageError, match="time budget"):
            lattice(table.counts(), table.hierarchies(), [req.K(2)], time_budget=0)


class TestRefusals:
    def test_hierarchy_gap_names_column_and_counts_but_no_value(self) -> None:
        counts = ClassCounts((3, 2), ("zip",), [[0, 1]], [pa.array(["secret-1", "known"])])
        tree = Hierarchy.from_rows("zip", [["known", "*"]])
        with pytest.raises(HierarchyGapError) as caught:
            lattice(counts, {"zip": tree}, [req.K(2)])
        assert "secret" not in str(caught.value)
        assert "1 values of the data (3 records)" in str(caught.value)
        assert caught.value.values == ("secret-1",)

    def test_wrong_input(self) -> None:
        table = random_table(6)
        counts, trees = table.counts(), table.hierarchies()
        with pytest.raises(UsageError, match="no quasi-identifier"):
            lattice(ClassCounts((1, 2)), {}, [req.K(2)])
        with pytest.raises(UsageError, match="nothing is required"):
            lattice(counts, trees, [])
        with pytest.raises(UsageError, match="no hierarchy is given for: c0"):
            lattice(counts, {c: t for c, t in trees.items() if c != "c0"}, [req.K(2)])
        with pytest.raises(MissingColumnError, match="sensitive column 'disease'"):
            lattice(counts, trees, [req.DistinctDiversity("disease", 2)])
        with pytest.raises(UsageError, match="is a quasi-identifier"):
            lattice(counts, trees, [req.DistinctDiversity("c0", 2)])
        with pytest.raises(UsageError, match="between 0 and 1"):
            lattice(counts, trees, [req.K(2)], suppress=2)
        with pytest.raises(UsageError, match="loss 'beauty'"):
            lattice(counts, trees, [req.K(2)], loss="beauty")
        with pytest.raises(UsageError, match="weight is given for 'nobody'"):
            lattice(counts, trees, [req.K(2)], weights={"nobody": 1})
        with pytest.raises(UsageError, match="levels 0 to 9 are asked"):
            lattice(counts, trees, [req.K(2)], bounds={"c0": (0, 9)})
        with pytest.raises(UsageError, match=r"levels 0\.5 to"):
            lattice(counts, trees, [req.K(2)], bounds={"c0": (0.5, None)})  # type: ignore[dict-item]
        with pytest.raises(UsageError, match="bounded for 'nobody', which is not a quasi-identifier"):
            lattice(counts, trees, [req.K(2)], bounds={"nobody": (0, 1)})
        with pytest.raises(UsageError, match="number of threads"):
            lattice(counts, trees, [req.K(2)], threads=0)

    def test_contradictions(self) -> None:
        table = random_table(6)
        with pytest.raises(InfeasibleError, match="members in all"):
            lattice(table.counts(), table.hierarchies(), [req.K(1000)])
        with pytest.raises(InfeasibleError, match="99 are asked for in every class"):
            lattice(table.counts(), table.hierarchies(), [req.DistinctDiversity("s", 99)])

    @pytest.mark.parametrize("k", [1, 0, -3, 2.5, True])
    def test_k_must_be_at_least_two(self, k: object) -> None:
        with pytest.raises(UsageError, match="k must be a whole number of at least 2"):
            req.K(k)  # type: ignore[arg-type]

    def test_alternatives_are_possible(self) -> None:
        rows = [("a", "x")] * 3 + [("b", "x")] * 3 + [("c", "y")]
        trees = {"p": [["a", "ab"], ["b", "ab"], ["c", "c"]], "q": [["x", "*"], ["y", "*"]]}
        table = Table(("p", "q"), rows, ["s"] * 7, trees)
        with pytest.raises(InfeasibleError) as caught:
            lattice(table.counts(), table.hierarchies(), [req.K(4)], suppress=0.0)
        error = caught.value
        assert error.blocking == ("p",)
        changes = {a.change: a for a in error.alternatives}
        more = changes["suppress"]
        assert lattice(table.counts(), table.hierarchies(), [req.K(4)], suppress=more.suppress).suppressed == 1
        assert "k" not in changes, "no k of at least 2 is possible with the lone record"
        assert changes["drop column"].column == "p"

    def test_smaller_k_is_offered_and_possible(self) -> None:
        rows = [("a",)] * 3 + [("b",)] * 5
        table = Table(("p",), rows, ["s"] * 8, {"p": [["a", "a"], ["b", "b"]]})
        with pytest.raises(InfeasibleError) as caught:
            lattice(table.counts(), table.hierarchies(), [req.K(5)], suppress=0.1)
        offered = next(a for a in caught.value.alternatives if a.change == "k")
        assert offered.k == 3
        assert lattice(table.counts(), table.hierarchies(), [req.K(3)], suppress=0.1).suppressed == 0


def test_two_threads_give_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.search.full_domain.evaluator.MANY", 0)
    monkeypatch.setattr("shoal.search.kernels.group_cells.SHARED", 2)
    done = 0
    for seed in range(12):
        table = random_table(61_000 + seed)
        for share, lazy in itertools.product((0.0, 0.1, 0.3), (False, True)):
            both = []
            for threads in (1, 2):
                with contextlib.suppress(InfeasibleError):
                    both.append(
                        lattice(table.counts(), table.hierarchies(), [req.K(3)], suppress=share, threads=threads, lazy=lazy)
                    )
            if both:
                one, two = both
                assert (two.levels, two.loss, two.nodes_checked) == (one.levels, one.loss, one.nodes_checked)
                assert two.groups.tolist() == one.groups.tolist()
                assert two.kept.tolist() == one.kept.tolist()
                done += 1
    assert done >= 20


def test_missing_values_join_only_the_star() -> None:
    h = Hierarchy.from_rows("a", [["x", "xy", "*"], ["y", "xy", "*"]])
    assert [joins_missing(h, level) for level in range(3)] == [False, False, True]
    assert [missing_label(h, level) for level in range(3)] == [None, None, "*"]
    europe = Hierarchy.from_rows("a", [["nl", "Europe"], ["de", "Europe"]])
    assert missing_label(europe, 1) is None


def test_bounds_are_kept() -> None:
    table = random_table(8)
    found = lattice(table.counts(), table.hierarchies(), [req.K(2)], suppress=1.0, bounds={"c0": (1, None)})
    assert found.levels["c0"] >= 1

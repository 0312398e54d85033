"""The objective over nodes: the loss of an evaluated node, and bounds for all others.

A bound below a node g: every specialisation loses at least the records that are ``gone`` at g, and they are charged in full;
of those that it loses somewhere in a class of g, or anywhere, each adds at least as much as the cheapest there. The others cost
at least what they cost unsuppressed at its own levels. For class losses: classes only grow upward, so the
value of g without suppression bounds every generalization, and the records gone at g bound every specialisation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.model.counts.classes import BoolArray as Flags
from shoal.model.counts.classes import FloatArray, IntArray
from shoal.search.kernels.entries import charges
from shoal.search.problem.losses import CELL_LOSSES, CellLoss, cell_loss, check_loss_name
from shoal.search.problem.problem import Node, Problem


@dataclass(frozen=True, eq=False)
class LossTables:
    """``extra[offsets[j] + l · codes + code]``: what losing a record adds; ``free[j, l]``: the charge where none is lost.

    The contribution of a charge is weight · share or weight · log(1 + share), share = (charge − low) / span.
    """

    extra: FloatArray
    offsets: npt.NDArray[np.int64]
    free: FloatArray
    low: FloatArray
    span: FloatArray
    weights: FloatArray
    geometric: bool


class Objective:
    """A total to be made small; :meth:`value` turns a total into the loss that is reported."""

    def __init__(self, problem: Problem, name: str, weights: Mapping[str, float] | None = None) -> None:
        check_loss_name(name)
        self.problem = problem
        self.name = name
        self.cells: CellLoss | None = cell_loss(problem, name, weights) if name in CELL_LOSSES else None
        sizes = [len(c.leaves) for c in problem.columns]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.width = max(problem.heights) + 1
        if self.cells is not None:
            self._pack(self.cells)

    def _pack(self, cells: CellLoss) -> None:
        """The tables of the loss in the layout of the kernel."""
        flat = [e.ravel() for e in cells.extra]
        self._extra = np.concatenate(flat)
        self._offsets = np.concatenate([[0], np.cumsum([len(f) for f in flat])]).astype(np.int64)
        self._free = np.zeros((len(flat), self.width))
        for j, charged in enumerate(cells.free):
            self._free[j, : len(charged)] = charged
        lossy = cells.span > 0.0
        self._low, self._span = cells.low, np.where(lossy, cells.span, 1.0)
        self._weights = np.where(lossy, cells.weights, 0.0)
        self._leasts: dict[tuple[int, int], tuple[FloatArray, FloatArray]] = {}

    def of_columns(self, problem: Problem, columns: Sequence[int]) -> Objective:
        """The same cell loss over another problem of the same columns; only those given count, as much as they do here."""
        other = Objective(problem, self.name)
        assert self.cells is not None
        assert other.cells is not None
        weights = np.zeros(len(problem.columns))
        weights[list(columns)] = self.cells.weights[list(columns)]
        other.cells = replace(other.cells, weights=weights)
        other._pack(other.cells)
        return other

    def tables(self) -> LossTables:
        """A cell loss as the kernels read it."""
        assert self.cells is not None
        return LossTables(
            self._extra, self._offsets, self._free, self._low, self._span, self._weights, geometric=self.cells.geometric
        )

    @property
    def needs_sizes(self) -> bool:
        """Whether evaluations must carry the sizes of their classes."""
        return self.name == "discernibility"

    def value(self, total: float) -> float:
        return self.cells.value(total) if self.cells is not None else float(total)

    def total(self, e: Evaluation) -> float:
        """The total at an evaluated node."""
        if self.cells is not None:
            terms = self._terms(e, e.lost, np.asarray(e.node, dtype=np.int64), below=False)
            return float(sum(terms[j, level] for j, level in enumerate(e.node)))
        if self.name == "discernibility":
            assert e.sizes is not None
            return e.sizes.kept_squares + float(e.suppressed) * self.problem.n_records
        return float(self.problem.n_records) / e.kept_groups if e.kept_groups else float("inf")

    def free_terms(self) -> FloatArray:
        """Contribution of each column at each level, nothing suppressed; zeros for class losses."""
        out = np.zeros((len(self.problem.columns), self.width))
        if self.cells is not None:
            for j, charged in enumerate(self.cells.free):
                out[j, : len(charged)] = self.cells.term(j, charged)
        return out

    def step_terms(self) -> FloatArray:
        """What each level of each column costs by itself, to choose a path by: for class losses that of ``ncp``."""
        return self.free_terms() if self.cells is not None else Objective(self.problem, "ncp").free_terms()

    def terms_below(self, e: Evaluation) -> FloatArray:
        """Lower bounds for specialisations of e.node: contribution of each column at each level up to the node's."""
        return self._terms(e, e.gone, e.floor, below=True)

    def both(self, e: Evaluation) -> tuple[float, FloatArray]:
        """Total of the node and terms below it, in one pass where the same records are lost."""
        terms = self.terms_below(e)
        if self.cells is not None and e.lost is e.gone:
            return float(sum(terms[j, level] for j, level in enumerate(e.node))), terms
        return self.total(e), terms

    def more_below(self, e: Evaluation) -> float:
        """Class losses: what every specialisation of e.node costs beyond its value without suppression."""
        return e.sizes.gone_charge if e.sizes is not None else 0.0

    def total_above(self, e: Evaluation) -> float:
        """Class losses: lower bound for e.node and its generalizations, nothing suppressed."""
        if e.sizes is not None:
            return e.sizes.squares
        return float(self.problem.n_records) / e.n_groups

    def _add_least(self, e: Evaluation, out: FloatArray) -> None:
        """Add what the records cost at least that are lost somewhere in their class, or anywhere."""
        for j, level in enumerate(e.node):
            least, anywhere = self._least(j, level)
            if e.some is not None:
                out[j, : level + 1] += least @ e.some[self._starts[j] : self._starts[j + 1]]
            out[j, : level + 1] += e.more * anywhere

    def _least(self, j: int, level: int) -> tuple[FloatArray, FloatArray]:
        """At each level up to this one: what losing a record adds at least, in the group of each code here, and in any."""
        known_least = self._leasts.get((j, level))
        if known_least is None:
            assert self.cells is not None
            column = self.problem.columns[j]
            extra = np.where(column.records > 0, self.cells.extra[j][: level + 1], np.inf)
            of, anywhere = column.groups[level], extra.min(axis=1)
            least = np.full((int(of.max()) + 1, level + 1), np.inf)
            np.minimum.at(least, of, extra.T)
            known_least = np.where(np.isfinite(least), least, 0.0)[of].T, anywhere
            self._leasts[j, level] = known_least
        return known_least

    def _terms(self, e: Evaluation, gone: npt.NDArray[np.int64], floor: npt.NDArray[np.int64], *, below: bool) -> FloatArray:
        out = np.zeros((len(e.node), self.width))
        if self.cells is not None:
            charges(gone, self._starts, self._extra, self._offsets, self._free, np.array(e.node, dtype=np.int64), floor, out)
            if below and (e.more or e.some is not None):
                self._add_least(e, out)
            out -= self._low[:, None]
            out /= self._span[:, None]
            np.maximum(out, 0.0, out=out)
            if self.cells.geometric:
                np.log1p(out, out=out)
            out *= self._weights[:, None]
        return out


def node_strides(heights: Sequence[int]) -> npt.NDArray[np.int64]:
    """Strides of the mixed-radix number of a node."""
    out = np.ones(len(heights), dtype=np.int64)
    for j in range(len(heights) - 1, 0, -1):
        out[j - 1] = out[j] * (heights[j] + 1)
    return out


@dataclass(eq=False, slots=True)
class Evaluation:
    """What a node does to the table.

    ``suppressed`` records are lost; ``lower`` bounds the loss of every specialisation from below; ``gone`` adds up, by
    column and code, the records that every specialisation loses too (exact for levels at or above ``floor``); ``some`` the
    records that it loses of classes of which a part may stay, at any code of each class; ``more`` are those it loses beyond
    them, of any class. They are left empty where ``lower`` is above the limit and nothing below can be a plan. Where the
    node is ``too_dear`` without the table's own requirements, these were not looked at: ``suppressed`` and ``lost`` lack
    what they would cost.
    """

    node: Node
    feasible: bool
    n_groups: int  # published groups before suppression
    kept_groups: int
    suppressed: int
    lower: int
    gone: npt.NDArray[np.int64]
    lost: npt.NDArray[np.int64]
    floor: npt.NDArray[np.int64]
    sizes: Sizes | None  # only where the loss asks for it
    too_dear: bool = False
    some: npt.NDArray[np.int64] | None = None
    more: int = 0

    @property
    def binds(self) -> bool:
        """Whether every specialisation is known to lose some record."""
        return bool(self.more or self.some is not None or self.gone.any())


@dataclass(frozen=True)
class Sizes:
    """Sums over classes for class losses: Σ n_c² of all and of the kept, n_c being records, and what every specialisation is
    charged for the r_c records that it loses of each, Σ r_c (n − n_c)."""

    squares: float
    kept_squares: float
    gone_charge: float


def size_sums(records: IntArray, surely: IntArray, lost: Flags) -> Sizes:
    """``surely`` are the records of each class that every specialisation loses."""
    count = records.astype(np.float64)
    square = count**2
    return Sizes(
        squares=float(square.sum()),
        kept_squares=float(square[~lost].sum()),
        gone_charge=float((surely * (count.sum() - count)).sum()),
    )


EPSILON = 1e-12
"""Totals closer than this are equal."""


class InterruptedSearchError(KeyboardInterrupt):
    """The search was interrupted; ``levels`` and ``value`` are those of the best plan so far."""

    def __init__(self, levels: Mapping[str, int], value: float, loss_name: str) -> None:
        super().__init__()
        self.levels, self.value, self.loss_name = levels, value, loss_name


@dataclass
class Incumbent:
    """The best evaluation so far, its total, and the lowest total that is still possible.

    ``groups`` may hold the group of each base class at the best node, and which groups are published.
    """

    best: Evaluation | None = None
    total: float = float("inf")
    lower: float = float("-inf")
    stopped: str = ""
    groups: tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]] | None = None

    def offer(self, e: Evaluation, total: float) -> None:
        """Keep the evaluation where it is a plan and better than the best so far."""
        if e.feasible and self.would_better(total):
            self.best, self.total = e, total

    def would_better(self, total: float) -> bool:
        """Whether a plan with this total, or a bound on totals, is below the best by more than rounding."""
        return total < self.total - EPSILON

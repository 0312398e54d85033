r"""What leaves the building: a handful of rounded numbers that one person cannot move.

Of cell counts :math:`c` with :math:`n = \sum c` and :math:`p = c/n`:

* ``kappa``: :math:`\ln N - H`, the Kullback–Leibler distance to the uniform on the same N cells, in nats;
* ``h2 … h6``: Rényi entropies :math:`H_r = -\ln(\sum p^r)/(r-1)` in nats (power sums follow: :math:`S_r = e^{-(r-1)H_r}`);
* ``hmin``: :math:`-\ln \max p`;
* ``unique[k]``: expected share of unique people :math:`\sum p (1-p)^{k-1}` in a group of k drawn independently.

Each is rounded to a step of at least 0.01 and at least twice the largest change that adding or removing any one person can
make. A later version keeps the published value while the new one lies within half a step plus that change, so that one
person more or less changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, UsageError

LARGER = "The group may be larger than the population, whose size is given with two digits."
GROUP_SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
MIN_POPULATION = 1000
DELTA = 1e-9
"""With noise: the chance with which the guarantee of ε may fail."""
LEVEL = 0.99
"""With noise: the chance with which all half-widths of a record hold together."""
STATISTICS = ("kappa", "h2", "h3", "h4", "h5", "h6", "hmin", *(f"unique_{k}" for k in GROUP_SIZES))

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rounded:
    """A published number; the truth lies within one ``step`` of it.

    Rounded, a first version is right to half a step and a later one, whose numbers stick, to a whole one; with noise the step
    is the half-width that holds for all numbers of the record together (:data:`LEVEL`).
    """

    value: float
    step: float

    @property
    def low(self) -> float:
        return self.value - self.step

    @property
    def high(self) -> float:
        return self.value + self.step


@dataclass(frozen=True)
class Summary:
    """Rounded statistics of one distribution: what a record publishes; ``noise`` is the ε that they were drawn with, if any."""

    size: int
    cells: int
    statistics: Mapping[str, Rounded]
    noise: float | None = None

    @property
    def level(self) -> float:
        """With what chance all of its numbers lie within their steps."""
        return 1.0 if self.noise is None else LEVEL

    @property
    def slack(self) -> int:
        """How far the exact number of people can lie from the published size."""
        return size_slack(self.size) + (0 if self.noise is None else size_reach(self.noise))

    @property
    def fewest(self) -> int:
        """The smallest population that this rounded size can stand for."""
        return max(MIN_POPULATION, self.size - self.slack)

    def power_sums(self, *, up: bool) -> list[float]:
        """S_2 … S_6 at one end of what the record leaves open: S_2 and every second one low, the others high, or reversed."""
        ends = (("high", "low") if up else ("low", "high")) * 3
        return [math.exp(-(r - 1) * getattr(self.statistics[f"h{r}"], end)) for r, end in zip(range(2, 7), ends, strict=False)]

    def power_sum(self, r: int) -> float:
        """S_r = exp(−(r − 1) H_r), from the rounded entropy."""
        return math.exp(-(r - 1) * self.statistics[f"h{r}"].value)


def summarize(counts: npt.ArrayLike | Sizes, cells: int | None = None, *, previous: Summary | None = None) -> Summary:
    """Rounded statistics of cell counts.

    Parameters
    ----------
    counts : array of int
        People in each occupied cell (empty cells may be left out).
    cells : int, optional
        Number of possible cells N. Without it the occupied cells are taken, rounded up to two digits.
    previous : Summary, optional
        The version published before: numbers that one person could have moved are kept.

    Examples
    --------
    >>> s = summarize([600] * 90 + [10] * 5, cells=95)
    >>> s.size, s.cells, s.statistics["kappa"].value
    (54000, 95, 0.05)
    """
    sizes = Sizes.of(counts)
    if sizes.people < MIN_POPULATION:
        raise too_few()
    sizes.check_cells(cells)
    raw, moves = statistics(sizes), largest_moves(sizes)
    total = cells if cells is not None else _sticky_up(sizes.occupied, previous.cells if previous else None)
    raw["kappa"] += math.log(total)
    size = _sticky_size(sizes.people, previous.size if previous else None)
    old = previous.statistics if previous is not None and previous.cells == total and previous.noise is None else {}
    return Summary(size, total, {k: _round(raw[k], moves[k], old.get(k)) for k in STATISTICS})


def too_few() -> DataError:
    """Why a small population is not published."""
    what = f"the population has fewer than {MIN_POPULATION:,} people, so its summary could tell of one of them."
    return DataError(what, hint="Publish for a larger population: the parent area, or several years together.")


@dataclass(frozen=True)
class Sizes:
    """The different sizes of occupied cells, smallest first, and how many cells have each: all that the statistics need."""

    values: IntArray
    copies: IntArray

    @classmethod
    def of(cls, counts: npt.ArrayLike | Sizes) -> Sizes:
        """Count once over the cells. Refuse anything that is not a count of people.

        >>> Sizes.of([3, 1, 0, 3])
        Sizes(values=array([1, 3]), copies=array([1, 2]))
        """
        if isinstance(counts, Sizes):
            return counts
        array = np.asarray(counts)
        if array.ndim != 1 or array.size == 0 or not np.issubdtype(array.dtype, np.integer) or int(array.min()) < 0:
            raise UsageError("cell counts must be whole numbers of at least 0.", hint="Pass the number of people in each cell.")
        largest = int(array.max())
        if largest == 0:
            raise DataError("the population is empty.", hint="Check the table and its filters.")
        if largest > 2**53 // array.size:
            raise UsageError("cell counts must be whole numbers of at least 0.", hint="There are not so many people.")
        if largest <= 4 * array.size:
            copies = np.bincount(array.astype(np.int64, copy=False))
            copies[0] = 0
            values = np.flatnonzero(copies)
            return cls(values, copies[values])
        values, copies = np.unique(array[array > 0].astype(np.int64), return_counts=True)
        return cls(values, copies)

    @property
    def people(self) -> int:
        return int((self.values * self.copies).sum())

    @property
    def occupied(self) -> int:
        return int(self.copies.sum())

    def check_cells(self, cells: int | None) -> None:
        """Refuse fewer possible cells than are occupied."""
        if cells is not None and cells < self.occupied:
            hint = "Correct the number of cells."
            raise UsageError(f"{self.occupied:,} cells are occupied, but only {cells:,} were declared possible.", hint=hint)


def statistics(counts: npt.ArrayLike | Sizes) -> dict[str, float]:
    """The unrounded statistics; ``kappa`` without its constant ln N (that is, −H)."""
    sizes = Sizes.of(counts)
    return {k: float(v[0]) for k, v in _evaluate(sizes, np.zeros((1, 2), dtype=np.int64), sizes.people).items()}


def largest_moves(counts: npt.ArrayLike | Sizes) -> dict[str, float]:
    """For each statistic the largest change that adding or removing any one person can make.

    A cell of size u stands for all cells of that size; adding may also open a new cell. Exact: every distinct case is evaluated.
    """
    sizes = Sizes.of(counts)
    values, n, here = sizes.values, sizes.people, statistics(sizes)
    added = np.stack([np.concatenate([[0], values]), np.concatenate([[0], values]) + 1], axis=1)
    removed = np.stack([values, values - 1], axis=1)
    more, less = _evaluate(sizes, added, n + 1), _evaluate(sizes, removed, n - 1)
    return {k: float(max(np.abs(more[k] - here[k]).max(), np.abs(less[k] - here[k]).max())) for k in STATISTICS}


def _evaluate(sizes: Sizes, moves: IntArray, n: int) -> dict[str, FloatArray]:
    """Statistics after each move (one cell of size ``moves[i, 0]`` becomes ``moves[i, 1]``), in a population of ``n``."""
    values, copies = sizes.values, sizes.copies

    def total(of: npt.NDArray[np.float64], terms: npt.NDArray[np.float64]) -> FloatArray:
        return float((copies * of).sum()) - terms[:, 0] + terms[:, 1]

    p, moved = values / n, moves / n
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0)), 0.0) for x in (p, moved)]
        out = {"kappa": total(logs[0], logs[1])}
        for r in range(2, 7):
            out[f"h{r}"] = -np.log(total(p**r, moved**r)) / (r - 1)
        for k in GROUP_SIZES:
            out[f"unique_{k}"] = total(*(alone(x, k) for x in (p, moved)))
    out["hmin"] = -np.log(_largest(values, copies, moves) / n)
    return out


def alone(p: FloatArray, k: int) -> FloatArray:
    """p (1 − p)^(k − 1): the share of a group of k that is alone in a cell of probability p."""
    return np.where(p > 0, p * np.exp((k - 1) * np.log1p(-np.minimum(p, 1 - 1e-16))), 0.0)


def _largest(values: IntArray, copies: IntArray, moves: IntArray) -> FloatArray:
    """Largest cell after each move."""
    top, second = int(values[-1]), int(values[-2]) if len(values) > 1 else 0
    rest = np.where((moves[:, 0] == top) & (copies[-1] == 1), second, top)
    return np.maximum(rest, moves[:, 1]).astype(np.float64)


def _round(raw: float, move: float, old: Rounded | None) -> Rounded:
    if old is not None and abs(raw - old.value) <= min(old.step / 2 + move, old.step) + 1e-12:
        return old
    step = next((s for s in STEPS if s >= 2 * move), None)
    if step is None:
        raise DataError("one person moves a summary by more than a nat.", hint="Publish a coarser coding or a larger population.")
    return Rounded(round(round(raw / step) * step, 10), step)


def size_slack(size: int) -> int:
    """How far the exact number of people can lie from a published size: half a unit of its second digit, and one person.

    >>> size_slack(1200), size_slack(54_000)
    (51, 501)
    """
    return int(10 ** max(0, len(str(size)) - 2)) // 2 + 1


def size_reach(epsilon: float) -> int:
    """How far calibrated noise of ε moves a size at most: it is drawn with a tenth of ε and cut where it would be a rarity of δ.

    >>> size_reach(1.0)
    208
    """
    return math.ceil(math.log(1 / DELTA) / (epsilon / 10))


def _sticky_size(n: int, old: int | None) -> int:
    """Two significant digits; the old size while the new one is within the same step and one person."""
    if old is not None and abs(n - old) <= size_slack(old):
        return old
    step = 10 ** max(0, len(str(n)) - 2)
    return int(round(n / step) * step)


def _sticky_up(occupied: int, old: int | None) -> int:
    """Occupied cells and room for one more, rounded up to two digits; the old number while it holds them and is not far off."""
    step = 10 ** max(0, len(str(occupied)) - 2)
    new = -(-(occupied + 1) // step) * step
    if old is not None and occupied <= old <= new + 2 * step:
        return old
    return int(new)

r"""Probabilistic anonymity: how many values each column may keep, and the steps that bring it there, column by column.

Takes    the values of each quasi-identifier with their counts (one pass per column), the size of the population
Returns  Allocation: the budget of cells, the number of values per column, one plan step per column
Keeps    Π d_j ≤ D′, the number of equally likely cells that each hold at least k of the population with chance 1 − β
Cost     linear in rows and columns: only one-column counts are needed, for any number of columns
Source   source 001; METHODS §9–14. Budget and split live in predict/allocation, cuts in transform/
Limits   the promise is about equally likely cells. Real cells are not: the smallest decides, and ``smallest_cell`` names its
         chance under independence. Requirement ``population_k`` holds for any cells; a release by this method can have it too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shoal.errors import UsageError, missing_column
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import ClassCounts, IntArray
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Step
from shoal.prediction.attributes.allocation import Budget, cell_budget, cell_failure, integer_split
from shoal.steps import Constant, Keep, evaluate

Margins = Mapping[str, tuple[Any, Any]]
Bound = Literal["exact", "chernoff", "poisson"]


@dataclass(frozen=True)
class ColumnShare:
    """One column: values it has (a missing one included), values it may keep, its step, and its rarest group's share."""

    column: str
    values: int
    allowed: int
    step: Step
    groups: int
    smallest: float


@dataclass(frozen=True)
class Allocation:
    """The answer: one step per column, and what the promise is worth.

    ``failure`` is the chance that the cell of each column's rarest group, columns taken as independent, holds fewer than k.
    """

    budget: Budget
    columns: tuple[ColumnShare, ...]
    population: int
    k: int
    beta: float

    @property
    def cells(self) -> int:
        """Combinations of published values."""
        return math.prod(c.groups for c in self.columns)

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(c.step for c in self.columns)

    @property
    def smallest_cell(self) -> float:
        """Chance of the rarest combination if columns were independent."""
        return math.prod(c.smallest for c in self.columns)

    @property
    def failure(self) -> float:
        return float(cell_failure(self.population, self.k, self.smallest_cell))


def allocation(
    margins: Margins | ClassCounts,
    *,
    population: int,
    k: int,
    beta: float = 0.1,
    weights: Mapping[str, float] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    keep: Sequence[str] = (),
    bound: Bound = "exact",
    all_cells: bool = False,
) -> Allocation:
    """Values per column for (1−β, k)-anonymity, and the cuts.

    Parameters
    ----------
    margins : mapping of column to (values, counts), or ClassCounts
        Distinct values (a pyarrow array, null for missing) and the records with each.
    population : int
        People that the table could be about.
    weights : mapping of column to float
        Importance; a column of weight 2 gets about twice the values.
    hierarchies : mapping of column to Hierarchy
        Text columns are cut along their hierarchy; numbers into quantiles. A text column without one is published as ``*`` if
        it may not keep its values.
    keep : columns that keep all their values; the others share what is left of the budget
    bound, all_cells
        As in :func:`shoal.prediction.attributes.allocation.cell_budget`.

    Examples
    --------
    A safe harbour for 300 million people: at least 20,000 in each combination of sex, year of age and area.

    >>> import pyarrow as pa
    >>> years, areas = pa.array(range(100)), pa.array(range(1000))
    >>> margins = {"sex": (pa.array(["f", "m"]), [1, 1]), "age": (years, [1] * 100), "area": (areas, [1] * 1000)}
    >>> found = allocation(margins, population=300_000_000, k=20_000, keep=("sex", "age"), bound="chernoff")
    >>> found.budget.cells, [c.allowed for c in found.columns]
    (14774, [2, 100, 73])
    """
    table = _margins(margins)
    for name in (*keep, *(weights or {})):
        if name not in table:
            raise missing_column(name, tuple(table), table="margins", what="quasi-identifier")
    budget = cell_budget(population, k, beta, bound=bound, all_cells=all_cells)
    caps = {name: len(counts) for name, (_, counts) in table.items()}
    allowed = _split(caps, budget.cells, weights or {}, tuple(keep))
    columns = tuple(_column(n, *table[n], allowed[n], (hierarchies or {}).get(n)) for n in table)
    return Allocation(budget, columns, population, k, beta)


def _margins(margins: Margins | ClassCounts) -> dict[str, tuple[Any, IntArray]]:
    """Values (null last where it occurs) and counts of each column."""
    import pyarrow as pa

    if isinstance(margins, ClassCounts):
        records = margins.records_by_class
        out: dict[str, tuple[Any, IntArray]] = {}
        for name, values, codes in zip(margins.columns, margins.categories, margins.codes, strict=True):
            counts = np.bincount(codes + 1, weights=records, minlength=len(values) + 1).astype(np.int64)
            seen = np.flatnonzero(counts[1:])
            gone = int(counts[0])
            taken = values.take(pa.array(seen))
            if gone:
                taken = pa.concat_arrays([taken, pa.nulls(1, taken.type)])
            out[name] = (taken, np.append(counts[1:][seen], [gone] if gone else []).astype(np.int64))
        return out
    return {name: _margin(name, values, counts) for name, (values, counts) in margins.items()}


def _margin(name: str, values: Any, counts: Any) -> tuple[Any, IntArray]:
    """The values of one column that occur, and their counts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    listed = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    number = np.asarray(counts)
    whole = number.ndim == 1 and len(number) == len(listed) > 0 and np.issubdtype(number.dtype, np.integer)
    if not whole or int(number.min()) < 0 or not number.any():
        what = f"the counts of '{name}' must be whole numbers of at least 0, one for each value and not all 0."
        raise UsageError(what, hint="Pass the distinct values of the column and the records with each.", column=name)
    if pc.count_distinct(listed, mode="all").as_py() != len(listed):
        raise UsageError(f"a value of '{name}' is listed twice.", hint="Pass each value once, with all its records.", column=name)
    seen = np.flatnonzero(number)
    return listed.take(pa.array(seen)), number[seen].astype(np.int64)


def _split(caps: Mapping[str, int], cells: int, weights: Mapping[str, float], keep: tuple[str, ...]) -> dict[str, int]:
    if not caps:
        raise UsageError("no quasi-identifier is given to allocate values to.", hint="Give at least one column.")
    kept = math.prod(caps[n] for n in keep)
    left = cells // kept
    if left < 1:
        hint = "Keep fewer columns, or lower k."
        raise UsageError(f"the columns to keep have {kept} combinations, more than the {cells} cells allowed.", hint=hint)
    rest = [n for n in caps if n not in keep]
    shares = integer_split([float(weights.get(n, 1.0)) for n in rest], [caps[n] for n in rest], left) if rest else []
    return {**{n: caps[n] for n in keep}, **dict(zip(rest, shares, strict=True))}


def _column(name: str, values: Any, counts: IntArray, allowed: int, hierarchy: Hierarchy | None) -> ColumnShare:
    """The step that leaves at most ``allowed`` values, a missing one included."""
    total = int(counts.sum())
    if len(counts) <= allowed:
        return ColumnShare(name, len(counts), allowed, Keep(name), len(counts), float(counts.min()) / total)
    present = np.array([v is not None for v in values.to_pylist()])
    gone = int(counts[~present].sum())
    room = allowed - (1 if gone else 0)
    real = values.filter(present)
    step, sizes = _cut(name, real, counts[present], room, hierarchy)
    if isinstance(step, Constant):
        return ColumnShare(name, len(counts), allowed, step, 1, 1.0)
    if gone:
        sizes = np.append(sizes, gone)
    return ColumnShare(name, len(counts), allowed, step, len(sizes), float(sizes.min()) / total)


def _cut(name: str, values: Any, counts: IntArray, room: int, hierarchy: Hierarchy | None) -> tuple[Step, IntArray]:
    import pyarrow.types as kinds

    from shoal.techniques.coarsen.generalize import best_cut
    from shoal.techniques.group.quantile import quantile_transform

    if room < 2:
        return Constant(name), np.array([int(counts.sum())])
    texts = canonical_text(values).to_pylist()
    if hierarchy is not None:
        at = dict(zip(texts, counts.tolist(), strict=True))
        step = best_cut(hierarchy, room, [at.get(leaf, 0) for leaf in hierarchy.leaves]).step()
    elif kinds.is_integer(values.type) or kinds.is_floating(values.type) or kinds.is_decimal(values.type):
        least = -(-int(counts.sum()) // room)
        step = quantile_transform(name, values, counts, k=least, publish="interval")
    else:
        return Constant(name), np.array([int(counts.sum())])
    if isinstance(step, Keep):
        return step, counts
    groups = evaluate(step, texts).index
    sizes = np.bincount(np.unique(groups, return_inverse=True)[1], weights=counts).astype(np.int64)
    return step, sizes

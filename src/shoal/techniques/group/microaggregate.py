"""Multivariate microaggregation: near records form groups of at least k and are published as their mean.

Takes    numeric columns, k ≥ 2; columns are standardised first (mean 0, deviation 1), so that units do not matter
Returns  a whole-column step; every published combination of these columns is shared by at least k records
Keeps    MDAV: groups of k to 2k − 1; V-MDAV: the same, sizes following the data (a group that the last records fill is split),
         unless MDAV loses less: then its groups
Cost     O(n²/k) distances, far fewer from a tree where there are many records of few columns; O(n) memory. MDAV of one column
         sorts instead; too many records are cut into blocks, one on each of two cores (:mod:`shoal.techniques.group.near`)
Source   Domingo-Ferrer and Torra 2005 (MDAV); Solanas and Martínez-Ballesté 2006 (V-MDAV)
Differs  between k and 2k − 1 members left at the end form a group of their own (some tables in print spread the last few)

Missing values: records with the same columns present are grouped among themselves; where fewer than k share a pattern of
missing values, their cells are suppressed (become missing). Where fewer than k records are then without any value, the smallest
group joins them, so that these too are at least k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import PolicyError
from shoal.kernels.jit import HAVE_NUMBA
from shoal.kernels.threads import MANY, each
from shoal.model.plan import ColumnStep, Publishes, register_step
from shoal.techniques.columns import need_group, numbers, with_numbers
from shoal.techniques.group.near import (
    Block,
    Scale,
    Smallest,
    blocks,
    centred,
    exponents,
    groups_of,
    in_parts,
    is_block,
    near_groups,
    published,
)

if TYPE_CHECKING:
    import pyarrow as pa

FEW_COLUMNS = 6
"""Columns of which a tree spares most distances."""
MOST_PAIRS = 4e11
"""Distances beyond which records are cut into blocks, where no tree spares them: about an hour."""
MOST_CELLS = 8_000_000
"""Numbers beyond which records are cut into blocks: near ones are searched at some 100 bytes each."""

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@register_step
@dataclass(frozen=True)
class Microaggregate(ColumnStep):
    """Publish ``column`` and ``others`` as the mean (or median) of groups of at least ``k`` near records.

    A code declared missing stays as it is, and records with different codes are in different groups; where fewer than ``k`` have
    the same codes, their cells become missing.

    >>> import pyarrow as pa
    >>> t = pa.table({"x": [1.0, 2.0, 10.0, 11.0], "y": [1.0, 1.0, 5.0, 5.0]})
    >>> Microaggregate("x", others=("y",), k=2).run(t, 0)["x"].to_pylist()
    [1.5, 1.5, 10.5, 10.5]
    """

    others: tuple[str, ...] = ()
    k: int = 3
    method: Literal["mdav", "v-mdav"] = "mdav"
    gamma: float = 0.2
    publish: Literal["mean", "median"] = "mean"
    kind: ClassVar[str] = "microaggregate"
    truthful: ClassVar[bool] = False
    publishes: ClassVar[Publishes] = "numbers"
    draws: ClassVar[bool] = False
    splits_by_codes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.method not in ("mdav", "v-mdav") or self.publish not in ("mean", "median"):
            raise PolicyError("microaggregation knows the methods mdav and v-mdav and publishes mean or median.")
        if self.k < 2:
            raise PolicyError(f"microaggregation needs k of at least 2; found {self.k}.")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, *self.others)

    @property
    def _sorts(self) -> bool:
        """Whether the groups are found by sorting, not by distances."""
        return not self.others and self.method == "mdav"

    def in_blocks(self, records: int) -> bool:
        """Whether so many records are cut into blocks first."""
        if self._sorts:
            return False
        searched = HAVE_NUMBA and self.method == "mdav" and len(self.columns) <= FEW_COLUMNS
        return records * len(self.columns) > MOST_CELLS or (records**2 / self.k > MOST_PAIRS and not searched)

    def messages(self, records: int) -> tuple[str, ...]:
        if not self.in_blocks(records):
            return ()
        what = f"{records:,} records are too many to look for near ones in all of them: those by {', '.join(self.columns)}"
        return (f"{what} were found in blocks, and the groups lose a little more: up to 15 % where it was measured.",)

    def _made(self, inside: FloatArray, scale: Scale | None) -> tuple[FloatArray, IntArray]:
        """What is published for records that are grouped among themselves, and their groups."""
        if scale is None:
            groups = near_groups(inside, self.k, method=self.method, gamma=self.gamma)
        else:
            groups = groups_of(scale.points(inside), self.k, self.method, self.gamma)
        made = centred(inside[0], self.k, self.publish)[None] if self._sorts else published(inside, groups, self.publish)
        return made, groups

    def _blocks(self, inside: FloatArray, rows: IntArray, exponent: IntArray | None) -> Iterator[Block]:
        """Records with the same columns present, in blocks where all records are too many."""
        if exponent is None or is_block(len(rows), len(inside), self.k):
            yield inside, rows, None
            return
        scale = Scale.of(in_parts(inside), exponent)
        yield from ((values, at, scale) for values, at in blocks(inside, rows, self.k, scale))

    def run(self, table: pa.Table, seed: int, codes: Sequence[IntArray] = ()) -> pa.Table:
        given = [numbers(table, name) for name in self.columns]
        values = np.array([x for x, _ in given])
        present = np.array([p for _, p in given])
        coded = np.array(codes) if len(codes) else np.zeros(present.shape, dtype=np.int64)
        together = f"the table of columns {', '.join(map(repr, self.columns))}" if self.others else f"column '{self.column}'"
        need_group(self.k, int(present.any(axis=0).sum()), together)
        pattern = np.where(present, -1, coded).T
        smallest = Smallest()
        exponent = exponents(values) if self.in_blocks(table.num_rows) else None
        for code in np.unique(pattern, axis=0):
            rows = np.flatnonzero((pattern == code).all(axis=1))
            used = np.flatnonzero(present[:, rows[0]])
            if not len(used) and not coded[:, rows[0]].any():
                continue
            if len(rows) < self.k:
                present[:, rows], coded[:, rows] = False, 0
                continue
            if not len(used):
                smallest.see(rows, np.zeros(len(rows), np.int64))
                continue
            parts = list(self._blocks(values[np.ix_(used, rows)], rows, None if exponent is None else exponent[used]))
            results = each(parts, MANY if len(parts) > 1 else 0, lambda part: self._made(part[0], part[2]))
            for (_, at, _), (made, groups) in zip(parts, results, strict=True):
                values[np.ix_(used, at)] = made
                smallest.see(at, groups)
        if smallest.places is not None and 0 < (~(present | (coded > 0)).any(axis=0)).sum() < self.k:
            present[:, smallest.places], coded[:, smallest.places] = False, 0
        for i, name in enumerate(self.columns):
            table = with_numbers(table, name, values[i], present[i])
        if len(codes):
            for kept, out in zip(coded, codes, strict=True):
                out[:] = kept
        return table

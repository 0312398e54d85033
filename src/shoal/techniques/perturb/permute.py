"""Values change owners: permutation (anyone's value) and rank swapping (a near one).

Keeps    the column's own distribution exactly; relations to other columns are lost (permutation) or blurred (rank swapping)
Source   Moore 1996 (rank swapping)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import DataError, PolicyError
from shoal.kernels.jit import njit
from shoal.kernels.text import canonical_text
from shoal.model.plan import ColumnStep, Publishes, register_step
from shoal.techniques.columns import numbers, with_column
from shoal.techniques.kernels import draws as random

IntArray = npt.NDArray[np.int64]

LEAST_WINDOW = 5
"""Ranks that a value may move at least, and values that a column needs for rank swapping."""


@register_step
@dataclass(frozen=True)
class Permute(ColumnStep):
    """Shuffle a column's values among the records, inside groups of equal ``within`` columns; ``others`` move along with it.

    Missing values move too, and so do codes declared missing: who has none is no longer known. A record that is alone in its
    group would keep its value: refused.

    >>> import pyarrow as pa
    >>> t = pa.table({"pay": [1, 2, 3, 4], "sex": ["f", "f", "m", "m"]})
    >>> out = Permute("pay", within=("sex",)).run(t, seed=3)["pay"].to_pylist()
    >>> sorted(out[:2]), sorted(out[2:])
    ([1, 2], [3, 4])
    """

    others: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    kind: ClassVar[str] = "permute"
    publishes: ClassVar[Publishes] = "own"
    codes_apart: ClassVar[bool] = False
    truthful: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, *self.others)

    @property
    def needs(self) -> tuple[str, ...]:
        return self.within

    def run(self, table: pa.Table, seed: int) -> pa.Table:
        source = random.permutation(self._key(seed), table.num_rows)
        strata = _strata(table, self.within)
        need_company(self.column, self.within, int((np.bincount(strata) == 1).sum()))
        source = _inside(strata, source) if self.within else source
        for name in self.columns:
            table = with_column(table, name, table.column(name).take(pa.array(source)))
        return table

    def _key(self, seed: int) -> bytes:
        return random.derive(seed, self.kind, *self.columns, *(f"within {name}" for name in self.within))


@register_step
@dataclass(frozen=True)
class RankSwap(ColumnStep):
    """Swap each number with one whose rank differs by at most ``percent`` of the records (5 ranks, where that is fewer).

    Missing values stay where they are. Neighbours alone would be swapped the same way every time, for anyone to swap back.

    >>> import pyarrow as pa
    >>> t = pa.table({"x": list(range(100))})
    >>> out = np.array(RankSwap("x", percent=5).run(t, seed=1)["x"])
    >>> sorted(out.tolist()) == list(range(100)), int(np.abs(out - np.arange(100)).max()) <= 5
    (True, True)
    """

    percent: float = 5.0
    kind: ClassVar[str] = "rank_swap"
    publishes: ClassVar[Publishes] = "own"
    truthful: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.percent <= 100:
            raise PolicyError(f"rank swapping of '{self.column}' needs a percentage between 0 and 100.")

    def run(self, table: pa.Table, seed: int) -> pa.Table:
        from shoal.techniques.perturb.permute import swap_ranks

        x, present = numbers(table, self.column)
        where = np.flatnonzero(present)
        need_values(self.column, len(where))
        ties, partners = self._keys(seed)
        mixed = where[random.permutation(ties, len(where))]  # ties get their ranks by chance
        ranked = mixed[np.argsort(x[mixed], kind="stable")]
        draws = random.uniforms(partners, random.places(0, len(ranked)))
        partner = swap_ranks(len(ranked), window(len(ranked), self.percent), draws)
        source = np.arange(table.num_rows)
        source[ranked] = ranked[partner]
        return with_column(table, self.column, table.column(self.column).take(pa.array(source)))

    def _keys(self, seed: int) -> tuple[bytes, bytes]:
        settings = (self.column, f"{self.percent:.9g}")
        return random.derive(seed, self.kind, "ties", *settings), random.derive(seed, self.kind, "partner", *settings)


def _inside(strata: IntArray, shuffled: IntArray) -> IntArray:
    """For each row the one that its value comes from; sorted by stratum, both orders meet inside the same one."""
    source = np.empty(len(strata), dtype=np.int64)
    source[np.argsort(strata, kind="stable")] = shuffled[np.argsort(strata[shuffled], kind="stable")]
    return source


def _strata(table: pa.Table, columns: tuple[str, ...]) -> IntArray:
    """A number per combination of values; missing is a value."""
    out = np.zeros(table.num_rows, dtype=np.int64)
    for name in columns:
        codes = canonical_text(table.column(name)).dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        _, out = np.unique(out * (codes.max(initial=0) + 2) + codes + 1, return_inverse=True)
    return out


def window(count: int, percent: float) -> int:
    """How many ranks a value may move."""
    return max(LEAST_WINDOW, int(count * percent / 100))


def need_values(column: str, count: int) -> None:
    """Refuse a column of so few values that anyone could put them back."""
    if count < LEAST_WINDOW:
        hint = "Fewer are put back by trying. Leave the column out, or suppress it."
        raise DataError(f"column '{column}' has {count} values; rank swapping needs {LEAST_WINDOW}.", hint=hint, column=column)


def need_company(column: str, within: Sequence[str], alone: int) -> None:
    """Refuse to exchange values where records have nobody to exchange with: they would be published as they were."""
    if alone:
        where = f" within {', '.join(map(repr, within))}" if within else ""
        raise DataError(
            f"{alone} record(s) are alone{where}: permutation would publish their value of '{column}' as it is.",
            hint="Take fewer or coarser columns for 'within', or leave such records out first."
            if within
            else "Leave the column out, or suppress it.",
            column=column,
        )


def swap_ranks(n: int, window: int, draws: npt.NDArray[np.float64]) -> IntArray:
    """Partner of each rank 0 … n − 1: within ``window`` ranks, each rank in at most one pair, itself where nobody is left."""
    partner, place = np.full(n, -1, np.int64), np.arange(n + 1, dtype=np.int64)
    pair_ranks(partner, place & -place, window, draws)
    return partner


@njit
def pair_ranks(partner: Any, free: Any, window: int, draws: npt.NDArray[np.float64]) -> None:
    """Ranks are taken in ascending order; the partner is drawn from the free ranks above, by ``draws``.

    ``free`` is a Fenwick tree (free ranks among the last (j & -j) up to j, counted from 1), so that the time grows with n·log n
    for any window.
    """
    n = len(partner)
    top = 1
    while 2 * top <= n:
        top *= 2
    for i in range(n):
        if partner[i] >= 0:
            continue
        partner[i] = i
        _take(free, i + 1)
        count, j = 0, min(i + window, n - 1) + 1
        while j > 0:  # all free ranks up to there lie above i
            count += free[j]
            j -= j & -j
        if count == 0:
            continue
        wanted = min(int(draws[i] * count), count - 1) + 1
        place, step = 0, top
        while step > 0:
            if place + step <= n and free[place + step] < wanted:
                place += step
                wanted -= free[place]
            step //= 2
        partner[i], partner[place] = place, i
        _take(free, place + 1)


@njit
def _take(free: Any, place: int) -> None:
    while place < len(free):
        free[place] -= 1
        place += place & -place

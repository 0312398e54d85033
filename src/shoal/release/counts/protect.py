"""Tables of counts: hide small cells so that they cannot be recovered, then try to recover them.

Takes    a table of counts (any number of dimensions, without its margins) and a threshold
Returns  the table with margins as it may be published, and the bounds an attacker can reach
Keeps    no hidden small count can be confined to fewer than ``threshold`` values from what is published
Cost     two linear programs per small cell and round
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.attacks.differencing import Bounds, bounds, differencing
from shoal.errors import UsageError
from shoal.model.attack import AttackResult
from shoal.model.counts.classes import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class ProtectedTable:
    """A table of counts with its margins (the last entry of each axis), NaN where a count is hidden."""

    cells: FloatArray
    primary: BoolArray
    complementary: BoolArray
    threshold: int
    method: str
    attack: AttackResult
    found: Bounds = field(repr=False)

    @property
    def hidden(self) -> BoolArray:
        return self.primary | self.complementary


def protect_table(
    counts: npt.ArrayLike,
    *,
    threshold: int = 10,
    method: Literal["suppress", "round"] = "suppress",
    base: int = 5,
    zeros: bool = True,
) -> ProtectedTable:
    """Publishable version of a table of counts, margins included.

    Cells of fewer than ``threshold`` people are hidden (zeros too with ``zeros=False``). Other cells are then hidden as well
    until the recovery attack (bounds by linear programming over all published sums, by somebody who knows whether zeros are
    hidden) leaves every small cell at least ``threshold`` possible values. With ``method="round"`` small cells are hidden first
    and all others rounded to multiples of ``base`` afterwards, and the attacker knows both rules.

    Examples
    --------
    One small cell: its row total would give it away, so three more cells are hidden.

    >>> t = protect_table([[3, 20, 30], [25, 40, 12], [30, 22, 18]], threshold=10)
    >>> int(t.primary.sum()), int(t.complementary.sum()), t.attack.verdict
    (1, 3, 'holds')
    """
    table = np.asarray(counts)
    if table.size == 0 or not np.issubdtype(table.dtype, np.integer) or (table < 0).any():
        raise UsageError("a table of counts holds whole numbers of at least 0.", hint="Pass the counts without their margins.")
    if threshold < 2 or base < 1:
        raise UsageError(f"a threshold of at least 2 and a base of at least 1 are needed; found {threshold} and {base}.")
    full = with_margins(table)
    primary = (full < threshold) & ((full > 0) | (not zeros))
    shut = primary.copy()
    lines = _lines(full.shape)
    rule = _Rule(threshold, method, base, zeros)
    narrow = _narrow(_attack(full, shut, lines, rule, primary), primary, threshold)
    while narrow.any():
        shut.ravel()[_next_to_hide(full, shut, lines, np.flatnonzero(narrow.ravel()))] = True
        narrow = _narrow(_attack(full, shut, lines, rule, narrow), narrow, threshold)  # hiding more never narrows another cell
    attacked = _attack(full, shut, lines, rule, primary)
    shown = full if method == "suppress" else np.round(full / base) * base
    cells = np.where(shut, np.nan, shown)
    result = differencing(attacked, primary.ravel(), threshold=threshold)
    return ProtectedTable(cells, primary, shut & ~primary, threshold, method, result, attacked)


def with_margins(table: npt.NDArray[Any]) -> FloatArray:
    """The table with its sums appended along every axis.

    >>> with_margins(np.array([[1, 2], [3, 4]])).tolist()
    [[1.0, 2.0, 3.0], [3.0, 4.0, 7.0], [4.0, 6.0, 10.0]]
    """
    full = table.astype(np.float64)
    for axis in range(table.ndim):
        full = np.concatenate([full, full.sum(axis=axis, keepdims=True)], axis=axis)
    return full


def _lines(shape: tuple[int, ...]) -> list[npt.NDArray[np.int64]]:
    """Every line of cells that adds up: positions of the parts, then of their sum."""
    positions = np.arange(int(np.prod(shape))).reshape(shape)
    return [line for axis in range(len(shape)) for line in np.moveaxis(positions, axis, -1).reshape(-1, shape[axis])]


def _equations(n: int, lines: list[npt.NDArray[np.int64]]) -> FloatArray:
    matrix = np.zeros((len(lines), n))
    for row, line in zip(matrix, lines, strict=True):
        row[line[:-1]] = 1.0
        row[line[-1]] = -1.0
    return matrix


@dataclass(frozen=True)
class _Rule:
    """What is published of a count, as the attacker knows it too."""

    threshold: int
    method: str
    base: int
    zeros: bool

    def limits(self, shown: float) -> tuple[float, float]:
        """The smallest and largest count that is published as this rounded number: small ones would have been hidden.

        >>> _Rule(10, "round", 5, True).limits(10.0), _Rule(10, "round", 5, True).limits(15.0)
        ((10.0, 12.0), (13.0, 17.0))
        """
        near = np.arange(max(0.0, shown - self.base), shown + self.base + 1)
        fits = (np.round(near / self.base) * self.base == shown) & ((near >= self.threshold) | (self.zeros & (near == 0)))
        return float(near[fits].min()), float(near[fits].max())


def _attack(full: FloatArray, shut: BoolArray, lines: list[npt.NDArray[np.int64]], rule: _Rule, wanted: BoolArray) -> Bounds:
    """What an attacker who knows the rules can tell of each wanted cell."""
    cells, hidden = full.ravel(), shut.ravel()
    equations, zero = _equations(len(cells), lines), np.zeros(len(lines))
    least = float(rule.zeros and not (hidden & (cells == 0)).any())  # zeros are published, so a hidden cell has somebody
    low, high = np.full(len(cells), least), np.full(len(cells), np.inf)
    if rule.method == "suppress":
        low = np.where(hidden, low, 0.0)
        return bounds(np.where(hidden, np.nan, cells), equations, zero, limits=(low, high), only=wanted)
    rounded = np.round(cells / rule.base) * rule.base
    for i in np.flatnonzero(~hidden):
        low[i], high[i] = rule.limits(float(rounded[i]))
    return bounds(np.full(len(cells), np.nan), equations, zero, limits=(low, high), only=wanted)


def _narrow(bounds: Bounds, primary: BoolArray, threshold: int) -> BoolArray:
    """Small cells that can be confined to fewer than ``threshold`` values."""
    return np.asarray(primary & (bounds.width().reshape(primary.shape) < threshold - 1))


def _next_to_hide(full: FloatArray, shut: BoolArray, lines: list[npt.NDArray[np.int64]], narrow: npt.NDArray[np.int64]) -> int:
    """The best open cell among the lines that lead, through hidden cells, to a recoverable one. There is one: hidden counts of
    which no sum is published could be any.

    A line with a single hidden cell gives it away, so a cell that mends most such lines comes first; then inner cells before
    margins, people before zeros, small before large.
    """
    cells, closed = full.ravel(), shut.ravel()
    inner = np.zeros(full.shape, dtype=bool)
    inner[tuple(slice(0, -1) for _ in full.shape)] = True
    reach = _connect(lines, closed, set(narrow.tolist()))
    mends = np.zeros(len(cells), dtype=np.int64)
    for line in reach:
        mends[line] += 1 if closed[line].sum() == 1 else 0
    open_cells = sorted({int(c) for line in reach for c in line if not closed[c]})
    return min(open_cells, key=lambda c: (-mends[c], not inner.ravel()[c], cells[c] == 0, cells[c], c))


def _connect(lines: list[npt.NDArray[np.int64]], closed: BoolArray, start: set[int]) -> list[npt.NDArray[np.int64]]:
    """Lines that hold a start cell, or a hidden cell of a line already reached."""
    reached, seen, parts = set(start), set(), []
    grew = True
    while grew:
        grew = False
        for number, line in enumerate(lines):
            if number not in seen and reached & set(line.tolist()):
                seen.add(number)
                parts.append(line)
                reached |= {int(c) for c in line if closed[c]}
                grew = True
    return parts

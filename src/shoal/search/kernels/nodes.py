"""Bookkeeping over a lattice: the next node to look at, and nodes that need none.

Nodes are numbered in mixed radix: node = Σ_j level_j · strides_j.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import lean_njit
from shoal.model.counts.classes import BoolArray as Flags
from shoal.model.counts.classes import CodeArray as Codes
from shoal.model.counts.classes import FloatArray as Floats
from shoal.model.counts.classes import IntArray as Ints


@lean_njit
def climb(
    bound: Floats,
    soft: npt.NDArray[np.bool_],
    strides: Ints,
    heights: Ints,
    terms: Floats,
    best: float,
    on: bool,
    path: Ints,
    length: int,
) -> int:
    """Go on from the end of a path to the cheapest parent, again and again; the new length of the path.

    Parents are those with a bound below ``best``, cheapest by bound; with ``on``, those that are not ``soft``, cheapest by the
    contribution that the step adds.
    """
    at = path[length - 1]
    while True:
        chosen = -1
        least = np.inf if on else best
        for j in range(len(heights)):
            level = (at // strides[j]) % (heights[j] + 1)
            if level < heights[j]:
                above = at + strides[j]
                value = terms[j, level + 1] - terms[j, level] if on else bound[above]
                if value < least and not (on and soft[above]):
                    least = value
                    chosen = above
        if chosen < 0:
            return length
        at = chosen
        path[length] = at
        length += 1


class LowerSet:
    """Nodes, and everything below them: for each column and level which nodes have at least that level there, as bits.

    >>> dead = LowerSet((3, 3))
    >>> dead.add((0, 3)), dead.add((2, 0))
    (None, None)
    >>> (1, 0) in dead, (1, 1) in dead
    (True, False)
    """

    BITS = 4096

    def __init__(self, heights: tuple[int, ...]) -> None:
        self._heights = heights
        self._parts: list[list[list[int]]] = []
        self._bit = 0

    def add(self, node: tuple[int, ...]) -> None:
        if not self._parts or self._bit == self.BITS:
            self._parts.append([[0] * (h + 1) for h in self._heights])
            self._bit = 0
        for at_least, level in zip(self._parts[-1], node, strict=True):
            for low in range(level + 1):
                at_least[low] |= 1 << self._bit
        self._bit += 1

    def __contains__(self, node: tuple[int, ...]) -> bool:
        return any(self._above(part, node) for part in self._parts)

    def _above(self, part: list[list[int]], node: tuple[int, ...]) -> int:
        above = -1
        for at_least, level in zip(part, node, strict=True):
            above &= at_least[level]
            if not above:
                break
        return above


MARGIN = 1e-9
"""Far above what adding up in another order changes, relative to the group or to the limit."""
BLOCK = 1 << 22
"""Counts that are laid out at once, one per group and value."""


class GroupValues:
    """The counts of a sensitive column by group: entries (group, value, count), each pair once, sorted by group.

    Each method gives the groups that pass beyond doubt; with a negative ``margin``, those that may pass.
    """

    margin = MARGIN

    def __init__(self, group: Codes, value: Codes, count: Ints, n_groups: int) -> None:
        self.group, self.value, self.count, self.n = group, value, count.astype(np.float64), n_groups
        self.distinct = np.bincount(group, minlength=n_groups)
        self.size = np.bincount(group, weights=self.count, minlength=n_groups)
        self.share = self.count / self.size[group]

    def _none(self, breach: Flags) -> Flags:
        """Groups without an entry that is in breach."""
        return np.asarray(np.bincount(self.group[breach], minlength=self.n) == 0)

    def entropy(self, least: float) -> Flags:
        """exp(H) is at least ``least``."""
        entropy = -np.bincount(self.group, weights=self.share * np.log(self.share), minlength=self.n)
        return np.exp(entropy) >= least * (1 + self.margin)

    def recursive(self, c: float, depth: int) -> Flags:
        """r₁ < c (r_l + … + r_m), where r are the counts in descending order and l is ``depth``."""
        order = np.lexsort((-self.count, self.group))
        counts = self.count[order]
        rank = np.arange(len(order)) - (np.cumsum(self.distinct) - self.distinct)[self.group]
        largest = np.bincount(self.group, weights=np.where(rank == 0, counts, 0), minlength=self.n)
        tail = np.bincount(self.group, weights=np.where(rank >= depth - 1, counts, 0), minlength=self.n)
        return (self.distinct >= depth) & (c * tail - largest > self.margin * self.size)

    def capped(self, limits: Floats) -> Flags:
        """No value has a share above its limit."""
        return self._none(self.share > limits[self.value] - self.margin)

    def in_band(self, table: Floats, delta: float) -> Flags:
        """Every value occurs, and |ln(p/q)| < δ for its share p here and q in the table."""
        outside = np.abs(np.log(self.share / table[self.value])) >= delta - self.margin
        return np.asarray(self._none(outside) & (self.distinct == len(table)))

    def close_by_levels(self, t: float, groups: Codes, n_groups: Ints, mass: Floats) -> Flags:
        """Σ_l Σ_g max(0, Q_g − P_g) / H is at most t, over the groups g of each level l of a tree."""
        far = np.zeros(self.n)
        for level, wide in enumerate(n_groups.tolist()):
            keys, inverse = np.unique(self.group.astype(np.int64) * wide + groups[level, self.value], return_inverse=True)
            held = np.bincount(inverse, weights=self.share)
            own, q = keys // wide, mass[level, keys % wide]
            present = np.bincount(own, weights=np.maximum(q - held, 0) - q, minlength=self.n)
            far += mass[level, :wide].sum() + present
        return far / max(1, len(groups)) <= t - self.margin

    def close_in_order(self, t: float, mass: Floats) -> Flags:
        """Σ_i |P(≤ i) − Q(≤ i)| / (m − 1) is at most t."""
        n_values = mass.shape[1]
        table = np.cumsum(mass[0])
        fine = np.zeros(self.n, dtype=np.bool_)
        step = max(1, BLOCK // n_values)
        for low in range(0, self.n, step):
            high = min(low + step, self.n)
            a, b = np.searchsorted(self.group, [low, high])
            held = np.zeros((high - low, n_values))
            held[self.group[a:b] - low, self.value[a:b]] = self.share[a:b]
            far = np.abs(np.cumsum(held, axis=1) - table).sum(axis=1) / max(1, n_values - 1)
            fine[low:high] = far <= t - self.margin
        return fine

"""Records as they are compared: numbers over their range, categories as codes, and the distance between two (Gower)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.attacks._common import Z95, wilson
from shoal.kernels.group import count_by, group_codes
from shoal.model.attack import AttackResult, Verdict
from shoal.model.counts.classes import FloatArray, IntArray
from shoal.model.display import written

BLOCK = 4_000_000
"""Distances held at once."""
Distances = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Columns of one table, one array each: numbers between 0 and 1 (NaN missing), or codes (−1 missing)."""

    columns: tuple[npt.NDArray[np.float64] | IntArray, ...]

    @property
    def n(self) -> int:
        return len(self.columns[0])

    @property
    def width(self) -> int:
        return len(self.columns)

    def is_number(self, j: int) -> bool:
        return bool(np.issubdtype(self.columns[j].dtype, np.floating))

    def take(self, rows: IntArray) -> Rows:
        return Rows(tuple(c[rows] for c in self.columns))


def order_of(rows: Rows) -> IntArray:
    """The rows in the order of what they hold, so that what is drawn of them does not depend on the order of a file."""
    return np.lexsort(rows.columns)


def some_of(n: int, most: int, rng: np.random.Generator) -> IntArray:
    """At most so many of n rows, drawn without replacement."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, size=most, replace=False))


def drawn(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    return rows.take(some_of(rows.n, most, rng))


def alike(a: Rows, b: Rows) -> tuple[IntArray, IntArray, int]:
    """A number for each row of both, the same for rows that are equal in every column, and how many numbers there are.

    >>> a, b, n = alike(Rows((np.array([3, 5]),)), Rows((np.array([5, 5, 4]),)))
    >>> bool(a[1] == b[0] == b[1] != b[2] != a[0]), n
    (True, 3)
    """
    both = group_codes(
        [np.unique(np.concatenate(pair), return_inverse=True)[1].ravel() for pair in zip(a.columns, b.columns, strict=True)]
    )
    return both.ids[: a.n], both.ids[a.n :], both.n


def distances(a: Rows, b: Rows, use: Sequence[int]) -> Distances:
    """Gower's distance summed over some columns: |difference| over the range for numbers, 0 or 1 for categories.

    A missing value is at no distance from another missing one, and at 1 from everything else.

    >>> x, y = Rows((np.array([0.0, 1.0]), np.array([0, 1]))), Rows((np.array([0.25]), np.array([0])))
    >>> distances(x, y, [0, 1]).tolist()
    [[0.25], [1.75]]
    """
    out = np.zeros((a.n, b.n), dtype=np.float32)
    for j in use:
        x, y = a.columns[j], b.columns[j]
        if a.is_number(j):
            gap = np.abs(x[:, None].astype(np.float32) - y[None, :].astype(np.float32))
            gone = np.isnan(x)[:, None] != np.isnan(y)[None, :]
            out += np.where(gone, np.float32(1.0), np.nan_to_num(np.minimum(gap, np.float32(1.0)), nan=0.0))
        else:
            out += (x[:, None] != y[None, :]).astype(np.float32)
    return out


def nearest(a: Rows, b: Rows, use: Sequence[int], count: int = 1) -> tuple[IntArray, FloatArray]:
    """For each row of ``a`` its ``count`` nearest rows of ``b`` and their distances, nearest first."""
    count = min(count, b.n)
    places, far = np.empty((a.n, count), np.int64), np.empty((a.n, count))
    step = max(1, BLOCK // max(1, b.n))
    for start in range(0, a.n, step):
        part = distances(a.take(np.arange(start, min(a.n, start + step))), b, use)
        order = np.argsort(part, axis=1, kind="stable")[:, :count] if count > 1 else part.argmin(axis=1)[:, None]
        places[start : start + len(part)] = order
        far[start : start + len(part)] = np.take_along_axis(part, order, axis=1)
    return places, far


def overlaps(original: Rows, control: Rows) -> bool:
    """Whether surely more than a tenth of the control group stands in the original, too.

    Two people may be alike in every column. How often that happens is seen inside the original: rows of the control group that
    are equal to one of the original are held against rows of the original that are equal to another one of its own.
    """
    own, others, n = alike(original, control)
    people = count_by(own, n)
    shared, twice = int((people[others] > 0).sum()), int((people[own] > 1).sum())
    return Excess(shared, control.n, twice, original.n).interval[0] > BROKEN


CLOSER = "Are published records closer to people of the original than to people of the control group?"
COPIED = "Are published records copies of people of the original?"
MEMBER = "Can one tell from the distance to the nearest published record who was in the making of the table?"


def closest_records(table: Rows, original: Rows, control: Rows, whole: tuple[Rows, Rows]) -> tuple[AttackResult, AttackResult]:
    """The share of published records that are closer to the original (half is expected of equally many), and exact copies.

    Copies are counted among ``whole``, the table and the original before anything was drawn of them, as well.
    """
    use = list(range(table.width))
    (mine, near), (theirs, far) = ((who[:, 0], d[:, 0]) for who, d in (nearest(table, some, use) for some in (original, control)))
    decided = int((near != far).sum())
    closer = int((near < far).sum())
    rate = closer / decided if decided else 0.5
    each = np.bincount(np.concatenate((mine[near < far], original.n + theirs[far < near])))
    tries = decided**2 / max(1, int((each**2).sum()))  # records that one person decides are one try: somebody stands in a crowd
    low, high = wilson(rate * tries, tries)
    over = 2 * low - 1  # 0 where both are equally close, 1 where all are closer to the original
    verdict: Verdict = "holds" if over <= 0 else "warning" if over <= BROKEN else "broken"
    sentence = (
        f"{closer:,} of {decided:,} published records that are not equally far lie closer to the original; half are expected. "
        f"Median distance to the closest record: {_of(near, table)} from the original, {_of(far, table)} from the control group."
    )
    result = AttackResult("closest records", CLOSER, rate, low, high, None, "", verdict, sentence)
    copies = Excess(copied(whole[0], original), whole[0].n, copied(whole[0], control), whole[0].n)
    held = result_of("copies", COPIED, copies, "", "Published records that equal a person's in every column")
    if held.verdict == "holds" and copies.successes and not copies.control:
        held = replace(held, verdict="warning")  # too few to be sure, but each is a person's own record
    everybody = f" Of all {whole[0].n:,} published records {copied(*whole):,} equal one of the original."
    return result, replace(held, sentence=held.sentence + everybody)


def copied(table: Rows, original: Rows) -> int:
    """How many records of the table are equal to one of the original in every column."""
    published, people, n = alike(table, original)
    there = np.zeros(n, dtype=bool)
    there[people] = True
    return int(there[published].sum())


def _of(distance: FloatArray, table: Rows) -> str:
    return f"{written(float(np.median(distance)) / table.width, 3)}"


def membership(table: Rows, original: Rows, control: Rows) -> AttackResult:
    """Area under the curve of "near means in": ½ is guessing. Hanley and McNeil's interval."""
    use = list(range(table.width))
    inside, outside = nearest(original, table, use)[1][:, 0], nearest(control, table, use)[1][:, 0]
    area, (low, high) = area_under(outside, inside)
    over = 2 * low - 1
    verdict: Verdict = "holds" if over <= 0 else "warning" if over <= BROKEN else "broken"
    often = f"the nearer one is the one in it {written(100 * area, 3)} % of the time; 50 % is guessing"
    sentence = f"Of one person in the table and one who is not, {often}."
    return AttackResult("membership", MEMBER, area, low, high, None, "", verdict, sentence)


def area_under(high: FloatArray, low: FloatArray) -> tuple[float, tuple[float, float]]:
    """Chance that a number of ``high`` is above one of ``low`` (ties half), and its 95 % interval.

    >>> area_under(np.array([2.0, 3.0]), np.array([1.0, 2.0]))[0]
    0.875
    """
    n, m = len(high), len(low)
    both = np.sort(low)
    below = np.searchsorted(both, high, side="left") + np.searchsorted(both, high, side="right")
    area = float(below.sum() / (2 * n * m))
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    spread = area * (1 - area) + (n - 1) * (q1 - area**2) + (m - 1) * (q2 - area**2)
    half = Z95 * math.sqrt(max(0.0, spread) / (n * m)) if 0 < area < 1 else Z95 * 0.5 / math.sqrt(min(n, m))
    return area, (max(0.0, area - half), min(1.0, area + half))


BROKEN = 0.1
"""An attack that surely works for this share of the people in the table, beyond what works on others, breaks it."""


@dataclass(frozen=True)
class Excess:
    """Successes on the original and on the control group; ``risk`` is the share of those not found by chance that are found."""

    successes: int
    tries: int
    control: int
    control_tries: int

    @property
    def rate(self) -> float:
        return self.successes / self.tries

    @property
    def control_rate(self) -> float:
        return self.control / self.control_tries

    @property
    def risk(self) -> float:
        return _risk(self.rate, self.control_rate)

    @property
    def interval(self) -> tuple[float, float]:
        """At least 95 %: the worst ends of the intervals of both rates.

        >>> low, high = Excess(50, 100, 50, 100).interval
        >>> low < 0 < high
        True
        """
        (low, high), (least, most) = wilson(self.successes, self.tries), wilson(self.control, self.control_tries)
        return _risk(low, most), _risk(high, least)


def _risk(rate: float, control: float) -> float:
    return (rate - control) / (1 - control) if control < 1 else 0.0


def verdict_of(low: float) -> Verdict:
    """By the low end of the risk: nothing beyond the control holds, above :data:`BROKEN` is broken.

    >>> verdict_of(0.0), verdict_of(0.001), verdict_of(0.1), verdict_of(0.101)
    ('holds', 'warning', 'warning', 'broken')
    """
    return "holds" if low <= 0 else "warning" if low <= BROKEN else "broken"


def result_of(name: str, question: str, excess: Excess, worst: str, claim: str) -> AttackResult:
    """The result with the risk beyond the control group as its rate."""
    low, high = excess.interval
    risk = min(1.0, max(0.0, excess.risk))
    sentence = f"{claim}: {excess.successes:,} of {excess.tries:,} tries on the original succeed, {excess.control:,} of "
    sentence += f"{excess.control_tries:,} on the control group."
    ends = max(0.0, min(1.0, low)), max(0.0, min(1.0, high))
    return AttackResult(name, question, risk, *ends, None, worst, verdict_of(low), sentence)

"""Nearest neighbours: is the table closer to the people in it than to others, does it hold copies, does it tell who is in it?"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from shoal.attacks._common import Z95, wilson
from shoal.attacks.tables.excess import BROKEN, Excess, result_of
from shoal.attacks.tables.rows import Rows, alike, nearest
from shoal.model.attack import AttackResult, Verdict
from shoal.model.counts.classes import FloatArray
from shoal.model.display import written

CLOSER = "Are published records closer to people of the original than to people of the control group?"
COPIED = "Are published records copies of people of the original?"
MEMBER = "Can one tell from the distance to the nearest published record who was in the making of the table?"


def closest_records(table: Rows, original: Rows, control: Rows, whole: tuple[Rows, Rows]) -> tuple[AttackResult, AttackResult]:
    """The share of published records that are closer to the original (half is expected of equally many), and exact copies.

    Copies are counted among ``whole``, the table and the original before anything was drawn of them, as well.
    """
    use = list(range(table.width))
    near, far = nearest(table, original, use)[1][:, 0], nearest(table, control, use)[1][:, 0]
    decided = int((near != far).sum())
    closer = int((near < far).sum())
    rate = closer / decided if decided else 0.5
    low, high = wilson(closer, decided) if decided else (0.0, 1.0)
    over = 2 * low - 1  # 0 where both are equally close, 1 where all are closer to the original
    verdict: Verdict = "holds" if over <= 0 else "warning" if over <= BROKEN else "broken"
    sentence = (
        f"{closer:,} of {decided:,} published records that are not equally far lie closer to the original; half are expected. "
        f"Median distance to the closest record: {_of(near, table)} from the original, {_of(far, table)} from the control group."
    )
    found = AttackResult("closest records", CLOSER, rate, low, high, None, "", verdict, sentence)
    copies = Excess(int((near == 0).sum()), table.n, int((far == 0).sum()), table.n)
    held = result_of("copies", COPIED, copies, "", "Published records that equal a person's in every column")
    everybody = f" Of all {whole[0].n:,} published records {copied(*whole):,} equal one of the original."
    return found, replace(held, sentence=held.sentence + everybody)


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

"""How many people share a group: a histogram that breaks at the threshold, with an earlier state outlined beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from shoal.report.charts.axes import Scale, left_axis, nice, steps
from shoal.report.charts.marks import Chart, Mark, fits, hatched, line, rect, text
from shoal.report.numbers import percent

Sizes = Mapping[int, int]
"""Size of a group → people in groups of that size."""


def edges(k: int, largest: int) -> list[int]:
    """Where bins begin: doubling from 1, breaking at k, doubling again; the last is one past the largest size.

    >>> edges(5, 40), edges(1, 3)
    ([1, 2, 4, 5, 10, 20, 40, 80], [1, 2, 4])
    """
    found, step = {1, k}, 2
    while step < k:
        found.add(step)
        step *= 2
    step = k
    while step <= largest:
        found.add(step)
        step *= 2
    return sorted({*found, max(step, 2)})


def bins(series: Sequence[Sizes], k: int) -> list[tuple[int, int, list[int]]]:
    """First size, one past the last size, and people of each series in between.

    A bin that would show some people but fewer than k is pooled with its neighbour on the same side of k.

    >>> bins([{1: 3, 2: 2, 5: 10, 40: 40}], 5)
    [(1, 4, [5]), (4, 5, [0]), (5, 10, [10]), (10, 20, [0]), (20, 40, [0]), (40, 80, [40])]
    >>> bins([{1: 9, 2: 8, 5: 10}], 5)
    [(1, 2, [9]), (2, 4, [8]), (4, 5, [0]), (5, 10, [10]), (10, 20, [0])]
    """
    largest = max(2 * k, *(size for sizes in series for size in sizes))
    found = [
        (low, high, [sum(n for size, n in sizes.items() if low <= size < high) for sizes in series])
        for low, high in pairwise(edges(k, largest))
    ]
    at = 0
    while at < len(found):
        low, _, people = found[at]
        mates = [i for i in (at - 1, at + 1) if 0 <= i < len(found) and (found[i][0] < k) == (low < k)]
        if mates and any(0 < n < k for n in people):
            first = min(at, mates[0])
            one, two = found[first], found[first + 1]
            found[first : first + 2] = [(one[0], two[1], [a + b for a, b in zip(one[2], two[2], strict=True)])]
            at = max(0, first - 1)
        else:
            at += 1
    return found


def _label(low: int, high: int) -> str:
    return f"{low:,}" if low == high - 1 else f"{low:,}–{high - 1:,}"


def class_sizes(
    now: Sizes, k: int, *, before: Sizes | None = None, title: str = "How many people share a group", unit: str = "people"
) -> Chart:
    """Share of people by the size of their group; left of the dashed line groups are smaller than k and hatched.

    ``before`` is drawn as outlines beside the bars. ``unit`` is what is counted.
    """
    series = [now] if before is None else [before, now]
    found = bins(series, k)
    totals = [sum(sizes.values()) for sizes in series]
    shares = [[n / total for n, total in zip(people, totals, strict=True)] for _, _, people in found]
    top = nice(max(max(s) for s in shares))
    left, right, floor, ceiling = 56, 824, 236, 46
    up = Scale(0, top, floor, ceiling)
    step = (right - left) / len(found)
    small = sum(1 for low, _, _ in found if low < k)
    marks: list[Mark] = []
    if small:
        marks.append(rect(left, ceiling, small * step, floor - ceiling, "risk-zone"))
    marks += left_axis(up, steps(0, top, 5), left, right, f"share of {unit}", percent)
    labels = [_label(low, high) for low, high, _ in found]
    turned = not fits(labels, step)
    for i, ((low, _, _), share) in enumerate(zip(found, shares, strict=True)):
        marks += _bars(left + i * step, step, share, up, low < k)
        middle = left + (i + 0.5) * step
        end = {"anchor": "end", "turn": -35} if turned else {"anchor": "middle", "turn": 0}
        marks.append(text(middle, floor + 18, labels[i], **end))  # type: ignore[arg-type]
    marks.append(line(left, floor, right, floor, "axis"))
    marks += _threshold(left + small * step, small, len(found), k, ceiling, floor)
    below = 24 if turned else 0
    marks.append(text((left + right) / 2, floor + 40 + below, f"size of the group that {unit} share", "t-soft"))
    said = "; ".join(f"{label}: {_told(s)}" for label, s in zip(labels, shares, strict=True) if any(s))
    return Chart(832, 284 + below, title, f"Share of {unit} by the size of their group. {said}.", tuple(marks))


def _told(share: Sequence[float]) -> str:
    if len(share) == 1:
        return percent(share[0])
    return f"{percent(share[0])} before, {percent(share[1])} after"


def _bars(x: float, step: float, share: Sequence[float], up: Scale, small: bool) -> list[Mark]:
    wide = min(56.0, (step - 12) / len(share))
    drawn = sum(value > 0 for value in share)
    at = x + (step - wide * drawn) / 2
    marks: list[Mark] = []
    shown = [_above(value) for value in share]
    for i, value in enumerate(share):
        if not value:
            continue
        y = min(up(value), up.start - 1.5)  # a bar of few people stays visible
        if i < len(share) - 1:
            marks.append(rect(at + 1, y, wide - 2, up.start - y, "before-risk" if small else "before"))
        elif small:
            marks += hatched(at + 1, y, wide - 2, up.start - y, "risk", "hatch")
        else:
            marks.append(rect(at + 1, y, wide - 2, up.start - y, "safe"))
        crowded = len(share) > 1 and all(share) and not fits(shown, wide) and abs(up(share[0]) - up(share[1])) < 14
        lift = 14 if crowded and i == 0 else 0
        marks.append(text(at + wide / 2, y - 6 - lift, shown[i], "t-ink" if i == len(share) - 1 else "t"))
        at += wide
    return marks


def _above(value: float) -> str:
    """What stands above a bar: whole percents from 10 on."""
    said = percent(value)
    return f"{100 * value:.0f} %" if 0.1 <= value < 0.995 else said.replace("above 99.9 %", "> 99.9 %")


def _threshold(at: float, small: int, bars: int, k: int, ceiling: float, floor: float) -> list[Mark]:
    if not small:
        return []
    marks = [line(at, ceiling - 36, at, floor, "limit")]
    if small * 2 > bars or small >= 2:
        marks.append(text(at - 8, ceiling - 26, "← too small to hide in", "t-risk", anchor="end"))
    if small < bars:
        marks.append(text(at + 8, ceiling - 26, f"hidden among {k:,} or more →", "t-sea", anchor="start"))
    return marks

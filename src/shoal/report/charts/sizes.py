"""How many people share a group: a histogram that breaks at the threshold, with an earlier state outlined beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from shoal.report.charts import drawing as draw
from shoal.report.charts.curves import KINDS
from shoal.report.numbers import compact, percent

if TYPE_CHECKING:
    from shoal.measures.events.unicity import SetSizes

Sizes = Mapping[int, int]
"""Size of a group → people in groups of that size."""


def edges(k: int, largest: int) -> list[int]:
    """Where bins begin: doubling from 1, breaking at k, doubling again; the last is one past the largest size.

    >>> edges(5, 40), edges(1, 3)
    ([1, 2, 4, 5, 10, 20, 40, 80], [1, 2, 4])
    """
    ends, step = {1, k}, 2
    while step < k:
        ends.add(step)
        step *= 2
    step = k
    while step <= largest:
        ends.add(step)
        step *= 2
    return sorted({*ends, max(step, 2)})


def bins(series: Sequence[Sizes], k: int) -> list[tuple[int, int, list[int]]]:
    """First size, one past the last size, and people of each series in between.

    A bin that would show some people but fewer than k is pooled with its neighbour on the same side of k.

    >>> bins([{1: 3, 2: 2, 5: 10, 40: 40}], 5)
    [(1, 4, [5]), (4, 5, [0]), (5, 10, [10]), (10, 20, [0]), (20, 40, [0]), (40, 80, [40])]
    >>> bins([{1: 9, 2: 8, 5: 10}], 5)
    [(1, 2, [9]), (2, 4, [8]), (4, 5, [0]), (5, 10, [10]), (10, 20, [0])]
    """
    largest = max(2 * k, *(size for sizes in series for size in sizes))
    counted = [
        (low, high, [sum(n for size, n in sizes.items() if low <= size < high) for sizes in series])
        for low, high in pairwise(edges(k, largest))
    ]
    at = 0
    while at < len(counted):
        low, _, people = counted[at]
        mates = [i for i in (at - 1, at + 1) if 0 <= i < len(counted) and (counted[i][0] < k) == (low < k)]
        if mates and any(0 < n < k for n in people):
            first = min(at, mates[0])
            one, two = counted[first], counted[first + 1]
            counted[first : first + 2] = [(one[0], two[1], [a + b for a, b in zip(one[2], two[2], strict=True)])]
            at = max(0, first - 1)
        else:
            at += 1
    return counted


def _label(low: int, high: int) -> str:
    return f"{low:,}" if low == high - 1 else f"{low:,}–{high - 1:,}"


def class_sizes(
    now: Sizes,
    k: int,
    *,
    before: Sizes | None = None,
    title: str = "How many people share a group",
    unit: str = "people",
    width: int = 832,
) -> draw.Chart:
    """Share of people by the size of their group; left of the dashed line groups are smaller than k and hatched.

    ``before`` is drawn as outlines beside the bars. ``unit`` is what is counted.
    """
    series = [now] if before is None else [before, now]
    bars = bins(series, k)
    totals = [sum(sizes.values()) for sizes in series]
    shares = [[n / total for n, total in zip(people, totals, strict=True)] for _, _, people in bars]
    top = draw.nice(max(max(s) for s in shares))
    left, right, floor, ceiling = 56, width - 8, 236, 46
    up = draw.Scale(0, top, floor, ceiling)
    step = (right - left) / len(bars)
    small = sum(1 for low, _, _ in bars if low < k)
    marks: list[draw.Mark] = []
    if small:
        marks.append(draw.rect(left, ceiling, small * step, floor - ceiling, "risk-zone"))
    marks += draw.left_axis(up, draw.steps(0, top, 5), left, right, f"share of {unit}", percent)
    labels = [_label(low, high) for low, high, _ in bars]
    turned = not draw.fits(labels, step)
    for i, ((low, _, _), share) in enumerate(zip(bars, shares, strict=True)):
        marks += _bars(left + i * step, step, share, up, low < k)
        middle = left + (i + 0.5) * step
        end = {"anchor": "end", "turn": -35} if turned else {"anchor": "middle", "turn": 0}
        marks.append(draw.text(middle, floor + 18, labels[i], **end))  # type: ignore[arg-type]
    marks.append(draw.line(left, floor, right, floor, "axis"))
    marks += _threshold(left + small * step, small, len(bars), k, ceiling, floor, narrow=right if width < 600 else 0)
    below = 24 if turned else 0
    marks.append(draw.text((left + right) / 2, floor + 40 + below, f"size of the group that {unit} share", "t-soft"))
    sentence = "; ".join(f"{label}: {_show_share(s)}" for label, s in zip(labels, shares, strict=True) if any(s))
    return draw.Chart(width, 284 + below, title, f"Share of {unit} by the size of their group. {sentence}.", tuple(marks))


def _show_share(share: Sequence[float]) -> str:
    if len(share) == 1:
        return percent(share[0])
    return f"{percent(share[0])} before, {percent(share[1])} after"


def _bars(x: float, step: float, share: Sequence[float], up: draw.Scale, small: bool) -> list[draw.Mark]:
    wide = min(56.0, (step - 12) / len(share))
    drawn = sum(value > 0 for value in share)
    at = x + (step - wide * drawn) / 2
    marks: list[draw.Mark] = []
    shown = [_above(value) for value in share]
    for i, value in enumerate(share):
        if not value:
            continue
        y = min(up(value), up.start - 1.5)  # a bar of few people stays visible
        if i < len(share) - 1:
            marks.append(draw.rect(at + 1, y, wide - 2, up.start - y, "before-risk" if small else "before"))
        elif small:
            marks += draw.hatched(at + 1, y, wide - 2, up.start - y, "risk", "hatch")
        else:
            marks.append(draw.rect(at + 1, y, wide - 2, up.start - y, "safe"))
        crowded = len(share) > 1 and all(share) and not draw.fits(shown, wide) and abs(up(share[0]) - up(share[1])) < 14
        lift = 14 if crowded and i == 0 else 0
        marks.append(draw.text(at + wide / 2, y - 6 - lift, shown[i], "t-ink" if i == len(share) - 1 else "t"))
        at += wide
    return marks


def _above(value: float) -> str:
    """What stands above a bar: whole percents from 10 on."""
    words = percent(value)
    return f"{100 * value:.0f} %" if 0.1 <= value < 0.995 else words.replace("above 99.9 %", "> 99.9 %")


def _threshold(at: float, small: int, bars: int, k: int, ceiling: float, floor: float, *, narrow: float = 0) -> list[draw.Mark]:
    """The line at k with its words; ``narrow`` is the right edge of a chart without room for both sentences."""
    if not small:
        return []
    if narrow:
        note = f"dashed: from {k:,} on" if small < bars else f"all under {k:,}"
        return [draw.line(at, ceiling - 12, at, floor, "limit"), draw.text(narrow, ceiling - 26, note, "t-sea", anchor="end")]
    marks = [draw.line(at, ceiling - 36, at, floor, "limit")]
    if small * 2 > bars or small >= 2:
        marks.append(draw.text(at - 8, ceiling - 26, "← too small to hide in", "t-risk", anchor="end"))
    if small < bars:
        marks.append(draw.text(at + 8, ceiling - 26, f"hidden among {k:,} or more →", "t-sea", anchor="start"))
    return marks


LEFT, RIGHT, FLOOR, CEILING, WIDTH = 72, 548, 300, 46, 720
MOST_CURVES = 6
"""More cannot be distinguished."""


@dataclass(frozen=True)
class Revealed:
    """A named curve: known records, share of people alone, and the interval where it is not exact."""

    name: str
    points: Sequence[tuple[int, float, float, float]]


def known_records(
    curves: Sequence[Revealed], *, title: str, x: str = "known records", y: str = "people alone, %", limit: float | None = None
) -> draw.Chart:
    """Share of people alone against the number of known records; each curve is named at its end, ``limit`` is a dashed level."""
    shown = [c for c in curves if c.points][:MOST_CURVES]
    numbers = sorted({p[0] for c in shown for p in c.points})
    along = draw.Scale(min(numbers), max(max(numbers), min(numbers) + 1), LEFT, RIGHT - 20)
    up = draw.Scale(0, 100, FLOOR, CEILING)
    marks = [*draw.left_axis(up, [0, 20, 40, 60, 80, 100], LEFT, RIGHT, y), *draw.bottom_axis(along, numbers, FLOOR, x)]
    if limit is not None:
        level = up(100 * limit)
        marks += [
            draw.line(LEFT, level, RIGHT, level, "limit"),
            draw.text(RIGHT, level - 6, f"limit {percent(limit)}", "t-ink", anchor="end"),
        ]
    for i, c in enumerate(shown):
        places = [(along(s), up(100 * share)) for s, share, _, _ in c.points]
        band = [(along(p[0]), up(100 * p[2])) for p in c.points], [(along(p[0]), up(100 * p[3])) for p in c.points]
        if any(p[2] < p[3] for p in c.points):
            marks.append(draw.path([*band[0], *reversed(band[1])], "band", closed=True))
        marks += [draw.path(places, KINDS[i % len(KINDS)]), *(draw.dot(x, y, 3, "dot") for x, y in places)]
    marks += _names(shown, along, up)
    sentence = "; ".join(f"{c.name}: {percent(c.points[-1][1])} at {c.points[-1][0]}" for c in shown)
    return draw.Chart(WIDTH, FLOOR + 48, title, f"{y} against {x}. {sentence}.", tuple(marks))


def _names(curves: Sequence[Revealed], along: draw.Scale, up: draw.Scale) -> list[draw.Mark]:
    """The names beside the ends, moved apart where they would lie on each other."""
    order = sorted(curves, key=lambda c: [-p[1] for p in reversed(c.points)])
    marks: list[draw.Mark] = []
    below = CEILING - 18.0
    for c in order:
        end = (along(c.points[-1][0]), up(100 * c.points[-1][1]))
        y = max(end[1], below + 18)
        below = y
        marks += [
            draw.line(end[0] + 4, end[1], RIGHT + 4, y, "grid"),
            draw.text(RIGHT + 8, y + 4, draw.shortened(c.name, 24), anchor="start"),
        ]
    return marks


def set_sizes(sizes: Mapping[int, SetSizes], *, title: str, right: int = RIGHT, width: int = WIDTH) -> draw.Chart:
    """By known records: boxes from quartile to quartile, a line at the median, a dot at the mean, on a logarithmic axis."""
    top = max(max(sets.q3, sets.mean) for sets in sizes.values())
    up = draw.Scale(1, max(10.0, top), FLOOR, CEILING, log=True)
    room = (right - LEFT) / len(sizes)
    marks = draw.left_axis(up, up.ticks(6), LEFT, right, "people who share the known records")
    for i, (records, h) in enumerate(sizes.items()):
        middle = LEFT + room * (i + 0.5)
        wide = min(60.0, 0.5 * room)
        marks += [
            draw.rect(middle - wide / 2, up(h.q3), wide, max(2.0, up(h.q1) - up(h.q3)), "band"),
            draw.line(middle - wide / 2, up(h.median), middle + wide / 2, up(h.median), "line"),
            draw.dot(middle, up(h.mean), 3, "dot"),
            draw.text(middle, FLOOR + 20, f"{records}"),
        ]
    marks.append(draw.text((LEFT + right) / 2, FLOOR + 40, "known records"))
    sentence = "; ".join(f"{n} known: median {compact(h.median)}, mean {compact(h.mean)}" for n, h in sizes.items())
    return draw.Chart(width, FLOOR + 48, title, f"Sets by known records. {sentence}.", tuple(marks))


ACROSS = 10


def share_out(total: int, alone: int, out: int, fishes: int) -> tuple[int, int, int]:
    """How many of the fish hide, are alone, are left out. Anyone who is alone is never rounded away; nor are all who hide.

    >>> share_out(20000, 19998, 0, 50), share_out(20000, 1, 588, 50), share_out(20000, 0, 0, 50), share_out(7, 1, 0, 7)
    ((1, 49, 0), (48, 1, 1), (50, 0, 0), (6, 1, 0))
    """
    lonely = math.ceil(fishes * alone / total)
    gone = min(round(fishes * out / total), fishes - lonely)
    if total > alone + out and lonely + gone == fishes:
        lonely, gone = (lonely - 1, gone) if lonely > 1 else (lonely, gone - 1)
    return fishes - lonely - gone, lonely, gone


def fish(total: int, alone: int, *, out: int = 0, fishes: int = 50, unit: str = "people") -> draw.Chart:
    """A shoal of at most ``fishes`` for ``total`` people; ``alone`` are one of a kind, ``out`` are left out."""
    n = min(fishes, total)
    hide, lonely, gone = share_out(total, alone, out, n)
    kinds = ["fish-alone"] * lonely + ["fish-out"] * gone + ["fish"] * hide
    marks = [_one(12 + (i % ACROSS) * 33 + (i // ACROSS % 2) * 8, 12 + (i // ACROSS) * 20, kind) for i, kind in enumerate(kinds)]
    parts = [f"{alone:,} of {total:,} {unit} are one of a kind", f"{out:,} are left out" if out else ""]
    rows = -(-n // ACROSS)
    return draw.Chart(346, 14 + 20 * rows, "The shoal", ", ".join(s for s in parts if s) + ".", tuple(marks))


def _one(x: float, y: float, kind: str) -> draw.Mark:
    """A fish of 24 × 10 pixels: right and filled, or left and hollow; a dash where one is missing."""
    if kind == "fish-out":
        return draw.line(x - 8, y, x + 8, y, kind)
    side = 1 if kind == "fish" else -1

    def at(dx: float, dy: float) -> str:
        return f"{draw.place(x + side * dx)},{draw.place(y + dy)}"

    body = f"M{at(-6, 0)}Q{at(3, -10)} {at(12, 0)}Q{at(3, 10)} {at(-6, 0)}"
    tail = f"L{at(-12, -4.5)}L{at(-11, 0)}L{at(-12, 4.5)}Z"
    return draw.Mark("path", kind, (("d", body + tail),))


def caption(total: int, fishes: int = 50, *, alone: bool = True, out: bool = False, unit: str = "people") -> str:
    """What one fish stands for, and what the shapes mean.

    >>> caption(20000), caption(12, alone=False)
    ('Each fish is 400 people. Hollow, swimming left: one of a kind.', 'Each fish is one of them. All hide among others.')
    """
    each = total / fishes
    parts = [
        "Each fish is one of them." if each <= 1 else f"Each fish is {'' if total % fishes == 0 else 'about '}{each:,.0f} {unit}."
    ]
    if alone:
        parts.append("Hollow, swimming left: one of a kind.")
    if out:
        parts.append("Dash: left out.")
    return " ".join(parts if alone or out else [*parts, "All hide among others."])

"""What known records reveal: curves of people alone by granularity, and the sets people hide in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.report.charts.axes import Scale, bottom_axis, left_axis
from shoal.report.charts.curve import KINDS
from shoal.report.charts.marks import Chart, Mark, dot, line, path, rect, shortened, text
from shoal.report.numbers import compact, percent

LEFT, RIGHT, FLOOR, CEILING, WIDTH = 72, 548, 300, 46, 720
MOST_CURVES = 6
"""More cannot be distinguished."""


@dataclass(frozen=True)
class Revealed:
    """A named curve: known records, share of people alone, and the interval where it is not exact."""

    name: str
    points: Sequence[tuple[int, float, float, float]]


def known_records(
    curves: Sequence[Revealed],
    *,
    title: str,
    x: str = "known records",
    y: str = "people alone, %",
    limit: float | None = None,
) -> Chart:
    """Share of people alone against the number of known records; each curve is named at its end, ``limit`` is a dashed level."""
    shown = [c for c in curves if c.points][:MOST_CURVES]
    numbers = sorted({p[0] for c in shown for p in c.points})
    along = Scale(min(numbers), max(max(numbers), min(numbers) + 1), LEFT, RIGHT - 20)
    up = Scale(0, 100, FLOOR, CEILING)
    marks = [
        *left_axis(up, [0, 20, 40, 60, 80, 100], LEFT, RIGHT, y),
        *bottom_axis(along, numbers, FLOOR, x),
    ]
    if limit is not None:
        level = up(100 * limit)
        marks += [
            line(LEFT, level, RIGHT, level, "limit"),
            text(RIGHT, level - 6, f"limit {percent(limit)}", "t-ink", anchor="end"),
        ]
    for i, c in enumerate(shown):
        places = [(along(s), up(100 * share)) for s, share, _, _ in c.points]
        band = [(along(p[0]), up(100 * p[2])) for p in c.points], [(along(p[0]), up(100 * p[3])) for p in c.points]
        if any(p[2] < p[3] for p in c.points):
            marks.append(path([*band[0], *reversed(band[1])], "band", closed=True))
        marks += [path(places, KINDS[i % len(KINDS)]), *(dot(x, y, 3, "dot") for x, y in places)]
    marks += _names(shown, along, up)
    said = "; ".join(f"{c.name}: {percent(c.points[-1][1])} at {c.points[-1][0]}" for c in shown)
    return Chart(WIDTH, FLOOR + 48, title, f"{y} against {x}. {said}.", tuple(marks))


def _names(curves: Sequence[Revealed], along: Scale, up: Scale) -> list[Mark]:
    """The names beside the ends, moved apart where they would lie on each other."""
    order = sorted(curves, key=lambda c: [-p[1] for p in reversed(c.points)])
    marks: list[Mark] = []
    below = CEILING - 18.0
    for c in order:
        end = (along(c.points[-1][0]), up(100 * c.points[-1][1]))
        y = max(end[1], below + 18)
        below = y
        marks += [line(end[0] + 4, end[1], RIGHT + 4, y, "grid"), text(RIGHT + 8, y + 4, shortened(c.name, 24), anchor="start")]
    return marks


@dataclass(frozen=True)
class Hiding:
    """The sets for a number of known records: quartiles and mean."""

    records: int
    q1: float
    median: float
    q3: float
    mean: float


def set_sizes(found: Sequence[Hiding], *, title: str) -> Chart:
    """Boxes from quartile to quartile, a line at the median and a dot at the mean, on a logarithmic axis."""
    top = max(max(h.q3, h.mean) for h in found)
    up = Scale(1, max(10.0, top), FLOOR, CEILING, log=True)
    room = (RIGHT - LEFT) / len(found)
    marks = left_axis(up, up.ticks(6), LEFT, RIGHT, "people who share the known records")
    for i, h in enumerate(found):
        middle = LEFT + room * (i + 0.5)
        wide = min(60.0, 0.5 * room)
        marks += [
            rect(middle - wide / 2, up(h.q3), wide, max(2.0, up(h.q1) - up(h.q3)), "band"),
            line(middle - wide / 2, up(h.median), middle + wide / 2, up(h.median), "line"),
            dot(middle, up(h.mean), 3, "dot"),
            text(middle, FLOOR + 20, f"{h.records}"),
        ]
    marks.append(text((LEFT + RIGHT) / 2, FLOOR + 40, "known records"))
    said = "; ".join(f"{h.records} known: median {compact(h.median)}, mean {compact(h.mean)}" for h in found)
    return Chart(WIDTH, FLOOR + 48, title, f"Sets by known records. {said}.", tuple(marks))

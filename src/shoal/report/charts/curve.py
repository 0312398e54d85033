"""Curves: one number against another, with a band, limits, and the place of this table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.report.charts.axes import Scale, bottom_axis, left_axis, nice
from shoal.report.charts.marks import Chart, Mark, Point, dot, line, path, rect, text
from shoal.report.numbers import compact

KINDS = ("line", "line-dash", "line-dots")


@dataclass(frozen=True)
class Line:
    """A named line; ``band`` is the range around it (low and high per point), ``dots`` draws points instead of a line."""

    name: str
    points: Sequence[Point]
    band: Sequence[tuple[float, float]] = ()
    band_name: str = ""
    dots: bool = False


def curve(
    lines: Sequence[Line],
    *,
    x: str,
    y: str,
    title: str,
    log: bool = False,
    limit: tuple[float, str] | None = None,
    here: tuple[float, str] | None = None,
) -> Chart:
    """Lines over a plane; ``limit`` is a dashed level with its words, ``here`` a dashed place along x with its words.

    With ``log`` both axes are logarithmic; else y begins at 0. The names of the lines stand below the chart.
    """
    left, right, floor, ceiling = 72, 704, 272, 46
    xs = [p[0] for one in lines for p in one.points] + ([here[0]] if here else [])
    ys = [p[1] for one in lines for p in one.points] + [v for one in lines for v in (b[1] for b in one.band)]
    ys += [limit[0]] if limit else []
    along = Scale(min(xs), max(xs), left, right, log)
    up = Scale(min(v for v in ys if v > 0) if log else 0, max(ys) if log else nice(max(ys)), floor, ceiling, log)
    marks = [*left_axis(up, up.ticks(6), left, right, y), *bottom_axis(along, along.ticks(7), floor, x)]
    for i, one in enumerate(lines):
        marks += _line(one, KINDS[i % len(KINDS)], along, up)
    if limit:
        level = up(limit[0])
        marks += [line(left, level, right, level, "limit"), text(right, level - 6, limit[1], "t-ink", anchor="end")]
    if here:
        at = along(here[0])
        end = at > (left + right) / 2
        marks.append(line(at, ceiling - 36, at, floor, "limit"))
        marks.append(text(at - 8 if end else at + 8, ceiling - 26, here[1], "t-ink", anchor="end" if end else "start"))
    named, below = _names(lines, left, floor + 66)
    told = "; ".join(_told(one) for one in lines)
    return Chart(720, floor + 48 + below, title, f"{y} against {x}. {told}.", (*marks, *named))


def _line(one: Line, kind: str, along: Scale, up: Scale) -> list[Mark]:
    place = [(along(a), up(b)) for a, b in one.points]
    if one.dots:
        return [dot(a, b, 2, "dot") for a, b in place]
    marks: list[Mark] = []
    if one.band:
        low = [(along(p[0]), up(b[0])) for p, b in zip(one.points, one.band, strict=True)]
        high = [(along(p[0]), up(b[1])) for p, b in zip(one.points, one.band, strict=True)]
        marks.append(path([*low, *reversed(high)], "band", closed=True))
    return [*marks, path(place, kind)]


def _names(lines: Sequence[Line], left: float, y: float) -> tuple[list[Mark], int]:
    """The key below the chart; none for a single line that the axis names already."""
    if len(lines) == 1 and not lines[0].band:
        return [], 0
    marks: list[Mark] = []
    at = left
    for i, one in enumerate(lines):
        sign = dot(at + 12, y - 4, 3, "dot") if one.dots else line(at, y - 4, at + 24, y - 4, KINDS[i % len(KINDS)])
        marks += [sign, text(at + 32, y, one.name, anchor="start")]
        at += 56 + 6.6 * len(one.name)
        if one.band:
            marks += [rect(at, y - 10, 24, 12, "band"), text(at + 32, y, one.band_name, anchor="start")]
            at += 56 + 6.6 * len(one.band_name)
    return marks, 28


def _told(one: Line) -> str:
    (a, b), (c, d) = one.points[0], one.points[-1]
    return f"{one.name}: {compact(b)} at {compact(a)}, {compact(d)} at {compact(c)}"

"""Box plots: smallest, quartiles and largest per name, on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.report.charts.axes import Scale, powers
from shoal.report.charts.marks import Chart, Mark, line, rect, shortened, text
from shoal.report.numbers import compact

HIGH = 24
Box = tuple[str, float, float, float, float, float]
"""Name, smallest, quartile 1, median, quartile 3, largest; all above 0."""


def boxes(rows: Sequence[Box], *, title: str, x: str) -> Chart:
    """One box per name: from quartile to quartile, a line at the median, whiskers to the smallest and largest."""
    shown = [shortened(r[0], 24) for r in rows]
    left = 24 + int(6.6 * max(map(len, shown), default=4))
    right = max(left + 360, 704)
    along = Scale(min(r[1] for r in rows), max(max(r[5] for r in rows), min(r[1] for r in rows) * 10), left, right, log=True)
    floor = 8 + HIGH * len(rows)
    ticks = powers(along.low, along.high)
    marks: list[Mark] = [line(along(t), 4, along(t), floor, "grid") for t in ticks]
    for i, (_, least, q1, median, q3, most) in enumerate(rows):
        y, top = 8 + i * HIGH + HIGH / 2 - 2, 8 + i * HIGH + 3
        marks.append(text(left - 10, y + 5, shown[i], anchor="end"))
        marks += [line(along(least), y, along(q1), y, "axis"), line(along(q3), y, along(most), y, "axis")]
        marks.append(rect(along(q1), top, max(1.5, along(q3) - along(q1)), HIGH - 10, "series1"))
        marks.append(line(along(median), top, along(median), top + HIGH - 10, "step"))
    marks.append(line(left, floor, right, floor, "axis"))
    marks += [text(along(t), floor + 18, compact(t)) for t in ticks]
    marks.append(text((left + right) / 2, floor + 38, x, "t-soft"))
    told = "; ".join(f"{r[0]}: {compact(r[1])}, {compact(r[2])}, {compact(r[3])}, {compact(r[4])}, {compact(r[5])}" for r in rows)
    return Chart(right + 24, floor + 48, title, f"{x}: smallest, quartiles, largest. {told}.", tuple(marks))

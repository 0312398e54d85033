"""Horizontal bars: a share per name, with an earlier state as a line where there is one."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.report.charts.axes import Scale
from shoal.report.charts.marks import Chart, Mark, line, rect, shortened, text
from shoal.report.numbers import percent

HIGH = 26


def bars(
    names: Sequence[str], shares: Sequence[float | None], *, title: str, x: str, marks_at: Sequence[float | None] = ()
) -> Chart:
    """One bar per name from 0 to 100 %; a place without a number says so. ``marks_at`` are dashes across the bars."""
    shown = [shortened(name, 24) for name in names]
    left = 24 + int(6.6 * max(map(len, shown), default=4))
    right = max(left + 320, 640)
    along = Scale(0, 1, left, right)
    floor = 8 + HIGH * len(names)
    drawn: list[Mark] = [line(along(t), 4, along(t), floor, "grid") for t in (0, 0.25, 0.5, 0.75, 1)]
    for i, (name, share) in enumerate(zip(shown, shares, strict=True)):
        y = 8 + i * HIGH
        drawn.append(text(left - 10, y + 15, name, anchor="end"))
        if share is None:
            drawn.append(text(left + 6, y + 15, "not known", "t-soft", anchor="start"))
            continue
        wide = along(min(max(share, 0.0), 1.0)) - left
        drawn.append(rect(left, y + 3, wide, HIGH - 8, "safe" if share > 0.005 else "risk", round_=2))
        drawn.append(text(right + 12, y + 15, percent(share), anchor="start"))
        mark = marks_at[i] if i < len(marks_at) else None
        if mark is not None:
            drawn.append(line(along(mark), y, along(mark), y + HIGH - 2, "limit"))
    drawn += [text(along(t), floor + 18, f"{100 * t:g} %") for t in (0, 0.25, 0.5, 0.75, 1)]
    drawn.append(text((left + right) / 2, floor + 38, x, "t-soft"))
    told = "; ".join(f"{n}: {'not known' if s is None else percent(s)}" for n, s in zip(names, shares, strict=True))
    return Chart(right + 88, floor + 48, title, f"{x}. {told}.", tuple(drawn))

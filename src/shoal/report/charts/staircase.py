"""A staircase: how the crowd shrinks, question by question."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.report.charts.axes import Scale, left_axis, powers
from shoal.report.charts.marks import Chart, Mark, fits, hatched, line, path, rect, shortened, text
from shoal.report.numbers import compact


def staircase(
    names: Sequence[str], crowd: Sequence[float], *, title: str, y: str, few: float = 10, few_words: str = "too small to hide in"
) -> Chart:
    """One step per name on a logarithmic scale, the figure on its step; steps below ``few`` are hatched."""
    shown = [shortened(name, 24) for name in names]
    step = max(64.0, min(120.0, 640 / len(names)))
    left, floor, ceiling = 72, 254, 52
    right = left + step * len(names)
    up = Scale(0.8, max(10.0, *crowd), floor, ceiling, log=True)
    marks: list[Mark] = left_axis(up, powers(1, up.high), left, right, y)
    for i, people in enumerate(crowd):
        x, at = left + i * step, up(max(people, 0.8))
        if people < few:
            marks += hatched(x, at, step, floor - at, "risk", "hatch")
        else:
            marks.append(rect(x, at, step, floor - at, "band"))
    edge = [(left + (i + d) * step, up(max(people, 0.8))) for i, people in enumerate(crowd) for d in (0, 1)]
    marks.append(path(edge, "line"))
    marks.append(line(left, floor, right, floor, "axis"))
    level = up(few)
    marks += [
        line(left, level, right, level, "limit"),
        text(right, level - 6, f"under {compact(few)}: {few_words}", "t-ink", anchor="end"),
    ]
    turned = not fits(shown, step - 8)
    for i, (name, people) in enumerate(zip(shown, crowd, strict=True)):
        middle = left + (i + 0.5) * step
        marks.append(text(middle, up(max(people, 0.8)) - 8, _people(people), "t-ink"))
        marks.append(text(middle, floor + 18, name, anchor="end" if turned else "middle", turn=-35 if turned else 0))
    below = int(4 * max(map(len, shown))) if turned else 0
    told = "; ".join(f"{name}: {_people(people)}" for name, people in zip(names, crowd, strict=True))
    return Chart(int(right) + 16, floor + 34 + below, title, f"{y}. {told}.", tuple(marks))


def _people(value: float) -> str:
    """Whole people; fewer than ten with a decimal, never as none.

    >>> _people(1234.4), _people(3.27), _people(0.04)
    ('1,234', '3.3', 'under 1')
    """
    if value < 0.95:
        return "under 1"
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}".removesuffix(".0")

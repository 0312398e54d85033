"""Counts over time, stacked by who and why, with refusals and a limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.report.charts.axes import Scale, left_axis, nice, steps
from shoal.report.charts.marks import Chart, Mark, fits, hatched, line, rect, text

PATTERNS = ("series0", "series1", "series2", "series3")
STRIPES = {"series1": "stripe1", "series3": "stripe3"}


def timeline(
    periods: Sequence[str],
    series: Mapping[str, Sequence[int]],
    *,
    title: str,
    y: str,
    refused: Sequence[int] = (),
    limit: tuple[int, str] | None = None,
) -> Chart:
    """Stacked bars per period, one pattern per series; a cross at the number of refusals; a dashed limit where it is in sight."""
    series = joined(series)
    sums = [sum(one[i] for one in series.values()) for i in range(len(periods))]
    most = max([1, *sums, *refused])
    limit = limit if limit and limit[0] <= 2 * most else None
    top = max(nice(max(most, limit[0] if limit else 1)), 2)
    left, right, floor, ceiling = 64, 704, 246, 48
    up = Scale(0, top, floor, ceiling)
    marks: list[Mark] = left_axis(up, [t for t in steps(0, top, 5) if t == int(t)], left, right, y)
    step = min(96.0, (right - left) / max(1, len(periods)))
    for i in range(len(periods)):
        marks += _stack(left + i * step, min(48.0, step * 0.7), step, [one[i] for one in series.values()], up)
        if refused and refused[i]:
            marks += _cross(left + (i + 0.5) * step + min(48.0, step * 0.7) / 2 + 8, up(refused[i]))
    marks.append(line(left, floor, right, floor, "axis"))
    if limit:
        marks += [line(left, up(limit[0]), right, up(limit[0]), "limit")]
        marks += [text(right, up(limit[0]) - 6, f"{limit[1]}: {limit[0]:,}", "t-ink", anchor="end")]
    marks += _labels(periods, left, step, floor)
    key = _key(list(series), any(refused), left, floor + 52)
    told = "; ".join(f"{p}: {n:,}" for p, n in zip(periods, sums, strict=True)) or "nothing yet"
    return Chart(720, int(floor + 48 + 20 * (len(series) + any(refused))), title, f"{y}. {told}.", (*marks, *key))


def _cross(x: float, y: float) -> list[Mark]:
    return [line(x - 4, y - 4, x + 4, y + 4, "cross"), line(x - 4, y + 4, x + 4, y - 4, "cross")]


def joined(series: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    """At most as many series as there are patterns: the largest by name, the others together.

    >>> joined({"a": [1], "b": [9], "c": [8], "d": [7], "e": [2]})
    {'b': [9], 'c': [8], 'd': [7], '2 others': [3]}
    """
    if len(series) <= len(PATTERNS):
        return dict(series)
    large = sorted(series, key=lambda name: -sum(series[name]))[: len(PATTERNS) - 1]
    rest = [numbers for name, numbers in series.items() if name not in large]
    kept = {name: numbers for name, numbers in series.items() if name in large}
    return {**kept, f"{len(rest)} others": [sum(numbers) for numbers in zip(*rest, strict=True)]}


def _stack(x: float, wide: float, step: float, heights: Sequence[int], up: Scale) -> list[Mark]:
    marks: list[Mark] = []
    base, start = 0, x + (step - wide) / 2
    for number, height in enumerate(heights):
        kind = PATTERNS[number % len(PATTERNS)]
        if height:
            y, tall = up(base + height), up(base) - up(base + height)
            striped = kind in STRIPES
            marks += hatched(start, y, wide, tall, kind, STRIPES[kind]) if striped else [rect(start, y, wide, tall, kind)]
        base += height
    return [*marks, text(start + wide / 2, up(base) - 6, f"{base:,}", "t-ink")] if base else marks


def _labels(periods: Sequence[str], left: float, step: float, floor: float) -> list[Mark]:
    """As many periods as can stand beside each other."""
    every = 1
    while periods and not fits([periods[0] + "  "], step * every):
        every += 1
    return [text(left + (i + 0.5) * step, floor + 18, p) for i, p in enumerate(periods) if i % every == 0]


def _key(names: Sequence[str], refused: bool, left: float, y: float) -> list[Mark]:
    marks: list[Mark] = []
    for number, name in enumerate(names):
        kind, at = PATTERNS[number % len(PATTERNS)], y + 20 * number
        striped = kind in STRIPES
        marks += hatched(left, at - 10, 24, 12, kind, STRIPES[kind]) if striped else [rect(left, at - 10, 24, 12, kind)]
        marks.append(text(left + 32, at, name, anchor="start"))
    if refused:
        at = y + 20 * len(names)
        marks += _cross(left + 12, at - 4)
        marks.append(text(left + 32, at, "refusals and alarms", anchor="start"))
    return marks

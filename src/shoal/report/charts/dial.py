"""A dial: a share as a half circle, the zone that is aimed for, the needle, and the interval as a bracket."""

from __future__ import annotations

import math

from shoal.report.charts.marks import Chart, Mark, line, path, text
from shoal.report.numbers import percent

LEAST = 0.0001

WIDTH, HEIGHT = 420, 252
X, Y, OUTER, INNER = 210.0, 200.0, 150.0, 126.0


def dial(value: float, interval: tuple[float, float], target: float, *, title: str) -> Chart:
    """``value`` between 0 and 1 with its interval; up to ``target`` is met. The number stands in the middle, so that nobody has
    to read the needle; below the target the arc is plain, above it hatched by lines.
    """
    met = value <= target
    marks: list[Mark] = [
        _arc(0, 1, INNER, OUTER, "track"),
        _arc(0, min(value, target), INNER, OUTER, "met-area"),
    ]
    if not met:
        marks.append(_arc(target, value, INNER, OUTER, "risk"))
        marks += [line(*_at(s, INNER), *_at(s, OUTER), "hatch") for s in _between(target, value)]
    marks += [
        line(*_at(target, INNER - 8), *_at(target, OUTER + 8), "limit"),
        line(*_at(value, INNER - 18), *_at(value, OUTER + 4), "needle"),
        path([_at(s, OUTER + 14) for s in _steps(*interval)], "line"),
        *(line(*_at(s, OUTER + 9), *_at(s, OUTER + 19), "line") for s in interval),
    ]
    low, high = (share_words(end) for end in interval)
    aim = "aim: " + percent(target)
    marks += [
        text(X, Y - 44, share_words(value), "t-big-met" if met else "t-big-risk"),
        text(X, Y - 20, "would be one of a kind", "t-ink"),
        text(X, Y + 2, f"between {low} and {high}", "t"),
        text(X - (OUTER + INNER) / 2, Y + 18, "0 %"),
        text(X + (OUTER + INNER) / 2, Y + 18, "100 %"),
        text(X, Y + 40, f"{aim}: {'✓ met' if met else '✕ not met'}", "t-ink"),
    ]
    told = f"{share_words(value)}, between {low} and {high}; {aim}, {'met' if met else 'not met'}."
    return Chart(WIDTH, HEIGHT, title, told, tuple(marks))


def share_words(share: float) -> str:
    """A share with two figures; nobody reads more from a dial.

    >>> share_words(0.6321), share_words(0.0317), share_words(1e-12), share_words(0.0), share_words(0.998)
    ('63 %', '3.2 %', 'under 0.01 %', '0 %', '99.8 %')
    """
    if 0 < share < LEAST:
        return "under 0.01 %"
    return percent(share) if share > 0.99 else percent(float(f"{share:.2g}"))


def _at(share: float, radius: float) -> tuple[float, float]:
    angle = math.pi * (1 - min(1.0, max(0.0, share)))
    return X + radius * math.cos(angle), Y - radius * math.sin(angle)


def _arc(start: float, end: float, inner: float, outer: float, kind: str) -> Mark:
    """A part of the ring."""
    shares = _steps(start, end)
    return path([*(_at(s, outer) for s in shares), *(_at(s, inner) for s in reversed(shares))], kind, closed=True)


def _steps(start: float, end: float) -> list[float]:
    many = max(1, math.ceil(60 * (end - start)))
    return [start + (end - start) * i / many for i in range(many + 1)]


def _between(start: float, end: float, gap: float = 0.02) -> list[float]:
    return [start + gap * i for i in range(1, math.ceil((end - start) / gap))]

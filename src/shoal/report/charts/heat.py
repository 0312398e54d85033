"""Pairs of columns: a lower triangle with the share in every cell, in six fixed steps of one hue."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.report.charts.marks import Chart, Mark, fits, rect, shortened, text
from shoal.report.numbers import short_percent

STEPS = ("under 1", "1–9", "10–39", "40–69", "70–94", "95–100 %")


def step_of(share: float) -> int:
    """Which of the six steps a share is in, by the number that is written in its cell.

    >>> [step_of(s) for s in (0, 0.0099, 0.01, 0.094, 0.096, 0.39, 0.4, 0.69, 0.7, 0.944, 0.946, 1)]
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    """
    if share < 0.01:
        return 0
    whole = round(100 * share)
    return 1 + sum(whole > last for last in (9, 39, 69, 94))


def heat_map(names: Sequence[str], shares: Sequence[Sequence[float]], *, title: str, counted: str = "one of a kind") -> Chart:
    """Share of people per pair of names; the dashed diagonal is each name alone."""
    n = len(names)
    shown = [shortened(name, 22) for name in names]
    longest = 6.6 * max(map(len, shown))
    wide, high = (min(max(84.0, longest + 12), 116.0), 44) if n <= 7 else (58.0, 34)
    left, top = 24 + longest, 8
    marks: list[Mark] = []
    for i in range(n):
        y = top + i * high
        marks.append(text(left - 10, y + high / 2 + 4, shown[i], anchor="end"))
        for j in range(i + 1):
            x, step = left + j * wide, step_of(shares[i][j])
            marks.append(rect(x + 1, y + 1, wide - 2, high - 2, f"heat{step}", round_=3))
            if i == j:
                marks.append(rect(x + 1.5, y + 1.5, wide - 3, high - 3, "alone", round_=3))
            marks.append(text(x + wide / 2, y + high / 2 + 4, short_percent(shares[i][j]), f"t-heat{step}"))
    floor = top + n * high
    turned = not fits(shown, wide - 6)
    for j, name in enumerate(shown):
        at = left + (j + 0.5) * wide
        marks.append(text(at, floor + 16, name, anchor="end" if turned else "middle", turn=-35 if turned else 0))
    key = floor + 44 + (int(3.8 * max(map(len, shown))) if turned else 0)
    marks += _key(left, key, counted)
    width = 8 + int(max(left + n * wide, left + len(STEPS) * 62 + 16))
    told = "; ".join(f"{names[i]} and {names[j]}: {short_percent(shares[i][j])} %" for i in range(n) for j in range(i))
    alone = "; ".join(f"{names[i]} alone: {short_percent(shares[i][i])} %" for i in range(n))
    return Chart(width, key + 28, title, f"Percent {counted}. {alone}; {told}." if told else f"{alone}.", tuple(marks))


def _key(left: float, y: float, counted: str) -> list[Mark]:
    marks = [text(left - 10, y + 10, f"{counted}:", "t-soft", anchor="end")] if left > 16 + 6.6 * len(counted) else []
    for i, words in enumerate(STEPS):
        marks += [rect(left + i * 62, y, 60, 10, f"heat{i}", round_=2), text(left + i * 62 + 30, y + 25, words)]
    return marks

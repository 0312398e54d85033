"""Charts of shares by name: bars, boxes, a heat map, a dial, and values before and after they are grouped."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shoal.report.charts.drawing import Chart, Mark, Scale, fits, line, nice, path, powers, rect, shortened, text
from shoal.report.numbers import compact, percent, short_percent

HIGH = 26


def bars(names: Sequence[str], shares: Sequence[float | None], *, title: str, x: str) -> Chart:
    """One bar per name from 0 to 100 %; a place without a number says so."""
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
    drawn += [text(along(t), floor + 18, f"{100 * t:g} %") for t in (0, 0.25, 0.5, 0.75, 1)]
    drawn.append(text((left + right) / 2, floor + 38, x, "t-soft"))
    sentence = "; ".join(f"{n}: {'not known' if s is None else percent(s)}" for n, s in zip(names, shares, strict=True))
    return Chart(right + 88, floor + 48, title, f"{x}. {sentence}.", tuple(drawn))


BOX_HEIGHT = 24
Box = tuple[str, float, float, float, float, float]
"""Name, smallest, quartile 1, median, quartile 3, largest; all above 0."""


def boxes(rows: Sequence[Box], *, title: str, x: str) -> Chart:
    """One box per name: from quartile to quartile, a line at the median, whiskers to the smallest and largest."""
    shown = [shortened(r[0], 24) for r in rows]
    left = 24 + int(6.6 * max(map(len, shown), default=4))
    right = max(left + 360, 704)
    along = Scale(min(r[1] for r in rows), max(max(r[5] for r in rows), min(r[1] for r in rows) * 10), left, right, log=True)
    floor = 8 + BOX_HEIGHT * len(rows)
    ticks = powers(along.low, along.high)
    marks: list[Mark] = [line(along(t), 4, along(t), floor, "grid") for t in ticks]
    for i, (_, least, q1, median, q3, most) in enumerate(rows):
        y, top = 8 + i * BOX_HEIGHT + BOX_HEIGHT / 2 - 2, 8 + i * BOX_HEIGHT + 3
        marks.append(text(left - 10, y + 5, shown[i], anchor="end"))
        marks += [line(along(least), y, along(q1), y, "axis"), line(along(q3), y, along(most), y, "axis")]
        marks.append(rect(along(q1), top, max(1.5, along(q3) - along(q1)), BOX_HEIGHT - 10, "series1"))
        marks.append(line(along(median), top, along(median), top + BOX_HEIGHT - 10, "step"))
    marks.append(line(left, floor, right, floor, "axis"))
    marks += [text(along(t), floor + 18, compact(t)) for t in ticks]
    marks.append(text((left + right) / 2, floor + 38, x, "t-soft"))
    sentence = "; ".join(
        f"{r[0]}: {compact(r[1])}, {compact(r[2])}, {compact(r[3])}, {compact(r[4])}, {compact(r[5])}" for r in rows
    )
    return Chart(right + 24, floor + 48, title, f"{x}: smallest, quartiles, largest. {sentence}.", tuple(marks))


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


def heat_map(
    names: Sequence[str], shares: Sequence[Sequence[float]], *, title: str, counted: str = "one of a kind", room: int = 0
) -> Chart:
    """Share of people per pair of names; the dashed diagonal is each name alone. ``room``: the width, if it is narrow."""
    n = len(names)
    shown = [shortened(name, 12 if room else 22) for name in names]
    longest = 6.6 * max(map(len, shown))
    wide, high = (min(max(84.0, longest + 12), 116.0), 44) if n <= 7 else (58.0, 34)
    left, top = (12 if room else 24) + longest, 8
    wide = (room - 8 - left) / n if room else wide
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
    marks += _key(left, key, counted) if not room else _key(8, key, counted, (room - 16) / len(STEPS))
    width = room or 8 + int(max(left + n * wide, left + len(STEPS) * 62 + 16))
    sentence = "; ".join(f"{names[i]} and {names[j]}: {short_percent(shares[i][j])} %" for i in range(n) for j in range(i))
    alone = "; ".join(f"{names[i]} alone: {short_percent(shares[i][i])} %" for i in range(n))
    return Chart(width, key + 28, title, f"Percent {counted}. {alone}; {sentence}." if sentence else f"{alone}.", tuple(marks))


def _key(left: float, y: float, counted: str, step: float = 62) -> list[Mark]:
    marks = [text(left - 10, y + 10, f"{counted}:", "t-soft", anchor="end")] if left > 16 + 6.6 * len(counted) else []
    for i, words in enumerate(STEPS):
        at = left + i * step
        marks += [rect(at, y, step - 2, 10, f"heat{i}", round_=2), text(at + step / 2 - 1, y + 25, words)]
    return marks


LEAST = 0.0001

WIDTH, HEIGHT = 420, 252
X, Y, OUTER, INNER = 210.0, 200.0, 150.0, 126.0


def dial(value: float, interval: tuple[float, float], target: float, *, title: str) -> Chart:
    """``value`` between 0 and 1 with its interval; up to ``target`` is met. The number stands in the middle, so that nobody has
    to read the needle; below the target the arc is plain, above it hatched by lines.
    """
    met = value <= target
    marks: list[Mark] = [_arc(0, 1, INNER, OUTER, "track"), _arc(0, min(value, target), INNER, OUTER, "met-area")]
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
    caption = f"{share_words(value)}, between {low} and {high}; {aim}, {'met' if met else 'not met'}."
    return Chart(WIDTH, HEIGHT, title, caption, tuple(marks))


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


LEFT = 48
MOST_NAMED = 14


def before_after(before: Sequence[int], after: Sequence[tuple[str, int]], *, title: str, values: int, width: int = 440) -> Chart:
    """``before`` are records by value in order, ``values`` how many there are; ``after`` records by the label of each group."""
    right = width - 16
    marks: list[Mark] = [text(LEFT, 16, f"before: records of {values:,} values, in their order", "t-soft", anchor="start")]
    marks += _panel(before, 28, 108, "series2", right)
    several = "group" if len(after) == 1 else "groups"
    marks.append(text(LEFT, 132, f"after: records of {len(after):,} {several}", "t-soft", anchor="start"))
    marks += _panel([n for _, n in after], 152, 240, "safe", right)
    names = [shortened(name, 18) for name, _ in after]
    below = 0
    if 0 < len(after) <= MOST_NAMED:
        step = (right - LEFT) / len(after)
        turned = not fits(names, step - 4)
        below = int(4.4 * max(map(len, names))) if turned else 0
        top = max(n for _, n in after)
        up = Scale(0, nice(top), 240, 152)
        for i, (name, (_, n)) in enumerate(zip(names, after, strict=True)):
            middle = LEFT + (i + 0.5) * step
            if fits([f"{n:,}"], step):
                marks.append(text(middle, up(n) - 5, f"{n:,}", "t-ink"))
            marks.append(text(middle, 258, name, anchor="end" if turned else "middle", turn=-35 if turned else 0))
    listed = "; ".join(f"{name}: {n:,}" for name, n in after[:MOST_NAMED])
    sentence = f"Before: {values:,} values. After: {len(after):,} {several}. {listed}."
    return Chart(width, 270 + below, title, sentence, tuple(marks))


def _panel(bars: Sequence[int], ceiling: float, floor: float, kind: str, right: float) -> list[Mark]:
    """Bars from the left to the right edge, over a floor."""
    drawn = [line(LEFT, floor, right, floor, "axis")]
    if not bars:
        return [text(LEFT, floor - 8, "too few to be shown", "t-soft", anchor="start"), *drawn]
    up, step = Scale(0, nice(max(bars)), floor, ceiling), (right - LEFT) / len(bars)
    gap = 1.5 if step > 8 else 0.5
    drawn += [text(LEFT - 6, up(n) + 4, compact(n), anchor="end") for n in (0, nice(max(bars)))]
    return [rect(LEFT + i * step + gap / 2, up(n), step - gap, floor - up(n), kind) for i, n in enumerate(bars)] + drawn

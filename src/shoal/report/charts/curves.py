"""Curves: one number against another, with a band, limits, and the place of this table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.report.charts import drawing as draw
from shoal.report.numbers import compact, percent

KINDS = ("line", "line-dash", "line-dots")


@dataclass(frozen=True)
class Line:
    """A named line; ``band`` is the range around it (low and high per point), ``dots`` draws points instead of a line."""

    name: str
    points: Sequence[draw.Point]
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
    width: int = 720,
) -> draw.Chart:
    """Lines over a plane; ``limit`` is a dashed level with its words, ``here`` a dashed place along x with its words.

    With ``log`` both axes are logarithmic; else y begins at 0. The names of the lines stand below the chart.
    """
    left, right, floor, ceiling = 72, width - 16, 272, 46
    xs = [p[0] for one in lines for p in one.points] + ([here[0]] if here else [])
    ys = [p[1] for one in lines for p in one.points] + [v for one in lines for v in (b[1] for b in one.band)]
    ys += [limit[0]] if limit else []
    along = draw.Scale(min(xs), max(xs), left, right, log)
    up = draw.Scale(min(v for v in ys if v > 0) if log else 0, max(ys) if log else draw.nice(max(ys)), floor, ceiling, log)
    marks = [
        *draw.left_axis(up, up.ticks(6), left, right, y),
        *draw.bottom_axis(along, along.ticks(7 if width > 400 else 3), floor, x),
    ]
    for i, one in enumerate(lines):
        marks += _line(one, KINDS[i % len(KINDS)], along, up)
    if limit:
        level = up(limit[0])
        marks += [draw.line(left, level, right, level, "limit"), draw.text(right, level - 6, limit[1], "t-ink", anchor="end")]
    if here:
        at = along(here[0])
        end = at > (left + right) / 2
        marks.append(draw.line(at, ceiling - 36, at, floor, "limit"))
        marks.append(draw.text(at - 8 if end else at + 8, ceiling - 26, here[1], "t-ink", anchor="end" if end else "start"))
    named, below = _names(lines, left if width > 400 else 8, floor + 66, width)
    sentence = "; ".join(_describe_line(one) for one in lines)
    return draw.Chart(width, floor + 48 + below, title, f"{y} against {x}. {sentence}.", (*marks, *named))


def _line(one: Line, kind: str, along: draw.Scale, up: draw.Scale) -> list[draw.Mark]:
    place = [(along(a), up(b)) for a, b in one.points]
    if one.dots:
        return [draw.dot(a, b, 2, "dot") for a, b in place]
    marks: list[draw.Mark] = []
    if one.band:
        low = [(along(p[0]), up(b[0])) for p, b in zip(one.points, one.band, strict=True)]
        high = [(along(p[0]), up(b[1])) for p, b in zip(one.points, one.band, strict=True)]
        marks.append(draw.path([*low, *reversed(high)], "band", closed=True))
    return [*marks, draw.path(place, kind)]


def _names(lines: Sequence[Line], left: float, y: float, width: int) -> tuple[list[draw.Mark], int]:
    """The key below the chart; none for a single line that the axis names already. If there is little room, a row each."""
    if len(lines) == 1 and not lines[0].band:
        return [], 0
    marks: list[draw.Mark] = []
    at, first = left, y
    for i, one in enumerate(lines):
        if i and width <= 400:
            at, y = left, y + 18
        sign = draw.dot(at + 12, y - 4, 3, "dot") if one.dots else draw.line(at, y - 4, at + 24, y - 4, KINDS[i % len(KINDS)])
        marks += [sign, draw.text(at + 32, y, one.name, anchor="start")]
        at += 56 + 6.6 * len(one.name)
        if one.band:
            marks += [draw.rect(at, y - 10, 24, 12, "band"), draw.text(at + 32, y, one.band_name, anchor="start")]
            at += 56 + 6.6 * len(one.band_name)
    return marks, 28 + int(y - first)


def _describe_line(one: Line) -> str:
    (a, b), (c, d) = one.points[0], one.points[-1]
    return f"{one.name}: {compact(b)} at {compact(a)}, {compact(d)} at {compact(c)}"


def rising(
    names: Sequence[str],
    people: Sequence[int],
    total: int,
    *,
    title: str,
    y: str = "people one of a kind",
    joined: str = "+ ",
    width: int = 560,
    outlined: Sequence[int] = (),
) -> draw.Chart:
    """One hatched step per name, the figure on its step; each step holds the names before it, too (``joined`` says so).

    ``outlined`` is a second number per step, drawn as a dashed edge above the first. ``width`` is that of all steps together.
    """
    shown = [draw.shortened(name, 20) if i == 0 else joined + draw.shortened(name, 18) for i, name in enumerate(names)]
    left, floor, ceiling = 64, 214, 46
    least = 60.0 if width >= 560 else 48.0 if width >= 300 else 18.0
    step = max(least, min(130.0, width / len(names)))
    right = left + step * len(names)
    up = draw.Scale(0, 1, floor, ceiling)
    marks: list[draw.Mark] = draw.left_axis(up, draw.steps(0, 1, 4), left, right, y, percent)
    shares = [n / total for n in people]
    for i, share in enumerate(shares):
        if share:
            marks += draw.hatched(left + i * step, up(share), step, floor - up(share), "risk", "hatch")
    edge = [(left + (i + d) * step, up(share)) for i, share in enumerate(shares) for d in (0, 1)]
    around = [(left + (i + d) * step, up(n / total)) for i, n in enumerate(outlined) for d in (0, 1)]
    marks += [draw.path(around, "limit")] if around else []
    marks += [draw.path(edge, "step"), draw.line(left, floor, right, floor, "axis")]
    turn, deep = (0, 0.0) if draw.fits(shown, step - 6) else (-35, 4.2) if step >= 26 else (-60, 5.8)
    for i, (n, share) in enumerate(zip(people, shares, strict=True)):
        middle, at, dashed = left + (i + 0.5) * step, up(share), up(outlined[i] / total) if outlined else floor
        at = dashed if at - 24 < dashed < at - 4 else at  # the figure does not stand on the dashed edge
        again = step < 30 and i + 1 < len(names) and people[i + 1] == n  # narrow steps of one height have one figure
        if i == len(names) - 1 or (not again and draw.fits([f"{n:,}"], step - 4)):
            marks.append(draw.text(middle, at - 8, f"{n:,}", "t-ink"))
        marks.append(draw.text(middle, floor + 18, shown[i], anchor="end" if turn else "middle", turn=turn))
    below = int(deep * max(map(len, shown)))
    sentence = "; ".join(f"{name}: {n:,}" for name, n in zip(shown, people, strict=True))
    return draw.Chart(int(right) + 16, floor + 30 + below, title, f"{y} of {total:,}. {sentence}.", tuple(marks))


def staircase(
    names: Sequence[str], crowd: Sequence[float], *, title: str, y: str, few: float = 10, width: int = 640
) -> draw.Chart:
    """One step per name on a logarithmic scale, the figure on its step; steps below ``few`` are hatched."""
    shown = [draw.shortened(name, 24) for name in names]
    least = 64.0 if width >= 640 else 18.0
    step = max(least, min(120.0, width / len(names)))
    left, floor, ceiling = 72, 254, 52
    right = left + step * len(names)
    up = draw.Scale(0.8, max(10.0, *crowd), floor, ceiling, log=True)
    marks: list[draw.Mark] = draw.left_axis(up, draw.powers(1, up.high), left, right, y)
    for i, people in enumerate(crowd):
        x, at = left + i * step, up(max(people, 0.8))
        if people < few:
            marks += draw.hatched(x, at, step, floor - at, "risk", "hatch")
        else:
            marks.append(draw.rect(x, at, step, floor - at, "band"))
    edge = [(left + (i + d) * step, up(max(people, 0.8))) for i, people in enumerate(crowd) for d in (0, 1)]
    marks.append(draw.path(edge, "line"))
    marks.append(draw.line(left, floor, right, floor, "axis"))
    turned = not draw.fits(shown, step - 8)
    below = int(4 * max(map(len, shown))) if turned else 0
    level, end, small = up(few), right if least > 18 else max(right, left + 216), f"under {compact(few)}: too small to hide in"
    marks.append(draw.line(left, level, right, level, "limit"))
    if least > 18:
        marks.append(draw.text(right, level - 6, small, "t-ink", anchor="end"))
    else:  # beside the line it would stand across the steps
        marks.append(draw.text(end, floor + 34 + below, f"dashed: {small}", "t-ink", anchor="end"))
    for i, (name, people) in enumerate(zip(shown, crowd, strict=True)):
        middle = left + (i + 0.5) * step
        if least > 18 or i == len(names) - 1 or draw.fits([_people(people)], step - 8):
            marks.append(draw.text(middle, up(max(people, 0.8)) - 8, _people(people), "t-ink"))
        marks.append(draw.text(middle, floor + 18, name, anchor="end" if turned else "middle", turn=-35 if turned else 0))
    sentence = "; ".join(f"{name}: {_people(people)}" for name, people in zip(names, crowd, strict=True))
    return draw.Chart(int(end) + 16, floor + (34 if least > 18 else 50) + below, title, f"{y}. {sentence}.", tuple(marks))


def _people(value: float) -> str:
    """Whole people; fewer than ten with a decimal, never as none.

    >>> _people(1234.4), _people(3.27), _people(0.04)
    ('1,234', '3.3', 'under 1')
    """
    if value < 0.95:
        return "under 1"
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}".removesuffix(".0")


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
    width: int = 720,
) -> draw.Chart:
    """Stacked bars per period, one pattern per series; a cross at the number of refusals; a dashed limit where it is in sight."""
    series = joined(series)
    sums = [sum(one[i] for one in series.values()) for i in range(len(periods))]
    most = max([1, *sums, *refused])
    limit = limit if limit and limit[0] <= 2 * most else None
    top = max(draw.nice(max(most, limit[0] if limit else 1)), 2)
    left, right, floor, ceiling = 64, width - 16, 246, 48
    up = draw.Scale(0, top, floor, ceiling)
    marks: list[draw.Mark] = draw.left_axis(up, [t for t in draw.steps(0, top, 5) if t == int(t)], left, right, y)
    step = min(96.0, (right - left) / max(1, len(periods)))
    for i in range(len(periods)):
        marks += _stack(left + i * step, min(48.0, step * 0.7), step, [one[i] for one in series.values()], up)
        if refused and refused[i]:
            marks += _cross(left + (i + 0.5) * step + min(48.0, step * 0.7) / 2 + 8, up(refused[i]))
    marks.append(draw.line(left, floor, right, floor, "axis"))
    if limit:
        marks += [draw.line(left, up(limit[0]), right, up(limit[0]), "limit")]
        marks += [draw.text(right, up(limit[0]) - 6, f"{limit[1]}: {limit[0]:,}", "t-ink", anchor="end")]
    marks += _labels(periods, left, step, floor)
    key = _key(list(series), any(refused), left, floor + 52)
    sentence = "; ".join(f"{p}: {n:,}" for p, n in zip(periods, sums, strict=True)) or "nothing yet"
    return draw.Chart(width, int(floor + 48 + 20 * (len(series) + any(refused))), title, f"{y}. {sentence}.", (*marks, *key))


def _cross(x: float, y: float) -> list[draw.Mark]:
    return [draw.line(x - 4, y - 4, x + 4, y + 4, "cross"), draw.line(x - 4, y + 4, x + 4, y - 4, "cross")]


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


def _stack(x: float, wide: float, step: float, heights: Sequence[int], up: draw.Scale) -> list[draw.Mark]:
    marks: list[draw.Mark] = []
    base, start = 0, x + (step - wide) / 2
    for number, height in enumerate(heights):
        kind = PATTERNS[number % len(PATTERNS)]
        if height:
            marks += _pattern(start, up(base + height), wide, up(base) - up(base + height), kind)
        base += height
    return [*marks, draw.text(start + wide / 2, up(base) - 6, f"{base:,}", "t-ink")] if base else marks


def _pattern(x: float, y: float, wide: float, tall: float, kind: str) -> list[draw.Mark]:
    return draw.hatched(x, y, wide, tall, kind, STRIPES[kind]) if kind in STRIPES else [draw.rect(x, y, wide, tall, kind)]


def _labels(periods: Sequence[str], left: float, step: float, floor: float) -> list[draw.Mark]:
    """As many periods as can stand beside each other."""
    every = 1
    while periods and not draw.fits([periods[0] + "  "], step * every):
        every += 1
    return [draw.text(left + (i + 0.5) * step, floor + 18, p) for i, p in enumerate(periods) if i % every == 0]


def _key(names: Sequence[str], refused: bool, left: float, y: float) -> list[draw.Mark]:
    marks: list[draw.Mark] = []
    for number, name in enumerate(names):
        kind, at = PATTERNS[number % len(PATTERNS)], y + 20 * number
        marks += _pattern(left, at - 10, 24, 12, kind)
        marks.append(draw.text(left + 32, at, name, anchor="start"))
    if refused:
        at = y + 20 * len(names)
        marks += _cross(left + 12, at - 4)
        marks.append(draw.text(left + 32, at, "refusals and alarms", anchor="start"))
    return marks


def frontier(
    points: Sequence[Mapping[str, Any]],
    *,
    asked: int = 0,
    title: str = "Loss of the best plan at each k",
    width: int = 832,
    tried: Sequence[tuple[int, float]] = (),
) -> draw.Chart:
    """Dots: smallest group (doubling scale) against loss; the chosen plan is filled and ringed, ``asked`` a dashed line.

    ``tried`` are other plans, small and grey. A point may have a ``name``: it stands beside it, and three names have shapes of
    their own. ``width`` is in pixels, for a place with less room.
    """
    ks = [int(p["k"]) for p in points]
    losses = [float(p["loss"]) for p in points]
    left, right, floor, ceiling = 64, width - 16, 244, 40
    low, high = min(ks), max(ks)
    up = draw.Scale(low, high, floor - 16, ceiling + 8, log=True)
    top = draw.nice(max(losses + [loss for k, loss in tried if low <= k <= high]))
    along = draw.Scale(0, top, left, right)
    marks: list[draw.Mark] = []
    if low < asked <= high:
        marks.append(draw.rect(left, up(asked), right - left, floor - up(asked), "zone"))
    marks += draw.left_axis(up, _apart(sorted(set(ks)), up), left, right, "smallest group (larger is safer)")
    marks += draw.bottom_axis(along, draw.steps(0, top, 6), floor, "loss (less is better)")
    place = [(along(loss), up(k)) for k, loss in zip(ks, losses, strict=True)]
    grey = {(round(along(loss)), round(up(k))) for k, loss in tried if low <= k <= high}  # one dot where many would lie
    marks += [draw.dot(x, y, 2, "faint") for x, y in sorted(grey)]
    marks.append(draw.path(place, "line"))
    if low <= asked <= high:
        marks.append(draw.line(left, up(asked), right, up(asked), "limit"))
        side = place[ks.index(asked)][0] if asked in ks else left
        near = side > (left + right) / 2
        words = f"you ask for {asked:,}"
        marks.append(draw.text(left + 8 if near else right, up(asked) + 16, words, "t-ink", anchor="start" if near else "end"))
    for p, (x, y) in zip(points, place, strict=True):
        name = p.get("name") or ""
        if p.get("chosen"):  # a ring around a filled sign; a diamond if it has no name of its own
            marks += [
                draw.dot(x, y, 11, "halo"),
                _shape(x, y, name or "balanced", "dot"),
                *_beside(x, y, left, name or "chosen", "t-ink"),
            ]
        else:
            marks += [_shape(x, y, name, "hollow"), *_beside(x, y, left, name, "t")]
    triples = zip(points, ks, losses, strict=True)
    sentence = "; ".join(f"k {k:,}: {compact(loss)}{', chosen' if p.get('chosen') else ''}" for p, k, loss in triples)
    return draw.Chart(width, 292, title, f"{sentence}.", tuple(marks))


def _apart(ks: Sequence[int], up: draw.Scale) -> list[float]:
    """The numbers that can stand at the axis without touching, from the largest down."""
    kept: list[float] = []
    for k in reversed(ks):
        if not kept or up(k) - up(kept[-1]) >= 14:
            kept.append(float(k))
    return kept


def _shape(x: float, y: float, name: str, kind: str) -> draw.Mark:
    """The sign of a plan: a circle; the balanced one a diamond, the safest a square."""
    if name == "balanced":
        return draw.path([(x - 6, y), (x, y - 6), (x + 6, y), (x, y + 6)], kind, closed=True)
    return draw.rect(x - 5, y - 5, 10, 10, kind) if name == "safest" else draw.dot(x, y, 4.5, kind)


def _beside(x: float, y: float, left: float, name: str, kind: str) -> list[draw.Mark]:
    if not name:
        return []
    end = x - 80 > left
    return [draw.text(x - 18 if end else x + 18, y - 8 if end else y + 20, name, kind, anchor="end" if end else "start")]

"""Safety against detail: the best plan at each smallest group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.report.charts.axes import Scale, bottom_axis, left_axis, nice, steps
from shoal.report.charts.marks import Chart, Mark, dot, line, path, rect, text
from shoal.report.numbers import compact


def frontier(
    points: Sequence[Mapping[str, Any]],
    *,
    asked: int = 0,
    title: str = "Loss of the best plan at each k",
    width: int = 832,
    tried: Sequence[tuple[int, float]] = (),
) -> Chart:
    """Dots: smallest group (doubling scale) against loss; the chosen plan is filled and ringed, ``asked`` a dashed line.

    ``tried`` are other plans, small and grey. A point may have a ``name``: it stands beside it, and three names have shapes of
    their own. ``width`` is in pixels, for a place with less room.
    """
    ks = [int(p["k"]) for p in points]
    losses = [float(p["loss"]) for p in points]
    left, right, floor, ceiling = 64, width - 16, 244, 40
    low, high = min(ks), max(ks)
    up = Scale(low, high, floor - 16, ceiling + 8, log=True)
    top = nice(max(losses + [loss for k, loss in tried if low <= k <= high]))
    along = Scale(0, top, left, right)
    marks: list[Mark] = []
    if low < asked <= high:
        marks.append(rect(left, up(asked), right - left, floor - up(asked), "zone"))
    marks += left_axis(up, _apart(sorted(set(ks)), up), left, right, "smallest group (larger is safer)")
    marks += bottom_axis(along, steps(0, top, 6), floor, "loss (less is better)")
    place = [(along(loss), up(k)) for k, loss in zip(ks, losses, strict=True)]
    grey = {(round(along(loss)), round(up(k))) for k, loss in tried if low <= k <= high}  # one dot where many would lie
    marks += [dot(x, y, 2, "faint") for x, y in sorted(grey)]
    marks.append(path(place, "line"))
    if low <= asked <= high:
        marks.append(line(left, up(asked), right, up(asked), "limit"))
        side = place[ks.index(asked)][0] if asked in ks else left
        near = side > (left + right) / 2
        words = f"you ask for {asked:,}"
        marks.append(text(left + 8 if near else right, up(asked) + 16, words, "t-ink", anchor="start" if near else "end"))
    for p, (x, y) in zip(points, place, strict=True):
        marks += (_chosen if p.get("chosen") else _plan)(x, y, left, p.get("name") or "")
    told = zip(points, ks, losses, strict=True)
    said = "; ".join(f"k {k:,}: {compact(loss)}{', chosen' if p.get('chosen') else ''}" for p, k, loss in told)
    return Chart(width, 292, title, f"{said}.", tuple(marks))


def _apart(ks: Sequence[int], up: Scale) -> list[float]:
    """The numbers that can stand at the axis without touching, from the largest down."""
    kept: list[float] = []
    for k in reversed(ks):
        if not kept or up(k) - up(kept[-1]) >= 14:
            kept.append(float(k))
    return kept


def _shape(x: float, y: float, name: str, kind: str) -> Mark:
    """The sign of a plan: a circle; the balanced one a diamond, the safest a square."""
    if name == "balanced":
        return path([(x - 6, y), (x, y - 6), (x + 6, y), (x, y + 6)], kind, closed=True)
    return rect(x - 5, y - 5, 10, 10, kind) if name == "safest" else dot(x, y, 4.5, kind)


def _plan(x: float, y: float, left: float, name: str) -> list[Mark]:
    return [_shape(x, y, name, "hollow"), *_beside(x, y, left, name, "t")]


def _chosen(x: float, y: float, left: float, name: str) -> list[Mark]:
    """The taken plan: its sign filled, in a ring; a diamond where it has no name of its own."""
    mark = _shape(x, y, name or "balanced", "dot")
    return [dot(x, y, 11, "halo"), mark, *_beside(x, y, left, name or "chosen", "t-ink")]


def _beside(x: float, y: float, left: float, name: str, kind: str) -> list[Mark]:
    if not name:
        return []
    end = x - 80 > left
    return [text(x - 18 if end else x + 18, y - 8 if end else y + 20, name, kind, anchor="end" if end else "start")]

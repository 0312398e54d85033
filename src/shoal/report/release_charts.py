"""Two small charts of a release as inline SVG: no script, no font file, the same bytes every time.

Colours are classes of the page's style, so that they fit light, dark and paper. Each chart says in words what it shows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any


def _text(x: float, y: float, words: str, *, kind: str = "soft", anchor: str = "middle", more: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def _frame(wide: int, high: int, title: str, described: str, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img">'
    return f"{head}<title>{escape(title)}</title><desc>{escape(described)}</desc>{''.join(parts)}</svg>"


def nice(value: float) -> float:
    """The next round number at or above a value, for the end of an axis.

    >>> nice(0.278), nice(0.999), nice(1234), nice(0)
    (0.3, 1.0, 1500.0, 1.0)
    """
    if value <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(value))
    return next(float(f"{step * unit:.3g}") for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * unit >= value * (1 - 1e-12))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def bins(sizes: Mapping[str, int], k: int, largest: int = 0) -> list[tuple[str, int, int, bool]]:
    """Class sizes in doubling bins that break at k: label, people, classes, whether below k; up to ``largest`` at least.

    >>> bins({"1": 3, "2": 1, "5": 2, "40": 1}, 5)
    [('1', 3, 3, True), ('2–3', 2, 1, True), ('4', 0, 0, True), ('5–9', 10, 2, False), ('10–19', 0, 0, False),
     ('20–39', 0, 0, False), ('40–79', 40, 1, False)]
    """
    most = max(largest, *(int(s) for s in sizes))
    edges, step = {1, k}, 2
    while step < k:
        edges.add(step)
        step *= 2
    step = k
    while step <= most:
        edges.add(step)
        step *= 2
    edges.add(max(step, 2))
    ordered = sorted(edges)
    out = []
    for low, above in pairwise(ordered):
        inside = [(int(s), n) for s, n in sizes.items() if low <= int(s) < above]
        label = f"{low:,}" if low == above - 1 else f"{low:,}–{above - 1:,}"
        out.append((label, sum(s * n for s, n in inside), sum(n for _, n in inside), low < k))
    return out


def size_chart(sizes: Mapping[str, int], k: int, *, title: str, largest: int = 0, top: float = 0.0) -> str:
    """Bars: share of people in classes of each size; a dashed line stands at k, bars left of it are too small.

    ``largest`` and ``top`` (a class size, a share) let two charts have the same axes.
    """
    bars = bins(sizes, k, largest)
    total = sum(b[1] for b in bars)
    shares = [people / total for _, people, _, _ in bars]
    most = nice(max(top, *shares))
    wide, high, left, floor, tall = 460, 264, 46, 190, 156
    step = (wide - left - 8) / len(bars)
    parts = [_grid(left, wide - 8, floor - part * tall, f"{100 * part * most:.3g} %") for part in (0.0, 0.5, 1.0)]
    turned = len(bars) > 6
    for i, ((label, _people, _classes, below), share) in enumerate(zip(bars, shares, strict=True)):
        x, y = left + i * step + 2, floor - tall * share / most
        middle = x + step / 2 - 2
        kind = "risk" if below else "safe"
        parts.append(f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{step - 4:.1f}" height="{floor - y:.1f}"/>')
        if share:
            parts.append(_text(middle, y - 4, f"{100 * share:.2g} %" if share < 0.995 else "100 %", kind="ink"))
        turn = f' transform="rotate(-35 {middle:.1f} {floor + 15})"' if turned else ""
        parts.append(_text(middle, floor + 15, label, kind="ink", anchor="end" if turned else "middle", more=turn))
    small = sum(b[3] for b in bars)
    if small:
        at = left + small * step
        parts.append(f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="14" y2="{floor}"/>')
        side, shift = ("start", 5) if small < len(bars) - 1 else ("end", -5)
        parts.append(_text(at + shift, 24, f"k = {k:,}", kind="ink", anchor=side))
    parts.append(_text((left + wide) / 2, high - 4, "size of the class"))
    told = "; ".join(f"{label}: {100 * s:.3g} %" for (label, *_), s in zip(bars, shares, strict=True) if s)
    return _frame(wide, high, title, f"Share of people by the size of their class. {told}.", parts)


def _grid(left: float, right: float, y: float, words: str) -> str:
    line = f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return line + _text(left - 5, y + 4, words, anchor="end")


def frontier_chart(points: Sequence[Mapping[str, Any]]) -> str:
    """Dots: the loss of the best plan at each k (k on a doubling scale); a ring marks the chosen plan."""
    wide, high, left, floor = 560, 256, 84, 200
    ks = [int(p["k"]) for p in points]
    low, top = math.log(min(ks)), math.log(max(ks))
    most = nice(max(float(p["loss"]) for p in points))
    parts = [_grid(left, wide - 10, floor - part * 170, _number(part * most)) for part in (0.0, 0.5, 1.0)]
    place = []
    for p in points:
        x = left + 20 + (wide - left - 50) * ((math.log(p["k"]) - low) / (top - low) if top > low else 0.5)
        place.append((x, floor - 170 * float(p["loss"]) / most))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in place)
    parts.append(f'<polyline class="path" points="{line}"/>')
    for p, (x, y) in zip(points, place, strict=True):
        parts.append(f'<circle class="safe" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>')
        if p.get("chosen"):
            parts.append(f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="9"/>')
        parts.append(_text(x, floor + 17, f"{p['k']:,}", kind="ink"))
    parts.append(_text((left + wide) / 2, high - 8, "k (larger is safer)"))
    parts.append(_text(14, floor - 90, "loss", more=f' transform="rotate(-90 14 {floor - 90})"'))
    told = "; ".join(f"k {p['k']:,}: {_number(float(p['loss']))}{', chosen' if p.get('chosen') else ''}" for p in points)
    return _frame(wide, high, "Loss of the best plan at each k", f"{told}.", parts)

"""Two small charts of a release as inline SVG: no script, no font file, the same bytes every time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

INK, GREY, SAFE, RISK = "#1b2733", "#8895a1", "#2f6fb0", "#c0392b"
_FONT = 'font-family="system-ui,sans-serif" font-size="12"'


def _text(x: float, y: float, words: str, *, fill: str = GREY, anchor: str = "middle", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" {_FONT}{more}>{words}</text>'


def bins(sizes: Mapping[str, int], k: int) -> list[tuple[str, int, int, bool]]:
    """Class sizes in doubling bins that break at k: label, people, classes, whether below k.

    >>> bins({"1": 3, "2": 1, "5": 2, "40": 1}, 5)
    [('1', 3, 3, True), ('2–3', 2, 1, True), ('4', 0, 0, True), ('5–9', 10, 2, False), ('10–19', 0, 0, False),
     ('20–39', 0, 0, False), ('40', 40, 1, False)]
    """
    largest = max(int(s) for s in sizes)
    edges = [1]
    step = 2
    while step < k:
        edges.append(step)
        step *= 2
    if k > 1:
        edges.append(k)
    while edges[-1] * 2 <= largest:
        edges.append(edges[-1] * 2)
    edges = sorted(set(edges))
    out = []
    for i, low in enumerate(edges):
        high = edges[i + 1] - 1 if i + 1 < len(edges) else max(largest, low)
        inside = [(int(s), n) for s, n in sizes.items() if low <= int(s) <= high]
        label = f"{low:,}" if low == high else f"{low:,}–{high:,}"
        out.append((label, sum(s * n for s, n in inside), sum(n for _, n in inside), low < k))
    return out


def size_chart(sizes: Mapping[str, int], k: int) -> str:
    """Bars: people in classes of each size; red with a hatch below k, blue from k on."""
    bars = bins(sizes, k)
    total = sum(b[1] for b in bars)
    tallest = max(b[1] for b in bars)
    wide, high, left, floor = 460, 250, 48, 176
    step = (wide - left - 8) / len(bars)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img">']
    parts.append(f"<title>People by size of their class; {len(bars)} groups of sizes</title>")
    for share in (0.0, 0.5, 1.0):
        y = floor - share * 150
        parts.append(f'<line x1="{left}" x2="{wide - 8}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e1e6ea"/>')
        parts.append(_text(left - 5, y + 4, f"{100 * share * tallest / total:.3g}%", anchor="end"))
    turned = len(bars) > 6
    for i, (label, people, _classes, below) in enumerate(bars):
        x, tall = left + i * step + 2, 150 * people / tallest
        colour = RISK if below else SAFE
        parts.append(f'<rect x="{x:.1f}" y="{floor - tall:.1f}" width="{step - 4:.1f}" height="{tall:.1f}" fill="{colour}"/>')
        middle = x + step / 2 - 2
        turn = f' transform="rotate(-35 {middle:.1f} {floor + 14})"' if turned else ""
        anchor = "end" if turned else "middle"
        parts.append(_text(middle, floor + 14, label, fill=INK, anchor=anchor, more=turn))
        if below and people:
            parts.append(_text(middle, floor - tall - 4, f"below {k}", fill=RISK))
    return "".join([*parts, _text((left + wide) / 2, high - 3, "size of the class"), "</svg>"])


def frontier_chart(points: Sequence[Mapping[str, Any]]) -> str:
    """Dots: the loss of the best plan at each k (k on a doubling scale); a ring marks the chosen plan."""
    wide, high, left, floor = 560, 250, 76, 200
    ks = [int(p["k"]) for p in points]
    low, top = math.log(min(ks)), math.log(max(ks))
    most = max(float(p["loss"]) for p in points) or 1.0
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img">']
    parts.append("<title>Loss of the best plan at each k</title>")
    for share in (0.0, 0.5, 1.0):
        y = floor - share * 170
        parts.append(f'<line x1="{left}" x2="{wide - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e1e6ea"/>')
        parts.append(_text(left - 6, y + 4, f"{share * most:.3g}", anchor="end"))
    place = []
    for p in points:
        x = left + 20 + (wide - left - 50) * ((math.log(p["k"]) - low) / (top - low) if top > low else 0.5)
        place.append((x, floor - 170 * float(p["loss"]) / most))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in place)
    parts.append(f'<polyline points="{line}" fill="none" stroke="{SAFE}" stroke-width="1.5"/>')
    for p, (x, y) in zip(points, place, strict=True):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{SAFE}"/>')
        if p.get("chosen"):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="none" stroke="{INK}" stroke-width="2"/>')
        parts.append(_text(x, floor + 16, f"{p['k']:,}", fill=INK))
    parts.append(_text((left + wide) / 2, high - 8, "k (larger is safer)"))
    parts.append(_text(14, floor - 90, "loss", more=f' transform="rotate(-90 14 {floor - 90})"'))
    return "".join([*parts, "</svg>"])

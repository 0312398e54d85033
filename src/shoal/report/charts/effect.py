"""One column before and after: its values as a grey silhouette without names, its groups as bars with theirs."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.report.charts.axes import Scale, nice
from shoal.report.charts.marks import Chart, Mark, fits, line, rect, shortened, text

LEFT, RIGHT = 16, 424
MOST_NAMED = 14


def before_after(before: Sequence[int], after: Sequence[tuple[str, int]], *, title: str, values: int) -> Chart:
    """``before`` are records by value in order, ``values`` how many there are; ``after`` records by the label of each group."""
    marks: list[Mark] = [text(LEFT, 16, f"before: {values:,} values", "t-soft", anchor="start")]
    marks += _panel(before, 28, 108, "series2")
    several = "group" if len(after) == 1 else "groups"
    marks.append(text(LEFT, 132, f"after: {len(after):,} {several}", "t-soft", anchor="start"))
    marks += _panel([n for _, n in after], 152, 240, "safe")
    names = [shortened(name, 18) for name, _ in after]
    below = 0
    if 0 < len(after) <= MOST_NAMED:
        step = (RIGHT - LEFT) / len(after)
        turned = not fits(names, step - 4)
        below = int(4.4 * max(map(len, names))) if turned else 0
        top = max(n for _, n in after)
        up = Scale(0, nice(top), 240, 152)
        for i, (name, (_, n)) in enumerate(zip(names, after, strict=True)):
            middle = LEFT + (i + 0.5) * step
            if fits([f"{n:,}"], step):
                marks.append(text(middle, up(n) - 5, f"{n:,}", "t-ink"))
            marks.append(text(middle, 258, name, anchor="end" if turned else "middle", turn=-35 if turned else 0))
    said = "; ".join(f"{name}: {n:,}" for name, n in after[:MOST_NAMED])
    told = f"Before: {values:,} values. After: {len(after):,} {several}. {said}."
    return Chart(RIGHT + 16, 270 + below, title, told, tuple(marks))


def _panel(bars: Sequence[int], ceiling: float, floor: float, kind: str) -> list[Mark]:
    """Bars from the left to the right edge, over a floor."""
    drawn = [line(LEFT, floor, RIGHT, floor, "axis")]
    if not bars:
        return [text(LEFT, floor - 8, "too few to be shown", "t-soft", anchor="start"), *drawn]
    up, step = Scale(0, nice(max(bars)), floor, ceiling), (RIGHT - LEFT) / len(bars)
    gap = 1.5 if step > 8 else 0.5
    return [rect(LEFT + i * step + gap / 2, up(n), step - gap, floor - up(n), kind) for i, n in enumerate(bars)] + drawn

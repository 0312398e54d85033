"""What each column adds: people at risk as one column after the other becomes known, in steps."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.report.charts.axes import Scale, left_axis, steps
from shoal.report.charts.marks import Chart, Mark, fits, hatched, line, path, shortened, text
from shoal.report.numbers import percent


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
) -> Chart:
    """One hatched step per name, the figure on its step; each step holds the names before it, too (``joined`` says so).

    ``outlined`` is a second number per step, drawn as a dashed edge above the first. ``width`` is that of all steps together.
    """
    shown = [shortened(name, 20) if i == 0 else joined + shortened(name, 18) for i, name in enumerate(names)]
    left, floor, ceiling = 64, 214, 46
    step = max(48.0 if width < 560 else 60.0, min(130.0, width / len(names)))
    right = left + step * len(names)
    up = Scale(0, 1, floor, ceiling)
    marks: list[Mark] = left_axis(up, steps(0, 1, 4), left, right, y, percent)
    shares = [n / total for n in people]
    for i, share in enumerate(shares):
        if share:
            marks += hatched(left + i * step, up(share), step, floor - up(share), "risk", "hatch")
    edge = [(left + (i + d) * step, up(share)) for i, share in enumerate(shares) for d in (0, 1)]
    around = [(left + (i + d) * step, up(n / total)) for i, n in enumerate(outlined) for d in (0, 1)]
    marks += [path(around, "limit")] if around else []
    marks += [path(edge, "step"), line(left, floor, right, floor, "axis")]
    turned = not fits(shown, step - 6)
    for i, (name, n, share) in enumerate(zip(shown, people, shares, strict=True)):
        middle = left + (i + 0.5) * step
        marks.append(text(middle, up(share) - 8, f"{n:,}", "t-ink"))
        marks.append(text(middle, floor + 18, name, anchor="end" if turned else "middle", turn=-35 if turned else 0))
    below = int(4.2 * max(map(len, shown))) if turned else 0
    told = "; ".join(f"{name}: {n:,}" for name, n in zip(shown, people, strict=True))
    return Chart(int(right) + 16, floor + 30 + below, title, f"{y} of {total:,}. {told}.", tuple(marks))

"""A chart as SVG for a page, or as a file: SVG, PNG or one HTML page."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from shoal.disk.atomic import atomic, umask
from shoal.errors import UsageError, need
from shoal.report.numbers import compact
from shoal.report.pages import DASHES, LOOKS, chart_style, colours, page, part

HEAD = 40


def svg(chart: Chart) -> Markup:
    """The chart as markup for a page that carries the house style."""
    return Markup(part("chart.svg.j2", chart=chart, alone=False, top=0, style=""))  # noqa: S704 (the template escapes)


def save(chart: Chart, file: str | Path, *, text: str = "") -> Path:
    """Write ``.svg``, ``.png`` or ``.html`` (one file, nothing loaded from elsewhere), whole or not at all."""
    out = Path(file)
    kind = out.suffix.lower()
    if kind == ".svg":
        data = chart._repr_svg_().encode("utf-8")
    elif kind == ".html":
        data = page("plot.html.j2", title=chart.title, text=text, drawing=svg(chart)).encode("utf-8")
    elif kind == ".png":
        data = _png(chart)
    else:
        raise UsageError(f"a plot is written as .svg, .png or .html; found '{out.suffix}'.")
    with atomic(out) as made:
        made.write_bytes(data)
        made.chmod(0o666 & ~umask())
    return out


def _png(chart: Chart) -> bytes:
    """The same marks painted by matplotlib, in the light colours, at double density."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise need("plot", "matplotlib") from error
    figure = Figure(figsize=(chart.width / 96, (chart.height + HEAD) / 96), facecolor=colours()["surface"])
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, chart.width)
    axes.set_ylim(chart.height, -HEAD)
    for order, mark in enumerate(chart.marks):
        _paint(axes, mark, order)
    _words(axes, 8, -14, chart.title, "t-head", "start", 0, len(chart.marks))
    buffer = io.BytesIO()
    with mpl.rc_context({"font.family": "sans-serif"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a name in another script is drawn as boxes
        figure.savefig(buffer, format="png", metadata={"Software": "shoal"}, dpi=192)
    return buffer.getvalue()


def _paint(axes: Any, mark: Mark, order: int) -> None:
    from matplotlib.patches import Circle, Polygon, Rectangle

    if mark.tag == "text":
        turn = float(mark.get("transform", "rotate(0 ").removeprefix("rotate(").split()[0])
        _words(axes, float(mark.get("x")), float(mark.get("y")), mark.words, mark.kind, mark.get("text-anchor"), turn, order)
    elif mark.tag == "rect":
        x, y, wide, high = (float(mark.get(n)) for n in ("x", "y", "width", "height"))
        axes.add_patch(Rectangle((x, y), wide, high, **_dress(mark.kind, order)))
    elif mark.tag == "circle":
        axes.add_patch(Circle((float(mark.get("cx")), float(mark.get("cy"))), float(mark.get("r")), **_dress(mark.kind, order)))
    elif mark.tag == "polygon":
        axes.add_patch(Polygon(_points(mark.get("points")), **_dress(mark.kind, order)))
    else:
        pieces = [mark.get("points")] if mark.tag == "polyline" else mark.get("d").replace("L", " ").split("M")[1:]
        for piece in pieces:
            look = LOOKS[mark.kind]
            x_, y_ = zip(*_points(piece), strict=True)
            style: Any = (0, DASHES[look.dash]) if look.dash else "-"
            axes.plot(x_, y_, color=colours()[look.stroke], linewidth=0.75 * look.width, linestyle=style, zorder=order)


def _points(text: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in text.split())]


def _dress(kind: str, order: int) -> dict[str, Any]:
    look, known = LOOKS[kind], colours()
    edge = known[look.stroke] if look.stroke else "none"
    style: Any = (0, DASHES[look.dash]) if look.dash else "-"
    fill = known[look.fill] if look.fill else "none"
    return {
        "facecolor": fill,
        "edgecolor": edge,
        "linewidth": 0.75 * look.width,
        "linestyle": style,
        "zorder": order,
        "alpha": look.opacity,
    }


def _words(axes: Any, x: float, y: float, words: str, kind: str, anchor: str, turn: float, order: int) -> None:
    look = LOOKS[kind]
    side = {"start": "left", "middle": "center", "end": "right"}[anchor]
    weight = "bold" if look.weight > 500 else "normal"
    axes.text(
        x, y, words, color=colours()[look.fill], fontsize=0.7 * look.size, fontweight=weight, ha=side, va="baseline",
        rotation=-turn, rotation_mode="anchor", zorder=order, parse_math=False,
    )  # fmt: skip


def nice(value: float) -> float:
    """The next round number at or above a value, for the end of an axis.

    >>> nice(0.278), nice(0.999), nice(1234), nice(0)
    (0.3, 1.0, 1500.0, 1.0)
    """
    if value <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(value))
    return next(float(f"{step * unit:.3g}") for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * unit >= value * (1 - 1e-12))


def steps(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two ends.

    >>> steps(0, 100), steps(0, 7), steps(0, 0.25, 3)
    ([0.0, 20.0, 40.0, 60.0, 80.0, 100.0], [0.0, 2.0, 4.0, 6.0], [0.0, 0.1, 0.2])
    """
    if high <= low:
        return [low]
    unit = 10.0 ** math.floor(math.log10((high - low) / most))
    wide = next(unit * s for s in (1, 2, 5, 10, 20) if (high - low) / (unit * s) <= most * (1 + 1e-9))
    first = math.ceil(low / wide - 1e-9)
    last = math.floor(high / wide + 1e-9)
    return [float(f"{i * wide:.10g}") for i in range(first, last + 1)]


def powers(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers on a logarithmic axis.

    >>> powers(1, 10000), powers(2, 50)
    ([1.0, 10.0, 100.0, 1000.0, 10000.0], [2.0, 5.0, 10.0, 20.0, 50.0])
    """
    tens = range(math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9) + 1)
    every = -(-len(tens) // most)
    ticks = [10.0**n for n in tens[::every] if low * (1 - 1e-9) <= 10.0**n <= high * (1 + 1e-9)]
    if len(ticks) >= 3:
        return ticks
    return [m * 10.0**n for n in tens for m in (1, 2, 5) if low * (1 - 1e-9) <= m * 10.0**n <= high * (1 + 1e-9)] or [low]


@dataclass(frozen=True)
class Scale:
    """Numbers to places along an axis."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        if self.high <= self.low:
            return (self.start + self.end) / 2
        if self.log:
            part = (math.log(max(value, 1e-300)) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * part

    def ticks(self, most: int = 6) -> list[float]:
        return powers(self.low, self.high, most) if self.log else steps(self.low, self.high, most)


def left_axis(
    scale: Scale, ticks: Sequence[float], left: float, right: float, title: str, say: Callable[[float], str] = compact
) -> list[Mark]:
    """Light lines with their numbers at the left; the title stands above, upright."""
    marks = [text(8, min(scale.start, scale.end) - 26, title, "t-soft", anchor="start")]
    for value in ticks:
        y = scale(value)
        marks += [line(left, y, right, y, "grid"), text(left - 8, y + 4, say(value), anchor="end")]
    return marks


def bottom_axis(scale: Scale, ticks: Sequence[float], floor: float, title: str) -> list[Mark]:
    """The base line with numbers and the title below."""
    low, high = sorted((scale.start, scale.end))
    marks = [line(low, floor, high, floor, "axis")]
    marks += [text(scale(value), floor + 18, compact(value)) for value in ticks]
    return [*marks, text((low + high) / 2, floor + 38, title, "t-soft")]


Point = tuple[float, float]


@dataclass(frozen=True)
class Mark:
    """One drawn thing: an SVG element, its kind, its attributes, and its words if it is a text."""

    tag: str
    kind: str
    attributes: tuple[tuple[str, str], ...]
    words: str = ""

    def get(self, name: str, default: str = "") -> str:
        return dict(self.attributes).get(name, default)


@dataclass(frozen=True)
class Chart:
    """Marks on a plane of width × height pixels; ``title`` and ``told`` are what a screen reader says."""

    width: int
    height: int
    title: str
    told: str
    marks: tuple[Mark, ...]

    def _repr_svg_(self) -> str:
        """The whole picture, which a notebook shows."""
        own = Markup(chart_style())  # noqa: S704 (our own style sheet)
        return part("chart.svg.j2", chart=self, alone=True, top=HEAD, style=own)


def place(value: float) -> str:
    """A place with at most one decimal.

    >>> place(3.0), place(2.25), place(-0.01)
    ('3', '2.2', '0')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _mark(tag: str, kind: str, places: Mapping[str, float]) -> Mark:
    return Mark(tag, kind, tuple((name, place(value)) for name, value in places.items()))


def rect(x: float, y: float, width: float, height: float, kind: str, *, round_: float = 0) -> Mark:
    places = {"x": x, "y": y, "width": max(0.0, width), "height": max(0.0, height), **({"rx": round_} if round_ else {})}
    return _mark("rect", kind, places)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Mark:
    return path([(x1, y1), (x2, y2)], kind)


def path(points: Iterable[Point], kind: str, *, closed: bool = False) -> Mark:
    """Straight lines through points; closed and filled as an area."""
    line = " ".join(f"{place(x)},{place(y)}" for x, y in points)
    return Mark("polygon" if closed else "polyline", kind, (("points", line),))


def dot(x: float, y: float, r: float, kind: str) -> Mark:
    return _mark("circle", kind, {"cx": x, "cy": y, "r": r})


def text(x: float, y: float, words: str, kind: str = "t", *, anchor: str = "middle", turn: float = 0) -> Mark:
    more = [("x", place(x)), ("y", place(y)), ("text-anchor", anchor)]
    if turn:
        more.append(("transform", f"rotate({place(turn)} {place(x)} {place(y)})"))
    return Mark("text", kind, tuple(more), words)


def hatched(x: float, y: float, width: float, height: float, kind: str, stripes: str) -> list[Mark]:
    """A rectangle under diagonal stripes, so that it can be distinguished without colour."""
    parts, start, gap = [], 6.0, 6.0
    while start < width + height:
        one = (x + min(start, width), y + max(0.0, start - width))
        other = (x + max(0.0, start - height), y + min(start, height))
        parts.append(f"M{place(one[0])},{place(one[1])}L{place(other[0])},{place(other[1])}")
        start += gap
    drawn = [Mark("path", stripes, (("d", "".join(parts)),))] if parts else []
    return [rect(x, y, width, height, kind), *drawn]


def fits(words: Sequence[str], room: float) -> bool:
    """Whether each word fits into the room beside its neighbours (about 6.6 pixels a letter)."""
    return all(6.6 * len(w) <= room for w in words)


def shortened(name: str, letters: int = 20) -> str:
    """A name that leaves room for others.

    >>> shortened("place of residence of the mother", 12)
    'place of re…'
    """
    return name if len(name) <= letters else name[: letters - 1] + "…"

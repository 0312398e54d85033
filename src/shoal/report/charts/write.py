"""A chart as SVG for a page, or as a file: SVG, PNG or one HTML page."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

from markupsafe import Markup

from shoal.disk.atomic import atomic, umask
from shoal.errors import UsageError, need
from shoal.report.charts.marks import Chart, Mark
from shoal.report.look import DASHES, LOOKS, colours
from shoal.report.pages import chart_style, page, part

HEAD = 40


def svg(chart: Chart) -> Markup:
    """The chart as markup for a page that carries the house style."""
    return Markup(part("chart.svg.j2", chart=chart, alone=False, top=0, style=""))  # noqa: S704 (the template escapes)


def save(chart: Chart, file: str | Path, *, text: str = "") -> Path:
    """Write ``.svg``, ``.png`` or ``.html`` (one file, nothing loaded from elsewhere), whole or not at all."""
    out = Path(file)
    kind = out.suffix.lower()
    if kind == ".svg":
        own = Markup(chart_style())  # noqa: S704 (our own style sheet)
        data = part("chart.svg.j2", chart=chart, alone=True, top=HEAD, style=own).encode("utf-8")
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


def _points(said: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in said.split())]


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

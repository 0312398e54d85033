"""Plots of predictions: SVG, PNG or one HTML file, without network and with the same bytes each time.

Each function returns a matplotlib figure; :func:`save` writes it. Names of questions and places are inert text: no
mathematics, no markup. Other rooms reuse :func:`new_figure` and :func:`save`.
"""

from __future__ import annotations

import html
import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import OutputError, UsageError, need

if TYPE_CHECKING:
    from shoal.predict import Meter, Zipf

INK, BLUE, ORANGE, GREY = "#1b2a38", "#1f6f9f", "#d1701c", "#8a97a3"

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<style>body{{font-family:system-ui,sans-serif;margin:2rem auto;max-width:60rem;color:#1b2a38}}svg{{max-width:100%;height:auto}}
p{{line-height:1.5}}</style></head><body><main><h1>{title}</h1>
<figure role="img" aria-label="{title}">{svg}</figure><p>{text}</p></main></body></html>
"""


def new_figure(*, width: float = 7.2, height: float = 4.2) -> tuple[Any, Any]:
    """An empty figure and its axes, in the house style."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise need("plot", "matplotlib") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color="#e3e8ec", linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def save(figure: Any, path: str | Path, *, title: str = "", text: str = "") -> Path:
    """Write ``.svg``, ``.png`` or ``.html`` (one file, nothing loaded from elsewhere), whole or not at all."""
    out = Path(path)
    kind = out.suffix.lower()
    if kind not in (".svg", ".png", ".html"):
        raise UsageError(f"a plot is written as .svg, .png or .html; found '{out.suffix}'.")
    data = _bytes(figure, "png" if kind == ".png" else "svg")
    if kind == ".html":
        svg = data.decode("utf-8")
        page = _PAGE.format(title=html.escape(title or "Shoal"), svg=svg[svg.index("<svg") :], text=html.escape(text))
        data = page.encode("utf-8")
    part = out.with_name(f".{out.name}.part")
    try:
        part.write_bytes(data)
        part.replace(out)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OutputError(f"the plot '{out.name}' could not be written.", hint="Check the folder.") from error
    return out


def _bytes(figure: Any, kind: str) -> bytes:
    import matplotlib as mpl

    buffer = io.BytesIO()
    metadata = {"Date": None, "Creator": "shoal"} if kind == "svg" else {"Software": "shoal"}
    with mpl.rc_context({"svg.hashsalt": "shoal", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a name in another script is drawn as boxes
        figure.savefig(buffer, format=kind, metadata=metadata, dpi=144)
    return buffer.getvalue()


def _plain(text: Any) -> Any:
    """Show a text as it is: no mathematics between dollar signs."""
    text.set_parse_math(False)
    return text


def singletons_curve(p: Any, sizes: Sequence[int], *, level: float = 0.95) -> Any:
    """Expected unique people against the group size, with the range that holds ``level`` of the outcomes."""
    from shoal.predict import singletons

    figure, axes = new_figure()
    k = np.asarray(list(sizes), dtype=np.int64)
    found = [singletons(p, int(x)) for x in k]
    mean = np.array([float(s.mean) for s in found])
    band = np.array([_band(s, level) for s in found])
    axes.fill_between(k, band[:, 0], band[:, 1], color=BLUE, alpha=0.18, label=f"{level:.0%} of groups")
    axes.plot(k, mean, color=BLUE, label="expected")
    axes.set_xlabel("people in the group")
    axes.set_ylabel("unique people")
    axes.legend(frameon=False)
    return figure


def _band(s: Any, level: float) -> tuple[float, float]:
    """Exact quantiles of the number of unique people; from mean and variance when the exact law is long."""
    from scipy.special import ndtri

    from shoal.predict.group import pmf as _pmf

    mean, sd = float(s.mean), float(s.variance) ** 0.5
    if s.group_size < 2 or _pmf.cost(s.distribution, s.group_size, sd) <= 2e7:
        low, high = s.interval(level)
        return float(low), float(high)
    z = float(ndtri(0.5 + level / 2))
    return max(0.0, mean - z * sd), min(float(s.group_size), mean + z * sd)


def interval_curve(values: Any, widths: Sequence[float], group_size: int, *, origin: float = 0.0) -> Any:
    """Expected share of unique people against the width of the intervals."""
    from shoal.predict import interval_singletons

    figure, axes = new_figure()
    w = np.asarray(list(widths), dtype=np.float64)
    share = [interval_singletons(values, float(x), group_size, origin=origin).value / group_size for x in w]
    axes.plot(w, 100 * np.asarray(share), color=BLUE)
    axes.set_xlabel("width of an interval")
    axes.set_ylabel(f"unique among {group_size} people, %")
    axes.set_ylim(bottom=0)
    return figure


def respondents_curve(questionnaire: Any, sizes: Sequence[int]) -> Any:
    """Expected share of unique respondents against their number."""
    from shoal.predict.questionnaire.meter import parts, unique_shares

    figure, axes = new_figure()
    pieces = parts(questionnaire.blocks(), list(questionnaire.questions))
    share = [value for value, _ in unique_shares(pieces, [int(n) for n in sizes])]
    axes.plot(list(sizes), 100 * np.asarray(share), color=BLUE)
    axes.axhline(100 * questionnaire.target, color=GREY, linestyle="--", label="target")
    axes.axvline(questionnaire.respondents, color=ORANGE, linestyle=":", label="respondents planned")
    axes.set_xlabel("respondents")
    axes.set_ylabel("one of a kind, %")
    axes.legend(frameon=False)
    return figure


def zipf_ranks(
    counts: Sequence[float] | None,
    law: Zipf,
    *,
    threshold: float | None = None,
    total: float = 1.0,
    records: int = 1,
    k: int = 2,
) -> Any:
    """Counts by rank on logarithmic axes, the fitted law, and the (mean) rank beyond which fewer than k people are expected."""
    figure, axes = new_figure()
    x = np.unique(np.rint(np.geomspace(1, law.d, 200)))
    axes.plot(x, total * law.a * x**-law.c, color=ORANGE, label=f"Zipf, exponent {law.c:.3f}")
    if counts is not None:
        f = np.sort(np.asarray(counts, dtype=np.float64))[::-1]
        f = f[f > 0]
        axes.plot(np.arange(1, f.size + 1), f, ".", color=BLUE, markersize=3, label="counts")
    if threshold is not None:
        linked = "" if records == 1 else f" with {records} records (mean rank)"
        where = (
            f"beyond rank {threshold:,.0f}" if 1 <= threshold <= law.d else "at no rank" if threshold > law.d else "at every rank"
        )
        axes.axvline(min(max(threshold, 1), law.d), color=GREY, linestyle="--", label=f"fewer than {k} people {where}{linked}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rank")
    axes.set_ylabel("count" if counts is not None else "probability")
    axes.legend(frameon=False, loc="lower left")
    return figure


def waterfall(meter: Meter) -> Any:
    """The typical crowd in the population after each question, on a logarithmic axis."""
    steps = meter.waterfall
    figure, axes = new_figure(height=max(2.4, 0.42 * len(steps) + 1.2))
    place = np.arange(len(steps))[::-1]
    axes.barh(place, [s.crowd for s in steps], color=[BLUE if s.crowd >= 10 else ORANGE for s in steps], height=0.7)
    for y, s in zip(place, steps, strict=True):
        axes.annotate(f"{s.crowd:,.0f}", (s.crowd, y), xytext=(4, 0), textcoords="offset points", va="center")
    axes.set_yticks(place, [s.question for s in steps])
    for label in axes.get_yticklabels():
        _plain(label)
    axes.set_xscale("log")
    axes.set_xlim(left=0.8)
    axes.set_xlabel("people who share the answers so far (typical)")
    return figure


def pair_heat_map(names: Sequence[str], unique: Any) -> Any:
    """Expected unique share for each pair of questions; the diagonal is each question alone."""
    figure, axes = new_figure(width=1.8 + 0.55 * len(names) + 2, height=1.6 + 0.5 * len(names))
    axes.grid(visible=False)
    share = 100 * np.asarray(unique, dtype=np.float64)
    shown = axes.imshow(share, cmap="YlGnBu", vmin=0, vmax=max(1.0, float(share.max())))
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
    axes.set_yticks(range(len(names)), names)
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        _plain(label)
    if len(names) <= 14:
        limit, digits = float(share.max()) / 2, 0 if share.max() >= 10 else 1
        for i, j in np.ndindex(share.shape):
            axes.text(
                j, i, f"{share[i, j]:.{digits}f}", ha="center", va="center", fontsize=8, color="w" if share[i, j] > limit else INK
            )
    figure.colorbar(shown, ax=axes, label="unique respondents, %")
    return figure


def pair_shares(questionnaire: Any) -> tuple[list[str], Any]:
    """Names and the square of unique shares that :func:`pair_heat_map` draws."""
    from shoal.predict.questionnaire.meter import parts, unique_share

    names, blocks = list(questionnaire.questions), questionnaire.blocks()
    out = np.zeros((len(names), len(names)))
    for i, a in enumerate(names):
        for j in range(i + 1):
            out[i, j] = out[j, i] = unique_share(parts(blocks, [a, names[j]]), questionnaire.respondents)[0]
    return names, out

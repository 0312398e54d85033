"""The page of a study: the tables and figures of many sets of columns. No data value but names of large subpopulations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

from shoal.model.display import written
from shoal.report.blocks import Block, Figure, Items, Number, Section, Table, Words, report_page
from shoal.report.charts import Line, boxes, curve, svg
from shoal.report.numbers import percent

MOST_ROWS = 200
MOST_BOXES = 30
MOST_DRAWN = 12
"""Sets whose subpopulations are drawn; the tables hold them all."""


def study_html(s: Any) -> str:
    sections = [
        Section("sizes", "How large are the groups?", _sizes(s)),
        Section("small", "Who is in small groups?", _small(s)),
        Section("exactly", "Members of groups of exactly 1 to 10", _exactly(s)),
        Section("columns", "What each column tells alone", _columns(s)),
        Section("sets", "Which sets identify, which are safe?", _lattice(s)),
        *(Section(f"set{i}", f"{x.name}, by {s.by}", _groups(s, x)) for i, x in enumerate(s.sets[:MOST_DRAWN]) if x.groups),
        Section("notes", "How to read this page", [Items(s.notes)]),
    ]
    title = f"Quasi-identifiers of {s.table}"
    return report_page(title, accent=s.sentence, accent_kind="met", numbers=_headline(s), sections=sections)


def _headline(s: Any) -> list[Number]:
    out = []
    if s.sets:
        out.append(Number(f"{len(s.sets):,}", "sets of columns"))
        out.append(Number(f"{s.sets[0].members:,}", "members"))
    if s.by is not None and s.sets:
        out.append(Number(f"{len(s.sets[0].groups):,}", f"subpopulations by {s.by}"))
    if s.lattice is not None:
        out.append(Number(f"{len(s.lattice.identifying):,}", "smallest identifying sets"))
        out.append(Number(f"{len(s.lattice.safe):,}", "largest safe sets"))
    return out


def _g(x: float | None) -> str:
    if x is None or not math.isfinite(x):
        return ""
    return f"{x:,.0f}" if abs(x) >= 1000 else written(x, 4)


def _size_cells(t: Any) -> list[str]:
    return [f"{t.sets:,}", f"{t.min:,}", _g(t.q1), _g(t.median), _g(t.mean), _g(t.q3), f"{t.max:,}"]


HEADS = ("groups", "smallest", "quartile 1", "median", "mean", "quartile 3", "largest")


def _sizes(s: Any) -> list[Block]:
    rows = [(x.name, *_size_cells(x.sizes), _g(x.entropy), _g(x.kappa)) for x in s.sets]
    if not rows:
        return []
    drawn = boxes(
        [_box(x.name, x.sizes) for x in s.sets[:MOST_BOXES]], title="Group sizes by set of columns", x="size of the group"
    )
    heads = ("columns", *HEADS, "entropy, bits", "κ")
    return [Figure(svg(drawn), "Quartiles over groups, not over people."), Table(heads, rows, right=range(1, 10))]


def _box(name: str, t: Any) -> tuple[str, float, float, float, float, float]:
    return name, float(t.min), t.q1, t.median, t.q3, float(t.max)


def _small(s: Any) -> list[Block]:
    rows = [(x.name, *(f"{n:,} ({percent(n / x.members)})" for n in x.at.values())) for x in s.sets]
    heads = ("columns", *(f"≤ {t}" for t in s.sets[0].at)) if rows else ()
    return [Table(heads, rows, right=range(1, 6))] if rows else []


def _exactly(s: Any) -> list[Block]:
    rows = [(x.name, *(f"{n:,}" for n in x.exactly.values())) for x in s.sets]
    heads = ("columns", *(str(j) for j in s.sets[0].exactly)) if rows else ()
    return [Table(heads, rows, right=range(1, 11))] if rows else []


def _columns(s: Any) -> list[Block]:
    rows = [
        (c.name, f"{c.values:,}", _g(c.entropy), _g(c.kappa), ", ".join(f"{w}: {_g(x)}" for w, x in c.bands.items()))
        for c in s.columns
    ]
    heads = ("column", "values", "entropy, bits", "κ", "κ in bands of")
    drawn = [block for c in [c for c in s.columns if c.by_group][:MOST_DRAWN] for block in _bands(s, c)]
    return [Table(heads, rows, right=(1, 2, 3)), *drawn] if rows else []


def _bands(s: Any, c: Any) -> list[Block]:
    """κ of a column in bands, within each subpopulation."""
    groups = len(next(iter(c.by_group.values())))
    if groups < 2:
        return []
    lines = [
        Line(f"bands of {width}", [(float(i), x) for i, x in enumerate(kappas, start=1)])
        for width, kappas in list(c.by_group.items())[:3]
    ]
    narrowest = next(iter(c.by_group))
    x = f"subpopulations by {s.by}, the lowest κ in bands of {narrowest} first"
    drawn = curve(lines, x=x, y=f"κ of {c.name}", title=f"κ of {c.name} in bands")
    rows = [(f"{w}", _g(min(by)), _g(median(by)), _g(max(by))) for w, by in c.by_group.items()]
    heads = (f"bands of {c.name}", "lowest κ", "median", "highest κ")
    return [Figure(svg(drawn), f"κ within each of {groups:,} subpopulations."), Table(heads, rows, right=(1, 2, 3))]


def _lattice(s: Any) -> list[Block]:
    grid = s.lattice
    if grid is None:
        return []
    asked = f"{len(grid.counted):,} sets of at most {grid.up_to} columns were counted; where one identifies, larger ones do too."
    out: list[Block] = [Words(asked)]
    for title, sets in (
        (f"smallest sets that single out {percent(grid.alpha)} or more", grid.identifying),
        (f"largest sets whose groups hold at least {grid.k:,}", grid.safe),
    ):
        rows = [(" + ".join(x.columns), f"{x.unique:,}", f"{x.k:,}", f"{x.classes:,}") for x in sets[:MOST_ROWS]]
        heads = (title, "one of a kind", "smallest group", "groups")
        out.append(Table(heads, rows, right=(1, 2, 3)) if rows else Words(f"No {title}."))
    return out


def _group_cells(g: Any) -> list[str]:
    return [g.name or "(small group)", f"{g.members:,}", *_size_cells(g.sizes), f"{g.unique:,}", _g(g.kappa)]


def _groups(s: Any, x: Any) -> list[Block]:
    named = [g for g in x.groups if g.name is not None]
    rows = [_group_cells(g) for g in x.groups[:MOST_ROWS]]
    out: list[Block] = []
    if named:
        title = f"Group sizes by {s.by}"
        drawn = boxes([_box(str(g.name), g.sizes) for g in named[:MOST_BOXES]], title=title, x="size of the group")
        out.append(Figure(svg(drawn), f"The {min(len(named), MOST_BOXES)} largest subpopulations."))
    out.append(Table((s.by, "members", *HEADS, "one of a kind", "κ"), rows, right=range(1, 11)))
    if x.pearson is not None and x.spearman is not None:
        out.append(Words(f"Size and median group: Pearson {x.pearson:.3f}, Spearman {x.spearman:.3f}.", small=True))
    return [*out, *_kappa_plot(s, x), *_alone_plots(s, x), *_by_group_size(s, x), *_predicted_blocks(x)]


def _kappa_plot(s: Any, x: Any) -> list[Block]:
    """Uniqueness of a group against κ, over the subpopulations."""
    points = [(g.kappa, -g.log_uniqueness) for g in x.groups if math.isfinite(g.log_uniqueness) and g.log_uniqueness < 0]
    if len(points) < 3:
        return []
    lines = [Line("subpopulations", points, dots=True)]
    words = f"Each dot is a subpopulation: how unlikely it is that {s.group_size:,} of its people are all different."
    if x.regression is not None:
        r = x.regression
        low, high = min(p[0] for p in points), max(p[0] for p in points)
        fitted = [(low, max(0.0, -(r.intercept + r.slope * low))), (high, max(0.0, -(r.intercept + r.slope * high)))]
        lines.append(Line("regression", fitted))
        slope = f"{'+' if r.slope >= 0 else '−'} {written(abs(r.slope), 4)}"
        words += f" log uniqueness = {written(r.intercept, 4)} {slope} κ; R² {r.r2:.3f}."
    drawn = curve(lines, x="κ", y=f"−log(chance that {s.group_size:,} are all unique)", title="Uniqueness against κ")
    return [Figure(svg(drawn), words)]


def _alone_plots(s: Any, x: Any) -> list[Block]:
    """Mean and variance of the people of a group who are one of a kind in it, against κ."""
    if len(x.groups) < 3:
        return []
    out: list[Block] = []
    for name, key in (("expected", "alone"), ("variance", "alone_variance")):
        line = Line("subpopulations", [(g.kappa, getattr(g, key)) for g in x.groups], dots=True)
        label = f"unique of {s.group_size:,} people, {name}"
        words = f"Each dot is a subpopulation: how many of {s.group_size:,} of its people are one of a kind among them, {name}."
        out.append(Figure(svg(curve([line], x="κ", y=label, title=f"Unique people against κ, {name}")), words))
    return out


def _by_group_size(s: Any, x: Any) -> list[Block]:
    """Uniqueness by group size where κ is lowest and where it is highest, beside equally likely combinations."""
    ends = sorted((g for g in x.groups if g.by_group_size), key=lambda g: g.kappa)
    if not ends:
        return []
    chances_of = {f"{g.name} (κ {_g(g.kappa)})": g.by_group_size for g in ends} | {"equally likely": x.evenly}
    lines = [Line(name, [(float(n), 100 * p) for n, p in chances.items()]) for name, chances in chances_of.items()]
    here = (float(s.group_size), f"asked: {s.group_size:,}")
    y, title = "chance that all are unique, %", "Uniqueness by group size"
    drawn = curve(lines, x="people in the group", y=y, title=title, here=here)
    rows = [(f"{n:,}", *(percent(chances[n]) for chances in chances_of.values())) for n in x.evenly]
    words = "The subpopulations of the lowest and the highest κ, and all combinations equally likely."
    return [Figure(svg(drawn), words), Table(("people", *chances_of), rows, right=range(len(chances_of) + 1))]


def _predicted_blocks(x: Any) -> list[Block]:
    """Shares of members in groups of one, two and three, predicted from the whole table, by size of the subpopulation."""
    groups = sorted(x.groups, key=lambda g: g.members)
    if len({g.members for g in groups}) < 2:
        return []
    lines: Sequence[Line] = [
        Line("predicted, alone", [(float(g.members), 100 * g.predicted[0]) for g in groups]),
        Line("observed, alone", [(float(g.members), 100 * g.observed[0]) for g in groups], dots=True),
    ]
    drawn = curve(lines, x="members of the subpopulation", y="one of a kind, %", title="Predicted against observed")
    words = "The line is what drawing as many people from the whole table would give; dots are the subpopulations."
    rows = [
        (f"groups of {j}", percent(_mean(groups, "observed", i)), percent(_mean(groups, "predicted", i)))
        for i, j in enumerate((1, 2, 3))
    ]
    return [Figure(svg(drawn), words), Table(("members in", "observed", "predicted"), rows, right=(1, 2))]


def _mean(groups: Sequence[Any], what: str, i: int) -> float:
    total = sum(g.members for g in groups)
    return float(sum(getattr(g, what)[i] * g.members for g in groups) / total)

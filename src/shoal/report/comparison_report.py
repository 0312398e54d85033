"""The page and the card of a comparison: what a release cost and what it is still good for. No data value, no script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from shoal.report.blocks import Block, Cell, Figure, Items, Number, Section, Table, Tag, Words, card_of, report_page
from shoal.report.charts import bars, frontier, heat_map, svg
from shoal.report.numbers import percent

MOST_COLUMNS = 15
"""More would not fit a map that can be read."""
KINDS = {"unchanged": "met", "recoded": "quasi", "recoded locally": "quasi", "changed numbers": "warning", "blank": "broken"}


def comparison_html(c: Any) -> str:
    sections = [
        Section("columns", "What each column still tells", _columns(c)),
        Section("loss", "What the recoding lost", _losses(c)),
        Section("numbers", "Numbers before and after", _numbers(c)),
        Section("together", "Do columns still go together?", _pairs(c)),
        Section("counts", "Counts, and telling the tables apart", _counts(c)),
        Section("models", "Models trained on it", _models(c)),
        Section("analyses", "Named analyses", _analyses(c)),
        Section("classes", "Classes", _classes(c)),
        Section("detail", "Safety against detail", _frontier(c)),
        Section("notes", "How to read this page", [Items(c.notes)]),
    ]
    title = f"What is {c.release} still good for?"
    first, _, rest = c.sentence.partition(";")
    return report_page(
        title,
        subtitle=f"{title} Compared with {c.original}",
        accent=first,
        accent_kind="met",
        rest=f";{rest}" if rest else "",
        numbers=_headline(c),
        sections=sections,
    )


def comparison_card(c: Any) -> str:
    """The card: the sentence, the figures, a row per column."""
    rows = [(x.name, _kind(x.kind), _kept(x), _number(x.distance)) for x in c.columns]
    blocks: list[Block] = [
        Table(("column", "", "detail kept", "distance"), rows, right=(2, 3)),
        Words('c.report("compare.html") · c.pairs · c.models · c.to_json()', small=True),
    ]
    return card_of(c.sentence, blocks, _headline(c), "")


def _headline(c: Any) -> list[Number]:
    out = [Number(f"{c.records[1]:,}", f"records published, of {c.records[0]:,}")]
    detail = c.overall.get("granularity")
    if detail is not None:
        out.append(Number(percent(1 - detail), "of the detail of the published columns kept"))
    if c.queries is not None and c.queries.queries:
        out.append(Number(percent(c.queries.median), "typical error of a count asked of it"))
    if c.propensity is not None:
        ratio = c.propensity.ratio
        says = "times the distance of records sampled again from the original (pMSE ratio)"
        out.append(Number(_number(ratio), says, missed=ratio > 10))
    return out


def _kind(kind: str) -> Cell:
    return Tag(kind, KINDS.get(kind, "unmet"))


def _kept(x: Any) -> str:
    loss = x.losses["granularity"]
    return "" if loss is None else percent(1 - loss)


def _number(x: float | None) -> str:
    """Three digits, never with an exponent."""
    if x is None or not math.isfinite(x):
        return ""
    if abs(x) < 1e-9:
        return "0"
    if abs(x) >= 1000:
        return f"{x:,.0f}"
    return f"{x:.{max(0, 2 - math.floor(math.log10(abs(x))))}f}"


def _columns(c: Any) -> list[Block]:
    drawn = bars(
        [x.name for x in c.columns],
        [None if x.losses["granularity"] is None else 1 - x.losses["granularity"] for x in c.columns],
        title="Detail kept by column",
        x="detail kept (1 − granularity loss)",
    )
    rows: list[Sequence[Cell]] = [
        (
            x.name,
            _kind(x.kind),
            f"{x.values[0]:,} → {x.values[1]:,}",
            f"{x.missing[0]:,} → {x.missing[1]:,}",
            _number(x.distance),
            _number(x.distance_at_original),
            _number(x.hellinger),
        )
        for x in c.columns
    ]
    heads = ("column", "", "values", "missing", "distance", "distance, original detail", "Hellinger")
    words = "Distance: share of the records that would have to change their value to give the original distribution, at the "
    words += "published detail; at the original detail with each group spread evenly over its values."
    out: list[Block] = [
        Figure(svg(drawn), "How fine the published cells are, 100 % as before."),
        Table(heads, rows, right=range(2, 7)),
    ]
    out.append(Words(words, small=True))
    if c.not_published:
        out.append(Words(f"Not published: {', '.join(c.not_published)}."))
    return out


LOSSES = (
    ("granularity", "granularity"),
    ("certainty_penalty", "certainty penalty"),
    ("monotone_entropy", "monotone entropy"),
    ("nonuniform_entropy", "non-uniform entropy, bits"),
    ("mutual_information_utility", "MI utility, bits"),
    ("mutual_information_loss", "MI loss, bits"),
)


def _losses(c: Any) -> list[Block]:
    rows = [(x.name, *(_number(x.losses[key]) for key, _ in LOSSES)) for x in c.columns if x.losses["granularity"] is not None]
    if not rows:
        return []
    rows.append(("all columns", *(_number(c.overall[key]) for key, _ in LOSSES)))
    out: list[Block] = [Table(("column", *(words for _, words in LOSSES)), rows, right=range(1, len(LOSSES) + 1))]
    out.append(Words(f"ARX's loss (geometric mean over the columns): {_number(c.overall['arx_loss'])}.", small=True))
    for target, by in c.private.items():
        if by:
            lines = [(name, _number(u), _number(lost)) for name, (u, lost) in by.items()]
            heads = (f"what a column tells about {target}", "bits told", "bits left open")
            out.append(Table(heads, lines, right=(1, 2)))
    return out


def _numbers(c: Any) -> list[Block]:
    rows = []
    for x in c.columns:
        if not x.numbers:
            continue
        cells = [f"{_number(x.numbers[n][0])} → {_number(x.numbers[n][1])}" for n in ("mean", "deviation", "q1", "median", "q3")]
        rows.append((x.name, *cells, _number(x.numbers["kolmogorov_smirnov"]), _number(x.numbers["wasserstein"])))
    heads = ("column", "mean", "deviation", "quartile 1", "median", "quartile 3", "Kolmogorov–Smirnov", "moved, in deviations")
    out: list[Block] = [Table(heads, rows, right=range(1, 8))] if rows else []
    matched = [
        (x.name, *(_number(x.matched.get(n)) for n in ("cells_changed", "squared_error", "il1s"))) for x in c.columns if x.matched
    ]
    if matched:
        out.append(Table(("record by record", "cells changed", "squared error / spread", "IL1s"), matched, right=(1, 2, 3)))
    return out


def _pairs(c: Any) -> list[Block]:
    out: list[Block] = []
    names = list(dict.fromkeys(n for p in c.pairs for n in p.columns))[:MOST_COLUMNS]
    if len(names) > 1:
        alone = {x.name: x.distance or 0.0 for x in c.columns}
        known = {frozenset(p.columns): p.distance for p in c.pairs}
        shares = [
            [alone[a] if a == b else known.get(frozenset((a, b)), 0.0) for b in names[: i + 1]] for i, a in enumerate(names)
        ]
        drawn = heat_map(names, shares, title="Records in another cell, by pair of columns", counted="in another cell")
        out.append(Figure(svg(drawn), "Percent of the records in another cell of the table of both columns. Dashed: one column."))
        worst = sorted(c.pairs, key=lambda p: -p.distance)[:10]
        rows = [(" + ".join(p.columns), _number(p.distance), _number(p.before), _number(p.after)) for p in worst]
        heads = ("columns, most changed first", "distance", "Cramér's V before", "after")
        out.append(Table(heads, rows, right=(1, 2, 3)))
    if c.correlations:
        notes = []
        for method in ("pearson", "spearman"):
            correlations = c.correlations[method]
            if correlations["largest_change"] is not None:
                most, mean = _number(correlations["largest_change"]), _number(correlations["mean_change"])
                notes.append(f"{method.capitalize()} correlations moved by at most {most}, {mean} on average.")
        out.append(Words(" ".join(notes), small=True))
    return out


def _counts(c: Any) -> list[Block]:
    out: list[Block] = []
    if c.queries is not None and c.queries.queries:
        q = c.queries
        out.append(
            Words(
                f"{q.queries} random counts over one to three columns were asked of both tables. Half of its answers are "
                f"off by at most {percent(q.median)}, nine in ten by at most {percent(q.p90)}; the mean is {percent(q.mean)}."
            )
        )
    if c.propensity is not None:
        p = c.propensity
        out.append(
            Words(
                f"A logistic regression that tries to tell released from original records reaches a pMSE of {_number(p.pmse)} "
                f"(0: it cannot; {_number(p.most)}: it always can). Records sampled again from the "
                f"original's distribution reach {_number(p.expected)} on average."
            )
        )
    return out


def _models(c: Any) -> list[Block]:
    if not c.models:
        return []
    rows = [
        (m.target, m.model, m.score, _number(m.baseline), _number(m.before), _number(m.after), _number(m.spread))
        for m in c.models
    ]
    heads = ("target", "model", "score", "best guess", "trained on original", "trained on release", "spread")
    words = "All models are tested on rows of the original that they have not seen. Spread: of the difference between the folds."
    return [Table(heads, rows, right=(3, 4, 5, 6)), Words(words, small=True)]


def _analyses(c: Any) -> list[Block]:
    rows = [(a.analysis, _number(a.before), _number(a.after), f"{_number(a.change)} ({a.measure})") for a in c.analyses]
    return [Table(("analysis", "before", "after", "change"), rows, right=(1, 2))] if rows else []


def _classes(c: Any) -> list[Block]:
    k = c.classes
    if not k:
        return []
    counts = {"smallest class (k)": "k", "one of a kind": "unique", "classes": "classes", "discernibility": "discernibility"}
    rows = [(title, f"{k[name]['before']:,}", f"{k[name]['after']:,}") for title, name in counts.items()]
    average = k["average_class_size"]
    rows.append(("average class size", _number(average["before"]), _number(average["after"])))
    for target, m in k["classification_metric"].items():
        rows.append((f"classification metric, {target}", _number(m["before"]), _number(m["after"])))
    if k.get("ambiguity") is not None:
        rows.append(("original combinations a record may stand for", "1", _number(k["ambiguity"])))
    if k.get("kl_divergence") is not None:
        rows.append(("bits between the original and what the release suggests (KL)", "0", _number(k["kl_divergence"])))
    return [Table((f"over {', '.join(k['quasi'])}", "before", "after"), rows, right=(1, 2))]


def _frontier(c: Any) -> list[Block]:
    out: list[Block] = []
    if len(c.frontier) > 1:
        words = f"The least loss found at each smallest group. {c.frontier_scope}"
        out.append(Figure(svg(frontier([asdict(p) for p in c.frontier])), words))
    if c.classes.get("loss") is not None:
        here = f"This release: smallest class {c.classes['k']['after']:,}, loss {_number(c.classes['loss'])} by the same measure."
        out.append(Words(here))
    if c.frontier_why:
        lead = "The curve is not whole: " if len(c.frontier) > 1 else "The curve is not drawn: "
        out.append(Words(lead + c.frontier_why))
    return out

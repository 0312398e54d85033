"""The report of a measurement: one self-contained HTML page, from the same object as the JSON. No data value, no script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shoal.measures.subsets.column_sets import uniqueness_matrix
from shoal.model.display import written
from shoal.report.blocks import THRESHOLD, Block, Figure, Section, Table, Text, Words, numbers_of, report_page, shoal_figure
from shoal.report.charts import Chart, class_sizes, heat_map, svg
from shoal.report.numbers import chance, percent

if TYPE_CHECKING:
    from shoal.measures.result.figures import Figures

MOST_COLUMNS = 15
"""More would not fit a map that can be read."""


def report_html(m: Figures) -> str:
    """The page as text.

    >>> from shoal.measures.result.figures import Figures
    >>> from shoal.model.counts.classes import ClassCounts
    >>> page = report_html(Figures(ClassCounts((1, 4), columns=("age",), codes=([0, 1],))))
    >>> "http://" in page.replace("http://www.w3.org/2000/svg", "")
    False
    """
    sections = [
        Section("groups", "How many share a group", _groups(m)),
        Section("risks", "How likely is a re-identification?", _risks(m)),
        Section("sensitive", "What does a group tell about the sensitive values?", _sensitive(m)),
        Section("columns", "Which columns together identify?", _columns(m)),
        Section("adds", "What each column adds", _contributions(m)),
        Section("missing", "Missing values", _missing(m)),
        Section("by", f"By {m.by.column}" if m.by is not None else "", _by(m)),
        Section("meaning", "What the numbers mean", _meaning(m)),
    ]
    total = m.crowds.n_members
    accent, _, rest = m.sentence.partition(" on ")
    return report_page(
        f"How well do people hide in {m.table}?",
        accent=accent,
        accent_kind="risk" if m.unique else "met",
        rest=f" on {rest}" if rest else "",
        notes=m.notes,
        shoal=shoal_figure(total, m.unique, unit=_unit(m)) if total else None,
        numbers=numbers_of(m),
        sections=sections,
    )


def group_sizes(m: Figures) -> Chart:
    """Members by the size of their group."""
    sizes: dict[int, int] = {}
    for size, members in zip(m.crowds.sizes.tolist(), m.crowds.members.tolist(), strict=True):
        sizes[int(size)] = sizes.get(int(size), 0) + int(members)
    return class_sizes(sizes, THRESHOLD, title="Members by the size of the group they hide in", unit=_unit(m))


def _unit(m: Figures) -> str:
    return "people" if m.counts.unit is not None else "records"


def _groups(m: Figures) -> list[Block]:
    out: list[Block] = []
    if m.crowds.members.sum():
        words = f"Hatched: groups smaller than {THRESHOLD}. Bars of fewer than {THRESHOLD} {_unit(m)} are joined with the next."
        out.append(Figure(svg(group_sizes(m)), words))
    s = m.class_sizes
    cells = (f"{s.sets:,}", f"{s.min:,}", written(s.q1), written(s.median), written(s.mean, 4), written(s.q3), f"{s.max:,}")
    heads = ("groups", "smallest", "quartile 1", "median", "mean", "quartile 3", "largest")
    out.append(Table(heads, [cells], right=range(1, 7)))
    at = list(m.people_at)
    out.append(Table([f"in groups of ≤ {t}" for t in at], [[f"{n:,}" for n in m.people_at.values()]], right=range(1, len(at))))
    return out


def _risks(m: Figures) -> list[Block]:
    r = m.risk
    rows = [
        ("prosecutor: knows the person is in the table", chance(r.prosecutor.max), chance(r.prosecutor.mean)),
        ("journalist: searches a population register", chance(r.journalist.max), chance(r.journalist.mean)),
        ("marketer: matches everybody at once", "", chance(r.marketer)),
    ]
    out: list[Block] = [
        Table(("attacker", "highest", "average"), rows, right=(1, 2)),
        Words(f"Compared with {r.basis}.", small=True),
    ]
    above = [(f"risk above {t}", f"{n:,}") for t, n in r.prosecutor.above.items()]
    if above:
        unit = "people" if m.counts.unit is not None else "records"
        out.append(Table((unit, "number"), above, right=(1,)))
    if m.presence is not None:
        p = m.presence
        out.append(
            Table(("k-map", "δ min", "δ max"), [(f"{p.k_map:,}", written(p.delta_min, 4), written(p.delta_max, 4))], right=(1, 2))
        )
    if m.individual is not None:
        i = m.individual
        heads = ("individual risk, highest", "mean", "expected re-identifications")
        out.append(Table(heads, [(written(i.max, 4), written(i.mean, 4), written(i.expected, 4))], right=(1, 2)))
    e = m.entropy_risk
    if e["entropy_bits"] is not None:
        named = ("entropy, bits", "combinations worth (ANVC)", "risk by entropy (RR)", "degree of anonymity", "κ, nats")
        cells = [written(e["entropy_bits"], 4), written(e["anvc"], 4), written(e["rr"], 3), written(e["degree"], 3)]
        out.append(Table(named, [(*cells, "" if e["kappa"] is None else written(e["kappa"], 4))], right=range(5)))
        words = "Degree of anonymity: the share of the doubt about who a record is of that the columns leave. RR understates."
        out.append(Words(words, small=True))
    if m.sample and m.sample.get("value") is not None:
        low, high = m.sample["low"], m.sample["high"]
        out.append(
            Words(
                f"A unique match is right with a chance of {written(m.sample['value'], 3)} "
                f"[{written(low, 3)}, {written(high, 3)}] (Skinner and Elliot)."
            )
        )
    return out


def _sensitive(m: Figures) -> list[Block]:
    heads = ("column", "distinct l", "entropy l", "recursive l (c=3)", "surest guess", "t", "distance", "β", "δ")
    rows = []
    for name, d in m.diversity.items():
        c = m.closeness[name]
        delta = "infinite" if np.isinf(c.delta_disclosure) else written(c.delta_disclosure, 4)
        l_diversity = (f"{d.distinct}", written(d.entropy, 4), f"{d.recursive}", written(d.alpha, 4))
        rows.append((name, *l_diversity, written(c.t, 4), c.distance, written(c.beta, 4), delta))
    return [Table(heads, rows, right=(1, 2, 3, 4, 5, 7, 8))] if rows else []


def _columns(m: Figures) -> list[Block]:
    if not m.knows_subsets:
        return []
    rows = [(" + ".join(s.columns), f"{s.unique:,}", f"{s.k:,}", percent(s.separation)) for s in m.worst_subsets(10)]
    worst = Table(("columns", "one of a kind", "smallest group", "pairs told apart"), rows, right=(1, 2, 3))
    names = m.quasi[:MOST_COLUMNS]
    if len(names) < 2:
        return [worst]
    matrix = uniqueness_matrix(m.subsets(2), names, m.people)
    drawn = heat_map(names, matrix, title="Percent one of a kind for each pair of columns")
    return [Figure(svg(drawn), "Percent one of a kind when both columns are known. Dashed: one column alone."), worst]


def _contributions(m: Figures) -> list[Block]:
    if not m.knows_subsets:
        return []
    rows = [(c.column, f"{c.values:,}", f"{c.unique_alone:,}", f"{c.unique_without:,}", f"{c.adds:,}") for c in m.contributions()]
    return [Table(("column", "values", "unique by it alone", "unique without it", "it adds"), rows, right=(1, 2, 3, 4))]


def _missing(m: Figures) -> list[Block]:
    if not m.missing["members_with_missing"]:
        return []
    rows: list[Sequence[str]] = []
    words = {"own": "a value of its own (strict)", "wildcard": "matches every value", "drop": "rows left out"}
    for rule, sentence in words.items():
        counted = m.missing[rule]
        rows.append((sentence, counted["note"] if counted["k"] is None else f"{counted['k']:,}", f"{counted['unique'] or 0:,}"))
    return [Table(("a missing value is", "k", "one of a kind"), rows, right=(1, 2))]


def _by(m: Figures) -> list[Block]:
    if m.by is None:
        return []
    rows = [
        (g.name or "(small group)", f"{g.members:,}", f"{g.sizes.min:,}", written(g.sizes.median), f"{g.unique:,}")
        for g in m.by.groups[:200]
    ]
    out: list[Block] = [Table((m.by.column, "members", "k", "median group", "one of a kind"), rows, right=(1, 2, 3, 4))]
    if m.by.pearson is not None and m.by.spearman is not None:
        out.append(Words(f"Size and median group: Pearson {m.by.pearson:.3f}, Spearman {m.by.spearman:.3f}.", small=True))
    return out


def _meaning(m: Figures) -> list[Block]:
    limits = (
        "The numbers hold for these columns under these assumptions. They measure the data, not the people, projects, settings "
        "or outputs around them."
    )
    return [Text(str(m.explain())), Words(limits, small=True)]

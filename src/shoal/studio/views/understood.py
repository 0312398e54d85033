"""Understand: pairs, staircase, group sizes, worst sets, secrets; in charts and sentences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shoal.api.measurement import Measurement
from shoal.measures.classes.individual import invented_person, most_exposed_groups, unique_shares
from shoal.measures.subsets.column_sets import Subset, coarser_classes, subset_count, uniqueness_matrix, worst_subsets
from shoal.report.charts import Chart, Line, curve, heat_map, rising
from shoal.report.numbers import percent
from shoal.studio import words
from shoal.studio.views.measured import PHONE

MOST_COLUMNS, ON_A_PHONE = 12, 8
"""More would not fit a map that can be read."""
POINTS = 40
TENTH = 0.1
"""The share of people that a set of columns must single out to be named in the headline."""
VISIBLE = 0.01
"""The least share that a cell of the map shows as a number."""


def shown(m: Measurement, asked: dict[str, str], k: int, least: int) -> dict[str, Any]:
    """What the page shows; ``asked`` are places of columns (a, b, c), an order, and the number of an example.

    ``k`` is the smallest group that is asked for; groups under ``least`` people are not named.
    """
    quasi = list(m.quasi)
    order = _order(m, asked.get("order", ""))
    names = [quasi[i] for i in order]
    people = [subset_count(m.counts, names[: i + 1], recount=m.recount).unique for i in range(len(names))]
    total, adds = m.crowds.n_members, m.counts.adds_up
    small = [_under(m, names[: i + 1], k) for i in range(len(names))] if adds else []
    return {
        "m": True,
        "said": _culprit(m),
        "quasi": quasi,
        "pairs": _pairs(m, names, k),
        "pair": _pair(m, quasi, asked),
        "stairs": [
            rising([words.plain(n) for n in names], people, total, title="What each column adds", outlined=small, width=width)
            for width in (560, PHONE - 88)
        ],
        "under": k if adds else None,
        "order": [{"name": n, "earlier": _earlier(order, i)} for i, n in enumerate(names)],
        "group": _group(m, names),
        "example": _example(m, asked.get("example", ""), least),
        "hit": [
            {"column": h.column, "group": h.group, "people": h.people, "unique": h.unique, "share": h.share}
            for h in most_exposed_groups(m.counts, least=max(least, k))
        ],
        "worst": m.worst_subsets(6) if m.knows_subsets else [],
        "secrets": [
            {"name": n, "distinct": d.distinct, "alpha": d.alpha, "t": f"{m.closeness[n].t:.3g}"} for n, d in m.diversity.items()
        ],
    }


def _under(m: Measurement, names: list[str], k: int) -> int:
    """People in groups smaller than k by these columns."""
    sizes = coarser_classes(m.counts, names).sizes
    return int(sizes[sizes < k].sum())


def _example(m: Measurement, number: str, least: int) -> dict[str, Any] | None:
    """A person who does not exist, and how the crowd shrinks; the number says which of many."""
    if not number.isdecimal() or len(number) > 6:
        return None
    person = invented_person(m.counts, least=least, rng=np.random.default_rng(int(number)))
    if person is None:
        return {"steps": [], "another": int(number) + 1}
    steps = [{"column": c, "value": v, "crowd": n} for (c, v), n in zip(person.values, person.crowds, strict=True)]
    return {"steps": steps, "another": int(number) + 1, "least": least}


def _order(m: Measurement, text: str) -> list[int]:
    """The columns in the order that was asked for; else those that single out fewest first."""
    quasi = list(m.quasi)
    given = [int(p) for p in text.split("-") if p.isdecimal()]
    if sorted(given) == list(range(len(quasi))):
        return given
    alone = {n: subset_count(m.counts, [n], recount=m.recount) for n in quasi}
    return sorted(range(len(quasi)), key=lambda i: (alone[quasi[i]].unique, alone[quasi[i]].classes, i))


def _earlier(order: list[int], at: int) -> str | None:
    """The order with one column a place earlier."""
    if at == 0:
        return None
    moved = [*order[: at - 1], order[at], order[at - 1], *order[at + 1 :]]
    return "-".join(str(i) for i in moved)


def _culprit(m: Measurement) -> tuple[str, str, str]:
    """The column that does it, in a sentence."""
    if not m.unique:
        return "Nobody is one of a kind by these columns;", f"the smallest group has {m.k:,}.", "met"
    telling = _telling(m) if m.knows_subsets else None
    if telling is None or not telling.unique:
        return f"Only {words.several(m.quasi)} together give people away:", f"they single out {m.unique:,}.", "risk"
    share = percent(telling.unique / m.crowds.n_members).replace(" ", "\u00a0")
    name = words.several(telling.columns)
    if len(telling.columns) > words.MOST_NAMED:
        return "It takes many columns to give people away:", f"{len(telling.columns)} together single out {share}.", "risk"
    verb = "gives" if len(telling.columns) == 1 else "give"
    by = "it" if len(telling.columns) == 1 else "them"
    return f"{name[:1].upper()}{name[1:]} {verb} people away:", f"by {by} alone, {share} are singled out.", "risk"


def _telling(m: Measurement) -> Subset | None:
    """Few columns that single out a tenth of the people; if all together do not, half of those whom all single out.

    Sets of up to three columns are all looked at, as far as that is quick; a larger one grows by the column that adds most.
    """
    wanted = math.ceil(TENTH * m.crowds.n_members)
    wanted = wanted if m.unique >= wanted else math.ceil(m.unique / 2)
    tried = m.subsets()
    if not tried:
        return next(iter(m.worst_subsets(1, up_to=2)), None)
    sizes = sorted({len(s.columns) for s in tried})
    for size in sizes:
        worst = worst_subsets([s for s in tried if len(s.columns) == size], 1)[0]
        if worst.unique >= wanted:
            return worst
    while worst.unique < wanted and len(worst.columns) < len(m.quasi):
        more = [subset_count(m.counts, [*worst.columns, c], recount=m.recount) for c in m.quasi if c not in worst.columns]
        worst = worst_subsets(more, 1)[0]
    return worst


def _pairs(m: Measurement, names: list[str], k: int) -> dict[str, Any] | None:
    """A map of the pairs by the first measure that shows something.

    One of a kind; else in groups under k; else both with a third column. ``names`` are the columns, the most telling one last.
    """
    if len(names) < 2 or not m.knows_subsets:
        return None
    shown = [n for n in m.quasi if n in names[-MOST_COLUMNS:]]
    kind, under = "one of a kind", f"in a group smaller than {k:,}"
    ways: list[tuple[str, str, list[str]]] = [(kind, "", shown)]
    if m.counts.adds_up:
        rest = [n for n in shown if n != names[-1]]
        ways += [(under, "", shown)] + [(what, names[-1], rest) for what in (kind, under) if len(rest) > 1]
    for what, third, columns in ways:
        if what == kind and not third:
            matrix = uniqueness_matrix(m.subsets(2), columns, m.people)
        else:
            matrix = _matrix(m, columns, third, 2 if what == kind else k)
        cells = [matrix[i][j] for i in range(len(columns)) for j in range(i)]
        if sum(share >= VISIBLE for share in cells) * 4 >= len(cells):
            break
    else:
        (what, third, columns), matrix = ways[0], uniqueness_matrix(m.subsets(2), shown, m.people)
    known = f"both and {words.plain(third)} are known" if third else "both are known"
    alone = f"one column with {words.plain(third)}" if third else "one column alone"
    title = f"Percent {what} for each pair of columns"
    few = [i for i, n in enumerate(columns) if n in names[-ON_A_PHONE:]]
    narrow = [[matrix[i][j] for j in few] for i in few]
    chart = [
        heat_map([words.plain(n) for n in columns], matrix, title=title, counted=what),
        heat_map([words.plain(columns[i]) for i in few], narrow, title=title, counted=what, room=PHONE),
    ]
    return {"chart": chart, "words": f"Share of people, in %, who are {what} when {known}. Dashed: {alone}."}


def _matrix(m: Measurement, columns: list[str], third: str, under: int) -> list[list[float]]:
    """The share of people in groups smaller than ``under`` for each pair of columns, perhaps with a third."""
    size = len(columns)
    out = [[0.0] * size for _ in columns]
    for i in range(size):
        for j in range(i + 1):
            names = list(dict.fromkeys([columns[i], columns[j], *([third] if third else [])]))
            out[i][j] = out[j][i] = _under(m, names, under) / m.crowds.n_members
    return out


def _pair(m: Measurement, quasi: list[str], asked: dict[str, str]) -> dict[str, Any] | None:
    """One pair, perhaps with a third column; the worst pair where none was chosen."""
    if len(quasi) < 2 or not m.knows_subsets:
        return None
    worst = next((s for s in m.worst_subsets(50, up_to=2) if len(s.columns) == 2), None)
    first = [quasi.index(c) for c in worst.columns] if worst is not None else [0, 1]
    place = [_number(asked.get(key), len(quasi)) for key in ("a", "b", "c")]
    a, b = place[0] if place[0] is not None else first[0], place[1] if place[1] is not None else first[1]
    chosen = list(dict.fromkeys(i for i in (a, b, place[2]) if i is not None))
    names = [quasi[i] for i in chosen]
    unique = subset_count(m.counts, names, recount=m.recount).unique
    return {"a": a, "b": b, "c": place[2], "names": names, "unique": unique, "share": unique / m.crowds.n_members}


def _number(text: str | None, most: int) -> int | None:
    return int(text) if text is not None and text.isdecimal() and int(text) < most else None


def _group(m: Measurement, names: list[str]) -> list[Chart] | None:
    """One of a kind against the size of a group of these people: by all columns, and by all but the one or two worst."""
    if not m.counts.adds_up or m.crowds.n_members < 2:
        return None
    total = m.counts.n_members
    sizes = sorted({int(g) for g in np.geomspace(2, total, POINTS)} | {total})
    lines = []
    for n in range(len(names), max(0, len(names) - 3), -1):
        shares = unique_shares(coarser_classes(m.counts, names[:n]), sizes)
        label = f"all {n} columns" if n == len(names) else f"without {words.several(names[n:])}"
        lines.append(Line(label, [(float(g), 100 * share) for g, share in zip(sizes, shares, strict=True)]))
    title, here = "One of a kind by the size of the group", (float(total), f"this table: {total:,}")
    return [
        curve(lines, x="people in the group", y="one of a kind, %", title=title, here=here, width=width) for width in (720, PHONE)
    ]

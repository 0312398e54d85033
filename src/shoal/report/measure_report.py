"""The report of a measurement: one self-contained HTML page, from the same object as the JSON. No data value, no script.

Names of columns are escaped. The page forbids the browser to load or run anything (content security policy).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import OutputError
from shoal.report.card import BAD, FINE, GREY, INK, chance, small_table

if TYPE_CHECKING:
    from shoal.measures.result.measurement import Measured

STYLE = (
    "body{font-family:system-ui,sans-serif;color:#1b2733;max-width:900px;margin:32px auto;padding:0 20px;line-height:1.45}"
    "h1{font-size:24px}h2{font-size:18px;margin-top:32px;border-bottom:1px solid #d5dbe0}pre{white-space:pre-wrap;"
    "font-family:inherit;font-size:13px;color:#33414d}.lead{font-size:18px;font-weight:600}.small{font-size:12px;color:#66727d}"
    "svg{max-width:100%}@media print{body{margin:0}}"
)
BINS = (1, 2, 3, 5, 10, 20, 50, 100, 1000, 10000)
THRESHOLD = 5


def write_report(m: Measured, path: Path) -> Path:
    """Write the page, whole or not at all.

    >>> import tempfile
    >>> from shoal.measures.result.measurement import Measured
    >>> from shoal.model.counts.classes import ClassCounts
    >>> file = write_report(Measured(ClassCounts((1, 4), columns=("age",), codes=([0, 1],))), Path(tempfile.mkdtemp(), "m.html"))
    >>> "http://" in file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    False
    """
    html = report_html(m)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".shoal-", suffix=".html")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(html)
            os.replace(name, path)
        except OSError:
            os.unlink(name)
            raise
    except OSError:
        raise OutputError(
            f"the report '{path.name}' could not be written.", hint="Check the folder and the free space."
        ) from None
    return path


def report_html(m: Measured) -> str:
    """The page as text."""
    parts = [
        f'<p class="lead">{escape(m.sentence)}</p>',
        *(f'<p class="small">{escape(n)}</p>' for n in m.notes),
        "<h2>How large are the groups?</h2>",
        _histogram(m),
        _sizes(m),
        "<h2>How likely is a re-identification?</h2>",
        _risks(m),
        *_sensitive(m),
        *_columns(m),
        *_missing(m),
        *_by(m),
        "<h2>What the numbers mean</h2>",
        f"<pre>{escape(str(m.explain()))}</pre>",
        '<p class="small">The numbers hold for these columns under these assumptions. They measure the data, not the people, '
        "projects, settings or outputs around them. Computed on this computer; nothing was sent anywhere.</p>",
    ]
    title = escape(f"How well do people hide in {m.table}?")
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    wide = '<meta name="viewport" content="width=device-width,initial-scale=1">'
    head = f'<meta charset="utf-8">{wide}<meta http-equiv="Content-Security-Policy" content="{policy}"><title>{title}</title>'
    body = f"<body><main><h1>{title}</h1>{''.join(parts)}</main></body>"
    return f'<!doctype html><html lang="en"><head>{head}<style>{STYLE}</style></head>{body}</html>\n'


def _histogram(m: Measured) -> str:
    """Members by size of their group, in bins; below the usual threshold in the warning colour."""
    edges = [*BINS, np.iinfo(np.int64).max]
    bars: list[tuple[str, int, bool]] = []
    for low, high in pairwise(edges):
        inside = (m.crowds.sizes >= low) & (m.crowds.sizes < high)
        label = f"{low}" if high == low + 1 else (f"{low}-{high - 1}" if high < edges[-1] else f"{low}+")
        bars.append((label, int(m.crowds.members[inside].sum()), low < THRESHOLD))
    while bars and bars[-1][1] == 0:
        bars.pop()
    top = max(n for _, n, _ in bars) or 1
    drawn = []
    for i, (label, n, small) in enumerate(bars):
        x, height = 20 + i * 84, 150 * n / top
        fill = BAD if small else FINE
        drawn.append(f'<rect x="{x}" y="{170 - height:.1f}" width="62" height="{height:.1f}" fill="{fill}"/>')
        drawn.append(_text(x + 31, 186, label) + _text(x + 31, 164 - height, f"{n:,}"))
    width = 40 + 84 * len(bars)
    title = "Members by the size of the group they hide in"
    return _svg(width, 206, title, drawn) + f'<p class="small">{title}. Red: groups smaller than {THRESHOLD}.</p>'


def _svg(width: float, height: float, title: str, drawn: Iterable[str]) -> str:
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img"><title>{escape(title)}</title>{"".join(drawn)}</svg>'


def _text(x: float, y: float, words: str, *, anchor: str = "middle", colour: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12" fill="{colour}">{escape(words)}</text>'


def _sizes(m: Measured) -> str:
    s = m.class_sizes
    cells = (f"{s.sets:,}", f"{s.min:,}", f"{s.q1:g}", f"{s.median:g}", f"{s.mean:.4g}", f"{s.q3:g}", f"{s.max:,}")
    table = small_table(("groups", "smallest", "quartile 1", "median", "mean", "quartile 3", "largest"), [cells])
    people = small_table([f"in groups of ≤ {t}" for t in m.people_at], [[f"{n:,}" for n in m.people_at.values()]])
    return table + people


def _risks(m: Measured) -> str:
    r = m.risk
    rows = [
        ("prosecutor: knows the person is in the table", chance(r.prosecutor.max), chance(r.prosecutor.mean)),
        ("journalist: searches a population register", chance(r.journalist.max), chance(r.journalist.mean)),
        ("marketer: matches everybody at once", "", chance(r.marketer)),
    ]
    out = small_table(("attacker", "highest", "average"), rows) + f'<p class="small">Compared with {escape(r.basis)}.</p>'
    above = [(f"risk above {t}", f"{n:,}") for t, n in r.prosecutor.above.items()]
    out += small_table(("records", "number"), above)
    if m.presence is not None:
        p = m.presence
        out += small_table(("k-map", "δ min", "δ max"), [(f"{p.k_map:,}", f"{p.delta_min:.4g}", f"{p.delta_max:.4g}")])
    if m.individual is not None:
        i = m.individual
        out += small_table(
            ("individual risk, highest", "mean", "expected re-identifications"),
            [(f"{i.max:.4g}", f"{i.mean:.4g}", f"{i.expected:.4g}")],
        )
    if m.sample and m.sample.get("value") is not None:
        low, high = m.sample["low"], m.sample["high"]
        words = f"A unique match is right with a chance of {m.sample['value']:.3g} [{low:.3g}, {high:.3g}] (Skinner and Elliot)."
        out += f"<p>{escape(words)}</p>"
    return out


def _sensitive(m: Measured) -> Iterable[str]:
    if not m.diversity:
        return
    yield "<h2>What does a group tell about the sensitive values?</h2>"
    heads = ("column", "distinct l", "entropy l", "recursive l (c=3)", "surest guess", "t", "distance", "β", "δ")
    rows = []
    for name, d in m.diversity.items():
        c = m.closeness[name]
        delta = "infinite" if np.isinf(c.delta_disclosure) else f"{c.delta_disclosure:.4g}"
        cells = (
            f"{d.distinct}",
            f"{d.entropy:.4g}",
            f"{d.recursive}",
            f"{d.alpha:.4g}",
            f"{c.t:.4g}",
            c.distance,
            f"{c.beta:.4g}",
            delta,
        )
        rows.append((name, *cells))
    yield small_table(heads, rows)


def _columns(m: Measured) -> Iterable[str]:
    if not m.knows_subsets:
        return
    yield from ("<h2>Which columns together identify?</h2>", _subsets(m), _heat(m))
    yield from ("<h2>What each column adds</h2>", _contributions(m))


def _subsets(m: Measured) -> str:
    rows = [(" + ".join(s.columns), f"{s.unique:,}", f"{s.k:,}", f"{s.separation:.4g}") for s in m.worst_subsets(10)]
    return small_table(("columns", "one of a kind", "smallest group", "pairs told apart"), rows)


def _heat(m: Measured) -> str:
    """Share of uniques for each pair of columns."""
    names = m.quasi[:15]
    if len(names) < 2:
        return ""
    from shoal.measures.columns.subsets import uniqueness_matrix

    found = m.subsets(2)
    matrix = uniqueness_matrix(found, names, int(m.counts.sizes.sum()))
    top = max(max(row) for row in matrix) or 1.0
    drawn = []
    for i, row in enumerate(matrix):
        drawn.append(_text(150, 40 + i * 30, _short(names[i]), anchor="end"))
        drawn.append(_text(175 + i * 46, 14, str(i + 1)))
        for j, share in enumerate(row):
            fill = f'fill="{BAD}" fill-opacity="{share / top:.3f}"'
            drawn.append(f'<rect x="{156 + j * 46}" y="{22 + i * 30}" width="42" height="26" stroke="#d5dbe0" {fill}/>')
            drawn.append(_text(177 + j * 46, 40 + i * 30, _percent(share)))
    title = "Percent one of a kind for each pair of columns (diagonal: the column alone)"
    numbered = ", ".join(f"{i + 1} {_short(n)}" for i, n in enumerate(names))
    return (
        _svg(170 + 46 * len(names), 30 + 30 * len(names), title, drawn)
        + f'<p class="small">{escape(title)}. {escape(numbered)}.</p>'
    )


def _percent(share: float) -> str:
    """A share in at most three characters.

    >>> _percent(1.0), _percent(0.333), _percent(0.0042), _percent(0.0)
    ('100', '33', '0.4', '0')
    """
    return f"{100 * share:.0f}" if share >= 0.0995 or share == 0 else f"{100 * share:.1f}"


def _short(name: str) -> str:
    return name if len(name) <= 20 else name[:19] + "…"


def _contributions(m: Measured) -> str:
    rows = [(c.column, f"{c.values:,}", f"{c.unique_alone:,}", f"{c.unique_without:,}", f"{c.adds:,}") for c in m.contributions()]
    return small_table(("column", "values", "unique by it alone", "unique without it", "it adds"), rows)


def _missing(m: Measured) -> Iterable[str]:
    if not m.missing["members_with_missing"]:
        return
    yield "<h2>Missing values</h2>"
    rows: list[Sequence[str]] = []
    words = {"own": "a value of its own (strict)", "wildcard": "matches every value", "drop": "rows left out"}
    for rule, said in words.items():
        found = m.missing[rule]
        rows.append((said, found["note"] if found["k"] is None else f"{found['k']:,}", f"{found['unique'] or 0:,}"))
    yield small_table(("a missing value is", "k", "one of a kind"), rows)


def _by(m: Measured) -> Iterable[str]:
    if m.by is None:
        return
    yield f"<h2>By {escape(m.by.column)}</h2>"
    rows = [
        (g.name or "(small group)", f"{g.members:,}", f"{g.sizes.min:,}", f"{g.sizes.median:g}", f"{g.unique:,}")
        for g in m.by.groups[:200]
    ]
    yield small_table((m.by.column, "members", "k", "median group", "one of a kind"), rows)
    if m.by.pearson is not None and m.by.spearman is not None:
        words = f"Size and median group: Pearson {m.by.pearson:.3f}, Spearman {m.by.spearman:.3f}."
        yield f'<p style="color:{GREY}">{escape(words)}</p>'

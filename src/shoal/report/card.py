"""Jupyter cards: a measurement or an inspection at a glance. Escaped, without script, nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.measures.result.measurement import Measured

BAD, FINE, INK, GREY = "#b3261e", "#1d6f42", "#1b2733", "#66727d"
ROLE_MARKS = {
    "direct": ("D", "#c0392b"),
    "quasi": ("Q", "#b58900"),
    "sensitive": ("S", "#7d3c98"),
    "insensitive": ("I", "#1d6f42"),
}
_BOX = "font-family:system-ui,sans-serif;border:1px solid #d5dbe0;border-radius:8px;padding:14px 18px;max-width:760px"
_NUMBER = "display:inline-block;min-width:140px;margin:8px 18px 8px 0;vertical-align:top"


def card(m: Measured) -> str:
    """The card of a measurement.

    >>> from shoal.measures.result.measurement import Measured
    >>> from shoal.model.counts.classes import ClassCounts
    >>> html = card(Measured(ClassCounts((1, 4), columns=("<b>",), codes=([0, 1],))))
    >>> "<b>" in html, "&lt;b&gt;" in html
    (False, True)
    """
    numbers = [
        ("one of a kind", f"{m.unique:,}", f"{100 * m.unique_share:.3g} % of all", m.unique == 0),
        ("smallest group (k)", f"{m.k:,}", f"highest risk {chance(m.risk.max)}", m.k >= 5),
        ("average risk", chance(m.risk.prosecutor.mean), "for a person known to be in the table", m.risk.prosecutor.mean <= 0.2),
    ]
    worst = m.worst_subsets(1) if m.knows_subsets else []
    if worst:
        numbers.append(
            ("most telling columns", " + ".join(worst[0].columns), f"{worst[0].unique:,} one of a kind", worst[0].unique == 0)
        )
    shown = "".join(_number(*n) for n in numbers)
    rows = [(n, f"{d.distinct}", f"{d.entropy:.3g}", f"{m.closeness[n].t:.3g}") for n, d in m.diversity.items()]
    extra = small_table(("sensitive", "distinct l", "entropy l", "t"), rows) if rows else ""
    notes = "".join(f'<div style="color:{GREY};font-size:12px;margin-top:4px">{escape(n)}</div>' for n in m.notes)
    head = f'<div style="font-size:15px;color:{INK};font-weight:600">{escape(m.sentence)}</div>'
    said = "Why? m.explain() &middot; m.worst_subsets(3) &middot; m.report(&quot;out.html&quot;)"
    more = f'<div style="color:{GREY};font-size:12px;margin-top:6px">{said}</div>'
    return f'<div style="{_BOX}">{head}{shown}{extra}{notes}{more}</div>'


def _number(label: str, value: str, below: str, fine: bool) -> str:
    colour, sign = (FINE, "&#10003;") if fine else (BAD, "&#9888;")
    return (
        f'<div style="{_NUMBER}"><div style="color:{GREY};font-size:12px">{escape(label)}</div>'
        f'<div style="font-size:20px;color:{colour}"><span aria-hidden="true">{sign}</span> {escape(value)}</div>'
        f'<div style="color:{GREY};font-size:12px">{escape(below)}</div></div>'
    )


def chance(value: float) -> str:
    """A chance in words and percent.

    >>> chance(0.2), chance(1.0)
    ('1 in 5 (20 %)', 'certain')
    """
    from shoal.measures.result.explaining import one_in

    said = one_in(value)
    return said if said in ("certain", "none") else f"{said} ({100 * value:.3g} %)"


def small_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table whose cells are escaped."""
    cell = "padding:2px 12px 2px 0;text-align:left;font-size:13px"
    head = "".join(f'<th scope="col" style="{cell};color:{GREY}">{escape(h)}</th>' for h in heads)
    body = "".join("<tr>" + "".join(f'<td style="{cell}">{escape(c)}</td>' for c in row) + "</tr>" for row in rows)
    return f'<table style="border-collapse:collapse;margin:6px 0"><tr>{head}</tr>{body}</table>'


def inspection_card(found: Any) -> str:
    """The card of an inspection: a coloured letter per role, the reason, and which columns together identify."""
    lines = []
    for c in found.columns:
        letter, colour = ROLE_MARKS[c.role.value]
        chip = f"background:{colour};color:#fff;border-radius:4px;padding:1px 6px"
        mark = f'<span style="{chip}" title="{c.role.value}">{letter}</span>'
        lines.append(
            f'<tr><td style="padding:2px 10px 2px 0">{mark}</td><td style="padding-right:12px">{escape(c.name)}</td>'
            f'<td style="padding-right:12px;color:{GREY}">{escape(c.kind)}, {c.distinct:,} values</td>'
            f'<td style="color:{GREY}">{escape(c.reason)} ({100 * c.confidence:.0f} %)</td></tr>'
        )
    rows = [(" + ".join(s.columns), f"{s.unique:,}", f"{s.k:,}") for s in found.together]
    extra = small_table(("together", "one of a kind", "smallest group"), rows) if rows else ""
    notes = "".join(f'<div style="color:{GREY};font-size:12px">{escape(n)}</div>' for n in found.notes)
    head = f'<div style="font-weight:600">{escape(found.table)}: {found.records:,} records, {len(found.columns)} columns</div>'
    table = f'<table style="border-collapse:collapse;font-size:13px">{"".join(lines)}</table>'
    return f'<div style="{_BOX}">{head}{table}{extra}{notes}</div>'

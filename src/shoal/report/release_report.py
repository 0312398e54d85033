"""The report of a release: one self-contained page for people who must decide.

Takes    the body of a certificate (counts, names, sentences; no data value is in it)
Returns  HTML text: no script, no network, inline SVG, a content policy that allows nothing else
Keeps    every text is escaped; the same certificate gives the same bytes
"""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
from collections.abc import Mapping, Sequence
from html import escape
from string import Template
from typing import Any

from shoal.report.release_charts import bins, frontier_chart, size_chart

NOT_STATED = "not stated"


def render(body: Mapping[str, Any]) -> str:
    """The page of a certificate body."""
    folder = importlib.resources.files("shoal.report").joinpath("templates")
    style = folder.joinpath("release.css").read_text(encoding="utf-8")
    page = Template(folder.joinpath("release.html").read_text(encoding="utf-8"))
    sections = [part for part in _sections(body) if part[2]]
    return page.substitute(
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii"),
        title=escape(body["title"]),
        subtitle=escape(f"Release report, {body['date']}, made with {body['tool']}"),
        verdict=escape(body["verdict"]),
        cards=_cards(body),
        points=_points(body),
        nav="".join(f'<li><a href="#{place}">{title}</a></li>' for place, title, _ in sections),
        sections="\n".join(_section(*part) for part in sections),
    )


def _sections(body: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Place, title and content of each part, in the order of the page; empty ones are left out."""
    return [
        ("asked", "What was asked, and what the file has", _requirements(body)),
        ("risks", "Risk before and after", _risks(body)),
        ("classes", "How many people share a class", f'<div class="two">{_histograms(body)}</div>'),
        ("detail", "Safety against detail", _frontier(body)),
        ("columns", "What happened to each column", _columns(body)),
        ("left-out", "Who was left out", _suppressed(body)),
        ("results", "Results that should survive", _analyses(body)),
        ("attacks", "Attacks that were tried", _attacks(body)),
        ("questions", "Singling out, linking, inference", _lines(body["wp216"])),
        ("recipient", "Who receives it", _recipient(body)),
        ("limits", "Limits", _limits(body)),
        ("check", "Check it yourself", _check(body)),
        ("sign-off", "Sign-off", _signoff(body)),
    ]


def _section(place: str, title: str, content: str) -> str:
    return f'<section id="{place}" aria-labelledby="h-{place}"><h2 id="h-{place}">{title}</h2>{content}</section>'


def one_in(risk: float) -> str:
    """A chance in the words people read best.

    >>> one_in(0.2), one_in(1.0), one_in(0.0834), one_in(0.9), one_in(0.6)
    ('1 in 5', 'certain', 'about 1 in 12', 'nearly certain', 'about 1 in 1.7')
    """
    if risk >= 1:
        return "certain"
    n = 1.0 / risk
    if abs(n - round(n)) < 1e-9:
        return f"1 in {round(n):,}"
    return "nearly certain" if n < 1.25 else f"about 1 in {n:.2g}" if n < 10 else f"about 1 in {round(n):,}"


def percent(share: float) -> str:
    """A share as a percentage with a sensible number of digits.

    >>> percent(0.5), percent(0.00321), percent(0)
    ('50 %', '0.321 %', '0 %')
    """
    return f"{100 * share:.3g} %"


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[int] = ()) -> str:
    """An HTML table whose first column names the rows; cells are escaped unless they are :class:`Html`.

    Each cell carries its heading for narrow screens, and its part in the table for readers of them.
    """
    mark = [' class="n"' if i in right else "" for i in range(len(heads))]
    head = "".join(f'<th scope="col" role="columnheader"{m}>{escape(h)}</th>' for h, m in zip(heads, mark, strict=True))
    top = f'<thead role="rowgroup"><tr role="row">{head}</tr></thead>' if any(heads) else ""
    lines = []
    for row in rows:
        first, *shown = [c if isinstance(c, Html) else escape(str(c)) for c in row]
        named = [f'{m} data-h="{escape(h)}"' if h and c else m for m, h, c in zip(mark[1:], heads[1:], shown, strict=True)]
        cells = "".join(f'<td role="cell"{m}>{c}</td>' for m, c in zip(named, shown, strict=True))
        lines.append(f'<tr role="row"><th scope="row" role="rowheader">{first}</th>{cells}</tr>')
    return f'<table role="table">{top}<tbody role="rowgroup">{"".join(lines)}</tbody></table>'


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def _number(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _chance(value: float) -> str:
    """A count as it is; a chance as a number and in words.

    >>> _chance(12), _chance(0.2), _chance(0.9999)
    ('12', '0.2 (1 in 5)', 'above 0.999 (nearly certain)')
    """
    if isinstance(value, int):
        return f"{value:,}"
    return f"{'above 0.999' if 0.9995 <= value < 1 else f'{value:.3g}'} ({one_in(value)})"


def _cards(body: Mapping[str, Any]) -> str:
    utility = body["utility"]
    shown = [
        (_number(body["k"]), "people in the smallest class" if body["unit"]["column"] else "records in the smallest class"),
        (one_in(1.0 / body["k"]), "best chance to name the owner of a record"),
        (_number(body["after"]["records"]), f"records published, of {body['input']['records']:,}"),
        (_number(utility["loss"]), f"information lost (measured by {utility['optimize']}; 0 is nothing)"),
    ]
    return "".join(
        f'<div class="card"><span class="n">{escape(n)}</span><span class="w">{escape(w)}</span></div>' for n, w in shown
    )


def _points(body: Mapping[str, Any]) -> str:
    """What a person should look at before signing; each point leads to its part of the page."""
    found = [a["name"] for a in body["attacks"] if a["verdict"] in ("broken", "warning")]
    missed = [a["name"] for a in body["attacks"] if a["verdict"] == "not run"]
    guessed = [c["name"] for c in body["columns"] if str(c.get("why", "")).startswith("guessed")]
    words = {"kind": "kind of release", "run_by": "who ran it", "approved_by": "who approved it", "review": "review date"}
    unsaid = [words.get(n, n) for n, value in body["release"].items() if value == NOT_STATED]
    points = [
        ("attacks", "Attacks with a warning", found),
        ("attacks", "Attacks that were not run", missed),
        ("columns", "Columns whose groups were guessed from the data", guessed),
        ("recipient", "Not stated in the policy", unsaid),
    ]
    lines = [f'<a href="#{place}">{title}</a>: {escape(", ".join(names))}.' for place, title, names in points if names]
    if body["unit"]["column"] is None:
        lines.append('<a href="#limits">Each record is taken as one person.</a>')
    listed = "".join(f"<li>{line}</li>" for line in lines)
    return f'<div class="points"><h2>&#9888; Look at this before you sign</h2><ul>{listed}</ul></div>' if lines else ""


def _requirements(body: Mapping[str, Any]) -> str:
    rows = []
    for name, counted in (("requirements", "records"), ("requirements_people", "people")):
        for f in body.get(name) or ():
            kind, word = ("met", "\u2713 met") if f["met"] else ("unmet", "\u2717 not met")
            by = f" (counted by {counted})" if body["unit"]["column"] else ""
            rows.append((f["sentence"] + by, _number(f["asked"]), _number(f["found"]), Html(f'<b class="{kind}">{word}</b>')))
    out = table(["requirement", "asked", "found", "result"], rows, right=(1, 2)) + _missing(body)
    preset = body["threshold"].get("preset")
    if preset:
        words = f"Preset {preset['name']}: {preset['rule']}. Source: {preset['source']}, {preset['date']} ({preset['read']}). "
        words += preset["note"]
        out += f'<p class="small">{escape(words.strip())}</p>'
    return out


def _missing(body: Mapping[str, Any]) -> str:
    """k under the three rules for missing values, where they differ."""
    found = body["missing"]["k"]
    if len(set(found.values())) < 2:
        return ""
    words = {"own": "a value of their own (the strict rule, used here)", "wildcard": "like any value", "drop": "left out"}
    told = "; ".join(f"{words.get(name, name)}: {_number(k)}" for name, k in found.items())
    return f'<p class="small">{escape(f"k, if missing values are {told}.")}</p>'


def _risks(body: Mapping[str, Any]) -> str:
    rows = [(r["attacker"], r["sentence"], _chance(r["before"]), _chance(r["after"])) for r in body["attackers"]]
    return table(["attacker", "what it means", "before", "after"], rows, right=(2, 3))


def _histograms(body: Mapping[str, Any]) -> str:
    """Two charts with the same axes."""
    asked = body["threshold"]["smallest_class"]
    k = asked if asked > 1 else body["k"]
    both = (("before", body["before"]["sizes"]), ("after", (body.get("after_people") or body["after"])["sizes"]))
    largest = max(int(s) for _, sizes in both for s in sizes)
    top = max(b[1] / sum(int(s) * n for s, n in sizes.items()) for _, sizes in both for b in bins(sizes, k, largest))
    out = []
    for title, sizes in both:
        drawn = size_chart(sizes, k, title=f"Class sizes {title}", largest=largest, top=top)
        out.append(f"<figure>{drawn}<figcaption>{escape(_histogram_words(title, sizes, k))}</figcaption></figure>")
    return "".join(out)


def _histogram_words(title: str, sizes: Mapping[str, int], k: int) -> str:
    total = sum(int(s) * n for s, n in sizes.items())
    under = sum(int(s) * n for s, n in sizes.items() if int(s) < k)
    return f"{title.capitalize()}: {percent(under / total)} of {total:,} are in a class smaller than {k:,}."


def _frontier(body: Mapping[str, Any]) -> str:
    points = body["utility"].get("frontier") or []
    if len(points) < 2:
        return ""
    words = "Each dot is the best plan for that k at the allowed suppression; the ring is the one chosen."
    return f"<figure>{frontier_chart(points)}<figcaption>{words}</figcaption></figure>"


def _columns(body: Mapping[str, Any]) -> str:
    rows = []
    for c in body["columns"]:
        tag = Html(f'<span class="tag {escape(c["role"])}">{escape(c["role"][0].upper())} {escape(c["role"])}</span>')
        level = f"{c['level']} of {c['height']}" if c.get("level") is not None and c.get("height") is not None else ""
        values = f"{c['values_before']:,} → {c['values_after']:,}" if c.get("values_before") is not None else ""
        changed = percent(c["changed"]) if c.get("changed") is not None else ""
        rows.append((c["name"], tag, c["treatment"], level, values, changed, c.get("why", "")))
    heads = ["column", "role", "treatment", "level", "values", "cells changed", "why"]
    return table(heads, rows, right=(3, 4, 5))


def _suppressed(body: Mapping[str, Any]) -> str:
    utility = body["utility"]
    out = f"<p>{escape(utility['suppressed_sentence'])}</p>"
    who = utility.get("who") or []
    if who:
        rows = [(w["column"], w["group"], _number(w["records"]), _number(w["suppressed"]), w["share"]) for w in who]
        out += table(["column", "published group", "records published", "left out", "share"], rows, right=(2, 3, 4))
        out += f'<p class="small">{escape(utility["who_note"])}</p>'
    return out


def _analyses(body: Mapping[str, Any]) -> str:
    found = body["utility"].get("analyses") or []
    if not found:
        return ""
    rows = [(a["analysis"], a["before"], a["after"], a["change"]) for a in found]
    return table(["analysis", "before", "after", "change"], rows, right=(1, 2, 3))


def _attacks(body: Mapping[str, Any]) -> str:
    if not body["attacks"]:
        return "<p>No attack was run.</p>"
    rows = []
    for a in body["attacks"]:
        verdict = a["verdict"]
        rate = "" if a["rate"] is None else percent(a["rate"])
        interval = "" if a["low"] is None else f"{percent(a['low'])} to {percent(a['high'])}"
        interval = "exact count" if a["low"] is not None and a["low"] == a["high"] else interval
        claimed = "" if a["claimed"] is None else percent(a["claimed"])
        rows.append(
            (
                a["name"],
                a["sentence"],
                rate,
                interval,
                claimed,
                Html(f'<b class="{verdict.replace(" ", "-")}">{escape(verdict)}</b>'),
            )
        )
    return table(["attack", "finding", "success", "95 % interval", "claimed", "verdict"], rows, right=(2, 3, 4))


def _lines(items: Sequence[Mapping[str, str]]) -> str:
    return table(["question", "how it was tested", "found"], [(i["question"], i["tested"], i["found"]) for i in items])


def _recipient(body: Mapping[str, Any]) -> str:
    release = body["release"]
    controls = release["controls"]
    rows = [
        ("Kind of release", release["kind"]),
        ("Recipient", release["recipient"]),
        ("Purpose", release["purpose"]),
        ("Safe people", controls["people"]),
        ("Safe projects", controls["projects"]),
        ("Safe settings", controls["settings"]),
        ("Safe data", "measured on this page"),
        ("Safe outputs", "measured on this page"),
        ("Population", body["population"]["sentence"]),
    ]
    return table(["", ""], rows)


def _limits(body: Mapping[str, Any]) -> str:
    return "<ul>" + "".join(f"<li>{escape(x)}</li>" for x in body["limits"]) + f"</ul><p>{escape(body['triggers'])}</p>"


def _check(body: Mapping[str, Any]) -> str:
    rows = [(f["name"], f"{f['bytes']:,}", Html(f"<code>{escape(f['sha256'])}</code>")) for f in body["files"]]
    words = "Everything on this page that can be counted from the data is counted again, offline, by:"
    proven = f"<p>{escape(body['proof']['sentence'])}</p>"
    return f"{proven}<p>{words} <code>{escape(body['verify'])}</code></p>" + table(["file", "bytes", "SHA-256"], rows, right=(1,))


def _signoff(body: Mapping[str, Any]) -> str:
    release = body["release"]
    rows = [
        ("Run by", release["run_by"]),
        ("Approved by", release["approved_by"]),
        ("Review on", release["review"]),
        ("Contact", release["contact"]),
    ]
    lines = "".join(f"<div>{w}</div>" for w in ("Data protection officer, date", "Data owner, date"))
    return table(["", ""], rows) + f'<div class="sign">{lines}</div>'

"""Pages from templates: the only place where Shoal makes HTML.

Keeps    every text is escaped and without control characters; an unknown name is an error, not an empty place; no script,
         nothing loaded from elsewhere; the same input gives the same bytes
"""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from shoal.model.display import inert


@cache
def environment() -> Environment:
    """The templates of the house, escaping everything."""
    return Environment(
        loader=PackageLoader("shoal.report", "templates"),
        autoescape=True,
        finalize=inert,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def part(template: str, **context: Any) -> str:
    """A piece of a page: a chart, a card."""
    return environment().get_template(template).render(**context)


def page(template: str, **context: Any) -> str:
    """A whole page; its content policy allows the house style and nothing else."""
    text = style()
    return part(template, style=Markup(text), style_hash=_hash(text).removeprefix("sha256-"), **context)  # noqa: S704 (our own style sheet)


@cache
def chart_style() -> str:
    """Tokens and the rules for charts: what a chart needs by itself."""
    return _packaged_file("style", "tokens.css") + stylesheet()


@cache
def style() -> str:
    return chart_style() + _packaged_file("style", "page.css")


def _packaged_file(folder: str, name: str) -> str:
    return importlib.resources.files("shoal.report").joinpath(folder, name).read_text(encoding="utf-8")


TITLES_OF_0_3_0 = {
    "Each dot is the least loss found for that smallest group at the allowed suppression.": (
        "Each dot is the best plan for that smallest group at the allowed suppression."
    ),
    "Requirements, and what the data has": "What was asked, and what the data has",
    "Columns held against the 18 Safe Harbor classes of identifiers": "Columns held against the eighteen classes of identifiers",
}


def title_in(tool: str, title: str) -> str:
    """The title of a section as the version that wrote the certificate words it: ``verify`` compares pages byte for byte."""
    return TITLES_OF_0_3_0.get(title, title) if tool == "shoal 0.3.0" else title


DASHES = {"": (), "dash": (5.0, 4.0), "dots": (1.5, 3.5)}


@dataclass(frozen=True)
class Look:
    """Colours are tokens ("sea"), not values; ``weight`` above 0 makes it a text."""

    fill: str = ""
    stroke: str = ""
    width: float = 1.0
    dash: str = ""
    weight: int = 0
    size: int = 12
    opacity: float = 1.0


LOOKS = {
    "paper": Look(fill="surface"),
    "safe": Look(fill="sea"),
    "risk": Look(fill="risk-soft", stroke="risk", width=1.5),
    "hatch": Look(stroke="risk"),
    "before": Look(fill="surface", stroke="edge", width=1.5),
    "before-risk": Look(fill="surface", stroke="risk", width=1.5),
    "zone": Look(fill="sunken"),
    "risk-zone": Look(fill="risk-soft", opacity=0.5),
    "grid": Look(stroke="line"),
    "axis": Look(stroke="edge"),
    "limit": Look(stroke="ink", width=1.5, dash="dash"),
    "line": Look(stroke="sea", width=2),
    "line-dash": Look(stroke="sea", width=2, dash="dash"),
    "line-dots": Look(stroke="ink2", width=2, dash="dots"),
    "step": Look(stroke="risk", width=2),
    "band": Look(fill="sea-soft"),
    "dot": Look(fill="sea"),
    "faint": Look(fill="edge", opacity=0.6),
    "hollow": Look(fill="surface", stroke="sea", width=2),
    "halo": Look(fill="sea-soft", stroke="sea", width=1.5),
    "cross": Look(stroke="risk", width=2),
    "alone": Look(stroke="edge", dash="dash"),
    "fish": Look(fill="sea", stroke="sea"),
    "fish-alone": Look(fill="surface", stroke="risk", width=1.6),
    "fish-out": Look(stroke="edge", width=2),
    **{f"heat{i}": Look(fill=f"heat{i}") for i in range(6)},
    "series0": Look(fill="sea"),
    "series1": Look(fill="sea-soft", stroke="sea", width=1.5),
    "series2": Look(fill="ink3"),
    "series3": Look(fill="sunken", stroke="ink3", width=1.5),
    "stripe1": Look(stroke="sea"),
    "stripe3": Look(stroke="ink3"),
    "track": Look(fill="sunken"),
    "met-area": Look(fill="met"),
    "needle": Look(stroke="ink", width=3),
    "t-big-met": Look(fill="met", weight=620, size=36),
    "t-big-risk": Look(fill="risk", weight=620, size=36),
    "t": Look(fill="ink2", weight=400),
    "t-soft": Look(fill="ink3", weight=400),
    "t-ink": Look(fill="ink", weight=620),
    "t-risk": Look(fill="risk", weight=620),
    "t-sea": Look(fill="sea", weight=620),
    "t-head": Look(fill="ink", weight=620, size=16),
    **{f"t-heat{i}": Look(fill=f"on-heat{i}", weight=620) for i in range(6)},
}


@cache
def stylesheet() -> str:
    """The rules for the marks of a chart, over the tokens."""
    lines = [
        ".shoal-chart{max-width:100%;height:auto;display:block;overflow:visible}",
        ".shoal-chart text{font-family:var(--font);font-variant-numeric:tabular-nums}",
    ]
    for name, look in LOOKS.items():
        rules = [f"fill:var(--{look.fill})" if look.fill else "fill:none"]
        if look.stroke:
            rules.append(f"stroke:var(--{look.stroke});stroke-width:{look.width:g}")
        if look.dash:
            rules.append(f"stroke-dasharray:{' '.join(f'{d:g}' for d in DASHES[look.dash])}")
        if look.opacity < 1:
            rules.append(f"opacity:{look.opacity:g}")
        if look.weight:
            rules.append(f"font-weight:{look.weight};font-size:{look.size}px")
        lines.append(f".shoal-chart .{name}{{{';'.join(rules)}}}")
    return "\n".join(lines) + "\n"


@cache
def colours() -> dict[str, str]:
    """The light value of each token, for pictures that cannot follow the page.

    >>> colours()["sea"]
    '#0a5c9e'
    """
    text = _packaged_file("style", "tokens.css")
    return dict(re.findall(r"--([\w-]+):(#[0-9a-f]{6})", text[: text.index("@media")]))


def render(places: Mapping[str, Any], *, share_step: float) -> str:
    """The page for populations as :func:`shoal.registry.answer.exposure.place_data` gives them."""
    look, script = style() + _packaged_file("style", "exposed.css"), _packaged_file("templates", "exposed.js")
    return part(
        "exposed.html.j2", style=Markup(look), script=Markup(script), body=body(),  # noqa: S704 (our own)
        records=records_of(places, share_step=share_step), policy=Markup(policy()),  # noqa: S704
    )  # fmt: skip


def records_of(places: Mapping[str, Any], *, share_step: float) -> Markup:
    """The records as the page's script reads them: JSON that nothing inside a script element can end."""
    short = {name: {**place, "attributes": _short(place["attributes"], share_step)} for name, place in places.items()}
    data = json.dumps({"step": share_step, "places": short}, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Markup(data.replace("<", "\\u003c"))  # noqa: S704 (JSON without an opening bracket)


def _short(attributes: Mapping[str, Any], step: float) -> dict[str, Any]:
    """Shares that are whole steps as answers and differences of numbers of steps; the typical share only where the page needs it.

    Compressed, the page is half as large so.
    """
    out, one = {}, round(1 / step)
    for code, entry in attributes.items():
        shares = entry["shares"]
        if shares and all(round(share * one) / one == share for share in shares.values()):
            steps = [0, *(round(share * one) for share in shares.values())]
            shares = [list(shares), [after - before for before, after in pairwise(steps)]]
        out[code] = {name: value for name, value in entry.items() if name != "typical" or not shares} | {"shares": shares}
    return out


def body() -> Markup:
    """What stands inside the page, for a page of another house: its script and style are ``exposed.js`` and ``exposed.css``."""
    return Markup(part("exposed_body.html.j2"))  # noqa: S704 (our own template)


def file(name: str) -> str:
    return _packaged_file({"exposed.js": "templates", "exposed.css": "style"}[name], name)


def policy() -> str:
    """The content policy of the page: its own style and script, and no connection at all."""
    look, script = (
        _hash(text) for text in (style() + _packaged_file("style", "exposed.css"), _packaged_file("templates", "exposed.js"))
    )
    return (
        f"default-src 'none'; style-src '{look}'; script-src '{script}'; img-src data:; connect-src 'none'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def render_catalogue(notices: Sequence[Mapping[str, Any]], matches: Mapping[str, Any]) -> str:
    """The page for notices and matches in the form of their JSON."""
    return page("catalogue.html.j2", title="Catalogue", notices=notices, matches=matches)

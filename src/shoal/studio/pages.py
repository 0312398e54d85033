"""Templates of the studio, and its one style sheet: the house tokens, the charts' rules, the pages' own."""

from __future__ import annotations

import hashlib
import importlib.resources
import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from shoal.model.display import inert
from shoal.report import pages
from shoal.report.numbers import percent
from shoal.report.pages import stylesheet
from shoal.studio import words
from shoal.studio.views.measured import draw

SCRIPTS = ("studio.js", "exposed.js", "exposed.css")


@cache
def environment() -> Environment:
    """The templates, escaping everything; an unknown name is an error, not an empty place."""
    loader = PackageLoader("shoal.studio", "templates")
    templates = Environment(
        loader=loader, autoescape=True, finalize=inert, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters |= {name: getattr(words, name) for name in ("plain", "ago", "size", "several", "place")}
    templates.filters["percent"] = percent
    templates.globals |= {"draw": draw, "version": version()}
    return templates


def render(template: str, **context: Any) -> str:
    return environment().get_template(template).render(**context)


def refusal(problem: str, do: str) -> str:
    """A page for people who may not enter; it reveals nothing of the content."""
    return render("refused.html", found=problem, do=do, theme="")


@cache
def style() -> str:
    """The style sheet. The colours are those of the report; a page may ask for light or dark itself."""
    tokens = importlib.resources.files("shoal.report").joinpath("style/tokens.css").read_text(encoding="utf-8")
    light, dark = _blocks(tokens)
    themed = (
        f".shoal{{{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{.shoal:not([data-theme=light]){{{dark}}}}}\n"
        f"@media screen{{.shoal[data-theme=dark]{{color-scheme:dark;{dark}}}.shoal[data-theme=light]{{color-scheme:light}}}}\n"
    )
    return themed + stylesheet() + static("studio.css")


def _blocks(tokens: str) -> tuple[str, str]:
    """The light and the dark values of the tokens."""
    blocks = re.findall(r"\.shoal\{([^}]*)\}", tokens)
    return blocks[0], blocks[1]


@cache
def static(name: str) -> str:
    return importlib.resources.files("shoal.studio").joinpath("static", name).read_text(encoding="utf-8")


def served(name: str) -> str:
    """A file as browsers get it."""
    if name.startswith("exposed."):
        return pages.file(name)
    return style() if name == "studio.css" else static(name)


@cache
def version() -> str:
    """Changes when the style sheet or a script does, so that browsers may keep them."""
    text = style() + "".join(served(name) for name in SCRIPTS)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]

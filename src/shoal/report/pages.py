"""Pages from templates: the only place where Shoal makes HTML.

Keeps    every text is escaped; an unknown name is an error, not an empty place; no script, nothing loaded from elsewhere;
         the same input gives the same bytes
"""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from shoal.report.look import stylesheet


@cache
def environment() -> Environment:
    """The templates of the house, escaping everything."""
    return Environment(
        loader=PackageLoader("shoal.report", "templates"),
        autoescape=True,
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
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return part(template, style=Markup(text), style_hash=digest, **context)  # noqa: S704 (our own style sheet)


@cache
def chart_style() -> str:
    """Tokens and the rules for charts: what a chart needs by itself."""
    return _file("tokens.css") + stylesheet()


@cache
def style() -> str:
    """The style sheet of every page and card."""
    return chart_style() + _file("page.css")


def _file(name: str) -> str:
    return importlib.resources.files("shoal.report").joinpath("style", name).read_text(encoding="utf-8")

"""The page "How exposed am I?": one file with the records in it, computed in the browser; it can load and send nothing."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import json
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from shoal.report.pages import part, style


def render(places: Mapping[str, Any], *, share_step: float) -> str:
    """The page for populations as :func:`shoal.registry.answer.exposed.place_data` gives them."""
    look, script = style() + _file("style", "exposed.css"), _file("templates", "exposed.js")
    data = json.dumps({"step": share_step, "places": dict(places)}, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    safe = data.replace("<", "\\u003c")  # inside a script element nothing else can end it
    return part(
        "exposed.html.j2", style=Markup(look), script=Markup(script), records=Markup(safe),  # noqa: S704 (our own, and JSON)
        policy=Markup(policy()),  # noqa: S704
    )  # fmt: skip


def policy() -> str:
    """The content policy of the page: its own style and script, and no connection at all."""
    look, script = (_hash(text) for text in (style() + _file("style", "exposed.css"), _file("templates", "exposed.js")))
    return (
        f"default-src 'none'; style-src '{look}'; script-src '{script}'; img-src data:; connect-src 'none'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _file(folder: str, name: str) -> str:
    return importlib.resources.files("shoal.report").joinpath(folder, name).read_text(encoding="utf-8")

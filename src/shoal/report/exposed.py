"""The page "How exposed am I?": one file with the records in it, computed in the browser; it can load and send nothing."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import json
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from shoal.report.pages import page, part, style


def render(places: Mapping[str, Any], *, share_step: float) -> str:
    """The page for populations as :func:`shoal.registry.answer.exposure.place_data` gives them."""
    look, script = style() + _file("style", "exposed.css"), _file("templates", "exposed.js")
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
    """Shares that are whole steps as answers and numbers of steps; the typical share only where the page needs it.

    Compressed, the page is half as large so.
    """
    out, one = {}, round(1 / step)
    for code, entry in attributes.items():
        shares = entry["shares"]
        if shares and all(round(share * one) / one == share for share in shares.values()):
            shares = [list(shares), [round(share * one) for share in shares.values()]]
        out[code] = {name: value for name, value in entry.items() if name != "typical" or not shares} | {"shares": shares}
    return out


def body() -> Markup:
    """What stands inside the page, for a page of another house: its script and style are ``exposed.js`` and ``exposed.css``."""
    return Markup(part("exposed_body.html.j2"))  # noqa: S704 (our own template)


def file(name: str) -> str:
    """The page's script or style sheet."""
    return _file({"exposed.js": "templates", "exposed.css": "style"}[name], name)


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


def render_catalogue(notices: Sequence[Mapping[str, Any]], matches: Mapping[str, Any]) -> str:
    """The page for notices and matches in the form of their JSON."""
    return page("catalogue.html.j2", title="Catalogue", notices=notices, matches=matches)

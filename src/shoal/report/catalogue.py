"""The catalogue of a registry as one page: who holds what, who asks for what, and what that means together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.report.pages import page


def render(notices: Sequence[Mapping[str, Any]], matches: Mapping[str, Any]) -> str:
    """The page for notices and matches in the form of their JSON."""
    return page("catalogue.html.j2", title="Catalogue", notices=notices, matches=matches)

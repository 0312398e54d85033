"""Charts as text: drawn where they were counted, once, instead of at every look at the page."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from shoal.report.charts import Chart, svg


def drawn(told: Any) -> Any:
    """What a view tells, with every chart in it drawn."""
    if isinstance(told, Chart):
        return svg(told)
    if isinstance(told, dict):
        return {name: drawn(part) for name, part in told.items()}
    if type(told) in (list, tuple):
        return type(told)(drawn(part) for part in told)
    return told


def draw(chart: Any) -> Any:
    """A chart as the pages show it; one that was drawn already as it is."""
    return chart if isinstance(chart, Markup) else svg(chart)

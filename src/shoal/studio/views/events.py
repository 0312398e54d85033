"""Event tables: what a few known records of a person reveal."""

from __future__ import annotations

from typing import Any

from shoal.api.events import measure_events
from shoal.engines.table import Table
from shoal.report.events_report import curves, sets


def revealed(table: Table, unit: str, time: str, place: str) -> dict[str, Any]:
    """The curve of people alone against known records, and the sets they hide in; an empty name is no column."""
    m = measure_events(table, unit=unit, time=time or None, place=place or None)
    return {
        "sentence": m.sentence,
        "alone": m.curve[-1].unique.value,
        "curve": curves(m),
        "sets": sets(m),
        "lines": [line for line in m.explain().splitlines() if line.strip()],
        "notes": list(m.notes),
    }

"""A picture of the log: reveals over time, by purpose, against the limit."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.protector.care.reports import report
from shoal.protector.people.limits import DAY, read

if TYPE_CHECKING:
    from shoal.protector.session import Session
    from shoal.report.charts import Chart


def timeline(session: Session, out: str | Path, *, period: str = "month", action: str = "reveal") -> list[dict[str, Any]]:
    """Write records revealed per period, stacked by actor and purpose, as SVG (or PNG, or HTML); the rows behind it.

    Actors appear under audit pseudonyms; periods without a reveal stay empty; by day, the limit per person is drawn where it
    comes into sight. The same log gives the same bytes.
    """
    from shoal.report import charts

    rows = report(session, period=period, action=action)
    with session.frame.reading("audit") as (tx, _):
        daily = [limit.max for purpose, limit in read(tx, action, "") if purpose == "*" and limit.seconds == DAY]
    most = daily[0] if daily and period == "day" else None
    charts.save(drawn(rows, action, period, most), out)
    return rows


def drawn(rows: list[dict[str, Any]], action: str, period: str, most: int | None) -> Chart:
    """The chart of a report's rows."""
    from shoal.report import charts

    periods = _without_gaps(sorted({r["period"] for r in rows}))
    series: dict[str, list[int]] = {}
    for actor, purpose in sorted({(r["actor"], r["purpose"]) for r in rows if r["records"]}):
        found = {r["period"]: r["records"] for r in rows if (r["actor"], r["purpose"]) == (actor, purpose)}
        series[f"{actor} {purpose}"] = [found.get(p, 0) for p in periods]
    refused = [sum(r["refused"] + r["alarms"] for r in rows if r["period"] == p) for p in periods]
    return charts.timeline(
        periods,
        series,
        title=f"{action} per {period}".capitalize() if rows else f"No {action} yet",
        y=f"records ({action})",
        refused=refused,
        limit=None if most is None else (most, "limit per person"),
    )


def _without_gaps(periods: list[str]) -> list[str]:
    """Every day, month or year from the first to the last.

    >>> _without_gaps(["2025-11", "2026-02"]), _without_gaps(["2024-02-28", "2024-03-01"])
    (['2025-11', '2025-12', '2026-01', '2026-02'], ['2024-02-28', '2024-02-29', '2024-03-01'])
    """
    if not periods:
        return []
    first, last = (date.fromisoformat((p + "-01-01")[:10]) for p in (periods[0], periods[-1]))
    days = (date.fromordinal(n).isoformat() for n in range(first.toordinal(), last.toordinal() + 1))
    return list(dict.fromkeys(day[: len(periods[0])] for day in days))

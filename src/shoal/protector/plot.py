"""A picture of the log: reveals over time, by purpose, against the limit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import need

if TYPE_CHECKING:
    from shoal.protector.session import Session


def timeline(session: Session, out: str | Path, *, period: str = "month", action: str = "reveal") -> list[dict[str, Any]]:
    """Write an SVG of records revealed per period, stacked by actor and purpose; the rows behind it.

    Actors appear under audit pseudonyms. The same log gives the same bytes.
    """
    from shoal.engines.writers import atomic
    from shoal.protector.upkeep import report

    rows = report(session, period=period, action=action)
    with atomic(Path(out)) as temporary:
        _draw(rows, temporary, action, period)
    return rows


def _draw(rows: list[dict[str, Any]], path: Path, action: str, period: str) -> None:
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise need("plot", "matplotlib") from None
    periods = sorted({r["period"] for r in rows})
    series = sorted({(r["actor"], r["purpose"]) for r in rows})
    with matplotlib.rc_context({"svg.hashsalt": "shoal", "svg.fonttype": "path", "text.parse_math": False}):
        figure = Figure(figsize=(8, 4), layout="constrained")
        axes = figure.subplots()
        bottom = [0] * len(periods)
        for actor, purpose in series:
            found = {r["period"]: r["records"] for r in rows if (r["actor"], r["purpose"]) == (actor, purpose)}
            heights = [found.get(p, 0) for p in periods]
            axes.bar(range(len(periods)), heights, bottom=bottom, label=f"{actor[:10]} {purpose}"[:60])
            bottom = [a + b for a, b in zip(bottom, heights, strict=True)]
        refused = [sum(r["refused"] + r["alarms"] for r in rows if r["period"] == p) for p in periods]
        if any(refused):
            axes.plot(range(len(periods)), refused, "kx", label="refusals and alarms")
        axes.set_xticks(range(len(periods)), periods, rotation=45, ha="right")
        axes.set_ylabel(f"records ({action})")
        axes.set_title(f"{action} per {period}" if rows else f"no {action} yet")
        if rows:
            axes.legend(fontsize="small")
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": "shoal"})

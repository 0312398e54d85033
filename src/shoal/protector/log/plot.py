"""A picture of the log: reveals over time, by purpose, against the limit."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import need

if TYPE_CHECKING:
    from shoal.protector.session import Session


def timeline(session: Session, out: str | Path, *, period: str = "month", action: str = "reveal") -> list[dict[str, Any]]:
    """Write an SVG of records revealed per period, stacked by actor and purpose; the rows behind it.

    Actors appear under audit pseudonyms; periods without a reveal stay empty; by day, the limit per person is drawn where it
    comes into sight. The same log gives the same bytes.
    """
    from shoal.engines.files.writers import atomic
    from shoal.protector.log.reporting import report
    from shoal.protector.people.limits import DAY, read

    rows = report(session, period=period, action=action)
    with session._reading("audit") as (tx, _):
        limit = read(tx, action, "").get("*")
    most = limit.max if limit is not None and period == "day" and limit.seconds == DAY else None
    with atomic(Path(out)) as temporary:
        _draw(rows, temporary, action, period, most)
    return rows


def _draw(rows: list[dict[str, Any]], path: Path, action: str, period: str, most: int | None) -> None:
    try:
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise need("plot", "matplotlib") from None
    periods = _without_gaps(sorted({r["period"] for r in rows}))
    places = range(len(periods))
    with matplotlib.rc_context({"svg.hashsalt": "shoal", "svg.fonttype": "path", "text.parse_math": False}):
        figure = Figure(figsize=(8, 4), layout="constrained")
        axes = figure.subplots()
        bottom = [0] * len(periods)
        for number, (actor, purpose) in enumerate(sorted({(r["actor"], r["purpose"]) for r in rows if r["records"]})):
            found = {r["period"]: r["records"] for r in rows if (r["actor"], r["purpose"]) == (actor, purpose)}
            heights = [found.get(p, 0) for p in periods]
            hatch = _HATCHES[number % len(_HATCHES)]  # told apart without colour too
            axes.bar(places, heights, bottom=bottom, label=f"{actor[:10]} {purpose}"[:40], hatch=hatch, edgecolor="white")
            bottom = [a + b for a, b in zip(bottom, heights, strict=True)]
        refused = {p: sum(r["refused"] + r["alarms"] for r in rows if r["period"] == p) for p in periods}
        marked = [i for i, p in enumerate(periods) if refused[p]]
        if marked:
            axes.plot(marked, [refused[periods[i]] for i in marked], "kx", label="refusals and alarms")
        if most is not None and most <= 2 * max([1, *bottom]):
            axes.axhline(most, color="black", linestyle="--", label="limit per person")
        every = -(-len(periods) // 24)
        axes.set_xticks(places[::every], periods[::every], rotation=45, ha="right")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylim(bottom=0)
        axes.set_ylabel(f"records ({action})")
        axes.set_title(f"{action} per {period}" if rows else f"no {action} yet")
        if rows:
            figure.legend(fontsize="small", loc="outside right upper")
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": "shoal"})


_HATCHES = ("", "//", "..", "xx", "--", "oo")


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

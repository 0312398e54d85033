"""Unicity curves of a million generated records."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import common  # noqa: E402

import shoal  # noqa: E402

PEOPLE = 50_000
SHAPES = {"500 places": (500, ["none"]), "20,000 places": (20_000, ["none"]), "500 places by hour": (500, ["hour"])}


def events(records: int, people: int, places: int) -> pa.Table:
    """People at places drawn by Zipf's law, at minutes of four weeks."""
    rng = np.random.default_rng(11)
    weight = np.arange(1, places + 1) ** -0.8
    minutes = rng.integers(0, 28 * 24 * 60, records).astype("timedelta64[m]")
    return pa.table(
        {
            "card": rng.integers(0, people, records),
            "at": (np.datetime64("2026-03-02T00:00") + minutes).astype("datetime64[us]"),
            "place": rng.choice(places, records, p=weight / weight.sum()),
        }
    )


def run(table: pa.Table, widths: list[str]) -> tuple[list[float], float, Any]:
    cpu = []

    def once() -> Any:
        start = time.process_time()
        found = shoal.measure(table, unit="card", time="at", place="place", time_widths=widths)
        cpu.append(time.process_time() - start)
        return found

    seconds, found = common.best_of(once, repeats=2)
    return seconds, min(cpu), found


def main() -> None:
    run(events(20_000, 1000, 50), ["none"])  # compiles
    for name, (places, widths) in SHAPES.items():
        for records in (500_000, 1_000_000):
            seconds, cpu, found = run(events(records, PEOPLE, places), widths)
            curve = [[k.records, round(k.unique.value, 5), k.unique.grade] for k in found.curve]
            answer = {"people": found.people, "points": found.points, "alone": curve}
            common.record(HERE, question=name, n=records, seconds=seconds, cpu=round(cpu, 2), answer=answer)


if __name__ == "__main__":
    main()

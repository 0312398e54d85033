"""Event tables give the same numbers on every engine."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import shoal
from engines.targets import Target

EVENTS = pa.table(
    {
        "who": ["a", "a", "b", "b", "c", "c", None, "d"],
        "at": [
            dt.datetime(2024, 3, d, h, m)
            for d, h, m in ((4, 8, 1), (4, 9, 0), (4, 8, 59), (5, 9, 0), (11, 9, 0), (11, 9, 0), (4, 8, 1), (4, 8, 1))
        ],
        "where": ["x", "y", "x", "z", "x", "x", "x", None],
    }
)


def test_events_are_measured_alike(target: Target) -> None:
    here = shoal.measure(EVENTS, unit="who", time="at", place="where").to_json() | {"table": ""}
    source = target.load(EVENTS.to_pylist(), {"who": "text", "at": "timestamp", "where": "text"})
    with shoal.open(source) as table:
        there = shoal.measure(table, unit="who", time="at", place="where").to_json() | {"table": ""}
    assert there == here
    assert here["people"] == 3
    assert [round(g["curve"][0]["unique"]["value"], 6) for g in here["grid"]] == pytest.approx(
        [1, 0.666667, 0.666667, 0.666667, 0.333333]
    )

"""Event tables give the same numbers on every engine."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

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


def test_a_release_becomes_a_table_of_the_same_database(target: Target, tmp_path: Path) -> None:
    """Written, read back and counted on every engine; a changed row is noticed."""
    rows = [
        {"who": f"p{i}", "at": dt.datetime(2024, 3, d, 8, i), "where": "xyz"[(i + d) % 2 * 2]} for i in range(10) for d in (4, 5)
    ]
    source, name = target.load(rows, {"who": "text", "at": "timestamp", "where": "text"}), target.fresh("safe")
    policy = {"events": {"unit": "who", "time": "at", "place": "where"}, "require": ["known[2]>=3"]}
    with shoal.open(source) as table:
        if target.name == "sqlite":  # read as files are, so that nothing is written into it
            with pytest.raises(shoal.errors.UsageError, match="needs a table in a database"):
                shoal.anonymize(table, policy, to_table=name)
            return
        made = shoal.anonymize(table, policy, to_table=name).write(tmp_path / "out")
    assert len(target.read(name)) == 20
    with shoal.open(target.source(name)) as table:
        assert shoal.verify(made, table=table).ok
    target.execute(f"INSERT INTO {target.quote(name)} SELECT * FROM {target.quote(name)}")
    with shoal.open(target.source(name)) as table:
        assert not shoal.verify(made, table=table).ok

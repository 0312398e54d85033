"""A large event table is read in pieces: the same numbers as by counting, for any pieces."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.api import event_records, events
from shoal.errors import DataError, EmptyTableError
from shoal.measures.events import traces


def visits(seed: int) -> pa.Table:
    """A small table with gaps of every kind; zeros with both signs; one or two columns of places."""
    draw = random.Random(seed)
    n = draw.choice([1, 7, 60, 200])

    def gap(value: Any) -> Any:
        return None if draw.random() < 0.05 else value

    start = dt.datetime(2026, 3, 1, 22)
    at = [gap(start + dt.timedelta(minutes=draw.randrange(5000))) for _ in range(n)]
    texts = seed % 3 == 0
    columns: dict[str, Any] = {
        "who": [gap(f"p{draw.randrange(12)}" if texts else draw.randrange(12)) for _ in range(n)],
        "at": [t if t is None else t.isoformat() for t in at] if texts else pa.array(at, pa.timestamp("us")),
        "where": [gap(draw.choice(["a1", "a2", "b1"])) for _ in range(n)],
        "lat": pa.array([draw.choice([0.0, -0.0, 0.31, 0.35, float("nan"), -1.5]) for _ in range(n)], pa.float64()),
    }
    return pa.table(columns)


def told(table: Any, monkeypatch: pytest.MonkeyPatch, *, large: int, **asked: Any) -> dict[str, Any]:
    monkeypatch.setattr(events, "LARGE", large)
    try:
        found = shoal.measure(table, unit="who", **asked).to_json()
    except shoal.errors.ShoalError as error:
        return {"error": type(error), "message": error.message}
    for name in ("rare_places", "top_places", "hours", "weekdays", "notes", "records_needed"):  # the last is drawn at random
        found.pop(name)
    return rounded(found)


def rounded(found: Any) -> Any:
    if isinstance(found, dict):
        return {k: rounded(v) for k, v in found.items()}
    if isinstance(found, list):
        return [rounded(v) for v in found]
    return round(found, 12) if isinstance(found, float) else found


ASKED: list[dict[str, Any]] = [
    {
        "time": "at",
        "place": "where",
        "time_widths": ["exact", "day", "part of day", "none"],
        "place_levels": ["exact", "prefix:1"],
    },
    {"place": ["where", "lat"], "place_levels": ["exact"]},
    {"place": "lat", "place_levels": ["grid:0.1", "exact"]},
    {"time": "at", "time_widths": ["hour"]},
]


@pytest.mark.parametrize("seed", range(8))
def test_the_numbers_are_those_of_counting(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = visits(seed)
    monkeypatch.setattr(event_records, "PIECE", 1 + seed * 5)
    for asked in ASKED:
        counted = told(table, monkeypatch, large=10**9, **asked)
        monkeypatch.setattr(traces, "BLOCK", 1 + seed * 3)
        assert told(table, monkeypatch, large=0, **asked) == counted
        monkeypatch.undo()
        monkeypatch.setattr(event_records, "PIECE", 1 + seed * 5)


def test_exactly_at_the_limit_tables_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"who": [1, 1, 2], "where": ["a", "b", "a"]}
    said = "are not measured in a table of so many records"
    for large, pieces in ((3, False), (2, True)):
        monkeypatch.setattr(events, "LARGE", large)
        m = shoal.measure(table, unit="who", place="where")
        assert any(said in note for note in m.notes) is pieces
        assert bool(m.top) is not pieces


def test_gaps_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"who": [1, 1, 2, None, 3], "where": ["a", "b", None, "a", "a"]}
    monkeypatch.setattr(events, "LARGE", 10**9)
    counted = shoal.measure(table, unit="who", place="where").notes
    monkeypatch.setattr(events, "LARGE", 0)
    assert (
        shoal.measure(table, unit="who", place="where").notes[: len(counted)]
        == counted[: len(counted) - 1]
        + ("Most frequent places, rare places and telling hours are not measured in a table of so many records.",)
        or counted == shoal.measure(table, unit="who", place="where").notes[:-1]
    )
    with pytest.raises(EmptyTableError, match="no record has"):
        shoal.measure({"who": [None], "where": ["a"]}, unit="who", place="where")
    with pytest.raises(DataError, match="1 of its 2 distinct values"):
        shoal.measure({"who": [1, 2], "at": ["soon", "2026-03-01"]}, unit="who", time="at")


@pytest.mark.parametrize("ending", ["csv", "parquet", "duckdb"])
def test_files_and_databases(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table, file = visits(4), tmp_path / f"t.{ending}"
    where: Any = file
    if ending == "csv":
        pyarrow.csv.write_csv(table.drop_columns(["lat"]), file)
    elif ending == "parquet":
        pq.write_table(table, file, row_group_size=17)
    else:
        import duckdb

        with duckdb.connect(str(file)) as made:
            made.register("came", table)
            made.execute("create table t as select * from came")
        where = f"duckdb://{file}::t"
    found = []
    for large in (10**9, 0):
        with shoal.open(where) as opened:
            found.append(told(opened, monkeypatch, large=large, **ASKED[0]))
    assert "error" not in found[0]
    assert found[0] == found[1]


def test_points_beyond_63_bits_are_numbered_anew() -> None:
    records = event_records.LargeEvents(
        person=np.array([0, 0, 1, 1], np.int32),
        codes={f"p{i}": np.array([0, 1, 0, 2]) for i in range(4)},
        values={f"p{i}": pa.array(np.arange(3)) for i in range(4)},
        rows=4,
        time=None,
        kinds={f"p{i}": "integer" for i in range(4)},
    )
    before = event_records._fit_keys(np.array([5, 9, 5, 7]), 2**61, 2)
    assert before == 3 * 2
    assert event_records._fit_keys(np.array([5, 9]), 2**61 - 1, 2) == 2**62 - 2
    made = records.traces(event_records.Granularity("none", "exact", {}))
    assert (made.n_points, made.lengths.tolist(), made.popularity.tolist()) == (3, [2, 2], [2, 1, 1])

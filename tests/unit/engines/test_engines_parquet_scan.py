"""Short Parquet files are read by Arrow: the rows and types are those that a query gives."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines import table as tables
from shoal.engines.table import BATCH_ROWS

NOW, DAY = datetime.datetime(2020, 1, 2, 3, 4, 5), datetime.date(1969, 12, 31)
COLUMNS: dict[str, Any] = {
    "int8": pa.array([1, None, 3, 2], pa.int8()),
    "uint32": pa.array([2**32 - 1, None, 3, 2], pa.uint32()),
    "uint64": pa.array([2**64 - 1, None, 3, 2], pa.uint64()),
    "float32": pa.array([1.5, None, float("nan"), -0.0], pa.float32()),
    "double": pa.array([1.5, None, float("nan"), -0.0]),
    "seconds": pa.array([NOW, None, NOW, NOW], pa.timestamp("s")),
    "nano": pa.array([1, None, 1_577_934_245_123_456_789, 3], pa.timestamp("ns")),
    "zoned": pa.array([NOW, None, NOW, NOW], pa.timestamp("us", "Europe/Berlin")),
    "time": pa.array([1, None, 123_456_789, 3], pa.time64("ns")),
    "day": pa.array([DAY, None, DAY, DAY], pa.date64()),
    "yes": pa.array([True, None, False, True]),
    "bytes": pa.array([b"a", None, b"\xff", b""]),
    "text": pa.array(["x", None, "", "Zoë"]),
    "long": pa.array(["x", None, "", "y"], pa.large_string()),
    "coded": pa.array(["x", None, "", "x"]).dictionary_encode(),
    "list": pa.array([[1], None, [], [2, 3]]),
    "nothing": pa.nulls(4),
}


@pytest.mark.parametrize("groups", [4, 2])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_short_file_is_read_as_a_query_reads_it(name: str, groups: int, tmp_path: Path) -> None:
    pq.write_table(pa.table({name: COLUMNS[name]}), tmp_path / "t.parquet", row_group_size=groups)
    with shoal.open(tmp_path / "t.parquet") as table:
        read = list(table.scan())
        queried = list(table._engine.scan(table._relation, [name], BATCH_ROWS))
    if name != "uint64":  # a query gives each batch the type that its numbers need
        assert {b.schema for b in read} == {b.schema for b in queried}
    assert [v for b in read for v in b.column(0).to_pylist()] == [v for b in queried for v in b.column(0).to_pylist()]


@pytest.mark.parametrize(("rows", "queries"), [(3, 0), (4, 1)])
def test_a_longer_file_is_read_by_a_query(rows: int, queries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"a": range(rows)}), tmp_path / "t.parquet")
    monkeypatch.setattr(tables, "FEW_ROWS", 3)
    with shoal.open(tmp_path / "t.parquet") as table:
        scan, asked = table._engine.scan, list[int]()
        monkeypatch.setattr(table._engine, "scan", lambda *given: asked.append(1) or scan(*given))
        assert sum(b.num_rows for b in table.scan()) == rows
    assert len(asked) == queries


def test_a_file_without_rows_gives_one_empty_batch(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "t.parquet")
    with shoal.open(tmp_path / "t.parquet") as table:
        assert [b.num_rows for b in table.scan()] == [0]

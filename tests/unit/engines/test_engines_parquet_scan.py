"""Short Parquet files are read by Arrow: the rows and types are those that a query gives."""

from __future__ import annotations

import datetime
import importlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines import table as tables
from shoal.engines.table import BATCH_ROWS
from shoal.find.dependencies import coded

NOW, DAY = datetime.datetime(2020, 1, 2, 3, 4, 5), datetime.date(1969, 12, 31)
inspection = importlib.import_module("shoal.api.inspect")  # the package has a function of that name
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
        held = table.whole().column(0)
        queried = list(table._engine.scan(table._relation, [name], BATCH_ROWS))
    if name != "uint64":  # a query gives each batch the type that its numbers need
        assert {b.schema for b in read} == {b.schema for b in queried}
    assert held.to_pylist() == [v for b in read for v in b.column(0).to_pylist()]
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


def test_a_dictionary_that_repeats_a_value_or_holds_another_is_coded_by_its_values() -> None:
    odd = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2], pa.int32()), pa.array(["b", "a", "b", "never"]))
    plain = pa.array(["b", "a", None, "b"])
    for values in (odd, plain, plain.dictionary_encode()):
        distinct, codes = coded(values)
        assert (distinct.to_pylist(), codes.tolist()) == (["b", "a"], [0, 1, -1, 0])


@pytest.mark.parametrize("groups", [60, 7])
def test_a_parquet_file_is_inspected_as_the_same_table_in_memory(groups: int, tmp_path: Path) -> None:
    rows = {
        "id": range(60),
        "town": ["Aa", "Bb", None] * 20,
        "ward": [f"W{i % 7}" for i in range(60)],
        "age": [30 + i % 9 for i in range(60)],
    }
    table = pa.table(rows).append_column("key", pa.array([f"W{i % 7}-{i}" for i in range(60)]))
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=groups)
    found, expected = shoal.inspect(tmp_path / "t.parquet"), shoal.inspect(table)
    assert found.columns == expected.columns
    assert (found.k, found.unique, found.sanity) == (expected.k, expected.unique, expected.sanity)


def test_a_table_is_held_up_to_the_limit_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """56 MB are left of 256 MB: 56 cells of 1 MB."""
    pq.write_table(pa.table({name: [i % 7 for i in range(60)] for name in "abcd"}), tmp_path / "t.parquet")
    expected = shoal.inspect(tmp_path / "t.parquet").columns
    monkeypatch.setattr(inspection, "BYTES_PER_CELL", 1 << 20)
    with shoal.open(tmp_path / "t.parquet", memory="256MB") as table:
        assert (inspection.is_held(table, 14), inspection.is_held(table, 15)) == (True, False)
        monkeypatch.setattr(type(table), "whole", lambda self: pytest.fail("held"))
        assert shoal.inspect(table).columns == expected

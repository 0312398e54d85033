"""Columns are looked at once: what the counts hold is not read again, the others come in one pass; the facts are the same."""

from __future__ import annotations

import datetime
import decimal
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines.count import by_codes
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.csv import read as csv_read
from shoal.engines.files.readers import ParquetReader
from shoal.engines.table import Table
from shoal.release.gate import column_facts
from shoal.release.gate.column_facts import ColumnReader

POLICY: dict[str, Any] = {
    "roles": {"quasi": {"age": {}, "sex": {}}, "sensitive": ["ill"], "insensitive": ["ward", "meal", "visits"]},
    "require": {"k": 3},
    "allow": {"suppress": 0.9},
    "method": "lattice",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = random.Random(7)
    table = {
        "age": [rng.choice([None, *range(20, 40)]) for _ in range(300)],
        "sex": [rng.choice("fm") for _ in range(300)],
        "ill": [rng.choice([None, "flu", "cold", "asthma"]) for _ in range(300)],
        "ward": [rng.choice(["north", "south"]) for _ in range(300)],
        "meal": [rng.choice(["plain", "vegan", None]) for _ in range(300)],
        "visits": [rng.randrange(4) for _ in range(300)],
    }
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The columns of each pass over the file."""
    made: list[list[str]] = []
    chunks = ParquetReader.chunks
    monkeypatch.setattr(
        ParquetReader, "chunks", lambda self, names, *size: (made.append(list(names)), chunks(self, names, *size))[1]
    )
    return made


def alike(a: Any, b: Any) -> bool:
    return (a.name, a.kind, list(a.values), a.rows, a.missing) == (b.name, b.kind, list(b.values), b.rows, b.missing) and (
        np.array_equal(a.counts, b.counts)
    )


def test_facts_from_counts_are_those_of_the_file(file: Path, passes: list[list[str]]) -> None:
    names = ["age", "sex", "ill", "ward", "meal", "visits"]
    with shoal.open(file) as table:
        counts = table.count(["age", "sex"], sensitive=["ill", "ward"])
        del passes[:]
        counted, read = ColumnReader(table, counts).of(names), ColumnReader(table).of(names)
        assert passes == [["meal", "visits"], names]
        assert list(counted) == names
        assert all(alike(counted[n], read[n]) for n in names)
        for n in names:
            values, sizes = table.values(n)
            assert read[n].rows == int(sizes.sum()) == 300
            assert read[n].missing == (int(sizes[-1]) if values.null_count else 0)


def test_counts_of_people_are_not_those_of_rows(file: Path, passes: list[list[str]]) -> None:
    with shoal.open(file) as table:
        counts = table.count(["age", "sex"], sensitive=["ill"], unit="visits")
        del passes[:]
        assert ColumnReader(table, counts)["sex"].rows == 300
        assert passes == [["sex"]]


def test_columns_come_eight_at_a_time_and_long_ones_are_not_kept(
    file: Path, passes: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_facts, "TOGETHER", 1)
    monkeypatch.setattr(column_facts, "CELLS", 600)  # two columns of 300 rows
    monkeypatch.setattr(column_facts, "KEPT", 3)
    with shoal.open(file) as table:
        columns = ColumnReader(table)
        columns.of(["sex", "ill", "visits"])
        assert passes == [["sex", "ill"], ["visits"]]
        columns.of(["sex", "ill", "visits"])  # three values are kept, four are not
        assert passes[2:] == [["visits"]]


def test_a_release_reads_the_file_four_times(file: Path, passes: list[list[str]]) -> None:
    """To count, to look at what stays as it is, to write, and the first rows to see which columns follow from others."""
    release = shoal.anonymize(file, POLICY)
    release.write(file.parent / "release")
    assert [sorted(p) for p in passes] == [
        ["age", "ill", "sex"],
        ["meal", "visits", "ward"],
        ["age", "ill", "meal", "sex", "visits", "ward"],
        ["age", "ill", "meal", "sex", "visits", "ward"],
    ]
    assert shoal.verify(file.parent / "release").ok


@pytest.mark.parametrize(("form", "unit"), [("parquet", None), ("csv", None), ("csv", "person")])
def test_codes_of_the_count_are_written_as_a_second_reading_is(
    file: Path, form: str, unit: str | None, passes: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rows in the same order, whether the codes were kept or not."""
    table = pq.read_table(file)
    table = table.append_column("person", pa.array([f"p{i // 2}" for i in range(300)]))
    place = file.parent / f"u.{form}"
    pq.write_table(table, place) if form == "parquet" else csv.write_csv(table, place)
    policy: dict[str, Any] = {
        "roles": {"quasi": {"age": {}, "sex": {}}, "sensitive": ["ill", "ward"], "direct": ["meal", "visits"]},
        "require": {"k": 3},
        "allow": {"suppress": 0.9},
        "method": "lattice",  # a local recoding reads the table itself
        "seed": 2**100 + 7,
    }
    if unit is None:
        policy["roles"]["direct"].append("person")
    else:
        policy["unit"] = unit
    scan = DuckDB.scan
    monkeypatch.setattr(DuckDB, "scan", lambda self, *more, **rest: (passes.append(["scan"]), scan(self, *more, **rest))[1])
    monkeypatch.setattr(csv_read._File, "in_memory", lambda _: None)
    found = []
    for most in (by_codes.MOST_KEPT, -1):
        monkeypatch.setattr(by_codes, "MOST_KEPT", most)
        del passes[:]
        out = file.parent / f"out{most}"
        shoal.anonymize(place, policy, format=form).write(out)
        found.append((len(passes), (out / f"data.{form}").read_bytes()))
    assert found[0][1] == found[1][1]
    assert found[0][0] < found[1][0]
    assert found[0][1].count(b"\n") > 100 or form == "parquet"


def test_codes_are_kept_up_to_a_limit_and_of_one_reading(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shoal.open(file) as opened:
        assert opened._codes is None
        run = opened.for_one_run()
        run.count(["age", "sex"])
        assert set(run._codes or {}) == {"age", "sex"}
        run.count(["age", "ill"])  # another reading
        assert set(run._codes or {}) == {"age", "sex"}
        assert opened._codes is None
        size = sum(c.nbytes for c in (run._codes or {}).values())
        for most, kept in ((size, 2), (size - 1, 0)):
            monkeypatch.setattr(by_codes, "MOST_KEPT", most)
            again = opened.for_one_run()
            again.count(["age", "sex"])
            assert len(again._codes or {}) == kept
        monkeypatch.undo()
        opened.limit_memory(4 << 30)
        limited = opened.for_one_run()
        limited.count(["age", "sex"])
        assert limited._codes == {}


@pytest.mark.parametrize("form", ["frame", "parquet", "csv"])
def test_a_short_table_is_read_instead_of_counted_with_the_same_facts(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    some = rng.integers(0, 9, 300).tolist()
    days = [datetime.date(2020, 1, 1 + x) for x in some]
    table = pa.table(
        {
            "whole": pa.array([None if x == 3 else x - 4 for x in some]),
            "long": pa.array(rng.integers(0, 2**62, 300)),
            "float": pa.array([float("nan") if x == 1 else None if x == 2 else x / 4 - 1 for x in some]),
            "zero": pa.array([0.0, -0.0] * 150),
            "text": pa.array([None if x == 0 else f"ä{x}" for x in some]),
            "none": pa.nulls(300, pa.string()),
            "coded": pa.array([f"v{x}" for x in some]).dictionary_encode(),
            "yes": pa.array([x > 4 for x in some]),
            "day": pa.array(days),
            "time": pa.array([datetime.datetime(2020, 1, 1, x) for x in some]),
            "money": pa.array([decimal.Decimal(x).scaleb(-2) for x in some]),
            "large": pa.array([2**63 + x for x in some], pa.uint64()),
            "single": pa.array([x / 3 for x in some], pa.float32()),
        }
    )
    place = tmp_path / f"t.{form}"
    if form == "parquet":
        pq.write_table(table, place)
    elif form == "csv":
        csv.write_csv(table, place)
    found = []
    for short in (True, False):
        monkeypatch.setattr(Table, "is_short", property(lambda _, short=short: short))
        source = shoal.open(table if form == "frame" else place)
        found.append(ColumnReader(source).of(table.column_names))
    assert all(alike(found[0][name], found[1][name]) for name in table.column_names)

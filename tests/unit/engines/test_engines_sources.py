"""Every kind of source: the same rows come back, nothing is read before it is asked for, and counts survive a file."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.engines.connect import split_url
from shoal.engines.files import frames
from shoal.engines.open import open as open_table
from shoal.errors import (
    AmbiguousColumnError,
    MemoryBudgetError,
    MissingColumnError,
    OutputError,
    RoleError,
    UnreadableError,
    UsageError,
)
from shoal.model.counts.classes import ClassCounts
from shoal.model.counts.files import read_counts, write_counts
from shoal.model.plan import Plan

DATA = pa.table(
    {
        "age": pa.array([30, 30, None, 41], pa.int64()),
        "zip": ["01", "01", "02", None],
        "born": pa.array([dt.date(2000, 1, 1)] * 3 + [None], pa.date32()),
        "x": [1.5, 1.5, -0.0, float("nan")],
    }
)
ROWS = [
    {"age": 30, "zip": "01", "born": dt.date(2000, 1, 1), "x": 1.5},
    {"age": 30, "zip": "01", "born": dt.date(2000, 1, 1), "x": 1.5},
    {"age": None, "zip": "02", "born": dt.date(2000, 1, 1), "x": 0.0},
    {"age": 41, "zip": None, "born": None, "x": None},
]


def rows(table: Any) -> list[dict[str, Any]]:
    return [r for b in table.scan() for r in b.to_pylist()]


def check(table: Any) -> None:
    assert rows(table) == ROWS
    assert [c.kind for c in table.schema.columns] == ["integer", "text", "date", "float"]
    assert table.n_rows() == 4
    assert table.count(["age", "zip", "x"]).sizes.tolist() == [1, 2, 1]
    assert table.engine == "duckdb"
    table.close()


def test_parquet_file_folder_and_pattern(tmp_path: Path) -> None:
    pq.write_table(DATA.slice(0, 2), tmp_path / "b-0.parquet")
    pq.write_table(DATA.slice(2), tmp_path / "b-1.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    check(open_table(tmp_path))
    check(open_table(tmp_path / "b-*.parquet"))
    pq.write_table(DATA, tmp_path / "b-1.parquet")
    check(open_table(tmp_path / "b-1.parquet"))


def test_parquet_of_two_schemas_or_broken(tmp_path: Path) -> None:
    pq.write_table(DATA, tmp_path / "a.parquet")
    pq.write_table(DATA.select(["age"]), tmp_path / "b.parquet")
    with pytest.raises(UnreadableError, match="other columns"):
        open_table(tmp_path)
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-20])
    with pytest.raises(UnreadableError, match="not a whole Parquet file"):
        open_table(tmp_path / "b.parquet")
    with pytest.raises(UnreadableError, match="no Parquet or CSV file"):
        open_table(tmp_path / "c*.parquet")


def test_parquet_that_vanishes(tmp_path: Path) -> None:
    pq.write_table(DATA, tmp_path / "a.parquet")
    table = open_table(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(UnreadableError, match="not there"):
        table.count(["age"])
    with pytest.raises(UnreadableError, match="not there"):
        rows(table)
    table.close()


def test_json_lines(tmp_path: Path) -> None:
    lines = [{k: (v.isoformat() if isinstance(v, dt.date) else v) for k, v in row.items()} for row in ROWS]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    check(open_table(tmp_path / "t.jsonl"))
    (tmp_path / "n.jsonl").write_text('{"a": {"b": 1}}\n')
    with pytest.raises(UnreadableError, match="column 'a'"):
        open_table(tmp_path / "n.jsonl")


def test_arrow_files(tmp_path: Path) -> None:
    import pyarrow.feather as feather

    feather.write_feather(DATA, tmp_path / "t.feather")
    check(open_table(tmp_path / "t.feather"))
    with pa.OSFile(str(tmp_path / "s.arrow"), "wb") as sink, pa.ipc.new_stream(sink, DATA.schema) as writer:
        writer.write_table(DATA)
    check(open_table(tmp_path / "s.arrow"))
    (tmp_path / "bad.arrow").write_bytes(b"no arrow")
    with pytest.raises(UnreadableError, match="not a whole Arrow file"):
        open_table(tmp_path / "bad.arrow")


def test_excel(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "people"
    sheet.append(list(DATA.column_names))
    for row in ROWS:
        sheet.append(list(row.values()))
    book.create_sheet("other")
    book.save(tmp_path / "t.xlsx")
    check(open_table(tmp_path / "t.xlsx"))
    with pytest.raises(UsageError, match="Did you mean 'people'"):
        open_table(tmp_path / "t.xlsx", sheet="peopel")
    with pytest.raises(UnreadableError, match="is empty"):
        open_table(tmp_path / "t.xlsx", sheet="other")
    (tmp_path / "bad.xlsx").write_bytes(b"no zip")
    with pytest.raises(UnreadableError, match="not a readable Excel workbook"):
        open_table(tmp_path / "bad.xlsx")


def test_spss_labels_and_user_missing(tmp_path: Path) -> None:
    import pandas as pd
    import pyreadstat

    frame = pd.DataFrame({"job": [1.0, 2.0, -9.0, None], "name": ["a", "b", "", "d"]})
    pyreadstat.write_sav(
        frame,
        str(tmp_path / "t.sav"),
        variable_value_labels={"job": {1: "baker", -9: "refused"}},
        missing_ranges={"job": [{"lo": -9, "hi": -9}]},
        column_labels=["occupation", ""],
    )
    with open_table(tmp_path / "t.sav") as table:
        job = table.schema["job"]
        assert dict(job.labels) == {1: "baker", -9: "refused"}
        assert job.user_missing == (-9.0,)
        assert job.note == "occupation"
        assert table.count(["job"]).n_classes == 4, "a user-missing value is a value"
        assert [r["name"] for r in rows(table)] == ["a", "b", None, "d"]
    with open_table(tmp_path / "t.sav", user_missing="missing") as table:
        assert table.count(["job"]).sizes.tolist() == [2, 1, 1]
    (tmp_path / "bad.sav").write_bytes(b"$FL2@(#) nothing")
    with pytest.raises(UnreadableError, match="cannot be read"):
        open_table(tmp_path / "bad.sav")


def test_pandas_polars_duckdb_and_dictionaries() -> None:
    import duckdb
    import pandas as pd
    import polars as pl

    check(open_table(DATA))
    check(open_table(DATA.to_batches()[0]))
    check(open_table(pl.from_arrow(DATA)))
    check(open_table(pl.from_arrow(DATA).lazy()))
    check(open_table(DATA.to_pandas(types_mapper=pd.ArrowDtype)))
    check(open_table({n: DATA[n] for n in DATA.column_names}))
    connection = duckdb.connect()
    connection.register("data", DATA)
    check(open_table(connection.sql("FROM data")))
    connection.close()


def test_pandas_columns_of_mixed_types_are_refused_without_a_value() -> None:
    import pandas as pd

    with pytest.raises(UsageError) as caught:
        open_table(pd.DataFrame({"a": [1, "canary-77", b"x"]}))
    assert "column 'a'" in str(caught.value)
    assert "canary" not in str(caught.value)
    with pytest.raises(AmbiguousColumnError):
        open_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(UsageError, match="type 'int'"):
        open_table(5)


def test_a_file_with_a_table_behind_it_leads_to_the_way_databases_are_written(tmp_path: Path) -> None:
    (tmp_path / "night.duckdb").touch()
    with pytest.raises(UnreadableError) as caught:
        open_table(tmp_path / "night.duckdb::visits")
    assert "duckdb://FILE::table" in str(caught.value.hint)
    with pytest.raises(UnreadableError, match="does not exist"):
        open_table(tmp_path / "none.duckdb::visits")


def test_duckdb_file_read_only_until_a_table_is_made(tmp_path: Path) -> None:
    import duckdb

    file = tmp_path / "d.db"
    with duckdb.connect(str(file)) as connection:
        connection.register("data", DATA)
        connection.execute('CREATE TABLE "my table" AS FROM data')
    with open_table(f"duckdb://{file}::my table") as table:
        assert rows(table) == ROWS
        assert table.count(["zip"]).sizes.tolist() == [1, 2, 1]
        done = table.recode(Plan(), "::copy")
        assert done.records_out == 4
        with pytest.raises(OutputError, match="already there"):
            table.recode(Plan(), "::my table")
    with open_table(f"duckdb://{file}::copy") as table:
        assert table.count(["zip"]).sizes.tolist() == [1, 2, 1]
    with pytest.raises(UnreadableError, match="does not exist"):
        open_table(f"duckdb://{file}::nothing")
    with pytest.raises(UnreadableError, match="does not exist"):
        open_table(f"duckdb://{tmp_path / 'none.db'}::t")


def test_opening_reads_nothing_but_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    loads = []
    real = frames.open_deferred

    def watched(load: Any, *args: Any, **more: Any) -> Any:
        def counted() -> Any:
            loads.append(1)
            return load()

        return real(counted, *args, **more)

    monkeypatch.setattr(frames, "open_deferred", watched)
    connection = duckdb.connect()
    table = open_table(connection.sql("SELECT range AS x FROM range(10)"))
    assert (loads, table.schema.names) == ([], ("x",))
    assert table.n_rows() == 10
    assert table.count(["x"]).n_classes == 10
    assert loads == [1]
    table.close()
    connection.close()


def test_urls() -> None:
    assert split_url("mysql://u:p@h/db::t") == ("mysql", "mysql://u:p@h/db", "t")
    with pytest.raises(UsageError, match="names no table") as caught:
        open_table("postgresql://u:secret@h/db")
    assert "secret" not in str(caught.value)
    with pytest.raises(UsageError, match=r"Engine 'oracle' is not known.(?s:.)*mysql, postgres,"):
        open_table("oracle://h/db::t")
    with pytest.raises(UsageError, match=r"SQL Server is not supported(?s:.)*Export the table"):
        open_table("mssql://u@h/db::t")


def test_roles_are_checked() -> None:
    with pytest.raises(RoleError, match="two roles"):
        open_table(DATA, quasi=["age"], sensitive=["age"])
    with pytest.raises(MissingColumnError, match="Did you mean 'zip'"):
        open_table(DATA, quasi=["zipp"])
    table = open_table(DATA).with_roles(quasi=["zip"], unit="age")
    assert table.count().n_people == 3
    with pytest.raises(UsageError, match="no quasi-identifier"):
        open_table(DATA).count()
    with pytest.raises(UsageError, match="named twice"):
        open_table(DATA).count(["zip", "zip"])
    with pytest.raises(MissingColumnError):
        open_table(DATA).values("zap")


def test_moments_do_not_depend_on_the_zone_of_the_machine(tmp_path: Path) -> None:
    moments = pa.array([dt.datetime(2024, 1, 1, 3, tzinfo=dt.UTC)], pa.timestamp("us", tz="Asia/Tokyo"))
    pq.write_table(pa.table({"t": moments}), tmp_path / "t.parquet")
    code = f"""
        from shoal.engines.open import open as open_table
        from shoal.engines.count.sql import CountRequest, count_by_sql
        from shoal.model.plan import Plan
        from shoal.steps import Prefix
        t = open_table({str(tmp_path / "t.parquet")!r})
        day = {{"t": Prefix("t", length=13, fill="")}}
        print(t.count(["t"], through=day).categories[0].to_pylist())
        print(count_by_sql(t._engine, t._relation, CountRequest(("t",), day)).categories[0].to_pylist())
        print(next(t.scan()).to_pylist())
    """
    env = {**os.environ, "TZ": "America/New_York"}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=env, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "['2024-01-01 03']",
        "['2024-01-01 03']",
        "[{'t': datetime.datetime(2024, 1, 1, 3, 0)}]",
    ], done.stderr


def test_values_and_distinct() -> None:
    with open_table(DATA) as table:
        values, sizes = table.values("zip")
        assert (values.to_pylist(), sizes.tolist()) == (["01", "02", None], [2, 1, 1])
        assert table.distinct("x") == 2


def test_weights_are_added_up_and_must_be_there() -> None:
    data = pa.table({"a": ["x", "x", "y"], "w": [1.5, 2.0, 1.0], "v": [1.0, None, 2.0]})
    with open_table(data) as table:
        counts = table.count(["a"], weight="w")
        assert counts.weights is not None
        assert counts.weights.tolist() == [3.5, 1.0]
        with pytest.raises(ValueError, match=r"'v' is missing in 1 record\(s\)|'v' is missing in 1 record"):
            table.count(["a"], weight="v")


@pytest.mark.parametrize("budget", [1000, 50_000])
def test_memory_budget_says_what_it_needs(budget: int) -> None:
    n = 20_000
    with open_table(pa.table({"a": np.arange(n), "b": np.arange(n) % 7})) as table:
        with pytest.raises(MemoryBudgetError, match="memory budget") as caught:
            table.count(["a", "b"], memory_budget=budget)
        assert "a, b" in caught.value.hint
        assert caught.value.estimate > budget  # type: ignore[attr-defined]
        assert table.count(["b"], memory_budget=10**6).n_classes == 7


def test_counts_survive_a_file(tmp_path: Path) -> None:
    with open_table(DATA) as table:
        counts = table.count(["age", "born"], sensitive=["zip", "x"], unit="x")
    back = read_counts(write_counts(counts, tmp_path / "c.parquet"))
    for name in ("sizes", "records", "weights"):
        one, two = getattr(counts, name), getattr(back, name)
        assert (one is None and two is None) or one.tolist() == two.tolist()
    assert [c.tolist() for c in back.codes] == [c.tolist() for c in counts.codes]
    assert [c.to_pylist() for c in back.categories] == [c.to_pylist() for c in counts.categories]
    assert [c.type for c in back.categories] == [c.type for c in counts.categories]
    assert back.sensitive["zip"].counts.tolist() == counts.sensitive["zip"].counts.tolist()
    assert (back.n_people, back.unit, back.missing) == (counts.n_people, counts.unit, counts.missing)
    assert (tmp_path / "c.parquet").stat().st_mode & 0o777 == 0o600
    assert read_counts(write_counts(ClassCounts([3]), tmp_path / "d.parquet")).sizes.tolist() == [3]
    (tmp_path / "e.parquet").write_bytes(b"x")
    with pytest.raises(UnreadableError, match="does not hold counts"):
        read_counts(tmp_path / "e.parquet")


def test_a_jupyter_kernel_without_ipywidgets_can_release(tmp_path: Path) -> None:
    """There DuckDB refuses to have its progress bar switched off: it is off already."""
    code = f"""
        import sys, types
        kernel = types.SimpleNamespace(config={{"IPKernelApp": {{}}}})
        sys.modules["IPython"] = types.ModuleType("IPython")
        sys.modules["IPython"].get_ipython = lambda: kernel
        sys.modules["ipywidgets"] = None
        import shoal
        table = shoal.open({{"a": [i % 7 for i in range(90)], "b": [i % 3 for i in range(90)]}})
        shoal.anonymize(table, quasi=["a", "b"], k=3, method="local").write({str(tmp_path / "release")!r})
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "release" / "certificate.json").is_file()


def test_a_footer_is_read_once_for_each_state_of_the_file(tmp_path, monkeypatch):
    """It was read again for every column: releases of 1,600 columns spent half of their time on it."""
    file, parsed, read = tmp_path / "wide.parquet", [], pq.read_metadata
    pq.write_table(pa.table({f"c{i}": [i, i + 1] for i in range(50)}), file)
    monkeypatch.setattr(pq, "read_metadata", lambda path: parsed.append(path) or read(path))
    with open_table(file) as table:
        parsed.clear()
        table.values_of([f"c{i}" for i in range(50)])
        assert len(parsed) <= 1
        pq.write_table(pa.table({f"c{i}": [i] * 3 for i in range(50)}), file)
        assert table._relation.reader.rows() == 3, "a new state is seen"

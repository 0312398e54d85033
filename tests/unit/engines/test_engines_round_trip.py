"""Round trips: every format that is written, every type, with the kinds of steps that take different ways through the engine.

The files are read back cell by cell by pyarrow, openpyxl, pyreadstat and the json module, not by Shoal.
"""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli import build
from shoal.engines.files.losses import not_kept
from shoal.errors import UsageError
from shoal.model.plan import Plan, Suppression
from shoal.model.roles import Column
from shoal.steps import Constant, Drop, Round
from shoal.techniques import Permute

AMSTERDAM = ZoneInfo("Europe/Amsterdam")
MOMENT = dt.datetime(2024, 7, 1, 14, 0, tzinfo=AMSTERDAM)
TYPES = {
    "zone": pa.array([MOMENT, MOMENT + dt.timedelta(days=180), None, MOMENT], pa.timestamp("us", tz="Europe/Amsterdam")),
    "nano": pa.array([1_719_835_200_123_456_789, 1, None, 1000], pa.timestamp("ns")),
    "nano_zone": pa.array([1_719_835_200_123_456_789, 1, None, 1000], pa.timestamp("ns", tz="Europe/Amsterdam")),
    "milli": pa.array([1_719_835_200_123, 0, None, 5], pa.timestamp("ms")),
    "huge": pa.array([2**64 - 1, 0, None, 5], pa.uint64()),
    "tiny": pa.array([-128, 127, None, 0], pa.int8()),
    "single": pa.array([0.1, -2.5, None, 1e30], pa.float32()),
    "number": pa.array([0.1, float("nan"), None, 1e70], pa.float64()),
    "span": pa.array([1_500_000, -1, None, 0], pa.duration("us")),
    "list": pa.array([[1, 2], [], None, [3]], pa.list_(pa.field("element", pa.int64()))),
    "struct": pa.array([{"a": 1, "b": "x"}, {"a": None, "b": "é"}, None, {"a": 3, "b": ""}]),
    "day": pa.array([dt.date(2024, 2, 29), dt.date(1850, 1, 1), None, dt.date(1970, 1, 1)]),
    "clock": pa.array([dt.time(13, 5), dt.time(0, 0, 1, 500), None, dt.time(0)], pa.time64("us")),
    "money": pa.array([Decimal("12.50"), Decimal("-0.01"), None, Decimal(0)], pa.decimal128(9, 2)),
    "bytes": pa.array([b"\x00\xff", b"", None, b"a"]),
    "truth": pa.array([True, False, None, True]),
    "text": pa.array(['a "quoted", text', "", None, "é\nß"]),
}
TABLE = pa.table({**TYPES, "group": pa.array([7, 7, 9, 9], pa.int16()), "row": pa.array([0, 1, 2, 3], pa.int32())})

WAYS = {
    "kept": Plan(),
    "by codes": Plan((Constant("group", "x"),), Suppression(2, ("group",))),
    "as SQL": Plan((), Suppression(2, ("group",), "cells")),
    "on batches": Plan((Permute("group"),)),
    "rounded": Plan((Round("group", 10.0),)),
}


def written(tmp_path: Path, way: str, ending: str, *, file: bool = False) -> Path:
    source: Any = TABLE
    if file:
        source = tmp_path / "in.parquet"
        pq.write_table(TABLE, source)
    out = tmp_path / f"out.{ending}"
    with shoal.open(source) as table:
        table.recode(WAYS[way], out)
    return out


@pytest.mark.parametrize("file", [False, True], ids=["frame", "file"])
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("way", WAYS)
def test_types_live_where_the_format_has_them(tmp_path: Path, way: str, ending: str, file: bool) -> None:
    out = written(tmp_path, way, ending, file=file)
    back = pq.read_table(out) if ending == "parquet" else pa.ipc.open_file(str(out)).read_all()
    back = back.sort_by("row")
    for name, values in TYPES.items():
        assert back.schema.field(name).type == values.type, name
        assert repr(back[name].to_pylist()) == repr(values.to_pylist()), name  # a NaN is a NaN
    assert back.schema.field("row").type == pa.int32()
    if way in ("kept", "on batches"):
        assert back.schema.field("group").type == pa.int16()
        assert sorted(back["group"].to_pylist()) == [7, 7, 9, 9]


SPELLED = {
    "zone": ["2024-07-01 14:00:00+02:00", "2024-12-28 14:00:00+01:00", None, "2024-07-01 14:00:00+02:00"],
    "nano": ["2024-07-01 12:00:00.123456789", "1970-01-01 00:00:00.000000001", None, "1970-01-01 00:00:00.000001"],
    "nano_zone": [
        "2024-07-01 14:00:00.123456789+02:00",
        "1970-01-01 01:00:00.000000001+01:00",
        None,
        "1970-01-01 01:00:00.000001+01:00",
    ],
    "milli": ["2024-07-01 12:00:00.123000", "1970-01-01 00:00:00", None, "1970-01-01 00:00:00.005000"],
    "day": ["2024-02-29", "1850-01-01", None, "1970-01-01"],
    "clock": ["13:05:00", "00:00:01.000500", None, "00:00:00"],
    "bytes": ["00ff", "", None, "61"],
    "text": ['a "quoted", text', "", None, "é\nß"],
}
PLAIN = {
    "huge": [2**64 - 1, 0, None, 5],
    "tiny": [-128, 127, None, 0],
    "number": [0.1, None, None, 1e70],
    "span": [1.5, -1e-06, None, 0.0],
    "money": [12.5, -0.01, None, 0.0],
    "truth": [True, False, None, True],
}


@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
@pytest.mark.parametrize("way", WAYS)
def test_json_lines_cell_by_cell(tmp_path: Path, way: str, packing: str) -> None:
    raw = unpacked(written(tmp_path, way, f"jsonl{packing}"))
    rows = sorted((json.loads(line) for line in raw.decode().splitlines()), key=lambda r: r["row"])
    for name, cells in {**SPELLED, **PLAIN, "list": TYPES["list"].to_pylist(), "struct": TYPES["struct"].to_pylist()}.items():
        assert [r[name] for r in rows] == cells, name
    assert [r["single"] for r in rows] == TYPES["single"].to_pylist()
    assert all(list(r) == TABLE.column_names for r in rows)


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "csv.zst", "tsv.zst"])
@pytest.mark.parametrize("way", ["kept", "on batches"])
def test_csv_cell_by_cell(tmp_path: Path, way: str, ending: str) -> None:
    raw = unpacked(written(tmp_path, way, ending)).decode()
    lines = list(csv.reader(io.StringIO(raw), delimiter="\t" if ending.startswith("tsv") else ","))
    place = {name: i for i, name in enumerate(lines[0])}
    rows = sorted(lines[1:], key=lambda r: int(r[place["row"]]))
    for name, cells in SPELLED.items():
        assert [r[place[name]] for r in rows] == ["" if c is None else c for c in cells], name
    for name, numbers in PLAIN.items():
        if name not in ("truth", "huge"):
            assert [float(c) if c else None for c in (r[place[name]] for r in rows)] == numbers, name
    assert rows[0][place["huge"]] == str(2**64 - 1)
    assert [r[place["list"]] for r in rows] == ["[1,2]", "[]", "", "[3]"]
    assert rows[1][place["struct"]] == '{"a":null,"b":"é"}'


def unpacked(path: Path) -> bytes:
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix == ".zst":
        return pa.input_stream(str(path), compression="zstd").read()
    return path.read_bytes()


@pytest.mark.parametrize("way", WAYS)
def test_excel_cell_by_cell(tmp_path: Path, way: str) -> None:
    sheet = openpyxl.load_workbook(written(tmp_path, way, "xlsx")).active
    lines = list(sheet.iter_rows(values_only=True))
    rows = sorted((dict(zip(lines[0], line, strict=True)) for line in lines[1:]), key=lambda r: r["row"])
    assert [r["zone"] for r in rows][:2] == [dt.datetime(2024, 7, 1, 14), dt.datetime(2024, 12, 28, 14)]
    assert [r["huge"] for r in rows] == [str(2**64 - 1), 0, None, 5]
    assert [r["span"] for r in rows] == [1.5, -1e-06, None, 0]
    assert [r["number"] for r in rows] == [0.1, None, None, 1e70]
    assert [r["list"] for r in rows] == ["[1,2]", "[]", None, "[3]"]
    assert [r["day"] for r in rows] == [dt.datetime(2024, 2, 29), "1850-01-01", None, dt.datetime(1970, 1, 1)]
    assert [r["truth"] for r in rows] == [True, False, None, True]


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "xpt"])
@pytest.mark.parametrize("way", WAYS)
def test_statistical_files_cell_by_cell(tmp_path: Path, way: str, ending: str) -> None:
    out = str(written(tmp_path, way, ending))
    frame = {"sav": pyreadstat.read_sav, "zsav": pyreadstat.read_sav, "dta": pyreadstat.read_dta, "xpt": pyreadstat.read_xport}[
        ending
    ](out)[0].sort_values("row", ignore_index=True)
    assert frame["zone"].tolist()[:2] == [pd.Timestamp(2024, 7, 1, 14), pd.Timestamp(2024, 12, 28, 14)]
    assert frame["day"].tolist()[:2] == [dt.date(2024, 2, 29), dt.date(1850, 1, 1)]
    assert frame["span"].tolist()[:2] == [1.5, pytest.approx(-1e-06)]
    assert frame["tiny"].tolist()[:2] == [-128, 127]
    assert frame["money"].tolist()[:2] == [12.5, pytest.approx(-0.01)]
    assert frame["list"].tolist() == ["[1,2]", "[]", "", "[3]"]
    assert [frame[c].isna()[2] for c in ("zone", "span", "tiny", "money", "number")] == [True] * 5
    assert frame["text"].tolist()[0] == 'a "quoted", text'
    assert frame["huge"].tolist() == [str(2**64 - 1), "0", "", "5"]  # no double holds the first


@pytest.mark.parametrize(
    ("largest", "exact"), [(2**53, float(2**53)), (2**53 + 1, str(2**53 + 1)), (-(2**53) - 1, str(-(2**53) - 1))]
)
def test_ids_that_no_double_holds_are_text(tmp_path: Path, largest: int, exact: Any) -> None:
    with shoal.open(pa.table({"id": [1, largest]})) as table:
        table.recode(Plan(shuffle=False), tmp_path / "o.sav")
    assert pyreadstat.read_sav(str(tmp_path / "o.sav"))[0]["id"].tolist()[1] == exact


def test_stata_letters_formats_and_labels_come_back(tmp_path: Path) -> None:
    frame = pd.DataFrame({"pay": [1.5, 2.0, "a", "b", None], "month": [700.0, 701, 702, 703, 704], "n": [1, 2, 3, 4, 5]})
    pyreadstat.write_dta(
        frame,
        str(tmp_path / "in.dta"),
        column_labels=["Pay", "Month of birth", ""],
        variable_value_labels={"pay": {"a": "refused"}},
        missing_user_values={"pay": ["a", "b"]},
        variable_format={"month": "%tm", "pay": "%9.2f"},
    )
    with shoal.open(tmp_path / "in.dta") as table:
        table.recode(Plan(shuffle=False), tmp_path / "out.dta")
        told = table.recode(Plan(shuffle=False), tmp_path / "out.sav").not_kept
    back, meta = pyreadstat.read_dta(str(tmp_path / "out.dta"), user_missing=True)
    assert back["pay"].tolist()[:4] == [1.5, 2.0, "a", "b"]
    assert back["pay"].isna().tolist() == [False] * 4 + [True]
    assert meta.variable_value_labels["pay"] == {"a": "refused"}
    assert meta.original_variable_types["month"] == "%tm"
    assert back["month"].tolist() == [700, 701, 702, 703, 704]
    assert meta.column_names_to_labels["month"] == "Month of birth"
    spss, meta = pyreadstat.read_sav(str(tmp_path / "out.sav"), user_missing=True)
    assert spss["pay"].tolist()[:4] == [1.5, 2.0, 3.0, 4.0]  # 3 and 4 are declared missing
    assert meta.missing_ranges["pay"] == [{"lo": 3.0, "hi": 3.0}, {"lo": 4.0, "hi": 4.0}]
    assert meta.variable_value_labels["pay"] == {3: "refused", 4: ".b"}
    assert any("lettered" in sentence for sentence in told)


def test_noise_beside_letters_of_stata(tmp_path: Path) -> None:
    frame = pd.DataFrame({"pay": [float(i) for i in range(100, 130)] + ["a", None]})
    pyreadstat.write_dta(frame, str(tmp_path / "in.dta"), missing_user_values={"pay": ["a"]})
    shoal.transform(tmp_path / "in.dta", {"steps": [{"column": "pay", "noise": {"scale": 5}}]}, tmp_path / "out.dta")
    back, _ = pyreadstat.read_dta(str(tmp_path / "out.dta"), user_missing=True)
    assert (back["pay"] == "a").sum() == 1
    assert back["pay"].isna().sum() == 1
    assert 80 < pd.to_numeric(back["pay"], errors="coerce").mean() < 150


# -- names and words -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.por", "x.sas7bdat", "x.xlsm", "x.parquet.gz", "x.sav.zst", "x.gz"])
def test_what_can_not_be_written_is_refused_before(tmp_path: Path, name: str) -> None:
    with shoal.open(TABLE) as table, pytest.raises(UsageError):
        table.recode(Plan(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst", "tsv.gz", "jsonl", "jsonl.gz", "jsonl.zst"])
def test_packed_files_read_back_as_written(tmp_path: Path, ending: str) -> None:
    days = [dt.date(2024, 1, i) for i in (1, 2, 3)]
    plain = pa.table({"n": [3, 1, None], "x": [0.5, 1.0, 2.0], "t": ["a", "ä", None], "d": days})
    out = tmp_path / f"o.{ending}"
    for _ in range(2):
        with shoal.open(plain) as table:
            table.recode(Plan(shuffle=False), out)
        first = out.read_bytes()
    assert out.read_bytes() == first
    with shoal.open(out) as back:
        assert pa.Table.from_batches(list(back.scan())).to_pydict() == plain.to_pydict()


@pytest.mark.parametrize(
    ("column", "format", "words"),
    [
        (Column("c", "integer", labels={1: "a"}), "parquet", "no value labels"),
        (Column("c", "float", labels={1: "a"}), "stata", None),
        (Column("c", "float", note="label"), "csv", "no variable labels"),
        (Column("c", "float", note="label"), "sas", None),
        (Column("c", "float", user_missing=(9,)), "jsonl", "plain values"),
        (Column("c", "float", user_missing=(9,)), "stata", "letters"),
        (Column("c", "float", user_missing=(9,)), "spss", None),
        (Column("c", "float", measure="ordinal"), "stata", "measurement levels"),
        (Column("c", "timestamp", stored=pa.timestamp("us", tz="UTC")), "csv", "time zones"),
        (Column("c", "timestamp", stored=pa.timestamp("us", tz="UTC")), "parquet", None),
        (Column("c", "timestamp", stored=pa.timestamp("ms")), "spss", None),
        (Column("c", "timestamp", stored=pa.timestamp("us")), "spss", "off by two microseconds"),
        (Column("c", "timestamp", stored=pa.timestamp("us")), "sas", None),
        (Column("c", "timestamp", stored=pa.timestamp("ns")), "sas", "nanoseconds"),
        (Column("c", "timestamp", stored=pa.timestamp("ms")), "excel", "before 1900"),
        (Column("c", "timestamp"), "excel", "to the millisecond"),
        (Column("c", "time", stored=pa.time64("ns")), "csv", "to the microsecond"),
        (Column("c", "time", stored=pa.time64("us")), "csv", None),
        (Column("c", "time", stored=pa.time64("us")), "stata", "shown as a clock"),
        (Column("c", "time", stored=pa.time32("s")), "parquet", "milliseconds"),
        (Column("c", "integer", stored=pa.int64()), "sas", "15 digits"),
        (Column("c", "integer", stored=pa.uint32()), "sas", None),
        (Column("c", "boolean", stored=pa.bool_()), "stata", "1 and 0"),
        (Column("c", "text", coded=True), "parquet", None),
        (Column("c", "text", stored=pa.list_(pa.int8())), "csv", "nested"),
        (Column("c", "text", stored=pa.list_(pa.int8())), "jsonl", None),
        (Column("c", "decimal", stored=pa.decimal128(9, 2)), "sas", "15 digits"),
        (Column("c", "integer", stored=pa.int32()), "sas", None),
    ],
    ids=lambda v: v if isinstance(v, str) else None,
)
def test_what_a_format_cannot_hold_is_said(column: Column, format: str, words: str | None) -> None:
    told = " ".join(not_kept([column, Column("plain")], format))
    assert (words in told) if words else told == ""
    assert "plain," not in told


def test_labels_of_changed_columns_are_told_too_and_dropped_ones_are_not(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0], "c": [1.0, 2.0]})
    pyreadstat.write_sav(frame, str(tmp_path / "in.sav"), column_labels=["first", "second", "third"])
    with shoal.open(tmp_path / "in.sav") as table:
        before = table.not_kept(Plan((Round("b", 2.0), Drop("c"))), tmp_path / "o.csv")
    assert [s for s in before if "variable labels" in s] == ["CSV has no variable labels: those of a, b are left out."]


def test_losses_are_told_before_and_after(tmp_path: Path) -> None:
    pq.write_table(TABLE.select(["zone", "group", "row"]), tmp_path / "in.parquet")
    (tmp_path / "p.yml").write_text("steps: [{column: group, round: {base: 5}}]", encoding="utf-8")
    words = ["transform", str(tmp_path / "in.parquet"), "--plan", str(tmp_path / "p.yml"), "--out", str(tmp_path / "o.xlsx")]
    said = CliRunner().invoke(build(), words)
    assert said.exit_code == 0
    assert "will not be kept: Excel has no time zones: zone" in said.stderr
    assert "not kept: Excel has no time zones: zone" in said.stdout
    found = CliRunner().invoke(build(), [*words[:-1], str(tmp_path / "o.dta"), "--json"])
    assert any("time zones" in s for s in json.loads(found.stdout)["not_kept"])
    assert json.loads(CliRunner().invoke(build(), [*words[:-1], str(tmp_path / "o.parquet"), "--json"]).stdout)["not_kept"] == []


@pytest.mark.parametrize("format", ["parquet", "arrow", "csv"])
def test_a_release_of_zones_durations_and_lists_verifies(tmp_path: Path, format: str) -> None:
    n = 40
    frame = pa.table(
        {
            "age": pa.array([20 + i % 2 for i in range(n)], pa.int8()),
            "at": pa.array([MOMENT] * n, pa.timestamp("us", tz="Europe/Amsterdam")),
            "span": pa.array([1_500_000] * n, pa.duration("us")),
            "list": pa.array([[1, 2]] * n),
        }
    )
    shoal.anonymize(frame, quasi=["age"], insensitive=["at", "span", "list"], k=5, format=format).write(tmp_path / "r")
    assert shoal.verify(tmp_path / "r").ok


@pytest.mark.parametrize(("step", "told"), [("permute", ["took", "list"]), ("rare", ["took", "list"]), ("drop", [])])
def test_durations_and_nested_values_that_a_step_takes_as_text_are_told(tmp_path: Path, step: str, told: list[str]) -> None:
    table = pa.table({"id": [1, 2], "took": pa.array([5, 5], pa.duration("s")), "list": [[1], [1]]})
    words: dict[str, Any] = {"rare": {"min_count": 1}}.get(step, {})
    for name in ("took", "list"):
        found = shoal.transform(table, {"steps": [{"column": name, step: words}]}, tmp_path / "o.parquet")
        said = [s for s in found.done.not_kept if "as text" in s]
        assert [name in s for s in said] == [True] * (name in told)
        assert [s for s in shoal.open(table).not_kept(found.plan, tmp_path / "o.parquet") if "as text" in s] == said

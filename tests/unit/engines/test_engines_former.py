"""Types after steps: new numbers get the type of the source where all fit; what does not is told before and after."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import normalize
from shoal.engines.core.stored_types import former_fits
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.losses import expected_losses, written_losses
from shoal.engines.servers.mysql.session import native_type, reading
from shoal.kernels.arrow import kind_of
from shoal.kernels.text import canonical_text
from shoal.model.plan import Plan, Suppression
from shoal.model.roles import Column
from shoal.steps import Clamp, Constant, Round
from shoal.steps.sql import exp

KEY = "a long secret with many letters 0123456789"
N = 40
MOMENTS = [dt.datetime(2024, 1, 31, 12, tzinfo=dt.UTC) + dt.timedelta(days=i) for i in range(N)]
COLUMNS = {
    "tiny": pa.array(range(N), pa.int8()),
    "small": pa.array([300 + i for i in range(N)], pa.uint16()),
    "single": pa.array([i / 4 for i in range(N)], pa.float32()),
    "money": pa.array([Decimal(i) / 4 for i in range(N)], pa.decimal128(9, 2)),
    "huge": pa.array([2**63 + 4096 * i for i in range(N)], pa.uint64()),
    "zone": pa.array(MOMENTS, pa.timestamp("us", tz="Europe/Amsterdam")),
    "milli": pa.array([m.replace(tzinfo=None) for m in MOMENTS], pa.timestamp("ms")),
    "day": pa.array([m.date() for m in MOMENTS], pa.date32()),
    "clock": pa.array([dt.time(i % 24, i) for i in range(N)], pa.time64("us")),
    "truth": pa.array([i % 2 == 0 for i in range(N)]),
    "wide": pa.array(range(N), pa.int64()),
}
TABLE = pa.table({"id": [f"p{i}" for i in range(N)], **COLUMNS})
NUMBERS = ["tiny", "small", "single", "money", "huge", "wide"]
STEPS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "round": ({"base": 4}, ["tiny", "small", "single", "money", "wide", "huge"]),
    "clamp": ({"low": 10, "high": 350}, ["tiny", "small", "single", "money", "wide"]),
    "top_bottom": ({"people": 3}, ["tiny", "small", "single", "money", "wide"]),
    "noise": ({"scale": 3}, ["single", "money", "wide", "small"]),
    "permute": ({}, list(COLUMNS)),
    "rank_swap": ({"percent": 20}, NUMBERS),
    "pram": ({"keep": 0.5}, list(COLUMNS)),
    "date_shift": ({"unit": "id", "key": "env:FORMER_KEY"}, ["zone", "milli", "day"]),
}
CASES = [(kind, column) for kind, (_, columns) in STEPS.items() for column in columns]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMER_KEY", KEY)


def carried_out(tmp_path: Any, kind: str, column: str, words: dict[str, Any], ending: str = "parquet") -> Any:
    out = tmp_path / f"out.{ending}"
    with shoal.open(TABLE) as table:
        plan = shoal.transform(table, {"steps": [{"column": column, kind: words}]}).plan
        before = table.not_kept(plan, out)
        done = shoal.transform(table, plan, out).done
    assert done is not None
    back = pq.read_table(out) if ending == "parquet" else None
    return back, before, done.not_kept


@pytest.mark.parametrize(("kind", "column"), CASES)
def test_a_step_keeps_the_type_of_its_column(tmp_path: Any, kind: str, column: str) -> None:
    back, _, after = carried_out(tmp_path, kind, column, STEPS[kind][0])
    assert back.schema.field(column).type == TABLE.schema.field(column).type
    assert back[column].null_count == 0
    assert not after
    for other in COLUMNS:
        assert back.schema.field(other).type == TABLE.schema.field(other).type


@pytest.mark.parametrize(("top", "fits"), [(127, True), (128, False)])
def test_a_wider_type_where_one_number_does_not_fit(tmp_path: Any, top: int, fits: bool) -> None:
    table = pa.table({"n": pa.array([1, 2, 127], pa.int8()), "g": [1, 1, 1]})
    for scope in ("none", "cells"):  # by codes, and as SQL
        plan = Plan((Clamp("n", low=top),), Suppression(2, ("g",), scope))  # type: ignore[arg-type]
        done = shoal.open(table).recode(plan, tmp_path / "o.parquet")
        back = pq.read_table(tmp_path / "o.parquet")
        assert back["n"].to_pylist() == [top] * 3
        assert back.schema.field("n").type == (pa.int8() if fits else pa.int64())
        assert any("cannot represent every number" in s for s in done.not_kept) is not fits
        assert any("wider type" in s for s in shoal.open(table).not_kept(plan, tmp_path / "o.parquet"))


def test_values_of_rows_left_out_do_not_decide_the_type(tmp_path: Any) -> None:
    """The type of the file would tell that a hidden person has a large value."""
    table = pa.table({"n": pa.array([1, 2, 127], pa.int8()), "g": ["a", "a", "b"], "m": [1, 2, 3]})
    for more in ((), (shoal.techniques.Permute("m"),)):  # by codes, and on batches
        plan = Plan((Round("n", 50.0), *more), Suppression(2, ("g",)))
        shoal.open(table).recode(plan, tmp_path / "o.parquet")
        back = pq.read_table(tmp_path / "o.parquet")
        assert back.schema.field("n").type == pa.int8()
        assert back["n"].to_pylist() == [0, 0]


@pytest.mark.parametrize(
    ("made", "former", "fits"),
    [
        (pa.array([255.0, None]), pa.uint8(), True),
        (pa.array([255.5]), pa.uint8(), False),
        (pa.array([-1]), pa.uint8(), False),
        (pa.array([2.0**64]), pa.uint64(), False),
        (pa.array([2.0**64 - 2048]), pa.uint64(), True),
        (pa.array([3e38]), pa.float32(), True),
        (pa.array([4e38]), pa.float32(), False),
        (pa.array([0.1 + 0.2]), pa.decimal128(9, 2), True),
        (pa.array([0.305]), pa.decimal128(9, 2), False),
        (pa.array([9_999_999.99]), pa.decimal128(9, 2), True),
        (pa.array([10_000_000.0]), pa.decimal128(9, 2), False),
        (pa.array([1e14]), pa.decimal128(38, 2), False),  # a double has no cents there
    ],
)
def test_what_fits(made: Any, former: Any, fits: bool) -> None:
    assert former_fits(made, Column("x", "float", former=former)) is fits
    assert former_fits(pa.chunked_array([made.slice(0, 0), made]), Column("x", "float", former=former)) is fits


def test_whole_numbers_beyond_two_to_the_63_are_rounded_exactly(tmp_path: Any) -> None:
    """They became 9223372036854775807, later the next double; 2⁶⁴ is no uint64, so the last multiple before it is taken."""
    table = pa.table({"n": pa.array([2**64 - 1, 2**63 + 5, 7], pa.uint64()), "g": [1, 1, 1]})
    for scope in ("none", "cells"):
        plan = Plan((Round("n", 10.0),), Suppression(2, ("g",), scope))  # type: ignore[arg-type]
        done = shoal.open(table).recode(plan, tmp_path / "o.parquet")
        back = pq.read_table(tmp_path / "o.parquet")["n"]
        assert (back.type, sorted(back.to_pylist())) == (pa.uint64(), [10, 2**63 + 2, 2**64 - 6])
        assert done.changed["n"] == 1.0
        assert not any("cannot hold" in s for s in done.not_kept)


@pytest.mark.parametrize(
    "step",
    [{"permute": {}}, {"noise": {"scale": 4e6}}, {"clamp": {"high": 2**63 + 8192}}, {"keyed_hash": {"key": "env:FORMER_KEY"}}],
    ids=str,
)
def test_whole_numbers_beyond_two_to_the_63_that_only_later_batches_hold(tmp_path: Any, step: dict[str, Any]) -> None:
    """The first batch fits in int64, a later one does not: it stopped with a bare error of Arrow."""
    n = 150_000
    values = pa.array(np.where(np.arange(n) < n - 10, np.uint64(2**62), np.uint64(2**63 + 4096)))
    table = pa.table({"n": values, "g": pa.array(np.arange(n) % 2)})
    suppress = {"k": 2, "columns": ["g"], "scope": "cells"} if "clamp" in step else None
    shoal.transform(table, {"steps": [{"column": "n", **step}], "suppress": suppress}, tmp_path / "o.parquet")
    back = pq.read_table(tmp_path / "o.parquet")["n"]
    assert back.null_count == 0
    if "keyed_hash" not in step:
        assert back.type == pa.uint64()
        assert sum(v > 2**63 - 10**9 for v in back.to_pylist()) == 10


def test_half_floats_go_through_the_engine(tmp_path: Any) -> None:
    table = pa.table({"h": pa.array(np.arange(20, dtype=np.float16) / 4), "x": list(range(20))})
    for column in ("h", "x"):
        shoal.transform(table, {"steps": [{"column": column, "permute": {}}]}, tmp_path / "o.arrow")
        back = pa.ipc.open_file((tmp_path / "o.arrow").read_bytes()).read_all()
        assert back.schema.types == [pa.float16(), pa.int64()]
        assert sorted(back["h"].to_pylist()) == table["h"].to_pylist()


@pytest.mark.parametrize("native", ["bigint(20) unsigned", "bigint(20) unsigned zerofill", "bigint(20)", "int(10) unsigned"])
def test_mysql_tells_whole_numbers_beyond_two_to_the_63_by_their_type(native: str) -> None:
    found = reading("n", native.partition("(")[0], native, 20, 0, booleans=False).column
    assert found.stored == (pa.uint64() if native.startswith("bigint(20) unsigned") else None)
    assert Round("n", 10.0).after(found).kind == "integer"
    assert native_type(pa.uint64()) == "BIGINT UNSIGNED"
    assert native_type(pa.int64()) == "BIGINT"


def test_a_duckdb_file_keeps_its_types(tmp_path: Any) -> None:
    with duckdb.connect(str(tmp_path / "f.duckdb")) as connection:
        connection.execute("SET timezone = 'UTC'")
        connection.execute(
            "CREATE TABLE t AS SELECT 3::UTINYINT a, (2::HUGEINT ** 63)::UBIGINT b, now() c, 1::INT d FROM range(2)"
        )
    with shoal.open(f"duckdb://{tmp_path / 'f.duckdb'}::t") as table:
        table.recode(Plan((shoal.techniques.Permute("d"),)), tmp_path / "o.parquet")
    schema = pq.read_schema(tmp_path / "o.parquet")
    assert schema.types == [pa.uint8(), pa.uint64(), pa.timestamp("us", tz="UTC"), pa.int32()]


def test_a_zone_lives_through_a_shift_into_other_formats(tmp_path: Any) -> None:
    _, before, after = carried_out(tmp_path, "date_shift", "zone", STEPS["date_shift"][0], "csv")
    assert any("no time zones: zone get" in s for s in before)
    assert before == after
    assert "+01:00" in (tmp_path / "out.csv").read_text(encoding="utf-8")


def test_nanoseconds_that_a_step_or_a_class_cuts_are_told(tmp_path: Any) -> None:
    table = pa.table({"t": pa.array([10**18 + i for i in range(6)], pa.timestamp("ns")), "g": [1] * 6})
    for plan in (Plan((shoal.techniques.Permute("t"),)), Plan((), Suppression(2, ("t",)))):
        before = shoal.open(table).not_kept(plan, tmp_path / "o.parquet")
        after = shoal.open(table).recode(plan, tmp_path / "o.parquet").not_kept
        assert before == after
        assert ["nanoseconds of t are removed" in s for s in after] == [True]
        assert set(pq.read_table(tmp_path / "o.parquet")["t"].cast(pa.int64()).to_pylist()) == {10**18}
    kept = shoal.open(table).recode(Plan((shoal.techniques.Permute("g"),)), tmp_path / "o.parquet").not_kept
    assert not kept


def test_what_hiding_makes_text_is_told_where_types_are_kept(tmp_path: Any) -> None:
    for ending, told in (("parquet", True), ("csv", False)):
        _, before, after = carried_out(tmp_path, "rare", "tiny", {"min_count": 2}, ending)
        assert before == after
        assert any("make tiny text" in s for s in after) is told


def test_levels_of_measurement_that_only_a_step_gives_are_not_told_as_lost(tmp_path: Any) -> None:
    words = {"hierarchy": {"intervals": [10]}, "level": 1}
    assert carried_out(tmp_path, "generalize", "tiny", words)[1:] == ((), ())


def test_whole_seconds_become_milliseconds_in_parquet_and_that_is_told(tmp_path: Any) -> None:
    table = pa.table({"t": pa.array([1, 2], pa.timestamp("s"))})
    with shoal.open(table) as opened:
        assert opened.not_kept(Plan(), tmp_path / "o.parquet") == opened.recode(Plan(), tmp_path / "o.parquet").not_kept
        assert "milliseconds" in opened.not_kept(Plan(), tmp_path / "o.parquet")[0]
        assert opened.not_kept(Plan(), tmp_path / "o.arrow") == ()


@pytest.mark.parametrize(
    ("source", "native", "told"),
    [
        ("postgresql://h/d", "timestamptz", True),
        ("postgresql://h/d", "timestamp", False),
        ("mysql://h/d", "timestamp(6)", True),
        ("mariadb://h/d", "datetime", False),
        ("spark::people", "timestamp", True),
        ("spark::people", "timestamp_ntz", False),
        ("duckdb://f::t", "timestamp", False),
    ],
)
def test_moments_of_a_zone_that_a_server_gives_in_utc_are_told(source: str, native: str, told: bool) -> None:
    column = Column("t", "timestamp")
    relation = Relation(exp.Table(), (column,), source=source, native={"t": native})
    for said in (expected_losses(relation, [column], Plan(), "csv"), written_losses(relation, [column], Plan(), "csv")):
        assert any("written in UTC" in s for s in said) is told
    assert not expected_losses(relation, [column], Plan((Constant("t", "x"),)), "csv")


@pytest.mark.parametrize("column", ["tiny", "single", "huge", "zone", "day"])
def test_hidden_cells_make_a_column_text_in_every_batch(column: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch without a hidden cell kept its numbers: '*' of the next one ended the run, or 7.0 was spelled 7 in some rows."""
    monkeypatch.setattr(DuckDB, "stream", lambda engine, query: engine.stream_sql(engine.render(query), 2048))
    often = pa.concat_arrays([COLUMNS[column].slice(0, 4)] * 1250)
    table = pa.table({column: pa.concat_arrays([often, pa.nulls(1, often.type)])})
    plan = Plan((), Suppression(2, (column,), "cells"), shuffle=False)
    assert shoal.open(table).recode(plan, tmp_path / "o.parquet").suppressed == 1
    found = pq.read_table(tmp_path / "o.parquet")[column]
    assert found.type == pa.string()
    assert found[-1].as_py() == "*"
    assert found.slice(0, 5000).to_pylist() == canonical_text(normalize(often, kind_of(often.type))).to_pylist()


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_moments_of_a_zone_that_become_text_are_told_to_be_those_of_utc(format: str, tmp_path: Any) -> None:
    late = pa.array([dt.datetime(2024, 6, 30, 22, 30, tzinfo=dt.UTC)] * 4, pa.timestamp("us", tz="Europe/Amsterdam"))  # 1 July
    for steps, suppress, told in (
        ([{"column": "t", "generalize": {"level": 1, "hierarchy": {"dates": ["day", "month"]}}}], None, True),
        ([{"column": "t", "rare": {"min_count": 2}}], None, True),
        ([], {"k": 2, "columns": ["t", "u"], "scope": "cells"}, True),
        ([{"column": "t", "permute": {}}], None, False),
        ([{"column": "t", "keyed_hash": {"key": "env:FORMER_KEY"}}], None, False),
    ):
        table = shoal.open(pa.table({"t": late, "u": late.cast(pa.timestamp("us", tz="UTC"))}))
        plan = shoal.transform(table, {"steps": [*steps, *({**s, "column": "u"} for s in steps)], "suppress": suppress}).plan
        before = table.not_kept(plan, tmp_path / "o", format=format)
        assert before == table.recode(plan, tmp_path / "o", format=format).not_kept
        assert any("in UTC: days and hours of t are not" in line for line in before) == told

"""Durations, maps and nested dates: steps take them as text, and what no step touches keeps its type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines.core.stored_types import in_unit, with_durations
from shoal.errors import ShoalError

N = 9
ZONED = pa.struct([("a", pa.int8()), ("b", pa.timestamp("us", "Europe/Amsterdam"))])
FINE = pa.struct([("a", pa.int8()), ("b", pa.timestamp("ns", "Asia/Kolkata"))])
COLUMNS: dict[str, Any] = {
    "span": pa.array([None, *(90_061_500_000 * i - 1 for i in range(1, N))], pa.duration("us")),
    "days": pa.array([86_400 * i for i in range(N)], pa.duration("s")),
    "map": pa.array([None, [], *([("k", i), ("l", None)] for i in range(2, N))], pa.map_(pa.string(), pa.int32())),
    "numbered": pa.array([[(i, i / 8)] for i in range(N)], pa.map_(pa.int64(), pa.float32())),
    "dates": pa.array([[dt.date(2020, 2, 29), None, dt.date(1, 1, 1 + i)] for i in range(N)], pa.list_(pa.date32())),
    "zoned": pa.array([{"a": None, "b": dt.datetime(2024, 7, 1, i, tzinfo=dt.UTC)} for i in range(N)], ZONED),
    "moments": pa.array([[dt.datetime(2024, 1, 1, 5, 6, 7, i)] for i in range(N)], pa.list_(pa.timestamp("us"))),
    "fine": pa.array([[1_000_000_000_000_000_001 + i, None, -1] for i in range(N)], pa.list_(pa.timestamp("ns"))),
    "fine zoned": pa.array([{"a": i, "b": 10**18 + i} for i in range(N)], FINE),
    "clocks": pa.array([[None, 86_399_999_999 - i] for i in range(N)], pa.list_(pa.time64("us"))),
    "fine clocks": pa.array([[86_399_999_999_999 - i, 1] for i in range(N)], pa.list_(pa.time64("ns"))),
    "sums": pa.array([[Decimal("0.10"), Decimal(i)] for i in range(N)], pa.list_(pa.decimal128(9, 2))),
}
TABLE = pa.table({"id": range(N), **COLUMNS})


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nested") / "t.parquet"
    pq.write_table(TABLE, path)
    return path


def cells(values: Any) -> list[str]:
    return sorted(map(str, values.to_pylist()))


@pytest.mark.parametrize("step", ["permute", "pram"])
@pytest.mark.parametrize("file", [False, True])
def test_exchanged_values_are_text_and_told(tmp_path: Path, stored: Path, step: str, file: bool) -> None:
    words: dict[str, Any] = {} if step == "permute" else {"keep": 0.5}
    plan = {"steps": [{"column": c, step: words} for c in ("map", "days")], "seed": 10**16}
    out = tmp_path / "o.parquet"
    with shoal.open(stored if file else TABLE) as table:
        made = shoal.transform(table, plan).plan
        before = table.not_kept(made, out)
        done = shoal.transform(table, made, out).done
    assert done is not None
    names = "map" if file else "days, map"  # durations of a Parquet file are whole numbers on their way
    sentence = [f"Steps take durations and nested values as text: {names} is published as text."]
    assert [[w for w in said if "as text" in w] for said in (before, done.not_kept)] == [sentence, sentence]
    back = pq.read_table(out)
    assert [back.schema.field(n).type for n in ("map", "days")] == [pa.string(), pa.duration("s") if file else pa.string()]
    assert back.schema.field("sums").type == COLUMNS["sums"].type


def test_hidden_values_among_them_are_text_and_told(tmp_path: Path) -> None:
    with shoal.open(TABLE) as table:
        plan = shoal.transform(table, {"steps": [{"column": "days", "rare": {"min_count": 2}}]}).plan
        before = table.not_kept(plan, tmp_path / "o.parquet")
        done = shoal.transform(table, plan, tmp_path / "o.parquet").done
    assert done is not None
    assert [w for w in before if "days is published as text" in w] == [
        w for w in done.not_kept if "days is published as text" in w
    ]
    assert pq.read_table(tmp_path / "o.parquet")["days"].to_pylist() == ["*"] * N


@pytest.mark.parametrize("file", [False, True])
def test_durations_inside_nested_values_survive_steps_beside_them(tmp_path: Path, file: bool) -> None:
    kind = pa.struct([("l", pa.list_(pa.duration("ms"))), ("m", pa.map_(pa.string(), pa.duration("us")))])
    odd = pa.array([{"l": [1500 * i, None], "m": [("k", i)]} for i in range(N)] + [None], kind)
    table = pa.table({"odd": odd, "x": [float(i) for i in range(N + 1)]})
    if file:
        pq.write_table(table, tmp_path / "t.parquet")
    plan = {"steps": [{"column": "x", "rank_swap": {"percent": 50}}], "seed": 10**16}
    shoal.transform(tmp_path / "t.parquet" if file else table, plan, tmp_path / "o.parquet")
    back = pq.read_table(tmp_path / "o.parquet")["odd"]
    assert (back.type, cells(back)) == (kind, cells(odd))


def test_noise_on_a_nested_column_is_refused_in_words(tmp_path: Path) -> None:
    for column in ("map", "span"):
        with pytest.raises(ShoalError, match=column):
            shoal.transform(TABLE, {"steps": [{"column": column, "noise": {"share": 0.1}}]}, tmp_path / "o.csv")


def test_intervals_as_durations() -> None:
    one, month = pa.MonthDayNano([0, 1, 90_000_000_000]), pa.MonthDayNano([1, 0, 0])
    assert [in_unit(one, u) for u in ("s", "ms", "us", "ns")] == [86_490 * 10**e for e in (0, 3, 6, 9)]
    with pytest.raises(pa.ArrowInvalid):
        in_unit(month, "s")
    kind = pa.struct([("l", pa.list_(pa.duration("s"))), ("n", pa.int8()), ("m", pa.map_(pa.string(), pa.duration("s")))])
    came = pa.struct([("l", pa.list_(pa.month_day_nano_interval())), ("n", pa.int64()), ("m", _MAP)])
    made = with_durations(pa.array([{"l": [one, None], "n": 3, "m": [("k", one)]}, None], came), kind)
    span = dt.timedelta(seconds=86_490)
    assert (made.type, made.to_pylist()) == (kind, [{"l": [span, None], "n": 3, "m": [("k", span)]}, None])


_MAP = pa.map_(pa.string(), pa.month_day_nano_interval())

"""Durations, maps and nested dates that steps exchange: in their own type again, from frames and from Parquet files."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines.core.stored_types import _duration, from_text, in_unit, returns_from_text, with_durations
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
def test_exchanged_values_keep_their_type_and_nothing_else_is_said(tmp_path: Path, stored: Path, step: str, file: bool) -> None:
    words: dict[str, Any] = {} if step == "permute" else {"keep": 0.5}
    plan = {"steps": [{"column": c, step: words} for c in COLUMNS], "seed": 10**16}
    out = tmp_path / "o.parquet"
    with shoal.open(stored if file else TABLE) as table:
        made = shoal.transform(table, plan).plan
        before = table.not_kept(made, out)
        done = shoal.transform(table, made, out).done
    assert done is not None
    assert not [w for w in (*before, *done.not_kept) if "as text" in w]
    back = pq.read_table(out)
    for name, values in COLUMNS.items():
        assert back.schema.field(name).type == values.type, name
        there = set(cells(values))
        assert set(cells(back[name])) <= there, name
        if step == "permute":
            assert cells(back[name]) == cells(values), name


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


@pytest.mark.parametrize(
    ("text", "unit", "found"),
    [
        ("00:00:00", "s", 0),
        ("1 day", "s", 86_400),
        ("-2 days", "ms", -172_800_000),
        ("1 day -00:00:00.000001", "us", 86_399_999_999),
        ("49:00:00.5", "ms", 176_400_500),
        ("00:00:00.000001", "ns", 1000),
    ],
)
def test_texts_of_durations(text: str, unit: str, found: int) -> None:
    assert _duration(text, unit) == found


@pytest.mark.parametrize("text", ["", "1 month", "1 year 2 days", "00:00:00.5x", "*"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(pa.ArrowInvalid):
        from_text(pa.array([text]), pa.duration("us"))


def test_parts_of_a_unit_are_not_cut() -> None:
    with pytest.raises(pa.ArrowInvalid):
        from_text(pa.array(["00:00:00.5"]), pa.duration("s"))
    assert from_text(pa.array(["00:00:00.5", None]), pa.duration("ms")).cast(pa.int64()).to_pylist() == [500, None]


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.duration("us")),
        pa.map_(pa.string(), pa.binary()),
        pa.struct([("a", pa.int8()), ("a", pa.int8())]),
        pa.int8(),
        pa.string(),
        None,
    ],
)
def test_types_that_stay_text(kind: Any) -> None:
    assert not returns_from_text(kind)


def test_texts_of_another_type_are_refused() -> None:
    for text, kind in (
        ('{"a":1}', pa.list_(pa.int8())),
        ("[1.5]", pa.list_(pa.date32())),
        ('{"b":1}', pa.struct([("a", pa.int8())])),
    ):
        with pytest.raises(pa.ArrowInvalid):
            from_text(pa.array([text]), kind)
    assert with_durations(pa.array([[1]], pa.list_(pa.int64())), pa.list_(pa.int8())).type == pa.list_(pa.int8())


NESTED: list[tuple[str, Any, Any]] = [
    ("[1.5,2]", pa.list_(pa.float64()), [1.5, 2.0]),
    ("[1.50,2]", pa.large_list(pa.decimal128(9, 2)), [Decimal("1.50"), Decimal(2)]),
    ('["a",null]', pa.list_(pa.string(), 2), ["a", None]),
    ('{"7":true}', pa.map_(pa.int64(), pa.bool_()), [(7, True)]),
    ('{"7":"x"}', pa.map_(pa.string(), pa.string()), [("7", "x")]),
    ('{"2020-02-29":[1]}', pa.map_(pa.date32(), pa.list_(pa.int8())), [(dt.date(2020, 2, 29), [1])]),
    ('["2024-01-01 05:06:07.000008"]', pa.list_(pa.timestamp("us")), [dt.datetime(2024, 1, 1, 5, 6, 7, 8)]),
]


@pytest.mark.parametrize(("text", "kind", "value"), NESTED)
def test_nested_values_of_their_texts(text: str, kind: Any, value: Any) -> None:
    assert returns_from_text(kind)
    made = from_text(pa.array([text, None, text]), kind)
    assert (made.type, made.to_pylist()) == (kind, [value, None, value])


def test_all_of_a_structure_must_be_known() -> None:
    known, odd = ("a", pa.int8()), ("b", pa.binary())
    assert [returns_from_text(pa.struct(f)) for f in ([known], [known, odd], [odd])] == [True, False, False]
    assert returns_from_text(pa.duration("s"))


def test_intervals_as_durations() -> None:
    one, month = pa.MonthDayNano([0, 1, 90_000_000_000]), pa.MonthDayNano([1, 0, 0])
    assert [in_unit(one, u) for u in ("s", "ms", "us", "ns")] == [86_490 * 10**e for e in (0, 3, 6, 9)]
    with pytest.raises(pa.ArrowInvalid):
        in_unit(month, "s")
    assert _duration("1 day 02:03:04.5", "ms") == ((26 * 60 + 3) * 60 + 4) * 1000 + 500
    kind = pa.struct([("l", pa.list_(pa.duration("s"))), ("n", pa.int8()), ("m", pa.map_(pa.string(), pa.duration("s")))])
    came = pa.struct([("l", pa.list_(pa.month_day_nano_interval())), ("n", pa.int64()), ("m", _MAP)])
    made = with_durations(pa.array([{"l": [one, None], "n": 3, "m": [("k", one)]}, None], came), kind)
    span = dt.timedelta(seconds=86_490)
    assert (made.type, made.to_pylist()) == (kind, [{"l": [span, None], "n": 3, "m": [("k", span)]}, None])


_MAP = pa.map_(pa.string(), pa.month_day_nano_interval())


@pytest.mark.parametrize(
    ("text", "unit", "found"),
    [
        ("1970-01-01 00:00:00", "ns", 0),
        ("1969-12-31 23:59:59.999999999", "ns", -1),
        ("2262-04-11 23:47:16.854775807", "ns", 2**63 - 1),
        ("1970-01-01 05:30:00.1+05:30", "ns", 100_000_000),
    ],
)
def test_texts_of_moments(text: str, unit: str, found: int) -> None:
    made = from_text(pa.array([f'["{text}"]']), pa.list_(pa.timestamp(unit)))
    assert made.values.cast(pa.int64()).to_pylist() == [found]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1970-01-01", pa.timestamp("ns")),
        ("2262-04-11 23:47:16.854775808", pa.timestamp("ns")),
        ("1970-01-01 00:00:00.0000000001", pa.timestamp("ns")),
        ("00:00:00.5", pa.time32("s")),
        ("00:00:00.0000001", pa.time64("us")),
        ("24:00:00", pa.time64("us")),
    ],
)
def test_what_is_no_moment_of_the_type(text: str, kind: Any) -> None:
    with pytest.raises(pa.ArrowInvalid):
        from_text(pa.array([f'["{text}"]']), pa.list_(kind))

"""Laws of COUNT: codes and kernels answer exactly as SQL does, and as counting by hand does."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.engines.count import by_codes as tally
from shoal.engines.count.by_codes import count
from shoal.engines.count.codes import CodedColumn, Ranked
from shoal.engines.count.sql import CountRequest, count_by_sql
from shoal.engines.files.frames import open_arrow
from shoal.engines.table import make_table
from shoal.errors import EmptyTableError, HierarchyGapError
from shoal.model.roles import Column
from shoal.steps import Clamp, Constant, Cut, MapValues, Prefix, Round

TEXT = st.none() | st.text(alphabet="aAäé b\t'\"\\%_\x00=", max_size=3)
VALUES = {
    "text": (pa.string(), TEXT),
    "int": (pa.int64(), st.none() | st.integers(-3, 3) | st.sampled_from([2**62, -(2**62)])),
    "small": (pa.int8(), st.none() | st.integers(-128, 127)),
    "float": (pa.float64(), st.none() | st.sampled_from([0.0, -0.0, 1.5, 0.1, math.nan, math.inf, -1e300])),
    "date": (pa.date32(), st.none() | st.dates(dt.date(1999, 12, 30), dt.date(2000, 1, 2))),
    "moment": (pa.timestamp("us"), st.none() | st.sampled_from([dt.datetime(2000, 1, 1), dt.datetime(2000, 1, 1, 0, 0, 0, 5)])),
    "flag": (pa.bool_(), st.none() | st.booleans()),
    "money": (pa.decimal128(6, 2), st.none() | st.sampled_from([decimal.Decimal("1.50"), decimal.Decimal("-0.10")])),
    "coded": (pa.dictionary(pa.int8(), pa.string()), TEXT),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    n = draw(st.integers(1, 12))
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=2, max_size=4, unique=True))
    arrays = []
    for name in names:
        kind, values = VALUES[name]
        cells = draw(st.lists(values, min_size=n, max_size=n))
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        array = pa.array(cells, plain)
        arrays.append(array.dictionary_encode() if pa.types.is_dictionary(kind) else array)
    whole = pa.table(arrays, names=names)
    cut = draw(st.integers(0, n))
    return pa.concat_tables([whole.slice(0, cut), whole.slice(cut)])  # two chunks, so that codes differ between them


def by_hand(value: Any) -> Any:
    if isinstance(value, float):
        return None if math.isnan(value) else value + 0.0
    return value


def as_dict(counts: Any) -> dict[tuple[Any, ...], int]:
    values = [[*c.to_pylist(), None] for c in counts.categories]
    rows = zip(*[[v[code] for code in codes] for v, codes in zip(values, counts.codes, strict=True)], strict=True)
    return dict(zip(rows, counts.sizes.tolist(), strict=True))


def same(a: Any, b: Any) -> None:
    assert a.sizes.tolist() == b.sizes.tolist()
    assert [c.tolist() for c in a.codes] == [c.tolist() for c in b.codes]
    assert [c.to_pylist() for c in a.categories] == [c.to_pylist() for c in b.categories]
    assert [c.type for c in a.categories] == [c.type for c in b.categories]
    assert (a.records is None) == (b.records is None)
    if a.records is not None:
        assert a.records.tolist() == b.records.tolist()
    assert a.n_people == b.n_people
    assert (a.people is None) == (b.people is None)
    if a.people is not None:
        for part in ("sizes", "alike", "members"):
            assert getattr(a.people, part).tolist() == getattr(b.people, part).tolist()
    assert a.sensitive.keys() == b.sensitive.keys()
    for name in a.sensitive:
        one, two = a.sensitive[name], b.sensitive[name]
        assert (one.classes.tolist(), one.values.tolist(), one.counts.tolist()) == (
            two.classes.tolist(),
            two.values.tolist(),
            two.counts.tolist(),
        )
        assert one.categories.to_pylist() == two.categories.to_pylist()


@settings(max_examples=50, deadline=None)
@given(tables())
def test_codes_sql_and_counting_by_hand_agree(table: pa.Table) -> None:
    engine, relation = open_arrow(table, "frame")
    request = CountRequest(tuple(table.column_names))
    coded = count(engine, relation, [request])[0]
    same(coded, count_by_sql(engine, relation, request))
    rows = zip(*[[by_hand(v) for v in c.to_pylist()] for c in table.columns], strict=True)
    assert as_dict(coded) == dict(Counter(rows))
    engine.close()


@settings(max_examples=30, deadline=None)
@given(tables())
def test_sensitive_values_and_people_agree(table: pa.Table) -> None:
    engine, relation = open_arrow(table, "frame")
    first, *rest = table.column_names
    for unit in (None, rest[-1]):
        request = CountRequest((first,), sensitive=tuple(rest), unit=unit)
        coded = count(engine, relation, [request])[0]
        same(coded, count_by_sql(engine, relation, request))
        if unit is None:
            for name in rest:
                assert int(coded.sensitive[name].counts.sum()) == table.num_rows
    engine.close()


STEPS = {
    "text": [Prefix("text", length=1), Prefix("text", length=1, fill="", from_end=True), Constant("text")]
    + [MapValues("text", keys=("a", "A", ""), targets=(0, 0, 1), labels=("x", "y"), on_gap="suppress", missing_label="none")],
    "int": [Cut("int", points=(0.0, 2.0), labels=("n", "m", "n")), Round("int", base=2.0), Clamp("int", low=-1.0, high=2.0)],
    "float": [
        Cut("float", points=(0.1,), labels=("low", "high"), closed="right", missing_label="?"),
        Round("float", base=0.1),
        Clamp("float", high=1.0),
        MapValues("float", keys=("1.5", "x"), targets=(0, 0), labels=("some",), on_gap="top", top="other"),
    ],
    "date": [Cut("date", points=("2000-01-01",), labels=("before", "after")), Prefix("date", length=7, fill="")],
    "moment": [Prefix("moment", length=4), Cut("moment", points=("2000-01-01",), labels=("<", ">"))],
    "money": [Round("money", base=0.5), Prefix("money", length=2), Cut("money", points=(0.5,), labels=("-", "+"))],
    "flag": [MapValues("flag", keys=("true", "false"), targets=(0, 1), labels=("yes", "no"))],
    "small": [Round("small", base=25.0), Prefix("small", length=2, from_end=True)],
    "coded": [Prefix("coded", length=1)],
}


@settings(max_examples=50, deadline=None)
@given(tables(), st.data())
def test_steps_in_memory_and_in_sql_agree(table: pa.Table, data: st.DataObject) -> None:
    if "float" in table.column_names:  # infinity has no multiple to round to
        cells = [None if v is not None and math.isinf(v) else v for v in table["float"].to_pylist()]
        table = table.set_column(table.column_names.index("float"), "float", pa.array(cells, pa.float64()))
    engine, relation = open_arrow(table, "frame")
    through = {n: data.draw(st.sampled_from(STEPS[n])) for n in table.column_names}
    request = CountRequest(tuple(table.column_names), through)
    same(count(engine, relation, [request])[0], count_by_sql(engine, relation, request))
    engine.close()


@settings(max_examples=25, deadline=None)
@given(tables(), st.sampled_from([0, tally.SHORT]), st.sampled_from([1, tally.MANY_CLASSES]))
def test_many_subsets_equal_single_counts(table: pa.Table, short: int, many: int) -> None:
    """Whether coarse counts are derived from finer ones or from the rows, and whether codes stay packed or not."""
    opened = make_table(*open_arrow(table, "frame"), "frame", {})
    names = table.column_names
    subsets = [(n,) for n in names] + [tuple(names), (names[1], names[0])]
    expected = [count_by_sql(opened._engine, opened._relation, CountRequest(s)) for s in subsets]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally, "SHORT", short)
        patch.setattr(tally, "MANY_CLASSES", many)
        for together, one in zip(opened.count_many(subsets), expected, strict=True):
            same(together, one)
        request = CountRequest(tuple(names[:1]), sensitive=tuple(names[1:]), unit=names[-1])
        same(count(opened._engine, opened._relation, [request])[0], count_by_sql(opened._engine, opened._relation, request))
    opened.close()


@given(st.lists(st.lists(st.none() | st.integers(-300, 70_000), max_size=6), min_size=1, max_size=4))
def test_codes_name_every_value_again(chunks: list[list[int | None]]) -> None:
    coded = CodedColumn(Column("x", "integer"))
    for chunk in chunks:
        coded.add(pa.array(chunk, pa.int64()))
    ranked = Ranked(coded, None)
    values = [None, *ranked.categories.to_pylist()]
    assert [[values[lookup[c]] for c in codes] for codes, lookup in ranked.pieces()] == chunks


def test_far_apart_numbers_still_count() -> None:
    table = pa.chunked_array([[1, 2], [2**40, 2**40 + 1], [5, 2**62]])
    opened = make_table(*open_arrow(pa.table({"x": table, "y": [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]}), "frame"), "frame", {})
    counts = opened.count(["x"])
    assert counts.categories[0].to_pylist() == [1, 2, 5, 2**40, 2**40 + 1, 2**62]
    assert counts.sizes.tolist() == [1] * 6
    opened.close()


def test_more_combinations_than_a_key_can_name() -> None:
    rng = np.random.default_rng(5)
    n = 3000
    data = {f"c{i}": rng.integers(0, 2000, n) for i in range(7)}
    data["c0"][1500:] = data["c0"][:1500]
    for i in range(1, 7):
        data[f"c{i}"][1500:] = data[f"c{i}"][:1500]
    engine, relation = open_arrow(pa.table(data), "frame")
    request = CountRequest(tuple(data), sensitive=("c0",), unit="c1")
    coded = count(engine, relation, [request])[0]
    same(coded, count_by_sql(engine, relation, request))
    assert int(coded.records.sum()) == n  # type: ignore[union-attr]
    engine.close()


def test_large_counts_use_compiled_kernels_and_agree() -> None:
    rng = np.random.default_rng(7)
    n = 300_000
    table = pa.table(
        {
            "few": rng.integers(0, 3, n),
            "many": rng.integers(0, 2**40, n),
            "text": pa.array(rng.integers(0, 500, n)).cast(pa.string()),
            "float": rng.integers(0, 50, n) / 7,
        }
    )
    engine, relation = open_arrow(table, "frame")
    for columns in (("few", "text"), ("many", "text", "few"), ("text", "float"), ("few", "float", "many")):
        request = CountRequest(columns, sensitive=("few",) if "few" not in columns else ())
        same(count(engine, relation, [request])[0], count_by_sql(engine, relation, request))
    engine.close()


def test_gap_is_counted_alike_on_both_paths() -> None:
    engine, relation = open_arrow(pa.table({"x": ["a", "b", "b", "c", None]}), "frame")
    step = MapValues("x", keys=("a",), targets=(0,), labels=("L",))
    request = CountRequest(("x",), {"x": step})
    messages = []
    for counted in (lambda: count(engine, relation, [request]), lambda: count_by_sql(engine, relation, request)):
        with pytest.raises(HierarchyGapError) as caught:
            counted()
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "2 distinct value(s) in 3 record(s)" in messages[0]
    engine.close()


def test_no_rows_is_an_error_on_both_paths() -> None:
    engine, relation = open_arrow(pa.table({"x": pa.array([], pa.string())}), "frame")
    request = CountRequest(("x",))
    for counted in (lambda: count(engine, relation, [request]), lambda: count_by_sql(engine, relation, request)):
        with pytest.raises(EmptyTableError):
            counted()
    engine.close()

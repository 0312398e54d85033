"""Canonical text: one spelling per value, in memory and in DuckDB alike."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.engines.duckdb.engine import DuckDB
from shoal.kernels.text import canonical_text
from shoal.model.roles import Column
from shoal.steps.sql import column

CASES: list[tuple[Any, str, str | None]] = [
    (pa.array(["Zoë "]), "text", "Zoë "),
    (pa.array([7], pa.int8()), "integer", "7"),
    (pa.array([2**63], pa.uint64()), "integer", str(2**63)),
    (pa.array([True]), "boolean", "true"),
    (pa.array([decimal.Decimal("1.50")]), "decimal", "1.50"),
    (pa.array([1.0]), "float", "1.0"),
    (pa.array([-0.0]), "float", "0.0"),
    (pa.array([math.nan]), "float", None),
    (pa.array([1e16]), "float", "1e+16"),
    (pa.array([0.1], pa.float32()), "float", "0.10000000149011612"),
    (pa.array([dt.date(2024, 2, 29)]), "date", "2024-02-29"),
    (pa.array([dt.datetime(2024, 2, 29, 1, 2, 3)]), "timestamp", "2024-02-29 01:02:03"),
    (pa.array([dt.datetime(2024, 2, 29, 1, 2, 3, 500)]), "timestamp", "2024-02-29 01:02:03.000500"),
    (
        pa.array([dt.datetime(2024, 2, 29, 1, 2, 3)], pa.timestamp("us", tz="Europe/Amsterdam")),
        "timestamp",
        "2024-02-29 01:02:03",
    ),
    (pa.array([dt.time(1, 2, 3)]), "time", "01:02:03"),
    (pa.array([dt.time(1, 2, 3, 500)]), "time", "01:02:03.000500"),
    (pa.array([b"\x00\xff"]), "binary", "00ff"),
    (pa.array(["a", None]).dictionary_encode(), "text", "a"),
    (pa.array([None], pa.int64()), "integer", None),
]


@pytest.mark.parametrize(("values", "kind", "expected"), CASES, ids=[f"{k}-{e}" for _, k, e in CASES])
def test_memory_and_duckdb_spell_alike(values: Any, kind: str, expected: str | None) -> None:
    assert canonical_text(values)[0].as_py() == expected
    engine = DuckDB()
    relation = engine.register(pa.table({"v": values}), "frame")
    assert relation.columns[0].kind == kind
    query = relation.sql
    from sqlglot import exp

    text = engine.text(column("v", "t"), Column("v", kind))
    found = engine.fetch(exp.select(exp.alias_(text, "x")).from_(exp.alias_(query.copy(), "t", table=True)))
    assert found["x"][0].as_py() == expected
    engine.close()


@given(st.lists(st.none() | st.floats(), max_size=20))
def test_floats_read_back_as_themselves(numbers: list[float | None]) -> None:
    for number, text in zip(numbers, canonical_text(pa.array(numbers, pa.float64())).to_pylist(), strict=True):
        if number is None or math.isnan(number):
            assert text is None
        else:
            assert float(text) == number

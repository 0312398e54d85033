"""A few whole numbers or dates far apart: counted as they are, with tables as long as the column, not as the range."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.engines.count.codes import CodedColumn, Ranked
from shoal.model.roles import Column


def counted(table, columns):
    found = shoal.open(table).count(columns)
    names = [
        [None if c < 0 else values[c] for c in codes]
        for codes, values in zip(found.codes, (c.to_pylist() for c in found.categories), strict=True)
    ]
    return Counter({key: int(n) for key, n in zip(zip(*names, strict=True), found.sizes, strict=True)})


@pytest.mark.parametrize("span", [10, 70_000, 10**6, 5 * 10**7, 10**12])
@pytest.mark.parametrize("pieces", [1, 3])
def test_numbers_far_apart(span, pieces):
    rng = np.random.default_rng(span + pieces)
    parts = []
    for i in range(pieces):
        some = [int(x) for x in rng.integers(-span, span, 6)]
        parts.append([None if rng.random() < 0.1 else some[int(rng.integers(6))] + i for _ in range(80)])
    flags = [[bool(x) for x in rng.integers(0, 2, 80)] for _ in parts]
    table = pa.table({"n": pa.chunked_array(parts, pa.int64()), "f": pa.chunked_array(flags, pa.bool_())})
    rows = list(zip(table["n"].to_pylist(), table["f"].to_pylist(), strict=True))
    assert counted(table, ["n", "f"]) == Counter(rows)


def test_tables_are_as_long_as_the_column():
    column = CodedColumn(Column("pay", "integer"))
    column.add(pa.array([5, None, 60_000_000, 5], pa.int64()))
    column.add(pa.array([None, None], pa.int64()))
    ranked = Ranked(column, None)
    assert max(len(table) for _, table in ranked.pieces()) <= 4
    assert [table[codes].tolist() for codes, table in ranked.pieces()] == [[1, 0, 2, 1], [0, 0]]

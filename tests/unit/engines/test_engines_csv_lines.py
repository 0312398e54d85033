"""CSV by compiled loops: the bytes that pyarrow's writer gives, which is the way for few rows."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.engines.files.csv import lines as made
from shoal.engines.files.csv import write as writing
from shoal.engines.files.csv.write import write_csv
from shoal.kernels.jit import HAVE_NUMBA

pytestmark = pytest.mark.skipif(not HAVE_NUMBA, reason="without numba pyarrow writes all rows")

HOSTILE = [
    "",
    '"',
    '""',
    'a"b',
    ",",
    "a,b",
    "\n",
    "\r\n",
    "=1+1",
    "＝A1",
    " @x",
    "-5",
    "'=x",
    "a;=b",
    "é",
    "日本",
    "x" * 70,
    '"' * 40,
]
NUMBERS = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e15, 1e22, 1e-7, 5e-324, 2.0**53 + 2, 123456.789, 0.1, -2.5e10]
WHOLE = [0, 1, -1, 9, 10, 99999999, 100000000, 10**16, 2**53 + 1, 2**63 - 1, -(2**63)]
DATES = [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2024, 2, 29), dt.date(1900, 3, 1), dt.date(1969, 12, 31)]
MOMENTS = [dt.datetime(2024, 2, 29, 13, 5), dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)]
KINDS: dict[str, tuple[Any, list[Any], st.SearchStrategy[Any]]] = {
    "text": (pa.string(), HOSTILE, st.text()),
    "long text": (pa.large_string(), HOSTILE, st.text(max_size=5)),
    "labels": (pa.dictionary(pa.int8(), pa.string()), ["a", '"b', "=c"], st.nothing()),
    "int": (pa.int64(), WHOLE, st.integers(-(2**63), 2**63 - 1)),
    "small": (pa.int8(), [-128, 127, 0], st.integers(-128, 127)),
    "unsigned": (pa.uint64(), [0, 2**64 - 1], st.integers(0, 2**64 - 1)),
    "double": (pa.float64(), NUMBERS, st.floats()),
    "float": (pa.float32(), [0.5, 1e10, float("nan")], st.floats(width=32)),
    "date": (pa.date32(), DATES, st.dates()),
    "moment": (pa.timestamp("us"), MOMENTS, st.datetimes()),
    "zoned": (pa.timestamp("ms", tz="Europe/Amsterdam"), MOMENTS[:1], st.nothing()),
    "flag": (pa.bool_(), [True, False], st.booleans()),
    "decimal": (
        pa.decimal128(12, 7),
        [decimal.Decimal("1.5"), decimal.Decimal("0E-7"), decimal.Decimal("-12345.0000001")],
        st.nothing(),
    ),
    "lasted": (pa.duration("ms"), [dt.timedelta(milliseconds=1500), dt.timedelta(0)], st.nothing()),
    "nested": (pa.list_(pa.string()), [["a", '"'], [], [None]], st.nothing()),
    "nothing": (pa.null(), [None], st.nothing()),
}


def columns(kind: str) -> st.SearchStrategy[Any]:
    _, some, more = KINDS[kind]
    return st.lists(st.none() | st.sampled_from(some) | more, min_size=9, max_size=9)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "ROWS", 4)


def both(path: Path, table: Any, **options: Any) -> tuple[bytes, bytes]:
    """A file as pyarrow writes it, and as the loops do."""
    found = []
    for limit in (2**62, 0):
        writing.FEW, kept = limit, writing.FEW
        try:
            write_csv(path, table.schema, iter([table.slice(0, 5), table.slice(5)]), **options)
        finally:
            writing.FEW = kept
        found.append(path.read_bytes())
    return found[0], found[1]


@given(data=st.data())
def test_any_rows_of_any_types(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4))
    arrays = [pa.array(data.draw(columns(kind)), KINDS[kind][0]) for kind in kinds]
    table = pa.table(arrays, names=[f"{kind}, {i}" for i, kind in enumerate(kinds)])
    raw, delimiter = data.draw(st.booleans()), data.draw(st.sampled_from(",\t;"))
    plain, loops = both(tmp_path_factory.getbasetemp() / "t.csv", table, raw=raw, delimiter=delimiter)
    assert loops == plain


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("missing", [False, True])
def test_every_type_over_several_pieces(tmp_path: Path, kind: str, missing: bool) -> None:
    type_, some, _ = KINDS[kind]
    values = pa.array(([None] if missing else []) + some * (30 // len(some)), type_)
    table = pa.table({"=x": values, "y": list(range(len(values))), "last": values})[1:]  # buffers that begin earlier
    for packing in ("none", "gzip"):
        plain, loops = both(tmp_path / "t.csv", table, packing=packing)
        assert loops == plain


def test_dates_that_have_no_four_digits(tmp_path: Path) -> None:
    edges = [-719469, -719468, -719467, 2932896, 2932897, -5_000_000, 2**31 - 1]
    for days in ([d] for d in edges):
        plain, loops = both(tmp_path / "t.csv", pa.table({"d": pa.array(days, pa.int32()).cast(pa.date32())}))
        assert loops == plain
    every = pa.table({"d": pa.array(np.arange(-719468, 2932897, 97, np.int32)).cast(pa.date32())})
    plain, loops = both(tmp_path / "t.csv", every)
    assert loops == plain


def test_the_first_rows_are_written_by_pyarrow_and_the_others_by_the_loops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[int] = []
    monkeypatch.setattr(writing, "FEW", 6)
    monkeypatch.setattr(writing, "lines", lambda columns, d: called.append(len(columns[0])) or made.lines(columns, d))
    table = pa.table({"x": range(20)})
    write_csv(tmp_path / "t.csv", table.schema, iter([table[:5], table[5:6], table[6:13], table[13:]]))
    assert called == [7, 7]
    assert (tmp_path / "t.csv").read_text() == '"x"\n' + "".join(f"{i}\n" for i in range(20))


def test_fewer_lines_of_a_wide_table_are_made_at_a_time() -> None:
    narrow, wide = [pa.array(range(9000))], [pa.array(range(9000))] * 400
    assert [len(m.starts) for m in made.lines(narrow, ",")] == [made.ROWS, 9000 - made.ROWS]
    sizes = [len(m.starts) for m in made.lines(wide, ",")]
    assert sum(sizes) == 9000
    assert max(sizes) == made.BYTES // (9 + 400 * 21)

"""CSV output: the bytes of every type, and texts that a spreadsheet would run."""

from __future__ import annotations

import datetime as dt
import decimal
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shoal.engines.files.csv.write import inert, write_csv

NOON = dt.datetime(2024, 2, 29, 13, 5)
CELLS: dict[str, tuple[Any, list[Any], list[str]]] = {
    "text": (pa.string(), ["", '"', 'a"b', "a,b", "x\ny", "é"], ['""', '""""', '"a""b"', '"a,b"', '"x\ny"', '"é"']),
    "long text": (pa.large_string(), ["a", "=b"], ['"a"', '"\'=b"']),
    "labels": (pa.dictionary(pa.int8(), pa.string()), ["a", "=c"], ['"a"', '"\'=c"']),
    "int": (pa.int64(), [0, -1, 10**16, -(2**63)], ["0", "-1", "10000000000000000", "-9223372036854775808"]),
    "unsigned": (pa.uint64(), [2**64 - 1], ["18446744073709551615"]),
    "double": (
        pa.float64(),
        [0.0, -0.0, float("inf"), 1e15, 1e22, 1e-7, 5e-324, 123456.789, 0.1, -2.5e10],
        ["0", "-0", "inf", "1e+15", "1e+22", "1e-7", "5e-324", "123456.789", "0.1", "-2.5e+10"],
    ),
    "not a number": (pa.float64(), [float("nan"), None], ["", ""]),
    "float": (pa.float32(), [0.5, 1e10], ["0.5", "1e+10"]),
    "date": (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31)], ["0001-01-01", "9999-12-31"]),
    "moment": (
        pa.timestamp("us"),
        [NOON, dt.datetime(1, 1, 1, 0, 0, 0, 5)],
        ['"2024-02-29 13:05:00"', '"0001-01-01 00:00:00.000005"'],
    ),
    "zoned": (pa.timestamp("ms", tz="Europe/Amsterdam"), [NOON], ['"2024-02-29 14:05:00+01:00"']),
    "flag": (pa.bool_(), [True, False], ["true", "false"]),
    "decimal": (pa.decimal128(12, 2), [decimal.Decimal("1.50"), decimal.Decimal("-12.05")], ["1.50", "-12.05"]),
    "lasted": (pa.duration("ms"), [dt.timedelta(milliseconds=1500)], ["1.5"]),
    "nested": (pa.list_(pa.string()), [["a", '"']], ['"[""a"",""\\""""]"']),
}


@pytest.mark.parametrize("kind", CELLS)
def test_every_type_has_one_spelling(tmp_path: Path, kind: str) -> None:
    type_, values, expected = CELLS[kind]
    table = pa.table({"n": range(len(values)), "x": pa.array(values, type_)})
    write_csv(tmp_path / "t.csv", table.schema, iter([table[:1], table[1:]]))
    lines = "".join(f"{i},{cell}\n" for i, cell in enumerate(expected))
    assert (tmp_path / "t.csv").read_bytes().decode() == '"n","x"\n' + lines


STARTS = ["=1+1", "+x", "-2+3", "@x", "＝A1"]


@pytest.mark.parametrize("between", [";", "\n", "\r\n", ";;", "; ", "\n;", ";a;"])
@pytest.mark.parametrize("start", STARTS)
def test_every_cell_of_a_text_is_made_inert_not_only_the_first(between: str, start: str) -> None:
    text = between.join([start, start, "a", start, *STARTS])
    (made,) = inert(pa.array([text])).to_pylist()
    cells = [cell.strip(" ") for cell in re.split(r"[;\r\n]", made)]
    assert not [cell for cell in cells if cell[:1] in "=+-@＝" and cell]
    assert sum(cell.startswith("'") for cell in cells) == 3 + len(STARTS)
    assert made.replace("'", "") == text


def test_every_line_of_a_file_is_made_inert(tmp_path: Path) -> None:
    table = pa.table({"a": [f"x;{s};y;{s}" for s in STARTS], "b": [f"{s};{s}\n{s}" for s in STARTS]})
    write_csv(tmp_path / "t.csv", table.schema, iter([table]))
    written = (tmp_path / "t.csv").read_text(encoding="utf-8")
    assert not re.search(r"[;\n]\"?[=+\-@＝]", written)
    assert written.count("'") == 5 * len(STARTS)

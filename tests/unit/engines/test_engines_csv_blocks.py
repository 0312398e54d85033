"""Large CSV files read by compiled loops, beside the database's own reading: the same cells and types, or the same error."""

from __future__ import annotations

import random
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.csv import blocks, plain
from shoal.engines.files.csv import read as csv_read
from shoal.engines.files.csv.fields import Field, converted
from shoal.engines.open import open as open_table
from shoal.errors import EngineError, ShoalError
from shoal.kernels.jit import HAVE_NUMBA
from shoal.steps.sql import aliased, column, exp

pytestmark = pytest.mark.skipif(not HAVE_NUMBA, reason="without numba the database reads every file")

# -- one value -----------------------------------------------------------------------------------------------------------

FIELDS = {
    "whole": Field(0, "x", "BIGINT", exact=True),
    "whole, asked for": Field(0, "x", "BIGINT"),
    "whole in blanks": Field(0, "x", "BIGINT", exact=True, padded=True),
    "float": Field(0, "x", "DOUBLE"),
    "float of many digits": Field(0, "x", "DOUBLE", shortest=True),
    "float with a comma in blanks": Field(0, "x", "DOUBLE", comma=True, shortest=True, padded=True),
    "decimal": Field(0, "x", "DECIMAL(18, 2)", exact=True),
    "decimal with a comma": Field(0, "x", "DECIMAL(18, 1)", exact=True, comma=True),
    "day": Field(0, "x", "DATE", exact=True),
    "moment": Field(0, "x", "TIMESTAMP", exact=True),
}
READ = {  # what the loops read themselves; everything else may be left to the database
    "whole": ["0", "7", "-7", "999999999999999999", "-999999999999999999"],
    "whole in blanks": [" 7", "7  ", " -7 "],
    "float": ["0", "-0.0", "0.1", "123456789012345", "0.000000000000000000001", "12345678.12345678", "14689716459.265625"],
    "float of many digits": ["2.5", "0.1234567890123456", "14689716459.265625", "0.8444218515250481", "0.12345678901234560"],
    "float with a comma in blanks": [" 2,5", "-0,1234567890123456 "],
    "decimal": ["0.00", "-0.01", "1234567890123456.78", "12.50"],
    "decimal with a comma": ["1,5"],
    "day": ["0001-01-01", "9999-12-31", "2024-02-29", "2000-02-29", "1900-03-01", "1969-12-31"],
    "moment": ["0001-01-01 00:00:00", "2024-02-29 23:59:59", "1969-12-31 23:59:59"],
}
ODD = (
    """
1e5 1E-05 1e400 1e-400 inf -Infinity nan NaN +5 007 00 -0 -0.00 -0,0 0.50 .5 5. - . , -. 1.2.3 1,2,3 1.5 1,5 5-3 0x10 1_000 ١ ٣,٥
9223372036854775807 9223372036854775808 -9223372036854775808 1000000000000000000 12345678901234567.89 123456789012345678.90
1234567890123456 123456789012345.6 0.10000000000000001 0.30000000000000004 9007199254740993 9007199254740993.5 4503599627370496.5
12345678901234567.0 1234567890123456.00 0.12345678901234567 0.123456789012345678 0.0000000000000000000001 0.5
0.00000000000000000000001 0.500000000000000111 4503599627370497.5 900719925474099.25 0000-01-01 2023-02-29 1900-02-29
2023-13-01 2023-00-10
2023-04-31 2023-1-01 10000-01-01 2023-01-01T00:00:00 2023/01/01 -001-01-01 0001-01-01x
""".split()
    + [
        *("1" * n for n in (15, 16, 17, 18, 19, 20, 400)),
        *(" 5", "5 ", " ", "5\t", "\u00a05", "2023-01-01 ", "2023-01-01 24:00:00", "2023-01-01 23:60:00", "2023-01-01 23:59:60"),
        *("2023-01-01 00:00:00.5", "2023-01-01 00:00:00Z", "2023-01-01 00:00", "2023-02-30 00:00:00", "a", "é", ""),
    ]
)


def some_numbers(rng: random.Random) -> list[str]:
    """Floats as programs write them, with one digit more or less, and halfway between two of them."""
    out = []
    for _ in range(300):
        x = rng.random() * 10.0 ** rng.randint(-3, 13)
        out += [repr(x), repr(x)[:-1], repr(x) + str(rng.randint(0, 9)), f"{x:.{rng.randint(1, 12)}f}", f"{x:.17g}"]
        out.append(f"{(2 * rng.randint(2**52, 2**53) + 1) * 2.0 ** -rng.randint(3, 20):.{rng.randint(1, 12)}f}")
    return out


def made_of(texts: list[str], field: Field) -> tuple[Any, Any]:
    """What the loops make of texts, and which they leave."""
    raw = b"".join(t.encode() for t in texts)
    ends = np.cumsum([len(t.encode()) for t in texts], dtype=np.int32)
    starts = np.concatenate([np.zeros(1, np.int32), ends[:-1]])
    cells = plain._Cells(np.frombuffer(raw, np.uint8), starts, ends, np.full(len(texts), 2, np.uint8), len(raw))
    made = plain._made(cells, field)
    assert made is not None
    out, unsure, left = made
    assert left == unsure.sum()
    return out, unsure


@pytest.mark.parametrize("name", FIELDS)
def test_a_value_is_what_the_database_makes_of_its_text(name: str) -> None:
    field, rng = FIELDS[name], random.Random(name)
    texts = [*READ.get(name, []), *ODD, *(t for many in READ.values() for t in many)]
    if "float" in name:
        numbers = some_numbers(rng)
        texts += [t.replace(".", ",") for t in numbers] if field.comma else numbers
    out, unsure = made_of(texts, field)
    assert not unsure[: len(READ.get(name, []))].any(), "a usual spelling is left to the database"
    told = field.expression().replace("error('shoal:type:0')", "NULL")
    with closing(DuckDB()) as engine:
        expected = engine.over(pa.table({"f0": texts}), f"SELECT {told} FROM {converted('given', [field])}")
    given = plain._numbers(expected, out.dtype)
    for i in np.flatnonzero(~unsure):
        assert expected[i].is_valid, texts[i]
        assert given[i].tobytes() == out[i].tobytes(), texts[i]


# -- whole files ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as large, and types are guessed from three rows."""
    monkeypatch.setattr(csv_read, "_open_small", lambda *_: None)
    monkeypatch.setattr(csv_read, "LARGE", 0)
    monkeypatch.setattr(csv_read, "SAMPLE_ROWS", 3)


def told(path: Path, block: int | None, columns: list[str] | None = None, **options: Any) -> Any:
    """The columns of a file, as they are and with something calculated, or the error; by the database alone without a block."""
    try:
        with open_table(path, **options) as table:
            engine, relation = table._engine, table._relation
            assert len(engine.quick) == 1
            if block is None:
                engine.quick.clear()
            engine.quick = {n: replace(f, block=block) for n, f in engine.quick.items()}
            names = columns or list(table.schema.names)
            terms = [exp.alias_(column(n, "t"), f"c{i}", quoted=True) for i, n in enumerate(names)]
            more = exp.alias_(exp.Coalesce(this=column(names[0], "t"), expressions=[column(names[0], "t")]), "more", quoted=True)
            found = [
                pa.Table.from_batches(list(engine.stream(exp.select(*picked).from_(aliased(relation.sql, "t")))))
                for picked in (terms, [*terms, more])
            ]
            return [(t.schema, repr(t.to_pydict())) for t in found]  # as text: NaN is itself, and −0.0 is not 0.0
    except ShoalError as error:
        return type(error), str(error)


FILES = {
    "plain": b"id,n,x,d,t\n1,7,1.5,2020-01-01,a\n2,,0.25,,b c\n3,-9,2.0,1999-12-31,\n44,5,7.125,2000-02-29,Zo\xc3\xab\n",
    "no line end": b"a,b\n1,x\n2,y\n3,z",
    "returns": b"a,b\r\n1,x\r\n2,\r\n,z\r\n",
    "returns but for the last": b"a,b\r\n1,x\r\n2,y",
    "a mark in front": b"\xef\xbb\xbfa,b\n1,x\n2,y\n",
    "quoted": b'"a","b"\n1,"x"\n2,""\n3,"a ""b"" c"\n4,"a,b"\n5,""""\n"6","NA"\n7,NA\n8,\n',
    "quote inside": b'a,b\n1,x\n2,y"z\n3,"p"\n',
    "behind a quote": b'a,b\n1,x\n2,"y" \n3,"p"\n',
    "before a quote": b'a,b\n1,x\n2, "y"\n3,"p"\n',
    "open quote": b'a,b\n1,x\n2,"y\n3,z\n',
    "line break in quotes": b'a,b\n1,x\n2,"y\nz"\n3,w\n4,"q"\n',
    "return in quotes": b'a,b\n1,x\n2,"y\rz"\n3,w\n',
    "mixed ends": b"a,b\n1,x\n2,y\r\n3,z\n",
    "mixed ends the other way": b"a,b\r\n1,x\r\n2,y\n3,z\r\n",
    "return inside": b"a,b\n1,x\n2,y\rz\n3,w\n",
    "too few fields": b"a,b,c\n1,x,p\n2,y,q\n3,z,r\n4,w\n",
    "too many fields": b"a,b\n1,x\n2,y\n3,z,w\n4,v\n",
    "empty line": b"a,b\n1,x\n\n3,z\n",
    "empty line at the end": b"a,b\n1,x\n3,z\n\n",
    "nothing in a line": b"a,b\n1,x\n,\n3,z\n",
    "zero byte": b"a,b\n1,x\n2,y\x00z\n3,w\n",
    "no UTF-8": b"a,b\n1,x\n2,y\n3,z\n4,w\n5,\xff\n6,v\n",
    "half a character": b"a,b\n1,x\n2,y\n3,z\n4,w\n5,\xc3\n6,v\n",
    "late text": b"a,b\n1,x\n2,y\n3,z\n4,w\nfive,v\n6,u\n",
    "late zero in front": b"a,b\n1,x\n2,y\n3,z\n4,w\n05,v\n6,u\n",
    "late digits": b"a,b\n1.5,x\n2.25,y\n3,z\n1.2345678901234567,w\n",
    "late digits that fit": b"a,b\n1.5,x\n2.25,y\n0.1234567890123456,z\n1e5,w\n12345678.123456789,v\n",
    "beyond 64 bits": b"a,b\n1,x\n2,y\n3,z\n9223372036854775807,w\n9223372036854775808,v\n",
    "quoted numbers": b'a,b\n"1","1.5"\n"2","2.25"\n"3","0.125"\n"","4"\n',
    "heading with a line break": b'"a\nb",c\n1,x\n2,y\n',
    "only a heading": b"a,b\n",
}


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_as_the_database_reads_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(FILES[name])
    options = {"encoding": "utf-8", **({"null": "NA"} if name == "quoted" else {})}
    expected = told(path, None, **options)
    for block in (16, 25, 1 << 20):
        assert told(path, block, **options) == expected, block
    assert not [t for t in threading.enumerate() if t.name.startswith("shoal csv")]


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"types": {"n": "text", "flag": "boolean", "at": "time"}}, id="types asked for"),
        pytest.param({"dates": {"d": "%d.%m.%Y"}}, id="form of days"),
        pytest.param({"null": ["-", "yes"], "columns": ["flag"]}, id="texts that mean missing"),
        pytest.param({"columns": ["d", "n"]}, id="columns in another order"),
        pytest.param({"encoding": "cp1252"}, id="a copy in UTF-8"),
        pytest.param({"header": False, "types": {"column2": "text"}}, id="no heading"),
    ],
)
def test_options_hold_for_both_ways(options: dict[str, Any], tmp_path: Path) -> None:
    rows = [f'{i};{i * 3.5!r};"{i % 28 + 1:02}.03.2020";{"yes" if i % 3 else "no"};10:{i:02}:00\n' for i in range(20, 50)]
    (tmp_path / "t.csv").write_text("id;n;d;flag;at\n" + "".join(rows), encoding="utf-8")
    expected = told(tmp_path / "t.csv", None, **options)
    assert isinstance(expected, list)
    assert told(tmp_path / "t.csv", 100, **options) == expected


TEXTS = ["", "a", '""', '"é"', '"""b"" c"', '"a,b"', "日本"]


@pytest.mark.usefixtures("large")
def test_files_cut_anywhere_and_changed_anywhere(tmp_path: Path) -> None:
    """Random small files, one in three with a byte or two changed."""
    rng, path = random.Random(7), tmp_path / "t.csv"
    pieces = [b'"', b"\r", b"\n", b"\x00", b"\xff", b",", b"\r\n", b" ", b'""', b"\xe2\x82", b"e5", b"0"]
    for i in range(12):
        end = rng.choice(["\n", "\r\n"])
        rows = [
            f"{rng.randint(-50, 10**6)},{rng.choice(TEXTS)},{rng.random() * 9!r},{rng.choice(['', '2020-01-31', '1583-10-15'])}"
            for _ in range(30)
        ]
        raw = (end.join(["n,t,x,d", *rows]) + end).encode()
        if i % 3 == 0:
            at = rng.randint(10, len(raw))
            raw = raw[:at] + rng.choice(pieces) + raw[at + rng.randint(0, 1) :]
        path.write_bytes(raw)
        assert told(path, rng.choice([20, 33, 60, 200]), encoding="utf-8") == told(path, None, encoding="utf-8"), raw


# -- beside the rows -----------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(large: None, tmp_path: Path) -> Any:
    path = tmp_path / "t.csv"
    path.write_text("n,t\n" + "".join(f"{i},x{i}\n" for i in range(1000)), encoding="utf-8")
    with open_table(path) as table:
        engine = table._engine
        engine.quick = {n: replace(f, block=200) for n, f in engine.quick.items()}
        yield table


def test_columns_alone_are_chosen_without_the_database(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDB, "stream_sql", lambda *_: pytest.fail("the database was asked"))
    assert [v for b in opened.scan(["t"]) for v in b.column(0).to_pylist()] == [f"x{i}" for i in range(1000)]
    assert [b.num_rows for b in opened.scan(["n"], batch_size=7)][:2] == [7, 7]


def test_some_rows_alone_are_read_by_the_database(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks.PlainFile, "batches", lambda *_: pytest.fail("all rows would be read"))
    engine, relation = opened._engine, opened._relation
    assert sum(b.num_rows for b in engine.scan(relation, ["n"], 100, most=3)) == 3
    assert engine.count_rows(relation) == 1000


def test_a_table_used_twice_is_read_twice(opened: Any) -> None:
    engine, relation = opened._engine, opened._relation
    query = exp.select(column("n", "t"), exp.alias_(column("t", "u"), "other", quoted=True)).from_(aliased(relation.sql, "t"))
    on = exp.EQ(this=column("n", "t"), expression=column("n", "u"))
    query.set("joins", [exp.Join(this=aliased(relation.sql, "u"), on=on, kind="INNER")])
    assert sorted(engine.fetch(query)["n"].to_pylist()) == list(range(1000))


def test_a_file_that_is_gone_is_told_in_the_same_words(opened: Any) -> None:
    path = Path(opened._relation.source)
    path.unlink()
    with pytest.raises(ShoalError, match="is not there"):
        list(opened.scan())


def test_the_limit_of_time_holds(opened: Any) -> None:
    opened._engine.limit_time(0.0)
    with pytest.raises(EngineError, match="longer than the time limit"):
        list(opened.scan())


def test_an_error_of_a_thread_is_told_and_no_thread_is_left(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise MemoryError

    rows = opened.scan()
    next(rows)
    rows.close()
    monkeypatch.setattr(blocks, "read_lines", fails)
    with pytest.raises(MemoryError):
        list(opened.scan())
    assert not [t for t in threading.enumerate() if t.name.startswith("shoal csv")]


def test_a_line_that_the_database_refuses_is_not_read(large: None, tmp_path: Path) -> None:
    """It takes lines of two million bytes at most."""
    path = tmp_path / "t.csv"
    path.write_text("n,t\n1,x\n2,y\n3," + "z" * 2_100_000 + "\n4,w\n", encoding="utf-8")
    assert told(path, 1 << 23) == told(path, None)


def test_a_run_with_a_limit_of_memory_loads_no_loops(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would take half of the least budget."""
    monkeypatch.setattr(blocks.PlainFile, "batches", lambda *_: pytest.fail("the loops were loaded"))
    opened._engine.limit_memory(1 << 30)
    assert sum(b.num_rows for b in opened.scan()) == 1000

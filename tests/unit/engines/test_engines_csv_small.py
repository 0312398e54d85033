"""A small CSV file is parsed by Arrow, a large one by the database: the same cells and types, or the same error."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shoal.engines.files.csv import read as csv_read
from shoal.engines.open import open as open_table
from shoal.errors import ShoalError


def cells(path: Path, **options: Any) -> Any:
    """Types and cells of a file, or the error."""
    try:
        with open_table(path, **options) as table:
            made = pa.Table.from_batches(list(table.scan()))
            return made.schema, repr(made.to_pydict())  # as text: NaN is itself, and −0.0 is not 0.0
    except ShoalError as error:
        return type(error), str(error)


def both_ways(path: Path, **options: Any) -> tuple[Any, Any]:
    """The file as it is read, and as the database reads it."""
    here = cells(path, **options)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(csv_read._File, "in_memory", lambda _: None)
        return here, cells(path, **options)


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


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_as_the_database_reads_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(FILES[name])
    here, there = both_ways(path, encoding="utf-8", **({"null": "NA"} if name == "quoted" else {}))
    assert here == there


TEXTS = ["", "a", '""', '"é"', '"""b"" c"', '"a,b"', "日本"]


def test_files_changed_anywhere(tmp_path: Path) -> None:
    """Random small files, two in three with a byte or two changed."""
    rng, path = random.Random(7), tmp_path / "t.csv"
    pieces = [b'"', b"\r", b"\n", b"\x00", b"\xff", b",", b"\r\n", b" ", b'""', b"\xe2\x82", b"e5", b"0"]
    for i in range(40):
        end = rng.choice(["\n", "\r\n"])
        rows = [
            f"{rng.randint(-50, 10**6)},{rng.choice(TEXTS)},{rng.random() * 9!r},{rng.choice(['', '2020-01-31', '1583-10-15'])}"
            for _ in range(30)
        ]
        raw = (end.join(["n,t,x,d", *rows]) + end).encode()
        if i % 3:
            at = rng.randint(10, len(raw))
            raw = raw[:at] + rng.choice(pieces) + raw[at + rng.randint(0, 1) :]
        path.write_bytes(raw)
        here, there = both_ways(path, encoding="utf-8")
        assert here == there, raw

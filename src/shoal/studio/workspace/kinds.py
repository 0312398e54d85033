"""What a file is, by its first bytes: the name that a person gave it proves nothing."""

from __future__ import annotations

from shoal.errors import DataError

HEAD = 4096
"""Bytes that are looked at."""

READS = "Choose CSV, Parquet, Excel (.xlsx), JSON lines, Arrow, SPSS, Stata or SAS."
SIGNS = (
    (b"PAR1", ".parquet"),
    (b"ARROW1", ".arrow"),
    (b"$FL2", ".sav"),
    (b"$FL3", ".zsav"),
    (b"<stata_dta>", ".dta"),
    (b"HEADER RECORD*******LIB", ".xpt"),
    (b"\0" * 12 + b"\xc2\xea\x81\x60", ".sas7bdat"),
    (b"\x1f\x8b", ".gz"),
    (b"\x28\xb5\x2f\xfd", ".zst"),
    (b"PK\x03\x04", ".zip"),
)
"""How files of each kind begin."""
OTHERS = (
    (b"%PDF", "a PDF document"),
    (b"\xd0\xcf\x11\xe0", "an old Office document (.xls, .doc)"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"SQLite format 3", "an SQLite database"),
    (b"7z\xbc\xaf", "a packed archive"),
    (b"Rar!", "a packed archive"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
)


def ending_of(head: bytes, name: str) -> str:
    """The ending that the content of a file calls for; where content tells too little, the name is believed.

    A text is a table of separated values, or lines of JSON. What no reader here takes is refused in words.

    >>> ending_of(b"PAR1....", "x.csv"), ending_of(b"a,b\\n1,2\\n", "x.exe"), ending_of(b'{"a": 1}\\n', "x")
    ('.parquet', '.csv', '.jsonl')
    """
    if not head.strip(b"\0 \t\r\n"):
        raise DataError(
            "Found: the file is empty.", hint="Choose a file with a row of column names and at least one row of data."
        )
    for sign, ending in SIGNS:
        if head.startswith(sign):
            return ".xlsx" if ending == ".zip" and _workbook(head) else _packed(ending, name)
    for sign, what in OTHERS:
        if head.startswith(sign):
            raise DataError(f"This file is {what}, not a table.", hint=READS)
    if head[:1] in (b"r", b"q", b"s") and head[1:2] in (b"\x01", b"\x02") and head[2:3] == b"\x01":
        return ".dta"
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError("Found: a file of a kind that is not known here.", hint=READS)
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return ".jsonl"
    if head.lstrip().lower().startswith((b"<!doctype html", b"<html")):
        raise DataError("This file is a web page, not a table.", hint=READS)
    return ".tsv" if name.lower().endswith((".tsv", ".tab")) else ".csv"


def _workbook(head: bytes) -> bool:
    """Whether a zip begins as a workbook does: the name of its first file stands at byte 30."""
    return head[30:].startswith((b"[Content_Types]", b"xl/", b"_rels/", b"docProps/"))


def _packed(ending: str, name: str) -> str:
    """The kind of a compressed file, from the ending before the last; a table of separated values by default."""
    if ending not in (".gz", ".zst"):
        return ending
    inner = name.lower().removesuffix(ending).rpartition(".")[2]
    return f".{inner}{ending}" if inner in ("csv", "tsv", "jsonl", "ndjson", "txt") else f".csv{ending}"

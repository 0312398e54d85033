"""What the XML of a workbook (.xlsx, .xlsm) says beside the values of its cells: sizes, hidden columns, numbers shown with zeros.

Takes    the file and the name of a sheet
Returns  facts by regular expressions, for other formats nothing
Keeps    a file that would fill the memory is refused before it is read
"""

from __future__ import annotations

import html
import re
import zipfile
from pathlib import Path

from shoal.errors import UnreadableError

LARGE, MOST_PACKED = 256 << 20, 100
"""A workbook of more bytes than this when unpacked, and more than this many times its packed ones, is not an honest one."""
MOST_CELLS, SPARSE = 10_000_000, 50
"""A sheet of more cells than this, of which not one in so many is filled, is refused: its cells are far apart."""


def check_size(path: Path) -> None:
    """Refuse a workbook that unpacks to far more than its size, and sheets whose cells are far apart: both fill the memory."""
    with zipfile.ZipFile(path) as packed:
        unpacked = sum(part.file_size for part in packed.infolist())
        if unpacked > LARGE and unpacked > MOST_PACKED * path.stat().st_size:
            what = f"'{path.name}' unpacks to {unpacked / 2**20:,.0f} MiB, more than a workbook of its size does."
            raise UnreadableError(what, hint="Open and save it in a spreadsheet program, or export the sheet as CSV.")
        for name in packed.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                text = packed.read(name)
                width = max((_column_number(c) for c in set(re.findall(rb'<c r="([A-Z]+)', text))), default=0)
                height = max((int(r) for r in re.findall(rb'<row [^>]*?\br="(\d+)"', text)), default=0)
                if width * height > max(MOST_CELLS, SPARSE * text.count(b"<c ")):
                    raise UnreadableError(
                        f"a sheet of '{path.name}' has cells in {height:,} rows and {width:,} columns, nearly all of them empty.",
                        hint="Delete the cells far below or beside the table, and save it.",
                    )


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def part_of(path: Path, sheet: str) -> bytes:
    """The XML of a sheet; empty for other formats than .xlsx."""
    if not zipfile.is_zipfile(path):
        return b""
    with zipfile.ZipFile(path) as packed:
        if "xl/workbook.xml" not in packed.namelist():
            return b""
        book, links = (packed.read(f"xl/{n}").decode("utf-8", "replace") for n in ("workbook.xml", "_rels/workbook.xml.rels"))
        for tag in re.findall(r"<(?:\w+:)?sheet [^>]*>", book):
            fields = dict(re.findall(r'([\w:]+)="([^"]*)"', tag))
            if html.unescape(fields.get("name", "")) == sheet:
                target = [dict(re.findall(r'(\w+)="([^"]*)"', link)) for link in re.findall(r"<Relationship [^>]*>", links)]
                part = next((one["Target"] for one in target if one.get("Id") == fields.get("r:id")), "")
                name = part.lstrip("/") if part.startswith("/") else f"xl/{part}"
                return packed.read(name) if name in packed.namelist() else b""
    return b""


def hidden_columns(text: bytes, width: int) -> int:
    """How many of the first columns of a sheet are hidden."""
    tags = re.findall(rb"<col [^>]*>", text)
    hidden = [dict(re.findall(rb'(\w+)="([^"]*)"', tag)) for tag in tags if re.search(rb'hidden="(?:1|true)"', tag)]
    ends = [(int(one.get(b"min", b"0")), min(width, int(one.get(b"max", b"0")))) for one in hidden]
    return sum(max(0, last - first + 1) for first, last in ends if first)


def zeros_shown(path: Path, text: bytes) -> dict[tuple[int, int], int]:
    """The digits that whole numbers are shown with, by row and column from 0: cells whose format is nothing but zeros (00000)."""
    if not text:
        return {}
    with zipfile.ZipFile(path) as packed:
        styles = packed.read("xl/styles.xml") if "xl/styles.xml" in packed.namelist() else b""
    tags = [dict(re.findall(rb'(\w+)="([^"]*)"', tag)) for tag in re.findall(rb"<numFmt [^>]*>", styles)]
    formats = {one[b"numFmtId"]: one.get(b"formatCode", b"") for one in tags if b"numFmtId" in one}
    digits = {number: len(code) for number, code in formats.items() if re.fullmatch(b"00+", code)}
    cells = re.search(rb"<cellXfs\b.*?</cellXfs>", styles, re.DOTALL)
    if not digits or cells is None:
        return {}
    numbers = [re.search(rb'numFmtId="(\d+)"', tag) for tag in re.findall(rb"<xf [^>]*>", cells[0])]
    wide = {b"%d" % i: digits[n[1]] for i, n in enumerate(numbers) if n is not None and n[1] in digits}
    out = {}
    for tag in re.findall(rb'<c (?=[^>]*\bs="(?:%s)")[^>]*>' % b"|".join(wide), text) if wide else ():
        one = dict(re.findall(rb'(\w+)="([^"]*)"', tag))
        at = re.fullmatch(rb"([A-Z]+)(\d+)", one.get(b"r", b""))
        if at is not None and one.get(b"t", b"n") == b"n":
            out[int(at[2]) - 1, _column_number(at[1]) - 1] = wide[one[b"s"]]
    return out

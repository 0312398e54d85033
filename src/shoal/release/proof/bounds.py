"""Limits for files that a stranger may have made, checked before they are opened: a small file cannot take all memory or time.

Takes    the path of a data file
Returns  nothing; :class:`~shoal.errors.TamperError` where the file would unpack to far more than it weighs
Keeps    the limits lie beyond what Shoal writes: a workbook packs its sheet some twenty times, a Parquet file of equal rows more
"""

from __future__ import annotations

import mmap
import struct
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import TamperError

MOST_UNPACKED = 1 << 30
"""Bytes that a workbook may hold unpacked."""
MOST_PACKED = 200
"""How many times smaller than its contents a workbook may be, once they are :data:`FREE` bytes or more."""
FREE = 64 << 20
MOST_PARTS = 1_000
"""Files inside a workbook."""
CELLS_PER_BYTE = 1_000
"""Cells that a packed file may hold per byte, beyond :data:`FREE_CELLS`."""
FREE_CELLS = 50_000_000
MOST_HEADER = 16 << 20
"""Characters of the names of all columns."""
MOST_TEXT = 512 << 20
"""Bytes of a JSON or HTML file of a release."""


def check_regular(path: Path) -> None:
    """Refuse what is not an ordinary file of bearable length: a pipe or a device would be read for ever."""
    if path.is_symlink() or not path.is_file():
        raise TamperError(f"'{path.name}' is not an ordinary file.")


def check_text(path: Path) -> None:
    """Refuse a plan, report or tree that is far longer than any."""
    check_regular(path)
    if path.stat().st_size > MOST_TEXT:
        raise TamperError(f"'{path.name}' is far too long.")


def check_workbook(path: Path) -> None:
    """Refuse a workbook that unpacks to too much; the sizes in its directory bound what is read of it."""
    with zipfile.ZipFile(path) as packed:
        parts = packed.infolist()
    unpacked = sum(part.file_size for part in parts)
    if len(parts) > MOST_PARTS or unpacked > MOST_UNPACKED or unpacked > max(FREE, MOST_PACKED * path.stat().st_size):
        raise TamperError(f"'{path.name}' unpacks to far more than a workbook of its length holds.")


def check_cells(path: Path, rows: int, columns: int) -> None:
    """Refuse a packed file that claims far more cells than its bytes can hold."""
    if rows * columns > max(FREE_CELLS, CELLS_PER_BYTE * path.stat().st_size):
        raise TamperError(f"'{path.name}' claims far more cells than a file of its length holds.")


_MAGIC = b"ARROW1"
_DICTIONARIES, _BATCHES = 2, 3
"""Fields of the footer of an Arrow file that list blocks."""
_BLOCK = struct.Struct("<qi4xq")


class _Table:
    """A table of a flatbuffer: fields by their number (the format of Arrow's messages and footer)."""

    def __init__(self, data: Any, at: int) -> None:
        self.data, self.at = data, at
        self.vtable = at - struct.unpack_from("<i", data, at)[0]

    def place(self, n: int) -> int | None:
        """Where a field stands; None where it is left out."""
        size = struct.unpack_from("<H", self.data, self.vtable)[0]
        offset = struct.unpack_from("<H", self.data, self.vtable + 4 + 2 * n)[0] if 4 + 2 * n < size else 0
        return self.at + offset if offset else None

    def number(self, n: int, form: str) -> int:
        at = self.place(n)
        return 0 if at is None else int(struct.unpack_from(form, self.data, at)[0])

    def table(self, n: int) -> _Table:
        at = self.place(n)
        if at is None:
            raise TamperError("a part of an Arrow file is missing.")
        return _Table(self.data, at + struct.unpack_from("<I", self.data, at)[0])

    def blocks(self, n: int) -> list[tuple[int, int, int]]:
        """A list of blocks: where each begins, and how long its parts are."""
        at = self.place(n)
        if at is None:
            return []
        start = at + struct.unpack_from("<I", self.data, at)[0]
        count = struct.unpack_from("<I", self.data, start)[0]
        if count * _BLOCK.size > len(self.data):
            raise TamperError("an Arrow file lists more batches than it can hold.")
        return [_BLOCK.unpack_from(self.data, start + 4 + i * _BLOCK.size) for i in range(count)]


def check_arrow(path: Path, columns: int) -> int:
    """Refuse an Arrow file with packed batches, or with far more cells than its bytes can hold; otherwise its records."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            footer = _footer(data)
            dictionaries = [_batch(data, block[0]) for block in footer.blocks(_DICTIONARIES)]
            records = [_batch(data, block[0]) for block in footer.blocks(_BATCHES)]
    except (struct.error, ValueError, IndexError):
        raise TamperError(f"'{path.name}' is not an Arrow file as Shoal writes it.") from None
    if any(packed for _, packed in dictionaries + records):
        raise TamperError(f"'{path.name}' holds packed batches, which Shoal does not write.")
    if min((rows for rows, _ in dictionaries + records), default=0) < 0:
        raise TamperError(f"'{path.name}' is not an Arrow file as Shoal writes it.")
    check_cells(path, sum(rows for rows, _ in dictionaries + records), columns)
    return sum(rows for rows, _ in records)


def _footer(data: mmap.mmap) -> _Table:
    if data[-6:] != _MAGIC:
        raise ValueError
    length = struct.unpack_from("<i", data, len(data) - 10)[0]
    at = len(data) - 10 - length
    if length <= 0 or at < 0:
        raise ValueError
    return _Table(data, at + struct.unpack_from("<I", data, at)[0])


def _batch(data: mmap.mmap, at: int) -> tuple[int, bool]:
    """Rows of a batch, and whether it is packed."""
    if at < 0:
        raise ValueError
    if data[at : at + 4] == b"\xff\xff\xff\xff":
        at += 4
    meta = at + 4
    message = _Table(data, meta + struct.unpack_from("<I", data, meta)[0])
    header = message.table(2)
    record = header.table(1) if message.number(1, "<B") == 2 else header  # a dictionary holds its batch
    return record.number(0, "<q"), record.place(3) is not None


def check_flat(path: Path, schema: Any) -> None:
    """Refuse columns of lists, structures, views and runs: Shoal writes none, and a few bytes of them can stand for very much."""
    odd = ("is_nested", "is_run_end_encoded", "is_string_view", "is_binary_view")
    tests = [test for name in odd if (test := getattr(pa.types, name, None)) is not None]
    for kind in schema.types:
        inner = kind.value_type if pa.types.is_dictionary(kind) else kind
        if any(test(inner) for test in tests):
            raise TamperError(f"'{path.name}' holds columns of a kind that Shoal does not write.")


def check_long_texts(path: Path, array: Any) -> None:
    """Refuse a dictionary whose longest text, at every row, would be more than may be unpacked."""
    if not pa.types.is_dictionary(array.type) or len(array) == 0:
        return
    if pa.types.is_string(array.type.value_type) or pa.types.is_large_string(array.type.value_type):
        longest = pc.max(pc.binary_length(array.dictionary)).as_py() or 0
        if longest * len(array) > MOST_UNPACKED and _text_bytes(array) > MOST_UNPACKED:
            raise TamperError(f"'{path.name}' unpacks to far more than a file of its length holds.")


def _text_bytes(array: Any) -> int:
    """Bytes of the texts that the rows point at."""
    lengths = pc.cast(pc.binary_length(array.dictionary), "int64")
    return int(pc.sum(pc.take(lengths, array.indices)).as_py() or 0)

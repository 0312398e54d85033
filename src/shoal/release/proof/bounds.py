"""Limits for files that a stranger may have made, checked before they are opened: a small file cannot take all memory or time.

Takes    the path of a data file
Returns  nothing; :class:`~shoal.errors.TamperError` where the file would unpack to far more than it weighs
Keeps    the limits lie beyond what Shoal writes: a workbook packs its sheet some twenty times, a Parquet file of equal rows more
"""

from __future__ import annotations

import zipfile
from pathlib import Path

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

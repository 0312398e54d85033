"""Published Parquet data as a Delta table of one version: a log beside the files, which stay as they were written."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.errors import OutputError, need

DELTA = "delta"
"""The format; its data are a folder ``data.parquet`` of parts, with the log in it."""


def check_library() -> None:
    """Refuse where the library that writes the log is not there."""
    if find_spec("deltalake") is None:
        raise need("lake", "deltalake")


def into_folder(data: Path) -> None:
    """Data in one file become a folder with one part, a folder stays; refused where Delta has no type for a column."""
    import pyarrow.parquet as pq  # loads file systems and TLS

    if data.is_file():
        part = data.rename(data.with_name(".part"))
        data.mkdir()
        part.rename(data / "part-00000.parquet")
    for field in pq.read_schema(data / "part-00000.parquet"):
        if not _has_type(field):
            raise OutputError(
                f"Delta has no type for column '{field.name}' ({field.type}).",
                hint="Write --format parquet, or change or drop the column.",
            )


def _has_type(field: Any) -> bool:
    from deltalake import Schema

    try:
        Schema.from_arrow(pa.schema([field]))
    except Exception as error:  # the library has no class of its own for it
        if type(error) is not Exception:
            raise
        return False
    return True


def write_log(data: Path) -> None:
    """Version 0 of the table: all parts. No row is read for it, and no value of the data gets into the log."""
    from deltalake import convert_to_deltalake
    from deltalake.exceptions import DeltaError

    try:
        convert_to_deltalake(str(data), collect_stats=False)
    except (DeltaError, OSError, ValueError) as error:
        raise OutputError(
            f"the log of the Delta table cannot be written: {type(error).__name__}.", hint="Check rights and free space."
        ) from None

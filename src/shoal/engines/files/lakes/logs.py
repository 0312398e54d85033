"""Whether a folder is a lake table, or lies inside one: by the log in it.

Lake tables keep Parquet files of rows that were removed, too; only the log beside them tells which rows are alive. So no file of
one is ever read as plain Parquet.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from shoal.errors import UsageError

DELTA, ICEBERG, METADATA = "_delta_log", "metadata", ".metadata.json"


def lake_of(folder: Path) -> str | None:
    """``delta`` or ``iceberg`` where a folder is such a table, by the log in it."""
    if (folder / DELTA).is_dir():
        return "delta"
    return "iceberg" if any((folder / ICEBERG).glob(f"*{METADATA}")) else None


def refuse_inside_lake(files: Iterable[Path]) -> None:
    """Refuse Parquet files that belong to a lake table: which of their rows are alive only its log tells."""
    known = cache(lake_of)
    for file in files:
        for folder in file.absolute().parents:
            kind = known(folder)
            if kind is not None:
                raise part_of(file.name, kind, str(folder))


def lake_in_store(system: Any, path: str) -> str | None:
    """The same for a folder of an object store, by the file system of Arrow that reads it."""
    from pyarrow import fs

    log, metadata = system.get_file_info([f"{path}/{DELTA}", f"{path}/{ICEBERG}"])
    if log.type == fs.FileType.Directory:
        return "delta"
    if metadata.type != fs.FileType.Directory:
        return None
    inside = system.get_file_info(fs.FileSelector(metadata.path))
    return "iceberg" if any(f.base_name.endswith(METADATA) for f in inside) else None


def refuse_inside_lake_of_store(system: Any, path: str, address: str) -> None:
    """Refuse a file or folder of a store (``address`` without credentials) where a folder above it is a lake table."""
    above = address.rstrip("/")
    for folder in PurePosixPath(path).parents:
        above = above.rpartition("/")[0]
        if str(folder) in (".", "/"):
            return
        kind = lake_in_store(system, str(folder))
        if kind is not None:
            raise part_of(PurePosixPath(path).name, kind, above)


def part_of(name: str, kind: str, table: str) -> UsageError:
    """The error where files of a lake table would be read as plain ones."""
    return UsageError(
        f"'{name}' belongs to the {kind.capitalize()} table '{table}'; some of its rows may be removed ones.",
        hint=f"Open the table: {kind}::{table}",
    )

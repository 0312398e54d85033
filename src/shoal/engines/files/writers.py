"""Writers: Arrow batches into a file that appears whole or not at all.

Everything is written to a temporary file that takes its name at the end (:mod:`shoal.disk.atomic`). The same batches give
the same bytes: rows are cut into blocks of fixed size, and no metadata of the source, date or name is carried over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.disk.atomic import atomic
from shoal.engines.files.csv.write import write_csv
from shoal.engines.files.excel.write import write_excel
from shoal.engines.files.formats import ENDINGS
from shoal.engines.files.statistical.write import write_spss, write_stata
from shoal.errors import UsageError
from shoal.model.roles import Column

__all__ = ["atomic", "blocks", "output_format", "write_file"]

BLOCK_ROWS = 1 << 19
FORMATS = ("csv", "parquet", "arrow", "excel", "spss", "stata")

Write = Callable[[Path, Any, Iterator[Any], Sequence[Column], bool], None]


def output_format(path: Path, format: str | None) -> str:
    """The format asked for, or the one that the ending means."""
    found = format or ENDINGS.get(path.suffix.lower())
    if found not in FORMATS:
        raise UsageError(
            f"cannot write '{path.name}': the format is not known.", hint=f"Pass format= one of: {', '.join(FORMATS)}."
        )
    return found


def write_file(
    path: Path, format: str, schema: Any, batches: Iterator[Any], columns: Sequence[Column], *, raw: bool = False
) -> None:
    """Write all batches to ``path``, whole or not at all. ``columns`` carry the labels for SPSS and Stata."""
    writers: Mapping[str, Write] = {
        "csv": _csv,
        "parquet": _parquet,
        "arrow": _arrow,
        "excel": _excel,
        "spss": _spss,
        "stata": _stata,
    }
    with atomic(path) as temporary:
        writers[format](temporary, schema, blocks(schema, batches), columns, raw)


def blocks(schema: Any, batches: Iterator[Any], rows: int = BLOCK_ROWS) -> Iterator[Any]:
    """The same rows as Arrow tables of exactly ``rows`` rows, the last one shorter; at least one."""
    waiting: list[Any] = []
    held = 0
    given = False
    for batch in batches:
        while held + batch.num_rows >= rows:
            take = rows - held
            yield pa.Table.from_batches([*waiting, batch.slice(0, take)], schema=schema)
            given, waiting, held = True, [], 0
            batch = batch.slice(take)
        if batch.num_rows:
            waiting.append(batch)
            held += batch.num_rows
    if held or not given:
        yield pa.Table.from_batches(waiting, schema=schema)


def _parquet(path: Path, schema: Any, tables: Iterator[Any], columns: Sequence[Column], raw: bool) -> None:
    with pq.ParquetWriter(path, schema.remove_metadata(), compression="zstd", store_schema=False) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=BLOCK_ROWS)


def _arrow(path: Path, schema: Any, tables: Iterator[Any], columns: Sequence[Column], raw: bool) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema.remove_metadata()) as writer:
        for table in tables:
            writer.write_table(table.combine_chunks(), max_chunksize=BLOCK_ROWS)


def _csv(path: Path, schema: Any, tables: Iterator[Any], columns: Sequence[Column], raw: bool) -> None:
    write_csv(path, schema, tables, raw=raw)


def _excel(path: Path, schema: Any, tables: Iterator[Any], columns: Sequence[Column], raw: bool) -> None:
    write_excel(path, schema, tables)


def _spss(path: Path, schema: Any, tables: Iterator[Any], columns: Sequence[Column], raw: bool) -> None:
    write_spss(path, tables, columns)


def _stata(path: Path, schema: Any, tables: Iterator[Any], columns: Sequence[Column], raw: bool) -> None:
    write_stata(path, tables, columns)

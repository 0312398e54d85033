"""Writers: Arrow batches into a file that appears whole or not at all.

Everything is written to a temporary file that takes its name at the end (:mod:`shoal.disk.atomic`). The same batches give
the same bytes: rows are cut into blocks of fixed size, and no metadata of the source, date or name is carried over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from shoal.disk.atomic import atomic
from shoal.engines.files.csv.write import write_csv
from shoal.engines.files.excel import write_excel
from shoal.engines.files.formats import ENDINGS
from shoal.engines.files.jsonl import write_jsonl
from shoal.engines.files.packing import asked, ending
from shoal.engines.files.statistical.write import Codes, write_spss, write_stata, write_transport
from shoal.errors import UsageError
from shoal.model.roles import Column

__all__ = ["atomic", "blocks", "output_format", "write_file"]

BLOCK_ROWS = 1 << 19
TEXT_ROWS = 1 << 16
"""Rows of a block of CSV or JSON lines: each is written as text beside its values, and the file shows nothing of blocks."""
FORMATS = ("csv", "parquet", "jsonl", "arrow", "excel", "spss", "stata", "sas")
PACKABLE = ("csv", "jsonl")
"""Formats whose file may be packed: ``.csv.gz``, ``.jsonl.zst``."""

_READ_ONLY = {".por": ".sav", ".sas7bdat": ".xpt", ".xlsm": ".xlsx"}


def output_format(path: Path, format: str | None) -> str:
    """The format asked for, or the one that the ending means."""
    last = ending(path)
    known = format or ENDINGS.get(last)
    if known not in FORMATS:
        hint = f"Pass format= one of: {', '.join(FORMATS)}."
        raise UsageError(f"cannot write '{path.name}': the format is not known.", hint=hint)
    if last in _READ_ONLY:
        raise UsageError(f"files ending in {last} can be read, not written.", hint=f"Name it with {_READ_ONLY[last]}.")
    if asked(path) != "none" and known not in PACKABLE:
        hint = f"Leave {path.suffix} out of its name."
        raise UsageError(f"'{path.name}' asks for a packed file, which {known} has no form of.", hint=hint)
    return known


def write_file(
    path: Path,
    format: str,
    schema: pa.Schema,
    batches: Iterator[pa.RecordBatch],
    columns: Sequence[Column],
    *,
    raw: bool = False,
    hidden: frozenset[str] = frozenset(),
    delimiter: str = "",
) -> Codes:
    """Write all batches to ``path``, whole or not at all. ``columns`` carry the labels for SPSS and Stata.

    The answer has the codes that are new in such a file.

    Of the columns ``hidden`` only labels of values that are written are written. ``delimiter`` is that of a CSV file, where it is
    not the usual one of its ending.
    """
    last, packing = ending(path), asked(path)
    delimiter = delimiter or ("\t" if last in (".tsv", ".tab") else ",")
    tables = blocks(schema, batches, TEXT_ROWS if format in PACKABLE else BLOCK_ROWS)
    with atomic(path) as out:
        writers: dict[str, Callable[[], Codes | None]] = {
            "csv": lambda: write_csv(out, schema, tables, raw=raw, delimiter=delimiter, packing=packing),
            "parquet": lambda: _parquet(out, schema, tables),
            "jsonl": lambda: write_jsonl(out, schema, tables, packing=packing),
            "arrow": lambda: _arrow(out, schema, tables),
            "excel": lambda: write_excel(out, schema, tables),
            "spss": lambda: write_spss(out, tables, columns, hidden, packed=last == ".zsav"),
            "stata": lambda: write_stata(out, tables, columns, hidden),
            "sas": lambda: write_transport(out, tables, columns, hidden),
        }
        return writers[format]() or {}


def blocks(schema: pa.Schema, batches: Iterator[pa.RecordBatch], rows: int = BLOCK_ROWS) -> Iterator[pa.Table]:
    """The same rows as Arrow tables of exactly ``rows`` rows, the last one shorter; at least one."""
    waiting: list[pa.Table] = []
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


def _parquet(path: Path, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    """With the Arrow schema beside Parquet's own, where only it can say the type: time zones, durations."""
    import pyarrow.parquet as pq  # brings file systems and TLS: text files need neither

    arrow_only = any(_only_arrow(t) for t in schema.types)
    if arrow_only:  # which would also say which texts came as dictionaries
        schema = pa.schema([(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in schema])
    options = {"compression": "zstd", "store_schema": arrow_only, "write_batch_size": _at_once(schema)}
    with pq.ParquetWriter(path, schema.remove_metadata(), **options) as writer:
        for table in tables:
            writer.write_table(table.cast(schema) if arrow_only else table, row_group_size=BLOCK_ROWS)


def _at_once(schema: pa.Schema) -> int:
    """Rows that Parquet's writer takes at a time: it collects the values of a dictionary each time, which is half of its work
    at its usual 1,024. Pages end only between them, so long values that are not in a dictionary get fewer."""
    return 1 << 16 if all(pa.types.is_dictionary(t) or pa.types.is_primitive(t) for t in schema.types) else 1 << 12


def _only_arrow(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_only_arrow(kind.field(i).type) for i in range(kind.num_fields))
    zoned = pa.types.is_timestamp(kind) and (kind.tz is not None or kind.unit == "s")
    return zoned or pa.types.is_duration(kind) or pa.types.is_date64(kind)


def _arrow(path: Path, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema.remove_metadata()) as writer:
        for table in tables:
            writer.write_table(table.combine_chunks(), max_chunksize=BLOCK_ROWS)

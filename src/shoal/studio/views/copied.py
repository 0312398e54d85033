"""A table of a database as a file: read once, in pieces, up to a limit."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from shoal.engines.table import Table
from shoal.errors import DataError, EmptyTableError


def copied(table: Table, target: str, limit: int) -> int:
    """Write the table's rows as Parquet; how many there are. More than ``limit`` bytes in memory's form are refused."""
    rows = size = 0
    writer: pq.ParquetWriter | None = None
    try:
        for batch in table.scan():
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if size > limit:
                raise DataError(
                    f"Found: a table of more than {limit / 1e9:.3g} GB, the most that this studio takes.",
                    hint="Start the studio with a larger --limit, or name a view with fewer rows.",
                )
            writer = writer or pq.ParquetWriter(target, batch.schema)
            writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()
    if not rows:
        Path(target).write_bytes(b"")
        raise EmptyTableError(f"table '{table.name}' has no rows.", hint="Choose one with at least one row of data.")
    return rows

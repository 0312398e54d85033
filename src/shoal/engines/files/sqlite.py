"""SQLite files opened as files (``clinic.sqlite``, ``clinic.gpkg``): read in one transaction into a private copy.

Many questions to the copy are answered sooner than SQLite would. ``sqlite:///FILE::table`` asks the file itself; both read cells
alike (:mod:`shoal.engines.servers.sqlite.cells`).
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.engines.core.base import BATCH_ROWS, Engine, Relation
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.brought import brought
from shoal.engines.files.packing import require_option
from shoal.engines.files.parquet import open_parquet


def open_sqlite(path: Path, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """An engine and relation over a copy of a table of the file: the one that is named (``table=``), or the only one."""
    from shoal.engines.servers.sqlite.engine import open_only  # loads sqlglot

    require_option(options, ("table", "types"), "an SQLite file")
    engine, relation = open_only(path, options.get("table"), options.get("types"))
    with closing(engine):
        engine.hold()
        made, opened = brought(relation.source, {}, lambda folder: _copy(engine, relation, folder / "rows.parquet"), open_parquet)
        made.version = engine.holding
    return made, opened


def _copy(engine: Engine, relation: Relation, target: Path) -> Path:
    """The rows as a Parquet file, a part at a time."""
    import pyarrow.parquet as pq  # brings file systems and TLS: text files need neither

    batches = engine.scan(relation, [c.name for c in relation.columns], BATCH_ROWS)
    first = next(batches)
    with pq.ParquetWriter(target, first.schema) as out:
        out.write_batch(first)
        for batch in batches:
            out.write_table(pa.Table.from_batches([batch]).cast(first.schema))
    return target

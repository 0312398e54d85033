"""``open``: any source as a :class:`~shoal.engines.table.Table`, lazily.

A source is a path (by its ending: CSV/TSV, Parquet, JSON lines or array, Arrow/Feather, Excel, SPSS/Stata/SAS, packed with gzip,
zstd or zip; a folder or pattern of Parquet or CSV files; the folder of a Delta or Iceberg table), a lake table at a version
(``delta::folder@12``), a table of an SQLite file (``sqlite:///FILE::table``), ``-`` for standard input, an object store
(``s3://…``, ``gs://…``, ``hdfs://…``), ``ENGINE-URL::table``
(``postgresql://…::patients``, ``mysql://…``, ``spark://…``, ``spark::path``,
``duckdb://file.db::t``), or a frame in memory (pandas, polars, pyarrow, a DuckDB relation).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shoal.engines.connect import connect, is_url, refuse_misspelt
from shoal.engines.core.limits import limit_of
from shoal.engines.core.memory import BUDGET, budget_of_process, memory_of, take_little
from shoal.engines.files.formats import open_path, open_source
from shoal.engines.files.frames import open_frame
from shoal.engines.files.sqlite import SCHEME, file_of
from shoal.engines.table import Table, make_table
from shoal.errors import UnreadableError


def open(
    source: Any,
    *,
    quasi: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    direct: Iterable[str] = (),
    insensitive: Iterable[str] = (),
    unit: str | None = None,
    weight: str | None = None,
    name: str | None = None,
    memory: str | int | None = None,
    statement_timeout: str | float | None = None,
    only_aggregates: bool = False,
    **options: Any,
) -> Table:
    """Open a table; only its schema is read (of a CSV, a sample).

    Parameters
    ----------
    source : path, URL or frame
        See the module's text.
    quasi, sensitive, direct, insensitive : names of columns
        Roles.
    unit, weight : str, optional
        The column that names a person; the column of sampling weights.
    name : str, optional
        What to call the table in messages.
    memory : str or int, optional
        What counting, searching and recoding may take: ``"2GB"``. Beyond it the disk is used, or the run is refused.
        Without it, a limit of up to 4 GB of the container or the process.
    statement_timeout, only_aggregates : optional
        For databases: a limit on the time of a statement (``"30s"``); refuse statements that would return rows or identifiers.
    **options
        Of the format: ``delimiter, quote, encoding, decimal, header, null, types, dates`` for CSV; ``sheet`` for Excel;
        ``table`` for SQLite; ``types`` everywhere.

    Returns
    -------
    Table
    """
    allowed = budget_of_process() if memory is None else memory_of(memory)
    roles = {"quasi": quasi, "sensitive": sensitive, "direct": direct, "insensitive": insensitive, "unit": unit, "weight": weight}
    every = limit_of(statement_timeout, in_database=True)
    if allowed is not None:
        take_little()
    before = BUDGET.set(allowed)
    try:
        table = _open(source, name, roles, options, every)
    finally:
        BUDGET.reset(before)
    if allowed is not None:
        table.limit_memory(allowed)
    try:
        table.limit_statements(limit_of(statement_timeout, in_database=table.in_database), only_aggregates)
    except BaseException:
        table.close()
        raise
    return table


def _open(source: Any, name: str | None, roles: dict[str, Any], options: dict[str, Any], seconds: float | None) -> Table:
    if isinstance(source, Table):
        return source.with_roles(**roles)
    if isinstance(source, str) and source.lower().startswith(SCHEME):
        source, table = file_of(source)
        options = {**options, "format": "sqlite"} | ({"table": table} if table else {})
        name = name or table
    elsewhere = open_source(source, options) if isinstance(source, str) else None
    if elsewhere is not None:
        return make_table(*elsewhere, name or _stem(Path(elsewhere[1].source.rpartition("::")[2])), roles)
    if isinstance(source, str) and is_url(source):
        return _open_url(source, name, roles, options, seconds)
    if isinstance(source, (str, Path)):
        if not Path(source).exists():
            refuse_misspelt(str(source))
        engine, relation = open_path(Path(source), options)
        return make_table(engine, relation, name or _stem(Path(source)), roles)
    engine, relation = open_frame(source, options)
    return make_table(engine, relation, name or "table", roles)


def _open_url(source: str, name: str | None, roles: dict[str, Any], options: dict[str, Any], seconds: float | None) -> Table:
    engine, table = connect(source)
    try:
        if seconds is not None:
            engine.limit_time(seconds)
        relation = engine.relation(table, **options)
        if not relation.columns:
            raise UnreadableError(f"table '{table}' has no columns.", hint="Check the name and your rights to read it.")
        return make_table(engine, relation, name or table, roles)
    except BaseException:
        engine.close()
        raise


def _stem(path: Path) -> str:
    return path.name.split(".", maxsplit=1)[0] or path.name

"""Whether a run fits into the memory that was allowed, asked before it counts or writes anything.

Only for rows that come through this process: servers and Spark hold theirs themselves.
"""

from __future__ import annotations

from dataclasses import replace

from shoal.engines.core.base import Engine, Relation
from shoal.engines.core.memory import bytes_to_count, bytes_to_measure, bytes_to_write, left_for_data, refused
from shoal.engines.core.request import CountRequest
from shoal.engines.count.by_codes import can_count
from shoal.engines.count.sql import about_classes
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.readers import ArrowReader, ParquetReader


def rows_of(engine: Engine, relation: Relation) -> int:
    """Number of rows, counted where the file does not say it."""
    reader = relation.reader
    return int(reader.rows()) if isinstance(reader, ArrowReader | ParquetReader) else engine.count_rows(relation)


def most_rows_of(engine: Engine, relation: Relation) -> int:
    """Number of rows, or for a text file as many as there can be at most; nothing is read for it."""
    return int(relation.reader.rows()) if relation.reader is not None else engine.count_rows(relation)


def check_measure(engine: Engine, relation: Relation, request: CountRequest) -> None:
    """Refuse a measurement whose classes would take more than is allowed, before they are counted.

    Where every row may be a class and all would fit nothing is read; otherwise the classes are estimated in one pass.
    """
    if engine.memory is None or not isinstance(engine, DuckDB):
        return
    columns, left, rows = len(request.columns), left_for_data(engine.memory), most_rows_of(engine, relation)
    by_codes = can_count(relation, request)
    if bytes_to_measure(rows, columns, by_codes=by_codes) <= left:
        return
    classes = min(rows, about_classes(engine, relation, request))
    needed = bytes_to_measure(classes, columns, by_codes=by_codes)
    if needed <= left:
        return
    if not by_codes and can_count(relation, replace(request, memory=None)):  # the least that would do
        coded = bytes_to_count(rows_of(engine, relation), columns + len(request.sensitive))
        cheaper = max(coded, bytes_to_measure(classes, columns, by_codes=True))
        needed = cheaper if left < cheaper < needed else needed
    hint = f"Raise --memory, or name fewer or coarser columns of: {', '.join(request.columns)}."
    raise refused(f"measuring about {classes:,} classes of {columns} columns", needed, engine.memory, hint)


def check_written(engine: Engine, relation: Relation, what: str, least: int, most: int) -> None:
    """Refuse to write a table for which the memory that was allowed is too little, before anything is counted.

    ``least`` bytes are taken beside the program however few the rows are, ``most`` where they are so many that the disk is used.
    """
    if engine.memory is None or not isinstance(engine, DuckDB):
        return
    columns, left = len(relation.columns), left_for_data(engine.memory)
    if left >= most or least + bytes_to_write(most_rows_of(engine, relation), columns) <= left:
        return
    needed = min(most, least + bytes_to_write(rows_of(engine, relation), columns))
    if needed > left:
        raise refused(what, needed, engine.memory, "Raise --memory.")

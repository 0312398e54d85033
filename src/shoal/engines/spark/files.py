"""Files that Spark reads by their path: in which format, and which state they are in."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from shoal.engines.core.base import Marks
from shoal.engines.files.lakes import refuse_inside_lake
from shoal.engines.spark.errors import condition_of, spark_errors
from shoal.errors import UnreadableError, UsageError

_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".orc": "orc", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
_FORMATS |= {".csv": "csv", ".tsv": "csv", ".txt": "csv"}


PLAIN = frozenset(_FORMATS.values())
"""Formats whose files hold all their rows; of others (Delta, where Spark has it) a log tells which are alive."""


def format_of(table: str) -> str | None:
    """The format of a path by its ending, Parquet without one; None for the name of a table.

    >>> [format_of(t) for t in ("people.CSV", "s3a://bucket/people", "db.people")]
    ['csv', 'parquet', None]
    """
    return _FORMATS.get(Path(table).suffix.lower()) or ("parquet" if "/" in table else None)


def read(spark: Any, path: str, format: str, options: dict[str, Any]) -> Any:
    """The rows as a frame; ``delimiter`` is taken from the options."""
    if format in PLAIN:
        _refuse_lake(spark, path)
    reader = spark.read.format(format)
    if format in ("csv", "json"):
        reader = reader.option("mode", "FAILFAST")  # Spark would cut long rows, fill short ones and blank broken lines
    if format == "csv":
        separator = options.pop("delimiter", "\t" if path.endswith(".tsv") else ",")
        nothing = f"shoal-{secrets.token_hex(8)}"  # a field without text; an empty text in quotes is a value
        reader = reader.options(header=True, inferSchema=False, multiLine=True, escape='"', sep=separator)
        reader = reader.options(columnPruning=False, nullValue=nothing)
    try:
        frame = reader.load(path)
        assert frame.schema is not None
        return frame
    except spark_errors() as error:
        if condition_of(error) in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"):
            raise UnreadableError(
                f"Spark finds no {format} data at '{path}'.", hint="Check the path as the executors see it."
            ) from None
        raise


def _refuse_lake(spark: Any, path: str) -> None:
    """Refuse what has the log of a lake table beside it, as Spark or (also further up) we see it: removed rows would return."""
    refuse_inside_lake([Path(path) / "rows"])
    for kind, log in (("Delta", "_delta_log"), ("Iceberg", "metadata/*.metadata.json")):
        try:
            assert spark.read.format("binaryFile").load(f"{path.rstrip('/')}/{log}").schema is not None
        except spark_errors() as error:
            if condition_of(error) != "PATH_NOT_FOUND":
                raise
            continue
        raise UsageError(
            f"'{path}' is a table of {kind}; some of the rows in its files may be removed ones.",
            hint=f"Name it as a table of Spark's catalog, or read it without Spark: {kind.lower()}::{path}",
        )


def marks_of(spark: Any, path: str) -> Marks:
    """Name, size and time of each file, listed anew by Spark, which opens none of them for it; its number where we see it too.

    A frame keeps the list of files that it was made with. One that is gone since, or written anew, shows here.
    """
    files = spark.read.format("binaryFile").option("recursiveFileLookup", True).load(path)
    found = files.selectExpr("path", "length", "unix_micros(modificationTime) AS changed").toArrow().to_pylist()
    return tuple(sorted((f["path"], f["length"], f["changed"], _number(f["path"])) for f in found))


def _number(uri: str) -> int:
    """The number of a file on its disk; 0 for one that is not on a disk of this machine.

    >>> _number("file:/no/such/file"), _number("hdfs://host/people.parquet")
    (0, 0)
    """
    parts = urlsplit(uri)
    try:
        return Path(unquote(parts.path)).stat().st_ino if parts.scheme == "file" else 0
    except OSError:
        return 0

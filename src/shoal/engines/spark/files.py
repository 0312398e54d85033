"""Files that Spark reads by their path: in which format, and which state they are in."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq

from shoal.disk.atomic import staged
from shoal.engines.core.base import Marks
from shoal.engines.core.state import changed
from shoal.engines.files.lakes import refuse_inside_lake
from shoal.engines.spark.answers import shared_folder
from shoal.engines.spark.session import condition_of, spark_errors
from shoal.errors import InternalError, UnreadableError, UsageError

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
            hint = "Check the path as the executors see it."
            raise UnreadableError(f"Spark finds no {format} data at '{path}'.", hint=hint) from None
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
        hint = f"Name it as a table of Spark's catalog, or read it without Spark: {kind.lower()}::{path}"
        raise UsageError(f"'{path}' is a table of {kind}; some of the rows in its files may be removed ones.", hint=hint)


def marks_of(spark: Any, path: str) -> Marks:
    """Name, size and time of each file, listed again by Spark, which opens none of them for it; its number where we see it too.

    A frame keeps the list of files that it was made with. One that is gone since, or rewritten, shows here.
    """
    files = spark.read.format("binaryFile").option("recursiveFileLookup", True).load(path)
    marks = files.selectExpr("path", "length", "unix_micros(modificationTime) AS changed").toArrow().to_pylist()
    return tuple(sorted((f["path"], f["length"], f["changed"], _number(f["path"])) for f in marks))


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


PART_ROWS = 1_000_000
"""Rows of a file, about."""
GROUP_BYTES = 16 << 20
"""Bytes that a writer holds before they go to disk: little, so that small executors can write."""
_PATTERNS = "*?[{\\"
"""What Spark takes for a pattern in the name of a folder that it reads."""
_WIDE = {"tinyint": "bigint", "smallint": "bigint", "int": "bigint", "float": "double"}
"""Types that are written in the one type of their kind, as files of other engines are."""


def place_of_parts(spark: Any, url: str, out: Path) -> Path | None:
    """A folder that the executors see, to bring files to ``out``: the one of ``out`` itself where they see it; or None."""
    shared, own = shared_folder(spark, url), out.absolute().parent
    if shared is None:
        return None
    everywhere = "SHOAL_SPARK_STAGING" not in os.environ
    sees = everywhere or shared.resolve() in (own.resolve(), *own.resolve().parents)
    return own if sees and not any(c in str(own) for c in _PATTERNS) else shared


def number_of_parts(rows: int) -> int:
    """Files for so many rows.

    >>> number_of_parts(0), number_of_parts(PART_ROWS), number_of_parts(PART_ROWS + 1)
    (1, 1, 2)
    """
    return max(1, -(-rows // PART_ROWS))


def write_parts(frame: Any, names: Sequence[str], folder: Path, parts: int) -> None:
    """``frame`` has the columns ``p0, p1 …`` and the hash ``x`` of each row; they are written under their names.

    A row of files ``part-00000.parquet`` … is left in ``folder``; at least one.
    """
    cut, mark = _free("shoal_part", names), _free("shoal_hash", names)
    for i in range(len(names)):
        frame = frame.withMetadata(f"p{i}", {})  # comments of the source would be written into the files
    kinds = {f.name: _WIDE.get(f.dataType.simpleString(), "") for f in frame.schema.fields}
    terms = [f"{_cast(f'p{i}', kinds[f'p{i}'])} AS {_quote(n)}" for i, n in enumerate(names)]
    terms.append(f"CAST(CONV(SUBSTRING(x, 1, 8), 16, 10) AS BIGINT) * {parts} DIV 4294967296 AS {cut}")
    rows = frame.selectExpr(*terms, f"x AS {mark}")
    ordered = rows.repartition(parts, cut).sortWithinPartitions(cut, mark, *[_quote(n) for n in names]).drop(mark)
    written = folder / "rows"
    writer = ordered.write.mode("overwrite").partitionBy(cut).options(compression="zstd", maxRecordsPerFile=0)
    writer.option("parquet.block.size", GROUP_BYTES).parquet(str(written))
    _gather(written, cut, parts, folder)
    if not any(folder.glob("part-*.parquet")):
        schema = ordered.drop(cut).limit(0).toArrow().schema
        pq.write_table(schema.empty_table(), folder / "part-00000.parquet")
    shutil.rmtree(written)


def _gather(written: Path, cut: str, parts: int, folder: Path) -> None:
    """The files of the ranges, in their order, under plain names."""
    number = 0
    for i in range(parts):
        files = sorted((written / f"{cut}={i}").glob("part-*.parquet"))
        if len(files) > 1:
            raise InternalError("Spark wrote a range of rows twice.")
        for file in files:
            file.rename(folder / f"part-{number:05d}.parquet")
            number += 1


def publish_parts(folder: Path, out: Path, expected: int) -> None:
    """Give the files their place, all together; refused where they do not hold the rows that were counted."""
    files = sorted(folder.glob("part-*.parquet"))
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    if rows != expected:
        raise changed(expected, rows)
    with staged(out.absolute().parent) as place:
        target = place / "parts"
        target.mkdir()
        for file in files:
            _link(file, target / file.name)
        target.rename(out)


def _link(file: Path, to: Path) -> None:
    """The same file under a second name; a copy where it lies on another disk."""
    try:
        os.link(file, to)
    except OSError:
        shutil.copyfile(file, to)


def _free(name: str, names: Sequence[str]) -> str:
    """A name that no column has; Spark does not tell A from a."""
    taken = {n.lower() for n in names}
    while name in taken:
        name += "_"
    return name


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _cast(name: str, kind: str) -> str:
    return f"CAST({name} AS {kind})" if kind else name

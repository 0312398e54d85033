"""A folder of Parquet files that the executors write.

Which file a row goes to, and where it stands there, follows from a hash of its published content alone: the files together are in
the order of the hash, each holds an equal range of it. So names, cuts and order tell nothing about the order of the source, and
the same rows give the same files however the source was cut. Spark's own range partitioning would cut where a sample of the
source happens to lie.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from shoal.disk.atomic import staged
from shoal.engines.core.state import changed
from shoal.engines.spark.answers import shared_folder
from shoal.errors import InternalError

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
    terms = [f"{_cast(f'p{i}', kinds[f'p{i}'])} AS {_quoted(n)}" for i, n in enumerate(names)]
    terms.append(f"CAST(CONV(SUBSTRING(x, 1, 8), 16, 10) AS BIGINT) * {parts} DIV 4294967296 AS {cut}")
    rows = frame.selectExpr(*terms, f"x AS {mark}")
    ordered = rows.repartition(parts, cut).sortWithinPartitions(cut, mark, *[_quoted(n) for n in names]).drop(mark)
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
        found = sorted((written / f"{cut}={i}").glob("part-*.parquet"))
        if len(found) > 1:
            raise InternalError("Spark wrote a range of rows twice.")
        for file in found:
            file.rename(folder / f"part-{number:05d}.parquet")
            number += 1


def publish_parts(folder: Path, out: Path, expected: int) -> None:
    """Give the files their place, all together; refused where they do not hold the rows that were counted."""
    files = sorted(folder.glob("part-*.parquet"))
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    if rows != expected:
        raise changed(expected, rows)
    with staged(out.absolute().parent) as place:
        made = place / "parts"
        made.mkdir()
        for file in files:
            _link(file, made / file.name)
        made.rename(out)


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


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _cast(name: str, kind: str) -> str:
    return f"CAST({name} AS {kind})" if kind else name

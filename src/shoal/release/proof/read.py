"""Reading a written file for the second opinion, without the engines: rows as tuples, or Arrow batches of some columns."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import ShoalError, TamperError, UnreadableError, UsageError, VerificationError
from shoal.release.proof import formats
from shoal.release.proof.bounds import check_arrow, check_text

Codes = npt.NDArray[np.integer[Any]]


def rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Each record as a tuple of the wanted columns; missing is None."""
    if path.is_dir():
        for part in parts(path):
            yield from rows(part, columns)
        return
    if path.suffix == ".csv":
        yield from formats.csv_rows(path, columns)
        return
    for batch in batches(path, columns):
        yield from zip(*(python_values(batch.column(i)) for i in range(len(columns))), strict=True)


def batches(path: Path, columns: Sequence[str]) -> Iterator[Any]:
    """RecordBatches of the wanted columns, in that order."""
    if path.is_dir():
        for part in parts(path):
            yield from batches(part, columns)
        return
    opened = {
        ".csv": formats.csv_batches,
        ".parquet": formats.parquet_batches,
        ".arrow": formats.arrow_batches,
        ".feather": formats.arrow_batches,
        ".xlsx": formats.excel_batches,
        ".sav": formats.statistical_batches,
        ".dta": formats.statistical_batches,
        ".xpt": formats.statistical_batches,
        ".jsonl": formats.jsonl_batches,
    }.get(path.suffix)
    if opened is None:
        hint = "Use CSV, Parquet, Arrow, JSON lines, Excel, SPSS, Stata, SAS transport."
        raise UsageError(f"files ending in '{path.suffix}' cannot be counted again.", hint=hint)
    with _guard(path):
        yield from opened(path, list(columns))


@contextmanager
def _guard(path: Path) -> Iterator[None]:
    """Turn what a reader raises on bytes that nobody wrote on purpose into an error that shows nothing of the file's contents."""
    try:
        yield
    except ShoalError:
        raise
    except (*formats.BROKEN, pa.ArrowException) as error:
        raise formats.unreadable(path, error) from None


def python_values(array: Any) -> list[Any]:
    """Python values; NaN is missing and −0.0 is 0.0. A list of them is one already."""
    if isinstance(array, list):
        return array
    coded = None if pa.types.is_nested(array.type) or pa.types.is_null(array.type) else array.dictionary_encode()
    out = (array if coded is None else coded.dictionary).to_pylist()
    plain = [None if v is None or v != v else (v + 0.0 if isinstance(v, float) else v) for v in out]
    return plain if coded is None else [None if i is None else plain[i] for i in coded.indices.to_pylist()]


def coded_columns(path: Path, columns: Sequence[str], ids: int = 0) -> list[tuple[Codes, Any]]:
    """For each wanted column what :func:`coded` says of it: there is no Python value for each record. Of the first ``ids``
    columns only the numbers are given, if they hold whole numbers: these are not looked up."""
    read: list[list[Any]] = [[] for _ in columns]
    for batch in batches(path, columns):
        for i, kept in enumerate(read):
            column = batch.column(i)
            if i < ids and pa.types.is_integer(column.type):
                column = _narrow(column)
            elif _can_be_coded(column.type):
                column = _encoded(column)
            kept.append(column)
    out = []
    for i in range(len(columns)):
        wide = {c.type for c in read[i]}
        column = pa.chunked_array(
            [c.cast(pa.int64()) for c in read[i]] if len(wide) > 1 else read[i], None if read[i] else pa.null()
        )
        read[i] = []
        numbers = _whole_numbers(column) if i < ids else None
        out.append(coded(column) if numbers is None else (numbers, []))
    return out


def _narrow(numbers: Any) -> Any:
    """Whole numbers (Arrow) in 32 bits if all of them fit."""
    try:
        return numbers.cast(pa.int32())
    except pa.ArrowInvalid:
        return numbers


def _can_be_coded(kind: Any) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_null(kind))


def _encoded(column: Any) -> Any:
    """An Arrow array by its distinct values; NaN is missing and −0.0 is 0.0."""
    if pa.types.is_dictionary(column.type):
        return column
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, pc.add(column, 0.0))
    return column.dictionary_encode()


def _whole_numbers(column: Any) -> Codes | None:
    """The numbers of a column from its least one on, in 32 bits; None if they are not whole, not close, or some are missing."""
    if not pa.types.is_integer(column.type) or column.null_count or not len(column):
        return None
    ends = pc.min_max(column)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if high - low > 4 * len(column) + 1000 or high - low >= 2**31:
        return None
    out = np.empty(len(column), dtype=np.int32)
    at = 0
    for chunk in column.chunks:
        out[at : at + len(chunk)] = chunk.to_numpy() - low
        at += len(chunk)
    return out


def coded(column: Any) -> tuple[Codes, Any]:
    """The number of each value of an Arrow column, and the values (the last one: missing); NaN is missing and −0.0 is 0.0."""
    if not _can_be_coded(column.type):
        numbers: dict[Any, int] = {}
        each = [numbers.setdefault(v, len(numbers)) for chunk in column.chunks for v in chunk.to_pylist()]
        return np.array(each, dtype=np.int64), pa.array(list(numbers))
    encoded = column if pa.types.is_dictionary(column.type) else pa.chunked_array([_encoded(c) for c in column.chunks])
    chunks = encoded.unify_dictionaries().chunks
    distinct = chunks[0].dictionary if chunks else pa.nulls(0, column.type)
    out = np.empty(len(column), dtype=np.int32)
    at = 0
    for part in chunks:
        out[at : at + len(part)] = part.indices.fill_null(len(distinct)).to_numpy()
        at += len(part)
    return out, pa.concat_arrays([distinct, pa.nulls(1, distinct.type)])


def parts(folder: Path) -> list[Path]:
    """The files of a data folder (Spark writes one per partition), in order of their names."""
    files = sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith((".", "_")))
    if not files:
        raise UnreadableError(f"the data folder '{folder.name}' is empty.")
    return files


def header(path: Path) -> list[str]:
    """Names of the columns that the file has, in order."""
    if path.is_dir():
        return _header_of_parts(path)
    with _guard(path):
        return _names(path)


def _header_of_parts(folder: Path) -> list[str]:
    """The names of the columns, which all parts must have, in the same types."""
    import pyarrow.parquet as pq

    schemas = []
    for part in parts(folder):
        with _guard(part):
            schemas.append(pq.read_schema(part).remove_metadata())
    if any(schema != schemas[0] for schema in schemas):
        raise TamperError("the parts of the data have different columns.")
    return list(schemas[0].names)


def _names(path: Path) -> list[str]:
    if path.suffix == ".csv":
        return formats.csv_names(path)
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return list(pq.read_schema(path).names)
    if path.suffix in (".arrow", ".feather"):
        return list(pa.ipc.open_file(pa.memory_map(str(path))).schema.names)
    if path.suffix == ".xlsx":
        return [str(c or "") for c in next(iter(formats.excel_rows(path)), ())]
    if path.suffix == ".jsonl":
        return formats.jsonl_names(path)
    return formats.statistical_names(path)


def check_records(path: Path, stated: int) -> None:
    """Compare the number of records that a file states of itself with the certificate, before the file is read.

    A packed file of a megabyte can hold hundreds of millions of records. Files that state no number (CSV, JSON lines, workbooks)
    are not larger than what is read of them.
    """
    with _guard(path):
        records = sum(_stated_rows(p) or 0 for p in parts(path)) if path.is_dir() else _stated_rows(path)
    if records is not None and records != stated:
        raise VerificationError(f"'{path.name}' has {records:,} records, the certificate states {stated:,}.")


def _stated_rows(path: Path) -> int | None:
    if path.suffix == ".parquet":
        return formats.parquet_records(path)
    if path.suffix in (".arrow", ".feather"):
        return check_arrow(path, 1)
    return formats.statistical_records(path) if path.suffix in (".sav", ".dta") else None


def logical(names: Sequence[str], known: Collection[str]) -> list[str]:
    """Names of columns as the table has them: without the mark that a CSV puts before a name that would run as a formula.

    >>> logical(["age", "'=sum", "'quoted"], ["age", "=sum", "'quoted"])
    ['age', '=sum', "'quoted"]
    """
    known = set(known)
    return [name if name in known or name[1:] not in known else name[1:] for name in names]


LOG = "_delta_log/00000000000000000000.json"
_ACTIONS = ("commitInfo", "protocol", "metaData", "add")


def check_log(file: Path, parts: Mapping[str, int], columns: Sequence[str]) -> None:
    """``parts`` are the names and sizes of the files beside the folder of the log."""
    check_text(file)
    try:
        actions: dict[str, list[Any]] = {name: [] for name in _ACTIONS}
        for line in file.read_text(encoding="utf-8").splitlines():
            ((name, content),) = json.loads(line).items()
            actions[name].append(content)
        added = [(a["path"], a["size"]) for a in actions["add"]]
        plain = not any(a["partitionValues"] or a.get("deletionVector") or a.get("stats") for a in actions["add"])
        (table,) = actions["metaData"]
        names = [field["name"] for field in json.loads(table["schemaString"])["fields"]]
        as_they_are = (table["partitionColumns"], table["configuration"], table["format"]["provider"]) == ([], {}, "parquet")
        once = len(actions["protocol"]) == 1
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise TamperError("the log of the Delta table is not one that Shoal writes.") from None
    if sorted(added) != sorted(parts.items()) or names != list(columns):
        raise TamperError("the log of the Delta table names other files or columns than the certificate.")
    if not (plain and as_they_are and once):
        raise TamperError("the log of the Delta table changes what a reader sees of its files.")

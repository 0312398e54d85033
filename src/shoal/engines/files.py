"""Files: the format by its ending (or ``format=``), then the opener of that format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.engines.base import Relation
from shoal.engines.duckdb import DuckDB, path_literal, require_option
from shoal.engines.frames import open_arrow
from shoal.errors import UnreadableError, UsageError
from shoal.model.roles import check_names

Opened = tuple[DuckDB, Relation]

ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".data": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".sav": "spss",
    ".zsav": "spss",
    ".por": "spss",
    ".dta": "stata",
    ".sas7bdat": "sas",
    ".xpt": "sas",
}
"""File endings and the formats they mean."""


def format_of(path: Path) -> str | None:
    """The format that a path's ending means; a folder or a pattern holds Parquet.

    >>> format_of(Path("a.CSV.gz")), format_of(Path("part-*.parquet")), format_of(Path("x.doc")) is None
    ('csv', 'parquet', True)
    """
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return ENDINGS.get(suffixes[-1]) if suffixes else None


def open_path(path: Path, options: dict[str, Any]) -> Opened:
    """An engine and relation over a file, folder or pattern."""
    given = options.pop("format", None)
    pattern = any(c in path.name for c in "*?[") and not path.exists()
    if not pattern and not path.exists():
        raise _missing(path)
    kind = given or ("parquet" if path.is_dir() or pattern else format_of(path))
    openers: dict[str, Callable[[Path, dict[str, Any]], Opened]] = {
        "csv": _csv,
        "parquet": open_parquet,
        "jsonl": open_jsonl,
        "arrow": open_arrow_file,
        "excel": _excel,
        "spss": _statistical,
        "stata": _statistical,
        "sas": _statistical,
    }
    if kind not in openers:
        raise UsageError(
            f"the format of '{path.name}' is not known.",
            hint=f"Pass format= one of: {', '.join(openers)}; endings known: {', '.join(ENDINGS)}.",
        )
    try:
        with path.open("rb") if path.is_file() else _nothing():
            pass
    except OSError:
        raise UnreadableError(f"file '{path}' may not be read.", hint="Check its rights.") from None
    return openers[kind](path, options)


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


def _missing(path: Path) -> UnreadableError:
    from shoal.errors import nearest

    try:
        close = nearest(path.name, [p.name for p in path.parent.iterdir()]) if path.parent.is_dir() else None
    except OSError:
        close = None
    hint = f"Did you mean '{close}'?" if close else "Check the path."
    return UnreadableError(f"file '{path}' does not exist.", hint=hint)


def _csv(path: Path, options: dict[str, Any]) -> Opened:
    from shoal.engines.csv import open_csv

    return open_csv(path, options)


def _excel(path: Path, options: dict[str, Any]) -> Opened:
    from shoal.engines.excel import open_excel

    return open_excel(path, options)


def _statistical(path: Path, options: dict[str, Any]) -> Opened:
    from shoal.engines.statistical import open_statistical

    return open_statistical(path, options)


def open_parquet(path: Path, options: dict[str, Any]) -> Opened:
    """One Parquet file, all in a folder (and below it), or those a pattern matches; all of one schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from shoal.engines.readers import ParquetReader

    require_option(options, (), "Parquet")
    files = _parquet_files(path)
    try:
        schemas = [pq.read_schema(f) for f in files]
    except (pa.ArrowException, OSError):
        raise UnreadableError(
            f"'{path}' is not a whole Parquet file.", hint="Write it again; the download may be cut off."
        ) from None
    first = schemas[0]
    check_names(first.names, table=path.name)
    for file, schema in zip(files, schemas, strict=True):
        if schema.names != first.names or schema.types != first.types:
            raise UnreadableError(
                f"Parquet file '{file.name}' has other columns than '{files[0].name}'.", hint="Open files of one schema together."
            )
    engine = DuckDB(stable_order=True)
    listed = ", ".join(path_literal(f) for f in files)
    relation = engine.view(f"FROM read_parquet([{listed}], hive_partitioning = false)", str(path), files=len(files))
    text = [f.name for f in first if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
    return engine, replace(relation, reader=ParquetReader([str(f) for f in files], text))


def _parquet_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if path.is_dir():
        found = [p for p in path.rglob("*") if p.suffix.lower() in (".parquet", ".pq") and not p.name.startswith((".", "_"))]
        hidden = [p for p in found if any(part.startswith((".", "_")) for part in p.relative_to(path).parts)]
        found = [p for p in found if p not in hidden]
    else:
        found = [p for p in path.parent.glob(path.name) if p.is_file()]
    if not found:
        raise UnreadableError(f"no Parquet file is found at '{path}'.", hint="Check the folder or pattern.")
    return sorted(found)


def open_jsonl(path: Path, options: dict[str, Any]) -> Opened:
    """JSON lines: the columns and their kinds are DuckDB's reading of a sample, without dates guessed from text."""
    require_option(options, (), "JSON lines")
    engine = DuckDB(stable_order=True)
    relation = engine.view(
        f"FROM read_json({path_literal(path)}, format = 'newline_delimited', dateformat = '%Y-%m-%d', "
        "timestampformat = '%Y-%m-%d %H:%M:%S')",
        str(path),
        format="jsonl",
    )
    types = engine.types(relation)
    odd = [c.name for c in relation.columns if c.kind == "other" or types[c.name] == "JSON"]
    if odd:
        raise UnreadableError(
            f"column '{odd[0]}' of '{path.name}' is not flat or holds values of several types.",
            hint="Give each line the same flat fields, each of one type.",
            column=odd[0],
        )
    return engine, relation


def open_arrow_file(path: Path, options: dict[str, Any]) -> Opened:
    """An Arrow or Feather file, mapped into memory rather than read."""
    import pyarrow as pa

    require_option(options, (), "an Arrow file")
    try:
        with pa.memory_map(str(path)) as source:
            try:
                table = pa.ipc.open_file(source).read_all()
            except pa.ArrowInvalid:
                source.seek(0)
                table = pa.ipc.open_stream(source).read_all()
    except (pa.ArrowException, OSError):
        raise UnreadableError(f"'{path}' is not a whole Arrow file.", hint="Write it again as Arrow or Feather.") from None
    check_names(table.column_names, table=path.name)
    return open_arrow(table.replace_schema_metadata(None), str(path))

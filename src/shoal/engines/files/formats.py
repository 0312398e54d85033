"""Files: the format by its ending (or ``format=``), then the opener of that format."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.engines.core.base import Relation
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.brought import brought, copied, from_stdin, from_zip, in_store, one_csv, reading, stored, text_files
from shoal.engines.files.csv.read import open_csv
from shoal.engines.files.excel import open_excel
from shoal.engines.files.frames import open_arrow
from shoal.engines.files.jsonl import open_jsonl
from shoal.engines.files.lakes import (
    is_lake_source,
    lake_in_store,
    lake_of,
    open_lake,
    open_lake_of_store,
    open_lake_source,
    part_of,
    refuse_inside_lake_of_store,
)
from shoal.engines.files.packing import ending, require_option
from shoal.engines.files.parquet import is_pattern, open_parquet
from shoal.engines.files.sqlite import open_sqlite
from shoal.engines.files.statistical.read import open_statistical
from shoal.errors import UnreadableError, UsageError, suggest
from shoal.model.roles import check_names

Opened = tuple[DuckDB, Relation]

ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".data": "csv",
    ".dat": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".xls": "excel",
    ".xlsb": "excel",
    ".ods": "excel",
    ".sav": "spss",
    ".zsav": "spss",
    ".por": "spss",
    ".dta": "stata",
    ".sas7bdat": "sas",
    ".xpt": "sas",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
    ".db3": "sqlite",
    ".gpkg": "sqlite",
}
"""File endings and the formats they mean."""

_SPREADSHEET = "Open it in a spreadsheet program, and save it as .xlsx or .csv."
_TEXT = "Copy the table into a spreadsheet program, and save it as .xlsx or .csv."
_UNPACK = "Unpack it, and open the table inside."
OTHERS = {
    ".dbf": ("a dBase table", "Open it in LibreOffice Calc, which asks for its code page, and save it as .xlsx or .csv."),
    ".mdb": ("an Access database", "Export the table from Access (External Data) as .xlsx, or with mdb-export as .csv."),
    ".accdb": ("an Access database", "Export the table from Access (External Data) as .xlsx."),
    ".rds": ("an R object", "In R: write.csv(readRDS(FILE), 'table.csv', row.names = FALSE)."),
    ".rda": ("R objects", "In R: load(FILE); write.csv(NAME, 'table.csv', row.names = FALSE)."),
    ".rdata": ("R objects", "In R: load(FILE); write.csv(NAME, 'table.csv', row.names = FALSE)."),
    ".numbers": ("a Numbers document", "In Numbers: File, Export To, Excel."),
    ".sas7bcat": ("labels of a SAS file, without its records", "Open the .sas7bdat file."),
    ".sps": ("commands of SPSS", "Open the .sav file that they make."),
    ".pkl": ("a Python object", "In Python: pandas.read_pickle(FILE).to_parquet('table.parquet')."),
    ".h5": ("an HDF5 file", "In Python: pandas.read_hdf(FILE).to_parquet('table.parquet')."),
    **dict.fromkeys(
        (".html", ".htm", ".xml", ".fods", ".wk1", ".wks", ".slk", ".dif"), ("a page or sheet of another program", _SPREADSHEET)
    ),
    **dict.fromkeys((".doc", ".docx", ".odt", ".rtf", ".pdf"), ("a text document", _TEXT)),
    **dict.fromkeys((".7z", ".rar", ".tar", ".tgz", ".bz2", ".xz"), ("a packed file", _UNPACK)),
}
"""Endings of files that are not opened, what they are, and how to make a table of them."""


def format_of(path: Path) -> str | None:
    """The format that a path's ending means; a folder or a pattern holds Parquet.

    >>> format_of(Path("a.CSV.gz")), format_of(Path("a.jsonl.zst")), format_of(Path("x.doc")) is None
    ('csv', 'jsonl', True)
    """
    return ENDINGS.get(ending(path))


def open_path(path: Path, options: dict[str, Any]) -> Opened:
    """An engine and relation over a file, folder or pattern."""
    given = options.pop("format", None)
    pattern = is_pattern(path)
    if not pattern and not path.exists():
        raise _missing(path)
    lake = lake_of(path) if path.is_dir() else None
    if lake is not None and given in (None, lake):
        return open_lake(path, lake, options)
    if path.suffix.lower() == ".zip":
        return brought(str(path), options, lambda folder: from_zip(path, folder), lambda p, o: open_path(p, _again(o, given)))
    if (path.is_dir() or pattern) and given in (None, "csv"):
        texts = text_files(path, _TEXTS)
        if texts and (given == "csv" or pattern or not text_files(path, (".parquet", ".pq"))):
            return brought(str(path), options, lambda folder: one_csv(texts, folder), open_csv)
    kind = given or ("parquet" if path.is_dir() or pattern else format_of(path))
    if kind is None and (other := OTHERS.get(ending(path))):
        raise UnreadableError(f"'{path.name}' is {other[0]}, which Shoal does not read.", hint=other[1])
    if kind not in OPENERS:
        hint = f"Pass format= one of: {', '.join(OPENERS)}; endings known: {', '.join(ENDINGS)}."
        raise UsageError(f"the format of '{path.name}' is not known.", hint=hint)
    try:
        with path.open("rb") if path.is_file() else nullcontext():
            pass
    except OSError:
        raise UnreadableError(f"file '{path}' may not be read.", hint="Check its rights.") from None
    return OPENERS[kind](path, options)


_TEXTS = tuple(e + packed for e in (".csv", ".tsv", ".txt") for packed in ("", ".gz", ".zst"))


def _again(options: dict[str, Any], format: str | None) -> dict[str, Any]:
    return options | ({"format": format} if format else {})


def open_source(source: str, options: dict[str, Any]) -> Opened | None:
    """A source that is not a local path: ``-``, an object store, ``delta::PATH``; None for others."""
    if is_lake_source(source):
        return open_lake_source(source, options)
    given = options.get("format")
    if source == "-":
        return brought("-", options, lambda folder: from_stdin(folder, given), open_path)
    if in_store(source):
        return _open_stored(source, options)
    return None


def _open_stored(source: str, options: dict[str, Any]) -> Opened:
    """A file or folder of an object store; a lake table by its log, and never a part of one."""
    place = stored(source)
    with reading(place.shown):
        lake = lake_in_store(place.system, place.path)
        if lake is None and format_of(Path(place.path)) in (None, "parquet"):
            refuse_inside_lake_of_store(place.system, place.path, place.shown)
    if lake is not None:
        if options.get("format") not in (None, lake):
            raise part_of(Path(place.path).name, lake, place.shown)
        return open_lake_of_store(place, lake, {n: v for n, v in options.items() if n != "format"})
    return brought(place.shown, options, lambda folder: copied(place, folder), open_path)


def in_database(relation: Relation) -> bool:
    """Whether a table is read by statements that a database answers; files, lake tables and copies are not."""
    source = relation.source
    return "::" in source and relation.reader is None and not is_lake_source(source)


def _missing(path: Path) -> UnreadableError:
    before, separator, _table = str(path).partition("::")
    if separator and Path(before).is_file():  # night.duckdb::visits
        hint = "For a table of a database write duckdb://FILE::table or sqlite:///FILE::table."
        return UnreadableError("a file has no part that is named after '::'.", hint=hint)
    try:
        close = suggest(path.name, [p.name for p in path.parent.iterdir()]) if path.parent.is_dir() else ""
    except OSError:
        close = ""
    return UnreadableError(f"file '{path}' does not exist.", hint=close or "Check the path.")


def open_arrow_file(path: Path, options: dict[str, Any]) -> Opened:
    """An Arrow or Feather file, mapped into memory rather than read."""
    require_option(options, (), "an Arrow file")
    try:
        with pa.memory_map(str(path)) as source:
            try:
                table = pa.ipc.open_file(source).read_all()
            except pa.ArrowInvalid:
                source.seek(0)
                table = pa.ipc.open_stream(source).read_all()
    except (pa.ArrowException, OSError):
        hint = "Write it again as Arrow or Feather (version 2)."
        raise UnreadableError(f"'{path}' is not a whole Arrow file.", hint=hint) from None
    check_names(table.column_names, table=path.name)
    return open_arrow(table.replace_schema_metadata(None), str(path))


OPENERS: dict[str, Callable[[Path, dict[str, Any]], Opened]] = {
    "csv": open_csv,
    "parquet": open_parquet,
    "jsonl": open_jsonl,
    "arrow": open_arrow_file,
    "excel": open_excel,
    "spss": open_statistical,
    "stata": open_statistical,
    "sas": open_statistical,
    "sqlite": open_sqlite,
}
"""Formats and what opens them."""

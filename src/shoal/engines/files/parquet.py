"""Parquet: one file, all in a folder and below it, or those that a pattern matches.

Folders named ``column=value`` (Hive's way of storing a column in the path) become a column of text; a file that has the column
itself is believed. Files must have the same columns, and the same such folders above them.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import check_digits, columns_of
from shoal.engines.core.stored_types import with_stored
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.duckdb.sql import identifier, literal, path_literal
from shoal.engines.files.lakes import refuse_inside_lake
from shoal.engines.files.packing import require_option
from shoal.engines.files.readers import Footers, ParquetReader
from shoal.errors import UnreadableError
from shoal.model.roles import Column, check_names

HIVE_MISSING = "__HIVE_DEFAULT_PARTITION__"
WILDCARDS = "*?["


def is_pattern(path: Path) -> bool:
    """Whether a path names files by a pattern rather than one file or folder."""
    return any(c in str(path) for c in WILDCARDS) and not path.exists()


def open_parquet(path: Path, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """An engine and relation; only the schemas are read."""
    require_option(options, (), "Parquet")
    files = _files(path)
    refuse_inside_lake(files)
    footers = Footers()
    schema = _schema(files, path, footers)
    folders = _folders(files, path, schema.names)
    check_names([*schema.names, *folders], table=path.name)
    check_digits(schema, path.name)
    engine = DuckDB(stable_order=True)
    if all(_is_plain(f.type) for f in schema):
        columns = [*with_stored(columns_of(schema), schema), *(Column(n, "text") for n in folders)]
        plain = engine.defer_view(_reading(files, folders), columns, str(path), files=len(files))
        return engine, replace(plain, reader=_reader(files, schema, folders, footers))
    relation = engine.view(_reading(files, folders), str(path), files=len(files))
    stored = with_stored(relation.columns[: len(schema)], schema)
    names = (*stored, *relation.columns[len(schema) :])
    unlike = [f.name for f, c in zip(columns_of(schema), stored, strict=True) if f.kind != c.kind]
    apart = tuple(dict.fromkeys([*relation.reads_as_text, *unlike]))  # Arrow has other forms of nested columns and of durations
    return engine, replace(relation, columns=names, not_as_codes=apart, reader=_reader(files, schema, folders, footers))


def _reader(
    files: Sequence[Path], schema: pa.Schema, folders: Mapping[str, Sequence[str | None]], footers: Footers
) -> ParquetReader:
    text = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
    return ParquetReader([str(f) for f in files], text, folders, footers)


def _is_plain(kind: pa.DataType) -> bool:
    """Whether Arrow and DuckDB certainly take a type for the same kind of column, so that DuckDB need not be asked."""
    test = pa.types
    kind = kind.value_type if test.is_dictionary(kind) else kind
    checks = (test.is_string, test.is_large_string, test.is_integer, test.is_floating, test.is_boolean, test.is_date32)
    return any(check(kind) for check in checks) and not test.is_float16(kind)


def _reading(files: Sequence[Path], folders: Mapping[str, Sequence[str | None]]) -> str:
    """FROM …, with the columns of the folders joined by the position of each file."""
    listed = ", ".join(path_literal(f) for f in files)
    if not folders:
        return f"FROM read_parquet([{listed}], hive_partitioning = false)"
    kinds = list(dict.fromkeys(zip(*folders.values(), strict=True)))
    parts = []
    for kind in kinds:
        here = [f for f, k in zip(files, zip(*folders.values(), strict=True), strict=True) if k == kind]
        values = ", ".join(
            f"CAST({'NULL' if v is None else literal(v)} AS VARCHAR) AS {identifier(n)}"
            for n, v in zip(folders, kind, strict=True)
        )
        inside = ", ".join(path_literal(f) for f in here)
        parts.append(f"SELECT *, {values} FROM read_parquet([{inside}], hive_partitioning = false)")  # noqa: S608
    return " UNION ALL ".join(parts)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    root = path if path.is_dir() else Path(str(path)[: min(str(path).index(c) for c in WILDCARDS if c in str(path))]).parent
    if path.is_dir():
        files = [p for p in path.rglob("*") if p.suffix.lower() in (".parquet", ".pq")]
    else:
        files = [Path(p) for p in glob.glob(str(path), recursive=True) if Path(p).is_file()]
    files = [p for p in files if not any(part.startswith((".", "_")) for part in p.relative_to(root).parts)]
    if not files:
        hint = "A folder or pattern opens Parquet or CSV files; open other files one by one."
        raise UnreadableError(f"no Parquet or CSV file is found at '{path}'.", hint=hint)
    return sorted(files)


def _schema(files: Sequence[Path], path: Path, footers: Footers) -> pa.Schema:
    """The one schema of all files."""
    first = None
    for file in files:
        try:
            schema = footers.of(str(file)).schema.to_arrow_schema()
        except (pa.ArrowException, OSError):
            hint = "Write it again; the download may be cut off."
            raise UnreadableError(f"'{file}' is not a whole Parquet file.", hint=hint) from None
        first = schema if first is None else first
        if schema.names != first.names or schema.types != first.types:
            hint = "Open files of one schema together."
            raise UnreadableError(f"Parquet file '{file.name}' has other columns than '{files[0].name}'.", hint=hint)
    if first is None or not first.names:
        raise UnreadableError(f"'{path}' has no columns.", hint="Write it again with at least one column.")
    return first


def _folders(files: Sequence[Path], path: Path, names: Sequence[str]) -> dict[str, list[str | None]]:
    """For each ``column=value`` folder between the place that was opened and its files: the value of every file.

    A column that the files themselves have is left to them.
    """
    if path.is_file():
        return {}
    wild = (i for i, part in enumerate(path.parts) if any(c in part for c in WILDCARDS))
    depth = len(path.parts) if path.is_dir() else next(wild)
    above = [[part.partition("=") for part in f.parts[depth:-1] if "=" in part] for f in files]
    keys = [tuple(unquote(k) for k, _, _ in parts) for parts in above]
    if len(set(keys)) > 1 or len(set(keys[0])) != len(keys[0]):
        hint = "Open folders of one layout together."
        raise UnreadableError(f"the files at '{path}' lie in folders that name different columns.", hint=hint)
    values = [[None if v == HIVE_MISSING else unquote(v) for _, _, v in parts] for parts in above]
    return {key: [v[i] for v in values] for i, key in enumerate(keys[0]) if key not in names}

"""``delta::PATH@12``, ``iceberg::PATH``: lake tables at one version, never as plain Parquet."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.engines.core.base import Relation
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.brought import brought
from shoal.engines.files.lakes.delta import open_delta
from shoal.engines.files.lakes.iceberg import IcebergPlace, in_folder, open_iceberg
from shoal.engines.files.lakes.logs import lake_in_store, lake_of
from shoal.engines.files.options import require_option
from shoal.engines.files.stores import Stored, copied, in_store, reading, stored
from shoal.errors import UnreadableError, UsageError
from shoal.model.roles import check_names

_SOURCE = re.compile(r"(delta|iceberg)::(.*?)(?:@([0-9]+))?")


def is_lake_source(source: str) -> bool:
    """Whether a source is ``delta::PATH``, ``iceberg::PATH`` or one of them with ``@VERSION``.

    >>> is_lake_source("delta::people@12"), is_lake_source("people.csv")
    (True, False)
    """
    return source.startswith(("delta::", "iceberg::"))


def open_lake_source(source: str, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """``delta::PATH@12``: the table at a version; the newest without one."""
    found = _SOURCE.fullmatch(source)
    if found is None or not found[2]:
        raise UsageError("the source names no lake table.", hint="Write delta::FOLDER or delta::FOLDER@VERSION.")
    version = None if found[3] is None else int(found[3])
    if in_store(found[2]):
        place = stored(found[2])
        with reading(place.shown):
            kind = lake_in_store(place.system, place.path)
        if kind is None or kind != found[1]:
            raise _is_none(place.shown, found[1])
        return open_lake_of_store(place, kind, options, version)
    path = Path(found[2])
    if lake_of(path) != found[1]:
        raise _is_none(str(path), found[1]) if path.exists() else UnreadableError(f"folder '{path}' does not exist.", hint=_LOG)
    return open_lake(path, found[1], options, version)


_LOG = "Name the folder that holds its log (_delta_log, metadata)."


def _is_none(shown: str, kind: str) -> UnreadableError:
    return UnreadableError(f"'{shown}' is no {kind.capitalize()} table.", hint=_LOG)


def open_lake_of_store(place: Stored, kind: str, options: dict[str, Any], version: int | None = None) -> tuple[DuckDB, Relation]:
    """A lake table of an object store: Delta is copied with its log into a private folder, Iceberg read from its files there."""
    if kind == "delta":
        shown = f"delta::{place.shown}"
        engine, relation = brought(
            shown, options, lambda folder: copied(place, folder), lambda path, given: open_lake(path, kind, given, version)
        )
        return engine, replace(relation, source=f"{shown}@{relation.details['version']}")
    if place.scheme in ("abfs", "abfss"):
        raise UsageError("Iceberg tables in Azure's stores are not read.", hint="Name the table in Spark: spark::table.")
    host = place.host if place.scheme in ("hdfs", "viewfs") else None
    return _checked(open_iceberg, IcebergPlace(place.system, place.path, place.shown, place.scheme, host), kind, options, version)


def open_lake(path: Path, kind: str, options: dict[str, Any], version: int | None = None) -> tuple[DuckDB, Relation]:
    """An engine and relation over a lake table of this machine at one version."""
    if kind == "delta":
        return _checked(open_delta, path, kind, options, version)
    return _checked(open_iceberg, in_folder(path), kind, options, version)


def _checked(open: Any, place: Any, kind: str, options: dict[str, Any], version: int | None) -> tuple[DuckDB, Relation]:
    require_option(options, (), f"a {kind.capitalize()} table")
    engine, relation = open(place, version)
    try:
        check_names([c.name for c in relation.columns], table=relation.source)
    except BaseException:
        engine.close()
        raise
    return engine, relation

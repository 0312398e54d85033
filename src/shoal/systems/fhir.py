"""Clinical systems: FHIR Bulk exports (``.ndjson``), and OMOP tables (CDM 5.x) in a folder of CSV or Parquet files.

Of FHIR, names, addresses, telephone numbers, identifiers, photographs, contacts, notes and narrative are not read at all. What is
read is listed in ``clinical.toml``, column by column; kinds of resources that are not in it stay behind and are counted.

OMOP tables stay where they are. Columns that are not listed there are left out by the policy (``rest: drop``): source
values, providers, care sites, notes, keys of other tables.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from shoal.disk import atomic as disk_folder
from shoal.disk.atomic import write_text
from shoal.errors import DataError, OutputError, UnreadableError
from shoal.systems.folder import Brought, Roles, draft

ROWS = 20_000
"""Rows of a table that are held before they are written."""
LONGEST = 16 * 1024 * 1024
"""Bytes of a line; a resource that is longer is refused."""

_TABLES = tomllib.loads(files(__package__).joinpath("clinical.toml").read_text(encoding="utf-8"))
RESOURCES: dict[str, tuple[str, dict[str, str]]] = {t["resource"]: (name, t["columns"]) for name, t in _TABLES["fhir"].items()}
"""Kind of resource → its table, and where the value of each column stands."""
ROLES = {name: Roles(t["key"], t["quasi"], t["sensitive"]) for name, t in _TABLES["fhir"].items()}
OMOP_ROLES = {name: Roles(**table) for name, table in _TABLES["omop"].items()}


def from_fhir(source: str | Path, out: str | Path, *, k: int = 5) -> Brought:
    """Write a Parquet file for each kind of resource in a folder of a Bulk export, and ``policy.yml`` to release them together.

    Rows are streamed. The folder ``out`` is whole or not there. Errors name file and line, never what stands in it.
    """
    target, files = disk_folder.free(out), _files(Path(source))
    seen: Counter[str] = Counter()
    with disk_folder.staged(target.parent) as stage:
        with _Tables(stage) as tables:
            for file in files:
                for resource in _resources(file):
                    kind = str(resource.get("resourceType"))
                    seen[kind if kind in RESOURCES else "other"] += 1
                    if kind in RESOURCES:
                        tables.add(kind, resource)
        kinds = {RESOURCES[kind][0]: n for kind, n in seen.items() if kind in RESOURCES}
        if "person" not in kinds:
            raise DataError("the export has no Patient.", hint="Name the folder with the .ndjson files of a Bulk export.")
        ordered = {name: kinds[name] for name, _ in RESOURCES.values() if name in kinds}
        named = {name: (f"{name}.parquet", ROLES[name].among(tables.filled(name))) for name in ordered}
        (stage / "policy.yml").write_text(draft("person", named, k), encoding="utf-8")
        disk_folder.publish(stage, target)
    return Brought(ordered, {"other resources": seen["other"]} if seen["other"] else {})


def _files(source: Path) -> list[Path]:
    files = sorted(f for pattern in ("*.ndjson", "*.ndjson.gz") for f in source.glob(pattern)) if source.is_dir() else [source]
    if not files or not all(f.is_file() for f in files):
        raise UnreadableError("there is no .ndjson file.", hint="Name the folder of a FHIR Bulk export, or one of its files.")
    return files


def _resources(file: Path) -> Iterator[dict[str, Any]]:
    """The resources of a file, one a line."""
    with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as lines:
        number = 0
        while line := lines.readline(LONGEST + 1):
            number += 1
            if len(line) > LONGEST:
                raise DataError(f"'{file.name}', line {number:,}: longer than {LONGEST:,} bytes.")
            if not line.strip():
                continue
            try:
                resource = json.loads(line)
            except (ValueError, RecursionError):
                hint = "A Bulk export has one resource a line."
                raise DataError(f"'{file.name}', line {number:,}: not JSON.", hint=hint) from None
            if not isinstance(resource, dict):
                raise DataError(f"'{file.name}', line {number:,}: not a resource.")
            yield resource


class _Tables(contextlib.ExitStack):
    """The Parquet files that grow, by kind of resource."""

    def __init__(self, place: Path) -> None:
        super().__init__()
        self.place = place
        self._waiting: dict[str, list[dict[str, str | None]]] = {}
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._filled: dict[str, set[str]] = {}

    def add(self, kind: str, resource: Mapping[str, Any]) -> None:
        name, columns = RESOURCES[kind]
        row = {column: _value(resource, path) for column, path in columns.items()}
        self._filled.setdefault(name, set()).update(c for c, v in row.items() if v is not None)
        waiting = self._waiting.setdefault(kind, [])
        waiting.append(row)
        if len(waiting) >= ROWS:
            self._write(kind)

    def filled(self, name: str) -> list[str]:
        """The columns of a table that hold any value."""
        return sorted(self._filled.get(name, ()))

    def _write(self, kind: str) -> None:
        name, columns = RESOURCES[kind]
        schema = pa.schema([(column, pa.string()) for column in columns])
        if kind not in self._writers:
            self._writers[kind] = self.enter_context(pq.ParquetWriter(self.place / f"{name}.parquet", schema))
        self._writers[kind].write_table(pa.Table.from_pylist(self._waiting.pop(kind), schema=schema))

    def __exit__(self, *failed: Any) -> bool | None:
        if failed[0] is None:
            for kind in list(self._waiting):
                self._write(kind)
        return super().__exit__(*failed)


def _value(resource: Mapping[str, Any], path: str) -> str | None:
    """What stands at a path, as text; a reference as the id that it names; a moment as its day."""
    if path.startswith("@"):
        return _extension(resource, path[1:])
    at: Any = resource
    for step in path.split("."):
        if step.isdigit():
            at = at[int(step)] if isinstance(at, list) and len(at) > int(step) else None
        else:
            at = at.get(step) if isinstance(at, dict) else None
    if at is None or isinstance(at, dict | list | bool):
        return None
    text = str(at)
    if path.endswith(".reference"):
        return text.rpartition("/")[2].rpartition(":")[2]
    return text[:10] if path in _MOMENTS else text


_MOMENTS = {
    path
    for _, columns in RESOURCES.values()
    for column, path in columns.items()
    if column in ("birth_date", "deceased", "start", "end", "onset", "recorded", "day")
}


def _extension(resource: Mapping[str, Any], name: str) -> str | None:
    """The text of an extension whose address ends with ``name``."""
    for extension in resource.get("extension") or ():
        if isinstance(extension, dict) and str(extension.get("url", "")).endswith(name):
            for part in extension.get("extension") or ():
                if isinstance(part, dict) and part.get("url") == "text":
                    return str(part.get("valueString"))
    return None


def from_omop(source: str | Path, out: str | Path, *, k: int = 5) -> Brought:
    """Write a policy for the OMOP tables in a folder to the file ``out``, beside them or elsewhere."""
    folder, target = Path(source), Path(out)
    if target.exists():
        raise OutputError(f"'{target.name}' exists already.", hint="Name a new file; nothing is written over another.")
    files = {name: file for name in OMOP_ROLES if (file := _file(folder, name))}
    if "person" not in files or len(files) < 2:
        hint = "Name the folder with person.csv, visit_occurrence.csv and so on (or .parquet)."
        raise UnreadableError("the folder has no OMOP table 'person' with tables about it.", hint=hint)
    named, rows = {}, {}
    for name, file in files.items():
        columns, rows[name] = _facts(file)
        if OMOP_ROLES[name].key not in columns:
            raise UnreadableError(f"table '{name}' has no column 'person_id'.", hint="Column names are those of the OMOP CDM.")
        named[name] = (_from(target, file), OMOP_ROLES[name].among(columns))
    write_text(target, draft("person", named, k))
    return Brought(rows)


def _file(folder: Path, name: str) -> Path | None:
    return next((f for ending in ("csv", "parquet") if (f := folder / f"{name}.{ending}").is_file()), None)


def _facts(file: Path) -> tuple[list[str], int]:
    """The columns of a table and how many rows it has."""
    try:
        if file.suffix == ".parquet":
            about = pq.ParquetFile(file)
            return list(about.schema_arrow.names), int(about.metadata.num_rows)
        rows, names = 0, []
        with pc.open_csv(file) as batches:
            names = list(batches.schema.names)
            rows = sum(batch.num_rows for batch in batches)
        return names, rows
    except (pa.ArrowInvalid, OSError):
        raise UnreadableError(f"'{file.name}' cannot be read.", hint="CSV with commas and a header, or Parquet.") from None


def _from(policy: Path, file: Path) -> str:
    """The file as the policy names it: from its own folder where that is possible."""
    here = policy.resolve().parent
    return str(file.resolve().relative_to(here)) if file.resolve().is_relative_to(here) else str(file.resolve())

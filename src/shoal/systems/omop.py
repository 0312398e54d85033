"""OMOP tables (CDM 5.x) in a folder of CSV or Parquet files: a policy that releases them together.

The tables stay where they are. Columns that are not in :data:`ROLES` are left out by the policy (``rest: drop``): source values,
providers, care sites, notes, keys of other tables.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from shoal.disk.atomic import write_text
from shoal.errors import OutputError, UnreadableError
from shoal.systems.folder import Brought, Roles, draft

_PERSON = ["year_of_birth", "gender_concept_id", "race_concept_id", "ethnicity_concept_id"]
ROLES = {
    "person": Roles("person_id", _PERSON, []),
    "visit_occurrence": Roles("person_id", ["visit_start_date"], ["visit_concept_id"]),
    "condition_occurrence": Roles("person_id", ["condition_start_date"], ["condition_concept_id"]),
    "drug_exposure": Roles("person_id", ["drug_exposure_start_date"], ["drug_concept_id"]),
    "procedure_occurrence": Roles("person_id", ["procedure_date"], ["procedure_concept_id"]),
    "measurement": Roles("person_id", ["measurement_date"], ["measurement_concept_id", "value_as_number"]),
    "death": Roles("person_id", ["death_date"], ["cause_concept_id"]),
}
"""Table → the person's column, what others may know, what nobody should learn."""


def from_omop(source: str | Path, out: str | Path, *, k: int = 5) -> Brought:
    """Write a policy for the OMOP tables in a folder to the file ``out``, beside them or elsewhere."""
    folder, target = Path(source), Path(out)
    if target.exists():
        raise OutputError(f"'{target.name}' exists already.", hint="Name a new file; nothing is written over another.")
    found = {name: file for name in ROLES if (file := _file(folder, name))}
    if "person" not in found or len(found) < 2:
        raise UnreadableError(
            "the folder has no OMOP table 'person' with tables about it.",
            hint="Name the folder with person.csv, visit_occurrence.csv and so on (or .parquet).",
        )
    named, rows = {}, {}
    for name, file in found.items():
        columns, rows[name] = _facts(file)
        if ROLES[name].key not in columns:
            raise UnreadableError(f"table '{name}' has no column 'person_id'.", hint="Column names are those of the OMOP CDM.")
        named[name] = (_from(target, file), ROLES[name].among(columns))
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

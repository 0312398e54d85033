"""SPSS, Stata and SAS transport for the second opinion: codes and texts as they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shoal.errors import need
from shoal.release.proof.bounds import check_cells
from shoal.release.proof.written import places, unreadable

SUPPRESSED = "*"


def statistical_names(path: Path) -> list[str]:
    """Names of the columns, in order."""
    return [str(c) for c in _stats_file(path)[0].columns]


def _stats_file(path: Path) -> tuple[Any, Any]:
    """The frame of codes and what the file says about it (value labels)."""
    try:
        import pyreadstat
    except ImportError:
        raise need("stats", "pyreadstat") from None
    readers: dict[str, Any] = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta, ".xpt": pyreadstat.read_xport}
    read = readers[path.suffix]
    declared = {} if path.suffix == ".xpt" else {"user_missing": True}  # declared missing or not, it can be read
    try:
        known = read(str(path), metadataonly=True)[1]
        check_cells(path, max(0, int(known.number_rows or 0)), int(known.number_columns or 0))
        frame, about = read(str(path), **declared)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise unreadable(path, error) from None
    return frame, about


def value_labels(path: Path) -> dict[str, dict[float, str]]:
    """Labels of codes, by column: what a reader of SPSS or Stata sees in their place; empty for other files."""
    if path.suffix not in (".sav", ".dta"):
        return {}
    found = _stats_file(path)[1].variable_value_labels
    return {
        str(column): {float(code): str(label) for code, label in labels.items() if isinstance(code, int | float)}
        for column, labels in found.items()
    }


def statistical_batches(path: Path, columns: list[str]) -> Iterator[Any]:
    """Codes and texts as they are; these formats have no missing text but an empty one, which is therefore missing."""
    import pyarrow as pa

    frame, about = _stats_file(path)
    places([str(c) for c in frame.columns], columns, path.name)
    arrays = []
    for c in columns:
        labels = about.variable_value_labels.get(c, {})
        values = [_stats_cell(v, labels) for v in frame[c].tolist()]
        arrays.append(pa.array(_one_kind(values), pa.string() if all(v is None for v in values) else None))
    yield pa.RecordBatch.from_arrays(arrays, names=columns)


def _stats_cell(value: Any, labels: Any) -> Any:
    if value is None or value != value or value == "":
        return None
    return SUPPRESSED if labels.get(value) == SUPPRESSED else value


def _one_kind(values: list[Any]) -> list[Any]:
    """Values of one kind: as they are, or all as text where a suppressed cell stands among numbers."""
    kinds = {type(v) for v in values if v is not None}
    return [None if v is None else str(v) for v in values] if str in kinds and len(kinds) > 1 else values

"""ClassCounts to Parquet and back: what COUNT found, kept for later without the rows.

A row per class with a code per column, its size and, where counted, its records and weight; categories and sensitive counts
travel in the file's metadata as Arrow. Counts hold data values (the categories): keep such a file as safe as the table.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.disk.atomic import atomic
from shoal.errors import UnreadableError
from shoal.model.counts.classes import ClassCounts, PeopleCounts, SensitiveCounts
from shoal.model.roles import MissingPolicy

FORMAT = "shoal-counts/2"


def write_counts(counts: ClassCounts, path: str | Path) -> Path:
    """Write counts to a Parquet file (mode 0600), whole or not at all.

    >>> import tempfile
    >>> c = ClassCounts([2, 1], ["age"], [[0, -1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     back = read_counts(write_counts(c, Path(folder) / "c.parquet"))
    >>> back.sizes.tolist(), back.codes[0].tolist(), back.columns
    ([2, 1], [0, -1], ('age',))
    """
    import pyarrow.parquet as pq

    table = pa.table(_numbers(counts)).replace_schema_metadata({"shoal": json.dumps(_describe(counts), sort_keys=True)})
    target = Path(path)
    with atomic(target) as temporary:
        pq.write_table(table, temporary, compression="zstd")
    return target


def read_counts(path: str | Path) -> ClassCounts:
    """Counts from a file that :func:`write_counts` made."""
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        about = json.loads((table.schema.metadata or {})[b"shoal"])
        if not isinstance(about, dict) or about["format"] != FORMAT:
            raise KeyError("format")
    except (OSError, KeyError, ValueError, RecursionError, pa.ArrowException):
        raise UnreadableError(f"'{path}' does not hold counts that Shoal wrote.", hint="Count the table again.") from None
    return _counts(about, {n: table[n].to_numpy() for n in table.column_names})


def _numbers(counts: ClassCounts) -> dict[str, Any]:
    """The arrays with an entry per class."""
    numbers: dict[str, Any] = {f"c{i}": codes for i, codes in enumerate(counts.codes)}
    numbers["size"] = counts.sizes
    if counts.records is not None:
        numbers["records"] = counts.records
    if counts.weights is not None:
        numbers["weight"] = counts.weights
    return numbers


def _counts(about: dict[str, Any], numbers: dict[str, Any]) -> ClassCounts:
    return ClassCounts(
        numbers["size"],
        columns=about["columns"],
        codes=[numbers[f"c{i}"] for i in range(about["coded"])],
        categories=[_unpack(c) for c in about["categories"]],
        sensitive={s["column"]: _sensitive(s) for s in about["sensitive"]},
        records=numbers.get("records"),
        weights=numbers.get("weight"),
        n_people=about["n_people"],
        unit=about["unit"],
        missing=MissingPolicy(about["missing"]),
        people=None if about["people"] is None else PeopleCounts(*(_unpack(a).to_numpy() for a in about["people"])),
    )


def _describe(counts: ClassCounts) -> dict[str, Any]:
    p = counts.people
    return {
        "format": FORMAT,
        "columns": list(counts.columns),
        "coded": len(counts.codes),
        "categories": [_pack(c) for c in counts.categories],
        "sensitive": [
            {
                "column": s.column,
                "classes": _pack(s.classes),
                "values": _pack(s.values),
                "counts": _pack(s.counts),
                "categories": _pack(s.categories),
            }
            for s in counts.sensitive.values()
        ],
        "n_people": counts.n_people,
        "unit": counts.unit,
        "missing": counts.missing.value,
        "people": None if p is None else [_pack(a) for a in (p.sizes, p.alike, p.members)],
    }


def _sensitive(about: dict[str, Any]) -> SensitiveCounts:
    numbers = [_unpack(about[n]).to_numpy() for n in ("classes", "values", "counts")]
    return SensitiveCounts(about["column"], numbers[0], numbers[1].astype(np.int32), numbers[2], _unpack(about["categories"]))


def _pack(values: Any) -> str | None:
    """An array as Arrow stream, compressed, as text."""
    if values is None:
        return None
    array = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)
    sink = pa.BufferOutputStream()
    table = pa.table({"v": array})
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return base64.b64encode(sink.getvalue()).decode()


def _unpack(text: str | None) -> Any:
    if text is None:
        return None
    values = pa.ipc.open_stream(base64.b64decode(text)).read_all()["v"]
    return values.combine_chunks()

"""JSON lines output: one object per line, with every field; missing is null. It reads back in the same types."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.engines.core.kinds import is_nested
from shoal.engines.files.packing import Packing, packed
from shoal.engines.files.statistical.refused import need_range
from shoal.kernels.moments import seconds, spelled
from shoal.kernels.text import canonical_text

ROWS = 1 << 16


def write_jsonl(path: Path, schema: Any, tables: Iterator[Any], *, packing: Packing = "none") -> None:
    """UTF-8; numbers as numbers, dates and moments as text; NaN is null, and infinite numbers, which JSON lacks, are refused."""
    names = [json.dumps(name, ensure_ascii=False) for name in schema.names]
    with packed(path, packing) as sink:
        for table in tables:
            for name, column in zip(schema.names, table.columns, strict=True):
                need_range(column, name, "jsonl")
            for start in range(0, table.num_rows, ROWS):
                part = table.slice(start, ROWS)
                cells = [_cells(c) for c in part.columns]
                lines = ("{" + ",".join(map(":".join, zip(names, row, strict=True))) + "}\n" for row in zip(*cells, strict=True))
                sink.write("".join(lines).encode("utf-8", "surrogatepass"))


def _cells(values: Any) -> list[str]:
    """The JSON of each value."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    if pa.types.is_duration(kind):
        values, kind = seconds(values), pa.float64()
    if pa.types.is_floating(kind):
        return [_number(v) for v in values.cast(pa.float64()).to_pylist()]
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind) or is_nested(kind):
        return ["null" if t is None else t for t in canonical_text(values).to_pylist()]
    texts = spelled(values) if pa.types.is_timestamp(kind) else canonical_text(values)
    return ["null" if t is None else json.dumps(t, ensure_ascii=False) for t in texts.to_pylist()]


def _number(value: float | None) -> str:
    return "null" if value is None or not math.isfinite(value) else repr(value + 0.0)

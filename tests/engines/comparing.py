"""From ClassCounts and written files to the plain dictionaries of the oracle."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from engines import oracle
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import ClassCounts


def as_dict(counts: ClassCounts, numeric: set[str] | frozenset[str] = frozenset()) -> dict[str, Any]:
    """ClassCounts in the form of :func:`engines.oracle.count`; ``numeric`` columns as exact numbers instead of text."""
    labels = [_labels(c, k, name in numeric) for name, c, k in zip(counts.columns, counts.codes, counts.categories, strict=True)]
    keys = list(zip(*labels, strict=True)) if labels else [() for _ in counts.sizes]
    assert len(set(keys)) == len(keys), "a class appears twice"
    sizes = counts.sizes.tolist()
    records = counts.records.tolist() if counts.records is not None else sizes
    out: dict[str, Any] = {
        "sizes": dict(zip(keys, sizes, strict=True)),
        "records": dict(zip(keys, records, strict=True)),
        "weights": {} if counts.weights is None else dict(zip(keys, counts.weights.tolist(), strict=True)),
        "people": counts.n_people,
        "once": None if counts.unit is None else _once(counts),
        "sensitive": {},
    }
    for name, inside in counts.sensitive.items():
        values = _labels(inside.values, inside.categories, False)
        nested: dict[Any, dict[Any, int]] = {}
        for c, v, n in zip(inside.classes.tolist(), values, inside.counts.tolist(), strict=True):
            nested.setdefault(keys[c], {})[v] = n
        out["sensitive"][name] = nested
    return out


def _once(counts: ClassCounts) -> Counter[tuple[int, int]]:
    everybody = counts.everybody
    out: Counter[tuple[int, int]] = Counter()
    for size, alike, n in zip(everybody.sizes.tolist(), everybody.alike.tolist(), everybody.members.tolist(), strict=True):
        out[size, alike] += n
    return out


def _labels(codes: Any, categories: Any, numeric: bool) -> list[Any]:
    assert categories.null_count == 0
    if numeric:
        spelled = [oracle.number(v) for v in categories.to_pylist()]
    else:
        spelled = canonical_text(categories).to_pylist()
    return [None if c < 0 else spelled[c] for c in codes.tolist()]


def multiset(rows: list[dict[str, Any]]) -> Counter[tuple[tuple[str, Any], ...]]:
    """Rows read back, in the form of :func:`engines.oracle.recode`."""
    return Counter(tuple(sorted((c, oracle.number(v)) for c, v in r.items())) for r in rows)


def read_parquet(path: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    table: pa.Table = pq.read_table(path)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def booleans(rows: list[dict[str, Any]], *columns: str) -> list[dict[str, Any]]:
    """MySQL's 0 and 1 as booleans again."""
    return [r | {c: None if r[c] is None else bool(r[c]) for c in columns} for r in rows]

"""Slow definitions for the tests of the measures: plain Python over records, written without looking at the code under test."""

from __future__ import annotations

import csv
import itertools
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.model.counts.classes import MISSING, ClassCounts, SensitiveCounts


def read(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def counts_of(rows: list[dict[str, Any]], qi: list[str], sensitive: list[str] = (), numbers: tuple[str, ...] = ()) -> ClassCounts:
    """ClassCounts by dictionaries; ``None`` is missing; columns in ``numbers`` are numeric."""
    domains = {c: sorted({_value(r[c], c in numbers) for r in rows if r[c] is not None}) for c in (*qi, *sensitive)}
    place = {c: {v: i for i, v in enumerate(d)} for c, d in domains.items()}

    def code(row: dict[str, Any], column: str) -> int:
        return MISSING if row[column] is None else place[column][_value(row[column], column in numbers)]

    groups: dict[tuple[int, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[tuple(code(row, c) for c in qi)].append(row)
    keys = list(groups)
    secret = {}
    for column in sensitive:
        entries = []
        for i, key in enumerate(keys):
            entries += [(i, v, n) for v, n in sorted(Counter(code(r, column) for r in groups[key]).items())]
        c, v, n = (np.array(x) for x in zip(*entries, strict=True))
        secret[column] = SensitiveCounts(column, c, v, n, pa.array(domains[column]))
    return ClassCounts(
        [len(groups[k]) for k in keys],
        columns=qi,
        codes=[[k[j] for k in keys] for j in range(len(qi))],
        categories=[pa.array(domains[c]) for c in qi],
        sensitive=secret,
    )


def _value(value: Any, number: bool) -> Any:
    return float(value) if number else value


def dense(matrix: list[list[int]], name: str = "s") -> ClassCounts:
    """ClassCounts from a classes × values matrix."""
    return ClassCounts([sum(r) for r in matrix], sensitive={name: SensitiveCounts.from_dense(name, matrix)})


def shares(row: list[int]) -> list[float]:
    return [c / sum(row) for c in row]


def table_shares(matrix: list[list[int]]) -> list[float]:
    return shares([sum(col) for col in zip(*matrix, strict=True)])


def transport(p: list[float], q: list[float], distance: np.ndarray) -> float:
    """Earth mover's distance as a linear programme."""
    from scipy.optimize import linprog

    m = len(p)
    rows = []
    for i in range(m):
        row = np.zeros((m, m))
        row[i, :] = 1
        rows.append(row.ravel())
    for j in range(m):
        row = np.zeros((m, m))
        row[:, j] = 1
        rows.append(row.ravel())
    found = linprog(distance.ravel(), A_eq=np.array(rows), b_eq=[*p, *q], method="highs")
    assert found.status == 0
    return float(found.fun)


def entropy_l(matrix: list[list[int]]) -> float:
    return min(math.exp(-sum(x * math.log(x) for x in shares(r) if x)) for r in matrix)


def recursive(row: list[int], c: float, l: int) -> bool:  # noqa: E741
    ordered = sorted((x for x in row if x), reverse=True)
    return l == 1 or (l <= len(ordered) and ordered[0] < c * sum(ordered[l - 1 :]))


def wildcard(codes: list[tuple[int, ...]], sizes: list[int], *, add: bool = True) -> list[int]:
    """Members of all classes that agree where both are known, pair by pair."""
    out = []
    for a in codes:
        alike = [
            n for b, n in zip(codes, sizes, strict=True) if all(x == y or MISSING in (x, y) for x, y in zip(a, b, strict=True))
        ]
        out.append(sum(alike) if add else max(alike))
    return out


def minimal_uniques(rows: list[tuple[int, ...]]) -> dict[int, set[frozenset[int]]]:
    """Minimal sample uniques of each record by trying every set of columns."""
    width = len(rows[0])
    out: dict[int, set[frozenset[int]]] = {i: set() for i in range(len(rows))}
    for size in range(1, width + 1):
        for columns in itertools.combinations(range(width), size):
            seen = Counter(tuple(r[c] for c in columns) for r in rows)
            for i, r in enumerate(rows):
                if seen[tuple(r[c] for c in columns)] == 1 and not any(m < set(columns) for m in out[i]):
                    out[i].add(frozenset(columns))
    return out

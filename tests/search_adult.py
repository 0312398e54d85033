"""arx_adult as class counts, read with the standard library only."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa

from shoal.model.counts.classes import ClassCounts, SensitiveCounts
from shoal.model.hierarchy import Hierarchy

COLUMNS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class")


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "adult.csv").open(newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f, delimiter=";"))


def hierarchy(folder: Path, column: str) -> Hierarchy:
    with (folder / f"adult_hierarchy_{column}.csv").open(newline="", encoding="utf-8") as f:
        return Hierarchy.from_rows(column, list(csv.reader(f, delimiter=";")))


def counts(folder: Path, columns: tuple[str, ...] = COLUMNS, sensitive: str | None = None) -> ClassCounts:
    table = rows(folder)
    classes = Counter(tuple(r[c] for c in columns) for r in table)
    place = {c: i for i, c in enumerate(classes)}
    codes, categories = [], []
    for j in range(len(columns)):
        values = sorted({c[j] for c in classes})
        at = {v: i for i, v in enumerate(values)}
        codes.append([at[c[j]] for c in classes])
        categories.append(pa.array(values))
    extra = {}
    if sensitive is not None:
        texts = sorted({r[sensitive] for r in table})
        pairs = Counter((place[tuple(r[c] for c in columns)], texts.index(r[sensitive])) for r in table)
        keys = sorted(pairs)
        first, second = np.array([k[0] for k in keys]), np.array([k[1] for k in keys], dtype=np.int32)
        extra[sensitive] = SensitiveCounts(sensitive, first, second, np.array([pairs[k] for k in keys]), pa.array(texts))
    return ClassCounts(list(classes.values()), columns, codes, categories, extra)

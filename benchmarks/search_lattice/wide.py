"""Lattices too large to list: adult over fourteen columns, and generated tables of twelve to twenty-four."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
from people import bands, tree

import search_adult
from shoal.kernels.group import group_codes
from shoal.model.counts.classes import ClassCounts
from shoal.model.hierarchy import Hierarchy

NUMBERS = {"education-num": (2, 4), "capital-gain": (1_000, 10_000), "capital-loss": (500, 2_000), "hours-per-week": (10, 20)}
RELATED = {"Husband": "spouse", "Wife": "spouse", "Own-child": "family", "Other-relative": "family"}
MORE = ("income", "education-num", "relationship", "capital-gain", "capital-loss", "hours-per-week")
FOURTEEN = (*(c for c in search_adult.COLUMNS if c != "salary-class"), *MORE)


def adult(folder: Path) -> tuple[ClassCounts, dict[str, Hierarchy]]:
    """The original table (32,561 rows, ``?`` is missing): 9,953,280 nodes."""
    with (folder / "adult" / "adult.csv").open(newline="", encoding="utf-8") as f:
        classes = Counter(tuple(None if row[c] == "?" else row[c] for c in FOURTEEN) for row in csv.DictReader(f))
    codes, categories, trees = [], [], {}
    for j, c in enumerate(FOURTEEN):
        values = sorted({key[j] for key in classes} - {None})
        place = {v: i for i, v in enumerate(values)}
        codes.append([place.get(key[j], -1) for key in classes])
        categories.append(pa.array(values))
        if c in NUMBERS:
            trees[c] = tree(c, values, *bands(*NUMBERS[c]))
        elif c == "relationship":
            trees[c] = tree(c, values, lambda x: RELATED.get(x, "none"))
        else:
            trees[c] = tree(c, values) if c == "income" else search_adult.hierarchy(folder / "arx_adult", c)
    return ClassCounts(list(classes.values()), FOURTEEN, codes, categories), trees


def generated(n: int, columns: int, seed: int = 7) -> tuple[ClassCounts, dict[str, Hierarchy]]:
    """Correlated columns of 4 to 64 values with hierarchies of three to five levels."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    codes, categories, trees = [], [], {}
    for j in range(columns):
        domain = int(rng.choice([4, 8, 16, 32, 64]))
        score = 0.6 * common + 0.8 * rng.normal(size=n)
        codes.append(np.clip(((score + 3) / 6 * domain).astype(np.int32), 0, domain - 1))
        leaves = [f"{i:02d}" for i in range(domain)]
        categories.append(pa.array(leaves))
        widths = [2**i for i in range(1, int(np.log2(domain)))][-3:]
        trees[f"q{j:02d}"] = tree(f"q{j:02d}", leaves, *bands(*widths))
    found = group_codes(codes)
    sizes = np.bincount(found.ids, minlength=found.n)
    return ClassCounts(sizes, tuple(trees), [c[found.first] for c in codes], categories), trees

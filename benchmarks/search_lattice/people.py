"""Generated people as class counts over nine columns, with hierarchies of four to six levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.datasets.people import people
from shoal.kernels.group import group_codes
from shoal.model.counts.classes import ClassCounts
from shoal.model.hierarchy import Hierarchy

COLUMNS = ("sex", "year", "postcode", "municipality", "education", "occupation", "income", "visits", "diagnosis")


def tree(name: str, leaves: Sequence[str], *steps: Callable[[str], str]) -> Hierarchy:
    return Hierarchy.from_rows(name, [[leaf, *(s(leaf) for s in steps), "*"] for leaf in leaves])


def bands(*widths: int) -> list[Callable[[str], str]]:
    return [lambda x, w=w: f"{int(x) // w * w}-{int(x) // w * w + w - 1}" for w in widths]


def nested(leaves: Sequence[str], *sizes: int) -> list[Callable[[str], str]]:
    """Neighbours in alphabetical order in groups of the given sizes."""
    place = {leaf: i for i, leaf in enumerate(sorted(leaves))}
    return [lambda x, s=s: f"{s}:{place[x] // s}" for s in sizes]


def table(n: int, seed: int = 1) -> dict[str, Any]:
    t = people(n, seed)
    text = {
        c: t[c].combine_chunks().cast(pa.string())
        for c in ("sex", "postcode", "municipality", "education", "occupation", "diagnosis")
    }
    text["year"] = pc.year(t["date_of_birth"]).combine_chunks().cast(pa.string())
    text["income"] = pc.cast(pc.multiply(pc.divide(t["income"].combine_chunks(), 1000), 1000), pa.string())
    text["visits"] = t["visits"].combine_chunks().cast(pa.string())
    return text


def counts_and_trees(n: int, columns: Sequence[str] = COLUMNS, seed: int = 1) -> tuple[ClassCounts, dict[str, Hierarchy]]:
    text = table(n, seed)
    codes, categories, trees = [], [], {}
    for c in columns:
        d = text[c].dictionary_encode()
        values = d.dictionary.to_pylist()
        codes.append(np.asarray(d.indices.fill_null(-1), dtype=np.int32))
        categories.append(d.dictionary)
        trees[c] = {
            "sex": lambda v: tree("sex", v),
            "year": lambda v: tree("year", v, *bands(5, 10, 20)),
            "income": lambda v: tree("income", v, *bands(5_000, 10_000, 50_000)),
            "visits": lambda v: tree("visits", v, *bands(3, 6, 12)),
            "postcode": lambda v: tree("postcode", v, lambda x: x[:3], lambda x: x[:2], lambda x: x[:1]),
            "municipality": lambda v: tree("municipality", v, *nested(v, 10, 50)),
            "education": lambda v: tree("education", v, *nested(v, 2, 4)),
            "occupation": lambda v: tree("occupation", v, *nested(v, 4, 12)),
            "diagnosis": lambda v: tree("diagnosis", v, *nested(v, 3, 9)),
        }[c](values)
    found = group_codes(codes)
    sizes = np.bincount(found.ids, minlength=found.n)
    return ClassCounts(sizes, columns, [c[found.first] for c in codes], categories), trees

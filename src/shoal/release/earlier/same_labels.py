"""Two release folders, without the original: the classes that both show under the same labels, compared as a reader can.

What a finer and a coarser release tell together needs the original table or the hierarchies; ``anonymize --previous`` tests that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.open import open as opened
from shoal.engines.table import Table
from shoal.kernels.text import canonical_text
from shoal.model.attack import AttackResult
from shoal.model.certificate.certificate import Certificate
from shoal.model.counts.classes import IntArray
from shoal.model.requirement import DistinctDiversity, K
from shoal.release.certificate.codebook import new_codes
from shoal.release.proof.read import batches

_NAME = "differencing: against an earlier release"


def same_labels(data: Path, claims: Certificate, earlier: Path, before: Certificate) -> list[AttackResult]:
    """Values left possible and values read off by subtraction, for classes with the same labels in both releases."""
    from shoal.attacks.composition import Cells, Shown, changes, values_left
    from shoal.kernels.group import group_codes

    quasi = claims.data.quasi
    if sorted(quasi) != sorted(before.data.quasi):
        return [AttackResult.not_run(_NAME, "the two releases have different quasi-identifiers")]
    columns = [c for c in claims.data.sensitive if _as_it_was(claims, c) and _as_it_was(before, c)]
    if not columns:
        return [AttackResult.not_run(_NAME, "no sensitive column is published as it was by both releases")]
    new, old = _texts(data, [*quasi, *columns], earlier), _texts(earlier, [*quasi, *columns], data)
    n = len(new[columns[0]])
    ids = group_codes([codes_of(new[c], old[c]).astype(np.int32) for c in quasi], n_rows=n + len(old[columns[0]])).ids
    values = {c: codes_of(new[c], old[c]) for c in columns}
    every = np.arange(int(ids.max(initial=0)) + 1, dtype=np.int64)
    shown = []
    for side in (slice(None, n), slice(n, None)):
        mine = ids[side]
        cells = {c: Cells(*_count_values(mine, v[side])) for c, v in values.items()}
        shown.append(Shown(np.where(np.isin(every, mine), every, -1), cells))
    sizes = np.bincount(ids[:n], minlength=len(every)).astype(np.int64)
    k, out = next((r.k for r in claims.asked if isinstance(r, K)), claims.k), list[AttackResult]()
    for c in columns:
        least = max(_distinct(claims, c), _distinct(before, c))
        out.append(values_left(sizes, shown[0], [shown[1]], c, distinct=max(least, 2)))
        out.append(changes(shown[0], shown[1], c, k=k, distinct=least))
    return out


def _texts(path: Path, columns: list[str], beside: Path) -> dict[str, Any]:
    """Columns of a file as texts; made inert as in a CSV where the file beside it is one."""
    from shoal.engines.files.csv.write import inert

    texts = read_texts(path, columns)
    return {c: inert(t) for c, t in texts.items()} if beside.suffix == ".csv" != path.suffix else texts


def _as_it_was(claims: Certificate, column: str) -> bool:
    return column in claims.with_treatment("retained")


def _distinct(claims: Certificate, column: str) -> int:
    return max((r.l for r in claims.asked if isinstance(r, DistinctDiversity) and r.column == column), default=1)


def _count_values(classes: IntArray, values: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    width = int(values.max(initial=0)) + 1
    key, counts = np.unique(classes * width + values, return_counts=True)
    return key // width, key % width, counts.astype(np.int64)


MISSING_TEXT = "\x00missing"


def codes_of(left: Any, right: Any) -> IntArray:
    """Codes of two arrays of texts over one dictionary, one after the other."""
    codes = pa.concat_arrays([left, right]).dictionary_encode().indices
    return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int64)


def read_texts(
    data: Path | Table, columns: Sequence[str], codes: Mapping[str, Mapping[str, str]] | None = None
) -> dict[str, Any]:
    """Columns of a written file or table as arrays of texts; a missing value has a text of its own.

    ``codes`` are those that are new in a file of SPSS or Stata, with the groups they stand for: by default what lies beside it.
    """
    if not columns:
        return {}
    labelled = isinstance(data, Path) and data.suffix in (".sav", ".dta")
    held = opened(data) if labelled else data
    pieces = batches(held, columns) if isinstance(held, Path) else held.scan(columns)
    if codes is None:
        codes = new_codes(data.parent) if isinstance(data, Path) and labelled else {}
    texts: dict[str, list[Any]] = {c: [pa.array([], pa.string())] for c in columns}
    for batch in pieces:
        for c in columns:
            read = pc.fill_null(canonical_text(batch[c]), MISSING_TEXT).cast(pa.string())
            groups = codes.get(c)
            texts[c].append(pa.array([groups.get(t, t) for t in read.to_pylist()], pa.string()) if groups else read)
    return {c: pa.concat_arrays(parts) for c, parts in texts.items()}

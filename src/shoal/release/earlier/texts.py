"""Columns of published files as texts, and their codes over one dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoal.engines.open import open as opened
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import IntArray
from shoal.release.proof.read import batches

MISSING_TEXT = "\x00missing"


def codes_of(left: Any, right: Any) -> IntArray:
    """Codes of two arrays of texts over one dictionary, one after the other."""
    import pyarrow as pa

    codes = pa.concat_arrays([left, right]).dictionary_encode().indices
    return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int64)


def read_texts(path: Path, columns: Sequence[str]) -> dict[str, Any]:
    """Columns of a written file as arrays of texts; a missing value has a text of its own."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not columns:
        return {}
    labelled = path.suffix in (".sav", ".dta")
    found = opened(path).scan(columns) if labelled else batches(path, columns)
    texts: dict[str, list[Any]] = {c: [pa.array([], pa.string())] for c in columns}
    for batch in found:
        for c in columns:
            texts[c].append(pc.fill_null(canonical_text(batch[c]), MISSING_TEXT).cast(pa.string()))
    return {c: pa.concat_arrays(parts) for c, parts in texts.items()}

"""The different values of one column with their records, for steps that look at all of them: in little memory, or refused.

A short table is counted by codes. A longer file is grouped by DuckDB, which spills to disk, and the answer is taken in batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.base import Relation
from shoal.engines.core.shaping import cleaned
from shoal.engines.core.stored import one_type
from shoal.engines.duckdb.engine import DuckDB
from shoal.errors import DataError
from shoal.kernels.arrow import to_numpy
from shoal.model.roles import NUMBERS
from shoal.steps.sql import aliased, column
from shoal.steps.sqlglot import exp

SHORT = 1 << 22
"""Rows up to which codes are counted."""

MOST_NUMBERS, MOST_TEXTS = 8_000_000, 1_000_000
"""Different values that are looked at: `groups` of nine million numbers took 1.5 GB."""


def spilled_values(engine: DuckDB, relation: Relation, name: str, least: int) -> tuple[Any, npt.NDArray[np.int64]]:
    """Sorted values that at least ``least`` rows hold (pyarrow array), and how many do; missing ones are left out."""
    known = relation.column(name)
    key = engine.key(column("c0", "s"), known)
    inner = aliased(exp.Subquery(this=cleaned(engine, relation, [name])), "s")
    missing = exp.Is(this=key.copy(), expression=exp.Null())
    there = exp.select(exp.alias_(key, "k", quoted=True)).from_(inner).where(exp.not_(missing))
    records = exp.Count(this=exp.Star())
    counted = exp.select(column("k", "p"), exp.alias_(records, "n", quoted=True)).from_(aliased(exp.Subquery(this=there), "p"))
    counted = counted.group_by(column("k", "p"))
    if least > 1:
        counted = counted.having(exp.GTE(this=records.copy(), expression=exp.convert(least)))
    most = MOST_NUMBERS if known.kind in NUMBERS else MOST_TEXTS
    values, counts, found = [], [], 0
    with engine.sparing():
        for batch in engine.stream(counted):
            found += batch.num_rows
            if found > most:
                raise _too_many(name, most)
            values.append(one_type(engine.decode(batch.column("k"), known), known))
            counts.append(to_numpy(batch.column("n").cast(pa.int64())))
    everything = pa.chunked_array(values).combine_chunks() if values else pa.array([], pa.string())
    order = pc.sort_indices(everything)
    return everything.take(order), np.concatenate([np.zeros(0, np.int64), *counts])[to_numpy(order)]


def need_few(name: str, values: Any, kind: str) -> None:
    """Refuse more different values than a step can hold."""
    most = MOST_NUMBERS if kind in NUMBERS else MOST_TEXTS
    if len(values) > most:
        raise _too_many(name, most)


def as_counted(values: Any, counts: npt.NDArray[np.int64], least: int) -> tuple[Any, npt.NDArray[np.int64]]:
    """The values of a count by codes that are there, and that at least ``least`` rows hold."""
    stays = (counts >= least) & values.is_valid().to_numpy(zero_copy_only=False)
    return values.filter(pa.array(stays)), counts[stays]


def _too_many(name: str, most: int) -> DataError:
    return DataError(
        f"column '{name}' has more than {most:,} different values: this step would have to hold them all.",
        hint="Round or generalize it first, or take a step that does not look at all values (noise, permute, keyed_hash).",
        column=name,
    )

"""The different values of one column with their records, for steps that look at all of them: in little memory, or refused.

A short table is counted by codes. A longer file is grouped by DuckDB, which spills to disk, and the answer is taken in batches.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.base import Relation
from shoal.engines.core.step_sql import cleaned
from shoal.engines.core.stored_types import one_type
from shoal.engines.duckdb.engine import DuckDB
from shoal.errors import DataError
from shoal.kernels.arrow import to_numpy
from shoal.model.roles import NUMBERS
from shoal.steps.sql import aliased, column, exp

SHORT = 1 << 22
"""Rows up to which codes are counted."""

MOST_NUMBERS, MOST_TEXTS = 20_000_000, 1_000_000
"""Different values that are looked at: `groups` of nine million numbers took 1.5 GB."""


Counted = tuple[Any, npt.NDArray[np.int64]]
"""Values (pyarrow array), and how many rows hold each."""


def value_batches(engine: DuckDB, relation: Relation, name: str, least: int) -> Generator[Counted]:
    """The values that at least ``least`` rows hold, in any order, some at a time; missing ones are left out."""
    known, there = relation.column(name), _there(engine, relation, name)
    records = exp.Count(this=exp.Star())
    counted = exp.select(column("k", "p"), exp.alias_(records, "n", quoted=True)).from_(aliased(exp.Subquery(this=there), "p"))
    counted = counted.group_by(column("k", "p"))
    if least > 1:
        counted = counted.having(exp.GTE(this=records.copy(), expression=exp.convert(least)))
    with engine.sparing():
        for batch in engine.stream(counted):
            yield one_type(engine.decode(batch.column("k"), known), known), to_numpy(batch.column("n").cast(pa.int64()))


def _there(engine: DuckDB, relation: Relation, name: str) -> exp.Select:
    """The values of a column that are not missing."""
    key = engine.key(column("c0", "s"), relation.column(name))
    inner = aliased(exp.Subquery(this=cleaned(engine, relation, [name])), "s")
    missing = exp.Is(this=key.copy(), expression=exp.Null())
    return exp.select(exp.alias_(key, "k", quoted=True)).from_(inner).where(exp.not_(missing))


def few_of(name: str, kind: str, batches: Generator[Counted]) -> Counted:
    """The values of all batches, sorted; refused where they are more than a step can hold."""
    most, values, counts, found = most_values(kind), [], [], 0
    with closing(batches):
        for some, times in batches:
            found += len(some)
            if found > most:
                raise _too_many(name, most)
            values.append(some)
            counts.append(times)
    return in_order(values, counts)


def in_order(values: Sequence[Any], counts: Sequence[npt.NDArray[np.int64]]) -> Counted:
    """Batches of values as one, sorted."""
    everything = pa.chunked_array(values).combine_chunks() if values else pa.array([], pa.string())
    order = pc.sort_indices(everything)
    return everything.take(order), np.concatenate([np.zeros(0, np.int64), *counts])[to_numpy(order)]


def most_values(kind: str) -> int:
    """Different values of a kind that a step can hold."""
    return MOST_NUMBERS if kind in NUMBERS else MOST_TEXTS


def need_few(name: str, values: Any, kind: str) -> None:
    """Refuse more different values than a step can hold."""
    if len(values) > (most := most_values(kind)):
        raise _too_many(name, most)


def as_counted(values: Any, counts: npt.NDArray[np.int64], least: int) -> tuple[Any, npt.NDArray[np.int64]]:
    """The values of a count by codes that are there, and that at least ``least`` rows hold."""
    stays = (counts >= least) & values.is_valid().to_numpy(zero_copy_only=False)
    return values.filter(pa.array(stays)), counts[stays]


class TooManyValues(DataError):
    """More different values than a step can hold."""


def _too_many(name: str, most: int) -> TooManyValues:
    return TooManyValues(
        f"column '{name}' has more than {most:,} different values: this step would have to hold them all.",
        hint="Round or generalize it first, or take a step that does not look at all values (noise, permute, keyed_hash).",
        column=name,
    )

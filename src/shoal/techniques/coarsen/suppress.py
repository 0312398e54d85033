"""Suppression: of a column, of records, of cells, of rare values. True of everyone, since it only says less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from shoal.errors import UsageError
from shoal.hierarchies.values import counts_of, texts_of
from shoal.model.plan import Suppression
from shoal.steps import Constant, Drop, MapValues


def suppress_column(column: str, *, keep_name: bool = False) -> Drop | Constant:
    """Leave a column out, or publish ``*`` in every cell of it.

    >>> suppress_column("name").kind, suppress_column("name", keep_name=True).value
    ('drop', '*')
    """
    return Constant(column) if keep_name else Drop(column)


def suppress_records(k: int, columns: Sequence[str], *, unit: str | None = None) -> Suppression:
    """Leave out the records of classes with fewer than ``k`` members (people, with ``unit``).

    >>> suppress_records(5, ["age", "zip"]).scope
    'rows'
    """
    return _suppression(k, columns, "rows", unit)


def suppress_cells(k: int, columns: Sequence[str], *, unit: str | None = None) -> Suppression:
    """Keep the records of such classes, but publish ``*`` in their quasi-identifiers."""
    return _suppression(k, columns, "cells", unit)


def suppress_rare(column: str, values: Any, counts: Any, *, min_count: int) -> MapValues:
    """Publish ``*`` for values of fewer than ``min_count`` records; the plan names only the others.

    >>> step = suppress_rare("job", ["nurse", "astronaut"], [50, 1], min_count=5)
    >>> step.keys, step.on_gap
    (('nurse',), 'suppress')
    """
    if min_count < 1:
        raise UsageError(f"min_count must be at least 1; found {min_count}.")
    texts = texts_of(column, values)
    names = tuple(sorted(t for t, n in zip(texts, counts_of(texts, counts).tolist(), strict=True) if n >= min_count))
    return MapValues(column, names, tuple(range(len(names))), names, "suppress")


def _suppression(k: int, columns: Sequence[str], scope: Literal["rows", "cells"], unit: str | None) -> Suppression:
    if k < 1:
        raise UsageError(f"k must be at least 1; found {k}.")
    if not columns:
        raise UsageError("suppression needs the columns whose combinations are counted.")
    return Suppression(k, tuple(columns), scope, unit)

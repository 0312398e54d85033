"""Rows as plain SQL, for engines that cannot bring a table along."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from shoal.steps.sql import exp


@contextmanager
def inline(data: Any) -> Iterator[exp.Expr]:
    """SELECT … UNION ALL SELECT …: plain SQL that needs no right to create anything."""
    rows = data.to_pylist()
    names = data.column_names
    selects = [
        exp.select(*[exp.alias_(exp.convert(row[n]), n, quoted=True) for n in names]) for row in rows or [dict.fromkeys(names)]
    ]
    if not rows:
        selects[0] = selects[0].where(exp.false())
    yield exp.Subquery(this=_balanced(selects))


def _balanced(selects: Sequence[exp.Select]) -> exp.Expr:
    """UNION ALL as a balanced tree, so that long lists do not nest deeply."""
    if len(selects) == 1:
        return selects[0]
    half = len(selects) // 2
    return exp.Union(this=_balanced(selects[:half]), expression=_balanced(selects[half:]), distinct=False)

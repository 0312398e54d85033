"""Columns as the finder takes them, each read once in a run.

Takes    a table, and perhaps the counts of its rows by some columns
Returns  ColumnFacts: different values with how many rows hold each
Keeps    what the counts hold already is not read again; columns that are asked for together are read in one pass
Cost     facts of at most 100,000 values are kept; those of longer columns are made again for each question
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.attacks.joint import MOST_VALUES
from shoal.errors import UsageError
from shoal.find import ColumnFacts, ColumnFinding, find_columns
from shoal.find.dependencies import count_values
from shoal.kernels.arrow import positions
from shoal.kernels.codes import label_texts
from shoal.kernels.group import sum_by
from shoal.kernels.text import distinct_texts
from shoal.measures.subsets.column_sets import known_columns
from shoal.model.counts.classes import MISSING, ClassCounts
from shoal.model.requirement import KnownColumns
from shoal.model.roles import Role
from shoal.release.proof.facts import Given

if TYPE_CHECKING:
    from shoal.engines.table import Table
    from shoal.release.policy.policy import Policy


TOGETHER, MOST_TOGETHER, CELLS = 8, 400, 4_000_000
"""Columns that are counted in one pass, more of a short table: the codes of every row are held for each of them."""
MOST_HELD = 5_000_000
"""Records up to which sets of columns are counted in memory."""
KEPT = 100_000
"""Different values up to which the facts of a column are kept."""


class ColumnReader:
    """The facts of a table's columns; ``counts`` are those of its rows (not of its people) by some of them."""

    def __init__(self, table: Table, counts: ClassCounts | None = None) -> None:
        self._table = table
        self._counts = None if counts is None or counts.unit is not None else counts
        self._kept: dict[str, ColumnFacts] = {}

    def __getitem__(self, name: str) -> ColumnFacts:
        return self.of([name])[name]

    def of(self, names: Sequence[str]) -> dict[str, ColumnFacts]:
        """The facts of each column, in the order of the names."""
        kept = {name: self._kept[name] for name in names if name in self._kept}
        for name in names:
            counted = None if name in kept else self._counted(name)
            if counted is not None:
                kept[name] = self._keep(name, *counted)
        left = [name for name in names if name not in kept]
        together = max(TOGETHER, min(MOST_TOGETHER, CELLS // max(self._table.most_rows(), 1))) if left else 1
        for start in range(0, len(left), together):
            some = left[start : start + together]
            if self._table.is_short:
                rows = pa.Table.from_batches(list(self._table.scan(some)))
                for i, name in enumerate(some):
                    column = rows.column(i)
                    values, sizes, *_ = count_values(column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())
                    kept[name] = self._keep(name, values, sizes, column.null_count)
                continue
            for name, (values, sizes) in self._table.values_of(some).items():
                missing = int(sizes[-1]) if values.null_count else 0
                end = len(values) - 1 if values.null_count else len(values)
                kept[name] = self._keep(name, values[:end], sizes[:end], missing)
        return {name: kept[name] for name in names}

    def _counted(self, name: str) -> tuple[Any, Any, int] | None:
        """Values, rows of each and rows without one, where the counts hold the column."""
        counts = self._counts
        if counts is None:
            return None
        if name in counts.columns:
            j = counts.column(name)
            categories, codes, sizes = counts.categories[j], counts.codes[j], counts.sizes
        elif name in counts.sensitive and not counts.sensitive[name].order:
            inside = counts.sensitive[name]
            categories, codes, sizes = inside.categories, inside.values, inside.counts
        else:
            return None
        if not isinstance(categories, pa.Array):
            return None
        by_code = sum_by(codes + 1, sizes, len(categories) + 1)
        return categories, by_code[1:], int(by_code[MISSING + 1])

    def _keep(self, name: str, values: Any, sizes: Any, missing: int) -> ColumnFacts:
        column, rows, texts = self._table.schema[name], int(sizes.sum()) + missing, distinct_texts(values)
        facts = ColumnFacts(name, column.kind, texts, sizes, rows, missing, len(texts), column.note, label_texts(column))
        if len(values) <= KEPT:
            self._kept[name] = facts
        return facts


def found_roles(columns: ColumnReader, names: Sequence[str]) -> dict[str, ColumnFinding]:
    """What the finder makes of columns that have no role in a policy."""
    return dict(zip(names, find_columns(list(columns.of(names).values())), strict=True))


def role_evidence(findings: Mapping[str, ColumnFinding]) -> dict[str, str]:
    """What is known of each column, for an error: the reason, and the role that it speaks for."""
    return {n: f.reason if f.role is Role.UNDECIDED else f"looks {f.role.value}: {f.reason}" for n, f in findings.items()}


def linkage_as_it_is(table: Table, policy: Policy) -> Given:
    """If linkage is limited: the share of records found in a table that is published as it is, by all columns together."""
    if not any(r.needs_original for r in policy.requirements):
        return {}
    learnt = [n for n in policy.sensitive if table.distinct(n) <= MOST_VALUES]
    names = [n for n in policy.beside if n not in (*policy.identifying, *learnt)]
    sizes = table.class_sizes([*policy.quasi, *names]) if names else {}
    records = sum(size * n for size, n in sizes.items())
    return {("linkage",): sum(sizes.values()) / records if records else 0.0}


def known_as_it_is(table: Table, policy: Policy) -> Given:
    """If known columns are limited: the share of records that the worst set of the columns finds in the table as it is."""
    if not any(isinstance(r, KnownColumns) for r in policy.requirements):
        return {}
    names = [*policy.quasi, *policy.beside]
    if table.n_rows() > MOST_HELD:
        hint = "Leave it out of this policy."
        raise UsageError(f"known_columns is counted in tables of up to {MOST_HELD:,} records.", hint=hint)
    unit = policy.unit
    rows = pa.Table.from_batches(list(table.scan([*dict.fromkeys([*names, *([unit] if unit else [])])])))
    codes = {n: positions(rows.column(n).combine_chunks().dictionary_encode().indices) for n in rows.column_names}
    columns = {n: codes[n] for n in names}
    seen = [known_columns(columns), *([known_columns(columns, codes[unit].astype(np.int64))] if unit else [])]
    return {("known_columns",): max(s.share(s.at_most) for s in seen)}

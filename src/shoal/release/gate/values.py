"""Columns that people are found by through their value: numbers, dates and places, whatever they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.find import Scale, find_column
from shoal.release.gate.column_facts import ColumnReader
from shoal.release.proof.judge import Given

if TYPE_CHECKING:
    from shoal.engines.table import Table
    from shoal.release.policy.policy import Policy

NUMBERS = ("integer", "float", "decimal", "date", "timestamp", "time")
SCALES = (Scale.NUMBER, Scale.DATE, Scale.PLACE)
"""What a text must be: a number, a date or a place."""


def has_values(columns: ColumnReader, name: str, kind: str) -> bool:
    """Whether a column holds numbers, dates or places."""
    return kind in NUMBERS or (kind == "text" and find_column(columns[name]).scale in SCALES)


def linkage_as_it_is(table: Table, policy: Policy) -> Given:
    """Where linkage is asked for: the share of records that the worst such column finds in a table that is published as it is."""
    if not any(r.needs_original for r in policy.requirements):
        return {}
    columns = ColumnReader(table)
    named = [n for n in (*policy.sensitive, *policy.insensitive) if n not in policy.identifying]
    asked = [n for n in named if has_values(columns, n, table.schema[n].kind)]
    return {("linkage",): max((_found(table, n) for n in asked), default=0.0)}


def _found(table: Table, name: str) -> float:
    """Different values per record that has one: each is found with a chance of 1 over those who share its value."""
    values, counts = table.values(name)
    missing = 1 if values.null_count else 0
    filled = int(counts.sum()) - (int(counts[-1]) if missing else 0)
    return (len(values) - missing) / filled if filled else 0.0

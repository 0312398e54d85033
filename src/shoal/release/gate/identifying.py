"""A column that would be published as it is must not name people by itself.

Takes    the table and the policy
Returns  nothing; a column that ``shoal inspect`` would call a direct identifier, yet is to be published as it is, stops the run
Keeps    only the kind of finding and the name of the column are told, never a value

``allow: {identifying: [column]}`` says that a person has looked and wants the column published all the same; the certificate
lists it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import RoleError
from shoal.kernels.text import canonical_text
from shoal.measures.columns.find import find_column
from shoal.measures.columns.finding import ColumnFacts, ColumnFinding
from shoal.model.roles import Role

if TYPE_CHECKING:
    from shoal.engines.table import Table
    from shoal.release.policy.policy import Policy

LOOKED_AT = ("text", "integer", "binary", "other")
"""Kinds of column that can hold names, codes or free text."""


def check_identifying(table: Table, policy: Policy) -> None:
    """Raise :class:`~shoal.errors.RoleError` for a sensitive or insensitive column that looks like a direct identifier."""
    for name in policy.identifying:
        table.schema.require(name, what="column under allow.identifying")
    for name in (*policy.insensitive, *policy.sensitive):
        if name in policy.identifying or table.schema[name].kind not in LOOKED_AT:
            continue
        why = identifying(table, name)
        if why:
            role = "insensitive" if name in policy.insensitive else "sensitive"
            raise RoleError(
                f"column '{name}' is called {role} and would be published as it is, but {why}.",
                hint=f"Move '{name}' under roles.direct or roles.quasi. If it names nobody: allow: {{identifying: [{name}]}}",
                column=name,
            )


SURE = 0.5
"""Confidence from which a suggestion counts as a finding."""


def check_insensitive(table: Table, policy: Policy) -> None:
    """A preset that asks something of each sensitive column does not stand beside an insensitive one that looks sensitive."""
    if policy.preset is None or not policy.preset.each_sensitive:
        return
    for name in policy.insensitive:
        found = suggestion(table, name)
        if found.role is Role.SENSITIVE and found.confidence >= SURE:
            raise RoleError(
                f"column '{name}' is called insensitive, but {found.reason}; preset '{policy.preset.name}' asks for more there.",
                hint=f"Move '{name}' under roles.sensitive, or leave the preset out and write what you require.",
                column=name,
            )


def suggestion(table: Table, name: str) -> ColumnFinding:
    """What ``shoal inspect`` finds about a column."""
    values, counts = table.values(name)
    missing = int(counts[-1]) if values.null_count else 0
    if values.null_count:
        values, counts = values[:-1], counts[:-1]
    rows = int(counts.sum()) + missing
    return find_column(ColumnFacts(name, table.schema[name].kind, canonical_text(values).to_pylist(), counts, rows, missing))


def identifying(table: Table, name: str) -> str:
    """Why a column looks like a direct identifier; empty where it does not.

    Whole numbers that merely all differ (amounts in a small table) are let through unless they number the rows or are named like
    an identifier.
    """
    kind, found = table.schema[name].kind, suggestion(table, name)
    if found.role is not Role.DIRECT:
        return ""
    if kind == "integer" and found.topic == "all_different":
        numbers = table.values(name)[0].drop_null().to_pylist()
        return "it numbers the rows" if max(numbers) - min(numbers) == len(numbers) - 1 else ""
    return found.reason

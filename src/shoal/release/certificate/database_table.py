"""A release whose data are a new table in the same database: made whole, read back, counted again.

The folder then holds plan, certificate and report; the certificate binds the table by a digest of its rows that does not depend
on their order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import UsageError
from shoal.release.proof.facts import Facts
from shoal.release.proof.recount import facts_of_batches

if TYPE_CHECKING:
    from shoal.engines.table import Table


def check_target(table: Table, name: str, *, replaces: bool) -> None:
    """Refuse a table name for sources that are not in a database, and one that would replace the source."""
    if not table.in_database:
        hint = "Name it as ENGINE-URL::table, or use --format."
        raise UsageError("--to-table needs a table in a database as input.", hint=hint)
    if not name.strip():
        raise UsageError("the name of the new table is empty.", hint="Write --to-table visits_public.")
    own = str(table.source["source"]).rpartition("::")[2]
    if replaces and name.rpartition(".")[2].lower() == own.rpartition(".")[2].lower():
        raise UsageError(f"--replace would drop '{name}', the table that is released.", hint="Choose another name.")
    if replaces and table.engine == "spark":
        hint = "Leave --replace out, and switch a view to the new table."
        raise UsageError("Spark cannot replace a table in one step.", hint=hint)


def digest(table: Table, names: Sequence[str]) -> str:
    """Sum of the SHA-256 of every row's canonical texts: the same for any order of the rows."""
    from shoal.kernels.text import canonical_text

    total = 0
    for batch in table.scan(names):
        columns = [canonical_text(batch.column(i)).to_pylist() for i in range(len(names))]
        for row in zip(*columns, strict=True):
            line = "\x1f".join("n" if cell is None else f"v{len(cell)}:{cell}" for cell in row)
            total += int.from_bytes(hashlib.sha256(line.encode("utf-8", "surrogatepass")).digest(), "big")
    return f"{total % 2**256:064x}"


def facts_of_table(
    table: Table,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    unit: str | None,
    levels: Mapping[str, Sequence[int]],
    orders: Mapping[str, Sequence[str]],
) -> Facts:
    """The rows of a table, read back and counted by the second opinion."""
    wanted = [*quasi, *sensitive, *([unit] if unit else [])]
    rows: Any = table.scan(wanted)
    return facts_of_batches(rows, len(quasi), sensitive, unit is not None, levels, {}, orders)

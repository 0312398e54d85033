"""RECODE: the data are written by the engine that holds them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from shoal.engines.core.state import changed
from shoal.errors import HierarchyGapError, OutputError, UsageError, VerificationError, need
from shoal.model.plan import Plan
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision
from shoal.release.proof.facts import Facts
from shoal.steps import Drop, Keep

if TYPE_CHECKING:
    from shoal.engines.recode.write import Recoded
    from shoal.engines.table import Table


ENDINGS = {
    "csv": "csv",
    "parquet": "parquet",
    "arrow": "arrow",
    "excel": "xlsx",
    "xlsx": "xlsx",
    "spss": "sav",
    "sav": "sav",
    "stata": "dta",
    "dta": "dta",
    "jsonl": "jsonl",
    "sas": "xpt",
    "xpt": "xpt",
}
"""Formats of the published data, and the ending of the file. No packed ones: what they unpack to could not be bounded first."""


def ending(form: str) -> str:
    """The ending of the published file, or of the folder of a Delta table.

    >>> ending("excel"), ending("delta")
    ('xlsx', 'parquet')
    """
    known = {**ENDINGS, DELTA: "parquet"}
    if form not in known:
        raise UsageError(f"format '{form}' is not known.", hint=f"Formats: {', '.join(known)}.")
    return known[form]


def recode(prepared: Prepared, decision: Decision, out: Path, *, keep_unit: bool = False) -> Recoded:
    """The plan applied into a file, or into a folder of Parquet files where the engine's own machines can write them.

    ``keep_unit`` leaves the person column as it is, for the private count of people.
    """
    plan = decision.plan
    if keep_unit:
        unit = prepared.policy.unit
        steps = tuple(Keep(s.column) if isinstance(s, Drop) and s.column == unit else s for s in plan.steps)
        plan = Plan(steps, plan.suppression, plan.seed, plan.shuffle)
    try:
        return prepared.table.with_nested_as_text().recode(
            plan, out, kept=decision.kept, class_map=decision.class_map, parts=True
        )
    except HierarchyGapError:  # every value that was counted is covered
        raise changed() from None
    except OutputError:
        raise
    except OSError as error:  # whose message would name a file of a temporary place
        hint = "Check rights and free space."
        raise OutputError(f"the data could not be written: {type(error).__name__}.", hint=hint) from None


def published_unit(prepared: Prepared, plan: Plan) -> str | None:
    """The person column, where the plan publishes it in some form."""
    unit = prepared.policy.unit
    return None if unit is None or any(isinstance(s, Drop) for s in plan.for_column(unit)) else unit


DELTA = "delta"
"""The format; its data are a folder ``data.parquet`` of parts, with the log in it."""


def check_library() -> None:
    """Refuse where the library that writes the log is not there."""
    if find_spec("deltalake") is None:
        raise need("lake", "deltalake")


def into_folder(data: Path) -> None:
    """Data in one file become a folder with one part, a folder stays; refused where Delta has no type for a column."""
    import pyarrow.parquet as pq  # loads file systems and TLS

    if data.is_file():
        part = data.rename(data.with_name(".part"))
        data.mkdir()
        part.rename(data / "part-00000.parquet")
    for field in pq.read_schema(data / "part-00000.parquet"):
        if not _has_type(field):
            hint = "Write --format parquet, or change or drop the column."
            raise OutputError(f"Delta has no type for column '{field.name}' ({field.type}).", hint=hint)


def _has_type(field: Any) -> bool:
    from deltalake import Schema

    try:
        Schema.from_arrow(pa.schema([field]))
    except Exception as error:  # the library has no class of its own for it
        if type(error) is not Exception:
            raise
        return False
    return True


def write_log(data: Path) -> None:
    """Version 0 of the table: all parts. No row is read for it, and no value of the data gets into the log."""
    from deltalake import convert_to_deltalake
    from deltalake.exceptions import DeltaError

    try:
        convert_to_deltalake(str(data), collect_stats=False)
    except (DeltaError, OSError, ValueError) as error:
        hint = "Check rights and free space."
        raise OutputError(f"the log of the Delta table cannot be written: {type(error).__name__}.", hint=hint) from None


class ByEngine:
    """The written files as a table of the engine that wrote them; ``quasi`` are their quasi-identifiers."""

    def __init__(self, table: Table, quasi: Sequence[str]) -> None:
        self._table, self._quasi = table, tuple(quasi)

    def require_same(self, facts: Facts) -> None:
        """Refuse where the engine finds other classes in the files than the count from their bytes."""
        sizes = self._table.class_sizes(self._quasi)
        records = sum(size * n for size, n in sizes.items())
        other = sizes != dict(facts.sizes) if facts.people is None else sum(sizes.values()) != facts.classes
        if other or records != facts.records:
            raise VerificationError("two ways of counting the written files disagree; nothing was released.")

    def sizes(self, *names: str) -> dict[int, int]:
        """How many groups of records there are of each size that agree in the quasi-identifiers and these columns."""
        return self._table.class_sizes([*self._quasi, *names])


def remove_passing(done: Recoded, data: Path) -> None:
    """Remove the copy of ``data`` that the engine's machines wrote into a folder that they share, where it is one."""
    if done.parts_at and Path(done.parts_at) != data.absolute():
        shutil.rmtree(done.parts_at, ignore_errors=True)


def by_engine(table: Table, done: Recoded, quasi: Sequence[str]) -> ByEngine | None:
    """The files that ``table``'s engine wrote itself; None where this process wrote them."""
    return ByEngine(table.neighbour(done.parts_at), quasi) if done.parts_at else None

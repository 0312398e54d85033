"""``preview``: the statements that a verb would send to a database, without sending them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shoal.api.anonymize import anonymize
from shoal.api.arguments import policy_of
from shoal.api.check import check
from shoal.api.count_table import count_table
from shoal.api.events import measure_events
from shoal.api.hierarchy import hierarchy
from shoal.api.inspect import inspect
from shoal.api.measure import measure
from shoal.api.open import open
from shoal.api.study.study import study
from shoal.api.transform import transform
from shoal.disk.folder import scratch
from shoal.engines.core.preview import Statement
from shoal.engines.previewed import MADE_UP_ROWS, PreviewTable
from shoal.engines.table import Table
from shoal.errors import DataError, EngineError, InfeasibleError, UsageError
from shoal.model.plan import Plan
from shoal.release.policy.policy import Policy

ALWAYS = (
    "Only the catalog was asked. What is counted decides the rest: levels and value maps in the statement that reads the rows, "
    f"more statements where people have several rows or columns are counted one by one (this is for {MADE_UP_ROWS:,} rows)."
)
UNFINISHED = "What follows depends on the data, such as values that a list must hold, or on a new table, which is counted again."


@dataclass(frozen=True)
class Preview:
    """The statements in their order. ``complete`` where the verb could be walked through to its end on made-up rows."""

    verb: str
    statements: tuple[Statement, ...]
    complete: bool
    note: str = ALWAYS

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(f"-- returns {s.returns}\n{s.sql};" for s in self.statements)


def preview(verb: str, source: str, *, reading: Mapping[str, Any] | None = None, **words: Any) -> Preview:
    """What a verb would send to the database of a table. The catalog is asked for the columns; no statement is sent.

    Parameters
    ----------
    verb : str
        ``inspect``, ``measure``, ``measure_events``, ``check``, ``hierarchy``, ``study``, ``count_table``, ``transform`` or
        ``anonymize``.
    source : str
        ``ENGINE-URL::table``.
    reading : mapping, optional
        Keywords of :func:`shoal.open`.
    **words
        Keywords of the verb, as it takes them itself.

    Returns
    -------
    Preview
        ``statements`` (``sql``; ``returns``: nothing, aggregates or rows), ``complete``, ``note``.

    Examples
    --------
    >>> import duckdb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with duckdb.connect(f"{folder}/clinic.db") as db:
    ...         _ = db.execute("CREATE TABLE patients AS SELECT 30 AS age, 'f' AS sex")
    ...     found = preview("hierarchy", f"duckdb://{folder}/clinic.db::patients", column="age")
    >>> [s.returns for s in found.statements]
    ['aggregates']
    """
    if verb not in VERBS:
        raise UsageError(f"'{verb}' has no preview.", hint=f"Verbs: {', '.join(VERBS)}.")
    with scratch() as folder, open(source, **(reading or {})) as opened:
        table = PreviewTable.over(opened)
        complete = True
        try:
            VERBS[verb](table, folder, words)
        except (DataError, InfeasibleError, EngineError):  # made-up rows follow no list of values; a new table is not there
            complete = False
            sent = table.recorder.statements
            if verb in ("anonymize", "transform") and not any(s.returns == "rows" or s.sql.startswith("CREATE") for s in sent):
                table.note_recode(Plan(), folder / "rows.csv")
        return Preview(verb, tuple(table.recorder.statements), complete, ALWAYS if complete else f"{ALWAYS} {UNFINISHED}")


def _anonymize(table: PreviewTable, folder: Path, words: dict[str, Any]) -> None:
    more = {name: words.pop(name) for name in ("plan", "to_table", "exclude", "exclude_by", "format") if name in words}
    policy = policy_of(words.pop("policy", None), words)  # type: ignore[arg-type]
    release: Any = anonymize(_by_policy(table, policy), policy, **more)
    release.write(folder / "release")


def _check(table: PreviewTable, _: Path, words: dict[str, Any]) -> None:
    policy = policy_of(words.pop("policy", None), words)  # type: ignore[arg-type]
    check(_by_policy(table, policy), policy)


def _by_policy(table: PreviewTable, policy: Policy) -> Table:
    """The table with the roles that the policy gives: rows are made up by them."""
    known = {"quasi": policy.quasi, "sensitive": policy.sensitive, "insensitive": policy.insensitive, "direct": policy.direct}
    roles = {role: [n for n in names if n in table.schema] for role, names in known.items()}
    return table.with_roles(**roles, unit=policy.unit, weight=policy.weight)


def _transform(table: PreviewTable, folder: Path, words: dict[str, Any]) -> None:
    out = words.pop("out", None) or "rows.csv"
    transform(table, words.pop("plan"), out if out.startswith("::") else folder / Path(out).name, **words)


VERBS: dict[str, Callable[[PreviewTable, Path, dict[str, Any]], Any]] = {
    "inspect": lambda table, _, words: inspect(table, **words),
    "measure": lambda table, _, words: measure(table, **words),
    "check": _check,
    "measure_events": lambda table, _, words: measure_events(table, **words),
    "hierarchy": lambda table, _, words: hierarchy(table, **words),
    "study": lambda table, _, words: study(table, **words),
    "count_table": lambda table, _, words: count_table(table, **words),
    "transform": _transform,
    "anonymize": _anonymize,
}

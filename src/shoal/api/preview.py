"""``preview``: the statements that a verb would send to a database, without sending them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shoal.api.anonymize import anonymize
from shoal.api.arguments import open, policy_of
from shoal.api.attack import attack
from shoal.api.check import check
from shoal.api.comparison import compare
from shoal.api.count_table import count_table
from shoal.api.design import questionnaire
from shoal.api.events import measure_events
from shoal.api.hierarchy import hierarchy
from shoal.api.inspect import inspect
from shoal.api.link import encode, link
from shoal.api.measure import measure
from shoal.api.predict import predict
from shoal.api.study import study
from shoal.api.transform import transform
from shoal.api.verify import verify
from shoal.disk.atomic import scratch
from shoal.engines.connect import SERVERS, is_url, scheme_of
from shoal.engines.preview import MADE_UP_ROWS, PreviewTable, Statement
from shoal.engines.table import Table
from shoal.errors import DataError, EngineError, InfeasibleError, UsageError
from shoal.model.plan import Plan
from shoal.release.policy.policy import Policy

ALWAYS = (
    "Only the catalog was asked. What is counted decides the rest: levels and value maps in the statement that reads the rows, "
    "more statements where people have several rows, columns are counted one by one or published columns follow from "
    f"quasi-identifiers (this is for {MADE_UP_ROWS:,} rows)."
)
TABLES = ("release", "with_", "original", "control", "right", "table", "pilot")
"""Words that may name further tables."""
NO_KEY = bytes(range(32))
UNFINISHED = "What follows depends on the data, such as values that a list must hold, or on a new table, which is counted again."


@dataclass(frozen=True)
class Preview:
    """The statements in their order. ``complete`` where the verb could be walked through to its end on made-up rows."""

    verb: str
    statements: tuple[Statement, ...]
    complete: bool
    note: str = ALWAYS

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(f"-- returns {s.returns}\n{s.sql};" for s in self.statements)


def preview(verb: str, source: str | None = None, *, reading: Mapping[str, Any] | None = None, **options: Any) -> Preview:
    """What a verb would send to the database of a table. The catalog is asked for the columns; no statement is sent.

    Parameters
    ----------
    verb : str
        ``inspect``, ``measure``, ``measure_events``, ``check``, ``hierarchy``, ``study``, ``count_table``, ``transform``,
        ``anonymize``, ``compare``, ``attack``, ``link``, ``encode``, ``predict`` (with ``question``; ``column`` for ``zipf``),
        ``design``, ``verify`` or ``publish`` (to a registry: ``columns``, ``unit``, ``weight``).
    source : str, optional
        What the verb takes first: ``ENGINE-URL::table``, or a file or folder where a later word names a table of a database.
    reading : mapping, optional
        Keywords of :func:`shoal.open`, for ``source``.
    **options
        Keywords of the verb, as it takes them itself. Tables among them that are in a database are not read either.

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
    with scratch() as folder, ExitStack() as stack:
        under = _Watch(stack)
        table = under.of(source, reading or {})
        options = {name: under.of(given, {}, name == "control") if name in TABLES else given for name, given in options.items()}
        if not under.tables:
            raise UsageError("only tables in databases are read by statements.", hint="Leave --preview out.")
        complete = True
        try:
            VERBS[verb](table, folder, options)
        except (DataError, InfeasibleError, EngineError):  # made-up rows follow no list of values; a new table is not there
            complete = False
            sent = under.statements
            if verb in ("anonymize", "transform") and not any(s.returns == "rows" or s.sql.startswith("CREATE") for s in sent):
                under.tables[0].note_recode(Plan(), folder / "rows.csv")
        notes = [ALWAYS, *([] if complete else [UNFINISHED])]
        return Preview(verb, tuple(under.statements), complete, " ".join(notes))


class _Watch:
    """Tables under watch, and what would be sent to their databases, in order."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.statements: list[Statement] = []
        self.tables: list[PreviewTable] = []

    def of(self, source: Any, reading: Mapping[str, Any], others: bool = False) -> Any:
        """A table of a database under watch, perhaps with ``others`` in it than in the rest; anything else as it is."""
        if not isinstance(source, str) or not is_url(source) or scheme_of(source) not in SERVERS:
            return source
        opened = self._stack.enter_context(open(source, **reading))
        self.tables.append(PreviewTable.watched(opened, self.statements, int(others)))
        return self.tables[-1]


def _anonymize(table: PreviewTable, folder: Path, options: dict[str, Any]) -> None:
    own = ("plan", "to_table", "replace", "exclude", "exclude_by", "format")
    more = {name: options.pop(name) for name in own if name in options}
    policy = policy_of(options.pop("policy", None), options)  # type: ignore[arg-type]
    release: Any = anonymize(_by_policy(table, policy), policy, **more)
    release.write(folder / "release")


def _check(table: PreviewTable, _: Path, options: dict[str, Any]) -> None:
    policy = policy_of(options.pop("policy", None), options)  # type: ignore[arg-type]
    check(_by_policy(table, policy), policy)


def _by_policy(table: PreviewTable, policy: Policy) -> Table:
    """The table with the roles that the policy gives: rows are made up by them."""
    known = {"quasi": policy.quasi, "sensitive": policy.sensitive, "insensitive": policy.insensitive, "direct": policy.direct}
    roles = {role: [n for n in names if n in table.schema] for role, names in known.items()}
    return table.with_roles(**roles, unit=policy.unit, weight=policy.weight)


def _transform(table: PreviewTable, folder: Path, options: dict[str, Any]) -> None:
    out = options.pop("out", None) or "rows.csv"
    transform(table, options.pop("plan"), out if out.startswith("::") else folder / Path(out).name, **options)


def _predict(table: PreviewTable, _: Path, options: dict[str, Any]) -> None:
    column = options.pop("column", None)
    predict(options.pop("question"), table=table if column is None else (table, column), **options)


VERBS: dict[str, Callable[[Any, Path, dict[str, Any]], Any]] = {
    "inspect": lambda table, _, options: inspect(table, **options),
    "measure": lambda table, _, options: measure(table, **options),
    "check": _check,
    "measure_events": lambda table, _, options: measure_events(table, **options),
    "hierarchy": lambda table, _, options: hierarchy(table, **options),
    "study": lambda table, _, options: study(table, **options),
    "count_table": lambda table, _, options: count_table(table, **options),
    "transform": _transform,
    "anonymize": _anonymize,
    "compare": lambda table, _, options: compare(table, **{**options, "models": False}),
    "attack": lambda table, _, options: attack(table, **options),
    "link": lambda table, _, options: link(table, **options),
    "encode": lambda table, _, options: encode(table, **({"key": NO_KEY} | options)),
    "predict": _predict,
    "design": lambda path, _, options: questionnaire(path, **options),
    "verify": lambda folder, _, options: verify(folder, **options),
    "publish": lambda table, _, options: table.count(**options),
}

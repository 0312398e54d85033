"""``inspect``: the columns of a table, the role that each might have with a reason, and which of them together identify."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.api.arguments import Names, Source, opened, quasi_of
from shoal.api.column_facts import SMALL, Sanity, check_sanity, facts_of, some_rows, table_facts
from shoal.api.measure import measure
from shoal.engines.open import open as open_source
from shoal.engines.table import Table
from shoal.errors import EmptyTableError, MemoryBudgetError
from shoal.find import ColumnFinding, Scale, find_columns
from shoal.find.dependencies import with_dependencies
from shoal.find.safe_harbor.classes import identifier_class
from shoal.measures.subsets.column_sets import Subset
from shoal.model.display import Progress
from shoal.model.roles import ByRole, Role, Schema

MOST_COLUMNS = 12
"""Suggested quasi-identifiers whose subsets are counted; those with most values first."""

SIGNS_SHOWN = 3
"""Columns of numbers with signs that a note names."""

NO_QUASI = (
    "No column looks like a quasi-identifier: check whether that is so. A draft takes amounts that few people share for known: "
    "anyone who pays or receives one knows it."
)


@dataclass(frozen=True, repr=False)
class Inspection(ByRole):
    """Columns with suggested roles, and the sets of suggested quasi-identifiers that single out most people."""

    table: str
    engine: str
    records: int
    columns: tuple[ColumnFinding, ...]
    together: tuple[Subset, ...]
    k: int | None
    unique: int | None
    notes: tuple[str, ...] = ()
    read: Mapping[str, Any] = field(default_factory=dict)
    """How a file is read: format, delimiter, encoding, decimal mark … as guessed or given."""
    sanity: Sanity | None = None
    """Values that cannot be, counted; None where only aggregates may be read."""

    def __repr__(self) -> str:
        roles = ", ".join(f"{len(self.of_role(role))} {role.value}" for role in Role if self.of_role(role))
        return f"<Inspection of {self.table}: {self.records:,} records, {len(self.columns)} columns ({roles})>"

    def of_role(self, role: Role | str) -> tuple[str, ...]:
        """Columns for which the role is suggested."""
        wanted = Role.parse(role)
        return tuple(c.name for c in self.columns if c.role is wanted)

    @property
    def unit(self) -> str | None:
        """A column that seems to name people who have several rows."""
        return next((c.name for c in self.columns if c.mark == "unit"), None)

    @property
    def weight(self) -> str | None:
        return next((c.name for c in self.columns if c.mark == "weight"), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "engine": self.engine,
            "records": self.records,
            "columns": [c.to_json() for c in self.columns],
            "suggested": {
                "direct": list(self.direct),
                "quasi": list(self.quasi),
                "sensitive": list(self.sensitive),
                "insensitive": list(self.insensitive),
                "undecided": list(self.undecided),
                "unit": self.unit,
                "weight": self.weight,
            },
            "k": self.k,
            "unique": self.unique,
            "together": [s.to_json() for s in self.together],
            "notes": list(self.notes),
            "read": dict(self.read),
            "sanity": None if self.sanity is None else self.sanity.to_json(),
        }

    def _repr_html_(self) -> str:
        from shoal.report.blocks import inspection_card

        return inspection_card(self)


def inspect(
    table: Source,
    *,
    quasi: Names | None = None,
    sensitive: Names | None = None,
    direct: Names | None = None,
    insensitive: Names | None = None,
    unit: str | None = None,
    weight: str | None = None,
    rules: Sequence[str] = (),
    today: datetime.date | None = None,
    progress: Progress | None = None,
    qi: Names | None = None,
) -> Inspection:
    """Suggest a role for every column, with a reason and a confidence; nothing is decided and no data value is kept.

    Parameters
    ----------
    table : Table, path, URL or frame
        Anything that :func:`shoal.open` accepts, or a table that it returned.
    quasi, sensitive, direct, insensitive : names of columns, optional
        Roles that are known already: they are kept. ``qi`` is accepted for ``quasi``.
    unit, weight : str, optional
        The column that names a person, where it is known (k and the uniques then count people); the sampling weights.
    rules, today : sequence of str, date, optional
        What must be, beside what follows from the names: ``age<=120``; the day after which births lie in the future (now).

    Examples
    --------
    >>> t = {"email": ["a@x.org", "b@y.org", "c@z.org"], "age": [30, 30, 41], "diagnosis": ["x", "y", "y"]}
    >>> found = inspect(t)
    >>> found.direct, found.quasi, found.sensitive, found.unique
    (('email',), ('age',), ('diagnosis',), 1)
    """
    source = opened(
        table,
        quasi=quasi_of(quasi, qi),
        sensitive=sensitive,
        direct=direct,
        insensitive=insensitive,
        unit=unit,
        weight=weight,
    )
    records, whole = _rows(source)
    facts = [] if source.only_aggregates else table_facts(source, records, progress, whole)
    if progress is not None:
        progress(0.5, f"judging {len(facts):,} columns")
    both = zip(facts, find_columns(facts), strict=True)
    classes = ((made, identifier_class(one, made)) for one, made in both)
    classed = [replace(made, hipaa=None if found is None else found.item) for made, found in classes]
    classed = by_numbers(source, records) if source.only_aggregates else classed
    found, compared = tuple(_as_said(made, source.schema) for made in classed), True
    if facts:
        found, compared = with_dependencies(found, some_rows(source, whole))
    counted = source if whole is None else open_source(whole).with_roles(unit=source.schema.unit, weight=source.schema.weight)
    together, k, unique, notes = _together(counted, found)
    notes += _written_with_signs(found)
    notes += () if compared else ("Too many columns to compare all: some that follow from others may not be marked.",)
    read = _reading(source)
    sane = check_sanity(counted, facts, found, rules, today)
    return Inspection(source.name, source.engine, records, found, together, k, unique, notes, read, sane)


def _written_with_signs(found: Sequence[ColumnFinding]) -> tuple[str, ...]:
    """Notes about numbers that are texts to the reader: beside spellings of "no value", or because of a sign, a unit or marks."""
    numbers = [c for c in found if c.kind == "text" and c.scale is Scale.NUMBER]
    signs, gaps = [c.name for c in numbers if not c.missing_values], [c.name for c in numbers if c.missing_values]
    notes = []
    if signs:
        notes.append(
            f"Numbers with a sign, a unit or marks between thousands are texts here ({_first_names(signs)}): a release bands "
            "them in the same spelling; distances and means need plain numbers."
        )
    if gaps:
        notes.append(
            f"Numbers beside words that may mean 'no value' are texts here ({_first_names(gaps)}): --read null=WORD reads a text "
            "file with plain numbers, and such words as missing."
        )
    return tuple(notes)


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(f"'{n}'" for n in names[:SIGNS_SHOWN]) + (", …" if len(names) > SIGNS_SHOWN else "")


def first_look(table: Table) -> Inspection:
    """What each column is, as :func:`inspect` finds it; without what takes longest: sets that identify, HIPAA."""
    records, whole = _rows(table)
    found = tuple(_as_said(made, table.schema) for made in find_columns(table_facts(table, records, whole=whole)))
    found, _ = with_dependencies(found, some_rows(table, whole))
    return Inspection(table.name, table.engine, records, found, (), None, None, (), _reading(table))


def _reading(table: Table) -> dict[str, Any]:
    """How the file was read, without its place."""
    return {key: value for key, value in table.source.items() if key not in ("source", "engine")}


def _rows(table: Table) -> tuple[int, Any]:
    """How many rows there are, and the rows themselves where they are few enough to be held; no row at all is refused."""
    records = table.n_rows()
    if records == 0:
        raise EmptyTableError(f"table '{table.name}' has no rows.", hint="Check the file or the filter that left nothing.")
    small = records * len(table.schema.columns) <= SMALL and not table.only_aggregates
    return records, pa.Table.from_batches(list(table.scan())) if small else None


def by_numbers(table: Table, records: int) -> list[ColumnFinding]:
    """Findings where only aggregates may be read: columns without a role are not looked at, their values may be identifiers."""
    found: list[ColumnFinding] = []
    for column in table.schema.columns:
        role = table.schema.roles.get(column.name)
        if role in (Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE) and column.name != table.schema.unit:
            values, sizes = table.values(column.name)
            missing = int(sizes[-1]) if values.null_count else 0
            held = len(values) - (1 if missing else 0)
            facts = facts_of(column, values.slice(0, held), np.asarray(sizes[:held]), missing, records)
            found += find_columns([facts])
            continue
        distinct, missing = table.numbers(column.name)
        alone = distinct > 1 and distinct >= records - missing
        reason = "every record has another value" if alone else "not looked at; taken for one that others may know"
        suggested = Role.DIRECT if alone else Role.QUASI
        found.append(ColumnFinding(column.name, column.kind, distinct, missing, suggested, f"{reason} (only aggregates)", 0.3))
    return found


def _as_said(made: ColumnFinding, schema: Schema) -> ColumnFinding:
    """The suggestion, with what the caller has said about the column in its place."""
    role, mark = schema.roles.get(made.name), made.mark
    if read := schema[made.name].missing_values:
        made = replace(made, missing_values=tuple(dict.fromkeys((*read, *made.missing_values))))
    for word, column in (("unit", schema.unit), ("weight", schema.weight)):
        if column is not None and (column == made.name or mark == word):
            mark = word if column == made.name else ""
    if role is None and made.name in (schema.unit, schema.weight):
        role = Role.DIRECT if made.name == schema.unit else Role.INSENSITIVE
    if role is None:
        return made if made.mark == mark else replace(made, mark=mark)
    return replace(made, role=role, reason="you said so", confidence=1.0, mark=mark)


def _together(
    table: Table, columns: tuple[ColumnFinding, ...]
) -> tuple[tuple[Subset, ...], int | None, int | None, tuple[str, ...]]:
    quasi = [c for c in columns if c.role is Role.QUASI]
    notes: tuple[str, ...] = ("Suggestions only: confirm each role before you rely on it.",)
    if table.only_aggregates:
        quasi = [c for c in quasi if table.schema.roles.get(c.name) is Role.QUASI]
        notes += ("Only aggregates were read: columns without a role are judged by their number of values alone.",)
    if not quasi:
        return (), None, None, (*notes, NO_QUASI)
    if len(quasi) > MOST_COLUMNS:
        quasi = sorted(quasi, key=lambda c: -c.distinct)[:MOST_COLUMNS]
        notes += (f"Which columns together identify was counted for the {MOST_COLUMNS} with most values.",)
    order = {n: i for i, n in enumerate(table.schema.names)}
    names = tuple(sorted((c.name for c in quasi), key=lambda n: order[n]))
    person = next((c.name for c in columns if c.mark == "unit"), None)
    try:
        found = measure(table, quasi=names, sensitive=(), unit=person)
    except MemoryBudgetError:
        return (), None, None, (*notes, "Too many combinations to count here: name fewer columns and measure them.")
    return tuple(found.worst_subsets(3)), found.k, found.unique, notes

"""``inspect``: the columns of a table, the role that each might have with a reason, and which of them together identify."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.api.arguments import Names, Source, names, opened, quasi_of
from shoal.api.measure import measure
from shoal.engines.core.base import BATCH_ROWS
from shoal.engines.core.memory import left_for_data
from shoal.engines.open import open as open_source
from shoal.engines.table import Table
from shoal.errors import EmptyTableError, MemoryBudgetError, UsageError
from shoal.find import ColumnFacts, ColumnFinding, Scale, find_columns
from shoal.find.dependencies import LEAST_ROWS, SomeRows, count_values, with_dependencies
from shoal.find.finding import measured_scale
from shoal.find.safe_harbor.classes import Classed, identifier_class
from shoal.find.sanity import Rule, guessed_rules, meaning_of, read_day, said_rule
from shoal.kernels.arrow import from_numpy, is_missing, positions, to_numpy
from shoal.kernels.text import canonical_text, distinct_texts
from shoal.measures.subsets.column_sets import Subset
from shoal.model.counts.classes import FloatArray, IntArray
from shoal.model.display import Progress
from shoal.model.roles import MOMENTS, NUMBERS, ByRole, Column, Role, Schema

SMALL = 5_000_000
"""Cells up to which a table of any number of rows is read whole and counted in memory."""

FEW_ROWS = 100_000
"""Rows up to which a table is read and counted in memory, of a very wide one some columns at a time: queries take longer."""

CELLS_AT_ONCE = 50_000_000
"""Cells whose values are counted in one reading of the table; those of few rows are held."""

BYTES_PER_CELL = 24
"""Bytes that a cell takes while its column is counted: the value, its code, and the texts of the distinct values."""

MOST_VALUES = 10_000
"""Distinct values of a column that are looked at for patterns, evenly spread over all."""


def table_facts(
    table: Table, records: int, progress: Progress | None = None, whole: Any = None
) -> tuple[list[ColumnFacts], SomeRows]:
    """What is counted and known of every column; the table is read once, or once for as many columns as fit. And some rows.

    ``whole`` are its rows, where they are in memory already.
    """
    columns = table.schema.columns
    if whole is None and is_held(table, records):
        whole = table.whole()
    if whole is not None:
        return _facts_and_rows(columns, whole, records)
    few = records <= FEW_ROWS
    at_once = max(1, _cells(table, SMALL if few else CELLS_AT_ONCE) // max(records, 1))
    facts: list[ColumnFacts] = []
    for start in range(0, len(columns), at_once):
        some = columns[start : start + at_once]
        if progress is not None:
            progress(start / (len(columns) + 1), f"looking at {some[0].name}")
        if few:
            facts += _facts_and_rows(some, pa.Table.from_batches(list(table.scan([c.name for c in some]))), records)[0]
            continue
        for column, counts in zip(some, table.count_many([[c.name] for c in some]), strict=True):
            values, sizes = counts.categories[0], np.asarray(counts.sizes)
            missing = int(sizes[0]) if len(sizes) and counts.codes[0][0] == -1 else 0
            facts.append(facts_of(column, values, sizes[1:] if missing else sizes, missing, records))
    together = max(LEAST_ROWS, min(BATCH_ROWS, _cells(table, CELLS_AT_ONCE) // len(columns)))
    return facts, SomeRows(pa.Table.from_batches([next(iter(table.scan(batch_size=together)))]))


def is_held(table: Table, records: int) -> bool:
    """Whether the rows are few enough to be read once and held."""
    return records * len(table.schema.columns) <= _cells(table, CELLS_AT_ONCE if records <= FEW_ROWS else SMALL)


def _cells(table: Table, most: int) -> int:
    """Cells that are held at once: ``most``, or as many as a limit of memory leaves room for."""
    return most if table.memory is None else min(most, left_for_data(table.memory) // BYTES_PER_CELL)


def _facts_and_rows(columns: Sequence[Column], whole: Any, records: int) -> tuple[list[ColumnFacts], SomeRows]:
    """The facts about columns whose values are in memory, and some of their rows."""
    facts, rows = [], SomeRows(whole)
    for i, column in enumerate(columns):
        held = whole.column(i)
        values, sizes, at, order = count_values(held.chunk(0) if held.num_chunks == 1 else held.combine_chunks())
        facts.append(facts_of(column, values, sizes, held.null_count, records))
        rows.keep(column.name, at, facts[-1].values if len(values) <= MOST_VALUES else (), order)
    return facts, rows


def facts_of(column: Column, values: pa.Array, sizes: IntArray, missing: int, records: int) -> ColumnFacts:
    if (distinct := len(values)) > MOST_VALUES:
        picked = np.linspace(0, distinct - 1, MOST_VALUES).astype(np.int64)
        looked, sizes = values.take(from_numpy(picked)), sizes[picked]
    else:
        looked = values
    labels: dict[str, str] = {}
    if column.labels:
        labels = dict(zip(canonical_text(pa.array(list(column.labels))).to_pylist(), column.labels.values(), strict=True))
    facts = ColumnFacts(
        column.name,
        column.kind,
        distinct_texts(looked),
        sizes,
        records,
        missing,
        distinct,
        column.note,
        labels,
        _declared_missing(column, values),
        column.order,
        measured_scale(column),
        column.scale,
    )
    if column.kind in NUMBERS and (pa.types.is_integer(values.type) or pa.types.is_float64(values.type)):
        vars(facts)["numbers"] = to_numpy(looked).astype(np.float64) + 0.0  # what would be read from the texts
    return facts


def _declared_missing(column: Column, values: pa.Array) -> tuple[str, ...]:
    """Values of the column that the file declares missing, single or in ranges, as text."""
    if not column.user_missing:
        return ()
    held = zip(values.to_pylist(), canonical_text(values).to_pylist(), strict=True)
    return tuple(text for value, text in held if any(_is_declared(value, rule) for rule in column.user_missing))


def _is_declared(value: Any, declared: object) -> bool:
    if isinstance(declared, tuple):
        low, high = declared
        return bool(low <= value <= high)
    return bool(value == declared)


NO_SUCH_DAY = "no such day"
TIMED = ("birth", "death", "admission", "discharge")
MISLED = 0.5
"""A guessed rule that more than this share of the values break is a wrong guess, and is dropped."""


@dataclass(frozen=True)
class Impossible:
    """What cannot be, in which columns, and how many records hold it."""

    what: str
    columns: tuple[str, ...]
    records: int

    def to_json(self) -> dict[str, object]:
        return {"what": self.what, "columns": list(self.columns), "records": self.records}


@dataclass(frozen=True)
class Sanity:
    """``rules`` that were checked, what broke them, records with at least one such value, and their share (error rate)."""

    rules: int
    found: tuple[Impossible, ...]
    records: int
    rate: float

    def to_json(self) -> dict[str, object]:
        impossible = [one.to_json() for one in self.found]
        return {"rules": self.rules, "found": impossible, "records": self.records, "rate": self.rate}


def check_sanity(
    table: Table,
    facts: Sequence[ColumnFacts],
    findings: Sequence[ColumnFinding],
    said: Sequence[str] = (),
    today: datetime.date | None = None,
    whole: Any = None,
) -> Sanity | None:
    """Count what breaks the rules that follow from the names of columns, and those that somebody stated.

    None where only aggregates may be read. ``today`` is the day of the run where none is given; ``whole`` are the rows in memory.
    """
    if table.only_aggregates:
        if said:
            raise UsageError("rules are checked record by record.", hint="Leave --only-aggregates out.")
        return None
    today = today or datetime.datetime.now().astimezone().date()
    gone = {f.name: f.missing_values for f in findings}
    texts, compact, years = _written_dates(facts)
    numbers = [f.name for f in facts if f.kind in NUMBERS and f.name not in compact]
    dates = [f.name for f in facts if f.kind in MOMENTS or f.name in texts or f.name in compact]
    rules = guessed_rules(numbers, dates, years, today) + [said_rule(text, numbers, dates) for text in said]
    rules += [Rule(NO_SUCH_DAY, (name,), _no_such_day(name)) for name in (*texts, *compact)]
    use = sorted({name for rule in rules for name in rule.columns})
    if not use:
        return Sanity(0, (), 0, 0.0)
    broken: list[list[Any]] = [[] for _ in rules]
    filled = np.zeros(len(rules))
    rows = 0
    for batch in table.scan(use) if whole is None else _decode(whole.select(use)).to_batches():
        columns: dict[str, FloatArray] = {}
        for name in use:
            columns |= _numbers(name, batch.column(name), gone.get(name, ()), digits=name in compact)
        rows += batch.num_rows
        for i, rule in enumerate(rules):
            wrong = np.asarray(rule.broken(columns))
            broken[i].append(wrong)
            filled[i] += (wrong | np.logical_and.reduce([np.isfinite(columns[n]) for n in rule.columns])).sum()
    whole = [np.concatenate(parts) if parts else np.zeros(0, dtype=bool) for parts in broken]
    kept = [i for i, rule in enumerate(rules) if rule.asked or whole[i].sum() <= MISLED * filled[i]]
    impossible = tuple(Impossible(rules[i].what, rules[i].columns, int(whole[i].sum())) for i in kept if whole[i].any())
    spoiled = int(np.logical_or.reduce([whole[i] for i in kept]).sum()) if kept else 0
    return Sanity(len(kept), impossible, spoiled, spoiled / rows if rows else 0.0)


def _written_dates(facts: Sequence[ColumnFacts]) -> tuple[list[str], list[str], list[str]]:
    """Columns of dates that are texts, of dates of eight digits, and of years of birth or death."""
    texts, compact, years = [], [], []
    for one in facts:
        if one.kind == "text" and 2 * sum(_is_date(t) for t in one.values) > len(one.values):
            texts.append(one.name)
        elif one.kind in NUMBERS and meaning_of(one.name) in TIMED and one.numbers is not None and len(one.numbers):
            middle = float(np.median(one.numbers))
            if 15_000_000 < middle < 22_001_231:
                compact.append(one.name)
            elif 1500 < middle < 2200:
                years.append(one.name)
    return texts, compact, years


def _is_date(text: str) -> bool:
    day, wrong = read_day(text)
    return wrong or not math.isnan(day)


def _no_such_day(name: str) -> Any:
    return lambda columns: columns[f"{name}\0"] > 0


def _numbers(name: str, values: pa.Array, gone: Sequence[str], *, digits: bool) -> dict[str, FloatArray]:
    """Numbers, or days, of a column (NaN missing); of texts and eight digits also whether the day does not exist."""
    kind = values.type
    if digits:
        return _from_texts(name, values.cast(pa.int64(), safe=False).cast(pa.string()), gone)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _from_texts(name, values, gone)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        plain = pc.local_timestamp(values) if pa.types.is_timestamp(kind) and kind.tz else values
        read, skip = plain.cast(pa.date32(), safe=False), [read_day(t)[0] for t in gone]
    else:
        read, skip = values.cast(pa.float64(), safe=False), [float(t) for t in gone if _is_number(t)]
    out = to_numpy(read).astype(np.float64)
    out[is_missing(read) | np.isin(out, skip)] = np.nan
    return {name: out}


def _from_texts(name: str, values: pa.Array, gone: Sequence[str]) -> dict[str, FloatArray]:
    coded = values.dictionary_encode()
    read = [(float("nan"), False) if t in gone else read_day(t) for t in coded.dictionary.to_pylist()]
    at = positions(coded.indices)
    days = np.array([*(d for d, _ in read), np.nan])[at]
    wrong = np.array([*(float(w) for _, w in read), 0.0])[at]
    return {name: days, f"{name}\0": wrong}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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

    def to_json(self) -> dict[str, object]:
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
    roles = {"quasi": quasi_of(quasi, qi), "sensitive": sensitive, "direct": direct, "insensitive": insensitive}
    source = opened(table).with_roles(**{role: names(given) for role, given in roles.items()}, unit=unit, weight=weight)
    records, whole = _rows(source)
    facts, rows = ([], None) if source.only_aggregates else table_facts(source, records, progress, whole)
    if progress is not None:
        progress(0.5, f"judging {len(facts):,} columns")
    both = zip(facts, find_columns(facts), strict=True)
    classed = [_with_class(finding, identifier_class(one, finding)) for one, finding in both]
    classed = by_numbers(source, records) if source.only_aggregates else classed
    findings, compared = tuple(_as_said(finding, source.schema) for finding in classed), True
    if rows is not None:
        findings, compared = with_dependencies(findings, rows)
    together, k, unique, notes = _together(source, findings, whole)
    notes += _written_with_signs(findings)
    notes += () if compared else ("Too many columns to compare all: some that follow from others may not be marked.",)
    read = _reading(source)
    sane = check_sanity(source, facts, findings, rules, today, whole)
    return Inspection(source.name, source.engine, records, findings, together, k, unique, notes, read, sane)


def _decode(table: Any) -> Any:
    """A table with the values in the place of dictionaries."""
    types = [t.value_type if pa.types.is_dictionary(t) else t for t in table.schema.types]
    return table if types == table.schema.types else table.cast(pa.schema(list(zip(table.column_names, types, strict=True))))


def _with_class(made: ColumnFinding, classed: Classed | None) -> ColumnFinding:
    item = None if classed is None else classed.item
    return made if made.hipaa == item else replace(made, hipaa=item)


def _written_with_signs(findings: Sequence[ColumnFinding]) -> tuple[str, ...]:
    """Notes about numbers that are texts to the reader: beside spellings of "no value", or because of a sign, a unit or marks."""
    numbers = [c for c in findings if c.kind == "text" and c.scale is Scale.NUMBER]
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


def first_look(table: Table, progress: Progress | None = None) -> Inspection:
    """What each column is, as :func:`inspect` finds it; without what takes longest: sets that identify, HIPAA."""
    records, whole = _rows(table)
    if table.only_aggregates:
        findings = tuple(_as_said(finding, table.schema) for finding in by_numbers(table, records))
    else:
        facts, rows = table_facts(table, records, progress, whole)
        findings, _ = with_dependencies(tuple(_as_said(finding, table.schema) for finding in find_columns(facts)), rows)
    return Inspection(table.name, table.engine, records, findings, (), None, None, (), _reading(table))


def _reading(table: Table) -> dict[str, Any]:
    """How the file was read, without its place."""
    return {key: value for key, value in table.source.items() if key not in ("source", "engine")}


def _rows(table: Table) -> tuple[int, pa.Table | None]:
    """How many rows there are, and the rows themselves where they are few enough to be held; no row at all is refused."""
    records = table.n_rows()
    if records == 0:
        raise EmptyTableError(f"table '{table.name}' has no rows.", hint="Check the file or the filter that left nothing.")
    held = is_held(table, records) and not table.only_aggregates
    return records, table.whole() if held else None


def by_numbers(table: Table, records: int) -> list[ColumnFinding]:
    """Findings where only aggregates may be read: columns without a role are not looked at, their values may be identifiers."""
    findings: list[ColumnFinding] = []
    for column in table.schema.columns:
        role = table.schema.roles.get(column.name)
        if role in (Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE) and column.name != table.schema.unit:
            values, sizes = table.values(column.name)
            missing = int(sizes[-1]) if values.null_count else 0
            held = len(values) - (1 if missing else 0)
            facts = facts_of(column, values.slice(0, held), np.asarray(sizes[:held]), missing, records)
            findings += find_columns([facts])
            continue
        distinct, missing = table.numbers(column.name)
        alone = distinct > 1 and distinct >= records - missing
        reason = "every record has another value" if alone else "not looked at; taken for one that others may know"
        suggested = Role.DIRECT if alone else Role.QUASI
        findings.append(ColumnFinding(column.name, column.kind, distinct, missing, suggested, f"{reason} (only aggregates)", 0.3))
    return findings


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
    table: Table, columns: tuple[ColumnFinding, ...], whole: Any
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
    if whole is not None:
        used = dict.fromkeys((*names, person, table.schema.unit, table.schema.weight))
        held = open_source(_decode(whole.select([n for n in used if n is not None])))
        table = held.with_roles(unit=table.schema.unit, weight=table.schema.weight)
    try:
        measured = measure(table, quasi=names, sensitive=(), unit=person)
    except MemoryBudgetError:
        return (), None, None, (*notes, "Too many combinations to count here: name fewer columns and measure them.")
    return tuple(measured.worst_subsets(3)), measured.k, measured.unique, notes

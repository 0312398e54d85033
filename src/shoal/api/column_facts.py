"""What is counted and known of the columns of a table before they are judged."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.table import Table
from shoal.errors import UsageError
from shoal.find import ColumnFacts, ColumnFinding
from shoal.find.finding import measured_scale
from shoal.find.sanity import Rule, guessed_rules, meaning_of, read_day, said_rule
from shoal.kernels.arrow import from_numpy, is_missing, positions, to_numpy
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import FloatArray
from shoal.model.display import Progress
from shoal.model.roles import MOMENTS, NUMBERS, Column

SMALL = 5_000_000
"""Cells up to which a table is read whole and counted in memory: quick for thousands of columns."""

FEW_ROWS = 100_000
"""Rows up to which a wider table is read and counted in memory, some columns at a time: a query for each column takes longer."""

CELLS_AT_ONCE = 50_000_000
"""Cells whose values are counted in one reading of the table."""

MOST_VALUES = 10_000
"""Distinct values of a column that are looked at for patterns, evenly spread over all."""


def table_facts(table: Table, records: int, progress: Progress | None = None, whole: Any = None) -> list[ColumnFacts]:
    """What is counted and known of every column; the table is read once, or once for as many columns as fit.

    ``whole`` are its rows, where they are in memory already.
    """
    columns = table.schema.columns
    if records * len(columns) <= SMALL:
        whole = pa.Table.from_batches(list(table.scan())) if whole is None else whole
        return [facts_of(c, *_counted(whole.column(i)), records) for i, c in enumerate(columns)]
    few = records <= FEW_ROWS
    at_once = max(1, (SMALL if few else CELLS_AT_ONCE) // max(records, 1))
    facts: list[ColumnFacts] = []
    for start in range(0, len(columns), at_once):
        some = columns[start : start + at_once]
        if progress is not None:
            progress(start / (len(columns) + 1), f"looking at {some[0].name}")
        if few:
            part = pa.Table.from_batches(list(table.scan([c.name for c in some])))
            facts += [facts_of(c, *_counted(part.column(i)), records) for i, c in enumerate(some)]
            continue
        for column, counts in zip(some, table.count_many([[c.name] for c in some]), strict=True):
            values, sizes = counts.categories[0], np.asarray(counts.sizes)
            missing = int(sizes[0]) if len(sizes) and counts.codes[0][0] == -1 else 0
            facts.append(facts_of(column, values, sizes[1:] if missing else sizes, missing, records))
    return facts


def _counted(column: Any) -> tuple[Any, Any, int]:
    """The distinct values in order, how many rows hold each, and rows without one."""
    whole = column.combine_chunks()
    found = (whole.drop_null() if whole.null_count else whole).value_counts()
    values, sizes = found.field("values"), to_numpy(found.field("counts"))
    order = pc.sort_indices(values)
    return values.take(order), sizes[to_numpy(order)], int(column.null_count)


MOST_ROWS = 4_000
"""Rows in which columns are compared with each other."""


def some_rows(table: Table, whole: Any = None) -> Any:
    """Rows in which columns are compared with each other, evenly spread over those at hand."""
    if whole is None:
        batch = next(iter(table.scan()), None)
        rows = pa.Table.from_batches([] if batch is None else [batch], schema=None if batch is None else batch.schema)
    else:
        rows = whole
    if rows.num_rows > MOST_ROWS:
        rows = rows.take(from_numpy(np.linspace(0, rows.num_rows - 1, MOST_ROWS).astype(np.int64)))
    return rows


def facts_of(column: Column, values: Any, sizes: Any, missing: int, records: int) -> ColumnFacts:
    if (distinct := len(values)) > MOST_VALUES:
        picked = np.linspace(0, distinct - 1, MOST_VALUES).astype(np.int64)
        looked, sizes = values.take(from_numpy(picked)), sizes[picked]
    else:
        looked = values
    labels: dict[str, str] = {}
    if column.labels:
        labels = dict(zip(canonical_text(pa.array(list(column.labels))).to_pylist(), column.labels.values(), strict=True))
    return ColumnFacts(
        column.name,
        column.kind,
        canonical_text(looked).to_pylist(),
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


def _declared_missing(column: Column, values: Any) -> tuple[str, ...]:
    """Values of the column that the file declares missing, single or in ranges, as text."""
    if not column.user_missing:
        return ()
    held = zip(values.to_pylist(), canonical_text(values).to_pylist(), strict=True)
    return tuple(text for value, text in held if any(_declared(value, said) for said in column.user_missing))


def _declared(value: Any, said: object) -> bool:
    if isinstance(said, tuple):
        low, high = said
        return bool(low <= value <= high)
    return bool(value == said)


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

    def to_json(self) -> dict[str, Any]:
        return {"what": self.what, "columns": list(self.columns), "records": self.records}


@dataclass(frozen=True)
class Sanity:
    """``rules`` that were checked, what broke them, records with at least one such value, and their share (error rate)."""

    rules: int
    found: tuple[Impossible, ...]
    records: int
    rate: float

    def to_json(self) -> dict[str, Any]:
        found = [one.to_json() for one in self.found]
        return {"rules": self.rules, "found": found, "records": self.records, "rate": self.rate}


def check_sanity(
    table: Table,
    facts: Sequence[ColumnFacts],
    findings: Sequence[ColumnFinding],
    said: Sequence[str] = (),
    today: datetime.date | None = None,
) -> Sanity | None:
    """Count what breaks the rules that follow from the names of columns, and those that somebody stated.

    None where only aggregates may be read. ``today`` is the day of the run where none is given.
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
    for batch in table.scan(use):
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
    found = tuple(Impossible(rules[i].what, rules[i].columns, int(whole[i].sum())) for i in kept if whole[i].any())
    spoiled = int(np.logical_or.reduce([whole[i] for i in kept]).sum()) if kept else 0
    return Sanity(len(kept), found, spoiled, spoiled / rows if rows else 0.0)


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


def _numbers(name: str, values: Any, gone: Sequence[str], *, digits: bool) -> dict[str, FloatArray]:
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


def _from_texts(name: str, values: Any, gone: Sequence[str]) -> dict[str, FloatArray]:
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

"""A table without the rows of some people: an anti-join in the engine, and the same for its Arrow reader.

Ids are compared as canonical text, byte for byte; a number is the same however it is written (``007`` and ``7.0`` are 7 in a
column of whole numbers). Rows without an id stay: nobody can tell whose they are.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.base import Engine, Relation
from shoal.engines.files.readers import Reader
from shoal.engines.open import open as open_source
from shoal.engines.table import Table
from shoal.errors import UnreadableError, UsageError
from shoal.kernels.text import canonical_text
from shoal.model.exclusion import Excluded
from shoal.model.roles import Column
from shoal.steps.sql import aliased, column, count_all, exp, is_null, named

_TEXT = Column("", "text")
MOST_DIGITS = 40
"""A longer text is not a whole number of any engine; 1e999999999 would take all memory."""


@dataclass(frozen=True)
class LeftOut:
    """A table without the people of a list, their ids, and what may be published about it."""

    table: Table
    ids: tuple[str, ...] = field(repr=False)
    told: Excluded


def leave_out(table: Table, listed: str | Path | Iterable[Any], by: str | None = None) -> LeftOut:
    """The table without the people of a list (a file, or ids).

    They are looked for in column ``by``; without it in the person column of the table, or the one column that the list names too.
    """
    name = by or table.schema.unit or column_of(listed, table.schema.names)
    if name is None:
        hint = "Name it with --exclude-by COLUMN (exclude_by=…), or the person column with --unit."
        raise UsageError("it is not said which column of the table holds the ids of the list.", hint=hint)
    ids = ids_of(listed, name)
    if not ids:
        raise UsageError("the list of people to leave out is empty.", hint="Leave --exclude out, or check the file.")
    left, excluded = without(table, ids, name)
    return LeftOut(left, ids, excluded)


def without(table: Table, ids: Sequence[str], by: str, *, unnamed: bool = True) -> tuple[Table, Excluded]:
    """The table without the rows whose column ``by`` holds one of the ids, and how many there were.

    Rows without an id stay, unless ``unnamed`` is False.
    """
    table.schema.require(by, what="column that names a person")
    engine, relation = table._engine, table._relation
    forms = spellings(ids, relation.column(by).kind)
    held = engine.lasting(pa.table({"k0": pa.array(forms, pa.string()), "n": pa.array(forms.values(), pa.int64())}))
    counted = _count_listed(engine, relation, by, held)
    reader = None if relation.reader is None else _Filtered(relation.reader, by, list(forms), unnamed)
    left = replace(relation, query=_remaining(engine, relation, by, held, unnamed), reader=reader)
    return Table(engine, left, table.schema, name=table.name), Excluded(by, len(set(ids)), *counted)


def spellings(ids: Sequence[str], kind: str) -> dict[str, int]:
    """The canonical text of each id in a column of this kind, with the number of the id; as it is written too.

    >>> spellings(["007", "x"], "integer"), spellings(["7"], "float")
    ({'7': 0, 'x': 1}, {'7.0': 0})
    """
    out: dict[str, int] = {}
    for number, text in enumerate(dict.fromkeys(ids)):
        out.setdefault(_spell(text, kind), number)
    return out


def _spell(text: str, kind: str) -> str:
    try:
        if kind == "integer":
            number = Decimal(text)
            if number.adjusted() < MOST_DIGITS and number == number.to_integral_value():
                return str(int(number))
        if kind == "float":
            return str(canonical_text(pa.array([float(text)]))[0].as_py())
    except (ValueError, ArithmeticError):
        pass
    return text


def _join_list(engine: Engine, relation: Relation, by: str, held: exp.Expr, kind: str, *terms: exp.Expr) -> exp.Select:
    """SELECT … FROM the table JOIN the list, on the text of the id."""
    text = engine.key(engine.text(column(by, "t"), relation.column(by)), _TEXT)
    on = exp.EQ(this=text, expression=engine.mapped(column("k0", "x"), _TEXT))
    query = exp.select(*terms).from_(aliased(relation.sql, "t"))
    query.set("joins", [exp.Join(this=aliased(held, "x"), on=on, kind=kind)])
    return query


def _remaining(engine: Engine, relation: Relation, by: str, held: exp.Expr, unnamed: bool) -> exp.Expr:
    terms = [named(column(n, "t"), n) for n in relation.in_sql]
    query = _join_list(engine, relation, by, held, "LEFT", *terms)
    query = query.where(is_null(column("n", "x")))
    if not unnamed:
        query = query.where(exp.Not(this=_is_missing(engine, relation, by)))
    return exp.Subquery(this=query)


def _is_missing(engine: Engine, relation: Relation, by: str) -> exp.Expr:
    return is_null(engine.key(column(by, "t"), relation.column(by)))


def _count_listed(engine: Engine, relation: Relation, by: str, held: exp.Expr) -> tuple[int, int, int]:
    """People of the list who are there, their rows, and rows without an id."""
    people = exp.Count(this=exp.Distinct(expressions=[column("n", "x")]))
    both = named(people, "p"), named(count_all(), "r")
    there = engine.fetch(_join_list(engine, relation, by, held, "INNER", *both))
    empty = exp.select(named(count_all(), "r")).from_(aliased(relation.sql, "t"))
    none = engine.fetch(empty.where(_is_missing(engine, relation, by)))
    return int(there["p"][0].as_py()), int(there["r"][0].as_py()), int(none["r"][0].as_py())


class _Filtered:
    """A reader of Arrow chunks without the rows of the people of a list."""

    def __init__(self, reader: Reader, by: str, texts: Sequence[str], unnamed: bool) -> None:
        self._reader, self._by, self._unnamed = reader, by, unnamed
        self._texts = pa.array(texts, pa.string())

    def rows(self) -> int:
        return self._reader.rows()

    def chunks(self, names: Sequence[str]) -> Iterator[list[pa.Array]]:
        wanted = [*names, *([] if self._by in names else [self._by])]
        at = wanted.index(self._by)
        for chunk in self._reader.chunks(wanted):
            ids = canonical_text(chunk[at])
            stays = pc.invert(pc.is_in(ids, value_set=self._texts))
            stays = stays if self._unnamed else pc.and_(stays, ids.is_valid())
            yield [array.filter(stays) for array in chunk[: len(names)]]


DELIMITERS = ",;\t|"
TEXT_ENDINGS = ("", ".txt", ".lst", ".list", ".csv", ".tsv")
FORMS = "One id per line; or FILE:column of a CSV with names in its first line."


def ids_of(given: str | Path | Iterable[Any], column: str = "") -> tuple[str, ...]:
    """The different ids of a list, in its order.

    Parameters
    ----------
    given : path or ids
        A file (``FILE`` or ``FILE:column``), or the ids themselves.
    column : str
        The person column of the table: a column of that name is taken from a file of several.
    """
    if not isinstance(given, str | Path):
        ids = [str(v) for v in given if v is not None]
    else:
        path, named = _place(given)
        ids = _text_ids(path, named, column) if path.suffix.lower() in TEXT_ENDINGS else _table_ids(path, named or column)
    return tuple(dict.fromkeys(t for t in (v.strip() for v in ids) if t))


def column_of(given: str | Path | Iterable[Any], names: Iterable[str]) -> str | None:
    """The column that a list names, where the table has it too: ``FILE:column``, or a name in the first line of a CSV."""
    if not isinstance(given, str | Path):
        return None
    path, named = _place(given)
    heads = [named] if named else _heads(path)
    both = [h for h in heads if h in set(names)]
    return both[0] if len(both) == 1 else None


def _heads(path: Path) -> list[str]:
    if path.suffix.lower() not in TEXT_ENDINGS:
        with open_source(path) as table:
            return list(table.schema.names)
    rows = _lines(path)
    return [h.strip() for h in rows[0]] if rows else []


def _place(given: str | Path) -> tuple[Path, str]:
    """The file, and the column named after a colon."""
    path = Path(given)
    if path.exists() or ":" not in str(given):
        return path, ""
    file, _, column = str(given).rpartition(":")
    return (Path(file), column) if Path(file).exists() else (path, "")


def _lines(path: Path) -> list[list[str]]:
    """The lines of a text file, each split at the delimiter that its first line has."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UnreadableError("the list of people to leave out is not there.", hint="Check the path after --exclude.") from None
    except (OSError, UnicodeDecodeError) as error:
        hint = "It must be a UTF-8 text file."
        raise UnreadableError(f"the list of people to leave out cannot be read: {type(error).__name__}.", hint=hint) from None
    lines = text.splitlines()
    mark = next((d for d in DELIMITERS if lines and d in lines[0]), None)
    if mark is None:
        return [[next(iter(next(csv.reader([line]), [])), "")] if line.startswith('"') else [line] for line in lines]
    return [row for row in csv.reader(lines, delimiter=mark) if row]


def _text_ids(path: Path, named: str, column: str) -> list[str]:
    rows, heads = _lines(path), _heads(path)
    if named and named not in heads:
        raise UsageError("the list of people to leave out has no column of that name.", hint=FORMS)
    if named or column in heads:
        at = heads.index(named or column)
        return [row[at] if at < len(row) else "" for row in rows[1:]]
    if any(len(row) > 1 for row in rows):
        raise UsageError("the list of people to leave out has several columns, and none is the person column.", hint=FORMS)
    return [row[0] for row in rows]


def _table_ids(path: Path, column: str) -> list[str]:
    """Ids from a Parquet file, a workbook, or any other table."""
    with open_source(path) as table:
        names = table.schema.names
        if column not in names and len(names) > 1:
            raise UsageError("the list of people to leave out has several columns, and none is the person column.", hint=FORMS)
        values, _ = table.values(column if column in names else names[0])
        return [t for t in canonical_text(values).to_pylist() if t is not None]

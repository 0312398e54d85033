"""Table: what ``shoal.open`` gives, and the only thing the rooms above know of an engine."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.engines.core import limits, state
from shoal.engines.core.base import BATCH_ROWS, Engine, Relation
from shoal.engines.core.kinds import is_nested
from shoal.engines.core.memory import (
    bytes_of_class,
    bytes_to_count,
    bytes_to_measure,
    bytes_to_search,
    bytes_to_write,
    left_for_data,
    refused,
)
from shoal.engines.core.properties import described, without_spellings
from shoal.engines.core.state import Held, files_of
from shoal.engines.core.step_sql import CountRequest, expressions_of
from shoal.engines.count.by_codes import KeptCodes, as_codes, can_count, count, half_of_memory, in_order
from shoal.engines.count.sql import (
    SHORT,
    about_classes,
    as_counted,
    class_sizes,
    distinct_and_missing,
    few_of,
    need_few,
    value_batches,
)
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.formats import in_database
from shoal.engines.files.layout import aside_in_words
from shoal.engines.files.readers import ArrowReader, ParquetReader, in_one_type
from shoal.engines.files.sqlite import SCHEME
from shoal.errors import EngineError, RoleError, UsageError
from shoal.kernels.arrow import ArrowValues
from shoal.model.counts.classes import ClassCounts
from shoal.model.display import Progress
from shoal.model.plan import Plan, Step
from shoal.model.roles import Schema

if TYPE_CHECKING:
    from shoal.engines.recode.write import Recoded

FEW_ROWS = 100_000
"""Rows up to which Arrow reads a Parquet file in less time than a query does: a query of thousands of columns takes seconds."""


class Table:
    """A table in an engine, with the roles of its columns. Nothing is read until something is asked.

    >>> import pyarrow as pa
    >>> from shoal.engines.open import open
    >>> t = open(pa.table({"age": [30, 30, 41], "sex": ["f", "f", None]}), quasi=["age", "sex"])
    >>> t.n_rows(), t.count().sizes.tolist()
    (3, [2, 1])
    """

    def __init__(self, engine: Engine, relation: Relation, schema: Schema, *, name: str) -> None:
        self._engine = engine
        self._relation = relation
        self._schema = schema
        self.name = name
        self._codes: KeptCodes | None = None

    def for_one_run(self) -> Table:
        """The same table for one run on one state of it: columns that were read to count are not read again to recode them."""
        copy = Table(self._engine, self._relation, self._schema, name=self.name)
        copy._codes = {}
        return copy

    @property
    def schema(self) -> Schema:
        """Columns with kinds and roles, unit and weight."""
        return self._schema

    @property
    def engine(self) -> str:
        """``duckdb`` (files and frames too), ``postgres``, ``mysql`` or ``spark``."""
        return self._engine.name

    @property
    def source(self) -> dict[str, Any]:
        """Where the table is and how it is read: path or URL, and for CSV the guessed delimiter, encoding and decimal mark."""
        return {"source": self._relation.source, "engine": self.engine, **self._relation.details}

    @property
    def set_aside(self) -> str:
        """The lines of the file that were not read as records, by sort, in words; empty if there are none."""
        return aside_in_words(self._relation.details.get("set_aside", {}))

    def with_roles(self, **roles: Any) -> Table:
        """The same table with more roles: ``with_roles(quasi=["age"], unit="person")``."""
        return self._changed(schema=self._schema.with_roles(**roles))

    def without_unit(self) -> Table:
        """The same table without a unit: rows are counted, not people."""
        return self._changed(schema=replace(self._schema, unit=None))

    def with_nested_as_text(self) -> Table:
        """The same table with lists and structures read as JSON text."""
        nested = {c.name for c in self._schema.columns if c.stored is not None and is_nested(c.stored)}
        if not nested:
            return self
        columns = tuple(replace(c, stored=None) if c.name in nested else c for c in self._schema.columns)
        relation = replace(self._relation, columns=columns, reader=None)
        return self._changed(relation=relation, schema=replace(self._schema, columns=columns))

    def neighbour(self, name: str) -> Table:
        """Another table of the same database, over the same connection, without roles."""
        relation = self._engine.relation(name)
        return Table(self._engine, relation, Schema(relation.columns, table=name), name=name)

    def add_neighbour(self, name: str, rows: Table) -> Table:
        """A new table of the same database with these rows: whole or not at all; refuses a name that is taken."""
        self._engine.load_table(name, rows.scan(rows.schema.names), rows.schema.columns)
        return self.neighbour(name)

    def files(self) -> list[Path]:
        """The local files of the table, sorted by name; none for databases, frames and copies."""
        return files_of(self._relation)

    def _changed(self, *, relation: Relation | None = None, schema: Schema | None = None) -> Table:
        return Table(self._engine, relation or self._relation, schema or self._schema, name=self.name)

    def described(
        self,
        *,
        scale: Mapping[str, str] | None = None,
        order: Mapping[str, Sequence[object]] | None = None,
        missing_values: Mapping[str, Sequence[object]] | None = None,
    ) -> Table:
        """The same table with settings of columns: scale, order of categories, values that are read as missing.

        >>> from shoal.engines.open import open
        >>> t = open({"pain": ["low", "high", "?"]}).described(order={"pain": ["low", "high"]}, missing_values={"pain": ["?"]})
        >>> t.schema["pain"].order, t.distinct("pain")
        (('low', 'high'), 2)
        """
        if not (scale or order or missing_values):
            return self
        columns = described(self._schema, scale, order, missing_values)
        new = {c.name: c.missing_values for c in columns if c.missing_values and c.name in (missing_values or {})}
        relation = replace(without_spellings(self._engine, self._relation, new), columns=columns)
        return self._changed(relation=relation, schema=replace(self._schema, columns=columns))

    def __repr__(self) -> str:
        shown = ", ".join(f"{c.name}: {c.kind}" for c in self._schema.columns[:8])
        more = ", …" if len(self._schema.columns) > 8 else ""
        return f"<Table {self.name} ({self.engine}): {shown}{more}>"

    @property
    def memory(self) -> int | None:
        """Bytes that counting and recoding may take; None where nobody said."""
        return self._engine.memory

    def limit_memory(self, memory: int) -> None:
        """Keep to so many bytes from now on."""
        self._engine.limit_memory(memory)

    def give_back(self) -> None:
        """Between two steps, where memory is limited: what is free goes back to the machine."""
        self._engine.give_back()

    def limit_statements(self, seconds: float | None, only_aggregates: bool) -> None:
        """Stop longer statements; refuse those that would return rows or identifiers."""
        if only_aggregates:
            if not self.in_database:
                raise UsageError("only tables in databases can be read by aggregates.", hint="Leave --only-aggregates out.")
            limits.only_aggregates(self._engine)
        if seconds is not None:
            if not self.in_database:
                raise UsageError("only statements of databases can be limited in time.", hint="Leave --statement-timeout out.")
            self._engine.limit_time(seconds)

    @property
    def in_database(self) -> bool:
        """Whether the table is read by statements that a database answers; files and lake tables are not."""
        return in_database(self._relation)

    @property
    def only_aggregates(self) -> bool:
        """Whether nothing but aggregates may be read."""
        return self._engine.only_aggregates

    @property
    def is_short(self) -> bool:
        """Whether the table is a file or frame of few rows: they are read sooner than counted."""
        reader = self._relation.reader
        return reader is not None and not self.in_database and 0 < reader.rows() <= FEW_ROWS

    def n_rows(self) -> int:
        """Number of rows, counted where the file does not say it."""
        reader = self._relation.reader
        known = isinstance(reader, ArrowReader | ParquetReader)
        return int(reader.rows()) if known else self._engine.count_rows(self._relation)

    def most_rows(self) -> int:
        """Number of rows, or for a text file as many as there can be at most; nothing is read for it."""
        reader = self._relation.reader
        return int(reader.rows()) if reader is not None else self._engine.count_rows(self._relation)

    def count(
        self,
        columns: Sequence[str] | None = None,
        *,
        through: Mapping[str, Step] | None = None,
        sensitive: Sequence[str] = (),
        unit: str | None = None,
        weight: str | None = None,
        memory_budget: int | None = None,
        progress: Progress | None = None,
    ) -> ClassCounts:
        """Classes of equal values with their sizes.

        Parameters
        ----------
        columns : sequence of str, optional
            The quasi-identifiers by default.
        through : mapping of column to expression step, optional
            Count a column at a level: ``{"age": Cut(...)}``.
        sensitive : sequence of str
            Also count each value of these columns inside each class.
        unit, weight : str, optional
            Count people instead of rows; add up weights. The schema's by default.
        memory_budget : int, optional
            Bytes that the classes may take; beyond it :class:`~shoal.errors.MemoryBudgetError`.
        progress : callable, optional
            Called with a share between 0 and 1 and a word.

        Returns
        -------
        ClassCounts
            Categories sorted by value, classes sorted by code, a missing value (NULL or NaN) first with code −1.
        """
        request = self._request(columns, through, sensitive, unit, weight, memory_budget)
        counts = count(self._engine, self._relation, [request], progress, self._codes)[0]
        self.give_back()
        return in_order(counts, {c: order for c in request.sensitive if (order := self._schema[c].order)})

    def count_many(
        self, subsets: Sequence[Sequence[str]], *, memory_budget: int | None = None, progress: Progress | None = None
    ) -> list[ClassCounts]:
        """Classes over each of several sets of columns; the table is read once."""
        requests = [self._request(s, None, (), None, None, memory_budget) for s in subsets]
        return count(self._engine, self._relation, requests, progress)

    def _request(
        self,
        columns: Sequence[str] | None,
        through: Mapping[str, Step] | None,
        sensitive: Sequence[str],
        unit: str | None,
        weight: str | None,
        memory_budget: int | None,
    ) -> CountRequest:
        wanted = self._schema.quasi if columns is None else tuple(columns)
        if columns is None and not wanted:
            raise UsageError("no quasi-identifier is known.", hint="Name the columns, or open the table with quasi=[…].")
        if len(set(wanted)) != len(wanted):
            raise UsageError("a column is named twice.", hint="Name each column once.")
        if self.only_aggregates:
            limits.require_said(self._schema, (*wanted, *sensitive))
        for name in (*wanted, *sensitive, *(n for n in (unit, weight) if n is not None)):
            self._schema.require(name)
        steps = expressions_of(through or {}, wanted)
        unit = unit or self._schema.unit
        heavy = weight or self._schema.weight
        if heavy is not None and self._schema[heavy].kind not in ("integer", "decimal", "float"):
            hint = "Name a column of sampling weights."
            raise RoleError(f"weight '{heavy}' must hold numbers; it holds {self._schema[heavy].kind}.", hint=hint)
        return CountRequest(wanted, steps, tuple(sensitive), unit, heavy, memory_budget, self.memory)

    def values(self, column: str, *, memory_budget: int | None = None) -> tuple[Any, Any]:
        """Distinct values of a column (pyarrow array, missing last if present) and how many rows hold each (numpy array)."""
        return self.values_of([column], memory_budget=memory_budget)[column]

    def values_of(self, columns: Sequence[str], *, memory_budget: int | None = None) -> dict[str, tuple[Any, Any]]:
        """As :meth:`values`, of several columns; a file is read once for all of them."""
        for column in columns:
            self._schema.require(column)
        if self.only_aggregates:
            limits.require_said(self._schema, columns)
        requests = [CountRequest((c,), memory_budget=memory_budget, memory=self.memory) for c in columns]
        values = count(self._engine, self._relation, requests) if requests else []
        return {c: _missing_last(one.categories[0], one.codes[0], one.sizes) for c, one in zip(columns, values, strict=True)}

    def few_values(self, column: str, *, least: int = 1) -> tuple[Any, Any]:
        """As :meth:`values`, without missing ones and those of fewer than ``least`` rows, in little memory for files of any
        size; refused where a step could not hold so many."""
        kind = self._schema[self._schema.require(column)].kind
        if self._counts_on_disk() is not None:
            return few_of(column, kind, self.value_batches(column, least=least))
        values, counts = as_counted(*self.values(column), least)
        need_few(column, values, kind)
        return values, counts

    def value_batches(self, column: str, *, least: int = 1) -> Generator[tuple[Any, Any]]:
        """As :meth:`few_values`, some at a time and in any order: nothing is held of a file of any size."""
        engine = self._counts_on_disk()
        if engine is not None:
            yield from value_batches(engine, self._relation, self._schema.require(column), least)
        else:
            yield as_counted(*self.values(column), least)

    def _counts_on_disk(self) -> DuckDB | None:
        """The engine, where values are counted on disk and not by codes."""
        long = isinstance(self._engine, DuckDB) and not self.only_aggregates and self.most_rows() > SHORT
        return self._engine if long and isinstance(self._engine, DuckDB) else None

    def most_classes(self, columns: int) -> int | None:
        """Classes of so many columns that may leave the engine, or that fit into the memory for a search; None where all may.

        Where no memory is named, a file of so many rows that a search over them all would take more than half of the machine's
        has a limit too.
        """
        limit, reader, searched = self._engine.most_classes(columns), self._relation.reader, bytes_to_search(1, columns, 0)
        if limit is not None or not isinstance(self._engine, DuckDB) or (self.memory is None and reader is None):
            return limit
        left = half_of_memory() if self.memory is None else left_for_data(self.memory)
        if self.memory is None and self.most_rows() * searched <= left:
            return None
        by_codes = reader is not None and bytes_to_count(self.most_rows(), columns) <= left
        return max(1, left // (searched if by_codes else bytes_of_class(columns)))

    def check_measure(self, columns: Sequence[str], sensitive: Sequence[str]) -> None:
        """Refuse a measurement whose classes would take more than the memory that was allowed, before they are counted.

        Where every row may be a class and all would fit nothing is read; otherwise the classes are estimated in one pass.
        Servers and Spark hold their rows themselves.
        """
        if self.memory is None or not isinstance(self._engine, DuckDB):
            return
        request = self._request(columns, None, sensitive, None, None, None)
        width, left, rows = len(request.columns), left_for_data(self.memory), self.most_rows()
        by_codes = can_count(self._relation, request)
        if bytes_to_measure(rows, width, by_codes=by_codes) <= left:
            return
        classes = min(rows, about_classes(self._engine, self._relation, request))
        needed = bytes_to_measure(classes, width, by_codes=by_codes)
        if needed <= left:
            return
        if not by_codes and can_count(self._relation, replace(request, memory=None)):  # the least that would do
            coded = bytes_to_count(self.n_rows(), width + len(request.sensitive))
            cheaper = max(coded, bytes_to_measure(classes, width, by_codes=True))
            needed = cheaper if left < cheaper < needed else needed
        hint = f"Raise --memory, or name fewer or coarser columns of: {', '.join(request.columns)}."
        raise refused(f"measuring about {classes:,} classes of {width} columns", needed, self.memory, hint)

    def check_written(self, what: str, least: int, most: int) -> None:
        """Refuse to write a table for which the memory that was allowed is too little, before anything is counted.

        ``least`` bytes are taken beside the program however few the rows are, ``most`` where they are so many that the disk is
        used.
        """
        if self.memory is None or not isinstance(self._engine, DuckDB):
            return
        columns, left = len(self._relation.columns), left_for_data(self.memory)
        if left >= most or least + bytes_to_write(self.most_rows(), columns) <= left:
            return
        needed = min(most, least + bytes_to_write(self.n_rows(), columns))
        if needed > left:
            raise refused(what, needed, self.memory, "Raise --memory.")

    def about_classes(
        self, columns: Sequence[str], *, through: Mapping[str, Step] | None = None, beside: Sequence[str] = ()
    ) -> int:
        """About how many classes there are (to 2 %), with the column of ``beside`` that makes the most of them."""
        return about_classes(self._engine, self._relation, self._request(columns, through, beside, None, None, None))

    def class_sizes(self, columns: Sequence[str]) -> dict[int, int]:
        """How many classes there are of each size; counted in the engine, which keeps the classes."""
        return class_sizes(self._engine, self._relation, self._request(columns, None, (), None, None, None).columns)

    def numbers(self, column: str) -> tuple[int, int]:
        """How many different values a column has, and rows without one: two numbers, counted in the engine."""
        return distinct_and_missing(self._engine, self._relation, self._schema.require(column))

    def distinct(self, column: str) -> int:
        """How many different values a column has, a missing value not counted."""
        self._schema.require(column)
        counts = count(self._engine, self._relation, [CountRequest((column,), memory=self.memory)])[0]
        return len(counts.categories[0])

    def scan(self, columns: Sequence[str] | None = None, *, batch_size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows as pyarrow RecordBatches, in the one type of each kind (NaN missing), never all at once."""
        names = self._schema.names if columns is None else tuple(self._schema.require(c) for c in columns)
        reader, wanted = self._relation.reader, [self._relation.column(n) for n in names]
        if isinstance(reader, ArrowReader):
            return reader.scan(wanted, batch_size)
        if self._read_by_arrow(names):
            return (in_one_type(chunk, wanted) for chunk in reader.chunks(names, batch_size))
        return self._engine.scan(self._relation, names, batch_size)

    def whole(self) -> pa.Table:
        """All rows as one pyarrow Table in the one type of each kind; texts of a short Parquet file may be dictionaries."""
        names, reader = self._schema.names, self._relation.reader
        chunks = list(reader.chunks(names)) if self._read_by_arrow(names) else []
        if len(chunks) != 1:
            return pa.Table.from_batches(list(self.scan()))
        return pa.Table.from_batches([in_one_type(chunks[0], [self._relation.column(n) for n in names], dictionaries=True)])

    def _read_by_arrow(self, names: Sequence[str]) -> bool:
        """Whether the columns are those of a short Parquet file, in the types that a query gives them."""
        reader, kinds = self._relation.reader, {self._relation.column(n).kind for n in names}
        plain = "decimal" not in kinds and as_codes(self._relation, names)
        return plain and isinstance(reader, ParquetReader) and 0 < reader.rows() <= FEW_ROWS

    def first_rows(self, columns: Sequence[str], rows: int) -> list[Any]:
        """The first rows of some columns, one pyarrow array each; no database is started where the file can be read."""
        reader, names = self._relation.reader, [self._schema.require(c) for c in columns]
        if isinstance(reader, ParquetReader):
            chunks = reader.chunks(names, rows)
        elif reader is not None:
            chunks = reader.chunks(names)
        else:  # a database is not asked for more
            chunks = (b.columns for b in self._engine.scan(self._relation, names, rows, most=rows))
        first = [a.slice(0, rows) for a in next(iter(chunks), [])]
        return [a.dictionary_decode() if pa.types.is_dictionary(a.type) else a for a in first]

    def sum_of_macs(self, secret: bytes) -> tuple[int, int] | None:
        """Number of rows, and the sum of the HMAC of each, added up where the data are; None where rows must be read for it."""
        return self._engine.sum_of_macs(self._relation, self._schema.names, secret)

    def hold(self, *, write: bool = False) -> Held:
        """Begin a run on one state of the data (see :mod:`shoal.engines.core.state`); the engine's ends with :meth:`close`."""
        return state.hold(self._engine, self._relation, write=write)

    @contextmanager
    def one_state(self) -> Iterator[str | None]:
        """Every question inside is answered from one state of the data; its name, if the engine has one.

        Inside a run that is under way (:meth:`hold`) that run's state goes on.
        """
        if self._engine.holding is not None:
            yield self._engine.holding
            return
        held = self.hold()
        try:
            yield held.snapshot if held.sure else None
            if state.state_of(self._engine, self._relation).marks != held.marks:
                raise state.other_rows()
        except BaseException:
            with suppress(EngineError):  # the first error is the one to tell
                self._engine.keep()
            raise
        self._engine.keep()

    def keep(self, passing: str = "", name: str = "") -> None:
        """End what :meth:`hold` began; a table that was made in it stays, and takes the place of ``name`` if one is given."""
        if name:
            self._engine.take_over(passing, name)
        self._engine.keep()

    @contextmanager
    def nothing_made_on_failure(self) -> Iterator[None]:
        """A new table that is made inside is dropped where the block fails."""
        self._engine.made = None
        try:
            yield
        except BaseException:
            self._engine.unmake()
            raise

    def require(self, held: Held) -> None:
        """Refuse to go on where the data are no longer in the state that was held."""
        state.require(self._engine, self._relation, held)

    def recode(
        self,
        plan: Plan,
        out: str | Path,
        *,
        kept: pa.Table | None = None,
        class_map: pa.Table | None = None,
        format: str | None = None,
        raw: bool = False,
        progress: Progress | None = None,
        parts: bool = False,
    ) -> Recoded:
        """Write the table through a plan: a file, or ``ENGINE-URL::table`` for a new table; whole or not at all.

        Parameters
        ----------
        plan : Plan
            Steps, suppression and seed. If a step is random and the seed is 0, one is drawn and kept beside the file
            (``Recoded.private_file``); a stated one that could be found by trying is refused.
        out : str or Path
            A file (format by its ending, or ``format=``), ``::name`` for a new table beside this one.
        kept : pyarrow.Table, optional
            The published classes that stay, where other requirements than ``plan.suppression.k`` decide.
        class_map : pyarrow.Table, optional
            Local recoding: the original quasi-identifier columns and, for each, ``"<column>\\u0000published"``.
        raw : bool
            CSV only: write text cells as they are, for machines; without it cells that a spreadsheet would run are made inert.
        parts : bool
            A Parquet output may be a folder of files, where the engine's own machines (Spark's executors) can write it.
        """
        from shoal.engines.recode.write import recode  # the writers of all formats: counting does not load them

        self.give_back()
        done = recode(
            self._engine,
            self._relation,
            self._schema,
            plan,
            out,
            kept=kept,
            class_map=class_map,
            format=format,
            raw=raw,
            progress=progress,
            parts=parts,
            at_hand=self._codes,
        )
        self.give_back()
        return done

    def not_kept(self, plan: Plan, out: str | Path, *, format: str | None = None) -> tuple[str, ...]:
        """What the format of ``out`` cannot hold of the columns that ``plan`` keeps, in sentences; nothing is read or written."""
        from shoal.engines.recode.write import will_not_keep

        return will_not_keep(self._relation, self._schema, plan, out, format)

    def close(self) -> None:
        """Give back the engine's connections and temporary files."""
        self._engine.let_go()
        self._engine.close()

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _missing_last(values: ArrowValues, codes: Any, sizes: Any) -> tuple[Any, Any]:
    if len(sizes) and codes[0] == -1:
        return pa.concat_arrays([values, pa.nulls(1, values.type)]), np.append(sizes[1:], sizes[0])
    return values, sizes


def make_table(engine: Engine, relation: Relation, name: str, roles: Mapping[str, Any]) -> Table:
    """A Table with its schema checked: no duplicate or confusable names, every role on a column that exists."""
    schema = Schema(relation.columns, table=name).with_roles(**roles)
    return Table(engine, replace(relation, columns=schema.columns), schema, name=name)


def hold_together(tables: Sequence[Table]) -> list[tuple[Table, Held]]:
    """Begin a run on several tables: those of one database are read over one connection, so in one state."""
    places: dict[object, Engine] = {}
    joined = []
    for t in tables:
        engine = t._engine if t._engine.place is None else places.setdefault(t._engine.place, t._engine)
        joined.append(Table(engine, t._relation, t._schema, name=t.name))
    for engine in {id(t._engine): t._engine for t in joined}.values():
        engine.hold()
    run = [(t, state.state_of(t._engine, t._relation)) for t in joined]
    copies: dict[str, set[str | None]] = {}  # tables of one SQLite file are copied one by one when they are opened
    for table, held in run:
        if table._relation.source.startswith(SCHEME):
            copies.setdefault(table._relation.source.partition("::")[0], set()).add(held.snapshot)
    if any(len(states) > 1 for states in copies.values()):
        raise state.changed()
    return run

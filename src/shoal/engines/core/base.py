"""What an engine must be able to do. COUNT and RECODE are built from it.

An engine runs sqlglot expressions in its own dialect and gives Arrow back. It knows how to compare values byte for byte
(:meth:`Engine.key`), how to spell them (:meth:`Engine.text`), how to bring a small mapping table along
(:meth:`Engine.mapping`) and how to make a new table that appears whole or not at all (:meth:`Engine.create_table`).
No message of a driver reaches the user: it may hold data values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pyarrow as pa

from shoal.engines.core.kinds import normalize
from shoal.engines.core.memory import give_back
from shoal.engines.core.stored_types import RAW
from shoal.errors import EngineError, InternalError, ShoalError, UsageError
from shoal.kernels.arrow import ArrowValues
from shoal.model.roles import Column
from shoal.steps.sql import aliased, cast, column, count_all, exp, named, select, string, when

BATCH_ROWS = 131_072
T = TypeVar("T")
Marks = tuple[tuple[str | int, ...], ...]
"""Of each file its name, size, time of the last change, and what else tells one state of it from another."""


@dataclass(frozen=True)
class Relation:
    """A table or query inside an engine: what stands after FROM, and the columns it has.

    ``source`` is what a person would recognise (a path, a URL without password); ``details`` are guesses shown to the user
    (delimiter, encoding …); ``native`` holds the engine's own type names where it needs them.
    """

    query: exp.Expr | Callable[[], exp.Expr]  # a function where it is not made before somebody asks for it
    columns: tuple[Column, ...]
    source: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    native: dict[str, str] = field(default_factory=dict)
    reader: Any = None  # a shoal.engines.files.readers.Reader where Arrow chunks can be had without SQL
    reads_as_text: tuple[str, ...] = ()  # columns whose own type has no kind: ``sql`` reads them as text
    not_as_codes: tuple[str, ...] = ()  # columns that ``reader`` gives in another form than ``sql``

    @property
    def sql(self) -> exp.Expr:
        """What stands after FROM."""
        return self.query() if callable(self.query) else self.query

    @property
    def in_sql(self) -> list[str]:
        """The names that ``sql`` has: the columns, and those read as text once more in their own type."""
        return [*(c.name for c in self.columns), *(n + RAW for n in self.reads_as_text)]

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """The columns by their names."""
        return {c.name: c for c in self.columns}

    def column(self, name: str) -> Column:
        """The column of that name."""
        return self.by_name[name]


class Engine(ABC):
    """One place where tables live.

    Subclasses set ``name`` and ``dialect`` (sqlglot's name) and implement the abstract methods; the others have defaults.
    """

    name: ClassVar[str]
    dialect: ClassVar[str]
    stable_order: ClassVar[bool] = False
    """Whether a plain SELECT gives the rows in the same order every time (files do, databases do not)."""
    creates_by_query: ClassVar[bool] = True
    """Whether a new table made by a query keeps the kinds of its columns; otherwise it is loaded from batches."""
    memory: int | None = None
    """Bytes that a run may take; None where nobody said."""

    only_aggregates: bool = False
    """Whether queries that return rows are refused (:mod:`shoal.engines.core.limits`)."""

    made: str | None = None
    """The table that was created last, as its dialect spells it, so that it can be dropped on failure; None if there is none."""

    # -- to be implemented ------------------------------------------------------------------------------------------

    @abstractmethod
    def relation(self, table: str, **options: Any) -> Relation:
        """The table of that name (``schema.table`` allowed), with its columns. Reads nothing but the schema."""

    @abstractmethod
    def stream(self, query: exp.Expr, *, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Run a query; its result as pyarrow RecordBatches, never as Python objects where the driver allows it.

        At least one batch (perhaps empty) is given, so that the schema is known. Driver errors become
        :class:`~shoal.errors.EngineError` without the driver's words.
        """

    @abstractmethod
    def create_table(self, name: str, query: exp.Expr) -> None:
        """A new table from a query: whole or not at all; refuses a name that is taken."""

    @abstractmethod
    def load_table(self, name: str, batches: Iterator[pa.RecordBatch], columns: Sequence[Column]) -> None:
        """A new table from Arrow batches: whole or not at all; refuses a name that is taken."""

    def unmake(self) -> None:
        """Drop the table that was created last."""
        temporary, self.made = self.made, None
        if temporary is not None:
            with suppress(ShoalError):  # gone already, with its transaction or its connection
                self.send(f"DROP TABLE {temporary}")

    def take_over(self, passing: str, name: str) -> None:
        """Give a table that was made under a passing name the name of another one, which is dropped: both at once."""
        raise NotImplementedError

    def send(self, sql: str) -> None:
        """Run a statement without a result."""
        raise NotImplementedError

    def limit_memory(self, memory: int | None) -> None:
        """Keep to so many bytes; an engine that holds rows itself spills to disk beyond it."""
        self.memory = memory

    def give_back(self) -> None:
        """Between two steps of a run that has a limit of memory: what is free goes back to the machine."""
        if self.memory is not None:
            give_back()

    def sparing(self, columns: int = 1) -> AbstractContextManager[None]:
        """Inside, an engine that holds rows itself takes little memory for so many columns, unless a limit is given."""
        return nullcontext()

    def limit_time(self, seconds: float) -> None:
        """Stop every statement that takes longer."""
        raise UsageError(f"statements of {self.name} cannot be limited in time.", hint="Leave --statement-timeout out.")

    def close(self) -> None:  # noqa: B027  most engines need nothing here
        """Give back connections and temporary objects."""

    # -- portable defaults ------------------------------------------------------------------------------------------

    def fetch(self, query: exp.Expr) -> pa.Table:
        """The result of a query as one pyarrow Table."""
        return pa.Table.from_batches(list(self.stream(query)))

    def render(self, query: exp.Expr) -> str:
        """The SQL text in this engine's dialect; every identifier quoted."""
        return query.sql(dialect=self.dialect, identify=True)

    def snapshot(self) -> AbstractContextManager[None]:
        """Queries inside see one state of the data, where the engine can promise it."""
        return nullcontext()

    @property
    def place(self) -> object:
        """What two connections have in common if and only if they lead to the same database for the same user; None: unknown."""
        return None

    holding: str | None = None
    """The name of the snapshot that :meth:`hold` began; None without one."""

    def hold(self, *, write: bool = False) -> str | None:
        """Answer every query from one state of the data until the next call or :meth:`close`; its name.

        None where the engine cannot promise it. ``write`` where a new table shall be made in the same transaction.
        """
        return None

    def isolates(self, relation: Relation) -> bool:
        """Whether a table is in the snapshot that :meth:`hold` began."""
        return self.holding is not None

    def marks(self, relation: Relation) -> Marks:
        """Name, size and time of the last change of each file behind a table that this engine reads; none for other tables."""
        return ()

    def keep(self) -> None:  # noqa: B027  most engines need nothing here
        """End what :meth:`hold` began; a table that was made in it stays."""

    def key(self, value: exp.Expr, column: Column) -> exp.Expr:
        """An expression that groups byte for byte: no folding of case, accents or trailing blanks; NaN is NULL, −0.0 is 0.0."""
        if column.kind == "float":
            return self.clean_float(value)
        return value

    def mapped(self, value: exp.Expr, column: Column) -> exp.Expr:
        """A text column of a :meth:`mapping` in the form that :meth:`key` gives; as it is where mappings hold keys already."""
        return self.key(value, column)

    def fingerprint(self, value: exp.Expr, column: Column) -> exp.Expr:
        """A stand-in for :meth:`key` that is only grouped and compared, never read back; engines may make it short."""
        return self.key(value, column)

    def clean_float(self, value: exp.Expr) -> exp.Expr:
        """A float with −0.0 as 0.0 and NaN as NULL (by comparing with itself where NaN ≠ NaN is not certain: override)."""
        summed = exp.Paren(this=exp.Add(this=cast(value, "DOUBLE"), expression=exp.Literal.number("0.0")))
        return when(exp.IsNan(this=cast(value, "DOUBLE")), exp.Null(), summed)

    def decode(self, values: ArrowValues, column: Column) -> ArrowValues:
        """A key column of a result as an Arrow array in the type of its kind (:func:`shoal.engines.core.kinds.normalize`)."""
        return normalize(values, column.kind)

    def text(self, value: exp.Expr, column: Column) -> exp.Expr:
        """The canonical text of a value, as :func:`shoal.kernels.text.canonical_text` spells it."""
        if column.kind == "text":
            return value
        if column.kind == "boolean":
            return exp.Case(
                ifs=[
                    exp.If(this=exp.EQ(this=value, expression=exp.true()), true=string("true")),
                    exp.If(this=exp.EQ(this=value.copy(), expression=exp.false()), true=string("false")),
                ]
            )
        if column.kind == "float":
            return cast(self.clean_float(value), "TEXT")
        return cast(value, "TEXT")

    def same(self, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        """Equality under which two missing values are equal; the operands are keys. Must be usable in a hash join."""
        return exp.NullSafeEQ(this=left, expression=right)

    def char_length(self, value: exp.Expr) -> exp.Expr:
        """Characters (code points), not bytes."""
        return exp.Length(this=value)

    def row_hash(self, texts: Sequence[exp.Expr], seed: int) -> exp.Expr:
        """A keyed hash of a row's canonical texts, to order rows by; missing and empty differ, and so do neighbours."""
        parts: list[exp.Expr] = [string(f"{seed}:")]
        for value in texts:
            given = exp.DPipe(this=string("\x1fv"), expression=value)
            parts.append(exp.Coalesce(this=given, expressions=[string("\x1fn")]))
        joined = parts[0]
        for part in parts[1:]:
            joined = exp.DPipe(this=joined, expression=part)
        return exp.MD5(this=joined)

    def class_name(self, keys: Sequence[exp.Expr]) -> exp.Expr:
        """Something that rows have in common if and only if their keys are equal (missing ones too), to be put in a set."""
        order = exp.Order(expressions=[exp.Ordered(this=k.copy(), nulls_first=True) for k in keys])
        return exp.Window(this=exp.Anonymous(this="DENSE_RANK"), order=order)

    def class_mark(self, keys: Sequence[exp.Expr]) -> exp.Expr:
        """A stand-in for :meth:`class_name` whose number is only estimated: two classes may share one now and then."""
        return self.class_name(keys)

    def about_distinct(self, mark: exp.Expr) -> exp.Expr:
        """An aggregate: about how many different marks of :meth:`class_mark` there are, to 2 %."""
        return exp.ApproxDistinct(this=mark, accuracy=exp.convert(0.02))

    def set_of(self, value: exp.Expr) -> exp.Expr:
        """An aggregate of distinct values that is equal for equal sets only, in any order."""
        return exp.ArrayAgg(this=exp.Order(this=value, expressions=[exp.Ordered(this=value.copy(), nulls_first=True)]))

    def mapping(self, data: pa.Table) -> AbstractContextManager[exp.Expr]:
        """A pyarrow Table of text and integer columns as something to join: here inline rows; engines may do better.

        Gives an expression for FROM/JOIN **without alias**; its columns have the names of ``data``.
        """
        return inline(data)

    def lasting(self, data: pa.Table) -> exp.Expr:
        """A :meth:`mapping` that stays until :meth:`let_go`."""
        return self.stays(self.mapping(data))

    def stays(self, context: AbstractContextManager[T]) -> T:
        """What a context gives, kept until :meth:`let_go`."""
        stack: ExitStack = self.__dict__.setdefault("_lasting", ExitStack())
        return stack.enter_context(context)

    def let_go(self) -> None:
        """Give back what :meth:`lasting` holds; before :meth:`close`."""
        held = self.__dict__.pop("_lasting", None)
        if held is not None:
            held.close()

    def writes_parts(self, out: Path) -> bool:
        """Whether the engine's own machines can write Parquet files that are brought to ``out`` (:meth:`write_parts`)."""
        return False

    def write_parts(self, query: exp.Expr, names: Sequence[str], out: Path, expected: int) -> str:
        """The rows of a query as a folder of Parquet files in the order of ``x``: whole or not at all; where the engine sees it.

        The query gives the columns ``p0, p1 …``, written under their ``names``, and a hash ``x`` as hexadecimal digits.
        ``expected`` rows were counted; where others are written, the table has changed.
        """
        raise InternalError(f"{self.name} writes no folders of files.")

    def sum_of_macs(self, relation: Relation, names: Sequence[str], secret: bytes) -> tuple[int, int] | None:
        """Number of rows, and the sum of their keyed hashes modulo 2²⁵⁶, added up in the engine; None where it cannot."""
        return None

    def most_classes(self, columns: int) -> int | None:
        """Classes of so many columns that may leave the engine; None where it sets no limit."""
        return None

    def count_rows(self, relation: Relation) -> int:
        """Number of rows."""
        query = exp.select(named(count_all(), "n")).from_(aliased(relation.sql, "t"))
        return int(self.fetch(query)["n"][0].as_py())

    def scan(
        self, relation: Relation, names: Sequence[str], batch_rows: int, most: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Rows of some columns as RecordBatches in the one type of each kind; at most ``most`` of them, if given."""
        terms = [named(column(n, "t"), f"c{i}") for i, n in enumerate(names)]
        query = select(terms, aliased(relation.sql, "t"))
        for batch in self.stream(query if most is None else query.limit(most), batch_rows=batch_rows):
            arrays = [self.decode(batch.column(i), relation.column(n)) for i, n in enumerate(names)]
            yield pa.RecordBatch.from_arrays(arrays, names=list(names))


def refused_loss(name: str, what: str) -> EngineError:
    """The error if a table cannot be replaced without losing something of it."""
    hint = "Shoal keeps them if both tables have the same columns and no trigger or rule changes rows. Else drop it first."
    return EngineError(f"table '{name}' cannot be replaced: its {what} would be lost.", hint=hint)


@contextmanager
def inline(data: pa.Table) -> Iterator[exp.Expr]:
    """SELECT … UNION ALL SELECT …: plain SQL that needs no right to create anything."""
    rows = data.to_pylist()
    names = data.column_names
    selects = [exp.select(*[named(exp.convert(row[n]), n) for n in names]) for row in rows or [dict.fromkeys(names)]]
    if not rows:
        selects[0] = selects[0].where(exp.false())
    yield exp.Subquery(this=_balance(selects))


def _balance(selects: Sequence[exp.Select]) -> exp.Expr:
    """UNION ALL as a balanced tree, so that long lists do not nest deeply."""
    if len(selects) == 1:
        return selects[0]
    half = len(selects) // 2
    return exp.Union(this=_balance(selects[:half]), expression=_balance(selects[half:]), distinct=False)

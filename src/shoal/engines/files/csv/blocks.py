"""A large CSV file read block by block: two threads make Arrow batches of whole lines, in the order of the file.

Where a block is not plainly written, or a value does not fit, the rest is read by the database; its errors are those that people
see.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.engines.core.base import Relation
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.duckdb.sql import identifier
from shoal.engines.files.csv.fields import Field, converted
from shoal.engines.files.csv.plain import Convert, Form, is_one_line, read_lines
from shoal.engines.files.csv.small import arrow_type
from shoal.engines.files.csv.sniff import Dialect
from shoal.steps.sqlglot import exp

BLOCK = 1 << 23
"""Bytes of a block."""
WAITING = 3
"""Blocks that are worked on or wait at one time: some 25 MB each."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class PlainFile:
    """A CSV file in UTF-8 that may be plainly written; ``otherwise`` reads columns of it from the beginning by the database."""

    path: Path
    form: Form
    header: bool
    fields: Mapping[str, Field]
    convert: Convert
    otherwise: Callable[[Sequence[str]], Iterator[Any]]
    block: int = BLOCK

    @cached_property
    def schema(self) -> Any:
        """Names and types of the columns."""
        return pa.schema([pa.field(n, arrow_type(f.sql_type)) for n, f in self.fields.items()])

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """The named columns as RecordBatches, at least one."""
        given = 0
        with closing(self._plain(names)) as plain:  # type: ignore[type-var]
            for batch in plain:
                if batch is None:
                    break
                given += batch.num_rows
                yield batch
            else:
                if given:
                    return
        yield from _without(self.otherwise(names), given)

    def _plain(self, names: Sequence[str]) -> Iterator[Any]:
        """Batches in the order of the file; None, and no more, where a block is not plainly written."""
        wanted = {n: self.fields[n] for n in names}
        waiting: deque[Future[Any]] = deque()
        with ThreadPoolExecutor(2, "shoal csv") as pool:
            try:
                for form, lines in self._blocks():
                    if form is None:
                        yield from (f.result() for f in waiting)
                        yield None
                        return
                    waiting.append(pool.submit(read_lines, lines, form, wanted, self.convert))
                    if len(waiting) == WAITING:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def _blocks(self) -> Iterator[tuple[Form | None, Any]]:
        """Whole lines and how they are written, the heading left out; no form, and no more, where they are not plain."""
        try:
            opened = self.path.open("rb", buffering=0)
        except OSError:  # which the database tells in its words
            yield None, b""
            return
        with opened as file:
            rest, form = b"", None
            while True:
                raw = _filled(file, rest, self.block)
                last = len(raw) < len(rest) + self.block
                if form is None:
                    form, raw = self._begun(raw)
                    if form is None:
                        yield None, b""
                        return
                if last and raw and not raw.endswith(b"\n"):
                    raw += b"\r\n" if form.returns else b"\n"
                cut = raw.rfind(b"\n") + 1
                if cut:
                    yield form, memoryview(raw)[:cut]
                elif raw:  # a line longer than a block
                    yield None, b""
                    return
                if last:
                    return
                rest = bytes(memoryview(raw)[cut:])

    def _begun(self, raw: bytearray) -> tuple[Form | None, bytearray]:
        """How lines end, by the first one; what follows it, where it is the heading."""
        if raw.startswith(_BOM):
            raw = raw[len(_BOM) :]
        end = raw.find(b"\n") + 1
        if not end:
            return None, raw
        form = replace(self.form, returns=raw[end - 2 : end - 1] == b"\r")
        if not is_one_line(raw[:end], form):
            return None, raw
        return form, raw[end:] if self.header else raw


def offer(engine: DuckDB, relation: Relation, file: Path, dialect: Dialect, fields: Sequence[Field], null: Sequence[str]) -> None:
    """Have queries over a file in UTF-8 read it so, where its dialect is plain."""
    delimiter, quote, view = dialect.delimiter.encode(), dialect.quote.encode(), relation.sql
    signs = {delimiter, quote} - {b"\r", b"\n", b"\x00"}
    if len(signs) < 2 or len(delimiter + quote) > 2 or dialect.skip or len(fields) < 2 or not isinstance(view, exp.Table):
        return

    def convert(field: Field, texts: Any) -> Any:
        query = f"SELECT {field.expression()} FROM {converted('given', [field])}"  # noqa: S608
        return engine.over(pa.table({field.raw: texts}), query)

    def otherwise(names: Sequence[str]) -> Iterator[Any]:
        return engine.stream_sql(f"SELECT {', '.join(map(identifier, names))} FROM {identifier(view.name)}")  # noqa: S608

    form = Form(delimiter[0], quote[0], len(fields), False, tuple(n.encode() for n in null if n))
    named = {c.name: f for c, f in zip(relation.columns, fields, strict=True)}
    engine.quick[view.name] = PlainFile(file, form, dialect.header, named, convert, otherwise)


def _filled(file: Any, rest: bytes, more: int) -> bytearray:
    """What was left over, and as many bytes of the file as are asked for, fewer only at its end."""
    raw = bytearray(len(rest) + more)
    raw[: len(rest)] = rest
    at = len(rest)
    with memoryview(raw) as view:
        while at < len(raw) and (read := file.readinto(view[at:])):
            at += read
    del raw[at:]
    return raw


def _without(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """The batches but for their first rows; at least one."""
    empty = None
    for batch in batches:
        left = batch.slice(min(rows, batch.num_rows))
        rows -= batch.num_rows - left.num_rows
        empty = left
        if left.num_rows:
            yield left
            empty = None
    if empty is not None:
        yield empty

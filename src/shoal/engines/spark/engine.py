"""Spark: local, a ``spark://`` cluster, or Spark Connect (``sc://``); results come as Arrow.

``spark::people.parquet`` reads a path (Parquet, ORC, JSON lines, CSV; anything that Spark can reach) and ``spark::table`` a
table or view of the session's catalog, on the session that is active, else on a new local one. How answers come to us, and what
happens to those that Spark's driver could not hold, says :mod:`shoal.engines.spark.answers`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from shoal.disk.atomic import staged
from shoal.engines.core.base import BATCH_ROWS, Engine, Marks, Relation
from shoal.engines.core.kinds import no_rows
from shoal.engines.core.limits import too_long
from shoal.engines.core.memory import bytes_of_class, left_for_data
from shoal.engines.core.state import changed
from shoal.engines.servers.tables import build_relation, spellings, table_expression
from shoal.engines.spark.answers import (
    SMALL,
    can_add_up,
    ddl_of,
    expected_bytes,
    is_one_row,
    read_parts,
    reading,
    require_collectable,
    rows_and_sum,
    shared_folder,
    streamed,
)
from shoal.engines.spark.files import (
    PLAIN,
    format_of,
    marks_of,
    number_of_parts,
    place_of_parts,
    publish_parts,
    read,
    write_parts,
)
from shoal.engines.spark.session import condition_of, disconnect, limited, session, shown, spark_errors, translate
from shoal.errors import EngineError, InternalError, OutputError
from shoal.model.roles import Column
from shoal.steps.sql import call, string

MOST_CLASSES = 2_000_000
"""Classes that a plan is searched over where nobody allowed more: about 1.5 GB."""


class Spark(Engine):
    """One Spark session."""

    name = "spark"
    dialect = "spark"

    def __init__(self, url: str = "spark") -> None:
        self.url = url
        self.master = url if "://" in url else "local[*]"
        self._spark = session(self.master)
        self._open = True
        self._seconds: float | None = None  # that a statement may take
        self._views: list[str] = []
        self._plain: set[str] = set()  # paths whose files hold all their rows

    def close(self) -> None:
        for view in self._views:
            with suppress(EngineError), self._errors():
                self._spark.catalog.dropTempView(view)
        self._views.clear()
        if self._open:
            self._open = False
            disconnect(self.master, self._spark)

    # -- the schema ---------------------------------------------------------------------------------------------------

    def relation(self, table: str, **options: Any) -> Relation:
        source, frame = self._source(table, options)
        readings = [reading(f) for f in frame.schema.fields]
        return build_relation(source, readings, f"{shown(self.url)}::{table}", options, table)

    def _source(self, table: str, options: dict[str, Any]) -> tuple[exp.Expr, Any]:
        known = format_of(table)
        if known is not None:
            view = f"shoal_{secrets.token_hex(8)}"
            with self._errors():
                form = options.pop("format", None) or known
                frame = read(self._spark, table, form, options)
                frame.createTempView(view)
            self._plain |= {table} if form in PLAIN else set()
            self._views.append(view)
            return table_expression(None, view), frame
        for schema, name in spellings(table):
            source = table_expression(schema, name)
            with self._errors():
                try:
                    frame = self._spark.sql(self.render(exp.select("*").from_(source)))
                    assert frame.schema is not None
                    return source, frame
                except spark_errors() as error:
                    if condition_of(error) != "TABLE_OR_VIEW_NOT_FOUND":
                        raise
        hint = "Name one of the catalog (schema.table), or a path with its ending (people.parquet)."
        raise EngineError(f"Spark knows no table or view '{table}'.", hint=hint, table=table)

    def marks(self, relation: Relation) -> Marks:
        """Of a path whose files hold all their rows; tables of a catalog may be of any kind, and have none."""
        path = relation.source.removeprefix(f"{shown(self.url)}::")
        if path not in self._plain:
            return ()
        with self._errors():
            try:
                return marks_of(self._spark, path)
            except spark_errors() as error:
                if condition_of(error) == "PATH_NOT_FOUND":
                    raise changed() from None
                raise

    # -- queries ------------------------------------------------------------------------------------------------------

    def stream(self, query: exp.Expr, *, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        with self._errors(), self._utc():
            frame = self._spark.sql(self.render(query))
            size = 0 if is_one_row(query) else expected_bytes(frame)
            place = None if size is not None and size <= SMALL else shared_folder(self._spark, self.url)
            if place is None and size is not None:
                require_collectable(frame, size, shown(self.url))
                table = frame.toArrow()
        if place is not None:
            yield from self._through_folder(frame, place, batch_rows)
        elif size is None:
            yield from self._arriving(frame, batch_rows)
        else:
            yield from table.to_batches(max_chunksize=batch_rows) or [no_rows(table.schema)]

    def _through_folder(self, frame: Any, place: Path, batch_rows: int) -> Iterator[Any]:
        """The executors write Parquet; we read the parts in their order, which is the order of the query."""
        with staged(place) as folder:
            with self._errors(), self._utc():
                frame.write.mode("overwrite").parquet(str(folder / "rows"))
            empty = True
            for batch in read_parts(folder / "rows", batch_rows):
                empty = False
                yield batch
            if empty:
                with self._errors(), self._utc():
                    schema = frame.limit(0).toArrow().schema
                yield no_rows(schema)

    def _arriving(self, frame: Any, batch_rows: int) -> Iterator[Any]:
        """Batches of Spark Connect; its errors come while they are taken."""
        batches = streamed(frame, batch_rows)
        with self._errors(), self._utc():
            batch = next(batches, None)
        while batch is not None:
            yield batch
            with self._errors():
                batch = next(batches, None)

    @contextmanager
    def _utc(self) -> Iterator[None]:
        """Moments with a zone are read in UTC; a session that is not ours gets its own zone back."""
        before = self._spark.conf.get("spark.sql.session.timeZone")
        if before == "UTC":
            yield
            return
        self._spark.conf.set("spark.sql.session.timeZone", "UTC")
        try:
            yield
        finally:
            self._spark.conf.set("spark.sql.session.timeZone", before)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of Spark in our words; what takes too long is stopped, wherever its tasks run."""
        try:
            with limited(self._spark, self._seconds, remote=self.master.startswith("sc://")) as over:
                try:
                    yield
                except spark_errors():
                    if over():
                        raise too_long(f"Spark ({shown(self.url)})") from None
                    raise
        except spark_errors() as error:
            raise translate(error, shown(self.url)) from None

    def limit_time(self, seconds: float) -> None:
        self._seconds = seconds

    # -- tables -------------------------------------------------------------------------------------------------------

    def create_table(self, name: str, query: exp.Expr) -> None:
        with self._errors(), self._utc():
            self._save(name, self._spark.sql(self.render(query)))

    def load_table(self, name: str, batches: Iterator[pa.RecordBatch], columns: Sequence[Column]) -> None:
        table = pa.Table.from_batches(list(batches))
        with self._errors(), self._utc():
            self._save(name, self._spark.createDataFrame(table))

    def _save(self, name: str, frame: Any) -> None:
        """Fill a table under a passing name, then give it its own."""
        final = self.render(table_expression(None, name))
        if self._spark.catalog.tableExists(final):
            raise OutputError(f"table '{name}' is already in Spark's catalog.", hint="Choose another name, or drop it first.")
        passing = f"shoal_{secrets.token_hex(8)}"
        try:
            frame.write.format("parquet").saveAsTable(passing)
            self._spark.sql(f"ALTER TABLE `{passing}` RENAME TO {final}")
            self.made = final
        except BaseException:
            with suppress(EngineError), self._errors():
                self._spark.sql(f"DROP TABLE IF EXISTS `{passing}`")
            raise

    def send(self, sql: str) -> None:
        with self._errors():
            self._spark.sql(sql)

    def writes_parts(self, out: Path) -> bool:
        return place_of_parts(self._spark, self.url, out) is not None

    def write_parts(self, query: exp.Expr, names: Sequence[str], out: Path, expected: int) -> str:
        place = place_of_parts(self._spark, self.url, out)
        if place is None:
            raise InternalError("the executors share no folder with us.")
        with ExitStack() as stack:
            here = place == out.absolute().parent
            folder = stack.enter_context(staged(place)) if here else self.stays(staged(place))
            target = folder / "data.parquet"
            target.mkdir()
            with self._errors(), self._utc():
                write_parts(self._spark.sql(self.render(query)), names, target, number_of_parts(expected))
            publish_parts(target, out, expected)
        return str(out.absolute() if here else target)

    # -- the dialect --------------------------------------------------------------------------------------------------

    def text(self, value: exp.Expr, column: Column) -> exp.Expr:
        if column.kind in ("timestamp", "time"):
            layout = "yyyy-MM-dd HH:mm:ss.SSSSSS" if column.kind == "timestamp" else "HH:mm:ss.SSSSSS"
            spelled = call("DATE_FORMAT", value.copy(), string(layout))
            return call("REGEXP_REPLACE", spelled, string(r"\.000000$"), string(""))
        if column.kind == "binary":
            return exp.func("LOWER", call("HEX", value.copy()))
        return super().text(value, column)

    def class_name(self, keys: Sequence[exp.Expr]) -> exp.Expr:
        """The keys themselves: a rank over all rows would bring them to one worker."""
        return call("STRUCT", *[k.copy() for k in keys])

    def class_mark(self, keys: Sequence[exp.Expr]) -> exp.Expr:
        """64 bits: Spark compiles a hash, but hashes every struct again (its estimate of distinct ones is not compiled)."""
        return call("XXHASH64", *[k.copy() for k in keys])

    def most_classes(self, columns: int) -> int:
        """What fits in the memory that was allowed; a round number where nobody said."""
        return MOST_CLASSES if self.memory is None else max(1, left_for_data(self.memory) // bytes_of_class(columns))

    def sum_of_macs(self, relation: Relation, names: Sequence[str], secret: bytes) -> tuple[int, int] | None:
        return rows_and_sum(self, relation, names, secret) if can_add_up(relation, names) else None

    def set_of(self, value: exp.Expr) -> exp.Expr:
        return call("ARRAY_SORT", call("COLLECT_LIST", value))

    @contextmanager
    def mapping(self, data: pa.Table) -> Iterator[exp.Expr]:
        """A temporary view over the rows."""
        view = f"shoal_{secrets.token_hex(8)}"
        with ExitStack() as stack:
            with self._errors():
                self._brought(data, stack).createTempView(view)
            try:
                yield table_expression(None, view)
            finally:
                with suppress(EngineError), self._errors():
                    self._spark.catalog.dropTempView(view)

    def _brought(self, data: Any, stack: ExitStack) -> Any:
        """Rows of ours as a frame: sent along where they are few, else read by the executors from a folder that both see."""
        place = shared_folder(self._spark, self.url) if data.nbytes > SMALL else None
        if place is not None:
            folder = stack.enter_context(staged(place))
            pq.write_table(data, folder / "mapping.parquet")
            return self._spark.read.parquet(str(folder / "mapping.parquet"))
        if data.num_rows == 0:  # Spark Connect takes no table without rows
            return self._spark.createDataFrame([], ddl_of(data.schema))
        return self._spark.createDataFrame(data)

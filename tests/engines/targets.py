"""Ways to bring the same rows into each engine, and to read a table back, without using the code under test."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Row = dict[str, Any]
_number = itertools.count(1)

COMMON = {"integer": "BIGINT", "small": "SMALLINT", "float": "DOUBLE", "single": "FLOAT", "boolean": "BOOLEAN", "date": "DATE",
          "timestamp": "TIMESTAMP", "decimal": "DECIMAL(20,4)", "fine": "DECIMAL(20,10)", "wide": "DECIMAL(38,0)"}  # fmt: skip

TYPES = {  # our word → the native type, per engine
    "duckdb": COMMON | {"text": "VARCHAR", "zoned": "TIMESTAMPTZ"},
    "postgres": COMMON | {"text": "TEXT", "float": "DOUBLE PRECISION", "single": "REAL", "zoned": "TIMESTAMPTZ"},
    "mariadb": COMMON | {"text": "TEXT", "timestamp": "DATETIME(6)", "zoned": "TIMESTAMP(6)"},
    "sqlite": COMMON
    | {"text": "TEXT", "integer": "INTEGER", "float": "REAL", "single": "REAL", "timestamp": "DATETIME", "zoned": "DATETIME"},
    "spark": COMMON | {"text": "STRING", "timestamp": "TIMESTAMP_NTZ", "zoned": "TIMESTAMP"},
}


@dataclass
class Target:
    """One engine under test: ``load`` gives a source for ``shoal.open``; ``read`` gives the rows of a table."""

    name: str
    handle: Any = None
    folder: Path = field(default_factory=Path)

    def fresh(self, stem: str = "t") -> str:
        return f"{stem}_{next(_number)}"

    def source(self, table: str) -> str:
        raise NotImplementedError

    def load(self, rows: Sequence[Row], types: dict[str, str], table: str | None = None) -> str:
        raise NotImplementedError

    def execute(self, *statements: str) -> None:
        raise NotImplementedError

    def read(self, table: str) -> list[Row]:
        raise NotImplementedError

    def tables(self) -> set[str]:
        raise NotImplementedError

    def quote(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def ddl(self, table: str, types: dict[str, str]) -> str:
        words = TYPES[self.name]
        return f"CREATE TABLE {self.quote(table)} ({', '.join(f'{self.quote(c)} {words.get(t, t)}' for c, t in types.items())})"


class DuckDBTarget(Target):
    @property
    def file(self) -> Path:
        return self.folder / "contract.duckdb"

    def source(self, table: str) -> str:
        return f"duckdb://{self.file}::{table}"

    def execute(self, *statements: str) -> None:
        import duckdb

        with duckdb.connect(str(self.file)) as con:
            con.execute("SET timezone='UTC'")
            for s in statements:
                con.execute(s)

    def load(self, rows: Sequence[Row], types: dict[str, str], table: str | None = None) -> str:
        import duckdb

        table = table or self.fresh()
        with duckdb.connect(str(self.file)) as con:
            con.execute("SET timezone='UTC'")
            con.execute(self.ddl(table, types))
            marks = ", ".join("?" for _ in types)
            if rows:
                con.executemany(f"INSERT INTO {self.quote(table)} VALUES ({marks})", [[r[c] for c in types] for r in rows])
        return self.source(table)

    def read(self, table: str) -> list[Row]:
        import duckdb

        with duckdb.connect(str(self.file)) as con:
            result = con.execute(f"SELECT * FROM {self.quote(table)}")
            names = [d[0] for d in result.description]
            return [dict(zip(names, r, strict=True)) for r in result.fetchall()]

    def tables(self) -> set[str]:
        import duckdb

        if not self.file.exists():
            return set()
        with duckdb.connect(str(self.file)) as con:
            return {r[0] for r in con.execute("SELECT table_name FROM information_schema.tables").fetchall()}


class PostgresTarget(Target):
    def source(self, table: str) -> str:
        return f"{self.handle.url}::{table}"

    def connect(self) -> Any:
        import psycopg

        return psycopg.connect(self.handle.url, autocommit=True)

    def execute(self, *statements: str) -> None:
        with self.connect() as con:
            for s in statements:
                con.execute(s)

    def load(self, rows: Sequence[Row], types: dict[str, str], table: str | None = None) -> str:
        table = table or self.fresh()
        with self.connect() as con:
            con.execute(self.ddl(table, types))
            names = ", ".join(self.quote(c) for c in types)
            with con.cursor() as cur, cur.copy(f"COPY {self.quote(table)} ({names}) FROM STDIN") as copy:
                for r in rows:
                    copy.write_row([r[c] for c in types])
        return self.source(table)

    def read(self, table: str) -> list[Row]:
        with self.connect() as con:
            result = con.execute(f"SELECT * FROM {self.quote(table)}")
            names = [d.name for d in result.description]
            return [dict(zip(names, r, strict=True)) for r in result.fetchall()]

    def tables(self) -> set[str]:
        with self.connect() as con:
            return {r[0] for r in con.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()}


class MariaDBTarget(Target):
    def source(self, table: str) -> str:
        return f"{self.handle.url}::{table}"

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def connect(self) -> Any:
        import pymysql

        u = urlsplit(self.handle.url)
        return pymysql.connect(host=u.hostname, port=u.port, user=u.username, password=u.password, database=u.path[1:],
                               charset="utf8mb4", autocommit=True, init_command="SET time_zone='+00:00'")  # fmt: skip

    def execute(self, *statements: str) -> None:
        with self.connect() as con, con.cursor() as cur:
            for s in statements:
                cur.execute(s)

    def ddl(self, table: str, types: dict[str, str]) -> str:
        return super().ddl(table, types) + " CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"

    def load(self, rows: Sequence[Row], types: dict[str, str], table: str | None = None) -> str:
        table = table or self.fresh()
        with self.connect() as con, con.cursor() as cur:
            cur.execute(self.ddl(table, types))
            if rows:
                marks = ", ".join(["%s"] * len(types))
                values = [[_mysql(r[c]) for c in types] for r in rows]
                cur.executemany(f"INSERT INTO {self.quote(table).replace('%', '%%')} VALUES ({marks})", values)
        return self.source(table)

    def read(self, table: str) -> list[Row]:
        with self.connect() as con, con.cursor() as cur:
            cur.execute(f"SELECT * FROM {self.quote(table)}")
            names = [d[0] for d in cur.description]
            return [dict(zip(names, r, strict=True)) for r in cur.fetchall()]

    def tables(self) -> set[str]:
        with self.connect() as con, con.cursor() as cur:
            cur.execute("SHOW TABLES")
            return {r[0] for r in cur.fetchall()}


def _mysql(value: Any) -> Any:
    """MySQL has no NaN: it is stored as NULL."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, dt.datetime) and value.tzinfo:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    return value


class SQLiteTarget(Target):
    """SQLite has no decimals: those that a double holds exactly are stored as doubles, others as texts."""

    @property
    def file(self) -> Path:
        return self.folder / "contract.sqlite"

    def source(self, table: str) -> str:
        return f"sqlite:///{self.file}::{table}"

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.file, isolation_level=None)

    def execute(self, *statements: str) -> None:
        with closing(self.connect()) as con:
            for s in statements:
                con.execute(s)

    def load(self, rows: Sequence[Row], types: dict[str, str], table: str | None = None) -> str:
        table = table or self.fresh()
        exact = {c: all(r[c] is None or Decimal(float(r[c])) == r[c] for r in rows) for c, t in types.items() if t in DECIMALS}
        stored = {c: t if t not in DECIMALS else ("float" if exact[c] else "text") for c, t in types.items()}
        with closing(self.connect()) as con:
            con.execute("BEGIN")
            con.execute(self.ddl(table, stored))
            if rows:
                values = [[_sqlite(r[c], stored[c]) for c in types] for r in rows]
                con.executemany(f"INSERT INTO {self.quote(table)} VALUES ({', '.join('?' for _ in types)})", values)
            con.execute("COMMIT")
        return self.source(table)

    def read(self, table: str) -> list[Row]:
        with closing(self.connect()) as con:
            result = con.execute(f"SELECT * FROM {self.quote(table)}")
            names = [d[0] for d in result.description]
            return [dict(zip(names, r, strict=True)) for r in result.fetchall()]

    def tables(self) -> set[str]:
        with closing(self.connect()) as con:
            return {r[0] for r in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


DECIMALS = ("decimal", "fine", "wide")


def _sqlite(value: Any, stored: str) -> Any:
    """Days, moments and decimals as SQLite keeps them; NaN becomes NULL by itself."""
    if isinstance(value, Decimal):
        return float(value) if stored == "float" else format(value, "f")
    if isinstance(value, dt.datetime):
        return _mysql(value).isoformat(sep=" ")
    return value.isoformat() if isinstance(value, dt.date) else value


class SparkTarget(Target):
    """Tables of the local session's catalog."""

    def source(self, table: str) -> str:
        return f"spark::{table}"

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def execute(self, *statements: str) -> None:
        for s in statements:
            self.handle.sql(s).collect()

    def frame(self, rows: Sequence[Row], types: dict[str, str]) -> Any:
        from pyspark.sql.types import StructField, StructType, _parse_datatype_string

        schema = StructType([StructField(c, _parse_datatype_string(TYPES["spark"].get(t, t)), True) for c, t in types.items()])
        return self.handle.createDataFrame([tuple(r[c] for c in types) for r in rows], schema)

    def load(self, rows: Sequence[Row], types: dict[str, str], table: str | None = None) -> str:
        if table is None:
            table = self.fresh()
            self.frame(rows, types).coalesce(2).write.format("parquet").saveAsTable(table)
        else:  # a hostile name: Spark's catalog allows only letters, digits and underscores for stored tables
            self.frame(rows, types).createOrReplaceTempView("plain_view")
            self.execute(f"CREATE OR REPLACE TEMP VIEW {self.quote(table)} AS SELECT * FROM plain_view")
        return self.source(table)

    def read(self, table: str) -> list[Row]:
        return [r.asDict() for r in self.handle.table(self.quote(table)).collect()]

    def tables(self) -> set[str]:
        return {t.name for t in self.handle.catalog.listTables() if not t.isTemporary}


CLASSES = {
    "duckdb": DuckDBTarget,
    "postgres": PostgresTarget,
    "mariadb": MariaDBTarget,
    "spark": SparkTarget,
    "sqlite": SQLiteTarget,
}

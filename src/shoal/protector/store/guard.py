"""What every transaction makes sure of before it commits: the database is as the vault made it, and its events are in the log.

A trigger, rule or view that somebody puts into the database needs no key and could swallow rows of the log. So the tables are
compared with those the vault makes, when it is opened and at the end of each write, and the events of the transaction are read
back: each there, each the successor of the one before, the first one the successor of the head in the sealed state.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.errors import TamperError
from shoal.protector.store.connection import blob, execute

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from shoal.protector.store.state import State

_HINT = "Stop using this database: keep a copy for the auditor, and restore it from a trusted backup."


def chained(previous: bytes, seq: int, sealed: bytes) -> bytes:
    """The next hash of the log: SHA-256 over the one before, the number of the event, and the sealed event."""
    return hashlib.sha256(previous + seq.to_bytes(8, "big") + sealed).digest()


def require_logged(connection: Connection, dialect: str, before: tuple[int, str], after: State) -> None:
    """Refuse a transaction whose events are not in the log as written; ``before`` is number and hash of the old head."""
    seq, head = before[0], bytes.fromhex(before[1])
    query = "SELECT seq, sealed, hash FROM vault_audit WHERE seq >= ? ORDER BY seq"
    rows = execute(connection, dialect, query, seq).fetchall()
    if seq and (not rows or int(rows[0][0]) != seq or blob(rows[0][2]) != head):
        raise _unlogged_error()
    for seq_found, sealed, stored in rows[1:] if seq else rows:
        seq += 1
        head = chained(head, seq, blob(sealed))
        if int(seq_found) != seq or blob(stored) != head:
            raise _unlogged_error()
    if seq != after.audit_seq or head.hex() != after.audit_head:
        raise _unlogged_error()


def _unlogged_error() -> TamperError:
    return TamperError("the log does not hold what was written, or its newest event was changed: nothing was done.", hint=_HINT)


def require_own_tables(connection: Connection, dialect: str) -> None:
    """Refuse a database with triggers, rules, views or other tables in place of the vault's."""
    strange = _strange_on_sqlite(connection) if dialect == "sqlite" else _strange_on_postgresql(connection, dialect)
    if strange:
        raise TamperError(f"the vault's database was changed from outside: {', '.join(sorted(strange)[:5])}.", hint=_HINT)


@functools.cache
def _made_on_sqlite() -> dict[str, str]:
    """Every statement that makes the tables, by the name of what it makes."""
    from sqlalchemy import create_engine

    from shoal.protector.store.schema import metadata

    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        metadata.create_all(connection)
        rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master").fetchall()
    engine.dispose()
    return {name: _squeeze(sql) for name, sql in rows}


_STATISTICS = {("table", "sqlite_stat1"), ("table", "sqlite_stat4")}
"""What ANALYZE leaves behind."""


def _strange_on_sqlite(connection: Connection) -> set[str]:
    """The database file is the vault's alone: what the vault did not make does not belong there."""
    expected = _made_on_sqlite()
    unknown = {}
    strange = set()
    for kind, name, sql in execute(connection, "sqlite", "SELECT type, name, sql FROM sqlite_master").fetchall():
        unknown[name] = _squeeze(sql)
        if name not in expected and (kind, name) not in _STATISTICS:
            strange.add(f"a {kind} was added")
        elif name in expected and unknown[name] != expected[name]:
            strange.add(f"the {kind} '{name}' was altered")
    return strange | {f"'{name}' is missing" for name in expected.keys() - unknown.keys()}


def _squeeze(sql: Any) -> str:
    return " ".join(str(sql or "").split())


_ON_POSTGRESQL = """
SELECT t.name,
  c.relkind, c.relrowsecurity, c.relhassubclass, c.relispartition,
  (SELECT count(*) FROM pg_trigger g WHERE g.tgrelid = c.oid),
  (SELECT count(*) FROM pg_rewrite r WHERE r.ev_class = c.oid),
  (SELECT count(*) FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype NOT IN ('p', 'n')),
  (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attgenerated::text, ','
     ORDER BY a.attnum)
     FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  c.relpersistence::text, c.oid, pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid),
  (SELECT count(*) + 100 * count(*) FILTER (WHERE i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)
     FROM pg_index i WHERE i.indrelid = c.oid),
  t.parent
FROM
"""
_BY_NAME = "(SELECT unnest(?::text[]), 0) AS t(name, parent) LEFT JOIN pg_class c ON c.oid = to_regclass(t.name)"
_PARTS = """(SELECT p.relname::text, h.inhparent::bigint, p.oid FROM pg_inherits h JOIN pg_class p ON p.oid = h.inhrelid
  WHERE h.inhparent = ANY (?::oid[])) AS t(name, parent, part) JOIN pg_class c ON c.oid = t.part"""


@dataclass(frozen=True)
class _Found:
    """A table as PostgreSQL describes it."""

    name: str
    kind: Any
    policies: bool
    children: bool
    part: bool
    triggers: int
    rules: int
    checks: int
    columns: str
    kept: str
    oid: int
    parted_by: str | None
    bounds: str | None
    indexes: int
    parent: int

    def strange(self, made: tuple[str, int], *, kind: str, part: bool) -> str | None:
        """What somebody changed of a table that the vault makes with these columns and so many indexes."""
        if (self.kind.decode() if isinstance(self.kind, bytes) else self.kind) != kind or self.part != part or self.kept != "p":
            return f"'{self.name}' is not a plain table"
        if self.triggers or self.rules:
            return f"a trigger or rule was added to '{self.name}'"
        if self.policies or (self.children and kind == "r") or self.checks or (self.columns, self.indexes) != made:
            return f"the table '{self.name}' was altered"
        return None


def _strange_on_postgresql(connection: Connection, dialect: str) -> set[str]:
    """The server may hold other things; the vault's own tables have no trigger, rule, policy or check and their own columns.

    Those that grow may lie in parts, each such a table, and all of them there.
    """
    from shoal.protector.store.schema import PARTED

    expected = _made_on_postgresql()
    strange: set[str | None] = set()
    tables = [_Found(*row) for row in execute(connection, dialect, _ON_POSTGRESQL + _BY_NAME, sorted(expected)).fetchall()]
    parted = {t.oid: t for t in tables if t.name in PARTED and t.parted_by == "HASH (id)"}
    for table in tables:
        strange.add(table.strange(expected[table.name], kind="p" if table.oid in parted else "r", part=False))
    if parted:
        parts = [_Found(*row) for row in execute(connection, dialect, _ON_POSTGRESQL + _PARTS, sorted(parted)).fetchall()]
        for oid, table in parted.items():
            own = [part for part in parts if part.parent == oid]
            strange |= {part.strange(expected[table.name], kind="r", part=True) for part in own}
            whole = {f"FOR VALUES WITH (modulus {len(own)}, remainder {i})" for i in range(len(own))}
            if not own or {part.bounds for part in own} != whole:
                strange.add(f"a part of '{table.name}' is missing, or was added")
    return {details for details in strange if details is not None}


@functools.cache
def _made_on_postgresql() -> dict[str, tuple[str, int]]:
    """The columns of each table as PostgreSQL describes them, and the number of its indexes."""
    from sqlalchemy.dialects import postgresql

    from shoal.protector.store.schema import metadata

    described: Any = postgresql.dialect  # untyped
    names_of_types = {
        "VARCHAR": "character varying",
        "BYTEA": "bytea",
        "INTEGER": "integer",
        "BIGINT": "bigint",
        "SMALLINT": "smallint",
    }
    expected = {}
    for table in metadata.sorted_tables:
        types = [(c.name, str(c.type.compile(described()))) for c in table.columns]
        parts = [(name, text.partition("(")) for name, text in types]
        columns = ",".join(f"{name} {names_of_types[base]}{bracket}{size} " for name, (base, bracket, size) in parts)
        expected[table.name] = (columns, 1 + len(table.indexes))
    return expected

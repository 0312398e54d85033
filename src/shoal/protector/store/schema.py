"""The tables of a vault. Every cell that could tell something is sealed; see :mod:`shoal.protector.store.database`."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Integer, LargeBinary, MetaData, SmallInteger, String, Table

from shoal.errors import UsageError

metadata = MetaData()

_Id = BigInteger().with_variant(Integer, "sqlite")  # an integer primary key of SQLite is its row number


def _number(name: str, kind: Any = _Id) -> Column[int]:
    return Column(name, kind, primary_key=True, autoincrement=False)


def _bytes(name: str, length: int | None = None) -> Column[bytes]:
    return Column(name, LargeBinary(length), nullable=False)


meta = Table("vault_meta", metadata, Column("name", String(40), primary_key=True), _bytes("value"))
"""Vault id, format, public signing keys, the wrapped root key and the id of the master key that wraps it."""

state = Table("vault_state", metadata, _number("id", Integer), _bytes("sealed"))
"""One row: the sealed :class:`shoal.protector.store.state.State`. Every writer locks it first."""

objects = Table(
    "vault_objects", metadata, Column("tag", LargeBinary(16), primary_key=True),
    Column("kind", SmallInteger, nullable=False, index=True), _bytes("sealed"),
)  # fmt: skip
"""Domains, domain keys, actors, tokens, requests, limits: sealed JSON under a keyed tag of its name."""

entries = Table("vault_entries", metadata, _number("id"), _bytes("sealed"))
"""Sealed pages of identity records. ``id`` is domain number * 2^40 + page; see :mod:`shoal.protector.store.pages`."""

index = Table("vault_index", metadata, _number("id"), _bytes("sealed"))
"""Sealed buckets that lead from lookup tags to slots; see :mod:`shoal.protector.store.index`."""

audit = Table("vault_audit", metadata, _number("seq"), _bytes("sealed"), _bytes("hash", 32))
"""The log: hash_i = SHA-256(hash_(i-1), i, sealed_i)."""

checkpoints = Table("vault_checkpoints", metadata, _number("seq"), _bytes("body"), _bytes("signature", 64))
"""Ed25519 signatures over the head of the log."""

PARTED = ("vault_entries", "vault_index")
"""The tables that grow with the identities; on PostgreSQL they may lie in parts, by a hash of the id."""
MOST_PARTS = 256


def make_tables(connection: Connection, parts: int = 1) -> None:
    """The tables of a new vault; those that grow in ``parts`` parts."""
    if not 1 <= parts <= MOST_PARTS:
        raise UsageError(f"a vault has 1 to {MOST_PARTS} parts.", hint="16 are enough for a hundred million identities.")
    if parts == 1:
        metadata.create_all(connection)
        return
    if connection.dialect.name != "postgresql":
        raise UsageError("only a vault on PostgreSQL has parts.", hint="Leave --parts out, or name postgresql://….")
    schema = MetaData()
    for table in metadata.sorted_tables:
        copy = table.to_metadata(schema)
        if table.name in PARTED:
            copy.dialect_options["postgresql"]["partition_by"] = "HASH (id)"
    schema.create_all(connection)
    for name in PARTED:
        for i in range(parts):
            bounds = f"FOR VALUES WITH (MODULUS {parts}, REMAINDER {i})"
            connection.exec_driver_sql(f"CREATE TABLE {name}_{i} PARTITION OF {name} {bounds}")

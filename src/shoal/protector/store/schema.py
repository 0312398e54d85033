"""The tables of a vault. Every cell that could tell something is sealed; see :mod:`shoal.protector.store.database`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, SmallInteger, String, Table

metadata = MetaData()

_Id = BigInteger().with_variant(Integer, "sqlite")  # an integer primary key of SQLite is its row number

meta = Table(
    "vault_meta",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", LargeBinary, nullable=False),
)
"""Vault id, format, public signing keys, the wrapped root key and the id of the master key that wraps it."""

state = Table(
    "vault_state",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("sealed", LargeBinary, nullable=False),
)
"""One row: the sealed :class:`shoal.protector.store.state.State`. Every writer locks it first."""

objects = Table(
    "vault_objects",
    metadata,
    Column("tag", LargeBinary(16), primary_key=True),
    Column("kind", SmallInteger, nullable=False, index=True),
    Column("sealed", LargeBinary, nullable=False),
)
"""Domains, domain keys, actors, tokens, requests, limits: sealed JSON under a keyed tag of its name."""

entries = Table(
    "vault_entries",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=False),
    Column("sealed", LargeBinary, nullable=False),
)
"""Sealed pages of identity records. ``id`` is domain number * 2^40 + page; see :mod:`shoal.protector.store.pages`."""

index = Table(
    "vault_index",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=False),
    Column("sealed", LargeBinary, nullable=False),
)
"""Sealed buckets that lead from lookup tags to slots; see :mod:`shoal.protector.store.index`."""

audit = Table(
    "vault_audit",
    metadata,
    Column("seq", _Id, primary_key=True, autoincrement=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("hash", LargeBinary(32), nullable=False),
)
"""The log: hash_i = SHA-256(hash_(i-1), i, sealed_i)."""

checkpoints = Table(
    "vault_checkpoints",
    metadata,
    Column("seq", _Id, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
    Column("signature", LargeBinary(64), nullable=False),
)
"""Ed25519 signatures over the head of the log."""

"""The keyed digest of a table, added up by the executors: no row comes here.

Each row has an HMAC-SHA256 of its canonical texts (RFC 2104, written out in SQL); the 256-bit numbers are added up in eight words
of 32 bits. The key travels as data, so that it stands in no statement, plan or log of Spark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from shoal.engines.core.base import Engine, Relation
from shoal.steps.sql import column

BLOCK = 64
"""Bytes of a block of SHA-256."""
WORDS = 8
SPELLED = ("integer", "text", "boolean", "date")
"""Kinds that Spark spells as we do, whatever the value."""


def can_add_up(relation: Relation, names: Sequence[str]) -> bool:
    """Whether every column is of a kind that Spark spells as we do."""
    return all(relation.column(n).kind in SPELLED for n in names)


def pads(secret: bytes) -> tuple[str, str]:
    """The key of an HMAC as its inner and outer block, in hexadecimal digits.

    >>> import hmac
    >>> inner, outer = (bytes.fromhex(p) for p in pads(b"key"))
    >>> hashlib.sha256(outer + hashlib.sha256(inner + b"row").digest()).digest() == hmac.digest(b"key", b"row", "sha256")
    True
    """
    key = (hashlib.sha256(secret).digest() if len(secret) > BLOCK else secret).ljust(BLOCK, b"\0")
    return bytes(b ^ 0x36 for b in key).hex(), bytes(b ^ 0x5C for b in key).hex()


def rows_and_sum(engine: Engine, relation: Relation, names: Sequence[str], secret: bytes) -> tuple[int, int]:
    """Number of rows, and the sum of their HMACs modulo 2²⁵⁶."""
    inner, outer = pads(secret)
    with engine.mapping(pa.table({"i": [inner], "o": [outer]})) as keys:
        found: Any = engine.fetch(_query(engine, relation, names, keys))
    words = [int(found[f"w{j}"][0].as_py() or 0) for j in range(WORDS)]
    return int(found["n"][0].as_py()), sum(w << 32 * (WORDS - 1 - j) for j, w in enumerate(words)) % 2**256


def _query(engine: Engine, relation: Relation, names: Sequence[str], keys: exp.Expr) -> exp.Select:
    cells = ", CHAR(31), ".join(_cell(engine.render(engine.text(column(n, "t"), relation.column(n)))) for n in names)
    table, pad = engine.render(exp.alias_(relation.sql.copy(), "t", table=True)), engine.render(keys)
    line = f"CAST(CONCAT({cells}) AS BINARY)"
    mac = f"SHA2(CONCAT(UNHEX(k.o), UNHEX(SHA2(CONCAT(UNHEX(k.i), {line}), 256))), 256)"
    sums = ", ".join(f"SUM(CAST(CONV(SUBSTRING(h, {8 * j + 1}, 8), 16, 10) AS DECIMAL(10, 0))) AS w{j}" for j in range(WORDS))
    text = f"SELECT COUNT(*) AS n, {sums} FROM (SELECT {mac} AS h FROM {table} CROSS JOIN {pad} AS k) AS m"  # noqa: S608
    return _parsed(text)


def _cell(text: str) -> str:
    """A text with its length before it; ``n`` for a missing one."""
    return f"COALESCE(CONCAT('v', CAST(LENGTH({text}) AS STRING), ':', {text}), 'n')"


def _parsed(text: str) -> exp.Select:
    from sqlglot import parse_one

    found = parse_one(text, dialect="spark")
    assert isinstance(found, exp.Select)
    return found

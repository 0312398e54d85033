"""The keyed digest of a table, added up by the executors: no row comes here.

Each row has an HMAC-SHA256 of its canonical texts (RFC 2104, written out in SQL). The 256-bit numbers are read in five pieces of
at most 15 hexadecimal digits and added up in halves of 30 bits, whose sums fit 64 bits up to 2³³ rows (Spark 4 stops beyond). The
key travels as data, so that it stands in no statement, plan or log of Spark.
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
DIGITS = 64
"""Hexadecimal digits of a digest."""
PIECE = 15
"""Digits of it that are read as one number: 60 bits."""
HALF = 30
"""Bits that are added up together."""
SPELLED = ("integer", "text", "boolean", "date")
"""Kinds that Spark spells as we do, for any value."""


def can_add_up(relation: Relation, names: Sequence[str]) -> bool:
    """Whether every column is of a kind that Spark spells as we do."""
    return all(relation.column(n).kind in SPELLED for n in names)


def pads(secret: bytes) -> tuple[bytes, bytes]:
    """The key of an HMAC as its inner and outer block.

    >>> import hmac
    >>> inner, outer = pads(b"key")
    >>> hashlib.sha256(outer + hashlib.sha256(inner + b"row").digest()).digest() == hmac.digest(b"key", b"row", "sha256")
    True
    """
    key = (hashlib.sha256(secret).digest() if len(secret) > BLOCK else secret).ljust(BLOCK, b"\0")
    return bytes(b ^ 0x36 for b in key), bytes(b ^ 0x5C for b in key)


def pieces() -> list[tuple[int, int, int]]:
    """First digit (from 1) and number of digits of each piece of a digest, and the bits that stand after it.

    >>> pieces()
    [(1, 15, 196), (16, 15, 136), (31, 15, 76), (46, 15, 16), (61, 4, 0)]
    """
    cuts = [(first, min(PIECE, DIGITS - first + 1)) for first in range(1, DIGITS + 1, PIECE)]
    return [(first, n, 4 * (DIGITS - first + 1 - n)) for first, n in cuts]


def rows_and_sum(engine: Engine, relation: Relation, names: Sequence[str], secret: bytes) -> tuple[int, int]:
    """Number of rows, and the sum of their HMACs modulo 2²⁵⁶."""
    inner, outer = pads(secret)
    with engine.mapping(pa.table({"i": [inner], "o": [outer]})) as keys:
        found: Any = engine.fetch(_query(engine, relation, names, keys))
    total = 0
    for j, (_, _, after) in enumerate(pieces()):
        low, high = (int(found[f"{half}{j}"][0].as_py() or 0) for half in "lh")
        total += (low + (high << HALF)) << after
    return int(found["n"][0].as_py()), total % 2**256


def _query(engine: Engine, relation: Relation, names: Sequence[str], keys: exp.Expr) -> exp.Select:
    cells = ", CHAR(31), ".join(_cell(engine.render(engine.text(column(n, "t"), relation.column(n)))) for n in names)
    table, pad = engine.render(exp.alias_(relation.sql.copy(), "t", table=True)), engine.render(keys)
    line = f"CAST(CONCAT({cells}) AS BINARY)"
    mac = f"SHA2(CONCAT(k.o, UNHEX(SHA2(CONCAT(k.i, {line}), 256))), 256)"
    numbers = ", ".join(f"CAST(CONV(SUBSTRING(h, {a}, {n}), 16, 10) AS BIGINT) AS c{j}" for j, (a, n, _) in enumerate(pieces()))
    halves = [f"SUM(c{j} & {2**HALF - 1}) AS l{j}, SUM(SHIFTRIGHT(c{j}, {HALF})) AS h{j}" for j in range(len(pieces()))]
    macs = f"SELECT {mac} AS h FROM {table} CROSS JOIN {pad} AS k"  # noqa: S608
    text = f"SELECT COUNT(*) AS n, {', '.join(halves)} FROM (SELECT {numbers} FROM ({macs}) AS m) AS p"  # noqa: S608
    return _parsed(text)


def _cell(text: str) -> str:
    """A text with its length before it; ``n`` for a missing one."""
    return f"COALESCE(CONCAT('v', CAST(LENGTH({text}) AS STRING), ':', {text}), 'n')"


def _parsed(text: str) -> exp.Select:
    from sqlglot import parse_one

    found = parse_one(text, dialect="spark")
    assert isinstance(found, exp.Select)
    return found

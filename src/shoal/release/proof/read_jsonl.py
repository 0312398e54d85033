"""JSON lines for the second opinion: one object of plain values per line, all with the same names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shoal.errors import TamperError
from shoal.release.proof.bounds import MOST_HEADER

ROWS = 65_536


def names(path: Path) -> list[str]:
    """The names of the first line."""
    with path.open(encoding="utf-8") as source:
        line = source.readline(MOST_HEADER)
    return [] if not line.strip() else [name for name, _ in _pairs(line, path)]


def cells(path: Path, columns: list[str]) -> Iterator[list[list[str | None]]]:
    """Columns of texts, some rows at a time: numbers as they are spelled, true and false as words, null as missing."""
    wanted = names(path)
    block: list[list[str | None]] = [[] for _ in columns]
    with path.open(encoding="utf-8") as source:
        for line in source:
            if not line.strip():
                continue
            found = _pairs(line, path)
            record = dict(found)
            if len(record) != len(found) or set(record) != set(wanted):
                raise TamperError(f"'{path.name}' has lines with other names than its first.")
            for name, values in zip(columns, block, strict=True):
                values.append(_text(record[name], path))
            if len(block[0]) >= ROWS:
                yield block
                block = [[] for _ in columns]
    yield block


def _pairs(line: str, path: Path) -> list[tuple[str, Any]]:
    """Name and value of each field, numbers as their own text."""
    found = json.loads(line, object_pairs_hook=_Fields, parse_int=_Number, parse_float=_Number, parse_constant=_Number)
    if not isinstance(found, _Fields):
        raise TamperError(f"'{path.name}' has a line that is not an object.")
    return list(found)


class _Fields(list[tuple[str, Any]]):
    """The fields of an object in their order, names that are there twice included."""


class _Number(str):
    """A number as it is spelled."""

    __slots__ = ()


def _text(value: Any, path: Path) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    raise TamperError(f"'{path.name}' holds nested values.")

"""The list of people who asked not to be in it: one id per line, or a column of a table.

Ids are taken as they are written, blanks around them left away. No message holds one.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shoal.engines.open import open as open_source
from shoal.errors import UnreadableError, UsageError
from shoal.kernels.text import canonical_text

DELIMITERS = ",;\t|"
TEXT_ENDINGS = ("", ".txt", ".lst", ".list", ".csv", ".tsv")
FORMS = "One id per line; or FILE:column of a CSV with names in its first line."


def ids_of(given: str | Path | Iterable[Any], column: str = "") -> tuple[str, ...]:
    """The different ids of a list, in its order.

    Parameters
    ----------
    given : path or ids
        A file (``FILE`` or ``FILE:column``), or the ids themselves.
    column : str
        The person column of the table: a column of that name is taken from a file of several.
    """
    if not isinstance(given, str | Path):
        found = [str(v) for v in given if v is not None]
    else:
        path, named = _place(given)
        found = _text_ids(path, named, column) if path.suffix.lower() in TEXT_ENDINGS else _table_ids(path, named or column)
    return tuple(dict.fromkeys(t for t in (v.strip() for v in found) if t))


def column_of(given: str | Path | Iterable[Any], names: Iterable[str]) -> str | None:
    """The column that a list names, where the table has it too: ``FILE:column``, or a name in the first line of a CSV."""
    if not isinstance(given, str | Path):
        return None
    path, named = _place(given)
    heads = [named] if named else _heads(path)
    both = [h for h in heads if h in set(names)]
    return both[0] if len(both) == 1 else None


def _heads(path: Path) -> list[str]:
    if path.suffix.lower() not in TEXT_ENDINGS:
        with open_source(path) as table:
            return list(table.schema.names)
    rows = _lines(path)
    return [h.strip() for h in rows[0]] if rows else []


def _place(given: str | Path) -> tuple[Path, str]:
    """The file, and the column named after a colon."""
    path = Path(given)
    if path.exists() or ":" not in str(given):
        return path, ""
    file, _, column = str(given).rpartition(":")
    return (Path(file), column) if Path(file).exists() else (path, "")


def _lines(path: Path) -> list[list[str]]:
    """The lines of a text file, each split at the delimiter that its first line has."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UnreadableError("the list of people to leave out is not there.", hint="Check the path after --exclude.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableError(
            f"the list of people to leave out cannot be read: {type(error).__name__}.", hint="It must be a UTF-8 text file."
        ) from None
    lines = text.splitlines()
    mark = next((d for d in DELIMITERS if lines and d in lines[0]), None)
    if mark is None:
        return [[next(iter(next(csv.reader([line]), [])), "")] if line.startswith('"') else [line] for line in lines]
    return [row for row in csv.reader(lines, delimiter=mark) if row]


def _text_ids(path: Path, named: str, column: str) -> list[str]:
    rows, heads = _lines(path), _heads(path)
    if named and named not in heads:
        raise UsageError("the list of people to leave out has no column of that name.", hint=FORMS)
    if named or column in heads:
        at = heads.index(named or column)
        return [row[at] if at < len(row) else "" for row in rows[1:]]
    if any(len(row) > 1 for row in rows):
        raise UsageError("the list of people to leave out has several columns, and none is the person column.", hint=FORMS)
    return [row[0] for row in rows]


def _table_ids(path: Path, column: str) -> list[str]:
    """Ids from a Parquet file, a workbook, or any other table."""
    with open_source(path) as table:
        names = table.schema.names
        if column not in names and len(names) > 1:
            raise UsageError("the list of people to leave out has several columns, and none is the person column.", hint=FORMS)
        values, _ = table.values(column if column in names else names[0])
        return [t for t in canonical_text(values).to_pylist() if t is not None]

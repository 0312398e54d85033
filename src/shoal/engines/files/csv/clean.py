"""A private copy of a text file in UTF-8, without what is not a record, for files that the database does not read as they are."""

from __future__ import annotations

import csv
import io
import itertools
import shutil
import tempfile
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from pathlib import Path

from shoal.disk.atomic import disk_full
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.duckdb.errors import UNEVEN
from shoal.engines.files.csv.sniff import Dialect
from shoal.engines.files.layout import is_blank, titles_part
from shoal.engines.files.packing import opened
from shoal.errors import OutputError, UnreadableError


def cleaned(lines: Iterable[str], dialect: Dialect, width: int, table: str, aside: Counter[str]) -> Iterator[str]:
    """The heading on one line and the records as they are written; what is set aside is counted in ``aside`` by sort."""
    source = iter(lines)
    if dialect.blanks:
        yield from (" ".join(line.split()) + "\n" for line in itertools.islice(source, dialect.skip, None) if line.strip())
        return
    for _ in range(dialect.skip):
        next(source, "")
    layout, held = dialect.layout, deque[tuple[list[str], str, int]]()
    reach = max((-place for place in layout.last), default=int(bool(layout.again)))
    heading, first, end = dialect.header, True, ""
    for cells, raw, line in _records(source, dialect, aside):
        end = end or ("\n" if dialect.mended else _ending(raw))
        if heading:
            heading = False
            yield dialect.delimiter.join(f"f{i}" for i in range(width)) + end
            continue
        held.append((cells, raw, line))
        if len(held) <= reach:
            continue
        row = held.popleft()
        if layout.again and tuple(held[0][0]) == layout.again and titles_part(row[0], layout.usual):
            aside["notes"] += 1
            continue
        yield from _kept(*row, first, 0, dialect, width, table, aside, end)
        first = False
    while held:
        place = -len(held)
        yield from _kept(*held.popleft(), first, place, dialect, width, table, aside, end)
        first = False


def _records(source: Iterator[str], dialect: Dialect, aside: Counter[str]) -> Iterator[tuple[list[str], str, int]]:
    """The fields of each record, its text, and the line on which it begins; without blank lines and comments."""
    taken: list[str] = []
    line = dialect.skip

    def lines() -> Iterator[str]:
        nonlocal line
        for text in source:
            line += 1
            if dialect.comment and not taken and text.startswith(dialect.comment):
                aside["comments"] += 1
                continue
            taken.append(text)
            yield text

    try:
        for cells in csv.reader(lines(), delimiter=dialect.delimiter, quotechar=dialect.quote, doublequote=True):
            if not is_blank(cells) or dialect.layout.usual == 0:
                yield cells, "".join(taken), line - len(taken) + 1
            taken.clear()
    except csv.Error:
        return  # a field too long: reading on reports its line


def _kept(
    cells: list[str],
    raw: str,
    line: int,
    first: bool,
    place: int,
    dialect: Dialect,
    width: int,
    table: str,
    aside: Counter[str],
    end: str,
) -> Iterator[str]:
    sort = dialect.layout.sort_of(cells, first, place)
    if sort:
        aside[sort] += 1
    elif len(cells) == width or not dialect.layout.numeric:
        yield raw if raw.endswith(("\n", "\r")) and not dialect.mended else raw.rstrip("\r\n") + end
    elif dialect.set_aside_bad:
        aside["bad lines"] += 1
    else:
        raise uneven(line, len(cells), width, table)


def uneven(line: int, seen: int, expected: int, table: str) -> UnreadableError:
    """A line with another number of fields than the names."""
    return UnreadableError(
        f"line {line} of '{table}' has {seen} fields; {expected} were expected.",
        hint=UNEVEN,
        line=line,
        expected=expected,
        found=seen,
    )


def _ending(text: str) -> str:
    return text[len(text.rstrip("\r\n")) :] or "\n"


def transcoded(
    path: Path, encoding: str, engine: DuckDB, suffix: str, dialect: Dialect | None = None, width: int = 0
) -> tuple[Path, Counter[str]]:
    """A private UTF-8 copy (mode 0600) that goes with the engine; with a dialect also :func:`cleaned`. And what was set aside."""
    with tempfile.NamedTemporaryFile(dir=engine.folder, suffix=suffix, delete=False) as out:
        target = Path(out.name)
    aside: Counter[str] = Counter()
    try:
        with (
            io.TextIOWrapper(opened(path), encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="") as source,
            target.open("w", encoding="utf-8", newline="") as copy,
        ):
            if dialect is None:
                shutil.copyfileobj(source, copy, 1 << 20)
            else:
                copy.writelines(cleaned(source, dialect, width, path.name, aside))
    except OSError as error:
        if disk_full(error):
            raise OutputError(
                f"not enough disk space for a copy of '{path.name}' in the temporary folder.",
                hint="Free space, or save it as UTF-8.",
            ) from None
        raise UnreadableError(f"'{path}' may not be read.", hint="Check the file and its rights.") from None
    except UnicodeError:
        raise UnreadableError(f"'{path}' is not valid in encoding '{encoding}'.", hint="Pass the right encoding=.") from None
    return target, aside

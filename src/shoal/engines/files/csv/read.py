"""CSV: dialect guessed from the beginning of the file, shown in ``table.source``, overridable; types given deliberately.

All fields are read as text. A column becomes a number or date only where every sampled value is spelled exactly as that type
spells it (so leading zeros, 20-digit numbers and yes/no stay text), and every later value is checked while it is read. An
empty unquoted field is missing; ``?`` or ``NA`` are values unless ``null=`` says so. A quoted empty field is the empty text, but
missing in a column of numbers or dates, and everywhere if the file has no field that is empty without quotes.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
import shutil
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from shoal.disk.atomic import disk_full
from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import columns_of
from shoal.engines.core.memory import BUDGET
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.duckdb.sql import UNEVEN, identifier, literal, path_literal
from shoal.engines.files.csv.encodings import SAMPLE_BYTES, UnknownEncodingError, guess_encoding, rests_on_few
from shoal.engines.files.csv.sniff import Dialect, mended_line, sample_bytes, sniff
from shoal.engines.files.csv.types import Field, converted, guess_types, read_plain, shortened, typed
from shoal.engines.files.frames import open_deferred, still_there
from shoal.engines.files.layout import HEAD_ROWS, MODES, is_blank, need_modes, numbered_names, repairs_of, titles_part
from shoal.engines.files.packing import opened, packing_of, require_option
from shoal.engines.files.readers import EngineReader
from shoal.engines.files.shape import ONCE, stands_once
from shoal.errors import OutputError, ShoalError, UnreadableError, UsageError, missing_column
from shoal.model.roles import Column, check_names


def cleaned(lines: Iterable[str], dialect: Dialect, width: int, table: str, aside: Counter[str]) -> Iterator[str]:
    """The heading on one line and the records as they are written; what is set aside is counted in ``aside`` by sort."""
    source = (mended_line(line, dialect.mended) for line in lines) if dialect.mended else iter(lines)
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
    what = f"line {line} of '{table}' has {seen} fields; {expected} were expected."
    return UnreadableError(what, hint=UNEVEN, line=line, expected=expected, found=seen)


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
            hint = "Free space, or save it as UTF-8."
            raise OutputError(f"not enough disk space for a copy of '{path.name}' in the temporary folder.", hint=hint) from None
        raise UnreadableError(f"'{path}' may not be read.", hint="Check the file and its rights.") from None
    except UnicodeError:
        raise UnreadableError(f"'{path}' is not valid in encoding '{encoding}'.", hint="Pass the right encoding=.") from None
    return target, aside


FEW_LETTERS = "The encoding is guessed from a few texts with letters beyond ASCII. Overrule with --read encoding=NAME."
OPTIONS = (
    *("delimiter", "quote", "encoding", "decimal", "header", "skip", "comment", "null", "types", "dates", "rename_duplicates"),
    *MODES,
)
SAMPLE_ROWS = 20_000
WIDE, HELD_BYTES, WIDE_BYTES = 1_000, 1 << 26, 1 << 28
"""Columns from which a file is read into memory at once, where the sample is all of it and it has at most so many bytes; files of
so many columns and up to the last number of bytes are not taken through the database at all."""
_NATIVE = {"utf-8": "utf-8", "latin-1": "latin-1"}

_SQL_TYPES = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "float": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "time": "TIME",
}


def open_csv(path: Path, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """An engine and relation over a CSV file; only a sample is read."""
    require_option(options, OPTIONS, "CSV")
    need_modes(options)
    raw = sample_bytes(path)
    encoding = _encoding(options.get("encoding") or _guessed_encoding(raw, path, options))
    dialect, own = sniff(raw, encoding, path, options)
    names = numbered_names(own, options)
    check_names(names, table=path.name)
    file = _File(path, raw, encoding, dialect, names, own, options)
    return file.in_memory() or file.in_database()


@dataclass
class _File:
    """A CSV file and how it is read; ``own`` are the names as they are written, ``aside`` counts what is not a record."""

    path: Path
    raw: bytes
    encoding: str
    dialect: Dialect
    names: list[str]
    own: list[str]
    options: Mapping[str, Any]
    aside: Counter[str] = field(default_factory=Counter)
    told: tuple[str, ...] = ()

    @property
    def null(self) -> list[str]:
        return _null_texts(self.options.get("null"))

    def in_memory(self) -> tuple[DuckDB, Relation] | None:
        """A file that is whole in the sample or wide, by Arrow; None where it is long or not plainly written."""
        content = self._content()
        if content is None or self.options.get("types") or self.options.get("dates"):
            return None
        before = self.dialect
        sample = self._sample(lambda d: read_plain(content, d.copied, len(self.names), self.null))
        if sample is None or sample.num_rows > SAMPLE_ROWS:
            self.dialect = before
            return None
        fields, decimal = _fields(self.names, sample, self.dialect, self.options)
        self.told = self._losses(sample)
        odd = any(f.comma or f.padded or f.quoted_empty or f.marks or f.days or f.amount for f in fields)
        table = None if odd else typed(sample, [f.sql_type for f in fields], self.names)
        if table is None:
            self.dialect = before
            return None
        details = self._details() | {"decimal": decimal}
        columns = self._noted(columns_of(table.schema))
        return open_deferred(lambda: still_there(self.path, table), table.schema, columns, str(self.path), **details)

    def in_database(self) -> tuple[DuckDB, Relation]:
        """By DuckDB, from the file itself, or from a private copy in UTF-8 without what is not a record."""
        path, names, size, packed = self.path, self.names, self.path.stat().st_size, packing_of(self.path) != "none"
        engine = DuckDB(stable_order=True)
        engine.source = path.name
        folded = self.dialect.header and any("\n" in n or "\r" in n for n in names)  # DuckDB takes its first line break for all
        rewritten = folded or self.dialect.blanks or self.dialect.repaired
        file, native = path, _NATIVE.get(self.encoding, "utf-8")
        if rewritten or self.encoding not in _NATIVE:
            form = self.dialect if rewritten else None
            file, self.aside = transcoded(path, self.encoding, engine, ".csv", form, len(names))
            self.dialect, native = replace(self.dialect, skip=0) if rewritten else self.dialect, "utf-8"
        packing = packing_of(file)

        def reading(dialect: Dialect) -> str:
            return _reading(file, dialect, len(names), self.null, native, packing)

        sample = self._sample(lambda d: engine.run_table(f"FROM {reading(d)} LIMIT {SAMPLE_ROWS}", path.name))
        source = reading(self.dialect)
        fields, decimal = _fields(names, sample, self.dialect, self.options)
        self.told = self._losses(sample)
        engine.explain_late = lambda position: _late(engine, source, fields[position], path.name)
        details = self._details() | {"decimal": decimal}
        if signs := {f.name: sign for f in fields if f.amount is not None and (sign := f.amount.before or f.amount.behind)}:
            details["signs"] = signs
        chosen = ", ".join(f"{f.expression()} AS {identifier(f.name)}" for f in fields)
        body = f"SELECT {chosen} FROM {converted(source, fields)}"  # noqa: S608
        held = sample.num_rows < SAMPLE_ROWS and size <= HELD_BYTES and len(names) > WIDE
        relation = engine.view(body, str(path), held=held, **details)
        relation = replace(relation, columns=tuple(self._noted(relation.columns)))
        if packed:
            return engine, relation
        most = size // len(names) + 1  # a row has at least one byte per field
        likely = int(size * self.raw.count(b"\n") / max(1, len(self.raw))) + 1
        return engine, replace(relation, reader=EngineReader(engine, relation, most, likely))

    def _content(self) -> bytes | None:
        """The whole file in UTF-8, without what is not a record, where that can be had in memory."""
        most = WIDE_BYTES if BUDGET.get() is None else WIDE_BYTES >> 4  # it takes up to ten times as much memory
        packed, wide = packing_of(self.path) != "none", len(self.names) > WIDE and self.path.stat().st_size <= most
        if packed or not (self.encoding == "utf-8" or self.dialect.repaired):
            return None
        if len(self.raw) >= SAMPLE_BYTES:
            return self.path.read_bytes() if wide and not self.dialect.repaired else None
        if not self.dialect.repaired:
            return self.raw
        try:
            text = self.raw.decode("utf-8-sig" if self.encoding == "utf-8" else self.encoding)
        except UnicodeError:
            what = f"'{self.path}' is not valid in encoding '{self.encoding}'."
            raise UnreadableError(what, hint="Pass the right encoding=.") from None
        lines = cleaned(io.StringIO(text, newline=""), self.dialect, len(self.names), self.path.name, self.aside)
        return "".join(lines).encode()

    def _sample(self, read: Callable[[Dialect], Any]) -> Any:
        """The first records as texts; where they show that quoted empty fields are missing values, read again so."""
        sample = read(self.dialect)
        if sample is not None and self.dialect.quoted_empty == "numbers" and _quoted_empties_are_missing(sample):
            self.dialect = replace(self.dialect, quoted_empty="missing")
            sample = read(self.dialect)
        return sample

    def _losses(self, sample: Any) -> tuple[str, ...]:
        """What the texts of the sample have lost before they came here, and what stands only once for several rows."""
        text = self.raw.decode(self.encoding, errors="ignore")
        columns = zip(self.names, sample.columns, strict=True)
        first = next(iter(sample.columns), None)
        lost = [f"'{name}'" for name, column in columns if shortened(column)][:5] if "E+1" in text else []
        own = first is not None and stands_once(first.to_pylist()[:HEAD_ROWS])
        return tuple(
            texts
            for texts, holds in (
                (SHORTENED.format(", ".join(lost)), bool(lost)),
                (ZERO_BYTES, "\x00" in text),
                (LOST_LETTERS, "\ufffd" in text),
                (GARBLED, _GARBLED.search(text) is not None),
                (ONCE.format(self.names[0]), own and len(self.names) > 1),
            )
            if holds
        )

    def _noted(self, columns: Sequence[Column]) -> list[Column]:
        """The columns with the labels of a second row of headings."""
        labels = self.dialect.labels or ("",) * len(columns)
        return [replace(c, note=" ".join(label.split())) for c, label in zip(columns, labels, strict=True)]

    def _details(self) -> dict[str, Any]:
        """How the file is read, for people."""
        dialect, options = self.dialect, self.options
        counts = self.aside + Counter({"notes": dialect.above})
        stated = ("quote", "skip", "header", "null", "types", "dates", "rename_duplicates", *MODES)
        usual = {"delimiter": ",", "encoding": "utf-8", "quoted_empty": "numbers"}
        own = {"delimiter": dialect.delimiter, "encoding": self.encoding, "quoted_empty": dialect.quoted_empty}
        plan = {n: options[n] for n in stated if n in options} | {n: v for n, v in own.items() if v != usual[n]}
        plan |= {"heading_rows": 2} if dialect.rows > 1 else {}
        renamed = {new: old for new, old in zip(self.names, self.own, strict=True) if new != old}
        guessed = "encoding" not in options and not self.encoding.startswith("utf") and rests_on_few(self.raw)
        mended = (*dialect.mended, *([FEW_LETTERS] if guessed else []), *self.told)
        return {
            "format": "csv",
            "delimiter": dialect.delimiter,
            "quote": dialect.quote,
            "encoding": self.encoding,
            "header": dialect.header,
            "null": self.null,
            **({"heading_rows": dialect.rows} if dialect.rows > 1 else {}),
            **({"quoted_empty": dialect.quoted_empty} if dialect.quoted_empty != "numbers" else {}),
            **repairs_of(counts, renamed, plan, above=dialect.above, comment=dialect.comment, mended=mended),
        }


SHORTENED = (
    "A spreadsheet has shortened numbers of {} (as in E+15): their last digits are lost, and different ones may look the same. "
    "Write the file again with these columns as text."
)
ZERO_BYTES = "Some texts hold zero bytes, which are kept."
LOST_LETTERS = "Some texts hold the sign of a letter that another program could not write: which letters they were is lost."
GARBLED = "Some texts look as if another program had read them in a wrong encoding (two odd signs for one letter); they are kept."
_GARBLED = re.compile("Ã[\u0080-\u00bf\u0152-\u2122]|Â[\u00a0-\u00bf]|â€[\u0080-\u2122]|Ð[\u0080-\u00bf\u0152-\u2122]Ð")
"""UTF-8 read as Windows-1252 or Latin-1."""


def _quoted_empties_are_missing(sample: Any) -> bool:
    """Whether the file writes missing values as ``\"\"``: it has such fields, and no field that is empty without quotes."""
    if any(column.null_count for column in sample.columns):
        return False
    return any(pc.min(pc.binary_length(column)).as_py() == 0 for column in sample.columns)


def _guessed_encoding(raw: bytes, path: Path, options: Mapping[str, Any]) -> str:
    """The likeliest encoding; where two are close, an error with the names of the columns in each reading."""
    try:
        guess = guess_encoding(raw)
        return "cp1252" if guess == "latin-1" and len(raw) >= SAMPLE_BYTES and _windows_signs(path) else guess
    except UnknownEncodingError as error:
        readings = []
        for encoding in error.readings:
            dialect, names = sniff(raw, encoding, path, options)
            odd = [n for n in names if not n.isascii()] if dialect.header and any(dialect.layout.numeric) else []
            readings.append(f"{encoding} ({', '.join(odd[:3])})" if odd else encoding)
        what = f"the encoding of '{path.name}' is not certain. Likely: {'; '.join(readings)}."
        raise UnreadableError(what, hint=error.hint) from None


def _windows_signs(path: Path) -> bool:
    """Whether a file has bytes that are signs in Windows-1252 only: dashes and quotes, often far below the first rows."""
    others = bytes({*range(256)} - {*range(0x80, 0xA0)})
    with opened(path) as file:
        return any(block.translate(None, others) for block in iter(lambda: file.read(1 << 20), b""))


def _encoding(name: str) -> str:
    try:
        known = codecs.lookup(name).name
    except LookupError:
        raise UsageError(f"encoding '{name}' is not known.", hint="Use utf-8, utf-16, latin-1, cp1252 …") from None
    return {"iso8859-1": "latin-1", "utf-8-sig": "utf-8"}.get(known, known)


def _null_texts(null: str | Iterable[str] | None) -> list[str]:
    if null is None:
        return [""]
    more = [null] if isinstance(null, str) else list(null)
    return list(dict.fromkeys(["", *more]))


def _reading(path: Path, dialect: Dialect, width: int, null: list[str], encoding: str, compression: str) -> str:
    columns = ", ".join(f"'f{i}': 'VARCHAR'" for i in range(width))
    texts = ", ".join(literal(n) for n in null)
    quote = literal(dialect.quote)
    return (
        f"read_csv({path_literal(path)}, auto_detect = false, columns = {{{columns}}}, delim = {literal(dialect.delimiter)}, "
        f"quote = {quote}, escape = {quote}, header = {str(dialect.header).lower()}, skip = {dialect.skip}, "
        f"compression = '{compression}', nullstr = [{texts}], "
        f"allow_quoted_nulls = {str(dialect.quoted_empty == 'missing').lower()}, "
        f"encoding = '{encoding}', strict_mode = true, null_padding = false)"
    )


def _fields(names: list[str], sample: Any, dialect: Dialect, options: Mapping[str, Any]) -> tuple[list[Field], str]:
    """Types asked for, and types that the sample shows; and the decimal mark."""
    types = dict(options.get("types") or {})
    dates = dict(options.get("dates") or {})
    for name in (*types, *dates):
        if name not in names:
            raise missing_column(name, names, table="the CSV file")
    decimal = options.get("decimal")
    if decimal not in (None, ".", ","):
        raise UsageError("the decimal mark must be '.' or ','.", hint="Pass decimal=',' or decimal='.'.")
    guesses, mark = guess_types([sample.column(i) for i in range(len(names))], dialect, decimal)
    fields = []
    for i, name in enumerate(names):
        if name in dates:
            kind = types.get(name, "date")
            fields.append(Field(i, name, _sql_type(kind, name), form=str(dates[name])))
        elif name in types:
            fields.append(Field(i, name, _sql_type(types[name], name), comma=mark == ","))
        else:
            fields.append(replace(guesses[i], position=i, name=name))
    return fields, mark


def _sql_type(kind: str, name: str) -> str:
    if kind not in _SQL_TYPES:
        raise UsageError(f"type '{kind}' of column '{name}' is not known.", hint=f"Types: {', '.join(_SQL_TYPES)}.")
    return _SQL_TYPES[kind]


def _late(engine: DuckDB, reading: str, field: Field, source: str) -> ShoalError:
    """Which record does not fit: found by reading on, and told without its content."""
    fits = field.expression().replace(f"error('shoal:type:{field.position}')", "NULL")
    late = engine.run_table(
        f"SELECT min(r) AS r, count(*) AS n FROM (SELECT row_number() OVER () AS r, {field.raw}, {fits} AS v "  # noqa: S608
        f"FROM {converted(reading, [field])}) "
        f"WHERE {field.raw} IS NOT NULL AND v IS NULL",
        source,
    )
    record, n = late["r"][0].as_py(), late["n"][0].as_py()
    kind = {v: k for k, v in _SQL_TYPES.items()}.get(field.sql_type, "decimal")
    what = f"column '{field.name}' of '{source}' is read as {kind}, but {n} record(s) do not fit; the first is record {record}."
    hint = f"Open it with types={{'{field.name}': 'text'}}, or repair the records."
    return UnreadableError(what, hint=hint, column=field.name, record=record)

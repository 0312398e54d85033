"""Guessing how a CSV file is written: delimiter, quotes, heading, and what is not a record. Every guess can be overruled."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.engines.files.csv.encodings import SAMPLE_BYTES, guess_encoding, wide_letters
from shoal.engines.files.layout import (
    Layout,
    filled,
    heading_line,
    is_blank,
    labels_apart,
    lay_out,
    names_at,
    numbers_columns,
    several_in_one,
    usual_width,
)
from shoal.engines.files.packing import ending, opened, packing_of
from shoal.engines.files.shape import cut_off, first_is_record, kind_of, names_recur, stacked, strange_shape, table_above
from shoal.errors import UnreadableError, UsageError

DELIMITERS = (",", ";", "\t", "|")
RARE_DELIMITERS = ("^", ":", "~", " ")
"""Tried where none of the usual ones splits the lines evenly: they stand inside texts and times as well."""
RARE_SHARE, RARE_WIDTH = 0.98, 3
"""Share of lines that a rare delimiter must split into the same number of fields, and the fewest fields."""

_NAME = re.compile(r"[^\W\d][\w .-]*")
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)


_FORMULA = re.compile(r'(?:^|(?<=[,;\t|]))=("(?:[^"\r\n]|"")*")(?=[,;\t|\r\n]|$)', re.MULTILINE)
_DOUBLED = re.compile(r"([,;\t|:~^])\1")


def mended_line(line: str, mended: Sequence[str]) -> str:
    """A line as it is read: without what programs wrote around its fields.

    Formulas are what they show: programs write ="007" so that a spreadsheet keeps it as text.

    >>> mended_line('="007";=A1;b', [FORMULAS]), mended_line('"a,""b"",c"', [QUOTED_LINES]), mended_line("1::2", [DOUBLED])
    ('"007";=A1;b', 'a,"b",c', '1:2')
    """
    if PUT_TOGETHER in mended:
        line = line.removeprefix("\ufeff")
    if QUOTED_LINES in mended:
        bare = line.rstrip("\r\n")
        line = bare[1:-1].replace('""', '"') + line[len(bare) :]
    if BARS in mended:
        bare = line.strip()
        line = bare[1:-1] + line[len(line.rstrip()) :] if bare else line
    if DOUBLED in mended:
        line = _DOUBLED.sub(r"\1", line)
    return _FORMULA.sub(r"\1", line) if FORMULAS in mended else line


def _mended_lines(text: str, whole: bool) -> tuple[str, tuple[str, ...]]:
    """The text as it is read line by line, and a sentence for each repair."""
    repairs = [PUT_TOGETHER] if "\n\ufeff" in text else []
    lines = [line for line in text.splitlines() if line][: None if whole else -1][:500]
    if len(lines) > 1 and all(len(n) > 1 and n[0] == n[-1] == '"' and '"' not in n[1:-1].replace('""', "") for n in lines):
        inside = [mended_line(line, [QUOTED_LINES]) for line in lines]
        widths = [{len(r) for r in csv.reader(inside, delimiter=d)} for d in DELIMITERS]
        repairs += [QUOTED_LINES] if any(len(w) == 1 and min(w) > 2 for w in widths) else []
    if len(lines) > 2 and all(len(n) > 2 and n[0] == n[-1] == "|" and n.count("|") > 2 for n in map(str.strip, lines)):
        repairs.append(BARS)
    doubled = Counter(d for line in lines[:1] for d in _DOUBLED.findall(line))
    if any(n > 1 and all(d not in line.replace(2 * d, "") for line in lines) for d, n in doubled.items()):
        repairs.append(DOUBLED)
    repairs += [FORMULAS] if '="' in text and _FORMULA.search(text) else []
    return "".join(mended_line(line, repairs) for line in text.splitlines(keepends=True)) if repairs else text, tuple(repairs)


@dataclass(frozen=True)
class Dialect:
    """How the fields are separated and quoted, whether the first line holds names, and what of the file is not a record.

    ``skip``: lines before the names. ``blanks``: any number of blanks separates two fields. ``rows``: rows of the heading, names
    and labels. ``above``: notes among the skipped lines. ``padded``: blanks stand around the delimiters of the heading.
    ``quoted_empty``: ``""`` is a missing value ("missing"), a text, or a missing value among numbers and dates ("numbers").
    ``mended``: a sentence for each other repair.
    """

    delimiter: str = ","
    quote: str = '"'
    header: bool = True
    skip: int = 0
    blanks: bool = False
    rows: int = 1
    labels: tuple[str, ...] = ()
    above: int = 0
    comment: str = ""
    set_aside_bad: bool = False
    padded: bool = False
    quoted_empty: str = "numbers"
    mended: tuple[str, ...] = ()
    layout: Layout = field(default_factory=Layout)

    @property
    def repaired(self) -> bool:
        """Whether the file must be copied without what is not a record."""
        layout = self.layout
        below = layout.units or layout.totals or layout.rules or layout.groups or layout.again or layout.last
        return bool(self.above or self.comment or self.set_aside_bad or self.mended or below)

    @property
    def copied(self) -> Dialect:
        """The dialect of a copy without what is not a record; of the file itself where it is not copied."""
        return replace(self, skip=0, rows=1) if self.repaired else self


MAGIC = {
    b"PK\x03\x04": "a zip archive or an Excel or OpenDocument workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF document",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"$FL2": "an SPSS file",
    b"<stata_dta>": "a Stata file",
}
TEXT_KINDS = {
    r'\{"|\[\s*\{"': ("JSON", "Name it .jsonl, or pass --read format=jsonl."),
    r"<(!doctype|html|table|\?xml|head|body)\b": (
        "HTML or XML",
        "Open it in a spreadsheet program, and save the table as .xlsx or .csv.",
    ),
    r"version https://git-lfs": ("a pointer of Git LFS, not the file", "Get the file itself: git lfs pull."),
    r"(insert into|create table|-- mysql dump|-- postgresql)\b": ("SQL", "Load it into a database, and open the table there."),
    r"begin:v": ("cards or events, not a table", "Export them as .csv."),
    r"@relation\b": ("ARFF", "Save it as .csv."),
    r"\\(begin|documentclass)\b": ("LaTeX", "Save the table as .csv."),
    r"[+┌╔][-=+─═┬╦]+[+┐╗]?\s*\n": ("a table that is drawn with lines", "Save the table as .csv."),
}
"""Texts that are not tables of lines: how they begin, what they are, and what to do."""
_SETTING = re.compile(r"\s*(- )?[^\W\d][\w .-]{0,60}?\s*(=|:(?=\s|$)).*")
_BESIDE_SETTINGS = re.compile(r"\s*([;#!].*|\[[^\[\]]+\]|---|\.\.\.)?\s*")


def _settings(lines: Sequence[str]) -> bool:
    """Whether every line is the name of a setting and its value, a section or a comment: ``.ini``, properties, YAML.

    >>> _settings(["[main]", "host = a", "port = 1"]), _settings(["name: Anna", "age: 34"]), _settings(["a:b", "c:d"])
    (True, True, False)
    """
    rest = [line for line in lines if not _BESIDE_SETTINGS.fullmatch(line)]
    return len(rest) > 1 and all(map(_SETTING.fullmatch, rest))


_CONTROLS = bytes([*range(9), 11, *range(14, 27), *range(28, 32), 127])
_FEW = 8
"""So many control characters may stand in a short text, as in names with escape sequences."""


def refuse_binary(raw: bytes, path: Path) -> None:
    """Refuse bytes that are not text under any name of the file."""
    kind = next((name for magic, name in MAGIC.items() if raw.startswith(magic)), None)
    head = raw[:8192]
    wide = head.startswith((b"\xff\xfe", b"\xfe\xff")) or wide_letters(head)
    if wide and kind is None:  # UTF-16 and UTF-32: text has few characters that do not print
        text = head.decode(guess_encoding(raw), errors="replace")
        odd, size = sum((c < " " and c not in "\t\r\n\f") or c == "\ufffd" or "\ue000" <= c < "\uf900" for c in text), len(text)
    else:
        odd, size = len(head) - len(head.translate(None, _CONTROLS)), len(head)
    few = 0 if wide or 0 in head else _FEW
    if kind is not None or odd > max(few, 0.02 * size):
        hint = "Give it the ending of its format, or pass --read format=… (parquet, excel, spss …)."
        raise UnreadableError(f"'{path.name}' is not a text file" + (f": it begins like {kind}." if kind else "."), hint=hint)


@contextmanager
def _whole_file(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError):
        raise UnreadableError(f"file '{path}' may not be read, or is cut off.", hint="Check the path and its rights.") from None


def sample_bytes(path: Path) -> bytes:
    """The beginning of the file, unpacked."""
    with _whole_file(path), opened(path) as file:
        raw = bytes(file.read(SAMPLE_BYTES))
    refuse_binary(raw, path)
    if not raw.strip():
        raise UnreadableError(f"file '{path}' is empty.", hint="It needs at least a line with the names of the columns.")
    return raw


@dataclass(frozen=True)
class _Sample:
    """The beginning of a file, cut into fields.

    ``rows``: blank ones too, but no comments; ``before``: how many lines stand before each. ``header``: whether there are names,
    None where nobody said. ``repairs``: a sentence for each repair of single lines.
    """

    text: str
    whole: bool
    delimiter: str
    quote: str
    blanks: bool
    comment: str
    header: bool | None
    skip: int
    repairs: tuple[str, ...]
    rows: list[list[str]]
    before: list[int]

    def single_quotes(self, rows: Sequence[Sequence[str]]) -> bool:
        """Whether fields of these rows stand in single quotes below the names too."""
        return _single_quotes_below(rows, [r for r in _rows(self.text, self.delimiter, "'", self.whole) if r][-len(rows) :])

    def lines_above(self, above: int, ids: int) -> int:
        """How many lines stand before the names, or before the ``ids`` rows of import ids below them."""
        if ids:
            return [line for line, r in zip(self.before[above:], self.rows[above:], strict=True) if not is_blank(r)][ids]
        return self.before[above] if above else 0


def _cut(raw: bytes, encoding: str, path: Path, options: Mapping[str, Any]) -> _Sample:
    text = raw.decode(encoding, errors="replace").lstrip("\ufeff")
    _refuse_other_kinds(text, path, options)
    whole, quote = len(raw) < SAMPLE_BYTES, options.get("quote", '"')
    text, repairs = _mended_lines(text, whole)
    header, skip, stated, text = _below_skipped(text, options)
    by_name = "\t" if ending(path) in (".tsv", ".tab") and "\t" in text else None
    delimiter = options.get("delimiter") or stated or by_name or _delimiter(text, quote, whole)
    if len(delimiter) != 1 or len(quote) != 1:
        raise UsageError("delimiter and quote must be one character each.", hint="For example delimiter=';'.")
    blanks = delimiter == " " and _several_blanks(text, quote, whole)
    numbered = _number_lines(text, delimiter, quote, whole)
    comment, numbered = ("", numbered) if blanks else _without_comments(numbered, options, path)
    rows = _blank_rows(text, whole) if blanks else [cells for _, cells in numbered]
    if all(map(is_blank, rows)):
        raise UnreadableError(f"file '{path}' is empty.", hint="It needs at least a line with the names of the columns.")
    before = [line for line, _ in numbered]
    return _Sample(text, whole, delimiter, quote, blanks, comment, header, skip, repairs, rows, before)


def sniff(raw: bytes, encoding: str, path: Path, options: Mapping[str, Any]) -> tuple[Dialect, list[str]]:
    """The dialect and the names of the columns."""
    sample = _cut(raw, encoding, path, options)
    blanks, guessed = sample.blanks, sample.header is None
    above = 0 if blanks or "skip" in options or type(options.get("header")) is int else names_at(sample.rows)
    rows, ended = _from_names_on(sample, above, path, options)
    single = "quote" not in options and _in_single_quotes(rows[0])
    if single and sample.single_quotes(rows):
        return sniff(raw, encoding, path, {**options, "quote": "'"})
    header = not first_is_record(rows) if sample.header is None else sample.header
    begins = header and not sample.skip
    two = begins and options.get("header") is None
    labels, rows, ids = labels_apart(rows, ids=begins and guessed and not blanks, two=two)
    first = [name[1:-1] for name in rows[0]] if single else rows[0]
    unnamed = header and not blanks and _first_unnamed([first, *rows[1:]])
    rows = [["", *first] if unnamed else first, *rows[1:]]
    repairs = {
        ENDS_DIFFER: not blanks and _ends_differ(sample.text, sample.delimiter, sample.quote),
        BEHIND_NAMES: ended,
        IMPORT_IDS: ids > 0,
        **dict.fromkeys(sample.repairs, True),
        SPACES: not blanks and len(first) > 1 and any(len(r) == 1 and not filled(r) for r in sample.rows[above:]),
        FIRST_UNNAMED: unnamed,
    }
    names, padded = _names_of(rows[0], header)
    dialect = Dialect(
        delimiter=sample.delimiter,
        quote=sample.quote,
        header=header,
        skip=sample.skip + sample.lines_above(above, ids) + int(bool(labels) and not ids),
        blanks=blanks,
        rows=2 if labels else 1,
        labels=labels,
        above=sum(map(bool, map(filled, sample.rows[:above]))),
        comment=sample.comment,
        set_aside_bad=options.get("bad_lines") == "set-aside",
        padded=padded,
        quoted_empty=options.get("quoted_empty") or "numbers",
        mended=tuple(sentence for sentence, done in repairs.items() if done),
    )
    if blanks:
        return dialect, names
    end = sample.rows[above:] if sample.whole else _tail(path, encoding, sample.delimiter, sample.quote, len(names))
    layout = _lay_out(sample, above, rows, end, header=header, path=path)
    return replace(dialect, layout=layout.settled(options, path.name)), names


def _from_names_on(sample: _Sample, above: int, path: Path, options: Mapping[str, Any]) -> tuple[list[list[str]], bool]:
    """The rows below those ``above`` the names, without blank ones; and whether a delimiter stood behind the last name."""
    rows = [r for r in sample.rows[above:] if not is_blank(r)]
    if "delimiter" not in options:
        _refuse_undivided(rows, path)
    ended = not sample.blanks and _delimiter_behind_names(rows)
    return [r[:-1] if ended and len(r) > len(rows[-1]) else r for r in rows], ended


def _lay_out(
    sample: _Sample, above: int, rows: Sequence[list[str]], end: Sequence[list[str]], *, header: bool, path: Path
) -> Layout:
    """What of the rows is not a record, and the questions that their shape asks; ``end`` are the last rows of the file."""
    over, tail, guessed = sample.rows[:above], sample.rows[above:], sample.header is None
    body, own = rows[1:] if header else rows, rows[0] if header else ()
    layout = lay_out(body, end, len(rows[0]), whole=sample.whole, names=own)
    doubts = {strange_shape(own, [r for r in body if tuple(r) != layout.again], end, over, whole=sample.whole)}
    if header and not sample.whole and (stacked(tail) or _table_inside(path, sample.delimiter, sample.quote, tail)):
        doubts |= {"tables"}
    return layout.asking(doubts | _doubts_above(over, rows, header=header, guessed=guessed))


def _refuse_other_kinds(text: str, path: Path, options: Mapping[str, Any]) -> None:
    """Refuse texts that are no table: HTML, SQL, settings."""
    for sign, (kind, hint) in TEXT_KINDS.items():
        if re.match(sign, text.lstrip(), re.IGNORECASE):
            raise UnreadableError(f"'{path.name}' holds {kind}.", hint=hint)
    if "delimiter" not in options and "skip" not in options and _settings(text.splitlines()[:200]):
        what = f"'{path.name}' holds settings (names and values), not a table."
        raise UnreadableError(what, hint="Write one line for each record, or pass --read delimiter=SIGN if it is a table.")


def _refuse_undivided(rows: Sequence[Sequence[str]], path: Path) -> None:
    if len(rows[0]) == 1 and several_in_one([r[0] for r in rows]):
        what = f"the lines of '{path.name}' look as if they had several fields, but no sign divides them evenly."
        hint = "Pass the sign: --read delimiter=SIGN. Cut columns of fixed width in a spreadsheet program (Text to Columns). "
        hint += "If the file has one column, pass --read delimiter=,."
        raise UnreadableError(what, hint=hint)


def _doubts_above(over: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], *, header: bool, guessed: bool) -> set[str]:
    """Questions that the lines above the table raise, and names that stand again among the records."""
    doubts = ({"tables"} if table_above(over) else set()) | ({"header"} if cut_off(over) else set())
    if guessed and not header and "header" not in doubts and any(len(filled(r)) > 1 and not numbers_columns(r) for r in over):
        doubts |= {"heading"}
    if header and guessed and names_recur(rows[0], rows[1:]):
        doubts |= {"header"}
    return doubts


def _below_skipped(text: str, options: Mapping[str, Any]) -> tuple[bool | None, int, str | None, str]:
    """Whether there are names (None: not stated), lines to skip, the delimiter that Excel's own first line states, the rest."""
    header, skip = heading_line(options)
    stated = _SEPARATOR_LINE.match(text)
    skip = max(skip, int(stated is not None))
    rest = "".join(text.splitlines(keepends=True)[skip:]) if skip else text
    return header, skip, stated and stated.group(1), rest


UNSEEN = "\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
"""Signs without a width around names, that change the direction of writing or mark an order of bytes."""


def _names_of(first: Sequence[str], header: bool) -> tuple[list[str], bool]:
    """The names of the columns, and whether blanks stand around most of them."""
    names = list(first) if header else [f"column{i}" for i in range(1, len(first) + 1)]
    stripped = [n.strip().strip(UNSEEN).strip() or f"column{i}" for i, n in enumerate(names, start=1)]
    return stripped, 2 * sum(n != s for n, s in zip(names, stripped, strict=True) if n.strip()) >= len(names)


def _parse_lines(text: str, delimiter: str, quote: str) -> tuple[list[tuple[int, list[str]]], bool]:
    """Lines of the sample, blank ones too, each with how many lines stand before it; and whether all could be parsed.

    What was parsed before an error stands: reading will report the line.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote, doublequote=True)
    rows: list[tuple[int, list[str]]] = []
    before = 0
    try:
        for row in reader:
            rows.append((before, row))
            before = reader.line_num
    except csv.Error:
        return rows, False
    return rows, True


def _number_lines(text: str, delimiter: str, quote: str, whole: bool) -> list[tuple[int, list[str]]]:
    """Parsed lines of the sample with their numbers; the last, perhaps cut off, is left out."""
    rows, parsed = _parse_lines(text, delimiter, quote)
    return rows if whole or not parsed or len(rows) < 2 else rows[:-1]


ENDS_DIFFER = "Lines end in different ways; each way ends a line."
FIRST_UNNAMED = "The names leave out the first column; it is called 'column1'."
FORMULAS = 'Fields that are written as formulas (="12") are read as what they show.'
QUOTED_LINES = "Quotes stand around whole lines; what is inside them is read."
BARS = "Bars around whole lines are left out."
DOUBLED = "The delimiter stands twice between two fields; it is read as one."
IMPORT_IDS = "Import ids below the names are left out."
SPACES = "Lines that have blanks only are left out."
PUT_TOGETHER = "Byte order marks stand at the beginning of lines, as in files that were put together; they are left out."
BEHIND_NAMES = "A delimiter stands behind the last name and behind no record; it is left out."


def _ends_differ(text: str, delimiter: str, quote: str) -> bool:
    """Whether records end in different ways; line breaks inside quotes do not count."""
    rest = text.replace("\r\n", "")
    if ("\r\n" in text) + ("\r" in rest) + ("\n" in rest) < 2:
        return False
    last = ""

    def lines() -> Iterator[str]:
        nonlocal last
        for line in io.StringIO(text, newline=""):
            last = line
            yield line

    ends = set()
    try:
        for _ in csv.reader(lines(), delimiter=delimiter, quotechar=quote, doublequote=True):
            ends.add(last[len(last.rstrip("\r\n")) :])
    except csv.Error:
        pass
    return len(ends - {""}) > 1


def _first_unnamed(rows: Sequence[Sequence[str]]) -> bool:
    """Whether every record has one field more than the names, as where the first one holds names of rows."""
    body, width = rows[1:], len(rows[0]) + 1
    if len(body) < 2 or width < 3 or not all(len(r) == width for r in body) or not any(r[-1].strip() for r in body):
        return False
    if sum(kind_of(name) not in ("text", "") for name in rows[0]) > 1:  # the rest of a record
        return False
    blanks = [[r[i][:1] == " " for r in body] for i in range(1, width)]  # a delimiter inside texts: "Delft, NL"
    return len({r[0] for r in body}) == len(body) and sum(map(all, blanks)) in (0, width - 1)


def _delimiter_behind_names(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the names, also in two rows of headings, end with a blank one, and every record has one field less."""
    width = len(rows[0]) - 1
    body = rows[2:] if len(rows) > 1 and len(rows[1]) == len(rows[0]) and not rows[1][-1].strip() else rows[1:]
    return width > 1 and len(body) > 1 and not rows[0][-1].strip() and all(len(r) == width for r in body)


def _without_comments(
    numbered: list[tuple[int, list[str]]], options: Mapping[str, Any], path: Path
) -> tuple[str, list[tuple[int, list[str]]]]:
    """The sign that begins comments, and the lines that are not comments; lines that may be records are asked about."""
    given = options.get("comment")
    sign = given or "#"
    marked = [cells for _, cells in numbered if cells and cells[0].startswith(sign)]
    if given == "none" or not marked:
        return ("" if given == "none" else given or ""), numbered
    rest = [n for n in numbered if not (n[1] and n[1][0].startswith(sign))]
    if given is None:
        width = usual_width([cells for _, cells in rest])
        like_records = sum(len(cells) == width for cells in marked)
        if like_records == len(marked) or width < 2:
            return "", numbered
        if like_records:
            what = f"{len(marked)} lines of '{path.name}' begin with '#', and {like_records} of them are as long as a record."
            hint = "Pass --read comment=# to set them aside, or --read comment=none if they are records or hold the names."
            raise UnreadableError(what, hint=hint)
    return sign, rest


TAIL_BYTES = 1 << 16


def _tail(path: Path, encoding: str, delimiter: str, quote: str, width: int) -> list[list[str]]:
    """The last rows of a long file, blank ones too; empty where they do not parse as records."""
    with _whole_file(path), opened(path) as file:
        if packing_of(path) == "none":
            file.seek(max(0, (path.stat().st_size - TAIL_BYTES) // 4 * 4))
            raw = file.read()
        else:
            raw = b""
            while more := file.read(1 << 20):
                raw = (raw + more)[-TAIL_BYTES:]
    plain = {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(encoding, encoding)
    text = raw.decode(plain, errors="replace")
    text = text[text.find("\n") + 1 :]
    lines, parsed = _parse_lines(text, delimiter, quote)
    rows = [row for _, row in lines] if parsed else []
    return rows if usual_width(rows) == width else []


SCANNED, WINDOW, MOST_LOOKED = 1 << 28, 1 << 13, 200
"""Bytes of a long file in which another table is looked for, those that are looked at below an empty row, and such rows."""


def _table_inside(path: Path, delimiter: str, quote: str, first: Sequence[Sequence[str]]) -> bool:
    """Whether other names stand below an empty row of a long file. Only the ends of lines are searched, which is quick."""
    width, head = usual_width(first), [r for r in first if not is_blank(r)][:2]
    empty = [b"\n" + delimiter.encode() * n + end for n in {0, width - 1} for end in (b"\n", b"\r\n")]
    mark, looked = quote.encode(), 0
    with _whole_file(path), opened(path) as file:
        quotes, block = 0, b""
        for more in itertools.islice(iter(lambda: file.read(1 << 20), b""), SCANNED >> 20):
            block = block[-WINDOW:] + more
            for sign in empty if b"\r" in block else empty[::2]:
                at, inside, last = block.find(sign), quotes, 0
                while 0 <= at < len(more) and looked < MOST_LOOKED:
                    inside, last = inside + block.count(mark, last, at), at
                    if inside % 2 == 0:  # else the empty line is part of a quoted text
                        looked += 1
                        below = block[at + len(sign) : at + len(sign) + WINDOW].decode("utf-8", errors="replace")
                        rows = [row for _, row in _parse_lines(below.rpartition("\n")[0], delimiter, quote)[0]]
                        if usual_width(rows) == width and stacked([*head, [], *rows]):
                            return True
                    at = block.find(sign, at + 1)
            quotes += block.count(mark, 0, -WINDOW)
    return False


def _in_single_quotes(names: Sequence[str]) -> bool:
    """Whether all names, at least two, stand in single quotes."""
    return len(names) > 1 and all(len(n) > 2 and n[0] == n[-1] == "'" for n in names)


def _single_quotes_below(rows: Sequence[Sequence[str]], quoted: Sequence[Sequence[str]]) -> bool:
    """Whether fields below the names stand in single quotes too: read so (``quoted``) as many rows differ and have all fields.

    One that only begins with such a quote (``'t Hart``) would run on into the next line.
    """
    width = len(rows[0])
    return len(quoted) == len(rows) and quoted[1:] != rows[1:] and all(len(row) == width for row in quoted)


def _blank_rows(text: str, whole: bool) -> list[list[str]]:
    """Lines cut at any number of blanks; the last, perhaps cut off, is left out."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    return rows if whole or len(rows) < 2 else rows[:-1]


def _several_blanks(text: str, quote: str, whole: bool) -> bool:
    """Whether any number of blanks separates two fields: cutting at each blank is less even, or gives names that are empty."""
    single, several = _rows(text, " ", quote, whole), _blank_rows(text, whole)
    return _even(several) > _even(single) or (_even(several) == _even(single) and bool(single) and "" in single[0])


def _even(rows: Sequence[Sequence[str]]) -> float:
    """The share of lines with the most common number of fields."""
    widths = Counter(map(len, rows[:2000]))
    return max(widths.values()) / widths.total() if widths else 0.0


def _rows(text: str, delimiter: str, quote: str, whole: bool) -> list[list[str]]:
    """Parsed lines of the sample that are not empty; the last, perhaps cut off, is left out."""
    lines, parsed = _parse_lines(text, delimiter, quote)
    rows = [row for _, row in lines if row]
    return rows if whole or not parsed or len(rows) < 2 else rows[:-1]


ENOUGH, ENOUGH_LINES = 1 << 16, 500
"""Characters by which a delimiter is judged, if they have at least so many lines."""


def _delimiter(text: str, quote: str, whole: bool) -> str:
    """The candidate that splits most lines, the first one too, into the same number of fields, more than one."""
    best, best_score = ",", (0.0, False, 0)
    head = text[:ENOUGH]
    if head.count("\n") >= ENOUGH_LINES:
        text, whole = head, False
    for candidate in DELIMITERS:
        rows = _rows(text, candidate, quote, whole)[:2000]
        if not rows:
            continue
        width, lines = Counter(map(len, rows)).most_common(1)[0]
        score = (round(lines / len(rows), 2), len(rows[0]) == width, width)
        if width > 1 and score > best_score:
            best, best_score = candidate, score
    return best if best_score[0] >= 0.5 else _rare_delimiter(text, quote, whole) or best


def _rare_delimiter(text: str, quote: str, whole: bool) -> str | None:
    """A sign that splits nearly all lines into the same number of fields, at least three; None where there is none.

    Two fields are enough where every line has them and the first one holds two names.
    """
    for candidate in RARE_DELIMITERS[:3]:
        rows = _rows(text, candidate, quote, whole)[:2000]
        if len(rows) > 1 and all(len(row) == 2 for row in rows) and all(_NAME.fullmatch(cell) for cell in rows[0]):
            return candidate
    for candidate in RARE_DELIMITERS:
        ways = [_rows(text, candidate, quote, whole)[:2000]]
        if candidate == " ":
            ways.append(_blank_rows(text, whole)[:2000])
        for rows in ways:
            widths = Counter(map(len, rows))
            if (
                len(rows) > 1
                and max(widths) >= RARE_WIDTH
                and _even(rows) >= RARE_SHARE
                and len(rows[0]) == widths.most_common(1)[0][0]
            ):
                return candidate
    return None

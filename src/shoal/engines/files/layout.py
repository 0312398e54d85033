"""Where a table begins and ends inside a file: notes above and below it, comments, rows of units and of totals.

The functions judge rows of cells, of text files and of workbooks alike. A row that is certainly not a record is set aside and
counted. A row that may be one is not judged: :class:`Layout` lists it as doubtful, and the reader asks.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from shoal.errors import UnreadableError, UsageError
from shoal.kernels.text import word_lists
from shoal.model.roles import distinct_names

Row = Sequence[Any]
AnyRow = TypeVar("AnyRow", bound=Row)
MODES: dict[str, tuple[str, ...]] = {
    "totals": ("set-aside", "keep"),
    "units": ("set-aside", "keep"),
    "notes": ("set-aside", "keep"),
    "bad_lines": ("refuse", "set-aside"),
    "quoted_empty": ("missing", "text"),
    "tables": ("keep",),
    "groups": ("set-aside", "keep"),
}
"""Options of ``--read`` that settle what to do with rows and cells of a sort."""

_WORDS = word_lists(Path(__file__).parent / "data" / "layout.txt")
TOTALS, _STATISTICS, _UNITS, MISSING_WORDS = (
    frozenset(_WORDS[section]) for section in ("totals", "statistics", "units", "missing")
)
_SUBTOTALS = tuple(_WORDS["subtotals"])
VARIABLES = frozenset(_WORDS["variables"])


def _one_of(section: str) -> str:
    """A pattern of the words of a section; ``_`` is a blank."""
    return "|".join(re.escape(word.replace("_", " ")) for word in _WORDS[section])


_TOTAL = re.compile(
    r"(grand|sub|overall|all|column)?[ -]?totals?"
    r"( ?\(?(of|n ?=|rows|records|for)?[ \d,.]*\)?)?"
)
DASHES = frozenset(["", "-", "–", "—", "―", "n/a", "na", "none", "."])
_BRACKETED = re.compile(r"\([^()]{1,15}\)|\[[^\[\]]{1,15}\]|<[^<>]{1,15}>")
_HASHTAG = re.compile(r"#[a-z]\w*(\s*\+\w+)*", re.IGNORECASE)
"""A tag of the Humanitarian Exchange Language (HXL), in a row below the names: ``#adm1 +code``."""
_AMOUNT = re.compile(r"[-+(]?[ \u00a0\u202f\d.,']*\d[ \u00a0\u202f\d.,']*(e[-+]?\d+)?[)%]?", re.IGNORECASE)
YEAR = re.compile(r"(19|20)\d\d")
VALUE = re.compile(r"-?\d+([.,]\d+)?([eE][+-]\d+)?|\d{4}-\d\d-\d\d")
_RULE = re.compile(r"([-=_─═+|])\1{2,}[-=_─═+|]*")
_NOTE = re.compile(rf"[*†‡©]|({_one_of('notes')})\b|\(?n ?= ?\d|\(\d+ rows?\)|\(?[a-z]\) |\(?\d\) |[¹²³⁴⁵⁶⁷⁸⁹]", re.IGNORECASE)
LONGEST_CODE = 3
"""Latin letters of a code at most."""
MOST_ABOVE = 60
"""Rows above the names at most."""


@dataclass(frozen=True)
class Layout:
    """What of the rows below the names is not a record.

    ``units``: the first one holds units. ``totals``: some hold totals, which :func:`is_totals` knows by ``numeric`` (columns of
    numbers) and ``usual`` (filled cells of a record), or by a label in the columns ``labels``. ``last``: rows by their place
    from the end (−1: the last that is not blank) and their sort. ``doubtful``: sorts of rows that may be records, with their
    places. ``again``: the names, where they stand again among the records, as in files that were put together. ``rules``: some
    rows are lines of dashes. ``groups``: rows that have one text, in the first filled column, are headings of groups.
    """

    units: bool = False
    totals: bool = False
    rules: bool = False
    groups: bool = False
    again: tuple[Any, ...] = ()
    last: Mapping[int, str] = field(default_factory=dict)
    doubtful: Mapping[str, Sequence[int]] = field(default_factory=dict)
    numeric: tuple[bool, ...] = ()
    usual: int = 0
    labels: tuple[int, ...] = ()

    def asking(self, sorts: Iterable[str]) -> Layout:
        """The same with questions about the shape of the table, which come first."""
        shape = dict.fromkeys(sorted({*sorts} - {""}, reverse=True), ())
        rows = {sort: places for sort, places in self.doubtful.items() if not (shape and sort == "notes")}
        return replace(self, doubtful={**shape, **rows})

    def settled(self, options: Mapping[str, Any], table: str) -> Layout:
        """As the options of ``--read`` have it; a doubtful row that they do not settle is asked about."""
        units, totals, groups, last = self.units, self.totals, options.get("groups") == "set-aside", dict(self.last)
        for sort, places in self.doubtful.items():
            if options.get(_SETTLED_BY.get(sort, sort)) is None:
                raise doubt(sort, table)
            if sort in _SETTLED_BY:
                continue
            if options[sort] == "set-aside" and sort == "units":
                units = True
            elif options[sort] == "set-aside":
                last |= dict.fromkeys(places, sort)
        kept = {sort for sort in ("units", "totals", "notes") if options.get(sort) == "keep"}
        kept |= {"blank rows"} if "notes" in kept else set()
        again, rules = ((), False) if "notes" in kept else (self.again, self.rules)
        totals = (totals or options.get("totals") == "set-aside") and "totals" not in kept
        last = {place: sort for place, sort in last.items() if sort not in kept}
        layout = replace(self, totals=totals, again=again, rules=rules, groups=groups, last=last, doubtful={})
        return replace(layout, units=units and "units" not in kept)

    def sort_of(self, row: Row, first: bool, place: int = 0) -> str:
        """The sort of a row that is not a record, empty for a record; ``place`` counts from the end, 0 where that is far."""
        if first and self.units:
            return "units"
        if place in self.last:
            return self.last[place]
        if self.again and tuple(row) == self.again:
            return "headings"
        if self.rules and is_rule(row):
            return "notes"
        if self.groups and _heads_group(row):
            return "groups"
        if self.totals and (is_totals(row, self.numeric, self.usual) or _labelled(row, self.labels)):
            return "totals"
        return ""


def text_of(cell: Any) -> str:
    """A cell as text without blanks around it; empty for a missing one."""
    return "" if cell is None else cell.strip() if isinstance(cell, str) else str(cell)


def is_amount(cell: Any) -> bool:
    """Whether a cell is a number, also one with marks between thousands, in brackets or with a percent sign.

    >>> [is_amount(c) for c in ("12", "(12.50)", "1 234,5", 3.5, "12a", "", None)]
    [True, True, True, True, False, False, False]
    """
    return not isinstance(cell, bool) and (isinstance(cell, int | float) or _AMOUNT.fullmatch(text_of(cell)) is not None)


def filled(row: Row) -> list[str]:
    """The cells of a row that are not empty."""
    return [t for t in map(text_of, row) if t]


def usual_width(rows: Sequence[Row]) -> int:
    """The most common number of cells; of the widest row where rows are padded."""
    widths = Counter(len(r) for r in rows[:2000] if len(r) > 1 or filled(r))
    return max(widths, key=lambda w: (widths[w], w)) if widths else 0


def names_at(rows: Sequence[Row]) -> int:
    """How many rows stand above the row of names: titles and notes, which have few cells filled."""
    width = usual_width(rows)
    if width < 2:
        return 0
    for i, row in enumerate(rows[:MOST_ABOVE]):
        if _like_names(row, width):
            above = [r for r in rows[:i] if filled(r) and not numbers_columns(r)]
            return i if all(_like_note_above(r, width, blank=len(above) < i) for r in above) else 0
        if len(filled(row)) > max(1, width // 2) and not numbers_columns(row):
            return 0
    return 0


def numbers_columns(row: Row, starts: Sequence[int] = (0, 1)) -> bool:
    """Whether the cells of a row number the columns, as above the names of official tables, or from 0 as some programs do.

    >>> [numbers_columns(r) for r in (["1", "2", "3"], [0.0, 1.0, 2.0, 3.0], [1, 2], [1, 3, 2], [2, 3, 4])]
    [True, True, False, False, False]
    """
    texts = [text_of(c).strip("()").removesuffix(".0") for c in row]
    return len(texts) > 2 and any(texts == [str(i) for i in range(n, len(texts) + n)] for n in starts)


def _like_names(row: Row, width: int) -> bool:
    texts = filled(row)
    if len(row) != width or len(texts) < max(2 if width > 2 else 1, 0.6 * width) or len(texts) == 1 < width:
        return False
    amounts = [t for t in texts if is_amount(t)]
    return 2 * len(amounts) <= len(texts) or (not is_amount(texts[0]) and all(YEAR.fullmatch(t) for t in amounts))


def _like_note_above(row: Row, width: int, *, blank: bool) -> bool:
    texts = filled(row)
    if width == 2:  # a header without the name of the first column looks like a short note
        return len(texts) == 1 and (blank or " " in texts[0] or texts[0].endswith(":"))
    return len(texts) <= max(1, width // 2)


def is_rule(row: Row) -> bool:
    """Whether a row is a line that is drawn with signs: ``-----,-----``."""
    if _RULE.fullmatch(next(filter(None, map(text_of, row)), "")) is None:
        return False
    texts = filled(row)
    return all(map(_RULE.fullmatch, texts)) and (len(texts) > 1 or len(row) == 1)


def _heads_group(row: Row) -> bool:
    """Whether a row has one text only, in its first cell: ``Ward A,,,``."""
    if not row or not (text := text_of(row[0])) or any(map(text_of, row[1:])):
        return False
    return not is_amount(text) and not is_rule(row)


def _heads_inside(rows: Sequence[Row], usual: int) -> bool:
    """Whether rows with one text stand alone among records that are nearly full, before the last one.

    >>> _heads_inside([["a", "1", "x"], ["Ward B"], ["c", "3", "z"], ["d", "4", "x"]], 3)
    True
    >>> _heads_inside([["a", "1", "x"], ["b", "", ""], ["c", "", ""], ["d", "4", "x"]], 3)  # records without values
    False
    """
    held = [r for r in rows if any(map(text_of, r))]
    at = [i for i, r in enumerate(held) if _heads_group(r)]
    if not at or 3 * len(at) > len(held) or at[-1] == len(held) - 1 or any(b == a + 1 for a, b in pairwise(at)):
        return False
    heads = {text_of(held[i][0]) for i in at}
    others = [r for i, r in enumerate(held) if i not in {*at}]
    if len(at) == 1 and (" " not in min(heads) or any(" " in text_of(r[0]) for r in others)):
        return False  # one person without values
    full = sum(len(filled(r)) >= 0.75 * usual for r in others)
    return len(heads) == len(at) and full >= 0.98 * len(others) and not any(text_of(r[0]) in heads for r in others)


def titles_part(row: Row, usual: int) -> bool:
    """Whether a row before names that stand again may be the title of the part below: at most half as full as a record."""
    return 2 * len(filled(row)) <= usual


def numeric_columns(rows: Sequence[Row], width: int) -> list[bool]:
    """Of each column, whether nine of ten filled cells are numbers."""
    out = []
    for i in range(width):
        cells = [r[i] for r in rows if len(r) > i and text_of(r[i])]
        out.append(bool(cells) and sum(map(is_amount, cells)) >= 0.9 * len(cells))
    return out


def lay_out(body: Sequence[Row], tail: Sequence[Row], width: int, *, whole: bool, names: Row = ()) -> Layout:
    """What of the rows below the names is not a record. ``tail``: the last rows and blank ones; ``whole``: ``body`` has all."""
    again = tuple(names) if len(filled(names)) > 1 and any(tuple(r) == tuple(names) for r in body) else ()
    body = [r for r in body if tuple(r) != again] if again else body
    if width < 2 or not body:
        return Layout()
    numeric = numeric_columns(body[1:500] or body, width)  # the first row may hold units
    sizes = sorted(len(filled(r)) for r in body[:200])
    usual = sizes[len(sizes) // 2]
    rows = body if whole else (*body, *tail)
    units, doubtful = _units(body, numeric)
    if _may_have_groups(body, usual, again=bool(again)):
        doubtful["groups"] = ()
    totals, rules = any(is_totals(r, numeric, usual) for r in rows), any(map(is_rule, rows))
    last, below = _notes_below(tail, width)
    rest = [r for r in below if filled(r)]
    if totals:
        _take_statistics(rest, last, numeric, usual)
    if rest and not is_totals(rest[-1], numeric, usual):
        place = min(last, default=0) - 1
        unlabelled = _only_numbers(rest, numeric)
        if not unlabelled and not _may_be_totals(rest[-1], body, numeric):
            notes = _may_be_notes(below, numeric, usual, width)
            doubtful |= {"notes": range(place, place - notes, -1)} if notes else {}
        elif whole and _sums([r for r in rest[:-1] if len(r) == width], rest[-1], numeric):
            last[place] = "totals"
        elif not (whole and unlabelled):
            doubtful["totals"] = (place,)
    judged = tuple(rest[-1]) if rest else ()
    labels = tuple(i for i in range(min(2, width)) if _labels_totals([r for r in rows if tuple(r) != judged], i, numeric, usual))
    if labels:
        doubtful.setdefault("totals", ())
    return Layout(units, totals, rules, False, again, last, doubtful, tuple(numeric), usual, labels)


def _may_have_groups(body: Sequence[Row], usual: int, *, again: bool) -> bool:
    """Whether some rows may be headings of groups: the first one, with a text that no other row begins with, or others."""
    if usual <= 2:
        return False
    first = _heads_group(body[0]) and not any(r and text_of(r[0]) == text_of(body[0][0]) for r in body[1:])
    return first or (not again and _heads_inside(body, usual))


def _take_statistics(rows: list[Row], last: dict[int, str], numeric: Sequence[bool], usual: int) -> None:
    """Move the lines of dashes and statistics at the end of the rows to those that are set aside, by their places."""
    while rows and (is_rule(rows[-1]) or _is_statistic(rows[-1], numeric, usual)):
        last[min(last, default=0) - 1] = "notes" if is_rule(rows.pop()) else "totals"


def _labelled(row: Row, columns: Sequence[int]) -> bool:
    """Whether one of these cells is the label of totals. Short words are also codes: SD is South Dakota."""
    texts = [text_of(row[i]) for i in columns if len(row) > i]
    return any((len(t) > LONGEST_CODE or not t.isascii()) and is_totals_word(t) for t in texts)


def _labels_totals(rows: Sequence[Row], i: int, numeric: Sequence[bool], usual: int) -> bool:
    """Whether a column of texts has labels of totals, in rows that are filled like records.

    It is the only word of its row, or recurs: in more than a tenth of the rows it is a category.
    """
    if numeric[i] or not any(numeric):
        return False
    words = {t for t in {text_of(r[i]) for r in rows if len(r) > i} if _labelled([t], [0])}
    held = [r for r in rows if words and len(r) > i and text_of(r[i]) in words and any(map(is_amount, r))]
    alone = sum(sum(not is_amount(t) for t in filled(r)) == 1 for r in held if not is_totals(r, numeric, usual))
    return 0 < alone <= max(1, len(rows) // 10) or 1 < len(held) <= len(rows) // 10


def _units(body: Sequence[Row], numeric: Sequence[bool]) -> tuple[bool, dict[str, Sequence[int]]]:
    """Whether the first row holds units or tags, or numbers the columns, and whether it may."""
    first = body[0]
    if numbers_columns(first, [1]) and not all(numeric):
        return True, {}
    if len(tags := filled(first)) > 1 and all(map(_HASHTAG.fullmatch, tags)):
        return True, {}
    if len(first) != len(numeric) or len(body) < 2 or any(is_amount(c) for c in first):
        return False, {}
    cells = [text_of(c).casefold() for c in first]
    over_numbers = [c for c, is_numeric in zip(cells, numeric, strict=True) if is_numeric]
    if any(_is_unit(c) and (len(c) > 1 or c in "%$€£¥") for c in over_numbers) and all(c in DASHES or _is_unit(c) for c in cells):
        return True, {}
    words = [c for c in over_numbers if c not in DASHES | MISSING_WORDS]
    apart = bool(words) and sum(c in DASHES for c in cells) + len(words) == len(cells) > 2
    return False, {"units": ()} if apart or len(words) == len(over_numbers) > 1 else {}


def _is_unit(text: str) -> bool:
    return text in _UNITS or text.strip("()[]<>") in _UNITS or _BRACKETED.fullmatch(text) is not None


def is_totals(row: Row, numeric: Sequence[bool], usual: int) -> bool:
    """Whether a row is certainly one of totals: its label is the only word, and fewer cells are filled than in a record."""
    if len(row) - row.count("") - row.count(None) > 0.75 * usual or len(row) > len(numeric):
        return False
    texts = filled(row)
    words = [t for t in texts if not is_amount(t)]
    return len(texts) > (len(numeric) < 3) and len(words) == 1 and is_totals_word(words[0])


def is_totals_word(text: str) -> bool:
    """Whether a cell is the label of a row of totals.

    >>> [is_totals_word(t) for t in ("Total", "Grand total:", "Total (n=52)", "Subtotal A", "Итого", "Totalenfels", "Anna")]
    [True, True, True, True, True, False, False]
    """
    bare = text.casefold().strip(" :.*#=_-").strip()
    if "".join(bare.split()) in TOTALS:  # in East Asia with blanks between: 合　計
        return True
    return bare.startswith(_SUBTOTALS) or ("total" in bare and _TOTAL.fullmatch(bare) is not None)


def _may_be_totals(row: Row, body: Sequence[Row], numeric: Sequence[bool]) -> bool:
    """Whether a row has the label of totals in a column where no other row has it, and otherwise looks like a record."""
    part = len(filled(row)) < len(row)
    labels = [text_of(c) for c in row[:2]]
    places = [i for i, t in enumerate(labels) if is_totals_word(t) or (part and t.casefold() in _STATISTICS)]
    if not places or not any(numeric) or not any(is_amount(c) for c in row):
        return False
    i = places[0]
    return sum(1 for r in body if len(r) > i and text_of(r[i]) == labels[i]) <= 1


def _sums(body: Sequence[Row], row: Row, numeric: Sequence[bool]) -> bool:
    """Whether most numbers of a row are sums or means of their columns."""
    hits = tries = 0
    for i, is_numeric in enumerate(numeric):
        value = _number(row[i]) if is_numeric and i < len(row) else None
        cells = [n for r in body if (n := _number(r[i])) is not None]
        if value is None or len(cells) < 2:
            continue
        tries += 1
        hits += any(abs(value - x) <= 1e-6 * abs(x) + 0.006 for x in (sum(cells), sum(cells) / len(cells)))
    return tries > 0 and 2 * hits > tries


def _number(cell: Any) -> float | None:
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return float(cell)
    try:
        return float(text_of(cell).replace(",", "."))
    except ValueError:
        return None


def _only_numbers(rows: Sequence[Row], numeric: Sequence[bool]) -> bool:
    """Whether the last row has numbers only, and no text in a column in which all others have one."""
    texts = [i for i, is_numeric in enumerate(numeric) if not is_numeric and all(len(r) > i and text_of(r[i]) for r in rows[:-1])]
    row = rows[-1]
    return (
        len(rows) > 2
        and bool(texts)
        and bool(filled(row))
        and all(is_amount(c) for c in filled(row))
        and not any(len(row) > i and text_of(row[i]) for i in texts)
    )


def _is_statistic(row: Row, numeric: Sequence[bool], usual: int) -> bool:
    """Whether a row beside one of totals has the label of another statistic (``n``, ``min``), which may also be a name."""
    words = [t for t in filled(row) if not is_amount(t)]
    named = len(words) == 1 and words[0].casefold().strip(" :.*#=_-") in _STATISTICS
    return named and len(filled(row)) <= max(2, 0.75 * usual) and len(row) <= len(numeric)


def _may_be_notes(rows: Sequence[Row], numeric: Sequence[bool], usual: int, width: int) -> int:
    """How many of the last rows may be notes: all below an empty row if they are half empty, or one that does not fit."""
    block = list(itertools.takewhile(filled, reversed(rows)))
    if usual > 3 and len(block) < min(len(rows), 50) and all(2 * len(filled(r)) <= usual for r in block):
        return len(block)
    row, texts = block[0], filled(block[0])
    if len(texts) == 1 and len(row) == width and usual > 3 and all(len(filled(r)) > 1 for r in rows[-200:-1] if filled(r)):
        return 1
    if len(texts) > max(1, usual // 3) or len(row) != width or width < 4 or usual < 2 or all(map(is_amount, texts)):
        return 0
    others = [r for r in rows[-200:-1] if len(r) == width]
    misfit = any(
        (not is_amount(c)) if numeric[i] else is_amount(c) and not any(is_amount(r[i]) for r in others)
        for i, c in enumerate(row)
        if text_of(c)
    )
    return int(misfit or (len(texts) == 1 and len(texts[0].split()) > 3))


def notes_from(rows: Sequence[Row]) -> int:
    """The row at which the notes below a table begin: the last rows that have one filled cell, or two below an empty row.

    They are set aside or asked about; cells that are merged there hide no value.

    >>> notes_from([["a", "b", "c"], ["x", 1, 2], ["y", 3, 4], [], ["Note", "z", ""], ["w", "", ""]]), notes_from([["a", "b"]])
    (4, 1)
    """
    at = start = len(rows)
    while at > 1 and len(filled(rows[at - 1])) < 2:
        at -= 1
        start = at if filled(rows[at]) else start
    end = at
    while at > 1 and 0 < len(filled(rows[at - 1])) < 3:
        at -= 1
    return at if at < end and at > 1 and not filled(rows[at - 1]) else start


def is_blank(row: Row) -> bool:
    """Whether a line has no cells at all; one of delimiters only is a record without values."""
    return len(row) < 2 and not filled(row)


def _notes_below(tail: Sequence[Row], width: int) -> tuple[dict[int, str], list[Row]]:
    """Notes below the table, and rows of empty cells among them, by their places from its end; and the rows above them."""
    last: dict[int, str] = {}
    empty: list[int] = []
    place, end = 0, len(tail)
    for end in range(len(tail), 0, -1):
        row = tail[end - 1]
        if is_blank(row):
            continue
        place -= 1
        if not filled(row):
            empty.append(place)
        elif _is_note(row, width, blank=bool(last) or (end > 1 and not filled(tail[end - 2]))):
            last |= dict.fromkeys(empty, "blank rows") | {place: "notes"}
            empty = []
        else:
            break
    else:
        return {}, []  # nothing but notes: not a table
    words = [t for t in filled(tail[end - 1]) if not is_amount(t)]
    below_totals = len(words) == 1 and is_totals_word(words[0])
    # spreadsheets write rows that were emptied; a table that has such rows elsewhere keeps them
    if empty and width > 2 and (below_totals or all(filled(r) or is_blank(r) for r in tail[:end])):
        last |= dict.fromkeys(empty, "blank rows")
    return last, list(tail[max(0, end - 2000) : end])


def _is_note(row: Row, width: int, *, blank: bool) -> bool:
    """Whether a last row is prose: it begins as notes do, stands below an empty line, or is a sentence.

    A record that was cut off looks like a short text: it is not taken for a note.
    """
    texts = filled(row)
    if texts == ["\x1a"]:  # the end of a file under DOS
        return True
    text, begins = " ".join(texts), _NOTE.match(texts[0]) is not None
    if is_amount(texts[0]) or is_totals_word(texts[0]) or not (len(texts) == 1 or (len(row) < width and begins)):
        return False
    words = len(text.split())
    return words > 5 or ((begins or blank) and (words > 1 or ":" in text))


def heading_line(options: Mapping[str, Any]) -> tuple[bool | None, int]:
    """Whether there are names, None where nobody said, and how many lines stand before them: ``skip=3``, ``header=4``."""
    header, skip = options.get("header"), options.get("skip", 0)
    if not isinstance(skip, int) or skip < 0 or (type(header) is int and (header < 1 or skip)):
        what = "skip must be a number of lines, header true, false or the number of the line that holds the names."
        raise UsageError(what, hint="For example --read skip=3, or --read header=4.")
    return (True, header - 1) if type(header) is int else (header, skip)


def need_modes(options: Mapping[str, Any]) -> None:
    """Refuse values that these options do not have."""
    for name, known in MODES.items():
        if options.get(name) is not None and options[name] not in known:
            raise UsageError(f"{name} cannot be '{options[name]}'.", hint=f"Expected {' or '.join(known)}.")


_SETTLED_BY = {"transposed": "tables", "heading": "header"}
"""Options that settle questions of another name."""
QUESTIONS = {
    "heading": "the names of {table} do not stand in one row.",
    "totals": "a row of {table} is labelled as a total, but is filled like a record.",
    "units": "the first row of {table} has words above columns of numbers: units or labels, or a record.",
    "notes": "the last rows of {table} have few filled cells: notes, or records.",
    "groups": "a row of {table} has one text only: the heading of a group of records, or a record.",
    "tables": "{table} holds several tables, or its names stand below records: names stand inside it or beside an empty column.",
    "transposed": "the rows of {table} look like columns: the values of a row belong together, those of a column do not.",
}


def doubt(sort: str, table: str) -> UnreadableError:
    """The question that a doubtful row asks."""
    if sort == "header":
        what = f"the first row of '{table}' may be a record: it has values, or texts that stand again below in the same columns."
        return UnreadableError(what, hint="Pass --read header=false if it is a record, or --read header=1 if it holds the names.")
    if sort == "heading":
        hint = "Pass --read header=N with the line that holds the names, or write one row of names."
        return UnreadableError(QUESTIONS[sort].format(table=f"'{table}'"), hint=hint)
    if sort == "transposed":
        hint = "Swap rows and columns in a spreadsheet program and save it, or pass --read tables=keep if each row is a record."
        return UnreadableError(QUESTIONS[sort].format(table=f"'{table}'"), hint=hint)
    if sort == "tables":
        hint = "Save each table in a file or sheet of its own, or pass --read tables=keep to read all as one."
        return UnreadableError(QUESTIONS[sort].format(table=f"'{table}'"), hint=hint)
    return UnreadableError(
        QUESTIONS[sort].format(table=f"'{table}'"),
        hint=f"Pass --read {sort}=set-aside to leave it out, or --read {sort}=keep to read it as a record.",
    )


def numbered_names(names: list[str], options: Mapping[str, Any]) -> list[str]:
    """The names with a number behind doubled ones, unless ``rename_duplicates`` is false; with true behind look-alikes too."""
    rename = options.get("rename_duplicates")
    return names if rename is False else distinct_names(names, alike=bool(rename))


_REPAIRS = {
    "notes": (("notes", "set-aside", "keep"), "{n} note{s} around the table"),
    "units": (("units", "set-aside", "keep"), "{n} row{s} of units below the names"),
    "totals": (("totals", "set-aside", "keep"), "{n} row{s} of totals"),
    "blank rows": (("notes", "set-aside", "keep"), "{n} row{s} of empty cells below the table"),
    "groups": (("groups", "set-aside", "keep"), "{n} heading{s} of groups of records"),
    "headings": (("notes", "set-aside", "keep"), "{n} repeated row{s} of names"),
    "comments": (("comment", "#", "none"), "{n} comment line{s}"),
    "bad lines": (("bad_lines", "set-aside", "refuse"), "{n} line{s} with too few or too many fields"),
}
"""By sort: the option, its value and the one that overrules it; and what was set aside."""


_EXPECTED = {
    "units": "row of units",
    "totals": "row of totals",
    "notes": "notes",
    "groups": "headings of groups",
    "bad_lines": "lines with too few or too many fields",
}
"""What options that set rows aside expect a file to have."""


def aside_in_words(aside: Mapping[str, int]) -> str:
    """What was set aside, in words.

    >>> aside_in_words({"totals": 2, "units": 1})
    '2 rows of totals, 1 row of units below the names'
    """
    return ", ".join(_REPAIRS[sort][1].format(n=f"{n:,}", s="s" if n > 1 else "") for sort, n in aside.items())


def repairs_of(
    aside: Mapping[str, int],
    renamed: Mapping[str, str],
    plan: Mapping[str, Any],
    *,
    above: int = 0,
    comment: str = "",
    mended: Sequence[str] = (),
) -> dict[str, Any]:
    """How a file was mended, for people and for the next file like it.

    ``set_aside``: lines that are not records, by sort. ``renamed``: new names and the old ones. ``plan``: the options of
    ``--read`` that read such a file in the same way. ``repairs``: a sentence for each repair.
    """
    lines, options = list(mended), dict(plan)
    if above:
        lines.append(f"Set aside {above} note{'s' if above > 1 else ''} above the names. Overrule with --read skip=0.")
        options["notes"] = "set-aside"
    for sort, count in aside.items():
        n = count - above if sort == "notes" else count
        if n:
            key, value, other = _REPAIRS[sort][0]
            what = _REPAIRS[sort][1].format(n=f"{n:,}", s="s" if n > 1 else "").replace("around", "below")
            options[key] = (comment or value) if key == "comment" else value
            lines.append(f"Set aside {what} ({key}={options[key]}). Overrule with --read {key}={other}.")
    met = {_REPAIRS[sort][0][0] for sort, count in aside.items() if count}
    for key, what in _EXPECTED.items():
        if plan.get(key) == "set-aside" and key not in met:
            lines.append(f"No {what} found, though {key}=set-aside expects some: the file may differ from earlier ones.")
    if options.get("quoted_empty") == "missing":
        lines.append('Read quoted empty fields ("") as missing. Overrule with --read quoted_empty=text.')
    if "heading_rows" in options:
        del options["heading_rows"]
        lines.append("Read two rows of headings as names and labels. Overrule with --read header=1 or header=2.")
    skipped = options.get("skip") or (options["header"] - 1 if type(options.get("header")) is int else 0)
    if skipped:
        lines.append(f"Skipped {skipped} line{'s' if skipped > 1 else ''} above the names, as specified.")
    if renamed:
        shown = ", ".join(f"'{old}' is '{new}'" for new, old in list(renamed.items())[:5]) + (", …" if len(renamed) > 5 else "")
        lines.append(f"Numbered doubled names: {shown}. Refuse them with --read rename_duplicates=false.")
    repairs = {"set_aside": dict(aside), "renamed": dict(renamed), "plan": options, "repairs": lines}
    return {name: value for name, value in repairs.items() if value}


_IMPORT_ID = re.compile(r"\{['\"]ImportId['\"]")


def _import_ids(rows: Sequence[Row]) -> int:
    """The row of import ids that Qualtrics writes below names and labels, counted from the names; 0 if there is none."""
    return next((i for i in (1, 2) if len(rows) > i + 1 and filled(rows[i]) and all(map(_IMPORT_ID.match, filled(rows[i])))), 0)


def labels_apart(rows: list[AnyRow], *, ids: bool, two: bool) -> tuple[tuple[Any, ...], list[AnyRow], int]:
    """Labels of the columns, if there are any; the rows with the names first; and at which row below the names import ids stand.

    ``ids``: import ids may stand below the names; ``two``: the heading may have two rows, of which the one that says nothing
    holds the labels.
    """
    place = _import_ids(rows) if ids else 0
    if place:
        return (tuple(rows[1]) if place > 1 else ()), [rows[0], *rows[place + 1 :]], place
    if two and second_heading(rows):
        first, second, *rest = rows
        return (tuple(first), [second, *rest], 0) if says_nothing(first) else (tuple(second), [first, *rest], 0)
    return (), rows, 0


def several_in_one(cells: Sequence[Any]) -> bool:
    """Whether the texts of a table's only column seem to hold several fields: by a sign, wide gaps, or a name before each value.

    >>> several_in_one(["a§b§c", "1§2§3"]), several_in_one(["name: Anna", "age: 4"]), several_in_one(["full name", "Anna Smit"])
    (True, True, False)
    """
    texts = [t for t in map(text_of, cells[:200]) if t]
    if len(texts) < 2:
        return False
    signs = Counter(re.findall(r"[^\w\s.'\"()/&%?!+*@#$€-]", texts[0]))
    by_sign = any(n > 1 and sum(t.count(sign) >= n for t in texts) >= 0.9 * len(texts) for sign, n in signs.items())
    gaps = all(re.search(r"\S\s{2,}\S.*\S\s{2,}\S", t) for t in texts)
    pairs = all(re.match(r"[-\s]*\w[\w ]*\s*[:=]\s*\S", t) for t in texts)
    return by_sign or gaps or pairs or _fixed_width([c for c in cells[1:200] if isinstance(c, str) and c.strip()])


def _fixed_width(lines: Sequence[str]) -> bool:
    """Whether lines are cut at fixed places: of one length, with blanks inside, and digits begin or end at the same places.

    >>> _fixed_width(["Anna 34Utrecht21000", "Piet 51Delft  32500", "Eva  29Leiden 40125"]), _fixed_width(["AB 12345678"] * 3)
    (True, False)
    """
    lines = [line.rstrip("\r\n") for line in lines]
    if len(lines) < 3 or len({*map(len, lines)}) > 1 or len(lines[0]) < 10:
        return False
    if all(line.isdigit() for line in lines):
        return len(lines[0]) > LONGEST_NUMBER
    kinds = [["digit" if c.isdigit() else "" if c == " " else "letter" for c in line] for line in lines]
    ends = [n for n in range(1, len(lines[0])) if all((k[n] == "digit") != (k[n - 1] == "digit") and k[n] for k in kinds)]
    joined = any({k[n - 1], k[n]} == {"digit", "letter"} for k in kinds for n in ends)
    blank = len({tuple(n for n, k in enumerate(kind) if not k) for kind in kinds}) > 1
    return len(ends) > 1 and joined and blank


LONGEST_NUMBER = 24
"""Digits of a number of a person or a thing at most: more of them are several numbers without a sign between."""
HEAD_ROWS = 50
"""Rows below two rows of words that are looked at for numbers."""


def second_heading(rows: Sequence[Sequence[Any]]) -> bool:
    """Whether the second row is a heading too: both hold words only, and below them at least half of the columns hold numbers.

    >>> second_heading([["X1", "X2"], ["age", "income"], ["30", "100"], ["31", "2"]]), second_heading([["age"], ["x"], ["y"]])
    (True, False)
    """
    if len(rows) < 4 or len(rows[0]) != len(rows[1]) or len(rows[1]) < 2:
        return False
    first, second, below = rows[0], rows[1], rows[2 : 2 + HEAD_ROWS]
    if any(is_amount(cell) for cell in (*first, *second)) or len(filled(second)) < 0.9 * len(second):
        return False
    if len({str(c) for c in second}) < len(second) and says_nothing(first):
        return False  # labels may be the same twice, names not
    if all((t := text_of(c).casefold()) in DASHES or _is_unit(t) for c in second):
        return False
    numeric = [i for i in range(len(second)) if column_of_numbers([row[i] for row in below if len(row) > i])]
    if any(text_of(second[i]).casefold() in MISSING_WORDS for i in numeric) or (len(numeric) < 2 and not says_nothing(first)):
        return False  # a record whose numbers are missing is not a heading
    return len(numeric) >= 0.5 * len(second)


def says_nothing(names: Sequence[Any]) -> bool:
    """Whether most names of a row are blank, bare codes (X1, V2) or numbered (Column1): then the row below holds the names.

    >>> says_nothing(["", "X1", "X2"]), says_nothing(["Column1", "Column2"]), says_nothing(["age", "sex", "q1"])
    (True, True, False)
    """
    bare = sum(not (t := text_of(n)) or re.fullmatch(r"[A-Za-z]?|[A-Za-z]{0,3}_?\d+", t) is not None for n in names)
    return bare > 0.6 * len(names) or numbered_only(names)


_NUMBERED = re.compile(rf"({_one_of('columns')}) ?\d+", re.IGNORECASE)


def numbered_only(names: Sequence[Any]) -> bool:
    """Whether all names are those that a program gives to columns without any, in the language of its user."""
    return len(names) > 1 and all(_NUMBERED.fullmatch(text_of(n)) for n in names)


def column_of_numbers(cells: Sequence[Any]) -> bool:
    held = [c for c in cells if text_of(c)]
    return bool(held) and all(is_amount(c) for c in held)

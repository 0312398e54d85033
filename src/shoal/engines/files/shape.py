"""Tables that stand in a file in another way than names above records: no names, several tables, rows and columns swapped.

The functions judge rows of cells, of text files and of workbooks alike. What they find is never repaired: the reader asks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from itertools import pairwise

from shoal.engines.files.layout import (
    DASHES,
    HEAD_ROWS,
    MISSING_WORDS,
    VALUE,
    VARIABLES,
    YEAR,
    Row,
    column_of_numbers,
    filled,
    is_amount,
    numbered_only,
    numbers_columns,
    text_of,
)

_DATE = re.compile(r"\d{4}[-./]\d\d?[-./]\d\d?([ T]\d\d?:.*)?|\d\d?[-./]\d\d?[-./]\d{2,4}")
FEWEST_LOOKED_AT, LOOKED_AT, CELLS = 20, 500, 50_000
"""Rows by which the shape is judged: so many, or as many as have so many cells, but not fewer than the first number."""
FEWEST_NUMBERS = 3
"""Numbers in a row of a file without names, more than which may be the values of one column."""
FEWEST_PAIRS = 4
"""Names and values, one pair in a line, from which they are not a table."""


def strange_shape(names: Row, body: Sequence[Row], tail: Sequence[Row], over: Sequence[Row], *, whole: bool) -> str:
    """The question that the shape of a table asks (``tables``, ``transposed``, ``heading``); empty if there is none.

    ``over`` are the rows above its names, ``tail`` its last rows; ``whole``: ``body`` has all others.
    """
    if names and (stacked(tail) or (whole and beside(names, body))):
        return "tables"
    if numbered_only(names) and body and names_below(body):
        return "heading"
    bare = [n for n, name in enumerate(names) if not text_of(name) and any(len(r) > n and text_of(r[n]) for r in body)]
    if len(bare) > max(1, len(names) // 2) or (len(bare) > 1 and _goes_on(bare, body[0])):
        return "heading"
    alike = max(Counter(filled(names)).values(), default=0)
    parts = any(len(filled(r)) > 1 for r in over) or (bool(body) and not any(map(is_amount, body[0])))
    if alike > 2 and 2 * alike >= len(filled(names)) and parts:
        return "heading"
    rows = [r for r in body[: max(FEWEST_LOOKED_AT, min(LOOKED_AT, CELLS // max(1, len(body[0]))))] if filled(r)] if body else []
    if names_inside(rows):
        return "tables"
    return "transposed" if transposed(names, rows) else ""


def _goes_on(bare: Sequence[int], row: Row) -> bool:
    """Whether a row names the columns without a name, with words alone, and at most half of the others.

    >>> _goes_on([0, 1], ["class", "sex", "", "", ""]), _goes_on([0, 1], ["a", "b", "c", "d", ""])
    (True, False)
    """
    held = [i for i, c in enumerate(row) if text_of(c)]
    others = len(held) - len(bare)
    return {*bare} <= {*held} and 2 * others <= len(row) - len(bare) and all(kind_of(row[i]) == "text" for i in held)


def names_below(body: Sequence[Row]) -> bool:
    """Whether the first record holds words alone, all different, none of which stands again below in its column.

    >>> names_below([["name", "age"], ["Anna", 34]]), names_below([["Anna", "f"], ["Eva", "f"]]), names_below([["Anna", 34]])
    (True, False, False)
    """
    texts = [text_of(c) for c in body[0]] if body else []
    if not texts or not all(texts) or len({*texts}) < len(texts) or any(kind_of(t) != "text" for t in texts):
        return False
    return not any(len(r) > i and text_of(r[i]) == t for r in body[1:] for i, t in enumerate(texts))


def kind_of(cell: object) -> str:
    """What a cell holds: ``number``, ``date`` or ``text``; empty for a missing one.

    >>> [kind_of(c) for c in ("12,5", "2024-01-31", "Anna", "n/a", "", 3)]
    ['number', 'date', 'text', '', '', 'number']
    """
    text = text_of(cell)
    if not text or text.casefold() in MISSING_WORDS | DASHES:
        return ""
    if isinstance(cell, date) or _DATE.fullmatch(text):
        return "date"
    return "number" if is_amount(cell) else "text"


def transposed(names: Row, body: Sequence[Row]) -> bool:
    """Whether variables stand in rows: each row behind its first cell is of one kind, and nearly every column of several.

    >>> transposed(["name", "Anna", "Piet"], [["age", "34", "51"], ["sex", "f", "m"], ["born", "1990-05-01", "1973-11-12"]])
    True
    >>> transposed(["name", "age", "sex"], [["Anna", "34", "f"], ["Piet", "51", "m"], ["Eva", "29", "f"]])
    False
    """
    first = [text_of(r[0]) for r in body]
    if len(body) < 2 or len({*first}) < len(first) or any(kind_of(t) != "text" for t in first):
        return False
    kinds = [[kind_of(c) for c in r[1:]] for r in body]
    width = max(map(len, kinds))
    if width < 2:
        return width == 1 and _pairs(names, body, [k[0] if k else "" for k in kinds])
    columns = [{k[i] for k in kinds if len(k) > i} - {""} for i in range(width)]
    if sum(len(c) > 1 for c in columns) >= 0.9 * width and sum(len({*k} - {""}) < 2 for k in kinds) >= 0.9 * len(kinds):
        return True
    if all(c <= {"text"} for c in columns):
        return _named(names, first) or _recur_in_rows(names, body)
    if not all(c <= {"number"} for c in columns) or not _ranges_differ(body):
        return False
    numbered = numbers_columns(names[1:]) and len(body) < len(names)
    apart = not names and len(body) > 2 and width > FEWEST_NUMBERS
    return numbered or apart or _named(names, first)


def _named(names: Row, first: Sequence[str]) -> bool:
    """Whether the first column holds names of columns, and the row of names does not."""
    known = sum(t.casefold() in VARIABLES for t in first)
    return known > 1 and 2 * known >= len(first) and not any(text_of(n).casefold() in VARIABLES for n in names[1:])


def _recur_in_rows(names: Row, body: Sequence[Row]) -> bool:
    """Whether words recur inside rows and never below one another: at least two rows have some twice, and no two share one.

    >>> _recur_in_rows([], [["a", "f", "m", "f", "m"], ["b", "x", "y", "z", "x"], ["c", "1a", "2a", "3a", "4a"]])
    True
    """
    rows = [[t for c in r[1:] if (t := text_of(c))] for r in (*([names] if names else ()), *body)]
    sets = [{*r} for r in rows]
    twice = sum(len(r) > len(one) for r, one in zip(rows, sets, strict=True))
    return len(rows) > 2 and min(map(len, rows)) > 3 and twice > 1 and sum(map(len, sets)) == len(set().union(*sets))


def _pairs(names: Row, body: Sequence[Row], kinds: Sequence[str]) -> bool:
    """Whether two columns are the names and values of one record: values of several kinds, each different."""
    rows = [names, *body] if names else body
    values = [text_of(r[1]) for r in rows if len(r) > 1]
    named = sum(kind == "text" and any(map(str.isalpha, text_of(r[1]))) for kind, r in zip(kinds, body, strict=True))
    several = named > 1 and sum(kind in ("number", "date") for kind in kinds) > 1
    return FEWEST_PAIRS <= len(rows) <= 50 and several and len({*values}) == len(values)


def _ranges_differ(body: Sequence[Row]) -> bool:
    """Whether at least half of the rows of numbers lie wholly above or below the row before."""
    ranges = [(min(x), max(x)) for r in body if (x := [n for c in r[1:] if (n := _number(c)) is not None])]
    apart = sum(a[1] < b[0] or b[1] < a[0] for a, b in pairwise(ranges))
    return len(ranges) > 1 and 2 * apart >= len(ranges) - 1


def _number(cell: object) -> float | None:
    try:
        return float(text_of(cell))
    except ValueError:
        return None


def names_inside(rows: Sequence[Row]) -> bool:
    """Whether a row below the first has names: words alone, all different, in columns that hold values above or below it.

    Either no other row has words there (the names of this table), or the rows above it hold other kinds than those below.

    >>> names_inside([["Anna", "34", "1.5"], ["Piet", "51", "2.5"], ["name", "age", "pay"], ["Eva", "29", "3.5"]])
    True
    >>> names_inside([["x", "6", "1"], ["y", "7", "2"], ["name", "town", "sex"], ["Eva", "Ede", "f"], ["Jan", "Goes", "m"]])
    True
    """
    width = max(map(len, rows), default=0)
    if width < 2 or len(rows) < 3:
        return False
    kinds = [[*map(kind_of, r), *[""] * (width - len(r))] for r in rows]
    valued = [i for i in range(width) if sum(k[i] in ("number", "date") for k in kinds) > 1]
    for i, row in enumerate(rows):
        if len(valued) < 2 or i == 0 or any(kinds[i][j] != "text" for j in valued):
            continue
        texts = filled(row)
        if len(texts) < width or len({*texts}) < width or any(k != "text" for k in kinds[i]):
            continue
        sides = [[{k[j] for k in part} - {""} for j in range(width)] for part in (kinds[:i], kinds[i + 1 :])]
        own = sum(bool(a | b) and "text" not in a | b for a, b in zip(*sides, strict=True))
        other = sum(len(a) == len(b) == 1 and a != b for a, b in zip(*sides, strict=True)) if min(i, len(rows) - i - 1) > 1 else 0
        if own > 1 or other > 1:
            return True
    return False


def table_above(rows: Sequence[Row]) -> bool:
    """Whether the rows above the names are a table of their own: three or more, side by side, with as many cells, at least three.

    >>> table_above([["ward", "beds", "open"], ["A", "3", "yes"], ["B", "4", "no"], []]), table_above([["Report", "2024"], []])
    (True, False)
    """
    sizes = [len(filled(r)) for r in rows]
    return any(a == b == c and a > 2 for a, b, c in zip(sizes, sizes[1:], sizes[2:], strict=False))


def cut_off(rows: Sequence[Row]) -> bool:
    """Whether a row above the names is the end of a record: two or more values and no word.

    >>> cut_off([["0.50", "1990-05-01"]]), cut_off([["Report", "2024"]]), cut_off([["1", "2", "3"]])
    (True, False, False)
    """
    rows_kinds = [[k for k in map(kind_of, r) if k] for r in rows if not numbers_columns(r)]
    return any(len(kinds) > 1 and "text" not in kinds and "date" in kinds for kinds in rows_kinds)


def stacked(rows: Sequence[Row]) -> bool:
    """Whether another table stands below the first: other names after an empty row, above columns of numbers.

    >>> stacked([["a", "b"], ["x", "1"], [], ["c", "d"], ["y", "2"], ["z", "3"]])
    True
    """
    for i in range(2, len(rows) - 2):
        if any(map(text_of, rows[i - 1])):
            continue
        row, below = rows[i], rows[i + 1 : i + 1 + HEAD_ROWS]
        texts = filled(row)
        if len(texts) < 2 or len(set(texts)) < len(texts) or any(map(is_amount, row)):
            continue
        below = below[: next((n for n, r in enumerate(below) if not filled(r)), len(below))]
        words = [n for n, c in enumerate(row) if (t := text_of(c).casefold()) and t not in MISSING_WORDS | DASHES]
        numeric = any(column_of_numbers([r[n] for r in below if len(r) > n]) for n in words)
        if len(below) > 1 and numeric and len(words) == len(texts) and tuple(row) != tuple(rows[0]):
            return True
    return False


def beside(names: Row, body: Sequence[Row]) -> bool:
    """Whether another table stands beside the first: names behind an empty column, over less than half or twice as many rows.

    Or over as many, if it begins with a column of different words as the first does: names of its own records.

    >>> beside(["a", "b", "", "c", "d"], [["x", 1, "", "u", 3], ["y", 2, "", "", ""], ["z", 4, "", "", ""]])
    True
    >>> beside(["a", "b", "", "c", "d"], [["x", 1, "", "u", 3], ["y", 2, "", "v", 4], ["z", 4, "", "w", 5]])
    True
    >>> beside(["a", "b", "", "c", "d"], [["x", 1, "", "u", 3], ["y", 2, "", "u", 4], ["z", 4, "", "v", 5]])
    False
    """
    if all(map(text_of, names)):
        return False
    last = [max((i for i, r in enumerate(body) if len(r) > n and text_of(r[n])), default=-1) for n in range(len(names))]
    gaps = [n for n, name in enumerate(names) if not text_of(name) and last[n] < 0]
    for gap in gaps:
        sides = [[last[n] for n in side if text_of(names[n])] for side in (range(gap), range(gap + 1, len(names)))]
        if min(map(len, sides)) > 1:
            short, long = sorted(1 + max(side) for side in sides)
            starts = [[text_of(r[n]) for r in body if len(r) > n and text_of(r[n])] for n in (_first_named(names), gap + 1)]
            own = all(len(c) > 2 and len({*c}) == len(c) and not any(map(is_amount, c)) for c in starts)
            if 0 < 2 * short < long or own:
                return True
    return False


ONCE = "Column '{}' has its values once above rows that leave it empty, as if each stood for the rows below: they are missing."


def stands_once(cells: Sequence[object]) -> bool:
    """Whether the first column of a table may stand for rows below: words that never recur, most above empty cells.

    >>> stands_once(["A", "", "", "B", ""]), stands_once(["A", "B", "", "A"]), stands_once(["", "A", "", "B", ""])
    (True, False, False)
    """
    texts = [text_of(c) for c in cells]
    words = [t for t in texts if t]
    below = [not texts[i + 1] for i, t in enumerate(texts[:-1]) if t]
    often = 2 * len(words) <= len(texts) and 2 * sum(below) >= len(below)
    return len(words) > 1 and bool(texts[0]) and len({*words}) == len(words) and often and not all(map(is_amount, words))


def _first_named(names: Row) -> int:
    return next((i for i, name in enumerate(names) if text_of(name)), 0)


def first_is_record(rows: Sequence[Row]) -> bool:
    """Whether the first row of a sheet is a record: it holds a number or date, and no word stands above numbers.

    Years and days beside words may be names, as those of a table of counts are, unless years or days stand below them too.

    >>> first_is_record([[3.0, "Anna"], [4.0, "Ben"]]), first_is_record([["no", "who"], [4.0, "Ben"]])
    (True, False)
    >>> first_is_record([["town", "2001"], ["A", "12"]]), first_is_record([["Anna", "1990"], ["Ben", "1985"]])
    (False, True)
    >>> first_is_record([["town", "1960", "2001"], ["A", "", "12"]])  # nothing was counted in 1960
    False
    >>> first_is_record([["town", "1/2/20"], ["A", "12"]]), first_is_record([["Anna", "6.2.2003"], ["Ben", "9.11.2000"]])
    (False, True)
    """
    first, below = rows[0], rows[1 : HEAD_ROWS + 1]
    numbers = [isinstance(c, int | float | date) or VALUE.fullmatch(text_of(c)) is not None for c in first]
    numbers = [
        number or (kind_of(c) == "date" and {kind_of(r[i]) for r in below if len(r) > i} - {""} == {"date"})
        for i, (c, number) in enumerate(zip(first, numbers, strict=True))
    ]
    held = [[c, *(r[i] for r in below if len(r) > i and text_of(r[i]))] for i, c in enumerate(first) if numbers[i]]
    tall = [column for column in held if len(column) > 1] or held
    years = all(_is_year(c[0]) for c in held) and not any(all(map(_is_year, c[1:])) for c in tall)
    if not below or not any(numbers) or (years and not all(numbers)):
        return False
    if text_of(first[0]) and not numbers[0] and numbers_columns(first[1:]):
        return False  # records or months that are numbered
    words = [i for i, c in enumerate(first) if text_of(c) and not numbers[i]]
    return not any(column_of_numbers([r[i] for r in below if len(r) > i]) for i in words)


def _is_year(cell: object) -> bool:
    return YEAR.fullmatch(text_of(cell).removesuffix(".0")) is not None


def names_recur(names: Row, body: Sequence[Row]) -> bool:
    """Whether the names may be a record: they stand again below in a third of the columns, and none stands above numbers.

    A column that repeats its name only, as boxes that were ticked do, shows nothing.

    >>> names_recur(["Anna", "f"], [["Piet", "m"], ["Eva", "f"]]), names_recur(["name", "tea"], [["Piet", "tea"], ["Eva", ""]])
    (True, False)
    """
    below = [r for r in body[:2000] if tuple(r) != tuple(names)]
    recur = 0
    for i, name in enumerate(map(text_of, names)):
        values = {text for r in below if len(r) > i and (text := text_of(r[i]))}
        if values and all(map(is_amount, values)):
            return False
        recur += name in values and len(values) > 1
    return recur > 0 and 3 * recur >= len(filled(names))

"""What was typed, taken apart: names of columns, roles, orders, options of reading."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import UsageError, refuse, suggest

if TYPE_CHECKING:
    from shoal.release.policy.policy import Policy


def names(text: str | None) -> tuple[str, ...]:
    """Column names from ``a,b,c``; a name with a comma is written in double quotes.

    >>> names('age, sex,"zip, code"')
    ('age', 'sex', 'zip, code')
    """
    if not text:
        return ()
    row = next(csv.reader([text], skipinitialspace=True))
    listed = tuple(n.strip() for n in row if n.strip())
    if len(set(listed)) != len(listed):
        raise UsageError("A column is named twice.", hint="Name each column once, separated by commas.")
    return listed


def pairs_of(text: str | None, option: str) -> dict[str, str]:
    """``a=b,c=d`` as a mapping."""
    out: dict[str, str] = {}
    for part in names(text):
        name, equals, word = part.partition("=")
        if not equals or not name.strip() or not word.strip() or name.strip() in out:
            raise UsageError(f"{option} is written like a=b,c=d, each name once.")
        out[name.strip()] = word.strip()
    return out


def orders(given: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """Orders of columns from ``column=a,b,c`` texts.

    >>> orders(["pain=low,medium,high"])
    {'pain': ('low', 'medium', 'high')}
    """
    return listed_by_column(given, 2, "--order", "--order pain=low,medium,high")


def listed_by_column(given: Sequence[str] | None, least: int, what: str, example: str) -> dict[str, tuple[str, ...]]:
    """Lists of values by column from ``column=a,b`` texts; a column that is named again gets more."""
    out: dict[str, tuple[str, ...]] = {}
    for text in given or ():
        column, separator, listed = text.partition("=")
        values = tuple(v.strip() for v in next(csv.reader([listed], skipinitialspace=True), []))
        if not separator or not column or len(values) < least:
            raise UsageError(f"Invalid {what}.", hint=f"For example {example}.")
        out[column] = (*out.get(column, ()), *values)
    return out


def word_by_column(given: Sequence[str] | None, option: str, example: str) -> dict[str, str]:
    """One word for each column: ``ward=nominal``."""
    pairs = [text.rpartition("=") for text in given or ()]
    if not all(separator and column for column, separator, _ in pairs):
        raise UsageError(f"Invalid {option}.", hint=f"For example {option} {example}.")
    return {column: word for column, _, word in pairs}


REQUIREMENTS = ("quasi", "qi", "sensitive", "direct", "insensitive", "unit", "weight", "k")


def require_policy(policy: Path | None, options: Mapping[str, object], *, hint: str = "") -> None:
    """Refuse a run without a policy file and without options that state one."""
    if policy is None and not any(name in options for name in REQUIREMENTS):
        raise UsageError("No requirements given.", hint=hint or "Pass --policy FILE, or --quasi a,b --k 5 …")


def listed(text: str) -> tuple[str, ...]:
    """Words separated by commas.

    >>> listed("exact, day")
    ('exact', 'day')
    """
    return tuple(word.strip() for word in text.split(",") if word.strip())


def whole_numbers(text: str) -> tuple[int, ...]:
    """Whole numbers from ``1,2,3`` or ``1-6``."""
    with refuse(UsageError(f"Invalid numbers of known records '{text}'.", hint="Expected 1,2,3 or 1-6."), ValueError):
        low, dash, high = text.partition("-")
        return tuple(range(int(low), int(high) + 1)) if dash else tuple(int(word) for word in listed(text))


def files(given: Sequence[str]) -> dict[str, Path]:
    """Files by column from ``column=file`` texts.

    >>> files(["zip=levels.csv"])["zip"].name
    'levels.csv'
    """
    out = {}
    for text in given:
        column, separator, file = text.partition("=")
        if not separator or not file:
            raise UsageError(f"Invalid --hierarchy '{text}'.", hint="Expected COLUMN=FILE.")
        out[column.strip()] = Path(file.strip())
    return out


def numbers(text: str) -> list[float]:
    """Numbers from ``0.4,0.3,0.3``."""
    with refuse(UsageError("Invalid numbers.", hint="Expected numbers separated by commas: 0.4,0.3,0.3."), ValueError):
        return [float(word) for word in listed(text)]


_BY_COLUMN, _YES_NO, _LINES = ("types", "dates"), ("header", "booleans", "rename_duplicates"), ("skip", "header")


def read_options(given: Sequence[str], known: Collection[str]) -> dict[str, Any]:
    """Options of ``shoal.open`` from ``key=value`` texts; ``null``, ``types`` and ``dates`` may be given several times.

    >>> read_options(["delimiter=tab", "header=false", "null=NA", "null=?"], ("delimiter", "header", "null"))
    {'delimiter': '\\t', 'header': False, 'null': ['NA', '?']}
    """
    out: dict[str, Any] = {}
    for text in given:
        key, separator, value = text.partition("=")
        column, colon, kind = value.partition(":") if key == "dates" else value.rpartition(":")  # a form may hold colons
        if key not in known:
            hint = suggest(key, known) or f"Known: {', '.join(known)}."
            raise UsageError(f"'{key}' is not an option of --read.", hint=hint)
        line = key in _LINES and value.isdecimal() and value.isascii()
        yes_no = key in _YES_NO and value in ("true", "false")
        if not separator or (key in _BY_COLUMN and not colon) or (key in (*_YES_NO, *_LINES) and not (line or yes_no)):
            raise UsageError(f"Invalid --read '{text}'.", hint="For example delimiter=; header=false types=zip:text.")
        if key == "null":
            out.setdefault(key, []).append(value)
        elif key in _BY_COLUMN:
            out.setdefault(key, {})[column] = kind
        else:
            out[key] = int(value) if line else value == "true" if yes_no else "\t" if value == "tab" else value
    return out


def read_as_policy(policy: Path | None, reading: dict[str, Any]) -> tuple[Policy | None, dict[str, Any]]:
    """The policy of a file, and the options of ``shoal.open``: those of the policy, overruled by those that were typed."""
    if policy is None:
        return None, reading
    from shoal.release.policy.policy import Policy

    read = Policy.load(policy)
    return read, {**read.read, **reading}


def how_read(source: Mapping[str, Any]) -> list[str]:
    """How a text file or workbook was read, and a line for each repair, so that a wrong guess is seen; empty for other sources.

    >>> how_read({"format": "csv", "delimiter": ";", "encoding": "latin-1", "decimal": ",", "header": True})
    ["Read as CSV: delimiter ';', encoding latin-1, decimal ',', first line holds the names. Wrong? See --read."]
    """
    repairs = [f"• {line}" for line in source.get("repairs", ())]
    if source.get("format") != "csv":
        return repairs
    names = "first line holds the names" if source["header"] else "no line of names"
    mark = "tab" if source["delimiter"] == "\t" else f"'{source['delimiter']}'"
    decimal = source.get("decimal") or "."
    how = f"Read as CSV: delimiter {mark}, encoding {source['encoding']}, decimal '{decimal}', {names}. Wrong? See --read."
    return [how, *repairs]


def explained(words: list[str]) -> list[str]:
    """``--explain`` alone means all numbers; a word after it is one number, unless it is another option or a file.

    >>> explained(["measure", "t.csv", "--explain"]), explained(["measure", "--explain", "match", "t.csv"])[1]
    (['measure', 't.csv', '--explain=all'], '--explain=match')
    """
    if "--explain" not in words or words[:1] != ["measure"]:
        return words
    from shoal.measures.metrics import derived_numbers
    from shoal.measures.metrics import words as known

    at = words.index("--explain")
    names = {*known(), *(spelling for s in derived_numbers() for spelling in s.also)}
    given = words[at + 1] if at + 1 < len(words) else ""
    one = given in names and not Path(given).exists()
    return [*words[:at], f"--explain={given if one else 'all'}", *words[at + 1 + one :]]

"""Questionnaires as XLSForms: closed questions and bounded numbers, each answer equally likely (grade C).

A question with a condition (its own ``relevant`` or that of a group around it) has one answer more: it was not asked. Several
choices at once are taken one by one. Open answers, dates, notes and calculations are left out and listed. Nothing is
understated: where bounds are read from a constraint, the widest pair counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from shoal.errors import PolicyError, UnreadableError, need
from shoal.prediction.questionnaire.questionnaire import Questionnaire

MOST_CHOICES = 16
"""Choices of a question with several answers that are kept as one question of 2^n answers; more are split."""

_SILENT = {
    "note", "start", "end", "today", "calculate", "hidden", "deviceid", "phonenumber", "username", "email", "simserial",
    "subscriberid", "audit", "start-geopoint", "background-audio", "xml-external", "csv-external",
}  # fmt: skip
_WORDS = (
    (r"select[_ ]one[_ ]from[_ ]file\b.*", "file"),
    (r"select[_ ]multiple[_ ]from[_ ]file\b.*", "file"),
    (r"(?:select[_ ]one|select one from|select1)(?:_external)?\s+(?P<list>\S+)(?P<other>.*)", "one"),
    (r"(?:select[_ ]multiple|select all that apply from|select all that apply)\s+(?P<list>\S+)(?P<other>.*)", "many"),
    (r"rank\s+(?P<list>\S+)(?P<other>.*)", "rank"),
    (r"(?:acknowledge|trigger)", "trigger"),
    (r"(?:integer|int)", "integer"),
    (r"range", "range"),
    (r"(?P<edge>begin|end)[_ ](?P<box>group|repeat)", "box"),
)


@dataclass
class _Place:
    """Where a row stands: the names of the groups around it, and whether any of them has a condition or repeats."""

    names: list[str] = field(default_factory=list)
    conditions: list[bool] = field(default_factory=list)
    repeats: list[bool] = field(default_factory=list)

    def enter(self, name: str, condition: bool, repeat: bool) -> None:
        self.names.append(name)
        self.conditions.append(condition)
        self.repeats.append(repeat)

    def leave(self) -> None:
        if self.names:
            for part in (self.names, self.conditions, self.repeats):
                part.pop()


def read_sheets(path: str | Path) -> tuple[list[dict[str, Any]], dict[str, set[str]]]:
    """The rows of the survey, and the names of the choices of each list."""
    try:
        import openpyxl
    except ImportError as error:
        raise need("excel", "openpyxl") from error
    from zipfile import BadZipFile

    try:
        book = openpyxl.load_workbook(Path(path), read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError, OSError) as error:
        raise UnreadableError(f"'{Path(path).name}' is not a readable Excel file.", hint="Save it again as .xlsx.") from error
    try:
        survey, rows = _sheet(book, "survey"), _sheet(book, "choices", optional=True)
    finally:
        book.close()
    return survey, choice_lists(rows)


def choice_lists(rows: list[dict[str, Any]]) -> dict[str, set[str]]:
    """The names of the choices of each list."""
    lists: dict[str, set[str]] = {}
    for row in rows:
        owner = str(row.get("list_name") or row.get("list name") or "").strip()
        lists.setdefault(owner, set()).add(str(row.get("name") if row.get("name") is not None else row.get("value")))
    return lists


def fill(q: Questionnaire, survey: list[dict[str, Any]], lists: Mapping[str, set[str]]) -> None:
    """Add the closed questions of a survey; ``q.skipped`` names the open ones, ``q.notes`` what was assumed."""
    place, skipped, notes = _Place(), list[str](), list[str]()
    for row in survey:
        kind, name = str(row.get("type") or "").strip(), str(row.get("name") or "").strip()
        what, found = _kind(kind)
        if what == "box" and found is not None:
            if found["edge"] == "begin":
                place.enter(name, bool(row.get("relevant")), found["box"] == "repeat")
            else:
                place.leave()
            continue
        if not kind or not name or kind in _SILENT:
            continue
        own = name if name not in q.questions else "/".join([*[n for n in place.names if n], name])
        options = list(_answers(own, what, found, row, lists))
        if not options:
            skipped.append(own)
        asked = bool(row.get("relevant")) or any(place.conditions)
        for label, answers, ordered in options:
            options_of: dict[str, Any] = {"band": 1} if ordered else {}
            q.add(label, values=answers + asked, ordered=ordered and not asked, **options_of)
        if options and any(place.repeats):
            notes.append(f"{own} may be answered several times; it is counted once")
    if not q.questions:
        raise PolicyError("the XLSForm has no closed question.", hint="Only select and bounded number questions count.")
    q.skipped, q.notes = tuple(skipped), (*q.notes, *notes)


def _kind(text: str) -> tuple[str, re.Match[str] | None]:
    for pattern, what in _WORDS:
        found = re.fullmatch(pattern, text.strip(), re.IGNORECASE)
        if found:
            return what, found
    return "open", None


def _answers(
    name: str, what: str, found: re.Match[str] | None, row: Mapping[str, Any], lists: Mapping[str, set[str]]
) -> Iterator[tuple[str, int, bool]]:
    """Name, number of answers and whether they are ordered; nothing for an open question."""
    if what == "trigger":
        yield name, 2, False
    if what in ("integer", "range"):
        answers = _numbers(what, str(row.get("constraint") or ""), str(row.get("parameters") or ""))
        if answers is not None:
            yield name, answers, True
    if what not in ("one", "many", "rank") or found is None:
        return
    n = len(lists.get(found["list"], ())) + ("other" in (found["other"] or "").lower())
    if n == 0:
        raise PolicyError(f"question '{name}' uses the list '{found['list']}', which has no choices.")
    if what == "one":
        yield name, n, False
    elif what == "rank":
        if n <= 9:  # orders of the choices
            yield name, math.factorial(n), False
    else:
        parts = [min(MOST_CHOICES, n - i) for i in range(0, n, MOST_CHOICES)]
        for i, size in enumerate(parts):
            yield (name if len(parts) == 1 else f"{name} ({i + 1} of {len(parts)})"), 2**size, False


def _numbers(what: str, constraint: str, parameters: str) -> int | None:
    """How many numbers may be answered: by "start=0 end=10 step=0.5", or by the widest bounds of a constraint."""
    if what == "range":
        given = {k: _fraction(v) for k, v in re.findall(r"(start|end|step)\s*=\s*([-+.\deE]+)", parameters)}
        start, end, step = given.get("start", Fraction(0)), given.get("end", Fraction(10)), given.get("step", Fraction(1))
        if start is None or end is None or not step or end < start:
            return None
        answers: int = math.floor((end - start) / abs(step)) + 1
        return answers
    lows: list[int] = [int(n) + (s == ">") for s, n in re.findall(r"(?<![\w.])\.\s*(>=?)\s*(-?\d+)(?![\d.])", constraint)]
    lows += [int(n) + (s == "<") for n, s in re.findall(r"(-?\d+)\s*(<=?)\s*\.(?![\w.])", constraint)]
    highs: list[int] = [int(n) - (s == "<") for s, n in re.findall(r"(?<![\w.])\.\s*(<=?)\s*(-?\d+)(?![\d.])", constraint)]
    highs += [int(n) - (s == ">") for n, s in re.findall(r"(-?\d+)\s*(>=?)\s*\.(?![\w.])", constraint)]
    if not lows or not highs or min(lows) > max(highs):
        return None
    return max(highs) - min(lows) + 1


def _fraction(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def _sheet(book: Any, name: str, *, optional: bool = False) -> list[dict[str, Any]]:
    title = next((t for t in book.sheetnames if t.strip().lower() == name), None)
    if title is None:
        if optional:
            return []
        raise PolicyError(f"the XLSForm has no sheet '{name}'.", hint="XLSForms have the sheets survey and choices.")
    rows = book[title].iter_rows(values_only=True)
    heads = [str(h or "").strip().lower() for h in next(rows, ())]
    return [dict(zip(heads, row, strict=False)) for row in rows if any(c is not None for c in row)]

"""XLSForm, from ``.xlsx`` and from the older ``.xls``: see :mod:`shoal.forms.xlsform` for what counts as closed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from shoal.errors import PolicyError, UnreadableError, need
from shoal.forms.form import Form, FormQuestion
from shoal.prediction.questionnaire.questionnaire import Questionnaire

DEVICE = ("deviceid", "phonenumber", "username", "email", "simserial", "subscriberid", "audit")
PLACES = ("geopoint", "geotrace", "geoshape", "start-geopoint")
DATES = ("date", "datetime", "time", "today", "start", "end")
FILES = ("image", "photo", "audio", "video", "file", "barcode", "background-audio")
SILENT = ("note", "calculate", "hidden", "xml-external", "csv-external")


def read(path: Path) -> Form:
    """The form of a workbook."""
    survey, lists = read_sheets(path) if path.suffix.lower() != ".xls" else _old(path)
    counted = Questionnaire(population=2)
    try:
        fill(counted, survey, lists)
    except PolicyError:
        if not any(str(row.get("type") or "").strip() for row in survey):
            raise
    texts = {_cell_text(row, "name"): _label(row) for row in survey}
    closed = [
        FormQuestion(name, "number" if q.ordered else "closed", q.answers, text=texts.get(name, ""))
        for name, q in counted.questions.items()
    ]
    return Form((*closed, *_open(survey, set(counted.questions))), "XLSForm", notes=counted.notes)


def _open(survey: list[dict[str, Any]], closed: set[str]) -> list[FormQuestion]:
    """Open questions, and what is recorded without a question, beside the closed questions."""
    out = []
    for row in survey:
        kind, name = _cell_text(row, "type").lower(), _cell_text(row, "name")
        what = next(
            (w for w, kinds in (("name", DEVICE), ("place", PLACES), ("date", DATES), ("file", FILES)) if kind in kinds), "text"
        )
        boxed = kind.startswith(("begin", "end")) and kind not in ("end",)
        parts = any(c == name or c.startswith(f"{name} (") for c in closed)
        if kind and not boxed and kind not in SILENT and not parts and (name or what == "name"):
            out.append(FormQuestion(name or kind, what, text=_label(row)))
    return out


def _label(row: dict[str, Any]) -> str:
    found = next((str(v) for k, v in row.items() if k.startswith("label") and v), "")
    return " ".join(found.split())


def _cell_text(row: dict[str, Any], key: str) -> str:
    return str(row.get(key) or "").strip()


def _old(path: Path) -> tuple[list[dict[str, Any]], dict[str, set[str]]]:
    """The sheets of a workbook as Excel wrote them until 2003."""
    try:
        import xlrd
    except ImportError:
        raise need("excel", "xlrd") from None
    try:
        with xlrd.open_workbook(path, on_demand=True) as book:
            survey, rows = _old_sheet(book, "survey"), _old_sheet(book, "choices")
    except (xlrd.XLRDError, xlrd.compdoc.CompDocError, AssertionError, IndexError, KeyError, ValueError, OSError):
        raise UnreadableError("this is not a readable Excel file.", hint="Save it again, best as .xlsx.") from None
    if survey is None:
        raise PolicyError("the XLSForm has no sheet 'survey'.", hint="XLSForms have the sheets survey and choices.")
    return survey, choice_lists(rows or [])


def _old_sheet(book: Any, name: str) -> list[dict[str, Any]] | None:
    title = next((t for t in book.sheet_names() if t.strip().lower() == name), None)
    if title is None:
        return None
    sheet = book.sheet_by_name(title)
    rows = [[_cell(sheet.cell(r, c)) for c in range(sheet.ncols)] for r in range(sheet.nrows)]
    heads = [str(h if h is not None else "").strip().lower() for h in (rows[0] if rows else [])]
    return [dict(zip(heads, row, strict=True)) for row in rows[1:] if any(c is not None for c in row)]


def _cell(cell: Any) -> Any:
    """A value as the newer format gives it: whole numbers whole, empty cells None."""
    if cell.value == "" or cell.ctype in (0, 5, 6):
        return None
    return int(cell.value) if isinstance(cell.value, float) and cell.value.is_integer() else cell.value


MOST_CHOICES = 16
"""Choices of a question with several answers that are kept as one question of 2^n answers; more are split."""

_SILENT = {
    "note", "start", "end", "today", "calculate", "hidden", "deviceid", "phonenumber", "username", "email", "simserial",
    "subscriberid", "audit", "start-geopoint", "background-audio", "xml-external", "csv-external",
}  # fmt: skip
_TYPES = (
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
    for pattern, what in _TYPES:
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

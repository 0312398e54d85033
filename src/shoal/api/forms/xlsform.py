"""XLSForm, from ``.xlsx`` and from the older ``.xls``: see :mod:`shoal.api.readers.xlsform` for what counts as closed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.api.readers import xlsform
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
    survey, lists = xlsform.read_sheets(path) if path.suffix.lower() != ".xls" else _old(path)
    counted = Questionnaire(population=2)
    try:
        xlsform.fill(counted, survey, lists)
    except PolicyError:
        if not any(str(row.get("type") or "").strip() for row in survey):
            raise
    texts = {_said(row, "name"): _label(row) for row in survey}
    closed = [
        FormQuestion(name, "number" if q.ordered else "closed", q.answers, text=texts.get(name, ""))
        for name, q in counted.questions.items()
    ]
    return Form((*closed, *_open(survey, set(counted.questions))), "XLSForm", notes=counted.notes)


def _open(survey: list[dict[str, Any]], closed: set[str]) -> list[FormQuestion]:
    """What is asked, or recorded without being asked, beside the closed questions."""
    out = []
    for row in survey:
        kind, name = _said(row, "type").lower(), _said(row, "name")
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


def _said(row: dict[str, Any], key: str) -> str:
    return str(row.get(key) or "").strip()


def _old(path: Path) -> tuple[list[dict[str, Any]], dict[str, set[str]]]:
    """The sheets of a workbook as Excel wrote them until 2003."""
    try:
        import xlrd
    except ImportError:
        raise need("excel", "xlrd") from None
    try:
        with xlrd.open_workbook(path, on_demand=True) as book:
            survey, rows = _sheet(book, "survey"), _sheet(book, "choices")
    except (xlrd.XLRDError, xlrd.compdoc.CompDocError, AssertionError, IndexError, KeyError, ValueError, OSError):
        raise UnreadableError("this is not a readable Excel file.", hint="Save it again, best as .xlsx.") from None
    if survey is None:
        raise PolicyError("the XLSForm has no sheet 'survey'.", hint="XLSForms have the sheets survey and choices.")
    return survey, xlsform.choice_lists(rows or [])


def _sheet(book: Any, name: str) -> list[dict[str, Any]] | None:
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

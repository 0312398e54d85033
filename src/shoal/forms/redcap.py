"""The data dictionary of REDCap: a CSV file with one row per field."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping

from shoal.errors import PolicyError
from shoal.forms.form import Form, FormQuestion

HEADS = {
    "variable / field name": "name",
    "field_name": "name",
    "form name": "form",
    "form_name": "form",
    "field type": "type",
    "field_type": "type",
    "field label": "label",
    "field_label": "label",
    "choices, calculations, or slider labels": "choices",
    "choices or calculations": "choices",
    "select_choices_or_calculations": "choices",
    "text validation type or show slider number": "validation",
    "text_validation_type_or_show_slider_number": "validation",
    "text validation min": "low",
    "text_validation_min": "low",
    "text validation max": "high",
    "text_validation_max": "high",
    "identifier?": "identifier",
    "identifier": "identifier",
    "branching logic (show field only if...)": "branching",
    "branching_logic": "branching",
}
"""Heads of the file as people download it, and as the interface for programs gives them."""
SILENT = ("calc", "descriptive")
FIXED = {"yesno": 2, "truefalse": 2, "slider": 101}


def is_dictionary(head: str) -> bool:
    """Whether the first line of a CSV file is that of a dictionary.

    >>> is_dictionary('"Variable / Field Name","Form Name","Section Header","Field Type"'), is_dictionary("age,sex")
    (True, False)
    """
    found = {HEADS.get(cell.strip().casefold()) for cell in next(csv.reader([head.lstrip("\ufeff")]), [])}
    return {"name", "type"} <= found


def dictionary(text: str) -> list[dict[str, str]]:
    """The fields of a dictionary, each by the names on the right of :data:`HEADS`; labels without their markup."""
    rows = csv.reader(io.StringIO(text.lstrip("\ufeff")), strict=False)
    heads = [HEADS.get(cell.strip().casefold(), "") for cell in next(rows, [])]
    if not {"name", "type"} <= set(heads):
        raise PolicyError("this is not a REDCap data dictionary.", hint="Download it in REDCap under Dictionary.")
    fields = [{head: cell.strip() for head, cell in zip(heads, row, strict=False) if head} for row in rows]
    return [f | {"label": " ".join(re.sub(r"<[^>]*>", " ", f.get("label", "")).split())} for f in fields if f.get("name")]


def read(text: str) -> Form:
    questions = []
    for cells in dictionary(text):
        kind = cells.get("type", "").casefold()
        if kind and kind not in SILENT:
            questions.append(_question(cells, kind))
    return Form(tuple(questions), "REDCap")


def _question(cells: Mapping[str, str], kind: str) -> FormQuestion:
    said, answers = _answers(cells, kind)
    marked = cells.get("identifier", "").casefold().startswith("y")
    return FormQuestion(cells["name"], said, answers, text=cells["label"], some=bool(cells.get("branching")), identifier=marked)


def _answers(cells: Mapping[str, str], kind: str) -> tuple[str, int]:
    """What kind of question a field is, and how many answers it has."""
    choices = [c for c in cells.get("choices", "").split("|") if c.strip()]
    if kind in ("radio", "dropdown"):
        return "closed", len(choices)
    if kind == "checkbox":
        return "several", len(choices)
    if kind in FIXED:
        return ("number" if kind == "slider" else "closed"), FIXED[kind]
    if kind == "file":
        return "file", 0
    if kind != "text":
        return "text", 0
    validation = cells.get("validation", "").casefold()
    if validation.startswith(("date", "datetime")):
        return "date", 0
    if validation.startswith(("integer", "number")) and (bounded := _bounded(cells.get("low", ""), cells.get("high", ""))):
        return ("number", bounded) if validation == "integer" else ("text", 0)
    return "text", 0


def _bounded(low: str, high: str) -> int:
    """How many whole numbers lie between two bounds; 0 where one is missing."""
    try:
        return max(0, int(high) - int(low) + 1)
    except ValueError:
        return 0

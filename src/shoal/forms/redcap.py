"""The data dictionary of REDCap: a CSV file with one row per field."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from typing import Any

from shoal.errors import PolicyError
from shoal.forms.form import Form, FormQuestion, number_or_amount, read_condition, without_calculated

_SPELLED = {
    "name": ("variable / field name", "field_name"),
    "form": ("form name", "form_name"),
    "type": ("field type", "field_type"),
    "label": ("field label", "field_label"),
    "choices": ("choices, calculations, or slider labels", "choices or calculations", "select_choices_or_calculations"),
    "validation": ("text validation type or show slider number", "text_validation_type_or_show_slider_number"),
    "low": ("text validation min", "text_validation_min"),
    "high": ("text validation max", "text_validation_max"),
    "identifier": ("identifier?", "identifier"),
    "branching": ("branching logic (show field only if...)", "branching_logic"),
    "annotation": ("field annotation", "field_annotation"),
}
HEADS = {spelling: name for name, spellings in _SPELLED.items() for spelling in spellings}
"""Heads of the file as people download it, and as the interface for programs gives them."""
SILENT = ("calc", "descriptive")


def is_dictionary(head: str) -> bool:
    """Whether the first line of a CSV file is that of a dictionary.

    >>> is_dictionary('"Variable / Field Name","Form Name","Section Header","Field Type"'), is_dictionary("age,sex")
    (True, False)
    """
    heads = {HEADS.get(cell.strip().casefold()) for cell in next(csv.reader([head.lstrip("\ufeff")]), [])}
    return {"name", "type"} <= heads


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
    made_of = {f["name"]: f.get("choices", "") for f in dictionary(text) if f.get("type", "").casefold() == "calc"}
    for cells in dictionary(text):
        cells["branching"] = without_calculated(cells.get("branching", ""), "REDCap", made_of)
        kind = cells.get("type", "").casefold()
        if kind and kind not in SILENT and "@CALC" not in cells.get("annotation", "").upper():
            questions.append(_question(cells, kind))
    return Form(tuple(questions), "REDCap")


def _question(cells: Mapping[str, str], kind: str) -> FormQuestion:
    name, text, validation = cells["name"], cells["label"], cells.get("validation", "").casefold()
    shown = cells.get("branching", "")
    more: dict[str, Any] = {
        "identifier": cells.get("identifier", "").casefold().startswith("y"),
        "conditions": (read_condition(shown, "REDCap"),) if shown else (),
        "recorded": any(tag in cells.get("annotation", "").upper() for tag in ("@NOW", "@TODAY")),
    }
    pairs = [c.partition(",")[::2] for c in cells.get("choices", "").split("|") if c.strip()]
    listed: dict[str, Any] = {"codes": tuple(c.strip() for c, _ in pairs), "labels": tuple(label.strip() for _, label in pairs)}
    if kind in ("radio", "dropdown"):
        return FormQuestion(name, "closed", len(pairs), text=text, **listed, **more)
    if kind == "checkbox":
        alone = "@NONEOFTHEABOVE" in cells.get("annotation", "").upper()
        return FormQuestion(name, "several", len(pairs), text=text, alone=alone, **listed, **more)
    if kind in ("yesno", "truefalse"):
        return FormQuestion(name, "closed", 2, text=text, codes=("1", "0"), **more)
    if kind == "slider":
        return number_or_amount(name, text, (0, 100), **more)
    if kind == "text" and validation.startswith(("integer", "number")):
        bounds = _bounds(cells.get("low", ""), cells.get("high", "")) if validation == "integer" else None
        return number_or_amount(name, text, bounds, **more)
    if kind == "text" and not validation and (plain := number_or_amount(name, text, None, **more)).kind == "number":
        return plain  # an age in a field for any text
    dated = kind == "text" and validation.startswith(("date", "time"))
    named = kind == "text" and validation.startswith(("email", "phone", "mrn", "ssn"))
    return FormQuestion(name, "file" if kind == "file" else "date" if dated else "name" if named else "text", text=text, **more)


def _bounds(low: str, high: str) -> tuple[int, int] | None:
    """Both bounds, where both are whole numbers."""
    try:
        return int(low), int(high)
    except ValueError:
        return None

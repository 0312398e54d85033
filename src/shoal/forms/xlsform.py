"""XLSForm, from ``.xlsx`` and from the older ``.xls``.

Closed are ``select_one``, ``select_multiple``, ``rank``, and numbers with bounds (``integer`` with a constraint, ``range``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from shoal.errors import PolicyError
from shoal.forms.form import Condition, Form, FormQuestion, number_or_amount, read_condition, without_calculated

OPEN = {
    **dict.fromkeys(("deviceid", "phonenumber", "username", "email", "simserial", "subscriberid"), "name"),
    **dict.fromkeys(("geopoint", "geotrace", "geoshape", "start-geopoint"), "place"),
    **dict.fromkeys(("date", "datetime", "time"), "date"),
    **dict.fromkeys(("image", "photo", "audio", "video", "file", "barcode", "background-audio"), "file"),
    "decimal": "amount",
}
"""Types of open answers, and of what a device records, with the kind of question; any other type is text."""
RECORDED = ("start", "end", "today")
"""Types that the tool fills in."""
SILENT = ("note", "calculate", "hidden", "xml-external", "csv-external", "audit")
"""Types without an answer of the person."""
_TYPES = (
    (r"select[_ ](?:one|multiple)[_ ]from[_ ]file\b.*", "file"),
    (r"(?:select[_ ]one|select one from|select1)(?:_external)?\s+(?P<list>\S+)(?P<other>.*)", "closed"),
    (r"(?:select[_ ]multiple|select all that apply from|select all that apply)\s+(?P<list>\S+)(?P<other>.*)", "several"),
    (r"rank\s+(?P<list>\S+)(?P<other>.*)", "ranked"),
    (r"(?:acknowledge|trigger)", "trigger"),
    (r"(?:integer|int)", "integer"),
    (r"range", "range"),
    (r"(?P<edge>begin|end)[_ ](?P<box>group|repeat)", "box"),
)
_EXCLUDES = re.compile(r"not\s*\(\s*selected\(\s*\.\s*,.*count-selected", re.IGNORECASE)
"""A constraint by which one choice excludes the others."""
_FILTER = re.compile(r"\s*(\w+)\s*=\s*\$\{(\w+)\}\s*")

Row = dict[str, Any]


def read(path: Path) -> Form:
    """The form of a workbook."""
    from shoal.engines.files.excel import workbook  # loads Arrow, which predictions do without

    with workbook(Path(path)) as book:
        survey, rows = _sheet(book, "survey"), _sheet(book, "choices", optional=True)
    lists: dict[str, dict[str, Row]] = {}
    for row in rows:
        code = row.get("name") if row.get("name") is not None else row.get("value")
        lists.setdefault(_text(row, "list_name") or _text(row, "list name"), {}).setdefault(str(code), row)
    around = list[tuple[str, str, bool]]()  # name and condition of each group around a row, and whether it is repeated
    questions, repeated, unlisted = list[FormQuestion](), list[str](), list[str]()
    made_of = {_text(row, "name"): _text(row, "calculation") for row in survey if _text(row, "type").lower() == "calculate"}
    taken = set[str]()
    for row in survey:
        kind, name = _text(row, "type"), _text(row, "name")
        what, kind_found = _kind(kind)
        if what == "box" and kind_found is not None:
            opens = [(name, _text(row, "relevant"), kind_found["box"] == "repeat")] if kind_found["edge"] == "begin" else []
            around = around + opens if opens else around[:-1]
            continue
        device = OPEN.get(kind.lower()) == "name"
        if not kind or kind.lower() in SILENT or not (name or device):
            continue
        own = (name or kind) if name not in taken else "/".join([*(part for part, _, _ in around if part), name])
        taken.add(own)
        every, repeats = [*(text for _, text, _ in around), _text(row, "relevant")], any(again for _, _, again in around)
        conditions = [without_calculated(text, "XLSForm", made_of) for text in every if text]
        made = list(_questions(own, what, kind_found, row, lists, tuple(read_condition(text, "XLSForm") for text in conditions)))
        questions += [replace(q, repeated=repeats, recorded=kind.lower() in RECORDED) for q in made]
        if any(q.cells for q in made) and repeats:
            repeated.append(own)
        if what in ("closed", "several", "ranked") and made[0].kind == "amount":
            unlisted.append(own)
    if not survey:
        raise PolicyError("the XLSForm has no questions.", hint="XLSForms have the sheets survey and choices.")
    notes = [f"may be answered several times, counted once: {', '.join(repeated)}"] if repeated else []
    if unlisted:
        notes.append(f"choices that are not in the file, so that how many there are is not known: {', '.join(unlisted)}")
    return Form(tuple(questions), "XLSForm", notes=tuple(notes))


def _questions(
    name: str,
    what: str,
    match: re.Match[str] | None,
    row: Row,
    lists: Mapping[str, Mapping[str, Row]],
    conditions: tuple[Condition | None, ...],
) -> Iterator[FormQuestion]:
    """The question of a row, and the text behind its "other"."""
    more: dict[str, Any] = {"text": _label(row), "conditions": conditions}
    if what in ("integer", "range"):
        bounds, coded = _numbers(what, _text(row, "constraint"), _text(row, "parameters"))
        yield number_or_amount(name, more.pop("text"), bounds, coded=coded, **more)
    elif what == "trigger":
        yield FormQuestion(name, "trigger", 2, **more)
    elif match is None or "list" not in match.groupdict():
        yield FormQuestion(name, "amount" if what == "file" else OPEN.get(_text(row, "type").lower(), "text"), **more)
    else:
        listed = lists.get(match["list"], {})
        other = "other" in (match["other"] or "").lower()
        if not listed and not other:
            earlier = re.match(r"\$\{", match["list"])  # the choices are earlier answers, else they are not in the file
            yield FormQuestion(name, "text" if earlier else "amount", **more)
            return
        codes = (*listed, *(["other"] if other else []))
        labels = tuple(_label(choice) or code for code, choice in listed.items())
        alone = what == "several" and _EXCLUDES.search(_text(row, "constraint")) is not None
        depends = _depends(_text(row, "choice_filter"), listed)
        yield FormQuestion(name, what, len(codes), codes=codes, labels=labels, alone=alone, depends=depends, **more)
        if other:
            yield FormQuestion(f"{name}_other", "text", **more)


def _depends(text: str, listed: Mapping[str, Row]) -> tuple[str, dict[str, tuple[int, ...]]] | None:
    """The question that decides about the choices, by a filter such as ``country=${country}``."""
    if (match := _FILTER.fullmatch(text)) is None:
        return None
    out: dict[str, tuple[int, ...]] = {}
    for i, choice in enumerate(listed.values()):
        key = str(choice.get(match[1].lower()) if choice.get(match[1].lower()) is not None else "")
        out[key] = (*out.get(key, ()), i)
    return match[2], out


def _label(row: Row) -> str:
    label = next((str(v) for k, v in row.items() if k.startswith("label") and v), "")
    return " ".join(re.sub(r"<[^>]*>", " ", label).split())


def _text(row: Row, key: str) -> str:
    return str(row.get(key) if row.get(key) is not None else "").strip()


def _kind(text: str) -> tuple[str, re.Match[str] | None]:
    for pattern, what in _TYPES:
        match = re.fullmatch(pattern, text.strip(), re.IGNORECASE)
        if match:
            return what, match
    return "open", None


def _numbers(what: str, constraint: str, parameters: str) -> tuple[tuple[int, int] | None, bool]:
    """The lowest and the highest number that may be answered, and whether they are the answers and not only number them.

    By "start=0 end=10 step=0.5", or by the widest bounds of a constraint.
    """
    if what == "range":
        given = {k: _fraction(v) for k, v in re.findall(r"(start|end|step)\s*=\s*([-+.\deE]+)", parameters)}
        start, end, step = given.get("start", Fraction(0)), given.get("end", Fraction(10)), given.get("step", Fraction(1))
        if start is None or end is None or not step or end < start:
            return None, False
        plain = step == 1 and start == int(start)
        low = int(start) if plain else 0
        return (low, low + math.floor((end - start) / abs(step))), plain
    lows: list[int] = [int(n) + (s == ">") for s, n in re.findall(r"(?<![\w.])\.\s*(>=?)\s*(-?\d+)(?![\d.])", constraint)]
    lows += [int(n) + (s == "<") for n, s in re.findall(r"(-?\d+)\s*(<=?)\s*\.(?![\w.])", constraint)]
    highs: list[int] = [int(n) - (s == "<") for s, n in re.findall(r"(?<![\w.])\.\s*(<=?)\s*(-?\d+)(?![\d.])", constraint)]
    highs += [int(n) - (s == ">") for n, s in re.findall(r"(-?\d+)\s*(>=?)\s*\.(?![\w.])", constraint)]
    return ((min(lows), max(highs)) if lows and highs and min(lows) <= max(highs) else None), True


def _fraction(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def _sheet(book: Any, name: str, *, optional: bool = False) -> list[dict[str, Any]]:
    title = next((t for t in book.sheet_names if t.strip().lower() == name), None)
    if title is None:
        if optional:
            return []
        raise PolicyError(f"the XLSForm has no sheet '{name}'.", hint="XLSForms have the sheets survey and choices.")
    rows = [[_cell(c) for c in row] for row in book.get_sheet_by_name(title).to_python()]
    heads = [str(h or "").strip().lower() for h in (rows[0] if rows else ())]
    return [dict(zip(heads, row, strict=False)) for row in rows[1:] if any(c is not None for c in row)]


def _cell(value: Any) -> Any:
    """A value with whole numbers whole, and None for an empty cell."""
    return None if value == "" else int(value) if isinstance(value, float) and value.is_integer() else value

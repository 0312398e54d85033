"""LimeSurvey's survey structure (``.lss``): XML with tables of questions, subquestions, answers and attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from xml.etree import ElementTree

from shoal.errors import PolicyError, UnreadableError
from shoal.forms.form import Form, FormQuestion

ONE, MANY, ROWS = "!LO", "MP", {"A": 5, "B": 10, "C": 3, "E": 3}
"""Types of one answer, of several, and of arrays with fixed answers per row."""
FIXED = {"5": 5, "Y": 2, "G": 2}
SILENT = "X*"
Row = Mapping[str, str]


def structure(raw: bytes) -> ElementTree.Element:
    """The tables of a structure; XML with a document type is refused, since it can be made to unfold without end."""
    if b"<!DOCTYPE" in raw or b"<!ENTITY" in raw or b"\x00" in raw[:200]:
        raise UnreadableError("the survey's XML declares types of its own.", hint="Export it again from LimeSurvey as .lss.")
    try:
        root = ElementTree.fromstring(raw)  # noqa: S314  declared types and entities are refused above
    except ElementTree.ParseError:
        raise UnreadableError("this is not readable XML.", hint="Export the survey from LimeSurvey as .lss.") from None
    if root.find("questions") is None:
        raise PolicyError("this XML is not a LimeSurvey survey.", hint="Export its structure: .lss.")
    return root


def read(raw: bytes) -> Form:
    root = structure(raw)
    texts = {(r.get("qid", "")): r.get("question", "") for r in rows(root, "question_l10ns")}
    attributes: dict[str, dict[str, str]] = {}
    for r in rows(root, "question_attributes"):
        attributes.setdefault(r.get("qid", ""), {})[r.get("attribute", "")] = r.get("value", "")
    parts: dict[str, list[Row]] = {}
    for r in rows(root, "subquestions"):
        parts.setdefault(r.get("parent_qid", ""), []).append(r)
    answers: dict[str, set[str]] = {}
    for r in rows(root, "answers"):
        answers.setdefault(r.get("qid", ""), set()).add(f"{r.get('scale_id', '0')}/{r.get('code', '')}")
    languages = len({r.get("surveyls_language") for r in rows(root, "surveys_languagesettings")})
    questions: list[FormQuestion] = []
    seen: set[str] = set()
    for row in rows(root, "questions"):
        key = row.get("qid", "")
        if row.get("parent_qid", "0") not in ("", "0") or key in seen or row.get("type", "") in SILENT:
            continue
        seen.add(key)
        about = _About(row, texts.get(key) or row.get("question", ""), attributes.get(key, {}))
        questions += about.questions(once(parts.get(key, [])), len(answers.get(key, ())), languages)
    title = next((r.get("surveyls_title", "") for r in rows(root, "surveys_languagesettings")), "")
    return Form(tuple(questions), "LimeSurvey", title=plain(title))


class _About:
    """One question with what other tables say of it."""

    def __init__(self, row: Row, text: str, attributes: Row) -> None:
        self._row, self._attributes = row, attributes
        self._text = plain(text)
        relevance = row.get("relevance", "").strip()
        self._some = relevance not in ("", "1")

    def questions(self, parts: list[Row], answers: int, languages: int) -> Iterator[FormQuestion]:
        """The question, or one for each row of an array."""
        kind, other = self._row.get("type", ""), self._row.get("other", "") == "Y"
        if kind in ONE:
            yield self._one("", "closed", answers + other)
        elif kind in MANY:
            yield self._one("", "several", len(parts) + other)
        elif kind == "R":
            yield self._one("", "ranked", answers)
        elif kind == "I":
            yield self._one("", "closed", max(1, languages))
        elif kind in FIXED:
            yield self._one("", "number" if kind == "5" else "closed", FIXED[kind])
        elif kind == "N":
            number = self._number()
            yield self._one("", "number" if number else "text", number)
        elif kind in ROWS or kind in "FH1":
            for part in parts:
                yield self._one(part.get("title", ""), "closed", ROWS.get(kind, answers))
        elif kind in "QK;:":
            for part in parts:
                yield self._one(part.get("title", ""), "text", 0)
        else:
            mapped = self._attributes.get("location_mapservice", "0") not in ("", "0")
            yield self._one("", "place" if mapped else {"D": "date", "|": "file"}.get(kind, "text"), 0)

    def _one(self, part: str, kind: str, answers: int) -> FormQuestion:
        name = self._row.get("title", "") or f"question {self._row.get('qid', '')}"
        return FormQuestion(f"{name} {part}".strip(), kind, answers, text=self._text, some=self._some)

    def _number(self) -> int:
        """How many whole numbers may be answered, where both bounds are given and decimals are not."""
        low, high = self._attributes.get("min_num_value_n", ""), self._attributes.get("max_num_value_n", "")
        whole = self._attributes.get("num_value_int_only", "0") == "1"
        fits = whole and all(re.fullmatch(r"-?\d{1,9}", v) for v in (low, high))
        return max(0, int(high) - int(low) + 1) if fits else 0


def rows(root: ElementTree.Element, table: str) -> Iterator[dict[str, str]]:
    for row in root.iterfind(f"{table}/rows/row"):
        yield {cell.tag: (cell.text or "").strip() for cell in row}


def once(parts: Sequence[Row]) -> list[Row]:
    """Older files list a part once for each language."""
    return list({p.get("qid") or p.get("title", ""): p for p in reversed(parts)}.values())[::-1]


def plain(text: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())

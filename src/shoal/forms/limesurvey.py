"""LimeSurvey's survey structure (``.lss``): XML with tables of questions, subquestions, answers and attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from xml.etree import ElementTree

from shoal.errors import PolicyError, UnreadableError
from shoal.forms.form import Form, FormQuestion, number_or_amount, read_condition

ONE, MANY, ROWS = "!LO", "MP", {"A": 5, "B": 10, "C": 3, "E": 3}
"""Types of one answer, of several, and of arrays with fixed answers per row."""
FIXED = {"Y": 2, "G": 2}
FIXED_CODES = {"Y": ("Y", "N"), "G": ("F", "M")}
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
    answers: dict[str, dict[str, dict[str, str]]] = {}
    labels = {r.get("aid", ""): r.get("answer", "") for r in rows(root, "answer_l10ns")}
    for r in rows(root, "answers"):
        scale = answers.setdefault(r.get("qid", ""), {}).setdefault(r.get("scale_id", "0"), {})
        scale.setdefault(r.get("code", ""), plain(r.get("answer", "") or labels.get(r.get("aid", ""), "")))
    groups = {r.get("gid", ""): r.get("grelevance", "") for r in rows(root, "groups")}
    languages = len({r.get("surveyls_language") for r in rows(root, "surveys_languagesettings")})
    questions: list[FormQuestion] = []
    seen: set[str] = set()
    for row in rows(root, "questions"):
        key = row.get("qid", "")
        if row.get("parent_qid", "0") not in ("", "0") or key in seen or row.get("type", "") in SILENT:
            continue
        seen.add(key)
        own = {**attributes.get(key, {}), "grelevance": groups.get(row.get("gid", ""), "")}
        about = _About(row, texts.get(key) or row.get("question", ""), own, texts)
        questions += about.questions(once(parts.get(key, [])), answers.get(key, {}), languages)
    title = next((r.get("surveyls_title", "") for r in rows(root, "surveys_languagesettings")), "")
    return Form(tuple(questions), "LimeSurvey", title=plain(title))


class _About:
    """One question with what other tables say of it."""

    def __init__(self, row: Row, text: str, attributes: Row, texts: Row) -> None:
        self._row, self._attributes, self._texts = row, attributes, texts
        self._text = plain(text)
        said = [row.get("relevance", "").strip(), attributes.get("grelevance", "").strip()]
        self._conditions = tuple(read_condition(text, "LimeSurvey") for text in said if text not in ("", "1"))

    def questions(self, parts: list[Row], answers: Mapping[str, Mapping[str, str]], languages: int) -> Iterator[FormQuestion]:
        """The question, or one for each row of an array."""
        kind, other = self._row.get("type", ""), self._row.get("other", "") == "Y"
        listed = answers.get("0", {})
        if kind in ONE:
            yield self._one("", "closed", {**listed, **({"-oth-": "other"} if other else {})})
        elif kind in MANY:
            alone = self._attributes.get("exclude_all_others", "") != ""
            chosen = {p.get("title", ""): plain(p.get("question", "")) for p in parts}
            yield self._one("", "several", {**chosen, **({"other": "other"} if other else {})}, alone=alone)
        elif kind == "R":
            yield self._one("", "ranked", listed)
        elif kind == "I":
            yield self._one("", "closed", max(1, languages))
        elif kind in FIXED:
            yield self._one("", "closed", FIXED[kind])
        elif kind in ("N", "5"):
            name, text = self._name(""), self._text
            yield number_or_amount(name, text, (1, 5) if kind == "5" else self._bounds(), conditions=self._conditions)
        elif kind in ROWS or kind in "FH1":
            for part in parts:
                for scale in sorted(answers) if kind == "1" and len(answers) > 1 else ["0"]:
                    title = f"{part.get('title', '')}{f'#{scale}' if kind == '1' else ''}"
                    yield self._one(title, "closed", ROWS.get(kind) or answers.get(scale, {}), part=part)
        elif kind in "QK;:":
            for part in parts:
                yield self._one(part.get("title", ""), "amount" if kind in "K:" else "text", 0, part=part)
        else:
            mapped = self._attributes.get("location_mapservice", "0") not in ("", "0")
            yield self._one("", "place" if mapped else {"D": "date", "|": "file"}.get(kind, "text"), 0)
        if other and kind in (*ONE, *MANY):
            yield self._one("other", "text", 0)

    def _name(self, part: str) -> str:
        title = self._row.get("title", "") or f"question {self._row.get('qid', '')}"
        return f"{title} {part}".strip()

    def _one(
        self, title: str, kind: str, answers: int | Mapping[str, str], *, alone: bool = False, part: Row | None = None
    ) -> FormQuestion:
        asked = "" if part is None else plain(self._texts.get(part.get("qid", ""), "") or part.get("question", ""))
        given = FIXED_CODES.get(self._row.get("type", ""), ()) if isinstance(answers, int) else tuple(answers)
        return FormQuestion(
            self._name(title),
            kind,
            answers if isinstance(answers, int) else len(answers),
            text=" ".join(filter(None, (self._text, asked))),
            codes=given,
            labels=() if isinstance(answers, int) else tuple(answers.values()),
            conditions=self._conditions,
            alone=alone,
        )

    def _bounds(self) -> tuple[int, int] | None:
        """The whole numbers that may be answered, where both bounds are given and decimals are not."""
        low, high = self._attributes.get("min_num_value_n", ""), self._attributes.get("max_num_value_n", "")
        whole = self._attributes.get("num_value_int_only", "0") == "1"
        fits = whole and all(re.fullmatch(r"-?\d{1,9}", v) for v in (low, high))
        return (int(low), int(high)) if fits else None


def rows(root: ElementTree.Element, table: str) -> Iterator[dict[str, str]]:
    for row in root.iterfind(f"{table}/rows/row"):
        yield {cell.tag: (cell.text or "").strip() for cell in row}


def once(parts: Sequence[Row]) -> list[Row]:
    """Older files list a part once for each language."""
    return list({p.get("qid") or p.get("title", ""): p for p in reversed(parts)}.values())[::-1]


def plain(text: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())

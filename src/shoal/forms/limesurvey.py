"""LimeSurvey's survey structure (``.lss``): XML with tables of questions, subquestions, answers and attributes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from shoal.errors import PolicyError
from shoal.forms.form import Form, FormQuestion, number_or_amount, read_condition
from shoal.kernels.text import xml_tree

ONE, MANY, ROWS = "!LO", "MP", {"A": 5, "B": 10, "C": 3, "E": 3}
"""Types of one answer, of several, and of arrays with fixed answers per row."""
FIXED = {"Y": 2, "G": 2}
FIXED_CODES = {"Y": ("Y", "N"), "G": ("F", "M")}
SILENT = "X*"
Row = Mapping[str, str]


@dataclass(frozen=True)
class Survey:
    """The tables of a structure: texts by question, parts and answers (by scale and code) by question, and the questions."""

    root: ElementTree.Element
    texts: Mapping[str, str]
    parts: Mapping[str, list[Row]]
    answers: Mapping[str, dict[str, dict[str, str]]]
    questions: list[Row]

    @classmethod
    def read(cls, raw: bytes) -> Survey:
        """From a file of LimeSurvey; questions and parts once, though older files list them for every language."""
        root = xml_tree(raw, "the survey", "Export it again from LimeSurvey as .lss.")
        if root.find("questions") is None:
            raise PolicyError("this XML is not a LimeSurvey survey.", hint="Export its structure: .lss.")
        parts: dict[str, list[Row]] = defaultdict(list)
        for r in rows(root, "subquestions"):
            parts[r.get("parent_qid", "")].append(r)
        labels = {r.get("aid", ""): r.get("answer", "") for r in rows(root, "answer_l10ns")}
        answers: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
        for r in rows(root, "answers"):
            scale = answers[r.get("qid", "")].setdefault(r.get("scale_id", "0"), {})
            scale.setdefault(r.get("code", ""), plain(r.get("answer", "") or labels.get(r.get("aid", ""), "")))
        questions: dict[str, Row] = {}
        for r in rows(root, "questions"):
            if r.get("parent_qid", "0") in ("", "0"):
                questions.setdefault(r.get("qid", ""), r)
        texts = {r.get("qid", ""): plain(r.get("question", "")) for r in rows(root, "question_l10ns")}
        return cls(root, texts, {key: _once(listed) for key, listed in parts.items()}, answers, list(questions.values()))

    def text_of(self, row: Row) -> str:
        """The text of a question or of a part of one."""
        return self.texts.get(row.get("qid", "")) or plain(row.get("question", ""))


def read(raw: bytes) -> Form:
    survey = Survey.read(raw)
    attributes: dict[str, dict[str, str]] = defaultdict(dict)
    for r in rows(survey.root, "question_attributes"):
        attributes[r.get("qid", "")][r.get("attribute", "")] = r.get("value", "")
    groups = {r.get("gid", ""): r.get("grelevance", "") for r in rows(survey.root, "groups")}
    settings = list(rows(survey.root, "surveys_languagesettings"))
    languages = len({r.get("surveyls_language") for r in settings})
    questions: list[FormQuestion] = []
    for row in survey.questions:
        if row.get("type", "") not in SILENT:
            key = row.get("qid", "")
            own = {**attributes[key], "grelevance": groups.get(row.get("gid", ""), "")}
            about = _About(row, own, survey)
            questions += about.questions(survey.parts.get(key, []), survey.answers.get(key, {}), languages)
    title = next((r.get("surveyls_title", "") for r in settings), "")
    return Form(tuple(questions), "LimeSurvey", title=plain(title))


class _About:
    """One question with what other tables say of it."""

    def __init__(self, row: Row, attributes: Row, survey: Survey) -> None:
        self._row, self._attributes, self._survey = row, attributes, survey
        self._text = survey.text_of(row)
        conditions = [row.get("relevance", "").strip(), attributes.get("grelevance", "").strip()]
        self._conditions = tuple(read_condition(text, "LimeSurvey") for text in conditions if text not in ("", "1"))

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
        asked = "" if part is None else self._survey.text_of(part)
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


def _once(parts: Sequence[Row]) -> list[Row]:
    """Each part once: older files list it for each language."""
    return list({p.get("qid") or p.get("title", ""): p for p in reversed(parts)}.values())[::-1]


def plain(text: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())

"""Changes of a questionnaire as a person makes them: each takes the text of a ``questions.yml`` and gives the new text."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import numpy as np
from ruamel.yaml.comments import CommentedMap

from shoal.errors import PolicyError, UsageError
from shoal.forms.files import from_mapping, read_yaml_text
from shoal.prediction.questionnaire.questionnaire import Questionnaire
from shoal.prediction.questionnaire.questions import Question
from shoal.prediction.questionnaire.suggest import Change
from shoal.prediction.summaries.published import Resolver
from shoal.release.policy import file as policy_file

Document = dict[str, Any]
P = ParamSpec("P")
NOWHERE = Path("/nonexistent/shoal")
"""The folder of a questionnaire that has no file: nothing is read beside it."""
MOST_QUESTIONS = 200
PILOT = "pilot"
"""Where the id of the pilot's table stands in the text; the studio's own, not part of a ``questions.yml``."""
KEPT_OPTIONS = ("ordered", "unit", "weight", "keep", "text", "role", "when")


def document_of(text: str) -> Document:
    """The content, as plain values with names that are text."""
    document = json.loads(json.dumps(read_yaml_text(text, "the questionnaire"), default=str))
    if not isinstance(document, dict) or not isinstance(document.get("questions"), dict):
        raise PolicyError("a questionnaire is a mapping with 'population' and 'questions'.")
    return document


def questionnaire_of(text: str, resolve: Resolver | None = None) -> Questionnaire:
    """The library's questionnaire of a text; what a registry must answer comes from ``resolve``. The pilot is the caller's."""
    document = document_of(text)
    document.pop(PILOT, None)
    return from_mapping(document, folder=NOWHERE, resolve=resolve)


def pilot_of(text: str) -> str:
    """The id of the table whose answers are the pilot; empty where there is none."""
    return str(document_of(text).get(PILOT, ""))


def _edit(change: Callable[Concatenate[Document, P], None]) -> Callable[Concatenate[str, P], str]:
    """A change of the content of a questionnaire, as a function from text to text; what is then not one is refused."""

    @functools.wraps(change)
    def edited(text: str, /, *given: P.args, **named: P.kwargs) -> str:
        document = document_of(text)
        change(document, *given, **named)
        return _check(document)

    return edited


@_edit
def with_pilot(document: Document, table_id: str) -> None:
    """Shares and dependence from a table of the workspace; an empty id takes it away."""
    document.pop(PILOT, None)
    if table_id:
        document[PILOT] = table_id


def exported(text: str) -> str:
    """The text for another place: without the id of a pilot, which means nothing there."""
    return with_pilot(text, "")


def new(title: str, population: int, respondents: int) -> str:
    return _text({"title": title, "population": population, "respondents": respondents, "target": 0.05, "questions": {}})


def brought(document: Document) -> str:
    """A questionnaire from somebody's file, if it can be read alone."""
    asked = document.get("questions")
    named = [spec for spec in asked.values() if isinstance(spec, Mapping)] if isinstance(asked, Mapping) else []
    links = document.get("linked") or []
    beside = any("table" in s or isinstance(s.get("counts"), str) for s in named) or "registry" in document
    if beside or any(isinstance(link, Mapping) and isinstance(link.get("joint"), str) for link in links):
        hint = "Run it on the command line: shoal design FILE"
        raise PolicyError("the questionnaire names files beside it; the studio reads none.", hint=hint)
    return _check(document)


@_edit
def with_question(document: Document, name: str, spec: Mapping[str, Any], *, new: bool) -> None:
    """A question added at the end, or described again in its place."""
    asked = document["questions"]
    if new and name in asked:
        raise UsageError("there is a question of this name already.", hint="Take another name.")
    if not new and name not in asked:
        raise _unknown()
    if len(asked) >= MOST_QUESTIONS:
        raise UsageError(f"a questionnaire here has at most {MOST_QUESTIONS} questions.", hint="Leave some out.")
    asked[name] = dict(spec)


@_edit
def without_question(document: Document, name: str) -> None:
    if name not in document["questions"]:
        raise _unknown()
    _forget(document, name)


@_edit
def moved(document: Document, name: str, to: int) -> None:
    """A question asked earlier or later; the first is 0."""
    names = list(document["questions"])
    if name not in names:
        raise _unknown()
    names.remove(name)
    names.insert(max(0, min(to, len(names))), name)
    document["questions"] = {n: document["questions"][n] for n in names}


@_edit
def with_about(document: Document, /, **about: Any) -> None:
    """Who could be asked, who answers, what is aimed for."""
    document.update(about)


@_edit
def without_open(document: Document, name: str) -> None:
    """An open question that is asked no more."""
    left = {n: kind for n, kind in (document.get("open") or {}).items() if n != name}
    document.pop("open", None)
    if left:
        document["open"] = left


@_edit
def with_changes(document: Document, asked: Questionnaire, changes: tuple[Change, ...]) -> None:
    """What a suggestion says, done: bands joined, rare answers joined, questions left out."""
    for one in changes:
        if one.question not in document["questions"]:
            if one.groups is None and one.question in asked.questions:  # it went with the question that led to it
                continue
            raise _unknown()
        if one.groups is None:
            _forget(document, one.question)
            continue
        if any("joint" in link and one.question in link["questions"] for link in document.get("linked") or []):
            raise UsageError("this question is tied to others by a table.", hint="Change it in the file, and bring it again.")
        spec = document["questions"][one.question]
        document["questions"][one.question] = _coarser(spec, asked.questions[one.question], np.asarray(one.groups))


def _coarser(spec: Mapping[str, Any], question: Question, groups: Any) -> Document:
    """The description of a question whose answers were joined."""
    joined = int(np.count_nonzero(groups == groups[0]))
    kept = {key: spec[key] for key in KEPT_OPTIONS if key in spec}
    if question.band is not None and question.ordered:
        kept["band"] = _short(question.band * joined)
    if "range" in spec:
        return {"range": spec["range"], **kept}
    shares = np.bincount(groups, weights=question.p)
    if "values" in spec and np.allclose(shares, shares[0]):
        return {"values": int(shares.size), **kept}
    source = {"given": {}, "table": {"source": "table"}}.get(question.source, {"source": "guess"})
    if question.labels:
        labels = [[label for label, g in zip(question.labels, groups, strict=True) if g == i] for i in range(shares.size)]
        names = [one[0] if len(one) == 1 else f"{one[0]} – {one[-1]}" if question.ordered else "other" for one in labels]
        return {"answers": dict(zip(names, (_short(s) for s in shares), strict=True)), **kept, **source}
    return {"shares": [_short(s) for s in shares], **kept, **source}


def _short(number: float) -> float | int:
    short = float(f"{number:.12g}")
    return int(short) if short.is_integer() else short


def _forget(document: Document, name: str) -> None:
    """A question with what it leads to, and the links and subgroups that speak of it."""
    for follows in [n for n, spec in document["questions"].items() if name in (spec.get("when") or {})]:
        _forget(document, follows)
    del document["questions"][name]
    links = [{**x, "questions": [n for n in x["questions"] if n != name]} for x in document.get("linked") or []]
    left = [x for x in links if len(x["questions"]) > 1 and ("joint" not in x or x in (document.get("linked") or []))]
    groups = [n for n in document.get("subgroups") or [] if n != name]
    for key, value in (("linked", left), ("subgroups", groups)):
        document.pop(key, None)
        if value:
            document[key] = value


def _check(document: Document) -> str:
    """The text, if the library understands it; answers that a registry must say are looked up when they are needed."""
    plain = {n: s for n, s in document["questions"].items() if "registry" not in s} if document.get("questions") else {}
    named = isinstance(document.get("population"), str)
    content = {key: value for key, value in document.items() if key != PILOT}
    tied = {key: value for key, value in content.items() if key not in ("linked", "subgroups")}
    whole = content if len(plain) == len(document.get("questions") or {}) else tied
    from_mapping({**whole, "questions": plain, **({"population": 1_000_000_000} if named else {})}, folder=NOWHERE)
    return _text(document)


def _text(document: Document) -> str:
    """A page of YAML: a line for each question."""

    def line(spec: Any) -> Any:
        flat = CommentedMap(spec)
        flat.fa.set_flow_style()
        return flat

    asked = {name: line(spec) for name, spec in document["questions"].items()}
    return policy_file.write_yaml({**document, "questions": asked})


def _unknown() -> UsageError:
    return UsageError("this question does not exist.", hint="Choose one of those shown.")

"""Questionnaires as files: ``questions.yml`` (our own, documented in docs/questionnaire.md) and XLSForm.

Distributions beside the file are read from CSV: counts per answer, or a column of a table to be counted. Labels of answers are
part of the questionnaire; values of a counted table never leave it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import PolicyError, ShoalError, UnreadableError, UsageError
from shoal.forms import limesurvey, redcap, xlsform
from shoal.forms.counts import opened
from shoal.forms.form import Form, FormQuestion, add_listed
from shoal.forms.questions import ANYWHERE, Asked, add_joint_records, add_question, check_known
from shoal.prediction.questionnaire.questionnaire import Questionnaire
from shoal.prediction.questionnaire.questions import Flag
from shoal.prediction.summaries.published import Resolver

_TOP = tuple("population respondents target small_group independence questions linked subgroups title registry open".split())
_ANSWERS = "answers shares counts values range kappa table normal zipf"
_QUESTION = tuple(f"{_ANSWERS} ordered band unit weight keep source registry text role when".split())
_LINK = ("questions", "correlation", "information", "joint")


def read_questionnaire(path: str | Path, *, resolve: Resolver | None = None, **overrides: Any) -> Questionnaire:
    """A questionnaire from ``.yml``/``.yaml``, or a form (:func:`shoal.forms.read_form`); overrides replace what it says.

    ``resolve`` answers questions that are left to a registry; :func:`shoal.api.design.questionnaire` makes it.
    """
    file = Path(path)
    if not file.is_file():
        raise UnreadableError(f"file '{file.name}' does not exist.", hint="Check the path of the questionnaire.")
    if file.suffix.lower() in ENDINGS:
        return _of_form(file, resolve, **overrides)
    return from_mapping(read_yaml(file), folder=file.parent, resolve=resolve, **overrides)


def read_yaml(file: Path) -> Any:
    """The content of a ``questions.yml``."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PolicyError(f"'{file.name}' is not valid YAML.", hint="Mind indentation and quotes.") from error
    return read_yaml_text(text, f"'{file.name}'")


def read_yaml_text(text: str, name: str) -> Any:
    """The content of a text; ``name`` is what messages call it."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        named = any(getattr(event, "anchor", None) for event in YAML(typ="safe", pure=True).parse(text))  # an alias has one too
        data = None if named else YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        where = getattr(getattr(error, "problem_mark", None), "line", None)
        at = f" at line {where + 1}" if where is not None else ""
        raise PolicyError(f"{name} is not valid YAML{at}.", hint="Mind indentation and quotes.") from error
    if named:
        raise PolicyError(f"{name} uses an anchor or alias.", hint="Write the value out.")
    return data


def from_mapping(data: Any, *, folder: Path = Path(), resolve: Resolver | None = None, **overrides: Any) -> Questionnaire:
    """A questionnaire from the content of a ``questions.yml``.

    >>> asked = {"sex": {"shares": [0.5, 0.5]}, "age": {"range": [18, 97], "band": 5}}
    >>> q = from_mapping({"population": 1000, "questions": asked})
    >>> q.questions["age"].answers, q.questions["age"].ordered
    (16, True)
    """
    if not isinstance(data, Mapping):
        raise PolicyError("a questionnaire is a mapping with 'population' and 'questions'.")
    check_known(data, _TOP, "the questionnaire")
    merged = {**data, **{k: v for k, v in overrides.items() if v is not None}}
    if merged.get("population") is None:
        raise PolicyError("the questionnaire has no population.", hint="population: how many people could be asked.")
    names = [name for name in (merged["population"], data.get("population")) if isinstance(name, str)]
    asked = Asked(folder, resolve, names[0] if names else "")
    independence = str(merged.get("independence", "assumed"))
    if independence not in ("assumed", "known"):
        raise PolicyError(f"independence is 'assumed' or 'known'; found '{independence}'.")
    q = Questionnaire(
        population=_people(merged["population"], data, asked),
        respondents=merged.get("respondents"),
        target=parse_target(merged.get("target", 0.05)),
        small_group=merged.get("small_group", 5),
        independence_known=independence == "known",
    )
    for name, spec in _questions(data.get("questions")):
        (add_listed if isinstance(spec.get("answers"), list) else add_question)(q, name, spec, asked)
    for link in _list_of(data, "linked"):
        _link(q, link, folder)
    add_joint_records(q, asked)
    subgroups = _list_of(data, "subgroups")
    for s in subgroups:
        q._require(str(s))
    q.subgroups = tuple(str(s) for s in subgroups)
    beside = [FormQuestion(str(name), str(kind)) for name, kind in dict(data.get("open") or {}).items()]
    q.flags = tuple(x.flag or Flag(x.name, x.kind, "its answers are open.", "Offer answers to choose from.") for x in beside)
    return q


def parse_target(value: Any) -> float:
    """A target share from 0.05, "5%", "unique<=5%" or {unique: 0.05}.

    >>> parse_target("unique<=5%"), parse_target({"unique": 0.1}), parse_target("0.02")
    (0.05, 0.1, 0.02)
    """
    if isinstance(value, Mapping):
        check_known(value, ("unique",), "the target")
        return parse_target(value.get("unique"))
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(?:unique\s*<=?\s*)?([0-9.]+)\s*(%?)\s*", value)
        if not match or match[1].count(".") > 1 or match[1] == ".":
            raise PolicyError(f"the target {value!r} is not understood.", hint="Write 0.05, 5%, or unique<=5%.")
        return parse_target(float(match[1]) / (100 if match[2] else 1))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value > 1:
            raise PolicyError(f"a target of {value:g} is more than everybody.", hint="Write 0.05 or 5% for one in twenty.")
        return float(value)
    raise PolicyError("the target is a share of unique respondents.", hint="Write 0.05, 5%, or unique<=5%.")


def _of_form(file: Path, resolve: Resolver | None, *, population: Any = None, target: Any = None, **about: Any) -> Questionnaire:
    """A questionnaire from a form of another tool; the caller says how many could be asked, or where, and how many answer."""
    people = ANYWHERE if population is None else population
    settings = {key: value for key, value in about.items() if value is not None} | {"target": parse_target(target or 0.05)}
    if people == ANYWHERE and "respondents" not in settings:
        raise UsageError("a form does not say how many people answer.", hint="Pass --respondents N, and --population if known.")
    place = Asked(file.parent, resolve, people if isinstance(people, str) else ANYWHERE)
    return read_form(file).questionnaire(
        None if resolve is None and people != place.population else place, population=people, **settings
    )


def _questions(data: Any) -> list[tuple[str, Mapping[str, Any]]]:
    if isinstance(data, Mapping):
        items = list(data.items())
    elif isinstance(data, list) and all(isinstance(x, Mapping) and "name" in x for x in data):
        items = [(x["name"], {k: v for k, v in x.items() if k != "name"}) for x in data]
    else:
        raise PolicyError("'questions' is a mapping from name to description.", hint="questions: {sex: {values: 2}}")
    out = []
    for name, spec in items:
        if not isinstance(spec, Mapping):
            raise PolicyError(f"question '{name}' has no description.", hint="For example: {values: 5}.")
        check_known(spec, _QUESTION, f"question '{name}'")
        out.append((str(name), spec))
    return out


def _people(population: Any, data: Mapping[str, Any], asked: Asked) -> Any:
    """The number of people; of a named population the one that the registry publishes."""
    if not isinstance(population, str):
        return population
    for name, spec in _questions(data.get("questions")):
        value = spec.get("registry")
        if isinstance(value, str) or (isinstance(value, Mapping) and "code" in value and "population" not in value):
            published = asked.published(name, value)
            if published.exact:
                return published.people
    raise PolicyError(
        "how many people the population has is not known: no question has a record of exactly this population.",
        hint="Give the number with --population; the name in the file still says whom the registry is asked about.",
    )


def _link(q: Questionnaire, link: Any, folder: Path) -> None:
    if not isinstance(link, Mapping) or not isinstance(link.get("questions"), list):
        raise PolicyError("a link names its questions.", hint="linked: [{questions: [a, b], correlation: 0.5}]")
    check_known(link, _LINK, "a link")
    joint = link.get("joint")
    if isinstance(joint, str):
        with opened(folder, joint) as source:
            try:
                joint = [[float(x) for x in row] for row in csv.reader(source) if row]
            except ValueError as error:
                raise PolicyError("a joint table holds numbers only, one row per answer of the first question.") from error
    names = [str(n) for n in link["questions"]]
    try:
        q.link(*names, correlation=link.get("correlation"), joint=joint, information=link.get("information"))
    except ShoalError:
        raise
    except (TypeError, ValueError):
        hint = "A correlation is a number; a joint table holds numbers only."
        raise PolicyError(f"the link of {', '.join(names)} is not understood.", hint=hint) from None


def _list_of(data: Mapping[str, Any], key: str) -> list[Any]:
    value = data.get(key) or []
    if not isinstance(value, list):
        raise PolicyError(f"'{key}' is a list.", hint="linked: [{questions: [a, b], correlation: 0.5}]; subgroups: [a]")
    return value


ENDINGS = (".xlsx", ".xlsm", ".xls", ".csv", ".lss")
MOST_BYTES = 50_000_000


def read_form(path: str | Path) -> Form:
    """The form in a file: XLSForm (``.xlsx``, ``.xls``), dictionary of REDCap (``.csv``), survey of LimeSurvey (``.lss``)."""
    file = Path(path)
    ending = file.suffix.lower()
    if not file.is_file():
        raise UnreadableError(f"file '{file.name}' does not exist.", hint="Check the path of the form.")
    if file.stat().st_size > MOST_BYTES:
        raise UnreadableError("the file is too large for a form.", hint=f"Forms have at most {MOST_BYTES // 10**6} MB.")
    if ending in (".xlsx", ".xlsm", ".xls"):
        return xlsform.read(file)
    if ending == ".lss":
        return limesurvey.read(file.read_bytes())
    if ending == ".csv":
        try:
            return redcap.read(file.read_text(encoding="utf-8-sig"))
        except UnicodeDecodeError:
            return redcap.read(file.read_text(encoding="latin-1"))
    raise UnreadableError("this is not a known form.", hint=f"Forms end in {', '.join(ENDINGS)}.")

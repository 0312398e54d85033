"""Questionnaires as files: ``questions.yml`` (our own, documented in docs/questionnaire.md) and XLSForm.

Distributions beside the file are read from CSV: counts per answer, or a column of a table to be counted. Labels of answers are
part of the questionnaire; values of a counted table never leave it.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import PolicyError, UnreadableError, UsageError, missing_column, nearest, need
from shoal.predict.questionnaire import Questionnaire

_TOP = ("population", "respondents", "target", "small_group", "independence", "questions", "linked", "subgroups", "title")
_QUESTION = ("answers", "shares", "counts", "values", "range", "kappa", "table", "normal", "zipf") + (
    "ordered",
    "band",
    "unit",
    "weight",
    "keep",
    "source",
    "registry",
)
_LINK = ("questions", "correlation", "information", "joint")


def read_questionnaire(path: str | Path, **overrides: Any) -> Questionnaire:
    """A questionnaire from ``.yml``/``.yaml`` or an XLSForm ``.xlsx``; overrides replace what the file says."""
    file = Path(path)
    if not file.is_file():
        raise UnreadableError(f"there is no file '{file.name}'.", hint="Check the path of the questionnaire.")
    if file.suffix.lower() in (".xlsx", ".xlsm"):
        return read_xlsform(file, **overrides)
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        data = YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))
    except (YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        where = getattr(getattr(error, "problem_mark", None), "line", None)
        at = f" at line {where + 1}" if where is not None else ""
        raise PolicyError(f"'{file.name}' is not valid YAML{at}.", hint="Mind indentation and quotes.") from error
    return from_mapping(data, folder=file.parent, **overrides)


def from_mapping(data: Any, *, folder: Path = Path(), **overrides: Any) -> Questionnaire:
    """A questionnaire from the content of a ``questions.yml``.

    >>> asked = {"sex": {"shares": [0.5, 0.5]}, "age": {"range": [18, 97], "band": 5}}
    >>> q = from_mapping({"population": 1000, "questions": asked})
    >>> q.questions["age"].answers, q.questions["age"].ordered
    (16, True)
    """
    if not isinstance(data, Mapping):
        raise PolicyError("a questionnaire is a mapping with 'population' and 'questions'.")
    _known(data, _TOP, "the questionnaire")
    merged = {**data, **{k: v for k, v in overrides.items() if v is not None}}
    if merged.get("population") is None:
        raise PolicyError("the questionnaire has no population.", hint="population: how many people could be asked.")
    independence = str(merged.get("independence", "assumed"))
    if independence not in ("assumed", "known"):
        raise PolicyError(f"independence is 'assumed' or 'known'; found '{independence}'.")
    q = Questionnaire(
        population=merged["population"],
        respondents=merged.get("respondents"),
        target=parse_target(merged.get("target", 0.05)),
        small_group=merged.get("small_group", 5),
        independence_known=independence == "known",
    )
    for name, spec in _questions(data.get("questions")):
        _add(q, name, spec, folder)
    for link in data.get("linked") or []:
        _link(q, link, folder)
    subgroups = data.get("subgroups") or []
    for s in subgroups:
        q._require(str(s))
    q.subgroups = tuple(str(s) for s in subgroups)
    return q


def parse_target(value: Any) -> float:
    """A target share from 0.05, "5%", "unique<=5%" or {unique: 0.05}.

    >>> parse_target("unique<=5%"), parse_target({"unique": 0.1}), parse_target("0.02")
    (0.05, 0.1, 0.02)
    """
    if isinstance(value, Mapping):
        _known(value, ("unique",), "the target")
        return parse_target(value.get("unique"))
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(?:unique\s*<=?\s*)?([0-9.]+)\s*(%?)\s*", value)
        if not found or found[1].count(".") > 1 or found[1] == ".":
            raise PolicyError(f"the target {value!r} is not understood.", hint="Write 0.05, 5%, or unique<=5%.")
        return float(found[1]) / (100 if found[2] else 1)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise PolicyError("the target is a share of unique respondents.", hint="Write 0.05, 5%, or unique<=5%.")


def read_xlsform(path: str | Path, **overrides: Any) -> Questionnaire:
    """A questionnaire from an XLSForm: closed questions and bounded numbers, each answer equally likely (grade C).

    Free text, dates, notes, calculations and the like are left out; ``skipped`` of the result lists them.
    """
    try:
        import openpyxl
    except ImportError as error:
        raise need("excel", "openpyxl") from error
    from zipfile import BadZipFile

    try:
        book = openpyxl.load_workbook(Path(path), read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError, OSError) as error:
        raise UnreadableError(f"'{Path(path).name}' is not a readable Excel file.") from error
    try:
        survey, choices = _sheet(book, "survey"), _sheet(book, "choices", optional=True)
    finally:
        book.close()
    population = overrides.pop("population", None)
    if population is None:
        raise UsageError("an XLSForm does not say how many people could be asked.", hint="Pass --population N.")
    target = parse_target(overrides.pop("target", None) or 0.05)
    q = Questionnaire(population=population, target=target, **{k: v for k, v in overrides.items() if v is not None})
    sizes = Counter(str(row.get("list_name") or row.get("list name") or "") for row in choices)
    skipped: list[str] = []
    for row in survey:
        _add_xls(q, row, sizes, skipped)
    if not q.questions:
        raise PolicyError("the XLSForm has no closed question.", hint="Only select and bounded number questions count.")
    q.skipped = tuple(skipped)
    return q


def _add_xls(q: Questionnaire, row: Mapping[str, Any], sizes: Counter[str], skipped: list[str]) -> None:
    kind, name = str(row.get("type") or "").strip(), str(row.get("name") or "").strip()
    if not name or not kind:
        return
    words = kind.split()
    if words[0] in ("select_one", "select_multiple") and len(words) > 1:
        n = sizes.get(words[1], 0) + ("or_other" in words)
        if n == 0:
            raise PolicyError(f"question '{name}' uses the list '{words[1]}', which has no choices.")
        if words[0] == "select_multiple":
            if n > 20:
                skipped.append(name)
                return
            n = 2**n
        q.add(name, values=n, ordered=False)
    elif words[0] in ("integer", "range"):
        bounds = _bounds(str(row.get("constraint") or ""), str(row.get("parameters") or ""))
        if bounds is None:
            skipped.append(name)
            return
        q.add(name, values=bounds[1] - bounds[0] + 1, ordered=True, band=1)
    elif words[0] not in ("note", "begin_group", "end_group", "begin", "end", "start", "today", "calculate", "deviceid"):
        skipped.append(name)


def _bounds(constraint: str, parameters: str) -> tuple[int, int] | None:
    """Whole-number bounds from ". >= 18 and . <= 99" or "start=0 end=10 step=1"."""
    low = re.search(r"\.\s*(>=?)\s*(-?\d+)", constraint)
    high = re.search(r"\.\s*(<=?)\s*(-?\d+)", constraint)
    if low and high:
        a = int(low[2]) + (low[1] == ">")
        b = int(high[2]) - (high[1] == "<")
        return (a, b) if a <= b else None
    start, end = re.search(r"start=(-?\d+)", parameters), re.search(r"end=(-?\d+)", parameters)
    return (int(start[1]), int(end[1])) if start and end and int(start[1]) <= int(end[1]) else None


def _sheet(book: Any, name: str, *, optional: bool = False) -> list[dict[str, Any]]:
    title = next((t for t in book.sheetnames if t.strip().lower() == name), None)
    if title is None:
        if optional:
            return []
        raise PolicyError(f"the XLSForm has no sheet '{name}'.", hint="XLSForms have the sheets survey and choices.")
    rows = book[title].iter_rows(values_only=True)
    heads = [str(h or "").strip().lower() for h in next(rows, ())]
    return [dict(zip(heads, row, strict=False)) for row in rows if any(c is not None for c in row)]


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
        _known(spec, _QUESTION, f"question '{name}'")
        out.append((str(name), spec))
    return out


def _add(q: Questionnaire, name: str, spec: Mapping[str, Any], folder: Path) -> None:
    options = {k: spec[k] for k in ("ordered", "band", "unit", "weight", "keep", "source") if k in spec}
    given = [
        k for k in ("answers", "shares", "counts", "values", "range", "kappa", "table", "normal", "zipf", "registry") if k in spec
    ]
    if len(given) != 1:
        raise PolicyError(
            f"question '{name}' needs exactly one description of its answers; found {len(given)}.",
            hint="One of: values, range, shares, answers, counts, table, kappa, registry, normal, zipf.",
        )
    kind, value = given[0], spec[given[0]]
    try:
        _ADD[kind](q, name, value, options, folder)
    except (TypeError, KeyError, IndexError) as error:
        raise PolicyError(f"'{kind}' of question '{name}' is not understood.", hint="See docs/questionnaire.md.") from error


def _add_answers(q: Questionnaire, name: str, value: Any, options: dict[str, Any], folder: Path) -> None:
    if not isinstance(value, Mapping):
        raise TypeError
    q.add(name, shares=list(value.values()), labels=tuple(str(k) for k in value), **options)


def _add_range(q: Questionnaire, name: str, value: Any, options: dict[str, Any], folder: Path) -> None:
    low, high = int(value[0]), int(value[1])
    band = float(options.get("band", 1))
    if high < low or not band > 0:
        raise PolicyError(f"the range of question '{name}' is empty.", hint="range: [18, 99], band: 1")
    options |= {"band": band, "ordered": options.get("ordered", True)}
    q.add(name, values=math.ceil((high - low + 1) / band), **options)


def _add_counts(q: Questionnaire, name: str, value: Any, options: dict[str, Any], folder: Path) -> None:
    counts = read_counts(folder, value) if isinstance(value, str) else value
    q.add(name, counts=counts, **{"source": "table", **options})


def _add_table(q: Questionnaire, name: str, value: Any, options: dict[str, Any], folder: Path) -> None:
    counts = count_column(folder, str(value), in_order=bool(options.get("ordered", False)))
    q.add(name, counts=counts, **{"source": "table", **options})


def _add_normal(q: Questionnaire, name: str, value: Any, options: dict[str, Any], folder: Path) -> None:
    from scipy import stats

    from shoal.predict.intervals import rounded

    width = float(value.get("width", 1))
    d = rounded(stats.norm(float(value.get("mean", 0)), float(value["sd"])), width)
    q.add(name, shares=d.expanded(), **{"ordered": True, "band": width, **options})


def _add_zipf(q: Questionnaire, name: str, value: Any, options: dict[str, Any], folder: Path) -> None:
    from shoal.predict.distribution import Distribution

    q.add(name, shares=Distribution.zipf(int(value["places"]), float(value["exponent"])).p, **options)


def _add_kappa(q: Questionnaire, name: str, value: Any, options: dict[str, Any], folder: Path) -> None:
    q.add(name, kappa=(float(value["kappa"]), int(value["cells"])), **options)


_ADD: dict[str, Any] = {
    "answers": _add_answers,
    "shares": lambda q, n, v, o, f: q.add(n, shares=[float(x) for x in v], **o),
    "counts": _add_counts,
    "values": lambda q, n, v, o, f: q.add(n, values=v, **o),
    "range": _add_range,
    "kappa": _add_kappa,
    "registry": _add_kappa,
    "table": _add_table,
    "normal": _add_normal,
    "zipf": _add_zipf,
}


def _link(q: Questionnaire, link: Any, folder: Path) -> None:
    if not isinstance(link, Mapping) or not isinstance(link.get("questions"), list):
        raise PolicyError("a link names its questions.", hint="linked: [{questions: [a, b], correlation: 0.5}]")
    _known(link, _LINK, "a link")
    joint = link.get("joint")
    if isinstance(joint, str):
        with _open(folder, joint) as source:
            try:
                joint = [[float(x) for x in row] for row in csv.reader(source) if row]
            except ValueError as error:
                raise PolicyError("a joint table holds numbers only, one row per answer of the first question.") from error
    q.link(
        *(str(n) for n in link["questions"]),
        correlation=link.get("correlation"),
        joint=joint,
        information=link.get("information"),
    )


def read_counts(folder: Path, reference: str) -> list[float]:
    """Counts from ``file.csv:column`` (header row), or ``file.csv`` when it has one column or a column 'count'."""
    name, column = _split(folder, reference)
    with _open(folder, name) as source:
        rows = list(csv.reader(source))
    if not rows:
        raise UnreadableError(f"'{name}' is empty.")
    first = rows[0]
    if column:
        index = _column(first, column, name)
    elif len(first) == 1:
        index = 0
        if _number(first[0]) is not None:
            rows.insert(0, ["count"])
    else:
        index = _column(first, "count", name)
    counts = [_number(row[index]) if index < len(row) else None for row in rows[1:] if row]
    bad = sum(c is None for c in counts)
    if bad:
        raise UnreadableError(f"{bad} of {len(counts)} counts in '{name}' are not numbers.", hint="Leave them out.")
    return [c for c in counts if c is not None]


def count_column(folder: Path, reference: str, *, in_order: bool = False) -> list[int]:
    """How often each value of ``file.csv:column`` occurs; by number or text when ``in_order``."""
    name, column = _split(folder, reference)
    with _open(folder, name) as source:
        reader = csv.reader(source)
        index = _column(next(reader, []), column, name)
        seen = Counter(row[index] if index < len(row) else "" for row in reader if row)
    if in_order:
        order = sorted(seen, key=lambda v: (_number(v) is None, _number(v) or 0.0, v))
        return [seen[v] for v in order]
    return sorted(seen.values(), reverse=True)


def _split(folder: Path, reference: str) -> tuple[str, str]:
    """File and column of ``file.csv:column``; a file whose own name holds a colon wins."""
    if (folder / reference).is_file():
        return reference, ""
    name, _, column = reference.rpartition(":")
    return (name, column) if name else (reference, "")


def _open(folder: Path, name: str) -> Any:
    try:
        return (folder / name).open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise UnreadableError(f"'{name}' cannot be read.", hint="Paths are relative to the questionnaire.") from error


def _column(heads: list[str], column: str, name: str) -> int:
    clean = [h.strip() for h in heads]
    if column not in clean:
        raise missing_column(column, clean, table=name)
    return clean.index(column)


def _number(text: str) -> float | None:
    try:
        x = float(text)
    except ValueError:
        return None
    return x if np.isfinite(x) else None


def _known(data: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for key in data:
        if key not in names:
            close = nearest(str(key), names)
            hint = f"Did you mean '{close}'?" if close else "Known: " + ", ".join(names) + "."
            raise PolicyError(f"'{key}' is not known in {where}.", hint=hint)

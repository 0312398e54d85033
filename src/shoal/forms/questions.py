"""One question of a questionnaire: its options, and the ways in which it says its answers (values, range, counts, registry …)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

from shoal.errors import PolicyError, ShoalError, UsageError, suggest
from shoal.forms.counts import count_column, read_counts
from shoal.prediction.attributes.rounding import rounded
from shoal.prediction.distribution import Distribution, whole
from shoal.prediction.questionnaire.questionnaire import ROLES, Questionnaire
from shoal.prediction.questionnaire.questions import MOST_CELLS
from shoal.prediction.summaries.published import PublishedSummary, Resolver, shape_of

MOST_LABELS = 10_000
"""Answers of a range that are named."""
MOST_TOGETHER = 6
"""Questions of whose parts joint records are looked for."""


ANYWHERE = "world"
"""The population of people who may live in any country."""


class Asked:
    """Where answers are looked up: the folder of the file, and a registry with the population it is asked about."""

    def __init__(self, folder: Path, resolve: Resolver | None, population: str) -> None:
        self.folder, self.resolve, self.population = folder, resolve, population
        self.codes: dict[str, tuple[str, str]] = {}

    @cached_property
    def country(self) -> str:
        """The code of the country whose people are asked; empty where it is not known."""
        if self.resolve is None or self.population in ("", ANYWHERE):
            return ""
        try:
            return self.resolve("sex", self.population).place.partition("/")[0]
        except UsageError:
            return ""

    @cached_property
    def of_everybody(self) -> dict[str, float]:
        """Shares of the sexes and of the ages of the people of the world."""
        if self.resolve is None:
            return {}
        about = [self.resolve(code, ANYWHERE).shares or {} for code in ("sex", "age/years")]
        return {answer: share for listed in about for answer, share in listed.items()}

    def together(self, names: Sequence[str]) -> PublishedSummary | None:
        """What the registry says of several questions of one population together; None where it says nothing."""
        codes, population = ",".join(self.codes[name][0] for name in names), self.codes[names[0]][1]
        try:
            return self.resolve(codes, population) if self.resolve else None
        except UsageError:
            return None

    def published(self, name: str, value: Any) -> PublishedSummary:
        """What the registry says; ``value`` is a code, or ``{code:, population:}``."""
        code, population = value, self.population
        if isinstance(value, Mapping):
            check_known(value, ("code", "population"), f"'registry' of question '{name}'")
            code, population = value["code"], value.get("population", population)
        if self.resolve is None:
            hint = "Write 'registry: FOLDER or FILE.db' into the questionnaire, or pass --registry."
            raise PolicyError(f"question '{name}' is left to a registry, and none is named.", hint=hint)
        if not isinstance(population, str) or not population:
            hint = "Write 'population: NL/Utrecht@2021', or {code: age/years, population: NL/Utrecht@2021}."
            raise PolicyError(f"question '{name}' is left to a registry, which must know about whom.", hint=hint)
        self.codes[name] = (str(code), population)
        return self.resolve(str(code), population)


def add_question(q: Questionnaire, name: str, spec: Mapping[str, Any], asked: Asked) -> None:
    options = {k: _option(name, k, spec[k]) for k in ("ordered", "band", "unit", "weight", "keep", "source", "role") if k in spec}
    if "when" in spec:
        options["when"] = _when(q, name, spec["when"])
    given = [k for k in "answers shares counts values range kappa table normal zipf registry".split() if k in spec]
    if len(given) != 1:
        hint = "One of: values, range, shares, answers, counts, table, kappa, registry, normal, zipf."
        raise PolicyError(f"question '{name}' needs exactly one description of its answers; found {len(given)}.", hint=hint)
    kind, value = given[0], spec[given[0]]
    try:
        if kind == "registry" and not (isinstance(value, Mapping) and "kappa" in value):
            _add_registered(q, name, value, options, asked)
        else:
            _ADD[kind](q, name, value, options, asked.folder)
    except ShoalError:
        raise
    except (TypeError, KeyError, IndexError, ValueError, OverflowError):
        raise PolicyError(f"'{kind}' of question '{name}' is not understood.", hint="See docs/questionnaire.md.") from None


def _option(name: str, key: str, value: Any) -> Any:
    """An option of a question, if it makes sense."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    fits = {
        "ordered": isinstance(value, bool),
        "keep": isinstance(value, bool),
        "unit": isinstance(value, str),
        "band": number and value > 0,
        "weight": number and value > 0,
        "source": value in ("given", "table", "guess", "uniform"),
        "role": value in ROLES,
    }[key]
    if not fits:
        wanted = {"ordered": "true or false", "keep": "true or false", "unit": "a word", "source": "given, table or guess"}
        wanted["role"] = ", ".join(ROLES[:-1]) + f" or {ROLES[-1]}"
        raise PolicyError(f"'{key}' of question '{name}' must be {wanted.get(key, 'a number above 0')}.")
    return value


def add_joint_records(q: Questionnaire, asked: Asked) -> None:
    """Use what a registry publishes about several questions together instead of multiplying what it says of each."""
    linked = {n for link in q.links for n in link["names"]}
    names = [n for n in asked.codes if n in q.questions and n not in linked and q.questions[n].when is None]
    for place in dict.fromkeys(asked.codes[n][1] for n in names):
        chosen = tuple(n for n in names if asked.codes[n][1] == place)
        if len(chosen) < 2 or (whole := asked.together(chosen)) is None:
            continue
        smaller = [part for n in range(2, min(len(chosen), MOST_TOGETHER)) for part in combinations(chosen, n)]
        known = {part: joint for part in smaller if (joint := asked.together(part)) is not None}
        q.publish({chosen: whole, **known})


def _when(q: Questionnaire, name: str, value: Any) -> tuple[str, tuple[int, ...]]:
    """The earlier question and the places of its answers, from ``{smokes: [yes]}`` or ``{smokes: [0]}``."""
    if not isinstance(value, Mapping) or len(value) != 1 or not isinstance(next(iter(value.values())), list):
        raise PolicyError(f"'when' of question '{name}' names one question and its answers.", hint="when: {smokes: [yes]}")
    gate, answers = next(iter(value.items()))
    if str(gate) not in q.questions:
        raise PolicyError(f"'when' of question '{name}' names '{gate}', which is not a question before it.")
    labels = q.questions[str(gate)].labels
    places = [a if isinstance(a, int) and not isinstance(a, bool) else _place(labels, a) for a in answers]
    if any(p is None for p in places):
        raise PolicyError(f"'when' of question '{name}' names an answer that '{gate}' does not have.")
    return str(gate), tuple(sorted({p for p in places if p is not None}))


def _place(labels: tuple[str, ...], answer: Any) -> int | None:
    """Where a label stands; YAML reads a bare yes or no as true or false."""
    spelled = ("yes", "true") if answer is True else ("no", "false") if answer is False else (str(answer),)
    return next((i for i, label in enumerate(labels) if label in (str(answer), *spelled)), None)


def _add_registered(q: Questionnaire, name: str, value: Any, options: dict[str, Any], asked: Asked) -> None:
    published = asked.published(name, value)
    shares, agrees = shape_of(published)
    order = {"ordered": True, "band": published.width, "unit": published.unit} if published.width and published.shares else {}
    listed = {"labels": tuple(published.shares)} if published.shares else {}
    source = "registry" if agrees and published.exact and published.trusted else "kappa"
    options = {**order, **listed, **options, "source": source}
    options["published"] = published
    q.add(name, shares=shares, **options)
    notes = [published.note] if published.note else []
    if not published.trusted:
        notes.append("the record is signed by a key that you did not say you trust: grade C (name it with --trust)")
    if not agrees:
        notes.append("the published numbers do not fix the shape of the answers: only their number and kappa are used")
    q.notes = (*q.notes, *(f"{name}: {text}" for text in notes))


def _add_answers(q: Questionnaire, name: str, value: Any, options: dict[str, Any], folder: Path) -> None:
    if not isinstance(value, Mapping):
        raise TypeError
    q.add(name, shares=list(value.values()), labels=tuple(str(k) for k in value), **options)


def _add_range(q: Questionnaire, name: str, value: Any, options: dict[str, Any], folder: Path) -> None:
    low, high = (int(v) if float(v) == int(v) else math.nan for v in value)
    band = float(options.get("band", 1))
    if not high >= low:
        raise PolicyError(f"the range of question '{name}' is empty.", hint="range: [18, 99], band: 1 (whole numbers)")
    options |= {"band": band, "ordered": options.get("ordered", True)}
    answers = math.ceil((high - low + 1) / band)
    if band == int(band) and answers <= MOST_LABELS:
        starts = range(int(low), int(high) + 1, int(band))
        options["labels"] = tuple(str(a) if band == 1 else f"{a}-{min(a + int(band) - 1, int(high))}" for a in starts)
    q.add(name, values=answers, **options)


def _add_counts(q: Questionnaire, name: str, value: Any, options: dict[str, Any], folder: Path) -> None:
    q.add(name, counts=read_counts(folder, value) if isinstance(value, str) else value, **{"source": "table", **options})


def _add_table(q: Questionnaire, name: str, value: Any, options: dict[str, Any], folder: Path) -> None:
    counts = count_column(folder, str(value), in_order=bool(options.get("ordered", False)))
    q.add(name, counts=counts, **{"source": "table", **options})


def _add_normal(q: Questionnaire, name: str, value: Any, options: dict[str, Any], folder: Path) -> None:
    from shoal.kernels.scipy import stats

    width, mean, sd = float(value.get("width", 1)), float(value.get("mean", 0)), float(value["sd"])
    if not (math.isfinite(mean) and 0 < sd < math.inf and 0 < width < math.inf):
        raise PolicyError(f"'normal' of question '{name}' needs a mean, an sd and a width above 0.")
    d = rounded(stats.norm(mean, sd), width)
    q.add(name, shares=d.expanded(), **{"ordered": True, "band": width, **options})


def _add_zipf(q: Questionnaire, name: str, value: Any, options: dict[str, Any], folder: Path) -> None:
    exponent = float(value["exponent"])
    if not 0 <= exponent < math.inf:
        raise PolicyError(f"the exponent of question '{name}' must be a number of at least 0.")
    q.add(name, shares=Distribution.zipf(_few(name, value["places"]), exponent).p, **options)


def _add_kappa(q: Questionnaire, name: str, value: Any, options: dict[str, Any], folder: Path) -> None:
    q.add(name, kappa=(float(value["kappa"]), _few(name, value["cells"])), **options)


def _few(name: str, answers: Any) -> int:
    """A number of answers that can be listed."""
    number = whole(answers, what=f"the number of answers of '{name}'", least=1)
    if number > MOST_CELLS:
        raise PolicyError(f"question '{name}' has {number} answers: too many.", hint="Ask in wider bands.")
    return number


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


def check_known(data: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for key in data:
        if key not in names:
            hint = suggest(str(key), names) or "Known: " + ", ".join(names) + "."
            raise PolicyError(f"'{key}' is not known in {where}.", hint=hint)

"""``design``: how identifying will a questionnaire be? Read it, ask a registry for the answers that the file leaves open.

The registry is a mirrored folder or a SQLite file that the questionnaire names, or that the caller names: these, or the
address of a running ``shoal serve``. A file never makes Shoal call an address.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from shoal.api.arguments import Names, Source, number_of_people, population_of
from shoal.api.arguments import names as names_of
from shoal.api.table_predictions import from_pilot, with_pilot
from shoal.errors import PolicyError, UnreadableError, UsageError, check_options
from shoal.forms.files import parse_target, read_questionnaire, read_yaml
from shoal.forms.questions import ANYWHERE
from shoal.model.estimate import Estimate
from shoal.prediction.distribution import Distribution
from shoal.prediction.questionnaire.meter import Meter
from shoal.prediction.questionnaire.questionnaire import TOGETHER, Questionnaire
from shoal.prediction.summaries.published import PublishedSummary, Resolver
from shoal.registry.answer.answer import Answer
from shoal.registry.answer.joint import ESTIMATED
from shoal.registry.keep.builtin import KEY, countries
from shoal.registry.records.vocabulary import attribute

if TYPE_CHECKING:
    from shoal.registry.answer.query import Registry


class QuestionnaireOptions(TypedDict, total=False):
    """What is known of a questionnaire beside its file, as keywords."""

    registry: str | Path | None
    population: int | str | None
    respondents: int | None
    target: float | str | None
    sensitive: Names | None
    trust: Names | None
    pilot: Source | None
    columns: Names | None
    unit: str | None
    counts: str | None


def design(questions: Questionnaire | str | Path | None = None, **options: Unpack[QuestionnaireOptions]) -> Meter:
    """The meter of a questionnaire: how many respondents are expected to be one of a kind, and through which questions.

    Parameters
    ----------
    questions : Questionnaire or path
        ``questions.yml``, an XLSForm, or a :class:`shoal.Questionnaire` made in Python.
    registry : path or address, optional
        Where open answers are looked up: see :func:`questionnaire`.
    population, respondents, target : optional
        Instead of what the file says: 17.5M people who could be asked, or a place (``"Utrecht"``) whose counts a registry has;
        people who answer; ``"unique<=5%"``.
    sensitive : names, optional
        Questions whose answers others do not know: they do not make anybody one of a kind.
    trust : names, optional
        Public keys whose records you trust: without them, a record of any key but that of Shoal's own is grade C.
    pilot : Table, path, URL or frame, optional
        Answers of people like those who will be asked, a column per question: shares and dependence are taken from it. Without
        ``questions``, the questions are its ``columns``. ``unit`` is the column that names a person; ``counts`` that of whole
        numbers, if each row stands for so many people.

    Returns
    -------
    Meter
        ``m.unique`` (an Estimate), ``m.waterfall``, ``m.light``, ``m.reached``.

    Examples
    --------
    >>> q = Questionnaire(population=100_000, respondents=500).add("age", values=80).add("sex", values=2)
    >>> design(q).light
    'amber'
    """
    if not isinstance(questions, Questionnaire):
        return questionnaire(questions, **options).meter()
    given = [option for option, value in options.items() if value is not None]
    if given:
        raise UsageError(f"a Questionnaire says its own {given[0]}.", hint="Set it where the Questionnaire is made.")
    return questions.meter()


def questionnaire(path: str | Path | None = None, **options: Unpack[QuestionnaireOptions]) -> Questionnaire:
    """A questionnaire from a file; questions left to a registry are asked there.

    Parameters
    ----------
    path : str or Path
        ``questions.yml``, or an XLSForm.
    registry : str or Path, optional
        A mirrored folder, a SQLite file, or ``http://HOST:PORT`` of ``shoal serve``; instead of the one that the file names.
    population, respondents, target : optional
        Instead of what the file says.
    sensitive, trust, pilot, columns, unit, counts : optional
        See :func:`design`.
    """
    check_options(options, QuestionnaireOptions.__annotations__)
    pilot, columns = options.get("pilot"), options.get("columns")
    unit, counts = options.get("unit"), options.get("counts")
    population = options.get("population")
    named = isinstance(population, str) and path is not None and number_of_people(population) is None
    people = population if population is None or named else population_of(population)
    if pilot is None and (columns or unit or counts):
        raise UsageError("columns, a unit and counts are those of a pilot.", hint="Name the pilot as well.")
    if path is None:
        return _of_pilot(people, options)
    if columns:
        raise UsageError("the questions are those of the file.", hint="Leave out the columns, or the file.")
    registry = options.get("registry")
    registry = _named_registry(Path(path)) or "" if registry is None else registry
    resolve = resolver(registry, trust=names_of(options.get("trust")))
    respondents, target = options.get("respondents"), options.get("target")
    questions = read_questionnaire(path, resolve=resolve, population=people, respondents=respondents, target=target)
    for name in names_of(options.get("sensitive")):
        questions.mark(name, "sensitive")
    return questions if pilot is None else with_pilot(questions, pilot, unit=unit, count=counts)


def _of_pilot(people: int | str | None, options: QuestionnaireOptions) -> Questionnaire:
    """A questionnaire whose questions are the columns of a pilot."""
    pilot, target = options.get("pilot"), options.get("target")
    if pilot is None:
        raise UsageError("no questions are named.", hint="Name questions.yml, or a pilot with its columns.")
    if not isinstance(people, int):
        raise UsageError("a pilot does not say how many people could be asked.", hint="Add population=… or --population N.")
    about = {"population": people, "respondents": options.get("respondents")}
    aim = parse_target(0.05 if target is None else target)
    return from_pilot(pilot, options.get("columns"), unit=options.get("unit"), count=options.get("counts"), target=aim, **about)


def resolver(source: str | Path, *, trust: Iterable[str] = ()) -> Resolver:
    """A function from attribute codes and population to what a registry publishes; without a source, that of Shoal's own records.

    ``trust`` are public keys whose records, and those of keys they vouch for, are grade B.
    """
    text, anchors = str(source), tuple(trust)
    if text.startswith(("http://", "https://")):
        from shoal.registry.answer.query import own_records
        from shoal.registry.keep.remote import Remote

        service = Remote(text)

        def ask_service(code: str, population: str) -> PublishedSummary:
            if population == ANYWHERE:
                return _anywhere(tuple(code.split(",")))
            answer = service.query(code.split(","), population)
            unknown = not all(r.key in (KEY, *anchors) for r in answer.records)
            return _published(replace(answer, unknown=unknown, own=own_records if unknown else None), code)

        return ask_service
    if text and "://" not in text and not Path(text).exists():
        raise UnreadableError(f"registry '{Path(text).name}' does not exist.", hint="Name a mirrored folder or a SQLite file.")
    opened: list[Registry] = []

    def ask(code: str, population: str) -> PublishedSummary:
        from shoal.registry.answer.query import Registry

        if population == ANYWHERE:
            return _anywhere(tuple(code.split(",")))
        if not opened:  # a questionnaire without a registry reference opens none
            opened.append(Registry(source, anchors=anchors))
        return _published(opened[0].query(code.split(","), population), code)

    return ask


@lru_cache(maxsize=8)
def _anywhere(codes: tuple[str, ...]) -> PublishedSummary:
    """What the built-in counts say of people anywhere: the shares of most countries together, the ends of all."""
    from shoal.registry.answer import joint

    records = [r for r in countries() if r.counts is not None]
    tables = [counts for r in records if r.counts is not None and (counts := r.counts.table(codes)) is not None]
    if not tables:
        raise UsageError(f"no country has counts of '{','.join(codes)}'.", hint="Name a place, or describe the answers.")
    usual = Counter(names for _, names in tables).most_common(1)[0][0]  # most tables end at the same age
    people = np.sum([table for table, names in tables if names == usual], axis=0)

    def share(group: int, target: float | None) -> Estimate:
        every = [joint.unique_share(r, group, codes) for r in records]
        ends, values = (min(e.low for e in every), max(e.high for e in every)), sorted(e.value for e in every)
        return Estimate(values[len(values) // 2], *ends, level=joint.LEVEL, method="joint counts of every country", grade="C")

    law = Distribution.of(people.ravel(), normalize=True)
    shares = dict(zip(usual[0], (people / people.sum()).tolist(), strict=True)) if len(codes) == 1 else None
    return PublishedSummary(law.kappa, law.cells, int(people.sum()), exact=False, share=share, shares=shares, fit="any country")


def _named_registry(path: Path) -> Path | None:
    """The registry that a questions.yml names, beside itself."""
    if path.suffix.lower() not in (".yml", ".yaml") or not path.is_file():
        return None
    data = read_yaml(path)
    name = data.get("registry") if isinstance(data, dict) else None
    if name is None:
        return None
    if not isinstance(name, str) or "://" in name:
        raise PolicyError("a questionnaire names a registry by its folder or file.", hint="Pass an address with --registry.")
    return path.parent / name


def _published(answer: Answer, asked: str) -> PublishedSummary:
    """What a questionnaire needs of an answer, its table with the axes in the order asked; stops where the registry has none."""
    if not answer.records:
        hint = "Ask for a coarser code or a wider population, or describe the answers in the file (values, shares)."
        raise UsageError(f"the registry has no record of '{','.join(answer.codes)}' in '{answer.population}'.", hint=hint)
    record, here = answer.best, answer.fit in TOGETHER and not answer.elsewhere
    summary, statistics = record.summary, record.summary.statistics
    family = {attribute(c).split("/")[0]: c for c in answer.codes}
    codes = [c if c in answer.codes else family[c.split("/")[0]] for c in asked.split(",")]
    counted = record.counts.table(codes) if here and record.counts is not None and not record.sampled else None
    known = record.shares
    if counted is not None and len(answer.codes) == 1:
        known = dict(zip(counted[1][0], (counted[0] / counted[0].sum()).tolist(), strict=True))
    unique = {int(k.removeprefix("unique_")): (v.value, v.step) for k, v in statistics.items() if k.startswith("unique_")}
    doubtful = answer.unknown or answer.strangers or answer.rivals or answer.doubted or answer.dispute
    return PublishedSummary(
        min(max(0.0, statistics["kappa"].value), math.log(summary.cells)),
        summary.cells if counted is None else counted[0].size,
        summary.size if counted is None else int(counted[0].sum()),
        summary.power_sum(2) if "h2" in statistics else None,
        unique,
        exact=here and (counted is not None or not record.estimated),
        note=" ".join((*answer.notes, ESTIMATED) if record.estimated else answer.notes),
        kappa_error=statistics["kappa"].step,
        trusted=not doubtful,
        share=answer.unique_share,
        most=answer.most_beside,
        table=None if counted is None else counted[0],
        fit=answer.fit,
        place=answer.population.place,
        **(_order_shares(known, answer.codes[0]) if here and len(answer.codes) == 1 else {}),
    )


def _order_shares(listed: Mapping[str, float] | None, code: str) -> dict[str, Any]:
    """Published shares, ordered by the numbers in the answers; the width of a band of ages or sizes."""
    if not listed:
        return {}
    shares = dict(sorted(listed.items(), key=lambda item: (_first_number(item[0]), item[0])))
    band = re.fullmatch(r"(age|height|weight)/(\d*)(years|y|cm|kg)", code)
    if band is None or min(map(_first_number, shares)) < 0:
        return {"shares": shares}
    unit = {"years": "year", "y": "year"}.get(band[3], band[3])
    return {"shares": shares, "width": float(band[2] or 1), "unit": unit}


def _first_number(answer: str) -> int:
    match = re.match(r"\d+", answer)
    return int(match[0]) if match else -1

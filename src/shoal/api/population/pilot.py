"""A pilot table for a questionnaire: its columns are the questions, its rows the answers of people like those to be asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shoal.api.arguments import Names, Source
from shoal.api.population.coded import counted
from shoal.errors import UsageError
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import ClassCounts, IntArray
from shoal.prediction.population.pilot import Pilot
from shoal.prediction.questionnaire.questionnaire import Questionnaire
from shoal.prediction.questionnaire.questions import Question


def with_pilot(q: Questionnaire, table: Source, *, unit: str | None = None, model: str = "auto") -> Questionnaire:
    """The questionnaire with the shares and the dependence of its answers taken from a pilot.

    Every question is a column of the pilot, answered in the same bands or finer ones of the same number. Links of the file give
    way to what the pilot shows.
    """
    _, counts = counted(table, list(q.questions), unit)
    out = q.copy()
    out.links = []
    codes = []
    for j, (name, question) in enumerate(q.questions.items()):
        found, labels, ordered = _answers(counts, j, question)
        answers = int(found.max()) + 1
        if answers > question.answers + int(_some_missing(counts, j)):
            raise UsageError(
                f"question '{name}' has {question.answers} answers, but the pilot has {answers}.",
                hint="Band the column of the pilot as the question is asked, or describe the question as it was asked there.",
            )
        people = np.bincount(found, weights=counts.sizes)
        out.questions[name] = replace(
            question,
            p=people / people.sum(),
            source="table",
            labels=labels,
            ordered=question.ordered or ordered,
            kappa_range=None,
        )
        codes.append(found)
    out.pilot = Pilot.of(codes, counts.sizes, q.population, model=model)
    if out.pilot.joint is not None and len(codes) > 1:
        out.link(*out.questions, joint=out.pilot.joint)
    else:
        out.notes = (*out.notes, "single steps take the questions as independent: too many combinations for a joint table")
    return out


def from_pilot(table: Source, columns: Names | None, *, unit: str | None = None, **said: Any) -> Questionnaire:
    """A questionnaire whose questions are columns of a pilot."""
    _, counts = counted(table, columns, unit)
    q = Questionnaire(**said)
    for j, name in enumerate(counts.columns):
        q.add(name, values=max(len(counts.categories[j]), 1))
    return with_pilot(q, table, unit=unit)


def _answers(counts: ClassCounts, j: int, question: Question) -> tuple[IntArray, tuple[str, ...], bool]:
    """The answer of each class, the answers' labels where the question names them, and whether they have an order.

    Values of the pilot itself are never kept: an answer that the question does not name is a number.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    values = counts.categories[j]
    texts = canonical_text(values).to_pylist()
    kind = values.type
    ordered = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    order = list(np.asarray(pc.sort_indices(values))) if ordered else sorted(range(len(texts)), key=lambda i: texts[i])
    if question.labels and set(texts) <= set(question.labels):
        place = {label: i for i, label in enumerate(question.labels)}
        order = sorted(range(len(texts)), key=lambda i: place[texts[i]])
    rank = np.zeros(max(len(order), 1), dtype=np.int64)
    rank[np.array(order, dtype=np.int64)] = np.arange(len(order))
    codes = np.asarray(counts.codes[j], dtype=np.int64)
    out: IntArray = np.where(codes < 0, len(order), rank[np.maximum(codes, 0)])
    named = tuple(texts[i] for i in order) + (("(no answer)",) if _some_missing(counts, j) else ())
    return out, named if question.labels else (), ordered


def _some_missing(counts: ClassCounts, j: int) -> bool:
    return bool((np.asarray(counts.codes[j]) < 0).any())

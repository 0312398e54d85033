"""What the values of a column are: number, date, place, ordered or nominal categories, id, text; and their order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoal.find.finding import ColumnFacts, Found, Scale
from shoal.find.names.words import folded
from shoal.find.number_scales import MOST_ORDERED, scale_of_numbers
from shoal.find.values.bands import band_order, lowest_word, open_numbers
from shoal.find.values.dates import date_share
from shoal.find.values.identifiers import spread
from shoal.find.values.ladders import ladder_order
from shoal.find.values.measured import written_amounts
from shoal.find.values.schooling import schooling_order
from shoal.kernels.text import Pattern


def scale_of(facts: ColumnFacts, topic_scale: str, *, battery: bool = False) -> Found:
    """The scale of a column whose missing spellings are already taken out.

    ``topic_scale`` is what a column of its topic usually is; ``battery`` says that several columns of the table have the very
    same short range of whole numbers, as questions with the same answers do.
    """
    if facts.declared_order and facts.said_scale in ("", "ordered"):
        return Found(Scale.ORDERED, facts.declared_order)
    if facts.said_scale:
        return _said(facts)
    if facts.kind in ("date", "timestamp", "time"):
        return Found(Scale.DATE)
    if facts.kind == "boolean" or not facts.values:
        return Found(Scale.NOMINAL)
    if facts.numbers is not None:
        return scale_of_numbers(facts, topic_scale, battery)
    return _of_texts(facts, topic_scale)


def _said(facts: ColumnFacts) -> Found:
    """The scale that a person says; an ordered one takes the order that its values have by themselves, where they have one."""
    scale = Scale(facts.said_scale)
    if scale is not Scale.ORDERED:
        return Found(scale)
    if facts.numbers is not None:
        return Found(scale, tuple(sorted(facts.values, key=float)))
    return Found(scale, _of_texts(facts, "ordered").order)


def _of_texts(facts: ColumnFacts, topic_scale: str) -> Found:
    looked = spread(facts.values)
    if date_share(looked, facts.kind) >= 0.9:
        return Found(Scale.DATE)
    if order := open_numbers(facts.values):
        return Found(Scale.ORDERED, order)
    if topic_scale not in ("id", "date", "place") and written_amounts(facts.values):
        return Found(Scale.NUMBER)
    if facts.distinct <= MOST_ORDERED:
        order = ladder_order(facts.values)[1]
        if topic_scale == "nominal" and len(order) < 3:
            order = ()
        if (
            order
            or (order := band_order(facts.values))
            or (order := _with_none(facts.values))
            or (order := _grades(facts.values))
        ):
            return Found(Scale.ORDERED, order)
        if topic_scale == "ordered" and (order := schooling_order(facts.values)):
            return Found(Scale.ORDERED, order)
    if topic_scale == "place":
        return Found(Scale.PLACE)
    if reads_as_text(facts):
        return Found(Scale.TEXT)
    if topic_scale == "ordered" and facts.distinct <= MOST_ORDERED and _numbered(facts.values):
        return Found(Scale.ORDERED, tuple(sorted(facts.values, key=_leading)))
    return Found(Scale.NOMINAL)


def reads_as_text(facts: ColumnFacts) -> bool:
    """Whether the texts read like sentences that people typed: long, of several words, seldom twice."""
    looked = spread(facts.values)
    mean = sum(len(v) for v in looked) / len(looked)
    spaces = sum(v.count(" ") for v in looked) / len(looked)
    return mean > 40 and spaces > 4 and facts.distinct > max(20, 0.05 * facts.filled)


def _with_none(values: Sequence[str]) -> tuple[str, ...]:
    """Whole numbers from 1 with a word for "none" before them: none, 1, 2, 3."""
    none = [v for v in values if lowest_word(v)]
    rest = sorted((v for v in values if v.strip().isdigit()), key=int)
    whole = len(none) == 1 and len(none) + len(rest) == len(values) >= 4 and int(rest[0]) == 1 and int(rest[-1]) == len(rest)
    return (none[0], *rest) if whole else ()


_GRADE = Pattern(
    r"\b(ano|serie|year|grade|klasse|stufe|jahrgang|annee|niveau|nivel|livello|level|lvl|stage|stadium|stadio|estadio|"
    r"stade|grad|grado|grau|tier|phase|fase|semester|semestre|groep|leerjaar|curso|anno|quintile|quartile|decile|quintil)\b"
)


_ORDINAL = Pattern(r"\d{1,2}(?:[ºª°]|st\b|nd\b|rd\b|th\b|er?\b|eme\b|ème\b|e\b)")
"""A number that counts: 1º, 2nd, 3e."""


def _grades(values: Sequence[str]) -> tuple[str, ...]:
    """The same words around one number, of which one says a level: 6º ano, 7º ano; Stage 1, Stage 2."""
    found = {v: re.findall(r"\d+", v) for v in values}
    if len(values) < 3 or any(len(n) != 1 or len(n[0]) > 2 for n in found.values()):
        return ()
    around = {re.sub(r"\d+(st|nd|rd|th)?[ºªoa°.]?", "#", folded(v).strip()) for v in values}
    words = re.sub(r"[^\w ]+", " ", around.pop())
    level = _GRADE.search(words) or all(_ORDINAL.match(v.strip()) for v in values)
    return tuple(sorted(values, key=lambda v: int(found[v][0]))) if not around and level else ()


def _numbered(values: Sequence[str]) -> bool:
    """Whether values are numbered in their texts, at least three: the order of two (1. Yes, 2. No) says nothing."""
    return len(values) > 2 and all(re.match(r"\s*\(?\d{1,2}\b", v) for v in values)


def _leading(value: str) -> int:
    found = re.match(r"\s*\(?(\d{1,2})", value)
    return int(found.group(1)) if found else 0

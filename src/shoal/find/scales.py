"""What the values of a column are: number, date, place, ordered or nominal categories, id, text; and their order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from shoal.find.bands import band_order, lowest_word, open_numbers, written_amounts
from shoal.find.dates import date_share, unix_times
from shoal.find.finding import ColumnFacts, Scale, ScaleGuess, remembered
from shoal.find.identifiers import spread
from shoal.find.name_words import opaque, raw_words
from shoal.find.orders import ladder_order, schooling_order
from shoal.find.questions import ticked
from shoal.find.topics import expanded
from shoal.find.vocabulary import folded, word_set
from shoal.find.whole_numbers import (
    FEW_CODES,
    begun_late,
    code_digits,
    dense,
    grown,
    leading_zeros,
    levels_of_a_test,
    long_codes,
    mostly_different,
    plural_count,
    rarer_upwards,
    rating,
    serial_days,
    short_codes,
    sparse_codes,
    two_digit_years,
)
from shoal.kernels.text import Pattern


def scale_of(facts: ColumnFacts, topic_scale: str, *, battery: bool = False) -> ScaleGuess:
    """The scale of a column whose missing spellings are already taken out.

    ``topic_scale`` is what a column of its topic usually is; ``battery`` says that several columns of the table have the very
    same short range of whole numbers, as questions with the same answers do.
    """
    if facts.declared_order and facts.said_scale in ("", "ordered"):
        return ScaleGuess(Scale.ORDERED, facts.declared_order)
    if facts.said_scale:
        return _stated_scale(facts)
    if facts.kind in ("date", "timestamp", "time"):
        return ScaleGuess(Scale.DATE)
    if facts.kind == "boolean" or not facts.values:
        return ScaleGuess(Scale.NOMINAL)
    if facts.numbers is not None:
        return scale_of_numbers(facts, topic_scale, battery)
    return _of_texts(facts, topic_scale)


def _stated_scale(facts: ColumnFacts) -> ScaleGuess:
    """The scale that a person says; an ordered one takes the order that its values have by themselves, where they have one."""
    scale = Scale(facts.said_scale)
    if scale is not Scale.ORDERED:
        return ScaleGuess(scale)
    if facts.numbers is not None:
        return ScaleGuess(scale, tuple(sorted(facts.values, key=float)))
    return ScaleGuess(scale, _of_texts(facts, "ordered").order)


def _of_texts(facts: ColumnFacts, topic_scale: str) -> ScaleGuess:
    if written := _as_written(facts.values, facts.kind, topic_scale, facts.distinct):
        return written
    if topic_scale == "place":
        return ScaleGuess(Scale.PLACE)
    if reads_as_text(facts):
        return ScaleGuess(Scale.TEXT)
    if topic_scale == "ordered" and facts.distinct <= MOST_ORDERED and _has_numbers(facts.values):
        return ScaleGuess(Scale.ORDERED, tuple(sorted(facts.values, key=_leading)))
    return ScaleGuess(Scale.NOMINAL)


@remembered
def _as_written(values: Sequence[str], kind: str, topic_scale: str, distinct: int) -> ScaleGuess | None:
    """What the way says in which texts are written: dates, amounts, levels in an order."""
    if date_share(spread(values), kind) >= 0.9:
        return ScaleGuess(Scale.DATE)
    if order := open_numbers(values):
        return ScaleGuess(Scale.ORDERED, order)
    if topic_scale not in ("id", "date", "place") and written_amounts(values):
        return ScaleGuess(Scale.NUMBER)
    if distinct > MOST_ORDERED:
        return None
    order = ladder_order(values)[1]
    order = () if topic_scale == "nominal" and len(order) < 3 else order
    order = order or band_order(values) or _with_none(values) or _grades(values)
    order = order or (schooling_order(values) if topic_scale == "ordered" else ())
    return ScaleGuess(Scale.ORDERED, order) if order else None


def reads_as_text(facts: ColumnFacts) -> bool:
    """Whether the texts read like sentences that people typed: long, of several words, seldom twice."""
    looked = spread(facts.values)
    mean = sum(len(v) for v in looked) / len(looked)
    spaces = sum(v.count(" ") for v in looked) / len(looked)
    return mean > 40 and spaces > 4 and facts.distinct > max(20, 0.05 * facts.filled) and not ticked(facts)


def _with_none(values: Sequence[str]) -> tuple[str, ...]:
    """Whole numbers from 1 with a word for "none" before them: none, 1, 2, 3."""
    none = [v for v in values if lowest_word(v)]
    rest = sorted((v for v in values if v.strip().isdecimal()), key=int)
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
    grades = {v: re.findall(r"\d+", v) for v in values}
    if len(values) < 3 or any(len(n) != 1 or len(n[0]) > 2 for n in grades.values()):
        return ()
    around = {re.sub(r"\d+(st|nd|rd|th)?[ºªoa°.]?", "#", folded(v).strip()) for v in values}
    words = re.sub(r"[^\w ]+", " ", around.pop())
    level = _GRADE.search(words) or all(_ORDINAL.match(v.strip()) for v in values)
    return tuple(sorted(values, key=lambda v: int(grades[v][0]))) if not around and level else ()


def _has_numbers(values: Sequence[str]) -> bool:
    """Whether values are numbered in their texts, at least three: the order of two (1. Yes, 2. No) says nothing."""
    return len(values) > 2 and all(re.match(r"\s*\(?\d{1,2}\b", v) for v in values)


def _leading(value: str) -> int:
    match = re.match(r"\s*\(?(\d{1,2})", value)
    return int(match.group(1)) if match else 0


MOST_ORDERED = 60
LONG_RUN = 30
"""Different whole numbers close together above which a column of a nominal topic counts something: hours of work."""
_COUNTS = word_set("column_names", "count or amount")
_OF_A_PLACE = word_set("column_names", "amount of a place")
"""Words that say an amount about a place."""
_CODES = word_set("column_names", "code or kind")
_CODED = word_set("column_names", "always a code")
"""Words that say a code in a name about anything: COD_IDADE."""
_COUNTED = word_set("column_names", "count")
_LEVELS = word_set("column_names", "level")
SHORT_SCALE = 7
"""Steps of a time that is asked in steps: less than an hour, one to two hours."""
SHORT_DEGREE = 7
"""Letters of words that end like degrees and are none: illness, witness, fitness."""
_TIMES = word_set("column_names", "duration")
_YEAR = word_set("column_names", "year")
"""Words that say a year, where the values are years too."""
_MONTHS = word_set("column_names", "part of a year")
"""Words that say a month or a day of one."""
_YEARS = word_set("column_names", "years")


def scale_of_numbers(facts: ColumnFacts, topic_scale: str, battery: bool) -> ScaleGuess:
    """The first rule that knows says it; the plainest are asked first."""
    words = _words_of(facts)
    return (
        _dates(facts, topic_scale, words)
        or _places(facts, topic_scale, words)
        or _amounts_and_labels(facts, topic_scale, words)
        or _codes(facts, topic_scale, words)
        or _by_topic(facts, topic_scale, words)
        or _by_distribution(facts, words, battery)
    )


def _words_of(facts: ColumnFacts) -> AbstractSet[str]:
    """The words of the column's name and label."""
    named = raw_words(facts.name)
    words = set(expanded(facts.name)) | set(named) | set(expanded(facts.label))
    if named[:1] == ("rate",) and len(named) > 1:  # rate_service: somebody rates it
        words = words - {"rate"} | {"rating"}
    return words


def _natural(facts: ColumnFacts) -> ScaleGuess:
    """Ordered as numbers are."""
    return ScaleGuess(Scale.ORDERED, tuple(sorted(facts.values, key=float)))


SMALLEST_DAY = 1_000_000
"""The smallest number that the digits of a day can be: 1012020 is the first of January 2020."""


def _dates(facts: ColumnFacts, topic_scale: str, words: AbstractSet[str]) -> ScaleGuess | None:
    assert facts.numbers is not None
    written = facts.distinct > 5 and not facts.high < SMALLEST_DAY
    if written and date_share(spread(facts.values), facts.kind) >= (0.8 if topic_scale == "date" else 0.95):
        return ScaleGuess(Scale.DATE)
    if topic_scale == "date" and (serial_days(facts) or unix_times(facts.numbers)):
        return ScaleGuess(Scale.DATE)
    if written and unix_times(facts.numbers) and bool(np.all(np.mod(facts.numbers, 60) == 0)):
        return ScaleGuess(Scale.DATE)  # seconds of whole minutes, under any name
    called = bool(words & _YEAR)
    if topic_scale in ("date", "") and (topic_scale == "date" or called or facts.distinct >= 4) and _years(facts, topic_scale):
        return ScaleGuess(Scale.DATE)
    if called and ((topic_scale == "nominal" and _years(facts, "")) or (topic_scale in ("date", "") and two_digit_years(facts))):
        return ScaleGuess(Scale.DATE)  # the year of a car; 68 to 88
    return None


def _places(facts: ColumnFacts, topic_scale: str, words: AbstractSet[str]) -> ScaleGuess | None:
    assert facts.numbers is not None
    if topic_scale != "place":
        return None
    if facts.distinct == 2 and facts.whole and set(facts.numbers) == {0.0, 1.0}:
        return ScaleGuess(Scale.NOMINAL)  # whether somebody lives there
    if facts.whole and facts.distinct <= FEW_CODES and words & {"size", "groesse", "taille", "tamano"}:
        return _natural(facts)
    return ScaleGuess(Scale.NUMBER if words & _OF_A_PLACE else Scale.PLACE)


def _amounts_and_labels(facts: ColumnFacts, topic_scale: str, words: AbstractSet[str]) -> ScaleGuess | None:
    """By the way in which the numbers are written, or by the labels of their codes."""
    if topic_scale not in ("ordered", "id") and (leading_zeros(facts) or long_codes(facts)):
        return ScaleGuess(Scale.NOMINAL)
    coded = topic_scale == "nominal" and bool(words & _CODED)  # a column with gaps is often read as 6.0, 13.0
    fractional = facts.kind in ("float", "decimal") and not coded
    if not facts.whole or (fractional and (facts.distinct > FEW_CODES or topic_scale == "number")):
        return ScaleGuess(Scale.NUMBER)
    return _of_labelled(facts, topic_scale) if facts.labels else None


def _codes(facts: ColumnFacts, topic_scale: str, words: AbstractSet[str]) -> ScaleGuess | None:
    """Ratings, what the file declares, yes and no, and what the name calls a code."""
    if rating(facts) and not words & _COUNTS and topic_scale not in ("number", "nominal"):
        return _natural(facts)
    if facts.declared_scale and facts.distinct <= MOST_ORDERED and topic_scale != "number":
        return _natural(facts) if facts.declared_scale == "ordered" else ScaleGuess(Scale.NOMINAL)
    if facts.distinct <= 2:
        return ScaleGuess(Scale.NUMBER if topic_scale == "number" and words & _COUNTS else Scale.NOMINAL)
    if facts.low < 0 and facts.distinct > FEW_CODES:
        return ScaleGuess(Scale.NUMBER)  # no code is negative
    if words & _CODES and not words & (_LEVELS | {"tot", "total", "sum"}) and topic_scale not in ("ordered", "number"):
        return ScaleGuess(Scale.NOMINAL)
    return None


def _by_topic(facts: ColumnFacts, topic_scale: str, words: AbstractSet[str]) -> ScaleGuess | None:
    """What columns of the topic usually are, unless name and values say otherwise."""
    if topic_scale == "number":
        return _of_amounts(facts, words)
    if topic_scale == "nominal":
        return _of_categories(facts, words)
    if topic_scale == "ordered" or words & _LEVELS:
        return _natural(facts) if facts.distinct <= 25 and not words & _YEARS else ScaleGuess(Scale.NUMBER)
    return None


def _of_amounts(facts: ColumnFacts, words: AbstractSet[str]) -> ScaleGuess | None:
    if facts.labels == {} and levels_of_a_test(facts) and not words & _COUNTS:
        return _natural(facts)
    if words & _CODED and not words & (_LEVELS | _COUNTED) and facts.distinct <= FEW_CODES:
        return ScaleGuess(Scale.NOMINAL)
    if not (words & _LEVELS and facts.distinct <= FEW_CODES and dense(facts)):
        return ScaleGuess(Scale.NUMBER)
    return _natural(facts) if facts.distinct <= 25 and not words & _YEARS else ScaleGuess(Scale.NUMBER)


def _of_categories(facts: ColumnFacts, words: AbstractSet[str]) -> ScaleGuess:
    if (words & _LEVELS or _degree(words)) and not words & _CODES and 4 <= facts.distinct <= 25:
        return _natural(facts)
    many = facts.distinct > LONG_RUN and (dense(facts) or grown(facts) or mostly_different(facts))
    long_time = bool(words & _TIMES) and facts.distinct > SHORT_SCALE
    given = raw_words(facts.name)[-1:] in (("nr",), ("no",), ("id",), ("nummer",))  # schoolNR: the number of a school
    counted = words & _COUNTS or plural_count(facts) or many or long_time or begun_late(facts)
    return ScaleGuess(Scale.NUMBER if counted and not given and not words & _CODES else Scale.NOMINAL)


def _by_distribution(facts: ColumnFacts, words: AbstractSet[str], battery: bool) -> ScaleGuess:
    """Where neither name nor topic says it: how many values there are, and how they lie."""
    short = facts.distinct <= FEW_CODES and dense(facts)
    if short and battery and facts.distinct >= 3:
        return _natural(facts)
    if words & _TIMES and short and facts.distinct <= SHORT_SCALE and min(facts.values, key=float) == "1":
        return _natural(facts)
    if words & _COUNTS and not (short and battery):
        return ScaleGuess(Scale.NUMBER)
    if rarer_upwards(facts):
        return ScaleGuess(Scale.NUMBER)
    if short or sparse_codes(facts) or code_digits(facts) or (opaque(facts.name) and short_codes(facts)):
        return ScaleGuess(Scale.NOMINAL)
    return ScaleGuess(Scale.NUMBER)


def _degree(words: AbstractSet[str]) -> bool:
    """Whether a word names a degree of something: religiousness, drowsiness."""
    adjective = bool(words & {"religious", "religiosity"})
    return adjective or any(w.endswith("ness") and len(w) > SHORT_DEGREE and w not in ("business", "harness") for w in words)


def _of_labelled(facts: ColumnFacts, topic_scale: str) -> ScaleGuess:
    """Codes with value labels: categories where most values have one, else a number with a few marked codes."""
    named = [v for v in facts.values if v in facts.labels]
    if len(named) < 0.5 * facts.distinct:
        return ScaleGuess(Scale.NUMBER)
    natural = tuple(sorted(facts.values, key=float))
    labels = [facts.labels[v] for v in natural if v in facts.labels]
    distinct_labels = list(dict.fromkeys(labels))
    for order in (ladder_order(distinct_labels)[1], band_order(distinct_labels), schooling_order(distinct_labels)):
        if order:
            place = {label: i for i, label in enumerate(order)}
            return ScaleGuess(
                Scale.ORDERED, tuple(sorted((v for v in natural if v in facts.labels), key=lambda v: place[facts.labels[v]]))
            )
    if facts.declared_scale == "ordered" or (topic_scale == "ordered" and facts.distinct >= 3):
        return ScaleGuess(Scale.ORDERED, natural)
    return ScaleGuess(Scale.NOMINAL)


def _years(facts: ColumnFacts, topic_scale: str) -> bool:
    """Whether whole numbers are years; where the name says so, months or days of a month."""
    numbers = facts.numbers
    if numbers is None or not facts.whole:
        return False
    low, high = facts.low, facts.high
    month = bool(_MONTHS & set(raw_words(facts.name)))
    if topic_scale != "date" and (low < 1900 or high > 2050):
        return False
    return (low >= 1850 and high <= 2150) or (month and low >= 0 and high <= 31)

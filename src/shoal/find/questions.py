"""Questions: columns that are asked as one, answers of yes and no, lists of which several answers are ticked, marks beside marks.

One column of a questionnaire often says little; the others show what it is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.find.finding import ColumnFacts
from shoal.find.name_words import opaque, raw_words
from shoal.find.orders import answers_of_opinion
from shoal.find.vocabulary import alternatives, folded, word_set
from shoal.find.whole_numbers import FEW_CODES, rarer_upwards

BATTERY, OPAQUE_BATTERY = 4, 5
"""Columns with the same short range of codes that make a battery of questions; more where their names say nothing."""
STATEMENTS = 10
"""Questions with the range of ratings from which those of a census are opinions too: few may ask for children and rooms."""
LEAST_RATED = 2
"""Questions with answers of opinion in words that Shoal knows from which a table is a questionnaire."""
BEGUN = 5
"""Columns of a few codes each whose names begin alike that make a battery: natspac, natenvir, natheal …"""
_NONE = (0.0, 0.0)
RATED_ALIKE, SENTENCE = (1.0, 1.0), 20
"""What stands for the ranges that ratings have, and the letters of a name in words from which it is a question."""


MOST_UNKNOWN = 7
"""Different answers in words that no list has up to which they may be opinions."""
QUESTION_WORDS, HIGH_MARKS = 5, 0.2
"""Words of the longest name that is not a question, and the share of 8, 9 and 10 from which numbers up to 10 are marks."""
YES, NO = word_set("values", "yes"), word_set("values", "no")
YES_NO = YES | NO | word_set("values", "yes or no")
STATISTICS = word_set("column_names", "statistic")
"""Words for sums, means and the like."""
FIRST_PERSON = word_set("questions", "first person")
"""Words with which people speak of themselves."""


@dataclass(frozen=True)
class Batteries:
    """Columns of a table that share a range of codes, the same with a running number or the beginning of a name; statements."""

    ranges: Counter[tuple[float, float]]
    series: Mapping[str, Counter[tuple[float, float]]]
    beginnings: Counter[str]
    statements: int = 0
    words: Counter[str] = field(default_factory=Counter)
    questions: int = 0
    rated: int = 0
    sets: Counter[frozenset[str]] = field(default_factory=Counter)
    repeated: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, table: Sequence[ColumnFacts]) -> Batteries:
        spans = [(facts, _range(facts)) for facts in table]
        known = [(facts, span) for facts, span in spans if span != _NONE]
        begun = Counter(_beginning(facts.name) for facts in table if _answers(facts))
        series: defaultdict[str, Counter[tuple[float, float]]] = defaultdict(Counter)
        for facts, span in known:
            series[_stem(facts.name)][span] += 1
        counted = Counter(folded(v) for facts in table if _in_words(facts) for v in facts.values)
        questions = [facts for facts in table if question(said_name(facts)) and facts.distinct <= FEW_CODES]
        rated = sum(answers_of_opinion(answer_texts(facts)) for facts in questions)
        sets = Counter(_answer_set(facts) for facts in table)
        ranges, stated = Counter(span for _, span in known), sum(map(statement, table))
        return cls(ranges, series, begun, stated, counted, len(questions), rated, sets, _repeated(table))

    def plain_answers(self, facts: ColumnFacts) -> bool:
        """Whether it is answered with yes and no, or by ticking a list, in a table of questions."""
        known = self.rated >= LEAST_RATED and self.questions >= BATTERY  # in a language whose words Shoal has
        return (known or self.questions >= STATEMENTS) and (yes_or_no(facts) or ticked(facts))

    def same_labels(self, facts: ColumnFacts) -> bool:
        """Whether many columns have the very same labels of codes, or several numbered questions the same answers."""
        alike, few = self.sets[_answer_set(facts)], 3 <= facts.distinct <= FEW_CODES
        numbered = _NUMBERED_NAME.fullmatch(facts.name.lower())
        again = numbered is not None and self.repeated[numbered[1]] >= STATEMENTS and facts.distinct <= MOST_UNKNOWN
        return again or (few and ((bool(facts.labels) and alike >= STATEMENTS) or (numbered is not None and alike >= BATTERY)))

    def score(self, name: str) -> bool:
        """Whether a name is a word for a statistic beside codes, or the beginning of a series: a_sum_1, TT_mean, BSI_sum."""
        words = raw_words(name)
        rest = [w for w in words if w not in STATISTICS]
        return 0 < len(rest) < len(words) and (opaque("_".join(rest)) or self.beginnings[rest[0]] >= BEGUN)

    def in_series(self, facts: ColumnFacts) -> bool:
        """Whether it is one of several with the same name and a running number or the same beginning, and the same answers."""
        begun = _answers(facts) and self.beginnings[_beginning(facts.name)] >= BEGUN
        counted = " " not in facts.name.strip() and rarer_upwards(facts)
        long_series = self.ranges[RATED_ALIKE] >= (BATTERY if question(facts.name) else 2 * BATTERY) and not counted
        least = BATTERY if facts.distinct > 2 and facts.whole else STATEMENTS  # yes and no may tell what somebody does
        stated = self.statements >= least and facts.distinct < FEW_CODES and statement(facts)
        alike = (long_series and _range(facts) == RATED_ALIKE) or self._within_series(facts)
        return begun or stated or alike or self.opinions(facts)

    def opinions(self, facts: ColumnFacts, *, named: bool = False) -> bool:
        """Whether it is a question with the same marks or words for answers as others, or with marks up to ten.

        If it is ``named``, one word of it says something else: then many others must have the same answers.
        """
        least = STATEMENTS if named else BATTERY
        marks = len(raw_words(facts.name)) > QUESTION_WORDS and _range(facts) == RATED_ALIKE and not rarer_upwards(facts)
        return (marks and self.ranges[RATED_ALIKE] >= least) or self._same_words(facts, least) or rated_to_ten(facts)

    def _same_words(self, facts: ColumnFacts, least: int) -> bool:
        """Whether other questions have the same words for answers; words that no list has must be few and in many questions."""
        if not _in_words(facts):
            return False
        if not answers_of_opinion(facts.values):  # not the towns of two parents and two children
            least = STATEMENTS if facts.distinct <= MOST_UNKNOWN else 0
        return least > 0 and sum(self.words[folded(v)] >= least for v in facts.values) >= 3

    def _within_series(self, facts: ColumnFacts) -> bool:
        """Whether several columns that differ in a running number have the range that its numbers lie in: 2 to 5 of 1 to 5."""
        spans: Mapping[tuple[float, float], int] = self.series.get(_stem(facts.name), {})
        if not opaque(facts.name):
            return spans.get(_range(facts), 0) >= BATTERY
        if not facts.whole or facts.numbers is None or facts.distinct < 3:
            return False
        low, high = facts.low, facts.high
        return any(n >= BATTERY and span[0] <= low and high <= span[1] for span, n in spans.items())

    def asked_alike(self, facts: ColumnFacts, about_people: bool) -> bool:
        """Whether its codes are answers in order, as those of the others; of a census only where the name says nothing."""
        if _answers(facts) and self.beginnings[_beginning(facts.name)] >= BEGUN:
            return True
        unnamed = opaque(facts.name)
        enough = self.ranges[_range(facts)] >= (OPAQUE_BATTERY if unnamed else BATTERY) or (unnamed and self.in_series(facts))
        stated = question(facts.name) and self.ranges[RATED_ALIKE] >= STATEMENTS
        return enough and (unnamed or stated or not about_people)


def _answers(facts: ColumnFacts) -> bool:
    """Whether whole numbers are a few answers around or from 0 or 1, at most up to 10, and more than yes and no."""
    if not 3 <= facts.distinct <= 11 or not facts.whole or opaque(facts.name):
        return False
    return facts.low in (-2.0, -1.0, 0.0, 1.0) and facts.high <= 10


def _in_words(facts: ColumnFacts) -> bool:
    """Whether a question has a few answers in words, none of them yes or no."""
    few = facts.kind == "text" and 3 <= facts.distinct <= FEW_CODES and len(raw_words(facts.name)) > QUESTION_WORDS
    return few and facts.numbers is None and YES_NO.isdisjoint(map(folded, facts.values))


def rated_to_ten(facts: ColumnFacts) -> bool:
    """Whether a question is answered with marks up to 10, high ones too: children and rooms are seldom as many.

    >>> name = "How useful are these courses to you?"
    >>> def asked(high): return ColumnFacts(name, "integer", [str(i) for i in range(11)], np.array([9] * 8 + [high] * 3), 99)
    >>> rated_to_ten(asked(9)), rated_to_ten(asked(2))
    (True, False)
    """
    numbers = facts.numbers
    if numbers is None or not facts.whole or facts.distinct < 7 or len(raw_words(facts.name)) <= QUESTION_WORDS:
        return False
    high = float(np.asarray(facts.counts)[numbers >= 8].sum()) if len(facts.counts) == len(numbers) else 0.0
    return facts.low >= 0 and facts.high == 10 and high >= HIGH_MARKS * facts.filled


def _beginning(name: str) -> str:
    """The part of a name before the first sign, without its number (Q3_1_design), else its first three letters."""
    parts = re.split(r"[\W_]+", name.lower().strip("_"))
    return parts[0].rstrip("0123456789") or parts[0] if len(parts) > 1 else name[:3].lower()


def question(name: str) -> bool:
    """Whether a name or label is a question or statement."""
    return len(name) >= SENTENCE and " " in name.strip()


def statement(facts: ColumnFacts) -> bool:
    """Whether a column is asked as a statement about oneself: "My work leaves me time for my family".

    >>> one = np.ones(3, dtype=np.int64)
    >>> asked = ("I am content with my employer", "What is my employer?", "Size of the employer in people")
    >>> [statement(ColumnFacts("q1", "integer", list("123"), one, 3, label=label)) for label in asked]
    [True, False, False]
    """
    name = said_name(facts)
    return question(name) and not name.rstrip().endswith(("?", "？", "؟")) and not set(raw_words(name)).isdisjoint(FIRST_PERSON)


def answer_texts(facts: ColumnFacts) -> Sequence[str]:
    """The answers in words: the labels of codes that have one each, else the texts; none for numbers."""
    if facts.labels and all(v in facts.labels for v in facts.values):
        return [facts.labels[v] for v in facts.values]
    return facts.values if facts.kind == "text" and facts.numbers is None else ()


def _answer_set(facts: ColumnFacts) -> frozenset[str]:
    """The labels that a column may have, or the texts that it has, if they are few."""
    if facts.labels and facts.distinct <= FEW_CODES:
        return frozenset(facts.labels.values())
    return frozenset(facts.values) if facts.kind == "text" and facts.distinct <= FEW_CODES else frozenset()


_NUMBERED_NAME = re.compile(rf"({alternatives('questions', 'numbered')})[\W_]*\d+(?:[\W_]*[a-z])?(?:[\W_]*\d+)?(?:[\W_]*[a-z])?")
"""A word for a question, an answer or a day, and its number: domanda1, Question 2, questao3_1b."""


def _repeated(table: Sequence[ColumnFacts]) -> Counter[str]:
    """How many numbered columns there are of each word, if all of them have the same few answers: days of a class."""
    out: defaultdict[str, list[ColumnFacts]] = defaultdict(list)
    for facts in table:
        if facts.distinct and (numbered := _NUMBERED_NAME.fullmatch(facts.name.lower())):
            out[numbered[1]].append(facts)
    few = {w: same for w, same in out.items() if len({folded(v) for f in same for v in f.values}) <= MOST_UNKNOWN}
    return Counter({word: len(same) for word, same in few.items()})


def said_name(facts: ColumnFacts) -> str:
    """The name of a column, or its label if the name says nothing."""
    return facts.label if opaque(facts.name) else facts.name


def yes_or_no(facts: ColumnFacts) -> bool:
    """Whether a few texts are, or begin with, yes or no, both of them: "Yes, often", "No".

    >>> one = np.ones(3, dtype=np.int64)
    >>> answers = ["Да, часто", "Нет", "Не знаю"], ["yes", "perhaps", "often"], ["North", "Nordic", "yes"]
    >>> [yes_or_no(ColumnFacts("q", "text", said, one, 3)) for said in answers]
    [True, False, False]
    """
    if facts.kind != "text" or not 2 <= facts.distinct <= MOST_UNKNOWN:
        return False
    begun = {re.split(r"[\W_]", folded(v.strip()), maxsplit=1)[0] for v in facts.values}
    return not begun.isdisjoint(YES) and not begun.isdisjoint(NO)


MOST_TICKED, REPEATED, LISTS = 30, 0.8, 0.2
"""Different answers of a list of which several are ticked, the share of ticks that repeat an answer, and of rows with several."""
_BETWEEN = re.compile(r"\s*[;,|]\s*")


def ticked(facts: ColumnFacts) -> bool:
    """Whether texts are lists of a few answers, of which some people ticked one, some two, some more.

    >>> def column(*texts): return ColumnFacts("q", "text", texts, np.full(len(texts), 9), 9 * len(texts))
    >>> ticked(column("TV, radio, press", "TV", "radio, press", "TV, press")), ticked(column("Rome, Italy", "Bari, Italy"))
    (True, False)
    """
    if facts.kind != "text" or facts.distinct < 3 or len(facts.counts) != facts.distinct:
        return False
    lists = [[item for item in _BETWEEN.split(folded(v)) if item] for v in facts.values]
    lengths = {min(len(items), 3) for items in lists}
    items = Counter(item for items in lists for item in set(items))
    several = sum(int(n) for items, n in zip(lists, facts.counts, strict=True) if len(items) > 1)
    again = sum(n for n in items.values() if n > 1)
    return (
        lengths == {1, 2, 3}
        and len(items) <= max(MOST_TICKED, facts.distinct // 4)
        and several >= LISTS * facts.filled
        and again >= REPEATED * sum(items.values())
    )


LEAST_MARKS, SHARED_RANGE, BEST_MARK = 2, 0.5, 100
"""Columns of marks in a run from which their neighbours are marks too, the part of the range that they share, the best mark."""


def marks_beside(table: Sequence[ColumnFacts], named: Sequence[str]) -> frozenset[str]:
    """Columns of numbers without a meaning among neighbours that hold marks, in the same range: further subjects; of letters too.

    ``named`` are the topics of the columns by name, empty for none.
    """
    out = _letters(table)
    run: list[tuple[ColumnFacts, str]] = []
    for facts, key in [*zip(table, named, strict=True), (None, "")]:
        if facts is not None and key in ("", "marks") and _may_be_marks(facts):
            run.append((facts, key))
            continue
        known = [f for f, k in run if k == "marks"]
        if len(known) >= LEAST_MARKS:
            out |= {f.name for f, k in run if not k and sum(_same_range(f, g) for g in known) >= LEAST_MARKS}
        run = []
    return frozenset(out)


_MARK = re.compile("[A-G][+-]?")
_SURE = re.compile("[C-G][+-]")
"""Marks with a sign that no blood group has."""


def _letters(table: Sequence[ColumnFacts]) -> set[str]:
    """Columns of marks in letters (A+, B-, C+), and those of the same letters without a sign beside at least two of them.

    >>> def column(name, *values): return ColumnFacts(name, "text", values, np.full(len(values), 9), 9 * len(values))
    >>> one, two, three = column("BM", "A+", "B", "C+"), column("PI", "D-", "C", "A"), column("x", "A", "C")
    >>> sorted(_letters([one, two, three])), _letters([column("blood", "A+", "A-", "B+"), three])
    (['BM', 'PI', 'x'], set())
    """
    letters = [f for f in table if f.kind == "text" and f.distinct >= 2 and all(map(_MARK.fullmatch, f.values))]
    signed = [f.name for f in letters if any(map(_SURE.fullmatch, f.values))]
    return {f.name for f in letters} if len(signed) >= LEAST_MARKS else set(signed)


def _may_be_marks(facts: ColumnFacts) -> bool:
    numbers = facts.numbers
    return numbers is not None and len(numbers) >= 3 and facts.low >= 0 and facts.high <= BEST_MARK


def _same_range(a: ColumnFacts, b: ColumnFacts) -> bool:
    """Whether each of two ranges of numbers lies for the most part in the other."""
    shared = min(a.high, b.high) - max(a.low, b.low)
    return shared > 0 and shared >= SHARED_RANGE * max(a.high - a.low, b.high - b.low)


def _stem(name: str) -> str:
    """A name without the number or letter that counts inside a series: q1_1, q1_2; a12a, a12b."""
    return re.sub(r"(?<=[\W_\d])[a-z]$|\d+$", "", name.lower())


def _range(facts: ColumnFacts) -> tuple[float, float]:
    """The ends of a short range of whole numbers, of at least four; of names that say something only that there is one."""
    if not 4 <= facts.distinct <= FEW_CODES or not facts.whole:
        return (0.0, 0.0)
    low, high = facts.low, facts.high
    if low not in (0.0, 1.0) or high - low > 10:
        return (0.0, 0.0)
    if opaque(facts.name):
        return low, high
    return RATED_ALIKE if high in (4.0, 5.0, 7.0) or (high == 10.0 and " " in facts.name.strip()) else (0.0, 0.0)

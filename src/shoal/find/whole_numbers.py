"""What whole numbers are, by how they lie: ratings, counts, codes of categories, days that a spreadsheet counts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.find.finding import ColumnFacts
from shoal.find.name_words import opaque, raw_words
from shoal.find.orders import answers_of_opinion
from shoal.find.vocabulary import folded, word_set

FEW_CODES = 12
"""Whole numbers of at most as many different values may be codes of categories."""
MOST_CODES = 25
"""The largest code of a question whose name says nothing."""
RATED = 0.3
"""Share of rows above the middle of 0 to 10 from which the numbers are ratings."""
BEGUN_LATE = 5
"""The smallest number of a list that begins too late for codes."""
STEP = 3
"""A common divisor from which whole numbers count in steps (6, 12, 24, 36 months) and are not codes."""
FEW_SPARSE, ROWS_EACH = 12, 40
"""Different whole numbers, and rows for each of them, from which numbers with gaps between them are codes."""


EARLIEST_SHORT = 30
"""The smallest year of two digits: smaller numbers may count years."""
COUNTED, RARE_LAST = 6, 0.01
"""Different numbers from 0, and the share of rows that the largest has, from which they are counts."""


def serial_days(facts: ColumnFacts) -> bool:
    """Whether whole numbers of a date column are the days that a spreadsheet counts from 1900: from 1927 to 2064."""
    numbers = facts.numbers
    assert numbers is not None
    return facts.whole and facts.distinct > 5 and float(np.min(numbers)) >= 10_000 and float(np.max(numbers)) <= 60_000


def two_digit_years(facts: ColumnFacts) -> bool:
    """Whether whole numbers of a column that says year lie between 30 and 99: years of the last century without it."""
    numbers = facts.numbers
    assert numbers is not None
    return facts.whole and float(np.min(numbers)) >= EARLIEST_SHORT and float(np.max(numbers)) <= 99


def dense(facts: ColumnFacts) -> bool:
    """Whether the values fill most of a short range: 1, 2, 3, 4, as codes do."""
    numbers = facts.numbers
    assert numbers is not None
    low, high = float(np.min(numbers)), float(np.max(numbers))
    return low >= -3 and high - low + 1 <= 2.5 * len(numbers) and high <= 130


def rating(facts: ColumnFacts) -> bool:
    """Whether whole numbers are marks from 0 to 10, all used and many of them above the middle; counts get rarer upwards."""
    numbers = facts.numbers
    assert numbers is not None
    whole = facts.distinct == len(numbers) == 11 and float(np.min(numbers)) == 0 and float(np.max(numbers)) == 10
    return whole and float(facts.counts[numbers > 5].sum()) >= RATED * float(facts.counts.sum())


def around_zero(facts: ColumnFacts) -> bool:
    """Whether a few whole numbers reach as far below 0 as above, as answers from "not at all" to "entirely" do.

    >>> one = np.ones(4, dtype=np.int64)
    >>> [around_zero(ColumnFacts("q", "integer", values, one, 4)) for values in (["-2", "-1", "1", "2"], ["-1", "0", "1", "2"])]
    [True, False]
    """
    numbers = facts.numbers
    if numbers is None or not facts.whole or not 4 <= facts.distinct <= FEW_CODES:
        return False
    return float(np.min(numbers)) == -float(np.max(numbers)) >= -BEGUN_LATE


def plural_count(facts: ColumnFacts) -> bool:
    """Whether whole numbers from 0 count what the name says in the plural: PriorConvictions, n_arrests."""
    last = raw_words(facts.name)[-1:]
    plural = any(w.endswith("s") and not w.endswith(("ss", "us", "is")) and len(w) > 4 for w in last)
    return plural and facts.distinct > 3 and facts.numbers is not None and float(np.min(facts.numbers)) == 0


def rarer_upwards(facts: ColumnFacts) -> bool:
    """Whether whole numbers run from 0, the most frequent, and get rarer up to a rare last one, as counts do and codes seldom.

    >>> visits = ColumnFacts("emr", "integer", list("0123456"), np.array([3600, 500, 150, 60, 30, 9, 4]), 4353)
    >>> rarer_upwards(visits)
    True
    """
    numbers = facts.numbers
    if numbers is None or facts.distinct < COUNTED or len(facts.counts) != len(numbers):
        return False
    times = facts.counts[np.argsort(numbers)]
    rises = int(np.sum(np.diff(times) > 0))
    rare = float(times[-1]) < RARE_LAST * float(times.sum())
    return float(np.min(numbers)) == 0 and int(np.argmax(times)) == 0 and rare and 5 * rises <= len(times)


def sparse_codes(facts: ColumnFacts) -> bool:
    """Whether a few whole numbers in very many rows are codes: 1, 2, 31, 32. Amounts are round or come in steps."""
    numbers = facts.numbers
    assert numbers is not None
    few = 3 <= facts.distinct <= FEW_SPARSE and facts.filled >= ROWS_EACH * facts.distinct
    told = numbers[numbers != 0]
    if not few or float(np.min(numbers)) < 0 or float(np.mean(np.mod(told, 5) == 0)) >= 0.5:
        return False
    return int(np.gcd.reduce(told.astype(np.int64))) < STEP


def levels_of_a_test(facts: ColumnFacts) -> bool:
    """Whether what is usually measured is given in levels: 1 to 3, 4 or 5 without a gap, each in many rows."""
    numbers = facts.numbers
    assert numbers is not None
    run = facts.distinct == len(numbers) and sorted(numbers.tolist()) == list(range(1, facts.distinct + 1))
    return run and 3 <= facts.distinct <= 5 and facts.filled >= ROWS_EACH * facts.distinct


def grown(facts: ColumnFacts) -> bool:
    """Whether whole numbers begin at 0 or 1 and have one, two and three digits or more, as amounts and no codes do."""
    numbers = facts.numbers
    assert numbers is not None
    return float(np.min(numbers)) in (0.0, 1.0) and len({len(v) for v in facts.values}) >= 3


def mostly_different(facts: ColumnFacts) -> bool:
    """Whether whole numbers of several lengths seldom repeat, as amounts do and no codes of a topic."""
    return facts.distinct > 0.5 * facts.filled and len({len(v) for v in facts.values}) >= 3


def begun_late(facts: ColumnFacts) -> bool:
    """Whether many whole numbers lie close together and begin at 5 or later, as ages at an event do and no list of codes."""
    numbers = facts.numbers
    assert numbers is not None
    return facts.distinct > FEW_CODES and float(np.min(numbers)) >= BEGUN_LATE and float(np.max(numbers)) < 100 and dense(facts)


def code_digits(facts: ColumnFacts) -> bool:
    """Whether all numbers have the same four to six digits and many repeat, as codes of occupations and industries do."""
    lengths = {len(v) for v in facts.values}
    return lengths <= {4, 5, 6} and len(lengths) <= 2 and 30 < facts.distinct < 0.5 * facts.filled and _few_round(facts)


def short_codes(facts: ColumnFacts) -> bool:
    """Whether whole numbers run from 1 to at most 25: answers of a question, where the name says nothing. Marks begin at 0."""
    numbers = facts.numbers
    assert numbers is not None
    return facts.distinct <= FEW_CODES or (float(numbers.min()) == 1 and float(numbers.max()) <= MOST_CODES)


def leading_zeros(facts: ColumnFacts) -> bool:
    """Whether some numbers are written with a zero in front, as codes are: 0100, 007."""
    return facts.kind == "text" and any(len(v) > 1 and v[0] == "0" and v.isdecimal() for v in facts.values)


def long_codes(facts: ColumnFacts) -> bool:
    """Whether whole numbers have one length of at least seven digits, repeat and are seldom round: codes, not amounts."""
    lengths = {len(v.removesuffix(".0")) for v in facts.values} if facts.whole else set()
    return len(lengths) == 1 and 7 <= lengths.pop() <= 15 and facts.distinct < 0.5 * facts.filled and _few_round(facts)


def _few_round(facts: ColumnFacts) -> bool:
    return sum(v.removesuffix(".0").endswith("000") for v in facts.values) < 0.2 * len(facts.values)


def amounts(facts: ColumnFacts) -> bool:
    """Large numbers of which many are round, as money that people report is."""
    numbers = facts.numbers
    if numbers is None or facts.distinct < 15 or float(np.max(numbers)) < 1000:
        return False
    large = numbers[np.isfinite(numbers) & (np.abs(numbers) >= 100)]
    return len(large) >= 10 and float(np.mean(np.mod(large, 50) == 0)) >= 0.3


BATTERY, OPAQUE_BATTERY = 4, 5
"""Columns with the same short range of codes that make a battery of questions; more where their names say nothing."""
STATEMENTS = 10
"""Questions with the range of ratings from which those of a census are opinions too: few may ask for children and rooms."""
BEGUN = 5
"""Columns of a few codes each whose names begin alike that make a battery: natspac, natenvir, natheal …"""
_NONE = (0.0, 0.0)
RATED_ALIKE, SENTENCE = (1.0, 1.0), 20
"""What stands for the ranges that ratings have, and the letters of a name in words from which it is a question."""


MOST_UNKNOWN = 7
"""Different answers in words that no list has up to which they may be opinions."""
QUESTION_WORDS, HIGH_MARKS = 5, 0.2
"""Words of the longest name that is not a question, and the share of 8, 9 and 10 from which numbers up to 10 are marks."""
YES_NO = word_set("values", "yes") | word_set("values", "no") | word_set("values", "yes or no")
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

    @classmethod
    def of(cls, table: Sequence[ColumnFacts]) -> Batteries:
        spans = [(facts, _range(facts)) for facts in table]
        told = [(facts, span) for facts, span in spans if span != _NONE]
        begun = Counter(_beginning(facts.name) for facts in table if _answers(facts))
        series: defaultdict[str, Counter[tuple[float, float]]] = defaultdict(Counter)
        for facts, span in told:
            series[_stem(facts.name)][span] += 1
        words = Counter(folded(v) for facts in table if _in_words(facts) for v in facts.values)
        return cls(Counter(span for _, span in told), series, begun, sum(map(statement, table)), words)

    def in_series(self, facts: ColumnFacts) -> bool:
        """Whether it is one of several with the same name and a running number or the same beginning, and the same answers."""
        begun = _answers(facts) and self.beginnings[_beginning(facts.name)] >= BEGUN
        asked = self.ranges[RATED_ALIKE] >= (BATTERY if question(facts.name) else STATEMENTS) and " " in facts.name.strip()
        stated = self.statements >= STATEMENTS and facts.distinct < FEW_CODES and statement(facts)
        alike = (asked and _range(facts) == RATED_ALIKE) or self._within_series(facts)
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
        if not answers_of_opinion(facts.values):  # the towns of two parents and two children are no opinions
            least = STATEMENTS if facts.distinct <= MOST_UNKNOWN else 0
        return least > 0 and sum(self.words[folded(v)] >= least for v in facts.values) >= 3

    def _within_series(self, facts: ColumnFacts) -> bool:
        """Whether several columns that differ in a running number have the range that its numbers lie in: 2 to 5 of 1 to 5."""
        spans: Mapping[tuple[float, float], int] = self.series.get(_stem(facts.name), {})
        if not opaque(facts.name):
            return spans.get(_range(facts), 0) >= BATTERY
        if not facts.whole or facts.numbers is None or facts.distinct < 3:
            return False
        low, high = float(facts.numbers.min()), float(facts.numbers.max())
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
    if not facts.whole or facts.numbers is None or not 3 <= facts.distinct <= 11 or opaque(facts.name):
        return False
    return float(np.min(facts.numbers)) in (-2.0, -1.0, 0.0, 1.0) and float(np.max(facts.numbers)) <= 10


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
    return float(numbers.min()) >= 0 and float(numbers.max()) == 10 and high >= HIGH_MARKS * facts.filled


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
    said = facts.label if opaque(facts.name) else facts.name
    return question(said) and not said.rstrip().endswith(("?", "？", "؟")) and not set(raw_words(said)).isdisjoint(FIRST_PERSON)


def _stem(name: str) -> str:
    """A name without the number or letter that counts inside a series: q1_1, q1_2; a12a, a12b."""
    return re.sub(r"(?<=[\W_\d])[a-z]$|\d+$", "", name.lower())


def _range(facts: ColumnFacts) -> tuple[float, float]:
    """The ends of a short range of whole numbers, of at least four; of names that say something only that there is one."""
    if not facts.whole or facts.numbers is None or not 4 <= facts.distinct <= FEW_CODES:
        return (0.0, 0.0)
    low, high = float(facts.numbers.min()), float(facts.numbers.max())
    if low not in (0.0, 1.0) or high - low > 10:
        return (0.0, 0.0)
    if opaque(facts.name):
        return low, high
    return RATED_ALIKE if high in (4.0, 5.0, 7.0) or (high == 10.0 and " " in facts.name.strip()) else (0.0, 0.0)

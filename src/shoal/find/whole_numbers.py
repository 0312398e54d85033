"""What whole numbers are, by how they lie: ratings, counts, codes of categories, days that a spreadsheet counts."""

from __future__ import annotations

import numpy as np

from shoal.find.finding import ColumnFacts
from shoal.find.name_words import raw_words

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
    return facts.whole and facts.distinct > 5 and facts.low >= 10_000 and facts.high <= 60_000


def two_digit_years(facts: ColumnFacts) -> bool:
    """Whether whole numbers of a column that says year lie between 30 and 99: years of the last century without it."""
    return facts.whole and facts.low >= EARLIEST_SHORT and facts.high <= 99


def dense(facts: ColumnFacts) -> bool:
    """Whether the values fill most of a short range: 1, 2, 3, 4, as codes do."""
    numbers = facts.numbers
    assert numbers is not None
    low, high = facts.low, facts.high
    return low >= -3 and high - low + 1 <= 2.5 * len(numbers) and high <= 130


def rating(facts: ColumnFacts) -> bool:
    """Whether whole numbers are marks from 0 to 10, all used and many of them above the middle; counts get rarer upwards."""
    numbers = facts.numbers
    assert numbers is not None
    whole = facts.distinct == len(numbers) == 11 and facts.low == 0 and facts.high == 10
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
    return facts.low == -facts.high >= -BEGUN_LATE


def plural_count(facts: ColumnFacts) -> bool:
    """Whether whole numbers from 0 count what the name says in the plural: PriorConvictions, n_arrests."""
    last = raw_words(facts.name)[-1:]
    plural = any(w.endswith("s") and not w.endswith(("ss", "us", "is")) and len(w) > 4 for w in last)
    return plural and facts.distinct > 3 and facts.numbers is not None and facts.low == 0


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
    return facts.low == 0 and int(np.argmax(times)) == 0 and rare and 5 * rises <= len(times)


def sparse_codes(facts: ColumnFacts) -> bool:
    """Whether a few whole numbers in very many rows are codes: 1, 2, 31, 32. Amounts are round or come in steps."""
    numbers = facts.numbers
    assert numbers is not None
    few = 3 <= facts.distinct <= FEW_SPARSE and facts.filled >= ROWS_EACH * facts.distinct
    codes = numbers[numbers != 0]
    if not few or facts.low < 0 or float(np.mean(np.mod(codes, 5) == 0)) >= 0.5:
        return False
    return int(np.gcd.reduce(codes.astype(np.int64))) < STEP


def levels_of_a_test(facts: ColumnFacts) -> bool:
    """Whether what is usually measured is given in levels: 1 to 3, 4 or 5 without a gap, each in many rows."""
    numbers = facts.numbers
    assert numbers is not None
    run = facts.distinct == len(numbers) and sorted(numbers.tolist()) == list(range(1, facts.distinct + 1))
    return run and 3 <= facts.distinct <= 5 and facts.filled >= ROWS_EACH * facts.distinct


def grown(facts: ColumnFacts) -> bool:
    """Whether whole numbers begin at 0 or 1 and have one, two and three digits or more, as amounts and no codes do."""
    return facts.low in (0.0, 1.0) and len({len(v) for v in facts.values}) >= 3


def mostly_different(facts: ColumnFacts) -> bool:
    """Whether whole numbers of several lengths seldom repeat, as amounts do and no codes of a topic."""
    return facts.distinct > 0.5 * facts.filled and len({len(v) for v in facts.values}) >= 3


def begun_late(facts: ColumnFacts) -> bool:
    """Whether many whole numbers lie close together and begin at 5 or later, as ages at an event do and no list of codes."""
    return facts.distinct > FEW_CODES and facts.low >= BEGUN_LATE and facts.high < 100 and dense(facts)


def code_digits(facts: ColumnFacts) -> bool:
    """Whether all numbers have the same four to six digits and many repeat, as codes of occupations and industries do."""
    lengths = {len(v) for v in facts.values}
    return lengths <= {4, 5, 6} and len(lengths) <= 2 and 30 < facts.distinct < 0.5 * facts.filled and _few_round(facts)


def short_codes(facts: ColumnFacts) -> bool:
    """Whether whole numbers run from 1 to at most 25: answers of a question, where the name says nothing. Marks begin at 0."""
    return facts.distinct <= FEW_CODES or (facts.low == 1 and facts.high <= MOST_CODES)


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
    if numbers is None or facts.distinct < 15 or facts.high < 1000:
        return False
    large = numbers[np.isfinite(numbers) & (np.abs(numbers) >= 100)]
    return len(large) >= 10 and float(np.mean(np.mod(large, 50) == 0)) >= 0.3

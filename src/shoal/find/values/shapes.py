"""Numbers that name somebody by their shape alone, whatever their column is called: long numbers, and exact positions.

Amounts, counts and measurements rarely have these shapes; where one has, a person can say so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from shoal.find.finding import ColumnFacts
from shoal.find.values.dates import compact_date
from shoal.find.values.identifiers import spread

LONG = 8
"""Digits from which numbers of the same length are taken for numbers of people or things."""
LEAST_VALUES, LEAST_SHARE, SAME_LENGTH = 20, 0.1, 0.95
ROUND = 0.25
"""Share of multiples of ten above which long numbers are amounts: one in ten is by chance."""
FEWEST_PLACES, NAMED_PLACES, MOST_PLACES, PLACED = 4, 3, 8, 0.8
"""Decimal places of exact positions (four tell ten metres, three a street), and the share of values that has them."""
WIDEST, FAR = 60.0, 5.0
"""Degrees that the people of a table are spread over at most, and how far from zero their middle is."""


def long_numbers(facts: ColumnFacts) -> bool:
    """Whether a column holds long whole numbers of one length, of many different values, few of them round and none a date."""
    if not facts.whole or facts.distinct < LEAST_VALUES or facts.distinct < LEAST_SHARE * facts.filled:
        return False
    digits = [v.removesuffix(".0").lstrip("-") for v in spread(facts.values)]
    length, n = Counter(map(len, digits)).most_common(1)[0]
    if length < LONG or n < SAME_LENGTH * len(digits):
        return False
    dates = sum(compact_date(v) for v in digits)
    return not rounded(facts) and dates < 0.5 * len(digits)


def rounded(facts: ColumnFacts) -> bool:
    """Whether more of the whole numbers are multiples of ten than chance would make, as amounts are."""
    digits = [v.removesuffix(".0") for v in spread(facts.values)]
    return sum(v.endswith("0") for v in digits) > ROUND * len(digits)


def exact_degrees(facts: ColumnFacts) -> bool:
    """Whether a column holds numbers that are written like exact degrees of latitude or longitude, nearly all different."""
    numbers = facts.numbers
    if numbers is None or facts.whole or facts.distinct < LEAST_VALUES or facts.distinct < 0.5 * facts.filled:
        return False
    low, high = float(np.min(numbers)), float(np.max(numbers))
    near = -180 <= low <= high <= 180 and high - low <= WIDEST and abs(float(np.median(numbers))) >= FAR
    return near and places_share(facts, FEWEST_PLACES) >= PLACED


def places_share(facts: ColumnFacts, fewest: int) -> float:
    """The share of values with at least so many decimal places, and not more than positions have."""
    places = [len(v.partition(".")[2]) for v in spread(facts.values)]
    return sum(fewest <= p <= MOST_PLACES for p in places) / max(len(places), 1)


def position_pairs(columns: Sequence[ColumnFacts]) -> tuple[str, ...]:
    """Columns that together tell exact positions: at least two with exact degrees, one of them within those of latitude."""
    found = [facts for facts in columns if exact_degrees(facts)]
    north = [f for f in found if f.numbers is not None and float(np.max(np.abs(f.numbers))) <= 90]
    return tuple(f.name for f in found) if len(found) >= 2 and north else ()

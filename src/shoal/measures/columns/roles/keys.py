"""Values that number rows, people or things: long codes, consecutive numbers."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from shoal.measures.columns.finding import ColumnFacts
from shoal.measures.columns.roles.seen import FEWEST_ROWS
from shoal.measures.columns.values.identifiers import spread
from shoal.measures.columns.values.shapes import rounded

LONG, MANY, SAME = 9, 20, 0.95
"""Signs, different values and share of one shape from which codes are keys, however often they repeat."""


def one_shape(facts: ColumnFacts) -> bool:
    """Whether nearly all values have digits and letters at the same places."""
    looked = spread(facts.values, 500)
    shapes = Counter(re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", v)) for v in looked)
    return shapes.most_common(1)[0][1] >= SAME * len(looked)


def long_key(facts: ColumnFacts) -> bool:
    """Long codes of one shape, mostly digits and not round: numbers of people, cards or telephones that repeat.

    >>> import numpy as np
    >>> calls = [f"4179{n * 7919 % 10**7:07d}" for n in range(1, 31)]
    >>> long_key(ColumnFacts("a", "integer", calls, np.full(30, 50), 1500))
    True
    """
    if facts.distinct < MANY or facts.kind not in ("text", "integer") or not one_shape(facts):
        return False
    looked = spread(facts.values, 500)
    digits = min(sum(c.isdigit() for c in v) for v in looked)
    return min(map(len, looked)) >= LONG and digits >= LONG - 3 and not rounded(facts)


def is_key(facts: ColumnFacts) -> bool:
    """Long codes, mostly different: keys that name somebody, also where they repeat."""
    if long_key(facts):
        return True
    if facts.distinct < 0.5 * facts.filled or facts.filled < FEWEST_ROWS or facts.kind not in ("text", "integer", "binary"):
        return False
    looked = facts.values[:: max(1, len(facts.values) // 500)]
    lengths = {len(v) for v in looked}
    if facts.kind == "integer" or facts.whole:
        return min(lengths) >= 7 and max(lengths) - min(lengths) <= 2
    mixed = sum(bool(re.fullmatch(r"(?=.*\d)[\w\-./]{6,64}", v)) for v in looked)
    return mixed >= 0.95 * len(looked) and max(lengths) - min(lengths) <= 4


def numbering(facts: ColumnFacts) -> bool:
    """Whole numbers that number rows: close to one another, or nearly all with as many digits. Amounts spread further."""
    numbers = facts.numbers
    if numbers is None or not facts.whole:
        return False
    close = float(np.max(numbers) - np.min(numbers)) < 10 * len(numbers)
    digits = Counter(len(v) for v in facts.values)
    return close or digits.most_common(1)[0][1] >= 0.85 * len(facts.values)

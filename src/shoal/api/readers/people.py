"""A number of people, as people write it: 1200, 1_200, 17.5M, 3e8."""

from __future__ import annotations

import re
from fractions import Fraction

from shoal.errors import UsageError

_PEOPLE = re.compile(r"^\s*([+-]?)\s*([0-9][0-9_,]*(?:\.[0-9]*)?(?:e[0-9]{1,2})?)\s*(k|m|bn|b|g)?\s*$", re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9, "bn": 10**9}
MOST_PEOPLE = 2**53


def number_of_people(text: str) -> int | None:
    """A number of people from text; None where the text is not a number. Negative numbers and fractions are refused.

    >>> number_of_people("17.5M"), number_of_people("1_200"), number_of_people("3e8"), number_of_people("people.csv")
    (17500000, 1200, 300000000, None)
    """
    found = _PEOPLE.match(text)
    if found is None:
        return None
    sign, digits, unit = found.groups()
    if sign == "-":
        raise UsageError("a population is a number of people, so it cannot be negative.", hint="Use for example 17.5M.")
    number = Fraction(digits.replace("_", "").replace(",", "")) * _UNITS[(unit or "").lower()]
    if number.denominator != 1 or not 1 <= number < MOST_PEOPLE:
        raise UsageError("a population is a whole number of people, at least 1.", hint="Use for example 1200 or 17.5M.")
    return int(number)


def population_of(given: int | str) -> int:
    """A number of people from a number or text; text that is none is refused."""
    found = number_of_people(given) if isinstance(given, str) else given
    if found is None:
        raise UsageError("a population is a number of people.", hint="Use for example 1200 or 17.5M.")
    return found

"""Names of people: frequent given names, alone or beside a family name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoal.find.names.words import folded
from shoal.find.values.given_names import GIVEN

_UP, _ANY = "A-ZÀ-ÖØ-Þ", "a-zA-ZÀ-ÖØ-öø-ÿ"
_WRITTEN = re.compile(
    rf"([{_UP}][{_ANY}'’-]+|[{_UP}]\.?)([ ,]+([{_UP}][{_ANY}'’.-]*)){{0,3}}|[{_UP}'’-]+([ ,]+[{_UP}'’.-]+){{1,3}}"
)
LEAST_VALUES = 15


def people_share(values: Sequence[str]) -> float:
    """The share of values that are written as names and hold a given name; 0 where there are few values or other texts.

    >>> people_share([f"{a} {b}" for a in ("Mary", "John", "Qix", "Susan") for b in ("Stone", "Smith", "Ward", "Hall")])
    0.75
    """
    if len(values) < LEAST_VALUES:
        return 0.0
    written = [v for v in values if _WRITTEN.fullmatch(v)]
    if len(written) < 0.9 * len(values):
        return 0.0
    return sum(any(w in GIVEN for w in re.split(r"[ ,.]+", folded(v))) for v in written) / len(values)


def full_names_share(values: Sequence[str]) -> float:
    """The share of values of several words that are written as names and hold a given name, however few there are.

    >>> full_names_share(["Mary Jones", "Ruth King", "Qix Brown", "North Ward"])
    0.5
    """
    full = [v for v in values if len(v.split()) > 1 and _WRITTEN.fullmatch(v)]
    return sum(any(w in GIVEN for w in re.split(r"[ ,.]+", folded(v))) for v in full) / max(len(values), 1)

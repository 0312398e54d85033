"""The comparison rule: when a number that was found meets the limit that was asked. Nothing else in Shoal decides that.

* Counts are compared exactly, as whole numbers.
* Real numbers (shares, risks, entropies, distances) get one tolerance: 1e-9, relative to a limit above 1. A limit that may be
  reached (≤, ≥) is met when it is missed by no more than that, so 0.2 computed as 0.20000000000000004 is 0.2. A limit that may
  not be reached (<) is met only when the number stays clear of it by more than that.
* A risk of 1/n against a limit is decided by n: :func:`class_for` gives the smallest class that the limit allows, and class
  sizes are counts.
"""

from __future__ import annotations

import math
from numbers import Integral

TOLERANCE = 1e-9


def slack(limit: float) -> float:
    """The tolerance of a limit.

    >>> slack(0.2), slack(5.0)
    (1e-09, 5e-09)
    """
    return TOLERANCE * max(1.0, abs(limit))


def at_least(value: float, limit: float) -> bool:
    """found ≥ limit.

    >>> at_least(4, 5), at_least(2.9999999999, 3.0), at_least(2.9999, 3.0)
    (False, True, False)
    """
    return bool(value >= (limit if _counts(value, limit) else limit - slack(limit)))


def at_most(value: float, limit: float) -> bool:
    """found ≤ limit.

    >>> at_most(0.2 + 5e-10, 0.2), at_most(0.2 + 2e-9, 0.2)
    (True, False)
    """
    return bool(value <= (limit if _counts(value, limit) else limit + slack(limit)))


def below(value: float, limit: float) -> bool:
    """found < limit.

    >>> below(4, 5), below(3.0 - 1e-12, 3.0), below(2.99, 3.0)
    (True, False, True)
    """
    return bool(value < (limit if _counts(value, limit) else limit - slack(limit)))


def equal(value: float, limit: float) -> bool:
    """found = limit."""
    return at_least(value, limit) and at_most(value, limit)


def class_for(risk: float) -> int:
    """The smallest class whose members are at no more than this risk: the least n with n ≥ 1/risk.

    >>> [class_for(r) for r in (0.09, 0.2, 0.1, 1 / 3, 0.33333333333, 0.3333, 1.0)]
    [12, 5, 10, 3, 3, 4, 1]
    """
    turns = 1.0 / risk
    return math.ceil(turns - slack(turns))


def most_of(share: float, total: int) -> int:
    """The largest count that is at most this share of a total.

    >>> most_of(0.1, 30), most_of(0.3, 10), most_of(0.05, 19)
    (3, 3, 0)
    """
    part = share * total
    return math.floor(part + slack(part))


def _counts(one: object, limit: object) -> bool:
    return all(isinstance(value, Integral) for value in (one, limit))

r"""The chance for one given person, not the average: what an individual wants to know.

A person whose cell has probability p, in a group of k: alone with :math:`(1-p)^{k-1}`; expected number who look alike
:math:`1+(k-1)p`; a match by an attacker who picks one of them is right with :math:`E[1/(1+\mathrm{Bin}(k-1,p))]=
(1-(1-p)^k)/(kp)` (Rocher et al. 2019).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from shoal.model.estimate import Estimate
from shoal.prediction.distribution import fraction, whole


@dataclass(frozen=True)
class Person:
    """How one person stands in a group: ``unique``, ``crowd`` (with the person), ``match`` (a guess is right)."""

    unique: Estimate
    crowd: Estimate
    match: Estimate


def person(probability: float, group_size: int) -> Person:
    """For someone whose cell has this probability, in a group of ``group_size`` that includes the person.

    >>> p = person(0.1, group_size=10)
    >>> round(p.unique.value, 10), p.crowd.value, round(p.match.value, 10)
    (0.387420489, 1.9, 0.6513215599)
    """
    p = fraction(probability, what="probability")
    k = whole(group_size, what="group_size", least=1)
    if p == 0.0 or k == 1:
        one = Estimate.exact(1.0, method="alone by definition", log_value=0.0)
        return Person(one, one, one)
    log_rest = -math.inf if p == 1.0 else math.log1p(-p)
    log_unique = (k - 1) * log_rest
    unique = Estimate.exact(math.exp(log_unique), method="(1-p)^(k-1)", log_value=log_unique)
    crowd = Estimate.exact(1 + (k - 1) * p, method="1 + (k-1) p")
    match = Estimate.exact(-math.expm1(k * log_rest) / (k * p), method="(1-(1-p)^k)/(k p)")
    return Person(unique, crowd, match)

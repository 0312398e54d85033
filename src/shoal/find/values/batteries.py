"""Batteries: several questions of a table that take the same answers, known by their codes and the beginnings of their names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.find.finding import ColumnFacts
from shoal.find.names.words import opaque
from shoal.find.values.whole_numbers import FEW_CODES

BATTERY, OPAQUE_BATTERY = 4, 5
"""Columns with the same short range of codes that make a battery of questions; more where their names say nothing."""
BEGUN = 5
"""Columns of a few codes each whose names begin alike that make a battery: natspac, natenvir, natheal …"""
_NONE = (0.0, 0.0)


@dataclass(frozen=True)
class Batteries:
    """How many columns of a table share a range of codes, the same with a running number, and the beginning of a name."""

    ranges: Counter[tuple[float, float]]
    series: Counter[tuple[str, tuple[float, float]]]
    beginnings: Counter[str]

    @classmethod
    def of(cls, table: Sequence[ColumnFacts]) -> Batteries:
        spans = [(facts, _range(facts)) for facts in table]
        told = [(facts, span) for facts, span in spans if span != _NONE]
        begun = Counter(_beginning(facts.name) for facts in table if _answers(facts))
        return cls(Counter(span for _, span in told), Counter((_stem(facts.name), span) for facts, span in told), begun)

    def in_series(self, facts: ColumnFacts) -> bool:
        """Whether it is one of several with the same name and a running number or the same beginning, and the same answers."""
        begun = _answers(facts) and self.beginnings[_beginning(facts.name)] >= BEGUN
        return begun or self.series[(_stem(facts.name), _range(facts))] >= BATTERY

    def asked_alike(self, facts: ColumnFacts, about_people: bool) -> bool:
        """Whether its codes are answers in order, as those of the others; of a census only where the name says nothing."""
        if _answers(facts) and self.beginnings[_beginning(facts.name)] >= BEGUN:
            return True
        unnamed = opaque(facts.name)
        enough = self.ranges[_range(facts)] >= (OPAQUE_BATTERY if unnamed else BATTERY) or (unnamed and self.in_series(facts))
        return enough and (unnamed or not about_people)


def _answers(facts: ColumnFacts) -> bool:
    """Whether whole numbers are a few answers around or from 0 or 1, at most up to 10, and more than yes and no."""
    if not facts.whole or facts.numbers is None or not 3 <= facts.distinct <= 11 or opaque(facts.name):
        return False
    return float(np.min(facts.numbers)) in (-2.0, -1.0, 0.0, 1.0) and float(np.max(facts.numbers)) <= 10


def _beginning(name: str) -> str:
    """The part of a name before the first sign, else its first three letters."""
    parts = re.split(r"[\W_]+", name.lower().strip("_"))
    return parts[0] if len(parts) > 1 else name[:3].lower()


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
    return (1.0, 1.0) if high in (4.0, 5.0, 7.0) else (0.0, 0.0)

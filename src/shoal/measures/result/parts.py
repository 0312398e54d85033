"""Parts of a result: risk under the attackers, diversity and closeness of a sensitive column."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.measures.classes.diversity import whole_diversity


@dataclass(frozen=True)
class Attacker:
    """Risk under one attacker."""

    max: float
    mean: float
    above: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"max": self.max, "mean": self.mean}
        return out | ({"above": dict(self.above)} if self.above else {})


@dataclass(frozen=True)
class Risk:
    """Risk under the three attackers; ``basis`` says what journalist and marketer were compared with."""

    prosecutor: Attacker
    journalist: Attacker
    marketer: float
    basis: str

    @property
    def max(self) -> float:
        """The highest of all: the prosecutor's."""
        return self.prosecutor.max

    @property
    def average(self) -> float:
        """The mean over all records: the prosecutor's."""
        return self.prosecutor.mean

    def to_json(self) -> dict[str, Any]:
        return {
            "prosecutor": self.prosecutor.to_json(),
            "journalist": self.journalist.to_json(),
            "marketer": self.marketer,
            "basis": self.basis,
        }


@dataclass(frozen=True)
class WholeSet:
    """People by the whole set of their records: how many share it with nobody, and the fewest who share one."""

    unique: int
    unique_share: float
    k: int

    def to_json(self) -> dict[str, Any]:
        return {"unique": self.unique, "unique_share": self.unique_share, "k": self.k}


@dataclass(frozen=True)
class Diversity:
    """Diversity of one sensitive column."""

    distinct: int
    entropy: float
    recursive: int
    c: float
    least_c: Mapping[int, float]
    alpha: float

    def to_json(self) -> dict[str, Any]:
        return {
            "distinct": self.distinct,
            "entropy": self.entropy,
            "entropy_whole": whole_diversity(self.entropy),
            "recursive": {"c": self.c, "l": self.recursive, "least_c": {str(k): v for k, v in self.least_c.items()}},
            "alpha": self.alpha,
        }


@dataclass(frozen=True)
class Closeness:
    """Closeness of one sensitive column. Infinite numbers are written as null in JSON and named in ``infinite``."""

    t: float
    distance: str
    delta_disclosure: float
    delta_disclosure_present: float
    beta: float
    enhanced_beta: float

    def to_json(self) -> dict[str, Any]:
        names = ("delta_disclosure", "delta_disclosure_present", "beta", "enhanced_beta")
        out: dict[str, Any] = {"t": self.t, "distance": self.distance} | {n: getattr(self, n) for n in names}
        return out | {"infinite": [n for n in names if not math.isfinite(getattr(self, n))]}

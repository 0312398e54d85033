"""What the questionnaire meter shows: shares, crowds, the waterfall, the worst combinations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.model.estimate import Estimate


@dataclass(frozen=True)
class WaterfallStep:
    """The waterfall after one question: typical and mean crowd in the population, unique share of the respondents."""

    question: str
    crowd: float
    mean_crowd: float
    unique: float
    factor: float


@dataclass(frozen=True, repr=False)
class Meter:
    """What the questionnaire would reveal."""

    unique: Estimate
    population_unique: Estimate
    smallest_group: Estimate
    crowd: float
    waterfall: tuple[WaterfallStep, ...]
    pairs: tuple[tuple[tuple[str, ...], float], ...]
    triples: tuple[tuple[tuple[str, ...], float], ...]
    warnings: tuple[str, ...]
    target: float
    combinations: float
    sizes_only: bool = False
    pilot: Mapping[str, Any] | None = None
    """People, model and scores of the pilot that the shares rest on."""

    def __repr__(self) -> str:
        asked = f"{len(self.waterfall)} questions"
        return f"<Meter of {asked}: {self.unique.value:.4g} of the respondents unique, target {self.target:g}, {self.light}>"

    @property
    def reached(self) -> bool:
        """Whether the expected share is within the target."""
        return self.unique.value <= self.target

    @property
    def light(self) -> str:
        """green, amber or red, against the target; never green from sizes only, nor where the range of a grade C reaches it."""
        if not self.reached:
            return "red" if self.unique.value > 2 * self.target else "amber"
        doubtful = self.sizes_only or (self.unique.grade == "C" and self.unique.high >= self.target)
        return "amber" if doubtful else "green"

    def to_json(self) -> dict[str, Any]:
        """The unique share with its keys, and everything else beside it."""
        out = self.unique.to_json()
        out |= {
            "light": self.light,
            "target": self.target,
            "reached": self.reached,
            "population_unique": self.population_unique.to_json(),
            "smallest_group": self.smallest_group.to_json(),
            "crowd": self.crowd,
            "combinations": self.combinations,
            "waterfall": [vars(s) for s in self.waterfall],
            "pairs": [{"questions": list(q), "unique": u} for q, u in self.pairs],
            "triples": [{"questions": list(q), "unique": u} for q, u in self.triples],
            "warnings": list(self.warnings),
        }
        return out if self.pilot is None else out | {"pilot": dict(self.pilot)}

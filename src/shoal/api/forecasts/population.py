"""Unique in a sample: unique in the population?"""

from __future__ import annotations

from typing import Unpack

from shoal.api.forecasts.given import alone, counted
from shoal.api.forecasts.words import PopulationWords
from shoal.api.readers.people import population_of
from shoal.errors import UsageError
from shoal.prediction import PopulationEstimate, population


def ask_population(**words: Unpack[PopulationWords]) -> PopulationEstimate:
    """Unique in the population, judged from a sample: the chance that a unique match is right, and all models."""
    classes, frequencies, people = words.get("classes"), words.get("frequencies"), population_of(words["population"])
    if words.get("table") is not None:
        from shoal.api.population.risk import table_population  # loads the engines, which few questions need

        alone(words, "table", "classes", "frequencies")
        return table_population(
            words["table"],
            words.get("columns") or None,
            people,
            model=words.get("model") or "auto",
            unit=words.get("unit"),
            cells=words.get("cells"),
            seed=words.get("seed") or 0,
        )
    for word in ("columns", "unit", "model"):
        if words.get(word):
            raise UsageError(f"{word} says something about a table only.", hint="Give the table as well.")
    if (classes is None) == (frequencies is None):
        raise UsageError("give either a table, classes or frequencies.")
    return population(frequencies if classes is None else counted(classes), people, cells=words.get("cells"))

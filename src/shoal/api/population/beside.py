"""What is counted beside a table that is measured: who is in which class, the population, groups inside the table."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.api.arguments import Source, opened
from shoal.api.readers.people import number_of_people
from shoal.engines.table import Table
from shoal.errors import UsageError
from shoal.kernels.people import Memberships, memberships
from shoal.kernels.text import canonical_text
from shoal.measures.classes.anonymity import Subpopulations, subpopulations
from shoal.measures.classes.missing import drop_missing, dropped
from shoal.measures.classes.presence import Presence, presence
from shoal.model.counts.classes import ClassCounts
from shoal.model.roles import MissingPolicy


def who_is_where(table: Table, counts: ClassCounts, *, needed: bool) -> Memberships | None:
    """Who is in which class, where people are in several and missing values, weights or a population need it."""
    if counts.unit is None or counts.adds_up or not (needed or bool(counts.has_missing().any())):
        return None
    return memberships(table.count((counts.unit, *counts.columns)), counts)


def population_of(
    population: int | Source | None,
    counts: ClassCounts,
    quasi: tuple[str, ...],
    unit: str | None,
    rule: MissingPolicy,
    who: Memberships | None,
) -> tuple[int | None, Presence | None]:
    """The size of the population, and where it is a table, how the classes lie in it."""
    if population is None:
        return None, None
    size = number_of_people(population) if isinstance(population, str) else population
    if isinstance(size, int | float) and not isinstance(size, bool):
        people = counts.n_members if counts.n_people is None else counts.n_people
        if size != int(size) or size < people:
            raise UsageError(
                f"the population ({size:,}) is smaller than the table ({people:,}).",
                hint="The population holds everybody in the table; check the number.",
            )
        return int(size), None
    if rule is MissingPolicy.WILDCARD:
        raise UsageError(
            "a population table is compared under the rules 'own' and 'drop' only.", hint="Use missing='own', the strict rule."
        )
    other = opened(population)  # type: ignore[arg-type]
    person = unit if unit is not None and unit in other.schema else other.schema.unit
    everybody = other.count(quasi, unit=person)
    if rule is MissingPolicy.DROP:
        theirs = who_is_where(other, everybody, needed=False)
        counts, everybody = drop_missing(counts, who), drop_missing(everybody, theirs)
    found = presence(counts, everybody)
    return found.people, found


def from_sample(counts: ClassCounts, size: int | None) -> dict[str, Any] | None:
    """From sample to population: Skinner–Elliot first, the models of population uniques beside it; not without class sizes that
    add up to the people."""
    if size is None or not counts.adds_up:
        return None
    from shoal.prediction.population.uniques import population  # loads scipy

    sizes, numbers = np.unique(counts.sizes, return_counts=True)
    found = population({int(s): int(n) for s, n in zip(sizes, numbers, strict=True)}, size)
    return found.to_json()


def inside_each(table: Table, quasi: tuple[str, ...], by: str, unit: str | None, rule: MissingPolicy) -> Subpopulations:
    """The groups inside each value; under 'drop' of the same rows as all other numbers, whether or not ``by`` is missing."""
    columns = quasi if by in quasi else (*quasi, by)
    counts = table.count(columns, unit=unit)
    texts = canonical_text(counts.categories[counts.column(by)]).to_pylist()
    who = who_is_where(table, counts, needed=True)
    if rule is MissingPolicy.DROP:
        kept = np.all([counts.codes[counts.column(name)] >= 0 for name in quasi], axis=0)
        counts, who = dropped(counts, kept, who), None if who is None else who.inside(kept)
    return subpopulations(counts, by, names=dict(enumerate(texts)) | {-1: "(missing)"}, who=who)

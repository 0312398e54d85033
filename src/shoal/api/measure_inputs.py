"""What is counted beside a table that is measured: who is in which class, the population, groups inside the table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.types as kinds

from shoal.api.arguments import Source, number_of_people, opened
from shoal.engines.count.people import count_people
from shoal.engines.table import Table
from shoal.errors import UsageError
from shoal.kernels.arrow import to_numpy
from shoal.kernels.people import Memberships, memberships
from shoal.kernels.text import canonical_text
from shoal.measures.classes.anonymity import Subpopulations, subpopulations
from shoal.measures.classes.missing import drop_missing, dropped
from shoal.measures.classes.risk import Presence, presence
from shoal.model.counts.classes import ClassCounts, SensitiveCounts
from shoal.model.roles import MissingPolicy


def class_members(table: Table, counts: ClassCounts, *, needed: bool) -> Memberships | None:
    """Who is in which class, where people are in several and missing values, weights or a population need it."""
    if counts.unit is None or counts.adds_up or not (needed or bool(counts.has_missing().any())):
        return None
    return memberships(table.count((counts.unit, *counts.columns)), counts)


def population_and_presence(
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
        theirs = class_members(other, everybody, needed=False)
        counts, everybody = drop_missing(counts, who), drop_missing(everybody, theirs)
    found = presence(counts, everybody)
    return found.people, found


def sample_estimates(counts: ClassCounts, size: int | None) -> dict[str, Any] | None:
    """From sample to population: Skinner–Elliot first, the models of population uniques beside it; not without class sizes that
    add up to the people."""
    if size is None or not counts.adds_up:
        return None
    from shoal.prediction.population.uniques import population  # loads scipy

    sizes, numbers = np.unique(counts.sizes, return_counts=True)
    found = population({int(s): int(n) for s, n in zip(sizes, numbers, strict=True)}, size)
    return found.to_json()


def subpopulation_sizes(
    table: Table, quasi: tuple[str, ...], by: str, unit: str | None, rule: MissingPolicy, count: str | None = None
) -> Subpopulations:
    """The groups inside each value; under 'drop' of the same rows as all other numbers, whether or not ``by`` is missing."""
    columns = quasi if by in quasi else (*quasi, by)
    counts = table.count(columns, unit=unit) if count is None else count_people(table, columns, count)
    texts = canonical_text(counts.categories[counts.column(by)]).to_pylist()
    who = class_members(table, counts, needed=True)
    if rule is MissingPolicy.DROP:
        kept = np.all([counts.codes[counts.column(name)] >= 0 for name in quasi], axis=0)
        counts, who = dropped(counts, kept, who), None if who is None else who.inside(kept)
    return subpopulations(counts, by, names=dict(enumerate(texts)) | {-1: "(missing)"}, who=who)


FIRST_ROWS = 10_000
MOST_COLUMNS = 200
KINDS = ("text", "integer", "binary")


@dataclass(frozen=True)
class Repeating:
    """A column that may name people: so many different ids in so many rows."""

    column: str
    ids: int
    rows: int

    @property
    def sentence(self) -> str:
        """
        >>> Repeating("pid", 500, 10_041).sentence
        "Is this one row per person? Column 'pid' repeats: 500 ids in 10,041 rows. If it names people, name it as unit."
        """
        return (
            f"Is this one row per person? Column '{self.column}' repeats: {self.ids:,} ids in {self.rows:,} rows. "
            "If it names people, name it as unit."
        )


def repeating_ids(table: Table, besides: Collection[str] = ()) -> Repeating | None:
    """The column outside ``besides`` that looks like the number of a person and repeats; None where there is none.

    Nothing is looked at where only aggregates may be read.
    """
    known = [c for c in table.schema.columns if c.kind in KINDS and c.name not in besides][:MOST_COLUMNS]
    if not known or table.only_aggregates:
        return None
    first = table.first_rows([c.name for c in known], FIRST_ROWS)
    if not first or len(first[0]) == 0:
        return None
    counted = [pc.drop_null(cells).value_counts() for cells in first]
    if all(len(found) == len(cells) - cells.null_count for cells, found in zip(first, counted, strict=True)):
        return None  # no value stands twice

    from shoal.find import (
        ColumnFacts,
        find_columns,  # the words of all topics: a small table is measured sooner without
    )

    facts = []
    for column, cells, found in zip(known, first, counted, strict=True):
        values, sizes = found.field("values"), to_numpy(found.field("counts"))
        texts = [str(t) for t in canonical_text(values).to_pylist()]
        rows = len(cells)
        facts.append(ColumnFacts(column.name, column.kind, texts, sizes, rows, cells.null_count, len(values), column.note))
    name = next((f.name for f in find_columns(facts) if f.mark == "unit"), None)
    if name is None:
        return None
    ids, sizes = table.values(name)
    return Repeating(name, len(ids) - ids.null_count, int(np.asarray(sizes).sum()))


FEWEST, MOST = 3, 100_000
"""Different texts among which amounts are looked for; two are as far apart in either order."""


def in_written_order(counts: ClassCounts) -> ClassCounts:
    """The counts, with the orders of written amounts."""
    found = {name: order for name, s in counts.sensitive.items() if not s.order and (order := written_order(s))}
    if not found:
        return counts
    return replace(counts, sensitive={n: replace(s, order=found.get(n, s.order)) for n, s in counts.sensitive.items()})


def written_order(sensitive: SensitiveCounts) -> tuple[str, ...]:
    """The texts from the smallest number to the largest; empty where one is not a number in the spelling of the others.

    >>> import pyarrow as pa
    >>> pay = pa.array(["$1,250.00", "$12,000.00", "$980.50"])
    >>> written_order(SensitiveCounts.from_dense("pay", [[1, 2, 3]], pay))
    ('$980.50', '$1,250.00', '$12,000.00')
    """
    values = sensitive.categories
    if values is None or not FEWEST <= len(values) <= MOST:
        return ()
    if not (kinds.is_string(values.type) or kinds.is_large_string(values.type)):
        return ()
    texts = canonical_text(values).to_pylist()
    if not all(any(map(str.isdigit, t)) for t in texts):
        return ()
    from shoal.hierarchies.builders.number_texts import Spelling

    spelling = Spelling.of(texts)
    numbers = {t: number for t in texts if (number := spelling.number(t)) is not None} if spelling else {}
    return tuple(sorted(texts, key=lambda t: float(numbers[t]))) if len(numbers) == len(texts) else ()

"""Unique in the population, from a table: class sizes for the models of class sizes, codes for the fitted population."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.api.arguments import Names, Source
from shoal.api.measurement import classes_of
from shoal.api.population.coded import counted, ordered_codes
from shoal.disk.atomic import write_text
from shoal.errors import UsageError
from shoal.measures.classes.household import HouseholdRisk, household_risk
from shoal.model.counts.classes import ClassCounts
from shoal.prediction import PopulationEstimate, PopulationRisk, population, population_risk
from shoal.prediction.distribution import Floats


@dataclass(frozen=True, eq=False, repr=False)
class TableRisk(PopulationRisk):
    """The risk of the records of a table: per class, and by :meth:`per_record` per row. A pickled one forgets the table."""

    counts: ClassCounts | None = None
    source: Any = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "source": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def per_record(self, of_class: Any = None) -> Floats:
        """A number per class (the risk, without one) as a number per row of the table, in its order."""
        if self.source is None or self.counts is None:
            raise UsageError("numbers per record need the table.", hint="Ask again from the table.")
        values = np.asarray(self.risk if of_class is None else of_class, dtype=np.float64)
        parts = [values[classes_of(batch, self.counts)] for batch in self.source.scan(self.counts.columns)]
        out: Floats = np.concatenate(parts)
        return out

    def households(self, column: str) -> HouseholdRisk:
        """Risk that somebody of a household is named; rows without one are households of one."""
        if self.source is None:
            raise UsageError("households need the table.", hint="Ask again from the table.")
        self.source.schema.require(column, what="household")
        ids = [batch.column(column) for batch in self.source.scan((column,))]
        return household_risk(self.per_record(), ids)

    def by_other_models(self, most: int = 2) -> list[PopulationRisk]:
        """The same records by the models that foretold people left out next best; none where one model was asked for."""
        if self.counts is None:
            raise UsageError("other models need the table.", hint="Ask again from the table.")
        scores = {name: score for name, score in (self.scores or {}).items() if name != self.model}
        codes = ordered_codes(self.counts)
        best = sorted(scores, key=lambda name: -scores[name])[:most]
        return [population_risk(codes, self.sizes, self.population, model=name) for name in best]

    def write(self, path: str | Path) -> Path:
        """A CSV file with a line per row of the table: its number from 1, size in the sample, risk, crowd and its range."""
        parts = (self.sizes, self.risk, self.unique, self.crowd, self.crowd_low, self.crowd_high)
        columns = [self.per_record(part) for part in parts]
        lines = ["row,in_sample,risk,unique,crowd,crowd_low,crowd_high"]
        for i, (f, *rest, low, high) in enumerate(zip(*columns, strict=True), start=1):
            lines.append(f"{i},{f:.0f},{','.join(f'{x:.6g}' for x in rest)},{low:.0f},{high:.0f}")
        write_text(path, "\n".join(lines) + "\n")
        return Path(path)


def table_population(
    table: Source,
    columns: Names | None,
    people: int,
    *,
    model: str = "auto",
    unit: str | None = None,
    cells: int | None = None,
    seed: int = 0,
) -> PopulationEstimate:
    """Both answers of a table: from its class sizes alone, and from a fitted population."""
    source, counts = counted(table, columns, unit)
    plain = population(counts.sizes, people, cells=cells)
    found = population_risk(ordered_codes(counts), counts.sizes, people, model=model, seed=seed)
    values = {f.name: getattr(found, f.name) for f in fields(PopulationRisk)}
    fitted = TableRisk(**values, counts=counts, source=source)
    return replace(plain, fitted=fitted)

"""The steps that HIPAA's safe harbor rule asks for: the first three digits of a ZIP code, the year of a date, ages up to 89.

:mod:`shoal.find.safe_harbor` says which class of the rule a column belongs to. The rule also asks that nobody *knows* that
what is left identifies someone: no program can check that, and meeting the list measures nothing of risk. Measure as well.
"""

from __future__ import annotations

import datetime as dt

from shoal.errors import UsageError
from shoal.find.name_words import raw_words
from shoal.hierarchies.builders.dates import Dates
from shoal.hierarchies.builders.numbers import Intervals
from shoal.hierarchies.builders.postcodes import Postcode
from shoal.hierarchies.rule import Generalize
from shoal.model.plan import Step
from shoal.model.roles import NUMBERS, Column
from shoal.steps import Cut, Drop, Keep


def step_for(column: Column, kind: str, *, reference: str) -> Step:
    """The step of a column: ``kind`` is zip, date, birth, year (of any event) or age, as the finder says.

    ``reference`` is the day at which ages count (ISO).

    >>> step_for(Column("age", "integer"), "age", reference="2024-12-31").kind
    'cut'
    """
    if kind == "zip":
        return Postcode("US", on_gap="suppress").step(column.name, 1)
    if kind == "date":
        return _years(column)
    if kind in ("birth", "year"):
        return _birth_years(column, dt.date.fromisoformat(reference))
    if kind != "age":
        raise UsageError(f"the safe harbor rule has no step for columns of kind '{kind}'.")
    return Intervals((1,), top=90, bottom=0, integer=True, on_text=column.kind == "text").step(column.name, 1)


def _years(column: Column) -> Step:
    if column.kind in NUMBERS and "year" in raw_words(column.name):
        return Keep(column.name)
    if column.kind not in ("date", "timestamp", "text"):
        return Drop(column.name)  # 20240131 as a number, or a time of day
    rule = Dates(("year",), on_text=column.kind == "text")
    if column.kind == "text":  # anything but a date is suppressed, not cut to four characters
        return Generalize.of(column.name, rule, 1, on_gap="suppress")
    return rule.step(column.name, 1)


def _birth_years(column: Column, day: dt.date) -> Step:
    """Years of birth; everyone who may be 90 or older at the reference day in one group."""
    if column.kind == "text":
        hint = f"Open the table with types={{'{column.name}': 'date'}}."
        raise UsageError(f"column '{column.name}' holds dates of birth as text.", hint=hint)
    last_pooled = day.year - 90  # born in that year: 89 or 90
    years = range(last_pooled + 1, day.year + 1)
    starts = (*years, day.year + 1)
    points = tuple(map(float, starts)) if column.kind in NUMBERS else tuple(f"{y:04d}-01-01" for y in starts)
    return Cut(column.name, points, (f"{last_pooled} or earlier", *map(str, years), f"{day.year + 1} or later"))

"""HIPAA safe harbor as a ready-made set of steps.

The rule lists eighteen classes of identifiers of a person, of relatives, employers and household members. This module says
which class a column belongs to (by its name, its kind and what the user says) and makes the step for it: remove it, keep the
first three ZIP digits where more than 20,000 people live, keep the year of a date, pool ages from 90. The rule also asks
that nobody *knows* that what is left identifies someone: no program can check that, and meeting the list measures nothing
of risk. Measure as well.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from shoal.errors import UsageError, nearest
from shoal.hierarchies.builders.dates import Dates
from shoal.hierarchies.builders.numbers import Intervals
from shoal.hierarchies.builders.postcodes import SMALL_ZIP3, Postcode, small_zip3
from shoal.hierarchies.rule import Generalize
from shoal.model.plan import Step
from shoal.model.roles import Column, Schema
from shoal.steps import Cut, Drop, Keep

NUMBERS = ("integer", "decimal", "float")
Action = Literal["remove", "zip3", "year", "birth", "age"]


@dataclass(frozen=True)
class Item:
    """One class of the rule: its letter there, our name for it, what is done, and words that betray such a column."""

    letter: str
    name: str
    title: str
    action: Action
    words: str


ITEMS: tuple[Item, ...] = (
    Item("A", "name", "names, also of relatives and employers", "remove",
         r"name|surname|fullname|forename|firstname|lastname|givenname|familyname|middlename|nickname|initials|maiden|"
         r"employer|spouse|guardian|nextofkin"),
    Item("B", "zip", "ZIP codes", "zip3", r"zip|zipcode|postcode|postal|postalcode|zcta|plz"),
    Item("B", "geography", "places smaller than a state", "remove",
         r"street|address|addr|city|town|county|fips|municipality|district|neighbou?rhood|borough|suburb|ward|precinct|"
         r"parish|village|geocode|latitude|longitude|lat|lon|lng|tract|gps"),
    Item("C", "birth", "dates of birth", "birth", r"birth|birthdate|dateofbirth|dob|born|birthday|birthyear|yearofbirth|yob"),
    Item("C", "date", "dates of admission, discharge, death and others", "year",
         r"date|day|weekday|week|month|quarter|birthmonth|monthofbirth|birthweek|admission|admitted|discharge|discharged|death|died|visit|timestamp|datetime"),
    Item("C", "age", "ages over 89", "age", r"age|ageyears|years"),
    Item("D", "phone", "telephone numbers", "remove", r"phone|telephone|tel|mobile|cellphone"),
    Item("E", "fax", "fax numbers", "remove", r"fax"),
    Item("F", "email", "e-mail addresses", "remove", r"email|mail"),
    Item("G", "ssn", "social security numbers", "remove", r"ssn|socialsecurity|sofi|bsn|nino|nin"),
    Item("H", "record", "medical record numbers", "remove", r"mrn|medicalrecord|recordnumber|recordno|chart"),
    Item("I", "plan", "health plan numbers", "remove",
         r"healthplan|beneficiary|member|policy|policyno|insurance|payerid|medicare|medicaid"),
    Item("J", "account", "account numbers", "remove", r"account|iban|bank|creditcard|cardnumber"),
    Item("K", "licence", "certificate and licence numbers", "remove", r"license|licence|certificate|passport"),
    Item("L", "vehicle", "vehicle identifiers and plates", "remove", r"vehicle|vin|plate|licenseplate|registration"),
    Item("M", "device", "device identifiers and serial numbers", "remove", r"device|serial|imei|udi|implant"),
    Item("N", "url", "web addresses", "remove", r"url|website|homepage|web"),
    Item("O", "ip", "IP addresses", "remove", r"ip|ipaddress|ipv4|ipv6|macaddress|mac"),
    Item("P", "biometric", "biometric identifiers", "remove", r"biometric|fingerprint|voiceprint|iris|retina|dna|genome"),
    Item("Q", "photo", "full-face photographs", "remove", r"photo|photograph|picture|image|portrait|selfie"),
    Item("R", "code", "any other unique number, characteristic or code", "remove",
         r"id|uuid|guid|identifier|barcode|(patient|subject|case|study|encounter|person)(no|nr|number|code|key|id)|"
         r"notes?|comments?|freetext|narrative|remarks?"),
)  # fmt: skip
"""the 18 Safe Harbor classes A to R; B and C have several kinds of columns."""

_BY_NAME = {item.name: item for item in ITEMS}


@dataclass(frozen=True)
class SafeHarbor:
    """What the rule means for one table: a step for each column, the class of each that has one, and what people must check."""

    steps: tuple[Step, ...]
    items: dict[str, str]
    kept: tuple[str, ...]
    notes: tuple[str, ...]


def safe_harbor(
    schema: Schema,
    items: Mapping[str, str | None] | None = None,
    *,
    reference: str = "",
    population: Mapping[str, float] | str | Path | None = None,
) -> SafeHarbor:
    """The steps that the safe harbor rule asks for.

    Parameters
    ----------
    schema : Schema
        Columns with their kinds.
    items : mapping, optional
        Column → name of its class in :data:`ITEMS` (``name``, ``zip``, ``birth``, …), or None for a column that the rule does not
        touch. Columns not mentioned are classed by :func:`suggest`.
    reference : str
        Day at which ages count, for dates of birth (ISO); the last day in the data, or today.
    population : mapping or file, optional
        People per ZIP code; without it the areas found small at the censuses of 2000 and 2010 become 000.

    Examples
    --------
    >>> schema = Schema((Column("name"), Column("zip"), Column("age", "integer"), Column("diagnosis")))
    >>> done = safe_harbor(schema, reference="2024-12-31")
    >>> [s.kind for s in done.steps], done.kept
    (['drop', 'generalize', 'cut'], ('diagnosis',))
    """
    said = dict(items or {})
    for mentioned, name in said.items():
        schema.require(mentioned)
        if name is not None and name not in _BY_NAME:
            raise UsageError(
                f"safe harbor has no class '{name}'.",
                hint=f"Did you mean '{nearest(name, _BY_NAME)}'? Classes: {', '.join(_BY_NAME)}.",
            )
    found = {c.name: said[c.name] if c.name in said else suggest(c) for c in schema.columns}
    small = SMALL_ZIP3 if population is None else small_zip3(population)
    steps: list[Step] = []
    for column in schema.columns:
        name = found[column.name]
        if name is not None:
            steps.append(step_for(column, _BY_NAME[name], reference=reference, small=small))
    kept = tuple(c for c, name in found.items() if name is None)
    notes = (
        "The rule also covers relatives, employers and household, and asks that nobody knows that the rest identifies someone.",
        f"{len(kept)} columns belong to none of the 18 Safe Harbor classes; free text among them must be read by a person.",
    )
    return SafeHarbor(tuple(steps), {c: n for c, n in found.items() if n is not None}, kept, notes)


def suggest(column: Column) -> str | None:
    """The class of a column by the words of its name and its kind; None where nothing points to one.

    >>> suggest(Column("patient_dob", "date")), suggest(Column("zip_code")), suggest(Column("systolic", "integer"))
    ('birth', 'zip', None)
    """
    words = _words(column.name)
    if {"id", "uuid", "guid"} & set(words) and not {"vehicle", "device", "plan"} & set(words):
        return "code"
    for candidates in (["".join(words), *_pairs(words)], words):  # two words together say more than one
        for item in ITEMS:
            if any(re.fullmatch(item.words, w) for w in candidates) and not _wrong_kind(item, column):
                return item.name
    if column.kind in ("date", "timestamp"):
        return "date"
    return "photo" if column.kind == "binary" else None


def step_for(column: Column, item: Item, *, reference: str = "", small: tuple[str, ...] = SMALL_ZIP3) -> Step:
    """The step of one column under one class of the rule."""
    if item.action == "zip3":
        return Postcode("US", small, "suppress").step(column.name, 1)
    if item.action == "year":
        return _years(column)
    if item.action == "birth":
        return _birth_years(column, reference)
    if item.action == "age":
        return _ages(column)
    return Drop(column.name)


def _years(column: Column) -> Step:
    if column.kind in NUMBERS and "year" in _words(column.name):
        return Keep(column.name)
    if column.kind not in ("date", "timestamp", "text"):
        return Drop(column.name)  # 20240131 as a number, or a time of day
    rule = Dates(("year",), on_text=column.kind == "text")
    if column.kind == "text":  # anything but a date is suppressed, not cut to four characters
        return Generalize.of(column.name, rule, 1, on_gap="suppress")
    return rule.step(column.name, 1)


def _ages(column: Column) -> Step:
    rule = Intervals((1,), top=90, bottom=0, integer=True, on_text=column.kind == "text")
    return rule.step(column.name, 1)


def _birth_years(column: Column, reference: str) -> Step:
    """Years of birth; everyone who may be 90 or older at the reference day in one group."""
    day = dt.date.fromisoformat(reference) if reference else dt.date.today()
    last_pooled = day.year - 90  # born in that year: 89 or 90
    label = f"{last_pooled} or earlier"
    years = range(last_pooled + 1, day.year + 1)
    if column.kind in NUMBERS:
        points = tuple(float(y) for y in (*years, day.year + 1))
        return Cut(column.name, points, (label, *map(str, years), f"{day.year + 1} or later"))
    dates = tuple(f"{y:04d}-01-01" for y in (*years, day.year + 1))
    cut = Cut(column.name, dates, (label, *map(str, years), f"{day.year + 1} or later"))
    if column.kind != "text":
        return cut
    raise UsageError(
        f"column '{column.name}' holds dates of birth as text.", hint=f"Open the table with types={{'{column.name}': 'date'}}."
    )


def _words(name: str) -> list[str]:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return [w for w in re.split(r"[^a-z0-9]+", spaced.lower()) if w]


def _pairs(words: list[str]) -> list[str]:
    return [a + b for a, b in pairwise(words)]


def _wrong_kind(item: Item, column: Column) -> bool:
    """A name alone is not enough where the kind contradicts it."""
    if item.action in ("year", "birth"):
        return column.kind not in ("date", "timestamp", "text", "time", *NUMBERS)
    return item.action == "age" and column.kind not in ("integer", "decimal", "float", "text")

"""Which of the 18 Safe Harbor classes of 45 CFR 164.514(b)(2)(i) a column belongs to, by its values and its name.

Takes    the facts of a column (distinct values with counts) and what the finder of ``shoal inspect`` found
Returns  Classed: the class or none, whether name or values say so, the evidence in words, how such a column is treated
Keeps    no data value in the evidence; values decide before names, and a name alone is not enough where the values contradict it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shoal.find.columns import find_column
from shoal.find.dates import unix_times
from shoal.find.finding import HIPAA, ColumnFacts, ColumnFinding
from shoal.find.identifiers import long_numbers
from shoal.find.name_words import opaque
from shoal.find.people import FULL_SHARE, full_names_share, names_share
from shoal.find.safe_harbor import column_names as words
from shoal.find.safe_harbor.coarse import fine_date, fine_zip, reach, too_long_ago, too_old
from shoal.find.safe_harbor.column_names import as_large_as_a_state, kinds_of_places
from shoal.find.safe_harbor.harmless import coded, harmless, known_text, test_codes
from shoal.find.safe_harbor.spellings import (
    DAY_AND_MONTH,
    ZIP5,
    ZIP9,
    certain_in,
    date_share,
    month_or_weekday_share,
    plate_share,
    spread,
)
from shoal.find.topics import expanded
from shoal.model.display import written
from shoal.model.roles import NUMBERS, Role

Kind = Literal["", "remove", "zip", "date", "year", "birth", "age", "unknown"]
NONE, UNKNOWN = "none of the eighteen", "not known"
FEW, FEWEST_ROWS = 12, 20
"""A column with at most so many values, over at least so many rows, holds codes of kinds, not numbers of people."""
OTHER = 18
MOSTLY, SOME, NAMED = 0.8, 0.05, 0.3
FIRST_DAY = 20_000
"""The smallest number of a day that is taken for one: in October 1954, as spreadsheets count."""
MANY = 15
"""Different values from which single names count too; few values are people if they are full names."""
BLANK = ("*", "")


@dataclass(frozen=True)
class Classed:
    """The class of a column.

    ``item`` counts from 1 (A) to 18 (R); ``kind`` says what the rule asks: remove it, or keep only three digits, years, or ages
    up to 89. ``unknown``: neither an identifier nor recognized as harmless, so a person must decide. ``by`` is ``values``,
    ``name`` or empty.
    """

    item: int | None
    kind: Kind
    by: str
    evidence: str

    @property
    def title(self) -> str:
        """The class as a report names it.

        >>> Classed(3, "date", "values", "").title
        'C: dates of a person, and ages over 89'
        """
        if self.item is None:
            return UNKNOWN if self.kind == "unknown" else NONE
        return f"{chr(ord('A') + self.item - 1)}: {HIPAA[self.item]}"


def class_of(facts: ColumnFacts) -> Classed:
    """The class of a column, none if it is recognized as harmless, else unknown; blanked values say nothing."""
    facts = _without_blanks(facts)
    if not facts.values:
        return Classed(None, "", "values", "it holds no value")
    classed = identifier_class(facts, find_column(facts))
    if classed is not None:
        return classed
    why = harmless(facts, spread(facts.values))
    return Classed(None, "", "values", why) if why else Classed(None, "unknown", "", "nothing shows that it is harmless")


def identifier_class(facts: ColumnFacts, finding: ColumnFinding) -> Classed | None:
    """The class that the values or the name of a column point to; None if they point to none."""
    facts = _without_blanks(facts)
    values = spread(facts.values)
    if not values or (facts.kind == "text" and test_codes(values)):
        return None
    rules = (
        _find_form,
        _certain,
        _find_dates,
        _zip,
        _find_ages,
        _years,
        _plates,
        _people,
        _find_direct,
        _placed,
        _find_by_name,
        _find_long_numbers,
    )
    return next((classed for rule in rules if (classed := rule(facts, values, finding)) is not None), None)


def _without_blanks(facts: ColumnFacts) -> ColumnFacts:
    return facts if facts.kind in NUMBERS else facts.without([v for v in facts.values if v.strip() in BLANK])


def refusal(facts: ColumnFacts, classed: Classed, year: int) -> str:
    """Why the rule does not let a column stay as it is; empty where it does.

    ``year`` is the one in which ages count: that of the release, or the last in the data.
    """
    labels = [v for v in facts.values if v.strip() not in BLANK]
    if labels and classed.kind == "unknown":
        return "nothing shows that it is none of the eighteen: decide"
    if not labels or classed.item is None:
        return ""
    if classed.kind == "remove":
        return "columns of this class are removed"
    if classed.kind == "zip":
        return fine_zip(labels)
    if classed.kind == "age":
        if any(reach(label) is None and not known_text(label) for label in labels):
            return "it may show ages in words, which are not read"
        return "it shows ages above 89" if too_old(labels, per_year=words.per_year(facts.name)) else ""
    why = fine_date(labels)
    return why or ("it shows years that imply an age above 89" if too_long_ago(labels, year) else "")


def _share(n: float) -> str:
    return "all" if n == 1 else f"{written(100 * n, 3)} %"


def _few(facts: ColumnFacts) -> bool:
    return facts.distinct <= FEW and facts.filled >= FEWEST_ROWS


def _find_form(facts: ColumnFacts, values: list[str], finding: ColumnFinding) -> Classed | None:
    """A form of identifier that most values have, by the finder."""
    if finding.role is not Role.DIRECT or finding.hipaa is None or not finding.value_evidence or finding.topic == "person_name":
        return None
    share = _share(max(e.share for e in finding.value_evidence))
    return Classed(finding.hipaa, "remove", "values", f"{finding.reason} ({share} of the different ones)")


def _certain(facts: ColumnFacts, values: list[str], finding: ColumnFinding) -> Classed | None:
    """A form that no other value has, in any cell."""
    seen = None if facts.numbers is not None else certain_in(values)
    if seen is None:
        return None
    form, share = seen
    return Classed(form.item, "remove", "values", f"{_share(share)} of its different values are or hold {form.what}")


def _find_dates(facts: ColumnFacts, values: list[str], finding: ColumnFinding) -> Classed | None:
    """Dates finer than a year, in any spelling; parts of dates where the name says so."""
    kind: Kind = (
        "birth" if finding.topic == "birth_date" or words.says(facts.name, "birth", unless="not a birth date") else "date"
    )
    if facts.kind in ("date", "timestamp", "time"):
        return Classed(3, kind, "values", "its values are dates or times")
    number = facts.numbers is not None
    share = 0.0 if number and not facts.whole else date_share(values, numbers=number)
    if share > 0:
        return Classed(3, kind, "values", f"{_share(share)} of its different values are or hold dates")
    if not number and month_or_weekday_share(values) >= MOSTLY:
        return Classed(3, kind, "values", "its values are months or days of the week")
    if not number and facts.distinct > FEW and all(map(DAY_AND_MONTH.fullmatch, values)):
        return Classed(3, kind, "values", "its values are written as days and months without a year")
    part = words.part_of_date(facts.name)
    if part and facts.whole and facts.numbers is not None and 0 <= facts.numbers.min() <= facts.numbers.max() <= part:
        return Classed(3, kind, "name", "its name says a month, week or day, and its values fit")
    if facts.numbers is not None and facts.distinct > FEW and unix_times(facts.numbers):
        return Classed(3, kind, "values", "its values are seconds or milliseconds since 1970")
    days = facts.whole and facts.numbers is not None and facts.numbers.min() >= FIRST_DAY
    if days and words.says(facts.name, "date or event", unless="duration, count or kind") and finding.role is not Role.DIRECT:
        return Classed(3, kind, "name", "its name says a date, and its values are numbers of days or seconds")
    return None


def _zip(facts: ColumnFacts, values: list[str], finding: ColumnFinding) -> Classed | None:
    if finding.topic == "postcode" or words.says(facts.name, "zip", unless="measure or kind"):
        digits = sum(v.rstrip("*").isdigit() or ZIP9.fullmatch(v) is not None for v in values)
        if digits >= SOME * len(values) and not (_few(facts) and max(map(len, values)) < 3):
            return Classed(2, "zip", "name", "its name says ZIP code, and its values are digits")
        return None if _few(facts) else Classed(2, "remove", "name", "its name says postcode")
    if facts.numbers is None:
        nine = sum(ZIP9.fullmatch(v) is not None for v in values) >= MOSTLY * len(values)
        return Classed(2, "zip", "values", "its values are written as ZIP codes with nine digits") if nine else None
    five = all(map(ZIP5.fullmatch, values)) and any(v.startswith("0") for v in values)  # a spreadsheet counts days in five digits
    if five and _unsaid(facts, finding):
        return Classed(2, "zip", "values", "its name says nothing and its values have five digits, as ZIP codes have")
    return None


def _unsaid(facts: ColumnFacts, finding: ColumnFinding) -> bool:
    """Whether the name of a column tells nothing that would explain its numbers."""
    return opaque(facts.name) or (len(facts.name) <= 3 and not finding.topic)


def _find_ages(facts: ColumnFacts, values: list[str], finding: ColumnFinding) -> Classed | None:
    if finding.topic == "age" or words.aged(facts.name):
        if facts.kind == "boolean":
            return None
        return Classed(3, "age", "name", finding.reason if finding.topic == "age" else "its name says years of age")
    return None


def _years(facts: ColumnFacts, values: list[str], finding: ColumnFinding) -> Classed | None:
    """Years alone: of birth, of other events, or unnamed numbers that can be nothing else."""
    numbers = facts.numbers
    born = finding.topic == "birth_date" or words.says(facts.name, "birth", unless="not a birth date")
    yearly = numbers is not None and facts.whole and 1850 <= numbers.min() <= numbers.max() <= 2100
    if born and finding.topic != "birth_place" and (yearly or (numbers is None and any(c.isdigit() for v in values for c in v))):
        return Classed(3, "birth", "name", "its name says birth, and its values are years")
    if yearly and (words.says(facts.name, "date or event", unless="duration, count or kind") or words.says(facts.name, "year")):
        return Classed(3, "year", "name", "its name says a date or year, and its values are years")
    if yearly and facts.distinct > 2 and finding.topic in ("", "event_date", "hire_date"):
        return Classed(3, "year", "values", "its values are years")
    return None


def _plates(facts: ColumnFacts, values: list[str], finding: ColumnFinding) -> Classed | None:
    share = 0.0 if facts.numbers is not None else plate_share(values)
    if share >= MOSTLY and facts.distinct > FEW:
        return Classed(12, "remove", "values", f"{_share(share)} of its different values are written like number plates")
    return None


def _people(facts: ColumnFacts, values: list[str], finding: ColumnFinding) -> Classed | None:
    if facts.kind != "text" or facts.distinct < 2:
        return None
    if facts.distinct >= MANY and names_share(values) >= NAMED:
        return Classed(1, "remove", "values", "its values are written as names and hold given or family names")
    if full_names_share(values) >= (NAMED if words.item_of(facts.name) == 1 else FULL_SHARE):
        return Classed(1, "remove", "values", "its values are written as full names and hold given or family names")
    return None


def _find_direct(facts: ColumnFacts, values: list[str], finding: ColumnFinding) -> Classed | None:
    """What the finder calls a direct identifier."""
    if finding.role is not Role.DIRECT or finding.hipaa is None:
        return None
    if facts.numbers is not None and words.says(facts.name, "amount"):
        return None
    by = "values" if finding.value_evidence or finding.topic in ("key", "all_different", "uuid", "hash") else "name"
    item = words.item_of(facts.name) if finding.hipaa == OTHER else None
    if item is None:
        return Classed(finding.hipaa, "remove", by, finding.reason)
    return Classed(item, "remove", "name", f"its name says {HIPAA[item]}, and {finding.reason}")


def _placed(facts: ColumnFacts, values: list[str], finding: ColumnFinding) -> Classed | None:
    """Places smaller than a state."""
    named = finding.topic in ("place", "birth_place") or words.says(facts.name, "small place")
    if not named:
        return None
    name = expanded(facts.name)
    if as_large_as_a_state((*name, facts.name.casefold()), values):
        return Classed(None, "", "values", "its name says a place, and its values are as large as states")
    letters = facts.distinct <= 3 and all(len(v) <= 2 and v.isalpha() for v in values)
    if letters or kinds_of_places(values) or facts.kind == "boolean" or words.says(facts.name, "measure or kind"):
        return Classed(None, "", "values", "its name says a place, but its values are kinds of places")
    if words.says(facts.name, "region", unless="small place") and _few(facts):
        return None  # a region may contain whole states: nothing shows it
    return Classed(2, "remove", "name", "its name says a place, and its values are not states")


def _find_by_name(facts: ColumnFacts, values: list[str], finding: ColumnFinding) -> Classed | None:
    """Names of columns that the finder does not know, checked against the values."""
    item = words.item_of(facts.name)
    if item is None or facts.kind in ("boolean", "float", "decimal", "date", "timestamp"):
        return None
    if _few(facts) or words.says(facts.name, "measure or kind"):
        return None
    if item == 1 and (facts.numbers is not None or finding.scale.value == "ordered"):
        return None
    return Classed(item, "remove", "name", f"its name says {HIPAA[item]}, and it has {facts.distinct:,} different values")


def _find_long_numbers(facts: ColumnFacts, values: list[str], finding: ColumnFinding) -> Classed | None:
    """Long numbers of one length, under any name but that of a list of codes that they fit."""
    if facts.numbers is None or not long_numbers(facts) or coded(facts, values):
        return None
    return Classed(OTHER, "remove", "values", "its values are long numbers of one length, as numbers of people are")

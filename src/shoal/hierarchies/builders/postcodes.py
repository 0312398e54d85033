"""Postcodes of a country, in levels that mean areas there.

NL  1234 AB → 1234 → 123 → 12 → 1          DE  10115 → 101 → 10 → 1
UK  SW1A 1AA → SW1A 1 → SW1A → SW          US  00501-1234 → 005 (or 000) → 0
FR  75011 → 75                             CA  K1A 0B1 → K1A → K

Codes of digits alone whose country is not known have the levels of their digits: ``4 digits``, ``5 digits``, ``6 digits``;
numbers that lost their leading zeros get them back.

For the United States a three-digit area with too few people is published as ``000`` at every level below the top, the rule
of HIPAA's safe harbor (more than 20,000 people). Which areas are small is taken from a table of populations, or from the
lists of the censuses of 2000 and 2010.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from shoal.errors import HierarchyError, UnreadableError
from shoal.hierarchies.rule import CodeRule, register_rule
from shoal.hierarchies.values import check_gap_choice
from shoal.kernels.text import Pattern
from shoal.model.plan import OnGap, Step
from shoal.steps import Prefix

_TABLE = tomllib.loads(files("shoal.hierarchies").joinpath("data/postcodes.toml").read_text(encoding="utf-8"))
_COUNTRIES: dict[str, dict[str, Any]] = _TABLE["countries"]
SMALL_ZIP3: tuple[str, ...] = tuple(_TABLE["small_zip3"])
"""Three-digit ZIP areas with at most 20,000 people at the census of 2000 or 2010: the cautious union."""
_LEVELS: dict[str, tuple[int | str, ...]] = {country: tuple(entry["keep"]) for country, entry in _COUNTRIES.items()}
_PATTERNS = {country: Pattern(entry["form"], re.ASCII) for country, entry in _COUNTRIES.items()}
_ONLY_THERE = {country: Pattern(entry["only"], re.ASCII) for country, entry in _COUNTRIES.items() if "only" in entry}
"""Forms that tell the country, where all codes of a column have them."""


@register_rule
@dataclass(frozen=True)
class Postcode(CodeRule):
    """Levels of one country's postcodes, by its two letters (``UK`` or ``GB``); or ``5 digits``.

    >>> Postcode("UK").over("postcode", ["SW1A 1AA", "SW1A2AB", "M1 1AE"]).levels[2].labels
    ('SW1A', 'M1')
    >>> Postcode("US").over("zip", ["03601", "10001"]).levels[1].labels
    ('000', '100')
    """

    country: str = "NL"
    small: tuple[str, ...] = SMALL_ZIP3
    on_gap: OnGap = "error"
    kind: ClassVar[str] = "postcode"

    def __post_init__(self) -> None:
        written = self.country if self.country in _LEVELS else self.country.upper()
        country = {"GB": "UK"}.get(written, written)
        object.__setattr__(self, "country", country)
        if country not in _LEVELS:
            hint = f"Known: {', '.join(sorted(_LEVELS))}; or use a mask."
            raise HierarchyError(f"postcodes of '{self.country}' are not known.", hint=hint)
        check_gap_choice(self.on_gap)
        if country != "US":
            object.__setattr__(self, "small", ())

    @property
    def inner(self) -> int:
        return len(_LEVELS[self.country])

    def label(self, text: str, level: int) -> str | None:
        match = _PATTERNS[self.country].fullmatch(text)
        if match is None:
            return None
        kept = _LEVELS[self.country][level - 1]
        if isinstance(kept, int):
            if self.country.endswith("digits"):
                return text.zfill(int(self.country[0]))[:kept]
            if self.country != "US":
                return text[:kept]
            digits = (match.group(1) or match.group(2)).zfill(5)  # numbers lose their leading zeros
            return "000" if digits[:3] in self.small else digits[:kept]
        outward, area, _, sector = match.groups()
        if kept == "area":
            return area.upper()
        return f"{outward.upper()} {sector}" if kept == "sector" and sector else outward.upper()

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> Step:
        kept = _LEVELS[self.country][level - 1]
        plain = self.country != "US" and not self.country.endswith("digits")
        if isinstance(kept, int) and plain and missing_label is None and self.on_gap == "error":
            return Prefix(column, kept, "")
        return super()._inner_step(column, level, missing_label)


def country_of(texts: Sequence[str], *, digits: bool = False) -> str:
    """The country whose form all codes have; with ``digits`` also ``4 digits`` and so on for codes of digits alone; else empty.

    >>> country_of(["SW1A 1AA", "M1 1AE"]), country_of(["1234 AB"]), country_of(["10115", "1067"], digits=True), country_of(["x"])
    ('UK', 'NL', '5 digits', '')
    """
    for country, form in _ONLY_THERE.items():
        if all(form.fullmatch(t) for t in texts):
            likely = {"UK": any(" " in t or re.match("[A-Z]{2}", t) for t in texts), "US": any("-" in t for t in texts)}
            if likely.get(country, True):
                return country
    longest = max((len(t) for t in texts), default=0)
    if digits and longest in (4, 5, 6) and all(re.fullmatch(rf"[0-9]{{{longest - 2},{longest}}}", t, re.ASCII) for t in texts):
        return f"{longest} digits"
    return ""


def small_zip3(population: Mapping[str, float] | str | Path, *, threshold: int = 20_000) -> tuple[str, ...]:
    """Three-digit ZIP areas whose population does not exceed ``threshold``; an area that the table does not name is empty.

    ``population`` maps ZIP codes to people; a CSV file needs a column whose name starts with ``zip``, ``zcta`` or ``region`` and
    one whose name contains ``pop``. HIPAA's safe harbor asks for more than 20,000 people.

    >>> small = small_zip3({"10001": 21_000, "10002": 1, "03601": 14_000})
    >>> "100" in small, "036" in small, "999" in small
    (False, True, True)
    """
    people: dict[str, float] = defaultdict(float)
    listed = population if isinstance(population, Mapping) else _read_population(Path(population))
    for code, number in listed.items():
        people[code.zfill(5)[:3]] += number
    return tuple(f"{area:03d}" for area in range(1000) if people[f"{area:03d}"] <= threshold)


def _read_population(file: Path) -> dict[str, float]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error):
        raise UnreadableError(f"the population table '{file.name}' cannot be read.", hint="Give a CSV in UTF-8.") from None
    names = list(rows[0]) if rows else []
    code = next((n for n in names if n.lower().startswith(("zip", "zcta", "region"))), None)
    people = next((n for n in names if "pop" in n.lower()), None)
    if code is None or people is None:
        hint = "Name them zip and population."
        raise UnreadableError(f"the population table '{file.name}' lacks a ZIP column or a population column.", hint=hint)
    out: dict[str, float] = {}
    for number, row in enumerate(rows, start=2):
        try:
            out[row[code]] = out.get(row[code], 0.0) + float(row[people] or 0)
        except ValueError:
            raise UnreadableError(f"line {number} of the population table '{file.name}' has no number of people.") from None
    return out

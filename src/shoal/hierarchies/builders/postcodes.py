"""Postcodes of a country, in levels that mean areas there.

NL  1234 AB → 1234 → 123 → 12 → 1          DE  10115 → 101 → 10 → 1
UK  SW1A 1AA → SW1A 1 → SW1A → SW          US  00501-1234 → 005 (or 000) → 0

For the United States a three-digit area with too few people is published as ``000`` at every level below the top, the rule
of HIPAA's safe harbor (more than 20,000 people). Which areas are small is taken from a table of populations, or from the
lists of the censuses of 2000 and 2010.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from shoal.errors import HierarchyError, UnreadableError
from shoal.hierarchies.rule import Generalize, Rule, register_rule
from shoal.hierarchies.values import check_gap_choice, covered
from shoal.model.plan import OnGap, Step
from shoal.steps import Prefix

SMALL_ZIP3 = tuple("036 059 063 102 202 203 204 205 369 556 692 753 772 790 821 823 830 831 878 879 884 890 893".split())
"""Three-digit ZIP areas with at most 20,000 people at the census of 2000 or 2010: the cautious union.

The seventeen of 2000 (:data:`SMALL_ZIP3_2000`) are those that the preamble of the rule names (67 FR 53182, at 53233–53234,
14 August 2002) and that the guidance of the Office for Civil Rights of 26 November 2012 repeats; the others have at most 20,000
residents, or none, in the ZIP code tabulation areas of the census of 2010.
"""

SMALL_ZIP3_2000 = tuple("036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893".split())
"""Of these, the areas found small at the census of 2000, as the guidance of 2012 lists them."""

_LEVELS = {"NL": (4, 3, 2, 1), "DE": (3, 2, 1), "UK": ("sector", "district", "area"), "US": (3, 1)}
_PATTERNS = {
    "NL": re.compile(r"[1-9][0-9]{3}( ?[A-Za-z]{2})?", re.ASCII),
    "DE": re.compile(r"[0-9]{5}", re.ASCII),
    "UK": re.compile(r"(([A-Za-z]{1,2})[0-9][A-Za-z0-9]?)( ?([0-9])[A-Za-z]{2})?", re.ASCII),
    "US": re.compile(r"([0-9]{5})(?:-?[0-9]{4})?|([0-9]{3,4})", re.ASCII),
}


@register_rule
@dataclass(frozen=True)
class Postcode(Rule):
    """Levels of one country's postcodes: ``NL``, ``US``, ``UK`` (or ``GB``), ``DE``.

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
        country = {"GB": "UK"}.get(self.country.upper(), self.country.upper())
        object.__setattr__(self, "country", country)
        if country not in _LEVELS:
            raise HierarchyError(
                f"postcodes of '{self.country}' are not known.", hint=f"Known: {', '.join(_LEVELS)}; or use a mask."
            )
        check_gap_choice(self.on_gap)
        if country != "US":
            object.__setattr__(self, "small", ())

    @property
    def inner(self) -> int:
        return len(_LEVELS[self.country])

    def label(self, text: str, level: int) -> str | None:
        """The area of one postcode; None where it is none."""
        found = _PATTERNS[self.country].fullmatch(text)
        if found is None:
            return None
        kept = _LEVELS[self.country][level - 1]
        if isinstance(kept, int):
            if self.country != "US":
                return text[:kept]
            digits = (found.group(1) or found.group(2)).zfill(5)  # numbers lose their leading zeros
            return "000" if digits[:3] in self.small else digits[:kept]
        outward, area, _, sector = found.groups()
        if kept == "area":
            return area.upper()
        return f"{outward.upper()} {sector}" if kept == "sector" and sector else outward.upper()

    def labels(self, column: str, texts: Sequence[str], level: int) -> list[str | None]:
        return [self.label(t, level) for t in texts]

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> Step:
        kept = _LEVELS[self.country][level - 1]
        if isinstance(kept, int) and self.country != "US" and missing_label is None and self.on_gap == "error":
            return Prefix(column, kept, "")
        return Generalize.of(column, self, level, on_gap=self.on_gap, missing_label=missing_label)

    def _check_gaps(self, column: str, texts: Any, counts: Any) -> None:
        covered(column, texts, counts, lambda t: self.label(t, 1) is not None, self.on_gap)


def small_zip3(population: Mapping[str, float] | str | Path, *, threshold: int = 20_000) -> tuple[str, ...]:
    """Three-digit ZIP areas whose population does not exceed ``threshold``; an area that the table does not name is empty.

    Parameters
    ----------
    population : mapping of ZIP code to people, or a CSV file
        A file needs a column whose name starts with ``zip``, ``zcta`` or ``region`` and one whose name holds ``pop``.
    threshold : int
        HIPAA's safe harbor says: more than 20,000 people.

    Examples
    --------
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
        raise UnreadableError(
            f"the population table '{file.name}' lacks a ZIP column or a population column.",
            hint="Name them zip and population.",
        )
    out: dict[str, float] = {}
    for number, row in enumerate(rows, start=2):
        try:
            out[row[code]] = out.get(row[code], 0.0) + float(row[people] or 0)
        except ValueError:
            raise UnreadableError(f"line {number} of the population table '{file.name}' has no number of people.") from None
    return out

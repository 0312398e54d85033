"""Populations: a place, a period and filters, with parents to fall back to.

Written ``place@period;filter;filter``: ``NL/Utrecht/Amersfoort@2021;women``. Places nest from left to right; a population
without its filters, or one place wider, is a parent. An official code may stand for a place: ``FIPS:06@2010`` is ``US/CA@2010``.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources

from shoal.errors import UsageError, nearest
from shoal.registry.records.names import canonical_name, home_script

_PERIOD = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?(\.\.\d{4}(-\d{2}(-\d{2})?)?)?\Z", re.ASCII)
_COUNTRIES = {"GB": "UK", "EL": "GR"}
"""Two codes of one country: the second is the one that is used."""
_DEEPEST, _MOST_FILTERS = 8, 8
_HINT = "Write NL/Utrecht@2021;women."


@dataclass(frozen=True, order=True)
class Population:
    """Who the numbers are about. Small and capital letters make no difference: :attr:`key` is what is compared.

    >>> p = Population.parse("NL/Utrecht/Amersfoort@2021;women")
    >>> str(p), [str(q) for q in p.parents()][:3]
    ('NL/Utrecht/Amersfoort@2021;women', ['NL/Utrecht/Amersfoort@2021', 'NL/Utrecht@2021;women', 'NL/Utrecht@2021'])
    >>> Population.parse("no/TROMSØ@2020") == Population.parse("NO/Tromsø@2020")
    True
    """

    place: str = field(compare=False)
    period: str = field(compare=False)
    filters: tuple[str, ...] = field(default=(), compare=False)
    key: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        parts = self.place.split("/")
        if len(parts) > _DEEPEST:
            raise UsageError("the place of the population is not well formed.", hint=_HINT)
        country = canonical_name(parts[0], "place")
        if len(country) == 2 and country.isascii():
            country = _COUNTRIES.get(country.upper(), country.upper())
        home = home_script(country)
        names = [country, *(canonical_name(part, "place", home=home) for part in parts[1:])]
        if not _PERIOD.match(self.period):
            raise UsageError("the period of the population is not well formed.", hint=_HINT)
        if len(self.filters) > _MOST_FILTERS:
            raise UsageError("the filter of the population is not well formed.", hint=_HINT)
        chosen = {f.casefold(): f for f in sorted((_filter(f, home) for f in self.filters), reverse=True)}
        object.__setattr__(self, "place", "/".join(names))
        object.__setattr__(self, "filters", tuple(chosen[f] for f in sorted(chosen)))
        object.__setattr__(self, "key", str(self).casefold())

    @classmethod
    def parse(cls, text: str) -> Population:
        if len(text) > 500 or "@" not in text:
            raise UsageError("the population is not well formed.", hint="Write place@period, for instance NL/Utrecht@2021.")
        return _parsed(text)

    def __str__(self) -> str:
        return ";".join([f"{self.place}@{self.period}", *self.filters])

    @property
    def area(self) -> str:
        """The place one step wider; empty for the widest: neighbours share it.

        >>> Population.parse("NL/Utrecht/Amersfoort@2021").area
        'NL/Utrecht'
        """
        return self.place.rpartition("/")[0]

    def parents(self) -> list[Population]:
        """Wider populations of the same period, nearest first: without filters, then wider places."""
        out = []
        parts = self.place.split("/")
        for depth in range(len(parts), 0, -1):
            place = "/".join(parts[:depth])
            for filters in (self.filters, ()) if self.filters else ((),):
                wider = Population(place, self.period, filters)
                if wider != self:
                    out.append(wider)
        return out

    def overlaps(self, other: Population) -> bool:
        """Whether the periods of two populations have a day in common.

        >>> a, b = Population.parse("NL@2021"), Population.parse("NL@2021-11..2022-02")
        >>> a.overlaps(b), a.overlaps(Population.parse("NL@2022"))
        (True, False)
        """
        (first, last), (begin, end) = _days(self.period), _days(other.period)
        return first <= end and begin <= last


@lru_cache(maxsize=20_000)
def _parsed(text: str) -> Population:
    place, _, rest = text.partition("@")
    period, *filters = rest.split(";")
    return Population(place_of(place.strip()), period.strip(), tuple(f.strip() for f in filters))


def key_of(population: str) -> str:
    """What a population's text is compared by.

    >>> key_of("GB/LEEDS@2019") == key_of("UK/Leeds@2019")
    True
    """
    return Population.parse(population).key


def _filter(text: str, home: str) -> str:
    name, equals, value = text.partition("=")
    if not equals:
        return canonical_name(name, "filter", home=home)
    return f"{canonical_name(name, 'filter', home=home)}={canonical_name(value, 'filter', more='+', longest=41, home=home)}"


def _days(period: str) -> tuple[str, str]:
    """First and last day of a period, as text that sorts like the days."""
    first, _, last = period.partition("..")
    return first.ljust(10, "-"), (last or first).ljust(10, "~")


_SCHEMES = {"nuts": "NUTS", "lau": "LAU", "gss": "LAU", "fips": "FIPS", "iso": "ISO", "iso 3166-2": "ISO", "iso3166-2": "ISO"}


def place_of(text: str) -> str:
    """The place that an official code names, with what follows it; any other text is returned as it is.

    >>> place_of("ISO:US-CA/Los Angeles"), place_of("UK/Leeds"), place_of("LAU:E08000035")
    ('US/CA/Los Angeles', 'UK/Leeds', 'UK/Leeds')
    """
    scheme, colon, rest = text.partition(":")
    if not colon:
        return text
    known = _SCHEMES.get(scheme.strip().casefold())
    if known is None:
        raise UsageError("the place names a list of codes that is not known.", hint="Known: NUTS:, LAU:, FIPS:, ISO:.")
    code, slash, inside = rest.strip().partition("/")
    found = official_codes().get((known, code.strip().upper()))
    if found is None:
        close = nearest(code.strip().upper(), [c for s, c in official_codes() if s == known])
        raise UsageError(
            f"the {known} code of the place is not in the list.",
            hint=(f"Did you mean '{close}'? " if close else "") + "Else write the place by its name: country/place.",
        )
    return found + slash + inside


@lru_cache(maxsize=1)
def official_codes() -> dict[tuple[str, str], str]:
    """Place of every listed code, by scheme and code."""
    listed = (resources.files("shoal.registry.records") / "official.csv").read_text(encoding="utf-8")
    return {(row["scheme"], row["code"]): row["place"] for row in csv.DictReader(listed.splitlines())}

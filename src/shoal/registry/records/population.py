"""Populations: a place, a period and filters, with parents to fall back to.

Written ``place@period;filter;filter``: ``NL/Utrecht/Amersfoort@2021;women``. Places nest from left to right; a population
without its filters, or one place wider, is a parent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shoal.errors import UsageError

_WORD = r"[A-Za-z0-9][A-Za-z0-9 .'()_-]{0,60}"
_PLACE = re.compile(rf"{_WORD}(/{_WORD}){{0,7}}\Z")
_PERIOD = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?(\.\.\d{4}(-\d{2}(-\d{2})?)?)?\Z")
_FILTER = re.compile(rf"{_WORD}(=[A-Za-z0-9][A-Za-z0-9 .+_-]{{0,40}})?\Z")


@dataclass(frozen=True, order=True)
class Population:
    """Who the numbers are about.

    >>> p = Population.parse("NL/Utrecht/Amersfoort@2021;women")
    >>> str(p), [str(q) for q in p.parents()][:3]
    ('NL/Utrecht/Amersfoort@2021;women', ['NL/Utrecht/Amersfoort@2021', 'NL/Utrecht@2021;women', 'NL/Utrecht@2021'])
    """

    place: str
    period: str
    filters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "filters", tuple(sorted(set(self.filters))))
        wrong = (
            ("place", not _PLACE.match(self.place)),
            ("period", not _PERIOD.match(self.period)),
            ("filter", len(self.filters) > 8 or not all(_FILTER.match(f) for f in self.filters)),
        )
        for what, bad in wrong:
            if bad:
                raise UsageError(f"the {what} of the population is not well formed.", hint="Write NL/Utrecht@2021;women.")

    @classmethod
    def parse(cls, text: str) -> Population:
        if len(text) > 500 or "@" not in text:
            raise UsageError("the population is not well formed.", hint="Write place@period, for instance NL/Utrecht@2021.")
        place, _, rest = text.partition("@")
        period, *filters = rest.split(";")
        return cls(place.strip(), period.strip(), tuple(f.strip() for f in filters))

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


def _days(period: str) -> tuple[str, str]:
    """First and last day of a period, as text that sorts like the days."""
    first, _, last = period.partition("..")
    return first.ljust(10, "-"), (last or first).ljust(10, "~")

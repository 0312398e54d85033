"""Populations: a place, a period and filters, with parents to fall back to.

Written ``place@period;filter;filter``: ``NL/Utrecht/Amersfoort@2021;women``. Places nest from left to right; a population
without its filters, or one place wider, is a parent. An official code may stand for a place: ``FIPS:06@2010`` is ``US/CA@2010``.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources

from shoal.errors import UsageError, suggest
from shoal.model.roles import look

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
        home = _HOME.get(country.upper(), "")  # the script of its places, other than Latin; none where its letters cannot mislead
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
        return _parse(text)

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
def _parse(text: str) -> Population:
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
    place = official_codes().get((known, code.strip().upper()))
    if place is None:
        close = suggest(code.strip().upper(), [c for s, c in official_codes() if s == known])
        hint = f"{close} Else write the place by its name: country/place.".strip()
        raise UsageError(f"the {known} code of the place is not in the list.", hint=hint)
    return place + slash + inside


@lru_cache(maxsize=1)
def official_codes() -> dict[tuple[str, str], str]:
    """Place of every listed code, by scheme and code."""
    listed = (resources.files("shoal.registry.records") / "official.csv").read_text(encoding="utf-8")
    return {(row["scheme"], row["code"]): row["place"] for row in csv.DictReader(listed.splitlines())}


@lru_cache(maxsize=1)
def place_names() -> dict[str, tuple[str, ...]]:
    """Names of countries and of American states, by the place: in English first, then in the languages of the country."""
    listed = (resources.files("shoal.registry.records") / "names.csv").read_text(encoding="utf-8")
    names: dict[str, list[str]] = {}
    for row in csv.DictReader(listed.splitlines()):
        names.setdefault(row["place"], []).append(row["name"])
    return {place: tuple(names_found) for place, names_found in names.items()}


def places_called(text: str, *, whole: bool = False) -> list[str]:
    """Countries and states whose name contains a text, or is that text.

    >>> places_called("deutschland"), places_called("Kenya", whole=True), places_called("ny", whole=True)
    (['DE'], ['KE'], [])
    """
    wanted = look(text)
    called = {place: [look(name) for name in names] for place, names in place_names().items()} if wanted else {}
    return [place for place, names in called.items() if any(wanted == n or (not whole and wanted in n) for n in names)]


_ASCII = re.compile(r"'?[A-Za-z0-9][A-Za-z0-9 .,'&()_-]*\Z")
_SIGNS = " .,'&()_-"
_ONE_SPELLING = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u02bb\u02bc\u2032\u00b4`", "'"),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        "\u00a0": " ",
        "\u202f": " ",
    }
)
_TOGETHER = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "BOPOMOFO": "CJK", "HANGUL": "CJK", "KATAKANA-HIRAGANA": "CJK"}
_PHONETIC = ((0x01C0, 0x01C3), (0x0250, 0x02AF), (0x1D00, 0x1DBF), (0x2C60, 0x2C7F), (0xA720, 0xA7FF), (0xAB30, 0xAB6F))
"""Latin letters of no town: clicks, phonetic alphabets, letters of scholars. Some look like ordinary ones."""
_LIVING = frozenset("ɓɔɖɗəɛɣɨɩɲʋ")
"""Letters of these alphabets that towns are written with: Gəncə, Ɔkwɔ, Ɗan Musa."""

_HOME = {
    **dict.fromkeys(("BA", "BG", "BY", "KG", "KZ", "ME", "MK", "MN", "RS", "RU", "TJ", "UA", "UZ", "XK"), "CYRILLIC"),
    **dict.fromkeys(("CY", "GR"), "GREEK"),
}
"""Countries whose places are written in letters that may look like Latin ones."""
_CODE = 2
"""So many letters pass for a code in any country."""


@lru_cache(maxsize=50_000)
def canonical_name(text: str, what: str, *, more: str = "", longest: int = 61, home: str = "") -> str:
    """The one form of a name. ``what`` is used in errors; ``more`` are further signs that may stand in it; ``home`` is a script
    whose letters are expected there.

    >>> canonical_name("Genève", "place"), canonical_name("Gene\\u0300ve", "place") == canonical_name("Genève", "place")
    ('Genève', True)
    """
    name = " ".join(unicodedata.normalize("NFC", text.translate(_ONE_SPELLING)).split())
    if not 0 < len(name) <= longest:
        raise _shape_error(what)
    if not _ASCII.match(name):
        _check_letters(name, what, _SIGNS + more, home)
        _check_letters(unicodedata.normalize("NFC", name.casefold()), what, _SIGNS + more, home)  # what it is compared by
    return name


def _check_letters(name: str, what: str, signs: str, home: str) -> None:
    letters = [c for c in name if c not in signs and not (c.isascii() and c.isdigit())]
    kinds = [unicodedata.category(c) for c in letters]
    first = name.removeprefix("'")[:1]
    known = all(k in ("Lu", "Ll", "Lo", "Lt", "Mn", "Mc") for k in kinds) and kinds[:1] not in (["Mn"], ["Mc"])
    if not first or first in signs or not known:
        raise _shape_error(what)
    every = [c for letter in letters for c in letter + letter.lower()]
    dead = any(a <= ord(c) <= b and c not in _LIVING for c in every for a, b in _PHONETIC)  # of no living alphabet
    if unicodedata.normalize("NFKC", name) != name or dead:
        raise _look_alike(what)
    words = {unicodedata.name(c, "UNKNOWN").split(" ")[0] for c, k in zip(letters, kinds, strict=True) if k[0] == "L"}
    scripts = {_TOGETHER.get(word, word) for word in words}  # the first word of a letter's name in Unicode
    at_home = scripts == {home} and len(letters) > _CODE
    if len(scripts) > 1 or (scripts and scripts != {"LATIN"} and not at_home and look(name).isascii()):
        raise _look_alike(what)


def _shape_error(what: str) -> UsageError:
    return UsageError(f"the {what} of the population is not well formed.", hint="Write NL/Utrecht@2021;women.")


def _look_alike(what: str) -> UsageError:
    return UsageError(
        f"the {what} of the population has letters that pass for others.", hint="Write the name in the letters of one script."
    )

"""Official codes as other names of places: NUTS, LAU (in the United Kingdom the GSS code), FIPS of states, ISO 3166-2.

``official.csv`` lists scheme, code and place. A code that is not listed is refused: a guess would be another place.
"""

from __future__ import annotations

import csv
from functools import lru_cache
from importlib import resources

from shoal.errors import UsageError, nearest

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

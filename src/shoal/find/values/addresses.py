"""Street addresses by how they are written: a house number beside a word for a street, in several languages."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoal.find.names.words import folded
from shoal.find.values.identifiers import spread

FEWEST, SHARE = 5, 0.5
"""Different texts, and the share of them that is written as an address, from which a column holds addresses."""
_LAST = (
    "st street av ave avenue bl blvd boulevard rd road dr drive ln lane ct court pl place way hwy highway pkwy parkway ter "
    "terrace cir circle sq square close crescent gardens grove row mews"
)
_FIRST_NUMBERED = "rue avenue av boulevard bd place chemin impasse allee route quai cours"
_FIRST = "calle avda avenida plaza paseo via viale corso piazza rua travessa praca"
_JOINED = "strasse str weg platz allee gasse straat laan plein kade gracht dijk"


def _any(words: str) -> str:
    return "|".join(words.split())


_ADDRESS = re.compile(
    rf"\d{{1,5}}[a-z]?(?:[-/]\d{{1,4}}[a-z]?)?,?\s+(?:\S+\s+){{1,5}}(?:{_any(_LAST)})\b.*"  # 12 Main St
    rf"|\d{{1,4}}(?: ?(?:bis|ter))?,?\s+(?:{_any(_FIRST_NUMBERED)})\b.+"  # 12 rue de la Paix
    rf"|(?:{_any(_FIRST)})\b.*\D\d{{1,4}}\b.*"  # Calle Mayor, 12
    rf"|[^\d]*(?:{_any(_JOINED)})\.?\s+\d{{1,4}}\s?[a-z]?\b.*"  # Hauptstrasse 12
)


def street_addresses(values: Sequence[str]) -> bool:
    """Whether at least half of the texts are written as street addresses.

    >>> street_addresses([f"{n} W Sunset Bl" for n in range(100, 110)]), street_addresses([f"Hauptstraße {n}" for n in range(9)])
    (True, True)
    >>> street_addresses([f"Ward {n} West" for n in range(9)]), street_addresses([f"{n} tablets a day" for n in range(9)])
    (False, False)
    """
    looked = [v for v in spread(values, 200) if any(map(str.isdigit, v))]
    if len(values) < FEWEST or len(looked) < SHARE * min(len(values), 200):
        return False
    return sum(_ADDRESS.fullmatch(folded(v.strip())) is not None for v in looked) >= SHARE * len(spread(values, 200))

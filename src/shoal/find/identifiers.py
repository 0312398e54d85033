"""Values that name a person by their form: e-mail, telephone, national numbers with check digits, accounts, addresses of devices.

A form counts where at least 80 % of the distinct values have it; a check digit alone is right by chance once in ten or eleven, so
bare digits need 95 % of at least ten values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.find import checksums
from shoal.find.dates import compact_date
from shoal.find.finding import ColumnFacts, Evidence, remembered
from shoal.find.vocabulary import alternatives, folded
from shoal.kernels.text import Pattern
from shoal.model.roles import NUMBERS

MOST = 1_000
"""Distinct values looked at, evenly spread over all."""
SHARE, BARE_SHARE, BARE_LEAST = 0.8, 0.95, 10


@dataclass(frozen=True)
class Form:
    """A form of values: what it is, the safe-harbor item, how sure, the test, and whether bare digits can have it by chance."""

    key: str
    what: str
    hipaa: int
    confidence: float
    test: Callable[[str], bool]
    by_chance: bool = False


def _shape(pattern: str) -> Callable[[str], bool]:
    compiled = Pattern(pattern, re.IGNORECASE)
    return lambda text: compiled.fullmatch(text) is not None


def _bare(check: Callable[[str], bool], marks: str = r"[ .\-/]") -> Callable[[str], bool]:
    signs = Pattern(marks)
    return lambda text: check(text if text.isdigit() else signs.sub("", text).upper())


_BAND = Pattern(r"[<>=\s]*\d+([.,]\d+)?\s*(-|–|to|bis|a|à)\s*[<>=\s]*\d+([.,]\d+)?")
_DATE = Pattern(r"\d{1,4}[-/. ]\d{1,2}[-/. ]\d{1,4}([T ].*)?|(19|20)\d{2}(-\d{2}){4,5}")
_PHONE = Pattern(
    r"(\+|00)\d[\d ().\-/]{6,20}(x\d+)?|\(?0\d{1,5}\)?[ \-/.]?[\d ()\-/.]{4,15}|\(?\d{3}\)?[-. ]?\d{3}[-. "
    r"]\d{4}(\s*(x|ext\.?)\s*\d+)?|\d{2,4}([ .-]\d{2,4}){2,4}"
)


_NO_DIGIT = re.compile(r"\D")


def phone(text: str) -> bool:
    """Whether a text is written like a telephone number; bands, dates and numbers filled with zeros are not.

    >>> [phone(t) for t in ("+31 20 123 4567", "(020) 7946 0123", "555-123-4567", "45000-54999", "2020-01-31", "000000084")]
    [True, True, True, False, False, False]
    """
    digits = _NO_DIGIT.sub("", text)
    return (
        8 <= len(digits) <= 15
        and not text.startswith("000")
        and _PHONE.fullmatch(text) is not None
        and not _BAND.fullmatch(text)
        and not _DATE.fullmatch(text)
    )


FORMS: tuple[Form, ...] = (
    Form("email", "e-mail addresses", 6, 0.99, _shape(r"[^@\s]{1,64}@[^@\s]{1,255}\.[a-z]{2,24}")),
    Form("url", "web addresses", 14, 0.95, _shape(r"(https?://|www\.)\S{3,}")),
    Form(
        "ip",
        "internet (IP) addresses",
        15,
        0.95,
        _shape(
            r"(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}|([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|[0-9a-f:]*::[0-9a-f:]*"
        ),
    ),
    Form("device", "device addresses", 13, 0.95, _shape(r"([0-9a-f]{2}[:-]){5}[0-9a-f]{2}")),
    Form("uuid", "unique codes (UUID)", 18, 0.95, _shape(r"\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?")),
    Form("hash", "hashes", 18, 0.85, _shape(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}")),
    Form("national_number", "social security numbers", 7, 0.95, _shape(r"\d{3}-\d{2}-\d{4}")),
    Form(
        "national_number",
        "British national insurance numbers",
        7,
        0.95,
        _shape(r"[a-ceghj-prtw-z][a-ceghj-nprtw-z] ?\d{2} ?\d{2} ?\d{2} ?[a-d]"),
    ),
    Form("national_number", "Italian tax codes", 7, 0.97, _bare(checksums.codice_fiscale)),
    Form("national_number", "Spanish identity numbers", 7, 0.97, _bare(checksums.dni)),
    Form("national_number", "French social security numbers", 7, 0.97, _bare(checksums.nir)),
    Form("account", "bank account numbers", 10, 0.97, _bare(checksums.iban)),
    Form("account", "bank account numbers", 10, 0.85, _shape(r"[a-z]{2}\d{2}( ?[a-z0-9]{4}){3,7}( ?[a-z0-9]{1,3})?")),
    Form("plate", "vehicle identification numbers", 12, 0.95, _bare(checksums.vin)),
    Form("national_number", "Brazilian tax numbers", 7, 0.95, _bare(checksums.cpf), by_chance=True),
    Form("account", "payment card numbers", 10, 0.9, _bare(checksums.luhn), by_chance=True),
    Form("national_number", "Dutch citizen numbers", 7, 0.93, _bare(checksums.bsn), by_chance=True),
    Form("national_number", "British health service numbers", 7, 0.93, _bare(checksums.nhs), by_chance=True),
    Form("position", "exact positions", 2, 0.9, _shape(r"\(?-?\d{1,3}\.\d{3,}\s*[,; ]\s*-?\d{1,3}\.\d{3,}\)?|POINT ?\(.*\)")),
    Form("phone", "telephone numbers", 4, 0.85, phone),
)


SHORTEST, FEWEST_DIGITS = 6, 9
"""Characters of the shortest identifier of any form (a@b.cc) and of digits alone; shorter values are not looked at one by one."""


def spread(values: Sequence[str], most: int = MOST) -> list[str]:
    """Values evenly spread over all, each cut to a length that any identifier has."""
    step = max(1, len(values) // most)
    return [v[:400].strip() for v in values[::step]]


@remembered
def identifier_form(values: Sequence[str], kind: str) -> tuple[Form, Evidence] | None:
    """The form of identifier that the values have, with the share that has it; None where they have none."""
    looked = spread(values) if kind in ("text", "other", "integer") else []
    if not looked or max(map(len, looked)) < (FEWEST_DIGITS if kind == "integer" else SHORTEST):
        return None
    for form in FORMS:
        if kind == "integer" and not form.by_chance:
            continue
        chance = form.by_chance and any(v.isdigit() for v in looked)
        if chance and len(looked) < BARE_LEAST:
            continue
        needed = BARE_SHARE if chance else SHARE
        if not any(form.test(v) for v in looked[:: max(1, len(looked) // 20)]):
            continue
        share = sum(form.test(v) for v in looked) / len(looked)
        if share >= needed:
            return form, Evidence(form.what, round(share, 3), form.confidence)
    return None


FEWEST_ADDRESSES, ADDRESS_SHARE = 5, 0.5
"""Different texts, and the share of them that is written as an address, from which a column holds addresses."""
_BEHIND, _NUMBERED, _BEFORE, _JOINED = (
    alternatives("addresses", f"street {place}") for place in ("behind", "before, number first", "before", "joined")
)
_ADDRESS = Pattern(
    rf"\d{{1,5}}[a-z]?(?:[-/]\d{{1,4}}[a-z]?)?,?\s+(?:\S+\s+){{1,5}}(?:{_BEHIND})\b.*"  # 12 Main St
    rf"|\d{{1,4}}(?: ?(?:bis|ter))?,?\s+(?:{_NUMBERED})\b.+"  # 12 rue de la Paix
    rf"|(?:{_BEFORE})\b.*\D\d{{1,4}}\b.*"  # Calle Mayor, 12
    rf"|[^\d]*(?:{_JOINED})\.?\s+\d{{1,4}}\s?[a-z]?\b.*"  # Hauptstrasse 12
)


_INSIDE_STREET = Pattern(
    rf"\b\d{{1,5}}[a-z]?\s+(?:[^\W\d]\S*\s+){{1,3}}(?:{alternatives('addresses', 'street certain')})\b"
    r"|\b[^\W\d]{3,}(?:strasse|str\.?|gasse|allee|weg|straat|gatan|vej)\s+\d{1,4}\s?[a-z]?\b"
)


def holds_street(text: str) -> bool:
    """Whether a text contains a street with a house number.

    >>> holds_street("lives 12 Main Street"), holds_street("wohnt Gartenweg 7"), holds_street("2 tablets a day")
    (True, True, False)
    """
    return _INSIDE_STREET.search(folded(text)) is not None


def street_addresses(values: Sequence[str]) -> bool:
    """Whether at least half of the texts are written as street addresses.

    >>> street_addresses([f"{n} W Sunset Bl" for n in range(100, 110)]), street_addresses([f"Hauptstraße {n}" for n in range(9)])
    (True, True)
    >>> street_addresses([f"Ward {n} West" for n in range(9)]), street_addresses([f"{n} tablets a day" for n in range(9)])
    (False, False)
    """
    looked = [v for v in spread(values, 200) if any(map(str.isdigit, v))]
    if len(values) < FEWEST_ADDRESSES or len(looked) < ADDRESS_SHARE * min(len(values), 200):
        return False
    return sum(_ADDRESS.fullmatch(folded(v.strip())) is not None for v in looked) >= ADDRESS_SHARE * len(spread(values, 200))


LONG = 8
"""Digits from which numbers of the same length are taken for numbers of people or things."""
LEAST_VALUES, LEAST_SHARE, SAME_LENGTH = 20, 0.1, 0.95
EXACT = 1e15
"""Whole numbers below it are written out as their digits."""
ROUND = 0.25
"""Share of multiples of ten above which long numbers are amounts: one in ten is by chance."""
FEWEST_PLACES, NAMED_PLACES, MOST_PLACES, PLACED = 4, 3, 8, 0.8
"""Decimal places of exact positions (four tell ten metres, three a street), and the share of values that has them."""
WIDEST, FAR = 60.0, 5.0
"""Degrees that the people of a table are spread over at most, and how far from zero their middle is."""


def long_numbers(facts: ColumnFacts) -> bool:
    """Whether a column holds long whole numbers of one length, of many different values, few of them round and none a date."""
    if not facts.whole or facts.distinct < LEAST_VALUES or facts.distinct < LEAST_SHARE * facts.filled:
        return False
    if facts.kind in NUMBERS and facts.numbers is not None and np.abs(facts.numbers).max() < 10 ** (LONG - 1):
        return False
    digits = [v.removesuffix(".0").lstrip("-") for v in spread(facts.values)]
    length, n = Counter(map(len, digits)).most_common(1)[0]
    if length < LONG or n < SAME_LENGTH * len(digits):
        return False
    dates = sum(compact_date(v) for v in digits)
    return not rounded(facts) and dates < 0.5 * len(digits)


def rounded(facts: ColumnFacts) -> bool:
    """Whether more of the whole numbers are multiples of ten than chance would make, as amounts are."""
    if facts.kind in NUMBERS and facts.whole and facts.numbers is not None and np.abs(facts.numbers).max() < EXACT:
        looked = facts.numbers[:: max(1, len(facts.values) // MOST)]
        return int(np.count_nonzero(looked % 10 == 0)) > ROUND * len(looked)
    digits = [v.removesuffix(".0") for v in spread(facts.values)]
    return sum(v.endswith("0") for v in digits) > ROUND * len(digits)


def exact_degrees(facts: ColumnFacts) -> bool:
    """Whether a column holds numbers that are written like exact degrees of latitude or longitude, nearly all different."""
    numbers = facts.numbers
    if numbers is None or facts.whole or facts.distinct < LEAST_VALUES or facts.distinct < 0.5 * facts.filled:
        return False
    low, high = facts.low, facts.high
    near = -180 <= low <= high <= 180 and high - low <= WIDEST and abs(float(np.median(numbers))) >= FAR
    return near and places_share(facts, FEWEST_PLACES) >= PLACED


def places_share(facts: ColumnFacts, fewest: int) -> float:
    """The share of values with at least so many decimal places, and not more than positions have."""
    places = [len(v.partition(".")[2]) for v in spread(facts.values)]
    return sum(fewest <= p <= MOST_PLACES for p in places) / max(len(places), 1)


def position_pairs(columns: Sequence[ColumnFacts]) -> tuple[str, ...]:
    """Columns that together tell exact positions: at least two with exact degrees, one of them within those of latitude."""
    degrees = [facts for facts in columns if exact_degrees(facts)]
    north = [f for f in degrees if f.numbers is not None and float(np.max(np.abs(f.numbers))) <= 90]
    return tuple(f.name for f in degrees) if len(degrees) >= 2 and north else ()

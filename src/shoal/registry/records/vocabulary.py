"""The shared vocabulary: attributes and the ways to code them, from fine to coarse.

A code is ``attribute`` or ``attribute/scheme`` (``age/5y``, ``postcode/NL/pc4``, ``sex``). Codes of one chain are ordered: each
is a function of the one before it, so what is known of a finer code bounds what is true of a coarser one. Codes of one's own
have levels too: ``x/job``, then ``x/job~1``, ``x/job~2`` … from fine to coarse.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from shoal.errors import DataError, UsageError, nearest

_POSTCODES = {"AT": 4, "AU": 4, "BE": 4, "CH": 4, "DK": 4, "NO": 4, "ES": 5, "FI": 5, "FR": 5, "IT": 5, "SE": 5}
"""Digits of the postcodes of further countries; the first two are the coarser coding."""

CHAINS: tuple[tuple[str, ...], ...] = (
    ("age/years", "age/5y", "age/10y", "age/20y"),
    ("sex",),
    ("birth/date", "birth/month", "birth/year", "birth/decade"),
    ("postcode/NL/pc6", "postcode/NL/pc4", "postcode/NL/pc2"),
    ("postcode/US/zip5", "postcode/US/zip3"),
    ("postcode/UK/unit", "postcode/UK/sector", "postcode/UK/district", "postcode/UK/area"),
    ("postcode/DE/plz5", "postcode/DE/plz3", "postcode/DE/plz2", "postcode/DE/plz1"),
    *((f"postcode/{country}/pc{digits}", f"postcode/{country}/pc2") for country, digits in _POSTCODES.items()),
    ("place/municipality", "place/province", "place/country"),
    ("education/detailed", "education/level"),
    ("education/isced3", "education/isced2", "education/isced1"),
    ("occupation/isco4", "occupation/isco3", "occupation/isco2", "occupation/isco1"),
    ("diagnosis/icd10-4", "diagnosis/icd10-3", "diagnosis/icd10-chapter"),
    ("income/1k", "income/5k", "income/10k", "income/50k"),
    ("nationality/country", "nationality/region"),
    ("marital/status",),
    ("household/size",),
    ("household/type",),
    ("height/cm", "height/5cm", "height/10cm"),
    ("weight/kg", "weight/5kg", "weight/10kg"),
)
"""Every chain of codes, finest first."""

MOST_VALUES = {
    "age/years": 131, "age/5y": 27, "age/10y": 14, "age/20y": 8, "sex": 6,
    "birth/date": 48_000, "birth/month": 1600, "birth/year": 132, "birth/decade": 15,
    "postcode/NL/pc6": 700_000, "postcode/NL/pc4": 9000, "postcode/NL/pc2": 90,
    "postcode/US/zip5": 100_000, "postcode/US/zip3": 1000,
    "postcode/UK/unit": 3_000_000, "postcode/UK/sector": 13_000, "postcode/UK/district": 3500, "postcode/UK/area": 130,
    "postcode/DE/plz5": 100_000, "postcode/DE/plz3": 1000, "postcode/DE/plz2": 100, "postcode/DE/plz1": 10,
    **{f"postcode/{country}/pc{digits}": 10**digits for country, digits in _POSTCODES.items()},
    **{f"postcode/{country}/pc2": 100 for country in _POSTCODES},
    "place/municipality": 50_000, "place/province": 5000, "place/country": 260,
    "education/detailed": 500, "education/level": 20,
    "education/isced3": 100, "education/isced2": 50, "education/isced1": 11,
    "occupation/isco4": 600, "occupation/isco3": 170, "occupation/isco2": 60, "occupation/isco1": 12,
    "diagnosis/icd10-4": 26_000, "diagnosis/icd10-3": 2700, "diagnosis/icd10-chapter": 30,
    "income/1k": 100_000, "income/5k": 20_000, "income/10k": 10_000, "income/50k": 2000,
    "nationality/country": 260, "nationality/region": 40, "marital/status": 15, "household/size": 60, "household/type": 30,
    "height/cm": 250, "height/5cm": 51, "height/10cm": 26, "weight/kg": 500, "weight/5kg": 101, "weight/10kg": 51,
}  # fmt: skip
"""The most different values that a column in each coding can have, generously: more of them are another coding."""

WIDTHS = {
    **{(f"age/{b}y", "age/years"): float(b) for b in (5, 10, 20)},
    **{(f"{name}/{b}{unit}", f"{name}/{unit}"): float(b) for name, unit in (("height", "cm"), ("weight", "kg")) for b in (5, 10)},
    ("age/10y", "age/5y"): 2.0, ("age/20y", "age/5y"): 4.0, ("age/20y", "age/10y"): 2.0,
    ("height/10cm", "height/5cm"): 2.0, ("weight/10kg", "weight/5kg"): 2.0,
    ("birth/month", "birth/date"): 31.0, ("birth/year", "birth/date"): 366.0, ("birth/decade", "birth/date"): 3653.0,
    ("birth/year", "birth/month"): 12.0, ("birth/decade", "birth/month"): 120.0, ("birth/decade", "birth/year"): 10.0,
    ("income/5k", "income/1k"): 5.0, ("income/10k", "income/1k"): 10.0, ("income/50k", "income/1k"): 50.0,
    ("income/10k", "income/5k"): 2.0, ("income/50k", "income/5k"): 10.0, ("income/50k", "income/10k"): 5.0,
}  # fmt: skip
"""Values of a finer coding in one of a coarser, where the coding fixes it."""

LABELS = {
    "age/years": "age in years", "age/5y": "age in bands of five years", "age/10y": "age in bands of ten years",
    "age/20y": "age in bands of twenty years", "sex": "sex",
    "birth/date": "date of birth", "birth/month": "month and year of birth", "birth/year": "year of birth",
    "birth/decade": "decade of birth",
    "postcode/NL/pc6": "postcode", "postcode/NL/pc4": "the digits of the postcode",
    "postcode/NL/pc2": "the first two digits of the postcode",
    "postcode/US/zip5": "ZIP code", "postcode/US/zip3": "the first three digits of the ZIP code",
    "postcode/UK/unit": "postcode", "postcode/UK/sector": "postcode sector", "postcode/UK/district": "postcode district",
    "postcode/UK/area": "postcode area",
    "postcode/DE/plz5": "postcode", "postcode/DE/plz3": "the first three digits of the postcode",
    "postcode/DE/plz2": "the first two digits of the postcode", "postcode/DE/plz1": "the first digit of the postcode",
    **{f"postcode/{country}/pc{digits}": "postcode" for country, digits in _POSTCODES.items()},
    **{f"postcode/{country}/pc2": "the first two digits of the postcode" for country in _POSTCODES},
    "place/municipality": "municipality", "place/province": "province", "place/country": "country",
    "education/detailed": "education in detail", "education/level": "level of education",
    "education/isced3": "education (ISCED, three digits)", "education/isced2": "education (ISCED, two digits)",
    "education/isced1": "level of education (ISCED)",
    "occupation/isco4": "occupation", "occupation/isco3": "minor group of occupations",
    "occupation/isco2": "sub-major group of occupations", "occupation/isco1": "major group of occupations",
    "diagnosis/icd10-4": "diagnosis in detail", "diagnosis/icd10-3": "diagnosis by its category",
    "diagnosis/icd10-chapter": "diagnosis by its chapter",
    "income/1k": "income in thousands", "income/5k": "income in bands of 5,000", "income/10k": "income in bands of 10,000",
    "income/50k": "income in bands of 50,000",
    "nationality/country": "nationality", "nationality/region": "region of nationality", "marital/status": "marital status",
    "household/size": "size of the household", "household/type": "type of household",
    "height/cm": "height in centimetres", "height/5cm": "height in bands of 5 cm", "height/10cm": "height in bands of 10 cm",
    "weight/kg": "weight in kilograms", "weight/5kg": "weight in bands of 5 kg", "weight/10kg": "weight in bands of 10 kg",
}  # fmt: skip
"""Each code in words, for letters to the people who will be asked."""

SINGLE = frozenset({"age/years", "birth/year", "height/cm", "weight/kg", "household/size"})
"""Codings by single whole numbers."""
_BAND = re.compile(r"\W*\d+\s*(-|–|—|to|\.\.)\s*\d+\W*\Z")
_PLACE = {code: (chain, i) for chain, codes in enumerate(CHAINS) for i, code in enumerate(codes)}
_OWN = re.compile(r"(x/[a-z0-9][a-z0-9._-]{0,40}(?:/[a-z0-9][a-z0-9._-]{0,40})?)(?:~([1-9]))?\Z")

MOST = 50
"""Attributes of one quasi-identifier."""

_HINT = "Name the coding that the column is in, or recode the column first."
Relation = Literal["same", "coarser", "finer", "other"]


def check_code(code: str) -> str:
    """``code`` itself when the vocabulary has it, or when it is an own code ``x/name`` or ``x/name/scheme``, at a level or not.

    >>> check_code("age/5y"), check_code("x/shoe-size"), check_code("x/shoe-size~1")
    ('age/5y', 'x/shoe-size', 'x/shoe-size~1')
    """
    if code in _PLACE or _OWN.match(code):
        return code
    close = nearest(code, _PLACE)
    raise UsageError(
        f"attribute code '{code[:60]}' is not in the vocabulary.",
        hint=(f"Did you mean '{close}'? " if close else "")
        + "An attribute of your own is written x/name or x/name/scheme, coarser x/name~1.",
    )


def check_values(code: str, column: str, values: Sequence[object]) -> None:
    """Refuse a column with more different values than its coding has, or with bands where the coding has single years.

    >>> check_values("age/5y", "age", ["0-4", "5-9"])
    """
    check_count(code, column, len(values))
    if code in SINGLE and 2 * sum(bool(_BAND.match(str(v))) for v in values) > len(values):
        raise DataError(f"column '{column}' holds bands; the coding '{code}' has single values.", hint=_HINT)


def check_count(code: str, column: str, values: int) -> None:
    """Refuse a column with more different values than its coding has."""
    most = MOST_VALUES.get(code)
    if most is not None and values > most:
        raise DataError(
            f"column '{column}' has {values:,} different values; the coding '{code}' has at most {most:,}.", hint=_HINT
        )


def label(code: str) -> str:
    """A code in words.

    >>> label("age/5y"), label("x/shoe-size/eu")
    ('age in bands of five years', 'shoe-size (eu)')
    """
    if code in LABELS:
        return LABELS[code]
    own, level = own_level(code)
    _, name, *scheme = own.split("/")
    return (f"{name} ({scheme[0]})" if scheme else name) + (f", coarsened {level} times" if level > 1 else ", coarsened" * level)


def canonical(codes: Iterable[str]) -> tuple[str, ...]:
    """A quasi-identifier in its one spelling: checked codes, sorted, one per attribute.

    >>> canonical(["sex", "age/5y"])
    ('age/5y', 'sex')
    """
    found = sorted(check_code(c) for c in codes)
    if not found:
        raise UsageError("a quasi-identifier needs at least one attribute.", hint="Name codes such as age/years,sex.")
    if len(found) > MOST or sum(map(len, found)) > 900:
        raise UsageError(f"a quasi-identifier has at most {MOST} attributes.", hint="Name the ones that matter.")
    attributes = [attribute(c) for c in found]
    if len(set(attributes)) != len(attributes):
        raise UsageError("an attribute is named twice, in two codings.", hint="Name each attribute once.")
    return tuple(found)


def attribute(code: str) -> str:
    """What a code codes: the chain it belongs to, by its finest code's first word and country.

    >>> attribute("postcode/NL/pc4"), attribute("age/5y"), attribute("x/shoe-size/eu")
    ('postcode/NL', 'age', 'x/shoe-size')
    """
    parts = code.partition("~")[0].split("/")
    return "/".join(parts[:2]) if parts[0] in {"postcode", "x", "household"} else parts[0]


def own_level(code: str) -> tuple[str, int]:
    """An own code without its level, and the level; 0 is the finest.

    >>> own_level("x/job/own~2"), own_level("x/job")
    (('x/job/own', 2), ('x/job', 0))
    """
    found = _OWN.match(code)
    return (found[1], int(found[2] or 0)) if found else (code, 0)


def relation(code: str, other: str) -> Relation:
    """Whether ``code`` is the same as, coarser than or finer than ``other``.

    >>> relation("x/job~2", "x/job"), relation("x/job", "x/job/own~1")
    ('coarser', 'other')
    >>> relation("age/10y", "age/5y"), relation("birth/date", "birth/year"), relation("sex", "age/5y")
    ('coarser', 'finer', 'other')
    """
    if code == other:
        return "same"
    if code.startswith("x/"):
        (mine, level), (its, other_level) = own_level(code), own_level(other)
        return ("coarser" if level > other_level else "finer") if mine == its else "other"
    if code in _PLACE and other in _PLACE and _PLACE[code][0] == _PLACE[other][0]:
        return "coarser" if _PLACE[code][1] > _PLACE[other][1] else "finer"
    return "other"


def coarser(code: str, known: Iterable[str] = ()) -> tuple[str, ...]:
    """Codes above this one, nearest first; of an own code those among the ``known`` ones.

    >>> coarser("age/5y"), coarser("x/job", ["x/job~2", "x/job~1", "x/job/own~1"])
    (('age/10y', 'age/20y'), ('x/job~1', 'x/job~2'))
    """
    if code.startswith("x/"):
        return tuple(sorted(c for c in set(known) if relation(c, code) == "coarser"))
    if code not in _PLACE:
        return ()
    chain, i = _PLACE[code]
    return CHAINS[chain][i + 1 :]


def most_merged(coarse: Sequence[str], fine: Sequence[str]) -> float:
    """How many cells of the finer quasi-identifier lie in one of the coarser at most; infinite where the vocabulary cannot tell.

    >>> most_merged(("age/years",), ("age/years", "sex")), most_merged(("age/5y",), ("age/years",))
    (6.0, 5.0)
    >>> most_merged((), ("x/shoe-size",))
    inf
    """
    most = 1.0
    for code in fine:
        kept = next((c for c in coarse if attribute(c) == attribute(code)), None)
        if kept != code:
            most *= MOST_VALUES.get(code, math.inf) if kept is None else WIDTHS.get((kept, code), math.inf)
    return most


def compare(codes: tuple[str, ...], other: tuple[str, ...]) -> Relation:
    """How one quasi-identifier relates to another as a whole.

    Coarser: every attribute of ``codes`` is the same as or coarser than one of ``other`` (which may have more attributes).

    >>> compare(("age/10y", "sex"), ("age/years", "sex")), compare(("sex",), ("age/years", "sex"))
    ('coarser', 'coarser')
    """
    if codes == other:
        return "same"
    if _below(codes, other):
        return "coarser"
    return "finer" if _below(other, codes) else "other"


def _below(codes: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return all(any(relation(c, o) in ("same", "coarser") for o in other) for c in codes)

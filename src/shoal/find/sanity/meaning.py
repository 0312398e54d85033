"""What the numbers and dates of a column stand for, as far as it limits what they can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from shoal.find.names.words import words_of

Meaning = Literal["", "age", "birth", "death", "admission", "discharge", "month", "percent", "latitude", "longitude"]

_ANY: dict[Meaning, frozenset[str]] = {
    "death": frozenset(
        "death died deceased dod deathdate deathtime sterbedatum todesdatum overlijden overlijdensdatum deces muerte "
        "morte".split()
    ),
    "birth": frozenset(
        "birth birthdate birthday birthyear dob yob born geburtsdatum geburtsjahr geburtstag geboortedatum geboortejaar "
        "naissance nacimiento nascita nascimento dateofbirth".split()
    ),
    "discharge": frozenset(
        "discharge disch dischtime dischargedate entlassung entlassungsdatum ontslag ontslagdatum sortie alta egreso".split()
    ),
    "admission": frozenset(
        "admission admit admittime admissiondate aufnahme aufnahmedatum opname opnamedatum ingreso ricovero".split()
    ),
    "percent": frozenset("percent percentage pct prozent pourcentage porcentaje percentuale percentagem procent".split()),
    "latitude": frozenset("latitude lat breitengrad breedtegraad latitud latitudine".split()),
    "longitude": frozenset("longitude lon lng langengrad lengtegraad longitud longitudine".split()),
    "month": frozenset("month monat mois mes maand mese".split()),
    "age": frozenset("age alter leeftijd edad eta idade ageyears ageyrs".split()),
}
_NOT: dict[Meaning, frozenset[str]] = {
    "age": frozenset(
        "month months monate mois meses maanden week weeks day days tage group band cat category class code".split()
    ),
    "birth": frozenset("place country weight order number rate control city state town region month day".split()),
    "percent": frozenset("change growth increase hike diff difference gain".split()),
    "month": frozenset("number months since per rate".split()),
    "death": frozenset("cause place rate flag status number".split()),
    "admission": frozenset("type source location id number".split()),
    "discharge": frozenset("type location disposition id number status".split()),
}


def meaning_of(name: str) -> Meaning:
    """What a column of this name limits its values by; empty where nothing is known.

    >>> [meaning_of(n) for n in ("age", "age_months", "DateOfBirth", "birth weight", "pct_female", "lat", "birth month", "x")]
    ['age', '', 'birth', '', 'percent', 'latitude', 'month', '']
    """
    words = frozenset(words_of(name))
    if "%" in name and not words & _NOT["percent"]:
        return "percent"
    for meaning, any_of in _ANY.items():
        if words & any_of and not words & _NOT.get(meaning, frozenset()):
            return meaning
    return ""


def start_and_end(names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of columns whose names differ only by start and end.

    >>> start_and_end(["start_date", "end_date", "tax_start", "end"])
    [('start_date', 'end_date')]
    """
    keyed = {words_of(name): name for name in names}
    ends = ("start", "end"), ("begin", "end"), ("beginn", "ende"), ("from", "to"), ("von", "bis"), ("debut", "fin")
    out = []
    for words, name in keyed.items():
        for one, two in ends:
            other = tuple(two if w == one else w for w in words)
            if one in words and other in keyed:
                out.append((name, keyed[other]))
    return out

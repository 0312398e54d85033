"""Names, numbers and ages in ten languages under names that say nothing, beside columns that are known: none is published."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from shoal.find import ColumnFacts
from shoal.find.columns import find_columns
from shoal.model.roles import Role

LANGUAGES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "en": (("sex", "age", "town"), ("Wanda", "Thaddeus", "Ottilie", "Percival"), ("Featherstone", "Ramsbottom", "Cholmondeley")),
    "de": (("geschlecht", "alter", "ort"), ("Gudrun", "Ekkehard", "Wiebke", "Thorben"), ("Oberhuber", "Wüstenhagen", "Zwickl")),
    "fr": (("sexe", "age", "ville"), ("Solenn", "Gwenaël", "Maëlys", "Capucine"), ("Le Goff", "Kerbrat", "Vandeputte")),
    "es": (("sexo", "edad", "ciudad"), ("Itziar", "Nemesio", "Yolanda", "Macarena"), ("Etxeberria", "Quispe", "Mamani")),
    "pl": (("plec", "wiek", "miasto"), ("Bożena", "Zdzisław", "Wiesława", "Radosław"), ("Gżegżółka", "Wrona", "Ćwiek")),
    "tr": (("cinsiyet", "yas", "sehir"), ("Gülşah", "Alperen", "Nurbanu", "Tuğrul"), ("Karaosmanoğlu", "Uçar", "Işık")),
    "ru": (("пол", "возраст", "город"), ("Евдокия", "Афанасий", "Лукерья", "Прохор"), ("Пупкин", "Сидоренко", "Хвост")),
    "zh": (("性别", "年龄", "城市"), ("诗涵", "子轩", "梓萱", "浩宇"), ("欧阳", "司马", "龙")),
    "ar": (("الجنس", "العمر", "المدينة"), ("زينب", "عبدالله", "خديجة", "ياسر"), ("الشمري", "القحطاني", "حداد")),
    "sw": (("jinsia", "umri", "mji"), ("Wanjiru", "Otieno", "Achieng", "Kamau"), ("Mwangi", "Odhiambo", "Kipchoge")),
}
NAMES = ("gizmoness", "zork_id", "number_plate", "account_number", "device_id", "merken")
SIZES = ((4, 50), (12, 5), (8, 2), (12, 1), (60, 2), (60, 20))
"""Different values, and rows of each."""


def columns(given: Sequence[str], family: Sequence[str], n: int, r: random.Random) -> Iterator[list[str]]:
    yield [f"{r.choice(given)} {r.choice(family)}" for _ in range(n)]
    yield [*family]
    yield [*given]
    yield [f"0{r.randrange(10**9, 10**10)}" for _ in range(n)]
    for digits in (3, 5, 9):
        yield [str(r.randrange(10 ** (digits - 1), 10**digits)) for _ in range(n)]
    yield [str(int(r.random() ** 3 * 10**5)) for _ in range(n)]
    yield [f"{r.choice('ABCD')}{r.randrange(100, 999)}" for _ in range(n)]
    yield ["".join(r.choice("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789") for _ in range(8)) for _ in range(n)]
    yield [f"{r.randrange(1, 9)}.{r.randrange(99)}{r.choice('xyz')}" for _ in range(n)]
    yield [f"{r.randrange(100, 999)}:{r.randrange(100, 999)}" for _ in range(n)]
    yield [f"{'Universidad ' if i % 2 else ''}{r.choice(given)} {r.choice(family)}" for i in range(n)]
    yield [f"2020/0{r.randrange(1, 9)}-{r.randrange(10, 99)}" for _ in range(n)]
    yield [str(r.randrange(1930, 2010)) for _ in range(n)]
    yield [str(r.randrange(18, 90)) for _ in range(n)]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("known", [0, 1, 2, 3])
def test_nothing_that_names_people_is_published_under_a_name_that_says_nothing(language: str, known: int) -> None:
    beside, given, family = LANGUAGES[language]
    r = random.Random(known)
    for n, each in SIZES:
        for made in columns(given, family, n, r):
            values = list(dict.fromkeys(made))
            name = r.choice(NAMES)
            counts = np.array([max(1, each + r.randrange(-1, 2)) if each > 1 else 1 for _ in values])
            rows = int(counts.sum())
            whole = all(v.isdecimal() and v[0] != "0" for v in values)
            third = rows // 3 + 1
            others = [ColumnFacts(k, "text", ["ea", "ib", "oc"], np.full(3, third), 3 * third) for k in beside[:known]]
            found = find_columns([*others, ColumnFacts(name, "integer" if whole else "text", values, counts, rows)])[-1]
            assert found.role not in (Role.SENSITIVE, Role.INSENSITIVE), (name, values[:3], found.reason)
            assert not any(v in found.reason for v in values if len(v) > 3)

"""Street addresses are known by their spelling, and names of things and of victims by their last words."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.find import ColumnFacts, find_column
from shoal.find.identifiers import FEWEST_ADDRESSES, street_addresses
from shoal.find.topics import topic_of
from shoal.model.roles import Role

WRITTEN = (
    "{} W Sunset Bl",
    "{}B Church Lane, Leeds",
    "{}-{} Long Acre Road",
    "{} rue de la Paix",
    "{} bis, avenue Foch",
    "Hauptstraße {}",
    "Am Alten Weg {} a",
    "Prinsengracht {}",
    "Calle Mayor, {}",
    "Via Garibaldi {}, Roma",
    "Rua das Flores n.º {}",
)
OTHERS = ("Ward {} West", "{} tablets a day", "Room {}", "{} mg twice", "Street {}", "Grade {}", "Block {} of Oak", "{} years")


def several(form: str, n: int = 40) -> list[str]:
    return [form.format(3 + 2 * i, 5 + 2 * i) for i in range(n)]


@pytest.mark.parametrize("form", WRITTEN)
def test_addresses_are_direct_whatever_their_column_is_called(form: str) -> None:
    found = find_column(ColumnFacts("LOCATION", "text", several(form), np.full(40, 2, dtype=np.int64), 80))
    assert found.role is Role.DIRECT
    assert found.reason == "its values are written as street addresses"


@pytest.mark.parametrize("form", OTHERS)
def test_other_texts_with_numbers_are_no_addresses(form: str) -> None:
    assert not street_addresses(several(form))


def test_half_of_at_least_five_texts_are_enough() -> None:
    form, words = WRITTEN[0], [f"corner {letter}" for letter in "abcdefghij"]
    assert street_addresses([*several(form, 10), *words])
    assert not street_addresses([*several(form, 9), *words])
    assert street_addresses(several(form, FEWEST_ADDRESSES))
    assert not street_addresses(several(form, FEWEST_ADDRESSES - 1))


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("Vict Descent", "race"),
        ("Vict Sex", "sex"),
        ("Crime Code", "crime"),
        ("Nombre del grupo étnico", "race"),
        ("Nombre completo", "person_name"),
        ("Nombre hijo", "name"),
        ("ARREST_PRECINCT", "place"),
    ],
)
def test_the_last_words_say_what_is_named(name: str, topic: str) -> None:
    assert topic_of(name).key == topic  # type: ignore[union-attr]


@pytest.mark.parametrize(("n", "direct"), [(2, False), (3, True), (19, True)])
def test_an_id_of_letters_in_a_short_table_is_direct(n: int, direct: bool) -> None:
    letters = [chr(ord("a") + i) for i in range(n)]
    found = find_column(ColumnFacts("id", "text", letters, np.ones(n, dtype=np.int64), n))
    assert (found.role is Role.DIRECT) is direct

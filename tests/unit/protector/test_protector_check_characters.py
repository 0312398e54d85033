"""Check characters: every single wrong character and every exchange of neighbours is found, and called mistyped."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from protector_support import House
from shoal.errors import UsageError
from shoal.protector.crypto import base32
from shoal.protector.pseudonyms.domains import Domain

LETTERS = base32.ALPHABET.decode()


def value(letters: str) -> int:
    return sum(LETTERS.index(c) * 32**i for i, c in enumerate(reversed(letters)))


@pytest.mark.parametrize(
    "letters", [base32.encode(bytes(range(7, 23))), "0" * 26, "Z" * 25 + "W", "7", base32.encode(bytes(range(99, 147)))]
)
def test_equals_the_definition_of_iso_7064(letters: str) -> None:
    text = base32.with_check(letters)
    assert text[:-2] == letters
    assert (value(letters) * 100 + int(text[-2:])) % 97 == 1
    assert 2 <= int(text[-2:]) <= 98
    assert base32.without_check(text) == letters


def test_every_single_error_and_every_exchange_is_found() -> None:
    """Exhaustive for texts of eight first letters; by the definition, the place and not the other letters decide."""
    for first in LETTERS[::4]:
        text = base32.with_check(first + base32.encode(hashlib.sha256(first.encode()).digest()[:16])[1:])
        for at in range(len(text)):
            for other in LETTERS:
                assert (base32.without_check(text[:at] + other + text[at + 1 :]) is None) == (other != text[at])
        for at in range(len(text) - 1):
            swapped = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
            assert (base32.without_check(swapped) is None) == (swapped != text)


def test_no_difference_of_one_character_or_two_neighbours_is_a_multiple_of_97() -> None:
    """The proof: of all differences of letters at all places, for every length."""
    steps = np.arange(1, 32)
    powers = np.array([pow(32, i, 97) for i in range(48)])
    assert ((steps[:, None] * powers) % 97 != 0).all()
    assert ((steps[:, None] * 31 * powers) % 97 != 0).all()
    assert all(d * w % 97 for d in range(1, 10) for w in (1, 10, 9, 90))


def test_letters_that_are_easily_confused_are_no_errors() -> None:
    text = base32.with_check("10" * 13)
    assert base32.without_check(text[:-2].replace("1", "I") + text[-2:]) == "10" * 13
    assert base32.without_check("") is None
    assert base32.without_check("12") is None


@pytest.mark.parametrize("kind", ["random", "reversible"])
def test_a_mistyped_pseudonym_is_not_called_unknown(sqlite_house: House, kind: str) -> None:
    house = sqlite_house
    house.owner.create_domain("ward", kind=kind, check_characters=True)
    house.owner.create_domain("study")
    house.connect("ward", "study")
    made, other = house.operator.pseudonymize("ward", ["0012", "0013"])
    assert house.operator.pseudonymize("ward", ["0012"]) == [made]
    if kind == "random":
        assert house.operator.find("ward", "0012") == made
    assert dict(house.reveal("ward", [made.lower()])) == {made: "0012"}
    wrong = made[:-3] + made[-2] + made[-3] + made[-1] if made[-2] != made[-3] else made[:-1] + str((int(made[-1]) + 1) % 10)
    with pytest.raises(UsageError, match="1 of 2 pseudonyms are mistyped"):
        house.request("ward", [wrong, other])
    with pytest.raises(UsageError, match="1 of 1 pseudonyms are mistyped"):
        house.operator.translate([wrong], source="ward", target="study", purpose="study 7")
    assert house.operator.translate([made], source="ward", target="study", purpose="study 7") != [None]
    with pytest.raises(UsageError, match="cannot be pseudonyms"):
        house.request("ward", ["Q-ABC"])


def test_many_at_once_are_spelled_as_one(sqlite_house: House) -> None:
    sqlite_house.owner.create_domain("keyed", kind="keyed", check_characters=True)
    for text in sqlite_house.operator.pseudonymize("keyed", [str(i) for i in range(50)]):
        assert base32.without_check(text.removeprefix("P-")) == text.removeprefix("P-")[:-2]


@pytest.mark.parametrize("kind", ["format-preserving", "self-generated"])
def test_kinds_that_are_not_spelled_by_the_vault_are_refused(kind: str) -> None:
    with pytest.raises(UsageError, match="check characters"):
        Domain("x", kind=kind, check_characters=True)  # type: ignore[arg-type]

"""Check digits: a number that fits, each with one sign changed, and numbers at the edges of each rule."""

from __future__ import annotations

import pytest

from shoal.find import checksums

FIT = {
    "luhn": ["4111111111111111", "4222222222222", "6304000000000000000", "30569309025904"],
    "iban": ["GB82WEST12345698765432", "NL91ABNA0417164300", "NO9386011117947"],
    "bsn": ["111222333", "123456782"],
    "nhs": ["9434765919", "9876543210", "4010232137"],
    "cpf": ["52998224725", "11144477735"],
    "dni": ["12345678Z", "X1234567L", "00000022E"],
    "nir": ["255081416802538", "185057800608491", "285122A12345695"],
    "codice_fiscale": ["RSSMRA85T10A562S"],
    "vin": ["1M8GDM9AXKP042788", "11111111111111111"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in FIT.items() for text in texts])
def test_one_changed_digit_does_not_fit(name: str, text: str) -> None:
    check = getattr(checksums, name)
    assert check(text)
    for i, sign in enumerate(text):
        if sign.isdigit():
            other = text[:i] + str((int(sign) + 1) % 10) + text[i + 1 :]
            assert name in ("vin",) or not check(other)
    assert not check(text + "0")
    assert not check(text[1:])
    assert not check(" " + text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bsn", "0" * 9),
        ("cpf", "1" * 11),
        ("cpf", "0" * 11),
        ("luhn", "0" * 12),
        ("luhn", "0" * 20),
        ("vin", "1M8GDM9A1KP042788"),
    ],
)
def test_digits_that_fit_by_rule_but_are_no_number(name: str, text: str) -> None:
    assert not getattr(checksums, name)(text)

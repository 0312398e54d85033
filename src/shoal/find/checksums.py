"""Check digits of numbers that name people or accounts. Each takes the bare signs, upper case, and says whether they fit."""

from __future__ import annotations

import re


def luhn(digits: str) -> bool:
    """Payment cards, IMEI: 13 to 19 digits.

    >>> luhn("4111111111111111"), luhn("4111111111111112")
    (True, False)
    """
    if not re.fullmatch(r"\d{13,19}", digits):
        return False
    doubled = (int(d) * (2 if i % 2 else 1) for i, d in enumerate(reversed(digits)))
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def iban(text: str) -> bool:
    """International bank account numbers: remainder 1 modulo 97.

    >>> iban("GB82WEST12345698765432"), iban("GB82WEST12345698765433")
    (True, False)
    """
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", text):
        return False
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


def bsn(digits: str) -> bool:
    """Dutch citizen numbers: eleven test over nine digits.

    >>> bsn("111222333"), bsn("111222334")
    (True, False)
    """
    if not re.fullmatch(r"\d{9}", digits) or digits == "0" * 9:
        return False
    weights = (9, 8, 7, 6, 5, 4, 3, 2, -1)
    return sum(w * int(d) for w, d in zip(weights, digits, strict=True)) % 11 == 0


def nhs(digits: str) -> bool:
    """British health service numbers: modulus 11 over ten digits.

    >>> nhs("9434765919"), nhs("9434765918")
    (True, False)
    """
    if not re.fullmatch(r"\d{10}", digits):
        return False
    check = 11 - sum((10 - i) * int(d) for i, d in enumerate(digits[:9])) % 11
    return check % 11 == int(digits[9])  # 10 never fits a digit


def cpf(digits: str) -> bool:
    """Brazilian tax numbers: two check digits.

    >>> cpf("52998224725"), cpf("52998224724")
    (True, False)
    """
    if not re.fullmatch(r"\d{11}", digits) or len(set(digits)) == 1:
        return False
    for n in (9, 10):
        check = sum((n + 1 - i) * int(d) for i, d in enumerate(digits[:n])) * 10 % 11 % 10
        if check != int(digits[n]):
            return False
    return True


def dni(text: str) -> bool:
    """Spanish identity numbers, foreigners' numbers included: a letter for the remainder modulo 23.

    >>> dni("12345678Z"), dni("X1234567L"), dni("12345678A")
    (True, True, False)
    """
    if not re.fullmatch(r"[XYZ\d]\d{7}[A-Z]", text):
        return False
    number = int(text[:-1].translate(str.maketrans("XYZ", "012")))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == text[-1]


def nir(text: str) -> bool:
    """French social security numbers: 13 signs and a key modulo 97.

    >>> nir("255081416802538"), nir("255081416802539")
    (True, False)
    """
    if not re.fullmatch(r"[1-478]\d{2}(0[1-9]|1[0-2]|[2-9]\d)(\d{2}|2[AB])\d{8}", text):
        return False
    body = int(text[:13].replace("2A", "19").replace("2B", "18"))
    return 97 - body % 97 == int(text[13:])


_SIGNS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ODD = dict(
    zip(
        _SIGNS,
        map(int, "1 0 5 7 9 13 15 17 19 21 1 0 5 7 9 13 15 17 19 21 2 4 18 20 11 3 6 8 12 14 16 10 22 25 24 23".split()),
        strict=True,
    )
)


def codice_fiscale(text: str) -> bool:
    """Italian tax codes: sixteen signs, the last a check letter.

    >>> codice_fiscale("RSSMRA85T10A562S"), codice_fiscale("RSSMRA85T10A562T")
    (True, False)
    """
    if not re.fullmatch(r"[A-Z]{6}[0-9LMNPQRSTUV]{2}[ABCDEHLMPRST][0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{3}[A-Z]", text):
        return False
    even = sum(int(c) if c.isdecimal() else ord(c) - 65 for c in text[1:15:2])
    odd = sum(_ODD[c] for c in text[0:15:2])
    return chr(65 + (even + odd) % 26) == text[15]


def vin(text: str) -> bool:
    """Vehicle identification numbers with the North American check digit.

    >>> vin("1M8GDM9AXKP042788"), vin("1M8GDM9A1KP042788")
    (True, False)
    """
    if not re.fullmatch(r"[A-HJ-NPR-Z0-9]{17}", text):
        return False
    values = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", map(int, "12345678123457923456789"), strict=True))
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
    rest = sum(w * (int(c) if c.isdecimal() else values[c]) for w, c in zip(weights, text, strict=True)) % 11
    return ("X" if rest == 10 else str(rest)) == text[8]

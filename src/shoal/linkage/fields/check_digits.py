"""Check digits of national numbers, by the name under which a field asks for them."""

from __future__ import annotations

import re
from collections.abc import Callable

from shoal.find.values import checksums


def ahv(digits: str) -> bool:
    """Swiss insurance number: thirteen digits that begin with 756, check digit as in EAN-13.

    >>> ahv("7569217076985"), ahv("7569217076984"), ahv("1234567890128")
    (True, False, False)
    """
    if not re.fullmatch(r"756[0-9]{10}", digits):
        return False
    return sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10 == 0


def luhn(digits: str) -> bool:
    """Luhn, of any length from two: insurance and card numbers, Swedish personal numbers.

    >>> luhn("79927398713"), luhn("79927398710"), luhn("0")
    (True, False, False)
    """
    if not re.fullmatch(r"[0-9]{2,}", digits):
        return False
    return sum(int(d) if i % 2 == 0 else int(d) * 2 - 9 * (d > "4") for i, d in enumerate(reversed(digits))) % 10 == 0


def ssn(digits: str) -> bool:
    """American social security number: no check digit, but areas 000, 666 and 900 on, group 00 and serial 0000 are never given.

    >>> ssn("078051120"), ssn("666051120"), ssn("900051120"), ssn("078001120"), ssn("078050000")
    (True, False, False, False, False)
    """
    return bool(re.fullmatch(r"(?!000|666|9)[0-9]{3}(?!00)[0-9]{2}(?!0000)[0-9]{4}", digits))


CHECK_DIGITS: dict[str, Callable[[str], bool]] = {
    "ahv": ahv,
    "bsn": checksums.bsn,
    "cpf": checksums.cpf,
    "dni": checksums.dni,
    "fiscale": checksums.codice_fiscale,
    "luhn": luhn,
    "nhs": checksums.nhs,
    "nir": checksums.nir,
    "ssn": ssn,
}

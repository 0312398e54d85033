"""Identities as they come in: a list or column of texts, checked and encoded."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from shoal.errors import DataError, UsageError, refuse

LONGEST_IDENTITY = 4096


def text_column(values: Any) -> tuple[Any, bool]:
    """An Arrow text column, and whether a list came in. Numbers become their text."""
    import pyarrow as pa

    as_list = isinstance(values, list | tuple)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if as_list and any(v is not None and not isinstance(v, str) for v in values):
        raise UsageError("identities are text; found another type.", hint="Turn numbers into text yourself: 12 and 012 differ.")
    try:
        wanted = pa.string() if as_list else None
        column = values if isinstance(values, pa.Array) else pa.array(values, wanted, from_pandas=True)
    except (pa.ArrowException, UnicodeEncodeError):
        raise DataError("identities cannot be read as text.", hint="Give valid Unicode texts.") from None
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_integer(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.string())
    if not pa.types.is_string(column.type):
        raise UsageError(f"identities are text or whole numbers; found a column of type {column.type}.")
    return column, as_list


def encoded(texts: Sequence[str]) -> list[bytes]:
    """Identities as UTF-8; one that is longer than :data:`LONGEST_IDENTITY` bytes is refused."""
    with refuse(DataError("an identity is not valid Unicode text.", hint="Read the column as UTF-8 text."), UnicodeEncodeError):
        plain = [text.encode() for text in texts]
    if plain and max(map(len, plain)) > LONGEST_IDENTITY:
        raise DataError(f"an identity has more than {LONGEST_IDENTITY} bytes.", hint="Is this the right column?")
    return plain


CLEANING = ("blanks", "case", "separators", "zeros")
"""``blanks``: none around, one where there are several, no invisible characters. ``case``: capital letters. ``separators``:
without blanks, dashes, dots and slashes. ``zeros``: without zeros at the start."""

_INVISIBLE = r"[\x{00AD}\x{200B}-\x{200D}\x{2060}\x{FEFF}]"
_BLANKS = r"[\s\p{Z}]+"
_SEPARATORS = r"[\s\p{Z}.\-/\x{2010}-\x{2015}]"
_UNTIDY = (
    r"[\s\p{Z}]{2}|[\t\n\r\f\v]|"
    r"[\x{0085}\x{00A0}\x{00AD}\x{1680}\x{2000}-\x{200D}\x{2028}\x{2029}\x{202F}\x{205F}\x{2060}\x{3000}\x{FEFF}]"
)
_TIDY = re.compile(r"[!-~]+(?: [!-~]+)*")
"""Plain characters with single blanks between them: as tidy as they can be."""
FEW = 256
"""Identities of which each is looked at before Arrow is asked: a single look-up costs less so."""


def cleaned(column: Any, rules: tuple[str, ...]) -> Any:
    """An Arrow text column by these rules; a text that is empty afterwards is missing."""
    import pyarrow.compute as pc

    if rules == ("blanks",) and len(column) <= FEW and all(_TIDY.fullmatch(text or "") for text in column.to_pylist()):
        return column
    if "blanks" in rules or "separators" in rules:
        if pc.any(pc.match_substring_regex(column, _UNTIDY)).as_py():  # columns that are tidy stay as they are
            column = pc.replace_substring_regex(pc.replace_substring_regex(column, _INVISIBLE, ""), _BLANKS, " ")
        column = pc.utf8_trim_whitespace(column)
    if "separators" in rules:
        column = pc.replace_substring_regex(column, _SEPARATORS, "")
    if "case" in rules:
        column = pc.utf8_upper(column)
    if "zeros" in rules:
        column = pc.replace_substring_regex(column, "^0+(.)", r"\1")
    return pc.if_else(pc.equal(column, ""), None, column) if rules else column


def check(values: list[str], rule: str) -> None:
    """Refuse identities whose check digit is wrong: a typing error would make a second person."""
    wrong = sum(not CHECKS[rule](value) for value in values)
    if wrong:
        hint = "Correct them at their source, or put them aside: a typing error would make a second person."
        raise DataError(f"{wrong:,} of {len(values):,} different identities have a wrong check digit ({rule}).", hint=hint)


def _digits(value: str) -> list[int] | None:
    kept = [c for c in value if c not in " -./"]
    return [int(c) for c in kept] if kept and all(c in "0123456789" for c in kept) else None


def luhn(value: str) -> bool:
    """Luhn, ISO/IEC 7812: insurance and card numbers, Swedish and South African personal numbers.

    >>> luhn("79927398713"), luhn("79927398710")
    (True, False)
    """
    digits = _digits(value)
    if digits is None or len(digits) < 2:
        return False
    return sum(d if i % 2 == 0 else d * 2 - 9 * (d > 4) for i, d in enumerate(reversed(digits))) % 10 == 0


def nhs(value: str) -> bool:
    """NHS number: ten digits, weights 10 to 2, modulo 11.

    >>> nhs("943 476 5919"), nhs("943 476 5918")
    (True, False)
    """
    digits = _digits(value)
    return (
        digits is not None and len(digits) == 10 and sum(d * w for d, w in zip(digits, range(10, 0, -1), strict=True)) % 11 == 0
    )


def bsn(value: str) -> bool:
    """Dutch citizen service number: nine digits, weights 9 to 2 and -1, modulo 11.

    >>> bsn("111222333"), bsn("111222334")
    (True, False)
    """
    digits = _digits(value)
    weights = (9, 8, 7, 6, 5, 4, 3, 2, -1)
    if digits is None or len(digits) != 9 or not any(digits):
        return False
    return sum(d * w for d, w in zip(digits, weights, strict=True)) % 11 == 0


def mod97(value: str) -> bool:
    """ISO 7064 MOD 97-10: digits and letters (A as 10), the last two digits check the rest.

    >>> mod97("79444"), mod97("79443")
    (True, False)
    """
    kept = [c for c in value.upper() if c not in " -./"]
    if len(kept) < 3 or not all(c in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" for c in kept):
        return False
    return int("".join(str(int(c, 36)) for c in kept)) % 97 == 1


CHECKS: dict[str, Callable[[str], bool]] = {"luhn": luhn, "nhs": nhs, "bsn": bsn, "mod97": mod97}

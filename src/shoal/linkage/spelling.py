"""One spelling for each value of a field. Every function takes the text of a cell and gives the normal form, or None."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date

from shoal.find.vocabulary import tagged, word_set

PARTICLES, TITLES = word_set("names", "particle of a record"), word_set("names", "title of a record")
SEXES = tagged("records", "sex")
MONTHS = {word: int(number) for section in ("month", "short month") for word, number in tagged("calendar", section).items()}

_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h"})
_MARKS = re.compile("[\u0300-\u036f]")
_APOSTROPHES = re.compile(r"['’‘`´ʼ]")
_DIGITS = re.compile(r"[0-9]+")


def plain(text: str) -> str:
    """Small letters and digits, words parted by one blank; marks on letters are gone.

    >>> plain("  O’Brien-MÜLLER, Žofie "), plain("Łukasz Straße"), plain("李 小龙")
    ('obrien muller zofie', 'lukasz strasse', '李 小龙')
    """
    folded = unicodedata.normalize("NFKD", text).casefold().translate(_LETTERS)
    folded = _APOSTROPHES.sub("", _MARKS.sub("", folded))
    kept = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in folded)
    return unicodedata.normalize("NFC", " ".join(kept.split()))


def name(text: str) -> str | None:
    """A given or family name: without titles, and without particles where another word is left.

    >>> name("Dr. Anna-Maria"), name("van der Berg"), name("Berg, v.d."), name("de la"), name("  ")
    ('anna maria', 'berg', 'berg', 'de la', None)
    """
    words = [w for w in plain(text).split() if w not in TITLES] or plain(text).split()
    kept = [w for w in words if w not in PARTICLES] or words
    return " ".join(kept) or None


def whole_name(text: str) -> tuple[str | None, str | None]:
    """Given and family name of a whole one: before and after a comma, or the last word with the particles before it.

    >>> whole_name("Anna van der Berg"), whole_name("Berg, Anna van der"), whole_name("Cher")
    (('anna', 'berg'), ('anna', 'berg'), (None, 'cher'))
    """
    family, comma, given = text.partition(",")
    if comma and plain(given) and plain(family):
        return name(given), name(family)
    words = [w for w in plain(text).split() if w not in TITLES]
    if len(words) < 2:
        return None, name(text)
    last = len(words) - 1
    while last > 1 and words[last - 1] in PARTICLES:
        last -= 1
    return name(" ".join(words[:last])), name(" ".join(words[last:]))


def text(value: str) -> str | None:
    """Any other text."""
    return plain(value) or None


def sex(value: str) -> str | None:
    """m, f or x, from words of seven languages or the codes 1 and 2 of ISO 5218."""
    return SEXES.get(plain(value).replace(" ", "-"))


def postcode(value: str) -> str | None:
    """Capital letters and digits; the last four digits of a long American code are dropped.

    >>> postcode("1234 ab"), postcode("12345-6789"), postcode("sw1a 1aa")
    ('1234AB', '12345', 'SW1A1AA')
    """
    kept = "".join(c for c in unicodedata.normalize("NFKC", value).upper() if c.isalnum())
    return (kept[:5] if kept.isdigit() and len(kept) == 9 else kept) or None


def phone(value: str) -> str | None:
    """The last nine digits, the same with and without the code of the country; None under six digits.

    >>> phone("+31 (0)20 123 4567"), phone("020-1234567"), phone("12")
    ('201234567', '201234567', None)
    """
    digits = "".join(_DIGITS.findall(unicodedata.normalize("NFKC", value).replace("(0)", "")))
    return digits.lstrip("0")[-9:] if len(digits.lstrip("0")) >= 6 else None


def email(value: str) -> str | None:
    """An address in small letters, without what stands behind a plus.

    >>> email(" Anna.B+news@Example.ORG "), email("mailto:a@b.nl"), email("@")
    ('anna.b@example.org', 'a@b.nl', None)
    """
    folded = unicodedata.normalize("NFKC", value).strip().casefold().removeprefix("mailto:")
    before, at, behind = folded.partition("@")
    kept = before.split("+")[0] + at + behind
    return kept if kept.strip("@") else None


def number(value: str) -> str | None:
    """A number given by a state or insurer: capital letters and digits."""
    kept = "".join(c for c in unicodedata.normalize("NFKC", value).upper() if c.isalnum())
    return kept or None


def birth(value: str, *, month_first: bool = False) -> str | None:
    """A date as eight digits, year first. Eight digits that are not a date are kept: a typing error is still near the truth.

    Where day and month could be either, ``month_first`` says which stands first. Years of two digits are of this century if they
    are past, else of the last.

    >>> birth("9.12.1908"), birth("1908-12-09T00:00"), birth("9 déc. 1908"), birth("December 9, 1908"), birth("19081345")
    ('19081209', '19081209', '19081209', '19081209', '19081345')
    >>> birth("09121908"), birth("12251908")
    ('19081209', '19081225')
    >>> birth("3/4/1980"), birth("3/4/1980", month_first=True), birth("13/4/1980", month_first=True), birth("unknown")
    ('19800403', '19800304', '19800413', None)
    """
    words = plain(re.sub(r"[T ]\d{1,2}:\d{2}.*$", "", value.strip())).split()
    if len(words) == 1 and len(words[0]) == 8 and words[0].isascii() and words[0].isdigit():
        return _eight(words[0], month_first)
    months = [MONTHS[w] for w in words if w in MONTHS]
    digits = [w for w in (re.sub(r"(?<=\d)(st|nd|rd|th)$", "", w) for w in words) if w.isascii() and w.isdigit()]
    if months and len(digits) == 2:
        first, second = digits
        year, day = (first, second) if len(first) == 4 else (second, first)
        return _put(year, str(months[0]), day)
    if len(digits) != 3:
        return None
    if len(digits[0]) == 4:
        return _put(*digits)
    one, two = int(digits[0]), int(digits[1])
    swap = (month_first and one <= 12) or two > 12 >= one
    day, month = (digits[1], digits[0]) if swap else (digits[0], digits[1])
    return _put(digits[2], month, day)


def day_or_month(value: str) -> int:
    """Which of the two a date shows to stand first: +1 day, -1 month, 0 unknown.

    >>> day_or_month("13/4/1980"), day_or_month("4/13/1980"), day_or_month("3/4/1980"), day_or_month("1980-04-13")
    (1, -1, 0, 0)
    """
    digits = re.split(r"\D+", value.strip())
    if len(digits) < 3 or not (digits[0] and digits[1]) or len(digits[0]) > 2 or len(digits[1]) > 2:
        return 0
    one, two = int(digits[0]), int(digits[1])
    return int(one > 12 >= two) - int(two > 12 >= one)


def ambiguous(value: str) -> bool:
    """Whether a date can be read in two ways: day and month are both at most 12 and differ.

    >>> ambiguous("3/4/1980"), ambiguous("4/4/1980"), ambiguous("13/4/1980"), ambiguous("1980-03-04"), ambiguous("3 April 1980")
    (True, False, False, False, False)
    """
    digits = re.fullmatch(r"\s*(\d{1,2})[./ -](\d{1,2})[./ -](\d{2}|\d{4})\b.*", value)
    return digits is not None and int(digits[1]) != int(digits[2]) and max(int(digits[1]), int(digits[2])) <= 12


def _eight(digits: str, month_first: bool) -> str:
    """Eight digits: as they are, or with the year moved to the front where only that makes a date."""
    first, second, year = digits[:2], digits[2:4], digits[4:]
    orders = (first + second, second + first) if month_first else (second + first, first + second)
    return next((d for d in (digits, *(year + order for order in orders)) if is_date(d)), digits)


def is_date(eight: str) -> bool:
    """Whether eight digits are a day of the calendar since 1800."""
    try:
        date(int(eight[:4]), int(eight[4:6]), int(eight[6:]))
    except ValueError:
        return False
    return int(eight[:4]) >= 1800


def _put(year: str, month: str, day: str) -> str | None:
    if len(year) == 2:
        year = ("20" if int(year) <= date.today().year % 100 else "19") + year
    if len(year) != 4 or len(month) > 2 or len(day) > 2:
        return None
    return f"{year}{int(month):02d}{int(day):02d}"


SPELLINGS: dict[str, Callable[[str], str | None]] = {
    "given": name,
    "family": name,
    "birth": birth,
    "sex": sex,
    "postcode": postcode,
    "phone": phone,
    "email": email,
    "number": number,
    "text": text,
}

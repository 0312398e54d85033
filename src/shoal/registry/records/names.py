"""Names of places and filters in one canonical form, in every script; names that pass for another are refused.

Canonical: Unicode's composed form (NFC), one kind of apostrophe and hyphen, single blanks. Refused: letters of two scripts in one
name, Cyrillic or Greek letters that together read as Latin ones, letters of phonetic alphabets, digits of other scripts,
and whatever Unicode itself calls another way to write something (NFKC). In a country that writes in such a script its names
are not look-alikes: ``RU/МОСКВА`` is Moscow; two letters of it pass for a Latin code, and stay refused.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from shoal.errors import UsageError
from shoal.model.roles import look

_ASCII = re.compile(r"'?[A-Za-z0-9][A-Za-z0-9 .,'&()_-]*\Z")
_SIGNS = " .,'&()_-"
_ONE_SPELLING = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u02bb\u02bc\u2032\u00b4`", "'"),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        "\u00a0": " ",
        "\u202f": " ",
    }
)
_TOGETHER = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "BOPOMOFO": "CJK", "HANGUL": "CJK", "KATAKANA-HIRAGANA": "CJK"}
_PHONETIC = ((0x01C0, 0x01C3), (0x0250, 0x02AF), (0x1D00, 0x1DBF), (0x2C60, 0x2C7F), (0xA720, 0xA7FF), (0xAB30, 0xAB6F))
"""Latin letters of no town: clicks, phonetic alphabets, letters of scholars. Some look like ordinary ones."""
_LIVING = frozenset("ɓɔɖɗəɛɣɨɩɲʋ")
"""Letters of these alphabets that towns are written with: Gəncə, Ɔkwɔ, Ɗan Musa."""

_HOME = {
    **dict.fromkeys(("BA", "BG", "BY", "KG", "KZ", "ME", "MK", "MN", "RS", "RU", "TJ", "UA", "UZ", "XK"), "CYRILLIC"),
    **dict.fromkeys(("CY", "GR"), "GREEK"),
}
"""Countries whose places are written in letters that may look like Latin ones."""
_CODE = 2
"""So many letters pass for a code, whatever country they stand in."""


def home_script(country: str) -> str:
    """The script, other than Latin, in which the places of a country are written; empty where its letters cannot mislead."""
    return _HOME.get(country.upper(), "")


@lru_cache(maxsize=50_000)
def canonical_name(text: str, what: str, *, more: str = "", longest: int = 61, home: str = "") -> str:
    """The one form of a name. ``what`` is used in errors; ``more`` are further signs that may stand in it; ``home`` is a script
    whose letters are expected there.

    >>> canonical_name("Genève", "place"), canonical_name("Gene\\u0300ve", "place") == canonical_name("Genève", "place")
    ('Genève', True)
    """
    name = " ".join(unicodedata.normalize("NFC", text.translate(_ONE_SPELLING)).split())
    if not 0 < len(name) <= longest:
        raise _misshaped(what)
    if not _ASCII.match(name):
        _check_letters(name, what, _SIGNS + more, home)
        _check_letters(unicodedata.normalize("NFC", name.casefold()), what, _SIGNS + more, home)  # what it is compared by
    return name


def _check_letters(name: str, what: str, signs: str, home: str) -> None:
    letters = [c for c in name if c not in signs and not (c.isascii() and c.isdigit())]
    kinds = [unicodedata.category(c) for c in letters]
    first = name.removeprefix("'")[:1]
    if (
        not first
        or first in signs
        or not all(k in ("Lu", "Ll", "Lo", "Lt", "Mn", "Mc") for k in kinds)
        or kinds[:1] in (["Mn"], ["Mc"])
    ):
        raise _misshaped(what)
    if unicodedata.normalize("NFKC", name) != name or any(_of_no_town(c) for c in letters):
        raise _look_alike(what)
    scripts = {_script(c) for c, k in zip(letters, kinds, strict=True) if k[0] == "L"}
    at_home = scripts == {home} and len(letters) > _CODE
    if len(scripts) > 1 or (scripts and scripts != {"LATIN"} and not at_home and look(name).isascii()):
        raise _look_alike(what)


def _of_no_town(letter: str) -> bool:
    """Whether a letter, or the small letter that goes with it, belongs to no living alphabet."""
    return any(a <= ord(c) <= b and c not in _LIVING for c in letter + letter.lower() for a, b in _PHONETIC)


def _script(letter: str) -> str:
    """The script of a letter, by the first word of its name in Unicode."""
    word = unicodedata.name(letter, "UNKNOWN").split(" ")[0]
    return _TOGETHER.get(word, word)


def _misshaped(what: str) -> UsageError:
    return UsageError(f"the {what} of the population is not well formed.", hint="Write NL/Utrecht@2021;women.")


def _look_alike(what: str) -> UsageError:
    return UsageError(
        f"the {what} of the population has letters that pass for others.", hint="Write the name in the letters of one script."
    )

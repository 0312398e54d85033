"""Values that are names of people: full names in several spellings, and single given or family names.

Takes    distinct values
Returns  the share of them that is written as a name and holds a frequent one; 0 where most are written otherwise
Keeps    words that are names and something else too (months, colours, saints of places) out of the count
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from shoal.find.finding import remembered
from shoal.find.identifiers import spread
from shoal.find.vocabulary import alternatives, folded, word_set

GIVEN, FAMILIES = word_set("names", "given"), word_set("names", "family")
"""Frequent given and family names. The lists need not be complete: a column holds names if a good share of its values does."""
_ENDINGS = tuple(word_set("names", "family ending"))
"""Endings of family names (Petrauskaitė, Jónsdóttir): no list holds all of them."""
BEFORE_ENDING = 2
"""Letters that stand before the ending at least."""
SINGLE_SHARE, SINGLE_LEAST = 0.3, 10
"""A column of more than so many values holds names where this share has a known one: lists of names are never complete."""
FULL_SHARE = 0.4
"""Share of full names from which a column, however few its values, holds people."""
_PARTICLE = word_set("names", "particle")
_TITLE = re.compile(rf"(?:(?:{alternatives('names', 'title before a name')})\b\.?\s*)+(?=[^\W\d_]{{2}})")
_BARE_TITLES = word_set("names", "title before a name")
_INITIALS = re.compile(r"(?:[^\W\d_]\.\s?-?){1,4}(?:[^\W\d_]+\s){0,3}[^\W\d_]{2}[\w'’-]*")
_SIGNS = "\u0900-\u0dff\u0e31-\u0e4e\u1000-\u109f"
"""Vowel signs of Indic and Thai scripts, which regular expressions do not take for letters."""
_WORD = re.compile(rf"[^\W\d_](?:[^\W\d_'’.-]|[{_SIGNS}])*(?:['’-][^\W\d_]+)*\.?")
_EAST_ASIAN = re.compile(r"([\u3400-\u9fff々]{1,3})[ \u3000]?[\u3040-\u30ff\u3400-\u9fff々]{1,3}|[가-힣]{2,4}")
EAST_ASIAN_SHARE, EAST_ASIAN_LEAST = 0.8, 15
"""Share of values that begin with a frequent family name, and how many there must be: illnesses begin so too, but few of them."""
_SAINTS = word_set("names", "place beginning")
_THINGS = word_set("names", "not a person")
_ALSO_WORDS = word_set("names", "also a word")


def full_names_share(values: Sequence[str]) -> float:
    """The share of values that name somebody in full: given and family name, initials or a title before one, "Name, Given".

    >>> full_names_share(["Mary Jones", "J. de Vries", "Dott. Rossi", "SILVA, ANA", "North Ward"])
    0.8
    >>> full_names_share(["San Juan", "Santa Rosa", "Garcia GmbH", "Finance"])
    0.0
    """
    looked = spread(values)
    east_asian = sum(map(_east_asian_name, looked)) / len(looked) if len(looked) >= EAST_ASIAN_LEAST else 0.0
    if east_asian >= EAST_ASIAN_SHARE:
        return east_asian
    return sum(map(full_name, looked)) / len(looked) if looked else 0.0


def initials_share(values: Sequence[str]) -> float:
    """The share of values that are initials and a family name, which nothing but people is called: "A. Jones", "J. de Vries"."""
    looked = spread(values)
    return sum(v[:1].isupper() and _INITIALS.fullmatch(folded(v)) is not None for v in looked) / max(len(looked), 1)


def _east_asian_name(value: str) -> bool:
    """Whether a text is as long as a Chinese, Japanese or Korean name and begins with a frequent family name.

    >>> [_east_asian_name(v) for v in ("王秀英", "佐藤 翔太", "김민준", "糖尿病")]
    [True, True, True, False]
    """
    return _EAST_ASIAN.fullmatch(value) is not None and any(value[:n] in FAMILIES for n in (1, 2, 3))


@remembered
def names_share(values: Sequence[str]) -> float:
    """The share of values that hold a name of a person, full or single; 0 where they are not written as names."""
    looked = spread(values)
    if not looked or sum(bool(re.fullmatch(rf"[^\W\d_][\w .,'’{_SIGNS}-]{{1,60}}", v)) for v in looked) < 0.9 * len(looked):
        return 0.0
    return sum(map(holds_name, looked)) / len(looked)


@cache
def full_name(value: str) -> bool:
    """Whether a text is written as a full name of a person and holds a frequent one."""
    plain = _TITLE.sub("", folded(value), count=1) if _TITLE.match(folded(value)) else folded(value)
    if plain.strip(".") in _BARE_TITLES:
        return False
    if plain != folded(value) and _WORD.match(plain) and len(plain.split()) <= 4 and not set(plain.split()) & _THINGS:
        return True
    if _INITIALS.fullmatch(plain) and value[:1].isupper():
        return True
    last, comma, first = plain.partition(",")
    words = (f"{first} {last}" if comma else plain).split()
    if not 2 <= len(words) <= 6 or not all(_WORD.fullmatch(w) for w in words) or not _capitals(value):
        return False
    acronym = value.split()[0].isupper() and len(value.split()[0]) > 1 and not value.isupper() and not comma
    if words[0] in _SAINTS or set(words) & _THINGS or acronym:
        return False
    many = len(words) >= 3  # two given names, two family names
    begins = any(part in GIVEN for word in words[: 1 + many] for part in word.split("-"))
    ends = any(_family_name(word) and word not in _ALSO_WORDS for word in words[-1 - many :])
    return begins or (ends and words[0] not in _ALSO_WORDS)


def _capitals(value: str) -> bool:
    """Whether every word but particles begins with a capital letter, or with a letter of a script that has none."""
    return all(
        not w[:1].islower() or folded(w) in _PARTICLE or w[:2].lower() in ("d'", "d’") for w in re.split(r"[ ,]+", value) if w
    )


def names_somebody(text: str) -> bool:
    """Whether a text contains a full name of a person, family name first or last, or is one in Chinese, Japanese or Korean.

    >>> [names_somebody(t) for t in ("mother Anna Smith", "Smith Anna", "王秀英", "much better", "Green Street")]
    [True, True, True, False, False]
    """
    words = re.split(r"[ ,]+", text.strip())
    return _east_asian_name(text.strip()) or any(full_name(f"{a} {b}") or full_name(f"{b} {a}") for a, b in pairwise(words))


@cache
def holds_name(value: str) -> bool:
    """Whether a text contains a frequent name of a person."""
    words = re.split(r"[ ,.\-]+", folded(value))
    if words[0] in _SAINTS or set(words) & _THINGS:
        return False
    return any((w in GIVEN or _family_name(w)) and w not in _ALSO_WORDS for w in words)


def _family_name(word: str) -> bool:
    """Whether a folded word is a frequent family name, or ends as family names do."""
    ends = word.endswith(_ENDINGS) and any(word.endswith(e) and len(word) >= len(e) + BEFORE_ENDING for e in _ENDINGS)
    return word in FAMILIES or ends

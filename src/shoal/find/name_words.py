"""The words of a column name: folded, split at signs, digits and camelCase, and joined words cut into known ones.

``DateOfBirth`` gives date, of, birth; ``famsize`` gives fam, size, because both are known; ``DBP58`` gives dbp.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set as AbstractSet
from functools import lru_cache

from shoal.find.vocabulary import alternatives, folded, word_set

_CAMEL = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=\bID)(?=[a-z]{3})|(?<=[A-Z])(?<!\bI)(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))"
    r"|(?<=[\u3040-\u9fff\uac00-\ud7af])(?=[A-Za-z])|(?<=[A-Za-z])(?=[\u3040-\u9fff\uac00-\ud7af])"  # 社員ID
)
_OPAQUE = re.compile(
    rf"(?:{alternatives('column_names', 'column')})_?\d*|[a-z]{{1,3}}\d+[a-z]{{0,2}}\d*|[a-z]\d*|\d+|[a-z]{{1,2}}"
)
_RATE = re.compile(rf"/(?=(?:{alternatives('column_names', 'per')})\b)", re.IGNORECASE)
_NUMBER_SIGN = re.compile(r"\b[nN][°º]|№|#")
LITTLE = word_set("column_names", "small word")
"""Small words between those that tell something: ``date of birth``, ``lieu de naissance``."""
SHORTEST_PIECE = 3
PREFIX_LETTERS = "mfpwhdsrn"
"""Letters that stand before a joined word for mother, father, partner, workday …"""
PATIENT = "pt"
"""What stands before joined words for patient: PTEDUCAT."""
NOT_AFTER_A_LETTER = word_set("column_names", "not after a letter")
"""Pieces that ordinary words end with (page, wage, pill): never found behind a single letter."""


def inflected(text: str) -> tuple[str, ...]:
    """A folded text and how it reads with another ending of its last word: feminine, plural.

    >>> "moderado" in inflected("moderada"), "satisfait" in inflected("satisfaites"), inflected("up")
    (True, True, ('up',))
    """
    if len(text) < 4 or not text[-1].isalpha():
        return (text,)
    single = text[:-1] if text.endswith("s") else text
    ends = [single[:-1] + end for end in "aoei"] if single[-1] in "aoei" else [single + "e"]
    return tuple(dict.fromkeys((text, single, *ends, *([single[:-1]] if single.endswith("e") else []))))


@lru_cache(maxsize=50_000)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a column name, folded, digits at their ends taken off.

    >>> words_of("DateOfBirth"), words_of("e-mail_adres"), words_of("Prénom"), words_of("BILL_AMT1"), words_of("DBP58")
    (('date', 'of', 'birth'), ('e', 'mail', 'adres'), ('prenom',), ('bill', 'amt'), ('dbp',))
    """
    return tuple(w.strip("0123456789") or w for w in raw_words(name))


@lru_cache(maxsize=50_000)
def raw_words(name: str) -> tuple[str, ...]:
    """The words of a column name with their digits: ``ipv4``, ``icd10``; a sign for "number" is the word ``nr``.

    >>> raw_words("ICD10_main"), raw_words("N° dossier"), raw_words("IDcode")
    (('icd10', 'main'), ('nr', 'dossier'), ('id', 'code'))
    """
    plain = _RATE.sub(" per ", _NUMBER_SIGN.sub(" nr ", _CAMEL.sub(" ", name)))
    plain = folded(plain)
    if not plain.isascii():  # vowel signs of Indic scripts belong to their word
        plain = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in plain)
    return tuple(w for w in re.split(r"[\s!-/:-@\[-`{-~]+", plain) if w)


def telling(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without the small ones between them; all where nothing else is left.

    >>> telling(("lieu", "de", "naissance")), telling(("e",)), telling(("cigs", "per", "day"))
    (('lieu', 'naissance'), ('e',), ('cigs',))
    """
    rate = words.index("per") if "per" in words[1:] else len(words)  # cigarettes per day are not a day
    return tuple(w for w in words[:rate] if w not in LITTLE) or words


@lru_cache(maxsize=50_000)
def opaque(name: str) -> bool:
    """Whether a name is a bare code that says nothing: ``V12``, ``CH03``, ``q5_2``, ``x``.

    >>> [opaque(n) for n in ("V12", "CH15_COD", "q5_2", "PP04B", "age", "G1", "trav.imp")]
    [True, True, True, True, False, True, False]
    """
    words = [w for w in raw_words(name) if w not in ("cod", "code", "rec", "r")]
    return bool(words) and all(_OPAQUE.fullmatch(w) for w in words)


def pieces(word: str, known: AbstractSet[str]) -> tuple[str, ...]:
    """A joined word cut into known ones, the fewest; empty where it cannot be. One letter may stand in front.

    >>> pieces("famsize", {"fam", "size"}), pieces("medu", {"edu"}), pieces("page", {"age"}), pieces("xyzsize", {"size"})
    (('fam', 'size'), ('edu',), (), ())
    """
    best = _cut(word, known)
    if not best and word.startswith(PATIENT) and len(word) >= len(PATIENT) + SHORTEST_PIECE:
        best = (word[len(PATIENT) :],) if word[len(PATIENT) :] in known else _cut(word[len(PATIENT) :], known)
    if not best and len(word) >= SHORTEST_PIECE + 1 and word[0] in PREFIX_LETTERS:
        rest = word[2:] if word.startswith("hh") else word[1:]
        best = (rest,) if rest in known and rest not in NOT_AFTER_A_LETTER else ()
    return best


def _cut(word: str, known: AbstractSet[str]) -> tuple[str, ...]:
    """The fewest known pieces that make up the word exactly; of equals the one with the longest first piece."""
    ways: list[tuple[str, ...] | None] = [()] + [None] * len(word)
    for end in range(SHORTEST_PIECE, len(word) + 1):
        for start in range(end - SHORTEST_PIECE + 1):
            before = ways[start]
            piece = word[start:end]
            if before is None or piece not in known or (start == 0 and end == len(word)):
                continue
            if ways[end] is None or len(before) + 1 < len(ways[end] or ()):
                ways[end] = (*before, piece)
    return ways[-1] or ()

"""Plain answers: which of the listed answers somebody means who writes ``34``, ``female`` or ``1012 AB``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoal.find.vocabulary import folded, tagged

_BAND = re.compile(r"(\d+)(?:\s*(?:-|–|to)\s*(\d+)|\s*(\+|and (?:more|over)|or (?:more|over)))?")
SHORTEST_CODE = 3
"""Signs that a listed code must have at least to be the beginning of a longer one: of a postcode."""


def meant(answers: Sequence[str], text: str) -> str | None:
    """The listed answer that is meant; None where none or more than one is.

    The answer itself, small and capital letters alike; the band that a number lies in; a word for a sex; the beginning of a code.

    >>> ages, sexes, codes = ["30-34", "35-39", "95+"], ["F", "M"], ["1011", "1012"]
    >>> meant(ages, "34"), meant(ages, "101"), meant(sexes, "female"), meant(sexes, "homme"), meant(codes, "1012 AB")
    ('30-34', '95+', 'F', 'M', '1012')
    >>> meant(ages, "12"), meant(["yes", "no"], "perhaps")
    (None, None)
    """
    plain = folded(text.strip())
    same = [a for a in answers if folded(a.strip()) == plain]
    if same:
        return same[0] if len(same) == 1 else text if text in same else None
    for answer in (_in_band(answers, plain), _same_sex(answers, plain), _beginning(answers, plain)):
        if len(answer) == 1:
            return answer[0]
    return None


def _in_band(answers: Sequence[str], plain: str) -> list[str]:
    if not plain.isdecimal():
        return []
    out = []
    for answer in answers:
        band = _BAND.fullmatch(folded(answer.strip()))
        if band is not None and (band[2] or band[3]) and int(band[1]) <= int(plain) <= (int(band[2]) if band[2] else 10**9):
            out.append(answer)
    return out


def _same_sex(answers: Sequence[str], plain: str) -> list[str]:
    sexes = tagged("records", "sex")
    wanted = None if plain.isdecimal() else sexes.get(plain)
    listed = {answer: sexes.get(folded(answer.strip())) for answer in answers}
    if wanted is None or None in listed.values():  # not a question about sex
        return []
    return [answer for answer, sex in listed.items() if sex == wanted]


def _beginning(answers: Sequence[str], plain: str) -> list[str]:
    whole = re.sub(r"[\s-]+", "", plain)
    return [a for a in answers if len(a) >= SHORTEST_CODE and any(c.isdigit() for c in a) and whole.startswith(folded(a))]

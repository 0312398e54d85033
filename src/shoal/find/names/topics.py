"""A topic: what a column is about, the role that follows from it, and the words of names that say so.

Words are folded. ``a+b`` means the words follow one another; ``educ*`` any word that begins so; ``*datum`` any that ends so;
``=class`` a name that is this word and nothing else.
The first topic that matches wins, so special ones stand before general ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from shoal.model.roles import Role

HIPAA = {
    1: "names",
    2: "places smaller than a state",
    3: "dates of a person, and ages over 89",
    4: "telephone numbers",
    5: "fax numbers",
    6: "e-mail addresses",
    7: "social security numbers",
    8: "medical record numbers",
    9: "health plan numbers",
    10: "account numbers",
    11: "certificate and licence numbers",
    12: "vehicles and number plates",
    13: "devices and serial numbers",
    14: "web addresses",
    15: "internet (IP) addresses",
    16: "biometric identifiers",
    17: "photographs",
    18: "other unique numbers, codes or marks",
}
"""The eighteen identifiers of the safe-harbor rule, in our words."""


@dataclass(frozen=True)
class Topic:
    """What a column may be about.

    ``scale`` is the usual scale of such a column: ``number``, ``nominal``, ``ordered``, ``place``, ``date``, ``id``, ``text``, or
    empty where the values decide.
    """

    key: str
    role: Role
    says: str
    scale: str
    confidence: float
    words: str
    hipaa: int | None = None

    @cached_property
    def patterns(self) -> tuple[tuple[str, ...], ...]:
        """The words, each pattern as its parts."""
        return tuple(tuple(w.split("+")) for w in self.words.split())


def found_in(words: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether the words of a pattern follow one another among the words of a name."""
    n = len(pattern)
    if pattern[0].startswith("="):
        return words == (pattern[0][1:],)
    return any(all(_fits(w, p) for w, p in zip(words[i : i + n], pattern, strict=True)) for i in range(len(words) - n + 1))


def _fits(word: str, part: str) -> bool:
    if part.endswith("*"):
        return word.startswith(part[:-1])
    if part.startswith("*"):
        return word.endswith(part[1:]) and len(word) > len(part) - 1
    return word == part

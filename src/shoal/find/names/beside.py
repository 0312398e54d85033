"""The topic of each column's name, read beside the other names of its table."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.find.name_words import folded, opaque
from shoal.find.names.lexicon import topic_of
from shoal.find.names.topics import Topic
from shoal.model.roles import Role

RELATIVES = tuple("m f p w h d s".split()) + tuple(
    "hus husb husband wife wif mom mum mother moth dad father fath sp spouse par partner head hh child".split()
)
"""What stands before or behind the name of another column for the same of a relative: ``dage`` beside ``age``."""


RECKONED = tuple("l ln log z c".split()), tuple("sq squared cub cubed sqr".split())
"""What stands before or behind the name of another column for a number reckoned from it: ``lage``, ``agesq``."""


def topics_beside(named: Sequence[tuple[str, str]]) -> list[Topic | None]:
    """The topic of each of the names (with their labels), or None.

    A label speaks where the name says nothing. A name that nobody knows and that is the name of another column with a letter or
    word for a relative is of that column's topic, where others know it: a father's age is known as a child's is, and whoever
    knows an age knows its square.

    >>> [t.key if t else "" for t in topics_beside([("age", ""), ("dage", ""), ("ageh", ""), ("page", "")])]
    ['age', 'age', 'age', 'age']
    >>> [t.key if t else "" for t in topics_beside([("page", ""), ("wage", ""), ("v1", "date of birth")])]
    ['', 'income', 'birth_date']
    """
    told = [topic_of(label) if label and (opaque(name) or topic_of(name) is None) else topic_of(name) for name, label in named]
    known = {folded(name): t for (name, _), t in zip(named, told, strict=True) if t is not None and t.role is Role.QUASI}
    return [t or _derived(folded(name), known) for (name, _), t in zip(named, told, strict=True)]


def _derived(name: str, known: dict[str, Topic]) -> Topic | None:
    before, behind = (*RELATIVES, *RECKONED[0]), (*RELATIVES, *RECKONED[1])
    rests = [name.removeprefix(word) for word in before] + [name.removesuffix(word) for word in behind]
    return next((known[whole] for rest in rests if rest != name and (whole := rest.strip("_. ")) in known), None)

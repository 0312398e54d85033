"""The topic of each column's name, read beside the other names of its table."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.measures.columns.names.lexicon import topic_of
from shoal.measures.columns.names.topics import Topic
from shoal.measures.columns.names.words import folded, opaque
from shoal.model.roles import Role

RELATIVES = tuple("m f p w h d s".split()) + tuple(
    "hus husb husband wife wif mom mum mother moth dad father fath sp spouse par partner head hh child".split()
)
"""What stands before or behind the name of another column for the same of a relative: ``dage`` beside ``age``."""


def topics_beside(named: Sequence[tuple[str, str]]) -> list[Topic | None]:
    """The topic of each of the names (with their labels), or None.

    A label speaks where the name says nothing. A name that nobody knows and that is the name of another column with a letter or
    word for a relative is of that column's topic, where others know it: a father's age is known as a child's is.

    >>> [t.key if t else "" for t in topics_beside([("age", ""), ("dage", ""), ("ageh", ""), ("page", "")])]
    ['age', 'age', 'age', 'age']
    >>> [t.key if t else "" for t in topics_beside([("page", ""), ("wage", ""), ("v1", "date of birth")])]
    ['', 'income', 'birth_date']
    """
    told = [topic_of(label) if label and (opaque(name) or topic_of(name) is None) else topic_of(name) for name, label in named]
    known = {folded(name): t for (name, _), t in zip(named, told, strict=True) if t is not None and t.role is Role.QUASI}
    return [t or _of_a_relative(folded(name), known) for (name, _), t in zip(named, told, strict=True)]


def _of_a_relative(name: str, known: dict[str, Topic]) -> Topic | None:
    for word in RELATIVES:
        rest = (name.removeprefix(word), name.removesuffix(word))
        for whole in (part.strip("_. ") for part in rest if part != name):
            if whole in known:
                return known[whole]
    return None

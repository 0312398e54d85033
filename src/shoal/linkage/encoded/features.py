"""The small parts of a record that go into its filter: pairs of neighbouring letters, letters by place, parts of dates.

Each part is tagged with the meaning of its field, so that a name never agrees with a street. The sex of a person is left out:
its two patterns would tell groups apart and hardly tell people apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.linkage.fields.records import Field, Records

BITS: dict[str, int] = {
    "given": 12, "family": 12, "birth": 30, "postcode": 10, "phone": 6, "email": 4, "number": 8, "text": 4,
}  # fmt: skip
"""Positions that each part of a field of this kind sets: a field with fewer parts sets more for each."""

NAMES = ("given", "family")
"""Kinds whose parts are encoded under a tag of their own and under a common one: names are given in the wrong order too."""

Feature = tuple[bytes, int]
"""A part with the tag of its field, and how many positions it sets."""


def tags_of(fields: Sequence[Field], rename: dict[str, str]) -> dict[str, str]:
    """The tag of each column that is encoded: its kind, and for texts and doubled kinds the column's name as well."""
    kinds = [f.kind for f in fields]
    tags = {}
    for field in fields:
        named = field.kind == "text" or kinds.count(field.kind) > 1
        if field.kind in BITS:
            tags[field.name] = f"{field.kind}:{rename.get(field.name, field.name)}" if named else field.kind
    if len(set(tags.values())) < len(tags):
        raise UsageError("two columns would be encoded as one.", hint="Give them different names.")
    return tags


def features_of(records: Records, tags: dict[str, str], place: int) -> dict[str, list[Feature]]:
    """The parts of one record by column; a missing field has none."""
    out = {}
    for field in records.fields:
        value = records.values[field.name][place]
        if field.name in tags and value is not None:
            parts = [part.encode() for part in _PARTS[field.kind](str(value))]
            tag, bits = tags[field.name].encode(), BITS[field.kind]
            if field.kind in NAMES:
                bits //= 2
                out[field.name] = [(b"name\0" + part, bits) for part in parts]
            out[field.name] = [*out.get(field.name, ()), *((tag + b"\0" + part, bits) for part in parts)]
    return out


def neighbours(text: str) -> list[str]:
    """Pairs of neighbouring letters with the ends marked, a repeated pair numbered.

    >>> neighbours("anna"), neighbours("aaa")
    (['_a', 'an', 'nn', 'na', 'a_'], ['_a', 'aa', 'aa2', 'a_'])
    """
    marked = f"_{text}_"
    return numbered([marked[i : i + 2] for i in range(len(marked) - 1)])


def numbered(parts: Sequence[str]) -> list[str]:
    """Parts with a number behind each repetition."""
    seen: dict[str, int] = {}
    out = []
    for part in parts:
        seen[part] = seen.get(part, 0) + 1
        out.append(part if seen[part] == 1 else f"{part}{seen[part]}")
    return out


def date_parts(text: str) -> list[str]:
    """Year, month and day of a date written as eight digits.

    >>> date_parts("19800201")
    ['y1980', 'm02', 'd01']
    """
    return [f"y{text[:4]}", f"m{text[4:6]}", f"d{text[6:]}"]


def by_place(text: str) -> list[str]:
    """Letters with their place.

    >>> by_place("12A")
    ['01', '12', '2A']
    """
    return [f"{i}{letter}" for i, letter in enumerate(text)]


def _words(text: str) -> list[str]:
    """Pairs of letters of every word: the order of words does not matter."""
    return numbered([pair for word in text.split() for pair in neighbours(word)])


_PARTS: dict[str, Callable[[str], list[str]]] = {
    "given": _words,
    "family": _words,
    "birth": date_parts,
    "postcode": by_place,
    "phone": neighbours,
    "email": neighbours,
    "number": neighbours,
    "text": _words,
}

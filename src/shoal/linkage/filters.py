"""Keyed Bloom filters of whole records (CLK), hardened against attacks by frequency and by patterns.

Takes    records in normal forms, and a secret key that the holders share and the party that compares does not have
Returns  for each record one filter of :data:`LENGTH` bits per salt, or nothing where the salts are missing
Keeps    the same record under the same key gives the same filters; without the key a filter is as good as random
Source   Schnell, Bachteler, Reiher 2011 (CLK); Schnell and Borgs 2016 (randomised response); Niedermeyer et al. 2014, Christen
         et al. 2018 (attacks). Positions are drawn by a keyed hash for each part (random hashing; double hashing is broken)

A part of a record sets other positions under every salt, so that a frequent name has no pattern of its own. The salts are pairs
of parts of the birth date (year and month, year and day, month and day): one wrong part of the date leaves one salt intact. A
salt's own parts are not encoded beside it. Every filter has the same number of bits for names of any length: the parts
of a short name set more positions each. Then :data:`EXCHANGED` ones and as many zeros are turned, by a keyed hash of the whole
record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.linkage.records import Field, Records


LENGTH = 1024
WEIGHT = 256
"""Bits that every filter has set."""

EXCHANGED = 6
"""Ones that are cleared, and zeros that are set, at random."""

KEY_BYTES = 32
DATE_SALTS = ((0, 1), (0, 2), (1, 2))
"""Parts of the birth date (year, month, day) that salt each filter of a record."""

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

Parts = Mapping[str, Sequence[Feature]]


@dataclass(frozen=True)
class Settings:
    """What two files must have in common to be compared: never a value, never the key."""

    tags: tuple[str, ...]
    salts: tuple[str, ...]
    key_check: str
    length: int = LENGTH
    weight: int = WEIGHT
    exchanged: int = EXCHANGED

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "tags": list(self.tags), "salts": list(self.salts)}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Settings:
        made = cls(
            tuple(map(str, body["tags"])), tuple(map(str, body["salts"])), str(body["key_check"]),
            int(body["length"]), int(body["weight"]), int(body["exchanged"]),
        )  # fmt: skip
        if not made.tags or not made.salts or (made.length, made.weight) != (LENGTH, WEIGHT):
            raise ValueError
        return made


def encode_records(
    records: Records, key: bytes, *, salt: str | None = None, rename: Mapping[str, str] | None = None
) -> tuple[Settings, NDArray[np.bool_], NDArray[np.bool_]]:
    """The settings, the filters (record, salt, bit), and which records have one under every salt.

    ``salt`` names a column that never changes, in place of the birth date; ``rename`` gives columns the names of the other side.
    """
    if len(key) < KEY_BYTES:
        raise UsageError(f"the key for encoding has at least {KEY_BYTES} bytes.", hint="Make one with `shoal vault key`.")
    tags = tags_of(records.fields, dict(rename or {}))
    dates = [f.name for f in records.fields if f.kind == "birth"]
    if salt is None and len(dates) != 1:
        hint = "Name one column of kind birth, or a column that never changes with --salt."
        raise UsageError("filters are salted with the birth date, and there is none, or more than one.", hint=hint)
    if salt is not None and salt not in {f.name for f in records.fields}:
        raise UsageError(f"the salt '{salt}' is not one of the fields.", hint="Name it in --fields too.")
    if not set(tags) - {salt or dates[0]}:
        raise UsageError("there is nothing to encode beside the salt.", hint="Name more fields.")
    ways = 1 if salt is not None else len(DATE_SALTS)
    filters = np.zeros((len(records), ways, LENGTH), dtype=bool)
    there = np.zeros(len(records), dtype=bool)
    for place in range(len(records)):
        parts = features_of(records, tags, place)
        salted = _by_column(records, parts, salt, place) if salt is not None else _by_date(records, parts, dates[0], place)
        there[place] = bool(salted) and all(rest for _, rest in salted)
        for way, (value, rest) in enumerate(salted if there[place] else ()):
            filters[place, way] = one_filter(key, value, rest)
    named = (f"column {tags.get(salt, salt)}",) if salt is not None else ("year month", "year day", "month day")
    check = _digest(key, b"check", 8).hex()
    return Settings(tuple(sorted(tags.values())), named, check), filters, there


def _by_column(records: Records, parts: Parts, salt: str, place: int) -> list[tuple[bytes, list[Feature]]]:
    value = records.values[salt][place]
    rest = [part for name, parts_of in parts.items() if name != salt for part in parts_of]
    return [] if value is None else [(b"column\0" + str(value).encode(), rest)]


def _by_date(records: Records, parts: Parts, date: str, place: int) -> list[tuple[bytes, list[Feature]]]:
    value = records.values[date][place]
    others = [part for name, parts_of in parts.items() if name != date for part in parts_of]
    if value is None or not others:
        return []
    words = date_parts(str(value))
    out = []
    for chosen in DATE_SALTS:
        (left,) = {0, 1, 2} - set(chosen)
        out.append(("/".join(words[i] for i in chosen).encode(), [*others, parts[date][left]]))
    return out


def one_filter(key: bytes, salt: bytes, features: Sequence[Feature], *, exchanged: int = EXCHANGED) -> NDArray[np.bool_]:
    """The filter of a record under one salt: always :data:`WEIGHT` bits, shared among the features by their numbers of positions.

    Each feature has a sequence of positions of its own and sets the first ones of it, as many as the others leave room for: two
    spellings of one record set nearly the same ones.
    """
    wanted = sum(count for _, count in features)
    places, turns = [], []
    for part, count in features:
        length = 3 * WEIGHT * count // wanted + 4
        drawn = np.frombuffer(_digest(key, b"part\0" + salt + b"\0" + part, 2 * length), dtype="<u2")
        places.append(drawn % LENGTH)
        turns.append((np.arange(length) + (drawn // LENGTH) / 64) / count)
    in_turn = np.concatenate(places)[np.argsort(np.concatenate(turns), kind="stable")]
    _, first = np.unique(in_turn, return_index=True)
    bits = np.zeros(LENGTH, dtype=bool)
    bits[in_turn[np.sort(first)[:WEIGHT]]] = True
    whole = b"\0".join(sorted(part for part, _ in features))
    order = np.argsort(np.frombuffer(_digest(key, b"exchange\0" + salt + b"\0" + whole, 2 * LENGTH), dtype="<u2"), kind="stable")
    ones, zeros = order[bits[order]], order[~bits[order]]
    bits[ones[:exchanged]], bits[zeros[:exchanged]] = False, True
    return bits


def _digest(key: bytes, message: bytes, size: int) -> bytes:
    """As many bytes as wanted of a keyed hash: BLAKE2b under the key, stretched by SHAKE-256."""
    seed = hashlib.blake2b(message, key=key[:64], person=b"shoal clk 1").digest()
    return seed[:size] if size <= len(seed) else hashlib.shake_256(seed).digest(size)


BITS: dict[str, int] = {
    "given": 12, "family": 12, "birth": 30, "postcode": 10, "phone": 6, "email": 4, "number": 8, "text": 4,
}  # fmt: skip
"""Positions that each part of a field of this kind sets: a field with fewer parts sets more for each."""

NAMES = ("given", "family")
"""Kinds whose parts are encoded under a tag of their own and under a common one: names are given in the wrong order too."""

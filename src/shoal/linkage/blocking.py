"""Which pairs are worth comparing: those that agree on at least one of several keys.

Every key survives other errors than the rest: a birth date one typing error in the name, sounds of both names one in the date,
the names in any order their exchange. A block of more than :data:`MOST` pairs is left out and counted.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.linkage.records import Records


MOST = 100_000
"""Pairs of one block."""

Keys = list[str | None]
_SOUNDS = {c: str(n) for n, letters in enumerate(("bfpv", "cgjkqsxz", "dt", "l", "mn", "r"), 1) for c in letters}


def soundex(word: str) -> str:
    """The sound of a name: its first letter and three digits; another script gives its first letters.

    >>> soundex("robert"), soundex("rupert"), soundex("ashcraft"), soundex("tymczak"), soundex("李小龙")
    ('r163', 'r163', 'a261', 't522', '李小龙')
    """
    if not word.isascii():
        return word[:4]
    out, last = word[:1], _SOUNDS.get(word[:1], "")
    for letter in word[1:]:
        code = _SOUNDS.get(letter, "")
        if code and code != last:
            out += code
        if letter not in "hw":
            last = code
    return (out + "000")[:4]


def candidate_pairs(records: Records, split: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Pairs of places that share a key, each once, and the number of blocks left out.

    ``split`` is where a second table begins: only pairs across it. Without it, pairs within one table.
    """
    n = len(records)
    parts: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    left_out = 0
    for keys in block_keys(records):
        pairs, large = _pairs_of(keys, split)
        left_out += large
        parts.append(pairs[0] * n + pairs[1])
    ids = np.unique(np.concatenate(parts))
    return ids // max(n, 1), ids % max(n, 1), left_out


def block_keys(records: Records) -> Iterator[Keys]:
    """The keys, one list for each rule that the fields allow."""
    by_kind: dict[str, NDArray[np.object_]] = {}
    for field in records.fields:
        by_kind.setdefault(field.kind, records.values[field.name])
        if field.kind in ("number", "email", "phone", "birth"):
            yield list(records.values[field.name])
    sounds = {k: _each(by_kind[k], lambda t: soundex(t.split()[0])) for k in ("given", "family") if k in by_kind}
    ends = {k: _each(by_kind[k], lambda t: soundex(t.split()[-1])) for k in ("family",) if k in by_kind}
    starts = {k: _each(by_kind[k], lambda t: t[0]) for k in ("given", "family") if k in by_kind}
    year = _each(by_kind["birth"], lambda t: t[:4]) if "birth" in by_kind else None
    rest = _each(by_kind["birth"], lambda t: "".join(sorted((t[4:6], t[6:])))) if "birth" in by_kind else None
    if len(sounds) == 2:
        yield [None if a is None or b is None else "/".join(sorted((a, b))) for a, b in zip(*sounds.values(), strict=True)]
    postcode = by_kind.get("postcode")
    for part in (sounds.get("given"), sounds.get("family"), ends.get("family")):
        for other in (year, rest, None if postcode is None else list(postcode)):
            if part is not None and other is not None:
                yield _both(part, other)
    if "family" in sounds and "given" in starts:
        yield _both(sounds["family"], starts["given"])
    texts = [list(records.values[f.name]) for f in records.fields if f.kind == "text"]
    for text in texts:
        for part in sounds.values():
            yield _both(part, text)
    if not by_kind.keys() - {"text", "sex", "postcode"} or not sounds:
        yield from texts
        if "postcode" in by_kind:
            yield list(by_kind["postcode"])
    elif len(sounds) == 1:
        yield next(iter(sounds.values()))


def _each(values: NDArray[np.object_], make: Callable[[str], str]) -> Keys:
    known = {text: make(text) for text in set(values) if text is not None}
    return [None if text is None else known[text] for text in values]


def _both(one: Keys, two: Keys) -> Keys:
    return [None if a is None or b is None else f"{a}/{b}" for a, b in zip(one, two, strict=True)]


def _pairs_of(keys: Keys, split: int | None) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], int]:
    """All pairs with the same key, the smaller place first."""
    codes: dict[str, int] = {}
    numbers = np.fromiter((-1 if k is None else codes.setdefault(k, len(codes)) for k in keys), dtype=np.int64, count=len(keys))
    order = np.argsort(numbers, kind="stable")
    order = order[numbers[order] >= 0]
    border = len(keys) if split is None else split
    firsts = order[order < border]
    seconds = order if split is None else order[order >= border]
    sorted_numbers = numbers[seconds]
    start = np.searchsorted(sorted_numbers, numbers[firsts], side="left")
    end = np.searchsorted(sorted_numbers, numbers[firsts], side="right")
    if split is None:
        start = np.arange(len(firsts)) + 1
    counts = end - start
    blocks = np.zeros(len(codes), dtype=np.int64)
    np.add.at(blocks, numbers[firsts], counts)
    counts[blocks[numbers[firsts]] > MOST] = 0
    left = np.repeat(firsts, counts)
    within = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    right = seconds[np.repeat(start, counts) + within]
    return (np.minimum(left, right), np.maximum(left, right)), int((blocks > MOST).sum())


class Known:
    """Known records in their order, how often each value occurs among them, and the index of their keys."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.seen = {field.name: _count_values(records.values[field.name]) for field in records.fields}
        self._index = [_Index(keys) for keys in block_keys(records)]

    def add(self, fresh: Records) -> None:
        """Further records, of the same fields, behind the others."""
        for index, keys in zip(self._index, block_keys(fresh), strict=True):
            index.add(keys, len(self.records))
        for name, counts in self.seen.items():
            counts.update(_count_values(fresh.values[name]))
        self.records = self.records.joined(fresh)

    @contextlib.contextmanager
    def counting(self, fresh: Records) -> Iterator[Mapping[str, Counter[str]]]:
        """How often each value occurs, by field, with those of new records counted too while the block runs."""
        added = {name: _count_values(fresh.values[name]) for name in self.seen}
        for name, counts in added.items():
            self.seen[name].update(counts)
        try:
            yield self.seen
        finally:
            for name, counts in added.items():
                self.seen[name].subtract(counts)
                for value in counts:
                    if not self.seen[name][value]:
                        del self.seen[name][value]

    def pairs_with(self, fresh: Records) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places of known and of new records that share a key, each pair once."""
        pairs = [np.empty(0, dtype=np.int64)]
        for index, keys in zip(self._index, block_keys(fresh), strict=True):
            known, new = index.find(keys)
            pairs.append(known * len(fresh) + new)
        ids = np.unique(np.concatenate(pairs))
        return ids // max(len(fresh), 1), ids % max(len(fresh), 1)


class _Index:
    """Hashes of keys in order, and the places of their records."""

    def __init__(self, keys: Keys) -> None:
        self._hashes, self._places = _sort_keys(keys)

    def add(self, keys: Keys, start: int) -> None:
        hashes, places = _sort_keys(keys)
        at = np.searchsorted(self._hashes, hashes)
        self._hashes = np.insert(self._hashes, at, hashes)
        self._places = np.insert(self._places, at, places + np.int32(start))

    def find(self, keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places of known and new records with the same key, but for blocks that are too large."""
        hashes, places = _sort_keys(keys)
        start, end = (np.searchsorted(self._hashes, hashes, side) for side in ("left", "right"))
        counts = end - start
        _, group, sizes = np.unique(hashes, return_inverse=True, return_counts=True)
        counts[counts * sizes[group.ravel()] > MOST] = 0
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        known = self._places[np.repeat(start, counts) + within]
        return known.astype(np.int64), np.repeat(places, counts).astype(np.int64)


def _sort_keys(keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Hashes of the keys that are there, in order, and their places."""
    places = np.array([place for place, key in enumerate(keys) if key is not None], dtype=np.int32)
    hashes = np.array([hash(key) for key in keys if key is not None], dtype=np.int64)
    order = np.argsort(hashes, kind="stable")
    return hashes[order], places[order]


def _count_values(values: NDArray[np.object_]) -> Counter[str]:
    return Counter(value for value in values if value is not None)

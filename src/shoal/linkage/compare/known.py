"""Records that are known, kept with an index of their keys: a new record meets its candidates without a look at all of them.

Takes    records in normal forms, and later further ones of the same fields
Returns  the pairs that :func:`~.blocking.candidate_pairs` would find across the two
Cost     12 bytes for each key of each record; a new record takes a binary search for each key
Differs  keys are compared by 64 bits of their hash: two that meet would only give a pair more to compare
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from shoal.linkage.compare import blocking
from shoal.linkage.compare.blocking import Keys, block_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.linkage.fields.records import Records


class Known:
    """Known records in their order, how often each value occurs among them, and the index of their keys."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.seen = {field.name: _counted(records.values[field.name]) for field in records.fields}
        self._index = [_Index(keys) for keys in block_keys(records)]

    def add(self, fresh: Records) -> None:
        """Further records, of the same fields, behind the others."""
        for index, keys in zip(self._index, block_keys(fresh), strict=True):
            index.add(keys, len(self.records))
        for name, counts in self.seen.items():
            counts.update(_counted(fresh.values[name]))
        self.records = self.records.joined(fresh)

    @contextlib.contextmanager
    def counting(self, fresh: Records) -> Iterator[Mapping[str, Counter[str]]]:
        """How often each value occurs, by field, with those of new records counted too while the block runs."""
        added = {name: _counted(fresh.values[name]) for name in self.seen}
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
        found = [np.empty(0, dtype=np.int64)]
        for index, keys in zip(self._index, block_keys(fresh), strict=True):
            known, new = index.find(keys)
            found.append(known * len(fresh) + new)
        ids = np.unique(np.concatenate(found))
        return ids // max(len(fresh), 1), ids % max(len(fresh), 1)


class _Index:
    """Hashes of keys in order, and the places of their records."""

    def __init__(self, keys: Keys) -> None:
        self._hashes, self._places = _sorted(keys)

    def add(self, keys: Keys, start: int) -> None:
        hashes, places = _sorted(keys)
        at = np.searchsorted(self._hashes, hashes)
        self._hashes = np.insert(self._hashes, at, hashes)
        self._places = np.insert(self._places, at, places + np.int32(start))

    def find(self, keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places of known and new records with the same key, but for blocks that are too large."""
        hashes, places = _sorted(keys)
        start, end = (np.searchsorted(self._hashes, hashes, side) for side in ("left", "right"))
        counts = end - start
        _, group, sizes = np.unique(hashes, return_inverse=True, return_counts=True)
        counts[counts * sizes[group.ravel()] > blocking.MOST] = 0
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        known = self._places[np.repeat(start, counts) + within]
        return known.astype(np.int64), np.repeat(places, counts).astype(np.int64)


def _sorted(keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Hashes of the keys that are there, in order, and their places."""
    places = np.array([place for place, key in enumerate(keys) if key is not None], dtype=np.int32)
    hashes = np.array([hash(key) for key in keys if key is not None], dtype=np.int64)
    order = np.argsort(hashes, kind="stable")
    return hashes[order], places[order]


def _counted(values: NDArray[np.object_]) -> Counter[str]:
    return Counter(value for value in values if value is not None)

"""Merkle trees over the lines of an append-only log: the head of the tree, and proofs of what is in it.

Takes    the hashes of leaves, in order
Returns  the root; proofs that a leaf is in a tree (inclusion) and that one tree continues another (consistency)
Keeps    leaves and inner nodes are hashed apart (0x00 and 0x01), so that no node can be taken for a leaf
Source   RFC 9162, section 2.1 (the same tree as in RFC 6962)
Checked  against a slow definition and against trees that were computed without this module, for every size up to 130
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SMALL = 256
"""Leaves of the largest subtree whose root is computed again each time; those of larger complete ones are remembered."""
EMPTY = hashlib.sha256(b"").digest()
"""The root of a tree without leaves."""


def leaf(data: bytes) -> bytes:
    """The hash of a leaf."""
    return hashlib.sha256(b"\0" + data).digest()


def node(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return hashlib.sha256(b"\1" + left + right).digest()


@dataclass
class Frontier:
    """All that is needed to add leaves to a tree: its size, and the roots of its complete subtrees, largest first."""

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def add(self, *leaves: bytes) -> Frontier:
        """Append the hashes of leaves."""
        peaks = list(self.peaks)
        for hashed in leaves:
            peaks.append(hashed)
            for _ in range((~self.size & self.size + 1).bit_length() - 1):  # as many as the size has ones at its end
                right = peaks.pop()
                peaks.append(node(peaks.pop(), right))
            self.size += 1
        self.peaks = tuple(peaks)
        return self

    @property
    def root(self) -> bytes:
        top = EMPTY
        for place, peak in enumerate(reversed(self.peaks)):
            top = node(peak, top) if place else peak
        return top

    def to_json(self) -> list[str]:
        return [peak.hex() for peak in self.peaks]

    @classmethod
    def from_json(cls, size: int, peaks: Sequence[str]) -> Frontier | None:
        """The frontier of a tree of this size; None if the number of subtrees does not fit it."""
        return cls(size, tuple(bytes.fromhex(peak) for peak in peaks)) if len(peaks) == size.bit_count() else None


class Tree:
    """A tree of known leaves, to make proofs from; the first leaves may be known by their frontier alone."""

    def __init__(self, leaves: Iterable[bytes], before: Frontier | None = None) -> None:
        self._start = before.size if before is not None else 0
        self._leaves = list(leaves)
        self.size = self._start + len(self._leaves)
        self._known: dict[tuple[int, int], bytes] = {}
        first = 0
        for peak in before.peaks if before is not None else ():
            last = first + _largest_power(self._start - first)
            self._known[first, last] = peak
            first = last

    def add(self, leaves: Iterable[bytes]) -> None:
        """Append the hashes of leaves."""
        self._leaves.extend(leaves)
        self.size = self._start + len(self._leaves)

    def root(self, size: int | None = None) -> bytes:
        """The root of the tree, or that of its first leaves."""
        return self._root(0, self.size if size is None else size)

    def _root(self, first: int, last: int) -> bytes:
        if (first, last) in self._known:
            return self._known[first, last]
        if first >= self._start and last - first <= SMALL:
            return Frontier().add(*self._leaves[first - self._start : last - self._start]).root
        if last - first < 2:
            raise IndexError("this leaf is not known")
        middle = first + _split(last - first)
        root = node(self._root(first, middle), self._root(middle, last))
        if last - first == _largest_power(last - first) and last <= self.size:
            self._known[first, last] = root  # a complete subtree stays as it is, however the tree grows
        return root

    def inclusion(self, place: int) -> list[bytes]:
        """The proof that the leaf at a place (from 0) is in the tree."""
        if not self._start <= place < self.size:
            raise IndexError("this leaf is not known")
        proof: list[bytes] = []
        first, last = 0, self.size
        while last - first > 1:
            middle = first + _split(last - first)
            if place < middle:
                proof.append(self._root(middle, last))
                last = middle
            else:
                proof.append(self._root(first, middle))
                first = middle
        return proof[::-1]

    def consistency(self, size: int) -> list[bytes]:
        """The proof that the tree continues the one of its first ``size`` leaves."""
        if not 0 <= size <= self.size:
            raise IndexError("the tree is smaller")
        proof: list[bytes] = []
        first, last, whole = 0, self.size, True
        while 0 < size < last:
            middle = first + _split(last - first)
            if size <= middle:
                proof.append(self._root(middle, last))
                last = middle
            else:
                proof.append(self._root(first, middle))
                first, whole = middle, False
        if not whole:
            proof.append(self._root(first, last))
        return proof[::-1]


def is_included(hashed: bytes, place: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether the proof shows that the leaf with this hash is at a place of the tree with this root."""
    if not 0 <= place < size:
        return False
    last = size - 1
    for other in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            hashed = node(other, hashed)
            place, last = _climb(place, last)
        else:
            hashed = node(hashed, other)
        place, last = place >> 1, last >> 1
    return last == 0 and hashed == root


def is_consistent(first: int, second: int, first_root: bytes, second_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether the proof shows that the tree of ``second`` leaves begins with the one of ``first`` leaves."""
    if not 0 <= first <= second:
        return False
    if first in (0, second):
        return not proof and (first > 0 or first_root == EMPTY) and (first < second or first_root == second_root)
    path = [first_root, *proof] if first.bit_count() == 1 else list(proof)
    if not path:
        return False
    place, last = first - 1, second - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old = new = path[0]
    for other in path[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old, new = node(other, old), node(other, new)
            place, last = _climb(place, last)
        else:
            new = node(new, other)
        place, last = place >> 1, last >> 1
    return last == 0 and (old, new) == (first_root, second_root)


def _climb(place: int, last: int) -> tuple[int, int]:
    """Both numbers, up to the level at which the node is a right child or the first of its level."""
    while place and not place & 1:
        place, last = place >> 1, last >> 1
    return place, last


def _largest_power(size: int) -> int:
    """The largest power of two that is not above a size."""
    return 1 << (size.bit_length() - 1)


def _split(size: int) -> int:
    """How many leaves stand in the left half: the largest power of two below a size."""
    return _largest_power(size - 1)

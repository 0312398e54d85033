"""Compiled loops of counting, grouping, sorting and hashing. Loads numba when one is called."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import lean_njit, njit
from shoal.model.counts.classes import BoolArray, CodeArray, IntArray, KeyArray

RADIX_BITS = 11
RADIX = 1 << RADIX_BITS
ODD = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio in 64 bits: multiplied by it, neighbouring numbers get distant hashes."""


@njit
def group_direct(key: KeyArray, space: int) -> tuple[IntArray, IntArray]:
    """One cell per possible key."""
    table = np.full(space, -1, np.int64)
    ids = np.empty(len(key), np.int64)
    first = np.empty(min(len(key), space), np.int64)
    n = 0
    for row in range(len(key)):
        k = key[row]
        group = table[k]
        if group < 0:
            group = n
            table[k] = n
            first[n] = row
            n += 1
        ids[row] = group
    return ids, first[:n].copy()


@lean_njit
def tally(key: npt.NDArray[np.signedinteger], rows: CodeArray, counts: IntArray) -> int:
    """Add to ``counts`` how many keys occur how often; the most often that one does. ``rows`` is zero for every possible key."""
    most = 0
    for k in key:
        rows[k] += 1
    for k in key:
        size = rows[k]
        if size > 0:
            counts[size] += 1
            rows[k] = 0
            most = max(most, size)
    return most


@lean_njit
def alike(first: CodeArray, second: CodeArray, width: int, rows: CodeArray, place: IntArray, number: CodeArray) -> int:
    """Rows that share both codes with another row: their places, and a number for each pair of codes; how many rows there are.

    ``rows`` is zero for every possible pair, before and after.
    """
    for i in range(len(first)):
        rows[np.int64(first[i]) * width + second[i]] += 1
    n = pairs = 0
    for i in range(len(first)):
        at = np.int64(first[i]) * width + second[i]
        if rows[at] != 1:
            if rows[at] > 1:
                pairs += 1
                rows[at] = -pairs
            place[n] = i
            number[n] = -rows[at] - 1
            n += 1
    for i in range(len(first)):
        rows[np.int64(first[i]) * width + second[i]] = 0
    return n


@njit
def group_hash(key: KeyArray) -> tuple[IntArray, IntArray]:
    """Open addressing with linear probing; the table doubles when half full."""
    bits = 12
    mask = np.uint64((1 << bits) - 1)
    table = np.full(1 << bits, -1, np.int64)
    ids = np.empty(len(key), np.int64)
    first = np.empty(1 << (bits - 1), np.int64)
    n = 0
    for row in range(len(key)):
        if 2 * (n + 1) > len(table):
            bits += 1
            mask = np.uint64((1 << bits) - 1)
            table = np.full(1 << bits, -1, np.int64)
            grown = np.empty(1 << (bits - 1), np.int64)
            grown[:n] = first[:n]
            first = grown
            for g in range(n):
                slot = scramble(key[first[g]]) & mask
                while table[slot] >= 0:
                    slot = (slot + np.uint64(1)) & mask
                table[slot] = g
        k = key[row]
        slot = scramble(k) & mask
        while table[slot] >= 0 and key[first[table[slot]]] != k:
            slot = (slot + np.uint64(1)) & mask
        group = table[slot]
        if group < 0:
            group = n
            table[slot] = n
            first[n] = row
            n += 1
        ids[row] = group
    return ids, first[:n].copy()


@njit
def scramble(key: np.uint64) -> np.uint64:
    """A mixing function of 64 bits (the finalizer of SplitMix64)."""
    z = np.uint64(key)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit
def add_digit(
    key: KeyArray, digits: npt.NDArray[np.unsignedinteger], width: np.uint64, lookup: npt.NDArray[np.uint32], used: BoolArray
) -> None:
    for i in range(len(key)):
        digit = lookup[digits[i]]
        used[digit] = True
        key[i] = key[i] * width + np.uint64(digit)


@njit
def count_hash(key: KeyArray, most: int) -> tuple[KeyArray, IntArray]:
    """Open addressing; keys and counts side by side; the table doubles when half full. Nothing if over ``most`` keys differ."""
    size = 1 << 16
    mask = np.uint64(size - 1)
    keys = np.empty(size, np.uint64)
    counts = np.zeros(size, np.int64)
    used = 0
    for i in range(len(key)):
        if 2 * used >= size:
            size *= 2
            mask = np.uint64(size - 1)
            old_keys, old_counts = keys, counts
            keys = np.empty(size, np.uint64)
            counts = np.zeros(size, np.int64)
            for j in range(len(old_keys)):
                if old_counts[j] > 0:
                    slot = scramble(old_keys[j]) & mask
                    while counts[slot] > 0:
                        slot = (slot + np.uint64(1)) & mask
                    keys[slot] = old_keys[j]
                    counts[slot] = old_counts[j]
        k = key[i]
        slot = scramble(k) & mask
        while counts[slot] > 0 and keys[slot] != k:
            slot = (slot + np.uint64(1)) & mask
        if counts[slot] == 0:
            keys[slot] = k
            used += 1
            if used > most:
                return keys[:0], counts[:0]
        counts[slot] += 1
    out_keys = np.empty(used, np.uint64)
    out_counts = np.empty(used, np.int64)
    n = 0
    for j in range(size):
        if counts[j] > 0:
            out_keys[n] = keys[j]
            out_counts[n] = counts[j]
            n += 1
    return out_keys, out_counts


@njit
def sort_rows(rows: KeyArray, bits: IntArray) -> KeyArray:
    """Sort rows of numbers by their first ``len(bits)`` numbers, of so many bits each; the others go along. Stable."""
    n, width = rows.shape
    other = np.empty_like(rows)
    low = np.uint64(RADIX - 1)
    for w in range(len(bits) - 1, -1, -1):
        passes = (bits[w] + RADIX_BITS - 1) // RADIX_BITS
        at = np.zeros((passes, RADIX + 1), np.int64)
        for i in range(n):
            k = rows[i, w]
            for p in range(passes):
                at[p, ((k >> np.uint64(p * RADIX_BITS)) & low) + np.uint64(1)] += 1
        for p in range(passes):
            largest = 0
            for d in range(RADIX):
                largest = max(largest, at[p, d + 1])
                at[p, d + 1] += at[p, d]
            if largest == n:
                continue
            shift = np.uint64(p * RADIX_BITS)
            for i in range(n):
                digit = (rows[i, w] >> shift) & low
                to = at[p, digit]
                at[p, digit] = to + 1
                for j in range(width):
                    other[to, j] = rows[i, j]
            rows, other = other, rows
    return rows


def order_of(key: KeyArray, bits: int) -> IntArray:
    """Positions that put numbers of so many bits in order; equal ones keep theirs."""
    rows = np.empty((len(key), 2), np.uint64)
    rows[:, 0], rows[:, 1] = key, np.arange(len(key), dtype=np.uint64)
    return sort_rows(rows, np.array([bits]))[:, 1].astype(np.int64)


@njit
def mix_in(hashes: KeyArray, values: KeyArray) -> None:
    """``h = scramble(h · odd + value)`` for every row, in place."""
    for i in range(len(hashes)):
        hashes[i] = scramble(hashes[i] * ODD + values[i])


@njit
def hash_texts(offsets: CodeArray, data: npt.NDArray[np.uint8], out: KeyArray) -> None:
    """A 64-bit hash of each text, eight bytes at a time, from the buffers of an Arrow string array."""
    for i in range(len(offsets) - 1):
        at, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        h = (end - at) * ODD
        while at < end:
            size = min(end - at, np.uint64(8))
            word = np.uint64(0)
            for j in range(size):
                word |= np.uint64(data[at + np.uint64(j)]) << np.uint64(8 * j)
            h = scramble(h ^ word) + ODD
            at += np.uint64(8)
        out[i] = h

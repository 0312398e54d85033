"""The compiled loops behind :mod:`shoal.kernels.group` and the counting of keys. Import only when numba is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.jit import njit

RADIX_BITS = 11
RADIX = 1 << RADIX_BITS


@njit
def group_direct(key: Any, space: int) -> Any:
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


@njit
def group_hash(key: Any) -> Any:
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
def scramble(key: Any) -> Any:
    """A mixing function of 64 bits (the finalizer of SplitMix64)."""
    z = np.uint64(key)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit
def group_radix(key: Any, bits: int) -> Any:
    """Sort rows by key (stable), then number the runs by their first row."""
    n = len(key)
    keys, rows = sort_with_rows(key, bits)
    starts = np.zeros(n, np.bool_)
    groups = 0
    for i in range(n):
        if i == 0 or keys[i] != keys[i - 1]:
            starts[rows[i]] = True
            groups += 1
    first = np.empty(groups, np.int64)
    number = np.empty(n, np.int64)
    g = 0
    for row in range(n):
        if starts[row]:
            first[g] = row
            number[row] = g
            g += 1
    ids = np.empty(n, np.int64)
    current = 0
    for i in range(n):
        if i == 0 or keys[i] != keys[i - 1]:
            current = number[rows[i]]
        ids[rows[i]] = current
    return ids, first


@njit
def sort_with_rows(key: Any, bits: int) -> Any:
    n = len(key)
    keys = key.copy()
    rows = np.arange(n).astype(np.int64)
    other_keys = np.empty_like(keys)
    other_rows = np.empty_like(rows)
    for shift in range(0, bits, RADIX_BITS):
        at = np.zeros(RADIX + 1, np.int64)
        s = np.uint64(shift)
        for i in range(n):
            at[((keys[i] >> s) & np.uint64(RADIX - 1)) + np.uint64(1)] += 1
        for d in range(RADIX):
            at[d + 1] += at[d]
        for i in range(n):
            digit = (keys[i] >> s) & np.uint64(RADIX - 1)
            other_keys[at[digit]] = keys[i]
            other_rows[at[digit]] = rows[i]
            at[digit] += 1
        keys, other_keys = other_keys, keys
        rows, other_rows = other_rows, rows
    return keys, rows

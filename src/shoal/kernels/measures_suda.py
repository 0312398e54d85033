"""Minimal sample uniques: the loop behind SUDA2.

Column sets are bit masks, visited in increasing order of the mask: a set is reached from the one without its lowest column,
so every proper subset has been seen before. A class that is alone in its group is unique on that set and on all larger
ones: it leaves the search below, and so does a class of several records that is alone, which nobody can confuse with
another. What remains shrinks quickly when the columns with most values are the highest bits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels._jit import HAVE_NUMBA, njit

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]


def minimal_uniques(codes: Codes, single: npt.NDArray[np.bool_], most: int, ignore_missing: bool) -> tuple[Ints, Ints]:
    """All minimal sample uniques.

    Parameters
    ----------
    codes : (columns, classes) int32
        −1 is missing; column j is bit j.
    single : (classes,) bool
        Whether the class has one record.
    most : int
        Largest number of columns in a set.
    ignore_missing : bool
        Whether a missing value may not be part of a minimal unique (else it is a value like any other).

    Returns
    -------
    class of each minimal unique, and its mask
    """
    cards = np.array([int(c.max()) + 2 for c in codes], dtype=np.int64)
    if HAVE_NUMBA:
        return _search(np.ascontiguousarray(codes), cards, single, most, ignore_missing)
    return by_numpy(codes, single, most, ignore_missing)


@njit
def _search(
    codes: Codes, cards: Ints, single: npt.NDArray[np.bool_], most: int, ignore_missing: bool
) -> tuple[Ints, Ints]:  # pragma: no cover - compiled
    n_columns, n = codes.shape
    rows = np.empty((most + 1, n), np.int32)  # classes still in the search at each depth
    group = np.empty((most + 1, n), np.int32)  # and their group there
    left = np.zeros(most + 1, np.int64)
    groups = np.ones(most + 1, np.int64)
    column = np.full(most + 1, -1, np.int64)
    masks = np.zeros(most + 1, np.int64)
    rows[0] = np.arange(n)
    group[0] = 0
    left[0] = n
    head = np.full(n, -1, np.int64)  # first found mask of a class, then chained by `chain`
    found_class = np.empty(1024, np.int64)
    found_mask = np.empty(1024, np.int64)
    chain = np.empty(1024, np.int64)
    found = 0
    size = 1
    while size < 2 * n + 2:
        size *= 2
    slot_key = np.full(size, -1, np.int64)
    slot_group = np.zeros(size, np.int32)
    new = np.empty(n, np.int32)
    seen = np.empty(n, np.int32)
    used = np.empty(n, np.int64)
    depth = 0
    while depth >= 0:
        column[depth] += 1
        limit = n_columns if depth == 0 else column[depth - 1]
        if depth == most or column[depth] >= limit or left[depth] == 0:
            column[depth] = -1
            depth -= 1
            continue
        c = column[depth]
        mask = masks[depth] | (1 << c)
        card = cards[c]
        m = 0
        many = groups[depth] * card
        direct = many <= size
        n_used = 0
        kept = 0
        for i in range(left[depth]):
            r = rows[depth, i]
            code = codes[c, r]
            if ignore_missing and code < 0:
                continue
            key = group[depth, i] * card + (code + 1)
            slot = key if direct else (key * np.int64(-7046029254386353131) >> 13) & (size - 1)
            while slot_key[slot] != -1 and slot_key[slot] != key:
                slot = (slot + 1) & (size - 1)
            if slot_key[slot] == -1:
                slot_key[slot] = key
                slot_group[slot] = m
                seen[m] = 0
                used[n_used] = slot
                n_used += 1
                m += 1
            g = slot_group[slot]
            new[kept] = g
            rows[depth + 1, kept] = r
            seen[g] += 1
            kept += 1
        for i in range(n_used):
            slot_key[used[i]] = -1
        stay = 0
        for i in range(kept):
            r = rows[depth + 1, i]
            g = new[i]
            if seen[g] > 1:
                rows[depth + 1, stay] = r
                group[depth + 1, stay] = g
                stay += 1
            elif single[r]:
                at = head[r]
                minimal = True
                while at >= 0:
                    if found_mask[at] & ~mask == 0:
                        minimal = False
                        break
                    at = chain[at]
                if minimal:
                    if found == len(found_class):
                        found_class = np.concatenate((found_class, np.empty(found, np.int64)))
                        found_mask = np.concatenate((found_mask, np.empty(found, np.int64)))
                        chain = np.concatenate((chain, np.empty(found, np.int64)))
                    found_class[found] = r
                    found_mask[found] = mask
                    chain[found] = head[r]
                    head[r] = found
                    found += 1
        left[depth + 1] = stay
        groups[depth + 1] = m
        masks[depth + 1] = mask
        column[depth + 1] = -1
        depth += 1
    return found_class[:found].copy(), found_mask[:found].copy()


def by_numpy(codes: Codes, single: npt.NDArray[np.bool_], most: int, ignore_missing: bool) -> tuple[Ints, Ints]:
    """The same by definition: a set is minimal for a class that is unique on it and on none of its parts."""
    n_columns, n = codes.shape
    unique_on = {0: np.zeros(n, np.bool_)}
    out_class, out_mask = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for mask in range(1, 1 << n_columns):
        columns = [j for j in range(n_columns) if mask >> j & 1]
        if len(columns) > most:
            continue
        _, inverse, count = np.unique(codes[columns], axis=1, return_inverse=True, return_counts=True)
        alone = (count[inverse] == 1) & single
        if ignore_missing:
            alone &= (codes[columns] >= 0).all(axis=0)
        part = np.zeros(n, np.bool_)
        for j in columns:
            part |= unique_on[mask & ~(1 << j)]
        minimal = np.flatnonzero(alone & ~part)
        unique_on[mask] = alone | part
        out_class.append(minimal.astype(np.int64))
        out_mask.append(np.full(len(minimal), mask, np.int64))
    return np.concatenate(out_class), np.concatenate(out_mask)

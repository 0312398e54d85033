"""Minimal sample uniques: the loop behind SUDA2.

Column sets are bit masks, visited in increasing order of the mask: a set is reached from the one without its lowest column,
so every proper subset has been seen before. A class that is alone in its group is unique on that set and on all larger
ones: it leaves the search below, and so does a class of several records that is alone, which nobody can confuse with
another. What remains shrinks quickly when the columns with most values are the highest bits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import HAVE_NUMBA, njit

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
def _split(
    codes: Codes, card: int, rows: Codes, group: Codes, out: Codes, new: Codes, seen: Codes, slots: Ints, slot_group: Codes,
    used: Ints, ignore_missing: bool,
) -> tuple[int, int]:  # pragma: no cover - compiled  # fmt: skip
    """Refine the groups of ``rows`` by one more column: rows to ``out``, their groups to ``new``, group sizes to ``seen``."""
    size = len(slots)
    direct = (int(group.max()) + 1) * card <= size
    kept = found = 0
    for i in range(len(rows)):
        code = codes[rows[i]]
        if ignore_missing and code < 0:
            continue
        key = np.int64(group[i]) * card + (code + 1)
        slot = key if direct else (key * np.int64(-7046029254386353131) >> 13) & (size - 1)
        while slots[slot] != -1 and slots[slot] != key:
            slot = (slot + 1) & (size - 1)
        if slots[slot] == -1:
            slots[slot] = key
            slot_group[slot] = found
            seen[found] = 0
            used[found] = slot
            found += 1
        new[kept] = slot_group[slot]
        out[kept] = rows[i]
        seen[slot_group[slot]] += 1
        kept += 1
    for i in range(found):
        slots[used[i]] = -1
    return kept, found


@njit
def _is_minimal(mask: int, at: int, masks: Ints, chain: Ints) -> bool:  # pragma: no cover - compiled
    """Whether none of the masks found for a class so far (a linked list from ``at``) lies inside ``mask``."""
    while at >= 0:
        if masks[at] & ~mask == 0:
            return False
        at = chain[at]
    return True


@njit
def _grown(array: Ints) -> Ints:  # pragma: no cover - compiled
    return np.concatenate((array, np.empty(len(array), np.int64)))


@njit
def _search(
    codes: Codes, cards: Ints, single: npt.NDArray[np.bool_], most: int, ignore_missing: bool
) -> tuple[Ints, Ints]:  # pragma: no cover - compiled
    n_columns, n = codes.shape
    rows = np.empty((most + 1, n), np.int32)  # classes still in the search at each depth
    group = np.zeros((most + 1, n), np.int32)  # and their group there
    left = np.zeros(most + 1, np.int64)
    column = np.full(most + 1, -1, np.int64)
    masks = np.zeros(most + 1, np.int64)
    rows[0], left[0] = np.arange(n), n
    size = 1
    while size < 2 * n + 2:
        size *= 2
    slots, slot_group = np.full(size, -1, np.int64), np.zeros(size, np.int32)
    new, seen, used = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
    head = np.full(n, -1, np.int64)  # last found mask of a class; earlier ones follow by `chain`
    klass, mask_of, chain = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    found = depth = 0
    while depth >= 0:
        column[depth] += 1
        c = column[depth]
        if depth == most or left[depth] == 0 or c >= (n_columns if depth == 0 else column[depth - 1]):
            column[depth] = -1
            depth -= 1
            continue
        mask = masks[depth] | (1 << c)
        here, below = rows[depth, : left[depth]], rows[depth + 1]
        kept, _ = _split(
            codes[c], cards[c], here, group[depth, : left[depth]], below, new, seen, slots, slot_group, used, ignore_missing
        )
        stay = 0
        for i in range(kept):
            r = below[i]
            if seen[new[i]] > 1:
                below[stay], group[depth + 1, stay] = r, new[i]
                stay += 1
            elif single[r] and _is_minimal(mask, head[r], mask_of, chain):
                if found == len(klass):
                    klass, mask_of, chain = _grown(klass), _grown(mask_of), _grown(chain)
                klass[found], mask_of[found], chain[found] = r, mask, head[r]
                head[r] = found
                found += 1
        depth += 1
        left[depth], masks[depth], column[depth] = stay, mask, -1
    return klass[:found].copy(), mask_of[:found].copy()


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

"""A shuffle that depends only on what is published: each row has a place of its own, a keyed hash of its content and its number.

Because the order is a function of the set of published rows and the seed, it can carry nothing of the input's order. Rows of
equal content are numbered, in any order, and so stand apart from each other like all others. (Two different rows share a 64-bit
hash with a chance of about n²/2⁶⁵.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.kernels._loops import ODD, hash_texts, mix_in, order_of
from shoal.kernels.arrow import ArrowValues, as_doubles, from_texts, is_missing, positions, to_numpy
from shoal.kernels.jit import lean_njit, up_to
from shoal.kernels.text import canonical_text

FEW = up_to(1 << 14)
"""Fewer texts or rows are hashed by numpy: they are done before numba would be loaded."""
FEWEST = 256
"""Texts up to which each is hashed, although some may be equal."""
SOME = up_to(1 << 16)
"""As :data:`FEW`, for sorting."""
HashArray = npt.NDArray[np.uint64]
_MISSING = np.uint64(0x5851F42D4C957F2D)


def text_hashes(values: ArrowValues) -> HashArray:
    """A 64-bit hash of the canonical text of each value of a pyarrow array; a missing value has one of its own.

    >>> import pyarrow as pa
    >>> a, b, c = text_hashes(pa.array(["x", "y", None]))
    >>> bool(a == text_hashes(pa.array(["x"]))[0]), len({int(a), int(b), int(c)})
    (True, 3)
    """
    text = canonical_text(values)
    out = np.empty(len(text), np.uint64)
    if len(text) == 0:
        return out
    _, offsets, data = text.buffers()
    where = np.frombuffer(offsets, np.int32)[text.offset : text.offset + len(text) + 1]
    payload = np.frombuffer(data, np.uint8) if data is not None and data.size else np.frombuffer(b"\0", np.uint8)
    if FEWEST < len(text) < FEW and (coded := text.dictionary_encode()) and 2 * len(coded.dictionary) < len(text):
        return np.asarray(np.append(text_hashes(coded.dictionary), _MISSING)[positions(coded.indices)], np.uint64)
    if len(text) < FEW:
        _hash_few(where.astype(np.int64), payload, out)
    else:
        hash_texts(where, payload, out)
    if text.null_count:
        out[is_missing(text)] = _MISSING
    return out


def value_hashes(values: ArrowValues) -> HashArray:
    """64 bits of each value of a pyarrow array, the same on every engine: 7, 7.0 and a decimal 7.00 agree, and so do 1 and true.

    Numbers and moments are taken as they are in memory, everything else by its canonical text.

    >>> import pyarrow as pa
    >>> bool((value_hashes(pa.array([7, None])) == value_hashes(pa.array([7.0, float("nan")]))).all())
    True
    """
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    kind = values.type
    if pa.types.is_dictionary(kind):
        return np.asarray(np.append(value_hashes(values.dictionary), _MISSING)[positions(values.indices)], np.uint64)
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int64())
    elif pa.types.is_integer(kind):
        values = values.cast(pa.decimal128(20, 0) if pa.types.is_uint64(kind) else pa.int64())
    elif pa.types.is_date(kind):
        values = values.cast(pa.timestamp("us")).view(pa.int64())
    elif pa.types.is_time(kind):
        values = values.cast(pa.time64("us"), safe=False).view(pa.int64())
    if pa.types.is_timestamp(kind):
        return _moment_hashes(values.cast(pa.timestamp(kind.unit, kind.tz)).view(pa.int64()), kind.unit)
    if pa.types.is_floating(kind):
        return _number_hashes(values.cast(pa.float64()))
    if pa.types.is_decimal(values.type):
        return _decimal_hashes(values)
    if not pa.types.is_int64(values.type):
        return text_hashes(values)
    return _with_missing(to_numpy(values).view(np.uint64), values)


def _with_missing(hashes: HashArray, values: ArrowValues) -> HashArray:
    return np.where(is_missing(values), _MISSING, hashes) if values.null_count else hashes


def _number_hashes(values: ArrowValues) -> HashArray:
    """Of doubles: whole ones as whole numbers, the others by their bits; NaN is missing."""
    x = to_numpy(values) + 0.0
    with np.errstate(invalid="ignore"):
        whole = (np.abs(x) < 2.0**63) & (np.floor(x) == x)
    out = x.view(np.uint64).copy()
    out[whole] = x[whole].astype(np.int64).view(np.uint64)
    out[np.isnan(x)] = _MISSING
    return _with_missing(out, values)


def _decimal_hashes(values: ArrowValues) -> HashArray:
    """Of decimals: those of at most fifteen digits as the double nearest to them, the others by their text."""
    import pyarrow as pa

    doubles = as_doubles(values)
    out = _number_hashes(doubles).copy()
    many = ~is_missing(values) & (np.abs(to_numpy(doubles)) >= 10.0 ** (15 - values.type.scale))
    if many.any():
        out[many] = text_hashes(values.filter(pa.array(many)))
    return out


_PER_MICROSECOND = {"s": 1_000_000, "ms": 1_000, "us": 1}


def _moment_hashes(values: ArrowValues, unit: str) -> HashArray:
    """Of moments: their microseconds; nanoseconds beyond them count where there are any."""
    x = to_numpy(values)
    if unit != "ns":
        return _with_missing((x * np.int64(_PER_MICROSECOND[unit])).view(np.uint64), values)
    micro, rest = np.divmod(x, np.int64(1000))
    out = micro.view(np.uint64).copy()
    fine = rest != 0
    part = out[fine]
    mix(part, rest[fine].view(np.uint64))
    out[fine] = part
    return _with_missing(out, values)


def row_hashes(columns: Sequence[ArrowValues], rows: int, seed: int) -> HashArray:
    """A keyed hash of each row over its columns (pyarrow arrays): the same on every engine."""
    hashes = start_hashes(rows, seed)
    for values in columns:
        mix(hashes, value_hashes(values))
    return hashes


def row_numbers(columns: Sequence[ArrowValues], rows: int) -> HashArray:
    """Two words per row (n × 2) that no other row has: the hash of its content, and how many equal rows come before it.

    The same rows in another order have the same numbers: equal rows may exchange theirs.

    >>> import pyarrow as pa
    >>> row_numbers([pa.array(["a", "b", "a"])], 3)[:, 1].tolist()
    [0, 0, 1]
    """
    hashes = row_hashes(columns, rows, 0)
    order = np.argsort(hashes, kind="stable")
    out = np.empty((rows, 2), np.uint64)
    out[:, 0] = hashes
    out[order, 1] = times_before(hashes[order])
    return out


def times_before(hashes: HashArray) -> HashArray:
    """How many equal hashes come before each, of hashes in order."""
    new = np.ones(len(hashes), np.bool_)
    new[1:] = hashes[1:] != hashes[:-1]
    place = np.arange(len(hashes), dtype=np.uint64)
    return place - np.maximum.accumulate(np.where(new, place, np.uint64(0)))


def own_keys(hashes: HashArray, before: HashArray) -> HashArray:
    """A key of its own for each row, from how many rows of equal hash come ``before`` it: the first keeps the hash.

    >>> keys = own_keys(np.array([1, 5, 5, 5, 9], np.uint64), np.array([0, 0, 1, 2, 0], np.uint64))
    >>> keys[[0, 1, 4]].tolist(), len(set(keys.tolist()))
    ([1, 5, 9], 5)
    """
    again = before > 0
    out = hashes.copy()
    out[again] = scrambled(hashes[again] * ODD + before[again])
    return out


def shuffled_order(hashes: HashArray) -> npt.NDArray[np.int64]:
    """Positions that put rows with these hashes of their content in a random order, equal rows apart from each other.

    >>> np.sort(shuffled_order(np.array([7, 3, 7, 7], np.uint64))).tolist()
    [0, 1, 2, 3]
    """
    order = sorted_order(hashes)
    keys = hashes[order]
    own = own_keys(keys, times_before(keys))
    return order if np.array_equal(own, keys) else order[sorted_order(own)]


def start_hashes(n: int, seed: int) -> HashArray:
    """One value per row to begin with, from the seed."""
    return np.full(n, text_hashes(from_texts([f"shoal:{seed}"]))[0], np.uint64)


def mix(hashes: HashArray, values: HashArray) -> None:
    """Bring one more column's hashes into the rows' hashes, in place."""
    if len(hashes) < FEW:
        hashes[:] = scrambled(hashes * ODD + values)
    else:
        mix_in(hashes, values)


def scrambled(z: HashArray) -> HashArray:
    """splitmix64, as :func:`~shoal.kernels._loops.scramble`: every bit of the result depends on every bit of the number."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _hash_few(offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8], out: HashArray) -> None:
    """As :func:`~shoal.kernels._loops.hash_texts`, in numpy: the n-th eight bytes of all texts at once."""
    lengths = np.diff(offsets)
    out[:] = lengths.astype(np.uint64) * ODD
    for at in range(0, int(lengths.max(initial=0)), 8):
        rows = np.flatnonzero(lengths > at)
        word = np.zeros(len(rows), np.uint64)
        for j in range(8):
            inside = lengths[rows] > at + j
            place = np.minimum(offsets[rows] + at + j, len(data) - 1)
            word |= np.where(inside, data[place], np.uint8(0)).astype(np.uint64) << np.uint64(8 * j)
        out[rows] = scrambled(out[rows] ^ word) + ODD


def sorted_order(hashes: HashArray) -> npt.NDArray[np.int64]:
    """Positions that put the hashes in increasing order.

    >>> sorted_order(np.array([3, 1, 2], dtype=np.uint64)).tolist()
    [1, 2, 0]
    """
    if len(hashes) < SOME:
        return np.argsort(hashes, kind="stable").astype(np.int64)

    return order_of(hashes, 64)


SLOTS = 1 << 27
"""Two bits each: 32 MB."""
FEW_HASHES = up_to(1 << 16)
"""Of fewer hashes any may come again: sorting them is quicker than loading numba."""


class Repeats:
    """Hashes are shown once with :meth:`add`, and asked about afterwards.

    >>> seen = Repeats()
    >>> seen.add(np.array([7, 8, 7], np.uint64))
    >>> seen.possible(np.array([7, 8], np.uint64)).tolist()
    [True, False]
    """

    def __init__(self, slots: int = SLOTS) -> None:
        self._slots = np.zeros(slots // 4, np.uint8)

    def add(self, hashes: HashArray) -> None:
        """Take in more hashes."""
        _fill(hashes, self._slots)

    def possible(self, hashes: HashArray) -> npt.NDArray[np.bool_]:
        """For each hash whether it may have come more than once; false only where it came once."""
        out = np.empty(len(hashes), np.bool_)
        _look(hashes, self._slots, out)
        return out


@lean_njit
def _fill(hashes: HashArray, slots: npt.NDArray[np.uint8]) -> None:
    """Count to two in each slot."""
    last = np.uint64(4 * len(slots) - 1)
    for i in range(len(hashes)):
        slot = hashes[i] & last
        at, shift = slot >> np.uint64(2), (slot & np.uint64(3)) << np.uint64(1)
        if (np.uint64(slots[at]) >> shift) & np.uint64(2) == 0:
            slots[at] += np.uint8(np.uint64(1) << shift)


@lean_njit
def _look(hashes: HashArray, slots: npt.NDArray[np.uint8], out: npt.NDArray[np.bool_]) -> None:
    """Where a slot was filled twice."""
    last = np.uint64(4 * len(slots) - 1)
    for i in range(len(hashes)):
        slot = hashes[i] & last
        at, shift = slot >> np.uint64(2), (slot & np.uint64(3)) << np.uint64(1)
        out[i] = (np.uint64(slots[at]) >> shift) & np.uint64(2) != 0

"""How well the fields of two records agree: a level for every field of every pair, from ``different`` to ``exact``.

A pair whose given and family names are exchanged agrees at the level ``swapped`` of the given name; its family name then says
nothing more. A field that one of the two lacks is :data:`MISSING` and says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.linkage.records import Records


MISSING = -1
CLOSE, SIMILAR = 0.92, 0.8
"""Jaro–Winkler similarities from which two texts are close, or similar."""

LEVELS: dict[str, tuple[str, ...]] = {
    "given": ("different", "similar", "close", "swapped", "exact"),
    "family": ("different", "similar", "close", "exact"),
    "birth": ("different", "part", "near", "exact"),
    "sex": ("different", "exact"),
    "postcode": ("different", "area", "near", "exact"),
    "phone": ("different", "near", "exact"),
    "email": ("different", "near", "exact"),
    "number": ("different", "near", "exact"),
    "text": ("different", "similar", "close", "exact"),
}
"""The levels of each kind of field, the best one last."""


def levels(records: Records, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int8]:
    """The level of every field (columns, in the order of the fields) for pairs of places in the records (rows)."""
    out = np.empty((len(left), len(records.fields)), dtype=np.int8)
    for place, field in enumerate(records.fields):
        values = records.values[field.name]
        out[:, place] = _by_value(values, left, values, right, _COMPARE[field.kind])
    _find_swapped(records, left, right, out)
    return out


def _by_value(
    one: NDArray[np.object_], left: NDArray[np.int64], other: NDArray[np.object_], right: NDArray[np.int64], compare: Any
) -> NDArray[np.int8]:
    """Levels of pairs of values of two columns; each different pair of values is compared once, in one order."""
    known = {text: i for i, text in enumerate(sorted((set(one) | set(other)) - {None}))}
    words = list(known)
    codes = [np.array([-1 if text is None else known[text] for text in column], dtype=np.int64) for column in (one, other)]
    a, b = codes[0][left], codes[1][right]
    out = np.full(len(left), MISSING, dtype=np.int8)
    both = np.flatnonzero((a >= 0) & (b >= 0))
    pairs, place = np.unique(np.minimum(a, b)[both] * len(words) + np.maximum(a, b)[both], return_inverse=True)
    first, second = ([words[i] for i in part.tolist()] for part in np.divmod(pairs, max(len(words), 1)))
    out[both] = compare(first, second)[place.ravel()]
    return out


def _find_swapped(records: Records, left: NDArray[np.int64], right: NDArray[np.int64], out: NDArray[np.int8]) -> None:
    """Mark pairs whose given and family names stand in each other's place."""
    kinds = [f.kind for f in records.fields]
    if "given" not in kinds or "family" not in kinds:
        return
    given_at, family_at = kinds.index("given"), kinds.index("family")
    given, family = (records.values[records.fields[at].name] for at in (given_at, family_at))
    crossed = _by_value(given, left, family, right, _text), _by_value(family, left, given, right, _text)
    close = LEVELS["text"].index("close")
    swapped = (crossed[0] >= close) & (crossed[1] >= close) & ~((out[:, given_at] >= 2) & (out[:, family_at] >= 2))
    out[swapped, given_at] = LEVELS["given"].index("swapped")
    out[swapped, family_at] = MISSING


def _text(a: list[str], b: list[str]) -> NDArray[np.int8]:
    alike = jaro_winkler(a, b)
    return np.select([_same(a, b), alike >= CLOSE, alike >= SIMILAR], [3, 2, 1], 0)


def _names(a: list[str], b: list[str]) -> NDArray[np.int8]:
    """Names: one that is part of the other is close, an initial similar."""
    likeness = _text(a, b)
    for place, (one, two) in enumerate(zip(a, b, strict=True)):
        if likeness[place] < 2 and (" " in one or " " in two) and _shares(one, two):
            likeness[place] = 2
        elif likeness[place] < 1 and min(len(one), len(two)) == 1 and one[0] == two[0]:
            likeness[place] = 1
    return likeness


def _shares(one: str, two: str) -> bool:
    """Whether all words of the shorter name are in the longer."""
    few, many = sorted((set(one.split()), set(two.split())), key=len)
    return few <= many


def _birth(a: list[str], b: list[str]) -> NDArray[np.int8]:
    near = one_edit(a, b)
    swapped = np.array([x[:4] == y[:4] and x[4:6] == y[6:] and x[6:] == y[4:6] for x, y in zip(a, b, strict=True)], dtype=bool)
    equal = np.array([sum((x[:4] == y[:4], x[4:6] == y[4:6], x[6:] == y[6:])) for x, y in zip(a, b, strict=True)])
    return np.select([_same(a, b), near | swapped, equal == 2], [3, 2, 1], 0)


def _postcode(a: list[str], b: list[str]) -> NDArray[np.int8]:
    area = np.array([x[: max(2, len(x) // 2)] == y[: max(2, len(y) // 2)] for x, y in zip(a, b, strict=True)], dtype=bool)
    return np.select([_same(a, b), one_edit(a, b), area], [3, 2, 1], 0)


def _digits(a: list[str], b: list[str]) -> NDArray[np.int8]:
    return np.select([_same(a, b), one_edit(a, b)], [2, 1], 0)


def _email(a: list[str], b: list[str]) -> NDArray[np.int8]:
    before = [[x.partition("@")[0] for x in side] for side in (a, b)]
    return np.select([_same(a, b), _same(*before) | (jaro_winkler(a, b) >= CLOSE)], [2, 1], 0)


def _same(a: list[str], b: list[str]) -> NDArray[np.bool_]:
    return np.array([x == y for x, y in zip(a, b, strict=True)], dtype=bool)


_COMPARE: dict[str, Callable[[list[str], list[str]], NDArray[np.int8]]] = {
    "given": lambda a, b: np.where((likeness := _names(a, b)) == 3, 4, likeness),
    "family": _names,
    "birth": _birth,
    "sex": lambda a, b: _same(a, b).astype(np.int8),
    "postcode": _postcode,
    "phone": _digits,
    "email": _email,
    "number": _digits,
    "text": _text,
}


LONGEST = 40
"""Letters of a text that are compared."""


def jaro_winkler(left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
    """Jaro–Winkler similarity of each pair, as DuckDB defines it.

    >>> jaro_winkler(["martha", "dwayne", "dixon", "a"], ["marhta", "duane", "dicksonx", "b"]).round(4).tolist()
    [0.9611, 0.84, 0.8133, 0.0]
    """
    return _each_pair("jaro_winkler_similarity", left, right)


def one_edit(left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
    """Whether at most one letter is inserted, deleted, replaced or swapped with its neighbour.

    >>> one_edit(["jansen", "ab", "abc", "Иванов"], ["janssen", "ba", "xyz", "Иванoв"]).tolist()
    [True, True, False, True]
    """
    return _each_pair("damerau_levenshtein", left, right) <= 1


def _each_pair(function: str, left: Sequence[str], right: Sequence[str]) -> NDArray[Any]:
    """A function of DuckDB for each pair of texts."""
    import pyarrow as pa

    pairs = [_one_byte_each(a[:LONGEST], b[:LONGEST]) for a, b in zip(left, right, strict=True)]
    one, two = (pa.array([pair[side] for pair in pairs], pa.string()) for side in (0, 1))
    answer = _database().cursor().from_arrow(pa.table({"one": one, "two": two})).project(f"{function}(one, two)")
    out: NDArray[Any] = answer.to_arrow_table().column(0).to_numpy()
    return out


def _one_byte_each(a: str, b: str) -> tuple[str, str]:
    """Two texts with a byte for each letter, because DuckDB compares bytes; equal letters, and only these, stay equal.

    >>> _one_byte_each("añb", "bn") == ("\\x01\\x02\\x03", "\\x03\\x04"), _one_byte_each("ab", "c")
    (True, ('ab', 'c'))
    """
    if a.isascii() and b.isascii():
        return a, b
    number = {ord(letter): i for i, letter in enumerate(dict.fromkeys(a + b), start=1)}  # at most twice LONGEST: below 128
    return a.translate(number), b.translate(number)


@cache
def _database() -> Any:
    """An empty database, for its functions on texts."""
    import duckdb

    return duckdb.connect(config={"enable_external_access": "false", "threads": "2"})

"""How well the fields of two records agree: a level for every field of every pair, from ``different`` to ``exact``.

A pair whose given and family names are exchanged agrees at the level ``swapped`` of the given name; its family name then says
nothing more. A field that one of the two lacks is :data:`MISSING` and says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    alike = jaro_winkler(a, b, least=SIMILAR)
    return np.select([_same(a, b), alike >= CLOSE, alike >= SIMILAR], [3, 2, 1], 0)


def _names(a: list[str], b: list[str]) -> NDArray[np.int8]:
    """Names: one that is part of the other is close, an initial similar."""
    found = _text(a, b)
    for place, (one, two) in enumerate(zip(a, b, strict=True)):
        if found[place] < 2 and (" " in one or " " in two) and _shares(one, two):
            found[place] = 2
        elif found[place] < 1 and min(len(one), len(two)) == 1 and one[0] == two[0]:
            found[place] = 1
    return found


def _shares(one: str, two: str) -> bool:
    """Whether all words of the shorter name are in the longer."""
    few, many = sorted((set(one.split()), set(two.split())), key=len)
    return few <= many


def _given(a: list[str], b: list[str]) -> NDArray[np.int8]:
    found = _names(a, b)
    return np.where(found == 3, 4, found)


def _birth(a: list[str], b: list[str]) -> NDArray[np.int8]:
    near = edit_distance(a, b, most=1) <= 1
    swapped = np.array([x[:4] == y[:4] and x[4:6] == y[6:] and x[6:] == y[4:6] for x, y in zip(a, b, strict=True)], dtype=bool)
    equal = np.array([sum((x[:4] == y[:4], x[4:6] == y[4:6], x[6:] == y[6:])) for x, y in zip(a, b, strict=True)])
    return np.select([_same(a, b), near | swapped, equal == 2], [3, 2, 1], 0)


def _sex(a: list[str], b: list[str]) -> NDArray[np.int8]:
    return _same(a, b).astype(np.int8)


def _postcode(a: list[str], b: list[str]) -> NDArray[np.int8]:
    area = np.array([x[: max(2, len(x) // 2)] == y[: max(2, len(y) // 2)] for x, y in zip(a, b, strict=True)], dtype=bool)
    return np.select([_same(a, b), edit_distance(a, b, most=1) <= 1, area], [3, 2, 1], 0)


def _digits(a: list[str], b: list[str]) -> NDArray[np.int8]:
    return np.select([_same(a, b), edit_distance(a, b, most=1) <= 1], [2, 1], 0)


def _email(a: list[str], b: list[str]) -> NDArray[np.int8]:
    before = [[x.partition("@")[0] for x in side] for side in (a, b)]
    return np.select([_same(a, b), _same(*before) | (jaro_winkler(a, b, least=CLOSE) >= CLOSE)], [2, 1], 0)


def _same(a: list[str], b: list[str]) -> NDArray[np.bool_]:
    return np.array([x == y for x, y in zip(a, b, strict=True)], dtype=bool)


_COMPARE: dict[str, Callable[[list[str], list[str]], NDArray[np.int8]]] = {
    "given": _given,
    "family": _names,
    "birth": _birth,
    "sex": _sex,
    "postcode": _postcode,
    "phone": _digits,
    "email": _email,
    "number": _digits,
    "text": _text,
}


LONGEST = 40
_CHUNK = 1 << 13


def jaro_winkler(left: Sequence[str], right: Sequence[str], *, least: float = 0.0) -> NDArray[np.float64]:
    """Jaro–Winkler similarity of each pair; 0 where their letters alone show that it is below ``least``.

    >>> jaro_winkler(["martha", "dwayne", "dixon", "a", ""], ["marhta", "duane", "dicksonx", "b", ""]).round(4).tolist()
    [0.9611, 0.84, 0.8133, 0.0, 1.0]
    """
    a, b, most, (la, lb), prefix = _common(left, right)
    with np.errstate(divide="ignore", invalid="ignore"):
        jaro = np.where(most == 0, (la == 0) & (lb == 0), (most / la + most / lb + 1) / 3)
    bound = jaro + 0.1 * prefix * (1 - jaro)
    out = np.zeros(len(left))
    _work_out(out, bound >= least - 1e-9, a, b, _jaro_winkler)
    return out


def edit_distance(left: Sequence[str], right: Sequence[str], *, most: int = LONGEST) -> NDArray[np.int16]:
    """Letters inserted, deleted, replaced or swapped with their neighbour, at least so many; ``most`` + 1 for more than that.

    >>> edit_distance(["jansen", "ab", "abc", ""], ["janssen", "ba", "", ""]).tolist()
    [1, 1, 3, 0]
    >>> edit_distance(["abc", "abc"], ["xyz", "abd"], most=1).tolist()
    [2, 1]
    """
    a, b, common, (la, lb), _ = _common(left, right)
    apart = np.full(len(left), most + 1, dtype=np.int16)
    _work_out(apart, np.maximum(la, lb) - common <= most, a, b, _edit_distance)
    return np.minimum(apart, np.int16(most + 1))


def _common(left: Sequence[str], right: Sequence[str]) -> Any:
    """The texts cut to their longest form, at most how many letters they share, their lengths, and letters alike at the start."""
    (a, bags_a, heads_a, at_a), (b, bags_b, heads_b, at_b) = _bags(left), _bags(right)
    shared, prefix = np.empty(len(a), dtype=np.int64), np.empty(len(a), dtype=np.int64)
    for start in range(0, len(a), _CHUNK):
        part = slice(start, start + _CHUNK)
        shared[part] = np.minimum(bags_a[at_a[part]], bags_b[at_b[part]]).sum(axis=1)
        one, two = heads_a[at_a[part]], heads_b[at_b[part]]
        prefix[part] = np.cumprod((one == two) & (one != 0), axis=1).sum(axis=1)
    lengths = bags_a.sum(axis=1, dtype=np.int64)[at_a], bags_b.sum(axis=1, dtype=np.int64)[at_b]
    return a, b, shared, lengths, prefix


def _bags(texts: Sequence[str]) -> Any:
    """Texts cut to their longest form; of each different one the number of letters of 32 kinds, and its first four letters."""
    cut = [text[:LONGEST] for text in texts]
    place = {text: i for i, text in enumerate(dict.fromkeys(cut))}
    letters, lengths = _letters(list(place))
    bags = np.zeros((len(place), 32), dtype=np.uint8)
    for i in range(letters.shape[1]):
        here = np.flatnonzero(i < lengths)
        bags[here, letters[here, i] & 31] += 1
    heads = np.zeros((len(place), 4), dtype=np.uint32)
    heads[:, : min(4, letters.shape[1])] = letters[:, :4]
    return cut, bags, heads, np.array([place[text] for text in cut], dtype=np.int64)


def _work_out(out: Any, chosen: NDArray[np.bool_], left: list[str], right: list[str], work: Any) -> None:
    """``out`` with the chosen pairs worked out, those of like length together: a table is as wide as its longest text."""
    places = np.flatnonzero(chosen)
    widths = [max(len(left[i]), len(right[i])) for i in places.tolist()]
    places = places[np.argsort(widths, kind="stable")]
    for start in range(0, len(places), _CHUNK):
        part = places[start : start + _CHUNK]
        out[part] = work(*_letters([left[i] for i in part.tolist()]), *_letters([right[i] for i in part.tolist()]))


def _letters(texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Code points by row, zero behind the end, and the lengths."""
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    width = max(1, int(lengths.max(initial=0)))
    packed = np.array(texts, dtype=f"<U{width}")
    return packed.view(np.uint32).reshape(len(texts), width), lengths


def _jaro_winkler(
    a: NDArray[np.uint32], la: NDArray[np.int64], b: NDArray[np.uint32], lb: NDArray[np.int64]
) -> NDArray[np.float64]:
    n, wide = a.shape
    window = np.maximum(np.maximum(la, lb) // 2 - 1, 0)
    places = np.arange(b.shape[1])
    used = places[None, :] >= lb[:, None]
    in_a = np.zeros((n, wide), dtype=bool)
    for i in range(wide):
        fits = (b == a[:, i : i + 1]) & ~used & (np.abs(places[None, :] - i) <= window[:, None]) & (i < la)[:, None]
        first = fits.argmax(axis=1)
        hit = fits[np.arange(n), first]
        in_a[:, i] = hit
        used[np.flatnonzero(hit), first[hit]] = True
    in_b = used & (places[None, :] < lb[:, None])
    common = in_a.sum(axis=1)
    out_of_order = _different(_packed(a, in_a), _packed(b, in_b)) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        jaro = (common / la + common / lb + (common - out_of_order) / common) / 3
    jaro = np.where(common == 0, np.where((la == 0) & (lb == 0), 1.0, 0.0), jaro)
    shared = min(4, wide, b.shape[1])
    same = (a[:, :shared] == b[:, :shared]) & (a[:, :shared] != 0)
    prefix = np.cumprod(same, axis=1).sum(axis=1)
    result: NDArray[np.float64] = jaro + 0.1 * prefix * (1 - jaro)
    return result


def _packed(letters: NDArray[np.uint32], chosen: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """The chosen letters of each row moved to its start, in their order."""
    order = np.argsort(~chosen, axis=1, kind="stable")
    return np.take_along_axis(np.where(chosen, letters, 0), order, axis=1)


def _different(a: NDArray[np.uint32], b: NDArray[np.uint32]) -> NDArray[np.int64]:
    width = max(a.shape[1], b.shape[1])
    wider = [np.pad(x, ((0, 0), (0, width - x.shape[1]))) for x in (a, b)]
    count: NDArray[np.int64] = (wider[0] != wider[1]).sum(axis=1)
    return count


def _edit_distance(
    a: NDArray[np.uint32], la: NDArray[np.int64], b: NDArray[np.uint32], lb: NDArray[np.int64]
) -> NDArray[np.int16]:
    n, wide, other = len(a), a.shape[1], b.shape[1]
    table = np.zeros((wide + 1, other + 1, n), dtype=np.int16)
    table[:, 0] = np.arange(wide + 1, dtype=np.int16)[:, None]
    table[0] = np.arange(other + 1, dtype=np.int16)[:, None]
    for i in range(1, wide + 1):
        for j in range(1, other + 1):
            replaced = table[i - 1, j - 1] + (a[:, i - 1] != b[:, j - 1])
            best = np.minimum(replaced, np.minimum(table[i - 1, j], table[i, j - 1]) + 1)
            if i > 1 and j > 1:
                swapped = (a[:, i - 1] == b[:, j - 2]) & (a[:, i - 2] == b[:, j - 1])
                best = np.where(swapped, np.minimum(best, table[i - 2, j - 2] + 1), best)
            table[i, j] = best
    found: NDArray[np.int16] = table[la, lb, np.arange(n)]
    return found

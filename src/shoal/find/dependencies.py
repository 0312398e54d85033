"""Columns that follow from others: dummies, bands, logarithms, labels beside codes, finer codes, sums, parts of dates and keys.

Takes    some rows, and what the finder made of each column
Returns  the findings; a column that follows from one that others know, or from which that one follows, is known too
Keeps    one role for twins; ``follows`` names the column that says the same or more, so that a draft can leave the other out
Cost     a known column is compared with all others at once in a few rows, and in all rows with those that may depend on it, at
         most ``MOST_PAIRS``. ``compared`` says whether that was enough; if not, no column is called insensitive
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.find.finding import ColumnFinding, Evidence, Scale
from shoal.find.roles.decision import CHANGE
from shoal.find.sanity import read_day
from shoal.kernels.arrow import as_doubles, from_numpy, is_missing, positions, to_numpy
from shoal.kernels.text import canonical_text
from shoal.model.roles import MOMENTS, NUMBERS, Role

MOST_PAIRS, MOST_SOURCES = 3_000, 100
"""Pairs of columns that are compared after the screen, and columns that all others are compared with."""
SCREENED, FEWEST_TIED, RARE = 200, 30, 0.05
"""Rows in which all columns are screened at once, at most 256; neighbours, and the chance that two rows differ, below which a
pair is compared in all rows: a few rows show little of a rare value."""
MOST_ROWS, LEAST_ROWS = 4_000, 50
"""Rows in which columns are compared with each other, and rows from which a dependence says something."""
NEARLY, LEFT = 0.02, 0.1
"""Share of pairs of rows that may contradict a dependence, and the share of those that would do so by chance."""
LEAST_EVIDENCE = 10.0
"""Contradictions that chance would give at least."""
SURE = 0.5
"""Confidence below which a column is a quasi-identifier for want of a meaning."""
BANDED = 5
"""Rows per value from which a column is banded."""

MOST_SUMMED, GAPS = 60, 0.05
"""Columns of numbers among which sums are looked for, and the share of rows that may have a gap in them."""
COMPARED = 500
"""Rows in which sums and texts are compared."""
INSIDE, BY_CHANCE = 0.98, 0.5
"""Share of rows whose key must contain that of another column, and the share from which it does so in any order of the rows."""
MOST_KEYS = 30_000
"""Pairs of columns of which one may contain the other."""
LEAST_KEYS = 3
"""Different values from which one key may be found inside another."""

NOT_COMPARED = "it seems harmless, but there are too many columns to compare it with all that others know"

Codes = npt.NDArray[np.integer]


class SomeRows:
    """Rows in which columns are compared with each other, evenly spread over those at hand; values are taken when needed."""

    def __init__(self, table: Any) -> None:
        rows = table.num_rows
        self._places = np.linspace(0, rows - 1, MOST_ROWS).astype(np.int64) if rows > MOST_ROWS else None
        self._table, self._codes, self._texts = table, dict[str, Codes](), dict[str, tuple[Sequence[str], Codes | None]]()

    def keep(self, name: str, codes: Codes, texts: Sequence[str] = (), order: Codes | None = None) -> None:
        """Keep the codes of a column (see :func:`coded`), given for all rows at hand, so that they are not counted again.

        ``texts`` are all distinct values as texts, none if unknown; ``order`` their codes, None for the order of the codes.
        """
        self._codes[name] = codes if self._places is None else codes[self._places]
        self._texts[name] = texts, order

    def texts(self, name: str, most: int) -> list[str | None]:
        """The first values of a column as canonical texts."""
        texts, order = self._texts.get(name, ((), None))
        if not texts:
            return list(canonical_text(self.values(name, most)).to_pylist())
        places = self.codes(name)[:most]
        places = places if order is None else np.append(np.argsort(order), -1)[places]
        return [None if i < 0 else texts[i] for i in places.tolist()]

    def values(self, name: str, most: int | None = None) -> Any:
        """The values of a column, or the first of them."""
        cells = self._table.column(name)
        cells = cells[:most] if self._places is None else cells.take(from_numpy(self._places[:most]))
        cells = cells.combine_chunks()
        return cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells

    def codes(self, name: str) -> Codes:
        """The values of a column as numbers; -1 is missing."""
        if name not in self._codes:
            self._codes[name] = coded(self.values(name))[1]
        return self._codes[name]


def with_dependencies(findings: Sequence[ColumnFinding], rows: SomeRows) -> tuple[tuple[ColumnFinding, ...], bool]:
    """The findings with one role for columns that follow from each other, and whether all were compared."""
    changed, pairs = _by_pairs(findings, rows)
    changed = _by_dates(changed, rows)
    changed, keys = _by_keys(changed, rows)
    changed, sums = _by_sums(changed, rows)
    changed = tuple(f if pairs and keys and (sums or f.kind not in NUMBERS) else _not_compared(f) for f in changed)
    return changed, pairs and keys and sums


def _not_compared(finding: ColumnFinding) -> ColumnFinding:
    """A column that would be published as it is, though it may tell what others know: a person has to decide."""
    if finding.role is not Role.INSENSITIVE or not _undoes(finding):
        return finding
    return replace(finding, role=Role.UNDECIDED, reason=NOT_COMPARED, confidence=0.0, change=CHANGE[Role.UNDECIDED])


def coded(values: Any) -> tuple[Any, Codes]:
    """The distinct values, numbers in order, and the place of each value among them; -1 is missing.

    >>> [x.tolist() for x in coded(pa.array([7, None, 5, 7]))], [x.tolist() for x in coded(pa.array(["b", "a", "b"]))]
    ([[5, 7], [1, -1, 0, 1]], [['b', 'a'], [0, 1, 0]])
    """
    kind = values.type
    if pa.types.is_integer(kind) and len(values) > values.null_count:
        numbers, gone = to_numpy(values), is_missing(values) if values.null_count else None
        held = numbers if gone is None else numbers[~gone]
        low, high = held.min(), held.max()
        if int(high) - int(low) <= len(values):
            return _counted_off(numbers if gone is None else np.where(gone, low, numbers), low, gone)
    encoded = (canonical_text(values) if pa.types.is_nested(kind) else values).dictionary_encode()
    distinct, at = encoded.dictionary, positions(encoded.indices)
    if pa.types.is_dictionary(kind) and not (distinct.null_count == 0 and _all_once(distinct, at)):
        return coded(values.dictionary_decode())
    if not has_order(kind):
        return distinct, at
    order = pc.sort_indices(distinct)
    rank = np.empty(len(distinct) + 1, dtype=np.int32)
    rank[to_numpy(order)] = np.arange(len(distinct))
    rank[-1] = -1
    return distinct.take(order), rank[at]


def count_values(values: Any) -> tuple[Any, npt.NDArray[np.int64], Codes, Codes | None]:
    """The distinct values in order, how many rows hold each, and the place of each row's value among those of :func:`coded`.

    At last the places of the values among those, None if it is the same order.

    >>> [x.tolist() for x in count_values(pa.array(["b", "a", None, "b"]))]
    [['a', 'b'], [1, 2], [0, 1, -1, 0], [1, 0]]
    """
    distinct, at = coded(values)
    sizes = np.bincount(at[at >= 0] if values.null_count else at, minlength=len(distinct))
    if not has_order(distinct.type):
        order = pc.sort_indices(distinct)
        return distinct.take(order), sizes[to_numpy(order)], at, to_numpy(order)
    return distinct, sizes, at, None


def _all_once(distinct: Any, at: Codes) -> bool:
    """Whether a dictionary names every value once, and only values that occur."""
    return len(distinct.unique()) == len(distinct) and bool(np.bincount(at + 1, minlength=len(distinct) + 1)[1:].all())


def has_order(kind: Any) -> bool:
    """Whether values of an Arrow type are numbers, which :func:`coded` puts in order."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _counted_off(numbers: npt.NDArray[Any], low: Any, gone: npt.NDArray[np.bool_] | None) -> tuple[Any, Codes]:
    """As :func:`coded` of whole numbers in a range that is no longer than the column."""
    off = (numbers - low).astype(np.int64)
    there = np.zeros(int(off.max()) + 1, dtype=np.bool_)
    there[off if gone is None else off[~gone]] = True
    rank = np.cumsum(there, dtype=np.int32) - 1
    codes = rank[off] if gone is None else np.where(gone, -1, rank[off])
    return from_numpy(np.flatnonzero(there).astype(numbers.dtype) + low), codes


def _by_pairs(findings: Sequence[ColumnFinding], rows: SomeRows) -> tuple[tuple[ColumnFinding, ...], bool]:
    """Columns that follow from any one other."""
    looked = [f for f in findings if f.distinct > 1 and not f.mark]
    sources = [f for f in looked if f.role in (Role.QUASI, Role.SENSITIVE) and (f.evidence or f.confidence == 1)]
    sources.sort(key=lambda f: (f.role is Role.SENSITIVE, -f.distinct))  # what says most comes first
    rank = {f.name: i for i, f in enumerate(sources)}
    if not sources:
        return tuple(findings), True
    open_to = {Role.QUASI: looked, Role.SENSITIVE: [f for f in looked if f.role is Role.UNDECIDED]}
    screens = {role: _Screen([rows.codes(f.name) for f in open_to[role]]) for role in {f.role for f in sources} if open_to[role]}
    out: dict[str, ColumnFinding] = {}
    pairs = 0
    for x in sources[:MOST_SOURCES]:
        a = rows.codes(x.name)
        for y in itertools.compress(open_to[x.role], screens[x.role].may_follow(a) if open_to[x.role] else ()):
            if y is x or x.name in out or y.name in out or not _may_follow(x, y, rank):
                continue
            pairs += 1
            if pairs > MOST_PAIRS:
                return tuple(out.get(f.name, f) for f in findings), False
            b = rows.codes(y.name)
            if follows(a, b, ordered=x.kind in NUMBERS):
                if _unexplained(x) and y.role is Role.SENSITIVE and y.topic and follows(b, a, ordered=y.kind in NUMBERS):
                    out[x.name] = _same_role(y, x, f"it tells the same as '{y.name}'", follows_from=y.name)
                    continue
                if x.role is Role.SENSITIVE and follows(b, a, ordered=y.kind in NUMBERS) and not _same_order(a, b):
                    continue  # each tells the other, as a school class and the mean of its parents' income: others may know y
                out[y.name] = _same_role(x, y, f"it follows from '{x.name}'", follows_from=x.name)
            elif y.role is not Role.QUASI and x.role is Role.QUASI and follows(b, a, ordered=y.kind in NUMBERS):
                out[y.name] = _same_role(x, y, f"'{x.name}' follows from it", follows_from="")
    return tuple(out.get(f.name, f) for f in findings), len(sources) <= MOST_SOURCES


def _unexplained(x: ColumnFinding) -> bool:
    """Whether a column is taken for known only because nothing says what it is."""
    return x.role is Role.QUASI and not x.topic and x.confidence < SURE


class _Screen:
    """Some rows of all columns, in which a column is compared with all others at once: which of them may depend on it.

    In the order of one of two independent columns, neighbours in the other differ as often as any two rows, and half of them
    upwards. A pair is looked at more closely if they differ at most half as often, or hardly in one direction.
    """

    def __init__(self, columns: Sequence[Codes]) -> None:
        self.codes, order = _ranked(np.array([_some(c) for c in columns], dtype=np.int32))
        self.sorted, self.order = np.take_along_axis(self.codes, order, axis=0), order
        places = self.codes + 256 * np.arange(len(columns))
        sizes = np.bincount(places.ravel(), minlength=256 * len(columns)).reshape(-1, 256)[:, 1:]
        self.chance = 1.0 - ((sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1)) ** 2).sum(axis=1)

    def may_follow(self, a: Codes) -> npt.NDArray[np.bool_]:
        """Whether each column may follow from ``a``, or ``a`` from it."""
        ranks, order = _ranked(_some(a)[None])
        codes, order = ranks[:, 0], order[:, 0]
        forward = _depends(ranks[order], self.codes[order], self.chance)
        return forward | _depends(self.sorted, codes[self.order], np.full(len(self.chance), _chance(codes[codes > 0])))


def _ranked(by_column: Codes) -> tuple[npt.NDArray[np.uint8], Codes]:
    """Codes of at most ``SCREENED`` rows as bytes, a column each: 0 is missing, the others in their order; and that order."""
    order = np.argsort(by_column, axis=1, kind="stable")
    in_order = np.take_along_axis(by_column, order, axis=1)
    first = np.where(in_order[:, :1] >= 0, 1, 0)
    ranks = np.concatenate([first, first + np.cumsum(in_order[:, 1:] != in_order[:, :-1], axis=1)], axis=1)
    codes = np.empty(by_column.shape, dtype=np.uint8)
    np.put_along_axis(codes, order, ranks.astype(np.uint8), axis=1)
    return np.ascontiguousarray(codes.T), np.ascontiguousarray(order.T)


def _some(codes: Codes) -> Codes:
    """At most so many rows as are screened, evenly spread."""
    return codes[:: -(-len(codes) // SCREENED)]


def _depends(by: Codes, other: Codes, chance: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Whether neighbours in each column of ``other``, which is in the order of ``by``, differ less often than by ``chance``."""
    tied, up, down = by[1:] == by[:-1], other[1:] > other[:-1], other[1:] < other[:-1]
    pairs = np.full(1, len(tied))
    if by.min() <= 0 or other.min() <= 0:
        known = (by[:-1] > 0) & (other[1:] > 0) & (other[:-1] > 0)  # those without a value come first
        tied, up, down, pairs = tied & known, up & known, down & known, _true(known)
    ties, ups, downs, tied_differ = map(_true, (tied, up, down, tied & (up | down)))
    enough = ties >= FEWEST_TIED
    differ = np.where(enough, tied_differ, ups + downs) / np.maximum(np.where(enough, ties, pairs), 1)
    turns = np.minimum(ups, downs) / np.maximum(pairs, 1)
    return np.asarray((pairs < FEWEST_TIED) | (chance < RARE) | (differ <= chance / 2) | (turns <= chance / 4))


def _true(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """How many flags of each column are set; at most ``SCREENED``, which a byte can count."""
    return np.asarray(np.add.reduce(flags.view(np.uint8), axis=0, dtype=np.uint8), dtype=np.int64)


def _chance(codes: Codes) -> float:
    """The probability that two rows differ."""
    return 1.0 - float(((np.bincount(codes) / max(len(codes), 1)) ** 2).sum())


def _same_order(a: Codes, b: Codes) -> bool:
    """Whether b runs up or down with a, as a logarithm of it does."""
    step = np.diff(b[np.argsort(a, kind="stable")].astype(np.int64))
    return not (step < 0).any() or not (step > 0).any()


def _by_dates(findings: Sequence[ColumnFinding], rows: SomeRows) -> tuple[ColumnFinding, ...]:
    """Columns that hold the weekday, day, month or quarter of a date that others know."""
    dates = [f for f in findings if f.role is Role.QUASI and f.scale is Scale.DATE]
    parts = [f for f in findings if _undoes(f) or (_unexplained(f) and f.distinct > 1 and f not in dates)]
    if not dates or not parts:
        return tuple(findings)
    screen = _Screen([rows.codes(f.name) for f in parts])
    out: dict[str, ColumnFinding] = {}
    for x in dates[:MOST_SOURCES]:
        for part in _date_parts(_days(rows.values(x.name), x.kind)):
            may = itertools.compress(parts, screen.may_follow(part))
            for y in (y for y in may if y.name not in out and follows(part, rows.codes(y.name), ordered=False)):
                out[y.name] = _same_role(x, y, f"it is a part of the date in '{x.name}'", follows_from=x.name)
    return tuple(out.get(f.name, f) for f in findings)


def _undoes(y: ColumnFinding) -> bool:
    """Whether a column would be published though it may tell what others know; a person's decision stays."""
    return y.role in (Role.SENSITIVE, Role.INSENSITIVE, Role.UNDECIDED) and y.confidence < 1 and not y.mark and y.distinct > 1


def _days(values: Any, kind: str) -> npt.NDArray[np.float64]:
    """Days since 1970; NaN where there is none."""
    if kind not in MOMENTS or pa.types.is_time(values.type):
        return np.array([np.nan if t is None else read_day(t)[0] for t in canonical_text(values).to_pylist()])
    return _numbers(values.cast(pa.date32(), safe=False).cast(pa.int32()))


def _numbers(values: Any) -> npt.NDArray[np.float64]:
    """The numbers of a column; NaN where there is none."""
    return np.where(is_missing(values), np.nan, to_numpy(as_doubles(values)))


def _date_parts(days: npt.NDArray[np.float64]) -> Iterator[Codes]:
    """Weekday, day of the month, month and quarter as codes; -1 without a date."""
    there = np.isfinite(days)
    day = np.where(there, days, 0).astype("datetime64[D]")
    month = day.astype("datetime64[M]")
    number = month.astype(np.int64) % 12
    for part in (day.astype(np.int64) % 7, (day - month).astype(np.int64), number, number // 3):
        yield np.where(there, part, -1)


def _by_keys(findings: Sequence[ColumnFinding], rows: SomeRows) -> tuple[tuple[ColumnFinding, ...], bool]:
    """Columns whose values begin or end with what names people or is known (``17-b`` beside 17, ``DE21-004`` beside DE21), and
    whether all were compared."""
    kinds = ("text", "integer")
    inner = [f for f in findings if f.role in (Role.DIRECT, Role.QUASI) and f.kind in kinds and f.distinct >= LEAST_KEYS]
    inner = [f for f in inner if f.scale in (Scale.ID, Scale.PLACE, Scale.NOMINAL)]
    outer = [f for f in findings if _undoes(f) and f.kind in kinds]
    out: dict[str, ColumnFinding] = {}
    inner.sort(key=lambda f: f.role is Role.QUASI)
    fewest = min((x.distinct for x in inner), default=0)
    outer = [y for y in outer if y.distinct >= fewest]
    if not inner or not outer:
        return tuple(findings), True
    texts = functools.cache(lambda name: rows.texts(name, COMPARED))
    keys, held = (_ends([rows.texts(f.name, LEAST_ROWS) for f in some]) for some in (inner, outer))
    distinct, left = np.array([y.distinct for y in outer]), MOST_KEYS
    for x, key in zip(inner, keys, strict=True):
        places = np.flatnonzero(distinct >= x.distinct)
        may = _may_hold(key, held[places[:left]]) if len(places) and left else ()
        for y in itertools.compress((outer[i] for i in places), may):
            if y.name not in out and key_inside(texts(x.name), texts(y.name)):
                out[y.name] = _same_role(x, y, f"its values contain those of '{x.name}'", follows_from="")
        left -= len(places)
        if left < 0:
            break
    return tuple(out.get(f.name, f) for f in findings), left >= 0


def _ends(columns: Sequence[Sequence[str | None]]) -> npt.NDArray[np.uint64]:
    """For each column: of each text its bytes, and the first and the last eight of them as a number; 0 bytes are missing."""
    texts = [text.encode() if text else b"" for column in columns for text in column]
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    stop = np.cumsum(lengths)
    data = np.frombuffer(b"".join([bytes(8), *texts, bytes(8)]), dtype=np.uint8)
    first, last = (data[at[:, None] + step] for at, step in ((stop - lengths + 8, np.arange(8)), (stop + 7, -np.arange(8))))
    keys = [lengths.astype(np.uint64), *(np.ascontiguousarray(ends).view("<u8")[:, 0] for ends in (first, last))]
    return np.stack([part.reshape(len(columns), -1) for part in keys], axis=1)


def _may_hold(key: npt.NDArray[np.uint64], longer: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """For each column whether so many texts are longer than the key of their row and have its ends that they may contain it."""
    both = (key[0] > 0) & (longer[:, 0] > 0)
    looked = np.uint64(2**64 - 1) >> (np.uint64(8) * (8 - np.clip(key[0], 1, 8)))  # the bytes that the key has
    begins, ends = (((longer[:, at] ^ key[at]) & looked) == 0 for at in (1, 2))
    inside = both & (longer[:, 0] > key[0]) & (begins | ends)
    return np.asarray(np.sum(inside, axis=1) >= BY_CHANCE * np.sum(both, axis=1))


def key_inside(keys: Sequence[str | None], longer: Sequence[str | None]) -> bool:
    """Whether longer codes begin or end with the key of their row, and not with any.

    >>> wards = [f"W{i % 7}" for i in range(60)]
    >>> key_inside(wards, [f"{w}-{i}" for i, w in enumerate(wards)]), key_inside(wards, [f"W{i}" for i in range(60)])
    (True, False)
    """

    def share(pairs: Sequence[tuple[str, str]]) -> float:
        return sum(k != v and (v.startswith(k) or v.endswith(k)) for k, v in pairs) / len(pairs)

    both = [(k, v) for k, v in zip(keys[:LEAST_ROWS], longer[:LEAST_ROWS], strict=True) if k and v]
    if not both or share(both) < BY_CHANCE:
        return False
    both = [(k, v) for k, v in zip(keys, longer, strict=True) if k and v]
    if len(both) < LEAST_ROWS or share(both) < INSIDE:
        return False
    turned = [(k, both[i - len(both) // 2][1]) for i, (k, _) in enumerate(both)]
    return share(turned) < BY_CHANCE


def _by_sums(findings: Sequence[ColumnFinding], rows: SomeRows) -> tuple[tuple[ColumnFinding, ...], bool]:
    """Columns that with others add up to one that others know, or the other way round; and whether all were compared.

    A person who has all but one member of such a sum has that one too, so all are known if one is.
    """
    summed = [
        f
        for f in findings
        if f.kind in NUMBERS and f.scale is not Scale.ID and f.distinct > 2 and f.role is not Role.DIRECT and not f.mark
    ]
    summed = [f for f in summed if np.count_nonzero(rows.codes(f.name) < 0) <= GAPS * len(rows.codes(f.name))]
    known = {f.name for f in summed if f.role is Role.QUASI and f.topic}
    if not known or not any(map(_undoes, summed)):
        return tuple(findings), True
    if len(summed) > MOST_SUMMED:
        return tuple(findings), False
    table = np.array([_numbers(rows.values(f.name)) for f in summed])
    table = table[:, np.isfinite(table).all(axis=0)][:, :COMPARED]
    if table.shape[1] < LEAST_ROWS:
        return tuple(findings), True
    out: dict[str, ColumnFinding] = {}
    for members, total in _sums(table):
        names = [summed[i] for i in (*members, total)]
        for x, y in itertools.product([f for f in names if f.name in known], names):
            if _undoes(y) and y.name not in out:
                out[y.name] = _same_role(x, y, f"it is in a sum with '{x.name}'", follows_from="")
    return tuple(out.get(f.name, f) for f in findings), True


def _sums(table: npt.NDArray[np.float64]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Sets of columns, two or a run of neighbours, and the column that has the order of their sum: their sum or mean."""
    places = {_order(row): i for i, row in reversed(list(enumerate(table)))}
    ends = np.vstack([np.zeros(table.shape[1]), np.cumsum(table, axis=0)])
    for i, j in itertools.combinations(range(len(table)), 2):
        for members, total in (((i, j), table[i] + table[j]), (tuple(range(i, j + 1)), ends[j + 1] - ends[i])):
            place = places.get(_order(total))
            if place is not None and place not in members:
                yield members, place


def _order(numbers: npt.NDArray[np.float64]) -> bytes:
    return bytes(np.unique(np.round(numbers, 6), return_inverse=True)[1].astype(np.int32).tobytes())


def _may_follow(x: ColumnFinding, y: ColumnFinding, rank: Mapping[str, int]) -> bool:
    """Whether the role of y would change, or it could be left out, if it depended on x."""
    if y.role is Role.DIRECT or y.confidence == 1:  # a person has decided about it
        return False
    if x.role is Role.SENSITIVE:  # a flag may be what others know, also if an amount decides it
        return y.role is Role.UNDECIDED and (y.distinct > 2 or x.scale is not Scale.NUMBER)
    return y.role is not Role.QUASI or rank.get(y.name, len(rank)) > rank[x.name]


def _same_role(x: ColumnFinding, y: ColumnFinding, why: str, *, follows_from: str) -> ColumnFinding:
    known = {Role.QUASI: "which others know", Role.DIRECT: "which names people"}.get(x.role, "which is sensitive")
    reason = f"{why}, {known}: whoever has one has the other"
    evidence = (*y.evidence, Evidence(reason, 1.0, 0.8, "table"))
    confidence = max(0.8, y.confidence) if y.role is x.role else 0.8
    y = replace(y, role=x.role, reason=reason, confidence=confidence, change=CHANGE[x.role])
    if x.role is Role.DIRECT:
        y = replace(y, scale=Scale.ID, order=(), hipaa=y.hipaa or 18, topic=y.topic or "key")
    return replace(y, evidence=evidence, follows=follows_from)


def follows(a: Codes, b: Codes, *, ordered: bool) -> bool:
    """Whether b follows from a, exactly or nearly: rows with one value of a have one value of b; or, if the values of a are
    ``ordered`` and hardly repeat, b is constant in ranges of a or runs with it.

    >>> size = np.tile(np.arange(6), 50)
    >>> follows(size, (size == 2).astype(int), ordered=True), follows((size == 2).astype(int), size, ordered=True)
    (True, False)
    >>> pay = np.random.default_rng(1).permutation(300)
    >>> follows(pay, pay // 100, ordered=True), follows(pay, np.random.default_rng(2).permutation(300), ordered=True)
    (True, False)
    """
    there = (a >= 0) & (b >= 0)
    a, b = a[there].astype(np.int64), b[there].astype(np.int64)
    if len(a) < LEAST_ROWS:
        return False
    chance = _chance(b)
    if chance == 0.0:
        return False
    sizes = np.bincount(a)
    together = np.unique(a * (int(b.max()) + 1) + b, return_counts=True)[1]
    pairs = float((sizes * (sizes - 1)).sum())
    if float(np.maximum(sizes - 1, 0).sum()) * chance >= LEAST_EVIDENCE:
        contradicted = 1.0 - float((together * (together - 1)).sum()) / pairs
        return contradicted <= min(NEARLY, LEFT * chance)
    return ordered and _runs_with(a, b, chance)


def _runs_with(a: Codes, b: Codes, chance: float) -> bool:
    """Whether b, in the order of a, changes hardly more often than it has values, or only goes up or only down."""
    in_order = b[np.argsort(a, kind="stable")]
    step = np.diff(in_order)
    values = len(np.unique(b))
    if values * BANDED <= len(b):
        return int((step != 0).sum()) <= values - 1 + NEARLY * len(b) and chance * len(b) >= LEAST_EVIDENCE * values
    return min(int((step < 0).sum()), int((step > 0).sum())) <= NEARLY * len(b)

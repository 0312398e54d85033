"""The second opinion: a written file counted again, from its bytes alone.

Takes    a file, its quasi-identifiers and sensitive columns, perhaps a person column
Returns  Facts: records, classes, k, uniques, class-size table, diversity and closeness of each sensitive column
Keeps    shares no code with engines, kernels, measures or search, so that a mistake there cannot vouch for itself
Cost     sorted integer codes, a piece of the file at a time; grows with the pairs of a class and a value, not with their product
Source   METHODS §19 (definitions); a missing value is a value of its own

Each column's cells become whole numbers in order of first appearance; the numbers of a record become one; sorting brings
equal records together. The tests compare it with a count by definition, row by row.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import EmptyTableError
from shoal.model.compare import TOLERANCE
from shoal.release.proof import read
from shoal.release.proof.facts import Classes, Facts, Inside, as_number, value_order
from shoal.release.proof.formats import text_array, value_labels
from shoal.release.proof.trees import Tree

Codes = npt.NDArray[np.int64]
WholeCodes = npt.NDArray[np.signedinteger[Any]]
LONG, LARGE = 65_536, 256 << 20
"""Rows and bytes from which on a batch is encoded by itself."""
FEW_VALUES = 200_000
"""Different values of a column up to which they are kept beside its codes."""


def recount(
    path: str | Path,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    *,
    unit: str | None = None,
    recursive: Mapping[str, Sequence[int]] | None = None,
    trees: Mapping[str, Tree] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    as_spelled: bool = False,
    labels: Mapping[str, Mapping[Any, str]] | None = None,
) -> Facts:
    """Count a written file again: CSV, Parquet, Arrow, Excel, SPSS or Stata.

    With a ``unit``, the person column where the file still has one, classes count people. By sensitive column: ``recursive`` has
    the levels l to be counted, ``trees`` the tree of the hierarchical distance, ``orders`` the values from low to high. Sensitive
    values that differ in their spelling only are one value for diversity (:func:`read_alike`), unless ``as_spelled``. Codes with
    one label, in the file of a statistics package or by ``labels``, are one value, too.

    >>> import tempfile, pathlib
    >>> f = pathlib.Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = f.write_text("age,ill\\n30,flu\\n30,flu\\n40,flu\\n40,hiv\\n40,hiv\\n")
    >>> facts = recount(f, ["age"], ["ill"])
    >>> facts.k, facts.classes, facts.sensitive["ill"].distinct, facts.sensitive["ill"].equal
    (2, 2, 1, 0.4)
    """
    wanted = [*quasi, *sensitive, *([unit] if unit else [])]
    levels = {c: tuple(sorted(set((recursive or {}).get(c, ())))) for c in sensitive}
    rows = read.batches(Path(path), wanted)
    seen = {} if as_spelled or not sensitive else {**(labels or {}), **value_labels(Path(path))}
    return facts_of_batches(rows, len(quasi), sensitive, unit is not None, levels, trees or {}, orders or {}, as_spelled, seen)


class _Column:
    """Codes of one column: equal cells, equal codes; a missing cell is code 0."""

    def __init__(self) -> None:
        self.code: dict[Any, int] = {None: 0}

    def encode(self, array: Any) -> Codes:
        if pa.types.is_floating(array.type):
            numbers = _plain(array.cast(pa.float64())) + 0.0  # −0.0 is 0.0
            missing = _missing(array) | np.isnan(numbers)
            values, places = np.unique(np.where(missing, 0.0, numbers), return_inverse=True)
            texts = values.tolist()
        else:
            encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
            missing = _missing(encoded.indices)
            places = np.where(missing, 0, _plain(encoded.indices))
            texts = encoded.dictionary.to_pylist()
        here = np.array([self.code.setdefault(v, len(self.code)) for v in texts] or [0], dtype=np.int64)
        return np.where(missing, 0, here[places]) if missing.any() else here[places]


def _plain(numbers: Any) -> npt.NDArray[Any]:
    """The numbers of an Arrow array from its buffer (Arrow's own way loads pandas); in the place of a missing one anything."""
    kind = np.dtype(str(numbers.type))
    if not len(numbers):
        return np.zeros(0, kind)
    return np.frombuffer(numbers.buffers()[1], kind, count=numbers.offset + len(numbers))[numbers.offset :]


def _missing(array: Any) -> npt.NDArray[np.bool_]:
    """For each cell of an Arrow array, whether it is missing, from its bits."""
    bits = array.buffers()[0]
    if bits is None or not array.null_count:
        return np.full(len(array), array.null_count > 0)
    flags = np.unpackbits(np.frombuffer(bits, np.uint8), count=array.offset + len(array), bitorder="little")
    return np.asarray(flags[array.offset :] == 0)


def whole_codes(batches: Iterable[Any], n: int, values: list[Mapping[Any, int]] | None = None) -> list[WholeCodes]:
    """The codes of the first ``n`` columns of a file, whole, in as few bytes as they need; ``values`` gets those of values."""
    encoders = [_Column() for _ in range(n)]
    parts: list[list[WholeCodes]] = [[np.zeros(0, dtype=np.int8)] for _ in range(n)]
    for batch in _longer(batches):
        for i, encoder in enumerate(encoders):
            codes = encoder.encode(batch.column(i))
            parts[i].append(codes.astype(np.min_scalar_type(-len(encoder.code))))
    if values is not None:
        values += [e.code for e in encoders]
    return [np.concatenate(p) for p in parts]


def _longer(batches: Iterable[Any]) -> Iterator[Any]:
    """The same rows in fewer batches: those of a wide file have few rows, and each costs a call per column."""
    waiting: list[Any] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= LONG or size >= LARGE:
            yield waiting[0] if len(waiting) == 1 else pa.concat_batches(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield waiting[0] if len(waiting) == 1 else pa.concat_batches(waiting)


class FileColumns:
    """Columns of a written file (``source`` is its path) or of a table of a database as codes; each is read once."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self._codes: dict[str, WholeCodes] = {}
        self._values: dict[str, Mapping[Any, int]] = {}

    def of(self, names: Sequence[str]) -> dict[str, WholeCodes]:
        """The codes of each column; 0 is a missing value."""
        left = [n for n in dict.fromkeys(names) if n not in self._codes]
        if left:
            values: list[Mapping[Any, int]] = []
            self._codes.update(zip(left, whole_codes(self._batches(left), len(left), values), strict=True))
            self._values.update((n, v) for n, v in zip(left, values, strict=True) if len(v) <= FEW_VALUES)
        return {n: self._codes[n] for n in names}

    def table(self, names: Sequence[str]) -> Any:
        """The columns as an Arrow table: those of a CSV file that were read as dictionaries of their codes."""
        left = [n for n in names if not self._has_texts(n)]
        columns = {n: self._coded(n) for n in names if self._has_texts(n)}
        if left:
            columns |= dict(zip(left, pa.Table.from_batches(list(self._batches(left))).columns, strict=True))
        return pa.table([columns[n] for n in names], names=list(names))

    def _batches(self, names: Sequence[str]) -> Iterable[Any]:
        parts: Iterable[Any] = read.batches(self.source, names) if isinstance(self.source, Path) else self.source.scan(names)
        return parts

    def texts(self, name: str) -> Counter[str | None] | None:
        """How many records hold each text of a column of a CSV file that was read; None for other columns."""
        if not self._has_texts(name):
            return None
        sizes = np.bincount(self._codes[name], minlength=len(self._values[name])).tolist()
        return Counter({value: sizes[code] for value, code in self._values[name].items() if sizes[code]})

    def _has_texts(self, name: str) -> bool:
        return name in self._values and isinstance(self.source, Path) and self.source.suffix == ".csv"

    def _coded(self, name: str) -> Any:
        codes = self._codes[name]
        numbers = pa.Array.from_buffers(pa.from_numpy_dtype(codes.dtype), len(codes), [None, pa.py_buffer(codes)])
        return pa.DictionaryArray.from_arrays(numbers, text_array(list(self._values[name])))


class _Groups:
    """Distinct combinations of some columns with how often each occurs."""

    def __init__(self) -> None:
        self.keys: list[Codes] = []
        self.counts: Codes = np.zeros(0, dtype=np.int64)

    def add(self, columns: Sequence[Codes]) -> None:
        ones = np.ones(len(columns[0]), dtype=np.int64)
        if self.keys:
            columns = [np.concatenate(pair) for pair in zip(self.keys, columns, strict=True)]
            ones = np.concatenate((self.counts, ones))
        number, first = number_groups(columns)
        self.keys = [c[first] for c in columns]
        self.counts = np.bincount(number, weights=ones, minlength=len(first)).astype(np.int64)


def number_groups(columns: Sequence[npt.NDArray[np.signedinteger[Any]]]) -> tuple[Codes, Codes]:
    """A number for each record, equal where all columns are equal; and one record of each group.

    >>> number_groups([np.array([0, 1, 0]), np.array([5, 5, 5])])[0].tolist()
    [0, 1, 0]
    """
    key, span = columns[0].astype(np.int64), int(columns[0].max(initial=0)) + 1
    for column in columns[1:]:
        width = int(column.max(initial=0)) + 1
        if span * width > _table(len(key)) or span > 2**62 // width:
            key, span = _rank(key, span)
        key *= width
        key += column
        span *= width
    number, n = _rank(key, span)
    first = np.zeros(n, dtype=np.int64)
    first[number[::-1]] = np.arange(len(number) - 1, -1, -1)  # of several writes to one place the last stays
    return number, first


def _table(records: int) -> int:
    """Different numbers up to which a table of all of them is quicker than sorting."""
    return max(4 * records, 1 << 16)


def _rank(key: Codes, span: int) -> tuple[Codes, int]:
    """The rank of each number, all of them below ``span``, among those that occur; and how many do."""
    if span > _table(len(key)):
        distinct, number = np.unique(key, return_inverse=True)
        return number.astype(np.int64), len(distinct)
    there = np.zeros(span, dtype=np.bool_)
    there[key] = True
    rank = np.cumsum(there)
    return rank[key] - 1, int(rank[-1])


def facts_of_batches(
    batches: Iterable[Any],
    n_quasi: int,
    sensitive: Sequence[str],
    has_unit: bool,
    levels: Mapping[str, Sequence[int]],
    trees: Mapping[str, Tree],
    orders: Mapping[str, Sequence[str]],
    as_spelled: bool = False,
    labels: Mapping[str, Mapping[Any, str]] | None = None,
) -> Facts:
    """Facts of a file from its batches."""
    encoders = [_Column() for _ in range(n_quasi + len(sensitive) + has_unit)]
    classes, people = _Groups(), _Groups()
    inside = [_Groups() for _ in sensitive]
    for batch in batches:
        if not batch.num_rows:
            continue
        codes = [e.encode(batch.column(i)) for i, e in enumerate(encoders)]
        quasi = codes[:n_quasi]
        classes.add(quasi)
        for i, groups in enumerate(inside):
            groups.add([*quasi, codes[n_quasi + i], *([codes[-1]] if has_unit else [])])
        if has_unit:
            people.add([*quasi, codes[-1]])
    if not len(classes.counts):
        raise EmptyTableError("the written file has no records, so no anonymity number is defined.")
    columns = encoders[n_quasi:]
    named = [{_code(value): text for value, text in (labels or {}).get(c, {}).items()} for c in sensitive]
    alike = inside if as_spelled else [_as_one(g, n_quasi, e, n) for g, e, n in zip(inside, columns, named, strict=False)]
    if has_unit:
        inside, alike = [_each_once(groups) for groups in inside], [_each_once(groups) for groups in alike]
    members, smallest, linked = _people(people, n_quasi) if has_unit else (classes.counts, None, None)
    stars = [e.code.get("*", -1) for e in encoders[:n_quasi]]
    blank = np.logical_and.reduce([key == star for key, star in zip(classes.keys, stars, strict=True)])
    return Facts(
        records=int(classes.counts.sum()),
        classes=len(classes.counts),
        k=int(members.min()),
        unique=int((members == 1).sum()) if smallest is None else smallest.get(1, 0),
        sizes={int(s): int(n) for s, n in zip(*np.unique(members, return_counts=True), strict=True)},
        sensitive={
            c: _inside(groups, one, n_quasi, columns[i], levels.get(c, ()), trees.get(c), orders.get(c, ()))
            for i, (c, groups, one) in enumerate(zip(sensitive, inside, alike, strict=True))
        },
        blanked=int(classes.counts[blank].sum()),
        people=None if smallest is None else sum(smallest.values()),
        linked_k=linked,
        smallest=smallest,
        details=Classes(
            codes=classes.keys,
            records=classes.counts,
            members=members,
            sensitive={c: _pairs(groups, n_quasi) for c, groups in zip(sensitive, alike, strict=True)},
            values=[e.code for e in encoders[:n_quasi]],
        ),
    )


def _pairs(groups: _Groups, n_quasi: int) -> tuple[Codes, Codes, Codes]:
    """Class, value and members of each pair of the two, sorted; classes are numbered in the order of their keys."""
    number, _ = number_groups(groups.keys[:n_quasi])
    order = np.lexsort((groups.keys[-1], number))
    return number[order], groups.keys[-1][order], groups.counts[order]


def _each_once(groups: _Groups) -> _Groups:
    """The same groups without their last column, the person: how many people, not records, each has."""
    out = _Groups()
    out.add(groups.keys[:-1])
    return out


def _people(pairs: _Groups, n_quasi: int) -> tuple[Codes, dict[int, int], int]:
    """People per class, people by their smallest class, and the fewest with the same number of records in the same classes."""
    number, _ = number_groups(pairs.keys[:n_quasi])
    who = pairs.keys[-1]
    order = np.lexsort((number, who))
    ends = np.flatnonzero(np.diff(who[order])) + 1
    profile = np.stack([number[order], pairs.counts[order]], axis=1)
    together = Counter(part.tobytes() for part in np.split(profile, ends))
    members = np.bincount(number).astype(np.int64)
    smallest = np.minimum.reduceat(members[number[order]], np.append(0, ends))
    once = {int(s): int(n) for s, n in zip(*np.unique(smallest, return_counts=True), strict=True)}
    return members, once, min(together.values())


def read_alike(values: Sequence[Any]) -> list[Any]:
    """For each sensitive value what a reader takes it for: texts without case, spaces and forms of Unicode, empty ones as
    missing; in a column of nothing but numbers, these.

    >>> read_alike(["Flu", "flu ", "", None]), read_alike(["1", "1.0"]), read_alike(["1", "1.0", "x"])
    (['flu', 'flu', None, None], [Decimal('1'), Decimal('1.0')], ['1', '1.0', 'x'])
    """
    texts = [" ".join(unicodedata.normalize("NFKC", v).casefold().split()) if isinstance(v, str) else v for v in values]
    texts = [None if text == "" else text for text in texts]
    if any(text is not None and not (isinstance(text, str) and as_number(text) is not None) for text in texts):
        return texts
    return [None if text is None else Decimal(text) for text in texts]


def _code(value: Any) -> Any:
    """A code as labels name it: numbers by size, in any spelling."""
    number = as_number(str(value))
    return value if number is None else Decimal(number)


def _as_one(groups: _Groups, n_quasi: int, column: _Column, labels: Mapping[Any, str]) -> _Groups:
    """The same groups with the values that are read alike, by their labels where they have some, as one."""
    first: dict[Any, int] = {}
    shown = [labels.get(_code(value), value) for value in column.code] if labels else list(column.code)
    code = np.array([first.setdefault(v, c) for c, v in enumerate(read_alike(shown))], dtype=np.int64)
    if len(first) == len(code):
        return groups
    keys = [*groups.keys[:n_quasi], code[groups.keys[n_quasi]], *groups.keys[n_quasi + 1 :]]
    number, place = number_groups(keys)
    out = _Groups()
    out.keys = [key[place] for key in keys]
    out.counts = np.bincount(number, weights=groups.counts).astype(np.int64)
    return out


def _inside(
    pairs: _Groups, alike: _Groups, n_quasi: int, column: _Column, levels: Sequence[int], tree: Tree | None, texts: Sequence[str]
) -> Inside:
    number, _ = number_groups(pairs.keys[:n_quasi])
    n_classes = int(number.max()) + 1
    names = {code: value for value, code in column.code.items()}
    used = np.unique(pairs.keys[-1])
    rank = np.zeros(int(used.max()) + 1, dtype=np.int64)
    ordered = value_order([names[int(u)] for u in used], texts)
    for place, known in enumerate(ordered):
        rank[column.code[known]] = place
    value, counts = rank[pairs.keys[-1]], pairs.counts
    size = np.bincount(number, weights=counts, minlength=n_classes)
    p = counts / size[number]
    q = np.bincount(value, weights=counts, minlength=len(used)) / counts.sum()
    gain = (p - q[value]) / q[value]
    one, _ = number_groups(alike.keys[:n_quasi])  # classes in the same order
    share = alike.counts / np.bincount(one, weights=alike.counts, minlength=n_classes)[one]
    entropy = -np.bincount(one, weights=share * np.log(share), minlength=n_classes)
    most = -np.log(q)[value]  # what a value may gain by enhanced β-likeness, for any β
    equal = 0.5 * (np.bincount(number, weights=np.abs(p - q[value]) - q[value], minlength=n_classes) + 1.0)
    return Inside(
        distinct=int(np.bincount(one).min()),
        entropy=float(np.exp(entropy.min())),
        equal=float(max(equal.max(), 0.0)),
        ordered=_ordered_distance(number, value, counts, n_classes),
        recursive={level: _largest_ratio(one, alike.counts, level, n_classes) for level in levels},
        hierarchical=None if tree is None else _by_tree(number, value, p, q, ordered, tree),
        alpha=float(share.max()),
        delta=math.inf if (np.bincount(number) < len(used)).any() else float(np.abs(np.log(p / q[value])).max()),
        beta=max(0.0, float(gain.max())),
        enhanced_beta=math.inf if (gain > most + TOLERANCE * np.maximum(1.0, most)).any() else max(0.0, float(gain.max())),
    )


def _by_tree(
    number: Codes, value: Codes, p: npt.NDArray[np.float64], q: npt.NDArray[np.float64], ordered: Sequence[Any], tree: Tree
) -> float:
    """The largest Σ |P − Q| / (2 × height) over the nodes below the root."""
    paths = np.array([tree.path(v) for v in ordered], dtype=np.int64).reshape(len(ordered), tree.height - 1)
    moved = np.zeros(int(number.max()) + 1)
    for level in range(tree.height):
        node = np.arange(len(ordered)) if level == 0 else np.unique(paths[:, level - 1], return_inverse=True)[1]
        share = np.bincount(node, weights=q)
        key, at = np.unique(number * len(share) + node[value], return_inverse=True)
        inside = np.bincount(at, weights=p)
        klass, where = key // len(share), key % len(share)
        moved += np.bincount(klass, weights=np.abs(inside - share[where]) - share[where], minlength=len(moved)) + 1.0
    return float(max(moved.max() / (2 * tree.height), 0.0))


def _ordered_distance(number: Codes, value: Codes, counts: Codes, n_classes: int) -> float:
    """The largest Σ|P − Q| / (m − 1) of a class, P and Q the shares of people up to each of the m values.

    Inside a class P stays as it is from one of its values to the next, while Q grows: up to the place where Q passes P the
    differences are P − Q, from there on Q − P, and sums of Q over neighbouring values are known. Counts are added as whole
    numbers, so the work grows with the pairs of a class and a value, not with classes × values.
    """
    below = np.cumsum(np.bincount(value, weights=counts).astype(np.int64))  # people up to each value
    m, n = len(below), int(below[-1])
    if m == 1:
        return 0.0
    sums = np.concatenate([[0], np.cumsum(below)])
    order = np.lexsort((value, number))
    number, value, counts = number[order], value[order], counts[order]
    first = np.searchsorted(number, np.arange(n_classes))
    size = np.add.reduceat(counts, first)[number]
    had = np.cumsum(counts)
    had = had - np.concatenate([[0], had])[first][number]  # people of the class up to this value
    until = np.append(value[1:], m)
    until[first[1:] - 1] = m  # the last value of a class holds to the end
    turn = np.clip(np.searchsorted(below, had * n // size, side="right"), value, until)
    more = had * n * (2.0 * turn - value - until)
    less = size * (2.0 * sums[turn] - sums[value] - sums[until])
    moved = np.bincount(number, weights=(more - less) / size, minlength=n_classes) + sums[value[first]]
    return float(moved.max()) / n / (m - 1)


def _largest_ratio(number: Codes, counts: Codes, level: int, n_classes: int) -> float | None:
    order = np.lexsort((-counts, number))
    number, counts = number[order], counts[order]
    starts = np.searchsorted(number, np.arange(n_classes))
    place = np.arange(len(number)) - starts[number]
    tail = np.bincount(number, weights=np.where(place >= level - 1, counts, 0), minlength=n_classes)
    return None if (tail == 0).any() else float((counts[starts] / tail).max())

"""Which columns together identify? Every small subset of the quasi-identifiers, counted from the base classes.

Takes    ClassCounts with codes
Keeps    k of a subset ≥ k of all columns; uniques of a subset ≤ uniques of a larger one
Cost     one grouping of the base classes per subset; the rows are not read again
Source   Motwani & Xu 2007 (distinction, separation)
Differs  where people are in several classes their counts cannot be added up: pass ``recount`` to count each subset again

Whom do a few known columns find? Every set of up to three columns of a table, counted record by record.

Takes    a code per record for each column, and who the records are about, where people have several
Returns  for each set the number of people who are the only ones with their values; the worst set of each size
Keeps    exact for the columns that were counted; a set never finds fewer people than a part of it
Cost     one grouping of the records per set; at most ``BUDGET`` cells. Where that is not enough, only the columns that find most
         people alone are put together, and ``left_out`` names the others
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, islice
from math import comb, prod

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.kernels.group import DIRECT_FACTOR, LARGEST_TALLY, SMALL, compiled_pays, group_codes, group_sizes, pack, sum_by
from shoal.kernels.threads import each
from shoal.measures.classes.anonymity import each_once, unique_members
from shoal.measures.classes.missing import adds_up
from shoal.measures.metrics import metric
from shoal.measures.subsets.set_sizes import SetSizes, describe_sets
from shoal.model.counts.classes import ClassCounts, CodeArray, IntArray

LARGEST = 3
"""Columns that somebody is taken to know: colleagues and neighbours know a few."""
BUDGET = 125_000_000
"""Records times sets that are counted, about a second; a set costs as much as ``A_SET`` records beside its own."""
A_SET = 5_000
TABLE = 64
"""Pairs of codes per record up to which those of two columns are counted in a table of all pairs."""
FEWEST = 4
"""Columns that are put together however many records there are."""


@dataclass(frozen=True)
class KnownColumns:
    """``found`` people of ``people`` for every set of columns that was counted, and for all columns together."""

    people: int
    found: Mapping[tuple[str, ...], int]
    all_columns: int
    left_out: tuple[str, ...] = ()
    """Columns that were counted alone only, because there are too many sets."""

    @property
    def at_most(self) -> int:
        """People whom any three columns find at most: where sets were left out, those whom all columns together find."""
        return self.all_columns if self.left_out else self.worst()[1]

    def worst(self, without: Collection[str] = ()) -> tuple[tuple[str, ...], int]:
        """The set that finds most people, the smallest of several; of the columns that are not in ``without``."""
        sets = [(c, n) for c, n in self.found.items() if not any(name in without for name in c)]
        return min(sets, key=lambda s: (-s[1], len(s[0]), s[0]), default=((), 0))

    def share(self, count: int) -> float:
        return count / self.people if self.people else 0.0


def known_columns(columns: Mapping[str, npt.ArrayLike], people: IntArray | None = None, *, budget: int = BUDGET) -> KnownColumns:
    """Count the people whom any one, two or three of the columns find, and those whom all find together.

    ``people`` numbers who each record is about: somebody is found where all records with the same values are theirs. A record
    about nobody (−1) is taken for a person of its own.

    >>> seen = known_columns({"sex": [0, 0, 1, 1], "town": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> seen.worst(), seen.found["ill",], seen.all_columns
    ((('sex', 'town'), 4), 1, 4)
    """
    return ColumnSets(columns, people, budget=budget).count()


class ColumnSets:
    """Columns whose sets are counted as by :func:`known_columns`, each set once however often it is counted again.

    Beside ``fixed`` columns, which are never left out, a set of one other column and two of them is not counted if that column
    and one of them find as many as with all of them.
    """

    def __init__(
        self,
        columns: Mapping[str, npt.ArrayLike],
        people: IntArray | None = None,
        *,
        budget: int = BUDGET,
        fixed: Collection[str] = (),
    ) -> None:
        self._codes = codes = {n: _from_zero(np.ascontiguousarray(given, dtype=np.int32)) for n, given in columns.items()}
        self._records = self._total = len(next(iter(codes.values()))) if codes else 0
        if people is not None and self._records:
            nobody = people < 0
            people = np.unique(np.where(nobody, int(people.max()) + np.cumsum(nobody), people), return_inverse=True)[1]
            self._total = int(people.max()) + 1
        self._people, self._fixed, self._most = people, frozenset(fixed), len(codes)
        while self._most > FEWEST and (self._records + A_SET) * (comb(self._most, 2) + comb(self._most, 3)) > budget:
            self._most -= 1  # so many columns are put together: those that tell most apart
        self._alone = {name: _count_alone([own], people) for name, own in codes.items()} if self._records else {}
        self._widths = {name: int(own.max(initial=0)) + 1 for name, own in codes.items()}
        self._ranked = sorted(self._alone, key=lambda name: (-self._alone[name], -self._widths[name], name))
        self._place = {name: i for i, name in enumerate(codes)}
        self._kept: set[str] = set()
        self._counted: dict[tuple[str, ...], int] = {}
        self._table = np.zeros(0, dtype=np.int32)

    def count(self, without: Collection[str] = (), *, together: bool = True) -> KnownColumns:
        """Whom sets of all columns find, or of all but some; whom all these find together is then counted only where sets are
        left out (0), and not unless it is wanted: all columns of a wide table take longer than the sets."""
        names = [name for name in self._alone if name not in without]
        most = min(len(names), self._most)
        ranked = (name for name in self._ranked if name not in without)
        kept = set(names if most == len(names) else islice(ranked, most))
        counted = {(name,): self._alone[name] for name in names} | self._sets([name for name in names if name in kept])
        left_out = tuple(n for n in names if n not in kept)
        everything = self._total if together and names and (left_out or not without) else 0
        if everything and everything not in counted.values():
            everything = _count_alone([self._codes[name] for name in names], self._people)
        return KnownColumns(self._total, counted, everything, left_out)

    def _sets(self, kept: Sequence[str]) -> dict[tuple[str, ...], int]:
        """Whom each two and three of the columns find."""
        new = [name for name in kept if name not in self._kept]
        old = sorted((name for name in kept if name in self._kept), key=lambda name: -self._widths[name])
        fixed = [self._codes[name] for name in kept if name in self._fixed]
        together = group_codes(fixed if new else [], n_rows=self._records).ids
        newest_first = [*new, *old]
        for i, first in enumerate(new):
            loose = bool(fixed) and first not in self._fixed
            most, reached = _count_alone([together, self._codes[first]], self._people) if loose else -1, False
            for j, second in enumerate(newest_first[i + 1 :], i + 2):
                fixed_pair = loose and second in self._fixed
                number = self._count_pair(first, second, newest_first[j:], most if fixed_pair else -1, reached and fixed_pair)
                reached |= fixed_pair and number == most
        self._kept = set(kept)
        sets = (s for size in (2, 3) for s in combinations(kept, size))
        return {s: self._counted[s] for s in sets if s in self._counted}

    def _count_pair(self, first: str, second: str, thirds: Sequence[str], most: int, reached: bool) -> int:
        """Count two columns, and with each of others. Who is found by two is found by three: the rest is grouped only.

        Not with fixed ones, if ``most`` that all of them find with the first are found already.
        """
        both, people, found, theirs = [self._codes[first], self._codes[second]], self._people, None, None
        shared = self._share_codes(both[0], both[1], self._widths[second])
        if shared is not None:
            rest, left = shared
            number = self._records - len(rest)
        else:
            width = self._widths[second]
            direct = self._widths[first] * width <= max(DIRECT_FACTOR * self._records, SMALL)
            ids = both[0].astype(np.int64) * width + both[1] if direct else group_codes(both).ids
            hidden = _several_people(ids, people)
            rest = np.flatnonzero(hidden[ids])
            left, number = (np.cumsum(hidden) - 1)[ids[rest]], self._records - len(rest)
            if people is not None:
                found, theirs = np.zeros(self._total, dtype=np.bool_), people[rest]
                found[people[~hidden[ids]]] = True
                number = int(np.count_nonzero(found))
        self._counted[self._in_order(first, second)] = number
        for name in thirds:
            if name in self._fixed and (reached or number == most):
                continue
            more = 0
            if number < self._total:
                third = self._codes[name][rest]
                shared = self._share_codes(left, third, self._widths[name])
                more = _count_alone([left, third], theirs, found) if shared is None else len(rest) - len(shared[0])
            self._counted[self._in_order(first, second, name)] = number + more
        return number

    def _share_codes(self, first: CodeArray, second: CodeArray, width: int) -> tuple[IntArray, CodeArray] | None:
        """The records that share both codes with others, and a number for each pair of codes; ``width`` is above all second
        codes. None for people, and if a table of all pairs would be too large or compiling does not pay."""
        n, space = len(first), (int(first.max(initial=0)) + 1) * width
        most = min(TABLE * self._records, LARGEST_TALLY)
        if self._people is not None or space > most or not compiled_pays(n):
            return None
        from shoal.kernels._loops import alike

        if len(self._table) < space:
            self._table = np.zeros(most, dtype=np.int32)
        rest, left = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int32)
        hidden = alike(first, second, width, self._table, rest, left)
        return rest[:hidden], left[:hidden]

    def _in_order(self, *names: str) -> tuple[str, ...]:
        return tuple(sorted(names, key=self._place.__getitem__))


def _several_people(ids: IntArray, people: IntArray | None) -> npt.NDArray[np.bool_]:
    """For each class whether its records are of several people; numbers that no record has are not."""
    if people is None:
        return np.bincount(ids) > 1
    owner = np.zeros(int(ids.max()) + 1, dtype=np.int64)
    owner[ids] = people
    several = np.zeros(len(owner), dtype=np.bool_)
    several[ids[people != owner[ids]]] = True
    return several


def _keys(codes: Sequence[npt.NDArray[np.integer]], cards: Sequence[int]) -> IntArray:
    """A number per record, equal exactly if all codes are; numbers that none has only if they are few."""
    if prod(card + 1 for card in cards) > max(DIRECT_FACTOR * len(codes[0]), SMALL):
        return group_codes(codes, cards).ids
    return pack(codes, cards)[0].view(np.int64)


def _from_zero(codes: CodeArray) -> CodeArray:
    return codes - min(int(codes.min(initial=0)), 0)


def _count_alone(
    columns: Sequence[npt.NDArray[np.integer]], people: IntArray | None, besides: npt.NDArray[np.bool_] | None = None
) -> int:
    """People, numbered from 0, who are the only ones in some class of the columns, and are not counted ``besides``."""
    if people is None:
        return int((group_sizes(columns, empty=True) == 1).sum())
    ids = group_codes(columns).ids
    owner = np.zeros(int(ids.max()) + 1, dtype=np.int64)
    owner[ids] = people
    alone = np.unique(owner[~_several_people(ids, people)])
    return len(alone) if besides is None else int(np.count_nonzero(~besides[alone]))


HELPERS = (
    "all_subsets", "coarser_classes", "column_sets", "known_columns", "subset_count", "worst_subsets", "column_contributions",
    "uniqueness_matrix",
)  # fmt: skip
EXPANDED = 2
"""Members per class up to which members are counted one by one."""
LARGEST_NUMBER = 100_000
"""More subsets than this are refused with the number that was asked for."""

Recount = Callable[[Sequence[str]], ClassCounts]


@metric("distinction", reads="classes", low=0, high=1, safer="lower", merging="never higher", doubling="free")
def distinction(counts: ClassCounts | SetSizes) -> float:
    """Distinct combinations over members.

    >>> distinction(ClassCounts((2, 1, 1)))
    0.75
    """
    return counts.n_classes / counts.n_members


@metric("separation", reads="classes", low=0, high=1, safer="lower", merging="never higher", doubling="free")
def separation(counts: ClassCounts | SetSizes) -> float:
    """Share of pairs told apart.

    >>> round(separation(ClassCounts((2, 1, 1))), 6)
    0.833333
    """
    sizes, n = counts.sizes, float(counts.n_members)
    if n < 2:
        return 1.0
    alike = float((sizes * (sizes - 1)).sum())  # not as a product of vectors: threads of BLAS would spin beside it
    return float(1.0 - alike / (n * (n - 1.0)))


@dataclass(frozen=True)
class Subset:
    """What some columns together tell."""

    columns: tuple[str, ...]
    classes: int
    k: int
    unique: int
    distinction: float
    separation: float

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "columns": list(self.columns)}


def all_subsets(counts: ClassCounts, *, up_to: int = 3, recount: Recount | None = None) -> list[Subset]:
    """Every subset of at most ``up_to`` quasi-identifiers, in the order of size and columns.

    >>> c = ClassCounts((1, 1, 2), columns=("a", "b"), codes=([0, 0, 1], [0, 1, 1]))
    >>> [(s.columns, s.k, s.unique) for s in all_subsets(c, up_to=2)]
    [(('a',), 2, 0), (('b',), 1, 1), (('a', 'b'), 1, 2)]
    """
    names = counts.columns
    if up_to < 1:
        raise UsageError(f"subsets have at least one column; found {up_to}.", hint="Use for example up_to=3.")
    number = sum(math.comb(len(names), r) for r in range(1, min(up_to, len(names)) + 1))
    if number > LARGEST_NUMBER:
        hint = "Ask for smaller subsets or fewer columns."
        raise UsageError(f"{len(names)} columns have {number:,} subsets of at most {up_to} columns.", hint=hint)
    sets = [s for r in range(1, min(up_to, len(names)) + 1) for s in combinations(names, r)]
    if not adds_up(counts):
        if recount is None:
            hint = "Measure the table, not its counts."
            raise UsageError("people are in several classes, so subsets cannot be added up.", hint=hint)
        return list(_by_sets(counts, sets, recount))
    return _from_base(counts, sets)


def _from_base(counts: ClassCounts, sets: Sequence[tuple[str, ...]]) -> list[Subset]:
    names = list(dict.fromkeys(n for s in sets for n in s))
    expanded = counts.n_members <= EXPANDED * counts.n_classes  # sooner than sizes are added up

    def codes_of(name: str) -> CodeArray:
        own = counts.codes[counts.column(name)]
        return np.repeat(own + 1, counts.sizes) if expanded else own

    codes = dict(zip(names, each(names, counts.n_members, codes_of), strict=True))
    if expanded:
        described = describe_sets(codes, sets, _describe)
        return [described[s] for s in sets]
    cards = {name: int(own.max(initial=-1)) + 1 for name, own in codes.items()}
    added = (_add_sizes([codes[n] for n in s], [cards[n] for n in s], counts.sizes) for s in sets)
    return [_describe(SetSizes(s, sizes, counts.n_members)) for s, sizes in zip(sets, added, strict=True)]


def _add_sizes(codes: Sequence[CodeArray], cards: Sequence[int], sizes: IntArray) -> IntArray:
    """The sizes of the classes over some columns, in any order, added up from those over all."""
    keys = _keys(codes, cards)
    sums = sum_by(keys, sizes, int(keys.max(initial=-1)) + 1)
    return sums[sums > 0]


def coarser_classes(counts: ClassCounts, columns: Sequence[str]) -> ClassCounts:
    """The sizes of the classes over some of the columns, from those over all; everybody must be in one class.

    >>> c = ClassCounts((1, 1, 2), columns=("a", "b"), codes=([0, 0, 1], [0, 1, 1]))
    >>> coarser_classes(c, ["a"]).sizes.tolist()
    [2, 2]
    """
    if not adds_up(counts):
        raise UsageError("people are in several classes, so they cannot be added up.", hint="Count the table again.")
    codes = [counts.codes[counts.column(name)] for name in columns]
    grouping = group_codes(codes, [int(c.max()) + 1 for c in codes])
    return ClassCounts(sum_by(grouping.ids, counts.sizes, grouping.n))


def _describe(one: SetSizes, unique: int | None = None) -> Subset:
    alone = one.unique if unique is None else unique
    return Subset(one.columns, one.n_classes, one.k, alone, distinction(one), separation(one))


def subset_count(counts: ClassCounts, columns: Sequence[str], *, recount: Recount | None = None) -> Subset:
    """One subset."""
    return next(_by_sets(counts, [tuple(columns)], recount))


def _by_sets(counts: ClassCounts, sets: Sequence[tuple[str, ...]], recount: Recount | None) -> Iterator[Subset]:
    if not adds_up(counts) and recount is not None:
        counted = ((names, recount(names)) for names in sets)
        return (_describe(SetSizes(names, c.sizes, c.n_members), unique_members(c)) for names, c in counted)
    return iter(_from_base(counts, sets))


def worst_subsets(subsets: Sequence[Subset], n: int = 3) -> list[Subset]:
    """The subsets that single out most people; among equals the one with fewer columns, then with more combinations.

    >>> c = ClassCounts((1, 1, 2), columns=("a", "b"), codes=([0, 0, 1], [0, 1, 1]))
    >>> [s.columns for s in worst_subsets(all_subsets(c, up_to=2), 2)]
    [('a', 'b'), ('b',)]
    """
    return sorted(subsets, key=lambda s: (-s.unique, len(s.columns), -s.classes, s.columns))[:n]


@dataclass(frozen=True)
class Contribution:
    """What one column adds: how it singles out alone, and how many more are unique because it is there."""

    column: str
    values: int
    unique_alone: int
    unique_without: int
    adds: int

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def column_contributions(counts: ClassCounts, *, recount: Recount | None = None) -> list[Contribution]:
    """Marginal contribution of each quasi-identifier, largest first.

    >>> c = ClassCounts((1, 1, 2), columns=("a", "b"), codes=([0, 0, 1], [0, 1, 1]))
    >>> [(x.column, x.adds) for x in column_contributions(c)]
    [('b', 2), ('a', 1)]
    """
    total, columns = unique_members(counts), counts.columns
    sets = [(name,) for name in columns] + [tuple(n for n in columns if n != name) for name in columns if len(columns) > 1]
    by_columns = {s.columns: s for s in _by_sets(counts, sets, recount)}
    out = []
    for name in columns:
        rest, alone = tuple(n for n in columns if n != name), by_columns[name,]
        without = by_columns[rest].unique if rest else int(each_once(counts).n_members == 1)
        out.append(Contribution(name, alone.classes, alone.unique, without, total - without))
    return sorted(out, key=lambda c: (-c.adds, -c.unique_alone, c.column))


def uniqueness_matrix(subsets: Sequence[Subset], columns: Sequence[str], members: int) -> list[list[float]]:
    """Share of uniques for each pair of columns (the diagonal: the column alone), for a heat map."""
    share = {frozenset(s.columns): s.unique / members for s in subsets if len(s.columns) <= 2}
    return [[share[frozenset((a, b))] for b in columns] for a in columns]


MOST_COLUMNS = 20
NARROW = 2**15
"""So many classes are numbered in two bytes."""


@dataclass(frozen=True)
class ColumnSet:
    """Some columns together: combinations that occur, smallest group, members that are alone."""

    columns: tuple[str, ...]
    classes: int
    k: int
    unique: int

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "columns": list(self.columns)}


@dataclass(frozen=True)
class Lattice:
    """``counted`` sets, the smallest of them that single out at least ``alpha`` of all, the largest whose groups hold ``k``."""

    members: int
    alpha: float
    k: int
    up_to: int
    counted: tuple[ColumnSet, ...]
    identifying: tuple[ColumnSet, ...]
    safe: tuple[ColumnSet, ...]

    def to_json(self) -> dict[str, object]:
        return {
            **{name: getattr(self, name) for name in ("alpha", "k", "up_to")},
            "sets_counted": len(self.counted),
            "smallest_identifying": [s.to_json() for s in self.identifying],
            "largest_safe": [s.to_json() for s in self.safe],
        }


def column_sets(counts: ClassCounts, *, up_to: int, alpha: float = 0.05, k: int = 5) -> Lattice:
    """Walk the sets level by level; supersets of an identifying set are not counted.

    >>> c = ClassCounts((1, 1, 2), columns=("a", "b"), codes=([0, 0, 1], [0, 1, 1]))
    >>> found = column_sets(c, up_to=2, alpha=0.5, k=2)
    >>> [s.columns for s in found.identifying], [s.columns for s in found.safe]
    ([('a', 'b')], [('a',)])
    """
    if not up_to >= 1:
        raise UsageError(f"sets have at least one column; found {up_to}.", hint="Ask for example for up to 3.")
    if not 0 < alpha <= 1 or k < 2:
        raise UsageError("alpha lies above 0 and at most at 1, k is at least 2.", hint="For example alpha=0.05, k=5.")
    if len(counts.columns) > MOST_COLUMNS:
        raise UsageError(f"{len(counts.columns)} columns have too many sets.", hint=f"Name at most {MOST_COLUMNS}.")
    if not counts.adds_up:
        raise UsageError("people are in several classes, so sets cannot be added up.", hint="Count rows, or one row per person.")
    cards = [int(c.max()) + 1 for c in counts.codes]
    sets: dict[tuple[int, ...], ColumnSet] = {}
    open_sets: dict[tuple[int, ...], tuple[IntArray, int]] = {(): (np.zeros(counts.n_classes, np.int64), 1)}
    identifying: list[tuple[int, ...]] = []
    last = min(up_to, len(cards))
    for level in range(1, last + 1):
        following: dict[tuple[int, ...], tuple[IntArray, int]] = {}
        extended = frozenset(open_sets)
        for base in sorted(extended):
            ids, n = open_sets.pop(base)  # a level of a large table fills gigabytes: what is done is freed
            for j in range(base[-1] + 1 if base else 0, len(cards)):
                places = (*base, j)
                if any(part not in extended for part in combinations(places, level - 1)):
                    continue  # an identifying set lies inside
                grouping = group_codes([ids, counts.codes[j]], [n, cards[j]])
                sizes = sum_by(grouping.ids, counts.sizes, grouping.n)
                one = ColumnSet(tuple(counts.columns[i] for i in places), grouping.n, int(sizes.min()), int((sizes == 1).sum()))
                sets[places] = one
                if one.unique >= alpha * counts.n_members:
                    identifying.append(places)
                elif level < last:
                    following[places] = (grouping.ids.astype(np.int16 if grouping.n <= NARROW else np.int32), grouping.n)
        open_sets = following
    safe = [p for p, one in sets.items() if one.k >= k]
    largest = [p for p in safe if not any(set(p) < set(q) for q in safe)]
    order = [sets[p] for p in sorted(sets, key=lambda p: (len(p), p))]
    return Lattice(
        counts.n_members, alpha, k, up_to, tuple(order), tuple(sets[p] for p in identifying), tuple(sets[p] for p in largest)
    )

"""COUNT as SQL, for every dialect: queries are sqlglot expressions, names inside them are positions (``c0``, ``c1`` …).

The shape is always the same: ``s`` and the steps (:mod:`shoal.engines.core.step_sql`), ``p`` makes the columns comparable byte
for byte, the outer query groups.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.base import Engine, Relation
from shoal.engines.core.step_sql import CountRequest, Shaped, check_gaps, cleaned, people, shaped_columns, shaped_from
from shoal.engines.core.stored_types import one_type
from shoal.engines.count.codes import sorted_categories
from shoal.engines.duckdb.engine import DuckDB
from shoal.errors import DataError
from shoal.kernels.arrow import ArrowValues, positions, to_numpy
from shoal.kernels.group import pack
from shoal.model.counts.classes import ClassCounts, CodeArray, PeopleCounts, SensitiveCounts
from shoal.model.roles import NUMBERS, Column
from shoal.steps.sql import cast, column, count_all, exp, is_null, named, subquery


def count_by_sql(engine: Engine, relation: Relation, request: CountRequest) -> ClassCounts:
    """COUNT through plain GROUP BY queries: the path for databases, and the check on every faster path."""
    with ExitStack() as stack:
        stack.enter_context(engine.snapshot())
        names = [*request.columns]
        extra = [n for n in (*request.sensitive, request.unit, request.weight) if n is not None]
        names += [n for n in dict.fromkeys(extra) if n not in names]
        inner = cleaned(engine, relation, names)
        shaped = shaped_columns(engine, relation, request.columns, request.through, stack)
        check_gaps(engine, inner, shaped, request.columns)
        parts = _Parts(engine, relation, names, inner, shaped, request)
        return parts.counts()


def distinct_and_missing(engine: Engine, relation: Relation, name: str) -> tuple[int, int]:
    """Different values of a column, and rows without a value; nothing else leaves the engine."""
    key = engine.fingerprint(column("c0", "s"), relation.column(name))
    inner = exp.select(named(key, "k")).from_(subquery(cleaned(engine, relation, [name]), "s"))
    different = exp.Count(this=exp.Distinct(expressions=[column("k", "p")]))
    counted = exp.select(named(different, "v"), named(count_all(), "n"), named(exp.Count(this=column("k", "p")), "f"))
    answer = engine.fetch(_from(counted, inner))
    return int(answer["v"][0].as_py()), int(answer["n"][0].as_py()) - int(answer["f"][0].as_py())


def about_classes(engine: Engine, relation: Relation, request: CountRequest) -> int:
    """About how many classes there are, to 2 %; with sensitive columns the most that one of them makes of them.

    One pass and a few kilobytes: nothing is grouped. Only for engines that limit the classes that leave them.
    """
    with ExitStack() as stack:
        names = [*request.columns, *request.sensitive]
        shaped = shaped_columns(engine, relation, request.columns, request.through, stack)
        keys = [engine.key(s.value.copy(), s.column) for s in shaped]
        marks = []
        for i, more in enumerate([[n] for n in request.sensitive] or [[]]):
            beside = [engine.key(column(f"c{names.index(n)}", "s"), relation.column(n)) for n in more]
            whole = [part for k in (*keys, *beside) for part in (k.copy(), is_null(k))]
            marks.append(named(engine.class_mark(whole), f"m{i}"))
        rows = shaped_from(marks, cleaned(engine, relation, names), shaped)
        about = [engine.about_distinct(column(f"m{i}", "p")) for i in range(len(marks))]
        answer = engine.fetch(_from(exp.select(*[named(a, f"n{i}") for i, a in enumerate(about)]), rows))
    return max(int(answer[name][0].as_py() or 0) for name in answer.column_names)


def class_sizes(engine: Engine, relation: Relation, columns: Sequence[str]) -> dict[int, int]:
    """How many classes there are of each size; the classes stay in the engine."""
    keys = [named(engine.fingerprint(column(f"c{i}", "s"), relation.column(n)), f"k{i}") for i, n in enumerate(columns)]
    rows = exp.select(*keys).from_(subquery(cleaned(engine, relation, columns), "s"))
    sizes = _from(exp.select(named(count_all(), "n")), rows)
    sizes = sizes.group_by(*[column(f"k{i}", "p") for i in range(len(columns))])
    counted = exp.select(column("n", "p"), named(count_all(), "m"))
    answer = engine.fetch(_from(counted, sizes).group_by(column("n", "p")))
    return dict(sorted(zip(*(answer[name].cast("int64").to_pylist() for name in ("n", "m")), strict=True)))


@dataclass(frozen=True)
class _Parts:
    engine: Engine
    relation: Relation
    names: list[str]
    inner: exp.Select
    shaped: list[Shaped]
    request: CountRequest

    def raw(self, name: str) -> exp.Expr:
        """A column as it is in the table, comparable byte for byte."""
        return self.engine.key(column(f"c{self.names.index(name)}", "s"), self.relation.column(name))

    def mark(self, name: str) -> exp.Expr:
        """A stand-in for a column as it is in the table, only grouped and compared."""
        return self.engine.fingerprint(column(f"c{self.names.index(name)}", "s"), self.relation.column(name))

    def grouped(self, more: Mapping[str, exp.Expr], groups: Sequence[str], numbers: Sequence[exp.Expr]) -> exp.Select:
        """SELECT groups, numbers FROM p GROUP BY groups; ``more`` are further columns of ``p``.

        Where distinct people are counted, rows are sorted by their groups, and an engine may compare only the start of a long
        text then: such a column is grouped by its fingerprint, and any of the (equal) texts is taken.
        """
        keys = {f"k{i}": self.engine.key(item.value.copy(), item.column) for i, item in enumerate(self.shaped)}
        terms = {**keys, **more}
        marks = self.marks(terms) if self.request.unit is not None else {}
        terms |= {f"f{name}": mark for name, mark in marks.items()}
        shown = [named(v.copy(), k) for k, v in terms.items()]
        shown = shown or [named(exp.convert(1), "one")]
        inside = shaped_from(shown, self.inner.copy(), self.shaped)
        taken = [named(exp.Max(this=column(g, "p")), g) if g in marks else column(g, "p") for g in groups]
        query = _from(exp.select(*taken, *numbers), inside)
        return query.group_by(*[column(f"f{g}" if g in marks else g, "p") for g in groups]) if groups else query

    def marks(self, terms: Mapping[str, exp.Expr]) -> dict[str, exp.Expr]:
        """The fingerprints of the columns that the engine has one for, by name."""
        fingerprints = {f"k{i}": self.engine.fingerprint(item.value.copy(), item.column) for i, item in enumerate(self.shaped)}
        for name in self.request.sensitive:
            fingerprints[f"v{self.names.index(name)}"] = self.mark(name)
        return {name: mark for name, mark in fingerprints.items() if name in terms and mark != terms[name]}

    def fetch(self, query: exp.Select) -> pa.Table:
        batches, size = [], 0
        for batch in self.engine.stream(query):
            batches.append(batch)
            size += batch.nbytes
            self.request.check_classes(size, self.request.columns)
        return pa.Table.from_batches(batches)

    def counts(self) -> ClassCounts:
        request = self.request
        keys = [f"k{i}" for i in range(len(self.shaped))]
        columns = [s.column for s in self.shaped]
        numbers = [named(count_all(), "n")]
        more: dict[str, exp.Expr] = {}
        if request.unit is not None:
            more["u"] = self.mark(request.unit)
            numbers.append(named(people(column("u", "p")), "people"))
        if request.weight is not None:
            more["w"] = cast(column(f"c{self.names.index(request.weight)}", "s"), "DOUBLE")
            numbers.append(named(exp.Sum(this=column("w", "p")), "weight"))
            numbers.append(named(exp.Count(this=column("w", "p")), "weighted"))
        pairs = {name: self.pairs(name, keys) for name in request.sensitive}
        if pairs and keys and not more:  # the classes follow from their pairs with a value: one pass less over the data
            first = next(iter(pairs.values()))
            table = first.group_by(keys).aggregate([("n", "sum")]).rename_columns([*keys, "n"])
        else:
            table = self.fetch(self.grouped(more, keys, numbers))
        decoded = [self.engine.decode(table[k], c) for k, c in zip(keys, columns, strict=True)]
        inside = {name: self.assembled(name, pairs_of, keys, columns) for name, pairs_of in pairs.items()}
        n_people = self.all_people() if request.unit is not None else None
        once = None
        if n_people is not None and n_people != int(pc.sum(table["people"].cast("int64")).as_py() or 0):
            once = self.everybody()
        if request.weight is not None:
            check_weights(table, request.weight)
        return assemble(request, columns, decoded, table, inside, n_people, once)

    def pairs(self, name: str, keys: list[str]) -> pa.Table:
        """Class × value of a sensitive column, and the number ``n`` of its records (people)."""
        value = f"v{self.names.index(name)}"
        more = {value: self.raw(name)}
        size: exp.Expr = count_all()
        if self.request.unit is not None:
            more["u"] = self.mark(self.request.unit)
            size = people(column("u", "p"))
        return self.fetch(self.grouped(more, [*keys, value], [named(size, "n")]))

    def assembled(self, name: str, rows: pa.Table, keys: list[str], columns: list[Column]) -> Assembled:
        """Pairs in the types of their columns."""
        decoded = [self.engine.decode(rows[k], c) for k, c in zip(keys, columns, strict=True)]
        value = rows[f"v{self.names.index(name)}"]
        return Assembled(decoded, self.engine.decode(value, self.relation.column(name)), rows["n"])

    def all_people(self) -> int:
        assert self.request.unit is not None
        query = self.grouped({"u": self.mark(self.request.unit)}, [], [named(people(column("u", "p")), "n")])
        number = self.engine.fetch(query)["n"][0].as_py()
        return int(number or 0)

    def everybody(self) -> PeopleCounts:
        """Everybody once: the smallest class of each person and the set of all, counted in the engine."""
        assert self.request.unit is not None
        keys = [f"k{i}" for i in range(len(self.shaped))]
        terms = {k: self.engine.fingerprint(s.value.copy(), s.column) for k, s in zip(keys, self.shaped, strict=True)}
        terms["u"] = self.mark(self.request.unit)
        rows = shaped_from([named(v, k) for k, v in terms.items()], self.inner.copy(), self.shaped)
        pairs = _from(exp.select(*[column(k, "p") for k in terms]), rows).group_by(*[column(k, "p") for k in terms])
        classes = [column(k, "p") for k in keys]
        marked = [column("u", "p"), named(_window(classes), "size"), named(self.engine.class_name(classes), "class")]
        numbered = _from(exp.select(*marked), pairs)
        each = [named(exp.Min(this=column("size", "p")), "smallest"), named(self.engine.set_of(column("class", "p")), "classes")]
        people = _from(exp.select(*each), numbered).group_by(column("u", "p"))
        alike = _from(exp.select(column("smallest", "p"), named(_window([column("classes", "p")]), "alike")), people)
        groups = [column("smallest", "p"), column("alike", "p")]
        counted = _from(exp.select(*groups, named(count_all(), "n")), alike)
        answer = self.engine.fetch(counted.group_by(*[g.copy() for g in groups]))
        numbers = [answer[name].cast("int64").to_numpy() for name in ("smallest", "alike", "n")]
        order = np.lexsort(numbers[1::-1])
        return PeopleCounts(*(n[order] for n in numbers))


def _from(query: exp.Select, inner: exp.Expr) -> exp.Select:
    return query.from_(subquery(inner, "p"))


def _window(groups: Sequence[exp.Expr]) -> exp.Expr:
    """Rows with equal values: COUNT(*) OVER (PARTITION BY …)."""
    return exp.Window(this=count_all(), partition_by=[g.copy() for g in groups])


def check_weights(table: pa.Table, name: str) -> None:
    """Every row needs a weight."""
    lacking = int(pc.sum(pc.subtract(table["n"].cast("int64"), table["weighted"].cast("int64"))).as_py() or 0)
    if lacking:
        what = f"weight column '{name}' is missing in {lacking} record{'s' if lacking != 1 else ''}."
        raise DataError(what, hint="Give every record a weight, or count without weights.", column=name)


@dataclass(frozen=True)
class Assembled:
    """A class × value result: key columns, the sensitive value and the count of each row."""

    keys: list[Any]
    values: Any
    counts: Any


def encode(values: ArrowValues) -> tuple[CodeArray, Any]:
    """Codes and sorted categories of an Arrow array; −1 for missing.

    >>> import pyarrow as pa
    >>> codes, categories = encode(pa.array(["b", None, "a", "b"]))
    >>> codes.tolist(), categories.to_pylist()
    ([1, -1, 0, 1], ['a', 'b'])
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    codes = positions(encoded.indices)
    categories, rank = sorted_categories(encoded.dictionary)
    return rank[codes], categories


def assemble(
    request: CountRequest,
    columns: Sequence[Column],
    decoded: Sequence[Any],
    table: pa.Table,
    inside: Mapping[str, Assembled],
    n_people: int | None,
    people: PeopleCounts | None = None,
) -> ClassCounts:
    """ClassCounts from the decoded key columns and the numbers ``n``, ``people`` and ``weight`` of ``table``."""
    encoded = [encode(d) for d in decoded]
    codes = [c for c, _ in encoded]
    categories = [k for _, k in encoded]
    cards = [len(k) for k in categories]
    order = np.argsort(pack(codes, cards)[0], kind="stable") if codes else np.arange(table.num_rows)
    records = _numbers(table["n"], np.int64)[order]
    codes = [c[order] for c in codes]
    sizes = records
    if request.unit is not None:
        sizes = _numbers(table["people"], np.int64)[order]
    weights = _numbers(table["weight"], np.float64)[order] if request.weight is not None else None
    if not decoded and table.num_rows and int(records.sum()) == 0:
        sizes = records = sizes[:0]
    sensitive = {name: _sensitive(name, part, codes, categories) for name, part in inside.items()}
    return ClassCounts(
        sizes,
        columns=[c.name for c in columns],
        codes=codes,
        categories=categories,
        sensitive=sensitive,
        records=records if request.unit is not None else None,
        weights=weights,
        n_people=n_people,
        unit=request.unit,
        people=people,
    )


def _numbers(values: ArrowValues, dtype: type) -> npt.NDArray[Any]:
    one = values.combine_chunks().cast("int64" if dtype is np.int64 else "float64")
    numbers = one.to_numpy(zero_copy_only=False) if one.null_count else to_numpy(one)
    return np.asarray(numbers, dtype=dtype)


def _sensitive(name: str, part: Assembled, codes: Sequence[CodeArray], categories: Sequence[Any]) -> SensitiveCounts:
    """Find the class of each row of a class × value result, then sort by class and value."""
    classes = np.zeros(len(part.counts), np.int64)
    if codes:
        cards = [len(k) for k in categories]
        mine = [codes_in(values, known) for values, known in zip(part.keys, categories, strict=True)]
        both = [np.concatenate([a, b]) for a, b in zip(codes, mine, strict=True)]
        n = len(codes[0])
        key, _ = pack(both, cards)
        classes = np.searchsorted(key[:n], key[n:]).astype(np.int64)
    values, values_sorted = encode(part.values)
    order = np.lexsort((values, classes))
    counts = _numbers(part.counts, np.int64)
    return SensitiveCounts(name, classes[order], values[order], counts[order], values_sorted)


def codes_in(values: ArrowValues, known: ArrowValues) -> CodeArray:
    """The position of each value among ``known`` (sorted, distinct); −1 for missing."""
    places = pc.index_in(values, value_set=known)
    return places.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32, copy=False)  # type: ignore[no-any-return]


SHORT = 1 << 22
"""Rows up to which codes are counted."""

MOST_NUMBERS, MOST_TEXTS = 20_000_000, 1_000_000
"""Different values that are looked at: `groups` of nine million numbers took 1.5 GB."""


Counted = tuple[Any, npt.NDArray[np.int64]]
"""Values (pyarrow array), and how many rows hold each."""


def value_batches(engine: DuckDB, relation: Relation, name: str, least: int) -> Generator[Counted]:
    """The values that at least ``least`` rows hold, in any order, some at a time; missing ones are left out."""
    known, there = relation.column(name), _there(engine, relation, name)
    records = count_all()
    counted = exp.select(column("k", "p"), named(records, "n")).from_(subquery(there, "p"))
    counted = counted.group_by(column("k", "p"))
    if least > 1:
        counted = counted.having(exp.GTE(this=records.copy(), expression=exp.convert(least)))
    with engine.sparing():
        for batch in engine.stream(counted):
            yield one_type(engine.decode(batch.column("k"), known), known), to_numpy(batch.column("n").cast(pa.int64()))


def _there(engine: DuckDB, relation: Relation, name: str) -> exp.Select:
    """The values of a column that are not missing."""
    key = engine.key(column("c0", "s"), relation.column(name))
    inner = subquery(cleaned(engine, relation, [name]), "s")
    return exp.select(named(key, "k")).from_(inner).where(exp.not_(is_null(key)))


def few_of(name: str, kind: str, batches: Generator[Counted]) -> Counted:
    """The values of all batches, sorted; refused where they are more than a step can hold."""
    most, values, counts, total = most_values(kind), [], [], 0
    with closing(batches):
        for some, times in batches:
            total += len(some)
            if total > most:
                raise _too_many(name, most)
            values.append(some)
            counts.append(times)
    return in_order(values, counts)


def in_order(values: Sequence[Any], counts: Sequence[npt.NDArray[np.int64]]) -> Counted:
    """Batches of values as one, sorted."""
    everything = pa.chunked_array(values).combine_chunks() if values else pa.array([], pa.string())
    order = pc.sort_indices(everything)
    return everything.take(order), np.concatenate([np.zeros(0, np.int64), *counts])[to_numpy(order)]


def most_values(kind: str) -> int:
    """Different values of a kind that a step can hold."""
    return MOST_NUMBERS if kind in NUMBERS else MOST_TEXTS


def need_few(name: str, values: ArrowValues, kind: str) -> None:
    """Refuse more different values than a step can hold."""
    if len(values) > (most := most_values(kind)):
        raise _too_many(name, most)


def as_counted(values: ArrowValues, counts: npt.NDArray[np.int64], least: int) -> tuple[Any, npt.NDArray[np.int64]]:
    """The values of a count by codes that are there, and that at least ``least`` rows hold."""
    stays = (counts >= least) & values.is_valid().to_numpy(zero_copy_only=False)
    return values.filter(pa.array(stays)), counts[stays]


class TooManyValues(DataError):
    """More different values than a step can hold."""


def _too_many(name: str, most: int) -> TooManyValues:
    return TooManyValues(
        f"column '{name}' has more than {most:,} different values: this step would have to hold them all.",
        hint="Round or generalize it first, or take a step that does not look at all values (noise, permute, keyed_hash).",
        column=name,
    )

"""The tables of a linked policy, opened, without orphans and people who objected, and counted by person.

Whose row a row is, is decided by the text of its key: 7 in a file and 7 in a database are the same person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from shoal.engines.core.state import Held
from shoal.engines.exclusion import ids_of, spellings, without
from shoal.engines.open import open as open_source
from shoal.engines.table import Table, hold_together
from shoal.errors import DataError, PolicyError, ShoalError, UsageError
from shoal.kernels.group import group_codes
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import ClassCounts, CodeArray, IntArray
from shoal.model.exclusion import Excluded
from shoal.release.linked.policy import LinkedPolicy, LinkedTable
from shoal.release.plan.prepare import Prepared, prepare
from shoal.release.plan.published_classes import at_level


@dataclass(frozen=True, eq=False)
class Part:
    """One table, counted by person and quasi-identifiers: ``person`` says whose row each of the ``pairs`` is.

    ``came`` are the rows of the source; ``orphans`` and ``unnamed`` those that were left out because nobody of the person table
    has their key, or because they have none.
    """

    linked: LinkedTable
    table: Table
    prepared: Prepared
    pairs: ClassCounts
    person: IntArray
    came: int
    orphans: int
    unnamed: int
    further: tuple[CodeArray, ...] = ()
    """What else is known of each pair, as codes."""
    _codes: dict[tuple[str, int], CodeArray] = field(default_factory=dict)

    @property
    def rows(self) -> IntArray:
        """Rows behind each pair."""
        return self.pairs.sizes

    def codes(self, column: str, level: int) -> CodeArray:
        """The published code of each pair in a column at a level."""
        place = column, level
        if place not in self._codes:
            self._codes[place] = at_level(self.prepared, self.pairs, column, level)[0]
        return self._codes[place]

    def classes(self, levels: Mapping[str, int]) -> IntArray:
        """The published class of each pair, numbered from 0."""
        columns = [*(self.codes(c, levels[c]) for c in self.prepared.quasi), *self.further]
        return group_codes(columns, n_rows=len(self.person)).ids.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Family:
    """Everybody of the person table, by the text of their key, and their rows in every table; the person table is the first."""

    policy: LinkedPolicy
    ids: tuple[str, ...] = field(repr=False)
    parts: tuple[Part, ...] = ()
    listed: tuple[str, ...] = field(default=(), repr=False)
    objections: Excluded | None = None
    held: tuple[Held, ...] = ()
    """The state that each table is read in, by the order of the parts."""
    sources: tuple[Table, ...] = field(default=(), repr=False)
    """The tables in that state as they came, with orphans and people who are left out."""
    opened: tuple[Table, ...] = field(default=(), repr=False)
    """Tables that were opened here, and not handed in."""

    def close(self) -> None:
        """Give back the connections that were opened here."""
        for table in self.opened:
            table.close()

    @property
    def n(self) -> int:
        return len(self.ids)


def gather(policy: LinkedPolicy, exclude: str | Path | Iterable[Any] | None = None) -> Family:
    """Open every table, leave out who is not to be in it, and count by person."""
    opened, own = _open_tables(policy)
    together = hold_together(opened)
    opened, held = [t for t, _ in together], tuple(h for _, h in together)
    keys = [_keys(table, t) for table, t in zip(opened, policy.tables, strict=True)]
    listed = () if exclude is None else ids_of(exclude, policy.tables[0].key)
    if exclude is not None and not listed:
        raise UsageError("the list of people to leave out is empty.", hint="Leave --exclude out, or check the file.")
    gone = [set(spellings(listed, t.schema[x.key].kind)) for t, x in zip(opened, policy.tables, strict=True)]
    objections = _objections(policy, opened, keys, listed) if listed else None
    person = keys[0]
    _one_row_each(policy, person)
    known = set(person.rows) - gone[0]
    if not known:
        raise DataError("nobody is left in the person table.", hint="Check the table and the list of people to leave out.")
    parts = []
    for table, linked, sizes, out in zip(opened, policy.tables, keys, gone, strict=True):
        orphans = {i: n for i, n in sizes.rows.items() if i not in known and i not in out}
        _check_orphans(policy, linked, orphans, sizes.unnamed)
        left = [*orphans, *(i for i in out if i in sizes.rows)]
        rest = without(table, left, linked.key, unnamed=False)[0] if left or sizes.unnamed else table
        parts.append((rest, linked, sizes, sum(orphans.values())))
    ids = tuple(sorted(known))
    place = {text: i for i, text in enumerate(ids)}
    parts_of_people = tuple(_part(*p, place) for p in parts)
    return Family(policy, ids, parts_of_people, listed, objections, held, tuple(opened), own)


@dataclass(frozen=True)
class _Keys:
    """Rows of each key, and rows without one."""

    rows: dict[str, int] = field(repr=False)
    unnamed: int


def _open_tables(policy: LinkedPolicy) -> tuple[list[Table], tuple[Table, ...]]:
    """The tables, those of one database over one connection; and which of them were opened here."""
    out: list[Table] = []
    own: list[Table] = []
    databases: dict[str, Table] = {}
    for linked in policy.tables:
        source = linked.source
        place, _, name = source.rpartition("::") if isinstance(source, str) else ("", "", "")
        if isinstance(source, Table):
            table = source
        elif "://" in place and place in databases:
            table = databases[place].neighbour(name)
        else:
            table = open_source(source, **dict(linked.read))
            if table.in_database:
                databases[place] = table
            own.append(table)
        table.schema.require(linked.key, what=f"key of table '{linked.name}'")
        out.append(table)
    return out, tuple(own)


def _keys(table: Table, linked: LinkedTable) -> _Keys:
    values, sizes = table.without_unit().values(linked.key)
    keys = dict(zip(canonical_text(values).to_pylist(), np.asarray(sizes).tolist(), strict=True))
    unnamed = keys.pop(None, 0)
    return _Keys(keys, int(unnamed))


def _one_row_each(policy: LinkedPolicy, person: _Keys) -> None:
    several = sum(n > 1 for n in person.rows.values())
    if several:
        first = policy.tables[0]
        what = f"{several:,} of {len(person.rows):,} people have several rows in the person table '{first.name}'."
        hint = f"It must have one row per '{first.key}'. A table with several rows per person is linked to a person table."
        raise DataError(what, hint=hint, column=first.key)


def _check_orphans(policy: LinkedPolicy, linked: LinkedTable, orphans: Mapping[str, int], unnamed: int) -> None:
    if policy.orphans == "drop" or (not orphans and not unnamed):
        return
    problems = []
    if orphans:
        rows, person = sum(orphans.values()), policy.tables[0].name
        problems.append(f"{rows:,} rows of table '{linked.name}' belong to {len(orphans):,} people who are not in '{person}'")
    if unnamed:
        problems.append(f"{unnamed:,} rows of table '{linked.name}' have no '{linked.key}'")
    hint = "Mend the tables, or leave these rows out with 'allow: {orphans: drop}'."
    raise DataError(f"{' and '.join(problems)}.", hint=hint, column=linked.key)


def _objections(policy: LinkedPolicy, opened: Sequence[Table], keys: Sequence[_Keys], listed: tuple[str, ...]) -> Excluded:
    """People of the list who are in any of the tables, and their rows."""
    objections: set[int] = set()
    records = 0
    for table, linked, there in zip(opened, policy.tables, keys, strict=True):
        for text, number in spellings(listed, table.schema[linked.key].kind).items():
            if text in there.rows:
                objections.add(number)
                records += there.rows[text]
    unnamed = sum(k.unnamed for k in keys)
    return Excluded(policy.tables[0].key, len(listed), len(objections), records, unnamed)


def _part(table: Table, linked: LinkedTable, keys: _Keys, orphans: int, place: Mapping[str, int]) -> Part:
    try:
        prepared = prepare(table, linked.policy.seeded())
    except ShoalError as error:
        error.message = f"table '{linked.name}': {error.message}"
        error.args = (error.message,)
        raise
    if prepared.sampled is not None:
        raise PolicyError("a sample of linked tables cannot be drawn.", hint="Leave 'sample' out.")
    pairs = table.without_unit().count((linked.key, *prepared.quasi))
    texts = canonical_text(pairs.categories[0]).to_pylist()
    number = np.array([place[t] for t in texts] or [0], dtype=np.int64)
    came = sum(keys.rows.values()) + keys.unnamed
    return Part(linked, table, prepared, pairs, number[pairs.codes[0]], came, orphans, keys.unnamed)

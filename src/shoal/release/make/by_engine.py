"""Files that the machines of the source wrote, counted once more where they are.

It stands beside the count from their bytes (:mod:`shoal.release.proof`), and gives the numbers that would otherwise need every
row in this process.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import VerificationError
from shoal.release.certificate.database_table import beside
from shoal.release.proof.facts import Facts

if TYPE_CHECKING:
    from shoal.engines.recode.write import Recoded
    from shoal.engines.table import Table


@dataclass(frozen=True)
class KeptNumbers:
    """A column that is published as it was: records with a value, different values, those of one record; different pairs of
    class and value, and the records that are alone in their class with their value or with none."""

    known: int
    values: int
    single: int
    pairs: int
    alone: int


class ByEngine:
    """The written files as a table of the engine that wrote them; ``quasi`` are their quasi-identifiers."""

    def __init__(self, table: Table, quasi: Sequence[str]) -> None:
        self._table, self._quasi = table, tuple(quasi)
        self.kept = lru_cache(maxsize=None)(self._kept)

    def require_same(self, facts: Facts) -> None:
        """Refuse where the engine finds other classes in the files than the count from their bytes."""
        sizes = self._table.class_sizes(self._quasi)
        records = sum(size * n for size, n in sizes.items())
        other = sizes != dict(facts.sizes) if facts.people is None else sum(sizes.values()) != facts.classes
        if other or records != facts.records:
            raise VerificationError("two ways of counting the written files disagree; nothing was released.")

    def _kept(self, name: str) -> KeptNumbers:
        given, _ = self._table.class_sizes_apart([name], name)
        pairs, without = self._table.class_sizes_apart([*self._quasi, name], name)
        known = sum(size * n for size, n in given.items())
        alone = pairs.get(1, 0) + without.get(1, 0)
        return KeptNumbers(known, sum(given.values()), given.get(1, 0), sum(pairs.values()), alone)


def remove_passing(done: Recoded, data: Path) -> None:
    """Remove the copy of ``data`` that the engine's machines wrote into a folder that they share, where it is one."""
    if done.parts_at and Path(done.parts_at) != data.absolute():
        shutil.rmtree(done.parts_at, ignore_errors=True)


def by_engine(table: Table, done: Recoded, quasi: Sequence[str]) -> ByEngine | None:
    """The files that ``table``'s engine wrote itself; None where this process wrote them."""
    return ByEngine(beside(table, done.parts_at), quasi) if done.parts_at else None

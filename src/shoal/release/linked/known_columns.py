"""What a few published columns find in linked tables: somebody knows all that the files say of a person in one, two or three.

Takes    the published files, and the columns that anybody can know: kept or generalized, not changed
Returns  the people whom no other person is like, by the worst set of each size, and by all columns together
Keeps    in a linked table the values of one row stand together, and a row counts as often as it comes
Cost     one pass over the rows of the tables per set; at most ``BUDGET`` rows. Where that is not enough, only the columns that
         find most people alone are put together, and a limit is held against what all columns find
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shoal.kernels.group import group_codes
from shoal.measures.subsets.column_sets import FEWEST, LARGEST
from shoal.model.attack import AttackResult, Verdict
from shoal.model.compare import at_most
from shoal.model.display import as_percent
from shoal.release.linked.certificate import LinkedEntry
from shoal.release.proof.read import Codes, coded_columns

Place = tuple[int, str]
"""The number of a table, and a column of it."""
Marks = npt.NDArray[np.uint64]
BUDGET = 20_000_000
"""Rows of sets that are counted, a few seconds."""
FURTHER = "further knowledge"
QUESTION = "Somebody knows what the files say of a person in up to three published columns: is the person found?"


class Rows:
    """Who each row of every table is about, and its values as codes."""

    def __init__(self, folder: Path, tables: Sequence[LinkedEntry]) -> None:
        self.columns: list[Place] = []
        self._codes: dict[Place, Codes] = {}
        self._person: list[Codes] = []
        number: dict[object, int] = {}
        for i, table in enumerate(tables):
            names = [c.name for c in table.columns if c.treatment in ("retained", "generalized")]
            (keys, texts), *values = coded_columns(folder / table.file, [table.key, *names])
            people = np.array([number.setdefault(t, len(number)) for t in texts.to_pylist()], dtype=np.int64)
            self._person.append(people[keys])
            self._codes |= {(i, name): codes for name, (codes, _) in zip(names, values, strict=True)}
        self.columns = list(self._codes)
        self.people = len(np.unique(self._person[0]))
        self._numbers = len(number)

    def __len__(self) -> int:
        return sum(map(len, self._person))

    def count_alone(self, columns: Iterable[Place]) -> int:
        """People about whom these columns say what they say of nobody else.

        A person is marked by a sum of 128 bits over the rows: equal for equal rows, in any order.
        """
        marks = np.zeros((2, self._numbers), dtype=np.uint64)
        of_table: dict[int, list[Codes]] = {}
        for table, name in columns:
            of_table.setdefault(table, []).append(self._codes[table, name])
        for table, codes in sorted(of_table.items()):
            ids = group_codes(codes).ids
            draws = np.random.default_rng(table).integers(0, 2**64, (2, int(ids.max(initial=0)) + 1), dtype=np.uint64)
            for sums, own in zip(marks, draws, strict=True):
                np.add.at(sums, self._person[table], own[ids])
        first, second = marks[:, np.unique(self._person[0])]
        order = np.lexsort((second, first))
        same = (np.diff(first[order]) == 0) & (np.diff(second[order]) == 0)
        return int((~np.append(False, same) & ~np.append(same, False)).sum())


def find_by_columns(folder: Path, tables: Sequence[LinkedEntry], limit: float | None) -> AttackResult:
    """The attack, held against the ``limit`` that the release states, if it states one."""
    rows = Rows(folder, tables)
    alone = {c: rows.count_alone([c]) for c in rows.columns}
    ranked, most = sorted(alone, key=lambda c: (-alone[c], c)), len(alone)
    while most > FEWEST and len(rows) * (comb(most, 2) + comb(most, 3)) > BUDGET:
        most -= 1
    counted: dict[tuple[Place, ...], int] = {(c,): number for c, number in alone.items()}
    for size in range(2, LARGEST + 1):
        counted |= {s: rows.count_alone(s) for s in combinations(sorted(ranked[:most]), size)}
    worst, number = min(counted.items(), key=lambda s: (-s[1], len(s[0]), s[0]), default=((), 0))
    left, everything = len(alone) - most, rows.count_alone(rows.columns)
    rate, surely = number / rows.people, (everything if left else number) / rows.people
    verdict: Verdict = "warning" if surely else "holds"
    if limit is not None:
        verdict = "holds" if at_most(surely, limit) else "broken"
    curve = [max((n for s, n in counted.items() if len(s) <= size), default=0) for size in range(1, min(LARGEST, len(alone)) + 1)]
    known = ", ".join(f"{i} column{'s' if i > 1 else ''}: {as_percent(n / rows.people)}" for i, n in enumerate(curve, 1))
    sentence = f"{known}, all: {as_percent(everything / rows.people)} of {rows.people:,} people are found: "
    sentence += "the files say of nobody else what they say of them."
    sentence += f" {left:,} column{'s were' if left > 1 else ' was'} counted alone only: there are too many sets." if left else ""
    names = " and ".join(f"{tables[i].name}.{name}" for i, name in worst) if number else ""
    return AttackResult.exact(FURTHER, QUESTION, rate, limit, names, verdict, sentence)

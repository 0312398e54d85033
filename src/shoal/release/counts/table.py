"""A table of counts from records: people by rows, columns and layers, rare categories joined before they can be named.

A label is a value: a category that fewer than ``threshold`` people have says that somebody has it. Such categories are joined to
one, and where they are still too few together, the next smallest goes with them.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.disk.atomic import write_text
from shoal.engines.files.csv.write import inert
from shoal.errors import DataError, InfeasibleError, UnreadableError, UsageError
from shoal.kernels.text import canonical_text
from shoal.model.attack import AttackResult
from shoal.model.counts.classes import ClassCounts, IntArray
from shoal.release.counts.protect import ProtectedTable

LARGEST = 2_500
"""Cells of a table that is crossed: each small one costs linear programs over all of them."""
MISSING, JOINED = "(missing)", "(other categories)"


@dataclass(frozen=True, eq=False)
class Crossed:
    """Counts without margins, with the labels of each axis; ``joined`` says how many categories of each went into one."""

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    counts: IntArray
    joined: tuple[int, ...]


def cross(classes: ClassCounts, *, threshold: int, public: bool = False) -> Crossed:
    """The classes of a count as a table; ``public`` says that the lists of categories are public knowledge.

    >>> import shoal
    >>> t = shoal.open({"ward": ["a"] * 6 + ["b"] * 5 + ["c"], "ill": ["y", "n"] * 6})
    >>> c = cross(t.count(["ward", "ill"]), threshold=3)
    >>> c.labels, c.counts.tolist(), c.joined
    ((('a', '(other categories)'), ('n', 'y')), [[3, 3], [3, 3]], (2, 0))
    """
    if classes.people is not None:
        raise DataError(
            "some people have rows in several cells of this table, so that its sums would count them more than once.",
            hint="Cross columns that are the same in all rows of a person, or make a table with one row per person first.",
        )
    axes = [_axis(classes, i, threshold, public) for i in range(len(classes.columns))]
    shape = tuple(len(labels) for labels, _, _ in axes)
    if np.prod([n + 1 for n in shape], dtype=float) > LARGEST:
        hint = "Cross fewer columns, or columns with fewer categories: bands of ages, regions instead of postcodes."
        raise UsageError(f"the table would have more than {LARGEST:,} cells with its sums.", hint=hint)
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, tuple(place[classes.codes[i]] for i, (_, place, _) in enumerate(axes)), classes.sizes)
    return Crossed(classes.columns, tuple(labels for labels, _, _ in axes), counts, tuple(joined for *_, joined in axes))


def _axis(classes: ClassCounts, i: int, threshold: int, public: bool) -> tuple[tuple[str, ...], IntArray, int]:
    """Labels of an axis, where each code goes (a missing value, code −1, is the last), and how many categories were joined."""
    texts = [str(t) for t in canonical_text(classes.categories[i]).to_pylist()]
    codes = np.asarray(classes.codes[i])
    names = [*texts, MISSING]
    people = np.zeros(len(names), dtype=np.int64)
    np.add.at(people, codes, classes.sizes)
    keep = [c for c in range(len(names)) if people[c] > 0]
    rare = [] if public else _rare(people, keep, threshold)
    stay = [c for c in keep if c not in set(rare)]
    if not stay:
        hint = "Use a coarser column or a smaller threshold; with --public where the list of categories is public knowledge."
        raise InfeasibleError(f"too few people share a category of '{classes.columns[i]}' to name one.", hint=hint)
    place = np.full(len(names), len(stay), dtype=np.int64)
    place[stay] = np.arange(len(stay))
    return (*(names[c] for c in stay), *([JOINED] if rare else [])), place, len(rare)


def _rare(people: IntArray, keep: list[int], threshold: int) -> list[int]:
    """Categories that are joined: those below the threshold and, until they are enough together, the next smallest."""
    order = sorted(keep, key=lambda c: (people[c], c))
    rare = [c for c in order if people[c] < threshold]
    if not rare:
        return []
    while people[rare].sum() < threshold or len(rare) == 1:  # one alone would be named by what is missing
        if len(rare) == len(order):
            return order
        rare.append(order[len(rare)])
    return rare


def alone(crossed: Crossed) -> int:
    """Lines of two cells or more whose people all fall into one cell: everybody there has the same value, and it is revealed.

    >>> alone(Crossed(("a", "b"), (("x", "y"), ("u", "v")), np.array([[12, 0], [20, 15]]), (0, 0)))
    2
    """
    counts: Any = crossed.counts
    lines = 0
    for axis, size in enumerate(counts.shape):
        if size > 1:
            filled = (counts > 0).sum(axis=axis)
            lines += int((filled == 1).sum())
    return lines


ALL = "(all)"


@dataclass(frozen=True, eq=False, repr=False)
class CountTable:
    """A table of counts that may be published; :meth:`rows` holds it, margins included, and never a hidden count."""

    crossed: Crossed
    protected: ProtectedTable

    def __repr__(self) -> str:
        across = " × ".join(self.crossed.columns)
        return f"<CountTable of {across}: {self.cells:,} cells with sums, {self.hidden:,} hidden>"

    @property
    def cells(self) -> int:
        return int(self.protected.cells.size)

    @property
    def hidden(self) -> int:
        """Cells that are not published, for being small or to protect those that are."""
        return int(self.protected.hidden.sum())

    @property
    def attack(self) -> AttackResult:
        """What the recovery attack found in what is published."""
        return self.protected.attack

    @property
    def findings(self) -> tuple[str, ...]:
        """What the publisher should know beside the counts."""
        joined = zip(self.crossed.columns, self.crossed.joined, strict=True)
        sentences = [f"{n} categories of '{c}' with too few people are joined." for c, n in joined if n]
        same = alone(self.crossed)
        if same:
            sentences.append(
                f"{same} {'lines have' if same > 1 else 'line has'} all people in one cell: who is known to be there is known "
                "to have that value, however many they are. Merge categories if that must stay hidden."
            )
        return tuple(sentences)

    def rows(self) -> list[tuple[str | int | None, ...]]:
        """One row per cell: a label per axis (``(all)`` for a sum) and the count, None where it is hidden."""
        labels = [(*names, ALL) for names in self.crossed.labels]
        out: list[tuple[str | int | None, ...]] = []
        for place in np.ndindex(self.protected.cells.shape):
            value = self.protected.cells[place]
            out.append((*(labels[a][p] for a, p in enumerate(place)), None if np.isnan(value) else int(value)))
        return out

    def to_pandas(self) -> Any:
        """The rows as a data frame."""
        import pandas as pd

        frame = pd.DataFrame(self.rows(), columns=[*self.crossed.columns, "people"])
        return frame.astype({"people": "Int64"})

    def write(self, path: str | Path) -> Path:
        """Write the rows as CSV, whole or not at all; labels that a spreadsheet would run are made inert."""
        target = Path(path)
        if target.suffix.lower() != ".csv":
            raise UsageError("a table of counts is written as CSV.", hint="Name a file that ends in .csv.")
        return write_text(target, self._csv())

    def _csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(inert(pa.array([*self.crossed.columns, "people"])).to_pylist())
        for *labels, count in self.rows():
            writer.writerow([*inert(pa.array(labels, pa.string())).to_pylist(), "" if count is None else count])
        return text.getvalue()

    def compare_with(self, earlier: str | Path) -> None:
        """Refuse the table if somebody who subtracts an ``earlier`` one, as :meth:`write` wrote it, reads off a few people."""
        try:
            before, now = _counts(Path(earlier).read_text(encoding="utf-8")), _counts(self._csv())
        except (OSError, UnicodeDecodeError, csv.Error):
            raise UnreadableError("the earlier table cannot be read.", hint="Name a CSV file of 'shoal table'.") from None
        both = before.keys() & now.keys()
        if not both:
            raise DataError("the earlier table has no cell in common with this one.", hint="Name a CSV file of 'shoal table'.")
        few = sum(0 < abs(before[cell] - now[cell]) < self.protected.threshold for cell in both)
        if few:
            raise InfeasibleError(
                f"{few:,} of {len(both):,} counts differ from the earlier table by fewer than {self.protected.threshold} people: "
                "by subtraction anybody reads off who joined or left.",
                hint=f"Count the same people, or round both tables: --method round --base {self.protected.threshold}.",
            )

    def to_json(self) -> dict[str, Any]:
        """The published table and what was found."""
        return {
            "columns": list(self.crossed.columns),
            "threshold": self.protected.threshold,
            "method": self.protected.method,
            "cells": self.cells,
            "hidden": self.hidden,
            "rows": [list(row) for row in self.rows()],
            "findings": list(self.findings),
            "attack": self.attack.to_json(),
        }


def _counts(text: str) -> dict[frozenset[tuple[str, str]], int]:
    """The shown counts of a written table, by the labels of their cell; a sum has no label on the axis that it is over."""
    heads, *rows = csv.reader(io.StringIO(text)) if text else [[""]]
    if heads[-1] != "people" or any(len(row) != len(heads) or not (row[-1] == "" or row[-1].isdecimal()) for row in rows):
        raise DataError("the earlier table is not a table of counts.", hint="Name a CSV file of 'shoal table'.")
    cells = {frozenset((c, v) for c, v in zip(heads, row[:-1], strict=False) if v != ALL): row[-1] for row in rows}
    return {cell: int(count) for cell, count in cells.items() if count}

"""Pairs of records that were decided on: how many, who is one person, and how they stand against the truth."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.disk.atomic import atomic
from shoal.linkage.similarity import LEVELS, MISSING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.linkage.model import Model
    from shoal.linkage.records import Records


@dataclass(frozen=True)
class Quality:
    """Pairs found against the truth. ``precision`` is 1 if no pair was found."""

    true: int
    found: int
    right: int

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.true if self.true else 1.0

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def to_json(self) -> dict[str, Any]:
        content = {name: round(getattr(self, name), 6) for name in ("precision", "recall", "f1")}
        return {"true": self.true, "found": self.found, "right": self.right, **content}


class Pairs:
    """Pairs of places among :attr:`size` records (``split``: where the second table begins), each a match or possible."""

    split: int | None
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    decision: NDArray[np.str_]

    @property
    def size(self) -> int:
        raise NotImplementedError

    @property
    def matches(self) -> int:
        return int((self.decision == "match").sum())

    @property
    def possible(self) -> int:
        return int((self.decision == "possible").sum())

    def groups(self) -> NDArray[np.int64]:
        """A number for each record; records that matches connect have the same one, the smallest place among them."""
        parent = np.arange(self.size)

        def root(i: int) -> int:
            while parent[i] != i:
                parent[i] = parent[parent[i]]
                i = int(parent[i])
            return i

        for a, b in zip(self.left[self.decision == "match"], self.right[self.decision == "match"], strict=True):
            one, two = sorted((root(int(a)), root(int(b))))
            parent[two] = one
        return np.array([root(i) for i in range(len(parent))], dtype=np.int64)

    def quality(self, truth: Sequence[Any], *, with_possible: bool = False) -> Quality:
        """The pairs against the truth: records of one person have the same value in ``truth``. Missing ones are alone."""
        codes = np.array([hash(("alone", i)) if t is None else hash(("person", t)) for i, t in enumerate(truth)])
        chosen = np.ones(len(self.left), dtype=bool) if with_possible else self.decision == "match"
        right = codes[self.left[chosen]] == codes[self.right[chosen]]
        if self.split is None:
            true = sum(c * (c - 1) // 2 for c in Counter(codes.tolist()).values())
        else:
            first, second = Counter(codes[: self.split].tolist()), Counter(codes[self.split :].tolist())
            true = sum(c * second[code] for code, c in first.items())
        return Quality(true, int(chosen.sum()), int(right.sum()))


def one_to_one(
    left: NDArray[np.int64], right: NDArray[np.int64], weight: NDArray[np.float64], decision: NDArray[np.str_]
) -> NDArray[np.str_]:
    """The best pair of each person stays a match; what it displaces is possible. Equally good rivals are all only possible."""
    out = np.where(decision == "match", "possible", decision)
    equal = Counter(zip(left.tolist(), weight.tolist(), strict=True)) + Counter(zip(right.tolist(), weight.tolist(), strict=True))
    taken: set[int] = set()
    for at in np.lexsort((right, left, -weight)):
        pair = {int(left[at]), int(right[at])}
        if decision[at] != "match" or taken & pair:
            continue
        taken |= pair
        if all(equal[place, float(weight[at])] == 1 for place in pair):
            out[at] = "match"
    return out


@dataclass(frozen=True, eq=False)
class Linked(Pairs):
    """The pairs that match or may match, as places in the joined records (``split``: where the second table begins)."""

    records: Records = field(repr=False)
    split: int | None
    model: Model = field(repr=False)
    pairs: int
    compared: int
    blocks_left_out: int
    left: NDArray[np.int64] = field(repr=False)
    right: NDArray[np.int64] = field(repr=False)
    weight: NDArray[np.float64] = field(repr=False)
    probability: NDArray[np.float64] = field(repr=False)
    levels: NDArray[np.int8] = field(repr=False)
    decision: NDArray[np.str_] = field(repr=False)

    @property
    def size(self) -> int:
        return len(self.records)

    def rows(self, left_ids: Sequence[Any] | None = None, right_ids: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        """The pairs, best first: both records by row number (from 1) or id, probability, decision, level of each field."""
        border = self.split or 0
        out = []
        for at in np.lexsort((self.right, self.left, -self.weight)):
            a, b = int(self.left[at]), int(self.right[at])
            names = left_ids[a] if left_ids else a + 1, (right_ids or left_ids or ())[b - border] if left_ids else b - border + 1
            columns = {"left": names[0], "right": names[1], "decision": str(self.decision[at])}
            columns |= {"probability": round(float(self.probability[at]), 6), "weight": round(float(self.weight[at]), 3)}
            for place, one in enumerate(self.records.fields):
                level = int(self.levels[at, place])
                columns[one.name] = "missing" if level == MISSING else LEVELS[one.kind][level]
            out.append(columns)
        return out

    def write(self, path: str | Path, left_ids: Sequence[Any] | None = None, right_ids: Sequence[Any] | None = None) -> None:
        heads = ["left", "right", "decision", "probability", "weight", *(f.name for f in self.records.fields)]
        with atomic(Path(path)) as temporary, temporary.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, heads, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows(left_ids, right_ids))

    def to_json(self) -> dict[str, Any]:
        """Counts, what was changed in the cells, and the model."""
        counted = ("pairs", "compared", "blocks_left_out", "matches", "possible")
        return {
            "records": len(self.records),
            **{name: getattr(self, name) for name in counted},
            "people": len(set(self.groups().tolist())) if self.split is None else None,
            "changes": {name: seen.to_json() for name, seen in self.records.changes.items()},
            "model": self.model.to_json(),
        }

    def __repr__(self) -> str:
        return f"<Linked: {self.matches} matches, {self.possible} possible, of {self.compared} pairs compared>"

"""What a linkage found: pairs, groups, counts. It names rows and levels of agreement, never values."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.disk.atomic import atomic
from shoal.linkage.compare.levels import LEVELS, MISSING
from shoal.linkage.pairs import Pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.linkage.fields.records import Records
    from shoal.linkage.weights.model import Model


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
            told = {
                "left": names[0],
                "right": names[1],
                "decision": str(self.decision[at]),
                "probability": round(float(self.probability[at]), 6),
                "weight": round(float(self.weight[at]), 3),
            }
            for place, one in enumerate(self.records.fields):
                level = int(self.levels[at, place])
                told[one.name] = "missing" if level == MISSING else LEVELS[one.kind][level]
            out.append(told)
        return out

    def write(self, path: str | Path, left_ids: Sequence[Any] | None = None, right_ids: Sequence[Any] | None = None) -> None:
        """The pairs as a CSV file."""
        heads = ["left", "right", "decision", "probability", "weight", *(f.name for f in self.records.fields)]
        with atomic(Path(path)) as temporary, temporary.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, heads, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows(left_ids, right_ids))

    def to_json(self) -> dict[str, Any]:
        """Counts, what was changed in the cells, and the model."""
        return {
            "records": len(self.records),
            "pairs": self.pairs,
            "compared": self.compared,
            "blocks_left_out": self.blocks_left_out,
            "matches": self.matches,
            "possible": self.possible,
            "people": len(set(self.groups().tolist())) if self.split is None else None,
            "changes": {name: seen.to_json() for name, seen in self.records.changes.items()},
            "model": self.model.to_json(),
        }

    def __repr__(self) -> str:
        return f"<Linked: {self.matches} matches, {self.possible} possible, of {self.compared} pairs compared>"

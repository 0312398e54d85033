"""A protected table of counts as it is published: hidden cells are empty and say nothing of why they are."""

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
from shoal.errors import UsageError
from shoal.model.attack import AttackResult
from shoal.release.counts.cross import Crossed, alone
from shoal.release.counts.protect import ProtectedTable

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
        said = [f"{n} categories of '{c}' with too few people are joined." for c, n in joined if n]
        same = alone(self.crossed)
        if same:
            said.append(
                f"{same} {'lines have' if same > 1 else 'line has'} all people in one cell: who is known to be there is known "
                "to have that value, however many they are. Merge categories if that must stay hidden."
            )
        return tuple(said)

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
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(inert(pa.array([*self.crossed.columns, "people"])).to_pylist())
        for *labels, count in self.rows():
            writer.writerow([*inert(pa.array(labels, pa.string())).to_pylist(), "" if count is None else count])
        write_text(target, text.getvalue())
        return target

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
            "attack": {"verdict": self.attack.verdict, "sentence": self.attack.sentence},
        }

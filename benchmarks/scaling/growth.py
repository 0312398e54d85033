"""How CPU seconds of a release grow if rows, columns, distinct values, quasi-identifiers, sensitive columns or units grow by 4.

A common table and one that is four times as large in one size, in a process that has loaded everything. The exponent is
log(seconds of the large one / seconds of the common one) / log 4, each less the seconds of the least release. Above 1.15 the
script ends with exit code 1. Quasi-identifiers grow by the default method: a lattice has exponentially many nodes in them, so the
growth of ``method: lattice`` (``lattice``) is reported and judged by nobody.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent)]

from common import record  # noqa: E402

import shoal  # noqa: E402

MOST, TIMES = 1.15, 4
SHORT = 0.05
"""Seconds that are not told from none."""
SIZES = ("rows", "columns", "distinct", "quasi", "sensitive", "units")
BEGINS: dict[str, dict[str, Any]] = {
    "rows": {"rows": 100_000},
    "columns": {"columns": 200},
    "sensitive": {"sensitive": 8},
    "units": {"units": 2_500},
    "quasi": {"rows": 1_000, "quasi": 8, "columns": 0, "method": "best"},
    "lattice": {"rows": 1_000, "quasi": 3, "columns": 0},
}
"""Where the table of a size begins, if not as all others do: below it the time is that of the smallest release."""


@dataclass(frozen=True)
class Shape:
    """The size of a generated table: ``columns`` stay as they are, ``distinct`` are the values of each quasi-identifier."""

    rows: int = 10_000
    columns: int = 20
    distinct: int = 20
    quasi: int = 3
    sensitive: int = 2
    units: int = 0
    method: str = "lattice"

    def table(self) -> pa.Table:
        draw = np.random.default_rng(7)
        kinds = {"q": (self.quasi, self.distinct), "s": (self.sensitive, 6), "x": (self.columns, 9)}
        made = {f"{k}{i}": draw.integers(0, m, self.rows).astype(str) for k, (n, m) in kinds.items() for i in range(n)}
        people = {"person": draw.integers(0, self.units, self.rows)} if self.units else {}
        return pa.table({**made, **people})

    def policy(self) -> dict[str, object]:
        roles = {k: [f"{c}{i}" for i in range(n)] for k, c, n in (("quasi", "q", self.quasi), ("sensitive", "s", self.sensitive))}
        roles["insensitive"] = [f"x{i}" for i in range(self.columns)]
        unit = {"unit": "person"} if self.units else {}
        return {
            "roles": roles,
            "require": {"k": 5},
            "method": self.method,
            "allow": {"loss": 1.0, "blank": 1.0},
            "seed": 3**80,
            **unit,
        }


def seconds(shape: Shape) -> float:
    """CPU seconds of a release that is written, counted again and certified."""
    table, policy = shape.table(), shape.policy()
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        shoal.anonymize(table, policy).write(Path(folder) / "release")
        return time.process_time() - begun


def main(names: list[str]) -> int:
    seconds(Shape())
    least = min(seconds(Shape(rows=200, columns=1, distinct=3, quasi=1, sensitive=1)) for _ in range(2))
    over = 0
    for name in names or SIZES:
        size = "quasi" if name == "lattice" else name
        base = Shape(**BEGINS.get(name, {}))
        few = min(seconds(base) for _ in range(2))
        many = seconds(replace(base, **{size: TIMES * getattr(base, size)}))
        exponent = math.log(max(many - least, SHORT) / max(few - least, SHORT)) / math.log(TIMES)
        over += exponent > MOST and name in SIZES
        answer = {"from": getattr(base, size), "exponent": round(exponent, 2)}
        record(HERE, question=f"growth by {name}", cpu=[round(few, 2), round(many, 2)], least=round(least, 2), answer=answer)
        print(f"{name}: {few:.2f} s, {TIMES} times as many {many:.2f} s, exponent {exponent:.2f}", flush=True)
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

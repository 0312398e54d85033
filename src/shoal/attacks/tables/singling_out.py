"""Singling out: does what is rare in the table point at one person of the original?

Takes    the published table, as many rows of the original as of the control group
Returns  how often a description that fits one published record fits exactly one record of the original, and of the control group
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.attacks.tables.excess import Excess, result_of
from shoal.attacks.tables.rows import Rows
from shoal.model.attack import AttackResult

QUESTION = "Does a description that fits one record of the table fit exactly one person of the original?"
COLUMNS = 4
"""Columns in a description; all, where the table has fewer."""
TRIED = 20
"""Descriptions tried at most for each one that is wanted."""


def singling_out(table: Rows, original: Rows, control: Rows, *, tries: int, rng: np.random.Generator) -> AttackResult:
    """Descriptions of random published records (a number as at least or at most), kept if they fit one record."""
    width = min(COLUMNS, table.width)
    middle = [float(np.nanmedian(c)) if _has_number(table, j) else 0.0 for j, c in enumerate(table.columns)]
    seen = hits = others = 0
    for _ in range(TRIED * tries):
        if seen >= tries:
            break
        row = int(rng.integers(table.n))
        use = rng.choice(table.width, size=width, replace=False).tolist()
        if int(_fits(table, table, row, use, middle).sum()) != 1:
            continue
        seen += 1
        hits += int(_fits(original, table, row, use, middle).sum()) == 1
        others += int(_fits(control, table, row, use, middle).sum()) == 1
    if not seen:
        sentence = "No description of a few columns fits one published record only."
        return AttackResult("singling out", QUESTION, 0.0, 0.0, 0.0, None, "", "holds", sentence)
    return result_of("singling out", QUESTION, Excess(hits, seen, others, seen), "", f"Descriptions by {width} columns")


def _has_number(rows: Rows, j: int) -> bool:
    return rows.is_number(j) and bool(np.isfinite(rows.columns[j]).any())


def _fits(rows: Rows, table: Rows, row: int, use: list[int], middle: list[float]) -> npt.NDArray[np.bool_]:
    out = np.ones(rows.n, dtype=np.bool_)
    for j in use:
        value, column = table.columns[j][row], rows.columns[j]
        if not rows.is_number(j):
            out &= column == value
        elif np.isnan(value):
            out &= np.isnan(column)
        else:
            out &= column >= value if value > middle[j] else column <= value
    return out

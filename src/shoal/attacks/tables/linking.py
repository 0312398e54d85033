"""Linkability and inference: can two halves of a person be joined through the table, or a hidden value be inferred?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.attacks.tables.excess import Excess, result_of
from shoal.attacks.tables.rows import Rows, nearest
from shoal.model.attack import AttackResult

LINK = "Can two tables about the same person, with different columns, be joined through the published one?"
INFER = "Can a hidden value of a person be inferred from the most similar published record?"
NEIGHBOURS = 5
TOLERANCE = 0.05
"""A number counts as inferred if it is this close, as a share of the range."""


def linkability(table: Rows, original: Rows, control: Rows) -> AttackResult | None:
    """A person is joined if one published record is among the nearest by either half of the columns; None with one column."""
    if table.width < 2:
        return None
    halves = (list(range(0, table.width, 2)), list(range(1, table.width, 2)))

    def joined(people: Rows) -> int:
        one, two = (nearest(people, table, half, NEIGHBOURS)[0] for half in halves)
        return int((one[:, :, None] == two[:, None, :]).any(axis=(1, 2)).sum())

    found = Excess(joined(original), original.n, joined(control), control.n)
    said = f"Joined by one of the {NEIGHBOURS} most similar records on both halves of the columns"
    return result_of("linkability", LINK, found, "", said)


def inference(table: Rows, original: Rows, control: Rows, names: Sequence[str], secrets: Sequence[int]) -> AttackResult | None:
    """Each secret is guessed from all other columns; the column where it works best counts."""
    if table.width < 2 or not secrets:
        return None
    best: tuple[float, Excess, int] | None = None
    for j in secrets:
        known = [i for i in range(table.width) if i != j]
        found = Excess(_told(table, original, known, j), original.n, _told(table, control, known, j), control.n)
        low = found.interval[0]
        if best is None or low > best[0]:
            best = low, found, j
    assert best is not None
    worst = f"column '{names[best[2]]}'"
    return result_of("inference", INFER, best[1], worst, f"The value of {worst} is inferred from the other columns")


def _told(table: Rows, people: Rows, known: list[int], j: int) -> int:
    at = nearest(people, table, known)[0][:, 0]
    guess, truth = table.columns[j][at], people.columns[j]
    if table.is_number(j):
        both = np.isnan(guess) & np.isnan(truth)
        return int((both | (np.abs(guess - truth) <= TOLERANCE)).sum())
    return int((guess == truth).sum())

"""Exposed people: is a published record a copy, or nearly one, of a person who is unlike everybody else?

Takes    published records, people of the original, equally many people of a control group
Returns  how many people of the original have a record nearer to them than chance leaves, by the worst set of columns
Keeps    judged person by person, never by a mean; the distance to the nearest record is held against the distance to the nearest
         other person, so that an unusual person with a record beside them counts most
Cost     at most 2,000 people of each group, the most isolated 500 always among them, for at most eleven sets of columns
Source   Hilprecht, Härterich & Bernau 2019 and Stadler, Oprisanu & Troncoso 2022 (records, not means, are exposed)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoal.attacks.tables.rows import Rows, nearest
from shoal.model.attack import AttackResult, Verdict
from shoal.model.counts.classes import FloatArray, IntArray

MOST_PEOPLE, MOST_ISOLATED, MOST_SETS = 2_000, 500, 10
FIRST = 6
"""Positions of the control group among the nearest at which the two groups are compared."""
COPY = 0.01
"""A record is a copy or nearly one if it is so much nearer to a person than the next person is. How many there are by chance is
bounded by ten times the distance, at which there are at least ten times as many, unless values are few: then by the control."""
SURE, LIKELY = 0.001, 0.05
"""Chances of such a surplus by accident, all comparisons counted, below which the table is broken, or warned of."""
QUESTION = "Is a published record a copy, or nearly one, of a person of the original who is unlike all others?"


def exposed_people(table: Rows, original: Rows, control: Rows, columns: Sequence[str], rng: np.random.Generator) -> AttackResult:
    """The surplus of people of the original among those with a record beside them, by the set of columns where it is largest.

    Both groups are of the same size. If the table were made from neither, the nearest of both groups would be mixed like the
    tosses of a coin; the surplus is judged by how rarely a coin gives it. Records that are copies, or nearly, are counted too.
    """
    sets = _sets(table)
    best: tuple[float, int, int, list[int], str] = (1.0, 0, 0, sets[0], "")
    for use in sets:
        (inside, more), (outside, others) = (_closeness(table, group, use, rng) for group in (original, control))
        twins = more + others
        for j in range(min(FIRST, len(outside))):
            many = int(np.searchsorted(inside, outside[j], "left"))
            chance = _by_accident(many, j) * len(sets) * FIRST
            best = min(best, (chance, many, j, use, "is nearer to them, beside their distance to the next person, than"))
        many, others = (int(np.searchsorted(group, COPY)) for group in (inside, outside))
        wide = int(np.searchsorted(outside, 10 * COPY))
        expected = max(others, (wide + 3) / 10) * len(inside) / max(len(outside), 1)
        how = f"is {round(1 / COPY)} times nearer to them than the next person, as for"
        best = min(best, (_at_least(many, expected) * len(sets), many, others, use, how))
        many = int(np.searchsorted(inside, 0, "right"))
        if not twins and outside[0] > 0:  # one try of three, if equal records occurred by chance
            best = min(best, (3.0**-many * len(sets), many, 0, use, "equals theirs, as for"))
    chance, many, others, use, how = best
    people = min(original.n, MOST_PEOPLE)
    rate = max(0, many - others) / people
    verdict: Verdict = "broken" if chance < SURE else "warning" if chance < LIKELY else "holds"
    where = "all columns" if len(use) == table.width else _listed([columns[j] for j in use])
    sentence = f"Of {people:,} people no more have a record beside them than people who were not in the making of the table."
    if verdict != "holds":
        sentence = (
            f"{many:,} of {people:,} people of the original have a published record that {how} {others:,} of as many people "
            f"who were not in it (by {where})."
        )
    return AttackResult("exposed people", QUESTION, rate, rate, rate, None, f"by {where}", verdict, sentence)


def _sets(table: Rows) -> list[list[int]]:
    """All columns, all but one, and all numbers.

    >>> _sets(Rows((np.array([0.5]), np.array([1]), np.array([0.1]))))
    [[0, 1, 2], [1, 2], [0, 2], [0, 1]]
    """
    every = list(range(table.width))
    sets = [every, *([j for j in every if j != i] for i in every[: MOST_SETS - 1] if table.width > 2)]
    numbers = [j for j in every if table.is_number(j)]
    return sets if len(numbers) < 2 or numbers in sets else [*sets, numbers]


def _closeness(table: Rows, people: Rows, use: list[int], rng: np.random.Generator) -> tuple[FloatArray, int]:
    """For some people the distance to the nearest record over that to the nearest other person, sorted, and how many have a
    twin, who are left out."""
    chosen = people
    if people.n > MOST_PEOPLE:
        some = people.taken(np.sort(rng.permutation(people.n)[: 5 * MOST_PEOPLE]))
        apart = nearest(some, some, use, 2)[1][:, 1]
        first = np.argsort(-apart, kind="stable")
        rest = rng.permutation(first[MOST_ISOLATED:])[: MOST_PEOPLE - MOST_ISOLATED]
        order: IntArray = np.sort(np.append(first[:MOST_ISOLATED], rest))
        chosen, apart = some.taken(order), apart[order]
    else:
        apart = nearest(chosen, chosen, use, 2)[1][:, 1]
    near = nearest(chosen, table, use)[1][:, 0]
    return np.sort(near[apart > 0] / apart[apart > 0]), int((apart == 0).sum())


def _by_accident(heads: int, tails: int) -> float:
    """The chance of at least so many heads before so many tails and one more.

    >>> _by_accident(10, 0) == 2**-10, _by_accident(0, 3)
    (True, 1.0)
    """
    n = heads + tails
    return sum(math.comb(n, i) for i in range(tails + 1)) / 2**n if heads else 1.0


def _at_least(many: int, expected: float) -> float:
    """The chance of at least so many if so many are expected (Poisson).

    >>> round(_at_least(2, 1.0), 4)
    0.2642
    """
    below = math.fsum(math.exp(-expected + i * math.log(expected) - math.lgamma(i + 1)) for i in range(many))
    return max(0.0, 1.0 - below)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{n}'" for n in names[:3])
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")

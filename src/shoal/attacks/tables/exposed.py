"""Exposed people: is a published record a copy, or nearly one, of a person who is unlike everybody else?

Takes    published records, people of the original, equally many people of a control group
Returns  how many people of the original have a record nearer to them than chance leaves, by the worst set of columns; and the ten
         most exposed, for the owner alone
Keeps    judged person by person, never by a mean; the distance to the nearest record is held against the distance to the nearest
         other person, so that an unusual person with a record beside them counts most; for the most unusual hundredth also
         against shadow tables that were made without them
Cost     at most 2,000 people of each group, the most isolated 500 always among them, for at most 23 sets of columns
Source   Hilprecht, Härterich & Bernau 2019 and Stadler, Oprisanu & Troncoso 2022 (records, not means, are exposed)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.attacks.tables.rows import Rows, distances, nearest
from shoal.model.attack import AttackResult, Verdict
from shoal.model.counts.classes import FloatArray, IntArray

MOST_PEOPLE, MOST_ISOLATED, MOST_SETS = 2_000, 500, 10
FEW = 5, 6
"""Columns of a table of which two are left out, too."""
FIRST = 6
"""Positions of the control group among the nearest at which the two groups are compared."""
COPY = 0.01
"""A record is a copy or nearly one if it is so much nearer to a person than the next person is. How many there are by chance is
bounded by ten times the distance, at which there are at least ten times as many, unless values are few: then by the control."""
SURE, LIKELY = 0.001, 0.05
"""Chances of such a surplus by accident, all comparisons counted, below which the table is broken, or warned of."""
UNUSUAL = 0.01
"""Share of the people, those furthest from all others, who are held against shadow tables."""
LEAST_UNUSUAL, MOST_UNUSUAL = 10, 100
SHADOWS, MATES = 5, 200
"""Shadow tables, and people among whom the second parent of each of their records is the nearest to the first."""
LISTED = 10
QUESTION = "Is a published record a copy, or nearly one, of a person of the original who is unlike all others?"


@dataclass(frozen=True)
class Exposure:
    """One person: the row of the original, and how many times nearer a published record is, by some columns, than the next
    person or the records of a table that was made without this one."""

    row: int
    times_nearer: float
    columns: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Near:
    """For some people (``rows`` of their table) the distance to the nearest record, over what is expected; people whom that
    says nothing of are left out, ``twins`` are those who have a twin."""

    rows: IntArray
    ratio: FloatArray
    twins: int = 0


def exposed_people(
    table: Rows, original: Rows, control: Rows, columns: Sequence[str], rng: np.random.Generator
) -> tuple[AttackResult, list[Exposure]]:
    """The surplus of people of the original among those with a record beside them, by the set of columns where it is largest;
    and the ten people who have a record nearest beside them.

    Both groups are of the same size. If the table were made from neither, the nearest of both groups would be mixed like the
    tosses of a coin; the surplus is judged by how rarely a coin gives it. Records that are copies, or nearly, are counted too.
    """
    sets = _sets(table)
    shadows = _Shadows(table.n, original, control, rng)
    best: tuple[float, int, int, int, list[int], str] = (1.0, 0, 0, min(original.n, MOST_PEOPLE), sets[0], "")
    exposed: dict[int, tuple[float, list[int]]] = {}
    for use in sets:
        sides = [_closeness(table, group, use, rng) for group in (original, control)]
        for (own, other), than in (
            (sides, "is nearer to them, beside their distance to the next person, than"),
            (shadows.closeness(table, use), "is nearer to them, beside those of tables that were made without them, than"),
        ):
            for chance, many, others, people, how in _surplus(own, other, than):
                best = min(best, (2 * len(sets) * chance, many, others, people, use, how))
            for row, ratio in zip(own.rows.tolist(), own.ratio.tolist(), strict=True):
                exposed[row] = min(exposed.get(row, (ratio, use)), (ratio, use))
    chance, many, others, people, use, how = best
    rate = max(0, many - others) / people
    verdict: Verdict = "broken" if chance < SURE else "warning" if chance < LIKELY else "holds"
    where = "all columns" if len(use) == table.width else _list_names([columns[j] for j in use])
    sentence = f"Of {people:,} people no more have a record beside them than people who were not in the making of the table."
    if verdict != "holds":
        few = people < min(original.n, MOST_PEOPLE)
        who = f"{'most unusual ' if few else ''}people of the original"
        sentence = f"{many:,} of {people:,} {who} have a published record that {how} {others:,} of as many people "
        sentence += f"who were not in it (by {where})."
    listed = listed_people([*exposed], [r for r, _ in exposed.values()], [[columns[j] for j in by] for _, by in exposed.values()])
    return AttackResult.exact("exposed people", QUESTION, rate, None, f"by {where}", verdict, sentence), listed


def _surplus(own: _Near, other: _Near, than: str) -> list[tuple[float, int, int, int, str]]:
    """The chance of each surplus by accident, with how many of the original and of the control, of how many people, and how."""
    inside, outside = np.sort(own.ratio), np.sort(other.ratio)
    people = len(inside) + own.twins
    out = [(1.0, 0, 0, people, than)]
    for j in range(min(FIRST, len(outside))):
        many = int(np.searchsorted(inside, outside[j], "left"))
        out.append((_by_accident(many, j) * FIRST, many, j, people, than))
    many, others = (int(np.searchsorted(group, COPY)) for group in (inside, outside))
    wide = int(np.searchsorted(outside, 10 * COPY))
    expected = max(others, (wide + 3) / 10) * len(inside) / max(len(outside), 1)
    what = than.removeprefix("is nearer to them").removesuffix(", than")
    how = f"is {round(1 / COPY)} times nearer to them{what}, as for"
    out.append((_at_least(many, expected), many, others, people, how))
    near, beside = (float(group[group > 0].min(initial=COPY)) for group in (inside, outside))
    if near < beside:  # a record comes within a share of the usual distance at most that often
        out.append((near * len(inside), 1, 0, people, f"is {1 / near:,.0f} times nearer to them{what}, as for"))
    many = int(np.searchsorted(inside, 0, "right"))
    if not own.twins and not other.twins and len(outside) and outside[0] > 0:  # one try of three, if equal records occurred
        out.append((3.0**-many, many, 0, people, "equals theirs, as for"))
    return out


class _Shadows:
    """Tables as a generator could have made them from other people, and the most unusual people of both groups.

    Each record lies between two people who are alike: a number between theirs, other values of either. A person's own offspring
    does not count for them: for each person the shadow tables are made without this person.
    """

    def __init__(self, records: int, original: Rows, control: Rows, rng: np.random.Generator) -> None:
        self.records = records
        self.groups = original, control
        self.people = [most_unusual(nearest(g, g, list(range(g.width)), 2)[1][:, -1]) for g in self.groups]
        pairs: list[Any] = list(zip(original.columns, control.columns, strict=True))
        everyone = Rows(tuple(np.concatenate(pair) for pair in pairs))
        n = SHADOWS * records
        first, mates = rng.integers(everyone.n, size=n), rng.integers(everyone.n, size=min(MATES, everyone.n))
        every = list(range(everyone.width))
        near = nearest(everyone, everyone.take(mates), every, 2)
        self.parents = first, mates[np.where(near[1][first, 0] > 0, near[0][first, 0], near[0][first, -1])]
        weight, either = rng.random(n), rng.random(n) < 0.5
        columns: list[Any] = []
        for j, column in enumerate(everyone.columns):
            a, b = (column[p] for p in self.parents)
            between = np.asarray(np.where(np.isnan(a + b), a, weight * a + (1 - weight) * b), dtype=np.float64)
            columns.append(between if everyone.is_number(j) else np.where(either, a, b))
        self.made = Rows(tuple(columns))
        self._far = [distances(group.take(rows), self.made, every) for group, rows in zip(self.groups, self.people, strict=True)]

    def closeness(self, table: Rows, use: list[int]) -> tuple[_Near, _Near]:
        """Of the most unusual people of both groups the nearest record over that of the middle one of the shadow tables."""
        out = []
        for i, (group, rows) in enumerate(zip(self.groups, self.people, strict=True)):
            people = group.take(rows)
            near = nearest(people, table, use)[1][:, 0]
            rest = [j for j in range(table.width) if j not in use]
            far = np.maximum(self._far[i] - distances(people, self.made, rest), 0)
            own = rows[:, None] + (self.groups[0].n if i else 0)
            far[(self.parents[0] == own) | (self.parents[1] == own)] = np.inf
            usual = np.median(far.reshape(len(rows), SHADOWS, self.records).min(axis=2), axis=1)
            good = usual > 0
            out.append(_Near(rows[good], near[good] / usual[good], int((~good).sum())))
        return out[0], out[1]


def most_unusual(apart: FloatArray) -> IntArray:
    """The hundredth part of the people with the largest numbers, at least 10, at most 100 of them.

    >>> [len(most_unusual(np.arange(float(n)))) for n in (7, 1049, 1051, 20_000)], most_unusual(np.arange(11.0)).tolist()
    ([7, 10, 11, 100], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    """
    many = min(len(apart), MOST_UNUSUAL, max(LEAST_UNUSUAL, round(UNUSUAL * len(apart))))
    return np.sort(np.argsort(-apart, kind="stable")[:many])


def listed_people(rows: Sequence[int], ratios: Sequence[float], columns: Sequence[Sequence[str]]) -> list[Exposure]:
    """The ten people with the smallest ratios: a row, one over the ratio, the columns."""
    worst = sorted(zip(ratios, rows, map(tuple, columns), strict=True))[:LISTED]
    return [Exposure(row, 1 / ratio if ratio else math.inf, by) for ratio, row, by in worst]


def _sets(table: Rows) -> list[list[int]]:
    """All columns, all numbers, all but one and, of few columns, all but two.

    >>> _sets(Rows((np.array([0.5]), np.array([1]), np.array([0.1]))))
    [[0, 1, 2], [0, 2], [1, 2], [0, 1]]
    >>> [len(_sets(Rows((np.array([1]),) * width))) for width in (2, 3, 4, 6, 7, 30)]
    [1, 4, 5, 22, 8, 10]
    """
    every = range(table.width)
    gone = [set[int](), {j for j in every if not table.is_number(j)}, *({i} for i in every[: MOST_SETS - 1])]
    gone += map(set, itertools.combinations(every, 2)) if table.width in FEW else []
    sets = [[j for j in every if j not in without] for without in gone]
    return [use for i, use in enumerate(sets) if not i or (len(use) > 1 and use not in sets[:i])]


def _closeness(table: Rows, people: Rows, use: list[int], rng: np.random.Generator) -> _Near:
    """For some people the distance to the nearest record over that to the nearest other person; who has a twin is left out."""
    rows = np.arange(people.n)
    if people.n > MOST_PEOPLE:
        rows = np.sort(rng.permutation(people.n)[: 5 * MOST_PEOPLE])
    some = people.take(rows)
    apart = nearest(some, some, use, 2)[1][:, 1]
    if people.n > MOST_PEOPLE:
        first = np.argsort(-apart, kind="stable")
        rest = rng.permutation(first[MOST_ISOLATED:])[: MOST_PEOPLE - MOST_ISOLATED]
        order: IntArray = np.sort(np.append(first[:MOST_ISOLATED], rest))
        some, apart, rows = some.take(order), apart[order], rows[order]
    near = nearest(some, table, use)[1][:, 0]
    good = apart > 0
    return _Near(rows[good], near[good] / apart[good], int((~good).sum()))


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


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{n}'" for n in names[:3])
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")

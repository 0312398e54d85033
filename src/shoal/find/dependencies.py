"""Columns that follow from others: dummies, bands, logarithms, labels beside codes, finer codes.

Takes    a code per row for each column (the rank of its value, where it is a number) and what the finder made of it
Returns  the findings; a column that follows from one that others know, or from which that one follows, is known too
Keeps    one role for twins; ``follows`` names the column that says the same or more, so that a draft can leave the other out
Cost     one comparison per pair of a known and another column, at most ``MOST_PAIRS``; ``compared`` says whether that was enough
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.find.finding import ColumnFinding, Evidence
from shoal.find.roles.decision import CHANGE
from shoal.model.roles import NUMBERS, Role

MOST_PAIRS, MOST_SOURCES = 3_000, 100
"""Pairs of columns that are compared, and columns that the others are compared with."""
LEAST_ROWS = 50
"""Rows from which a dependence says something."""
NEARLY, LEFT = 0.02, 0.1
"""Share of pairs of rows that may contradict a dependence, and the share of those that would do so by chance."""
LEAST_EVIDENCE = 10.0
"""Contradictions that chance would give at least."""
BANDED = 5
"""Rows per value from which a column is banded."""

Codes = npt.NDArray[np.integer]


def with_dependencies(findings: Sequence[ColumnFinding], codes: Mapping[str, Codes]) -> tuple[tuple[ColumnFinding, ...], bool]:
    """The findings with one role for columns that follow from each other, and whether all pairs were compared."""
    looked = [f for f in findings if f.name in codes and f.distinct > 1 and not f.mark]
    sources = [f for f in looked if f.role in (Role.QUASI, Role.SENSITIVE) and (f.evidence or f.confidence == 1)]
    sources.sort(key=lambda f: (f.role is Role.SENSITIVE, -f.distinct))  # what says most comes first
    rank = {f.name: i for i, f in enumerate(sources)}
    possible = ((x, y) for x in sources[:MOST_SOURCES] for y in looked if y is not x and _may_follow(x, y, rank))
    pairs = list(itertools.islice(possible, MOST_PAIRS + 1))
    out: dict[str, ColumnFinding] = {}
    for x, y in pairs[:MOST_PAIRS]:
        if y.name in out or x.name in out:
            continue
        a, b = codes[x.name], codes[y.name]
        if follows(a, b, ordered=x.kind in NUMBERS):
            out[y.name] = _same_role(x, y, f"it follows from '{x.name}'", follows_from=x.name)
        elif y.role is not Role.QUASI and x.role is Role.QUASI and follows(b, a, ordered=y.kind in NUMBERS):
            out[y.name] = _same_role(x, y, f"'{x.name}' follows from it", follows_from="")
    return tuple(out.get(f.name, f) for f in findings), len(pairs) <= MOST_PAIRS and len(sources) <= MOST_SOURCES


def _may_follow(x: ColumnFinding, y: ColumnFinding, rank: Mapping[str, int]) -> bool:
    """Whether the role of y would change, or it could be left out, if it depended on x."""
    if y.role is Role.DIRECT or y.confidence == 1:  # a person has decided about it
        return False
    if x.role is Role.SENSITIVE:
        return y.role is Role.UNDECIDED
    return y.role is not Role.QUASI or rank.get(y.name, len(rank)) > rank[x.name]


def _same_role(x: ColumnFinding, y: ColumnFinding, why: str, *, follows_from: str) -> ColumnFinding:
    known = "which others know" if x.role is Role.QUASI else "which is sensitive"
    reason = f"{why}, {known}: whoever has one has the other"
    evidence = (*y.evidence, Evidence(reason, 1.0, 0.8, "table"))
    confidence = max(0.8, y.confidence) if y.role is x.role else 0.8
    y = replace(y, role=x.role, reason=reason, confidence=confidence, change=CHANGE[x.role])
    return replace(y, evidence=evidence, follows=follows_from)


def follows(a: Codes, b: Codes, *, ordered: bool) -> bool:
    """Whether b follows from a, exactly or nearly: rows with one value of a have one value of b; or, if the values of a are
    ``ordered`` and hardly repeat, b is constant in ranges of a or runs with it.

    >>> size = np.tile(np.arange(6), 50)
    >>> follows(size, (size == 2).astype(int), ordered=True), follows((size == 2).astype(int), size, ordered=True)
    (True, False)
    >>> pay = np.random.default_rng(1).permutation(300)
    >>> follows(pay, pay // 100, ordered=True), follows(pay, np.random.default_rng(2).permutation(300), ordered=True)
    (True, False)
    """
    there = (a >= 0) & (b >= 0)
    a, b = a[there].astype(np.int64), b[there].astype(np.int64)
    if len(a) < LEAST_ROWS:
        return False
    shares = np.bincount(b) / len(b)
    chance = 1.0 - float((shares**2).sum())
    if chance == 0.0:
        return False
    sizes = np.bincount(a)
    together = np.unique(a * (int(b.max()) + 1) + b, return_counts=True)[1]
    pairs = float((sizes * (sizes - 1)).sum())
    if float(np.maximum(sizes - 1, 0).sum()) * chance >= LEAST_EVIDENCE:
        contradicted = 1.0 - float((together * (together - 1)).sum()) / pairs
        return contradicted <= min(NEARLY, LEFT * chance)
    return ordered and _runs_with(a, b, chance)


def _runs_with(a: Codes, b: Codes, chance: float) -> bool:
    """Whether b, in the order of a, changes hardly more often than it has values, or only goes up or only down."""
    in_order = b[np.argsort(a, kind="stable")]
    step = np.diff(in_order)
    values = len(np.unique(b))
    if values * BANDED <= len(b):
        return int((step != 0).sum()) <= values - 1 + NEARLY * len(b) and chance * len(b) >= LEAST_EVIDENCE * values
    return min(int((step < 0).sum()), int((step > 0).sum())) <= NEARLY * len(b)

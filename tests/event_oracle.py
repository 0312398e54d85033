"""Slow definitions of what known records reveal: every person, every set of their points, and everybody else."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

Trace = dict[tuple[int, str], Any]
"""Points (hour and place) with the sensitive value of each."""


def number(people: dict[int, Trace], kind: str, s: int) -> float:
    """What a requirement is about, by looking at every person, every set of up to s of their points, and everybody else."""
    found = []
    every = {point for own in people.values() for point in own}
    whole = Counter(v for own in people.values() for v in set(own.values()))
    for mine in people.values():
        for known in (c for m in range(1, s + 1) for c in combinations(sorted(mine), m)):
            fits = [own for own in people.values() if all(p in own for p in known)]
            if kind == "near":
                fits = [o for o in people.values() if all(any(abs(h - x) <= 1 and w == y for x, y in o) for h, w in known)]
            if kind == "length":
                fits = [own for own in fits if len(own) == len(mine)]
            if kind == "absent":
                fits = min(([o for o in fits if p not in o] for p in every - set(mine)), key=len, default=fits)
            values = Counter(v for own in fits for v in set(own.values()))
            if kind == "alpha":
                found.append(-max((n / len(fits) for v, n in values.items() if v is not None), default=0.0))
            elif kind == "t":
                found.append(-sum(abs(values[v] / values.total() - n / whole.total()) for v, n in whole.items()) / 2)
            else:
                found.append(len(values) if kind == "distinct" else len(fits))
    return abs(min(found))


def inferred(people: dict[Any, set[tuple[Any, str]]], kind: str, s: int) -> float:
    """The surest guess of a place that is not known already, over every set of up to s points."""
    worst = 0.0
    for known in {
        frozenset(c) for own in people.values() for m in range(1, s + 1) for c in combinations(sorted(own, key=str), m)
    }:
        fits = [own for own in people.values() if known <= own]
        for point in known if kind == "next" else [None]:
            sure: Counter[str] = Counter()
            for own in fits:
                often = Counter(w for _, w in own if w != "*").most_common()
                told = {w for w, n in often if n == often[0][1]}
                if kind == "work":
                    told = {w for w, n in often if n == often[1][1]} if len(often) > 1 else set()
                elif point is not None:
                    times = {point[0], min((h for h, _ in own if h > point[0]), default=point[0])}
                    told = {w for h, w in own if h in times and (h, w) != point and w != "*"}
                sure.update(told - {w for _, w in known})
            worst = max(worst, max(sure.values(), default=0) / len(fits))
    return worst

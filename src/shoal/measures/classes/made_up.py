"""A made-up person: common values that nobody in the table has together, and how the crowd shrinks as each becomes known.

Takes    ClassCounts with codes and categories; everybody is in one class
Keeps    no record has all the values; each value alone is shared by at least ``least``; crowds never grow
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.kernels.group import sum_by
from shoal.kernels.text import canonical_text
from shoal.measures.classes.missing import adds_up
from shoal.model.counts.classes import ClassCounts

TRIES = 200


@dataclass(frozen=True)
class MadeUp:
    """Values by column, and how many people of the table share them up to each; None where fewer than may be said."""

    values: tuple[tuple[str, str], ...]
    crowds: tuple[int | None, ...]


def made_up(counts: ClassCounts, *, least: int, rng: np.random.Generator) -> MadeUp | None:
    """A person who is not in the table; None where no such combination of common values was found.

    >>> import pyarrow as pa
    >>> names = (pa.array(["f", "m"]), pa.array(["nurse", "cook"]))
    >>> c = ClassCounts((5, 5), columns=("sex", "job"), codes=([0, 1], [0, 1]), categories=names)
    >>> one = made_up(c, least=5, rng=np.random.default_rng(1))
    >>> sorted(v for _, v in one.values) in (["cook", "f"], ["m", "nurse"]), one.crowds[1]
    (True, None)
    """
    if not adds_up(counts) or not counts.codes or not counts.categories:
        return None
    common = []
    for codes, values in zip(counts.codes, counts.categories, strict=True):
        people = sum_by(codes + 1, counts.sizes, len(values) + 1)[1:]
        common.append(np.flatnonzero(people >= least))
    if any(not len(some) for some in common):
        return None
    order = sorted(range(len(common)), key=lambda j: len(counts.categories[j]))
    for _ in range(TRIES):
        drawn = [int(rng.choice(some)) for some in common]
        crowds, here = [], np.ones(counts.n_classes, dtype=bool)
        for j in order:
            here &= counts.codes[j] == drawn[j]
            crowds.append(int(counts.sizes[here].sum()))
        if crowds[-1] == 0:
            said = tuple((counts.columns[j], str(canonical_text(counts.categories[j])[drawn[j]])) for j in order)
            return MadeUp(said, tuple(n if n >= least else None for n in crowds))
    return None

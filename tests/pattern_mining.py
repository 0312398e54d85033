"""An attack on files of encodings by somebody who knows how often names occur in the population, and not the key.

Bits that the same part of a name sets occur together. So: columns that go together are gathered into patterns, the records that
carry a pattern are taken to have something in common, and the pattern is taken for the name that is about as frequent (pattern
mining after Christen et al. 2018; frequency alignment after Niedermeyer et al. 2014).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

TOGETHER = 0.4
"""Correlation from which two columns are taken to be set by the same thing."""


def patterns(bits: np.ndarray[Any, Any], *, most: int, least: int = 8) -> list[np.ndarray[Any, Any]]:
    """The records that carry each pattern (of at least ``least`` columns), the largest patterns first."""
    spread = bits.std(axis=0) > 0
    columns = bits[:, spread].astype(np.float32)
    near = np.corrcoef(columns.T) >= TOGETHER
    free = np.ones(len(near), dtype=bool)
    found = []
    while len(found) < most:
        sizes = (near & free[None, :]).sum(axis=1) * free
        seed = int(sizes.argmax())
        if sizes[seed] < least:
            break
        chosen = near[seed] & free
        free &= ~chosen
        found.append(columns[:, chosen].mean(axis=1) >= 0.9)
    return found


def guessed_names(bits: np.ndarray[Any, Any], population: list[str], *, most: int = 40) -> list[str | None]:
    """A name for each record, or None: of each pattern the name that is as frequent among the ``population``."""
    shares = {name: count / len(population) for name, count in Counter(population).items()}
    taken: set[str] = set()
    out: list[str | None] = [None] * len(bits)
    for carriers in sorted(patterns(bits, most=most), key=lambda rows: -rows.sum()):
        share = float(carriers.mean())
        open_names = [name for name in shares if name not in taken]
        if not open_names or not share:
            break
        name = min(open_names, key=lambda n: abs(shares[n] - share))
        if abs(shares[name] - share) <= 0.25 * share:
            taken.add(name)
            for place in np.flatnonzero(carriers):
                out[place] = out[place] or name
    return out


def success(guessed: list[str | None], truth: list[str]) -> float:
    """The share of records whose name was guessed right."""
    return sum(g == t for g, t in zip(guessed, truth, strict=True)) / len(truth)

"""Labels of texts, as positions in a list of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Labelled:
    """Position of each value's label, and the labels."""

    index: npt.NDArray[np.int64]
    labels: tuple[str, ...]

    def texts(self) -> list[str]:
        return [self.labels[i] for i in self.index]


def listed(labels: Sequence[str]) -> Labelled:
    """Labels as positions in the list of distinct labels, in order of first appearance."""
    order: dict[str, int] = {}
    index = np.fromiter((order.setdefault(t, len(order)) for t in labels), dtype=np.int64, count=len(labels))
    return Labelled(index, tuple(order))


def natural(text: str) -> tuple[int, float, str]:
    """A key to sort texts by as people would: numbers by size, and before words.

    >>> sorted(["10", "9", "b", "a"], key=natural)
    ['9', '10', 'a', 'b']
    """
    try:
        number = float(text)
    except ValueError:
        return 1, 0.0, text
    return (0, number, text) if number == number else (1, 0.0, text)

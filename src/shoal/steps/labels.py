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

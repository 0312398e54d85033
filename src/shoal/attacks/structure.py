"""How the released classes came about: base classes of the original table with their published and finer codes.

The attacks that use knowledge of the algorithm (minimality, downcoding) and of other releases (intersection) work on this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import InternalError
from shoal.kernels.group import Grouping, group_codes
from shoal.model.counts.classes import ClassCounts, CodeArray


@dataclass(frozen=True, eq=False)
class Recoded:
    """Base classes of the original table, the code under which each is published, and which are kept.

    ``published[j][c]`` is the code of base class ``c`` in column ``j`` after the plan; ``finer[j]`` the same one level lower in
    that column (equal to ``published[j]`` where the column is not generalized); ``kept[c]`` is False for suppressed classes.
    """

    base: ClassCounts
    published: tuple[CodeArray, ...]
    finer: tuple[CodeArray, ...] = ()
    kept: npt.NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        for codes in (*self.published, *self.finer):
            if len(codes) != self.base.n_classes:
                raise InternalError("published codes do not fit the base classes.")

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        return np.ones(self.base.n_classes, dtype=np.bool_) if self.kept is None else self.kept

    def classes(self) -> Grouping:
        """Published class of each base class (suppressed ones form classes too; use :attr:`mask`)."""
        return group_codes(self.published, n_rows=self.base.n_classes)


def in_both(parts: Sequence[Recoded]) -> npt.NDArray[np.bool_]:
    """Base classes that the first release keeps and, where there are others, at least one of them too."""
    others = [p.mask for p in parts[1:]]
    return parts[0].mask & np.logical_or.reduce(others) if others else parts[0].mask


def joint_sizes(parts: Sequence[Recoded]) -> npt.NDArray[np.int64]:
    """For each base class of :func:`in_both`, how many people are alike in all releases.

    >>> base = ClassCounts([3, 2, 4], ["a"], [[0, 1, 2]])
    >>> one = Recoded(base, (np.array([0, 0, 1], np.int32),))
    >>> two = Recoded(base, (np.array([0, 1, 1], np.int32),))
    >>> joint_sizes([one, two]).tolist()
    [3, 2, 4]
    """
    base = parts[0].base
    if any(p.base.n_classes != base.n_classes for p in parts):
        raise InternalError("the releases were made from different base classes.")
    kept = in_both(parts)
    groups = group_codes([codes for p in parts for codes in p.published], n_rows=base.n_classes)
    size = np.zeros(groups.n, dtype=np.int64)
    np.add.at(size, groups.ids[kept], base.sizes[kept])
    return size[groups.ids][kept]

"""PeopleCounts: everybody once, by the smallest class they are in and by the whole set of their classes.

A person with several rows is in several classes. Such a person is as exposed as the smallest of them says, and can be told from
others by all of them together; class sizes alone, which count the person in each class, say neither.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import InternalError

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class PeopleCounts:
    """``members[i]`` people whose smallest class has ``sizes[i]`` people and whose whole set of classes is that of ``alike[i]``.

    ``sizes`` and ``members`` make it a kind of groups: every number of small groups can be had over people from them.

    >>> p = PeopleCounts([1, 2], [1, 1], [3, 4])
    >>> p.n_members, p.whole_sets.sizes.tolist()
    (7, [1, 1])
    """

    sizes: IntArray
    alike: IntArray
    members: IntArray

    def __init__(self, sizes: npt.ArrayLike, alike: npt.ArrayLike, members: npt.ArrayLike) -> None:
        for name, values in (("sizes", sizes), ("alike", alike), ("members", members)):
            object.__setattr__(self, name, np.ascontiguousarray(values, dtype=np.int64))
        if not len(self.sizes) == len(self.alike) == len(self.members):
            raise InternalError("counts of people have unequal lengths.")
        if len(self.sizes) and min(int(self.sizes.min()), int(self.alike.min()), int(self.members.min())) < 1:
            raise InternalError("counts of people hold a number below one.")

    def __repr__(self) -> str:
        return f"<PeopleCounts of {self.n_members} people>"

    @property
    def n_members(self) -> int:
        """Distinct people."""
        return int(self.members.sum())

    @property
    def whole_sets(self) -> PeopleCounts:
        """The same people grouped by the whole set of their classes instead of by their smallest one."""
        return PeopleCounts(self.alike, self.alike, self.members)

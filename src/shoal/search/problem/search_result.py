"""What a search returns: levels, loss, what is suppressed, and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.arrow import from_texts
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import BoolArray as Flags
from shoal.model.counts.classes import ClassCounts
from shoal.model.hierarchy import Hierarchy
from shoal.model.requirement import Requirement
from shoal.search.problem.column import joins_missing


@dataclass(frozen=True, eq=False)
class SearchResult:
    """A full-domain plan: one level per quasi-identifier, and the classes that stay.

    Parameters
    ----------
    levels : mapping of column to level of its hierarchy
    loss, loss_name
        The loss that was made small, and its value.
    suppressed, records
        Records left out, of all records.
    classes : int
        Classes that are published.
    kept : array of bool
        For each class of the counts searched, whether its records are published.
    groups : array of int
        For each class of the counts searched, the published class it falls into.
    proven, gap
        Whether no plan has a smaller loss; if the search stopped early, the loss cannot be lowered by more than ``gap``.
    """

    method: str
    levels: Mapping[str, int]
    loss: float
    loss_name: str
    suppressed: int
    records: int
    classes: int
    kept: Flags
    groups: npt.NDArray[np.int32]
    requirements: tuple[Requirement, ...]
    limit: int
    nodes_checked: int
    n_nodes: int
    seconds: float
    proven: bool
    gap: float
    stopped: str = ""
    counts: ClassCounts | None = field(default=None, repr=False)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, repr=False)

    @property
    def suppressed_share(self) -> float:
        return self.suppressed / self.records

    @property
    def k(self) -> int | None:
        """The class size that alone decides which classes stay, or None where other requirements decide too.

        A plan can then suppress by size; otherwise hand RECODE :meth:`kept_table`.
        """
        least = 0
        for r in self.requirements:
            size, _ = r.class_sizes(has_population=True)
            if not size:
                return None
            least = max(least, size)
        return least

    def kept_table(self) -> Any:
        """The published class tuples that stay: a pyarrow table of labels, one row per class, null where missing."""
        import pyarrow as pa

        assert self.counts is not None
        kept = np.flatnonzero(self.kept)
        _, at = np.unique(self.groups[kept], return_index=True)
        rows = kept[at]
        arrays = []
        for j, name in enumerate(self.counts.columns):
            h, level = self.hierarchies[name], self.levels[name]
            texts = canonical_text(self.counts.categories[j]).to_pylist()
            top = h.levels[level].labels[0] if joins_missing(h, level) else None
            label = [h.levels[level].labels[h.levels[level].groups[h.position[t]]] if t in h.position else None for t in texts]
            label.append(top)
            arrays.append(from_texts([label[c] for c in self.counts.codes[j][rows]]))
        return pa.table(arrays, names=list(self.counts.columns))


@dataclass(frozen=True)
class Alternative:
    """A change of the requirements that makes a plan possible."""

    change: str  # suppress | k | drop column | raise level | drop requirement
    sentence: str
    suppress: float
    k: int | None = None
    column: str | None = None
    levels: Mapping[str, int] = field(default_factory=dict)
    suppressed: int = 0

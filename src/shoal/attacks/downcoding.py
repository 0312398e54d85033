"""Downcoding: is a published value narrower than it looks?

Takes    base classes with published and one-level-finer codes, from the original or from an attacker's external table
Returns  the share of released records that an attacker can refine below the published level
Source   Cohen 2022, "Attacks on deidentification's defenses": minimal hierarchical methods can be refined
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import InternalError
from shoal.kernels.group import Grouping, group_codes
from shoal.model.attack import AttackResult, Verdict
from shoal.model.counts.classes import ClassCounts, CodeArray, IntArray

NARROWED = "Can a published value be narrowed to one or two of the values that its label covers?"
QUESTION = "Can published values be refined to a finer level than was published?"


def downcoding(recoded: Recoded, columns: tuple[str, ...]) -> AttackResult:
    """Records whose published class holds only one finer value in some generalized column, and not the common one.

    An attacker who knows the people (or a table like them) and the hierarchy sees that the wider value is empty talk there. Up to
    one record in a hundred holds, more is a warning.
    """
    groups = recoded.classes()
    kept, sizes = recoded.mask, recoded.base.sizes
    refined = np.zeros(recoded.base.n_classes, dtype=np.bool_)
    worst_column, worst_share = "", 0.0
    total = int(sizes[kept].sum())
    for name, coarse, fine in zip(columns, recoded.published, recoded.finer, strict=False):
        if np.array_equal(coarse, fine):
            continue
        alone = ~_several(groups.ids[kept], fine[kept], groups.n)[groups.ids] & kept & _is_news(coarse, fine, sizes * kept)
        refined |= alone
        share = float(sizes[alone].sum()) / max(total, 1)
        if share > worst_share:
            worst_column, worst_share = name, share
    count = int(sizes[refined].sum())
    rate = count / max(total, 1)
    verdict: Verdict = "holds" if rate <= 0.01 else "warning"
    worst = f"most in column '{worst_column}': {worst_share:.1%} of the records" if worst_column else "no column"
    sentence = f"{count:,} of {total:,} records lie in classes where a published range holds only one finer value."
    return AttackResult.exact("downcoding", QUESTION, rate, None, worst, verdict, sentence)


def _several(classes: IntArray, values: CodeArray, n: int) -> npt.NDArray[np.bool_]:
    """Whether each of the n classes holds more than one value.

    >>> _several(np.array([0, 1, 0, 1]), np.array([5, 5, 5, -1], np.int32), 3).tolist()
    [False, True, False]
    """
    some = np.zeros(n, values.dtype)
    some[classes] = values  # one of each class
    out = np.zeros(n, np.bool_)
    out[classes[some[classes] != values]] = True
    return out


MOST_PAIRS = 1 << 16
"""Pairs of a published and a finer value up to which each has its place in a table, however few classes there are."""
MOST_LEFT = 2
"""Values to which a cell is narrowed: few enough for a guess at evens."""


def narrowed(recoded: Recoded, columns: tuple[str, ...], covered: Sequence[IntArray]) -> AttackResult:
    """Cells whose label covers at least three values of the table while its class holds at most two of them.

    ``covered`` says for each column and base class how many values of the table lie under its label. Anyone who knows the
    quasi-identifiers of the people (or a table like them) reads such a cell as one or two values. Local recoding makes each class
    as fine as it may be, so it is tried there. Up to one record in a hundred holds, more is a warning.
    """
    groups, kept, sizes = recoded.classes(), recoded.mask, recoded.base.sizes
    total, cells = int(sizes[kept].sum()), 0
    exposed = np.zeros(recoded.base.n_classes, dtype=np.bool_)
    by_column: dict[str, int] = {}
    for name, codes, under in zip(columns, recoded.base.codes, covered, strict=True):
        pairs = group_codes([groups.ids[kept].astype(np.int32), codes[kept]])
        inside = np.bincount(groups.ids[kept][pairs.first], minlength=groups.n)[groups.ids]
        few = kept & (inside <= MOST_LEFT) & (under > MOST_LEFT)
        exposed |= few
        by_column[name] = int(sizes[few].sum())
        cells += by_column[name]
    rate = int(sizes[exposed].sum()) / max(total, 1)
    verdict: Verdict = "holds" if rate <= 0.01 else "warning"
    most = max(by_column, key=lambda c: by_column[c], default="")
    worst = f"most in column '{most}': {by_column[most]:,} cells" if cells else "no column"
    sentence = (
        f"{cells:,} cells of {int(sizes[exposed].sum()):,} records can be narrowed to one or two values by one who knows who "
        "is in the class, although their label covers more."
    )
    return AttackResult.exact("downcoding: narrowed cells", NARROWED, rate, None, worst, verdict, sentence)


def _is_news(coarse: npt.NDArray[np.int32], fine: npt.NDArray[np.int32], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether the finer value of each class is one that fewer than half of the people with its published value have.

    What most of them have would be guessed without the release.
    """
    width = int(fine.max(initial=-1)) + 2
    wide = coarse.astype(np.int64)
    wide += 1
    total = np.bincount(wide, weights=sizes)
    if len(total) * width > max(len(fine), MOST_PAIRS):
        part = group_codes([coarse, fine])
        own = np.bincount(part.ids, weights=sizes, minlength=part.n)
        return np.asarray(own[part.ids] < 0.5 * total[wide])
    pairs = wide * width  # a table of all pairs is short
    pairs += fine
    pairs += 1
    own = np.bincount(pairs, weights=sizes, minlength=len(total) * width)
    rare = own < np.repeat(0.5 * total, width)
    return np.asarray(rare[pairs])


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

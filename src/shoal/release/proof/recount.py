"""The second opinion: a deliberately simple count of a written file, from its bytes alone.

Takes    a file, its quasi-identifiers and sensitive columns, perhaps a person column
Returns  Facts: records, classes, k, uniques, class-size table, diversity and closeness of each sensitive column
Keeps    shares no code with engines, kernels, measures or search, so that a mistake there cannot vouch for itself
Cost     small files: one Python dictionary; large ones: sorted numpy codes, piece by piece (both give the same Facts)
Source   METHODS §19 (definitions); a missing value is a value of its own
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from shoal.release.proof import read as recount_read
from shoal.release.proof.facts import Facts
from shoal.release.proof.recount_dictionary import by_dictionary
from shoal.release.proof.recount_sorted import by_sorting
from shoal.release.proof.trees import Tree

SMALL_FILE = 3_000_000
"""Bytes of text, or cells of a Parquet file, up to which the dictionary is used."""
MOST_PAIRS = 1_000_000
"""Pairs of a class and a sensitive value up to which a small file is counted by the dictionary, which looks at each."""


def recount(
    path: str | Path,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    *,
    unit: str | None = None,
    recursive: Mapping[str, Sequence[int]] | None = None,
    trees: Mapping[str, Tree] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    way: str = "auto",
) -> Facts:
    """Count a written file again.

    Parameters
    ----------
    path : str or Path
        A CSV, Parquet, Arrow, Excel, SPSS or Stata file.
    quasi, sensitive : sequence of str
    unit : str, optional
        The person column, where the file still has one: classes then count people.
    recursive : mapping of sensitive column to levels l, optional
    trees : mapping of sensitive column to Tree, optional
        Closeness by the hierarchical distance is then counted too.
    orders : mapping of sensitive column to its values from low to high, optional
        Closeness by the ordered distance ranks them so.
    way : str
        ``dictionary``, ``sorted`` or ``auto`` (by file size).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> f = pathlib.Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = f.write_text("age,ill\\n30,flu\\n30,flu\\n40,flu\\n40,hiv\\n40,hiv\\n")
    >>> facts = recount(f, ["age"], ["ill"])
    >>> facts.k, facts.classes, facts.sensitive["ill"].distinct, facts.sensitive["ill"].equal
    (2, 2, 1, 0.4)
    """
    wanted = [*quasi, *sensitive, *([unit] if unit else [])]
    source = Path(path)
    small = way == "auto" and recount_read.size(source) <= SMALL_FILE
    levels = {c: tuple(sorted(set((recursive or {}).get(c, ())))) for c in sensitive}
    more = (levels, trees or {}, orders or {})
    if small or way == "dictionary":
        most = MOST_PAIRS if small else math.inf
        found = by_dictionary(recount_read.rows(source, wanted), len(quasi), sensitive, unit is not None, *more, most)
        if found is not None:
            return found
    return by_sorting(recount_read.batches(source, wanted), len(quasi), sensitive, unit is not None, *more)

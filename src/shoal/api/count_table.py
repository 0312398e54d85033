"""``count_table``: people by rows and columns, with small counts hidden so that they cannot be recovered from the sums."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast

from shoal.api.arguments import Source, opened
from shoal.errors import UsageError
from shoal.release.counts.protect import protect_table
from shoal.release.counts.table import CountTable, cross


def count_table(
    table: Source,
    *,
    rows: str,
    columns: str | None = None,
    layers: Sequence[str] = (),
    unit: str | None = None,
    threshold: int = 10,
    method: str = "suppress",
    base: int = 5,
    zeros: bool = True,
    public: bool = False,
    previous: Sequence[str | Path] = (),
) -> CountTable:
    """Cross columns, protect the counts, and try to recover what is hidden.

    Parameters
    ----------
    table : Table, path, URL or frame
        Anything that :func:`shoal.open` accepts, or a table that it returned.
    rows, columns, layers : str, str, sequence of str
        The columns that are crossed.
    unit : str, optional
        The column that names a person: people are counted, not rows. Nobody may be in several cells.
    threshold : int
        Cells of fewer than ``threshold`` people are hidden, and as many others as the sums call for. Categories with fewer people
        in all are joined.
    method : str
        ``suppress``, or ``round``: what is not hidden is rounded to multiples of ``base``.
    zeros : bool
        Publish cells without people; without it they are hidden as small ones are.
    public : bool
        The lists of categories are public knowledge: none is joined.
    previous : sequence of paths
        Tables of counts, as :meth:`CountTable.write` wrote them, that are published already. A table is refused if one of its
        counts differs from theirs by fewer than ``threshold`` people: who subtracts them reads off who joined or left.

    Examples
    --------
    >>> people = {"ward": ["a"] * 30 + ["b"] * 40, "ill": ["y"] * 4 + ["n"] * 26 + ["y"] * 20 + ["n"] * 20}
    >>> t = count_table(people, rows="ward", columns="ill")
    >>> t, t.attack.verdict
    (<CountTable of ward × ill: 9 cells with sums, 4 hidden>, 'holds')
    """
    if method not in ("suppress", "round"):
        raise UsageError("counts are protected by 'suppress' or 'round'.", hint="Choose one of the two.")
    names = [rows, *([columns] if columns else []), *layers]
    source = opened(table)
    counts = source.count(names, unit=unit)
    crossed = cross(counts, threshold=threshold, public=public)
    way = cast("Literal['suppress', 'round']", method)
    protected = CountTable(crossed, protect_table(crossed.counts, threshold=threshold, method=way, base=base, zeros=zeros))
    for earlier in previous:
        protected.compare_with(earlier)
    return protected

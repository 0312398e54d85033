"""``study``: many quasi-identifiers and subpopulations of one table in one run."""

from __future__ import annotations

from collections.abc import Iterable

from shoal.api.arguments import Names, Source, names, opened
from shoal.model.display import Progress, silent
from shoal.studies.column_sets import study_table
from shoal.studies.result import Study


def study(
    table: Source,
    *,
    sets: Iterable[Names] = (),
    by: str | None = None,
    quasi: Names | None = None,
    up_to: int | None = None,
    unit: str | None = None,
    counts: str | None = None,
    group_size: int = 10,
    alpha: float = 0.05,
    k: int = 5,
    progress: Progress = silent,
) -> Study:
    """Class sizes, uniqueness, κ and entropy of many sets of columns, in the whole table and in each subpopulation.

    Parameters
    ----------
    table : Table, path, URL or frame
    sets : iterable of names of columns
        The quasi-identifiers to study, each a list of columns.
    by : str, optional
        The column of the subpopulations. Small ones (fewer than 10 members) are counted and not named.
    quasi, up_to : names of columns and a number, optional
        All sets of at most ``up_to`` of these columns: the smallest that single out at least ``alpha`` of all and the largest
        whose groups hold at least ``k``. Supersets of an identifying set are not counted.
    unit : str, optional
        The column that names a person; each must then be in one class.
    counts : str, optional
        A column of whole numbers: each row stands for so many people, as in published tables.
    group_size : int
        People in the group whose uniqueness is predicted from each subpopulation's distribution.

    Examples
    --------
    >>> t = {"age": [30, 30, 41, 41, 41], "town": ["a", "a", "a", "b", "b"]}
    >>> s = study(t, sets=[["age"], ["age", "town"]])
    >>> [(x.name, x.unique, x.at[5], round(x.kappa, 3)) for x in s.sets]
    [('age', 0, 5, 0.02), ('age + town', 1, 5, 0.331)]
    """
    return study_table(
        opened(table),
        sets=[names(s) for s in sets],
        by=by,
        quasi=names(quasi),
        up_to=up_to,
        unit=unit,
        count=counts,
        group_size=group_size,
        alpha=alpha,
        k=k,
        progress=progress,
    )

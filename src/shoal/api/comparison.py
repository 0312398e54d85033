"""``compare``: what did a release cost, and what is it still good for?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.api.arguments import Names, Source, names, opened
from shoal.comparison.result import Comparison
from shoal.comparison.tables import Released, compare_tables
from shoal.errors import UsageError
from shoal.model.certificate.certificate import NAME, PLAN
from shoal.model.certificate.file import is_of_events, read_certificate
from shoal.model.display import Progress, silent
from shoal.release.linked.certificate import read_linked
from shoal.release.make.release import Release
from shoal.release.plan.plan_json import read_plan


def compare(
    original: Source | Release,
    release: Source | Release | None = None,
    *,
    quasi: Names | None = None,
    sensitive: Names | None = None,
    target: Names | None = None,
    key: str | None = None,
    counts: str | None = None,
    analyses: Sequence[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
    models: bool = True,
    frontier: bool = True,
    seed: int = 0,
    progress: Progress = silent,
) -> Comparison:
    """Every measure of what a release lost and what it is good for, column by column and as a whole.

    Records need not be in the same order, nor be matched: what a label stands for is read from the plan of a release folder, from
    the hierarchies, and from the way it is written (``20-29``, ``85+``, ``{a, b}``, ``12**``, ``*``). Perturbed and synthetic
    tables are compared by their distributions.

    Parameters
    ----------
    original, release : Table, path, URL or frame
        The release may be what :func:`shoal.anonymize` or :func:`shoal.protect` gave, or the folder that it wrote. The former
        alone is compared with the table that it was made from.
    quasi, sensitive : names of columns, optional
        For the losses over classes and about sensitive values, and for the frontier; of a folder its own.
    target : names of columns, optional
        Models are trained to predict these; by default the sensitive columns.
    key : str, optional
        A column that names the same record in both tables: then numbers are also compared record by record.
    counts : str, optional
        A column of whole numbers in both tables: each row stands for so many people, as in published tables.
    analyses : sequence of str
        ``mean:income``, ``table:sex,region``, ``regression:income~age``, before and after.
    hierarchies : mapping of column to file, rule or Hierarchy, optional
        What the labels of a column mean, where they do not tell it themselves.
    models, frontier : bool
        Whether models are trained (needs scikit-learn) and the trade-off between k and loss is searched.
    seed : int
        For everything that is drawn.

    Examples
    --------
    >>> c = compare({"age": [31, 38, 45, 47]}, {"age": ["30-39", "30-39", "40-49", "40-49"]}, quasi="age", models=False)
    >>> c.columns[0].kind, c.classes["k"], round(c.overall["certainty_penalty"], 4)
    ('recoded', {'before': 1, 'after': 2}, 0.3333)
    """
    before, after = _sides(original, release)
    return compare_tables(
        opened(before),
        _open_released(after),
        quasi=names(quasi),
        sensitive=names(sensitive),
        target=names(target),
        key=key,
        count=counts,
        analyses=analyses,
        hierarchies=dict(hierarchies or {}),
        models=models,
        frontier=frontier,
        seed=seed,
        progress=progress,
    )


def _sides(original: Source | Release, release: Source | Release | None) -> tuple[Source, Source | Release]:
    """What is compared with what: a release in memory knows the table that it was made from."""
    if isinstance(original, Release):
        if release is not None:
            raise UsageError("the original is a release.", hint="Name the original first: shoal.compare(table, release).")
        return original.prepared.table, original
    if release is None:
        raise UsageError("there is nothing to compare with.", hint="Name both: shoal.compare(table, release).")
    return original, release


def _open_released(release: Source | Release) -> Released:
    """A table; or the data of a release with its plan and roles."""
    if isinstance(release, Release):
        data = release.certificate.data
        return Released(opened(release.to_arrow()), "release", release.plan, data.quasi, data.sensitive)
    if isinstance(release, str | Path) and "::" not in str(release) and (Path(release) / NAME).is_file():
        place = Path(release)
        if read_linked(place / NAME) is not None or is_of_events(place):
            hint = "Name one file of the folder."
            raise UsageError("releases of event tables and of linked tables are compared in their own reports.", hint=hint)
        claims = read_certificate(place / NAME)
        if claims.data.file is None:
            raise UsageError("the data of this release are a table of a database.", hint="Name that table: ENGINE-URL::table.")
        table = opened(place / claims.data.file)
        return Released(table, place.name, read_plan(place / PLAN), claims.data.quasi, claims.data.sensitive)
    table = opened(release)
    return Released(table, table.name)

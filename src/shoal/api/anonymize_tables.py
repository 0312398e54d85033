"""``shoal.anonymize_tables``: several tables about the same people, released together with keys that still fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shoal.model.display import Progress, silent
from shoal.release.linked.gather import gather
from shoal.release.linked.make import LinkedRelease
from shoal.release.linked.policy import LinkedPolicy
from shoal.release.linked.search import choose


def anonymize_tables(
    policy: LinkedPolicy | Mapping[str, Any] | str | Path,
    *,
    key_file: str | Path | None = None,
    format: str = "csv",
    exclude: str | Path | Iterable[Any] | None = None,
    progress: Progress | None = None,
) -> LinkedRelease:
    """Make several tables of one database safe to share together, and prove it.

    k is judged over people, by what the person table and all rows of the linked tables say of each of them together; or, with
    ``require: {k: 5, known: 2}``, by what the person table and any two rows say. The same person gets the same fresh
    pseudonym in every table.

    Parameters
    ----------
    policy : mapping or path
        ``tables`` (name: ``{table: …, roles: …, transform: …}``), ``links`` (``{visits.person_id: person.id}``), ``require``,
        ``allow``. In a mapping a table may be a frame or what :func:`shoal.open` gave.
    key_file : path, optional
        Ed25519 key to sign with; without it as for :func:`shoal.anonymize`.
    format : str
        Of the files: ``csv``, ``parquet``, ``arrow``, ``excel``, ``spss`` or ``stata``.
    exclude : path or ids, optional
        Opt-outs: their rows are left out of every table first.

    Returns
    -------
    LinkedRelease
        ``r.write("release/")``, ``r.certificate``, ``r.levels``, ``r.loss``.

    Examples
    --------
    >>> person = {"id": list(range(12)), "sex": ["f", "m"] * 6}
    >>> visits = {"who": list(range(12)), "ward": ["a", "a", "b", "b"] * 3}
    >>> r = anonymize_tables({
    ...     "tables": {
    ...         "person": {"table": person, "roles": {"quasi": ["sex"]}},
    ...         "visits": {"table": visits, "roles": {"quasi": ["ward"]}},
    ...     },
    ...     "links": {"visits.who": "person.id"},
    ...     "require": {"k": 3},
    ... })
    >>> r.levels
    {'person': {'sex': 0}, 'visits': {'ward': 0}}
    """
    told = progress or silent
    told(0.02, "counting the people")
    family = gather(LinkedPolicy.of(policy), exclude)
    return LinkedRelease(family, choose(family, told), key_file, format)

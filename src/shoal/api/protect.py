"""``shoal.protect``: a data frame in, a safe one out, with the same proof as every release."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Unpack

import pyarrow as pa

from shoal.api.anonymize import anonymize
from shoal.api.arguments import PolicyOptions, Source, names, opened, quasi_of
from shoal.api.inspect import table_facts
from shoal.engines.table import Table
from shoal.errors import EmptyTableError, RoleError, ShoalWarning, UsageError
from shoal.find import ColumnFinding, find_columns
from shoal.find.dependencies import with_dependencies
from shoal.model.roles import Role
from shoal.release.make.release import Release
from shoal.release.policy.policy import undecided

K = 5
"""Default requirement, as in a drafted policy."""

ROLES = ("direct", "quasi", "sensitive", "insensitive")


def protect(frame: Source, **options: Unpack[PolicyOptions]) -> Release:
    """Make a data frame safe to share: five lines, the same search, second count, attacks and certificate as a release.

    Parameters
    ----------
    frame : pandas, polars or Arrow table, or anything that :func:`shoal.open` accepts
    **options
        The options of a policy. ``quasi=[…]``: what a neighbour, colleague or public list could know; guessed without it, as
        in :func:`shoal.inspect`. ``k=5``: each person is indistinguishable from at least k − 1 others (5 by default).
        ``sensitive=…, direct=…, unit=…, require=…, preset=…``; nobody is left out unless ``allow={"suppress": 0.05}`` says so.
        ``rest="quasi"`` (treated as known to others) or ``"drop"`` says what happens to columns without a role: all that you do
        not name if you name ``quasi``, else those that the guess leaves undecided. Without it, an undecided column stops the run;
        so does one that looks like a further quasi-identifier when you named the others.

    Returns
    -------
    Release
        ``r.to_pandas()``, ``r.to_polars()``, ``r.to_arrow()``, ``r.k``, ``r.certificate``, ``r.report()``, ``r.write(DIR)``.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, 32, 33, 45, 46, 47] * 2, "sex": ["f", "m"] * 6, "ill": ["flu", "cold"] * 6})
    >>> r = protect(people, quasi=["age", "sex"], sensitive=["ill"], k=3)
    >>> r.to_pandas().groupby(["age", "sex"]).size().min() >= 3
    np.True_
    """
    roles: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    rest = roles.pop("rest", None)
    if rest not in (None, "drop", "quasi"):
        raise UsageError(f"rest={rest!r} is not known.", hint='Use rest="quasi" or rest="drop", or leave it out.')
    if "qi" in roles:
        roles["quasi"] = quasi_of(roles.get("quasi"), roles.pop("qi"))
    if not roles.keys() & {"k", "require", "preset"}:
        roles["k"] = K
    frame = _whole(frame)
    roles |= _roles(opened(frame), roles, rest)
    return anonymize(frame, format="parquet", **roles)


def _whole(frame: Source) -> Source:
    """A stream read into a table: it is looked at twice, and gone when it was read."""
    if not hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "columns"):
        return frame
    whole: Source = pa.RecordBatchReader.from_stream(frame).read_all()
    return whole


def _roles(table: Table, stated: Mapping[str, Any], rest: str | None) -> dict[str, Any]:
    """The given roles, and one for every other column; a warning lists the guesses."""
    roles = {role: () if stated.get(role) is None else stated[role] for role in ROLES}
    named = {n for given in (*roles.values(), stated.get("unit"), stated.get("weight")) for n in names(given)}
    open_ = [n for n in table.schema.names if n not in named]
    said_rest = {} if rest is None else {"rest": rest}
    if not open_ or (rest and stated.get("quasi") is not None):
        return _add_columns(roles, {}) | said_rest
    open_columns = [c for c in _find_columns(table) if c.name in open_]
    if stated.get("quasi") is not None:
        _no_further_quasi([c.name for c in open_columns if c.role is Role.QUASI])
    open_now = [c for c in open_columns if c.role is Role.UNDECIDED]
    if open_now and rest is None:
        raise undecided(table.schema, [c.name for c in open_now], {c.name: c.reason for c in open_now})
    marks = {c.mark: c.name for c in open_columns if c.mark and stated.get(c.mark) is None}
    guessed = {role: [c.name for c in open_columns if c.role.value == role and c.name not in marks.values()] for role in ROLES}
    lines = [f"{role}: {', '.join(some)}" for role, some in (*guessed.items(), *((m, [n]) for m, n in marks.items())) if some]
    warnings.warn(f"roles were guessed, check them: {'; '.join(lines)}.", ShoalWarning, stacklevel=3)
    return {**_add_columns(roles, guessed), **marks, **said_rest, "found": {role: some for role, some in guessed.items() if some}}


def _find_columns(table: Table) -> list[ColumnFinding]:
    records = table.n_rows()
    if records == 0:
        raise EmptyTableError("the frame has no rows.", hint="Check the filter that left nothing.")
    facts, rows = table_facts(table, records)
    return list(with_dependencies(find_columns(facts), rows)[0])


def _no_further_quasi(further: list[str]) -> None:
    if further:
        hint = 'Name them in quasi=, sensitive= or insensitive=, or say rest="quasi" or rest="drop".'
        raise RoleError(f"columns that were not named look like quasi-identifiers too: {', '.join(further)}.", hint=hint)


def _add_columns(roles: Mapping[str, Any], more: Mapping[str, list[str]]) -> dict[str, Any]:
    """The roles with further columns; a role given as a mapping (columns with their rules) stays one."""
    both: dict[str, Any] = {}
    for role, given in roles.items():
        if isinstance(given, Mapping):
            both[role] = {**given, **{n: {} for n in more.get(role, ())}}
        else:
            both[role] = [*names(given), *more.get(role, ())]
    return {role: given for role, given in both.items() if given}

"""What the verbs take: tables, roles of columns, rules and numbers of people, in the same words everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, Unpack

import numpy as np

from shoal.engines.open import open as open_source
from shoal.engines.table import Table
from shoal.errors import PolicyError, UsageError, check_options, refuse
from shoal.model.roles import MissingPolicy

if TYPE_CHECKING:
    from shoal.release.policy.policy import Policy


class Frame(Protocol):
    """A data frame: pandas, polars, pyarrow, a DuckDB relation."""

    @property
    def columns(self) -> Any: ...


class ArrowStream(Protocol):
    """Anything that speaks Arrow's C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Source = Table | str | Path | Frame | ArrowStream | Mapping[str, Sequence[Any]]
"""A table: what ``shoal.open`` gave, a path, ``ENGINE-URL::table``, a data frame, or columns by name."""

Names = str | Iterable[str]
"""One column, or several."""


class Reading(TypedDict, total=False):
    """How a file or table is read, as keywords of :func:`open` and as ``--read KEY=VALUE``."""

    format: str | None
    delimiter: str | None
    quote: str | None
    encoding: str | None
    decimal: str | None
    header: bool | int | None
    skip: int | None
    comment: str | None
    totals: Literal["set-aside", "keep"] | None
    units: Literal["set-aside", "keep"] | None
    notes: Literal["set-aside", "keep"] | None
    bad_lines: Literal["refuse", "set-aside"] | None
    quoted_empty: Literal["missing", "text"] | None
    tables: Literal["keep"] | None
    groups: Literal["set-aside", "keep"] | None
    null: str | Sequence[str] | None
    types: Mapping[str, str] | None
    dates: Mapping[str, str] | None
    sheet: str | int | None
    user_missing: Literal["value", "missing"] | None
    booleans: bool | None
    rename_duplicates: bool | None


class PolicyOptions(TypedDict, total=False):
    """What a policy says, as keywords."""

    quasi: Names | Mapping[str, Any]
    qi: Names | Mapping[str, Any]
    sensitive: Names | Mapping[str, Any]
    direct: Names | Mapping[str, Any]
    insensitive: Names
    rest: str
    found: Mapping[str, Sequence[str]]
    unit: str | Mapping[str, Any]
    events: Mapping[str, Any]
    weight: str
    keep: Mapping[str, str]
    scale: Mapping[str, str]
    order: Mapping[str, Sequence[object]]
    missing_values: Mapping[str, Sequence[object]]
    missing: str
    population: int
    k: int
    require: Mapping[str, Any]
    allow: Mapping[str, Any]
    preset: str
    optimize: str
    objective: Mapping[str, Any]
    method: str
    cells: str | Mapping[str, str]
    transform: Mapping[str, Any]
    sample: Mapping[str, Any]
    seed: int
    time_limit: float
    hardened: bool
    analyses: Sequence[Mapping[str, Any]]
    title: str
    purpose: str
    recipient: str
    release: str
    run_by: str
    approved_by: str
    contact: str
    date: str
    review: str
    controls: Mapping[str, Any]


def names(given: Names | None) -> tuple[str, ...]:
    """Columns from one name or several.

    >>> names("age"), names(["age", "sex"]), names(None)
    (('age',), ('age', 'sex'), ())
    """
    return () if given is None else (given,) if isinstance(given, str) else tuple(map(str, given))


def quasi_of(quasi: Any, qi: Any) -> Any:
    """The quasi-identifiers, whichever of the two words was used; both at once are refused."""
    if quasi is not None and qi is not None:
        raise UsageError("quasi and qi mean the same, and both are given.", hint="Name the quasi-identifiers once, as quasi.")
    return qi if quasi is None else quasi


def opened(table: Source, *, read: Mapping[str, Any] | None = None) -> Table:
    """The table, opened where it is not yet; ``read``: how a policy reads it."""
    given = table if isinstance(table, Table) else open_source(table, **(read or {}))
    for option, value in (read or {}).items():
        if option in given.source and given.source[option] != value and option != "null":
            what = f"the policy reads the file with {option}={value}, but it was opened with {option}={given.source[option]}."
            raise PolicyError(what, hint="Open it as the policy says, or change 'read' in the policy.")
    return given


def policy_of(policy: Policy | Mapping[str, Any] | str | Path | None, options: PolicyOptions) -> Policy:
    """The policy of a file, a mapping or keywords; beside a file or a Policy only a ``seed`` may be given, instead of its own."""
    from shoal.release.policy.policy import Policy

    check_options(options, PolicyOptions.__annotations__)
    plain: dict[str, Any] = {word: given.item() if isinstance(given, np.generic) else given for word, given in options.items()}
    if "qi" in plain:
        plain["quasi"] = quasi_of(plain.get("quasi"), plain.pop("qi"))
    if policy is None or isinstance(policy, Mapping):
        for role in ("quasi", "sensitive", "direct", "insensitive"):
            if role in plain and not isinstance(plain[role], Mapping):
                plain[role] = list(names(plain[role]))
        return Policy.of(policy, **plain)
    seed = plain.pop("seed", None)
    if plain:
        raise PolicyError(f"a policy and '{next(iter(plain))}' were given together.", hint="Say it in the policy.")
    read = Policy.of(policy)
    return read if seed is None else read.edited("seed", seed)


def missing_rule(missing: str | MissingPolicy) -> MissingPolicy:
    """The rule for missing values by its name."""
    if isinstance(missing, MissingPolicy):
        return missing
    with refuse(UsageError("the rule for missing values is not known.", hint="Rules: own, wildcard, drop."), ValueError):
        return MissingPolicy(missing)


_PEOPLE = re.compile(r"^\s*([+-]?)\s*([0-9][0-9_,]*(?:\.[0-9]*)?(?:e[0-9]{1,2})?)\s*(k|m|bn|b|g)?\s*$", re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9, "bn": 10**9}
MOST_PEOPLE = 2**53


def number_of_people(text: str) -> int | None:
    """A number of people from text; None where the text is not a number. Negative numbers and fractions are refused.

    >>> number_of_people("17.5M"), number_of_people("1_200"), number_of_people("3e8"), number_of_people("people.csv")
    (17500000, 1200, 300000000, None)
    """
    match = _PEOPLE.match(text)
    if match is None:
        return None
    sign, digits, unit = match.groups()
    if sign == "-":
        raise UsageError("a population is a number of people, so it cannot be negative.", hint="Use for example 17.5M.")
    number = Fraction(digits.replace("_", "").replace(",", "")) * _UNITS[(unit or "").lower()]
    if number.denominator != 1 or not 1 <= number < MOST_PEOPLE:
        raise UsageError("a population is a whole number of people, at least 1.", hint="Use for example 1200 or 17.5M.")
    return int(number)


def population_of(given: int | str) -> int:
    """A number of people from a number or text; text that is none is refused."""
    people = number_of_people(given) if isinstance(given, str) else given
    if people is None:
        raise UsageError("a population is a number of people.", hint="Use for example 1200 or 17.5M.")
    return people


def open(
    source: Source,
    *,
    quasi: Names | None = None,
    sensitive: Names | None = None,
    direct: Names | None = None,
    insensitive: Names | None = None,
    unit: str | None = None,
    weight: str | None = None,
    name: str | None = None,
    memory: str | int | None = None,
    statement_timeout: str | float | None = None,
    only_aggregates: bool = False,
    scale: Mapping[str, str] | None = None,
    order: Mapping[str, Sequence[object]] | None = None,
    missing_values: Mapping[str, Sequence[object]] | None = None,
    qi: Names | None = None,
    **reading: Unpack[Reading],
) -> Table:
    """Open a table; only its schema is read (of a CSV file, a sample).

    Parameters
    ----------
    source : path, URL or frame
        A file by its ending (CSV/TSV, Parquet file, folder or glob, JSON lines, Arrow/Feather, Excel, SPSS/Stata/SAS),
        ``ENGINE-URL::table`` (``postgresql://…::patients``, ``mysql://…``, ``spark://…``, ``spark::path``,
        ``duckdb://file.db::t``, ``sqlite:///FILE::table``), or a frame in memory (pandas, polars, pyarrow, a DuckDB relation,
        columns by name).
    quasi, sensitive, direct, insensitive : names of columns, optional
        Roles. ``qi`` is accepted for ``quasi``.
    unit, weight : str, optional
        The column that names a person; the column of sampling weights.
    name : str, optional
        What to call the table in messages.
    format : str, optional
        Where the ending does not tell it.
    delimiter, quote, encoding, decimal, header, null, dates : optional
        How a CSV file is read, where the guess is wrong; ``dates`` are forms by column: ``{"born": "%d.%m.%Y"}``. ``header`` may
        be the number of the line that holds the names.
    skip, comment, totals, units, notes, bad_lines, quoted_empty, tables, groups : optional
        What of a CSV file or workbook is not a record: lines before the names; the sign that begins comments (``"none"``: no
        line is one); rows of totals and units and notes below the table (``"set-aside"`` or ``"keep"``); lines with too few or
        too many fields (``"refuse"`` or ``"set-aside"``); whether ``""`` is a missing value or a text; ``tables="keep"`` reads
        several tables below or beside one another as one; headings of groups of records (``"set-aside"`` or ``"keep"``).
    types : mapping of column to kind, optional
        ``{"zip": "text"}``.
    sheet : str or int, optional
        Of a workbook.
    user_missing : {"value", "missing"}, optional
        What a value declared missing in SPSS is taken for.
    booleans : bool, optional
        Whether MySQL's ``TINYINT(1)`` is taken for true and false.
    rename_duplicates : bool, optional
        Whether columns of a text file or workbook that have the same name are numbered (``age``, ``age_2``), the default, or
        refused.
    memory : str or int, optional
        What counting, searching and recoding may take: ``"2GB"``. Beyond it the disk is used, or the run is refused before it
        begins.
    statement_timeout : str or float, optional
        Of databases and Spark: every statement that takes longer is stopped (``"30s"``, ``"5min"``).
    only_aggregates : bool
        Databases: refuse every statement that would return rows, or values of columns that have no role and may be identifiers.
    scale, order, missing_values : mappings by column, optional
        What the values are (``{"ward": "nominal"}``; also number, ordered, date, place, id, text), their order from low to high
        (``{"pain": ["low", "medium", "high"]}``), and values that are read as missing (``{"weight": ["?", "-9"]}``).

    Examples
    --------
    >>> t = open({"age": [30, 30, 41], "sex": ["f", "f", "m"]}, quasi=["age", "sex"])
    >>> t.n_rows(), t.schema.quasi
    (3, ('age', 'sex'))
    """
    check_options(reading, Reading.__annotations__)
    table = open_source(
        source,
        quasi=names(quasi_of(quasi, qi)),
        sensitive=names(sensitive),
        direct=names(direct),
        insensitive=names(insensitive),
        unit=unit,
        weight=weight,
        name=name,
        memory=memory,
        statement_timeout=statement_timeout,
        only_aggregates=only_aggregates,
        **{option: value for option, value in reading.items() if value is not None},
    )
    return table.described(scale=scale, order=order, missing_values=missing_values)

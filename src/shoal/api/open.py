"""``shoal.open``: any source as a table, with the roles of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from shoal.api.arguments import Names, Source, names, quasi_of
from shoal.engines.open import open as open_source
from shoal.engines.table import Table


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
    format: str | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    header: bool | int | None = None,
    skip: int | None = None,
    comment: str | None = None,
    totals: Literal["set-aside", "keep"] | None = None,
    units: Literal["set-aside", "keep"] | None = None,
    notes: Literal["set-aside", "keep"] | None = None,
    bad_lines: Literal["refuse", "set-aside"] | None = None,
    quoted_empty: Literal["missing", "text"] | None = None,
    null: str | Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    dates: Mapping[str, str] | None = None,
    sheet: str | int | None = None,
    user_missing: Literal["value", "missing"] | None = None,
    booleans: bool | None = None,
    rename_duplicates: bool | None = None,
    memory: str | int | None = None,
    statement_timeout: str | float | None = None,
    only_aggregates: bool = False,
    scale: Mapping[str, str] | None = None,
    order: Mapping[str, Sequence[object]] | None = None,
    missing_values: Mapping[str, Sequence[object]] | None = None,
    qi: Names | None = None,
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
    skip, comment, totals, units, notes, bad_lines, quoted_empty : optional
        What of a CSV file or workbook is not a record: lines before the names; the sign that begins comments (``"none"``: no
        line is one); rows of totals and units and notes below the table (``"set-aside"`` or ``"keep"``); lines with too few or
        too many fields (``"refuse"`` or ``"set-aside"``); whether ``""`` is a missing value or a text.
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
    reading: dict[str, Any] = {
        "format": format,
        "delimiter": delimiter,
        "quote": quote,
        "encoding": encoding,
        "decimal": decimal,
        "header": header,
        "skip": skip,
        "comment": comment,
        "totals": totals,
        "units": units,
        "notes": notes,
        "bad_lines": bad_lines,
        "quoted_empty": quoted_empty,
        "null": null,
        "types": types,
        "dates": dates,
        "sheet": sheet,
        "user_missing": user_missing,
        "booleans": booleans,
        "rename_duplicates": rename_duplicates,
    }
    found = open_source(
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
    return found.described(scale=scale, order=order, missing_values=missing_values)

"""``open``: any source as a :class:`~shoal.engines.core.table.Table`, lazily.

A source is a path (by its ending: CSV/TSV, Parquet file, folder or glob, JSON lines, Arrow/Feather, Excel, SPSS/Stata/SAS),
``ENGINE-URL::table`` (``postgresql://…::patients``, ``mysql://…``, ``mssql://…``, ``spark://…``, ``spark::path``,
``duckdb://file.db::t``), or a frame in memory (pandas, polars, pyarrow, a DuckDB relation).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from shoal.engines.core.base import Engine
from shoal.engines.core.table import Table, make_table
from shoal.errors import UnreadableError, UsageError

SERVERS = {  # URL scheme → module and class; each class takes (url) and makes an Engine
    "postgresql": ("shoal.engines.servers.postgres.engine", "Postgres"),
    "postgres": ("shoal.engines.servers.postgres.engine", "Postgres"),
    "mysql": ("shoal.engines.servers.mysql.engine", "MySQL"),
    "mariadb": ("shoal.engines.servers.mysql.engine", "MySQL"),
    "mssql": ("shoal.engines.servers.mssql", "SQLServer"),
    "spark": ("shoal.engines.spark.engine", "Spark"),
    "sc": ("shoal.engines.spark.engine", "Spark"),
    "duckdb": ("shoal.engines.duckdb.engine", "DuckDB"),
}

_URL = re.compile(r"^([a-z]+)(?:\+[a-z0-9]+)?(://|::)", re.IGNORECASE)


def open(
    source: Any,
    *,
    quasi: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    direct: Iterable[str] = (),
    insensitive: Iterable[str] = (),
    unit: str | None = None,
    weight: str | None = None,
    name: str | None = None,
    **options: Any,
) -> Table:
    """Open a table; only its schema is read (of a CSV, a sample).

    Parameters
    ----------
    source : path, URL or frame
        See the module's text.
    quasi, sensitive, direct, insensitive : names of columns
        Roles.
    unit, weight : str, optional
        The column that names a person; the column of sampling weights.
    name : str, optional
        What to call the table in messages.
    **options
        Of the format: ``delimiter, quote, encoding, decimal, header, null, types, dates`` for CSV; ``sheet`` for Excel;
        ``types`` everywhere.

    Returns
    -------
    Table
    """
    roles = {"quasi": quasi, "sensitive": sensitive, "direct": direct, "insensitive": insensitive, "unit": unit, "weight": weight}
    if isinstance(source, Table):
        return source.with_roles(**roles)
    if isinstance(source, str) and is_url(source):
        return _open_url(source, name, roles, options)
    if isinstance(source, (str, Path)):
        from shoal.engines.files.formats import open_path

        engine, relation = open_path(Path(source), options)
        return make_table(engine, relation, name or _stem(Path(source)), roles)
    from shoal.engines.files.frames import open_frame

    engine, relation = open_frame(source, options)
    return make_table(engine, relation, name or "table", roles)


def is_url(source: str) -> bool:
    """Whether a source is ``ENGINE-URL::table`` rather than a path.

    >>> is_url("postgresql://localhost/db::patients"), is_url("spark::data.parquet"), is_url("C:/data.csv")
    (True, True, False)
    """
    found = _URL.match(source)
    return bool(found) and (found.group(1).lower() in SERVERS or "://" in source)  # type: ignore[union-attr]


def split_url(source: str) -> tuple[str, str, str]:
    """Scheme, URL and table of ``ENGINE-URL::table``.

    >>> split_url("postgresql://u@host/db::public.patients")
    ('postgresql', 'postgresql://u@host/db', 'public.patients')
    >>> split_url("postgresql://u@[::1]:5432/db::t")
    ('postgresql', 'postgresql://u@[::1]:5432/db', 't')
    >>> split_url("spark::people.parquet")
    ('spark', 'spark', 'people.parquet')
    """
    url, separator, table = source.partition("::")
    if "[" in url and "]" not in url:  # an IPv6 address: postgresql://[::1]/db::t
        host, closing, rest = source.partition("]")
        tail, separator, table = rest.partition("::")
        url = host + closing + tail
    scheme = re.split(r"[+:]", url, maxsplit=1)[0].lower()
    if scheme not in SERVERS:
        raise UsageError(f"engine '{scheme}' is not known.", hint=f"Engines: {', '.join(sorted(SERVERS))}.")
    if not separator or not table:
        raise UsageError(f"the URL '{without_password(url)}' names no table.", hint="Write ENGINE-URL::table.")
    return scheme, url, table


def without_password(url: str) -> str:
    """The URL as it may be shown.

    >>> without_password("postgresql://ann:secret@host:5432/db?password=x")
    'postgresql://ann@host:5432/db'
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    user = parts.netloc.rpartition("@")[0].partition(":")[0]
    return urlunsplit((parts.scheme, f"{user}@{host}" if user else host, parts.path, "", ""))


def connect(source: str) -> tuple[Engine, str]:
    """The engine of ``ENGINE-URL::table``, and the table's name."""
    scheme, url, table = split_url(source)
    module, cls = SERVERS[scheme]
    try:
        engine: Engine = getattr(importlib.import_module(module), cls)(url)
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("shoal"):
            raise UsageError(f"engine '{scheme}' is not part of this installation.") from None
        raise
    return engine, table


def _open_url(source: str, name: str | None, roles: dict[str, Any], options: dict[str, Any]) -> Table:
    engine, table = connect(source)
    try:
        relation = engine.relation(table, **options)
        if not relation.columns:
            raise UnreadableError(f"table '{table}' has no columns.", hint="Check the name and your rights to read it.")
        return make_table(engine, relation, name or table, roles)
    except BaseException:
        engine.close()
        raise


def _stem(path: Path) -> str:
    return path.name.split(".", maxsplit=1)[0] or path.name

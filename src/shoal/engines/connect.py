"""``ENGINE-URL::table``: which engine a URL names, and the connection to it."""

from __future__ import annotations

import importlib
import re

from shoal.engines.core.base import Engine
from shoal.engines.servers.addresses import not_understood
from shoal.errors import UsageError

SERVERS = {  # URL scheme → module and class; each class takes (url) and makes an Engine
    "postgresql": ("shoal.engines.servers.postgres.engine", "Postgres"),
    "postgres": ("shoal.engines.servers.postgres.engine", "Postgres"),
    "mysql": ("shoal.engines.servers.mysql.engine", "MySQL"),
    "mariadb": ("shoal.engines.servers.mysql.engine", "MySQL"),
    "spark": ("shoal.engines.spark.engine", "Spark"),
    "sc": ("shoal.engines.spark.engine", "Spark"),
    "duckdb": ("shoal.engines.duckdb.engine", "DuckDB"),
}

NOT_SUPPORTED = {  # URL scheme → what is wrong, and what to do
    "mssql": (
        "SQL Server is not supported.",
        "Export the table to a Parquet or CSV file, or copy it to PostgreSQL, MySQL, MariaDB or DuckDB, and open that.",
    ),
    "sqlite": (
        "Shoal reads SQLite files but does not write them.",
        "Name a file as output (data.parquet), or a table of another database.",
    ),
}
WITH_USERS = ("postgresql", "postgres", "mysql", "mariadb", "mssql")
_MISSPELT = re.compile(r":.*@", re.DOTALL)
_URL = re.compile(r"^([a-z]+)(?:\+[a-z0-9]+)?(://|::)", re.IGNORECASE)


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
    if "://" in url and "@" in table and "@" not in url and scheme_of(url) in WITH_USERS:
        raise not_understood()  # a password may hold "::"
    if "[" in url and "]" not in url:  # an IPv6 address: postgresql://[::1]/db::t
        host, closing, rest = source.partition("]")
        tail, separator, table = rest.partition("::")
        url = host + closing + tail
    scheme = scheme_of(url)
    if scheme not in SERVERS:
        what, hint = NOT_SUPPORTED.get(scheme, (f"Engine '{scheme}' is not known.", f"Engines: {', '.join(sorted(SERVERS))}."))
        raise UsageError(what, hint=hint)
    if not separator or not table:
        raise UsageError(f"the URL of engine '{scheme}' names no table.", hint="Write ENGINE-URL::table.")
    return scheme, url, table


def scheme_of(url: str) -> str:
    """What a URL begins with, without the driver that other tools name there (``postgresql+psycopg://``)."""
    return re.split(r"[+:]", url, maxsplit=1)[0].lower()


def refuse_misspelt(path: str) -> None:
    """Refuse what looks like the URL of a server with a slip in it: as the name of a file it would be shown, password and all."""
    if _MISSPELT.search(path):
        raise not_understood()


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

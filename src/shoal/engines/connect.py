"""``ENGINE-URL::table``: which engine a URL names, and the connection to it."""

from __future__ import annotations

import importlib
import re
from urllib.parse import urlsplit, urlunsplit

from shoal.engines.core.base import Engine
from shoal.errors import UsageError

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
        known = ", ".join(f"{s} (experimental)" if s == "mssql" else s for s in sorted(SERVERS))
        raise UsageError(f"engine '{scheme}' is not known.", hint=f"Engines: {known}.")
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

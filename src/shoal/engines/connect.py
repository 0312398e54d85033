"""``ENGINE-URL::table``: which engine a URL names, the address of its server, and the connection to it."""

from __future__ import annotations

import importlib
import ipaddress
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from shoal.engines.core.base import Engine
from shoal.errors import EngineError, UsageError, suggest

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
    match = _URL.match(source)
    return bool(match) and (match.group(1).lower() in SERVERS or "://" in source)  # type: ignore[union-attr]


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


_AUTHORITY = re.compile(r"^[^:]*://[^/?#]*")
_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")


@dataclass(frozen=True)
class Address:
    """Where a server is and who connects; passwords stay out of ``repr`` and of every message. No host means the local socket.

    >>> a = Address.parse("postgresql://ann:s%40cret@db.example:5433/clinic?sslmode=require", port=5432, known=("sslmode",))
    >>> a, a.options
    (Address(scheme='postgresql', host='db.example', port=5433, user='ann', database='clinic'), {'sslmode': 'require'})
    >>> a.shown
    'postgresql://db.example:5433/clinic'
    """

    scheme: str
    host: str
    port: int
    user: str | None
    database: str | None
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, url: str, *, port: int, known: Sequence[str], password_from: Sequence[str] = ()) -> Address:
        """From a URL; without a password in it, from the first environment variable of ``password_from`` that is set.

        ``known`` are the options that may follow the question mark: any other is refused, since it may be a protection that
        somebody counts on.
        """
        try:
            parts = urlsplit(_understood(url))
            given_port = parts.port
        except ValueError:
            raise not_understood() from None
        options = _options(parts.query, known, parts.scheme)
        password = unquote(parts.password) if parts.password is not None else options.pop("password", None)
        if password is None:
            password = next((os.environ[name] for name in password_from if name in os.environ), None)
        return cls(
            scheme=parts.scheme.split("+")[0],
            host=_host(parts.netloc, parts.hostname) or options.pop("host", ""),
            port=given_port or port,
            user=unquote(parts.username) if parts.username else options.pop("user", None),
            database=unquote(parts.path.lstrip("/")) or None,
            password=password,
            options=options,
        )

    @property
    def shown(self) -> str:
        """As it may stand in a message."""
        if not self.host or self.host.startswith("/"):
            return f"{self.scheme}://{self.host}/{self.database or ''}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}/{self.database or ''}"


def not_understood() -> UsageError:
    """The error for a URL that cannot be taken apart; it repeats nothing of it."""
    hint = "Write it as SCHEME://USER@HOST:PORT/DATABASE::TABLE; write special characters of a password as %40 (@), %2F (/), "
    hint += "%3A (:), %3F (?), %23 (#), or put the password into the environment."
    return UsageError("the database URL cannot be understood.", hint=hint)


def _understood(url: str) -> str:
    """The URL, if no sign can be taken for part of a password that ended too early: an ``@`` further on, a ``#``."""
    behind = url[_AUTHORITY.match(url).end() :] if _AUTHORITY.match(url) else url  # type: ignore[union-attr]
    if "@" in behind or "#" in behind:
        raise not_understood()
    return url


def _host(netloc: str, hostname: str | None) -> str:
    """The host; a path of a socket, written ``%2Fvar%2Frun``, keeps its case."""
    raw = netloc.rpartition("@")[2]
    return unquote(raw.partition(":")[0]) if raw.lower().startswith("%2f") else hostname or ""


def _options(query: str, known: Sequence[str], scheme: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in known:
            hint = f"{suggest(name, known)} Options: {', '.join(known)}.".strip()
            raise UsageError(f"{scheme} has no connection option '{name}'.", hint=hint)
        if name in options:
            raise UsageError(f"the connection option '{name}' is given twice.", hint="Give it once.")
        options[name] = value
    return options


def is_local(host: str) -> bool:
    """Whether a host is this machine: a socket, ``localhost`` or a loopback address. Every host of a list must be.

    >>> [is_local(h) for h in ("", "/run/pg", "localhost", "127.0.0.9", "::1", "db.example", "127.0.0.1,db.example", "10.0.0.1")]
    [True, True, True, True, True, False, False, False]
    """
    return all(not h or h.startswith(("/", "@")) or h.lower() == "localhost" or _loopback(h) for h in host.split(","))


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


OTHER_HOST = 62  # OpenSSL's numbers of what is wrong with a certificate
_EXPIRED, _NOT_YET, _REVOKED, _NAMES = 10, 9, 23, (OTHER_HOST, 63, 64)
_AUTHORITIES = range(18, 22)


def certificate_refused(server: str, code: int, option: str) -> EngineError:
    """Why a server's certificate is refused, in the same words on every engine; ``option`` names the file of authorities.

    >>> certificate_refused("PostgreSQL at db:5432", 10, "sslrootcert").message
    'the certificate of PostgreSQL at db:5432 has expired.'
    """
    reasons = {
        _EXPIRED: ("has expired.", "Ask the administrator to renew it, and check the clock of this machine."),
        _NOT_YET: ("is not valid yet.", "Check the clock of this machine and of the server."),
        _REVOKED: ("has been revoked.", "Ask the administrator for the new one."),
        **dict.fromkeys(_NAMES, ("is for another host.", "Use the name that it bears.")),
        **dict.fromkeys(
            _AUTHORITIES,
            (
                "is not signed by an authority that is trusted.",
                f"Name the file of the authority that signed it: {option}=ca.pem.",
            ),
        ),
    }
    unknown = (
        "could not be verified.",
        f"Check its dates, its names and its authority ({option}=ca.pem) with the administrator.",
    )
    what, hint = reasons.get(code, unknown)
    return EngineError(f"the certificate of {server} {what}", hint=hint)


def trusted_authorities() -> str | None:
    """The file of the certificate authorities that this machine trusts, where one is found."""
    import ssl  # files need none

    places = (os.environ.get("SSL_CERT_FILE"), ssl.get_default_verify_paths().cafile, *_BUNDLES)
    return next((f for f in places if f and Path(f).is_file()), None)

"""PostgreSQL: what a connection string may say, and how far a server must prove who it is.

libpq reads the ``PG…`` variables, the password file (``~/.pgpass``) and service files by itself; here it is only decided whether
the server's certificate is verified where nobody said so.
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from pathlib import Path

from shoal.engines.servers.addresses import Address, is_local, trusted_authorities
from shoal.errors import UsageError

OPTIONS = (
    *("host", "hostaddr", "user", "password", "passfile", "service", "require_auth", "channel_binding", "connect_timeout"),
    *("sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcertmode", "sslcrl", "sslcrldir", "sslsni"),
    *("sslnegotiation", "ssl_min_protocol_version", "ssl_max_protocol_version", "gssencmode", "krbsrvname", "requirepeer"),
    *("application_name", "options", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count"),
    *("tcp_user_timeout", "target_session_attrs"),
)
"""Connection options that a URL may name: those of libpq that make sense for one connection."""

VERIFIED = ("verify-full", "verify-ca", "require")  # with an authority at hand, libpq verifies under "require" too


def connection_string(address: Address) -> str:
    """The connection string of libpq."""
    fields: dict[str, str | None] = {
        "host": address.host or None, "port": str(address.port) if address.host else None, "user": address.user,
        "password": address.password, "dbname": address.database, "application_name": "shoal", "connect_timeout": "10",
        **address.options, **security(address),
    }  # fmt: skip
    quoted = {k: "'" + v.replace("\\", "\\\\").replace("'", "\\'") + "'" for k, v in fields.items() if v is not None}
    return " ".join(f"{k}={v}" for k, v in quoted.items())


def security(address: Address) -> dict[str, str]:
    """``sslmode`` and ``sslrootcert`` where nobody said them: beyond this machine a server must prove its name.

    >>> security(Address("postgresql", "127.0.0.1", 5432, None, None))
    {}
    >>> security(Address("postgresql", "db.example", 5432, None, None, options={"sslrootcert": "ca.pem"}))
    {'sslmode': 'verify-full'}
    """
    service = _service(address)
    mode = address.options.get("sslmode") or service.get("sslmode") or os.environ.get("PGSSLMODE")
    authority = address.options.get("sslrootcert") or service.get("sslrootcert") or os.environ.get("PGSSLROOTCERT")
    if mode is not None:
        if authority and mode not in VERIFIED:
            raise UsageError(
                f"a certificate authority is named, but sslmode={mode} does not verify by it.",
                hint="Say sslmode=verify-full, or leave the authority out.",
            )
        return {}
    if authority:
        return {"sslmode": "verify-full"}
    host = address.options.get("hostaddr") or address.host or service.get("host") or os.environ.get("PGHOST", "")
    if is_local(host) and not ("service" in address.options and not service):
        return {}
    own = Path.home() / ".postgresql" / "root.crt"
    return {"sslmode": "verify-full"} | ({} if own.is_file() else {"sslrootcert": trusted_authorities() or "system"})


def _service(address: Address) -> Mapping[str, str]:
    """The service that is named, from the first file that holds it; nothing where none does."""
    name = address.options.get("service") or os.environ.get("PGSERVICE")
    if not name:
        return {}
    own = os.environ.get("PGSERVICEFILE") or str(Path.home() / ".pg_service.conf")
    for file in (own, str(Path(os.environ.get("PGSYSCONFDIR", "/etc/postgresql-common")) / "pg_service.conf")):
        parser = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=",))
        try:
            parser.read(file, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
        if parser.has_section(name):
            return dict(parser[name])
    return {}

"""MySQL and MariaDB: connection options, the user's ``my.cnf``, and how far a server must prove who it is.

The driver falls back to a plain connection where a server says that it has no encryption, which a man in the middle can say
too. So encryption is demanded here before anything is sent to the server, and its certificate is verified by our own rules.
"""

from __future__ import annotations

import configparser
import ssl
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from shoal.engines.connect import Address, is_local, trusted_authorities
from shoal.errors import EngineError, UsageError

OPTIONS = (
    *("host", "user", "password", "unix_socket", "connect_timeout", "defaults_file"),
    *("ssl_mode", "ssl_ca", "ssl_cert", "ssl_key", "ssl_key_password", "ssl_verify_cert", "ssl_verify_identity"),
)
"""Connection options that a URL may name."""

Mode = Literal["DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"]
_JUDGING = ("ssl_mode", "ssl_verify_cert", "ssl_verify_identity")
_CLIENT = {
    "socket": "unix_socket",
    "ssl-verify-server-cert": "ssl_verify_identity",
    **{o.replace("_", "-"): o for o in OPTIONS if o.startswith("ssl_")},
}
_GROUPS = ("client", "client-server", "client-mariadb", "mysql", "shoal")


def address_of(url: str) -> Address:
    """The address, with what ``my.cnf`` says where the URL says nothing."""
    given = Address.parse(url, port=0, known=OPTIONS, password_from=("MYSQL_PWD", "SHOAL_PASSWORD"))
    file = given.options.get("defaults_file")
    mine = _my_cnf(Path(file).expanduser() if file else Path.home() / ".my.cnf", named=file is not None)
    stated = any(o in given.options for o in _JUDGING)
    taken = {ours: mine[theirs] for theirs, ours in _CLIENT.items() if theirs in mine}
    options = {o: v for o, v in taken.items() if not (stated and o in _JUDGING)} | dict(given.options)
    if given.host and "unix_socket" not in given.options:
        options.pop("unix_socket", None)
    return replace(
        given,
        host=given.host or mine.get("host") or "localhost",
        port=given.port or (int(port) if (port := mine.get("port", "")).isdigit() else 3306),
        user=given.user or mine.get("user"),
        password=mine.get("password") if given.password is None else given.password,
        options=options,
    )


def _my_cnf(path: Path, *, named: bool) -> dict[str, str]:
    """The client's settings of an option file; without one, none."""
    try:
        if path.stat().st_mode & stat.S_IWOTH:
            raise UsageError(f"everybody may write to '{path}', so it is not believed.", hint=f"chmod go-w '{path}'.")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        if named:
            raise UsageError(f"the option file '{path}' cannot be read.", hint="Check defaults_file=.") from None
        return {}
    parser = configparser.RawConfigParser(allow_no_value=True, strict=False, delimiters=("=",))
    try:
        parser.read_string("\n".join(line for line in text.splitlines() if not line.lstrip().startswith("!")))
    except configparser.Error:
        raise UsageError(f"the option file '{path}' cannot be understood.", hint="Write [client] above its lines.") from None
    options: dict[str, str] = {}
    for group in _GROUPS:
        if parser.has_section(group):
            options |= {k.replace("_", "-"): v.strip().strip("'\"") for k, v in parser[group].items() if v is not None}
    return options


def mode_of(address: Address) -> Mode:
    """How the connection is protected: as asked, else verified beyond this machine and wherever an authority is named.

    >>> mode_of(Address("mysql", "127.0.0.1", 3306, None, None)), mode_of(Address("mysql", "db.example", 3306, None, None))
    ('PREFERRED', 'VERIFY_IDENTITY')
    """
    options = address.options
    authority, stated = bool(options.get("ssl_ca")), options.get("ssl_mode")
    flags = [f for f in ("ssl_verify_identity", "ssl_verify_cert") if f in options]
    if stated is not None and stated.upper() not in get_args(Mode):
        raise UsageError(f"ssl_mode={stated} is not known.", hint=f"Modes: {', '.join(get_args(Mode))}.")
    if stated is not None and flags:
        raise UsageError(f"ssl_mode and {flags[0]} are both given.", hint="Say ssl_mode= alone.")
    local = is_local(address.host) or "unix_socket" in options
    usual: Mode = "VERIFY_IDENTITY" if authority or not local else "PREFERRED"
    mode: Mode = stated.upper() if stated is not None else _by_flags(options, usual)  # type: ignore[assignment]
    if authority and mode == "REQUIRED" and stated is not None:
        return "VERIFY_CA"
    if authority and not mode.startswith("VERIFY"):
        hint = "Say ssl_mode=VERIFY_IDENTITY, or leave ssl_ca out."
        raise UsageError("a certificate authority is named (ssl_ca), but the other options do not verify by it.", hint=hint)
    return mode


def _by_flags(options: Mapping[str, str], usual: Mode) -> Mode:
    identity, certificate = _flag(options, "ssl_verify_identity"), _flag(options, "ssl_verify_cert")
    if certificate is False:
        if identity:
            raise UsageError("a name is verified by a certificate: ssl_verify_cert=false contradicts it.", hint="Leave one out.")
        return "REQUIRED"
    if identity:
        return "VERIFY_IDENTITY"
    if identity is None and usual == "VERIFY_IDENTITY":
        return usual
    return "VERIFY_CA" if certificate or usual == "VERIFY_IDENTITY" else usual


def _flag(options: Mapping[str, str], name: str) -> bool | None:
    text = options.get(name)
    if text is None:
        return None
    if text.lower() in ("1", "true", "yes", "on", ""):
        return True
    if text.lower() in ("0", "false", "no", "off"):
        return False
    raise UsageError(f"{name}={text} is neither true nor false.", hint=f"Write {name}=true or {name}=false.")


def context_of(address: Address, mode: Mode) -> ssl.SSLContext:
    """The rules of the encrypted connection."""
    options, verified = address.options, mode in ("VERIFY_CA", "VERIFY_IDENTITY")
    try:
        context = ssl.create_default_context(cafile=(options.get("ssl_ca") or trusted_authorities()) if verified else None)
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # the servers' own certificates lack extensions that it asks for
        context.check_hostname = mode == "VERIFY_IDENTITY"
        context.verify_mode = ssl.CERT_REQUIRED if verified else ssl.CERT_NONE
        if "ssl_cert" in options:
            context.load_cert_chain(options["ssl_cert"], options.get("ssl_key"), options.get("ssl_key_password", ""))
    except (OSError, ValueError):
        hint = "Check ssl_ca, ssl_cert, ssl_key and ssl_key_password."
        raise EngineError("a certificate or key file cannot be read.", hint=hint) from None
    return context


def connected(address: Address) -> Any:
    """A connection whose answers stay bytes."""
    from pymysql.connections import Connection
    from pymysql.constants import CLIENT, CR
    from pymysql.converters import encoders
    from pymysql.err import OperationalError

    mode = mode_of(address)

    class Guarded(Connection):  # type: ignore[misc]
        """Tells nothing to a server that offers no encryption where it is demanded."""

        def _request_authentication(self) -> None:
            if mode not in ("DISABLED", "PREFERRED") and not self.server_capabilities & CLIENT.SSL:
                raise OperationalError(CR.CR_SSL_CONNECTION_ERROR, "no encryption")
            super()._request_authentication()

    arguments: dict[str, Any] = {
        "host": address.host, "port": address.port, "user": address.user, "password": address.password or "",
        "database": address.database, "charset": "utf8mb4", "use_unicode": False, "conv": encoders.copy(), "autocommit": True,
        "connect_timeout": _seconds(address), "local_infile": False, "program_name": "shoal",
    }  # fmt: skip
    if "unix_socket" in address.options:
        arguments["unix_socket"] = address.options["unix_socket"]
    if mode == "DISABLED":
        arguments["ssl_disabled"] = True
    elif mode != "PREFERRED":
        arguments["ssl"] = context_of(address, mode)
    connection = Guarded(**arguments, read_timeout=arguments["connect_timeout"])  # a server that is silent at the door
    connection._read_timeout = None
    return connection


def _seconds(address: Address) -> int:
    text = address.options.get("connect_timeout", "10")
    if not text.isdigit() or not 0 < int(text) < 31_536_000:
        raise UsageError("connect_timeout must be whole seconds.", hint="For example connect_timeout=30.")
    return int(text)

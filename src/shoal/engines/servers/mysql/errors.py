"""MySQL and MariaDB: the driver's arguments, and the server's errors in our words."""

from __future__ import annotations

from typing import Any

from shoal.engines.servers.addresses import Address
from shoal.errors import EngineError

LOST = {2006, 2013, 2014, 2055, 1053, 1927}
_WORDS = {
    1146: ("a table is not there (any more).", "Check the name; it may have been dropped or renamed meanwhile."),
    1049: ("there is no such database.", "Check the URL's last part."),
    1054: ("a column is not there (any more).", "Open the table again to read its columns anew."),
    1044: (
        "the user may not use this database.",
        "Reading needs SELECT on the table; a new table needs CREATE, ALTER, INSERT and DROP.",
    ),
    1142: ("the user may not do this.", "Reading needs SELECT on the table; a new table needs CREATE, ALTER, INSERT and DROP."),
    1143: ("the user may not read a column.", "Grant SELECT on it, or leave it out."),
    1050: ("a table of that name is already there.", "Choose another name, or drop it first."),
    1290: ("the server is read-only.", "Write to a file instead of a new table."),
    1021: ("the disk of the database server is full.", "Free space on the server, or write to a file."),
    1114: ("a table of the server is full.", "Free space on the server, or write to a file."),
    1317: ("the server stopped the query.", "Try again, or ask for fewer columns."),
    1969: ("the server stopped the query: its time limit.", "Ask for fewer columns, or raise max_statement_time."),
    1153: ("a question or answer was longer than the server allows.", "Raise max_allowed_packet, or use fewer labels."),
}


def translate(code: int, address: Address) -> EngineError:
    """An error in our words: a driver's message may hold data values."""
    if code in LOST or code == 0:
        return EngineError(
            f"the connection to the server at {address.shown} broke off.", hint="Try again when the server is back.", code=code
        )
    what, hint = _WORDS.get(code, (f"the query could not be carried out (error {code}).", "See the server's log."))
    return EngineError(f"MySQL/MariaDB at {address.shown}: {what}", hint=hint, code=code)


def no_connection(address: Address, error: Exception) -> EngineError:
    code = error.args[0] if error.args else 0
    if code in (1045, 1698, 1130):
        who = f"user '{address.user}'" if address.user else "the user"
        return EngineError(
            f"the server at {address.shown} refuses {who}: wrong or missing password, or no such user.",
            hint="Put the password into MYSQL_PWD or the URL.",
        )
    if code in (1049, 1044):
        return translate(int(code), address)
    return EngineError(
        f"no MySQL or MariaDB server answers at {address.shown}.", hint="Check host and port, and that the server runs."
    )


def connection_arguments(address: Address) -> dict[str, Any]:
    from pymysql.converters import encoders  # only these: answers stay bytes

    out: dict[str, Any] = {
        "host": address.host, "port": address.port, "user": address.user, "password": address.password or "",
        "database": address.database, "charset": "utf8mb4", "use_unicode": False, "conv": encoders.copy(), "autocommit": True,
        "connect_timeout": 10, "local_infile": False, "program_name": "shoal",
    }  # fmt: skip
    for name in ("ssl_ca", "ssl_cert", "ssl_key", "unix_socket"):
        if name in address.options:
            out[name] = address.options[name]
    return out

"""PostgreSQL: the connection string, and the server's errors in our words."""

from __future__ import annotations

from shoal.engines.servers.addresses import Address
from shoal.errors import EngineError

_WORDS = {  # SQLSTATE, longest prefix first → what happened, what to do next
    "42P01": ("a table is not there (any more).", "Check the name; it may have been dropped or renamed meanwhile."),
    "42703": ("a column is not there (any more).", "Open the table again to read its columns anew."),
    "42501": ("the database user may not do this.", "Reading needs SELECT on the table; a new table needs CREATE on the schema."),
    "42P07": ("a table of that name is already there.", "Choose another name, or drop it first."),
    "25006": ("the database or the user is read-only.", "Write to a file instead of a new table."),
    "53100": ("the disk of the database server is full.", "Free space on the server, or write to a file."),
    "57014": (
        "the server stopped the query (a time limit, or someone cancelled it).",
        "Ask for fewer columns, or raise the limit.",
    ),
    "57P": ("the server is shutting down or crashed; the connection broke off.", "Try again when it is back."),
    "53": ("the server has no resources left for the query.", "Try again later, or ask for fewer columns."),
    "08": ("the connection to the server broke off.", "Try again when the server is back."),
    "22": ("a value in the table cannot be converted as asked.", "Check the types= option and the numeric steps of the plan."),
}


def translate(sqlstate: str, message: str, address: Address) -> EngineError:
    """An error in our words: a driver's message may hold data values."""
    for length in (5, 3, 2):
        if sqlstate[:length] in _WORDS:
            what, hint = _WORDS[sqlstate[:length]]
            return EngineError(f"PostgreSQL at {address.shown}: {what}", hint=hint, sqlstate=sqlstate)
    lost = ("server closed the connection", "no connection to the server", "could not receive data", "terminating connection")
    if any(words in message for words in lost):
        return translate("08006", "", address)
    if not sqlstate and "permission denied" in message:  # loading rows tells no SQLSTATE
        return translate("42501", "", address)
    code = f" (SQLSTATE {sqlstate})" if sqlstate else ""
    return EngineError(
        f"PostgreSQL at {address.shown} could not carry out the query{code}.", hint="See the server's log.", sqlstate=sqlstate
    )


def no_connection(address: Address, message: str) -> EngineError:
    if "password" in message or "authentication" in message or "role" in message:
        who = f"user '{address.user}'" if address.user else "the user"
        return EngineError(
            f"PostgreSQL at {address.shown} refuses {who}: wrong or missing password, or no such user.",
            hint="Put the password into PGPASSWORD or the URL.",
        )
    if "database" in message and "does not exist" in message:
        return EngineError(
            f"PostgreSQL at {address.host}:{address.port} has no such database.", hint="Check the URL's last part."
        )
    return EngineError(f"no PostgreSQL server answers at {address.shown}.", hint="Check host and port, and that the server runs.")


def connection_string(address: Address) -> str:
    """The connection string of libpq, which also reads the PG… variables and the password file."""
    fields: dict[str, str | None] = {
        "host": address.host, "port": str(address.port), "user": address.user, "password": address.password,
        "dbname": address.database, "application_name": "shoal", "connect_timeout": "10", **address.options,
    }  # fmt: skip
    quoted = {k: "'" + v.replace("\\", "\\\\").replace("'", "\\'") + "'" for k, v in fields.items() if v is not None}
    return " ".join(f"{k}={v}" for k, v in quoted.items())

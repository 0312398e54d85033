"""PostgreSQL's errors in our words: its own may hold data values."""

from __future__ import annotations

from shoal.engines.servers.addresses import Address
from shoal.errors import EngineError

_WORDS = {  # SQLSTATE, longest prefix first → what happened, what to do next
    "42P01": ("a table is not there (any more).", "Check the name; it may have been dropped or renamed meanwhile."),
    "42703": ("a column is not there (any more).", "Open the table again to read its columns anew."),
    "42501": ("the database user may not do this.", "Reading needs SELECT on the table; a new table needs CREATE on the schema."),
    "42P07": ("a table of that name is already there.", "Choose another name, or drop it first."),
    "25006": ("the database or the user is read-only.", "Write to a file instead of a new table."),
    "25P03": ("the server ended a transaction that waited too long.", "Raise idle_in_transaction_session_timeout."),
    "53100": ("the disk of the database server is full.", "Free space on the server, or write to a file."),
    "53300": ("the server has no connection left.", "Try again later."),
    "57014": (
        "the server stopped the query (a time limit, or someone cancelled it).",
        "Ask for fewer columns, or raise the limit (--statement-timeout).",
    ),
    "57P01": ("the connection broke off: an administrator ended it, or the server is shutting down.", "Try again."),
    "57P03": ("the server is starting up or shutting down.", "Try again when it is back."),
    "57P": ("the server is shutting down or crashed; the connection broke off.", "Try again when it is back."),
    "53": ("the server has no resources left for the query.", "Try again later, or ask for fewer columns."),
    "08": ("the connection to the server broke off.", "Try again when the server is back."),
    "22": ("a value in the table cannot be converted as asked.", "Check the types= option and the numeric steps of the plan."),
}
_LOST = ("server closed the connection", "no connection to the server", "could not receive data", "terminating connection",
         "SSL connection has been closed", "connection is closed", "SSL SYSCALL error", "EOF detected")  # fmt: skip
_TRUST = "Name its authority (sslrootcert=ca.pem). To go without verification, say so: sslmode=require."


def translate(sqlstate: str, message: str, address: Address) -> EngineError:
    """An error in our words: a driver's message may hold data values."""
    for length in (5, 3, 2):
        if sqlstate[:length] in _WORDS:
            what, hint = _WORDS[sqlstate[:length]]
            return EngineError(f"PostgreSQL at {address.shown}: {what}", hint=hint, sqlstate=sqlstate)
    if any(words in message for words in _LOST):
        return translate("08006", "", address)
    if not sqlstate and "canceling statement" in message:  # reading and loading rows tell no SQLSTATE
        return translate("57014", "", address)
    if not sqlstate and "permission denied" in message:
        return translate("42501", "", address)
    code = f" (SQLSTATE {sqlstate})" if sqlstate else ""
    return EngineError(
        f"PostgreSQL at {address.shown} could not carry out the query{code}.", hint="See the server's log.", sqlstate=sqlstate
    )


def no_connection(address: Address, message: str) -> EngineError:
    """Why there is no connection, from libpq's words; they are read here and not repeated."""
    shown = f"PostgreSQL at {address.shown}"
    who = f"user '{address.user}'" if address.user else "the user"
    words = {  # the first that is found in the message
        "no pg_hba.conf entry": (f"{shown} does not let {who} in from this machine.", "The server's pg_hba.conf must allow it."),
        "pg_hba.conf rejects": (f"{shown} does not let {who} in from this machine.", "The server's pg_hba.conf must allow it."),
        "too many c": (f"{shown} has no connection left.", "Try again later."),
        "remaining connection slots": (f"{shown} has no connection left.", "Try again later."),
        "permission denied": (f"{shown}: {who} may not connect to this database.", "Grant CONNECT on it."),
        "starting up": (f"{shown} is starting up.", "Try again in a moment."),
        "shutting down": (f"{shown} is shutting down.", "Try again when it is back."),
        "authentication failed": (_refused(shown, who), _PASSWORD),
        "no password": (_refused(shown, who), _PASSWORD),
        "is not permitted to log in": (f"{shown}: {who} may not log in.", "Ask the administrator."),
        "role": (_refused(shown, who), _PASSWORD),
        "does not match host": (f"the certificate of {shown} is for another host.", "Use the name that it bears."),
        "root certificate": ("the file of certificate authorities cannot be read.", "Check sslrootcert=."),
        "certificate verify failed": (f"the certificate of {shown} is not signed by an authority that is trusted.", _TRUST),
        "does not support SSL": (
            f"{shown} offers no encryption, so it cannot prove who it is.",
            "On a network that you trust, say so: sslmode=disable.",
        ),
        "certificate": (f"no encrypted connection to {shown}: a certificate or its key cannot be used.", _TRUST),
        "SSL error": (f"no encrypted connection to {shown} could be agreed on.", _TRUST),
        "timeout": (f"{shown} did not answer in time.", "Check host, port and firewall, or raise connect_timeout=."),
        "timed out": (f"{shown} did not answer in time.", "Check host, port and firewall, or raise connect_timeout=."),
        "refused": (
            f"no PostgreSQL server answers at {address.shown}: the connection was refused.",
            "Does it run, at this port?",
        ),
        "translate host name": (f"there is no host '{address.host}'.", "Check the name."),
        "definition of service": ("the service is in no service file.", "Check service= and PGSERVICEFILE."),
        "database": (f"PostgreSQL at {address.host}:{address.port} has no such database.", "Check the URL's last part."),
    }
    unknown = (f"no PostgreSQL server answers at {address.shown}.", "Check host and port, and that the server runs.")
    what, hint = next((found for part, found in words.items() if part in message), unknown)
    return EngineError(what, hint=hint)


_PASSWORD = "Put the password into PGPASSWORD, the password file (~/.pgpass) or the URL."  # noqa: S105  advice, not a password


def _refused(shown: str, who: str) -> str:
    return f"{shown} refuses {who}: wrong or missing password, or no such user."

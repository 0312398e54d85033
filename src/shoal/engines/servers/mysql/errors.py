"""MySQL's and MariaDB's errors in our words: their own may hold data values."""

from __future__ import annotations

import socket
import ssl

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
    1792: ("the transaction is read-only.", "A run reads in one read-only transaction."),
    1021: ("the disk of the database server is full.", "Free space on the server, or write to a file."),
    1114: ("a table of the server is full.", "Free space on the server, or write to a file."),
    1040: ("the server has no connection left.", "Try again later."),
    1412: ("the table was changed (altered) while it was read.", "Run it again from the start."),
    1317: ("the server stopped the query.", "Try again, or ask for fewer columns."),
    1969: ("the server stopped the query: its time limit.", "Ask for fewer columns, or raise the limit (--statement-timeout)."),
    3024: ("the server stopped the query: its time limit.", "Ask for fewer columns, or raise the limit (--statement-timeout)."),
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
    """Why there is no connection, from the driver's error and what is behind it."""
    code = error.args[0] if error.args else 0
    shown, cause = address.shown, getattr(error, "original_exception", error)
    who = f"user '{address.user}'" if address.user else "the user"
    if code in (1045, 1698):
        what = f"the server at {shown} refuses {who}: wrong or missing password, or no such user."
        return EngineError(what, hint="Put the password into MYSQL_PWD, ~/.my.cnf or the URL.")
    if code == 1130:
        return EngineError(f"the server at {shown} does not let {who} in from this machine.", hint="Ask its administrator.")
    if code in _WORDS:
        return translate(int(code), address)
    if code == 2026:
        return EngineError(
            f"the server at {shown} offers no encryption, so it cannot prove who it is.",
            hint="On a network that you trust, say so: ssl_mode=DISABLED.",
        )
    if isinstance(cause, ssl.SSLError):
        return _not_trusted(shown, cause)
    if isinstance(cause, TimeoutError) or "timed out" in str(error):
        return EngineError(
            f"the server at {shown} did not answer in time.", hint="Check host, port and firewall, or raise connect_timeout=."
        )
    if isinstance(cause, socket.gaierror):
        return EngineError(f"there is no host '{address.host}'.", hint="Check the name.")
    refused = ": the connection was refused" if isinstance(cause, ConnectionRefusedError) else ""
    return EngineError(
        f"no MySQL or MariaDB server answers at {shown}{refused}.", hint="Check host and port, and that the server runs."
    )


def _not_trusted(shown: str, error: ssl.SSLError) -> EngineError:
    hint = "Name its authority (ssl_ca=ca.pem). To go without verification, say so: ssl_mode=REQUIRED."
    if getattr(error, "verify_code", 0) in (62, 64):  # OpenSSL's numbers of a wrong name or address
        return EngineError(f"the certificate of the server at {shown} is for another host.", hint="Use the name that it bears.")
    if isinstance(error, ssl.SSLCertVerificationError):
        return EngineError(
            f"the certificate of the server at {shown} is not signed by an authority that is trusted, or is out of date.",
            hint=hint,
        )
    return EngineError(f"no encrypted connection to {shown} could be agreed on.", hint=hint)

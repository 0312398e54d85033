"""SQLite's errors in our words: its own may hold values."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from shoal.errors import EngineError, ShoalError, UnreadableError

_WORDS = {
    "SQLITE_BUSY_SNAPSHOT": ("was changed by others before the new table was made.", "Run it again from the start."),
    "SQLITE_BUSY": ("is locked: somebody writes to it.", "Try again when they are done."),
    "SQLITE_LOCKED": ("is locked: somebody writes to it.", "Try again when they are done."),
    "SQLITE_NOTADB": ("is not an SQLite file, or is locked with a password.", "Check the path."),
    "SQLITE_CORRUPT": ("is broken.", "Restore it from a copy (PRAGMA integrity_check tells more)."),
    "SQLITE_CANTOPEN": ("cannot be opened.", "Check your rights to the file and its folder."),
    "SQLITE_READONLY": ("may not be written to, or was left in the middle of a change.", "Check your rights to the file."),
    "SQLITE_FULL": ("could not be written or sorted: the disk is full.", "Free space, or set SQLITE_TMPDIR to a larger disk."),
    "SQLITE_IOERR_WRITE": ("could not be written: the disk is full, or refuses.", "Free space, or check the disk."),
    "SQLITE_IOERR": ("cannot be read or written any more.", "Check the disk."),
}


def name_of(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", None) or ""


def failed(error: sqlite3.Error, path: Path) -> ShoalError:
    """SQLite's errors in our words: its own may hold values."""
    name, message = name_of(error), str(error)
    gone = re.match(r"no such (table|column)", message)
    if gone:
        return EngineError(
            f"a {gone[1]} is not there (any more) in '{path}'.", hint="Open the table again; it may have been changed meanwhile."
        )
    if "UTF-8" in message or "user-defined function" in message:  # which gets a text as Python knows it, or fails
        return UnreadableError(f"a text in '{path}' is not UTF-8.", hint="Mend it in the file, or read the column as binary.")
    found = next((w for start, w in _WORDS.items() if name.startswith(start)), None)
    what, hint = found or (f"cannot be read ({name or type(error).__name__}).", "Check the table with another program.")
    return UnreadableError(f"'{path}' {what}", hint=hint)

"""What a printed command names: a file or table so that it can be typed again, without a password."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from shoal.cli._shell.terminal import printable

_SIGNED_IN = re.compile(r"^([\w+.-]+://[^:@/]*):.*@")
_SECRET = re.compile(r"(?<=[?&])[^=&]*password=[^&]*&?", re.IGNORECASE)


def beside(table: str, name: str) -> str:
    """The URL of a new table beside ``table``, without a password.

    >>> beside("postgresql://ann:secret@host/db::visits", "visits_public")
    'postgresql://ann@host/db::visits_public'
    >>> beside("postgresql+psycopg://ann:secret@host/db?password=more&sslmode=require::visits", "safe")
    'postgresql+psycopg://ann@host/db?sslmode=require::safe'
    """
    url = _SECRET.sub("", _SIGNED_IN.sub(r"\1@", table.rpartition("::")[0]))
    return f"{url.rstrip('?&')}::{name}"


def word(path: str | Path) -> str:
    """A path as it can be typed after a command.

    >>> word("my file.csv")
    "'my file.csv'"
    """
    return shlex.quote(printable(str(path)))

"""Files that only their owner may read."""

from __future__ import annotations

import os
from pathlib import Path

from shoal.errors import OutputError


def write_private(path: Path, text: str) -> None:
    """A new text file of mode 600, on the disk when this returns; never over another file."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise OutputError(
            f"the private file beside the output could not be written: {type(error).__name__}.",
            hint="Check rights and space beside the output.",
        ) from None

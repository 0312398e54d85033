"""Passing files and folders: their names tell whose they are, and the next process removes what a killed one left.

A passing name is ``.shoal-KIND-PROCESS-HEX`` (files keep the ending of the format behind it). Whoever works with it holds a lock,
which the system gives back however the process ends.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import time
from pathlib import Path

from shoal.disk.locks import is_free

YOUNG = 60.0
"""Seconds in which a file or folder is left alone while a process of its number lives: it may be about to be locked."""
_PASSING = re.compile(r"\.shoal-(?:stage|seed|part|kept)-(\d+)-[0-9a-f]{16}(?:\.\w+)?")


def passing_name(kind: str, ending: str = "") -> str:
    """A new name of this process."""
    return f".shoal-{kind}-{os.getpid()}-{secrets.token_hex(8)}{ending}"


def owner(left: Path) -> int | None:
    """The process that a passing name belongs to; None for a name that is not one."""
    found = _PASSING.fullmatch(left.name)
    return int(found[1]) if found else None


def alive(process: int) -> bool:
    """Whether a process of this number runs (perhaps another one that got its number); so it is said where nobody may ask."""
    if os.name != "posix":
        return True  # Windows would end the process that is asked for
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def sweep(place: Path, kind: str) -> None:
    """Remove the passing files or folders of processes that no longer live."""
    for left in place.glob(f".shoal-{kind}-*"):
        with contextlib.suppress(OSError):  # another user's, or removed meanwhile
            if left.is_symlink() or not is_left(left):
                continue
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink()


def is_left(left: Path) -> bool:
    """Whether nobody works with it. Its number alone does not tell: containers on one disk number apart."""
    process = owner(left)
    if process is None or not is_free(left):
        return False
    return not alive(process) or time.time() - left.stat().st_mtime > YOUNG

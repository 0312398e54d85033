"""Locks that the system gives back when a process ends, however it ends. Only this module knows how a system locks.

Where a system or file system has no such locks (Windows, some network drives), nothing is locked and nothing is known to be free.
"""

from __future__ import annotations

import os
from pathlib import Path


def lock(handle: int, *, wait: bool = True) -> bool:
    """Lock an open file or folder against other processes; whether that was done."""
    try:
        import fcntl  # Unix only

        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def hold(path: Path) -> int | None:
    """Open and lock a file or folder; the handle, to be closed in the end, or None."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    if lock(handle, wait=False):
        return handle
    os.close(handle)
    return None


def is_free(path: Path) -> bool:
    """Whether no process holds a file or folder; False where this cannot be known."""
    handle = hold(path)
    if handle is not None:
        os.close(handle)
    return handle is not None

"""A private folder for what an engine must put on the disk (spilled rows, copies in another encoding): gone with the engine.

The folder (mode 0700) holds a locked file. The system gives the lock back when a process ends, however it ends, so that folders
of processes that were killed are known by their free lock; the next process removes them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

PREFIX = "shoal-work-"
LOCK = ".lock"
YOUNG = 60.0
"""Seconds in which a folder is left alone: it may be about to be locked."""


def private_folder(owner: Any) -> tuple[Path, weakref.finalize[..., Any]]:
    """A new folder, and the function that removes it; it is called when ``owner`` is collected or the process ends."""
    _sweep(tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    return folder, weakref.finalize(owner, _remove, folder, handle)


def _remove(folder: Path, handle: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(handle)


@cache
def _sweep(place: str) -> None:
    """Remove folders whose process is gone: once per process and place."""
    for folder in Path(place).glob(PREFIX + "*"):
        with suppress(OSError):  # another user's, or removed meanwhile
            handle = os.open(folder / LOCK, os.O_RDWR)
            try:
                if time.time() - folder.stat().st_mtime < YOUNG:
                    continue
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)

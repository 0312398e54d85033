"""Private folders, and folders that appear whole or not at all.

A private folder (mode 0700) has a hidden name with the number of its process, which also holds a lock on it. It is gone when its
work ends, also by Ctrl-C or SIGTERM; what a killed process left is known by its free lock and removed by the next process that
works in the same place. A folder that shall stay is made as a private one beside its place, then renamed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from shoal.disk import atomic as passing
from shoal.disk.atomic import umask
from shoal.errors import OutputError

PREFIX = ".shoal-stage-"


@contextlib.contextmanager
def staged(parent: str | Path) -> Iterator[Path]:
    """A private folder in ``parent``; removed at the end whatever happens, unless it was moved away."""
    place = Path(parent)
    with contextlib.suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        sweep(place)
    with _private(place) as folder:
        yield folder


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A private folder among the temporary files of the system, for the time of a block."""
    _sweep_once(tempfile.gettempdir())
    with _private(Path(tempfile.gettempdir())) as folder:
        yield folder


def scratch_of(owner: Any) -> tuple[Path, Callable[[], Any]]:
    """A private folder, and the function that removes it; it is called when ``owner`` is collected or the process ends."""
    _sweep_once(tempfile.gettempdir())
    stack = contextlib.ExitStack()
    remove = weakref.finalize(owner, stack.close)
    return stack.enter_context(_private(Path(tempfile.gettempdir()))), remove


@contextlib.contextmanager
def _private(place: Path) -> Iterator[Path]:
    """Whoever is interrupted right after the folder is made removes it, too."""
    folder = place / passing.passing_name("stage")
    handle = None
    try:
        _make(folder)
        handle = hold(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise OutputError(
            f"the output place cannot be written: {type(error).__name__}.", hint="Check the path, rights and space."
        ) from None


@cache
def _sweep_once(place: str) -> None:
    sweep(Path(place))


def sweep(place: Path) -> None:
    """Remove the private folders of processes that no longer live."""
    passing.sweep(place, "stage")


def free(target: str | Path) -> Path:
    """The final place, if nothing is there yet (an empty folder may be)."""
    place = Path(target)
    if place.is_symlink() or (place.exists() and not (place.is_dir() and not any(place.iterdir()))):
        raise OutputError(f"'{place.name}' exists already.", hint="Name a new folder; nothing is written over another.")
    return place


def publish(stage: Path, target: Path) -> None:
    """Give the finished folder its name; readable as the user's other folders are."""
    try:
        allowed = ~umask()
        for path in stage.rglob("*"):
            path.chmod((0o777 if path.is_dir() else 0o666) & allowed)
            _sync(path)
        stage.chmod(0o777 & allowed)
        _sync(stage)
        os.rename(stage, target)
        _sync(target.parent)
    except OSError as error:
        raise OutputError(
            f"the folder could not be put in place: {type(error).__name__}.",
            hint="Check that the target is empty and on the same disk.",
        ) from None


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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

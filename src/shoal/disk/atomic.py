"""Files and private folders that appear whole or not at all, and disappear with their process.

Everything is written to a temporary file (mode 0600) in the destination's folder, synced, and renamed; on any error, a full
disk or Ctrl-C it is removed. What a killed process left is removed by the next that writes into the same folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from shoal.errors import OutputError, refuse


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its name when the block ends well, and is gone otherwise.

    A device, pipe or socket of that name is refused: a rename would put a file in its place.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OutputError(f"'{path}' is not a file.", hint="Name a new file; devices and pipes are not written to.")
    folder = path.parent if str(path.parent) else Path()
    sweep(folder, "part")
    temporary = folder / passing_name("part", path.suffix if path.suffix[1:].isalnum() else "")
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        hint = "Make the folder, or choose one that you may write to."
        raise OutputError(f"nothing can be written in folder '{folder}'.", hint=hint) from None
    handle = hold(temporary)
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
        sync_folder(folder)
    except OSError as error:
        raise _refusal(path, error) from None
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
        if handle is not None:
            os.close(handle)


def write_text(path: str | Path, text: str) -> Path:
    """A text file in UTF-8, readable as the user's other files are; its path."""
    with atomic(Path(path)) as part:
        part.write_bytes(text.encode("utf-8"))
        part.chmod(0o666 & ~umask())
    return Path(path)


def umask() -> int:
    """The rights that the user takes from new files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sync_folder(folder: Path) -> None:
    """Make the new name durable, where the system lets a folder be synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def disk_full(error: BaseException) -> bool:
    """Whether the system refused to write because the disk is full."""
    if not isinstance(error, OSError):
        return False
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or "No space left" in str(error) or "too large" in str(error)


def _refusal(path: Path, error: OSError) -> OutputError:
    if isinstance(error, OutputError):
        return error
    reason = "the disk is full" if disk_full(error) else "the system refused"
    return OutputError(f"'{path}' could not be written: {reason}.", hint="Free space and run again; nothing was left behind.")


YOUNG = 60.0
"""Seconds in which a file or folder is left alone while a process of its number lives: it may be about to be locked."""
_PASSING = re.compile(r"\.shoal-(?:stage|seed|part|kept)-(\d+)-[0-9a-f]{16}(?:\.\w+)?")


def passing_name(kind: str, ending: str = "") -> str:
    """A new name of this process."""
    return f".shoal-{kind}-{os.getpid()}-{secrets.token_hex(8)}{ending}"


def owner(left: Path) -> int | None:
    """The process that a passing name belongs to; None for a name that is not one."""
    match = _PASSING.fullmatch(left.name)
    return int(match[1]) if match else None


def alive(process: int) -> bool:
    """Whether a process of this number runs (perhaps another one with its number); true if that is unknown."""
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


def state_folder() -> Path:
    """The user's folder for what Shoal remembers between runs (``XDG_STATE_HOME``); it may not exist yet."""
    with refuse(OutputError("this user has no home folder.", hint="Set XDG_STATE_HOME to a folder that lasts."), RuntimeError):
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "shoal"


def write_private(path: Path, text: str) -> None:
    """A new text file of mode 600, on the disk when this returns; never over another file."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        what = f"the private file beside the output could not be written: {type(error).__name__}."
        raise OutputError(what, hint="Check rights and space beside the output.") from None


PREFIX = ".shoal-stage-"


@contextlib.contextmanager
def staged(parent: str | Path) -> Iterator[Path]:
    """A private folder in ``parent``; always removed at the end, unless it was moved away."""
    place = Path(parent)
    with contextlib.suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        sweep_scratch(place)
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
    """Anyone who is interrupted right after the folder is made removes it, too."""
    folder = place / passing_name("stage")
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
        hint = "Check the path, rights and space."
        raise OutputError(f"the output place cannot be written: {type(error).__name__}.", hint=hint) from None


@cache
def _sweep_once(place: str) -> None:
    sweep_scratch(Path(place))


def sweep_scratch(place: Path) -> None:
    """Remove the private folders of processes that no longer live."""
    sweep(place, "stage")


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
        hint = "Check that the target is empty and on the same disk."
        raise OutputError(f"the folder could not be put in place: {type(error).__name__}.", hint=hint) from None


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

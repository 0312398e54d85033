"""Files that appear whole or not at all.

Everything is written to a temporary file (mode 0600) in the destination's folder, synced, and renamed; on any error, a full
disk or Ctrl-C it is removed. What a killed process left is removed by the next that writes into the same folder.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shoal.disk.locks import hold
from shoal.disk.passing import passing_name, sweep
from shoal.errors import OutputError


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its name when the block ends well, and is gone otherwise.

    A device, pipe or socket of that name is refused: a rename would put a file in its place.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OutputError(f"'{path}' is no file.", hint="Name a new file; devices and pipes are not written to.")
    folder = path.parent if str(path.parent) else Path()
    sweep(folder, "part")
    temporary = folder / passing_name("part", path.suffix if path.suffix[1:].isalnum() else "")
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        raise OutputError(
            f"nothing can be written in folder '{folder}'.", hint="Make the folder, or choose one that you may write to."
        ) from None
    handle = hold(temporary)
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
        sync_folder(folder)
    except OSError as error:
        raise _refused(path, error) from None
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
        if handle is not None:
            os.close(handle)


def write_text(path: str | Path, text: str) -> None:
    """A text file in UTF-8, readable as the user's other files are."""
    with atomic(Path(path)) as part:
        part.write_bytes(text.encode("utf-8"))
        part.chmod(0o666 & ~umask())


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
    """Whether the system refused to write because there is no room."""
    if not isinstance(error, OSError):
        return False
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or "No space left" in str(error) or "too large" in str(error)


def _refused(path: Path, error: OSError) -> OutputError:
    if isinstance(error, OutputError):
        return error
    reason = "the disk is full" if disk_full(error) else "the system refused"
    return OutputError(f"'{path}' could not be written: {reason}.", hint="Free space and run again; nothing was left behind.")

"""Folders that appear whole or not at all: made beside their place under a hidden name, then renamed.

A hidden folder that a killed run left behind is removed by the next run in the same place.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from shoal.disk.atomic import umask
from shoal.errors import OutputError

_PASSING = re.compile(r"\.shoal-(?:stage|seed)-(\d+)-[0-9a-f]{16}")


@contextlib.contextmanager
def staged(parent: str | Path) -> Iterator[Path]:
    """A private folder (mode 0700) in ``parent``; removed at the end whatever happens, unless it was moved away."""
    place = Path(parent)
    try:
        place.mkdir(parents=True, exist_ok=True)
        sweep(place)
        stage = place / f".shoal-stage-{os.getpid()}-{secrets.token_hex(8)}"
        stage.mkdir(mode=0o700)
    except OSError as error:
        raise OutputError(
            f"the output place cannot be written: {type(error).__name__}.", hint="Check the path, rights and space."
        ) from None
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def sweep(place: Path) -> None:
    """Remove what runs that no longer live have left."""
    for left in place.glob(".shoal-stage-*"):
        process = owner(left)
        if process is not None and left.is_dir() and not left.is_symlink() and not alive(process):
            shutil.rmtree(left, ignore_errors=True)


def owner(left: Path) -> int | None:
    """The process that a passing name belongs to; None for a name that is not one."""
    found = _PASSING.fullmatch(left.name)
    return int(found[1]) if found else None


def alive(process: int) -> bool:
    """Whether a process of this number runs (perhaps another one that got its number)."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


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

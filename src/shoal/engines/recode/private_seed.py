"""The seed that was drawn for an output: kept beside it in a file that only its owner may read.

It is on the disk, under a hidden name, before the output gets its own name, so that no output is ever there without its seed;
where the output does not come to be, the seed goes too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from shoal.disk.atomic import hold, is_left, passing_name, write_private
from shoal.errors import UnreadableError
from shoal.model.seed import PRIVATE_ENDING, PRIVATE_FORMAT

NOTE = "Anyone who has this file can undo the random changes of the output. Keep it apart from it."


def place_of(out: Path) -> Path:
    """Where the seed of an output is kept: ``out.csv`` → ``out.csv.private.json``."""
    return out.with_name(out.name + PRIVATE_ENDING)


@contextmanager
def kept_beside(out: Path, seed: int | None) -> Iterator[Path | None]:
    """Keep ``seed`` beside ``out`` once the block has written it; None: nothing was drawn.

    A private file of an earlier output of the same name goes with that output.
    """
    place = place_of(out)
    _rescue(out.parent)
    if seed is None:
        yield None
        return
    hidden, handle = out.with_name(passing_name("kept")), None
    try:
        keep_seed(hidden, seed, out.name)
        handle = hold(hidden)
        yield place
        hidden.replace(place)
    finally:
        hidden.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


def _rescue(folder: Path) -> None:
    """What killed runs left: a seed whose output is there, written after it, gets its name; one without an output is removed."""
    for left in folder.glob(".shoal-kept-*"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            if not is_left(left):
                continue
            out = folder / Path(json.loads(left.read_text(encoding="utf-8"))["output"]).name
            if out.exists() and not place_of(out).exists() and out.stat().st_mtime_ns >= left.stat().st_mtime_ns:
                left.replace(place_of(out))
        with suppress(OSError):
            if is_left(left):
                left.unlink()


def keep_seed(path: Path, seed: int, output: str) -> None:
    """A private file with the seed of an output; never over another."""
    said = {"format": PRIVATE_FORMAT, "note": NOTE, "output": output, "seed": seed}
    write_private(path, json.dumps(said, indent=1) + "\n")


def read_seed(path: str | Path) -> int:
    """The seed of a private file, of an output or of a release."""
    try:
        data: Any = json.loads(Path(path).read_text(encoding="utf-8"))
        if data["format"] != PRIVATE_FORMAT or isinstance(data["seed"], bool):
            raise ValueError
        return int(data["seed"])
    except OSError as error:
        raise UnreadableError(f"the private file cannot be read: {type(error).__name__}.", hint="Check its path.") from None
    except (ValueError, KeyError, TypeError):
        raise UnreadableError("the private file is not one that Shoal wrote.", hint=f"It ends in {PRIVATE_ENDING}.") from None

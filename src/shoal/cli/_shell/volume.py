"""How loud a command is: ``-q`` says nothing but errors, ``-v`` also what it does and what it took.

With ``-q`` the exit code is the answer; a JSON object that was asked for still comes.
"""

from __future__ import annotations

import io
import sys
import time
from dataclasses import dataclass

QUIET, VERBOSE = ("-q", "--quiet"), ("-v", "--verbose")
STREAMS = (("vault", "filter"),)
"""Commands whose standard output is their product, not words."""


@dataclass(frozen=True)
class Volume:
    """What was asked: at most one of the two."""

    quiet: bool = False
    verbose: bool = False


def taken(words: list[str]) -> tuple[Volume, list[str]]:
    """The volume, and the words without it; what follows ``--`` is left alone.

    >>> taken(["measure", "t.csv", "-q"])
    (Volume(quiet=True, verbose=False), ['measure', 't.csv'])
    >>> taken(["measure", "--", "-v"])
    (Volume(quiet=False, verbose=False), ['measure', '--', '-v'])
    """
    end = words.index("--") if "--" in words else len(words)
    head, tail = words[:end], words[end:]
    quiet, verbose = any(w in QUIET for w in head), any(w in VERBOSE for w in head)
    rest = [w for w in head if w not in (*QUIET, *VERBOSE)] + tail
    return Volume(quiet and not verbose, verbose), rest


def hush(words: list[str]) -> None:
    """Standard output goes nowhere from here on, unless it is data."""
    if "--json" not in words and tuple(words[:2]) not in STREAMS:
        sys.stdout = Nowhere()


class Nowhere(io.TextIOBase):
    """A stream that forgets what is written to it."""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)


def took(started: float) -> str:
    """What the run took, for ``-v``; memory where the system tells it.

    >>> took(time.perf_counter()).startswith("shoal ")
    True
    """
    from shoal.version import __version__

    said = f"shoal {__version__}: {time.perf_counter() - started:.1f} s, {time.process_time():.1f} s of processor time"
    try:
        import resource
    except ImportError:  # Windows
        return f"{said}."
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return f"{said}, at most {peak / 1e6:,.0f} MB."

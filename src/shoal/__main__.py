"""The command ``shoal``, also as ``python -m shoal``: Ctrl-C is answered in words from the first moment to the last.

SIGTERM, and SIGHUP unless it is ignored (``nohup``), end the command as Ctrl-C does: passing files and folders are removed.
"""

from __future__ import annotations

import gc
import signal
import sys
import types
from typing import Any, NoReturn

AGAIN = 10.0
"""Seconds after which what ended the command is raised again: foreign code in the middle of a call may lose it once."""
_ending: list[int] = []
COLLECT_AFTER = 200_000
"""New objects after which cycles are looked for: loading packages makes many objects and hardly a cycle."""


def main() -> None:
    """Load the command and run it."""
    gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])
    _without_help_of_arrow()
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGINT, _interrupted)
        signal.signal(signal.SIGALRM, _again)
    signal.signal(signal.SIGTERM, _ended)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _ended)
    try:
        from shoal.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("Stopped. Nothing was left half-written.\n")
        sys.exit(130)
    except SystemExit as ended:
        if _ending and ended.code == 130:  # a library that was stopped by SIGTERM may say so as at Ctrl-C
            sys.exit(128 + _ending[0])
        raise


class _NoPage(dict[str, list[str]]):
    """Stands for a page of help that was read: it has no entries."""

    def __init__(self, _: str) -> None:
        super().__init__(Parameters=[])


def _without_help_of_arrow() -> None:
    """Spare the command what pyarrow does for ``help()``: it reads the help of 109 classes when it is first used to compute.

    In this process only, which shows no such help; a library that is imported keeps it.
    """
    reader = types.ModuleType("pyarrow.vendored.docscrape")
    vars(reader)["NumpyDocString"] = _NoPage
    sys.modules.setdefault(reader.__name__, reader)


def _interrupted(*_: Any) -> NoReturn:
    signal.setitimer(signal.ITIMER_REAL, AGAIN)
    raise KeyboardInterrupt


def _ended(number: int, *_: Any) -> NoReturn:
    _ending.append(number)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
    sys.exit(128 + number)


def _again(*_: Any) -> NoReturn:
    if _ending:
        _ended(_ending[0])
    _interrupted()


if __name__ == "__main__":
    main()

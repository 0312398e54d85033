"""The command ``shoal``, also as ``python -m shoal``.

Ctrl-C, SIGTERM, and SIGHUP unless it is ignored (``nohup``), end the command in the same way: temporary files and folders are
removed, one sentence goes to stderr, and the exit code is 128 and the number of the signal. A second signal ends it at once.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import types
from typing import NoReturn

AGAIN = 10.0
"""Seconds after which a signal that ends the command is raised again: foreign code in the middle of a call may lose it once."""
COLLECT_AFTER = 200_000
"""New objects after which cycles are collected: loading packages creates many objects and hardly any cycles."""
STOPPED = "Stopped. Nothing was left half-written.\n"
STOPPED_AT_ONCE = b"Stopped at once. Files named .shoal-* may be left; the next run removes them.\n"
_received: list[int] = []
LEAST_ADDRESSES = 4_000_000 << 10
"""Bytes of address space: libraries reserve most of it and never use it. With less they crash."""


def main() -> None:
    """Load the command and run it."""
    gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])
    _skip_arrow_help()
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGINT, _stop)
        signal.signal(signal.SIGALRM, _stop_again)
    signal.signal(signal.SIGTERM, _stop)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _stop)
    atexit.register(_ignore_signals)  # the first to be registered is the last to be called
    atexit.register(_keep_cycles)
    code: int | str | None = 0
    _check_addresses()
    try:
        from shoal.cli import main as run

        run()
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
        sys.stderr.write(STOPPED)
    except SystemExit as ended:
        code = ended.code
        if _received and code == 128 + _received[0] != 128 + signal.SIGINT:  # at Ctrl-C the command has said so
            sys.stderr.write(STOPPED)
    finally:
        if hasattr(signal, "setitimer"):  # a timer that fires while Python shuts down would end it with another exit code
            signal.setitimer(signal.ITIMER_REAL, 0)
        if not _received:
            _ignore_signals()
    sys.exit(128 + _received[0] if _received and code else code)


def _keep_cycles() -> None:
    """Keep Python from looking for cycles in all objects at the end: a tenth of the time of a small release.

    Not where DuckDB is loaded, which writes a list of the objects left over to stderr.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()


def _check_addresses() -> None:
    """End with exit code 3 if ``ulimit -v`` leaves too little address space."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESSES:
        sys.stderr.write(
            f"MemoryBudgetError: the process may use {limit >> 20:,} MB of address space; at least {LEAST_ADDRESSES >> 20:,} MB "
            "are needed.\n  Raise ulimit -v, or limit the memory itself: --memory 512MB, or the memory of the container.\n"
        )
        sys.exit(3)


class _NoPage(dict[str, list[str]]):
    """A page of help without entries."""

    def __init__(self, _: str) -> None:
        super().__init__(Parameters=[])


def _skip_arrow_help() -> None:
    """Keep pyarrow from parsing the help of 109 classes when it first computes: the command never shows it.

    In this process only; a program that imports the library keeps the help.
    """
    reader = types.ModuleType("pyarrow.vendored.docscrape")
    vars(reader)["NumpyDocString"] = _NoPage
    sys.modules.setdefault(reader.__name__, reader)


def _stop(number: int, *_: object) -> NoReturn:
    if _received:  # a person who asks twice does not wait for anything to be removed
        os.write(2, STOPPED_AT_ONCE)
        os._exit(128 + number)
    _end(number)


def _end(number: int) -> NoReturn:
    _received.append(number)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)


def _ignore_signals() -> None:
    """The exit code is decided: while Python shuts down, it would give way to that of a signal."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def _stop_again(*_: object) -> NoReturn:
    _end(_received[0] if _received else signal.SIGINT)


if __name__ == "__main__":
    main()

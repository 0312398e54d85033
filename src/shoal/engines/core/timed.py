"""A limit on the time of a statement for engines that have none of their own: a thread that asks them to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shoal.errors import EngineError

AGAIN = 0.1
"""Seconds after which an engine is asked again: a request that comes between two parts of a statement is lost."""


@contextmanager
def ended_after(seconds: float | None, stop: Callable[[], object]) -> Iterator[Callable[[], bool]]:
    """Call ``stop`` from another thread once the block takes longer; what is given tells whether that happened.

    ``stop`` is never called after the block.
    """
    if seconds is None:
        yield lambda: False
        return
    done, over, asking = threading.Event(), threading.Event(), threading.Lock()

    def watch() -> None:
        waiting = seconds
        while not done.wait(waiting):
            over.set()
            waiting = AGAIN
            with asking:
                if not done.is_set():
                    stop()

    watcher = threading.Thread(target=watch, name="shoal statement limit", daemon=True)
    watcher.start()
    try:
        yield over.is_set
    finally:
        with asking:
            done.set()
        watcher.join()


def too_long(engine: str) -> EngineError:
    """The error of a statement that was stopped by the limit."""
    return EngineError(
        f"{engine} stopped the query: it took longer than the time limit.",
        hint="Ask for fewer columns, or raise the limit (--statement-timeout).",
    )

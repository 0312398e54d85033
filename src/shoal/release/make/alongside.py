"""Work in a second thread beside what its result is needed for later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def alongside(work: Callable[[], T], *, at_once: bool) -> Iterator[Callable[[], T]]:
    """Gives what returns the result of ``work``: begun in a thread ``at_once``, or only when it is asked for.

    An error of it is raised where the result is asked for. What was begun is waited for at the end, whatever happens.

    >>> with alongside(lambda: 6 * 7, at_once=True) as answer:
    ...     answer()
    42
    """
    if not at_once:
        yield work
        return
    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(work).result

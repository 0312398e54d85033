"""Two things at once: a second thread reads, orders or writes rows while the first works on others.

What may take its time and must be interrupted at once (a session of the vault, a statement of a server) stays in the caller's
thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")

WAITING = 2
"""Items that may wait for the second thread."""
MANY = 1 << 18
"""Rows from which on two threads share them."""


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The items, each made by a thread while the caller works on the one before; it ends where the caller does.

    >>> list(ahead(iter([1, 2, 3, 4])))
    [1, 2, 3, 4]
    """
    end: Any = object()
    with ThreadPoolExecutor(1) as maker:
        waiting = maker.submit(next, items, end)
        try:
            while (item := waiting.result()) is not end:
                waiting = maker.submit(next, items, end)
                yield item
        finally:
            maker.shutdown()
            getattr(items, "close", lambda: None)()


def behind(items: Iterator[T], work: Callable[[T], None]) -> None:
    """``work`` on each item, one after the other, while the next ones are made; an error of either ends both."""
    waiting: deque[Future[None]] = deque()
    with ThreadPoolExecutor(1) as worker:
        try:
            for item in items:
                if len(waiting) == WAITING:
                    waiting.popleft().result()
                waiting.append(worker.submit(work, item))
            for left in waiting:
                left.result()
        finally:
            worker.shutdown(cancel_futures=True)


def in_halves(n: int, work: Callable[[int, int], None]) -> None:
    """``work(start, stop)`` on all of ``n`` rows: where there are many, two threads take half of them each.

    >>> done = []
    >>> in_halves(5, lambda start, stop: done.append((start, stop)))
    >>> done
    [(0, 5)]
    """
    if n < MANY:
        work(0, n)
        return
    with ThreadPoolExecutor(1) as other:
        second = other.submit(work, n // 2, n)
        work(0, n // 2)
        second.result()


def each(items: Iterable[S], n: int, work: Callable[[S], T]) -> list[T]:
    """``work`` on each item: where they have many rows, two threads take the next one in turn.

    >>> each(["a", "b"], 5, str.upper)
    ['A', 'B']
    """
    if n < MANY:
        return [work(item) for item in items]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, items))

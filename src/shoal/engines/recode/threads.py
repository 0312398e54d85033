"""Two things at once: a second thread puts rows in order and on disk while the first reads or writes.

Only work on files of our own goes to the second thread. Whatever asks a source (a database that may take its time, a session
of the vault) stays in the caller's, where it can be interrupted.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")

WAITING = 2
"""Tables that may wait between the two threads."""
MANY = 1 << 20
"""Rows from which on two threads share them."""
_PAUSE = 0.05
"""Seconds after which a thread that waits looks whether the other has left."""


class _Ended(Exception):
    """The other thread has left."""


class _Belt:
    """A short queue between two threads; what is put in after the other side has left goes nowhere."""

    def __init__(self) -> None:
        self._items: queue.Queue[tuple[str, Any]] = queue.Queue(WAITING)
        self.left = Event()

    def put(self, word: str, value: Any = None) -> None:
        while not self.left.is_set():
            try:
                self._items.put((word, value), timeout=_PAUSE)
                return
            except queue.Full:
                continue
        raise _Ended

    def get(self) -> tuple[str, Any]:
        while True:
            try:
                return self._items.get(timeout=_PAUSE)
            except queue.Empty:
                if self.left.is_set():
                    raise _Ended from None


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The items, made in a thread of their own while the caller works on earlier ones; it ends where the caller does.

    >>> list(ahead(iter([1, 2, 3, 4])))
    [1, 2, 3, 4]
    """
    belt = _Belt()
    maker = Thread(target=_make, args=(items, belt), daemon=True)
    maker.start()
    try:
        while True:
            word, value = belt.get()
            if word == "error":
                raise value
            if word == "end":
                return
            yield value
    finally:
        belt.left.set()
        maker.join()


def _make(items: Iterator[Any], belt: _Belt) -> None:
    try:
        try:
            for item in items:
                belt.put("item", item)
            belt.put("end")
        except _Ended:
            raise
        except BaseException as error:
            belt.put("error", error)
    except _Ended:
        close = getattr(items, "close", None)
        if close is not None:
            close()


def behind(items: Iterator[T], work: Callable[[T], None]) -> None:
    """``work`` on each item, one after the other, while the next ones are made; an error of either ends both."""
    belt = _Belt()
    failed: list[BaseException] = []
    worker = Thread(target=_work, args=(work, belt, failed), daemon=True)
    worker.start()
    try:
        for item in items:
            belt.put("item", item)
        belt.put("end")
    except _Ended:
        pass
    except BaseException:
        belt.left.set()
        raise
    finally:
        worker.join()
    if failed:
        raise failed[0]


def _work(work: Callable[[Any], None], belt: _Belt, failed: list[BaseException]) -> None:
    try:
        while not belt.left.is_set():
            word, item = belt.get()
            if word == "end":
                return
            work(item)
    except _Ended:
        return
    except BaseException as error:
        failed.append(error)
        belt.left.set()


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

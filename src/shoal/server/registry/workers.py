"""Long questions are answered in processes of their own, so that nobody else waits for them and none runs for ever.

Each process opens the registry for itself. A question that has used its processor time is stopped where it is.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from threading import Lock, Thread
from typing import Any, NamedTuple

from shoal.errors import AccessError
from shoal.model.strict_json import plain
from shoal.registry.answer.answer import analysed
from shoal.registry.answer.decide import decide
from shoal.registry.answer.matching import match
from shoal.registry.answer.query import Registry
from shoal.registry.keep.store import Store

SECONDS = 2.0
"""Processor time that one question may take."""


class Question(NamedTuple):
    """A long question: ``analyse``, ``decide``, or ``matches`` of the catalogue (then of populations whose name has a text)."""

    kind: str
    attributes: list[str]
    population: str
    group_size: int
    target: float
    trust: list[str]
    size: int | None = None


def answer(registry: Registry, question: Question) -> Any:
    """The answer to a long question, as plain numbers."""
    kind, attributes, population, group_size, target, trust, size = Question(*question)
    if kind == "analyse":
        return plain(analysed(registry.query(attributes, population, anchors=trust, size=size), group_size))
    trusted = Registry(registry.source, anchors=trust) if trust else registry
    if kind == "matches":
        return plain(match(trusted.catalogue(), trusted, about=population))
    return plain(decide(trusted, attributes, population, group_size=group_size, target=target))


def cost(question: Question) -> float:
    """What a question costs its asker: advice grows with the square of the attributes; matches look at many pairs."""
    many = len(question[1])
    return {"decide": float(many * many), "matches": 100.0}.get(question[0], float(many))


def too_long() -> AccessError:
    """Why a question was stopped."""
    hint = "Name fewer attributes, or mirror the registry and ask the copy: shoal registry mirror."
    return AccessError("this question takes too long to be answered here.", hint=hint, status=503)


class Workers:
    """A few processes that answer long questions about the registry at ``url``."""

    def __init__(self, url: str, *, processes: int = 2, seconds: float = SECONDS) -> None:
        self._url, self._processes, self._seconds = url, processes, seconds
        self._pool: ProcessPoolExecutor | None = None
        self._lock = Lock()

    def ask(self, question: Question) -> Any:
        """The answer; refused where it took too long. Called from a thread, which waits."""
        try:
            answer = self._started().submit(_work, question).result(timeout=20 * self._seconds)
        except (BrokenProcessPool, TimeoutError):
            self.close()
            raise too_long() from None
        if answer is None:
            raise too_long()
        return json.loads(answer)

    def _started(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._pool is None:
                fresh = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(self._processes, fresh, initializer=_begin, initargs=(self._url, self._seconds))
            return self._pool

    def close(self) -> None:
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)
                self._pool = None


class _OutOfTimeError(Exception):
    """The processor time of a question is used up."""


_OPEN: dict[str, Any] = {}


def _begin(url: str, seconds: float) -> None:
    """Once per process: open the registry, be stopped by the clock only, and end with the service, however that ends."""

    def stop(*_: Any) -> None:
        raise _OutOfTimeError

    Thread(target=_follow, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "setitimer"):  # elsewhere only the waiting is bounded
        signal.signal(signal.SIGVTALRM, stop)
    _OPEN.update(registry=Registry(Store(url)), seconds=seconds)


def _follow() -> None:
    """Wait for the end of the service. A process of a pool does not see it by itself: the others hold its queue open."""
    service = multiprocessing.parent_process()
    if service is not None:
        service.join()
        os._exit(0)


def _work(question: Question) -> str | None:
    """The answer as JSON; nothing where time ran out. What is wrong with a question is raised."""
    _allow(_OPEN["seconds"])
    try:
        return json.dumps(answer(_OPEN["registry"], question))
    except _OutOfTimeError:
        return None
    finally:
        _allow(0.0)


def _allow(seconds: float) -> None:
    """Begin to count the processor time of a question; with 0 stop counting."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


KEPT_BYTES = 64_000_000


class AnswerCache:
    """Answers kept under the head of the log, up to a number of bytes: a new record empties them."""

    def __init__(self, most: int = KEPT_BYTES) -> None:
        self.most = most
        self._head, self._size = "", 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = Lock()

    def get(self, head: str, question: str, make: Callable[[], Any]) -> bytes:
        with self._lock:
            if head != self._head:
                self._kept.clear()
                self._head, self._size = head, 0
            answer = self._kept.get(question)
        if answer is None:
            answer = json.dumps(make(), ensure_ascii=False, allow_nan=False).encode("utf-8")
            with self._lock:
                if head == self._head and question not in self._kept:
                    self._kept[question] = answer
                    self._size += len(answer) + len(question)
                    while self._size > self.most:
                        old, body = self._kept.popitem(last=False)
                        self._size -= len(body) + len(old)
        return answer

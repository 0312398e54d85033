"""Answers of the registry kept in memory while its log stands."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any

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
            found = self._kept.get(question)
        if found is None:
            found = json.dumps(make(), ensure_ascii=False, allow_nan=False).encode("utf-8")
            with self._lock:
                if head == self._head and question not in self._kept:
                    self._kept[question] = found
                    self._size += len(found) + len(question)
                    while self._size > self.most:
                        old, body = self._kept.popitem(last=False)
                        self._size -= len(body) + len(old)
        return found

"""How often a log-in may be tried: the first tries at once, then each failure doubles the wait, for the name and for the address.

Kept in memory: it slows guessing, it decides nothing. A name waits a minute at most, so that nobody is locked out by a stranger;
an address waits longer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

FREE = 5
"""Failures that cost nothing."""
MOST_WAIT = {"name": 60.0, "address": 900.0}
FORGOTTEN = 3600.0
"""Seconds without a failure after which a name or an address starts again."""
MOST_KNOWN = 10_000


class Throttle:
    """Failures of log-ins, by name and by address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failed: dict[tuple[str, str], tuple[int, float]] = {}

    def wait(self, name: str, address: str) -> float:
        """Seconds until another try is looked at; 0 where it may be made now."""
        now = self._clock()
        with self._lock:
            return max(0.0, *(self._ends(key, now) - now for key in _keys(name, address)))

    def failed(self, name: str, address: str) -> None:
        now = self._clock()
        with self._lock:
            for key in _keys(name, address):
                many, last = self._failed.pop(key, (0, now))
                self._failed[key] = (1 if now - last >= FORGOTTEN else many + 1, now)
            while len(self._failed) > MOST_KNOWN:
                del self._failed[next(iter(self._failed))]

    def succeeded(self, name: str, address: str) -> None:
        with self._lock:
            for key in _keys(name, address):
                self._failed.pop(key, None)

    def _ends(self, key: tuple[str, str], now: float) -> float:
        many, last = self._failed.get(key, (0, now))
        return now if many < FREE else last + min(MOST_WAIT[key[0]], 2.0 ** min(many - FREE, 20))


def _keys(name: str, address: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("name", name), ("address", address)

"""Who is logged in to the vault: tokens stay in memory, for one session of the studio, until they rest too long."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from shoal.protector.remote import RemoteSession

IDLE = 1800.0
"""Seconds without a click after which the vault's token is forgotten."""
ROLES = ("operator", "requester", "approver", "auditor", "owner")


@dataclass(frozen=True)
class Console:
    """A person at the vault: what they may do there is the vault's to say; ``role`` is what the page shows."""

    role: str
    session: RemoteSession


class Consoles:
    """Consoles by session of the studio."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[str, tuple[Console, float]] = {}

    def enter(self, studio_session: str, console: Console) -> None:
        with self._lock:
            self._open[_key(studio_session)] = (console, self._clock())

    def of(self, studio_session: str) -> Console | None:
        """The console of a session, if it did not rest too long."""
        now, key = self._clock(), _key(studio_session)
        with self._lock:
            for old in [k for k, (_, at) in self._open.items() if now - at >= IDLE]:
                del self._open[old]
            found = self._open.get(key)
            if found is None:
                return None
            self._open[key] = (found[0], now)
            return found[0]

    def leave(self, studio_session: str) -> None:
        with self._lock:
            self._open.pop(_key(studio_session), None)


def _key(studio_session: str) -> str:
    return hashlib.sha256(studio_session.encode("utf-8")).hexdigest()

"""Writing to the log: events, refusals, wrong tokens, and the sealed names of the people in it."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

from shoal.errors import AccessError
from shoal.protector.log import audit, shares
from shoal.protector.store.database import Store, Tx

_program_log = logging.getLogger("shoal.protector")
_ALARMING = ("honeytoken", "limit", "self-approval", "digest", "factor", "oversight", "shares")


class Recorder:
    """Writes the events of one open vault."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._failed_logins: list[float] = []

    def record(self, tx: Tx, time: float, actor: str, action: str, *, outcome: str = "done", **details: Any) -> None:
        """Write one event, the actor under an audit pseudonym; alarms also go to the program's own log."""
        if outcome == "alarm":
            _program_log.warning("vault alarm: %s (%s)", action, details.get("reason", ""))
        name = audit.actor_pseudonym(self._store, actor) if actor else "A-unknown"
        given = {k: v for k, v in details.items() if v not in (None, "")}
        audit.append(tx, time, [{"actor": name, "action": action, "outcome": outcome, **given}])

    def remember_actor(self, tx: Tx, name: str) -> None:
        """Seal the name of an actor behind its audit pseudonym."""
        shares.remember(tx, audit.actor_pseudonym(self._store, name), name.encode())

    @contextlib.contextmanager
    def refusals(self, actor: str, action: str, **details: Any) -> Iterator[None]:
        """Log a refusal in a transaction of its own, then raise it again."""
        try:
            yield
        except AccessError as refusal:
            reason = getattr(refusal, "reason", "refused")
            with self._store.write() as tx:
                now = tx.now(self._clock)
                self.record(tx, now, actor, action, outcome="refused", reason=reason, **details)
                if reason in _ALARMING:
                    self.record(tx, now, actor, action, outcome="alarm", reason=reason, **details)
            raise

    def failed_login(self) -> None:
        """Log a wrong token, at most ten a minute: a flood must not fill the log."""
        now = self._clock()
        with self._lock:
            self._failed_logins = [t for t in self._failed_logins if now - 60 < t <= now]
            full = len(self._failed_logins) >= 10
            self._failed_logins.append(now)
        if not full:
            with self._store.write() as tx:
                self.record(tx, tx.now(self._clock), "", "login", outcome="refused", reason="token")

"""Who is logged in to the vault: tokens stay in memory, for one session of the studio, until they rest too long."""

from __future__ import annotations

import datetime
import hashlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shoal.protector.care.reports import drawn
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


MOST_EVENTS = 200
SEEN = {"pending": "waits for approval", "approved": "approved", "denied": "refused", "delivered": "revealed, once"}


def shown(console: Console) -> dict[str, Any]:
    """Everything that the page of a role needs; one list of calls per role, so that nobody's token asks for more."""
    return {"role": console.role} | {
        "operator": _operator,
        "requester": _requests,
        "approver": _requests,
        "auditor": _auditor,
        "owner": _owner,
    }[console.role](console.session)


def _operator(session: RemoteSession) -> dict[str, Any]:
    return {"domains": [d.name for d in session.domains() if not d.shredded]}


def _requests(session: RemoteSession) -> dict[str, Any]:
    rows = []
    for r in sorted(session.requests(), key=lambda r: -r.created):
        rows.append(
            {
                "id": r.id,
                "domain": r.domain,
                "purpose": r.purpose,
                "case": r.case,
                "records": r.records,
                "made": day(r.created),
                "ends": day(r.expires),
                "status": r.status,
                "words": SEEN.get(r.status, r.status),
                "digest": r.digest,
                "sealed": bool(r.recipient),
            }
        )
    return {"requests": rows}


def _auditor(session: RemoteSession) -> dict[str, Any]:
    events = session.care.read_log(session, last=MOST_EVENTS)
    rows = session.care.report(session, period="day", by="actor")
    return {
        "verdict": session.care.verify_log(session),
        "events": [_event(e) for e in reversed(events)],
        "chart": drawn(rows, "reveal", "day", None),
        **_requests(session),
        **_changes(session),
    }


def _owner(session: RemoteSession) -> dict[str, Any]:
    domains = [
        {"name": d.name, "kind": d.kind, "scope": d.scope, "version": d.active, "shredded": bool(d.shredded)}
        for d in session.domains()
    ]
    return {"domains": domains, **_requests(session), **_changes(session)}


def _changes(session: RemoteSession) -> dict[str, Any]:
    return {
        "changes": [
            {
                "id": c.id,
                "action": c.action,
                "what": json.dumps(dict(c.what), ensure_ascii=False),
                "proposer": c.proposer,
                "made": day(c.created),
            }
            for c in session.changes()
        ]
    }


def _event(event: dict[str, Any]) -> dict[str, str]:
    told = {k: v for k, v in event.items() if k not in ("n", "time", "action", "actor") and v not in ("", None, [], {})}
    return {
        "n": str(event.get("n", "")),
        "time": event["time"] if isinstance(event.get("time"), str) else day(float(event.get("time", 0))),
        "action": str(event.get("action", "")),
        "actor": str(event.get("actor", "")),
        "told": ", ".join(f"{k} {v if not isinstance(v, dict | list) else json.dumps(v)}" for k, v in told.items())[:300],
    }


def day(moment: float) -> str:
    """
    >>> day(0.0)
    '1970-01-01 00:00'
    """
    return datetime.datetime.fromtimestamp(moment, datetime.UTC).strftime("%Y-%m-%d %H:%M")

"""What each role sees of the vault."""

from __future__ import annotations

import datetime
import json
from typing import Any

from shoal.protector.care.reports import drawn
from shoal.protector.remote import RemoteSession
from shoal.studio.vault.consoles import Console

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

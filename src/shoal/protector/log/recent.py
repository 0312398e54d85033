"""Numbers about the newest events of the log, for monitoring: no actor, no person."""

from __future__ import annotations

from shoal.protector.log import audit
from shoal.protector.store.database import Store


def recent(store: Store, last: int = 1000) -> dict[str, int]:
    """Alarms, refusals and reveals among the newest events."""
    with store.read() as tx:
        found = list(audit.events(tx, first=max(1, tx.state.audit_seq - last + 1)))
    return {
        "recent_alarms": sum(event["outcome"] == "alarm" for event in found),
        "recent_refusals": sum(event["outcome"] == "refused" for event in found),
        "recent_reveals": sum(event["action"] == "reveal" and event["outcome"] == "done" for event in found),
    }

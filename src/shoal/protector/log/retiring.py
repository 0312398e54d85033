"""Rotation of the log: events that lie in an archive of segments leave the database.

Takes    the last event of the archive and the hash there, agreed by two people
Keeps    the sealed state remembers both, so the log that is left continues them and verifies as before, and nothing can be cut or
         put back unseen; checkpoints stay, so that witnesses still count; and every event stays readable but the daily work
         (:data:`DAILY`): who was told, what was refused, every alarm, right, key and accepted state
Differs  the daily work of that time is read from the archive, which is checked without the vault (:mod:`.segments`)
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from shoal.errors import DataError, TamperError, UsageError
from shoal.protector.log import audit, checkpoints, kept
from shoal.protector.store.connection import blob
from shoal.protector.store.database import Tx, step

DAILY = frozenset({"find", "pseudonymize", "audit"})
"""Actions whose events leave, where they were simply done."""


def signed_end(tx: Tx, upto: int, head: str) -> dict[str, Any]:
    """The checkpoint that closes the part of the log to leave; refused where the archive does not end at one of this vault."""
    state = tx.state
    if not state.retired_seq < upto <= state.audit_seq:
        raise UsageError(
            f"the archive ends at event {upto}; the database holds the events {state.retired_seq + 1} to {state.audit_seq}.",
            hint="Bring the archive up to date first: `shoal vault audit --segments`.",
        )
    found = tx.first("SELECT hash FROM vault_audit WHERE seq = ?", upto)
    signed = checkpoints.newest_checkpoint(tx, upto)
    if found is None or signed is None or signed["seq"] != upto or blob(found[0]).hex() != signed["head"]:
        raise UsageError(f"the log was not signed at event {upto}.", hint="Segments end where it was.")
    if head != signed["head"]:
        raise DataError("the archive does not hold this vault's log.", hint="It is another vault's, or was changed.")
    return signed


def retire(tx: Tx, upto: int, head: str) -> dict[str, int]:
    """Take the events up to ``upto`` out of the database; how many left, and how many of them stay readable."""
    signed_end(tx, upto, head)
    first = tx.state.retired_seq + 1
    count, staying = 0, []
    for event in takewhile(lambda event: event["n"] <= upto, audit.events(tx, first=first)):
        count += 1
        if event["action"] not in DAILY or event["outcome"] != "done":
            staying.append(event)
    if count != upto - first + 1:
        raise TamperError("events of the log are missing.", hint="Run `shoal vault audit --verify`.")
    kept.put(tx, staying)
    tx.run("DELETE FROM vault_audit WHERE seq <= ?", upto)
    tx.state.retired_seq, tx.state.retired_head = upto, head
    step("retired")
    return {"events": count, "kept": len(staying)}

"""Events that stay readable in the vault after the log around them has left the database (:mod:`.retiring`).

They lie sealed in parts that are written once; the sealed state knows how many parts there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from shoal.errors import TamperError
from shoal.protector.store.database import Tx
from shoal.protector.store.kinds import SETTING

PART = 2000
"""Events of one part."""


def put(tx: Tx, events: Sequence[dict[str, Any]]) -> None:
    """Keep these events, in order, behind those kept before."""
    for start in range(0, len(events), PART):
        tx.state.kept_parts += 1
        tx.put(SETTING, _name(tx.state.kept_parts), {"events": list(events[start : start + PART])})


def read(tx: Tx) -> Iterator[dict[str, Any]]:
    """All events that were kept, in order, each with its number ``n``."""
    for part in range(1, tx.state.kept_parts + 1):
        body = tx.get(SETTING, _name(part))
        if body is None:
            raise TamperError("events that were kept from an older part of the log are missing.", hint="Restore a trusted copy.")
        yield from body["events"]


def _name(part: int) -> str:
    return f"kept events {part}"

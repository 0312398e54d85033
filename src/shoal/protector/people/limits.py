"""Rate limits and alarms per actor, action and purpose.

Each limit counts records in a window of time: above ``alarm`` an alarm is logged (once per window), above ``max`` the action
is refused. The limit for all purposes (``*``) counts them together, whatever a requester writes as a purpose; a limit for one
purpose stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.errors import AccessError, UsageError
from shoal.protector.store.database import Tx
from shoal.protector.store.kinds import LIMIT, USAGE

HOUR, DAY = 3600.0, 86400.0


@dataclass(frozen=True)
class Limit:
    """At most ``max`` records in ``seconds``; an alarm above ``alarm``. None: no bound."""

    seconds: float
    max: int | None
    alarm: int | None

    def __post_init__(self) -> None:
        for value in (self.max, self.alarm):
            if value is not None and value < 0:
                raise UsageError("a limit cannot be negative.")
        if not self.seconds > 0:
            raise UsageError("a limit needs a window longer than zero seconds.")


DEFAULTS = {
    "find": Limit(HOUR, 1_000_000, 100_000),
    "translate": Limit(DAY, 10_000_000, 1_000_000),
    "request": Limit(DAY, 1_000, 100),
    "reveal": Limit(DAY, 1_000, 100),
    "pseudonymize": Limit(DAY, None, 100_000_000),
}
"""What holds until an owner says otherwise; reveals always have a bound."""

LARGEST_REVEAL = 100_000
"""No owner can raise the number of identities revealed to one person in a day above this."""


def read(tx: Tx, action: str, purpose: str) -> dict[str, Limit]:
    """The limits that hold for an action: that for all purposes together (``*``), and that of the purpose if it has one."""
    stored = tx.get(LIMIT, "limits") or {}
    found = {name: Limit(**stored[f"{action}|{name}"]) for name in ("*", _plain(purpose)) if f"{action}|{name}" in stored}
    return {"*": DEFAULTS[action], **found} if action in DEFAULTS else found


def set_limit(tx: Tx, action: str, purpose: str, limit: Limit) -> None:
    """Change a limit (an owner's right); those on reveals can be moved but not lifted."""
    if action not in DEFAULTS:
        raise UsageError(f"there is no limit on '{action}'.", hint=f"Known: {', '.join(DEFAULTS)}.")
    if action in ("request", "reveal"):
        per_day = None if limit.max is None else limit.max * DAY / limit.seconds
        if per_day is None or per_day > LARGEST_REVEAL:
            raise UsageError(
                f"reveals cannot go unlimited: at most {LARGEST_REVEAL:,} records a day.", hint="Name a lower limit."
            )
    stored = tx.get(LIMIT, "limits") or {}
    stored[f"{action}|{_plain(purpose)}"] = {"seconds": limit.seconds, "max": limit.max, "alarm": limit.alarm}
    tx.put(LIMIT, "limits", stored)


def count(tx: Tx, actor: str, action: str, purpose: str, records: int, time: float) -> bool:
    """Count records against the limits; True when this crossed an alarm line. Above a limit: refused."""
    crossed = [
        _count_one(tx, f"{actor}|{action}|{name}", action, limit, records, time)
        for name, limit in read(tx, action, purpose).items()
        if limit.max is not None or limit.alarm is not None
    ]
    return any(crossed)


def _count_one(tx: Tx, name: str, action: str, limit: Limit, records: int, time: float) -> bool:
    window = int(time // limit.seconds)
    usage: dict[str, Any] = tx.get(USAGE, name) or {}
    if usage.get("window") != window or usage.get("seconds") != limit.seconds:
        usage = {"window": window, "seconds": limit.seconds, "records": 0, "alarmed": False}
    total = usage["records"] + records
    if limit.max is not None and total > limit.max:
        raise AccessError(
            f"over the limit: {total:,} records to {action} within {limit.seconds:g} seconds; {limit.max:,} are allowed.",
            hint="Wait for the next window, or ask an owner to change the limit.",
            reason="limit",
        )
    crossed = limit.alarm is not None and total > limit.alarm and not usage["alarmed"]
    usage["records"] = total
    usage["alarmed"] = bool(usage["alarmed"] or crossed)
    tx.put(USAGE, name, usage)
    return crossed


def _plain(purpose: str) -> str:
    """A purpose as limits know it: case and blanks around it do not matter."""
    return purpose.strip().casefold() or "*"

"""Rate limits and alarms per actor, action and purpose.

Each limit counts records in a window of time: above ``alarm`` an alarm is logged (once per window), above ``max`` the action
is refused. An action may have limits for several windows (an hour, a day): all hold. Those for all purposes (``*``) count them
together, for any purpose that a requester writes; limits for one purpose stand beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from shoal.errors import AccessError, UsageError
from shoal.protector.store.database import Tx
from shoal.protector.store.state import LIMIT, USAGE

HOUR, DAY = 3600.0, 86400.0

Usage = dict[str, Any]
"""What a person's calls of one action are counted in: one entry for each limit, and one for signs of trying out."""


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


DEFAULTS: dict[str, tuple[Limit, ...]] = {
    "find": (Limit(HOUR, 100_000, 20_000), Limit(DAY, 1_000_000, 200_000)),
    "translate": (Limit(HOUR, 200_000, 100_000), Limit(DAY, 1_000_000, 500_000)),
    "request": (Limit(DAY, 1_000, 100),),
    "reveal": (Limit(DAY, 1_000, 100),),
    "pseudonymize": (Limit(HOUR, 200_000, 100_000), Limit(DAY, 1_000_000, 500_000)),
    "honeytoken": (Limit(DAY, 100, 20),),
}
"""What holds until two people say otherwise. Who may pseudonymise or find can try identities out, so that is bounded too;
for a bulk import the limits are raised, and put back afterwards. Reveals always have a bound."""

LARGEST_REVEAL = 100_000
"""No owner can raise the number of identities revealed to one person in a day above this."""


def read(tx: Tx, action: str, purpose: str) -> list[tuple[str, Limit]]:
    """The limits that hold for an action: those for all purposes together (``*``), and those of the purpose if it has any."""
    stored = tx.get(LIMIT, "limits") or {}
    limits = {("*", limit.seconds): limit for limit in DEFAULTS.get(action, ())}
    for key, body in stored.items():
        what, name, _ = key.split("|", 2)
        if what == action and name in ("*", _plain(purpose)):
            limits[name, body["seconds"]] = Limit(**body)
    return [(name, limit) for (name, _), limit in limits.items()]


def set_limit(tx: Tx, action: str, purpose: str, limit: Limit) -> None:
    """Set the limit of an action for one window; those on reveals can be moved but not lifted."""
    check_limit(action, limit)
    stored = tx.get(LIMIT, "limits") or {}
    stored[f"{action}|{_plain(purpose)}|{limit.seconds:g}"] = {"seconds": limit.seconds, "max": limit.max, "alarm": limit.alarm}
    tx.put(LIMIT, "limits", stored)


def check_limit(action: str, limit: Limit) -> None:
    """Refuse a limit on what is not limited, and one that would leave reveals unlimited."""
    if action not in DEFAULTS:
        raise UsageError(f"'{action}' has no limit.", hint=f"Known: {', '.join(DEFAULTS)}.")
    if action in ("request", "reveal"):
        per_day = None if limit.max is None else limit.max * DAY / limit.seconds
        if per_day is None or per_day > LARGEST_REVEAL:
            hint = "Name a lower limit."
            raise UsageError(f"reveals cannot go unlimited: at most {LARGEST_REVEAL:,} records a day.", hint=hint)


def count(tx: Tx, actor: str, action: str, purpose: str, records: int, time: float) -> tuple[Usage, bool]:
    """Count records against the limits; what is counted, and whether this crossed an alarm line. Above a limit: refused.

    Nothing is stored before :func:`keep`, so that all counters of a call are written at once.
    """
    bounded = [(name, limit) for name, limit in read(tx, action, purpose) if limit.max is not None or limit.alarm is not None]
    usage: Usage = tx.get(USAGE, f"{actor}|{action}") or {}
    crossed = [_count_one(usage, f"{name}|{limit.seconds:g}", action, limit, records, time) for name, limit in bounded]
    return usage, any(crossed)


def keep(tx: Tx, actor: str, action: str, usage: Usage) -> None:
    """Store what was counted."""
    tx.put(USAGE, f"{actor}|{action}", usage)


def _count_one(usage: Usage, name: str, action: str, limit: Limit, records: int, time: float) -> bool:
    window = int(time // limit.seconds)
    used = usage.get(name, {})
    if used.get("window", -1) < window:  # after the vault's time was set back, what was counted goes on counting
        used = {"window": window, "records": 0, "alarmed": False}
    total = used["records"] + records
    if limit.max is not None and total > limit.max:
        what = f"over the limit: {total:,} records to {action} within {limit.seconds:g} seconds; {limit.max:,} are allowed."
        raise AccessError(what, hint="Wait for the next window, or ask an owner to change the limit.", reason="limit")
    crossed = limit.alarm is not None and total > limit.alarm and not used["alarmed"]
    usage[name] = {"window": window, "records": total, "alarmed": bool(used["alarmed"] or crossed)}
    return crossed


def _plain(purpose: str) -> str:
    """A purpose as limits know it: case and blanks around it do not matter."""
    return purpose.strip().casefold().replace("|", "/") or "*"


WINDOW = 3600.0
MANY = 1000
"""Fewer look-ups, or fewer numbers in a row, do not count as a sign."""

MISSING = 0.9
"""The share of look-ups without an answer that is a sign."""

SAMPLE = 20_000
"""Identities of one call that are looked at."""

_NUMBERED = re.compile(r"(\D*)(\d{1,18})(\D*)")
_ENTRY = "enumeration"


def enumeration_signs(tx: Tx, usage: Usage, identities: Iterable[str | None], missed: int, time: float) -> list[str]:
    """Take note of a call in ``usage``; the signs that became clear with it: ``misses``, ``sequence``."""
    window = int(time // WINDOW)
    seen = usage.get(_ENTRY, {})
    if seen.get("window", -1) < window:
        seen = {"window": window, "asked": 0, "missed": 0, "steps": 0, "ends": seen.get("ends", []), "told": []}
    known = [text for text in islice(identities, SAMPLE) if text is not None]
    steps, ends = _steps(tx, known, seen["ends"])
    count, missed, steps = seen["asked"] + len(known), seen["missed"] + missed, seen["steps"] + steps
    signs = {"misses": missed >= MANY and missed >= MISSING * count, "sequence": steps >= MANY}
    fresh = [sign for sign, there in signs.items() if there and sign not in seen["told"]]
    details = [*seen["told"], *fresh]
    usage[_ENTRY] = {"window": window, "asked": count, "missed": missed, "steps": steps, "ends": ends, "told": details}
    return fresh


def _steps(tx: Tx, texts: list[str], ends: list[str]) -> tuple[int, list[str]]:
    """How many identities follow directly on another one, upwards or downwards; and the marks of what would go on.

    Marks of the number above the highest and of the one below the lowest are keyed digests, so that calls of one identity each
    are seen as a sequence without keeping an identity.
    """
    matches = [match.groups() for text in texts if (match := _NUMBERED.fullmatch(text))]
    if not matches:
        return 0, ends
    keys = sorted({(before, after, len(digits), int(digits)) for before, digits, after in matches})
    steps = sum(a[:3] == b[:3] and b[3] - a[3] == 1 for a, b in pairwise(keys))
    lowest, highest = keys[0], keys[-1]
    steps += bool(ends) and (_mark(tx, *lowest) == ends[0] or _mark(tx, *highest) == ends[1])
    return steps, [_beside(tx, highest, 1), _beside(tx, lowest, -1)]


def _beside(tx: Tx, key: tuple[str, str, int, int], step: int) -> str:
    """The mark of the number above or below one of this form."""
    before, after, width, number = key
    return _mark(tx, before, after, len(f"{number + step:0{width}d}"), number + step)


def _mark(tx: Tx, before: str, after: str, width: int, number: int) -> str:
    return tx.store.token_prf.digest(b"sequence " + repr((before, after, width, number)).encode()).hex()[:32]

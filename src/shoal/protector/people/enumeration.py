"""Signs that somebody tries identities out: many that are not there, or numbers one after the other.

Counted per person and action in windows of an hour, over calls of any size, in the same stored object as the limits: what a
transaction answered it has also counted, so that no crash forgets it. A sign is an alarm in the log, once per window; it does not
stop the work, for a register that is numbered through looks the same the first time. The limits stop it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice, pairwise

from shoal.protector.people.limits import Usage
from shoal.protector.store.database import Tx

WINDOW = 3600.0
MANY = 1000
"""Fewer look-ups, or fewer numbers in a row, are no sign."""

MISSING = 0.9
"""The share of look-ups without an answer that is a sign."""

SAMPLE = 20_000
"""Identities of one call that are looked at."""

_NUMBERED = re.compile(r"(\D*)(\d{1,18})(\D*)")
_ENTRY = "enumeration"


def watch(tx: Tx, usage: Usage, identities: Iterable[str | None], missed: int, time: float) -> list[str]:
    """Take note of a call in ``usage``; the signs that became clear with it: ``misses``, ``sequence``."""
    window = int(time // WINDOW)
    seen = usage.get(_ENTRY, {})
    if seen.get("window") != window:
        seen = {"window": window, "asked": 0, "missed": 0, "steps": 0, "ends": seen.get("ends", []), "told": []}
    known = [text for text in islice(identities, SAMPLE) if text is not None]
    steps, ends = _steps(tx, known, seen["ends"])
    asked, missed, steps = seen["asked"] + len(known), seen["missed"] + missed, seen["steps"] + steps
    signs = {"misses": missed >= MANY and missed >= MISSING * asked, "sequence": steps >= MANY}
    fresh = [sign for sign, there in signs.items() if there and sign not in seen["told"]]
    told = [*seen["told"], *fresh]
    usage[_ENTRY] = {"window": window, "asked": asked, "missed": missed, "steps": steps, "ends": ends, "told": told}
    return fresh


def _steps(tx: Tx, texts: list[str], ends: list[str]) -> tuple[int, list[str]]:
    """How many identities follow directly on another one, upwards or downwards; and the marks of what would go on.

    Marks of the number above the highest and of the one below the lowest are keyed digests, so that calls of one identity each
    are seen as a sequence without keeping an identity.
    """
    found = [match.groups() for text in texts if (match := _NUMBERED.fullmatch(text))]
    if not found:
        return 0, ends
    keys = sorted({(before, after, len(digits), int(digits)) for before, digits, after in found})
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

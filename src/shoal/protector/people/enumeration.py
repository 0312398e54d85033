"""Signs that somebody tries identities out: many that are not there, or numbers one after the other.

Counted per person and action in windows of an hour, over calls of any size. A sign is an alarm in the log, once per window; it
does not stop the work, for a register that is numbered through looks the same the first time. The limits stop it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice, pairwise
from typing import Any

from shoal.protector.store.database import Tx
from shoal.protector.store.kinds import USAGE

WINDOW = 3600.0
MANY = 1000
"""Fewer look-ups, or fewer numbers in a row, are no sign."""

MISSING = 0.9
"""The share of look-ups without an answer that is a sign."""

SAMPLE = 20_000
"""Identities of one call that are looked at."""

_NUMBERED = re.compile(r"(\D*)(\d{1,18})(\D*)")


def watch(tx: Tx, actor: str, action: str, identities: Iterable[str | None], missed: int, time: float) -> list[str]:
    """Take note of a call; the signs that became clear with it: ``misses``, ``sequence``."""
    name = f"{actor}|{action}|enumeration"
    window = int(time // WINDOW)
    seen: dict[str, Any] = tx.get(USAGE, name) or {}
    if seen.get("window") != window:
        seen = {"window": window, "asked": 0, "missed": 0, "steps": 0, "next": seen.get("next", ""), "told": []}
    known = [text for text in islice(identities, SAMPLE) if text is not None]
    steps, seen["next"] = _steps(tx, known, seen["next"])
    seen["asked"] += len(known)
    seen["missed"] += missed
    seen["steps"] += steps
    signs = {"misses": seen["missed"] >= MANY and seen["missed"] >= MISSING * seen["asked"], "sequence": seen["steps"] >= MANY}
    fresh = [sign for sign, there in signs.items() if there and sign not in seen["told"]]
    seen["told"] = [*seen["told"], *fresh]
    tx.put(USAGE, name, seen)
    return fresh


def _steps(tx: Tx, texts: list[str], expected: str) -> tuple[int, str]:
    """How many identities follow directly on another one; and the mark of what would follow the highest.

    The mark is a keyed digest, so that calls of one identity each are seen as a sequence without keeping an identity.
    """
    found = [match.groups() for text in texts if (match := _NUMBERED.fullmatch(text))]
    if not found:
        return 0, expected
    keys = sorted({(before, after, len(digits), int(digits)) for before, digits, after in found})
    steps = sum(a[:3] == b[:3] and b[3] - a[3] == 1 for a, b in pairwise(keys))
    steps += bool(expected) and _mark(tx, keys[0]) == expected
    before, after, width, number = keys[-1]
    return steps, _mark(tx, (before, after, len(f"{number + 1:0{width}d}"), number + 1))


def _mark(tx: Tx, key: tuple[str, str, int, int]) -> str:
    return tx.store.token_prf.digest(b"sequence " + repr(key).encode()).hex()[:32]

"""What SQLite lacks, in Python: doubles to the last bit, sets, hashes."""

from __future__ import annotations

import hashlib
import math
from typing import Any

from shoal.engines.servers.sqlite.cells import stands_for


class Set:
    """A set of whole numbers as a text that is the same for the same set."""

    def __init__(self) -> None:
        self.found: set[int | None] = set()

    def step(self, value: int | None) -> None:
        self.found.add(value)

    def finalize(self) -> str:
        ordered = ",".join("" if v is None else str(v) for v in sorted(self.found, key=lambda v: (v is not None, v or 0)))
        return hashlib.sha256(ordered.encode()).hexdigest()


def _double(text: str | None) -> float | None:
    return None if text is None else float(text)


def _spelled(value: float | None) -> str | None:
    return None if value is None else repr(float(value) + 0.0)


def _md5(text: str | None) -> str | None:
    return None if text is None else hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _floor(value: float | None) -> float | None:
    return None if value is None else float(math.floor(value)) if math.isfinite(value) else value


FUNCTIONS: tuple[tuple[str, int, Any], ...] = (
    ("SHOAL_DOUBLE", 1, _double), ("SHOAL_TEXT", 1, _spelled), ("SHOAL_IS", 2, stands_for),
    ("MD5", 1, _md5), ("FLOOR", 1, _floor),
)  # fmt: skip

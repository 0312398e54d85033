"""What the database holds, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["queued", "running", "done", "failed", "cancelled", "lost"]
OPEN: tuple[State, ...] = ("queued", "running")
"""States of jobs that are not at their end."""


@dataclass(frozen=True)
class Kept:
    """A table of the workspace. ``told`` is what its card says: numbers and words of the library, no data value."""

    id: str
    name: str
    file: str
    form: str
    bytes: int
    at: int
    made: float
    touched: float
    told: Mapping[str, Any] = field(default_factory=dict)

    @property
    def read(self) -> dict[str, Any]:
        """How a person has it read, as options of :func:`shoal.open`: for as long as no policy says it."""
        return dict(self.told.get("read", {}))


@dataclass(frozen=True)
class Step:
    """One step of a table's history: its words, the whole policy after it, and the columns that a search leaves alone."""

    number: int
    words: str
    policy: str
    locked: tuple[str, ...]
    made: float

    @property
    def version(self) -> str:
        """Differs from that of every other step, also of one that had the same number and was replaced."""
        return f"{self.number}-{int(1e6 * self.made):x}"


@dataclass(frozen=True)
class Job:
    """Work in a worker process. ``found`` is its result, or the best so far; ``message`` and ``hint`` why there is none."""

    id: str
    table_id: str
    kind: str
    state: State
    asked: Mapping[str, Any]
    share: float
    doing: str
    found: Mapping[str, Any]
    message: str
    hint: str
    made: float
    begun: float
    ended: float

    @property
    def open(self) -> bool:
        return self.state in OPEN


@dataclass(frozen=True)
class Made:
    """A release that was written and proven. ``told`` holds what was counted: k, records, left out …"""

    id: str
    table_id: str
    name: str
    made: float
    told: Mapping[str, Any] = field(default_factory=dict)

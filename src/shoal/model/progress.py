"""Progress of long work."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Called with the share done (0 to 1) and what is being done."""


def silent(done: float, what: str) -> None:
    """Progress that nobody watches."""

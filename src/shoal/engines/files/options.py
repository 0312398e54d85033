"""Options of a format: those that it does not have are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.errors import UsageError, nearest


def require_option(options: dict[str, Any], known: Sequence[str], what: str) -> None:
    """Refuse options that a format does not have."""
    for name in options:
        if name not in known:
            close = nearest(name, known)
            hint = f"Options: {', '.join(known)}." + (f" Did you mean '{close}'?" if close else "")
            raise UsageError(f"{what} has no option '{name}'.", hint=hint)

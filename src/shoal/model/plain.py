"""Results as plain values that JSON can hold."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from shoal.errors import InternalError


def plain(value: Any) -> Any:
    """Arrays to lists, estimates and other results to objects, non-finite numbers to null.

    >>> plain({"k": 5, "t": float("nan"), "path": Path("a")})
    {'k': 5, 't': None, 'path': 'a'}
    """
    if hasattr(value, "to_json"):
        return plain(value.to_json())
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int | bool) or value is None:
        return value
    if isinstance(value, Path):
        return str(value)
    raise InternalError(f"a result of type '{type(value).__name__}' cannot be written as JSON.")

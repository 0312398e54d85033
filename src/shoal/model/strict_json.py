"""JSON: results as plain values, and texts from strangers read with one meaning only."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from shoal.errors import InternalError


def loads(text: str | bytes) -> Any:
    """A JSON value; names given twice, NaN and infinities are refused (``ValueError``): programs read them differently.

    >>> loads('{"a": 1}')
    {'a': 1}
    >>> loads('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: a name is given twice
    """
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a name is given twice")
    return out


def _no_constant(name: str) -> Any:
    raise ValueError("not a number of JSON")


_PLAIN = frozenset((str, int, bool, type(None)))


def plain(value: Any) -> Any:
    """Arrays to lists, estimates and other results to objects, non-finite numbers to null.

    >>> plain({"k": 5, "t": float("nan"), "path": Path("a")})
    {'k': 5, 't': None, 'path': 'a'}
    """
    if type(value) in _PLAIN:
        return value
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

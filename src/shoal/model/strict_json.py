"""JSON from strangers: one meaning only."""

from __future__ import annotations

import json
from typing import Any


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

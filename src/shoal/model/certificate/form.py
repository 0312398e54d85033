"""Dataclasses as strict JSON objects: one walk over their types reads them, writes them and gives their JSON schema.

Takes    dataclasses whose fields are texts, whole numbers, numbers, booleans, literals, mappings by text, tuples, unions with
         None, any JSON value, or further dataclasses
Returns  plain values and back, without loss: what is read is written again with the same bytes
Keeps    an unknown, missing or mistyped part is refused, named by its place; the value itself is never shown
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from shoal.errors import InternalError, TamperError

HINT = "Ask the publisher for the release again."
T = TypeVar("T")


LEFT_OUT = {"left_out": None}
"""Metadata of a field that is left out of the JSON object while it is None."""


def left_out_with(other: str) -> dict[str, str]:
    """Metadata of a field that is left out while another one is None; it may be null itself."""
    return {"left_out": other}


def plain(value: Any) -> Any:
    """A value as JSON holds it."""
    kind = type(value)
    if kind is str or kind is int or kind is float or kind is bool or value is None:
        return value
    if dataclasses.is_dataclass(kind):
        given = ((name, getattr(value, name), rule) for name, rule in _parts(kind))
        return {n: plain(v) for n, v, rule in given if rule is None or getattr(value, rule or n) is not None}
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, tuple | list) else value


@cache
def _parts(kind: type) -> list[tuple[str, str | None]]:
    """The name of each field, and that of the field without which it is left out: empty for itself, None if it never is."""
    rule = {f.name: f.metadata.get("left_out") or "" for f in dataclasses.fields(kind) if "left_out" in f.metadata}
    return [(f.name, rule.get(f.name)) for f in dataclasses.fields(kind)]


def typed(kind: type[T], data: Any, place: str = "") -> T:
    """The dataclass that a plain object stands for; parts that are missing, unknown or mistyped are refused."""
    where = f"'{place}' of the certificate" if place else "the certificate"
    if not isinstance(data, dict):
        raise TamperError(f"{where} is not a group of named values.", hint=HINT)
    fields, hints = {f.name: f for f in dataclasses.fields(kind)}, _hints(kind)  # type: ignore[arg-type]
    if not set(data) <= set(fields):
        raise TamperError(f"{where} has a part that Shoal never writes.", hint=HINT)
    lacking = [name for name, f in fields.items() if "left_out" not in f.metadata and name not in data]
    if lacking:
        raise TamperError(f"{where} lacks the part '{lacking[0]}'.", hint=HINT)
    values = {name: _value(hints[name], data[name], f"{place}.{name}" if place else name) for name in data}
    try:
        return kind(**values)
    except InternalError:  # a value that its own type refuses
        raise TamperError(f"{where} holds what Shoal never writes.", hint=HINT) from None


def _value(hint: Any, data: Any, place: str) -> Any:
    """A plain value as the type that is expected of it."""
    if hint is Any or (type(data) is hint and hint is not float):
        return data
    origin, inner = get_origin(hint), get_args(hint)
    if dataclasses.is_dataclass(hint):
        return typed(hint, data, place)  # type: ignore[arg-type]
    if origin in (Union, types.UnionType):
        return _one_of(inner, data, place)
    if origin is Literal:
        return data if any(data is w or (type(data) is type(w) and data == w) for w in inner) else _refuse(place, "of the words")
    if origin is tuple:
        return tuple(_value(inner[0], d, place) for d in _is(data, list, place, "a list"))
    if origin is not None and issubclass(origin, Mapping):
        return {name: _value(inner[1], d, place) for name, d in _is(data, dict, place, "a group of named values").items()}
    if hint is float:
        good = type(data) in (int, float) and math.isfinite(data)
        return data if good else _refuse(place, "a finite number")
    words = {str: "a text", int: "a whole number", bool: "true or false", type(None): "empty"}
    return data if type(data) is hint else _refuse(place, words[hint])


def _one_of(kinds: tuple[Any, ...], data: Any, place: str) -> Any:
    if data is None and type(None) in kinds:
        return None
    rest = [k for k in kinds if k is not type(None)]
    for kind in rest[:-1]:
        if type(data) is kind:
            return data
    return _value(rest[-1], data, place)


def _is(data: Any, kind: type, place: str, words: str) -> Any:
    return data if type(data) is kind else _refuse(place, words)


def _refuse(place: str, words: str) -> Any:
    expected = "one of the words that Shoal writes" if words == "of the words" else words
    raise TamperError(f"'{place}' of the certificate is not {expected}.", hint=HINT)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)

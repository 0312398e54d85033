"""Write the published JSON schemas of certificates from their types. Run after a part of a certificate changed."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from shoal.model.certificate import certificate
from shoal.model.certificate.certificate import EVENT_FORMAT, FORMAT, Certificate
from shoal.model.certificate.events import EventCertificate
from shoal.model.certificate.halves import DERIVED, HEAD, above

ABSENT: Any = object()
FILES = {
    "certificate.schema.json": (Certificate, FORMAT, "release"),
    "event_certificate.schema.json": (EventCertificate, EVENT_FORMAT, "event release"),
}


def certificate_schema(file: str = "certificate.schema.json") -> dict[str, Any]:
    """The JSON schema of a signed certificate, as the package publishes it under this name."""
    kind, version, what = FILES[file]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Certificate of a Shoal {what} ({version})",
        **schema_of_halves(schema(kind), version),
    }


def schema(kind: type) -> dict[str, Any]:
    """The JSON schema of a dataclass: every part named, no other allowed."""
    hints, fields = get_type_hints(kind), dataclasses.fields(kind)
    return {
        "type": "object",
        "additionalProperties": False,
        "required": sorted(f.name for f in fields if "left_out" not in f.metadata),
        "properties": {f.name: _schema(hints[f.name]) for f in fields},
    }


_WORDS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def _schema(hint: Any) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if dataclasses.is_dataclass(hint):
        return schema(hint)  # type: ignore[arg-type]
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(i) for i in inner]}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is tuple:
        return {"type": "array", "items": _schema(inner[0])}
    if origin is not None:
        return {"type": "object", "additionalProperties": _schema(inner[1])}
    return {"type": _WORDS[hint]}


def schema_of_halves(flat: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The JSON schema of the file from that of the certificate in one piece."""
    names = flat["properties"]
    body = {**flat, "properties": {n: s for n, s in names.items() if n not in (*HEAD, "attacks")}}
    parts = [_schema_half(body, (), DERIVED[version], wanted=wanted) for wanted in (True, False)]
    for part in parts:
        part["properties"]["attacks"] = names["attacks"]
        part["required"] = sorted([*(n for n in part["required"] if n in part["properties"] and n != "attacks"), "attacks"])
    out = {"derived": parts[0], "signed": parts[1], "format": {"enum": [version]}}
    out |= {name: names[name]["anyOf"][0] for name in ("key", "signature")}
    return {"type": "object", "additionalProperties": False, "properties": out, "required": sorted(out)}


def _schema_half(schema: Any, path: tuple[str, ...], derived: frozenset[str], *, wanted: bool) -> Any:
    """What of a schema is in a half; absent where nothing is."""
    place = ".".join(path)
    if place in derived:
        return schema if wanted else ABSENT
    if place not in above(derived):
        return ABSENT if wanted else schema
    if "anyOf" in schema:
        kept = [_schema_half(s, path, derived, wanted=wanted) for s in schema["anyOf"]]
        return {"anyOf": [s for s in kept if s is not ABSENT]}
    if schema.get("type") == "array":
        return {**schema, "items": _schema_half(schema["items"], (*path, "*"), derived, wanted=wanted)}
    if schema.get("type") != "object":
        return ABSENT if wanted else schema
    parts = {n: _schema_half(s, (*path, n), derived, wanted=wanted) for n, s in schema["properties"].items()}
    kept_parts = {n: s for n, s in parts.items() if s is not ABSENT}
    # a list without items and a group that is null stand in the signed half only
    loose = {n for n, s in kept_parts.items() if wanted and ".".join((*path, n)) not in derived and s.get("type") != "object"}
    return {**schema, "properties": kept_parts, "required": [n for n in schema["required"] if n in kept_parts and n not in loose]}


if __name__ == "__main__":
    for name in FILES:
        file = Path(certificate.__file__).with_name(name)
        file.write_text(json.dumps(certificate_schema(name), indent=1, sort_keys=True) + "\n", encoding="utf-8")

"""Reading a policy file: YAML without tags, aliases, depth or secrets, checked against the published JSON schema.

The file is somebody else's text: it is parsed as plain values only. What does not fit is named by its place
(``require.k``), never by content that could be a password.
"""

from __future__ import annotations

import importlib.resources
import io
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from shoal.errors import PolicyError, nearest

MAX_BYTES = 1_000_000
MAX_DEPTH = 12
MAX_EVENTS = 400_000

_SECRET_KEYS = re.compile(
    r"^(pass(word|wd|phrase)?|secret.*|.*_secret|token|api_?key|private_?key|signing_?key|salt|pepper|credentials?|key)$", re.I
)
_SECRET_VALUES = re.compile(
    r"-----BEGIN|^[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s@]+@|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}|\bxox[abp]-"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\."
    r"|(?i:\b(pass(word|wd|phrase|code)?|pwd|secret|token|api[ _-]?key|private[ _-]?key|credentials?)\s*[:=]\s*\S)",
)  # fmt: skip

_HIERARCHY = "roles: {quasi: {COLUMN: {hierarchy: FILE}}}"
ELSEWHERE = {
    **dict.fromkeys(("hierarchy", "hierarchies", "levels", "generalize", "generalization"), _HIERARCHY),
    **dict.fromkeys(("quasi", "quasi_identifiers"), "roles: {quasi: [COLUMN]}"),
    **dict.fromkeys(("sensitive", "sensitive_attributes"), "roles: {sensitive: [COLUMN]}"),
    **dict.fromkeys(("direct", "identifiers"), "roles: {direct: [COLUMN]}"),
    "rest": "roles: {rest: drop}",
    **dict.fromkeys(("suppress", "suppression", "suppression_limit"), "allow: {suppress: SHARE}"),
    **dict.fromkeys(("k", "l", "t"), "require: {k: 5}"),
}
"""Words that people write in the wrong place of a policy, or that other tools use, and where what they mean stands."""


def schema() -> dict[str, Any]:
    """The published JSON schema of a policy."""
    text = importlib.resources.files("shoal.release.policy").joinpath("policy.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def read_yaml(text: str) -> Any:
    """The YAML document, comments kept, after the checks that need no schema."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        hint = "A policy is a page of text: keep data out of it."
        raise PolicyError(f"the policy is longer than {MAX_BYTES:,} bytes.", hint=hint)
    reader = YAML(typ="rt")
    reader.parser.get_event = _check_events(reader.parser.get_event)
    try:
        document = reader.load(text)
    except (YAMLError, ValueError) as error:
        if isinstance(error, PolicyError):
            raise
        raise _not_yaml(error) from None
    if document is None:
        raise PolicyError("the policy is empty.", hint="Write at least 'roles:' and 'require: {k: 5}'.")
    if not isinstance(document, Mapping):
        raise PolicyError("the policy is not a list of 'name: value' lines.", hint="Begin with 'roles:'.")
    return document


def write_yaml(document: Any) -> str:
    """The document as text, with its comments where they were."""
    from ruamel.yaml import YAML

    out = io.StringIO()
    writer = YAML(typ="rt")
    writer.width = 120
    writer.dump(document, out)
    return out.getvalue()


def _check_events(get_event: Callable[[], Any]) -> Callable[[], Any]:
    """Refuse tags, anchors, aliases, several documents, deep nesting and endless lists as they come, before values are built."""
    from ruamel.yaml.events import AliasEvent, DocumentStartEvent, MappingStartEvent, ScalarEvent, SequenceStartEvent

    depth = documents = number = 0

    def next_event() -> Any:
        nonlocal depth, documents, number
        event, number = get_event(), number + 1
        line = event.start_mark.line + 1 if event.start_mark else 0
        if number > MAX_EVENTS + 1:
            raise PolicyError(f"the policy holds more than {MAX_EVENTS:,} parts.", hint="Name files instead of listing values.")
        if isinstance(event, AliasEvent) or getattr(event, "anchor", None):
            raise PolicyError(f"line {line} of the policy uses an anchor or alias.", hint="Write the value out.")
        if isinstance(event, ScalarEvent | MappingStartEvent | SequenceStartEvent) and _has_tag(event):
            raise PolicyError(f"line {line} of the policy uses a tag.", hint="A policy holds plain text, numbers and lists.")
        if isinstance(event, MappingStartEvent | SequenceStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise PolicyError(f"line {line} of the policy is nested deeper than {MAX_DEPTH} levels.", hint="Flatten it.")
        elif type(event).__name__ in ("MappingEndEvent", "SequenceEndEvent"):
            depth -= 1
        documents += isinstance(event, DocumentStartEvent)
        if documents > 1:
            raise PolicyError("the policy file holds more than one document.", hint="Keep one policy per file.")
        return event

    return next_event


def _has_tag(event: Any) -> bool:
    tag = getattr(event, "tag", None) or getattr(event, "ctag", None)
    return bool(tag) and str(tag) not in ("None", "!", "")


def _not_yaml(error: Exception) -> PolicyError:
    mark = getattr(error, "problem_mark", None)
    where = f" at line {mark.line + 1}" if mark is not None else ""
    twice = type(error).__name__ == "DuplicateKeyError"
    what = f"the policy names something twice{where}" if twice else f"the policy is not valid YAML{where}"
    return PolicyError(f"{what}.", hint="Check indentation, quotes and brackets there.")


def plain(value: Any) -> Any:
    """Ordinary dictionaries, lists and scalars from a YAML document."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise PolicyError("a name in the policy is not text.", hint="Put column names that look like numbers in quotes.")
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()[:10]
    raise PolicyError("the policy holds a value that is not text, a number, a list or a group.", hint="Use plain values.")


def refuse_secrets(value: Any, path: str = "") -> None:
    """Stop when a name or a value looks like a password or key; the value is not shown."""
    columns = (
        re.fullmatch(
            r"roles\.(direct|quasi|sensitive)|require\.(diversity|closeness)|allow\.(identifying|none_of_the_eighteen)"
            r"|scale|order|missing_values",
            path,
        )
        is not None
    )
    if isinstance(value, Mapping):
        for key, inner in value.items():
            place = f"{path}.{key}" if path else key
            if not columns and _SECRET_KEYS.match(key):
                raise _secret(place)
            refuse_secrets(inner, place)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            refuse_secrets(inner, f"{path}[{i}]")
    elif isinstance(value, str) and _SECRET_VALUES.search(value):
        raise _secret(path)


def _secret(path: str) -> PolicyError:
    hint = "Policies are shared and archived. Keep keys in a file or in the environment (SHOAL_SIGNING_KEY_FILE)."
    return PolicyError(f"the policy holds what looks like a secret at '{path}'.", hint=hint, path=path)


def check(value: Any, rule: Mapping[str, Any], root: Mapping[str, Any], path: str = "") -> None:
    """Check a plain value against the part of JSON Schema that the policy schema uses."""
    if "$ref" in rule:
        target = root
        for part in rule["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        check(value, target, root, path)
        return
    if "anyOf" in rule:
        _check_any(value, rule["anyOf"], root, path)
        return
    if "enum" in rule and (not isinstance(value, str) or value not in rule["enum"]):
        raise _wrong(path, f"one of {', '.join(rule['enum'])}", value, rule["enum"])
    kind = rule.get("type")
    kinds = [kind] if isinstance(kind, str) else kind
    if kinds and not any(_is(value, k) for k in kinds):
        raise _wrong(path, _WORDS[kinds[0]], value)
    if isinstance(value, dict):
        _check_object(value, rule, root, path)
    elif isinstance(value, list):
        _check_list(value, rule, root, path)
    elif isinstance(value, str):
        _check_text(value, rule, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _check_number(value, rule, path)


_WORDS = {
    "object": "a group of 'name: value' lines",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


def _is(value: Any, kind: str) -> bool:
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if kind == "null":
        return value is None
    kinds: dict[str, type] = {"object": dict, "array": list, "string": str, "boolean": bool}
    return isinstance(value, kinds[kind])


def _check_any(value: Any, rules: list[Mapping[str, Any]], root: Mapping[str, Any], path: str) -> None:
    errors = []
    for rule in rules:
        try:
            check(value, rule, root, path)
            return
        except PolicyError as error:
            errors.append(error)
    deep = [e for e in errors if getattr(e, "path", path) != path]  # the branch that got furthest says it best
    raise (deep or errors)[0]


def _check_object(value: dict[str, Any], rule: Mapping[str, Any], root: Mapping[str, Any], path: str) -> None:
    known = rule.get("properties", {})
    rest = rule.get("additionalProperties", True)
    for key in rule.get("required", ()):
        if key not in value:
            raise PolicyError(f"'{path}' lacks '{key}'.", hint=f"Add '{key}:' there.", path=path)
    if len(value) < rule.get("minProperties", 0) or len(value) > rule.get("maxProperties", 10**9):
        names = ", ".join(known) if known else "a name"
        raise PolicyError(f"'{path}' holds {len(value)} entries.", hint=f"It takes {names}.", path=path)
    for key, inner in value.items():
        place = f"{path}.{key}" if path else key
        if key in known:
            check(inner, known[key], root, place)
        elif rest is False:
            close = ELSEWHERE.get(key) or nearest(key, known) or ("roles: {quasi: [COLUMN]}" if path == "roles" else "")
            hint = (f"Did you mean '{close}'? " if close else "") + f"Known here: {', '.join(known)}."
            raise PolicyError(f"'{place}' is not known in a policy.", hint=hint, path=place)
        elif isinstance(rest, Mapping):
            check(inner, rest, root, place)


def _check_list(value: list[Any], rule: Mapping[str, Any], root: Mapping[str, Any], path: str) -> None:
    if len(value) > rule.get("maxItems", 10**9):
        raise PolicyError(f"'{path}' lists {len(value):,} entries; at most {rule['maxItems']:,} are taken.", path=path)
    for i, inner in enumerate(value):
        check(inner, rule.get("items", {}), root, f"{path}[{i}]")
    if rule.get("uniqueItems") and len(set(map(str, value))) != len(value):
        raise PolicyError(f"'{path}' names a column twice.", hint="Name each column once.", path=path)


def _check_text(value: str, rule: Mapping[str, Any], path: str) -> None:
    if len(value) < rule.get("minLength", 0):
        raise PolicyError(f"'{path}' is empty.", hint="Write something, or leave the line out.", path=path)
    if len(value) > rule.get("maxLength", 10**9):
        raise PolicyError(f"'{path}' is longer than {rule['maxLength']:,} characters.", path=path)
    if "pattern" in rule and not re.search(rule["pattern"], value):
        raise PolicyError(f"'{path}' is not a date.", hint="Write it as YYYY-MM-DD.", path=path)


def _check_number(value: float, rule: Mapping[str, Any], path: str) -> None:
    low, above, high = rule.get("minimum"), rule.get("exclusiveMinimum"), rule.get("maximum")
    if (low is not None and value < low) or (above is not None and value <= above) or (high is not None and value > high):
        least = f"at least {low}" if low is not None else f"above {above}"
        most = f" and at most {high}" if high is not None else ""
        share = " A share is a number between 0 and 1: 0.05 is 5 %." if high == 1 else ""
        raise PolicyError(f"'{path}' must be {least}{most}; found {value}.", hint=f"Correct '{path}'.{share}", path=path)


def _wrong(path: str, wanted: str, value: Any, options: list[str] | None = None) -> PolicyError:
    if isinstance(value, float) and not math.isfinite(value):
        problem = "a number that is not finite"
    elif value is None:
        problem = "nothing"
    else:
        names = {dict: "a group", list: "a list", str: "text", bool: "true or false", int: "a whole number", float: "a number"}
        problem = names.get(type(value), "something else")
    close = nearest(value, options) if options and isinstance(value, str) else None
    hint = f"Did you mean '{close}'?" if close else f"Correct '{path or 'the policy'}'."
    return PolicyError(f"'{path or 'the policy'}' must be {wanted}; found {problem}.", hint=hint, path=path)

"""Requirements in a policy: the ``require`` part in plain values, and back; its JSON schema.

::

    require:
      k: 5
      k_map: 20                                   # with a population table
      population_k: {k: 100, of: 17500000, beta: 0.05}
      risk: {prosecutor: 0.09, journalist: 0.09, marketer: 0.05, average: 0.05}
      uniqueness: {sample: 0.1, population: {share: 0.01, of: 17500000, method: dankar}}
      diversity: {diagnosis: {distinct: 3, p_sensitive: 3, entropy: 2.5, recursive: {c: 3, l: 2}, alpha: 0.5}}
      closeness: {diagnosis: {t: 0.2, distance: ordered, delta: 1.5, beta: 1, enhanced_beta: 1}}
      linkage: 0.05                               # share of records that known columns may find
      known_columns: 0.05                         # share of records that any three published columns may find
      known: {records: 2, k: 5}                   # event tables; a list of such groups for several
      absent: {records: 2, k: 5}                  # and length, the same way
      near: {records: 2, k: 5, time: 1h, place: "prefix:3"}
      unicity: {records: 4, share: 0.05}          # and home, work, next, the same way

A list of texts (``["k>=5", "t[diagnosis]<=0.2"]``) states the same. The classes define the keys and their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from shoal.errors import PolicyError, suggest
from shoal.model.requirement.base import Requirement, requirement_kinds

_SIZES = ("k", "k_map", "population_k", "risk", "uniqueness")
_EVENTS = ("known", "absent", "length", "near", "unicity", "home", "work", "next")
_PARTS = (*_SIZES, "diversity", "closeness", "linkage", "known_columns", *_EVENTS)
"""Sections in the order of a policy; requirements are sorted by it."""


def requirements_of(require: Mapping[str, Any] | Sequence[str]) -> tuple[Requirement, ...]:
    """The requirements of a ``require`` part, in their order.

    >>> requirements_of({"k": 5, "closeness": {"ill": {"t": 0.2}}})
    (K(k=5), TCloseness(column='ill', t=0.2, distance='equal', hierarchy=None))
    >>> requirements_of(["t[ill]<=0.2", "k>=5"]) == _
    True
    """
    if not isinstance(require, Mapping):
        return ordered(Requirement.parse(text) for text in require)
    _check_names(require, _PARTS, "require")
    return ordered(r for part in _PARTS if part in require for r in _read_part(require, part))


def _read_part(require: Mapping[str, Any], part: str) -> Iterator[Requirement]:
    kinds = _kinds_of(part)
    if not kinds[0].section:
        yield from _read(kinds[0], require, part, "require", {})
    elif _of_columns(kinds):
        for column in _group(require, part):
            yield from _read_section(kinds, _group(require[part], column, _keys(kinds), f"require.{part}"), column)
    else:
        yield from _read_section(kinds, _group(require, part, _keys(kinds)), None)


def _read_section(kinds: list[type[Requirement]], stated: Mapping[str, Any], column: str | None) -> Iterator[Requirement]:
    place = ".".join(filter(None, ("require", kinds[0].section, column)))
    for kind in kinds:
        options = {name: stated[name] for name in kind.option_fields if name in stated}
        if options:
            _check_present(stated, kind.policy_keys(), place)
        for key in kind.policy_keys():
            if key in stated:
                fields = {kind.key_field: key} if kind.key_field else {}
                yield from _read(kind, stated, key, place, {**fields, **options, **({"column": column} if column else {})})


def _read(
    kind: type[Requirement], stated: Mapping[str, Any], key: str, place: str, fields: Mapping[str, Any]
) -> Iterator[Requirement]:
    """The requirements under one key: a limit, a group of 'name: value' lines, or (``anyOf``) a list of such groups."""
    schema, value = kind.schema[key], stated[key]
    several = "anyOf" in schema
    schema = schema["anyOf"][0] if several else schema
    if "properties" not in schema:
        yield kind(**fields, **{kind.bound: value})
        return
    for one in value if several and isinstance(value, list | tuple) else [value]:
        lines = _group({key: one}, key, tuple(schema["properties"]), place)
        _check_present(lines, schema["required"], f"{place}.{key}")
        yield kind(**fields, **{kind.renamed.get(name, name): line for name, line in lines.items()})


def require_of(requirements: Iterable[Requirement]) -> dict[str, Any]:
    """The ``require`` part that states these requirements.

    >>> from shoal.model.requirement import K, TCloseness
    >>> require_of([K(5), TCloseness("ill", 0.2)])
    {'k': 5, 'closeness': {'ill': {'t': 0.2, 'distance': 'equal'}}}
    """
    out: dict[str, Any] = {}
    for r in ordered(requirements):
        key = r.policy_keys()[0]
        if "anyOf" in r.schema[key]:
            before, group = out.get(key), _value(r, r.schema[key]["anyOf"][0])
            out[key] = group if before is None else [*(before if isinstance(before, list) else [before]), group]
            continue
        node = out
        for part in r.place[:-1]:
            node = node.setdefault(part, {})
        node[r.place[-1]] = _value(r, r.schema[r.place[-1]])
        node |= {name: getattr(r, name) for name in r.option_fields}
    return out


def _value(r: Requirement, schema: Mapping[str, Any]) -> Any:
    if "properties" not in schema:
        return r.limit
    lines = {name: getattr(r, r.renamed.get(name, name)) for name in schema["properties"]}
    return {name: line for name, line in lines.items() if name in schema["required"] or line}


def ordered(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Requirements in the order of a policy; raises if one is stated twice."""
    out = sorted(requirements, key=_order)
    for one, other in pairwise(out):
        if one.place == other.place:
            hint = "Keep the stricter of the two."
            raise PolicyError(f"'require.{one.name}' is stated twice.", hint=hint, path=f"require.{one.name}")
    return tuple(out)


def _order(r: Requirement) -> tuple[int, str, int, str]:
    head = r.place[0]
    if head not in _PARTS:
        return len(_PARTS), r.sensitive or "", 0, r.place[-1]
    keys = [] if r.key_field or not r.section else _keys(_kinds_of(head))
    return _PARTS.index(head), r.sensitive or "", keys.index(r.place[-1]) if keys else 0, r.place[-1]


def require_schema() -> dict[str, Any]:
    """The JSON schema of a ``require`` part, from the classes."""
    properties: dict[str, Any] = {}
    for part in _PARTS:
        kinds = _kinds_of(part)
        fragments = {key: fragment for kind in kinds for key, fragment in kind.schema.items()}
        section = {"type": "object", "additionalProperties": False, "minProperties": 1, "properties": fragments}
        if not kinds[0].section:
            properties |= fragments
        elif _of_columns(kinds):
            properties[part] = {"type": "object", "additionalProperties": section}
        else:
            properties[part] = section
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _kinds_of(part: str) -> list[type[Requirement]]:
    return [kind for kind in requirement_kinds().values() if (kind.section or kind.policy_keys()[0]) == part]


def _of_columns(kinds: list[type[Requirement]]) -> bool:
    return "column" in kinds[0].__dataclass_fields__


def _keys(kinds: list[type[Requirement]]) -> list[str]:
    """The keys of a section in their order, options last; by alphabet if keys name attackers."""
    keys = [key for kind in kinds for key in kind.policy_keys()] + [name for kind in kinds for name in kind.option_fields]
    return sorted(keys) if kinds[0].key_field else keys


def _group(stated: Mapping[str, Any], name: str, known: Iterable[str] = (), place: str = "require") -> Mapping[str, Any]:
    """A group of 'name: value' lines."""
    lines = stated[name]
    if not isinstance(lines, Mapping):
        raise PolicyError(f"'{place}.{name}' is not a group of 'name: value' lines.", path=f"{place}.{name}")
    if known:
        _check_names(lines, known, f"{place}.{name}")
    return lines


def _check_names(stated: Mapping[str, Any], known: Iterable[str], place: str) -> None:
    for name in stated:
        if name not in known:
            hint = f"{suggest(name, known)} Known here: {', '.join(known)}.".strip()
            raise PolicyError(f"'{place}.{name}' is not known in a policy.", hint=hint, path=f"{place}.{name}")


def _check_present(stated: Mapping[str, Any], names: Iterable[str], place: str) -> None:
    for name in names:
        if name not in stated:
            raise PolicyError(f"'{place}' lacks '{name}'.", hint=f"Add '{name}:' there.", path=place)

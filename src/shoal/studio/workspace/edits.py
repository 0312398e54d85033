"""Changes of a policy as a person makes them in the studio: each takes the text of a policy and gives the new text.

What is not changed stays as it was written. A level that a person chose is written as both bounds of the column, so that the
command line, given the same text, can only take the same plan.

The policy of an event release as a person asks for it: who, when, where, and how many must share what is known.
"""

from __future__ import annotations

import functools
import json
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from ruamel.yaml.comments import CommentedMap

from shoal.errors import PolicyError, UsageError
from shoal.model.roles import DECIDED, Role
from shoal.release.linked.policy import LinkedPolicy
from shoal.release.policy import file as policy_file
from shoal.release.policy.policy import Policy

if TYPE_CHECKING:
    from shoal.api.inspect import Inspection


Document = dict[str, Any]
P = ParamSpec("P")
LONGEST_RULE = 100_000
"""Characters of guessed levels that are written into a policy; of longer ones only the number, which the release reports."""
LEVELS = ("min_level", "max_level")
ABOUT = ("approved_by", "recipient", "purpose", "review", "contact")
"""What is signed off; goes into the certificate."""


def first_policy(inspection: Inspection, read: Mapping[str, Any] | None = None) -> str:
    """The policy of the roles that were guessed: k of 5 as inside a house; the rest as every release does it."""
    own = {inspection.unit, inspection.weight} - {None}
    roles: Document = {role.value: {} for role in DECIDED}
    for column in inspection.columns:
        if column.name not in own and column.role in DECIDED:
            roles[column.role.value][column.name] = {}
    suggested = {role: list(named) for role, named in roles.items() if named}
    document: Document = {"roles": _write_roles(roles), "found": suggested, "preset": "internal"}
    reading = {**(inspection.read.get("plan", {}) if inspection.read.get("repairs") else {}), **(read or {})}
    more = {"read": reading, "unit": inspection.unit, "weight": inspection.weight}
    return _text(document | {name: value for name, value in more.items() if value})


def _edit(change: Callable[Concatenate[Document, P], None]) -> Callable[Concatenate[str, P], str]:
    """A change of the document of a policy, as a function from text to text; what is then not a policy is refused."""

    @functools.wraps(change)
    def edited(text: str, /, *given: P.args, **named: P.kwargs) -> str:
        document: Document = policy_file.plain(parsed(text).document)
        change(document, *given, **named)
        document = policy_file.plain(document)  # each part once: YAML would write an alias for the second
        written = _text(document)
        if len(written) <= LONGEST_RULE:  # longer ones are read, so that what is too long for a file is refused
            _remember(written, lambda: replace(Policy.of(document), document=document))
        parsed(written)
        return written

    return edited


def _forget(document: Document) -> None:
    """Remove settings of columns that have another role now: how detailed they stay, what they are used for."""
    roles, use = document.get("roles", {}), document.get("objective", {})
    quasi, secret = (set(roles.get(role.value) or ()) for role in (Role.QUASI, Role.SENSITIVE))
    counts, target = [c for c in use.get("counts", ()) if c in quasi], use.get("predict")
    keep = {column: word for column, word in document.get("keep", {}).items() if column in quasi}
    used = {"counts": counts} if counts else {"predict": target} if target in secret else {}
    for name, part in (("keep", keep), ("objective", used)):
        if part:
            document[name] = part
        else:
            document.pop(name, None)


_policies: OrderedDict[str, Policy] = OrderedDict()
MOST_POLICIES = 256
"""Texts whose policy is remembered."""


def parsed(text: str) -> Policy:
    """The policy of a text; the same text is read once, and one that was written here not at all."""
    return _remember(text, lambda: Policy.parse(text))


def _remember(text: str, read: Callable[[], Policy]) -> Policy:
    policy = _policies.get(text) or read()
    _policies[text] = policy
    while len(_policies) > MOST_POLICIES:
        _policies.popitem(last=False)
    return policy


@_edit
def with_role(document: Document, columns: Sequence[str], role: Role) -> None:
    """Another role of some columns; what a role said of them (their levels, their hierarchies) goes with the role."""
    with _roles(document) as roles:
        for column in columns:
            if roles[role.value].get(column) is None:
                for named in roles.values():
                    named.pop(column, None)
                roles[role.value][column] = {}
    for key in ("unit", "weight"):
        if _column(document.get(key)) in columns:
            document.pop(key)
    _forget(document)


@_edit
def with_read(document: Document, read: Mapping[str, Any]) -> None:
    """How the file is read."""
    document["read"] = dict(read)


@_edit
def with_rest(document: Document, rest: str) -> None:
    """What becomes of the columns that the policy does not name."""
    document["roles"]["rest"] = rest


@_edit
def with_unit(document: Document, column: str | None) -> None:
    """Which column names a person; None where each row is one."""
    with _roles(document) as roles:
        before = _column(document.pop("unit", None))
        if before is not None and before not in {c for named in roles.values() for c in named}:
            roles[Role.DIRECT.value][before] = {}
        if column is not None:
            for named in roles.values():
                named.pop(column, None)
            document["unit"] = column
    _forget(document)


@_edit
def with_preset(document: Document, name: str) -> None:
    """Who will see it: a named rule; what was required by hand gives way to it."""
    document.pop("require", None)
    document["preset"] = name


@_edit
def _with_k(document: Document, k: int, *, alone: bool = False) -> None:
    document["require"] = {**_mapping(document.get("require")), "k": k}
    if alone:
        document.pop("preset", None)


def with_k(text: str, k: int) -> str:
    """The smallest group that is asked for, by hand. A preset stays, unless it asks for more: what a person says then holds."""
    try:
        changed = _with_k(text, k)
    except PolicyError:
        return _with_k(text, k, alone=True)
    return changed if Policy.parse(changed).smallest_class <= k else _with_k(text, k, alone=True)


def without_k(text: str) -> Document:
    """Everything but the size of the smallest group, as plain values: what two policies have in common that differ in it only."""
    document: Document = policy_file.plain(parsed(text).document)
    require = document.pop("require", None)
    left = {name: value for name, value in require.items() if name != "k"} if isinstance(require, Mapping) else require
    return {**document, "require": left} if left else document


@_edit
def with_suppress(document: Document, share: float) -> None:
    """How many may be left out."""
    document["allow"] = {**_mapping(document.get("allow")), "suppress": share}


@_edit
def with_levels(document: Document, levels: Mapping[str, int], guessed: Mapping[str, Mapping[str, Any]]) -> None:
    """The level of some quasi-identifiers, fixed; with the levels that were guessed, so that the numbers keep their meaning."""
    for column, level in levels.items():
        with _rule(document, column) as rule:
            own = "hierarchy" in rule and not is_guessed(rule["hierarchy"])
            if column in guessed and len(json.dumps(guessed[column])) <= LONGEST_RULE and not own:
                rule["hierarchy"] = dict(guessed[column])
            rule |= {"min_level": level, "max_level": level}
    if document.get("method") not in (None, "best", "lattice"):  # it fixes no level
        document.pop("method")
        document.pop("cells", None)


def is_guessed(hierarchy: Any) -> bool:
    """Whether levels in a policy were written down by Shoal: then they say why they were chosen."""
    return isinstance(hierarchy, Mapping) and "why" in hierarchy


@_edit
def freed(document: Document, locked: Sequence[str] = (), *, bounded: bool = True) -> None:
    """What a search may choose from: without the levels fixed for columns that are not locked, and without the sign-off.

    Level bounds stay if ``bounded``. Levels that were guessed are guessed again unless bounds count them; stated ones stay.
    """
    with _roles(document) as roles:
        for column, rule in roles[Role.QUASI.value].items():
            if column not in locked and isinstance(rule, Mapping):
                fixed = rule.get("min_level") == rule.get("max_level")
                left = {name: value for name, value in rule.items() if name not in LEVELS or (bounded and not fixed)}
                if is_guessed(left.get("hierarchy")) and not left.keys() & {*LEVELS}:
                    left.pop("hierarchy")
                roles[Role.QUASI.value][column] = left
    for name in ABOUT:
        document.pop(name, None)


@_edit
def without_bounds(document: Document, columns: Sequence[str]) -> None:
    """No highest level for these quasi-identifiers."""
    for column in columns:
        with _rule(document, column) as rule:
            rule.pop("max_level", None)


@_edit
def with_best_method(document: Document) -> None:
    """The planner chooses the method."""
    for name in ("method", "cells"):
        document.pop(name, None)


@_edit
def with_keep(document: Document, column: str, word: str) -> None:
    """How detailed a column has to stay, in one of the policy's words; a weight that was a number gives way to it."""
    with _roles(document) as roles:
        rule = roles[Role.QUASI.value].get(column)
        if isinstance(rule, Mapping):
            roles[Role.QUASI.value][column] = {name: value for name, value in rule.items() if name != "weight"}
    document["keep"] = {**document.get("keep", {}), column: word}


@_edit
def with_objective(document: Document, objective: Mapping[str, Any]) -> None:
    """What the table is used for; empty: for many things, so that the plan that loses least is best."""
    document.pop("objective", None)
    document.update({"objective": dict(objective)} if objective else {})


@_edit
def with_hierarchy(document: Document, column: str, new: Any) -> None:
    """How a column's levels are built; None: as Shoal builds them. The level that was chosen is let go."""
    with _rule(document, column) as rule:
        for name in ("hierarchy", *LEVELS):
            rule.pop(name, None)
        if new is not None:
            rule["hierarchy"] = new


@_edit
def with_scale(document: Document, column: str, scale: str) -> None:
    document["scale"] = {**_mapping(document.get("scale")), column: scale}


def with_about(text: str, about: Mapping[str, str]) -> str:
    """The sign-off: who approves, for whom, what for. An empty field is taken out. The policy may be one of linked tables."""
    values = {name: " ".join(about.get(name, "").split()) for name in ABOUT}
    document: Document = policy_file.plain(policy_file.read_yaml(text))
    if "tables" not in document:
        return with_parts(text, values)
    document |= values
    document = {name: part for name, part in document.items() if part != ""}
    LinkedPolicy.of(document)
    return policy_file.write_yaml(document)


@_edit
def with_parts(document: Document, values: Mapping[str, str | int]) -> None:
    """Other values of some entries; an empty one is taken out."""
    for name, value in values.items():
        document.pop(name, None)
        document.update({} if value == "" else {name: value})


def unapproved(text: str) -> str:
    """Without the approval: it belongs to the release whose findings were decided."""
    return with_parts(text, {"approved_by": ""}) if parsed(text).about.get("approved_by") else text


def check_policy(text: str) -> str:
    """A policy that somebody brought, if it can be read; as it was written."""
    Policy.parse(text)
    return text


def _text(document: Document) -> str:
    """A page of YAML: a line for each column and each entry."""
    lines = []
    for name, part in document.items():
        if name != "roles" or not part:
            lines.append(_line((name,), part))
            continue
        lines.append("roles:\n")
        for role, named in part.items():
            if isinstance(named, Mapping) and named:
                lines += [f"  {role}:\n", *(_line((name, role, c), rule) for c, rule in named.items())]
            else:
                lines.append(_line((name, role), named))
    return "".join(lines)


def _line(place: tuple[str, ...], content: Any) -> str:
    """An entry as it stands below the names that it is nested in, with its own entries side by side."""
    deep, name = "  " * (len(place) - 1), place[-1]
    text = _entry(name, pickle.dumps({} if isinstance(content, Mapping) else content))
    if isinstance(content, Mapping):
        text = text.removesuffix("}") + ", ".join(_entry(inner, pickle.dumps(part)) for inner, part in content.items()) + "}"
    return deep + text.replace("\n", f"\n  {deep}") + "\n"


@lru_cache(maxsize=1024)
def _entry(name: str, packed: bytes) -> str:
    """A name and its value; the same entry is written once, and read back as it was."""
    entry = pickle.loads(packed)  # noqa: S301 - made by the caller
    flat = CommentedMap({name: entry})
    flat.fa.set_flow_style()
    text = policy_file.write_yaml(flat)
    try:
        same = not text.startswith("{?") and policy_file.plain(policy_file.read_yaml(text)) == {name: entry}
    except PolicyError:
        same = False
    return text.strip()[1:-1] if same else f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(entry, ensure_ascii=False)}"


@contextmanager
def _roles(document: Document) -> Iterator[dict[str, dict[str, Any]]]:
    """The roles with a mapping for each, whether they were written as lists or mappings; written back at the end."""
    given = document.setdefault("roles", {})
    out: dict[str, dict[str, Any]] = {}
    for role in DECIDED:
        named = given.get(role.value) or {}
        out[role.value] = dict(named) if isinstance(named, Mapping) else {str(c): {} for c in named}
    yield out
    document["roles"] = _write_roles(out, given.get("rest"))


@contextmanager
def _rule(document: Document, column: str) -> Iterator[Document]:
    """What the policy says of one quasi-identifier, to be changed."""
    with _roles(document) as roles:
        quasi = roles[Role.QUASI.value]
        if column not in quasi:
            raise UsageError(f"column '{column}' is not generalized.", hint="Give it the role Q first.")
        quasi[column] = _mapping(quasi[column])
        yield quasi[column]


def _mapping(given: Any) -> Document:
    return dict(given) if isinstance(given, Mapping) else {}


def _write_roles(roles: Mapping[str, Mapping[str, Any]], rest: str | None = None) -> Document:
    """Roles as a person would write them: only quasi-identifiers need a line each, the others a list if they have no settings."""
    out: Document = {}
    for role, named in roles.items():
        if role == Role.QUASI.value:
            out[role] = {c: rule or {} for c, rule in named.items()}
        elif named:
            out[role] = dict(named) if any(named.values()) else list(named)
    return out | ({"rest": rest} if rest else {})


def _column(unit: Any) -> str | None:
    return str(unit["column"]) if isinstance(unit, Mapping) else None if unit is None else str(unit)


MOST_KNOWN = 4
"""Known records that may be asked about: every set of them is listed."""


def event_policy(policy: Policy, columns: Sequence[str], *, time: str, place: str, records: int, k: int, suppress: float) -> str:
    """The text of the policy. Columns that are harmless are published; every other one is left out, the guessed ones too."""
    if policy.unit is None:
        raise UsageError("it is not said who a row belongs to.", hint="Say on Measure which column names people.")
    if not time and not place:
        raise UsageError("neither a time nor a place is named.", hint="Choose what somebody may know of a record.")
    if time == place or policy.unit in (time, place):
        raise UsageError("one column cannot be two of person, time and place.", hint="Choose different ones.")
    if not 1 <= records <= MOST_KNOWN or k < 2:
        raise UsageError(f"known records are 1 to {MOST_KNOWN}, shared by at least 2 people.", hint="Write such numbers.")
    if not 0 <= suppress <= 1:
        raise UsageError("left out is a share from 0 to 100 %.", hint="Write a number such as 5.")
    events: dict[str, Any] = {"unit": policy.unit}
    events |= {part: name for part, name in (("time", time), ("place", place)) if name}
    others = [c for c in columns if c not in events.values()]
    harmless = [c for c in others if c in policy.insensitive]
    roles = {"direct": [c for c in others if c not in harmless], "insensitive": harmless}
    about = {name: value for name, value in policy.about.items() if value and name != "approved_by"}
    requirements = {"require": {"known": {"records": records, "k": k}}, "allow": {"suppress": suppress}}
    document = {"events": events, "roles": {role: named for role, named in roles.items() if named}, **requirements, **about}
    return check_policy(policy_file.write_yaml(document))

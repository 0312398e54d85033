"""Changes of a policy as a person makes them in the studio: each takes the text of a policy and gives the new text.

What is not changed stays as it was written. A level that a person chose is written as both bounds of the column, so that the
command line, given the same text, can only take the same plan.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shoal.errors import PolicyError, UsageError
from shoal.model.roles import DECIDED, Role
from shoal.release.policy import file as policy_file
from shoal.release.policy.policy import Policy

if TYPE_CHECKING:
    from shoal.api.inspect import Inspection

Document = dict[str, Any]
LONGEST_RULE = 100_000
"""Characters of guessed levels that are written into a policy; of longer ones only the number, which the release reports."""
ABOUT = ("approved_by", "recipient", "purpose", "review", "contact")
"""What is signed off; goes into the certificate."""


def first_policy(found: Inspection, read: Mapping[str, Any] | None = None) -> str:
    """The policy of the roles that were guessed: k of 5 as inside a house; the rest as every release does it."""
    own = {found.unit, found.weight} - {None}
    roles: Document = {role.value: {} for role in DECIDED}
    for column in found.columns:
        if column.name not in own and column.role in DECIDED:
            roles[column.role.value][column.name] = {}
    suggested = {role: list(named) for role, named in roles.items() if named}
    document: Document = {"roles": _written(roles), "found": suggested, "preset": "internal"}
    reading = {**(found.read.get("plan", {}) if found.read.get("repairs") else {}), **(read or {})}
    if reading:
        document["read"] = reading
    if found.unit:
        document["unit"] = found.unit
    if found.weight:
        document["weight"] = found.weight
    return _text(document)


def with_role(text: str, columns: Sequence[str], role: Role) -> str:
    """Another role of some columns; what a role said of them (their levels, their hierarchies) goes with the role."""

    def change(document: Document) -> None:
        roles = _roles(document)
        for column in columns:
            if roles[role.value].get(column) is None:
                for named in roles.values():
                    named.pop(column, None)
                roles[role.value][column] = {}
        document["roles"] = _written(roles, document["roles"].get("rest"))
        for key in ("unit", "weight"):
            if _column(document.get(key)) in columns:
                document.pop(key)
        if role is not Role.QUASI and "keep" in document:
            document["keep"] = {column: word for column, word in document["keep"].items() if column not in columns}

    return _changed(text, change)


def with_read(text: str, read: Mapping[str, Any]) -> str:
    """How the file is read."""
    return _changed(text, lambda document: document.update(read=dict(read)))


def with_rest(text: str, rest: str) -> str:
    """What becomes of the columns that the policy does not name."""
    return _changed(text, lambda document: document["roles"].update(rest=rest))


def with_unit(text: str, column: str | None) -> str:
    """Which column names a person; None where each row is one."""

    def change(document: Document) -> None:
        roles = _roles(document)
        before = _column(document.pop("unit", None))
        if before is not None and before not in {c for named in roles.values() for c in named}:
            roles[Role.DIRECT.value][before] = {}
        if column is not None:
            for named in roles.values():
                named.pop(column, None)
            document["unit"] = column
        document["roles"] = _written(roles, document["roles"].get("rest"))

    return _changed(text, change)


def with_preset(text: str, name: str) -> str:
    """Who will see it: a named rule; what was required by hand gives way to it."""

    def change(document: Document) -> None:
        document.pop("require", None)
        document["preset"] = name

    return _changed(text, change)


def with_k(text: str, k: int) -> str:
    """The smallest group that is asked for, by hand. A preset stays, unless it asks for more: what a person says then holds."""

    def change(document: Document) -> None:
        require = document.get("require")
        document["require"] = {**require, "k": k} if isinstance(require, Mapping) else {"k": k}

    def alone(document: Document) -> None:
        change(document)
        document.pop("preset", None)

    try:
        changed = _changed(text, change)
    except PolicyError:
        return _changed(text, alone)
    return changed if Policy.parse(changed).smallest_class <= k else _changed(text, alone)


def without_k(text: str) -> Document:
    """Everything but the size of the smallest group, as plain values: what two policies have in common that differ in it only."""
    document = _document(text)
    require = document.pop("require", None)
    left = {name: value for name, value in require.items() if name != "k"} if isinstance(require, Mapping) else require
    return {**document, "require": left} if left else document


def with_suppress(text: str, share: float) -> str:
    """How many may be left out."""

    def change(document: Document) -> None:
        allow = document.get("allow")
        document["allow"] = {**(allow if isinstance(allow, Mapping) else {}), "suppress": share}

    return _changed(text, change)


def with_levels(text: str, levels: Mapping[str, int], guessed: Mapping[str, Mapping[str, Any]]) -> str:
    """The level of some quasi-identifiers, fixed; with the levels that were guessed, so that the numbers keep their meaning."""

    def change(document: Document) -> None:
        roles = _roles(document)
        quasi = roles[Role.QUASI.value]
        for column, level in levels.items():
            if column not in quasi:
                raise UsageError(f"column '{column}' is not generalized.", hint="Give it the role Q first.")
            rule = quasi[column] if isinstance(quasi[column], Mapping) else {}
            own = "hierarchy" in rule and not is_guessed(rule["hierarchy"])
            fits = column in guessed and len(json.dumps(guessed[column])) <= LONGEST_RULE
            stated = {"hierarchy": dict(guessed[column])} if fits and not own else {}
            quasi[column] = {**rule, **stated, "min_level": level, "max_level": level}
        document["roles"] = _written(roles, document["roles"].get("rest"))
        if document.get("method") not in (None, "best", "lattice"):  # it fixes no level
            document.pop("method")
            document.pop("cells", None)

    return _changed(text, change)


def is_guessed(hierarchy: Any) -> bool:
    """Whether levels in a policy were written down by Shoal: then they say why they were chosen."""
    return isinstance(hierarchy, Mapping) and "why" in hierarchy


def freed(text: str, locked: Sequence[str] = ()) -> str:
    """What a search may choose from: without the levels of columns that are not locked, and without the sign-off.

    Levels that were guessed are guessed again; those that a person stated stay.
    """

    def change(document: Document) -> None:
        roles = _roles(document)
        for column, rule in roles[Role.QUASI.value].items():
            if column not in locked and isinstance(rule, Mapping):
                left = {name: value for name, value in rule.items() if name not in ("min_level", "max_level")}
                if is_guessed(left.get("hierarchy")):
                    left.pop("hierarchy")
                roles[Role.QUASI.value][column] = left
        document["roles"] = _written(roles, document["roles"].get("rest"))
        for name in ABOUT:
            document.pop(name, None)

    return _changed(text, change)


def with_keep(text: str, column: str, word: str) -> str:
    """How detailed a column has to stay, in one of the policy's words; a weight that was a number gives way to it."""

    def change(document: Document) -> None:
        roles = _roles(document)
        rule = roles[Role.QUASI.value].get(column)
        if isinstance(rule, Mapping):
            roles[Role.QUASI.value][column] = {name: value for name, value in rule.items() if name != "weight"}
        document["roles"] = _written(roles, document["roles"].get("rest"))
        document["keep"] = {**document.get("keep", {}), column: word}

    return _changed(text, change)


def with_bands(text: str, column: str, widths: Sequence[float]) -> str:
    """Bands of these widths as the levels of a column, each inside the next; none: as Shoal builds them."""
    return with_hierarchy(text, column, {"intervals": list(widths)} if widths else None)


def with_hierarchy(text: str, column: str, rule: Any) -> str:
    """How a column's levels are built; None: as Shoal builds them. The level that was chosen is let go."""

    def change(document: Document) -> None:
        roles = _roles(document)
        quasi = roles[Role.QUASI.value]
        if column not in quasi:
            raise UsageError(f"column '{column}' is not generalized.", hint="Give it the role Q first.")
        kept = quasi[column] if isinstance(quasi[column], Mapping) else {}
        left = {name: value for name, value in kept.items() if name not in ("hierarchy", "min_level", "max_level")}
        quasi[column] = left if rule is None else {**left, "hierarchy": rule}
        document["roles"] = _written(roles, document["roles"].get("rest"))

    return _changed(text, change)


def with_scale(text: str, column: str, scale: str) -> str:
    """What the values of a column are."""

    def change(document: Document) -> None:
        said = document.get("scale")
        document["scale"] = {**(said if isinstance(said, Mapping) else {}), column: scale}

    return _changed(text, change)


def with_about(text: str, said: Mapping[str, str]) -> str:
    """The sign-off: who approves, for whom, what for. An empty field is taken out."""

    def change(document: Document) -> None:
        for name in ABOUT:
            value = " ".join(said.get(name, "").split())
            document.pop(name, None)
            if value:
                document[name] = value

    return _changed(text, change)


def with_seed(text: str, seed: int) -> str:
    """The seed that a release was drawn with, so that a run of the policy repeats its random changes."""
    return _changed(text, lambda document: document.update(seed=seed))


def taken(text: str) -> str:
    """A policy that somebody brought, if it can be read; as it was written."""
    Policy.parse(text)
    return text


def _changed(text: str, change: Callable[[Document], None]) -> str:
    document = _document(text)
    change(document)
    written = _text(document)
    parsed(written)
    return written


@lru_cache(maxsize=256)
def parsed(text: str) -> Policy:
    """The policy of a text; the same text is read once."""
    return Policy.parse(text)


def _document(text: str) -> Document:
    """The plain values of a text that is a policy, made for the caller to change."""
    document: Document = policy_file.plain(parsed(text).document)
    return document


def _text(document: Document) -> str:
    """A page of YAML: a line for each column and each entry; the same document is written once."""
    return _page(pickle.dumps(document))


@lru_cache(maxsize=256)
def _page(packed: bytes) -> str:
    document: Document = pickle.loads(packed)  # noqa: S301 - made by the caller
    roles = {role: _lines(named) for role, named in document.get("roles", {}).items()}
    return policy_file.write_yaml({name: roles if name == "roles" else _short(part) for name, part in document.items()})


def _lines(named: Any) -> Any:
    """Columns of a role: each on its own line with its settings; a list on one line."""
    return {c: _short(rule) for c, rule in named.items()} if isinstance(named, Mapping) else _short(named)


def _short(part: Any) -> Any:
    """What stands on one line."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq  # not needed to read a policy

    if isinstance(part, Mapping):
        flat: Any = CommentedMap(part)
    elif isinstance(part, list | tuple):
        flat = CommentedSeq(part)
    else:
        return part
    flat.fa.set_flow_style()
    return flat


def _roles(document: Document) -> dict[str, dict[str, Any]]:
    """The roles with a mapping for each, whether they were written as lists or mappings."""
    given = document.setdefault("roles", {})
    out: dict[str, dict[str, Any]] = {}
    for role in DECIDED:
        named = given.get(role.value) or {}
        out[role.value] = dict(named) if isinstance(named, Mapping) else {str(c): {} for c in named}
    return out


def _written(roles: Mapping[str, Mapping[str, Any]], rest: str | None = None) -> Document:
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

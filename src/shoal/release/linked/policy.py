"""The requirements of tables that are released together.

::

    tables:                                  # name: where it is, and the roles of its columns
      person: {table: person.csv, roles: {quasi: [born, sex]}}
      visits: {table: visits.csv, roles: {quasi: [day, ward], sensitive: [diagnosis]}}
    links: {visits.person_id: person.id}     # which column of which table holds the key of which person
    require: {k: 5}                          # judged over all that a person's rows say together; known: 2 for two known records
    allow: {suppress: 0.02, orphans: drop}   # share of the people; rows of people whom the person table does not have
"""

from __future__ import annotations

import importlib.resources
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.errors import PolicyError, UnreadableError, UsageError
from shoal.release.policy import file as policy_file
from shoal.release.policy.policy import Policy

ABOUT = ("title", "purpose", "recipient", "release", "run_by", "approved_by", "contact", "date", "review")


@dataclass(frozen=True)
class LinkedTable:
    """One table: its source, the column that names the person, and the policy for its columns."""

    name: str
    source: Any = field(repr=False)
    key: str
    policy: Policy
    read: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LinkedPolicy:
    """Several tables about the same people. ``tables[0]`` is the person table: one row each.

    ``known`` is the number of rows of linked tables that an attacker may know besides the person's own attributes; None: all.
    ``known_columns`` is the share of people that any three published columns may find; None: as many as they find.
    """

    tables: tuple[LinkedTable, ...]
    k: int
    known: int | None = None
    suppress: float = 0.0
    orphans: str = "refuse"
    loss: float = 0.8
    about: Mapping[str, Any] = field(default_factory=dict)
    known_columns: float | None = None

    @classmethod
    def of(cls, asked: LinkedPolicy | Mapping[str, Any] | str | Path) -> LinkedPolicy:
        """A policy from a YAML file, or from a mapping whose tables may be frames."""
        if isinstance(asked, LinkedPolicy):
            return asked
        if isinstance(asked, Mapping):
            return _of_plain(dict(asked), None)
        file = Path(asked)
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            raise UnreadableError(f"policy file '{file.name}' cannot be read.", hint="Check the path after --policy.") from None
        return _of_plain(policy_file.plain(policy_file.read_yaml(text)), file.resolve().parent)


def is_linked(asked: Any) -> bool:
    """Whether a policy (a path or a mapping) speaks of several tables."""
    if isinstance(asked, Mapping):
        return "tables" in asked
    if not isinstance(asked, str | Path):
        return False
    try:
        text = Path(asked).read_text(encoding="utf-8-sig")
        if "tables" not in text and "\\" not in text:
            return False  # spelled out or by escapes, the word must be there: no need to parse twice
        return "tables" in policy_file.read_yaml(text)
    except (OSError, UnicodeDecodeError, PolicyError):
        return False  # the ordinary reader says what is wrong


def _of_plain(asked: dict[str, Any], folder: Path | None) -> LinkedPolicy:
    sources = {n: t["table"] for n, t in _group(asked, "tables").items() if isinstance(t, Mapping) and "table" in t}
    plain = policy_file.plain(_with_named_sources(asked))
    rules = json.loads(importlib.resources.files("shoal.release.linked").joinpath("linked.schema.json").read_text("utf-8"))
    policy_file.check(plain, rules, rules)
    policy_file.refuse_secrets({n: v for n, v in plain.items() if n not in ("tables", "links")})
    for name, settings in plain["tables"].items():
        policy_file.refuse_secrets(settings["table"], f"tables.{name}.table")
    person, keys = _keys(plain["tables"], plain["links"])
    k = plain["require"]["k"]
    tables = [_table(n, plain["tables"][n], keys[n], k, _place(sources[n], folder), folder) for n in (person, *keys) if n in keys]
    allow = plain.get("allow", {})
    return LinkedPolicy(
        tables=tuple({t.name: t for t in tables}.values()),
        k=k,
        known=plain["require"].get("known"),
        known_columns=plain["require"].get("known_columns"),
        suppress=float(allow.get("suppress", 0.0)),
        orphans=allow.get("orphans", "refuse"),
        loss=float(allow.get("loss", 0.8)),
        about={n: plain[n] for n in ABOUT if n in plain},
    )


def _group(asked: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    group = asked.get(name)
    return group if isinstance(group, Mapping) else {}


def _with_named_sources(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The policy with a word in place of each table that is not a path."""
    tables: Any = asked.get("tables")
    if not isinstance(tables, Mapping):
        return dict(asked)
    named = {
        n: {**t, "table": str(t["table"]) if isinstance(t["table"], str | Path) else "(a frame)"}
        if isinstance(t, Mapping) and "table" in t
        else t
        for n, t in tables.items()
    }
    return {**asked, "tables": named}


def _keys(tables: Mapping[str, Any], links: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The person table, and the column of each table that names the person."""
    ends = {_end(a, tables): _end(b, tables) for a, b in links.items()}
    persons = sorted(set(ends.values()))
    if len(persons) > 1 or any(b == a or a[0] == b[0] for a, b in ends.items()):
        raise PolicyError(
            "the links lead to several keys; all must lead to the one key of the person table.",
            hint="Write 'links: {visits.person_id: person.id, drugs.person_id: person.id}'. Keys between other tables (a visit's "
            "number in another table) cannot be kept yet: name them under roles.direct.",
            path="links",
        )
    person, key = persons[0]
    for name in tables:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,60}", name) or name in ("certificate", "report"):
            hint = "Rename it under 'tables'."
            raise PolicyError("a table is named by letters, digits, - and _: its name becomes that of a file.", hint=hint)
    keys = {person: key}
    for name, column in ends:
        if name in keys:
            raise PolicyError(f"'links' names two keys of table '{name}'.", hint="Name the one that names the person.")
        keys[name] = column
    left = [n for n in tables if n not in keys]
    if left:
        hint = f"Write 'links: {{{left[0]}.COLUMN: {person}.{key}}}'."
        raise PolicyError(f"table '{left[0]}' is not linked to the people.", hint=hint)
    return person, keys


def _end(text: str, tables: Mapping[str, Any]) -> tuple[str, str]:
    """``table.column`` as table and column; names may hold dots."""
    for name in tables:
        if text.startswith(f"{name}.") and len(text) > len(name) + 1:
            return name, text[len(name) + 1 :]
    hint = f"Write TABLE.COLUMN, with a table of: {', '.join(tables)}."
    raise PolicyError("a link does not name a table and its column.", hint=hint, path="links")


def _place(source: Any, folder: Path | None) -> Any:
    """The source; a file is looked for beside the policy."""
    if isinstance(source, str) and folder is not None and "::" not in source and (folder / source).exists():
        return folder / source
    return source


def _table(name: str, stated: Mapping[str, Any], key: str, k: int, source: Any, folder: Path | None) -> LinkedTable:
    if any(key in (roles or ()) for roles in stated["roles"].values()):
        hint = "Leave it out of the roles: it becomes a pseudonym."
        raise PolicyError(f"column '{key}' of table '{name}' is the key of the people and has a role too.", hint=hint)
    document = {"roles": stated["roles"], "transform": stated.get("transform", {}), "require": {"k": k}}
    unit = {"column": key, "publish": "pseudonym"}
    try:
        policy = Policy.of({**document, "unit": unit, "allow": {"identifying": stated.get("identifying", [])}})
    except (PolicyError, UsageError) as error:
        raise PolicyError(f"table '{name}': {error.message}", hint=error.hint, path=f"tables.{name}") from None
    return LinkedTable(name, source, key, replace(policy, folder=folder), stated.get("read", {}))

"""Several tables about the same people: who each row belongs to, what the tables say together, one release of all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import ShoalError, UsageError
from shoal.release.linked.policy import LinkedPolicy
from shoal.release.policy import file as policy_file
from shoal.studio import words
from shoal.studio.answers import StillCounting
from shoal.studio.here import Fields, Here, Studio, here, page, posts, problem_of
from shoal.studio.policy_changes import finite, whole
from shoal.studio.prove import FORMATS, queue_release
from shoal.studio.views import measured
from shoal.studio.workspace import edits
from shoal.studio.workspace.edits import MOST_KNOWN

DEFAULTS = {"k": "5", "known": "", "suppress": "2", "orphans": "", "person": ""}


@dataclass(frozen=True)
class Member:
    """A table of the set: under its name in the policy, with the place of the column that names the person (None: none yet)."""

    at: Here
    name: str
    key: int | None

    @property
    def single(self) -> bool:
        """Whether each person has one row."""
        return self.key is not None and self.at.columns[self.key].distinct == self.at.kept.told.get("rows")


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.get("/linked")
    def linked(request: Request) -> Response:
        return linked_page(request, studio, dict(request.query_params))

    @posts(router, "/linked/release")
    def release(request: Request, fields: Fields) -> Response | str:
        members = members_of(studio, fields)
        person = person_of(members, fields)
        files = [m.at.kept.file for m in members]
        names = {m.name: m.at.kept.file if files.count(m.at.kept.file) == 1 else m.name + m.at.kept.form for m in members}
        text = policy_file.write_yaml(document(members, person, fields, names))
        tables = {m.name: m.at.kept.id for m in members}
        kept = person.at.kept
        queue_release(studio, kept.id, text, fields.get("format", "csv"), ledger="no_ledger" not in fields, tables=tables)
        return f"/t/{kept.id}/prove"

    return router


def linked_page(request: Request, studio: Studio, fields: Fields) -> Response:
    """The tables to choose from, the column that names the person in each, and what they say together."""
    kept, chosen = studio.workspace.tables.all(), []
    told: dict[str, Any] = {"found": None, "problem": None, "counting": False, "people": None, "undecided": []}
    try:
        chosen = members_of(studio, fields)
        told["undecided"] = [m for m in chosen if m.at.undecided]
        if len(chosen) > 1 and all(m.key is not None for m in chosen) and not told["undecided"]:
            told["people"] = person = person_of(chosen, fields)
            paths = {m.name: str(studio.workspace.tables.path(m.at.kept)) for m in chosen}
            asked = document(chosen, person, fields, paths)
            told["found"] = studio.answers.table(person.at.kept, person.at.policy, measured.together, asked)
    except StillCounting:
        told["counting"] = True
    except ShoalError as error:
        told["problem"] = problem_of(error)
    by_id = {m.at.kept.id: m for m in chosen}
    ticked = set(by_id) or {one.id for one in kept if f"t.{one.id}" in fields}
    lists = {
        "tables": kept,
        "ticked": ticked,
        "members": chosen,
        "by_id": by_id,
        "formats": FORMATS,
        "known": range(1, MOST_KNOWN + 1),
    }
    return page(request, "linked.html", **told, **lists, fields={**DEFAULTS, **fields})


def members_of(studio: Studio, fields: Mapping[str, str]) -> list[Member]:
    """The ticked tables (fields ``t.ID``) with the column that was chosen (``key.ID``) or is proposed."""
    ats = [here(studio, one.id) for one in studio.workspace.tables.all() if f"t.{one.id}" in fields]
    out: list[Member] = []
    for at in ats:
        said = fields.get(f"key.{at.kept.id}", "")
        if said:
            at.column(said)
        base = re.sub(r"[^A-Za-z0-9_-]+", "-", at.kept.name).strip("-")[:50] or "table"
        base = f"{base}-table" if base in ("certificate", "report") else base
        taken = [m.name for m in out]
        name = next(n for n in (base, *(f"{base}-{i}" for i in range(2, 99))) if n not in taken)
        out.append(Member(at, name, int(said) if said else proposed(at, [other for other in ats if other is not at])))
    return out


def proposed(at: Here, others: list[Here]) -> int | None:
    """The place of the column that seems to name the person: that of the table's policy, else one that names people or rows.

    Of several, one that the other tables have too, or that they name people by; then one that is different in every row.
    """
    places = {c.name: i for i, c in enumerate(at.columns)}
    if at.policy.unit:
        return places[at.policy.unit]
    shared = {c.name for other in others for c in other.columns}
    units = {str(other.policy.unit) for other in others}
    named = [c for c in at.columns if c.name in at.policy.direct]

    def fit(c: Any) -> tuple[bool, bool, bool]:
        like = any(c.name in unit or unit in c.name for unit in units)
        return c.name in shared, like or c.name.lower().endswith("id"), c.distinct == at.kept.told.get("rows")

    return places[max(named, key=fit).name] if named else None


def person_of(members: list[Member], fields: Mapping[str, str]) -> Member:
    """The table that has each person once: the one that was said to, else the first that has."""
    if len(members) < 2 or any(m.key is None for m in members):
        raise UsageError("two tables or more are needed, and in each the column that names the person.", hint="Choose them.")
    said = [m for m in members if m.at.kept.id == fields.get("person")]
    found = said or [m for m in members if m.single]
    if not found:
        raise UsageError("no table has each person once.", hint="Bring the table of the people, one row each, and tick it too.")
    return found[0]


def document(members: list[Member], person: Member, fields: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    """The policy of the set: roles as each table's own policy has them, without levels; checked."""
    asked = {**DEFAULTS, **fields}
    share = float(f"{finite(asked['suppress']) / 100:.6g}")
    allow: dict[str, Any] = {"suppress": share, **({"orphans": "drop"} if asked["orphans"] else {})}
    made: dict[str, Any] = {
        "tables": {m.name: {"table": names[m.name], **_roles(m)} for m in members},
        "links": {f"{m.name}.{_key(m)}": f"{person.name}.{_key(person)}" for m in members if m is not person},
        "require": {"k": whole(asked["k"]), **({"known": whole(asked["known"])} if asked["known"] else {})},
        "allow": allow,
        **{name: value for name, value in person.at.policy.about.items() if value},
    }
    LinkedPolicy.of(made)
    return made


def _key(member: Member) -> str:
    assert member.key is not None
    return member.at.columns[member.key].name


def _roles(member: Member) -> dict[str, Any]:
    """What the table's own policy says of its columns; the column that names the person has no role."""
    if member.at.undecided:
        raise UsageError(f"columns of {words.plain(member.at.kept.name)} are undecided.", hint="Answer on its page Measure.")
    own: dict[str, Any] = policy_file.plain(edits.parsed(edits.freed(member.at.step.policy)).document)
    key, roles = _key(member), own["roles"]
    left = {
        role: {c: rule for c, rule in named.items() if c != key} if isinstance(named, dict)
        else [c for c in named if c != key] if isinstance(named, list) else named
        for role, named in roles.items()
    }  # fmt: skip
    out = {"roles": {role: named for role, named in left.items() if named}}
    out |= {name: own[name] for name in ("read", "transform") if own.get(name)}
    looked = own.get("allow", {}).get("identifying")
    return out | ({"identifying": looked} if looked else {})

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
    """A table of the set: its name in the policy, and the place of the column that names the person (-1: none yet)."""

    at: Here
    name: str
    key: int

    @property
    def column(self) -> str:
        return self.at.columns[self.key].name

    @property
    def single(self) -> bool:
        """Whether each person has one row."""
        return self.at.columns[self.key].distinct == self.at.kept.told.get("rows")

    @property
    def undecided(self) -> int:
        return sum(1 for number in self.at.undecided if number != self.key)


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.get("/linked")
    def linked(request: Request) -> Response:
        return linked_page(request, studio, dict(request.query_params))

    @posts(router, "/linked/release")
    def release(_: Request, fields: Fields) -> str:
        members = members_of(studio, fields)
        kept, files = person_of(members, fields).at.kept, [m.at.kept.file for m in members]
        names = {m.name: m.at.kept.file if files.count(m.at.kept.file) == 1 else m.name + m.at.kept.form for m in members}
        text, tables = policy_file.write_yaml(document(members, fields, names)), {m.name: m.at.kept.id for m in members}
        queue_release(studio, kept.id, text, fields.get("format", "csv"), ledger="no_ledger" not in fields, tables=tables)
        return f"/t/{kept.id}/prove"

    return router


def linked_page(request: Request, studio: Studio, fields: Fields) -> Response:
    """The tables to choose from, the column that names the person in each, and what they say together."""
    content: dict[str, Any] = {"members": [], "found": None, "problem": None, "counting": False, "people": None}
    try:
        content["members"] = members = members_of(studio, fields)
        if len(members) > 1 and all(m.key >= 0 and not m.undecided for m in members):
            content["people"] = person = person_of(members, fields)
            asked = document(members, fields, {m.name: str(studio.workspace.tables.path(m.at.kept)) for m in members})
            content["found"] = studio.answers.table(person.at.kept, person.at.policy, measured.together, asked)
    except StillCounting:
        content["counting"] = True
    except ShoalError as error:
        content["problem"] = problem_of(error)
        if "orphans" in error.hint:
            content["problem"]["do"] = "Mend the tables, or tick below that rows that belong to nobody are left out."
    content |= {"tables": studio.workspace.tables.all(), "formats": FORMATS, "known": range(1, MOST_KNOWN + 1)}
    return page(
        request, "linked.html", by_id={m.at.kept.id: m for m in content["members"]}, fields={**DEFAULTS, **fields}, **content
    )


def members_of(studio: Studio, fields: Mapping[str, str]) -> list[Member]:
    """The ticked tables (fields ``t.ID``) with the column that was chosen (``key.ID``) or is proposed."""
    ats = [here(studio, one.id) for one in studio.workspace.tables.all() if f"t.{one.id}" in fields]
    out: list[Member] = []
    for number, at in enumerate(ats):
        key, name = fields.get(f"key.{at.kept.id}", ""), re.sub(r"[^A-Za-z0-9_-]+", "-", at.kept.name)[:50]
        if name in ("", "certificate", "report", *(m.name for m in out)):
            name = f"{name}-{number + 1}"
        places = {c.name: i for i, c in enumerate(at.columns)}
        out.append(Member(at, name, places[at.column(key)] if key else proposed(at, [one for one in ats if one is not at])))
    return out


def proposed(at: Here, others: list[Here]) -> int:
    """The place of the column that seems to name the person: that of the table's policy, else one that names people or rows.

    Of several, one that other tables have too or whose name is like that of an id; then one that differs in every row.
    """
    shared = {c.name for other in others for c in other.columns}
    named = [i for i, c in enumerate(at.columns) if c.name in (at.policy.unit, *at.policy.direct) or i in at.undecided]

    def fit(place: int) -> tuple[bool, bool, bool, bool]:
        c = at.columns[place]
        ends = c.name.lower().endswith("id")
        return c.name == at.policy.unit, c.name in shared and ends, ends, c.distinct == at.kept.told.get("rows")

    return max(named, key=fit, default=-1)


def person_of(members: list[Member], fields: Mapping[str, str]) -> Member:
    """The table that has each person once: the chosen one, else the first that has."""
    if len(members) < 2 or any(m.key < 0 for m in members):
        raise UsageError("two tables or more are needed, and in each the column that names the person.", hint="Choose them.")
    members_found = [m for m in members if m.at.kept.id == fields.get("person")] or [m for m in members if m.single]
    if not members_found:
        raise UsageError("no table has each person once.", hint="Bring the table of the people, one row each, and tick it too.")
    return members_found[0]


def document(members: list[Member], fields: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    """The policy of the set: roles as each table's own policy has them, without levels; checked. ``names`` are the sources."""
    asked, person = {**DEFAULTS, **fields}, person_of(members, fields)
    made = {
        "tables": {m.name: {"table": names[m.name], **_roles(m)} for m in members},
        "links": {f"{m.name}.{m.column}": f"{person.name}.{person.column}" for m in members if m is not person},
        "require": {"k": whole(asked["k"]), **({"known": whole(asked["known"])} if asked["known"] else {})},
        "allow": {
            "suppress": float(f"{finite(asked['suppress']) / 100:.6g}"),
            "orphans": "drop" if asked["orphans"] else "refuse",
        },
        **{name: value for name, value in person.at.policy.about.items() if value and name != "approved_by"},
    }
    LinkedPolicy.of(made)
    return made


def _roles(member: Member) -> dict[str, Any]:
    """What the table's own policy says of its columns; the column that names the person has no role."""
    if member.undecided:
        raise UsageError(f"columns of {words.plain(member.at.kept.name)} are undecided.", hint="Answer on its page Measure.")
    own: dict[str, Any] = policy_file.plain(edits.parsed(edits.freed(member.at.step.policy)).document)
    roles = {role: named for role, named in own["roles"].items() if named}
    for named in roles.values():
        if isinstance(named, dict):
            named.pop(member.column, None)
        elif isinstance(named, list) and member.column in named:
            named.remove(member.column)
    looked = own.get("allow", {}).get("identifying")
    parts = {"roles": roles, "read": own.get("read"), "transform": own.get("transform"), "identifying": looked}
    return {name: part for name, part in parts.items() if part or name == "roles"}

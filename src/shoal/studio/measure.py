"""Measure: the sentence first, then the chips to correct it, four numbers, the histogram, two questions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import ShoalError, UsageError
from shoal.find import Scale
from shoal.model.roles import DECIDED, Role
from shoal.release.policy.presets import PRESETS
from shoal.studio import policy_changes, words
from shoal.studio.counting import answer_of, offered
from shoal.studio.here import Fields, Here, Studio, change_policy, here, posts, table_page
from shoal.studio.policy_changes import AUDIENCES, audience
from shoal.studio.prove import FORMATS, queue_release
from shoal.studio.views import measured, understood
from shoal.studio.workspace import edits
from shoal.studio.workspace.edits import MOST_KNOWN, event_policy

LETTERS = {Role.DIRECT: "D", Role.QUASI: "Q", Role.SENSITIVE: "S", Role.INSENSITIVE: "I", Role.UNDECIDED: "?"}
CHOICES = (
    ("D", "direct", "names a person: removed"),
    ("Q", "quasi", "known to others"),
    ("S", "sensitive", "must stay secret"),
    ("I", "insensitive", "harmless"),
)
REST = {"": Role.UNDECIDED, "drop": Role.DIRECT, "quasi": Role.QUASI}
"""What a column is that the policy does not name."""
EXPLAINED = {"unique": "unique", "k": "k", "chance": "prosecutor.mean", "worst": "unique"}


def create_measure_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.get("/t/{table_id}/measure")
    def measure(request: Request, table_id: str) -> Response:
        at = here(studio, table_id)
        m = None
        if at.policy.quasi:
            m = studio.answers.measured(at.kept, at.policy, measured.shown, max(at.policy.smallest_class, 2))
            _tell(studio, at, m)
        return table_page(request, studio, at, "measure", **shown(at, m), why=_why(request, studio, at))

    def changing(path: str, change: Callable[[Here, Fields], tuple[str, str]]) -> None:
        @posts(router, "/t/{table_id}/" + path)
        def changed(_: Request, fields: Fields, table_id: str) -> str:
            change_policy(studio, table_id, lambda at: (*change(at, fields), at.step.locked))
            return f"/t/{table_id}/measure"

    for path, change in (("role", _role), ("rest", _rest), ("scale", _scale), ("unit", _unit), ("audience", _audience)):
        changing(path, change)

    @posts(router, "/t/{table_id}/read")
    def read(_: Request, fields: Fields, table_id: str) -> str:
        """Answer a question of the reader, or overrule a repair."""
        _read(studio, table_id, fields)
        return f"/t/{table_id}/measure"

    return router


def _read(studio: Studio, table_id: str, fields: Fields) -> None:
    """Read the file in another way; what cannot be read so is refused. Roles are guessed again if its columns change."""
    option, value = fields.get("option", ""), fields.get("value", "")
    if answer_of(option, value) is None:
        raise UsageError("this way to read a file is not known.", hint="Choose one of those shown.")
    typed = {"true": True, "false": False}.get(value, int(value) if value.isdecimal() else value)
    chosen = {option: value if option == "sheet" else typed}
    kept = studio.workspace.tables.get(table_id)
    if studio.workspace.history.now(kept.id) is None:
        studio.workspace.tables.tell(kept.id, {"read": kept.read | chosen})
        return

    def change(at: Here) -> tuple[str, str, tuple[str, ...]]:
        now = dict(at.policy.read) | chosen
        inspection = studio.answers.columns(at.kept, now)
        same = [c.name for c in inspection.columns] == [c.name for c in at.columns]
        text = edits.with_read(at.step.policy, now) if same else edits.first_policy(inspection, now)
        return f"read the file again: {option}={value}", text, at.step.locked if same else ()

    step = change_policy(studio, table_id, change)
    studio.workspace.tables.tell(kept.id, {"read": dict(edits.parsed(step.policy).read)})


def _role(at: Here, fields: Fields) -> tuple[str, str]:
    name, role = at.column(fields.get("column", "")), Role.parse(fields.get("role", ""))
    meaning = {"direct": "names people", "quasi": "is known to others", "sensitive": "is secret", "insensitive": "is harmless"}
    return f"{words.plain(name)} {meaning[role.value]}", edits.with_role(at.step.policy, [name], role)


def _rest(at: Here, fields: Fields) -> tuple[str, str]:
    """One answer for all undecided columns: left out, or a quasi-identifier each."""
    if fields.get("rest") == "drop":
        return "undecided columns are left out", edits.with_rest(at.step.policy, "drop")
    if fields.get("rest") != "quasi":
        raise UsageError("this answer is not known.", hint="Choose one of those shown.")
    columns = [at.columns[number].name for number in at.undecided]
    return "undecided columns are known to others", edits.with_role(at.step.policy, columns, Role.QUASI)


def _scale(at: Here, fields: Fields) -> tuple[str, str]:
    name, scale = at.column(fields.get("column", "")), fields.get("scale", "")
    if scale not in {s.value for s in Scale}:
        raise UsageError("this scale is not known.", hint="Choose one of those shown.")
    return f"{words.plain(name)} is of scale {scale}", edits.with_scale(at.step.policy, name, scale)


def _unit(at: Here, fields: Fields) -> tuple[str, str]:
    given = fields.get("column", "")
    if not given:
        return "each row is one person", edits.with_unit(at.step.policy, None)
    name = at.column(given)
    return f"people are named by {words.plain(name)}", edits.with_unit(at.step.policy, name)


def _audience(at: Here, fields: Fields) -> tuple[str, str]:
    preset = fields.get("preset", "")
    return f"{audience(preset)} will see it", edits.with_preset(at.step.policy, preset)


def shown(at: Here, m: dict[str, Any] | None) -> dict[str, Any]:
    """What the page shows; numbers are the library's."""
    roles = {name: role for role in DECIDED for name in getattr(at.policy, role.value)}
    own = {at.policy.unit: Role.DIRECT, at.policy.weight: Role.INSENSITIVE}
    columns = []
    for number, c in enumerate(at.columns):
        role = roles.get(c.name) or own.get(c.name) or REST[at.policy.rest]
        reason = c.reason if role is c.role else "you said so"
        scale = at.policy.scale.get(c.name, c.scale.value)
        columns.append({"number": number, "name": c.name, "letter": LETTERS[role], "reason": reason, "scale": scale})
    preset = at.policy.preset.name if at.policy.preset is not None else ""
    out: dict[str, Any] = {
        "columns": columns,
        "choices": CHOICES,
        "undecided": [columns[number] | {"distinct": at.columns[number].distinct} for number in at.undecided],
        "repairs": [
            {"words": re.sub(r" (Overrule|Refuse them|Choose another) with --read .*", "", r), "answers": offered(r)}
            for r in at.repairs
        ],
        "scales": [s.value for s in Scale],
        "unit": at.policy.unit,
        "preset": preset,
        "audiences": [{"name": n, "words": w, "rule": r, "source": PRESETS[n].source} for n, w, r in AUDIENCES],
        "m": m,
        "shoal_sign": None,
    }
    return out if m is None else out | m


def _tell(studio: Studio, at: Here, m: dict[str, Any]) -> None:
    """Keep what the card says, where it changed."""
    new = {"sentence": " ".join(m["said"]), "unique": m["unique"], "people": m["people"], "k": m["k"]}
    if any(at.kept.told.get(name) != value for name, value in new.items()):
        studio.workspace.tables.tell(at.kept.id, new)


def _why(request: Request, studio: Studio, at: Here) -> dict[str, Any] | None:
    """The explanation of a number, as the command line gives it."""
    asked = EXPLAINED.get(request.query_params.get("why", ""))
    if asked is None or not at.policy.quasi:
        return None
    return {"title": "Why this number?", "lines": studio.answers.measured(at.kept, at.policy, measured.why, asked)}


ASKED = ("a", "b", "c", "order", "example")


def create_understand_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.get("/t/{table_id}/understand")
    def understand(request: Request, table_id: str) -> Response:
        at = here(studio, table_id)
        if not at.policy.quasi:
            return table_page(request, studio, at, "understand", m=None)
        asked = {name: value for name, value in request.query_params.items() if name in ASKED and len(value) <= 400}
        k, least = max(at.policy.smallest_class, 2), at.policy.cells.minimum
        figures = studio.answers.measured(at.kept, at.policy, understood.shown, asked, k, least)
        return table_page(request, studio, at, "understand", unit=at.policy.unit, **figures)

    return router


TIMES = ("timestamp", "date", "time")
KNOWN = tuple(range(1, MOST_KNOWN + 1))


def create_events_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.get("/t/{table_id}/events")
    def events(request: Request, table_id: str) -> Response:
        at = here(studio, table_id)
        asked = {name: request.query_params.get(name) for name in ("time", "place")}
        chosen = {name: at.column(number) if number else "" for name, number in asked.items()}
        if asked["time"] is None and asked["place"] is None:
            chosen["time"] = guessed_time(at)
        result, problem = None, None
        if at.policy.unit and any(chosen.values()):
            try:
                asked_of = (measured.revealed, at.policy.unit, chosen["time"], chosen["place"])
                result = studio.answers.table(at.kept, at.policy, *asked_of)
            except ShoalError as error:
                problem = {"found": error.message, "do": error.hint}
        names = [{"number": i, "name": c.name} for i, c in enumerate(at.columns) if c.name != at.policy.unit]
        content = {"unit": at.policy.unit, "names": names, "chosen": chosen, "found": result, "problem": problem}
        content |= {"places": {c.name: i for i, c in enumerate(at.columns)}, "formats": FORMATS, "known": KNOWN}
        return table_page(request, studio, at, "understand", template="events.html", **content)

    @posts(router, "/t/{table_id}/event-release")
    def release(_: Request, fields: Fields, table_id: str) -> str:
        _release(studio, table_id, fields)
        return f"/t/{table_id}/prove"

    return router


def _release(studio: Studio, table_id: str, fields: Fields) -> None:
    """The release as a job; its policy is its own, the table's stays as it is."""
    at = here(studio, table_id)
    text = event_policy(
        at.policy,
        [c.name for c in at.columns],
        time=at.column(fields["time"]) if fields.get("time") else "",
        place=at.column(fields["place"]) if fields.get("place") else "",
        records=policy_changes.whole(fields.get("records", "")),
        k=policy_changes.whole(fields.get("k", "")),
        suppress=float(f"{policy_changes.finite(fields.get('suppress', '')) / 100:.6g}"),
    )
    queue_release(studio, at.kept.id, text, fields.get("format", "csv"), ledger="no_ledger" not in fields)


def guessed_time(at: Here) -> str:
    """The first column that holds moments, then days, then texts that are read as such; none where this column does not exist."""
    columns = [c for c in at.columns if c.name != at.policy.unit]
    times = [c.name for kind in TIMES for c in columns if c.kind == kind]
    times += [c.name for c in columns if c.kind == "text" and c.scale is Scale.DATE]
    return times[0] if times else ""

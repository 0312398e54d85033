"""What every page of a table knows: the table, the policy that holds, its history; and how it is rendered."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from shoal.errors import ShoalError, UsageError
from shoal.find import ColumnFinding
from shoal.release.policy.policy import Policy
from shoal.studio import forms
from shoal.studio.answers import WHILE_CHANGING, Answers, patience
from shoal.studio.guard import check_form, form_token
from shoal.studio.pages import render
from shoal.studio.workspace import Workspace, edits
from shoal.studio.workspace.database import Kept, Step
from shoal.studio.workspace.files import Databases
from shoal.studio.workspace.history import History, Superseded
from shoal.studio.workspace.jobs import Runner

Fields = dict[str, str]
"""The fields of a form."""
THEMES = ("light", "dark")
LOOK = "shoal_look"
GUESSED = "roles guessed"
WHERE = {"events": "understand", "levels": "improve", "plans": "improve"}
"""Pages that stand under another step."""


@dataclass(frozen=True)
class Studio:
    """The parts that pages share."""

    workspace: Workspace
    answers: Answers
    runner: Runner
    limit: int
    databases: Databases
    """Those that an admin has named."""
    vault: str = ""
    """The address of a vault's service; empty where the studio has none."""


@dataclass(frozen=True)
class Here:
    """A table as a page finds it."""

    kept: Kept
    step: Step
    policy: Policy
    columns: tuple[ColumnFinding, ...]
    repairs: tuple[str, ...] = ()
    """What the reader mended in the file, a sentence each."""

    def column(self, number: str) -> str:
        """The name of a column by its place: names never stand in an address or a form's value."""
        if not number.isdecimal() or int(number) >= len(self.columns):
            raise UsageError("this column does not exist.", hint="Choose one of those shown.")
        return self.columns[int(number)].name

    @property
    def undecided(self) -> list[int]:
        """Places of the columns that nobody has judged, those with most different values first."""
        if self.policy.rest:
            return []
        p = self.policy
        named = {*p.direct, *p.quasi, *p.sensitive, *p.insensitive, p.unit, p.weight}
        return sorted((i for i, c in enumerate(self.columns) if c.name not in named), key=lambda i: -self.columns[i].distinct)


def here(studio: Studio, table_id: str) -> Here:
    """The table and its policy; the first time, the roles are guessed and that is its first step."""
    kept = studio.workspace.tables.get(table_id)
    step = studio.workspace.history.now(kept.id)
    inspection = studio.answers.columns(kept, kept.read if step is None else edits.parsed(step.policy).read)
    if step is None:
        step = studio.workspace.history.add(kept.id, GUESSED, edits.first_policy(inspection, kept.read))
        studio.workspace.tables.tell(kept.id, {"rows": inspection.records, "columns": len(inspection.columns)})
        kept = studio.workspace.tables.get(table_id)
    return Here(kept, step, edits.parsed(step.policy), inspection.columns, tuple(inspection.read.get("repairs", ())))


def change_policy(
    studio: Studio, table_id: str, change: Callable[[Here], tuple[str, str, tuple[str, ...]]], seen: str = ""
) -> Step:
    """Add what ``change`` makes of the policy (its name, the new text, the locked columns) as a step.

    If another window is quicker, the change is made again on what that one left. ``seen`` is the version of the step that the
    page showed, for changes that mean something else on another one: then a :class:`Conflict` is raised.
    """
    while True:
        at = here(studio, table_id)
        if seen and seen != at.step.version:
            raise Conflict("another window changed this table meanwhile.")
        name, text, locked = change(at)
        try:
            return studio.workspace.history.add(at.kept.id, name, text, locked=locked, after=at.step)
        except Superseded:
            continue


def own_changes(fields: Mapping[str, str], now: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The fields that a person changed, and those of them that another window has changed since the page was shown.

    ``now`` has the current value of each field of the form; the form carries what its page showed as ``was.NAME``. Behind ``~``
    stands what a value means (of levels, a digest of their groups); a form without ``was`` is taken as it is.

    >>> own_changes({"k": "5", "was.k": "5", "out": "9", "was.out": "0"}, {"k": "7", "out": "0"})
    ({'out': '9'}, [])
    >>> own_changes({"k": "6", "was.k": "5"}, {"k": "7"})
    ({}, ['k'])
    """
    mine, clashing = {}, []
    for name in now:
        was = fields.get(f"was.{name}")
        if was is None and name not in fields:
            continue
        value, (shown, mark, meaning) = fields.get(name, ""), (now[name] if was is None else was).partition("~")
        if value == shown or f"{value}{mark}{meaning}" == now[name]:
            continue
        if was is not None and was != now[name]:
            clashing.append(name)
        else:
            mine[name] = value
    return mine, clashing


def page(request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """A page for the session that asks."""
    theme = request.cookies.get(LOOK, "")
    shared = {
        "token": form_token(request.scope["session"]),
        "theme": theme if theme in THEMES else "",
        "person": request.scope.get("person"),
    }
    return HTMLResponse(render(template, **shared, **context), status_code=status)


def may_change(request: Request) -> bool:
    """Whether the user is more than a viewer."""
    person = request.scope.get("person")
    return person is None or bool(person.changes)


def table_page(request: Request, studio: Studio, at: Here, tab: str, *, template: str = "", **context: Any) -> HTMLResponse:
    """A page of a table, with its bar, its history and, where asked for, the policy beside it."""
    panel = "policy" if request.query_params.get("panel") == "policy" else ""
    shared = {
        "kept": at.kept,
        "tab": tab,
        "panel": panel or ("why" if context.get("why") else ""),
        "why": None,
        "problem": None,
        "undecided": None,
        "state": at.step.version,
        **steps_of(studio.workspace.history, at.kept.id, at.step.number),
        "text": at.step.policy,
        "command": command(at.kept),
        "python": python(at.kept),
    }
    return page(request, template or f"{tab}.html", **(shared | context))


def steps_of(history: History, key: str, at: int) -> dict[str, Any]:
    """Every step, the one that would be taken back and the one that would be done again."""
    steps = history.steps(key)
    undo = {"number": at - 1, "words": next(s.words for s in steps if s.number == at)} if at > 0 else None
    return {"steps": steps, "undo": undo, "redo": next((s for s in steps if s.number == at + 1), None)}


def waiting_page(request: Request, studio: Studio, table_id: str) -> HTMLResponse:
    """The page shown while counting goes on; it reloads the requested page, after a form the page Measure."""
    kept = studio.workspace.tables.get(table_id)
    looked = request.method == "GET"
    tab = request.url.path.split("/")[3] if looked else "measure"
    again = f"{request.url.path}?{request.url.query}".rstrip("?") if looked else f"/t/{kept.id}/measure"
    empty: dict[str, Any] = dict.fromkeys(("panel", "text", "command", "python", "state"), "")
    empty |= dict.fromkeys(("why", "undo", "redo", "problem")) | {"steps": []}
    return page(request, "wait.html", kept=kept, tab=WHERE.get(tab, tab), again=again, **empty)


def problem_of(error: ShoalError) -> dict[str, str]:
    """What the pages say about an error: what was found, and what to do."""
    problem = error.message.removeprefix("Found: ")
    return {"found": problem[:1].upper() + problem[1:], "do": error.hint}


def download(content: str, name: str, media_type: str = "application/yaml", **headers: str) -> Response:
    return Response(content, media_type=media_type, headers={"content-disposition": f'attachment; filename="{name}"', **headers})


def trouble(request: Request, error: ShoalError, *, status: int, back: str = "/") -> HTMLResponse:
    """An error as a page: what is wrong, what to do, and a link to go on."""
    context = {"title": "Something is in the way.", "asked": "", "back": back, "answers": getattr(error, "answers", ())}
    context["back_words"] = "Back" if back != "/" else "Back to the tables"
    context["table"] = request.url.path.split("/")[2] if request.url.path.startswith("/t/") else ""
    return page(request, "trouble.html", status=status, **context, **problem_of(error))


async def fields_of(request: Request) -> Fields:
    """The fields of a plain form that our own page made; what follows from it is waited for."""
    patience.set(WHILE_CHANGING)
    fields = await forms.read_fields(request.stream())
    require_ours(request, fields)
    return fields


def posts(router: APIRouter, path: str) -> Callable[[Callable[..., Response | str]], None]:
    """Make a function of (request, fields of our own form, parts of the path) a POST route that runs in a thread.

    It returns the answer, or the address that the browser goes to.
    """

    def register(work: Callable[..., Response | str]) -> None:
        @router.post(path, name=path)
        async def posted(request: Request) -> Response:
            fields = await fields_of(request)
            answer = await run_in_threadpool(work, request, fields, **request.path_params)
            return to(answer) if isinstance(answer, str) else answer

    return register


@asynccontextmanager
async def file_of(request: Request, studio: Studio, limit: int | None = None) -> AsyncIterator[tuple[Path, forms.Sent]]:
    """The file of a form that our own page made, in a private place while the block runs, and what was sent with it."""
    boundary = forms.boundary_of(request.headers.get("content-type", ""))
    if boundary is None:
        raise UsageError("no file was chosen.", hint="Choose one.")
    with studio.workspace.files.incoming(secrets.token_hex(8)) as arrived:
        sent = await forms.read_parts(request.stream(), boundary, arrived, studio.limit if limit is None else limit)
        patience.set(WHILE_CHANGING)
        require_ours(request, sent.fields)
        yield arrived, sent


def require_ours(request: Request, fields: dict[str, str]) -> None:
    if not check_form(request, fields):
        raise Foreign("this form was not made by this studio.", hint="Load the page again and send it once more.")


class Conflict(UsageError):
    """Two windows changed the same thing."""

    status = 409

    def __init__(self, message: str) -> None:
        super().__init__(
            message, hint="Nothing was changed here. This page shows how it is now; do it again if you still want it."
        )


class Foreign(UsageError):
    """A form without the session's token."""

    status = 403


def to(address: str) -> RedirectResponse:
    return RedirectResponse(address, status_code=303)


def command(kept: Kept) -> str:
    out = shlex.quote(f"{kept.name}-release")
    return f"shoal anonymize {shlex.quote(kept.file)} --policy policy.yml --out {out}"


def python(kept: Kept) -> str:
    return f'import shoal\n\nrelease = shoal.anonymize({kept.file!r}, "policy.yml")\nrelease.write({kept.name + "-release"!r})'

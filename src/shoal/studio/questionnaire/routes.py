"""Questionnaires: the list, one of them with its meter, and every change of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from shoal.errors import ShoalError, UsageError
from shoal.forms import read_form
from shoal.forms.files import ENDINGS
from shoal.server.common import status_of
from shoal.studio import forms
from shoal.studio.here import Fields, Studio, download, file_of, here, page, posts, problem_of, steps_of, to
from shoal.studio.questionnaire.meters import EXAMPLE, Meters, about_of, name_of, shown, spec_of, whole
from shoal.studio.workspace import question_edits

MOST_BYTES = 50_000_000


def create_router(studio: Studio) -> APIRouter:
    router, meters = APIRouter(), Meters(studio.workspace)
    _add_list(router, studio)
    _add_page(router, studio, meters)
    _add_changes(router, studio, meters)
    return router


def _add_list(router: APIRouter, studio: Studio) -> None:
    """The list, and how a questionnaire begins."""

    @router.get("/questions")
    def listed(request: Request) -> Response:
        return _list_page(request, studio)

    @posts(router, "/questions")
    def begin(_: Request, fields: Fields) -> str:
        return f"/questions/{_begin(studio, fields)}"

    @router.post("/questions/import")
    async def bring(request: Request) -> Response:
        """A form of another tool, or a questions.yml."""
        try:
            async with file_of(request, studio, MOST_BYTES) as (arrived, sent):
                made = await run_in_threadpool(_bring_in, studio, arrived, sent)
        except ShoalError as error:
            return await run_in_threadpool(_list_page, request, studio, error)
        return to(f"/questions/{made}")


def _add_page(router: APIRouter, studio: Studio, meters: Meters) -> None:
    """One questionnaire: its page, its text and its numbers."""
    kept = studio.workspace.questionnaires

    @router.get("/questions/{key}")
    def one(request: Request, key: str) -> Response:
        questionnaire, now = kept.get(key), kept.now(key)
        numbers, tables = shown(meters, now.policy), studio.workspace.tables.all()
        context = {"kept": questionnaire, "text": now.policy, "pilot": question_edits.pilot_of(now.policy), **numbers}
        steps = steps_of(kept.history, questionnaire.id, now.number)
        return page(request, "questionnaire/one.html", tables=tables, **steps, **context)

    @router.get("/questions/{key}/questions.yml")
    def save(key: str) -> Response:
        return download(question_edits.exported(kept.now(key).policy), "questions.yml")

    @router.get("/questions/{key}/meter.json")
    def numbers(key: str) -> Response:
        metered = meters.metered(kept.now(key).policy)
        headers = {"content-disposition": 'attachment; filename="meter.json"'}
        return JSONResponse(metered.meter.to_json() | {"letter": metered.asked.paragraph()}, headers=headers)


def _add_changes(router: APIRouter, studio: Studio, meters: Meters) -> None:
    """What changes one: each a step with its name; steps taken back; the end."""
    kept = studio.workspace.questionnaires

    def changing(path: str, change: Callable[[str, Fields], tuple[str, str]]) -> None:
        @posts(router, "/questions/{key}/" + path)
        def changed(_: Request, fields: Fields, key: str) -> str:
            words, text = change(kept.now(key).policy, fields)
            kept.history.add(key, words, text)
            return f"/questions/{key}"

    changing("add", _add)
    changing("edit", _edit)
    changing("remove", lambda text, f: (f"left out {_name(text, f)}", question_edits.without_question(text, _name(text, f))))
    changing("move", _move)
    changing("about", lambda text, f: ("said who is asked", question_edits.with_about(text, **about_of(f))))
    changing("closed", _closed)
    changing("pilot", lambda text, f: _pilot(studio, text, f))
    changing("apply", lambda text, f: _apply(meters, text, f))

    @posts(router, "/questions/{key}/go")
    def go(_: Request, fields: Fields, key: str) -> str:
        kept.history.go(kept.get(key).id, whole(fields.get("number", ""), "the step"))
        return f"/questions/{key}"

    @posts(router, "/questions/{key}/delete")
    def delete(*_: Request | Fields, key: str) -> str:
        kept.delete(kept.get(key).id)
        return "/questions"


def _list_page(request: Request, studio: Studio, error: ShoalError | None = None) -> Response:
    problem = None if error is None else problem_of(error)
    status = 200 if error is None else status_of(error)
    kept, tables = studio.workspace.questionnaires.all(), studio.workspace.tables.all()
    return page(request, "questionnaire/list.html", status=status, kept=kept, tables=tables, problem=problem)


def _begin(studio: Studio, fields: Fields) -> str:
    if fields.get("example") == "1":
        return studio.workspace.questionnaires.add("Staff survey", "opened the example", EXAMPLE).id
    about = {"population": 10_000, "respondents": 500} | about_of(fields)
    if fields.get("table"):
        text = _of_table(studio, fields["table"], about)
        name = studio.workspace.tables.get(fields["table"]).name
        return studio.workspace.questionnaires.add(_title({"title": name}), "began from a pilot", text).id
    title = _title(fields)
    text = question_edits.new(title, about["population"], about["respondents"])
    return studio.workspace.questionnaires.add(title, "began", text).id


def _bring_in(studio: Studio, arrived: Path, sent: forms.Sent) -> str:
    """A form from its file; how many are asked stands in the form's own fields, since most tools do not say."""
    ending = Path(sent.file).suffix.lower()
    title = _title({"title": Path(sent.file).stem})
    if ending in (".yml", ".yaml"):
        text = question_edits.brought(question_edits.document_of(arrived.read_text(encoding="utf-8", errors="replace")))
        return studio.workspace.questionnaires.add(title, "brought questions.yml", text).id
    if ending not in ENDINGS:
        raise UsageError("unknown kind of form.", hint=f"Forms end in {', '.join(ENDINGS)} or .yml.")
    named = arrived.with_suffix(ending)
    arrived.rename(named)
    try:
        form = read_form(named)
    finally:
        named.unlink(missing_ok=True)
    about = {"population": 10_000, "respondents": 500, "target": 5} | about_of(sent.fields) | {"target": 0.05}
    text = question_edits.brought(form.document(title=form.title or title, **about))
    return studio.workspace.questionnaires.add(form.title or title, f"brought from {form.tool}", text).id


def _of_table(studio: Studio, table_id: str, about: dict[str, Any]) -> str:
    """A questionnaire whose questions are the columns of a table that others may know; the table is its pilot."""
    at = here(studio, table_id)
    asked = {c.name: {"values": max(c.distinct, 1)} for c in at.columns if c.name in at.policy.quasi}
    if not asked:
        raise UsageError("no column of this table is marked as known to others.", hint="Mark the questions with Q on Measure.")
    text = question_edits.brought({"title": at.kept.name, **about, "target": 0.05, "questions": asked})
    return question_edits.with_pilot(text, at.kept.id)


def _pilot(studio: Studio, text: str, fields: Fields) -> tuple[str, str]:
    """A table of answers that were given already; none takes it away."""
    table_id = fields.get("table", "")
    if not table_id:
        return "no pilot any more", question_edits.with_pilot(text, "")
    kept = studio.workspace.tables.get(table_id)
    return f"pilot: {kept.name}"[:120], question_edits.with_pilot(text, kept.id)


def _title(fields: Fields) -> str:
    title = " ".join("".join(c for c in fields.get("title", "") if c.isprintable()).split())
    return title[:80] or "Questionnaire"


def _name(text: str, fields: Fields) -> str:
    """A question by its place: names never stand in a form's value."""
    names: list[str] = list(question_edits.document_of(text)["questions"])
    number = fields.get("question", "")
    if not number.isdecimal() or int(number) >= len(names):
        raise UsageError("this question does not exist.", hint="Choose one of those shown.")
    return names[int(number)]


def _add(text: str, fields: Fields) -> tuple[str, str]:
    name = name_of(fields)
    return f"added {name}", question_edits.with_question(text, name, spec_of(fields), new=True)


def _edit(text: str, fields: Fields) -> tuple[str, str]:
    name = _name(text, fields)
    return f"described {name}", question_edits.with_question(text, name, spec_of(fields), new=False)


def _move(text: str, fields: Fields) -> tuple[str, str]:
    name = _name(text, fields)
    return f"moved {name}", question_edits.moved(text, name, whole(fields.get("to", ""), "the place"))


def _closed(text: str, fields: Fields) -> tuple[str, str]:
    """An open question is asked no more."""
    names, number = list(question_edits.document_of(text).get("open") or {}), fields.get("question", "")
    if not number.isdecimal() or int(number) >= len(names):
        raise UsageError("this question does not exist.", hint="Choose one of those shown.")
    return f"left out {names[int(number)]}", question_edits.without_open(text, names[int(number)])


def _apply(meters: Meters, text: str, fields: Fields) -> tuple[str, str]:
    suggested: list[Any] = meters.suggested(text) or []
    number = fields.get("number", "")
    if not number.isdecimal() or int(number) >= len(suggested) or not suggested[int(number)].changes:
        raise UsageError("this change is not offered any more.", hint="Choose one of those shown.")
    changes = suggested[int(number)].changes
    words = "; ".join(c.text for c in changes)
    return words[:120], question_edits.with_changes(text, meters.metered(text).asked, changes)

"""The policy of a table: saved as a file, replaced by one that somebody has, taken back and done again."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from shoal.errors import PolicyError, UsageError
from shoal.release.policy.policy import Policy
from shoal.studio.here import Conflict, Studio, change_policy, download, fields_of, file_of, here, to
from shoal.studio.workspace import edits
from shoal.studio.workspace.history import Superseded

TABS = ("measure", "understand", "improve", "prove")
MOST_POLICY = 1_000_000


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()
    workspace = studio.workspace

    @router.get("/t/{table_id}/now")
    def now(table_id: str) -> Response:
        """Which step holds: pages ask for it again and again, to follow other windows and to notice that the studio is gone."""
        step = workspace.history.now(workspace.tables.get(table_id).id)
        return JSONResponse({"state": "" if step is None else step.version})

    @router.get("/t/{table_id}/policy.yml")
    def save(table_id: str) -> Response:
        return download(here(studio, table_id).step.policy, "policy.yml")

    @router.post("/t/{table_id}/policy")
    async def use(request: Request, table_id: str) -> Response:
        async with file_of(request, studio, MOST_POLICY) as (arrived, sent):
            raw = arrived.read_bytes()
        await run_in_threadpool(_use, studio, table_id, raw)
        return to(f"/t/{table_id}/{_tab(sent.fields)}?panel=policy")

    @router.post("/t/{table_id}/go")
    async def go(request: Request, table_id: str) -> Response:
        fields = await fields_of(request)
        number = fields.get("number", "")
        if not number.isdecimal():
            raise UsageError("this step does not exist.", hint="Choose one of the list.")
        try:
            await run_in_threadpool(lambda: workspace.history.go(table_id, int(number), seen=fields.get("seen", "")))
        except Superseded:
            raise Conflict("another window changed this table meanwhile.") from None
        return to(f"/t/{table_id}/{_tab(fields)}")

    return router


def _use(studio: Studio, table_id: str, raw: bytes) -> None:
    """A policy from a file: it must be readable and fit the table's columns."""
    try:
        text = edits.taken(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise PolicyError("the policy is not valid UTF-8.", hint="Choose a policy file (YAML).") from None
    asked = Policy.parse(text)
    known = {c.name for c in here(studio, table_id).columns}
    named = [*asked.quasi, *asked.direct, *asked.sensitive, *asked.insensitive, *(c for c in (asked.unit, asked.weight) if c)]
    files = [r.hierarchy for r in asked.quasi.values()] + list(asked.sensitive.values()) + [asked.population_table]
    if asked.events is not None or any(isinstance(f, str) for f in files):
        raise PolicyError(
            "the policy is one of an event table, or names files beside it; the studio reads neither.",
            hint="Run it on the command line: shoal anonymize TABLE --policy FILE --out DIR",
        )
    unknown = [c for c in named if c not in known]
    if unknown:
        raise PolicyError(
            f"the policy names {len(unknown)} columns that this table does not have.", hint="Choose the policy of this table."
        )
    change_policy(studio, table_id, lambda at: ("used a policy file", text, ()))


def _tab(fields: dict[str, str]) -> str:
    tab = fields.get("tab", "measure")
    return tab if tab in TABS else "measure"

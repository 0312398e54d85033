"""The page that edits the levels of one column."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from shoal.errors import ShoalError, UsageError, refuse
from shoal.hierarchies import SCHEMES
from shoal.hierarchies.builders.explicit import parse_rows, sniff
from shoal.release.policy.policy import Policy
from shoal.studio import words
from shoal.studio.here import Fields, Here, Studio, change_policy, download, file_of, here, posts, table_page, to
from shoal.studio.value_groups import apart, groups_of, is_group, rule_of, together, tree_of
from shoal.studio.views import improved, measured
from shoal.studio.workspace import edits

MOST_FILE = 5_000_000
STEPS = ("month", "quarter", "year", "decade")


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.get("/t/{table_id}/levels/{number}")
    def levels(request: Request, table_id: str, number: str) -> Response:
        at = here(studio, table_id)
        name = _column(at, number)
        return table_page(request, studio, at, "improve", template="levels.html", **shown(studio, at, name, number))

    @posts(router, "/t/{table_id}/levels/{number}/{kind}")
    def change(_: Request, fields: Fields, table_id: str, number: str, kind: str) -> str:
        _change(studio, table_id, number, kind, fields)
        return f"/t/{table_id}/levels/{number}"

    @router.post("/t/{table_id}/levels-file/{number}")
    async def bring(request: Request, table_id: str, number: str) -> Response:
        async with file_of(request, studio, MOST_FILE) as (arrived, _):
            raw = arrived.read_bytes()
        return await run_in_threadpool(_bring_in, studio, table_id, number, raw)

    @router.get("/t/{table_id}/levels-file/{number}")
    def save(table_id: str, number: str) -> Response:
        at = here(studio, table_id)
        rows = studio.answers.improvement(at.kept, at.policy, measured.rows, _column(at, number))
        out = io.StringIO(newline="")
        csv.writer(out, delimiter=";", lineterminator="\n").writerows(rows)
        return download(out.getvalue(), "levels.csv", "text/csv; charset=utf-8")

    return router


def shown(studio: Studio, at: Here, name: str, number: str) -> dict[str, Any]:
    """What the page shows: the levels now, and a form for each way to build them that fits the column."""
    improvement = studio.answers.improvement(at.kept, at.policy, measured.levels, name)
    scale = at.policy.scale.get(name) or next(c.scale.value for c in at.columns if c.name == name)
    rule = at.policy.quasi[name].hierarchy
    given = rule if isinstance(rule, Mapping) else {}
    prefix = given.get("prefix", "")
    values = [label for label, _ in improvement["values"]]
    named = groups_of(given, values)
    counts = dict(improvement["values"])
    places = {value: i for i, value in enumerate(values)}
    return {
        **improvement,
        "number": number,
        "column": name,
        "scale": scale,
        "own": bool(rule) and not edits.is_guessed(rule),
        "widths": ", ".join(f"{w:g}" for w in given.get("intervals", []) if isinstance(w, int | float)),
        "top": given.get("top", ""),
        "bottom": given.get("bottom", ""),
        "steps": [{"name": s, "on": s in (given.get("dates") or ())} for s in STEPS],
        "schemes": sorted(SCHEMES),
        "prefix": prefix if isinstance(prefix, str) else ", ".join(str(n) for n in prefix),
        "groups": [
            {"place": i, "name": g, "values": [{"place": places[v], "text": v, "n": counts[v]} for v in inside]}
            for i, (g, inside) in enumerate(named.items())
            if is_group(g, inside)
        ],
        "alone": [{"place": places[v], "text": v, "n": counts[v]} for g, (v, *more) in named.items() if g == v and not more],
    }


def _column(at: Here, number: str) -> str:
    name = at.column(number)
    if name not in at.policy.quasi:
        raise UsageError("this column is not generalized.", hint="Give it the role Q first.")
    return name


def _change(studio: Studio, table_id: str, number: str, kind: str, fields: Mapping[str, str]) -> None:
    if kind not in RULES and kind not in ("together", "apart"):
        raise UsageError("this way to build levels does not exist.", hint="Choose one of those shown.")

    def built(at: Here, name: str) -> tuple[str, Any]:
        return RULES[kind](fields) if kind in RULES else _group(studio, at, name, kind, fields)

    _keep(studio, table_id, number, built, fields.get("seen", ""))


def _keep(studio: Studio, table_id: str, number: str, built: Callable[[Here, str], tuple[str, Any]], seen: str = "") -> None:
    """Other levels are tried before they are kept: what cannot be built, or does not fit the values, is refused."""

    def change(at: Here) -> tuple[str, str, tuple[str, ...]]:
        name = _column(at, number)
        sentence, rule = built(at, name)
        text = edits.with_hierarchy(at.step.policy, name, rule)
        studio.answers.improvement(at.kept, Policy.parse(text), improved.heights)
        return f"{words.plain(name)}: {sentence}", text, at.step.locked

    change_policy(studio, table_id, change, seen)


def _group(studio: Studio, at: Here, name: str, kind: str, fields: Mapping[str, str]) -> tuple[str, Any]:
    values = [label for label, _ in studio.answers.improvement(at.kept, at.policy, measured.values, name)]
    rule = at.policy.quasi[name].hierarchy
    now = groups_of(rule, values)
    if kind == "apart":
        names = list(now)
        place = fields.get("group", "")
        if not place.isdecimal() or int(place) >= len(names):
            raise UsageError("this group does not exist.", hint="Choose one of those shown.")
        return "a group taken apart", rule_of(apart(now, names[int(place)]))
    chosen = [v for i, v in enumerate(values) if f"v.{i}" in fields]
    made = together(now, chosen, fields.get("name", ""))
    return f"{len(chosen)} values put together", rule_of(made)


def _numbers(text: str) -> list[float | int]:
    out: list[float | int] = []
    for part in text.replace(";", ",").split(","):
        if part.strip():
            try:
                n = float(part)
            except ValueError:
                raise UsageError("this is not a list of numbers.", hint="Write numbers such as 5, 10, 20.") from None
            out.append(int(n) if n.is_integer() else n)
    return out


def _bands(fields: Mapping[str, str]) -> tuple[str, Any]:
    widths = _numbers(fields.get("widths", ""))
    if not widths:
        return "levels as Shoal builds them", None
    ends = {end: _numbers(fields.get(end, ""))[0] for end in ("top", "bottom") if fields.get(end, "").strip()}
    return f"bands of {', '.join(f'{w:g}' for w in widths)}", {"intervals": widths, **ends}


def _codes(fields: Mapping[str, str]) -> tuple[str, Any]:
    scheme = fields.get("scheme", "")
    if scheme:
        return f"codes of {scheme}", {"prefix": scheme}
    lengths = _numbers(fields.get("lengths", ""))
    if not lengths:
        return "levels as Shoal builds them", None
    return f"the first {', '.join(f'{n:g}' for n in lengths)} letters", {"prefix": lengths}


def _dates(fields: Mapping[str, str]) -> tuple[str, Any]:
    steps = [s for s in STEPS if f"step.{s}" in fields]
    return (f"by {', '.join(steps)}", {"dates": steps}) if steps else ("levels as Shoal builds them", None)


RULES: dict[str, Callable[[Mapping[str, str]], tuple[str, Any]]] = {
    "bands": _bands,
    "codes": _codes,
    "dates": _dates,
    "built": lambda _: ("levels as Shoal builds them", None),
}


def _bring_in(studio: Studio, table_id: str, number: str, raw: bytes) -> RedirectResponse:
    """Levels from a file of ARX: they become part of the policy, so that no file has to stand beside it."""
    with refuse(UsageError("the file is not valid UTF-8.", hint="Save it as CSV in UTF-8."), UnicodeDecodeError):
        text = raw.decode("utf-8-sig")
    try:
        rows = parse_rows(text, sniff(text), "levels.csv")
    except ShoalError as error:
        raise UsageError(error.message, hint=error.hint) from None
    rule = {"tree": tree_of(_even(rows)), "on_gap": "top"}
    _keep(studio, table_id, number, lambda at, name: ("levels from a file", rule))
    return to(f"/t/{table_id}/levels/{number}")


def _even(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Rows of the same length, each value once; a line of stars stands for values without a name."""
    width = len(rows[0])
    if any(len(row) != width for row in rows):
        raise UsageError("the lines of the file have different lengths.", hint="Each line is: value; group; larger group; …")
    kept = [list(row) for row in rows if row[0] != "*"]
    if not kept or len({row[0] for row in kept}) != len(kept):
        raise UsageError("the file names a value twice, or none.", hint="Give one line per value.")
    return kept

"""The page Prove: a release, its folders and harder requirements."""

from __future__ import annotations

import secrets
import shlex
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

import shoal
from shoal.disk.atomic import scratch
from shoal.errors import ShoalError, UsageError
from shoal.release.claim import Verification
from shoal.release.linked.policy import LinkedPolicy
from shoal.release.policy import file as policy_file
from shoal.release.policy.policy import Policy
from shoal.server.common import status_of
from shoal.studio import packed, words
from shoal.studio.guard import POLICY
from shoal.studio.here import (
    Fields,
    Here,
    Studio,
    change_policy,
    download,
    file_of,
    here,
    page,
    posts,
    problem_of,
    table_page,
    to,
)
from shoal.studio.policy_changes import is_release_of, least_plan, levels_of, search_of
from shoal.studio.views import improved
from shoal.studio.workspace import Workspace, edits
from shoal.studio.workspace.database import Job, Kept, Made
from shoal.studio.workspace.work import claim_of, line_of, seed_of, verdict_of

FORMATS = ("csv", "parquet", "arrow", "excel", "spss", "stata")
FIELDS = (
    ("approved_by", "Approved by", "text"),
    ("recipient", "Recipient", "text"),
    ("purpose", "Purpose", "text"),
    ("review", "Review on", "date"),
    ("contact", "Contact", "text"),
)
READ = ("report.html",)
"""Files that may be opened before the findings are decided."""
LEARNT = {
    "skewness": "In some groups a value of {} is far more common than in the whole table, so its members are suspected of it.",
    "homogeneity": "In some groups everybody has the same {}, so it is known without finding the person's row.",
    "background knowledge": "Somebody who can rule out one value is certain about {} for some people.",
    "further knowledge": "Somebody who also knows a published column that the plan does not count finds many people.",
    "downcoding": "Some published ranges contain a single finer value, so that value is known.",
    "known records": "Somebody who knows {} of a person finds some people.",
    "sparse matching": "Somebody who knows {} of a person, not all exactly, finds some people.",
    "length of the trace": "Somebody who knows {} of a person, and how many there are, finds some people.",
    "whole trail": "Somebody who knows every record of a person finds some people.",
    "inference": "Somebody who knows some records of a person guesses the {}, for some people correctly.",
}
"""What a finding means for people, by the name of its attack; others are described by their own first sentence."""
NUMBERS = ("No", "One", "Two", "Three", "Four")
WORDS = {
    "Recode": "Values generalized, groups that are too small suppressed.",
    "Recount": "Read back from the file, counted by a second way.",
    "Attacks": "What somebody who has the file could still learn.",
    "Certificate": "Signed, and the whole folder proven again.",
}


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()
    _add_files(router, studio.workspace)
    _add_brought(router, studio)

    @router.get("/t/{table_id}/prove")
    def prove(request: Request, table_id: str) -> Response:
        at = here(studio, table_id)
        answer = table_page(request, studio, at, "prove", **shown(studio, at, request.query_params.get("release", "")))
        answer.headers["content-security-policy"] = f"{POLICY}; frame-src 'self'"  # the report stands in a frame
        return answer

    @posts(router, "/t/{table_id}/release")
    def release(_: Request, fields: Fields, table_id: str) -> str:
        _release(studio, table_id, fields)
        return f"/t/{table_id}/prove"

    @posts(router, "/r/{release_id}/sign")
    def sign(_: Request, fields: Fields, release_id: str) -> str:
        made = studio.workspace.releases.get(release_id)
        _sign(studio, made, fields)
        return f"/t/{made.table_id}/prove"

    @posts(router, "/r/{release_id}/accept")
    def accept(request: Request, fields: Fields, release_id: str) -> str:
        """Accept the ticked findings of a release, with a reason."""
        made = studio.workspace.releases.get(release_id)
        reason = " ".join(fields.get("reason", "").split())[:300]
        ticked = [f for f in findings(made) if f"f.{f['number']}" in fields]
        if not ticked or not reason:
            raise UsageError("tick what you accept, and say why.", hint="Both are kept with the release.")
        person = request.scope.get("person")
        by = {"reason": reason, "by": "" if person is None else person.name, "when": time.time()}
        studio.workspace.releases.accept(made.id, {f["name"]: {"sentence": f["sentence"], **by} for f in ticked})
        return f"/t/{made.table_id}/prove?release={made.id}"

    return router


def _release(studio: Studio, table_id: str, fields: Fields) -> None:
    """The policy as it stands, as a job; findings that were accepted before count if they are found again."""
    at, made = here(studio, table_id), next(iter(studio.workspace.releases.of_table(table_id)), None)
    if any(fields.get(name) for name in edits.ABOUT):
        raise Undecided("nothing is signed yet.", hint="Write the release, decide what was found in it, then sign it.")
    if not _ready(studio, at):
        raise UsageError("the requirements are not met yet.", hint="Choose a plan, or move the sliders, until all is met.")
    accepted = {} if made is None else made.told.get("accepted", {})
    text = edits.unapproved(at.step.policy)
    queue_release(studio, table_id, text, fields.get("format", "csv"), accepted, ledger="no_ledger" not in fields)


def _sign(studio: Studio, made: Made, fields: Fields) -> None:
    """Write a release again with its sign-off; that of the table's own policy becomes a step of it."""

    def signed(at: Here) -> tuple[str, str, tuple[str, ...]]:
        if not is_release_of(made, at.policy):
            raise UsageError("the policy is another one now.", hint="Write the release again, then sign it.")
        return "signed off", edits.with_about(at.step.policy, fields), at.step.locked

    _require_decided(made)
    if made.own_policy:
        text = edits.with_about(made.told["policy"], fields)
    else:
        text = change_policy(studio, made.table_id, signed, fields.get("seen", "")).policy
    form, accepted, ledger = fields.get("format", made.told["format"]), made.told.get("accepted"), "no_ledger" not in fields
    queue_release(studio, made.table_id, text, form, accepted, ledger=ledger, tables=made.told.get("tables"), again=made.id)


def queue_release(
    studio: Studio,
    table_id: str,
    policy: str,
    form: str,
    accepted: Mapping[str, Any] | None = None,
    *,
    ledger: bool = True,
    tables: Mapping[str, str] | None = None,
    again: str = "",
) -> None:
    """The release of a policy as a job; unknown formats are refused.

    ``tables`` are the ids of linked tables by name, ``again`` is a release whose random choices are made again.
    """
    if form not in FORMATS:
        raise UsageError("this format is not known.", hint=f"Formats: {', '.join(FORMATS)}.")
    asked = {"policy": policy, "format": form, "accepted": dict(accepted or {}), "ledger": ledger, "tables": dict(tables or {})}
    studio.workspace.jobs.add(table_id, "release", asked | {"again": again})
    studio.runner.wake()


def findings(made: Made) -> list[dict[str, Any]]:
    """What the attacks found that somebody has to decide, the most dangerous first, and how each was decided."""
    attacks = [(i, a) for i, a in enumerate(made.told["attacks"]) if a["verdict"] in ("broken", "warning")]
    attacks.sort(key=lambda pair: (pair[1]["verdict"] != "broken", -(pair[1].get("rate") or 0.0), pair[0]))
    accepted = made.told.get("accepted", {})
    out = []
    for number, a in attacks:
        kind, _, column = a["name"].partition(": ")
        sentence = LEARNT.get(kind, "").format(words.plain(_known(column))) or a["sentence"].partition(". ")[0].rstrip(".") + "."
        decided = accepted.get(a["name"])
        if decided is not None and decided["sentence"] != a["sentence"]:
            decided = None  # another release, other numbers: decided again
        out.append({**a, "number": number, "said": sentence, "accepted": decided})
    return out


def _known(what: str) -> str:
    """What an attack is about: a column, or a number of known records."""
    what = what.removesuffix(", as published")  # the same attack on the pseudonyms of events
    return f"{what} records" if what.isdecimal() else what


def signing(made: Made) -> dict[str, Any]:
    """One page to sign: what leaves, to whom, what can still be learnt, what was decided by whom."""
    findings_of, asked = findings(made), asked_of(made)
    kinds: dict[str, dict[str, None]] = {}
    decided: dict[tuple[str, str, str], list[str]] = {}
    for f in findings_of:
        kind, _, column = f["name"].partition(": ")
        kinds.setdefault(kind if kind in LEARNT else f["said"], {})[_known(column)] = None
        day = time.strftime("%Y-%m-%d", time.gmtime(f["accepted"]["when"]))
        decided.setdefault((f["accepted"]["reason"], f["accepted"]["by"], day), []).append(f["name"])
    parts = [(f" in {t.name}", t.policy) for t in asked.tables] if isinstance(asked, LinkedPolicy) else [("", asked)]
    roles = [
        (f"{role}{where}", named)
        for where, p in parts
        for role, named in (
            ("Generalized", p.quasi or (() if p.events is None else (*filter(None, (p.events.time,)), *p.events.place))),
            ("Replaced by pseudonyms", () if p.events is None else (p.events.unit,)),
            ("Sensitive, published", p.sensitive),
            ("As they are", p.insensitive),
            ("Removed", p.direct),
        )
    ]
    return {
        "made": made,
        "claim": claim_of(made.told),
        "written": proven(made.told)["Recode"],
        "about": asked.about,
        "roles": [(role, ", ".join(words.plain(c) for c in named)) for role, named in roles if named],
        "rest": max((p.rest for _, p in parts), default=""),
        "learnt": [LEARNT[kind].format(words.several(list(c))) if kind in LEARNT else kind for kind, c in kinds.items()],
        "decided": [{"reason": r, "by": by, "day": day, "names": names} for (r, by, day), names in decided.items()],
        "lines": FIELDS,
    }


def asked_of(made: Made) -> Policy | LinkedPolicy:
    """The policy that a release was written for."""
    text = made.told["policy"]
    return LinkedPolicy.of(policy_file.plain(policy_file.read_yaml(text))) if made.told.get("tables") else edits.parsed(text)


def _fix(at: Here, made: Made | None) -> str:
    """The page on which what a release asks for is changed."""
    if made is None or not made.own_policy:
        return f"/t/{at.kept.id}/improve"
    tables = made.told.get("tables", {}).values()
    return f"/linked?{'&'.join(f't.{key}=1' for key in tables)}" if tables else f"/t/{at.kept.id}/events"


def undecided(made: Made) -> int:
    """How many findings nobody has accepted."""
    return sum(1 for f in findings(made) if f["accepted"] is None)


def _require_decided(made: Made) -> None:
    if open_ := undecided(made):
        hint = "Accept each with a reason on the page Prove, or fix it on the page Improve."
        raise Undecided(f"{'one finding is' if open_ == 1 else f'{open_} findings are'} not decided yet.", hint=hint)


class Undecided(UsageError):
    """A release whose findings nobody has decided."""

    status = 403


def _ready(studio: Studio, at: Here) -> bool:
    """Whether the policy as it stands fixes a plan that meets all that is asked."""
    if not at.policy.quasi or at.undecided:
        return False
    try:
        least = least_plan(at, search_of(studio, at, begin=False))
        if least is not None and least["taken"]:
            return True
        return bool(studio.answers.improvement(at.kept, at.policy, improved.met, levels_of(studio, at)))
    except ShoalError:
        return False


def shown(studio: Studio, at: Here, release_id: str) -> dict[str, Any]:
    """What the page shows: the job that runs or ran last, and one release with its files."""
    workspace = studio.workspace
    releases = workspace.releases.of_table(at.kept.id)
    job = next(iter(workspace.jobs.of_table(at.kept.id, "release")), None)
    made = next((r for r in releases if r.id == release_id), releases[0] if releases else None)
    tries = [j for j in workspace.jobs.of_table(at.kept.id, "tries") if made is not None and j.asked.get("release") == made.id]
    listed, counted = ([], []) if made is None else (files_of(workspace.releases.folder(made)), made.told["requirements"][:3])
    return {
        "job": job,
        "made": made,
        "made_word": "" if made is None else shlex.quote(made.name),
        "repeat": "" if made is None else repeat(at.kept, made),
        "releases": releases,
        "earlier": [r for r in releases if made is not None and r.id != made.id],
        "tries": tries[0] if tries else None,
        "files": [
            {"name": p.name, "size": p.stat().st_size, "report": p.name == "report.html", "number": i}
            for i, p in enumerate(listed)
        ],
        "report_line": " ".join(f"{r['sentence'][:1].upper()}{r['sentence'][1:]}." for r in counted),
        "so_far": so_far(job, made),
        "ticks": ticks(job, made),
        "said": _say_state(job, made),
        "findings": [] if made is None else findings(made),
        "undecided_findings": 0 if made is None else undecided(made),
        "signable": made is not None and not undecided(made) and (made.own_policy or is_release_of(made, at.policy)),
        "ready": _ready(studio, at),
        "fields": FIELDS,
        "formats": FORMATS,
        "about": asked_of(made).about if made is not None and made.own_policy else at.policy.about,
        "fix": _fix(at, made),
    }


def so_far(job: Job | None, before: Made | None) -> str:
    """How many proofs are in, what runs now, and how long it takes yet, judged by the release before."""
    if job is None or not job.open:
        return ""
    lines = ticks(job, before)
    done, now = [t["name"] for t in lines if t["state"] == "done"], next((t["name"] for t in lines if t["state"] == "now"), "")
    sentence = f"{NUMBERS[len(done)]} of four proofs {'is' if len(done) == 1 else 'are'} in." if done else "No proof is in yet."
    if now:
        sentence += f" {now} {'run' if now == 'Attacks' else 'runs'} now"
        past = {} if before is None else before.told.get("past", {})
        left = sum(seconds for name, seconds in past.items() if name not in job.found.get("past", {}))
        sentence += f"; about {words.seconds(left)} to go, by the release before." if left > 0 else "."
    return sentence


def repeat(kept: Kept, made: Made) -> str:
    """The command that writes the same data and plan again."""
    policy = "policy-with-seed.yml" if made.told.get("seeded") else "policy.yml"
    form = made.told.get("format", "csv")
    source = [] if made.told.get("tables") else [kept.file]
    written = () if form == "csv" else ("--format", form)
    return shlex.join(["shoal", "anonymize", *source, "--policy", policy, *written, "--out", made.name])


def ticks(job: Job | None, made: Made | None) -> list[dict[str, Any]]:
    """The four lines: done, worked on, waiting, or stopped; the seconds of each; of attacks each verdict once it is in."""
    lines = list(WORDS)
    if job is None or job.state == "done":
        past, state = ({} if made is None else made.told.get("past", {})), "wait" if made is None else "done"
        proofs = {} if made is None else proven(made.told)
        return [_tick(line, past, state) | ({"words": proofs[line]} if line in proofs else {}) for line in lines]
    past, doing = job.found.get("past", {}), line_of(job.doing)
    at = lines.index(doing if doing in WORDS else "Attacks")
    now = "now" if job.open else "bad"
    out = [_tick(line, past, "done" if i < at else now if i == at else "wait") for i, line in enumerate(lines)]
    tried = [{"name": name, "state": verdict} for name, verdict in job.found.get("verdicts", {}).items()]
    running = [] if doing in WORDS or verdict_of(job.doing) else [{"name": doing, "state": now}]
    out[lines.index("Attacks")]["tried"] = tried + running
    return out


def proven(facts: Mapping[str, Any]) -> dict[str, str]:
    """What was found at each line of a release, in numbers; of events the sentence says what was counted."""
    verdicts = [a["verdict"] for a in facts["attacks"]]
    hold, read = verdicts.count("holds"), verdicts.count("warning") + verdicts.count("broken")
    written = f"{facts['records']:,} rows written, {facts['suppressed']:,} left out."
    if "rows" in facts:  # releases of linked tables; older ones do not state their rows
        written = f"{facts['rows']:,} rows of {facts['records']:,} people written, {words.people(facts['suppressed'])} left out."
    elif "says" in facts and facts.get("cost"):
        written = f"{facts['records']:,} rows written. {facts['cost'].partition('. ')[0]}."
    proofs = {
        "Recode": written,
        "Attacks": f"{hold + read} tried: {hold} {'holds' if hold == 1 else 'hold'}, {read} to read before you share it.",
    }
    if "says" not in facts:
        proofs["Recount"] = f"Read back from the file, counted by a second way: smallest group {facts['k']:,}."
    return proofs


def _tick(line: str, past: Mapping[str, float], state: str) -> dict[str, Any]:
    """One line. Attacks took what each of them took."""
    spent = [s for name, s in past.items() if name == line or (line == "Attacks" and name not in WORDS)]
    seconds = sum(spent) if spent and state == "done" else None
    return {"name": line, "words": WORDS[line], "state": state, "seconds": seconds, "tried": []}


def _say_state(job: Job | None, made: Made | None) -> tuple[str, str, str]:
    if job is not None and job.open:
        return "The release is being written and proven.", "", "met"
    if made is None:
        return "Nothing is written yet.", "", "met"
    return "Recounted from the written file:", claim_of(made.told), "" if made.told.get("more") else "met"


def _add_files(router: APIRouter, workspace: Workspace) -> None:
    @router.get("/r/{release_id}/{name}.zip")
    def whole(release_id: str, name: str) -> Response:
        made = workspace.releases.get(release_id)
        _require_decided(made)
        place = workspace.files.root / "incoming" / secrets.token_hex(8)
        packed.pack(workspace.releases.folder(made), place, made.name)
        done = BackgroundTask(place.unlink, missing_ok=True)
        return FileResponse(place, filename=f"{made.name}.zip", media_type="application/zip", background=done)

    @router.get("/r/{release_id}/file/{number}")
    def file(release_id: str, number: int) -> Response:
        made = workspace.releases.get(release_id)
        files = files_of(workspace.releases.folder(made))
        if not 0 <= number < len(files):
            raise UsageError("this file does not exist.", hint="Choose one of the list.", reason="unknown")
        path = files[number]
        if path.name not in READ:
            _require_decided(made)
            return FileResponse(path, filename=path.name, media_type="application/octet-stream")
        text = path.read_text(encoding="utf-8")
        return HTMLResponse(text, headers={"content-security-policy": packed.policy_of(text), "x-frame-options": "SAMEORIGIN"})

    @router.get("/r/{release_id}/sign")
    def sign(request: Request, release_id: str) -> Response:
        made = workspace.releases.get(release_id)
        _require_decided(made)
        return page(request, "sign.html", **signing(made))

    @router.get("/r/{release_id}/policy.yml")
    def asked(release_id: str) -> Response:
        return download(workspace.releases.get(release_id).told.get("policy", ""), "policy.yml")

    @posts(router, "/r/{release_id}/policy-with-seed.yml")
    def repeats(*_: Request | Fields, release_id: str) -> Response:
        """The policy with the seed of its random changes. Sent, not linked to, so that a viewer is refused."""
        made = workspace.releases.get(release_id)
        seed = seed_of(made, workspace.releases.folder(made))
        if seed is None:
            raise UsageError("nothing of this release was drawn.", hint="Its policy.yml alone repeats it.", reason="unknown")
        text = edits.with_parts(made.told["policy"], {"seed": seed})
        return download(text, "policy-with-seed.yml", **{"cache-control": "no-store"})


def _add_brought(router: APIRouter, studio: Studio) -> None:
    """What is done with files that people bring: any release checked, a release attacked with what somebody else may have."""
    workspace = studio.workspace

    @router.get("/verify")
    def ask(request: Request) -> Response:
        return page(request, "verify.html", found=None, problem=None)

    @router.post("/verify")
    async def verify(request: Request) -> Response:
        try:
            async with file_of(request, studio) as (arrived, _):
                verified = await run_in_threadpool(_verify, arrived, studio.limit)
        except ShoalError as error:
            return page(request, "verify.html", status=status_of(error), found=None, problem=problem_of(error))
        return page(request, "verify.html", found=verified, problem=None)

    @router.post("/r/{release_id}/with")
    async def outside(request: Request, release_id: str) -> Response:
        made = await run_in_threadpool(workspace.releases.get, release_id)
        async with file_of(request, studio) as (arrived, sent):
            other = await run_in_threadpool(workspace.tables.add, arrived, sent.file)
        return _try(made, other=other.id)

    @posts(router, "/r/{release_id}/earlier")
    def earlier(_: Request, fields: Fields, release_id: str) -> Response:
        return _try(workspace.releases.get(release_id), earlier=workspace.releases.get(fields.get("release", "")).id)

    @router.post("/r/{release_id}/earlier-file")
    async def dropped(request: Request, release_id: str) -> Response:
        """An earlier release as a zip: kept until it was tried, then gone."""
        made = await run_in_threadpool(workspace.releases.get, release_id)
        async with file_of(request, studio) as (arrived, _):
            key = await run_in_threadpool(_unpack, studio, arrived)
        return _try(made, dropped=key)

    def _try(made: Made, **against: str) -> Response:
        workspace.jobs.add(made.table_id, "tries", {"release": made.id, **against})
        studio.runner.wake()
        return to(f"/t/{made.table_id}/prove?release={made.id}")


def files_of(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file()) if folder.is_dir() else []


def _verify(arrived: Path, limit: int) -> Verification:
    with scratch() as place:
        folder = packed.unpack(arrived, place / "release", limit)
        return shoal.verify(folder)


def _unpack(studio: Studio, arrived: Path) -> str:
    """A dropped release, inside a folder of an id that no release has; it keeps the name it had in the zip."""
    key, folder = studio.workspace.releases.place()
    with scratch() as place:
        inside = packed.unpack(arrived, place / "release", studio.limit)
        shutil.copytree(inside, folder / inside.name[:100])
    return key

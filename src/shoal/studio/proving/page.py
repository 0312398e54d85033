"""Prove: the release as a job whose lines tick when proven; the sign-off."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import ShoalError, UsageError
from shoal.studio import words
from shoal.studio.guard import POLICY
from shoal.studio.here import Here, Studio, fields_of, here, table_page, to
from shoal.studio.proving.folders import files_of
from shoal.studio.search import levels_of
from shoal.studio.views import improved
from shoal.studio.workspace import edits
from shoal.studio.workspace.rows import Job, Kept, Made
from shoal.studio.workspace.work.release import line_of, verdict_of

FORMATS = ("csv", "parquet", "arrow", "excel", "spss", "stata")
FIELDS = (
    ("approved_by", "Approved by", "text"),
    ("recipient", "Recipient", "text"),
    ("purpose", "Purpose", "text"),
    ("review", "Review on", "date"),
    ("contact", "Contact", "text"),
)
NUMBERS = ("No", "One", "Two", "Three", "Four")
WORDS = {
    "Recode": "Values made coarser, groups too small left out.",
    "Recount": "Read back from the file, counted by a second way.",
    "Attacks": "What somebody who has the file could still learn.",
    "Certificate": "Signed, and the whole folder proven again.",
}


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.get("/t/{table_id}/prove")
    def prove(request: Request, table_id: str) -> Response:
        at = here(studio, table_id)
        answer = table_page(request, studio, at, "prove", **shown(studio, at, request.query_params.get("release", "")))
        answer.headers["content-security-policy"] = f"{POLICY}; frame-src 'self'"  # the report stands in a frame
        return answer

    @router.post("/t/{table_id}/release")
    async def release(request: Request, table_id: str) -> Response:
        fields = await fields_of(request)
        await run_in_threadpool(_release, studio, table_id, fields)
        return to(f"/t/{table_id}/prove")

    return router


def _release(studio: Studio, table_id: str, fields: dict[str, str]) -> None:
    """Put the sign-off into the policy, then the job into the queue."""
    at = here(studio, table_id)
    if not _ready(studio, at):
        raise UsageError("what was asked is not met yet.", hint="Choose a plan, or move the sliders, until all is met.")
    signed = edits.with_about(at.step.policy, fields)
    step = studio.workspace.history.add(at.kept.id, "signed off", signed, locked=at.step.locked)
    queue_release(studio, at.kept.id, step.policy, fields.get("format", "csv"))


def queue_release(studio: Studio, table_id: str, policy: str, form: str) -> None:
    """The release of a policy as a job; a format that nobody writes is refused."""
    if form not in FORMATS:
        raise UsageError("this format is not known.", hint=f"Formats: {', '.join(FORMATS)}.")
    studio.workspace.jobs.add(table_id, "release", {"policy": policy, "format": form})
    studio.runner.wake()


def _ready(studio: Studio, at: Here) -> bool:
    """Whether the policy as it stands fixes a plan that meets all that is asked."""
    if not at.policy.quasi:
        return False
    try:
        tops = studio.answers.improvement(at.kept, at.policy, improved.heights)
        return bool(studio.answers.improvement(at.kept, at.policy, improved.met, levels_of(at, tops)))
    except ShoalError:
        return False


def shown(studio: Studio, at: Here, release_id: str) -> dict[str, Any]:
    """What the page shows: the job that runs or ran last, and one release with its files."""
    workspace = studio.workspace
    releases = workspace.releases.of_table(at.kept.id)
    job = next(iter(workspace.jobs.of_table(at.kept.id, "release")), None)
    made = next((r for r in releases if r.id == release_id), releases[0] if releases else None)
    tries = [j for j in workspace.jobs.of_table(at.kept.id, "tries") if made is not None and j.asked.get("release") == made.id]
    listed = [] if made is None else files_of(workspace.releases.folder(made))
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
        "report_line": "" if made is None else _report_line(made),
        "so_far": so_far(job, made),
        "ticks": ticks(job, made),
        "said": _said(job, made),
        "ready": _ready(studio, at),
        "fields": FIELDS,
        "formats": FORMATS,
        "about": at.policy.about,
    }


def _report_line(made: Made) -> str:
    """The requirements that were counted in the written file."""
    return " ".join(f"{r['sentence'][:1].upper()}{r['sentence'][1:]}." for r in made.told["requirements"][:3])


def so_far(job: Job | None, before: Made | None) -> str:
    """How many proofs are in, what runs now, and how long it takes yet, judged by the release before."""
    if job is None or not job.open:
        return ""
    lines = ticks(job, before)
    done, now = [t["name"] for t in lines if t["state"] == "done"], next((t["name"] for t in lines if t["state"] == "now"), "")
    said = f"{NUMBERS[len(done)]} of four proofs {'is' if len(done) == 1 else 'are'} in." if done else "No proof is in yet."
    if now:
        said += f" {now} {'run' if now == 'Attacks' else 'runs'} now"
        past = {} if before is None else before.told.get("past", {})
        left = sum(seconds for name, seconds in past.items() if name not in job.found.get("past", {}))
        said += f"; about {words.seconds(left)} to go, by the release before." if left > 0 else "."
    return said


def repeat(kept: Kept, made: Made) -> str:
    """The command that writes the same data and plan again."""
    policy = "policy-with-seed.yml" if made.told.get("seeded") else "policy.yml"
    form = made.told.get("format", "csv")
    written = () if form == "csv" else ("--format", form)
    return shlex.join(["shoal", "anonymize", kept.file, "--policy", policy, *written, "--out", made.name])


def ticks(job: Job | None, made: Made | None) -> list[dict[str, Any]]:
    """The four lines: done, worked on, waiting, or stopped; the seconds of each; of attacks each verdict once it is in."""
    lines = list(WORDS)
    if job is None or job.state == "done":
        past, state = ({} if made is None else made.told.get("past", {})), "wait" if made is None else "done"
        found = {} if made is None else proven(made.told)
        return [_tick(line, past, state) | ({"words": found[line]} if line in found else {}) for line in lines]
    past, doing = job.found.get("past", {}), line_of(job.doing)
    at = lines.index(doing if doing in WORDS else "Attacks")
    now = "now" if job.open else "bad"
    out = [_tick(line, past, "done" if i < at else now if i == at else "wait") for i, line in enumerate(lines)]
    tried = [{"name": name, "state": verdict} for name, verdict in job.found.get("verdicts", {}).items()]
    running = [] if doing in WORDS or verdict_of(job.doing) else [{"name": doing, "state": now}]
    out[lines.index("Attacks")]["tried"] = tried + running
    return out


def proven(told: Mapping[str, Any]) -> dict[str, str]:
    """What was found at each line of a release, in numbers; of events the sentence says what was counted."""
    verdicts = [a["verdict"] for a in told["attacks"]]
    hold, read = verdicts.count("holds"), verdicts.count("warning") + verdicts.count("broken")
    found = {
        "Recode": f"{told['records']:,} rows written, {told['suppressed']:,} left out.",
        "Attacks": f"{hold + read} tried: {hold} {'holds' if hold == 1 else 'hold'}, {read} to read before you share it.",
    }
    if "says" not in told:
        found["Recount"] = f"Read back from the file, counted by a second way: smallest group {told['k']:,}."
    return found


def _tick(line: str, past: Mapping[str, float], state: str) -> dict[str, Any]:
    """One line. Attacks took what each of them took."""
    spent = [s for name, s in past.items() if name == line or (line == "Attacks" and name not in WORDS)]
    seconds = sum(spent) if spent and state == "done" else None
    return {"name": line, "words": WORDS[line], "state": state, "seconds": seconds, "tried": []}


def _said(job: Job | None, made: Made | None) -> tuple[str, str, str]:
    if job is not None and job.open:
        return "The release is being written and proven.", "", "met"
    if made is None:
        return "Nothing is written yet.", "", "met"
    said = made.told.get("says") or f"everyone hides among at least {made.told['k']:,}."
    return "Recounted from the written file:", said, "met"

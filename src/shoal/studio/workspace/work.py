"""The worker process and its jobs: plans, releases, attacks. Each calls the library's verbs and returns numbers and sentences.

A worker reads ids of jobs and ends when its input closes: its parent process is gone then.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import shoal
from shoal.api.improvement import find_plans
from shoal.attacks import ATTACKING
from shoal.disk.atomic import disk_full
from shoal.errors import ShoalError
from shoal.model.attack import VERDICTS
from shoal.model.certificate.certificate import Certificate, cost_of
from shoal.model.certificate.events import EventCertificate
from shoal.model.requirement import KnownRecords
from shoal.release.linked.certificate import LinkedCertificate
from shoal.release.make import private_file
from shoal.release.plan.prepare import prepare
from shoal.release.policy import file as policy_file
from shoal.release.policy.policy import Policy
from shoal.report.release_report import headline
from shoal.studio.workspace.database import Job, Made
from shoal.studio.workspace.workspace import Workspace

EVERY = 0.2
"""Seconds between two notes about the same thing."""


class Stopped(Exception):
    """The job was cancelled."""


class Telling:
    """Progress of one job, written into the workspace.

    Where ``line_of`` names the line that a piece of work belongs to, the seconds of each line are kept in ``past``; if
    ``verdict_of`` finds the name and verdict of an attack in a message, these are kept in ``verdicts``.
    """

    def __init__(
        self,
        workspace: Workspace,
        job: Job,
        *,
        high: float = 1.0,
        line_of: Callable[[str], str] | None = None,
        verdict_of: Callable[[str], tuple[str, str] | None] | None = None,
    ) -> None:
        self._workspace, self._job = workspace, job
        self._high = high
        self._last, self._doing, self._share = 0.0, "", 0.0
        self._line_of, self._verdict_of, self._since = line_of, verdict_of, time.monotonic()
        self.past: dict[str, float] = {}
        self.verdicts: dict[str, str] = {}

    def __call__(self, share: float, doing: str) -> None:
        now = time.monotonic()
        self._share = self._high * share
        if doing == self._doing and now - self._last < EVERY:
            return
        self.settle()
        self._last, self._doing = now, doing
        verdict = None if self._verdict_of is None else self._verdict_of(doing)
        if verdict is not None:
            self.verdicts[verdict[0]] = verdict[1]
        self.show_best(None if self._line_of is None else {"past": self.past, "verdicts": self.verdicts})

    def settle(self) -> None:
        """Count the time until now to what was being done."""
        now = time.monotonic()
        if self._line_of is not None and self._doing:
            line = self._line_of(self._doing)
            self.past[line] = self.past.get(line, 0.0) + now - self._since
        self._since = now

    def show_best(self, best: Mapping[str, Any] | None) -> None:
        """The best so far."""
        if not self._workspace.jobs.show(self._job.id, self._share, self._doing, best):
            raise Stopped


def plans(workspace: Workspace, job: Job) -> Mapping[str, Any]:
    """``asked``: ``policy`` (YAML), ``locked`` (columns). The plans found so far can be read while it runs."""
    tell = Telling(workspace, job)
    kept = workspace.tables.get(job.table_id)
    policy = Policy.parse(job.asked["policy"])
    with shoal.open(workspace.tables.path(kept), **policy.read) as table:
        tell(0.0, "counting the classes")
        prepared = prepare(table, policy)
        named = find_plans(prepared, locked=job.asked["locked"], progress=tell, best=lambda some: tell.show_best(some.to_json()))
    return named.to_json()


LINES = {
    "Recode": ("writing the data", "looking for people by their values"),
    "Recount": ("counting the written file",),
    "Attacks": (ATTACKING,),
    "Certificate": ("certifying", "writing the table", "proving the folder again"),
}
"""The four lines of a release, and how what the job says begins while each is worked on; all before is of the first."""


def line_of(doing: str) -> str:
    """The line that a piece of work belongs to; an attack has a line of its own.

    >>> line_of("building the hierarchies"), line_of("attacking"), line_of("attacking: leftovers"), line_of("certifying")
    ('Recode', 'Attacks', 'leftovers', 'Certificate')
    >>> line_of("attacking: homogeneity: diagnosis: holds")
    'homogeneity'
    """
    attack = doing.removeprefix(f"{ATTACKING}: ")
    if attack != doing:
        return attack.split(": ")[0]
    return next((line for line, says in LINES.items() if doing.startswith(says)), "Recode")


def verdict_of(doing: str) -> tuple[str, str] | None:
    """The name and the verdict of an attack that is done; None where one is being tried, or nothing is attacked.

    >>> verdict_of("attacking: homogeneity: blood: type: holds"), verdict_of("attacking: homogeneity"), verdict_of("certifying")
    (('homogeneity: blood: type', 'holds'), None, None)
    """
    attack, _, verdict = doing.rpartition(": ")
    if verdict not in VERDICTS or not attack.startswith(f"{ATTACKING}: "):
        return None
    return attack.removeprefix(f"{ATTACKING}: "), verdict


def release(workspace: Workspace, job: Job) -> Mapping[str, Any]:
    """``asked``: ``policy`` (YAML), ``format``, findings ``accepted`` before, which count if they are found again, whether the
    ``ledger`` of the user who runs the studio compares and remembers it, and the release that is written ``again``.

    The folder is named in the workspace only after it was verified.
    """
    kept = workspace.tables.get(job.table_id)
    key, folder = workspace.releases.place()
    tell = Telling(workspace, job, high=0.9, line_of=line_of, verdict_of=verdict_of)
    try:
        with ExitStack() as opened:
            accepted = job.asked.get("accepted", {})
            made = _write_release(workspace, job, folder, tell, opened)
            tell(1.0, "proving the folder again")
            shoal.verify(folder).require()
            tell.settle()
            certificate = made.certificate
            assert certificate is not None
            content = {
                **_count_numbers(certificate),
                "verdict": certificate.verdict,
                "attacks": [
                    {"name": a.name, "verdict": a.verdict, "sentence": a.sentence, "rate": a.rate} for a in certificate.attacks
                ],
                "accepted": accepted,
                "requirements": [{"sentence": r.sentence, "found": r.found} for r in getattr(certificate, "requirements", ())],
                "tables": job.asked.get("tables", {}),
                "fingerprint": certificate.key.fingerprint if certificate.key is not None else "",
                "policy": job.asked["policy"],
                "format": job.asked["format"],
                "past": tell.past,
                "private": made.private_file is not None,
                "seeded": made.private_file is not None and private_file.read(made.private_file).seed is not None,
            }
            before = workspace.releases.of_table(kept.id)
            if job.asked.get("ledger", True):
                earlier = made.remember()
                sentence = earlier.sentence
                for one in before:
                    sentence = sentence.replace(str(workspace.releases.folder(one).absolute()), one.name)
                content["ledger"] = {"verdict": earlier.verdict, "sentence": sentence}
            number = 1 + len(before)
            workspace.releases.add(key, kept.id, f"{kept.name}-release-{number}", content)
    except BaseException:
        workspace.files.forget(folder)
        raise
    return {"release": key}


def _write_release(workspace: Workspace, job: Job, folder: Path, tell: Telling, opened: ExitStack) -> Any:
    """The release, written to its folder: of several tables where ``tables`` names them, else of the one that the job is of."""
    form, named = job.asked["format"], job.asked.get("tables")
    if named:
        asked = policy_file.plain(policy_file.read_yaml(job.asked["policy"]))
        for name, table_id in named.items():
            asked["tables"][name]["table"] = str(workspace.tables.path(workspace.tables.get(table_id)))
        together = opened.enter_context(closing(shoal.anonymize_tables(asked, format=form, progress=tell)))
        together.write(folder, progress=tell)
        return together
    policy = Policy.parse(job.asked["policy"])
    if job.asked.get("again"):
        before = workspace.releases.get(job.asked["again"])
        seed = seed_of(before, workspace.releases.folder(before))
        policy = policy if seed is None else replace(policy, seed=seed)
    table = opened.enter_context(shoal.open(workspace.tables.path(workspace.tables.get(job.table_id)), **policy.read))
    made = shoal.anonymize(table, policy, format=form, accepted=job.asked.get("accepted", {}), progress=tell)
    made.write(folder, progress=tell)
    return made


def seed_of(made: Made, folder: Path) -> int | None:
    """The seed of a release's random choices; None if nothing of it was drawn."""
    return private_file.read(private_file.place_of(folder)).seed if made.told.get("private") else None


def _count_numbers(made: Certificate | EventCertificate | LinkedCertificate) -> dict[str, Any]:
    """The numbers that the pages say of a release; of events also the sentence, for groups are not what it is about."""
    if isinstance(made, EventCertificate):
        asked = max((r.records for r in made.asked if isinstance(r, KnownRecords)), default=1)
        k = made.judged_by.smallest[str(asked)]
        known = "any known record is" if asked == 1 else f"any {asked} known records of a person are"
        gone = made.cost.truncated + made.cost.suppressed + made.cost.incomplete
        more = headline("", made.attacks).get("rest", "")
        counts = {"k": k, "records": made.after.records, "suppressed": gone}
        return {**counts, "cost": made.cost.sentence, "says": f"{known} shared by at least {k:,} people", "more": more}
    if isinstance(made, LinkedCertificate):
        says = f"in {len(made.tables)} tables together everyone hides among at least {made.k:,}"
        says += f", if somebody knows {made.known} of their rows" if made.known else ""
        counts = {"k": made.k, "records": made.after.people, "suppressed": made.left_out}
        more = headline("", made.attacks).get("rest", "")
        return {**counts, "rows": sum(t.records for t in made.tables), "cost": "", "says": says, "more": more}
    more = headline("", made.attacks, made.singled_out, 1 / made.k).get("rest", "")
    counts = {"k": made.k, "records": made.after.records, "suppressed": made.utility.suppressed}
    return {**counts, "cost": cost_of(made).sentence, "more": more}


def claim_of(facts: Mapping[str, Any]) -> str:
    """The headline of a release: what it claims, and what somebody who knows more finds."""
    sentence = facts.get("says") or f"everyone hides among at least {facts['k']:,}"
    return f"{sentence.removesuffix('.')}{facts.get('more', '')}."


def tries(workspace: Workspace, job: Job) -> Mapping[str, Any]:
    """``asked``: ``release``, and ``other`` (a table of the workspace), ``earlier`` (a release of it) or ``dropped`` (in a
    folder that was brought for this; it is removed)."""
    tell = Telling(workspace, job)
    folder = workspace.releases.folder(workspace.releases.get(job.asked["release"]))
    tell(0.1, "trying to link people")
    other = job.asked.get("other")
    if other:
        outside = workspace.tables.path(workspace.tables.get(other))
        attacks = shoal.attack(folder, with_=outside)
    elif job.asked.get("dropped"):
        brought = workspace.files.of_release(job.asked["dropped"])
        try:
            attacks = shoal.attack(folder, previous=list(brought.iterdir()))
        finally:
            workspace.files.forget(brought)
    else:
        before = workspace.releases.folder(workspace.releases.get(job.asked["earlier"]))
        attacks = shoal.attack(folder, previous=[before])
    results = [{"name": a.name, "verdict": a.verdict, "sentence": a.sentence} for a in attacks.results]
    return {"holds": attacks.holds, "results": results}


KINDS: Mapping[str, Callable[[Workspace, Job], Mapping[str, Any]]] = {"plans": plans, "release": release, "tries": tries}


def main() -> None:
    """Work until the input closes."""
    todo: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(todo,), daemon=True).start()
    with Workspace(os.environ["SHOAL_STUDIO_FOLDER"], store=os.environ["SHOAL_STUDIO_STORE"]) as workspace:
        while True:
            key = todo.get()
            with workspace.jobs.hold(key):
                do(workspace, workspace.jobs.get(key))
            sys.stdout.write("done\n")
            sys.stdout.flush()


def do(workspace: Workspace, job: Job) -> None:
    """Run one job by its kind; an error is recorded in the job, without a data value."""
    jobs = workspace.jobs
    try:
        result = KINDS[job.kind](workspace, job)
        jobs.end(job.id, "done", result=result)
    except Stopped:
        pass  # cancelled; the state says so already
    except ShoalError as error:
        offers = [str(getattr(a, "sentence", "")) for a in getattr(error, "alternatives", ())]
        jobs.end(job.id, "failed", result={"offers": [o for o in offers if o]}, message=error.message, hint=error.hint)
    except MemoryError:
        jobs.end(job.id, "failed", message="There is not enough memory for this.", hint="Name fewer columns, or a sample.")
    except Exception as error:
        if disk_full(error):
            jobs.end(job.id, "failed", message="The disk is full; nothing was left behind.", hint="Free space and run it again.")
        else:
            hint = "This is an error of Shoal, not yours; the table is intact."
            jobs.end(job.id, "failed", message=f"Something went wrong inside: {type(error).__name__}.", hint=hint)


def _listen(todo: queue.SimpleQueue[str]) -> None:
    with suppress(OSError):
        for line in sys.stdin:
            todo.put(line.strip())
    os._exit(0)


if __name__ == "__main__":
    main()

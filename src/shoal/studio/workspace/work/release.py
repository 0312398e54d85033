"""The job that writes a release, proves it, and proves it again from its folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import shoal
from shoal.attacks import ATTACKING
from shoal.model.attack import VERDICTS
from shoal.model.certificate.certificate import Certificate, cost_of
from shoal.model.certificate.events import EventCertificate
from shoal.model.requirement import KnownRecords
from shoal.release.make import private_file
from shoal.release.policy.policy import Policy
from shoal.studio.workspace.work.telling import Telling

if TYPE_CHECKING:
    from shoal.studio.workspace.rows import Job
    from shoal.studio.workspace.workspace import Workspace


LINES = {
    "Recode": ("writing the data", "looking for people by their values"),
    "Recount": ("counting the written file again",),
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
    """``asked``: ``policy`` (YAML), ``format``, findings ``accepted`` before, which count if they are found again, and whether
    the ``ledger`` of the user who runs the studio compares and remembers it.

    The folder is named in the workspace only after it was verified.
    """
    kept = workspace.tables.get(job.table_id)
    policy = Policy.parse(job.asked["policy"])
    key, folder = workspace.releases.place()
    tell = Telling(workspace, job, high=0.9, line_of=line_of, verdict_of=verdict_of)
    try:
        with shoal.open(workspace.tables.path(kept), **policy.read) as table:
            accepted = job.asked.get("accepted", {})
            made = shoal.anonymize(table, policy, format=job.asked["format"], accepted=accepted, progress=tell)
            made.write(folder, progress=tell)
        tell(1.0, "proving the folder again")
        shoal.verify(folder).require()
        tell.settle()
        certificate = made.certificate
        told = {
            **_counted(certificate),
            "verdict": certificate.verdict,
            "attacks": [
                {"name": a.name, "verdict": a.verdict, "sentence": a.sentence, "rate": a.rate} for a in certificate.attacks
            ],
            "accepted": accepted,
            "requirements": [{"sentence": r.sentence, "found": r.found} for r in certificate.requirements],
            "approved_by": str(policy.about.get("approved_by", "")),
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
            told["ledger"] = {"verdict": earlier.verdict, "sentence": sentence}
        number = 1 + len(before)
        workspace.releases.add(key, kept.id, f"{kept.name}-release-{number}", told)
    except BaseException:
        workspace.files.forget(folder)
        raise
    return {"release": key}


def _counted(made: Certificate | EventCertificate) -> dict[str, Any]:
    """The numbers that the pages say of a release; of events also the sentence, for groups are not what it is about."""
    if isinstance(made, EventCertificate):
        asked = max((r.records for r in made.asked if isinstance(r, KnownRecords)), default=1)
        k = made.judged_by.smallest[str(asked)]
        known = "any known record is" if asked == 1 else f"any {asked} known records of a person are"
        gone = made.cost.truncated + made.cost.suppressed
        says = f"{known} shared by at least {k:,} people."
        return {"k": k, "records": made.after.records, "suppressed": gone, "cost": made.cost.sentence, "says": says}
    cost = cost_of(made).sentence
    return {"k": made.k, "records": made.after.records, "suppressed": made.utility.suppressed, "cost": cost}

"""The job that writes a release, proves it, and proves it again from its folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import shoal
from shoal.model.certificate.cost import cost_of
from shoal.release.policy.policy import Policy
from shoal.workspace.work.telling import Telling

if TYPE_CHECKING:
    from shoal.workspace.rows import Job
    from shoal.workspace.workspace import Workspace


def release(workspace: Workspace, job: Job) -> Mapping[str, Any]:
    """``asked``: ``policy`` (YAML) and ``format``. The folder is named in the workspace only after it was verified."""
    kept = workspace.tables.get(job.table_id)
    policy = Policy.parse(job.asked["policy"])
    key, folder = workspace.releases.place()
    tell = Telling(workspace, job, high=0.9)
    try:
        with shoal.open(workspace.tables.path(kept)) as table:
            made = shoal.anonymize(table, policy, format=job.asked["format"], progress=tell)
            made.write(folder, progress=tell)
        tell(1.0, "proving the folder again")
        shoal.verify(folder).require()
        certificate = made.certificate
        told = {
            "k": certificate.k,
            "records": certificate.after.records,
            "suppressed": certificate.utility.suppressed,
            "verdict": certificate.verdict,
            "cost": cost_of(certificate).sentence,
            "attacks": [{"name": a.name, "verdict": a.verdict, "sentence": a.sentence} for a in certificate.attacks],
            "requirements": [{"sentence": r.sentence, "found": r.found} for r in certificate.requirements],
            "approved_by": str(policy.about.get("approved_by", "")),
            "fingerprint": certificate.key.fingerprint if certificate.key is not None else "",
            "policy": job.asked["policy"],
            "private": made.private_file is not None,
        }
        number = 1 + len(workspace.releases.of_table(kept.id))
        workspace.releases.add(key, kept.id, f"{kept.name}-release-{number}", told)
    except BaseException:
        workspace.files.forget(folder)
        raise
    return {"release": key}

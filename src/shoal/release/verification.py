"""The one walk that proves a release again, offline, from the folder alone.

Takes    the folder of a release; perhaps the public key that is expected
Returns  Verification: each check with a sentence, and whether all hold
Keeps    one changed, added or missing byte, number, cell or file anywhere in the folder makes a check fail
Cost     reads each file once for its hash and the data once more to count; a million records take a few seconds
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import TamperError, UnreadableError, UsageError
from shoal.model.certificate.certificate import EVENT_FORMAT, EVENT_FORMAT_1, NAME, REPORT, Certificate
from shoal.model.certificate.file import stated_format
from shoal.model.certificate.halves import LINKED_FORMATS
from shoal.model.display import Progress, silent
from shoal.release.certificate.signing import check_ordinary, file_entry, signed
from shoal.release.claim import NOT_COUNTED, C, Certified, Check, Claim, P, Step, Verification, try_check
from shoal.release.make.private_file import check as check_seed
from shoal.release.make.private_file import private_of

if TYPE_CHECKING:
    from shoal.kernels.signatures import Signer
    from shoal.release.proof.facts import Facts


def verify(
    folder: str | Path,
    *,
    key: str | None = None,
    table: Any = None,
    private: str | Path | None = None,
    exclude: str | Path | Iterable[Any] | None = None,
    progress: Progress | None = None,
    counted: tuple[str, Facts] | None = None,
) -> Verification:
    """Check a release folder: form, signature, files, plan, and every claimed number by counting again.

    ``key`` is the public key (base64) or fingerprint that the publisher announced: without it the signature shows that nothing
    changed since signing, not who signed. ``table`` is the published table, if the data are in a database. ``private`` is the
    file that keeps the seed (``FOLDER.private.json``): is it the seed that the certificate is bound to? ``exclude`` is the list
    of people who opted out: is it the list that the certificate is bound to? That needs the private file (``private``, or the one
    beside the folder). ``counted`` is what :func:`~shoal.release.proof.recount.recount` counted a moment ago in a file with this
    SHA-256, which must be that of the data: the file is not counted twice while a release is made.
    """
    report, place = progress or silent, Path(folder)
    if key is not None and not key.strip():
        raise UsageError("The expected key is empty.", hint="Pass the public key or fingerprint that the publisher announced.")
    if not place.is_dir():
        raise UnreadableError(f"'{place.name}' is not a folder of a release.", hint="Name the folder given to --out.")
    report(0.0, "reading the certificate")
    try:
        claim = _kind_of(place)(place, table, counted)
    except TamperError as error:
        return Verification(str(folder), (Check("certificate", False, error.message),))
    if table is not None and not claim.in_database:
        raise UsageError("this release is proven from its folder alone.", hint="Leave --table out.")
    whole = claim.certificate if isinstance(claim.certificate, Certificate) else None
    checks = [Check("certificate", True, "the certificate is as Shoal wrote it, and of a known version")]
    ordinary = try_check("files", lambda: check_ordinary(place, len(claim.certificate.files)))
    if not ordinary.ok:
        return Verification(str(folder), (*checks, ordinary), whole, claim.summary())
    steps = _steps(claim, key, private, exclude)
    for i, (name, look) in enumerate(steps):
        report((i + 1) / (len(steps) + 1), f"checking {name}")
        if name == "derived" and not all(c.ok for c in checks if c.name == "re-count"):
            continue  # nothing follows from data that do not give the stated numbers
        changed = name in ("re-count", "derived", "uses", "columns") and not all(c.ok for c in checks if c.name == "files")
        checks.append(Check(name, False, NOT_COUNTED) if changed else try_check(name, look))
    return Verification(str(folder), tuple(checks), whole, claim.summary())


def seal(certificate: C, render: Callable[[C], str], plan: P, stage: Path, signer: Signer, **options: Any) -> Certified[C, P]:
    """Write the page and the signed certificate beside the data, then verify the whole folder."""
    body, file = certificate.as_read, stage / REPORT  # the page follows from the file of the certificate alone
    page = render(body)
    file.write_text(page, encoding="utf-8", newline="\n")
    whole = signed(replace(body, files=(*body.files, file_entry(file))), signer)
    (stage / NAME).write_bytes(whole.to_bytes())
    verify(stage, **options).require()
    return Certified(whole, page, plan)


def _steps(
    claim: Claim[Any], key: str | None, private: str | Path | None, exclude: str | Path | Iterable[Any] | None
) -> list[Step]:
    steps = [
        *claim.steps_before(),
        ("signature", lambda: claim.signature(key)),
        ("files", claim.files),
        *claim.plan_steps(),
        ("re-count", claim.count),
        *claim.further_steps(),
        ("claims", claim.sentences),
        ("report", claim.report),
    ]
    plan = claim.plan
    if private is not None and plan is not None:
        steps.append(("seed", lambda: check_seed(plan, private)))
    if exclude is not None:
        salted = private_of(claim.place, private)
        steps.append(("objections", lambda: claim.opt_outs(exclude, salted)))
    return steps


def _kind_of(place: Path) -> type[Claim[Any]]:
    """The kind of release that a folder says it is; whether it is one, the reader of that kind decides."""
    stated = stated_format(place / NAME)
    if stated in (EVENT_FORMAT, EVENT_FORMAT_1):  # each kind of release loads the proof of its own
        from shoal.release.events.verify import EventClaim

        return EventClaim
    if stated in LINKED_FORMATS:
        from shoal.release.linked.verify import LinkedClaim

        return LinkedClaim
    from shoal.release.certificate.verify import TableClaim

    return TableClaim

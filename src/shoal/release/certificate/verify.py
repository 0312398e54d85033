"""Prove a release again, offline, from its folder alone.

Takes    the folder of a release; perhaps the public key that is expected
Returns  Verification: each check with a sentence, and whether all hold
Keeps    one changed, added or missing byte, number, cell or file anywhere in the folder makes a check fail
Cost     reads each file once for its hash and the data once more to count; a million records take a few seconds
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import TamperError, UnreadableError, VerificationError
from shoal.kernels import signatures as sign
from shoal.model.certificate.certificate import NAME, PLAN, Certificate
from shoal.model.certificate.file import read_certificate
from shoal.model.certificate.form import plain
from shoal.model.compare import equal
from shoal.model.display import Progress
from shoal.model.plan import Plan
from shoal.release.certificate.consistency import check_claims, check_columns, check_counts, check_report
from shoal.release.certificate.database_table import digest, facts_of_table
from shoal.release.certificate.labels import check_labels, check_preset_columns
from shoal.release.certificate.outcome import Check, Verification, tried
from shoal.release.certificate.signing import check_files, check_ordinary, check_signature, signed_digest
from shoal.release.gate.count_facts import estimates
from shoal.release.make.private_file import check as check_seed
from shoal.release.make.private_file import check_objections, private_of
from shoal.release.plan.plan_json import parse_plan
from shoal.release.proof import read as recount_read
from shoal.release.proof import trees
from shoal.release.proof.facts import Facts, Given, alike, judge, recursive_levels
from shoal.release.proof.read import logical
from shoal.release.proof.recount import SMALL_FILE, recount

if TYPE_CHECKING:
    from shoal.model.certificate.events import EventCertificate

NOT_COUNTED = "the data were not counted: the files of the folder are not those that were signed"


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

    Parameters
    ----------
    folder : str or Path
        What ``shoal anonymize --out`` left.
    key : str, optional
        The public key (base64) or fingerprint that the publisher announced. Without it the signature shows that nothing
        changed since signing, not who signed.
    table : Table, optional
        The published table, where the data of the release are in a database.
    private : path, optional
        The file that keeps the seed (``FOLDER.private.json``): is it the seed that the certificate is bound to?
    exclude : path or ids, optional
        The list of people who asked not to be in it: is it the list that the certificate is bound to? Needs the private file
        (``private``, or the one beside the folder).
    counted : SHA-256 and Facts, optional
        What :func:`~shoal.release.proof.recount.recount` found a moment ago in a file with these bytes: a large file is not
        counted twice while a release is made. The hash must be that of the data in the folder.
    """
    told = progress or (lambda done, what: None)
    place = Path(folder)
    if not place.is_dir():
        raise UnreadableError(f"'{place.name}' is not a folder of a release.", hint="Name the folder given to --out.")
    checks: list[Check] = []
    told(0.0, "reading the certificate")
    try:
        certificate = read_certificate(place / NAME)
    except TamperError as error:
        return Verification(str(folder), (Check("certificate", False, error.message),))
    checks.append(Check("certificate", True, "the certificate is as Shoal wrote it, and of a known version"))
    ordinary = tried("files", lambda: check_ordinary(place, len(certificate.files)))
    if not ordinary.ok:
        return Verification(str(folder), (*checks, ordinary), certificate)
    steps: list[tuple[str, Callable[[], str]]] = [
        ("form", lambda: check_counts(certificate)),
        ("signature", lambda: check_key(certificate, key)),
        ("files", lambda: check_files(place, certificate.files, certificate.data.file)),
        ("plan", lambda: _plan(place, certificate)),
        ("re-count", lambda: _count(place, certificate, table, counted)),
        ("labels", lambda: check_labels(certificate, _read_plan(place), signed_only(certificate))),
        ("columns", lambda: check_preset_columns(place, certificate, table)),
        ("claims", lambda: check_claims(certificate)),
        ("report", lambda: check_report(place, certificate)),
    ]
    if private is not None:
        steps.append(("seed", lambda: check_seed(certificate.plan, private)))
    if exclude is not None:
        salted = private_of(place, private)
        steps.append(("objections", lambda: check_objections(place, certificate, exclude, salted)))
    for i, (name, look) in enumerate(steps):
        told((i + 1) / (len(steps) + 1), f"checking {name}")
        changed = name in ("re-count", "columns") and not all(c.ok for c in checks if c.name == "files")
        checks.append(Check(name, False, NOT_COUNTED) if changed else tried(name, look))
    return Verification(str(folder), tuple(checks), certificate)


def check_key(certificate: Certificate | EventCertificate, expected: str | None) -> str:
    """The signature fits, by the key that is expected where one is."""
    key = check_signature(certificate)
    if expected is None:
        who = (
            "nobody's name is proven" if key.origin == "made for this release" else "compare the fingerprint with the publisher's"
        )
        return f"the signature fits (key {key.fingerprint}, {key.origin}; {who})"
    if expected not in (key.public, key.fingerprint):
        raise TamperError("the release is signed with another key than the one expected.")
    return f"the signature fits and the key {key.fingerprint} is the one expected"


def _read_plan(place: Path) -> Plan:
    return parse_plan((place / PLAN).read_text(encoding="utf-8"))


def _plan(place: Path, certificate: Certificate) -> str:
    text = (place / PLAN).read_text(encoding="utf-8")
    plan = _read_plan(place)
    stated = certificate.plan
    if plan.to_json() != text or len(plan.steps) != stated.steps or plan.truthful != stated.truthful:
        raise TamperError("the plan is not the one that the certificate names.")
    if plan.seed != 0 or stated.seed != "not published":
        raise TamperError("the plan holds the seed of the release, with which random changes could be undone.")
    if plan.draws != isinstance(stated.seed_commitment, str):
        raise TamperError("the plan has random steps without a commitment to their seed, or the reverse.")
    if sign.sha256_file(place / PLAN) != stated.sha256:
        raise TamperError("the plan has another hash than the certificate states.")
    check_columns(certificate, plan)
    return f"the plan has {len(plan.steps)} steps and the stated hash"


def facts_of(place: Path, certificate: Certificate) -> Facts:
    """The data of a release, counted again; small files by both ways, which must agree."""
    data = certificate.data
    if data.file is None or Path(data.file).name != data.file or (place / data.file).is_symlink():
        raise TamperError("the certificate names data outside the folder.")
    path = place / data.file
    header = recount_read.header(path)
    if logical(header, data.columns) != list(data.columns):
        raise TamperError("the data have other columns than the certificate names.")
    words: dict[str, Any] = {
        "unit": data.unit,
        "recursive": recursive_levels(certificate.asked),
        "trees": trees.read(place / trees.NAME),
        "orders": trees.read_orders(place / trees.NAME),
    }
    facts = recount(path, data.quasi, data.sensitive, **words)
    if recount_read.size(path) <= SMALL_FILE:
        other = recount(path, data.quasi, data.sensitive, way="sorted", **words)
        if not alike(other.to_json(), facts.to_json()):
            raise VerificationError("two ways of counting the data disagree.")
    return facts


def _table_facts(place: Path, certificate: Certificate, table: Any) -> Facts:
    """The rows of a published table, read back; its digest must be the one that was signed."""
    data = certificate.data
    if table is None:
        raise VerificationError(f"the data are table '{data.table}' of a database; name it with --table ENGINE-URL::table")
    if list(table.schema.names) != list(data.columns) or digest(table, data.columns) != data.digest:
        raise TamperError("the published table was changed after the certificate was signed.")
    levels = recursive_levels(certificate.asked)
    orders = trees.read_orders(place / trees.NAME)
    return facts_of_table(table, data.quasi, data.sensitive, data.unit, levels, orders)


def _known(place: Path, certificate: Certificate, counted: tuple[str, Facts] | None) -> Facts | None:
    """The facts at hand, where they are of the bytes that were signed and the file is so large that it is counted one way."""
    name = certificate.data.file
    if counted is None or name is None or recount_read.size(place / name) <= SMALL_FILE:
        return None
    return counted[1] if signed_digest(certificate.files, name) == counted[0] else None


def _count(place: Path, certificate: Certificate, table: Any, counted: tuple[str, Facts] | None) -> str:
    known = _known(place, certificate, counted)
    facts = known or (_table_facts(place, certificate, table) if certificate.data.table else facts_of(place, certificate))
    found, stated = facts.to_json(), plain(certificate.after)
    wrong = sorted(name for name in found if not alike(found[name], stated.get(name)))
    if wrong or set(found) != set(stated):
        raise VerificationError(f"counting the data again gives other numbers for: {', '.join(wrong) or 'the whole'}.")
    asked = certificate.asked
    findings = [f.to_json() for f in judge(asked, facts, {**signed_only(certificate), **estimates(asked, facts)})]
    if not alike(findings, plain(certificate.requirements)):
        raise VerificationError("the requirements, judged again, come out differently.")
    unmet = [f["sentence"] for f in findings if not f["met"]]
    if unmet:
        raise VerificationError(f"a requirement is not met: {unmet[0]}.")
    _records(certificate, facts)
    return f"counted again: {facts.records:,} records in {facts.classes:,} classes, k = {facts.k:,}; every requirement is met"


def signed_only(certificate: Certificate) -> Given:
    """Numbers that only the population table or the original tells: signed, and not to be counted again from the folder."""
    asked = [r for r in certificate.asked if r.needs_population or r.needs_original]
    stated = {f.requirement: f.found for f in certificate.requirements}
    for r in asked:
        found = stated.get(r.name)
        if r.needs_original:
            if found is None or not 0 <= found <= 1:
                raise VerificationError(f"the number stated for '{r.name}' is not possible: it is a share.")
        elif found is None or found != round(found) or found < certificate.k:
            raise VerificationError(f"the number stated for '{r.name}' is not possible: the population holds the release.")
    return {r.place: stated[r.name] for r in asked}


def _records(certificate: Certificate, facts: Facts) -> None:
    """Records that came in are published or suppressed; none is lost and none invented."""
    came, left = certificate.input.used, certificate.utility.suppressed
    rows = certificate.utility.scope == "rows"
    if (rows and came - left != facts.records) or (not rows and (came != facts.records or facts.blanked < left)):
        raise VerificationError("records in, records out and records suppressed do not add up.")
    if not equal(certificate.utility.suppressed_share, left / came):
        raise VerificationError("the share of suppressed records is not what it says.")

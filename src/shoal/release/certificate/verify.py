"""The claim of a table: its numbers counted again from the data, its plan, labels, columns and sentences worked out again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from shoal.engines.exclusion import ids_of
from shoal.errors import TamperError, VerificationError
from shoal.kernels import signatures as sign
from shoal.model.certificate.certificate import PLAN, Certificate
from shoal.model.certificate.file import read_certificate
from shoal.model.certificate.form import plain
from shoal.model.certificate.parts import Objections, PlanEntry
from shoal.model.compare import equal
from shoal.model.plan import Plan
from shoal.release.certificate.consistency import check_claims, check_columns, check_counts
from shoal.release.certificate.database_table import digest, facts_of_table
from shoal.release.certificate.labels import check_labels, check_preset_columns
from shoal.release.certificate.sentences import in_current_wording
from shoal.release.certificate.signing import check_files, signed_digest
from shoal.release.claim import Claim, Step
from shoal.release.gate.count_facts import estimates
from shoal.release.make.private_file import none_published
from shoal.release.plan.plan_json import parse_plan
from shoal.release.proof import read as recount_read
from shoal.release.proof import trees
from shoal.release.proof.facts import Facts, Given, alike, judge, recursive_levels
from shoal.release.proof.read import logical
from shoal.release.proof.recount import recount
from shoal.report.release_report import render


class TableClaim(Claim[Certificate]):
    """A release of one table."""

    in_database: ClassVar[bool] = True

    @staticmethod
    def read(path: Path) -> Certificate:
        return read_certificate(path)

    def steps_before(self) -> list[Step]:
        return [("form", lambda: check_counts(self.certificate))]

    def files(self) -> str:
        return check_files(self.place, self.certificate.files, self.certificate.data.file)

    def plan_steps(self) -> list[Step]:
        return [("plan", lambda: _plan(self.place, self.certificate))]

    def count(self) -> str:
        return _count(self.place, self.certificate, self.table, self.known_facts)

    def further_steps(self) -> list[Step]:
        c = self.certificate if self.same_version else in_current_wording(self.certificate)
        return [
            ("labels", lambda: check_labels(c, _read_plan(self.place), signed_only(c))),
            ("columns", lambda: check_preset_columns(self.place, c, self.table)),
        ]

    def sentences(self) -> str:
        return check_claims(self.certificate)

    def page(self) -> str:
        return render(self.certificate.without_report)

    def summary(self) -> Mapping[str, Any]:
        return {}

    @property
    def plan(self) -> PlanEntry:
        return self.certificate.plan

    @property
    def objections(self) -> Objections | None:
        return self.certificate.input.objections

    def not_published(self, listed: str | Path | Iterable[Any]) -> str:
        stated, data = self.certificate.input.objections, self.certificate.data
        if stated is None or data.file is None or stated.column not in data.columns:
            return "" if stated is None else f"; column '{stated.column}' is not published"
        none_published(self.place / data.file, stated.column, ids_of(listed, stated.column))
        return "; none of them is published"


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
    """The data of a release, counted again."""
    data = certificate.data
    if data.file is None or Path(data.file).name != data.file or (place / data.file).is_symlink():
        raise TamperError("the certificate names data outside the folder.")
    path = place / data.file
    header = recount_read.header(path)
    if logical(header, data.columns) != list(data.columns):
        raise TamperError("the data have other columns than the certificate names.")
    return recount(
        path,
        data.quasi,
        data.sensitive,
        unit=data.unit,
        recursive=recursive_levels(certificate.asked),
        trees=trees.read(place / trees.NAME),
        orders=trees.read_orders(place / trees.NAME),
    )


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


def _known(certificate: Certificate, counted: tuple[str, Facts] | None) -> Facts | None:
    """The facts at hand, if they are of the bytes that were signed."""
    name = certificate.data.file
    if counted is None or name is None or signed_digest(certificate.files, name) != counted[0]:
        return None
    return counted[1]


def _count(place: Path, certificate: Certificate, table: Any, counted: tuple[str, Facts] | None) -> str:
    known = _known(certificate, counted)
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

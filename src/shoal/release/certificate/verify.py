"""The claim of a table: its numbers counted again from the data, its plan, labels, columns and sentences worked out again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from shoal.engines.exclusion import ids_of
from shoal.errors import TamperError, VerificationError
from shoal.kernels import signatures as sign
from shoal.model.certificate.certificate import FORMAT_1, PLAN, Certificate
from shoal.model.certificate.file import read_certificate
from shoal.model.certificate.form import plain
from shoal.model.certificate.parts import Objections, PlanEntry
from shoal.model.compare import equal
from shoal.model.plan import Plan
from shoal.release.certificate import codebook
from shoal.release.certificate.consistency import check_claims, check_columns, check_counts
from shoal.release.certificate.database_table import digest, facts_of_table
from shoal.release.certificate.derive import check_derived, judged, same_verdicts, signed_only
from shoal.release.certificate.labels import check_labels, check_preset_columns
from shoal.release.certificate.sentences import in_current_wording
from shoal.release.certificate.signing import check_files, signed_digest
from shoal.release.claim import Claim, Step
from shoal.release.make.private_file import none_published
from shoal.release.plan.plan_json import parse_plan
from shoal.release.proof import read as recount_read
from shoal.release.proof import trees
from shoal.release.proof.facts import Facts, Given, alike, recursive_levels
from shoal.release.proof.read import logical
from shoal.release.proof.recount import recount
from shoal.report.release_report import render


class TableClaim(Claim[Certificate]):
    """A release of one table."""

    read = staticmethod(read_certificate)

    def steps_before(self) -> list[Step]:
        return [("form", lambda: check_counts(self.certificate))]

    def files(self) -> str:
        return check_files(self.place, self.certificate.files, self.certificate.data.file)

    def plan_steps(self) -> list[Step]:
        return [("plan", lambda: _plan(self.place, self.certificate))]

    @cached_property
    def facts(self) -> Facts:
        """The data, counted again; those at hand, if they are of the bytes that were signed."""
        c, known = self.certificate, _known(self.certificate, self.known_facts)
        return known or (_table_facts(self.place, c, self.table) if c.data.table else facts_of(self.place, c))

    def count(self) -> str:
        return _count(self.certificate, self.facts)

    def _derived(self) -> str:
        return check_derived(self.certificate, self.facts, self.place, self.table)

    def further_steps(self) -> list[Step]:
        c = in_current_wording(self.certificate)
        later = [] if c.format == FORMAT_1 else [("derived", lambda: self._derived())]
        if (self.place / codebook.NAME).exists():
            later.append(("codebook", lambda: codebook.check(self.place, str(c.data.file), c.data.columns)))
        return [
            *later,
            ("labels", lambda: check_labels(c, _read_plan(self.place), _given_numbers(c))),
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
    recount_read.check_records(path, certificate.after.records)
    return recount(
        path,
        data.quasi,
        data.sensitive,
        unit=data.unit,
        recursive=recursive_levels(certificate.asked),
        trees=trees.read(place / trees.NAME),
        orders=trees.read_orders(place / trees.NAME),
        as_spelled=certificate.format == FORMAT_1,
        labels={name: entry.get("values", {}) for name, entry in codebook.read(place).items()},
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


def _count(certificate: Certificate, facts: Facts) -> str:
    counted, stated = facts.to_json(), plain(certificate.after)
    wrong = sorted(name for name in counted if not alike(counted[name], stated.get(name)))
    if wrong or set(counted) != set(stated):
        raise VerificationError(f"counting the data again gives other numbers for: {', '.join(wrong) or 'the whole'}.")
    verdicts = judged(certificate, facts, _given_numbers(certificate))
    if not same_verdicts(verdicts, certificate.requirements):
        raise VerificationError("the requirements, judged again, come out differently.")
    unmet = [v.sentence for v in verdicts if not v.met]
    if unmet:
        raise VerificationError(f"a requirement is not met: {unmet[0]}.")
    _records(certificate, facts)
    return f"counted again: {facts.records:,} records in {facts.classes:,} classes, k = {facts.k:,}; every requirement is met"


def _given_numbers(certificate: Certificate) -> Given:
    """Numbers that are stated beside the facts: signed ones, and what known columns find (everybody if it was not counted)."""
    return {**signed_only(certificate), ("known_columns",): 1.0 if certificate.known is None else certificate.known.share_at_most}


def _records(certificate: Certificate, facts: Facts) -> None:
    """Records that came in are published or suppressed; none is lost and none invented."""
    came, left = certificate.input.used, certificate.utility.suppressed
    rows = certificate.utility.scope == "rows"
    if (rows and came - left != facts.records) or (not rows and (came != facts.records or facts.blanked < left)):
        raise VerificationError("records in, records out and records suppressed do not add up.")
    if not equal(certificate.utility.suppressed_share, left / came):
        raise VerificationError("the share of suppressed records is not what it says.")

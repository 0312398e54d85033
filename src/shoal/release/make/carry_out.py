"""The plan applied in a private folder: recode, count again, attack, certify. Anything that falls short raises before release."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engines.core.state import Held
from shoal.engines.exclusion import LeftOut
from shoal.errors import UsageError, VerificationError
from shoal.kernels import signatures as sign
from shoal.model.attack import AttackResult
from shoal.model.certificate.certificate import PLAN, Certificate
from shoal.model.certificate.parts import Data
from shoal.model.display import Progress
from shoal.model.plan import Plan
from shoal.model.requirement import KnownColumns
from shoal.release.certificate import codebook
from shoal.release.certificate import database_table as database
from shoal.release.certificate.contents import Written, certificate_of
from shoal.release.certificate.derive import derive
from shoal.release.certificate.labels import classings
from shoal.release.certificate.sentences import accepted_notes, today
from shoal.release.claim import Certified
from shoal.release.make import private_file
from shoal.release.make import recode as delta
from shoal.release.make.attacks import Early, early_attacks, run_attacks
from shoal.release.make.certify import input_hash, published_plan, run_analyses
from shoal.release.make.count_again import Counted, alongside, count_again, count_people, require_same, trees_of
from shoal.release.make.dependent_columns import dependent_columns
from shoal.release.make.known_columns import count_known, known_share, name_worst
from shoal.release.make.private_file import objections
from shoal.release.make.recode import ByEngine, by_engine, ending, published_unit, recode
from shoal.release.make.value_links import check_links, linked_dates, links_of
from shoal.release.plan.decide import trade_off
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision
from shoal.release.proof import trees
from shoal.release.proof.facts import Facts, alike, recursive_levels
from shoal.release.proof.read import header, logical, rows
from shoal.release.proof.recount import FileColumns
from shoal.release.verification import seal
from shoal.report.release_report import render

if TYPE_CHECKING:
    from shoal.engines.recode.write import Recoded

BOTH_CORES = 200_000
"""Published records from which on attacks run beside the second count, where no memory budget is given."""


@dataclass(frozen=True)
class Output:
    """Where a release goes: the format of its file or the name of a new table, the key, earlier releases to compare with, and
    people who asked not to be in it, who are not in the table any more; and the state of the data that was counted.

    ``accepted`` are findings of attacks that a person accepted: by name the sentence that was read, the reason and who."""

    key_file: str | Path | None = None
    format: str = "csv"
    earlier: tuple[Path, ...] = ()
    to_table: str | None = None
    left_out: LeftOut | None = None
    held: Held | None = None
    accepted: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    replaces: str = ""
    """The table whose place the new one takes in the end: until then ``to_table`` is a passing name."""

    @property
    def table_name(self) -> str:
        return self.replaces or self.to_table or ""


def checked(output: Output, prepared: Prepared) -> Output:
    """The output, where this table can be published so."""
    ending(output.format)
    if output.format == delta.DELTA:
        delta.check_library()
    if output.to_table is not None:
        if prepared.trees:
            raise UsageError("closeness by a hierarchy cannot be re-counted from a table yet.", hint="Write files (--format).")
        database.check_target(prepared.table, output.table_name, replaces=bool(output.replaces))
        output = replace(output, format="parquet")
    if output.format == "csv":
        _distinct_names(prepared.schema.names)
    return output


def _distinct_names(names: Sequence[str]) -> None:
    """In a CSV a name that would run as a formula gets a mark before it, which must not make it another column's name."""
    known = set(names)
    twins = [name for name in names if f"'{name}" in known]
    if twins:
        hint = "Rename one of them, or use --format parquet."
        raise UsageError(f"columns '{twins[0]}' and ''{twins[0]}' could not be distinguished in a CSV file.", hint=hint)


def carry_out(
    prepared: Prepared, decision: Decision, output: Output, stage: Path, progress: Progress
) -> tuple[Certified[Certificate, Plan], private_file.Kept | None]:
    """Everything of a release in ``stage``: its certificate and page, and the seed that is kept apart."""
    signer = sign.signer(output.key_file)
    if output.held is not None:
        prepared.table.require(output.held)
    data = data_place(stage, output)
    check_links(prepared, decision)
    progress(0.6, "writing the data")
    done = recode(prepared, decision, data)
    if output.format == delta.DELTA:
        delta.into_folder(data)
    progress(0.75, "looking for people by their values")
    seen = by_engine(prepared.table, done, prepared.quasi)
    columns = FileColumns(data)
    links = links_of(prepared, decision, columns, stage, seen)
    limited = links.limited()
    share = 0.0 if limited is None else 1.0 if limited.rate is None else limited.rate
    dependent = [] if seen is not None else dependent_columns(prepared, decision, stage)
    linked = (*([limited] if limited else []), *linked_dates(prepared, decision, data), *dependent)
    given: dict[tuple[str, ...], float | None] = {("linkage",): share}
    known = None
    if any(isinstance(r, KnownColumns) for r in prepared.policy.requirements):
        known = count_known(prepared, decision, columns, seen)
        given["known_columns",] = known_share(prepared, decision, known)
    decision = replace(decision, given={**decision.given, **given})
    written = _Written(prepared, decision, output, stage, data, done, seen, linked, columns)
    both = seen is None and done.records_out >= BOTH_CORES and prepared.table.memory is None
    with alongside(lambda: early_attacks(prepared, decision, links), at_once=both) as early:
        try:
            return written.prove(signer, early, progress)
        except VerificationError as error:
            raise name_worst(error, known, prepared.quasi) from None


@dataclass(frozen=True, eq=False)
class _Written:
    """A release whose data are written: what was done to them, who counts them where the engine wrote them, and whom known
    columns find."""

    prepared: Prepared
    decision: Decision
    output: Output
    stage: Path
    data: Path
    done: Recoded
    seen: ByEngine | None
    linked: tuple[AttackResult, ...]
    columns: FileColumns

    def prove(
        self, signer: sign.Signer, early: Callable[[], Early], progress: Progress
    ) -> tuple[Certified[Certificate, Plan], private_file.Kept | None]:
        """Count the written data again, attack them, certify; ``early`` gives the attacks that may run meanwhile."""
        prepared, decision, output, stage = self.prepared, self.decision, self.output, self.stage
        data, done = self.data, self.done
        progress(0.8, "counting the written file again")
        counted = count_again(prepared, decision, data, done, self.seen)
        if counted.facts.details is not None:
            counted.facts.details.done["columns"] = self.columns
        people = count_people(prepared, decision, stage, counted)
        prepared.table.give_back()
        shown = published_plan(prepared, decision)
        objected, list_salt = objections(output.left_out, signer)
        kept = private_file.kept(decision.plan, shown, signer, list_salt)
        plan_file = stage / PLAN
        plan_file.write_text(shown.to_json(), encoding="utf-8", newline="\n")
        published = self._published()
        identifiers = classings(prepared, data, published.columns, today(prepared.policy.about.get("date")))
        beside = self._write_beside()
        attacks = self._attack(early(), progress)
        if output.format == delta.DELTA:
            delta.write_log(data)
        progress(0.94, "certifying")
        written = Written(
            facts=counted.facts,
            people=people.facts if people else None,
            suppressed=done.suppressed,
            records_in=done.records_in - done.unsampled,
            unsampled=done.unsampled,
            changed=done.changed,
            data=published,
            place=stage,
            files=[*(_files(data) if output.to_table is None else []), plan_file, *beside],
            commitment=kept.commitment if kept else None,
            input_hash=input_hash(prepared.table, signer),
            snapshot=output.held.snapshot if output.held is not None else None,
            objections=objected,
            attacks=attacks,
            frontier=trade_off(prepared, decision),
            identifiers=identifiers,
            accepted=accepted_notes(attacks, output.accepted),
            hashes={data: counted.sha256} if data.is_file() else {},
            analyses=run_analyses(prepared, data, complete=done.suppressed == 0 and prepared.sampled is None),
        )
        if output.held is not None:
            require_same(prepared, output.held)
        certificate, table = certificate_of(prepared, decision, written), None
        if output.to_table is not None:
            shutil.rmtree(data.parent)
            progress(0.95, "writing the table")
            moved = replace(self._to_table(output.to_table, counted, certificate.data), table=output.table_name)
            certificate, table = replace(certificate, data=moved), prepared.table.neighbour(output.to_table)
        whole = derive(certificate, counted.facts, stage, table)
        return seal(whole, render, shown, stage, signer, table=table, counted=(counted.sha256, counted.facts)), kept

    def _published(self) -> Data:
        """The data as the certificate names them."""
        return Data(
            file=self.data.name,
            format=self.output.format,
            columns=tuple(logical(header(self.data), self.prepared.schema.names)),
            quasi=self.prepared.quasi,
            sensitive=tuple(self.prepared.policy.sensitive),
            unit=published_unit(self.prepared, self.decision.plan),
        )

    def _write_beside(self) -> list[Path]:
        """Hierarchies by which closeness is judged, and orders: the part that the published values need, to count with again; and
        the codebook of a file that is published."""
        prepared, data, out = self.prepared, self.data, list[Path]()
        if prepared.trees or prepared.orders:
            covering = {c: t.covering(v for (v,) in rows(data, [c])) for c, t in trees_of(prepared).items()}
            orders = {c: trees.order_covering(order, (v for (v,) in rows(data, [c]))) for c, order in prepared.orders.items()}
            out.append(self.stage / trees.NAME)
            trees.write(covering, out[0], orders)
        if self.output.to_table is None:
            out += codebook.write(data, prepared.schema.columns, self.stage / codebook.NAME, self.done.codes)
        return out

    def _attack(self, early: Early, progress: Progress) -> list[AttackResult]:
        progress(0.9, "attacking")
        in_database = self.output.to_table is not None

        def tell(part: float, what: str) -> None:
            progress(0.9 + 0.04 * part, what)

        given = (self.prepared, self.decision, self.columns, self.output.earlier, self.linked, early)
        return run_attacks(*given, tell, in_database=in_database)

    def _to_table(self, name: str, counted: Counted, data: Data) -> Data:
        """Make the table in the database, read it back, and compare."""
        prepared, decision = self.prepared, self.decision
        prepared.table.recode(decision.plan, f"::{name}", kept=decision.kept, class_map=decision.class_map)
        target = prepared.table.neighbour(name)
        levels = recursive_levels(prepared.policy.requirements)
        facts: Facts = database.facts_of_table(target, data.quasi, data.sensitive, data.unit, levels, prepared.orders)
        if not alike(facts.to_json(), counted.facts.to_json()):
            hint = "It was dropped. Run it again when nobody writes to the table."
            raise VerificationError(f"table '{name}' was written but does not hold what was planned.", hint=hint)
        return replace(data, file=None, table=name, engine=target.engine, columns=tuple(target.schema.names))


def data_place(stage: Path, output: Output) -> Path:
    """The data file: in the folder; in a private one, where the data are counted but not published as a file."""
    if output.to_table is not None:
        stage = stage / ".private"
        stage.mkdir(mode=0o700)
    return stage / f"data.{ending(output.format)}"


def _files(data: Path) -> list[Path]:
    return sorted(p for p in data.rglob("*") if p.is_file()) if data.is_dir() else [data]

"""From a table and a policy to a proven, signed release: decide, write, count again, sign, then give it its name.

Nothing appears under its final name before the written file has been counted again by :mod:`shoal.release.proof.recount` and
every requirement has been found met.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.disk import folder
from shoal.errors import OutputError, UsageError, VerificationError
from shoal.kernels import signatures as sign
from shoal.model.plan import Plan
from shoal.release.certificate import database_table as database
from shoal.release.certificate import document as cert
from shoal.release.certificate.contents import Written, body
from shoal.release.make import seed
from shoal.release.make.analyses import run_analyses
from shoal.release.make.attacks import run_attacks
from shoal.release.plan.decide import decide
from shoal.release.plan.prepare import Prepared, Progress, prepare, silent
from shoal.release.plan.published_classes import Decision
from shoal.release.plan.trade_off import frontier
from shoal.release.policy.transforms import draws, seeded
from shoal.release.proof import trees
from shoal.release.proof.judge import Finding, judge, recursive_levels
from shoal.release.proof.read import header, logical, rows
from shoal.release.proof.recount import Facts, alike, recount
from shoal.steps import Drop, Keep

if TYPE_CHECKING:
    from shoal.engines.recode.write import Recoded
    from shoal.engines.table import Table
    from shoal.release.policy.policy import Policy

ENDINGS = {
    "csv": "csv",
    "parquet": "parquet",
    "arrow": "arrow",
    "excel": "xlsx",
    "xlsx": "xlsx",
    "spss": "sav",
    "sav": "sav",
    "stata": "dta",
    "dta": "dta",
}


@dataclass
class Release:
    """A decided release. :meth:`write` carries it out; :attr:`certificate` and :meth:`report` carry it out in private."""

    prepared: Prepared
    decision: Decision
    key_file: str | Path | None = None
    format: str = "csv"
    started: float = field(default_factory=time.perf_counter)
    earlier: tuple[Path, ...] = ()
    to_table: str | None = None
    seconds: float = 0.0
    private_file: Path | None = None
    _certificate: dict[str, Any] | None = None
    _page: str = ""
    _kept: seed.Kept | None = None

    def __post_init__(self) -> None:
        if self.format not in ENDINGS:
            raise UsageError(f"format '{self.format}' is not known.", hint=f"Formats: {', '.join(ENDINGS)}.")
        if self.to_table is not None:
            if self.prepared.trees:
                raise UsageError(
                    "closeness by a hierarchy cannot be re-counted from a table yet.", hint="Write files (--format)."
                )
            database.check_target(self.prepared.table, self.to_table)
            self.format = "parquet"
        if self.format == "csv":
            _distinct_names(self.prepared.schema.names)

    @property
    def k(self) -> int:
        """The k that was counted in the written file."""
        return int(self.certificate["k"])

    @property
    def plan(self) -> Plan:
        return self.decision.plan

    @property
    def certificate(self) -> dict[str, Any]:
        """The signed certificate; writes the release in a private place if it was not written yet."""
        if self._certificate is None:
            if self.to_table is not None:
                raise UsageError("a release into a database has a certificate once it is written.", hint="Call write() first.")
            with tempfile.TemporaryDirectory(prefix="shoal-") as place:
                self._stage(Path(place), silent)
        assert self._certificate is not None
        return self._certificate

    def report(self) -> str:
        """The report as HTML text."""
        self.certificate  # noqa: B018  (makes the page)
        return self._page

    def write(self, target: str | Path, *, progress: Progress = silent) -> Path:
        """Write the release folder: data, plan.json, certificate.json, report.html; whole or not at all.

        Where random changes were made, their seed is kept in :attr:`private_file`, beside the folder; it is written first, so
        that no release is ever there without its seed.
        """
        place = folder.free(target)
        beside, parent = seed.place_of(place), place.absolute().parent
        seed.rescue(parent)
        if any(draws(s) for s in self.plan.steps):
            seed.free(beside)
        with folder.staged(parent) as stage:
            self._stage(stage, progress)
            with seed.hidden(self._kept, stage) as hidden:
                folder.publish(stage, place)
        if hidden is not None:
            self.private_file = seed.settle(hidden, beside)
        self.seconds = time.perf_counter() - self.started
        return place

    def to_json(self) -> dict[str, Any]:
        """The keys that stay: ``k, records, suppressed, loss, levels, method, seconds, verified``, and what else is known."""
        made = self.certificate
        return {
            "k": made["k"],
            "records": made["after"]["records"],
            "suppressed": made["utility"]["suppressed"],
            "loss": made["utility"]["loss"],
            "levels": made["utility"]["levels"],
            "method": made["utility"]["method"],
            "seconds": round(self.seconds or time.perf_counter() - self.started, 3),
            "verified": True,
            "classes": made["after"]["classes"],
            "proven": made["utility"]["proven"],
            "gap": made["utility"]["gap"],
            "requirements": made["requirements"],
            "inferred": dict(self.prepared.inferred),
            "attacks": made["attacks"],
            "files": [f["name"] for f in made["files"]] + [cert.NAME],
            "key": {"fingerprint": made["key"]["fingerprint"], "origin": made["key"]["origin"]},
        }

    def _stage(self, stage: Path, progress: Progress) -> None:
        """Write, count again, attack, certify, report: all inside ``stage``."""
        signer = sign.signer(self.key_file)
        data = (stage if self.to_table is None else _private(stage)) / f"data.{ENDINGS[self.format]}"
        progress(0.6, "writing the data")
        done = recode(self.prepared, self.decision, data)
        progress(0.8, "counting the written file again")
        facts, findings = self._counted(data, done)
        people = self._people(stage, facts)
        plan_file = stage / cert.PLAN
        plan_file.write_text(seed.published(self.plan).to_json(), encoding="utf-8", newline="\n")
        self._kept = seed.kept(self.plan, signer)
        tree_files = self._write_trees(stage, data)
        progress(0.9, "attacking")
        attacks = run_attacks(self.prepared, self.decision, data, self.earlier)
        written = Written(
            facts=facts,
            findings=findings,
            people=people,
            suppressed=done.suppressed,
            records_in=done.records_in - done.unsampled,
            unsampled=done.unsampled,
            changed=done.changed,
            data=self._data(data),
            files=[*(_files(data) if self.to_table is None else []), plan_file, *tree_files],
            plan_file=plan_file,
            commitment=self._kept.commitment if self._kept else None,
            input_hash=input_hash(self.prepared.table, signer),
            attacks=attacks,
            frontier=frontier(self.prepared, self.decision),
            analyses=run_analyses(self.prepared, data, complete=done.suppressed == 0 and self.prepared.sampled is None),
        )
        made = body(self.prepared, self.decision, written)
        if self.to_table is not None:
            shutil.rmtree(data.parent)
            progress(0.95, "writing the table")
            made["data"] |= self._to_table(self.to_table, facts)
        self._finish(stage, made, signer)

    @property
    def _unit(self) -> str | None:
        """The person column, where the plan publishes it in some form."""
        unit = self.prepared.policy.unit
        return None if unit is None or any(isinstance(s, Drop) for s in self.plan.for_column(unit)) else unit

    @property
    def _trees(self) -> dict[str, trees.Tree]:
        return {c: trees.tree_of(h) for c, h in self.prepared.trees.items()}

    def _write_trees(self, stage: Path, data: Path) -> list[Path]:
        """Where closeness is judged by a hierarchy: the part of it that the published values need, to count with again."""
        if not self.prepared.trees:
            return []
        covering = {c: t.covering(v for (v,) in rows(data, [c])) for c, t in self._trees.items()}
        trees.write(covering, stage / trees.NAME)
        return [stage / trees.NAME]

    def _to_table(self, name: str, facts: Facts) -> dict[str, Any]:
        """Make the table in the database, read it back, and compare."""
        policy = self.prepared.policy
        self.prepared.table.recode(self.plan, f"::{name}", kept=self.decision.kept, class_map=self.decision.class_map)
        made = database.beside(self.prepared.table, name)
        levels = recursive_levels(policy.require_json())
        found = database.facts_of_table(made, self.prepared.quasi, tuple(policy.sensitive), self._unit, levels)
        if not alike(found.to_json(), facts.to_json()):
            raise VerificationError(
                f"table '{name}' was written but does not hold what was planned.",
                hint=f"Drop table '{name}'; it is not a release.",
            )
        names = list(made.schema.names)
        return {"file": None, "table": name, "engine": made.engine, "columns": names, "digest": database.digest(made, names)}

    def _finish(self, stage: Path, made: dict[str, Any], signer: sign.Signer) -> None:
        from shoal.release.certificate.verify import verify
        from shoal.report.release_report import render

        made = json.loads(sign.canonical(made))  # as it is read again: the page follows from the certificate alone
        self._page = render(made)
        page = stage / cert.REPORT
        page.write_text(self._page, encoding="utf-8", newline="\n")
        signed = cert.signed({**made, "files": [*made["files"], cert.file_entry(page)]}, signer)
        (stage / cert.NAME).write_bytes(cert.to_bytes(signed))
        table = database.beside(self.prepared.table, self.to_table) if self.to_table else None
        verify(stage, table=table).require()
        self._certificate = signed

    def _counted(self, data: Path, done: Recoded) -> tuple[Facts, list[Finding]]:
        """The written file, counted again; any difference or shortfall and nothing is released."""
        prepared = self.prepared
        require = prepared.policy.require_json()
        levels = recursive_levels(require)
        words: dict[str, Any] = {"unit": self._unit, "recursive": levels, "trees": self._trees}
        facts = recount(data, prepared.quasi, tuple(prepared.policy.sensitive), **words, way="sorted")
        if facts.records != done.records_out:
            raise VerificationError("the written file has another number of records than the engine said; nothing was released.")
        findings = judge(require, facts)
        _all_met(findings)
        limit = int(prepared.policy.suppress * (done.records_in - done.unsampled) + 1e-9)
        if done.suppressed > limit:
            raise VerificationError(
                f"{done.suppressed:,} records would be suppressed, {limit:,} are allowed; nothing was released.",
                hint="Allow more suppression, or coarser levels.",
            )
        return facts, findings

    def _people(self, stage: Path, facts: Facts) -> tuple[Facts, list[Finding]] | None:
        """With a person column: the same plan written in private with that column, counted by people, and removed."""
        policy = self.prepared.policy
        if policy.unit is None:
            return None
        if facts.people is not None:
            _linked(facts, policy.smallest_class)
            return facts, judge(policy.require_json(), facts)
        hidden = stage / ".people"
        hidden.mkdir(mode=0o700)
        try:
            private_data = hidden / "data.parquet"
            recode(self.prepared, self.decision, private_data, keep_unit=True)
            require = policy.require_json()
            words: dict[str, Any] = {"unit": policy.unit, "recursive": recursive_levels(require), "trees": self._trees}
            counted = recount(private_data, self.prepared.quasi, tuple(policy.sensitive), **words)
        finally:
            shutil.rmtree(hidden)
        findings = judge(require, counted)
        _all_met(findings)
        return counted, findings

    def _data(self, data: Path) -> dict[str, Any]:
        return {
            "file": data.name,
            "format": self.format,
            "columns": logical(header(data), self.prepared.schema.names),
            "quasi": list(self.prepared.quasi),
            "sensitive": list(self.prepared.policy.sensitive),
            "unit": self._unit,
        }


def anonymize(
    table: Table,
    policy: Policy,
    *,
    key_file: str | Path | None = None,
    format: str = "csv",
    progress: Progress = silent,
    earlier: tuple[Path, ...] = (),
    plan: Plan | None = None,
    to_table: str | None = None,
) -> Release:
    """Decide a release: count, build hierarchies, search. Nothing is written until :meth:`Release.write`."""
    started = time.perf_counter()
    prepared = prepare(table, seeded(policy), progress=progress)
    decision = decide(prepared, given=plan, progress=progress)
    return Release(prepared, decision, key_file, format, started, earlier, to_table)


def recode(prepared: Prepared, decision: Decision, out: Path, *, keep_unit: bool = False) -> Recoded:
    """RECODE in the source's engine; ``keep_unit`` publishes the person column as it is, for the private count."""
    plan = decision.plan
    if keep_unit:
        unit = prepared.policy.unit
        steps = tuple(Keep(s.column) if isinstance(s, Drop) and s.column == unit else s for s in plan.steps)
        plan = Plan(steps, plan.suppression, plan.seed, plan.shuffle)
    with _quiet_output():
        return prepared.table.recode(plan, out, kept=decision.kept, class_map=decision.class_map)


@contextlib.contextmanager
def _quiet_output() -> Iterator[None]:
    """Errors of the file system become one that names no file of a temporary place."""
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(
            f"the data could not be written: {type(error).__name__}.", hint="Check rights and free space."
        ) from None


def _all_met(findings: list[Finding]) -> None:
    unmet = [f for f in findings if not f.met]
    if unmet:
        raise VerificationError(
            f"the written file does not meet a requirement: {unmet[0].sentence}; found {unmet[0].found}. Nothing was released.",
            hint="This is caught before release. Ask for a little more than needed, or allow more suppression.",
            findings=tuple(unmet),
        )


def _linked(facts: Facts, k: int) -> None:
    """Where people stay linkable across their records, the whole set of their classes must be shared by k of them."""
    if facts.linked_k is not None and facts.linked_k < k:
        raise VerificationError(
            f"people with several records stay linked: as few as {facts.linked_k} have the same number of records in the same "
            f"classes, {k} are asked.",
            hint="Publish the unit as 'drop', or make the quasi-identifiers constant per person.",
        )


def _distinct_names(names: tuple[str, ...]) -> None:
    """In a CSV a name that would run as a formula gets a mark before it, which must not make it another column's name."""
    twins = [name for name in names if f"'{name}" in names]
    if twins:
        raise UsageError(
            f"columns '{twins[0]}' and ''{twins[0]}' could not be told apart in a CSV.",
            hint="Rename one of them, or use --format parquet.",
        )


def _private(stage: Path) -> Path:
    """A place for data that are counted but not published as a file."""
    place = stage / ".private"
    place.mkdir(mode=0o700)
    return place


def _files(data: Path) -> list[Path]:
    return sorted(p for p in data.rglob("*") if p.is_file()) if data.is_dir() else [data]


def input_hash(table: Table, signer: sign.Signer) -> str | None:
    """A keyed hash of the input file, or None where the input is not one file."""
    source = Path(str(table.source.get("source", "")))
    try:
        if not source.is_file():
            return None
        with source.open("rb") as content:
            return signer.keyed_hash(iter(lambda: content.read(1 << 20), b""), purpose="input")
    except OSError:
        return None

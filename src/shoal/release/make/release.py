"""A decided release: applied to demand, written as a folder whole or not at all."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

from shoal.disk import atomic as folder
from shoal.errors import UsageError, need
from shoal.model.attack import AttackReport, AttackResult
from shoal.model.certificate.certificate import NAME, Certificate, cost_of
from shoal.model.certificate.form import plain
from shoal.model.display import Progress, silent, written
from shoal.model.plan import Plan
from shoal.release.certificate import codebook
from shoal.release.claim import Certified
from shoal.release.make import private_file
from shoal.release.make.carry_out import Output, carry_out, checked
from shoal.release.make.certify import leaves_out
from shoal.release.make.frame import FrameTypes, as_pandas, read_frame
from shoal.release.make.recode import ending
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from shoal.engines.table import Table
    from shoal.release.earlier.ledger import Published
    from shoal.report.charts import Chart


class Release:
    """A decided release. :meth:`write` carries it out; :attr:`certificate` and :meth:`report` carry it out in private.

    A pickled release holds certificate, report, published plan and, once asked for, the released table in memory, without the
    original table, the key and the seed: it can be read, not written again.
    """

    _folder: Path | None = None
    """The folder that it was written to."""

    def __init__(
        self,
        prepared: Prepared,
        decision: Decision,
        output: Output,
        started: float | None = None,
        types: FrameTypes | None = None,
    ) -> None:
        self._work: tuple[Prepared, Decision] | None = (prepared, decision)
        self._output = checked(output, prepared)
        self._started = time.perf_counter() if started is None else started
        self._made: Certified[Certificate, Plan] | None = None
        self._types = types or FrameTypes()
        self._frame: Any = None
        self._seed: private_file.Kept | None = None
        self.plan: Plan = decision.plan
        self.inferred: Mapping[str, str] = dict(prepared.inferred)
        self.seconds = 0.0
        self.private_file: Path | None = None
        self.ledger_file: Path | None = None

    def __repr__(self) -> str:
        if self._made is None:
            prepared, decision = self._decided()
            left_out, all_ = decision.suppressed(prepared.base), prepared.base.n_records
            return f"<Release: planned, {left_out:,} of {all_:,} suppressed, loss {written(decision.loss, 3)}; not written yet>"
        certificate = self._made.certificate
        where = "not written yet" if self._folder is None else f"written to {self._folder}"
        numbers = f"k = {certificate.k:,}, {certificate.after.records:,} records, {certificate.utility.suppressed:,} suppressed"
        return f"<Release: {numbers}, loss {written(certificate.utility.loss, 3)} of 1; {where}>"

    def _repr_html_(self) -> str | None:
        """The card of a release that was made; a decided one shows its line only, so that looking at it costs nothing."""
        from shoal.report.blocks import release_card

        return release_card(self._made.certificate) if self._made is not None else None

    @property
    def prepared(self) -> Prepared:
        """The counted table, its hierarchies and the policy."""
        return self._decided()[0]

    @property
    def decision(self) -> Decision:
        """The plan, and the classes that it publishes."""
        return self._decided()[1]

    @property
    def not_kept(self) -> tuple[str, ...]:
        """What the format of the data cannot hold of the table (labels, time zones …), in sentences; known before writing."""
        if self._work is None or self._output.to_table is not None:
            return ()
        prepared, plan = self.prepared, self.plan
        sentences = tuple(sentence for step in plan.steps for sentence in step.messages(prepared.base.n_records))
        lost = prepared.table.not_kept(plan, f"data.{ending(self._output.format)}")
        return tuple(re.sub(r"(l[ae][bv]els: those of .*) left out\.$", rf"\1 in {codebook.NAME}.", s) for s in lost) + sentences

    @property
    def k(self) -> int:
        """The k that was counted in the written file."""
        return self.certificate.k

    @property
    def certificate(self) -> Certificate:
        """The signed certificate; writes the release in a private place if it was not written yet."""
        return self._certified().certificate

    def report(self) -> str:
        """The report as HTML text."""
        return self._certified().page

    def attack(self) -> AttackReport:
        """The attacks that were run on the release, worst first; :func:`shoal.attack` also takes external tables."""
        return AttackReport("release" if self._folder is None else self._folder.name, tuple(self.certificate.attacks))

    @overload
    def plot(self) -> Chart: ...
    @overload
    def plot(self, path: str | Path) -> Path: ...
    def plot(self, path: str | Path | None = None) -> Chart | Path:
        """A picture of the group sizes before and after; with a path it is written: .svg, .png or .html."""
        from shoal.report.charts import class_sizes, save

        certificate = self.certificate
        if not hasattr(certificate.after, "sizes"):
            raise UsageError("An event release has no group sizes.", hint="Its curves are in release.report().")
        before, after = ({int(s): int(s) * n for s, n in of.sizes.items()} for of in (certificate.before, certificate.after))
        chart = class_sizes(after, certificate.k, before=before, title="Class sizes before and after", unit="records")
        return chart if path is None else save(chart, path)

    def write(self, target: str | Path, *, progress: Progress = silent) -> Path:
        """Write the release folder: data, plan.json, certificate.json, report.html; whole or not at all.

        Where random changes were made, the published plan leaves rare values out, or people asked not to be in it, seed, whole
        plan and the salt of their list are kept in :attr:`private_file`, beside the folder; it is written first, so that no
        release is ever there without it.
        """
        table, output = self._table, self._output

        def make(stage: Path) -> private_file.Kept | None:
            self._made, self._seed = self._carry_out(stage, output, progress)
            return self._seed

        def last(place: Path) -> None:
            if output.to_table is not None:
                commit(table, place, output)

        guard = table.nothing_made_on_failure()
        place, kept = private_file.appear(target, make, keeps=self._keeps_apart(), guard=guard, last=last)
        self.private_file = kept or self.private_file
        self.seconds = time.perf_counter() - self._started
        self._folder = place
        return place

    def remember(self) -> AttackResult:
        """Keep the written release in your private ledger, and compare it with the earlier ones there, as the command does.

        The verdict is ``warning`` if people become rarer than k by both together, ``not run`` if nothing could be compared;
        :attr:`ledger_file` is None if the release cannot be kept.
        """
        from shoal.release.earlier.ledger import remember

        self.ledger_file, entries = remember(self._published(), self._folder)
        return entries

    def _published(self) -> Published | None:
        """What it shows of the original values; None if it was counted at coarser values."""
        from shoal.release.earlier.composition import shown_now
        from shoal.release.earlier.ledger import Published, joint_groups

        prepared, decision = self._decided()
        if prepared.coarser is not None:
            return None
        together = joint_groups(prepared.policy.smallest_class)
        return Published(prepared.base, shown_now(prepared, decision, ()).classes, together)

    def to_arrow(self) -> pa.Table:
        """The released table as an Arrow table: written in private, counted again and attacked as every release, then read.

        Rows come in the shuffled order of the release. A column whose values were kept has the type that it had.
        """
        if self._frame is None:
            self._require_files()
            with folder.scratch() as place:
                written, kept = self._carry_out(place, replace(self._output, format="parquet"), silent)
                self._frame = self._read(place / str(written.certificate.data.file))
            if self._made is None and self._output.format == "parquet":
                self._made, self._seed = written, kept
        return self._frame

    def to_pandas(self) -> pd.DataFrame:
        """The released table as a pandas frame; see :meth:`to_arrow`."""
        return as_pandas(self.to_arrow(), self.plan, self._types)

    def to_polars(self) -> pl.DataFrame:
        """The released table as a polars frame; see :meth:`to_arrow`."""
        try:
            import polars
        except ImportError:
            raise need("frames", "polars") from None
        return cast("pl.DataFrame", polars.from_arrow(self.to_arrow()))

    def to_json(self) -> dict[str, Any]:
        """The keys that stay: ``k, records, suppressed, loss, levels, method, seconds, verified``, and what else is known."""
        certificate = self.certificate
        utility = certificate.utility
        return {
            "cost": cost_of(certificate).to_json(),
            "k": certificate.k,
            "records": certificate.after.records,
            "suppressed": utility.suppressed,
            "loss": utility.loss,
            "levels": dict(utility.levels),
            "method": utility.method,
            "seconds": round(self.seconds or time.perf_counter() - self._started, 3),
            "verified": True,
            "classes": certificate.after.classes,
            "proven": utility.proven,
            "gap": utility.gap,
            "requirements": plain(certificate.requirements),
            "inferred": dict(self.inferred),
            "attacks": plain(certificate.attacks),
            "files": [*(f.name for f in certificate.files), NAME],
            "not_kept": list(self.not_kept),
            **({"excluded": plain(certificate.input.objections)} if certificate.input.objections else {}),
            "key": certificate.key_shown,
        }

    def __getstate__(self) -> dict[str, Any]:
        state = self._certified()
        spent = self.seconds or time.perf_counter() - self._started
        hidden = {"_work": None, "_seed": None, "_output": Output(), "_made": state, "plan": state.plan}
        return {**self.__dict__, **hidden, "seconds": spent}

    def _require_files(self) -> None:
        if self._output.to_table is not None:
            hint = "Call write() first and read the table there, or leave to_table out."
            raise UsageError("this release goes into a database, and has a certificate once it is written.", hint=hint)

    def _decided(self) -> tuple[Prepared, Decision]:
        if self._work is None:
            hint = "Write it before it is pickled, or call shoal.anonymize again."
            raise UsageError("a release that was pickled can be read, not written again.", hint=hint)
        return self._work

    def _certified(self) -> Certified[Certificate, Plan]:
        if self._made is None:
            self._require_files()
            if self._output.format == "parquet":
                self.to_arrow()
            else:
                with folder.scratch() as place:
                    self._made, self._seed = self._carry_out(place, self._output, silent)
        assert self._made is not None
        return self._made

    @property
    def _table(self) -> Table:
        """The table that is released."""
        return self.prepared.table

    def _keeps_apart(self) -> bool:
        """Whether there is something that the owner of the release keeps."""
        return self.plan.draws or self._output.left_out is not None or leaves_out(*self._decided())

    def _carry_out(
        self, stage: Path, output: Output, progress: Progress
    ) -> tuple[Certified[Certificate, Plan], private_file.Kept | None]:
        """Write, count again, attack, certify, report: all inside ``stage``."""
        return carry_out(*self._decided(), output, stage, progress)

    def _read(self, data: Path) -> pa.Table:
        """The written data in memory."""
        return read_frame(data, self.plan, self.prepared.schema, self._types)


def commit(table: Table, place: Path, output: Output) -> None:
    """Let others see the new table: last, so that no table is ever there without its certificate."""
    try:
        table.keep(str(output.to_table), output.replaces)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise

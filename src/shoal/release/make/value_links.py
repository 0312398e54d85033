"""What is known of a release by the holder of the original: the classes, every further column, and the true values beside them.

A column that is published as it was, or by a fixed rule, is read from the written file. For columns that are changed at random
the plan is applied once more, in private, with the true values beside the published ones; the same seed and the same order of
rows give the same changes.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.attacks import joint
from shoal.engines.core.memory import left_for_data, shown
from shoal.engines.core.state import changed as changed_table
from shoal.engines.open import open as opened
from shoal.errors import InfeasibleError
from shoal.kernels.group import group_codes, memberships
from shoal.model.attack import AttackResult, Verdict
from shoal.model.compare import at_most
from shoal.model.counts.classes import IntArray as Codes
from shoal.model.plan import Plan, RowStep, Step
from shoal.model.requirement import Linkage
from shoal.release.make.recode import ByEngine, published_unit
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision
from shoal.release.proof.read import batches, header, logical
from shoal.release.proof.recount import FileColumns, number_groups, whole_codes
from shoal.steps import Drop, Keep
from shoal.steps.expression import ExpressionStep

MOST_COUNTED = 20_000_000
"""Published records up to which columns that are published by a fixed rule are looked at."""
MOST_PAIRED = 5_000_000
"""Published records up to which the true values are laid beside changed ones."""
MOST_CROWD = 100
"""Records of a random group in which a guess is made, at most."""
BYTES_A_CELL, BYTES_A_KEY = 4, 48
"""What counting takes at most for each cell, and for the numbers of each record and the room to sort them."""
_HIDDEN = ("keyed_hash", "fake", "pseudonymize")
"""Steps that put a name in the place of a value: who has the same value is published, and so in which classes they are."""
_DATES = ("date", "timestamp")
INTERVALS = "linkage: intervals between dates"
DATES_KNOWN = "Somebody knows the dates of a person, which were moved together: is the person found?"


@dataclass(frozen=True, eq=False)
class Links:
    """What can be known of a release; ``changed`` are the names of the columns that the policy changes to hide people.

    ``why_not`` says why the changed columns (or all of them) could not be looked at; ``engine`` counts files that it wrote.
    """

    classes: Codes
    columns: tuple[joint.Known, ...]
    secrets: tuple[joint.Secret, ...]
    changed: frozenset[str]
    seed: int
    k: int
    limit: float | None
    allowed: frozenset[str]
    why_not: str = ""
    engine: ByEngine | None = None

    @property
    def learnt(self) -> set[str]:
        """Sensitive columns with few values: what an attacker wants to learn."""
        return {s.name for s in self.secrets if s.name not in self.changed and s.published.max(initial=0) <= joint.MOST_VALUES}

    def limited(self) -> AttackResult | None:
        """The attack that the limit is about: a stated one about everything that may be known (not sensitive columns with few
        values, which an attacker wants to learn), the default about the columns that the release changes, known alone.

        To publish a column as it is, is a decision that it may be known; its cost is stated as further knowledge. A change is
        there to hide people: if it does not, the release stops. What ``allow: {identifying: …}`` names was looked at by a person.
        """
        stated = self.limit is not None
        names = [c.name for c in self.columns if c.name in self.changed or (stated and c.name not in self.learnt)]
        names = [n for n in names if n not in self.allowed]
        name = "linkage: known columns" if stated else "linkage: changed columns"
        if self.why_not and (stated or self.changed - self.allowed):
            return AttackResult.not_run(name, self.why_not)
        limit = joint.default_limit(self.k) if self.limit is None else self.limit
        curve = self._curve(names, (True, False) if stated else (False,), limit)
        return joint.by_known_columns(curve, limit, name) if curve else None

    def further(self) -> AttackResult | None:
        """The attackers that no limit is about: the quasi-identifiers and any published columns; sensitive columns with few
        values only if there are no others."""
        names = [c.name for c in self.columns if c.name not in self.learnt] or [c.name for c in self.columns]
        curve = self._curve(names, (True, False), joint.default_limit(self.k))
        if curve is None:
            return AttackResult.not_run("further knowledge", self.why_not) if self.why_not else None
        return joint.further_knowledge(curve, self.k)

    def _curve(self, names: Sequence[str], quasi: tuple[bool, ...], limit: float) -> joint.Curve | None:
        wanted = set(names)
        columns = [c for c in self.columns if c.name in wanted]
        if self.engine is not None and columns:
            singles = [joint.counted((c.name,), self.engine.sizes(c.name), quasi=True) for c in columns]
            whole = tuple(c.name for c in columns)
            both = [max(singles, key=lambda p: p.strength)]
            both += [joint.counted(whole, self.engine.sizes(*whole), quasi=True)] if len(whole) > 1 else []
            return joint.Curve(tuple(both), len(singles) + len(both) - 1, both[0].people)
        crowd = min(max(2, round(1 / limit)), MOST_CROWD)
        return joint.joint_curve(self.classes, columns, self.secrets, quasi=quasi, crowd=crowd, seed=self.seed)


def links_of(prepared: Prepared, decision: Decision, file: FileColumns, stage: Path, seen: ByEngine | None = None) -> Links:
    """What an attacker may know of the written file; the true values of changed columns are read from the original."""
    policy, records = prepared.policy, int(decision.released.n_records)
    steps, moved = decision.plan.for_column, _moved(decision)
    names = [n for n in policy.beside if not any(isinstance(s, Drop) for s in steps(n))]
    renamed = {n for n in names if any(s.kind in _HIDDEN for s in steps(n))}
    values = [n for n in names if n not in renamed]
    changed = frozenset(n for n in values if (n in moved or not _all(steps(n), Keep)) and not _by_list(prepared, n))
    random = [n for n in values if n in moved or not _all(steps(n), ExpressionStep)]  # else who knows a value knows the new one
    stated = next((r.share for r in policy.requirements if isinstance(r, Linkage)), None)
    allowed = frozenset(policy.identifying)
    what = Links(np.zeros(0, dtype=np.int64), (), (), changed, policy.seed, policy.smallest_class, stated, allowed)
    if random and records > MOST_PAIRED:
        what = replace(what, why_not=f"the release has more than {MOST_PAIRED:,} records")
        names = [n for n in names if n not in random]
        random = []
    if not names:
        return what
    if seen is not None and not random and not renamed:
        return replace(what, columns=tuple(joint.Known(n, what.classes) for n in names), engine=seen)
    why_not = too_much(prepared, records, len(names))
    if why_not:
        return replace(what, why_not=why_not)
    quasi = prepared.quasi
    table = pairs(prepared, decision, names, random, stage) if random else None
    wanted = [*quasi, *names]
    if table is None:
        own = file.of(wanted)
    else:
        own = dict(zip(wanted, whole_codes(table.select(wanted).to_batches(), len(wanted)), strict=True))
    classes = number_groups([own[n] for n in quasi])[0] if quasi else np.zeros(records, dtype=np.int64)
    own = {**own, **{n: same_profile(own[n], classes) for n in renamed}}
    columns = {n: joint.Known(n, own[n]) if n not in random else _read_changed(prepared, n, table) for n in names}
    secrets = [_secret(columns[n]) for n in policy.sensitive if n in values]
    return replace(what, classes=classes, columns=tuple(columns.values()), secrets=tuple(s for s in secrets if s))


def linked_dates(prepared: Prepared, decision: Decision, data: Path) -> list[AttackResult]:
    """What the distances between the shifted dates of one person give away, if the file shows which dates are one person's.

    All dates of a person in a column move by the same number of days, so that their distances are exact: anyone who knows the
    dates finds everybody whose distances nobody else has.
    """
    shown = logical(header(data), prepared.schema.names)
    limit = joint.default_limit(prepared.policy.smallest_class)
    out = []
    for step in decision.plan.steps:
        if step.kind != "date_shift":
            continue
        from shoal.techniques.identity.date_shift import DateShift  # all techniques come with it, and few plans use one

        if not isinstance(step, DateShift) or step.unit not in shown or step.column not in shown:
            continue
        if decision.released.n_records > MOST_PAIRED:
            out.append(AttackResult.not_run(INTERVALS, f"the release has more than {MOST_PAIRED:,} records"))
            continue
        import pyarrow as pa

        rows = pa.Table.from_batches(list(batches(data, [step.unit, step.column])))
        who, when = whole_codes(rows.select([0]).to_batches(), 1)[0], numbers_of(rows[1])
        if when is not None:
            intervals = intervals_found(who, when, step.column, limit)
            looked = step.column in prepared.policy.identifying and intervals is not None and intervals.verdict == "broken"
            out += [replace(intervals, verdict="warning", claimed=None) if looked else intervals] if intervals is not None else []
    return out


def intervals_found(person: Codes, when: npt.NDArray[np.float64], column: str, limit: float) -> AttackResult | None:
    """People found by the distances between their dates; None if nobody has two.

    >>> intervals_found(np.array([1, 1, 2, 2, 3]), np.array([5.0, 9.0, 20.0, 23.0, 7.0]), "visit", 0.2).rate
    1.0
    """
    known = (person > 0) & ~np.isnan(when)
    order = np.lexsort((when[known], person[known]))
    who, at = person[known][order], when[known][order]
    starts = np.flatnonzero(np.append(True, who[1:] != who[:-1])) if len(who) else np.zeros(0, dtype=np.int64)
    patterns = Counter((part - part[0]).tobytes() for part in np.split(at, starts[1:]) if len(part) > 1)
    people = sum(patterns.values())
    if not people:
        return None
    rate = len(patterns) / people
    sentence = f"{rate:.1%} of {people:,} people with several dates in '{column}' are found by the distances between them."
    verdict: Verdict = "holds" if at_most(rate, limit) else "broken"
    return AttackResult(INTERVALS, DATES_KNOWN, rate, rate, rate, limit, f"column '{column}'", verdict, sentence)


def same_profile(codes: Codes, classes: Codes) -> Codes:
    """Names in the place of values (0 is missing), one code for all names whose records lie in the same classes: with the true
    values of a table, an attacker tells the others apart without the key.

    >>> same_profile(np.array([1, 1, 2, 3, 4, 0]), np.array([0, 1, 0, 0, 1, 0])).tolist().count(0)
    1
    >>> len(set(same_profile(np.array([1, 1, 2, 3]), np.array([0, 1, 0, 0])).tolist()))
    2
    """
    weight = np.random.default_rng(0).integers(0, 2**63, int(classes.max(initial=0)) + 1, dtype=np.uint64)
    total = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.uint64)
    np.add.at(total, codes, weight[classes])  # equal sums, equal classes, but for one chance in 2**60
    return np.where(codes > 0, np.unique(total, return_inverse=True)[1][codes] + 1, 0)


def _all(steps: Sequence[Step], kind: type[Step]) -> bool:
    return all(isinstance(s, kind) for s in steps)


def _by_list(prepared: Prepared, name: str) -> bool:
    """Whether the list of a preset makes the column coarser, which was to be published as it is."""
    return name in prepared.on_list and bool(prepared.on_list[name].why)


def _moved(decision: Decision) -> frozenset[str]:
    """Columns that a step of another column replaces too."""
    return frozenset(n for s in decision.plan.steps if not isinstance(s, RowStep) for n in s.columns if n != s.column)


def too_much(prepared: Prepared, records: int, columns: int) -> str:
    """Why the columns are not looked at; empty if they are."""
    if records > MOST_COUNTED:
        return f"the release has more than {MOST_COUNTED:,} records"
    memory, size = prepared.table.memory, records * (BYTES_A_CELL * (len(prepared.quasi) + columns) + BYTES_A_KEY)
    if memory is not None and size > left_for_data(memory):
        return f"it would take about {shown(size)} beside the program, more than --memory allows"
    return ""


def _read_changed(prepared: Prepared, name: str, table: Any) -> joint.Known:
    """A column that is changed at random: numbers and dates as numbers, other texts as codes over both sides."""
    before, after = table[f"{true_name(prepared)}{name}"], table[name]
    true, published = numbers_of(before), numbers_of(after)
    if true is not None and published is not None:
        return joint.Known(name, published, true, numeric=True, date=prepared.schema[name].kind in _DATES)
    import pyarrow as pa

    both = pa.chunked_array([*before.cast("string").chunks, *after.cast("string").chunks], pa.string())
    codes = whole_codes(pa.table([both], names=["x"]).combine_chunks().to_batches(), 1)[0].astype(np.int64)
    return joint.Known(name, codes[len(before) :], codes[: len(before)])


def _secret(column: joint.Known) -> joint.Secret | None:
    """A sensitive column as something to learn; numbers that are changed at random are not."""
    if column.numeric:
        return None
    published = column.published.astype(np.int64)
    return joint.Secret(column.name, published if column.true is None else column.true, published)


def numbers_of(column: Any) -> npt.NDArray[Any] | None:
    """Numbers, dates and times as numbers, missing as not-a-number; None for texts that are none of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        return numbers_of(column.cast(kind.value_type))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _texts_as_numbers(column)
    if pa.types.is_date(kind):
        column = column.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        column = column.cast(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    out: npt.NDArray[Any] = pc.cast(column, pa.float64(), safe=False).to_numpy().astype(np.float64)
    return out


def _texts_as_numbers(column: Any) -> npt.NDArray[Any] | None:
    import pyarrow as pa

    for kind in (pa.float64(), pa.timestamp("us")):
        try:
            return numbers_of(column.cast(kind))
        except pa.ArrowInvalid:
            continue
    return None


class Beside(Keep):
    """A true value carried along: the rows are ordered, and random steps draw, as in the release that does not have it."""

    in_order: ClassVar[bool] = False


def true_name(prepared: Prepared) -> str:
    """What the names of the true columns begin with: no column of the table does."""
    mark = "true "
    while any(name.startswith(mark) for name in prepared.schema.names):
        mark += "."
    return mark


def pairs(prepared: Prepared, decision: Decision, names: Sequence[str], changed: Sequence[str], stage: Path) -> Any:
    """The published quasi-identifiers and further columns of every record, with the true values of the changed ones."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = pa.Table.from_batches(list(prepared.table.scan()))
    mark = true_name(prepared)
    for name in changed:
        rows = rows.append_column(f"{mark}{name}", rows[name])
    wanted = {*prepared.quasi, *names}
    steps: list[Step] = [s for s in decision.plan.steps if isinstance(s, RowStep) or set(s.columns) & wanted]
    covered = {c for s in steps if not isinstance(s, RowStep) for c in s.columns}
    mapped = set(decision.class_map.column_names) if decision.class_map is not None else set()
    steps += [Drop(n) for n in prepared.schema.names if n not in covered and n not in mapped]
    steps += [Beside(f"{mark}{n}") for n in changed]
    plan = Plan(tuple(steps), decision.plan.suppression, decision.plan.seed, shuffle=False)
    hidden = stage / ".pairs"
    hidden.mkdir(mode=0o700)
    try:
        with opened(rows, name=prepared.table.name) as table:
            table.recode(plan, hidden / "pairs.parquet", kept=decision.kept, class_map=decision.class_map)
        both = pq.read_table(hidden / "pairs.parquet")
    finally:
        shutil.rmtree(hidden)
    if both.num_rows != decision.released.n_records:
        raise changed_table()
    return both


def check_links(prepared: Prepared, decision: Decision) -> None:
    """Refuse a plan that publishes the person column and leaves fewer than k people with the same records in the same classes."""
    unit, k = published_unit(prepared, decision.plan), prepared.policy.smallest_class
    if unit is None:
        return
    alike = people_alike(prepared, decision, unit)
    few = sum(n for n in alike if n < k)
    if few:
        what = f"people with several records stay linked: as few as {min(alike)} have the same number of records in the same "
        what += f"classes, {k} are asked. {few:,} of {sum(alike):,} people share theirs with too few."
        hint = "Publish the unit as 'drop', so that records of a person are not linked; or leave these people out "
        hint += "first; or give each a pseudonym that is renewed (shoal vault domain add --renew-uses 1)."
        raise InfeasibleError(what, hint=hint)


def people_alike(prepared: Prepared, decision: Decision, unit: str) -> list[int]:
    """The sizes of the groups of people who have the same number of published records in the same published classes."""
    base = prepared.base
    pairs = prepared.counted.without_unit().count((unit, *base.columns))
    where = memberships(pairs, base)
    classes = group_codes(list(decision.codes), n_rows=base.n_classes).ids.astype(np.int64)
    gone = ~decision.stays[where.classes]
    number = np.where(gone, -1, classes[where.classes])
    records: dict[int, Counter[int]] = {}
    for person, klass, n in zip(where.people.tolist(), number.tolist(), pairs.sizes.tolist(), strict=True):
        if klass >= 0 or prepared.policy.scope == "cells":
            records.setdefault(person, Counter())[klass] += n
    return list(Counter(frozenset(r.items()) for r in records.values()).values())

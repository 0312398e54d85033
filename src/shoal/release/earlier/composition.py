"""Earlier releases of the same people, as their own folders show them, laid over the release that is about to be written.

Who was published earlier, and in which class, is read from the earlier data file: the earlier plan gives the labels that each
person of the present table had, and the file says which labels it holds and with which sensitive values. What cannot be
compared is refused, never passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.disk.atomic import scratch
from shoal.errors import HierarchyGapError, VerificationError, refuse
from shoal.kernels.text import canonical_text
from shoal.model.attack import AttackResult
from shoal.model.certificate.certificate import NAME, PLAN, Certificate
from shoal.model.certificate.file import read_certificate
from shoal.model.counts.classes import IntArray
from shoal.model.plan import SUPPRESSED, Plan, Step, Suppression
from shoal.model.requirement import DistinctDiversity
from shoal.release.certificate.codebook import new_codes
from shoal.release.earlier.same_labels import MISSING_TEXT, codes_of, read_texts
from shoal.release.make import private_file
from shoal.release.plan.plan_json import parse_plan, read_plan
from shoal.release.plan.prepare import Prepared, counted_by_record
from shoal.release.plan.published_classes import Decision
from shoal.release.proof.facts import value_order
from shoal.release.verification import verify
from shoal.steps import Drop, MapValues

if TYPE_CHECKING:
    from shoal.attacks.certified import Certified
    from shoal.attacks.composition import Shown
    from shoal.engines.table import Table


UNKNOWN = "(unknown to the earlier plan)"


@dataclass(frozen=True, eq=False)
class Earlier:
    """The folder of an earlier release, verified; ``data`` are its file, or its table in the database of the present one."""

    data: Path | Table
    claims: Certificate
    plan: Plan

    def step(self, column: str) -> Step | None:
        """What it did to a column; None where it published the column as it was."""
        steps = self.plan.for_column(column)
        return None if not steps or steps[0].kind == "keep" else steps[0]

    def distinct(self, column: str) -> int:
        return max((r.l for r in self.claims.asked if isinstance(r, DistinctDiversity) and r.column == column), default=1)


def read(place: Path, prepared: Prepared) -> Earlier:
    """An earlier release that can be compared with the present table; the others are refused."""
    claims = read_certificate(place / NAME)
    table = None
    if claims.data.file is None:
        if not prepared.table.in_database:
            raise _refusal("the data of the earlier release are in a database, and this table is not")
        table = prepared.table.neighbour(str(claims.data.table))
    verify(place, table=table).require()
    whole = whole_plan(place, claims)
    earlier = Earlier(table or place / str(claims.data.file), claims, whole or read_plan(place / PLAN))
    quasi = claims.data.quasi
    if claims.utility.method == "local" or any(not earlier.plan.for_column(c) for c in quasi):
        raise _refusal("the earlier release was recoded locally: its folder does not say which class a person is in")
    lacking = [c for c in quasi if c not in prepared.quasi]
    if lacking:
        what = f"the earlier release publishes '{lacking[0]}' as a quasi-identifier, this policy does not name it as one"
        raise _refusal(what, hint="Name the same quasi-identifiers as before (min_level can hold a column at its top level).")
    open_now = [c for c in claims.data.sensitive if c in prepared.policy.insensitive]
    if open_now:
        hint = f"Name '{open_now[0]}' under roles.sensitive."
        raise _refusal(f"the earlier release names '{open_now[0]}' as sensitive, this policy as insensitive", hint=hint)
    rare = unknown_column(prepared, earlier.plan) if whole is None else None
    if rare is not None:
        hint = "Keep the file FOLDER.private.json of the earlier release beside its folder."
        raise _refusal(f"the published plan of the earlier release leaves rare values of '{rare}' out", hint=hint)
    return earlier


def _refusal(why: str, hint: str = "") -> VerificationError:
    return VerificationError(
        f"the two releases cannot be compared: {why}. Nothing was released.",
        hint=hint or "Leave --previous out only if the two releases share no person; otherwise do not release.",
    )


def composition(prepared: Prepared, decision: Decision, places: Sequence[Path]) -> list[AttackResult]:
    """What this release and the earlier ones tell together: joint groups, values left open, values read off by subtraction."""
    if not places:
        return []

    from shoal.attacks.belief import beliefs
    from shoal.attacks.composition import changes, intersection, values_left
    from shoal.attacks.downcoding import Recoded

    base, policy = prepared.base, prepared.policy
    before = [read(place, prepared) for place in places]
    columns = [c for c in policy.sensitive if c not in _changed_columns(prepared)]
    new = shown_now(prepared, decision, columns)
    old = [_classes_shown(prepared, e, [c for c in columns if _comparable(e, c)]) for e in before]
    k, most = policy.smallest_class, _most_records(prepared)
    records = base.sizes if base.records is None else base.records
    parts = [Recoded(base, (s.classes.astype(np.int32),), kept=s.classes >= 0) for s in (new, *old)]
    out = [intersection(parts, k=k)]
    for column in policy.sensitive:
        diversity = policy.asked_of(column, DistinctDiversity)
        with_it = [(e, s) for e, s in zip(before, old, strict=True) if column in s.cells]
        out += [_not_compared(column, e, prepared) for e, s in zip(before, old, strict=True) if _open(column, e, s)]
        if with_it:
            least = max([diversity.l if diversity else 1, *(e.distinct(column) for e, _ in with_it)])
            out.append(values_left(base.sizes, new, [s for _, s in with_it], column, distinct=max(least, 2)))
            more = _certified_shares(prepared, with_it, column)
            if more:
                out.append(beliefs(base.sizes, records, new, [s for _, s in with_it], column, more))
            out += [changes(new, s, column, k=k * most, distinct=least, asked=more) for _, s in with_it]
    return out + [_not_compared(c, e, prepared) for c in policy.insensitive for e in before if _drawn_twice(c, e, prepared)]


def _certified_shares(prepared: Prepared, earlier: Sequence[tuple[Earlier, Shown]], column: str) -> Certified:
    """What this release or an earlier one certifies of the shares of a column."""
    from shoal.attacks.certified import Certified

    every = [*prepared.policy.requirements, *(r for e, _ in earlier for r in e.claims.asked)]
    known = len(prepared.base.sensitive[column].categories)
    foreign = any(int(s.cells[column].values.max(initial=-1)) >= known for _, s in earlier)
    rank, levels = (None, ()) if foreign else _geometry(prepared, column)
    return Certified.of((r for r in every if r.sensitive == column), rank, levels)


def _geometry(prepared: Prepared, column: str) -> tuple[IntArray, tuple[IntArray, ...]]:
    """The place of each value in order (the missing one first), and its groups in the hierarchy where the policy gives one."""
    from shoal.release.proof.trees import tree_of

    texts = [None, *canonical_text(prepared.base.sensitive[column].categories).to_pylist()]
    place = {value: i for i, value in enumerate(value_order(texts, prepared.orders.get(column, ())))}
    rank = np.array([place[t] for t in texts], dtype=np.int64)
    if column not in prepared.trees:
        return rank, ()
    tree = tree_of(prepared.trees[column])
    paths = np.array([tree.path(t) for t in texts], dtype=np.int64).reshape(len(texts), tree.height - 1)
    return rank, tuple(np.unique(paths[:, i], return_inverse=True)[1].astype(np.int64) for i in range(tree.height - 1))


def _open(column: str, earlier: Earlier, shown: Shown) -> bool:
    """Whether an earlier release publishes a column that was not compared."""
    return column in earlier.claims.data.columns and column not in shown.cells


def _changed_columns(prepared: Prepared) -> set[str]:
    return {c for s in prepared.policy.transform.values() for c in s.columns}


def _comparable(earlier: Earlier, column: str) -> bool:
    return column in earlier.claims.data.columns and earlier.step(column) is None


def _not_compared(column: str, earlier: Earlier, prepared: Prepared) -> AttackResult:
    """A sensitive column that one of the releases changes: said, not passed over."""
    reason = (
        f"Both releases change '{column}' at random: joining a person's records gives two tries, and their mean is closer to "
        "the truth than either."
        if _drawn_twice(column, earlier, prepared)
        else f"One of the releases changes '{column}', so its values were not compared; together they may tell more than either."
    )
    name = f"intersection: values of '{column}'"
    return AttackResult(name, "What do both releases tell of this column?", None, None, None, None, "", "warning", reason)


def _drawn_twice(column: str, earlier: Earlier, prepared: Prepared) -> bool:
    """Whether both releases publish a column with random changes."""
    now = [s for s in prepared.policy.transform.values() if column in s.columns]
    then = earlier.step(column)
    shown = column in earlier.claims.data.columns
    return shown and bool(now) and now[0].draws and then is not None and then.draws


def _most_records(prepared: Prepared) -> int:
    """The most records that one person has: a change of so many records may be one person's."""
    unit, table = prepared.policy.unit, prepared.counted
    if unit is None or prepared.base.records is None:
        return 1
    return int(table.without_unit().count((unit,)).sizes.max())


def shown_now(prepared: Prepared, decision: Decision, columns: Sequence[str]) -> Shown:
    """This release: the class of each base class, and the records of each sensitive value in it."""
    from shoal.attacks.composition import Cells, Shown
    from shoal.kernels.group import group_codes

    base = counted_by_record(prepared) if columns else prepared.base
    ids = group_codes(decision.codes, n_rows=base.n_classes).ids.astype(np.int64)
    blanked = int(ids.max()) + 1 if prepared.policy.scope == "cells" else -1
    classes = np.where(decision.stays, ids, blanked)
    cells = {}
    for column in columns:
        inside = base.sensitive[column]
        klass = classes[inside.classes]
        there = klass >= 0
        cells[column] = Cells(klass[there], inside.values[there].astype(np.int64), inside.counts[there])
    return Shown(classes, cells)


def _classes_shown(prepared: Prepared, earlier: Earlier, columns: Sequence[str]) -> Shown:
    """An earlier release: the class that its file holds for each base class, and the sensitive values of its classes."""
    from shoal.attacks.composition import Cells, Shown
    from shoal.kernels.group import group_codes

    base = prepared.base
    quasi = [c for c in base.columns if c in earlier.claims.data.columns]
    file = read_texts(earlier.data, [*quasi, *columns])
    alike = group_codes([base.codes[base.column(c)] for c in quasi], n_rows=base.n_classes)
    probe = {c: base.categories[j].take(_indices(base.codes[j][alike.first])) for c in quasi for j in [base.column(c)]}
    labels = _as_shown(earlier, probe, alike.n)
    n = len(file[quasi[0]]) if quasi else earlier.claims.after.records
    coded = [codes_of(file[c], labels[c]).astype(np.int32) for c in quasi]
    ids = group_codes(coded, n_rows=n + alike.n).ids.astype(np.int64)
    own, theirs = ids[:n], ids[n:]
    classes = np.where(np.isin(theirs, own), theirs, _find_blanked(earlier, file, quasi, own))[alike.ids]
    cells = {}
    for column in columns:
        mine = _values(earlier, base.sensitive[column].categories, column, file[column])
        width = int(mine.max(initial=0)) + 2
        key, counts = np.unique(own * width + mine + 1, return_counts=True)
        cells[column] = Cells(key // width, key % width - 1, counts.astype(np.int64))
    return Shown(classes, cells)


def _values(earlier: Earlier, values: Any, column: str, texts: Any) -> IntArray:
    """Sensitive values of an earlier file as codes of the present ones; a value that is not among them gets a code beyond."""
    known = _as_shown(earlier, {column: values}, len(values))[column]
    codes = codes_of(pa.concat_arrays([known, pa.array([MISSING_TEXT])]), texts)
    present, others = codes[: len(values) + 1], codes[len(values) + 1 :]
    place = np.arange(len(values), len(values) + int(codes.max()) + 1)
    place[present] = [*range(len(values)), -1]
    return np.asarray(place[others])


def _find_blanked(earlier: Earlier, file: Mapping[str, Any], quasi: Sequence[str], own: IntArray) -> int:
    """The class of the records whose quasi-identifiers an earlier release blanked: anyone who is not found elsewhere; or −1."""
    if earlier.claims.utility.scope != "cells" or not quasi:
        return -1
    hidden = [pc.equal(file[c], SUPPRESSED).to_numpy(zero_copy_only=False) for c in quasi if c in earlier.claims.data.quasi]
    classes = np.unique(own[np.logical_and.reduce(hidden)])
    if len(classes) > 1:
        raise _refusal("the earlier release blanked records but shows a column that is a quasi-identifier now")
    return int(classes[0]) if len(classes) else -1


def _indices(codes: Any) -> Any:
    return pa.array(codes, mask=codes < 0)


def _as_shown(earlier: Earlier, values: Mapping[str, Any], n: int) -> dict[str, Any]:
    """Values as the earlier release writes them: applied by its plan, written in its format, read as its file is read."""
    from shoal.engines.open import open as opened

    if not values or n == 0:
        return {c: pa.array([], pa.string()) for c in values}
    order = "row"
    while order in values:
        order += "_"
    steps = [s for c in values for s in earlier.plan.for_column(c) if not isinstance(s, Drop)]
    known = [replace(s, on_gap="top", top=UNKNOWN) if isinstance(s, MapValues) and s.on_gap == "error" else s for s in steps]
    table = pa.table({**values, order: pa.array(range(n), pa.int64())})
    with scratch() as place:
        out = place / f"probe{earlier.data.suffix if isinstance(earlier.data, Path) else '.parquet'}"
        with refuse(_refusal("the earlier plan does not cover all values of a column"), HierarchyGapError):
            done = opened(table).recode(Plan(tuple(known), Suppression(scope="none")), out)
        stated = isinstance(earlier.data, Path) and bool(new_codes(earlier.data.parent))  # releases of 0.3.0 do not state them
        texts = read_texts(out, [*values, order], done.codes if stated else {})
    order_of = np.argsort(texts[order].to_numpy(zero_copy_only=False).astype(np.float64))
    return {c: texts[c].take(pa.array(order_of)) for c in values}


def whole_plan(place: Path, claims: Certificate) -> Plan | None:
    """The plan in the private file beside a release folder; None where there is none for this release."""
    beside = private_file.place_of(place)
    if not beside.is_file():
        return None
    kept = private_file.read(beside)
    return parse_plan(kept.plan) if kept.plan is not None and private_file.fits(kept, claims.plan) else None


def unknown_column(prepared: Prepared, published: Plan) -> str | None:
    """A column with a value that the published value map does not list: its people may be in the earlier release or not."""
    for j, column in enumerate(prepared.base.columns):
        for step in published.for_column(column):
            if isinstance(step, MapValues) and step.on_gap == "suppress":
                values, floats = prepared.base.categories[j], prepared.schema[column].kind == "float"
                present = set(values.to_pylist() if floats else canonical_text(values).to_pylist())
                if present - set(step.by_number() if floats else step.keys):
                    return column
    return None

"""The classes that a plan would publish, worked out from the base classes before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InfeasibleError
from shoal.kernels.text import canonical_text
from shoal.model.attack import AttackResult
from shoal.model.certificate.parts import OtherMethod
from shoal.model.compare import most_of
from shoal.model.counts.classes import MISSING, ClassCounts, CodeArray, IntArray, SensitiveCounts
from shoal.model.plan import Plan, Step, Suppression
from shoal.release.gate.count_facts import facts_of_counts
from shoal.release.plan.column_steps import other_steps
from shoal.release.plan.prepare import Prepared
from shoal.release.proof.facts import Given, judge, recursive_levels

if TYPE_CHECKING:
    from shoal.search.local_recoding.local import LocalResult
    from shoal.search.problem.search_result import SearchResult


@dataclass(frozen=True, eq=False)
class Decision:
    """A plan, what it will publish, and how it was found.

    ``kept`` and ``class_map`` are handed to RECODE and forgotten: they hold values. ``stays`` says for each base class whether
    it is published; ``published`` are its codes, per column, after the plan. ``given`` are numbers that requirements ask for and
    only the population table tells. ``narrowed`` is what the cells of a local recoding give away. ``plans`` counts the plans
    with one level per column that were compared, ``others`` are the other methods (None if the policy names one method). ``lost``
    is the share of its domain that a local recoding loses of each column.
    """

    plan: Plan
    method: str
    levels: Mapping[str, int]
    loss: float
    loss_name: str
    proven: bool
    gap: float | None
    stays: npt.NDArray[np.bool_]
    codes: tuple[CodeArray, ...]
    labels: tuple[tuple[str | None, ...], ...]
    released: ClassCounts
    kept: Any = None
    class_map: Any = None
    finer: tuple[CodeArray, ...] = ()
    notes: tuple[str, ...] = ()
    given: Given = field(default_factory=dict)
    narrowed: AttackResult | None = None
    plans: int | None = None
    others: tuple[OtherMethod, ...] | None = None
    lost: Mapping[str, float] = field(default_factory=dict)

    def suppressed(self, base: ClassCounts) -> int:
        """Records that are not published, or published with blanked quasi-identifiers."""
        return int(base.records_by_class[~self.stays].sum())


def of_levels(prepared: Prepared, levels: Mapping[str, int], result: SearchResult) -> Decision:
    """The decision of a full-domain search result."""
    from shoal.search import missing_label

    policy, base = prepared.policy, prepared.base
    steps: list[Step] = []
    unseen = () if prepared.coarser is None else (prepared.coarser.sentence,)
    for name in base.columns:
        label = missing_label(prepared.hierarchies[name], levels[name])
        steps.append(prepared.rules[name].step(name, levels[name], missing_label=label))
    plan = Plan(
        (*steps, *other_steps(prepared)),
        Suppression(policy.smallest_class, base.columns, policy.scope, policy.unit),
        policy.seed,
        notes=(*(f"{c}: level {levels[c]} of {prepared.hierarchies[c].height}" for c in base.columns), *unseen),
    )
    lower = [at_level(prepared, base, name, max(levels[name] - 1, prepared.lowest(name))) for name in base.columns]
    shown = shown_at(prepared, levels, result)
    stays = shown.stays
    return Decision(
        plan=plan,
        method=result.method,
        levels=dict(levels),
        loss=shown.loss,
        loss_name=result.loss_name,
        proven=result.proven and shown.gap == result.gap and prepared.coarser is None,
        gap=shown.gap if prepared.coarser is None else None,
        stays=stays,
        codes=shown.codes,
        labels=shown.labels,
        released=shown.released,
        kept=replace(result, kept=stays).kept_table() if result.k is None or stays is not result.kept else None,
        finer=tuple(c for c, _ in lower),
        notes=unseen,
        given=shown.given,
        plans=result.n_nodes,
    )


@dataclass(frozen=True, eq=False)
class Shown:
    """What levels would publish: which base classes stay, their codes and labels per column, and what is lost."""

    stays: npt.NDArray[np.bool_]
    codes: tuple[CodeArray, ...]
    labels: tuple[tuple[str | None, ...], ...]
    released: ClassCounts
    given: Given
    loss: float
    gap: float


def shown_at(prepared: Prepared, levels: Mapping[str, int], result: SearchResult) -> Shown:
    """The published classes of a full-domain search result, without the plan that makes them."""
    base = prepared.base
    stays = blanked_together(prepared, result)
    at = [at_level(prepared, base, name, levels[name]) for name in base.columns]
    codes = tuple(c for c, _ in at)
    loss, gap = _loss(prepared, levels, result, stays)
    given = _of_population(prepared, levels, codes, stays)
    released = published(prepared, base, codes, stays, result.groups)
    return Shown(stays, codes, tuple(names for _, names in at), released, given, loss, gap)


def _loss(
    prepared: Prepared, levels: Mapping[str, int], result: SearchResult, stays: npt.NDArray[np.bool_]
) -> tuple[float, float]:
    """The loss of what is written, and how far it may be from the best: larger where classes joined the blanked ones."""
    from shoal.search import loss_at

    if np.array_equal(stays, result.kept):
        return result.loss, result.gap
    weights = prepared.policy.importance
    loss = loss_at(prepared.base, prepared.hierarchies, levels, stays, loss=result.loss_name, weights=weights)
    return loss, result.gap + max(0.0, loss - result.loss)


def _of_population(
    prepared: Prepared, levels: Mapping[str, int], codes: Sequence[CodeArray], stays: npt.NDArray[np.bool_]
) -> Given:
    """The k-map of the published classes: the fewest people of the population who have the values of one of them."""
    from shoal.kernels.group import group_codes

    people = prepared.population
    if people is None or not stays.any():
        return {}
    others = [at_level(prepared, people, name, levels[name])[0] for name in prepared.base.columns]
    groups = group_codes([np.concatenate([own[stays], other]) for own, other in zip(codes, others, strict=True)])
    n = int(stays.sum())
    sizes = np.bincount(groups.ids[n:], weights=people.sizes, minlength=groups.n)
    return {("k_map",): int(sizes[groups.ids[:n]].min())}


def at_level(prepared: Prepared, counts: ClassCounts, name: str, level: int) -> tuple[CodeArray, tuple[str | None, ...]]:
    """Code of each class at a level, and the label of each code; a missing value keeps −1 unless it is joined."""
    from shoal.search.problem.column import joins_missing

    j = counts.column(name)
    hierarchy = prepared.hierarchies[name]
    at = hierarchy.levels[level]
    group = np.append(at.groups[_places(prepared, counts, j)], 0 if joins_missing(hierarchy, level) else MISSING)
    return group.astype(np.int32)[counts.codes[j]], at.labels


def _places(prepared: Prepared, counts: ClassCounts, j: int) -> npt.NDArray[np.int64]:
    """The leaf of each value of a column; looked up once for the base classes, which many plans ask for."""
    known = prepared.__dict__.setdefault("_places", {}) if counts is prepared.base else {}
    if j not in known:
        position = prepared.hierarchies[counts.columns[j]].position
        known[j] = np.array([position[t] for t in canonical_text(counts.categories[j]).to_pylist()], dtype=np.int64)
    places: npt.NDArray[np.int64] = known[j]
    return places


def blanked_together(prepared: Prepared, result: SearchResult) -> npt.NDArray[np.bool_]:
    """Base classes that stay. With ``scope: cells`` the blanked records form a class too, which must be large and diverse enough.

    Where it is not, the smallest published classes join it, as long as the limit of suppression allows.
    """
    policy, base = prepared.policy, prepared.base
    if policy.scope != "cells" or result.kept.all():
        return result.kept
    records = base.records_by_class
    stays, limit = result.kept.copy(), most_of(policy.suppress, base.n_records)
    size = np.bincount(result.groups[stays], weights=records[stays])
    left = [g for g in np.argsort(size, kind="stable").tolist() if size[g] > 0]
    while left and not _large_and_diverse(prepared, ~stays):
        more = stays & (result.groups == left.pop(0))
        if int(records[~stays | more].sum()) > limit:
            raise InfeasibleError(
                f"the blanked records would be a class of their own with fewer than {policy.smallest_class:,} members or too few "
                "sensitive values, and joining another class to them would blank more than is allowed.",
                hint="Allow more suppression, or leave the records out instead (allow: {scope: rows}).",
            )
        stays &= ~more
    return stays


def _large_and_diverse(prepared: Prepared, blanked: npt.NDArray[np.bool_]) -> bool:
    """Whether the blanked records, as one class, meet k and the diversity asked for."""
    policy, base = prepared.policy, prepared.base
    one = regrouped(base, tuple(np.zeros(base.n_classes, dtype=np.int32) for _ in base.columns), blanked)
    conditions = [r for r in policy.requirements if r.section == "diversity" or r.class_sizes(has_population=False)[0]]
    return all(judge(conditions, facts_of_counts(one, recursive_levels(conditions), asked=conditions)))


def published(
    prepared: Prepared,
    base: ClassCounts,
    codes: tuple[CodeArray, ...],
    stays: npt.NDArray[np.bool_],
    groups: npt.NDArray[np.int32] | None = None,
) -> ClassCounts:
    """The classes of the written file; with ``scope: cells`` the blanked records are one of them.

    ``groups`` numbers the base classes by their codes, where a search has done so already.
    """
    if prepared.policy.scope == "cells" and not stays.all():
        codes = tuple(np.where(stays, c, np.int32(int(c.max(initial=0)) + 1)).astype(np.int32) for c in codes)
        stays, groups = np.ones(base.n_classes, dtype=np.bool_), None
    return regrouped(base, codes, stays, groups)


def regrouped(
    base: ClassCounts, codes: tuple[CodeArray, ...], stays: npt.NDArray[np.bool_], known: npt.NDArray[np.int32] | None = None
) -> ClassCounts:
    """The published classes: base classes that stay, joined where their codes agree (``known`` numbers them alike)."""
    from shoal.kernels.group import group_codes

    pick = np.flatnonzero(stays)
    if not len(pick):
        raise InfeasibleError("the plan would publish no record.", hint="Allow coarser levels or ask for less.")
    if known is None:
        groups = group_codes([c[pick] for c in codes], n_rows=len(pick))
    else:
        groups = group_codes([known[pick]])
    sizes = np.bincount(groups.ids, weights=base.sizes[pick], minlength=groups.n).astype(np.int64)
    records = None
    if base.records is not None:
        records = np.bincount(groups.ids, weights=base.records[pick], minlength=groups.n).astype(np.int64)
    of_base = np.full(base.n_classes, -1, dtype=np.int64)
    of_base[pick] = groups.ids
    inside = {name: _join_values(s, of_base) for name, s in base.sensitive.items()}
    return ClassCounts(sizes, base.columns, [c[pick][groups.first] for c in codes], (), inside, records, unit=base.unit)


def _join_values(counts: SensitiveCounts, of_base: npt.NDArray[np.int64]) -> SensitiveCounts:
    klass = of_base[counts.classes]
    there = klass >= 0
    klass, values, sizes = klass[there], counts.values[there].astype(np.int64) + 1, counts.counts[there]
    width = int(values.max(initial=0)) + 1
    klass *= width
    klass += values
    if int(klass.max(initial=0)) < len(klass):  # a table of all pairs is short
        whole = np.bincount(klass, weights=sizes)
        key = np.flatnonzero(whole)
        summed = whole[key].astype(np.int64)
    else:
        key, place = np.unique(klass, return_inverse=True)
        summed = np.bincount(place, weights=sizes, minlength=len(key)).astype(np.int64)
    return SensitiveCounts(
        counts.column, key // width, (key % width - 1).astype(np.int32), summed, counts.categories, counts.order
    )


def below_nodes(prepared: Prepared, result: LocalResult) -> tuple[tuple[CodeArray, ...], tuple[IntArray, ...]]:
    """Per column: the code of each base class one level below its node, and how many values of the table the node covers.

    A value that is published as it is keeps its code and covers one value.
    """
    finer, covered, clusters = [], [], result.groups
    for j, name in enumerate(prepared.base.columns):
        if result.kinds[j] != "hierarchy":
            finer.append((prepared.base.codes[j] + 1).astype(np.int32))
            codes, values = result.problem.codes[j], len(result.problem.columns[j].leaves) - 1
            covered.append(_in_label(codes, values, clusters, ranged=result.kinds[j] == "range"))
            continue
        levels = _levels(prepared, name)
        at = np.maximum(_node_levels(levels, clusters), prepared.policy.quasi[name].min_level or 0)
        lower = np.maximum(at - 1, 0)
        width = int(max(codes.max(initial=0) for codes in levels)) + 2
        finer.append((np.choose(lower, levels) + 1 + lower * width).astype(np.int32))
        covered.append(np.choose(at, [_covers(codes, prepared.base.codes[j]) for codes in levels]))
    return tuple(finer), tuple(covered)


def describe_local(result: LocalResult) -> str:
    """What the plan says instead of steps: that it was local, and which columns publish sets, ranges or one level."""
    pinned = {c.name: c.heights[0] for c in result.problem.columns if c.height == 0 < c.hierarchy.height}
    kinds = zip(result.problem.names, result.kinds, strict=True)
    named = [f"{name} as {kind}s" for name, kind in kinds if kind != "hierarchy" and name not in pinned]
    named += [f"{name} at level {level} for everybody" for name, level in pinned.items()]
    how = f" ({', '.join(named)})" if named else ""
    return f"the quasi-identifiers are recoded locally, class by class{how}; the table of classes is not kept"


def _in_label(codes: CodeArray, missing: int, clusters: IntArray, *, ranged: bool) -> IntArray:
    """How many values of the table the set or range of each class's cluster holds; codes are in order, ``missing`` the last."""
    n = int(clusters.max()) + 1
    held = np.stack(np.divmod(np.unique(clusters * (missing + 1) + codes), missing + 1))
    if not ranged:
        return np.bincount(held[0], minlength=n)[clusters]
    real = held[:, held[1] != missing]
    low, high = np.full(n, missing), np.full(n, -1)
    np.minimum.at(low, real[0], real[1])
    np.maximum.at(high, real[0], real[1])
    gone = np.bincount(held[0, held[1] == missing], minlength=n)
    held_by: IntArray = np.maximum(high - low + 1, 0) + gone
    return held_by[clusters]


def _levels(prepared: Prepared, name: str) -> list[CodeArray]:
    """Codes of the base classes at each level, and at last under one node that covers everything."""
    height = prepared.hierarchies[name].height
    out = [at_level(prepared, prepared.base, name, level)[0] for level in range(height + 1)]
    return [*out, np.zeros(prepared.base.n_classes, dtype=np.int32)]


def _node_levels(levels: list[CodeArray], clusters: npt.NDArray[np.int64]) -> IntArray:
    """The lowest level at which all classes of a cluster are alike, for each base class."""
    n = int(clusters.max()) + 1
    node_levels = np.full(n, -1, dtype=np.int64)
    order = np.argsort(clusters, kind="stable")
    starts = np.searchsorted(clusters[order], np.arange(n))
    for level, codes in enumerate(levels):
        inside = codes[order]
        alike = np.minimum.reduceat(inside, starts) == np.maximum.reduceat(inside, starts)
        node_levels[alike & (node_levels < 0)] = level
    return node_levels[clusters]


def _covers(codes: CodeArray, values: CodeArray) -> IntArray:
    """How many different values of the table lie under the node of each base class; a value has one node."""
    node = np.unique(codes, return_inverse=True)[1]
    node_of = np.full(int(values.max()) + 2, -1, dtype=np.int64)
    node_of[values + 1] = node  # a missing value is −1
    return np.bincount(node_of[node_of >= 0])[node]

"""A table counted once; then what any levels of its columns would publish, in milliseconds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.api.arguments import Source, opened
from shoal.errors import InfeasibleError, ShoalError, UsageError
from shoal.hierarchies.lint import LevelPreview, preview
from shoal.kernels.group import group_codes, sum_by
from shoal.measures.classes.missing import adds_up
from shoal.model.certificate.parts import LostGroup
from shoal.model.compare import most_of
from shoal.model.counts.classes import IntArray
from shoal.model.display import Progress, silent
from shoal.model.requirement import K, MaxRisk, Verdict
from shoal.release.certificate.contents import lost_groups
from shoal.release.gate.count_facts import estimates, facts_of_counts
from shoal.release.plan.decide import decide
from shoal.release.plan.loss_limits import LOSS_LIMIT, SHARES
from shoal.release.plan.prepare import Prepared, prepare, requirements
from shoal.release.plan.published_classes import Decision, Shown, at_level, published, shown_at
from shoal.release.policy.policy import Policy
from shoal.release.proof.facts import judge, recursive_levels
from shoal.search.full_domain.lattice import OnePlan


@dataclass(frozen=True, eq=False)
class Tried:
    """What levels would publish. ``k`` is None where nobody would be left; ``allowed`` are the records that may be left out."""

    levels: Mapping[str, int]
    k: int | None
    loss: float
    suppressed: int
    records: int
    allowed: int
    classes: int
    verdicts: tuple[Verdict, ...]
    loss_limit: float
    shown: Shown | None = None

    @property
    def left_out(self) -> float:
        """Share of the records that would be left out."""
        return self.suppressed / self.records

    @property
    def suppress_met(self) -> bool:
        return self.suppressed <= self.allowed

    @property
    def loss_met(self) -> bool:
        return self.loss <= self.loss_limit

    @property
    def met(self) -> bool:
        """Whether everything that is asked would hold: each requirement, what may be left out, what may be lost."""
        return self.k is not None and self.suppress_met and self.loss_met and all(v.met for v in self.verdicts)


class Improvement:
    """A prepared table and its policy. Levels that the policy fixes are where the sliders stand; :meth:`at` tries any others."""

    def __init__(self, prepared: Prepared) -> None:
        policy = prepared.policy
        needed = {policy.objective.get("predict"), *(r.sensitive for r in policy.requirements)}
        inside = {name: counts for name, counts in prepared.base.sensitive.items() if name in needed}
        prepared = replace(prepared, base=replace(prepared.base, sensitive=inside))  # what nobody asks for is not counted again
        self.prepared = prepared
        self._previews: dict[str, list[LevelPreview]] = {}
        self._asked = [r for r in policy.requirements if not r.on_file]
        self._plan = OnePlan(
            prepared.base,
            prepared.hierarchies,
            requirements(prepared),
            loss=policy.optimize,
            weights=policy.importance,
            population=prepared.population,
            people=prepared.people,
        )

    @property
    def policy(self) -> Policy:
        return self.prepared.policy

    @property
    def heights(self) -> dict[str, int]:
        """The highest level of each column, where it is fully generalized."""
        return {name: self.prepared.hierarchies[name].height for name in self.prepared.quasi}

    @property
    def highest(self) -> dict[str, int]:
        """The highest level that the policy lets each column have."""
        bounds = {name: rule.max_level for name, rule in self.policy.quasi.items() if rule.max_level is not None}
        return {name: min(top, bounds.get(name, top)) for name, top in self.heights.items()}

    @property
    def levels(self) -> dict[str, int]:
        """The lowest level that the policy lets each column have; the values themselves where it says nothing."""
        return {name: min(self.policy.quasi[name].min_level or 0, top) for name, top in self.heights.items()}

    @property
    def guessed(self) -> dict[str, dict[str, Any]]:
        """The guessed levels as a policy states them."""
        return self.prepared.guessed

    def at(self, levels: Mapping[str, int]) -> Tried:
        """What these levels would publish, judged as a release is before it is written."""
        wanted = self.checked(levels)
        policy, base = self.policy, self.prepared.base
        plan = self._plan(wanted)
        records, allowed = base.n_records, most_of(policy.suppress, base.n_records)
        limit = LOSS_LIMIT if policy.loss_limit is None else policy.loss_limit
        try:
            shown = None if plan is None else shown_at(self.prepared, wanted, plan)
        except InfeasibleError:
            shown = None
        if plan is None or shown is None:
            return Tried(wanted, None, 1.0, records, records, allowed, 0, (), limit)
        k, verdicts = self._judged(shown)
        gone = base.records_by_class[~shown.stays]
        return Tried(
            levels=wanted,
            k=k,
            loss=float(shown.loss),
            suppressed=int(gone.sum()),
            records=records,
            allowed=allowed,
            classes=shown.released.n_classes,
            verdicts=verdicts,
            loss_limit=limit if plan.loss_name in ("loss", "ncp") else float("inf"),
            shown=shown,
        )

    def _judged(self, shown: Shown) -> tuple[int, tuple[Verdict, ...]]:
        """The smallest group, and every requirement; by people and, where they differ, by records: both must hold."""
        counted = [shown.released]
        if self.prepared.by_record is not None:
            counted.append(published(self.prepared, self.prepared.by_record, shown.codes, shown.stays))
        levels = recursive_levels(self._asked)
        facts = [facts_of_counts(c, levels, self.prepared.trees) for c in counted]
        each = [judge(self._asked, f, {**shown.given, **estimates(self._asked, f)}) for f in facts]
        return int(facts[0].k), tuple(next((v for v in both if not v.met), both[0]) for both in zip(*each, strict=True))

    def shown(self, column: str) -> list[LevelPreview]:
        """The levels of a column with labels of groups that are large enough to be named."""
        if column not in self._previews:
            hierarchy, counts = self.prepared.hierarchies[column], self._records_of(column)
            self._previews[column] = preview(hierarchy, counts, k=self.policy.cells.minimum, limit=40)
        return self._previews[column]

    def named_values(self, column: str) -> list[tuple[str, int]]:
        """The values that enough records have to be named, with their records."""
        counts = self._records_of(column)
        leaves = self.prepared.hierarchies[column].leaves
        return [(leaves[i], int(counts[i])) for i in np.flatnonzero(counts >= self.policy.cells.minimum)]

    def _records_of(self, column: str) -> IntArray:
        """Records of each value of a column; the values are the first leaves of its hierarchy."""
        base = self.prepared.base
        j = base.column(column)
        there = base.codes[j] >= 0
        records = base.records_by_class
        counts = np.bincount(base.codes[j][there], weights=records[there], minlength=len(base.categories[j]))
        return counts.astype(np.int64)

    def left_out(self, tried: Tried) -> tuple[LostGroup, ...]:
        """Who would be left out, by group, under the small-cell rule."""
        return () if tried.shown is None else lost_groups(self.prepared, tried.shown)

    def checked(self, levels: Mapping[str, int]) -> dict[str, int]:
        """A level for every column, those that are not given as the policy has them; what is not there is refused."""
        tops = self.heights
        wrong = [name for name in levels if name not in tops]
        if wrong:
            raise UsageError(f"'{wrong[0]}' is not a generalized column.", hint=f"Columns: {', '.join(tops)}.")
        wanted = {name: int(levels.get(name, self.levels[name])) for name in tops}
        for name, level in wanted.items():
            if not 0 <= level <= tops[name]:
                raise UsageError(f"'{name}' has levels 0 to {tops[name]}; found {level}.", hint="Choose one of them.")
        return wanted


def improve(table: Source, policy: Policy, *, progress: Progress = silent) -> Improvement:
    """Count a table for trying levels. What the policy fixes of them is where :attr:`Improvement.levels` begins.

    >>> people = {"age": [31, 32, 33, 45, 46, 47] * 2, "ill": ["flu", "cold"] * 6}
    >>> asked = Policy.of(quasi={"age": {"hierarchy": {"intervals": [10]}}}, sensitive=["ill"], k=3)
    >>> found = improve(people, asked)
    >>> [(found.at({"age": n}).k, found.at({"age": n}).left_out, found.at({"age": n}).met) for n in (0, 1)]
    [(None, 1.0, False), (6, 0.0, True)]
    """
    return Improvement(prepare(opened(table, read=policy.read), policy, progress=progress))


def freed(policy: Policy, locked: Mapping[str, Any] | tuple[str, ...] = ()) -> Policy:
    """The policy without the levels it fixes, except those of locked columns: what a search may choose. Level bounds stay."""
    rules = {c: replace(r, min_level=None, max_level=None) if r.fixed and c not in locked else r for c, r in policy.quasi.items()}
    return replace(policy, quasi=rules)


MOST_BARS = 60
POOLED = "small groups"
"""The name of values that are too few to be named, together."""


@dataclass(frozen=True)
class Effect:
    """Records of one column: by its values in their order (no names, at most 60 bars), and by the label of the groups after."""

    column: str
    values: int
    before: tuple[int, ...]
    after: tuple[tuple[str, int], ...]


def effect(improvement: Improvement, column: str, tried: Tried) -> Effect:
    """A column before and after these levels. No bar stands for fewer records than the small-cell rule lets be shown."""
    prepared, least = improvement.prepared, improvement.policy.cells.minimum
    base = prepared.base
    j = base.column(column)
    records = base.records_by_class
    there = base.codes[j] >= 0
    each = sum_by(base.codes[j][there], records[there], len(base.categories[j]))
    codes, labels = at_level(prepared, base, column, tried.levels[column])
    kept = records if tried.shown is None else np.where(tried.shown.stays, records, 0)
    named = codes >= 0
    after = sum_by(codes[named], kept[named], len(labels))
    first = np.full(len(labels), len(each), dtype=np.int64)
    known = there & named
    np.minimum.at(first, codes[known], base.codes[j][known])
    order = np.argsort(first, kind="stable")
    shown = [(str(labels[i]), int(after[i])) for i in order if after[i] >= least]
    rest = int(after.sum()) - sum(n for _, n in shown)
    if rest >= least:
        shown.append((POOLED, rest))
    shown, each = _fewer(shown), each[each > 0]
    bars = [int(part.sum()) for part in np.array_split(each, min(MOST_BARS, max(1, len(each))))]
    return Effect(column, len(each), tuple(pooled(bars, least)), tuple(shown))


def _fewer(bars: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """At most sixty bars: where there are more, neighbours stand together under the names of their first and their last."""
    if len(bars) <= MOST_BARS:
        return bars
    cuts = np.linspace(0, len(bars), MOST_BARS + 1).astype(int)
    parts = [bars[a:b] for a, b in itertools.pairwise(cuts)]
    return [(p[0][0] if len(p) == 1 else f"{p[0][0]} … {p[-1][0]}", sum(n for _, n in p)) for p in parts]


def pooled(bars: Sequence[int], least: int) -> list[int]:
    """Neighbours together until every bar has enough; what is left at the end joins the last.

    >>> pooled([1, 1, 3, 9, 2], 5), pooled([2, 1], 5), pooled([5, 4], 5)
    ([5, 11], [], [9])
    """
    out: list[int] = []
    held = 0
    for n in bars:
        held += n
        if held >= least:
            out.append(held)
            held = 0
    if out:
        out[-1] += held
    return out


def path(improvement: Improvement, levels: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """From raw to safe: how many people are in groups smaller than asked as one column after the other is generalized.

    Begins with ``("", n)`` for the table as it is; columns with most values come first. Nothing where people are in several
    classes: they cannot be added up then.
    """
    prepared, base = improvement.prepared, improvement.prepared.base
    if not adds_up(base):
        return ()
    least = max(improvement.policy.smallest_class, 2)
    wanted = improvement.checked(levels)
    codes = {name: at_level(prepared, base, name, 0)[0] for name in base.columns}
    moved = sorted((c for c in base.columns if wanted[c]), key=lambda c: -len(base.categories[base.column(c)]))
    steps = [("", _under(list(codes.values()), base.sizes, least))]
    for name in moved:
        codes[name] = at_level(prepared, base, name, wanted[name])[0]
        steps.append((name, _under(list(codes.values()), base.sizes, least)))
    return tuple(steps)


def _under(codes: Sequence[npt.NDArray[Any]], sizes: npt.NDArray[Any], least: int) -> int:
    groups = group_codes(list(codes))
    people = sum_by(groups.ids, sizes, groups.n)
    return int(people[people < least].sum())


ROWS = 5
"""Published rows that are shown."""
NAMED = 3
"""Values that are named of those that a published one stands for."""


def sample_rows(prepared: Prepared, shown: Shown | Decision, least: int, most: int = ROWS) -> list[dict[str, Any]]:
    """Rows as they would be published, from the largest to the smallest group of at least ``least``, and what they were."""
    pick = np.flatnonzero(shown.stays)
    groups = group_codes([codes[pick] for codes in shown.codes])
    sizes = sum_by(groups.ids, prepared.base.sizes[pick], groups.n)
    order = np.argsort(-sizes, kind="stable")[: int((sizes >= least).sum())]
    values = [[*labels, "missing"] for labels in shown.labels]  # code −1 is the last
    out = []
    for group in order[np.unique(np.linspace(0, len(order) - 1, most).astype(int))] if len(order) else ():
        at, members = pick[groups.first[group]], pick[groups.ids == group]
        row = [
            "missing" if (label := named[codes[at]]) is None else label for named, codes in zip(values, shown.codes, strict=True)
        ]
        before = [_before(prepared, name, label, members) for name, label in zip(prepared.quasi, row, strict=True)]
        out.append({"people": int(sizes[group]), "cells": list(zip(row, before, strict=True))})
    return out


def _before(prepared: Prepared, name: str, label: str | None, members: IntArray) -> str:
    """The values of a column that a published one stands for, in one group: those that enough people there have, never a row."""
    base, leaves = prepared.base, prepared.hierarchies[name].leaves
    codes = np.asarray(base.codes[base.column(name)])[members]
    people = np.bincount(codes[codes >= 0], weights=base.sizes[members][codes >= 0])
    common = [i for i in np.argsort(-people, kind="stable")[:NAMED] if people[i] >= prepared.policy.cells.minimum]
    rest = int((people > 0).sum()) - len(common)
    if not rest and [leaves[i] for i in common] in ([], [label]):
        return ""
    labels = ", ".join(str(leaves[i]) for i in common)
    return f"{labels} and {rest:,} more" if labels and rest else labels or f"{rest:,} values"


MOST = 3
MOST_TRIES = 40
MOST_LEFT_OUT = max(SHARES)
"""Share of the records left out above which a way is not offered."""


@dataclass(frozen=True)
class Way:
    """A change that works: another level of one column, or a larger share that may be left out; and what it would cost."""

    tried: Tried
    column: str = ""
    level: int = 0
    suppress: float = 0.0


def ways(improvement: Improvement, levels: Mapping[str, int]) -> list[Way]:
    """Up to three ways that work, the one that loses least first; none where the levels work as they are.

    Each column is generalized by itself until everything holds; and if only too many would be left out, leaving out that many
    (rounded up to a whole percent, at most :data:`MOST_LEFT_OUT`) is a way too.
    """
    now = improvement.at(levels)
    if now.met:
        return []
    ways_out: list[Way] = []
    tries = 0
    for column, top in improvement.highest.items():
        for level in range(now.levels[column] + 1, top + 1):
            tries += 1
            if tries > MOST_TRIES:
                break
            tried = improvement.at({**now.levels, column: level})
            if tried.met:
                ways_out.append(Way(tried, column, level))
                break
    ways_out.sort(key=lambda way: (way.tried.loss, way.column))
    if now.k is not None and now.left_out <= MOST_LEFT_OUT and now.loss_met and all(v.met for v in now.verdicts):
        ways_out = [*ways_out[: MOST - 1], Way(now, suppress=math.ceil(100 * now.left_out) / 100)]
    return ways_out[:MOST]


SIZES = (2, 3, 5, 10, 20, 50, 100)
"""Sizes of the smallest group besides the one that is asked for."""
CELLS = 1_000_000_000
"""Work of the search for each."""
MOST_BESIDE = 16
"""Plans that are tried beside each one found."""


@dataclass(frozen=True)
class NamedPlan:
    """A plan: the smallest group ``k`` it was searched for, its levels and what they cost. ``name`` is empty for most."""

    k: int
    levels: Mapping[str, int]
    loss: float
    suppressed: int
    records: int
    name: str = ""
    proven: bool = False
    smallest: int = 0
    """The smallest group that it makes, which may be larger than ``k``; 0 if that was not counted."""
    says: str = ""
    """What it does for the objective of the policy."""
    rows: Sequence[Mapping[str, Any]] = ()
    """Some published rows, if groups get values of their own: levels do not say what those are."""


@dataclass(frozen=True)
class Plans:
    """Plans by the size of the smallest group; ``offers`` says what could be asked instead, where nothing can be met."""

    asked: int
    plans: tuple[NamedPlan, ...]
    least: NamedPlan | None = None
    """What a release does if the policy fixes no level; ``levels`` is empty for local recoding."""
    tried: tuple[tuple[int, float], ...] = ()
    """Smallest group and loss of plans one level beside those found, which lose more."""
    offers: tuple[Mapping[str, Any], ...] = ()
    problem: str = ""
    hierarchies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The guessed levels that the numbers of the plans count, by column, as a policy states them."""

    def to_json(self) -> dict[str, object]:
        return {
            "asked": self.asked,
            "plans": [asdict(p) for p in self.plans],
            "least": None if self.least is None else asdict(self.least),
            "tried": [list(t) for t in self.tried],
            "offers": [dict(o) for o in self.offers],
            "problem": self.problem,
            "hierarchies": {c: dict(rule) for c, rule in self.hierarchies.items()},
        }


def find_plans(
    prepared: Prepared, *, locked: Sequence[str] = (), progress: Progress = silent, best: Callable[[Plans], None] | None = None
) -> Plans:
    """Search at the size asked first, then at others; ``best`` hears of every new plan, so that nobody waits for the last.

    Locked columns keep the level that the policy gives them.
    """
    policy = freed(prepared.policy, tuple(locked))
    smallest_class, most = max(policy.smallest_class, 2), prepared.base.n_members
    sizes = [smallest_class, *(k for k in SIZES if k != smallest_class and k <= most)]
    plans: list[NamedPlan] = []
    tried: list[tuple[int, float]] = []
    offers: tuple[Mapping[str, Any], ...] = ()
    problem, least = "", None
    progress(0.0, f"searching for groups of {smallest_class}")
    try:
        least = _least(prepared, policy)
    except ShoalError as error:
        problem, offers = error.message, tuple(asdict(o) for o in getattr(error, "alternatives", ()))
    for i, k in enumerate(sizes):
        progress(i / len(sizes), f"searching for groups of {k}")
        try:
            plan, near = _plan(prepared, policy, k), Improvement(replace(prepared, policy=_at_size(policy, k)))
            if any((p.levels, p.suppressed) == (plan.levels, plan.suppressed) for p in plans):
                continue  # that plan reaches this size, too
            plans.append(replace(plan, smallest=near.at(plan.levels).k or k))
            tried += _beside(near, plans[-1])
        except ShoalError as error:
            if k == smallest_class and least is None:
                problem = problem or error.message
        if best is not None:
            best(Plans(smallest_class, named(plans, smallest_class), least, tuple(tried), offers, problem, prepared.guessed))
    return Plans(smallest_class, named(plans, smallest_class), least, tuple(tried), offers, problem, prepared.guessed)


def _least(prepared: Prepared, policy: Policy) -> NamedPlan | None:
    """What a release of this policy does; None if it allots values, which sliders cannot show."""
    if policy.method == "probabilistic":
        return None
    decision = decide(replace(prepared, policy=policy))
    gone, sentences = decision.suppressed(prepared.base), " ".join(n for n in decision.notes if n.startswith("Objective: "))
    name = "best for its use" if policy.objective else "least loss" if policy.method == "best" else "as the policy says"
    levels = dict(decision.levels)
    smallest = int(facts_of_counts(decision.released, asked=()).k)
    plan = NamedPlan(policy.smallest_class, levels, float(decision.loss), gone, prepared.base.n_records, name, decision.proven)
    rows = () if levels else sample_rows(prepared, decision, policy.smallest_class)
    return replace(plan, smallest=smallest, says=sentences, rows=rows)


def _plan(prepared: Prepared, policy: Policy, k: int) -> NamedPlan:
    """The plan that loses least where every group has k; one that a release would refuse for what it loses is not offered."""
    decision = decide(replace(prepared, policy=_at_size(policy, k)), cells=CELLS)
    most = LOSS_LIMIT if policy.loss_limit is None else policy.loss_limit
    if decision.loss_name in ("loss", "ncp") and decision.loss > most:
        raise InfeasibleError(f"the best plan for groups of {k} loses more than {most:g} of 1.", hint="Ask for smaller groups.")
    gone, records = decision.suppressed(prepared.base), prepared.base.n_records
    return NamedPlan(k, dict(decision.levels), float(decision.loss), gone, records, proven=decision.proven)


def _at_size(policy: Policy, k: int) -> Policy:
    """The policy with another smallest group, and without limits to what is lost."""
    others = tuple(r for r in policy.requirements if not isinstance(r, K | MaxRisk))
    return replace(policy, requirements=(K(k), *others), method="lattice", loss_limit=1.0, blank_limit=1.0)


def _beside(near: Improvement, plan: NamedPlan) -> list[tuple[int, float]]:
    """The plans one level beside a plan that work too: what the search passed over, for the picture of it."""
    moves = [(c, n + d) for c, n in plan.levels.items() for d in (-1, 1) if near.levels[c] <= n + d <= near.highest[c]]
    tries = [near.at({**plan.levels, c: n}) for c, n in moves[:MOST_BESIDE]]
    return [(t.k, t.loss) for t in tries if t.met and t.k is not None]


def named(plans: Sequence[NamedPlan], asked: int) -> tuple[NamedPlan, ...]:
    """The plans in order of k; of those that meet the requirements, the finest, the safest and one between have names.

    Balanced is the plan that gains most safety (on a doubling scale) for the detail it gives up.

    >>> some = [NamedPlan(k, {}, loss, 0, 100) for k, loss in ((2, 0.1), (5, 0.2), (10, 0.25), (50, 0.9))]
    >>> [(p.k, p.name) for p in named(some, 5)]
    [(2, ''), (5, 'most detail'), (10, 'balanced'), (50, 'safest')]
    >>> [(p.k, p.name) for p in named(some[:2], 5)]
    [(2, ''), (5, 'most detail')]
    """
    ordered = sorted((replace(p, name="") for p in plans), key=lambda p: p.k)
    good = [p for p in ordered if p.k >= asked]
    if not good:
        return tuple(ordered)
    first, last = good[0], good[-1]
    names = {first.k: "most detail"}
    if last is not first:
        names[last.k] = "safest"
    if good[1:-1]:
        wide = math.log((last.smallest or last.k) / (first.smallest or first.k)) or 1.0
        deep = max(last.loss - first.loss, 1e-9)
        size = {p.k: (p.smallest or p.k) / (first.smallest or first.k) for p in good[1:-1]}
        gain = {p.k: math.log(size[p.k]) / wide - (p.loss - first.loss) / deep for p in good[1:-1]}
        names[max(gain, key=lambda k: (gain[k], -k))] = "balanced"
    return tuple(replace(p, name=names.get(p.k, "")) for p in ordered)

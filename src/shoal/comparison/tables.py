"""Compare an original table with its release: losses, distributions, models, analyses and the trade-off of k and loss."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.comparison import changes
from shoal.comparison.columns import Coded, ComparedColumn, compare_column, matched_rows, read_columns, trees_of
from shoal.comparison.models import answered, learned, scores
from shoal.comparison.result import Comparison, FrontierPoint
from shoal.engines.count.people import check_counts, count_people
from shoal.engines.table import Table
from shoal.errors import DataError, EmptyTableError, InfeasibleError, MissingColumnError, UsageError
from shoal.hierarchies import FromTree, Rule
from shoal.measures.utility.analyses import MOST_ROWS, AnalysisChange, ModelScore
from shoal.measures.utility.analyses import compare as run_analysis
from shoal.model.counts.classes import ClassCounts
from shoal.model.display import Progress
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.requirement import K
from shoal.release.plan.decide import MOST_LOCAL, decide
from shoal.release.plan.prepare import Prepared, guessed_again
from shoal.release.policy.policy import Policy
from shoal.search import frontier


@dataclass(frozen=True, eq=False, repr=False)
class Released:
    """A released table; of a release folder also its name, plan and roles."""

    table: Table
    name: str
    plan: Plan | None = None
    quasi: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()


def compare_tables(
    table: Table,
    released: Released,
    *,
    quasi: tuple[str, ...],
    sensitive: tuple[str, ...],
    target: tuple[str, ...],
    key: str | None,
    analyses: Sequence[str],
    hierarchies: Mapping[str, Any],
    models: bool,
    frontier: bool,
    seed: int,
    progress: Progress,
    count: str | None = None,
) -> Comparison:
    """Compute the comparison that :func:`shoal.compare` documents, for an opened table and its release."""
    asked = quasi or released.quasi or table.schema.quasi
    secret = sensitive or released.sensitive or table.schema.sensitive
    shared = [n for n in table.schema.names if n in released.table.schema and n not in (key, count)]
    _check(table, released.table, shared, key, count, {"quasi-identifier": asked, "target": target, "sensitive column": secret})
    progress(0.05, "reading")
    before, after = read_columns(table, shared, count), read_columns(released.table, shared, count)
    n, m = (len(side[shared[0]].codes) for side in (before, after))
    if not n or not m:
        raise EmptyTableError("a table without rows cannot be compared.", hint="Check both files.")
    trees = trees_of(hierarchies, before)
    columns = _compare_columns(table, released.plan, before, after, trees, seed)
    progress(0.4, "comparing")
    rows = matched_rows(table, released.table, key) if key is not None else None
    changed = tuple(changes.column_change(c, rows) for c in columns)
    private, notes = changes.private_changes(columns, secret)
    by_name = {c.name: c for c in columns}
    progress(0.6, "asking both")
    scored, why = _models(columns, target or tuple(s for s in secret if s in by_name), seed) if models else ([], [])
    tried, failed = _analyses(analyses, columns)
    classes = changes.class_change(by_name, asked, secret, max(0, n - m)) if asked else {}
    points, missing = tuple[FrontierPoint, ...](), "it was not asked for."
    if frontier:
        here = (classes["k"]["after"], classes["loss"]) if "loss" in classes else None
        points, missing = trade_off(table, asked, trees, max(0, n - m) / n, here, count)
    return Comparison(
        original=table.name,
        release=released.name,
        records=(n, m),
        columns=changed,
        not_published=tuple(c for c in table.schema.names if c not in released.table.schema and c != key),
        added=tuple(c for c in released.table.schema.names if c not in table.schema),
        overall=changes.overall_losses(columns, changed),
        pairs=tuple(changes.pair_changes(columns)),
        correlations=changes.correlation_change(columns),
        private=private,
        classes=classes,
        propensity=scores(columns, seed),
        queries=answered(columns, seed),
        analyses=tuple(tried),
        models=tuple(scored),
        frontier=points,
        frontier_why=missing,
        notes=(*_notes(columns, n, m, asked), *notes, *why, *failed),
    )


def _compare_columns(
    table: Table,
    plan: Plan | None,
    before: Mapping[str, Coded],
    after: Mapping[str, Coded],
    trees: Mapping[str, Hierarchy],
    seed: int,
) -> list[ComparedColumn]:
    """Each column that both tables have, in both."""
    rng, columns = np.random.default_rng(seed), []
    for name, one in before.items():
        steps, lost = () if plan is None else plan.for_column(name), max(0, len(one.codes) - len(after[name].codes))
        columns.append(
            compare_column(table.schema[name], one, after[name], steps=steps, tree=trees.get(name), lost=lost, rng=rng)
        )
    return columns


def _check(
    table: Table, other: Table, shared: Sequence[str], key: str | None, count: str | None, named: Mapping[str, Sequence[str]]
) -> None:
    if count is not None and key is not None:
        raise UsageError("a row of counts is not one record: it has no key.", hint="Leave out the key or the counts.")
    for side in (table, other) if count is not None else ():
        check_counts(side, str(count), tuple(name for names in named.values() for name in names))
    if not shared:
        hint = "Columns are matched by their names."
        raise DataError(f"tables '{table.name}' and '{other.name}' have no column in common.", hint=hint)
    for what, given in (*named.items(), ("key", () if key is None else (key,))):
        for name in given:
            table.schema.require(name, what=what)
            if what != "sensitive column":
                other.schema.require(name, what=what)


def _models(columns: Sequence[ComparedColumn], targets: Sequence[str], seed: int) -> tuple[list[ModelScore], list[str]]:
    """Scores per target, and in words why there are none."""
    if not targets:
        return [], ["No model was trained: name a --target."]
    if importlib.util.find_spec("sklearn") is None:
        return [], ["No model was trained: scikit-learn is not installed (pip install scikit-learn)."]
    out: list[ModelScore] = []
    notes = []
    by_name = {c.name: c for c in columns}
    for name in targets:
        scores = learned(columns, by_name[name], seed)
        out += scores
        if not scores:
            notes.append(f"No model of '{name}' was trained: its labels cannot be read, or no other column is left.")
    if out and len(columns[0].leaf) > MOST_ROWS:
        notes.append(f"Models were trained on a draw of {MOST_ROWS:,} records.")
    if out and any(not c.is_exact for c in columns if c.before is not None):
        notes.append(
            "Some columns were recoded locally or changed: models of the release may have seen records that they are tested on."
        )
    return out, notes


def _analyses(asked: Sequence[str], columns: Sequence[ComparedColumn]) -> tuple[list[AnalysisChange], list[str]]:
    """The named analyses, and those that the release does not allow any more, in words."""
    analyses, notes = [], []
    for analysis in asked:
        table = analysis.partition(":")[0] == "table"
        one: dict[str, Any] = {}
        two: dict[str, Any] = {}
        for c in columns:
            if table and c.before is not None and c.after is not None:
                one[c.name], two[c.name] = c.before, c.after
            elif not table and c.numbers is not None:
                one[c.name], two[c.name] = c.numbers
        try:
            analyses.append(run_analysis(analysis, one, two))
        except MissingColumnError as error:
            named = getattr(error, "column", "")
            if any(c.name == named and c.kind in ("blank", "not readable") for c in columns):
                notes.append(f"{analysis} cannot be computed any more: '{named}' tells nothing, or cannot be read.")
                continue
            what = "be in both tables" if table else "be in both tables and hold numbers"
            raise UsageError(f"an analysis cannot be run: {error.message}", hint=f"Its columns must {what}.") from None
        except DataError as error:
            notes.append(f"{analysis} cannot be computed any more: {error.message}")
    return analyses, notes


def _notes(columns: Sequence[ComparedColumn], n: int, m: int, quasi: Sequence[str]) -> list[str]:
    notes = []
    for c in columns:
        if c.kind == "not readable":
            labels = (
                f"'{c.name}': {c.unread:,} labels ({c.unread_records:,} records) are not groups of original values that Shoal"
            )
            notes.append(f"{labels} can read; name a hierarchy (--hierarchy {c.name}=FILE).")
    if any(c.kind == "recoded locally" for c in columns):
        notes.append("Groups that overlap are compared at the original detail, with one value drawn from each group.")
    if any(c.kind == "changed numbers" for c in columns):
        notes.append("Changed numbers are not groups of original values: they have distances, not losses.")
    if m > n:
        notes.append("The release has more records than the original; losses are over its own.")
    if not quasi:
        notes.append("No quasi-identifiers are named: numbers over classes are left out (--quasi a,b).")
    notes.append("Exact numbers of the original stand here: share this with people who may see the original.")
    return notes


KS = (2, 3, 5, 10, 20, 50)
SECONDS = 15.0
"""Time that the search for one level per column may take; what it found by then is shown."""
PLANNED, EACH, BLOCK = 400_000_000, 10_000_000, 4096
"""Work of the planner for all k: classes × columns × classes that each is compared with, at most ``BLOCK``, and for each column
besides. It is counted, not timed: the same tables have the same curve on every machine. It is asked about one k at least."""
MOST_CLASSES = 300_000
"""Classes of the original up to which the curve is drawn; the planner is asked up to :data:`MOST_LOCAL`."""


def trade_off(
    table: Table,
    quasi: Sequence[str],
    trees: Mapping[str, Hierarchy],
    suppress: float,
    release: tuple[int, float] | None = None,
    count: str | None = None,
) -> tuple[tuple[FrontierPoint, ...], str]:
    """The least loss found at each k, as :data:`SCOPE` states, and in words what is missing of it.

    ``release`` is the k and the loss of the release itself, which is one of the plans; the planner is asked about the k nearest
    to it first.
    """
    if not quasi:
        return (), "no quasi-identifiers are named (--quasi a,b), so no k can be chosen."
    counts = table.count(tuple(quasi)) if count is None else count_people(table, tuple(quasi), count)
    if counts.n_classes > MOST_CLASSES:
        return (), f"the original has {counts.n_classes:,} classes; it is drawn up to {MOST_CLASSES:,}."
    prepared = _with_levels(table, counts, trees, suppress)
    ks = [k for k in KS if k <= counts.n_members]
    n, here = counts.n_classes, 0 if release is None else release[0]
    planned = 0 if n > MOST_LOCAL else max(1, PLANNED // (len(quasi) * (n * min(n, BLOCK) + EACH)))
    nearest, tried = sorted(ks, key=lambda k: (abs(k - here), k)), list[FrontierPoint]()
    late = nearest[planned:]
    for k in nearest[:planned]:
        with contextlib.suppress(InfeasibleError):
            made = decide(_at_k(prepared, k))
            tried.append(FrontierPoint(k, float(made.loss), made.method))
    if late:
        levels = _at_k(prepared, min(late)).hierarchies
        best = frontier(counts, levels, ks=sorted(late), suppress=(suppress,), time_budget=SECONDS)
        tried += [FrontierPoint(p.k, p.loss) for p in best if p.loss is not None]
    tried += [] if release is None else [FrontierPoint(release[0], release[1], "release")]
    points = least_at_each(tried, ks)
    if len(points) < len(ks):
        return points, f"no plan was found for k = {next(k for k in ks if k not in {p.k for p in points}):,}."
    size = f"the original has {n:,} classes of {len(quasi)} columns"
    only = f"only one level per column was searched for k = {', '.join(map(str, sorted(late)))}: {size}."
    return points, only if late else ""


def _with_levels(table: Table, counts: ClassCounts, trees: Mapping[str, Hierarchy], suppress: float) -> Prepared:
    """The counts as a release with as many records left out takes them, with the levels that are given."""
    allow = {"suppress": suppress, "loss": 1, "blank": 1}
    policy = Policy.of(quasi=list(counts.columns), rest="drop", k=min(KS), allow=allow).completed(table.schema)
    rules: dict[str, Rule] = {c: FromTree(_rows(trees[c])) for c in counts.columns if c in trees}
    quasi = {c: replace(r, hierarchy="given") if c in rules else r for c, r in policy.quasi.items()}
    given = {c: rule.over(c, counts.categories[counts.column(c)]) for c, rule in rules.items()}
    return Prepared(table, table.schema, replace(policy, quasi=quasi), counts, rules, given)


def _rows(tree: Hierarchy) -> tuple[tuple[str, ...], ...]:
    levels = [[level.labels[g] for g in level.groups] for level in tree.levels]
    return tuple(zip(*levels, strict=True))


def _at_k(prepared: Prepared, k: int) -> Prepared:
    return guessed_again(prepared, replace(prepared.policy, requirements=(K(k),)))


def least_at_each(tried: Sequence[FrontierPoint], ks: Sequence[int]) -> tuple[FrontierPoint, ...]:
    """The least loss at each k: a plan for a larger group is one for a smaller group too.

    >>> tried = [FrontierPoint(2, 0.5), FrontierPoint(5, 1.0), FrontierPoint(6, 0.3, "local")]
    >>> [(p.k, p.loss, p.method) for p in least_at_each(tried, (2, 5, 10))]
    [(2, 0.3, 'local'), (5, 0.3, 'local')]
    """
    fits = {k: [p for p in tried if p.k >= k] for k in ks}
    best = {k: min(some, key=lambda p: p.loss) for k, some in fits.items() if some}
    return tuple(FrontierPoint(k, p.loss, p.method) for k, p in best.items())

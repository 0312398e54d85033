"""A plan made earlier, checked on these data as if it had been searched: each column has one level, the plan's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from shoal.errors import InfeasibleError, PolicyError
from shoal.hierarchies.rule import Rule
from shoal.hierarchies.values import texts_of
from shoal.model.display import Progress, written
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import SUPPRESSED, Plan, RowStep, Step
from shoal.model.requirement import PopulationK
from shoal.release.plan.methods import shortfalls, with_notes
from shoal.release.plan.prepare import Prepared, requirements
from shoal.release.plan.published_classes import Decision, of_levels
from shoal.steps import Drop, Keep, evaluate


def probabilistic(prepared: Prepared, progress: Progress) -> Decision:
    """Values per column from the size of the population, as many as give the classes of the table the size they need."""
    from shoal.search import allocation

    policy = prepared.policy
    population_k = next((r for r in policy.requirements if isinstance(r, PopulationK)), None)
    people, k, beta = policy.population, max(policy.smallest_class, 2), 0.1
    if population_k is not None:
        people, k, beta = population_k.population, population_k.k, population_k.beta
    elif people is None:
        hint = "Write population: 17500000."
        raise PolicyError("method: probabilistic needs the number of people in the population.", hint=hint)
    for people_each in (k << fewer for fewer in range(people.bit_length()) if k << fewer <= people):
        groups = allocation(
            prepared.base,
            population=people,
            k=people_each,
            beta=beta,
            weights=policy.importance,
            hierarchies={c: prepared.hierarchies[c] for c, r in policy.quasi.items() if r.hierarchy is not None},
        )
        note = f"Values per column were allotted for {people:,} people, {people_each:,} in a cell: {groups.cells:,} cells."
        try:
            return given_plan(prepared, Plan(groups.steps), progress, "probabilistic", note)
        except InfeasibleError:
            continue  # cells of more people have more records of the table too
    one = f"To require {k:,} people of the population instead, write require: {{population_k: {{k: {k}, of: {people}}}}}. "
    raise InfeasibleError(
        f"no values allotted for {people:,} people give these {int(prepared.base.n_records):,} records classes of "
        f"{policy.smallest_class:,}, counted in the written file, with at most {written(policy.suppress, 3)} of them suppressed.",
        hint=f"{one if population_k is None else ''}Leave out method: probabilistic, so that a plan is searched for.",
    )


def given_plan(prepared: Prepared, plan: Plan, progress: Progress, method: str, note: str) -> Decision:
    """A plan made earlier, on these data: each column has one level, the plan's; everything is checked again."""
    from shoal.search import lattice

    if prepared.population is not None:
        hint = "Let a plan be searched for these data."
        raise PolicyError("a population table cannot be used with a plan made earlier.", hint=hint)
    held, bounds = fixed(prepared, plan)
    policy = prepared.policy
    if policy.sample is None and any(isinstance(s, RowStep) for s in plan.steps):
        hint = "Write 'sample: {share: 0.1}' into the policy."
        raise PolicyError("the plan draws a sample; the policy asks for none.", hint=hint)
    result = lattice(
        held.base,
        held.hierarchies,
        requirements(held),
        suppress=policy.suppress,
        loss=policy.optimize,
        weights=policy.importance,
        bounds=bounds,
        people=held.people,
        progress=lambda done, what: progress(0.25 + 0.3 * done, what),
    )
    decision = of_levels(held, result.levels, result)
    unmet = shortfalls(held, decision)
    if unmet:
        raise InfeasibleError(
            f"on these data the plan does not meet a requirement: {unmet[0].sentence}; found {unmet[0].found}.",
            hint="Allow more suppression, or let a plan be searched for these data (method: lattice, without --plan).",
        )
    steps = tuple(s for s in plan.steps if s.column in policy.quasi)
    kept = {s.column for s in steps}
    steps += tuple(s for s in decision.plan.steps if s.column not in kept)
    written = Plan(steps, decision.plan.suppression, policy.seed, notes=(*plan.notes, method))
    return with_notes(replace(decision, plan=written, method=method, levels={}), (note,), proven=False)


NOBODY = "\x00no such value"


@dataclass(frozen=True)
class _Given(Rule):
    """Level 0 is the value, level 1 what the plan publishes."""

    given: Any = None
    kind: ClassVar[str] = "given"

    @property
    def inner(self) -> int:
        return 1

    def step(self, column: str, level: int, *, missing_label: str | None = None) -> Step:
        return Keep(column) if level == 0 else self.given


def fixed(prepared: Prepared, plan: Plan) -> tuple[Prepared, dict[str, tuple[int | None, int | None]]]:
    """The prepared table with the plan's one level per column, and the bounds that hold it there."""
    rules: dict[str, Rule] = {}
    hierarchies: dict[str, Hierarchy] = {}
    bounds: dict[str, tuple[int | None, int | None]] = {}
    if not any(plan.for_column(name) for name in prepared.base.columns):
        raise PolicyError(
            "the plan has no step for any quasi-identifier: local recoding fits its cells to the records of one table.",
            hint="Make the first release with method: lattice (one level per column); its plan can be used again.",
        )
    for j, name in enumerate(prepared.base.columns):
        steps = plan.for_column(name)
        if len(steps) != 1 or isinstance(steps[0], Drop):
            what = f"the plan has {len(steps)} steps that publish quasi-identifier '{name}'; one is needed."
            raise PolicyError(what, hint="Use the plan of a release with the same quasi-identifiers.")
        rules[name] = _Given(steps[0])
        hierarchies[name] = _one_level(name, steps[0], prepared.base.categories[j])
        level = 0 if isinstance(steps[0], Keep) else 1
        bounds[name] = (level, level)
    return replace(prepared, rules=rules, hierarchies=hierarchies, inferred={}), bounds


def _one_level(name: str, step: Step, values: Any) -> Hierarchy:
    texts = texts_of(name, values)
    if isinstance(step, Keep):
        labels = list(texts)
    elif hasattr(step, "label"):
        labels = [str(step.label(t)) for t in texts]
    else:
        coarse = evaluate(step, texts)
        labels = [coarse.labels[i] for i in coarse.index]
    rows = [[t, label] for t, label in zip(texts, labels, strict=True)]
    if getattr(step, "missing_label", None) is None and set(labels) <= {SUPPRESSED}:
        rows.append([NOBODY, NOBODY])  # a single group '*' would take the missing values in, which this step leaves missing
    return Hierarchy.from_rows(name, rows or [[SUPPRESSED, SUPPRESSED]])

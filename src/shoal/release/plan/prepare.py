"""From a table and a policy to what a search needs: roles, base classes, rules, hierarchies, requirements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.disk.atomic import scratch
from shoal.errors import EmptyTableError, InternalError, PolicyError
from shoal.find import ColumnFacts, ColumnFinding, find_column
from shoal.find.finding import measured_scale
from shoal.kernels.arrow import from_numpy, is_missing
from shoal.kernels.codes import label_texts
from shoal.kernels.matches import smallest_for, width
from shoal.kernels.text import canonical_text
from shoal.measures.classes.closeness import need_order
from shoal.model.counts.classes import ClassCounts, IntArray
from shoal.model.display import Progress, silent
from shoal.model.plan import Plan
from shoal.model.requirement import K, PopulationK, Requirement, TCloseness, ordered
from shoal.model.roles import NUMBERS, Column, Schema
from shoal.release.gate.column_facts import ColumnReader, found_roles, role_evidence
from shoal.release.gate.count_facts import Drawn, as_read, check_sample, count_population, population_counts, sensitive_trees
from shoal.release.gate.identifying import check_identifying, check_ids, check_insensitive
from shoal.release.gate.safe_harbor import OnList, class_columns, with_groups
from shoal.release.plan.coarser_start import Coarser, Values, began, crowd, require_coarser, values_of
from shoal.release.policy.policy import Policy
from shoal.steps import Drop

if TYPE_CHECKING:
    from shoal.engines.table import Table
    from shoal.hierarchies.rule import Rule
    from shoal.model.hierarchy import Hierarchy


LEVELS_GUESSED = "min_level and max_level count levels that were guessed for these data and this k: state the hierarchy too"
"""What is reported if a policy gives level numbers without the levels they refer to."""
LOOKED_AT = 10_000
"""Distinct values of a column that are looked at to tell what they are, evenly spread over all."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table counted once, and everything that follows from policy and counts before a search.

    ``by_record`` holds the same base classes counted by records, where people are the unit and a requirement is about the
    sensitive values: both counts must then hold. ``sampled`` holds the quasi-identifiers, sensitive columns and unit of the
    records of the sample, where the policy asks for one: what is decided, suppressed and proven is about them. ``people`` holds
    the base class and the person of every class a person is in, where some are in several: sizes do not add up then.
    """

    table: Table
    schema: Schema
    policy: Policy
    base: ClassCounts
    rules: Mapping[str, Rule]
    hierarchies: Mapping[str, Hierarchy]
    _: KW_ONLY
    by_record: ClassCounts | None = None
    trees: Mapping[str, Hierarchy] = field(default_factory=dict)
    inferred: Mapping[str, str] = field(default_factory=dict)
    sampled: Table | None = None
    people: tuple[IntArray, IntArray] | None = None
    population: ClassCounts | None = None
    population_from: str = ""
    """Where the number of people of ``population_k`` is from, if not from the policy."""
    on_list: Mapping[str, OnList] = field(default_factory=dict)
    """Every column held against the list of identifiers, where the preset is one."""
    coarser: Coarser | None = None
    """Where counting began, if the classes were too many at the levels that the policy asks for."""
    columns: ColumnReader | None = None
    """The columns of the table as they were looked at; read again if None."""

    @property
    def reader(self) -> ColumnReader:
        """The columns of the table as the finder takes them."""
        return ColumnReader(self.table) if self.columns is None else self.columns

    @property
    def quasi(self) -> tuple[str, ...]:
        return self.base.columns

    @property
    def guessed(self) -> dict[str, dict[str, Any]]:
        """The levels that were guessed, as a policy states them: with them written down, level numbers keep their meaning."""
        return {name: {**self.rules[name].to_json(), "why": self.rules[name].why or why} for name, why in self.inferred.items()}

    @property
    def orders(self) -> dict[str, tuple[str, ...]]:
        """Sensitive columns whose values have an order, from low to high."""
        return {name: inside.order for name, inside in self.base.sensitive.items() if inside.order}

    @property
    def searched(self) -> ClassCounts:
        """The base classes as a search counts them: spellings of one value are one, as in the proof."""
        return as_read(self.base, self.policy.requirements, {c: self.schema[c].labels for c in self.base.sensitive})

    def lowest(self, name: str) -> int:
        """The lowest level of a column that the base classes tell apart."""
        return 0 if self.coarser is None else self.coarser.levels[name]

    def values(self, name: str) -> Any:
        """All values of a quasi-identifier, without the missing one."""
        return self.base.categories[self.base.column(name)] if self.coarser is None else self.coarser.values[name][0]

    def n_values(self, name: str) -> int:
        """How many different values a quasi-identifier has, a missing one among them."""
        if self.coarser is None:
            return int(np.count_nonzero(self.members(name)))
        return len(self.coarser.values[name][0]) + (name in self.coarser.missing)

    def members(self, name: str) -> IntArray:
        """Members of the base classes with each value of a quasi-identifier, those without one first; added up once."""
        known: dict[str, IntArray] = self.__dict__.setdefault("_members", {})
        if name not in known:
            j = self.base.column(name)
            many = len(self.base.categories[j]) + 1
            known[name] = np.bincount(self.base.codes[j] + 1, weights=self.base.sizes, minlength=many).astype(np.int64)
        return known[name]

    @property
    def drawn(self) -> Drawn:
        """The table as a sample of a population."""
        people = None if self.policy.unit is None else self.base.n_people or self.base.n_members
        return Drawn(self.base.n_records, people, width(h.height for h in self.hierarchies.values()))

    @property
    def counted(self) -> Table:
        """The records that are counted: the sample, where one is drawn, else the table."""
        return self.sampled if self.sampled is not None else self.table


def requirements(prepared: Prepared, tightened: Mapping[str, float] | None = None) -> list[Requirement]:
    """The policy's requirements as the search takes them; ``tightened`` holds stricter limits, by name of the requirement.

    k and the largest risks are one class size. A hierarchical distance gets its hierarchy; an ordered one needs an order.
    """
    policy, tight = prepared.policy, tightened or {}
    smallest = max(policy.smallest_class, int(tight.get("k", 0)))
    out: list[Requirement] = [K(smallest)] if smallest >= 2 else []
    for r in policy.requirements:
        if r.class_sizes(has_population=False)[0] or r.on_file:
            continue
        if r.needs_order and r.sensitive is not None:
            need_order(prepared.base, r.sensitive)
        stricter = replace(r, **{r.bound: tight.get(r.name, r.limit)}) if r.name in tight else r
        out.append(
            replace(stricter, hierarchy=prepared.trees.get(stricter.column)) if isinstance(stricter, TCloseness) else stricter
        )
    return out


def prepare(
    table: Table, policy: Policy, *, progress: Progress = silent, begin_coarser: bool = False, to_try: bool = False
) -> Prepared:
    """Count the base classes and build the hierarchies.

    Where an engine limits the classes that leave it and there are more, counting begins at higher levels, if that is allowed.
    Plans that are only tried (``to_try``) need the sensitive values that a requirement limits, and no others.
    """
    table = table.described(scale=policy.scale, order=policy.order, missing_values=policy.missing_values).for_one_run()
    policy, population_from = count_population(policy.completed(table.schema))
    policy.check_transforms()
    schema = policy.apply(table.schema, evidence=lambda left: role_evidence(found_roles(ColumnReader(table), left)))
    progress(0.02, "counting the classes")
    quasi = tuple(policy.quasi)
    sampled = _sampled_columns(table, policy)
    counted = sampled if sampled is not None else table
    crowded, base = crowd(counted, policy), None
    listed: Values = {}
    lacking: frozenset[str] = frozenset()
    if crowded is None:
        limited = {r.sensitive for r in policy.requirements}
        inside = tuple(c for c in policy.sensitive if not to_try or c in limited)
        base = counted.count(quasi, sensitive=inside, unit=policy.unit, weight=policy.weight)
        if base.n_records == 0:
            raise EmptyTableError("the table has no rows.", hint="Check the file or the filter.")
    else:
        require_coarser(policy, crowded, allowed=begin_coarser)
        listed, lacking = values_of(counted, policy, crowded[1])
    progress(0.15, "looking at the columns that stay as they are")
    columns = ColumnReader(table, base if sampled is None else None)
    on_list = class_columns(table, policy, columns)
    _check_columns(table, policy, columns, on_list)
    policy, by_list = with_groups(policy, on_list, schema)
    progress(0.2, "building the hierarchies")
    population = _population(policy, quasi)
    rules, hierarchies, inferred = {}, {}, {}
    for j, name in enumerate(quasi):
        values = listed[name] if base is None else _counted_values(base, j)
        rule, built, why = _hierarchy(policy, schema, name, values, table if sampled is not None else None, population)
        rules[name], hierarchies[name] = rule, built
        if why or name in by_list:
            inferred[name] = why or by_list[name]
    coarser = None
    if base is None:
        assert crowded is not None
        progress(0.22, "counting the classes at higher levels")
        coarser, base, policy = began(counted, policy, hierarchies, listed, lacking, crowded)
    return Prepared(
        table,
        schema,
        _with_class_size(policy, base, hierarchies),
        base,
        rules,
        hierarchies,
        by_record=_by_record(counted, policy, base),
        trees=sensitive_trees(policy, base),
        inferred=inferred,
        sampled=sampled,
        people=_people(counted, policy, base),
        population=population,
        population_from=population_from,
        on_list=on_list,
        coarser=coarser,
        columns=columns,
    )


def _check_columns(table: Table, policy: Policy, columns: ColumnReader, on_list: Mapping[str, OnList]) -> None:
    """Refuse columns that stay as they are and name people, or that are not what the policy calls them."""
    judged = [name for name, one in on_list.items() if one.classed.item is not None]
    check_identifying(table, policy, judged=judged, columns=columns)
    check_insensitive(columns, policy)
    if policy.unit is not None:
        check_ids(columns, policy.unit, table.schema[policy.unit].kind, table.most_rows())


def _with_class_size(policy: Policy, base: ClassCounts, hierarchies: Mapping[str, Hierarchy]) -> Policy:
    """The policy with the k that matches in a population require of this table, whichever plan is chosen."""
    k, members = policy.k, base.n_people or base.n_members
    for r in policy.requirements:
        if isinstance(r, PopulationK):
            check_sample(policy, r, members)
            chance = r.beta * (1 - policy.suppress) / width(h.height for h in hierarchies.values())
            k = max(k, smallest_for(r.k, members, r.population, chance))
    others = [r for r in policy.requirements if not isinstance(r, K)]
    return policy if k == policy.k else replace(policy, requirements=ordered([K(k), *others]))


def _sampled_columns(table: Table, policy: Policy) -> Table | None:
    """The columns that are counted, of the records that RECODE will draw under the same seed; in memory."""
    if policy.sample is None:
        return None

    import pyarrow.parquet as pq

    from shoal.engines.open import open as opened
    from shoal.techniques.perturb.sampling import Sample

    needed = {*policy.quasi, *policy.sensitive, *(c for c in (policy.unit, policy.weight) if c)}
    steps = (Sample(share=policy.sample, unit=policy.unit), *(Drop(c) for c in table.schema.names if c not in needed))
    with scratch() as place:
        done = table.recode(Plan(steps, seed=policy.seed), place / "sample.parquet")
        rows = pq.read_table(done.path)
    if rows.num_rows == 0 < done.records_in:
        hint = "Ask for a larger share under 'sample'."
        raise EmptyTableError(f"the sample holds none of the {done.records_in:,} records.", hint=hint)
    orders = {c: order for c in needed if (order := table.schema[c].order)}
    return opened(rows, unit=policy.unit, weight=policy.weight, name=table.name).described(order=orders)


def _by_record(table: Table, policy: Policy, base: ClassCounts) -> ClassCounts | None:
    """The base classes with records, not people, counted inside them, if the sensitive values have requirements."""
    if policy.unit is None or not any(r.sensitive for r in policy.requirements):
        return None
    return _records(table, policy, base)


def _people(table: Table, policy: Policy, base: ClassCounts) -> tuple[IntArray, IntArray] | None:
    """Base class and person of every class a person is in, where some people are in several; None where nobody is."""
    from shoal.kernels.group import group_codes

    if policy.unit is None or base.n_people is None or base.n_people == base.n_members:
        return None
    pairs = table.without_unit().count((*base.columns, policy.unit))
    if any(not a.equals(b) for a, b in zip(pairs.categories, base.categories, strict=False)):
        raise InternalError("the values counted with the people differ from those counted without.")
    both = group_codes([np.concatenate(two) for two in zip(base.codes, pairs.codes, strict=False)])
    person = np.asarray(pairs.codes[-1], dtype=np.int64)
    person = np.where(person < 0, len(pairs.categories[-1]), person)  # rows without one count as one person, as COUNT does
    class_of = np.full(both.n, -1, dtype=np.int64)
    class_of[both.ids[: base.n_classes]] = np.arange(base.n_classes)
    return class_of[both.ids[base.n_classes :]], person


def counted_by_record(prepared: Prepared) -> ClassCounts:
    """The base classes with records counted inside them; counted now, where people were."""
    if prepared.policy.unit is None:
        return prepared.base
    return prepared.by_record or _records(prepared.counted, prepared.policy, prepared.base)


def _records(table: Table, policy: Policy, base: ClassCounts) -> ClassCounts:
    counted = table.without_unit().count(base.columns, sensitive=tuple(policy.sensitive), weight=policy.weight)
    if any(not np.array_equal(a, b) for a, b in zip(counted.codes, base.codes, strict=True)):
        raise InternalError("the base classes counted by records differ from those counted by people.")
    return counted


def _population(policy: Policy, quasi: tuple[str, ...]) -> ClassCounts | None:
    counts = population_counts(policy, quasi)
    if counts is not None and policy.method not in ("best", "lattice"):
        raise PolicyError(f"a population table cannot be used with method: {policy.method}.", hint="Use method: lattice.")
    return counts


def _counted_values(base: ClassCounts, j: int) -> tuple[Any, IntArray]:
    """The values of a column of the base classes, and the records that hold each."""
    values, records = base.categories[j], base.records_by_class
    held = np.bincount(base.codes[j] + 1, weights=records, minlength=len(values) + 1)  # the missing value first
    return values, held[1:].astype(np.int64)


def _hierarchy(
    policy: Policy, schema: Schema, name: str, counted: tuple[Any, IntArray], whole: Table | None, population: ClassCounts | None
) -> tuple[Rule, Hierarchy, str]:
    """The fitted rule of a column, its levels over the values at hand and, where it was guessed, why.

    Of a sample's ``whole`` table all values are looked at, so that the rule covers every record that RECODE reads; of the
    population too, so that its people have a class.
    """
    from shoal.hierarchies import from_policy
    from shoal.hierarchies.builders.infer import Apart

    values, counts = counted
    given: Any = policy.quasi[name].hierarchy
    seen, times = (values, counts) if whole is None else _present(*whole.values(name))
    if population is not None:
        other = population.categories[population.column(name)]
        seen, times = _with_others(name, seen, times, other)
        values, counts = _with_others(name, values, counts, other)
    if given is None:
        rule = guessed_rule(schema[name], seen, times, k=max(policy.smallest_class, policy.cells.minimum))
        bounds = policy.quasi[name].min_level, policy.quasi[name].max_level
        numbers = "" if bounds == (None, None) else f"; {LEVELS_GUESSED}"
        return rule, rule.over(name, values, counts), f"{rule.why}{numbers}"
    rule = Apart.fitted(from_policy(given, policy.folder or "."), name, seen, times, schema[name].user_missing)
    return rule, rule.over(name, values, counts), str(given.get("why", "")) if isinstance(given, Mapping) else ""


def guessed_again(prepared: Prepared, policy: Policy) -> Prepared:
    """The same counts with the levels that are guessed for another policy; as they are if counting began at higher levels."""
    rules, hierarchies = dict(prepared.rules), dict(prepared.hierarchies)
    whole = None if prepared.sampled is None else prepared.table
    for j, name in enumerate(prepared.quasi if prepared.coarser is None else ()):
        if policy.quasi[name].hierarchy is None:
            counted = _counted_values(prepared.base, j)
            rules[name], hierarchies[name], _ = _hierarchy(policy, prepared.schema, name, counted, whole, prepared.population)
    return replace(prepared, policy=policy, rules=rules, hierarchies=hierarchies)


def guessed_rule(column: Column, values: Any, counts: Any, *, k: int) -> Rule:
    """The rule of a column without settings, from its values."""
    from shoal.hierarchies import infer

    rule = _find_kind(column, values, counts)
    return infer(column, values, counts, k=k, scale=_scale(column, rule), order=rule.order, topic=rule.topic)


def _find_kind(column: Column, values: Any, counts: Any) -> ColumnFinding:
    """What the values of a column are, from at most :data:`LOOKED_AT` of them: levels follow from it."""
    picked = np.linspace(0, len(values) - 1, min(len(values), LOOKED_AT)).astype(np.int64)
    texts = [str(t) for t in canonical_text(values.take(from_numpy(picked))).to_pylist()]
    labels = label_texts(column)
    sizes = np.asarray(counts)[picked]
    facts = ColumnFacts(
        *(column.name, column.kind, texts, sizes, int(sizes.sum()), 0, len(values), column.note, labels),
        declared_order=column.order,
        declared_scale=measured_scale(column),
        said_scale=column.scale,
    )
    return find_column(facts)


def _scale(column: Column, finding: ColumnFinding) -> str:
    """The scale that levels follow. A number that only looks like a key because all rows differ is an amount."""
    alike = finding.topic in ("all_different", "record_number") and column.kind in NUMBERS
    return "number" if not column.scale and alike else finding.scale.value


def _with_others(name: str, values: Any, counts: Any, other: Any) -> tuple[Any, Any]:
    """Values with those of the population that are not among them, which have no record."""
    try:
        mine = other.cast(values.type)
    except pa.ArrowException:
        hint = "Write both in the same way."
        raise PolicyError(f"column '{name}' of the population table has another type than in the table.", hint=hint) from None
    more = mine.filter(pc.invert(pc.is_in(mine, value_set=values)))
    return pa.concat_arrays([values, more]), np.concatenate([counts, np.zeros(len(more), dtype=np.int64)])


def _present(values: Any, counts: Any) -> tuple[Any, Any]:
    """Values that are not missing, and their records."""
    return values.drop_null(), counts[~is_missing(values)]

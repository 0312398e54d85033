"""Figures: every number of a table, from its counts; checked, explained, as a sentence and as JSON.

Takes    ClassCounts (and, when there are any, population sizes)
Keeps    no data value: column names, counts and shares only
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING, Any

from shoal.errors import InternalError
from shoal.kernels.group import Memberships, project
from shoal.measures.classes import anonymity, closeness, diversity, entropy_risk, individual, risk
from shoal.measures.classes.diversity import profile, whole_diversity
from shoal.measures.classes.missing import Crowds, crowds, drop_missing, people_with_missing, under_all_policies
from shoal.measures.classes.risk import Presence
from shoal.measures.metrics import derived_number, derived_numbers, lookup
from shoal.measures.subsets import column_sets
from shoal.measures.utility import class_losses
from shoal.model.counts.classes import ClassCounts
from shoal.model.display import inert, one_in, written
from shoal.model.estimate import Estimate
from shoal.model.hierarchy import Hierarchy
from shoal.model.roles import MissingPolicy

if TYPE_CHECKING:
    from shoal.measures.result.checking import Verdicts
    from shoal.measures.subsets.suda import Suda
    from shoal.model.requirement import Verdict


@dataclass(frozen=True)
class Attacker:
    """Risk under one attacker."""

    max: float
    mean: float
    above: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        out: dict[str, Any] = {"max": self.max, "mean": self.mean}
        return out | ({"above": dict(self.above)} if self.above else {})


@dataclass(frozen=True)
class Risk:
    """Risk under the three attackers; ``basis`` says what journalist and marketer were compared with."""

    prosecutor: Attacker
    journalist: Attacker
    marketer: float
    basis: str

    @property
    def max(self) -> float:
        """The highest of all: the prosecutor's."""
        return self.prosecutor.max

    @property
    def average(self) -> float:
        """The mean over all records: the prosecutor's."""
        return self.prosecutor.mean

    def to_json(self) -> dict[str, object]:
        return {
            "prosecutor": self.prosecutor.to_json(),
            "journalist": self.journalist.to_json(),
            "marketer": self.marketer,
            "basis": self.basis,
        }


@dataclass(frozen=True)
class WholeSet:
    """People by the whole set of their records: how many share it with nobody, and the fewest who share one."""

    unique: int
    unique_share: float
    k: int

    def to_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class Diversity:
    """Diversity of one sensitive column."""

    distinct: int
    entropy: float
    recursive: int
    c: float
    least_c: Mapping[int, float]
    alpha: float

    def to_json(self) -> dict[str, object]:
        return {
            "distinct": self.distinct,
            "entropy": self.entropy,
            "entropy_whole": whole_diversity(self.entropy),
            "recursive": {"c": self.c, "l": self.recursive, "least_c": {str(k): v for k, v in self.least_c.items()}},
            "alpha": self.alpha,
        }


@dataclass(frozen=True)
class Closeness:
    """Closeness of one sensitive column. Infinite numbers are written as null in JSON and named in ``infinite``."""

    t: float
    distance: str
    delta_disclosure: float
    delta_disclosure_present: float
    beta: float
    enhanced_beta: float

    def to_json(self) -> dict[str, object]:
        names = ("delta_disclosure", "delta_disclosure_present", "beta", "enhanced_beta")
        out: dict[str, Any] = {"t": self.t, "distance": self.distance} | {n: getattr(self, n) for n in names}
        return out | {"infinite": [n for n in names if not math.isfinite(getattr(self, n))]}


def who(m: Figures, n: int = 2) -> str:
    """People where they were counted, records where rows were."""
    word = ("person", "people") if m.counts.unit is not None else ("record", "records")
    return word[n != 1]


def headline(m: Figures) -> str:
    """One sentence: how many are one of a kind on which columns, and the smallest crowd.

    >>> from shoal.model.counts.classes import ClassCounts
    >>> headline(Figures(ClassCounts((1, 4), columns=("age",), codes=([0, 1],))))
    '1 of 5 records is one of a kind on age; the smallest group has 1.'
    """
    total = m.crowds.n_members
    on = " + ".join(m.quasi) or "the quasi-identifiers"
    verb = "is" if m.unique == 1 else "are"
    start = f"{m.unique:,} of {total:,} {who(m, total)} {verb}" if m.unique else f"None of {total:,} {who(m, total)} is"
    bound = "" if m.crowds.exact else "at least "
    if m.counts.adds_up:
        return f"{start} one of a kind on {on}; the smallest group has {bound}{m.k:,}."
    alone = f"{start} one of a kind in at least one record on {on}; the smallest group has {bound}{m.k:,}."
    return alone if m.whole_set is None else f"{alone} By all records of a person together, {_by_set(m.whole_set, total)}."


def _by_set(column_set: WholeSet, total: int) -> str:
    if not column_set.unique:
        return f"nobody is one of a kind; each set of records is that of at least {column_set.k:,}"
    return f"{column_set.unique:,} of {total:,} {'is' if column_set.unique == 1 else 'are'} one of a kind"


def notes(m: Figures) -> list[str]:
    """Sentences that belong to the numbers."""
    out = []
    if m.counts.unit is None:
        out.append("No person column was named, so each row counts as one person; if people have several rows, name it as unit.")
    elif not m.counts.adds_up:
        out.append(
            f"Some people have rows in several classes ({m.memberships:,} memberships of {m.people:,} people): everybody counts "
            "once, by the smallest class they are in. Group sizes, diversity and closeness are those of the classes."
        )
    if m.missing["members_with_missing"]:
        out.append(_missing_note(m))
    if not m.crowds.exact:
        out.append("Under the rule 'wildcard' people of matching classes cannot be added up: k is a cautious lower bound.")
    if m.policy is not MissingPolicy.OWN:
        out.append("Only the rule 'own' is ever certified.")
    if m.policy is MissingPolicy.WILDCARD and m.missing["members_with_missing"]:
        too = " and estimates from sample to population" if m.sample else ""
        out.append(f"Diversity, closeness, sets of columns and what a column adds{too} follow the rule 'own'.")
    if m.sample is not None:
        out.extend(m.sample.get("notes", ()))
    elif m.population is not None and m.presence is None and m.counts.weights is not None:
        out.append("The table has sampling weights, so nothing is estimated from it as if everybody were equally likely in it.")
    elif m.population is not None and m.presence is None:
        out.append("Some people have rows in several classes, so nothing is estimated from the sample to the population.")
    if m.individual is not None and m.counts.unit is not None:
        several = "" if m.counts.adds_up else ", at the highest of the classes they are in"
        out.append(f"The individual risk counts each person once, with the mean weight of the rows of the class{several}.")
    for name in m.counts.sensitive:
        if (classes := held_by_all(m, name)) > 0:
            out.append(
                f"People have several values of {name}; in {classes:,} of {m.classes:,} classes one value is held by everybody, "
                "which diversity and closeness, made of shares among all values, do not show."
            )
    if m.presence is None and m.population is None:
        out.append("No population was given: journalist and marketer are the worst case, as if the table were the population.")
    if any(c.delta_disclosure == float("inf") for c in m.closeness.values()):
        out.append("δ-disclosure is infinite where a class lacks a value of the table: the class rules that value out.")
    return out


def held_by_all(m: Figures, column: str) -> int:
    """Classes of several values in which nevertheless every person has one and the same (people may have several each).

    >>> from shoal.model.counts.classes import ClassCounts, SensitiveCounts
    >>> ill = SensitiveCounts.from_dense("ill", [[2, 1, 1], [1, 1, 0]])
    >>> held_by_all(Figures(ClassCounts((2, 2), sensitive={"ill": ill}, unit="id", n_people=4)), "ill")
    1
    """
    if m.counts.unit is None:
        return 0
    values = profile(m.counts, column)
    return int(((values.largest == m.counts.sizes) & (values.distinct > 1)).sum())


def _missing_note(m: Figures) -> str:
    def at(rule: str) -> str:
        k = m.missing[rule]["k"]
        return m.missing[rule]["note"] if k is None else f"k={k:,}"

    n = m.missing["members_with_missing"]
    return (
        f"{n:,} {who(m, n)} {'lacks' if n == 1 else 'lack'} a quasi-identifier. Missing as a value of its own: {at('own')}; "
        f"matching everything: {at('wildcard')}; left out: {at('drop')}."
    )


class Explanation(str):
    """Text that shows itself as it is, line by line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


_MAIN = (
    ("k", "k", False),
    ("unique", "unique", False),
    ("prosecutor_max", "prosecutor.max", False),
    ("prosecutor_mean", "prosecutor.mean", False),
    ("journalist_max", "journalist.max", False),
    ("marketer", "marketer", False),
    ("k_map", "k_map", False),
    ("presence_max", "delta_max", False),
    ("distinct_diversity", "distinct", True),
    ("entropy_diversity", "entropy", True),
    ("recursive_diversity", "recursive", True),
    ("alpha", "alpha", True),
    ("t", "t", True),
    ("delta_disclosure", "delta_disclosure", True),
    ("basic_beta", "beta", True),
    ("enhanced_beta", "enhanced_beta", True),
)


def explain(m: Figures, name: str | None = None) -> Explanation:
    """The explanation of one number (by its metric's or its requirement's name), or of the main ones."""
    if name is not None and (entry := derived_number(name)) is not None:
        return Explanation(entry.explain(_value_of(m, entry.name)))
    if name is not None:
        key = {short: long for long, short, _ in _MAIN}.get(name, name)
        return Explanation(_explain(m, lookup(key).name))
    main = [n for n, _, sensitive in _MAIN if not sensitive and (m.presence is not None or n not in ("k_map", "presence_max"))]
    if m.counts.sensitive:
        main += [n for n, _, sensitive in _MAIN if sensitive]
    more = [entry.explain(value) for entry in derived_numbers() if (value := _value_of(m, entry.name))]
    parts = [headline(m), *(_explain(m, n) for n in main), *more, *(f"Note: {n}" for n in notes(m))]
    return Explanation("\n\n".join(parts))


def _value_of(m: Figures, name: str) -> str:
    """A number that is not a metric, as text; empty where this measurement does not have it."""
    match name:
        case "people_at":
            return ", ".join(f"{n:,} in groups of at most {size}" for size, n in m.people_at.items())
        case "class_sizes":
            s = m.class_sizes
            return f"{s.min:,} to {s.max:,}, median {written(s.median)}"
        case "match" if m.sample and m.sample.get("value") is not None:
            return f"{one_in(m.sample['value'])}, {one_in(m.sample['low'])} to {one_in(m.sample['high'])}"
        case "journalist_estimate" if m.journalist_estimate is not None:
            e = m.journalist_estimate
            return f"{one_in(e.value)}, {one_in(e.low)} to {one_in(e.high)}"
        case "individual" if m.individual is not None:
            return f"{one_in(m.individual.mean)} on average, {written(m.individual.expected, 4)} re-identifications expected"
    return ""


def _explain(m: Figures, name: str) -> str:
    from shoal.measures.result.checking import number_of  # requirements, which a headline does not need

    metric = lookup(name)
    explanation = metric.explained
    short = {long: (key, sensitive) for long, key, sensitive in _MAIN}.get(name)
    if short is None:
        return explanation.explain()
    key, sensitive = short
    if not sensitive:
        value = number_of(m, key)
        chance = f" ({one_in(value)})" if metric.high == 1 and 0 < value < 1 else ""
        shown = int(value) if value == int(value) and metric.high != 1 else value
        return explanation.explain(shown).replace(". ", f"{chance}. ", 1)
    values = ", ".join(f"{written(number_of(m, key, c), 4)} for {c}" for c in m.counts.sensitive)
    return f"{metric.name} = {values}. {explanation.explain()}"


RISK_THRESHOLDS = (0.05, 0.09, 0.2, 0.33)
GROUPINGS = 100_000_000
"""Classes to be grouped at most when subsets are counted without being asked for."""


@dataclass(frozen=True, eq=False, repr=False)
class Figures:
    """All numbers of one table: ``base`` are its classes, counted under the strict rule ``own``.

    ``policy`` is the rule for missing quasi-identifiers that the headline numbers follow. ``presence`` is against a population
    table, ``population`` the size of the population, ``sample`` estimates from sample to population. ``who`` is in which class of
    ``base``, where people are in several and a number needs it.

    >>> Figures(ClassCounts((1, 4), columns=("age",), codes=([0, 1],)))
    <Figures of table: 1 of 5 records is one of a kind on age; the smallest group has 1.>
    >>> m = Figures(ClassCounts((1, 2, 2, 5), columns=("age",), codes=([0, 1, 2, 3],)))
    >>> m.k, m.unique, m.risk.prosecutor.mean, m.people_at[5]
    (1, 1, 0.4, 10)
    """

    base: ClassCounts
    table: str = "table"
    policy: MissingPolicy = MissingPolicy.OWN
    presence: Presence | None = None
    population: int | None = None
    sample: Mapping[str, Any] | None = None
    by: anonymity.Subpopulations | None = None
    distances: Mapping[str, closeness.Distance] = field(default_factory=dict)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    c: float = 3.0
    who: Memberships | None = field(default=None, repr=False)

    @cached_property
    def counts(self) -> ClassCounts:
        """The classes under the chosen rule (those of ``own`` for ``wildcard``, whose crowds overlap)."""
        return drop_missing(self.base, self.who) if self.policy is MissingPolicy.DROP else self.base

    @cached_property
    def crowds(self) -> Crowds:
        """The crowds that people hide in under the chosen rule, everybody once."""
        return crowds(self.base, self.policy, self.who)

    @property
    def members(self) -> Memberships:
        """Who is in which class of ``counts``."""
        if self.who is None:
            raise InternalError("class membership was not computed.")
        return self.who.inside(~self.base.has_missing()) if self.policy is MissingPolicy.DROP else self.who

    @property
    def quasi(self) -> tuple[str, ...]:
        return self.base.columns

    @property
    def records(self) -> int:
        """Rows measured."""
        return self.counts.n_records

    @property
    def people(self) -> int:
        """Distinct people; without a unit each row is taken for one."""
        if self.counts.unit is not None and self.counts.n_people is not None:
            return self.counts.n_people
        return self.counts.n_members

    @property
    def memberships(self) -> int:
        """Sum of the class sizes: a person with rows in several classes is counted in each. Equal to ``people`` otherwise."""
        return self.counts.n_members

    @property
    def classes(self) -> int:
        return anonymity.n_classes(self.counts)

    @property
    def k(self) -> int:
        return anonymity.k_anonymity(self.crowds)

    @property
    def unique(self) -> int:
        """People who are alone in at least one class."""
        return anonymity.unique_members(self.crowds)

    @property
    def unique_share(self) -> float:
        return anonymity.unique_share(self.crowds)

    @cached_property
    def class_sizes(self) -> anonymity.SizeTable:
        return anonymity.size_table(self.crowds.of_classes)

    @cached_property
    def people_at(self) -> dict[int, int]:
        """People in at least one crowd of at most 1, 5, 10, 50, 100."""
        return anonymity.people_at(self.crowds)

    @cached_property
    def whole_set(self) -> WholeSet | None:
        """How many people are one of a kind by all their records together (the set of their classes); None without a unit."""
        if self.counts.unit is None:
            return None
        sets = self.counts.everybody.whole_sets
        return WholeSet(anonymity.unique_members(sets), anonymity.unique_share(sets), anonymity.k_anonymity(sets))

    @cached_property
    def risk(self) -> Risk:
        crowds = self.crowds
        above = {str(t): risk.members_above(crowds, t) for t in RISK_THRESHOLDS}
        highest, mean = risk.prosecutor_max(crowds), risk.prosecutor_mean(crowds)
        prosecutor = Attacker(highest, mean, above)
        if self.presence is None:
            basis = "the table itself: the worst case, as if the population were the table"
            return Risk(prosecutor, Attacker(highest, mean), mean, basis)
        f, big = self.presence.release, self.presence.population
        mean = risk.journalist_mean(f, big)
        if not self.counts.adds_up:  # each person by the class with fewest in the population
            mean = risk.prosecutor_mean(self.members.counts(self.presence.of_release))
        return Risk(prosecutor, Attacker(risk.journalist_max(f, big), mean), mean, "the population table")

    @cached_property
    def journalist_estimate(self) -> Estimate | None:
        """The journalist's highest risk where the size of the population is known and no table of it: estimated, grade C.

        The range holds for any population: it holds the table, so a class of f has between f and N − n + f people.
        """
        known = self.population is not None and self.presence is None
        if self.population is None or not known or not self.counts.adds_up or self.policy is MissingPolicy.WILDCARD:
            return None
        n, f = self.crowds.n_members, self.k
        value = float(individual.benedetti_franconi([f], [f * self.population / n])[0])
        low, high = 1.0 / (self.population - n + f), 1.0 / f
        name = "smallest class in a sample of the population (Benedetti and Franconi)"
        return Estimate(min(max(value, low), high), low, high, level=1.0, method=name, grade="C")

    @cached_property
    def diversity(self) -> dict[str, Diversity]:
        """Diversity by sensitive column, under the rule ``own`` (never above that under ``wildcard``)."""
        out = {}
        for name in self.counts.sensitive:
            least = {n: diversity.least_c(self.counts, name, l=n) for n in (2, 3, 4)}
            out[name] = Diversity(
                diversity.distinct_diversity(self.counts, name),
                diversity.entropy_diversity(self.counts, name),
                diversity.recursive_diversity(self.counts, name, c=self.c),
                self.c,
                least,
                diversity.alpha(self.counts, name),
            )
        return out

    @cached_property
    def closeness(self) -> dict[str, Closeness]:
        """Closeness by sensitive column, under the rule ``own`` (never below that under ``wildcard``)."""
        out = {}
        for name in self.counts.sensitive:
            tree = self.hierarchies.get(name)
            chosen = self.distances.get(name) or ("hierarchical" if tree else closeness.default_distance(self.counts, name))
            if chosen == "ordered":
                closeness.need_order(self.counts, name)
            out[name] = Closeness(
                closeness.t_closeness(self.counts, name, distance=chosen, hierarchy=tree),
                chosen,
                closeness.delta_disclosure(self.counts, name),
                closeness.delta_disclosure_present(self.counts, name),
                closeness.basic_beta_likeness(self.counts, name),
                closeness.enhanced_beta_likeness(self.counts, name),
            )
        return out

    @cached_property
    def missing(self) -> dict[str, Any]:
        """k and uniques under the three rules for missing values, side by side."""
        lacking = people_with_missing(self.base, self.who)
        return {"rule": self.policy.value, "members_with_missing": lacking, **under_all_policies(self.base, self.who)}

    @cached_property
    def individual(self) -> individual.IndividualRisk | None:
        """Individual risk from sampling weights, where there are any."""
        if self.counts.weights is None:
            return None
        return individual.individual_risk(self.counts, None if self.counts.adds_up else self.members)

    @cached_property
    def entropy_risk(self) -> dict[str, Any]:
        """ANVC and RR, with what they leave out; no number where people are in several classes."""
        if not self.counts.adds_up:
            return dict.fromkeys(("entropy_bits", "anvc", "rr", "exact_marketer", "degree", "cells", "kappa")) | {
                "remark": entropy_risk.SEVERAL_CLASSES
            }
        return {
            "entropy_bits": entropy_risk.joint_entropy(self.counts),
            "anvc": entropy_risk.average_value_combinations(self.counts),
            "rr": entropy_risk.entropy_risk(self.counts),
            "exact_marketer": risk.prosecutor_mean(self.counts),
            "degree": entropy_risk.degree_of_anonymity(self.counts),
            **entropy_risk.distance_from_uniform(self.counts),
            "remark": entropy_risk.REMARK,
        }

    @cached_property
    def grouping_loss(self) -> dict[str, Any]:
        """What these classes cost if they are what is published: discernibility, average class size over k, and for each
        sensitive column the classification metric."""
        return {
            "discernibility": class_losses.discernibility(self.counts),
            "average_class_size": class_losses.average_class_size(self.counts, k=anonymity.k_anonymity(self.counts)),
            "classification_metric": {n: class_losses.classification_metric(self.counts, n) for n in self.counts.sensitive},
        }

    @property
    def knows_subsets(self) -> bool:
        """Whether other sets of columns can be counted: class sizes add up, or the table is at hand."""
        return self.counts.adds_up

    def recount(self, columns: Sequence[str]) -> ClassCounts:
        """Classes over other columns, from the counts."""
        return project(self.counts, columns)

    def subsets(self, up_to: int | None = None) -> list[column_sets.Subset]:
        """Every subset of at most ``up_to`` quasi-identifiers; without a number as large as is quickly counted, at most 3."""
        size = up_to if up_to is not None else self._affordable()
        made = self.__dict__.setdefault("_subsets", {})
        if size not in made:
            made[size] = column_sets.all_subsets(self.counts, up_to=size, recount=self.recount)
        counted: list[column_sets.Subset] = made[size]
        return counted

    def _affordable(self) -> int:
        width = len(self.quasi)
        for size in (3, 2):
            number = sum(comb(width, r) for r in range(1, min(size, width) + 1))
            if number * self.classes <= GROUPINGS:
                return size
        return 1

    def worst_subsets(self, n: int = 3, *, up_to: int | None = None) -> list[column_sets.Subset]:
        """The ``n`` sets of columns that single out most people."""
        return column_sets.worst_subsets(self.subsets(up_to), n)

    def contributions(self) -> list[column_sets.Contribution]:
        """What each quasi-identifier adds to the uniques, largest first."""
        made = self.__dict__.get("_contributions")
        if made is None:
            made = column_sets.column_contributions(self.counts, recount=self.recount)
            self.__dict__["_contributions"] = made
        counted: list[column_sets.Contribution] = made
        return counted

    def suda(self, **options: Any) -> Suda:
        """Minimal sample uniques and SUDA scores (see :func:`shoal.measures.subsets.suda.suda`)."""
        from shoal.measures.subsets.suda import suda  # loaded if wanted: a small table is measured in half a second

        return suda(self.counts, **options)

    def __repr__(self) -> str:
        return inert(f"<{type(self).__name__} of {self.table}: {self.sentence}>")

    def check(self, requirement: str) -> Verdict | Verdicts:
        """Whether requirements such as ``"k>=5"`` or ``"k>=5, t[diagnosis]<=0.2"`` are met: true or false as a condition.

        >>> from shoal.model.counts.classes import ClassCounts
        >>> m = Figures(ClassCounts((3, 7)))
        >>> bool(m.check("k>=3")), bool(m.check("k>=3, unique==0, risk.max<=0.3"))
        (True, False)
        """
        from shoal.measures.result.checking import check

        return check(self, requirement)

    def explain(self, name: str | None = None) -> Explanation:
        """Sentence, formula, assumption, attacker and what would change it: of one number, or of the main ones."""
        return Explanation(inert(explain(self, name)))

    @property
    def sentence(self) -> str:
        """The headline."""
        return headline(self)

    @property
    def notes(self) -> list[str]:
        """What the reader must know to use the numbers."""
        return notes(self)

    def to_json(self) -> dict[str, object]:
        """The keys that stay, and what else is known; no data value."""
        out: dict[str, Any] = {
            "table": self.table,
            "quasi": list(self.quasi),
            "records": self.records,
            "people": self.people,
            "classes": self.classes,
            "k": self.k,
            "unique": self.unique,
            "unique_share": self.unique_share,
            "class_sizes": self.class_sizes.to_json(),
            "people_at": {str(t): n for t, n in self.people_at.items()},
            "risk": self.risk.to_json(),
            "diversity": {n: d.to_json() for n, d in self.diversity.items()},
            "closeness": {n: c.to_json() for n, c in self.closeness.items()},
            "missing": self.missing,
            "entropy_risk": self.entropy_risk,
            "grouping_loss": self.grouping_loss,
            "worst_subsets": [s.to_json() for s in self.worst_subsets()] if self.knows_subsets else [],
            "contribution": [c.to_json() for c in self.contributions()] if self.knows_subsets else [],
            "sentence": self.sentence,
            "notes": self.notes,
        }
        extra = {"presence": self.presence, "individual": self.individual, "by": self.by}
        out |= {name: part.to_json() for name, part in extra.items() if part is not None}
        if self.whole_set is not None:
            out |= {"unit": self.counts.unit, "memberships": self.memberships, "whole_set": self.whole_set.to_json()}
        if self.population is not None:
            out["population"] = self.population
        if self.journalist_estimate is not None:
            out["risk"]["journalist"]["estimate"] = self.journalist_estimate.to_json()
        return out | ({"sample": dict(self.sample)} if self.sample else {})

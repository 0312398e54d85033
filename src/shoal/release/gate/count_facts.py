"""What the requirements ask of class counts, as the measures of the field say it."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.errors import PolicyError, UsageError
from shoal.kernels.matches import matched
from shoal.kernels.text import canonical_text
from shoal.measures.classes.closeness import basic_beta_likeness, delta_disclosure, enhanced_beta_likeness, t_closeness
from shoal.measures.classes.diversity import alpha, distinct_diversity, entropy_diversity, least_c
from shoal.model.counts.classes import ClassCounts, IntArray
from shoal.model.requirement import PopulationK, PopulationUniqueness, Requirement, TCloseness
from shoal.release.proof.facts import Facts, Given, Inside, as_number
from shoal.release.proof.recount import read_alike

if TYPE_CHECKING:
    from shoal.model.hierarchy import Hierarchy
    from shoal.release.policy.policy import Policy

SPELLINGS = "Values that differ only in case, spaces or the form of a number count as one: correct them if they are different. "


def facts_of_counts(
    counts: Any,
    levels: dict[str, list[int]] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    asked: Iterable[Requirement] | None = None,
    labels: Mapping[str, Mapping[Any, str]] | None = None,
) -> Facts:
    """The Facts of class counts, through the measures of the field; ``hierarchies`` are those of sensitive columns.

    With ``asked``, only of the sensitive columns that one of these requirements limits. Values that are read alike, by their
    ``labels`` too, are one value for diversity, as in the proof; how many people have one of them is then not known.
    """
    inside = {}
    limited = None if asked is None else {r.sensitive for r in asked}
    for column in counts.sensitive:
        if limited is not None and column not in limited:
            continue
        tree = (hierarchies or {}).get(column)
        alike = _read_alike(counts, column, (labels or {}).get(column, {}))
        open_ = alike is not counts and counts.unit is not None
        inside[column] = Inside(
            distinct_diversity(alike, column),
            1.0 if open_ else entropy_diversity(alike, column),
            t_closeness(counts, column, distance="equal"),
            t_closeness(counts, column, distance="ordered"),
            {
                n: c if not open_ and math.isfinite(c := least_c(alike, column, l=n)) else None
                for n in (levels or {}).get(column, ())
            },
            None if tree is None else t_closeness(counts, column, distance="hierarchical", hierarchy=tree),
            1.0 if open_ else alpha(alike, column),
            delta_disclosure(counts, column),
            basic_beta_likeness(counts, column),
            enhanced_beta_likeness(counts, column),
        )
    sizes, how_many = _tallied(counts.sizes)
    once = None
    if counts.unit is not None and (counts.people is not None or counts.adds_up):
        once = _people(counts)
    return Facts(
        records=counts.n_records,
        classes=counts.n_classes,
        k=int(counts.sizes.min()),
        unique=int((counts.sizes == 1).sum()) if once is None else once[1],
        sizes={int(s): int(n) for s, n in zip(sizes, how_many, strict=True)},
        sensitive=inside,
        people=None if once is None else sum(once.values()),
        smallest=None if once is None else {size: n for size, n in once.items() if n},
    )


def _read_alike(counts: Any, column: str, labels: Mapping[Any, str]) -> Any:
    """The counts with the values of a sensitive column that a reader takes for one as one; themselves if there are none."""
    held = counts.sensitive[column]
    if held.categories is None or not (
        labels or pa.types.is_string(held.categories.type) or pa.types.is_large_string(held.categories.type)
    ):
        return counts
    named = {number if (number := as_number(code)) is not None else code: text for code, text in labels.items()}
    texts = [named.get(as_number(t), named.get(t, t)) for t in canonical_text(held.categories).to_pylist()]
    first: dict[Any, int] = {}
    one = np.array([first.setdefault(text, i) for i, text in enumerate(read_alike([None, *texts]))], dtype=np.int64)
    if len(first) == len(one):
        return counts
    pairs, place = np.unique(held.classes * len(one) + one[held.values + 1], return_inverse=True)
    members = np.bincount(place, weights=held.counts).astype(np.int64)
    return replace(
        counts,
        sensitive={
            **counts.sensitive,
            column: replace(held, classes=pairs // len(one), values=pairs % len(one) - 1, counts=members),
        },
    )


def as_read(counts: ClassCounts, asked: Iterable[Requirement], labels: Mapping[str, Mapping[Any, str]]) -> ClassCounts:
    """The counts for a search: values that are read alike are one in each sensitive column of which only diversity is asked,
    where records are counted. Of people it is not known who has several of them."""
    sections: dict[str, set[str]] = {}
    for r in asked if counts.unit is None else ():
        if r.sensitive is not None:
            sections.setdefault(r.sensitive, set()).add(r.section)
    for column in (c for c, about in sections.items() if about == {"diversity"}):
        counts = _read_alike(counts, column, labels.get(column, {}))
    return counts


def _tallied(sizes: IntArray) -> tuple[IntArray, IntArray]:
    """The sizes that occur, in increasing order, and how many classes have each."""
    if int(sizes.max()) >= max(len(sizes), 1024):
        return np.unique(sizes, return_counts=True)
    each = np.bincount(sizes)
    there = np.flatnonzero(each)
    return there, each[there]


def _people(counts: ClassCounts) -> Counter[int]:
    """People by the size of the smallest class they are in."""
    once: Counter[int] = Counter()
    for size, n in zip(counts.everybody.sizes.tolist(), counts.everybody.members.tolist(), strict=True):
        once[size] += n
    return once


@dataclass(frozen=True)
class Drawn:
    """The table before suppression, as a sample: its records, its people, and the plans of which none is coarser than another."""

    records: int
    people: int | None = None
    plans: float = 1.0


def estimates(requirements: Iterable[Requirement], facts: Facts, drawn: Drawn | None = None) -> Given:
    """Numbers about a population of stated size, if a requirement has one: unique people, and matches of a record.

    Without ``drawn`` nobody knows how many records were suppressed or how many plans were compared: a record then matches
    the people of its class in the file, and no more is certain.
    """
    out: dict[tuple[str, ...], float] = {}
    for r in requirements:
        if isinstance(r, PopulationUniqueness):
            from shoal.prediction.population.uniques import unique_share

            out[r.place] = unique_share(classes_of(facts.everybody), r.population, r.method)
        elif isinstance(r, PopulationK):
            out[r.place] = facts.k if drawn is None else _matches(r, facts, drawn)
    return out


def _matches(r: PopulationK, facts: Facts, drawn: Drawn) -> int:
    """The k that the smallest class gives; above the limit three digits, which every computer agrees on."""
    shown, members = facts.records, drawn.records
    if facts.people is not None:
        shown, members = facts.people, drawn.people or facts.people
    matches = matched(facts.k, members, r.population, r.beta * shown / members / drawn.plans)
    return matches if matches < r.k else max(r.k, int(float(f"{matches:.3g}")) if matches > 999 else matches)


def check_sample(policy: Policy, r: PopulationK, members: int) -> None:
    """Refuse a table that cannot be a random sample of the population stated."""
    if policy.weight is not None:
        raise PolicyError(
            f"'require.{r.name}' takes the table for a random sample; its weights state that some people were more likely to be "
            "in it than others.",
            hint="Ask for k instead, or for k_map with a population table.",
        )
    if members > r.population:
        hint = "State the number of people that the table is a random sample of."
        raise PolicyError(f"'require.{r.name}.of' is {r.population:,}; the table has {members:,} members.", hint=hint)


def count_population(policy: Policy) -> tuple[Policy, str]:
    """The policy with the number of people that a file states, and where it is from: the lines of a table, or what
    ``predict population --json`` or ``registry query --json`` wrote."""
    name = policy.counted_in
    if not name:
        return policy, ""
    file, what = (policy.folder or Path()) / name, "the lines of a table"
    if file.suffix == ".json":
        people, what = _people_stated(file, name)
    else:
        from shoal.engines.open import open as opened

        people = opened(str(file)).n_rows()
    try:
        requirements = tuple(replace(r, population=people) if isinstance(r, PopulationK) else r for r in policy.requirements)
    except UsageError as error:
        raise PolicyError(f"'require.population_k.of' counts {people:,} people in '{name}'.", hint=error.hint) from None
    source = f"The population of {people:,} people is from '{Path(name).name}' ({what}): signed, not counted again."
    return replace(policy, requirements=requirements, counted_in=""), source


def _people_stated(file: Path, name: str) -> tuple[int, str]:
    """The people that a fitted population was for, or that the best record of a registry has."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(content["population"], int):
            return content["population"], "a fitted population"
        (best,) = (record for record in content["records"] if record["id"] == content["best"])
        return int(best["size"]), "a record of a registry"
    except (OSError, ValueError, KeyError, TypeError):
        hint = "Name a table with one line per person, or what predict population or registry query wrote with --json."
        raise PolicyError(f"'require.population_k.of': '{name}' states no number of people.", hint=hint) from None


def classes_of(everybody: Mapping[int, int]) -> dict[int, int]:
    """Classes by size, as if everybody were in the smallest class of theirs only: people in several classes count once.

    >>> classes_of({1: 3, 2: 4, 5: 7})
    {1: 3, 2: 2, 5: 2}
    """
    return {size: -(-people // size) for size, people in everybody.items()}


def population_counts(policy: Policy, quasi: Sequence[str]) -> ClassCounts | None:
    """Classes of the population; None where no requirement needs them. A requirement that does, without a table, is refused."""
    from shoal.engines.open import open as opened

    needed = [r for r in policy.requirements if r.needs_population]
    if not needed:
        return None
    if policy.population_table is None:
        hint = "Write population: {table: people.csv} into the policy."
        raise PolicyError(f"'require.{needed[0].name}' needs a population table.", hint=hint)
    return opened(str((policy.folder or Path()) / policy.population_table)).count(tuple(quasi))


def sensitive_trees(policy: Policy, base: ClassCounts) -> dict[str, Hierarchy]:
    """The hierarchy of each such column, over the values at hand; a column without one is refused."""
    from shoal.hierarchies import from_policy

    out = {}
    for name in policy.sensitive:
        close = policy.asked_of(name, TCloseness)
        if close is None or close.distance != "hierarchical":
            continue
        wanted, inside = policy.sensitive[name], base.sensitive[name]
        if wanted is None:
            hint = f"Write roles: {{sensitive: {{{name}: {{hierarchy: FILE}}}}}}, or use distance: equal."
            raise PolicyError(f"closeness of '{name}' by the hierarchical distance needs a hierarchy of that column.", hint=hint)
        counts = np.bincount(inside.values[inside.values >= 0], minlength=len(inside.categories)).astype(np.int64)
        rule = from_policy(wanted, policy.folder or ".")
        rule.check_one_root(name)
        out[name] = rule.fit(name, inside.categories, counts).over(name, inside.categories, counts)
    return out

"""A measurement in words: the headline, the notes that belong to the numbers, and the explanation of each number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.measures.classes.diversity import profile
from shoal.measures.metrics import derived_number, derived_numbers, lookup
from shoal.model.display import one_in, written
from shoal.model.roles import MissingPolicy

if TYPE_CHECKING:
    from shoal.measures.result.figures import Figures, WholeSet


def who(m: Figures, n: int = 2) -> str:
    """People where they were counted, records where rows were."""
    word = ("person", "people") if m.counts.unit is not None else ("record", "records")
    return word[n != 1]


def headline(m: Figures) -> str:
    """One sentence: how many are one of a kind on which columns, and the smallest crowd.

    >>> from shoal.measures.result.figures import Figures
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


def _by_set(found: WholeSet, total: int) -> str:
    if not found.unique:
        return f"nobody is one of a kind; each set of records is that of at least {found.k:,}"
    return f"{found.unique:,} of {total:,} {'is' if found.unique == 1 else 'are'} one of a kind"


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

    >>> from shoal.measures.result.figures import Figures
    >>> from shoal.model.counts.classes import ClassCounts, SensitiveCounts
    >>> ill = SensitiveCounts.from_dense("ill", [[2, 1, 1], [1, 1, 0]])
    >>> held_by_all(Figures(ClassCounts((2, 2), sensitive={"ill": ill}, unit="id", n_people=4)), "ill")
    1
    """
    if m.counts.unit is None:
        return 0
    found = profile(m.counts, column)
    return int(((found.largest == m.counts.sizes) & (found.distinct > 1)).sum())


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
        return Explanation(_explained(m, lookup(key).name))
    main = [n for n, _, sensitive in _MAIN if not sensitive and (m.presence is not None or n not in ("k_map", "presence_max"))]
    if m.counts.sensitive:
        main += [n for n, _, sensitive in _MAIN if sensitive]
    more = [entry.explain(value) for entry in derived_numbers() if (value := _value_of(m, entry.name))]
    parts = [headline(m), *(_explained(m, n) for n in main), *more, *(f"Note: {n}" for n in notes(m))]
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


def _explained(m: Figures, name: str) -> str:
    from shoal.measures.result.checking import number_of  # requirements, which a headline does not need

    metric = lookup(name)
    said = metric.explained
    short = {long: (key, sensitive) for long, key, sensitive in _MAIN}.get(name)
    if short is None:
        return said.explain()
    key, sensitive = short
    if not sensitive:
        value = number_of(m, key)
        chance = f" ({one_in(value)})" if metric.high == 1 and 0 < value < 1 else ""
        shown = int(value) if value == int(value) and metric.high != 1 else value
        return said.explain(shown).replace(". ", f"{chance}. ", 1)
    values = ", ".join(f"{written(number_of(m, key, c), 4)} for {c}" for c in m.counts.sensitive)
    return f"{metric.name} = {values}. {said.explain()}"

"""The explanation of each number: what it is, how it is computed, what it assumes, against whom, and what would change it."""

from __future__ import annotations

from shoal.kernels.numbers import one_in
from shoal.measures.metrics import lookup
from shoal.measures.result.checking import number_of
from shoal.measures.result.figures import Figures
from shoal.measures.result.headline import headline, notes
from shoal.measures.shown import SHOWN, shown
from shoal.model.written import written


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
    if name is not None and (entry := shown(name)) is not None:
        return Explanation(entry.explain(_value_of(m, entry.name)))
    if name is not None:
        key = {short: long for long, short, _ in _MAIN}.get(name, name)
        return Explanation(_explained(m, lookup(key).name))
    main = [n for n, _, sensitive in _MAIN if not sensitive and (m.presence is not None or n not in ("k_map", "presence_max"))]
    if m.counts.sensitive:
        main += [n for n, _, sensitive in _MAIN if sensitive]
    more = [entry.explain(value) for entry in SHOWN if (value := _value_of(m, entry.name))]
    parts = [headline(m), *(_explained(m, n) for n in main), *more, *(f"Note: {n}" for n in notes(m))]
    return Explanation("\n\n".join(parts))


def _value_of(m: Figures, name: str) -> str:
    """A number that is no metric, as text; empty where this measurement does not have it."""
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
    metric = lookup(name)
    short = {long: (key, sensitive) for long, key, sensitive in _MAIN}.get(name)
    if short is None:
        return metric.explain()
    key, sensitive = short
    if not sensitive:
        value = number_of(m, key)
        chance = f" ({one_in(value)})" if metric.high == 1 and 0 < value < 1 else ""
        return metric.explain(int(value) if value == int(value) and metric.high != 1 else value).replace(". ", f"{chance}. ", 1)
    values = ", ".join(f"{written(number_of(m, key, c), 4)} for {c}" for c in m.counts.sensitive)
    return f"{metric.name} = {values}. {metric.explain()}"

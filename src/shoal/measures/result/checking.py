"""Requirements held against the figures of a table: ``k>=5``, ``entropy[diagnosis]>=3``, ``t[diagnosis]<=0.2``, ``risk<=0.09``.

The language is that of :mod:`shoal.model.requirement`. Numbers that are not requirements (``unique==0``,
``records>=100``, ``classes>10``) can be compared too, by the same rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from shoal.errors import RequirementError, UsageError, suggest
from shoal.measures.classes import closeness, diversity
from shoal.measures.classes.risk import Presence
from shoal.model import requirement as req
from shoal.model.compare import at_least, at_most, below, equal
from shoal.model.counts.classes import ClassCounts
from shoal.model.hierarchy import Hierarchy
from shoal.model.requirement import Clause, Reading, Requirement, Verdict, kind_named, pieces

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": at_least,
    "<=": at_most,
    "==": equal,
    ">": lambda value, limit: below(limit, value),
    "<": below,
}


class Distances(Protocol):
    """Closeness of a sensitive column, as far as a requirement reads it."""

    @property
    def distance(self) -> str: ...


class Measured(Protocol):
    """What a requirement is held against: the figures of a table."""

    @property
    def counts(self) -> ClassCounts: ...
    @property
    def presence(self) -> Presence | None: ...
    @property
    def hierarchies(self) -> Mapping[str, Hierarchy]: ...
    @property
    def closeness(self) -> Mapping[str, Distances]: ...
    @property
    def c(self) -> float: ...


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on a list of requirements. True where all are met."""

    parts: tuple[Verdict, ...]

    @property
    def met(self) -> bool:
        return all(self.parts)

    def __bool__(self) -> bool:
        return self.met

    def __str__(self) -> str:
        return "; ".join(str(p) for p in self.parts)

    def require(self) -> Verdicts:
        """Itself if all are met; otherwise a :class:`~shoal.errors.RequirementError`."""
        if not self.met:
            raise RequirementError(f"{self}.", hint="Generalize or suppress, then measure again.")
        return self

    def to_json(self) -> dict[str, object]:
        return {"met": self.met, "parts": [p.to_json() for p in self.parts]}


@dataclass(frozen=True)
class Comparison(Requirement):
    """A number of a measurement against a bound, that is not a requirement."""

    subject: str
    column: str | None
    compare: str
    number: float
    shown: str
    kind: ClassVar[str] = "comparison"
    bound: ClassVar[str] = "number"

    @property
    def place(self) -> tuple[str, ...]:
        return (self.subject, *((self.column,) if self.column else ()))

    def holds(self, value: float) -> bool:
        return _COMPARE[self.compare](value, self.number)

    def sentence(self) -> str:
        return self.shown

    def __str__(self) -> str:
        return self.shown


def check(measured: Measured, text: str) -> Verdict | Verdicts:
    """All requirements of a comma-separated list."""
    names = tuple(measured.counts.sensitive)
    reading = Reading(names, {c: x.distance for c, x in measured.closeness.items()}, measured.c)
    verdicts = tuple(_verdict(measured, piece, reading) for piece in pieces(text))
    return verdicts[0] if len(verdicts) == 1 else Verdicts(verdicts)


def _verdict(measured: Measured, text: str, reading: Reading) -> Verdict:
    clause = Clause.read(text)
    kind = kind_named(clause.word)
    if kind is not None and clause.sign in kind.signs_known() and clause.bound + (clause.sign == ">") != kind.trivial_bound:
        asked = kind.from_clause(clause, reading)
        return asked.judged(number_for(measured, asked))
    if clause.bound < 0:
        raise UsageError("no number of a measurement is negative.", hint="Write for example k>=5.")
    column = ", ".join(clause.inside) or None
    value = number_of(measured, clause.word, column)
    bound = clause.number(whole=isinstance(value, int))
    return Comparison(clause.word, column, clause.sign, bound, clause.shown).judged(value)


def number_for(measured: Measured, asked: Requirement) -> float | None:
    """The number of a table that a requirement limits; None if there is none."""
    if asked.scope == "trace":
        hint = "Name its time or place: --unit id --time t --place p."
        raise UsageError(f"'{asked.kind}' applies to an event table.", hint=hint)
    if asked.sensitive is not None and asked.sensitive not in measured.counts.sensitive:
        raise _no_column(measured, asked.kind)
    compute = _WITH_OPTIONS.get(type(asked))
    return _resolve(measured, asked.figure_name, asked.sensitive) if compute is None else compute(measured, asked)


def _population_share(m: Measured, r: req.PopulationUniqueness) -> float:
    from shoal.prediction.population.uniques import unique_share  # a large room, for few requirements

    sizes, numbers = np.unique(m.counts.sizes, return_counts=True)
    return unique_share(dict(zip(sizes.tolist(), numbers.tolist(), strict=True)), r.population, r.method)


def _k_map(m: Measured, r: req.KMap) -> float:
    if m.presence is None:
        raise UsageError("k_map needs a population table.", hint="Name one (population=…, --population FILE).")
    return m.presence.k_map


def _linkage(m: Measured, r: req.Linkage) -> float:
    raise UsageError("linkage is tried on a release, with the original beside it.", hint="Ask for it in a policy.")


def _known_columns(m: Measured, r: req.KnownColumns) -> float:
    raise UsageError("known_columns is counted in a table with its published columns.", hint="Ask for it in a policy.")


def _distance(m: Measured, r: req.TCloseness) -> float:
    if r.needs_order:
        closeness.need_order(m.counts, r.column)
    tree = r.hierarchy or m.hierarchies.get(r.column)
    return closeness.t_closeness(m.counts, r.column, distance=r.distance, hierarchy=tree)


_WITH_OPTIONS: dict[type[Requirement], Callable[[Measured, Any], float]] = {
    req.PopulationUniqueness: _population_share,
    # of how large a sample, and after how many plans, a file does not tell
    req.PopulationK: lambda m, _: int(m.counts.sizes.min()),
    req.KMap: _k_map,
    req.Linkage: _linkage,
    req.KnownColumns: _known_columns,
    req.RecursiveDiversity: lambda m, r: diversity.least_c(m.counts, r.column, l=r.l),
    req.TCloseness: _distance,
}
"""Requirements whose own fields decide the number. The figure of any other kind is named by its class."""

_OTHER = {
    **{name: name for name in ("unique", "records", "people", "classes")},
    **{name: name for name in ("whole_set.unique", "whole_set.unique_share", "whole_set.k")},
    **dict.fromkeys(("journalist.mean", "risk.journalist.mean"), "risk.journalist.mean"),
    "delta_min": "presence.delta_min",
    "delta_max": "presence.delta_max",
}
"""Numbers that are not limited by a requirement, by name in text."""


def number_of(measured: Measured, name: str, column: str | None = None) -> float:
    """A number by its name, and by its sensitive column if it has one (optional if there is only one).

    >>> from shoal.measures.result.figures import Figures
    >>> number_of(Figures(ClassCounts((2, 3))), "prosecutor")
    0.5
    """
    kind = kind_named(name)
    figure = _OTHER.get(name) if kind is None else kind.figure.format(**kind.spellings[name])
    names = tuple(measured.counts.sensitive)
    if figure and figure.startswith(("diversity.", "closeness.")):
        column = names[0] if column is None and len(names) == 1 else column
        if column is None or column not in names:
            raise _no_column(measured, name)
    value = _resolve(measured, figure, column) if figure else None
    if value is None:
        hint = suggest(name, [*_OTHER, *req.spellings()]) or "For example k, unique, t."
        raise UsageError(f"number '{name}' does not exist.", hint=hint)
    return value


def _resolve(measured: Measured, figure: str, column: str | None) -> float | None:
    """The number at a path of attributes; None if a part of it was not measured."""
    value: Any = measured
    for part in figure.split("."):
        value = getattr(value, part, None)
        if isinstance(value, dict):
            value = value[column]
    number: float | None = value
    return number


def _no_column(measured: Measured, name: str) -> UsageError:
    known = ", ".join(measured.counts.sensitive) or "none"
    return UsageError(f"'{name}' needs a sensitive column.", hint=f"Write {name}[column]. Sensitive columns: {known}.")

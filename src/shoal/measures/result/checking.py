"""Requirements held against the figures of a table: ``k>=5``, ``entropy[diagnosis]>=3``, ``t[diagnosis]<=0.2``, ``risk<=0.09``.

The language is that of :mod:`shoal.model.requirement`. Numbers that are no requirement of their own (``unique==0``,
``records>=100``, ``classes>10``) can be compared too, by the same rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import RequirementError, UsageError, nearest
from shoal.measures.classes import closeness, diversity
from shoal.measures.result.figures import Figures
from shoal.model import requirement as req
from shoal.model.compare import at_least, at_most, below, equal
from shoal.model.requirement import Clause, Reading, Requirement, Verdict, kind_named, pieces

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": at_least,
    "<=": at_most,
    "==": equal,
    ">": lambda found, limit: below(limit, found),
    "<": below,
}


@dataclass(frozen=True)
class Comparison(Requirement):
    """A number of a measurement against a bound, where that is no requirement of its own."""

    figure: str
    column: str | None
    compare: str
    number: float
    shown: str
    kind: ClassVar[str] = "comparison"
    bound: ClassVar[str] = "number"

    @property
    def place(self) -> tuple[str, ...]:
        return (self.figure, *((self.column,) if self.column else ()))

    def holds(self, found: float) -> bool:
        return _COMPARE[self.compare](found, self.number)

    def sentence(self) -> str:
        return self.shown

    def __str__(self) -> str:
        return self.shown


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

    def to_json(self) -> dict[str, Any]:
        return {"met": self.met, "parts": [p.to_json() for p in self.parts]}


def check(measured: Figures, text: str) -> Verdict | Verdicts:
    """All requirements of a comma-separated list."""
    names = tuple(measured.counts.sensitive)
    reading = Reading(names, {c: x.distance for c, x in measured.closeness.items()}, measured.c)
    found = tuple(_verdict(measured, piece, reading) for piece in pieces(text))
    return found[0] if len(found) == 1 else Verdicts(found)


def _verdict(measured: Figures, text: str, reading: Reading) -> Verdict:
    clause = Clause.read(text)
    kind = kind_named(clause.word)
    if kind is not None and clause.sign in kind.signs_known() and not _says_nothing(kind, clause):
        asked = kind.from_clause(clause, reading)
        return asked.judged(number_for(measured, asked))
    if clause.bound < 0:
        raise UsageError("no number of a measurement is negative.", hint="Write for example k>=5.")
    column = ", ".join(clause.inside) or None
    value = number_of(measured, clause.word, column)
    bound = clause.number(whole=isinstance(value, int))
    return Comparison(clause.word, column, clause.sign, bound, clause.shown).judged(value)


def _says_nothing(kind: type[Requirement], clause: Clause) -> bool:
    """``k>=1`` holds for every table: true, and no requirement."""
    return kind in (req.K, req.KMap) and clause.bound + (clause.sign == ">") == 1


def number_for(measured: Figures, asked: Requirement) -> float | None:
    """The number of a table that a requirement is about; None where it has none."""
    if asked.scope == "trace":
        raise UsageError(
            f"'{asked.kind}' is asked of an event table.", hint="Name its time or place: --unit id --time t --place p."
        )
    if asked.sensitive is not None and asked.sensitive not in measured.counts.sensitive:
        raise _no_column(measured, asked.kind)
    match asked:
        case req.MaxRisk():
            return measured.risk.prosecutor.max if asked.attacker == "prosecutor" else measured.risk.journalist.max
        case req.AverageRisk():
            return measured.risk.marketer if asked.attacker == "marketer" else measured.risk.prosecutor.mean
        case req.SampleUniqueness():
            return measured.unique_share
        case req.PopulationUniqueness():
            from shoal.prediction.population.uniques import unique_share

            sizes, numbers = np.unique(measured.counts.sizes, return_counts=True)
            return unique_share(dict(zip(sizes.tolist(), numbers.tolist(), strict=True)), asked.population, asked.method)
        case req.KMap():
            if measured.presence is None:
                raise UsageError("k_map needs a population table.", hint="Name one (population=…, --population FILE).")
            return measured.presence.k_map
        case req.Linkage():
            raise UsageError(
                "linkage is tried on a release, with the original beside it.",
                hint="Ask for it in a policy.",
            )
        case req.RecursiveDiversity():
            return diversity.least_c(measured.counts, asked.column, l=asked.l)
        case req.TCloseness():
            tree = asked.hierarchy or measured.hierarchies.get(asked.column)
            if asked.distance == "ordered":
                closeness.need_order(measured.counts, asked.column)
            return closeness.t_closeness(measured.counts, asked.column, distance=asked.distance, hierarchy=tree)
        case req.PSensitive():
            return measured.diversity[asked.column].distinct
    return number_of(measured, next(iter(asked.words)), asked.sensitive)


def number_of(measured: Figures, name: str, column: str | None = None) -> float:
    """A number by its name, and by its sensitive column where it has one (not needed if there is only one).

    >>> from shoal.model.counts.classes import ClassCounts
    >>> number_of(Figures(ClassCounts((2, 3))), "prosecutor")
    0.5
    """
    table = _numbers(measured)
    if name in table:
        return table[name]()
    sensitive = _sensitive_numbers(measured)
    if name in sensitive:
        names = tuple(measured.counts.sensitive)
        if column is None and len(names) == 1:
            column = names[0]
        if column is None or column not in names:
            raise _no_column(measured, name)
        return sensitive[name](column)
    close = nearest(name, [*table, *sensitive, *req.spellings()])
    raise UsageError(f"there is no number '{name}'.", hint=f"Did you mean '{close}'?" if close else "For example k, unique, t.")


def _no_column(measured: Figures, name: str) -> UsageError:
    known = ", ".join(measured.counts.sensitive) or "none"
    return UsageError(f"'{name}' needs a sensitive column.", hint=f"Write {name}[column]. Sensitive columns: {known}.")


def _numbers(m: Figures) -> dict[str, Callable[[], float]]:
    out: dict[str, Callable[[], float]] = {
        "k": lambda: m.k,
        "unique": lambda: m.unique,
        "unique_share": lambda: m.unique_share,
        "records": lambda: m.records,
        "people": lambda: m.people,
        "classes": lambda: m.classes,
        **dict.fromkeys(("prosecutor.max", "prosecutor", "risk", "risk.max"), lambda: m.risk.prosecutor.max),
        **dict.fromkeys(("risk.prosecutor", "risk.prosecutor.max"), lambda: m.risk.prosecutor.max),
        **dict.fromkeys(("prosecutor.mean", "risk.mean", "risk.prosecutor.mean"), lambda: m.risk.prosecutor.mean),
        "risk.average": lambda: m.risk.prosecutor.mean,
        **dict.fromkeys(("journalist.max", "journalist"), lambda: m.risk.journalist.max),
        **dict.fromkeys(("risk.journalist", "risk.journalist.max"), lambda: m.risk.journalist.max),
        **dict.fromkeys(("journalist.mean", "risk.journalist.mean"), lambda: m.risk.journalist.mean),
        **dict.fromkeys(("marketer", "risk.marketer"), lambda: m.risk.marketer),
    }
    if (whole := m.whole_set) is not None:
        out |= {"whole_set.unique": lambda: whole.unique, "whole_set.unique_share": lambda: whole.unique_share}
        out |= {"whole_set.k": lambda: whole.k}
    present = m.presence
    if present is not None:
        out |= {
            "k_map": lambda: present.k_map,
            "delta_min": lambda: present.delta_min,
            "delta_max": lambda: present.delta_max,
        }
    return out


def _sensitive_numbers(m: Figures) -> dict[str, Callable[[str], float]]:
    return {
        **dict.fromkeys(("distinct", "l", "distinct_l", "p", "p_sensitive"), lambda c: m.diversity[c].distinct),
        **dict.fromkeys(("entropy", "entropy_l"), lambda c: m.diversity[c].entropy),
        "recursive": lambda c: m.diversity[c].recursive,
        "alpha": lambda c: m.diversity[c].alpha,
        "t": lambda c: m.closeness[c].t,
        **dict.fromkeys(("delta", "delta_disclosure"), lambda c: m.closeness[c].delta_disclosure),
        **dict.fromkeys(("beta", "basic_beta"), lambda c: m.closeness[c].beta),
        "enhanced_beta": lambda c: m.closeness[c].enhanced_beta,
    }

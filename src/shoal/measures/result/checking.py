"""Requirements in words: ``k>=5``, ``unique==0``, ``entropy[diagnosis]>=3``, ``t[diagnosis]<=0.2``, ``risk.max<=0.09``."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.errors import RequirementError, UsageError, nearest

if TYPE_CHECKING:
    from shoal.measures.result.figures import Figures as Measured

SLACK = 1e-12
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": lambda a, b: a >= b - SLACK,
    "<=": lambda a, b: a <= b + SLACK,
    "==": lambda a, b: abs(a - b) <= SLACK,
    ">": operator.gt,
    "<": operator.lt,
}
_PART = re.compile(r"^\s*([A-Za-z_][\w.]*?)\s*(?:\[(.+)\])?\s*(>=|<=|==|≥|≤|>|<)\s*([0-9.eE+-]+)\s*(%?)\s*$")
_SPELLING = {"≥": ">=", "≤": "<="}
_ALIASES = {
    "l": "distinct",
    "distinct_l": "distinct",
    "entropy_l": "entropy",
    "beta": "beta",
    "delta": "delta_disclosure",
    "risk": "prosecutor.max",
    "risk.max": "prosecutor.max",
    "risk.mean": "prosecutor.mean",
    "prosecutor": "prosecutor.max",
    "journalist": "journalist.max",
    "risk.prosecutor": "prosecutor.max",
    "risk.journalist": "journalist.max",
    "risk.prosecutor.max": "prosecutor.max",
    "risk.prosecutor.mean": "prosecutor.mean",
    "risk.journalist.max": "journalist.max",
    "risk.journalist.mean": "journalist.mean",
    "risk.marketer": "marketer",
}


@dataclass(frozen=True)
class Check:
    """One requirement, what was found, and whether it is met. True or false as a condition.

    >>> bool(Check("k >= 5", 3.0, False)), str(Check("k >= 5", 3.0, False))
    (False, 'not met: k >= 5 (found 3)')
    """

    requirement: str
    found: float
    met: bool
    parts: tuple[Check, ...] = ()

    def __bool__(self) -> bool:
        return self.met

    def __str__(self) -> str:
        if self.parts:
            return "; ".join(str(p) for p in self.parts)
        shown = "infinite" if math.isinf(self.found) else f"{self.found:.6g}"
        return f"{'met' if self.met else 'not met'}: {self.requirement} (found {shown})"

    def require(self) -> Check:
        """Itself if it is met; otherwise a :class:`~shoal.errors.RequirementError`."""
        if not self.met:
            raise RequirementError(f"{self}.", hint="Generalize or suppress, then measure again.")
        return self

    def to_json(self) -> dict[str, Any]:
        one = {"requirement": self.requirement, "met": self.met}
        return one | ({"parts": [p.to_json() for p in self.parts]} if self.parts else {"found": self.found})


def check(measured: Measured, text: str) -> Check:
    """All requirements of a comma-separated list."""
    pieces = re.split(r",(?![^\[]*\])", text)
    found = tuple(_one(measured, piece) for piece in pieces)
    if len(found) == 1:
        return found[0]
    return Check(text, math.nan, all(f.met for f in found), found)


def _one(measured: Measured, text: str) -> Check:
    match = _PART.match(text)
    if match is None:
        raise UsageError("the requirement is not understood.", hint="Write for example k>=5 or t[diagnosis]<=0.2.")
    name, column, sign, number, percent = match.groups()
    try:
        bound = float(number) / (100.0 if percent else 1.0)
    except ValueError:
        bound = math.nan
    if not math.isfinite(bound):
        raise UsageError("the bound of the requirement is not a number.", hint="Write for example k>=5.")
    sign = _SPELLING.get(sign, sign)
    value = number_of(measured, name, column)
    shown = f"{name}{f'[{column}]' if column else ''} {sign} {number}{percent}"
    return Check(shown, value, _OPERATORS[sign](value, bound))


def number_of(measured: Measured, name: str, column: str | None = None) -> float:
    """A number by its name, and by its sensitive column where it has one (not needed if there is only one).

    >>> from shoal.measures.result.measurement import Measured
    >>> from shoal.model.counts.classes import ClassCounts
    >>> number_of(Measured(ClassCounts((2, 3))), "prosecutor")
    0.5
    """
    key = _ALIASES.get(name, name)
    table = _numbers(measured)
    if key in table:
        return float(table[key]())
    sensitive = _sensitive_numbers(measured)
    if key in sensitive:
        names = tuple(measured.counts.sensitive)
        if column is None and len(names) == 1:
            column = names[0]
        if column not in names:
            known = ", ".join(names) or "none"
            raise UsageError(f"'{name}' needs a sensitive column.", hint=f"Write {name}[column]. Sensitive columns: {known}.")
        return float(sensitive[key](column))
    close = nearest(name, [*table, *sensitive, *_ALIASES])
    raise UsageError(f"there is no number '{name}'.", hint=f"Did you mean '{close}'?" if close else "For example k, unique, t.")


def _numbers(m: Measured) -> dict[str, Callable[[], float]]:
    out: dict[str, Callable[[], float]] = {
        "k": lambda: m.k,
        "unique": lambda: m.unique,
        "unique_share": lambda: m.unique_share,
        "records": lambda: m.records,
        "people": lambda: m.people,
        "classes": lambda: m.classes,
        "prosecutor.max": lambda: m.risk.prosecutor.max,
        "prosecutor.mean": lambda: m.risk.prosecutor.mean,
        "journalist.max": lambda: m.risk.journalist.max,
        "journalist.mean": lambda: m.risk.journalist.mean,
        "marketer": lambda: m.risk.marketer,
    }
    present = m.presence
    if present is not None:
        out |= {
            "k_map": lambda: present.k_map,
            "delta_min": lambda: present.delta_min,
            "delta_max": lambda: present.delta_max,
        }
    return out


def _sensitive_numbers(m: Measured) -> dict[str, Callable[[str], float]]:
    return {
        "distinct": lambda c: m.diversity[c].distinct,
        "entropy": lambda c: m.diversity[c].entropy,
        "recursive": lambda c: m.diversity[c].recursive,
        "alpha": lambda c: m.diversity[c].alpha,
        "t": lambda c: m.closeness[c].t,
        "delta_disclosure": lambda c: m.closeness[c].delta_disclosure,
        "beta": lambda c: m.closeness[c].beta,
        "enhanced_beta": lambda c: m.closeness[c].enhanced_beta,
    }

"""A number that is not simply counted: its interval, how it was made, and how far to trust it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from shoal.errors import InternalError
from shoal.model.display import written

Grade = Literal["A", "B", "C"]

GRADES: Mapping[str, str] = {
    "A": "exact for the distribution or counts given",
    "B": "estimated, inside the validity limits of the method",
    "C": "outside the validity limits, or from sizes only: do not decide on it alone",
}


@dataclass(frozen=True, repr=False)
class Estimate:
    """A value with interval ``[low, high]`` at confidence ``level``, method and grade.

    Grade A is exact (``low == value == high``), B estimated inside its validity, C outside it or from sizes only.
    ``log_value`` is the natural logarithm, kept where the value itself is too small for a float. ``notes`` are sentences
    for the reader: assumptions, and every validity limit that was passed.

    >>> e = Estimate.exact(0.336, method="k! e_k(p)")
    >>> float(e), e.grade, e.low, e.high
    (0.336, 'A', 0.336, 0.336)
    >>> print(Estimate(0.12, 0.10, 0.15, method="Pitman", grade="B"))
    0.12 [0.1, 0.15] (95 %, grade B, Pitman)
    """

    value: float
    low: float
    high: float
    level: float = 0.95
    method: str = ""
    grade: Grade = "B"
    log_value: float | None = None
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if any(math.isnan(x) for x in (self.value, self.low, self.high)):
            raise InternalError(f"an estimate by '{self.method}' came out as not-a-number.")
        slack = 1e-9 * max(1.0, abs(self.value))
        if not (self.low - slack <= self.value <= self.high + slack):
            raise InternalError(f"an estimate by '{self.method}' lies outside its own interval.")

    @classmethod
    def exact(
        cls, value: float, *, method: str, log_value: float | None = None, notes: tuple[str, ...] = (), **details: Any
    ) -> Estimate:
        """An exact value: grade A, interval of width zero."""
        return cls(value, value, value, level=1.0, method=method, grade="A", log_value=log_value, notes=notes, details=details)

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"<Estimate {self}>"

    def __str__(self) -> str:
        if self.grade == "A":
            return f"{written(self.value)} (exact, {self.method})"
        between = f"[{written(self.low)}, {written(self.high)}]"
        return f"{written(self.value)} {between} ({100 * self.level:.0f} %, grade {self.grade}, {self.method})"

    def to_json(self) -> dict[str, Any]:
        """The keys that stay: ``value, low, high, grade, method``, and what else is known."""
        out: dict[str, Any] = {n: getattr(self, n) for n in ("value", "low", "high", "level", "grade", "method")}
        if self.log_value is not None:
            out["log_value"] = self.log_value
        if self.notes:
            out["notes"] = list(self.notes)
        if self.details:
            out["details"] = dict(self.details)
        return out

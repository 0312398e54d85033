"""How much better does an attack work on the people in the table than on others? A rate, a control rate, and their difference."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.attacks._common import wilson
from shoal.model.attack import AttackResult, Verdict

BROKEN = 0.1
"""An attack that surely works for this share of the people in the table, beyond what works on others, breaks it."""


@dataclass(frozen=True)
class Excess:
    """Successes on the original and on the control group; ``risk`` is the share of those not found by chance that are found."""

    successes: int
    tries: int
    control: int
    control_tries: int

    @property
    def rate(self) -> float:
        return self.successes / self.tries

    @property
    def control_rate(self) -> float:
        return self.control / self.control_tries

    @property
    def risk(self) -> float:
        return _risk(self.rate, self.control_rate)

    @property
    def interval(self) -> tuple[float, float]:
        """At least 95 %: the worst ends of the intervals of both rates.

        >>> low, high = Excess(50, 100, 50, 100).interval
        >>> low < 0 < high
        True
        """
        (low, high), (least, most) = wilson(self.successes, self.tries), wilson(self.control, self.control_tries)
        return _risk(low, most), _risk(high, least)


def _risk(rate: float, control: float) -> float:
    return (rate - control) / (1 - control) if control < 1 else 0.0


def verdict_of(low: float) -> Verdict:
    """By the low end of the risk: nothing beyond the control holds, above :data:`BROKEN` is broken.

    >>> verdict_of(0.0), verdict_of(0.001), verdict_of(0.1), verdict_of(0.101)
    ('holds', 'warning', 'warning', 'broken')
    """
    return "holds" if low <= 0 else "warning" if low <= BROKEN else "broken"


def result_of(name: str, question: str, found: Excess, worst: str, said: str) -> AttackResult:
    """The result with the risk beyond the control group as its rate."""
    low, high = found.interval
    risk = min(1.0, max(0.0, found.risk))
    sentence = (
        f"{said}: {found.successes:,} of {found.tries:,} tries on the original succeed, {found.control:,} of "
        f"{found.control_tries:,} on the control group."
    )
    ends = max(0.0, min(1.0, low)), max(0.0, min(1.0, high))
    return AttackResult(name, question, risk, *ends, None, worst, verdict_of(low), sentence)

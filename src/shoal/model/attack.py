"""AttackResult: what one attack on a release found."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from shoal.errors import InternalError
from shoal.model.display import as_percent

Verdict = Literal["holds", "warning", "broken", "not run"]
VERDICTS: tuple[Verdict, ...] = ("broken", "warning", "holds", "not run")
"""From bad to good; a certificate lists attacks in this order."""
FINDERS = ("further knowledge", "linkage", "intersection", "known records", "sparse matching", "whole trail", "trail matching")
"""Attacks whose rate is a share of the people: found, or their values learnt as if they were found."""


@dataclass(frozen=True)
class AttackResult:
    """One attack: its question, how often it succeeded, and what that means.

    ``name`` says what was tried (``linkage``, ``homogeneity``, …), ``question`` what the attacker tries, in one sentence.
    ``rate`` is the share of tries (records, people, cells) that succeed, ``low`` and ``high`` its 95 % interval; None where the
    attack is not a rate. ``claimed`` is the bound that the release claims for it; None where it claims nothing. ``worst`` says
    where it succeeds most, in counts and column names, never in data values. ``verdict``: ``holds`` (at most what is claimed),
    ``warning`` (a weakness that no claim covers), ``broken`` (more than claimed) or ``not run``. ``sentence`` is the finding in
    plain words.

    >>> r = AttackResult("linkage", "Can a neighbour find a record?", 0.11, 0.08, 0.14, 0.2, "", "holds", "1 in 9 is found.")
    >>> r.to_json()["verdict"], AttackResult.not_run("linkage", "no table was given").sentence
    ('holds', 'Not run: no table was given.')
    """

    name: str
    question: str
    rate: float | None
    low: float | None
    high: float | None
    claimed: float | None
    worst: str
    verdict: Verdict
    sentence: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InternalError(f"attack '{self.name}' ended with the unknown verdict '{self.verdict}'.")
        for number in (self.rate, self.low, self.high, self.claimed):
            if number is not None and not math.isfinite(number):
                raise InternalError(f"attack '{self.name}' came out as not-a-number.")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def exact(
        cls, name: str, question: str, rate: float, claimed: float | None, worst: str, verdict: Verdict, sentence: str
    ) -> AttackResult:
        """An attack whose rate was counted, so that it has no interval."""
        return cls(name, question, rate, rate, rate, claimed, worst, verdict, sentence)

    @classmethod
    def not_run(cls, name: str, why: str, question: str = "") -> AttackResult:
        """An attack that was not tried; ``why`` is the end of a sentence."""
        return cls(name, question, None, None, None, None, "", "not run", f"Not run: {why}.")


@dataclass(frozen=True, repr=False)
class AttackReport:
    """The results of all attacks, worst first."""

    folder: str
    results: tuple[AttackResult, ...]

    def __repr__(self) -> str:
        counts = [f"{sum(r.verdict == verdict for r in self.results)} {verdict}" for verdict in VERDICTS]
        return f"<AttackReport on {self.folder}: {', '.join(counts)}>"

    @property
    def holds(self) -> bool:
        """Whether no attack did better than the release claims."""
        return all(r.verdict != "broken" for r in self.results)

    def to_json(self) -> dict[str, Any]:
        return {"folder": self.folder, "holds": self.holds, "attacks": [r.to_json() for r in self.results]}


def worst_first(results: Iterable[AttackResult]) -> list[AttackResult]:
    """Broken before warning before holds; within one verdict the highest rate first.

    >>> a = AttackResult("a", "", 0.1, 0.1, 0.1, 0.2, "", "holds", "")
    >>> b = AttackResult("b", "", 0.9, 0.9, 0.9, 0.2, "", "broken", "")
    >>> [r.name for r in worst_first([a, b])]
    ['b', 'a']
    """
    return sorted(results, key=lambda r: (VERDICTS.index(r.verdict), -(r.rate if r.rate is not None else -1.0), r.name))


def strongest(results: Iterable[AttackResult], stated: float = 0.0) -> AttackResult | None:
    """The attack that finds most people, beyond what the release claims and beyond the share that is ``stated`` anyway.

    >>> weak = AttackResult("linkage: changed columns", "", 0.3, 0.3, 0.3, 0.2, "", "broken", "")
    >>> strong = AttackResult("further knowledge", "", 0.9, 0.9, 0.9, None, "", "warning", "")
    >>> strongest([weak, strong]).name, strongest([weak, strong], 0.9)
    ('further knowledge', None)
    """
    results_found = [r for r in results if r.verdict in ("broken", "warning") and r.name.partition(":")[0] in FINDERS]
    return max((r for r in results_found if r.rate is not None and r.rate > stated), key=lambda r: r.rate or 0.0, default=None)


def strongest_sentence(results: Iterable[AttackResult], stated: float = 0.0) -> str:
    """The strongest attack for a headline, or nothing."""
    top = strongest(results, stated)
    if top is None or top.rate is None:
        return ""
    ends = (as_percent(top.low or 0.0), as_percent(top.high or 0.0))
    between = f", between {ends[0]} and {ends[1]}" if ends[0] != ends[1] else ""
    where = f" ({top.worst})" if top.worst else ""
    return f" The strongest attack tried, '{top.name}', succeeds for {as_percent(top.rate)}{between}{where}."

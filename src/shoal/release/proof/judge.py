"""Are the requirements met? Decided from the Facts of a written file, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.errors import UsageError
from shoal.release.proof.recount import Facts, Inside

SLACK = 1e-9
"""Room for rounding in comparisons of real numbers; counts are compared exactly."""


@dataclass(frozen=True)
class Finding:
    """One requirement: what was asked, what the file has, and whether that is enough."""

    requirement: str
    sentence: str
    asked: float
    found: float | None
    met: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "requirement": self.requirement,
            "sentence": self.sentence,
            "asked": self.asked,
            "found": self.found,
            "met": self.met,
        }


def judge(require: Mapping[str, Any], facts: Facts) -> list[Finding]:
    """Each requirement of a policy (its ``require`` part) against the facts.

    >>> from shoal.release.proof.recount import Facts
    >>> facts = Facts(records=10, classes=2, k=4, unique=0, sizes={4: 1, 6: 1})
    >>> [(f.requirement, f.found, f.met) for f in judge({"k": 5, "risk": {"average": 0.2}}, facts)]
    [('k', 4, False), ('risk.average', 0.2, True)]
    """
    out: list[Finding] = []
    if "k" in require:
        out.append(_least("k", f"every class has at least {require['k']} members", require["k"], facts.k, exact=True))
    for name, limit in sorted(require.get("risk", {}).items()):
        out.append(_risk(name, limit, facts))
    for column, asked in sorted(require.get("diversity", {}).items()):
        out.extend(_diversity(column, asked, _inside(facts, column)))
    for column, asked in sorted(require.get("closeness", {}).items()):
        out.append(_closeness(column, asked, _inside(facts, column)))
    return out


def _least(name: str, sentence: str, asked: float, found: float, *, exact: bool = False) -> Finding:
    return Finding(name, sentence, asked, found, found >= asked - (0 if exact else SLACK))


def _risk(name: str, limit: float, facts: Facts) -> Finding:
    if name in ("prosecutor", "journalist"):
        found = 1.0 / facts.k
        sentence = f"no record is re-identified by a {name} with a chance above {limit:g}"
    else:
        found = facts.to_json()["risk"]["average"]
        sentence = f"the average chance of re-identification is at most {limit:g}"
    return Finding(f"risk.{name}", sentence, limit, found, found <= limit + (0 if name == "prosecutor" else SLACK))


def _diversity(column: str, asked: Mapping[str, Any], inside: Inside) -> list[Finding]:
    out = []
    if "distinct" in asked:
        sentence = f"every class holds at least {asked['distinct']} different values of '{column}'"
        out.append(_least(f"diversity.{column}.distinct", sentence, asked["distinct"], inside.distinct, exact=True))
    if "entropy" in asked:
        sentence = f"'{column}' in every class is as diverse as {asked['entropy']:g} equally frequent values"
        out.append(_least(f"diversity.{column}.entropy", sentence, asked["entropy"], inside.to_json()["entropy"]))
    if "recursive" in asked:
        c, level = float(asked["recursive"]["c"]), int(asked["recursive"]["l"])
        ratio = inside.to_json()["recursive"].get(str(level))
        sentence = f"in every class the commonest value of '{column}' stays below {c:g} times the tail from place {level}"
        met = level == 1 or (ratio is not None and ratio < c)
        out.append(Finding(f"diversity.{column}.recursive", sentence, c, ratio, met))
    return out


def _closeness(column: str, asked: Mapping[str, Any], inside: Inside) -> Finding:
    distance = asked.get("distance", "equal")
    known = inside.to_json()
    found = known.get(f"t_{distance}", known["t_equal"])  # without a hierarchy the equal distance, which is never smaller
    sentence = f"'{column}' in every class is within {asked['t']:g} ({distance} distance) of the published table"
    return Finding(f"closeness.{column}.t", sentence, asked["t"], found, found <= asked["t"] + SLACK)


def _inside(facts: Facts, column: str) -> Inside:
    if column not in facts.sensitive:
        raise UsageError(f"column '{column}' was not counted as sensitive.", hint="Name it under roles.sensitive.")
    return facts.sensitive[column]


def recursive_levels(require: Mapping[str, Any]) -> dict[str, list[int]]:
    """The levels l that recursive diversity asks about, per column."""
    asked = require.get("diversity", {})
    return {c: [int(d["recursive"]["l"])] for c, d in asked.items() if "recursive" in d}

"""Are the requirements met? Decided from the Facts of a written file, and what other sources say where the file cannot.

The file does not hold the population: a k-map, a journalist's risk against a population table and an estimate of population
uniques are handed in as ``given``, by place of the requirement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shoal.errors import UsageError
from shoal.model import requirement as req
from shoal.model.requirement import Requirement, Verdict
from shoal.release.proof.facts import Facts, Inside

Given = Mapping[tuple[str, ...], float | None]


def judge(requirements: Iterable[Requirement], facts: Facts, given: Given | None = None) -> list[Verdict]:
    """Each requirement against the facts.

    >>> facts = Facts(records=10, classes=2, k=4, unique=0, sizes={4: 1, 6: 1})
    >>> [(v.requirement.name, v.found, v.met) for v in judge([req.K(5), req.AverageRisk(0.2)], facts)]
    [('k', 4, False), ('risk.average', 0.2, True)]
    """
    return [r.judged(_found(r, facts, given or {})) for r in requirements]


def _found(r: Requirement, facts: Facts, given: Given) -> float | None:
    if r.place in given:
        return given[r.place]
    if r.sensitive is not None:
        return _inside(r, facts.of(r.sensitive))
    match r:
        case req.K():
            return facts.k
        case req.MaxRisk():
            return 1.0 / facts.k
        case req.AverageRisk():
            return facts.average_risk
        case req.SampleUniqueness():
            return facts.unique_share
    raise UsageError(
        f"'{r.name}' cannot be counted in a written file.", hint="It needs a population table, an estimate or the original."
    )


def _inside(r: Requirement, inside: Inside) -> float | None:
    known = inside.to_json()
    match r:
        case req.DistinctDiversity() | req.PSensitive():
            return inside.distinct
        case req.RecursiveDiversity():
            ratio: float | None = known["recursive"].get(str(r.l))
            return ratio
        case req.TCloseness():  # without a hierarchy the equal distance, which is never smaller
            return float(known.get(f"t_{r.distance}", known["t_equal"]))
    found: float | None = known[r.place[-1]]
    return found


def recursive_levels(requirements: Iterable[Requirement]) -> dict[str, list[int]]:
    """The levels l that recursive diversity asks about, per column."""
    out: dict[str, list[int]] = {}
    for r in requirements:
        if isinstance(r, req.RecursiveDiversity):
            out.setdefault(r.column, []).append(r.l)
    return out

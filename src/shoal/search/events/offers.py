"""Plans that would do where none within the limits does: more left out, pseudonyms renewed, less asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from shoal.measures.events.granularity import NONE
from shoal.model.requirement import KnownRecords
from shoal.model.written import written
from shoal.search.events.problem import EVERY, NEVER, EventProblem, Shape
from shoal.search.events.suppress import Asked

MOST_TRIED = 24
MOST_LEFT_OUT, FEW_LEFT_OUT = 0.9, 0.5
"""Plans that leave out more are no offer; fewer people are offered where at most half of the records go."""


@dataclass(frozen=True)
class Offer:
    """A shape that meets ``asked`` when this share of the records may be left out."""

    shape: Shape
    suppress: float
    loss: float
    asked: tuple[Asked, ...]

    @property
    def sentence(self) -> str:
        allow = ceil(self.suppress * 1e4) / 1e4
        wanted = ", ".join(str(r) for r in self.asked)
        return f"allow: {{suppress: {written(allow)}}} for {wanted} with {self.shape.words} (loss {written(self.loss, 2)})"

    def to_json(self) -> dict[str, Any]:
        return {
            "shape": self.shape.to_json(),
            "suppress": self.suppress,
            "loss": self.loss,
            "require": [str(r) for r in self.asked],
        }


Needed = Callable[[EventProblem, Shape], Offer | None]
"""The offer to leave out as many records as a shape needs; None where not even that does."""


def nearest_offers(problem: EventProblem, needed: Needed) -> tuple[Offer, ...]:
    """Plans that would do, least loss first: more left out; no time or no place; records not linked; fewer people asked for."""
    shapes = problem.shapes
    out = [_fewest(problem, shapes, needed), _fewest(problem, _without(problem), needed)]
    if not any(s.renew == EVERY for s in shapes):
        out.append(_fewest(problem, [replace(s, renew=EVERY) for s in shapes if s.renew == NEVER], needed))
    out.append(_with_fewer_people(problem, needed))
    good = {(o.shape, o.asked): o for o in out if o is not None and o.suppress <= MOST_LEFT_OUT}
    return tuple(sorted(good.values(), key=lambda o: (o.loss, o.suppress)))


def _without(problem: EventProblem) -> list[Shape]:
    """The shapes without a time, and without a place."""
    out = [replace(s, time=NONE) for s in problem.shapes if NONE in problem.times and s.place != NONE]
    out += [replace(s, place=NONE) for s in problem.shapes if NONE in problem.places and s.time != NONE]
    return [s for s in dict.fromkeys(out) if s not in problem.shapes]


def _with_fewer_people(problem: EventProblem, needed: Needed) -> Offer | None:
    """Half as many people asked for, a quarter, and so on, until few enough records go."""
    asked = problem.asked
    while True:
        less = tuple(replace(r, k=max(2, r.k // 2)) if isinstance(r, KnownRecords) else r for r in asked)
        if less == asked:
            return None
        found = _fewest(replace(problem, asked=less), problem.shapes, needed)
        if found is not None and found.suppress <= max(problem.allow, FEW_LEFT_OUT):
            return found
        asked = less


def _fewest(problem: EventProblem, shapes: Sequence[Shape], needed: Needed) -> Offer | None:
    """The offer that leaves out fewest records, among the coarsest shapes (a coarser one never needs more)."""
    found = [o for o in (needed(problem, s) for s in list(shapes)[-MOST_TRIED:]) if o is not None]
    return min(found, key=lambda o: (o.suppress, o.loss), default=None)

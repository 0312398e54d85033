"""plan.json of an event release: how times and places were coarsened, so that anybody can carry other records through it.

It holds column names, widths, levels and public labels; of a hierarchy only values that enough people share. It reveals neither
pseudonyms nor the seed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import PolicyError, UnreadableError
from shoal.kernels.text import canonical_text
from shoal.measures.events.granularity import NONE
from shoal.model.requirement import KnownRecords
from shoal.release.events.publish import place_labels
from shoal.release.events.read import EventTable
from shoal.release.policy.policy import Policy
from shoal.search.events.event_search import Found
from shoal.search.events.problem import CUT, EVERY

EVENT_PLAN = "shoal-event-plan/1"
FEWEST = 5
"""A value that fewer people have is not named in a plan, whatever k is asked for."""


@dataclass(frozen=True)
class EventPlan:
    """What was done to an event table. ``labels`` maps the values of a place to what is published of them."""

    unit: str
    time: str | None
    time_width: str
    place: tuple[str, ...]
    place_level: str
    most_records: int
    renew: str
    shift: int
    vault: str | None = None
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)

    def to_json(self) -> str:
        data = {
            "format": EVENT_PLAN,
            "unit": self.unit,
            "time": self.time,
            "time_width": self.time_width,
            "place": list(self.place),
            "place_level": self.place_level,
            "most_records": self.most_records,
            "renew": self.renew,
            "shift": self.shift,
            "vault": self.vault,
            "labels": {c: dict(sorted(m.items())) for c, m in self.labels.items()},
        }
        return json.dumps(data, ensure_ascii=False, sort_keys=True, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> EventPlan:
        """A plan that Shoal wrote; anything else is refused."""
        try:
            data = json.loads(text)
            if data.pop("format") != EVENT_PLAN:
                raise ValueError
            made = cls(**{**data, "place": tuple(data["place"])})
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise PolicyError(f"the plan is not of format '{EVENT_PLAN}'.", hint="Use a plan.json that Shoal wrote.") from None
        if made.to_json() != text:
            raise PolicyError("the plan is not as Shoal writes it.", hint="Use a plan.json that Shoal wrote.")
        return made


def read_event_plan(path: Path) -> EventPlan:
    """The plan.json of an earlier event release."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UnreadableError(f"plan file '{path.name}' cannot be read.", hint="Check the path after --plan.") from None
    return EventPlan.from_json(text)


def with_choices_of(policy: Policy, plan: EventPlan) -> Policy:
    """The policy with the choices of an earlier plan in place of its own; requirements and limits stay."""
    rules = policy.events
    if rules is None or (rules.unit, rules.time, rules.place) != (plan.unit, plan.time, plan.place):
        raise PolicyError(
            "the plan is about other columns of person, time and place than the policy.", hint="Name the same under events."
        )
    if plan.place_level == CUT:
        raise PolicyError(
            "a cut rises as far as the records ask for, and a plan publishes no rare places: it cannot be repeated.",
            hint="Leave --plan out and write events: {place_levels: [cut]}: it is computed again.",
        )
    fixed = replace(
        rules,
        time_widths=(plan.time_width,) if rules.time else (),
        place_levels=(plan.place_level,) if rules.place else (),
        renew=(plan.renew,),
        most_records=(plan.most_records,) if plan.most_records else (),
        shift=plan.shift,
    )
    return replace(policy, events=fixed)


def plan_of(events: EventTable, found: Found) -> EventPlan:
    """The plan of a release, as it is published."""
    shape, rules = found.shape, events.rules
    fewest = max([FEWEST, *(r.k for r in events.problem.asked if isinstance(r, KnownRecords))])
    named = shape.place == CUT or shape.place.startswith("level:")
    labels = {p.name: _labels(events, found, i, fewest) for i, p in enumerate(events.places)} if named else {}
    return EventPlan(
        rules.unit,
        rules.time,
        shape.time if rules.time else NONE,
        rules.place,
        shape.place,
        shape.most,
        shape.renew,
        rules.shift,
        None if shape.renew == EVERY else rules.vault or None,
        labels,
    )


def _labels(events: EventTable, found: Found, which: int, fewest: int) -> dict[str, str]:
    """Value to label, for the values that enough people have."""
    place = events.places[which]
    both = np.unique(place.codes * events.n_people + events.problem.person) // events.n_people
    people = np.bincount(both, minlength=len(place.values))
    texts: list[str] = canonical_text(place.values).to_pylist()
    labels: list[Any] = place_labels(place, found.shape.place, events.trees, found.levels).to_pylist()
    return {t: str(lab) for t, lab, n in zip(texts, labels, people.tolist(), strict=True) if n >= fewest}

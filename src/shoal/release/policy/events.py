"""The ``events`` part of a policy: which columns tell person, time and place, and what the search may choose from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import PolicyError, UsageError
from shoal.model.requirement import InferredNext, InferredPlace, KnownRecords, NearRecords, Requirement

SUPPRESS = 0.2
"""Share of the records that may be left out if a policy does not say: without any, one rare place costs all places."""
ONLY = "only"
NEEDLESS = (
    "unit", "weight", "preset", "population", "sample", "transform", "optimize", "objective", "method", "cells",
    "hardened", "analyses",
)  # fmt: skip


CHOICES = ("time_widths", "place_levels", "hierarchy", "renew", "most_records", "shift", "weights", "vault")


@dataclass(frozen=True)
class EventRules:
    """``time_widths``, ``place_levels``, ``renew`` and ``most_records`` are choices, finest first; empty: what suits the column.

    ``shift`` is the most days that a person's dates are moved, 0 for none; ``weights`` say how much each loss counts. ``vault``
    names the domain of the vault whose pseudonyms are published; without it they are numbers dealt at random. ``flows``: trips by
    origin and destination are published beside the records, or (:data:`ONLY`) instead of them; None: beside them, wherever the
    records show a time and one place, but the plan is chosen as without.
    """

    unit: str
    time: str | None = None
    place: tuple[str, ...] = ()
    time_widths: tuple[str, ...] = ()
    place_levels: tuple[str, ...] = ()
    hierarchy: Mapping[str, Any] = field(default_factory=dict)
    renew: tuple[str, ...] = ()
    most_records: tuple[int, ...] = ()
    shift: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)
    vault: str = ""
    flows: bool | str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Person, time and places."""
        return (self.unit, *((self.time,) if self.time else ()), *self.place)

    def to_json(self) -> dict[str, Any]:
        """The part as a policy says it."""
        out: dict[str, Any] = {"unit": self.unit}
        out |= {"time": self.time} if self.time else {}
        for name in ("place", "time_widths", "place_levels", "renew", "most_records"):
            if getattr(self, name):
                out[name] = list(getattr(self, name))
        for group in ("hierarchy", "weights"):
            if getattr(self, group):
                out[group] = dict(getattr(self, group))
        out |= {n: getattr(self, n) for n in ("shift", "vault") if getattr(self, n)}
        return out if self.flows is None else out | {"flows": self.flows}


def events_of(plain: Mapping[str, Any], asked: tuple[Requirement, ...]) -> EventRules | None:
    """The rules that a policy says; None where it is about no event table.

    The requirements must fit: event tables take requirements on known records, and no others.
    """
    section = plain.get("events")
    if section is None:
        other = next((r for r in asked if r.scope == "trace"), None)
        if other is None:
            return None
        hint = "Add events: {unit: …, time: …, place: …}."
        raise PolicyError(f"'require.{other.place[0]}' applies to event tables.", hint=hint, path=f"require.{other.name}")
    from shoal.measures.events.knowledge import Sensitive, of_events  # for event tables only

    for r in asked:
        try:
            of_events(r)
        except UsageError as error:
            what = f"'require.{r.place[0]}' applies to classes, not to event tables."
            raise PolicyError(what, hint=error.hint, path=f"require.{r.name}") from None
    values = [r for r in asked if isinstance(r, Sensitive)]
    if values and not any(isinstance(r, KnownRecords | NearRecords) for r in asked):
        raise PolicyError(
            f"'require.{values[0].name}' does not say how many records of a person are known.",
            hint="Ask for known: {records: 2, k: 5} too.",
            path=f"require.{values[0].name}",
        )
    _refuse_others(plain, asked)
    place = section.get("place", ())
    inferred = [r for r in asked if isinstance(r, InferredPlace)]
    if inferred and not place:
        hint = "Add place: there, or leave the requirement out."
        raise PolicyError(f"'require.{inferred[0].name}' requires 'events.place'.", hint=hint, path=f"require.{inferred[0].name}")
    rules = EventRules(
        unit=section["unit"],
        time=section.get("time"),
        place=(place,) if isinstance(place, str) else tuple(place),
        time_widths=tuple(section.get("time_widths", ())),
        place_levels=tuple(section.get("place_levels", ())),
        hierarchy=dict(section.get("hierarchy", {})),
        renew=_list_of(section.get("renew", ())),
        most_records=_list_of(section.get("most_records", ())),
        shift=section.get("shift", 0),
        weights=dict(section.get("weights", {})),
        vault=section.get("vault", ""),
        flows=section.get("flows"),
    )
    _check(rules)
    if rules.flows is True and any(isinstance(r, InferredNext) for r in asked):
        raise PolicyError(
            "'events.flows' publishes where people go next, and 'require.next' limits what tells it.",
            hint="Leave one of them out.",
            path="events.flows",
        )
    return rules


def _list_of(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _check(rules: EventRules) -> None:
    if not rules.time and not rules.place:
        raise PolicyError("'events' names neither a time nor a place.", hint="Add time: or place: there.", path="events")
    if len(set(rules.columns)) != len(rules.columns):
        raise PolicyError("'events' names a column twice.", hint="Name each column once.", path="events")
    if rules.shift and not rules.time:
        raise PolicyError("'events.shift' moves dates, and no time is named.", hint="Add time: there.", path="events.shift")
    if rules.flows and not rules.place:
        raise PolicyError("'events.flows' counts trips between places, and no place is named.", path="events.flows")
    if rules.flows == ONLY and (unused := [n for n in CHOICES if getattr(rules, n)]):
        hint = "Leave it out: there are no records that it applies to."
        raise PolicyError(f"'events.{unused[0]}' is not used with 'flows: only'.", hint=hint, path=f"events.{unused[0]}")
    for name in rules.hierarchy:
        if name not in rules.place:
            raise PolicyError(f"'events.hierarchy' names '{name}', which is not a place.", path=f"events.hierarchy.{name}")


def _refuse_others(plain: Mapping[str, Any], asked: tuple[Requirement, ...]) -> None:
    """Parts of a policy that say nothing of an event table: what is given and not used misleads."""
    for name in NEEDLESS:
        if name in plain:
            raise PolicyError(f"'{name}' is not used for an event table.", hint=f"Leave '{name}' out.", path=name)
    roles = plain.get("roles", {})
    direct = roles.get("direct")
    masks = direct.items() if isinstance(direct, Mapping) else ()
    masked = [n for n, rule in masks if rule and ("vault" in rule or rule.get("mask", "drop") != "drop")]
    if masked:
        what = f"'roles.direct.{masked[0]}' is to be masked; an event table publishes no direct identifier."
        hint = "List it without a mask (it is left out). Pseudonyms of the vault for the person: events: {vault: DOMAIN}."
        raise PolicyError(what, hint=hint, path=f"roles.direct.{masked[0]}")
    if roles.get("quasi"):
        raise PolicyError(
            "'roles.quasi' is not judged in an event table.",
            hint="Name the column as a place (it is then part of what is known), under roles.direct (left out), "
            "roles.sensitive (with a requirement) or roles.insensitive (published as it is).",
            path="roles.quasi",
        )
    for name in roles.get("sensitive") or ():
        if name not in {r.sensitive for r in asked}:
            what = f"'roles.sensitive' names '{name}', and no requirement is about it."
            hint = f"Ask for diversity: {{{name}: {{alpha: 0.5}}}}, or name it under roles.direct or roles.insensitive."
            raise PolicyError(what, hint=hint, path="roles.sensitive")

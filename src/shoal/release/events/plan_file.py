"""plan.json of an event release: how times and places were coarsened, so that anybody can carry other records through it.

It holds column names, widths, levels and public labels; of a hierarchy only values that enough people share. It reveals neither
pseudonyms nor the seed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.attacks.traces import MOST_TARGETS, Published, joined_traces, targets
from shoal.errors import PolicyError, TamperError, UnreadableError, UsageError, VerificationError
from shoal.kernels.text import canonical_text
from shoal.measures.events.knowledge import most_known
from shoal.measures.events.traces import NONE, Traces
from shoal.model.attack import AttackResult
from shoal.model.certificate.certificate import NAME
from shoal.model.certificate.events import EventCertificate, EventData, EventSteps
from shoal.model.certificate.file import is_of_events, read_event_certificate
from shoal.model.display import written
from shoal.model.requirement import Requirement
from shoal.release.events.publish import place_labels
from shoal.release.events.records import EventTable, fewest_of
from shoal.release.policy.events import ONLY, EventRules
from shoal.release.policy.policy import Policy
from shoal.release.proof.events import facts_of_rows
from shoal.release.proof.read import rows
from shoal.search.events.event_search import Solution
from shoal.search.events.problem import CUT, EVERY, Shape

EVENT_PLAN = "shoal-event-plan/1"


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
        data = {"format": EVENT_PLAN, **vars(self)}
        return json.dumps(data, ensure_ascii=False, sort_keys=True, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> EventPlan:
        """A plan that Shoal wrote; anything else is refused."""
        try:
            data = json.loads(text)
            if data.pop("format") != EVENT_PLAN:
                raise ValueError
            plan = cls(**{**data, "place": tuple(data["place"])})
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise PolicyError(f"the plan is not of format '{EVENT_PLAN}'.", hint="Use a plan.json that Shoal wrote.") from None
        if plan.to_json() != text:
            raise PolicyError("the plan is not as Shoal writes it.", hint="Use a plan.json that Shoal wrote.")
        return plan


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
    if rules is None or ((rules.unit, rules.time, rules.place) != (plan.unit, plan.time, plan.place) and rules.flows != ONLY):
        hint = "Name the same under events."
        raise PolicyError("the plan is about other columns of person, time and place than the policy.", hint=hint)
    if rules.flows == ONLY:
        return policy
    if plan.place_level == CUT:
        what = "a cut rises as far as the records ask for, and a plan publishes no rare places: it cannot be repeated."
        raise PolicyError(what, hint="Leave --plan out and write events: {place_levels: [cut]}: it is computed again.")
    shape = Shape(plan.time_width, plan.place_level, plan.most_records, plan.renew)
    return with_shape(policy, replace(rules, shift=plan.shift), shape)


def with_shape(policy: Policy, rules: EventRules, shape: Shape) -> Policy:
    """The policy with these rules, and the choices of this shape only."""
    fixed = replace(
        rules,
        time_widths=(shape.time,) if rules.time else (),
        place_levels=(shape.place,) if rules.place else (),
        renew=(shape.renew,),
        most_records=(shape.most,) if shape.most else (),
    )
    return replace(policy, events=fixed)


def plan_of(events: EventTable, solution: Solution) -> EventPlan:
    """The plan of a release, as it is published."""
    shape, rules = solution.shape, events.rules
    fewest = fewest_of(events.problem.asked)
    named = shape.place == CUT or shape.place.startswith("level:")
    labels = {p.name: _labels(events, solution, i, fewest) for i, p in enumerate(events.places)} if named else {}
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


def _labels(events: EventTable, solution: Solution, which: int, fewest: int) -> dict[str, str]:
    """Value to label, for the values that enough people have."""
    place = events.places[which]
    both = np.unique(place.codes * events.n_people + events.problem.person) // events.n_people
    people = np.bincount(both, minlength=len(place.values))
    texts: list[str] = canonical_text(place.values).to_pylist()
    labels: list[Any] = place_labels(place, solution.shape.place, events.trees, solution.levels).to_pylist()
    return {t: str(lab) for t, lab, n in zip(texts, labels, people.tolist(), strict=True) if n >= fewest}


QUESTION = "Can the pseudonyms be joined with those of an earlier release, and what do both tell together?"
Joined = list[tuple[Any, Any]]
"""Pseudonyms of the new release with those of the earlier one."""


def check_earlier(place: Path) -> EventCertificate:
    """The certificate of an earlier event release; anything else is refused."""
    if not (place / NAME).is_file() or not is_of_events(place):
        what = f"'{place.name}' is not the folder of an event release."
        raise UsageError(what, hint="Name an earlier event release of the same people after --previous.")
    certificate = read_event_certificate(place / NAME)
    if certificate.data.file is None:
        hint = "Name a release that was written as a file."
        raise UsageError(f"the data of '{place.name}' are a table of a database.", hint=hint)
    if Path(certificate.data.file).name != certificate.data.file or (place / certificate.data.file).is_symlink():
        raise TamperError("the certificate of the earlier release names data outside its folder.")
    return certificate


def joined_with(
    file: Path, data: EventData, steps: EventSteps, earlier: Path, asked: Sequence[Requirement], seed: int = 0
) -> AttackResult:
    """Pseudonyms of a release joined with those of an earlier one: by their names, where both are of one domain of the vault,
    else by the points that both publish alike. Then known records are counted over what both say of the joined."""
    before = check_earlier(earlier)
    name = f"earlier release: {earlier.name}"
    alike = [n for n in data.points if n in before.data.points and _same(n, data, steps, before)]
    if data.unit is None or before.data.unit is None:
        return AttackResult.not_run(name, "one of the two publishes no pseudonyms, so there is nothing to join", QUESTION)
    new = list(rows(file, [data.unit, *data.points]))
    old = list(rows(earlier / str(before.data.file), [before.data.unit, *before.data.points]))
    if steps.vault is not None and steps.vault == before.steps.vault:
        there = {r[0] for r in old}
        pairs, tried = [(n, n) for n in dict.fromkeys(r[0] for r in new) if n in there], len({r[0] for r in new})
    elif not alike:
        return AttackResult.not_run(name, "no time or place is published alike in both", QUESTION)
    else:
        pairs, tried = _by_points(_part(new, data, alike), _part(old, before.data, alike), seed)
    return _result(name, pairs, tried, new, old, most_known(asked) or 1)


def _same(column: str, data: EventData, steps: EventSteps, before: EventCertificate) -> bool:
    if column == data.time:
        return column == before.data.time and steps.time == before.steps.time and not steps.shift and not before.steps.shift
    return column in before.data.place and steps.place == before.steps.place


def _part(shown: list[tuple[Any, ...]], data: EventData, alike: list[str]) -> list[tuple[Any, tuple[Any, ...]]]:
    """Pseudonym and point of each record, by the columns that both publish alike."""
    which = [1 + data.points.index(n) for n in alike]
    return [(r[0], tuple(r[i] for i in which)) for r in shown]


def _by_points(new: list[tuple[Any, Any]], old: list[tuple[Any, Any]], seed: int) -> tuple[Joined, int]:
    """For pseudonyms of the new release (all, or a sample) the one of the earlier release that stands out; and how many were
    tried."""
    names: dict[Any, int] = {}
    numbers: dict[Any, int] = {}
    trace = [names.setdefault(n, len(names)) for n, _ in old]
    point = [numbers.setdefault(p, len(numbers)) for _, p in old]
    published = Published(Traces.of(trace, point), np.arange(len(names)))
    own: dict[Any, set[int]] = {}
    for n, p in new:
        own.setdefault(n, set()).add(numbers.get(p, -1))
    sample = [list(own.items())[i] for i in targets(len(own), np.random.default_rng(seed), MOST_TARGETS).tolist()]
    owners = joined_traces(published, [np.array(sorted(points), dtype=np.int64) for _, points in sample])
    back = list(names)
    return [(n, back[t]) for (n, _), t in zip(sample, owners, strict=True) if t >= 0], len(sample)


def _result(
    name: str, pairs: Joined, tried: int, new: list[tuple[Any, ...]], old: list[tuple[Any, ...]], most: int
) -> AttackResult:
    rate = len(pairs) / tried
    text = f"Of {tried:,} pseudonyms {len(pairs):,} are joined with one of the earlier release"
    if not pairs:
        return AttackResult.exact(name, QUESTION, rate, None, "", "holds", f"{text}.")
    mine = {a: i for i, (a, _) in enumerate(pairs)}
    theirs: dict[Any, list[int]] = {}
    for i, (_, b) in enumerate(pairs):
        theirs.setdefault(b, []).append(i)
    both = [(mine[r[0]], 0, r[1:]) for r in new if r[0] in mine]
    both += [(i, 1, r[1:]) for r in old for i in theirs.get(r[0], ())]
    try:
        facts = facts_of_rows(both, unit=True, person=False, known=most)
    except VerificationError:
        text += "; what both tell of them is too much to be counted"
    else:
        text += f". If these joins are right, {written(100 * facts.alone[most], 3)} % of the joined are alone with {most} known "
        text += f"{'record' if most == 1 else 'records'} of either release"
    return AttackResult.exact(name, QUESTION, rate, None, "", "warning", f"{text}.")

"""An event release beside an earlier one of the same people: can their pseudonyms be joined, and what do both tell together?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoal.attacks.traces import MOST_TARGETS, Published, joined_traces, targets
from shoal.errors import TamperError, UsageError, VerificationError
from shoal.measures.events.traces import Traces
from shoal.model.attack import AttackResult
from shoal.model.certificate.certificate import NAME
from shoal.model.certificate.events import EventCertificate, EventData, EventSteps
from shoal.model.certificate.file import is_of_events, read_event_certificate
from shoal.model.display import written
from shoal.model.requirement import Requirement
from shoal.release.proof.events import facts_of_rows
from shoal.release.proof.read import rows

QUESTION = "Can the pseudonyms be joined with those of an earlier release, and what do both tell together?"
Joined = list[tuple[Any, Any]]
"""Pseudonyms of the new release with those of the earlier one."""


def check_earlier(place: Path) -> EventCertificate:
    """The certificate of an earlier event release; anything else is refused."""
    if not (place / NAME).is_file() or not is_of_events(place):
        raise UsageError(
            f"'{place.name}' is not the folder of an event release.",
            hint="Name an earlier event release of the same people after --previous.",
        )
    found = read_event_certificate(place / NAME)
    if Path(found.data.file).name != found.data.file or (place / found.data.file).is_symlink():
        raise TamperError("the certificate of the earlier release names data outside its folder.")
    return found


def joined_with(
    file: Path, data: EventData, steps: EventSteps, earlier: Path, asked: Sequence[Requirement], seed: int = 0
) -> AttackResult:
    """Pseudonyms of a release joined with those of an earlier one: by their names, where both are of one domain of the vault,
    else by the points that both publish alike. Then known records are counted over what both say of the joined."""
    before = check_earlier(earlier)
    name = f"earlier release: {earlier.name}"
    alike = [n for n in data.points if n in before.data.points and _same(n, data, steps, before)]
    if data.unit is None or before.data.unit is None:
        return _not_run(name, "one of the two publishes no pseudonyms, so there is nothing to join")
    new = list(rows(file, [data.unit, *data.points]))
    old = list(rows(earlier / before.data.file, [before.data.unit, *before.data.points]))
    if steps.vault is not None and steps.vault == before.steps.vault:
        there = {r[0] for r in old}
        pairs, tried = [(n, n) for n in dict.fromkeys(r[0] for r in new) if n in there], len({r[0] for r in new})
    elif not alike:
        return _not_run(name, "no time or place is published alike in both")
    else:
        pairs, tried = _by_points(_part(new, data, alike), _part(old, before.data, alike), seed)
    return _result(name, pairs, tried, new, old, max((int(r.place[-1]) for r in asked), default=1))


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
    found = joined_traces(published, [np.array(sorted(points), dtype=np.int64) for _, points in sample])
    back = list(names)
    return [(n, back[t]) for (n, _), t in zip(sample, found, strict=True) if t >= 0], len(sample)


def _result(
    name: str, pairs: Joined, tried: int, new: list[tuple[Any, ...]], old: list[tuple[Any, ...]], most: int
) -> AttackResult:
    rate = len(pairs) / tried
    said = f"Of {tried:,} pseudonyms {len(pairs):,} are joined with one of the earlier release"
    if not pairs:
        return AttackResult(name, QUESTION, rate, rate, rate, None, "", "holds", f"{said}.")
    mine = {a: i for i, (a, _) in enumerate(pairs)}
    theirs: dict[Any, list[int]] = {}
    for i, (_, b) in enumerate(pairs):
        theirs.setdefault(b, []).append(i)
    both = [(mine[r[0]], 0, r[1:]) for r in new if r[0] in mine]
    both += [(i, 1, r[1:]) for r in old for i in theirs.get(r[0], ())]
    try:
        facts = facts_of_rows(both, unit=True, person=False, known=most)
    except VerificationError:
        said += "; what both tell of them is too much to be counted"
    else:
        said += f". If these joins are right, {written(100 * facts.alone[most], 3)} % of the joined are alone with {most} known "
        said += f"{'record' if most == 1 else 'records'} of either release"
    return AttackResult(name, QUESTION, rate, rate, rate, None, "", "warning", f"{said}.")


def _not_run(name: str, why: str) -> AttackResult:
    return AttackResult(name, QUESTION, None, None, None, None, "", "not run", f"Not run: {why}.")

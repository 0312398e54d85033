"""Attack an event release from outside: with its folder, and perhaps a list of people, times and places that somebody has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.attacks.traces import Published, draw, known_records, sparse_matching, targets, trail_matching
from shoal.disk.atomic import scratch
from shoal.errors import UsageError, missing_column
from shoal.kernels.text import canonical_text
from shoal.measures.events.traces import Traces
from shoal.model.attack import AttackResult
from shoal.model.certificate.certificate import NAME, PLAN
from shoal.model.certificate.events import EventCertificate
from shoal.model.certificate.file import read_event_certificate
from shoal.model.counts.classes import IntArray
from shoal.model.requirement import KnownRecords
from shoal.release.events.attacks import BEYOND, claim_of
from shoal.release.events.earlier import joined_with
from shoal.release.events.plan_file import EventPlan
from shoal.release.events.publish import place_labels, time_labels, write_table
from shoal.release.events.read import column_of, complete, time_of
from shoal.release.proof.read import rows

if TYPE_CHECKING:
    from shoal.engines.table import Table


def attack_folder(place: Path, outside: Table | None, seed: int, *, earlier: Sequence[Path] = ()) -> list[AttackResult]:
    """Known records and scores on what is published; trails of the outside list, where there is one; earlier releases joined."""
    certificate = read_event_certificate(place / NAME)
    plan = EventPlan.from_json((place / PLAN).read_text(encoding="utf-8"))
    rng = np.random.default_rng(seed)
    unit, points = certificate.data.unit, list(certificate.data.points)
    shown = list(rows(place / certificate.data.file, [*([unit] if unit else []), *points]))
    found, trails, _ = _published(shown, unit is not None, list(range(len(points))))
    out = _own(certificate, found, trails, rng)
    data = place / certificate.data.file
    out += [joined_with(data, certificate.data, certificate.steps, e, certificate.asked, seed) for e in earlier]
    if outside is None:
        why = "Not run: no list of people, times and places was given."
        return [*out, AttackResult("trail matching", "", None, None, None, None, "", "not run", why)]
    return [*out, _trails(place, certificate, plan, outside, shown)]


def _own(c: EventCertificate, found: Published, trails: list[IntArray], rng: np.random.Generator) -> list[AttackResult]:
    """Random published records of a pseudonym: whom do they single out? Claimed is what was counted by pseudonyms."""
    asked = c.asked
    most = max(int(r.place[-1]) for r in asked)
    chosen = targets(len(trails), rng)
    out = []
    for s in (most, most + BEYOND):
        taken = draw([trails[i] for i in chosen.tolist()], s, rng)
        claim = claim_of(asked, s, renewed=c.people is not None) if not c.steps.shift else None
        out.append(known_records(found, chosen, taken, s, claimed=claim))
        if s > 1:
            out.append(sparse_matching(found, chosen, taken, s, claimed=claim))
    return out


def _published(
    shown: list[tuple[Any, ...]], unit: bool, which: list[int]
) -> tuple[Published, list[IntArray], dict[tuple[Any, ...], int]]:
    """Published records as traces, by some of the columns of a point; the points of each trace; and the number of each point."""
    names: dict[Any, int] = {}
    numbers: dict[tuple[Any, ...], int] = {}
    trace, point = [], []
    for i, record in enumerate(shown):
        trace.append(names.setdefault(record[0] if unit else i, len(names)))
        told = record[int(unit) :]
        point.append(numbers.setdefault(tuple(told[j] for j in which), len(numbers)))
    traces = Traces.of(trace, point)
    own = [traces.point[traces.start[t] : traces.start[t + 1]].astype(np.int64) for t in range(traces.n_people)]
    return Published(traces, np.arange(traces.n_people)), own, numbers


def _trails(place: Path, c: EventCertificate, plan: EventPlan, outside: Table, shown: list[tuple[Any, ...]]) -> AttackResult:
    """The list carried through the plan, and looked for by the columns that both tell."""
    told = [n for n in c.data.points if n in outside.schema and not (plan.shift and n == plan.time)]
    if not told:
        raise missing_column(c.data.points[0], outside.schema.names, table=outside.name, what="time or place")
    person = _person(plan, outside, told)
    carried = _carried(plan, outside, person, told, Path(c.data.file).suffix)
    which = [list(c.data.points).index(n) for n in told]
    published, _, numbers = _published(shown, c.data.unit is not None, which)
    trails: dict[Any, list[int]] = {}
    for who, *point in carried:
        trails.setdefault(who, []).append(numbers.get(tuple(point), -1))
    known = [r for r in c.asked if isinstance(r, KnownRecords)]
    covered = max((r.records for r in known), default=0) if not plan.shift else 0
    k = min((r.k for r in known), default=1)
    return trail_matching(published, [np.array(p, dtype=np.int64) for p in trails.values()], covered=covered, k=k)


def _person(plan: EventPlan, outside: Table, told: list[str]) -> str:
    """The column of the list that names a person: as in the table that was released, or the only other one."""
    if plan.unit in outside.schema:
        return plan.unit
    others = [n for n in outside.schema.names if n not in (*told, plan.time, *plan.place)]
    if len(others) != 1:
        raise UsageError(
            f"the list has no column '{plan.unit}', and {len(others)} others could name a person.",
            hint=f"Keep one of them, or call it '{plan.unit}'.",
        )
    return others[0]


def _carried(plan: EventPlan, outside: Table, person: str, told: list[str], ending: str) -> list[tuple[Any, ...]]:
    """Person and point of each record of the list, as the release writes points: through a file of the same form."""
    import pyarrow as pa

    records, _ = complete(outside, (person, *told), (person, *told))
    columns: dict[str, Any] = {"person": pa.array(column_of(records, person, "text").codes)}
    for i, name in enumerate(told):
        kind = outside.schema[name].kind
        if name == plan.time:
            time = time_of(records, name, kind)
            columns[f"point {i}"] = time_labels(time, plan.time_width).take(pa.array(time.codes))
            continue
        place = column_of(records, name, kind)
        if name in plan.labels:
            known = plan.labels[name]
            labels = pa.array([known.get(t) for t in canonical_text(place.values).to_pylist()], pa.string())
        else:
            labels = place_labels(place, plan.place_level, {})
        columns[f"point {i}"] = labels.take(pa.array(place.codes))
    with scratch() as work:
        file = work / f"list{ending}"
        write_table(pa.table(columns), file)
        return list(rows(file, list(columns)))

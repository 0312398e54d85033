"""Flows of a release in groups of people: those of the whole, protected once, and they tell of no fewer than k people."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.engines.open import open as opened
from shoal.release.events import groups, uses
from shoal.release.events.group_flows import GroupFlows
from shoal.release.events.records import EventTable, events_of, read_events
from shoal.release.policy.policy import Policy
from shoal.search.events.event_search import Solution, best_plan

K = 5
Rows = list[tuple[str, str, str]]


def commuters(people: int, seed: int, places: int = 6) -> Rows:
    rng = np.random.default_rng(seed)
    weight = np.arange(1, places + 1) ** -1.0
    rows = []
    for i in range(people):
        ends = rng.choice(places, 2, p=weight / weight.sum())
        for day in range(int(rng.integers(1, 4))):
            for hour, end in ((8, 0), (17, 1)):
                place = ends[end] if rng.random() < 0.85 else rng.choice(places)
                rows.append((f"p{i}", f"2026-03-0{2 + day} {hour:02d}:{rng.integers(60):02d}:00", f"{'RST'[place % 3]}{place}"))
    return rows


def table(rows: Rows) -> pa.Table:
    who, at, station = zip(*rows, strict=True)
    row = np.arange(len(rows)).astype(str)
    return pa.table({"card": who, "at": pa.array(at).cast(pa.timestamp("s")), "station": station, "row": row})


def policy(**rules: Any) -> dict[str, Any]:
    events = {"unit": "card", "time": "at", "place": "station", "place_levels": ["local"], **rules}
    allow = {"identifying": {"row": "a number of the record, to find it again in this test"}, "suppress": 0.9}
    roles = {"rest": "drop", "insensitive": ["row"]}
    return {"events": events, "roles": roles, "require": [f"known[1]>={K}"], "allow": allow, "seed": 10**18 + 7}


def divided(events: EventTable, found: Solution, n: int, seed: int) -> list[tuple[EventTable, Solution]]:
    """The people of a table that is searched together in n groups, each with its part of the plan."""
    group = np.random.default_rng(seed).integers(0, n, events.n_people)[events.problem.person]
    out = []
    for g in np.unique(group):
        index = np.flatnonzero(group == g)
        some = events_of(events.table, events.policy, events.records.take(pa.array(index)).combine_chunks(), 0)
        own = {name: getattr(found, name) for name in ("stays", "trace", "alive", "blank")}
        own = {name: None if column is None else column[index] for name, column in own.items()}
        out.append((some, replace(found, away=None, **own)))  # type: ignore[arg-type]
    return out


WAYS: list[dict[str, Any]] = [
    {"time_widths": ["day"], "renew": ["as needed"]},
    {"time_widths": ["6h"], "renew": ["2 records or as needed"]},
    {"time_widths": ["none"], "renew": ["every record"]},
    {"time_widths": ["hour of day"], "renew": ["never"], "place_levels": ["prefix:1"]},
    {"time_widths": ["6h"], "renew": ["1 days or as needed"], "flows": True},
]


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 5), way=st.integers(0, len(WAYS) - 1), people=st.integers(30, 120))
def test_flows_of_groups_are_those_of_all_people_together(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n: int, way: int, people: int
) -> None:
    """The same plan, with the people in one group or in several: every flow is the same."""
    asked = Policy.of(policy(**WAYS[way]))
    events = read_events(opened(table(commuters(people, seed))), asked)
    found = best_plan(events.problem)
    sums, before = GroupFlows(tmp_path_factory.mktemp("flows"), events.rules, K), 0
    for some, own in divided(events, found, n, seed):
        sums.add(some, own, None, before)
        before += some.n_people
    sums.protect()
    flows = uses.flows_beside(events, found)
    if flows is None:
        assert sums.table() is None
        return
    assert sums.table().to_pylist() == uses.flow_table(events, found, flows).to_pylist()
    assert sums.lost == flows.lost
    assert sums.uses() == [u for u in uses.uses_of(events, found, flows) if u.name.startswith("flows")]


def trips(rows: list[tuple[str, Any, str]]) -> dict[tuple[str, str], Counter[str]]:
    """People and their trips of each origin and destination."""
    by = defaultdict(list)
    for who, at, place in rows:
        by[who].append((at, place))
    out: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for who, own in by.items():
        for (_, a), (_, b) in pairwise(sorted(own)):
            if a != b:
                out[a, b][who] += 1
    return out


@pytest.mark.parametrize("flows", [None, True])
@pytest.mark.parametrize("renew", ["as needed", "2 records or as needed", "every record"])
@pytest.mark.parametrize("seed", range(3))
def test_flows_and_records_of_groups_do_not_tell_of_fewer_than_k_people_by_subtraction(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int, renew: str, flows: bool | None
) -> None:
    """Flows, flows less what the records show, and what is missing in every row, column and in all: nothing, or k people."""
    for name, n in (("TOGETHER", 200), ("FIRST", 150), ("READ", 300)):
        monkeypatch.setattr(groups, name, n)
    rows = commuters(200, seed)
    asked = policy(time_widths=["6h"], renew=[renew], **({} if flows is None else {"flows": flows}))
    made = shoal.anonymize(table(rows), asked, format="parquet")
    made.write(tmp_path / "out")
    assert shoal.verify(tmp_path / "out").ok
    assert (made.certificate.cost.groups or 0) > 2
    data = pq.read_table(tmp_path / "out" / "data.parquet").to_pylist()
    file = pq.read_table(tmp_path / "out" / "flows.parquet").to_pylist()
    published = {(f["station_from"], f["station_to"]): f["trips"] for f in file}
    true = trips(rows)
    names = [r.get("card", i) for i, r in enumerate(data)]
    owner = {name: rows[int(r["row"])][0] for name, r in zip(names, data, strict=True)}
    times = Counter((name, r["at"]) for name, r in zip(names, data, strict=True))
    read = trips([(name, r["at"], r["station"]) for name, r in zip(names, data, strict=True) if times[name, r["at"]] == 1])
    assert max(times.values()) == 1
    shown: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for ends, found in read.items():
        if "*" not in ends:
            for name, n in found.items():
                shown[ends][owner[name]] += n
    assert published
    for ends, n in published.items():
        assert len(true[ends]) >= K
        extra = n - shown[ends].total()
        assert extra == 0 or extra >= K
        assert extra == 0 or len([p for p in true[ends] if true[ends][p] > shown[ends][p]]) >= K
    for side in (0, 1, None):
        missing: dict[Any, list[tuple[str, str]]] = defaultdict(list)
        for ends, found in true.items():
            if found.total() != published.get(ends, 0):
                missing[None if side is None else ends[side]].append(ends)
        for line, hidden in missing.items():
            more = [e for e in published if side is None or e[side] == line]
            if any(published[e] > shown[e].total() for e in more):
                assert len(hidden) >= 2
                assert len({p for e in hidden for p in true[e]}) >= K
    stated = {u.name: u for u in made.certificate.uses}["flows"]
    error = sum(abs(found.total() - published.get(e, 0)) for e, found in true.items()) / sum(f.total() for f in true.values())
    assert stated.error == pytest.approx(error)
    if flows:
        kept = sum(min(found.total(), published.get(e, 0)) for e, found in true.items())
        assert made.certificate.cost.trips == pytest.approx(1 - kept / sum(f.total() for f in true.values()))

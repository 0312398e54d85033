"""More records than are searched together: groups of people one after the other, and the whole meets what was asked."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.cli import main
from shoal.engines.open import open as opened
from shoal.errors import UsageError
from shoal.release.events import groups, uses
from shoal.release.events.group_flows import GroupFlows
from shoal.release.events.records import read_events
from shoal.release.policy.policy import Policy
from shoal.release.proof import events as proof
from shoal.search.events.event_search import best_plan

START = dt.datetime(2026, 3, 2)


def trips(seed: int, n: int = 3000, people: int = 300) -> pa.Table:
    rng = np.random.default_rng(seed)
    weight = np.arange(1, 9) ** -0.9
    at = np.datetime64("2026-03-02", "us") + rng.integers(0, 3 * 1440, n).astype("timedelta64[m]")
    place = rng.choice(8, n, p=weight / weight.sum())
    who = rng.integers(0, people, n)
    names = pa.array([f"c{i}" for i in who]) if seed % 2 else pa.array(who)
    return pa.table({"card": names, "at": at, "station": [f"S{i}" for i in place], "fare": rng.integers(1, 4, n)})


def policy(require: str = "known[2]>=4", suppress: float = 0.6, **rules: Any) -> dict[str, Any]:
    events = {"unit": "card", "time": "at", "place": "station", "time_widths": ["day", "none"], **rules}
    out = {"events": events, "roles": {"rest": "drop"}, "require": [require], "allow": {"suppress": suppress}}
    return {**out, "seed": 10**18 + 7}


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, n in (("TOGETHER", 900), ("FIRST", 700), ("READ", 500)):
        monkeypatch.setattr(groups, name, n)


def fewest(rows: list[tuple[Any, Any, Any]], k_sets: int) -> int:
    """One over the largest share that one person has in the traces with a set of points, over all sets; by listing them."""
    shown: dict[Any, set[Any]] = defaultdict(set)
    person = {}
    for trace, who, point in rows:
        shown[trace].add(point)
        assert person.setdefault(trace, who) == who
    have: dict[tuple[Any, ...], Counter[Any]] = defaultdict(Counter)
    for trace, points in shown.items():
        for s in range(1, k_sets + 1):
            for known in combinations(sorted(points, key=str), s):
                have[known][person[trace]] += 1
    return min(sum(c.values()) // max(c.values()) for c in have.values())


@pytest.mark.parametrize("renew", ["never", "as needed", "every record"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_whole_meets_what_every_group_meets(divided: None, tmp_path: Path, renew: str, seed: int) -> None:
    made = shoal.anonymize(trips(seed), policy(renew=[renew], most_records=[6]))
    made.write(tmp_path / "out")
    c = made.certificate
    assert (c.cost.groups or 0) > 2
    assert shoal.verify(tmp_path / "out").ok
    hidden = pq.read_table(made._decision.folder / groups.PRIVATE)  # type: ignore[union-attr]
    points = list(zip(*(hidden[n].to_pylist() for n in hidden.column_names if n.startswith("point")), strict=True))
    told = list(zip(hidden["trace"].to_pylist(), hidden["person"].to_pylist(), points, strict=True))
    found = fewest(told, 2)
    assert found >= 4
    assert c.judged_by.smallest["2"] == found
    data = pa.csv.read_csv(tmp_path / "out" / "data.csv")
    assert data.num_rows == c.after.records == len(told) == c.cost.records - c.cost.suppressed - c.cost.truncated - c.cost.merged
    if renew != "every record":
        assert sorted(Counter(data["card"].to_pylist()).items()) == sorted(Counter(t for t, _, _ in told).items())
        assert data["card"].to_pylist() == sorted(data["card"].to_pylist())
    before = {u.name: u for u in c.uses}
    assert before["records"].after == data.num_rows
    assert before["records per person"].after == pytest.approx(data.num_rows / c.after.traces)


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(divided: None, tmp_path: Path) -> None:
    asked = policy(renew=["as needed"])
    for name, seed in (("a", 10**18 + 7), ("b", 10**18 + 7), ("c", 10**18 + 8)):
        shoal.anonymize(trips(1), {**asked, "seed": seed}, format="parquet").write(tmp_path / name)
    files = [{f.name: f.read_bytes() for f in (tmp_path / n).glob("*.parquet")} for n in "abc"]
    assert files[0] == files[1] != files[2]
    assert set(files[0]) == {"data.parquet", "flows.parquet"}


@pytest.mark.parametrize(("others", "shown"), [(3, 4), (4, 8)])
def test_a_place_is_shown_in_the_groups_that_have_enough_people(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, others: int, shown: int
) -> None:
    """Four people of one group were at X, and three (or four) of the other: k is four in each."""
    people = [*(f"a{i}" for i in range(10)), *(f"b{i}" for i in range(10))]
    rows = [(p, "home") for p in people] + [(f"a{i}", "X") for i in range(4)] + [(f"b{i}", "X") for i in range(others)]
    table = pa.table({"card": [r[0] for r in rows], "at": [START] * len(rows), "station": [r[1] for r in rows]})
    monkeypatch.setattr(groups, "TOGETHER", 20)
    monkeypatch.setattr(groups, "FIRST", 10)
    monkeypatch.setattr(
        groups, "drawn", lambda column, _: np.array([0.0 if t.startswith("a") else 0.999 for t in column.to_pylist()])
    )
    asked = policy(time_widths=["none"], place_levels=["exact"], renew=["never"])
    made = shoal.anonymize(table, asked)
    made.write(tmp_path / "out")
    places = pa.csv.read_csv(tmp_path / "out" / "data.csv")["station"].to_pylist()
    assert (places.count("X"), places.count("home")) == (shown, 20)
    assert made.certificate.cost.groups == 2


@pytest.mark.parametrize(("rows", "divides"), [(900, False), (901, True)])
def test_so_many_records_are_searched_together(divided: None, rows: int, divides: bool) -> None:
    table = opened(trips(2, rows, 90))
    assert groups.in_groups(table, Policy.of(policy())) is divides


@pytest.mark.parametrize(
    "rules",
    [{"vault": "study"}, {"shift": 7}, {"flows": "only", "time_widths": []}, {"hierarchy": {"station": {"flows": True}}}],
)
def test_what_is_chosen_from_all_records_is_not_divided(divided: None, rules: dict[str, Any]) -> None:
    table = opened(trips(2))
    assert not groups.in_groups(table, Policy.of(policy(**rules)))
    for require in ("near[1, 1h]>=3", "absent[1]>=3", "home[1]<=0.5"):
        assert not groups.in_groups(table, Policy.of(policy(require)))
    for require in ("known[1]>=3", "length[1]>=3", "unicity[2]<=0.5"):
        assert groups.in_groups(table, Policy.of(policy(require)))
    for more, divides in (("alpha[purpose]<=0.5", True), ("distinct[purpose]>=2", True), ("t[purpose, equal]<=0.5", False)):
        asked = Policy.of({**policy(), "require": ["known[1]>=3", more], "roles": {"rest": "drop", "sensitive": ["purpose"]}})
        assert groups.in_groups(opened(with_purpose(2)), asked) is divides


def with_purpose(seed: int) -> pa.Table:
    table = trips(seed, 2000, 250)
    rng = np.random.default_rng(seed)
    who = {c: int(rng.integers(4)) for c in dict.fromkeys(table["card"].to_pylist())}
    drawn = [(who[c] if rng.random() < 0.8 else int(rng.integers(4))) for c in table["card"].to_pylist()]
    return table.append_column("purpose", pa.array([None if p == 3 else f"P{p}" for p in drawn]))


def counted(hidden: dict[str, list[Any]], require: str, n: int) -> float:
    """What a requirement limits, over the whole table: every set of up to n points of every trace, and the traces that fit it."""
    points: dict[int, set[Any]] = defaultdict(set)
    values: dict[int, set[Any]] = defaultdict(set)
    person: dict[int, int] = {}
    named = list(zip(*(column for name, column in hidden.items() if name.startswith("point")), strict=True))
    value = hidden.get("value purpose", [None] * len(named))
    for trace, who, point, v in zip(hidden["trace"], hidden["person"], named, value, strict=True):
        points[trace].add(point)
        values[trace].add(v)
        person[trace] = who
    have: dict[Any, list[int]] = defaultdict(list)
    for trace, own in points.items():
        for s in range(1, n + 1):
            for known in combinations(sorted(own, key=str), s):
                have[known].append(trace)
    if require.startswith("unicity"):
        alone = []
        for own in points.values():
            sets = list(combinations(sorted(own, key=str), min(n, len(own))))
            alone.append(sum(len({person[t] for t in have[known]}) == 1 for known in sets) / len(sets))
        return sum(alone) / len(alone)
    if require.startswith("alpha"):
        return max(
            max([sum(v in values[t] for t in fits) / len(fits) for v in {v for t in fits for v in values[t]} - {None}], default=0)
            for fits in have.values()
        )
    if require.startswith("distinct"):
        return min(len({v for t in fits for v in values[t]}) for fits in have.values())
    lowest = len(points)
    for fits in have.values():
        for length in {len(points[t]) for t in fits}:
            people = Counter(person[t] for t in fits if len(points[t]) == length)
            lowest = min(lowest, people.total() // max(people.values()))
    return lowest


@pytest.mark.parametrize("renew", ["never", "as needed"])
@pytest.mark.parametrize(
    ("require", "n", "limit"),
    [
        (["length[2]>=3"], 2, 3),
        (["unicity[2]<=0.4"], 2, 0.4),
        (["alpha[purpose]<=0.6", "known[2]>=3"], 2, 0.6),
        (["distinct[purpose]>=4", "known[2]>=2"], 2, 4),
        (["alpha[purpose]<=0.7", "length[1]>=2"], 1, 0.7),
    ],
)
def test_other_requirements_hold_in_the_whole(
    divided: None, tmp_path: Path, require: list[str], n: int, limit: float, renew: str
) -> None:
    """Counted in the whole by listing every set: what the certificate states, and within the limit."""
    about = any("purpose" in r for r in require)
    asked = policy(renew=[renew], most_records=[5], suppress=0.9)
    asked |= {"require": require, "roles": {"rest": "drop", **({"sensitive": ["purpose"]} if about else {})}}
    made = shoal.anonymize(with_purpose(2), asked, format="parquet")
    made.write(tmp_path / "out")
    c = made.certificate
    assert (c.cost.groups or 0) > 2
    assert shoal.verify(tmp_path / "out").ok
    hidden = pq.read_table(made._decision.folder / groups.PRIVATE).to_pydict()  # type: ignore[union-attr]
    found = counted(hidden, require[0], n)
    assert found <= limit if "<=" in require[0] else found >= limit
    kind = require[0].split("[")[0]
    stated = c.judged_by.alone["2"] if kind == "unicity" else next(x for n, x in c.judged_by.further.items() if kind in n)
    assert stated == pytest.approx(found)
    if about:
        shown = pq.read_table(tmp_path / "out" / "data.parquet")
        assert Counter(shown["purpose"].to_pylist()) == Counter(hidden["value purpose"])


def test_a_plan_that_does_not_do_for_a_group_is_not_taken(divided: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan of the first group fails in another: the next one is taken, for all."""
    tried: list[Any] = []
    real = groups.tried_plan

    def picky(problem: Any, shape: Any, allow: float) -> Any:
        tried.append(shape)
        return None if len(set(tried)) == 1 and len(tried) == 3 else real(problem, shape, allow)

    monkeypatch.setattr(groups, "tried_plan", picky)
    made = shoal.anonymize(trips(2), policy(renew=["never", "every record"]))
    assert len(set(tried)) == 2
    assert made._decision.shape == tried[-1]  # type: ignore[union-attr]
    monkeypatch.setattr(groups, "tried_plan", lambda *_: None)
    with pytest.raises(shoal.errors.InfeasibleError, match="all groups"):
        shoal.anonymize(trips(2), policy(renew=["never", "every record"]))


def test_pseudonyms_tell_no_group(divided: None) -> None:
    """Every group has pseudonyms in each quarter of them."""
    made = shoal.anonymize(trips(2), policy(renew=["as needed"]))
    made.report()
    decided: Any = made._decision
    hidden = pq.read_table(decided.folder / groups.PRIVATE)
    ends = np.cumsum([p.cost.people for p in decided.parts])
    group = np.searchsorted(ends, hidden["person"].to_numpy(), "right")
    trace = hidden["trace"].to_numpy()
    quarter = (trace - 1) * 4 // int(trace.max())
    assert len(np.unique(group * 4 + quarter)) == 4 * len(decided.parts)


def test_a_person_is_drawn_alike_wherever_the_records_stand() -> None:
    for column in (
        pa.array(["p1", "", "zürich", "p1", "x" * 40]),
        pa.array([5, 7, 9, 5, 11]),
        pa.array([1.5, 2.0, 0.0, 1.5, -3.0]),
    ):
        one = groups.drawn(column, 5)
        again = groups.drawn(pa.chunked_array([column.slice(2), column.slice(0, 2)]), 5)
        assert one.tolist() == [*again[3:].tolist(), *again[:3].tolist()]
        assert one[0] == one[3]
        assert len(set(one.tolist())) == 4
        assert ((one >= 0) & (one < 1)).all()
        assert one.tolist() != groups.drawn(column, 6).tolist()
    many = groups.drawn(pa.array(range(40_000)), 1)
    assert np.abs(np.histogram(many, 20)[0] - 2000).max() < 200


@pytest.mark.parametrize("seed", range(4))
def test_flows_of_one_group_are_the_flows_of_the_whole(tmp_path: Path, seed: int) -> None:
    events = read_events(opened(trips(seed)), Policy.of(policy(renew=["as needed"])))
    found = best_plan(events.problem)
    sums = GroupFlows(tmp_path, events.rules, uses.fewest_of(events.problem.asked))
    sums.add(events, found, None, 0)
    sums.protect()
    flows = uses.flows_beside(events, found)
    assert flows is not None
    assert sums.table().to_pylist() == uses.flow_table(events, found, flows).to_pylist()
    assert [u.error for u in sums.uses()] == [u.error for u in uses.uses_of(events, found, flows) if u.name.startswith("flows")]


def test_an_earlier_release_is_refused_before_anything_is_read(
    divided: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shoal.anonymize(trips(2), policy()).write(tmp_path / "out")
    monkeypatch.setattr(groups.Groups, "_dealt", lambda *_: pytest.fail("the records were read"))
    with pytest.raises(UsageError, match="earlier release"):
        shoal.anonymize(trips(2), policy(), previous=[tmp_path / "out"])


def test_the_command_keeps_a_release_in_groups_out_of_the_ledger(divided: None, tmp_path: Path) -> None:
    """The ledger is asked by default: what cannot be compared is not an error."""
    pq.write_table(trips(2), tmp_path / "trips.parquet")
    (tmp_path / "policy.yml").write_text(json.dumps(policy()))
    words = [
        "anonymize",
        str(tmp_path / "trips.parquet"),
        "--policy",
        str(tmp_path / "policy.yml"),
        "--out",
        str(tmp_path / "out"),
    ]
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert not stop.value.code
    assert shoal.verify(tmp_path / "out").ok


@pytest.mark.parametrize("parts", [1, 2, 7])
@pytest.mark.parametrize("seed", range(3))
def test_sets_counted_in_parts_are_those_counted_at_once(
    tmp_path: Path, parts: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = trips(seed, 700, 80)
    file = tmp_path / "data.csv"
    pa.csv.write_csv(table, file)
    columns = {"unit": "card", "points": ["station", "fare"], "known": 3}
    whole = proof.recount_events(file, **columns)  # type: ignore[arg-type]
    told = proof.recount_uses(file, unit="card", time="at", place=["station"])
    sets: dict[Any, set[Any]] = defaultdict(set)
    for card, station, fare in zip(*(table[n].to_pylist() for n in ("card", "station", "fare")), strict=True):
        sets[card].add((station, fare))
    total = sum(len(list(combinations(p, 3))) for p in sets.values())
    monkeypatch.setattr(proof, "BLOCK", -(-total // parts))
    assert proof.recount_events(file, **columns) == whole  # type: ignore[arg-type]
    assert proof.recount_uses(file, unit="card", time="at", place=["station"]) == told
    monkeypatch.setattr(proof, "BLOCK", 7)
    assert proof.recount_events(file, **columns) == whole  # type: ignore[arg-type]
    assert proof.recount_uses(file, unit="card", time="at", place=["station"]) == told
    for s in (1, 2, 3):
        have = Counter(known for points in sets.values() for known in combinations(sorted(points), s))
        assert whole.smallest[s] == min(whole.smallest.get(s - 1, 10**9), *have.values())

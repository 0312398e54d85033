"""Trips by origin and destination beside the records: counted by the test's own definition, and subtracted from each other."""

from __future__ import annotations

import csv
import importlib.util
import shutil
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import shoal
from shoal.errors import InfeasibleError, PolicyError, VerificationError
from shoal.kernels import signatures
from shoal.model.certificate.file import read_event_certificate
from shoal.release.certificate.signing import file_entry, signed
from shoal.release.events import uses
from shoal.release.events.uses import _behind_bridges, _needed, _shows_hours_and_days
from shoal.report.event_release_report import render

SEED = 3**80
K = 5
Flows = dict[tuple[str, str], int]
Rows = list[tuple[str, str, str]]


def policy(**events: Any) -> dict[str, Any]:
    rules = {"unit": "card", "time": "at", "place": "station", "flows": True, **events}
    allow = {"identifying": {"row": "a number of the record, to find it again in this test"}, "suppress": 0.5}
    return {"events": rules, "roles": {"rest": "drop", "insensitive": ["row"]}, "require": [f"known[2]>={K}"], "seed": SEED} | {
        "allow": allow
    }


UNLINKED = {"time_widths": ["none"], "place_levels": ["local"], "renew": "every record"}


def table(rows: Rows) -> dict[str, Any]:
    who, at, station = zip(*rows, strict=True)
    return {"card": who, "at": at, "station": station, "row": list(range(len(rows)))}


def walks(*plans: tuple[int, str]) -> Rows:
    """So many people go from place to place, one hour each: (5, "AB") are five people from A to B."""
    rows, person = [], 0
    for people, places in plans:
        for _ in range(people):
            rows += [(f"p{person}", f"2026-03-02 {8 + i:02d}:00:00", place) for i, place in enumerate(places)]
            person += 1
    return rows


def released(rows: Rows, folder: Path, **events: Any) -> tuple[Flows, list[dict[str, str]], Any]:
    made = shoal.anonymize(table(rows), policy(**events))
    made.write(folder)
    assert shoal.verify(folder).ok
    with (folder / "flows.csv").open(newline="", encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    assert head == ["station_from", "station_to", "trips"]
    assert lines == sorted(lines)
    with (folder / "data.csv").open(newline="", encoding="utf-8") as file:
        return {(a, b): int(n) for a, b, n in lines}, list(csv.DictReader(file)), made


def trips(rows: list[tuple[str, str, str]]) -> dict[tuple[str, str], Counter[str]]:
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


def test_a_flow_of_k_people_is_published_and_one_of_fewer_is_not(tmp_path: Path) -> None:
    flows, _, made = released(walks((K, "AB"), (K - 1, "CD"), (K - 1, "GH")), tmp_path / "out", **UNLINKED)
    assert flows == {("A", "B"): K}
    uses = {u.name: u for u in made.certificate.uses}
    assert (uses["flows"].before, uses["flows"].after) == (3 * K - 2, K)
    assert made.certificate.cost.trips == pytest.approx(1 - K / (3 * K - 2))
    (limit,) = [limit for limit in made.certificate.limits if "counts trips of at least 5 people" in limit]
    assert "less than the true number" in limit
    assert "or more" in limit


def test_nobody_has_more_than_one_in_k_of_a_flow(tmp_path: Path) -> None:
    """One of five people goes twice: one of these two trips is not counted, among others that are not published."""
    others = [(K - 1, "EG"), (K - 1, "EH"), (K - 1, "IF"), (K - 1, "JF")]
    flows, _, _ = released(walks((K - 1, "EF"), (1, "EFXEF"), *others), tmp_path / "out", **UNLINKED)
    assert flows == {("E", "F"): K}


def test_records_at_the_same_time_have_no_order_and_are_no_trip(tmp_path: Path) -> None:
    """Four people from A to B, and a fifth at both at the same time: that is not a trip, and four are too few."""
    rows = walks((K - 1, "AB"), (K, "CD"), (K - 1, "GH"), (K - 1, "EF"))
    rows += [("q", "2026-03-02 08:00:00", "A"), ("q", "2026-03-02 08:00:00", "B")]
    flows, _, _ = released(rows, tmp_path / "out", **UNLINKED)
    assert flows == {("C", "D"): K}


def test_one_flow_that_is_left_cannot_be_told_by_subtraction(tmp_path: Path) -> None:
    """The certificate states the sum of all trips: without E→F alone it would tell E→F, so the smallest other one goes too."""
    flows, _, _ = released(walks((K + 2, "AB"), (K, "CD"), (K - 1, "EF")), tmp_path / "out", **UNLINKED)
    assert flows == {("A", "B"): K + 2}
    flows, _, _ = released(walks((K + 2, "AB"), (K, "CD")), tmp_path / "all", **UNLINKED)
    assert flows == {("A", "B"): K + 2, ("C", "D"): K}


def commuters(people: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    weight = np.arange(1, 11) ** -1.0
    rows = []
    for i in range(people):
        home, work = rng.choice(10, 2, p=weight / weight.sum())
        for day in range(5):
            for hour, place in ((8, home), (17, work if rng.random() < 0.9 else rng.choice(10))):
                rows.append((f"p{i}", f"2026-03-0{2 + day} {hour:02d}:{rng.integers(60):02d}:00", f"S{place}"))
    return rows


@pytest.mark.parametrize(("seed", "renew"), [(1, "as needed"), (2, "1 days or as needed"), (3, "2 records or as needed")])
def test_no_difference_tells_of_fewer_than_k_people(tmp_path: Path, seed: int, renew: str) -> None:
    """Flows, flows less what the records show, and what is missing in every row, column and in all: nothing, or k people."""
    rows = commuters(150, seed)
    flows, data, made = released(rows, tmp_path / "out", time_widths=["6h"], place_levels=["local"], renew=renew)
    true = trips(rows)
    read = trips([(r["card"], r["at"], r["station"]) for r in data])
    owner = {r["card"]: rows[int(r["row"])][0] for r in data}
    times = Counter((r["card"], r["at"]) for r in data)
    assert max(times.values()) == 1  # so that the order of the published records is known
    shown: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for ends, found in read.items():
        if "*" not in ends:
            for name, n in found.items():
                shown[ends][owner[name]] += n
    assert flows
    for ends, n in flows.items():
        assert K <= n <= max(true[ends].total(), shown[ends].total())
        assert len(true[ends]) >= K
        extra = n - shown[ends].total()
        assert extra == 0 or extra >= K
        assert extra == 0 or len([p for p in true[ends] if true[ends][p] > shown[ends][p]]) >= K
    for side in (0, 1, None):
        missing: dict[Any, list[tuple[str, str]]] = defaultdict(list)
        for ends, found in true.items():
            if found.total() != flows.get(ends, 0):
                missing[None if side is None else ends[side]].append(ends)
        for line, hidden in missing.items():
            more = [e for e in flows if side is None or e[side] == line]
            if any(flows[e] > shown[e].total() for e in more):
                assert len(hidden) >= 2
                assert len({p for e in hidden for p in true[e]}) >= K
    uses = {u.name: u for u in made.certificate.uses}
    error = sum(abs(found.total() - flows.get(ends, 0)) for ends, found in true.items()) / sum(f.total() for f in true.values())
    assert uses["flows"].error == pytest.approx(error)
    assert error < uses["trips"].error


CIRCLE = [(1, "AX"), (4, "BX"), (4, "BY"), (1, "CY"), (4, "CZ"), (4, "AZ")]
"""Six hidden flows around a circle: five people in every line, but each flow can change by two trips only."""


@pytest.mark.parametrize(
    "rows", [walks(*CIRCLE, (10, "AY"), (11, "BZ"), (12, "CX")), commuters(90, 4)], ids=["circle", "commuters"]
)
def test_the_sums_of_rows_and_columns_do_not_tell_a_hidden_flow(tmp_path: Path, rows: Rows) -> None:
    """Somebody who knows every true sum, and which flows are not published in full, bounds each of these by linear programming:
    the bounds are k apart at least, unless all that the row and the column publish is what the records show."""
    optimize = pytest.importorskip("scipy.optimize")
    flows, _, _ = released(rows, tmp_path / "out", **UNLINKED)
    true = {ends: found.total() for ends, found in trips(rows).items()}
    hidden = [e for e, n in true.items() if n != flows.get(e, 0)]
    lines = [(side, end) for side in (0, 1) for end in {e[side] for e in hidden}]
    sums = np.array([[float(e[side] == end) for e in hidden] for side, end in lines])
    bounds = [(flows.get(e, 0), None) for e in hidden]
    right = sums @ np.array([true[e] for e in hidden])
    for i, ends in enumerate(hidden):
        cost = np.eye(len(hidden))[i]
        low, high = (s * optimize.linprog(s * cost, A_eq=sums, b_eq=right, bounds=bounds).fun for s in (1, -1))
        more = [e for e in flows if e not in hidden and (e[0] == ends[0] or e[1] == ends[1])]
        assert high - low >= K - 1e-6 or not more
    assert hidden
    assert flows


def test_a_hidden_flow_that_sums_tell_to_within_k_trips_hides_another_one() -> None:
    """Two rows and two columns, all four hidden: with 1, 9, 9 and 9 trips each can change by 1 + 9; with 1, 1, 9 and 1 by 2."""
    ends = [np.array([0, 0, 1, 1, 0, 2]), np.array([0, 1, 0, 1, 2, 0])]
    told, extra = np.array([0, 0, 0, 0, 30, 40]), np.array([0, 0, 0, 0, 30, 40])
    wide, narrow = np.array([1, 9, 9, 9, 30, 40]), np.array([1, 1, 9, 1, 30, 40])
    assert not uses._tight(wide, told, extra, ends, K).any()
    assert uses._tight(narrow, told, extra, ends, K).tolist() == [False, False, False, False, True, True]
    assert not uses._tight(np.array([1, 4, 4, 4, 30, 40]), told, extra, ends, K).any()  # 1 + 4: exactly k
    assert uses._tight(np.array([1, 3, 3, 3, 30, 40]), told, extra, ends, K).any()  # 1 + 3: one less


@pytest.mark.parametrize("seed", range(20))
def test_paths_of_three_flows_move_no_more_than_all_paths(seed: int) -> None:
    """The quick bound against the whole search, over hidden flows drawn at random; and it is reached if there is room."""
    rng = np.random.default_rng(seed)
    near: dict[int, dict[int, int]] = {}
    edges = [(r, ~c) for r in range(8) for c in range(8) if rng.random() < (seed + 1) / 20]
    for row, column in edges:
        near.setdefault(row, {})[column], near.setdefault(column, {})[row] = int(rng.integers(1, 4)), K
    for row, column in edges:
        assert (
            uses._moved_directly(near, row, column, K)
            <= uses._moved_directly(near, row, column, 99)
            <= uses._moved(near, row, column, 99)
        )
    assert seed < 19 or all(uses._moved_directly(near, r, c, K) >= K for r, c in edges)


@pytest.mark.parametrize(
    ("plans", "verdict"),
    [
        (((K + 2, "AB"), (K, "CD")), "holds"),
        (((K + 3, "AB"), (K, "CD")), "broken"),
        (((2 * K + 1, "AB"), (K, "CD")), "broken"),  # k - 1 more
        (((2 * K + 2, "AB"), (K, "CD")), "warning"),  # k more: they may be one person's
        (((K + 2, "AB"), (K - 1, "CD"), (K - 1, "EF")), "broken"),  # somebody who went from C to D is gone
        (((K + 2, "AB"), (K, "CD"), (2 * K - 1, "EF")), "warning"),
        (((K + 2, "AB"), (K, "CD"), (2 * K - 2, "EF")), "broken"),  # k - 1 may have been there before
    ],
)
def test_flows_of_two_releases_do_not_differ_by_a_few(tmp_path: Path, plans: Any, verdict: str) -> None:
    released(walks((K + 2, "AB"), (K, "CD")), tmp_path / "first", **UNLINKED)
    made = shoal.anonymize(table(walks(*plans)), policy(**UNLINKED), previous=[tmp_path / "first"])
    if verdict == "broken":
        with pytest.raises(VerificationError, match="flows of an earlier release"):
            made.write(tmp_path / "second")
        assert not (tmp_path / "second").exists()
    else:
        assert {a.name: a.verdict for a in made.certificate.attacks}["flows of an earlier release: first"] == verdict


@pytest.mark.parametrize(
    ("width", "day", "verdict"), [("day", 3, "holds"), ("day", 2, "broken"), ("week", 8, "broken"), ("week", 9, "holds")]
)
def test_flows_of_different_days_are_not_compared(tmp_path: Path, width: str, day: int, verdict: str) -> None:
    """The first release is of 2 March, a Monday; the second of a day later, with one person more."""
    dated = {**UNLINKED, "time_widths": [width]}
    released(walks((K + 2, "AB"), (K, "CD")), tmp_path / "first", **dated)
    later = [(who, at.replace("03-02", f"03-{day:02d}"), place) for who, at, place in walks((K + 3, "AB"), (K, "CD"))]
    made = shoal.anonymize(table(later), policy(**dated), previous=[tmp_path / "first"])
    if verdict == "broken":
        with pytest.raises(VerificationError, match="flows of an earlier release"):
            made.write(tmp_path / "second")
    else:
        assert {a.name: a.verdict for a in made.certificate.attacks}["flows of an earlier release: first"] == verdict


@pytest.mark.parametrize(("level", "verdict"), [("exact", "holds"), ("local", "holds"), ("prefix:1", "broken")])
def test_flows_at_two_levels_of_places_are_not_both_published(tmp_path: Path, level: str, verdict: str) -> None:
    """Flows between larger places less those between smaller ones tell the small flows that one of them hides."""
    rows = walks((K + 2, "AB"), (K, "CD"))
    released(rows, tmp_path / "first", **{**UNLINKED, "place_levels": ["exact"]})
    made = shoal.anonymize(table(rows), policy(**{**UNLINKED, "place_levels": [level]}), previous=[tmp_path / "first"])
    if verdict == "broken":
        with pytest.raises(VerificationError, match="different levels"):
            made.write(tmp_path / "second")
    else:
        assert {a.name: a.verdict for a in made.certificate.attacks}["flows of an earlier release: first"] == verdict


def test_attack_subtracts_the_flows_of_two_folders(tmp_path: Path) -> None:
    for name, people in (("first", K + 2), ("second", K + 3)):
        released(walks((people, "AB"), (K, "CD")), tmp_path / name, **UNLINKED)
    found = shoal.attack(tmp_path / "second", previous=[tmp_path / "first"])
    assert {a.name: a.verdict for a in found.results}["flows of an earlier release: first"] == "broken"


def test_changed_flows_are_not_verified(tmp_path: Path) -> None:
    released(walks((K + 2, "AB"), (K, "CD")), tmp_path / "out", **UNLINKED)
    file = tmp_path / "out" / "flows.csv"
    file.write_text(file.read_text().replace("7", "8"))
    assert not shoal.verify(tmp_path / "out").ok
    file.unlink()
    assert not shoal.verify(tmp_path / "out").ok


def forged(folder: Path, target: Path, flows: str) -> Path:
    """The release with other flows, its hashes put right and signed with a key of the forger's own."""
    shutil.copytree(folder, target)
    (target / "flows.csv").write_text(f"station_from,station_to,trips\n{flows}", newline="\n")
    body = read_event_certificate(folder / "certificate.json").without_report.as_read
    body = replace(body, files=tuple(file_entry(target / f.name) for f in body.files))
    (target / "report.html").write_text(render(body), encoding="utf-8", newline="\n")
    whole = signed(replace(body, files=(*body.files, file_entry(target / "report.html"))), signatures.signer())
    (target / "certificate.json").write_bytes(whole.to_bytes())
    return target


@pytest.mark.parametrize(
    ("flows", "ok"),
    [
        ("A,B,7\nC,D,5\n", True),
        ("A,B,8\nC,D,5\n", False),
        ("A,B,8\nC,D,4\n", False),
        ("A,B,7\n", False),
        ("A,B,7\nC,D,5\nE,F,9\n", False),
        ("A,B,7\nC,D,5\nC,D,5\n", False),
        ("A,B,7\nC,D,-5\n", False),
        ("", False),
    ],
)
def test_flows_that_are_signed_again_must_be_those_of_the_certificate(tmp_path: Path, flows: str, ok: bool) -> None:
    released(walks((K + 2, "AB"), (K, "CD")), tmp_path / "out", **UNLINKED)
    assert shoal.verify(forged(tmp_path / "out", tmp_path / "lie", flows)).ok == ok


def told_by_sums(hidden: list[tuple[str, str]], places: str) -> list[tuple[str, str]]:
    """The flows that the sums by origin and destination tell, by the rank of their equations."""
    lines = np.array([[ends[side] == place for ends in hidden] for side in (0, 1) for place in places], dtype=float)
    rank = np.linalg.matrix_rank(lines)
    return [ends for ends, one in zip(hidden, np.eye(len(hidden)), strict=True) if np.linalg.matrix_rank([*lines, one]) == rank]


SQUARES = {
    "C to D": (30, 20, 12, 8, 6, 3, 1, 4, 4, 4, 1, 20),
    "A to B": (4, 6, 12, 20, 12, 12, 5, 6, 12, 4, 3, 12),
}
"""Trips from A, B, C and D to the three others: tables in which the sums of two rows less that of a column told a small flow."""


@pytest.mark.parametrize("name", SQUARES)
def test_sums_of_several_rows_and_columns_tell_no_flow(tmp_path: Path, name: str) -> None:
    ends = [(a, b) for a in "ABCD" for b in "ABCD" if a != b]
    rows = walks(*((n, a + b) for (a, b), n in zip(ends, SQUARES[name], strict=True)))
    flows, _, _ = released(rows, tmp_path / "out", **UNLINKED)
    hidden = [e for e in ends if e not in flows]
    assert flows
    assert hidden
    assert told_by_sums(hidden, "ABCD") == []


def test_bridges_are_those_of_the_definition() -> None:
    """Every edge without which the graph has one part more, if neither part is a single place; one of the parts for each."""

    def part(at: tuple[int, int], edges: list[tuple[tuple[int, int], tuple[int, int]]]) -> frozenset[tuple[int, int]]:
        inside, todo = {at}, [at]
        while todo:
            one = todo.pop()
            more = {b for pair in edges for a, b in (pair, pair[::-1]) if a == one} - inside
            inside |= more
            todo += more
        return frozenset(inside)

    rng = np.random.default_rng(3)
    for _ in range(300):
        cells = [(a, b) for a in range(5) for b in range(5) if rng.random() < 0.3]
        edges = [((0, a), (1, b)) for a, b in cells]
        wanted = []
        for i, (a, b) in enumerate(edges):
            rest = edges[:i] + edges[i + 1 :]
            if b not in part(a, rest):
                wanted.append({part(a, rest), part(b, rest)})
        found = _behind_bridges(*np.array(cells, dtype=np.int64).reshape(-1, 2).T)
        parts = [frozenset([*((0, a) for a in origins), *((1, b) for b in ends)]) for origins, ends in found]
        assert len(set(parts)) == len(parts)
        assert all(any(p in pair for pair in wanted) and len(p) > 1 for p in parts)
        for pair in wanted:
            assert sum(p in pair for p in parts) == 1 or min(map(len, pair)) == 1


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_flows_of_a_table_with_origin_and_destination(tmp_path: Path, form: str) -> None:
    ends = [("A", "B")] * 7 + [("C", "D")] * 6 + [("A", "C")] * 4 + [("D", "B")] * 4
    rows = {"card": [f"p{i}" for i in range(21)], "at": ["2026-03-02"] * 21} | dict(
        zip(("from", "to"), zip(*ends, strict=True), strict=True)
    )
    rules = {"unit": "card", "time": "at", "place": ["from", "to"], "flows": True}
    made = shoal.anonymize(rows, {"events": rules, "require": [f"known[1]>={K}"], "seed": SEED}, format=form)
    folder = made.write(tmp_path / "out")
    assert shoal.verify(folder).ok
    found = [r for b in shoal.open(folder / f"flows.{form}").scan(["from", "to", "trips"]) for r in b.to_pylist()]
    assert {(r["from"], r["to"]): r["trips"] for r in found} == {("A", "B"): 7, ("C", "D"): 6}


def test_flows_need_places_in_an_order(tmp_path: Path) -> None:
    rows = table(walks((K, "AB")))
    with pytest.raises(PolicyError, match="no place is named"):
        shoal.anonymize(rows, {"events": {"unit": "card", "time": "at", "flows": True}, "require": ["known[1]>=2"], "seed": SEED})
    given = {"events": {"unit": "card", "place": "station", "flows": True}, "roles": {"rest": "drop"}}
    with pytest.raises(PolicyError, match="requires a time and one place"):
        shoal.anonymize(rows, given | {"require": ["known[1]>=2"], "seed": SEED})


@pytest.mark.parametrize(
    ("times", "shared"),
    [([1] * 5, True), ([1] * 4, False), ([2, 1, 1, 1, 1], False), ([2] * 5, True), ([2, 2, 2, 2, 1], False), ([0, 0], False)],
)
def test_a_flow_is_shared_by_k_people_of_whom_nobody_has_more_than_one_in_k(times: list[int], shared: bool) -> None:
    flow = np.zeros(len(times), dtype=np.int64)
    assert uses._shared(flow, np.array(times), 5, 2).tolist() == [shared, False], "nobody has trips of the second flow"


@pytest.mark.parametrize(("hidden_flows", "people", "needed"), [(2, 5, False), (2, 4, True), (1, 5, True)])
def test_a_line_hides_two_flows_and_k_people(hidden_flows: int, people: int, needed: bool) -> None:
    """One line with a published flow that adds to the records: it must not, if what is hidden beside it could be worked out."""
    who = np.arange(people)
    flow = np.array([i % hidden_flows for i in range(people)])
    line = np.zeros(3, dtype=np.int64)
    extra = np.array([0, 0, 7])
    found = uses._needed(flow, who, np.ones(people, dtype=np.bool_), extra, [line, line, line], 5)
    assert found.tolist() == [False, False, needed]


def test_a_flow_that_adds_one_trip_to_a_weak_line_must_state_less() -> None:
    """One hidden flow is alone in its lines: it must give up what it adds, be it one trip."""
    one, line = np.array([0]), [np.array([0])] * 3
    for added in (1, 2):
        assert _needed(one, one, np.array([True]), np.array([added]), line, K).tolist() == [True]
    assert _needed(one, one, np.array([True]), np.array([0]), line, K).tolist() == [False]


@pytest.mark.parametrize(
    ("kind", "width", "shift", "told"),
    [
        (None, "exact", 0, (False, False)),
        ("timestamp", "exact", 0, (True, True)),
        ("timestamp", "1h", 0, (True, True)),
        ("timestamp", "2h", 0, (False, True)),
        ("timestamp", "1d", 0, (False, True)),
        ("timestamp", "1d", 7, (False, False)),
        ("timestamp", "2d", 0, (False, False)),
        ("time", "1h", 0, (True, False)),
        ("date", "1d", 0, (False, True)),
        ("integer", "exact", 0, (False, False)),
        ("timestamp", "none", 0, (False, False)),
    ],
)
def test_hours_and_weekdays_are_compared_only_if_the_file_shows_them(kind, width, shift, told) -> None:
    time = None if kind is None else SimpleNamespace(kind=kind)
    events: Any = SimpleNamespace(time=time, rules=SimpleNamespace(shift=shift))
    assert _shows_hours_and_days(events, width) == told


def test_what_the_records_show_of_k_people_is_stated_although_nothing_is_added(tmp_path: Path) -> None:
    """A flow that must give up what it adds to the records still states what everybody reads in them."""
    plans = ((8, "CBD"), (3, "BD"), (1, "BBB"), (3, "ACBC"), (3, "BBDA"), (8, "CA"), (7, "BCB"))
    flows, shown, _ = released(walks(*plans), tmp_path / "out", renew="never")
    read = trips([(r["card"], r["at"], r["station"]) for r in shown])
    shared = {ends: n.total() for ends, n in read.items() if n.total() >= K * max(n.values()) and "*" not in ends}
    assert shared[("B", "D")] == flows[("B", "D")] == 8
    assert all(flows[ends] >= n for ends, n in shared.items())
    assert flows == {("B", "C"): 7, ("B", "D"): 8, ("C", "A"): 8, ("C", "B"): 18}


def only(rows: Rows, folder: Path, form: str = "csv", **more: Any) -> Flows:
    """A release of flows and no records, verified; the flows as anybody reads them."""
    rules = {"unit": "card", "time": "at", "place": "station", "flows": "only"}
    asked = {"events": rules, "roles": {"rest": "drop"}, "require": [f"known[2]>={K}"], "allow": {"suppress": 0.9}, "seed": SEED}
    made = shoal.anonymize(table(rows), asked, format=form, **more)
    made.write(folder)
    assert shoal.verify(folder).ok
    assert {f.name for f in folder.iterdir()} == {f"data.{form}", "plan.json", "certificate.json", "report.html"}
    certificate = made.certificate
    assert certificate.after.records == certificate.people.records
    assert certificate.people.smallest["1"] >= K
    found = [r for b in shoal.open(folder / f"data.{form}").scan(["station_from", "station_to", "trips"]) for r in b.to_pylist()]
    return {(r["station_from"], r["station_to"]): r["trips"] for r in found}


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_flows_instead_of_records(tmp_path: Path, form: str) -> None:
    """Flows of k people, and none of one less; one of five people who goes twice is counted once."""
    others = [(K - 1, "GH"), (K - 1, "EG"), (K - 1, "EH"), (K - 1, "IF"), (K - 1, "JF")]
    rows = walks((K, "AB"), (K - 1, "CD"), (K - 1, "EF"), (1, "EFXEF"), *others)
    assert only(rows, tmp_path / "out", form) == {("A", "B"): K, ("E", "F"): K}


@pytest.mark.parametrize(
    "rows", [walks(*CIRCLE, (10, "AY"), (11, "BZ"), (12, "CX")), commuters(90, 4), commuters(150, 1)], ids=["circle", "90", "150"]
)
def test_sums_do_not_tell_a_flow_that_is_published_instead_of_records(tmp_path: Path, rows: Rows) -> None:
    """People and shares of every flow by the test's own count; then linear programming with all true sums of rows and columns."""
    optimize = pytest.importorskip("scipy.optimize")
    flows, true = only(rows, tmp_path / "out"), trips(rows)
    for ends, n in flows.items():
        counted = min(true[ends].total(), n)
        assert n == counted
        assert sum(min(c, n // K) for c in true[ends].values()) >= n  # so that nobody need have more than one in k
    hidden = [e for e, found in true.items() if found.total() != flows.get(e, 0)]
    lines = [(side, end) for side in (0, 1) for end in {e[side] for e in hidden}]
    sums = np.array([[float(e[side] == end) for e in hidden] for side, end in lines])
    right = sums @ np.array([true[e].total() for e in hidden])
    bounds = [(flows.get(e, 0), None) for e in hidden]
    for i, ends in enumerate(hidden):
        low, high = (s * optimize.linprog(s * np.eye(len(hidden))[i], A_eq=sums, b_eq=right, bounds=bounds).fun for s in (1, -1))
        more = [e for e in flows if e not in hidden and (e[0] == ends[0] or e[1] == ends[1])]
        assert high - low >= K - 1e-6 or not more
    assert flows
    assert hidden


def test_flows_instead_of_records_are_subtracted_from_earlier_ones(tmp_path: Path) -> None:
    only(walks((K + 2, "AB"), (K, "CD")), tmp_path / "first")
    only(walks((K + 2, "AB"), (K, "CD")), tmp_path / "same", previous=[tmp_path / "first"])
    with pytest.raises(VerificationError, match="flows of an earlier release"):
        only(walks((K + 3, "AB"), (K, "CD")), tmp_path / "second", previous=[tmp_path / "first"])
    only(walks((K + 2, "AB"), (K, "CD")), tmp_path / "again", plan=tmp_path / "first" / "plan.json")


@pytest.mark.parametrize("line", ["A,B,8", "A,B,-7", "A,B,", "A,B,6"])
def test_flows_instead_of_records_cannot_be_changed(tmp_path: Path, line: str) -> None:
    only(walks((K + 2, "AB"), (K, "CD")), tmp_path / "out")
    lie = tmp_path / "lie"
    shutil.copytree(tmp_path / "out", lie)
    (lie / "data.csv").write_text(f"station_from,station_to,trips\n{line}\nC,D,5\n", newline="\n")
    body = read_event_certificate(lie / "certificate.json").without_report.as_read
    body = replace(body, files=tuple(file_entry(lie / f.name) for f in body.files))
    (lie / "report.html").write_text(render(body), encoding="utf-8", newline="\n")
    whole = signed(replace(body, files=(*body.files, file_entry(lie / "report.html"))), signatures.signer())
    (lie / "certificate.json").write_bytes(whole.to_bytes())
    assert not shoal.verify(lie).ok


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"events": {"renew": "never"}}, "'events.renew' is not used"),
        ({"events": {"time": None}}, "requires a time and one place"),
        ({"roles": {"rest": "drop", "insensitive": ["row"]}}, "publishes no records"),
    ],
)
def test_flows_instead_of_records_take_no_choice_about_records(more: dict[str, Any], words: str) -> None:
    rules = {"unit": "card", "time": "at", "place": "station", "flows": "only", **more.get("events", {})}
    rules = {name: value for name, value in rules.items() if value is not None}
    asked = {"events": rules, "roles": more.get("roles", {"rest": "drop"}), "require": ["known[1]>=5"], "seed": SEED}
    allow = {"identifying": {"row": "a number of the record"}}
    with pytest.raises(PolicyError, match=words):
        shoal.anonymize(table(walks((K, "AB"))), asked | {"allow": allow})


def test_too_many_small_flows_are_refused_with_what_would_do(tmp_path: Path) -> None:
    rows = walks((K, "AB"), (K - 1, "CD"), (K - 1, "EF"))
    rules = {"unit": "card", "time": "at", "place": "station", "flows": "only"}
    asked = {"events": rules, "roles": {"rest": "drop"}, "require": [f"known[1]>={K}"], "seed": SEED}
    with pytest.raises(InfeasibleError, match=r"61\.54% of the trips") as caught:
        shoal.anonymize(table(rows), asked)
    assert "0.6154" in str(caught.value)
    shoal.anonymize(table(rows), asked | {"allow": {"suppress": 0.6154}}).write(tmp_path / "out")


def _joined() -> Any:
    place = Path(__file__).parents[2] / "benchmarks" / "attackers" / "joined.py"
    spec = importlib.util.spec_from_file_location("joined", place)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def _days(together: int, more: int) -> list[tuple[str, str, tuple[str]]]:
    """On each of six days some go from A to B, five from A to C, and five from D to B; others are at A only."""
    rows = []
    for d in range(6):
        morning, noon = (f"2026-03-{2 + d:02d} {h}:00" for h in ("08", "14"))
        ends = [("a", "A", "C")] * 5 + [("b", "D", "B")] * 5 + [("t", "A", "B")] * together
        rows += [(f"{w}{d}{i}", at, (p,)) for i, (w, a, b) in enumerate(ends) for at, p in ((morning, a), (noon, b))]
        rows += [(f"x{d}{i}", morning, ("A",)) for i in range(more)]
    return rows


@pytest.mark.parametrize(("together", "more", "told"), [(1, 0, 0), (4, 0, 0), (4, 1, 24), (1, 4, 6)])
def test_a_flow_does_not_tell_which_pseudonym_goes_on_where_another_ends(together: int, more: int, told: int) -> None:
    """The trips from A to B are split, for fewer than five make one on a day. Counted, they would join the only pseudonyms that
    end at A and begin at B on a day; five that end at A are enough."""
    attacker, rows = _joined(), _days(together, more)
    published, flows, _ = attacker.released(rows, ["6h"], ["as needed"])
    found = attacker.attacked(published, flows, [w for w, _, _ in rows], attacker.true_flows(rows))
    assert flows.get(("A", "B"), 0) == told
    assert found["hidden"] >= attacker.K
    assert not any(found[name]["won"] for name in ("joined", "two_known"))


@pytest.mark.parametrize("seed", range(6))
def test_flows_joined_with_records_tell_nobody(seed: int) -> None:
    """Generated people of few places and days."""
    rng, attacker = np.random.default_rng(seed), _joined()
    rows = []
    for i in range(60):
        at = np.sort(rng.choice(5 * 4, rng.integers(2, 6), replace=False))
        places = rng.choice(5, len(at), p=[0.4, 0.3, 0.15, 0.1, 0.05])
        rows += [(f"p{i}", f"2026-03-{2 + t // 4:02d} {6 * (t % 4):02d}:30", (f"S{p}",)) for t, p in zip(at, places, strict=True)]
    published, flows, _ = attacker.released(rows, ["6h", "day", "none"], ["as needed"])
    found = attacker.attacked(published, flows, [w for w, _, _ in rows], attacker.true_flows(rows))
    assert found["hidden"] >= attacker.K
    assert not any(found[name]["won"] for name in ("joined", "two_known"))

"""The second count of an event table, part by part: small tables by definition, large numbers in small blocks, limits exactly."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from event_oracle import inferred, number
from shoal.errors import UsageError, VerificationError
from shoal.model.requirement import requirements_of
from shoal.release.proof import events as proof
from shoal.release.proof.events import facts_of_rows

START = datetime(2026, 3, 2)
BLOCKS = [1, 2, 3, 7, 2_000_000]


@pytest.fixture(params=BLOCKS)
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Everything is done in blocks of so many."""
    monkeypatch.setattr(proof, "BLOCK", request.param)
    return int(request.param)


def some_rows(seed: int, people: int = 9, hours: int = 3, each: int = 4, places: str = "AB") -> list[tuple[str, Any, int, str]]:
    """Person, sensitive value, hour and place."""
    r = random.Random(seed)
    points: dict[tuple[str, int, str], Any] = {}
    for p in range(people):
        for _ in range(r.randint(1, each)):
            points[f"p{p}", r.randrange(hours), r.choice(places)] = r.choice((None, "x", "y", "z"))
    return [(p, v, h, w) for (p, h, w), v in points.items()]


def crowd(seed: int) -> list[tuple[str, Any, int, str]]:
    """Nine people of whom some are alone (0), or 60 who are not: numbers above 1, which a change would move."""
    return some_rows(seed) if seed == 0 else some_rows(seed, people=60, hours=2, each=3)


def by_person(rows: list[tuple[str, Any, int, str]]) -> dict[str, dict[tuple[int, str], Any]]:
    out: dict[str, dict[tuple[int, str], Any]] = {}
    for p, v, h, w in rows:
        out.setdefault(p, {})[h, w] = v
    return out


def fewest(at: dict[Any, set[Any]], s: int, fits: Any, whose: Any = lambda t: t) -> int:
    """One over the largest share of one person in the traces that fit a set of up to s points of a trace, rounded down."""
    found = []
    for mine in at.values():
        for known in (c for m in range(1, s + 1) for c in combinations(sorted(mine), m)):
            people = Counter(whose(t) for t, own in at.items() if fits(known, own))
            found.append(people.total() // max(people.values()))
    return min(found)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("linked", [False, True])
def test_sets_of_known_records_by_definition(seed: int, linked: bool, blocks: int) -> None:
    rows = crowd(seed)
    rows += rows[:3]  # twice the same point counts once
    at = {p: set(own) for p, own in by_person(rows).items()}

    def whose(t: str) -> Any:
        return int(t[1:]) // 2 if linked else t

    records = [(p, *([whose(p)] if linked else []), h, w) for p, _, h, w in rows]
    facts = facts_of_rows(records, unit=True, person=linked, known=3)
    for s in (1, 2, 3):
        assert facts.smallest[s] == fewest(at, s, lambda known, own: set(known) <= own, whose)
        alone = []
        for mine in at.values():
            sets = [set(c) for c in combinations(mine, min(s, len(mine)))]
            alone.append(sum(len({whose(t) for t, own in at.items() if c <= own}) == 1 for c in sets) / len(sets))
        if not linked:
            assert facts.alone[s] == pytest.approx(sum(alone) / len(alone), abs=1e-11)
    assert (facts.records, facts.traces, facts.longest) == (len(rows), len(at), max(map(len, at.values())))
    assert (facts.people, facts.points) == (len({whose(t) for t in at}), len(set().union(*at.values())))


@pytest.mark.parametrize("seed", range(3))
def test_other_knowledge_by_definition(seed: int, blocks: int) -> None:
    rows = crowd(seed)
    made = by_person(rows)
    asked = requirements_of(["absent[2]>=2", "length[2]>=2", "near[2, 1]>=2"])
    records = [(p, h, w) for p, _, h, w in rows]
    facts = facts_of_rows(records, unit=True, person=False, known=2, asked=asked, timed=True)
    assert facts.further == {f"{kind}.2": number(made, kind, 2) for kind in ("absent", "length", "near")}


@pytest.mark.parametrize("seed", range(3))
def test_sensitive_values_by_definition(seed: int, blocks: int) -> None:
    rows = crowd(seed)
    asked = requirements_of(["known[2]>=2", "alpha[v]<=0.5", "distinct[v]>=2", "t[v, equal]<=0.3"])
    facts = facts_of_rows(rows, unit=True, person=False, known=2, asked=asked, sensitive=["v"])
    wanted = {kind: number(by_person(rows), kind, 2) for kind in ("alpha", "distinct", "t")}
    assert facts.further["diversity.v.alpha"] == pytest.approx(wanted["alpha"])
    assert facts.further["diversity.v.distinct"] == wanted["distinct"]
    assert facts.further["closeness.v.t"] == pytest.approx(wanted["t"])


def test_a_trace_without_a_sensitive_value_has_none_of_them() -> None:
    rows = [("a", None, "A"), ("b", None, "A"), ("c", "x", "A")]
    asked = requirements_of(["known[1]>=2", "alpha[v]<=0.5", "distinct[v]>=2"])
    facts = facts_of_rows(rows, unit=True, person=False, known=1, asked=asked, sensitive=["v"])
    assert facts.further["diversity.v.alpha"] == pytest.approx(1 / 3)
    assert facts.further["diversity.v.distinct"] == 2
    none = facts_of_rows(rows[:2], unit=True, person=False, known=1, asked=asked, sensitive=["v"])
    assert (none.further["diversity.v.alpha"], none.further["diversity.v.distinct"]) == (0.0, 1.0)


def test_values_that_no_known_record_leads_to_are_not_learnt() -> None:
    asked = requirements_of(["alpha[v]<=0.5"])
    facts = facts_of_rows([("a", "x", "A")], unit=True, person=False, known=1, asked=asked, sensitive=["v"])
    assert facts.further == {"diversity.v.alpha": 0.0}


PLACES = ["home[1]<=0.5", "home[2]<=0.5", "work[2]<=0.5", "next[1]<=0.5", "next[2]<=0.5"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("timed", [None, "numbers", "moments"])
def test_places_that_follow_by_definition(seed: int, timed: str | None) -> None:
    rows = some_rows(seed, people=150 if seed else 12, hours=3, each=3, places="AB*")  # of 12 people one is alone somewhere
    made: dict[Any, set[tuple[Any, str]]] = {}
    for p, _, h, w in rows:
        made.setdefault(p, set()).add((h if timed else 0, w))
    time = {"numbers": lambda h: h, "moments": lambda h: START + timedelta(hours=h)}.get(timed or "")
    records = [(p, time(h), w) if time else (p, w) for p, _, h, w in rows]
    asked = requirements_of(PLACES)
    facts = facts_of_rows(records, unit=True, person=False, known=2, asked=asked, timed=bool(time))
    wanted = [inferred(made, r.partition("[")[0], int(r[5])) for r in PLACES]
    assert [facts.further[r.name] for r in asked] == pytest.approx(wanted)


def test_without_an_order_of_times_and_without_places_nothing_is_sure() -> None:
    """Names of weekdays have no order: then every other place of the trace may be the next."""
    asked = requirements_of(["next[1]<=0.5", "home[1]<=0.5"])
    rows = [("a", "Monday", "A"), ("a", "Tuesday", "B"), ("a", "Sunday", "C")]
    facts = facts_of_rows(rows, unit=True, person=False, known=1, asked=asked, timed=True)
    assert facts.further == {"next.1": 1.0, "home.1": 1.0}
    some = [("a", "2", "A"), ("b", "1", "B"), ("b", "night", "A")]  # of three times two are numbers
    assert facts_of_rows(some, unit=True, person=False, known=1, asked=asked, timed=True).further["next.1"] == 1.0
    only_times = facts_of_rows([r[:2] for r in rows], unit=True, person=False, known=1, asked=asked, timed=True)
    assert only_times.further == {"next.1": 0.0, "home.1": 0.0}


@pytest.mark.parametrize(("kind", "by_size"), [("length", (6, 3, 1)), ("absent", (3, 2, 1)), ("near", (6, 3, 1))])
def test_every_number_of_known_records_up_to_the_stated_one_counts(kind: str, by_size: tuple[int, ...]) -> None:
    """Of the ten traces with three of five points, 6 have a given one, 3 a given two and 1 all three; knowing of a point that the
    person was never at leaves 3, 2 and 1 of them."""
    rows = [(t, p) for t, own in enumerate(combinations(range(5), 3)) for p in own]
    for s, fewest_people in enumerate(by_size, 1):
        (asked,) = requirements_of([f"{kind}[{s}{', 0.5' * (kind == 'near')}]>=2"])
        facts = facts_of_rows(rows, unit=True, person=False, known=3, asked=[asked], timed=kind == "near")
        assert facts.further[asked.name] == fewest_people
    assert facts.smallest == {1: 6, 2: 3, 3: 1}


def test_the_point_that_most_others_were_at_leaves_fewest() -> None:
    """Of ten people at 0, eight were also at 1 and four at 2: two were never at 1."""
    rows = [(t, p) for t, own in enumerate([{0}] * 2 + [{0, 1}] * 4 + [{0, 1, 2}] * 4) for p in own]
    facts = facts_of_rows(rows, unit=True, person=False, known=1, asked=requirements_of(["absent[1]>=2"]))
    assert facts.further == {"absent.1": 2}


@pytest.mark.parametrize("kind", ["length", "absent", "near"])
def test_traces_shorter_than_the_known_records_count_with_all_they_have(kind: str) -> None:
    (asked,) = requirements_of([f"{kind}[2{', 0.5' * (kind == 'near')}]>=2"])
    facts = facts_of_rows([("a", 0), ("b", 1)], unit=True, person=False, known=1, asked=[asked], timed=kind == "near")
    assert facts.further[asked.name] == 1


@pytest.mark.parametrize("traces", [[{0, 1}, {1}, {2}], [{0, 1, 2}, {1}, {2}, {3}]])
def test_points_of_traces_of_other_lengths_are_never_the_same(traces: list[set[int]]) -> None:
    """No factor makes a point of a short trace meet another one of a long trace."""
    rows = [(t, p) for t, own in enumerate(traces) for p in sorted(own)]
    facts = facts_of_rows(rows, unit=True, person=False, known=1, asked=requirements_of(["length[1]>=2"]))
    assert facts.further == {"length.1": 1}


@pytest.mark.parametrize("wrong", range(4))
def test_a_pseudonym_of_two_people_is_noticed_at_any_record(wrong: int, blocks: int) -> None:
    rows = [("t", 1, 0), ("t", 1, 1), ("t", 1, 2), ("t", 1, 3)]
    facts_of_rows(rows, unit=True, person=True, known=1)
    rows[wrong] = ("t", 2, wrong)
    with pytest.raises(VerificationError, match="two people"):
        facts_of_rows(rows, unit=True, person=True, known=1)


def test_facts_in_json_form() -> None:
    facts = proof.EventFacts(9, 5, 4, 3, 2, {2: 1, 1: 4}, {2: 0.5, 1: 0.0})
    shown = {"records": 9, "traces": 5, "people": 4, "points": 3, "longest": 2}
    assert facts.to_json() == shown | {"smallest": {"1": 4, "2": 1}, "alone": {"1": 0.0, "2": 0.5}}
    more = {"near.1": 3.0, "absent.1": 2.0}
    assert replace(facts, further=more).to_json()["further"] == {"absent.1": 2.0, "near.1": 3.0}


# --- records known about ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("near[2, 1]>=2", lambda a, b: abs(a[0] - b[0]) <= 1 and a[1:] == b[1:]),
        ("near[2, 0.5]>=2", lambda a, b: a == b),
        ("near[2, 0.1, 0.25]>=2", lambda a, b: a[0] == b[0] and abs(a[1] - b[1]) <= 0.25 and abs(a[2] - b[2]) <= 0.25),
        ("near[2, 1, prefix:2]>=2", lambda a, b: abs(a[0] - b[0]) <= 1 and all(str(a[i])[:2] == str(b[i])[:2] for i in (1, 2))),
    ],
)
def test_records_known_about_by_definition(seed: int, linked: bool, asked: str, near: Any) -> None:
    """Of hours and two coordinates in steps of 0.05."""
    r = random.Random(seed)
    at: dict[str, set[Any]] = {}
    for p in range(8):
        for _ in range(3):
            at.setdefault(f"p{p}", set()).add((r.randrange(4), r.randrange(12) / 20, r.randrange(2) / 4))

    def whose(t: str) -> Any:
        return int(t[1:]) // 2 if linked else t

    records = [(p, *([whose(p)] if linked else []), *point) for p, own in at.items() for point in sorted(own)]
    facts = facts_of_rows(records, unit=True, person=linked, known=1, asked=requirements_of([asked]), timed=True)
    wanted = fewest(at, 2, lambda known, own: all(any(near(p, q) for q in own) for p in known), whose)
    assert facts.further["near.2"] == wanted


def near(rows: list[tuple[Any, ...]], asked: str, *, timed: bool = True) -> float:
    (requirement,) = requirements_of([asked])
    return facts_of_rows(rows, unit=True, person=False, known=1, asked=[requirement], timed=timed).further[requirement.name]


def test_times_as_far_apart_as_they_may_be() -> None:
    hour = [("a", START, "A"), ("b", START + timedelta(hours=1), "A")]
    late = [("a", START, "A"), ("b", START + timedelta(hours=1, microseconds=1), "A")]
    zones = [("a", "2026-03-02T08:00:00+01:00", "A"), ("b", "2026-03-02T08:00:00", "A")]
    assert [near(rows, "near[1, 1h]>=2") for rows in (hour, late, zones)] == [2, 1, 2]
    assert near(zones, "near[1, 59min]>=2") == 1


def test_places_as_far_apart_as_they_may_be() -> None:
    def rows(*places: Any) -> list[tuple[Any, ...]]:
        return [(f"p{i}", place) for i, place in enumerate(places)]

    assert near(rows(0.7, 0.9), "near[1, 0, 0.2]>=2", timed=False) == 2, "0.9 − 0.7 is more than 0.2 in binary"
    assert near(rows(0, 1 + 1e-9), "near[1, 0, 1]>=2", timed=False) == 2
    assert near(rows(0.1, 0.3 + 2e-9), "near[1, 0, 0.2]>=2", timed=False) == 1
    assert near(rows(0.1, "x"), "near[1, 0, 0.2]>=2", timed=False) == 1, "a place that is no number is only itself"
    assert near(rows("x", "x"), "near[1, 0, 0.2]>=2", timed=False) == 2
    assert near(rows("1234", "1299"), "near[1, 0, prefix:2]>=2", timed=False) == 2
    assert near(rows("1234", "1299"), "near[1, 0, prefix:3]>=2", timed=False) == 1
    assert near([("a", 0, "1"), ("b", 1, "1.0")], "near[1, 1]>=2") == 1, "without a distance, places are texts"


def test_times_that_are_no_moments_are_only_themselves() -> None:
    assert near([("a", "night", "A"), ("b", "night", "A")], "near[1, 1h]>=2") == 2
    assert near([("a", "night", "A"), ("b", "morning", "A")], "near[1, 1h]>=2") == 1
    assert near([("a", "night", "A"), ("b", START, "A")], "near[1, 1h]>=2") == 1


# --- numbers and blocks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("top", [0, 5, 1011, 1012, 2013, 10**6, 2**31, 2**40])
def test_codes_get_numbers_in_order(top: int) -> None:
    """Codes that are far apart are sorted, those within four times their number and a thousand are counted."""
    codes = np.array([top, 0, top, min(3, top)], dtype=np.int64)
    ranks = {v: i for i, v in enumerate(sorted(set(codes.tolist())))}
    found = proof._dense(codes)
    assert found.tolist() == [ranks[v] for v in codes.tolist()]
    assert found.dtype == np.int32


def test_codes_far_apart_take_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    largest = []
    zeros = np.zeros
    monkeypatch.setattr(proof.np, "zeros", lambda n, **more: largest.append(n) or zeros(n, **more))
    proof._dense(np.array([0, 1008]))
    assert largest == [1009]
    proof._dense(np.array([0, 1009]))
    assert largest == [1009]


@pytest.mark.parametrize("codes", [[0, 0, 1, 5], [5, 3, 0], [3, 3, 1, 0, 3, 1], [2**31 - 1, 0, 2**31 - 1], [7], []])
def test_places_in_the_order_of_codes(codes: list[int]) -> None:
    found = proof._in_order(np.array(codes, dtype=np.int64))
    assert found.tolist() == sorted(range(len(codes)), key=lambda i: codes[i])
    assert found.dtype == np.int32


@pytest.mark.parametrize("numbers", [[0, 0, 0, 1, 1, 2, 5, 5], [4, 4, 4], [0], [-0, 1, 2, 3]])
def test_sorted_numbers_once_in_blocks(numbers: list[int], blocks: int) -> None:
    assert proof._once(np.array(numbers)).tolist() == sorted(set(numbers))


@pytest.mark.parametrize("most", [4, 2**31])
def test_points_of_many_values_are_told_apart(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "MOST_NUMBER", most)
    columns = [proof.numbered(c) for c in ([1, 1, 2, 2, 1], ["a", "b", "a", "a", "b"], [None, "x", None, "y", "x"])]
    point, values = proof.points_of(columns)
    assert [values()[p] for p in point] == [(1, "a", None), (1, "b", "x"), (2, "a", None), (2, "a", "y"), (1, "b", "x")]
    assert len(values()) == 4


@pytest.mark.parametrize(
    ("first", "second", "many"),
    [
        ([0, 1, 2], [5, 0, 7], 2**30),  # 2 · 2³⁰ + 7
        ([0, 1, 1], [0, 0, 2**30], 3 * 2**29),
        ([*range(2**16 + 1)], [0] * (2**16 + 1), 2**16),  # 2¹⁶ · 2¹⁶ would be 0 in 32 bits
    ],
)
def test_points_of_more_combinations_than_32_bits_hold(first: list[int], second: list[int], many: int) -> None:
    point, _ = proof.points_of([(np.array(first), range(max(first) + 1)), (np.array(second), range(many))])
    assert point.tolist() == list(range(len(first)))


@pytest.mark.parametrize("most", [1, 5, 6, 2**62])
def test_lines_of_numbers_are_the_same_number_if_they_are_equal(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "MOST_CODE", most)
    lines = np.array([[0, 1, 2], [2, 1, 0], [0, 1, 2], [0, 2, 1], [2, 1, 0], [1, 1, 1]])
    found = proof._number_lines(lines).tolist()
    assert len(set(found)) == 4
    assert (found[0], found[1]) == (found[2], found[4])


@pytest.mark.parametrize("lines", [[[0, 2], [1, 0]], [[0, 0, 1], [0, 1, 0]], [[1, 0], [0, 1]]])
def test_lines_with_the_largest_number_are_told_apart(lines: list[list[int]]) -> None:
    assert len(set(proof._number_lines(np.array(lines)).tolist())) == 2


@pytest.mark.parametrize("top", [2**16, 2**21 - 1, 2**31 - 1])
def test_lines_of_numbers_beyond_62_bits(top: int) -> None:
    """Of eight columns with 0 or a large number, no two lines get one number, although 64 bits hold two to four of them."""
    lines = np.array([*product((0, top), repeat=8)])
    assert len(set(proof._number_lines(lines).tolist())) == 2**8


def test_every_set_begins_in_one_block(blocks: int) -> None:
    rows = some_rows(8, people=20, hours=4, each=6)
    trace, point = (proof.numbered(c)[0] for c in zip(*((p, (h, w)) for p, _, h, w in rows), strict=True))
    shown = proof._Shown.of(trace, point, trace)
    for size in (1, 2, 3):
        seen: list[int] = []
        parts = list(proof._every_set(shown, size))
        for ids, traces in parts:
            assert len(ids) == len(traces)
            seen += traces.tolist()
        own: dict[int, set[int]] = {}
        for t, p in zip(trace.tolist(), point.tolist(), strict=True):
            own.setdefault(t, set()).add(p)
        sets = Counter(c for points in own.values() for c in combinations(sorted(points), size))
        begun = Counter(c[0] for c in sets.elements())
        assert all(len(ids) < blocks + max(begun.values()) for ids, _ in parts), "a part has about as many sets as a block"
        assert len(seen) == shown.sets(size) == sets.total()
        shared = sorted(n for ids, _ in parts for n in np.bincount(ids).tolist())
        assert shared == sorted(sets.values())
        assert (len(parts) > 1) is (blocks < 8)


def test_more_sets_than_are_listed_are_refused_and_as_many_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(t, p) for t in range(3) for p in range(4)]  # 18 pairs, of which 6 are different
    for kind, limit in (("absent", 18), ("near", 6), ("next", 6)):
        text = {"absent": "absent[2]>=2", "near": "near[2, 1]>=2", "next": "next[2]<=0.5"}[kind]
        asked = requirements_of([text])
        size = limit if kind == "absent" else 10  # with the four points alone
        records = [(t, p, "A") for t, p in rows]
        monkeypatch.setattr(proof, "FEWER_SETS", size)
        facts_of_rows(records, unit=True, person=False, known=1, asked=asked, timed=True)
        monkeypatch.setattr(proof, "FEWER_SETS", size - 1)
        with pytest.raises(VerificationError, match="would have to be counted"):
            facts_of_rows(records, unit=True, person=False, known=1, asked=asked, timed=True)


# --- written files -----------------------------------------------------------------------------------------------------------


def test_a_row_stands_for_as_many_records_as_it_says(tmp_path, monkeypatch):
    file = tmp_path / "t.csv"
    file.write_text("from,to,trips\na,b,3\nb,a,0\na,b,2\n")
    facts = proof.recount_events(file, unit=None, points=["from", "to"], known=1, counts="trips")
    assert (facts.records, dict(facts.smallest)) == (5, {1: 5})
    monkeypatch.setattr(proof, "MOST_SETS", 5)
    proof.recount_events(file, unit=None, points=["from", "to"], known=1, counts="trips")
    monkeypatch.setattr(proof, "MOST_SETS", 4)
    with pytest.raises(VerificationError, match="too many trips"):
        proof.recount_events(file, unit=None, points=["from", "to"], known=1, counts="trips")


@pytest.mark.parametrize(("trips", "fits"), [("100000000", True), ("1000000000", False), ("-3", False), ("x", False)])
def test_the_number_of_records_of_a_row_has_at_most_nine_digits(tmp_path, trips, fits, monkeypatch):
    (tmp_path / "t.csv").write_text(f"from,to,trips\na,b,7\nb,a,{trips}\n")
    monkeypatch.setattr(proof, "MOST_SETS", 2 * 10**9)
    monkeypatch.setattr(proof.np, "repeat", lambda codes, times: times)
    if fits:
        (times, _), _ = proof.event_columns(tmp_path / "t.csv", ["from", "to"], "trips")
        assert times.tolist() == [7, int(trips)]
    else:
        with pytest.raises(VerificationError, match="without its number"):
            proof.event_columns(tmp_path / "t.csv", ["from", "to"], "trips")


def test_sensitive_values_of_a_file_by_their_name(tmp_path):
    (tmp_path / "t.csv").write_text("who,id,true v,at,place\n1,a,x,1,A\n2,a,y,1,A\n3,b,y,1,A\n")
    asked = requirements_of(["known[1]>=2", "distinct[v]>=2", "near[1, 1]>=2"])
    facts = proof.recount_events(
        tmp_path / "t.csv", unit="who", person="id", points=["at", "place"], known=1, asked=asked, timed=True, values="true "
    )  # fmt: skip
    assert (facts.people, facts.traces, dict(facts.smallest)) == (2, 3, {1: 1})
    assert facts.further == {"diversity.v.distinct": 2.0, "near.1": 1.0}


def test_a_file_without_records_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("who,at\n")
    with pytest.raises(VerificationError, match="no record"):
        proof.recount_events(tmp_path / "t.csv", unit="who", points=["at"], known=1)
    with pytest.raises(VerificationError, match="no record"):
        facts_of_rows([], unit=False, person=False, known=1)


def uses(tmp_path, text, **columns):
    (tmp_path / "t.csv").write_text(text)
    return proof.recount_uses(tmp_path / "t.csv", **columns)


def test_trips_are_consecutive_records_at_two_places(tmp_path, blocks):
    """Two at the same time have no order, a blank place tells nothing, and another person's record is none of this one's."""
    rows = [
        ("a", 1, "A"), ("a", 2, "B"), ("a", 3, "B"), ("a", 4, "C"), ("a", 4, "D"), ("a", 5, "A"), ("a", 6, "*"), ("a", 7, "B"),
        ("b", 8, "A"), ("b", 9, "B"), ("c", 2, "B"), ("c", 10, "A"),
    ]  # fmt: skip
    random.Random(1).shuffle(rows)
    text = "who,at,to\n" + "".join(f"{p},{t},{w}\n" for p, t, w in rows)
    counts, trips = uses(tmp_path, text, unit="who", time="at", place=["to"])
    assert trips == {("A", "B"): 2, ("B", "A"): 1}
    assert counts == {"records": 12.0, "records per person": 4.0, "trips": 3.0}


@pytest.mark.parametrize("seed", range(3))
def test_trips_in_blocks_by_definition(tmp_path, seed, blocks):
    r = random.Random(seed)
    rows = [(r.choice("abcd"), r.randrange(9), r.choice("XYZ*")) for _ in range(40)]
    wanted = Counter()
    for who in "abcd":
        own = sorted((t, w) for p, t, w in rows if p == who)
        often = Counter(t for t, _ in own)
        for (t, x), (u, y) in pairwise(own):
            wanted[x, y] += x != y and "*" not in (x, y) and often[t] == often[u] == 1
    _, trips = uses(tmp_path, "who,at,to\n" + "".join(f"{p},{t},{w}\n" for p, t, w in rows), unit="who", time="at", place=["to"])
    assert trips == +wanted


def test_records_with_two_places_are_trips_of_their_own(tmp_path):
    text = "from,to\nA,B\nA,B\nB,*\n*,A\nB,A\nA,A\n"
    counts, trips = uses(tmp_path, text, unit=None, time=None, place=["from", "to"])
    assert trips == {("A", "B"): 2, ("B", "A"): 1, ("A", "A"): 1}
    assert counts == {"records": 6.0, "records per person": 1.0}


def test_places_that_are_whole_numbers(tmp_path):
    """Without a pseudonym before it, the first place is read by its values."""
    pq.write_table(pa.table({"from": [10, 20, 10], "to": [20, 30, 20]}), tmp_path / "t.parquet")
    _, trips = proof.recount_uses(tmp_path / "t.parquet", unit=None, time=None, place=["from", "to"])
    assert trips == {(10, 20): 2, (20, 30): 1}


def test_without_times_or_places_there_are_no_trips(tmp_path):
    text = "who,at,to\n1,1,A\n1,2,B\n2,1,A\n"
    for time, place in ((None, ["to"]), ("at", [])):
        counts, trips = uses(tmp_path, text, unit="who", time=time, place=place)
        assert (counts, trips) == ({"records": 3.0, "records per person": 1.5}, {})


@pytest.mark.parametrize(
    "in_order",
    [
        [2, 9, 10], ["2", "9", "10"], ["night", "morning", "afternoon", "evening"], ["2026-03-02", "2026-03-03"],
        ["Monday night", "Monday evening"], [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)],
    ],
)  # fmt: skip
def test_published_times_in_their_order(in_order):
    backwards = in_order[::-1]
    assert sorted(backwards, key=proof._moment) == in_order


def flows(tmp_path, *lines):
    (tmp_path / "flows.csv").write_text("\n".join(["from,to,trips", *lines]) + "\n")
    return tmp_path / "flows.csv"


def test_flows_name_each_pair_once_with_its_trips(tmp_path):
    assert proof.read_flows(flows(tmp_path, "A,B,7", "B,A,12")) == {("A", "B"): 7, ("B", "A"): 12}
    for wrong in (["A,B,7", "A,B,7"], ["A,B,x"], ["A,B,-7"], ["A,B,"]):
        with pytest.raises(VerificationError, match="twice, or without"):
            proof.read_flows(flows(tmp_path, *wrong))


@pytest.mark.parametrize(
    ("trips", "shown", "good"),
    [
        (5, None, True), (4, None, False), (5, 5, True), (6, 5, False), (9, 5, False), (10, 5, True), (5, 6, False),
        (8, 4, False), (9, 4, True), (4, 4, False), (6, 7, False), (6, 8, False),
    ],
)  # fmt: skip
def test_flows_tell_nobody_apart_from_the_records(tmp_path, trips, shown, good):
    """With k = 5: at least five trips, and none or at least five beyond those that the records show."""
    file, seen = flows(tmp_path, "C,D,50", f"A,B,{trips}", "B,C,50"), None if shown is None else {("A", "B"): shown}
    if good:
        assert proof.check_flows(file, seen, 5).startswith("3 flows have at least 5 trips")
        return
    with pytest.raises(VerificationError, match="fewer than 5 people"):
        proof.check_flows(file, seen, 5)


def test_requirements_are_judged_by_their_own_number():
    facts = proof.EventFacts(9, 5, 4, 3, 2, {1: 4, 2: 3}, {1: 0.25, 2: 0.5}, {"near.1": 2.0})
    asked = requirements_of(["known[1]>=4", "known[2]>=4", "unicity[1]<=0.25", "unicity[2]<=0.25", "near[1, 1]>=2"])
    verdicts = proof.judge_events(asked, facts)
    assert {v.requirement.name: (v.found, v.met) for v in verdicts} == {
        "known.1": (4, True), "known.2": (3, False), "unicity.1": (0.25, True), "unicity.2": (0.5, False), "near.1": (2.0, True),
    }  # fmt: skip
    for other in ("absent[1]>=2", "k>=5"):
        with pytest.raises(UsageError, match="says nothing of an event table"):
            proof.judge_events(requirements_of([other]), facts)

"""The second count of an event table and the search, each against the definition written out slowly."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, pairwise
from statistics import mean

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

from shoal.errors import VerificationError
from shoal.measures.events import weak_sets
from shoal.model.requirement import KnownRecords, Unicity
from shoal.release.proof import events as proof
from shoal.release.proof.events import facts_of_rows, judge_events
from shoal.search.events.suppress import Linked, Pairs, suppressed

# a pseudonym, its person (pseudonym // 2), a point
tables = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), min_size=1, max_size=40)


def slow(pairs, s, person=lambda t: t):
    """Fewest people who share a set of up to s points of a trace (one over the largest share of one person in the traces that
    have it, rounded down); mean share of the sets of s (all of fewer) that are one's."""
    at = defaultdict(set)
    for trace, point in pairs:
        at[trace].add(point)

    def shared(known):
        return Counter(person(t) for t, points in at.items() if set(known) <= points)

    sets = {c for t in at.values() for size in range(1, min(s, len(t)) + 1) for c in combinations(sorted(t), size)}
    fewest = min(found.total() // max(found.values()) for found in map(shared, sets))
    shares = []
    for t in at.values():
        found = [shared(c) for c in combinations(t, min(s, len(t)))]
        shares.append(Fraction(sum(len(n) == 1 for n in found), len(found)))
    return fewest, float(mean(shares))


@settings(max_examples=150, deadline=None)
@given(tables, st.integers(1, 4), st.integers(1, 60))
def test_the_recount_is_the_definition(pairs, s, block):
    facts = facts_of_rows([(t, p) for t, p in pairs], unit=True, person=False, known=s)
    with pytest.MonkeyPatch.context() as patch:  # the same in many small blocks
        patch.setattr(proof, "BLOCK", block)
        assert facts_of_rows([(t, p) for t, p in pairs], unit=True, person=False, known=s) == facts
    for m in range(1, s + 1):
        fewest, share = slow(pairs, m)
        assert facts.smallest[m] == fewest
        assert facts.alone[m] == pytest.approx(share, abs=1e-11)
    assert facts.traces == facts.people == len({t for t, _ in pairs})
    assert facts.records == len(pairs)


@settings(max_examples=100, deadline=None)
@given(tables, st.integers(1, 4), st.booleans(), st.sets(st.integers(0, 9)))
def test_pairs_counted_in_one_walk_are_those_looked_up_one_by_one(pairs, limit, linked, chosen):
    p = as_pairs(pairs, (lambda t: t // 2) if linked else (lambda t: t))
    found = Linked.of(p.trace, p.point, p.owner, np.ones(len(p.trace), dtype=bool))
    t, mark = found.traces, np.zeros(len(p.trace), dtype=bool)
    which = np.array(sorted(c for c in chosen if c < t.n_people), dtype=np.int64)
    weak_sets.mark_weak(found._points(), found._question(2), found._room(2), which, float(limit), mark)
    assert (found.weak(2, limit, which) == mark).all()


@settings(max_examples=100, deadline=None)
@given(tables, st.integers(1, 3))
def test_with_the_person_behind_a_pseudonym_people_are_counted(pairs, s):
    facts = facts_of_rows([(t, t // 2, p) for t, p in pairs], unit=True, person=True, known=s)
    fewest, share = slow(pairs, s, person=lambda t: t // 2)
    assert facts.smallest[s] == fewest
    assert facts.alone[s] == pytest.approx(share, abs=1e-11)
    assert facts.people == len({t // 2 for t, _ in pairs})


def test_somebody_with_most_of_the_pseudonyms_is_not_hidden_among_the_others():
    """Three people at one place, one of them under eight of ten pseudonyms: who names that person is right in 8 of 10 cases."""
    rows = [(t, max(0, t - 7), "a") for t in range(10)]
    assert facts_of_rows(rows, unit=True, person=True, known=1).smallest == {1: 1}
    assert facts_of_rows(rows[7:], unit=True, person=True, known=1).smallest == {1: 3}
    p = as_pairs([(t, 0) for t in range(10)], lambda t: max(0, t - 7))
    kept = suppressed(p, (KnownRecords(1, 3),), 10)[1]
    assert np.bincount(p.owner[p.trace[kept]]).tolist() == [1, 1, 1]  # seven of the eight go, not all ten


def test_without_a_pseudonym_each_record_stands_alone():
    facts = facts_of_rows([("a",), ("a",), ("b",)], unit=False, person=False, known=2)
    assert (facts.traces, facts.smallest, facts.alone) == (3, {1: 1, 2: 1}, {1: round(1 / 3, 12), 2: round(1 / 3, 12)})
    named = facts_of_rows([(1, "a"), (1, "a"), (2, "b")], unit=False, person=True, known=1)
    assert named.smallest == {1: 1}
    assert named.alone == {1: 1.0}


def test_what_cannot_be_counted_is_not_claimed(monkeypatch):
    rows = [(1, i) for i in range(6)]
    monkeypatch.setattr(proof, "MOST_LISTED", 15)
    assert facts_of_rows(rows, unit=True, person=False, known=2).alone == {1: 1.0, 2: 1.0}
    with pytest.raises(VerificationError, match="20 sets of 3 records"):
        facts_of_rows(rows, unit=True, person=False, known=3)
    with pytest.raises(VerificationError, match="no record"):
        facts_of_rows([], unit=True, person=False, known=1)
    with pytest.raises(VerificationError, match="two people"):
        facts_of_rows([(1, 1, "a"), (1, 2, "a")], unit=True, person=True, known=1)


def as_pairs(pairs, person=lambda t: t):
    found = sorted(set(pairs))
    traces = sorted({t for t, _ in found})
    at = {t: i for i, t in enumerate(traces)}
    owner = np.array([person(t) for t in traces])
    return Pairs(np.array([at[t] for t, _ in found]), np.array([p for _, p in found]), np.ones(len(found), np.int64), owner)


@settings(max_examples=150, deadline=None)
@given(tables, st.integers(1, 4), st.booleans())
def test_the_share_alone_in_the_search_is_the_definition(pairs, s, linked):
    person = (lambda t: t // 2) if linked else (lambda t: t)
    p = as_pairs(pairs, person)
    found = Linked.of(p.trace, p.point, p.owner, np.ones(len(p.trace), dtype=bool))
    assert found.alone(s).mean() == pytest.approx(slow(pairs, s, person)[1], abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(tables, st.integers(1, 3), st.integers(2, 4), st.booleans(), st.sampled_from([0.0, 0.2, 0.5]))
def test_after_suppression_the_recount_holds_always(pairs, s, k, linked, share):
    person = (lambda t: t // 2) if linked else (lambda t: t)
    p = as_pairs(pairs, person)
    for asked in ((KnownRecords(s, k),), (Unicity(s, share),), (KnownRecords(1, k), Unicity(s, share))):
        for split in (False, True):
            made = suppressed(p, asked, len(p.trace), split=split)
            if made is None:
                continue
            found, stays = made
            left = [
                (t, int(found.owner[t]), q) for t, q, on in zip(*map(list, (found.trace, found.point, stays)), strict=True) if on
            ]
            assert all(judge_events(asked, facts_of_rows(left, unit=True, person=True, known=s)))
            gone = int((~stays).sum())
            again = suppressed(p, asked, gone, split=split)
            assert again is not None  # exactly so many are enough …
            assert (again[1] == stays).all()
            if gone:
                assert suppressed(p, asked, gone - 1, split=split) is None  # … and one fewer is not


def test_nothing_is_left_out_where_all_holds():
    p = as_pairs([(t, q) for t in range(4) for q in range(3)])
    found, stays = suppressed(p, (KnownRecords(3, 4),), 0, split=True)
    assert stays.all()
    assert (found.trace == p.trace).all()  # and nothing is split
    assert suppressed(p, (KnownRecords(1, 5),), 99) is None


def test_a_trace_is_split_before_a_record_is_left_out():
    """Places 0 and 1 are shared by three people each, but only one person was at both."""
    p = as_pairs([(0, 0), (0, 1), (1, 0), (2, 0), (3, 1), (4, 1)])
    found, stays = suppressed(p, (KnownRecords(2, 3),), 0, split=True)
    assert stays.all()
    assert len(set(found.trace.tolist())) == 6
    assert found.owner.tolist() == [0, 0, 1, 2, 3, 4]
    assert suppressed(p, (KnownRecords(2, 3),), 0) is None


@settings(max_examples=100, deadline=None)
@given(tables, st.integers(1, 3))
def test_coarser_points_never_lower_k(pairs, s):
    fine = facts_of_rows([(t, p) for t, p in pairs], unit=True, person=False, known=s)
    coarse = facts_of_rows([(t, p // 2) for t, p in pairs], unit=True, person=False, known=s)
    assert coarse.smallest[s] >= fine.smallest[s]
    assert all(fine.smallest[m + 1] <= fine.smallest[m] for m in range(1, s))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.sampled_from("AB*")), min_size=1, max_size=40), st.booleans())
def test_trips_of_a_written_file_are_the_definition(tmp_path_factory, records, text):
    """Consecutive records of a pseudonym at two places, both the only ones at their time, none blank; in any format."""
    hours = [f"2026-03-02 {h:02}:00:00" for h in range(10)]
    people, at, places = zip(*records, strict=True)
    table = pa.table({"who": people, "at": [hours[h] for h in at], "to": places})
    path = tmp_path_factory.mktemp("trips") / ("data.csv" if text else "data.parquet")
    (csv.write_csv if text else pq.write_table)(table, path)
    trips = Counter()
    for who in set(people):
        own = sorted((h, p) for w, h, p in records if w == who)
        times = Counter(h for h, _ in own)
        for (h, a), (i, b) in pairwise(own):
            if a != b and "*" not in (a, b) and times[h] == times[i] == 1:
                trips[a, b] += 1
    told, found = proof.recount_uses(path, unit="who", time="at", place=["to"])
    assert found == trips
    assert told == {
        "records": len(records),
        "records per person": len(records) / len({w for w, _, _ in records}),
        "trips": trips.total(),
    }


def test_values_of_every_type_are_told_apart_as_they_are_written(tmp_path):
    """A missing number is one value, whether not a number or nothing; zeros of both signs are one; in several row groups."""
    numbers = [0.0, -0.0, float("nan"), None, 1.5, 0.0, None, float("nan")]
    table = pa.table({"who": ["a", None, "b", None, "c", "c", "d", "d"], "lat": pa.array(numbers), "day": [None, 1] * 4})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=3)
    facts = proof.recount_events(tmp_path / "t.parquet", unit="who", points=["lat", "day"], known=1)
    rows = [(w, 0.0 if n == 0 else None if n != n else n, d) for w, n, d in zip(*table.to_pydict().values(), strict=True)]
    assert facts == facts_of_rows(rows, unit=True, person=False, known=1)
    assert facts.points == 5


@pytest.mark.parametrize("trips", ["", "-1", "1.5", "\u00b2", "999999999", "9999999999999999999999"])
def test_a_number_of_trips_that_nobody_can_have_is_refused(tmp_path, trips):
    """Also one that is too large to be held."""
    (tmp_path / "t.csv").write_text(f"from,to,trips\na,b,7\nb,a,{trips}\n", encoding="utf-8")
    with pytest.raises(VerificationError, match="number of trips"):
        proof.recount_events(tmp_path / "t.csv", unit=None, points=["from", "to"], known=1, counts="trips")

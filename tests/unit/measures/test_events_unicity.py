"""Unicity, sets and records needed, against the definition written out slowly."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import combinations
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import EmptyTableError, InternalError, UsageError
from shoal.measures.events import sets, unicity
from shoal.measures.events.sets import random_orders, sets_of, walks, whole, whole_sets
from shoal.measures.events.traces import Traces
from shoal.measures.events.unicity import SetSizes, SharedSets, clopper_pearson, known, largest_m, needed, shared_sets

tables = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5)), min_size=1, max_size=30)


def dense(pairs):
    who = {p: i for i, p in enumerate(sorted({p for p, _ in pairs}))}
    where = {q: i for i, q in enumerate(sorted({q for _, q in pairs}))}
    return [who[p] for p, _ in pairs], [where[q] for _, q in pairs]


def slow(pairs, s):
    """By person: the size of the set of each s of their points; all of them where they have fewer."""
    at = defaultdict(set)
    for person, point in pairs:
        at[person].add(point)
    return {
        u: [sum(set(known_) <= other for other in at.values()) for known_ in combinations(sorted(t), min(s, len(t)))]
        for u, t in sorted(at.items())
    }, {u: len(t) for u, t in at.items()}


@given(tables, st.integers(1, 4))
def test_equals_the_definition(pairs, s):
    found, lengths = slow(pairs, s)
    traces = Traces.of(*dense(pairs))
    enough = [u for u in found if lengths[u] >= s]
    if not enough:
        with pytest.raises(UsageError, match="nobody has more than"):
            unicity.unicity(traces, [s])
        return
    k = unicity.unicity(traces, [s]).curve[0]
    assert k.exact
    assert k.unique.grade == "A"
    assert k.people == len(enough)
    assert k.shorter == len(found) - len(enough)
    share = lambda us: float(mean(Fraction(sum(n == 1 for n in found[u]), len(found[u])) for u in us))  # noqa: E731
    assert k.unique.value == pytest.approx(share(enough), abs=1e-12)
    assert k.everybody.value == pytest.approx(share(found), abs=1e-12)
    if k.shorter:
        assert k.shorter_unique.value == pytest.approx(share([u for u in found if lengths[u] < s]), abs=1e-12)
    assert k.sets.min == min(n for u in enough for n in found[u])
    assert k.sets.mean == pytest.approx(float(mean(Fraction(sum(found[u]), len(found[u])) for u in enough)))
    below = mean(Fraction(sum(n < 5 for n in found[u]), len(found[u])) for u in enough)
    assert k.sets.below[5] == pytest.approx(float(below), abs=1e-12)


@given(tables)
def test_the_whole_trace(pairs):
    found, _ = slow(pairs, 99)
    traces = Traces.of(*dense(pairs))
    everyone = np.arange(traces.n_people)
    assert whole(traces, everyone).tolist() == [n[0] for n in found.values()]
    exact = whole_sets(traces, everyone, np.random.default_rng(0))
    assert exact.exact
    assert exact.hist[1] == sum(n == [1] for n in found.values())


@given(tables, st.randoms())
def test_the_order_of_the_rows_means_nothing(pairs, random):
    mixed = list(pairs)
    random.shuffle(mixed)
    one, other = (unicity.unicity(Traces.of(*dense(p)), [1]) for p in (pairs, mixed))
    assert one == other


@given(tables, st.integers(0, 9))
def test_more_known_records_never_raise_the_set(pairs, seed):
    traces = Traces.of(*dense(pairs))
    sizes = walks(traces, np.arange(traces.n_people), 5, np.random.default_rng(seed))
    assert (np.diff(sizes, axis=1) <= 0).all()
    assert (sizes >= 1).all()


@given(tables, st.integers(0, 9), st.integers(1, 3))
def test_coarser_points_never_lower_the_set(pairs, seed, joined):
    """The same known records, before and after points fall together."""
    fine, coarse = Traces.of(*dense(pairs)), [(u, q // joined) for u, q in pairs]
    at = defaultdict(set)
    for u, q in coarse:
        at[u].add(q)
    person, point = dense(pairs)
    names = sorted({q for _, q in pairs})
    rng = np.random.default_rng(seed)
    everyone = np.arange(fine.n_people)
    picks = random_orders(fine.lengths, 2, rng)
    sizes = walks(fine, everyone, 2, np.random.default_rng(seed))
    for u in everyone:
        points = [names[fine.point[fine.start[u] + i]] for i in picks[u] if i >= 0]
        shared = sum({q // joined for q in points} <= other for other in at.values())
        assert shared >= sizes[u, -1]
    assert person
    assert point


@given(tables, st.integers(2, 3))
def test_the_loops_are_intersections_of_sets(pairs, s):
    traces = Traces.of(*dense(pairs))
    people = np.arange(traces.n_people)
    picks = random_orders(traces.lengths, s, np.random.default_rng(3))
    own = [traces.point[traces.start[u] : traces.start[u + 1]].tolist() for u in people]
    learnt = [[{own[u][i] for i in picks[u][: j + 1] if i >= 0} for j in range(s)] for u in people]
    points, room = sets.Points.of(traces), np.empty(traces.n_people, np.int32)
    out = np.empty((len(people), s), np.int32)
    sets.walk(points, people, picks, room, out)
    assert out.tolist() == [[sum(known <= set(o) for o in own) for known in row] for row in learnt]
    every = np.empty(len(people), np.int32)
    sets.whole_loop(points, people, room, every)
    assert every.tolist() == [sum(set(u) <= set(o) for o in own) for u in own]


@given(st.lists(st.integers(0, 400), unique=True, max_size=300), st.lists(st.integers(0, 400), unique=True, max_size=12))
def test_people_in_both_lists_also_when_one_is_much_longer(long, short):
    for a, b in ((long, short), (short, long)):
        x, y = np.array(sorted(a), np.int32), np.array(sorted(b), np.int32)
        out = np.zeros(max(len(a), 1), np.int32)
        n = sets.common(x, len(x), y, 0, len(y), out, True)
        assert out[:n].tolist() == sorted(set(a) & set(b))
        assert sets.common(x, len(x), y, 0, len(y), out, False) == n


def test_random_orders_are_orders_and_all_equally_likely():
    picks = random_orders(np.full(60_000, 3), 3, np.random.default_rng(5))
    assert (np.sort(picks, axis=1) == [0, 1, 2]).all()
    _, often = np.unique(picks @ [100, 10, 1], return_counts=True)
    assert len(often) == 6
    assert abs(often - 10_000).max() < 5 * (60_000 * 5 / 36) ** 0.5
    assert random_orders(np.array([1, 2]), 3, np.random.default_rng(0)).tolist()[0] == [0, -1, -1]


def made(n=300, places=40, records=3000, seed=1):
    rng = np.random.default_rng(seed)
    weights = np.arange(1, places + 1) ** -1.0
    who, where = rng.integers(0, n, records), rng.choice(places, records, p=weights / weights.sum())
    return Traces.of(np.unique(who, return_inverse=True)[1], np.unique(where, return_inverse=True)[1])


@pytest.mark.parametrize("s", [2, 3])
@pytest.mark.parametrize("steps", [0, 200_000])
def test_drawn_sets_hold_the_exact_share_in_their_interval(s, steps):
    traces = made()
    exact = known(traces, s, np.random.default_rng(0))
    drawn = known(traces, s, np.random.default_rng(7), steps=steps, draws=20_000)
    assert exact.unique.grade == "A"
    assert drawn.unique.grade == "B"
    assert not drawn.exact
    assert drawn.unique.low <= exact.unique.value <= drawn.unique.high
    assert drawn.unique.high - drawn.unique.low < 0.03
    assert drawn.sets.mean == pytest.approx(exact.sets.mean, rel=0.05)
    assert "Clopper–Pearson" in drawn.unique.method
    assert ("all counted" in drawn.unique.method) == (steps > 0)


def test_the_budget_is_used_to_its_last_step():
    traces = made(30, 20, 300)
    cost = sets._cost(traces, 2)
    enough = traces.lengths >= 2
    total = int(cost[enough].sum())
    assert sets_of(traces, 2, np.random.default_rng(0), steps=total).exact
    assert sets_of(traces, 2, np.random.default_rng(0), steps=total - 1).drawn_people == 1


def test_two_people_with_hundreds_of_thousands_of_points_are_drawn_and_the_others_counted():
    long = np.arange(300_000)
    person = np.concatenate((np.zeros(len(long), int), np.ones(len(long), int), np.repeat(np.arange(2, 52), 4)))
    point = np.concatenate((long, long, np.tile(np.arange(4), 49), [4, 5, 6, 7]))
    found = sets_of(Traces.of(person, point), 4, np.random.default_rng(0), draws=3000)
    assert (found.counted, found.drawn_people, found.draws, found.alone) == (50, 2, 3000, 0)
    assert found.hist[2] == 2
    assert found.hist[3] == 1
    assert found.hist[51] == 49


def test_too_few_draws_look_at_some_people_only():
    traces = made(400, 30, 6000)
    drawn = sets_of(traces, 2, np.random.default_rng(0), steps=0, draws=100)
    assert (drawn.draws, drawn.drawn_people) == (100, 400)
    assert drawn.hist.sum() == pytest.approx(400)


def test_records_needed():
    """Three alike, one alone at once, one after two in either order."""
    found = needed(Traces.of([0, 1, 2, 3, 4, 4, 5, 6], [0, 0, 0, 1, 2, 3, 2, 3]), np.random.default_rng(0))
    assert found.within == {1: pytest.approx(1 / 7), 2: pytest.approx(2 / 7)}
    assert found.never == pytest.approx(5 / 7)
    assert (found.q1, found.median, found.q3) == (2, None, None)
    alone = needed(Traces.of([0, 1, 2], [0, 1, 2]), np.random.default_rng(0))
    assert (alone.q1, alone.median, alone.q3, alone.never) == (1, 1, 1, 0)


def test_records_needed_are_those_of_the_counted_curve():
    traces = made(60, 30, 400)
    found = unicity.unicity(traces, [1, 2, 3, 4])
    shares = {k.records: k.everybody.value for k in found.curve}
    n = found.needed
    assert n.walks == 0
    for s, share in n.within.items():
        assert share == known(traces, s, np.random.default_rng(9)).everybody.value
        assert s not in shares or share == shares[s]
    for name, q in (("q1", 0.25), ("median", 0.5), ("q3", 0.75)):
        first = min((s for s, share in n.within.items() if share >= q), default=None)
        assert getattr(n, name) == first
        assert n.ranges[name] == (first, first)
    assert n.never == 1 - found.whole.value


def test_a_quartile_that_is_reached_exactly_is_reached():
    """One of four people is alone after one record, a quarter exactly; two after two."""
    traces = Traces.of([0, 1, 1, 2, 2, 3, 3], [0, 1, 2, 1, 3, 2, 3])
    found = needed(traces, np.random.default_rng(0))
    assert found.within == {1: 0.25, 2: 1.0}
    assert (found.q1, found.median, found.q3) == (1, 2, 2)


def test_intervals_of_records_needed_hold(monkeypatch):
    traces = made(300, 14, 900)
    exact = needed(traces, np.random.default_rng(0))
    assert exact.walks == 0
    monkeypatch.setattr(unicity, "STEPS", 0)
    monkeypatch.setattr(unicity, "MOST_WALKS", 60)
    held, tries, wide = 0, 0, 0
    for seed in range(100):
        drawn = needed(traces, np.random.default_rng(seed))
        assert drawn.walks == 60
        assert drawn.within[1] == exact.within[1]
        for name in ("q1", "median", "q3"):
            low, high = drawn.ranges[name]
            top = drawn.longest + 1
            held += (low or top) <= (getattr(exact, name) or top) <= (high or top)
            wide += low != high
            tries += 1
    assert wide > 0
    assert held >= 0.95 * tries


def test_more_known_records_than_anybody_has_are_refused():
    traces = Traces.of([0, 0, 1], [0, 1, 1])
    assert unicity.unicity(traces, [2]).curve[0].people == 1
    with pytest.raises(UsageError, match="3 known records are asked for, but nobody has more than 2"):
        unicity.unicity(traces, [1, 3])


def test_set_sizes_by_weight():
    s = SetSizes.of(np.array([0, 1.0, 1.0, 1.0, 1.0]))
    assert (s.min, s.q1, s.median, s.q3, s.mean) == (1, 1, 2, 3, 2.5)
    assert s.below == {2: 0.25, 5: 1.0, 10: 1.0}


def test_clopper_pearson_against_published_ends():
    assert clopper_pearson(10, 10)[1] == 1.0
    assert clopper_pearson(0, 10)[0] == 0.0
    assert clopper_pearson(10, 10)[0] == pytest.approx(0.6915, abs=1e-4)
    assert clopper_pearson(1, 10) == (pytest.approx(0.0025, abs=1e-4), pytest.approx(0.4450, abs=1e-4))


def test_k_m_follows_the_smallest_sets():
    traces = Traces.of([0, 0, 1, 1, 2, 2, 2], [0, 1, 0, 1, 0, 1, 2])
    rng = np.random.default_rng(0)
    curve = [known(traces, s, rng) for s in (1, 2)]
    assert shared_sets(curve) == (SharedSets(1, 1, True), SharedSets(2, 1, True))
    pair = Traces.of([0, 0, 1, 1, 2], [0, 1, 0, 1, 0])
    found = shared_sets([known(pair, s, rng) for s in (1, 2)])
    assert found == (SharedSets(1, 2, True), SharedSets(2, 2, True))
    assert (largest_m(found, 2), largest_m(found, 3)) == (2, 0)
    assert shared_sets([curve[1]]) == ()


def test_k_m_of_drawn_sets_is_a_bound():
    person, point = np.repeat(np.arange(6), 3), np.tile(np.arange(3), 6)
    curve = [known(Traces.of(person, point), s, np.random.default_rng(0), steps=0) for s in (1, 2)]
    assert shared_sets(curve) == (SharedSets(1, 6, True), SharedSets(2, 6, False))


def test_traces_refuse_gaps_and_nothing():
    with pytest.raises(EmptyTableError):
        Traces.of([], [])
    with pytest.raises(InternalError):
        Traces.of([0, 2], [0, 1])
    with pytest.raises(InternalError):
        Traces.of([0, 1], [0, 2])


def test_counting_fewer_than_half_of_the_people_is_not_worth_it():
    person = np.repeat(np.arange(4), [2, 2, 3, 3])
    traces = Traces.of(person, np.array([0, 1, 0, 1, 0, 1, 2, 0, 1, 2]))
    cost = np.sort(sets._cost(traces, 2))
    for steps, counted in ((cost[:2].sum(), 2), (cost[:2].sum() - 1, 0), (cost[:3].sum(), 3)):
        assert sets_of(traces, 2, np.random.default_rng(0), steps=int(steps)).counted == counted


def test_popular_points_leave_fewer_draws(monkeypatch):
    traces = Traces.of(np.arange(4), np.zeros(4, int))  # four people at each record's point
    monkeypatch.setattr(sets, "STEPS", 40_000)
    assert sets.affordable_draws(traces, 20_000) == 10_000
    assert sets.affordable_draws(traces, 9_999) == 9_999
    monkeypatch.setattr(sets, "STEPS", 4)
    assert sets.affordable_draws(traces, 20_000) == sets.FEWEST_DRAWS

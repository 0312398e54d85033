"""Linkage by value against its own slow definition: look at every published record, one after the other."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.attacks.by_value import (
    ValueLink,
    by_value,
    default_limit,
    nearest_found,
    places_found,
    rank_found,
    same_found,
    surely_found,
)

records = st.lists(st.tuples(st.integers(-9, 9), st.integers(-4, 4), st.integers(0, 2)), min_size=1, max_size=12)


def columns(rows):
    x, change, group = (np.array(part) for part in zip(*rows, strict=True))
    return x, x + change, group


def slowly(true, published, group, distance):
    """The chance of each record, by its definition."""
    out = []
    for i, x in enumerate(true):
        far = {j: distance(published[j], x) for j in range(len(true)) if group[j] == group[i]}
        near = [j for j, d in far.items() if math.isclose(d, min(far.values()), rel_tol=1e-9, abs_tol=1e-12)]
        out.append(1 / len(near) if i in near else 0.0)
    return out


@given(records)
@settings(max_examples=300, deadline=None)
def test_nearest_is_the_record_by_record_definition(rows):
    x, y, group = columns(rows)
    expected = slowly(x.tolist(), y.tolist(), group.tolist(), lambda a, b: abs(a - b))
    assert nearest_found(x, y, group).tolist() == pytest.approx(expected)
    assert nearest_found(x * 0.1, y * 0.1, group).tolist() == pytest.approx(expected), "in tenths, which no double holds exactly"


@given(records, st.sampled_from([1e-6, 3.0, 1e9]), st.integers(-5, 5))
@settings(max_examples=100, deadline=None)
def test_scale_and_origin_change_nothing(rows, scale, origin):
    x, y, group = columns(rows)
    moved = nearest_found(x * scale + origin * scale, y * scale + origin * scale, group)
    assert moved.tolist() == pytest.approx(nearest_found(x, y, group).tolist())


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=6))
@settings(max_examples=100, deadline=None)
def test_rank_is_the_mean_over_all_orders_of_equal_records(rows):
    x, y = (list(part) for part in zip(*rows, strict=True))
    n = len(x)
    left = [p for p in itertools.permutations(range(n)) if [x[i] for i in p] == sorted(x)]
    right = [p for p in itertools.permutations(range(n)) if [y[i] for i in p] == sorted(y)]
    hits = np.zeros(n)
    for p, q in itertools.product(left, right):
        for a, b in zip(p, q, strict=True):
            hits[a] += a == b
    assert rank_found(np.array(x), np.array(y)).tolist() == pytest.approx((hits / (len(left) * len(right))).tolist())


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-1, 1), st.integers(-1, 1)), min_size=1, max_size=8)
)
@settings(max_examples=100, deadline=None)
def test_positions_are_the_record_by_record_definition(rows):
    a, b, da, db = (np.array(part, dtype=float) for part in zip(*rows, strict=True))
    true, published = np.stack([a, b], axis=1), np.stack([a + da, b + db], axis=1)
    narrow = math.cos(math.radians(float(np.median(a))))
    expected = slowly(true, published, [0] * len(a), lambda p, q: math.hypot(p[0] - q[0], narrow * (p[1] - q[1])))
    assert places_found(true, published).tolist() == pytest.approx(expected)


@given(records)
@settings(max_examples=100, deadline=None)
def test_as_it_was_all_ways_find_the_same(rows):
    x, _, group = columns(rows)
    zero = np.zeros(len(x), dtype=np.int64)
    shared = [1 / (x == v).sum() for v in x]
    for found in (nearest_found(x, x, zero), rank_found(x, x), same_found(x + 9, zero)):
        assert found.tolist() == pytest.approx(shared)
    assert same_found(x + 9, group).tolist() == pytest.approx(nearest_found(x, x, group).tolist())


@given(records)
@settings(max_examples=200, deadline=None)
def test_whoever_cannot_be_hidden_is_found_whatever_the_change_was(rows):
    x, y, _ = columns(rows)
    change = int(np.abs(y - x).max())
    alone = [all(abs(x[i] - v) > 2 * change for j, v in enumerate(x) if j != i) for i in range(len(x))]
    assert surely_found(x - 100, y - 100) == sum(alone), "below 0 there are no ratios"
    for shift in (-change, change):
        moved = nearest_found(x, x + shift, np.zeros(len(x), dtype=np.int64))
        assert all(moved[i] == 1.0 for i in range(len(x)) if alone[i])


def test_an_income_of_millions_is_not_hidden_by_noise_of_a_tenth_either():
    rng = np.random.default_rng(1)
    x = np.append(rng.integers(20_000, 60_000, 500), 9_000_000)
    assert surely_found(x, np.round(x * (1 + rng.uniform(-0.1, 0.1, 501)))) == 1, "by ratio: the change is a tenth of everybody's"
    assert surely_found(x, x + rng.integers(-30_000, 30_001, 501)) == 1


def test_the_limit_is_decided_at_the_limit_and_one_step_beside_it():
    def verdict(found, *, limited=True, changed=True, certain=0):
        return by_value([ValueLink("pay", 1000, found, found, certain, changed, limited)], 5, 0.2)

    assert (verdict(200.0).verdict, verdict(201.0).verdict) == ("holds", "broken")
    assert verdict(201.0, limited=False, changed=False).verdict == "warning"
    assert verdict(10.0, certain=1).verdict == "warning"
    assert "Fewer than 5 records stand so far from all others in 'pay'" in verdict(10.0, certain=4).sentence
    assert "5 records stand so far" in verdict(10.0, certain=5).sentence
    assert verdict(10.0, certain=1, changed=False).verdict == "holds", "what is published as it is, is not meant to be hidden"


def test_the_worst_limited_column_is_the_one_that_is_named():
    free = ValueLink("free", 100, 90.0, 95.0, 0, False, False)
    held = ValueLink("held", 100, 30.0, 40.0, 0, True, True)
    found = by_value([free, held], 5, 0.2)
    assert (found.rate, found.verdict, found.claimed) == (0.3, "broken", 0.2)
    assert "By 'held' alone 30.0% of 100 records are found ('free': 90.0%)" in found.sentence
    assert "40.0% with the quasi-identifiers" in found.worst
    assert by_value([ValueLink("none", 0, 0.0, 0.0, 0, True, True)], 5, 0.2).rate == 0.0


@pytest.mark.parametrize(("k", "limit"), [(1, 0.5), (2, 0.5), (3, 1 / 3), (19, 1 / 19), (20, 0.05), (21, 0.05), (90, 0.05)])
def test_the_default_limit_is_what_k_claims_and_never_below_one_in_twenty(k, limit):
    assert default_limit(k) == pytest.approx(limit)

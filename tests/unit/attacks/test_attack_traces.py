"""Attacks on traces and what an event table is used for, by hand and against slow definitions."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.attacks.traces import (
    ECCENTRICITY,
    Published,
    approximate_times,
    chosen_records,
    draw,
    inferred_place,
    joined_traces,
    known_absence,
    known_length,
    known_records,
    relinking,
    sensitive_value,
    sparse_matching,
    targets,
    trail_matching,
    whole_trail,
)
from shoal.measures.events.traces import Traces
from shoal.measures.events.unicity import Log, compare_logs, trips_of

# points 0: all four traces; 1: traces 0, 1; 2: trace 2; 3: trace 3
SHOWN = Published(Traces.of([0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 0, 2, 0, 3]), np.array([0, 1, 2, 3]))


def test_known_records_by_hand():
    found = known_records(SHOWN, np.array([0, 1, 2]), [np.array([0, 1]), np.array([0]), np.array([2])], 2, claimed=0.7)
    assert found.rate == pytest.approx((1 / 2 + 1 / 4 + 1) / 3)
    assert found.verdict == "holds"
    wrong = known_records(SHOWN, np.array([3]), [np.array([2])], 1, claimed=None)  # the point of somebody else
    assert (wrong.rate, wrong.verdict) == (0.0, "holds")
    hidden = known_records(SHOWN, np.array([2]), [np.array([2, -1])], 2, claimed=None)  # a point that is not published
    assert hidden.rate == 1.0  # the other record is enough
    alone = known_records(SHOWN, np.array([2]), [np.array([2])], 1, claimed=None)
    assert (alone.rate, alone.verdict) == (1.0, "warning")
    many = known_records(SHOWN, np.repeat(2, 50), [np.array([2])] * 50, 1, claimed=0.5)
    assert many.verdict == "broken"


def test_pseudonyms_of_one_person_are_one_candidate():
    shown = Published(SHOWN.traces, np.array([7, 7, 8, 9]))  # traces 0 and 1 are one person's
    assert known_records(shown, np.array([7]), [np.array([1])], 1, claimed=None).rate == 1.0


def test_scores_forgive_a_record_that_is_missing():
    traces = Traces.of([*range(20), 3, 3], [0] * 20 + [1, 2])
    shown = Published(traces, np.arange(20))
    top, stands_out = shown.best(np.array([0, 1, -1]))
    scores = np.full(20, 1 / math.log(21))
    scores[3] += 1 / math.log(2)
    assert top == 3
    assert stands_out == pytest.approx((1 / math.log(2)) / scores.std())
    assert sparse_matching(shown, np.array([3]), [np.array([0, 1, -1])], 3, claimed=None).rate == 1.0
    assert sparse_matching(shown, np.array([4]), [np.array([0])], 1, claimed=None).rate == 0.0  # everybody scores the same
    assert shown.best(np.array([-1])) == (-1, 0.0)


def test_a_rare_record_tells_more_than_a_common_one():
    """Point 0 has four traces, point 1 two; traces 0 and 1 hold both."""
    common, rare = 1 / math.log(5), 1 / math.log(3)
    there, scores, many = SHOWN.scores(np.array([0, 1]))
    assert (there.tolist(), many.tolist()) == ([0, 1, 2, 3], [2, 2, 1, 1])
    assert scores == pytest.approx([common + rare, common + rare, common, common])
    there, alike = SHOWN.alike(np.array([0, 1]))
    assert alike == pytest.approx([(common + rare) / 2, (common + rare) / 2, common / 3, common / 3]), "over all points of both"


def test_the_best_score_stands_out_among_all_traces():
    """One of four traces has point 2: the others score nothing, and count."""
    only = 1 / math.log(2)
    assert SHOWN.best(np.array([2])) == (2, pytest.approx(only / math.sqrt(only**2 / 4 - only**2 / 16)))


def test_a_record_known_twice_counts_once():
    """Traces 0 and 1 have one rare record each: none stands out, however often one of them is named."""
    shown = Published(Traces.of([*range(20), 0, 1], [0] * 20 + [1, 2]), np.arange(20))
    assert sparse_matching(shown, np.array([0]), [np.array([1, 1, 2])], 3, claimed=None).rate == 0.0


def test_a_score_stands_out_from_so_many_deviations_on():
    for above, found in ((0.0, 0), (-1e-9, -1)):
        shown = SimpleNamespace(owner=np.array([7]), best=lambda points, above=above: (0, ECCENTRICITY + above))
        assert joined_traces(shown, [np.array([0])]) == [found]
        assert sparse_matching(shown, np.array([7]), [np.array([0])], 1, claimed=None).rate == (found == 0)


def test_the_share_found_by_scores_is_of_all_people_and_beyond_chance():
    shown = Published(Traces.of([*range(20), 3], [0] * 20 + [1]), np.arange(20))
    found = sparse_matching(shown, np.array([3, 4]), [np.array([1]), np.array([0])], 1, claimed=0.4)
    assert (found.rate, found.verdict) == (0.5, "holds"), "one of two people: more than 0.4, but not beyond chance"
    edge = sparse_matching(shown, np.array([3, 4]), [np.array([1]), np.array([0])], 1, claimed=found.low)
    assert edge.verdict == "holds"
    below = sparse_matching(shown, np.array([3, 4]), [np.array([1]), np.array([0])], 1, claimed=found.low * 0.999)
    assert below.verdict == "broken"


def test_a_chance_above_the_claim_that_may_be_chance_holds():
    found = known_records(SHOWN, np.array([0]), [np.array([1])], 1, claimed=0.4)
    assert (found.rate, found.verdict) == (0.5, "holds")


def test_what_is_claimed_of_each_person_is_broken_by_one():
    """Person 0 is one of four, person 2 is alone: the mean is below what is claimed, the most is not."""
    people, known = np.array([0, 2]), [np.array([0]), np.array([2])]
    found = known_records(SHOWN, people, known, 1, claimed=None, most=0.7)
    assert (found.rate, found.verdict) == (0.625, "broken")
    assert chosen_records(SHOWN, np.array([0, 2]), 1, most=0.8).verdict == "broken"
    assert chosen_records(SHOWN, np.array([0, 2]), 1, most=0.8).rate == 0.75


def test_the_worst_pseudonym_of_a_person_counts():
    """Trace 0 has a record that nobody else has, trace 1, of the same person, does not."""
    shown = Published(Traces.of([0, 0, 1, 2], [0, 1, 0, 0]), np.array([5, 5, 6]))
    found = chosen_records(shown, np.array([5]), 1, most=1.0)
    assert (found.rate, found.verdict, found.claimed) == (1.0, "warning", None)


def test_the_second_record_is_chosen_for_what_it_tells_with_the_third():
    trails = [[0, 1, 2], [0, 2], [0, 1, 3], [1], [1, 2]]
    pairs = [(i, p) for i, own in enumerate(trails) for p in own]
    shown = Published(Traces.of([i for i, _ in pairs], [p for _, p in pairs]), np.arange(5))
    assert chosen_records(shown, np.array([0]), 3, most=1.0).rate == 1.0


def test_how_many_records_a_pseudonym_has_is_known_exactly():
    """Three people at point 0 with one, two and three records."""
    shown = Published(Traces.of([0, 1, 1, 2, 2, 2], [0, 0, 1, 0, 1, 2]), np.arange(3))
    assert [known_length(shown, np.array([i]), [np.array([0])], 1, most=1.0).rate for i in range(3)] == [1.0] * 3


def test_knowledge_beyond_the_records_is_a_warning_where_somebody_is_alone():
    """Exact records may already name people (most is 1): one who is alone is a warning, one of two is none."""
    alone, two = np.array([0]), np.array([1])
    for people, points, verdict in ((alone, [3], "warning"), (two, [1], "holds")):
        shown = Published(SHOWN.traces, np.array([1, 2, 3, 0]))
        near = [[np.array(points)]]
        assert approximate_times(shown, people, near, 1, most=1.0).verdict == verdict
    ten = Published(Traces.of(list(range(10)), [0] * 10), np.array([0] * 3 + list(range(1, 8))))
    assert approximate_times(ten, np.array([0]), [[np.array([0])]], 1, most=0.3 - 1e-12).verdict == "holds", "but for rounding"


def test_the_surest_value_of_the_pseudonyms_that_fit():
    """Point 1 has traces 0 and 1, which both have value 1; of the four with point 0 two have it, and two have value 2."""
    first, value = np.array([0, 1, 3, 4, 5]), np.array([1, 1, 2, 2, 3])
    known = [np.array([1]), np.array([0])]

    def told(claimed: float | None):
        return sensitive_value(SHOWN, known, 1, "ill", first, value, claimed=claimed)

    assert (told(None).rate, told(None).verdict) == (0.75, "warning")
    assert [told(claimed).verdict for claimed in (0.8, 1.0)] == ["broken", "warning"]
    half = sensitive_value(SHOWN, known[1:], 1, "ill", first, value, claimed=0.5)
    assert (half.rate, half.verdict) == (0.5, "holds")
    assert sensitive_value(SHOWN, known[1:], 1, "ill", first, value, claimed=0.49).verdict == "broken"


def test_more_than_by_chance_is_said_only_beyond_chance():
    """One pseudonym is joined rightly, where half of them would be by chance."""
    shown = Published(Traces.of([0, 1, 2], [0, 0, 1]), np.array([0, 0, 1]))
    found = relinking(shown, np.array([0]))
    assert (found.rate, found.verdict) == (1.0, "holds")


def test_habits_join_renewed_pseudonyms():
    """Traces 0 and 1 are one person's and share a rare place; thirty others share the common one."""
    trace = [0, 0, 1, 1, *range(2, 32)]
    shown = Published(Traces.of(trace, [0, 1, 0, 1, *[0] * 30]), np.array([0, 0, *range(1, 31)]))
    found = relinking(shown, np.array([0, 1]))
    assert (found.rate, found.verdict, found.claimed) == (1.0, "warning", None)


def test_trails_of_a_list():
    lists = [np.array([0, 1]), np.array([2]), np.array([0, 2]), np.array([1, 2]), np.array([-1])]
    found = trail_matching(SHOWN, lists, covered=1, k=2)
    assert found.rate == 2 / 5
    assert found.verdict == "broken"  # one known record names trace 2
    assert trail_matching(SHOWN, [np.array([0, 2])], covered=1, k=2).verdict == "warning"  # two records, one is claimed for
    assert trail_matching(SHOWN, [np.array([0, 1])], covered=1, k=2).verdict == "holds"
    assert trail_matching(SHOWN, [np.array([2, 2])], covered=1, k=2).verdict == "broken", "one record, listed twice"
    assert trail_matching(SHOWN, [np.array([2])], covered=1, k=1).verdict == "warning", "nothing is claimed"


def test_draws():
    rng = np.random.default_rng(0)
    known = [np.array([1, 2, 3]), np.array([4])]
    taken = draw(known, 2, rng)
    assert [len(t) for t in taken] == [2, 1]
    assert set(taken[0]) < {1, 2, 3}
    assert targets(5, rng, 5).tolist() == [0, 1, 2, 3, 4]
    assert len(set(targets(6, rng, 5).tolist())) == 5
    assert targets(1000, rng, 5).max() > 5
    assert all(len(set(draw(known, 2, np.random.default_rng(i))[0])) == 2 for i in range(20)), "none twice"


logs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 200), st.integers(0, 4)), min_size=1, max_size=30)
HOUR = 3_600_000_000


def as_log(rows):
    rows = sorted(rows)
    who, hour, place = (np.array(x, dtype=np.int64) for x in zip(*rows, strict=True))
    first, last = trips_of(who, np.arange(len(who)), place)
    return Log(who, hour * HOUR, place, place[first] * 5 + place[last])


def flows(rows):
    by = defaultdict(list)
    for who, _, place in sorted(rows):
        by[who].append(place)
    return Counter((a, b) for places in by.values() for a, b in pairwise(places) if a != b)


@settings(max_examples=100, deadline=None)
@given(logs, logs)
def test_uses_are_the_definition(before, after):
    found = {c.name: c for c in compare_logs(as_log(before), as_log(after), hours=True, days=True)}
    one, two = flows(before), flows(after)
    trips = found["trips"]
    assert (trips.before, trips.after) == (one.total(), two.total())
    differences = sum(abs(one[f] - two[f]) for f in one | two)
    assert trips.error == (None if not one else pytest.approx(differences / one.total()))
    assert trips.kept == (None if not one else pytest.approx((one & two).total() / one.total()))
    a, b = (Counter(p for _, p in {(w, p) for w, _, p in rows}) for rows in (before, after))
    assert found["people per place"].kept == pytest.approx((a & b).total() / a.total())
    assert (found["people per place"].before, found["people per place"].after) == (len(a), len(b))
    hours = [Counter(h % 24 for _, h, _ in rows) for rows in (before, after)]
    overlap = sum(min(hours[0][h] / len(before), hours[1][h] / len(after)) for h in range(24))
    assert found["hour of the day"].kept == pytest.approx(overlap)
    assert found["weekday"].before == pytest.approx(max(Counter((h // 24 + 3) % 7 for _, h, _ in before).values()) / len(before))
    assert found["records"].kept == len(after) / len(before)


def test_length_and_approximate_times_tell_more_than_the_records():
    """Three people at point 0; only person 0 has three records, and only person 2 was at a point within an hour of it."""
    shown = Published(Traces.of([0, 0, 0, 1, 2, 2], [0, 1, 2, 0, 0, 3]), np.arange(3))
    known = known_records(shown, np.array([0]), [np.array([0])], 1, claimed=1 / 3, most=1 / 3)
    assert (known.verdict, known.rate) == ("holds", pytest.approx(1 / 3))
    longer = known_length(shown, np.array([0]), [np.array([0])], 1, most=1 / 3)
    assert (longer.verdict, longer.rate) == ("warning", 1.0)
    assert "1 of them with more than 0.333" in longer.sentence
    near = approximate_times(shown, np.array([2]), [[np.array([0, 3])]], 1, most=1 / 3)
    assert (near.verdict, near.rate) == ("holds", pytest.approx(1 / 3))
    both = approximate_times(shown, np.array([2]), [[np.array([0]), np.array([3, -1])]], 2, most=1 / 3)
    assert (both.verdict, both.rate) == ("warning", 1.0)


def test_records_under_two_pseudonyms_are_tried_one_by_one():
    """Nobody's pseudonym has both known records; one of them names the person."""
    shown = Published(Traces.of([0, 1, 2], [0, 1, 0]), np.array([0, 0, 1]))
    found = known_records(shown, np.array([0]), [np.array([0, 1])], 2, claimed=None, most=0.5)
    assert (found.verdict, found.rate) == ("broken", 1.0)


def test_one_person_above_what_is_allowed_for_fewer_records_is_a_warning():
    """Two of three pseudonyms have both points: a chance of one half, and nobody is alone."""
    shown = Published(Traces.of([0, 0, 1, 1, 2], [0, 1, 0, 1, 0]), np.arange(3))
    for allowed, verdict in ((0.5, "holds"), (0.49, "warning"), (1.0, "holds")):
        found = known_records(shown, np.array([0]), [np.array([0, 1])], 2, claimed=None, allowed=allowed)
        assert (found.verdict, found.rate) == (verdict, 0.5)


def test_a_whole_trail_finds_the_most_alike_pseudonym():
    """Person 0 has points 0, 1 and one that is not published; trace 2 has both points and three others."""
    shown = Published(Traces.of([0, 0, 1, 2, 2, 2, 2, 2], [0, 1, 0, 0, 1, 2, 3, 4]), np.arange(3))
    found = whole_trail(shown, np.array([0]), [np.array([0, 1, -1])], most=0.5)
    assert (found.rate, found.verdict) == (1.0, "warning")
    twice = Published(Traces.of([0, 0, 1, 1], [0, 1, 0, 1]), np.arange(2))
    assert whole_trail(twice, np.array([0]), [np.array([0, 1])], most=0.5).verdict == "holds"
    assert whole_trail(twice, np.array([0]), [np.array([0, 1])], most=0.49).verdict == "warning"
    assert whole_trail(twice, np.array([0]), [np.array([-1])], most=0.1).rate == 0.0


def test_pseudonyms_that_are_never_seen_at_the_same_time_are_joined():
    """All have the same places; by the times only trace 1 can be the same person as trace 0."""
    places = Published(Traces.of([0, 1, 2, 3], [0, 0, 0, 0]), np.array([0, 0, 1, 2]))
    times = Published(Traces.of([0, 1, 2, 3, 2, 3], [0, 1, 0, 0, 1, 1]), np.array([0, 0, 1, 2]))
    sample = np.array([0, 1] * 10)
    without, found = relinking(places, sample), relinking(places, sample, times)
    assert (without.rate, without.verdict) == (pytest.approx(1 / 3), "holds"), "as often as by chance"
    assert (found.rate, found.verdict) == (1.0, "warning")


def test_pseudonyms_without_a_place_in_common_are_joined_by_chance():
    shown = Published(Traces.of([0, 1, 2], [0, 1, 2]), np.array([0, 0, 1]))
    assert relinking(shown, np.array([0, 1])).rate == 0.5


def test_what_is_allowed_is_about_every_person_not_about_the_mean():
    shown = Published(Traces.of([0, 0, 1, 1, 2, 3], [0, 1, 0, 1, 0, 0]), np.arange(4))
    people, known = np.array([0, 2]), [np.array([1]), np.array([0])]
    found = known_records(shown, people, known, 1, claimed=None, allowed=0.4)
    assert (found.rate, found.verdict) == (0.375, "warning")


def test_where_somebody_was_not_rules_out_others():
    """Person 0 has point 0 only; three others have it too, two of these with point 1: knowing that 0 was not there leaves two."""
    shown = Published(Traces.of([0, 1, 1, 2, 2, 3, 3], [0, 0, 1, 0, 1, 0, 2]), np.arange(4))
    found = known_absence(shown, np.array([0]), [np.array([0])], [np.array([0])], 1, most=1 / 4)
    assert found.rate == pytest.approx(1 / 2)
    assert found.verdict == "warning"
    # person 1 was at point 1: this point cannot be ruled out, point 2 can
    assert known_absence(shown, np.array([1]), [np.array([0])], [np.array([0, 1])], 1, most=1 / 4).rate == pytest.approx(1 / 3)
    # of a person with no published record nothing is found
    assert known_absence(shown, np.array([7]), [np.array([0])], [np.array([0])], 1, most=1 / 4).verdict == "holds"


def test_somebody_who_chooses_the_records_does_at_least_as_well_as_any_random_ones():
    """Point 0 is shared by four, 1 and 2 by three each; points 1 and 2 together are of two."""
    shown = Published(Traces.of([0, 0, 0, 1, 1, 1, 2, 2, 3, 3], [0, 1, 2, 0, 1, 2, 0, 1, 0, 2]), np.arange(4))
    for most, verdict in ((1 / 2, "holds"), (0.49, "broken"), (1.0, "holds")):
        found = chosen_records(shown, np.array([0]), 2, most=most)
        assert (found.rate, found.verdict, found.name) == (1 / 2, verdict, "chosen records: 2")
    assert chosen_records(shown, np.array([0]), 1, most=1.0).rate == 1 / 3
    assert chosen_records(shown, np.array([9]), 2, most=0.2).verdict == "holds", "nothing of this person is published"


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=2, max_size=8), st.integers(1, 2))
def test_two_chosen_records_are_the_worst_pair(trails: list[set[int]], s: int):
    """By trying every set of up to two points: the greedy choice is never above it, and with one record it is it."""
    pairs = [(i, p) for i, own in enumerate(trails) for p in sorted(own)]
    number = {p: i for i, p in enumerate(sorted({p for _, p in pairs}))}
    shown = Published(Traces.of([i for i, _ in pairs], [number[p] for _, p in pairs]), np.arange(len(trails)))
    for i, own in enumerate(trails):
        sets = [{a, b} for a in own for b in own] if s == 2 else [{a} for a in own]
        worst = max(1 / sum(c <= other for other in trails) for c in sets)
        found = chosen_records(shown, np.array([i]), s, most=1.0).rate
        assert found <= worst + 1e-12
        assert s == 2 or found == pytest.approx(worst)


def test_what_pseudonyms_tell_of_a_place_is_compared_with_the_guess_without_them():
    """Point 1 is shared by traces 0 and 1, whose homes are 5 and 6: half a guess. All four have point 0; home 5 is common."""
    homes = np.array([5, 6, 5, 5])

    def told(known: int, truth: int, guess: bool, n: int = 1) -> tuple[float, str]:
        found = inferred_place(
            "home", SHOWN, [np.array([known])] * n, lambda _, t: homes[t], np.array([truth] * n), np.array([guess] * n), homes,
            claimed=None,
        )  # fmt: skip
        return found.rate, found.verdict

    assert told(1, 5, False) == (1 / 2, "warning")
    assert told(0, 5, False) == (1.0, "warning")
    assert told(0, 6, True) == (0.0, "holds")
    assert told(-1, 6, True) == (1.0, "holds"), "nothing fits: the guess without the release"
    assert told(0, 5, True, 40) == (1.0, "holds"), "as often as without the release, and never more"
    both, half = [np.array([1])] * 2, np.array([True, False])
    found = inferred_place("home", SHOWN, both, lambda _, t: homes[t], np.array([5, 5]), half, homes, claimed=None)
    assert (found.rate, found.verdict) == (0.5, "warning"), "as often, but more cannot be ruled out"


@pytest.mark.parametrize(("claimed", "where", "verdict"), [(0.75, 0, "holds"), (0.74, 0, "broken"), (0.25, 5, "holds")])
def test_a_place_that_more_pseudonyms_tell_than_required_breaks_it(claimed: float, where: int, verdict: str):
    """Three of the four pseudonyms with point 0 have home 5, unless that is where point 0 is: then one in four has home 6."""
    homes, one = np.array([5, 6, 5, 5]), np.array([True])
    known, places = [np.array([0])], np.array([where] * 4)
    found = inferred_place("home", SHOWN, known, lambda _, t: homes[t], np.array([5]), one, places, claimed=claimed)
    assert (found.verdict, found.claimed) == (verdict, claimed)


def test_a_list_finds_shifted_traces_by_the_days_between_records(tmp_path):
    """Days are moved by up to a week, all of a person's together: stations and distances of two records suffice."""
    rng, n = np.random.default_rng(1), 60
    who, place = np.repeat(np.arange(n), 4), rng.choice(list("ABCD"), 4 * n)
    day = np.datetime64("2026-03-02") + rng.integers(0, 21, 4 * n)
    table = {"card": [f"p{i}" for i in who], "at": day.astype(str).tolist(), "station": place.tolist()}
    rules = {"unit": "card", "time": "at", "place": "station", "time_widths": ["1d"], "place_levels": ["exact"], "shift": 7}
    policy = {"events": rules, "roles": {"rest": "drop"}, "require": ["known[1]>=2"], "seed": 7**40}
    out = shoal.anonymize(table, policy).write(tmp_path / "out")
    found = {r.name: r for r in shoal.attack(out, with_=table, hunt=True).results}
    assert (found["trail matching"].verdict, found["trail matching"].rate > 0.5) == ("warning", True)
    assert (found["hunt"].verdict, found["hunt"].rate > 0.5) == ("broken", True)
    assert "Anyone who knows 2 random records of a person by 'at' and 'station'" in found["hunt"].sentence
    places = {r.name: r for r in shoal.attack(out, with_={c: table[c] for c in ("card", "station")}, hunt=True).results}
    assert (places["hunt"].verdict, places["hunt"].worst) == ("holds", "8 attackers tried")

"""Known columns together: against slow definitions, and on changes that hide one column but not several."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from shoal.attacks import joint
from shoal.attacks.joint import (
    Attacker,
    Curve,
    Known,
    Learnt,
    Secret,
    by_known_columns,
    counted,
    default_limit,
    further_knowledge,
    joint_curve,
)
from shoal.attacks.matching import (
    EXCLUDED,
    TOGETHER,
    Evidence,
    Pairs,
    _Model,
    _ranks,
    _weigh,
    confidence,
    go_together,
    label_weights,
    matched,
    number_weights,
    one_to_one,
    surely_found,
)

N = 300


def rank_swapped(x, rng, width):
    order, out, used = np.argsort(x), x.copy(), np.zeros(len(x), bool)
    for i in range(len(x)):
        free = [j for j in range(i + 1, min(len(x), i + width + 1)) if not used[j]]
        if not used[i] and free:
            j = int(rng.choice(free))
            used[[i, j]] = True
            out[order[i]], out[order[j]] = x[order[j]], x[order[i]]
    return out


def grouped(x, k=5):
    out = x.copy()
    for part in np.array_split(np.argsort(x), len(x) // k):
        out[part] = x[part].mean()
    return out


def changed(how, columns, seed=1, n=N):
    rng = np.random.default_rng(seed)
    ill = rng.integers(1, 4, n)
    ways = {
        "swap": lambda x: rank_swapped(x, rng, n // 10),
        "group": grouped,
        "noise": lambda x: x + rng.normal(0, 20, n),
        "permute": lambda x: rng.permutation(x),
    }
    known = []
    for i in range(columns):
        x = np.round(rng.normal(100, 20, n), 2)
        known.append(Known(f"x{i}", ways[how](x), x, numeric=True))
    return rng.integers(0, n // 10, n), known, [Secret("ill", ill, ill)]


def test_swapped_columns_find_few_alone_and_nearly_everybody_together():
    curve = joint_curve(*changed("swap", 4), quasi=(False,))
    rates = {len(p.columns): p.rate for p in curve.points}
    assert rates[1] < 0.1 < 0.8 < rates[4]
    assert curve.strongest.columns == ("x0", "x1", "x2", "x3")
    assert curve.learner.learnt.share > 0.8 > 0.6 > curve.learner.learnt.base


@pytest.mark.parametrize(("how", "columns", "least"), [("group", 2, 0.9), ("noise", 6, 0.6)])
def test_other_changes_are_undone_by_several_columns_too(how, columns, least):
    assert joint_curve(*changed(how, columns)).strongest.rate > least


def test_exchanged_at_random_nothing_is_found_beyond_the_classes():
    classes, known, secrets = changed("permute", 4)
    curve = joint_curve(classes, known, secrets)
    alone = len(set(classes.tolist())) / N
    assert curve.strongest.rate < alone + 0.06
    assert further_knowledge(curve, 5).verdict == "holds"
    assert joint_curve(classes, known, secrets, quasi=(False,)).strongest.rate < 0.03


@pytest.mark.parametrize("seed", range(5))
def test_columns_that_must_agree_equal_a_plain_dictionary(seed):
    rng = np.random.default_rng(seed)
    classes, a, b = (rng.integers(1, m, N) for m in (5, 9, 12))
    curve = joint_curve(classes, [Known("a", a), Known("b", b)])
    both = Counter(zip(classes.tolist(), a.tolist(), b.tolist(), strict=True))
    assert curve.strongest.found == pytest.approx(sum(1 / both[key] for key in both.elements()) / N)
    assert curve.strongest.people == N


def test_a_missing_value_is_not_known():
    a = np.array([0] * 280 + list(range(1, 21)))
    curve = joint_curve(np.zeros(N, dtype=np.int64), [Known("a", a)])
    assert (curve.strongest.people, curve.strongest.rate) == (20, 1.0)
    assert joint_curve(np.zeros(N, dtype=np.int64), []) is None


def test_distances_between_dates_that_move_together_find_people():
    rng = np.random.default_rng(3)
    shift = rng.integers(-180, 181, N)
    first = rng.integers(0, 3000, N).astype(float)
    dates = [first, first + rng.integers(0, 900, N), first + rng.integers(0, 900, N)]
    known = [Known(f"d{i}", d + shift, d, numeric=True, date=True) for i, d in enumerate(dates)]
    rates = {len(p.columns): p.rate for p in joint_curve(np.zeros(N, dtype=np.int64), known).points}
    assert rates[1] < 0.1
    assert rates[3] > 0.95


def test_labels_changed_at_random_are_matched_by_agreement():
    rng = np.random.default_rng(4)
    columns = []
    for i in range(4):
        true = rng.integers(1, 30, N)
        columns.append(Known(f"c{i}", np.where(rng.random(N) < 0.7, true, rng.integers(1, 30, N)), true))
    assert joint_curve(np.zeros(N, dtype=np.int64), columns).strongest.rate > 0.7


@pytest.mark.parametrize("seed", range(10))
def test_the_best_record_is_the_one_with_the_best_score_and_ties_are_shared(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    block = rng.integers(0, 4, n)
    pairs = Pairs.of(block, rng, most=10_000, targets=100, least=5)
    assert pairs.whole
    score = rng.integers(0, 4, len(pairs.record)).astype(np.float32)
    table = {(int(p), int(r)): float(s) for p, r, s in zip(pairs.person, pairs.record, score, strict=True)}
    wanted = []
    for i in range(n):
        mine = {j: table[i, j] for j in range(n) if block[j] == block[i]}
        best = [j for j, s in mine.items() if s == max(mine.values())]
        wanted.append(1 / len(best) if i in best else 0.0)
    assert matched(pairs, score).chance.tolist() == pytest.approx(wanted)


def test_one_to_one_gives_a_record_to_the_person_who_has_no_other():
    pairs = Pairs.of(np.zeros(2, dtype=np.int64), np.random.default_rng(0), most=10, targets=10, least=1)
    score = np.array([0.0, -9.0, 0.0, -1.0])  # both fit record 0 best; record 1 fits person 1 only
    assert matched(pairs, score).chance.tolist() == [1.0, 0.0]
    assert matched(pairs, one_to_one(pairs, score)).chance.tolist() == [1.0, 1.0]


def test_people_are_sampled_within_the_budget_and_the_sentence_says_so():
    rng = np.random.default_rng(0)
    pairs = Pairs.of(np.zeros(5000, dtype=np.int64), rng, most=20_000, targets=2000, least=3)
    assert (len(pairs.targets), len(pairs.record), len(pairs.own)) == (4, 20_000, 4)
    few = by_known_columns(Curve((Attacker(("x",), True, 50, 0.5, 10, 0.5),), 1, 5000), 0.2)
    assert "of 50 people, sampled from 5,000 records" in few.sentence
    assert few.low < few.rate < few.high


def test_the_strongest_point_and_the_most_exposed_people_decide():
    def verdict(*points):
        return by_known_columns(Curve(points, 3, 500), 0.2)

    weak, exposed = Attacker(("a",), False, 500, 0.2, 10, 0.2), Attacker(("a",), False, 500, 0.1, 10, 1.0)
    strong = Attacker(("a", "b"), False, 500, 0.201, 10, 0.2)
    assert verdict(weak).verdict == "holds", "at the limit"
    assert (verdict(weak, strong).verdict, verdict(weak, strong).rate) == ("broken", 0.201)
    assert verdict(exposed).verdict == "warning"
    assert "Of the 10 most exposed people 100% are found by 'a'" in verdict(exposed).sentence
    part = Attacker(("a",), False, 50, 0.9, 10, 0.2, part=True)
    assert verdict(part).verdict == "warning", "found in a sample of the records: not known for all of them"
    taught = Attacker(("a",), False, 500, 0.01, 10, 0.0, learnt=Learnt("ill", 0.8, 0.4, 0.5))
    assert (verdict(taught).verdict, verdict(taught).rate) == ("broken", 0.5)
    assert further_knowledge(Curve((strong,), 1, 500), 5).verdict == "warning"
    assert counted(("a",), {2: 50}, quasi=True).exposed == 0.5


@pytest.mark.parametrize(("k", "limit"), [(1, 0.5), (2, 0.5), (3, 1 / 3), (19, 1 / 19), (20, 0.05), (21, 0.05), (90, 0.05)])
def test_the_default_limit_is_what_k_claims_and_never_below_one_in_twenty(k, limit):
    assert default_limit(k) == pytest.approx(limit)


def test_the_same_seed_gives_the_same_numbers():
    first, second = (by_known_columns(joint_curve(*changed("noise", 3), seed=5), 0.2) for _ in range(2))
    assert first == second


def test_noise_that_columns_share_hides_nothing_in_their_differences():
    """Each column alone, and all columns one by one, find next to nobody; their differences find nearly everybody."""
    rng = np.random.default_rng(3)
    x = rng.normal(1000, 200, (N, 4))
    y = x + rng.normal(0, 800, (N, 1)) + rng.normal(0, 5, (N, 4))
    known = [Known(f"x{i}", y[:, i], x[:, i], numeric=True) for i in range(4)]
    curve = joint_curve(np.zeros(N, dtype=np.int64), known, quasi=(False,))
    rates = {len(p.columns): p.found for p in curve.points}
    assert rates[1] < 0.03
    assert rates[2] > 0.05, "two columns: while sets are searched, not only for the strongest"
    assert rates[4] > 0.9


def test_correlated_noise_is_undone_by_the_sums_that_it_changes_least():
    rng = np.random.default_rng(4)
    z = rng.normal(0, 1, (N, 1))
    x = 1000 + 200 * (0.97 * z + 0.24 * rng.normal(0, 1, (N, 8)))
    root = np.linalg.cholesky(np.cov(x.T))
    y = x + np.sqrt(0.2) * rng.normal(0, 1, (N, 8)) @ root.T
    known = [Known(f"x{i}", y[:, i], x[:, i], numeric=True) for i in range(8)]
    assert joint_curve(np.zeros(N, dtype=np.int64), known, quasi=(False,)).strongest.found > 0.8


@pytest.mark.parametrize(("noise", "together"), [(0.9, True), (3.0, True), (4.0, False)])
def test_changes_go_together_from_the_stated_correlation_on(noise, together):
    a = np.tile([1.0, -1.0], 500)
    b = a + noise * np.tile([1.0, 1.0, -1.0, -1.0], 250) * (5 / 4)
    zero = np.zeros(1000)
    one = np.corrcoef(a, b)[0, 1]
    assert bool(one > TOGETHER) is together
    assert go_together([(zero, a), (zero, b)]) is together
    assert go_together([(zero, a), (zero, -b)]) is together
    b[::3] = np.nan
    assert go_together([(zero, a), (zero, b)]) is together
    assert not go_together([(zero, a), (zero, np.full(1000, np.nan))])
    assert not go_together([(zero, a)])


def test_a_warning_of_further_knowledge_says_what_is_claimed_and_what_was_won():
    strong = Attacker(("pay", "rent"), True, 500, 0.87, 10, 1.0)
    said = further_knowledge(Curve((strong,), 3, 500), 8).sentence
    assert "87.0% of 500 records are found" in said
    assert "The release claims at most 1 in 8, for the quasi-identifiers alone" in said


def test_records_that_no_change_hides_are_a_warning_by_themselves():
    weak = Attacker(("pay",), False, 500, 0.05, 10, 0.1)
    assert by_known_columns(Curve((weak,), 1, 500), 0.2).verdict == "holds"
    assert by_known_columns(Curve((weak,), 1, 500, apart={"pay": 2}), 0.2).verdict == "warning"


def test_a_record_is_surely_found_beyond_twice_the_largest_change():
    published = np.array([-6.0, 10.0, 22.0, 35.0])
    assert surely_found(np.array([0.0, 10.0, 22.0, 35.0]), published) == 1, "gaps of 10, 12 and 13 beside twice 6"
    assert surely_found(np.array([0.0, 10.0, 22.0, 34.0]), np.array([-6.0, 10.0, 22.0, 34.0])) == 0, "12 is not beyond 12"


def test_up_to_three_columns_must_all_be_known():
    half = np.arange(N) < N // 2
    codes = np.arange(1, N + 1)
    columns = [Known("a", np.where(half, codes, 0)), Known("b", np.where(half, 0, codes)), Known("c", codes)]
    curve = joint_curve(np.zeros(N, dtype=np.int64), columns, quasi=(False,))
    assert {len(p.columns) for p in curve.points} == {1, 2}, "nobody has a, b and c"


def test_of_many_columns_those_that_find_most_alone_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint, "FEWEST", 2)
    monkeypatch.setattr(joint, "MOST_CELLS", 3 * 64)  # three of ten columns of 64 records
    rows = np.arange(64)
    halves = [Known(f"half{i}", rows // 2**i % 2 + 1) for i in range(7)]
    telling = [Known("low", rows % 4 + 1), Known("middle", rows // 4 % 4 + 1), Known("high", rows // 16 + 1)]
    curve = joint_curve(np.zeros(64, dtype=np.int64), [*halves, *telling], quasi=(False,))
    assert curve is not None
    assert [(len(p.columns), p.found) for p in curve.points] == [(1, 4 / 64), (2, 16 / 64), (3, 1.0), (10, 1.0)]
    assert set(curve.points[2].columns) == {"low", "middle", "high"}
    assert curve.tried == 10 + 3 + 1 + 1


# --- matching by hand ---------------------------------------------------------------------------------------------------------


def of(block, *, most=10_000, targets=100, least=1, seed=0):
    return Pairs.of(np.array(block), np.random.default_rng(seed), most=most, targets=targets, least=least)


def test_a_few_people_are_looked_for_even_if_they_make_three_times_as_many_pairs():
    """Everybody has ten pairs; ten are allowed."""
    assert [len(of([0] * 10, most=10, least=least).targets) for least in (1, 2, 3, 9)] == [1, 2, 3, 3]
    assert len(of([0] * 10, most=9, least=1).targets) == 1, "never nobody"
    assert len({int(of([0] * 50, most=50, seed=seed).targets[0]) for seed in range(6)}) > 2, "not always the first ones"


def test_nearly_equal_scores_are_a_tie_and_nobody_leads():
    pairs = of([0, 0, 0])
    nearly = np.tile(np.array([1.0, 1.0 - 1e-5, 0.0]), 3)
    found = matched(pairs, nearly)
    assert found.chance.tolist() == [0.5, 0.5, 0.0]
    assert found.margin.tolist() == [0.0] * 3
    apart = matched(pairs, np.tile(np.array([1.0, 0.75, 0.0]), 3))
    assert (apart.chance.tolist(), apart.margin.tolist()) == ([1.0, 0.0, 0.0], [0.25] * 3)


def test_records_that_cannot_be_the_person_s_are_not_chosen():
    pairs = of([0, 0])
    score = np.array([0.0, EXCLUDED, EXCLUDED, EXCLUDED])
    assert matched(pairs, score).chance.tolist() == [1.0, 0.0]
    assert confidence(pairs, score).tolist() == [1.0, 0.0]


def test_a_guess_without_the_own_record_is_by_the_others_or_by_all():
    """Each is alone in a block: without the own record the most common value of all is guessed."""
    values, weight = np.array([1, 1, 2]), np.ones(3)
    assert of([0, 1, 2]).guessed(values, weight, values).tolist() == [1.0, 1.0, 1.0]
    assert of([0, 1, 2]).guessed(values, weight, values, own=False).tolist() == [1.0, 1.0, 0.0]
    together = of([0, 0, 0])
    assert together.guessed(values, np.ones(9), values, own=False).tolist() == [0.5, 0.5, 0.0]


def test_a_crowd_of_one_is_the_person():
    values = np.arange(50)
    assert of([0] * 50).in_crowd(values, values, 1).tolist() == [1.0] * 50
    assert of([0] * 50).in_crowd(values, values, 2).mean() < 0.6


def test_a_change_that_is_the_same_for_all_hides_nobody():
    x = np.random.default_rng(5).permutation(200.0 * np.arange(60))
    pairs, half = of([0] * 60), np.arange(60) % 2 == 0
    evidence = number_weights(x, x + 70.0, pairs, half, np.random.default_rng(1))
    assert matched(pairs, evidence.distance).chance.tolist() == [1.0] * 60
    for side in (half, ~half):
        assert np.abs(evidence.learned[side[pairs.person]]).max() > 0, "both halves are judged"


def test_a_distance_is_measured_from_the_usual_change():
    x = np.arange(40.0)
    pairs, every = of([0] * 40), np.ones(40, dtype=bool)
    evidence = Evidence.none(pairs)
    _weigh(evidence, x, x + 70.0, _Model.of(x, x + 70.0, np.arange(40), np.random.default_rng(0)), pairs, every)
    assert evidence.distance[pairs.own].tolist() == [0.0] * 40


def test_the_form_that_tells_people_apart_is_taken():
    """Numbers over six powers of ten, each changed by a few per cent: differences say little, ratios nearly all."""
    rng = np.random.default_rng(6)
    x = 10 ** rng.uniform(0, 6, 120)
    pairs, half = of([0] * 120), np.arange(120) % 2 == 0
    evidence = number_weights(x, x * rng.uniform(0.97, 1.03, 120), pairs, half, np.random.default_rng(1))
    assert matched(pairs, evidence.distance).chance.mean() > 0.7


def test_agreement_is_learned_on_the_other_half_and_of_known_values():
    """Persons 0 and 1 have their own value, 2 and 3 that of the other; 4 has none."""
    true, published = np.array([1, 2, 1, 2, 0]), np.array([1, 2, 2, 1, 2])
    pairs, half = of([0] * 5), np.array([True, True, False, False, False])
    score = label_weights(true, published, pairs, half, np.random.default_rng(0)).learned.reshape(5, 5)
    share = np.array([0.4, 0.6, 0.6, 0.4, 0.6])  # of the published value of each record
    for person, agree in ((0, 1 / 6), (1, 1 / 6), (2, 5 / 6), (3, 5 / 6)):
        same = published == true[person]
        assert score[person] == pytest.approx(np.where(same, np.log(agree / share), np.log((1 - agree) / (1 - share)))), person
    assert score[4].tolist() == [0.0] * 5


def test_a_change_that_never_varies_goes_together_with_none():
    x = np.arange(9.0)
    assert not go_together([(x, x + 1), (x, x + x % 2)])
    assert go_together([(x, x + x % 2), (x, x - x % 2)]), "in opposite directions"


def test_ratios_cannot_hide_numbers_of_different_size():
    true = np.array([1.0, 10.0, 100.0, 1000.0])
    assert surely_found(true, true * 1.5) == 4
    assert surely_found(true - 1, true * 1.5 - 1) == 0, "no ratio of a number to nothing"


def test_ranks_are_the_middle_of_equal_ones():
    assert _ranks(np.array([5.0, np.nan, 5.0, 7.0])).tolist() == pytest.approx([1 / 3, np.nan, 1 / 3, 2.5 / 3], nan_ok=True)


# --- attackers by hand --------------------------------------------------------------------------------------------------------


def side_of(columns, secrets=(), *, n=30, quasi=False):
    return joint._Side.of(np.zeros(n, dtype=np.int64), columns, secrets, 0, quasi=quasi, crowd=5)


def test_nothing_to_know_or_nobody_to_find():
    none = np.zeros(0, dtype=np.int64)
    assert joint_curve(none, [Known("a", none)]) is None
    assert joint_curve(np.zeros(5, dtype=np.int64), []) is None


def test_somebody_who_knows_the_quasi_identifiers_stands_for_others_in_a_long_table(monkeypatch):
    a = np.arange(1, N + 1) % 30 + 1
    for many, tried in ((N, 2), (N - 1, 1)):
        monkeypatch.setattr(joint, "MANY", many)
        assert joint_curve(np.zeros(N, dtype=np.int64), [Known("a", a)]).tried == tried


def test_a_value_is_learnt_by_other_columns_although_it_finds_most_itself():
    """Each of sixty people has a value of its own, which is nothing to learn for who knows it; x says which two it is."""
    ill = np.arange(60) + 1
    columns, secrets = [Known("ill", ill), Known("x", (ill + 1) // 2)], [Secret("ill", ill, ill)]
    curve = joint_curve(np.zeros(60, dtype=np.int64), columns, secrets, quasi=(False,))
    one = next(p for p in curve.points if len(p.columns) == 1)
    assert (one.columns, one.found, one.learnt) == (("ill",), 1.0, None)
    assert (curve.learner.columns, curve.learner.learnt.share) == (("x",), 0.5)


def test_who_learns_nothing_is_no_learner_and_labels_stand_apart_from_nobody():
    rng = np.random.default_rng(2)
    ill, x = rng.integers(1, 4, N), rng.integers(1, 4, N)
    far, near = np.where(np.arange(N) < N - 1, 1, 1000), np.arange(float(N))
    classes, secrets = np.zeros(N, dtype=np.int64), [Secret("ill", ill, ill)]
    assert joint_curve(classes, [Known("x", x)], secrets, quasi=(False,)).learner is None
    changed_ = [Known("label", far, far), Known("number", near + 0.5, near, numeric=True)]
    assert dict(joint_curve(classes, changed_, quasi=(False,)).apart) == {}


def test_the_most_exposed_are_ten_or_one_in_a_hundred():
    assert counted(("a",), {1: 50}, quasi=False).exposed == 1.0
    assert counted(("a",), {1: 15, 5: 397}, quasi=False).exposed == 0.75  # 2,000 people: twenty
    assert counted(("a",), {2: 15, 5: 394}, quasi=False).exposed == 0.5


def test_sides_at_their_limits(monkeypatch):
    for top, kept in ((joint.MOST_VALUES, 1), (joint.MOST_VALUES + 1, 0)):
        codes = np.array([1, top] * 15)
        assert len(side_of([], [Secret("s", codes, codes)]).secrets) == kept
    monkeypatch.setattr(joint, "MANY", 20)
    kept, changed_ = Known("a", np.ones(30, int)), Known("b", np.ones(30, int), np.ones(30, int))
    for columns, quasi, part in (([changed_], False, True), ([changed_], True, False), ([kept], False, False)):
        side = side_of(columns, quasi=quasi)
        assert (side.part, side.n) == (part, 20 if part else 30)
    assert not side_of([changed_], n=20).part


def test_all_sets_are_tried_while_they_are_few(monkeypatch):
    columns = [Known(name, np.ones(30, int)) for name in "abcd"]
    monkeypatch.setattr(joint, "MOST_SETS", 7)
    assert len(list(side_of(columns[:3]).sets())) == 7
    four = list(side_of(columns).sets())
    assert four == [("a",), ("b",), ("c",), ("d",), ("a", "b", "c", "d")], "none was tried yet that could be extended"
    monkeypatch.setattr(joint, "MOST_SETS", 14)
    assert len(list(side_of(columns).sets())) == 15
    monkeypatch.setattr(joint, "MOST_SETS", 6)
    assert len(list(side_of(columns[:3]).sets())) == 3


def test_who_is_known_has_all_of_three_columns_or_any_of_more():
    there = [Known(name, np.eye(4, dtype=int)[i], np.ones(4, int) - np.eye(4, dtype=int)[i]) for i, name in enumerate("abcd")]
    side = side_of(there, n=4)
    assert side._known(("a", "b", "c")).tolist() == [False, False, False, True], "what the attacker knows, not what is published"
    assert side._known(("a", "b", "c", "d")).tolist() == [True] * 4
    assert Known("x", np.array([np.nan, 1.0]), np.array([1.0, np.nan]), numeric=True).there.tolist() == [True, False]


@pytest.mark.parametrize(("known", "tried"), [(10, True), (9, False)])
def test_a_column_is_tried_if_ten_people_have_it(known, tried):
    a = np.array([0] * (N - known) + list(range(1, known + 1)))
    curve = joint_curve(np.zeros(N, dtype=np.int64), [Known("a", a)])
    assert (curve is not None) is tried
    assert curve is None or curve.strongest.people == known


def test_what_an_attack_tells_is_held_against_guesses_without_it():
    """Four values, ten people each. An attacker who finds everybody guesses all; without the own record one in four."""
    values = np.repeat([1, 2, 3, 4], 10)
    secret = Secret("ill", values, values)
    side = side_of([Known("a", np.ones(40, int))], [secret], n=40)
    own = (side.pairs.person == side.pairs.record).astype(float)
    everybody = np.ones(40, dtype=bool)
    once, often = (side._learnt(secret, own, everybody, tried) for tried in (1, 1000))
    crowd = side.pairs.in_crowd(values, values, 5).mean()
    assert (once.share, once.base) == (1.0, pytest.approx(crowd))
    assert 0.25 < crowd < 0.8
    assert 0 < often.gain < once.gain < 1, "the more attackers were tried, the more is chance"
    gap = 1 - side.pairs.in_crowd(values, values, 5)
    assert once.gain == pytest.approx((gap.mean() - 1.959964 * gap.std() / 40**0.5) / gap.mean(), rel=1e-5)
    assert side._learnt(secret, np.ones_like(own), everybody, 1).gain == 0.0, "the classes alone tell as much"


def test_a_few_exposed_people_are_a_warning_only_beyond_chance():
    for exposed, verdict in ((0.3, "holds"), (1.0, "warning")):
        assert by_known_columns(Curve((Attacker(("pay",), False, 500, 0.1, 10, exposed),), 1, 500), 0.2).verdict == verdict

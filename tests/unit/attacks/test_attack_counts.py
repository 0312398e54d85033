"""Attacks over counts: by hand, by slow definition, by law; every planted leak is found."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkage_trial import linkage_trial
from shoal.attacks import Scene, run_all
from shoal.attacks._common import sizes_in, wilson
from shoal.attacks.composition import intersection, joined_records
from shoal.attacks.downcoding import Recoded, _several, downcoding, joint_sizes
from shoal.attacks.homogeneity import background, homogeneity, skewness
from shoal.attacks.linkage import closest_classes, linkage
from shoal.attacks.minimality import minimality
from shoal.errors import UsageError
from shoal.model.counts.classes import ClassCounts, SensitiveCounts


def counts(rows: list[tuple[str, ...]], columns: list[str], sensitive: list[str] | None = None) -> ClassCounts:
    """Class counts by hand, in order of first appearance."""
    classes = list(dict.fromkeys(rows))
    position = {c: i for i, c in enumerate(classes)}
    sizes = Counter(rows)
    codes, categories = [], []
    for j in range(len(columns)):
        words = sorted({c[j] for c in classes})
        codes.append([words.index(c[j]) for c in classes])
        categories.append(pa.array(words))
    inside = {}
    if sensitive is not None:
        words = sorted(set(sensitive))
        dense = np.zeros((len(classes), len(words)), dtype=int)
        for row, value in zip(rows, sensitive, strict=True):
            dense[position[row], words.index(value)] += 1
        inside["disease"] = SensitiveCounts.from_dense("disease", dense, pa.array(words))
    return ClassCounts([sizes[c] for c in classes], columns, codes, categories, inside)


TOY = counts([("a",)] * 4 + [("b",)] * 4, ["zip"], ["flu", "flu", "hiv", "cancer", "flu", "flu", "flu", "flu"])


def test_homogeneity_by_hand():
    found = homogeneity(TOY, "disease")
    assert found.rate == pytest.approx(6 / 8)
    assert found.verdict == "warning"
    assert "4 records" in found.sentence
    assert [homogeneity(TOY, "disease", distinct=claimed).verdict for claimed in (1, 2)] == ["warning", "broken"]


@pytest.mark.parametrize(
    ("values", "certain"),
    [
        pytest.param(["x", "x"], 1.0, id="one value: certain before anything is ruled out"),
        pytest.param(["x", "y"], 1.0, id="two values: ruling out one leaves the other"),
        pytest.param(["x", "y", "z"], 0.0, id="three values: one ruled out leaves two"),
    ],
)
def test_background_knowledge_by_hand(values, certain):
    found = background(counts([("a",)] * len(values), ["zip"], values), "disease")
    assert found.rate == certain


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("uvwxyz")), min_size=1, max_size=40), st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_background_equals_trying_every_set_of_excluded_values(people, excluded):
    from itertools import combinations

    table = counts([(c,) for c, _ in people], ["zip"], [v for _, v in people])
    certain = 0
    for name in {c for c, _ in people}:
        inside = Counter(v for c, v in people if c == name)
        best = 0.0
        for value in inside:
            others = [v for v in inside if v != value]
            for out in combinations(others, min(excluded, len(others))):
                best = max(best, inside[value] / (sum(inside.values()) - sum(inside[v] for v in out)))
        certain += sum(inside.values()) if best >= 1 else 0
    assert background(table, "disease", excluded=excluded).rate == pytest.approx(certain / len(people))


def test_who_is_counted_is_named():
    """People who are in several classes are counted once per class, and the sentence says so."""
    alike = SensitiveCounts.from_dense("disease", [[3], [2]])
    for n_people, noun in ((5, "5 people lie"), (4, "5 people (once per class) lie")):
        made = ClassCounts([3, 2], unit="id", n_people=n_people, sensitive={"disease": alike})
        assert noun in homogeneity(made, "disease").sentence


def test_the_best_guess_after_the_most_frequent_others_are_ruled_out():
    five = counts([("a",)] * 9, ["zip"], ["flu"] * 5 + ["hiv"] * 3 + ["cold"])
    assert "chance 83%" in background(five, "disease").worst, "flu, if it is not HIV: 5 of 6"
    assert "chance 56%" in background(five, "disease", excluded=0).worst


def test_skewness_by_hand():
    found = skewness(TOY, "disease", t=0.2)
    assert found.verdict == "broken"  # class b: all flu, flu is 6 of 8 in the whole: distance 1/4
    assert skewness(TOY, "disease", t=0.25).verdict == "holds"
    thrice = counts([("a",)] * 2 + [("b",)] * 4, ["zip"], ["flu", "flu", *["cold", "gout"] * 2])
    assert skewness(thrice, "disease").verdict == "holds", "three times as frequent is not more than three times"
    above = skewness(thrice, "disease", lift=2.9)
    assert (above.verdict, above.rate) == ("warning", pytest.approx(2 / 6)), "people of such classes, not classes"
    assert [skewness(TOY, "disease", t=t).verdict for t in (0.0, None)] == ["broken", "holds"]


def test_linkage_by_hand():
    released = counts([("a",)] * 5 + [("b",)] * 10, ["zip"])
    external = counts([("a",)] * 5 + [("b",)] * 40 + [("c",)] * 3, ["zip"])
    known, whole = linkage(released, external, k=5)
    assert known.rate == pytest.approx((5 / 5 + 40 / 10) / 45)
    assert known.verdict == "holds"
    assert whole.rate == pytest.approx((5 * (1 / 5) + 10 * (1 / 40)) / 15)
    assert linkage(released, external, k=6)[0].verdict == "broken"
    assert known.worst == "smallest matched class: 5 records"
    assert whole.worst == "2 of 2 classes occur in the external table"


def test_a_whole_table_that_is_named_at_one_in_k_holds():
    """Four people in a class of four each: one in four is named, all told."""
    four = counts([("a",)] * 4 + [("b",)] * 4, ["zip"])
    assert [linkage(four, four, k=k)[1].verdict for k in (4, 5)] == ["holds", "broken"]
    assert linkage(four, counts([("a",)] * 4, ["zip"]), k=5)[1].rate == pytest.approx(1 / 8), "half of it is not named at all"
    assert [r.verdict for r in linkage(four, counts([("c",)], ["zip"]), k=5)] == ["not run", "not run"]


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.integers(1, 5)),
        min_size=1,
        max_size=6,
        unique_by=lambda c: c[:2],
    ),
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["x", "y", "z", None])), min_size=1, max_size=6, unique=True),
)
def test_the_closest_class_agrees_on_the_rarest_values(ours, theirs):
    """By definition: what agrees counts log((n + 1) / f), a missing value nothing; without agreement no class is closest."""

    def classes(rows, sizes):
        words = [sorted({r[j] for r in rows} - {None}) for j in range(2)]
        codes = [[-1 if r[j] is None else words[j].index(r[j]) for r in rows] for j in range(2)]
        return ClassCounts(sizes, ["zip", "sex"], codes, [pa.array(w, pa.string()) for w in words])

    n, sizes = sum(size for *_, size in ours), [size for *_, size in ours]

    def worth(mine, other):
        seen = [sum(size for *row, size in ours if row[j] == mine[j]) for j in range(2)]
        return sum(np.log((n + 1) / seen[j]) for j in range(2) if mine[j] == other[j] is not None)

    found = closest_classes(classes(ours, sizes), classes(theirs, [1] * len(theirs)), rng=np.random.default_rng(1))
    for other, best in zip(theirs, found.tolist(), strict=True):
        scores = [worth(mine, other) for mine in ours]
        assert best == -1 if max(scores) == 0 else scores[best] == pytest.approx(max(scores))


def test_a_missing_value_is_alike_nothing_and_ties_are_drawn():
    one = ClassCounts([3, 3, 3], ["zip"], [[0, 1, -1]], [pa.array(["a", "b"])])
    assert closest_classes(one, ClassCounts([1], ["zip"], [[-1]], [pa.array(["a"])]), rng=np.random.default_rng(0)).tolist() == [
        -1
    ]
    two = ClassCounts([3, 3], ["zip", "sex"], [[0, 0], [0, 1]], [pa.array(["a"]), pa.array(["f", "m"])])
    other = ClassCounts([1], ["zip", "sex"], [[0], [0]], [pa.array(["a"]), pa.array(["x"])])
    assert {int(closest_classes(two, other, rng=np.random.default_rng(seed))[0]) for seed in range(20)} == {0, 1}


def test_everybody_agrees_on_the_only_value_and_that_still_counts():
    all_alike = ClassCounts([3], ["zip"], [[0]], [pa.array(["a"])])
    assert closest_classes(all_alike, all_alike, rng=np.random.default_rng(0)).tolist() == [0]


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=30), st.lists(st.sampled_from("cdef"), min_size=1, max_size=30))
def test_sizes_in_each_other(left, right):
    a, b = counts([(x,) for x in left], ["zip"]), counts([(x,) for x in right], ["zip"])
    in_right, in_left = sizes_in(a, b)
    assert in_right.tolist() == [right.count(x) for x in dict.fromkeys(left)]
    assert in_left.tolist() == [left.count(x) for x in dict.fromkeys(right)]


def test_the_trial_neither_beats_nor_misses_one_in_k():
    rng = np.random.default_rng(11)
    classes = np.repeat(np.arange(4000), 5)
    owners = rng.permutation(len(classes))
    rate, low, high = linkage_trial(classes, owners, classes, owners, rng=rng)
    error = np.sqrt(0.2 * 0.8 / len(classes))
    assert abs(rate - 0.2) < 3 * error
    assert low < 0.2 < high


def test_intersection_finds_the_planted_small_group():
    base = ClassCounts([6, 1, 6, 7], ["a"], [[0, 1, 2, 3]])
    one = Recoded(base, (np.array([0, 0, 1, 1], np.int32),))
    two = Recoded(base, (np.array([0, 1, 1, 2], np.int32),))
    found = intersection([one, two], k=5)
    assert found.verdict == "broken"
    assert "smallest has 1" in found.sentence
    assert intersection([one, one], k=5).verdict == "holds"


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_joint_groups_are_never_larger_than_either(rows):
    base = ClassCounts([s for s, _, _ in rows], ["a"], [list(range(len(rows)))])
    parts = [Recoded(base, (np.array([r[i] for r in rows], np.int32),)) for i in (1, 2)]
    joint = joint_sizes(parts)
    for part in parts:
        assert (joint <= joint_sizes([part])).all()
    expected = [sum(s for s, a, b in rows if (a, b) == (r[1], r[2])) for r in rows]
    assert joint.tolist() == expected


def test_joined_records():
    ours = pa.table({"zip": ["12**", "12**", "13**"], "cost": [1.5, 2.5, 2.5]})
    theirs = pa.table({"age": ["30-39", "40-49", "40-49"], "cost": [1.5, 3.5, 9.0]})
    found = joined_records(ours, theirs, ["cost"])
    assert found.rate == pytest.approx(1 / 3)
    assert found.verdict == "warning"
    assert joined_records(ours, theirs, []).verdict == "not run", "nothing was compared"


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 2)), max_size=12))
def test_classes_with_several_values_are_those_that_differ_somewhere(pairs):
    found = _several(np.array([c for c, _ in pairs], dtype=np.int64), np.array([v for _, v in pairs], dtype=np.int32), 5)
    assert found.tolist() == [len({v for c, v in pairs if c == g}) > 1 for g in range(5)]


def test_downcoding_counts_classes_with_one_rare_finer_value():
    base = ClassCounts([3, 4, 5], ["age"], [[0, 1, 2]])
    wide = Recoded(base, (np.array([0, 0, 0], np.int32),), (np.array([0, 1, 1], np.int32),))
    single = Recoded(base, (np.array([0, 0, 1], np.int32),), (np.array([0, 1, 2], np.int32),))
    assert downcoding(wide, ("age",)).rate == 0  # the only class holds two finer values
    assert downcoding(single, ("age",)).rate == 0  # the last range covers one value anywhere: no news
    split = ClassCounts([3, 9, 5], ["age", "sex"], [[0, 1, 0], [0, 0, 1]])
    sex = np.array([0, 0, 1], np.int32)
    codes = Recoded(split, (np.zeros(3, np.int32), sex), (np.array([0, 1, 0], np.int32), sex))
    assert downcoding(codes, ("age", "sex")).rate == pytest.approx(5 / 17)  # 8 of 17 have that finer value
    common = Recoded(split, (np.zeros(3, np.int32), sex), (np.array([1, 0, 1], np.int32) * 0, sex))
    assert downcoding(common, ("age", "sex")).rate == 0
    assert downcoding(wide, ("age",)).verdict == "holds"  # nothing found: no warning, and no interval of a full count
    assert downcoding(codes, ("age", "sex")).verdict == "warning"
    found = downcoding(codes, ("age", "sex"))
    assert found.low == found.rate == found.high


def test_minimality_agrees_with_the_closed_form_for_two_values():
    sizes = [2, 2]
    base = counts([("young",)] * 2 + [("old",)] * 2, ["age"], ["hiv", "hiv", "flu", "flu"])
    assert base.sizes.tolist() == sizes
    recoded = Recoded(base, (np.zeros(2, np.int32),), (np.array([0, 1], np.int32),))
    found = minimality(recoded, "disease", ("age",), distinct=2, rng=np.random.default_rng(3), draws=6000)
    # a finer class fails only when both members are alike; each value then has chance one half: no gain
    assert "gain in certainty: 0.0" in found.worst
    skewed = counts([("young",)] * 2 + [("old",)] * 2, ["age"], ["hiv", "hiv", "hiv", "flu"])
    found = minimality(
        Recoded(skewed, recoded.published, recoded.finer), "disease", ("age",), distinct=2, rng=np.random.default_rng(3)
    )
    # 3 hiv, 1 flu in pairs: one pair is always all hiv; seen from either pair, P(hiv | fails) = 3/4: no gain either
    assert found.verdict == "holds"
    assert minimality(recoded, "disease", ("age",), distinct=None, rng=np.random.default_rng(3)).verdict == "holds"


def test_minimality_finds_a_class_whose_split_betrays_it():
    base = counts(
        [("young",)] * 2 + [("old",)] * 8,
        ["age"],
        ["hiv", "hiv"] + ["flu", "cold", "hiv", "mumps", "flu", "cold", "mumps", "gout"],
    )
    recoded = Recoded(base, (np.zeros(2, np.int32),), (np.array([0, 1], np.int32),))
    found = minimality(recoded, "disease", ("age",), distinct=2, rng=np.random.default_rng(3), draws=6000)
    # the pair fails only if alike: C(3,2) hiv, C(2,2) flu, cold, mumps → P(hiv | fails) = 3/6 against 3/10
    assert found.verdict == "warning"
    gain = float(found.worst.split(";")[0].split()[-1])
    assert found.worst.endswith("1 of 1 classes that a finer plan would split were examined")
    assert gain == pytest.approx(0.2, abs=0.04)


SPLIT = ["hiv", "hiv", "flu", "cold", "hiv", "mumps", "flu", "cold", "mumps", "gout"]
ONE_CLASS, BY_AGE = (np.zeros(2, np.int32),), (np.array([0, 1], np.int32),)


def refusal(base, published=ONE_CLASS, finer=BY_AGE, *, distinct=2, kept=None, columns=("age",), bound=0.05):
    made = Recoded(base, published, finer) if kept is None else Recoded(base, published, finer, kept=np.array(kept))
    return minimality(made, "disease", columns, distinct=distinct, rng=np.random.default_rng(3), draws=3000, bound=bound)


def ages(*sizes):
    return [(f"{i}",) for i, size in enumerate(sizes) for _ in range(size)]


def test_one_value_is_no_claim_that_a_plan_could_miss():
    assert refusal(counts(ages(2, 8), ["age"], SPLIT), distinct=1).sentence.startswith("Only class sizes decided")


def test_a_finer_plan_that_cannot_fail_tells_nothing():
    """Three people of two of each value are never alike, whoever they are."""
    found = refusal(counts(ages(3, 3), ["age"], [*"xxyyzz"]), bound=0.0)
    assert (found.rate, found.verdict) == (0.0, "holds")
    assert found.worst.startswith("largest gain in certainty: 0.00; 1 of 1")


def test_people_who_are_suppressed_are_in_no_class():
    """With and without suppressed people, beside others or apart, the same class is examined with the same result."""
    plain = refusal(counts(ages(2, 8), ["age"], SPLIT))
    more = counts(ages(2, 8, 3), ["age"], [*SPLIT, "gout", "gout", "gout"])
    zero = np.zeros(3, np.int32)
    for finer in ([0, 1, 1], [0, 1, 2]):
        found = refusal(more, (zero,), (np.array(finer, np.int32),), kept=[True, True, False])
        assert (found.verdict, found.worst) == (plain.verdict, plain.worst)


def test_single_people_and_classes_that_stay_whole_are_not_examined():
    alone = refusal(counts(ages(1, 1), ["age"], ["hiv", "flu"]))
    assert alone.sentence.startswith("No published class is split"), "one person has one value in any plan"
    two = counts(ages(2, 8, 4), ["age"], [*SPLIT, *"uvwx"])
    part = refusal(two, (np.array([0, 0, 1], np.int32),), (np.array([0, 1, 2], np.int32),))
    assert part.worst.endswith("1 of 1 classes that a finer plan would split were examined")


def test_classes_of_too_few_values_or_too_many_people_are_counted_but_not_examined(monkeypatch):
    few = refusal(counts(ages(2, 2), ["age"], ["flu"] * 4))
    assert (few.low, few.high, few.verdict) == (0.0, 1.0, "holds")
    assert few.sentence.startswith("None was examined")
    assert few.worst.startswith("0 of 1 classes")
    for most, examined in ((10, 1), (9, 0)):
        monkeypatch.setattr("shoal.attacks.minimality.MOST_MEMBERS", most)
        assert f"{examined} of 1 classes" in refusal(counts(ages(2, 8), ["age"], SPLIT)).worst


def test_a_value_that_becomes_less_likely_is_no_gain():
    """Of a pair that is alike, the value that only one person has is ruled out; no other becomes much likelier."""
    found = refusal(counts(ages(2, 7), ["age"], [*"abbccddee"]))
    assert found.verdict == "holds"
    assert float(found.worst.split(";")[0].split()[-1]) < 0.05


def test_one_column_at_a_time_is_made_finer():
    people = counts([("0", "f"), ("0", "m"), ("1", "f"), ("1", "m")], ["age", "sex"], ["hiv", "hiv", "flu", "flu"])
    zero, age, sex = (np.array(codes, np.int32) for codes in ([0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]))
    found = refusal(people, (zero, zero), (age, sex), columns=("age", "sex"))
    assert found.worst.endswith("2 of 2 classes that a finer plan would split were examined")


def test_run_all_lists_what_was_not_run_and_puts_the_worst_first():
    heard: list[tuple[float, str]] = []
    results = run_all(Scene(TOY, k=4, distinct={"disease": 2}), lambda done, what: heard.append((done, what)))
    assert [what for _, what in heard] == [
        "attacking: homogeneity",
        "attacking: homogeneity: disease: broken",
        "attacking: background",
        "attacking: background knowledge: disease: warning",
        "attacking: skewness",
        "attacking: skewness: disease: holds",
    ], "each verdict as soon as it is known; nothing of what was not run"
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    assert all(0 <= done < 1 for done, _ in heard)
    assert results[0].verdict == "broken"
    assert [r.verdict for r in results][-1] == "not run"
    assert {r.name for r in results if r.verdict == "not run"} == {"linkage", "downcoding", "intersection"}


@given(st.integers(1, 400), st.integers(0, 400))
def test_wilson_holds_the_rate_and_stays_inside_zero_and_one(n, s):
    s = min(s, n)
    low, high = wilson(s, n)
    assert 0 <= low <= s / n <= high <= 1


def test_linkage_with_some_of_the_columns_counts_the_release_on_those():
    from shoal.kernels.group import project

    ages, zips = pa.array(["young", "old"]), pa.array(["1", "2"])
    released = ClassCounts((5, 6, 7), ("age", "zip"), ([0, 0, 1], [0, 1, 0]), (ages, zips))
    external = ClassCounts((1, 2), ("age",), ([0, 1],), (ages,))
    part = linkage(released, external, k=5)
    whole = linkage(project(released, ["age"]), external, k=5)
    assert [(r.rate, r.verdict) for r in part] == [(r.rate, r.verdict) for r in whole]
    assert part[0].rate == pytest.approx((1 / 11 + 2 / 7) / 3)
    assert part[0].sentence.endswith("Linked on age only.")


@pytest.mark.parametrize(
    ("classes", "verdict"), [("ab|ab", "holds"), ("aa|bb", "holds"), ("aa|aa", "holds"), ("ab|ac", "warning")]
)
def test_ruling_out_a_value_of_two_tells_nothing_new(classes, verdict):
    rows, values = zip(*((str(i), v) for i, part in enumerate(classes.split("|")) for v in part), strict=True)
    found = background(counts([(r,) for r in rows], ["zip"], list(values)), "disease")
    assert found.verdict == verdict
    assert ("anyway" in found.sentence) == (verdict == "holds")


def test_joint_groups_of_k_people_are_large_enough():
    base = ClassCounts([5, 6], ["a"], [[0, 1]])
    one, two = (Recoded(base, (np.array(codes, np.int32),)) for codes in ([0, 0], [0, 1]))
    at = intersection([one, two], k=5)
    assert (at.verdict, at.rate) == ("holds", 0.0)
    assert (intersection([one, two], k=6).verdict, intersection([one, two], k=6).rate) == ("broken", 5 / 11)
    with pytest.raises(UsageError, match="at least two"):
        intersection([one], k=5)


def test_joint_sizes_are_of_people_in_the_first_release_and_in_any_other():
    base, alike = ClassCounts([3, 2, 4], ["a"], [[0, 1, 2]]), np.zeros(3, np.int32)
    parts = [Recoded(base, (alike,), kept=np.array(kept)) for kept in ([1, 1, 0], [1, 0, 1], [0, 1, 0])]
    parts = [Recoded(base, p.published, kept=p.mask.astype(bool)) for p in parts]
    assert joint_sizes(parts).tolist() == [5, 5]


def test_records_that_keys_and_missing_values_join():
    ours = pa.table({"cost": [None, 1.5, 1.5], "who": ["p", "q", "q"]})
    theirs = pa.table({"cost": [None, 1.5, 1.5], "who": ["p", "x", "y"]})
    assert joined_records(ours, theirs, ["cost"]).rate == 1 / 3, (
        "a missing value that both have once joins; what is there twice does not"
    )
    apart = pa.table({"cost": [7.0, 8.0, 9.0], "who": ["p", "q", "r"]})
    found = joined_records(ours, apart, ["cost"], ["who"])
    assert found.rate == 1 / 3, "a pseudonym of the same key joins by itself"
    assert "pseudonyms" in found.sentence


@pytest.mark.parametrize("most", [0, 1 << 16])
def test_what_half_of_the_published_people_have_is_no_news(monkeypatch, most):
    """Of the published ones: suppressed people are in no share. Few pairs are in a table, many are grouped."""
    from shoal.attacks import downcoding as module

    monkeypatch.setattr(module, "MOST_PAIRS", most)
    wide, fine = np.zeros(3, np.int32), np.array([0, 1, 1], np.int32)
    apart = np.array([0, 1, 2], np.int32)

    def told(sizes, kept):
        base = ClassCounts(sizes, ["age", "sex"], [fine, apart])
        found = downcoding(Recoded(base, (wide, apart), (fine, apart), kept=np.array(kept)), ("age", "sex"))
        return found.sentence.partition(" records")[0]

    assert told([2, 1, 10], [True, True, False]) == "1 of 3"
    assert told([2, 2, 10], [True, True, False]) == "0 of 4"


def test_one_record_in_a_hundred_is_no_warning():
    for others, verdict in ((99, "holds"), (98, "warning")):
        codes, apart = np.array([0, 1], np.int32), np.array([0, 1], np.int32)
        base = ClassCounts([1, others], ["age", "sex"], [codes, apart])
        found = downcoding(Recoded(base, (np.zeros(2, np.int32), apart), (codes, apart)), ("age", "sex"))
        assert found.verdict == verdict

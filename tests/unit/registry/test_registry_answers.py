"""Answers from records that are not quite the ones asked for: samples, quarrels, neighbours, margins; and decisions."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_support import AGES, UTRECHT, five_years, make
from shoal.kernels.signatures import signer
from shoal.prediction.group.uniqueness import uniqueness
from shoal.prediction.summaries.power_sums import uniqueness_from_power_sums
from shoal.registry.answer.analyse import everybody_unique, expected_crowd, unique_share
from shoal.registry.answer.answer import Answer, analysed
from shoal.registry.answer.decide import decide
from shoal.registry.answer.query import Registry
from shoal.registry.records.population import Population
from shoal.registry.records.summary import Rounded, summarize
from shoal.registry.records.trust import Statement
from shoal.registry.records.vocabulary import CHAINS, label

STEEP = [9 * i + 1 for i in range(95)]


def share(p: np.ndarray, k: int) -> float:
    return float((p * (1 - p) ** (k - 1)).sum())


@pytest.mark.parametrize(("k", "exact", "from_kappa"), [(1000, 0.539, 0.707), (10_000, 0.350, 0.031)])
def test_kappa_alone_would_mislead_where_the_record_does_not(k, exact, from_kappa):
    """Zipf, 100,000 cells (NEEDS §6): read as exp(−κ) N equal cells, a tenth of those who are unique is found."""
    counts = np.maximum(1, np.round(10**8 / np.arange(1, 100_001))).astype(int)
    summary = summarize(counts, 100_000)
    cells = 100_000 * math.exp(-summary.statistics["kappa"].value)
    assert (1 - 1 / cells) ** (k - 1) == pytest.approx(from_kappa, abs=0.005)
    found = unique_share(summary, k)
    assert found.low <= exact <= found.high
    assert found.value == pytest.approx(exact, abs=0.01)


class TestSamples:
    @pytest.mark.parametrize("people", [1000, 20_000])
    @pytest.mark.parametrize("exponent", [0.0, 0.7, 1.5])
    def test_the_population_lies_within_the_interval_of_its_sample(self, people, exponent):
        """In 99 of 100 samples and more (the bound is McDiarmid's); an interval without the sampling error would miss."""
        p = np.arange(1, 301) ** -exponent
        p /= p.sum()
        rng, missed, without = np.random.default_rng(5), 0, 0
        for _ in range(40):
            summary = summarize(rng.multinomial(people, p))
            for k in (2, 10, 20, 50, 100, 900):
                found = unique_share(summary, k, sampled=True)
                missed += not found.low - 1e-9 <= share(p, k) <= found.high + 1e-9
                plain = unique_share(summary, k)
                without += not plain.low - 1e-9 <= share(p, k) <= plain.high + 1e-9
                crowd = expected_crowd(summary, k, sampled=True)
                assert crowd.low - 1e-9 <= 1 + (k - 1) * float((p**2).sum()) <= crowd.high + 1e-9
        assert missed <= 2
        assert without > 5 or (people, exponent) != (1000, 1.5)

    def test_a_record_of_a_sample_is_answered_as_one(self, store):
        key = signer()
        honest = make(
            AGES, key=key, population=Population.parse("Shoalland/Nowhere@2021")
        )  # Shoal's own records are silent there
        store.submit(type(honest)(**{**_fields(honest), "method": "sample"}).signed(key))
        answer = Registry(store).query(["age/years"], "Shoalland/Nowhere@2021")
        plain, found = unique_share(honest.summary, 300), answer.unique_share(300)
        assert found.low < plain.low
        assert found.high > plain.high
        assert found.level == pytest.approx(0.99)
        assert any("sample" in n for n in found.notes)
        assert analysed(answer, 20)["everybody_unique"]["grade"] == "C"


def _fields(record):
    return {f.name: getattr(record, f.name) for f in dataclasses.fields(record)}


class TestQuarrels:
    def test_every_number_is_the_cautious_one(self, store):
        """A is more unique in small groups, B in large ones: whatever is asked, the cautious side leads."""
        a = store.submit(make([100] * 600, codes=("x/thing",), holder="A", cells=4000))
        b = store.submit(make([30_000] + [1] * 3000, codes=("x/thing",), holder="B", cells=4000))
        answer = Registry(store).query(["x/thing"], str(UTRECHT))
        for k, leader in ((5, a), (20_000, b)):
            each = {r.id: unique_share(r.summary, k) for r in (a, b)}
            told = analysed(answer, k)
            assert max(each, key=lambda i: each[i].value) == leader.id
            assert told["unique_share"]["value"] == each[leader.id].value
            assert told["unique_share"]["low"] == min(e.low for e in each.values())
            crowds = [expected_crowd(r.summary, k) for r in (a, b)]
            assert told["expected_crowd"]["value"] == min(c.value for c in crowds)
            assert told["expected_crowd"]["high"] == max(c.high for c in crowds)
            alike = [everybody_unique(r.summary, k) for r in (a, b)]
            assert told["everybody_unique"]["value"] == max(e.value for e in alike)

    def test_margins_in_dispute_use_the_cautious_record_and_say_so(self, store):
        store.submit(make(AGES, cells=95))
        store.submit(make([60_000] + [200] * 94, holder="B", cells=95, date="2025-02-01"))  # newer, and less cautious
        store.submit(make([40_000, 41_000], codes=("sex",), cells=2))
        answer = Registry(store).query(["age/years", "sex"], str(UTRECHT))
        assert answer.fit == "margins only"
        assert {r.holder for r in answer.records} == {"Statistics Office"}
        assert any("disagree about age/years" in n for n in answer.notes)

    def test_margins_of_strangers_are_set_aside_where_an_endorsed_holder_is_known(self, store):
        anchor, known, stranger = signer(), signer(), signer()
        store.submit(make(AGES, key=known, holder="Known", cells=95))
        store.submit(make(STEEP, key=stranger, holder="Stranger", cells=95, date="2025-02-01"))
        store.submit(make([40_000, 41_000], codes=("sex",), key=known, holder="Known", cells=2))
        store.state(Statement("endorse", known.public, "", "2025-01-01", 1).signed(anchor))
        answer = Registry(store, anchors=[anchor.public]).query(["age/years", "sex"], str(UTRECHT))
        assert {r.holder for r in answer.records} == {"Known"}
        assert any("Stranger" in n for n in answer.notes)


class TestNeighbours:
    def test_a_place_without_a_record_is_told_what_its_neighbours_have(self, store):
        key = signer()
        store.submit(make([50 * c for c in AGES], population=Population.parse("Shoalland@2021"), cells=95, key=key))
        for i in range(7):
            counts = [c + 40 * i for c in STEEP]
            store.submit(make(counts, population=Population.parse(f"Shoalland/P{i}@2021"), cells=95, key=key))
        store.submit(make(AGES, population=Population.parse("Shoalland/Q@2020"), cells=95, key=key))  # another year
        answer = Registry(store).query(["age/years"], "Shoalland/Missing@2021")
        found = answer.unique_share(200)
        near = sorted(unique_share(store.topic(("age/years",), f"Shoalland/P{i}@2021")[0].summary, 200).value for i in range(7))
        assert (found.grade, found.level, found.value) == ("C", 0.95, near[3])
        assert 0 < found.low < near[0]
        assert near[-1] < found.high < 95 / 200
        assert found.details["neighbours"] == {"populations": 7, "low": near[0], "middle": near[3], "high": near[-1]}
        told = analysed(answer, 200)
        assert not {"everybody_unique", "expected_crowd", "smallest_group"} & set(told)  # nothing is claimed of other people
        assert "7 neighbouring populations" in " ".join(told["unique_share"]["notes"])

    def test_few_neighbours_tell_nothing(self, store):
        store.submit(make([50 * c for c in AGES], population=Population.parse("Shoalland@2021"), cells=95))
        store.submit(make(STEEP, population=Population.parse("Shoalland/P@2021"), cells=95))
        found = Registry(store).query(["age/years"], "Shoalland/Missing@2021").unique_share(200)
        assert (found.low, found.high, found.grade, dict(found.details)) == (0.0, 95 / 200, "C", {})  # 95 cells, 200 people


class TestEverybody:
    @given(st.integers(3, 60), st.floats(0, 1.5), st.integers(2, 30), st.floats(0.0, 1.0))
    @settings(max_examples=80, deadline=None)
    def test_the_exact_chance_lies_within(self, cells, exponent, k, jitter):
        counts = np.maximum(1, 20_000 * (np.arange(1, cells + 1) + jitter) ** -exponent).astype(int) + 40
        p = counts / counts.sum()
        found = everybody_unique(summarize(counts, cells), k)
        exact = uniqueness(p, group_size=k).value if k <= cells else 0.0
        assert found.low - 1e-9 <= exact <= found.high + 1e-9

    @pytest.mark.parametrize("k", [3, 6, 10, 20])
    def test_the_corners_are_about_as_narrow_as_the_linear_programme(self, k):
        summary = summarize(AGES, 95)
        s = summary.statistics
        sums = [summary.power_sum(r) for r in range(2, 7)]
        loose = [math.expm1((r - 1) * s[f"h{r}"].step) for r in range(2, 7)]
        slow = uniqueness_from_power_sums(sums, k, p_max=math.exp(-s["hmin"].low), cells=95, error=loose)
        found = everybody_unique(summary, k)
        assert found.high - found.low <= 1.3 * (slow.high - slow.low)
        assert found.low <= slow.value <= found.high

    def test_numbers_that_hardly_fit_together_are_answered_not_refused(self):
        """Plausible one by one, but no distribution has all of them."""
        summary = summarize(AGES, 95)
        odd = {**summary.statistics, "h3": Rounded(4.40, 0.01), "h4": Rounded(4.42, 0.01)}
        found = everybody_unique(type(summary)(summary.size, summary.cells, odd), 10)
        assert 0 <= found.low <= found.value <= found.high <= 1


class TestCoarserThanTheRecord:
    """A record of age in fives and sex says something proven about every coarser question, and is not copied as its answer."""

    @pytest.mark.parametrize("seed", range(12))
    @pytest.mark.parametrize("codes", [("age/10y", "sex"), ("age/20y", "sex"), ("age/10y",), ("sex",)])
    def test_the_bounds_hold_for_any_table(self, seed, codes):
        rng = np.random.default_rng(seed)
        counts = np.maximum(1, rng.gamma(0.3 + seed / 8, 400, (20, 2))).astype(int)
        record = make(counts.ravel().tolist(), codes=("age/5y", "sex"), cells=40)
        width = {"age/10y": 2, "age/20y": 4}.get(codes[0], 20)
        merged = counts.reshape(20 // width, width, 2).sum(axis=1)
        cells = (merged if "sex" in codes else merged.sum(axis=1)).ravel() / counts.sum()
        answer = Answer(codes, UTRECHT, "finer coding", (record,))
        for k in (2, 5, 41, 100, 400):
            truth, found = float((cells * (1 - cells) ** (k - 1)).sum()), answer.unique_share(k)
            assert found.low <= truth <= found.high
            assert found.low <= found.value <= found.high
            assert found.grade == "C"

    def test_two_values_cannot_leave_most_people_alone(self):
        """It said "perhaps 78.5 %" of 41 people were unique by their sex, as by age and sex."""
        record = make([30] * 180, codes=("age/years", "sex"), cells=180)
        found = Answer(("sex",), UTRECHT, "finer coding", (record,)).unique_share(41)
        assert found.high < 0.06  # the vocabulary leaves room for six values of sex
        assert found.value < 0.02


class TestDecisions:
    def test_what_is_not_shown_is_not_called_impossible(self, store):
        """Age in tens and sex meets the target here; that it "cannot be reached" was false."""
        ages = np.array([900 + 10 * i for i in range(18)])
        fine = np.stack([ages, ages + 5], axis=1)
        store.submit(make(fine.ravel().tolist(), codes=("age/5y", "sex"), cells=36))
        store.submit(make(fine.sum(axis=1).tolist(), codes=("age/5y",), cells=18))
        decision = decide(Registry(store), ["age/5y", "sex"], str(UTRECHT), group_size=100, target=0.05)
        line = next(x for x in decision.lines if x.asked == "sex")
        assert line.advice == "not known"
        assert "a record of age/10y, sex" in line.reason
        assert "cannot" not in str(decision.to_json())
        store.submit(make(fine.reshape(9, 2, 2).sum(axis=1).ravel().tolist(), codes=("age/10y", "sex"), cells=18))
        decision = decide(Registry(store), ["age/5y", "sex"], str(UTRECHT), group_size=100, target=0.05)
        line = next(x for x in decision.lines if x.asked == "sex")
        assert line.advice == "collect", "now a record tells"
        limit = Registry(store).query(["age/10y", "sex"], str(UTRECHT)).unique_share(100).high
        for target, within in ((limit, True), (limit - 1e-9, False)):
            decision = decide(Registry(store), ["age/5y", "sex"], str(UTRECHT), group_size=100, target=target)
            assert {"age/10y", "sex"} == {x.code for x in decision.lines} or not within
            assert (decision.after is not None and decision.after.high <= target) or not decision.reached

    def test_what_is_proven_beyond_the_target_is_not_collected(self, store):
        store.submit(make([10] * 400, codes=("age/5y", "household/type"), cells=400))
        store.submit(make([200] * 20, codes=("age/5y",), cells=20))
        store.submit(make([400] * 10, codes=("age/10y",), cells=10))
        store.submit(make([10] * 300, codes=("age/10y", "household/type"), cells=300))
        store.submit(make([20] * 200, codes=("age/20y", "household/type"), cells=200))
        decision = decide(Registry(store), ["age/5y", "household/type"], str(UTRECHT), group_size=100, target=0.05)
        line = next(x for x in decision.lines if x.asked == "household/type")
        assert line.advice == "do not collect"
        assert "even with household/type beside age/20y at least" in line.reason
        low = Registry(store).query(["age/20y", "household/type"], str(UTRECHT)).unique_share(100).low
        decision = decide(Registry(store), ["age/5y", "household/type"], str(UTRECHT), group_size=100, target=low)
        assert next(x.advice for x in decision.lines if x.asked == "household/type") == "not known", "at least is not more than"

    def test_no_more_detail_is_given_up_than_the_target_asks(self, store):
        """The greedy way coarsens age first, which helps nothing; in the end it is given back."""
        store.submit(make(five_years(AGES), codes=("age/5y",), cells=19))
        store.submit(make([sum(AGES[i : i + 10]) for i in range(0, 95, 10)], codes=("age/10y",), cells=10))
        store.submit(make([10] * 7000, codes=("age/5y", "postcode/NL/pc4"), cells=7600))
        decision = decide(Registry(store), ["age/5y", "postcode/NL/pc4"], str(UTRECHT), group_size=500, target=0.05)
        assert [(x.asked, x.advice) for x in decision.lines] == [("age/5y", "collect"), ("postcode/NL/pc4", "not known")]
        assert decision.after.high <= 0.05

    @pytest.mark.parametrize("target", [0.01, 0.03, 0.1, 0.3])
    @pytest.mark.parametrize("k", [50, 200, 1000])
    def test_the_width_that_is_advised_reaches_the_target_and_the_next_finer_does_not(self, store, target, k):
        widths = {1: "age/years", 5: "age/5y", 10: "age/10y", 20: "age/20y"}
        for width, code in widths.items():
            counts = [sum(AGES[i : i + width]) for i in range(0, 95, width)]
            store.submit(make(counts, codes=(code,), cells=len(counts)))
        registry = Registry(store)
        decision = decide(registry, ["age/years"], str(UTRECHT), group_size=k, target=target)
        exact = {}
        for width, code in widths.items():
            p = np.array([sum(AGES[i : i + width]) for i in range(0, 95, width)]) / sum(AGES)
            exact[code] = share(p, k)
        if not decision.reached:
            assert registry.query(["age/20y"], str(UTRECHT)).unique_share(k).high > target
            return
        code = decision.lines[0].code
        assert exact[code] <= target
        finer = [c for c in widths.values() if list(widths.values()).index(c) < list(widths.values()).index(code)]
        assert all(registry.query([c], str(UTRECHT)).unique_share(k).high > target for c in finer)

    def test_the_letter_is_for_people(self, store):
        store.submit(make(five_years(AGES), codes=("age/5y",), cells=19))
        store.submit(make(AGES, cells=95))
        letter = decide(Registry(store), ["age/years"], str(UTRECHT), group_size=100, target=0.05).letter
        assert letter.startswith("We ask 100 people of Utrecht for: age in bands of five years.")
        assert "not to ask for more detail (age in years)" in letter
        assert "only one of their kind" in letter
        assert "age/" not in letter

    def test_every_code_has_words(self):
        assert all(label(code) and "/" not in label(code) for chain in CHAINS for code in chain)
        assert label("x/shoe-size") == "shoe-size"

    def test_people_of_whom_nothing_is_known_are_not_told_that_the_target_was_missed(self, store):
        store.submit(make([50 * c for c in AGES], population=Population.parse("NL@2021"), cells=95))
        decision = decide(Registry(store), ["age/years"], "NL/Missing@2021", group_size=100, target=0.05)
        assert not decision.reached
        assert decision.lines[0].advice == "not known"
        assert "a record of age/20y in NL/Missing@2021 would tell" in decision.lines[0].reason

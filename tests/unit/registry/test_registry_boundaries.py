"""Each limit of the registry exactly at its line and one step beside it. The numbers are built by hand: no store is needed."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from registry_support import AGES, five_years, make
from shoal.errors import DataError, RequirementError, UsageError
from shoal.kernels.signatures import signer
from shoal.model.estimate import Estimate
from shoal.registry.answer import analyse
from shoal.registry.answer.answer import ENOUGH, Answer
from shoal.registry.answer.decide import _people, decide
from shoal.registry.answer.query import Registry
from shoal.registry.keep.store import Store
from shoal.registry.keep.submissions import check_time
from shoal.registry.publish import differencing
from shoal.registry.publish.differencing import refuse
from shoal.registry.publish.noise import check_epsilon
from shoal.registry.publish.proposals import Entry, Ledger, Proposal, _newest, _spent, _stands, make_key, propose, publish
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record, plausible
from shoal.registry.records.summary import (
    LARGER,
    STATISTICS,
    Rounded,
    Sizes,
    Summary,
    _round,
    _sticky_size,
    _sticky_up,
    summarize,
)
from shoal.registry.records.trust import FACTOR, FLOOR, FROM_PARENT, contradictions, dispute, outlier
from shoal.registry.records.vocabulary import MOST_VALUES, canonical, check_values


def at(record: Record, **statistics: float) -> Record:
    """The record with other values of some statistics."""
    numbers = dict(record.summary.statistics)
    for name, value in statistics.items():
        numbers[name] = Rounded(value, numbers[name].step)
    return replace(record, summary=replace(record.summary, statistics=numbers), signature="")


@pytest.fixture(scope="module")
def record() -> Record:
    return make(AGES)


class TestOutliers:
    """At the floor or the factor nothing stands out; just beyond it does."""

    @pytest.mark.parametrize(("away", "odd"), [(FLOOR, False), (FLOOR + 0.001, True)])
    def test_the_floor_counts_where_all_others_agree(self, record, away, odd):
        for sign in (1, -1):
            found = outlier(at(record, kappa=1.0 + sign * away), [1.0, 1.0, 1.0])
            assert (found is not None) is odd

    @pytest.mark.parametrize(("away", "odd"), [(FACTOR * 0.5, False), (FACTOR * 0.5 + 0.001, True), (FLOOR + 0.001, False)])
    def test_the_factor_counts_where_others_differ(self, record, away, odd):
        others = [0.0, 0.5, 1.0, 1.5, 2.0]  # median 1, deviations 1, .5, 0, .5, 1: median 0.5
        assert (outlier(at(record, kappa=1.0 + away), others) is not None) is odd

    @pytest.mark.parametrize(("away", "odd"), [(FROM_PARENT, False), (FROM_PARENT + 0.001, True)])
    def test_the_wider_population_is_asked_below_three_others(self, record, away, odd):
        strange = at(record, kappa=1.0 + away)
        assert (outlier(strange, [9.0, 9.0], 1.0) is not None) is odd
        assert outlier(strange, [9.0, 9.0, 9.0], 1.0 + away) is not None
        assert outlier(strange, [9.0, 9.0]) is None

    def test_a_contradiction_begins_where_the_steps_end(self, record):
        coarse = make([sum(AGES[:50]), sum(AGES[50:])], codes=("age/20y",), cells=2)
        fine = record.summary.statistics["h2"]
        step = coarse.summary.statistics["h2"].step
        assert contradictions(at(coarse, h2=fine.high + step), [record]) == []
        assert "contradicts" in contradictions(at(coarse, h2=fine.high + step + 0.001), [record])[0][1]
        assert "contradicts" in contradictions(record, [at(coarse, h2=fine.high + step + 0.001)])[0][1]

    def test_a_dispute_begins_where_the_steps_end(self, record):
        other = make(AGES, holder="B")
        h2 = record.summary.statistics["h2"]
        assert dispute([record, at(other, h2=h2.value + 2 * h2.step)]) is None
        assert list(dispute([record, at(other, h2=h2.value + 2 * h2.step + 0.001)]).spread) == ["h2"]
        assert dispute([record, replace(other, key=record.key)]) is None

    def test_the_cautious_record_of_a_dispute_has_most_unique_people(self, record):
        other = make(AGES, holder="B")
        share, step = (getattr(record.summary.statistics["unique_100"], part) for part in ("value", "step"))
        more, fewer = (at(other, unique_100=share + sign * 3 * step) for sign in (1, -1))
        assert dispute([record, more]).cautious is more
        assert dispute([more, record]).cautious is more
        assert dispute([record, fewer]).cautious is record

    def test_a_joint_record_is_held_against_its_own_margins_only(self, record):
        sexes = make([sum(AGES) // 2] * 2, codes=("sex",), cells=2)
        joint = make([n // 2 for n in AGES for _ in range(2)], codes=("age/years", "sex"), cells=2 * record.summary.cells)
        apart = record.summary.statistics["kappa"].low + sexes.summary.statistics["kappa"].low
        step = joint.summary.statistics["kappa"].step
        low = at(joint, kappa=apart - step - 0.001)  # the upper end lies just below the sum
        other = make(five_years(AGES), codes=("education/level",), cells=len(five_years(AGES)))
        both = make([n // 2 for n in AGES for _ in range(2)], codes=("age/years", "household/type"), cells=2 * len(AGES))
        told = [said for _, said in contradictions(low, [record, sexes, other, both])]
        assert sum("below the sum" in said for said in told) == 2
        assert not any(
            "below the sum" in said for _, said in contradictions(at(joint, kappa=apart - step + 0.001), [record, sexes])
        )
        assert not any("below the sum" in said for _, said in contradictions(low, [record, other, both]))

    def test_two_records_of_one_attribute_are_a_dispute_and_no_contradiction(self, record):
        kappa = record.summary.statistics["kappa"]
        assert contradictions(at(record, kappa=kappa.value - 5 * kappa.step), [make(AGES, holder="B")]) == []


class TestCounts:
    @pytest.mark.parametrize("bad", [[-1, 2000], [1.5, 2000.0], [], [[1], [2000]], ["a"]])
    def test_other_than_counts_is_refused(self, bad):
        with pytest.raises(UsageError, match="at least 0"):
            Sizes.of(bad)

    def test_zero_is_a_count_and_nobody_is_a_population(self):
        found = Sizes.of([0, 3, 0, 1])
        assert (found.people, found.occupied) == (4, 2)
        with pytest.raises(DataError, match="empty"):
            Sizes.of([0, 0])

    def test_both_ways_of_counting_agree(self):
        for most in (16, 17):  # four cells: up to 16 in a table, beyond by sorting
            found = Sizes.of([0, 1, most, most])
            assert (found.values.tolist(), found.copies.tolist()) == ([1, most], [1, 2])

    def test_more_people_than_numbers_can_hold(self):
        assert Sizes.of([2**52, 1]).people == 2**52 + 1
        with pytest.raises(UsageError, match="not so many"):
            Sizes.of([2**52 + 1, 1])

    @pytest.mark.parametrize(("people", "good"), [(999, False), (1000, True)])
    def test_a_population_has_a_thousand_people(self, people, good):
        if good:
            assert summarize([people - 500, 500], cells=2).size == 1000
        else:
            with pytest.raises(DataError, match="fewer than 1,000"):
                summarize([people - 500, 500], cells=2)

    def test_as_many_cells_as_are_occupied(self):
        assert summarize([1000, 1000], cells=2).cells == 2
        with pytest.raises(UsageError, match="occupied"):
            summarize([1000, 1000], cells=1)


class TestRounding:
    def test_an_old_number_stays_within_half_a_step_and_the_move(self):
        old = Rounded(0.5, 0.1)
        assert _round(0.5 + 0.05 + 0.01, 0.01, old) is old
        assert _round(0.5 + 0.05 + 0.0101, 0.01, old) is not old
        assert _round(0.6, 0.09, old) is old  # never beyond a whole step
        assert _round(0.6001, 0.09, old) is not old

    @pytest.mark.parametrize(("move", "step"), [(0.004, 0.01), (0.005, 0.01), (0.0051, 0.02), (1.0, 2.0)])
    def test_a_step_is_at_least_two_moves(self, move, step):
        assert _round(0.7, move, None).step == step

    def test_no_step_is_large_enough(self):
        with pytest.raises(DataError, match="more than a nat"):
            _round(0.7, 1.001, None)

    def test_sizes_have_two_digits_and_stay_within_their_slack(self):
        assert [_sticky_size(n, None) for n in (1000, 1049, 1051, 54_499, 54_501)] == [1000, 1000, 1100, 54_000, 55_000]
        assert [_sticky_size(n, 1200) for n in (1149, 1251, 1148, 1252)] == [1200, 1200, 1100, 1300]

    def test_cells_leave_room_for_one_more(self):
        assert [_sticky_up(n, None) for n in (1, 9, 99, 100, 109, 110)] == [2, 10, 100, 110, 110, 120]
        assert [_sticky_up(100, old) for old in (99, 100, 130, 131)] == [110, 100, 130, 110]

    def test_the_fewest_people_are_never_below_a_thousand(self):
        usual = summarize(AGES)
        assert replace(usual, size=1000).fewest == 1000
        assert replace(usual, size=1200).fewest == 1200 - 51


class TestPlausible:
    """Every check of a record, at its line and beyond it."""

    def broken(self, summary: Summary, **values: float) -> bool:
        numbers = {k: Rounded(values.get(k, r.value), r.step) for k, r in summary.statistics.items()}
        try:
            plausible(replace(summary, statistics=numbers))
        except DataError:
            return True
        return False

    def test_size_and_cells(self):
        usual = summarize([100] * 10)
        plausible(usual)
        for size, cells in ((999, usual.cells), (10**11 + 1, usual.cells), (usual.size, 0), (usual.size, 10**15 + 1)):
            with pytest.raises(DataError):
                plausible(replace(usual, size=size, cells=cells))

    @pytest.mark.parametrize("name", ["kappa", "hmin", "unique_10"])
    def test_no_number_is_below_zero_by_more_than_its_step(self, name):
        usual = summarize([100_000], cells=1)
        step = usual.statistics[name].step
        assert not self.broken(usual, **{name: -step})
        assert self.broken(usual, **{name: -step - 0.001})

    def test_shares_are_at_most_one_and_fall(self):
        usual = summarize([1] * 1000 + [500], cells=10**6)
        step = usual.statistics["unique_10"].step
        assert self.broken(usual, unique_10=1 + step + 0.001)
        ten, twenty = usual.statistics["unique_10"], usual.statistics["unique_20"]
        assert not self.broken(usual, unique_20=ten.value + ten.step + twenty.step)
        assert self.broken(usual, unique_20=ten.value + ten.step + twenty.step + 0.001)

    def test_entropies_fall(self):
        usual = summarize(AGES)
        h2, h3 = usual.statistics["h2"], usual.statistics["h3"]
        assert self.broken(usual, h3=h2.value + h2.step + h3.step + 0.001)
        assert not self.broken(usual, h3=h2.value + h2.step + h3.step - 0.001)

    def test_steps_are_those_of_the_format(self):
        usual = summarize(AGES)
        for step, noise, good in (
            (0.02, None, True),
            (0.03, None, False),
            (0.03, 1.0, True),
            (40.0, 1.0, True),
            (40.1, 1.0, False),
        ):
            numbers = {**usual.statistics, "hmin": Rounded(usual.statistics["hmin"].value, step)}
            given = replace(usual, statistics=numbers, noise=noise)
            if good:
                plausible(given)
            else:
                with pytest.raises(DataError):
                    plausible(given)


class TestDifferencing:
    HERE, INSIDE = Population.parse("NL/Utrecht@2021"), Population.parse("NL/Utrecht@2021;women")

    @pytest.mark.parametrize(("apart", "good"), [(999, False), (1000, True)])
    def test_nested_populations_differ_by_a_thousand(self, apart, good):
        if good:
            refuse(self.INSIDE, 5000, [(self.HERE, 5000 + apart)])
        else:
            for one, other, people, known in (
                (self.INSIDE, self.HERE, 5000, 5000 + apart),
                (self.HERE, self.INSIDE, 5000 + apart, 5000),
            ):
                with pytest.raises(RequirementError, match="fewer than 1,000"):
                    refuse(one, people, [(other, known)])

    @pytest.mark.parametrize(("apart", "good"), [(99, False), (100, True)])
    def test_periods_of_one_population_differ_by_a_hundred(self, apart, good):
        later = Population.parse("NL/Utrecht@2022")
        if good:
            refuse(later, 5000, [(self.HERE, 5000 - apart)])
        else:
            with pytest.raises(RequirementError, match="fewer than 100"):
                refuse(later, 5000, [(self.HERE, 5000 - apart)])

    @pytest.mark.parametrize(("rest", "good"), [(0, True), (1, False), (999, False), (1000, True)])
    def test_what_parts_leave_is_nobody_or_a_thousand(self, rest, good):
        whole, parts = Population.parse("NL@2021"), [Population.parse(f"NL/{n}@2021") for n in ("A", "B")]
        known = [(parts[0], 5000), (parts[1], 6000)]
        if good:
            refuse(whole, 11_000 + rest, known)
        else:
            with pytest.raises(RequirementError, match="2 published parts"):
                refuse(whole, 11_000 + rest, known)

    def test_a_range_lies_within_another_with_its_ends(self):
        wide = Population.parse("NL@2021;age=18-64")
        for inner in ("18-64", "18-30", "60-64"):
            with pytest.raises(RequirementError):
                refuse(Population.parse(f"NL@2021;age={inner};women"), 5000, [(wide, 5500)])
        for outside in ("17-64", "18-65"):
            refuse(Population.parse(f"NL@2021;age={outside};women"), 5000, [(wide, 5500)])

    @pytest.mark.parametrize(
        "others",
        [
            {"NL/A@2021": 6000, "NL/B@2019": 5000},  # of another time
            {"NL/A@2021": 6000, "NL/B@2021;women": 5000},  # not all of B
            {"NL@2021;age=0-39": 6000, "NL/A@2021;age=40-99": 5000},  # not the rest of the country
            {"NL/A@2021": 6000, "NL/A/C@2021": 5000},  # a part of a part
            {"NL@2021;women": 6000, "NL@2021;age=0-39": 5000},  # they overlap
        ],
    )
    def test_populations_that_are_no_parts_of_one_whole_leave_nothing(self, others):
        refuse(Population.parse("NL@2021"), 11_400, [(Population.parse(p), n) for p, n in others.items()])

    @pytest.mark.parametrize(
        "others",
        [
            {"NL@2021;women": 4000, "NL@2021;men": 4000, "NL@2021;others": 3000},
            {"NL@2021;age=0-39": 6000, "NL@2021;age=40-99": 5000},
            {"NL/A/C@2021": 6000, "NL/B@2021": 5000},
        ],
    )
    def test_parts_of_one_whole_leave_nobody_or_a_thousand(self, others):
        known = [(Population.parse(p), n) for p, n in others.items()]
        with pytest.raises(RequirementError, match=f"{len(others)} published parts"):
            refuse(Population.parse("NL@2021"), 11_400, known)
        refuse(Population.parse("NL@2021"), 12_000, known)

    def test_ranges_of_other_filters_are_not_narrower(self):
        refuse(Population.parse("NL@2021;age=20-29"), 5000, [(Population.parse("NL@2021;years=18-64"), 5400)])

    def test_names_and_questions_that_are_one(self):
        munich = Population.parse("DE/München@2021")
        assert differencing.one_name(munich, Population.parse("DE/Bayern/Muenchen@2021-06"))
        assert not differencing.one_name(munich, Population.parse("DE/Bayern/Muenchen@2022"))
        assert not differencing.one_name(munich, Population.parse("CH/Bayern/Muenchen@2021"))
        codes = differencing.same_question(("sex", "age/years"))
        assert codes == differencing.same_question(("age/years", "sex")) == differencing.same_question(("birth/year", "sex"))
        here = Population.parse("NL@2021")
        assert differencing.related(here, Population.parse("NL/Utrecht@2021"))
        assert differencing.related(Population.parse("NL/Utrecht@2021"), here)
        assert not differencing.related(Population.parse("NL/Delft@2021"), Population.parse("NL/Utrecht@2021"))


class TestVersions:
    def test_a_hundred_people_and_thirty_days(self, record):
        from shoal.registry.publish.proposals import MIN_DAYS

        before = Entry(replace(record, date="2025-01-01"), 5000)
        days = [f"2025-{m:02d}-{d:02d}" for m in range(1, 13) for d in range(1, 29)]
        early = np.datetime64("2025-01-01") + MIN_DAYS
        assert _stands(before, 5099, days[-1]).startswith("Fewer than 100")
        assert _stands(before, 4901, days[-1]).startswith("Fewer than 100")
        assert _stands(before, 5100, str(early)) == ""
        assert _stands(before, 4900, str(early)) == ""
        assert "a new one may follow" in _stands(before, 5100, str(early - 1))
        lost = Entry(before.record, 5000, 51)
        assert _stands(lost, 5150, str(early)).startswith("Fewer than 100")
        assert _stands(lost, 5151, str(early)) == ""

    def test_the_newer_of_ledger_and_registry_counts(self, record):
        mine, theirs = Entry(record, 7), replace(record, version=2, supersedes=record.id)
        assert _newest(mine, None) is mine
        assert _newest(mine, record) is mine
        assert _newest(mine, theirs).record is theirs
        assert _newest(None, record).people == record.summary.size

    def test_a_date_is_not_to_come_nor_before_the_last(self):
        import datetime

        today = datetime.datetime.now(datetime.UTC).date()
        check_time(str(today + datetime.timedelta(days=1)))
        with pytest.raises(DataError, match="to come"):
            check_time(str(today + datetime.timedelta(days=3)))
        check_time("2025-01-02", "2025-01-02")
        with pytest.raises(DataError, match="before"):
            check_time("2025-01-01", "2025-01-02")


def test_noise_between_its_ends():
    assert [float(check_epsilon(e)) for e in (0.01, 1, 10)] == [0.01, 1.0, 10.0]
    for bad in (0.0099, 10.01, 0, True, "1"):
        with pytest.raises(UsageError):
            check_epsilon(bad)


def test_words_for_few_people():
    assert _people(0.01, 100).startswith("about 1 ")
    assert _people(0.0099, 100).startswith("hardly anybody")


def test_values_of_a_coding():
    most = MOST_VALUES["sex"]
    check_values("sex", "s", list(range(most)))
    with pytest.raises(DataError, match="at most"):
        check_values("sex", "s", list(range(most + 1)))
    check_values("age/years", "a", ["0-4", "5"])  # half bands: perhaps a code
    with pytest.raises(DataError, match="bands"):
        check_values("age/years", "a", ["0-4", "5-9", "7"])


def test_a_quasi_identifier_has_at_most_fifty_attributes():
    assert len(canonical([f"x/a{i}" for i in range(50)])) == 50
    with pytest.raises(UsageError, match="at most 50"):
        canonical([f"x/a{i}" for i in range(51)])


class TestPredictions:
    @pytest.mark.parametrize(("low", "high", "size"), [(0.01, 0.01, 1), (0.0099, 0.02, 1), (0.0, 0.0005, 1), (0.0, 0.00049, 2)])
    def test_the_smallest_group(self, low, high, size):
        found, sentence = analyse.smallest_group(Estimate((low + high) / 2, low, high, level=1.0, method="m"), 100)
        assert found == size
        assert ("At least" in sentence) is (low >= 0.01)

    @pytest.mark.parametrize("bad", [0, -1, 1.5, True])
    def test_a_group_is_a_whole_number(self, bad):
        with pytest.raises(UsageError, match="at least 1"):
            analyse.checked_group(bad)
        assert analyse.checked_group(1) == 1

    def test_shares_of_one_person(self):
        assert analyse.one_person(1.0, 2)["alone"] == 0.0
        assert analyse.one_person([0.9, 0.8], 2)["alone_at_most"] == pytest.approx(1 - 0.7)
        for bad in (0.0, -0.1, 1.001, []):
            with pytest.raises(UsageError):
                analyse.one_person(bad, 2)

    def test_a_group_as_large_as_the_population(self, record):
        people = record.summary.fewest
        assert analyse.expected_crowd(record.summary, people).grade == "B"
        assert analyse.expected_crowd(record.summary, people + 1).grade == "C"
        share = analyse.unique_share(record.summary, people + 1)
        assert (share.low, share.high, share.grade) == (0.0, record.summary.cells / people, "C")
        many = analyse.unique_share(record.summary, 100 * people)
        assert many.high == share.high, "there are no more people to ask"
        assert analyse.unique_share(record.summary, people + 1, sampled=True).high == 1.0, "others may be in other cells"

    def test_of_a_whole_population_no_more_are_alone_than_there_are_cells(self):
        counts = [1] * 7 + [260] * 5
        summary = summarize(counts, cells=20)
        everybody = sum(counts)
        assert summary.fewest < everybody, "its size is told in two digits"
        found = analyse.unique_share(summary, everybody)
        assert found.low <= 7 / everybody <= found.high == 20 / summary.fewest
        assert found.low <= found.value <= found.high

    def test_nobody_alike_in_a_group_as_large_as_the_population(self):
        summary = summarize([1] * 1000, cells=10**6)
        assert LARGER not in analyse.everybody_unique(summary, summary.fewest).notes
        assert LARGER in analyse.everybody_unique(summary, summary.fewest + 1).notes

    @pytest.mark.parametrize("neighbours", [ENOUGH - 1, ENOUGH])
    def test_five_neighbours_tell_a_likelier_value(self, record, neighbours):
        wide = replace(record, population=Population.parse("NL@2021"))
        asked = Answer(record.codes, record.population, "parent population", (wide,), siblings=lambda: [[record] * neighbours])
        assert ("neighbours" in asked.unique_share(100).details) is (neighbours == ENOUGH)

    @pytest.mark.parametrize("target", [0.0, 1.0, -0.1, 1.1])
    def test_a_target_lies_between(self, target):
        with pytest.raises(UsageError, match="between 0 and 1"):
            decide(Registry(Store()), ["sex"], "NL@2021", group_size=10, target=target)

    def test_a_target_met_exactly_is_met(self, record):
        store = Store()
        store.submit(record)
        high = Registry(store).query(record.codes, record.population).unique_share(100).high
        assert [
            x.advice for x in decide(Registry(store), record.codes, record.population, group_size=100, target=high).lines
        ] == ["collect"]
        below = decide(Registry(store), record.codes, record.population, group_size=100, target=math.nextafter(high, 0))
        assert [x.advice for x in below.lines] != ["collect"]
        store.close()


def test_all_statistics_are_there(record):
    assert set(record.summary.statistics) == set(STATISTICS)
    assert propose(AGES, ["age/years"], record.population, holder="h", date="2025-01-15", ledger=Ledger()).people == sum(AGES)


def kept(version: int, population: str = "NL/Utrecht@2021", codes: tuple[str, ...] = ("age/years",), **summary) -> Entry:
    """An entry of a ledger of which only the name and the version count."""
    of = SimpleNamespace(
        version=version, population=Population.parse(population), codes=codes, summary=SimpleNamespace(**summary)
    )
    return Entry(of, 5000)


class TestLedger:
    def test_the_newest_version_counts_in_whatever_order_they_came(self):
        one, two = kept(1), kept(2)
        for entries in ((one, two), (two, one)):
            book = Ledger(entries)
            assert book.latest(("age/years",), one.record.population) is two
            assert len(book.entries) == 2
        assert Ledger([one]).latest(("age/years",), Population.parse("NL/Leiden@2021")) is None

    def test_others_are_all_of_the_same_question_but_this_topic(self):
        here, there = kept(1), kept(1, "NL/Leiden@2021")
        born, sex = kept(1, codes=("birth/year",)), kept(1, codes=("sex",))
        book = Ledger([here, there, born, sex])
        assert [id(e) for e in book.others(("age/years",), here.record.population)] == [id(there), id(born)]
        assert [id(e) for e in book.others(("birth/year",), here.record.population)] == [id(here), id(there)]
        assert list(book.others(("sex",), sex.record.population)) == []

    @pytest.mark.parametrize(("mode", "refused"), [(0o600, False), (0o640, True), (0o604, True), (0o620, True)])
    def test_only_its_owner_reads_it(self, tmp_path, mode, refused):
        path = tmp_path / "ledger.json"
        Ledger().save(path)
        path.chmod(mode)
        if refused:
            with pytest.raises(UsageError, match="can be read by others"):
                Ledger.load(path)
        else:
            assert Ledger.load(path).entries == []

    def test_a_key_is_never_written_over_and_its_owner_s_alone(self, tmp_path):
        path = tmp_path / "key"
        make_key(path)
        before = path.read_bytes()
        assert path.stat().st_mode & 0o777 == 0o600
        with pytest.raises(FileExistsError):
            make_key(path)
        assert path.read_bytes() == before

    def test_what_is_unchanged_is_not_signed_again(self, record):
        book = Ledger()
        assert publish(Proposal(record, 5000, True), None, book) is record
        assert book.entries == []

    def test_a_change_that_no_number_shows_leaves_the_old_record(self):
        """110 people more in a million: as many as a new version needs, and nothing that is published moves."""
        book, many = Ledger(), [10 * n for n in AGES]
        first = make(many, ledger=book, date="2025-01-01")
        for more, unchanged in (([*many[:-1], many[-1] + 110], True), ([n + 2000 for n in many], False)):
            words = {"holder": "H", "date": "2025-06-01", "ledger": book}
            proposal = propose(more, ["age/years"], first.population, **words)
            assert (proposal.unchanged, proposal.record is first) == (unchanged, unchanged)

    def test_noise_adds_up_over_records_that_may_be_about_the_same_people(self):
        book = Ledger([kept(1, noise=0.5), kept(1, "NL@2021", noise=None), kept(1, "FR/Paris@2021", noise=0.7)])
        (_, sum_) = _spent(book, Population.parse("NL/Utrecht@2021"), 1.0)
        assert "With 2 earlier records" in sum_
        assert "ε adds up to 1.5; 1 of them was rounded only" in sum_
        assert len(_spent(book, Population.parse("DE/Bonn@2021"), 1.0)) == 1


class TestNoiseAndRounding:
    @staticmethod
    def noisy(place: str) -> Ledger:
        book = Ledger()
        words = {"holder": "H", "date": "2025-01-01", "ledger": book, "noise": 1.0, "cells": 95}
        publish(propose(AGES, ["birth/year"], Population.parse(place), **words), signer(), book)
        return book

    def test_a_rounded_record_would_undo_the_noise_of_another_coding_of_the_same_people(self):
        words = {"holder": "H", "date": "2025-03-01"}
        utrecht = Population.parse("NL/Utrecht@2021")
        more = [AGES[0] + 3000, *AGES[1:]]
        with pytest.raises(RequirementError, match="was drawn with noise; a rounded one would undo it"):
            propose(more, ["age/years"], utrecht, ledger=self.noisy("NL/Utrecht@2021"), **words)
        assert propose(more, ["age/years"], utrecht, ledger=self.noisy("FR/Paris@2021"), **words).record.version == 1

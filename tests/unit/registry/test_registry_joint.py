"""Joint counts: exact in every coarser coding, bounded in a finer one, cautious for estimates; and countries by their names."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import comb, log
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sqlalchemy")

from shoal.cli import main
from shoal.errors import DataError, ShoalError, UsageError
from shoal.kernels.signatures import signer
from shoal.registry.answer import joint
from shoal.registry.answer.answer import analysed
from shoal.registry.answer.decide import decide
from shoal.registry.answer.exposure import exposure, places_of
from shoal.registry.answer.plain import population_of
from shoal.registry.answer.query import Registry, populations
from shoal.registry.keep.builtin import BuiltIn
from shoal.registry.keep.store import Store
from shoal.registry.records.counts import MOST_CELLS, JointCounts
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record
from shoal.registry.records.summary import LARGER, summarize

AGES = tuple(str(i) for i in range(12))
TABLE = JointCounts(
    {"age/years": AGES, "sex": ("F", "M")},
    (80, 70, 90, 3, 60, 61, 0, 75, 44, 45, 46, 47, 100, 2, 50, 51, 52, 53, 54, 55, 56, 57, 1, 58),
)
CODES = ("age/years", "sex")


def record(counts: JointCounts = TABLE, *, method: str = "complete count", place: str = "XY/Village@2020") -> Record:
    summary = summarize(np.array(counts.people), len(counts.people))
    codes = tuple(counts.answers)
    return Record(
        codes, Population.parse(place), summary, method, "An office", "", "2026-01-02", source="A public table", counts=counts
    )


def without_return(people: list[int], k: int) -> float:
    """The expected share of unique people, nobody drawn twice, by its definition."""
    n = sum(people)
    return float(sum(Fraction(c, n) * Fraction(comb(n - c, k - 1), comb(n - 1, k - 1)) for c in people))


def independent(people: list[float], k: int) -> float:
    n = sum(people)
    return sum(c / n * (1 - c / n) ** (k - 1) for c in people)


def by_band(width: int, sexes: bool = True) -> list[int]:
    grid = np.array(TABLE.people).reshape(12, 2)
    rows = [grid[i : i + width].sum(axis=0) for i in range(0, 12, width)]
    return [int(c) for row in rows for c in (row if sexes else [row.sum()])]


@pytest.mark.parametrize("k", [1, 2, 10, 100, 1209, 1210])
@pytest.mark.parametrize(
    ("codes", "people"),
    [
        (CODES, list(TABLE.people)),
        (("age/5y", "sex"), by_band(5)),
        (("age/10y",), by_band(10, sexes=False)),
        (("age/years",), by_band(1, sexes=False)),
        (("sex",), [sum(TABLE.people[0::2]), sum(TABLE.people[1::2])]),
    ],
)
def test_every_coarser_coding_is_exact(codes: tuple[str, ...], people: list[int], k: int) -> None:
    assert sum(TABLE.people) == 1210
    found = joint.unique_share(record(), k, codes)
    assert found.value == pytest.approx(without_return(people, k), abs=1e-10)
    ends = sorted((without_return(people, k), independent(list(people), k)))
    assert (found.low, found.high) == pytest.approx(tuple(ends), abs=1e-10)
    assert found.grade == "B", "a published table is never grade A: it may be rounded, and people are missed"


def test_a_group_larger_than_the_population_is_grade_c() -> None:
    assert joint.unique_share(record(), 1210, CODES).grade == "B"
    found = joint.unique_share(record(), 1211, CODES)
    assert (found.grade, found.low) == ("C", 0.0)


@pytest.mark.parametrize("k", [2, 5, 20, 100, 500])
def test_a_finer_coding_lies_between_proven_ends(k: int) -> None:
    bands = JointCounts({"age/5y": ("0-4", "5-9", "10+"), "sex": ("F", "M")}, (300, 400, 500, 300, 200, 100))
    found = joint.unique_share(record(bands), k, CODES)
    splits = ((1, 1, 1, 1, 1), (1, 0, 0, 0, 0), (96, 1, 1, 1, 1), (50, 47, 1, 1, 1), (40, 30, 20, 9, 1))
    for parts in splits:
        for last in (1, 2, 50, 121):
            cells = [c * w / sum(parts) for c in bands.people[:4] for w in parts] + [
                c / last for c in bands.people[4:] for _ in range(last)
            ]
            assert found.low - 1e-9 <= independent(cells, k) <= found.high + 1e-9
    assert joint.unique_share(record(bands), k, ("age/5y", "sex")).high <= found.high
    assert found.low == pytest.approx(independent(list(bands.people), k), abs=2e-2), "people of one band may all be of one age"


def test_an_open_age_may_hold_more_answers_than_the_table() -> None:
    top = JointCounts({"age/years": ("0", "1", "2+"), "sex": ("F", "M")}, (300, 300, 300, 300, 300, 300))
    found = joint.unique_share(record(top), 50, CODES)
    closed = JointCounts({"age/years": ("0", "1", "2"), "sex": ("F", "M")}, top.people)
    assert found.value == pytest.approx(independent(list(top.people), 50), rel=0.03)
    assert found.high > joint.unique_share(record(closed), 50, CODES).high
    assert any("2 and older" in note for note in found.notes)


@pytest.mark.parametrize("oldest", [0, 1, 100, 200])
@pytest.mark.parametrize("k", [2, 20, 100, 500, 1000])
def test_hardly_anybody_is_a_hundred_years_old(oldest: int, k: int) -> None:
    """Of 100,000 people up to 200 are taken to be 100 or older: grade C if that puts the share within a target, else grade B."""
    ages, people = ("0-4", *(f"{a}-{a + 4}" for a in range(5, 80, 5)), "80+"), (*([6000] * 16), 4000)
    found = joint.unique_share(record(JointCounts({"age/5y": ages}, people)), k, ("age/20y",))
    real = [24_000, 24_000, 24_000, 24_000, 4000 - oldest, oldest]
    for share in (independent(real, k), without_return(real, k)):
        assert found.low - 1e-9 <= share <= found.high + 1e-9
    usual = found.details.get("high if few are 100 or older", found.high)
    assert independent(real, k) - 1e-9 <= usual <= independent(real, k) + 0.0023 + 4 * oldest / 1e5
    for target, grade, high in ((found.high, "B", found.high), (usual * 0.999, "B", found.high), (usual, "C", usual)):
        judged = joint.held_against(found, target)
        assert (judged.grade, judged.high) == (grade if usual < found.high else "B", high if usual < found.high else found.high)


@pytest.mark.parametrize("k", [2, 20, 100, 500])
@pytest.mark.parametrize("split", [(4000,), (2000, 2000), (1000,) * 4, (1300, 1200, 700, 400, 250, 150)])
def test_grade_b_needs_no_assumption_about_the_oldest(k: int, split: tuple[int, ...]) -> None:
    """However many of those of 80 and older are 100, 110 or 120: the upper end of grade B holds."""
    ages, people = ("0-4", *(f"{a}-{a + 4}" for a in range(5, 80, 5)), "80+"), (*([6000] * 16), 4000)
    found = joint.unique_share(record(JointCounts({"age/5y": ages}, people)), k, ("age/10y",))
    real = [*([12_000] * 8), *split]
    assert found.grade == "B"
    assert found.low - 1e-9 <= without_return(real, k) <= found.high + 1e-9


@pytest.mark.parametrize("k", [2, 10, 50, 200])
def test_the_total_of_a_rounded_table_is_off_too(k: int) -> None:
    """Every count rounded down to tens, the worst case of nine people each: the true shares of a small place stay inside."""
    for true in ([9, 19, 29, 39, 49, 59], [19, 19, 19, 19, 19, 900], [10, 10, 10, 10, 10, 10], [9, 10, 19, 10, 109, 10]):
        shown = tuple(n // 10 * 10 for n in true)
        table = JointCounts({"age/5y": ("0-4", "5-9", "10-14", "15-19", "20-24", "25-29")}, shown, off=9)
        found = joint.unique_share(replace(record(TABLE), counts=table, codes=("age/5y",)), k, ("age/5y",))
        p = np.array(true) / sum(true)
        assert found.low - 1e-9 <= float((p * (1 - p) ** (k - 1)).sum()) <= found.high + 1e-9


@pytest.mark.parametrize("codes", [CODES, ("age/5y", "sex"), ("sex",)])
@pytest.mark.parametrize("k", [20, 100, 500])
def test_a_rounded_table_is_off_by_as_much_as_it_says(codes: tuple[str, ...], k: int) -> None:
    rounded, exact = replace(TABLE, off=2), TABLE
    assert JointCounts.from_json(rounded.to_json()) == rounded
    assert "off" not in exact.to_json()
    found, counted = (joint.unique_share(record(t), k, codes) for t in (rounded, exact))
    assert found.low < counted.low
    assert counted.high < found.high
    assert joint.ROUNDED in found.notes
    for shift in (np.resize([2, -2], 24), np.resize([-2, 2, 2, -2], 24), np.resize([0, 1, -1, 2], 24)):
        people = np.maximum(0, np.array(TABLE.people) + shift)
        cells = replace(TABLE, people=tuple(int(n) for n in people)).cells(codes)
        assert cells is not None
        assert found.low - 1e-9 <= without_return(cells.people.tolist(), k) <= found.high + 1e-9
    with pytest.raises(DataError):
        replace(TABLE, off=-1)


def test_a_crowd_of_a_rounded_table_has_ends() -> None:
    """Four postcodes of Ameland are each rounded to five people: 25 may be 17 or 33."""
    found = exposure(BuiltIn(), "NL/Ameland@2021", [("sex", "F"), ("age/5y", "85-89")])
    assert (found.counted, found.best[1]) == ((25.0, 17.0, 33.0), "B")


@pytest.mark.parametrize(("last", "usual"), [("95+", 1), ("99+", 1), ("100+", 7)])
def test_an_open_answer_from_a_hundred_on_may_hold_everything_beyond(last: str, usual: int) -> None:
    cells = JointCounts({"age/5y": ("0-4", last)}, (1, 1)).cells(["age/5y"])
    assert cells is not None
    assert (cells.usual.tolist(), cells.most.tolist()) == ([1, usual], [1, 7 if last == "100+" else 8])


@pytest.mark.parametrize("codes", [CODES, ("age/5y", "sex"), ("age/20y",)])
def test_an_estimate_is_grade_c_and_allows_for_its_error(codes: tuple[str, ...]) -> None:
    counted, estimated = (joint.unique_share(record(method=m), 100, codes) for m in ("complete count", "estimate"))
    assert (estimated.grade, estimated.level) == ("C", joint.LEVEL)
    assert estimated.low <= max(0.0, counted.low - joint.FLOOR)
    assert estimated.high >= counted.high + joint.FLOOR
    for off in (-joint.DOUBT, joint.DOUBT):  # every second cell off by as much as is allowed for
        moved = [c * (1 + off * (i % 2)) for i, c in enumerate(TABLE.cells(codes).people.tolist())]
        assert estimated.low <= independent(moved, 100) <= estimated.high
    assert any("estimate, not a count" in note for note in estimated.notes)


def test_counts_are_signed_with_the_record_and_fit_its_summary() -> None:
    signed = record().signed(signer()).verify()
    assert Record.from_json(signed.to_json()) == signed
    fewer = replace(signed, counts=replace(TABLE, people=(TABLE.people[0] - 1, *TABLE.people[1:])), signature="")
    with pytest.raises(ShoalError):
        replace(fewer, signature=signed.signature).verify()
    skewed = replace(signed, counts=replace(TABLE, people=(1210 - 23, *(1 for _ in TABLE.people[1:]))), signature="")
    with pytest.raises(DataError, match="contradict"):
        skewed.signed(signer()).verify()
    doubled = replace(signed, counts=replace(TABLE, people=tuple(2 * c for c in TABLE.people)), signature="")
    with pytest.raises(DataError, match="contradict"):
        doubled.signed(signer()).verify()


def test_what_joint_counts_cannot_be() -> None:
    for wrong in ({"counts": TABLE, "source": ""}, {"counts": None, "source": "x", "method": "estimate"}):
        with pytest.raises(UsageError):
            replace(record(), **wrong)
    with pytest.raises(UsageError):
        replace(record(), codes=("sex",))
    whole = {"age/years": ("0", "1"), "sex": ("F", "M")}
    for answers, people in (
        (whole, (1, 2, 3)),
        (whole, (1, 2, 3, -1)),
        (whole, (1, 2, 3, 4.0)),
        ({"age/years": ("1", "0"), "sex": ("F", "M")}, (1, 2, 3, 4)),
        ({"age/years": ("young", "old"), "sex": ("F", "M")}, (1, 2, 3, 4)),
        ({}, ()),
    ):
        with pytest.raises(DataError):
            JointCounts(answers, people)
    many = {"x/colour": tuple(map(str, range(MOST_CELLS)))}
    assert len(JointCounts(many, (1,) * MOST_CELLS).people) == MOST_CELLS
    with pytest.raises(DataError):
        JointCounts({"x/colour": (*many["x/colour"], "more")}, (1,) * (MOST_CELLS + 1))
    for data in ({}, {"answers": []}, {"answers": {"sex": 3}, "people": [1]}, None):
        with pytest.raises(DataError):
            JointCounts.from_json(data)


def test_other_attributes_are_not_told() -> None:
    for codes in (("household/size",), ("age/5y", "household/size"), ("birth/year",)):
        assert not joint.has_counts_for(record(), codes)
    assert not joint.has_counts_for(record(method="sample"), CODES), "a sample is answered with its sampling error"


def test_a_registry_answers_any_coding_from_one_record(tmp_path: Path) -> None:
    store, key = Store(f"sqlite:///{tmp_path / 'r.db'}"), signer()
    store.submit(record().signed(key))
    answer = Registry(store, anchors=[key.public]).query(("age/5y", "sex"), "XY/Village@2020")
    assert answer.fit == "joint counts"
    share = answer.unique_share(40)
    assert (share.grade, share.value) == ("B", pytest.approx(without_return(by_band(5), 40), abs=1e-9))
    assert {"expected_crowd", "everybody_unique", "smallest_group"} <= analysed(answer, 40).keys()
    assert Registry(store).query(("age/5y", "sex"), "XY/Village@2020").unique_share(40).grade == "C", "nobody vouches for the key"
    part = Registry(store, anchors=[key.public]).query(("age/5y", "sex"), "XY/Village/Square@2020")
    assert part.unique_share(40).grade == "C"
    assert part.unique_share(40).low == 0.0, "a wider population proves nothing of a part"
    store.close()


@pytest.mark.parametrize(
    ("population", "people"),
    [("DE@2020", 83_783_945), ("CN@2020", 1_439_323_774), ("KE@2019", 47_562_090), ("UK@2019", 66_796_807), ("MT@2020", 441_539)],
)
def test_built_in_counts_are_persons_of_the_published_tables(population: str, people: int) -> None:
    source = BuiltIn()
    (found,) = [r for c in source.codings(population) for r in source.topic(c, population) if r.counts is not None]
    assert sum(found.counts.people) == pytest.approx(people, abs=25), "thousands of the table rounded to persons, cell by cell"
    assert found.estimated == (population[:2] not in ("KE", "UK"))
    share = joint.unique_share(found, 100)
    assert share.grade == ("C" if found.estimated else "B")


def test_no_built_in_estimate_is_better_than_grade_c() -> None:
    registry, source = Registry(), BuiltIn()
    for population in ("DE@2020", "BR@2020", "US/CA@2021", "US@2021", "IN@2020"):
        assert all(r.estimated for c in source.codings(population) for r in source.topic(c, population))
        for codes in (("age/years", "sex"), ("age/10y",), ("sex",), ("age/5y", "sex", "household/size")):
            answer = registry.query(codes, population)
            share = answer.unique_share(100)
            assert share.grade == "C"
            assert share.high == 1.0 or "household/size" not in codes, "of what is not known nothing is bounded from above"
            assert "expected_crowd" not in analysed(answer, 100)


def test_decide_says_collect_what_the_table_allows() -> None:
    found = decide(Registry(), ["age/years", "sex"], "KE/Nairobi@2019", group_size=100, target=0.05)
    assert found.reached
    assert found.after is not None
    assert found.after.high <= 0.05 < found.before.low
    assert found.after.grade == "B"


def test_the_best_three_sets_are_offered_and_none_is_coarser_than_another() -> None:
    found = decide(Registry(), ["age/years", "sex"], "UK/Leeds@2019", group_size=100, target=0.05)
    assert [codes for codes, _ in found.sets] == [("age/10y", "sex"), ("age/5y",)]
    assert all(share.high <= 0.05 for _, share in found.sets)
    assert {x.code for x in found.lines} == set(found.sets[0][0])
    assert found.verdict == "beyond"
    assert found.sentence == (
        "Beyond the target of 5.0 %: age in years and sex make about 55 % of 100 people of Leeds unique. "
        "Ask for age in bands of ten years and sex: about 1.5 %, at most 1.7 %."
    )


def test_the_fewest_people_with_whom_the_target_holds() -> None:
    """More people who answer are more people alike: there is a smallest number, and no largest."""
    asked, place = ["age/years", "sex"], "KE/Nairobi@2019"
    found = decide(Registry(), asked, place, group_size=100, target=0.05)
    assert found.enough is not None
    assert f"from {found.enough:,} respondents on" in found.how_many
    answer = Registry().query(asked, place)
    assert answer.unique_share(found.enough).high <= 0.05
    assert answer.unique_share(int(0.98 * found.enough)).high > 0.05
    assert decide(Registry(), asked, place, group_size=found.enough, target=0.05).verdict == "within"
    none = decide(Registry(), asked, place, group_size=100, target=1e-9)
    assert none.enough is None
    assert "No number of respondents is known" in none.how_many


@pytest.mark.parametrize(("k", "verdict"), [(100, "beyond"), (500, "not known"), (2000, "within")])
def test_the_verdict_has_three_values(k: int, verdict: str) -> None:
    found = decide(Registry(), ["age/years", "sex"], "US/CA@2021", group_size=k, target=0.05)
    assert (found.verdict, found.to_json()["verdict"]) == (verdict, verdict)
    assert "California" in found.sentence


def test_countries_and_states_have_names() -> None:
    source = BuiltIn()
    for name, place in (
        ("Germany", "DE@2020"), ("deutschland", "DE@2020"), ("Kenya", "KE@2019"), ("Côte d'Ivoire", "CI@2020"),
        ("日本", "JP@2020"), ("United Kingdom", "UK@2019"), ("california", "US/CA@2021"), ("nairobi", "KE/Nairobi@2019"),
    ):  # fmt: skip
        assert str(population_of(source, name)) == place
        assert place in [x.population for x in populations(source, name)]
    with pytest.raises(UsageError, match="2 places"):
        population_of(source, "Georgia")
    assert populations(source, "kenya", limit=1)[0].population == "KE@2019", "the whole country first"
    assert population_of(source, "Leeds").place == "UK/Leeds"


def test_exposed_counts_people_instead_of_multiplying(capsys: pytest.CaptureFixture[str]) -> None:
    found = exposure(BuiltIn(), "Nairobi", [("sex", "female"), ("age", "34")])
    assert (found.counted, found.best[1]) == ((39_981, 39_981, 39_981), "B")
    young, old = (exposure(BuiltIn(), "Germany", [("sex", "F"), ("age", age)]) for age in ("79", "80"))
    assert young.counted is not None
    assert old.counted is not None
    assert (young.counted[1], old.counted[1]) == (young.counted[0] / 2, 1.0), "of the oldest hardly anything is known"
    assert young.best[1] == old.best[1] == "C"
    assert young.estimated
    with pytest.raises(SystemExit):
        main(["registry", "exposed", "--population", "Nairobi", "--answers", "sex=female,age=34"])
    assert "You hide among 39,981 people of KE/Nairobi@2019 (counted, grade B)." in capsys.readouterr().out
    pages = places_of(BuiltIn())
    assert pages["KE/Nairobi@2019"]["attributes"]["sex"]["shares"].keys() == {"F", "M"}
    assert "DE@2020" not in pages, "the page says 'surely', which an estimate cannot"


def test_kappa_of_the_summary_is_that_of_the_counts() -> None:
    (found,) = BuiltIn().topic(("age/5y", "sex"), "FR@2020")
    p = np.array(found.counts.people) / sum(found.counts.people)
    assert log(len(p)) + float((p * np.log(p)).sum()) == pytest.approx(found.summary.statistics["kappa"].value, abs=0.01)


def test_bands_of_ten_years_do_not_fix_bands_of_five() -> None:
    """One cell holds two of the coding asked for: the fewest at which shares and a summary are not known."""
    ages = JointCounts({"age/10y": ("0-9", "10-19", "20+"), "sex": ("F", "M")}, (100, 200, 300, 400, 500, 600))
    assert (ages.table(["age/5y"]) or ((), ()))[1] == (("0-4", "5-9", "10-14", "15-19", "20+"),)
    assert ages.people_with({"age/5y": "5-9"}) is None, "half of a band is a guess"
    assert (ages.table(["age/20y"]) or ((), ()))[1] == (("0-19", "20+"),)
    assert ages.people_with({"age/20y": "0-19", "sex": "F"}) == 400
    cells = ages.cells(["age/5y", "sex"])
    assert cells is not None
    assert cells.even.tolist() == [2, 2, 2, 2, 1, 1], "the last band is open"
    assert joint.fixed(record(ages), ("age/5y", "sex")) is None
    assert joint.fixed(record(ages), ("age/20y", "sex")) is not None


@pytest.mark.parametrize("place", ["Isles of Scilly", "Ameland"])
def test_no_more_people_are_asked_than_there_are(place: str) -> None:
    """Of 10,000 people of a place of 2,224 everybody is asked: their share, not one that falls with people who do not exist."""
    registry, codes = Registry(), ["age/years", "sex"]
    answer = registry.query(codes, place)
    everybody, more = answer.unique_share(answer.people or 0), answer.unique_share(10_000)
    assert (more.low, more.grade) == (0.0, "C")
    assert (more.value, more.high) == (everybody.value, everybody.high) == (
        answer.unique_share(100_000).value, answer.unique_share(100_000).high,
    )  # fmt: skip
    assert LARGER in more.notes
    assert answer.unique_share((answer.people or 0) - 200).high <= everybody.high + 0.01

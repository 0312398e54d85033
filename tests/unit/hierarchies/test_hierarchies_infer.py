"""Levels that make sense: neighbours join neighbours, codes are never banded, and each defect seen on a real table."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shoal.errors import HierarchyError, HierarchyGapError
from shoal.hierarchies import (
    Apart,
    Diagnosis,
    Flat,
    FrequencyMerge,
    Intervals,
    Mask,
    Ordered,
    Postcode,
    from_policy,
    infer,
    rule_from_json,
)
from shoal.hierarchies.builders.codes import edition_of
from shoal.hierarchies.builders.dates import form_of
from shoal.hierarchies.builders.number_texts import band_of, bands_in_order, joined
from shoal.hierarchies.builders.numbers import ladder
from shoal.hierarchies.builders.postcodes import country_of
from shoal.model.roles import Column
from shoal.steps import evaluate

DECADES = [f"[{a}-{a + 10})" for a in range(0, 100, 10)]


def labels(rule, level: int, texts: list[str]) -> dict[str, str]:
    """The published label of each value, as the plan's own step gives it, which must be the level's."""
    found = dict(zip(texts, evaluate(rule.step("c", level), texts).texts(), strict=True))
    at = rule.over("c", texts).levels[level]
    assert found == {t: at.labels[g] for t, g in zip(texts, at.groups, strict=False)}
    return found


class TestBands:
    def test_age_bands_join_their_neighbours_whatever_their_counts(self):
        """Children and people of ninety stood together under "(other)"."""
        counts = [16, 69, 165, 377, 968, 1725, 2248, 2606, 1719, 107]
        rule = infer(Column("age", "text"), DECADES, counts)
        assert isinstance(rule, Ordered)
        first = labels(rule, 1, DECADES)
        assert list(dict.fromkeys(first.values())) == ["[0-20)", "[20-40)", "[40-60)", "[60-80)", "[80-100)"]
        assert first["[90-100)"] != first["[0-10)"]
        assert "(other)" not in str(rule.over("age", DECADES).levels)

    def test_every_group_of_every_level_is_a_run_of_neighbours(self):
        order = ["<20", "20-24", "25-34", "35-54", "55-64", "65-74", "75-84", "85+"]
        rule = infer("age", order, [3, 40, 200, 300, 200, 150, 40, 2])
        for level in rule.over("age", order).levels:
            groups = level.groups.tolist()
            assert groups == sorted(groups)
        assert labels(rule, 1, order)["85+"] == "65+"
        assert labels(rule, 1, order)["<20"] == "up to 34"

    def test_income_bands(self):
        texts = ["$0 - $9,999", "$10,000 - $19,999", "$20,000 - $29,999", "$30,000 - $39,999"]
        assert bands_in_order(texts[::-1]) == tuple(texts)
        assert labels(infer("pay", texts, [9] * 4), 1, texts)["$10,000 - $19,999"] == "$0 - $19,999"

    @pytest.mark.parametrize(
        ("texts", "order"),
        [
            (["10-20", "20-30", "0-10"], ("0-10", "10-20", "20-30")),
            (["10-21", "20-30", "0-10"], ()),  # one lies across another
            (["0-9", "0-9 "], ()),
            (["0-9", "blue"], ()),
            (["0-9", "10"], ()),  # one band is no list of bands
            (["0-9", "10", "11+"], ("0-9", "10", "11+")),
            (["2020-01", "2020-02"], ()),  # months: the first number is the larger
        ],
    )
    def test_what_is_a_list_of_bands(self, texts, order):
        assert bands_in_order(texts) == order

    @pytest.mark.parametrize("text", ["", "abc", "42", "9-5", "A1-B2"])
    def test_what_is_no_band(self, text):
        assert band_of(text) is None

    def test_half_open_bands_joined_to_an_open_end(self):
        assert joined(["<20", "[20,30)"]) == "<30"
        assert joined([">=80", ">=90"]) == ">=80"


class TestOrdered:
    def test_words_join_their_neighbours(self):
        order = ["never", "seldom", "often", "always"]
        rule = infer("how", order, [5, 50, 50, 6], scale="ordered", order=order)
        assert list(dict.fromkeys(labels(rule, 1, order).values())) == ["never to seldom", "often", "always"]
        assert list(dict.fromkeys(labels(rule, 2, order).values())) == ["never to seldom", "often to always"]

    def test_groups_of_codes_with_labels_are_named_by_codes(self):
        column = Column("edu", "integer", labels={1: "none", 2: "primary", 3: "secondary", 4: "higher"})
        rule = infer(column, ["1", "2", "3", "4"], [3, 20, 50, 40], scale="ordered")
        assert list(labels(rule, 1, ["1", "2", "3", "4"]).values()) == [
            "1-2",
            "1-2",
            "3",
            "4",
        ]

    def test_codes_with_labels_are_never_banded_as_numbers(self):
        column = Column("region", "integer", labels={float(i): f"region {chr(64 + i)}" for i in range(1, 9)})
        rule = infer(column, [str(i) for i in range(1, 9)], [60, 50, 40, 30, 20, 4, 3, 2])
        assert isinstance(rule, FrequencyMerge)
        assert labels(rule, 1, ["1", "8"]) == {"1": "1", "8": "(other)"}
        assert "region H" not in str(rule.to_json())

    def test_numbers_with_a_few_labelled_codes_stay_numbers(self):
        column = Column("age", "integer", labels={99: "refused"})
        assert isinstance(infer(column, [str(a) for a in range(18, 80)], [9] * 62), Intervals)

    def test_numbers_keep_their_missing_codes_apart(self):
        column = Column("age", "integer", user_missing=(-9, (97, 99)))
        ages = [str(a) for a in range(18, 80)]
        rule = infer(column, [*ages, "-9", "98"], [9] * 64, scale="number")
        assert isinstance(rule, Apart)
        found = labels(rule, 1, [*ages, "-9", "98"])
        assert (found["-9"], found["98"], found["31"]) == ("-9", "98", "30-34")
        assert rule_from_json(rule.to_json()) == rule
        assert isinstance(infer(column, ages, [9] * 62, scale="number"), Intervals)

    def test_a_category_without_a_place_keeps_its_name_or_is_other(self):
        order = ["low", "medium", "high"]
        rule = infer("x", [*order, "unknown", "typo"], [50, 50, 50, 10, 9], k=5, scale="ordered", order=order)
        found = labels(rule, 1, [*order, "unknown", "typo"])
        assert (found["unknown"], found["typo"]) == ("unknown", "(other)")
        assert "typo" not in str(rule.to_json())

    def test_limits(self):
        assert infer("x", ["a", "b"], [5, 5], order=["a", "b"]).inner == 0
        assert Ordered(("a", "b", "c")).inner == 1
        assert Ordered(tuple("abcdef")).inner == 2  # six: three, two
        assert Ordered(tuple("abcde")).inner == 3  # five: four, three, two
        for wrong in (("a",), ("a", "a")):
            with pytest.raises(HierarchyError, match="at least two"):
                Ordered(wrong)

    def test_in_a_policy(self):
        rule = from_policy({"hierarchy": {"order": ["low", "medium", "high"]}}).fit("x", ["high", "low"], [5, 5])
        assert rule.over("x", ["low", "medium", "high"]).levels[1].labels == ("low to medium", "high")


class TestNominal:
    def test_codes_never_become_bands(self):
        """discharge_disposition_id became 2-9."""
        codes = [str(i) for i in range(1, 29)]
        rule = infer(Column("disposition", "integer"), codes, [600, 300, 200, *[20] * 10, *[2] * 15], scale="nominal")
        assert isinstance(rule, FrequencyMerge)
        assert labels(rule, 1, codes)["3"] == "3"
        assert labels(rule, 1, codes)["28"] == "(other)"

    @pytest.mark.parametrize(("rare", "level"), [(50, True), (51, False)])
    def test_other_never_holds_more_than_half(self, rare, level):
        counts = [100 - rare, *[2] * (rare // 2), *[1] * (rare % 2)]
        rule = infer("job", [f"job {i}" for i in range(len(counts))], counts, k=5)
        assert (rule.inner > 0) is level

    @pytest.mark.parametrize("scale", ["id", "text"])
    def test_names_and_sentences_are_kept_or_suppressed(self, scale):
        assert isinstance(infer("x", [str(i) for i in range(100)], [9] * 100, scale=scale), Flat)

    def test_codes_of_digits_lose_them_from_the_right(self):
        codes = [str(c) for c in range(1110, 9999, 111)]
        rule = infer(Column("job", "integer"), codes, [9] * len(codes), scale="nominal")
        assert isinstance(rule, Mask)
        assert labels(rule, 2, ["2221"]) == {"2221": "22**"}


class TestNumbers:
    @pytest.mark.parametrize(
        ("span", "widths"),
        [
            (3, (1, 2)),
            (6, (1, 2)),
            (7, (1, 5)),
            (14, (1, 5, 10)),
            (22, (1, 5, 10)),
            (23, (5, 10)),
            (55, (5, 10, 20)),
            (80, (5, 10, 20)),
            (250, (20, 100)),
        ],
    )
    def test_widths_are_round(self, span, widths):
        assert ladder(float(span), integer=True) == widths

    def test_small_counts_get_an_open_end_before_bands(self):
        texts = [str(n) for n in range(23)]
        rule = infer(Column("siblings", "integer"), texts, [167, 407, 427, 284, 210, 150, 99, 82, 60, 43, *[5] * 13])
        assert rule.widths == (1, 5, 10)
        assert labels(rule, 1, texts)["3"] == "3"
        assert labels(rule, 1, texts)["22"] == f"{int(rule.top)}+"

    def test_no_level_repeats_the_values(self):
        texts = [str(n) for n in range(12)]
        rule = infer(Column("n", "integer"), texts, [1] * 12)
        assert len(rule.over("n", texts).levels[1].labels) < 12


class TestCodes:
    def test_diagnoses(self):
        texts = ["E11.65", "E13", "I10", "Z00.0", "C7A.1"]
        rule = infer(Column("diag", "text"), texts, [9] * 5)
        assert isinstance(rule, Diagnosis)
        assert list(labels(rule, 2, texts).values()) == ["E10-E14", "E10-E14", "I10-I15", "Z00-Z13", "C76-C80"]
        assert list(labels(rule, 3, texts).values()) == ["E00-E90", "E00-E90", "I00-I99", "Z00-Z99", "C00-D48"]

    @pytest.mark.parametrize(
        ("code", "three", "block", "chapter"),
        [
            ("250.13", "250", "249-259", "240-279"),
            ("8", "008", "001-009", "001-139"),
            ("V58.1", "V58", "V5", "V01-V91"),
            ("E850", "E850", "E8", "E800-E999"),
            ("400", "400", "after 398", "390-459"),
        ],
    )
    def test_the_ninth_edition(self, code, three, block, chapter):
        assert [Diagnosis("icd9").label(code, level) for level in (1, 2, 3)] == [three, block, chapter]

    @pytest.mark.parametrize(
        ("code", "block"), [("E07", "E00-E07"), ("E08", "after E07"), ("E09", "after E07"), ("E10", "E10-E14"), ("B99", "B99")]
    )
    def test_codes_between_blocks(self, code, block):
        assert Diagnosis("icd10").label(code, 2) == block

    def test_every_code_is_in_one_block_of_one_chapter(self):
        every = [f"{a}{i:02d}" for a in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for i in range(100)]
        assert Diagnosis("icd10").over("d", every).height == 4  # refuses groups that are not nested
        nine = [f"{i:03d}" for i in range(1, 1000)] + [f"V{i:02d}" for i in range(1, 92)] + [f"E{i}" for i in range(800, 1000)]
        assert Diagnosis("icd9").over("d", nine).height == 4

    def test_what_is_no_diagnosis(self):
        assert edition_of(["E11.9", "x"]) is None
        with pytest.raises(HierarchyGapError):
            Diagnosis("icd10").over("d", ["E11.9", "x"])

    @pytest.mark.parametrize(
        ("texts", "country"),
        [
            (["LA4", "RM17", "B12"], "UK"),
            (["K1A 0B1"], "CA"),
            (["00-950"], "PL"),
            (["1000-205"], "PT"),
            (["01310-100"], "BR"),
            (["100-0001"], "JP"),
            (["10115", "01067"], "5 digits"),
            (["10115", "01067-1234"], "US"),
            (["999", "10115"], "5 digits"),
            (["99", "10115"], ""),
            (["123"], ""),
            (["1234567"], ""),
        ],
    )
    def test_postcodes(self, texts, country):
        assert country_of(texts, digits=True) == country

    def test_digits_are_postcodes_only_where_they_are_places(self):
        assert country_of(["10115", "01067"]) == ""

    def test_lost_zeros_come_back(self):
        assert labels(Postcode("5 digits"), 2, ["1067", "10115"]) == {"1067": "01", "10115": "10"}

    @pytest.mark.parametrize(
        ("country", "code", "area"),
        [("FR", "75011", "75"), ("AT", "1010", "10"), ("SE", "114 55", "114"), ("CA", "K1A 0B1", "K1A")],
    )
    def test_areas(self, country, code, area):
        assert Postcode(country).label(code, 1) == area


class TestDates:
    @pytest.mark.parametrize(
        ("texts", "form"),
        [
            (["31/12/1999"], "dmy"),
            (["12/31/1999"], "mdy"),
            (["12/12/1999"], "year last"),
            (["12/31/1999", "31/12/1999"], ""),
            (["32/12/1999"], ""),
            (["19991231"], "ymd"),
            (["19991331"], ""),
            (["17991231"], ""),
            (["1999-12-31 8:30"], "iso"),
            (["1/2/99"], ""),
        ],
    )
    def test_forms(self, texts, form):
        assert form_of(texts) == form

    def test_times_without_a_leading_zero(self):
        texts = ["2101-10-20 8:30", "2101-10-20 19:08", "2101-11-02 9:00"]
        rule = infer(Column("seen", "text"), texts, [5] * 3)
        assert list(labels(rule, 1, texts).values()) == ["2101-10-20", "2101-10-20", "2101-11-02"]
        hours = from_policy({"dates": ["hour", "day"]}).fit("seen", pa.array(texts))
        assert labels(hours, 1, texts)[texts[0]] == "2101-10-20 08"

    def test_what_only_begins_like_a_date_is_none(self):
        assert form_of(["2101-10-20 8:30 or later"]) == ""

    def test_lives_get_decades_and_visits_quarters(self):
        lives = [f"{y}-03-01" for y in (1950, 1960)]
        assert infer(Column("born", "date"), lives).levels == ("month", "year", "5 years", "decade")
        assert infer(Column("seen", "date"), [lives[0], "1959-01-01"]).levels == ("month", "quarter", "year")


@pytest.mark.parametrize(
    ("topic", "codes", "levels"),
    [
        ("occupation", ["2141", "2142", "2221", "5223"], [("214", "222", "522"), ("21", "22", "52"), ("2", "5")]),
        ("industry", ["C10.71", "C10.72", "G47.11"], [("C10.7", "G47.1"), ("C10", "G47"), ("C", "G")]),
        ("industry", ["10.71", "10.72", "47.11"], [("10.7", "47.1"), ("10", "47")]),
        ("place", ["DE111", "DE112", "NL329"], [("DE11", "NL32"), ("DE1", "NL3"), ("DE", "NL")]),
        ("drug", ["C09AA05", "C09AA02", "N05BA04"], [("C09AA", "N05BA"), ("C09A", "N05B"), ("C09", "N05"), ("C", "N")]),
    ],
)
def test_codes_are_cut_where_they_mean_something(topic, codes, levels):
    rule = infer("code", codes, [50] * len(codes), scale="nominal", topic=topic)
    assert [tuple(sorted(level.labels)) for level in rule.over("code", codes).levels[1:-1]] == levels


def test_codes_of_diseases_are_not_cut_as_industries():
    codes = ["A01.1", "C10.7", "G47.1", "C50.9", "I10.9"]
    assert "diagnoses" in infer("dx", codes, [50] * 5, scale="nominal", topic="diagnosis").why
    assert "NACE" in infer("branch", codes, [50] * 5, scale="nominal", topic="industry").why


def test_dates_of_eight_digits_with_errors_get_months_and_years():
    days = [f"19{y}0{m}{d}" for y in (45, 46, 61) for m in (1, 2) for d in (14, 31)]  # 31 February is none
    assert infer("born", days, [9] * len(days), scale="date").why == "dates: month, year, 5 years, decade"
    odd = [*days, "99450114"]
    rule = infer("born", odd, [9] * len(odd), scale="date")
    assert [len(set(level.labels)) for level in rule.over("born", odd).levels] == [13, 7, 4, 3, 1]


def test_months_are_joined_to_quarters() -> None:
    months = [str(m) for m in range(1, 13)]
    rule = infer(Column("MONTH", "integer"), months, [50] * 12, scale="date")
    assert [level.labels for level in rule.over("MONTH", months).levels[1:3]] == [
        ("1-3", "4-6", "7-9", "10-12"),
        ("1-6", "7-12"),
    ]
    assert infer(Column("MONTH", "integer"), months[:7], [50] * 7, scale="date").why == rule.why
    assert infer(Column("MONTH", "integer"), months[:6], [50] * 6, scale="date").why != rule.why  # hours or days, perhaps
    assert infer(Column("size", "integer"), months, [50] * 12, scale="number").why != rule.why
    assert infer(Column("day", "integer"), [*months, "13"], [50] * 13, scale="date").why != rule.why


def test_a_grid_is_said_to_be_one() -> None:
    cells = [str(1000 + 37 * i) for i in range(60)]
    assert infer(Column("grid_id", "integer"), cells, [50] * 60, scale="place").why.startswith("numbers of a grid")
    assert infer(Column("pc4", "integer"), cells, [50] * 60, scale="place").why.startswith("postcodes")


@pytest.mark.parametrize(
    ("codes", "said"), [(["9"], "1 code for missing values stays apart"), (["8", "9"], "2 codes for missing values stay apart")]
)
def test_codes_apart_are_counted_in_words(codes, said):
    assert Apart.of(Intervals(widths=(5,)), codes).why.endswith(said)

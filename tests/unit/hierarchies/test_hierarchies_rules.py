"""Builders: what each level says, and what is refused."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import DataError, HierarchyError, HierarchyGapError, PolicyError, UsageError
from shoal.hierarchies import (
    Ages,
    Dates,
    Flat,
    FrequencyMerge,
    FromTree,
    Intervals,
    Mask,
    Postcode,
    PrefixCode,
    Quantiles,
    evaluate,
    from_policy,
    infer,
    rule_from_json,
    small_zip3,
)
from shoal.model.plan import Plan
from shoal.model.roles import Column
from shoal.steps import Cut, Keep, MapValues, Prefix

AGES = [str(a) for a in range(111)]
DAYS = [(dt.date(1930, 1, 1) + dt.timedelta(days=97 * i)).isoformat() for i in range(350)]

RULES = [
    pytest.param(Intervals((5, 10, 20), top=90), AGES, id="intervals"),
    pytest.param(Intervals((5, 10), top=85, bottom=18), AGES, id="both ends"),
    pytest.param(Intervals((0.1, 0.5, 1.0)), [repr(i / 37) for i in range(-50, 90)], id="fractions"),
    pytest.param(Dates(), DAYS, id="dates"),
    pytest.param(Dates(("day", "half-year", "5 years", "century")), DAYS, id="long periods"),
    pytest.param(Dates(("week",)), DAYS, id="weeks"),
    pytest.param(Ages("2024-02-29", (5, 10, 20)), DAYS, id="ages"),
    pytest.param(Mask(), ["1234", "1299", "12", "77"], id="mask"),
    pytest.param(Mask((3, 1), side="left", fill=""), ["1234", "9934", "34"], id="mask left"),
    pytest.param(PrefixCode.of("nace"), ["A01.11", "A01.12", "A02.1", "C10"], id="nace"),
    pytest.param(Postcode("NL"), ["1234AB", "1234 CD", "1011"], id="nl"),
    pytest.param(Postcode("DE"), ["10115", "80331"], id="de"),
    pytest.param(Postcode("UK"), ["SW1A 1AA", "SW1A2AB", "M1 1AE", "EC1A"], id="uk"),
    pytest.param(Postcode("US"), ["03601", "10001", "10001-1234", "601"], id="us"),
    pytest.param(FrequencyMerge((10, 50)), ["a", "b", "c", "d", "e"], id="frequency"),
    pytest.param(FromTree.of({"x": {"p": ["1", "2"], "q": ["3"]}, "y": ["4"]}), ["4", "1"], id="tree"),
    pytest.param(Quantiles((8, 4, 2)), [repr(float(x)) for x in np.random.default_rng(3).lognormal(size=200)], id="quantiles"),
    pytest.param(Flat(), ["a", "b"], id="flat"),
]


def _counts(values: list[str]) -> list[int]:
    return [100 - 20 * (i % 5) + 1 for i in range(len(values))]


@pytest.mark.parametrize(("rule", "values"), RULES)
def test_every_level_of_the_hierarchy_is_the_step_of_that_level(rule, values):
    fitted = rule.fit("c", values, _counts(values))
    h = fitted.over("c", values)
    assert h.leaves[: len(values)] == tuple(values)
    assert h.levels[0].labels[: len(values)] == tuple(values)
    assert len(h.levels[-1].labels) == 1
    assert h.height == fitted.height
    for number in range(1, h.height + 1):
        labels = [h.levels[number].labels[g] for g in h.levels[number].groups[: len(values)]]
        assert labels == evaluate(fitted.step("c", number), values).texts()


@pytest.mark.parametrize(("rule", "values"), RULES)
def test_rules_and_their_plans_go_to_json_and_back(rule, values):
    fitted = rule.fit("c", values, _counts(values))
    assert rule_from_json(fitted.to_json()) == fitted
    plan = Plan(tuple(fitted.step("c", level) for level in range(fitted.height + 1)))
    assert Plan.from_json(plan.to_json()) == plan


def test_level_zero_keeps_and_the_top_suppresses_all_but_missing():
    rule = Intervals((5,)).fit("age", AGES)
    assert isinstance(rule.step("age", 0), Keep)
    assert rule.step("age", 2) == MapValues("age", on_gap="top", top="*")
    with pytest.raises(UsageError, match="levels 0 to 2"):
        rule.step("age", 3)


@pytest.mark.parametrize(
    ("rule", "value", "labels"),
    [
        pytest.param(Intervals((5, 10, 20), top=90), "89", ["85-89", "80-89", "80-89"], id="cut off below the top code"),
        pytest.param(Intervals((5, 10, 20), top=90), "90", ["90+", "90+", "90+"], id="the top code itself is inside"),
        pytest.param(Intervals((5, 10), bottom=18), "17", ["<18", "<18"], id="below the bottom code"),
        pytest.param(Intervals((5, 10), bottom=18), "18", ["18-19", "18-19"], id="the bottom code itself"),
        pytest.param(
            Dates(("month", "quarter", "year", "decade")), "2000-02-29", ["2000-02", "2000-Q1", "2000", "2000s"], id="leap day"
        ),
        pytest.param(
            Dates(("hour", "day")), "2024-12-31 23:59:59", ["2024-12-31 23", "2024-12-31"], id="a second before midnight"
        ),
        pytest.param(Dates(("week",)), "2021-01-03", ["2020-W53"], id="ISO week of the year before"),
        pytest.param(Ages("2024-06-30", (1,), top=90), "1934-06-30", ["90+"], id="90th birthday"),
        pytest.param(Ages("2024-06-30", (1,), top=90), "1934-07-01", ["89"], id="a day before the 90th birthday"),
        pytest.param(Ages("2023-02-28", (1,)), "2000-02-29", ["22"], id="born on 29 February: not before 1 March"),
        pytest.param(Ages("2024-06-30", (10,)), "2024-07-01", ["born later"], id="born after the day"),
        pytest.param(PrefixCode.of("icd10"), "E11.65", ["E11", "E"], id="ICD-10"),
        pytest.param(PrefixCode.of("isco"), "2211", ["221", "22", "2"], id="ISCO"),
        pytest.param(Postcode("NL"), "1234 AB", ["1234", "123", "12", "1"], id="Dutch"),
        pytest.param(Postcode("UK"), "sw1a 1aa", ["SW1A 1", "SW1A", "SW"], id="British, small letters"),
        pytest.param(Postcode("US"), "601", ["006", "0"], id="US, zeros lost"),
        pytest.param(Postcode("US"), "03601-0001", ["000", "000"], id="US, small area stays pooled"),
    ],
)
def test_labels_by_hand(rule, value, labels):
    h = rule.over("c", [value])
    assert [h.levels[i].labels[h.levels[i].groups[0]] for i in range(1, 1 + len(labels))] == labels


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-10_000, 10_000), min_size=1, max_size=60, unique=True), st.integers(1, 30), st.integers(2, 4))
def test_a_number_lies_in_the_interval_of_its_label(values, width, factor):
    rule = Intervals((width, width * factor)).fit("x", [str(v) for v in values])
    for level in (1, 2):
        step = rule.step("x", level)
        assert isinstance(step, Cut)
        index = evaluate(step, [str(v) for v in values]).index
        edges = [-np.inf, *step.points, np.inf]
        assert all(edges[i] <= v < edges[i + 1] for i, v in zip(index, values, strict=True))
        assert all(float(p).is_integer() and (p % width == 0) for p in step.points)


@settings(deadline=None, max_examples=60)
@given(st.dates(dt.date(1850, 1, 1), dt.date(2024, 2, 29)))
def test_age_bands_agree_with_counting_birthdays(born):
    reference = dt.date(2024, 2, 29)
    age = reference.year - born.year - ((reference.month, reference.day) < (born.month, born.day))
    h = Ages(reference.isoformat(), (1,), top=90).over("born", [born.isoformat()])
    assert h.levels[1].labels[0] == (str(age) if age < 90 else "90+")


def test_values_outside_the_fitted_range_still_get_a_true_label():
    rule = Intervals((10,)).fit("age", ["20", "39"])
    assert evaluate(rule.step("age", 1), ["7", "85"]).texts() == ["<20", "40+"]
    dates = Dates(("decade",)).fit("born", ["1985-01-01"])
    assert evaluate(dates.step("born", 1), ["1979-12-31", "1990-01-01"]).texts() == ["before 1980-01-01", "from 1990-01-01"]


def test_typed_columns_are_read_by_their_canonical_text():
    days = pa.array([dt.date(2020, 5, 17), dt.date(1999, 1, 1)])
    rule = Dates().fit("d", days)
    assert rule.over("d", days).levels[2].labels == ("1999-Q1", "2020-Q2")
    assert not rule.on_text
    assert Intervals((10,)).fit("x", pa.array([1.5, 20.0])).step("x", 1).kind == "cut"
    assert Intervals((10,)).fit("x", pa.array(["1", "20"])).step("x", 1).kind == "generalize"
    years = Dates(("year",)).fit("d", pa.array(["2020-05-17"])).step("d", 1)
    assert years.kind == "generalize"
    with pytest.raises(HierarchyGapError, match="1 values"):
        years.start(0)(pa.table({"d": ["17/05/2020"]}), 0)


class TestPrivacy:
    def test_rare_categories_never_stand_in_rule_or_plan(self):
        values = ["nurse", "baker", "pope", "king"]
        rule = FrequencyMerge((10, 60)).fit("job", values, [500, 80, 1, 2])
        text = str(rule.to_json()) + Plan(tuple(rule.step("job", i) for i in range(1, 4))).to_json()
        assert "pope" not in text
        assert "king" not in text
        assert "nurse" in text

    def test_the_merged_group_is_never_below_the_limit(self):
        rule = FrequencyMerge((10,)).fit("job", ["a", "b", "c"], [50, 12, 1])
        h = rule.over("job", ["a", "b", "c"])
        sizes = np.bincount(h.levels[1].groups, weights=[50, 12, 1])
        assert sizes.min() >= 10

    @settings(deadline=None, max_examples=60)
    @given(st.lists(st.integers(1, 100), min_size=1, max_size=20), st.integers(2, 40))
    def test_every_group_of_a_frequency_merge_reaches_the_limit_or_all_are_one(self, counts, need):
        values = [f"v{i}" for i in range(len(counts))]
        h = FrequencyMerge((need,)).over("c", values, counts)
        sizes = np.bincount(h.levels[1].groups, weights=counts)
        assert sizes.min() >= need or len(sizes) == 1

    def test_a_category_called_other_is_not_confused_with_the_rest(self):
        rule = FrequencyMerge((10,)).fit("c", ["(other)", "x", "y"], [50, 6, 7])
        assert rule.other == "(other) 2"

    def test_a_fitted_range_shows_neither_the_oldest_nor_the_youngest(self):
        rule = Intervals((5, 10, 20)).fit("age", ["17", "103"])
        assert (rule.low, rule.high) == (0.0, 120.0)
        assert (Dates().fit("d", ["1917-03-05"]).low, Dates().fit("d", ["1917-03-05"]).high) == (1910, 1919)

    def test_quantile_cuts_are_rounder_than_the_values(self):
        rng = np.random.default_rng(5)
        values = [repr(float(v)) for v in rng.normal(50_000, 9_000, 500)]
        cuts = Quantiles((4, 2)).fit("pay", values).cuts
        assert all(float(c) not in map(float, values) for level in cuts for c in level)
        assert all(len(repr(c)) < 9 for level in cuts for c in level)

    def test_errors_count_and_do_not_show_values(self):
        with pytest.raises(HierarchyGapError) as caught:
            FromTree.of({"x": ["a"]}).over("job", ["a", "CANARY-7", "CANARY-8"], [5, 2, 1])
        assert "2 values (3 records)" in str(caught.value)
        assert "CANARY" not in str(caught.value)
        assert caught.value.values == ("CANARY-7", "CANARY-8")
        with pytest.raises(DataError) as wrong:
            Intervals((5,)).over("age", ["1", "CANARY-7"])
        assert "1 of 2" in str(wrong.value)
        assert "CANARY" not in str(wrong.value)
        with pytest.raises(DataError, match="1 of 1") as wrong:
            Dates().over("born", ["CANARY-9"])
        assert "CANARY" not in str(wrong.value)


@pytest.mark.parametrize(("on_gap", "label"), [("suppress", "*"), ("top", "*")])
def test_unknown_values_follow_on_gap(on_gap, label):
    h = FromTree.of({"x": ["a", "b"], "y": ["c"]}, on_gap=on_gap).over("c", ["a", "zebra"])
    assert h.levels[1].labels[h.levels[1].groups[1]] == label
    top = FromTree((("a", "x", "Any"), ("b", "y", "Any")), "top").over("c", ["zebra"])
    assert top.levels[1].labels[top.levels[1].groups[0]] == "Any"
    us = Postcode("US", on_gap="suppress").over("zip", ["nowhere", "10001"])
    assert us.levels[1].labels == ("*", "100")


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        pytest.param(lambda: Intervals((5, 7)), HierarchyError, "not nested", id="widths"),
        pytest.param(lambda: Intervals((5, -5)), HierarchyError, "positive", id="negative"),
        pytest.param(lambda: Intervals((5,), top=10, bottom=20), HierarchyError, "below", id="top under bottom"),
        pytest.param(lambda: Dates(("year", "month")), HierarchyError, "do not rise", id="falling levels"),
        pytest.param(lambda: Dates(("week", "month")), HierarchyError, "weeks do not nest", id="weeks"),
        pytest.param(lambda: Dates(("fortnight",)), HierarchyError, "not known", id="unknown level"),
        pytest.param(lambda: Ages("yesterday"), HierarchyError, "reference day", id="no day"),
        pytest.param(lambda: Mask((2, 4)), HierarchyError, "fall", id="rising mask"),
        pytest.param(lambda: Postcode("XX"), HierarchyError, "not known", id="country"),
        pytest.param(lambda: PrefixCode.of("xyz"), HierarchyError, "not known", id="scheme"),
        pytest.param(lambda: FrequencyMerge((100, 10)), HierarchyError, "rise", id="falling counts"),
        pytest.param(lambda: FrequencyMerge((10,)).over("c", ["a"]), UsageError, "counts are needed", id="no counts"),
        pytest.param(lambda: Quantiles((10, 4)), HierarchyError, "divide", id="quantiles"),
        pytest.param(lambda: Intervals((5,)).step("age", 1), UsageError, "no range", id="not fitted"),
        pytest.param(lambda: Intervals((1e-9,)).fit("x", ["0", "9"]).step("x", 1), HierarchyError, "cut points", id="too fine"),
        pytest.param(lambda: FromTree((("a", "x"), ("a", "y"))), HierarchyError, "lists a value", id="conflicting keys"),
        pytest.param(lambda: FromTree((("a", "x", "p"), ("b", "x", "q"))), HierarchyError, "not monotone", id="not monotone"),
        pytest.param(lambda: FromTree((("a", "x"), ("b",))), HierarchyError, "fields", id="ragged"),
        pytest.param(lambda: FromTree.from_edges({"a": "b", "b": "c", "c": "a"}), HierarchyError, "cyclic", id="cycle"),
        pytest.param(lambda: FromTree.from_edges({"leaf": "b", "b": "c", "c": "b"}), HierarchyError, "cyclic", id="cycle above"),
        pytest.param(lambda: Mask().over("c", [None, "a"]), HierarchyError, "1 missing", id="missing values"),
        pytest.param(lambda: rule_from_json({"kind": "nope"}), PolicyError, "not known", id="unknown kind"),
        pytest.param(lambda: rule_from_json({"kind": "mask", "x": 1}), PolicyError, "unknown fields", id="unknown field"),
    ],
)  # fmt: skip
def test_bad_rules_are_refused(build, error, words):
    with pytest.raises(error, match=words):
        build()


class TestInfer:
    def test_numbers(self):
        counts = [1000 - 9 * abs(a - 40) for a in range(111)]
        rule = infer(Column("age", "integer"), AGES, counts)
        assert isinstance(rule, Intervals)
        assert rule.widths == (5, 10, 20)
        assert "bands of 5, 10 and 20" in rule.why
        h = rule.over("age", AGES)
        assert [len(level.labels) for level in h.levels][-1] == 1

    def test_open_ends_hold_at_least_k(self):
        values = [str(v) for v in [*range(100), 10_000]]
        rule = infer("pay", values, [50] * 100 + [1], k=5)
        h = rule.over("pay", values)
        last = h.levels[1].groups[-1]
        assert np.asarray([50] * 100 + [1])[h.levels[1].groups == last].sum() >= 5

    @settings(deadline=None, max_examples=60)
    @given(
        st.lists(st.floats(-1e9, 1e9, allow_nan=False), min_size=1, max_size=40, unique=True),
        st.integers(1, 50),
    )
    def test_any_numbers_give_a_usable_hierarchy(self, values, count):
        texts = list(dict.fromkeys(repr(v + 0.0) for v in values))
        h = infer(Column("x", "float"), texts, [count] * len(texts)).over("x", texts)
        assert len(h.levels[-1].labels) == 1
        assert all(len(a.labels) >= len(b.labels) for a, b in zip(h.levels, h.levels[1:], strict=False))

    @pytest.mark.parametrize(
        ("kind", "values", "expected"),
        [
            pytest.param("date", DAYS, Dates, id="dates"),
            pytest.param("text", DAYS, Dates, id="dates in text"),
            pytest.param("text", [f"{i:04d}" for i in range(0, 300, 7)], Mask, id="codes with leading zeros"),
            pytest.param("text", [f"{a}{i:02d}" for a in "ABC" for i in range(10)], Mask, id="codes"),
            pytest.param("boolean", ["true", "false"], Flat, id="boolean"),
            pytest.param("text", ["F", "M"], Flat, id="two values"),
            pytest.param("text", [f"free text number {i}" for i in range(200)], Flat, id="free text"),
            pytest.param("time", ["12:00:00", "13:30:00"], PrefixCode, id="times"),
            pytest.param("integer", [], Flat, id="all missing"),
            pytest.param("integer", ["7"], Flat, id="one number"),
        ],
    )
    def test_kinds(self, kind, values, expected):
        rule = infer(Column("c", kind), values, [1] * len(values))
        assert isinstance(rule, expected)
        assert rule.why
        if values:
            assert len(rule.over("c", values).levels[-1].labels) == 1

    def test_frequent_categories_keep_their_names(self):
        rule = infer("job", ["a", "b", "c", "d"], [500, 300, 12, 3])
        assert isinstance(rule, FrequencyMerge)
        assert rule.kept[0] == ("a", "b")

    def test_why_names_no_extreme_value(self):
        rule = infer("pay", [str(v) for v in [*range(1000), 123_457]], [20] * 1001)
        assert "123457" not in rule.why
        assert "123457" not in str(rule.to_json())


class TestPolicy:
    @pytest.mark.parametrize(
        ("spec", "expected"),
        [
            ({"hierarchy": {"intervals": [5, 10, 20], "top": 90}, "weight": 2}, Intervals((5, 10, 20), top=90)),
            ({"intervals": 5}, Intervals((5,))),
            ({"dates": ["month", "year"]}, Dates(("month", "year"))),
            ({"ages": [5, 10], "at": "2024-12-31", "top": 85}, Ages("2024-12-31", (5, 10), top=85)),
            ({"mask": "left"}, Mask(side="left")),
            ({"mask": {"side": "right", "keep": [4, 2]}}, Mask((4, 2))),
            ({"prefix": [3, 1]}, PrefixCode((3, 1))),
            ({"postcode": "gb"}, Postcode("UK")),
            ({"frequency": [10, 100]}, FrequencyMerge((10, 100))),
            ({"quantiles": [20, 10], "min_count": 5}, Quantiles((20, 10), 5)),
            ({"groups": {"EU": ["NL", "BE"], "US": ["US"]}}, FromTree.of({"EU": ["NL", "BE"], "US": ["US"]})),
            ("dates", Dates()),
        ],
    )
    def test_builders_by_name(self, spec, expected):
        assert from_policy(spec) == expected

    def test_empty_means_look_at_the_data(self):
        rule = from_policy({})
        assert rule.fit("sex", ["F", "M"]).kind == "flat"
        assert from_policy({"weight": 3}).kind == "infer"
        assert rule.over("age", pa.array([17, 34])).height >= 1

    def test_files_are_found_beside_the_policy(self, tmp_path):
        (tmp_path / "zip.csv").write_text("1234;12;*\n1299;12;*\n")
        (tmp_path / "tree.csv").write_text("child,parent\nNL,West\nBE,West\nJP,Asia\n")
        assert from_policy({"hierarchy": "zip.csv"}, tmp_path).height == 2
        assert from_policy({"tree": "tree.csv"}, tmp_path).over("c", ["NL"]).levels[1].labels == ("West", "Asia")

    @pytest.mark.parametrize(
        ("spec", "words"),
        [
            ({"interval": [5]}, "Did you mean 'intervals'"),
            ({"intervals": [5], "tpo": 90}, "does not know 'tpo'"),
            ({"intervals": ["five"]}, "wrong type"),
            ({"ages": [5]}, "need the day"),
            ("nonsense", "not known"),
            ({"mask": "upwards"}, "right or from the left"),
        ],
    )
    def test_mistakes_are_named(self, spec, words):
        with pytest.raises(PolicyError, match=words):
            from_policy(spec)


def test_small_areas_come_from_a_population_table(tmp_path):
    file = tmp_path / "pop.csv"
    file.write_text("ZIP,population\n10001,20000\n20001,20001\n")
    small = small_zip3(file)
    assert "100" in small
    assert "200" not in small
    rule = from_policy({"postcode": "US", "population": "pop.csv"}, tmp_path)
    assert rule.over("zip", ["10001", "20001"]).levels[1].labels == ("000", "200")
    file.write_text("ZIP,people\n1,2\n")
    with pytest.raises(DataError, match="population column"):
        small_zip3(file)


def test_generalize_runs_on_batches_and_keeps_missing():
    step = Postcode("US").step("zip", 1)
    out = step.start(0)(pa.table({"zip": ["03601", None, "10001"]}), 0)["zip"].to_pylist()
    assert out == ["000", None, "100"]
    labelled = Postcode("US").step("zip", 1, missing_label="none").start(0)(pa.table({"zip": ["10001", None]}), 0)
    assert labelled["zip"].to_pylist() == ["100", "none"]
    with pytest.raises(HierarchyGapError) as caught:
        step.start(0)(pa.table({"zip": ["CANARY"]}), 0)
    assert "CANARY" not in str(caught.value)


def test_prefix_steps_of_masks():
    assert Mask((2,), side="left").step("c", 1) == Prefix("c", 2, "*", True)


@pytest.mark.parametrize("mark", ["-", "/", "."])
def test_days_with_the_year_last_lose_the_day_first(mark: str) -> None:
    """A mask from the right would keep the day and hide the year."""
    texts = [f"{d:02d}{mark}{m:02d}{mark}{y}" for d in (1, 17, 31) for m in (3, 12) for y in (1950, 1980)]
    levels = infer(Column("born", "text"), texts, [3] * len(texts)).over("born", texts).levels
    assert set(levels[1].labels) == {f"{y}-{m}" for m in ("03", "12") for y in (1950, 1980)}
    assert set(levels[2].labels) == {"1950", "1980"}
    assert levels[-1].labels == ("*",)
    american = [t[3:5] + mark + t[:2] + t[5:] for t in texts]
    assert [set(lv.labels) for lv in infer("born", american).over("born", american).levels] == [
        set(american),
        *(set(lv.labels) for lv in levels[1:]),
    ]
    unclear = [t for t in texts if t.startswith("01")]
    assert infer("born", unclear).over("born", unclear).levels[1].labels == ("1950", "1980")

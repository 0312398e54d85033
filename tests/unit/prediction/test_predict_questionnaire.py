"""The questionnaire meter: numbers against listing, links, suggestions, files."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoal import predict
from shoal.errors import PolicyError, ShoalError, UnreadableError, UsageError
from shoal.forms.files import from_mapping, parse_target, read_questionnaire
from shoal.prediction import Distribution, Questionnaire
from shoal.prediction.questionnaire import suggest as suggest_room
from shoal.prediction.questionnaire.questions import Flag
from shoal.prediction.summaries.published import PublishedSummary, shape_of


def survey(**options: Any) -> Questionnaire:
    q = Questionnaire(**{"population": 1_000_000, "respondents": 1200, **options})
    rng = np.random.default_rng(1)
    q.add("age", values=80, ordered=True, band=1, unit="year").add("sex", shares=[0.51, 0.49])
    q.add("region", counts=rng.integers(1, 30, 12)).add("education", shares=[0.2, 0.3, 0.3, 0.2], ordered=True)
    return q.add("income", counts=rng.integers(5, 30, 10), ordered=True)


def listed(q: Questionnaire, n: int) -> float:
    cells = np.array([1.0])
    for b in q.blocks():
        cells = np.multiply.outer(cells, b.joint.ravel()).ravel()
    return float((cells * (1 - cells) ** (n - 1)).sum())


def test_meter_equals_listing_all_combinations_with_links_and_beyond_the_grid() -> None:
    q = survey().link("education", "income", correlation=0.5)
    assert q.meter().unique.value == pytest.approx(listed(q, 1200), abs=1e-9)
    for i in range(3):
        q.add(f"extra{i}", shares=np.array([4, 3, 2, 1]) / 10)
    m = q.meter()
    assert m.combinations == 80 * 2 * 12 * 4 * 10 * 64
    assert "log-grid" in m.unique.method or "sum" in m.unique.method
    assert m.unique.value == pytest.approx(listed(q, 1200), abs=1e-6)
    assert m.population_unique.value == pytest.approx(listed(q, 1_000_000), abs=1e-6)


def test_the_grid_error_bound_holds() -> None:
    from shoal.prediction.questionnaire import meter as _meter

    q = survey()
    pieces = _meter.parts(q.blocks(), list(q.questions))
    exact = listed(q, 5000)
    for points in (1 << 9, 1 << 11, 1 << 14):
        value, error = _meter.unique_share(pieces, 5000, points=points, listed=0)
        assert abs(value - exact) <= error
        assert error < 0.01


def test_waterfall_shrinks_and_ends_at_the_meter() -> None:
    m = survey().meter()
    crowds, unique = [s.crowd for s in m.waterfall], [s.unique for s in m.waterfall]
    assert crowds == sorted(crowds, reverse=True)
    assert unique == sorted(unique)
    assert unique[-1] == pytest.approx(m.unique.value, abs=1e-4)
    assert np.prod([s.factor for s in m.waterfall]) == pytest.approx(1_000_000 / m.crowd, rel=1e-6)


def test_pairs_and_triples_are_ranked_against_listing() -> None:
    q = survey()
    m = q.meter(worst=3)
    assert m.triples[0][0] == ("age", "region", "income")
    a, b = (q.questions[n].p for n in m.pairs[0][0])
    cells = np.multiply.outer(a, b)
    assert m.pairs[0][1] == pytest.approx(float((cells * (1 - cells) ** 1199).sum()), abs=1e-6)
    assert [s for _, s in m.pairs] == sorted((s for _, s in m.pairs), reverse=True)


def test_links_lower_uniqueness_and_a_joint_table_is_used_as_it_is() -> None:
    free, tied = survey().meter().unique.value, survey().link("education", "income", correlation=0.9).meter().unique.value
    assert tied < free
    q = Questionnaire(population=1000, respondents=100)
    q.add("a", shares=[0.5, 0.5]).add("b", shares=[0.5, 0.5]).link("a", "b", joint=[[50, 0], [0, 50]])
    m = q.meter()
    assert m.unique.value == pytest.approx(0.5**99, abs=1e-12)
    assert m.unique.grade == "A"
    three = survey().link("education", "income", "region", correlation=0.4)
    block = three.blocks()[2]
    assert block.joint.sum() == pytest.approx(1)
    for i, name in enumerate(block.names):
        margin = block.joint.sum(axis=tuple(j for j in range(3) if j != i))
        assert np.abs(margin - three.questions[name].p).max() < 1e-6


def test_one_factor_block_equals_the_bivariate_copula() -> None:
    from shoal.prediction.questionnaire.questions import one_factor

    margins = [np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.4]), np.array([0.3, 0.7])]
    joint = one_factor(margins, 0.5)
    assert np.abs(joint.sum(axis=2) - predict.gaussian_copula(margins[:2], 0.5)).max() < 1e-8


def test_information_gives_the_same_link_as_its_correlation() -> None:
    q = survey()
    mi = predict.mutual_information(predict.gaussian_copula([q.questions["education"].p, q.questions["income"].p], 0.6))
    q.link("education", "income", information=mi)
    assert q.links[0]["correlation"] == pytest.approx(0.6, abs=1e-6)


@pytest.mark.parametrize("target", [0.02, 0.1, 0.3])
def test_a_suggestion_reaches_the_target_and_is_checked(target: float) -> None:
    q = survey(target=target)
    s = q.suggest()
    assert s.reached
    assert s.after <= target < s.before == pytest.approx(q.meter().unique.value, abs=1e-3)
    assert "→" in s.text


def test_the_cheapest_single_change_is_a_band_of_age() -> None:
    q = Questionnaire(population=1_000_000, respondents=200, target=0.06)
    q.add("age", values=80, ordered=True, band=1, unit="year").add("sex", shares=[0.51, 0.49])
    q.add("education", shares=[0.2, 0.3, 0.3, 0.2], keep=True)
    s = q.suggest()
    assert s.text == "ask age in 10-year bands: 72 % → 4.7 %"
    cells = np.multiply.outer(np.multiply.outer(np.full(8, 1 / 8), [0.51, 0.49]), [0.2, 0.3, 0.3, 0.2])
    assert s.after == pytest.approx(float((cells * (1 - cells) ** 199).sum()), abs=1e-9)


def test_nothing_is_suggested_when_the_target_is_met_and_impossible_targets_say_so() -> None:
    assert "nothing to change" in survey(target=1.0).suggest().text
    q = Questionnaire(population=10, respondents=2, target=0.0)
    q.add("x", values=2, keep=True)
    s = q.suggest()
    assert not s.reached
    assert "not reached" in s.text or s.changes == ()


def test_long_questionnaires_get_several_changes() -> None:
    q = survey(target=0.05)
    for i in range(7):
        q.add(f"q{i}", shares=np.full(5, 0.2))
    s = q.suggest()
    assert s.reached
    assert len(s.changes) > 1
    assert len({c.question for c in s.changes}) == len(s.changes)


def test_grades_and_lights() -> None:
    q = Questionnaire(population=10_000, respondents=500, target=0.5)
    q.add("a", shares=[0.5, 0.5])
    assert (q.meter().unique.grade, q.meter().light) == ("A", "green")
    q.add("b", counts=[3, 4, 5], source="table")
    assert (q.meter().unique.grade, q.meter().light) == ("C", "green"), "a guess; its whole range is within the target"
    assert q.meter().unique.high <= 0.5
    q.target = q.meter().unique.high * 0.999
    assert (q.meter().reached, q.meter().light) == (True, "amber"), "the range passes the target"
    q.target = 0.5
    q.add("c", values=3)
    assert (q.meter().unique.grade, q.meter().light) == ("C", "amber")
    assert any("the range holds for every shape" in n for n in q.meter().unique.notes)
    tied = Questionnaire(population=10_000, respondents=500, target=0.5).add("a", shares=[0.5, 0.5]).add("b", shares=[0.3, 0.7])
    tied.link("a", "b", correlation=0.5)
    assert tied.meter().unique.grade == "C"  # a correlation does not fix the joint shares
    table = Questionnaire(population=10_000, respondents=500).add("a", shares=[0.5, 0.5]).add("b", shares=[0.3, 0.7])
    table.link("a", "b", joint=[[0.2, 0.3], [0.1, 0.4]])
    assert table.meter().unique.grade == "A"


@pytest.mark.parametrize("seed", range(12))
def test_whatever_the_dependence_the_truth_is_in_the_range_and_the_guess_is_grade_c(seed: int) -> None:
    """Falsifier: joint tables with the same shares, from independent to copies of one another."""
    rng = np.random.default_rng(seed)
    cells, people = int(rng.integers(2, 40)), int(rng.integers(20, 3000))
    shares = rng.dirichlet(np.full(cells, rng.choice([0.3, 1.0, 5.0])))
    tie = rng.choice([0.0, 0.3, 0.9, 1.0])  # with this chance the second answer is the first one over again
    joint = tie * np.diag(shares) + (1 - tie) * np.multiply.outer(shares, shares)
    q = Questionnaire(population=10**6, respondents=people).add("a", shares=shares).add("b", shares=shares)
    m = q.meter()
    p = joint.ravel()[joint.ravel() > 0]
    true = float((p * (1 - p) ** (people - 1)).sum())
    assert m.unique.grade == m.smallest_group.grade == "C"
    assert m.unique.low - 1e-12 <= true <= m.unique.high + 1e-12
    drawn = [rng.multinomial(people, p / p.sum()) for _ in range(200)]
    within = [m.smallest_group.low <= d[d > 0].min() <= m.smallest_group.high + 1 for d in drawn]
    assert np.mean(within) >= 0.88, "at its level of 0.9, but for the draw"
    known = (
        Questionnaire(population=10**6, respondents=people, independence_known=True)
        .add("a", shares=shares)
        .add("b", shares=shares)
    )
    assert known.meter().unique.grade == "A"


def test_small_groups_are_counted_without_values() -> None:
    q = survey(small_group=60)
    q.subgroups = ("region", "sex")
    warnings = q.meter().warnings
    assert any(w.startswith("region: ") for w in warnings)
    assert any("reporting by region × sex" in w for w in warnings)


def test_the_thesis_appendix() -> None:
    q = Questionnaire(population=16_000_000)
    for i, share in enumerate((0.30, 0.79, 0.33, 0.37, 0.44, 0.00002)):
        q.add(f"q{i}", shares=[share, 1 - share], labels=("this", "other"))
    d = q.answer({f"q{i}": "this" for i in range(6)})
    assert d.chain[-1] == pytest.approx(4.0744, abs=1e-3)
    assert (d.crowd.low, d.crowd.high) == (0, pytest.approx(320))
    assert "independent" in d.crowd.notes[0]


def test_kappa_questions_have_the_kappa_asked_for() -> None:
    q = Questionnaire(population=1000)
    q.add("age", kappa=(0.0914, 95))
    assert q.questions["age"].law.kappa == pytest.approx(0.0914, abs=1e-9)
    assert q.meter().unique.grade == "C"


@pytest.mark.parametrize(
    "build",
    [
        lambda q: q.add("age", values=5),
        lambda q: q.add("new"),
        lambda q: q.add("new", values=5, shares=[1.0]),
        lambda q: q.add("new", shares=[0.5, 0.6]),
        lambda q: q.add("new", values=0),
        lambda q: q.link("age"),
        lambda q: q.link("age", "nobody", correlation=0.1),
        lambda q: q.link("age", "sex"),
        lambda q: q.link("age", "sex", correlation=2.0).blocks(),
        lambda q: q.link("age", "sex", joint=[[1, 2]]).blocks(),
        lambda q: q.link("age", "sex", correlation=0.1).link("age", "region", correlation=0.1),
        lambda q: Questionnaire(population=10, respondents=20),
        lambda q: Questionnaire(population=10).meter(),
        lambda q: q.answer({"age": 200}),
    ],
)
def test_bad_questionnaires_are_refused(build: Any) -> None:
    with pytest.raises(UsageError):
        build(survey())


YAML = """
population: 17000000
respondents: 1200
target: unique<=5%
small_group: 5
questions:
  age: {range: [18, 97], band: 1, unit: year}
  sex: {answers: {female: 0.51, male: 0.49}}
  education: {shares: [0.2, 0.4, 0.4], ordered: true}
  income: {counts: income.csv:people, ordered: true}
  town: {table: people.csv:town}
  height: {normal: {mean: 170, sd: 10, width: 5}}
  station: {zipf: {places: 100, exponent: 0.6}}
  shoe: {registry: {kappa: 0.1, cells: 20}}
linked:
  - {questions: [education, income], correlation: 0.5}
subgroups: [sex]
"""


def test_a_questions_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "questions.yml").write_text(YAML, encoding="utf-8")
    (tmp_path / "income.csv").write_text("band,people\nlow,30\nmiddle,50\nhigh,20\n", encoding="utf-8")
    (tmp_path / "people.csv").write_text("town,name\n" + "A,x\n" * 3 + "B,y\n", encoding="utf-8")
    q = read_questionnaire(tmp_path / "questions.yml", respondents=900)
    assert (q.population, q.respondents, q.target, q.subgroups) == (17_000_000, 900, 0.05, ("sex",))
    assert [x.answers for x in q.questions.values()][:6] == [80, 2, 3, 3, 2, q.questions["height"].answers]
    assert q.questions["income"].p.tolist() == [0.3, 0.5, 0.2]
    assert q.questions["town"].p.tolist() == [0.75, 0.25]
    assert q.questions["sex"].labels == ("female", "male")
    assert q.meter().unique.value > 0.5


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        ("questions: [1]", PolicyError, "population"),
        ("population: 10\nquestions: 5", PolicyError, "mapping"),
        ("population: 10\nquestions: {a: 5}", PolicyError, "description"),
        ("population: 10\nquestions: {a: {valeus: 5}}", PolicyError, "valeus"),
        ("population: 10\nquestions: {a: {values: 5, shares: [1]}}", PolicyError, "exactly one"),
        ("population: 10\nquestions: {a: {shares: 5}}", PolicyError, "not understood"),
        ("population: 10\nquestions: {a: {range: [9, 1]}}", PolicyError, "empty"),
        ("population: 10\nquestions: {a: {counts: nowhere.csv}}", UnreadableError, "cannot be read"),
        ("population: 10\ntarget: often\nquestions: {a: {values: 5}}", PolicyError, "target"),
        ("population: 10\nquestions: {a: {values: 5}}\nlinked: [a]", PolicyError, "link"),
        ("population: 10\nquestions: {a: {values: 5}}\nsubgroups: [b]", UsageError, "'b'"),
        ("population: 10\nquestions: {a: {values: 5}}\nindependence: maybe", PolicyError, "independence"),
        ("population: [", PolicyError, "YAML"),
        ("population: 10\nquestions: {a: {counts: [x, 5]}}", PolicyError, "'counts' of question 'a'"),
        ("population: 10\nquestions: {a: {shares: [half, half]}}", PolicyError, "'shares' of question 'a'"),
        ("population: 10\nquestions: {a: {answers: {y: x}}}", PolicyError, "'answers' of question 'a'"),
        ("population: 10\nquestions: {a: {normal: {sd: 0}}}", PolicyError, "question 'a'"),
        ("population: 10\nquestions: {a: {normal: {sd: -1}}}", PolicyError, "question 'a'"),
        ("population: 10\nquestions: {a: {zipf: {places: 5, exponent: -1}}}", PolicyError, "question 'a'"),
        ("population: 10\nquestions: {a: {range: [0.5, 1.9]}}", PolicyError, "whole numbers"),
        ("population: 10\nquestions: {a: {values: 5, weight: -1}}", PolicyError, "'weight' of question 'a'"),
        ("population: 10\nquestions: {a: {values: 5, weight: .nan}}", PolicyError, "'weight' of question 'a'"),
        ("population: 10\nquestions: {a: {values: 5, band: -3}}", PolicyError, "'band' of question 'a'"),
        ('population: 10\nquestions: {a: {values: 5, ordered: "no"}}', PolicyError, "'ordered' of question 'a'"),
        ("population: 10\nquestions: {a: {values: 5, source: whatever}}", PolicyError, "'source' of question 'a'"),
        ("population: 10\nquestions: {a: {values: 2}}\nlinked: 5", PolicyError, "'linked' is a list"),
        (
            "population: 10\nquestions: {a: {values: 2}, b: {values: 2}}\nlinked: [{questions: [a, b], correlation: high}]",
            PolicyError,
            "link of a, b",
        ),
        (
            "population: 10\nquestions: {a: {values: 2}, b: {values: 2}}\nlinked: [{questions: [a, b], joint: [[1, x], [2, 3]]}]",
            PolicyError,
            "link of a, b",
        ),
        (
            "population: 10\nquestions: {a: {values: 2}, b: {values: 2}}\nlinked: [{questions: [a, b], joint: [[0, 0], [0, 0]]}]",
            UsageError,
            "not only 0",
        ),
        ("- 1", PolicyError, "mapping"),
    ],
)
def test_bad_files_are_refused_with_a_next_step(tmp_path: Path, data: str, error: type[ShoalError], says: str) -> None:
    (tmp_path / "q.yml").write_text(data, encoding="utf-8")
    with pytest.raises(error, match=says):
        read_questionnaire(tmp_path / "q.yml")
    with pytest.raises(UnreadableError):
        read_questionnaire(tmp_path / "none.yml")


def test_a_joint_table_that_contradicts_the_questions_is_refused_and_else_tells_their_shares() -> None:
    joint = [[0.97, 0.01], [0.01, 0.01]]
    q = Questionnaire(population=100).add("a", shares=[0.5, 0.5]).add("b", shares=[0.98, 0.02])
    with pytest.raises(UsageError, match="answers of 'a' shares that are up to 48 points off"):
        q.link("a", "b", joint=joint)
    q = Questionnaire(population=100).add("a", values=2).add("b", shares=[0.98, 0.02]).link("a", "b", joint=joint)
    assert q.questions["a"].p == pytest.approx([0.98, 0.02])
    assert q.questions["a"].source == "given"


def test_the_first_row_of_a_counted_file_is_never_shown_and_files_elsewhere_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("CANARY,1970\nsecret,1980\n", encoding="utf-8")
    inside = tmp_path / "inside"
    inside.mkdir()
    for kind in ("table", "counts"):
        with pytest.raises(UnreadableError, match="not among the 2 of") as caught:
            from_mapping({"population": 9, "questions": {"a": {kind: "people.csv:town"}}}, folder=tmp_path)
        assert "CANARY" not in str(caught.value)
        for elsewhere in ("../people.csv:CANARY", str(tmp_path / "people.csv") + ":CANARY"):
            with pytest.raises(PolicyError, match="outside its own folder"):
                from_mapping({"population": 9, "questions": {"a": {kind: elsewhere}}}, folder=inside)


def test_the_smallest_group_is_never_larger_than_an_even_share() -> None:
    group = Questionnaire(population=1000, respondents=100).add("a", shares=[0.5, 0.5]).meter().smallest_group
    assert 40 < group.value <= group.high <= 50.001


def test_targets() -> None:
    assert [parse_target(t) for t in (0.05, "5%", "unique <= 5 %", {"unique": "0.05"})] == [0.05] * 4
    for bad in ("", "%", "1.2.3", None, True, [5]):
        with pytest.raises(PolicyError):
            parse_target(bad)


def test_an_xlsform_is_read(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    survey_sheet, choices = book.active, book.create_sheet("choices")
    survey_sheet.title = "survey"
    for row in (
        ["type", "name", "label", "constraint"],
        ["select_one sex", "sex", "Your sex?", None],
        ["select_one region or_other", "region", "Where?", None],
        ["select_multiple sport", "sports", "Which?", None],
        ["integer", "age", "Age?", ". >= 18 and . < 100"],
        ["integer", "salary", "Pay?", None],
        ["text", "remarks", "Anything?", None],
        ["note", "thanks", "Thank you", None],
    ):
        survey_sheet.append(row)
    for row in (
        ["list_name", "name", "label"],
        ["sex", "f", "female"],
        ["sex", "m", "male"],
        ["region", "n", "north"],
        ["region", "s", "south"],
        ["sport", "a", "a"],
        ["sport", "b", "b"],
        ["sport", "c", "c"],
    ):
        choices.append(row)
    file = tmp_path / "form.xlsx"
    book.save(file)
    q = read_questionnaire(file, population=5000, respondents=200)
    assert {n: x.answers for n, x in q.questions.items()} == {"sex": 2, "region": 3, "sports": 8, "age": 82}
    assert q.skipped == ("region_other", "salary", "remarks")
    assert q.meter().unique.grade == "C"
    with pytest.raises(UsageError, match="how many people"):
        read_questionnaire(file)
    (tmp_path / "broken.xlsx").write_bytes(b"no zip")
    with pytest.raises(UnreadableError):
        read_questionnaire(tmp_path / "broken.xlsx", population=5)


def form(tmp_path: Path, survey: list[list[Any]], choices: list[list[Any]] = ()) -> Path:  # type: ignore[assignment]
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "survey"
    book.active.append(["type", "name", "label::English (en)", "relevant", "constraint", "parameters"])
    for row in survey:
        book.active.append(row)
    sheet = book.create_sheet("choices")
    sheet.append(["list_name", "name", "label::English (en)"])
    for row in choices:
        sheet.append(row)
    book.save(tmp_path / "form.xlsx")
    return tmp_path / "form.xlsx"


def test_an_xlsform_of_the_real_world(tmp_path: Path) -> None:
    """Groups, conditions, repeats, ranks, ranges with steps, the same name in two groups, many choices, old spellings."""
    choices = [["yn", "y", "yes"], ["yn", "n", "no"], ["yn", "y", "Yes!"], *[["drug", f"d{i}", ""] for i in range(20)]]
    q = read_questionnaire(
        form(
            tmp_path,
            [
                ["start", "start"],
                ["begin_group", "mother"],
                ["select_one yn", "alive", "Alive?"],
                ["integer", "age", "Age", "${alive} = 'y'", ". >= 10 and . <= 59"],
                ["end_group", None],
                ["begin group", "father", None, "${mother} != ''"],
                ["select one yn", "alive", "Alive?"],
                ["end group", None],
                ["begin_repeat", "child"],
                ["select_one yn", "school", "At school?"],
                ["end_repeat", None],
                ["select_multiple drug", "drugs", "Which?"],
                ["rank yn", "order", "Order"],
                ["range", "pain", "Pain", None, None, "start=0.0 end=1.0 step=0.1"],
                ["range", "weight", "Weight", None, None, "start=0 end=100 step=10"],
                ["integer", "years", "Years", None, "(.>=0 and .<=5) or (.>=90 and .<=99)"],
                ["integer", "size", "Size", None, "1 <= . and 8 > ."],
                ["acknowledge", "ok", "Read?"],
                ["geopoint", "where", "Where"],
                ["select_one_from_file towns.csv", "town", "Town"],
                ["decimal", "pay", "Pay", None, ". >= 0 and . <= 5"],
            ],
            choices,
        ),
        population=1000,
    )
    assert {n: x.answers for n, x in q.questions.items()} == {
        "alive": 2, "age": 50, "father/alive": 3, "school": 2, "drugs (1 of 2)": 2**16, "drugs (2 of 2)": 2**4, "order": 2,
        "pain": 11, "weight": 11, "years": 100, "size": 7,
    }  # fmt: skip
    assert q.skipped == ("where", "town", "pay")
    assert q.ignored == {"ok": "about taking part", "start": "about the interview"}
    assert q.notes == ("may be answered several times, counted once: school",)
    assert q.questions["age"].when == ("alive", (0,))


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    q = from_mapping({"population": 100, "questions": {"=cmd|' /C calc'!A0": {"values": 4}, "$x^2$<script>": {"values": 90}}})
    m = q.meter()
    assert any("<script>" in w for w in m.warnings)  # as text; each face escapes for itself
    from shoal.report import plots
    from shoal.report.charts import save

    for kind in ("html", "svg"):
        page = save(plots.waterfall(m), tmp_path / f"w.{kind}", text="<script>").read_text(encoding="utf-8")
        assert "<script>" not in page
        assert "$x^2$&lt;script&gt;" in page
        assert "http://www.w3.org" in page
        assert "https://" not in page
        assert page == save(plots.waterfall(m), tmp_path / f"w2.{kind}", text="<script>").read_text(encoding="utf-8")


def _true_share(joint: np.ndarray, people: int) -> float:
    p = joint.ravel() / joint.sum()
    return float((p * (1 - p) ** (people - 1)).sum())


def _random_joint(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Independent, mixed, nearly functional or spiky dependence between up to four questions."""
    kind = int(rng.integers(0, 4))
    joint = rng.gamma((0.05, 0.3, 1.0, 5.0)[kind], 1.0, shape) + 1e-12
    if kind == 3:
        diagonal = tuple(np.arange(40) % n for n in shape)
        joint[diagonal] += 20 * joint.sum() / joint.size
    return joint / joint.sum()


@pytest.mark.parametrize("seed", range(3))
def test_the_range_holds_for_every_dependence_and_shape(seed: int) -> None:
    """Joint tables that the meter does not know: shares, numbers of answers, kappas and correlations are all it is told."""
    rng = np.random.default_rng(100 + seed)
    told = {"shares": 0, "values": 0, "kappa": 0, "registry": 0, "correlation": 0}
    for _ in range(25):
        shape = tuple(int(x) for x in rng.integers(2, 13, int(rng.integers(1, 5))))
        joint = _random_joint(rng, shape)
        people = int(10 ** rng.uniform(0.5, 4))
        q = Questionnaire(population=10**6, respondents=people)
        for i in range(len(shape)):
            margin = joint.sum(axis=tuple(j for j in range(len(shape)) if j != i))
            kappa = Distribution.of(margin, normalize=True).kappa
            how = str(rng.choice(["shares", "values", "kappa", "registry"], p=[0.4, 0.2, 0.2, 0.2]))
            told[how] += 1
            if how == "shares":
                q.add(f"q{i}", shares=margin)
            elif how == "values":
                q.add(f"q{i}", values=shape[i])
            elif how == "kappa":
                q.add(f"q{i}", kappa=(kappa, shape[i]))
            else:  # as published, rounded
                near = PublishedSummary(min(np.log(shape[i]), round(kappa, 2)), shape[i], 10**6, kappa_error=0.005)
                q.add(f"q{i}", shares=shape_of(near)[0], source="registry", kappa_range=near.kappa_range)
        if len(shape) == 2 and rng.random() < 0.5:
            told["correlation"] += 1
            q.link("q0", "q1", correlation=float(rng.uniform(-0.9, 0.9)))
        e = q.meter().unique
        assert e.low - 1e-9 <= _true_share(joint, people) <= e.high + 1e-9
        assert e.low <= e.value <= e.high
    assert min(told.values()) > 0


def test_the_range_of_given_shares_is_reached() -> None:
    """Not only safe: two questions whose answers spread each other's evenly come near the upper end."""
    q = Questionnaire(population=10_000, respondents=50).add("a", shares=[0.5, 0.5]).add("b", values=100)
    e = q.meter().unique
    assert e.high == pytest.approx(_true_share(np.full((2, 100), 1 / 200), 50), rel=1e-9)
    assert e.low == pytest.approx(_true_share(np.array([0.5, 0.5]), 50))


def test_a_question_that_must_stay_does_not_spoil_the_proof() -> None:
    """Brute force over every combination of the same changes: what is called proven is the cheapest."""
    rng = np.random.default_rng(5)
    for _ in range(12):
        q = Questionnaire(population=5000, respondents=int(rng.integers(30, 300)), target=float(rng.uniform(0.01, 0.2)))
        for i in range(3):
            p = rng.dirichlet(np.full(int(rng.integers(3, 30)), 1.0))
            q.add(
                f"q{i}",
                shares=p,
                ordered=bool(rng.random() < 0.5),
                keep=bool(rng.random() < 0.5),
                weight=float(rng.uniform(0.3, 3)),
            )
        found = q.suggest()
        options = [[None, *suggest_room.changes_of(x)] for x in q.questions.values()]
        blocks = q.blocks()
        reach = [
            suggest_room.total_cost([c for c in combo if c])
            for combo in itertools.product(*options)
            if suggest_room._share(suggest_room._apply_all(blocks, [c for c in combo if c]), q.respondents) <= q.target
        ]
        assert found.reached == bool(reach)
        if found.reached and found.proven:
            assert found.cost == pytest.approx(min(reach), abs=1e-9)


def test_combinations_rarer_than_a_float_can_hold_are_counted():
    """A real dictionary of 586 questions: the chance of a combination of answers is below 1e-308."""
    q = Questionnaire(population=17_000_000, respondents=300, target=0.05)
    for i in range(120):
        q.add(f"q{i}", shares=[0.999, *[0.001 / 999] * 999], source="guess")
    meter = q.meter()
    assert meter.verdict == "not known"
    assert 1.0 <= meter.smallest_group.value <= 300


def test_open_answers_leave_no_number_of_respondents_certain():
    q = Questionnaire(population=17_000_000, respondents=300, target=0.05)
    q.add("sex", shares=[0.5, 0.5])
    expected, certain = q.enough()
    assert expected == certain
    q.flags = (Flag("born", "date", "", ""),)
    assert q.enough() == (expected, None)
    q.flags = (Flag("surname", "name", "", ""),)
    assert q.enough() == (expected, certain), "kept apart from the answers"

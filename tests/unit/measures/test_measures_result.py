"""The result: requirements in words, explanations, cards and report; nothing hostile comes through, no value leaks."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.errors import RequirementError, RoleError, UsageError
from shoal.model.display import one_in

PEOPLE = pa.table(
    {
        "id": ["p1", "p1", "p2", "p3", "p4", "p5"],
        "age": [30, 31, 30, 30, 41, None],
        "sex": ["f", "f", "f", "f", "m", "m"],
        "town": ["canary-town", "canary-town", "b", "b", "b", "b"],
        "ill": ["canary-ill", "flu", "flu", "hiv", "flu", "flu"],
        "w": [10.0, 10.0, 20.0, 20.0, 20.0, 20.0],
    }
)


def measured(**options: object) -> object:
    return shoal.measure(PEOPLE, qi=["age", "sex"], sensitive=["ill"], **options)


def test_json_keys_that_stay() -> None:
    found = measured(weight="w", by="town").to_json()
    for key in ("records", "people", "classes", "k", "unique", "class_sizes", "people_at", "risk", "diversity", "closeness"):
        assert key in found
    assert set(found["class_sizes"]) == {"min", "q1", "median", "mean", "q3", "max"}
    assert list(found["people_at"]) == ["1", "5", "10", "50", "100"]
    assert {"max", "mean"} <= set(found["risk"]["prosecutor"])
    assert "max" in found["risk"]["journalist"]
    assert isinstance(found["risk"]["marketer"], float)
    assert {"distinct", "entropy", "recursive"} <= set(found["diversity"]["ill"])
    assert {"t", "distance"} <= set(found["closeness"]["ill"])
    assert (found["records"], found["classes"], found["k"], found["unique"]) == (6, 4, 1, 3)


def test_no_data_value_in_any_output(tmp_path: Path) -> None:
    m = measured(weight="w", by="town")
    outputs = [json.dumps(m.to_json(), default=str), str(m.explain()), m._repr_html_(), m.report(tmp_path / "r.html").read_text()]
    for text in outputs:
        assert "canary" not in text


def test_people_are_counted_where_a_unit_is_named() -> None:
    m = measured(unit="id")
    assert (m.records, m.people, m.k) == (6, 5, 1)
    assert m.worst_subsets(1)[0].columns in {("age",), ("sex",), ("age", "sex")}
    by_age = next(s for s in m.subsets(1) if s.columns == ("sex",))
    assert (by_age.k, by_age.classes) == (2, 2)  # p1, p2, p3 are f; p4, p5 are m: people, not rows


def test_missing_rules_side_by_side() -> None:
    m = measured()
    assert [m.missing[r]["k"] for r in ("own", "wildcard", "drop")] == [1, 1, 1]
    assert [m.missing[r]["unique"] for r in ("own", "wildcard", "drop")] == [3, 1, 2]
    assert measured(missing="wildcard").unique == 1
    dropped = measured(missing="drop")
    assert (dropped.records, dropped.unique) == (5, 2)
    with pytest.raises(UsageError, match="rule for missing values"):
        measured(missing="ignore")


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("k>=1", True),
        ("k >= 2", False),
        ("unique==3", True),
        ("unique_share<=50%", True),
        ("l[ill]>=1", True),
        ("distinct>=2", False),
        ("t[ill]<=1, k>=1", True),
        ("t[ill]<=1, k>=2", False),
        ("delta<=5", False),
        ("risk.max<=1", True),
        ("risk≤0.5", False),
        ("marketer<0.6", False),
    ],
)
def test_requirements_in_words(text: str, met: bool) -> None:
    assert bool(measured().check(text)) is met


def test_requirements_fail_closed() -> None:
    m = measured()
    for wrong in ("k", "k=>5", "k>=five", "q>=1", "t[town]<=1", "k>=nan", "k>=1e999"):
        with pytest.raises(UsageError):
            m.check(wrong)
    with pytest.raises(RequirementError, match="not met: k>=5"):
        m.check("k>=5").require()


def test_population_table_gives_k_map_and_presence() -> None:
    m = measured(population=pa.concat_tables([PEOPLE, PEOPLE]))
    assert (m.presence.k_map, m.presence.delta_max, m.risk.journalist.max) == (2, 0.5, 0.5)
    assert m.risk.prosecutor.max == 1.0
    assert "k_map" in m.explain()
    assert bool(m.check("k_map>=2"))


def test_population_size_gives_estimates() -> None:
    m = measured(population="6k")
    assert m.population == 6000
    assert m.sample["method"].startswith("unique match is right")
    assert m.risk.journalist.max == 1.0  # the worst case stays beside it
    with pytest.raises(UsageError, match="smaller than the table"):
        measured(population=3)


def test_individual_risk_from_weights() -> None:
    m = measured(weight="w")
    assert 0 < m.individual.mean < m.risk.prosecutor.mean
    assert m.to_json()["individual"]["method"].startswith("Benedetti")


def test_roles_are_checked() -> None:
    with pytest.raises(RoleError, match="both quasi-identifier and sensitive"):
        shoal.measure(PEOPLE, qi=["age"], sensitive=["age"])
    with pytest.raises(RoleError, match="names people"):
        shoal.measure(PEOPLE, qi=["id", "age"], unit="id")
    with pytest.raises(UsageError, match="none is guessed"):
        shoal.measure(PEOPLE)
    with pytest.raises(UsageError, match="Did you mean 'age'"):
        shoal.measure(PEOPLE, qi=["agee"])
    with pytest.raises(UsageError, match="'town', which is not sensitive"):
        measured(hierarchies={"town": "x.csv"})


def test_roles_of_an_opened_table_are_used() -> None:
    t = shoal.open(PEOPLE, quasi=["sex"], sensitive=["ill"], unit="id")
    m = shoal.measure(t)
    assert (m.quasi, m.people, tuple(m.diversity)) == (("sex",), 5, ("ill",))


def test_hierarchy_file_for_t(tmp_path: Path) -> None:
    file = tmp_path / "ill.csv"
    file.write_text("canary-ill;a;*\nflu;a;*\nhiv;b;*\n", encoding="utf-8")
    m = measured(hierarchies={"ill": file})
    assert m.closeness["ill"].distance == "hierarchical"
    assert 0 < m.closeness["ill"].t <= 1


def test_hostile_names_are_inert(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    m = shoal.measure(pa.table({evil: [1, 2, 2], "s": ["x", "y", "y"]}), qi=[evil], sensitive=["s"])
    for html in (
        m._repr_html_(),
        m.report(tmp_path / "r.html").read_text(),
        shoal.inspect(pa.table({evil: [1, 1]}))._repr_html_(),
    ):
        assert "<script" not in html
        assert "&lt;script&gt;" in html


def test_report_is_whole_self_contained_and_repeatable(tmp_path: Path) -> None:
    m = measured(by="town", weight="w", population="6k")
    first = m.report(tmp_path / "a.html").read_bytes()
    assert first == m.report(tmp_path / "b.html").read_bytes()
    text = first.decode()
    assert "default-src 'none'" in text
    assert "src=" not in text.replace("default-src", "")
    assert "url(" not in text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "b.html"]
    with pytest.raises(OSError, match="nothing can be written in folder"):
        m.report(tmp_path / "none" / "a.html")


def test_explanations_say_formula_attacker_and_change() -> None:
    text = str(measured().explain("k"))
    for part in ("k = 1", "Formula:", "Assumes:", "Attacker:", "What would change it:"):
        assert part in text
    assert measured().explain("t").startswith("t = ")
    with pytest.raises(UsageError):
        measured().explain("nothing")


@pytest.mark.parametrize(
    ("chance", "words"),
    [
        (1.0, "certain"),
        (0.5, "1 in 2"),
        (0.37, "37 in 100"),
        (0.333, "about 33 in 100"),
        (0.1, "1 in 10"),
        (0.0001, "1 in 10,000"),
    ],
)
def test_chances_in_words(chance: float, words: str) -> None:
    assert one_in(chance) == words


def test_small_subpopulations_are_not_named() -> None:
    table = pa.table({"q": [1] * 30, "town": ["big"] * 25 + ["canary"] * 5})
    by = shoal.measure(table, qi=["q"], by="town").by
    assert [(g.name, g.members) for g in by.groups] == [("big", 25), (None, 5)]
    assert by.pearson == pytest.approx(1.0)


def test_numbers_per_record_follow_the_rows() -> None:
    m = measured()
    assert m.per_record(m.counts.sizes).tolist() == [3, 1, 3, 3, 1, 1]
    scores = m.per_record(m.suda().score)
    assert [bool(x) for x in scores] == [False, True, False, False, True, True]
    with pytest.raises(UsageError, match="all its rows"):
        measured(missing="drop").per_record([1])


def test_repr_holds_no_data_value() -> None:
    assert "canary" not in repr(measured(by="town"))
    assert repr(measured()).startswith("<Measurement of table: 3 of 6 records are one of a kind")


def test_a_report_that_cannot_be_put_in_place_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(OSError, match="could not be written"):
        measured().report(tmp_path / "folder.html")
    assert [p.name for p in tmp_path.iterdir()] == ["folder.html"]

"""One question, every door: the same number, interval, grade and verdict by design, decide, analyse, exposed, studio and HTTP."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.cli import main
from shoal.errors import UsageError
from shoal.registry import Registry
from shoal.registry.answer.decide import decide

ASKED = """
population: {place}
respondents: {people}
target: {target}
questions:
  age: {{registry: {age}}}
  sex: {{registry: sex}}
"""
CASES = [
    pytest.param("NL/Utrecht@2021", "age/10y", 100, 0.05, "within", "joint counts", id="rounded counts, wider bands"),
    pytest.param("NL/Utrecht@2021", "age/5y", 100, 0.05, "beyond", "exact", id="rounded counts as they are"),
    pytest.param("NL/Utrecht@2021", "age/years", 100, 0.2, "not known", "joint counts", id="single years from bands"),
    pytest.param("UK/Leeds@2019", "age/years", 500, 0.05, "beyond", "exact", id="exact counts"),
    pytest.param("KE@2019", "age/20y", 200, 0.05, "within", "joint counts", id="census"),
    pytest.param("DE@2020", "age/10y", 50, 0.08, "not known", "joint counts", id="estimate"),
    pytest.param("NL/Nowhere@2021", "age/10y", 50, 0.05, None, None, id="a wider population"),
]


def run(*arguments: str) -> Any:
    with contextlib.redirect_stdout(io.StringIO()) as printed, pytest.raises(SystemExit) as ended:
        main([*arguments, "--json"])
    assert not ended.value.code, printed.getvalue()
    return json.loads(printed.getvalue())


def numbers(share: Any) -> tuple[float, float, float, str]:
    return share["value"], share["low"], share["high"], share["grade"]


@pytest.mark.parametrize(("place", "age", "people", "target", "verdict", "evidence"), CASES)
def test_every_door_gives_the_same_answer(
    tmp_path: Path, place: str, age: str, people: int, target: float, verdict: str | None, evidence: str | None
) -> None:
    file = tmp_path / "questions.yml"
    file.write_text(ASKED.format(place=place, age=age, people=people, target=target), encoding="utf-8")
    asked = ["--attributes", f"{age},sex", "--population", place, "--group", str(people)]
    decided = run("registry", "decide", *asked, "--target", str(target))
    designed = run("design", str(file), *(["--population", "4800"] if verdict is None else []))
    assert numbers(designed) == numbers(decided["before"])
    assert (designed["verdict"], designed["evidence"]) == (decided["verdict"], decided["evidence"])
    if verdict is not None:
        assert (decided["verdict"], decided["evidence"]) == (verdict, evidence)
        assert designed["enough"]["certain"] == decided["enough"]
    analysed = run("registry", "analyse", *asked)["unique_share"]
    same = designed["high"] == analysed["high"]  # grade C within a target, where only an assumption puts it there
    assert numbers(analysed)[:2] == numbers(designed)[:2]
    assert same == (analysed["grade"] == designed["grade"])
    predicted = run("predict", "singletons", "--place", place, "--attributes", f"{age},sex", "--group-size", str(people))
    ends = [x / people for x in numbers(predicted)[:3]]
    assert ends == pytest.approx(numbers(analysed)[:3])
    assert predicted["grade"] == analysed["grade"]
    meter = shoal.design(file) if verdict is not None else None
    assert meter is None or (meter.unique.value, meter.unique.high, meter.verdict) == (
        designed["value"],
        designed["high"],
        verdict,
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"place": "Utrecht"}, "attributes is needed"),
        ({"attributes": ["sex"]}, "place is needed"),
        ({"place": "Utrecht", "attributes": ["sex"], "uniform": 5}, "uniform cannot be used with place"),
        ({"place": "NL/Utrecht@2021", "attributes": ["x/blood"]}, "nothing is known"),
    ],
)
def test_a_prediction_for_a_place_needs_both_and_nothing_else(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        shoal.predict("singletons", group_size=10, **options)


def test_the_studio_asks_the_same_engine() -> None:
    pytest.importorskip("starlette")
    from shoal.api.design import resolver
    from shoal.studio.registry.routes import _decided
    from shoal.studio.workspace import question_edits

    fields = {"place": "Utrecht", "age": "age/10y", "sex": "1", "postcode": "", "people": "100", "target": "5"}
    page = _decided(Registry(), fields)
    text = ASKED.format(place="NL/Utrecht@2021", age="age/10y", people=100, target=0.05)
    meter = question_edits.questionnaire_of(text, resolver("")).meter()
    found = decide(Registry(), ["age/10y", "sex"], "NL/Utrecht@2021", group_size=100, target=0.05)
    assert (meter.verdict, meter.unique.grade) == (page["verdict"], page["grade"]) == (found.verdict, found.before.grade)
    assert meter.unique.to_json() == found.before.to_json()


@pytest.mark.parametrize(("place", "age"), [("NL/Utrecht@2021", "age/10y"), ("UK/Leeds@2019", "age/years")])
def test_one_person_is_counted_alike(tmp_path: Path, place: str, age: str) -> None:
    file = tmp_path / "questions.yml"
    file.write_text(ASKED.format(place=place, age=age, people=100, target=0.05), encoding="utf-8")
    person = run("design", str(file), "--answers", "age=34,sex=female")["person"]
    counted = run("registry", "exposed", "--population", place, "--answers", f"{age}=34,sex=female")["counted"]
    assert person["crowd"]["value"] == pytest.approx(counted["crowd"][0])
    assert person["crowd"]["low"] == person["crowd"]["high"], "the answers were counted together"


def test_the_order_of_the_questions_does_not_matter(tmp_path: Path) -> None:
    text = ASKED.format(place="Utrecht", age="age", people=100, target=0.05)
    one, other = tmp_path / "one.yml", tmp_path / "other.yml"
    one.write_text(text, encoding="utf-8")
    *head, age, sex = text.rstrip().split("\n")
    other.write_text("\n".join([*head, sex, age]) + "\n", encoding="utf-8")
    first, second = shoal.design(one), shoal.design(other)
    assert first.unique.to_json() == second.unique.to_json()
    assert first.pairs[0][1] == pytest.approx(second.pairs[0][1])
    assert set(second.pairs[0][0]) == {"age", "sex"}


def test_a_question_beside_the_counts_keeps_their_proven_lower_end(tmp_path: Path) -> None:
    """More questions only make people more unique: what is proven of age and sex alone bounds the whole questionnaire."""
    text = ASKED.format(place="NL/Utrecht@2021", age="age/5y", people=100, target=0.05)
    alone, file = Registry().query(["age/5y", "sex"], "NL/Utrecht@2021").unique_share(100, 0.05), tmp_path / "questions.yml"
    file.write_text(text + "  smokes: {values: 2}\n", encoding="utf-8")
    found = shoal.design(file)
    assert (found.unique.low, found.verdict, found.unique.grade) == (alone.low, "beyond", "C")
    assert alone.high < found.unique.high < 1, "two answers more split every cell in two at most"

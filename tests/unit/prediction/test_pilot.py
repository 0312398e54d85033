"""A questionnaire judged from a pilot: near the truth of a population where independence is far off."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import shoal
from shoal.api.table_predictions import with_pilot
from shoal.cli import build
from shoal.errors import MissingColumnError, UsageError
from shoal.model.display import as_percent
from shoal.prediction.population.pilot import Pilot, _alone


def people(n: int, seed: int) -> dict[str, list]:
    """Three answers that mostly follow from each other."""
    rng = np.random.default_rng(seed)
    age = np.minimum(rng.gamma(4, 6, n).astype(int), 60)
    work = np.where(rng.random(n) < 0.95, age // 3, rng.integers(0, 21, n))
    home = np.where(rng.random(n) < 0.95, work // 2, rng.integers(0, 11, n))
    return {"age": age.tolist(), "work": [f"w{x}" for x in work], "home": home.tolist()}


def unique_share(table: dict[str, list]) -> float:
    rows = list(zip(*table.values(), strict=True))
    found = dict.fromkeys(rows, 0)
    for row in rows:
        found[row] += 1
    return sum(1 for row in rows if found[row] == 1) / len(rows)


@pytest.fixture(scope="module")
def truth() -> float:
    return float(np.mean([unique_share(people(1_500, seed)) for seed in range(20, 30)]))


def test_a_pilot_comes_near_the_truth_and_independence_does_not(truth: float) -> None:
    pilot = people(1_000, 1)
    found = shoal.design(pilot=pilot, columns=["age", "work", "home"], population=100_000, respondents=1_500)
    blind = shoal.Questionnaire(population=100_000, respondents=1_500)
    for name, answers in pilot.items():
        blind.add(name, counts=np.unique(answers, return_counts=True)[1])
    assert blind.meter().unique.value > 2.5 * truth
    assert found.unique.low <= truth <= found.unique.high
    assert abs(found.unique.value - truth) < 0.04
    assert found.unique.high - found.unique.low < 0.15
    assert found.pilot is not None and found.pilot["people"] == 1_000  # noqa: PT018
    assert found.waterfall[-1].unique == pytest.approx(truth, abs=0.08)  # the single steps rest on the pilot, too


def test_the_expected_share_is_that_of_gamma_draws() -> None:
    g = np.random.default_rng(1).gamma(2.5, 1 / 3.0, 400_000)
    x = 0.8 * g
    assert _alone(2.5, 3.0, np.array([0.8]))[0] == pytest.approx(float((x * np.exp(-x)).mean()), rel=5e-3)


def test_a_pilot_of_everybody_nearly_counts() -> None:
    """Forty equally common answers, given by a thousand each: the share is that of the distribution."""
    pilot = Pilot.of([np.arange(40), np.zeros(40, dtype=int)], np.full(40, 1_000), 10**6)
    exact = float(shoal.predict.singletons(40, group_size=60).mean) / 60
    assert pilot.unique(60).value == pytest.approx(exact, abs=0.01)
    assert pilot.unique(1).value == 1.0
    assert pilot.unique(0).value == 0.0


def test_the_deviation_is_that_of_samples_of_so_many_people() -> None:
    """Three hundred equally common answers: the variance of the number who are one of a kind, against simulated surveys."""
    pilot = Pilot.of([np.arange(300)], np.full(300, 20), 10**6)
    rng = np.random.default_rng(6)
    seen = [(rng.multinomial(250, np.full(300, 1 / 300)) == 1).sum() / 250 for _ in range(4_000)]
    assert pilot._deviation(250) == pytest.approx(float(np.std(seen)), rel=0.06)
    assert pilot._deviation(250) > 0.9 * np.sqrt(np.mean(seen) * (1 - np.mean(seen)) / 250)


def test_the_share_lies_half_way_between_the_model_and_the_pilot() -> None:
    """Everybody in pairs: a model of two independent columns expects more who are one of a kind than the pilot has."""
    one, two = np.divmod(np.random.default_rng(8).choice(900, 150, replace=False), 30)
    pilot = Pilot.of([one, two], np.full(150, 2), 10**5, model="independent")
    a, means = pilot.fit.shape, pilot.fit.mean
    model, shifted = pilot._of_model(a, means, 300), pilot._share(a, means, 300)
    logs = [np.log((x + 0.5) / (300.5 - x)) for x in (0.0, 300 * model)]
    assert np.log(shifted / (1 - shifted)) == pytest.approx(np.log(model / (1 - model)) + (logs[0] - logs[1]) / 2)
    assert 0 < shifted < model


def test_questions_of_a_file_are_columns_of_the_pilot(tmp_path: Path) -> None:
    pilot = people(200, 2)
    (tmp_path / "q.yml").write_text("population: 5000\nrespondents: 300\nquestions:\n  age: {values: 61}\n  home: {values: 11}\n")
    found = shoal.design(tmp_path / "q.yml", pilot=pilot)
    assert found.unique.method.startswith("pilot of 200 people")
    (tmp_path / "q.yml").write_text("population: 5000\nquestions:\n  age: {values: 10}\n")
    with pytest.raises(UsageError, match="question 'age' has 10 answers, but the pilot has"):
        shoal.design(tmp_path / "q.yml", pilot=pilot)
    (tmp_path / "q.yml").write_text("population: 5000\nquestions:\n  town: {values: 10}\n")
    with pytest.raises(MissingColumnError):
        shoal.design(tmp_path / "q.yml", pilot=pilot)
    with pytest.raises(UsageError, match="does not say how many people"):
        shoal.design(pilot=pilot, columns=["age"])
    with pytest.raises(UsageError, match="no questions are named"):
        shoal.design(population=10)


def test_the_command_tells_of_the_pilot_and_of_no_value(tmp_path: Path) -> None:
    pilot = people(400, 3)
    lines = ["age,work,home", *(",".join(map(str, row)) for row in zip(*pilot.values(), strict=True))]
    (tmp_path / "pilot.csv").write_text("\n".join(lines) + "\n")
    words = ["design", "--pilot", str(tmp_path / "pilot.csv"), "--quasi", "age,work", "--population", "9000"]
    words += ["--respondents", "500", "--letter"]
    said = CliRunner().invoke(build(), words)
    assert said.exit_code == 0, said.output
    assert "from a pilot of 400 people" in said.output.replace("\n", " ")
    found = json.loads(CliRunner().invoke(build(), [*words, "--json"]).stdout)
    assert found["pilot"]["people"] == 400
    assert "judged from a pilot of 400 people" in found["letter"]
    assert "w7" not in said.output
    assert "w7" not in json.dumps(found)


def test_changes_are_judged_by_the_pilot_and_not_by_the_joint_table() -> None:
    q = shoal.Questionnaire(population=50_000, respondents=1_500, target=0.05).add("age", values=61).add("work", values=21)
    asked = with_pilot(q.add("home", values=11), people(600, 3))
    share = asked.meter().unique
    assert share.value > 0.05
    found = asked.suggestions()
    assert 1 <= len(found) <= 3
    for one in found:
        assert (one.before, one.reached) == (share.value, True)
        assert one.after <= 0.05
        assert one.most is not None
        assert one.after <= one.most
        assert f"(at most {as_percent(one.most)})" in one.text
    dropped = [c.question for c in found[0].changes if c.groups is None]
    banded = {c.question: c.groups for c in found[0].changes if c.groups is not None}
    table = {
        name: [banded[name][codes[v]] for v in values] if name in banded else values
        for name, values in people(600, 3).items()
        if name not in dropped
        for codes in ({v: i for i, v in enumerate(sorted(set(values)))},)
    }
    again = shoal.design(pilot=table, columns=list(table), population=50_000, respondents=1_500)
    assert found[0].after == pytest.approx(again.unique.value, rel=1e-9)


def test_within_the_target_nothing_is_changed() -> None:
    q = shoal.Questionnaire(population=50_000, respondents=1_500, target=0.9).add("age", values=61).add("home", values=11)
    asked = with_pilot(q, {k: v for k, v in people(600, 3).items() if k != "work"})
    assert [one.changes for one in asked.suggestions()] == [()]
    assert asked.suggest().reached


def test_a_pilot_that_does_not_decide_says_how_large_one_would() -> None:
    pilot = people(120, 5)
    about = {"columns": list(pilot), "population": 50_000, "respondents": 1_500}
    share = shoal.design(pilot=pilot, **about).unique
    assert share.low < share.high
    inside = (share.low + 3 * share.high) / 4
    found = shoal.design(pilot=pilot, target=inside, **about)
    assert found.verdict == "not known"
    assert re.fullmatch(r"a pilot of (about|more than) [\d,]+ people.*\.", found.would_tell)
    assert found.would_tell in found.sentence
    assert shoal.design(pilot=pilot, target=share.high, **about).would_tell == "", "it decides"


def test_the_more_people_are_asked_the_more_of_the_doubt_about_the_population_is_added() -> None:
    """Nothing for as many as the pilot has, all of it for everybody, half of it in the middle between them."""
    pilot = Pilot.of([np.arange(300) % 20, np.arange(300) % 15], np.arange(300) % 3 + 1, 4_600, model="tree")
    whole = pilot._everybody
    assert pilot._beyond(600) == (0.0, 0.0)
    assert pilot._beyond(4_600) == pytest.approx(((whole.value - whole.low) / 4_600, (whole.high - whole.value) / 4_600))
    assert pilot._beyond(2_600) == pytest.approx(tuple(x / 2 for x in pilot._beyond(4_600)))
    assert min(pilot._beyond(2_600)) > 0


@pytest.mark.parametrize(
    ("population", "says"),
    [(1200, "What would tell: more respondents, or a target"), (10**7, "a pilot of more than 32,000 people")],
)
def test_no_pilot_larger_than_the_population_is_asked_for(population: int, says: str) -> None:
    """Which hundred people answer is chance: a pilot of everybody would not decide about a target at the expected share."""
    cells = [(str(i % 8), str(i // 8)) for i in range(40)]
    pilot = {"a": [a for a, _ in cells], "b": [b for _, b in cells], "people": [25] * 40}
    asked = {"columns": ["a", "b"], "counts": "people", "respondents": 100, "target": 0.08}
    m = shoal.design(pilot=pilot, population=population, **asked)
    assert m.verdict == "not known"
    assert says in m.sentence

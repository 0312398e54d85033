"""Populations that a fitted model gets wrong: the sample refutes it, and what is stated holds all the same."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli import build
from shoal.errors import UsageError
from shoal.model.estimate import Estimate
from shoal.prediction import population, population_risk
from shoal.prediction.population import fit_check
from shoal.prediction.population import pilot as pilot_module
from shoal.prediction.population import risk as risk_module
from shoal.prediction.population.calibration import Calibration, _gap, _widened, calibrate
from shoal.prediction.population.fit_check import refutation
from shoal.prediction.population.model_choice import choose
from shoal.prediction.population.models import Shares
from shoal.prediction.population.pilot import Pilot
from shoal.prediction.population.sample import Sample

_spec = importlib.util.spec_from_file_location(
    "coverage_board_populations", Path(__file__).parents[3] / "benchmarks" / "coverage_board" / "populations.py"
)
assert _spec is not None
board: Any = importlib.util.module_from_spec(_spec)
assert _spec.loader is not None
_spec.loader.exec_module(board)

CASES = {
    "singles and crowds": (board.singles_and_crowds, {}, True),
    "hidden groups": (board.hidden_groups, {}, False),
    "income survey": (board.income_survey, {"people": 6_000}, False),
    "all unique": (board.all_unique, {}, False),
}
FIRM = ("hidden groups", "income survey")
"""Of these samples the model states its own interval: the others do not tell whether people of rare combinations ever meet."""


def judged(name: str) -> tuple[Any, Any, np.ndarray, dict[str, float], bool]:
    make, options, refuted = CASES[name]
    everybody = board.Population(make(np.random.default_rng(1), **options))
    codes, f, here = everybody.sample(everybody.people // 10, np.random.default_rng(2))
    return codes, population_risk(codes, f, everybody.people), here, everybody.truths(f, here), refuted


@pytest.mark.parametrize("name", CASES)
def test_what_is_stated_holds_and_a_refuted_model_states_nothing(name: str) -> None:
    _, r, here, truths, refuted = judged(name)
    assert bool(r.refutation) is refuted
    stated = {"alone": r.sample_uniques_alone, "matches": r.right_matches, "uniques": r.population_uniques}
    for what, e in stated.items():
        assert e.low - 1e-9 <= truths[what] <= e.high + 1e-9, what
        assert e.grade == ("B" if name in FIRM else "C")
        assert e.details["without_a_model"][0] - 1e-9 <= e.low <= e.high <= e.details["without_a_model"][1] + 1e-9
    ones = r.sizes == 1
    assert ((r.crowd_low <= here) & (here <= r.crowd_high))[ones].mean() > 0.93
    pairs = int((r.sizes == 2).sum())
    if pairs >= risk_module.KNOWN:  # the crowds of the sample uniques add up to the number that needs no model
        odds = (r.population - r.people) / r.people
        assert (r.crowd - r.sizes)[ones].sum() == pytest.approx(2 * odds * pairs, rel=1e-6)
    assert r.to_json()["refutation"] == (r.refutation or None)


ADDRESSES = [(500, 0), (500, 1), (700, 1), (1_000, 2)]


def addresses(people: int, seed: int) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    """5,000 people fill two columns like addresses, one each; 5,000 share 150 combinations. Most samples refute no model."""
    rng = np.random.default_rng([seed, people, 2])
    everybody = board.Population(board.addresses(rng))
    return everybody, *everybody.sample(people, rng)


@pytest.mark.parametrize(("people", "seed"), ADDRESSES)
def test_one_person_per_combination_is_not_ruled_out_by_a_model_in_which_people_meet(people: int, seed: int) -> None:
    everybody, codes, f, here = addresses(people, seed)
    r = population_risk(codes, f, everybody.people)
    truths = everybody.truths(f, here)
    for what, e in (("alone", r.sample_uniques_alone), ("matches", r.right_matches), ("uniques", r.population_uniques)):
        assert e.low - 1e-9 <= truths[what] <= e.high + 1e-9, what
        assert e.grade == "C"


@pytest.mark.parametrize(("people", "seed"), ADDRESSES)
def test_a_pilot_in_which_people_never_meet_predicts_larger_surveys(people: int, seed: int) -> None:
    everybody, codes, f, _ = addresses(people, seed)
    pilot = Pilot.of(codes, f, everybody.people)
    assert not pilot.refutation
    assert pilot.grade == "B"
    for respondents in (2 * people, 4 * people, everybody.people):
        found, r = pilot.unique(respondents), respondents / everybody.people
        sizes = everybody.sizes.astype(float)
        true = float((sizes * (1 - r) ** (sizes - 1)).sum()) / everybody.people
        assert found.low <= true <= found.high
        more = fit_check.never_meet(pilot.sample, pilot.fit, respondents)
        assert found.grade == ("B" if more <= fit_check.SLIGHT else "C")
    assert pilot.unique(everybody.people).grade == "C"


def test_intervals_are_widened_by_what_people_who_never_meet_would_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to one person of twenty the model is used, and every upper end allows for it; above, the range needs no model."""
    codes, f, _ = board.Population(board.income_survey(np.random.default_rng(1))).sample(1_500, np.random.default_rng(2))
    pilot = Pilot.of(codes, f, 14_800, model="tree")
    monkeypatch.setattr(pilot_module, "refutation", lambda *_: "")
    monkeypatch.setattr(risk_module, "refutation", lambda *_: "")

    def stated(more: float) -> list[Estimate]:
        for module in (risk_module, pilot_module):
            monkeypatch.setattr(module, "never_meet", lambda *_: more)
        r = risk_module.assembled_risk(pilot.sample, pilot.fit)
        return [r.sample_uniques_alone, r.right_matches, r.population_uniques, pilot.unique(3_000)]

    plain, wider, unknown = stated(0.0), stated(fit_check.SLIGHT), stated(fit_check.SLIGHT + 1e-9)
    for e, w, c, people in zip(plain, wider, unknown, (1_500, 1_500, 14_800, 1), strict=True):
        free = c.high
        assert (e.grade, w.grade, c.grade) == ("B", "B", "C")
        assert w.high == pytest.approx(min(e.high + fit_check.SLIGHT * people, free))
        assert w.low == e.low >= c.low
        assert w.high > e.high


@pytest.mark.parametrize(("apart", "expected"), [(5.9, True), (6.0, False)])
def test_a_sample_tells_two_models_apart_from_a_difference_on(
    apart: float, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes, f, _ = board.Population(board.income_survey(np.random.default_rng(1))).sample(1_500, np.random.default_rng(2))
    s = Sample.of(codes, f, 14_800)
    distances = iter([apart + 1.0, 1.0])
    monkeypatch.setattr(fit_check, "_distance", lambda *_: next(distances))
    assert (fit_check.never_meet(s, choose(s, "tree"), s.population) > 0) is expected


def test_what_people_who_never_meet_would_change_is_counted_by_hand() -> None:
    """Ten combinations of 0.5, of 1, of 1.5 and of 2 people: all, all, a third and none of their people count as rare."""
    mean = np.repeat([0.5, 1.0, 1.5, 2.0], 10)
    at = np.append(mean, 1_000 - mean.sum()) / 1_000
    s = Sample.of([np.arange(2), np.zeros(2, dtype=int)], [60, 40], 1_000)
    fit = replace(choose(s, "tree"), every=Shares(at[:2], at, np.ones(at.size)), shape=3.0)
    for others in (100, 1_000):
        gone = [1 - (1 + others * m / 1_000 / 3) ** -4 for m in (0.5, 1.0, 1.5)]
        by_hand = sum(10 * m * part * g for m, part, g in zip((0.5, 1.0, 1.5), (1, 1, 1 / 3), gone, strict=True)) / 1_000
        assert fit_check.never_meet(s, fit, others) == pytest.approx(by_hand)


def test_a_model_that_is_right_is_refuted_rarely() -> None:
    refuted = 0
    for seed in range(12):
        rng = np.random.default_rng([7, seed])
        found, sizes = np.unique(np.stack([rng.integers(0, k, 700) for k in (12, 9, 4)]), axis=1, return_counts=True)
        s = Sample.of(list(found), sizes, 20_000)
        refuted += bool(refutation(s, choose(s, "independent")))
    assert refuted <= 1


def test_a_refutation_names_numbers_of_classes_only() -> None:
    codes, r, _, _, _ = judged("singles and crowds")
    assert "classes of two people in such a sample; 34 were observed" in r.refutation
    s = Sample.of(codes, r.sizes, r.population)
    assert refutation(s, choose(s, r.model)) == r.refutation


def test_pitman_at_the_boundary_is_not_a_second_opinion() -> None:
    sizes = np.random.default_rng(3).poisson(3.0, 400)
    found = population(sizes[sizes > 0], 40_000)
    assert found.model("pitman").uniques is None
    assert "not a second opinion" in found.model("pitman").failed
    assert found.model("ewens").ok
    assert found.uniques is not None
    assert found.uniques.method == "Dankar's rule (pitman)"


@pytest.fixture(scope="module")
def crowds_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = board.singles_and_crowds(np.random.default_rng(1))[np.random.default_rng(2).choice(10_000, 1_000, replace=False)]
    path = tmp_path_factory.mktemp("refuted") / "sample.csv"
    path.write_text("\n".join(["a,b,c,d", *(",".join(f"v{x}" for x in row) for row in rows)]) + "\n")
    return path


def test_the_command_states_one_number_and_says_which_to_believe(crowds_file: Path) -> None:
    words = ["predict", "population", "--table", str(crowds_file), "--quasi", "a,b,c,d", "--population", "10000"]
    said = CliRunner().invoke(build(), words)
    assert said.exit_code == 0, said.output
    text = " ".join(said.output.split())
    assert text.startswith("Of 1,000 records, 514 are unique in the sample. A match of one of them with the population of 10,000")
    assert "(33 % to 59 %, 95 %, grade B). This needs no model: believe it first." in text
    assert "The sample refutes the average of the fitted models" in text
    assert "not known" in text
    assert text.count("grade B") == 1
    assert "pitman" not in text
    found = json.loads(CliRunner().invoke(build(), [*words, "--json"]).stdout)
    assert {found["fitted"][e]["grade"] for e in ("right_matches", "sample_uniques_alone", "population_uniques")} == {"C"}
    assert (found["uniques"]["low"], found["uniques"]["high"]) == tuple(
        found["fitted"]["population_uniques"][end] for end in ("low", "high")
    )
    assert found["low"] == pytest.approx(0.33, abs=0.01)
    assert "v1" not in said.output


def test_calibration_widens_to_what_subsamples_need_and_lowers_the_grade() -> None:
    e = Estimate(100.0, 90.0, 115.0, grade="B")
    assert _gap(e, 145.0) == pytest.approx(3.0)
    assert _gap(e, 95.0) == pytest.approx(0.5)
    assert _gap(Estimate(5.0, 5.0, 5.0, grade="B"), 5.0) == 0.0
    wide = _widened(e, 3.0, 130.0, held=False)
    assert (wide.low, wide.high, wide.grade) == (70.0, 130.0, "C")
    assert "widened by 3.00" in wide.notes[0]
    assert _widened(e, 1.0, 500.0, held=True) == e
    assert _widened(replace(e, grade="C"), 9.0, 500.0, held=False).high == 115.0
    assert Calibration({0.1: (5, 6), 0.5: (4, 6)}, {}).coverage == 0.75


def test_calibration_samples_the_sample() -> None:
    rng = np.random.default_rng(4)
    found, sizes = np.unique(np.stack([rng.integers(0, 15, 600), rng.integers(0, 8, 600)]), axis=1, return_counts=True)
    r = population_risk(list(found), sizes, 6_000, model="tree")
    seen = calibrate(list(found), r, rates=(0.05, 0.3), draws=2)
    assert seen.calibration is not None
    assert list(seen.calibration.held) == [0.3]  # thirty people are too few for a fit
    assert seen.calibration.held[0.3][1] == 6
    assert seen.to_json() == calibrate(list(found), r, rates=(0.3,), draws=2).to_json()
    assert seen.right_matches.high - seen.right_matches.low >= r.right_matches.high - r.right_matches.low
    assert calibrate(list(found), r, rates=(0.05,)) is r
    with pytest.raises(UsageError, match="calibrate says something about a table only"):
        shoal.predict("population", frequencies={1: 3}, calibrate=True, population=3_000)

"""How people were sampled: intervals are for people sampled one by one; anything else is refused or has grade C, in words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.api.table_predictions import doubts_of, from_pilot
from shoal.errors import UsageError
from shoal.prediction.population.without_model import ONE_BY_ONE

COLUMNS = ["age", "area", "job"]
POPULATION = 6_000


@pytest.fixture(scope="module")
def people() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    area = np.minimum(rng.geometric(0.12, 2_000), 20)
    job = (area // 2 + rng.geometric(0.5, 2_000)) % 9
    return {"age": 20 + 2 * job + np.minimum(rng.geometric(0.15, 2_000), 25), "area": area, "job": job}


def asked(table: object):
    return shoal.predict("population", table=table, columns=COLUMNS, population=POPULATION)


@pytest.fixture(scope="module")
def plain(people):
    """The answer without any design; a fit takes a second."""
    return asked(people)


def grades(found) -> set[str]:
    risk = found.fitted
    return {e.grade for e in (found.match, risk.right_matches, risk.sample_uniques_alone, risk.population_uniques)}


def test_every_answer_names_the_sampling_it_takes_for_granted(people, plain) -> None:
    assert grades(plain) == {"B"}
    assert plain.notes[0] == ONE_BY_ONE
    assert ONE_BY_ONE in plain.to_json()["notes"]
    of_sizes = shoal.predict("population", frequencies={1: 120, 2: 25, 3: 10}, population=5_000)
    assert ONE_BY_ONE in of_sizes.to_json()["notes"]
    assert ONE_BY_ONE in shoal.measure(people, quasi=COLUMNS, population=POPULATION).notes
    everybody = shoal.predict("population", table=people, columns=COLUMNS, population=2_000)
    assert ONE_BY_ONE not in everybody.notes


DESIGNS = ["fnlwgt", "survey_weight", "finalweight", "PSU", "stratum", "strata_id", "cluster", "hh_id", "household_id"]


@pytest.mark.parametrize("name", DESIGNS)
def test_columns_that_describe_a_design_are_known_by_name(name: str) -> None:
    said = doubts_of(shoal.open({"age": [30, 31], name: [1, 2]}))
    assert f"'{name}'" in said
    assert ONE_BY_ONE in said


@pytest.mark.parametrize("name", ["weight", "household_size", "cluster_of_symptoms", "strategy"])
def test_other_columns_are_not(name: str) -> None:
    assert doubts_of(shoal.open({"age": [30, 31], name: [1, 2]})) == ""


@pytest.mark.parametrize("name", ["stratum", "household_id"])
def test_a_column_that_describes_a_design_lowers_the_grade(people, plain, name: str) -> None:
    found = asked({**people, name: np.arange(2_000) % 700})
    assert grades(found) == {"C"}
    assert name in found.notes[0]
    assert ONE_BY_ONE in found.notes[0]
    assert (found.match.low, found.match.high) == (plain.match.low, plain.match.high)


def test_another_column_does_not(people) -> None:
    assert grades(asked({**people, "household_size": np.arange(2_000) % 700})) == {"B"}


def test_a_sample_that_is_the_population_needs_no_design(people) -> None:
    found = shoal.predict("population", table={**people, "psu": people["area"]}, columns=COLUMNS, population=2_000)
    assert grades(found) == {"A"}


def test_sampling_weights_of_a_table_are_used_and_refused_for_a_pilot(people, plain) -> None:
    table = shoal.open({**people, "w": np.arange(2_000) % 9 + 1.0, "stratum": people["area"]}, weight="w")
    found = asked(table)
    assert "one over 'w'" in found.notes[0]
    assert grades(found) == {"B"}
    assert found.match.value != plain.match.value
    with pytest.raises(UsageError, match="sampling weights"):
        from_pilot(table, COLUMNS, population=POPULATION, respondents=500)
    measured = shoal.measure(table, quasi=COLUMNS, population=POPULATION)
    assert measured.sample is None
    assert any("sampling weights" in note for note in measured.notes)


def test_weights_do_not_answer_for_clusters(people) -> None:
    table = {**people, "w": np.arange(2_000) % 9 + 1.0, "psu": np.arange(2_000) // 4}
    found = shoal.predict("population", table=table, columns=COLUMNS, population=POPULATION, model="tree", weight="w")
    assert grades(found) == {"C"}
    assert "'psu'" in found.notes[0]


def test_a_pilot_with_a_design_has_grade_c(people) -> None:
    kept = {"population": POPULATION, "respondents": 2_000}
    plain = from_pilot(people, COLUMNS, **kept).pilot.unique(2_000)
    found = from_pilot({**people, "psu": people["area"]}, COLUMNS, **kept).pilot.unique(2_000)
    assert (plain.grade, found.grade) == ("B", "C")
    assert any("'psu'" in note and ONE_BY_ONE in note for note in found.notes)


def test_named_households_lower_the_grade_in_the_command(people, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from shoal.cli import main

    table = tmp_path / "people.csv"
    rows = zip(*people.values(), np.arange(2_000) // 2, np.arange(2_000), strict=True)
    table.write_text("age,area,job,home,one\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))

    def told(column: str) -> dict:
        words = ["predict", "population", "--table", str(table), "--quasi", "age,area,job", "--population", str(POPULATION)]
        with pytest.raises(SystemExit) as stop:
            main([*words, "--household", column, "--json"])
        assert not stop.value.code
        return json.loads(capsys.readouterr().out)

    assert told("home")["grade"] == "C"
    assert told("one")["grade"] == "B"

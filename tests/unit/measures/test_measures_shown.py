"""Every number that a command shows can be explained, and says the same there as in the table above."""

from __future__ import annotations

import json

import pytest

import shoal
from shoal.cli import main
from shoal.measures.metrics import derived_numbers, explain_term

TABLE = {"age": [30, 30, 30, 41, 41, 52], "w": [10.0] * 6}


def run(capsys, *words) -> str:
    with pytest.raises(SystemExit) as ended:
        main([str(w) for w in words])
    assert ended.value.code in (0, None)
    return capsys.readouterr().out


@pytest.mark.parametrize("entry", derived_numbers(), ids=lambda s: s.name)
def test_by_any_spelling_everywhere(entry) -> None:
    for word in (entry.name, *entry.also):
        assert entry.sentence in explain_term(word)
        assert entry.sentence in shoal.measure(TABLE, quasi=["age"]).explain(word)


def test_all_explanations_hold_the_numbers_of_this_table() -> None:
    said = str(shoal.measure(TABLE, quasi=["age"], population=60).explain())
    assert "people_at = 1 in groups of at most 1, 6 in groups of at most 5" in said
    assert "match = " in said
    assert "journalist_estimate = " in said
    weighed = shoal.measure(TABLE, quasi=["age"], weight="w")
    assert f"{weighed.individual.expected:.4g} re-identifications expected" in str(weighed.explain())
    assert "individual = " not in str(shoal.measure(TABLE, quasi=["age"]).explain()), "nothing is said of what is not there"


@pytest.fixture
def file(tmp_path):
    out = tmp_path / "t.csv"
    out.write_text("age,sex\n" + "30,f\n30,f\n41,m\n" * 3)
    return out


def test_explain_takes_a_name_or_none_before_or_after_the_table(file, capsys, monkeypatch) -> None:
    one = run(capsys, "measure", file, "--quasi", "age", "--explain", "people_at")
    assert "people_at = " in one
    assert "prosecutor_max = " not in one
    for words in (("measure", file, "--quasi", "age", "--explain"), ("measure", "--explain", file, "--quasi", "age")):
        everything = run(capsys, *words)
        assert "people_at = " in everything
        assert "prosecutor_max = " in everything
    monkeypatch.chdir(file.parent)
    file.rename(file.parent / "k")
    assert "people_at = " in run(capsys, "measure", "--explain", "k", "--quasi", "age", "--read", "format=csv"), "a file called k"


def test_the_journalist_of_a_stated_population_is_estimated(file, capsys) -> None:
    found = json.loads(run(capsys, "measure", file, "--quasi", "age", "--population", "8.2M", "--json"))["risk"]["journalist"]
    assert found["max"] == 1 / 3, "the bound against the table itself stays"
    assert found["estimate"]["low"] == pytest.approx(1 / (8_200_000 - 9 + 3))
    assert found["estimate"]["high"] == pytest.approx(1 / 3)
    assert found["estimate"]["value"] < 1e-4
    assert "estimate" not in json.loads(run(capsys, "measure", file, "--quasi", "age", "--json"))["risk"]["journalist"]
    whole = json.loads(run(capsys, "measure", file, "--quasi", "age", "--population", "9", "--json"))["risk"]["journalist"]
    assert whole["estimate"]["value"] == pytest.approx(1 / 3), "the table is the population"

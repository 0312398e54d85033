"""Records from the results of a study: the same as from the table, one preview, one ledger."""

from __future__ import annotations

import csv
import json
import random

import pytest

import shoal
from shoal.cli import main
from shoal.errors import DataError, UnreadableError, UsageError
from shoal.registry.keep.store import Store
from shoal.registry.publish.bulk import DIFFERENCED, SMALL, TWICE, UNCODED, propose_study
from shoal.registry.publish.proposals import Ledger, propose
from shoal.registry.records.population import Population

CODES = {"age": "age/years", "sex": "sex", "town": "place/municipality"}
ZZ = Population.parse("ZZ@2026")
OPTIONS = {"holder": "Z office", "date": "2026-01-15"}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """9,000 people in four towns, one of them with fewer than a thousand."""
    draw, file = random.Random(7), tmp_path_factory.mktemp("study") / "people.csv"
    with file.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["age", "sex", "town", "income"])
        for i in range(9000):
            town = "Aa" if i < 5000 else "Bb" if i < 7500 else "Cc" if i < 8500 else "Dd"
            rows.writerow([draw.randint(18, 80), draw.choice("FM"), town, draw.randint(1, 9)])
    return file


@pytest.fixture(scope="module")
def studied(people):
    found = shoal.study(people, sets=[["age", "sex"], ["age", "sex", "town"], ["age"], ["income"]], by="town")
    return json.loads(json.dumps(found.to_json()))


def test_a_record_of_a_study_is_that_of_its_table(people, studied):
    bulk = propose_study(studied, CODES, ZZ, ledger=Ledger(), **OPTIONS)
    made = {(p.record.codes, str(p.record.population)): p.record for p in bulk.proposals}
    with people.open() as source:
        rows = list(csv.DictReader(source))
    for (codes, population), record in made.items():
        town = population.partition("@")[0].removeprefix("ZZ").removeprefix("/")
        columns = [c for c, code in CODES.items() if code in codes]
        cells: dict[tuple[str, ...], int] = {}
        for row in rows:
            if not town or row["town"] == town:
                cell = tuple(row[c] for c in columns)
                cells[cell] = cells.get(cell, 0) + 1
        alone = propose(list(cells.values()), codes, Population.parse(population), **OPTIONS).record
        assert record.content() == alone.content()
    assert {p for _, p in made} == {"ZZ@2026", "ZZ/Aa@2026", "ZZ/Bb@2026"}
    assert (("age/years", "place/municipality", "sex"), "ZZ@2026") in made
    assert bulk.left_out == {SMALL: 2, DIFFERENCED: 2, TWICE: 1, UNCODED: 2}


def test_a_town_of_exactly_a_thousand_people_may_leave_unless_it_leaves_too_few(studied):
    """Cc has 1,000 people: alone it is large enough, beside Aa and Bb it would leave the 500 of Dd."""
    only = {**studied, "sets": [{**studied["sets"][0], "groups": [g for g in studied["sets"][0]["groups"] if g["name"] == "Cc"]}]}
    bulk = propose_study(only, CODES, Population.parse("YY@2026"), ledger=Ledger(), **OPTIONS)
    assert "YY/Cc@2026" in {str(p.record.population) for p in bulk.proposals}


def test_what_is_no_study_or_does_not_add_up_is_refused(studied):
    for broken in ({}, {"sets": 3}, {"sets": [{"columns": ["age"]}]}):
        with pytest.raises(UnreadableError, match="not the result of a study"):
            propose_study(broken, CODES, ZZ, ledger=Ledger(), **OPTIONS)
    one = studied["sets"][0]
    for histogram in ({"1": 1}, {"0": 5}, {"x": 1}, 7, {"9000": 1, "1": 0}):
        with pytest.raises(UnreadableError, match=r"add up|cannot be read"):
            propose_study({"sets": [{**one, "histogram": histogram}]}, CODES, ZZ, ledger=Ledger(), **OPTIONS)
    with pytest.raises(UsageError, match="no set"):
        propose_study({"sets": []}, CODES, ZZ, ledger=Ledger(), **OPTIONS)
    with pytest.raises(DataError, match="has no code"):
        propose_study(studied, {}, ZZ, ledger=Ledger(), **OPTIONS)
    with pytest.raises(DataError, match="at most 6"):
        propose_study(studied, {**CODES, "age": "sex", "sex": "age/years"}, ZZ, ledger=Ledger(), **OPTIONS)


def test_from_the_command_line_once_and_not_again(people, studied, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("SHOAL_SIGNING_KEY", "SHOAL_SIGNING_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "study.json").write_text(json.dumps(studied))
    quasi = ",".join(f"{c}={code}" for c, code in CODES.items())
    publish = ["registry", "publish", "study.json", "--study", "--quasi", quasi, "--population", "ZZ@2026", "--json"]

    def run(*more, code=0):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([*publish, *more])
        assert stop.value.code == code
        return capsys.readouterr().out

    looked = json.loads(run("--dry-run"))
    sent = json.loads(run("--holder", "Z office", "--registry", "z.db"))
    assert (looked["records"], sent["new"], sent["submitted"]) == (7, 7, True)
    assert sorted(r["population"] for r in looked["leaves"]) == sorted(r["population"] for r in sent["leaves"])
    again = json.loads(run("--holder", "Z office", "--registry", "z.db"))
    assert (again["new"], again["submitted"]) == (0, False)
    store = Store("sqlite:///z.db")
    assert store.head()[0] == 7
    store.close()
    run("--by", "town", "--dry-run", code=2)


def test_a_study_publishes_in_its_own_run(people, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("SHOAL_SIGNING_KEY", "SHOAL_SIGNING_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "sets.txt").write_text("age,sex\nage\n")
    codes = ["--codes", "age=age/years,sex=sex", "--population", "ZZ@2026"]
    line = ["study", str(people), "--sets", "sets.txt"]

    def run(*more, code=0):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([*line, *more])
        assert stop.value.code == code
        return capsys.readouterr().out

    looked = json.loads(run("--publish", "z.db", *codes, "--dry-run", "--json"))["published"]
    assert (looked["records"], looked["submitted"]) == (2, False)
    assert not (tmp_path / "z.db").exists()
    told = run("--publish", "z.db", *codes, "--holder", "Z office")
    assert "Group sizes" in told
    assert "Signed: 2 new. Submitted." in told
    store = Store("sqlite:///z.db")
    assert store.head()[0] == 2
    store.close()
    again = json.loads(run("--publish", "z.db", *codes, "--holder", "Z office", "--json"))
    assert (again["published"]["new"], len(again["sets"])) == (0, 2)
    run("--publish", "z.db", code=2)
    run("--publish", "z.db", *codes, code=2)  # nobody is named as the holder
    run(*codes, code=2)

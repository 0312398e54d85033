"""A hierarchy that Shoal writes holds no value of a few people, unless its list is said to be public knowledge."""

from __future__ import annotations

import json

import pytest

import shoal
from shoal.cli import main
from shoal.errors import UsageError

RARE = "rareslotmaker"


def run(capfd, *words):
    with pytest.raises(SystemExit) as end:
        main([str(w) for w in words])
    said = capfd.readouterr()
    return int(end.value.code or 0), said.out + said.err


@pytest.fixture
def jobs(tmp_path):
    lines = ["job,ill"]
    for i in range(60):
        lines.append(f"{['nurse', 'baker', 'clerk', 'cook'][i % 4]},{'flu' if i % 3 else 'cold'}")
    lines += [f"{RARE},flu", *["fourtimes,cold"] * 4, *["fivetimes,cold"] * 5]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_the_walk_of_the_issue_publishes_no_value_of_a_single_person(jobs, capfd):
    code, said = run(capfd, "hierarchy", jobs / "t.csv", "--column", "job", "--out", jobs / "job.csv")
    assert code == 0, said
    assert "2 values with fewer than 5 records are not written" in said
    text = (jobs / "job.csv").read_text()
    assert RARE not in text
    assert "fourtimes" not in text, "one below the limit"
    assert "fivetimes" in text, "exactly at the limit"
    roles = {"quasi": {"job": {"hierarchy": "job.csv", "min_level": 1}}, "sensitive": ["ill"]}
    (jobs / "p.yml").write_text(json.dumps({"roles": roles, "require": {"k": 5}, "allow": {"suppress": 0.2}}))
    code, said = run(capfd, "anonymize", jobs / "t.csv", "--policy", jobs / "p.yml", "--out", jobs / "out")
    assert code == 0, said
    for file in (jobs / "out").iterdir():
        assert RARE not in file.read_text(), file.name
    assert run(capfd, "verify", jobs / "out")[0] == 0


def test_public_knowledge_is_written_whole_and_reads_back(jobs, capfd):
    code, said = run(capfd, "hierarchy", jobs / "t.csv", "--column", "job", "--out", jobs / "job.csv", "--public")
    assert code == 0
    assert "2 values" in said
    assert RARE not in said
    text = (jobs / "job.csv").read_text()
    assert RARE in text
    assert "*;*" not in text.splitlines()
    code, said = run(capfd, "hierarchy", jobs / "t.csv", "--column", "job", "--hierarchy", jobs / "job.csv", "--json")
    assert code == 0
    assert json.loads(said)["rare_values"] == 2


def test_a_file_of_rare_values_alone_is_not_written(tmp_path):
    found = shoal.hierarchy({"n": list(range(30))}, column="n", rule={"intervals": [10]})
    with pytest.raises(UsageError, match="fewer than 5"):
        found.write(tmp_path / "n.csv")
    assert not (tmp_path / "n.csv").exists()
    assert found.write(tmp_path / "n.csv", public=True).read_text().count("\n") == 30

"""People who asked not to be in it: releases and transformed tables without them; counted, certified, not named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import shoal
from shoal.cli import main
from shoal.disk.atomic import write_text
from shoal.errors import EmptyTableError, UsageError
from shoal.model.certificate.certificate import Certificate
from shoal.model.certificate.parts import Objections
from shoal.release.certificate.consistency import check_counts

WORDS: dict[str, Any] = {"quasi": ["age"], "sensitive": ["ill"], "unit": "who", "k": 3}


def visits() -> dict[str, list[Any]]:
    who = [f"person-{i % 40:02d}" for i in range(100)]
    return {"who": who, "age": [i % 40 % 4 for i in range(100)], "ill": [["flu", "cold", "none"][i % 3] for i in range(100)]}


def test_a_release_without_them_counts_them_and_names_nobody(tmp_path: Path) -> None:
    listed = ["person-01", "person-39", "person-77"]
    made = shoal.anonymize(visits(), exclude=listed, **WORDS)
    made.write(tmp_path / "release")
    told = made.certificate.input.objections
    assert told is not None
    assert (told.column, told.listed, told.found, told.records, told.unnamed) == ("who", 3, 2, 5, 0)
    assert made.certificate.input.records == 95
    assert made.certificate.after_people is not None
    assert made.certificate.after_people.people == 38
    assert "2 people who asked not to be in it were left out first, with 5 records. 1 id" in made.certificate.verdict
    for file in (tmp_path / "release").iterdir():
        assert "person-" not in file.read_text(encoding="utf-8")
    assert made.private_file is not None
    assert "person-" not in made.private_file.read_text(encoding="utf-8")
    assert made.to_json()["excluded"]["found"] == 2
    assert shoal.verify(tmp_path / "release").ok


def test_verify_confirms_the_list_and_refuses_another(tmp_path: Path) -> None:
    listed = ["person-01", "person-39"]
    made = shoal.anonymize(visits(), exclude=listed, **WORDS)
    place = made.write(tmp_path / "release")
    assert shoal.verify(place, exclude=[" person-39", "person-01", "person-01"]).ok, "order and repetition do not count"
    for other in (["person-01"], ["person-01", "person-39", "person-02"], ["person-0", "1person-39"]):
        found = shoal.verify(place, exclude=other)
        assert [c.name for c in found.failed] == ["objections"]
    again = shoal.anonymize(visits(), exclude=listed, **WORDS).write(tmp_path / "again")
    assert not shoal.verify(place, exclude=listed, private=tmp_path / "again.private.json").ok, "the salt of another key"
    (tmp_path / "again.private.json").unlink()
    with pytest.raises(UsageError, match="private file"):
        shoal.verify(again, exclude=listed)


def test_a_list_is_refused_where_none_was_used(tmp_path: Path) -> None:
    place = shoal.anonymize(visits(), **WORDS).write(tmp_path / "release")
    write_text(tmp_path / "some.json", "{}")
    assert not shoal.verify(place, exclude=["person-01"], private=tmp_path / "some.json").ok


def test_a_published_person_column_is_looked_through(tmp_path: Path) -> None:
    """A publisher who signs that somebody was left out, and left the row in, is found out."""
    from shoal.release.certificate.verify import TableClaim

    words = {**WORDS, "unit": {"column": "who", "publish": "keep"}}
    rows = {**visits(), "age": [0] * 100}
    rows = {n: v[:80] for n, v in rows.items()}
    made = shoal.anonymize(rows, exclude=["person-01"], **words)
    place = made.write(tmp_path / "release")
    assert shoal.verify(place, exclude=["person-01"]).ok
    with pytest.raises(Exception, match="2 published records are of people"):
        TableClaim(place).opt_outs(["person-02"], tmp_path / "release.private.json")


@pytest.mark.parametrize(
    "wrong",
    [
        {"found": 4},
        {"found": -1},
        {"records": 1},
        {"records": 0},
        {"found": 0},
        {"unnamed": -1},
        {"commitment": "x"},
        {"listed": 0},
    ],
)
def test_numbers_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    made = shoal.anonymize(visits(), exclude=["person-01", "person-39", "person-77"], **WORDS).certificate
    told = made.input.objections
    assert told is not None
    check_counts(made)
    check_counts(_with(made, replace(told, found=3)))  # the most that can be
    with pytest.raises(Exception, match="asked not to be in it"):
        check_counts(_with(made, replace(told, **wrong)))


def _with(made: Certificate, told: Objections) -> Certificate:
    return replace(made, input=replace(made.input, objections=told))


def test_everybody_on_the_list_leaves_no_table(tmp_path: Path) -> None:
    with pytest.raises(EmptyTableError):
        shoal.anonymize(visits(), exclude=[f"person-{i:02d}" for i in range(40)], **WORDS)


def _run(words: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, listed = tmp_path / "visits.csv", tmp_path / "no.txt"
    shoal.transform(visits(), {"steps": []}, table)
    listed.write_text("person-01\nperson-39\nperson-77\n", encoding="utf-8")
    words = ["--quasi", "age", "--sensitive", "ill", "--unit", "who", "--k", "3", "--exclude", str(listed)]
    assert _run(["anonymize", str(table), *words, "--out", str(tmp_path / "r"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["excluded"] | {"commitment": ""} == {
        "column": "who",
        "listed": 3,
        "found": 2,
        "records": 5,
        "unnamed": 0,
        "commitment": "",
    }
    assert _run(["verify", str(tmp_path / "r"), "--exclude", str(listed)]) == 0
    listed.write_text("person-01\nperson-38\nperson-77\n", encoding="utf-8")
    assert _run(["verify", str(tmp_path / "r"), "--exclude", str(listed)]) == 1
    capsys.readouterr()
    (tmp_path / "plan.yml").write_text("steps: []\n", encoding="utf-8")
    out = ["--plan", str(tmp_path / "plan.yml"), "--out", str(tmp_path / "t.csv")]
    assert _run(["transform", str(table), *out, "--exclude", str(listed), "--json"]) == 2, "which column is not said"
    capsys.readouterr()
    assert _run(["transform", str(table), *out, "--exclude", str(listed), "--exclude-by", "who", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["records_in"] == found["records_out"] == 95
    assert found["excluded"] == {
        "column": "who",
        "listed": 3,
        "people": 2,
        "records": 5,
        "not_in_table": 1,
        "records_without_id": 0,
    }
    kept = [w for w in visits()["who"] if w not in ("person-01", "person-38")]
    with shoal.open(tmp_path / "t.csv") as written:
        assert sorted(w for b in written.scan(["who"]) for w in b.column("who").to_pylist()) == sorted(kept)


def test_a_table_without_people_is_changed_as_one_that_never_had_them(tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = {"who": [1, 2, 3, 4] * 50, "pay": [float(i) for i in range(200)]}
    fewer = {n: [v for v, w in zip(rows[n], rows["who"], strict=True) if w != 2] for n in rows}
    plan = {"steps": [{"column": "pay", "noise": {"scale": 3}}], "seed": 1234567890123456789}
    shoal.transform(rows, plan, tmp_path / "a.parquet", exclude=[2], exclude_by="who")
    shoal.transform(fewer, plan, tmp_path / "b.parquet")
    assert pq.read_table(tmp_path / "a.parquet").equals(pq.read_table(tmp_path / "b.parquet"))

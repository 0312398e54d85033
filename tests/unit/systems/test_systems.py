"""Tables of other systems: every row arrives with its person, nothing that names one does, and the draft makes a release."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import shoal
from shoal.cli import main
from shoal.errors import DataError, OutputError, UnreadableError
from shoal.systems import fhir, from_fhir, from_omop

RACE = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-race"


def patient(i: int) -> dict[str, Any]:
    return {
        "resourceType": "Patient",
        "id": f"p{i}",
        "name": [{"family": f"canary{i}", "given": ["canary"]}],
        "telecom": [{"value": "canary"}],
        "identifier": [{"value": f"canary{i}"}],
        "text": {"div": "canary"},
        "contact": [{"name": {"family": "canary"}}],
        "birthDate": f"19{60 + i % 4}-05-01",
        "gender": ("female", "male")[i % 2],
        "address": [{"line": ["canary street"], "postalCode": "02139", "city": "Cambridge"}],
        "extension": [{"url": RACE, "extension": [{"url": "text", "valueString": "White"}]}],
    }


def encounter(i: int, reference: str) -> dict[str, Any]:
    period = {"start": f"2024-0{1 + i % 3}-03T10:00:00+01:00", "end": "2024-05-01"}
    return {"resourceType": "Encounter", "subject": {"reference": reference}, "class": {"code": "AMB"}, "period": period}


def write(folder: Path, name: str, resources: list[dict[str, Any]]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps(r) + "\n" for r in resources), encoding="utf-8")


@pytest.fixture
def export(tmp_path: Path) -> Path:
    folder = tmp_path / "export"
    write(folder, "Patient.ndjson", [patient(i) for i in range(60)])
    write(folder, "Encounter.ndjson", [encounter(i, f"Patient/p{i % 60}") for i in range(120)])
    coded = {"coding": [{"code": "E11", "system": "icd-10"}]}
    conditions = [
        {
            "resourceType": "Condition",
            "subject": {"reference": f"https://x/fhir/Patient/p{i}"},
            "code": coded,
            "note": [{"text": "canary"}],
        }
        for i in range(30)
    ]
    with gzip.open(folder / "Condition.ndjson.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(c) + "\n\n" for c in conditions)
    write(folder, "Device.ndjson", [{"resourceType": "Device", "serialNumber": "canary"}])
    return folder


def test_rows_arrive_and_names_do_not(export: Path, tmp_path: Path) -> None:
    found = from_fhir(export, tmp_path / "out")
    assert (dict(found.tables), dict(found.left)) == ({"person": 60, "encounters": 120, "conditions": 30}, {"other resources": 1})
    assert all(b"canary" not in file.read_bytes() for file in (tmp_path / "out").iterdir())
    rows = {name: pq.read_table(tmp_path / "out" / f"{name}.parquet").to_pylist() for name in found.tables}
    first = rows["person"][0]
    assert (first["id"], first["birth_date"], first["gender"], first["race"]) == ("p0", "1960-05-01", "female", "White")
    assert first["state"] is None
    assert [r["patient"] for r in rows["encounters"]] == [f"p{i % 60}" for i in range(120)]
    assert {r["start"] for r in rows["encounters"]} == {"2024-01-03", "2024-02-03", "2024-03-03"}
    assert {(r["patient"], r["code"]) for r in rows["conditions"]} == {(f"p{i}", "E11") for i in range(30)}


def test_rows_are_written_in_pieces(export: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = from_fhir(export, tmp_path / "whole")
    monkeypatch.setattr(fhir, "ROWS", 40)
    assert from_fhir(export, tmp_path / "pieces") == whole
    for name in whole.tables:
        assert pq.read_table(tmp_path / "pieces" / f"{name}.parquet").equals(
            pq.read_table(tmp_path / "whole" / f"{name}.parquet")
        )


def test_the_draft_makes_a_verified_release(export: Path, tmp_path: Path) -> None:
    from_fhir(export, tmp_path / "out")
    made = shoal.anonymize_tables(tmp_path / "out" / "policy.yml")
    made.write(tmp_path / "release")
    assert made.certificate.k >= 5
    assert shoal.verify(tmp_path / "release").ok


@pytest.mark.parametrize(
    ("line", "said"),
    [("{", "line 2: not JSON"), ("[1]", "line 2: not a resource"), ('{"a": "' + "c" * 90 + '"}', "line 2: longer")],
)
def test_a_broken_line_is_named_by_number_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, said: str) -> None:
    monkeypatch.setattr(fhir, "LONGEST", 80)
    (tmp_path / "Patient.ndjson").write_text('{"resourceType": "Patient", "id": "canary"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=said) as error:
        from_fhir(tmp_path, tmp_path / "out")
    assert "canary" not in str(error.value)
    assert "ccc" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_line_may_be_as_long_as_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = '{"resourceType": "Patient", "id": "a"}\n'
    (tmp_path / "Patient.ndjson").write_text(line, encoding="utf-8")
    monkeypatch.setattr(fhir, "LONGEST", len(line))
    assert dict(from_fhir(tmp_path, tmp_path / "out").tables) == {"person": 1}
    monkeypatch.setattr(fhir, "LONGEST", len(line) - 1)
    with pytest.raises(DataError, match="longer"):
        from_fhir(tmp_path, tmp_path / "out2")


def test_what_is_no_export_is_refused(export: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableError):
        from_fhir(tmp_path / "empty", tmp_path / "out")
    (export / "Patient.ndjson").unlink()
    with pytest.raises(DataError, match="no Patient"):
        from_fhir(export, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(OutputError):
        from_fhir(export, tmp_path / "full")


def test_omop_tables_get_a_policy_that_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    person = "person_id,year_of_birth,gender_concept_id,person_source_value\n"
    person += "".join(f"{i},{1960 + i % 3},{8507 + i % 2},canary{i}\n" for i in range(60))
    visits = "visit_occurrence_id,person_id,visit_start_date,visit_concept_id,provider_id\n"
    visits += "".join(f"{i},{i % 60},2024-0{1 + i % 2}-01,9202,{i}\n" for i in range(120))
    (tmp_path / "person.csv").write_text(person, encoding="utf-8")
    with pytest.raises(UnreadableError, match="tables about it"):
        from_omop(tmp_path, tmp_path / "policy.yml")
    (tmp_path / "visit_occurrence.csv").write_text(visits, encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main(["import", "omop", str(tmp_path), "--out", str(tmp_path / "policy.yml"), "--k", "4", "--json"])
    assert not stop.value.code
    assert json.loads(capsys.readouterr().out) == {"tables": {"person": 60, "visit_occurrence": 120}, "left": {}}
    assert "k: 4," in (tmp_path / "policy.yml").read_text(encoding="utf-8")
    made = shoal.anonymize_tables(tmp_path / "policy.yml")
    made.write(tmp_path / "release")
    assert made.certificate.k >= 4
    assert all(b"canary" not in file.read_bytes() for file in (tmp_path / "release").iterdir())
    with pytest.raises(OutputError):
        from_omop(tmp_path, tmp_path / "policy.yml")
    (tmp_path / "visit_occurrence.csv").write_text("a\n1\n", encoding="utf-8")
    with pytest.raises(UnreadableError, match="person_id"):
        from_omop(tmp_path, tmp_path / "other.yml")


def test_the_command_says_what_it_did_and_what_comes_next(
    export: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["import", "fhir", str(export), "--out", str(tmp_path / "out")])
    said = capsys.readouterr().out
    assert not stop.value.code
    assert "encounters" in said
    assert "Not imported: other resources (1)." in said
    assert "Next: read" in said
    with pytest.raises(SystemExit) as stop:
        main(["import", "access", str(export), "--out", str(tmp_path / "out2")])
    assert stop.value.code == 2

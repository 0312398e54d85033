"""Whole tables: leading zeros, foreign keys across files, plan step; nothing but pseudonyms leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from protector_support import House
from shoal.errors import AccessError, MissingColumnError, PolicyError, UsageError
from shoal.model.plan import Plan
from shoal.protector.pseudonyms import plan_step as step
from shoal.protector.pseudonyms.tables import pseudonymize_table, translate_table
from shoal.steps import Drop

TEXT = pa_csv.ConvertOptions(
    column_types={"patient": pa.string(), "note": pa.string(), "cost": pa.string()}, strings_can_be_null=True
)


@pytest.fixture
def ready(house: House) -> House:
    house.owner.create_domain("study")
    return house


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_keeps_what_is_not_an_identity(ready: House, tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", "patient,note,cost\n000000000012,=1+1,-5\n12,plain,007\n,empty,1\n000000000012,é,2\n")
    done = pseudonymize_table(ready.operator, source, tmp_path / "out.csv", domain="study", columns=["patient"])
    table = pa_csv.read_csv(tmp_path / "out.csv", convert_options=TEXT)
    first, other, missing, again = table["patient"].to_pylist()
    assert first == again != other
    assert missing is None
    assert table["cost"].to_pylist() == ["-5", "007", "1", "2"]
    assert table["note"].to_pylist() == ["'=1+1", "plain", "empty", "é"]
    assert (done.rows, done.missing) == (4, 1)
    assert ready.reveal("study", [first, other]) == {first: "000000000012", other: "12"}
    beside = json.loads((tmp_path / "out.csv.pseudonyms.json").read_text())
    assert beside["key_id"] == next(d.key_id for d in ready.owner.domains())
    assert "000000000012" not in (tmp_path / "out.csv").read_text()
    raw = pseudonymize_table(ready.operator, source, tmp_path / "raw.csv", domain="study", columns=["patient"], raw=True)
    assert raw.rows == 4
    assert "=1+1" in pa_csv.read_csv(tmp_path / "raw.csv", convert_options=TEXT)["note"].to_pylist()


def test_foreign_keys_lead_to_their_rows(ready: House, tmp_path: Path) -> None:
    people = pa.table({"id": [f"{i:05d}" for i in range(500)], "name": [f"n{i}" for i in range(500)], "age": list(range(500))})
    visits = pa.table({"visit": list(range(2000)), "who": [f"{i % 500:05d}" for i in range(2000)], "by": ["00007"] * 2000})
    pq.write_table(people, tmp_path / "people.parquet")
    pa_csv.write_csv(visits, tmp_path / "visits.csv")
    operator = ready.operator
    pseudonymize_table(
        operator, tmp_path / "people.parquet", tmp_path / "p.parquet", domain="study", columns=["id"], drop=["name"]
    )
    pseudonymize_table(operator, tmp_path / "visits.csv", tmp_path / "v.parquet", domain="study", columns=["who", "by"])
    out, seen = pq.read_table(tmp_path / "p.parquet"), pq.read_table(tmp_path / "v.parquet")
    assert out.column_names == ["id", "age"]
    assert set(seen["who"].to_pylist()) == set(out["id"].to_pylist())
    joined = seen.join(out, "who", "id")
    before = visits.join(people.drop_columns("name"), "who", "id")
    assert sorted(zip(joined["visit"].to_pylist(), joined["age"].to_pylist(), strict=True)) == sorted(
        zip(before["visit"].to_pylist(), before["age"].to_pylist(), strict=True)
    )
    assert set(seen["by"].to_pylist()) == {out["id"][7].as_py()}


def test_many_batches(ready: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.protector.pseudonyms import tables

    monkeypatch.setattr(tables, "BATCH_ROWS", 1000)
    source = tmp_path / "in.parquet"
    pq.write_table(pa.table({"id": [f"{i % 777:04d}" for i in range(5000)]}), source, row_group_size=700)
    shown: list[float] = []
    done = pseudonymize_table(
        ready.operator,
        source,
        tmp_path / "out.parquet",
        domain="study",
        columns=["id"],
        progress=lambda done, what: shown.append(done),
    )
    made = pq.read_table(tmp_path / "out.parquet")["id"].to_pylist()
    assert done.rows == 5000
    assert made == ready.operator.pseudonymize("study", [f"{i % 777:04d}" for i in range(5000)])
    assert shown == sorted(shown)
    assert shown[-1] == 1.0


def test_nothing_is_left_after_a_failure(ready: House, tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", "patient,note\n000000000012,x\n")
    with pytest.raises(MissingColumnError, match="Did you mean 'patient'"):
        pseudonymize_table(ready.operator, source, tmp_path / "out.csv", domain="study", columns=["patiend"])
    with pytest.raises(UsageError, match="at least one"):
        pseudonymize_table(ready.operator, source, tmp_path / "out.csv", domain="study", columns=[])
    with pytest.raises(UsageError, match="is not in"):
        pseudonymize_table(ready.operator, source, tmp_path / "out.csv", domain="none", columns=["patient"])
    assert not list(tmp_path.glob("out*"))
    assert not list(tmp_path.glob(".shoal*"))


def test_plan_step(ready: House) -> None:
    domain = ready.owner.domains()[0]
    plan = Plan((step.Pseudonymize("patient", domain="study", key_id=domain.key_id), Drop("name")))
    assert Plan.from_json(plan.to_json()) == plan
    assert ready.owner.vault.root.expose().hex() not in plan.to_json()
    table = pa.table({"patient": ["000000000012", None, "000000000012"], "x": [1, 2, 3]})
    with step.using(ready.operator):
        made = plan.steps[0].start(0)(table, 0)  # type: ignore[attr-defined]
    assert made["patient"].to_pylist() == ready.operator.pseudonymize("study", ["000000000012", None, "000000000012"])
    assert made["x"].to_pylist() == [1, 2, 3]


def test_plan_step_refuses(ready: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_VAULT", raising=False)
    with pytest.raises(UsageError, match="needs a vault"):
        step.Pseudonymize("patient", domain="study").start(0)
    with pytest.raises(PolicyError, match="names no domain"):
        step.Pseudonymize("patient")
    with step.using(ready.operator), pytest.raises(PolicyError, match="was made for key"):
        step.Pseudonymize("patient", domain="study", key_id="x.1.y").start(0)
    with step.using(ready.operator), pytest.raises(UsageError, match="is not in"):
        step.Pseudonymize("patient", domain="other").start(0)


def test_plan_step_in_a_recode(ready: House, tmp_path: Path) -> None:
    """A release can use it: the engine carries the step out."""
    from shoal.engines.open import open as open_table

    source = write(
        tmp_path / "in.csv",
        "patient,name,age\n000000000012,Annemarie Bos,30\n000000000013,Bob,40\n000000000012,Annemarie Bos,31\n",
    )
    plan = Plan((step.Pseudonymize("patient", domain="study"), Drop("name")))
    with open_table(source) as table, step.using(ready.operator):
        table.recode(plan, tmp_path / "out.csv")
    out = pa_csv.read_csv(tmp_path / "out.csv")
    assert set(out["patient"].to_pylist()) == set(ready.operator.pseudonymize("study", ["000000000012", "000000000013"]))
    assert "Annemarie" not in (tmp_path / "out.csv").read_text()


def test_people_who_objected_get_no_pseudonym(ready: House, tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", "patient,cost\n000000000012,1\n12,2\n,3\n000000000012,4\n13,5\n")
    listed = write(tmp_path / "no.txt", "000000000012\n99\n")
    done = pseudonymize_table(ready.operator, source, tmp_path / "out.csv", domain="study", columns=["patient"], exclude=listed)
    table = pa_csv.read_csv(tmp_path / "out.csv", convert_options=TEXT)
    assert table["cost"].to_pylist() == ["2", "3", "5"]
    assert done.excluded is not None
    assert (done.excluded.listed, done.excluded.found, done.excluded.records, done.excluded.unnamed) == (2, 1, 2, 1)
    assert ready.operator.find("study", "000000000012") is None
    beside = (tmp_path / "out.csv.pseudonyms.json").read_text(encoding="utf-8")
    assert '"not_in_table": 1' in beside
    assert "000000000012" not in beside


def test_semicolons_stay_and_names_left_in_the_output_are_told(house: House, tmp_path: Path) -> None:
    house.owner.create_domain("d")
    rows = "".join(f"{i:04d};Ann Person{i};{1950 + i}-03-04;{i}\n" for i in range(40))
    (tmp_path / "in.csv").write_text("patient;name;born;cost\n" + rows)
    done = pseudonymize_table(house.operator, tmp_path / "in.csv", tmp_path / "out.csv", domain="d", columns=["patient"])
    assert done.left["direct"] == ["name"]
    assert "born" in done.left["quasi"]
    assert (tmp_path / "out.csv").read_text().splitlines()[0].count(";") == 3
    told = json.loads((tmp_path / "out.csv.pseudonyms.json").read_text())
    assert told["left"]["direct"] == ["name"]
    clean = pseudonymize_table(
        house.operator, tmp_path / "in.csv", tmp_path / "two.csv", domain="d", columns=["patient"], drop=["name", "born"]
    )
    assert clean.left == {"direct": [], "quasi": []}


def test_a_table_is_translated_as_a_whole(house: House, tmp_path: Path) -> None:
    house.owner.create_domain("d")
    house.owner.create_domain("e")
    house.connect("d", "e")
    (tmp_path / "in.csv").write_text("patient,cost\n000000000012,1\n000000000013,2\n000000000012,3\n")
    pseudonymize_table(house.operator, tmp_path / "in.csv", tmp_path / "out.csv", domain="d", columns=["patient"])
    text = (tmp_path / "out.csv").read_text() + '"P-00000000000000000000000000",4\n'
    (tmp_path / "out.csv").write_text(text)
    told = {"source": "d", "target": "e", "purpose": "p"}
    assert translate_table(house.operator, tmp_path / "out.csv", tmp_path / "e.csv", columns=["patient"], **told).rows == 4
    direct = house.operator.pseudonymize("e", ["000000000012", "000000000013"])
    lines = [line.split(",") for line in (tmp_path / "e.csv").read_text().split()[1:]]
    assert [p.strip('"') for p, _ in lines] == [direct[0], direct[1], direct[0], ""]
    with pytest.raises(AccessError, match="not allowed"):
        translate_table(
            house.operator, tmp_path / "e.csv", tmp_path / "x.csv", columns=["patient"], source="e", target="d", purpose="p"
        )
    assert not (tmp_path / "x.csv").exists()

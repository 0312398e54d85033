"""Several tables released together, as a user meets it: keys, orphans, objections, offers, forgeries, the commands."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import shoal
from people_oracle import Linked
from release_forging import another, edited, leaves
from shoal.cli import main
from shoal.errors import DataError, InfeasibleError, PolicyError, RoleError, TamperError, UsageError
from shoal.kernels.signatures import signer
from shoal.model.certificate import form
from shoal.model.certificate.halves import flat_form
from shoal.release.certificate.signing import signed
from shoal.release.claim import try_check
from shoal.release.linked import search as crowd
from shoal.release.linked.certificate import LinkedCertificate, LinkedColumn, read_linked, verdict
from shoal.release.linked.verify import LinkedClaim, _treated

N = 120


def tables() -> dict[str, dict[str, list[Any]]]:
    """A little hospital: ages in two groups, at most two visits, a drug for every third person."""
    person = {"id": [f"Patient-{i:03d}" for i in range(N)], "name": [f"Name of number {i}" for i in range(N)]}
    person["age"] = [20 + i % 2 for i in range(N)]  # type: ignore[assignment]
    who = [i for i in range(N) for _ in range(1 + i % 3 % 2)]
    visits = {"pid": [f"Patient-{i:03d}" for i in who], "ward": ["AB"[i % 2] for i in who]}
    visits["dx"] = [["flu", "cold", "ulcer", "burn"][(i + j) % 4] for j, i in enumerate(who)]
    drugs = {"patient": [f"Patient-{i:03d}" for i in range(0, N, 3)], "drug": ["d"] * (N // 3)}
    return {"person": person, "visits": visits, "drugs": drugs}


def asked(data: dict[str, Any] | None = None, **change: Any) -> dict[str, Any]:
    data = data or tables()
    return {
        "tables": {
            "person": {"table": data["person"], "roles": {"direct": ["name"], "quasi": ["age"]}},
            "visits": {"table": data["visits"], "roles": {"quasi": ["ward"], "sensitive": ["dx"]}},
            "drugs": {"table": data["drugs"], "roles": {"quasi": ["drug"]}},
        },
        "links": {"visits.pid": "person.id", "drugs.patient": "person.id"},
        "require": {"k": 5},
        **change,
    }


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as content:
        return list(csv.DictReader(content))


def test_the_same_person_has_the_same_fresh_pseudonym_everywhere(tmp_path: Path) -> None:
    made = shoal.anonymize_tables(asked())
    place = made.write(tmp_path / "out")
    person, visits, drugs = (rows(place / f"{n}.csv") for n in ("person", "visits", "drugs"))
    keys = {r["id"] for r in person}
    assert len(keys) == len(person) == N
    assert {r["pid"] for r in visits} == keys
    assert {r["patient"] for r in drugs} < keys
    assert len(visits) == len(tables()["visits"]["pid"])
    assert "name" not in person[0]
    everything = "".join(f.read_text(encoding="utf-8") for f in place.iterdir())
    assert "Patient-" not in everything
    assert "Name of number" not in everything
    again = shoal.anonymize_tables(asked()).write(tmp_path / "again")
    assert keys.isdisjoint(r["id"] for r in rows(again / "person.csv")), "fresh in every release"
    assert sorted(p.name for p in place.iterdir()) == ["certificate.json", "drugs.csv", "person.csv", "report.html", "visits.csv"]


def test_keys_of_another_type_are_the_same_people(tmp_path: Path) -> None:
    data = tables()
    data["person"]["id"] = list(range(N))
    data["visits"]["pid"] = [str(int(p.rpartition("-")[2])) for p in data["visits"]["pid"]]
    data["drugs"]["patient"] = [int(p.rpartition("-")[2]) for p in data["drugs"]["patient"]]
    place = shoal.anonymize_tables(asked(data), format="parquet").write(tmp_path / "out")
    assert shoal.verify(place).ok


def test_orphans_and_rows_without_a_key_are_told_and_left_out_on_demand(tmp_path: Path) -> None:
    data = tables()
    for column, more in (("pid", ["Q1", "Q1", "Q2", None]), ("ward", ["A"] * 4), ("dx", ["flu"] * 4)):
        data["visits"][column] += more
    with pytest.raises(DataError, match="3 rows of table 'visits' belong to 2 people who are not in 'person' and 1 rows"):
        shoal.anonymize_tables(asked(data))
    made = shoal.anonymize_tables(asked(data, allow={"orphans": "drop"}))
    made.write(tmp_path / "out")
    assert made.certificate is not None
    entry = made.certificate.tables[1]
    assert (entry.orphans, entry.unnamed, entry.records_in - entry.records) == (3, 1, 4)
    assert "4 rows belonged to nobody" in made.certificate.verdict
    data["person"]["id"][0] = None
    with pytest.raises(DataError, match="'person' have no 'id'"):
        shoal.anonymize_tables(asked(data))


def test_the_person_table_has_one_row_each() -> None:
    data = tables()
    data["person"]["id"][1] = "Patient-000"
    with pytest.raises(DataError, match="1 of 119 people have several rows in the person table 'person'"):
        shoal.anonymize_tables(asked(data))


def test_people_who_objected_are_in_no_table(tmp_path: Path) -> None:
    listed = ["Patient-003", "Patient-004", "X"]
    made = shoal.anonymize_tables(asked(), exclude=listed)
    place = made.write(tmp_path / "out")
    assert made.certificate is not None
    told = made.certificate.objections
    assert told is not None
    mine = [n for t, c in (("person", "id"), ("visits", "pid"), ("drugs", "patient")) for n in tables()[t][c] if n in listed]
    assert (told.listed, told.found, told.records) == (3, 2, len(mine))
    assert len(rows(place / "person.csv")) == N - 2
    assert shoal.verify(place, exclude=listed).ok
    assert not shoal.verify(place, exclude=listed[:2]).ok


def test_somebody_with_very_many_rows_is_left_out_or_told(tmp_path: Path) -> None:
    data = tables()
    data["visits"]["pid"] += ["Patient-007"] * 300
    data["visits"]["ward"] += ["A"] * 300
    data["visits"]["dx"] += ["flu"] * 300
    with pytest.raises(InfeasibleError, match="visits up to 302") as told:
        shoal.anonymize_tables(asked(data))
    assert told.value.hint is not None
    assert "suppress: 0.009" in told.value.hint, "one of 120 people"
    assert "known: 2" in told.value.hint, "only one person has three rows of a ward"
    made = shoal.anonymize_tables(asked(data, allow={"suppress": 0.009}))
    made.write(tmp_path / "out")
    assert made.certificate is not None
    assert made.certificate.left_out == 1
    shoal.anonymize_tables(asked(data, require={"k": 5, "known": 2}))


def test_offers_can_be_had() -> None:
    data = tables()
    data["person"]["age"] = [20] * (N - 6) + [50] * 6  # two of the six have a drug
    want = asked(data, require={"k": 50, "known": 1})
    want["tables"]["person"]["roles"]["quasi"] = {"age": {"max_level": 0}}
    with pytest.raises(InfeasibleError) as told:
        shoal.anonymize_tables(want)
    assert told.value.hint is not None
    assert "k: 2}" in told.value.hint
    shoal.anonymize_tables({**want, "require": {"k": 2, "known": 1}})
    with pytest.raises(InfeasibleError):
        shoal.anonymize_tables({**want, "require": {"k": 3, "known": 1}})


def test_a_plan_that_loses_too_much_is_not_carried_out() -> None:
    with pytest.raises(InfeasibleError, match="would lose 1"):
        shoal.anonymize_tables(asked(require={"k": 61, "known": 1}, allow={"suppress": 1}))
    made = shoal.anonymize_tables(asked(require={"k": 61, "known": 1}, allow={"suppress": 1, "loss": 1}))
    assert made.loss == 1.0
    assert made.levels["visits"] == {"ward": 1}


def test_too_many_choices_are_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd, "MOST_SETS", 100)
    with pytest.raises(UsageError, match="very many rows"):
        shoal.anonymize_tables(asked(require={"k": 5, "known": 1}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"links": {"visits.pid": "person.id"}}, "'drugs' is not linked"),
        ({"links": {"visits.pid": "person.id", "drugs.patient": "visits.pid"}}, "several keys"),
        ({"links": {"visits.pid": "person.id", "drugs.patient": "person"}}, "does not name a table"),
        ({"require": {"k": 1}}, "at least 2"),
        ({"require": {"k": 5, "known": 5}}, "at most 4"),
        ({"require": {"k": 5, "diversity": {}}}, "not known in a policy"),
        ({"roles": {}}, "not known in a policy"),
    ],
)
def test_policies_that_make_no_sense(change: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        shoal.anonymize_tables(asked(**change))


def test_every_column_needs_a_role_and_the_key_has_none() -> None:
    want = asked()
    want["tables"]["visits"]["roles"] = {"quasi": ["ward"]}
    with pytest.raises(RoleError, match="table 'visits': 1 of 3 columns"):
        shoal.anonymize_tables(want)
    want["tables"]["visits"]["roles"] = {"quasi": ["ward", "pid"], "sensitive": ["dx"]}
    with pytest.raises(PolicyError, match="has a role too"):
        shoal.anonymize_tables(want)
    with pytest.raises(UsageError, match="several tables"):
        shoal.anonymize(tables()["person"], asked())


def forged(place: Path, change: Callable[[LinkedCertificate], LinkedCertificate]) -> Path:
    """The certificate changed and signed anew with a key of the forger's."""
    found = read_linked(place / "certificate.json")
    assert found is not None
    made = change(found)
    (place / "certificate.json").write_bytes(signed(made, signer(None)).to_bytes())
    return place


@pytest.mark.parametrize(
    "lie",
    [
        lambda c: replace(c, k=c.k + 1),
        lambda c: replace(c, k=c.k + 1, after=replace(c.after, k=c.k + 1)),
        lambda c: replace(c, asked=c.k + 1),
        lambda c: replace(c, known=1),
        lambda c: replace(c, left_out=c.left_out + 1, people_in=c.people_in + 1),
        lambda c: replace(c, people_in=c.people_in + 1),
        lambda c: replace(c, attacks=c.attacks[1:]),
        lambda c: replace(c, limits=()),
        lambda c: replace(c, verdict="All is well."),
        lambda c: replace(c, title="Another"),
        lambda c: replace(c, tables=(replace(c.tables[0], quasi=()), *c.tables[1:])),
        lambda c: replace(c, tables=(c.tables[0], replace(c.tables[1], sensitive=()), *c.tables[2:])),
        lambda c: replace(c, tables=(replace(c.tables[0], records_in=3), *c.tables[1:])),
        lambda c: replace(c, tables=c.tables[:2]),
        lambda c: replace(c, files=c.files[1:]),
    ],
)
def test_a_lie_that_is_signed_anew_is_found(tmp_path: Path, lie: Callable[[LinkedCertificate], LinkedCertificate]) -> None:
    place = shoal.anonymize_tables(asked()).write(tmp_path / "out")
    told = [lie, lambda c: replace(lie(c), verdict=verdict(lie(c)))][lie(_read(place)).verdict == _read(place).verdict]
    assert not shoal.verify(forged(place, told)).ok


def _read(place: Path) -> LinkedCertificate:
    found = read_linked(place / "certificate.json")
    assert found is not None
    return found


def test_a_changed_cell_an_added_and_a_missing_file_are_found(tmp_path: Path) -> None:
    place = shoal.anonymize_tables(asked()).write(tmp_path / "out")
    assert shoal.verify(place, key=_read(place).key.fingerprint).ok  # type: ignore[union-attr]
    assert not shoal.verify(place, key="0000-0000-0000-0000").ok
    file = place / "visits.csv"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"A"', '"B"', 1), encoding="utf-8")
    assert {c.name for c in shoal.verify(place).failed} == {"files", "re-count"}
    file.write_text(text, encoding="utf-8")
    assert shoal.verify(place).ok
    (place / "more.txt").write_text("x", encoding="utf-8")
    assert not shoal.verify(place).ok
    (place / "more.txt").unlink()
    (place / "drugs.csv").unlink()
    assert not shoal.verify(place).ok


def test_attacks_say_what_a_smaller_claim_leaves_open(tmp_path: Path) -> None:
    data = tables()
    data["visits"]["dx"] = ["flu"] * len(data["visits"]["dx"])
    place = shoal.anonymize_tables(asked(data, require={"k": 5, "known": 1})).write(tmp_path / "out")
    report = shoal.attack(place)
    found = {r.name: r for r in report.results}
    assert report.holds
    assert found["homogeneity: visits.dx"].verdict == "warning"
    assert found["homogeneity: visits.dx"].rate == 1.0
    assert found["known records: 1 row"].verdict == "holds"
    assert found["known records: all rows"].claimed is None
    known = next(r for r in shoal.attack(place, with_=data["person"]).results if r.name == "linkage: known person")
    assert known.verdict == "holds", "attributes alone are within the claim"


def _run(words: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0)


def test_the_command_with_files_and_a_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import duckdb

    data = tables()
    shoal.transform(data["person"], {"steps": []}, tmp_path / "person.csv")
    shoal.transform(data["visits"], {"steps": []}, tmp_path / "visits.parquet")
    with duckdb.connect(str(tmp_path / "ward.duckdb")) as con:
        con.execute("CREATE TABLE drugs (patient VARCHAR, drug VARCHAR)")
        con.executemany("INSERT INTO drugs VALUES (?, ?)", list(zip(*data["drugs"].values(), strict=True)))
    policy = tmp_path / "family.yml"
    policy.write_text(
        f"""
tables:
  person: {{table: person.csv, roles: {{direct: [name], quasi: [age]}}}}
  visits: {{table: visits.parquet, roles: {{quasi: [ward], sensitive: [dx]}}}}
  drugs: {{table: 'duckdb://{tmp_path}/ward.duckdb::drugs', roles: {{quasi: [drug]}}}}
links: {{visits.pid: person.id, drugs.patient: person.id}}
require: {{k: 5}}
""",
        encoding="utf-8",
    )
    (tmp_path / "no.txt").write_text("Patient-001\nPatient-999\n", encoding="utf-8")
    words = ["--policy", str(policy), "--out", str(tmp_path / "out"), "--exclude", str(tmp_path / "no.txt")]
    assert _run(["anonymize", *words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["k"] >= 5
    assert told["people"] == N - 1
    assert told["excluded"]["found"] == 1
    assert told["levels"]["visits"] == {"ward": 0}
    assert _run(["verify", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["people"] == N - 1
    assert _run(["attack", str(tmp_path / "out")]) == 0
    assert "homogeneity: visits.dx" in capsys.readouterr().out
    assert _run(["anonymize", str(tmp_path / "person.csv"), *words]) == 2, "a table and a policy with tables"
    for more in (["--exclude-by", "id"], ["--k", "3"], ["--seed", "3"], ["--previous", str(tmp_path)]):
        assert _run(["anonymize", *words[:3], str(tmp_path / "y"), *more]) == 2, "what would be ignored is refused"
    assert _run(["anonymize", "--quasi", "age", "--k", "5", "--out", str(tmp_path / "x")]) == 2, "no table"
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Everyone hides among at least" in page
    assert "Patient-" not in page


@pytest.mark.parametrize("require", [{"k": 3}, {"k": 4, "known": 1}])
def test_a_hospital_of_real_admissions(shared_data: Path, tmp_path: Path, require: dict[str, int]) -> None:
    """100 patients with 129 admissions: counted again by plain sets, nobody beyond the limit lost."""
    with (shared_data / "real_tables" / "mimic_admissions" / "data.csv").open(encoding="utf-8", newline="") as content:
        found = list(csv.DictReader(content))
    first = {r["subject_id"]: r for r in reversed(found)}
    person = {c: [r[c] for r in first.values()] for c in ("subject_id", "ethnicity", "religion")}
    stays = {c: [r[c] for r in found] for c in ("subject_id", "admission_type", "insurance", "hospital_expire_flag")}
    made = shoal.anonymize_tables(
        {
            "tables": {
                "person": {"table": person, "roles": {"quasi": ["ethnicity", "religion"]}},
                "stays": {
                    "table": stays,
                    "roles": {"quasi": ["admission_type", "insurance"], "sensitive": ["hospital_expire_flag"]},
                },
            },
            "links": {"stays.subject_id": "person.subject_id"},
            "require": require,
            "allow": {"suppress": 0.1},
        }
    )
    place = made.write(tmp_path / "out")
    assert made.certificate is not None
    assert made.certificate.left_out <= 10
    assert shoal.verify(place).ok
    people = {r["subject_id"]: ((r["ethnicity"], r["religion"]), []) for r in rows(place / "person.csv")}
    for r in rows(place / "stays.csv"):
        people[r["subject_id"]][1].append((r["admission_type"], r["insurance"]))
    slow = Linked(people)
    assert min(slow.sharing(p, require.get("known")) for p in people) == made.certificate.k >= require["k"]


DERIVED_ALONE = ("after", "attacks", "files", "k", "left_out", "limits", "tables", "verdict")


def test_the_halves_of_the_certificate_stand_apart_and_every_derived_leaf_is_checked(tmp_path: Path) -> None:
    place = shoal.anonymize_tables(asked()).write(tmp_path / "out")
    whole = json.loads((place / "certificate.json").read_text())
    assert set(whole) == {"derived", "signed", "format", "key", "signature"}
    assert tuple(sorted(whole["derived"])) == DERIVED_ALONE
    assert not whole["signed"]["attacks"], "every attack is try_check again"
    claim = LinkedClaim(place)

    def refused(document):
        try:
            claim.certificate = form.typed(LinkedCertificate, flat_form(document))
            return not all(try_check("", look).ok for look in (claim.files, claim.count, claim.sentences))
        except TamperError:
            return True

    assert not refused(whole)
    paths = list(leaves(whole["derived"]))
    assert [p for p in paths if not refused(edited(whole, ("derived", *p), another))] == []
    assert len(paths) > 50
    zeros = [p for p in paths if isinstance(value := _at(whole["derived"], p), float) and value == 0.0]
    assert zeros
    assert [p for p in zeros if not refused(edited(whole, ("derived", *p), lambda value: int(value)))] == [], "0 for 0.0"
    for change in (lambda files: files + files[-1:], lambda files: files[::-1], lambda files: files[1:]):
        assert refused(edited(whole, ("derived", "files"), change))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        value = value[name]
    return value


@pytest.mark.parametrize(
    ("role", "change"),
    [
        ("key", {"treatment": "retained"}),
        ("key", {"level": 1}),
        ("quasi", {"level": 99}),
        ("quasi", {"level": -1}),
        ("quasi", {"level": None}),
        ("quasi", {"treatment": "generalized and differentially private"}),
        ("sensitive", {"treatment": "noise of any size"}),
        ("sensitive", {"height": 3}),
    ],
)
def test_a_column_is_treated_as_its_role_and_level_say(tmp_path: Path, role: str, change: dict[str, object]) -> None:
    place = shoal.anonymize_tables(asked()).write(tmp_path / "out")
    claim = LinkedClaim(place)
    assert try_check("", claim.sentences).ok

    def lie(table):
        return replace(table, columns=tuple(replace(c, **change) if c.role == role else c for c in table.columns))

    claim.certificate = replace(claim.certificate, tables=tuple(map(lie, claim.certificate.tables)))
    assert not try_check("", claim.sentences).ok


@pytest.mark.parametrize(
    ("treatment", "level", "height", "fits"),
    [
        ("retained", 0, 2, True),
        ("generalized", 2, 2, True),
        ("generalized", 3, 2, False),
        ("generalized", -1, 2, False),
        ("retained", None, 2, False),
        ("generalized", 1, None, False),
        ("generalized", 0, 2, False),
        ("retained", 1, 2, False),
    ],
)
def test_a_quasi_identifier_is_treated_as_its_level_says(
    treatment: str, level: int | None, height: int | None, fits: bool
) -> None:
    assert _treated(LinkedColumn("a", "quasi", treatment, level, height)) is fits


@pytest.mark.parametrize(
    ("role", "treatment", "level", "height", "fits"),
    [
        ("key", "fresh pseudonym", None, None, True),
        ("key", "retained", None, None, False),
        ("key", "fresh pseudonym", 0, None, False),
        ("direct", "removed", None, None, True),
        ("sensitive", "retained", None, 1, False),
        ("insensitive", "as it was", None, None, False),
    ],
)
def test_other_columns_have_no_level_and_the_name_of_a_step(
    role: str, treatment: str, level: int | None, height: int | None, fits: bool
) -> None:
    assert _treated(LinkedColumn("a", role, treatment, level, height)) is fits

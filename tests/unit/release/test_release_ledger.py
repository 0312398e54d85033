"""The owner's ledger: a second release of the same people is compared with the first, and nothing of it leaves."""

from __future__ import annotations

import base64
import csv
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.cli import main
from shoal.errors import DataError, UsageError
from shoal.model.attack import AttackResult
from shoal.model.counts.classes import ClassCounts
from shoal.release.earlier import ledger

ROLES: dict[str, Any] = {"sensitive": ["ill"], "method": "lattice", "k": 2}
BY_AGE: dict[str, Any] = {"quasi": {"age": {"hierarchy": {"intervals": [10]}}, "sex": {"min_level": 1}}, **ROLES}
BY_SEX: dict[str, Any] = {"quasi": {"age": {"hierarchy": {"intervals": [10]}, "min_level": 2}, "sex": {}}, **ROLES}


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def people(file: Path, moved: int = 0) -> Path:
    """Twelve people of two decades of age and two sexes; one woman alone among the young ones; the last are ``moved`` away."""
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["age", "sex", "ill"])
        ages = [30 + i % 2 * 10 + (40 if i >= 12 - moved else 0) for i in range(12)]
        writer.writerows([age, "f" if i % 2 or i == 0 else "m", f"ill{i % 3}"] for i, age in enumerate(ages))
    return file


def release(table: Path, out: Path, policy: dict[str, Any]) -> AttackResult:
    """What the ledger reports; the release is kept."""
    made = shoal.anonymize(table, **policy)
    made.write(out)
    found = made.remember()
    assert made.ledger_file is not None
    return found


def test_two_releases_that_single_a_person_out(tmp_path: Path) -> None:
    """Each hides everybody among two at least; together one woman in her thirties is alone."""
    table = people(tmp_path / "people.csv")
    first = release(table, tmp_path / "one", BY_AGE)
    assert (first.verdict, first.rate) == ("not run", None), "nothing was compared"
    second = release(table, tmp_path / "two", BY_SEX)
    assert second.verdict == "warning"
    assert second.rate == pytest.approx(1 / 12)
    assert "1 of 12 people" in second.sentence
    assert "the smallest has 1 (certain)" in second.sentence
    assert str(tmp_path / "one") in second.sentence


def test_the_same_release_again_holds(tmp_path: Path) -> None:
    table = people(tmp_path / "people.csv")
    release(table, tmp_path / "one", BY_AGE)
    again = release(table, tmp_path / "two", BY_AGE)
    assert (again.verdict, again.rate) == ("holds", 0.0)


def test_people_who_are_all_alike_are_compared(tmp_path: Path) -> None:
    table = table_of(tmp_path / "a.csv", *[(30, "f", f"ill{i}") for i in range(4)])
    release(table, tmp_path / "one", BY_AGE)
    assert release(table, tmp_path / "two", BY_AGE).verdict == "holds"


@pytest.mark.parametrize(("moved", "verdict"), [(0, "warning"), (6, "warning"), (7, "not run"), (12, "not run")])
def test_other_people_are_not_compared(tmp_path: Path, moved: int, verdict: str) -> None:
    """Half of the people have a counterpart: compared. Fewer: not run, and it says so."""
    release(people(tmp_path / "a.csv"), tmp_path / "one", BY_AGE)
    found = release(people(tmp_path / "b.csv", moved), tmp_path / "two", BY_SEX)
    assert found.verdict == verdict
    assert ("not compared (other columns or other people): 1." in found.sentence) == (verdict == "not run")


def table_of(file: Path, *rows: tuple[Any, ...]) -> Path:
    file.write_text("age,sex,ill\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    return file


def rows_of(file: Path) -> list[tuple[Any, ...]]:
    return [tuple(line.split(",")) for line in file.read_text().splitlines()[1:]]


@pytest.mark.parametrize("more", [0, 1, 12])
def test_newcomers_do_not_hide_who_is_in_both(tmp_path: Path, more: int) -> None:
    """A newcomer with the values of the woman who is alone was not in the first release: she stays alone in both."""
    first = people(tmp_path / "a.csv")
    known = rows_of(first)
    release(first, tmp_path / "one", BY_AGE)
    found = release(table_of(tmp_path / "b.csv", *known, *known[:more]), tmp_path / "two", BY_SEX)
    assert (found.verdict, found.rate) == ("warning", pytest.approx(1 / 12))
    assert "1 of 12 people who may be in both" in found.sentence
    assert "100 %" in found.sentence


def test_the_share_with_a_counterpart_is_named(tmp_path: Path) -> None:
    release(people(tmp_path / "a.csv"), tmp_path / "one", BY_AGE)
    assert "; 75 %)" in release(people(tmp_path / "b.csv", 3), tmp_path / "two", BY_SEX).sentence


def test_many_releases_are_not_all_named(tmp_path: Path) -> None:
    table = people(tmp_path / "people.csv")
    for i in range(ledger.NAMED + 1):
        found = release(table, tmp_path / f"r{i}", BY_AGE)
        assert " more, if they" not in found.sentence
    found = release(table, tmp_path / "last", BY_AGE)
    assert " and 1 more, if they" in found.sentence
    assert found.verdict == "holds"


@pytest.mark.parametrize("spelled", ["{}", "{}.0", '"{}"'])
def test_types_of_columns_do_not_matter(tmp_path: Path, spelled: str) -> None:
    """34 of a CSV file, 34.0 of a frame with missing values, and the text 34 are one value."""
    first = people(tmp_path / "a.csv")
    release(first, tmp_path / "one", BY_AGE)
    other = table_of(tmp_path / "b.csv", *((spelled.format(age), *rest) for age, *rest in rows_of(first)))
    assert release(other, tmp_path / "two", BY_SEX).verdict == "warning"


def test_days_are_days_in_any_type() -> None:
    said = ["1990-02-03", "1990-02-03 00:00:00", "1990-02-03 00:00:01", "7", "7.0", "7.01", None]
    assert [ledger._bytes(t) for t in said] == [
        b"\x011990-02-03", b"\x011990-02-03", b"\x011990-02-03 00:00:01", b"\x017", b"\x017", b"\x017.01", b"\0"
    ]  # fmt: skip


def test_two_spellings_in_one_table_cannot_be_kept(tmp_path: Path) -> None:
    table = table_of(tmp_path / "a.csv", *[("x", s, "i") for s in ("1.0", "1", "f") * 4])
    made = shoal.anonymize(table, quasi={"age": {}, "sex": {}}, sensitive=["ill"], k=2, method="lattice")
    made.write(tmp_path / "one")
    made.remember()
    assert made.ledger_file is None


def test_an_entry_of_a_lost_key_is_not_taken_for_other_people(tmp_path: Path) -> None:
    table = people(tmp_path / "people.csv")
    release(table, tmp_path / "one", BY_AGE)
    (ledger.folder() / "key").unlink()
    found = release(table, tmp_path / "two", BY_SEX)
    assert found.verdict == "not run"
    assert "cannot be read: 1." in found.sentence
    assert "other people" not in found.sentence


def test_of_two_processes_the_first_key_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process makes the key between the look and the writing; a key that is not complete is never used."""
    ledger.folder().mkdir(parents=True)
    file = ledger.folder() / "key"
    own = ledger.write_private

    def meanwhile(path: Path, text: str) -> None:
        own(path, text)
        file.write_text("ab" * 32)

    monkeypatch.setattr(ledger, "write_private", meanwhile)
    assert ledger._key(make=True) == bytes.fromhex("ab" * 32)
    assert [f.name for f in ledger.folder().iterdir()] == ["key"]
    monkeypatch.undo()
    file.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = shoal.anonymize(people(tmp_path / "people.csv"), **BY_AGE)
    made.write(tmp_path / "one")
    made.remember()
    assert made.ledger_file is None, "no digest without a key"


def test_only_what_is_written_is_remembered(tmp_path: Path) -> None:
    made = shoal.anonymize(people(tmp_path / "people.csv"), **BY_AGE)
    with pytest.raises(UsageError, match="not written yet"):
        made.remember()
    made.write(tmp_path / "one")
    assert not ledger.folder().exists(), "write alone leaves nothing outside its folder"
    assert made.remember().verdict == "not run"
    assert made.remember().verdict == "not run", "it is not compared with itself"


def test_other_columns_are_not_compared(tmp_path: Path) -> None:
    table = people(tmp_path / "people.csv")
    release(table, tmp_path / "one", BY_AGE)
    fewer = {**BY_SEX, "quasi": {"sex": {}}, "insensitive": ["age"]}
    assert release(table, tmp_path / "two", fewer).verdict == "not run"


def test_nothing_leaves_and_no_value_is_kept(tmp_path: Path) -> None:
    table = people(tmp_path / "people.csv")
    release(table, tmp_path / "one", BY_AGE)
    release(table, tmp_path / "two", BY_SEX)
    for file in (tmp_path / "two").iterdir():
        assert b"ledger" not in file.read_bytes()
    files = sorted(ledger.folder().iterdir())
    assert [f.stat().st_mode & 0o777 for f in files] == [0o600] * 3
    assert ledger.folder().stat().st_mode & 0o777 == 0o700
    body = json.loads(files[0].read_text())
    assert sorted(body) == ["certificate", "classes", "columns", "date", "folder", "format", "key", "people", "sizes"]
    entry = ledger.Entry.read(files[0])
    assert entry.people.dtype == np.uint64
    other = ledger.digests(shoal.anonymize(table, **BY_AGE).prepared.base, entry.columns, b"another key".ljust(32))
    assert not set(entry.people.tolist()) & set(other.tolist()), "without the key nobody can try values out"


def _altered(body: dict[str, Any], **changes: Any) -> str:
    return json.dumps({k: v for k, v in {**body, **changes}.items() if v is not ...})


HOSTILE: dict[str, Any] = {
    "no JSON": lambda body: "{",
    "a list": lambda body: "[]",
    "deep": lambda body: "[" * 100_000,
    "another format": lambda body: _altered(body, format="shoal-ledger/2"),
    "a field less": lambda body: _altered(body, classes=...),
    "no base64": lambda body: _altered(body, people="é"),
    "half a number": lambda body: _altered(body, sizes=base64.b64encode(b"1234567").decode()),
    "other lengths": lambda body: _altered(body, sizes=""),
    "nobody": lambda body: _altered(body, people="", sizes="", classes=""),
    "negative people": lambda body: _altered(body, sizes=_packed([-1, *[1] * (_length(body) - 1)])),
    "a class below": lambda body: _altered(body, classes=_packed([-2, *[1] * (_length(body) - 1)])),
    "a class beyond": lambda body: _altered(body, classes=_packed([2**40, *[1] * (_length(body) - 1)])),
    "somebody twice": lambda body: _altered(body, people=_packed([7] * _length(body))),
    "no key": lambda body: _altered(body, key=...),
    "another key": lambda body: _altered(body, key="00" * 8),
    "no columns": lambda body: _altered(body, columns=[]),
    "columns that are numbers": lambda body: _altered(body, columns=[1, 2]),
}


def _length(body: dict[str, Any]) -> int:
    return len(base64.b64decode(body["people"])) // 8


def _packed(numbers: list[int]) -> str:
    return base64.b64encode(np.array(numbers, dtype=np.int64).tobytes()).decode()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_reported_and_stops_nothing(tmp_path: Path, name: str) -> None:
    table = people(tmp_path / "people.csv")
    release(table, tmp_path / "one", BY_AGE)
    file = next(ledger.folder().glob("*.json"))
    file.write_text(HOSTILE[name](json.loads(file.read_text())))
    found = release(table, tmp_path / "two", BY_SEX)
    assert found.verdict == "not run"
    assert "Files of your ledger that cannot be read: 1." in found.sentence


@pytest.mark.parametrize("text", ["", "xyz", "00" * 31, "00" * 33])
def test_a_key_that_was_altered(tmp_path: Path, text: str) -> None:
    table = people(tmp_path / "people.csv")
    release(table, tmp_path / "one", BY_AGE)
    (ledger.folder() / "key").write_text(text)
    made = shoal.anonymize(table, **BY_SEX)
    made.write(tmp_path / "two")
    assert made.remember().verdict == "not run"
    assert made.ledger_file is None


def test_a_ledger_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    made = shoal.anonymize(people(tmp_path / "people.csv"), **BY_AGE)
    made.write(tmp_path / "one")
    assert made.remember().verdict == "not run"
    assert made.ledger_file is None


def test_a_user_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    made = shoal.anonymize(people(tmp_path / "people.csv"), **BY_AGE)
    made.write(tmp_path / "one")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    assert made.remember().verdict == "not run"
    assert made.ledger_file is None


def test_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people(tmp_path / "people.csv")
    policies = {}
    for name, policy in (("age", BY_AGE), ("sex", BY_SEX)):
        roles = {"quasi": policy["quasi"], "sensitive": policy["sensitive"]}
        body = {"roles": roles, "require": {"k": policy["k"]}, "method": policy["method"]}
        policies[name] = tmp_path / f"{name}.yml"
        policies[name].write_text(json.dumps(body))

    def run(policy: str, out: str, *more: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(
                [
                    "anonymize",
                    str(tmp_path / "people.csv"),
                    "--policy",
                    str(policies[policy]),
                    "--out",
                    str(tmp_path / out),
                    *more,
                ]
            )
        assert ended.value.code == 0
        return capsys.readouterr().out

    assert "ledger" not in run("age", "zero", "--no-ledger")
    assert not ledger.folder().exists()
    assert json.loads(run("age", "one", "--json"))["ledger"]["verdict"] == "not run"
    told = run("sex", "two").replace("\n", " ")
    assert "warning  intersection: releases of your ledger" in told
    assert "--previous" in told
    assert json.loads(run("sex", "three", "--json", "--no-ledger"))["ledger"] is None
    for file in ledger.folder().iterdir():
        os.unlink(file)
    assert "ledger" not in run("sex", "four"), "deleted files are forgotten"


def walks(first: str = "A") -> dict[str, list[Any]]:
    """Eight people with two records each; by hours and by places everybody is among four, by both among two."""
    who = [f"p{i}" for i in range(8) for _ in range(2)]
    at = [f"2026-03-0{2 + i // 4} {8 + hour:02d}:00:00" for i in range(8) for hour in range(2)]
    return {"card": who, "at": at, "station": [(first if i % 2 else "B") + str(hour) for i in range(8) for hour in range(2)]}


def walked(rows: dict[str, list[Any]], out: Path, require: str = "known[2]>=4", **events: Any) -> Any:
    made = shoal.anonymize(
        rows, {"events": {"unit": "card", **events}, "roles": {"rest": "drop"}, "require": [require], "seed": 3**80}
    )
    made.write(out)
    return made


BY_TIME: dict[str, Any] = {"time": "at", "place": "station", "time_widths": ["exact"], "place_levels": ["none"]}
BY_PLACE: dict[str, Any] = {"time": "at", "place": "station", "time_widths": ["none"], "place_levels": ["exact"]}


def test_event_releases_are_kept_and_compared(tmp_path: Path) -> None:
    """Times of a person are shared by four, places by four, both by two."""
    first = walked(walks(), tmp_path / "one", **BY_TIME)
    assert first.remember().verdict == "not run"
    assert first.ledger_file is not None
    second = walked(walks(), tmp_path / "two", **BY_PLACE)
    found = second.remember()
    assert (found.verdict, found.rate) == ("warning", 0.0)
    assert "fewest people who share 2 known records: 2" in found.sentence
    assert "; 100 %), if they are about the same people (in brackets: records" in found.sentence
    assert "8 people with records in both, 0 % are alone" in found.sentence
    for file in (tmp_path / "two").iterdir():
        assert b"ledger" not in file.read_bytes()
    assert walked(walks(), tmp_path / "three", **BY_PLACE, require="known[2]>=2").remember().verdict == "holds", "two is enough"


def test_event_releases_of_one_shape_hold(tmp_path: Path) -> None:
    walked(walks(), tmp_path / "one", **BY_TIME).remember()
    found = walked(walks(), tmp_path / "two", **BY_TIME).remember()
    assert (found.verdict, found.rate) == ("holds", 0.0)
    assert "fewest people who share 2 known records: 4" in found.sentence


@pytest.mark.parametrize(
    ("require", "verdict"),
    [
        pytest.param("near[2, 1h]>=2", "holds", id="two share the exact records, so at least two about"),
        pytest.param("near[2, 1h]>=3", "not run", id="digests have no distance"),
        pytest.param("alpha[mood]<=0.9", "not run", id="the ledger has no sensitive value"),
    ],
)
def test_requirements_that_digests_cannot_show_are_not_said_to_hold(tmp_path: Path, require: str, verdict: str) -> None:
    walked(walks(), tmp_path / "one", **BY_PLACE).remember()
    rows = walks() | {"mood": [f"m{i % 3}" for i in range(16)]}
    asked, roles = [require], dict[str, Any](rest="drop")
    if "mood" in require:
        asked, roles = ["known[2]>=2", require], {"sensitive": ["mood"]}
    policy = {"events": {"unit": "card", **BY_TIME}, "roles": roles, "require": asked, "seed": 3**80}
    made = shoal.anonymize(rows, policy)
    made.write(tmp_path / "two")
    found = made.remember()
    assert found.verdict == verdict
    assert (verdict == "holds") or "cannot compare all requirements" in found.sentence


def test_event_releases_of_other_records_or_columns_are_not_compared(tmp_path: Path) -> None:
    walked(walks(), tmp_path / "one", **BY_TIME).remember()
    later = {**walks(), "at": [f"2027{t[4:]}" for t in walks()["at"]]}
    assert "(other columns or other people): 1." in walked(later, tmp_path / "two", **BY_PLACE).remember().sentence
    found = walked(walks(), tmp_path / "three", place="station", place_levels=["exact"]).remember()
    assert "(other columns or other people): 2." in found.sentence


def test_records_that_are_published_once_count_as_shown(tmp_path: Path) -> None:
    """Of two records at one point under one pseudonym one is published; for the ledger both are shown."""
    made = walked(walks(), tmp_path / "one", time="at", place="station", time_widths=["1d"], place_levels=["none"], renew="never")
    shown = made._chosen().shown()
    assert made.certificate.after.records == 8
    assert (shown.base.n_classes, int((shown.classes >= 0).sum())) == (16, 16)


def hospital(ages: list[int], wards: list[str], *, known: int | None = None, **levels: int) -> dict[str, Any]:
    n = len(ages)
    quasi = {"age": {"hierarchy": {"intervals": [10]}, "min_level": levels.get("age", 0)}}
    require = {"k": 2} | ({} if known is None else {"known": known})
    return {
        "tables": {
            "person": {"table": {"id": list(range(n)), "age": ages}, "roles": {"quasi": quasi}},
            "visits": {
                "table": {"who": list(range(n)), "ward": wards},
                "roles": {"quasi": {"ward": {"min_level": levels.get("ward", 0)}}},
            },
        },
        "links": {"visits.who": "person.id"},
        "require": require,
        "allow": {"loss": 1},
    }


def linked(policy: dict[str, Any], out: Path) -> Any:
    made = shoal.anonymize_tables(policy)
    with pytest.raises(UsageError, match="not written yet"):
        made.remember()
    made.write(out)
    return made


AGES, WARDS = [30, 30, 30, 40, 40, 40], ["a", "a", "b", "b", "a", "b"]


def test_linked_releases_are_kept_and_compared(tmp_path: Path) -> None:
    """By decades everybody is among three, by wards too; by both two people are alone."""
    first = linked(hospital(AGES, WARDS, ward=1), tmp_path / "one")
    assert first.remember().verdict == "not run"
    assert first.ledger_file is not None
    found = linked(hospital(AGES, WARDS, age=2), tmp_path / "two").remember()
    assert (found.verdict, found.rate) == ("warning", pytest.approx(2 / 6))
    assert "2 of 6 people who may be in both" in found.sentence
    assert linked(hospital(AGES, WARDS, age=2, ward=1), tmp_path / "three").remember().verdict == "warning", "of the first two"


def test_people_who_are_left_out_of_linked_tables_are_not_in_both(tmp_path: Path) -> None:
    """The only person of a third ward is left out by the first release: nobody who is in both is alone."""
    policy = hospital([*AGES, 40], ["a", "a", "a", "b", "b", "b", "c"], age=2) | {"allow": {"loss": 1, "suppress": 0.2}}
    first = linked(policy, tmp_path / "one")
    assert first.certificate.left_out == 1
    first.remember()
    found = linked(hospital([*AGES, 40], ["a", "a", "a", "b", "b", "b", "c"], ward=1), tmp_path / "two").remember()
    assert found.verdict == "holds"
    assert "of 6 people" in found.sentence


def test_a_linked_release_beside_one_of_its_person_table(tmp_path: Path) -> None:
    """Wards together with decades: the release of the table of people alone shows the decade of two whom the wards single out."""
    table = table_of(tmp_path / "a.csv", *[(age, "f", f"ill{i}") for i, age in enumerate(AGES)])
    release(table, tmp_path / "one", {"quasi": {"age": {"hierarchy": {"intervals": [10]}}}, "insensitive": ["sex"], **ROLES})
    assert linked(hospital(AGES, WARDS, age=2), tmp_path / "two").remember().verdict == "warning"


BY_DECADE: dict[str, Any] = {"quasi": {"age": {"hierarchy": {"intervals": [10]}}}, "insensitive": ["sex"], **ROLES}


@pytest.mark.parametrize(("levels", "verdict"), [({"age": 2}, "warning"), ({"ward": 1}, "holds")])
def test_a_release_of_the_person_table_after_a_linked_one(tmp_path: Path, levels: dict[str, int], verdict: str) -> None:
    """The key is not in the later release: people of one age are in several classes of wards, two of them alone in a decade."""
    linked(hospital(AGES, WARDS, **levels), tmp_path / "one").remember()
    table = table_of(tmp_path / "a.csv", *[(age, "f", f"ill{i}") for i, age in enumerate(AGES)])
    found = release(table, tmp_path / "two", BY_DECADE)
    assert found.verdict == verdict
    assert found.rate == pytest.approx(2 / 6 if verdict == "warning" else 0)
    assert "not compared" not in found.sentence
    assert found.sentence.count(str(tmp_path / "one")) == 1
    again = linked(hospital(AGES, WARDS, ward=1, age=2), tmp_path / "three").remember()
    assert again.sentence.count(str(tmp_path / "one")) == 1, "by its key, not a second time without it"


def test_other_people_than_those_of_a_linked_release(tmp_path: Path) -> None:
    linked(hospital(AGES, WARDS, age=2), tmp_path / "one").remember()
    table = table_of(tmp_path / "a.csv", *[(age + 20, "f", f"ill{i}") for i, age in enumerate(AGES)])
    found = release(table, tmp_path / "two", BY_DECADE)
    assert (found.verdict, found.sentence.count("other people): 1.")) == ("not run", 1)


@pytest.mark.parametrize(
    ("before", "now", "verdict"),
    [
        pytest.param({"ward": 1}, {"ward": 1}, "holds", id="all rows of both leave three"),
        pytest.param({"ward": 1}, {"age": 2}, "not run", id="two are alone by all rows, nobody by attributes"),
        pytest.param({"age": 2}, {"ward": 1}, "warning", id="two are alone by the decade and the earlier wards"),
    ],
)
def test_known_rows_are_judged_by_attributes_and_by_all_rows(tmp_path: Path, before: Any, now: Any, verdict: str) -> None:
    linked(hospital(AGES, WARDS, **before), tmp_path / "one").remember()
    found = linked(hospital(AGES, WARDS, **now, known=1), tmp_path / "two").remember()
    assert found.verdict == verdict
    assert found.verdict != "not run" or "by 1 known" in found.sentence


def test_events_and_linked_tables_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = tmp_path / "events.csv"
    with events.open("w", newline="") as out:
        csv.writer(out).writerows([[*walks()], *zip(*walks().values(), strict=True)])
    for name, wards in (("person", {"id": [*range(6)], "age": AGES}), ("visits", {"who": [*range(6)], "ward": WARDS})):
        with (tmp_path / f"{name}.csv").open("w", newline="") as out:
            csv.writer(out).writerows([[*wards], *zip(*wards.values(), strict=True)])
    for name, rules in (("time", BY_TIME), ("place", BY_PLACE)):
        body = {"events": {"unit": "card", **rules}, "require": ["known[2]>=4"], "seed": 3**80}
        (tmp_path / f"{name}.yml").write_text(json.dumps(body))
    for name, levels in (("ward", {"ward": 1}), ("age", {"age": 2})):
        body = hospital(AGES, WARDS, **levels)
        body["tables"] = {t: {**part, "table": str(tmp_path / f"{t}.csv")} for t, part in body["tables"].items()}
        (tmp_path / f"{name}.yml").write_text(json.dumps(body))

    def run(policy: str, out: str, *more: str) -> str:
        table = [str(events)] if policy in ("time", "place") else []
        with pytest.raises(SystemExit) as ended:
            main(["anonymize", *table, "--policy", str(tmp_path / f"{policy}.yml"), "--out", str(tmp_path / out), *more])
        assert ended.value.code == 0
        return capsys.readouterr().out.replace("\n", " ")

    for first, second in (("time", "place"), ("ward", "age")):
        assert "ledger" not in run(first, f"{first} zero", "--no-ledger")
        assert json.loads(run(first, f"{first} zero again", "--no-ledger", "--json"))["ledger"] is None
        assert "ledger" not in run(first, first)
        told = run(second, second)
        assert "warning  intersection: releases of your ledger" in told, second
        assert json.loads(run(second, f"{second} again", "--json"))["ledger"]["verdict"] == "warning"


@pytest.mark.parametrize(
    ("verdicts", "verdict", "named"),
    [
        ({"one": "holds", "two": "broken"}, "warning", ["two"]),
        ({"one": "broken", "two": "holds"}, "warning", ["one"]),
        ({"one": "holds", "two": "not run"}, "not run", []),
        ({"one": "holds", "two": "holds"}, "holds", ["one", "two"]),
    ],
)
def test_the_worst_comparison_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdicts: dict[str, Any], verdict: str, named: list[str]
) -> None:
    """Releases that split combinations are compared one by one; one that breaks a promise is not hidden by one that does not."""
    table, none = people(tmp_path / "people.csv"), np.zeros(0, dtype=np.int64)
    for name in verdicts:
        release(table, tmp_path / name, BY_AGE)
    made = shoal.anonymize(table, **BY_AGE)
    monkeypatch.setattr(ledger, "_match", lambda shown, entry, *_: ledger._Match(entry, none, none, none, 0.5, split=True))

    def together(shown: Any, found: Any) -> AttackResult:
        return AttackResult("intersection", "", 0.5, 0.5, 0.5, None, "", verdicts[Path(found[0].entry.folder).name], "Said.")

    monkeypatch.setattr(ledger, "_together", together)
    made.write(tmp_path / "three")
    result = made.remember()
    assert result.verdict == verdict
    assert [name for name in verdicts if f"{tmp_path / name} (" in result.sentence] == named


def test_an_entry_without_people_is_not_one(tmp_path: Path) -> None:
    release(people(tmp_path / "people.csv"), tmp_path / "one", BY_AGE)
    (file,) = ledger.folder().glob("*.json")
    whole = json.loads(file.read_text(encoding="utf-8"))
    assert ledger.Entry.read(file).columns == ("age", "sex")
    for change in ({"people": "", "sizes": "", "classes": ""}, {"columns": []}, {"columns": [1]}, {"format": 0}):
        file.write_text(json.dumps(whole | change), encoding="utf-8")
        with pytest.raises(DataError, match="cannot be read"):
            ledger.Entry.read(file)


@pytest.mark.parametrize(
    ("people", "classes", "repeats"),
    [
        ([5, 3, 9], [0, 0, 1], False),
        ([5, 3, 5], [0, 0, 1], False),
        ([5, 3, 5], [1, 0, 1], True),
        ([7, 7], [0, 0], True),
        ([7], [0], False),
    ],
)
def test_a_person_may_be_in_several_classes_but_in_none_twice(people: list[int], classes: list[int], repeats: bool) -> None:
    assert ledger._repeats(np.array(people, dtype=np.uint64), np.array(classes)) is repeats


# --- entries, digests and matches by themselves ---------------------------------------------------------------------------------


def entry(people: list[int], sizes: list[int], classes: list[int], columns: tuple[str, ...] = ("age",)) -> ledger.Entry:
    arrays = np.array(people, dtype=np.uint64), np.array(sizes, dtype=np.int64), np.array(classes, dtype=np.int64)
    return ledger.Entry("folder", "2026-01-01", "mark", "key", columns, *arrays)


@pytest.mark.parametrize(
    ("people", "sizes", "classes", "good"),
    [
        ([5, 3], [1, 2], [0, -1], True),
        ([5, 5], [1, 2], [0, 1], True),
        ([5, 5], [1, 2], [0, 0], False),
        ([5, 3], [1, 2], [0], False),
        ([5, 3], [1], [0, 0], False),
        ([5], [1, 2], [0, 0], False),
        ([5, 3], [1, 0], [0, 0], False),
        ([5, 3], [1, 2], [0, -2], False),
        ([5, 3], [1, 2], [0, 2**31 - 1], True),
        ([5, 3], [1, 2], [0, 2**31], False),
    ],
)
def test_each_condition_of_an_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, people: list[int], sizes: list[int], classes: list[int], good: bool
) -> None:
    file = tmp_path / "entry.json"
    file.write_text(json.dumps(entry(people, sizes, classes).to_json()), encoding="utf-8")
    if not good:
        with pytest.raises(DataError, match="cannot be read"):
            ledger.Entry.read(file)
        return
    assert ledger.Entry.read(file).classes.tolist() == classes
    monkeypatch.setattr(ledger, "MOST_BYTES", file.stat().st_size)
    assert ledger.Entry.read(file).people.tolist() == people
    monkeypatch.setattr(ledger, "MOST_BYTES", file.stat().st_size - 1)
    with pytest.raises(DataError, match="cannot be read"):
        ledger.Entry.read(file)


def table(texts: list[str | None], sizes: list[int], column: str = "age") -> ClassCounts:
    values = sorted({t for t in texts if t is not None})
    codes = [-1 if t is None else values.index(t) for t in texts]
    return ClassCounts(sizes, columns=(column,), codes=(codes,), categories=(pa.array(values, pa.string()),))


KEY = bytes(range(32))


def test_a_digest_is_of_key_column_and_value() -> None:
    (one,) = ledger.digests(table(["7"], [1]), ["age"], KEY).tolist()
    (other_key,) = ledger.digests(table(["7"], [1]), ["age"], bytes(32)).tolist()
    (other_column,) = ledger.digests(table(["7"], [1], "zip"), ["zip"], KEY).tolist()
    same = ledger.digests(table(["7.0", "7 00:00:00"], [1, 1]), ["age"], KEY).tolist()
    assert same == [one, one], "one value of any type"
    more = ledger.digests(table(["", None, "8", "70", "\0"], [1] * 5), ["age"], KEY).tolist()
    assert len({one, other_key, other_column, *more}) == 8
    assert ledger._name_of(KEY) != ledger._name_of(bytes(32))


@pytest.mark.parametrize("shared", [4, 5, 6])
def test_a_release_of_half_of_the_people_is_compared(shared: int) -> None:
    """Ten people here, twelve there; the share is of the smaller table, and of one value the fewer people are in both."""
    here, there = table(["a", "b"], [shared, 10 - shared]), table(["a", "c"], [9, 3])
    shown = ledger.Published(here, np.array([0, 1]), ledger.joint_groups(2))
    before = entry(ledger.digests(there, ["age"], KEY).tolist(), [9, 3], [4, 5])
    found = ledger._match(shown, before, KEY, {})
    if shared < 5:
        assert found is None
        return
    assert found is not None
    assert (found.share, found.classes.tolist(), found.sizes.tolist(), found.split) == (
        shared / 10,
        [4, -1],
        [9, 10 - shared],
        False,
    )


def test_an_entry_of_fewer_columns_takes_a_digest_for_each_of_its_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one for each class of this release, of which a large table has a million."""
    ages, towns = pa.array(["a", "b"], pa.string()), pa.array(["x", "y", "z"], pa.string())
    both = ClassCounts([1, 2, 3, 4], ("age", "town"), ([0, 1, 0, 1], [0, 1, 2, 0]), (ages, towns))
    by_age = ClassCounts([4, 6], ("age",), ([0, 1],), (ages,))
    shown = ledger.Published(both, np.arange(4), ledger.joint_groups(2))
    made, digests = [], ledger.digests
    monkeypatch.setattr(ledger, "digests", lambda *a: (made.append(digests(*a)), made[-1])[1])
    found = ledger._match(shown, entry(digests(by_age, ["age"], KEY).tolist(), [4, 6], [7, 8]), KEY, {})
    assert found is not None
    assert (found.share, found.classes.tolist()) == (1.0, [7, 8, 7, 8])
    whole = digests(both, ("town", "age"), KEY).tolist()
    again = ledger._match(shown, entry(whole, [1, 2, 3, 4], [5, 6, 7, 8], ("town", "age")), KEY, {})
    assert again is not None
    assert (again.share, again.classes.tolist()) == (1.0, [5, 6, 7, 8])
    assert [len(numbers) for numbers in made] == [2, 4]


def test_people_in_several_earlier_classes_are_in_each() -> None:
    here = table(["a", "b"], [6, 4])
    shown = ledger.Published(here, np.array([0, 1]), ledger.joint_groups(2))
    a, b = ledger.digests(here, ["age"], KEY).tolist()
    found = ledger._match(shown, entry([a, b, a], [3, 4, 3], [7, 8, 9]), KEY, {})
    assert found is not None
    assert found.split
    assert sorted(zip(found.rows.tolist(), found.classes.tolist(), found.sizes.tolist(), strict=True)) == [
        (0, 7, 3),
        (0, 9, 3),
        (1, 8, 4),
    ]


def test_columns_that_can_be_compared() -> None:
    here = table(["a"], [6])
    (a,) = ledger.digests(here, ["age"], KEY).tolist()
    for exact in (False, True):
        shown = ledger.Published(here, np.array([0]), ledger.joint_groups(2), exact=exact)
        assert ledger._match(shown, entry([a], [6], [0]), KEY, {}) is not None
        assert ledger._match(shown, entry([a], [6], [0], ("age", "sex")), KEY, {}) is None
    two = ClassCounts([6], ("age", "sex"), ([0], [0]), (pa.array(["a"]), pa.array(["f"])))
    for exact, compared in ((False, True), (True, False)):
        shown = ledger.Published(two, np.array([0]), ledger.joint_groups(2), exact=exact)
        assert (ledger._match(shown, entry([a], [6], [0]), KEY, {}) is not None) is compared


@pytest.mark.parametrize(("most", "few"), [(1, False), (2, True)])
def test_the_most_classes_that_are_kept(monkeypatch: pytest.MonkeyPatch, most: int, few: bool) -> None:
    monkeypatch.setattr(ledger, "MOST_CLASSES", most)
    assert ledger.Published(table(["a", "b"], [1, 1]), np.array([0, 1]), ledger.joint_groups(2)).few is few


@pytest.mark.parametrize("length", [31, 33, 0])
def test_a_key_has_32_bytes(length: int) -> None:
    ledger.folder().mkdir(parents=True)
    (ledger.folder() / "key").write_text("ab" * length)
    with pytest.raises(DataError, match="key of the ledger"):
        ledger._key(make=False)
    (ledger.folder() / "key").write_text("ab" * 32)
    assert ledger._key(make=True) == b"\xab" * 32


def test_releases_without_a_common_person_are_not_said_to_hold() -> None:
    together, people = ledger.joint_groups(2), table(["a", "b"], [1, 4])
    assert together([np.array([0, -1]), np.array([-1, 0])], people).verdict == "not run"
    assert together([np.array([-1, 0]), np.array([-1, 0])], people).verdict == "holds"
    assert together([np.array([0, 0]), np.array([0, 1])], people).verdict == "broken"


def test_the_releases_with_the_most_people_in_common_are_named_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, none = people(tmp_path / "people.csv"), np.zeros(0, dtype=np.int64)
    shares = {"one": 0.6, "two": 0.9, "three": 0.7, "four": 0.8}
    for name in shares:
        release(table, tmp_path / name, BY_AGE)
    made = shoal.anonymize(table, **BY_AGE)
    result = AttackResult("intersection", "", 0.5, 0.5, 0.5, None, "", "holds", "Said.")
    monkeypatch.setattr(
        ledger, "_match", lambda shown, e, *_: ledger._Match(e, none, none, none, shares[Path(e.folder).name], split=True)
    )
    monkeypatch.setattr(ledger, "_together", lambda shown, found: result)
    made.write(tmp_path / "five")
    sentence = made.remember().sentence
    places = [sentence.find(f"{tmp_path / name} (") for name in ("two", "four", "three")]
    assert -1 not in places
    assert places == sorted(places)
    assert "and 1 more" in sentence

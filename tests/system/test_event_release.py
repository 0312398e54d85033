"""Event tables from policy to proven folder: the written file counted by the test's own slow definition; nothing half-written."""

from __future__ import annotations

import csv
import datetime as dt
import json
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.cli import main
from shoal.errors import DataError, InfeasibleError, PolicyError, RoleError, UsageError, VerificationError
from shoal.release.events import attacks

PEOPLE, STATIONS = 60, 12


@pytest.fixture(scope="module")
def trips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trips of 60 people in four weeks; one of them goes where nobody goes."""
    rng = np.random.default_rng(3)
    weight = np.arange(1, STATIONS + 1) ** -1.2
    rows = [("canary60", "2026-03-02 06:00:00", "canaryX", "1")]
    for _ in range(900):
        at = np.datetime64("2026-03-02T05:00:00") + np.timedelta64(int(rng.integers(0, 28 * 1440)), "m")
        station = f"S{rng.choice(STATIONS, p=weight / weight.sum()):02d}"
        rows.append((f"canary{rng.integers(0, PEOPLE)}", str(at).replace("T", " "), station, "1"))
    file = tmp_path_factory.mktemp("events") / "trips.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([("card", "at", "station", "fare"), *rows])
    return file


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(w) for w in words])
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out, out.err


def policy(asked: Any, suppress: float = 0.1, **events: Any) -> dict[str, Any]:
    return {
        "events": {"unit": "card", "time": "at", "place": "station", **events},
        "roles": {"insensitive": ["fare"]},
        "require": asked,
        "allow": {"suppress": suppress},
        "seed": 10**18 + 7,
    }


def written(folder: Path) -> list[dict[str, str]]:
    with (folder / "data.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def smallest_and_alone(rows: list[dict[str, str]], points: list[str], s: int) -> tuple[int, float]:
    """The fewest pseudonyms that share a set of up to s points of one; the mean share of its sets of s that are one's only."""
    at = defaultdict(set)
    for i, row in enumerate(rows):
        at[row.get("card", i)].add(tuple(row[p] for p in points))
    by = defaultdict(set)
    for who, found in at.items():
        for p in found:
            by[p].add(who)
    fewest, shares = len(at), []
    for found in at.values():
        for size in range(1, min(s, len(found)) + 1):
            sizes = [len(set.intersection(*(by[p] for p in c))) for c in combinations(sorted(found), size)]
            fewest = min(fewest, *sizes)
            if size == min(s, len(found)):
                shares.append(sum(n == 1 for n in sizes) / len(sizes))
    return fewest, sum(shares) / len(shares)


CASES = [
    ({"known": {"records": 2, "k": 4}}, {}),
    ({"known": {"records": 1, "k": 3}}, {"time_widths": ["day", "week"], "place_levels": ["exact", "prefix:1"]}),
    ({"unicity": {"records": 2, "share": 0.05}}, {"time_widths": ["week", "none"]}),
    (["known[1]>=3", "unicity[3]<=10 %"], {"time_widths": ["none"], "most_records": [10], "renew": "never"}),
    ({"known": {"records": 3, "k": 2}}, {"time_widths": ["week", "none"], "renew": "never"}),
]


@pytest.mark.parametrize(("asked", "events"), CASES, ids=str)
def test_the_written_file_holds_what_was_asked(trips: Path, tmp_path: Path, asked: Any, events: dict[str, Any]) -> None:
    release = shoal.anonymize(trips, policy(asked, **events))
    folder = release.write(tmp_path / "out")
    made = release.certificate
    rows = written(folder)
    points = [n for n in ("at", "station") if n in rows[0]]
    for r in made.asked:
        fewest, alone = smallest_and_alone(rows, points, r.records)
        assert r.holds(fewest if r.kind == "known" else alone)
        assert made.after.smallest[str(r.records)] == fewest
        assert made.after.alone[str(r.records)] == pytest.approx(alone, abs=1e-11)
    cost = made.cost
    assert cost.records == 901
    assert len(rows) == cost.records - cost.truncated - cost.suppressed - cost.merged == made.after.records
    assert cost.left_out_share <= 0.1
    if "card" in rows[0]:
        assert len({tuple(r.items()) for r in rows}) == len(rows)  # a point once under a pseudonym
    assert shoal.verify(folder).ok
    assert shoal.verify(folder, private=release.private_file).ok
    text = "".join((folder / n).read_text() for n in ("data.csv", "certificate.json", "plan.json", "report.html"))
    assert "canary" not in text
    assert json.loads(json.dumps(release.to_json()))["requirements"][0]["met"]


def test_the_same_seed_gives_the_same_bytes_and_another_one_other_pseudonyms(trips: Path, tmp_path: Path) -> None:
    asked = policy({"known": {"records": 1, "k": 3}}, time_widths=["week"])
    texts = []
    for i, seed in enumerate((10**18, 10**18, 10**18 + 1)):
        shoal.anonymize(trips, {**asked, "seed": seed}).write(tmp_path / str(i))
        texts.append((tmp_path / str(i) / "data.csv").read_text())
    assert texts[0] == texts[1] != texts[2]
    with pytest.raises(PolicyError, match="short enough to be guessed"):
        shoal.anonymize(trips, {**asked, "seed": 5})


def test_renewal_counts_people_not_pseudonyms(trips: Path, tmp_path: Path) -> None:
    asked = {"known": {"records": 2, "k": 4}}
    release = shoal.anonymize(trips, policy(asked, 0.4, time_widths=["none"], renew="5 records"))
    folder = release.write(tmp_path / "out")
    made = release.certificate
    assert made.people is not None
    assert made.people.smallest["2"] >= 4
    assert made.after.smallest["2"] >= made.people.smallest["2"]  # as many pseudonyms at least
    assert made.after.traces > made.people.people == made.cost.people_left
    rows = written(folder)
    per = defaultdict(int)
    for r in rows:
        per[r["card"]] += 1
    assert max(per.values()) <= 5
    assert made.after.smallest["2"] == smallest_and_alone(rows, ["station"], 2)[0]
    assert any(a.name == "relinking" for a in made.attacks)
    assert shoal.verify(folder).ok


@pytest.mark.parametrize("renew", ["7 days", "model 0.6", "every record"])
def test_other_renewals(trips: Path, tmp_path: Path, renew: str) -> None:
    release = shoal.anonymize(trips, policy({"known": {"records": 1, "k": 4}}, 0.4, time_widths=["week"], renew=renew))
    folder = release.write(tmp_path / "out")
    rows = written(folder)
    made = release.certificate
    assert made.people is not None
    assert made.people.smallest["1"] >= 4
    assert ("card" in rows[0]) is (renew != "every record")
    if renew == "7 days":  # pseudonym and calendar windows of seven days
        weeks = defaultdict(set)
        for r in rows:
            weeks[r["card"]].add(r["at"])
        assert max(len(w) for w in weeks.values()) <= 2  # a window of seven days touches two weeks
    if renew == "every record":
        assert made.data.unit is None
        assert made.after.traces == len(rows)
    assert shoal.verify(folder).ok


def test_a_short_collection_period_fixes_the_shift(tmp_path: Path) -> None:
    """Twenty people, seen nearly every day of three weeks: whoever knows the three weeks knows how far most were moved."""
    rng = np.random.default_rng(8)
    first = np.datetime64("2026-03-02")
    rows = [(f"p{i}", str(first + d), "S", "1") for i in range(20) for d in range(21) if rng.random() < 0.8]
    file = tmp_path / "short.csv"
    file.write_text("card,at,station,fare\n" + "".join(",".join(r) + "\n" for r in rows))
    made = shoal.anonymize(file, policy({"known": {"records": 1, "k": 3}}, 0.3, time_widths=["day"], shift=10))
    told = {a.name: a for a in made.certificate.attacks}["shift: collection period"]
    shown: dict[str, list[int]] = defaultdict(list)
    for r in written(made.write(tmp_path / "out")):
        shown[r["card"]].append(int((np.datetime64(r["at"]) - first) / np.timedelta64(1, "D")))
    fixed = [sum(min(d) - s >= 0 and max(d) - s <= 20 for s in range(-10, 11)) == 1 for d in shown.values()]
    assert told.rate == pytest.approx(np.mean(fixed))
    assert (told.verdict, told.rate > 0.3) == ("warning", True)
    assert "shift: collection period" in {a.name for a in shoal.attack(tmp_path / "out").results}


def test_dates_are_shifted_per_person_by_whole_days_and_not_counted_as_protection(trips: Path, tmp_path: Path) -> None:
    asked = {"known": {"records": 1, "k": 3}}
    plain = shoal.anonymize(trips, policy(asked, 0.4, time_widths=["day"]))
    moved = shoal.anonymize(trips, policy(asked, 0.4, time_widths=["day"], shift=10))
    one, two = (written(r.write(tmp_path / n)) for r, n in ((plain, "a"), (moved, "b")))
    assert moved.certificate.people.smallest["1"] == plain.certificate.after.smallest["1"] >= 3
    by: dict[str, list[list[Any]]] = defaultdict(lambda: [[], []])
    for i, rows in enumerate((one, two)):
        for r in rows:
            by[r["card"]][i].append((np.datetime64(r["at"]), r["station"]))
    offsets = set()
    for a, b in by.values():
        shift = {y[0] - x[0] for x, y in zip(sorted(a), sorted(b), strict=True)}
        assert len(shift) == 1  # one for all records of a person
        offsets |= {int(shift.pop() / np.timedelta64(1, "D"))}
    assert len(offsets) > 5
    assert max(map(abs, offsets)) <= 10
    with pytest.raises(PolicyError, match="cannot be shifted"):
        shoal.anonymize(trips, policy(asked, time_widths=["month"], shift=10))


def test_a_cut_rises_only_where_it_must(tmp_path: Path) -> None:
    """Items a1, a2 are frequent and stay; b1, b2, b3 are rare and become b."""
    rows = [(f"p{i}", item) for i in range(12) for item in ("a1", "a2")]
    rows += [(f"p{i}", f"b{1 + i % 3}") for i in range(12)]
    levels = tmp_path / "items.csv"
    levels.write_text("".join(f"{x},{x[0]},*\n".replace(",", ";") for x in ("a1", "a2", "b1", "b2", "b3")))
    table = {"card": [r[0] for r in rows], "item": [r[1] for r in rows]}
    asked = {
        "events": {"unit": "card", "place": "item", "hierarchy": {"item": str(levels)}, "place_levels": ["exact", "cut", "none"]},
        "require": {"known": {"records": 2, "k": 6}},
    }
    release = shoal.anonymize(table, asked)
    folder = release.write(tmp_path / "out")
    assert {r["item"] for r in written(folder)} == {"a1", "a2", "b"}
    assert release.certificate.steps.place == "cut"
    assert release.certificate.cost.suppressed == 0
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["labels"]["item"] == {"a1": "a1", "a2": "a2"}  # four people have b1: fewer than asked for, so it is not named


def test_infeasible_offers_plans_and_writes_nothing(trips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = policy({"known": {"records": 2, "k": 40}}, 0.0, time_widths=["exact", "day"], place_levels=["exact"])
    with pytest.raises(InfeasibleError) as caught:
        shoal.anonymize(trips, asked)
    offers = caught.value.offers
    assert offers
    best = offers[0]
    again = {**asked, "allow": {"suppress": best.suppress}}
    again["events"] = {**asked["events"], "time_widths": [best.shape.time], "place_levels": [best.shape.place]}
    again["require"] = [str(r) for r in best.asked]
    if best.shape.renew != "never":
        again["events"]["renew"] = best.shape.renew
    assert shoal.anonymize(trips, again).certificate.cost.left_out_share == pytest.approx(best.suppress)
    file = tmp_path / "p.yml"
    file.write_text(json.dumps(asked))
    code, out, err = run(capsys, "anonymize", trips, "--policy", file, "--out", tmp_path / "rel")
    assert (code, out) == (1, "")
    assert "These would do" in err
    assert "canary" not in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.yml"]


def test_the_command_and_its_json(trips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.yml"
    file.write_text(json.dumps(policy({"known": {"records": 2, "k": 4}})))
    code, out, _ = run(capsys, "anonymize", trips, "--policy", file, "--out", tmp_path / "a")
    assert code == 0
    assert "is shared by at least 4 people" in out
    code, out, _ = run(capsys, "anonymize", trips, "--policy", file, "--out", tmp_path / "b", "--json")
    found = json.loads(out)
    assert found["verified"]
    assert {u["name"] for u in found["uses"]} >= {"records", "records per person"}
    code, out, _ = run(capsys, "verify", tmp_path / "b", "--json")
    assert code == 0
    assert json.loads(out)["verified"]
    code, out, err = run(capsys, "check", tmp_path / "a" / "data.csv", "--policy", file)
    assert (code, "The gate is open" in out) == (0, True), err
    code, out, _ = run(capsys, "check", trips, "--policy", file, "--json")
    assert (code, json.loads(out)["ok"]) == (1, False)
    code, out, _ = run(capsys, "check", trips, "--policy", file, "--format", "junit")
    assert (code, "<failure" in out, "canary" in out) == (1, True, False)


FORMATS = [("parquet", "parquet"), ("arrow", "arrow"), ("excel", "xlsx")]


@pytest.mark.parametrize(("form", "ending"), FORMATS)
def test_other_formats(trips: Path, tmp_path: Path, form: str, ending: str) -> None:
    asked = policy({"known": {"records": 1, "k": 3}}, time_widths=["day", "week"])
    folder = shoal.anonymize(trips, asked, format=form).write(tmp_path / "out")
    assert (folder / f"data.{ending}").is_file()
    assert shoal.verify(folder).ok


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"require": {"k": 5}}, PolicyError, "applies to classes"),
    ({"events": None, "roles": {"quasi": ["station"]}}, PolicyError, "must be a group|of event tables"),
    ({"roles": {"quasi": ["fare"]}}, PolicyError, "not judged in an event table"),
    ({"roles": {}}, RoleError, "1 of 4 columns"),
    ({"roles": {"insensitive": ["fare", "at"]}}, RoleError, "under events and under roles"),
    ({"sample": {"share": 0.5}}, PolicyError, "not used for an event table"),
    ({"events": {"unit": "card"}}, PolicyError, "neither a time nor a place"),
    ({"events": {"unit": "card", "place": "card"}}, PolicyError, "twice"),
    ({"events": {"unit": "card", "time": "when"}}, UsageError, "not in table"),
    ({"events": {"unit": "card", "time": "station", "place": "at"}}, DataError, "are not times"),
    ({"events": {"unit": "card", "time": "at", "place": "station", "renew": "often"}}, UsageError, "not a renewal"),
    ({"events": {"unit": "card", "time": "at", "place": "station", "renew": "0 days"}}, UsageError, "not a renewal"),
    ({"events": {"unit": "card", "time": "at", "place": "station", "time_widths": ["fortnight"]}}, UsageError, "not a width"),
    ({"events": {"unit": "card", "time": "at", "place": "station", "place_levels": ["cut"]}}, PolicyError, "a cut needs"),
    ({"events": {"unit": "card", "time": "at", "place": "station", "shift": 0}}, PolicyError, "at least 1"),
    ({"require": {"known": {"records": 9, "k": 5}}}, PolicyError, "at most 8"),
    ({"require": {"known": {"records": 2, "k": 1}}}, PolicyError, "at least 2"),
]


@pytest.mark.parametrize(("change", "kind", "words"), WRONG, ids=lambda x: str(x)[:50])
def test_what_makes_no_sense_is_refused(trips: Path, change: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        shoal.anonymize(trips, {**policy({"known": {"records": 1, "k": 3}}), **change})
    assert "canary" not in str(caught.value)


def test_incomplete_records_are_not_published_and_counted(tmp_path: Path) -> None:
    table = {"card": [1, 1, 2, 2, None, 3], "station": ["a", "b", "a", "b", "a", None]}
    release = shoal.anonymize(table, {"events": {"unit": "card", "place": "station"}, "require": ["known[2]>=2"]})
    assert (release.certificate.cost.incomplete, release.certificate.after.records) == (2, 4)
    assert release.k == 2
    with pytest.raises(DataError, match="no record has a person"):
        shoal.anonymize(
            {"card": [None], "station": ["a"]}, {"events": {"unit": "card", "place": "station"}, "require": ["known[1]>=2"]}
        )


def test_people_who_asked_not_to_be_in_it(trips: Path, tmp_path: Path) -> None:
    listed = tmp_path / "no.csv"
    listed.write_text("card\ncanary60\ncanary1\n")
    asked = policy({"known": {"records": 1, "k": 3}}, time_widths=["week"])
    release = shoal.anonymize(trips, asked, exclude=listed)
    folder = release.write(tmp_path / "out")
    made = release.certificate
    assert made.objections is not None
    assert (made.objections.listed, made.objections.found) == (2, 2)
    assert made.cost.people == shoal.anonymize(trips, asked).certificate.cost.people - 2
    assert shoal.verify(folder).ok


@pytest.fixture(scope="module")
def made(trips: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "out"
    linked = {"renew": "never", "place_levels": ["exact", "prefix:2", "none"], "time_widths": ["day", "week", "none"]}
    shoal.anonymize(trips, policy({"known": {"records": 2, "k": 4}}, **linked)).write(folder)
    return folder


def test_attacks_from_outside(trips: Path, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "attack", made, "--with", trips, "--json")
    found = {a["name"]: a for a in json.loads(out)["attacks"]}
    assert (code, "canary" in out) == (0, False)
    assert found["known records: 2"]["claimed"] == 0.25
    assert found["known records: 2"]["rate"] <= 0.25
    assert found["known records: 2"]["verdict"] == found["sparse matching: 2"]["verdict"] == "holds"
    assert found["known records: 4"]["claimed"] is None
    assert "in the list" in found["trail matching"]["sentence"]
    report = shoal.attack(made)
    assert "trail matching" not in {r.name for r in report.results}, "without a list it is the list of the certificate"
    with pytest.raises(UsageError, match="not the folder of an event release"):
        shoal.attack(made, previous=[tmp_path])
    nobody = tmp_path / "list.csv"
    nobody.write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="not in table"):
        shoal.attack(made, with_=nobody)


def test_a_list_that_knows_the_published_records_finds_at_least_k(made: Path, tmp_path: Path) -> None:
    """The attacker's list is the release itself: two of its records fit as many as are claimed for, all of them perhaps one."""
    rows = written(made)
    point = [n for n in ("at", "station") if n in rows[0]]
    plan = json.loads((made / "plan.json").read_text())
    if plan["place_level"] not in ("exact", "none") or plan["time_width"] not in ("none", "day", "week", "month"):
        pytest.skip("this plan is not idempotent")
    first: dict[str, list[dict[str, str]]] = defaultdict(list)
    for r in rows:
        first[r["card"]].append(r)
    listed = tmp_path / "list.csv"
    with listed.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["name", *point])
        writer.writerows([f"n{who}", *(r[p] for p in point)] for who, own in first.items() for r in own[:2])
    found = {r.name: r for r in shoal.attack(made, with_=listed).results}["trail matching"]
    assert found.verdict == "holds"
    assert found.rate == 0
    assert f"{len(first):,} fit a pseudonym" in found.sentence


def forged(folder: Path, target: Path, change: Any) -> Path:
    """The folder with its certificate changed and signed again with another key, its report made anew: a careful liar's work."""
    import shutil
    from dataclasses import replace

    from shoal.kernels import signatures
    from shoal.model.certificate.file import read_event_certificate
    from shoal.release.certificate.signing import file_entry, signed
    from shoal.report.event_release_report import render

    shutil.copytree(folder, target)
    body = change(read_event_certificate(folder / "certificate.json").without_report, target).as_read
    (target / "report.html").write_text(render(body), encoding="utf-8", newline="\n")
    files = tuple(file_entry(target / f.name) for f in body.files)
    whole = signed(replace(body, files=(*files, file_entry(target / "report.html"))), signatures.signer())
    (target / "certificate.json").write_bytes(whole.to_bytes())
    return target


def _claim(**numbers: Any) -> Any:
    from dataclasses import replace

    return lambda c, _: replace(c, after=replace(c.after, **numbers))


def _fewer_records(c: Any, folder: Path) -> Any:
    lines = (folder / "data.csv").read_text().splitlines(keepends=True)
    (folder / "data.csv").write_text("".join(lines[:-1]))
    return c


def _cost(**numbers: Any) -> Any:
    from dataclasses import replace

    return lambda c, _: replace(c, cost=replace(c.cost, **numbers))


def _said(**words: Any) -> Any:
    from dataclasses import replace

    return lambda c, _: replace(c, **words)


LIES = {
    "more people share them": _claim(smallest={"1": 60, "2": 60, "3": 50}),
    "fewer are alone": _claim(alone={"1": 0.0, "2": 0.0, "3": 0.0}, smallest={"1": 9, "2": 9, "3": 9}),
    "a record is gone": _fewer_records,
    "less was left out": _cost(suppressed=0),
    "more people have a record": _cost(people_left=62, people=62),
    "another sentence": _said(verdict="Nobody can be found."),
    "no limits": _said(limits=()),
    "less was asked": _said(require={"known": {"records": 1, "k": 2}}),
    "nothing was asked": _said(require={}, requirements=()),
}


@pytest.mark.parametrize("lie", LIES, ids=str)
def test_a_lie_that_is_signed_again_is_found(made: Path, tmp_path: Path, lie: str) -> None:
    assert shoal.verify(forged(made, tmp_path / "same", lambda c, _: c)).ok
    result = shoal.verify(forged(made, tmp_path / "lie", LIES[lie]))
    assert not result.ok


@pytest.mark.parametrize("name", ["data.csv", "plan.json", "report.html", "certificate.json"])
def test_one_changed_byte_is_found(made: Path, tmp_path: Path, name: str) -> None:
    import shutil

    shutil.copytree(made, tmp_path / "x")
    file = tmp_path / "x" / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    assert not shoal.verify(tmp_path / "x").ok


def test_the_certificate_fits_its_published_schema(made: Path) -> None:
    import importlib.resources

    import jsonschema

    file = importlib.resources.files("shoal.model.certificate").joinpath("event_certificate.schema.json")
    jsonschema.validate(json.loads((made / "certificate.json").read_text()), json.loads(file.read_text(encoding="utf-8")))


def test_columns_that_name_people_and_columns_that_nobody_names(trips: Path, tmp_path: Path) -> None:
    rows = written_rows(trips)
    table = {n: [r[n] for r in rows] for n in rows[0]} | {"email": [f"a{i}@example.org" for i in range(len(rows))]}
    asked = policy({"known": {"records": 1, "k": 3}}, time_widths=["week"])
    with pytest.raises(RoleError, match="'email' is called insensitive"):
        shoal.anonymize(table, {**asked, "roles": {"insensitive": ["fare", "email"]}})
    release = shoal.anonymize(table, {**asked, "roles": {"insensitive": ["fare"], "rest": "drop"}})
    assert "email" not in release.certificate.data.columns
    with pytest.raises(InfeasibleError, match="loses least loses"):
        shoal.anonymize(trips, {**asked, "allow": {"suppress": 0.1, "loss": 0.01}})


def written_rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as out:
        return list(csv.DictReader(out))


def test_a_further_column_is_tried(trips: Path) -> None:
    rows = written_rows(trips)
    table = {n: [r[n] for r in rows] for n in rows[0]}
    table["fare"] = [str(i % 97) for i in range(len(rows))]
    found = shoal.anonymize(table, policy({"known": {"records": 1, "k": 3}}, time_widths=["week"])).certificate.attacks
    told = {a.name: a for a in found}["further column: fare"]
    assert told.verdict == "warning"
    assert told.rate > 0.5


@pytest.mark.parametrize("column", ["day", "weekday"])
def test_a_further_column_that_tells_the_time_is_known_with_it(column: str) -> None:
    """Weeks are published, and the day or weekday beside them: somebody who knows when, knows both."""
    rng = np.random.default_rng(3)
    at = [dt.datetime(2024, 1, 1) + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 60 * 24 * 60, 4000)]
    further = {"day": [t.date() for t in at], "weekday": [f"{t:%a}" for t in at]}
    place = [f"s{i}" for i in rng.integers(0, 6, len(at))]
    table = {"card": rng.integers(0, 120, len(at)).tolist(), "at": at, "station": place, column: further[column]}
    table |= {"code": [f"k{p}" for p in place]}
    asked = {
        "events": {"unit": "card", "time": "at", "place": "station", "time_widths": ["week"]},
        "roles": {"insensitive": [column, "code"]},
        "require": ["known[1]>=5"],
    }
    with pytest.raises(VerificationError, match=f"'{column}' follows from the time or place") as stopped:
        _ = shoal.anonymize(table, asked).certificate
    assert "roles.direct" in stopped.value.hint
    allowed = {**asked, "allow": {"identifying": {column: "nobody has the rota"}}}
    verdicts = {a.name: a.verdict for a in shoal.anonymize(table, allowed).certificate.attacks}
    assert verdicts[f"further column: {column}"] == "warning"
    assert verdicts["further column: code"] == "holds"  # the places are exact: their codes add nothing


def commuters(classes: int) -> dict[str, list[object]]:
    """400 people with four trips each; the class of a person is in each record."""
    rng, rows = np.random.default_rng(3), []
    home, klass = rng.integers(0, 12, 400), rng.integers(0, classes, 400)
    for p in range(400):
        place = [home[p] if rng.random() < 0.5 else rng.integers(0, 12) for _ in range(4)]
        rows += [(p, dt.datetime(2026, 3, 2 + d, 8), f"S{s:02d}", f"class {klass[p]}") for d, s in enumerate(place)]
    return dict(zip(("card", "at", "station", "klass"), map(list, zip(*rows, strict=True)), strict=True))


def by_the_column(table: dict[str, list[object]], file: Path) -> list[float]:
    """The best chance for each person by two known records, with code of its own: each pseudonym stands at each point once."""
    there: dict[tuple[str, str], Counter[str]] = {}
    for r in written_rows(file):
        there.setdefault((r["at"][:10], r["station"]), Counter())[r["klass"]] += 1
    people: dict[object, list[tuple[tuple[str, object], object]]] = {}
    for card, at, station, klass in zip(*table.values(), strict=True):
        people.setdefault(card, []).append(((f"{at:%Y-%m-%d}", station), klass))
    out = []
    for records in people.values():
        best, own = 0.0, str(records[0][1])
        for (a, _), (b, _) in combinations(records, 2):
            pairs = {v: there[a][v] * there[b][v] for v in there[a].keys() & there[b].keys()}
            best = max(best, pairs[own] / sum(pairs.values()) / min(there[a][own], there[b][own]))
        out.append(best)
    return out


@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
def test_a_column_of_people_that_joins_their_pseudonyms_stops_the_release(role: str, tmp_path: Path) -> None:
    asked = {
        "events": {"unit": "card", "time": "at", "place": "station", "time_widths": ["day"], "place_levels": ["exact"]},
        "roles": {role: ["klass"]},
        "require": ["known[2]>=5", *(["distinct[klass]>=2"] if role == "sensitive" else [])],
        "allow": {"suppress": 0.6},
    }
    asked["events"]["renew"] = ["every record"]  # type: ignore[index]
    with pytest.raises(VerificationError, match="further columns join: klass") as stopped:
        shoal.anonymize(commuters(100), asked).write(tmp_path / "many")
    assert "roles.direct" in stopped.value.hint
    allowed = {**asked, "allow": {"suppress": 0.6, "identifying": {"klass": "nobody has the lists"}}}
    for classes, verdict in ((100, "warning"), (4, "holds")):
        table = commuters(classes)
        release = shoal.anonymize(table, allowed if classes == 100 else asked)
        release.write(tmp_path / f"of {classes}")
        told = {a.name: a for a in release.certificate.attacks}["further columns join: klass"]
        chances = by_the_column(table, tmp_path / f"of {classes}" / "data.csv")
        assert told.verdict == verdict
        assert told.rate == pytest.approx(np.mean(chances))
        assert f"{sum(c > 0.2 + 1e-9 for c in chances)} are named" in told.sentence
        assert shoal.verify(tmp_path / f"of {classes}").ok
    never = {**asked, "events": {**asked["events"], "renew": ["never"], "time_widths": ["none"]}}  # type: ignore[dict-item]
    assert not [a for a in shoal.anonymize(commuters(4), never).certificate.attacks if "join" in a.name]


@pytest.mark.parametrize(("differ", "same"), [(1, True), (2, False)])
def test_a_column_is_about_people_if_it_is_the_same_for_95_percent(differ: int, same: bool) -> None:
    klass = [f"c{p % 3}" for p in range(20) for _ in range(2)]
    klass[: 2 * differ : 2] = ["other"] * differ
    problem = SimpleNamespace(person=np.repeat(np.arange(20), 2), n=40)
    events: Any = SimpleNamespace(records=pa.table({"klass": klass, "one": ["x"] * 40}), problem=problem, n_people=20)
    assert [attacks._same_for_people(events, name) for name in ("klass", "one")] == [same, False]


def test_a_share_of_people_drawn_at_random_has_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    events = {"unit": "card", "time": "at", "place": "station", "time_widths": ["day"], "place_levels": ["exact"]}
    asked = {"events": {**events, "renew": ["every record"]}, "roles": {"insensitive": ["klass"]}}
    asked |= {"require": ["known[2]>=5"], "allow": {"suppress": 0.6}}
    monkeypatch.setattr(attacks, "MOST_CHOSEN", 50)
    (told,) = [a for a in shoal.anonymize(commuters(4), asked).certificate.attacks if "join" in a.name]
    assert told.low < told.rate < told.high
    assert "Of 50 people" in told.sentence


def test_coordinates_become_corners_of_squares(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    table = {
        "card": rng.integers(0, 30, 400).tolist(),
        "lat": (52 + rng.integers(0, 40, 400) / 100).tolist(),
        "lon": (4 + rng.integers(0, 40, 400) / 100).tolist(),
    }
    asked = {
        "events": {"unit": "card", "place": ["lat", "lon"], "place_levels": ["exact", "grid:0.1", "grid:0.2"]},
        "require": ["known[1]>=5"],
        "allow": {"suppress": 0.05},
    }
    release = shoal.anonymize(table, asked)
    folder = release.write(tmp_path / "out")
    rows = written(folder)
    assert release.certificate.steps.place == "grid:0.1"
    assert {round(float(r["lat"]) * 10, 9) % 1 for r in rows} == {0.0}
    assert len({(r["lat"], r["lon"]) for r in rows}) <= 16
    assert smallest_and_alone(rows, ["lat", "lon"], 1)[0] == release.certificate.after.smallest["1"] >= 5
    found = {a.name: a for a in shoal.attack(folder, with_=table).results}["trail matching"]
    assert found.verdict in ("holds", "warning")
    assert "0 of these with at most 1 known" in found.sentence


KINDS: dict[str, Any] = {
    "flags": [i % 2 == 0 for i in range(60)],
    "formulas": [f"=1+{i % 3}" for i in range(60)],
    "quotes": [f'a"b,{i % 3}' for i in range(60)],
    "empty texts": ["" if i % 3 == 0 else f"x{i % 3}" for i in range(60)],
    "decimals": [i % 3 / 7 for i in range(60)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_places_of_any_kind_come_back_as_they_were_counted(tmp_path: Path, kind: str) -> None:
    table = {"card": [i // 4 for i in range(60)], "place": KINDS[kind]}
    asked = {"events": {"unit": "card", "place": "place", "place_levels": ["exact"]}, "require": ["known[2]>=3"]}
    release = shoal.anonymize(table, asked)
    folder = release.write(tmp_path / "out")
    assert shoal.verify(folder).ok
    found = {a.name: a for a in shoal.attack(folder, with_=table).results}["trail matching"]
    assert "15 fit a pseudonym" in found.sentence  # the list, carried through the plan, meets the published texts

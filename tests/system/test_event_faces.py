"""An event release has the face of every release: frames, plans, earlier releases, objections, pseudonyms of the vault."""

from __future__ import annotations

import csv
import json
import pickle
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from protector_support import House, build
from shoal.cli import main
from shoal.errors import PolicyError, UnreadableError, UsageError
from shoal.protector.pseudonyms.plan_step import using

SEED = 10**18 + 11


@pytest.fixture(scope="module")
def trips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trips of 50 people between 8 stations in three weeks."""
    rng = np.random.default_rng(8)
    weight = np.arange(1, 9) ** -1.0
    file = tmp_path_factory.mktemp("faces") / "trips.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(("card", "at", "station"))
        for _ in range(600):
            at = np.datetime64("2026-03-02T05:00:00") + np.timedelta64(int(rng.integers(0, 21 * 1440)), "m")
            rows.writerow(
                (f"canary{rng.integers(0, 50)}", str(at).replace("T", " "), f"S{rng.choice(8, p=weight / weight.sum())}")
            )
    return file


def policy(require: Any = "known[1]>=3", suppress: float = 0.2, **events: Any) -> dict[str, Any]:
    rules = {"unit": "card", "time": "at", "place": "station", **events}
    return {"events": rules, "require": [require], "allow": {"suppress": suppress, "loss": 1}, "seed": SEED}


def written(folder: Path) -> list[dict[str, str]]:
    with (folder / "data.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(w) for w in words])
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out, out.err


def test_it_is_a_release_like_any_other(trips: Path, tmp_path: Path) -> None:
    release = shoal.anonymize(trips, policy(time_widths=["week"]))
    assert isinstance(release, shoal.Release)
    assert (release.inferred, release.not_kept, release._repr_html_()) == ({}, (), None)
    frame = release.to_pandas()
    folder = release.write(tmp_path / "out")
    rows = [(int(r["card"]), r["at"], r["station"]) for r in written(folder)]
    assert [(c, str(a), s) for c, a, s in frame.itertuples(index=False)] == rows
    assert release.to_arrow().num_rows == release.to_polars().height == len(rows) == release.certificate.after.records
    card = str(release._repr_html_())
    assert "alone with" in card
    assert "<svg" in card
    again = pickle.loads(pickle.dumps(release))
    assert (again.certificate, again.k, again.plan) == (release.certificate, release.k, release.plan)
    with pytest.raises(UsageError, match="pickled"):
        again.write(tmp_path / "again")
    assert not (tmp_path / "again").exists()
    assert str(SEED) not in repr(again.__dict__)


def test_a_plan_is_carried_out_again_and_everything_is_counted(trips: Path, tmp_path: Path) -> None:
    first = shoal.anonymize(trips, policy(time_widths=["week"], renew="5 records", most_records=[9], suppress=0.9))
    first.write(tmp_path / "a")
    again = shoal.anonymize(trips, policy(suppress=0.9), plan=tmp_path / "a" / "plan.json")
    assert again.plan == first.plan
    again.write(tmp_path / "b")
    assert (tmp_path / "a" / "data.csv").read_bytes() == (tmp_path / "b" / "data.csv").read_bytes()
    assert (again.certificate.cost.shapes, again.certificate.cost.tried) == (1, 1)
    with pytest.raises(shoal.errors.InfeasibleError):  # the plan of 3 does not do for 60 people
        shoal.anonymize(trips, policy("known[1]>=60"), plan=tmp_path / "a" / "plan.json")
    other = policy(suppress=0.9)
    other["events"] = {"unit": "card", "place": "station"}
    with pytest.raises(PolicyError, match="other columns"):
        shoal.anonymize(trips, {**other, "roles": {"rest": "drop"}}, plan=tmp_path / "a" / "plan.json")
    with pytest.raises(PolicyError, match="not of format"):
        shoal.anonymize(trips, policy(), plan=tmp_path / "a" / "certificate.json")
    with pytest.raises(UnreadableError, match="cannot be read"):
        shoal.anonymize(trips, policy(), plan=tmp_path / "none.json")
    with pytest.raises(PolicyError):  # and the reverse: an event plan for a table of people
        shoal.anonymize(trips, quasi=["station"], direct=["card", "at"], k=2, plan=tmp_path / "a" / "plan.json")


def test_a_cut_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("a;ab;*\nb;ab;*\nc;cd;*\nd;cd;*\n")
    table = {"who": [1, 2, 3, 4, 5, 6], "where": ["a", "a", "a", "c", "d", "c"]}
    rules = {"unit": "who", "place": "where", "hierarchy": {"where": str(tmp_path / "tree.csv")}, "place_levels": ["cut"]}
    asked = {"events": rules, "require": ["known[1]>=3"], "allow": {"loss": 1}}
    release = shoal.anonymize(table, asked)
    release.write(tmp_path / "out")
    with pytest.raises(PolicyError, match="cannot be repeated") as stop:
        shoal.anonymize(table, asked, plan=tmp_path / "out" / "plan.json")
    assert "place_levels: [cut]" in str(stop.value.hint)


def in_duckdb(trips: Path, place: Path) -> str:
    import duckdb

    with duckdb.connect(str(place / "trips.duckdb")) as db:
        db.execute(f"create table trips as select * from read_csv('{trips}')")
    return f"duckdb:///{place / 'trips.duckdb'}::trips"


def tables_of(source: str) -> list[str]:
    import duckdb

    with duckdb.connect(source[len("duckdb:///") :].partition("::")[0]) as db:
        return sorted(n for (n,) in db.execute("select table_name from information_schema.tables").fetchall())


def test_a_release_becomes_a_table_of_the_database(trips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder has plan, certificate and report; the table is proven with it, and one changed cell is noticed."""
    import duckdb

    source, file, out = in_duckdb(trips, tmp_path), tmp_path / "p.yml", tmp_path / "out"
    file.write_text(json.dumps(policy(time_widths=["week"], flows=True)))
    code, text, _ = run(capsys, "anonymize", source, "--policy", file, "--out", out, "--to-table", "safe", "--no-ledger")
    assert (code, "--table" in text) == (0, True)
    assert sorted(p.name for p in out.iterdir()) == ["certificate.json", "flows.parquet", "plan.json", "report.html"]
    place = source.replace("::trips", "::safe")
    assert run(capsys, "verify", out, "--table", place)[0] == 0
    assert run(capsys, "verify", out)[0] == 1
    code, _, err = run(capsys, "attack", out)
    assert (code, "table of a database" in err) == (2, True)
    again = run(capsys, "anonymize", source, "--policy", file, "--out", tmp_path / "out2", "--to-table", "safe", "--no-ledger")
    assert (again[0], "already there" in again[2], (tmp_path / "out2").exists()) == (3, True, False)
    with duckdb.connect(source[len("duckdb:///") :].partition("::")[0]) as db:
        rows = db.execute("select count(*) from safe").fetchall()[0][0]
        assert rows == json.loads((out / "certificate.json").read_text())["derived"]["after"]["records"]
        db.execute("update safe set station = 'X' where rowid = 3")
    found = run(capsys, "verify", out, "--table", place)
    assert (found[0], "was changed after the certificate was signed" in " ".join(found[1].split())) == (1, True)


def test_no_table_without_its_folder(trips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails after the table was made drops it; a file has no table beside it."""
    from shoal.errors import UsageError
    from shoal.release.events import release as module

    source = in_duckdb(trips, tmp_path)

    with shoal.open(source) as table:
        made = shoal.anonymize(table, policy(time_widths=["week"]), to_table="safe")
        with pytest.raises(UsageError, match="once it is written"):
            _ = made.certificate
        rows = []

        def broken(*_: object, **__: object) -> None:
            rows.append(table.neighbour("safe").n_rows())
            raise OSError

        monkeypatch.setattr(module, "seal", broken)
        with pytest.raises(OSError):
            made.write(tmp_path / "out")
    assert rows[0] > 0
    assert (tables_of(source), (tmp_path / "out").exists()) == (["trips"], False)
    with pytest.raises(UsageError, match="needs a table in a database"):
        shoal.anonymize(trips, policy(), to_table="safe")


def test_the_list_of_objections_is_confirmed(trips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed, other = tmp_path / "no.txt", tmp_path / "other.txt"
    listed.write_text("canary1\ncanary2\nnobody\n")
    other.write_text("canary1\ncanary3\n")
    shoal.anonymize(trips, policy(time_widths=["week"]), exclude=listed).write(tmp_path / "out")
    code, out, _ = run(capsys, "verify", tmp_path / "out", "--exclude", listed)
    assert (code, "the list of 3 people is the one" in " ".join(out.split()), "canary" in out) == (0, True, False)
    assert run(capsys, "verify", tmp_path / "out", "--exclude", other)[0] == 1
    assert run(capsys, "verify", tmp_path / "out", "--exclude", listed, "--private", tmp_path / "out.private.json")[0] == 0
    shoal.anonymize(trips, policy(time_widths=["week"])).write(tmp_path / "without")
    found = shoal.verify(tmp_path / "without", exclude=["canary1"])
    assert [c.name for c in found.failed] == ["objections"]


def joined_alone(new: list[dict[str, str]], old: list[dict[str, str]], s: int) -> float:
    """The share of the sets of s records, of both releases together, that one pseudonym alone has: mean over the pseudonyms."""
    both = [(r.pop("card"), (i, *r.values())) for i, rows in enumerate((new, old)) for r in rows]
    traces = [{point for name, point in both if name == who} for who in {name for name, _ in both}]
    shares = []
    for own in traces:
        sets = [set(c) for c in combinations(sorted(own), min(s, len(own)))]
        shares.append(sum(sum(c <= t for t in traces) == 1 for c in sets) / len(sets))
    return sum(shares) / len(shares)


def test_earlier_releases_are_joined_before_anything_is_written(trips: Path, tmp_path: Path) -> None:
    first = shoal.anonymize(trips, policy(time_widths=["week"]))
    first.write(tmp_path / "first")
    second = shoal.anonymize(trips, {**policy(time_widths=["week"]), "seed": SEED + 1}, previous=[tmp_path / "first"])
    second.write(tmp_path / "second")
    found = {a.name: a for a in second.certificate.attacks}["earlier release: first"]
    assert (found.verdict, found.claimed) == ("warning", None)
    assert found.rate is not None
    assert 0.3 < found.rate <= 1  # the same records under other pseudonyms: most stand out
    outside = shoal.attack(tmp_path / "second", previous=tmp_path / "first")
    again = {a.name: a for a in outside.results}["earlier release: first"]
    assert (again.rate, again.sentence) == (found.rate, found.sentence)
    assert shoal.verify(tmp_path / "second").ok
    coarse = shoal.anonymize(trips, policy(time_widths=["none"], place_levels=["prefix:1"]), previous=[tmp_path / "first"])
    told = {a.name: a for a in coarse.certificate.attacks}["earlier release: first"]
    assert (told.verdict, "published alike" in told.sentence) == ("not run", True)
    with pytest.raises(UsageError, match="not the folder of an event release"):
        shoal.anonymize(trips, policy(), previous=[tmp_path])


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("vault")
    made = build(str(folder / "v.vault"), folder)
    made.owner.create_domain("study")
    made.owner.create_domain("visits", scope="transaction")
    yield made
    made.vault.close()


def test_pseudonyms_of_the_vault_lead_back_to_the_right_people(trips: Path, house: House, tmp_path: Path) -> None:
    release = shoal.anonymize(trips, policy(time_widths=["week"], vault="study"))
    with using(house.operator):
        folder = release.write(tmp_path / "out")
    made = release.certificate
    assert made.steps.vault == release.plan.vault == "study"
    assert any("of a vault" in text for text in made.limits)
    rows = written(folder)
    names = sorted({r["card"] for r in rows})
    back = house.reveal("study", names[:5])
    true = defaultdict(set)
    with trips.open(newline="", encoding="utf-8") as file:
        for r in csv.DictReader(file):
            true[r["card"]].add(r["station"])
    for name in names[:5]:
        assert {r["station"] for r in rows if r["card"] == name} <= {*true[str(back[name])], "*"}
    assert shoal.verify(folder).ok
    assert "canary" not in "".join(p.read_text() for p in folder.iterdir())
    with using(house.operator):  # the same names again: two releases of one domain are joined by them
        later = shoal.anonymize(trips, policy("known[2]>=2", time_widths=["none"], vault="study"), previous=[folder])
        later.write(tmp_path / "later")
    found = {a.name: a for a in later.certificate.attacks}["earlier release: out"]
    assert found.verdict == "warning"
    assert found.rate == 1.0
    assert {r["card"] for r in written(tmp_path / "later")} == set(names)
    share = joined_alone(written(tmp_path / "later"), rows, 2)
    assert 0 < share < 1
    assert f"{100 * share:.3g} % of the joined are alone with 2 known records" in found.sentence


def test_renewed_pseudonyms_of_the_vault(trips: Path, house: House, tmp_path: Path) -> None:
    renewed = policy(time_widths=["none"], renew="4 records", suppress=0.5)
    with using(house.operator):
        release = shoal.anonymize(trips, {**renewed, "events": {**renewed["events"], "vault": "visits"}})
        folder = release.write(tmp_path / "out")
        rows = written(folder)
        assert max(Counter(r["card"] for r in rows).values()) <= 4
        assert release.certificate.after.traces == len({r["card"] for r in rows})
        names = sorted({r["card"] for r in rows})
        back = house.reveal("visits", names)
        assert max(Counter(back.values()).values()) > 1  # several of one person, and the vault knows whose
        assert set(back.values()) <= {f"canary{i}" for i in range(50)}
        with pytest.raises(PolicyError, match="gives a person one pseudonym"):
            shoal.anonymize(trips, {**renewed, "events": {**renewed["events"], "vault": "study"}}).write(tmp_path / "x")
        with pytest.raises(UsageError, match="is not in"):
            shoal.anonymize(trips, policy(vault="none")).write(tmp_path / "x")
        spelled = {"who": ["a", "a ", "b"] * 2, "where": ["x"] * 6}  # one person for the domain, two for the table
        twice = {"events": {"unit": "who", "place": "where", "vault": "study"}, "require": ["known[1]>=2"], "allow": {"loss": 1}}
        with pytest.raises(PolicyError, match="same pseudonym"):
            shoal.anonymize(spelled, twice).write(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_mask_of_a_direct_identifier_is_refused(trips: Path) -> None:
    for mask in ({"vault": "study"}, {"mask": "pseudonym"}):
        with pytest.raises(PolicyError, match="publishes no direct identifier"):
            shoal.anonymize(trips, {**policy(), "roles": {"direct": {"name": mask}}})
    assert shoal.Policy.of({**policy(), "roles": {"direct": {"name": {"mask": "drop"}}}}).direct == {"name": "drop"}

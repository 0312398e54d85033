"""The studio beyond one dropped table: a named database, event releases, an earlier release dropped in, a pilot's answers."""

from __future__ import annotations

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import shoal
from shoal.release.policy.policy import Policy
from studio_support import Visitor, decided, ended, linked_tables, served

SECRET = "s3cret-of-the-reader"


def trips(path: Path) -> Path:
    """People with a few records each, at few places and days: something of it can be released."""
    rng = np.random.default_rng(3)
    n, people = 1200, 60
    table = pa.table(
        {
            "card": rng.integers(1, people + 1, n),
            "day": (np.datetime64("2026-03-02") + rng.integers(0, 7, n)).astype("datetime64[D]"),
            "station": [f"S{i}" for i in rng.integers(0, 4, n)],
            "note": [f"note of {i}" for i in range(n)],
        }
    )
    pa_csv.write_csv(table, path)
    return path


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Visitor, Path]]:
    folder = tmp_path_factory.mktemp("sources")
    with served(folder / "kept") as (address, app):
        visitor = Visitor(address)
        assert visitor.enter(app.state.door.code).status_code == 200
        try:
            yield visitor, folder
        finally:
            visitor.close()


def test_a_table_of_a_named_database(studio: tuple[Visitor, Path]) -> None:
    visitor, folder = studio
    with duckdb.connect(str(folder / "clinic.duckdb")) as db:
        db.execute("CREATE TABLE people AS SELECT i % 7 AS age, i % 2 AS sex, 'p' || i AS name FROM range(60) t(i)")
        db.execute("CREATE TABLE nobody (age INTEGER)")
    assert "No database is configured yet" in visitor.get("/").text
    settings = folder / "kept" / "databases.toml"
    lines = f'clinic = "duckdb://{folder / "clinic.duckdb"}"\ngone = "postgresql://reader:{SECRET}@127.0.0.1:1/x"\n'
    settings.write_text(lines, encoding="utf-8")
    settings.chmod(0o640)
    assert "others on this computer can read databases.toml" in visitor.get("/").text
    settings.chmod(0o600)
    page = visitor.get("/").text
    assert re.findall(r"<option>(\w+)</option>", page) == ["clinic", "gone"]
    assert SECRET not in page
    assert str(folder) not in page
    for name, table in (("clinic", "nowhere"), ("clinic", "nobody"), ("gone", "people"), ("other", "people"), ("clinic", "a::b")):
        refused = visitor.post("/databases", database=name, table=table)
        assert refused.status_code == (502 if name == "gone" else 400), (name, table)
        assert "<dt>Found</dt>" in refused.text
        assert SECRET not in refused.text
        assert "table-card" not in refused.text, "nothing is kept"
    page = visitor.post("/databases", database="clinic", table="main.people")
    key = re.search(r"/t/([0-9a-f]{16})/", str(page.url))
    assert key is not None, page.text
    measured = shoal.measure({"age": [i % 7 for i in range(60)], "sex": [i % 2 for i in range(60)]}, quasi=["age", "sex"])
    assert f"{measured.unique:,} of 60 people" in visitor.get(f"/t/{key[1]}/measure").text or measured.unique == 0
    kept = list((folder / "kept" / "tables" / key[1]).iterdir())
    assert [p.suffix for p in kept] == [".parquet"]
    assert shoal.open(kept[0]).n_rows() == 60
    settings.write_text('clinic = "file:///etc/passwd"\n', encoding="utf-8")
    assert "have no address that is known" in visitor.get("/").text
    settings.unlink()
    visitor.post("/kept/delete", sure="1")


def test_an_event_release_and_an_earlier_one_dropped_in(studio: tuple[Visitor, Path], tmp_path: Path) -> None:
    visitor, folder = studio
    table = visitor.bring(trips(tmp_path / "trips.csv"))
    visitor.post(f"/t/{table}/unit", column="0")
    page = visitor.get(f"/t/{table}/events?time=1&place=2").text
    assert 'action="/t/' + table + '/event-release"' in page
    asked = {"time": "1", "place": "2", "records": "2", "k": "5", "suppress": "20", "format": "csv"}
    for wrong in ({"records": "0"}, {"records": "5"}, {"k": "1"}, {"place": "1"}, {"suppress": "101"}, {"format": "exe"}):
        assert visitor.post(f"/t/{table}/event-release", **(asked | wrong)).status_code == 400, wrong
    page = ended(visitor, visitor.post(f"/t/{table}/event-release", **asked))
    said = re.search(r"any 2 known records of a person are shared by at least (\d+) people", page.text)
    assert said is not None, page.text
    assert int(said[1]) >= 5
    page = decided(visitor, page)
    release = re.search(r'href="/r/([0-9a-f]{16})/([^"]+)\.zip"', page.text)
    assert release is not None
    packed = visitor.http.get(f"/r/{release[1]}/{release[2]}.zip").content
    with zipfile.ZipFile(BytesIO(packed)) as found:
        found.extractall(tmp_path / "out")
    (made,) = (tmp_path / "out").iterdir()
    assert shoal.verify(made).ok
    assert "note of" not in (made / "data.csv").read_text(encoding="utf-8"), "a column that nobody called harmless is left out"
    policy = tmp_path / "policy.yml"
    policy.write_bytes(visitor.http.get(f"/r/{release[1]}/policy.yml").content)
    assert "seed" not in policy.read_text(encoding="utf-8")
    command = re.search(r'id="repeat-command"[^>]*>([^<]+)<', page.text)
    assert command is not None
    sent = visitor.post(f"/r/{release[1]}/policy-with-seed.yml")
    assert sent.headers["cache-control"] == "no-store"
    (tmp_path / "policy-with-seed.yml").write_bytes(sent.content)
    assert replace(Policy.parse(sent.text), seed=0) == Policy.parse(policy.read_text(encoding="utf-8")), "nothing else is new"
    assert visitor.http.get(f"/r/{release[1]}/policy-with-seed.yml").status_code in (404, 405), "no link gives the seed"
    unsigned = visitor.http.post(f"/r/{release[1]}/policy-with-seed.yml", data={"token": "x"})
    assert unsigned.status_code == 403
    run = [sys.executable, "-m", "shoal.cli", *shlex.split(command[1])[1:]]
    subprocess.run(run, check=True, capture_output=True, cwd=tmp_path)
    for name in ("data.csv", "plan.json", "report.html"):
        assert (tmp_path / release[2] / name).read_bytes() == (made / name).read_bytes(), "the command line repeats it"
    shutil.rmtree(tmp_path / release[2])
    before = sorted(os.listdir(folder / "kept" / "releases"))
    token = {"token": visitor.token()}
    bad = visitor.http.post(f"/r/{release[1]}/earlier-file", data=token, files={"file": ("x.zip", b"PK nothing")})
    assert bad.status_code == 400
    sent = visitor.http.post(f"/r/{release[1]}/earlier-file", data=token, files={"file": ("x.zip", packed)})
    page = ended(visitor, sent)
    direct = shoal.attack(made, previous=[made])
    assert "The last try:" in page.text
    assert ("✓ holds" in page.text.split("The last try:")[0].rpartition("Try harder")[2]) is direct.holds
    for result in direct.results:
        assert f"<strong>{result.name}</strong> ({result.verdict})" in page.text
    assert sorted(os.listdir(folder / "kept" / "releases")) == before, "what was dropped is gone after it was tried"
    paper = visitor.get(f"/r/{release[1]}/sign").text
    assert "<dt>Replaced by pseudonyms</dt><dd><bdi>card</bdi></dd>" in paper
    signed = ended(visitor, visitor.post(f"/r/{release[1]}/sign", approved_by="M. Okafor", no_ledger="1")).text
    assert " to decide</h2>" not in signed, "the same random choices, so the same findings, which are decided"
    newer = re.search(r'href="/r/([0-9a-f]{16})/([^"]+)\.zip"', signed)
    assert newer is not None
    with zipfile.ZipFile(BytesIO(visitor.http.get(f"/r/{newer[1]}/{newer[2]}.zip").content)) as found:
        assert b"M. Okafor" in found.read(f"{newer[2]}/certificate.json")
    assert "In the release any 2 known records" in visitor.get("/").text
    visitor.post("/kept/delete", sure="1")


def test_a_pilot_gives_shares_and_dependence(studio: tuple[Visitor, Path], tmp_path: Path) -> None:
    visitor, _ = studio
    people = shoal.datasets.people(400, seed=5).select(["sex", "education", "name"])
    pilot = tmp_path / "pilot.csv"
    pa_csv.write_csv(people, pilot)
    table = visitor.bring(pilot)
    visitor.get(f"/t/{table}/measure")
    page = visitor.post("/questions", table=table, population="20000", respondents="700")
    key = re.search(r"/questions/([0-9a-f]{16})", str(page.url))
    assert key is not None, page.text
    told = visitor.http.get(f"/questions/{key[1]}/meter.json").json()
    direct = shoal.design(None, pilot=pilot, columns=["sex", "education"], population=20_000, respondents=700)
    assert told["value"] == pytest.approx(direct.unique.value)
    text = visitor.http.get(f"/questions/{key[1]}/questions.yml").text
    assert table not in text, "the file means the same elsewhere"
    alone = tmp_path / "questions.yml"
    alone.write_text(text, encoding="utf-8")
    assert shoal.design(alone, pilot=pilot).unique.value == pytest.approx(told["value"])
    visitor.post(f"/questions/{key[1]}/pilot", table="")
    without = visitor.http.get(f"/questions/{key[1]}/meter.json").json()
    assert without["value"] == pytest.approx(shoal.design(alone).unique.value)
    assert without["value"] != told["value"]
    assert visitor.post(f"/questions/{key[1]}/pilot", table="0" * 16).status_code == 404
    visitor.post(f"/questions/{key[1]}/add", name="colour", how="values", values="3", text="")
    page = visitor.post(f"/questions/{key[1]}/pilot", table=table)
    assert "This cannot be measured yet." in page.text, "the pilot has no such column"
    visitor.post(f"/t/{table}/delete")
    assert "This cannot be measured yet." in visitor.get(f"/questions/{key[1]}").text, "the pilot was deleted"
    visitor.post("/kept/delete", sure="1")


def one_of_a_kind(
    person: Path, visits: Path, people: Callable[[dict[str, str]], Any], row: Callable[[dict[str, str]], Any]
) -> int:
    """People whose attributes and rows nobody else has, counted without the library."""
    with person.open(encoding="utf-8") as file:
        known = {r["person_id"]: people(r) for r in csv.DictReader(file)}
    rows: dict[str, list[Any]] = {key: [] for key in known}
    with visits.open(encoding="utf-8") as file:
        for r in csv.DictReader(file):
            rows.get(r["patient_id"], []).append(row(r))
    told = [(known[key], tuple(sorted(rows[key]))) for key in known]
    return sum(told.count(one) == 1 for one in told)


def test_linked_tables_are_measured_and_released_together(studio: tuple[Visitor, Path], tmp_path: Path) -> None:
    visitor, _ = studio
    files = linked_tables(tmp_path)
    person, visits = (visitor.bring(file) for file in files)
    for table, role in ((person, "quasi"), (visits, "quasi")):
        names = re.findall(r"^    ([a-z_]+):", visitor.http.get(f"/t/{table}/policy.yml").text, re.M)
        assert "sex" in names, "both name the sex"
        visitor.post(f"/t/{table}/role", column="1", role=role)
    visitor.post(f"/t/{person}/role", column="0", role="direct")
    visitor.post(f"/t/{person}/role", column="2", role="sensitive")
    page = visitor.get("/linked").text
    assert f'name="t.{person}"' in page
    assert "Write the release" not in page
    ticked = f"/linked?t.{person}=1&t.{visits}=1"
    page = visitor.get(ticked).text
    assert re.search(rf'name="key\.{person}".*?<option value="0" selected>', page), "the finder proposes the person column"
    assert re.search(rf'name="key\.{visits}".*?<option value="0" selected>', page)
    assert "1 rows of table &#39;visits&#39; belong to 1 people who are not in &#39;person&#39;" in page
    page = visitor.get(f"{ticked}&orphans=1").text
    alone = one_of_a_kind(*files, lambda r: r["sex"], lambda r: (r["ward"], r["sex"]))
    assert re.search(rf"{alone or 'Nobody'} of 60 people", page), page
    asked = {**{f"t.{t}": "1" for t in (person, visits)}, f"key.{person}": "0", f"key.{visits}": "0", "person": person}
    asked |= {"k": "5", "known": "", "suppress": "0", "orphans": "1", "format": "csv", "no_ledger": "1"}
    for wrong in ({"k": "1"}, {"suppress": "101"}, {f"key.{visits}": "9"}, {"known": "5"}, {"format": "exe"}, {"orphans": ""}):
        answer = visitor.post("/linked/release", **(asked | wrong))
        failed = answer.status_code == 400 or "not in &#39;person&#39;" in ended(visitor, answer).text
        assert failed, wrong
    page = decided(visitor, ended(visitor, visitor.post("/linked/release", **asked)))
    assert "in 2 tables together everyone hides among at least" in page.text, page.text
    release = re.search(r'href="/r/([0-9a-f]{16})/([^"]+)\.zip"', page.text)
    assert release is not None
    with zipfile.ZipFile(BytesIO(visitor.http.get(f"/r/{release[1]}/{release[2]}.zip").content)) as found:
        found.extractall(tmp_path / "out")
    (made,) = (tmp_path / "out").iterdir()
    assert shoal.verify(made).ok
    rows = one_of_a_kind(made / "person.csv", made / "visits.csv", lambda r: r["sex"], lambda r: (r["ward"], r["sex"]))
    assert rows == 0
    assert "P0" not in (made / "person.csv").read_text(encoding="utf-8") + (made / "visits.csv").read_text(encoding="utf-8")
    assert "Generalized in person" in visitor.get(f"/r/{release[1]}/sign").text
    assert "In the release in 2 tables together" in visitor.get("/").text
    (tmp_path / "policy.yml").write_bytes(visitor.http.get(f"/r/{release[1]}/policy.yml").content)
    command = re.search(r'id="repeat-command"[^>]*>([^<]+)<', page.text)
    assert command is not None
    subprocess.run(
        [sys.executable, "-m", "shoal.cli", *shlex.split(command[1])[1:]], check=True, capture_output=True, cwd=tmp_path
    )
    again = shoal.verify(tmp_path / release[2])
    assert again.ok
    # signed after the findings: the same tables again, with the approval in the certificate
    page = ended(visitor, visitor.post(f"/r/{release[1]}/sign", approved_by="M. Okafor", no_ledger="1"))
    signed = decided(visitor, page).text
    assert 'value="M. Okafor"' in signed
    newer = re.search(r'href="/r/([0-9a-f]{16})/([^"]+)\.zip"', signed)
    assert newer is not None
    assert newer[1] != release[1]
    certificate = visitor.http.get(f"/r/{newer[1]}/{newer[2]}.zip").content
    with zipfile.ZipFile(BytesIO(certificate)) as found:
        assert b"M. Okafor" in found.read(f"{newer[2]}/certificate.json")
    assert visitor.get(f"/t/{person}/improve").status_code == 200, (
        "a release of several tables does not stop the table's own pages"
    )
    visitor.post("/kept/delete", sure="1")

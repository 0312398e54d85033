"""The commands end to end: three commands from a CSV to a verified release, formats, reuse, the gate, exit codes."""

from __future__ import annotations

import csv
import gc
import json
import re
import shlex
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from release_forging import plain_certificate
from shoal.cli import main

POLICY = """\
title: Test release
roles:
  quasi: {age: {}, zip: {hierarchy: {mask: right}}, sex: {}}
  sensitive: [illness]
  insensitive: [cost]
  direct: [name]
require: {k: 5}
allow: {suppress: 0.1}
"""


def people(path, n=400, seed=1, sep=","):
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, delimiter=sep)
        writer.writerow(["name", "age", "zip", "sex", "illness", "cost"])
        for i in range(n):
            writer.writerow(
                [
                    f"Person{i} Surname{i}",
                    rng.integers(18, 80),
                    f"{rng.integers(1000, 1060)}",
                    rng.choice(["f", "m"]),
                    rng.choice(["flu", "cold", "hiv"]),
                    rng.integers(1, 900),
                ]
            )
    return path


def run(capsys, *words):
    """Exit code, stdout and stderr of one command."""
    with pytest.raises(SystemExit) as end:
        main([str(w) for w in words])
    said = capsys.readouterr()
    return int(end.value.code or 0), said.out, said.err


@pytest.fixture
def table(tmp_path):
    return people(tmp_path / "people.csv")


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.yml"
    path.write_text(POLICY)
    return path


def test_three_commands_from_a_csv_to_a_verified_release(tmp_path, table, capsys):
    """A newcomer: draft, release, verify."""
    code, out, _ = run(capsys, "anonymize", table, "--draft", tmp_path / "policy.yml")
    assert code == 0, out
    draft = (tmp_path / "policy.yml").read_text()
    assert "name" in draft
    assert "Person1" not in draft
    code, out, err = run(capsys, "anonymize", table, "--policy", tmp_path / "policy.yml", "--out", tmp_path / "release")
    assert code == 0, err
    assert "counted again" in out
    code, out, _ = run(capsys, "verify", tmp_path / "release")
    assert code == 0, out
    assert out.strip().endswith("Verified.")


def test_json_keys_that_stay(tmp_path, table, policy, capsys):
    policy.write_text(f"{POLICY}\nmethod: lattice\n")
    code, out, err = run(capsys, "anonymize", table, "--policy", policy, "--out", tmp_path / "release", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert {"k", "records", "suppressed", "loss", "levels", "method", "seconds", "verified"} <= set(told)
    assert told["verified"] is True
    assert told["k"] >= 5
    assert set(told["levels"]) == {"age", "zip", "sex"}
    assert sorted(p.name for p in (tmp_path / "release").iterdir()) == [
        "certificate.json",
        "data.csv",
        "plan.json",
        "report.html",
    ]
    code, out, _ = run(capsys, "verify", tmp_path / "release", "--json")
    assert code == 0
    assert json.loads(out)["verified"] is True


@pytest.mark.parametrize("form", ["parquet", "arrow", "excel", "spss", "stata"])
def test_formats(tmp_path, table, policy, capsys, form):
    if form == "excel":
        pytest.importorskip("openpyxl")
        pytest.importorskip("xlsxwriter")
    if form in ("spss", "stata"):
        pytest.importorskip("pyreadstat")
    code, _, err = run(capsys, "anonymize", table, "--policy", policy, "--out", tmp_path / "release", "--format", form)
    assert code == 0, err
    assert run(capsys, "verify", tmp_path / "release")[0] == 0


def test_a_plan_is_reused_on_new_data_and_checked_again(tmp_path, table, policy, capsys):
    policy.write_text(f"{POLICY}\nmethod: lattice\n")
    assert run(capsys, "anonymize", table, "--policy", policy, "--out", tmp_path / "first")[0] == 0
    plan = tmp_path / "first" / "plan.json"
    more = people(tmp_path / "more.csv", n=600, seed=2)
    code, out, err = run(capsys, "anonymize", more, "--policy", policy, "--out", tmp_path / "second", "--plan", plan, "--json")
    assert code == 0, err
    assert json.loads(out)["method"] == "given plan"
    first, second = (json.loads((tmp_path / n / "plan.json").read_text())["steps"] for n in ("first", "second"))
    assert {json.dumps(s, sort_keys=True) for s in first} == {json.dumps(s, sort_keys=True) for s in second}
    assert run(capsys, "verify", tmp_path / "second")[0] == 0
    few = people(tmp_path / "few.csv", n=25, seed=3)
    code, _, err = run(capsys, "anonymize", few, "--policy", policy, "--out", tmp_path / "third", "--plan", plan)
    assert code == 1, err
    assert not (tmp_path / "third").exists()


def test_exit_codes_and_next_steps(tmp_path, table, policy, capsys):
    out = tmp_path / "out"
    code, _, err = run(capsys, "anonymize", table, "--policy", tmp_path / "none.yml", "--out", out)
    assert code == 3
    code, _, err = run(capsys, "anonymize", tmp_path / "none.csv", "--policy", policy, "--out", out)
    assert code == 3, err
    policy.write_text(POLICY.replace("  direct: [name]\n", ""))
    code, _, err = run(capsys, "anonymize", table, "--policy", policy, "--out", out)
    assert code == 2
    assert "undecided: name (looks direct" in err
    policy.write_text(POLICY.replace("k: 5", "k: 5000"))
    assert run(capsys, "anonymize", table, "--policy", policy, "--out", out)[0] == 1
    policy.write_text(POLICY.replace("k: 5", "k: 0"))
    assert run(capsys, "anonymize", table, "--policy", policy, "--out", out)[0] == 2
    policy.write_text(POLICY)
    out.mkdir()
    (out / "mine.txt").write_text("do not touch")
    code, _, err = run(capsys, "anonymize", table, "--policy", policy, "--out", out)
    assert code == 3
    assert "exists already" in err
    assert [p.name for p in out.iterdir()] == ["mine.txt"]
    assert run(capsys, "anonymize", table)[0] == 2
    assert run(capsys, "verify", tmp_path / "nothing")[0] == 3
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".shoal")]


def test_a_signing_key_from_a_file(tmp_path, table, policy, capsys):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = tmp_path / "release.key"
    key.write_bytes(Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    key.chmod(0o644)
    code, _, err = run(capsys, "anonymize", table, "--policy", policy, "--out", tmp_path / "out", "--key", key)
    assert code == 2
    assert "chmod 600" in err
    key.chmod(0o600)
    code, out, err = run(capsys, "anonymize", table, "--policy", policy, "--out", tmp_path / "out", "--key", key, "--json")
    assert code == 0, err
    mark = json.loads(out)["key"]["fingerprint"]
    assert run(capsys, "verify", tmp_path / "out", "--key", mark)[0] == 0
    assert run(capsys, "verify", tmp_path / "out", "--key", "0000-0000-0000-0000")[0] == 1


@pytest.mark.parametrize("form", ["text", "json", "junit", "sarif", "md"])
def test_the_gate_in_every_format(tmp_path, table, policy, capsys, form):
    code, out, _ = run(capsys, "check", table, "--policy", policy, "--format", form)
    assert code == 1
    assert "Person1" not in out
    if form == "json":
        told = json.loads(out)
        assert told["ok"] is False
        assert told["k"] == 1
        assert told["members_below"] > 0
    if form == "junit":
        suite = ET.fromstring(out)
        assert int(suite.get("failures")) == len(suite.findall(".//failure")) == 2
    if form == "sarif":
        log = json.loads(out)
        assert log["version"] == "2.1.0"
        assert {r["ruleId"] for r in log["runs"][0]["results"]} == {"k", "direct"}
    assert run(capsys, "anonymize", table, "--policy", policy, "--out", tmp_path / "out")[0] == 0
    code, out, err = run(capsys, "check", tmp_path / "out" / "data.csv", "--policy", policy, "--format", form)
    assert code == 0, out + err


def test_people_are_counted_not_rows(tmp_path, capsys):
    """Visits: five rows of one person are one person."""
    path = tmp_path / "visits.csv"
    rng = np.random.default_rng(4)
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["person", "region", "sex", "illness"])
        for person in range(60):
            region, sex = rng.integers(0, 6), rng.choice(["f", "m"])
            for _ in range(5):
                writer.writerow([f"id{person}", f"r{region}", sex, rng.choice(["a", "b", "c"])])
    policy = tmp_path / "policy.yml"
    policy.write_text(
        "roles: {quasi: [region, sex], sensitive: [illness]}\nunit: person\nrequire: {k: 6}\nallow: {suppress: 0.3}\n"
    )
    code, out, err = run(capsys, "anonymize", path, "--policy", policy, "--out", tmp_path / "out", "--json")
    assert code == 0, err
    told = json.loads(out)
    made = plain_certificate(tmp_path / "out")
    assert told["k"] >= 6
    assert made["after_people"]["k"] == told["k"]
    assert made["after"]["k"] >= 5 * told["k"]
    with (tmp_path / "out" / "data.csv").open(newline="") as source:
        rows = list(csv.DictReader(source))
    assert "person" not in rows[0]
    assert run(capsys, "verify", tmp_path / "out")[0] == 0


@pytest.mark.parametrize("form", ["text", "json", "junit", "sarif", "md"])
def test_the_gate_takes_several_tables(tmp_path, table, policy, capsys, form):
    policy.write_text(POLICY.replace("k: 5", "k: 2").replace("  direct: [name]\n", "").replace("[cost]", "[cost, name]"))
    more = people(tmp_path / "more.csv", n=50, seed=5)
    code, out, err = run(capsys, "check", table, more, "--policy", policy, "--format", form)
    assert code == 1, err
    if form == "json":
        assert [t["records"] for t in json.loads(out)["tables"]] == [400, 50]
    if form == "junit":
        assert len(ET.fromstring(out).findall("testsuite")) == 2
    if form == "sarif":
        (run_,) = json.loads(out)["runs"]
        names = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run_["results"]}
        assert names == {"people.csv", "more.csv"}
        rules = [r["id"] for r in run_["tool"]["driver"]["rules"]]
        assert len(rules) == len(set(rules))
        assert all(rules[r["ruleIndex"]] == r["ruleId"] for r in run_["results"])


def test_the_gate_stays_well_formed_with_any_column_name():
    """XML cannot hold control characters, Markdown cells end at bars, JSON needs quotes: a name breaks none of them."""
    import pyarrow as pa

    import shoal
    from shoal.release.gate.check import check
    from shoal.release.gate.result import render_all

    for name in ("a\x01b\x0b", "x]]>y", "a|b`c", 'q"<&>', "\ufffe", "=1+1", "a\r\nb", "\u202eevil"):
        table = shoal.open(pa.table({name: ["f", "f", "m"], "s": ["x", "x", "y"]}))
        asked = {"k": 2, "diversity": {name: {"distinct": 2}}}
        result = check(table, shoal.Policy.of(quasi=["s"], sensitive=[name], require=asked))
        for several in ([result], [result, result]):
            assert len(ET.fromstring(render_all(several, "junit")).findall(".//failure")) == 2 * len(several)
            assert len(json.loads(render_all(several, "sarif"))["runs"][0]["results"]) == 2 * len(several)
            json.loads(render_all(several, "json"))
            rows = [line for line in render_all(several, "md").splitlines() if line.startswith("| ") and "---" not in line]
            assert all(len(re.findall(r"(?<!\\)\|", row)) == 5 for row in rows)


def test_a_release_into_the_same_database(tmp_path, table, policy, capsys):
    import duckdb

    file = tmp_path / "clinic.db"
    with duckdb.connect(str(file)) as con:
        con.execute(f"create table people as select * from read_csv('{table}')")
    source, out = f"duckdb://{file}::people", tmp_path / "out"
    code, _, err = run(capsys, "anonymize", table, "--policy", policy, "--out", out, "--to-table", "people_public")
    assert code == 2, err
    code, said, err = run(capsys, "anonymize", source, "--policy", policy, "--out", out, "--to-table", "people_public", "--json")
    assert code == 0, err
    assert json.loads(said)["verified"] is True
    assert sorted(p.name for p in out.iterdir()) == ["certificate.json", "plan.json", "report.html"]
    assert run(capsys, "verify", out)[0] == 1, "the table must be named"
    public = f"duckdb://{file}::people_public"
    code, said, err = run(capsys, "verify", out, "--table", public)
    assert code == 0, said + err
    code, _, err = run(capsys, "anonymize", source, "--policy", policy, "--out", tmp_path / "two", "--to-table", "people_public")
    assert code == 3, err
    assert not (tmp_path / "two").exists()
    gc.collect()  # lets go of the database
    code, said, err = run(capsys, "anonymize", source, "--policy", policy, "--out", tmp_path / "o 2", "--to-table", "again")
    assert code == 0, err
    gc.collect()
    printed = said.rpartition("Next: shoal ")[2].partition(" proves it again")[0]
    assert run(capsys, *shlex.split(printed))[0] == 0, "the printed next step"
    gc.collect()
    with duckdb.connect(str(file)) as con:
        assert con.execute(
            "select count(*) from information_schema.columns where table_name = 'people_public' and column_name = 'name'"
        ).fetchone() == (0,)
        con.execute("update people_public set illness = 'flu' where illness = 'cold'")
    code, said, _ = run(capsys, "verify", out, "--table", public)
    assert code == 1
    assert "changed after" in said


def test_how_the_file_is_read_can_be_said(capsys, tmp_path, policy):
    """``check`` and ``anonymize`` read a file as they are told, as ``measure`` and ``inspect`` do."""
    file = people(tmp_path / "odd.txt", sep="|")
    said = ("--read", "delimiter=|", "--read", "types=zip:text")
    code, out, _ = run(capsys, "check", file, "--policy", policy, "--json", *said)
    assert code == 1, out  # read, and found short of k
    assert run(capsys, "anonymize", file, "--draft", tmp_path / "d.yml", *said)[0] == 0
    assert run(capsys, "anonymize", file, "--policy", policy, "--out", tmp_path / "r", *said)[0] == 0
    assert run(capsys, "anonymize", file, "--policy", policy, "--out", tmp_path / "q", "--read", "types=zip")[0] == 2


def test_no_number_of_a_chart_is_shown_in_powers_of_ten():
    from shoal.report.charts import frontier, svg
    from shoal.report.numbers import short_percent

    flat = svg(frontier([{"k": 2, "loss": 0.0, "chosen": True}, {"k": 5, "loss": 0.0}]))
    assert re.findall(r">(0[\d.]*|1)</text>", flat) == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert all(re.fullmatch(r"\d+|99\.\d|< 1", short_percent(i / 1000)) for i in range(1001))
    assert (short_percent(1.0), short_percent(0.9999)) == ("100", "99.9")


def test_last_nights_table_is_replaced_or_left_whole(tmp_path, table, policy, capsys, monkeypatch):
    import duckdb

    from shoal.engines.duckdb.engine import DuckDB
    from shoal.errors import EngineError

    file = tmp_path / "clinic.db"
    with duckdb.connect(str(file)) as con:
        con.execute(f"create table people as select * from read_csv('{table}')")
        con.execute("create table people_public as select 'yesterday' as night")

    def made(out: str, name: str, *more: str) -> tuple[int, str]:
        asked = ("--policy", policy, "--out", tmp_path / out, "--to-table", name, "--no-ledger", *more)
        code, _, err = run(capsys, "anonymize", f"duckdb://{file}::people", *asked)
        gc.collect()  # lets go of the database
        return code, err

    def tables() -> list[str]:
        with duckdb.connect(str(file)) as con:
            return [name for (name,) in con.execute("show tables").fetchall()]

    assert made("a", "people_public")[0] == 3, "without --replace a table that is there stays"
    code, err = made("a", "main.PEOPLE", "--replace")
    assert (code, "the table that is released" in err) == (2, True)
    with monkeypatch.context() as patch:
        send = DuckDB.run

        def failing(self, sql, *more):
            if sql.startswith("ALTER TABLE"):
                raise EngineError("the disk is full.")
            return send(self, sql, *more)

        patch.setattr(DuckDB, "run", failing)
        assert made("a", "people_public", "--replace")[0] == 3
    assert tables() == ["people", "people_public"]
    assert not (tmp_path / "a").exists()
    with duckdb.connect(str(file)) as con:
        assert con.execute("from people_public").fetchall() == [("yesterday",)]
    assert made("a", "people_public", "--replace") == (0, "")
    assert tables() == ["people", "people_public"]
    assert run(capsys, "verify", tmp_path / "a", "--table", f"duckdb://{file}::people_public")[0] == 0
    gc.collect()
    with duckdb.connect(str(file)) as con:
        con.execute("create index kept on people_public (sex)")
    assert made("night", "people_public", "--replace")[0] == 0
    with duckdb.connect(str(file)) as con:
        assert con.execute("select index_name from duckdb_indexes()").fetchall() == [("kept",)]
    assert made("b", "people_new", "--replace")[0] == 0, "nothing to replace on the first night"
    assert run(capsys, "anonymize", table, "--policy", policy, "--out", tmp_path / "c", "--replace")[0] == 2


def test_a_duckdb_table_keeps_its_constraints_or_is_not_replaced(tmp_path, table, policy, capsys):
    import duckdb

    file = tmp_path / "clinic.db"
    with duckdb.connect(str(file)) as con:
        con.execute(f"create table people as select * from read_csv('{table}')")

    def made(out: str) -> tuple[int, str]:
        asked = ("--policy", policy, "--out", tmp_path / out, "--to-table", "shown", "--no-ledger", "--replace")
        code, _, err = run(capsys, "anonymize", f"duckdb://{file}::people", *asked)
        gc.collect()
        return code, err

    assert made("first")[0] == 0
    with duckdb.connect(str(file)) as con:
        con.execute("alter table shown alter sex set not null")
        first = con.execute("select count(*) from shown").fetchone()
        con.execute("delete from people where rowid = 0")
    assert made("second")[0] == 0
    with duckdb.connect(str(file)) as con:
        assert con.execute("select constraint_type from duckdb_constraints()").fetchall() == [("NOT NULL",)]
        second = con.execute("select count(*) from shown").fetchone()
        assert second != first
        con.execute("drop table shown")
        con.execute("create table shown (night text primary key)")
        con.execute("insert into shown values ('yesterday')")
    code, err = made("third")
    assert (code, "would be lost" in err) == (3, True)
    with duckdb.connect(str(file)) as con:
        assert con.execute("from shown").fetchall() == [("yesterday",)]
        assert [n for (n,) in con.execute("show tables").fetchall()] == ["people", "shown"]
    assert not (tmp_path / "third").exists()


def test_last_nights_duckdb_table_is_compared_before_it_is_replaced(tmp_path, capsys):
    import duckdb

    file, policy = tmp_path / "clinic.db", tmp_path / "policy.yml"
    policy.write_text("roles: {direct: [id], quasi: {age: {}, sex: {}}, sensitive: [ill]}\nrequire: {k: 5}\nmethod: lattice\n")
    with duckdb.connect(str(file)) as con:
        con.execute(
            "create table people as select 20 + i % 30 as age, i % 2 as sex, 'd' || i % 7 as ill, i as id from range(240) r(i)"
        )

    def made(out: str, *more: object) -> int:
        asked = ("--policy", policy, "--out", tmp_path / out, "--to-table", "shown", "--no-ledger", "--replace", *more)
        code = run(capsys, "anonymize", f"duckdb://{file}::people", *asked)[0]
        gc.collect()
        return code

    assert made("last") == 0
    assert made("next", "--previous", tmp_path / "last") == 0
    certificate = json.loads((tmp_path / "next" / "certificate.json").read_text())
    attacks = [a for half in ("derived", "signed") for a in certificate[half]["attacks"]]
    assert {a["verdict"] for a in attacks if a["name"].startswith("intersection")} == {"holds"}
    with duckdb.connect(str(file)) as con:
        con.execute("delete from shown where sex = (select min(sex) from shown)")
        left = con.execute("from shown").fetchall()
    assert made("after", "--previous", tmp_path / "next") == 1, "last night's table is not the one of its certificate"
    assert not (tmp_path / "after").exists()
    with duckdb.connect(str(file)) as con:
        assert con.execute("from shown").fetchall() == left

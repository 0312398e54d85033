"""The pipeline integrations run, and their failure output holds counts only."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import nursery

ROOT = Path(__file__).resolve().parents[2]


def yaml(path):
    from ruamel.yaml import YAML

    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


def rendered(model, **arguments):
    """The dbt test as SQL: what dbt does with a generic test, with its two helpers."""
    jinja2 = pytest.importorskip("jinja2")
    text = (ROOT / "integrations" / "dbt" / "macros" / "k_anonymity.sql").read_text()
    text = re.sub(r"{%\s*test (\w+)\(", r"{% macro \1(", text).replace("{% endtest %}", "{% endmacro %}")

    class Adapter:
        def quote(self, name):
            return '"' + name.replace('"', '""') + '"'

    class Exceptions:
        def raise_compiler_error(self, message):
            raise ValueError(message)

    environment = jinja2.Environment(extensions=["jinja2.ext.do"])
    module = environment.from_string(text, globals={"adapter": Adapter(), "exceptions": Exceptions()}).module
    return module.k_anonymity(model, **arguments)


def test_the_dbt_test_on_duckdb():
    import duckdb

    con = duckdb.connect()
    con.execute("""create table t as select * from (values ('f', 1, 'p1'), ('f', 1, 'p1'), ('m', 2, 'p2'), ('m', 2, 'p3'),
                   (null, 2, 'p4'), (null, 2, 'p5')) v("the sex", age, person)""")
    assert con.execute(rendered("t", quasi_identifiers=["the sex", "age"], k=2)).fetchall() == []
    failed = con.execute(rendered("t", quasi_identifiers=["the sex", "age"], k=3)).fetchall()
    assert failed == [(3, 6, 2, 3)], "three classes with six members, the smallest has two: counts, no values"
    assert con.execute(rendered("t", quasi_identifiers=["the sex", "age"], k=2, unit="person")).fetchall() == [(1, 1, 1, 2)]


def test_the_dbt_test_refuses_nonsense():
    for wrong in (
        {"quasi_identifiers": [], "k": 5},
        {"quasi_identifiers": "age", "k": 5},
        {"quasi_identifiers": ["age"], "k": 1},
    ):
        with pytest.raises(ValueError, match="k_anonymity"):
            rendered("t", **wrong)


@pytest.fixture
def pandera():
    """pandera, whose import warns about other packages that happen to be installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("pandera.pandas")


@pytest.mark.usefixtures("pandera")
def test_the_pandera_example_runs():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(ROOT / "integrations" / "pandera" / "example.py")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "refused: a class on age_band, sex has fewer than 2 members"


@pytest.mark.usefixtures("pandera")
def test_the_pandera_check_edges():
    import pandas as pd

    from shoal.errors import UsageError
    from shoal.release.gate.pandera_check import k_anonymous, smallest_class

    frame = pd.DataFrame({"a": ["x", "x", None, None], "id": [1, 1, 2, 3]})
    assert smallest_class(frame, ["a"]) == 2
    assert smallest_class(frame, ["a"], unit="id") == 1
    assert smallest_class(frame.head(0), ["a"]) == 0
    for wrong in (0, 1, True, 2.5):
        with pytest.raises(UsageError):
            k_anonymous(["a"], wrong)
    with pytest.raises(UsageError):
        k_anonymous("a", 5)


def test_the_action_and_the_hook_call_what_exists(tmp_path):
    action = yaml(ROOT / "integrations" / "github" / "action.yml")
    script = action["runs"]["steps"][1]["run"]
    hook = yaml(ROOT / ".pre-commit-hooks.yaml")[0]
    assert "${{" not in script, "inputs reach the shell through the environment only"
    table, policy = tmp_path / "t.csv", tmp_path / "policy.yml"
    table.write_text("sex,s\nf,x\nf,y\nm,x\n")
    policy.write_text("roles: {quasi: [sex], sensitive: [s]}\nrequire: {k: 2}\n")
    environment = {
        "PATH": f"{nursery.bin_folder()}:/usr/bin:/bin",
        "SHOAL_TABLE": str(table),
        "SHOAL_POLICY": str(policy),
        "SHOAL_SARIF": str(tmp_path / "s.sarif"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "not met" in (tmp_path / "summary.md").read_text()
    assert '"ruleId": "k"' in (tmp_path / "s.sarif").read_text()
    words = [*hook["entry"].split(), *hook["args"], str(table)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    table.write_text("sex,s\nf,x\nf,y\nm,x\nm,y\n")
    (tmp_path / "u.csv").write_text("sex,s\nf,x\nf,y\n")
    words.append(str(tmp_path / "u.csv"))
    assert subprocess.run(words, env=environment, capture_output=True, check=False, cwd=tmp_path).returncode == 0


def test_dbt_itself_runs_the_example(tmp_path):
    """With dbt-duckdb on the path: the safe model passes, the unsafe one fails with one row of counts."""
    dbt = shutil.which("dbt")
    if dbt is None:
        pytest.skip("dbt is not installed; the test above renders the macro without it")
    shutil.copytree(ROOT / "integrations" / "dbt", tmp_path / "dbt")
    place = tmp_path / "dbt" / "example"
    quiet = {**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "NO_COLOR": "1"}
    words = [dbt, "--no-use-colors", "build", "--profiles-dir", "."]
    done = subprocess.run(words, cwd=place, env=quiet, capture_output=True, text=True, timeout=300)
    if "Could not find adapter" in done.stdout:
        pytest.skip("dbt is here without its DuckDB adapter")
    assert done.returncode == 1, done.stdout
    assert "PASS=4 WARN=0 ERROR=1" in done.stdout
    assert "FAIL 1 unsafe_rows" in done.stdout


POLICY = "roles: {quasi: [age_band, sex], sensitive: [illness]}\nrequire: {k: 5}\n"


def recipe(heading, kind):
    """The first block of a kind below a heading of the page on pipelines."""
    page = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
    section = page.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.search(rf"^```{kind}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)[1]


def visits(folder, small):
    rows = "30-39,f,flu\n30-39,f,cold\n" * 5 + "40-49,m,flu\n" * small
    (folder / "visits.csv").write_text("age_band,sex,illness\n" + rows, encoding="utf-8")


@pytest.mark.parametrize(("small", "classes"), [(4, 1), (5, 0)])
def test_the_query_for_great_expectations_counts_small_classes_only(small, classes, tmp_path):
    import duckdb

    visits(tmp_path, small)
    query = re.search(r'unexpected_rows_query="([^"]+)"', recipe("Great Expectations", "text"))[1]
    with duckdb.connect() as connection:
        batch = f"(SELECT * FROM read_csv('{tmp_path / 'visits.csv'}'))"
        found = connection.execute(query.replace("{batch}", batch))
        assert [d[0] for d in found.description] == ["people"]
        assert found.fetchall() == [(small,)] * classes


@pytest.mark.parametrize(("small", "met"), [(4, False), (5, True)])
def test_the_check_for_dagster_says_what_is_not_met(small, met, tmp_path, monkeypatch):
    """The recipe's own lines, with two of Dagster's names in their simplest form where it is not installed."""
    import types

    visits(tmp_path, small)
    (tmp_path / "policy.yml").write_text(
        "roles: {quasi: [age_band, sex], sensitive: [illness]}\nrequire: {k: 5}\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    plain = types.SimpleNamespace(asset_check=lambda asset: lambda function: function, AssetCheckResult=types.SimpleNamespace)
    names = {"dg": plain}
    exec(recipe("Dagster", "text").replace("import dagster as dg\n", ""), names)
    found = names["k_anonymity"]()
    assert (found.passed, found.metadata) == (met, {"not met": [] if met else ["k>=5"]})


@pytest.mark.parametrize(("small", "met"), [(4, False), (5, True)])
def test_dagster_itself_runs_the_check(small, met, tmp_path, monkeypatch):
    dagster = pytest.importorskip("dagster")
    visits(tmp_path, small)
    (tmp_path / "policy.yml").write_text(POLICY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(recipe("Dagster", "text"), names)
    with dagster.DagsterInstance.ephemeral() as instance:
        asset = dagster.asset(name="visits_public")(lambda: 1)
        done = dagster.materialize([asset, names["k_anonymity"]], raise_on_error=False, instance=instance)
    assert [found.passed for found in done.get_asset_check_evaluations()] == [met]


@pytest.mark.parametrize(("small", "met"), [(4, False), (5, True)])
def test_great_expectations_itself_runs_the_query(small, met, tmp_path):
    import sqlite3
    from contextlib import closing

    gx = pytest.importorskip("great_expectations")
    rows = [("30-39", "f")] * 10 + [("40-49", "m")] * small
    with closing(sqlite3.connect(tmp_path / "v.db")) as made, made:
        made.execute("CREATE TABLE visits (age_band TEXT, sex TEXT)")
        made.executemany("INSERT INTO visits VALUES (?, ?)", rows)
    names = {}
    exec(recipe("Great Expectations", "text"), names)
    source = gx.get_context(mode="ephemeral").data_sources.add_sqlite("s", connection_string=f"sqlite:///{tmp_path / 'v.db'}")
    batch = source.add_table_asset("v", table_name="visits").add_batch_definition_whole_table("w").get_batch()
    assert batch.validate(names["k_anonymity"]).success is met


@pytest.mark.parametrize(("small", "met"), [(4, False), (5, True)])
def test_airflow_itself_runs_the_gate(small, met, tmp_path, monkeypatch):
    if importlib.util.find_spec("airflow") is None:
        pytest.skip("Airflow is not installed")
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    visits(tmp_path, small)
    (tmp_path / "policy.yml").write_text(POLICY, encoding="utf-8")
    names = {}
    lines = recipe("Airflow", "text").replace("/data/visits.parquet", str(tmp_path / "visits.csv"))
    exec(lines.replace("/data/", f"{tmp_path}/"), names)
    if met:
        names["gate"].execute({})
    else:
        with pytest.raises(Exception, match="exit code 1"):
            names["gate"].execute({})


def test_snakemake_itself_makes_a_release(tmp_path):
    if shutil.which("snakemake") is None:
        pytest.skip("Snakemake is not installed")
    (tmp_path / "Snakefile").write_text(recipe("Make and Snakemake", "text"), encoding="utf-8")
    (tmp_path / "policy.yml").write_text(POLICY, encoding="utf-8")
    visits(tmp_path, 5)
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["snakemake", "-c1"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "release" / "certificate.json").is_file()
    done = subprocess.run(["snakemake", "-c1", "-n"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert "Nothing to be done" in done.stdout + done.stderr


def test_the_makefile_makes_and_proves_a_release(tmp_path):
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    (tmp_path / "Makefile").write_text(recipe("Make and Snakemake", "make"), encoding="utf-8")
    (tmp_path / "policy.yml").write_text(
        "roles: {quasi: [age_band, sex], sensitive: [illness]}\nrequire: {k: 5}\n", encoding="utf-8"
    )
    visits(tmp_path, 5)
    env = {**os.environ, "PATH": f"{nursery.bin_folder()}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["make"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "release" / "certificate.json").is_file()
    assert subprocess.run(["make", "-q", "release/certificate.json"], cwd=tmp_path, env=env).returncode == 0  # nothing left to do


def test_the_nightly_script_of_the_page_reuses_the_plan_and_stops_when_something_changed(tmp_path):
    """Four nights: the first, one with more people, one more person (who could be read off), one more column."""
    tools, nights = tmp_path / "bin", []
    tools.mkdir()
    (tools / "date").write_text('#!/bin/sh\ncat "$NIGHT"\n', encoding="utf-8")
    (tools / "date").chmod(0o755)
    (tmp_path / "nightly.sh").write_text(recipe("Every night", "sh"), encoding="utf-8")
    (tmp_path / "policy.yml").write_text(POLICY + "method: lattice\n", encoding="utf-8")
    rows = [f"{age},{sex},{ill}" for age in ("30-39", "40-49") for sex in "fm" for ill in ("flu", "cold")]
    more = [*rows * 10, "30-39,f,flu"]
    tables = [("", rows * 5), ("", rows * 10), ("", more), (",town", [f"{row},x" for row in rows * 20])]
    own = {
        "PATH": f"{tools}:{nursery.bin_folder()}:{os.environ['PATH']}",
        "NIGHT": str(tmp_path / "night"),
        "XDG_STATE_HOME": str(tmp_path),
    }
    for day, (column, lines) in enumerate(tables, 11):
        (tmp_path / "night").write_text(f"2026-11-{day}\n", encoding="utf-8")
        (tmp_path / "visits.csv").write_text("\n".join([f"age_band,sex,illness{column}", *lines, ""]), encoding="utf-8")
        done = subprocess.run(
            ["sh", "nightly.sh", "visits.csv"], cwd=tmp_path, env=os.environ | own, capture_output=True, check=False
        )
        metrics = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
        nights.append((done.returncode, metrics.get("k"), (tmp_path / "junit.xml").exists()))
        if "error" in metrics:
            assert metrics["error"]["exit_code"] == done.returncode
    assert nights == [(0, 10, True), (0, 20, True), (1, None, False), (2, None, False)]
    assert sorted(p.name for p in (tmp_path / "releases").iterdir()) == ["2026-11-11", "2026-11-12", "plan.json"]


def test_every_fault_of_the_page_names_a_test_that_is_there():
    page = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
    rows = page.split("## When something fails\n", 1)[1].split("\n## ", 1)[0].splitlines()[4:]
    named = [re.search(r"`([\w/]+\.py)::(\w+)` \|$", row) for row in rows if row.startswith("|") and "---" not in row]
    assert len(named) > 12
    for found in named:
        assert found is not None
        assert f"\ndef {found[2]}(" in (ROOT / "tests" / found[1]).read_text(encoding="utf-8"), found[2]

"""Small things that a user is told, or stopped by: each was silent or wrong once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from ruamel.yaml import YAML

import shoal
from shoal.cli import main
from shoal.errors import PolicyError, VerificationError
from shoal.hierarchies import from_policy
from shoal.model import requirement as req
from shoal.release.gate.check import check
from shoal.release.gate.result import render_all
from shoal.release.make.count_again import _all_met
from shoal.release.policy.policy import Policy

ROOT = Path(__file__).parents[3]


def run(*words) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(w) for w in words])
    return int(ended.value.code or 0)


def test_several_tables_say_which_failed(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text("sex\n" + "f\n" * 5)
    Path("bad.csv").write_text("sex\n" + "f\n" * 4)
    Path("worse.csv").write_text("sex\nf\n")
    assert run("check", "good.csv", "bad.csv", "worse.csv", "--quasi", "sex", "--k", 5) == 1
    said = capsys.readouterr().out
    assert said.rstrip().endswith("2 of 3 tables fail: bad.csv, worse.csv.")
    assert said.index("good.csv:") < said.index("ok  ") < said.index("bad.csv:") < said.index("FAIL")
    assert run("check", "good.csv", "good.csv", "--quasi", "sex", "--k", 5) == 0
    assert "All 2 tables pass." in capsys.readouterr().out
    assert run("check", "good.csv", "bad.csv", "--quasi", "sex", "--k", 5, "--format", "md") == 1
    assert "## good.csv" in (said := capsys.readouterr().out)
    assert "1 of 2 tables fail: bad.csv." in said


def test_a_hostile_table_name_stays_text():
    table = shoal.open(pa.table({"sex": ["f"]}), name="a\x1b[2J|b", quasi=["sex"])
    found = [check(table, Policy.of(quasi=["sex"], k=5))] * 2
    assert "\x1b" not in render_all(found, "text")
    assert "a\\|b" not in (shown := render_all(found, "md"))
    assert "[2J\\|b" in shown.replace("\\[", "[")


def test_the_hook_takes_public_tables_only():
    hook = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())[0]
    taken = [
        p
        for p in ("a.csv", "tests/data/a.csv", "public/a.csv", "x/release/data.parquet", "release/report.html")
        if re.search(hook["files"], p)
    ]
    assert taken == ["public/a.csv", "x/release/data.parquet"]


def test_an_unknown_field_is_answered_with_those_that_a_step_takes():
    with pytest.raises(PolicyError, match="unknown fields: to") as wrong:
        Policy.of(quasi=["a"], insensitive=["pay"], k=5, transform={"pay": {"round": {"to": 10}}})
    assert "base" in wrong.value.hint
    assert "column" not in wrong.value.hint
    with pytest.raises(PolicyError, match="unknown fields: scal") as wrong:
        Policy.of(quasi=["a"], insensitive=["pay"], k=5, transform={"pay": {"noise": {"scal": 10}}})
    assert wrong.value.hint.endswith("Did you mean 'scale'?")


@pytest.mark.parametrize("attacker", ["prosecutor", "journalist"])
def test_a_risk_of_one_asks_for_nothing_in_the_gate_and_in_a_release(attacker, tmp_path, capsys):
    table, policy = tmp_path / "t.csv", tmp_path / "p.yml"
    table.write_text("sex\nf\nf\n")
    policy.write_text(f"roles: {{quasi: [sex]}}\nrequire: {{risk: {{{attacker}: 1}}}}\n")
    codes = [run("check", table, "--policy", policy), run("anonymize", table, "--policy", policy, "--out", tmp_path / "out")]
    assert codes == [2, 2]
    assert capsys.readouterr().err.count("requires nothing") == 2
    assert Policy.of(quasi=["sex"], require={"risk": {attacker: 0.99}}).smallest_class == 2
    assert Policy.of(quasi=["sex"], require={"k": 2, "risk": {attacker: 1}}).smallest_class == 2


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("password: hunter2", True),
        ("call Ann, PWD=hunter2", True),
        ("api key: 0123", True),
        ("token:abc", True),
        ("privacy@example.org", False),
        ("the password office, room 5", False),
        ("Secretariat: room 5", False),
    ],
)
@pytest.mark.parametrize("field", ["contact", "purpose"])
def test_secrets_in_the_words_about_a_release_are_refused(field, text, secret):
    if not secret:
        assert Policy.of(quasi=["a"], k=5, **{field: text}).about[field] == text
        return
    with pytest.raises(PolicyError, match=f"looks like a secret at '{field}'") as wrong:
        Policy.of(quasi=["a"], k=5, **{field: text})
    assert "hunter2" not in str(wrong.value)


def test_local_recoding_with_blanked_cells_is_refused():
    table = pa.table({"age": list(range(40)), "sex": ["f", "m"] * 20})
    with pytest.raises(PolicyError, match="has no meaning"):
        shoal.anonymize(table, quasi=["age", "sex"], k=5, method="local", allow={"suppress": 0.1, "scope": "cells"})
    assert shoal.anonymize(table, quasi=["age", "sex"], k=5, method="local", allow={"suppress": 0.1}).k >= 5


@pytest.mark.parametrize(
    "said",
    [
        {"intervals": [5, 7]},
        {"intervals": [0]},
        {"dates": ["yeer"]},
        {"quantiles": [5, 3]},
        {"order": ["low"]},
        {"frequency": [-1]},
    ],
)
def test_wrong_settings_of_a_hierarchy_are_wrong_usage(said, tmp_path, capsys):
    with pytest.raises(PolicyError):
        from_policy(said)
    (tmp_path / "t.csv").write_text("age\n" + "1\n2\n" * 5)
    (tmp_path / "p.yml").write_text(json.dumps({"roles": {"quasi": {"age": {"hierarchy": said}}}, "require": {"k": 2}}))
    assert run("anonymize", tmp_path / "t.csv", "--policy", tmp_path / "p.yml", "--out", tmp_path / "out") == 2
    capsys.readouterr()


def test_a_wrong_file_of_levels_is_still_a_data_problem(tmp_path, capsys):
    (tmp_path / "levels.csv").write_text("1;a;*\n1;b;*\n2;b;*\n")
    (tmp_path / "t.csv").write_text("age\n" + "1\n2\n" * 5)
    (tmp_path / "p.yml").write_text("roles: {quasi: {age: {hierarchy: levels.csv}}}\nrequire: {k: 2}\n")
    assert run("anonymize", tmp_path / "t.csv", "--policy", tmp_path / "p.yml", "--out", tmp_path / "out") == 3
    capsys.readouterr()


@pytest.mark.filterwarnings("ignore")  # pandera warns about other packages that happen to be installed
def test_an_empty_frame_fails_the_pandera_check():
    pd, pandera = pytest.importorskip("pandas"), pytest.importorskip("pandera.pandas")
    from shoal.release.gate.pandera_check import k_anonymous

    schema = pandera.DataFrameSchema(checks=k_anonymous(["a"], k=2))
    with pytest.raises(pandera.errors.SchemaError, match="fewer than 2 members"):
        schema.validate(pd.DataFrame({"a": pd.Series([], dtype="int64")}))
    assert len(schema.validate(pd.DataFrame({"a": [1, 1]}))) == 2


def test_alternatives_are_objects_in_json(tmp_path, capsys):
    rng = np.random.default_rng(1)
    rows = "".join(f"{a},{b}\n" for a, b in zip(rng.integers(0, 50, 60), rng.integers(0, 50, 60), strict=True))
    (tmp_path / "t.csv").write_text("a,b\n" + rows)
    words = {"roles": {"quasi": {"a": {"max_level": 0}, "b": {}}}, "require": {"k": 5}}
    (tmp_path / "p.yml").write_text(json.dumps(words))
    assert run("anonymize", tmp_path / "t.csv", "--policy", tmp_path / "p.yml", "--out", tmp_path / "out", "--json") == 1
    offers = json.loads(capsys.readouterr().out)["error"]["alternatives"]
    assert offers
    assert {"change", "sentence"} <= set(offers[0])
    assert any(o["kind"] == "raise level" and o["column"] == "a" for o in offers)


@pytest.mark.parametrize(
    ("asked", "found", "offer"),
    [
        (req.TCloseness("ill", 0.2), 0.23456, "closeness.ill.t: 0.2346"),
        (req.EntropyDiversity("ill", 3.0), 2.98765, "diversity.ill.entropy: 2.987"),
        (req.K(5), 4, "k: 4"),
    ],
)
def test_a_file_that_misses_a_limit_says_which_it_meets(asked, found, offer):
    with pytest.raises(VerificationError) as missed:
        _all_met([asked.judged(found)])
    assert f"This plan meets {offer}. " in missed.value.hint
    (met,) = missed.value.alternatives
    weaker = type(asked)(
        *([asked.sensitive] if asked.sensitive else []), met.limit if not isinstance(asked, req.K) else int(met.limit)
    )
    assert weaker.judged(found).met, "the limit that is offered is met"

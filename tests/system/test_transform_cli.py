"""Every technique from a page of YAML: ``shoal transform``; and ``shoal hierarchy``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import shoal
import shoal.techniques as tf
from shoal.api.transform import plan_for
from shoal.cli import main
from shoal.errors import PolicyError, ShoalError
from shoal.hierarchies import FromTree
from shoal.kernels.order import row_hashes
from shoal.kernels.text import canonical_text
from shoal.model.plan import Plan

N = 300
STRONG = 31_415_926_535_897_932
RNG = np.random.default_rng(4)
PEOPLE = pa.table(
    {
        "row": np.arange(N),
        "age": pa.array(RNG.integers(18, 90, N), mask=RNG.random(N) < 0.05),
        "pay": RNG.lognormal(8, 1, N).round(2),
        "tax": RNG.lognormal(6, 1, N).round(2),
        "job": RNG.choice(["nurse", "baker", "pope"], N, p=[0.6, 0.39, 0.01]),
        "born": pa.array(RNG.integers(0, 20_000, N).astype("int32"), pa.int32()).cast(pa.date32()),
        "who": [f"AB-{i:06d}" for i in RNG.integers(0, 90, N)],
    }
)
KEY = "env:TEST_KEY"
JOBS = {"tree": {"care": ["nurse"], "food": ["baker"]}}

TECHNIQUES: dict[str, tuple[str, dict[str, Any]]] = {
    "generalization": ("age", {"generalize": {"hierarchy": {"intervals": [5, 10], "top": 80}, "level": 2}}),
    "guessed hierarchy": ("age", {"generalize": {"level": 1}}),
    "at most d values": ("age", {"generalize": {"hierarchy": {"intervals": [5, 10, 20]}, "at_most": 5}}),
    "cut through a tree": ("job", {"generalize": {"hierarchy": {**JOBS, "on_gap": "suppress"}, "cut": 2}}),
    "gaps suppressed": ("job", {"generalize": {"hierarchy": {**JOBS, "on_gap": "suppress"}, "level": 1}}),
    "gaps to the top": ("job", {"generalize": {"hierarchy": {**JOBS, "on_gap": "top"}, "level": 1}}),
    "column suppression": ("who", {"drop": {}}),
    "cell suppression of a column": ("who", {"constant": {}}),
    "rare values": ("job", {"rare": {"min_count": 20}}),
    "top and bottom coding": ("pay", {"top_bottom": {"share": 0.05}}),
    "rounding": ("pay", {"round": {"base": 100}}),
    "optimal groups": ("pay", {"groups": {"k": 10, "cost": "sse"}}),
    "optimal intervals": ("pay", {"groups": {"k": 10, "cost": "median", "publish": "interval"}}),
    "quantiles": ("pay", {"quantiles": {"groups": 7}}),
    "MDAV": ("pay", {"microaggregate": {"others": ["tax"], "k": 5}}),
    "V-MDAV": ("pay", {"microaggregate": {"others": ["tax"], "k": 5, "method": "v-mdav"}}),
    "additive noise": ("pay", {"noise": {"share": 0.1}}),
    "Laplace noise": ("pay", {"noise": {"scale": 50, "distribution": "laplace"}}),
    "multiplicative noise": ("pay", {"noise": {"scale": 0.1, "mode": "multiplicative"}}),
    "correlated noise": ("pay", {"correlated_noise": {"others": ["tax"], "share": 0.1}}),
    "permutation": ("pay", {"permute": {"within": ["job"]}}),
    "rank swapping": ("pay", {"rank_swap": {"percent": 5}}),
    "PRAM": ("job", {"pram": {"keep": 0.7, "min_count": 20}}),
    "date shift": ("born", {"date_shift": {"unit": "who", "key": KEY}}),
    "keyed hash": ("who", {"keyed_hash": {"key": KEY}}),
    "fake codes": ("who", {"fake": {"key": KEY}}),
    "fake names": ("who", {"fake": {"key": KEY, "provider": "name"}}),
}


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TEST_KEY", "a long secret with many letters 0123456789")
    monkeypatch.chdir(tmp_path)
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


def run(capsys: pytest.CaptureFixture[str], *words: Any) -> tuple[int, dict[str, Any]]:
    with pytest.raises(SystemExit) as stop:
        main([*map(str, words), "--json"])
    return int(stop.value.code or 0), json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", list(TECHNIQUES))
def test_every_technique_from_a_page_of_yaml(people: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    column, technique = TECHNIQUES[name]
    spec = {"seed": STRONG, "steps": [{"column": column, **technique}]}
    (people.parent / "plan.yml").write_text(json.dumps(spec), encoding="utf-8")  # JSON is YAML
    code, told = run(capsys, "transform", people, "--plan", "plan.yml", "--out", "out.parquet", "--save-plan", "made.json")
    assert code == 0, told
    plan = Plan.from_json((people.parent / "made.json").read_text(encoding="utf-8"))
    drawn = PEOPLE.take(pa.array(np.argsort(row_hashes(PEOPLE.columns, N, 0), kind="stable")))
    wanted = tf.apply(plan.steps[0], drawn, seed=STRONG)
    expected = wanted.table.sort_by("row")
    out = pq.read_table("out.parquet").sort_by("row")
    for touched in plan.steps[0].columns:
        if touched in out.column_names:
            assert canonical_text(out[touched]).to_pylist() == canonical_text(expected[touched]).to_pylist()
        assert told["steps"][0]["changed"][touched] == pytest.approx(wanted.changed[touched])
        assert told["changed"][touched] > 0
    assert told["steps"][0]["truthful"] == plan.steps[0].truthful
    again, _ = run(capsys, "transform", people, "--plan", "made.json", "--out", "again.parquet", "--seed", STRONG)
    assert again == 0
    assert Path("again.parquet").read_bytes() == Path("out.parquet").read_bytes()


def test_a_sample_and_suppression_add_up(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.yml").write_text(
        "sample: {share: 0.5, unit: who}\nseed: 31415926535897932\n"
        "steps:\n- {column: age, generalize: {hierarchy: {intervals: [20]}, level: 1}}\n"
        "suppress: {k: 8, columns: [age, job]}\n",
        encoding="utf-8",
    )
    code, told = run(capsys, "transform", people, "--plan", "plan.yml", "--out", "out.csv")
    assert code == 0, told
    out = pc.read_csv("out.csv")
    pairs = list(zip(out["age"].to_pylist(), out["job"].to_pylist(), strict=True))
    assert min(pairs.count(p) for p in set(pairs)) >= 8
    assert told["records_in"] == N == told["records_out"] + told["suppressed"] + told["unsampled"]
    assert min(told["suppressed"], told["unsampled"]) > 0


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("5", "mapping"),
        ("steps: 5", "'steps' is a list"),
        ("stpes: []", "Did you mean 'steps'"),
        ("steps: [{column: age}]", "one technique"),
        ("steps: [{column: nope, drop: {}}]", "'nope'"),
        ("steps: [{column: age, explode: {}}]", "'explode' is not known"),
        ("steps: [{column: age, noise: {scale: big}}]", "step 'noise' of column 'age'"),
        ("steps: [{column: job, groups: {k: 5}}]", "numbers"),
        ("steps: [{column: pay, groups: {k: 5000}}]", "k=5000"),
        ("steps: [{column: age, generalize: {level: 1, cut: 2}}]", "one of level, at_most, cut"),
        ("steps: [{column: job, generalize: {hierarchy: {tree: {care: [nurse], food: [baker]}}, level: 1}}]", "1 distinct value"),
        ("sample: {share: 2}", "between 0 and 1"),
        ("seed: often", "whole number"),
        ("suppress: {k: 0, columns: [age]}", "'suppress' needs"),
        ("steps: [", "not valid YAML"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(people: Path, capsys: pytest.CaptureFixture[str], spec: str, says: str) -> None:
    Path("plan.yml").write_text(spec, encoding="utf-8")
    code, told = run(capsys, "transform", people, "--plan", "plan.yml", "--out", "out.csv")
    assert code in (2, 3)
    assert says in told["error"]["message"] + told["error"]["hint"]
    assert "pope" not in json.dumps(told)
    assert not Path("out.csv").exists()


def test_a_plan_in_python_is_the_same_plan() -> None:
    spec = {"steps": [{"column": "job", "generalize": {"hierarchy": {**JOBS, "on_gap": "suppress"}, "level": 1}}]}
    by_hand = FromTree.of(JOBS["tree"], on_gap="suppress").fit("job", ["nurse", "baker", "pope"]).step("job", 1)
    assert plan_for(shoal.open(PEOPLE), spec).steps == (by_hand,)
    with pytest.raises(PolicyError):
        plan_for(shoal.open(PEOPLE), [])
    with pytest.raises(ShoalError):
        plan_for(shoal.open(PEOPLE), {"steps": [{"column": "age", "round": {"base": -1}}]})


def test_levels_of_a_column_are_shown_checked_and_written(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = run(
        capsys, "hierarchy", people, "--column", "age", "--hierarchy", "{intervals: [10, 20], top: 80}", "--out", "age.csv"
    )
    assert code == 0
    assert [p["groups"] for p in told["levels"]] == sorted((p["groups"] for p in told["levels"]), reverse=True)
    assert all(part["records"] >= 5 for p in told["levels"] for part in p["shown"])
    code, again = run(capsys, "hierarchy", people, "--column", "age", "--hierarchy", "age.csv")
    assert code == 0
    assert [p["groups"] for p in again["levels"]] == [p["groups"] for p in told["levels"]]
    Path("bad.csv").write_text("nurse;care;*\nbaker;food;*\nbaker;food;*\n", encoding="utf-8")
    code, told = run(capsys, "hierarchy", people, "--column", "job", "--hierarchy", "bad.csv")
    assert code in (2, 3)
    assert "pope" not in json.dumps(told)
    code, told = run(capsys, "hierarchy", people, "--column", "job", "--hierarchy", "{intervals: [")
    assert code == 2
    code, told = run(capsys, "hierarchy", people, "--column", "job")
    assert (code, told["why"] != "") == (0, True)


def test_how_a_file_is_read_can_be_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("zip;pay\n1234;1,5\n1234;2,5\n5678;?\n", encoding="utf-8")
    Path("plan.yml").write_text("steps: [{column: pay, round: {base: 1}}]\n", encoding="utf-8")
    how = ("--read", "null=?", "--read", "types=zip:text")
    code, told = run(capsys, "transform", "t.csv", "--plan", "plan.yml", "--out", "out.csv", *how)
    assert code == 0
    assert told["records_out"] == 3
    code, told = run(capsys, "hierarchy", "t.csv", "--column", "zip", "--hierarchy", "{mask: right}", *how)
    assert code == 0
    assert told["levels"][0]["groups"] == 2

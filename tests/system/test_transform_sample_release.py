"""A release of a sample: decided, suppressed, counted again and verified on the records that are published."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from release_forging import plain_certificate
from shoal.cli import main
from shoal.errors import PolicyError
from shoal.model.plan import Plan
from shoal.release.verification import verify

POLICY = """\
roles:
  quasi: {age: {hierarchy: {intervals: [5, 10, 20]}}, job: {}}
  sensitive: [illness]
  direct: [name]
require: {k: 4, diversity: {illness: {distinct: 2}}}
allow: {suppress: 0.1}
sample: {share: 0.4}
"""


def people(path: Path, n: int = 1500) -> Path:
    rng = np.random.default_rng(2)
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["name", "person", "age", "job", "illness"])
        for i in range(n):
            who = int(rng.integers(0, 500))
            job = ["nurse", "baker", "clerk", "cook"][who % 4]
            writer.writerow([f"Person{i} Sur{i}", f"P{who:05d}", 20 + who % 60, job, rng.choice(["flu", "cold", "hiv"])])
    return path


def released(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    with pytest.raises(SystemExit) as stop:
        main([*words, "--json"])
    return int(stop.value.code or 0), json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("unit", [False, True])
def test_a_sample_is_released_and_proven(tmp_path: Path, capsys: pytest.CaptureFixture[str], unit: bool) -> None:
    source, policy, out = people(tmp_path / "people.csv"), tmp_path / "p.yml", tmp_path / "release"
    text = POLICY + ("unit: {column: person}\n" if unit else "")
    policy.write_text(text if unit else text.replace("direct: [name]", "direct: [name, person]"), encoding="utf-8")
    code, told = released(capsys, "anonymize", str(source), "--policy", str(policy), "--out", str(out))
    assert code == 0, told
    with (out / "data.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    pairs = [(r["age"], r["job"]) for r in rows]
    assert min(pairs.count(p) for p in set(pairs)) >= 4
    assert told["k"] >= 4
    assert 400 < told["records"] == len(rows) < 800
    plan = Plan.from_json((out / "plan.json").read_text(encoding="utf-8"))
    assert [s.kind for s in plan.steps].count("sample") == 1
    assert plan.seed == 0  # anyone who knows the seed knows the sample
    made = plain_certificate(out)
    assert made["input"]["drawn"] == len(rows) + made["utility"]["suppressed"]
    assert made["input"]["records"] == 1500
    assert f"They are a sample: {made['input']['drawn']} of 1,500 records were drawn." in made["verdict"]
    assert "They are a sample" in (out / "report.html").read_text(encoding="utf-8")
    assert made["utility"]["suppressed"] <= 0.1 * made["input"]["records"] + 1
    verify(out).require()


def test_a_plan_that_draws_a_sample_needs_a_policy_that_asks_for_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, policy, out = people(tmp_path / "people.csv"), tmp_path / "p.yml", tmp_path / "release"
    text = POLICY.replace("direct: [name]", "direct: [name, person]")
    policy.write_text(text, encoding="utf-8")
    assert released(capsys, "anonymize", str(source), "--policy", str(policy), "--out", str(out))[0] == 0
    policy.write_text(text.replace("sample: {share: 0.4}\n", ""), encoding="utf-8")
    code, told = released(
        capsys,
        "anonymize",
        str(source),
        "--policy",
        str(policy),
        "--out",
        str(tmp_path / "two"),
        "--plan",
        str(out / "plan.json"),
    )
    assert code == 2
    assert "draws a sample" in told["error"]["message"]
    with pytest.raises(PolicyError):
        shoal.Policy.parse(text.replace("0.4", "1.4"))

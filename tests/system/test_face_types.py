"""A user's script under ``mypy --strict``: right calls pass, wrong keywords, wrong types and misspelt verbs fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

RIGHT = """
from pathlib import Path

import shoal
import shoal.prediction.group.uniqueness  # loads the room first: the verb must stay a verb
from shoal.prediction import Zipf, singletons
from shoal.techniques import Noise

t: shoal.Table = shoal.open("x.csv", quasi=["age", "sex"], sensitive="ill", unit="person", delimiter=";", types={"zip": "text"})
t = shoal.open({"age": [1, 2]}, qi=["age"])
found: shoal.Inspection = shoal.inspect(t, direct=["name"], weight="w")
roles: tuple[str, ...] = found.quasi

m: shoal.Measurement = shoal.measure(Path("x.csv"), quasi=["a"], sensitive=["b"], population="17.5M", missing="own")
k: int = shoal.measure("x.csv", qi=["a"]).k + 1
risk: float = m.risk.prosecutor.max

e: shoal.Estimate = shoal.predict.uniqueness(365, group_size=23)
p: shoal.Prediction = shoal.predict("uniqueness", uniform=365, group_size=23)
low: float = shoal.predict("interval", normal=9.0, width=5.0, group_size=20).low
law: Zipf = shoal.predict.Zipf(0.6, 2000)
mean: float = singletons([0.5, 0.5], 2).mean.value
models = shoal.predict("population", population="17.5M", frequencies={1: 3}).models

meter: shoal.Meter = shoal.design("questions.yml", population="17.5M", respondents=100)
meter = shoal.design(shoal.Questionnaire(population=100).add("sex", values=2))

r: shoal.Release = shoal.anonymize(t, "policy.yml", seed=7)
r = shoal.anonymize(t, quasi=["age"], sensitive=["ill"], k=5, allow={"suppress": 0.02}, previous=["earlier"])
r.write("release/")

c: shoal.CheckResult = shoal.check("x.csv", "policy.yml")
met: bool = shoal.check(t, quasi=["age"], k=5).met
v: shoal.Verification = shoal.verify("release", key="ab", private=Path("release.private.json"))
ok: bool = v.ok
a: shoal.AttackReport = shoal.attack("release", with_="people.csv", previous=["earlier"], seed=1)
holds: bool = a.holds
scene = shoal.attacks.Scene

done: shoal.Transformed = shoal.transform(t, {"steps": []}, "out.csv", seed=1)
one = shoal.techniques.apply(Noise("pay", 1.0), object())
share: float = one.changed["pay"]
levels: shoal.ColumnLevels = shoal.hierarchy("x.csv", column="age", rule={"intervals": [5, 10]}, k=3)
people = shoal.datasets.people(1000)
try:
    shoal.Policy.load("p.yml")
except shoal.errors.ShoalError as error:
    print(error.hint)
"""

WRONG = {
    "a wrong keyword": [
        'shoal.open("x.csv", quassi=["a"])',
        'shoal.inspect("x.csv", qii=["a"])',
        'shoal.measure("x.csv", qii=["a"])',
        'shoal.anonymize("x.csv", quasi=["a"], kk=5)',
        'shoal.check("x.csv", policie="p.yml")',
        'shoal.verify("release", keys="ab")',
        'shoal.attack("release", external="x.csv")',
        'shoal.design("q.yml", responders=5)',
        'shoal.transform("x.csv", "plan.yml", sed=1)',
        'shoal.hierarchy("x.csv", colum="age")',
        'shoal.predict("uniqueness", uniform=365, groupsize=23)',
        'shoal.predict("uniqueness", uniform=365, group_size=23, width=1.0)',
        "shoal.predict.uniqueness(365, groupsize=23)",
    ],
    "an option that is not a keyword": [
        'shoal.measure("x.csv", ["a"])',
        'shoal.verify("release", "key")',
        'shoal.attack("release", "x.csv")',
        'shoal.hierarchy("x.csv", "age")',
    ],
    "a misspelt verb": [
        'shoal.anonymise("x.csv")',
        'shoal.mesure("x.csv")',
        'shoal.verifie("release")',
        "shoal.predict.uniquness(365, group_size=23)",
        'shoal.predict("uniquness", uniform=365, group_size=23)',
        "shoal.techniques.aply()",
        "shoal.attacks.run_al()",
        "shoal.datasets.peple(3)",
    ],
    "a wrong type": [
        "shoal.open(5)",
        "shoal.inspect(5)",
        'shoal.measure("x.csv", quasi=5)',
        'shoal.measure("x.csv", quasi=["a"]).k + "1"',
        'shoal.anonymize("x.csv", quasi=["a"], k="five")',
        'shoal.check("x.csv", 5)',
        "shoal.verify(5)",
        "shoal.attack(5)",
        "shoal.design(5)",
        'shoal.transform("x.csv", 5)',
        'shoal.hierarchy("x.csv", column=5)',
        'shoal.predict("uniqueness", uniform="many", group_size=23)',
        'shoal.predict("uniqueness", uniform=365)',
        'wrong: int = shoal.verify("release")',
        'shoal.check("x.csv", "p.yml").ok',
    ],
}


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, str]]:
    """What mypy says, by script and line; one run for all scripts."""
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "right.py").write_text(RIGHT, encoding="utf-8")
    for i, lines in enumerate(WRONG.values()):
        (folder / f"wrong{i}.py").write_text("import shoal\n" + "\n".join(lines) + "\n", encoding="utf-8")
    files = sorted(str(f) for f in folder.glob("*.py"))
    # The options of the check of types, so that both use the same cache.
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "MYPYPATH": "src"}, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, dict[int, str]] = {Path(f).stem: {} for f in files}
    for line in done.stdout.splitlines():
        match = re.match(r"(.+?):(\d+): error: (.*)", line)
        if match:
            assert Path(match[1]).stem in found, line
            found[Path(match[1]).stem][int(match[2])] = match[3]
    return found


def test_right_calls_pass(errors: dict[str, dict[int, str]]) -> None:
    assert errors["right"] == {}


@pytest.mark.parametrize("kind", WRONG)
def test_each_wrong_call_fails(errors: dict[str, dict[int, str]], kind: str) -> None:
    said = errors[f"wrong{list(WRONG).index(kind)}"]
    passed = [line for number, line in enumerate(WRONG[kind], start=2) if number not in said]
    assert not passed, f"strict mypy lets {kind} through: {passed}"

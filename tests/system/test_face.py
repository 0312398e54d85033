"""The face at run time: names, lazy loading, verbs that are rooms, one word for one thing, short reprs, pickling."""

from __future__ import annotations

import inspect
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.errors import PolicyError, RoleError, UsageError

VERBS = "open inspect measure predict design anonymize check verify attack transform hierarchy".split()
HEAVY = "numpy pyarrow duckdb scipy numba pandas sqlglot sqlalchemy fastapi matplotlib typer ruamel".split()
CANARY = "CANARYPOPE"
PEOPLE: dict[str, list[Any]] = {
    "name": [f"{CANARY}{i}" for i in range(60)],
    "age": [20 + i % 6 for i in range(60)],
    "town": [CANARY, *("x", "y", "z") * 19, "x", "y"],
    "ill": [CANARY, "flu", "cold"] * 20,
}
ROLES: dict[str, Any] = {"quasi": ["age", "town"], "sensitive": ["ill"], "direct": ["name"]}


def python(script: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_name_of_dir_is_there_and_every_verb_is_callable() -> None:
    assert set(dir(shoal)) == set(shoal.__all__)
    assert all(getattr(shoal, name) is not None for name in shoal.__all__)
    for name in dir(shoal):
        assert getattr(shoal, name) is not None
    for verb in VERBS:
        assert verb in dir(shoal)
        assert callable(getattr(shoal, verb)), verb
        signature = inspect.signature(getattr(shoal, verb))
        assert signature.parameters, verb
    with pytest.raises(AttributeError, match="anonymise"):
        shoal.anonymise  # type: ignore[attr-defined]  # noqa: B018


def test_importing_shoal_loads_nothing_heavy() -> None:
    script = f"""import sys, shoal
dir(shoal)
heavy = [m for m in {HEAVY!r} if m in sys.modules]
print(heavy, sorted(m for m in sys.modules if m.startswith("shoal.")))"""
    assert python(script) == "[] ['shoal.version']"


def test_predicting_loads_no_engine() -> None:
    script = """import sys, shoal
shoal.predict("uniqueness", uniform=365, group_size=23)
print([m for m in ("pyarrow", "duckdb", "sqlglot") if m in sys.modules])"""
    assert python(script) == "[]"


@pytest.mark.parametrize(
    "first",
    [
        "import shoal",
        "import shoal.prediction.group.uniqueness",
        "from shoal.prediction import uniqueness",
        "import shoal.api.predict",
    ],
)
def test_predict_is_the_verb_in_any_order_of_loading(first: str) -> None:
    asked = 'round(shoal.predict("uniqueness", uniform=365, group_size=23).value, 4)'
    direct = "round(shoal.predict.uniqueness(365, group_size=23).value, 4)"
    script = f"{first}\nimport shoal, sys\nprint({asked}, {direct}, type(shoal.predict).__name__)"
    assert python(script) == "0.4927 0.4927 Predict"


def test_every_function_of_prediction_is_an_attribute_of_predict() -> None:
    from shoal import prediction

    assert {name for name in dir(shoal.predict) if not name.startswith("_")} == set(prediction.__all__)


def test_quasi_and_qi_are_one_word_and_never_both(tmp_path: Path) -> None:
    assert shoal.open(PEOPLE, qi="age").schema.quasi == shoal.open(PEOPLE, quasi=["age"]).schema.quasi == ("age",)
    assert shoal.measure(PEOPLE, qi=["age"]).to_json() == shoal.measure(PEOPLE, quasi="age").to_json()
    assert shoal.inspect(PEOPLE, qi=["ill"]).to_json() == shoal.inspect(PEOPLE, quasi=["ill"]).to_json()
    other = {"sensitive": ["ill"], "direct": ["name"], "insensitive": ["town"], "k": 10}
    assert shoal.check(PEOPLE, qi=["age"], **other).to_json() == shoal.check(PEOPLE, quasi=["age"], **other).to_json()
    released = shoal.anonymize(PEOPLE, qi=["age"], **other)
    assert released.k == shoal.anonymize(PEOPLE, quasi="age", **other).k == 10
    for verb in (shoal.open, shoal.measure, shoal.inspect, shoal.check, shoal.anonymize):
        with pytest.raises(UsageError, match="quasi and qi"):
            verb(PEOPLE, quasi=["age"], qi=["age"])  # type: ignore[operator]


def test_inspect_keeps_what_it_was_told() -> None:
    found = shoal.inspect(PEOPLE, sensitive=["ill"], unit="name", insensitive="town")
    roles = {c.name: (c.role.value, c.reason) for c in found.columns}
    assert roles["ill"] == ("sensitive", "you said so")
    assert roles["town"] == ("insensitive", "you said so")
    assert roles["name"] == ("direct", "you said so")
    assert (found.unit, found.weight) == ("name", None)
    assert found.unique == 0  # counted as people on age alone


def test_a_column_has_one_role() -> None:
    for words in ({"direct": ["age"]}, {"insensitive": "ill", "sensitive": ["ill"]}):
        with pytest.raises(RoleError, match="measured as well"):
            shoal.measure(PEOPLE, quasi=["age"], **words)
    shoal.measure(PEOPLE, quasi=["age"], sensitive=["ill"], direct=["name"], insensitive=["town"])


def test_a_policy_and_words_do_not_mix_but_the_seed_may_change(tmp_path: Path) -> None:
    file = tmp_path / "policy.yml"
    file.write_text("roles: {quasi: [age], sensitive: [ill], direct: [name], insensitive: [town]}\nrequire: {k: 10}\nseed: 3\n")
    assert shoal.check({name: PEOPLE[name] for name in ("age", "town", "ill")}, file).met
    with pytest.raises(PolicyError, match="'k' were given together"):
        shoal.check(PEOPLE, file, k=11)
    with pytest.raises(PolicyError, match="'quasi' were given together"):
        shoal.anonymize(PEOPLE, shoal.Policy.load(file), quasi=["age"])
    assert shoal.anonymize(PEOPLE, file, seed=7).prepared.policy.seed == 7
    assert shoal.anonymize(PEOPLE, file).prepared.policy.seed == 3


def test_the_gate_at_the_limit() -> None:
    words = {"sensitive": ["ill"], "direct": ["name"], "insensitive": ["town"]}
    without = {name: values for name, values in PEOPLE.items() if name != "name"}
    assert shoal.check(without, quasi=["age"], k=10, **words).met
    assert not shoal.check(without, quasi=["age"], k=11, **words).met
    assert not shoal.check(PEOPLE, quasi=["age"], k=10, **words).met  # the direct identifier is still there


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One result of every verb, over a table with a value that must never be shown."""
    folder = tmp_path_factory.mktemp("face")
    released = shoal.anonymize(PEOPLE, **ROLES, k=3)
    released.write(folder / "release")
    questions = shoal.Questionnaire(population=1000, respondents=50).add("sex", shares=[0.5, 0.5]).add("age", values=50)
    plan = {"steps": [{"column": "age", "round": {"base": 10}}]}
    return {
        "measure": shoal.measure(PEOPLE, **ROLES, by="town", population=1000),
        "measure people": shoal.measure(PEOPLE, quasi=["age"], unit="name", population=PEOPLE),
        "inspect": shoal.inspect(PEOPLE),
        "check": shoal.check(PEOPLE, **ROLES, k=2),
        "estimate": shoal.predict.uniqueness(365, group_size=23),
        "predict": shoal.predict("singletons", p=[0.4, 0.6], group_size=4, law=True),
        "predict interval": shoal.predict("interval", normal=3.0, width=1.0, group_size=4),
        "predict population": shoal.predict("population", population=1000, frequencies={1: 10, 2: 5}),
        "predict zipf": shoal.predict("zipf", exponent=0.6, places=100, people=1000),
        "design": shoal.design(questions),
        "suggest": questions.suggest(),
        "hierarchy": shoal.hierarchy(PEOPLE, column="town", k=5),
        "transform": shoal.transform(PEOPLE, plan, folder / "out.csv"),
        "verify": shoal.verify(folder / "release"),
        "attack": shoal.attack(folder / "release", with_=PEOPLE),
    }


def test_results_pickle_and_say_the_same(results: dict[str, Any]) -> None:
    for verb, result in results.items():
        again = pickle.loads(pickle.dumps(result))
        assert type(again) is type(result), verb
        assert repr(again) == repr(result), verb
        assert str(again.to_json()) == str(result.to_json()), verb


def test_reprs_are_short_and_hold_no_value(results: dict[str, Any]) -> None:
    table = shoal.open(PEOPLE, **ROLES)
    parts = [results["hierarchy"].hierarchy, results["hierarchy"].levels, results["measure"].counts, results["measure"].by]
    whole = shoal.hierarchy(PEOPLE, column="town", rule={"groups": {"a": [CANARY, "x"], "b": ["y", "z"]}}).rule
    for what in (*results.values(), table, *parts, whole.step("town", 1)):
        assert CANARY not in repr(what), type(what)
    for verb, result in results.items():
        assert len(repr(result)) < 250, verb
        assert repr(result).startswith("<"), verb


def test_a_pickled_measurement_says_what_it_can_no_longer_count(results: dict[str, Any]) -> None:
    again = pickle.loads(pickle.dumps(results["measure"]))
    with pytest.raises(UsageError, match="need the table"):
        again.per_record(again.counts.sizes)
    assert results["measure"].per_record(results["measure"].counts.sizes).tolist().count(1) == 1


def test_the_commands_say_what_the_verbs_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from shoal.cli import main

    file = tmp_path / "people.parquet"
    pq.write_table(pa.table(PEOPLE), file)

    def told(*words: str) -> Any:
        with pytest.raises(SystemExit) as stop:
            main([*words, "--json"])
        out = capsys.readouterr().out
        return stop.value.code, json.loads(out)

    for word in ("--quasi", "--qi"):
        code, said = told("measure", str(file), word, "age,town", "--sensitive", "ill")
        assert (code, said["k"]) == (0, shoal.measure(file, quasi=["age", "town"], sensitive=["ill"]).k)
    code, said = told("measure", str(file), "--quasi", "age", "--qi", "town")
    assert (code, said["error"]["type"]) == (2, "UsageError")
    words = ("--quasi", "age", "--sensitive", "ill", "--direct", "name", "--insensitive", "town", "--k", "10")
    code, said = told("check", str(file), *words)
    assert (code, said) == (1, shoal.check(file, quasi="age", sensitive="ill", direct="name", insensitive="town", k=10).to_json())
    code, said = told("anonymize", str(file), *words, "--out", str(tmp_path / "release"))
    assert (code, said["k"]) == (0, 10)
    code, said = told("inspect", str(file), "--sensitive", "ill", "--unit", "name")
    assert (code, said["suggested"]["unit"]) == (0, "name")
    code, said = told("predict", "uniqueness", "--uniform", "365", "--group-size", "23")
    assert said == shoal.predict("uniqueness", uniform=365, group_size=23).to_json()


@pytest.mark.parametrize(
    ("question", "words", "says"),
    [
        ("uniquness", {}, "Did you mean 'uniqueness'"),
        ("uniqueness", {"uniform": 365, "groupsize": 3}, "Did you mean 'group_size'"),
        ("uniqueness", {"uniform": 365}, "needs group_size"),
        ("uniqueness", {"group_size": 3}, "exactly one of uniform"),
        ("singletons", {"kappa": 0.1, "cells": 95, "law": True, "group_size": 3}, "law cannot be used"),
        ("population", {"population": "lots", "frequencies": {1: 2}}, "number of people"),
        ("population", {"population": "-5", "frequencies": {1: 2}}, "negative"),
        ("population", {"population": "2.5", "frequencies": {1: 2}}, "whole number"),
    ],
)
def test_predict_refuses_what_it_does_not_know(question: str, words: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        shoal.predict(question, **words)


def test_design_takes_a_file_or_a_questionnaire(tmp_path: Path) -> None:
    file = tmp_path / "questions.yml"
    file.write_text("population: 1000\nrespondents: 50\nquestions: {sex: {shares: [0.5, 0.5]}, age: {values: 50}}\n")
    made = shoal.Questionnaire(population=1000, respondents=50).add("sex", shares=[0.5, 0.5]).add("age", values=50)
    assert shoal.design(file).unique.value == shoal.design(made).unique.value
    assert shoal.design(file, population="2k").to_json() != shoal.design(file).to_json()
    with pytest.raises(UsageError, match="its own respondents"):
        shoal.design(made, respondents=20)


def test_every_prediction_has_a_plot(tmp_path: Path) -> None:
    asked: list[tuple[str, dict[str, object]]] = [
        ("singletons", {"uniform": 20, "group_size": 5}),
        ("uniqueness", {"power_sums": [0.05, 0.0025, 0.000125, 6.25e-6, 3.125e-7], "group_size": 5}),
        ("interval", {"normal": 1.0, "width": 1.0, "second": (1.0, 1.0, 0.5), "group_size": 5}),
        ("quasi", {"values": {"a": 4}, "people": 10}),
        ("zipf", {"exponent": 0.6, "places": 50, "people": 100}),
    ]
    for question, words in asked:
        target = shoal.predict(question, **words).plot(tmp_path / f"{question}.svg")
        assert "</svg>" in target.read_text(encoding="utf-8")

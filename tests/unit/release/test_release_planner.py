"""One planner behind every door; what is said about a plan is checked by running the other methods."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import shoal
from shoal.cli import main
from shoal.model.certificate.certificate import cost_of, in_words
from shoal.model.certificate.parts import OtherMethod
from shoal.release.plan.decide import ENOUGH, NO_PLAN, TELLS_ENOUGH, decide
from shoal.release.plan.loss_limits import blank_columns, blank_shares
from shoal.release.plan.prepare import Prepared, prepare, requirements
from shoal.release.policy.draft import draft_policy
from shoal.release.policy.policy import Policy
from shoal.search.full_domain.lattice import OnePlan


def people(n: int, towns: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 80, n),
            "town": [f"town {i}" for i in rng.integers(0, towns, n) % (1 + rng.integers(0, towns, n))],
            "ill": rng.choice(["flu", "cold", "asthma"], n),
        }
    )


TABLES = {"few": people(60, 4, 1), "plain": people(1500, 3, 4), "some": people(400, 12, 2), "spread": people(250, 60, 3)}
ROLES = {"quasi": ["sex", "age", "town"], "sensitive": ["ill"]}


def prepared(name: str, k: int, **more: object) -> Prepared:
    return prepare(shoal.open(TABLES[name]), Policy.of(**ROLES, k=k, allow={"loss": 1, "blank": 1}, **more))


@pytest.mark.parametrize(("name", "k"), list(itertools.product(TABLES, (2, 10))))
def test_the_default_tells_enough_or_loses_no_more_than_any_method_by_hand(name: str, k: int):
    found = prepared(name, k)
    best = decide(found)
    by_hand = {m: decide(replace(found, policy=replace(found.policy, method=m))) for m in ("lattice", "local")}
    assert best.loss == by_hand[best.method].loss
    one = by_hand["lattice"]
    if one.loss <= ENOUGH and not blank_columns(blank_shares(found, one)):
        assert best.method == "lattice"
        assert [(o.method, o.loss, o.reason) for o in best.others] == [("local", None, f"was not tried: {TELLS_ENOUGH}")]
    else:
        assert best.loss == min(d.loss for d in by_hand.values())
        assert {o.method: o.loss for o in best.others} == {m: d.loss for m, d in by_hand.items() if m != best.method}


def test_both_rules_are_met_by_some_table():
    """Without this the test above could not fail on one side."""
    assert {decide(prepared(name, k)).method for name, k in (("plain", 5), ("spread", 10))} == {"lattice", "local"}


@pytest.mark.parametrize("name", TABLES)
def test_best_of_all_plans_is_a_count_and_true(name: str):
    """Every plan with one level per column is tried; none of those that leave nobody out loses less."""
    made = shoal.anonymize(TABLES[name], **ROLES, k=5, method="lattice", allow={"loss": 1, "blank": 1})
    sentence = cost_of(made.certificate).sentence
    said = re.search(r"the best of all ([\d,]+) plans with one level per column; other methods were not tried", sentence)
    assert said is not None, sentence
    found = made.prepared
    one = OnePlan(found.base, found.hierarchies, requirements(found))
    heights = {c: found.hierarchies[c].height for c in found.quasi}
    every = [dict(zip(heights, at, strict=True)) for at in itertools.product(*(range(h + 1) for h in heights.values()))]
    assert len(every) == int(said[1].replace(",", ""))
    tried = [t for levels in every if (t := one(levels)) is not None and not t.suppressed]
    assert made.decision.loss == pytest.approx(min(t.loss for t in tried))


@pytest.mark.parametrize("name", TABLES)
def test_no_sentence_about_the_best_plan_is_without_its_scope(name: str):
    for method in ("best", "lattice", "local"):
        made = shoal.anonymize(TABLES[name], **ROLES, k=5, method=method, allow={"loss": 1, "blank": 1})
        told = json.dumps(made.certificate.to_json()) + made.report() + cost_of(made.certificate).sentence
        assert "no plan loses less" not in told.lower()
        assert "no plan that meets" not in told.lower()
        assert "save at most" not in told


def test_the_runner_up_is_named_with_what_it_would_cost():
    made = shoal.anonymize(TABLES["spread"], **ROLES, k=10)
    assert made.decision.method == "local"
    (other,) = made.decision.others
    by_hand = shoal.anonymize(TABLES["spread"], **ROLES, k=10, method="lattice", allow={"loss": 1, "blank": 1})
    assert (other.method, other.loss) == ("lattice", pytest.approx(by_hand.decision.loss))
    said = cost_of(made.certificate).sentence
    assert f"one level per column would lose {by_hand.decision.loss:.2g}" in said
    assert "whether a better one exists is not known" in said


def test_where_nothing_bounds_the_loss_nothing_is_claimed():
    """A lower bound of 0 says nothing: 'could save at most' all of it is no knowledge."""
    cost = cost_of(shoal.anonymize(TABLES["some"], **ROLES, k=5, method="lattice").certificate)
    unknown = replace(cost, proven=False, gap=cost.loss)
    assert "how far it is from the best is not known" in unknown.sentence
    half = replace(cost, proven=False, gap=cost.loss / 2)
    assert f"none of them loses less than {cost.loss / 2:.2g}" in half.sentence


# ---------------------------------------------------------------- one question, one answer


def run(*words: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(list(words))
    assert left.value.code == 0


@pytest.mark.parametrize(("name", "k"), [("plain", 5), ("spread", 10)])
def test_every_door_gives_the_same_plan_and_the_same_bytes(name: str, k: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The command with options, the command with a policy, Python and ``protect``; a table for each of the two rules."""
    source, policy = tmp_path / "people.csv", tmp_path / "policy.yml"
    pacsv.write_csv(TABLES[name], source)
    policy.write_text(f"roles: {{quasi: [sex, age, town], sensitive: [ill]}}\nrequire: {{k: {k}}}\n")
    run("anonymize", str(source), "--quasi", "sex,age,town", "--sensitive", "ill", "--k", str(k), "--out", str(tmp_path / "a"))
    run("anonymize", str(source), "--policy", str(policy), "--out", str(tmp_path / "b"))
    made = shoal.anonymize(source, **ROLES, k=k)
    made.write(tmp_path / "c")
    safe = shoal.protect(source, **ROLES, k=k)
    capsys.readouterr()
    for file in ("data.csv", "plan.json"):
        assert len({(tmp_path / folder / file).read_bytes() for folder in "abc"}) == 1, file
    assert (safe.decision.method, safe.decision.loss, safe.plan) == (made.decision.method, made.decision.loss, made.plan)
    assert safe.to_arrow().to_pylist() == made.to_arrow().to_pylist()


def test_the_draft_asks_for_what_the_other_doors_do_by_default():
    table = shoal.open(TABLES["plain"])
    drafted = Policy.parse(draft_policy(shoal.inspect(table)))
    said = Policy.of(**ROLES, k=5)
    assert (drafted.k, drafted.suppress, drafted.method, drafted.scope) == (said.k, said.suppress, said.method, said.scope)
    assert (said.suppress, said.method) == (0.0, "best")


@pytest.mark.parametrize("first", [1, 10**9])
def test_a_short_first_search_never_decides_alone(first: int, monkeypatch: pytest.MonkeyPatch):
    """If local recoding does not fit, the search for one level per column goes on to its end."""
    monkeypatch.setattr("shoal.release.plan.decide.FIRST_CELLS", first)
    found = prepared("spread", 10)
    bounded = {c: replace(r, max_level=found.hierarchies[c].height) for c, r in found.policy.quasi.items()}
    best = decide(replace(found, policy=replace(found.policy, quasi=bounded)))
    assert best.proven
    assert "level bounds are given" in best.others[0].reason
    assert decide(found).method == "local"


def test_a_method_without_a_plan_is_named_as_such():
    assert in_words(OtherMethod("lattice", None, 0, NO_PLAN)) == "one level per column found no plan that meets the requirements"


def test_a_plan_does_not_depend_on_the_speed_of_the_machine(monkeypatch: pytest.MonkeyPatch):
    """A clock that jumps by an hour at every look changes nothing."""
    before = decide(prepared("spread", 10))
    hours = iter(range(0, 10**12, 3600))
    monkeypatch.setattr("shoal.search.problem.control.time.perf_counter", lambda: float(next(hours)))
    after = decide(prepared("spread", 10))
    assert (after.method, after.loss, after.others) == (before.method, before.loss, before.others)
    assert [list(labels) for labels in after.labels] == [list(labels) for labels in before.labels]

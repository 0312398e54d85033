"""What a card offers is what is taken and what is released: the levels are written down, not only their numbers."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import shoal
from shoal.api.improvement import Improvement, find_plans, freed, improve
from shoal.errors import InfeasibleError, UsageError
from shoal.release.plan.prepare import LEVELS_GUESSED, prepare
from shoal.release.policy.policy import Policy
from shoal.studio import policy_changes
from shoal.studio.views import improved
from shoal.studio.workspace import edits

ASKED = """
roles:
  quasi: {age: {}, job: {}, town: {}}
  sensitive: [ill]
require: {k: 5}
allow: {suppress: 0.05, loss: 1, blank: 1}
method: lattice
"""


def crowd(n: int = 1000) -> pa.Table:
    """Jobs and towns of which many are rare: the guessed levels change with k."""
    rng = np.random.default_rng(7)
    job, town = rng.zipf(1.6, n) % 40, rng.zipf(1.8, n) % 25
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "job": [f"job {i}" for i in job],
            "town": [f"town {i}" for i in town],
            "ill": rng.choice(["flu", "cold"], n),
        }
    )


def taken(text: str, plan: dict[str, Any], found: dict[str, Any]) -> str:
    return edits.with_k(edits.with_levels(text, plan["levels"], found["hierarchies"]), plan["k"])


def check_cards(table: Any, text: str) -> None:
    found = find_plans(prepare(shoal.open(table), Policy.parse(text))).to_json()
    named = [p for p in found["plans"] if p["name"]]
    assert {p["name"] for p in named} >= {"most detail", "safest"}
    different = {(tuple(p["levels"].items()), p["suppressed"]) for p in found["plans"]}
    assert len(different) == len(found["plans"]), "no two cards are the same plan"
    for plan in named:
        policy = Policy.parse(taken(text, plan, found))
        stated = {c: rule.hierarchy for c, rule in policy.quasi.items()}
        assert stated == json.loads(json.dumps(found["hierarchies"])), "the page knows that this plan is taken"
        slider = Improvement(prepare(shoal.open(table), freed(policy))).at(plan["levels"])
        assert (slider.loss, slider.suppressed) == (pytest.approx(plan["loss"]), plan["suppressed"]), plan["name"]
        made = shoal.anonymize(table, policy)
        assert made.decision.loss == pytest.approx(plan["loss"])
        assert made.decision.suppressed(made.prepared.base) == plan["suppressed"]
        assert made.decision.levels == plan["levels"]
        rows = made.to_arrow().select(list(plan["levels"])).to_pylist()
        assert min(Counter(tuple(row.values()) for row in rows).values()) == plan["smallest"] >= plan["k"], "as the card says"


def test_card_slider_and_release_agree_on_a_generated_table():
    check_cards(crowd(), ASKED)


def test_the_guessed_levels_depend_on_k_so_numbers_alone_would_differ():
    """Without this the other tests could not fail."""
    found = [prepare(shoal.open(crowd()), edits.parsed(edits.with_k(ASKED, k))).hierarchies["job"] for k in (5, 50)]
    assert found[0].levels[1].labels != found[1].levels[1].labels


def test_card_slider_and_release_agree_on_adult(shared_data: Path):
    columns = ["age", "workclass", "education", "marital-status", "sex", "native-country", "occupation"]
    table = pacsv.read_csv(shared_data / "adult" / "adult.csv").slice(0, 2000)
    names = [c for c in table.column_names if c.replace("_", "-") in columns]
    assert len(names) > 3
    quasi = ", ".join(f'"{c}": {{}}' for c in names[:4])
    rest = "require: {k: 5}\nallow: {suppress: 0.05, loss: 1, blank: 1}\nmethod: lattice\n"
    check_cards(table, f"roles:\n  quasi: {{{quasi}}}\n  rest: drop\n{rest}")


def test_a_search_starts_again_from_what_a_person_stated():
    found = find_plans(prepare(shoal.open(crowd()), Policy.parse(ASKED))).to_json()
    plan = next(p for p in found["plans"] if p["name"] == "safest")
    text = taken(ASKED, plan, found)
    assert edits.is_guessed(edits.parsed(text).quasi["job"].hierarchy)
    assert edits.without_k(edits.freed(text)) == edits.without_k(edits.freed(ASKED))
    own = edits.with_hierarchy(ASKED, "job", {"frequency": [50]})
    kept = edits.parsed(edits.freed(taken(own, plan, found))).quasi["job"].hierarchy
    assert kept == {"frequency": [50]}


def test_written_levels_are_still_reported_as_guessed():
    policy = Policy.parse(ASKED)
    first = prepare(shoal.open(crowd()), policy)
    quasi = {c: replace(r, hierarchy=first.guessed[c]) for c, r in policy.quasi.items()}
    again = prepare(shoal.open(crowd()), replace(policy, quasi=quasi))
    assert again.inferred == first.inferred
    for c in first.quasi:
        both = [[level.labels for level in p.hierarchies[c].levels] for p in (first, again)]
        assert both[0] == both[1], c


def test_level_numbers_without_their_levels_are_reported():
    quasi = {"age": {"min_level": 1}, "job": {}, "town": {}}
    found = prepare(shoal.open(crowd()), Policy.of(quasi=quasi, sensitive=["ill"], k=5))
    assert LEVELS_GUESSED in found.inferred["age"]
    assert LEVELS_GUESSED not in found.inferred["job"]
    stated = {**quasi, "age": {"min_level": 1, "hierarchy": {"intervals": [5, 10]}}}
    assert "age" not in prepare(shoal.open(crowd()), Policy.of(quasi=stated, sensitive=["ill"], k=5)).inferred


def test_rows_are_shown_as_they_would_be_published() -> None:
    table = {"sex": ["f"] * 9 + ["m"] * 5 + [None] * 6 + ["x"], "ill": ["a", "b", "c"] * 7}
    for scope in ("rows", "cells"):
        allow = {"suppress": 0.5, "scope": scope}
        policy = Policy.of(quasi={"sex": {"hierarchy": {"groups": [{"all": ["f", "m", "x"]}]}}}, rest="drop", k=5, allow=allow)
        found = improve(table, policy)
        told = improved.more(found, {"sex": 0}, "")["rows"]
        if scope == "rows":
            sizes = [(row["people"], *row["cells"]) for row in told]
            assert sizes == [(9, ("f", "")), (6, ("missing", "")), (5, ("m", ""))], "the one x is left out"
        assert all(row["people"] >= 5 for row in told)
        assert improved.more(found, {"sex": 1}, "")["rows"][0] == {"people": 15, "cells": [("all", "f, m and 1 more")]}, (
            "a value that one has is not named"
        )
    refused = improve(table, replace(policy, suppress=0.0, scope="rows"))
    assert refused.at({"sex": 0}).shown is not None, "there is something that could be shown"
    assert improved.more(refused, {"sex": 0}, "")["rows"] == [], "nothing is shown of a plan that is not met"


OFFERS = [
    {"kind": "raise level", "names": ["job", "town"], "column": None},
    {"kind": "drop column", "names": ["job", "town"], "column": None},
    {"kind": "drop column", "column": "job"},  # as version 0.4.0 stored it before
    {"kind": "k", "k": 3},
    {"kind": "method", "method": "best"},
    {"kind": "cells"},
]


def test_an_offer_that_leaves_out_several_columns_can_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    at: Any = SimpleNamespace(step=SimpleNamespace(policy=ASKED, locked=()))
    monkeypatch.setattr(policy_changes, "search_of", lambda *_: SimpleNamespace(found={"offers": OFFERS}))
    assert [policy_changes.actionable(o) for o in OFFERS] == [True, True, True, True, True, False]
    taken = {n: policy_changes.offer(None, at, {"number": str(n)}) for n in range(5)}  # type: ignore[arg-type]
    assert [[*Policy.parse(taken[n][1]).direct] for n in (1, 2, 3)] == [["job", "town"], ["job"], []]
    assert Policy.parse(taken[3][1]).smallest_class == 3
    assert taken[1][0] == "left out job, town"
    assert Policy.parse(taken[4][1]).method == "best"
    for number in ("5", "6"):
        with pytest.raises(UsageError, match="not there any more"):
            policy_changes.offer(None, at, {"number": number})  # type: ignore[arg-type]


def test_rows_of_local_recoding_are_rows_of_its_release() -> None:
    text = ASKED.replace("method: lattice\n", "").replace("suppress: 0.05", "suppress: 0")
    policy = Policy.parse(text)
    least = find_plans(prepare(shoal.open(crowd()), policy)).least
    assert least is not None
    written = shoal.anonymize(crowd(), policy).to_pandas()[list(policy.quasi)]
    people = Counter(written.itertuples(index=False, name=None))
    assert least.smallest == min(people.values())
    assert [row["people"] for row in least.rows] == [people[tuple(after for after, _ in row["cells"])] for row in least.rows]
    assert [row["people"] for row in least.rows][:: len(least.rows) - 1] == [max(people.values()), least.smallest]
    merged = [before for row in least.rows for _, before in row["cells"] if before]
    assert merged, "what a published value stands for is shown"
    rare = {job for job, n in Counter(crowd()["job"].to_pylist()).items() if n < 5}
    assert rare, "some jobs are too rare to be named"
    assert not any(job in before.replace(" and ", ", ").split(", ") for job in rare for before in merged)


BOUNDED = ASKED.replace("age: {}", "age: {hierarchy: {intervals: [5, 10, 20]}, max_level: 1}").replace("method: lattice", "")


def test_bounds_stay_when_a_search_begins_again_and_an_offer_lifts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed levels are a plan that was taken; bounds are what a person requires."""
    rules = edits.parsed(edits.freed(BOUNDED)).quasi
    assert (rules["age"].min_level, rules["age"].max_level) == (None, 1)
    assert freed(Policy.parse(BOUNDED)).quasi["age"].max_level == 1
    for same in (1, 0):  # a column fixed at its lowest level, too
        fixed = edits.with_levels(BOUNDED, {"age": same, "job": 0}, {})
        assert edits.parsed(edits.freed(fixed)).quasi["age"].max_level is None
        assert freed(Policy.parse(fixed)).quasi["age"].max_level is None
        assert Policy.parse(edits.freed(fixed, ["age"])).quasi["age"].max_level == same
    guessed = BOUNDED.replace("intervals: [5, 10, 20]", "intervals: [5, 10, 20], why: guessed")
    assert edits.parsed(edits.freed(guessed)).quasi["age"].hierarchy is not None, "the bound counts these levels"
    assert edits.parsed(edits.freed(guessed, bounded=False)).quasi["age"].hierarchy is None
    at: Any = SimpleNamespace(step=SimpleNamespace(policy=BOUNDED, locked=("age", "job")))
    offers = [{"kind": "raise level", "names": ["age"]}]
    monkeypatch.setattr(policy_changes, "search_of", lambda *_: SimpleNamespace(found={"offers": offers}))
    _, text, locked = policy_changes.offer(None, at, {"number": "0"})  # type: ignore[arg-type]
    assert (Policy.parse(text).quasi["age"].max_level, locked) == (None, ("job",))


CELLS = "allow: {suppress: 0.3, scope: cells, loss: 1, blank: 1}"


@pytest.mark.parametrize("more", ["", "method: local", "method: lattice", CELLS])
def test_the_studio_names_the_plan_of_the_release_for_bounds_and_named_methods(more: str) -> None:
    text = BOUNDED.replace("allow: {suppress: 0.05, loss: 1, blank: 1}", "") if more.startswith("allow") else BOUNDED
    policy = Policy.parse(text + more)
    found = find_plans(prepare(shoal.open(crowd()), policy))
    made = shoal.anonymize(crowd(), policy).decision
    assert found.least is not None
    assert (found.least.loss, found.least.levels) == (made.loss, made.levels)
    assert bool(made.levels) is (more not in ("", "method: local")), "each kind of plan is tried"
    assert all(plan.levels["age"] <= 1 for plan in found.plans), "no card is outside of the bounds"


def test_an_unmet_policy_gets_the_offers_of_the_planner() -> None:
    asked = "roles: {quasi: {age: {hierarchy: {intervals: [5, 10]}, max_level: 0}, town: {max_level: 0}}}\nrequire: {k: 5}\n"
    policy = Policy.parse(asked)
    table = crowd(300).select(["age", "town"])
    found = find_plans(prepare(shoal.open(table), policy))
    with pytest.raises(InfeasibleError) as error:
        shoal.anonymize(table, policy)
    assert found.least is None
    assert found.problem == error.value.message
    assert [o["sentence"] for o in found.offers] == [o.sentence for o in error.value.alternatives] != []

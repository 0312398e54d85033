"""Levels tried from counts: the numbers are those of the definition, and those that a release then has."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.api.improvement import find_plans, improve, ways
from shoal.errors import UsageError
from shoal.release.plan.loss_limits import LOSS_LIMIT
from shoal.release.policy.policy import Policy

AGE = {"hierarchy": {"intervals": [10, 20]}}


def people(rows: int, seed: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    ages, sexes = rng.integers(20, 60, rows).tolist(), rng.choice(["f", "m"], rows).tolist()
    return {"age": ages, "sex": sexes, "ill": rng.choice(["flu", "cold", "hiv"], rows, p=[0.6, 0.3, 0.1]).tolist()}


def asked(k: int, suppress: float = 0.1, **more: Any) -> Policy:
    return Policy.of(quasi={"age": AGE, "sex": {}}, sensitive=["ill"], require={"k": k, **more}, allow={"suppress": suppress})


def by_hand(table: dict[str, list[Any]], age: int, sex: int, k: int) -> tuple[int | None, int, int]:
    """Smallest group, records left out and groups, row by row."""
    band = [lambda a: a, lambda a: a // 10, lambda a: a // 20, lambda a: 0][age]
    rows = [(band(a), s if sex == 0 else "*") for a, s in zip(table["age"], table["sex"], strict=True)]
    sizes = Counter(rows)
    kept = [n for n in sizes.values() if n >= k]
    return (min(kept) if kept else None), len(rows) - sum(kept), len(kept)


@settings(max_examples=10)
@given(st.integers(8, 120), st.integers(0, 1000), st.integers(2, 9), st.integers(0, 3), st.integers(0, 1))
def test_the_numbers_are_those_of_the_definition(rows: int, seed: int, k: int, age: int, sex: int) -> None:
    table = people(rows, seed)
    found = improve(table, asked(k))
    if found.heights != {"age": 3, "sex": 1}:
        return  # a table of one sex or one band has fewer levels
    tried = found.at({"age": age, "sex": sex})
    smallest, gone, groups = by_hand(table, age, sex, k)
    assert (tried.k, tried.suppressed, tried.records) == (smallest, gone, rows)
    if smallest is not None:
        assert tried.classes == groups
        assert tried.suppress_met == (gone <= int(0.1 * rows + 1e-9))


def test_at_the_limit_and_one_beside_it() -> None:
    table = {"age": [30] * 5 + [40] * 4 + [50], "sex": ["f"] * 10}
    for share, met in ((0.1, True), (0.09, False)):
        policy = Policy.of(quasi={"age": {}, "sex": {}}, require={"k": 4}, allow={"suppress": share, "loss": 1})
        tried = improve(table, policy).at({"age": 0, "sex": 0})
        assert (tried.suppressed, tried.allowed, tried.suppress_met, tried.met) == (1, int(10 * share), met, met)
    loss = tried.loss
    for limit, met in ((loss, True), (loss - 1e-6, False)):
        policy = Policy.of(quasi={"age": {}, "sex": {}}, require={"k": 4}, allow={"suppress": 0.1, "loss": limit})
        tried = improve(table, policy).at({"age": 0, "sex": 0})
        assert (tried.loss_met, tried.met) == (met, met)


def test_no_way_is_above_the_highest_level_that_the_policy_allows() -> None:
    """``max_level`` bounds the sliders; without one, the levels that there are do."""
    table = people(60, 1)
    for bound, top in ((None, 3), (3, 3), (1, 1), (0, 0)):
        rule = AGE if bound is None else {**AGE, "max_level": bound}
        policy = Policy.of(quasi={"age": rule, "sex": {}}, sensitive=["ill"], k=5)
        found = improve(table, policy)
        assert found.highest == {"age": top, "sex": 1}
        offered = [way.level for way in ways(found, {"age": 0, "sex": 1}) if way.column == "age"]
        assert offered == [level for level in (1, 2, 3) if by_hand(table, level, 1, 5)[1] == 0 and level <= top][:1]


def test_a_level_that_is_not_there_is_refused() -> None:
    found = improve(people(60, 1), asked(3))
    for wrong in ({"age": 4}, {"age": -1}, {"ill": 0}):
        with pytest.raises(UsageError):
            found.at(wrong)


def test_a_release_has_what_was_tried() -> None:
    table, policy = people(200, 4), asked(5, diversity={"ill": {"distinct": 2}})
    found = improve(table, policy)
    best = next(p for p in find_plans(found.prepared).plans if p.name == "most detail")
    tried = found.at(best.levels)
    assert tried.met
    fixed = {c: {**rule, "min_level": best.levels[c], "max_level": best.levels[c]} for c, rule in (("age", AGE), ("sex", {}))}
    made = shoal.anonymize(table, quasi=fixed, sensitive=["ill"], require=policy.require_json(), allow={"suppress": 0.1})
    certificate = made.certificate
    assert (tried.k, tried.suppressed) == (certificate.k, certificate.utility.suppressed)
    assert tried.loss == pytest.approx(best.loss)
    assert tried.loss == pytest.approx(made.decision.loss)


def test_plans_are_found_by_size_and_locked_columns_stay() -> None:
    policy = asked(5).edited("roles.quasi.sex", {"min_level": 1, "max_level": 1})
    found = improve(people(300, 2), policy)
    heard: list[int] = []
    plans = find_plans(found.prepared, locked=["sex"], best=lambda some: heard.append(len(some.plans)))
    assert plans.asked == 5
    assert heard == sorted(heard), "each answer has at least the plans of the one before"
    assert {p.levels["sex"] for p in plans.plans} == {1}
    losses = [p.loss for p in plans.plans]
    assert losses == sorted(losses), "larger groups never cost less"
    free = find_plans(found.prepared)
    assert any(p.levels["sex"] == 0 for p in free.plans), "without the lock the search may choose"


def test_what_cannot_be_met_has_offers() -> None:
    plans = find_plans(improve(people(40, 2), asked(39, suppress=0.0, diversity={"ill": {"distinct": 4}})).prepared)
    assert plans.problem
    assert plans.to_json()["plans"] == []


def test_ways_out_work_and_are_none_where_nothing_is_wrong() -> None:
    found = improve(people(150, 5), asked(8, suppress=0.02))
    raw = found.at({"age": 0, "sex": 0})
    assert not raw.met
    out = ways(found, raw.levels)
    assert 1 <= len(out) <= 3
    for way in out:
        if way.column:
            assert found.at({**raw.levels, way.column: way.level}).met
        else:
            assert way.suppress >= raw.left_out > way.suppress - 0.01
    good = {"age": 2, "sex": 0}
    assert found.at(good).met
    assert ways(found, good) == []


def test_secrets_are_judged_by_people_and_by_records() -> None:
    rows = [("a", 30, "flu"), ("a", 30, "flu"), ("a", 30, "flu"), ("b", 30, "cold"), ("c", 41, "flu"), ("d", 41, "cold")]
    table = {name: [row[i] for row in rows] for i, name in enumerate(("id", "age", "ill"))}
    for most, met in ((0.75, True), (0.7, False)):
        policy = Policy.of(
            quasi={"age": {}},
            sensitive=["ill"],
            unit="id",
            require={"k": 2, "diversity": {"ill": {"alpha": most}}},
            allow={"loss": 1},
        )
        tried = improve(table, policy).at({"age": 0})
        assert (tried.k, tried.met) == (2, met), "three of four records say flu, one of two people does"


def test_names_of_small_groups_are_not_shown() -> None:
    table = people(100, 3)
    table["age"][0] = 99
    shown = improve(table, asked(5)).shown("age")
    assert all(size >= 5 for level in shown for _, size in level.shown)
    assert not any("99" in label for level in shown[:2] for label, _ in level.shown)


@pytest.mark.parametrize("allowed", [{}, {"loss": 1, "blank": 1}])
def test_no_plan_is_offered_that_a_release_would_refuse(allowed: dict[str, float]) -> None:
    table = shoal.open({name: [i * 7919 % (31 + j) % 2 for i in range(90)] for j, name in enumerate("abcde")})
    asked = Policy.of(quasi={name: {"hierarchy": {"kind": "flat"}} for name in "abcde"}, k=2, allow=allowed)
    found = find_plans(improve(table, asked).prepared).plans
    assert (max(plan.loss for plan in found) > LOSS_LIMIT) is bool(allowed), "the largest groups need nearly all to be hidden"
    for plan in found:
        rules = {name: {"hierarchy": {"kind": "flat"}, "min_level": n, "max_level": n} for name, n in plan.levels.items()}
        written = shoal.anonymize(table, Policy.of(quasi=rules, k=plan.k, allow=allowed)).to_pandas()
        assert min(Counter(written.itertuples(index=False, name=None)).values()) == plan.smallest, "offered is what is written"

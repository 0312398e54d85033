"""What levels do: bars that show nobody, the path from raw to safe row by row, plans beside the ones found."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from shoal.api.arguments import opened
from shoal.api.improvement import POOLED, effect, find_plans, improve, path, pooled
from shoal.release.plan.prepare import prepare
from shoal.release.policy.policy import Policy

AGE = {"hierarchy": {"intervals": [10, 20]}}


def asked(k: int, suppress: float = 1.0) -> Policy:
    return Policy.of(quasi={"age": AGE, "sex": {}}, require={"k": k}, allow={"suppress": suppress, "loss": 1})


def people(rows: int, seed: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    return {"age": rng.integers(20, 60, rows).tolist(), "sex": rng.choice(["f", "m"], rows).tolist()}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_path_is_that_of_the_definition(seed: int) -> None:
    table, k = people(90, seed), 4
    found = improve(table, asked(k))
    bands = [lambda a: a, lambda a: a // 10, lambda a: a // 20, lambda a: 0]

    def under(age: int, sex: int) -> int:
        rows = [(bands[age](a), s if sex == 0 else "*") for a, s in zip(table["age"], table["sex"], strict=True)]
        return sum(n for n in Counter(rows).values() if n < k)

    assert path(found, {"age": 1, "sex": 1}) == (("", under(0, 0)), ("age", under(1, 0)), ("sex", under(1, 1)))
    assert path(found, {"age": 0, "sex": 1}) == (("", under(0, 0)), ("sex", under(0, 1)))
    assert path(found, {"age": 0, "sex": 0}) == (("", under(0, 0)),)


def test_no_path_where_people_are_in_several_classes() -> None:
    table = {"id": [1, 1, 2, 2, 3, 3, 4, 4], "age": [20, 30] * 4, "sex": ["f"] * 8}
    policy = Policy.of(quasi={"age": {}, "sex": {}}, unit="id", require={"k": 2}, allow={"suppress": 1, "loss": 1})
    assert path(improve(table, policy), {"age": 0, "sex": 0}) == ()


def test_bars_hold_as_many_as_may_be_shown_or_are_joined() -> None:
    table = {"age": [20] * 5 + [30] * 4 + [40] * 6, "sex": ["f"] * 15}
    found = improve(table, asked(2))
    least = found.policy.cells.minimum
    assert least == 5
    told = effect(found, "age", found.at({"age": 0, "sex": 0}))
    assert told.values == 3
    assert told.before == (5, 10), "four would be too few"
    assert told.after == (("20", 5), ("40", 6)), "four are not named, nor shown as a rest of four"
    more = {"age": [20] * 5 + [30] * 4 + [35] * 1 + [40] * 6, "sex": ["f"] * 16}
    found = improve(more, asked(1 + 1))
    told = effect(found, "age", found.at({"age": 0, "sex": 0}))
    assert sum(n for _, n in told.after) <= 15
    assert all(n >= 5 for _, n in told.after)
    coarse = effect(found, "age", found.at({"age": 2, "sex": 0}))
    assert [n for _, n in coarse.after] == [10, 6]
    hidden = effect(found, "age", found.at({"age": 3, "sex": 0}))
    assert [n for _, n in hidden.after] == [16]


def test_many_rare_values_are_one_bar_without_a_name() -> None:
    table = {"age": [20] * 5 + list(range(30, 36)), "sex": ["f"] * 11}
    policy = Policy.of(quasi={"age": AGE, "sex": {}}, require={"k": 1 + 1}, allow={"suppress": 1, "loss": 1})
    found = improve(table, policy)
    nobody = effect(found, "age", found.at({"age": 0, "sex": 0}))
    assert nobody.after == (("20", 5),), "those alone are left out"
    assert nobody.before == (5, 6)
    table = {"age": [20] * 6 + [30] * 3 + [40] * 3, "sex": ["f"] * 12}
    found = improve(table, policy)
    assert effect(found, "age", found.at({"age": 0, "sex": 0})).after == (("20", 6), (POOLED, 6))


def test_at_most_sixty_bars_that_hold_everybody() -> None:
    table = {"age": [n for n in range(200) for _ in range(5)], "sex": ["f"] * 1000}
    found = improve(table, asked(2))
    told = effect(found, "age", found.at({"age": 0, "sex": 0}))
    assert (len(told.before), sum(told.before), told.values) == (60, 1000, 200)
    assert pooled([4, 1], 5) == [5]
    assert pooled([5], 5) == [5]
    assert pooled([4], 5) == []


def test_plans_beside_those_found_lose_as_much_or_more() -> None:
    prepared = prepare(opened(people(400, 7)), asked(5, 0.05))
    found = find_plans(prepared)
    assert found.tried
    assert all(k >= found.asked for k, _ in found.tried)
    assert any(p.proven for p in found.plans)
    assert all(loss >= p.loss - 1e-12 for k, loss in found.tried for p in found.plans if p.proven and p.k <= k)
    assert found.to_json()["tried"] == [list(t) for t in found.tried]


@pytest.mark.parametrize(("values", "bars"), [(59, 59), (60, 60), (61, 60), (150, 60)])
def test_never_more_than_sixty_bars(values: int, bars: int) -> None:
    table = {"age": [20 + i for i in range(values) for _ in range(6)], "sex": ["f"] * (6 * values)}
    found = improve(table, asked(2))
    told = effect(found, "age", found.at({"age": 0, "sex": 0}))
    assert len(told.after) == bars
    assert sum(n for _, n in told.after) == 6 * values
    ends = [label.split(" … ") for label, _ in told.after]
    assert (ends[0][0], ends[-1][-1]) == ("20", str(19 + values))
    for (label, n), said in zip(told.after, ends, strict=True):
        first, last = int(said[0]), int(said[-1])
        assert n == 6 * (last - first + 1), f"{label} stands for its values and no others"

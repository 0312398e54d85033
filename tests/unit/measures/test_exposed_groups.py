"""Groups that are hit hardest, and people who do not exist: by hand, and at the limit of what may be said."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import shoal
from shoal.measures.classes.individual import invented_person, most_exposed_groups

NAMES = ("sex", "job", "age")


def rows(n: int, seed: int) -> list[tuple[str, str, int]]:
    rng = np.random.default_rng(seed)
    return list(zip(rng.choice(["f", "m"], n), rng.choice(["a", "b", "c"], n), rng.integers(20, 50, n).tolist(), strict=True))


@pytest.mark.parametrize("seed", [1, 2])
def test_groups_are_counted_as_by_hand(seed: int) -> None:
    some = rows(120, seed)
    m = shoal.measure(
        {"sex": [r[0] for r in some], "job": [r[1] for r in some], "age": [r[2] for r in some]}, quasi=["sex", "job", "age"]
    )
    alone = {r for r, n in Counter(some).items() if n == 1}
    found = most_exposed_groups(m.counts, least=5, most=100)
    for place, column in enumerate(NAMES):
        sizes = Counter(str(r[place]) for r in some)
        unique = Counter(str(r[place]) for r in alone)
        expected = {(g, n, unique[g]) for g, n in sizes.items() if n >= 5}
        assert {(h.group, h.people, h.unique) for h in found if h.column == column} == expected
    assert [h.share for h in found] == sorted((h.share for h in found), reverse=True)
    assert len(most_exposed_groups(m.counts, least=5)) == 8


def test_a_group_at_the_limit_is_named_and_one_below_is_not() -> None:
    m = shoal.measure({"sex": ["f"] * 4 + ["m"] * 5, "age": list(range(9))}, quasi=["sex", "age"])
    assert [(h.group, h.people) for h in most_exposed_groups(m.counts, least=5)] == [("m", 5)]
    assert {h.group for h in most_exposed_groups(m.counts, least=4)} == {"f", "m"}


@pytest.mark.parametrize("seed", range(8))
def test_nobody_has_all_the_values_and_crowds_are_those_of_the_table(seed: int) -> None:
    some = rows(60, seed)
    m = shoal.measure(
        {"sex": [r[0] for r in some], "job": [r[1] for r in some], "age": [r[2] for r in some]}, quasi=["sex", "job", "age"]
    )
    least = 2
    one = invented_person(m.counts, least=least, rng=np.random.default_rng(seed))
    assert one is not None
    place = {"sex": 0, "job": 1, "age": 2}
    left = some
    for (column, value), crowd in zip(one.values, one.crowds, strict=True):
        assert sum(str(r[place[column]]) == value for r in some) >= least, "each value alone is shared"
        left = [r for r in left if str(r[place[column]]) == value]
        assert crowd == (len(left) if len(left) >= least else None)
    assert left == [], "no record has them all"


def test_where_everybody_common_exists_nobody_is_made_up() -> None:
    full = shoal.measure({"sex": ["f", "m"] * 10, "job": ["a", "a", "b", "b"] * 5}, quasi=["sex", "job"])
    assert invented_person(full.counts, least=5, rng=np.random.default_rng(1)) is None
    rare = shoal.measure({"sex": ["f", "m"] * 2, "age": [1, 2, 3, 4]}, quasi=["sex", "age"])
    assert invented_person(rare.counts, least=2, rng=np.random.default_rng(1)) is None, "no age is common"
    assert invented_person(rare.counts, least=1, rng=np.random.default_rng(1)) is not None

"""Groups by hand: every value is in one group before and after, names are asked for, files become trees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.api.improvement import improve
from shoal.errors import UsageError
from shoal.hierarchies import from_policy
from shoal.release.policy.policy import Policy
from shoal.studio.column_levels import _even
from shoal.studio.value_groups import LONGEST, apart, groups_of, rule_of, together, tree_of
from shoal.studio.views import improved

VALUES = list("abcdef")


@given(st.lists(st.tuples(st.sets(st.sampled_from(VALUES), min_size=1), st.sampled_from(["one", "two", "a"])), max_size=5))
def test_no_value_is_lost_or_in_two_groups(moves: list[tuple[set[str], str]]) -> None:
    groups = groups_of(None, VALUES)
    for chosen, name in moves:
        groups = together(groups, sorted(chosen), name)
        assert sorted(v for inside in groups.values() for v in inside) == VALUES
        assert set(groups[name]) >= chosen
        rule = rule_of(groups)
        assert groups_of(rule, VALUES) == groups or rule is None
        if rule is not None:
            made = from_policy(rule).over("x", VALUES)
            for name_, inside in groups.items():
                at = {made.levels[1].labels[made.levels[1].groups[VALUES.index(v)]] for v in inside}
                assert at == {name_}


def test_taken_apart_and_values_that_are_not_listed() -> None:
    groups = together(groups_of(None, VALUES), ["a", "b"], "early")
    assert apart(groups, "early") | {} == {v: [v] for v in VALUES} or sorted(apart(groups, "early")) == VALUES
    assert rule_of(apart(groups, "early")) is None
    with pytest.raises(UsageError, match="does not exist"):
        apart(groups, "late")
    rule = rule_of(groups)
    assert rule is not None
    rare = from_policy(rule).over("x", [*VALUES, "rare"])
    assert rare.levels[1].labels[rare.levels[1].groups[-1]] == "*", "what is not listed is hidden from level 1 on"


def test_names_at_their_limit() -> None:
    groups = groups_of(None, VALUES)
    assert "n" * LONGEST in together(groups, ["a", "b"], "n" * LONGEST)
    for name in ("", "  ", "n" * (LONGEST + 1)):
        with pytest.raises(UsageError, match="needs a name"):
            together(groups, ["a"], name)
    with pytest.raises(UsageError, match="no value"):
        together(groups, [], "early")


def test_a_file_becomes_a_tree() -> None:
    rows = [["NL", "west", "Europe", "*"], ["BE", "west", "Europe", "*"], ["JP", "east", "Asia", "*"]]
    made = from_policy({"tree": tree_of(_even([*rows, ["*"] * 4]))}).over("x", ["NL", "BE", "JP"])
    assert [level.labels for level in made.levels] == [("NL", "BE", "JP"), ("west", "east"), ("Europe", "Asia"), ("*",)]
    assert tree_of([["NL", "west"], ["JP", "west"]]) == {"west": ["NL", "JP"]}, "one group is a group"
    for wrong in ([["NL", "a"], ["NL", "b"]], [["NL", "a"], ["BE"]], [["*", "*"]]):
        with pytest.raises(UsageError):
            _even(wrong)
    with pytest.raises(UsageError, match="no groups"):
        tree_of([["NL"], ["BE"]])


def test_every_stop_says_what_it_does() -> None:
    counts = {"baker": 40, "clerk": 30, "nurse": 9, "smith": 8, "judge": 7}
    rows = [(job, age) for job, n in counts.items() for age in (20, 25, 30) for _ in range(n)]
    table = {"job": [job for job, _ in rows], "age": [age for _, age in rows], "ill": ["a", "b"] * (len(rows) // 2)}
    asked = Policy.of(
        quasi={"job": {"hierarchy": {"frequency": [50]}}, "age": {"hierarchy": {"intervals": [1, 5, 20]}}}, sensitive=["ill"], k=3
    )
    told = improved.shown(improve(table, asked), {"job": 1, "age": 2})["stops"]
    assert [s["label"] for s in told["job"]["stops"]] == ["as it is", "5 → 3: rare values merged", "hidden"]
    assert told["job"]["label"] == "5 → 3: rare values merged"
    assert [s["label"] for s in told["age"]["stops"]] == [
        "as it is",
        "nothing merges",
        "nothing merges",
        "3 → 1: 20-39",
        "hidden",
    ]
    assert all(s["label"] and s["short"] for stops in told.values() for s in stops["stops"])

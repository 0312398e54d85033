"""Which requirements hold for all people if they hold in each group of people: counted in groups and in the whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.model.requirement import Requirement
from shoal.release.proof.events import facts_of_rows, judge_events

Row = tuple[Any, ...]
"""Pseudonym, person, sensitive value, time, place."""


def counted(rows: list[Row], *texts: str) -> dict[str, Any]:
    """The verdict on each requirement."""
    asked = [Requirement.parse(text) for text in texts]
    rows = rows if any("value" in t for t in texts) else [(*r[:2], *r[3:]) for r in rows]
    sensitive = ["value"] if any("value" in t for t in texts) else []
    facts = facts_of_rows(rows, unit=True, person=True, known=2, asked=asked, timed=True, sensitive=sensitive)
    return dict(zip(texts, judge_events(asked, facts), strict=True))


def group(name: str) -> st.SearchStrategy[list[Row]]:
    """Some people with a few pseudonyms each."""
    point = st.tuples(st.integers(0, 1), st.sampled_from("XY"))
    trace = st.tuples(st.integers(0, 3), st.sampled_from(["p", "q", None]), st.sets(point, min_size=1, max_size=3))
    return st.lists(trace, min_size=2, max_size=9).map(
        lambda traces: [
            (f"{name}{i}", f"{name}{who}", value, *at) for i, (who, value, points) in enumerate(traces) for at in sorted(points)
        ]
    )


UP = ("known[1]>=2", "known[2]>=2", "length[1]>=2", "length[2]>=2")


@settings(max_examples=40)
@given(groups=st.tuples(group("a"), group("b"), group("c")), seen=st.integers(2, 3))
def test_people_and_shares_of_groups_are_those_of_the_whole_or_worse(groups: tuple[list[Row], ...], seen: int) -> None:
    parts, whole = groups[:seen], [r for g in groups[:seen] for r in g]
    for text in UP:
        assert counted(whole, text)[text].found >= min(counted(g, text)[text].found for g in parts)
    texts = ("known[2]>=2", "alpha[value]<=0.5", "distinct[value]>=2", "unicity[2]<=0.5")
    both, each = counted(whole, *texts), [counted(g, *texts) for g in parts]
    assert both[texts[1]].found <= max(c[texts[1]].found for c in each) + 1e-9
    assert both[texts[2]].found >= min(c[texts[2]].found for c in each)
    assert both[texts[3]].found <= max(c[texts[3]].found for c in each) + 1e-9


def shown(*traces: tuple[str, int, str, list[tuple[int, str]]]) -> list[Row]:
    """So many pseudonyms of a person, with this value and these points."""
    return [(f"{who}{i}", who, value, *at) for who, many, value, points in traces for i in range(many) for at in points]


X0, X1, X2, Y0 = (0, "X"), (1, "X"), (2, "X"), (0, "Y")
NOT_IN_GROUPS = {
    # what is known of a1 fits b1's three pseudonyms, at a time that nobody of b's group is asked about
    "near[1, 1]>=2": (shown(("a1", 1, "p", [X0]), ("a2", 1, "p", [X0])), shown(("b1", 3, "p", [X1]), ("b2", 3, "p", [X2]))),
    # of those at X who were not at Y nobody is b1, but b1 has most pseudonyms at X
    "absent[1]>=2": (
        shown(("a1", 1, "p", [X0]), ("a2", 1, "p", [X0]), ("a3", 1, "p", [X0, Y0]), ("a4", 1, "p", [X0, Y0])),
        shown(("b1", 3, "p", [X0, Y0]), ("b2", 3, "p", [X0, Y0])),
    ),
    # everybody of a group has its value: no distance from the group, and half from everybody
    "t[value, equal]<=0.2": (
        shown(("a1", 1, "p", [X0]), ("a2", 1, "p", [X0])),
        shown(("b1", 1, "q", [Y0]), ("b2", 1, "q", [Y0])),
    ),
}


@pytest.mark.parametrize("text", NOT_IN_GROUPS)
def test_what_holds_in_each_group_and_not_in_the_whole(text: str) -> None:
    texts = ("known[1]>=2", text) if "value" in text else (text,)
    one, two = NOT_IN_GROUPS[text]
    assert all(v.met for part in (one, two) for v in counted(part, *texts).values())
    assert not counted(one + two, *texts)[text].met


@settings(max_examples=40)
@given(groups=st.tuples(group("a"), group("b")))
def test_nobody_with_several_pseudonyms_makes_near_and_absent_add_up_too(groups: tuple[list[Row], ...]) -> None:
    """With one pseudonym for each person all that fit in a group fit in the whole; it is renewal that breaks them."""
    parts = [[(trace, trace, *rest) for trace, _, *rest in rows] for rows in groups]
    assume(all(parts))
    for text in ("near[2, 1]>=2", "absent[2]>=2"):
        assert counted([r for g in parts for r in g], text)[text].found >= min(counted(g, text)[text].found for g in parts)

"""One of a kind in smaller groups: the formula against every possible group."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import UsageError
from shoal.measures.classes.individual import unique_shares
from shoal.model.counts.classes import ClassCounts


@settings(max_examples=40)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_every_group_counted(sizes: list[int]) -> None:
    people = [c for c, n in enumerate(sizes) for _ in range(n)]
    for g in range(1, len(people) + 1):
        groups = list(combinations(people, g))
        alone = sum(sum(group.count(c) == 1 for c in group) for group in groups)
        assert unique_shares(ClassCounts(tuple(sizes)), [g])[0] == pytest.approx(alone / (g * len(groups)))


def test_the_ends_and_beside_them() -> None:
    counts = ClassCounts((1, 2, 5))
    assert unique_shares(counts, [1, 8]) == pytest.approx([1.0, 1 / 8])
    for wrong in (0, 9):
        with pytest.raises(UsageError):
            unique_shares(counts, [wrong])

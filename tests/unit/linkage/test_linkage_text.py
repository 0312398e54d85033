"""Similarity of texts against slow definitions, at their limits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.linkage.similarity import LONGEST, jaro_winkler, one_edit

words = st.text(alphabet="abé漢", min_size=1, max_size=9)


def slow_jaro_winkler(a: str, b: str) -> float:
    window = max(max(len(a), len(b)) // 2 - 1, 0)
    used = [False] * len(b)
    mine = []
    for i, letter in enumerate(a):
        for j in range(max(0, i - window), min(len(b), i + window + 1)):
            if not used[j] and b[j] == letter:
                used[j] = True
                mine.append(letter)
                break
    if not mine:
        return 0.0
    theirs = [b[j] for j in range(len(b)) if used[j]]
    exchanged = sum(x != y for x, y in zip(mine, theirs, strict=True)) // 2
    jaro = (len(mine) / len(a) + len(mine) / len(b) + (len(mine) - exchanged) / len(mine)) / 3
    prefix = 0
    while prefix < min(4, len(a), len(b)) and a[prefix] == b[prefix]:
        prefix += 1
    return jaro + 0.1 * prefix * (1 - jaro) if jaro > 0.7 else jaro


def slow_distance(a: str, b: str) -> int:
    table = {(i, j): i + j for i in range(len(a) + 1) for j in range(len(b) + 1) if not i * j}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            ways = [table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a[i - 1] != b[j - 1])]
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                ways.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(ways)
    return table[len(a), len(b)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(words, words), min_size=1, max_size=30))
def test_equals_the_slow_definitions(pairs: list[tuple[str, str]]) -> None:
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    for found, (a, b) in zip(jaro_winkler(left, right), pairs, strict=True):
        assert found == pytest.approx(slow_jaro_winkler(a, b), abs=1e-12)
    assert one_edit(left, right).tolist() == [slow_distance(a, b) <= 1 for a, b in pairs]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [("martha", "marhta", 0.9611), ("dwayne", "duane", 0.84), ("dixon", "dicksonx", 0.8133), ("jones", "johnson", 0.8324)],
)
def test_winklers_own_examples(a: str, b: str, expected: float) -> None:
    assert round(float(jaro_winkler([a], [b])[0]), 4) == expected


def test_long_texts_are_compared_by_their_beginning() -> None:
    same = "x" * LONGEST
    assert jaro_winkler([same + "a"], [same + "b"]).tolist() == [1.0]
    assert jaro_winkler([same[:-1] + "a"], [same[:-1] + "b"])[0] < 1
    assert jaro_winkler([], []).tolist() == [] == one_edit([], []).tolist()

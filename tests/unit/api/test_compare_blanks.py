"""``shoal.compare`` of releases with blank cells: what a blank stands for, and whose row it may be."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

import shoal
from shoal.comparison import changes as divergence
from shoal.measures.utility.analyses import _without

QUASI = ("a", "b", "c")


def people(n: int = 120) -> dict[str, list[Any]]:
    rng = np.random.default_rng(7)
    return {
        "a": [str(x) for x in rng.choice(list("pqrst"), n, p=[0.4, 0.3, 0.15, 0.1, 0.05])],
        "b": [int(x) for x in rng.integers(0, 8, n)],
        "c": [str(x) for x in rng.choice(list("xy"), n)],
    }


def slow_divergence(original: dict[str, list[Any]], release: dict[str, list[Any]]) -> float:
    """Each published record spread over all combinations it may stand for, one left out over everything."""
    values = {name: sorted(set(original[name])) for name in QUASI}

    def stands_for(name: str, label: object) -> list[Any]:
        if label == "*":
            return values[name]
        if isinstance(label, str) and "-" in label:
            low, high = map(int, label.split("-"))
            return [v for v in values[name] if low <= v <= high]
        return [label]

    guess: Counter[tuple[Any, ...]] = Counter()
    for row in zip(*(release[name] for name in QUASI), strict=True):
        every = list(product(*(stands_for(name, label) for name, label in zip(QUASI, row, strict=True))))
        for x in every:
            guess[x] += 1 / len(every)  # type: ignore[assignment]
    n, m = len(original["a"]), len(release["a"])
    cells = math.prod(map(len, values.values()))
    seen = Counter(zip(*(original[name] for name in QUASI), strict=True))
    return sum(v / n * math.log2(v / (guess[x] + (n - m) / cells)) for x, v in seen.items())


@pytest.mark.parametrize("lost", [0, 9])
@pytest.mark.parametrize("blank", ["cells", "values", "column"])
def test_divergence_of_blank_cells_by_definition(blank: str, lost: int) -> None:
    original = people()
    release = {name: list(values) for name, values in original.items()}
    release["b"] = [f"{v // 4 * 4}-{v // 4 * 4 + 3}" for v in original["b"]]
    if blank == "cells":
        rng = np.random.default_rng(3)
        for name in QUASI:
            release[name] = ["*" if u < 0.15 else v for u, v in zip(rng.random(120), release[name], strict=True)]
            release[name][-2:] = "**"  # two records tell nothing at all
    elif blank == "values":
        release["a"] = ["*" if v in "st" else v for v in original["a"]]
    else:
        release["c"] = ["*"] * 120
    release = {name: values[lost:][::-1] for name, values in release.items()}
    c = shoal.compare(original, release, quasi=QUASI, models=False, frontier=False)
    assert c.classes["kl_divergence"] == pytest.approx(slow_divergence(original, release))


def test_no_divergence_where_the_release_rules_an_original_combination_out() -> None:
    """The published records make (p, x) impossible, however they are spread; one record left out makes it possible again."""
    original = {"a": [*"pqpq"], "c": [*"xyyx"], "b": [1, 2, 3, 4]}
    release = {"a": [*"pqqq"], "c": [*"yyyx"], "b": ["1-4"] * 4}
    c = shoal.compare(original, release, quasi=QUASI, models=False, frontier=False)
    assert c.classes["kl_divergence"] is None
    fewer = {name: values[:3] for name, values in release.items()}
    c = shoal.compare(original, fewer, quasi=QUASI, models=False, frontier=False)
    assert c.classes["kl_divergence"] == pytest.approx(slow_divergence(original, fewer))


def test_divergence_is_left_out_beyond_its_limit_only(monkeypatch: pytest.MonkeyPatch) -> None:
    original = {"a": [*"pqpq"], "c": [*"xyyx"], "b": [1, 2, 3, 4]}
    release = {"a": [*"pqp*"], "c": [*"xyyx"], "b": ["1-4"] * 4}  # two sets of blank columns, four combinations
    for most, there in ((8, True), (7, False)):
        monkeypatch.setattr(divergence, "MOST_LOOKED_UP", most)
        c = shoal.compare(original, release, quasi=QUASI, models=False, frontier=False)
        assert (c.classes["kl_divergence"] is not None) is there


def test_values_published_as_a_blank_are_there_at_the_published_detail() -> None:
    original = {"a": [*"ppqqrs"], "x": [1, 2, 3, 4, 5, 9]}
    release = {"a": [*"ppqq**"], "x": ["1-2", "1-2", "3-4", "3-4", "*", "*"]}
    c = shoal.compare(original, release, models=False, frontier=False)
    assert [x.distance for x in c.columns] == [0.0, 0.0]


def test_models_of_a_release_with_blank_cells_do_not_win_by_memory() -> None:
    """The target is drawn by lot: anyone who does better than a guess has seen the rows that it is tested on."""
    rng = np.random.default_rng(1)
    n = 400
    original = {f"x{j}": [int(v) for v in rng.integers(0, 6, n)] for j in range(6)}
    original["y"] = [int(v) for v in rng.integers(0, 2, n)]
    release = {name: [str(v) for v in values] for name, values in original.items()}
    release["x0"] = ["*" if v == 5 else str(v) for v in original["x0"]]
    release["x1"] = ["*" if u < 0.5 else str(v) for u, v in zip(rng.random(n), original["x1"], strict=True)]
    c = shoal.compare(original, release, target="y", frontier=False)
    assert [m.after for m in c.models if m.score == "AUC"] == pytest.approx([0.5] * 3, abs=0.1)


def test_a_test_row_takes_out_an_equal_row_before_one_with_blanks() -> None:
    rng = np.random.default_rng(0)
    before = [np.array([0, 1, 2, 2]), np.array([5, 5, 6, 6])]
    after = [np.array([0, -1, 2, -1, 0]), np.array([5, 5, 6, 6, -1])]
    kept = [_without(before, after, np.array(test), rng).tolist() for test in ([0], [1], [2], [2, 3], [0, 1])]
    assert kept == [[1, 2, 3, 4], [0, 2, 3, 4], [0, 1, 3, 4], [0, 1, 4], [2, 3, 4]]


def test_rows_that_are_blank_where_it_counts_take_nobody_out() -> None:
    after = [np.array([-1, -1, 3])]
    assert _without([np.array([7])], after, np.array([0]), np.random.default_rng(0)).tolist() == [0, 1, 2]

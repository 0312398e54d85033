"""People with several rows, missing values and weights together: every number of one result speaks of the same people."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import UsageError
from shoal.measures.classes.risk import members_above
from shoal.measures.observer.entropy import renyi_entropy, shannon_entropy
from shoal.model.counts.classes import ClassCounts


def people_by(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> dict[tuple[Any, ...], set[Any]]:
    out: dict[tuple[Any, ...], set[Any]] = defaultdict(set)
    for row in rows:
        out[tuple(row[c] for c in columns)].add(row["u"])
    return out


@pytest.mark.parametrize("seed", range(12))
def test_rows_left_out_are_left_out_of_every_number(seed: int) -> None:
    """Rule drop with a unit: people, classes, subsets and contributions, against plain Python over the rows that are left."""
    rng = np.random.default_rng(seed)
    n, qi = int(rng.integers(6, 40)), ("a", "b", "c")
    rows = [
        {**{c: None if rng.random() < 0.15 else int(rng.integers(0, 4)) for c in qi}, "u": f"p{rng.integers(0, max(3, n // 2))}"}
        for _ in range(n)
    ]
    left = [r for r in rows if all(r[c] is not None for c in qi)]
    if not left:
        pytest.skip("nothing is left in this draw")
    m = shoal.measure(pa.Table.from_pylist(rows), qi=list(qi), unit="u", missing="drop")
    assert m.people == len({r["u"] for r in left})
    assert m.k == min(len(p) for p in people_by(left, qi).values())
    for s in m.subsets(3):
        members = list(people_by(left, s.columns).values())
        alone = set().union(*(m for m in members if len(m) == 1))
        assert (s.classes, s.k, s.unique) == (len(members), min(len(m) for m in members), len(alone))
    assert {s.columns for s in m.subsets(3)} == {c for r in (1, 2, 3) for c in combinations(qi, r)}


def test_individual_risk_counts_people_not_rows() -> None:
    t = pa.table({"a": [1, 1, 1, 2, 2], "u": ["p", "p", "p", "q", "r"], "w": [10.0] * 5})
    m = shoal.measure(t, qi=["a"], unit="u", weight="w")
    assert m.individual is not None
    assert m.individual.max == pytest.approx(0.1 / 0.9 * math.log(10))  # one person of ten: METHODS, sample unique
    assert m.individual.expected == pytest.approx(0.2558428 + 2 * 0.0826841, abs=1e-6)
    assert any("each person once" in note for note in m.notes)


def test_estimates_from_a_sample_speak_of_the_people_measured() -> None:
    rng = np.random.default_rng(1)
    a = [None if i < 100 else int(x) for i, x in enumerate(rng.integers(0, 150, 400))]
    t = pa.table({"a": a, "u": [f"p{i % 200}" for i in range(400)], "one": [f"q{i}" for i in range(400)]})
    dropped = shoal.measure(t, qi=["a"], missing="drop", population=5000)
    assert dropped.sample is not None
    assert dropped.sample["sample"]["people"] == dropped.records == 300
    several = shoal.measure(t, qi=["a"], unit="u", population=5000)
    assert several.sample is None
    assert any("nothing is estimated" in note for note in several.notes)
    single = shoal.measure(t, qi=["a"], unit="one", missing="drop", population=5000)
    assert single.sample is not None
    assert single.sample["sample"]["people"] == single.people == 300


def test_a_population_table_follows_the_rule_for_missing_values() -> None:
    t, p = pa.table({"a": [1, None, 1], "b": [None, 2, 2]}), pa.table({"a": [1, None, 1, 5], "b": [None, 2, 2, 6]})
    m = shoal.measure(t, qi=["a", "b"], missing="drop", population=p)
    assert m.presence is not None
    assert (int(m.presence.population.sum()), m.presence.k_map) == (2, 1)
    assert m.risk.prosecutor.max >= m.risk.journalist.max >= m.risk.marketer
    with pytest.raises(UsageError, match="'own' and 'drop'"):
        shoal.measure(t, qi=["a", "b"], missing="wildcard", population=p)


def test_a_value_that_everybody_has_is_told_although_diversity_looks_fine() -> None:
    t = pa.table({"a": [1] * 6, "u": list("ppqqrr"), "d": ["flu", "x", "flu", "y", "flu", "z"]})
    m = shoal.measure(t, qi=["a"], unit="u", sensitive=["d"])
    assert m.diversity["d"].distinct == 4
    assert any("in 1 of 1 classes one value is held by everybody" in note for note in m.notes)
    assert not any("held by everybody" in note for note in shoal.measure(t, qi=["a"], sensitive=["d"]).notes)


def test_thresholds_hold_for_very_large_classes() -> None:
    assert members_above(ClassCounts([2**50, 8, 9]), 0.123456789123) == 8


def test_entropies_pass_smoothly_through_order_one() -> None:
    p = [0.5] + [1 / 18] * 9
    near = [renyi_entropy(p, 1 + e) for e in (-1e-3, -1e-6, -1e-12, 0, 1e-12, 1e-6, 1e-3)]
    assert near == sorted(near, reverse=True)
    assert near[2] == pytest.approx(shannon_entropy(p), abs=1e-10)
    assert renyi_entropy(p, 1.0009) == pytest.approx(renyi_entropy(p, 1.0011), abs=1e-3)


def test_under_wildcard_the_notes_say_which_numbers_follow_the_strict_rule() -> None:
    t = pa.table({"a": [1, None, 1], "b": [2, 2, 3]})
    m = shoal.measure(t, qi=["a", "b"], missing="wildcard")
    assert any("sets of columns and what a column adds follow the rule 'own'" in note for note in m.notes)
    assert any(note.startswith("1 record lacks a quasi-identifier") for note in m.notes)

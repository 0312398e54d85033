"""What rests on the choice of the quasi-identifiers: columns published as they are, known to an attacker after all."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.api.attack import attack
from shoal.attacks.further_knowledge import further_knowledge, one_of_a_kind


@pytest.mark.parametrize("seed", range(5))
def test_counts_equal_a_plain_dictionary(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = {
        n: [None if v == 0 else int(v) for v in rng.integers(0, m, 300)] for n, m in zip("qrxy", (3, 4, 40, 200), strict=True)
    }
    found = one_of_a_kind(shoal.open(pa.table(columns)), ["q", "r"], ["x", "y"])
    for name in "xy":
        sizes = Counter(zip(columns["q"], columns["r"], columns[name], strict=True))
        assert found[name] == sum(n for n in sizes.values() if n == 1)


def test_the_worst_column_decides_and_small_counts_are_not_told() -> None:
    found = further_knowledge({"a": 3, "b": 60, "c": 0, "d": 2, "e": 1}, 100, 5)
    assert (found.rate, found.verdict) == (0.6, "warning")
    assert "'b' known as well, 60 of 100" in found.sentence
    assert "'a': fewer than 5" in found.sentence
    assert "and 1 more columns" in found.sentence
    assert further_knowledge({"b": 20}, 100, 5).verdict == "holds", "no more than one in k"
    assert further_knowledge({"b": 21}, 100, 5).verdict == "warning"


def test_a_birth_date_called_insensitive_is_warned_of(tmp_path: Path) -> None:
    people = shoal.datasets.people(1000, seed=3).select(["date_of_birth", "sex", "education", "income"])
    roles = {"quasi": ["sex", "education"], "insensitive": ["date_of_birth", "income"]}
    noise = {"income": {"permute": {}}}
    made = shoal.anonymize(people, {"roles": roles, "require": {"k": 5}, "allow": {"suppress": 0.05}, "transform": noise})
    made.write(tmp_path / "out")
    inside = {a.name: a for a in made.certificate.attacks}["further knowledge"]
    outside = {a.name: a for a in attack(tmp_path / "out").results}["further knowledge"]
    assert inside.verdict == outside.verdict == "warning"
    assert inside.rate == outside.rate > 0.9
    assert "'date_of_birth'" in inside.sentence
    assert inside.sentence.index("date_of_birth") < inside.sentence.index("'income': "), "exchanged at random, it tells less"
    assert "income" not in outside.sentence, "without the original nobody can tell"


def test_nothing_to_say_where_only_quasi_identifiers_are_published() -> None:
    people = shoal.datasets.people(1000, seed=3).select(["sex", "education"])
    made = shoal.anonymize(shoal.open(people, quasi=["sex", "education"]), {"require": {"k": 5}, "allow": {"suppress": 0.05}})
    assert "further knowledge" not in {a.name for a in made.certificate.attacks}

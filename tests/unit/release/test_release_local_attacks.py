"""A local recoding is attacked with what its maker has: the original, the hierarchies, the algorithm."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.attacks.downcoding import Recoded, narrowed
from shoal.model.counts.classes import ClassCounts


def people(seed: int, n: int = 400) -> pa.Table:
    rng = np.random.default_rng(seed)
    zips = [None if z == 1000 else str(z) for z in rng.integers(1000, 1060, n).tolist()]
    ages, sexes, ill = rng.integers(18, 80, n), rng.choice(["f", "m"], n), rng.choice(list("abcd"), n)
    return pa.table({"age": ages, "zip": zips, "sex": sexes, "ill": ill})


def recoded(seed: int, **require):
    quasi = {"age": {"hierarchy": {"intervals": [5, 10, 20]}}, "zip": {"hierarchy": {"mask": "right"}}, "sex": {}}
    roles = {"quasi": quasi, "sensitive": ["ill"]}
    return shoal.anonymize(people(seed), {"roles": roles, "require": {"k": 5, **require}, "method": "local"})


def slowly(release) -> tuple[int, int]:
    """Cells and records, from the table of classes and the hierarchies alone."""
    prepared, decision = release.prepared, release.decision
    names = prepared.quasi
    rows = decision.class_map.to_pylist()
    sizes = prepared.base.sizes.tolist()
    labels = [tuple(row[f"{n}\0published"] for n in names) for row in rows]
    inside = defaultdict(set)
    for row, label in zip(rows, labels, strict=True):
        for j, n in enumerate(names):
            inside[label, j].add(row[n])
    path = {}
    for n in names:
        tree = prepared.hierarchies[n]
        for value in {row[n] for row in rows} - {None}:
            leaf = tree.position[str(value)]
            path[n, value] = {at.labels[int(at.groups[leaf])] for at in tree.levels} | {"*"}
        path[n, None] = {None, "*"}
    cells, exposed = 0, Counter()
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        del row
        for j, n in enumerate(names):
            covers = sum(label[j] in path[n, v] for v in {r[n] for r in rows})
            if len(inside[label, j]) <= 2 < covers:
                cells += sizes[i]
                exposed[i] = sizes[i]
    return cells, sum(exposed.values())


@pytest.mark.parametrize("seed", range(3))
def test_narrowed_cells_are_counted_as_the_slow_definition_counts_them(seed: int) -> None:
    release = recoded(seed)
    cells, records = slowly(release)
    found = release.decision.narrowed
    assert found.sentence.startswith(f"{cells:,} cells of {records:,} records can be narrowed")
    assert found.rate == pytest.approx(records / 400)
    assert found.verdict == ("warning" if records > 4 else "holds")
    said = [line for line in release.certificate.limits if line.startswith("Local recoding: ")]
    assert len(said) == (cells > 0), "the claim is weakened where the cells are"


def test_minimality_and_downcoding_are_run_and_listed() -> None:
    attacks = {a.name: a for a in recoded(1, diversity={"ill": {"distinct": 2}}).certificate.attacks}
    for name in ("downcoding", "downcoding: narrowed cells", "minimality: ill"):
        assert attacks[name].verdict != "not run"
    assert "classes examined" in attacks["minimality: ill"].sentence
    assert attacks["downcoding"].rate == 0.0, "the lowest node that covers a cluster holds two finer values"


def test_two_values_of_three_are_narrowed_and_three_of_three_are_not() -> None:
    base = ClassCounts([2, 3, 4, 1], ["a"], [[0, 1, 2, 3]])
    one = np.zeros(4, dtype=np.int32)
    two = np.array([0, 0, 1, 1], dtype=np.int32)
    wide = (np.full(4, 4),)
    assert narrowed(Recoded(base, (one,)), ("a",), wide).rate == 0.0, "all four are there"
    assert narrowed(Recoded(base, (two,)), ("a",), wide).rate == 1.0
    assert narrowed(Recoded(base, (two,)), ("a",), (np.array([2, 2, 3, 3]),)).rate == 0.5, "two of two is what the label says"
    gone = np.array([True, True, False, False])
    assert narrowed(Recoded(base, (two,), kept=gone), ("a",), (np.array([2, 2, 3, 3]),)).rate == 0.0
    many = ClassCounts([98, 99, 1, 1], ["a"], [[0, 1, 2, 3]])
    assert narrowed(Recoded(many, (two,)), ("a",), (np.array([2, 2, 3, 3]),)).verdict == "warning", "2 of 199"
    more = ClassCounts([99, 99, 1, 1], ["a"], [[0, 1, 2, 3]])
    assert narrowed(Recoded(more, (two,)), ("a",), (np.array([2, 2, 3, 3]),)).verdict == "holds", "2 of 200"

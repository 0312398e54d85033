"""Class sizes over many sets of columns: as counted one set after the other, with and without members put aside."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from shoal.kernels import threads
from shoal.measures.classes.entropy_risk import FEW, distance_from_uniform
from shoal.measures.subsets import set_sizes
from shoal.measures.subsets.column_sets import all_subsets
from shoal.model.counts.classes import ClassCounts


def _columns(rows: int, widths: list[int]) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(rows)
    return {f"c{j}": np.append(draw.integers(0, w, rows - 1), w - 1).astype(np.int32) for j, w in enumerate(widths)}


@pytest.mark.parametrize("shared", [False, True], ids=["one thread", "two threads"])
@pytest.mark.parametrize("small", [0, 10**9], ids=["put aside", "all grouped"])
@pytest.mark.parametrize(
    "widths",
    [[3, 2, 40, 7], [2, 900, 30, 25, 3], [2**31 - 1, 2, 3], [2**31 - 2, 2**31 - 2, 40, 3]],
    ids=["few", "many", "four bytes", "beyond a word"],
)
def test_each_set_has_the_sizes_of_its_own_count(widths, small, shared, monkeypatch):
    monkeypatch.setattr(set_sizes, "SMALL", small)
    monkeypatch.setattr(threads, "MANY", 1 if shared else 10**9)
    codes = _columns(300, widths)
    sets = [s for r in range(1, len(codes) + 1) for s in combinations(codes, r)]
    seen = set_sizes.describe_sets(codes, sets, lambda one: one)
    assert set(seen) == set(sets)
    for names, one in seen.items():
        sizes = Counter(zip(*(codes[name].tolist() for name in names), strict=True)).values()
        assert sorted([1] * one.alone + one.sizes.tolist()) == sorted(sizes)
        figures = (one.n_classes, one.n_members, one.k, one.unique)
        assert figures == (len(sizes), 300, min(sizes), sum(n == 1 for n in sizes))


@pytest.mark.parametrize(("alone", "aside"), [(2, 0), (3, 3)])
def test_members_are_put_aside_from_a_quarter_on(alone, aside, monkeypatch):
    monkeypatch.setattr(set_sizes, "SMALL", 0)
    first = np.array([*range(1, alone + 1), *[0] * (12 - alone)], dtype=np.int32)
    sizes = set_sizes.describe_sets({"a": first, "b": first}, [("a",), ("a", "b")], lambda one: one)
    assert sizes["a", "b"].alone == aside
    assert sizes["a", "b"].unique == sizes["a",].unique == alone


@pytest.mark.parametrize("repeated", [1, 2, 3])
def test_subsets_of_classes_with_missing_values_are_those_of_the_records(repeated):
    draw = np.random.default_rng(5)
    rows = sorted({tuple(row) for row in draw.integers(-1, 6, (80, 3)).tolist()})
    sizes = [repeated] * len(rows)
    counts = ClassCounts(sizes, ["a", "b", "c"], np.array(rows).T)
    for one in all_subsets(counts):
        places = [counts.column(name) for name in one.columns]
        classes = Counter(tuple(row[j] for j in places) for row in rows for _ in range(repeated))
        assert (one.classes, one.k) == (len(classes), min(classes.values()))
        assert one.unique == sum(n == 1 for n in classes.values())
        n = len(rows) * repeated
        assert one.separation == pytest.approx(1 - sum(s * (s - 1) for s in classes.values()) / (n * (n - 1)))


@pytest.mark.parametrize("rows", [FEW, FEW + 1])
def test_cells_count_the_values_that_occur_a_missing_one_too(rows):
    first, second = np.arange(rows) % 7 - 1, np.where(np.arange(rows) % 2, 4, 0)
    counts = ClassCounts([1] * rows, ["a", "b"], [first, second])
    assert distance_from_uniform(counts)["cells"] == 7 * 2

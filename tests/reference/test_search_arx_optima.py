"""ARX 3.9.2's optima on its own example table: levels, loss and suppressed rows (ARX floors its losses at ten digits)."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

import search_adult as adult
from shoal.model.requirement import DistinctDiversity, K, TCloseness
from shoal.search import lattice

pytestmark = pytest.mark.data

WITHOUT_OCCUPATION = tuple(c for c in adult.COLUMNS if c != "occupation")


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "arx_adult"


@pytest.fixture(scope="module")
def nine(folder):
    return adult.counts(folder), {c: adult.hierarchy(folder, c) for c in adult.COLUMNS}


@pytest.fixture(scope="module")
def eight(folder):
    hierarchies = {c: adult.hierarchy(folder, c) for c in WITHOUT_OCCUPATION}
    return adult.counts(folder, WITHOUT_OCCUPATION, "occupation"), hierarchies


K_ONLY = [
    (0.0, "0 4 1 1 3 2 2 1 0", 0.57315096556, 0),
    (0.02, "0 3 0 2 2 1 1 2 0", 0.31371303528, 506),
    (0.05, "0 3 0 0 2 1 1 2 0", 0.24193236507, 1346),
    (1.0, "0 3 0 0 2 1 1 1 0", 0.22041192848, 2553),
]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(("limit", "levels", "loss", "suppressed"), K_ONLY)
def test_k_anonymity(nine, folder, limit, levels, loss, suppressed, lazy) -> None:
    counts, hierarchies = nine
    found = lattice(counts, hierarchies, [K(5)], suppress=limit, lazy=lazy)
    assert " ".join(str(found.levels[c]) for c in adult.COLUMNS) == levels
    assert found.loss == pytest.approx(loss, abs=1e-9)
    assert found.suppressed == suppressed
    assert found.proven
    assert recount(folder, adult.COLUMNS, found.levels, 5) == (suppressed, found.classes)


def recount(folder: Path, columns: tuple[str, ...], levels, k: int) -> tuple[int, int]:
    """Recode every row of the file by the hierarchy files and count again."""
    trees = {c: {r[0]: r for r in adult.hierarchy(folder, c).to_rows()} for c in columns}
    classes = Counter(tuple(trees[c][row[c]][levels[c]] for c in columns) for row in adult.rows(folder))
    return sum(n for n in classes.values() if n < k), sum(n >= k for n in classes.values())


WITH_SENSITIVE = [
    (DistinctDiversity("occupation", 3), 0.0, "0 4 1 2 3 2 0 0", 0.54221082541, 0),
    (DistinctDiversity("occupation", 3), 0.05, "0 3 0 0 2 1 1 0", 0.17170218122, 1400),
    (DistinctDiversity("occupation", 3), 1.0, "0 3 0 0 2 1 0 0", 0.16671492005, 2335),
    (TCloseness("occupation", 0.2), 0.0, "1 4 1 1 3 2 2 1", 0.91839536410, 0),
    (TCloseness("occupation", 0.2), 0.05, "1 4 1 1 3 1 2 1", 0.81500318621, 235),
    ("hierarchical", 0.05, "1 4 0 0 3 1 2 1", 0.61280649602, 1384),
]


@pytest.mark.parametrize(("asked", "limit", "levels", "loss", "suppressed"), WITH_SENSITIVE)
def test_with_occupation_sensitive(eight, folder, asked, limit, levels, loss, suppressed) -> None:
    counts, hierarchies = eight
    if asked == "hierarchical":
        asked = TCloseness("occupation", 0.2, "hierarchical", adult.hierarchy(folder, "occupation"))
    found = lattice(counts, hierarchies, [K(5), asked], suppress=limit)
    assert " ".join(str(found.levels[c]) for c in WITHOUT_OCCUPATION) == levels
    assert found.loss == pytest.approx(loss, abs=1e-9)
    assert found.suppressed == suppressed
    if isinstance(asked, DistinctDiversity):
        trees = {c: {r[0]: r for r in adult.hierarchy(folder, c).to_rows()} for c in WITHOUT_OCCUPATION}
        inside = defaultdict(list)
        for row in adult.rows(folder):
            inside[tuple(trees[c][row[c]][found.levels[c]] for c in WITHOUT_OCCUPATION)].append(row["occupation"])
        bad = sum(len(v) for v in inside.values() if len(v) < 5 or len(set(v)) < 3)
        assert bad == suppressed

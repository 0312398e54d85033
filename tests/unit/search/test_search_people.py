"""People with several rows: k counts people, the limit and the losses count records, joined classes count a person once."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from search_oracle import Table, loss_of, random_table
from shoal.errors import InfeasibleError, UsageError
from shoal.model import requirement as req
from shoal.model.counts.classes import ClassCounts
from shoal.model.hierarchy import Hierarchy
from shoal.search import frontier, lattice


class TestPeople:
    def test_k_counts_people_and_the_limit_counts_records(self) -> None:
        tree = {"a": Hierarchy.from_rows("a", [["x", "*"], ["y", "*"]])}
        counts = ClassCounts((1, 3), ("a",), [[0, 1]], [pa.array(["x", "y"])], records=(6, 4), unit="id", n_people=4)
        strict = lattice(counts, tree, [req.K(2)], suppress=0.5)
        assert strict.levels == {"a": 1}
        loose = lattice(counts, tree, [req.K(2)], suppress=0.6, loss="average_class_size")
        assert loose.records == 10
        assert lattice(counts, tree, [req.K(2)], suppress=0.6).suppressed in (0, 6)


def people_table(seed: int) -> tuple[Table, list[int], ClassCounts, tuple[np.ndarray, np.ndarray]]:
    """A table whose rows belong to people, several rows each; counts of people per class; the pairs."""
    table = random_table(60_000 + seed)
    rng = np.random.default_rng(seed)
    person = rng.integers(0, max(2, len(table.rows) // 2), len(table.rows)).tolist()
    plain = table.counts()
    place = {c: i for i, c in enumerate(sorted(set(table.rows), key=repr))}
    pairs = sorted({(place[r], p) for r, p in zip(table.rows, person, strict=True)})
    sizes = np.bincount([c for c, _ in pairs])
    counts = ClassCounts(
        sizes, plain.columns, plain.codes, plain.categories, records=plain.sizes, unit="id", n_people=len(set(person))
    )
    return table, person, counts, (np.array([c for c, _ in pairs]), np.array([p for _, p in pairs]))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("exact", [True, False])
def test_people_in_several_classes_are_counted_once(seed: int, exact: bool) -> None:
    """With the pairs the optimum over people equals brute force; without them every published class still has k people."""
    table, person, counts, pairs = people_table(seed)
    limit = math.floor(0.3 * len(table.rows) + 1e-9)

    def people_of(node: tuple[int, ...]) -> dict[tuple, set[int]]:
        inside: dict[tuple, set[int]] = {}
        for row, p in zip(table.rows, person, strict=True):
            inside.setdefault(table.publish(row, node), set()).add(p)
        return inside

    def lost(node: tuple[int, ...]) -> int:
        inside = people_of(node)
        return sum(len(inside[table.publish(r, node)]) < 3 for r in table.rows)

    feasible = {n for n in table.nodes() if lost(n) <= limit and max(map(len, people_of(n).values())) >= 3}
    try:
        found = lattice(counts, table.hierarchies(), [req.K(3)], suppress=0.3, people=pairs if exact else None)
    except InfeasibleError:
        assert not exact or not feasible
        return
    node = tuple(found.levels[c] for c in table.columns)
    kept = {tuple(r) for r in zip(*(c.to_pylist() for c in found.kept_table().columns), strict=True)}
    assert all(len(people_of(node)[c]) >= 3 for c in kept)
    assert found.suppressed <= limit
    if exact:
        assert node in feasible
        assert found.suppressed == lost(node)

        def loss(n: tuple[int, ...]) -> float:
            published = [table.publish(r, n) for r in table.rows]
            stay = {c for c, inside in people_of(n).items() if len(inside) >= 3}
            return loss_of(table, n, published, stay, "loss", None)

        assert found.loss == pytest.approx(min(loss(n) for n in feasible), abs=1e-12)


def test_pairs_must_fit_the_counts() -> None:
    table, _, counts, pairs = people_table(1)
    with pytest.raises(UsageError, match="add up"):
        lattice(counts, table.hierarchies(), [req.K(2)], people=(pairs[0][:-1], pairs[1][:-1]))


def test_frontier_counts_people_and_the_population() -> None:
    table, _, counts, pairs = people_table(3)
    points = frontier(counts, table.hierarchies(), ks=(2, 3), suppress=(0.1, 0.5), people=pairs)
    for p in points:
        alone = lattice(counts, table.hierarchies(), [req.K(p.k)], suppress=p.suppress, people=pairs)
        assert (p.loss, p.result.suppressed) == (alone.loss, alone.suppressed)
    crowd = random_table(33_000, population=True)
    everybody = crowd.counts(crowd.population)
    (point,) = frontier(crowd.counts(), crowd.hierarchies(), [req.KMap(6)], ks=(2,), suppress=(0.2,), population=everybody)
    alone = lattice(crowd.counts(), crowd.hierarchies(), [req.K(2), req.KMap(6)], suppress=0.2, population=everybody)
    assert point.loss == alone.loss


def shared_people() -> tuple[ClassCounts, dict[str, Hierarchy], tuple[list[int], list[int]]]:
    """Ten people who are all in classes a and b; one person in c, another in d. Level 1 joins a and b."""
    tree = {"p": Hierarchy.from_rows("p", [["a", "ab"], ["b", "ab"], ["c", "c"], ["d", "d"]])}
    counts = ClassCounts((10, 10, 1, 1), ("p",), [[0, 1, 2, 3]], [pa.array(list("abcd"))], unit="id", n_people=12)
    pairs = [0] * 10 + [1] * 10 + [2, 3], [*range(10), *range(10), 10, 11]
    return counts, tree, pairs


@pytest.mark.parametrize(
    ("asked", "missed"),
    [(req.AverageRisk(0.25), req.AverageRisk(0.2499)), (req.SampleUniqueness(1 / 6), req.SampleUniqueness(0.1666))],
    ids=["average", "uniques"],
)
@pytest.mark.parametrize("lazy", [False, True])
def test_people_of_two_classes_count_once(asked: req.Requirement, missed: req.Requirement, lazy: bool) -> None:
    """Ten people among ten and two alone: (10/10 + 2)/12 and 2/12, joined or not; 4 classes of 22 members would look better."""
    counts, tree, pairs = shared_people()
    found = lattice(counts, tree, [asked], suppress=0.0, people=pairs, lazy=lazy)
    assert (found.levels, found.suppressed, found.proven) == ({"p": 0}, 0, True)
    assert lattice(counts, tree, [asked], suppress=0.0, people=pairs, bounds={"p": (1, 1)}).levels == {"p": 1}
    with pytest.raises(InfeasibleError):
        lattice(counts, tree, [missed], suppress=0.0, people=pairs, lazy=lazy)


def test_discernibility_counts_records() -> None:
    """Joining the classes of the same people must not look cheap: 10² + 10² records before, 20² after."""
    counts, tree, pairs = shared_people()
    found = lattice(counts, tree, [req.K(2)], suppress=0.1, people=pairs, loss="discernibility")
    assert found.levels == {"p": 0}
    assert found.loss == 10**2 + 10**2 + 2 * 22


@pytest.mark.parametrize("exact", [True, False])
def test_a_population_with_people_in_several_classes(exact: bool) -> None:
    counts, tree, pairs = shared_people()
    whole = ClassCounts((40, 30, 9, 1, 5), ("p",), [[0, 1, 2, 3, -1]], [pa.array(list("abcd"))])
    found = lattice(counts, tree, [req.KMap(5)], suppress=0.1, people=pairs if exact else None, population=whole)
    assert (found.levels, found.suppressed) == ({"p": 0}, 1)


def by_people(table: Table, person: list[int], node: tuple[int, ...], kept: set[tuple] | None = None) -> dict[int, int]:
    """People by the smallest of their published classes, by plain sets."""
    inside: dict[tuple, set[int]] = {}
    for row, p in zip(table.rows, person, strict=True):
        inside.setdefault(table.publish(row, node), set()).add(p)
    smallest: dict[int, int] = {}
    for key, members in inside.items():
        for p in members if kept is None or key in kept else ():
            smallest[p] = min(smallest.get(p, len(members)), len(members))
    out: dict[int, int] = {}
    for size in smallest.values():
        out[size] = out.get(size, 0) + 1
    return out


def judged(asked: req.Requirement, everybody: dict[int, int]) -> bool:
    total = sum(everybody.values())
    if isinstance(asked, req.AverageRisk):
        return sum(n / s for s, n in everybody.items()) / total <= asked.risk + 1e-9
    assert isinstance(asked, req.SampleUniqueness)
    return everybody.get(1, 0) / total <= asked.share + 1e-9


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    "asked", [req.AverageRisk(0.3), req.AverageRisk(0.6), req.SampleUniqueness(0.1), req.SampleUniqueness(0.4)]
)
def test_average_risk_and_uniques_are_over_people(seed: int, asked: req.Requirement) -> None:
    """Nothing suppressed: the plan is the least lossy of those that hold when everybody counts once; none is overlooked."""
    table, person, counts, pairs = people_table(seed)
    good = [n for n in table.nodes() if judged(asked, by_people(table, person, n))]
    if not good:
        with pytest.raises(InfeasibleError):
            lattice(counts, table.hierarchies(), [asked], people=pairs)
        return
    found = lattice(counts, table.hierarchies(), [asked], people=pairs, loss="precision")
    node = tuple(found.levels[c] for c in counts.columns)
    assert node in good
    best = min(sum(level / max(1, h) for level, h in zip(n, table.heights, strict=True)) for n in good)
    mine = sum(level / max(1, h) for level, h in zip(node, table.heights, strict=True))
    assert mine == pytest.approx(best)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("asked", [req.AverageRisk(0.4), req.SampleUniqueness(0.05)])
def test_with_suppression_what_is_published_holds_by_people(seed: int, asked: req.Requirement) -> None:
    table, person, counts, pairs = people_table(seed)
    try:
        found = lattice(counts, table.hierarchies(), [asked], people=pairs, suppress=0.4)
    except InfeasibleError:
        assert not any(judged(asked, by_people(table, person, n)) for n in table.nodes())
        return
    node = tuple(found.levels[c] for c in counts.columns)
    classes = sorted(set(table.rows), key=repr)
    kept = {table.publish(row, node) for row, stays in zip(classes, found.kept, strict=True) if stays}
    assert judged(asked, by_people(table, person, node, kept))


def test_the_smallest_example() -> None:
    """Three people, each in a common class and alone in another: by memberships half are unique, by people all are."""
    tree = {"q": Hierarchy.from_rows("q", [[v, "*"] for v in "abcd"])}
    counts = ClassCounts(
        (3, 1, 1, 1), ("q",), [[0, 1, 2, 3]], [pa.array(list("abcd"))], records=(3, 1, 1, 1), unit="id", n_people=3
    )
    pairs = (np.array([0, 0, 0, 1, 2, 3]), np.array([0, 1, 2, 0, 1, 2]))
    assert lattice(counts, tree, [req.SampleUniqueness(0.6)], people=pairs).levels == {"q": 1}
    assert lattice(counts, tree, [req.AverageRisk(0.7)], people=pairs).levels == {"q": 1}
    some = lattice(counts, tree, [req.SampleUniqueness(0.7)], people=pairs, suppress=0.5)
    assert some.levels == {"q": 0}
    assert some.kept.tolist() == [True, False, False, False], "the common class stays"

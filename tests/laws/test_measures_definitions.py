"""Each measure against an independent slow definition, on random tables."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import measures_oracle as oracle
from shoal.measures.classes import anonymity, closeness, diversity, risk
from shoal.measures.classes.anonymity import k_anonymity
from shoal.measures.classes.diversity import profile
from shoal.measures.classes.missing import crowds, drop_missing, wildcard_sizes
from shoal.measures.observer import entropy
from shoal.measures.subsets import column_sets as subsets
from shoal.measures.subsets import suda as measures_suda
from shoal.measures.subsets.suda import suda
from shoal.measures.utility import class_losses as loss
from shoal.model.counts.classes import ClassCounts, PeopleCounts, SensitiveCounts
from shoal.model.hierarchy import Hierarchy, Level
from shoal.model.roles import MissingPolicy

quick = settings(max_examples=40, deadline=None)
few = settings(max_examples=15, deadline=None)  # a linear programme each


@st.composite
def matrices(draw: st.DrawFn, low: int = 1) -> list[list[int]]:
    width = draw(st.integers(low, 6))
    row = st.lists(st.integers(0, 7), min_size=width, max_size=width).filter(any)
    return draw(st.lists(row, min_size=1, max_size=6))


@st.composite
def code_tables(draw: st.DrawFn, *, missing: bool = False, most: int = 14) -> list[tuple[int, ...]]:
    width = draw(st.integers(1, 4))
    cell = st.integers(-1 if missing else 0, 2)
    return draw(st.lists(st.tuples(*[cell] * width), min_size=1, max_size=most))


def counted(rows: list[tuple[int, ...]]) -> ClassCounts:
    groups = Counter(rows)
    names = [f"c{j}" for j in range(len(rows[0]))]
    return ClassCounts(list(groups.values()), columns=names, codes=[[k[j] for k in groups] for j in range(len(names))])


@quick
@given(matrices())
def test_diversity_by_definition(matrix: list[list[int]]) -> None:
    c = oracle.dense(matrix)
    assert diversity.distinct_diversity(c, "s") == min(sum(x > 0 for x in r) for r in matrix)
    assert diversity.entropy_diversity(c, "s") == pytest.approx(oracle.entropy_l(matrix), abs=1e-9)
    assert diversity.alpha(c, "s") == pytest.approx(max(max(r) / sum(r) for r in matrix))
    assert loss.classification_metric(c, "s") == pytest.approx(sum(sum(r) - max(r) for r in matrix) / sum(map(sum, matrix)))


@quick
@given(matrices(), st.sampled_from([0.3, 0.5, 1, 1.5, 2, 3, 7.7]), st.integers(1, 6))
def test_recursive_diversity_by_definition(matrix: list[list[int]], c: float, l: int) -> None:  # noqa: E741
    counts = oracle.dense(matrix)
    assert diversity.is_recursive_diverse(counts, "s", c=c, l=l) == all(oracle.recursive(r, c, l) for r in matrix)
    bound = diversity.least_c(counts, "s", l=l)
    if math.isfinite(bound) and l > 1:
        assert all(oracle.recursive(r, bound * 1.0001, l) for r in matrix)
        assert not all(oracle.recursive(r, bound * 0.9999, l) for r in matrix)


@few
@given(matrices())
def test_distances_equal_the_transport_programme(matrix: list[list[int]]) -> None:
    used = [j for j in range(len(matrix[0])) if any(r[j] for r in matrix)]
    small = [[r[j] for j in used] for r in matrix]
    m = len(used)
    q = oracle.table_shares(small)
    c = oracle.dense(matrix)
    step = np.abs(np.subtract.outer(np.arange(m), np.arange(m))) / max(1, m - 1)
    ordered = closeness.class_distances(c, "s", distance="ordered")
    equal = closeness.class_distances(c, "s", distance="equal")
    for i, row in enumerate(small):
        p = oracle.shares(row)
        assert ordered[i] == pytest.approx(oracle.transport(p, q, step), abs=1e-7)
        assert equal[i] == pytest.approx(oracle.transport(p, q, 1.0 - np.eye(m)), abs=1e-7)
        assert closeness.earth_mover(p, q) == pytest.approx(ordered[i], abs=1e-9)


@st.composite
def trees(draw: st.DrawFn, leaves: int) -> Hierarchy:
    groups, levels = list(range(leaves)), []
    for _ in range(draw(st.integers(1, 3))):
        merge = draw(st.lists(st.integers(0, max(groups)), min_size=leaves, max_size=leaves))
        groups = [merge[g] for g in groups]
        dense = {g: i for i, g in enumerate(dict.fromkeys(groups))}
        groups = [dense[g] for g in groups]
        levels.append(list(groups))
    built = [Level(np.arange(leaves), tuple(f"v{i}" for i in range(leaves)))]
    built += [Level(np.array(g), tuple(f"g{i}" for i in range(max(g) + 1))) for g in levels]
    return Hierarchy("s", tuple(f"v{i}" for i in range(leaves)), tuple(built))


@few
@given(st.data())
def test_hierarchical_distance_equals_the_transport_programme(data: st.DataObject) -> None:
    matrix = data.draw(matrices(low=2))
    m = len(matrix[0])
    tree = data.draw(trees(m))
    paths = [list(level.groups) for level in tree.levels]
    if len(set(paths[-1])) > 1 or len(tree.levels[-1].labels) > 1:
        paths.append([0] * m)
    height = len(paths) - 1
    ground = np.array(
        [[next(h for h in range(height + 1) if paths[h][a] == paths[h][b]) / height for b in range(m)] for a in range(m)]
    )
    q = oracle.table_shares(matrix)
    found = closeness.class_distances(oracle.dense(matrix), "s", hierarchy=tree)
    for i, row in enumerate(matrix):
        assert found[i] == pytest.approx(oracle.transport(oracle.shares(row), q, ground), abs=1e-7)


@quick
@given(matrices())
def test_disclosure_and_likeness_by_definition(matrix: list[list[int]]) -> None:
    used = [j for j in range(len(matrix[0])) if any(r[j] for r in matrix)]
    q = oracle.table_shares([[r[j] for j in used] for r in matrix])
    pairs = [(oracle.shares([r[j] for j in used])[i], q[i]) for r in matrix for i in range(len(used))]
    c = oracle.dense(matrix)
    delta = max(abs(math.log(p / t)) if p else math.inf for p, t in pairs)
    beta = max([(p - t) / t for p, t in pairs if p > t], default=0.0)
    assert closeness.delta_disclosure(c, "s") == pytest.approx(delta, abs=1e-9)
    assert closeness.basic_beta_likeness(c, "s") == pytest.approx(beta, abs=1e-9)
    enhanced = closeness.enhanced_beta_likeness(c, "s")
    fails = any((p - t) / t > -math.log(t) + 1e-9 for p, t in pairs)
    assert (enhanced == math.inf) if fails else (enhanced == pytest.approx(beta, abs=1e-9))


@quick
@given(code_tables(missing=True))
def test_missing_rules_by_definition(rows: list[tuple[int, ...]]) -> None:
    c = counted(rows)
    codes = list(zip(*(x.tolist() for x in c.codes), strict=True))
    assert wildcard_sizes(c).tolist() == oracle.wildcard(codes, c.sizes.tolist())
    n_people, smallest = max(1, len(rows) - 1), int(c.sizes.min())
    once = PeopleCounts([smallest], [1], [n_people])
    people = ClassCounts(c.sizes, columns=c.columns, codes=c.codes, unit="id", n_people=n_people, people=once)
    found = crowds(people, MissingPolicy.WILDCARD)
    exact = not c.has_missing().any() or c.n_members == people.n_people
    assert found.exact == exact
    if not exact:  # who is in which class is not known here: everybody keeps the own crowd, which is never larger
        assert found.sizes.tolist() == [smallest]
        assert smallest <= min(oracle.wildcard(codes, c.sizes.tolist(), add=False))
    whole = [r for r in rows if -1 not in r]
    if whole:
        assert sorted(drop_missing(c).sizes.tolist()) == sorted(Counter(whole).values())
        assert k_anonymity(crowds(c, MissingPolicy.WILDCARD)) >= k_anonymity(crowds(c))


@quick
@given(code_tables())
def test_subsets_by_definition(rows: list[tuple[int, ...]]) -> None:
    c = counted(rows)
    for s in subsets.all_subsets(c, up_to=3):
        places = [int(n[1:]) for n in s.columns]
        sizes = Counter(tuple(r[p] for p in places) for r in rows)
        assert (s.classes, s.k, s.unique) == (len(sizes), min(sizes.values()), sum(n == 1 for n in sizes.values()))
        assert s.k >= anonymity.k_anonymity(c)
        assert s.unique <= anonymity.unique_members(c)
        pairs = [(a, b) for a in range(len(rows)) for b in range(a)]
        apart = sum(any(rows[a][p] != rows[b][p] for p in places) for a, b in pairs)
        assert s.separation == pytest.approx(apart / len(pairs) if pairs else 1.0)


@quick
@given(code_tables(missing=True, most=10))
def test_suda_by_definition(rows: list[tuple[int, ...]]) -> None:
    c = counted(rows)
    truth = oracle.minimal_uniques(rows)
    codes = list(zip(*(x.tolist() for x in c.codes), strict=True))
    found = suda(c)
    width = len(rows[0])
    for i, key in enumerate(codes):
        expected = truth[rows.index(key)]
        masks = found.msu_mask[found.msu_class == i].tolist()
        assert {frozenset(j for j in range(width) if m >> j & 1) for m in masks} == expected
        assert found.score[i] == sum(math.factorial(width - len(s)) for s in expected)


@quick
@given(code_tables(missing=True, most=12), st.integers(1, 4), st.booleans())
def test_suda_loops_agree(rows: list[tuple[int, ...]], most: int, ignore: bool) -> None:
    c = counted(rows)
    codes, single = np.stack(c.codes), c.sizes == 1
    most = min(most, len(codes))
    fast = set(zip(*(x.tolist() for x in measures_suda.minimal_uniques(codes, single, most, ignore)), strict=True))
    slow = set(zip(*(x.tolist() for x in measures_suda.by_numpy(codes, single, most, ignore)), strict=True))
    assert fast == slow


@quick
@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.lists(st.integers(0, 40), min_size=12, max_size=12))
def test_risks_record_by_record(sizes: list[int], more: list[int]) -> None:
    c = ClassCounts(sizes)
    each = [1 / s for s in sizes for _ in range(s)]
    assert risk.prosecutor_max(c) == pytest.approx(max(each))
    assert risk.prosecutor_mean(c) == pytest.approx(sum(each) / len(each))
    assert risk.members_above(c, 0.2) == sum(s for s in sizes if s < 5)
    big = [s + m for s, m in zip(sizes, more, strict=False)]
    against = [1 / b for s, b in zip(sizes, big, strict=True) for _ in range(s)]
    assert risk.marketer(sizes, big) == pytest.approx(sum(against) / len(against))
    assert risk.prosecutor_max(c) >= risk.journalist_max(sizes, big) >= risk.marketer(sizes, big) - 1e-12
    assert risk.marketer(sizes) == pytest.approx(risk.prosecutor_mean(c))


@quick
@given(st.lists(st.integers(1, 300), min_size=1, max_size=40))
def test_class_size_table_invariants(sizes: list[int]) -> None:
    c = ClassCounts(sizes)
    table, at = anonymity.class_sizes(c), anonymity.people_at(c)
    assert list(at.values()) == sorted(at.values())
    assert table.min <= table.q1 <= table.median <= table.q3 <= table.max
    ordered = sorted(sizes)
    for q, found in ((0.25, table.q1), (0.5, table.median), (0.75, table.q3)):
        h = (len(ordered) - 1) * q
        low, high = ordered[math.floor(h)], ordered[math.ceil(h)]
        assert found == pytest.approx(low + (h - math.floor(h)) * (high - low))
    assert table.sets <= at[1] + (c.n_members - at[1]) / 2


@quick
@given(st.lists(st.integers(0, 50), min_size=1, max_size=10).filter(any))
def test_renyi_entropies_never_grow_with_their_order(weights: list[int]) -> None:
    p = [w / sum(weights) for w in weights]
    values = [entropy.renyi_entropy(p, a) for a in (0, 0.3, 0.5, 1, 1.5, 2, 5, 50, math.inf)]
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(values))


def test_ordered_distance_follows_the_order_of_values_not_of_codes() -> None:
    import pyarrow as pa

    rows = [[2, 1, 1], [0, 1, 3]]
    straight = SensitiveCounts("s", *_entries(rows), pa.array([1.0, 2.0, 3.0]))
    turned = SensitiveCounts("s", *_entries([[r[1], r[2], r[0]] for r in rows]), pa.array([2.0, 3.0, 1.0]))
    a, b = (closeness.t_closeness(ClassCounts((4, 4), sensitive={"s": s}), "s") for s in (straight, turned))
    assert a == b > 0
    assert profile(ClassCounts((4, 4), sensitive={"s": turned}), "s").ranks.tolist() == [1, 2, 0, 1, 2]


def _entries(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    s = SensitiveCounts.from_dense("s", rows)
    return s.classes, s.values, s.counts

"""Optimal groups against brute force, against the plain O(n²) recursion, against microagg1d; and the laws they keep."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shoal.errors import DataError, UsageError
from shoal.techniques import equal_groups, group_sizes, optimal_groups, quantile_groups, quantile_transform, rank_difference
from shoal.techniques.kernels import least_cuts as kernel
from shoal.techniques.kernels.least_cuts import bounds

COSTS = ("sse", "median", "cellular", "center", "rank")
quick = settings(deadline=None, max_examples=60)


def cost_of(group: list[float], cost: str) -> float:
    """One group's cost by its definition."""
    width = (max(group) - min(group)) / 2
    if cost == "sse":
        mean = math.fsum(group) / len(group)
        return math.fsum((v - mean) ** 2 for v in group)
    if cost == "median":
        median = sorted(group)[(len(group) - 1) // 2]
        return math.fsum(abs(v - median) for v in group)
    return {"cellular": width * len(group), "center": width, "rank": float(len(group) ** 2 // 4)}[cost]


def total(groups: list[list[float]], cost: str) -> float:
    costs = [cost_of(g, cost) for g in groups]
    return max(costs) if cost == "center" else math.fsum(costs)


def contiguous(x: list[float], k: int, *, ties: bool) -> list[list[list[float]]]:
    """Every way to cut sorted numbers into runs of at least k; with ``ties``, never between equal numbers."""
    n, out = len(x), []
    places = [i for i in range(1, n) if not ties or x[i - 1] != x[i]]
    for r in range(len(places) + 1):
        for cut in itertools.combinations(places, r):
            runs = [x[a:b] for a, b in itertools.pairwise((0, *cut, n))]
            if all(len(run) >= k for run in runs):
                out.append(runs)
    return out


def partitions(x: list[float], k: int) -> list[list[list[float]]]:
    """Every way to share records out to groups of at least k."""
    if not x:
        return [[]]
    out = []
    first, rest = x[0], x[1:]
    for size in range(k - 1, len(rest) + 1):
        for others in itertools.combinations(range(len(rest)), size):
            left = [v for i, v in enumerate(rest) if i not in others]
            if len(left) == 0 or len(left) >= k:
                out += [[[first, *(rest[i] for i in others)], *more] for more in partitions(left, k)]
    return out


numbers = st.lists(st.integers(-40, 40).map(lambda v: v / 4), min_size=2, max_size=12)


@quick
@given(numbers, st.integers(1, 5), st.sampled_from(COSTS), st.booleans())
def test_no_run_of_neighbours_costs_less(values, k, cost, ties):
    x = sorted(values)
    k = min(k, len(x))
    found = optimal_groups(values, k, cost=cost, ties="together" if ties else "split")
    best = min(total(g, cost) for g in contiguous(x, k, ties=ties))
    assert found.cost == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert found.sizes.min() >= k
    assert found.sizes.sum() == len(values)


@settings(deadline=None, max_examples=15)
@given(st.lists(st.integers(0, 30), min_size=4, max_size=8), st.integers(2, 3), st.sampled_from(("sse", "median", "center")))
def test_no_grouping_at_all_costs_less(values, k, cost):
    x = sorted(map(float, values))
    found = optimal_groups(values, k, cost=cost, ties="split")
    assert found.cost == pytest.approx(min(total(g, cost) for g in partitions(x, k)), rel=1e-9, abs=1e-9)


def slow(x, w, k, cost):
    """best(e) over all earlier cuts, O(n²) groups, no bound on their size."""
    n = len(x)
    best = [0.0] + [math.inf] * n
    for e in range(1, n + 1):
        for j in range(e):
            if sum(w[j:e]) >= k and best[j] < math.inf:
                group = [v for v, c in zip(x[j:e], w[j:e], strict=True) for _ in range(c)]
                c = cost_of(group, cost)
                best[e] = min(best[e], max(best[j], c) if cost == "center" else best[j] + c)
    return best[n]


@quick
@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(1, 9)), min_size=1, max_size=25, unique_by=lambda p: p[0]),
    st.integers(1, 14),
    st.sampled_from(COSTS),
)
def test_weights_mean_repeated_records(pairs, k, cost):
    pairs.sort()
    x, w = [float(p[0]) for p in pairs], [p[1] for p in pairs]
    k = min(k, sum(w))
    found = optimal_groups(x, k, cost=cost, weights=w)
    assert found.cost == pytest.approx(slow(x, w, k, cost), rel=1e-9, abs=1e-9)
    repeated = [v for v, c in zip(x, w, strict=True) for _ in range(c)]
    assert optimal_groups(repeated, k, cost=cost).cost == pytest.approx(found.cost, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("cost", ["sse", "median", "cellular", "rank"])
@pytest.mark.parametrize("shape", ["normal", "lognormal", "clusters", "integers"])
def test_searching_by_halves_equals_scanning_every_window(cost, shape):
    rng = np.random.default_rng(len(shape))
    n = 3000
    x = {
        "normal": rng.normal(size=n),
        "lognormal": rng.lognormal(sigma=2, size=n),
        "clusters": np.repeat(rng.uniform(0, 1e6, n // 10), 10) + rng.normal(size=n),
        "integers": rng.integers(0, 500, n).astype(float),
    }[shape]
    x = np.sort(x)
    w = np.arange(n + 1)
    for k in (2, 7, 50, 333):
        number = kernel.SSE if cost == "sse" else {"median": 1, "cellular": 2, "rank": 3}[cost]
        totals = []
        for limit in (0.0, np.inf):
            before, _ = kernel.least_sum(x, w, k, number, False, limit)
            totals.append(kernel.total_cost(x, w, bounds(before), cost))
        assert totals[0] == pytest.approx(totals[1], rel=1e-11)


@pytest.fixture(scope="module")
def microagg1d():
    """Their code as plain Python: compiling all its methods takes a minute, running one on 2,000 numbers a moment."""
    numba = pytest.importorskip("numba")
    before, numba.config.DISABLE_JIT = numba.config.DISABLE_JIT, True
    try:
        return pytest.importorskip("microagg1d")
    finally:
        numba.config.DISABLE_JIT = before


@pytest.mark.parametrize("k", [2, 3, 5, 10, 40])
@pytest.mark.parametrize("seed", range(3))
def test_sse_equals_microagg1d(microagg1d, k, seed):
    rng = np.random.default_rng(seed)
    x = np.sort([rng.normal(size=2000), rng.lognormal(sigma=1.5, size=2000), rng.uniform(size=2000)][seed])
    labels = microagg1d.univariate_microaggregation(x.copy(), k, method="wilber")
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1, [len(x)]])
    theirs = kernel.total_cost(x, np.arange(len(x) + 1), cuts, "sse")
    assert optimal_groups(x, k, ties="split").cost == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize(("offset", "spread"), [(1e9, 1e-3), (-1e12, 1.0), (0.0, 1e-9)])
def test_far_from_zero_and_beside_giants_small_differences_still_count(offset, spread):
    from fractions import Fraction

    rng = np.random.default_rng(4)
    x = np.sort(np.concatenate([offset + spread * rng.integers(0, 100, 20), [offset - 1e15 * max(spread, 1), offset + 1e15]]))
    found = optimal_groups(x, 3, ties="split")
    exact = [Fraction(v) for v in x.tolist()]

    def sse(a, b):
        mean = sum(exact[a:b]) / (b - a)
        return sum((v - mean) ** 2 for v in exact[a:b])

    best = [Fraction(0)] + [None] * len(x)
    for e in range(1, len(x) + 1):
        options = [best[j] + sse(j, e) for j in range(max(0, e - 5), e - 2) if best[j] is not None]
        best[e] = min(options) if options else None
    mine = sum(sse(a, b) for a, b in itertools.pairwise(found.cuts.tolist()))
    assert float(mine / best[-1]) == pytest.approx(1.0, abs=1e-9)


def test_doubled_precision_is_used_where_plain_sums_would_choose_wrongly():
    rng = np.random.default_rng(9)
    tight = np.sort(np.concatenate([c + 1e-7 * rng.integers(0, 50, 12) for c in (0.0, 1e5, 2e5, 3e5)]))
    w = np.arange(len(tight) + 1)
    before, rounding = kernel.least_sum(tight, w, 3, kernel.SSE, False, 0.0)
    careful, _ = kernel.least_sum(tight, w, 3, kernel.SSE, True, 0.0)
    best = kernel.total_cost(tight, w, bounds(careful), "sse")
    assert rounding > 1e-10 * best
    assert kernel.total_cost(tight, w, bounds(before), "sse") >= best
    assert optimal_groups(tight, 3, ties="split").cost == best


@quick
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200, unique=True), st.integers(1, 20), st.sampled_from(COSTS[:3]))
def test_no_group_holds_more_than_2k_minus_1(values, k, cost):
    k = min(k, len(values))
    assert optimal_groups(values, k, cost=cost).sizes.max() <= 2 * k - 1 or k == 1


def test_the_bound_fails_once_groups_have_a_fixed_price(reference):
    """0..7, k = 2, median cost + 10 per group: larger groups pay off (so such a cost must not use this recursion)."""
    wanted = reference["001"]["dp_facility_cost_breaks_bound"]["value"]
    x = [float(v) for v in range(8)]
    priced = {
        limit: min(total(g, "median") + 10 * len(g) for g in contiguous(x, 2, ties=True) if max(map(len, g)) <= limit)
        for limit in (3, 8)
    }
    assert (priced[3], priced[8]) == (wanted["limited"], wanted["unlimited"])


@quick
@given(st.integers(1, 59), st.integers(1, 12))
def test_equal_groups_have_the_least_rank_difference(n, k):
    k = min(k, n)
    best = [0] + [10**9] * n
    for e in range(1, n + 1):
        for g in range(k, e + 1):
            best[e] = min(best[e], best[e - g] + g * g // 4)
    assert rank_difference(group_sizes(n, k)) == best[n]
    assert quantile_groups(np.arange(n), k).cost == best[n]


@quick
@given(st.lists(st.integers(0, 6), min_size=1, max_size=11), st.integers(1, 4))
@example([0, 0, 0, 1], 2)
def test_quantile_groups_with_ties_are_the_best_that_keep_ties_together(values, k):
    k = min(k, len(values))
    x = sorted(map(float, values))
    best = min(rank_difference(map(len, g)) for g in contiguous(x, k, ties=True))
    assert quantile_groups(values, k).cost == best


@quick
@given(st.lists(st.integers(-5, 40), min_size=1, max_size=60), st.integers(1, 60), st.randoms())
@example([1, 2, 3, 4, 5], 3, None)
def test_a_wanted_number_of_groups_is_never_exceeded_and_met_where_values_differ(values, wanted, random):
    wanted = min(wanted, len(values))
    found = equal_groups(values, wanted)
    step = quantile_transform("x", [str(v) for v in sorted(set(values))], [values.count(v) for v in sorted(set(values))],
                              groups=wanted)  # fmt: skip
    assert len(step.labels) == found.n_groups <= wanted
    assert found.k == found.sizes.min()
    assert found.sizes.sum() == len(values)
    n, (low, high) = len(values), (len(values) // wanted, -(-len(values) // wanted))
    if len(set(values)) == n:
        assert found.n_groups == wanted
        assert set(found.sizes.tolist()) <= {low, high}
        best = n * n // 4 if wanted == 1 else rank_difference([high] * (n % wanted) + [low] * (wanted - n % wanted))
        assert found.cost == best


@pytest.mark.parametrize(("wanted", "error"), [(0, UsageError), (-1, UsageError), (4, DataError)])
def test_a_number_of_groups_that_cannot_be_is_refused(wanted, error):
    with pytest.raises(error):
        quantile_transform("x", ["1", "2", "3"], groups=wanted)


@quick
@given(numbers, st.integers(1, 4), st.sampled_from(("mean", "median", "midrange")), st.randoms())
def test_order_of_the_input_does_not_matter_and_published_groups_reach_k(values, k, publish, random):
    k = min(k, len(values))
    mixed = list(values)
    random.shuffle(mixed)
    a, b = optimal_groups(values, k), optimal_groups(mixed, k)
    assert a.cuts.tolist() == b.cuts.tolist()
    step = a.step("x", publish)
    from shoal.hierarchies import evaluate

    labels = evaluate(step, [repr(float(v)) for v in values]).texts()
    assert min(labels.count(label) for label in labels) >= k
    assert not step.truthful
    assert a.step("x", "interval").truthful


def test_merging_groups_never_lowers_the_cost():
    x = np.sort(np.random.default_rng(1).normal(size=60))
    costs = [optimal_groups(x, k).cost for k in range(1, 31)]
    assert costs == sorted(costs)


@pytest.mark.parametrize(
    ("values", "k", "options", "error", "words"),
    [
        ([1.0, 2.0], 3, {}, DataError, "has 2 values; groups of k=3"),
        ([], 2, {}, DataError, "all are missing"),
        ([1.0, float("nan")], 1, {}, UsageError, "finite numbers"),
        ([1.0], 0, {}, UsageError, "at least 1"),
        ([1.0], 1, {"cost": "price"}, UsageError, "not known"),
        ([1.0, 2.0], 1, {"weights": [1]}, UsageError, "2 values and 1 counts"),
        ([1.0, 2.0], 1, {"weights": [1, 0]}, UsageError, "at least 1"),
    ],
)
def test_bad_input(values, k, options, error, words):
    with pytest.raises(error, match=words):
        optimal_groups(values, k, column="pay", **options)


@pytest.mark.parametrize("weights", [[1.5, 1], [np.nan, 1], ["a", "b"], [1], [[1, 2]]])
def test_weights_that_are_no_numbers_of_records_are_refused(weights):
    with pytest.raises(UsageError, match=r"whole numbers|counts"):
        optimal_groups([1, 2], 1, weights=weights)
    assert optimal_groups([1, 2], 1, weights=[2.0, 1.0]).weights.tolist() == [2, 1]


def test_numbers_too_far_apart_are_refused_and_tiny_ones_are_not():
    with pytest.raises(UsageError, match="too far apart"):
        optimal_groups([1e308, -1e308, 0.0, 1.0], 2)
    assert optimal_groups([5e-324, 0.0, 1e-323, 1.0], 2).sizes.tolist() == [2, 2]
    assert optimal_groups([1e139, -1e139, 0.0, 1.0], 2).sizes.tolist() == [2, 2]


def test_split_ties_make_no_step():
    groups = optimal_groups([1, 1, 1, 1, 2], 2, ties="split")
    with pytest.raises(UsageError, match="equal values"):
        groups.step("x")


def test_the_plain_python_fallback_gives_the_same_groups(tmp_path):
    """Without numba the same loops run in the interpreter."""
    import os
    import subprocess
    import sys

    code = (
        "import numpy as np, shoal.techniques as t, shoal.kernels.jit as j; assert not j.HAVE_NUMBA;"
        "x = np.random.default_rng(0).normal(size=400);"
        "print([t.optimal_groups(x, 7, cost=c).cuts.tolist() for c in ('sse', 'median', 'cellular', 'center', 'rank')],"
        "t.near_groups(x.reshape(4, 100), 3).tolist(), t.near_groups(x.reshape(4, 100), 3, method='v-mdav').tolist())"
    )
    outputs = []
    for setting in ("1", None):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        environment.pop("SHOAL_NO_NUMBA", None)
        text = code if setting else code.replace("assert not j.HAVE_NUMBA;", "")
        if setting:
            environment["SHOAL_NO_NUMBA"] = setting
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, env=environment)
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]

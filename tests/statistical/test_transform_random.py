"""Random steps do what they state: neither more nor less. Seeded; every test rejects answers that are too low and too high."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import shoal.techniques as tf
from shoal.techniques.kernels import draws as random

STRONG = 10**15  # the shortest seed that is taken

N = 40_000


def test_draws_by_position_are_uniform_and_independent():
    u = random.uniforms(random.derive(1, "a"), random.places(0, N))
    assert stats.kstest(u, "uniform").pvalue > 0.01
    v = random.uniforms(random.derive(1, "b"), random.places(0, N))
    assert abs(np.corrcoef(u, v)[0, 1]) < 4 / np.sqrt(N)
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 4 / np.sqrt(N)


@pytest.mark.parametrize(("distribution", "law"), [("gaussian", "norm"), ("laplace", "laplace"), ("uniform", "uniform")])
def test_noise_has_the_stated_law_and_variance(distribution, law):
    step = tf.Noise("x", 3.0, distribution)
    x = np.full(N, 0.1234567)  # noise is rounded to the decimals of the column
    e = (np.array(tf.apply(step, pa.table({"x": x}), seed=STRONG + 5).table["x"]) - x) / 3.0
    args = (-1, 2) if law == "uniform" else (0, 1)
    assert stats.kstest(e, law, args=args).pvalue > 0.01
    assert np.var(3 * e) == pytest.approx(step.variance, rel=0.05)


def test_noise_relative_to_the_spread():
    x = np.random.default_rng(0).normal(50, 10, N)
    for distribution in ("gaussian", "laplace"):
        step = tf.noise_for("x", x, share=0.2, distribution=distribution)
        after = np.array(tf.apply(step, pa.table({"x": x}), seed=STRONG + 1).table["x"])
        assert np.std(after - x) == pytest.approx(0.2 * x.std(), rel=0.03)
        assert np.var(after) - step.variance == pytest.approx(np.var(x), rel=0.03)


def test_multiplicative_noise_grows_with_the_value():
    x = np.repeat([10.00001, 1000.00001], N // 2)
    after = np.array(tf.apply(tf.Noise("x", 0.1, mode="multiplicative"), pa.table({"x": x}), seed=STRONG + 1).table["x"])
    assert np.std((after / x - 1)[: N // 2]) == pytest.approx(0.1, rel=0.03)
    assert np.std((after / x - 1)[N // 2 :]) == pytest.approx(0.1, rel=0.03)


def test_correlated_noise_keeps_correlations_and_grows_variances_as_stated():
    rng = np.random.default_rng(3)
    data = rng.multivariate_normal([0, 5, 9], [[4, 2, -1], [2, 9, 0.5], [-1, 0.5, 1]], N)
    t = pa.table({c: data[:, i] for i, c in enumerate("abc")})
    step = tf.CorrelatedNoise.fit(t, ("a", "b", "c"), share=0.3)
    after = tf.apply(step, t, seed=STRONG + 2).table
    out = np.array([np.array(after[c]) for c in "abc"])
    assert np.corrcoef(out) == pytest.approx(np.corrcoef(data.T), abs=0.02)
    assert np.var(out, axis=1) / np.var(data, axis=0) == pytest.approx(1.3, rel=0.03)
    plain = data + np.sqrt(0.3) * data.std(axis=0) * rng.normal(size=data.shape)
    assert abs(np.corrcoef(plain.T)[0, 1] - np.corrcoef(data.T)[0, 1]) > 0.05  # the test can tell the difference


def test_pram_changes_as_often_as_its_matrix_says():
    step = tf.Pram("g", ("a", "b", "c"), ((0.7, 0.2, 0.1), (0.3, 0.6, 0.1), (0.0, 0.5, 0.5)))
    truth = np.repeat(["a", "b", "c"], N // 4)
    after = np.array(tf.apply(step, pa.table({"g": truth}), seed=STRONG + 9).table["g"])
    for i, category in enumerate("abc"):
        seen = [(after[truth == category] == c).mean() for c in "abc"]
        assert seen == pytest.approx(step.matrix[i], abs=4 * 0.5 / np.sqrt(N // 4))
    counts = [(after == c).sum() for c in "abc"]
    back = np.linalg.inv(np.array(step.matrix))
    spread = back.T @ sum(N // 4 * (np.diag(r) - np.outer(r, r)) for r in np.array(step.matrix)) @ back
    assert (np.abs(tf.estimate_counts(counts, step) - N // 4) <= 4 * np.sqrt(np.diag(spread))).all()


def test_an_attacker_who_knows_the_matrix_is_right_no_more_often_than_it_allows():
    """Bayes' best guess from the published category: its success is Σ_j max_i λ_i R_ij."""
    counts = np.array([600, 300, 100])
    step = tf.pram("g", ["a", "b", "c"], counts, keep=0.5)
    truth = np.repeat(np.arange(3), counts * 40)
    after = np.array(tf.apply(step, pa.table({"g": np.array(["a", "b", "c"])[truth]}), seed=STRONG + 4).table["g"])
    joint = (counts / counts.sum())[:, None] * np.array(step.matrix)
    guess = joint.argmax(axis=0)[np.searchsorted(["a", "b", "c"], after)]
    assert (guess == truth).mean() == pytest.approx(joint.max(axis=0).sum(), abs=4 * 0.5 / np.sqrt(len(truth)))


def test_permutation_breaks_relations_and_rank_swapping_blurs_them():
    rng = np.random.default_rng(8)
    x = rng.normal(size=N)
    t = pa.table({"x": x, "y": x + rng.normal(size=N)})
    before = np.corrcoef(t["x"], t["y"])[0, 1]
    permuted = np.corrcoef(tf.apply(tf.Permute("x"), t, seed=STRONG + 1).table["x"], t["y"])[0, 1]
    swapped = np.corrcoef(tf.apply(tf.RankSwap("x", 10), t, seed=STRONG + 1).table["x"], t["y"])[0, 1]
    assert abs(permuted) < 4 / np.sqrt(N)
    assert 0.9 * before < swapped < 0.999 * before


@pytest.mark.parametrize(
    "step", [tf.Microaggregate("x", ("y",), k=5), tf.Noise("x", 0.5), tf.RankSwap("x", 5)], ids=lambda s: s.kind
)
def test_distance_based_linkage_finds_fewer_people_than_before(step):
    """A12: the nearest published record is the true one for everybody before, for few after; microaggregation: at most 1/k."""
    rng = np.random.default_rng(2)
    t = pa.table({"x": rng.normal(size=600), "y": rng.normal(size=600)})
    after = tf.apply(step, t, seed=STRONG + 1).table
    a = np.array([np.array(t[c]) for c in "xy"]).T
    b = np.array([np.array(after[c]) for c in "xy"]).T
    distance = ((a[:, None] - b[None]) ** 2).sum(axis=2)
    nearest = distance == distance.min(axis=1, keepdims=True)
    success = (nearest.diagonal() / nearest.sum(axis=1)).mean()
    assert success < (1 / 5 if step.kind == "microaggregate" else 0.5)
    assert success > 0


def test_samples_have_the_stated_share():
    t = pa.table({"x": np.arange(N)})
    kept = tf.apply(tf.Sample(share=0.25), t, seed=STRONG + 6).table.num_rows
    assert abs(kept - N / 4) < 4 * np.sqrt(N * 0.25 * 0.75)
    assert kept != N // 4


@pytest.mark.parametrize(("error", "failure"), [(0.05, 0.05), (0.1, 0.05)])
def test_the_right_sample_size_keeps_its_promise_and_the_papers_does_not(error, failure):
    """All quantiles at once (DKW–Massart) for ours; the median alone already fails for (1/ε)·ln(1/δ)."""
    rng = np.random.default_rng(1)
    n, runs = 5_000, 400
    size, paper = tf.sample_size(error, failure), int(np.log(1 / failure) / error)

    def misses(s, shares, slack):
        wrong = 0
        for _ in range(runs):
            kept = np.sort(rng.choice(n, s, replace=False))
            found = kept[np.ceil(shares * s).astype(int) - 1]
            wrong += bool((np.abs((found + 1) / n - shares) > error + slack).any())
        return wrong / runs

    ours = misses(size, np.arange(0.02, 1, 0.02), 1 / size)
    assert ours <= failure + 3 * np.sqrt(failure * (1 - failure) / runs)
    assert misses(paper, np.array([0.5]), 0.0) > 3 * failure

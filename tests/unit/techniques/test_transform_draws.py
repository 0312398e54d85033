"""Random steps: columns and people have draws of their own, and a row without a person is never in a sample of people."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
import shoal.techniques as tf
from shoal.model.plan import Plan
from shoal.techniques.perturb.sampling import Sample

N = 2_000
NUMBERS = np.round(np.random.default_rng(3).normal(100, 20, N), 6)


def published(step: object, values: object = NUMBERS) -> np.ndarray:
    """One column of a table with two equal ones, after a step on it."""
    table = pa.table({"a": values, "b": values})
    return np.asarray(tf.apply(step, table, seed=10**18 + 9).table[step.column].to_pylist())  # type: ignore[attr-defined]


@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
@pytest.mark.parametrize("distribution", ["gaussian", "laplace", "uniform"])
def test_equal_columns_get_different_noise(distribution: str, mode: str) -> None:
    """With shared draws the difference of two columns would be free of noise, and one known value would reveal the others."""
    scale = 5.0 if mode == "additive" else 0.05
    a, b = (published(tf.Noise(name, scale, distribution, mode)) - NUMBERS for name in "ab")
    assert (a != b).mean() > 0.99
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.1


def test_the_columns_of_correlated_noise_have_draws_of_their_own() -> None:
    table = pa.table({"a": NUMBERS, "b": NUMBERS[::-1].copy()})
    made = tf.apply(tf.CorrelatedNoise("a", ("b",), ((5.0, 0.0), (0.0, 5.0))), table, seed=10**18 + 9).table
    a, b = (np.asarray(made[n]) - np.asarray(table[n]) for n in "ab")
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.1


PEOPLE = pa.table({"id": [None if i % 5 == 0 else f"p{i % 300}" for i in range(900)], "x": range(900)})


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_rows_without_a_person_are_never_in_a_sample_of_people(share: float) -> None:
    made = tf.apply(Sample(share=share, unit="id"), PEOPLE, seed=10**18 + 9).table
    assert made["id"].null_count == 0
    named = PEOPLE.filter(pa.compute.is_valid(PEOPLE["id"]))
    kept = set(made["id"].to_pylist())
    assert made["x"].to_pylist() == [row["x"] for row in named.to_pylist() if row["id"] in kept]
    assert len(kept) == 240 if share == 1.0 else 80 < len(kept) < 160
    batches = tf.apply(Sample(share=share, unit="id"), PEOPLE, seed=10**18 + 9, batch_size=70).table
    assert batches["id"].null_count == 0
    assert batches.num_rows > 200


def test_a_file_sampled_by_people_has_no_row_without_a_person(tmp_path: Path) -> None:
    made = shoal.transform(PEOPLE, Plan((Sample(share=1.0, unit="id"),), seed=10**18 + 9), tmp_path / "t.csv")
    assert made.done.records_out == 720
    assert made.done.unsampled == 180
    lines = (tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert len(lines) == 720
    assert all(line.startswith('"p') for line in lines)

"""Spread of columns that are read in parts is that of numpy, of small numbers and of one that never changes, too."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from shoal.techniques.perturb.noise import Spread


def test_covariance_of_parts_is_that_of_the_whole() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(0, 0.01, 90)
    data = {"small": x, "with it": 3 * x + rng.normal(0, 0.02, 90), "large": rng.normal(5e6, 1e5, 90), "one": np.full(90, 7.0)}
    table = pa.table(data)
    found = Spread.of((table.slice(i, 31) for i in range(0, 90, 31)), list(data))
    wanted = np.cov(list(data.values()))
    size = np.sqrt(np.outer(wanted.diagonal(), wanted.diagonal()))
    assert found.n == 90
    assert np.isfinite(found.covariance()).all()
    most = 1.1e-5  # six digits of each deviation (2 · 5e-6), six decimals of a correlation (5e-7)
    assert (np.abs(found.covariance() - wanted) <= most * size).all()

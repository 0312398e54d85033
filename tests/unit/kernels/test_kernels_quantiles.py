"""Quantiles of our own beside scipy's, and scipy's rooms where scipy is missing."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from scipy import special, stats

from shoal.errors import DependencyError
from shoal.kernels import quantiles


@pytest.mark.parametrize("a", [0.5, 1, 4, 33, 1000, 50_000])
@pytest.mark.parametrize("b", [0.5, 1, 7, 400, 50_000])
def test_beta_is_scipys(a: float, b: float) -> None:
    for p in (1e-6, 0.025, 0.5, 0.975):
        x = quantiles.beta_quantile(a, b, p)
        assert special.betainc(a, b, x) == pytest.approx(p, rel=2e-8)
        assert quantiles.beta_chance(a, b, x) == pytest.approx(p, rel=1e-8)
    assert quantiles.beta_chance(a, b, 0.0) == 0.0
    assert quantiles.beta_chance(a, b, 1.0) == 1.0


def test_t_and_chi_squared_are_scipys() -> None:
    for freedom in (1, 2, 3, 10, 38, 200):
        assert quantiles.t_quantile(0.975, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-10)
        for p in (0.001, 0.5, 0.975, 0.999999):
            wanted = stats.chi2.ppf(p, freedom)
            assert quantiles.chi_squared_quantile(p, freedom) == pytest.approx(wanted, rel=1e-9)
            assert quantiles.chi_squared_chance(wanted, freedom) == pytest.approx(p, rel=1e-9)
    assert quantiles.chi_squared_chance(0.0, 3) == 0.0


def test_normals_are_scipys_in_both_directions() -> None:
    p = np.concatenate([np.geomspace(1e-17, 0.5, 200), 1 - np.geomspace(1e-15, 0.5, 200)])
    z = quantiles.normal_quantiles(p)
    assert z == pytest.approx(special.ndtri(p), rel=1e-13, abs=1e-14)
    assert quantiles.normal_chances(z) == pytest.approx(special.ndtr(z), rel=1e-12)


def test_what_needs_scipy_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rooms = importlib.import_module("shoal.kernels.scipy")
    assert rooms.room("special") is special
    assert rooms.special.ndtr(0.0) == 0.5
    with pytest.raises(AttributeError):
        _ = rooms.cluster
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(DependencyError, match=r"pip install 'scipy>=1\.14'"):
        rooms.room("optimize")

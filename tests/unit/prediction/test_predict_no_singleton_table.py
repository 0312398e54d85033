"""The 20 x 50 table of no-singleton probabilities (thesis, appendix A) by three ways, and its polynomials."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from shoal import predict

TABLE = predict.no_singleton_table(50, 20)


def rational(top: int, cells: int) -> list[list[Fraction]]:
    """The recursion of METHODS §4.8 over the people who share with the first person, in rational numbers."""
    z = [[Fraction(0)] * (cells + 1) for _ in range(top + 1)]
    for n in range(cells + 1):
        z[0][n] = Fraction(1)
    for n in range(1, cells + 1):
        for k in range(2, top + 1):
            z[k][n] = sum(
                math.comb(k - 1, j) * Fraction(1, n) ** j * (1 - Fraction(1, n)) ** (k - 1 - j) * z[k - 1 - j][n - 1]
                for j in range(1, k)
            )
    return z


def test_table_equals_rational_arithmetic() -> None:
    exact = rational(24, 12)
    for k in range(25):
        for n in range(1, 13):
            assert TABLE[k, n] == pytest.approx(float(exact[k][n]), rel=1e-12, abs=1e-300), (k, n)


def test_all_thousand_entries_equal_the_tilted_inversion() -> None:
    for n in range(1, 21):
        for k in range(2, 51):
            assert predict.no_singleton(n, k).value == pytest.approx(TABLE[k, n], rel=1e-11), (k, n)


@pytest.mark.parametrize(
    ("k", "n", "printed"),
    [
        (2, 5, 0.2), (4, 3, 0.2592592593), (5, 3, 0.2592592593), (7, 4, 0.1950683594), (10, 5, 0.1706931200),
        (12, 4, 0.5412034988), (15, 6, 0.2217192164), (20, 8, 0.1309170073), (25, 10, 0.0774350653), (30, 10, 0.1744439584),
        (40, 12, 0.1993052450), (50, 10, 0.7375330077), (50, 15, 0.1292210476), (50, 20, 0.0056442861), (9, 20, 3.119637e-4),
    ],
)  # fmt: skip
def test_printed_values(k: int, n: int, printed: float) -> None:
    assert TABLE[k, n] == pytest.approx(printed, abs=1e-10)


@pytest.mark.parametrize(
    ("k", "coefficients"),
    [(4, [3, -2]), (5, [10, -9]), (6, [15, -20, 6]), (7, [105, -259, 155]), (8, [105, -140, -196, 232])],
)
def test_polynomials_in_n(k: int, coefficients: list[int]) -> None:
    for n in (1, 2, 3, 7, 20):
        assert TABLE[k, n] == pytest.approx(np.polyval(coefficients, n) / n ** (k - 1), rel=1e-11)


def test_two_cells_and_monotone_in_the_number_of_cells() -> None:
    for k in range(3, 51):
        assert TABLE[k, 2] == pytest.approx(1 - k / 2 ** (k - 1), rel=1e-12)
    assert np.all(np.diff(TABLE[2:, 1:], axis=1) <= 1e-15)
    assert np.any(np.diff(TABLE[2:, 20]) < 0)  # not monotone in the number of people


@pytest.mark.parametrize("cells", [10**7, 10**12])
@pytest.mark.parametrize(("k", "times"), [(2, 1), (3, 1), (4, 3), (5, 10)])
def test_few_people_in_very_many_cells(cells: int, k: int, times: int) -> None:
    pairs = {2: 1, 3: 2, 4: 2, 5: 3}[k]
    log_lead = math.log(times) - pairs * math.log(cells)  # leading term of the polynomial
    assert predict.no_singleton(cells, k).log_value == pytest.approx(log_lead, abs=1e-5)

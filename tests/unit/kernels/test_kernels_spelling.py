"""Doubles in their shortest digits by compiled loops: as Arrow, which has its own way, spells every one of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import _spell_loops as loops
from shoal.kernels.jit import HAVE_NUMBA, lean_njit

pytestmark = pytest.mark.skipif(not HAVE_NUMBA, reason="the loops are only for numba")
put_double, put_digits, digits_of = loops.put_double, loops.put_digits, loops.digits_of


@lean_njit
def put_all(numbers, powers, out, ends):  # type: ignore[no-untyped-def]
    at = 0
    for i in range(len(numbers)):
        at = put_double(numbers[i], powers, out, at)
        ends[i + 1] = at


@lean_njit
def put_wholes(numbers, out, ends):  # type: ignore[no-untyped-def]
    at = 0
    for i in range(len(numbers)):
        n = digits_of(numbers[i])
        put_digits(numbers[i], n, out, at)
        at += n
        ends[i + 1] = at


def spelled(numbers: np.ndarray) -> list[str]:
    out, ends = np.zeros(len(numbers) * loops.WIDEST + loops.SPILL, np.uint8), np.zeros(len(numbers) + 1, np.int64)
    if numbers.dtype == np.uint64:
        put_wholes(numbers, out, ends)
    else:
        put_all(numbers, loops.powers_of_ten(), out, ends)
    return [bytes(out[a:b]).decode() for a, b in pairwise(ends)]


def by_arrow(numbers: np.ndarray) -> list[str]:
    return pa.array(numbers).cast(pa.string()).to_pylist()  # type: ignore[no-any-return]


def test_a_few_by_hand() -> None:
    cases = {
        0.0: "0",
        1.0: "1",
        -1234.56: "-1234.56",
        0.000001: "0.000001",
        0.00000099: "9.9e-7",
        9999999999.0: "9999999999",
        1e10: "1e+10",
        12345678901.5: "1.23456789015e+10",
        1234567890.125: "1234567890.125",
        5e-324: "5e-324",
        -2.2250738585072014e-308: "-2.2250738585072014e-308",
        2.0**53 + 2: "9.007199254740994e+15",
        float("-inf"): "-inf",
    }
    assert spelled(np.array(list(cases))) == list(cases.values())
    assert spelled(np.array([-0.0])) == ["-0"]


def test_every_bound_of_the_loops_and_both_of_its_neighbours() -> None:
    tens = [10.0**n for n in range(-323, 309)]
    twos = [2.0**n for n in range(-1074, 1024)]  # one neighbour is nearer than the other
    here = np.array([*tens, *twos, 1e15 / 1e6, 0.5e-6, 9999999.5, 99999999.5, 1e9 + 1e-6, 1.7976931348623157e308])
    numbers = np.concatenate(
        [here, np.nextafter(here, 0), np.nextafter(here[:-1], np.inf), np.arange(1, 300).astype(np.uint64).view(float)]
    )
    assert spelled(numbers) == by_arrow(numbers)


@given(st.integers(0, 2**64 - 1))
def test_any_bits(seed: int) -> None:
    """100 random patterns, and as many numbers as people write them: few digits before and behind the point."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**64, 100, dtype=np.uint64).view(np.float64)
    written = rng.integers(0, 10 ** rng.integers(1, 18), 100) / 10.0 ** rng.integers(0, 20)
    numbers = np.concatenate([bits[~np.isnan(bits)], written, np.array([seed], np.uint64).view(np.float64)])
    numbers = numbers[~np.isnan(numbers)]
    assert spelled(numbers) == by_arrow(numbers)


def test_whole_numbers_of_any_length() -> None:
    numbers = (
        {0, 2**64 - 1}
        | {10**n + d for n in range(20) for d in (-1, 0, 1)}
        | {2**n + d for n in range(64) for d in (-600, -1, 0, 1)}
    )
    kept = sorted(n for n in numbers if 0 <= n < 2**64)
    assert spelled(np.array(kept, np.uint64)) == [str(n) for n in kept]

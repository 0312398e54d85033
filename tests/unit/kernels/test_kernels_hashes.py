"""Hashes of many values, by compiled loops: those of few, which numpy makes, so that every order stays what it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shoal.kernels import order
from shoal.kernels.jit import HAVE_NUMBA
from shoal.kernels.order import value_hashes

RNG = np.random.default_rng(5)
NUMBERS = [
    0.0,
    -0.0,
    0.5,
    -1.0,
    2.0**63,
    -(2.0**63),
    2.0**63 - 1024,
    -(2.0**63) - 2048,
    1e300,
    float("nan"),
    float("inf"),
    -float("inf"),
]


@pytest.mark.skipif(not HAVE_NUMBA, reason="the loops are only for numba")
@pytest.mark.parametrize(
    "values",
    [
        pa.array(["", "a", None, "12345678", "123456789", "é" * 9, "x" * 15, "x" * 16, "x" * 17, "end of the buffer"]),
        pa.array(["", None, ""]),
        pa.array(["a"]),
        pa.array([*NUMBERS, None, *RNG.integers(0, 2**64, 500, dtype=np.uint64).view(np.float64).tolist()]),
    ],
    ids=["texts", "no bytes", "one byte", "numbers"],
)
def test_many_are_hashed_as_few_are(monkeypatch: pytest.MonkeyPatch, values: Any) -> None:
    few = value_hashes(values)
    part = value_hashes(values[1:])
    monkeypatch.setattr(order, "FEW", 0)
    assert value_hashes(values).tolist() == few.tolist()
    assert value_hashes(values[1:]).tolist() == part.tolist() == few[1:].tolist()


def test_values_that_were_pinned_stay() -> None:
    """Computed by the definition, in whole numbers: a file of an earlier release is written in the same order."""
    mask = 2**64 - 1

    def scramble(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        return z ^ (z >> 31)

    def by_definition(text: bytes) -> int:
        h = len(text) * 0x9E3779B97F4A7C15 & mask
        for at in range(0, len(text), 8):
            h = (scramble(h ^ int.from_bytes(text[at : at + 8], "little")) + 0x9E3779B97F4A7C15) & mask
        return h

    texts = ["", "a", "1234567", "12345678", "123456789", "naïve café", "x" * 40]
    assert value_hashes(pa.array(texts)).tolist() == [by_definition(t.encode()) for t in texts]

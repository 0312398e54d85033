"""The digest of a released table: rows that differ have different digests, the order of rows does not matter."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shoal
from shoal.release.certificate.database_table import digest


def of(*rows):
    table = pa.table({"a": [r[0] for r in rows], "b": [r[1] for r in rows]})
    return digest(shoal.open(table), ["a", "b"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a\x1fvb", "c"), ("a", "b\x1fvc")),
        (("a\x1fv1:b", "c"), ("a", "b\x1fv1:c")),
        (("a\x1fn", None), ("a", None)),
        (("n", "x"), (None, "x")),
    ],
)
def test_different_rows_have_different_digests(one, other):
    assert of(one) != of(other)


def test_the_order_of_rows_does_not_matter_but_their_number_does():
    rows = [("a", "b"), ("c", None)]
    assert of(*rows) == of(*rows[::-1]) != of(*rows, rows[0])

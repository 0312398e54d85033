"""A table of a database as a file: all rows, up to the limit and not one byte more."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import DataError, EmptyTableError
from shoal.studio.views.measured import copied


def test_up_to_the_limit_and_one_byte_less(tmp_path: Path) -> None:
    people = pa.table({"age": list(range(100)), "sex": ["f", "m"] * 50})
    with shoal.open(people) as table:
        size = sum(batch.nbytes for batch in table.scan())
        assert copied(table, str(tmp_path / "fits"), size) == 100
        assert pq.read_table(tmp_path / "fits").equals(people.cast(pq.read_table(tmp_path / "fits").schema))
        with pytest.raises(DataError, match="more than"):
            copied(table, str(tmp_path / "large"), size - 1)


def test_no_rows_are_refused(tmp_path: Path) -> None:
    with shoal.open(pa.table({"age": pa.array([], pa.int64())})) as table, pytest.raises(EmptyTableError):
        copied(table, str(tmp_path / "none"), 1000)

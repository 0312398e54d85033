"""Numbers between Arrow and numpy: the same as pyarrow's own conversion gives, and no pandas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import arrow
from shoal.kernels.arrow import from_numpy, is_missing, positions, to_numpy

TYPES = [
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint8(),
    pa.uint16(),
    pa.uint32(),
    pa.uint64(),
    pa.float32(),
    pa.float64(),
]


@pytest.mark.parametrize("kind", TYPES, ids=str)
@given(numbers=st.lists(st.none() | st.integers(0, 100), max_size=40), start=st.integers(0, 20))
def test_slices_with_missing_values(kind: pa.DataType, numbers: list[int | None], start: int) -> None:
    values = pa.array(numbers, kind)[start:]
    gone = is_missing(values)
    assert gone.tolist() == [v is None for v in values.to_pylist()]
    assert to_numpy(values)[~gone].tolist() == values.drop_null().to_pylist()
    assert to_numpy(values).dtype == np.dtype(kind.to_pandas_dtype())


@given(numbers=st.lists(st.none() | st.floats(allow_nan=False), max_size=40))
def test_there_and_back(numbers: list[float | None]) -> None:
    values = pa.array(numbers, pa.float64())
    back = from_numpy(to_numpy(values), is_missing(values))
    assert back.type == values.type
    assert back.to_pylist() == numbers
    assert back.null_count == values.null_count


@given(texts=st.lists(st.none() | st.sampled_from("abc"), max_size=40), start=st.integers(0, 20))
def test_positions_in_a_dictionary(texts: list[str | None], start: int) -> None:
    encoded = pa.array(texts, pa.string()).dictionary_encode()[start:]
    words = encoded.dictionary.to_pylist()
    assert [None if i < 0 else words[i] for i in positions(encoded.indices)] == texts[start:]


@pytest.mark.parametrize("kind", [pa.uint8(), pa.uint32(), pa.int64()], ids=str)
def test_a_missing_position_is_minus_one_in_every_type(kind: pa.DataType) -> None:
    assert positions(pa.array([255, None, 0], kind)).tolist() == [255, -1, 0]


def test_nothing_but_nulls() -> None:
    assert is_missing(pa.nulls(3)).tolist() == [True] * 3
    assert is_missing(pa.nulls(3, pa.int8())).tolist() == [True] * 3
    assert is_missing(pa.array([], pa.int8())).tolist() == to_numpy(pa.array([], pa.int8())).tolist() == []


def test_booleans_are_bits_and_refused() -> None:
    with pytest.raises(KeyError):
        to_numpy(pa.array([True, False]))


COUNTS = """
import sys
from shoal.engines.open import open as open_table

counts = open_table(sys.argv[1]).count(["age", "pay", "sex", "born"])
assert counts.sizes.sum() == 5
print([name for name in ("pandas", "scipy", "matplotlib", "sqlalchemy", "pyspark") if name in sys.modules])
"""


@pytest.mark.parametrize("missing", [True, False], ids=["missing values", "every cell filled"])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_opening_and_counting_a_file_loads_no_pandas(tmp_path: Path, ending: str, missing: bool) -> None:
    born = pa.array([0, 1, 1, None, 9000], pa.date32())
    pay = pa.array([1.5, float("nan"), None, -0.0, 2.25])
    table = pa.table({"age": [30, None, 31, 30, 99], "pay": pay, "sex": ["f", "m", None, "f", "f"], "born": born})
    if not missing:
        table = table.take([0, 4, 4, 0, 0])
    file = tmp_path / f"t.{ending}"
    if ending == "parquet":
        pq.write_table(table, file)
    else:
        table.to_pandas().to_csv(file, index=False)
    done = subprocess.run([sys.executable, "-c", COUNTS, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("many", [0, 10**9], ids=["pyarrow", "by buffers"])
def test_texts_come_back_whatever_their_number(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "MANY", many)
    for texts in ([], [None], [""], ["a", None, "é\x00b", "", "🐟" * 9] * 5):
        made = arrow.from_texts(texts)
        made.validate(full=True)
        assert made.type == pa.string()
        assert made.to_pylist() == texts

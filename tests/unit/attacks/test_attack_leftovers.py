"""Leftovers: order, row numbers and metadata are found; a shuffled clean file is not accused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.attacks.leftovers import leftovers, neighbour_score, trend_score


@pytest.fixture
def shuffled() -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {"zip": rng.choice(["12**", "13**", "14**"], 2000), "age": rng.integers(0, 90, 2000), "cost": rng.normal(size=2000)}
    )


def test_a_shuffled_table_is_clean(shuffled):
    assert leftovers(shuffled).verdict == "holds"


def test_a_sorted_column_is_found(shuffled):
    found = leftovers(shuffled.sort_by("age"))
    assert found.verdict == "warning"
    assert "'age'" in found.sentence
    assert "'cost'" not in found.sentence


def test_groups_left_together_are_found_even_when_not_sorted(shuffled):
    order = {"12**": 1, "13**": 2, "14**": 0}
    rank = pa.array([order[z] for z in shuffled["zip"].to_pylist()])
    together = shuffled.append_column("rank", rank).sort_by("rank").drop_columns("rank")
    assert "'zip'" in leftovers(together).sentence


def test_row_numbers_are_found(shuffled):
    numbers = np.random.default_rng(1).permutation(2000) + 17
    assert "numbers the rows" in leftovers(shuffled.append_column("row", pa.array(numbers))).sentence


def test_parquet_metadata_is_found_by_name_only(shuffled, tmp_path):
    dirty, clean = tmp_path / "dirty.parquet", tmp_path / "clean.parquet"
    pq.write_table(shuffled.replace_schema_metadata({"pandas": "CANARY-VALUE"}), dirty)
    pq.write_table(shuffled, clean)
    found = leftovers(shuffled, (dirty,))
    assert "'pandas'" in found.sentence
    assert "CANARY" not in found.sentence
    assert leftovers(shuffled, (clean,)).verdict == "holds"


def test_missing_values_and_small_tables_have_a_defined_answer():
    assert leftovers(pa.table({"a": [1, None, 3]})).verdict == "holds"
    assert leftovers(pa.table({"a": pa.array([None] * 60, pa.int64())})).verdict == "holds"
    assert leftovers(pa.table({"a": ["x"] * 60})).verdict == "holds"


def test_false_alarms_are_rare_and_true_ones_certain():
    rng = np.random.default_rng(2)
    scores = [neighbour_score(rng.integers(0, m, 500)) for m in (2, 3, 10, 50) for _ in range(250)]
    assert max(abs(s) for s in scores) < 6
    assert 0.8 < np.std(scores) < 1.2
    trends = [trend_score(rng.integers(0, 10, 500)) for _ in range(500)]
    assert 0.85 < np.std(trends) < 1.15


def test_a_column_of_codes_is_judged_as_its_values():
    """Dictionaries in any order, with a missing value in them or among the codes, give the finding of the plain column."""
    values = ["b", "a", None, "c"]
    for codes in (np.repeat(np.arange(4, dtype=np.int8), 50), np.random.default_rng(1).integers(0, 4, 200).astype(np.int8)):
        plain = pa.array([values[c] for c in codes])
        inside = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(values))
        among = plain.dictionary_encode()
        told = {leftovers(pa.table({"x": column})).sentence for column in (plain, inside, among)}
        assert len(told) == 1


def test_the_trend_is_the_correlation_with_the_row_number():
    for codes in (np.random.default_rng(3).integers(0, 9, 400), np.arange(60) // 7, np.arange(50)[::-1]):
        expected = np.corrcoef(codes, np.arange(len(codes)))[0, 1] * np.sqrt(len(codes) - 1)
        assert trend_score(codes) == pytest.approx(expected, rel=1e-12)

"""Risk of households against its definition."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.measures.classes.individual import household_risk


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from(["a", "b", "c", None])), min_size=1, max_size=12))
def test_a_household_is_named_when_one_of_it_is(members: list[tuple[float, str | None]]) -> None:
    found = household_risk([r for r, _ in members], [h for _, h in members])
    for i, (risk, home) in enumerate(members):
        together = [r for r, h in members if h == home] if home is not None else [risk]
        assert found.per_record[i] == pytest.approx(1 - math.prod(1 - r for r in together), abs=1e-12)
        assert found.per_record[i] >= risk - 1e-12
    assert found.expected == pytest.approx(found.per_record.sum())


def test_batches_of_a_table_are_one_list_of_households() -> None:
    batches = [pa.array([1, 2, None]), pa.array([2, None])]
    found = household_risk([0.1, 0.2, 0.3, 0.4, 0.5], batches)
    assert found.per_record.round(12).tolist() == [0.1, 0.52, 0.3, 0.52, 0.5]
    assert found.to_json()["households"] == 4
    assert found.to_json()["largest"] == 2


@pytest.mark.parametrize("risk", [[0.5], [0.5, 1.1], [0.5, -0.1], [0.5, 0.5, 0.5]])
def test_wrong_risks_are_refused(risk: list[float]) -> None:
    with pytest.raises(DataError):
        household_risk(risk, ["a", "b"])


def test_a_risk_of_none_and_of_all_are_risks_and_nobody_has_none() -> None:
    assert household_risk([0.0, 1.0], ["a", "b"]).per_record.tolist() == [0.0, 1.0]
    with pytest.raises(DataError):
        household_risk([], [])


def test_the_mean_is_one_of_households_and_the_expected_number_one_of_people() -> None:
    found = household_risk([0.5, 0.5, 0.1], ["a", "a", None])
    assert found.mean == pytest.approx((0.75 + 0.1) / 2)
    assert found.expected == pytest.approx(2 * 0.75 + 0.1)

"""Hospital visits: real tables with several rows per person, against the slow definition."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

import shoal
from people_oracle import Everybody

VISITS = Path(os.environ.get("SHOAL_DATA", "")) / "real_tables" / "mimic_admissions" / "data.csv"
QUASI = ("insurance", "marital_status", "ethnicity", "admission_type")


@pytest.mark.skipif(not VISITS.is_file(), reason="the table of hospital visits is not here (SHOAL_DATA)")
@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_hospital_visits(width: int) -> None:
    quasi = QUASI[:width]
    with VISITS.open(encoding="utf-8", newline="") as file:
        rows = [{c: r[c] or None for c in (*quasi, "subject_id")} for r in csv.DictReader(file)]
    slow = Everybody(rows, quasi, "subject_id")
    found = shoal.measure(VISITS, quasi=quasi, unit="subject_id")
    assert (found.records, found.people, found.memberships) == (len(rows), 100, slow.memberships)
    assert (found.k, found.unique, found.people_at[5]) == (slow.k, slow.at(1), slow.at(5))
    assert (found.whole_set.unique, found.whole_set.k) == (slow.unique_by_set, slow.k_of_sets)
    assert found.risk.prosecutor.mean == pytest.approx(slow.mean_risk)

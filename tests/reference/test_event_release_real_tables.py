"""Real traces and hospital visits, protected: the written file meets what was asked by a definition written out here."""

from __future__ import annotations

import csv
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import shoal


def smallest(folder: Path, unit: str, point: str, s: int) -> int:
    """The fewest pseudonyms that share a set of up to s values of one pseudonym."""
    at, by = defaultdict(set), defaultdict(set)
    with (folder / "data.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            at[row[unit]].add(row[point])
            by[row[point]].add(row[unit])
    sets = {c for own in at.values() for size in range(1, s + 1) for c in combinations(sorted(own), size)}
    return min(len(set.intersection(*(by[p] for p in c))) for c in sets)


CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "traces": (
        "traj_homelocator/tweets_100users.csv",
        {"events": {"unit": "u_id", "place": "grid_id"}, "roles": {"rest": "drop"}, "require": ["known[2]>=3"]},
        {"allow": {"suppress": 0.8}},
    ),
    "visits": (
        "real_tables/diabetes130/data.csv",
        {
            "events": {
                "unit": "patient_nbr",
                "place": "diag_1",
                "hierarchy": {"diag_1": {"diagnosis": "icd9"}},
                "renew": "never",
            },
            "roles": {"rest": "drop"},
            "require": ["known[2]>=5"],
        },
        {"allow": {"suppress": 0.1}},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_real_tables_are_protected_and_proven(shared_data: Path, tmp_path: Path, name: str) -> None:
    file, asked, allowed = CASES[name]
    release = shoal.anonymize(shoal.open(shared_data / file, null=["?"]), {**asked, **allowed})
    folder = release.write(tmp_path / "out")
    events = asked["events"]
    made = release.certificate
    found = smallest(folder, events["unit"], events["place"], 2)
    assert made.after.smallest["2"] == found >= (3 if name == "traces" else 5)
    assert made.cost.left_out_share <= allowed["allow"]["suppress"]
    assert made.before[1].alone > 0.1 > made.after.alone["2"] == 0
    assert shoal.verify(folder).ok


def test_admissions_by_place_and_part_of_the_day(shared_data: Path, tmp_path: Path) -> None:
    """Admissions of a hospital: the date is left out, perhaps the time too; the file is counted by a definition of its own."""
    rules = {"unit": "subject_id", "time": "admittime", "place": ["admission_type", "admission_location"]}
    asked = {
        "events": {**rules, "time_widths": ["hour of day", "part of day", "none"]},
        "roles": {"rest": "drop"},
        "require": ["known[2]>=3"],
        "allow": {"suppress": 0.2, "loss": 1},
    }
    release = shoal.anonymize(shared_data / "real_tables/mimic_admissions/data.csv", asked)
    folder = release.write(tmp_path / "out")
    at, by = defaultdict(set), defaultdict(set)
    with (folder / "data.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            point = tuple(v for n, v in row.items() if n != "subject_id")
            at[row["subject_id"]].add(point)
            by[point].add(row["subject_id"])
    sets = {c for own in at.values() for size in (1, 2) for c in combinations(sorted(own), size)}
    found = min(len(set.intersection(*(by[p] for p in c))) for c in sets)
    assert release.certificate.after.smallest["2"] == found >= 3
    assert release.certificate.steps.time != "exact"
    assert shoal.verify(folder).ok

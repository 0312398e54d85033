"""Levels of places built from coordinates and from trips: every place of a level keeps its people."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.errors import PolicyError, UsageError
from shoal.techniques import places
from shoal.techniques.places import grid_widths, group_by_trips


@pytest.mark.parametrize(("seed", "k"), [(1, 5), (2, 8), (3, 3)])
def test_every_group_has_k_people_then_4k_and_groups_only_join(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    person, place = rng.integers(0, 120, 900), rng.zipf(1.6, 900) % 25
    place = np.unique(place, return_inverse=True)[1]
    a, b = rng.integers(0, int(place.max()) + 1, (2, 500))
    levels = group_by_trips(place, person, a, b, k)
    assert levels
    fine = np.arange(int(place.max()) + 1)
    least = []
    for groups in levels:
        people = defaultdict(set)
        for who, where in zip(person.tolist(), groups[place].tolist(), strict=True):
            people[where].add(who)
        least.append(min(map(len, people.values())))
        assert all(len(set(groups[fine == g].tolist())) == 1 for g in set(fine.tolist()))
        fine = groups
    assert all(n >= k for n in least)
    assert len(levels) < 2 or least[1] >= 4 * k


def test_a_place_joins_the_one_it_has_most_trips_with_and_k_people_are_enough() -> None:
    place, person = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 2, 3, 4])
    assert group_by_trips(place, person, np.array([2]), np.array([1]), 2)[0].tolist() == [0, 1, 1]
    assert group_by_trips(place, person, np.array([2]), np.array([0]), 2)[0].tolist() == [0, 1, 0]
    both = np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])
    assert group_by_trips(*both, np.array([0]), np.array([1]), 2)[0].tolist() == [0, 1]  # exactly k each
    assert group_by_trips(*both, np.array([0]), np.array([1]), 3) == []


def test_too_many_places_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "MOST_PLACES", 2)
    with pytest.raises(UsageError, match="3 places are too many"):
        group_by_trips(np.arange(3), np.arange(3), np.array([0]), np.array([1]), 2)


@pytest.mark.parametrize("scale", [0.001, 1.0, 5000.0])
def test_grids_follow_the_coordinates_in_any_unit(scale: float) -> None:
    rng = np.random.default_rng(4)
    person = rng.integers(0, 40, 600)
    spots = rng.normal(0, 10, (12, 2))[rng.integers(0, 12, 600)] + rng.normal(0, 0.01, (600, 2))
    spots *= scale
    widths = grid_widths([spots[:, 0], spots[:, 1]], person, 5)
    assert widths == sorted(widths)
    assert widths

    def share(width: float) -> float:
        people = defaultdict(set)
        squares = [tuple(s) for s in np.floor(spots / width + 1e-9).tolist()]
        for who, square in zip(person.tolist(), squares, strict=True):
            people[square].add(who)
        return float(np.mean([len(people[s]) >= 5 for s in squares]))

    assert share(widths[0]) >= 0.5 > share(widths[0] / 2.5)
    assert grid_widths([np.ones(3)], np.arange(3), 2) == []


def test_a_release_by_flows_names_groups_of_k_people(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [
        (f"p{i}", f"2026-03-0{1 + d} {h:02d}:00:00", f"S{int(rng.zipf(1.7)) % 9}")
        for i in range(60)
        for d in range(2)
        for h in (8, 17)
    ]
    who, at, place = zip(*rows, strict=True)
    rules = {"unit": "who", "time": "at", "place": "place", "hierarchy": {"place": {"flows": True}}, "place_levels": ["level:1"]}
    policy = {"events": {**rules, "time_widths": ["none"], "renew": "never"}, "require": ["known[1]>=5"], "seed": 3**80}
    shoal.anonymize({"who": who, "at": at, "place": place}, policy).write(tmp_path / "out")
    assert shoal.verify(tmp_path / "out").ok
    with (tmp_path / "out/data.csv").open(newline="", encoding="utf-8") as file:
        shown = list(csv.DictReader(file))
    people = defaultdict(set)
    for r in shown:
        people[r["place"]].add(r["who"])
    assert any(" more" in p for p in people)
    assert min(map(len, people.values())) >= 5
    rules.pop("time")
    with pytest.raises(PolicyError, match="need a time"):
        shoal.anonymize({"who": who, "place": place}, {"events": rules, "require": ["known[1]>=5"]})

"""Writes the releases in this folder; run with the code of 0.3.0: ``python make.py FOLDER``. All people are generated."""

import random
import sys
from pathlib import Path

import shoal


def make(place: Path) -> None:
    chance = random.Random(3)
    people = {
        "sex": [chance.choice("FM") for _ in range(60)],
        "town": [chance.choice(["Abcoude", "Bergen", "Castricum"]) for _ in range(60)],
        "illness": [chance.choice(["flu", "asthma", "none"]) for _ in range(60)],
    }
    shoal.anonymize(people, quasi=["sex", "town"], sensitive=["illness"], k=4).write(place / "table")
    shoal.anonymize(people, quasi=["sex", "town"], rest="drop", k=4).write(place / "no-sensitive")
    visits = {"who": [i // 2 for i in range(120)], "ward": ["a", "b", "b"] * 40}
    tables = {
        "person": {"table": {"id": list(range(60)), "sex": ["f", "m"] * 30}, "roles": {"quasi": ["sex"]}},
        "visits": {"table": visits, "roles": {"quasi": ["ward"]}},
    }
    shoal.anonymize_tables({"tables": tables, "links": {"visits.who": "person.id"}, "require": {"k": 5}}).write(place / "linked")
    trips = {
        "card": [f"c{i // 4}" for i in range(160)],
        "at": [f"2024-01-{1 + i % 4:02d} 0{chance.choice('89')}:00:00" for i in range(160)],
        "station": [chance.choice("AB") for _ in range(160)],
    }
    policy = {
        "events": {"unit": "card", "time": "at", "place": "station"},
        "require": {"known": {"records": 1, "k": 5}},
        "allow": {"suppress": 0.05},
    }
    shoal.anonymize(trips, policy).write(place / "events")


if __name__ == "__main__":
    make(Path(sys.argv[1]))

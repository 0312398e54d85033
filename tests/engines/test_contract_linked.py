"""Tables in any engine are released together: the same people stay, and the same rows are published, as from files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import shoal
from engines.targets import Target

PEOPLE = [{"id": i, "name": f"N{i}", "age": 20 + i % 3, "sex": "fm"[i % 2]} for i in range(90)]
VISITS = [{"pid": f"{i % 90}", "ward": "AB"[i % 2], "dx": ["flu", "cold", "burn"][i % 3]} for i in range(200)]
VISITS += [{"pid": "500", "ward": "A", "dx": "flu"}, {"pid": None, "ward": "A", "dx": "flu"}]
VISITS += [{"pid": "7", "ward": "A", "dx": "flu"} for _ in range(4)]


def policy(people: Any, visits: Any) -> dict[str, Any]:
    return {
        "tables": {
            "person": {"table": people, "roles": {"direct": ["name"], "quasi": ["age", "sex"]}},
            "visits": {"table": visits, "roles": {"quasi": ["ward"], "sensitive": ["dx"]}},
        },
        "links": {"visits.pid": "person.id"},
        "require": {"k": 4},
        "allow": {"suppress": 0.05, "orphans": "drop"},
    }


def published(place: Path) -> tuple[Counter[Any], list[int]]:
    """What each person's rows say, without the pseudonyms."""
    people = {r["id"]: (r["age"], r["sex"]) for r in pq.read_table(place / "person.parquet").to_pylist()}
    rows = pq.read_table(place / "visits.parquet").to_pylist()
    told = {p: (own, tuple(sorted((r["ward"], r["dx"]) for r in rows if r["pid"] == p))) for p, own in people.items()}
    return Counter(told.values()), [len(people), len(rows)]


@pytest.fixture(scope="module")
def from_frames(tmp_path_factory: pytest.TempPathFactory) -> tuple[Counter[Any], list[int]]:
    place = tmp_path_factory.mktemp("frames") / "out"
    frames = [{c: [r[c] for r in rows] for c in rows[0]} for rows in (PEOPLE, VISITS)]
    made = shoal.anonymize_tables(policy(*frames), format="parquet", exclude=[11, "x"])
    made.write(place)
    assert made.certificate is not None
    assert made.certificate.left_out == 1, "the person with many visits"
    assert made.certificate.tables[1].orphans == made.certificate.tables[1].unnamed == 1
    return published(place)


def test_the_same_release_from_every_engine(target: Target, from_frames: tuple[Counter[Any], list[int]], tmp_path: Path) -> None:
    people = target.load(PEOPLE, {"id": "integer", "name": "text", "age": "integer", "sex": "text"})
    visits = target.load(VISITS, {"pid": "text", "ward": "text", "dx": "text"})
    words = (people, visits)  # a policy holds no password: tables of a server are opened first
    sources = words if target.name in ("duckdb", "spark") else tuple(shoal.open(w) for w in words)
    made = shoal.anonymize_tables(policy(*sources), format="parquet", exclude=[11, "x"])
    made.write(tmp_path / "out")
    made.close()
    for table in sources:
        if isinstance(table, shoal.Table):
            table.close()
    assert shoal.verify(tmp_path / "out", exclude=["x", "11"]).ok
    assert published(tmp_path / "out") == from_frames

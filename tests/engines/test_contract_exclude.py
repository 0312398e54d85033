"""People who asked not to be in it are not there on any engine: counted, recoded and scanned as plain Python leaves them out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import shoal
from engines.comparing import read_parquet
from engines.targets import Target
from shoal.engines.exclusion import leave_out
from shoal.model.plan import Plan

ROWS: list[dict[str, Any]] = [
    {"who": None if i % 19 == 0 else i % 30, "name": None if i % 17 == 0 else f"P{i % 30} ä'", "age": i % 7} for i in range(200)
]
TYPES = {"who": "integer", "name": "text", "age": "integer"}
BY = {"who": ["003", "4", "77", "-1", "x"], "name": ["P3 ä'", " P4 ä' ", "p5 ä'", "P77 ä'"]}
GONE: dict[str, set[Any]] = {"who": {3, 4}, "name": {"P3 ä'", "P4 ä'"}}


@pytest.fixture(scope="session")
def people(target: Target) -> str:
    return target.load(ROWS, TYPES)


@pytest.mark.parametrize("by", ["who", "name"])
def test_left_out_as_the_definition_says(people: str, by: str, tmp_path: Path) -> None:
    stay = [r for r in ROWS if r[by] not in GONE[by]]
    with shoal.open(people, quasi=["age"]) as table:
        left = leave_out(table, BY[by], by)
        told, rest = left.told, left.table
        assert (told.listed, told.found, told.records) == (len(BY[by]), 2, len(ROWS) - len(stay))
        assert told.unnamed == sum(r[by] is None for r in ROWS)
        assert rest.n_rows() == len(stay)
        counts = rest.count()
        assert dict(zip(counts.categories[0].to_pylist(), counts.sizes.tolist(), strict=True)) == Counter(r["age"] for r in stay)
        assert rest.count(unit="who").n_people == len({r["who"] for r in stay})
        rest.recode(Plan(()), tmp_path / "out.parquet")
        assert Counter(tuple(r.items()) for r in read_parquet(tmp_path / "out.parquet")) == Counter(
            tuple(r.items()) for r in stay
        )
        assert sum(b.num_rows for b in rest.scan(["age"])) == len(stay)
        assert table.n_rows() == len(ROWS)  # the table itself is as it was

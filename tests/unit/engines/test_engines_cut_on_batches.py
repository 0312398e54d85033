"""A cut into many intervals: by codes, in SQL and on batches the same file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal.engines.recode import batch_steps as later
from shoal.engines.recode import by_codes
from shoal.model.plan import Plan
from shoal.steps import Cut

SEED = 2**70 + 1


def written(rows: Any, cut: Cut, path: Path) -> tuple[bytes, dict[str, float]]:
    with shoal.open(rows) as table:
        done = table.recode(Plan((cut,), seed=SEED), path)
    return path.read_bytes(), dict(done.changed)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_three_ways_of_a_cut_write_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    amounts = [None if i % 17 == 0 else float(i * 37 % 1000) / 2 for i in range(3000)]
    rows = pa.table({"id": range(3000), "pay": amounts, "town": ["a", "b", None] * 1000})
    points = tuple(float(i) for i in range(1, 300))
    cut = Cut("pay", points=points, labels=tuple(f"[{i}, {i + 1})" for i in range(300)), missing_label="none")
    found = [written(rows, cut, tmp_path / f"codes.{ending}")] if ending == "csv" else []
    monkeypatch.setattr(by_codes, "MOST_BYTES", 0)
    found.append(written(rows, cut, tmp_path / f"batches.{ending}"))
    monkeypatch.setattr(later, "MANY_INTERVALS", len(cut.labels))
    found.append(written(rows, cut, tmp_path / f"sql.{ending}"))
    assert all(other == found[-1] for other in found)
    assert found[0][1]["pay"] == 1


def test_from_so_many_intervals_on_a_cut_is_made_on_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(later, "MANY_INTERVALS", 3)
    table = shoal.open({"pay": [1.0]})
    for labels, kind in ((("a", "b", "c"), Cut), (("a", "b", "c", "d"), later.Later)):
        plan = Plan((Cut("pay", points=tuple(range(1, len(labels))), labels=labels),))
        assert [type(s) for s in later.cut_on_batches(plan, table.schema).steps] == [kind]

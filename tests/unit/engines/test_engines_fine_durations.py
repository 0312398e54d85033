"""Durations of nanoseconds that no step touches stay what they are, whatever the rows pass through; what is cut is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import shoal
import shoal.techniques as tf
from shoal.model.plan import Plan, Suppression
from shoal.steps import Round

TOOK = [10**12 + i for i in range(40)]
TABLE = pa.table({"took": pa.array([None, *TOOK[1:]], pa.duration("ns")), "pay": range(40), "town": ["a", "b"] * 19 + ["c", "c"]})
CUT = "use durations in microseconds: the nanoseconds of took are removed"


def source(kind: str, folder: Path) -> Any:
    if kind == "frame":
        return TABLE
    path = folder / f"in.{kind}"
    pq.write_table(TABLE, path) if kind == "parquet" else feather.write_feather(TABLE, path, compression="uncompressed")
    return path


@pytest.mark.parametrize("kind", ["frame", "arrow", "parquet"])
@pytest.mark.parametrize(
    "plan",
    [
        Plan((Round("pay", 10),)),
        Plan((tf.Noise("pay", 3.0),), seed=10**16),
        Plan((tf.Permute("pay"),), Suppression(3, ("town",)), seed=10**16),
        Plan((tf.Noise("pay", 3.0),), Suppression(3, ("town",), "cells"), seed=10**16),
        Plan((), Suppression(3, ("town",))),
    ],
    ids=["SQL", "batches", "batches and rows left out", "batches and hidden cells", "rows left out"],
)
def test_durations_that_nothing_touches(tmp_path: Path, kind: str, plan: Plan) -> None:
    done = shoal.transform(source(kind, tmp_path), plan, tmp_path / "out.parquet").done
    assert done is not None
    found = pq.read_table(tmp_path / "out.parquet")["took"]
    assert found.type == pa.duration("ns")
    kept = TOOK[1:38] if done.records_out == 38 else TOOK[1:]
    assert sorted(found.drop_null().cast(pa.int64()).to_pylist()) == kept
    assert not [t for t in done.not_kept if "took" in t]


def test_durations_that_are_exchanged_are_told(tmp_path: Path) -> None:
    done = shoal.transform(TABLE, Plan((tf.Permute("took"),), seed=10**16), tmp_path / "out.parquet").done
    assert done is not None
    assert [t for t in done.not_kept if CUT in t]
    assert pq.read_schema(tmp_path / "out.parquet").field("took").type == pa.string()

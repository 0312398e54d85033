"""Widths of Stata: byte, int, long and float are kept where the target has them; what Stata's writer cannot hold is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import shoal
from shoal.model.plan import Plan
from shoal.steps import Round

FRAME = pd.DataFrame(
    {
        "n8": np.array([1, -127, 100], "int8"),
        "n16": np.array([1, 32740, -5], "int16"),
        "n32": np.array([1, 2_147_483_620, -5], "int32"),
        "x32": np.array([0.1, 2.5, -3.25], "float32"),
        "x64": [0.1, 2.5, 1e300],
        "text": ["a", "ä", "c"],
    }
)
WIDTHS = {"n8": pa.int8(), "n16": pa.int16(), "n32": pa.int32(), "x32": pa.float32(), "x64": pa.float64()}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    FRAME.to_stata(tmp_path / "in.dta", write_index=False, version=118)
    return tmp_path / "in.dta"


@pytest.mark.parametrize("plan", [Plan(shuffle=False), Plan((Round("n8", 2.0), shoal.techniques.Permute("text")), shuffle=False)])
def test_widths_live_in_parquet(source: Path, tmp_path: Path, plan: Plan) -> None:
    with shoal.open(source) as table:
        table.recode(plan, tmp_path / "o.parquet")
    back = pq.read_table(tmp_path / "o.parquet")
    assert {n: back.schema.field(n).type for n in WIDTHS} == WIDTHS
    for name in ("n16", "n32", "x32", "x64"):
        assert back[name].to_numpy().tolist() == FRAME[name].tolist()


def test_whole_numbers_stay_whole_in_stata_and_the_width_is_told(source: Path, tmp_path: Path) -> None:
    with shoal.open(source) as table:
        before = table.not_kept(Plan(shuffle=False), tmp_path / "o.dta")
        done = table.recode(Plan(shuffle=False), tmp_path / "o.dta")
    assert before == done.not_kept == ("Stata gets n8, n16, x32 as long or double, not in the width of the source.",)
    back, meta = pyreadstat.read_dta(str(tmp_path / "o.dta"))
    kinds = meta.readstat_variable_types
    assert [kinds[n] for n in ("n8", "n16", "n32", "x32", "x64")] == ["int32"] * 3 + ["double"] * 2
    for name in ("n8", "n16", "n32", "x32", "x64", "text"):
        assert back[name].tolist() == FRAME[name].tolist()


@pytest.mark.parametrize(
    ("value", "kind"),
    [(2_147_483_620, "int32"), (2_147_483_621, "double"), (-2_147_483_647, "int32"), (-2_147_483_648, "double")],
)
def test_numbers_beyond_long_are_doubles(tmp_path: Path, value: int, kind: str) -> None:
    for other in (7, None):
        with shoal.open(pa.table({"n": pa.array([value, other], pa.int64())})) as table:
            table.recode(Plan(shuffle=False), tmp_path / "o.dta")
        back, meta = pyreadstat.read_dta(str(tmp_path / "o.dta"))
        assert meta.readstat_variable_types["n"] == kind
        assert back["n"].iloc[0] == value
        assert back["n"].isna().tolist() == [False, other is None]


def test_a_column_without_any_value(tmp_path: Path) -> None:
    with shoal.open(pa.table({"n": pa.array([None, None], pa.int16()), "x": ["a", "b"]})) as table:
        table.recode(Plan(shuffle=False), tmp_path / "o.dta")
    assert pyreadstat.read_dta(str(tmp_path / "o.dta"))[0]["n"].isna().all()

"""Steps on one column are applied in the order of the plan: limits after noise hold of what is published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import shoal
import shoal.techniques as tf
from shoal.errors import HierarchyGapError, UsageError
from shoal.kernels.order import row_hashes
from shoal.model.plan import Plan, Step
from shoal.steps import Clamp, Constant, Cut, MapValues, Prefix, Round

SEED = 10**17
N = 400
DRAWN = np.random.default_rng(6)
TABLE = pa.table(
    {
        "id": range(N),
        "pay": pa.array(np.round(DRAWN.gamma(2, 300, N)).astype(np.int64), pa.int32()),
        "town": DRAWN.choice(["Ede", "Oss", "Urk"], N),
    }
)
ORDERED = TABLE.take(pa.array(np.argsort(row_hashes(TABLE.columns, N, 0), kind="stable")))
TOWNS = ("Ede", "Oss", "Urk")
KEPT = ((0.6, 0.2, 0.2), (0.2, 0.6, 0.2), (0.2, 0.2, 0.6))
PAIRS: dict[str, tuple[Step, Step]] = {
    "noise, limits": (tf.Noise("pay", 200.0), Clamp("pay", 0, 900)),
    "noise, multiples": (tf.Noise("pay", 200.0), Round("pay", 50)),
    "noise, groups": (tf.Noise("pay", 200.0), Cut("pay", (0.0, 500.0), ("none", "some", "much"))),
    "means, multiples": (tf.Microaggregate("pay", k=4), Round("pay", 50)),
    "swapped, limits": (tf.RankSwap("pay", 20), Clamp("pay", 100, 900)),
    "mixed, mapped": (tf.Permute("town"), MapValues("town", TOWNS, (0, 0, 1), ("land", "sea"))),
    "changed, cut off": (tf.Pram("town", TOWNS, KEPT), Prefix("town", 1)),
    "changed, one": (tf.Pram("town", TOWNS, KEPT), Constant("town", "here")),
}


def written(steps: tuple[Step, ...], tmp_path: Path, **words: Any) -> Any:
    shoal.open(TABLE).recode(Plan(steps, seed=SEED, **words), tmp_path / "o.parquet")
    return pq.read_table(tmp_path / "o.parquet").sort_by("id")


@pytest.mark.parametrize("pair", PAIRS)
def test_one_step_after_the_other_is_what_apply_does(pair: str, tmp_path: Path) -> None:
    first, second = PAIRS[pair]
    expected = tf.apply(second, tf.apply(first, ORDERED, seed=SEED).table).table.sort_by("id")
    assert written((first, second), tmp_path).to_pylist() == expected.to_pylist()


def test_an_expression_step_that_stands_first_is_first(tmp_path: Path) -> None:
    published = written((Clamp("pay", 0, 900), tf.Noise("pay", 200.0)), tmp_path)["pay"].to_numpy()
    assert published.min() < 0
    assert published.max() > 900


def test_numbers_get_the_type_of_the_source_again(tmp_path: Path) -> None:
    assert written(PAIRS["noise, limits"], tmp_path).schema.field("pay").type == pa.int32()


def test_classes_are_formed_of_what_is_published(tmp_path: Path) -> None:
    first, second = PAIRS["noise, groups"]
    plan = {"suppress": {"k": 60, "columns": ["pay"]}, "steps": []}
    rule = shoal.transform(TABLE, plan).plan.suppression
    counts = written((first, second), tmp_path, suppression=rule)["pay"].value_counts().to_pylist()
    assert all(c["counts"] >= 60 for c in counts)


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HierarchyGapError, match="not its keys"):
        written((tf.Permute("town"), MapValues("town", ("Ede",), (0,), ("land",))), tmp_path)
    with pytest.raises(UsageError, match="kind integer or decimal or float"):
        written((tf.Permute("town"), Round("town", 2)), tmp_path)
    with pytest.raises(UsageError, match="two expression steps"):
        written((Round("pay", 5), Clamp("pay", 0, 9), tf.Noise("pay", 200.0)), tmp_path)
    assert not list(tmp_path.iterdir())


def test_codes_declared_missing_stay(tmp_path: Path) -> None:
    pay = [*np.arange(100.0, 160.0), *[99999.0] * 9]
    pyreadstat.write_sav(
        pd.DataFrame({"pay": pay}),
        str(tmp_path / "t.sav"),
        missing_ranges={"pay": [99999]},
        variable_value_labels={"pay": {99999: "refused"}},
    )
    steps = [{"column": "pay", "noise": {"scale": 40}}, {"column": "pay", "clamp": {"low": 110, "high": 140}}]
    shoal.transform(tmp_path / "t.sav", {"steps": steps}, tmp_path / "o.sav")
    frame, meta = pyreadstat.read_sav(str(tmp_path / "o.sav"), user_missing=True)
    assert (frame["pay"] == 99999).sum() == 9
    assert frame["pay"][frame["pay"] < 99999].between(110, 140).all()
    assert meta.missing_ranges["pay"] == [{"lo": 99999.0, "hi": 99999.0}]
    assert meta.variable_value_labels["pay"] == {99999: "refused"}
    wrong = [steps[0], {"column": "pay", "clamp": {"low": 110, "high": 99999}}]
    with pytest.raises(UsageError, match="declares missing"):
        shoal.transform(tmp_path / "t.sav", {"steps": wrong}, tmp_path / "no.sav")

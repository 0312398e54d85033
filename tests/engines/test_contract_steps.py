"""Steps on batches and whole columns give the same rows in the same order on every engine: those of their definition."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
import shoal.techniques as tf
from engines.targets import Target
from shoal.kernels.order import row_hashes, row_numbers, shuffled_order
from shoal.kernels.text import canonical_text
from shoal.model.plan import Plan, Step, Suppression
from shoal.steps import Clamp, Constant, Cut, Drop, Prefix, Round

STRONG = 10**15  # the shortest seed that is taken

TYPES = {"town": "text", "age": "integer", "pay": "float", "born": "date", "person": "text"}
ARROW = pa.schema(
    [("town", pa.string()), ("age", pa.int64()), ("pay", pa.float64()), ("born", pa.date32()), ("person", pa.string())]
)
TOWNS = [None, "Ahaus", "ahaus", "Äa", "", "Bonn", "z", "Ahaus "]


def people() -> list[dict[str, Any]]:
    """Rows in no order, with missing values in the first columns and with twins that differ in one column or in none."""
    rng = np.random.default_rng(8)
    rows = []
    for i in range(150):
        row = {
            "town": TOWNS[int(rng.integers(len(TOWNS)))],
            "age": None if rng.random() < 0.1 else int(rng.integers(3)) * 20,
            "pay": None if rng.random() < 0.1 else float(rng.integers(-4, 40)) / 4,
            "born": dt.date(1950, 1, 1) + dt.timedelta(days=int(rng.integers(20_000))),
            "person": None if i % 19 == 0 else f"AB-{int(rng.integers(40)):06d}",
        }
        rows += [row] * (2 if i % 5 == 0 else 1)
    return [rows[int(i)] for i in rng.permutation(len(rows))]


ROWS = people()


def in_order(table: pa.Table | None = None, seed: int = 0) -> pa.Table:
    """The rows in the order of a hash of their content, as whole-column steps take them; with the seed: the published order."""
    table = pa.Table.from_pylist(ROWS, ARROW) if table is None else table
    hashes = row_hashes(table.columns, table.num_rows, seed)
    return table.take(pa.array(shuffled_order(hashes) if seed else np.argsort(hashes, kind="stable")))


STEPS: dict[str, tuple[Step, ...]] = {
    "sample": (tf.Sample(share=0.4),),
    "sample of people": (tf.Sample(share=0.4, unit="person"),),
    "sample, then noise": (tf.Noise("pay", 3.0), tf.Sample(share=0.5)),
    "noise": (tf.Noise("pay", 3.0, "laplace"),),
    "noise after a drop and rounding": (Drop("town"), Round("age", 50), tf.Noise("pay", 3.0)),
    "correlated noise": (tf.CorrelatedNoise.fit(in_order(), ("pay", "age")),),
    "permutation": (tf.Permute("pay", within=("town",)),),
    "rank swapping": (tf.RankSwap("pay", 10),),
    "mdav": (tf.Microaggregate("pay", ("age",), k=3),),
    "pram": (tf.pram("age", ["0", "20", "40"], keep=0.6),),
    "date shift": (tf.DateShift("born", "person", key="env:TEST_KEY"),),
    "keyed hash": (tf.KeyedHash("person", "env:TEST_KEY"),),
    "codes": (tf.Fake("person", "env:TEST_KEY"),),
    "names": (tf.Fake("person", "env:TEST_KEY", provider="name"),),
}


@pytest.fixture(scope="session")
def loaded_steps(target: Target) -> str:
    return target.load(ROWS, TYPES)


def texts(table: pa.Table) -> list[tuple[str | None, ...]]:
    rows = zip(*(canonical_text(table[c]).to_pylist() for c in table.column_names), strict=True)
    return list(rows)


def by_definition(steps: tuple[Step, ...]) -> pa.Table:
    out = in_order()
    numbers = row_numbers(out.columns, out.num_rows)
    for step in sorted(steps, key=lambda s: s.kind != "sample"):  # rows are chosen first
        stays = tf.apply(step, out, seed=STRONG + 5, rows=numbers).table
        if step.kind == "sample":
            marked = out.append_column("place", pa.array(range(out.num_rows)))
            numbers = numbers[tf.apply(step, marked, seed=STRONG + 5, rows=numbers).table["place"].to_numpy()]
        out = stays
    return out


@pytest.mark.parametrize("name", list(STEPS))
def test_a_step_gives_what_its_definition_gives(
    loaded_steps: str, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", "a long secret with many letters 0123456789")
    steps = STEPS[name]
    out = tmp_path / "out.parquet"
    with shoal.open(loaded_steps) as table:
        done = table.recode(Plan(steps, seed=STRONG + 5), out)
    expected = in_order(by_definition(steps), STRONG + 5)
    assert texts(pq.read_table(out)) == texts(expected)
    assert (done.records_in, done.records_out, done.suppressed) == (len(ROWS), expected.num_rows, 0)
    assert done.unsampled == len(ROWS) - expected.num_rows


def test_k_is_counted_on_the_sample(loaded_steps: str, tmp_path: Path) -> None:
    plan = Plan((tf.Sample(share=0.5),), Suppression(4, ("town", "age")), seed=STRONG + 5)
    with shoal.open(loaded_steps) as table:
        done = table.recode(Plan.from_json(plan.to_json()), tmp_path / "out.parquet")
    sampled = by_definition(plan.steps)
    pairs = list(zip(sampled["town"].to_pylist(), sampled["age"].to_pylist(), strict=True))
    stays = sum(pairs.count(p) >= 4 for p in pairs)
    assert 0 < stays < len(pairs) < len(ROWS)
    assert (done.records_out, done.suppressed, done.unsampled) == (stays, len(pairs) - stays, len(ROWS) - len(pairs))


BYTES: dict[str, tuple[Step, ...]] = {
    "expressions": (
        Round("age", 15),
        Clamp("pay", low=0.25, high=8.0),
        Prefix("town", 2),
        Cut("born", ("1970-01-01",), ("old", "new")),
    ),
    "labels": (
        tf.suppress_rare("town", ["Ahaus", "Bonn", "z"], [9, 9, 1], min_count=5),
        tf.microaggregate_1d("pay", [str(v / 4) for v in range(-4, 40)], k=4),
        tf.quantile_transform("age", ["0", "20", "40"], [50, 50, 50], k=50),
        Constant("born"),
    ),
    "chance": (tf.Noise("pay", 3.0), tf.Permute("town"), tf.pram("age", ["0", "20", "40"], keep=0.6), tf.Sample(share=0.6)),
    "keys": (
        tf.RankSwap("pay", 10),
        tf.DateShift("born", "person", key="env:TEST_KEY"),
        tf.KeyedHash("person", "env:TEST_KEY"),
        tf.Microaggregate("age", k=3),
    ),
}


@pytest.mark.parametrize("name", list(BYTES))
def test_the_file_has_the_same_bytes_as_one_from_memory(
    loaded_steps: str, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", "a long secret with many letters 0123456789")
    plan = Plan(BYTES[name], seed=STRONG + 5)
    with shoal.open(loaded_steps) as table, shoal.open(pa.Table.from_pylist(ROWS, ARROW)) as frame:
        for out in ("out.csv", "out.jsonl"):
            table.recode(plan, tmp_path / out)
            frame.recode(plan, tmp_path / f"own-{out}")
            assert (tmp_path / out).read_bytes() == (tmp_path / f"own-{out}").read_bytes()
            plan = Plan(plan.steps, Suppression(3, ("age",)), plan.seed)

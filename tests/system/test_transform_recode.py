"""Every step through RECODE of the embedded engine gives what its plain definition gives in memory."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
import shoal.techniques as tf
from shoal.hierarchies import Ages, Dates, FrequencyMerge, FromTree, Intervals, Mask, Postcode, PrefixCode, Quantiles, infer
from shoal.kernels.order import row_hashes
from shoal.kernels.text import canonical_text
from shoal.model.plan import Plan, Suppression
from shoal.steps import Clamp, Round

STRONG = 10**15  # the shortest seed that is taken


def people(n: int = 400) -> pa.Table:
    rng = np.random.default_rng(3)
    born = dt.date(1930, 1, 1)
    return pa.table(
        {
            "row": np.arange(n),
            "age": pa.array(rng.integers(0, 105, n), mask=rng.random(n) < 0.05),
            "pay": pa.array(rng.lognormal(10, 1, n).round(2), mask=rng.random(n) < 0.05),
            "born": pa.array([born + dt.timedelta(days=int(d)) for d in rng.integers(0, 34_000, n)]),
            "seen": pa.array(
                [dt.datetime(2020, 1, 1) + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 10**6, n)], pa.timestamp("us")
            ),
            "zip": pa.array(rng.choice(["10001", "03601", "94110", "10002"], n), mask=rng.random(n) < 0.05),
            "job": pa.array(rng.choice(["nurse", "baker", "pope"], n, p=[0.6, 0.39, 0.01])),
            "person": pa.array([f"P-{i:04d}" for i in rng.integers(0, 90, n)]),
            "when": pa.array([(born + dt.timedelta(days=int(d))).isoformat() for d in rng.integers(0, 34_000, n)]),
        }
    )


TABLE = people()


def column(name):
    values = TABLE[name].combine_chunks().drop_null().value_counts()
    return values.field("values"), values.field("counts").to_numpy()


def levels(name, rule):
    values, counts = column(name)
    fitted = rule.fit(name, values, counts)
    return [pytest.param(fitted.step(name, i), id=f"{name} {fitted.kind} {i}") for i in range(1, fitted.height + 1)]


STEPS = [
    *levels("age", Intervals((5, 10, 20), top=90)),
    *levels("pay", Quantiles((8, 4))),
    *levels("pay", infer("pay", *column("pay"))),
    *levels("born", Dates(("month", "quarter", "year", "decade"))),
    *levels("born", Ages("2024-02-29", (5, 10))),
    *levels("seen", Dates(("hour", "day", "week"))),
    *levels("when", Dates(("quarter", "year"))),
    *levels("zip", Postcode("US")),
    *levels("zip", Mask((3,))),
    *levels("person", PrefixCode((4,))),
    *levels("job", FrequencyMerge((20,))),
    *levels("job", FromTree.of({"care": ["nurse"], "food": ["baker"]}, on_gap="suppress")),
    pytest.param(Round("pay", 100), id="round"),
    pytest.param(Clamp("age", 10, 90), id="clamp"),
    pytest.param(tf.microaggregate_1d("age", *column("age"), k=20), id="centres"),
    pytest.param(tf.microaggregate_1d("pay", *column("pay"), k=20, publish="interval"), id="intervals"),
    pytest.param(tf.quantile_groups(np.array(column("pay")[0]), 1).step("pay"), id="represent"),
    pytest.param(tf.Microaggregate("pay", ("age",), k=4), id="mdav"),
    pytest.param(tf.Noise("pay", 100.0, "laplace"), id="noise"),
    pytest.param(tf.Noise("age", 2.0, decimals=0), id="noise on whole numbers"),
    pytest.param(tf.CorrelatedNoise.fit(TABLE, ("pay", "age")), id="correlated"),
    pytest.param(tf.Permute("pay", within=("job",)), id="permute"),
    pytest.param(tf.RankSwap("pay", 5), id="rank swap"),
    pytest.param(tf.pram("job", *column("job"), min_count=20), id="pram"),
    pytest.param(tf.DateShift("born", "person", key="env:TEST_KEY"), id="date shift"),
    pytest.param(tf.DateShift("seen", "person", key="env:TEST_KEY"), id="time shift"),
    pytest.param(tf.KeyedHash("person", "env:TEST_KEY"), id="hash"),
    pytest.param(tf.Fake("person", "env:TEST_KEY"), id="code"),
    pytest.param(tf.Fake("job", "env:TEST_KEY", provider="name"), id="fake name"),
    pytest.param(tf.suppress_rare("job", *column("job"), min_count=20), id="suppress rare"),
]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    file = tmp_path_factory.mktemp("transform") / "people.parquet"
    pq.write_table(TABLE, file)
    return shoal.open(file)


@pytest.mark.parametrize("step", STEPS)
def test_recode_equals_the_plain_definition(step, source, tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "a long secret with many letters 0123456789")
    drawn = TABLE.take(pa.array(np.argsort(row_hashes(TABLE.columns, TABLE.num_rows, 0), kind="stable")))
    wanted = tf.apply(step, drawn, seed=STRONG + 11)
    expected = wanted.table.sort_by("row")
    done = source.recode(Plan((step,), seed=STRONG + 11), tmp_path / "out.parquet")
    out = pq.read_table(tmp_path / "out.parquet").sort_by("row")
    for name in step.columns:
        mine, theirs = canonical_text(out[name]).to_pylist(), canonical_text(expected[name]).to_pylist()
        assert mine == theirs
        assert done.changed[name] == pytest.approx(wanted.changed[name])
    assert done.records_out == TABLE.num_rows


def test_suppression_comes_after_the_steps_and_counts_what_is_published(source, tmp_path):
    values, counts = column("age")
    rule = Intervals((10,), top=90).fit("age", values, counts)
    plan = Plan((rule.step("age", 1), Postcode("US").step("zip", 1)), Suppression(5, ("age", "zip")))
    done = source.recode(plan, tmp_path / "out.parquet")
    out = pq.read_table(tmp_path / "out.parquet")
    pairs = list(zip(out["age"].to_pylist(), out["zip"].to_pylist(), strict=True))
    assert min(pairs.count(p) for p in set(pairs)) >= 5
    assert done.suppressed == TABLE.num_rows - out.num_rows > 0

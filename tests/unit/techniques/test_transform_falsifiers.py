"""A falsifier for every clause that a guarantee prints: the clauses are taken from the code, so a new one without a test fails.

Each falsifier works on a table that would refute the clause: missing values, ties, coarse steps, skewed counts.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
import shoal.techniques as tf
from shoal.errors import PolicyError
from shoal.hierarchies import Intervals
from shoal.model.plan import Plan, Suppression
from shoal.steps import Clamp, Constant, Cut, Drop, Keep, MapValues, Prefix, Round
from shoal.techniques.guarantees import AFTER_EARLIER, BEFORE_LATER, BEFORE_SUPPRESSION, VARIANTS, guarantees

KEY = "a long secret with many letters 0123456789"
SEED = 10**15 + 11
N = 400
RNG = np.random.default_rng(5)
AGES = [None if i % 17 == 3 else int(v) for i, v in enumerate(RNG.integers(0, 90, N))]
PAY = [None if i % 13 == 5 else round(float(v), 2) for i, v in enumerate(RNG.lognormal(7, 1, N))]
TOWNS = [None if i % 19 == 7 else str(v) for i, v in enumerate(RNG.choice(["Aa", "Bb", "Cc"], N, p=[0.8, 0.15, 0.05]))]
PEOPLE = [f"AB-{i % 90:06d}" for i in range(N)]
DATES = [dt.date(2001, 1, 1) + dt.timedelta(days=int(d)) for d in RNG.integers(0, 900, N)]
TABLE = pa.table({"age": AGES, "pay": PAY, "town": TOWNS, "person": PEOPLE, "day": DATES})
BOUNDS = [(-np.inf, 30), (30, 60), (60, np.inf)]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FALSIFIER_KEY", KEY)


def after(step: Any, column: str, table: Any = TABLE) -> list[Any]:
    return list(tf.apply(step, table, seed=SEED).table[column].to_pylist())


def pairs(step: Any, column: str) -> list[tuple[Any, Any]]:
    """Original and published values, where there is one."""
    return [(b, a) for b, a in zip(TABLE[column].to_pylist(), after(step, column), strict=True) if b is not None]


# -- true steps ------------------------------------------------------------------------------------------------------


def everything(kind: str) -> None:
    assert tf.apply(Keep("pay"), TABLE).table.equals(TABLE)


def other_columns(kind: str) -> None:
    step = Drop("town") if kind == "drop" else Constant("town")
    out = tf.apply(step, TABLE).table
    assert all(out[c].equals(TABLE[c]) for c in TABLE.column_names if c != "town")
    assert "town" not in out.column_names or set(out["town"].to_pylist()) == {"*"}


def true_though_less_precise(kind: str) -> None:
    if kind == "prefix":
        assert all(a.startswith(b[:1]) and set(a[1:]) <= {"*"} for b, a in pairs(Prefix("town", 1), "town"))
    elif kind == "map":
        step = MapValues("town", ("Aa", "Bb", "Cc"), (0, 0, 1), ("Aa or Bb", "Cc"))
        assert all(b in a.split(" or ") for b, a in pairs(step, "town"))
    elif kind == "cut":
        step = Cut("age", (30.0, 60.0), ("0", "1", "2"))
        assert all(BOUNDS[int(a)][0] <= b < BOUNDS[int(a)][1] for b, a in pairs(step, "age"))
    else:
        for b, a in pairs(Intervals((10,)).fit("age", ["0", "89"], [1, 1]).step("age", 1), "age"):
            low, high = map(int, re.split("[-–]", a))
            assert low <= b <= high


def differences_vanish(kind: str) -> None:
    """Values that are published alike cannot be told apart, and some are."""
    step: Any = {
        "map": MapValues("age", tuple(map(str, range(90))), tuple(i // 30 for i in range(90)), ("a", "b", "c")),
        "cut": Cut("age", (30.0, 60.0), ("a", "b", "c")),
        "prefix": Prefix("person", 5),
        "generalize": Intervals((10,)).fit("age", ["0", "89"], [1, 1]).step("age", 1),
        "round": Round("age", 10),
        "clamp": Clamp("age", low=20, high=60),
    }[kind]
    found = pairs(step, step.column)
    assert len({a for _, a in found}) < len({b for b, _ in found})
    assert len(set(found)) == len({b for b, _ in found})  # a function of the value


def rare_values_alone_are_hidden(kind: str) -> None:
    ages = Counter(TABLE["age"].to_pylist())
    least = sorted(ages.values())[len(ages) // 2]
    assert {ages[b] >= least for b in ages} == {True, False}
    assert all(a == (str(b) if ages[b] >= least else "*") for b, a in pairs(tf.Rare("age", least), "age"))


def nearest_multiple(kind: str) -> None:
    assert all(a % 10 == 0 and abs(a - b) <= 5 for b, a in pairs(Round("age", 10), "age"))


def between_limits(kind: str) -> None:
    assert all(a == b for b, a in pairs(Clamp("age", low=20, high=60), "age") if 20 <= b <= 60)


def limit_reached(kind: str) -> None:
    assert all((a == 20) == (b <= 20) and (a == 60) == (b >= 60) for b, a in pairs(Clamp("age", low=20, high=60), "age"))


def published_records_are_true(kind: str) -> None:
    rows = set(map(str, TABLE.to_pylist()))
    out = tf.apply(tf.Sample(share=0.4), TABLE, seed=SEED).table
    assert all(str(r) in rows for r in out.to_pylist())
    assert 0 < out.num_rows < N  # and records outside the sample are lost


def shares_in_expectation(kind: str) -> None:
    true = Counter(TOWNS)["Bb"] / N
    found = [Counter(tf.apply(tf.Sample(share=0.5), TABLE, seed=SEED + i).table["town"].to_pylist()) for i in range(60)]
    shares = [c["Bb"] / c.total() for c in found]
    assert abs(np.mean(shares) - true) < 4 * np.std(shares) / 60**0.5 + 1e-9


# -- groups ----------------------------------------------------------------------------------------------------------


def grouped(kind: str) -> list[tuple[float, float]]:
    values, counts = np.unique([p for p in PAY if p is not None], return_counts=True)
    groups = tf.optimal_groups(values, 5, weights=counts)
    if kind == "represent":
        return pairs(tf.Represent("pay", tuple(groups.points()), tuple(groups.centres().round(2))), "pay")
    return pairs(groups.step("pay", decimals=2), "pay")


def group_means(kind: str) -> None:
    members: dict[float, list[float]] = {}
    for b, a in grouped(kind):
        members.setdefault(a, []).append(b)
    for centre, values in members.items():
        assert len(values) >= 5
        assert abs(np.mean(values) - centre) <= 0.005 + 1e-9 * abs(centre)


def order_of_groups(kind: str) -> None:
    found = sorted(grouped(kind))
    assert [a for _, a in found] == sorted(a for _, a in found)


def micro(publish: str) -> Any:
    return tf.apply(tf.Microaggregate("age", ("pay",), k=4, publish=publish), TABLE).table


def means_of_cells_that_stay(kind: str) -> None:
    out = micro("mean")
    for c in ("age", "pay"):
        both = [(b, a) for b, a in zip(TABLE[c].to_pylist(), out[c].to_pylist(), strict=True) if a is not None]
        assert 0.8 * N < len(both) < N
        assert np.isclose(np.mean([b for b, _ in both]), np.mean([a for _, a in both]), rtol=1e-12)


def k_share_each_combination(kind: str) -> None:
    for publish in ("mean", "median"):
        out = micro(publish)
        assert min(Counter(zip(out["age"].to_pylist(), out["pay"].to_pylist(), strict=True)).values()) >= 4


def variances_shrink(kind: str) -> None:
    out = micro("mean")
    both = [(b, a) for b, a in zip(PAY, out["pay"].to_pylist(), strict=True) if a is not None]
    assert np.var([a for _, a in both]) < np.var([b for b, _ in both])


# -- chance ----------------------------------------------------------------------------------------------------------

WHOLE = pa.table({"n": RNG.binomial(20, 0.5, 200_000), "m": RNG.binomial(30, 0.3, 200_000)})
"""Whole numbers of a small spread, where rounding matters most."""


def means_in_expectation(kind: str) -> None:
    x = WHOLE["n"].to_numpy()
    if kind == "correlated_noise":
        out = np.array(after(tf.CorrelatedNoise.fit(WHOLE, ("n", "m"), share=0.5), "n", WHOLE))
    elif kind == "multiplicative":
        out = np.array(after(tf.Noise("n", 0.3, mode="multiplicative"), "n", WHOLE))
    else:
        out = np.array(after(tf.Noise("n", 0.5), "n", WHOLE))
    assert abs((out - x).mean()) < 4.5 * (out - x).std() / len(x) ** 0.5


def variances_after_subtracting(kind: str) -> None:
    true = WHOLE["n"].to_numpy().var()
    for distribution, scale in (("gaussian", 0.5), ("laplace", 0.36), ("uniform", 0.87), ("uniform", 1.5), ("gaussian", 3.0)):
        step = tf.Noise("n", scale, distribution)  # type: ignore[arg-type]
        out = np.array(after(step, "n", WHOLE))
        assert abs(out.var() - step.variance - true) < 0.25
    fine = pa.table({"n": (RNG.normal(size=100_000) * 100).round(2)})
    step = tf.Noise("n", 50.0)
    assert abs(np.var(after(step, "n", fine)) - step.variance - fine["n"].to_numpy().var()) < 0.03 * 10_000


def correlations_in_expectation(kind: str) -> None:
    x = RNG.normal(size=40_000)
    table = pa.table({"n": (x * 900).round(1), "m": ((x + RNG.normal(size=40_000)) * 700).round(1)})
    out = tf.apply(tf.CorrelatedNoise.fit(table, ("n", "m"), share=0.5), table, seed=SEED).table
    true, found = (np.corrcoef(t["n"].to_numpy(), t["m"].to_numpy())[0, 1] for t in (table, out))
    assert abs(true - found) < 0.015


def variances_grow(kind: str) -> None:
    out = np.array(after(tf.CorrelatedNoise.fit(WHOLE, ("n", "m"), share=0.5), "n", WHOLE))
    assert abs(out.var() / WHOLE["n"].to_numpy().var() - 1.5) < 0.05


def distribution_exactly(kind: str) -> None:
    step: Any = tf.Permute("pay") if kind == "permute" else tf.RankSwap("pay", 10)
    assert Counter(after(step, "pay")) == Counter(PAY)


def relations_are_lost(kind: str) -> None:
    table = pa.table({"x": list(range(N)), "y": list(range(N)), "s": [i % 2 for i in range(N)]})
    out = tf.apply(tf.Permute("x", within=("s",)), table, seed=SEED).table
    assert all(x % 2 == s for x, s in zip(out["x"].to_pylist(), out["s"].to_pylist(), strict=True))
    assert abs(np.corrcoef(out["x"].to_numpy(), out["y"].to_numpy())[0, 1]) < 0.3


def ranks_in_the_window(kind: str) -> None:
    for count, percent, most in ((300, 10, 30), (60, 1, 5)):
        table = pa.table({"x": RNG.permutation(count)})
        out = np.array(after(tf.RankSwap("x", percent), "x", table))
        assert np.abs(out - table["x"].to_numpy()).max() <= most


def expected_counts(kind: str) -> None:
    true = Counter(t for t in TOWNS if t is not None)
    values, counts = zip(*sorted(true.items()), strict=True)
    for invariant in (True, False):
        step = tf.pram("town", list(values), list(counts), keep=0.6, invariant=invariant)
        runs = [Counter(tf.apply(step, TABLE, seed=SEED + i).table["town"].to_pylist()) for i in range(60)]
        found = np.array([[r[v] for v in values] for r in runs], dtype=float)
        if not invariant:
            found = np.array([tf.estimate_counts(f, step) for f in found])
        assert (np.abs(found.mean(axis=0) - counts) < 4.5 * found.std(axis=0) / 60**0.5 + 1e-9).all()


def own_values_are_lost(kind: str) -> None:
    numbers = tf.Microaggregate("pay", k=4, publish="median" if kind == "median" else "mean")
    step: Any = {
        "noise": tf.Noise("pay", 50.0),
        "correlated_noise": tf.CorrelatedNoise.fit(TABLE, ("pay", "age"), share=0.3),
        "rank_swap": tf.RankSwap("pay", 10),
        "pram": tf.pram("town", ["Aa", "Bb", "Cc"], [300, 60, 20], keep=0.4, invariant=False),
    }.get(kind, numbers)
    found = grouped(kind) if kind in ("centres", "represent") else pairs(step, step.column)
    assert np.mean([a != b for b, a in found]) > 0.4
    if kind == "pram":
        with pytest.raises(PolicyError):
            tf.pram("town", ["Aa", "Bb"], keep=1.0)


def zero_stays(kind: str) -> None:
    table = pa.table({"n": [0] * 50 + [1] * 50 + [1000] * 50})
    out = after(tf.Noise("n", 0.3, mode="multiplicative"), "n", table)
    assert set(out[:50]) == {0}
    assert 1 in out[50:100]
    assert len(set(out[100:])) > 25


# -- identities ------------------------------------------------------------------------------------------------------


def one_persons_dates(kind: str) -> None:
    out = after(tf.DateShift("day", "person", key="env:FALSIFIER_KEY"), "day")
    moved: dict[str, set[int]] = {}
    for person, b, a in zip(PEOPLE, DATES, out, strict=True):
        moved.setdefault(person, set()).add((a - b).days)
    assert all(len(days) == 1 for days in moved.values())
    assert 0 not in {d for days in moved.values() for d in days}
    assert len({min(d) for d in moved.values()}) > 30


def calendar_is_lost(kind: str) -> None:
    out = after(tf.DateShift("day", "person", key="env:FALSIFIER_KEY"), "day")
    assert all(a != b for b, a in zip(DATES, out, strict=True))
    assert np.mean([a.weekday() == b.weekday() for b, a in zip(DATES, out, strict=True)]) < 0.4
    assert np.mean([(a.month - 1) // 3 == (b.month - 1) // 3 for b, a in zip(DATES, out, strict=True)]) < 0.6


def belong_together(kind: str) -> None:
    if kind == "pseudonymize":
        return  # the vault's own tests: tests/unit/protector
    out = after(tf.KeyedHash("person", "env:FALSIFIER_KEY", length=16), "person")
    assert len(set(out)) == len(set(zip(out, PEOPLE, strict=True))) == len(set(PEOPLE))


def identifier_is_lost(kind: str) -> None:
    if kind == "pseudonymize":
        return
    step: Any = tf.KeyedHash("person", "env:FALSIFIER_KEY")
    if kind != "keyed_hash":
        step = tf.Fake("person", "env:FALSIFIER_KEY", provider="code" if kind == "fake" else "name")
    assert not set(after(step, "person")) & set(PEOPLE)


def format_is_kept(kind: str) -> None:
    assert all(re.fullmatch("[A-Z]{2}-[0-9]{6}", c) for c in after(tf.Fake("person", "env:FALSIFIER_KEY"), "person"))


def equal_fakes(kind: str) -> None:
    provider = "code" if kind == "fake" else "first_name"
    people = pa.table({"person": [f"AB-{i:06d}" for i in [*range(1500), *range(1500)]]})
    out = after(tf.Fake("person", "env:FALSIFIER_KEY", provider=provider), "person", people)
    assert out[:1500] == out[1500:]
    assert (len(set(out)) == 1500) == (kind == "fake")  # names do coincide


def nothing_to_refute(kind: str) -> None:
    """Said of what is not promised, or shown by another clause of the step."""


FALSIFIERS: dict[str, Callable[[str], None]] = {
    "everything": everything,
    "nothing": everything,
    "the other columns": other_columns,
    "the column": other_columns,
    "the column's values": other_columns,
    "every published value is true, though less precise": true_though_less_precise,
    "differences inside a group": differences_vanish,
    "differences inside an interval": differences_vanish,
    "the hidden characters": differences_vanish,
    "values to the nearest multiple of the base": nearest_multiple,
    "differences below the base": differences_vanish,
    "values between the limits": between_limits,
    "that a limit is reached": limit_reached,
    "how far a value lies beyond a limit": differences_vanish,
    "the mean of each group (with means, to their decimals)": group_means,
    "values of at least min_count records, as they are": rare_values_alone_are_hidden,
    "the other values": rare_values_alone_are_hidden,
    "the order of groups": order_of_groups,
    "each person's own value": own_values_are_lost,
    "means of the cells that stay": means_of_cells_that_stay,
    "at least k records share each combination": k_share_each_combination,
    "variances shrink": variances_shrink,
    "means in expectation": means_in_expectation,
    "variances after subtracting the stated one, to within a quarter of a squared step (rounding)": variances_after_subtracting,
    "correlations in expectation, but for rounding": correlations_in_expectation,
    "variances grow": variances_grow,
    "the column's distribution exactly": distribution_exactly,
    "relations to other columns outside the strata": relations_are_lost,
    "ranks within the window (at least 5), of numbers to 15 digits": ranks_in_the_window,
    "expected counts of the categories (invariant, or after correction by the matrix)": expected_counts,
    "each person's own value, but 0 stays 0 and small numbers may stay as they are": zero_stays,
    "order and distances of one person's dates in a column": one_persons_dates,
    "calendar dates, seasons, weekdays": calendar_is_lost,
    "every published record is true": published_records_are_true,
    "shares in expectation": shares_in_expectation,
    "the records outside the sample": published_records_are_true,
    "which records belong together": belong_together,
    "the vault can undo it": nothing_to_refute,
    "the identifier": identifier_is_lost,
    "the format": format_is_kept,
    "equal values get equal fakes, different ones different fakes": equal_fakes,
    "equal values get equal fakes, different ones may coincide": equal_fakes,
}
CLAUSES = sorted(
    {(kind, clause) for kind, g in {**tf.GUARANTEES, **VARIANTS}.items() for clause in f"{g.keeps}; {g.loses}".split("; ")}
)


@pytest.mark.parametrize(("kind", "clause"), CLAUSES)
def test_no_clause_is_refuted(kind: str, clause: str) -> None:
    assert clause in FALSIFIERS, "a guarantee without a falsifier"
    FALSIFIERS[clause](kind)


def test_no_falsifier_is_left_over() -> None:
    assert set(FALSIFIERS) == {clause for _, clause in CLAUSES}


def test_what_later_steps_and_suppression_take_away_is_said(tmp_path: Any) -> None:
    """Of a group of k, records may be left out afterwards: then fewer than k share a combination."""
    table = pa.table({"x": [1.0, 2, 3, 4], "town": ["Aa", "Aa", "Aa", "Bb"]})
    step = tf.Microaggregate("x", k=2)
    plan = Plan((step,), Suppression(2, ("town",)))
    found = shoal.transform(table, plan, tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text(encoding="utf-8").count("3.5") == 1
    assert found.guarantees[0].keeps.endswith(BEFORE_SUPPRESSION)
    for gentle in (Suppression(1, ("town",)), Suppression(2, ("town",), "cells"), Suppression(scope="none")):
        assert guarantees(Plan((step,), gentle))[0] == tf.guarantee(step)
    assert guarantees(Plan((Round("x", 2), Prefix("town", 1)), Suppression(2, ("town",))))[1] == tf.guarantee(Prefix("town", 1))
    twice = guarantees(Plan((step, tf.Noise("x", 5.0))))
    assert twice[0].keeps.endswith(BEFORE_LATER)
    assert twice[1].keeps == f"{tf.guarantee(tf.Noise('x', 5.0)).keeps}; {AFTER_EARLIER}"


def test_a_step_after_one_that_is_not_true_is_not_called_true(tmp_path: Any) -> None:
    """A band of a number with noise is no band that the person is in; nothing is left of it where the column is hidden."""
    noise, cut = {"noise": {"scale": 50}}, {"cut": {"points": [100.0], "labels": ["low", "high"]}}
    table = pa.table({"x": [90.0 + i for i in range(20)]})
    found = shoal.transform(table, {"steps": [{"column": "x", **noise}, {"column": "x", **cut}]}, tmp_path / "o.csv")
    bands = (tmp_path / "o.csv").read_text(encoding="utf-8").split()[1:]
    assert bands.count("low") != 10  # which ten are below is not kept
    assert found.guarantees[1].keeps.endswith(AFTER_EARLIER)
    assert [s["truthful"] for s in found.to_json()["steps"]] == [False, False]
    for last in (Drop("x"), Constant("x")):
        assert guarantees(Plan((tf.Noise("x", 5.0), last)))[1] == tf.guarantee(last)
    assert guarantees(Plan((Keep("x"), Round("x", 2))))[1] == tf.guarantee(Round("x", 2))

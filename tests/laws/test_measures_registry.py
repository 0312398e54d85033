"""One walk over every metric: range, order, merging, doubling. A number that is not registered fails."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal.measures
from shoal.measures.metrics import MODULES, Metric, lookup, metrics
from shoal.model.counts.classes import ClassCounts, SensitiveCounts

OTHER_MODULES = {  # no metrics of their own: results, layouts, words, and calculators tested by name
    "classes.individual", "classes.missing", "metrics", "observer.models", "observer.posterior",
    "result.checking", "result.figures", "subsets.set_sizes", "subsets.suda", "utility.analyses", "utility.distances",
}  # fmt: skip
ALL = list(metrics())


def test_every_module_is_known() -> None:
    found = pkgutil.walk_packages(shoal.measures.__path__, "shoal.measures.")
    present = {m.name.removeprefix("shoal.measures.") for m in found if not m.ispkg}
    present = {m for m in present if not m.startswith("events.")}
    assert present == set(MODULES) | OTHER_MODULES


@pytest.mark.parametrize("module", MODULES)
def test_every_public_function_is_a_metric_or_a_named_helper(module: str) -> None:
    loaded = importlib.import_module(f"shoal.measures.{module}")
    own = {n for n, f in inspect.getmembers(loaded, inspect.isfunction) if f.__module__ == loaded.__name__ and n[0] != "_"}
    registered = {m.function.__name__ for m in ALL if m.function.__module__ == loaded.__name__}
    assert own - registered == set(loaded.HELPERS) & own
    assert set(loaded.HELPERS) <= own
    assert not set(loaded.HELPERS) & registered


@pytest.mark.parametrize("metric", ALL, ids=lambda m: m.name)
def test_explanations_are_complete(metric: Metric) -> None:
    said = metric.explained
    for text in (said.sentence, said.formula, said.assumption, said.change):
        assert len(text) > 3
    if metric.safer == "lower" and metric.high == 1 and "risk" in metric.name:
        assert said.attacker
    assert metric.name in said.explain(0.5)


def test_unknown_metric_suggests_the_nearest() -> None:
    with pytest.raises(ValueError, match="Did you mean 'entropy_diversity'"):
        lookup("entropy_diversty")


# --- inputs -----------------------------------------------------------------------------------------------------------

small = st.integers(1, 9)


@st.composite
def inputs(draw: st.DrawFn, reads: str) -> list:
    if reads == "classes":
        return draw(st.lists(small, min_size=2, max_size=8))
    if reads == "population":
        f = draw(st.lists(st.integers(0, 5), min_size=2, max_size=8).filter(any))
        return [(a, a + draw(st.integers(0 if a else 1, 5))) for a in f]
    if reads == "sensitive":
        width = draw(st.integers(1, 5))
        row = st.lists(st.integers(0, 6), min_size=width, max_size=width).filter(any)
        return draw(st.lists(row, min_size=2, max_size=6))
    weights = draw(st.lists(st.integers(0, 9), min_size=2, max_size=8).filter(any))
    return [w / sum(weights) for w in weights]


def call(metric: Metric, data: list, *, times: int = 1) -> float:
    if metric.reads == "classes":
        return float(metric.function(ClassCounts([times * s for s in data])))
    if metric.reads == "population":
        f, big = zip(*data, strict=True)
        return float(metric.function([times * x for x in f], [times * x for x in big]))
    if metric.reads == "sensitive":
        rows = [[times * x for x in r] for r in data]
        counts = ClassCounts([sum(r) for r in rows], sensitive={"s": SensitiveCounts.from_dense("s", rows)})
        return float(metric.function(counts, "s"))
    return float(metric.function(data))


def merged(metric: Metric, data: list) -> list:
    """The first two classes (candidates, published groups) become one."""
    if metric.reads == "classes" or metric.reads == "distribution":
        return [data[0] + data[1], *data[2:]]
    return [[a + b for a, b in zip(data[0], data[1], strict=True)], *data[2:]]


@pytest.mark.parametrize("metric", ALL, ids=lambda m: m.name)
def test_laws(metric: Metric) -> None:
    @settings(max_examples=30, deadline=None)
    @given(inputs(metric.reads), st.randoms(use_true_random=False))
    def holds(data: list, random) -> None:  # type: ignore[no-untyped-def]
        value = call(metric, data)
        assert not math.isnan(value)
        assert metric.low - 1e-9 <= value <= metric.high + 1e-9
        shuffled = random.sample(data, len(data))
        assert same(call(metric, shuffled), value), "depends on order"
        after = call(metric, merged(metric, data))
        if metric.merging == "never lower":
            assert after >= value - 1e-9 or same(after, value)
        if metric.merging == "never higher":
            assert after <= value + 1e-9 or same(after, value)
        if metric.reads != "distribution" and metric.doubling != "free":
            twice = call(metric, data, times=2)
            assert same(twice, 2 * value if metric.doubling == "doubles" else value)

    holds()


def same(a: float, b: float) -> bool:
    return a == b or bool(np.isclose(a, b, rtol=1e-9, atol=1e-9))

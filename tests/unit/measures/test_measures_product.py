"""A registered metric is what the product shows: the registry is walked while the product runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal.measures.metrics import Metric, lookup, metrics
from shoal.measures.observer.posterior import PosteriorTable

TABLE = pa.table(
    {
        "age": [30, 30, 30, 41, 41, 41, 52, None],
        "sex": ["f", "f", "m", "m", "m", "m", "f", "f"],
        "ill": ["flu", "hiv", "flu", "flu", "flu", "hiv", "flu", "hiv"],
    }
)
EVERYBODY = pa.table({"age": [*TABLE["age"].to_pylist(), 41, 52, 30], "sex": [*TABLE["sex"].to_pylist(), "m", "f", "m"]})


def called(run: Callable[[], Any]) -> set[str]:
    """Names of the metrics whose function was entered while ``run`` ran."""
    every = list(metrics())
    entered: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            entered.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return {m.name for m in every if m.function.__code__ in entered}


def measured() -> None:
    shoal.measure(TABLE, qi=["age", "sex"], sensitive=["ill"]).to_json()
    shoal.measure(TABLE, qi=["age", "sex"], population=EVERYBODY).to_json()


def observed() -> None:
    PosteriorTable.from_likelihood([0.5, 0.25, 0.25], [[0.8, 0.5, 0.1], [0.2, 0.5, 0.9]]).to_json()


ELSEWHERE = {  # what a metric reads -> the face that shows it; everything else is shown by measuring a table
    "distribution": observed,  # about one subject under suspicion, not about a table
}


def test_measuring_a_table_calls_every_metric_of_classes() -> None:
    every = {m.name for m in metrics() if m.reads not in ELSEWHERE}
    assert every - called(measured) == set()


@pytest.mark.parametrize("reads", list(ELSEWHERE))
def test_every_other_metric_is_called_by_its_face(reads: str) -> None:
    every = {m.name for m in metrics() if m.reads == reads}
    assert every
    assert every - called(ELSEWHERE[reads]) == set()


def test_every_metric_outside_measure_is_named_on_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs" / "measure.md").read_text("utf-8")
    assert [m.name for m in metrics() if m.reads in ELSEWHERE and f"`{m.name}`" not in page] == []


def value(metric: Metric, m: Any) -> Any:
    return metric.function(m.counts, "ill") if metric.reads == "sensitive" else metric.function(m.counts)


def test_the_numbers_shown_are_those_of_the_metrics() -> None:
    m = shoal.measure(TABLE, qi=["age", "sex"], sensitive=["ill"])
    out = m.to_json()
    secret = out["diversity"]["ill"] | out["closeness"]["ill"]
    shown = {
        "k": m.k,
        "unique": m.unique,
        "unique_share": out["unique_share"],
        "classes": out["classes"],
        "prosecutor_max": out["risk"]["prosecutor"]["max"],
        "prosecutor_mean": out["risk"]["prosecutor"]["mean"],
        "joint_entropy": out["entropy_risk"]["entropy_bits"],
        "anvc": out["entropy_risk"]["anvc"],
        "entropy_risk": out["entropy_risk"]["rr"],
        "discernibility": out["grouping_loss"]["discernibility"],
        "classification_metric": out["grouping_loss"]["classification_metric"]["ill"],
        "distinct_diversity": secret["distinct"],
        "entropy_diversity": secret["entropy"],
        "recursive_diversity": secret["recursive"]["l"],
        "alpha": secret["alpha"],
        "t": secret["t"],
        "delta_disclosure": secret["delta_disclosure"],
        "basic_beta": secret["beta"],
        "enhanced_beta": secret["enhanced_beta"],
    }
    assert {name: value(lookup(name), m) for name in shown} == shown
    assert (m.k, m.unique, m.risk.prosecutor.max, m.classes) == (1, 3, 1.0, 5)
    assert out["grouping_loss"]["discernibility"] == 4 + 1 + 9 + 1 + 1

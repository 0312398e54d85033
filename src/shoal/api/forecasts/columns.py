"""How many people stay unique when a value is rounded, and can columns identify people at all?"""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

from shoal.api.forecasts.given import alone, counted, needed
from shoal.api.forecasts.prediction import Prediction, draw_interval, draw_quasi, draw_two_values
from shoal.api.forecasts.words import IntervalWords, QuasiWords
from shoal.errors import UsageError
from shoal.model.display import written
from shoal.model.estimate import Estimate
from shoal.prediction import (
    bivariate_normal,
    cell_budget,
    integer_split,
    interval_singletons,
    quasi_test,
    rank_subsets,
    singletons,
    width_for,
)


def ask_interval(**words: Unpack[IntervalWords]) -> Prediction:
    """How many people stay unique when a value is rounded to intervals; or the width that a target needs."""
    size, target, origin = words["group_size"], words.get("target"), words.get("origin", 0.0)
    what = f"expected number of unique people among {size}"
    second = words.get("second")
    if second is not None:
        alone(words, "second", "target", "exponential", "length", "sample")
        deviation, width, correlation = second
        spreads, widths = (needed(words, "normal"), deviation), (needed(words, "width"), width)
        answer = singletons(bivariate_normal(spreads, correlation, widths), size).mean
        return Prediction(what, answer, {}, partial(draw_two_values, spreads, correlation, widths, size, answer.value))
    values = _values(words)
    draw = partial(draw_interval, values, size, origin, words.get("width"))
    if target is not None:
        found, share = width_for(values, size, target, origin=origin)
        exact = Estimate.exact(found, method="bisection over exact shares", share=share)
        return Prediction(f"width for a share of at most {written(target)}", exact, {}, draw)
    step = needed(words, "width", hint="Or target, for the width that a share of unique people needs.")
    answer = interval_singletons(values, step, size, origin=origin, method=words.get("method", "exact"))
    return Prediction(what, answer, {}, draw)


def ask_quasi(**words: Unpack[QuasiWords]) -> Prediction:
    """Can these columns identify people at all? And how many values may each keep for k people per cell?"""
    alpha, k = words.get("alpha", 0.5), words.get("k")
    observed: dict[str, Any] = {}
    if words.get("table") is not None:
        from shoal.api.readers.value_counts import values_of  # loads the engines, which few questions need

        alone(words, "table", "values")
        sizes, rows, observed = values_of(words["table"], words.get("columns") or ())
        people = words.get("people") or rows
    else:
        sizes, people = needed(words, "values", hint="Or a table with its columns."), needed(words, "people")
    test = quasi_test(sizes, people, alpha)
    more: dict[str, Any] = {"combinations": test.combinations, "possible": test.possible, "needed": test.needed} | observed
    if words.get("subsets"):
        ranked = rank_subsets(sizes, people, alpha, largest=words["subsets"])
        more["subsets"] = [
            {"columns": list(t.columns), "combinations": t.combinations, "bound": t.bound.value, "possible": t.possible}
            for t in ranked[:50]
        ]
    if k is not None:
        budget = cell_budget(people, k, words.get("beta", 0.1))
        kept = integer_split(words.get("weights") or [1.0] * len(sizes), list(sizes.values()), budget.cells)
        allowed = dict(zip(sizes, kept, strict=True))
        more["allowed"] = {"cells": budget.cells, "values": allowed, "notes": list(budget.notes)}
    what = "largest expected share of unique people, whatever the distribution"
    return Prediction(what, test.bound, more, partial(draw_quasi, test.combinations, people, observed.get("observed")))


def _values(words: IntervalWords) -> Any:
    """A law of scipy, or a sample."""
    spreads = {name: words.get(name) for name in ("normal", "exponential", "length")}
    sample = words.get("sample")
    if sum(x is not None for x in (*spreads.values(), sample)) != 1:
        raise UsageError("give exactly one of normal, exponential, length and sample.")
    if sample is not None:
        return counted(sample)
    name, scale = next((n, float(x)) for n, x in spreads.items() if x is not None)  # type: ignore[arg-type]
    if not scale > 0:
        raise UsageError(f"a spread, rate or length is positive; found {scale!r}.")
    from shoal.kernels.scipy import stats

    if name == "normal":
        return stats.norm(scale=scale)
    return stats.expon(scale=1 / scale) if name == "exponential" else stats.uniform(0, scale)

"""What was given with a question: numbers or their file, options that are needed, options that say nothing beside another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from shoal.api.prediction import (
    Cells,
    Counted,
    IntervalOptions,
    PopulationOptions,
    Prediction,
    QuasiOptions,
    SingletonsOptions,
    UniquenessOptions,
    ZipfOptions,
    draw_interval,
    draw_kappa,
    draw_power_sums,
    draw_quasi,
    draw_singletons,
    draw_two_values,
    draw_uniqueness,
    draw_zipf,
)
from shoal.errors import UsageError
from shoal.forms.counts import are_identifiers, read_counts
from shoal.model.display import written
from shoal.model.estimate import Estimate
from shoal.prediction import (
    Distribution,
    PopulationEstimate,
    Zipf,
    bivariate_normal,
    cell_budget,
    expected_share,
    fit_zipf,
    integer_split,
    interval_singletons,
    largest_mean,
    population,
    pseudonym_life,
    quasi_test,
    rank_subsets,
    share_below,
    singletons,
    singletons_from_kappa,
    threshold_rank,
    uniqueness,
    uniqueness_from_kappa,
    uniqueness_from_power_sums,
    variance_from_kappa,
    width_for,
)


def counted(given: Counted) -> list[float]:
    return read_counts(None, str(given)) if isinstance(given, str | Path) else [float(x) for x in given]


def alone(options: Mapping[str, Any], word: str, *others: str) -> None:
    """Refuse options that say nothing beside another: what is given and not used misleads."""
    unused = [name for name in others if options.get(name) not in (None, False, 0)]
    if unused:
        raise UsageError(f"{', '.join(unused)} cannot be used with {word}.", hint="Leave one of them out.")


def needed(options: Mapping[str, Any], word: str, *, hint: str = "") -> Any:
    if options.get(word) is None:
        raise UsageError(f"{word} is needed here.", hint=hint or "Without it the question has no answer.")
    return options[word]


def ask_uniqueness(**options: Unpack[UniquenessOptions]) -> Prediction:
    """The probability that all people of a group are unique."""
    size, kappa, sums = options["group_size"], options.get("kappa"), options.get("power_sums")
    if kappa is not None:
        alone(options, "kappa", "uniform", "counts", "p", "power_sums")
        cells, top = needed(options, "cells"), options.get("p_max")
        answer = uniqueness_from_kappa(kappa, cells, size, p_max=top)
        draw = partial(draw_kappa, kappa, cells, top, size, True)
        return Prediction(f"probability that all {size} people are unique", answer, {}, draw)
    if sums is not None:
        alone(options, "power_sums", "uniform", "counts", "p")
        error = options.get("sums_error")
        digits = _rounding(sums) if isinstance(sums, str) else 0.0
        numbers = [float(x) for x in _parts(sums)] if isinstance(sums, str) else sums
        off, top = digits if error is None else error, options.get("p_max")
        ask = partial(uniqueness_from_power_sums, numbers, p_max=top, cells=options.get("cells"), error=off)
        answer, draw = ask(size), partial(draw_power_sums, ask, options.get("cells"), size)
    else:
        known = _distribution(options)
        answer, draw = uniqueness(known, size, method=options.get("method", "auto")), partial(draw_uniqueness, known, size)
    return Prediction(f"probability that all {size} people are unique", answer, {}, draw)


def ask_singletons(**options: Unpack[SingletonsOptions]) -> Prediction:
    """How many people of a group will be unique, and how likely it is that nobody is."""
    size, kappa = options["group_size"], options.get("kappa")
    what = f"expected number of unique people among {size}"
    if kappa is not None:
        alone(options, "kappa", "uniform", "counts", "p", "sizes", "law", "best")
        n, p_max = needed(options, "cells"), options.get("p_max")
        spread = variance_from_kappa(kappa, n, size, p_max=p_max)
        draw = partial(draw_kappa, kappa, n, p_max, size, False)
        return Prediction(what, singletons_from_kappa(kappa, n, size, p_max=p_max), {"variance": spread.value}, draw)
    known = _distribution(options)
    found = singletons(known, size)
    more = {name: value for name, value in found.to_json().items() if name not in found.mean.to_json()}
    if options.get("sizes"):
        more["in_groups_of"] = {str(j): found.in_groups_of(j).value for j in range(1, options["sizes"] + 1)}
    if options.get("law"):
        more |= {"pmf": found.pmf(), "interval": found.interval()}
    if options.get("best"):
        at, most = largest_mean(known)
        more["best"] = {"group_size": at, "mean": most}
    return Prediction(what, found.mean, more, partial(draw_singletons, known, size))


def _distribution(options: Cells) -> Distribution:
    uniform, counts, p = options.get("uniform"), options.get("counts"), options.get("p")
    if sum(x is not None for x in (uniform, counts, p)) != 1:
        raise UsageError("give exactly one of uniform, counts and p.", hint="Or kappa with cells.")
    if uniform is not None:
        return Distribution.uniform(uniform)
    if counts is not None:
        return Distribution.counts(counted(counts), cells=options.get("cells"))
    return Distribution.of(p, normalize=options.get("normalize", False))


def _parts(text: str) -> list[Decimal]:
    try:
        return [Decimal(x.strip()) for x in text.split(",") if x.strip()]
    except InvalidOperation:
        raise UsageError("numbers are given as 0.4,0.3,0.3.") from None


def _rounding(text: str) -> list[float]:
    """How far each number may be off, relative to it, when its last digit was rounded.

    >>> _rounding("0.0105,2.5e-4")
    [0.004761904761904762, 0.02]
    """
    return [float(Decimal(5).scaleb(int(p.as_tuple().exponent) - 1) / abs(p)) if p else 0.0 for p in _parts(text)]


def ask_interval(**options: Unpack[IntervalOptions]) -> Prediction:
    """How many people stay unique when a value is rounded to intervals; or the width that a target needs."""
    size, target, origin = options["group_size"], options.get("target"), options.get("origin", 0.0)
    what = f"expected number of unique people among {size}"
    second = options.get("second")
    if second is not None:
        alone(options, "second", "target", "exponential", "length", "sample")
        if options.get("method", "exact") != "exact":
            raise UsageError(
                f"method '{options['method']}' is for one value; a second value is computed exactly.",
                hint="Leave the method out.",
            )
        deviation, width, correlation = second
        spreads, widths = (needed(options, "normal"), deviation), (needed(options, "width"), width)
        answer = singletons(bivariate_normal(spreads, correlation, widths), size).mean
        return Prediction(what, answer, {}, partial(draw_two_values, spreads, correlation, widths, size, answer.value))
    values = _values(options)
    draw = partial(draw_interval, values, size, origin, options.get("width"))
    if target is not None:
        found, share = width_for(values, size, target, origin=origin)
        exact = Estimate.exact(found, method="bisection over exact shares", share=share)
        return Prediction(f"width for a share of at most {written(target)}", exact, {}, draw)
    step = needed(options, "width", hint="Or target, for the width that a share of unique people needs.")
    answer = interval_singletons(values, step, size, origin=origin, method=options.get("method", "exact"))
    return Prediction(what, answer, {}, draw)


def ask_quasi(**options: Unpack[QuasiOptions]) -> Prediction:
    """Can these columns identify people at all? And how many values may each keep for k people per cell?"""
    alpha, k = options.get("alpha", 0.5), options.get("k")
    observed: dict[str, Any] = {}
    if options.get("table") is not None:
        from shoal.api.table_population import values_of  # loads the engines, which few questions need

        alone(options, "table", "values")
        sizes, rows, observed = values_of(options["table"], options.get("columns") or ())
        people = options.get("people") or rows
    else:
        sizes, people = needed(options, "values", hint="Or a table with its columns."), needed(options, "people")
    test = quasi_test(sizes, people, alpha)
    more: dict[str, Any] = {"combinations": test.combinations, "possible": test.possible, "needed": test.needed} | observed
    if options.get("subsets"):
        ranked = rank_subsets(sizes, people, alpha, largest=options["subsets"])
        more["subsets"] = [
            {"columns": list(t.columns), "combinations": t.combinations, "bound": t.bound.value, "possible": t.possible}
            for t in ranked[:50]
        ]
    if k is not None:
        budget = cell_budget(people, k, options.get("beta", 0.1))
        kept = integer_split(options.get("weights") or [1.0] * len(sizes), list(sizes.values()), budget.cells)
        allowed = dict(zip(sizes, kept, strict=True))
        more["allowed"] = {"cells": budget.cells, "values": allowed, "notes": list(budget.notes)}
    what = "largest expected share of unique people, for any distribution"
    return Prediction(what, test.bound, more, partial(draw_quasi, test.combinations, people, observed.get("observed")))


def _values(options: IntervalOptions) -> Any:
    """A law of scipy, or a sample."""
    spreads = {name: options.get(name) for name in ("normal", "exponential", "length")}
    sample = options.get("sample")
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


def ask_population(**options: Unpack[PopulationOptions]) -> PopulationEstimate:
    """Unique in the population, judged from a sample: the chance that a unique match is right, and all models."""
    from shoal.api.arguments import population_of  # loads the engines

    classes, frequencies, people = options.get("classes"), options.get("frequencies"), population_of(options["population"])
    if options.get("table") is not None:
        from shoal.api.table_population import table_population  # loads the engines, which few questions need

        alone(options, "table", "classes", "frequencies")
        return table_population(
            options["table"],
            options.get("columns") or None,
            people,
            model=options.get("model") or "auto",
            unit=options.get("unit"),
            cells=options.get("cells"),
            seed=options.get("seed") or 0,
            calibrated=bool(options.get("calibrate")),
        )
    for word in ("columns", "unit", "model", "calibrate"):
        if options.get(word):
            raise UsageError(f"{word} says something about a table only.", hint="Give the table as well.")
    if (classes is None) == (frequencies is None):
        raise UsageError("give either a table, classes or frequencies.")
    return population(frequencies if classes is None else counted(classes), people, cells=options.get("cells"))


def ask_zipf(**options: Unpack[ZipfOptions]) -> Prediction:
    """Places visited by Zipf's law: the expected share of people in cells with fewer than k, for linked records."""
    if options.get("table") is not None:
        from shoal.api.zipf_table import ask_zipf_table  # loads the engines, which no other question needs

        alone(options, "table", "counts", "exponent")
        return ask_zipf_table(options, _thresholds)
    for word in ("unit", "time", "records_per_row"):
        if options.get(word) is not None:
            raise UsageError(f"{word} says something about a table only.", hint="Give table='FILE:column' as well.")
    people, records = needed(options, "people"), options.get("records", 1)
    k, counts = options.get("k", 2), options.get("counts")
    more: dict[str, Any] = {}
    data, beyond = None if counts is None else _visits(counts), 0
    if data is None:
        exponent = needed(options, "exponent", hint="With places; or counts, to fit it.")
        law = Zipf(exponent, needed(options, "places"))
    else:
        fitted = fit_zipf(data, method=options.get("fit", "mle"))
        beyond = _beyond(options, fitted.places)
        law = Zipf(fitted.c, fitted.places + beyond)
        more["fit"] = {"exponent": fitted.c, "places": fitted.places, "r2": fitted.r2, "ks": fitted.ks, "method": fitted.method}
    answer = expected_share(law, people, records, k=k)
    if beyond:
        said = f"The law was fitted to {law.d - beyond:,} places and carried on to {law.d:,}: an extrapolation."
        answer = replace(answer, grade="C", notes=(*answer.notes, said))
    more |= _thresholds(law, people, records, k)
    limit = options.get("limit")
    if limit is not None:
        more["records_allowed"] = pseudonym_life(law, people, limit, k=k)
    what = f"expected share of people in cells with fewer than {k}"
    return Prediction(what, answer, more, partial(draw_zipf, data, law, people, records, k))


def _visits(counts: Counted) -> list[float]:
    """Visits per place; a column of identifiers is refused."""
    data = counted(counts)
    if isinstance(counts, str | Path) and are_identifiers(data, str(counts)):
        raise UsageError(
            "the column named for counts holds identifiers, not counts.",
            hint="To count the rows per value: --table FILE:column. Else name the column of visits: --counts FILE:column.",
        )
    return data


def _beyond(options: ZipfOptions, fitted: int) -> int:
    """How many more places are asked for than were counted."""
    places = options.get("places")
    if options.get("exponent") is not None:
        raise UsageError("the exponent is fitted to the counts and not given as well.", hint="Leave out exponent or counts.")
    if places is not None and places < fitted:
        raise UsageError(
            f"places is {places:,}, but {fitted:,} places were counted.", hint="Leave out places, or name at least as many."
        )
    return 0 if places is None else places - fitted


def _thresholds(law: Zipf, people: int, records: int, k: int) -> dict[str, Any]:
    """The rank beyond which cells expect fewer than k people, and the share of people beyond it; nothing for equal places."""
    if law.c <= 0:
        return {}
    rank = threshold_rank(law, people, records, k=k)
    below = share_below(law, rank, records).value
    return {"threshold_rank": rank, "mean_rank": rank ** (1 / records), "share_below_threshold": below}

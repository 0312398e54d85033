"""What was given with a question: numbers or their file, words that are needed, words that say nothing beside another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from shoal.api.arguments import population_of
from shoal.api.prediction import (
    Cells,
    Counted,
    IntervalWords,
    PopulationWords,
    Prediction,
    QuasiWords,
    SingletonsWords,
    UniquenessWords,
    ZipfWords,
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


def alone(words: Mapping[str, Any], word: str, *others: str) -> None:
    """Refuse words that say nothing beside another: what is given and not used misleads."""
    unused = [name for name in others if words.get(name) not in (None, False, 0)]
    if unused:
        raise UsageError(f"{', '.join(unused)} cannot be used with {word}.", hint="Leave one of them out.")


def needed(words: Mapping[str, Any], word: str, *, hint: str = "") -> Any:
    if words.get(word) is None:
        raise UsageError(f"{word} is needed here.", hint=hint or "Without it the question has no answer.")
    return words[word]


def ask_uniqueness(**words: Unpack[UniquenessWords]) -> Prediction:
    """The probability that all people of a group are unique."""
    size, kappa, sums = words["group_size"], words.get("kappa"), words.get("power_sums")
    if kappa is not None:
        alone(words, "kappa", "uniform", "counts", "p", "power_sums")
        cells, top = needed(words, "cells"), words.get("p_max")
        answer = uniqueness_from_kappa(kappa, cells, size, p_max=top)
        draw = partial(draw_kappa, kappa, cells, top, size, True)
        return Prediction(f"probability that all {size} people are unique", answer, {}, draw)
    if sums is not None:
        alone(words, "power_sums", "uniform", "counts", "p")
        error = words.get("sums_error")
        digits = _rounding(sums) if isinstance(sums, str) else 0.0
        numbers = [float(x) for x in _parts(sums)] if isinstance(sums, str) else sums
        off, top = digits if error is None else error, words.get("p_max")
        ask = partial(uniqueness_from_power_sums, numbers, p_max=top, cells=words.get("cells"), error=off)
        answer, draw = ask(size), partial(draw_power_sums, ask, words.get("cells"), size)
    else:
        known = _distribution(words)
        answer, draw = uniqueness(known, size, method=words.get("method", "auto")), partial(draw_uniqueness, known, size)
    return Prediction(f"probability that all {size} people are unique", answer, {}, draw)


def ask_singletons(**words: Unpack[SingletonsWords]) -> Prediction:
    """How many people of a group will be unique, and how likely it is that nobody is."""
    size, kappa = words["group_size"], words.get("kappa")
    what = f"expected number of unique people among {size}"
    if kappa is not None:
        alone(words, "kappa", "uniform", "counts", "p", "sizes", "law", "best")
        n, p_max = needed(words, "cells"), words.get("p_max")
        spread = variance_from_kappa(kappa, n, size, p_max=p_max)
        draw = partial(draw_kappa, kappa, n, p_max, size, False)
        return Prediction(what, singletons_from_kappa(kappa, n, size, p_max=p_max), {"variance": spread.value}, draw)
    known = _distribution(words)
    found = singletons(known, size)
    more = {name: value for name, value in found.to_json().items() if name not in found.mean.to_json()}
    if words.get("sizes"):
        more["in_groups_of"] = {str(j): found.in_groups_of(j).value for j in range(1, words["sizes"] + 1)}
    if words.get("law"):
        more |= {"pmf": found.pmf(), "interval": found.interval()}
    if words.get("best"):
        at, most = largest_mean(known)
        more["best"] = {"group_size": at, "mean": most}
    return Prediction(what, found.mean, more, partial(draw_singletons, known, size))


def _distribution(words: Cells) -> Distribution:
    uniform, counts, p = words.get("uniform"), words.get("counts"), words.get("p")
    if sum(x is not None for x in (uniform, counts, p)) != 1:
        raise UsageError("give exactly one of uniform, counts and p.", hint="Or kappa with cells.")
    if uniform is not None:
        return Distribution.uniform(uniform)
    if counts is not None:
        return Distribution.counts(counted(counts), cells=words.get("cells"))
    return Distribution.of(p, normalize=words.get("normalize", False))


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
        from shoal.api.table_population import values_of  # loads the engines, which few questions need

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
    what = "largest expected share of unique people, for any distribution"
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


def ask_population(**words: Unpack[PopulationWords]) -> PopulationEstimate:
    """Unique in the population, judged from a sample: the chance that a unique match is right, and all models."""
    classes, frequencies, people = words.get("classes"), words.get("frequencies"), population_of(words["population"])
    if words.get("table") is not None:
        from shoal.api.table_population import table_population  # loads the engines, which few questions need

        alone(words, "table", "classes", "frequencies")
        return table_population(
            words["table"],
            words.get("columns") or None,
            people,
            model=words.get("model") or "auto",
            unit=words.get("unit"),
            cells=words.get("cells"),
            seed=words.get("seed") or 0,
        )
    for word in ("columns", "unit", "model"):
        if words.get(word):
            raise UsageError(f"{word} says something about a table only.", hint="Give the table as well.")
    if (classes is None) == (frequencies is None):
        raise UsageError("give either a table, classes or frequencies.")
    return population(frequencies if classes is None else counted(classes), people, cells=words.get("cells"))


def ask_zipf(**words: Unpack[ZipfWords]) -> Prediction:
    """Places visited by Zipf's law: the expected share of people in cells with fewer than k, for linked records."""
    if words.get("table") is not None:
        from shoal.api.zipf_table import ask_zipf_table  # loads the engines, which no other question needs

        alone(words, "table", "counts", "exponent")
        return ask_zipf_table(words, _thresholds)
    for word in ("unit", "time", "records_per_row"):
        if words.get(word) is not None:
            raise UsageError(f"{word} says something about a table only.", hint="Give table='FILE:column' as well.")
    people, records = needed(words, "people"), words.get("records", 1)
    k, counts = words.get("k", 2), words.get("counts")
    more: dict[str, Any] = {}
    data, beyond = None if counts is None else _visits(counts), 0
    if data is None:
        exponent = needed(words, "exponent", hint="With places; or counts, to fit it.")
        law = Zipf(exponent, needed(words, "places"))
    else:
        fitted = fit_zipf(data, method=words.get("fit", "mle"))
        beyond = _beyond(words, fitted.places)
        law = Zipf(fitted.c, fitted.places + beyond)
        more["fit"] = {"exponent": fitted.c, "places": fitted.places, "r2": fitted.r2, "ks": fitted.ks, "method": fitted.method}
    answer = expected_share(law, people, records, k=k)
    if beyond:
        said = f"The law was fitted to {law.d - beyond:,} places and carried on to {law.d:,}: an extrapolation."
        answer = replace(answer, grade="C", notes=(*answer.notes, said))
    more |= _thresholds(law, people, records, k)
    limit = words.get("limit")
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


def _beyond(words: ZipfWords, fitted: int) -> int:
    """How many more places are asked for than were counted."""
    places = words.get("places")
    if words.get("exponent") is not None:
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

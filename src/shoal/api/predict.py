"""``predict``: how identifying will it be, before anything is collected. Six questions, each answered from what is known."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any, Literal, Required, TypedDict, Unpack, overload

from shoal import prediction
from shoal.api.prediction import Prediction, chart_of, record_counts, record_steps, zipf_thresholds
from shoal.errors import UsageError, check_options, refuse, suggest
from shoal.forms.counts import are_identifiers, read_counts
from shoal.model.display import written
from shoal.model.estimate import Estimate

# no "from __future__ import annotations": a TypedDict knows its required keys at run time only without it


Counted = str | Path | Sequence[float]
"""Numbers, or the file that holds them: ``FILE.csv`` or ``FILE.csv:column``."""
Approximation = Literal["auto", "exact", "saddlepoint", "poisson", "kappa", "kappa-limit", "chi", "collisions"]


class Cells(TypedDict, total=False):
    """What is known of the cells that people fall into: their number, their counts, their probabilities, or only kappa."""

    uniform: int | None
    counts: Counted | None
    p: Sequence[float] | None
    normalize: bool
    cells: int | None
    kappa: float | None
    p_max: float | None


class UniquenessOptions(Cells, total=False):
    group_size: Required[int]
    power_sums: str | Sequence[float] | None
    sums_error: float | None
    method: Approximation


class SingletonsOptions(Cells, total=False):
    group_size: Required[int]
    place: str | None
    attributes: str | Sequence[str] | None
    sizes: int
    law: bool
    best: bool


class IntervalOptions(TypedDict, total=False):
    group_size: Required[int]
    width: float | None
    target: float | None
    normal: float | None
    exponential: float | None
    length: float | None
    sample: Counted | None
    origin: float
    second: tuple[float, float, float] | None
    method: Literal["exact", "first", "second", "integral"]


class QuasiOptions(TypedDict, total=False):
    values: Mapping[str, int] | None
    table: Any
    columns: Sequence[str]
    counts: str | None
    people: int | None
    alpha: float
    subsets: int
    k: int | None
    beta: float
    weights: Sequence[float] | None


class PopulationOptions(TypedDict, total=False):
    population: Required[int | str]
    classes: Counted | None
    frequencies: Mapping[int, int] | None
    cells: int | None
    table: Any
    columns: Sequence[str]
    unit: str | None
    counts: str | None
    model: str
    calibrate: bool
    weight: str | None
    cluster: str | None
    seed: int


class ZipfOptions(TypedDict, total=False):
    people: int | None
    table: str | tuple[Any, str] | None
    unit: str | None
    time: str | None
    records_per_row: int | None
    seed: int
    records: int | Sequence[int]
    exponent: float | Sequence[float] | None
    places: int | None
    counts: Counted | None
    fit: Literal["mle", "least-squares"]
    k: int
    limit: float | None


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
        answer = prediction.uniqueness_from_kappa(kappa, cells, size, p_max=top)
        draw = partial(chart_of, "kappa_curve", kappa, cells, top, size, everybody=True)
        return Prediction(f"probability that all {size} people are unique", answer, {}, draw)
    if sums is not None:
        alone(options, "power_sums", "uniform", "counts", "p")
        error = options.get("sums_error")
        digits = _rounding(sums) if isinstance(sums, str) else 0.0
        numbers = [float(x) for x in _parts(sums)] if isinstance(sums, str) else sums
        off, top = digits if error is None else error, options.get("p_max")
        ask = partial(prediction.uniqueness_from_power_sums, numbers, p_max=top, cells=options.get("cells"), error=off)
        answer, draw = ask(size), partial(chart_of, "power_sums_curve", ask, options.get("cells"), size)
    else:
        known = _distribution(options)
        answer = prediction.uniqueness(known, size, method=options.get("method", "auto"))
        draw = partial(chart_of, "uniqueness_curve", known, size)
    return Prediction(f"probability that all {size} people are unique", answer, {}, draw)


def ask_singletons(**options: Unpack[SingletonsOptions]) -> Prediction:
    """How many people of a group will be unique, and how likely it is that nobody is."""
    size, kappa = options["group_size"], options.get("kappa")
    what = f"expected number of unique people among {size}"
    if kappa is not None:
        alone(options, "kappa", "uniform", "counts", "p", "sizes", "law", "best")
        n, p_max = needed(options, "cells"), options.get("p_max")
        spread = prediction.variance_from_kappa(kappa, n, size, p_max=p_max)
        draw = partial(chart_of, "kappa_curve", kappa, n, p_max, size, everybody=False)
        return Prediction(what, prediction.singletons_from_kappa(kappa, n, size, p_max=p_max), {"variance": spread.value}, draw)
    if options.get("place") is not None or options.get("attributes") is not None:
        return _in_place(what, options)
    known = _distribution(options)
    answer = prediction.singletons(known, size)
    more = {name: value for name, value in answer.to_json().items() if name not in answer.mean.to_json()}
    if options.get("sizes"):
        more["in_groups_of"] = {str(j): answer.in_groups_of(j).value for j in range(1, options["sizes"] + 1)}
    if options.get("law"):
        more |= {"pmf": answer.pmf(), "interval": answer.interval()}
    if options.get("best"):
        at, most = prediction.largest_mean(known)
        more["best"] = {"group_size": at, "mean": most}
    return Prediction(what, answer.mean, more, partial(chart_of, "singletons_curve", known, size))


def _in_place(what: str, options: SingletonsOptions) -> Prediction:
    """The answer of the registry for a place, as ``design`` and ``registry decide`` give it."""
    from shoal.registry.answer.query import Registry

    alone(options, "place", "uniform", "counts", "p", "sizes", "law", "best")
    attributes, size = needed(options, "attributes", hint="Such as age/5y,sex."), options["group_size"]
    answer = Registry().query(
        [attributes] if isinstance(attributes, str) else attributes, str(needed(options, "place", hint="Such as Utrecht."))
    )
    if not answer.records:
        hint = "shoal registry search NAME lists places."
        raise UsageError("nothing is known about these attributes in this place.", hint=hint)
    share = answer.unique_share(size)
    scaled = replace(share, value=size * share.value, low=size * share.low, high=size * share.high, details={})
    more = {"share": share.value, "evidence": answer.fit, "population": str(answer.population)}
    return Prediction(what, scaled, more, partial(chart_of, "place_curve", answer.unique_share, size))


def _distribution(options: Cells) -> prediction.Distribution:
    uniform, counts, p = options.get("uniform"), options.get("counts"), options.get("p")
    if sum(x is not None for x in (uniform, counts, p)) != 1:
        raise UsageError("give exactly one of uniform, counts and p.", hint="Or kappa with cells.")
    if uniform is not None:
        return prediction.Distribution.uniform(uniform)
    if counts is not None:
        return prediction.Distribution.counts(counted(counts), cells=options.get("cells"))
    return prediction.Distribution.of(p, normalize=options.get("normalize", False))


def _parts(text: str) -> list[Decimal]:
    with refuse(UsageError("numbers are given as 0.4,0.3,0.3."), InvalidOperation):
        return [Decimal(x.strip()) for x in text.split(",") if x.strip()]


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
            hint = "Leave the method out."
            raise UsageError(f"method '{options['method']}' is for one value; a second value is computed exactly.", hint=hint)
        deviation, width, correlation = second
        spreads, widths = (needed(options, "normal"), deviation), (needed(options, "width"), width)
        answer = prediction.singletons(prediction.bivariate_normal(spreads, correlation, widths), size).mean
        draw = partial(chart_of, "two_values_curve", spreads, correlation, widths, size, answer.value)
        return Prediction(what, answer, {}, draw)
    values = _values(options)
    draw = partial(chart_of, "interval_curve", values, size, origin=origin, width=options.get("width"))
    if target is not None:
        widest, share = prediction.width_for(values, size, target, origin=origin)
        exact = Estimate.exact(widest, method="bisection over exact shares", share=share)
        return Prediction(f"width for a share of at most {written(target)}", exact, {}, draw)
    step = needed(options, "width", hint="Or target, for the width that a share of unique people needs.")
    answer = prediction.interval_singletons(values, step, size, origin=origin, method=options.get("method", "exact"))
    return Prediction(what, answer, {}, draw)


def ask_quasi(**options: Unpack[QuasiOptions]) -> Prediction:
    """Can these columns identify people at all? And how many values may each keep for k people per cell?"""
    alpha, k = options.get("alpha", 0.5), options.get("k")
    observed: dict[str, Any] = {}
    if options.get("table") is not None:
        from shoal.api.table_predictions import values_of  # loads the engines, which few questions need

        alone(options, "table", "values")
        sizes, rows, observed = values_of(options["table"], options.get("columns") or (), options.get("counts"))
        people = options.get("people") or rows
    else:
        sizes, people = needed(options, "values", hint="Or a table with its columns."), needed(options, "people")
    test = prediction.quasi_test(sizes, people, alpha)
    more: dict[str, Any] = {"combinations": test.combinations, "possible": test.possible, "needed": test.needed} | observed
    if options.get("subsets"):
        ranked = prediction.rank_subsets(sizes, people, alpha, largest=options["subsets"])
        more["subsets"] = [
            {"columns": list(t.columns), "combinations": t.combinations, "bound": t.bound.value, "possible": t.possible}
            for t in ranked[:50]
        ]
    if k is not None:
        budget = prediction.cell_budget(people, k, options.get("beta", 0.1))
        kept = prediction.integer_split(options.get("weights") or [1.0] * len(sizes), list(sizes.values()), budget.cells)
        allowed = dict(zip(sizes, kept, strict=True))
        more["allowed"] = {"cells": budget.cells, "values": allowed, "notes": list(budget.notes)}
    what = "largest expected share of unique people, for any distribution"
    draw = partial(chart_of, "quasi_curve", test.combinations, people, observed.get("observed"))
    return Prediction(what, test.bound, more, draw)


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


def ask_population(**options: Unpack[PopulationOptions]) -> prediction.PopulationEstimate:
    """Unique in the population, judged from a sample: the chance that a unique match is right, and all models."""
    from shoal.api.arguments import population_of  # loads the engines

    classes, frequencies, people = options.get("classes"), options.get("frequencies"), population_of(options["population"])
    if options.get("table") is not None:
        from shoal.api.table_predictions import table_population  # loads the engines, which few questions need

        alone(options, "table", "classes", "frequencies")
        return table_population(
            options["table"],
            options.get("columns") or None,
            people,
            model=options.get("model") or "auto",
            unit=options.get("unit"),
            count=options.get("counts"),
            cells=options.get("cells"),
            seed=options.get("seed") or 0,
            calibrated=bool(options.get("calibrate")),
            weight=options.get("weight"),
            cluster=options.get("cluster"),
        )
    for word in ("columns", "unit", "counts", "model", "calibrate", "weight", "cluster"):
        if options.get(word):
            raise UsageError(f"{word} says something about a table only.", hint="Give the table as well.")
    if (classes is None) == (frequencies is None):
        raise UsageError("give either a table, classes or frequencies.")
    return prediction.population(frequencies if classes is None else counted(classes), people, cells=options.get("cells"))


def ask_zipf(**options: Unpack[ZipfOptions]) -> Prediction:
    """Places visited by Zipf's law: the expected share of people in cells with fewer than k, for linked records."""
    if options.get("table") is not None:
        from shoal.api.table_predictions import ask_zipf_table  # loads the engines, which no other question needs

        alone(options, "table", "counts", "exponent")
        return ask_zipf_table(options)
    for word in ("unit", "time", "records_per_row"):
        if options.get(word) is not None:
            raise UsageError(f"{word} says something about a table only.", hint="Give table='FILE:column' as well.")
    people, record_numbers = needed(options, "people"), record_counts(options.get("records", 1))
    records = record_numbers[0]
    k, counts = options.get("k", 2), options.get("counts")
    more: dict[str, Any] = {}
    data, beyond = None if counts is None else _visits(counts), 0
    if data is None:
        exponent = needed(options, "exponent", hint="With places; or counts, to fit it.")
        several = dict.fromkeys([exponent] if isinstance(exponent, int | float) else exponent)
        laws = [prediction.Zipf(c, needed(options, "places")) for c in several]
    else:
        fitted = prediction.fit_zipf(data, method=options.get("fit", "mle"))
        beyond = _beyond(options, fitted.places)
        laws = [prediction.Zipf(fitted.c, fitted.places + beyond)]
        more["fit"] = {"exponent": fitted.c, "places": fitted.places, "r2": fitted.r2, "ks": fitted.ks, "method": fitted.method}
    if not laws:
        raise UsageError("no exponent is given.", hint="Write for example exponent=[0.9, 1.1].")
    law = laws[0]
    answer = prediction.expected_share(law, people, records, k=k)
    if beyond:
        note = f"The law was fitted to {law.d - beyond:,} places and carried on to {law.d:,}: an extrapolation."
        answer = replace(answer, grade="C", notes=(*answer.notes, note))
    more |= zipf_thresholds(law, people, records, k)
    limit = options.get("limit")
    if limit is not None:
        allowed = {name: prediction.pseudonym_life(one, people, limit, k=k) for name, one in _name_laws(laws).items()}
        more["records_allowed"] = allowed if len(laws) > 1 else allowed["law"]
    what = f"expected share of people in cells with fewer than {k}"
    if len(record_numbers) > 1 or len(laws) > 1:
        more["shares"] = _shares(laws, people, record_numbers, k)
        what += f", {records:,} linked record{'s' if records > 1 else ''}"
        what += f", exponent {law.c:g}" if len(laws) > 1 else ""
    places = partial(chart_of, "places_by_rank", data, law, people, records, k)
    return Prediction(what, answer, more, places, partial(_renewal_curve, laws, people, record_numbers, k, limit))


def _name_laws(laws: Sequence[prediction.Zipf]) -> dict[str, prediction.Zipf]:
    return {"law" if len(laws) == 1 else f"exponent {law.c:g}": law for law in laws}


def _shares(laws: Sequence[prediction.Zipf], people: int, asked: tuple[int, ...], k: int) -> list[dict[str, Any]]:
    named = _name_laws(laws).items()
    return [
        {"records": s, **{n: prediction.expected_share(z, people, s, k=k).value for n, z in named}} for s in record_steps(asked)
    ]


def _renewal_curve(laws: Sequence[prediction.Zipf], people: int, asked: tuple[int, ...], k: int, limit: float | None) -> Any:
    return chart_of("renewal_curve", _shares(laws, people, asked, k), limit=limit, k=k)


def _visits(counts: Counted) -> list[float]:
    """Visits per place; a column of identifiers is refused."""
    data = counted(counts)
    if isinstance(counts, str | Path) and are_identifiers(data, str(counts)):
        hint = "To count the rows per value: --table FILE:column. Else name the column of visits: --counts FILE:column."
        raise UsageError("the column named for counts holds identifiers, not counts.", hint=hint)
    return data


def _beyond(options: ZipfOptions, fitted: int) -> int:
    """How many more places are asked for than were counted."""
    places = options.get("places")
    if options.get("exponent") is not None:
        raise UsageError("the exponent is fitted to the counts and not given as well.", hint="Leave out exponent or counts.")
    if places is not None and places < fitted:
        hint = "Leave out places, or name at least as many."
        raise UsageError(f"places is {places:,}, but {fitted:,} places were counted.", hint=hint)
    return 0 if places is None else places - fitted


QUESTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "uniqueness": (ask_uniqueness, UniquenessOptions),
    "singletons": (ask_singletons, SingletonsOptions),
    "interval": (ask_interval, IntervalOptions),
    "quasi": (ask_quasi, QuasiOptions),
    "population": (ask_population, PopulationOptions),
    "zipf": (ask_zipf, ZipfOptions),
}


class Predict:
    """``shoal.predict``: call it with a question, or use the functions of :mod:`shoal.prediction` as attributes."""

    Budget = prediction.Budget
    Degradation = prediction.Degradation
    Distribution = prediction.Distribution
    Meter = prediction.Meter
    Person = prediction.Person
    PopulationEstimate = prediction.PopulationEstimate
    PopulationRisk = prediction.PopulationRisk
    QuasiTest = prediction.QuasiTest
    Question = prediction.Question
    Questionnaire = prediction.Questionnaire
    Singletons = prediction.Singletons
    Suggestion = prediction.Suggestion
    Zipf = prediction.Zipf
    ZipfFit = prediction.ZipfFit
    as_distribution = staticmethod(prediction.as_distribution)
    best_code_size = staticmethod(prediction.best_code_size)
    bivariate_normal = staticmethod(prediction.bivariate_normal)
    cell_budget = staticmethod(prediction.cell_budget)
    cell_failure = staticmethod(prediction.cell_failure)
    chernoff_failure = staticmethod(prediction.chernoff_failure)
    corrected_kappa = staticmethod(prediction.corrected_kappa)
    degradation = staticmethod(prediction.degradation)
    expansion = staticmethod(prediction.expansion)
    expected_share = staticmethod(prediction.expected_share)
    fit_zipf = staticmethod(prediction.fit_zipf)
    frechet_bounds = staticmethod(prediction.frechet_bounds)
    gaussian_copula = staticmethod(prediction.gaussian_copula)
    greedy_split = staticmethod(prediction.greedy_split)
    groups_from_kappa = staticmethod(prediction.groups_from_kappa)
    integer_split = staticmethod(prediction.integer_split)
    interval_singletons = staticmethod(prediction.interval_singletons)
    largest_mean = staticmethod(prediction.largest_mean)
    largest_possible_mean = staticmethod(prediction.largest_possible_mean)
    log_uniform = staticmethod(prediction.log_uniform)
    match_probability = staticmethod(prediction.match_probability)
    mean_rank = staticmethod(prediction.mean_rank)
    multivariate_normal = staticmethod(prediction.multivariate_normal)
    mutual_information = staticmethod(prediction.mutual_information)
    needed_combinations = staticmethod(prediction.needed_combinations)
    no_singleton = staticmethod(prediction.no_singleton)
    no_singleton_table = staticmethod(prediction.no_singleton_table)
    people_per_cell = staticmethod(prediction.people_per_cell)
    person = staticmethod(prediction.person)
    population = staticmethod(prediction.population)
    population_risk = staticmethod(prediction.population_risk)
    population_uniqueness = staticmethod(prediction.population_uniqueness)
    pseudonym_life = staticmethod(prediction.pseudonym_life)
    quasi_test = staticmethod(prediction.quasi_test)
    rank_subsets = staticmethod(prediction.rank_subsets)
    rho_for_information = staticmethod(prediction.rho_for_information)
    rounded = staticmethod(prediction.rounded)
    sample_unique_risk = staticmethod(prediction.sample_unique_risk)
    sd_from_singletons = staticmethod(prediction.sd_from_singletons)
    share_below = staticmethod(prediction.share_below)
    singletons = staticmethod(prediction.singletons)
    singletons_from_kappa = staticmethod(prediction.singletons_from_kappa)
    split = staticmethod(prediction.split)
    threshold_rank = staticmethod(prediction.threshold_rank)
    uniform_records = staticmethod(prediction.uniform_records)
    unique_share_bound = staticmethod(prediction.unique_share_bound)
    uniqueness = staticmethod(prediction.uniqueness)
    uniqueness_from_kappa = staticmethod(prediction.uniqueness_from_kappa)
    uniqueness_from_power_sums = staticmethod(prediction.uniqueness_from_power_sums)
    variance_from_kappa = staticmethod(prediction.variance_from_kappa)
    width_for = staticmethod(prediction.width_for)

    @overload
    def __call__(self, question: Literal["uniqueness"], /, **options: Unpack[UniquenessOptions]) -> Prediction: ...
    @overload
    def __call__(self, question: Literal["singletons"], /, **options: Unpack[SingletonsOptions]) -> Prediction: ...
    @overload
    def __call__(self, question: Literal["interval"], /, **options: Unpack[IntervalOptions]) -> Prediction: ...
    @overload
    def __call__(self, question: Literal["quasi"], /, **options: Unpack[QuasiOptions]) -> Prediction: ...
    @overload
    def __call__(
        self, question: Literal["population"], /, **options: Unpack[PopulationOptions]
    ) -> prediction.PopulationEstimate: ...
    @overload
    def __call__(self, question: Literal["zipf"], /, **options: Unpack[ZipfOptions]) -> Prediction: ...
    def __call__(self, question: str, /, **options: Any) -> Prediction | prediction.PopulationEstimate:
        """Answer one of six questions; the options are those of the command ``shoal predict``.

        The functions of :mod:`shoal.prediction` are attributes: ``shoal.predict.uniqueness(365, 23)``.

        Parameters
        ----------
        question : str
            ``uniqueness`` (are all people of a group unique?), ``singletons`` (how many?), ``interval`` (how many, if a value
            is rounded?), ``quasi`` (can these columns identify at all?), ``population`` (unique in the sample: unique in the
            population?), ``zipf`` (places visited by Zipf's law).
        **options
            ``group_size`` with one of ``uniform, counts, p`` (or ``kappa`` with ``cells``); see
            ``shoal predict QUESTION --help``.

        Examples
        --------
        >>> predict("uniqueness", uniform=365, group_size=23)
        <Prediction of the probability that all 23 people are unique: 0.492703 (exact, product of (1 - i/N))>
        >>> round(predict("singletons", p=[0.4, 0.3, 0.2, 0.1], group_size=5).more["variance"], 6)
        0.883551
        """
        if question not in QUESTIONS:
            hint = suggest(question, QUESTIONS) or f"Questions: {', '.join(QUESTIONS)}."
            raise UsageError(f"Unknown question '{question}'.", hint=hint)
        ask, known = QUESTIONS[question]
        check_options(options, known.__annotations__)
        lacking = [option for option in sorted(known.__required_keys__) if options.get(option) is None]
        if lacking:
            raise UsageError(f"{question} needs {lacking[0]}.", hint=f"Add {lacking[0]}=….")
        answer: Prediction | prediction.PopulationEstimate = ask(**options)
        return answer


predict = Predict()

"""``shoal predict``: how identifying will it be, before anything is collected."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._predict import shared as given
from shoal.cli._predict.shared import Text
from shoal.errors import UsageError

Uniform = Annotated[int | None, typer.Option("--uniform", help="N equally likely cells.")]
Counts = Annotated[Text, typer.Option("--counts", help="People per cell: FILE.csv or FILE.csv:column.")]
Probabilities = Annotated[Text, typer.Option("--p", help="Probabilities of the cells: 0.4,0.3,0.3.")]
Normalize = Annotated[bool, typer.Option("--normalize", help="Divide the probabilities by their sum.")]
Cells = Annotated[int | None, typer.Option("--cells", help="N, the number of all possible cells.")]
Kappa = Annotated[
    float | None, typer.Option("--kappa", help="Only the KL distance to the uniform is known (nats; with --cells).")
]
Largest = Annotated[float | None, typer.Option("--p-max", help="Probability of the largest cell, beside --kappa.")]
Group = Annotated[int, typer.Option("--group-size", help="People in the group.")]
Plot = Annotated[Path | None, typer.Option("--plot", help="Write a plot: .svg, .png or .html.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        help="How identifying will it be? From a distribution, a few summaries, or only sizes.",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name, command in (
        ("uniqueness", uniqueness),
        ("singletons", singletons),
        ("interval", interval),
        ("quasi", quasi),
        ("population", population),
        ("zipf", zipf),
    ):
        group.command(name)(command)
    app.add_typer(group, name="predict")


def uniqueness(
    group_size: Group,
    uniform: Uniform = None,
    counts: Counts = None,
    p: Probabilities = None,
    normalize: Normalize = False,
    cells: Cells = None,
    kappa: Kappa = None,
    p_max: Largest = None,
    power_sums: Annotated[Text, typer.Option("--power-sums", help="S_2,S_3,…,S_6 as published, with all their digits.")] = None,
    sums_error: Annotated[
        float | None,
        typer.Option("--sums-error", help="How far each sum may be off, relative; half of its last digit without it."),
    ] = None,
    method: Annotated[
        str,
        typer.Option("--method", help="auto, exact, saddlepoint, poisson, kappa, kappa-limit, chi, collisions."),
    ] = "auto",
    as_json: _shared.Json = False,
) -> None:
    """The probability that all people of a group are unique."""
    from shoal import predict

    cell_options = {"--uniform": uniform, "--counts": counts, "--p": p}
    if kappa is not None:
        given.alone("--kappa", {**cell_options, "--power-sums": power_sums})
        answer = predict.uniqueness_from_kappa(kappa, given.needed(cells, "--cells"), group_size, p_max=p_max)
    elif power_sums is not None:
        given.alone("--power-sums", cell_options)
        sums = given.numbers(power_sums)
        off = given.rounding(power_sums) if sums_error is None else sums_error
        answer = predict.uniqueness_from_power_sums(sums, group_size, p_max=p_max, cells=cells, error=off)
    else:
        d = given.distribution(uniform, counts, p, cells, normalize)
        answer = predict.uniqueness(d, group_size, method=method)  # type: ignore[arg-type]
    given.tell(f"probability that all {group_size} people are unique", answer, as_json=as_json)


def singletons(
    group_size: Group,
    uniform: Uniform = None,
    counts: Counts = None,
    p: Probabilities = None,
    normalize: Normalize = False,
    cells: Cells = None,
    kappa: Kappa = None,
    p_max: Largest = None,
    sizes: Annotated[int, typer.Option("--sizes", help="Also the share of people in groups of 1..SIZES.")] = 0,
    law: Annotated[bool, typer.Option("--law", help="Also the full distribution (JSON: pmf).")] = False,
    best: Annotated[bool, typer.Option("--best", help="Also the group size with the most unique people.")] = False,
    plot: Plot = None,
    as_json: _shared.Json = False,
) -> None:
    """How many people of a group will be unique, and how likely it is that nobody is."""
    from shoal import predict

    if kappa is not None:
        others = {
            "--uniform": uniform,
            "--counts": counts,
            "--p": p,
            "--sizes": sizes,
            "--law": law,
            "--best": best,
            "--plot": plot,
        }
        given.alone("--kappa", others)
        n = given.needed(cells, "--cells")
        mean = predict.singletons_from_kappa(kappa, n, group_size, p_max=p_max)
        spread = predict.variance_from_kappa(kappa, n, group_size, p_max=p_max)
        given.tell(f"expected unique people among {group_size}", mean, {"variance": spread.value}, as_json=as_json)
        return
    d = given.distribution(uniform, counts, p, cells, normalize)
    s = predict.singletons(d, group_size)
    extra: dict[str, Any] = {k: v for k, v in s.to_json().items() if k not in s.mean.to_json()}
    if sizes:
        extra["in_groups_of"] = {str(j): s.in_groups_of(j).value for j in range(1, sizes + 1)}
    if law:
        extra["pmf"], extra["interval"] = s.pmf(), s.interval()
    if best:
        at, most = predict.largest_mean(d)
        extra["best"] = {"group_size": at, "mean": most}
    if plot is not None:
        given.singletons_plot(d, group_size, plot)
    given.tell(f"expected unique people among {group_size}", s.mean, extra, as_json=as_json)


def interval(
    group_size: Group,
    width: Annotated[float | None, typer.Option("--width", help="Width of an interval.")] = None,
    target: Annotated[float | None, typer.Option("--target", help="Find the width for this share of unique people.")] = None,
    normal: Annotated[float | None, typer.Option("--normal", help="Normal value with this standard deviation.")] = None,
    exponential: Annotated[float | None, typer.Option("--exponential", help="Exponential value with this rate.")] = None,
    length: Annotated[float | None, typer.Option("--length", help="Uniform value from 0 to this length.")] = None,
    sample: Annotated[Text, typer.Option("--sample", help="Values of FILE.csv:column.")] = None,
    origin: Annotated[float, typer.Option("--origin", help="Where an interval begins.")] = 0.0,
    second: Annotated[Text, typer.Option("--second", help="A second normal: SD,WIDTH,CORRELATION.")] = None,
    method: Annotated[str, typer.Option("--method", help="exact, first, second or integral.")] = "exact",
    plot: Plot = None,
    as_json: _shared.Json = False,
) -> None:
    """How many people stay unique when a value is rounded to intervals; or the width that a target needs."""
    from shoal import predict
    from shoal.model.estimate import Estimate

    if second is not None:
        given.alone(
            "--second", {"--target": target, "--exponential": exponential, "--length": length, "--sample": sample, "--plot": plot}
        )
        sd2, width2, rho = given.exactly(given.numbers(second), 3, "--second")
        d = predict.bivariate_normal((given.needed(normal, "--normal"), sd2), rho, (given.needed(width, "--width"), width2))
        given.tell(f"expected unique people among {group_size}", predict.singletons(d, group_size).mean, as_json=as_json)
        return
    values = given.values(normal, exponential, length, sample)
    if plot is not None:
        given.interval_plot(values, group_size, origin, width, plot)
    if target is not None:
        found, share = predict.width_for(values, group_size, target, origin=origin)
        answer = Estimate.exact(found, method="bisection over exact shares", share=share)
        given.tell(f"width for a share of at most {target:g}", answer, as_json=as_json)
        return
    step = given.needed(width, "--width", "Or --target, for the width that a share of unique people needs.")
    answer = predict.interval_singletons(values, step, group_size, origin=origin, method=method)  # type: ignore[arg-type]
    given.tell(f"expected unique people among {group_size}", answer, as_json=as_json)


def quasi(
    values: Annotated[str, typer.Option("--values", help="Possible values per column: sex=2,age=100,zip=4000.")],
    people: Annotated[int, typer.Option("--people", help="People in the population.")],
    alpha: Annotated[float, typer.Option("--alpha", help="Share that must be unique to call it identifying.")] = 0.5,
    subsets: Annotated[int, typer.Option("--subsets", help="Rank all sets of up to this many columns.")] = 0,
    k: Annotated[int | None, typer.Option("--k", help="Also how many values are allowed for k people per cell.")] = None,
    beta: Annotated[float, typer.Option("--beta", help="Chance that a cell may hold fewer than k.")] = 0.1,
    weights: Annotated[Text, typer.Option("--weights", help="Importance per column, in the same order.")] = None,
    as_json: _shared.Json = False,
) -> None:
    """Can these columns identify people at all? And how many values may each keep for k people per cell?"""
    from shoal import predict

    sizes = given.sizes(values)
    test = predict.quasi_test(sizes, people, alpha)
    extra: dict[str, Any] = {"combinations": test.combinations, "possible": test.possible, "needed": test.needed}
    if subsets:
        ranked = predict.rank_subsets(sizes, people, alpha, largest=subsets)
        extra["subsets"] = [
            {"columns": list(t.columns), "combinations": t.combinations, "bound": t.bound.value, "possible": t.possible}
            for t in ranked[:50]
        ]
    if k is not None:
        budget = predict.cell_budget(people, k, beta)
        w = given.numbers(weights) if weights else [1.0] * len(sizes)
        kept = predict.integer_split(w, list(sizes.values()), budget.cells)
        extra["allowed"] = {"cells": budget.cells, "values": dict(zip(sizes, kept, strict=True)), "notes": list(budget.notes)}
    given.tell("largest expected share of unique people, whatever the distribution", test.bound, extra, as_json=as_json)


def population(
    population_size: Annotated[str, typer.Option("--population", help="People in the population: 5000, 17.5M.")],
    classes: Annotated[Text, typer.Option("--classes", help="Sizes of the sample's classes: FILE.csv[:column].")] = None,
    frequencies: Annotated[Text, typer.Option("--frequencies", help="Classes by size: 1=120,2=25,3=10.")] = None,
    cells: Cells = None,
    as_json: _shared.Json = False,
) -> None:
    """Unique in the population, judged from a sample: the chance that a unique match is right, and all models."""
    from shoal import predict
    from shoal.api.readers.counts import read_counts
    from shoal.cli.design import size

    if (classes is None) == (frequencies is None):
        raise UsageError("give either --classes or --frequencies.")
    data: Any = read_counts(None, classes) if classes else given.frequencies(str(frequencies))
    found = predict.population(data, size(population_size), cells=cells)
    if as_json:
        _shared.put_json(found.to_json())
        return
    out = _shared.console()
    if found.match is not None:
        out.print(f"chance that a unique match is right: {found.match}", markup=False)
    rows = [[m.name, f"{m.uniques:,.1f}" if m.uniques is not None else "failed", m.failed] for m in found.models]
    out.print(_shared.table_of("Unique people in the population, by model", ["model", "uniques", "why"], rows, right=(1,)))
    if found.uniques is not None:
        u, (least, most) = found.uniques, found.uniques.details["spread"]
        said = f"{u.method}: {u.value:,.0f}, grade {u.grade}; the models say {least:,.0f} to {most:,.0f}; "
        out.print(f"{said}without a model {u.low:,.0f} to {u.high:,.0f} ({u.level:.0%})".replace("%", " %"), markup=False)
    for note in found.notes:
        out.print(note, markup=False)


def zipf(
    people: Annotated[int, typer.Option("--people", help="People (pseudonyms).")],
    records: Annotated[int, typer.Option("--records", help="Records that one pseudonym covers.")] = 1,
    exponent: Annotated[float | None, typer.Option("--exponent", help="Zipf's exponent (with --places).")] = None,
    places: Annotated[int | None, typer.Option("--places", help="Number of places.")] = None,
    counts: Annotated[Text, typer.Option("--counts", help="Fit Zipf's law to FILE.csv[:column].")] = None,
    fit: Annotated[str, typer.Option("--fit", help="mle or least-squares.")] = "mle",
    k: Annotated[int, typer.Option("--k", help="A cell with fewer people is too small.")] = 2,
    limit: Annotated[float | None, typer.Option("--limit", help="Records a pseudonym may cover for this share.")] = None,
    plot: Plot = None,
    as_json: _shared.Json = False,
) -> None:
    """Places visited by Zipf's law: the expected share of people in cells with fewer than k, for linked records."""
    from shoal import predict
    from shoal.api.readers.counts import read_counts

    extra: dict[str, Any] = {}
    data = read_counts(None, counts) if counts else None
    if data is not None:
        fitted = predict.fit_zipf(data, method=fit)  # type: ignore[arg-type]
        law = fitted.law
        extra["fit"] = {"exponent": fitted.c, "places": fitted.places, "r2": fitted.r2, "ks": fitted.ks, "method": fitted.method}
    else:
        law = predict.Zipf(
            given.needed(exponent, "--exponent", "With --places; or --counts, to fit it."), given.needed(places, "--places")
        )
    answer = predict.expected_share(law, people, records, k=k)
    if law.c > 0:
        rank = predict.threshold_rank(law, people, records, k=k)
        extra |= {"threshold_rank": rank, "mean_rank": rank ** (1 / records)}
        extra["share_below_threshold"] = predict.share_below(law, rank, records).value
    if limit is not None:
        extra["records_allowed"] = predict.pseudonym_life(law, people, limit, k=k)
    if plot is not None:
        given.zipf_plot(data, law, people, records, k, plot)
    given.tell(f"expected share of people in cells with fewer than {k}", answer, extra, as_json=as_json)

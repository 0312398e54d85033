"""``shoal predict``: how identifying will it be, before anything is collected."""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from shoal.cli import _predictions, _shared
from shoal.cli._predictions import Text
from shoal.cli._shell import common, texts
from shoal.cli._shell.commands import Commands
from shoal.cli._shell.preview import show_preview

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
    group = Commands(
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
    plot: Plot = None,
    as_json: common.Json = False,
) -> None:
    """The probability that all people of a group are unique."""
    import shoal

    found = shoal.predict(
        "uniqueness",
        group_size=group_size,
        uniform=uniform,
        counts=counts,
        p=_predictions.numbers(p),
        normalize=normalize,
        cells=cells,
        kappa=kappa,
        p_max=p_max,
        power_sums=power_sums,
        sums_error=sums_error,
        method=cast("Any", method),  # an unknown word is refused in the room
    )
    _predictions.show_prediction(found, plot, as_json=as_json)


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
    as_json: common.Json = False,
) -> None:
    """How many people of a group will be unique, and how likely it is that nobody is."""
    import shoal

    found = shoal.predict(
        "singletons",
        group_size=group_size,
        uniform=uniform,
        counts=counts,
        p=_predictions.numbers(p),
        normalize=normalize,
        cells=cells,
        kappa=kappa,
        p_max=p_max,
        sizes=sizes,
        law=law,
        best=best,
    )
    _predictions.show_prediction(found, plot, as_json=as_json)


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
    as_json: common.Json = False,
) -> None:
    """How many people stay unique when a value is rounded to intervals; or the width that a target needs."""
    import shoal

    found = shoal.predict(
        "interval",
        group_size=group_size,
        width=width,
        target=target,
        normal=normal,
        exponential=exponential,
        length=length,
        sample=sample,
        origin=origin,
        second=_predictions.three(second, "--second"),
        method=cast("Any", method),  # an unknown word is refused in the room
    )
    _predictions.show_prediction(found, plot, as_json=as_json)


def quasi(
    values: Annotated[Text, typer.Option("--values", help="Possible values per column: sex=2,age=100,zip=4000.")] = None,
    people: Annotated[
        int | None, typer.Option("--people", help="People in the population; with --table its records without it.")
    ] = None,
    table: Annotated[Text, typer.Option("--table", help="Count the values of the columns --quasi in this table.")] = None,
    columns: Annotated[Text, typer.Option("--quasi", help="With --table: the columns, a,b.")] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Share that must be unique to call it identifying.")] = 0.5,
    subsets: Annotated[int, typer.Option("--subsets", help="Rank all sets of up to this many columns.")] = 0,
    k: Annotated[int | None, typer.Option("--k", help="Also how many values are allowed for k people per cell.")] = None,
    beta: Annotated[float, typer.Option("--beta", help="Chance that a cell may hold fewer than k.")] = 0.1,
    weights: Annotated[Text, typer.Option("--weights", help="Importance per column, in the same order.")] = None,
    preview: common.Preview = False,
    plot: Plot = None,
    as_json: common.Json = False,
) -> None:
    """Can these columns identify people at all? And how many values may each keep for k people per cell?"""
    import shoal

    words: dict[str, Any] = {
        "values": None if values is None else _predictions.sizes(values),
        "columns": texts.names(columns),
        "people": people,
        "alpha": alpha,
        "subsets": subsets,
        "k": k,
        "beta": beta,
        "weights": _predictions.numbers(weights),
    }
    if preview:
        show_preview("predict", table, {}, as_json=as_json, question="quasi", **words)
        return
    found = shoal.predict("quasi", table=table, **words)
    _predictions.show_prediction(found, plot, as_json=as_json)


def population(
    people: Annotated[str, typer.Option("--population", help="People in the population: 5000, 17.5M.")],
    table: Annotated[Text, typer.Option("--table", help="The sample: risk of each record by a fitted population.")] = None,
    columns: Annotated[Text, typer.Option("--quasi", help="With --table: the columns, a,b.")] = None,
    unit: Annotated[Text, typer.Option("--unit", help="With --table: the column that names a person.")] = None,
    model: Annotated[Text, typer.Option("--model", help="auto, independent, tree, two-way or copula.")] = None,
    household: Annotated[Text, typer.Option("--household", help="With --table: risk of households by this column.")] = None,
    records: Annotated[
        Path | None, typer.Option("--records", help="With --table: write row number, risk and crowd of each record (.csv).")
    ] = None,
    classes: Annotated[Text, typer.Option("--classes", help="Sizes of the sample's classes: FILE.csv[:column].")] = None,
    frequencies: Annotated[Text, typer.Option("--frequencies", help="Classes by size: 1=120,2=25,3=10.")] = None,
    cells: Cells = None,
    seed: common.Seed = 0,
    preview: common.Preview = False,
    plot: Plot = None,
    as_json: common.Json = False,
) -> None:
    """Unique in the population, judged from a sample: a unique match, all models, and with a table the risk of each record."""
    import shoal

    by_size = None if frequencies is None else _predictions.frequencies(frequencies)
    words: dict[str, Any] = {
        "population": people,
        "classes": classes,
        "frequencies": by_size,
        "cells": cells,
        "columns": texts.names(columns),
        "unit": unit,
        "model": model or "",
        "seed": seed,
    }
    if preview:
        show_preview("predict", table, {}, as_json=as_json, question="population", **words)
        return
    found = shoal.predict("population", table=table, **words)
    _predictions.show_population(found, household=household, records=records, plot=plot, as_json=as_json)


def zipf(
    people: Annotated[
        int | None, typer.Option("--people", help="People (pseudonyms); with --table and --unit those of the table.")
    ] = None,
    records: Annotated[int, typer.Option("--records", help="Records (rows, with --table) that one pseudonym covers.")] = 1,
    exponent: Annotated[float | None, typer.Option("--exponent", help="Zipf's exponent (with --places).")] = None,
    places: Annotated[int | None, typer.Option("--places", help="Number of places.")] = None,
    counts: Annotated[Text, typer.Option("--counts", help="Fit Zipf's law to FILE.csv[:column].")] = None,
    fit: Annotated[str, typer.Option("--fit", help="mle or least-squares.")] = "mle",
    k: Annotated[int, typer.Option("--k", help="A cell with fewer people is too small.")] = 2,
    limit: Annotated[float | None, typer.Option("--limit", help="Records a pseudonym may cover for this share.")] = None,
    table: Annotated[Text, typer.Option("--table", help="Fit it to the rows of TABLE:column, a visit each.")] = None,
    unit: Annotated[Text, typer.Option("--unit", help="With --table, the person: measure beside the law.")] = None,
    time: Annotated[Text, typer.Option("--time", help="With --unit, the time: records in order, Markov chain.")] = None,
    records_per_row: Annotated[
        int | None, typer.Option("--records-per-row", help="Places per row: 2 for trips with beginning and end.")
    ] = None,
    curve: Annotated[
        Path | None, typer.Option("--curve", help="With --table, write the shares by records: .svg, .png or .html.")
    ] = None,
    seed: common.Seed = 0,
    preview: common.Preview = False,
    plot: Plot = None,
    as_json: common.Json = False,
) -> None:
    """Places visited by Zipf's law: the expected share of people in cells with fewer than k, for linked records."""
    import shoal

    words: dict[str, Any] = {
        "people": people,
        "records": records,
        "exponent": exponent,
        "places": places,
        "counts": counts,
        "fit": fit,
        "k": k,
        "limit": limit,
        "unit": unit,
        "time": time,
        "records_per_row": records_per_row,
        "seed": seed,
    }
    if preview:
        place, _, column = (table or "").rpartition(":")
        show_preview("predict", place, {}, as_json=as_json, question="zipf", column=column, **words)
        return
    found = shoal.predict("zipf", table=table, **words)
    if curve is not None:
        _shared.say(f"Curve written to {found.curve(curve)}.")
    _predictions.show_prediction(found, plot, as_json=as_json)

"""``shoal predict``: how identifying will it be, before anything is collected."""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from pathlib import Path
from typing import Annotated, Any

import typer

import shoal
from shoal.cli import _predictions, _shared
from shoal.cli._shared import preview_instead
from shoal.cli._shell import options, texts
from shoal.cli._shell.commands import Commands
from shoal.cli._shell.options import Option, from_verb

Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Write a plot: .svg, .png or .html.")]
QUASI = Option("With --table: the columns, a,b.", "COLUMNS", texts.names, "--quasi", str)
COUNT = Option("With --table: column of counts, people per row.", "COLUMN", flag="--count")
CELLS = {
    "group_size": Option("People in the group.", "NUMBER", flag="--group-size --group"),
    "uniform": Option("Number of equally likely cells.", "N"),
    "counts": Option("People per cell: FILE.csv or FILE.csv:column.", "FILE"),
    "p": Option("Probabilities of the cells: 0.4,0.3,0.3.", "NUMBERS", texts.numbers),
    "normalize": Option("Divide the probabilities by their sum."),
    "cells": Option("Number of possible cells.", "N"),
    "kappa": Option("KL distance to the uniform distribution, in nats; with --cells.", "NATS"),
    "p_max": Option("Probability of the largest cell, with --kappa.", "P"),
}
METHODS = "auto, exact, saddlepoint, poisson, kappa, kappa-limit, chi …"


def register(app: typer.Typer) -> None:
    group = Commands(
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Predict how identifying data will be: from a distribution, a few summaries, or only sizes.",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for command in (uniqueness, singletons, interval, quasi, population, zipf):
        group.command(command.__name__)(command)
    app.add_typer(group, name="predict")


def _answer(question: str, options: dict[str, Any], plot: Path | None, *, as_json: bool) -> None:
    """Ask the question and print the answer."""
    found: Any = shoal.predict(question, **options)  # type: ignore[call-overload]
    _predictions.show_prediction(found, plot, as_json=as_json)


@from_verb(
    "predict:UniquenessOptions",
    {
        **CELLS,
        "power_sums": Option("S_2,S_3,…,S_6 as published, with all their digits.", "NUMBERS"),
        "sums_error": Option("Relative error of each sum (default: half of its last digit).", "SHARE"),
        "method": Option(METHODS, "METHOD", default="auto"),
    },
)
def uniqueness(verb_options: dict[str, Any], plot: Plot = None, as_json: options.Json = False) -> None:
    """Predict the probability that all people of a group are unique."""
    _answer("uniqueness", verb_options, plot, as_json=as_json)


@from_verb(
    "predict:SingletonsOptions",
    {
        **CELLS,
        "place": Option("Instead of cells: a place with published counts, Utrecht.", "PLACE"),
        "attributes": Option("With --place: the attributes, age/5y,sex.", "CODES", texts.names),
        "sizes": Option("Also the share of people in groups of 1 to SIZES.", "SIZES", default=0),
        "law": Option("Also the full distribution (JSON: pmf)."),
        "best": Option("Also the group size with the most unique people."),
    },
)
def singletons(verb_options: dict[str, Any], plot: Plot = None, as_json: options.Json = False) -> None:
    """Predict how many people of a group are unique, and how likely it is that nobody is."""
    _answer("singletons", verb_options, plot, as_json=as_json)


@from_verb(
    "predict:IntervalOptions",
    {
        "group_size": CELLS["group_size"],
        "width": Option("Width of an interval.", "NUMBER"),
        "target": Option("Find the width for this share of unique people.", "SHARE"),
        "normal": Option("Normal value with this standard deviation.", "SD"),
        "exponential": Option("Exponential value with this rate.", "RATE"),
        "length": Option("Uniform value from 0 to this length.", "LENGTH"),
        "sample": Option("Values of FILE.csv:column.", "FILE"),
        "origin": Option("Start of an interval.", "NUMBER", default=0.0),
        "second": Option("Second normal value: SD,WIDTH,CORRELATION.", "NUMBERS", _predictions.read_second),
        "method": Option("exact, first, second or integral.", "METHOD", default="exact"),
    },
)
def interval(verb_options: dict[str, Any], plot: Plot = None, as_json: options.Json = False) -> None:
    """Predict how many people stay unique if a value is rounded; or find the width for a target."""
    _answer("interval", verb_options, plot, as_json=as_json)


@from_verb(
    "predict:QuasiOptions",
    {
        "values": Option("Possible values per column: sex=2,age=100,zip=4000.", "COLUMN=N", _predictions.sizes),
        "people": Option("People in the population (default: records of --table).", "NUMBER"),
        "table": Option("Count the values of the columns --quasi in this table.", "TABLE"),
        "columns": QUASI,
        "counts": COUNT,
        "alpha": Option("Unique share from which columns are called identifying.", "SHARE", default=0.5),
        "subsets": Option("Rank all sets of up to this many columns.", "NUMBER", default=0),
        "k": Option("Also how many values are allowed for k people per cell.", "K"),
        "beta": Option("Chance that a cell may contain fewer than k.", "SHARE", default=0.1),
        "weights": Option("Importance per column, in the same order.", "NUMBERS", texts.numbers),
    },
)
def quasi(
    verb_options: dict[str, Any], preview: options.Preview = False, plot: Plot = None, as_json: options.Json = False
) -> None:
    """Test if columns can identify people at all, and how many values each may keep."""
    if preview:
        table = verb_options.pop("table", None)
        preview_instead(preview, "predict", table, {}, as_json=as_json, question="quasi", **verb_options)
    _answer("quasi", verb_options, plot, as_json=as_json)


@from_verb(
    "predict:PopulationOptions",
    {
        "population": Option("People in the population: 5000, 17.5M.", "NUMBER"),
        "table": Option("Sample: the risk of each record by a fitted population.", "TABLE"),
        "columns": QUASI,
        "unit": Option("With --table: column that identifies a person.", "COLUMN"),
        "counts": COUNT,
        "model": Option("auto (average), independent, tree, two-way, latent-class.", "MODEL"),
        "weight": Option("With --table: sampling weights, one over the chance of a person.", "COLUMN"),
        "cluster": Option("With --table: households of which all were sampled.", "COLUMN"),
        "calibrate": Option("With --table: test the intervals on subsamples, widen them."),
        "classes": Option("Sizes of the sample's classes: FILE.csv[:column].", "FILE"),
        "frequencies": Option("Classes by size: 1=120,2=25,3=10.", "SIZE=N", _predictions.frequencies),
        "cells": CELLS["cells"],
        "seed": Option("Same input and seed, same output.", "NUMBER", default=0),
    },
)
def population(
    verb_options: dict[str, Any],
    household: Annotated[
        str | None, typer.Option("--household", metavar="COLUMN", help="With --table: risk of households by this column.")
    ] = None,
    records: Annotated[
        Path | None, typer.Option("--records", metavar="FILE", help="With --table: write the risk of each record (.csv).")
    ] = None,
    preview: options.Preview = False,
    plot: Plot = None,
    as_json: options.Json = False,
) -> None:
    """Estimate population uniqueness from a sample; with a table, the risk of each record."""
    if preview:
        table = verb_options.pop("table", None)
        preview_instead(preview, "predict", table, {}, as_json=as_json, question="population", **verb_options)
    found = shoal.predict("population", **verb_options)
    _predictions.show_population(found, household=household, records=records, plot=plot, as_json=as_json)


@from_verb(
    "predict:ZipfOptions",
    {
        "people": Option("People (pseudonyms); default with --unit: those of the table.", "NUMBER"),
        "records": Option("Records of one pseudonym: 4, or 1,2,4,8; default 1.", "NUMBERS", _predictions.record_counts, kind=str),
        "exponent": Option("Zipf's exponent, with --places; several: 0.9,1.1.", "NUMBERS", texts.numbers, kind=str),
        "places": Option("Number of places.", "NUMBER"),
        "counts": Option("Fit Zipf's law to FILE.csv[:column].", "FILE"),
        "fit": Option("mle or least-squares.", "METHOD", default="mle"),
        "k": Option("A cell with fewer people is too small.", "K", default=2),
        "limit": Option("Find how many records a pseudonym may cover for this share.", "SHARE"),
        "table": Option("Fit it to the rows of TABLE:column, one visit each.", "TABLE", kind=str),
        "unit": Option("With --table: the person; also measures the table.", "COLUMN"),
        "time": Option("With --unit: the time; orders the records.", "COLUMN"),
        "records_per_row": Option("Places per row: 2 for trips with start and end.", "NUMBER"),
        "seed": Option("Same input and seed, same output.", "NUMBER", default=0),
    },
)
def zipf(
    verb_options: dict[str, Any],
    curve: Annotated[Path | None, typer.Option("--curve", metavar="FILE", help="Plot the shares by records.")] = None,
    preview: options.Preview = False,
    plot: Plot = None,
    as_json: options.Json = False,
) -> None:
    """Predict the share of people in small cells if places follow Zipf's law, for linked records."""
    if preview:
        place, _, column = verb_options.pop("table", "").rpartition(":")
        preview_instead(preview, "predict", place, {}, as_json=as_json, question="zipf", column=column, **verb_options)
    found = shoal.predict("zipf", **verb_options)
    if curve is not None:
        _shared.say(f"Curve written to {found.curve(curve)}.")
    _predictions.show_prediction(found, plot, as_json=as_json)

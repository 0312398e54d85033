"""``shoal predict``: how identifying will it be, before anything is collected? ``observe``: what must an observer believe?"""

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
from shoal.errors import refuse

Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Write a plot: .svg, .png or .html.")]
Guesses = Annotated[Path | None, typer.Option("--plot", help="Write the surest guess by observation: .svg, .png or .html.")]
SHOWN = 12
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
    group = Commands(help="Predict how identifying data will be: from a distribution, a few summaries, or only sizes.")
    for command in (uniqueness, singletons, interval, quasi, population, zipf):
        group.command(command.__name__)(command)
    app.add_typer(group, name="predict")
    observer = Commands(help="Compute what an observer of an anonymity protocol can infer: exact posteriors.")
    for name, command in (("dining", dining), ("threshold-mix", threshold_mix), ("pool-mix", pool_mix), ("crowds", crowds)):
        observer.command(name)(command)
    app.add_typer(observer, name="observe")


def _answer(question: str, options: dict[str, Any], plot: Path | None, *, as_json: bool) -> None:
    """Ask the question and print the answer."""
    answer: Any = shoal.predict(question, **options)  # type: ignore[call-overload]
    _predictions.show_prediction(answer, plot, as_json=as_json)


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
    answer = shoal.predict("population", **verb_options)
    _predictions.show_population(answer, household=household, records=records, plot=plot, as_json=as_json)


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
    answer = shoal.predict("zipf", **verb_options)
    if curve is not None:
        _shared.say(f"Curve written to {answer.curve(curve)}.")
    _predictions.show_prediction(answer, plot, as_json=as_json)


def dining(
    players: Annotated[int, typer.Option("--players", help="Players in the ring.")] = 3,
    bias: Annotated[float, typer.Option("--bias", help="Chance that a coin shows 1.")] = 0.5,
    insiders: Annotated[str, typer.Option("--insiders", help="Players who observe, from 0: 0,2.")] = "",
    plot: Guesses = None,
    as_json: options.Json = False,
) -> None:
    """Dining cryptographers: who paid, from what is announced."""
    with refuse(typer.BadParameter("insiders are numbers of players: 0,2."), ValueError):
        inside = [int(x) for x in texts.names(insiders)]
    _tell_observer("dining_cryptographers", plot, as_json, players, bias=bias, insiders=inside)


def threshold_mix(
    messages: Annotated[int, typer.Option("--messages", help="Messages in a batch.")],
    attacker: Annotated[int, typer.Option("--attacker", help="Messages of the batch that are the observer's own.")] = 0,
    plot: Guesses = None,
    as_json: options.Json = False,
) -> None:
    """A mix that waits for so many messages: which of them is the one that leaves."""
    _tell_observer("threshold_mix", plot, as_json, messages, attacker=attacker)


def pool_mix(
    messages: Annotated[int, typer.Option("--messages", help="Messages that arrive, and leave, each round.")],
    pool: Annotated[int, typer.Option("--pool", help="Messages that stay, drawn at random.")],
    rounds: Annotated[int, typer.Option("--rounds", help="Rounds so far.")] = 20,
    plot: Guesses = None,
    as_json: options.Json = False,
) -> None:
    """A mix that keeps a pool: which message of which round leaves now."""
    _tell_observer("pool_mix", plot, as_json, messages, pool, rounds)


def crowds(
    members: Annotated[int, typer.Option("--members", help="Members of the crowd.")],
    corrupt: Annotated[int, typer.Option("--corrupt", help="Members who collaborate and observe.")] = 1,
    forward: Annotated[float, typer.Option("--forward", help="Chance to forward instead of delivering.")] = 0.75,
    paths: Annotated[int, typer.Option("--paths", help="Paths of the same person: the predecessor attack.")] = 1,
    plot: Guesses = None,
    as_json: options.Json = False,
) -> None:
    """Crowds: who began, from who came before the first collaborator."""
    _tell_observer("crowds", plot, as_json, members, corrupt=corrupt, forward=forward, paths=paths)


def _tell_observer(protocol: str, plot: Path | None, as_json: bool, *settings: int, **options: Any) -> None:
    """Print what an observer of the protocol learns, with a model of :mod:`shoal.measures.observer.models`."""
    from shoal.measures.observer import models

    model = getattr(models, protocol)(*settings, **options)
    numbers = model.to_json()
    seen = numbers["observations"]
    if plot is not None:
        from shoal.report.charts import bars, save

        names, sure = [s["observation"] for s in seen[:SHOWN]], [s["posterior"] for s in seen[:SHOWN]]
        chart = bars(names, sure, title=f"Surest guess by observation: {model.name}", x="posterior of the likeliest")
        _shared.say(f"Plot written to {save(chart, plot)}.")
    if as_json:
        _shared.put_json(numbers)
        return
    sentence = f"{model.name}: {numbers['subjects']:,} candidates, {_shared.shown(numbers['entropy_before'])} bits of doubt "
    sentence += f"before, {_shared.shown(numbers['entropy_after'])} after on average; "
    sentence += f"the best guess is right with a chance of {_shared.shown(numbers['right_guess'])}"
    _shared.line(sentence + (" (perfect: nothing is learned)." if numbers["perfect"] else "."))
    heads = ["observation", "chance", "likeliest", "posterior", "entropy", "degree", "grade", "KL"]
    shown = _shared.shown
    rows = [
        [s["observation"], shown(s["chance"]), s["likeliest"], shown(s["posterior"]), shown(s["shannon_entropy"])]
        + [shown(s["degree_of_anonymity"], 3), s["grade"], shown(s["kl"])]
        for s in seen[:SHOWN]
    ]
    _shared.show_table("What each observation tells", heads, rows, right=(1, 3, 4, 5, 7))
    if len(seen) > SHOWN:
        _shared.line(f"and {len(seen) - SHOWN:,} rarer observations (--json has all)")
    _shared.next_step("more members or other settings show what they buy; --plot observed.svg draws the guesses.")

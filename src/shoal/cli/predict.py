"""``shoal predict``: how identifying will it be, before anything is collected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _shared
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.model.estimate import Estimate
    from shoal.predict import Distribution

Text = str | None
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
    power_sums: Annotated[Text, typer.Option("--power-sums", help="S_2,S_3,…,S_6 as published.")] = None,
    method: Annotated[
        str,
        typer.Option("--method", help="auto, exact, saddlepoint, poisson, kappa, kappa-limit, chi, collisions."),
    ] = "auto",
    as_json: _shared.Json = False,
) -> None:
    """The probability that all people of a group are unique."""
    from shoal import predict

    if kappa is not None:
        answer = predict.uniqueness_from_kappa(kappa, _needed(cells, "--cells"), group_size, p_max=p_max)
    elif power_sums is not None:
        answer = predict.uniqueness_from_power_sums(_numbers(power_sums), group_size, p_max=p_max, cells=cells)
    else:
        d = _distribution(uniform, counts, p, cells, normalize)
        answer = predict.uniqueness(d, group_size, method=method)  # type: ignore[arg-type]
    _tell(f"probability that all {group_size} people are unique", answer, as_json=as_json)


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
        n = _needed(cells, "--cells")
        mean = predict.singletons_from_kappa(kappa, n, group_size, p_max=p_max)
        spread = predict.variance_from_kappa(kappa, n, group_size, p_max=p_max)
        _tell(f"expected unique people among {group_size}", mean, {"variance": spread.value}, as_json=as_json)
        return
    d = _distribution(uniform, counts, p, cells, normalize)
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
        _singletons_plot(d, group_size, plot)
    _tell(f"expected unique people among {group_size}", s.mean, extra, as_json=as_json)


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
        sd2, width2, rho = _exactly(_numbers(second), 3, "--second")
        d = predict.bivariate_normal((_needed(normal, "--normal"), sd2), rho, (_needed(width, "--width"), width2))
        _tell(f"expected unique people among {group_size}", predict.singletons(d, group_size).mean, as_json=as_json)
        return
    values = _values(normal, exponential, length, sample)
    if plot is not None:
        _interval_plot(values, group_size, origin, width, plot)
    if target is not None:
        found, share = predict.width_for(values, group_size, target, origin=origin)
        answer = Estimate.exact(found, method="bisection over exact shares", share=share)
        _tell(f"width for a share of at most {target:g}", answer, as_json=as_json)
        return
    answer = predict.interval_singletons(values, _needed(width, "--width"), group_size, origin=origin, method=method)  # type: ignore[arg-type]
    _tell(f"expected unique people among {group_size}", answer, as_json=as_json)


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

    sizes = _sizes(values)
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
        w = _numbers(weights) if weights else [1.0] * len(sizes)
        kept = predict.integer_split(w, list(sizes.values()), budget.cells)
        extra["allowed"] = {"cells": budget.cells, "values": dict(zip(sizes, kept, strict=True)), "notes": list(budget.notes)}
    _tell("largest expected share of unique people, whatever the distribution", test.bound, extra, as_json=as_json)


def population(
    population_size: Annotated[str, typer.Option("--population", help="People in the population: 5000, 17.5M.")],
    classes: Annotated[Text, typer.Option("--classes", help="Sizes of the sample's classes: FILE.csv[:column].")] = None,
    frequencies: Annotated[Text, typer.Option("--frequencies", help="Classes by size: 1=120,2=25,3=10.")] = None,
    cells: Cells = None,
    as_json: _shared.Json = False,
) -> None:
    """Unique in the population, judged from a sample: the chance that a unique match is right, and all models."""
    from shoal import predict
    from shoal.cli.design import size
    from shoal.predict.count_files import read_counts

    if (classes is None) == (frequencies is None):
        raise UsageError("give either --classes or --frequencies.")
    data: Any = read_counts(None, classes) if classes else {int(a): b for a, b in _sizes(str(frequencies)).items()}
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
    from shoal.predict.count_files import read_counts

    extra: dict[str, Any] = {}
    data = read_counts(None, counts) if counts else None
    if data is not None:
        fitted = predict.fit_zipf(data, method=fit)  # type: ignore[arg-type]
        law = fitted.law
        extra["fit"] = {"exponent": fitted.c, "places": fitted.places, "r2": fitted.r2, "ks": fitted.ks, "method": fitted.method}
    else:
        law = predict.Zipf(_needed(exponent, "--exponent"), _needed(places, "--places"))
    answer = predict.expected_share(law, people, records, k=k)
    if law.c > 0:
        rank = predict.threshold_rank(law, people, records, k=k)
        extra |= {"threshold_rank": rank, "mean_rank": rank ** (1 / records)}
        extra["share_below_threshold"] = predict.share_below(law, rank, records).value
    if limit is not None:
        extra["records_allowed"] = predict.pseudonym_life(law, people, limit, k=k)
    if plot is not None:
        _zipf_plot(data, law, people, records, k, plot)
    _tell(f"expected share of people in cells with fewer than {k}", answer, extra, as_json=as_json)


def _tell(what: str, answer: Estimate, extra: dict[str, Any] | None = None, *, as_json: bool) -> None:
    if as_json:
        _shared.put_json(answer.to_json() | (extra or {}))
        return
    out = _shared.console()
    out.print(f"{what}: {answer}", markup=False)
    if answer.log_value is not None and 0 <= answer.value < 1e-6:
        out.print(f"  natural logarithm {answer.log_value:.6g}", markup=False)
    for name, value in (extra or {}).items():
        out.print(f"  {name.replace('_', ' ')}: {_short(value)}", markup=False)
    for note in answer.notes:
        out.print(f"  note: {note}", markup=False)


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{_shared.printable(str(k))} {_short(v)}" for k, v in value.items())
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        shown = [_short(v) for v in value[:12]]
        return "; ".join(shown) + (" …" if len(value) > 12 else "")
    return f"{value:.6g}" if isinstance(value, float) else _shared.printable(str(value))


def _distribution(uniform: int | None, counts: Text, p: Text, cells: int | None, normalize: bool) -> Distribution:
    from shoal.predict import Distribution
    from shoal.predict.count_files import read_counts

    if sum(x is not None for x in (uniform, counts, p)) != 1:
        raise UsageError("give exactly one of --uniform, --counts and --p.", hint="Or --kappa with --cells.")
    if uniform is not None:
        return Distribution.uniform(uniform)
    if counts is not None:
        return Distribution.counts(read_counts(None, counts), cells=cells)
    return Distribution.of(_numbers(str(p)), normalize=normalize)


def _values(normal: float | None, exponential: float | None, length: float | None, sample: Text) -> Any:
    from scipy import stats

    from shoal.predict.count_files import read_counts

    if sum(x is not None for x in (normal, exponential, length, sample)) != 1:
        raise UsageError("give exactly one of --normal, --exponential, --length and --sample.")
    if sample is not None:
        return read_counts(None, sample)
    scale = next(x for x in (normal, exponential, length) if x is not None)
    if not scale > 0:
        raise UsageError(f"a spread, rate or length is positive; found {scale!r}.")
    if normal is not None:
        return stats.norm(scale=normal)
    return stats.expon(scale=1 / scale) if exponential is not None else stats.uniform(0, scale)


def _numbers(text: str) -> list[float]:
    try:
        return [float(x) for x in text.split(",") if x.strip()]
    except ValueError:
        raise UsageError("numbers are given as 0.4,0.3,0.3.") from None


def _exactly(values: list[float], n: int, option: str) -> list[float]:
    if len(values) != n:
        raise UsageError(f"{option} takes {n} numbers; found {len(values)}.")
    return values


def _sizes(text: str) -> dict[str, int]:
    out: dict[str, int] = {}
    for i, part in enumerate((x for x in text.split(",") if x.strip()), start=1):
        name, separator, number = part.rpartition("=")
        key = name.strip() if separator else f"column {i}"
        try:
            out[key] = int(number)
        except ValueError:
            raise UsageError("sizes are given as name=number,name=number.") from None
    if not out:
        raise UsageError("sizes are given as name=number,name=number.")
    return out


def _needed(value: Any, option: str) -> Any:
    if value is None:
        raise UsageError(f"{option} is needed here.")
    return value


def _singletons_plot(d: Distribution, group_size: int, path: Path) -> None:
    import numpy as np

    from shoal.report import plots

    sizes = np.unique(np.rint(np.linspace(1, 2 * group_size, 60)).astype(int)).tolist()
    plots.save(plots.singletons_curve(d, sizes), path, title="Unique people by group size")
    _shared.say(f"Plot written to {path}.")


def _interval_plot(values: Any, group_size: int, origin: float, width: float | None, path: Path) -> None:
    import numpy as np

    from shoal.report import plots

    spread = float(values.std()) if hasattr(values, "std") else float(np.std(values))
    top = 2 * width if width else 2 * spread
    figure = plots.interval_curve(values, np.linspace(top / 50, top, 50).tolist(), group_size, origin=origin)
    plots.save(figure, path, title="Unique people by width of the interval")
    _shared.say(f"Plot written to {path}.")


def _zipf_plot(counts: list[float] | None, law: Any, people: int, records: int, k: int, path: Path) -> None:
    from shoal import predict
    from shoal.report import plots

    rank = predict.threshold_rank(law, people, records, k=k) ** (1 / records) if law.c > 0 else None
    figure = plots.zipf_ranks(counts, law, threshold=rank, total=sum(counts) if counts else 1.0, records=records, k=k)
    plots.save(figure, path, title="Zipf's law")
    _shared.say(f"Plot written to {path}.")

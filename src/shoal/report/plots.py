"""Charts of predictions: what the commands write with ``--plot``, ``--heat-map`` and ``--curve``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.model.display import written
from shoal.report.charts import Chart, Line, Revealed, bars, curve, heat_map, known_records, staircase

if TYPE_CHECKING:
    from shoal.model.estimate import Estimate
    from shoal.prediction import Meter, PopulationEstimate, PopulationRisk, Zipf

DOTS = 300
"""Counts of more ranks than this are thinned evenly on the logarithmic axis."""


def _up_to_twice(group_size: int, steps: int = 60) -> list[int]:
    """Group sizes up to twice the one asked for."""
    sizes: list[int] = np.unique(np.rint(np.linspace(1, 2 * group_size, steps)).astype(int)).tolist()
    return sizes


def _by_group_size(lines: Sequence[Line], group_size: int, *, everybody: bool) -> Chart:
    """The chance that everybody is unique, or how many are; the group size that is asked for is marked."""
    y, title = ("chance that all are unique, %", "Uniqueness") if everybody else ("unique people", "Unique people")
    here = (float(group_size), f"asked: {group_size:,}")
    return curve(lines, x="people in the group", y=y, title=f"{title} by group size", here=here)


def singletons_curve(p: Any, group_size: int, *, level: float = 0.95) -> Chart:
    """Expected unique people against the group size, with the range that holds ``level`` of the outcomes."""
    from shoal.prediction import singletons

    sizes = _up_to_twice(group_size)
    expected = [singletons(p, int(size)) for size in sizes]
    points = [(float(size), float(s.mean)) for size, s in zip(sizes, expected, strict=True)]
    band = [_band(s, level) for s in expected]
    lines = [Line("expected", points, band, f"{level:.0%} of groups".replace("%", " %"))]
    if p.kappa > 1e-9:
        even = [(float(size), float(singletons(p.cells, int(size)).mean)) for size in sizes]
        lines.append(Line(f"{p.cells:,} equally likely cells", even))
    return curve(lines, x="people in the group", y="unique people", title="Unique people by group size")


def place_curve(share: Callable[[int], Estimate], group_size: int) -> Chart:
    """Expected unique people of a place against the group size, within what its counts allow."""
    shares = [(float(size), size * share(int(size)).value, share(int(size))) for size in _up_to_twice(group_size)]
    points, band = [(n, value) for n, value, _ in shares], [(n * e.low, n * e.high) for n, _, e in shares]
    return _by_group_size([Line("expected", points, band, "possible")], group_size, everybody=False)


def uniqueness_curve(distribution: Any, group_size: int) -> Chart:
    """Chance that all are unique against the group size, for a distribution and for as many equally likely cells."""
    from shoal.prediction import uniqueness

    sizes = _up_to_twice(group_size)
    lines = [Line("this distribution", [(float(n), 100 * float(uniqueness(distribution, int(n)).value)) for n in sizes])]
    if distribution.kappa > 1e-9:
        even = [(float(n), 100 * float(uniqueness(distribution.cells, int(n)).value)) for n in sizes]
        lines.append(Line(f"{distribution.cells:,} equally likely cells", even))
    return _by_group_size(lines, group_size, everybody=True)


def kappa_curve(kappa: float, cells: int, p_max: float | None, group_size: int, *, everybody: bool) -> Chart:
    """From κ alone, beside equally likely cells, by group size: the chance that ``everybody`` is unique, or how many are.

    Each size takes some linear programmes, so that there are fewer.
    """
    from shoal.prediction import singletons_from_kappa, uniqueness_from_kappa

    sizes = sorted({group_size, *_up_to_twice(group_size, 24)})
    ask, scale = (uniqueness_from_kappa, 100.0) if everybody else (singletons_from_kappa, 1.0)
    lines = [Line("this κ", [(float(n), scale * float(ask(kappa, cells, int(n), p_max=p_max).value)) for n in sizes])]
    if kappa > 0:
        even = [(float(n), scale * float(ask(0.0, cells, int(n)).value)) for n in sizes]
        lines.append(Line(f"{cells:,} equally likely cells", even))
    return _by_group_size(lines, group_size, everybody=everybody)


def power_sums_curve(ask: Callable[[int], Estimate], cells: int | None, group_size: int) -> Chart:
    """What power sums alone say by group size, with its proven range, beside equally likely cells where their number is known."""
    from shoal.prediction import uniqueness

    sizes = sorted({group_size, *_up_to_twice(group_size, 24)})
    answers = [ask(int(n)) for n in sizes]
    points = [(float(n), 100 * e.value) for n, e in zip(sizes, answers, strict=True)]
    lines = [Line("these power sums", points, [(100 * e.low, 100 * e.high) for e in answers], "proven range")]
    if cells is not None:
        even = [(float(n), 100 * float(uniqueness(cells, int(n)).value)) for n in sizes]
        lines.append(Line(f"{cells:,} equally likely cells", even))
    return _by_group_size(lines, group_size, everybody=True)


def quasi_curve(combinations: int, people: int, observed: Mapping[str, Any] | None = None) -> Chart:
    """Source 001, figure 1: the largest expected share of unique people against combinations of values per person.

    Beside it, the share where all combinations are equally likely, and as a dot what a table shows (``observed``).
    """
    from shoal.prediction import unique_share_bound

    ratio = combinations / people
    low, high = min(0.01, ratio / 3), max(100.0, ratio * 3)
    at = np.unique([max(1, round(r * people)) for r in np.geomspace(low, high, 120)])
    points = [(float(d) / people, 100 * float(unique_share_bound(int(d), people).value)) for d in at]
    shown = [p for p in points if p[1] > 1e-9]
    here = (ratio, f"these columns: {written(ratio, 3)} per person")
    even = [(d / people, 100 * (1 - 1 / d) ** (people - 1)) for d in map(int, at)]
    floor = min(b for _, b in shown)
    lines = [Line("at most unique", shown), Line("equally likely combinations", [q for q in even if q[1] >= floor])]
    if observed and 100 * observed["unique_share"] >= floor:
        lines.append(Line("in the table", [(combinations / observed["records"], 100 * observed["unique_share"])], dots=True))
    return curve(
        [one for one in lines if one.points],
        x="combinations per person",
        y="unique, %",
        title="Can they identify?",
        log=True,
        here=here,
    )


def population_chart(estimate: PopulationEstimate, others: Sequence[PopulationRisk] = ()) -> Chart:
    """Records by their risk in the population, where a table was fitted, beside what ``others`` say; else uniques by model."""
    fitted = estimate.fitted
    if fitted is None or fitted.people == fitted.population:
        names = [m.name for m in estimate.models] or ["counted"]
        most = float(estimate.population)
        shares = [None if m.uniques is None else m.uniques / most for m in estimate.models] or [estimate.sample_uniques / most]
        return bars(names, shares, title="Unique people in the population, by model", x="share of the population")
    here = (100 * float(fitted.sizes[fitted.risk >= 0.2].sum()) / fitted.people, "risk of 20 % and more")
    return curve(
        [Line(f"model: {fitted.model}", _by_risk(fitted)), *(Line(f"model: {o.model}", _by_risk(o)) for o in others)],
        x="records, those at most risk first, %",
        y="chance to be named correctly, %",
        title="Risk of each record in the population",
        here=here,
    )


def _by_risk(fitted: PopulationRisk) -> list[tuple[float, float]]:
    """Share of the records, those at most risk first, and the risk of the last of them."""
    order = np.argsort(-fitted.risk, kind="stable")
    upto = np.cumsum(fitted.sizes[order])
    shown = np.unique(np.rint(np.geomspace(1, upto.size, DOTS)).astype(int)) - 1
    return [(100 * float(upto[i]) / fitted.people, 100 * float(fitted.risk[order[i]])) for i in shown]


def _band(s: Any, level: float) -> tuple[float, float]:
    """Exact quantiles of the number of unique people; from mean and variance when the exact law is long."""
    from shoal.prediction.group import pmf as _pmf

    mean, sd = float(s.mean), float(s.variance) ** 0.5
    if s.group_size < 2 or _pmf.cost(s.distribution, s.group_size, sd) <= 2e7:
        low, high = s.interval(level)
        return float(low), float(high)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    return max(0.0, mean - z * sd), min(float(s.group_size), mean + z * sd)


def interval_curve(values: Any, group_size: int, *, origin: float = 0.0, width: float | None = None) -> Chart:
    """Expected share of unique people against the width of the intervals, up to twice the width (or spread).

    A sample is drawn beside a normal of its spread.
    """
    from shoal.kernels.scipy import stats

    top = 2 * (width or (float(values.std()) if hasattr(values, "std") else float(np.std(values))))
    widths = np.linspace(top / 50, top, 50).tolist()
    laws = {"expected": values}
    if not hasattr(values, "cdf") and float(np.std(values)) > 0:
        laws = {"this sample": values, "normal of its spread": stats.norm(float(np.mean(values)), float(np.std(values)))}
    lines = [Line(name, _by_width(law, widths, group_size, origin)) for name, law in laws.items()]
    here = None if width is None else (width, f"asked: {written(width, 4)}")
    label = f"unique among {group_size:,} people, %"
    return curve(lines, x="width of an interval", y=label, title="Unique people by width of the interval", here=here)


def _by_width(values: Any, widths: Sequence[float], group_size: int, origin: float) -> list[tuple[float, float]]:
    from shoal.prediction import interval_singletons

    shares = [interval_singletons(values, float(w), group_size, origin=origin).value for w in widths]
    return [(float(w), 100 * float(n) / group_size) for w, n in zip(widths, shares, strict=True)]


DRAWN_CELLS = 60_000
"""The finest grid of two values that a curve is drawn from; a finer one that was asked for is a dot left of the curve."""


def two_values_curve(
    spreads: tuple[float, float],
    correlation: float,
    widths: tuple[float, float],
    group_size: int,
    expected: float,
    factors: Sequence[float] | None = None,
) -> Chart:
    """Two rounded normals: unique people as both widths grow, or only one of them.

    Without ``factors`` from a quarter to twice the widths, or from as fine as :data:`DRAWN_CELLS` allow.
    """
    from shoal.prediction import bivariate_normal, singletons

    if factors is None:
        asked = math.prod(18 * spread / width for spread, width in zip(spreads, widths, strict=True))
        least = max(0.25, math.sqrt(asked / DRAWN_CELLS))
        factors = np.geomspace(least, max(2.0, 2 * least), 16).tolist()

    def line(name: str, grows: tuple[bool, bool]) -> Line:
        points = []
        for f in factors:
            first, second = (w * (f if g else max(1.0, factors[0])) for w, g in zip(widths, grows, strict=True))
            share = singletons(bivariate_normal(spreads, correlation, (first, second)), group_size).mean
            points.append((f, 100 * float(share) / group_size))
        return Line(name, points)

    lines = [line("both widths", (True, True)), line("only the first", (True, False)), line("only the second", (False, True))]
    if factors[0] > 1:
        lines.append(Line("as asked", [(1.0, 100 * expected / group_size)], dots=True))
    here = (1.0, f"asked: {written(widths[0], 4)} and {written(widths[1], 4)}")
    return curve(
        lines,
        x="times the widths asked",
        y=f"unique among {group_size:,} people, %",
        title=f"Unique people by width of two intervals, correlation {written(correlation, 3)}",
        here=here,
    )


def respondents_curve(questionnaire: Any, sizes: Sequence[int]) -> Chart:
    """Expected share of unique respondents against their number."""
    from shoal.prediction.questionnaire.meter import parts, unique_shares

    pieces = parts(questionnaire.blocks(questionnaire.counted), list(questionnaire.counted))
    share = [value for value, _ in unique_shares(pieces, [int(n) for n in sizes])]
    points = [(float(n), 100 * float(s)) for n, s in zip(sizes, share, strict=True)]
    return curve(
        [Line("expected", points)],
        x="respondents",
        y="one of a kind, %",
        title="Unique respondents by number of respondents",
        limit=(100 * questionnaire.target, f"target: {written(100 * questionnaire.target, 3)} %"),
        here=(questionnaire.respondents, f"planned: {questionnaire.respondents:,}"),
    )


def zipf_ranks(
    counts: Sequence[float] | None, law: Zipf, *, threshold: float | None = None, total: float = 1.0, records: int = 1, k: int = 2
) -> Chart:
    """Counts by rank on logarithmic axes, the fitted law, and the (mean) rank beyond which fewer than k people are expected."""
    ranks = np.unique(np.rint(np.geomspace(1, law.d, 200)))
    lines = [Line(f"Zipf, exponent {law.c:.3f}", [(float(x), float(total * law.a * x**-law.c)) for x in ranks])]
    if counts is not None:
        f = np.sort(np.asarray(counts, dtype=np.float64))[::-1]
        f = f[f > 0]
        shown = np.unique(np.rint(np.geomspace(1, f.size, DOTS)).astype(int)) if f.size > DOTS else np.arange(1, f.size + 1)
        lines.append(Line("counts", [(float(r), float(f[r - 1])) for r in shown], dots=True))
    here = None
    if threshold is not None:
        linked = "" if records == 1 else f" with {records} records (mean rank)"
        inside = f"beyond rank {threshold:,.0f}" if threshold >= 1 else "at every rank"
        where = "at no rank" if threshold > law.d else inside
        here = (float(min(max(threshold, 1), law.d)), f"fewer than {k} people {where}{linked}")
    y = "count" if counts is not None else "probability"
    return curve(lines, x="rank", y=y, title="Zipf's law", log=True, here=here)


def places_by_rank(counts: Sequence[float] | None, law: Zipf, people: int, records: int, k: int) -> Chart:
    """Places by rank, and the rank at which cells become too small."""
    from shoal.prediction import threshold_rank

    rank = threshold_rank(law, people, records, k=k) ** (1 / records) if law.c > 0 else None
    return zipf_ranks(counts, law, threshold=rank, total=sum(counts) if counts else 1.0, records=records, k=k)


SOURCES = {
    "law": "Zipf's law",
    "counts": "counts of the table",
    "chain": "Markov chain",
    "measured": "measured, first records",
    "known_places": "measured, known places",
}
"""What each column of the shares by records is called."""


def renewal_curve(rows: Sequence[dict[str, Any]], *, limit: float | None = None, k: int = 2) -> Chart:
    """How long may a pseudonym live? People in cells under k against the records it covers, by each model and as measured."""
    lines = []
    for key in dict.fromkeys([*SOURCES, *(n for n in rows[0] if n != "records")]):
        name = SOURCES.get(key, f"Zipf's law, {key}")
        points = [(int(r["records"]), float(r[key])) for r in rows if r.get(key) is not None]
        if points:
            lines.append(Revealed(name, [(s, share, share, share) for s, share in points]))
    what = "people alone, %" if k == 2 else f"people in cells under {k}, %"
    title = "What a pseudonym reveals by the records it covers"
    return known_records(lines, title=title, x="records of a pseudonym", y=what, limit=limit)


def waterfall(meter: Meter) -> Chart:
    """The typical crowd in the population after each question, on a logarithmic axis."""
    steps = meter.waterfall
    label = "people who share the answers so far (typical)"
    return staircase([s.question for s in steps], [s.crowd for s in steps], title="Crowd after each question", y=label)


def pair_heat_map(questionnaire: Any) -> Chart:
    """Expected unique share for each pair of questions; the diagonal is each question alone."""
    from shoal.prediction.questionnaire.meter import parts, unique_share

    names, blocks = list(questionnaire.counted), questionnaire.blocks(questionnaire.counted)
    shares = [
        [unique_share(parts(blocks, [a, b]), questionnaire.respondents)[0] for b in names[: i + 1]] for i, a in enumerate(names)
    ]
    return heat_map(names, shares, title="Unique respondents by pair of questions")

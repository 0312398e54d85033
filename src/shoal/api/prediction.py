"""The keywords of each question: type checkers see them at the verb, the command line uses the same words."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Required, TypedDict

import numpy as np

from shoal.errors import UsageError
from shoal.model.estimate import Estimate, Grade
from shoal.prediction import Distribution, Zipf, threshold_rank

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
    model: str
    calibrate: bool
    seed: int


class ZipfOptions(TypedDict, total=False):
    people: int | None
    table: str | tuple[Any, str] | None
    unit: str | None
    time: str | None
    records_per_row: int | None
    seed: int
    records: int
    exponent: float | None
    places: int | None
    counts: Counted | None
    fit: Literal["mle", "least-squares"]
    k: int
    limit: float | None


@dataclass(frozen=True, repr=False, eq=False)
class Prediction:
    """An :class:`~shoal.model.estimate.Estimate` with the words that say of what, and the further numbers that were requested.

    ``p.value, p.low, p.high, p.grade, p.method``; ``p.more["variance"]``; ``p.to_json()`` is what the command prints.
    """

    what: str
    answer: Estimate
    more: Mapping[str, Any]
    draw: Callable[[Path], Path]
    draw_curve: Callable[[Path], Path] | None = None

    def __repr__(self) -> str:
        return f"<Prediction of the {self.what}: {self.answer}>"

    def __float__(self) -> float:
        return self.answer.value

    @property
    def value(self) -> float:
        return self.answer.value

    @property
    def low(self) -> float:
        return self.answer.low

    @property
    def high(self) -> float:
        return self.answer.high

    @property
    def grade(self) -> Grade:
        return self.answer.grade

    @property
    def method(self) -> str:
        return self.answer.method

    def plot(self, path: str | Path) -> Path:
        """Write the curve that belongs to this answer: .svg, .png or .html."""
        return self.draw(Path(path))

    def curve(self, path: str | Path) -> Path:
        """Write the shares by number of records: the law, and what the table shows; only for zipf with a table."""
        if self.draw_curve is None:
            raise UsageError(f"the {self.what} has no curve.", hint="Ask for zipf with a table.")
        return self.draw_curve(Path(path))

    def to_json(self) -> dict[str, Any]:
        return {**self.answer.to_json(), **self.more}


def draw_singletons(distribution: Distribution, group_size: int, path: Path) -> Path:
    """Unique people against group size, up to twice the size asked for."""
    from shoal.report import plots
    from shoal.report.charts import save

    sizes = np.unique(np.rint(np.linspace(1, 2 * group_size, 60)).astype(int)).tolist()
    return save(plots.singletons_curve(distribution, sizes), path)


def draw_uniqueness(distribution: Distribution, group_size: int, path: Path) -> Path:
    """Chance that everybody is unique against group size, up to twice the size asked for, beside equally likely cells."""
    from shoal.report import plots
    from shoal.report.charts import save

    sizes = np.unique(np.rint(np.linspace(1, 2 * group_size, 60)).astype(int)).tolist()
    return save(plots.uniqueness_curve(distribution, sizes, group_size), path)


def draw_kappa(kappa: float, cells: int, p_max: float | None, group_size: int, everybody: bool, path: Path) -> Path:
    """What κ alone says, up to twice the size asked for, beside equally likely cells. Each size takes some linear programmes."""
    from shoal.report import plots
    from shoal.report.charts import save

    sizes = np.unique([group_size, *np.rint(np.linspace(1, 2 * group_size, 24)).astype(int)]).tolist()
    return save(plots.kappa_curve(kappa, cells, p_max, sizes, group_size, everybody=everybody), path)


def draw_power_sums(ask: Callable[[int], Estimate], cells: int | None, group_size: int, path: Path) -> Path:
    """What power sums alone say and prove, up to twice the size asked for."""
    from shoal.report import plots
    from shoal.report.charts import save

    sizes = np.unique([group_size, *np.rint(np.linspace(1, 2 * group_size, 24)).astype(int)]).tolist()
    return save(plots.power_sums_curve(ask, cells, sizes, group_size), path)


def draw_quasi(combinations: int, people: int, observed: Mapping[str, Any] | None, path: Path) -> Path:
    """The largest share that can be unique against combinations per person, and where these columns stand."""
    from shoal.report import plots
    from shoal.report.charts import save

    return save(plots.quasi_curve(combinations, people, observed), path)


def draw_interval(values: Any, group_size: int, origin: float, width: float | None, path: Path) -> Path:
    """Unique people against the width of an interval, up to twice the width (or spread)."""
    from shoal.report import plots
    from shoal.report.charts import save

    spread = float(values.std()) if hasattr(values, "std") else float(np.std(values))
    top = 2 * width if width else 2 * spread
    widths = np.linspace(top / 50, top, 50).tolist()
    return save(plots.interval_curve(values, widths, group_size, origin=origin, width=width), path)


DRAWN_CELLS = 60_000
"""The finest grid of two values that a curve is drawn from; a finer one that was asked for is a dot left of the curve."""


def draw_two_values(
    spreads: tuple[float, float], correlation: float, widths: tuple[float, float], group_size: int, expected: float, path: Path
) -> Path:
    """Unique people when both widths grow together, from a quarter to twice the width that was given."""
    from shoal.report import plots
    from shoal.report.charts import save

    asked = math.prod(18 * spread / width for spread, width in zip(spreads, widths, strict=True))
    least = max(0.25, math.sqrt(asked / DRAWN_CELLS))
    factors = np.geomspace(least, max(2.0, 2 * least), 16).tolist()
    return save(plots.two_values_curve(spreads, correlation, widths, factors, group_size, expected), path)


def draw_zipf(counts: list[float] | None, law: Zipf, people: int, records: int, k: int, path: Path) -> Path:
    """Places by rank, and the rank at which cells become too small."""
    from shoal.report import plots
    from shoal.report.charts import save

    rank = threshold_rank(law, people, records, k=k) ** (1 / records) if law.c > 0 else None
    figure = plots.zipf_ranks(counts, law, threshold=rank, total=sum(counts) if counts else 1.0, records=records, k=k)
    return save(figure, path)


def draw_shares(rows: list[dict[str, Any]], limit: float | None, k: int, path: Path) -> Path:
    """The share of people in cells under k by the number of records a pseudonym covers, by the law and as measured."""
    from shoal.report import plots
    from shoal.report.charts import save

    return save(plots.renewal_curve(rows, limit=limit, k=k), path)

"""The keywords of each question: type checkers see them at the verb, the command line uses the same words."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Required, TypedDict

from shoal.errors import UsageError
from shoal.model.estimate import Estimate, Grade

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
    records: int | Sequence[int]
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
    draw: Callable[[], Any]
    draw_curve: Callable[[], Any] | None = None

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
        return _save(self.draw(), path)

    def curve(self, path: str | Path) -> Path:
        """Write the shares by number of records: the law, and what a table shows; only for zipf."""
        if self.draw_curve is None:
            raise UsageError(f"the {self.what} has no curve.", hint="Ask for zipf.")
        return _save(self.draw_curve(), path)

    def to_json(self) -> dict[str, Any]:
        return {**self.answer.to_json(), **self.more}


MOST_RECORDS = 6


def record_counts(records: int | Sequence[int]) -> tuple[int, ...]:
    """The numbers of records asked for, each once; the first is the one of the headline."""
    counts = (records,) if isinstance(records, int) else tuple(dict.fromkeys(records))
    if not counts or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in counts):
        raise UsageError("records must be whole numbers of at least 1.", hint="Write for example records=[1, 2, 4, 8].")
    return counts


def record_steps(counts: tuple[int, ...]) -> tuple[int, ...]:
    """The numbers of records of a curve: those asked for if they are several, else 1 to 6."""
    return tuple(sorted(counts)) if len(counts) > 1 else tuple(range(1, MOST_RECORDS + 1))


def _save(chart: Any, path: str | Path) -> Path:
    from shoal.report.charts import save  # loads the templates

    return save(chart, path)


def chart_of(name: str, *given: Any, **options: Any) -> Any:
    """A chart of :mod:`shoal.report.plots`, which loads when a plot is wanted."""
    return getattr(importlib.import_module("shoal.report.plots"), name)(*given, **options)

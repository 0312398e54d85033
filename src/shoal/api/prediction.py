"""The answer of ``predict``: an estimate with its words, numbers and charts; and what questions with or without a table share."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import prediction
from shoal.errors import UsageError
from shoal.model.estimate import Estimate, Grade

if TYPE_CHECKING:
    from shoal.report.charts import Chart


@dataclass(frozen=True, repr=False, eq=False)
class Prediction:
    """An :class:`~shoal.model.estimate.Estimate` with the words that say of what, and the further numbers that were requested.

    ``p.value, p.low, p.high, p.grade, p.method``; ``p.more["variance"]``; ``p.to_json()`` is what the command prints.
    """

    what: str
    answer: Estimate
    more: Mapping[str, Any]
    draw: Callable[[], Chart]
    draw_curve: Callable[[], Chart] | None = None

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

    def to_json(self) -> dict[str, object]:
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


def _save(chart: Chart, path: str | Path) -> Path:
    from shoal.report.charts import save  # loads the templates

    return save(chart, path)


def chart_of(name: str, *given: object, **options: object) -> Chart:
    """A chart of :mod:`shoal.report.plots`, which loads when a plot is wanted."""
    chart: Chart = getattr(importlib.import_module("shoal.report.plots"), name)(*given, **options)
    return chart


def zipf_thresholds(law: prediction.Zipf, people: int, records: int, k: int) -> dict[str, Any]:
    """The rank beyond which cells expect fewer than k people, and the share of people beyond it; nothing for equal places."""
    if law.c <= 0:
        return {}
    rank = prediction.threshold_rank(law, people, records, k=k)
    below = prediction.share_below(law, rank, records).value
    return {"threshold_rank": rank, "mean_rank": rank ** (1 / records), "share_below_threshold": below}

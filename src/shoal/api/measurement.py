"""Measurement: what ``measure`` returns. All numbers of a table, and what must count the table again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.disk.atomic import write_text
from shoal.engines.core.state import other_rows
from shoal.engines.table import Table
from shoal.errors import InternalError, UsageError
from shoal.kernels.group import Memberships, count_by, group_codes
from shoal.measures.classes.individual import HouseholdRisk, Impact, household_risk, impact
from shoal.measures.result.figures import Figures
from shoal.model.counts.classes import ClassCounts, IntArray
from shoal.model.roles import MissingPolicy

if TYPE_CHECKING:
    from shoal.report.charts import Chart


@dataclass(frozen=True)
class Repeating:
    """A column that may name people: so many different ids in so many rows."""

    column: str
    ids: int
    rows: int

    @property
    def sentence(self) -> str:
        """
        >>> Repeating("pid", 500, 10_041).sentence
        "Is this one row per person? Column 'pid' repeats: 500 ids in 10,041 rows. If it names people, name it as unit."
        """
        return (
            f"Is this one row per person? Column '{self.column}' repeats: {self.ids:,} ids in {self.rows:,} rows. "
            "If it names people, name it as unit."
        )


MOST_RECOUNTS = 60
"""Subsets that are recounted by default if people have rows in several classes."""


@dataclass(frozen=True, eq=False, repr=False)
class Measurement(Figures):
    """All numbers of a table; a card in Jupyter.

    ``m.k, m.unique, m.risk, m.diversity["diagnosis"], m.closeness["diagnosis"], m.explain(), m.worst_subsets(3),
    m.check("k>=5"), m.to_json(), m.report("out.html")``.

    A pickled measurement keeps the counts and every number that follows from them, not the table: what must count the table again
    (``per_record``; subsets where people have rows in several classes) then needs a new measurement.
    """

    source: Table | None = field(default=None, repr=False)
    repeating: Repeating | None = None
    count: str | None = None
    """The column that says how many people a row stands for."""
    state: str | None = None
    """The name of the state of the data that was counted, if the engine has one: a snapshot of a database."""
    impact: Impact | None = None
    """What an attacker may learn, weighed by what it is worth; see :meth:`with_impact`."""

    @property
    def notes(self) -> list[str]:
        """What the reader must know to use the numbers; first of all, whether a row is a person."""
        lines = super().notes
        if self.count is not None:  # the first note takes rows for people
            lines = [f"Each row stands for as many people as column '{self.count}' says.", *lines[1:]]
        lines = lines if self.impact is None else [*lines, self.impact.sentence]
        return lines if self.repeating is None else [self.repeating.sentence, *lines]

    def with_impact(self, weights: Mapping[str, float]) -> Measurement:
        """The same with what each sensitive column is worth: chance times impact, in the notes, the JSON and the report.

        ``{"diagnosis": 5, "income": 1}``: any unit; the chance is that of guessing the most common value of the person's class.
        """
        return replace(self, impact=impact(self.counts, weights))

    def to_json(self) -> dict[str, object]:
        repeating = self.repeating
        out = super().to_json() | ({} if self.impact is None else {"impact": self.impact.to_json()})
        out |= {} if self.state is None else {"state": self.state}
        return out if repeating is None else out | {"repeating_id": asdict(repeating)}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "source": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    @property
    def knows_subsets(self) -> bool:
        return self.source is not None or super().knows_subsets

    def recount(self, columns: Sequence[str]) -> ClassCounts:
        """Count the table over other columns, people where a unit is named; only rows that the rule for missing values leaves."""
        if self.policy is MissingPolicy.DROP and self.who is not None:
            return _coarser(self.counts, self.members, columns)
        if self.source is None:
            return super().recount(columns)
        counts: ClassCounts = self.source.count(tuple(columns), unit=self.base.unit)
        if counts.n_records != self.base.n_records:
            raise other_rows()
        return counts

    def _affordable(self) -> int:
        if self.counts.adds_up:
            return super()._affordable()
        width = len(self.quasi)
        return 2 if width + comb(width, 2) <= MOST_RECOUNTS else 1

    def per_record(self, of_class: npt.ArrayLike) -> npt.NDArray[Any]:
        """A number per class as a number per row of the table, in its order: ``m.per_record(m.suda().score)``.

        >>> import shoal
        >>> m = shoal.measure({"age": [30, 41, 30]}, quasi=["age"])
        >>> m.per_record(m.counts.sizes).tolist()
        [2, 1, 2]
        """
        values = np.asarray(of_class)
        parts = [values[classes_of(batch, self.counts)] for batch in self._whole_table().scan(self.quasi)]
        out: npt.NDArray[Any] = np.concatenate(parts)
        return out

    def _whole_table(self) -> Table:
        if self.source is None or self.policy is MissingPolicy.DROP:
            raise UsageError("numbers per record need the table and all its rows.", hint="Measure with missing='own'.")
        return self.source

    def households(self, column: str) -> HouseholdRisk:
        """Risk that somebody of a household is named: one named member names the others. Each row is a person.

        >>> import shoal
        >>> m = shoal.measure({"age": [30, 41, 30, 41], "home": [1, 1, 2, None]}, quasi=["age"])
        >>> sorted(m.households("home").risk.tolist())
        [0.5, 0.5, 0.75]
        """
        if self.base.unit is not None:
            raise UsageError("households are of tables with one row per person.", hint="Leave the unit out.")
        each = self.per_record(1.0 / np.asarray(self.counts.sizes, dtype=np.float64))
        table = self._whole_table()
        table.schema.require(column, what="household")
        return household_risk(each, [batch.column(column) for batch in table.scan((column,))])

    def _repr_html_(self) -> str:
        from shoal.report.blocks import card

        return card(self)

    @overload
    def plot(self) -> Chart: ...
    @overload
    def plot(self, path: str | Path) -> Path: ...
    def plot(self, path: str | Path | None = None) -> Chart | Path:
        """A picture of the group sizes, which a notebook shows; with a path it is written: .svg, .png or .html."""
        from shoal.report.charts import save
        from shoal.report.measure_report import group_sizes

        chart = group_sizes(self)
        return chart if path is None else save(chart, path)

    def report(self, path: str | Path) -> Path:
        """Write a self-contained HTML report: no data value, nothing loaded from elsewhere."""
        from shoal.report.measure_report import report_html

        return write_text(path, report_html(self))


def _coarser(counts: ClassCounts, who: Memberships, columns: Sequence[str]) -> ClassCounts:
    """People in each class over some of the columns, from who is in which class over all of them."""
    codes = [counts.codes[counts.column(name)] for name in columns]
    grouping = group_codes(codes, n_rows=counts.n_classes)
    people = np.unique(who.people, return_inverse=True)[1]
    n_people = int(people.max()) + 1
    pairs = np.unique(grouping.ids[who.classes] * n_people + people)  # a person with several rows in a class is in it once
    inside = Memberships(pairs // n_people, pairs % n_people)
    sizes = count_by(inside.classes, grouping.n)
    return ClassCounts(
        sizes,
        columns=tuple(columns),
        codes=[c[grouping.first] for c in codes],
        n_people=n_people,
        unit=counts.unit,
        people=inside.counts(sizes),
    )


def classes_of(batch: pa.RecordBatch, counts: ClassCounts) -> IntArray:
    """The class of each row of a batch."""
    codes = []
    for j, name in enumerate(counts.columns):
        categories = counts.categories[j]
        places = pc.index_in(batch.column(name).cast(categories.type), value_set=categories)
        of_rows = np.nan_to_num(places.to_numpy(zero_copy_only=False), nan=-1).astype(np.int32)
        codes.append(np.concatenate((counts.codes[j], of_rows)))
    grouping = group_codes(codes)
    n = counts.n_classes
    if grouping.n > n:
        raise InternalError("rows of the table are in no counted class.", hint="Was the table changed while it was measured?")
    out: IntArray = grouping.ids[n:]  # classes come first, each its own, so their numbers are their positions
    return out

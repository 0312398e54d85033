"""``measure``: how anonymous is this table, and what would change it? Count in the engine, then every number from the counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InternalError, RoleError, UsageError
from shoal.measures.classes.closeness import Distance
from shoal.measures.classes.missing import adds_up, drop_missing
from shoal.measures.result.measurement import Measured
from shoal.model.counts.classes import MISSING, ClassCounts, IntArray
from shoal.model.hierarchy import Hierarchy
from shoal.model.roles import MissingPolicy

if TYPE_CHECKING:
    from shoal.engines.table import Table

Progress = Callable[[float, str], None]
MOST_RECOUNTS = 60
"""Subsets that are counted anew without being asked for, where people have rows in several classes."""


@dataclass(frozen=True, eq=False, repr=False)
class Measurement(Measured):
    """All numbers of a table; a card in Jupyter.

    ``m.k, m.unique, m.risk, m.diversity["diagnosis"], m.closeness["diagnosis"], m.explain(), m.worst_subsets(3),
    m.check("k>=5"), m.to_json(), m.report("out.html")``.
    """

    source: Any = field(default=None, repr=False)
    left: ClassCounts | None = field(default=None, repr=False)
    """Under the rule ``drop`` with a unit: the classes by person and quasi-identifiers without a missing one."""

    @cached_property
    def counts(self) -> ClassCounts:
        if self.left is None:
            return super().counts
        return drop_missing(self.base, n_people=_people(self.left, ()).n_members)

    @property
    def knows_subsets(self) -> bool:
        return self.source is not None or super().knows_subsets

    def recount(self, columns: Sequence[str]) -> ClassCounts:
        """Count the table over other columns, people where a unit is named; only rows that the rule for missing values leaves."""
        if self.left is not None:
            return _people(self.left, columns)
        if self.source is None:
            return super().recount(columns)
        found: ClassCounts = self.source.count(tuple(columns), unit=self.base.unit)
        return found

    def _affordable(self) -> int:
        from math import comb

        if adds_up(self.counts):
            return super()._affordable()
        width = len(self.quasi)
        return 2 if width + comb(width, 2) <= MOST_RECOUNTS else 1

    def per_record(self, of_class: npt.ArrayLike) -> npt.NDArray[Any]:
        """A number per class as a number per row of the table, in its order: ``m.per_record(m.suda().score)``.

        >>> import pyarrow as pa
        >>> m = measure(pa.table({"age": [30, 41, 30]}), qi=["age"])
        >>> m.per_record(m.counts.sizes).tolist()
        [2, 1, 2]
        """
        if self.source is None or self.policy is MissingPolicy.DROP:
            raise UsageError("numbers per record need the table and all its rows.", hint="Measure with missing='own'.")
        values = np.asarray(of_class)
        parts = [values[_classes_of(batch, self.counts)] for batch in self.source.scan(self.quasi)]
        out: npt.NDArray[Any] = np.concatenate(parts)
        return out

    def _repr_html_(self) -> str:
        from shoal.report.card import card

        return card(self)

    def report(self, path: str | Path) -> Path:
        """Write a self-contained HTML report: no data value, nothing loaded from elsewhere."""
        from shoal.report.measure_report import write_report

        return write_report(self, Path(path))


def _people(left: ClassCounts, columns: Sequence[str]) -> ClassCounts:
    """People in each class over some columns, from classes by person (the first column) and all of them."""
    from shoal.kernels.group import count_by, group_codes

    codes = [left.codes[left.column(name)] for name in columns]
    pairs = group_codes([left.codes[0], *codes])  # a person with several rows in a class is in it once
    grouping = group_codes([c[pairs.first] for c in codes], n_rows=pairs.n)
    first = pairs.first[grouping.first]
    return ClassCounts(count_by(grouping.ids, grouping.n), columns=tuple(columns), codes=[c[first] for c in codes])


def _classes_of(batch: Any, counts: ClassCounts) -> IntArray:
    """The class of each row of a batch."""
    import pyarrow.compute as pc

    from shoal.kernels.group import group_codes

    codes = []
    for j, name in enumerate(counts.columns):
        categories = counts.categories[j]
        found = pc.index_in(batch.column(name).cast(categories.type), value_set=categories)
        codes.append(
            np.concatenate((counts.codes[j], np.nan_to_num(found.to_numpy(zero_copy_only=False), nan=-1).astype(np.int32)))
        )
    grouping = group_codes(codes)
    n = counts.n_classes
    if grouping.n > n:
        raise InternalError("rows of the table are in no counted class.", hint="Was the table changed while it was measured?")
    out: IntArray = grouping.ids[n:]  # classes come first, each its own, so their numbers are their positions
    return out


def measure(
    table: Any,
    *,
    qi: Iterable[str] | None = None,
    sensitive: Iterable[str] | None = None,
    unit: str | None = None,
    weight: str | None = None,
    population: Any = None,
    missing: str | MissingPolicy = "own",
    by: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    distances: Mapping[str, Distance] | None = None,
    c: float = 3.0,
    memory_budget: int | None = None,
    progress: Progress | None = None,
) -> Measurement:
    """Every anonymity, risk and diversity number of a table.

    Parameters
    ----------
    table : Table, path, URL or frame
        Whatever :func:`shoal.open` takes.
    qi, sensitive : names of columns, optional
        The table's roles by default. Without any quasi-identifier nothing is guessed: see :func:`shoal.inspect`.
    unit : str, optional
        The column that names a person: k then counts people, not rows.
    weight : str, optional
        Sampling weights, for the individual risk.
    population : int, text such as "17.5M", or a table, optional
        A size gives estimates; a table (or anything :func:`shoal.open` takes) gives k-map and δ-presence.
    missing : {"own", "wildcard", "drop"}
        How a missing quasi-identifier is compared. All three are shown; the headline follows this one.
    by : str, optional
        Also the class sizes inside each value of this column.
    hierarchies : mapping of sensitive column to Hierarchy, rule or file, optional
        For the hierarchical distance of t-closeness.
    distances : mapping of sensitive column to "ordered", "equal" or "hierarchical", optional
    c : float
        For recursive (c,l)-diversity.

    Returns
    -------
    Measurement

    Examples
    --------
    >>> import pyarrow as pa
    >>> t = pa.table({"age": [30, 30, 41, 41, 41], "ill": ["flu", "flu", "flu", "hiv", "flu"]})
    >>> m = measure(t, qi=["age"], sensitive=["ill"])
    >>> m.k, m.unique, m.diversity["ill"].distinct, round(m.closeness["ill"].t, 3)
    (2, 0, 1, 0.2)
    """
    opened = _opened(table)
    quasi, secret = _columns(opened, qi, sensitive, unit, weight, by)
    rule = _policy(missing)
    person = unit or opened.schema.unit
    counts = opened.count(
        quasi,
        sensitive=secret,
        unit=person,
        weight=weight or opened.schema.weight,
        memory_budget=memory_budget,
        progress=progress,
    )
    size, presence = _population(population, counts, quasi, person, rule)
    left = None
    if person is not None and rule is MissingPolicy.DROP and bool(counts.has_missing().any()) and not adds_up(counts):
        left = _without_missing(opened.count((person, *quasi)), quasi)
    return Measurement(
        counts,
        opened.name,
        rule,
        presence,
        size,
        _sample(drop_missing(counts) if rule is MissingPolicy.DROP else counts, size) if presence is None else None,
        _by(opened, quasi, by, person) if by else None,
        dict(distances or {}),
        {n: _hierarchy(n, h, counts) for n, h in (hierarchies or {}).items() if _is_sensitive(n, secret)},
        c,
        source=opened,
        left=left,
    )


def _without_missing(pairs: ClassCounts, quasi: tuple[str, ...]) -> ClassCounts:
    """Classes by person and quasi-identifiers, those with a missing quasi-identifier left out."""
    codes = [pairs.codes[pairs.column(name)] for name in (*pairs.columns[:1], *quasi)]
    keep = np.logical_and.reduce([c != MISSING for c in codes[1:]])
    if not bool(keep.any()):
        drop_missing(ClassCounts([1], quasi, [[MISSING]] * len(quasi)))  # says that nothing is left
    return ClassCounts(pairs.sizes[keep], columns=(pairs.columns[0], *quasi), codes=[c[keep] for c in codes])


def _opened(table: Any) -> Table:
    from shoal.engines.open import open as open_table
    from shoal.engines.table import Table

    return table if isinstance(table, Table) else open_table(table)


def _columns(
    table: Table, qi: Iterable[str] | None, sensitive: Iterable[str] | None, unit: str | None, weight: str | None, by: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Quasi-identifiers and sensitive columns, each known and in one role."""
    schema = table.schema
    quasi = tuple(schema.quasi if qi is None else _names(qi))
    secret = tuple(schema.sensitive if sensitive is None else _names(sensitive))
    if not quasi:
        raise UsageError(
            f"no quasi-identifier of table '{table.name}' is known, and none is guessed.",
            hint="Name them: qi=[…] or --qi a,b. 'shoal inspect' suggests roles with a reason each.",
        )
    for what, names in (("quasi-identifier", quasi), ("sensitive column", secret)):
        for name in names:
            schema.require(name, what=what)
        if len(set(names)) != len(names):
            raise RoleError(f"a {what} is named twice.", hint="Name each column once.")
    for what, name_ in (("unit", unit), ("weight", weight), ("subpopulation", by)):
        if name_ is not None:
            schema.require(name_, what=what)
    both = [n for n in quasi if n in secret]
    if both:
        raise RoleError(f"column '{both[0]}' is both quasi-identifier and sensitive.", hint="Name it in one role only.")
    person = unit or schema.unit
    if person in quasi or person in secret:
        raise RoleError(f"column '{person}' names people, so it cannot be measured as well.", hint="Leave it out of the others.")
    return quasi, secret


def _names(given: Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _policy(missing: str | MissingPolicy) -> MissingPolicy:
    if isinstance(missing, MissingPolicy):
        return missing
    try:
        return MissingPolicy(missing)
    except ValueError:
        raise UsageError("the rule for missing values is not known.", hint="Rules: own, wildcard, drop.") from None


_NEGATIVE = re.compile(r"^\s*-\s*[0-9][0-9_,.]*\s*(k|m|bn|b|g)?\s*$", re.IGNORECASE)
_SIZE = re.compile(r"^\s*([0-9][0-9_,.]*)\s*(k|m|bn|b|g)?\s*$", re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9, "bn": 10**9}


def population_size(text: str) -> int | None:
    """A number of people from text, or None where the text is not a number.

    >>> population_size("17.5M"), population_size("17_500_000"), population_size("people.csv")
    (17500000, 17500000, None)
    """
    found = _SIZE.match(text)
    if found is None:
        return None
    digits = found.group(1).replace("_", "").replace(",", "")
    try:
        return round(float(digits) * _UNITS[(found.group(2) or "").lower()])
    except ValueError:
        return None


def _population(
    population: Any, counts: ClassCounts, quasi: tuple[str, ...], unit: str | None, rule: MissingPolicy
) -> tuple[int | None, Any]:
    if population is None:
        return None, None
    if isinstance(population, str) and _NEGATIVE.match(population):
        raise UsageError("the population is a number of people, so it cannot be negative.", hint="Use for example 17.5M.")
    size = population_size(population) if isinstance(population, str) else population
    if isinstance(size, int | float) and not isinstance(size, bool):
        people = counts.n_members if counts.n_people is None else counts.n_people
        if size != int(size) or size < people:
            raise UsageError(
                f"the population ({size:,}) is smaller than the table ({people:,}).",
                hint="The population holds everybody in the table; check the number.",
            )
        return int(size), None
    from shoal.measures.classes.presence import presence

    if rule is MissingPolicy.WILDCARD:
        raise UsageError(
            "a population table is compared under the rules 'own' and 'drop' only.", hint="Use missing='own', the strict rule."
        )
    other = _opened(population)
    person = unit if unit is not None and unit in other.schema else other.schema.unit
    everybody = other.count(quasi, unit=person)
    if rule is MissingPolicy.DROP:
        counts, everybody = drop_missing(counts), drop_missing(everybody)
    found = presence(counts, everybody)
    return int(found.population.sum()), found


def _sample(counts: ClassCounts, size: int | None) -> dict[str, Any] | None:
    """From sample to population: Skinner–Elliot first, the models of population uniques beside it; not without class sizes that
    add up to the people."""
    if size is None or not (counts.unit is None or adds_up(counts)):
        return None
    from shoal.predict.population.uniques import population

    sizes, numbers = np.unique(counts.sizes, return_counts=True)
    found = population({int(s): int(n) for s, n in zip(sizes, numbers, strict=True)}, size)
    return found.to_json()


def _by(table: Table, quasi: tuple[str, ...], by: str, unit: str | None) -> Any:
    from shoal.kernels.text import canonical_text
    from shoal.measures.classes.anonymity import subpopulations

    columns = quasi if by in quasi else (*quasi, by)
    counts = table.count(columns, unit=unit)
    texts = canonical_text(counts.categories[counts.column(by)]).to_pylist()
    return subpopulations(counts, by, names=dict(enumerate(texts)) | {-1: "(missing)"})


def _is_sensitive(name: str, sensitive: tuple[str, ...]) -> bool:
    if name not in sensitive:
        raise UsageError(f"a hierarchy is given for '{name}', which is not a sensitive column.", hint="Name it as sensitive.")
    return True


def _hierarchy(name: str, given: Any, counts: ClassCounts) -> Hierarchy:
    """A hierarchy over the values of a sensitive column, from a Hierarchy, a rule, or a file in ARX's layout."""
    if isinstance(given, Hierarchy):
        return given
    from shoal.kernels.text import canonical_text

    texts = canonical_text(counts.sensitive[name].categories).to_pylist()
    if isinstance(given, str | Path):
        from shoal.hierarchies.builders.arx import read_arx

        given = read_arx(given, name)
    made: Hierarchy = given.over(name, texts)
    return made

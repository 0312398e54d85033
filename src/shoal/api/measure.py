"""``measure``: how anonymous is this table, and what would change it? Count in the engine, then every number from the counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from shoal.api.arguments import Names, Source, missing_rule, names, opened, quasi_of
from shoal.api.measure_inputs import (
    class_members,
    in_written_order,
    population_and_presence,
    repeating_ids,
    sample_estimates,
    subpopulation_sizes,
)
from shoal.api.measurement import Measurement
from shoal.engines.count.dispatch import in_order
from shoal.engines.count.people import check_counts, count_people
from shoal.engines.table import Table
from shoal.errors import RoleError, UsageError
from shoal.kernels.text import canonical_text
from shoal.measures.classes.closeness import Distance, in_spoken_order
from shoal.measures.classes.missing import drop_missing
from shoal.model.counts.classes import ClassCounts
from shoal.model.display import Progress
from shoal.model.hierarchy import Hierarchy
from shoal.model.roles import MissingPolicy

if TYPE_CHECKING:
    from shoal.api.events import EventMeasurement


@overload
def measure(
    table: Source,
    *,
    quasi: Names | None = None,
    sensitive: Names | None = None,
    direct: Names | None = None,
    insensitive: Names | None = None,
    unit: str | None = None,
    weight: str | None = None,
    counts: str | None = None,
    population: int | Source | None = None,
    missing: str | MissingPolicy = "own",
    by: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    distances: Mapping[str, Distance] | None = None,
    order: Mapping[str, Sequence[str]] | None = None,
    c: float = 3.0,
    memory_budget: int | None = None,
    progress: Progress | None = None,
    qi: Names | None = None,
) -> Measurement: ...
@overload
def measure(
    table: Source,
    *,
    unit: str | None = None,
    time: str,
    place: Names | None = None,
    time_widths: Sequence[str] | None = None,
    place_levels: Sequence[str] | None = None,
    known_records: Sequence[int] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    seed: int = 0,
    memory_budget: int | None = None,
    progress: Progress | None = None,
) -> EventMeasurement: ...
@overload
def measure(
    table: Source,
    *,
    unit: str | None = None,
    place: Names,
    place_levels: Sequence[str] | None = None,
    known_records: Sequence[int] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    seed: int = 0,
    memory_budget: int | None = None,
    progress: Progress | None = None,
) -> EventMeasurement: ...
def measure(
    table: Source,
    *,
    quasi: Names | None = None,
    sensitive: Names | None = None,
    direct: Names | None = None,
    insensitive: Names | None = None,
    unit: str | None = None,
    weight: str | None = None,
    counts: str | None = None,
    population: int | Source | None = None,
    missing: str | MissingPolicy = "own",
    by: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    distances: Mapping[str, Distance] | None = None,
    order: Mapping[str, Sequence[str]] | None = None,
    c: float = 3.0,
    memory_budget: int | None = None,
    progress: Progress | None = None,
    qi: Names | None = None,
    time: str | None = None,
    place: Names | None = None,
    time_widths: Sequence[str] | None = None,
    place_levels: Sequence[str] | None = None,
    known_records: Sequence[int] | None = None,
    seed: int = 0,
) -> Measurement | EventMeasurement:
    """Every anonymity, risk and diversity number of a table.

    Parameters
    ----------
    table : Table, path, URL or frame
        Anything that :func:`shoal.open` accepts.
    quasi, sensitive : names of columns, optional
        The table's roles by default. Without any quasi-identifier nothing is guessed: see :func:`shoal.inspect`. ``qi`` is
        accepted for ``quasi``.
    direct, insensitive : names of columns, optional
        Take no part in the numbers; a column that also has another role is refused.
    unit : str, optional
        The column that names a person: k then counts people, not rows.
    weight : str, optional
        Sampling weights, for the individual risk.
    counts : str, optional
        A column of whole numbers: each row stands for so many people, as in published tables. The numbers are those of the
        table with every person in a row of their own.
    population : int, text such as "17.5M", or a table, optional
        A size gives estimates; a table (or anything :func:`shoal.open` takes) gives k-map and δ-presence.
    missing : {"own", "wildcard", "drop"}
        How a missing quasi-identifier is compared. All three are shown; the headline follows this one.
    by : str, optional
        Also the class sizes inside each value of this column.
    hierarchies : mapping of sensitive column to Hierarchy, rule or file, optional
        For the hierarchical distance of t-closeness.
    distances : mapping of sensitive column to "ordered", "equal" or "hierarchical", optional
    order : mapping of sensitive column to its values from low to high, optional
        ``{"pain": ["low", "medium", "high"]}``: t-closeness then takes the distance in this order. An ordered pandas
        Categorical has its own.
    c : float
        For recursive (c,l)-diversity.
    time, place : columns, optional
        An event table: people with many records. Then the answer is what a few known records of a person reveal, and
        ``time_widths``, ``place_levels``, ``known_records``, ``seed`` and ``hierarchies`` are those of
        :func:`shoal.api.events.measure_events`.

    Returns
    -------
    Measurement, or EventMeasurement of an event table

    Examples
    --------
    >>> t = {"age": [30, 30, 41, 41, 41], "ill": ["flu", "flu", "flu", "hiv", "flu"]}
    >>> m = measure(t, quasi=["age"], sensitive=["ill"])
    >>> m.k, m.unique, m.diversity["ill"].distinct, round(m.closeness["ill"].t, 3)
    (2, 0, 1, 0.2)
    """
    if time is not None or place is not None:
        from shoal.api.events import measure_events  # loads the report and every hierarchy builder

        _events_only(quasi_of(quasi, qi), sensitive, direct, insensitive, weight, counts, population, by, distances)
        return measure_events(
            table,
            unit=unit,
            time=time,
            place=place,
            time_widths=time_widths,
            place_levels=place_levels,
            known_records=known_records,
            hierarchies=hierarchies,
            seed=seed,
            memory_budget=memory_budget,
            progress=progress,
        )
    if time_widths or place_levels or known_records:
        raise UsageError("widths, levels and known records are of event tables.", hint="Name a time or a place as well.")
    source = opened(table)
    asked, secret = _columns(source, quasi_of(quasi, qi), sensitive, unit)
    _apart(source, asked, secret, direct, insensitive)
    for what, name in (("unit", unit), ("weight", weight), ("subpopulation", by)):
        if name is not None:
            source.schema.require(name, what=what)
    for what, given in (("an order", order), ("a hierarchy", hierarchies)):
        _of_sensitive(what, given or {}, secret)
    rule, person = missing_rule(missing), unit or source.schema.unit
    weighed = weight or source.schema.weight
    source.check_measure(asked, secret)
    if counts is not None:
        if person or weighed:
            raise RoleError("counts cannot be used together with a unit or weights.", hint="Name one of them.")
        check_counts(source, counts, (*asked, *secret, *([by] if by else [])))
        found = count_people(source, asked, counts, sensitive=secret, memory_budget=memory_budget, progress=progress)
    else:
        found = source.count(asked, sensitive=secret, unit=person, weight=weighed, memory_budget=memory_budget, progress=progress)
    found = in_written_order(in_spoken_order(in_order(found, dict(order or {}))))
    who = class_members(source, found, needed=found.weights is not None or population is not None)
    size, present = population_and_presence(population, found, asked, person, rule, who)
    return Measurement(
        found,
        source.name,
        rule,
        present,
        size,
        sample_estimates(drop_missing(found, who) if rule is MissingPolicy.DROP else found, size) if present is None else None,
        subpopulation_sizes(source, asked, by, person, rule, counts) if by else None,
        {**_said_distances(source, secret, order or {}), **(distances or {})},
        {name: _hierarchy(name, given, found) for name, given in (hierarchies or {}).items()},
        c,
        who,
        source=source if counts is None else None,  # a row is not a person: subsets come from the classes
        repeating=None if person or counts else repeating_ids(source, {*asked, *secret, *names(direct), *names(insensitive)}),
    )


def _events_only(*others: object) -> None:
    """Refuse words that say nothing of an event table: what is given and not used misleads."""
    if any(given is not None and given != () for given in others):
        raise UsageError(
            "roles, weights and a population are not measured together with a time or place.",
            hint="Measure the event table with unit, time and place; the columns about the person in a second measurement.",
        )


def _said_distances(table: Table, secret: Sequence[str], order: Mapping[str, Sequence[str]]) -> dict[str, Distance]:
    """The distance that a stated scale or level asks for: categories are equally far apart, also where numbers code them."""
    out: dict[str, Distance] = {}
    for column in (table.schema[n] for n in secret):
        scale = column.scale or column.measure
        if scale == "ordered" or column.name in order:
            out[column.name] = "ordered"
        elif scale in ("nominal", "place", "id", "text"):
            out[column.name] = "equal"
    return out


def _columns(
    table: Table, quasi: Names | None, sensitive: Names | None, unit: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Quasi-identifiers and sensitive columns, each known and in one role."""
    schema = table.schema
    asked = schema.quasi if quasi is None else names(quasi)
    secret = schema.sensitive if sensitive is None else names(sensitive)
    if not asked:
        raise UsageError(
            f"no quasi-identifier of table '{table.name}' is known, and none is guessed.",
            hint="Name them: quasi=[…] or --quasi a,b. 'shoal inspect' suggests roles with a reason each.",
        )
    for what, columns in (("quasi-identifier", asked), ("sensitive column", secret)):
        for name in columns:
            schema.require(name, what=what)
        if len(set(columns)) != len(columns):
            raise RoleError(f"a {what} is named twice.", hint="Name each column once.")
    both = [n for n in asked if n in secret]
    if both:
        raise RoleError(f"column '{both[0]}' is both quasi-identifier and sensitive.", hint="Name it in one role only.")
    person = unit or schema.unit
    if person in asked or person in secret:
        raise RoleError(f"column '{person}' names people, so it cannot be measured as well.", hint="Leave it out of the others.")
    return asked, secret


def _apart(
    table: Table, quasi: tuple[str, ...], secret: tuple[str, ...], direct: Names | None, insensitive: Names | None
) -> None:
    """Refuse a column that is called direct or insensitive here and is measured all the same."""
    for role, given in (("direct", direct), ("insensitive", insensitive)):
        for name in names(given):
            table.schema.require(name, what=f"{role} column")
            if name in quasi or name in secret:
                raise RoleError(f"column '{name}' is called {role} and measured as well.", hint="Name it in one role only.")


def _of_sensitive(what: str, given: Mapping[str, Any], sensitive: tuple[str, ...]) -> None:
    """Refuse settings of a column that is not sensitive."""
    for name in given:
        if name not in sensitive:
            raise UsageError(
                f"{what} is given for '{name}', which is not sensitive.", hint="Name it among the sensitive columns."
            )


def _hierarchy(name: str, given: Any, counts: ClassCounts) -> Hierarchy:
    """A hierarchy over the values of a sensitive column, from a Hierarchy, a rule, or a file in ARX's layout."""
    if isinstance(given, Hierarchy):
        return given
    texts = canonical_text(counts.sensitive[name].categories).to_pylist()
    if isinstance(given, str | Path):
        from shoal.hierarchies import read_arx  # loads every builder

        given = read_arx(given, name)
        given.check_one_root(name)
    made: Hierarchy = given.over(name, texts)
    return made

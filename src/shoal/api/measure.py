"""``measure``: how anonymous is this table, and what would change it? Count in the engine, then every number from the counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np
import pyarrow.compute as pc
import pyarrow.types as kinds

from shoal.api.arguments import Names, Source, missing_rule, names, number_of_people, opened, quasi_of
from shoal.api.measurement import Measurement, Repeating
from shoal.engines.count.by_codes import in_order
from shoal.engines.count.people import check_counts, count_people
from shoal.engines.table import Table
from shoal.errors import RoleError, UsageError
from shoal.kernels.arrow import to_numpy
from shoal.kernels.group import Memberships, memberships
from shoal.kernels.text import canonical_text
from shoal.measures.classes.anonymity import Subpopulations, subpopulations
from shoal.measures.classes.closeness import Distance, in_spoken_order
from shoal.measures.classes.missing import drop_missing, dropped
from shoal.measures.classes.risk import Presence, presence
from shoal.model.counts.classes import ClassCounts, SensitiveCounts
from shoal.model.display import Progress
from shoal.model.hierarchy import Hierarchy
from shoal.model.roles import MissingPolicy

if TYPE_CHECKING:
    from shoal.api.events import EventMeasurement
    from shoal.hierarchies.rule import Rule


def class_members(table: Table, counts: ClassCounts, *, needed: bool) -> Memberships | None:
    """Who is in which class, where people are in several and missing values, weights or a population need it."""
    if counts.unit is None or counts.adds_up or not (needed or bool(counts.has_missing().any())):
        return None
    return memberships(table.count((counts.unit, *counts.columns)), counts)


def population_and_presence(
    population: int | Source | None,
    counts: ClassCounts,
    quasi: tuple[str, ...],
    unit: str | None,
    rule: MissingPolicy,
    who: Memberships | None,
) -> tuple[int | None, Presence | None]:
    """The size of the population, and where it is a table, how the classes lie in it."""
    if population is None:
        return None, None
    size = number_of_people(population) if isinstance(population, str) else population
    if isinstance(size, int | float) and not isinstance(size, bool):
        people = counts.n_members if counts.n_people is None else counts.n_people
        if size != int(size) or size < people:
            hint = "The population holds everybody in the table; check the number."
            raise UsageError(f"the population ({size:,}) is smaller than the table ({people:,}).", hint=hint)
        return int(size), None
    if rule is MissingPolicy.WILDCARD:
        hint = "Use missing='own', the strict rule."
        raise UsageError("a population table is compared under the rules 'own' and 'drop' only.", hint=hint)
    other = opened(population)  # type: ignore[arg-type]
    person = unit if unit is not None and unit in other.schema else other.schema.unit
    everybody = other.count(quasi, unit=person)
    if rule is MissingPolicy.DROP:
        theirs = class_members(other, everybody, needed=False)
        counts, everybody = drop_missing(counts, who), drop_missing(everybody, theirs)
    present = presence(counts, everybody)
    return present.people, present


def sample_estimates(counts: ClassCounts, size: int | None) -> dict[str, Any] | None:
    """From sample to population: Skinner–Elliot first, the models of population uniques beside it; not without class sizes that
    add up to the people, and not with sampling weights."""
    if size is None or not counts.adds_up or counts.weights is not None:
        return None
    from shoal.prediction.population.uniques import population  # loads scipy

    sizes, numbers = np.unique(counts.sizes, return_counts=True)
    estimate = population({int(s): int(n) for s, n in zip(sizes, numbers, strict=True)}, size)
    return estimate.to_json()


def subpopulation_sizes(
    table: Table, quasi: tuple[str, ...], by: str, unit: str | None, rule: MissingPolicy, count: str | None = None
) -> Subpopulations:
    """The groups inside each value; under 'drop' of the same rows as all other numbers, whether or not ``by`` is missing."""
    columns = quasi if by in quasi else (*quasi, by)
    counts = table.count(columns, unit=unit) if count is None else count_people(table, columns, count)
    texts = canonical_text(counts.categories[counts.column(by)]).to_pylist()
    who = class_members(table, counts, needed=True)
    if rule is MissingPolicy.DROP:
        kept = np.all([counts.codes[counts.column(name)] >= 0 for name in quasi], axis=0)
        counts, who = dropped(counts, kept, who), None if who is None else who.inside(kept)
    return subpopulations(counts, by, names=dict(enumerate(texts)) | {-1: "(missing)"}, who=who)


FIRST_ROWS = 10_000
MOST_COLUMNS = 200
KINDS = ("text", "integer", "binary")


def repeating_ids(table: Table, besides: Collection[str] = ()) -> Repeating | None:
    """The column outside ``besides`` that looks like the number of a person and repeats; None where there is none.

    Nothing is looked at where only aggregates may be read.
    """
    known = [c for c in table.schema.columns if c.kind in KINDS and c.name not in besides][:MOST_COLUMNS]
    if not known or table.only_aggregates:
        return None
    first = table.first_rows([c.name for c in known], FIRST_ROWS)
    if not first or len(first[0]) == 0:
        return None
    first = [canonical_text(cells) if kinds.is_nested(cells.type) else cells for cells in first]  # lists are not counted
    counted = [pc.drop_null(cells).value_counts() for cells in first]
    if all(len(distinct) == len(cells) - cells.null_count for cells, distinct in zip(first, counted, strict=True)):
        return None  # no value stands twice

    from shoal.find import ColumnFacts, find_columns  # the words of all topics: a small table is measured sooner without

    facts = []
    for column, cells, distinct in zip(known, first, counted, strict=True):
        values, sizes = distinct.field("values"), to_numpy(distinct.field("counts"))
        texts = [str(t) for t in canonical_text(values).to_pylist()]
        rows = len(cells)
        facts.append(ColumnFacts(column.name, column.kind, texts, sizes, rows, cells.null_count, len(values), column.note))
    name = next((f.name for f in find_columns(facts) if f.mark == "unit"), None)
    if name is None:
        return None
    ids, sizes = table.values(name)
    return Repeating(name, len(ids) - ids.null_count, int(np.asarray(sizes).sum()))


FEWEST, MOST = 3, 100_000
"""Different texts among which amounts are looked for; two are as far apart in either order."""


def in_written_order(counts: ClassCounts) -> ClassCounts:
    """The counts, with the orders of written amounts."""
    orders = {name: order for name, s in counts.sensitive.items() if not s.order and (order := written_order(s))}
    if not orders:
        return counts
    return replace(counts, sensitive={n: replace(s, order=orders.get(n, s.order)) for n, s in counts.sensitive.items()})


def written_order(sensitive: SensitiveCounts) -> tuple[str, ...]:
    """The texts from the smallest number to the largest; empty where one is not a number in the spelling of the others.

    >>> import pyarrow as pa
    >>> pay = pa.array(["$1,250.00", "$12,000.00", "$980.50"])
    >>> written_order(SensitiveCounts.from_dense("pay", [[1, 2, 3]], pay))
    ('$980.50', '$1,250.00', '$12,000.00')
    """
    values = sensitive.categories
    if values is None or not FEWEST <= len(values) <= MOST:
        return ()
    if not (kinds.is_string(values.type) or kinds.is_large_string(values.type)):
        return ()
    texts = canonical_text(values).to_pylist()
    if not all(any(map(str.isdigit, t)) for t in texts):
        return ()
    from shoal.hierarchies.builders.number_texts import Spelling

    spelling = Spelling.of(texts)
    numbers = {t: number for t in texts if (number := spelling.number(t)) is not None} if spelling else {}
    return tuple(sorted(texts, key=lambda t: float(numbers[t]))) if len(numbers) == len(texts) else ()


class EventOptions(TypedDict, total=False):
    """How an event table is measured, beside its time and place: see :func:`shoal.api.events.measure_events`."""

    unit: str | None
    time_widths: Sequence[str] | None
    place_levels: Sequence[str] | None
    known_records: Sequence[int] | None
    require: str | None
    hierarchies: Mapping[str, Hierarchy | Rule | str | Path] | None
    seed: int
    memory_budget: int | None
    progress: Progress | None


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
    hierarchies: Mapping[str, Hierarchy | Rule | str | Path] | None = None,
    distances: Mapping[str, Distance] | None = None,
    order: Mapping[str, Sequence[str]] | None = None,
    c: float = 3.0,
    memory_budget: int | None = None,
    progress: Progress | None = None,
    qi: Names | None = None,
) -> Measurement: ...
@overload
def measure(table: Source, *, time: str, place: Names | None = None, **options: Unpack[EventOptions]) -> EventMeasurement: ...
@overload
def measure(table: Source, *, place: Names, **options: Unpack[EventOptions]) -> EventMeasurement: ...
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
    hierarchies: Mapping[str, Hierarchy | Rule | str | Path] | None = None,
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
    require: str | None = None,
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
        ``time_widths``, ``place_levels``, ``known_records``, ``require``, ``seed`` and ``hierarchies`` are those of
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
        known: EventOptions = {"known_records": known_records, "time_widths": time_widths, "place_levels": place_levels}
        known |= {"unit": unit, "hierarchies": hierarchies, "seed": seed, "require": require}
        known |= {"memory_budget": memory_budget, "progress": progress}
        return measure_events(table, time=time, place=place, **known)
    _no_event_options(time_widths, place_levels, known_records, require)
    source = opened(table)
    columns, secret = _columns(source, quasi_of(quasi, qi), sensitive, unit, direct, insensitive)
    _check_named(source, secret, {"unit": unit, "weight": weight, "subpopulation": by}, order or {}, hierarchies or {})
    rule, person = missing_rule(missing), unit or source.schema.unit
    with source.one_state() as state:
        classes = _count(source, columns, secret, by, counts, person, weight or source.schema.weight, memory_budget, progress)
        classes = in_written_order(in_spoken_order(in_order(classes, dict(order or {}))))
        who = class_members(source, classes, needed=classes.weights is not None or population is not None)
        size, present = population_and_presence(population, classes, columns, person, rule, who)
        return Measurement(
            classes,
            source.name,
            rule,
            present,
            size,
            sample_estimates(drop_missing(classes, who) if rule is MissingPolicy.DROP else classes, size)
            if present is None
            else None,
            subpopulation_sizes(source, columns, by, person, rule, counts) if by else None,
            {**_said_distances(source, secret, order or {}), **(distances or {})},
            {name: _hierarchy(name, given, classes) for name, given in (hierarchies or {}).items()},
            c,
            who,
            source=source if counts is None else None,  # a row is not a person: subsets come from the classes
            repeating=None
            if person or counts
            else repeating_ids(source, {*columns, *secret, *names(direct), *names(insensitive)}),
            count=counts,
            state=state,
        )


def _count(
    source: Table,
    quasi: tuple[str, ...],
    secret: tuple[str, ...],
    by: str | None,
    counts: str | None,
    unit: str | None,
    weight: str | None,
    memory: int | None,
    progress: Progress | None,
) -> ClassCounts:
    """The classes, counted by rows, by people, or by a column of counts."""
    source.check_measure(quasi, secret)
    if counts is None:
        return source.count(quasi, sensitive=secret, unit=unit, weight=weight, memory_budget=memory, progress=progress)
    if unit or weight:
        raise RoleError("counts cannot be used together with a unit or weights.", hint="Name one of them.")
    check_counts(source, counts, (*quasi, *secret, *([by] if by else [])))
    return count_people(source, quasi, counts, sensitive=secret, memory_budget=memory, progress=progress)


def _events_only(*others: object) -> None:
    """Refuse words that say nothing of an event table: what is given and not used misleads."""
    if any(given is not None and given != () for given in others):
        hint = "Measure the event table with unit, time and place; the columns about the person in a second measurement."
        raise UsageError("roles, weights and a population are not measured together with a time or place.", hint=hint)


def _no_event_options(*given: object) -> None:
    if any(given):
        hint = "Name a time or a place as well; requirements on classes are checked by m.check(…)."
        raise UsageError("widths, levels, known records and require are of event tables.", hint=hint)


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
    table: Table, quasi: Names | None, sensitive: Names | None, unit: str | None, direct: Names | None, insensitive: Names | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Quasi-identifiers and sensitive columns, each known and in one role."""
    schema = table.schema
    chosen = schema.quasi if quasi is None else names(quasi)
    secret = schema.sensitive if sensitive is None else names(sensitive)
    if not chosen:
        hint = "Name them: quasi=[…] or --quasi a,b. 'shoal inspect' suggests roles with a reason each."
        raise UsageError(f"no quasi-identifier of table '{table.name}' is known, and none is guessed.", hint=hint)
    for what, columns in (("quasi-identifier", chosen), ("sensitive column", secret)):
        for name in columns:
            schema.require(name, what=what)
        if len(set(columns)) != len(columns):
            raise RoleError(f"a {what} is named twice.", hint="Name each column once.")
    both = [n for n in chosen if n in secret]
    if both:
        raise RoleError(f"column '{both[0]}' is both quasi-identifier and sensitive.", hint="Name it in one role only.")
    person = unit or schema.unit
    if person in chosen or person in secret:
        raise RoleError(f"column '{person}' names people, so it cannot be measured as well.", hint="Leave it out of the others.")
    _apart(table, chosen, secret, direct, insensitive)
    return chosen, secret


def _apart(
    table: Table, quasi: tuple[str, ...], secret: tuple[str, ...], direct: Names | None, insensitive: Names | None
) -> None:
    """Refuse a column that is called direct or insensitive here and is measured all the same."""
    for role, given in (("direct", direct), ("insensitive", insensitive)):
        for name in names(given):
            table.schema.require(name, what=f"{role} column")
            if name in quasi or name in secret:
                raise RoleError(f"column '{name}' is called {role} and measured as well.", hint="Name it in one role only.")


def _check_named(
    table: Table,
    sensitive: tuple[str, ...],
    columns: Mapping[str, str | None],
    order: Mapping[str, Any],
    hierarchies: Mapping[str, Any],
) -> None:
    """Refuse columns that the table does not have, and settings of a column that is not sensitive."""
    for what, column in columns.items():
        if column is not None:
            table.schema.require(column, what=what)
    for what, given in (("an order", order), ("a hierarchy", hierarchies)):
        for name in given:
            if name not in sensitive:
                hint = "Name it among the sensitive columns."
                raise UsageError(f"{what} is given for '{name}', which is not sensitive.", hint=hint)


def _hierarchy(name: str, given: Hierarchy | Rule | str | Path, counts: ClassCounts) -> Hierarchy:
    """A hierarchy over the values of a sensitive column, from a Hierarchy, a rule, or a file in ARX's layout."""
    if isinstance(given, Hierarchy):
        return given
    texts = canonical_text(counts.sensitive[name].categories).to_pylist()
    if isinstance(given, str | Path):
        from shoal.hierarchies import read_arx  # loads every builder

        given = read_arx(given, name)
        given.check_one_root(name)
    tree: Hierarchy = given.over(name, texts)
    return tree

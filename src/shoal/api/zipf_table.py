"""``predict zipf --table``: Zipf's law fitted to the places of a table, beside what the table itself shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from shoal.api.arguments import opened
from shoal.api.prediction import Prediction, draw_shares, draw_zipf
from shoal.engines.table import Table
from shoal.errors import DataError, RoleError, UsageError
from shoal.measures.events.sets import Sequences
from shoal.measures.events.traces import Traces
from shoal.measures.events.unicity import known
from shoal.model.counts.classes import MISSING, ClassCounts
from shoal.model.display import written
from shoal.model.estimate import Estimate, Grade
from shoal.prediction import Distribution, Zipf, ZipfFit, expected_share, fit_zipf, pseudonym_life
from shoal.prediction.zipf.chain import Chain, Dependence, chain_share, dependence

MOST_RECORDS = 6
POOR_FIT = 0.1
"""Beyond this Kolmogorov distance the law is not that of the table."""


@dataclass(frozen=True, eq=False)
class _Places:
    """Rows per place; with a unit the places of each person, in order of time where one is named."""

    counts: list[float]
    left_out: int
    sequences: Sequences | None
    in_order: bool

    @property
    def people(self) -> int | None:
        return None if self.sequences is None else len(np.unique(self.sequences.person))


def ask_zipf_table(options: Mapping[str, Any], threshold: Callable[..., dict[str, Any]]) -> Prediction:
    """The question of :func:`shoal.api.forecasts.ask_zipf`, from a table that has a row per visit."""
    source, column = _opened(options["table"])
    unit, time = options.get("unit"), options.get("time")
    found = _places(source, column, unit, time)
    people = options.get("people") or found.people
    if people is None:
        raise UsageError("zipf needs people.", hint="Give people=…, or the column that names them: unit=….")
    k, records = options.get("k", 2), options.get("records", 1)
    per_row = options.get("records_per_row") or 1
    if per_row < 1:
        raise UsageError("a row holds at least one record.", hint="Two for a trip with its beginning and end.")
    fitted = fit_zipf(found.counts, method=options.get("fit", "mle"))
    law = _law(fitted, options.get("places"))
    seen = Distribution.counts(found.counts)
    rng = np.random.default_rng(options.get("seed", 0))
    tested = _tested(found, rng)
    answer = _answer(law, fitted, tested, people, records * per_row, k)
    rows = _shares(law, seen if law.d == fitted.places else None, found, people, per_row, k, rng)
    more: dict[str, Any] = {
        "fit": {"exponent": fitted.c, "places": fitted.places, "r2": fitted.r2, "ks": fitted.ks, "method": fitted.method},
        **threshold(law, people, records * per_row, k),
    }
    if tested is not None:
        more["independence"] = tested.to_json()
    limit = options.get("limit")
    if limit is not None:
        more["records_allowed"] = pseudonym_life(law, people, limit, k=k) // per_row
    more["shares"] = rows
    notes = _notes(options, found, fitted, tested, people)
    what = f"expected share of people in cells with fewer than {k}"
    drawn = partial(draw_zipf, found.counts, law, people, records * per_row, k)
    return Prediction(what, replace(answer, notes=(*answer.notes, *notes)), more, drawn, partial(draw_shares, rows, limit, k))


def _opened(given: Any) -> tuple[Table, str]:
    """The table and its column of places: ``FILE:column``, or a pair of both."""
    if isinstance(given, tuple) and len(given) == 2:
        source, column = given
    else:
        source, colon, column = str(given).rpartition(":")
        if not colon or not source or not column or Path(str(given)).is_file():
            raise UsageError("the column of places is not named.", hint="Write FILE:column.")
    table = opened(source)
    table.schema.require(str(column), what="place")
    return table, str(column)


def _places(source: Table, column: str, unit: str | None, time: str | None) -> _Places:
    """Count the rows per place, and per person and time where these are named."""
    if unit is None and time is not None:
        raise UsageError("a time says nothing without the person.", hint="Name the person as well: unit=….")
    columns = [n for n in (unit, time) if n is not None]
    for name in columns:
        source.schema.require(name)
    if len({*columns, column}) != len(columns) + 1:
        raise RoleError("a column is named twice among place, unit and time.", hint="Name each column once.")
    counts = source.count((*columns, column))
    rows = counts.sizes if counts.records is None else counts.records
    codes = [counts.codes[counts.column(n)] for n in (*columns, column)]
    whole = np.logical_and.reduce([c != MISSING for c in codes])
    if not whole.any():
        raise DataError("no record of the table is complete.", hint="Check the columns named.")
    per_place = np.bincount(codes[-1][whole], weights=rows[whole])
    sequences = _sequences(counts, codes, rows, whole, unit, time)
    return _Places(per_place[per_place > 0].tolist(), int(rows[~whole].sum()), sequences, time is not None)


def _sequences(counts: ClassCounts, codes: Any, rows: Any, whole: Any, unit: str | None, time: str | None) -> Sequences | None:
    if unit is None:
        return None
    person = np.unique(codes[0][whole], return_inverse=True)[1].astype(np.int64)
    place = np.unique(codes[-1][whole], return_inverse=True)[1].astype(np.int64)
    at = None if time is None else codes[1][whole].astype(np.int64)
    return Sequences.of(person, at, place, rows[whole])


def _law(fitted: ZipfFit, places: int | None) -> Zipf:
    """The fitted law over the places seen, or over more of them."""
    if places is None or places == fitted.places:
        return fitted.law
    if places < fitted.places:
        raise UsageError(
            f"the table has {fitted.places:,} places; {places:,} are fewer.",
            hint="Leave out places, or count those not visited too.",
        )
    return Zipf(fitted.c, places)


def _answer(law: Zipf, fitted: ZipfFit, tested: Dependence | None, people: int, s: int, k: int) -> Estimate:
    """The share by the fitted law. Grade C where the law is stretched, fits badly, or its independence is refuted."""
    found = expected_share(law, people, s, k=k)
    notes, grade = list(found.notes), "B"
    if law.d > fitted.places:
        grade = "C"
        notes.append(f"{law.d:,} places by the law fitted to {fitted.places:,}: nothing in the table bears it out")
    if fitted.ks > POOR_FIT:
        grade = "C"
        notes.append(f"Zipf's law fits badly (Kolmogorov distance {fitted.ks:.2f}): trust the counts")
    if tested is not None and tested.found:
        grade = "C"
        notes.append(
            f"records of a person depend on each other (information {written(tested.information, 3)} nats, "
            f"{written(tested.null, 3)} if they did not), which the law does not know: go by what is measured"
        )
    method = f"{found.method}, law fitted to the table"
    return replace(found, grade=cast("Grade", grade), method=method, notes=tuple(notes))


def _tested(found: _Places, rng: np.random.Generator) -> Dependence | None:
    """Independence of consecutive places (of two random records of a person where the order is not known)."""
    if found.sequences is None:
        return None
    pairs = found.sequences.following() if found.in_order else found.sequences.random_pairs(rng)
    return dependence(*pairs, rng) if len(pairs[0]) > 1 else None


def _shares(
    law: Zipf, seen: Distribution | None, found: _Places, people: int, per_row: int, k: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """For 1 to 6 rows: the law, the counts, the chain, and what the table shows."""
    chain = None
    if found.sequences is not None and found.in_order:
        pairs = found.sequences.following()
        chain = Chain(*pairs) if len(pairs[0]) else None
    traces = None if found.sequences is None else Traces.of(found.sequences.person, found.sequences.place)
    rows = []
    for s in range(1, MOST_RECORDS + 1):
        row: dict[str, Any] = {"records": s, "law": expected_share(law, people, s * per_row, k=k).value}
        if seen is not None:
            row["counts"] = expected_share(seen, people, s * per_row, k=k).value
        if chain is not None:
            row["chain"] = chain_share(chain, people, s * per_row, k=k, rng=rng).value
        if found.sequences is not None and found.in_order:
            share, those = found.sequences.alone(s * per_row, k)
            row["measured"] = share if those else None
        if traces is not None:
            enough = s * per_row <= int(traces.lengths.max())
            row["known_places"] = known(traces, s * per_row, rng).unique.value if enough else None
        rows.append(row)
    return rows


def _notes(options: Mapping[str, Any], found: _Places, fitted: ZipfFit, tested: Dependence | None, people: int) -> list[str]:
    notes = []
    if options.get("records_per_row") is None:
        notes.append("one place per row is assumed; for trips with beginning and end in a row, say --records-per-row 2")
    if found.left_out:
        notes.append(f"{found.left_out:,} rows without a place (person, time) are left out")
    if tested is None:
        notes.append("the law takes records as independent; name the person (--unit) to test it")
    elif not tested.found:
        notes.append("no dependence between records of a person was found")
    if found.people is not None and found.people != people:
        notes.append(f"measured on the {found.people:,} people of the table; the law is asked for {people:,}")
    if found.sequences is not None:
        notes.append(
            "measured: the first records of each person in order; known_places: so many known places, against whole traces"
        )
    return notes

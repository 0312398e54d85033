"""Predictions from a table: a population fitted to its classes, a pilot of a questionnaire, Zipf's law fitted to its places."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal import prediction
from shoal.api.arguments import Names, Source, names, opened
from shoal.api.measurement import classes_of
from shoal.api.prediction import Prediction, chart_of, record_counts, record_steps, zipf_thresholds
from shoal.disk.atomic import write_text
from shoal.engines.count.people import check_counts, count_people
from shoal.engines.table import Table
from shoal.errors import DataError, RoleError, UsageError
from shoal.kernels.text import canonical_text
from shoal.measures.classes.individual import HouseholdRisk, household_risk
from shoal.measures.events.sets import Sequences
from shoal.measures.events.traces import Traces
from shoal.measures.events.unicity import known
from shoal.model.counts.classes import MISSING, ClassCounts, IntArray
from shoal.model.display import written
from shoal.model.estimate import Estimate, Grade
from shoal.prediction.distribution import Floats
from shoal.prediction.population.calibration import calibrate
from shoal.prediction.population.design import Design
from shoal.prediction.population.pilot import Pilot
from shoal.prediction.population.uniques import match_by_design
from shoal.prediction.population.without_model import ONE_BY_ONE
from shoal.prediction.questionnaire.questionnaire import Questionnaire
from shoal.prediction.questionnaire.questions import Question
from shoal.prediction.zipf.chain import Chain, Dependence, chain_share, dependence

_RATES = re.compile(r"(\w*wgt|(survey|sample|sampling|design|final)_?weights?|strat(um|a))(_?id)?", re.IGNORECASE)
_CLUSTERS = re.compile(r"(psu|clusters?|(household|hh)_?(id|nr|number)|hid)(_?id)?", re.IGNORECASE)
"""Names of columns that describe how people were sampled: weights and strata; clusters."""


def doubts_of(source: Table, weight: str | None = None, cluster: str | None = None) -> str:
    """What in a table speaks against people sampled one by one, each equally likely, beside the columns that say it. Weights
    tell all that strata do."""
    covered = [pattern for pattern, column in ((_RATES, weight), (_CLUSTERS, cluster)) if column is None]
    rest = [name for name in source.schema.names if name not in (weight, cluster)]
    named = [name for name in rest if any(pattern.fullmatch(name) for pattern in covered)]
    if not named:
        return ""
    doubt = f"By its name, column '{named[0]}' describes a sampling design, so grade C."
    return f"{doubt} {ONE_BY_ONE} Name it: --weight, --cluster."


def sampling_design(
    source: Table, counts: ClassCounts, people: int, weight: str | None, cluster: str | None, *, one_row: bool = True
) -> Design | None:
    """The design that columns of a table describe; None without any."""
    named = [name for name in (weight, cluster) if name is not None]
    if not named:
        return None
    if not one_row:
        raise UsageError("weights and clusters need one row per person.", hint="Leave out --unit and --count.")
    for name, what in ((weight, "weight"), (cluster, "cluster")):
        if name is not None:
            source.schema.require(name, what=what)
    batches = list(source.scan(tuple(dict.fromkeys((*counts.columns, *named)))))
    of_class = np.concatenate([classes_of(batch, counts) for batch in batches])
    heavy = home = None
    if weight is not None:
        try:
            columns = [batch.column(weight).cast(pa.float64()) for batch in batches]
        except pa.ArrowInvalid:
            raise UsageError(f"column '{weight}' does not contain numbers.", hint="Name a column of sampling weights.") from None
        heavy = np.concatenate([column.to_numpy(zero_copy_only=False) for column in columns])
    if cluster is not None:
        home = household_risk(np.zeros(of_class.size), [batch.column(cluster) for batch in batches]).of_record
    return Design.of(of_class, people, weight=heavy, cluster=home)


def count_table_classes(
    table: Source, columns: Names | None, unit: str | None, count: str | None = None
) -> tuple[Table, ClassCounts]:
    """The opened table and the classes of its quasi-identifiers; people if a unit or a column of counts is named."""
    source = opened(table)
    chosen = _quasi_columns(source, columns)
    if len(set(chosen)) != len(chosen):
        raise UsageError("a column is named twice.", hint="Name each column once.")
    person = unit or source.schema.unit
    if person is not None:
        source.schema.require(person, what="unit")
    if count is not None:
        if person is not None:
            raise RoleError("counts cannot be used together with a unit.", hint="Name one of them.")
        return source, count_people(source, chosen, check_counts(source, count, chosen))
    counts = source.count(chosen, unit=person)
    if not counts.adds_up:
        raise UsageError("people have rows in several classes.", hint="Give one row per person.")
    return source, counts


def _quasi_columns(source: Table, columns: Names | None) -> tuple[str, ...]:
    """The columns that are named, or the quasi-identifiers of the table."""
    chosen = names(columns) or source.schema.quasi
    if not chosen:
        raise UsageError("no column of the table is named.", hint="Name them: --quasi a,b.")
    for name in chosen:
        source.schema.require(name, what="quasi-identifier")
    return chosen


def ordered_codes(counts: ClassCounts) -> list[IntArray]:
    """For each column a code per class: numbers and dates by their order, texts from common to rare; a missing value is -1."""
    out = []
    for values, column in zip(counts.categories, counts.codes, strict=True):
        codes = np.asarray(column, dtype=np.int64)
        rank = _rank(values, np.bincount(codes[codes >= 0], weights=counts.sizes[codes >= 0]))
        out.append(np.where(codes >= 0, rank[np.maximum(codes, 0)], -1))
    return out


def _rank(values: pa.Array, people: np.ndarray[Any, Any]) -> IntArray:
    size = max(len(values), 1)
    out = np.zeros(size, dtype=np.int64)
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_temporal(kind):
        order = np.asarray(pc.sort_indices(values))
    else:
        weight = np.zeros(len(values))
        weight[: len(people)] = people
        texts = np.array(
            pc.cast(values, pa.string()).to_pylist() if pa.types.is_string(kind) else list(map(str, values.to_pylist()))
        )
        order = np.lexsort((texts, -weight)) if len(texts) else np.zeros(0, dtype=np.int64)
    out[order] = np.arange(len(order))
    return out


@dataclass(frozen=True, eq=False, repr=False)
class TableRisk(prediction.PopulationRisk):
    """The risk of the records of a table: per class, and by :meth:`per_record` per row. A pickled one forgets the table."""

    counts: ClassCounts | None = None
    source: Table | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "source": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def per_record(self, of_class: npt.ArrayLike | None = None) -> Floats:
        """A number per class (the risk, without one) as a number per row of the table, in its order."""
        if self.source is None or self.counts is None:
            raise UsageError("numbers per record need the table.", hint="Ask again from the table.")
        values = np.asarray(self.risk if of_class is None else of_class, dtype=np.float64)
        parts = [values[classes_of(batch, self.counts)] for batch in self.source.scan(self.counts.columns)]
        out: Floats = np.concatenate(parts)
        return out

    def households(self, column: str) -> HouseholdRisk:
        """Risk that somebody of a household is named; rows without one are households of one."""
        if self.source is None:
            raise UsageError("households need the table.", hint="Ask again from the table.")
        self.source.schema.require(column, what="household")
        ids = [batch.column(column) for batch in self.source.scan((column,))]
        return household_risk(self.per_record(), ids)

    def by_other_models(self, most: int = 2) -> list[prediction.PopulationRisk]:
        """The same records by the models that predicted people left out next best; none where one model was asked for."""
        if self.counts is None:
            raise UsageError("other models need the table.", hint="Ask again from the table.")
        scores = {name: score for name, score in (self.scores or {}).items() if name != self.model}
        codes = ordered_codes(self.counts)
        best = sorted(scores, key=lambda name: -scores[name])[:most]
        return [prediction.population_risk(codes, self.sizes, self.population, model=name) for name in best]

    def write(self, path: str | Path) -> Path:
        """A CSV file with a line per row of the table: its number from 1, size in the sample, risk, crowd and its range."""
        parts = (self.sizes, self.risk, self.unique, self.crowd, self.crowd_low, self.crowd_high)
        columns = [self.per_record(part) for part in parts]
        lines = ["row,in_sample,risk,unique,crowd,crowd_low,crowd_high"]
        for i, (f, *rest, low, high) in enumerate(zip(*columns, strict=True), start=1):
            lines.append(f"{i},{f:.0f},{','.join(f'{x:.6g}' for x in rest)},{low:.0f},{high:.0f}")
        write_text(path, "\n".join(lines) + "\n")
        return Path(path)


def table_population(
    table: Source,
    columns: Names | None,
    people: int,
    *,
    model: str = "auto",
    unit: str | None = None,
    count: str | None = None,
    cells: int | None = None,
    seed: int = 0,
    calibrated: bool = False,
    weight: str | None = None,
    cluster: str | None = None,
) -> prediction.PopulationEstimate:
    """Both answers of a table: from its class sizes alone, and from a fitted population whose risks add up to the first.

    The range of the unique people of the population is the one of the fitted population in both.
    """
    source, counts = count_table_classes(table, columns, unit, count)
    weight = weight or source.schema.weight
    doubts = doubts_of(source, weight, cluster)
    plain = prediction.population(counts.sizes, people, cells=cells)
    codes, one_row = ordered_codes(counts), count is None and (unit or source.schema.unit) is None
    design = None if plain.sample_size == people else sampling_design(source, counts, people, weight, cluster, one_row=one_row)
    risk = prediction.population_risk(codes, counts.sizes, people, model=model, seed=seed, design=design)
    if design is not None:
        match = match_by_design(plain.sample_uniques, design) if plain.sample_uniques else None
        parts = [f"chances of one over '{weight}'" if weight is not None else "equal chances"]
        parts += [f"whole clusters, named by '{cluster}', of which everybody is in the sample"] if cluster is not None else []
        sampled = f"Intervals are for people sampled with {' and '.join(parts)}."
        plain = replace(plain, match=match, models=(), notes=(sampled, *plain.notes[1:]))
    if calibrated and design is not None:
        raise UsageError("subsamples cannot be drawn by weights or clusters.", hint="Leave out --calibrate.")
    if calibrated:
        risk = calibrate(codes, risk, seed=seed)
    values = {f.name: getattr(risk, f.name) for f in fields(prediction.PopulationRisk)}
    fitted = TableRisk(**values, counts=counts, source=source if count is None else None)  # a row of counts is not a record
    uniques = fitted.population_uniques
    if plain.uniques is not None:
        uniques = replace(uniques, details={**uniques.details, **plain.uniques.details})
    both = replace(plain, fitted=fitted, uniques=uniques)
    return not_one_by_one(both, doubts) if doubts else both


def not_one_by_one(estimate: prediction.PopulationEstimate, why: str) -> prediction.PopulationEstimate:
    """The same numbers with grade C, because of how people were sampled; counted ones stay."""
    if estimate.fitted is None or estimate.sample_size == estimate.population:
        return estimate

    def rough(e: Estimate) -> Estimate:
        return replace(e, grade="C", notes=(*e.notes, why))

    fitted = replace(
        estimate.fitted,
        sample_uniques_alone=rough(estimate.fitted.sample_uniques_alone),
        right_matches=rough(estimate.fitted.right_matches),
        population_uniques=rough(estimate.fitted.population_uniques),
    )
    match, uniques = (None if e is None else rough(e) for e in (estimate.match, estimate.uniques))
    return replace(estimate, match=match, uniques=uniques, fitted=fitted, notes=(why, *estimate.notes[1:]))


def with_pilot(
    q: Questionnaire, table: Source, *, unit: str | None = None, count: str | None = None, model: str = "auto"
) -> Questionnaire:
    """The questionnaire with the shares and the dependence of its answers taken from a pilot.

    Every question is a column of the pilot, answered in the same bands or finer ones of the same number. Links of the file give
    way to what the pilot shows.
    """
    source, counts = count_table_classes(table, list(q.questions), unit, count)
    if source.schema.weight is not None:
        hint = "Open the table without the weights to get the numbers of a simple random sample, which this one is not."
        raise UsageError(f"column '{source.schema.weight}' has sampling weights. {ONE_BY_ONE}", hint=hint)
    out = q.copy()
    out.links = []
    codes = []
    for j, (name, question) in enumerate(q.questions.items()):
        coded, labels, ordered = _answers(counts, j, question)
        answers = int(coded.max()) + 1
        if answers > question.answers + int(_some_missing(counts, j)):
            hint = "Band the column of the pilot as the question is asked, or describe the question as it was asked there."
            raise UsageError(f"question '{name}' has {question.answers} answers, but the pilot has {answers}.", hint=hint)
        people = np.bincount(coded, weights=counts.sizes)
        shares = {"p": people / people.sum(), "labels": labels, "ordered": question.ordered or ordered}
        out.questions[name] = replace(question, source="table", kappa_range=None, **shares)
        codes.append(coded)
    out.pilot = Pilot.of(codes, counts.sizes, q.population, model=model, design=doubts_of(source))
    if out.pilot.joint is not None and len(codes) > 1:
        out.link(*out.questions, joint=out.pilot.joint)
    else:
        out.notes = (*out.notes, "single steps take the questions as independent: too many combinations for a joint table")
    return out


def from_pilot(
    table: Source, columns: Names | None, *, unit: str | None = None, count: str | None = None, **said: Any
) -> Questionnaire:
    """A questionnaire whose questions are columns of a pilot."""
    _, counts = count_table_classes(table, columns, unit, count)
    q = Questionnaire(**said)
    for j, name in enumerate(counts.columns):
        q.add(name, values=max(len(counts.categories[j]), 1))
    return with_pilot(q, table, unit=unit, count=count)


def _answers(counts: ClassCounts, j: int, question: Question) -> tuple[IntArray, tuple[str, ...], bool]:
    """The answer of each class, the answers' labels where the question names them, and whether they have an order.

    Values of the pilot itself are never kept: an answer that the question does not name is a number.
    """
    values = counts.categories[j]
    texts = canonical_text(values).to_pylist()
    kind = values.type
    ordered = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    order = list(np.asarray(pc.sort_indices(values))) if ordered else sorted(range(len(texts)), key=lambda i: texts[i])
    if question.labels and set(texts) <= set(question.labels):
        place = {label: i for i, label in enumerate(question.labels)}
        order = sorted(range(len(texts)), key=lambda i: place[texts[i]])
    rank = np.zeros(max(len(order), 1), dtype=np.int64)
    rank[np.array(order, dtype=np.int64)] = np.arange(len(order))
    codes = np.asarray(counts.codes[j], dtype=np.int64)
    out: IntArray = np.where(codes < 0, len(order), rank[np.maximum(codes, 0)])
    named = tuple(texts[i] for i in order) + (("(no answer)",) if _some_missing(counts, j) else ())
    return out, named if question.labels else (), ordered


def _some_missing(counts: ClassCounts, j: int) -> bool:
    return bool((np.asarray(counts.codes[j]) < 0).any())


def values_of(table: Source, columns: Sequence[str], count: str | None = None) -> tuple[dict[str, int], int, dict[str, Any]]:
    """Values per column (a missing one is a value too), rows, and combinations and unique records that occur in the table.

    >>> values_of({"a": [1, 1, 2], "b": ["x", None, None]}, ["a", "b"])
    ({'a': 2, 'b': 2}, 3, {'observed': {'records': 3, 'combinations': 3, 'unique': 3, 'unique_share': 1.0}})
    """
    source = opened(table)
    chosen = _quasi_columns(source, columns)
    sets = [*((c,) for c in chosen), tuple(chosen)]
    if count is None:
        *alone, together = source.count_many(sets)
    else:
        check_counts(source, count, chosen)
        *alone, together = [count_people(source, columns, count) for columns in sets]
    rows = together.n_records
    unique = int((together.sizes == 1).sum())
    seen = {"records": rows, "combinations": together.n_classes, "unique": unique, "unique_share": unique / rows}
    return {c: counts.n_classes for c, counts in zip(chosen, alone, strict=True)}, rows, {"observed": seen}


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


def ask_zipf_table(options: Mapping[str, Any]) -> Prediction:
    """The question of :func:`shoal.api.predict.ask_zipf`, from a table that has a row per visit."""
    source, column = _open_places(options["table"])
    unit, time = options.get("unit"), options.get("time")
    places = _places(source, column, unit, time)
    people = options.get("people") or places.people
    if people is None:
        raise UsageError("zipf needs people.", hint="Give people=…, or the column that names them: unit=….")
    k, record_numbers = options.get("k", 2), record_counts(options.get("records", 1))
    records = record_numbers[0]
    per_row = options.get("records_per_row") or 1
    if per_row < 1:
        raise UsageError("a row holds at least one record.", hint="Two for a trip with its beginning and end.")
    fitted = prediction.fit_zipf(places.counts, method=options.get("fit", "mle"))
    law = _law(fitted, options.get("places"))
    seen = prediction.Distribution.counts(places.counts)
    rng = np.random.default_rng(options.get("seed", 0))
    tested = _test_independence(places, rng)
    answer = _answer(law, fitted, tested, people, records * per_row, k)
    rows = _shares(law, seen if law.d == fitted.places else None, places, people, per_row, k, rng, record_steps(record_numbers))
    more: dict[str, Any] = {
        "fit": {"exponent": fitted.c, "places": fitted.places, "r2": fitted.r2, "ks": fitted.ks, "method": fitted.method},
        **zipf_thresholds(law, people, records * per_row, k),
    }
    if tested is not None:
        more["independence"] = tested.to_json()
    limit = options.get("limit")
    if limit is not None:
        more["records_allowed"] = prediction.pseudonym_life(law, people, limit, k=k) // per_row
    more["shares"] = rows
    notes = _notes(options, places, fitted, tested, people)
    what, answer = f"expected share of people in cells with fewer than {k}", replace(answer, notes=(*answer.notes, *notes))
    ranks = partial(chart_of, "places_by_rank", places.counts, law, people, records * per_row, k)
    return Prediction(what, answer, more, ranks, partial(chart_of, "renewal_curve", rows, limit=limit, k=k))


def _open_places(given: Any) -> tuple[Table, str]:
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
    rows = counts.records_by_class
    codes = [counts.codes[counts.column(n)] for n in (*columns, column)]
    whole = np.logical_and.reduce([c != MISSING for c in codes])
    if not whole.any():
        raise DataError("no record of the table is complete.", hint="Check the columns named.")
    per_place = np.bincount(codes[-1][whole], weights=rows[whole])
    sequences = None
    if unit is not None:
        person, place = (np.unique(c[whole], return_inverse=True)[1].astype(np.int64) for c in (codes[0], codes[-1]))
        moments = None if time is None else codes[1][whole].astype(np.int64)
        sequences = Sequences.of(person, moments, place, rows[whole])
    return _Places(per_place[per_place > 0].tolist(), int(rows[~whole].sum()), sequences, time is not None)


def _law(fitted: prediction.ZipfFit, places: int | None) -> prediction.Zipf:
    """The fitted law over the places seen, or over more of them."""
    if places is None or places == fitted.places:
        return fitted.law
    if places < fitted.places:
        hint = "Leave out places, or count those not visited too."
        raise UsageError(f"the table has {fitted.places:,} places; {places:,} are fewer.", hint=hint)
    return prediction.Zipf(fitted.c, places)


def _answer(law: prediction.Zipf, fitted: prediction.ZipfFit, tested: Dependence | None, people: int, s: int, k: int) -> Estimate:
    """The share by the fitted law. Grade C where the law is stretched, fits badly, or its independence is refuted."""
    share = prediction.expected_share(law, people, s, k=k)
    notes, grade = list(share.notes), "B"
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
    method = f"{share.method}, law fitted to the table"
    return replace(share, grade=cast("Grade", grade), method=method, notes=tuple(notes))


def _test_independence(places: _Places, rng: np.random.Generator) -> Dependence | None:
    """Independence of consecutive places (of two random records of a person where the order is not known)."""
    if places.sequences is None:
        return None
    pairs = places.sequences.following() if places.in_order else places.sequences.random_pairs(rng)
    return dependence(*pairs, rng) if len(pairs[0]) > 1 else None


def _shares(
    law: prediction.Zipf,
    seen: prediction.Distribution | None,
    places: _Places,
    people: int,
    per_row: int,
    k: int,
    rng: np.random.Generator,
    steps: tuple[int, ...],
) -> list[dict[str, Any]]:
    """For each number of rows: the law, the counts, the chain, and what the table shows."""
    chain = None
    if places.sequences is not None and places.in_order:
        pairs = places.sequences.following()
        chain = Chain(*pairs) if len(pairs[0]) else None
    traces = None if places.sequences is None else Traces.of(places.sequences.person, places.sequences.place)
    rows = []
    for s in steps:
        row: dict[str, Any] = {"records": s, "law": prediction.expected_share(law, people, s * per_row, k=k).value}
        if seen is not None:
            row["counts"] = prediction.expected_share(seen, people, s * per_row, k=k).value
        if chain is not None:
            row["chain"] = chain_share(chain, people, s * per_row, k=k, rng=rng).value
        if places.sequences is not None and places.in_order:
            share, those = places.sequences.alone(s * per_row, k)
            row["measured"] = share if those else None
        if traces is not None:
            enough = s * per_row <= int(traces.lengths.max())
            row["known_places"] = known(traces, s * per_row, rng).unique.value if enough else None
        rows.append(row)
    return rows


def _notes(
    options: Mapping[str, Any], places: _Places, fitted: prediction.ZipfFit, tested: Dependence | None, people: int
) -> list[str]:
    notes = []
    if options.get("records_per_row") is None:
        notes.append("one place per row is assumed; for trips with beginning and end in a row, say --records-per-row 2")
    if places.left_out:
        notes.append(f"{places.left_out:,} rows without a place (person, time) are left out")
    if tested is None:
        notes.append("the law takes records as independent; name the person (--unit) to test it")
    elif not tested.found:
        notes.append("no dependence between records of a person was found")
    if places.people is not None and places.people != people:
        notes.append(f"measured on the {places.people:,} people of the table; the law is asked for {people:,}")
    if places.sequences is not None:
        notes.append(
            "measured: the first records of each person in order; known_places: so many known places, against whole traces"
        )
    return notes

"""A table that the attacker has: carried through the published plan, or held against the cells, by all columns that it shares."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.api.arguments import Source, opened
from shoal.attacks._common import wilson
from shoal.attacks.cells import MISSING, NOBODY_FITS, LinkedRows, Shown, covered, fitting
from shoal.attacks.joint import BEAM, LEAST_TARGETS, MOST_PAIRS, MOST_VALUES, default_limit
from shoal.attacks.matching import EXCLUDED, Pairs, confidence, go_together, joint_weights, label_weights, number_weights
from shoal.disk.atomic import scratch
from shoal.engines.table import Table
from shoal.errors import missing_column
from shoal.kernels.text import canonical_text
from shoal.model.attack import AttackResult, Verdict
from shoal.model.certificate.certificate import Certificate
from shoal.model.counts.classes import ClassCounts, FloatArray
from shoal.model.counts.classes import IntArray as Codes
from shoal.model.plan import Plan, Step, Suppression
from shoal.release.certificate import codebook
from shoal.release.linked.certificate import LinkedEntry
from shoal.release.make.value_links import Beside, numbers_of, same_profile
from shoal.release.proof.read import logical
from shoal.release.proof.recount import number_groups
from shoal.steps import Drop, Keep, MapValues
from shoal.steps.expression import ExpressionStep
from shoal.techniques.identity.date_shift import DateShift

MOST_PEOPLE = 5_000
"""People of an external table that are looked for."""
HIDDEN = ("keyed_hash", "fake", "pseudonymize")
MOST_KNOWN = 3
"""Columns of the largest attacker that a hunt tries before all columns."""
QUESTION = "Somebody looks for the people of the external table by every column that both share: are their records found?"
HUNT = "Which are the fewest columns by which somebody finds more people than the release claims?"

Scores = npt.NDArray[np.float32] | npt.NDArray[np.float64]


def texts_of(column: pa.Array | pa.ChunkedArray) -> list[str]:
    """The cells of a column as texts, a missing one as :data:`MISSING`."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    texts: list[str] = pc.fill_null(canonical_text(whole).cast(pa.string()), MISSING).to_pylist()
    return texts


def known_people(external: Source, quasi: Sequence[str], records: int, seed: int) -> dict[str, list[str]]:
    """The quasi-identifiers of at most so many people of the table that the comparison stays within its memory."""
    theirs = opened(external)
    known = [name for name in quasi if name in theirs.schema]
    if not known:
        raise missing_column(quasi[0], theirs.schema.names, table=theirs.name, what="quasi-identifier")
    table = _table(theirs, known, _most(records), seed)
    return {c: texts_of(table[c]) for c in known}


def _most(records: int) -> int:
    return max(100, min(MOST_PEOPLE, 50_000_000 // max(records, 1)))


@dataclass(frozen=True, eq=False)
class Family:
    """What one external table tells of people in linked tables: their attributes, and rows of the other tables.

    ``columns`` are those of the external table by place; ``people`` has the key too, by which rows are one person's (without
    it every row is a person of its own). A column is known by its name if one table publishes it, or as TABLE.COLUMN.
    """

    columns: Mapping[tuple[str, str], str]
    people: Mapping[str, Sequence[str]]
    rows: tuple[LinkedRows, ...]

    @classmethod
    def of(cls, external: Source, tables: Sequence[LinkedEntry], seed: int) -> Family:
        theirs, first = opened(external), tables[0]
        every = [c for t in tables for c in t.quasi]
        named = {(t.name, c): [f"{t.name}.{c}", *([c] if every.count(c) == 1 else [])] for t in tables for c in t.quasi}
        columns = {
            at: next(n for n in wanted if n in theirs.schema)
            for at, wanted in named.items()
            if {*wanted} & {*theirs.schema.names}
        }
        if not columns:
            raise missing_column(every[0], theirs.schema.names, table=theirs.name, what="quasi-identifier")
        key = [first.key] if first.key in theirs.schema else []
        table = pa.Table.from_batches(list(theirs.scan(list(dict.fromkeys([*key, *columns.values()])))))
        ids = texts_of(table[key[0]]) if key else [str(i) for i in range(len(table))]
        names, at, person = np.unique(np.array(ids, dtype=object).astype(str), return_index=True, return_inverse=True)
        most = _most(max(t.records for t in tables) * max(1, len(table) // max(len(names), 1)))
        chosen = np.sort(np.random.default_rng([seed, 38]).permutation(len(names))[:most])
        number = np.full(len(names), -1)
        number[chosen] = np.arange(len(chosen))
        texts = {place: np.array(texts_of(table[name]), dtype=object) for place, name in columns.items()}
        people = {c: texts[t, c][at[chosen]].tolist() for t, c in columns if t == first.name}
        rows = []
        for t in dict.fromkeys(t for t, _ in columns if t != first.name):
            own = {c: texts[t, c] for u, c in columns if u == t}
            there = np.logical_or.reduce([x != MISSING for x in own.values()]) & (number[person] >= 0)
            rows.append(LinkedRows(t, number[person[there]], {c: x[there].tolist() for c, x in own.items()}))
        return cls(columns, {first.key: names[chosen].tolist(), **people}, tuple(rows))

    def only(self, names: Sequence[str]) -> tuple[dict[str, Sequence[str]], tuple[LinkedRows, ...]]:
        """People and rows by some of the columns."""
        kept = {at for at, name in self.columns.items() if name in names}
        columns = {c for _, c in kept} | {next(iter(self.people))}
        rows = [LinkedRows(r.table, r.person, {c: x for c, x in r.cells.items() if (r.table, c) in kept}) for r in self.rows]
        return {c: x for c, x in self.people.items() if c in columns}, tuple(r for r in rows if r.cells)

    def hunted(self, shown: Shown, k: int) -> AttackResult:
        """The fewest columns by which the cells of all tables find more than the limit."""

        def rate(names: Sequence[str]) -> float:
            many = fitting(shown, *self.only(names)).sum(axis=1)
            return float((1 / many[many > 0]).mean()) if many.any() else 0.0

        return hunt(list(self.columns.values()), rate, len(next(iter(self.people.values()))), default_limit(k))

    @property
    def most_rows(self) -> int:
        """The most rows that are known of a person."""
        return int(np.bincount(np.concatenate([np.zeros(0, dtype=np.int64), *(r.person for r in self.rows)])).max(initial=0))


def hunt(columns: Sequence[str], rate_of: Callable[[Sequence[str]], float], people: int, limit: float) -> AttackResult:
    """The fewest columns that find more than the limit: every set of one, two and three columns, then the best sets of each
    size with one column more."""
    rates: dict[tuple[str, ...], float] = {}
    best: tuple[str, ...] = ()
    for size in range(1, len(columns) + 1):
        for names in _wider(columns, size, rates):
            rates[names] = rate_of(names)
        best = max(rates, key=lambda s: rates[s])
        if rates[best] > limit:
            break
    rate = rates.get(best, 0.0)
    low, high = wilson(rate * people, people)
    won = rate > limit
    sentence = f"Anyone who knows {_name_columns(best)} finds {rate:.1%} of {people:,} people" if rate else "Nobody is found"
    fewer = "Nobody does" if len(best) <= MOST_KNOWN + 1 else "None of the attackers tried does"
    end = f"; the release claims at most {limit:.1%}. {fewer} with fewer columns." if won else "."
    verdict: Verdict = "broken" if won else "holds"
    return AttackResult("hunt", HUNT, rate, low, high, limit, f"{len(rates):,} attackers tried", verdict, sentence + end)


def _wider(names: Sequence[str], size: int, rates: Mapping[tuple[str, ...], float]) -> list[tuple[str, ...]]:
    """The sets of a size that are tried; a set of all columns is."""
    if size <= MOST_KNOWN or size == len(names):
        return list(itertools.combinations(names, size))
    first = sorted((s for s in rates if len(s) == size - 1), key=lambda s: -rates[s])[:BEAM]
    return sorted({tuple(c for c in names if c in s or c == more) for s in first for more in names if more not in s})


def _table(source: Table, names: Sequence[str], most: int, seed: int) -> pa.Table:
    table = pa.Table.from_batches(list(source.scan(list(names))))
    if len(table) > most:
        table = table.take(pa.array(np.sort(np.random.default_rng([seed, 38]).permutation(len(table))[:most])))
    return table


def arrow_of(file: Path, names: Sequence[str]) -> pa.Table:
    """A published file in memory, its columns named as the certificate names them; new codes as the groups they stand for."""
    rows = pa.Table.from_batches(list(opened(file).scan()))
    rows = rows.rename_columns(logical(rows.column_names, names))
    for name, codes in codebook.new_codes(file.parent).items():
        if name in rows.column_names:
            at = rows.column_names.index(name)
            texts = [codes.get(t, t) if t is not None else None for t in canonical_text(rows.column(at)).to_pylist()]
            rows = rows.set_column(at, name, pa.array(texts, pa.string()))
    return rows


@dataclass(frozen=True, eq=False)
class External:
    """People of an external table and the published records, laid one after the other, with the columns that both share.

    ``labels`` are codes over both, as the plan publishes them; ``cells`` score what fits by value and label (local
    recoding) or by value and pseudonym;
    ``numbers`` and ``changed`` labels are changed at random: what the attacker knows, and what a trial of the plan on his own
    table, or the release, publishes.
    """

    people: int
    records: int
    quasi: tuple[str, ...]
    labels: Mapping[str, Codes]
    cells: Mapping[str, tuple[Codes, npt.NDArray[np.float64]]]
    numbers: Mapping[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]
    changed: Mapping[str, tuple[Codes, Codes]]
    secrets: Mapping[str, Codes]
    seed: int
    untried: tuple[str, ...] = ()

    @classmethod
    def of(cls, external: Source, published: pa.Table, claims: Certificate, plan: Plan, seed: int) -> External | None:
        """None if the tables share no column."""
        theirs = opened(external)
        moved = {s.column: s for s in plan.steps if isinstance(s, DateShift)}
        keyed = {s.column for s in plan.steps if hasattr(s, "key") and s.column not in moved}
        hidden = keyed | {s.column for s in plan.steps if isinstance(s, Drop) or s.kind in HIDDEN}
        both = [c for c in claims.data.columns if c in theirs.schema]
        named = [c for c in both if c in hidden]
        secrets = [c for c in claims.data.sensitive if len(set(texts_of(published[c]))) <= MOST_VALUES]
        shared = [c for c in both if c not in hidden and c not in secrets]
        if not (shared or named) or not len(published):
            return None
        quasi = tuple(c for c in claims.data.quasi if c in shared)
        own = _table(theirs, [*shared, *named], MOST_PEOPLE, seed)
        still = [c for c in shared if c not in moved]
        mapped = [c for c in still if plan.for_column(c)]
        random = [c for c in still if c not in quasi and not all(isinstance(s, ExpressionStep) for s in plan.for_column(c))]
        carried = _carry_out(_fill_changed(own, published, plan, mapped), plan, mapped, random, claims)
        sides = {c: (carried[f"{_TRUE}{c}"], carried[c], published[c]) for c in random}
        pairs = {c: _number_pair(*three) for c, three in sides.items()}
        numbers = _moved_dates(own, published, [moved[c] for c in shared if c in moved])
        numbers |= {c: pair for c, pair in pairs.items() if pair is not None}
        changed = {c: _code_pair(*sides[c]) for c, pair in pairs.items() if pair is None}
        cells = {c: _covering(own[c], published[c]) for c in still if c in quasi and c not in mapped}
        labels = {c: _codes(carried[c], published[c]) for c in still if c not in random and c not in cells}
        renamed = {c: _rename_values(own[c], published[c], [labels[q] for q in quasi if q in labels]) for c in named}
        labels |= {c: codes for c, codes in renamed.items() if isinstance(codes, np.ndarray)}
        cells |= {c: position for c, position in renamed.items() if isinstance(position, tuple)}
        untried = tuple(c for c, codes in renamed.items() if codes is None)
        nobody = np.zeros(len(own), dtype=np.int64)
        hide = {c: np.append(nobody, _codes(published[c])) for c in secrets}
        return cls(len(own), len(published), quasi, labels, cells, numbers, changed, hide, seed, untried)

    @property
    def columns(self) -> list[str]:
        return [*self.labels, *self.cells, *self.numbers, *self.changed]

    @cached_property
    def pairs(self) -> Pairs:
        """Every person with every record."""
        return self._pairs(np.zeros(self.people + self.records, dtype=np.int64))

    def _pairs(self, block: Codes) -> Pairs:
        rng = np.random.default_rng([self.seed, 39])
        return Pairs.across(block, self.people, rng, most=MOST_PAIRS, least=LEAST_TARGETS)

    def evidence(self, column: str, pairs: Pairs) -> Scores:
        """The score of each pair by one column."""
        if column in self.numbers:
            return number_weights(*self.numbers[column], pairs, *self._half()).learned
        if column in self.changed:
            return label_weights(*self.changed[column], pairs, *self._half()).learned
        if column in self.cells:
            codes, score = self.cells[column]
            return score[codes[pairs.person], codes[pairs.record]]
        codes = self.labels[column]
        return np.where(codes[pairs.person] == codes[pairs.record], 0.0, EXCLUDED)

    def _half(self) -> tuple[npt.NDArray[np.bool_], np.random.Generator]:
        """The half of all people and records from which weights are learned, and the generator that drew it."""
        rng = np.random.default_rng([self.seed, 40])
        return np.asarray(rng.permutation(self.people + self.records) % 2 == 0), rng

    def score(self, names: Sequence[str], pairs: Pairs, scores: dict[str, Scores]) -> Scores:
        """The score of each pair by all these columns; numbers whose changes go together are taken together. ``scores`` keeps
        what was worked out for single columns."""
        sides = [self.numbers[c] for c in names if c in self.numbers]
        out: Scores = np.zeros(len(pairs.record))
        rest = list(names)
        if go_together(sides):
            out, rest = joint_weights(sides, pairs, *self._half()).learned, [c for c in names if c not in self.numbers]
        for c in rest:
            scores[c] = self.evidence(c, pairs) if c not in scores else scores[c]
        return sum((scores[c] for c in rest), out)

    def all_columns(self, k: int) -> AttackResult:
        """Every shared column together; people whom no record fits are not counted. The release claims something of the
        quasi-identifiers only, so that further columns make it a warning; a hunt holds them against the same limit."""
        name = "linkage: shared columns"
        block = np.zeros(self.people + self.records, dtype=np.int64)
        if self.labels:
            rows = np.stack(list(self.labels.values()), axis=1)
            block = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        pairs = self._pairs(block)
        rest = [c for c in self.columns if c not in self.labels]
        if not len(pairs.record):
            return AttackResult.not_run(name, NOBODY_FITS, QUESTION)
        score = self.score(rest, pairs, {})
        chances = confidence(pairs, score)
        fitting = chances > 0
        if not fitting.any():
            return AttackResult.not_run(name, NOBODY_FITS, QUESTION)
        rate, people = float(chances[fitting].mean()), int(fitting.sum())
        low, high = wilson(rate * people, people)
        limit = default_limit(k)
        covered_by_k = set(self.columns) <= set(self.quasi)
        sentence = (
            f"{rate:.1%} of {people:,} people whom a record fits are expected to be found by {_name_columns(self.columns)}."
        )
        for c, codes in self.secrets.items():
            sure = float(confidence(pairs, score, codes)[fitting].mean())
            sentence += f" '{c}' is expected to be told correctly for {sure:.1%}."
        if self.untried:
            sentence += f" Not tried: {_name_columns(self.untried)}, which has too many pseudonyms."
        sure = float((chances[fitting] > 0.9).mean())
        worst = f"{sure:.1%} with a chance above 0.9"
        above: Verdict = "broken" if covered_by_k else "warning"
        verdict: Verdict = above if rate > limit else "warning" if sure else "holds"
        return AttackResult(name, QUESTION, rate, low, high, limit if covered_by_k else None, worst, verdict, sentence)

    def hunted(self, k: int) -> AttackResult:
        """The fewest columns that find more than the limit."""
        scores: dict[str, Scores] = {}

        def rate(names: Sequence[str]) -> float:
            chances = confidence(self.pairs, self.score(names, self.pairs, scores))
            return float(chances[chances > 0].mean()) if (chances > 0).any() else 0.0

        return hunt(self.columns, rate, len(self.pairs.targets), default_limit(k))


def _codes(*columns: pa.ChunkedArray) -> Codes:
    """One code for each text, over all columns."""
    return np.unique([text for column in columns for text in texts_of(column)], return_inverse=True)[1]


def _covering(own: pa.ChunkedArray, published: pa.ChunkedArray) -> tuple[Codes, FloatArray]:
    """Codes of values and published labels, and the score of each pair: by whether the label covers the value."""
    values, mine = np.unique(texts_of(own), return_inverse=True)
    shown, them = np.unique(texts_of(published), return_inverse=True)
    return np.append(mine, them), np.where(covered(shown.tolist(), values.tolist()), 0.0, EXCLUDED)


def _number_pair(true: pa.ChunkedArray, tried: pa.ChunkedArray, real: pa.ChunkedArray) -> tuple[FloatArray, FloatArray] | None:
    """Numbers of the people before and after the steps, and behind them those of the records; None if a side has texts."""
    before, after, shown = numbers_of(true), numbers_of(tried), numbers_of(real)
    if before is None or after is None or shown is None:
        return None
    return np.append(before, np.full(len(shown), np.nan)), np.append(after, shown)


def _code_pair(true: pa.ChunkedArray, tried: pa.ChunkedArray, real: pa.ChunkedArray) -> tuple[Codes, Codes]:
    """The same for texts, as codes; 0 stands for missing."""
    sides = [texts_of(part) for part in (true, tried, real)]
    codes = np.unique([MISSING, *(text for side in sides for text in side)], return_inverse=True)[1]
    codes = np.where(codes == codes[0], 0, codes + 1)[1:]
    people, nobody = len(sides[0]), np.zeros(len(sides[2]), dtype=np.int64)
    return np.append(codes[:people], nobody), codes[people:]


def _rename_values(
    own: pa.ChunkedArray, published: pa.ChunkedArray, labels: Sequence[Codes]
) -> Codes | tuple[Codes, npt.NDArray[np.float64]] | None:
    """Values of people and pseudonyms of records, without the key: one code for those that lie equally often in the same classes
    if nearly everybody finds one; else codes, and the logarithm of the chance that a value has a pseudonym, by how often both
    lie in each class. None if there are too many."""
    texts = [f"{s}{t}" if t != MISSING else "" for s, side in enumerate((own, published)) for t in texts_of(side)]
    both = np.unique(["", *texts], return_inverse=True)[1][1:]  # 0 is missing; a pseudonym is never equal to a value
    classes = number_groups([np.asarray(x) for x in labels])[0] if labels else np.zeros(len(both), dtype=np.int64)
    codes, n = same_profile(both, classes), len(own)
    if np.isin(codes[:n], codes[n:]).mean() > 0.9:
        return codes
    sides = [np.unique(both[part], return_inverse=True)[1] for part in (slice(n), slice(n, None))]
    roots = []
    for side, part in zip(sides, (classes[:n], classes[n:]), strict=True):
        shape = int(side.max()) + 1, int(classes.max()) + 1
        if shape[0] * max(shape[1], int(sides[0].max()) + 1) > MOST_PAIRS * 10:
            return None
        counts = np.bincount(side * shape[1] + part, minlength=shape[0] * shape[1]).reshape(shape)
        roots.append(np.sqrt(counts * (len(published) / len(side))))  # differences of roots have the same spread everywhere
    far = (roots[0] ** 2).sum(axis=1)[:, None] + (roots[1] ** 2).sum(axis=1)[None, :] - 2 * roots[0] @ roots[1].T
    weight = np.exp(-np.minimum(far - far.min(axis=1, keepdims=True), 300))
    for _ in range(20):
        weight /= weight.sum(axis=0, keepdims=True)
        weight /= weight.sum(axis=1, keepdims=True)
    return np.append(*sides), np.log(np.maximum(weight, 1e-300))


def _moved_dates(own: pa.Table, published: pa.Table, steps: Sequence[DateShift]) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Dates that a secret key moves: how far and which of them together is known, and tried on the own table."""
    rng, out = np.random.default_rng(_OWN_SEED), {}
    shifts: dict[str, npt.NDArray[np.int64]] = {}
    for step in steps:
        true, real = (_days(side[step.column]) for side in (own, published))
        domain = step.domain or f"\0{step.column}"
        if domain not in shifts:
            shifts[domain] = rng.integers(-step.days, step.days + 1, len(own))
        if true is not None and real is not None:
            out[step.column] = (np.append(true, np.full(len(real), np.nan)), np.append(true + shifts[domain], real))
    return out


def _days(column: pa.ChunkedArray) -> npt.NDArray[np.float64] | None:
    """Dates and moments in days; None if the column has neither."""
    try:
        return np.asarray(numbers_of(column.cast(pa.timestamp("us")))) / 86_400e6
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


_TRUE = "true "
_OWN_SEED = 10**17 + 3
"""Of the attacker's own trial of the plan: any number that is not the release's."""


def _name_columns(columns: Sequence[str]) -> str:
    names = [f"'{c}'" for c in columns]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _fill_changed(own: pa.Table, published: pa.Table, plan: Plan, mapped: Sequence[str]) -> pa.Table:
    """The people with columns that a step changes together with theirs: values that the attacker does not know are drawn from the
    published ones."""
    rng = np.random.default_rng(_OWN_SEED)
    for name in dict.fromkeys(c for s in plan.steps if s.column in mapped or set(s.columns) & {*mapped} for c in s.columns):
        if name not in own.column_names and name in published.column_names:
            own = own.append_column(name, published[name].take(pa.array(rng.integers(0, len(published), len(own)))))
    return own


def _carry_out(own: pa.Table, plan: Plan, mapped: Sequence[str], random: Sequence[str], claims: Certificate) -> pa.Table:
    """The people as the plan would publish them: fixed rules as they are, random steps tried once with other random numbers."""
    table = own
    for c in random:
        table = table.append_column(f"{_TRUE}{c}", own[c])
    steps = _suppress_gaps(s for s in plan.steps if set(s.columns) & {*mapped} and set(s.columns) <= set(own.column_names))
    done = {c for s in steps for c in s.columns}
    steps += [Keep(c) for c in own.column_names if c not in done] + [Beside(f"{_TRUE}{c}") for c in random]
    with scratch() as work:
        file = work / f"external{_suffix(claims)}"
        opened(table).recode(Plan(tuple(steps), Suppression(scope="none"), seed=_OWN_SEED, shuffle=False), file)
        return arrow_of(file, table.column_names)


def _suppress_gaps(steps: Iterable[Step]) -> list[Step]:
    """The steps that publish something; values that a list of values lacks are suppressed."""
    return [
        replace(s, on_gap="suppress") if isinstance(s, MapValues) and s.on_gap == "error" else s
        for s in steps
        if not isinstance(s, Drop)
    ]


def _suffix(claims: Certificate) -> str:
    """The ending of a file in the format of the release; of SPSS and Stata, whose codes of groups are new in each file, CSV."""
    own = Path(str(claims.data.file)).suffix
    return ".csv" if own in codebook.LABELLED else own


def through_plan(external: Source, plan: Plan, quasi: tuple[str, ...], claims: Certificate) -> ClassCounts:
    """The classes of the external table as the plan would publish them."""
    theirs = opened(external)
    known = tuple(name for name in quasi if name in theirs.schema)
    if not known:
        raise missing_column(quasi[0], theirs.schema.names, table=theirs.name, what="quasi-identifier")
    with scratch() as work:
        file = work / f"external{_suffix(claims)}"
        as_published(theirs, plan, known, file)
        return opened(arrow_of(file, known)).count(known)


def as_published(external: Source, plan: Plan, quasi: Sequence[str], out: Path, *, keep: Sequence[str] = ()) -> None:
    """Carry the quasi-identifiers of somebody else's table through a published plan into a file: same steps, nothing suppressed.

    Columns in ``keep`` are carried over as they are, the others left out. A value that the plan does not know (an error in the
    table, a person who is not in the release) becomes one that matches nobody.
    """
    known = opened(external)
    for name in quasi:
        if name not in known.schema:
            raise missing_column(name, known.schema.names, table=known.name, what="quasi-identifier")
    steps = _suppress_gaps(s for s in plan.steps if s.column in quasi)
    steps += [Drop(n) for n in known.schema.names if n not in (*quasi, *keep)]
    known.recode(Plan(tuple(steps), Suppression(scope="none")), out)

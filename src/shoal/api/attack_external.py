"""A table that the attacker has: carried through the published plan, or held against the cells, by all columns that it shares."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.api.arguments import Source, opened
from shoal.attacks._common import wilson
from shoal.attacks.cells import MISSING, covered
from shoal.attacks.joint import LEAST_TARGETS, MOST_PAIRS, MOST_VALUES, default_limit
from shoal.attacks.matching import EXCLUDED, Pairs, confidence, number_weights
from shoal.disk.atomic import scratch
from shoal.errors import missing_column
from shoal.kernels.text import canonical_text
from shoal.model.attack import AttackResult, Verdict
from shoal.model.certificate.certificate import Certificate
from shoal.model.counts.classes import ClassCounts
from shoal.model.plan import Plan, Suppression
from shoal.release.make.value_links import Beside, numbers_of
from shoal.release.proof.read import logical
from shoal.steps import Drop, Keep, MapValues
from shoal.steps.expression import ExpressionStep

MOST_PEOPLE = 5_000
"""People of an external table that are looked for."""
HIDDEN = ("keyed_hash", "fake", "pseudonymize")
MOST_KNOWN = 3
"""Columns of the largest attacker that a hunt tries before all columns."""
QUESTION = "Somebody looks for the people of the external table by every column that both share: are their records found?"
HUNT = "Which are the fewest columns by which somebody finds more people than the release claims?"

Codes = npt.NDArray[np.int64]


def texts_of(column: Any) -> list[str]:
    """The cells of a column as texts, a missing one as :data:`MISSING`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    texts: list[str] = pc.fill_null(canonical_text(whole).cast(pa.string()), MISSING).to_pylist()
    return texts


def known_people(external: Source, quasi: Sequence[str], records: int, seed: int) -> dict[str, list[str]]:
    """The quasi-identifiers of at most so many people of the table that the comparison stays within its memory."""
    theirs = opened(external)
    known = [name for name in quasi if name in theirs.schema]
    if not known:
        raise missing_column(quasi[0], theirs.schema.names, table=theirs.name, what="quasi-identifier")
    table = _table(theirs, known, max(100, min(MOST_PEOPLE, 50_000_000 // max(records, 1))), seed)
    return {c: texts_of(table[c]) for c in known}


def _table(source: Any, names: Sequence[str], most: int, seed: int) -> Any:
    import pyarrow as pa

    table = pa.Table.from_batches(list(source.scan(list(names))))
    if len(table) > most:
        table = table.take(pa.array(np.sort(np.random.default_rng([seed, 38]).permutation(len(table))[:most])))
    return table


def arrow_of(file: Path, names: Sequence[str]) -> Any:
    """A published file in memory, its columns named as the certificate names them."""
    import pyarrow as pa

    found = pa.Table.from_batches(list(opened(file).scan()))
    return found.rename_columns(logical(found.column_names, names))


@dataclass(frozen=True, eq=False)
class External:
    """People of an external table and the published records, laid one after the other, with the columns that both share.

    ``labels`` are codes over both, as the plan publishes them; ``cells`` say by value and label what fits (local recoding);
    ``numbers`` are changed at random: what the attacker knows, and what a trial of the plan on his own table, or the release,
    publishes.
    """

    people: int
    records: int
    quasi: tuple[str, ...]
    labels: Mapping[str, Codes]
    cells: Mapping[str, tuple[Codes, Any]]
    numbers: Mapping[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]
    secrets: Mapping[str, Codes]
    seed: int

    @classmethod
    def of(cls, external: Source, published: Any, claims: Certificate, plan: Plan, seed: int) -> External | None:
        """None if the tables share no column."""
        theirs = opened(external)
        hidden = {s.column for s in plan.steps if isinstance(s, Drop) or s.kind in HIDDEN or hasattr(s, "key")}
        secrets = [c for c in claims.data.sensitive if len(set(texts_of(published[c]))) <= MOST_VALUES]
        shared = [c for c in claims.data.columns if c in theirs.schema and c not in hidden and c not in secrets]
        quasi = tuple(c for c in claims.data.quasi if c in shared)
        further = [c for c in shared if c not in quasi]
        if not shared or not len(published):
            return None
        own = _table(theirs, shared, MOST_PEOPLE, seed)
        mapped = [c for c in shared if plan.for_column(c)]
        random = [c for c in further if not all(isinstance(s, ExpressionStep) for s in plan.for_column(c))]
        carried = _carried(own, plan, mapped, random, claims)
        labels, cells, numbers = {}, {}, {}
        for c in shared:
            if c in random:
                true, tried, real = numbers_of(carried[f"{_TRUE}{c}"]), numbers_of(carried[c]), numbers_of(published[c])
                if true is not None and tried is not None and real is not None:
                    numbers[c] = (np.append(true, np.full(len(real), np.nan)), np.append(tried, real))
            elif c in quasi and c not in mapped:
                values, mine = np.unique(texts_of(own[c]), return_inverse=True)
                shown, them = np.unique(texts_of(published[c]), return_inverse=True)
                cells[c] = (np.append(mine, them), covered(shown.tolist(), values.tolist()))
            else:
                labels[c] = np.unique([*texts_of(carried[c]), *texts_of(published[c])], return_inverse=True)[1]
        nobody = np.zeros(len(own), dtype=np.int64)
        hide = {c: np.append(nobody, np.unique(texts_of(published[c]), return_inverse=True)[1]) for c in secrets}
        return cls(len(own), len(published), quasi, labels, cells, numbers, hide, seed)

    @property
    def columns(self) -> list[str]:
        return [*self.labels, *self.cells, *self.numbers]

    @cached_property
    def pairs(self) -> Pairs:
        """Every person with every record."""
        return self._pairs(np.zeros(self.people + self.records, dtype=np.int64))

    def _pairs(self, block: Codes) -> Pairs:
        rng = np.random.default_rng([self.seed, 39])
        return Pairs.across(block, self.people, rng, most=MOST_PAIRS, least=LEAST_TARGETS)

    def evidence(self, column: str, pairs: Pairs) -> Any:
        """The score of each pair by one column."""
        if column in self.numbers:
            true, published = self.numbers[column]
            rng = np.random.default_rng([self.seed, 40])
            half = np.asarray(rng.permutation(len(true)) % 2 == 0)
            return number_weights(true, published, pairs, half, rng).learned
        if column in self.cells:
            codes, fits = self.cells[column]
            return np.where(fits[codes[pairs.person], codes[pairs.record]], 0.0, EXCLUDED)
        codes = self.labels[column]
        return np.where(codes[pairs.person] == codes[pairs.record], 0.0, EXCLUDED)

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
            why = "Not run: no record of the release fits anybody in the external table."
            return AttackResult(name, QUESTION, None, None, None, None, "", "not run", why)
        score = sum((self.evidence(c, pairs) for c in rest), np.zeros(len(pairs.record)))
        chances = confidence(pairs, score)
        fitting = chances > 0
        if not fitting.any():
            why = "Not run: no record of the release fits anybody in the external table."
            return AttackResult(name, QUESTION, None, None, None, None, "", "not run", why)
        rate, people = float(chances[fitting].mean()), int(fitting.sum())
        low, high = wilson(rate * people, people)
        limit = default_limit(k)
        covered_by_k = set(self.columns) <= set(self.quasi)
        sentence = f"{rate:.1%} of {people:,} people whom a record fits are expected to be found by {_named(self.columns)}."
        for c, codes in self.secrets.items():
            sure = float(confidence(pairs, score, codes)[fitting].mean())
            sentence += f" '{c}' is expected to be told correctly for {sure:.1%}."
        sure = float((chances[fitting] > 0.9).mean())
        worst = f"{sure:.1%} with a chance above 0.9"
        above: Verdict = "broken" if covered_by_k else "warning"
        verdict: Verdict = above if rate > limit else "warning" if sure else "holds"
        return AttackResult(name, QUESTION, rate, low, high, limit if covered_by_k else None, worst, verdict, sentence)

    def hunted(self, k: int) -> AttackResult:
        """The fewest columns that find more than the limit: sets of one, two and three columns, then all."""
        pairs, limit = self.pairs, default_limit(k)
        scores = {c: self.evidence(c, pairs) for c in self.columns}
        tried, best = 0, 0.0
        found: tuple[str, ...] = ()
        sizes = [*range(1, min(MOST_KNOWN, len(scores)) + 1), *([len(scores)] if len(scores) > MOST_KNOWN else [])]
        for size in sizes:
            for names in itertools.combinations(scores, size):
                tried += 1
                chances = confidence(pairs, sum(scores[c] for c in names))
                rate = float(chances[chances > 0].mean()) if (chances > 0).any() else 0.0
                if rate > best:
                    best, found = rate, names
            if best > limit:
                break
        people = len(pairs.targets)
        low, high = wilson(best * people, people)
        won = best > limit
        words = f"Whoever knows {_named(found)} finds {best:.1%} of {people:,} people" if found else "Nobody is found"
        end = f"; the release claims at most {limit:.1%}. Nobody does with fewer columns." if won else "."
        verdict: Verdict = "broken" if won else "holds"
        return AttackResult("hunt", HUNT, best, low, high, limit, f"{tried:,} attackers tried", verdict, words + end)


_TRUE = "true "
_OWN_SEED = 10**17 + 3
"""Of the attacker's own trial of the plan: any number that is not the release's."""


def _named(columns: Sequence[str]) -> str:
    names = [f"'{c}'" for c in columns]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _carried(own: Any, plan: Plan, mapped: Sequence[str], random: Sequence[str], claims: Certificate) -> Any:
    """The people as the plan would publish them: fixed rules as they are, random steps tried once with other random numbers."""
    table = own
    for c in random:
        table = table.append_column(f"{_TRUE}{c}", own[c])
    steps = [
        replace(s, on_gap="suppress") if isinstance(s, MapValues) and s.on_gap == "error" else s
        for s in plan.steps
        if s.column in mapped and not isinstance(s, Drop) and set(s.columns) <= set(own.column_names)
    ]
    done = {c for s in steps for c in s.columns}
    steps += [Keep(c) for c in own.column_names if c not in done] + [Beside(f"{_TRUE}{c}") for c in random]
    with scratch() as work:
        file = work / f"external{Path(str(claims.data.file)).suffix}"
        opened(table).recode(Plan(tuple(steps), Suppression(scope="none"), seed=_OWN_SEED, shuffle=False), file)
        return arrow_of(file, table.column_names)


def through_plan(external: Source, plan: Plan, quasi: tuple[str, ...], claims: Certificate) -> ClassCounts:
    """The classes of the external table as the plan would publish them."""
    theirs = opened(external)
    known = tuple(name for name in quasi if name in theirs.schema)
    if not known:
        raise missing_column(quasi[0], theirs.schema.names, table=theirs.name, what="quasi-identifier")
    with scratch() as work:
        file = work / f"external{Path(str(claims.data.file)).suffix}"
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
    steps = [
        replace(s, on_gap="suppress") if isinstance(s, MapValues) and s.on_gap == "error" else s
        for s in plan.steps
        if s.column in quasi and not isinstance(s, Drop)
    ]
    steps += [Drop(n) for n in known.schema.names if n not in (*quasi, *keep)]
    known.recode(Plan(tuple(steps), Suppression(scope="none")), out)

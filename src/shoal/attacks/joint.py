"""Joint linkage: somebody knows the quasi-identifiers and any one, two, three or all further columns. Whom does he find?

Takes    for every published record its class, and for each further column what the attacker knows beside what is published
Returns  a curve, columns known to people found and sensitive values learnt, with intervals; the strongest attacker decides
Keeps    a column published by a fixed rule (kept, rounded, grouped) must agree exactly; a column changed at random counts by
         how often such a difference occurs for the same person and for others, learned on one half of the people and applied
         to the other half; equally good records share the chance
Cost     at most 600,000 pairs of person and record per set of columns; more people are sampled, and their number is stated
Source   Fellegi & Sunter 1969; Domingo-Ferrer & Torra 2001 (distance); Muralidhar & Domingo-Ferrer 2016 (rank)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.attacks import matching
from shoal.attacks._common import wilson
from shoal.kernels.group import classes_by_size
from shoal.model.attack import AttackResult, Verdict
from shoal.model.compare import at_most
from shoal.model.counts.classes import FloatArray as Floats
from shoal.model.counts.classes import IntArray as Codes
from shoal.model.display import one_in

MOST_PAIRS, MOST_TARGETS, LEAST_TARGETS = 600_000, 2_000, 50
MOST_SETS, BEAM = 64, 3
"""Sets of columns tried exhaustively; beyond it the best three of each size are extended by one column."""
MOST_CELLS, FEWEST = 4_000_000, 32
"""Records times columns that extend a set; beyond it the columns that find most people alone do, and never fewer than these."""
MANY = 30_000
"""Records from which on fewer sets of columns are tried, attackers who know the quasi-identifiers stand for those who do not,
and a sample is searched if none does."""
MOST_VALUES = 64
"""Different values up to which a sensitive column is something to guess rather than something that finds a record."""
LEAST_KNOWN = 10
"""People who have all values of a set of columns, below which the set is not tried."""
LEAST_LIMIT = 0.05
"""However large k is, columns by which one record in twenty is found are let through if the policy states no limit."""
SHOWN = 3
WAYS = ("learned", "distance", "jointly", "jointly by distance")
"""Matchers of the strongest attackers, by each column or by columns together; the best one also matches all people at once."""

QUESTION = {
    "linkage: changed columns": "Somebody knows true values of the changed columns and nothing else: is the record found?",
    "linkage: known columns": "Somebody knows any of the columns that may be known: is the record found, or a value learnt?",
    "further knowledge": "Somebody knows the quasi-identifiers and any published columns: is the record found?",
}


@dataclass(frozen=True, eq=False)
class Known:
    """A further column: ``published`` of each record and ``true``, what the attacker knows of its person.

    Without ``true`` the attacker derives the published value from what he knows: the column was kept, rounded or grouped.
    Codes (0 is missing) for labels, numbers (NaN is missing) if ``numeric``; ``date`` columns also tell their distances.
    """

    name: str
    published: npt.NDArray[Any]
    true: npt.NDArray[Any] | None = None
    numeric: bool = False
    date: bool = False

    def of(self, rows: Codes) -> Known:
        """The same column of some records."""
        return replace(self, published=self.published[rows], true=None if self.true is None else self.true[rows])

    @cached_property
    def there(self) -> npt.NDArray[np.bool_]:
        """Records whose value the attacker knows."""
        side = self.published if self.true is None else self.true
        return ~np.isnan(side) if self.numeric else np.asarray(side > 0)

    @cached_property
    def codes(self) -> npt.NDArray[np.integer]:
        """Published values as codes; 0 is missing."""
        if not self.numeric:
            return self.published
        return np.where(np.isnan(self.published), 0, np.unique(self.published, return_inverse=True)[1] + 1)

    @cached_property
    def width(self) -> int:
        """A number that all codes are below."""
        return int(self.codes.max(initial=0)) + 1

    @cached_property
    def complete(self) -> bool:
        """Whether no value is missing."""
        return bool(self.there.all())


@dataclass(frozen=True, eq=False)
class Secret:
    """A sensitive column that the attacker wants to learn: true and published codes."""

    name: str
    true: Codes
    published: Codes


@dataclass(frozen=True)
class Learnt:
    """Share of people whose sensitive value is guessed correctly, and the largest share guessed without the attack: by the
    classes alone, without the person's own record, or in a random group as large as the limit allows; ``gain`` is the lower
    end of what the attack adds, as a share of what was left to learn."""

    column: str
    share: float
    base: float
    gain: float


@dataclass(frozen=True)
class Attacker:
    """What one attacker achieves: ``found`` of ``people`` (expected), a share ``exposed`` of the ``most_exposed``;
    ``part``: in a sample of the records, so that it is at most this."""

    columns: tuple[str, ...]
    quasi: bool
    people: int
    found: float
    most_exposed: int
    exposed: float
    part: bool = False
    learnt: Learnt | None = None

    @property
    def rate(self) -> float:
        """Share of the people found, or the larger share that sensitive values learnt amount to."""
        return max(self.found, self.learnt.gain if self.learnt else 0.0)

    @property
    def strength(self) -> tuple[float, float, int]:
        return self.rate, self.exposed, -len(self.columns)

    @property
    def knows(self) -> str:
        """The columns in words."""
        names = [f"'{n}'" for n in self.columns[:SHOWN]]
        more = [_count(len(self.columns) - SHOWN, "more column")] if len(self.columns) > SHOWN else []
        parts = [*(["the quasi-identifiers"] if self.quasi else []), *names, *more]
        return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


@dataclass(frozen=True)
class Curve:
    """The strongest attacker for each number of further columns, how many were tried, and who learns most; ``apart``: how
    many records stand so far from all others in a changed column that the change cannot hide them."""

    points: tuple[Attacker, ...]
    tried: int
    records: int
    learner: Attacker | None = None
    apart: Mapping[str, int] = field(default_factory=dict)

    @property
    def strongest(self) -> Attacker:
        return max(self.points, key=lambda p: p.strength)


def default_limit(k: int) -> float:
    """The limit if the policy states none: the chance 1/k that the release claims, and never below one in twenty.

    >>> default_limit(5), default_limit(11) == 1 / 11, default_limit(20), default_limit(90), default_limit(1)
    (0.2, True, 0.05, 0.05, 0.5)
    """
    return max(1 / max(k, 2), LEAST_LIMIT)


def joint_curve(
    classes: Codes,
    columns: Sequence[Known],
    secrets: Sequence[Secret] = (),
    *,
    quasi: Sequence[bool] = (True, False),
    crowd: int = 5,
    seed: int = 0,
) -> Curve | None:
    """Try every attacker within the budget, who knows the quasi-identifiers or does not; None if there is nothing to know.

    ``crowd`` is the number of records among which the release may leave a person.
    """
    n = len(classes)
    if not columns or not n:
        return None
    wanted = (True,) if n > MANY and True in quasi else quasi
    sides = {known: _Side.of(classes, columns, secrets, seed, quasi=known, crowd=crowd) for known in wanted}
    best: dict[tuple[int, bool], Attacker] = {}
    hidden = {s.name for s in secrets}
    tried = 0
    for side in sides.values():
        for names in side.sets():
            attacker = side.attack(names)
            tried += attacker is not None
            key = len(names), bool(hidden & {*names})
            if attacker is not None and (key not in best or attacker.strength > best[key].strength):
                best[key] = attacker
    points: dict[int, Attacker] = {}
    learners = []
    for (size, _), point in sorted(best.items()):
        sharp = sides[point.quasi].sharpened(point, tried)
        points[size] = max(points.get(size, sharp), sharp, key=lambda p: p.strength)
        learners += [sharp] if sharp.learnt is not None and sharp.learnt.gain > 0 else []
    learner = max(learners, key=lambda p: (p.learnt.gain, -len(p.columns)), default=None)  # type: ignore[union-attr]
    apart = {c.name: matching.surely_found(c.true, c.published) for c in columns if c.numeric and c.true is not None}
    return Curve(tuple(points.values()), tried, n, learner, {c: m for c, m in apart.items() if m}) if points else None


def counted(names: tuple[str, ...], sizes: Mapping[int, int], *, quasi: bool) -> Attacker:
    """The attacker whose columns must agree, from how many groups of equal records there are of each size.

    >>> counted(("pay",), {1: 10, 5: 18}, quasi=True).found
    0.28
    """
    people = sum(size * n for size, n in sizes.items())
    most = max(LEAST_KNOWN, people // 100)
    exposed = min(1.0, sizes[1] / most) if 1 in sizes else 1 / min(sizes)
    return Attacker(names, quasi, people, sum(sizes.values()) / people, most, exposed)


class _Side:
    """All attackers who know the quasi-identifiers, or all who do not: the same pairs of people and records.

    ``part``: of more than :data:`MANY` records a sample is searched, so that more people are found than in all of them.
    """

    def __init__(
        self,
        classes: Codes,
        columns: Sequence[Known],
        secrets: Sequence[Secret],
        seed: int,
        *,
        quasi: bool,
        crowd: int,
        part: bool,
    ) -> None:
        self.classes, self.quasi, self.crowd, self.part, self.n = classes, quasi, crowd, part, len(classes)
        self.columns, self._groups = {c.name: c for c in columns}, int(classes.max(initial=0)) + 1
        self._classes = classes.astype(np.int32) if self._groups < 2**31 else classes
        self.secrets = [s for s in secrets if s.published.max(initial=0) <= MOST_VALUES]
        self.seed, self.rng = seed, np.random.default_rng([seed, 36, int(quasi)])
        self._joint: tuple[tuple[str, ...], Any] = (), None
        self._scored: dict[tuple[str, str], Any] = {}
        self._rates: dict[tuple[str, ...], float] = {}

    @classmethod
    def of(
        cls, classes: Codes, columns: Sequence[Known], secrets: Sequence[Secret], seed: int, *, quasi: bool, crowd: int
    ) -> _Side:
        part = len(classes) > MANY and not quasi and any(c.true is not None for c in columns)
        if part:
            some = np.sort(np.random.default_rng([seed, 37]).permutation(len(classes))[:MANY])
            classes, columns = classes[some], [c.of(some) for c in columns]
            secrets = [Secret(s.name, s.true[some], s.published[some]) for s in secrets]
        return cls(classes, columns, secrets, seed, quasi=quasi, crowd=crowd, part=part)

    @cached_property
    def pairs(self) -> matching.Pairs:
        block = self.classes if self.quasi else np.zeros(self.n, dtype=np.int64)
        return matching.Pairs.of(block, self.rng, most=MOST_PAIRS, targets=MOST_TARGETS, least=LEAST_TARGETS)

    @cached_property
    def half(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.rng.permutation(self.n) % 2 == 0)

    def sets(self) -> Iterable[tuple[str, ...]]:
        """Sets of one, two, three and all columns: every one, or the best extended."""
        names = list(self.columns)
        place = {name: i for i, name in enumerate(names)}
        sizes = [m for m in (1, 2, 3) if m <= len(names)]
        if sum(math.comb(len(names), m) for m in sizes) <= MOST_SETS and self.n <= MANY:
            for m in sizes:
                yield from itertools.combinations(names, m)
        else:
            yield from ((name,) for name in names)
            for m in sizes[1:]:
                width, most = (BEAM, max(FEWEST, MOST_CELLS // self.n)) if self.n <= MANY else (1, m)
                smaller = [s for s in self._rates if len(s) == m - 1]
                first = sorted(smaller, key=lambda s: -self._rates[s])[:width]
                more = sorted(names, key=lambda c: -self._rates.get((c,), 0.0))[:most]
                wider = {tuple(sorted({*s, c}, key=place.__getitem__)) for s in first for c in more if c not in s}
                yield from sorted(wider)
        if len(names) > 3:
            yield tuple(names)

    def attack(self, names: tuple[str, ...]) -> Attacker | None:
        """Columns that must agree are counted over all records, others matched by learned weights."""
        if self._fixed(names):
            attacker = self._counted(names)
        else:
            ways = ("learned", "jointly") if matching.go_together(self._sides(names)) else ("learned",)
            attacker = max((p for p in (self._matched(names, how) for how in ways) if p), key=lambda p: p.strength, default=None)
        self._rates[names] = attacker.rate if attacker else 0.0
        return attacker

    def sharpened(self, point: Attacker, tried: int) -> Attacker:
        """The same attacker with the best of all matchers, and with intervals that allow for the number of attackers tried."""
        if self._fixed(point.columns):
            sampled = self._matched(point.columns, "learned", tried) if self.secrets and self.n <= MANY else None
            return replace(point, learnt=sampled.learnt if sampled else None)
        out = {how: self._matched(point.columns, how, tried) for how in WAYS}
        best = max((how for how in WAYS if out[how]), key=lambda how: out[how].strength)  # type: ignore[union-attr]
        whole = self._matched(point.columns, f"{best}, one to one", tried)
        return max((p for p in (out[best], whole) if p), key=lambda p: p.strength)

    def _fixed(self, names: Sequence[str]) -> bool:
        return all(self.columns[c].true is None for c in names)

    def _known(self, names: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Records whose values the attacker knows all; for a set of more than three columns any of them."""
        there = [self.columns[c].there for c in names]
        return np.asarray(np.logical_and.reduce(there) if len(names) <= SHOWN else np.logical_or.reduce(there))

    def _counted(self, names: tuple[str, ...]) -> Attacker | None:
        """Columns that must agree exactly: counted over all records."""
        columns = [self.columns[c] for c in names]
        known = None if all(c.complete for c in columns) else self._known(names)
        people = self.n if known is None else int(known.sum())
        if people < min(LEAST_KNOWN, self.n):
            return None
        parts = [(c.codes, c.width) for c in columns] + ([(self._classes, self._groups)] if self.quasi else [])
        classes = classes_by_size([p if known is None else p[known] for p, _ in parts], [width for _, width in parts])
        return counted(names, {int(size): int(classes[size]) for size in np.flatnonzero(classes)}, quasi=self.quasi)

    def _matched(self, names: tuple[str, ...], how: str, tried: int = 0) -> Attacker | None:
        """Sampled people and the records that match best; sensitive values are guessed if ``tried`` attackers are given."""
        known = self._known(names)[self.pairs.targets]
        people = int(known.sum())
        if people < min(LEAST_KNOWN, self.n) or ("one to one" in how and not self.pairs.whole):
            return None
        score = self._score(names, how)
        if "one to one" in how:
            score = matching.one_to_one(self.pairs, score)
        result = matching.matched(self.pairs, score)
        chance, margin = result.chance[known], result.margin[known]
        most = max(LEAST_KNOWN, people // 100)
        first = np.argsort(-margin, kind="stable")[:most]
        attacker = Attacker(names, self.quasi, people, float(chance.mean()), most, float(chance[first].mean()), self.part)
        guesses = [self._learnt(s, result.weight, known, tried) for s in self.secrets if tried and s.name not in names]
        return replace(attacker, learnt=max(guesses, key=lambda g: (g.gain, g.share), default=None))

    def _score(self, names: Sequence[str], how: str) -> Any:
        """The score of each pair by all columns; ``jointly``, changed numbers are taken together."""
        sides = self._sides(names)
        if "jointly" not in how or len(sides) < 2:
            return sum(self._evidence(c, "distance" if "distance" in how else "learned") for c in names)
        if self._joint[0] != tuple(names):
            self._joint = (
                tuple(names),
                matching.joint_weights(sides, self.pairs, self.half, np.random.default_rng([self.seed, 41])),
            )
        evidence: matching.Evidence = self._joint[1]
        rest = [c for c in names if not self.columns[c].numeric or self.columns[c].true is None]
        return sum((self._evidence(c, "learned") for c in rest), evidence.distance if "distance" in how else evidence.learned)

    def _sides(self, names: Sequence[str]) -> list[tuple[Floats, Floats]]:
        """True and published values of the numbers among the columns that are changed at random."""
        chosen = [self.columns[c] for c in names]
        return [(c.true, c.published) for c in chosen if c.numeric and c.true is not None]

    def _evidence(self, name: str, how: str) -> Any:
        """The score of each pair by one column, in memory once."""
        if (name, how) not in self._scored:
            column = self.columns[name]
            if column.true is None:
                own, other = column.codes[self.pairs.person], column.codes[self.pairs.record]
                score = np.where((own == other) | (own == 0), 0.0, matching.EXCLUDED).astype(np.float32)
                self._scored.update({(name, "learned"): score, (name, "distance"): score})
            else:
                weigh = matching.number_weights if column.numeric else matching.label_weights
                scores: matching.Evidence = weigh(column.true, column.published, self.pairs, self.half, self.rng)
                self._scored.update({(name, "learned"): scores.learned, (name, "distance"): scores.distance})
        return self._scored[name, how]

    def _learnt(self, secret: Secret, weight: Any, known: npt.NDArray[np.bool_], tried: int) -> Learnt:
        """What the attack tells of one sensitive column, beside the classes alone and the attack without the own record."""
        true = secret.true[self.pairs.targets]
        right = self.pairs.guessed(secret.published, weight, true)[known]
        without = self.pairs.guessed(secret.published, weight, true, own=False)[known]
        plain = self.pairs.guessed(secret.published, np.ones_like(weight), true)[known]
        crowd = self.pairs.in_crowd(secret.published, true, self.crowd)[known]
        base = max((crowd, plain, without), key=lambda chances: float(chances.mean()))
        gap = right - base
        z = NormalDist().inv_cdf(1 - 0.025 / tried)
        low = float(gap.mean()) - z * float(gap.std()) / math.sqrt(len(gap))
        room = 1 - float(base.mean())
        return Learnt(secret.name, float(right.mean()), float(base.mean()), max(0.0, low / room) if room > 0 else 0.0)


def by_known_columns(curve: Curve, limit: float, name: str = "linkage: known columns") -> AttackResult:
    """The strongest attacker held against the limit.

    ``broken`` if he finds, or learns as if he found, more than ``limit``; a warning if that many were found in a sample of the
    records only, or if the most exposed people are found more often than that.

    >>> weak = Attacker(("pay",), False, 500, 0.12, 10, 0.1)
    >>> strong = Attacker(("pay", "rent"), False, 500, 0.87, 10, 1.0)
    >>> found = by_known_columns(Curve((weak, strong), 3, 500), 0.2)
    >>> found.verdict, found.rate, found.worst
    ('broken', 0.87, '1 column: 12.0%, 2 columns: 87.0%; the 10 most exposed: 100%')
    >>> by_known_columns(Curve((weak,), 3, 500), 0.2).verdict
    'holds'
    """
    verdict = _verdict(curve, limit, "broken")
    return _result(name, QUESTION[name], curve, limit, verdict, "")


def further_knowledge(curve: Curve, k: int) -> AttackResult:
    """The strongest attacker who knows any published columns: no claim covers him, so that he is a warning."""
    verdict = _verdict(curve, default_limit(k), "warning")
    claim = f" The release claims at most {one_in(1 / max(k, 1))}, for the quasi-identifiers alone, and nothing of this attacker."
    closing = claim if verdict == "warning" else ""
    return _result("further knowledge", QUESTION["further knowledge"], curve, None, verdict, closing)


def _verdict(curve: Curve, limit: float, above: Verdict) -> Verdict:
    over = [p for p in curve.points if not at_most(p.rate, limit)]
    if any(not p.part for p in over):
        return above
    exposed = any(wilson(p.exposed * p.most_exposed, p.most_exposed)[0] > limit for p in curve.points)
    return "warning" if over or exposed or curve.apart else "holds"


def _result(name: str, question: str, curve: Curve, limit: float | None, verdict: Verdict, closing: str) -> AttackResult:
    top = curve.strongest
    low, high = wilson(top.found * top.people, top.people)
    if top.people == curve.records:
        low = high = top.found
    of = (
        f"{top.people:,} records"
        if top.people == curve.records
        else f"{top.people:,} people, sampled from {curve.records:,} records"
    )
    between = f" ({low:.1%}–{high:.1%})" if low < high else ""
    most = "At most " if top.part else ""
    sentence = f"{most}{top.found:.1%}{between} of {of} are found by {top.knows}."
    if curve.learner is not None and curve.learner.learnt is not None:
        who, learnt = curve.learner, curve.learner.learnt
        knows = "" if who == top else f" by {who.knows}"
        sentence += f" '{learnt.column}' is guessed correctly for {learnt.share:.1%}{knows}, for {learnt.base:.1%} without."
    sharpest = max(curve.points, key=lambda p: (p.exposed, -len(p.columns)))
    if sharpest.exposed > top.found:
        sentence += f" Of the {sharpest.most_exposed} most exposed people {sharpest.exposed:.0%} are found by {sharpest.knows}."
    for column, many in sorted(curve.apart.items(), key=lambda item: -item[1])[:SHOWN]:
        some = _count(many, "record") if many >= LEAST_KNOWN else f"Fewer than {LEAST_KNOWN} records"
        sentence += f" {some} stand so far from all others in '{column}' that the change cannot hide them."
    sentence += f" The strongest of {_count(curve.tried, 'attacker')} tried.{closing}"
    worst = ", ".join(f"{_count(len(p.columns), 'column')}: {p.rate:.1%}" for p in curve.points)
    worst += f"; the {sharpest.most_exposed} most exposed: {sharpest.exposed:.0%}" if sharpest.exposed > top.found else ""
    return AttackResult(name, question, top.rate, min(low, top.rate), max(high, top.rate), limit, worst, verdict, sentence)


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" + ("" if n == 1 else "s")

"""Match people with published records: pairs within blocks, evidence of each pair, and which record is the best.

Takes    blocks of records, true and published values of the same people
Returns  the chance that each person's own record is the best one, and guesses of a sensitive value
Keeps    equally good records share the chance; weights for one half of the people are learned on the other half
Source   Fellegi & Sunter 1969 (agreement weights); Sinkhorn & Knopp 1967 (one-to-one matching by balancing rows and columns)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.model.counts.classes import BoolArray as Bools
from shoal.model.counts.classes import FloatArray as Floats
from shoal.model.counts.classes import IntArray as Codes

EXCLUDED = -10_000.0
"""Score of a record that cannot be the person's."""
TOGETHER = 0.2
"""Correlation of the changes of two columns from which on their changes go together."""
_TIE = 2e-5
_BINS, _DRAWN, _ROUNDS = 10, 20_000, 15
_FAR = -50.0


@dataclass(frozen=True, eq=False)
class Pairs:
    """Each target person with every record of the same block: ``person`` and ``record`` per pair, one run per target.

    ``targets`` are the records whose people are looked for, ``starts`` the first pair of each, ``own`` the pair with the
    person's own record. ``whole``: everybody is a target.
    """

    targets: Codes
    person: Codes
    record: Codes
    starts: Codes
    own: Codes
    n: int

    @classmethod
    def of(cls, block: Codes, rng: np.random.Generator, *, most: int, targets: int, least: int) -> Pairs:
        """Everybody if that makes at most ``most`` pairs and ``targets`` people, else as many sampled people as that allows;
        ``least`` people even if they make three times as many pairs."""
        n = len(block)
        order = np.argsort(block, kind="stable")
        ordered = block[order]
        first, last = np.searchsorted(ordered, block, "left"), np.searchsorted(ordered, block, "right")
        who = np.arange(n) if n <= targets else rng.permutation(n)[:targets]
        return cls._affordable(rng.permutation(who), first, last, order, n, most, least)

    @classmethod
    def _affordable(cls, who: Codes, first: Codes, last: Codes, order: Codes, n: int, most: int, least: int) -> Pairs:
        """As many of these people as the number of pairs allows, each with the records ``order[first:last]``."""
        room, wider = np.searchsorted(np.cumsum((last - first)[who]), [most, 3 * most], "right")
        who = np.sort(who[: max(int(room), min(int(wider), least), 1)])
        sizes = (last - first)[who]
        starts = np.cumsum(sizes) - sizes
        record = order[np.repeat(first[who] - starts, sizes) + np.arange(int(sizes.sum()))]
        person = np.repeat(who, sizes)
        return cls(who, person, record, starts, np.flatnonzero(person == record), n)

    @classmethod
    def across(cls, block: Codes, people: int, rng: np.random.Generator, *, most: int, least: int) -> Pairs:
        """People who are not records: the first ``people`` places are theirs, the others the records'; nobody's own is known.

        >>> pairs = Pairs.across(np.array([0, 1, 1, 1]), 2, np.random.default_rng(0), most=9, least=1)
        >>> pairs.targets.tolist(), pairs.record.tolist()
        ([1], [2, 3])
        """
        n = len(block)
        order = people + np.argsort(block[people:], kind="stable")
        first, last = (np.searchsorted(block[order], block[:people], side) for side in ("left", "right"))
        who = rng.permutation(np.flatnonzero(last > first))
        return cls._affordable(who, first, last, order, n, most, least)  # no place of a person is one of a record

    @property
    def whole(self) -> bool:
        return len(self.targets) == self.n

    @cached_property
    def run(self) -> Codes:
        """For each pair the number of its target."""
        return np.repeat(np.arange(len(self.targets)), np.diff([*self.starts, len(self.record)]))

    def guessed(self, values: Codes, weight: Floats, true: Codes, *, own: bool = True) -> Floats:
        """The chance that the value with the most weight among a target's records is the true one; without ``own`` the
        person's own record is left out, and where nobody else is left the most common value of all is guessed."""
        wide = int(max(values.max(initial=0), true.max(initial=0))) + 1
        cells = np.bincount(self.run * wide + values[self.record], weights=weight, minlength=len(self.targets) * wide)
        table: Floats = cells.astype(np.float64).reshape(-1, wide)
        if not own:
            table[np.arange(len(table)), values[self.targets]] -= weight[self.own]
            table[table.max(axis=1) <= 1e-9] = np.bincount(values, minlength=wide)
        top = table >= table.max(axis=1, keepdims=True) * (1 - 1e-9)
        return np.asarray(top[np.arange(len(table)), true] / top.sum(axis=1))

    def in_crowd(self, values: Codes, true: Codes, size: int) -> Floats:
        """The same for a guess by vote in a random group of ``size`` records, the person's own among them."""
        rng, people = np.random.default_rng([size, len(self.targets)]), len(self.targets)
        group = np.append(values[rng.integers(0, self.n, (people, size - 1))], values[self.targets][:, None], axis=1)
        wide = int(max(values.max(initial=0), true.max(initial=0))) + 1
        votes = np.bincount((np.arange(people)[:, None] * wide + group).ravel(), minlength=people * wide).reshape(people, wide)
        top = votes >= votes.max(axis=1, keepdims=True)
        return np.asarray(top[np.arange(people), true] / top.sum(axis=1))


@dataclass(frozen=True, eq=False)
class Matched:
    """For each target the chance that its own record is chosen and the lead of the best over the next."""

    chance: Floats
    margin: Floats
    behind: npt.NDArray[Any]

    @cached_property
    def weight(self) -> Floats:
        """How likely each pair is, beside the best record of the same target."""
        return np.asarray(np.exp(np.maximum(self.behind, _FAR).astype(np.float64)))


def matched(pairs: Pairs, score: npt.NDArray[Any]) -> Matched:
    """The record with the best score is chosen; ties are shared."""
    top = np.maximum.reduceat(score, pairs.starts)
    behind = score - top[pairs.run]
    tie = behind >= -_TIE * np.maximum(1.0, np.abs(top))[pairs.run]
    many = np.add.reduceat(tie.astype(np.int64), pairs.starts)
    second = np.maximum.reduceat(np.where(tie, EXCLUDED, behind), pairs.starts)
    margin = np.where(many > 1, 0.0, -second)
    chance = np.where(tie[pairs.own] & (top > EXCLUDED / 2), 1.0 / many, 0.0)
    return Matched(chance, margin, behind)


def confidence(pairs: Pairs, score: npt.NDArray[Any], secret: Codes | None = None) -> Floats:
    """The chance of each target that the best record is the person's own, who is taken to be among them; with ``secret`` that
    the value with the most weight is the person's."""
    top = np.maximum.reduceat(score, pairs.starts)
    weight = np.exp(np.maximum(score - top[pairs.run], _FAR).astype(np.float64))
    total = np.add.reduceat(weight, pairs.starts)
    if secret is None:
        return np.where(top > EXCLUDED / 2, 1.0 / total, 0.0)
    wide = int(secret.max(initial=0)) + 1
    table = np.bincount(pairs.run * wide + secret[pairs.record], weights=weight, minlength=len(total) * wide)
    return np.asarray(table.reshape(-1, wide).max(axis=1) / total)


def one_to_one(pairs: Pairs, score: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Scores of an attacker who gives every record to one person: rows and columns are balanced in turn."""
    top = np.maximum.reduceat(score, pairs.starts)
    weight = np.exp(np.maximum(score - top[pairs.run], _FAR).astype(np.float64))
    run = pairs.run
    for _ in range(_ROUNDS):
        weight /= np.bincount(pairs.record, weights=weight, minlength=pairs.n)[pairs.record]
        weight /= np.add.reduceat(weight, pairs.starts)[run]
    return np.asarray(np.log(np.maximum(weight, 1e-300)))


@dataclass(frozen=True, eq=False)
class Evidence:
    """The scores of all pairs by one column: ``learned`` weights of evidence, and minus half the squared ``distance``."""

    learned: npt.NDArray[np.float32]
    distance: npt.NDArray[np.float32]

    @classmethod
    def none(cls, pairs: Pairs) -> Evidence:
        """Nothing is known yet."""
        return cls(*(np.zeros(len(pairs.record), dtype=np.float32) for _ in range(2)))


def number_weights(true: Floats, published: Floats, pairs: Pairs, half: Bools, rng: np.random.Generator) -> Evidence:
    """Evidence of numbers and dates, as values, ranks or logarithms, whichever separates the same person from others best."""
    out = Evidence.none(pairs)
    forms = list(_forms(true, published))
    for side in (half, ~half):
        models = [_Model.of(x, y, np.flatnonzero(~side), rng) for x, y in forms]
        best = max(range(len(models)), key=lambda i: models[i].information)
        _weigh(out, *forms[best], models[best], pairs, side)
    return out


def go_together(columns: Sequence[tuple[Floats, Floats]]) -> bool:
    """Whether the changes of two of the columns are correlated.

    >>> x = np.arange(9.0)
    >>> go_together([(x, x + x % 2), (-x, x % 2 - x)]), go_together([(x, x + x % 2), (x, x + x % 3)])
    (True, False)
    """
    changes = [published - true for true, published in columns]
    for a, b in combinations(changes, 2):
        there = ~np.isnan(a + b)
        if there.sum() > 2 and min(a[there].std(), b[there].std()) > 0 and abs(np.corrcoef(a[there], b[there])[0, 1]) > TOGETHER:
            return True
    return False


def joint_weights(columns: Sequence[tuple[Floats, Floats]], pairs: Pairs, half: Bools, rng: np.random.Generator) -> Evidence:
    """Evidence of several columns whose changes go together: their sums and differences that change least beside how much people
    differ in them. Noise that several columns share, or dates that move together, hide nothing in such a difference."""
    out = Evidence.none(pairs)
    every = [list(_forms(true, published)) for true, published in columns]
    forms = [tuple(np.stack(sides, axis=1) for sides in zip(*form, strict=True)) for form in zip(*every, strict=False)]
    for side in (half, ~half):
        train = np.flatnonzero(~side)
        turned = [[(x @ d, y @ d) for d in _directions(x[train], y[train])] for x, y in forms]
        models = [[_Model.of(a, b, train, rng) for a, b in form] for form in turned]
        best = max(range(len(forms)), key=lambda i: sum(m.information for m in models[i]))
        for (a, b), model in zip(turned[best], models[best], strict=True):
            _weigh(out, a, b, model, pairs, side)
    return out


def _directions(x: Floats, y: Floats) -> Iterator[Floats]:
    """Weighted sums of the columns whose values, and whose changes, are uncorrelated."""
    there = ~np.isnan(x + y).any(axis=1)
    x, y = x[there], y[there]
    if len(x) <= 2 * x.shape[1]:
        return
    scale = np.maximum(x.std(axis=0), 1e-300)
    spread, axes = np.linalg.eigh(np.cov(x / scale, rowvar=False))
    use = spread > 1e-9 * spread.max()
    white = axes[:, use] / np.sqrt(spread[use])
    turned = np.linalg.eigh(white.T @ np.cov((y - x) / scale, rowvar=False) @ white)[1]
    yield from ((white @ turned) / scale[:, None]).T


def _weigh(out: Evidence, x: Floats, y: Floats, model: _Model, pairs: Pairs, side: Bools) -> None:
    """Add to the evidence what a difference says of each pair with a person of one half."""
    here = np.flatnonzero(side[pairs.person])
    far = np.abs(y[pairs.record[here]] - x[pairs.person[here]] - model.shift)
    known = ~np.isnan(far)
    far, here = far[known], here[known]
    near = np.minimum(far / model.scale, 10.0)
    out.learned[here] += model.weights[np.searchsorted(model.edges, far)] - 0.01 * near
    out.distance[here] += np.maximum(-0.5 * near**2, _FAR)


def label_weights(true: Codes, published: Codes, pairs: Pairs, half: Bools, rng: np.random.Generator) -> Evidence:
    """Evidence of labels that are changed at random: agreement counts more the rarer the value is."""
    shares = np.bincount(published, minlength=int(max(true.max(initial=0), published.max(initial=0))) + 1) / len(published)
    score = np.zeros(len(pairs.record), dtype=np.float32)
    own, other = true[pairs.person], published[pairs.record]
    for side in (half, ~half):
        train = ~side & (true > 0)
        agree = (float((true[train] == published[train]).sum()) + 0.5) / (float(train.sum()) + 1)
        here = side[pairs.person] & (own > 0) & (other > 0)
        share = np.clip(shares[other[here]], 1e-12, 1 - 1e-12)
        score[here] = np.where(own[here] == other[here], np.log(agree / share), np.log((1 - agree) / (1 - share)))
    return Evidence(score, score)


def surely_found(true: Floats, published: Floats) -> int:
    """Records further from every other true value than twice the largest change, of values or (if all are positive) of ratios.

    For any change of that size the record's own published value stays the nearest: noise cannot hide it.

    >>> surely_found(np.array([10.0, 11.0, 12.0, 9000.0]), np.array([11.0, 10.5, 12.0, 9024.0]))
    1
    """
    known = ~np.isnan(true) & ~np.isnan(published)
    true, published = true[known], published[known]
    best = _apart(true, published)
    if len(true) and min(true.min(), published.min()) > 0:
        best = max(best, _apart(np.log(true), np.log(published)))
    return best


def _apart(true: Floats, published: Floats) -> int:
    if len(true) < 2:
        return len(true)
    gap = np.diff(np.sort(true))
    nearest = np.minimum(np.append(np.inf, gap), np.append(gap, np.inf))
    return int((nearest > 2 * float(np.abs(published - true).max()) * (1 + 1e-12)).sum())


def _forms(true: Floats, published: Floats) -> Iterator[tuple[Floats, Floats]]:
    yield true, published
    yield _ranks(true), _ranks(published)
    if np.nanmin(true, initial=1.0) > 0 and np.nanmin(published, initial=1.0) > 0:
        yield np.log(true), np.log(published)


def _ranks(values: Floats) -> Floats:
    """The middle place of each value among all, from 0 to 1; missing stays missing."""
    known = ~np.isnan(values)
    _, which, size = np.unique(values[known], return_inverse=True, return_counts=True)
    out = np.full(len(values), np.nan)
    out[known] = ((np.cumsum(size) - size / 2)[which.ravel()]) / max(int(known.sum()), 1)
    return out


@dataclass(frozen=True, eq=False)
class _Model:
    """How far a published number is from the true one, for the same person and for two people.

    ``weights[i]`` is the logarithm of how much more often a distance in bin i occurs for the same person.
    """

    shift: float
    scale: float
    edges: Floats
    weights: Floats
    information: float

    @classmethod
    def of(cls, x: Floats, y: Floats, train: Codes, rng: np.random.Generator) -> _Model:
        change = (y - x)[train]
        change = change[~np.isnan(change)]
        if not len(change):
            return cls(0.0, 1.0, np.zeros(1), np.zeros(2), 0.0)
        shift = float(np.median(change))
        far = np.abs(change - shift)
        spread = float(np.nanmax(np.abs(x))) or 1.0
        edges = np.unique(np.quantile(far, np.arange(1, _BINS + 1) / _BINS, method="higher")) + 1e-12 * spread
        others = np.abs(y[rng.integers(0, len(y), _DRAWN)] - x[rng.choice(train, _DRAWN)] - shift)
        others = others[~np.isnan(others)]
        p, q = ((np.bincount(np.searchsorted(edges, u), minlength=len(edges) + 1) + 0.5) for u in (far, others))
        p, q = p / p.sum(), q / q.sum()
        weights = np.log(p / q)
        scale = max(float(np.sqrt(np.mean(far**2))), 1e-9 * spread)
        return cls(shift, scale, edges, weights, float((p * weights).sum()))

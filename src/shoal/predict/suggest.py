"""The cheapest change of a questionnaire that reaches its target.

A change joins neighbouring answers into wider bands, joins rare answers into "other", or leaves a question out. Its cost is the
information lost (nats of that question, times its weight). Single changes are tried first, then pairs, then one after the other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.predict import _meter
from shoal.predict._blocks import Block
from shoal.predict.distribution import Distribution, Floats

if TYPE_CHECKING:
    from shoal.predict.questionnaire import Question, Questionnaire

FACTORS = (2, 3, 4, 5, 10, 20, 25, 50)


@dataclass(frozen=True, eq=False)
class Change:
    """One change of one question: ``groups`` maps each answer to its new answer; None leaves the question out."""

    question: str
    groups: tuple[int, ...] | None
    text: str
    cost: float


@dataclass(frozen=True)
class Suggestion:
    """Changes, and the unique share before and after. ``reached`` says whether the target is met."""

    changes: tuple[Change, ...]
    before: float
    after: float
    reached: bool

    @property
    def text(self) -> str:
        """The sentence to show."""
        if not self.changes:
            return f"nothing to change: {_meter.as_percent(self.before)} of the respondents would be unique"
        what = "; ".join(c.text for c in self.changes)
        arrow = f"{_meter.as_percent(self.before)} → {_meter.as_percent(self.after)}"
        return f"{what}: {arrow}" + ("" if self.reached else " (the target is not reached)")

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "changes": [{"question": c.question, "change": c.text, "cost": c.cost} for c in self.changes],
            "before": self.before,
            "after": self.after,
            "reached": self.reached,
        }


def suggest(q: Questionnaire, target: float) -> Suggestion:
    """The cheapest change that brings the expected unique share to ``target``."""
    blocks, n = q.blocks(), q.respondents
    before = _share(blocks, n)
    if before <= target:
        return Suggestion((), before, before, True)
    options = [c for question in q.questions.values() for c in _changes(question)]
    singles = sorted(options, key=lambda c: (c.cost, c.question, c.text))
    hit = next((c for c in singles if _share(apply(blocks, c), n) <= target), None)
    best: tuple[Change, ...] | None = (hit,) if hit else None
    # one change is easier to explain than two: a pair must save a fifth of the cost
    pairs = _pair(blocks, singles, n, target, 0.8 * hit.cost if hit else math.inf)
    best = pairs or best or _greedy(blocks, singles, n, target)
    return _verified(blocks, best, n, before, target)


def apply(blocks: Sequence[Block], change: Change) -> list[Block]:
    """The blocks after one change."""
    out: list[Block] = []
    for b in blocks:
        if change.question not in b.names:
            out.append(b)
        elif change.groups is None:
            left = b.without(change.question)
            out.extend([left] if left is not None else [])
        else:
            out.append(b.merged(change.question, change.groups))
    return out


def _changes(q: Question) -> list[Change]:
    out: list[Change] = []
    h = q.law.entropy
    if q.ordered:
        for factor in FACTORS:
            if math.ceil(q.answers / factor) >= 2:
                groups = np.arange(q.answers) // factor
                out.append(Change(q.name, tuple(groups.tolist()), _band_text(q, factor), q.weight * (h - _merged(q.p, groups))))
    else:
        order = np.argsort(-q.p, kind="stable")
        for kept in sorted({q.answers // 2, q.answers // 4, q.answers // 10, 10, 5, 3, 2}):
            if 2 <= kept < q.answers - 1:
                groups = np.full(q.answers, kept)
                groups[order[:kept]] = np.arange(kept)
                text = f"keep the {kept} most common answers of {q.name} and join the rest"
                out.append(Change(q.name, tuple(groups.tolist()), text, q.weight * (h - _merged(q.p, groups))))
    if not q.keep:
        out.append(Change(q.name, None, f"do not ask {q.name}", q.weight * h * 1.0001))
    return [c for c in out if c.cost > 1e-12 or c.groups is None]


def _band_text(q: Question, factor: int) -> str:
    if q.band is not None:
        width = q.band * factor
        return f"ask {q.name} in {width:g}-{q.unit} bands" if q.unit else f"ask {q.name} in bands of {width:g}"
    return f"join every {factor} neighbouring answers of {q.name}"


def _merged(p: Floats, groups: Any) -> float:
    """Entropy after joining answers."""
    return Distribution.of(np.bincount(groups, weights=p), normalize=True).entropy


def _share(blocks: Sequence[Block], people: int) -> float:
    names = [n for b in blocks for n in b.names]
    pieces = _meter.parts(blocks, names)
    return _meter.unique_share(pieces, people, points=_meter.COARSE, listed=2000)[0] if pieces else float(people == 1)


def _pair(blocks: Sequence[Block], singles: Sequence[Change], n: int, target: float, most: float) -> tuple[Change, ...] | None:
    """The cheapest pair that reaches the target for less than ``most``; at most 400 of the likely ones are computed."""
    useful = [c for c in singles if c.groups is not None or math.isinf(most)]
    pairs = [
        (a.cost + b.cost, a, b)
        for a, b in itertools.combinations(useful, 2)
        if a.question != b.question and a.cost + b.cost < most - 1e-12
    ]
    pairs.sort(key=lambda item: (item[0], item[1].text, item[2].text))
    for _, a, b in pairs[:400]:
        if _share(apply(apply(blocks, a), b), n) <= target:
            return (a, b)
    return None


def _greedy(blocks: Sequence[Block], singles: Sequence[Change], n: int, target: float) -> tuple[Change, ...]:
    """One change per question after the other, each time the one that gains most per cost; then each made milder again."""
    chosen: dict[str, Change] = {}
    share = _share(blocks, n)
    while share > target:
        paid = {name: c.cost for name, c in chosen.items()}
        trials = [
            (c, c.cost - paid.get(c.question, 0.0), _share(_apply_all(blocks, {**chosen, c.question: c}.values()), n))
            for c in singles
            if c.cost > paid.get(c.question, -1.0)
        ]
        trials = [t for t in trials if t[2] < share]
        if not trials:
            return tuple(chosen.values())
        now = _logit(share)
        change, _, share = max(trials, key=lambda t: (now - _logit(t[2])) / max(t[1], 1e-9))
        chosen[change.question] = change
    for name in sorted(chosen, key=lambda x: -chosen[x].cost):
        milder: list[Change | None] = [None, *(c for c in singles if c.question == name and c.cost < chosen[name].cost)]
        for option in milder:  # cheapest first
            trial = {**chosen, name: option}
            if _share(_apply_all(blocks, [c for c in trial.values() if c is not None]), n) <= target:
                chosen = {k: c for k, c in trial.items() if c is not None}
                break
    return tuple(chosen.values())


def _apply_all(blocks: Sequence[Block], changes: Iterable[Change]) -> list[Block]:
    current = list(blocks)
    for c in changes:
        current = apply(current, c)
    return current


def _logit(share: float) -> float:
    x = min(max(share, 1e-15), 1 - 1e-15)
    return math.log(x / (1 - x))


def _verified(blocks: Sequence[Block], changes: tuple[Change, ...], n: int, before: float, target: float) -> Suggestion:
    """The effect again on the fine grid."""
    current = _apply_all(blocks, changes)
    names = [name for b in current for name in b.names]
    after = _meter.unique_share(_meter.parts(current, names), n)[0] if names else float(n == 1)
    return Suggestion(changes, before, after, after <= target * (1 + 1e-9))

"""The cheapest change of a questionnaire that reaches its target.

A change joins neighbouring answers into wider bands, joins rare answers into "other", or leaves a question out. Its cost is the
information lost (nats of that question, times its weight); costs add up, and each further change makes the whole a tenth dearer,
because one change is easier to explain than two. A first answer comes from one change after another;
then all combinations that cost less are searched, branch by branch: one is given up when even the coarsest form of the questions
not yet decided (left out, where they may change at all) misses the target. ``proven`` says whether the search came to its end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.model.display import as_percent, written
from shoal.prediction.distribution import Distribution, Floats
from shoal.prediction.questionnaire import meter as _meter
from shoal.prediction.questionnaire.questions import Question

FACTORS = (2, 3, 4, 5, 10, 20, 25, 50)
FURTHER = 0.1
MANY = 15
"""Questions beyond which only leaving some out is suggested: nobody makes thirty changes of answers."""
MOST_TRIALS = 1_000
"""Combinations that are computed before the search ends with the best so far."""


@dataclass(frozen=True, eq=False)
class Change:
    """One change of one question: ``groups`` maps each answer to its new answer; None leaves the question out."""

    question: str
    groups: tuple[int, ...] | None
    text: str
    cost: float


@dataclass(frozen=True, repr=False)
class Suggestion:
    """Changes, and the unique share before and after.

    ``reached`` says whether the target is met; ``proven`` whether no cheaper combination of these changes meets it.
    """

    changes: tuple[Change, ...]
    before: float
    after: float
    reached: bool
    proven: bool = True
    asked: tuple[str, ...] = ()
    """The questions that stay, of very many."""
    most: float | None = None
    """The upper end of the share after the changes, judged by a pilot."""
    single: Suggestion | None = None
    """The cheapest change of one question alone that meets the target, where ``changes`` are several."""

    def __repr__(self) -> str:
        return f"<Suggestion: {self.text}>"

    @property
    def cost(self) -> float:
        """Information lost, in nats times the weights of the questions, a tenth more for each further change."""
        return total_cost(self.changes)

    @property
    def text(self) -> str:
        """The sentence to show."""
        if not self.changes:
            return f"nothing to change: {as_percent(self.before)} of the respondents would be unique"
        gone = [c.text.removeprefix("do not ask ") for c in self.changes if c.groups is None]
        kept = [c.text for c in self.changes if c.groups is not None]
        if self.asked:
            kept, gone = [f"ask only {', '.join(self.asked)} of all {len(self.asked) + len(gone)}"], []
        what = "; ".join([*kept, *([f"do not ask {', '.join(gone)}"] if gone else [])])
        arrow = f"{as_percent(self.before)} → {as_percent(self.after)}"
        arrow += "" if self.most is None else f" (at most {as_percent(self.most)})"
        alone = f"; or, with one change: {self.single.text}" if self.single else ""
        return f"{what}: {arrow}" + ("" if self.reached else " (the target is not reached)") + alone

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "changes": [{"question": c.question, "change": c.text, "cost": c.cost} for c in self.changes],
            "before": self.before,
            "after": self.after,
            "at_most": self.most,
            "reached": self.reached,
            "proven": self.proven,
            "cost": self.cost,
            "single": self.single.to_json() if self.single else None,
        }


def total_cost(changes: Sequence[Change]) -> float:
    """What several changes cost together."""
    return sum(c.cost for c in changes) * (1.0 + FURTHER * max(0, len(changes) - 1))


def suggestions(
    questions: Mapping[str, Question], blocks: Sequence[_meter.Block], n: int, target: float, most: int
) -> list[Suggestion]:
    """The cheapest change, then the cheapest ones that leave a question as it is which the one before changed most."""
    made: list[Suggestion] = []
    left = dict(questions)
    for _ in range(most):
        one = suggest(left, blocks, n, target)
        if not one.changes or (made and not one.reached):
            break
        if all({c.text for c in one.changes} != {c.text for c in other.changes} for other in made):
            made.append(replace(one, single=None) if made else one)
        changed = [c for c in one.changes if not left[c.question].fixed]
        if not changed:
            break
        dearest = max(changed, key=lambda c: (c.cost, c.question))
        if one.asked:  # of many, the one that tells least among those left out is spared
            dearest = min(changed, key=lambda c: (c.cost, c.question))
        left[dearest.question] = replace(left[dearest.question], fixed=True)
    return made


def suggest(questions: Mapping[str, Question], blocks: Sequence[_meter.Block], n: int, target: float) -> Suggestion:
    """The cheapest change that brings the expected unique share of ``n`` respondents to ``target``."""
    before = _meter.unique_share(_meter.parts(blocks, list(questions)), n)[0]
    if before <= target:
        return Suggestion((), before, before, True)
    if len(questions) > MANY:
        return _keep_most(questions, blocks, n, before, target)
    options = {name: sorted(changes_of(x), key=lambda c: (c.cost, c.text)) for name, x in questions.items()}
    singles = sorted((c for changes in options.values() for c in changes), key=lambda c: (c.cost, c.question, c.text))
    hit = next((c for c in singles if _share(apply(blocks, c), n) <= target), None)
    first = (hit,) if hit else _greedy(blocks, singles, n, target)
    if _share(_apply_all(blocks, first), n) > target:
        return _verify(blocks, first, n, before, target, proven=False)
    order = sorted(options, key=lambda name: (-questions[name].law.entropy, name))
    search = _Search(blocks, [options[name] for name in order], n, target, first)
    search.descend(0, ())
    changes = _verify(blocks, search.best, n, before, target, proven=search.left > 0)
    if hit is None or len(search.best) == 1:
        return changes
    return replace(changes, single=_verify(blocks, (hit,), n, before, target, proven=True))


class _Search:
    """Branch and bound over one option, or none, per question."""

    def __init__(
        self, blocks: Sequence[_meter.Block], options: list[list[Change]], n: int, target: float, first: tuple[Change, ...]
    ) -> None:
        self.blocks, self.options, self.n, self.target = blocks, options, n, target
        self.best = first
        self.cost = total_cost(first)
        self.left = MOST_TRIALS

    def descend(self, depth: int, chosen: tuple[Change, ...]) -> None:
        """Decide the question at ``depth``; the ones before are decided, the ones after are as they are."""
        if self.left <= 0 or depth == len(self.options):
            return
        coarsest = [Change(choices[0].question, None, "", 0.0) for choices in self.options[depth + 1 :] if choices]
        for change in (None, *self.options[depth]):
            now = (*chosen, change) if change else chosen
            if total_cost(now) >= self.cost - 1e-12:
                return  # dearer ones follow
            if change is not None and self._reaches(now):
                self.best, self.cost = now, total_cost(now)
                return
            if coarsest and self._reaches((*now, *coarsest)):
                self.descend(depth + 1, now)

    def _reaches(self, changes: tuple[Change, ...]) -> bool:
        self.left -= 1
        return _share(_apply_all(self.blocks, changes), self.n) <= self.target


def apply(blocks: Sequence[_meter.Block], change: Change) -> list[_meter.Block]:
    """The blocks after one change."""
    out: list[_meter.Block] = []
    for b in blocks:
        after = b.changed(change.question, change.groups) if change.question in b.names else b
        out.extend([after] if after is not None else [])
    return out


def changes_of(q: Question) -> list[Change]:
    """Every change of one question, with what it costs."""
    if q.fixed:
        return []
    out: list[Change] = []
    h = q.law.entropy
    if q.leads_to:  # merged answers would not say which question is next
        pass
    elif q.ordered:
        for factor in FACTORS:
            if math.ceil(q.answers / factor) >= 2:
                groups = np.arange(q.answers) // factor
                cost = q.weight * (h - _merge_entropy(q.p, groups))
                out.append(Change(q.name, tuple(groups.tolist()), _band_text(q, factor), cost))
    else:
        order = np.argsort(-q.p, kind="stable")
        for kept in sorted({q.answers // 2, q.answers // 4, q.answers // 10, 10, 5, 3, 2}):
            if 2 <= kept < q.answers - 1:
                groups = np.full(q.answers, kept)
                groups[order[:kept]] = np.arange(kept)
                text = f"keep the {kept} most common answers of {q.name} and join the rest"
                out.append(Change(q.name, tuple(groups.tolist()), text, q.weight * (h - _merge_entropy(q.p, groups))))
    if not q.keep:
        also = f" (nor {', '.join(q.leads_to)}, which it leads to)" if q.leads_to else ""
        out.append(Change(q.name, None, f"do not ask {q.name}{also}", q.weight * h * 1.0001))
    return [c for c in out if c.cost > 1e-12 or c.groups is None]


def _band_text(q: Question, factor: int) -> str:
    if q.band is not None:
        width = q.band * factor
        return f"ask {q.name} in {written(width)}-{q.unit} bands" if q.unit else f"ask {q.name} in bands of {written(width)}"
    return f"join every {factor} neighbouring answers of {q.name}"


def _merge_entropy(p: Floats, groups: Any) -> float:
    """Entropy after joining answers."""
    return Distribution.of(np.bincount(groups, weights=p), normalize=True).entropy


def _share(blocks: Sequence[_meter.Block], people: int, *, fine: bool = False) -> float:
    """The unique share by all questions of the blocks."""
    pieces = _meter.parts(blocks, [n for b in blocks for n in b.names])
    grid = {} if fine else {"points": _meter.COARSE, "listed": 2000}
    return _meter.unique_share(pieces, people, **grid)[0] if pieces else float(people == 1)


def _keep_most(
    questions: Mapping[str, Question], blocks: Sequence[_meter.Block], n: int, before: float, target: float
) -> Suggestion:
    """Of many questions as many as the target allows, those that tell least first; what must stay stays."""
    stays = [q for q in questions.values() if q.keep or q.fixed]
    rest = sorted((q for q in questions.values() if q not in stays), key=lambda q: (q.law.entropy / q.weight, q.name))
    ordered = [*stays, *rest]

    def kept(count: int) -> list[str]:
        names = {q.name for q in ordered[:count]}
        while loose := {q.name for q in ordered if q.name in names and q.when and q.when[0] in questions} - {
            q.name for q in ordered if q.name in names and q.when and q.when[0] in names
        }:
            names -= loose
        return [name for name in questions if name in names]

    low, high = len(stays), len(ordered)
    while high - low > 1:
        middle = (low + high) // 2
        names = kept(middle)
        share = _meter.unique_share(_meter.parts(blocks, names), n, points=_meter.COARSE)[0] if names else float(n == 1)
        low, high = (middle, high) if share <= target else (low, middle)
    names = kept(low)
    dropped = tuple(c for q in ordered if q.name not in names for c in changes_of(replace(q, fixed=False)) if c.groups is None)
    verified = _verify(blocks, dropped, n, before, target, proven=False)
    return replace(verified, asked=tuple(names))


def _greedy(blocks: Sequence[_meter.Block], singles: Sequence[Change], n: int, target: float) -> tuple[Change, ...]:
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


def _apply_all(blocks: Sequence[_meter.Block], changes: Iterable[Change]) -> list[_meter.Block]:
    current = list(blocks)
    for c in changes:
        current = apply(current, c)
    return current


def _logit(share: float) -> float:
    x = min(max(share, 1e-15), 1 - 1e-15)
    return math.log(x / (1 - x))


def _verify(
    blocks: Sequence[_meter.Block], changes: tuple[Change, ...], n: int, before: float, target: float, *, proven: bool
) -> Suggestion:
    """The effect again on the fine grid."""
    after = _share(_apply_all(blocks, changes), n, fine=True)
    return Suggestion(changes, before, after, after <= target * (1 + 1e-9), proven)


LEAST_GAIN = 0.002
"""A change that spares fewer than 1 in 500 respondents is not worth a click."""


def single_changes(
    questions: Mapping[str, Question], blocks: Sequence[_meter.Block], n: int, target: float, most: int
) -> list[Suggestion]:
    """At most ``most`` changes of one question each, those that spare most respondents first.

    For each question it is the cheapest change that meets the target or, where none does, the one with the largest gain per cost.
    """
    before = _meter.unique_share(_meter.parts(blocks, list(questions)), n)[0]
    if before <= target:
        return []
    changes = []
    for question in questions.values():
        tried = [Suggestion((c,), before, _share(apply(blocks, c), n, fine=True), False) for c in changes_of(question)]
        helping = [s for s in tried if before - s.after >= LEAST_GAIN]
        meeting = [s for s in helping if s.after <= target]
        if meeting:
            changes.append(min(meeting, key=lambda s: s.cost))
        elif helping:
            changes.append(max(helping, key=lambda s: (before - s.after) / max(s.cost, 1e-9)))
    best = sorted(changes, key=lambda s: (s.after, s.cost))[:most]
    return [Suggestion(s.changes, s.before, s.after, s.after <= target) for s in best]

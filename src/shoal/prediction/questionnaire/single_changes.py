"""Single changes that help: for each question the one that gains most for what it costs, held against the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.prediction.questionnaire import meter as _meter
from shoal.prediction.questionnaire.question import Question
from shoal.prediction.questionnaire.question_blocks import QuestionBlock
from shoal.prediction.questionnaire.suggest import Suggestion, apply, changes_of

LEAST_GAIN = 0.002
"""A change that spares fewer than 1 in 500 respondents is not worth a click."""


def single_changes(
    questions: Mapping[str, Question], blocks: Sequence[QuestionBlock], n: int, target: float, most: int
) -> list[Suggestion]:
    """At most ``most`` changes of one question each, those that spare most respondents first.

    For each question it is the cheapest change that meets the target or, where none does, the one with the largest gain per cost.
    """
    before = _meter.unique_share(_meter.parts(blocks, list(questions)), n)[0]
    if before <= target:
        return []
    found = []
    for question in questions.values():
        tried = [Suggestion((c,), before, _after(apply(blocks, c), n), False) for c in changes_of(question)]
        helping = [s for s in tried if before - s.after >= LEAST_GAIN]
        meeting = [s for s in helping if s.after <= target]
        if meeting:
            found.append(min(meeting, key=lambda s: s.cost))
        elif helping:
            found.append(max(helping, key=lambda s: (before - s.after) / max(s.cost, 1e-9)))
    best = sorted(found, key=lambda s: (s.after, s.cost))[:most]
    return [Suggestion(s.changes, s.before, s.after, s.after <= target) for s in best]


def _after(blocks: Sequence[QuestionBlock], n: int) -> float:
    names = [name for b in blocks for name in b.names]
    return _meter.unique_share(_meter.parts(blocks, names), n)[0] if names else float(n == 1)

"""Who is behind new records: a known person, a new one, or nobody knows yet.

Takes    the register of a domain and new records
Returns  for each new record an answer, in their order
Keeps    nobody is merged where two known people fit, nor on less than the probability of a match, nor (twins) where neither the
         given name nor a number agrees exactly
Source   the usual Fellegi–Sunter weights (:data:`shoal.linkage.weights.model.USUAL`); rare values by the register's own shares
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from shoal.linkage.compare.blocking import candidate_pairs
from shoal.linkage.compare.levels import LEVELS, levels
from shoal.linkage.weights import em
from shoal.linkage.weights.model import Model
from shoal.linkage.weights.score import weigh
from shoal.protector.intake.register import Person, Register, comparable, identity_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.linkage.fields.records import Changes, Records

MATCH, POSSIBLE = 0.99, 0.05
"""Probabilities from which a record is of a known person, or a clerk decides. A wrong merge mixes two people: hence the first."""

Outcome = Literal["known", "matched", "new", "waiting", "empty"]


@dataclass(frozen=True)
class Answer:
    """``identity`` stands for the person (none while waiting); ``candidates`` are known people who may be it, best first."""

    outcome: Outcome
    identity: bytes | None = None
    candidates: tuple[tuple[bytes, float], ...] = ()


def recognise(
    register: Register, people: Sequence[Person], *, match: float = MATCH, possible: float = POSSIBLE
) -> tuple[list[Answer], dict[str, Changes]]:
    """An answer for each new record, and what was changed in their spelling."""
    records = comparable([*register.records, *people]) if people else None
    if records is None or not records.fields:
        return [Answer("empty")] * len(people), {}
    known = len(register.records)
    near = _near(records, known, len(people), register.people)
    owners: list[bytes | None] = [*register.standing, *[None] * len(people)]
    answers: list[Answer] = []
    for place, person in enumerate(people):
        answer = _answer(person, near[place], owners, register, match, possible)
        owners[known + place] = answer.identity
        answers.append(answer)
    return answers, dict(comparable(people).changes)


def _own(records: Records, found: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Pairs that agree on something of the person's own: the given name or a number, exactly. All else twins share."""
    out = np.zeros(len(found), dtype=bool)
    for place, field in enumerate(records.fields):
        if field.kind in ("given", "number"):
            out |= found[:, place] >= len(LEVELS[field.kind]) - (2 if field.kind == "given" else 1)
    return out


def _near(records: Records, known: int, fresh: int, people: int) -> list[list[tuple[int, float]]]:
    """For each new record the earlier ones it may be, with the probability."""
    left, right, _ = candidate_pairs(records, None)
    mine = right >= known
    left, right = left[mine], right[mine]
    found = levels(records, left, right)
    model = Model.usual(records.fields, prior=0.5 / (people + fresh + 1))
    chance = em.chance(weigh(model, records, left, right, found), model.prior)
    chance[~_own(records, found)] *= 0.5
    out: list[list[tuple[int, float]]] = [[] for _ in range(fresh)]
    for at in np.flatnonzero(chance > 0.001):
        out[int(right[at]) - known].append((int(left[at]), float(chance[at])))
    return out


def _answer(
    person: Person,
    near: list[tuple[int, float]],
    owners: list[bytes | None],
    register: Register,
    match: float,
    possible: float,
) -> Answer:
    text = identity_of(person).encode()
    if not person:
        return Answer("empty")
    if text in register.by_text:
        return Answer("known", register.by_text[text])
    best: dict[bytes, float] = {}
    unsure = False
    for place, chance in near:
        owner = owners[place]
        if owner is None:
            unsure |= chance >= possible  # resembles a record that itself waits
        else:
            best[owner] = max(best.get(owner, 0.0), chance)
    ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    sure = [owner for owner, chance in ranked if chance >= match]
    if len(sure) == 1 and not unsure:
        return Answer("matched", sure[0])
    maybe = tuple((owner, chance) for owner, chance in ranked if chance >= possible)
    return Answer("waiting", None, maybe) if maybe or unsure else Answer("new", text)

"""Who is behind new records: a known person, a new one, or nobody knows yet.

Takes    the register of a domain and new records
Returns  for each new record an answer, in their order
Keeps    nobody is merged where two known people fit, nor on less than the probability of a match, nor (twins) where neither the
         given name nor a number agrees exactly
Source   Fellegi–Sunter weights: m as usual (:data:`shoal.linkage.model.USUAL`), u counted among pairs of the register,
         where it is large enough; rare values by the register's own shares
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from shoal.linkage import model as em
from shoal.linkage.blocking import candidate_pairs
from shoal.linkage.model import Model, weigh
from shoal.linkage.similarity import LEVELS, levels
from shoal.protector.intake.register import Person, Register, comparable, identity_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.linkage.records import Changes, Records

MATCH, POSSIBLE = 0.99, 0.05
"""Probabilities from which a record is of a known person, or a clerk decides. A wrong merge mixes two people: hence the first."""

ENOUGH, STRANGERS = 1000, 20_000
"""Records from which a register tells how often strangers agree, and pairs that are looked at for it."""

GROWN = 1.1
"""The growth of a register from which its model is fitted again."""

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
    todo = [place for place, person in enumerate(people) if person and identity_of(person).encode() not in register.by_text]
    known = len(register.records)
    near = _near(register, [people[i] for i in todo]) if todo else []
    owners: list[bytes | None] = [*register.standing, *[None] * len(todo)]
    at = {place: number for number, place in enumerate(todo)}
    answers: list[Answer] = []
    for place, person in enumerate(people):
        number = at.get(place)
        answer = _answer(person, [] if number is None else near[number], owners, register, match, possible)
        if number is not None:
            owners[known + number] = answer.identity
        answers.append(answer)
    return answers, dict(comparable(people).changes) if any(people) else {}


def _own(records: Records, found: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Pairs that agree on something of the person's own: the given name or a number, exactly. All else twins share."""
    out = np.zeros(len(found), dtype=bool)
    for place, field in enumerate(records.fields):
        if field.kind in ("given", "number"):
            out |= found[:, place] >= len(LEVELS[field.kind]) - (2 if field.kind == "given" else 1)
    return out


def _near(register: Register, people: Sequence[Person]) -> list[list[tuple[int, float]]]:
    """For each new record the earlier ones it may be (the register's, then those before it), with the probability."""
    known, fresh = register.comparing.with_those(people)
    size = len(known.records)
    old, new = known.pairs_with(fresh)
    one, two, _ = candidate_pairs(fresh, None)
    left, right = np.concatenate([old, one + size]), np.concatenate([new, two]) + size
    places, where = np.unique(left, return_inverse=True)
    some = known.records.at(places[places < size]).joined(fresh)
    kept = len(some) - len(fresh)
    a, b = np.where(left < size, where.ravel(), left - size + kept), right - size + kept
    found = levels(some, a, b)
    model = _model(register, known.records, prior=0.5 / (register.people + len(people) + 1))
    with known.counting(fresh) as seen:
        chance = em.chance(weigh(model, some, a, b, found, seen=seen), model.prior)
    chance[~_own(some, found)] *= 0.5
    out: list[list[tuple[int, float]]] = [[] for _ in people]
    for at in np.flatnonzero(chance > 0.001):
        out[int(right[at]) - size].append((int(left[at]), float(chance[at])))
    return out


def _model(register: Register, records: Records, *, prior: float) -> Model:
    """The register's model, fitted again when it has grown by a tenth."""
    size, model = register.comparing.model
    if model is None or size < ENOUGH or len(records) > GROWN * size:
        model = fitted(records, prior=prior)
        register.comparing.model = (len(records), model)
    return replace(model, prior=prior)


def fitted(records: Records, *, prior: float) -> Model:
    """The usual weights; in a register of :data:`ENOUGH` records, how often strangers agree is counted there."""
    known = len(records)
    if known < ENOUGH:
        return Model.usual(records.fields, prior=prior)
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, known, (2, STRANGERS))
    apart = one != two
    return em.of_strangers(levels(records, one[apart], two[apart]), records.fields, prior)


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

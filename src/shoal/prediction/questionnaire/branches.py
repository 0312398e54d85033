r"""Questions that are asked only after some answers of another one: skip logic, and choices that depend on an earlier choice.

A person who is not asked gives no answer, so two questions of different branches never divide the same people: a gate with shares
:math:`s_a`, whose answer a leads to the questions :math:`C(a)`, has the cells :math:`s_a\prod_{c\in C(a)}p_c`. Without the gate
itself, answers of the gate that lead to the same questions are one cell. (Behind two gates that do not count, cells that differ
only in which of them ended the questions are kept apart: more people seem unique, never fewer.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shoal.errors import UsageError
from shoal.prediction.attributes.loggrid import Factor
from shoal.prediction.distribution import Distribution, Floats
from shoal.prediction.questionnaire.questions import MOST_CELLS, QuestionBlock

LONGEST = 690.0
"""Surprisal in nats up to which a cell's probability is a number; cells beyond it hold nobody twice anyway."""


@dataclass(frozen=True, eq=False)
class Branches:
    """A question, the gate, and for each further question the questions after each answer of the gate.

    ``options[i][a]`` is the block that answer ``a`` of the gate leads to, or None where question i is not asked. The same block
    after several answers is the same object. ``hidden``: the answer to the gate itself does not matter.
    """

    gate: QuestionBlock
    options: tuple[tuple[QuestionBlock | Branches | None, ...], ...]
    hidden: bool = False
    _cache: dict[tuple[str, ...], tuple[Distribution, Factor]] = field(default_factory=dict)
    _changed: dict[tuple[str, tuple[int, ...] | None], Branches | QuestionBlock | None] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return (*(() if self.hidden else self.gate.names), *(n for child in self.options for n in _names(child)))

    def part(self, chosen: Sequence[str]) -> tuple[Distribution, Factor]:
        """The margin of the chosen questions (at least one)."""
        wanted = set(chosen)
        key = tuple(n for n in self.names if n in wanted)
        if key not in self._cache:
            d = self._law(wanted)
            self._cache[key] = (d, Factor.of(d.collapsed))
        return self._cache[key]

    def _law(self, wanted: set[str]) -> Distribution:
        keep = not self.hidden and self.gate.names[0] in wanted
        asked = [child for child in self.options if wanted.intersection(_names(child))]
        ways: dict[tuple[int, ...], list[int]] = {}
        for a in range(self.gate.joint.size):
            ways.setdefault(tuple(id(child[a]) for child in asked), []).append(a)
        y, mass, cells = [], [], 0
        for answers in ways.values():
            shares = self.gate.joint[answers]
            shares = shares[shares > 0] if keep else shares.sum(keepdims=True)
            if not shares.sum() > 0:
                continue
            inside = [block.part(list(wanted))[0] for child in asked if (block := child[answers[0]]) is not None]
            cells += (len(answers) if keep else 1) * math.prod(d.occupied for d in inside)
            own_y, own_mass = -np.log(shares), shares
            for d in inside:
                own_y, own_mass = _times(own_y, own_mass, d.collapsed)
            y.append(own_y)
            mass.append(own_mass)
        p: Floats = np.exp(-np.minimum(np.concatenate(y), LONGEST))
        return Distribution(p, np.concatenate(mass) / p, cells)

    def changed(self, name: str, groups: tuple[int, ...] | None) -> Branches | QuestionBlock | None:
        """The block with answers of one question joined, or without it; without the gate nothing is left."""
        key = (name, groups)
        if key not in self._changed:
            self._changed[key] = self._after(name, groups)
        return self._changed[key]

    def _after(self, name: str, groups: tuple[int, ...] | None) -> Branches | QuestionBlock | None:
        if name in self.gate.names and not self.hidden:
            if groups is not None:
                raise UsageError(f"question '{name}' decides what is asked next: its answers cannot be merged.")
            return None
        out = []
        for child in self.options:
            if name in _names(child):
                child = tuple(None if block is None else block.changed(name, groups) for block in child)
            if any(block is not None for block in child):
                out.append(child)
        if out:
            return replace(self, options=tuple(out), _cache={}, _changed={})
        return None if self.hidden else self.gate


def _names(child: Sequence[QuestionBlock | Branches | None]) -> tuple[str, ...]:
    return next(block.names for block in child if block is not None)


def _times(y: Floats, mass: Floats, d: Distribution) -> tuple[Floats, Floats]:
    """Surprisals and masses after one more independent question."""
    if y.size * d.p.size > MOST_CELLS:
        hint = "Describe them by 'values', or ask fewer."
        raise UsageError("the questions that follow one another have too many combinations.", hint=hint)
    more = np.add.outer(y, -np.log(d.p)).ravel(), np.multiply.outer(mass, d.p * d.multiplicity).ravel()
    return more[0], more[1]

r"""The least and the greatest unique share that what is known of the questions allows, however the answers depend on each other.

Low: one more question never makes anyone less unique, so every question alone is a lower bound. High: within an answer of share s
the other questions, with D' combinations, can leave at most :math:`s(1-s/D')^{n-1}` of the people unique, or
:math:`\tfrac{D'}n(1-\tfrac1n)^{n-1}` when :math:`s>D'/n` (:math:`q(1-q)^{n-1}` is concave up to 2/n and falls beyond 1/n).
Summed over the answers of one question this is an upper bound, and the best question counts. Of a question whose shares are not
known both are taken over every distribution with its number of answers and, where it is published, its kappa
(:mod:`~shoal.prediction.summaries.kappa_bounds`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from shoal.errors import UsageError
from shoal.model.estimate import Estimate
from shoal.prediction.attributes import loggrid as _loggrid
from shoal.prediction.attributes.correlation import gaussian_copula
from shoal.prediction.distribution import Distribution, Floats
from shoal.prediction.group import moments as _moments
from shoal.prediction.summaries.kappa_bounds import Shapes, singletons_range

Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Piece:
    """One question, or several with a known joint table: its ``cells``, and what else is known of their shares.

    ``law`` are the shares themselves; ``kappa`` the range in which the published kappa lies; neither: only the number is known.
    ``share`` is what a registry answers for a group, and ``beside`` the most if others have so many answers together.
    """

    cells: int
    law: Distribution | None = None
    kappa: Range | None = None
    share: Callable[[int, float | None], Estimate] | None = None
    beside: Callable[[int, float], float] | None = None

    def least(self, people: int) -> float:
        """The smallest unique share by this piece alone."""
        if self.law is not None:
            return _moments.mean(self.law, people) / people
        if self.share is not None:
            return self.share(people, None).low
        return 0.0 if self.kappa is None else _least_published(self.kappa, self.cells, people)

    def most(self, people: int, room: float) -> float:
        """The largest unique share when each answer may be split into ``room`` combinations."""
        if self.law is not None:
            return self.law.total(_split(self.law.p, people, room))
        if self.kappa is not None:
            most = _most_published(self.kappa, self.cells, people, room)
        else:
            most = float(self.cells * _split(np.array([1.0 / self.cells]), people, room)[0])
        return min(most, self.beside(people, room)) if self.beside is not None else most


def share_range(pieces: Sequence[Piece], people: int) -> Range:
    """Least and greatest expected share of unique people.

    >>> known = Piece(2, Distribution.of([0.5, 0.5]))
    >>> [round(x, 4) for x in share_range([known, Piece(10)], 8)]
    [0.0078, 0.6983]
    """
    if people <= 1:
        return float(people), float(people)
    low = max(p.least(people) for p in pieces)
    total = sum(math.log(p.cells) for p in pieces)
    high = min(p.most(people, math.exp(min(700.0, total - math.log(p.cells)))) for p in pieces)
    return low, min(1.0, max(low, high))


def _split(shares: Floats, people: int, room: float) -> Floats:
    """The largest unique share inside an answer of each share."""
    s = np.minimum(shares, room / people)
    with np.errstate(divide="ignore"):
        out: Floats = s * np.exp((people - 1) * np.log1p(-np.minimum(s / room, 1.0)))
    return out


@lru_cache(maxsize=1024)
def _least_published(kappa: Range, cells: int, people: int) -> float:
    """Over the range of kappa: the least value is a convex function of it."""
    shares = [singletons_range(k, cells, people)[0] / people for k in _within(kappa, cells)]
    return max(0.0, min(*shares, 2 * shares[1] - max(shares)) if len(shares) > 1 else shares[0])


@lru_cache(maxsize=1024)
def _most_published(kappa: Range, cells: int, people: int, room: float) -> float:
    """Over the range of kappa: the largest value is a concave function of it."""

    def most(k: float) -> float:
        def h(x: Floats) -> Floats:
            return cells * _split(x / cells, people, room)

        one, step = np.array([1.0]), 1e-6
        slope = (h(one + step) - h(one - step)) / (2 * step)
        return Shapes(k, cells, people).most(h, float(h(one)[0]), float(slope[0]))

    shares = [most(k) for k in _within(kappa, cells)]
    return min(1.0, max(*shares, 2 * shares[1] - min(shares)) if len(shares) > 1 else shares[0])


def _within(kappa: Range, cells: int) -> list[float]:
    """The ends and the middle of the range, or the one value there is."""
    low, high = max(0.0, kappa[0]), min(math.log(cells), kappa[1])
    return [low, 0.5 * (low + high), high] if high > low else [low]


MOST_CELLS = 2_000_000


@dataclass(frozen=True, eq=False)
class QuestionBlock:
    """Names of the questions, and their joint probabilities with one axis each."""

    names: tuple[str, ...]
    joint: Floats
    _cache: dict[tuple[str, ...], tuple[Distribution, _loggrid.Factor]] = field(default_factory=dict)
    _changed: dict[tuple[str, tuple[int, ...] | None], QuestionBlock | None] = field(default_factory=dict)

    def part(self, chosen: Sequence[str]) -> tuple[Distribution, _loggrid.Factor]:
        """The margin of the chosen questions of this block (at least one)."""
        key = tuple(n for n in self.names if n in set(chosen))
        if key not in self._cache:
            axes = tuple(i for i, n in enumerate(self.names) if n not in key)
            joint = self.joint.sum(axis=axes) if axes else self.joint
            d = Distribution.of(joint.ravel(), normalize=True)
            self._cache[key] = (d, _loggrid.Factor.of(d.collapsed))
        return self._cache[key]

    def changed(self, name: str, groups: tuple[int, ...] | None) -> QuestionBlock | None:
        """The block with answers of one question joined, or without it (None); the same object when asked again."""
        key = (name, groups)
        if key not in self._changed:
            self._changed[key] = self._without(name) if groups is None else self._merged(name, groups)
        return self._changed[key]

    def _merged(self, name: str, groups: Any) -> QuestionBlock:
        """The block with answers of one question joined: ``groups[i]`` is the new index of answer i."""
        axis = self.names.index(name)
        index = np.asarray(groups, dtype=np.int64)
        moved = np.moveaxis(self.joint, axis, 0)
        out = np.zeros((int(index.max()) + 1, *moved.shape[1:]))
        np.add.at(out, index, moved)
        return QuestionBlock(self.names, np.moveaxis(out, 0, axis))

    def _without(self, name: str) -> QuestionBlock | None:
        """The block without one question; None when nothing is left."""
        if len(self.names) == 1:
            return None
        axis = self.names.index(name)
        return QuestionBlock(tuple(n for n in self.names if n != name), self.joint.sum(axis=axis))


def single(name: str, p: Floats) -> QuestionBlock:
    """A question that is linked to none."""
    return QuestionBlock((name,), p)


def linked(names: Sequence[str], margins: Sequence[Floats], rho: float) -> QuestionBlock:
    """Questions tied by a Gaussian copula with this correlation."""
    cells = math.prod(m.size for m in margins)
    if cells > MOST_CELLS:
        hint = "Ask them in wider bands, or link fewer."
        raise UsageError(f"the linked questions {', '.join(names)} have {cells} combinations: too many to tie.", hint=hint)
    if len(names) == 2:
        return QuestionBlock(tuple(names), gaussian_copula(margins, rho))
    if not 0 <= rho <= 0.98:
        hint = "Link them in pairs for other correlations."
        raise UsageError(f"three or more linked questions need a correlation from 0 to 0.98; found {rho!r}.", hint=hint)
    return QuestionBlock(tuple(names), one_factor(margins, rho))


def tabulated(names: Sequence[str], joint: Any, margins: Sequence[Floats]) -> QuestionBlock:
    """Questions with a known joint table (counts or probabilities), one axis per question."""
    table = np.asarray(joint, dtype=np.float64)
    shape = tuple(m.size for m in margins)
    if table.shape != shape:
        raise UsageError(f"the joint table of {', '.join(names)} must have the shape {shape}; found {table.shape}.")
    if not bool(np.all(np.isfinite(table) & (table >= 0))) or not table.sum() > 0:
        raise UsageError(f"the joint table of {', '.join(names)} must hold numbers of at least 0, and not only 0.")
    return QuestionBlock(tuple(names), table / table.sum())


def one_factor(margins: Sequence[Floats], rho: float) -> Floats:
    from shoal.kernels.scipy.special import ndtr, ndtri

    pieces = 24
    nodes, weights = np.polynomial.legendre.leggauss(8)
    cuts = np.linspace(-8.4, 8.4, pieces + 1)
    half = (cuts[1] - cuts[0]) / 2
    z = (cuts[:-1, None] + half * (nodes + 1)).ravel()
    w = np.tile(half * weights, pieces) * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    conditional = []
    for m in margins:
        edges = ndtri(np.concatenate(([0.0], np.minimum(np.cumsum(m), 1.0)[:-1], [1.0])))
        cdf = ndtr((edges[None, :] - math.sqrt(rho) * z[:, None]) / math.sqrt(1 - rho))
        conditional.append(np.diff(cdf, axis=1))
    joint = w[:, None] * conditional[0]
    for c in conditional[1:-1]:
        joint = (joint[:, :, None] * c[:, None, :]).reshape(z.size, -1)
    out: Floats = np.einsum("zi,zj->ij", joint, conditional[-1], optimize=True)
    out = np.maximum(out, 0.0).reshape([m.size for m in margins])
    out /= out.sum()
    return out


@dataclass(frozen=True)
class Flag:
    """A question that harms beside any others: what it is, and what to do about it."""

    question: str
    kind: str
    says: str
    do: str


_PART = re.compile(r" \(\d+ of \d+\)$")


def whole_question(name: str) -> str:
    """The question that a part belongs to: one with very many choices is counted in parts.

    >>> whole_question("pain (2 of 3)"), whole_question("age")
    ('pain', 'age')
    """
    return _PART.sub("", name)


@dataclass(frozen=True, eq=False)
class Question:
    """One question: the share of each answer in order, and where the shares come from.

    ``source`` is ``given`` (known shares), ``table`` or ``registry`` (counted elsewhere), ``uniform`` or ``kappa`` (only sizes
    known), ``guess`` (shares that somebody guessed: the range holds for any others too). ``kappa_range`` is where a given
    kappa lies, ``published`` what a registry says of the question.
    ``band`` is the width of one answer in ``unit``, for suggestions; ``weight`` how much its detail matters.
    ``role`` is ``quasi`` (others may know the answer) or ``undecided``; ``sensitive`` and ``insensitive`` ones do not count.
    ``when`` names an earlier question and those of its answers after which this one is asked; ``p`` are then shares of those.
    ``given`` has a row of shares for each of these answers, where the choices depend on it. ``leads_to`` names the questions
    that this one decides about; ``fixed`` leaves it as it is in a suggestion.
    """

    name: str
    p: Floats
    source: str = "given"
    ordered: bool = False
    band: float | None = None
    unit: str = ""
    weight: float = 1.0
    keep: bool = False
    labels: tuple[str, ...] = ()
    kappa_range: tuple[float, float] | None = None
    published: Any = None
    role: str = "quasi"
    when: tuple[str, tuple[int, ...]] | None = None
    given: Floats | None = None
    leads_to: tuple[str, ...] = ()
    fixed: bool = False

    @cached_property
    def law(self) -> Distribution:
        return Distribution.of(self.p, normalize=True)

    @property
    def answers(self) -> int:
        return int(self.p.size)

    @property
    def known(self) -> Piece:
        """What is really known of the shares of the answers."""
        if self.source in ("given", "table"):
            return Piece(self.answers, law=self.law)
        return Piece(self.answers, kappa=self.kappa_range) if self.published is None else self.published.piece

"""Questions that are linked form a block with a joint distribution; blocks are independent of each other.

Two questions are tied by a Gaussian copula (exact cells), or by a given joint table. Three or more share one factor:
X_i = sqrt(rho) Z + sqrt(1-rho) e_i, so that given Z they are independent and the joint is one integral over Z.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.errors import UsageError
from shoal.prediction.attributes import loggrid as _loggrid
from shoal.prediction.attributes.correlation import gaussian_copula
from shoal.prediction.distribution import Distribution, Floats

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
        raise UsageError(
            f"the linked questions {', '.join(names)} have {cells} combinations: too many to tie.",
            hint="Ask them in wider bands, or link fewer.",
        )
    if len(names) == 2:
        return QuestionBlock(tuple(names), gaussian_copula(margins, rho))
    if not 0 <= rho <= 0.98:
        raise UsageError(
            f"three or more linked questions need a correlation from 0 to 0.98; found {rho!r}.",
            hint="Link them in pairs for other correlations.",
        )
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

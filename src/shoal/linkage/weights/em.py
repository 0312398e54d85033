"""Fit m, u and the share of matches from pairs whose truth is unknown, by expectation and maximisation.

Takes    patterns of levels with the number of pairs each stands for
Returns  a :class:`~.model.Model`
Keeps    shares stay positive and sum to 1
Source   Winkler 1988; Jaro 1989. The usual model counts as :data:`PRIOR_PAIRS` pairs, so that levels nobody saw stay finite
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shoal.linkage.weights.model import Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.linkage.fields.records import Field

PRIOR_PAIRS = 5.0
STEPS = 500


def fit(patterns: NDArray[np.int8], counts: NDArray[np.float64], fields: Sequence[Field], *, seen: int) -> Model:
    """The model of highest likelihood near the usual one. ``seen`` pairs were looked at: no u is below half a pair of them."""
    total = float(counts.sum())
    usual = Model.usual(fields, prior=0.5)
    chosen = [[(patterns[:, place] == level) for level in range(len(usual.m[place]))] for place in range(len(fields))]
    u = [_shares([float(counts[c].sum()) for c in chosen[p]], usual.u[p], 0.5 / seen) for p in range(len(fields))]
    model = Model(tuple(fields), usual.m, tuple(u), prior=min(0.5, 1.0 / np.sqrt(total)))
    for _ in range(STEPS):
        matched = counts * posterior(model, patterns)
        m = [_shares([float(matched[c].sum()) for c in chosen[p]], usual.m[p]) for p in range(len(fields))]
        apart = counts - matched
        u = [_shares([float(apart[c].sum()) for c in chosen[p]], usual.u[p], 0.5 / seen) for p in range(len(fields))]
        prior = (float(matched.sum()) + 0.5) / (total + 1.0)
        made = Model(tuple(fields), tuple(m), tuple(u), prior)
        change = max(float(np.abs(a - b).max()) for a, b in zip(made.m, model.m, strict=True))
        model = made
        if change < 1e-6:
            break
    return model


def of_strangers(patterns: NDArray[np.int8], fields: Sequence[Field], prior: float) -> Model:
    """The usual model with u as it is found among pairs of strangers: how often two people of a register agree."""
    usual = Model.usual(fields, prior=prior)
    found = [[float((patterns[:, p] == level).sum()) for level in range(len(usual.u[p]))] for p in range(len(fields))]
    u = tuple(_shares(found[p], usual.u[p], 0.5 / max(len(patterns), 1)) for p in range(len(fields)))
    return Model(usual.fields, usual.m, u, prior)


def posterior(model: Model, patterns: NDArray[np.int8]) -> NDArray[np.float64]:
    """The chance that a pair of each pattern is one person."""
    weight = sum((model.weights(place)[patterns[:, place]] for place in range(len(model.fields))), np.zeros(len(patterns)))
    return chance(weight, model.prior)


def chance(weight: NDArray[np.float64], prior: float) -> NDArray[np.float64]:
    """From a weight (log2 of odds against the prior odds) to a probability.

    >>> chance(np.array([0.0, 1.0]), 0.5).round(3).tolist()
    [0.5, 0.667]
    """
    odds = weight + np.log2(prior / (1 - prior))
    return np.asarray(1.0 / (1.0 + np.exp2(-np.clip(odds, -1000, 1000))))


def _shares(found: Sequence[float], usual: NDArray[np.float64], least: float = 0.0) -> NDArray[np.float64]:
    """Shares of levels with the usual ones as prior counts, none below ``least``."""
    raised = np.asarray(found) + PRIOR_PAIRS * usual
    kept = np.maximum(raised / raised.sum(), least)
    return np.asarray(kept / kept.sum())

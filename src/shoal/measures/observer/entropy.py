"""Anonymity of one subject under a posterior: entropies, degrees and scales over a probability vector.

Takes    an attacker's probabilities over candidate subjects (zeros count as candidates), in bits unless said otherwise
Keeps    the Rényi entropies never grow with their order; 0 ≤ degree ≤ 1
Source   METHODS §1 (errata 2-1 … 2-6); Serjantov & Danezis 2002; Díaz et al. 2002; Clauß & Schiffner 2006; Reiter & Rubin 1998
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, UsageError
from shoal.measures.metrics import metric
from shoal.model.counts.classes import FloatArray

HELPERS = (
    "distribution", "doubt", "renyi_entropy", "quantile_entropy", "surprisal_quantile", "reiter_rubin", "is_alpha_anonymous",
    "is_strongly_anonymous", "is_minimally_anonymous", "is_totally_anonymous",
)  # fmt: skip
TOLERANCE = 1e-9


def distribution(p: npt.ArrayLike) -> FloatArray:
    """A probability vector: at least one entry, none below zero, adding up to 1.

    >>> distribution([0.5, 0.5]).tolist()
    [0.5, 0.5]
    """
    vector = np.asarray(p, dtype=np.float64)
    if vector.ndim != 1 or len(vector) == 0:
        raise DataError("a distribution needs at least one candidate.", hint="Pass one probability per candidate.")
    if not bool(np.isfinite(vector).all()) or float(vector.min()) < 0.0 or abs(float(vector.sum()) - 1.0) > TOLERANCE:
        hint = "They must be at least 0 and add up to 1 (divide by their sum)."
        raise DataError("the probabilities are not a distribution.", hint=hint)
    return vector


def doubt(p: npt.ArrayLike) -> dict[str, float]:
    """Every measure of the doubt that a posterior leaves, by the name of its metric.

    >>> found = doubt([0.5, 0.25, 0.25, 0])
    >>> found["anonymity_set_size"], found["shannon_entropy"], found["min_entropy"], found["degree_of_anonymity"]
    (3, 1.5, 1.0, 0.75)
    """
    measures: tuple[Callable[[npt.ArrayLike], float], ...] = (
        anonymity_set_size,
        shannon_entropy,
        min_entropy,
        max_entropy,
        collision_entropy,
        degree_of_anonymity,
        effective_size,
    )
    return {measure.__name__: measure(p) for measure in measures}


@metric("anonymity_set_size", reads="distribution", low=1, safer="higher", merging="never higher")
def anonymity_set_size(p: npt.ArrayLike) -> int:
    """Candidates that are possible.

    >>> anonymity_set_size([0.5, 0.5, 0, 0])
    2
    """
    return int(np.count_nonzero(distribution(p)))


@metric("shannon_entropy", reads="distribution", low=0, safer="higher", merging="never higher")
def shannon_entropy(p: npt.ArrayLike) -> float:
    """Shannon entropy in bits.

    >>> round(shannon_entropy([0.5] + [1 / 18] * 9), 7)
    2.5849625
    """
    return renyi_entropy(p, 1.0)


@metric("min_entropy", reads="distribution", low=0, safer="higher", merging="never higher")
def min_entropy(p: npt.ArrayLike) -> float:
    """Min-entropy in bits.

    >>> min_entropy([0.5] + [1 / 18] * 9)
    1.0
    """
    return renyi_entropy(p, math.inf)


@metric("max_entropy", reads="distribution", low=0, safer="higher", merging="never higher")
def max_entropy(p: npt.ArrayLike) -> float:
    """Max-entropy in bits.

    >>> max_entropy([0.5, 0.5, 0, 0])
    1.0
    """
    return renyi_entropy(p, 0.0)


@metric("collision_entropy", reads="distribution", low=0, safer="higher", merging="never higher")
def collision_entropy(p: npt.ArrayLike) -> float:
    """Rényi entropy of order 2, in bits.

    >>> round(collision_entropy([0.5] + [1 / 18] * 9), 7)
    1.8479969
    """
    return renyi_entropy(p, 2.0)


@metric("degree_of_anonymity", reads="distribution", low=0, high=1, safer="higher", merging="free")
def degree_of_anonymity(p: npt.ArrayLike) -> float:
    """Shannon entropy over its largest possible value.

    >>> round(degree_of_anonymity([0.5] + [1 / 18] * 9), 7)
    0.7781513
    """
    vector = distribution(p)
    if len(vector) == 1:
        return 0.0
    return min(1.0, shannon_entropy(vector) / math.log2(len(vector)))


@metric("effective_size", reads="distribution", low=1, safer="higher", merging="never higher")
def effective_size(p: npt.ArrayLike) -> float:
    """Two to the Shannon entropy.

    >>> round(effective_size([0.5] + [1 / 18] * 9), 9)
    6.0
    """
    return float(2.0 ** shannon_entropy(p))


def renyi_entropy(p: npt.ArrayLike, order: float) -> float:
    """Rényi entropy in bits; order 0 is Hartley's, 1 Shannon's, infinity the min-entropy.

    >>> [round(renyi_entropy([0.5] + [1 / 18] * 9, a), 6) for a in (0, 0.5, 1, 2, math.inf)]
    [3.321928, 3.0, 2.584963, 1.847997, 1.0]
    """
    vector = distribution(p)
    if math.isnan(order) or order < 0:
        raise UsageError(f"the order of an entropy is at least 0; found {order}.", hint="Use 0, 1, 2 or infinity.")
    logs = np.log2(vector[vector > 0])
    if order == 0:
        return math.log2(len(logs))
    if math.isinf(order):
        return max(0.0, -float(logs.max()))
    if order == 1:
        return max(0.0, -float((np.exp2(logs) * logs).sum()))
    if abs(order - 1.0) < 1e-3:  # Σp^α = 1 + Σp(p^(α−1) − 1): no digits are lost around order 1
        excess = float((np.exp2(logs) * np.expm1((order - 1.0) * logs * math.log(2.0))).sum())
        return max(0.0, math.log1p(excess) / ((1.0 - order) * math.log(2.0)))
    top = float((order * logs).max())
    return max(0.0, (top + math.log2(float(np.exp2(order * logs - top).sum()))) / (1.0 - order))


def quantile_entropy(p: npt.ArrayLike, q: float) -> float:
    """Smooth max-entropy: log2 of the fewest candidates that together carry at least the mass ``q``.

    >>> round(quantile_entropy([0.5] + [1 / 18] * 9, 0.9), 7)
    3.169925
    """
    mass = np.cumsum(np.sort(distribution(p))[::-1])
    _share(q)
    return math.log2(min(int(np.searchsorted(mass, q - 1e-12)) + 1, len(mass)))


def surprisal_quantile(p: npt.ArrayLike, q: float, *, weight: Literal["mass", "count"] = "mass") -> float:
    """The q-quantile of −log2 p, weighted by probability (``mass``) or by candidate (``count``).

    >>> round(surprisal_quantile([0.5] + [1 / 18] * 9, 0.9), 7)
    4.169925
    """
    vector = distribution(p)
    _share(q)
    possible = np.sort(vector[vector > 0])[::-1]
    step = possible if weight == "mass" else np.full(len(possible), 1.0 / len(possible))
    place = min(int(np.searchsorted(np.cumsum(step), q - 1e-12)), len(possible) - 1)
    return max(0.0, -math.log2(float(possible[place])))


def reiter_rubin(p: npt.ArrayLike, subject: int, *, delta: float = 0.05) -> str:
    """Level of a subject on the scale of Reiter and Rubin.

    ``beyond suspicion`` (no candidate is less likely; at least two), ``probable innocence`` (p ≤ ½), ``possible innocence``
    (p ≤ 1 − δ for a δ that is not trivial), ``exposed``.

    >>> reiter_rubin([0.6, 0.3, 0.1], 0), reiter_rubin([1, 0, 0], 0), reiter_rubin([0.25] * 4, 2)
    ('possible innocence', 'exposed', 'beyond suspicion')
    """
    vector = distribution(p)
    mine = float(vector[_subject(vector, subject)])
    if len(vector) >= 2 and mine <= float(vector.min()) + TOLERANCE:
        return "beyond suspicion"
    if mine <= 0.5 + TOLERANCE:
        return "probable innocence"
    return "possible innocence" if mine <= 1.0 - delta + TOLERANCE else "exposed"


def is_alpha_anonymous(p: npt.ArrayLike, subject: int, alpha: float) -> bool:
    """α-anonymity: the subject's probability is below α (strictly).

    >>> is_alpha_anonymous([0.2] * 5, 0, 0.2), is_alpha_anonymous([0.2] * 5, 0, 0.21)
    (False, True)
    """
    vector = distribution(p)
    return bool(float(vector[_subject(vector, subject)]) < alpha)


def is_strongly_anonymous(p: npt.ArrayLike, subject: int, among: Sequence[int] | None = None) -> bool:
    """Strong probabilistic anonymity: every subject of the set is as likely as this one.

    >>> is_strongly_anonymous([0.4, 0.4, 0.2], 0, among=[0, 1]), is_strongly_anonymous([0.4, 0.4, 0.2], 0)
    (True, False)
    """
    vector = distribution(p)
    mine = float(vector[_subject(vector, subject)])
    others = vector if among is None else vector[[_subject(vector, i) for i in among]]
    return bool(float(np.abs(others - mine).max()) <= TOLERANCE)


def is_minimally_anonymous(p: npt.ArrayLike, subject: int) -> bool:
    """Minimal anonymity: the observer is not certain that it was this subject.

    >>> is_minimally_anonymous([1, 0], 0), is_minimally_anonymous([0.9, 0.1], 0)
    (False, True)
    """
    vector = distribution(p)
    return bool(float(vector[_subject(vector, subject)]) < 1.0 - 1e-12)


def is_totally_anonymous(p: npt.ArrayLike, observer: int) -> bool:
    """Total anonymity: to the observer every other subject is possible (three subjects at least).

    >>> is_totally_anonymous([0, 0.5, 0.5], observer=0), is_totally_anonymous([0, 1, 0], observer=0)
    (True, False)
    """
    vector = distribution(p)
    if len(vector) < 3:
        raise UsageError(f"total anonymity needs at least 3 subjects; found {len(vector)}.", hint="Use minimal anonymity.")
    others = np.delete(vector, _subject(vector, observer))
    return bool(float(others.min()) > 0.0)


def _subject(vector: FloatArray, subject: int) -> int:
    if not 0 <= subject < len(vector):
        raise UsageError(f"subject {subject} is not among the {len(vector)} candidates.", hint="Subjects are numbered from 0.")
    return subject


def _share(q: float) -> None:
    if not 0.0 < q <= 1.0:
        raise UsageError(f"a quantile lies above 0 and at most at 1; found {q}.", hint="Use for example 0.9.")

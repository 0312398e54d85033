"""Re-identification risk by entropy (ANVC and RR of source 003), with the exact figures beside it.

Takes    ClassCounts
Keeps    1 ≤ ANVC ≤ number of classes; 1/N ≤ RR ≤ classes/N: with shares from the table itself, RR never exceeds the true
         marketer risk, so it **under**states it
Source   METHODS §24 (errata 3b–3f)
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError
from shoal.kernels.threads import each
from shoal.measures.metrics import metric
from shoal.model.counts.classes import ClassCounts

HELPERS = ("degree_of_anonymity", "distance_from_uniform", "entropy_risk_of", "exact_marketer_of", "exact_unique_of")
SEVERAL_CLASSES = "Not defined: people have rows in several classes, and the entropy of classes is not that of people."
REMARK = (
    "A heuristic: with shares taken from the table it never exceeds classes/records, the exact marketer risk, and is often "
    "much lower. Decide on the exact figure."
)
FEW = 4096
"""Classes up to which a set counts codes: numpy would load its masked arrays for it."""


@metric("joint_entropy", reads="classes", low=0, safer="lower", merging="never higher", doubling="same")
def joint_entropy(counts: ClassCounts) -> float:
    """Entropy of the classes, in bits.

    >>> joint_entropy(ClassCounts((1, 1, 1, 1)))
    2.0
    """
    n = counts.n_members
    return max(0.0, math.log2(n) - float((counts.sizes * np.log2(counts.sizes)).sum()) / n)


@metric("anvc", reads="classes", low=1, safer="lower", merging="never higher", doubling="same")
def average_value_combinations(counts: ClassCounts) -> float:
    """2 to the joint entropy.

    >>> average_value_combinations(ClassCounts((1, 1, 1, 1)))
    4.0
    """
    return float(2.0 ** joint_entropy(counts))


@metric("entropy_risk", reads="classes", low=0, high=1, safer="lower", merging="never higher", doubling="free")
def entropy_risk(counts: ClassCounts) -> float:
    """ANVC over members, at most 1.

    >>> entropy_risk(ClassCounts((50,)))
    0.02
    """
    return min(1.0, average_value_combinations(counts) / counts.n_members)


def degree_of_anonymity(counts: ClassCounts) -> float:
    """Share of the doubt about who is behind a record that the quasi-identifiers leave: 1 − H / log2 N (source 000, eq. 2.4).

    Anyone who knows them still wavers among the members of a class; N people give log2 N bits of doubt without. 0 for one person.

    >>> degree_of_anonymity(ClassCounts((4,))), degree_of_anonymity(ClassCounts((1, 1))), degree_of_anonymity(ClassCounts((2, 2)))
    (1.0, 0.0, 0.5)
    """
    n = counts.n_members
    return min(1.0, max(0.0, 1.0 - joint_entropy(counts) / math.log2(n))) if n > 1 else 0.0


def distance_from_uniform(counts: ClassCounts) -> dict[str, float | int | None]:
    """κ: KL distance, in nats, of the classes from equally common combinations of the values that occur in each column.

    >>> distance_from_uniform(ClassCounts((2, 2), columns=("a", "b"), codes=([0, 1], [0, 1])))["cells"]
    4
    """
    if not counts.columns or not len(counts.codes):
        return {"cells": None, "kappa": None}

    def values(j: int) -> int:
        codes = counts.codes[j]
        return len(set(codes.tolist())) if len(codes) <= FEW else int(np.count_nonzero(np.bincount(codes + 1)))

    cells = math.prod(each(range(len(counts.codes)), counts.n_classes, values))
    return {"cells": cells, "kappa": max(0.0, math.log(cells) - joint_entropy(counts) * math.log(2))}


def entropy_risk_of(entropy: float, n: int) -> float:
    """RR for a given joint entropy in bits and number of people.

    >>> round(entropy_risk_of(2.61, 100), 7)
    0.0610504
    """
    if n < 1:
        raise DataError("the risk of nobody is not defined.", hint="Give the number of people, at least 1.")
    return min(1.0, float(2.0**entropy) / n)


def exact_marketer_of(p: npt.ArrayLike, n: int) -> float:
    """Expected share of right matches for ``n`` people drawn from ``p``: Σ (1 − (1 − p)^n) / n.

    >>> round(exact_marketer_of([1 / 8] * 8, 100), 8)
    0.07999987
    """
    chance = np.asarray(p, dtype=np.float64)
    return float(-np.expm1(n * np.log1p(-chance)).sum() / n) if chance.max() < 1 else 1.0 / n


def exact_unique_of(p: npt.ArrayLike, n: int) -> float:
    """Expected share of unique people among ``n`` drawn from ``p``: Σ p (1 − p)^(n−1).

    >>> round(exact_unique_of([0.5, 0.5], 3), 6)
    0.25
    """
    chance = np.asarray(p, dtype=np.float64)
    return float((chance * (1.0 - chance) ** (n - 1)).sum())

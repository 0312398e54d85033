r"""Individual risk of Benedetti and Franconi: the risk of a sampled record, from sampling weights.

A class with :math:`f` records in the sample has an unknown size :math:`F` in the population. Given :math:`f`,
:math:`F` is taken as negative binomial with success chance :math:`p = f/\hat F`, where :math:`\hat F` is the sum of the
sampling weights in the class; the risk is

.. math:: r = E[1/F \mid f] = \frac{p^f}{f}\,{}_2F_1(f, f; f+1; 1-p) = \frac{p}{f}\,{}_2F_1(1, 1; f+1; 1-p).

The second form is :math:`\int_0^1 u^{f-1} p/(p+(1-p)u)\,du`: a series of positive terms, and a recursion in :math:`f` that
starts from :math:`r = \frac{p}{1-p}\ln\frac1p` for a sample unique. One of the two is short and stable for every p and f.

Source   METHODS §33; Benedetti & Franconi 1998; Capobianchi, Polettini & Lucarelli 2001
Differs  exact for every f (a common package approximates f > 3 and, by default, all f)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, InternalError, UsageError
from shoal.kernels.people import Memberships
from shoal.model.counts.classes import ClassCounts, FloatArray, IntArray

LARGE = 30
"""From this class size the series is short for every p."""
TERMS = 64


@dataclass(frozen=True)
class IndividualRisk:
    """Risk of a record in each class, and what it adds up to."""

    risk: FloatArray  # per class
    members: IntArray
    people: FloatArray | None = None  # per person, where people are in several classes: the highest of their classes

    @property
    def expected(self) -> float:
        """Expected number of re-identifications if everybody is tried, each by the most telling record."""
        return float((self.risk * self.members).sum() if self.people is None else self.people.sum())

    @property
    def mean(self) -> float:
        """Global risk: mean over people."""
        return self.expected / (int(self.members.sum()) if self.people is None else len(self.people))

    @property
    def max(self) -> float:
        return float(self.risk.max())

    def to_json(self) -> dict[str, Any]:
        return {"max": self.max, "mean": self.mean, "expected": self.expected, "method": "Benedetti-Franconi, exact"}


def individual_risk(counts: ClassCounts, who: Memberships | None = None) -> IndividualRisk:
    """Individual risk of each class from its sampling weights.

    Where people were counted (``unit``), each is one, with the mean weight of the rows of the class; people in several classes
    (``who`` is in which) have the highest risk of their classes.

    >>> c = ClassCounts((1, 3), weights=(10.0, 30.0))
    >>> [round(r, 5) for r in individual_risk(c).risk.tolist()]
    [0.25584, 0.04637]
    """
    if counts.weights is None:
        raise UsageError("individual risk needs sampling weights.", hint="Name the weight column: weight='w' or --weight w.")
    rows = counts.sizes if counts.records is None else counts.records
    risk = benedetti_franconi(counts.sizes, counts.weights * (counts.sizes / rows))
    if counts.adds_up:
        return IndividualRisk(risk, counts.sizes)
    if who is None:
        raise InternalError("people are in several classes; who is in which is not known.", hint="Pass who=.")
    return IndividualRisk(risk, counts.sizes, who.largest(risk))


def benedetti_franconi(sample: npt.ArrayLike, population: npt.ArrayLike) -> FloatArray:
    """Risk E[1/F | f] for sample sizes ``f`` and estimated population sizes ``F̂``.

    Parameters
    ----------
    sample, population
        f ≥ 1 and F̂ ≥ f, class by class.

    Returns
    -------
    array of float
        Between 1/F̂ and 1/f.

    Examples
    --------
    >>> round(float(benedetti_franconi([1], [100.0])[0]), 9)
    0.046516871
    """
    f = np.atleast_1d(np.asarray(sample, dtype=np.float64))
    big = np.atleast_1d(np.asarray(population, dtype=np.float64))
    if bool((~np.isfinite(big)).any()) or bool((f < 1).any()):
        raise DataError("sampling weights must be numbers.", hint="Fill or remove missing weights before measuring.")
    short = big < f * (1 - 1e-9)
    if bool(short.any()):
        raise DataError(
            f"the sampling weights of {int(short.sum())} classes add up to fewer people than the sample has there.",
            hint="A weight says how many people a record stands for: at least 1.",
        )
    p = np.minimum(f / big, 1.0)
    return _exact(f, p)


def _exact(f: FloatArray, p: FloatArray) -> FloatArray:
    """Series where it is short (p ≥ ½ or f ≥ 30), else a recursion in f from the closed form for f = 1."""
    out = np.empty_like(p)
    short = (p >= 0.5) | (f >= LARGE)
    out[short] = _series(f[short], p[short])
    out[~short] = _recursion(f[~short], p[~short])
    return np.clip(out, p / f, 1.0 / f)


def _series(f: FloatArray, p: FloatArray) -> FloatArray:
    """(p/f) Σ_j j! q^j / ((f+1)…(f+j)): positive terms that fall at least as fast as 2^−j here."""
    q = 1.0 - p
    term = p / f
    total = term.copy()
    for j in range(1, TERMS):
        term = term * (j * q / (f + j))
        total += term
    return total


def _recursion(f: FloatArray, p: FloatArray) -> FloatArray:
    """r(1) = −(p/q) ln p and r(f+1) = (p/q) (1/f − r(f)): with p < q each step shrinks the error."""
    odds = p / (1.0 - p)
    at = -odds * np.log(p)
    out = at.copy()
    for n in range(1, int(f.max(initial=1.0))):
        at = odds * (1.0 / n - at)
        here = f == n + 1
        out[here] = at[here]
    return out

r"""Places that follow each other: a Markov chain of order one, and a test of the independence that Zipf's model assumes.

Takes    consecutive places of people
Returns  the expected share of people in cells with fewer than k when s linked records follow the chain; mutual information
Source   Kikuchi & Takahashi 2016 (their "Markov model"), read with the last state only (METHODS §32, 4m)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.model.estimate import Estimate
from shoal.prediction.distribution import whole

DRAWS = 20_000
Z = 1.96
SHUFFLES = 200
MOST_PAIRS = 100_000


@dataclass(frozen=True)
class Dependence:
    """Mutual information of two consecutive places in nats; its mean and 95 % quantile when the second places are shuffled; and
    the share of shuffles (this table included) with as much information."""

    information: float
    null: float
    null_high: float
    p_value: float
    pairs: int

    @property
    def found(self) -> bool:
        """Whether independence is refuted at 5 %."""
        return self.p_value <= 0.05

    def to_json(self) -> dict[str, Any]:
        return {
            "information": self.information,
            "if_independent": self.null,
            "if_independent_95": self.null_high,
            "p_value": self.p_value,
            "pairs": self.pairs,
        }


class Chain:
    """Frequencies of places and of the next place after each; places are numbered from 0.

    >>> c = Chain([0, 0, 1], [1, 1, 0])
    >>> c.places, c.chance([0, 1])
    (2, 0.5)
    """

    def __init__(self, place: npt.ArrayLike, following: npt.ArrayLike) -> None:
        here, there = np.asarray(place, dtype=np.int64), np.asarray(following, dtype=np.int64)
        if not len(here):
            raise UsageError("a chain needs people with at least two records.", hint="Ask without the order of records.")
        self.places = int(max(here.max(), there.max())) + 1
        often = np.bincount(np.concatenate((here, there)), minlength=self.places)
        self._first = often / often.sum()
        pairs, counts = np.unique(here * self.places + there, return_counts=True)
        self._from, self._to = np.divmod(pairs, self.places)
        self._start = np.searchsorted(self._from, np.arange(self.places + 1))
        self._upto = np.concatenate(([0], np.cumsum(counts)))
        self._out = self._upto[self._start[1:]] - self._upto[self._start[:-1]]
        self._share = counts / self._out[self._from]

    def chance(self, places: Any) -> float:
        """The chance of a sequence of places."""
        p = float(self._first[places[0]])
        for a, b in pairwise(places):
            if self._out[a] == 0:  # nobody was seen to go on from here
                p *= float(self._first[b])
                continue
            inside = slice(self._start[a], self._start[a + 1])
            p *= float(self._share[inside][self._to[inside] == b].sum())
        return p

    def log_chances(self, records: int, draws: int, rng: np.random.Generator) -> Any:
        """Logarithms of the chances of random sequences."""
        upto = np.cumsum(self._first)
        at = self._starting(upto, draws, rng)
        log_p = np.log(self._first[at])
        for _ in range(records - 1):
            out = self._out[at]
            pair = np.searchsorted(self._upto, self._upto[self._start[at]] + rng.random(draws) * out, side="right") - 1
            pair = np.minimum(pair, len(self._to) - 1)
            restarted = self._starting(upto, draws, rng)
            log_p += np.log(np.where(out > 0, self._share[pair], self._first[restarted]))
            at = np.where(out > 0, self._to[pair], restarted)
        return log_p

    def _starting(self, upto: Any, draws: int, rng: np.random.Generator) -> Any:
        return np.minimum(np.searchsorted(upto, rng.random(draws) * upto[-1], side="right"), self.places - 1)


def chain_share(chain: Chain, people: int, records: int, *, k: int = 2, rng: np.random.Generator, draws: int = DRAWS) -> Estimate:
    r"""Expected share of people in cells with fewer than k when s records follow the chain: the mean of
    :math:`P(\mathrm{Bin}(n-1,p_z)\le k-2)` over random sequences z.

    >>> chain_share(Chain([0, 0, 1], [0, 1, 0]), 1, 3, rng=np.random.default_rng(0)).value
    1.0
    """
    from shoal.kernels.scipy.stats import binom

    n, s = whole(people, what="people", least=1), whole(records, what="records", least=1)
    p = np.exp(chain.log_chances(s, draws, rng))
    share = binom.cdf(whole(k, what="k", least=1) - 2, n - 1, np.minimum(p, 1.0))
    value, wide = (
        float(share.mean()),
        Z * float(share.std()) / math.sqrt(draws) + Z**2 / draws,
    )  # a rare sequence may not be drawn
    ends, method = (max(0.0, value - wide), min(1.0, value + wide)), f"Markov chain of order 1, {draws:,} random sequences"
    note = "places that never followed each other in the table have no chance here, so rare sequences are too few"
    return Estimate(value, *ends, method=method, grade="B", notes=(note,))


def dependence(
    place: npt.ArrayLike, following: npt.ArrayLike, rng: np.random.Generator, *, shuffles: int = SHUFFLES
) -> Dependence:
    """Do consecutive places depend on each other? Mutual information against shuffled second places; at most
    :data:`MOST_PAIRS` pairs, drawn at random.

    >>> d = dependence([0, 1] * 50, [0, 1] * 50, np.random.default_rng(0))
    >>> round(d.information, 4) == round(float(np.log(2)), 4), d.found
    (True, True)
    """
    x, y = np.asarray(place, dtype=np.int64), np.asarray(following, dtype=np.int64)
    if len(x) < 2:
        raise UsageError("independence needs at least two pairs of records.")
    if len(x) > MOST_PAIRS:
        some = rng.choice(len(x), MOST_PAIRS, replace=False)
        x, y = x[some], y[some]
    information = _information(x, y)
    null = np.array([_information(x, rng.permutation(y)) for _ in range(shuffles)])
    p_value = (1 + int((null >= information - 1e-12).sum())) / (shuffles + 1)
    return Dependence(information, float(null.mean()), float(np.quantile(null, 0.95)), p_value, len(x))


def _information(x: npt.NDArray[np.int64], y: npt.NDArray[np.int64]) -> float:
    """H(X) + H(Y) − H(X, Y) of paired values."""
    return _entropy(x) + _entropy(y) - _entropy(x * (int(y.max()) + 1) + y)


def _entropy(values: npt.NDArray[np.int64]) -> float:
    counts = np.unique(values, return_counts=True)[1]
    n = len(values)
    return float(math.log(n) - (counts * np.log(counts)).sum() / n)

"""Posterior tables: from prior and likelihood to what each observation tells, and the criteria over all observations.

A *posterior table* has one row per observation and one column per subject (or per value of any hidden fact: sender, receiver,
"the event happened", "the two events belong together"). Anonymity, unobservability and unlinkability are the same check
over different hidden facts.

Source   METHODS §1.8, §23 (erratum 3a)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, UsageError
from shoal.measures.observer.entropy import TOLERANCE, distribution, doubt
from shoal.model.counts.classes import FloatArray


@dataclass(frozen=True)
class PosteriorTable:
    """``rows[b, u]`` is P(subject u | observation b); ``weights[b]`` is P(observation b); ``prior[u]`` is P(subject u).

    >>> t = PosteriorTable.from_likelihood([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]])
    >>> t.rows.round(6).tolist(), t.is_perfect()
    ([[0.9, 0.1], [0.1, 0.9]], False)
    """

    prior: FloatArray
    rows: FloatArray
    weights: FloatArray

    @classmethod
    def from_likelihood(cls, prior: npt.ArrayLike, likelihood: npt.ArrayLike) -> PosteriorTable:
        """Bayes: from the prior over subjects and ``likelihood[b, u]`` = P(observation b | subject u).

        Each subject's column must add up to 1 over the observations; observations that never occur are left out.
        """
        start = distribution(prior)
        table = np.asarray(likelihood, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != len(start):
            raise UsageError("the likelihood needs one column per subject.", hint="Rows are observations, columns subjects.")
        whole = np.abs(table.sum(axis=0) - 1.0) <= TOLERANCE
        if not bool(np.isfinite(table).all()) or float(table.min()) < 0 or not bool(whole[start > 0].all()):
            hint = "Each column is a distribution over the observations."
            raise DataError("the likelihood of a subject does not add up to 1.", hint=hint)
        joint = table * start
        weight = joint.sum(axis=1)
        seen = weight > 0
        return cls(start, joint[seen] / weight[seen, None], weight[seen])

    @classmethod
    def of_observation(cls, prior: npt.ArrayLike, likelihood: npt.ArrayLike) -> PosteriorTable:
        """The table of a single observation, from P(observation | subject) alone.

        >>> PosteriorTable.of_observation([0.5, 0.5], [0.2, 0.6]).rows.round(6).tolist()
        [[0.25, 0.75]]
        """
        start = distribution(prior)
        joint = start * np.asarray(likelihood, dtype=np.float64)
        if joint.shape != start.shape or float(joint.min()) < 0 or float(joint.sum()) <= 0:
            raise DataError("the observation is impossible for every subject.", hint="Check the likelihood.")
        return cls(start, (joint / joint.sum())[None, :], np.ones(1))

    def range(self, subjects: Sequence[int] | None = None) -> tuple[float, float]:
        """Smallest and largest posterior of the subjects over all observations."""
        some = self._some(subjects)
        return float(some.min()), float(some.max())

    def is_anonymous(self, *, low: float, high: float, subjects: Sequence[int] | None = None) -> bool:
        """Whether every posterior of the subjects lies in [low, high] after every observation.

        ``low`` is best given relative to the crowd: a share of 1/len(subjects). The same check over another hidden fact is
        unobservability (an event) or unlinkability (two events share a property).
        """
        if not 0.0 <= low <= high <= 1.0:
            raise UsageError("the bounds must satisfy 0 ≤ low ≤ high ≤ 1.", hint="For example low=0.1/crowd, high=0.5.")
        least, most = self.range(subjects)
        return least >= low - TOLERANCE and most <= high + TOLERANCE

    def is_perfect(self, subjects: Sequence[int] | None = None) -> bool:
        """Whether no observation changes the probability of any of the subjects."""
        some = self._some(subjects)
        before = self.prior if subjects is None else self.prior[list(subjects)]
        return bool(np.abs(some - before).max() <= TOLERANCE)

    def mutual_information(self) -> float:
        """Bits that an observation tells about the subject; 0 exactly for perfect anonymity.

        >>> PosteriorTable.from_likelihood([0.5, 0.5], [[1, 0], [0, 1]]).mutual_information()
        1.0
        """
        ratio = np.where(self.rows > 0, self.rows, 1.0) / np.where(self.rows > 0, self.prior, 1.0)
        return max(0.0, float((self.weights[:, None] * np.where(self.rows > 0, self.rows, 0.0) * np.log2(ratio)).sum()))

    def per_observation(self) -> list[dict[str, float]]:
        """Each observation: its chance, and every measure of the doubt that it leaves, by the name of its metric.

        >>> t = PosteriorTable.from_likelihood([0.5, 0.5], [[1.0, 0.5], [0.0, 0.5]])
        >>> [(seen["chance"], seen["anonymity_set_size"], round(seen["shannon_entropy"], 4)) for seen in t.per_observation()]
        [(0.75, 2, 0.9183), (0.25, 1, 0.0)]
        """
        return [{"chance": float(w)} | doubt(row) for w, row in zip(self.weights, self.rows, strict=True)]

    def _some(self, subjects: Sequence[int] | None) -> FloatArray:
        if subjects is None:
            return self.rows
        if not subjects or min(subjects) < 0 or max(subjects) >= self.rows.shape[1]:
            raise UsageError(f"subjects are numbered from 0 to {self.rows.shape[1] - 1}.", hint="Name at least one.")
        return self.rows[:, list(subjects)]

    def to_json(self) -> dict[str, object]:
        low, high = self.range()
        return {"min": low, "max": high, "mutual_information": self.mutual_information(), "perfect": self.is_perfect()} | {
            "observations": self.per_observation()
        }


def relative_low(share: float, crowd: int) -> float:
    """A lower bound that fits the crowd: ``share`` of 1/crowd (an absolute bound rejects every large crowd).

    >>> relative_low(0.4, 4)
    0.1
    """
    if crowd < 1 or not 0.0 <= share <= 1.0:
        raise UsageError("the crowd has at least one member and the share lies between 0 and 1.", hint="For example 0.1.")
    return share / crowd


World = tuple[Hashable, ...]
Observe = Callable[[World], Hashable]

MOST_USERS = 8


def _worlds(worlds: Iterable[World]) -> list[World]:
    listed = list(worlds)
    if not listed or len({len(w) for w in listed}) != 1:
        raise UsageError("the model needs at least one world, each with one choice per player.", hint="List the worlds.")
    return listed


def _alike(worlds: Sequence[World], observe: Observe, insiders: Collection[int], x: World) -> list[World]:
    """Worlds that the observer cannot tell from ``x``."""
    seen = observe(x)
    return [v for v in worlds if observe(v) == seen and all(v[j] == x[j] for j in insiders)]


def choice_anonymity_at(
    worlds: Iterable[World], observe: Observe, player: int, x: World, *, insiders: Collection[int] = ()
) -> int:
    """Number of choices that the player may have made, as far as the observer of world ``x`` can tell.

    >>> votes = [(a, b, c) for a in "yn" for b in "yn" for c in "yn"]
    >>> choice_anonymity_at(votes, lambda w: w.count("y"), 0, ("y", "n", "n"))
    2
    """
    return len({v[player] for v in _alike(_worlds(worlds), observe, insiders, x)})


def choice_anonymity(worlds: Iterable[World], observe: Observe, player: int, *, insiders: Collection[int] = ()) -> int:
    """Smallest number of possible choices over all worlds: 1 means some world gives the player away.

    >>> votes = [(a, b, c) for a in "yn" for b in "yn" for c in "yn"]
    >>> choice_anonymity(votes, lambda w: w.count("y"), 0)
    1
    """
    listed = _worlds(worlds)
    return min(choice_anonymity_at(listed, observe, player, x, insiders=insiders) for x in listed)


def player_anonymity_at(
    worlds: Iterable[World], observe: Observe, choice: Hashable, x: World, *, insiders: Collection[int] = ()
) -> int:
    """Number of players outside the observers who may have made the choice in world ``x``.

    >>> votes = [(a, b, c) for a in "yn" for b in "yn" for c in "yn"]
    >>> player_anonymity_at(votes, lambda w: w.count("y"), "y", ("y", "n", "n"))
    3
    """
    alike = _alike(_worlds(worlds), observe, insiders, x)
    return sum(any(v[i] == choice for v in alike) for i in range(len(x)) if i not in insiders)


def player_anonymity(worlds: Iterable[World], observe: Observe, choice: Hashable, *, insiders: Collection[int] = ()) -> int:
    """Smallest number of players who may have made the choice, over the worlds where anybody may; 0 if nobody ever may.

    >>> votes = [(a, b, c) for a in "yn" for b in "yn" for c in "yn"]
    >>> player_anonymity(votes, lambda w: w.count("y"), "y"), player_anonymity(votes, lambda w: w.count("y"), "y", insiders=[2])
    (3, 2)
    """
    listed = _worlds(worlds)
    results = [player_anonymity_at(listed, observe, choice, x, insiders=insiders) for x in listed]
    return min((n for n in results if n > 0), default=0)


def knows(
    worlds: Iterable[World], observe: Observe, x: World, fact: Callable[[World], bool], *, insiders: Collection[int] = ()
) -> bool:
    """Whether the observer of world ``x`` knows the fact: it holds in every world that looks the same.

    >>> votes = [(a, b) for a in "yn" for b in "yn"]
    >>> knows(votes, lambda w: w.count("y"), ("y", "y"), lambda w: w[0] == "y")
    True
    """
    return all(fact(v) for v in _alike(_worlds(worlds), observe, insiders, x))


def is_permutation_invariant(
    traces: Iterable[Sequence[Hashable]], users: Sequence[Hashable], *, transpositions: bool | None = None
) -> bool:
    """Whether the set of observable traces stays the same under every renaming of the users.

    Swaps of two users generate every renaming, so they are enough; ``transpositions=False`` tries all renamings one by one
    (at most 8 users).

    >>> is_permutation_invariant([("a", "sent"), ("b", "sent")], ["a", "b"])
    True
    >>> is_permutation_invariant([("a", "sent")], ["a", "b"])
    False
    """
    observed = {tuple(t) for t in traces}
    names = list(users)
    if len(set(names)) != len(names) or len(names) < 1:
        raise UsageError("users must be named once each.", hint="Pass the labels of all users.")
    if transpositions is False:
        if len(names) > MOST_USERS:
            raise UsageError(f"{len(names)} users have too many renamings.", hint="Use swaps: transpositions=True.")
        renamings: Iterable[Mapping[Hashable, Hashable]] = (dict(zip(names, p, strict=True)) for p in permutations(names))
    else:
        renamings = ({a: b, b: a} for a, b in combinations(names, 2))
    return all({tuple(r.get(x, x) for x in t) for t in observed} == observed for r in renamings)

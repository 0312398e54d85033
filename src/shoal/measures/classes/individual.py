r"""Individual risk of Benedetti and Franconi: the risk of a sampled record, from sampling weights.

A class with :math:`f` records in the sample has an unknown size :math:`F` in the population. Given :math:`f`,
:math:`F` is taken as negative binomial with success chance :math:`p = f/\hat F`, where :math:`\hat F` is the sum of the
sampling weights in the class; the risk is

.. math:: r = E[1/F \mid f] = \frac{p^f}{f}\,{}_2F_1(f, f; f+1; 1-p) = \frac{p}{f}\,{}_2F_1(1, 1; f+1; 1-p).

The second form is :math:`\int_0^1 u^{f-1} p/(p+(1-p)u)\,du`: a series of positive terms, and a recursion in :math:`f` that
starts from :math:`r = \frac{p}{1-p}\ln\frac1p` for a sample unique. One of the two is short and stable for every p and f.

Source   METHODS §33; Benedetti & Franconi 1998; Capobianchi, Polettini & Lucarelli 2001
Differs  exact for every f (a common package approximates f > 3 and, by default, all f)

What an attacker may learn, weighed by what it is worth: chance times impact.

From the class of a person an attacker guesses its most common value of a sensitive column, and is right with the largest share
of a value in the class (1 where all are alike, never below one over the size of the class). With a weight :math:`w_s` for each
column, a person's expected impact is :math:`\sum_sw_s\max_vp(v\mid c)`. *Without the table* the guess is the most common value of
all: :math:`\sum_sw_s\max_vp(v)`. The difference is what the classes add.

Takes    ClassCounts with sensitive columns, and a weight of at least 0 per column (any unit; 0 leaves a column out)
Keeps    without ≤ mean ≤ max ≤ worth, the sum of the weights
Source   Harel, Shabtai, Rokach & Elovici 2012 (M-score: weights of values); risk as chance times impact

Risk of households: the chance that at least one member is named, since one named member names the others.

With members at risk :math:`r_i`, named independently of each other, the household's is :math:`1-\prod_i(1-r_i)`, and every member
has it. A household without an identifier (a missing value) is one person.

Source   Templ, Kowarik & Meindl 2015 (sdcMicro, hierarchical risk); Hundepool et al. 2012 §3.3
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, InternalError, UsageError
from shoal.kernels.group import Memberships, sum_by
from shoal.kernels.text import canonical_text
from shoal.measures.classes.missing import adds_up
from shoal.model.counts.classes import ClassCounts, FloatArray, IntArray, SensitiveCounts

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Impact:
    """``mean`` and ``max`` expected impact of a person, ``without`` the table, ``worth``: all is known; ``chances`` by column."""

    mean: float
    max: float
    without: float
    worth: float
    chances: Mapping[str, float]
    """Mean chance that the value of a column is guessed."""
    weights: Mapping[str, float]

    @property
    def sentence(self) -> str:
        return (
            f"Chance times impact: {self.mean:.4g} of {self.worth:.4g} for a person on average, {self.max:.4g} at worst; "
            f"{self.without:.4g} by guessing without the table."
        )

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "sentence": self.sentence}


def impact(counts: ClassCounts, weights: Mapping[str, float]) -> Impact:
    """Expected impact over all members of all classes.

    >>> ill = SensitiveCounts.from_dense("ill", [[2, 0], [1, 1]])
    >>> found = impact(ClassCounts((2, 2), sensitive={"ill": ill}), {"ill": 4})
    >>> found.mean, found.max, found.without, found.worth
    (3.0, 4.0, 3.0, 4.0)
    """
    checked = _check_weights(counts, weights)
    sizes = np.asarray(counts.sizes, dtype=np.float64)
    each = np.zeros(len(sizes))
    without, chances = 0.0, {}
    for name, weight in checked.items():
        chance = guessed(counts.sensitive[name], len(sizes))
        chances[name] = float((sizes * chance).sum() / sizes.sum())
        each += weight * chance
        without += weight * _most_common(counts.sensitive[name])
    mean = float((sizes * each).sum() / sizes.sum())
    return Impact(mean, float(each.max()), without, math.fsum(checked.values()), chances, checked)


def guessed(counts: SensitiveCounts, classes: int) -> FloatArray:
    """For each class the largest share of one value.

    >>> guessed(SensitiveCounts.from_dense("ill", [[2, 0], [1, 3]]), 2).tolist()
    [1.0, 0.75]
    """
    most, total = np.zeros(classes), np.zeros(classes)
    np.maximum.at(most, counts.classes, counts.counts)
    np.add.at(total, counts.classes, counts.counts)
    return np.divide(most, total, out=np.zeros(classes), where=total > 0)


def _most_common(counts: SensitiveCounts) -> float:
    _, place = np.unique(counts.values, return_inverse=True)
    totals = np.bincount(place.ravel(), weights=counts.counts)
    return float(totals.max() / totals.sum())


def _check_weights(counts: ClassCounts, weights: Mapping[str, float]) -> dict[str, float]:
    out = {}
    for name, weight in weights.items():
        if name not in counts.sensitive:
            raise UsageError(f"an impact is given for '{name}', which is not sensitive.", hint="Name it with --sensitive, too.")
        value = float(weight)
        if not math.isfinite(value) or value < 0:
            raise UsageError("an impact is a number of at least 0.", hint="For example diagnosis=5,income=1.")
        out[name] = value
    if not any(out.values()):
        raise UsageError("no impact is above 0.", hint="For example diagnosis=5,income=1.")
    return out


@dataclass(frozen=True, eq=False, repr=False)
class HouseholdRisk:
    """``risk`` of each household, its number of ``members``, and ``of_record``: the household of each record."""

    risk: FloatArray
    members: IntArray
    of_record: IntArray

    def __repr__(self) -> str:
        return f"<HouseholdRisk of {self.risk.size:,} households: mean {self.mean:.4g}, largest {self.max:.4g}>"

    @property
    def mean(self) -> float:
        """Mean over households."""
        return float(self.risk.mean())

    @property
    def max(self) -> float:
        return float(self.risk.max())

    @property
    def expected(self) -> float:
        """Expected number of people who live with somebody who is named, or are named."""
        return float((self.risk * self.members).sum())

    @property
    def per_record(self) -> FloatArray:
        """The household's risk for each record."""
        return np.asarray(self.risk[self.of_record])

    def to_json(self) -> dict[str, object]:
        return {
            "households": int(self.risk.size),
            "largest": int(self.members.max()),
            "mean": self.mean,
            "max": self.max,
            "expected_people": self.expected,
        }


def household_risk(risk: npt.ArrayLike, households: Sequence[pa.Array]) -> HouseholdRisk:
    """Risk of each household from the risk of each record.

    ``households`` has the household of each record: values, None for a person alone; or batches of Arrow arrays.

    >>> h = household_risk([0.5, 0.5, 0.1], ["a", "a", None])
    >>> h.per_record.tolist(), round(h.expected, 6)
    ([0.75, 0.75, 0.1], 1.6)
    """
    r = np.asarray(risk, dtype=np.float64)
    ids = _codes(households)
    if ids.size != r.size or r.size == 0:
        raise DataError("every record needs a risk and a household.", hint="A missing household is a person alone.")
    if not bool(np.all((r >= 0) & (r <= 1))):
        raise DataError("risks lie between 0 and 1.", hint="Pass one chance per record.")
    alone = ids < 0
    ids = ids.copy()
    ids[alone] = (int(ids.max()) if ids.size else -1) + 1 + np.arange(int(alone.sum()))
    home = np.unique(ids, return_inverse=True)[1].ravel().astype(np.int64)
    with np.errstate(divide="ignore"):
        logs = np.log1p(-r)
    joined = np.zeros(int(home.max()) + 1)
    np.add.at(joined, home, logs)
    return HouseholdRisk(-np.expm1(joined), np.bincount(home).astype(np.int64), home)


def _codes(households: Sequence[pa.Array]) -> IntArray:
    """A number per household, -1 for none."""
    import pyarrow as pa

    arrow = (pa.Array, pa.ChunkedArray)
    if len(households) and isinstance(households[0], arrow):
        pieces = [c for h in households for c in (h.chunks if isinstance(h, pa.ChunkedArray) else [h])]
        values = pa.chunked_array(pieces).combine_chunks()
    else:
        values = pa.array(list(households))
    encoded = values.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64))


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

    def to_json(self) -> dict[str, object]:
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
    rows = counts.records_by_class
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
        n = int(short.sum())
        scaled = abs(float(big.sum()) / float(f.sum()) - 1) < 0.01
        scaled_hint = " These weights have mean 1: multiply each by the people per record, population ÷ sample." if scaled else ""
        what = f"the sampling weights of {n} {'class adds' if n == 1 else 'classes add'} up to fewer people than the sample has."
        raise DataError(what, hint=f"A weight says how many people a record stands for: at least 1.{scaled_hint}")
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


MOST_VALUES = 50
"""Columns with more values than this make no groups that one would name."""


@dataclass(frozen=True)
class ExposedGroup:
    """A group of people: those with one value of one column; how many there are, and how many of them are one of a kind."""

    column: str
    group: str
    people: int
    unique: int

    @property
    def share(self) -> float:
        return self.unique / self.people


def most_exposed_groups(counts: ClassCounts, *, least: int, most: int = 8) -> list[ExposedGroup]:
    """The groups with the largest share, largest first; only groups of at least ``least`` people.

    >>> import pyarrow as pa
    >>> names = (pa.array(["f", "m"]), pa.array([30, 40]))
    >>> c = ClassCounts((1, 1, 4), columns=("sex", "age"), codes=([0, 0, 1], [0, 1, 1]), categories=names)
    >>> [(h.column, h.group, h.people, h.unique) for h in most_exposed_groups(c, least=2)]
    [('sex', 'f', 2, 2), ('age', '40', 5, 1), ('sex', 'm', 4, 0)]
    """
    if not adds_up(counts) or not counts.codes or not counts.categories:
        return []
    alone = np.where(counts.sizes == 1, 1, 0)
    groups: list[ExposedGroup] = []
    for name, codes, values in zip(counts.columns, counts.codes, counts.categories, strict=True):
        if not 2 <= len(values) <= MOST_VALUES:
            continue
        names = ["missing", *canonical_text(values).to_pylist()]
        people, unique = (sum_by(codes + 1, part, len(names)) for part in (counts.sizes, alone))
        groups += [ExposedGroup(name, names[i], int(people[i]), int(unique[i])) for i in np.flatnonzero(people >= least)]
    return sorted(groups, key=lambda h: (-h.share, -h.people, h.column, h.group))[:most]


TRIES = 200


@dataclass(frozen=True)
class InventedPerson:
    """Values by column, and how many people of the table share them up to each; None if fewer than may be shown."""

    values: tuple[tuple[str, str], ...]
    crowds: tuple[int | None, ...]


def invented_person(counts: ClassCounts, *, least: int, rng: np.random.Generator) -> InventedPerson | None:
    """A person who is not in the table; None where no such combination of common values was found.

    >>> import pyarrow as pa
    >>> names = (pa.array(["f", "m"]), pa.array(["nurse", "cook"]))
    >>> c = ClassCounts((5, 5), columns=("sex", "job"), codes=([0, 1], [0, 1]), categories=names)
    >>> one = invented_person(c, least=5, rng=np.random.default_rng(1))
    >>> sorted(v for _, v in one.values) in (["cook", "f"], ["m", "nurse"]), one.crowds[1]
    (True, None)
    """
    if not adds_up(counts) or not counts.codes or not counts.categories:
        return None
    common = []
    for codes, values in zip(counts.codes, counts.categories, strict=True):
        people = sum_by(codes + 1, counts.sizes, len(values) + 1)[1:]
        common.append(np.flatnonzero(people >= least))
    if any(not len(some) for some in common):
        return None
    order = sorted(range(len(common)), key=lambda j: len(counts.categories[j]))
    for _ in range(TRIES):
        drawn = [int(rng.choice(some)) for some in common]
        crowds, here = [], np.ones(counts.n_classes, dtype=bool)
        for j in order:
            here &= counts.codes[j] == drawn[j]
            crowds.append(int(counts.sizes[here].sum()))
        if crowds[-1] == 0:
            answers = tuple((counts.columns[j], str(canonical_text(counts.categories[j])[drawn[j]])) for j in order)
            return InventedPerson(answers, tuple(n if n >= least else None for n in crowds))
    return None


def unique_shares(counts: ClassCounts, sizes: Sequence[int]) -> list[float]:
    r"""Expected share who are one of a kind in a group of each size, drawn by chance from everybody, nobody twice.

    Anyone who is in a class of :math:`n_c` of :math:`N` people is alone in a group of :math:`g` with chance

    .. math:: \binom{N - n_c}{g - 1} \Big/ \binom{N - 1}{g - 1},

    and the share is its mean over everybody. At :math:`g = N` it is the share that is one of a kind now; in a group of one
    everybody is.

    >>> [round(share, 9) for share in unique_shares(ClassCounts((1, 1, 2)), (1, 2, 4))]
    [1.0, 0.833333333, 0.5]
    """
    n, times = np.unique(np.asarray(counts.sizes, dtype=np.int64), return_counts=True)
    total = int((n * times).sum())
    wrong = [g for g in sizes if not 1 <= g <= total]
    if wrong:
        raise UsageError(f"a group has 1 to {total:,} people; found {wrong[0]}.", hint="Ask for a smaller group.")
    weights = n * times / total
    out = []
    for g in sizes:
        possible = total - n >= g - 1
        few = n[possible]
        others = (total - few).tolist()  # outside the person's class
        ways = [math.lgamma(m + 1) - math.lgamma(m - g + 2) for m in others]
        log = np.array(ways) - math.lgamma(total) + math.lgamma(total - g + 1)
        out.append(float(min(1.0, (weights[possible] * np.exp(np.minimum(log, 0.0))).sum())))
    return out

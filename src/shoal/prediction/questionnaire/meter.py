"""The mathematics of the questionnaire meter: unique share, crowds, smallest group (its range: :mod:`._dependence`)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.model.display import as_percent, at_most
from shoal.model.estimate import Estimate, Grade
from shoal.prediction.attributes import loggrid as _loggrid
from shoal.prediction.attributes.loggrid import Factor
from shoal.prediction.distribution import Distribution, Floats
from shoal.prediction.questionnaire.branches import Branches
from shoal.prediction.questionnaire.questions import QuestionBlock

Block = QuestionBlock | Branches
"""Questions whose answers belong together."""

ENUMERATE = 60_000
COARSE = 1 << 11
LEAST_SHARE = 1e-300
"""Share of a combination of answers so rare that a float would call it 0."""
POISSON = 1e9
"""Shape of a gamma distribution that hardly varies."""
ANYTHING = 0.95
"""Width of a range that says nothing."""
SIZES_ONLY = ("uniform", "kappa", "guess")
"""Sources of a question of whose answers little more than the number is known."""
LISTED = 10
"""Answers of a question that count where it is compared with questions of real tables: of long lists most are rare."""
SEEN_IN_TABLES = {1000: 0.08, 10_000: 0.10, 1_000_000: 0.30, 10**9: 0.50}
"""Combinations of answers per respondent, and the smallest share of unique people seen in any set of questions with so many: of
17,500 sets of questions of 11 public tables, 100 to 10,000 people each (``benchmarks/predict_meter``)."""


def parts(blocks: Sequence[Block], chosen: Sequence[str]) -> list[tuple[Distribution, Factor]]:
    """One factor per block that holds a chosen question."""
    wanted = set(chosen)
    return [b.part(chosen) for b in blocks if wanted.intersection(b.names)]


def unique_share(
    pieces: Sequence[tuple[Distribution, Factor]], people: int, *, points: int = _loggrid.POINTS, listed: int = ENUMERATE
) -> tuple[float, float]:
    """Expected share of ``people`` that is unique when the pieces are independent, and the numeric error."""
    return unique_shares(pieces, [people], points=points, listed=listed)[0]


def unique_shares(
    pieces: Sequence[tuple[Distribution, Factor]],
    groups: Sequence[int],
    *,
    points: int = _loggrid.POINTS,
    listed: int = ENUMERATE,
) -> list[tuple[float, float]]:
    """:func:`unique_share` for several group sizes with one convolution."""
    factors = [f for _, f in pieces if f.y.size > 1 or f.base > 0]
    if not factors:
        return [(float(n <= 1) if n else 0.0, 0.0) for n in groups]
    small = math.prod(f.y.size for f in factors) <= listed
    product = None if small else _loggrid.Product.of(factors, points=points)
    out = []
    for n in groups:
        if n <= 1:
            out.append((float(n), 0.0))
        elif product is None:
            out.append((_loggrid.enumerate_cells(factors, _loggrid.alone(n)), 1e-14))
        else:
            value, error = product.expect(_loggrid.alone(n))
            out.append((min(1.0, value), error))
    return out


def entropy(pieces: Sequence[tuple[Distribution, Factor]]) -> float:
    """Entropy of the answers together, in nats."""
    return sum(d.entropy for d, _ in pieces)


def collision(pieces: Sequence[tuple[Distribution, Factor]]) -> float:
    """Probability that two people give the same answers."""
    return math.prod(d.power_sum(2) for d, _ in pieces)


def likelihoods(pieces: Sequence[tuple[Distribution, Factor]]) -> tuple[Floats, Floats]:
    """Shares of combinations of answers, on a grid, and how many people have one of about this share."""
    product = _loggrid.Product.of([f for _, f in pieces if f.y.size > 1 or f.base > 0], points=COARSE)
    keep = product.mass > 1e-15
    return np.maximum(np.exp(-(product.base + product.grid.places)[keep]), LEAST_SHARE), product.mass[keep]


def smallest_group(pieces: Sequence[tuple[Distribution, Factor]], people: int) -> Estimate:
    """Expected size of the smallest group of respondents with the same answers, with its 5 % and 95 % points.

    Cells are taken as independent Poisson counts.
    """
    name = "Poisson counts per cell"
    if people == 0:
        return Estimate.exact(0.0, method="nobody")
    factors = [f for _, f in pieces if f.y.size > 1 or f.base > 0]
    if not factors:
        return Estimate.exact(float(people), method="one group")
    p, mass = likelihoods(pieces)
    sizes = np.unique(np.rint(np.geomspace(1, people, 48)).astype(np.int64))
    chance = np.zeros(sizes.size)  # P(smallest > j)
    for i, j in enumerate(sizes.tolist()):
        chance[i] = _none_up_to(j, people * p, mass / p)
        if chance[i] < 1e-9:
            break
    chance = np.minimum.accumulate(chance)
    steps = np.concatenate(([0], sizes))
    tail = np.concatenate(([1.0], chance))
    mean = float(np.sum(np.diff(steps) * 0.5 * (tail[:-1] + tail[1:]))) + 0.5
    low, high = (float(np.interp(-q, -tail, steps)) for q in (0.95, 0.05))
    sure = float((mass / p)[people * p >= 30].sum())  # cells that nobody leaves empty share the people out
    most = max(1.0, people / max(1.0, sure - 1e-6))
    mean = min(most, max(1.0, mean))
    low, high = max(1.0, min(low, mean)), min(most, max(high, mean))
    if chance[0] < 1e-6:
        return Estimate(1.0, 1.0, 1.0, level=0.9, method=name, grade="B")
    return Estimate(mean, low, high, level=0.9, method=name, grade="B")


def _none_up_to(j: int, x: Floats, cells: Floats) -> float:
    """P(no cell holds 1..j people) for cells with mean x, ``cells`` many of each."""
    from shoal.kernels.scipy.special import gammainc

    some = -np.expm1(-x) - gammainc(j + 1, x)
    with np.errstate(divide="ignore"):
        log_none = np.log1p(-np.clip(some, 0.0, 1.0))
    return math.exp(max(-745.0, float((cells * log_none).sum())))


def grade_of(sources: Sequence[str], blocks: int, *, independence_known: bool, assumed: bool) -> Grade:
    """A: everything known; B: from a registry; C: only sizes for some question, or independence or a form of dependence assumed.

    An assumed dependence has no limits of validity inside which the value could be trusted.
    """
    if any(s in SIZES_ONLY for s in sources) or assumed or (blocks > 1 and not independence_known):
        return "C"
    return "A" if all(s == "given" for s in sources) else "B"


def smallest_group_of_any(pieces: Sequence[tuple[Distribution, Factor]], people: int) -> Estimate:
    """The same where the pieces may depend on each other: never above the smallest group by one piece alone, and grade C.

    More questions only split groups, so each piece alone bounds the group of all of them from above, for any dependence.
    """
    guess = smallest_group(pieces, people)
    most = min(smallest_group([piece], people).high for piece in pieces)
    value = min(guess.value, most)
    notes = ("unlinked questions are taken as independent; the range holds for every dependence",)
    return Estimate(value, min(1.0, value), most, level=guess.level, method=guess.method, grade="C", notes=notes)


def rank(blocks: Sequence[Block], names: Sequence[str], people: int, size: int) -> list[tuple[tuple[str, ...], float]]:
    """Every set of ``size`` questions with its unique share, most identifying first."""
    subsets = itertools.combinations(names, size)
    sets = [(subset, unique_share(parts(blocks, subset), people, points=COARSE, listed=2000)[0]) for subset in subsets]
    return sorted(sets, key=lambda item: (-item[1], item[0]))


def fewest(shares: Callable[[Sequence[int]], list[float]], population: int, target: float) -> int | None:
    """The smallest number of people, to three digits, for which a falling share is within the target."""
    low, high = 1, population  # the smallest number lies between them
    for _ in range(5):
        sizes = sorted({min(high, max(low, round(x))) for x in np.geomspace(low, high, 6)})
        meets = [share <= target for share in shares(sizes)]
        if not any(meets):
            return None
        first = meets.index(True)
        low, high = sizes[max(first - 1, 0)], sizes[first]
    return high


def verdict(share: Estimate, target: float) -> str:
    """``within`` a target or ``beyond`` it, for every value of a range; else ``not known``."""
    return "within" if share.high <= target else "beyond" if share.low > target else "not known"


def seen_in_tables(asked: Sequence[tuple[int, float]], people: int) -> tuple[int, float]:
    """How many combinations per respondent questions have at least, and the smallest share of unique people seen with so many.

    ``asked``: the number of answers of each question, and the share of people who are asked it; (0, 0.0) where little was seen.

    >>> seen_in_tables([(10, 1.0)] * 5 + [(121, 1.0)], 1000), seen_in_tables([(10, 0.5)] * 8, 1000)
    ((1000, 0.08), (0, 0.0))
    """
    digits = sum(share * math.log10(min(answers, LISTED)) for answers, share in asked) - math.log10(max(1, people))
    return max(((many, least) for many, least in SEEN_IN_TABLES.items() if digits >= math.log10(many) - 1e-9), default=(0, 0.0))


def confidence(share: Estimate) -> str:
    """How sure a range is, in words; nothing if it holds for certain."""
    return "" if share.level >= 1 else f" (with a confidence of {share.level:.0%})"


def about_percent(share: float) -> str:
    """A share that is an estimate: about 12 %, over 99.9 %."""
    text = as_percent(share)
    return text if text.startswith(("over", "under")) else f"about {text}"


@dataclass(frozen=True)
class WaterfallStep:
    """The waterfall after one question: typical and mean crowd in the population, unique share of the respondents."""

    question: str
    crowd: float
    mean_crowd: float
    unique: float
    factor: float


@dataclass(frozen=True, repr=False)
class Meter:
    """What the questionnaire would reveal."""

    unique: Estimate
    population_unique: Estimate
    smallest_group: Estimate
    crowd: float
    waterfall: tuple[WaterfallStep, ...]
    pairs: tuple[tuple[tuple[str, ...], float], ...]
    triples: tuple[tuple[tuple[str, ...], float], ...]
    warnings: tuple[str, ...]
    target: float
    combinations: float
    respondents: int = 0
    surely_known: Estimate | None = None
    """The unique share by the questions that others surely know, where it is open whether they know some of the others."""
    every_answer: Estimate | None = None
    """The unique share by every answer, where some questions do not count because others do not know the answers."""
    would_tell: str = ""
    open_questions: tuple[str, ...] = ()
    """Questions with open answers, which do not count though others may know the answers."""
    sizes_only: bool = False
    matters: tuple[str, ...] = ()
    """The three questions that divide people most, where there are more; ``by_these`` the unique share by them alone."""
    by_these: float = 0.0
    seen: tuple[int, float] = (0, 0.0)
    """Combinations of answers per respondent, and the smallest share of unique people in real tables with so many."""
    evidence: str = ""
    """What the share rests on: how a registry's records fit, a pilot, known shares, or independence."""
    as_guessed: tuple[float, float] | None = None
    """The least and the largest share if guessed shares of answers were the true ones, where no other shares are missing."""
    pilot: Mapping[str, Any] | None = None
    """People, model and scores of the pilot that the shares rest on."""

    def __repr__(self) -> str:
        asked = f"{len(self.waterfall)} questions"
        return f"<Meter of {asked}: {self.unique.value:.4g} of the respondents unique, target {self.target:g}, {self.light}>"

    @property
    def reached(self) -> bool:
        """Whether the expected share is within the target."""
        return self.unique.value <= self.target

    @property
    def verdict(self) -> str:
        """``within`` the target or ``beyond`` it, for every value that what is known allows; else ``not known``.

        With open answers that others may know, it is never ``within``.
        """
        judged = verdict(self.unique, self.target)
        return "not known" if judged == "within" and self.open_questions else judged

    @property
    def likely(self) -> str:
        """``beyond`` if the verdict is not known, but no set of questions of real tables as fine as these met the target."""
        missed = self.evidence == "independence" and min(self.seen[1], self.unique.value) > self.target
        return "beyond" if missed and self.verdict == "not known" else ""

    @property
    def sentence(self) -> str:
        """The result in a sentence or two that one may act on."""
        u, target = self.unique, as_percent(self.target)
        people = f"{self.respondents:,} respondents"
        sure = confidence(u)
        if self.verdict == "within":
            return f"Within the target of {target}: {at_most(u.high)} of {people} would be one of a kind{sure}."
        if self.verdict == "beyond":
            about = f"{about_percent(u.value)}, " if u.value > u.low else ""
            return f"Beyond the target of {target}: {about}at least {as_percent(u.low)} of {people} would be one of a kind{sure}."
        if u.high <= self.target:
            listed = ", ".join(self.open_questions[:3]) + (" …" if len(self.open_questions) > 3 else "")
            closed = f"{at_most(u.high)} of {people} would be one of a kind by the closed questions{sure}"
            tell = "What would tell: answers to choose from."
            return f"Not known whether the target of {target} is met: {closed}, but the answers of {listed} are open. {tell}"
        guess = f"{about_percent(u.value)} of {people} would be one of a kind"
        if self.evidence == "pilot":
            how = f"{guess}, judged by the pilot"
        elif self.evidence not in ("shares", "independence"):
            how = f"{guess}, by what is published ({self.evidence})"
        else:
            likely = (
                "answers had the shares noted below" if self.as_guessed else "answers without known shares were equally likely"
            )
            how = f"{guess} if {f'{likely} and ' if self.sizes_only else ''}the answers did not depend on each other"
        wide = u.high - u.low > ANYTHING
        rest = "what is known rules nothing out" if wide else f"between {as_percent(u.low)} and {as_percent(u.high)} is possible"
        if self.as_guessed:
            low, high = map(as_percent, self.as_guessed)
            rest += f", and between {low} and {high} if these shares are right, for any dependence between the answers"
        most = (
            f" {', '.join(self.matters)} divide people most: by them alone, {about_percent(self.by_these)}."
            if self.matters
            else ""
        )
        opens = f"Not known whether the target of {target} is met"
        if self.likely:
            opens, least = f"Not proven, but expect to miss the target of {target}", as_percent(self.seen[1])
            fine = f"{self.seen[0]:,} combinations of answers per respondent"
            rest = f"of 17,500 sets of questions in public tables none with {fine} had under {least}"
        return f"{opens}: {how}; {rest}.{most} What would tell: {self.would_tell}"

    @property
    def light(self) -> str:
        """green, amber or red, against the target; never green from sizes only, nor where the range of a grade C reaches it."""
        if not self.reached:
            return "red" if self.unique.value > 2 * self.target else "amber"
        doubtful = self.sizes_only or (self.unique.grade == "C" and self.unique.high >= self.target)
        return "amber" if doubtful else "green"

    def to_json(self) -> dict[str, Any]:
        """The unique share with its keys, and everything else beside it."""
        out = self.unique.to_json()
        out |= {
            **{name: getattr(self, name) for name in ("light", "verdict", "likely", "sentence", "would_tell", "evidence")},
            "as_guessed": self.as_guessed,
            "surely_known": None if self.surely_known is None else self.surely_known.to_json(),
            "every_answer": None if self.every_answer is None else self.every_answer.to_json(),
            "target": self.target,
            "reached": self.reached,
            "population_unique": self.population_unique.to_json(),
            "smallest_group": self.smallest_group.to_json(),
            "crowd": self.crowd,
            "combinations": self.combinations,
            "waterfall": [vars(s) for s in self.waterfall],
            "pairs": [{"questions": list(q), "unique": u} for q, u in self.pairs],
            "triples": [{"questions": list(q), "unique": u} for q, u in self.triples],
            "warnings": list(self.warnings),
        }
        return out if self.pilot is None else out | {"pilot": dict(self.pilot)}

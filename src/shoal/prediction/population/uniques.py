r"""Unique in the population, judged from a sample.

A sample of n out of N people, at rate :math:`\pi=n/N`; :math:`n_j` classes of size j in the sample. The headline is the
chance that a unique match is right (Skinner & Elliot), which needs no model and is the most reliable. The number of population
uniques needs a model; the models disagree by factors, and often all miss to the same side. So all are given with their spread,
never one as fact, inside the range that holds without a model: with U population uniques, :math:`\pi U` of the :math:`n_1` sample
uniques are theirs; the others come from classes of F ≥ 2, which show one sampled person at most
:math:`c=2(1-\pi)/\pi` times as often as two. Hence, in expectation, :math:`(n_1-c\,n_2)/\pi\le U\le n_1/\pi`.

Takes    sizes of the sample's classes, and the population size
Returns  :class:`PopulationEstimate`
Source   METHODS §33: Good–Turing; Skinner & Elliot 2002; Zayatz 1991; Ewens; Hoshino 2001 (Pitman); Chen & Keller-McNulty 1998
         (SNB); Bethlehem et al. 1990 (Poisson–gamma); Benedetti & Franconi 1998; Dankar et al. 2012 (choice)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np

from shoal.errors import UsageError
from shoal.model.estimate import Estimate, Grade
from shoal.prediction.distribution import fraction, whole
from shoal.prediction.population import class_size_models as models
from shoal.prediction.population.design import Design
from shoal.prediction.population.risk import PopulationRisk
from shoal.prediction.population.without_model import KNOWN, ONE_BY_ONE, few_pairs, lookalikes, uniques_range

MATCH = "unique match is right (Skinner & Elliot)"
NOT_DEFINED = "no class of the sample has one person: the chance that a unique match is right is not defined"


@dataclass(frozen=True)
class ModelEstimate:
    """What one model says: ``uniques`` in the population, or why it failed."""

    name: str
    uniques: float | None
    failed: str = ""
    parameters: Mapping[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.uniques is not None


@dataclass(frozen=True, repr=False)
class PopulationEstimate:
    """``match``: chance that a unique match is right; ``uniques``: in the population, with the range that needs no model."""

    sample_size: int
    population: int
    classes: int
    sample_uniques: int
    match: Estimate | None
    uniques: Estimate | None
    unseen_mass: float
    unique_risk: float
    models: tuple[ModelEstimate, ...]
    notes: tuple[str, ...] = ()
    fitted: PopulationRisk | None = None
    """Risk of each record from a fitted population, where a table was given."""

    def __repr__(self) -> str:
        sampled = f"{self.sample_size:,} of {self.population:,} people"
        return f"<PopulationEstimate from {sampled}: a unique match is right {self.match}; {len(self.models)} models>"

    def model(self, name: str) -> ModelEstimate:
        """The estimate of the named model."""
        for m in self.models:
            if m.name == name:
                return m
        raise _no_model(name)

    def to_json(self) -> dict[str, Any]:
        """The match probability with its keys, and everything else beside it."""
        out = dict(self.match.to_json()) if self.match else {"value": None, "low": None, "high": None, "grade": "C"}
        out.setdefault("method", MATCH)
        out |= {
            "population": self.population,
            "uniques": self.uniques.to_json() if self.uniques else None,
            "unseen_mass": self.unseen_mass,
            "risk_of_a_sample_unique": self.unique_risk,
            "models": {
                m.name: {"uniques": m.uniques, "failed": m.failed or None, "parameters": dict(m.parameters)} for m in self.models
            },
            "sample": {"people": self.sample_size, "classes": self.classes, "uniques": self.sample_uniques},
        }
        out |= {"notes": list(self.notes)} if self.notes else {}
        return out if self.fitted is None else out | {"fitted": self.fitted.to_json()}


def population(classes: Any, population_size: int, *, cells: int | None = None) -> PopulationEstimate:
    """Population uniqueness from the class sizes of a sample.

    ``classes`` is the list of class sizes, or a mapping size → number of classes. ``cells`` is the number of possible
    combinations, which only the Poisson–gamma model needs.

    >>> r = population({1: 120, 2: 25, 3: 10, 4: 6, 5: 3, 8: 2, 15: 1, 30: 1}, 5000)
    >>> round(r.match.value, 6), r.unseen_mass
    (0.132841, 0.4)
    >>> {m.name: round(m.uniques, 2) for m in r.models if m.ok}
    {'zayatz': 972.1, 'ewens': 152.08, 'pitman': 679.95, 'snb': 1144.21}
    >>> r.model("poisson-gamma").failed
    'the number of possible combinations (cells) was not given'
    """
    data = sampled_classes(classes, population_size)
    n, total, n1, n2 = data.people, data.population, data.n1, data.n2
    n3, rate = int(data.numbers[data.sizes == 3].sum()), n / total
    if n == total:
        done = Estimate.exact(1.0, method="the sample is the population")
        known = Estimate.exact(float(n1), method="counted", spread=[float(n1), float(n1)])
        return PopulationEstimate(n, total, data.classes, n1, done, known, 0.0, 1.0, ())
    fits = tuple(_try(name, fit, data, cells) for name, fit in models.MODELS)
    uniques = {m.name: m.uniques for m in fits}
    chosen, rule = dankar(uniques.get, rate, n1)
    ewens = "the fit is Ewens' law (alpha = 0): not a second opinion"  # Pitman's law at the boundary confirms nothing
    fits = tuple(
        replace(m, uniques=None, failed=ewens) if m.name == "pitman" and m.parameters.get("alpha", 1.0) <= 1e-6 else m
        for m in fits
    )
    match = match_probability(n1, n2, rate, n3=n3) if n1 else None
    unique, notes = _range_of(fits, chosen, rule, uniques_range(data)), (ONE_BY_ONE, *(() if n1 else (NOT_DEFINED,)))
    return PopulationEstimate(n, total, data.classes, n1, match, unique, n1 / n, sample_unique_risk(rate), fits, notes)


def sampled_classes(classes: Any, population_size: int) -> models.SampledClasses:
    """Class sizes as the models take them; an error where the sample is larger than the population."""
    sizes, numbers = _frequencies(classes)
    n, total = int((sizes * numbers).sum()), whole(population_size, what="population_size", least=1)
    if n > total:
        raise UsageError(f"the sample ({n}) is larger than the population ({total}).", hint="Check the population size.")
    n1, n2 = (int(numbers[sizes == j].sum()) for j in (1, 2))
    return models.SampledClasses(sizes, numbers, n, int(numbers.sum()), n1, n2, total)


def match_probability(n1: int, n2: int, rate: float, *, n3: int | None = None, level: float = 0.95) -> Estimate:
    r"""Chance that a unique match between a file and the sample is right, :math:`\pi n_1/(\pi n_1+c'n_2)`, :math:`c'=2(1-\pi)`.

    The true chance is :math:`n_1/(n_1+R)`, R the people of the population who look like a sample unique but were not sampled. R
    is estimated without bias by :math:`c\,n_2`, :math:`c=2(1-\pi)/\pi`; the interval takes classes as Poisson counts, so that
    :math:`\mathrm{Var}\ln(c\,n_2/R)\approx(1+1/c+\tfrac32n_3/n_2)/n_2`, and is widened where pairs are few. Where n3, the classes
    of three, is not given, n2 stands for it. How often it holds: ``benchmarks/interval_coverage``.

    >>> print(match_probability(120, 25, 0.06, n3=10))
    0.132841 [0.0829155, 0.219378] (95 %, grade B, unique match is right (Skinner & Elliot))
    """
    p = fraction(rate, what="rate")
    a, b = whole(n1, what="n1", least=1), whole(n2, what="n2")
    threes = b if n3 is None else whole(n3, what="n3")
    if p >= 1:
        return Estimate.exact(1.0, method=MATCH)
    if p == 0:
        raise UsageError("the sampling rate must be above 0.")

    return _match(a, b, threes, 2 * (1 - p) / p, level)


def match_by_design(n1: int, design: Design) -> Estimate:
    """The same for a sample with weights or clusters: R is estimated from the weights of the people in pairs."""
    return _match(n1, *design.pairs(), 0.95)


def _match(n1: int, pairs: float, threes: float, c: float, level: float) -> Estimate:
    """n1 sample uniques, and so many pairs that each stand for c people who look like one of them."""
    least, most = lookalikes(pairs, threes, c, (1 - level) / 2)
    few = n1 < KNOWN or few_pairs(pairs, threes)
    notes = ("no class of two in the sample",) if pairs == 0 else ("too few classes of one or of two people",) if few else ()
    value, grade = n1 / (n1 + c * pairs), "C" if few else "B"
    return Estimate(value, n1 / (n1 + most), n1 / (n1 + least), level=level, method=MATCH, grade=cast(Grade, grade), notes=notes)


def sample_unique_risk(rate: float) -> float:
    """Individual risk of a sample unique, pi/(1-pi) ln(1/pi).

    >>> round(sample_unique_risk(0.1), 7)
    0.2558428
    """
    p = fraction(rate, what="rate")
    if p in (0.0, 1.0):
        return p
    return p / (1 - p) * -math.log(p)


def estimate(name: str, data: models.SampledClasses) -> float | None:
    """Population uniques by one model; None where it cannot be fitted."""
    fits = dict(models.MODELS)
    if name not in fits:
        raise _no_model(name)
    return _try(name, fits[name], data, None).uniques


def _no_model(name: str) -> UsageError:
    return UsageError(f"no model '{name}'.", hint="Models: " + ", ".join(m for m, _ in models.MODELS) + ".")


def _try(name: str, fit: Any, data: models.SampledClasses, cells: int | None) -> ModelEstimate:
    try:
        uniques, parameters = fit(data, cells)
    except models.NoFit as reason:
        return ModelEstimate(name, None, str(reason))
    if not math.isfinite(uniques) or uniques < 0:
        return ModelEstimate(name, None, "the fit gave no finite number", parameters)
    return ModelEstimate(name, min(uniques, float(data.population)), "", parameters)


def dankar(uniques: Callable[[str], float | None], rate: float, n1: int) -> tuple[float | None, str]:
    """Dankar et al.: up to a tenth sampled Pitman (else Zayatz); beyond, the smaller of Zayatz and SNB.

    ``uniques`` is asked for the models that matter only.
    """
    if n1 == 0:
        return 0.0, "no sample uniques"
    if rate <= 0.1:
        estimate = uniques("pitman")
        return (estimate, "pitman") if estimate is not None else (uniques("zayatz"), "zayatz")
    usable = [(value, name) for name in ("zayatz", "snb") if (value := uniques(name)) is not None]
    return min(usable, key=lambda u: u[0], default=(None, ""))


def _range_of(fits: tuple[ModelEstimate, ...], chosen: float | None, rule: str, bounds: tuple[float, float]) -> Estimate | None:
    """The chosen model's number in the range that needs no model; the models' spread beside it."""
    if chosen is None:
        return None
    values = [m.uniques for m in fits if m.uniques is not None] or [chosen]
    low, high = min(chosen, bounds[0]), max(chosen, bounds[1])
    notes = ["the range holds without a model; the value is one model's and may be off by a factor"]
    if not bounds[0] <= chosen <= bounds[1]:
        notes.append("the value lies outside what the sample leaves plausible")
    notes += [f"{m.name} failed: {m.failed}" for m in fits if not m.ok]
    grade, details = "B" if 0 < high <= 2 * low else "C", {"spread": [min(values), max(values)]}
    method = f"Dankar's rule ({rule})"
    return Estimate(chosen, low, high, method=method, grade=cast(Grade, grade), notes=tuple(notes), details=details)


def _frequencies(classes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Distinct class sizes and how many classes have each."""
    if isinstance(classes, Mapping):
        sizes = np.array([whole(s, what="a class size", least=1) for s in classes], dtype=np.int64)
        numbers = np.array([whole(c, what="a number of classes") for c in classes.values()], dtype=np.int64)
        order = np.argsort(sizes)
        sizes, numbers = sizes[order], numbers[order]
        sizes, numbers = sizes[numbers > 0], numbers[numbers > 0]
    else:
        raw = np.asarray(classes)
        if raw.size and (raw.dtype.kind not in "iuf" or not bool(np.all(raw == np.floor(raw))) or raw.min() < 0):
            raise UsageError("class sizes must be whole numbers of at least 0.")
        sizes, numbers = np.unique(raw[raw > 0].astype(np.int64), return_counts=True)
    if sizes.size == 0:
        raise UsageError("the sample is empty.", hint="Give the sizes of its classes.")
    return sizes, numbers


def unique_share(sizes: Mapping[int, int], people: int, method: str = "dankar") -> float:
    """Estimated population uniques over the population, from a table of class sizes; 1 where no model fits. Only the models
    that the method asks for are fitted.

    Where no class has one member, models that start from sample uniques say 0, as Dankar's rule does. Where the release is the
    whole population, uniques are counted.

    >>> unique_share({2: 5}, 1000), unique_share({1: 4, 2: 3}, 10)
    (0.0, 0.4)
    """
    return _share(tuple(sorted(sizes.items())), people, method)


@lru_cache(maxsize=4096)
def _share(classes: tuple[tuple[int, int], ...], people: int, method: str) -> float:
    data = sampled_classes(dict(classes), people)
    if data.people == people:
        return data.n1 / people
    if method == "dankar":
        uniques, _ = dankar(lambda name: estimate(name, data), data.people / people, data.n1)
    else:
        uniques = estimate(method, data)
        if uniques is None and data.n1 == 0:
            uniques = 0.0
    return 1.0 if uniques is None else min(1.0, uniques / people)

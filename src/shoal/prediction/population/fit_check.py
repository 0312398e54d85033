r"""Does a fitted population give the sample that was observed? A model that does not is refuted, and its intervals are not used.

Under the fit each combination is a gamma-mixed Poisson count, independent of the others. So the numbers of classes seen once,
twice … :data:`~.without_model.SEEN` times in samples of the fitted population have known means and covariances; no sample need
be simulated. The observed numbers are held against them by the quadratic distance, with the 1 % point of chi-squared.
"""

from __future__ import annotations

import numpy as np

from shoal.prediction.distribution import Floats
from shoal.prediction.population.models import Shares
from shoal.prediction.population.sample import Sample
from shoal.prediction.population.without_model import SEEN

FAR = 15.09
"""The 1 % point of chi-squared with five degrees of freedom."""
WORDS = ("one person", "two people", "three people", "four people", "five people")


def refutation(s: Sample, fitted: Shares, shape: float) -> str:
    """Why the sample refutes the fitted population; empty if it does not."""
    expected, spread = seen_moments(s.people, fitted, shape)
    spread = spread + np.diag(np.full(SEEN, 0.5))  # counts are whole: a half is no evidence
    observed = np.array([np.count_nonzero(s.sizes == j) for j in range(1, SEEN + 1)])
    gap = observed - expected
    if float(gap @ np.linalg.solve(spread, gap)) <= FAR:
        return ""
    worst = int(np.argmax(np.abs(gap) / np.sqrt(np.diag(spread))))
    return (
        f"the fitted population would give {expected[worst]:,.0f} classes of {WORDS[worst]} in such a sample; "
        f"{observed[worst]:,} were observed"
    )


def seen_moments(people: int, fitted: Shares, shape: float) -> tuple[Floats, Floats]:
    """Means and covariances of the numbers of classes that a sample of so many people shows once, twice … ``SEEN`` times."""
    from shoal.kernels.scipy.stats import nbinom

    mean = people * fitted.at
    chance = np.array([nbinom.pmf(j, shape, shape / (shape + mean)) for j in range(1, SEEN + 1)])
    parts = chance * fitted.numbers
    expected = parts.sum(axis=1)
    spread = np.diag(expected) - parts @ chance.T
    if fitted.drawn:  # the sums themselves are estimated by draws from the model
        spread = spread + parts.shape[1] * np.cov(parts)
    return expected, spread

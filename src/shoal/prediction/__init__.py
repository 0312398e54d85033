"""Predictions: how identifying will it be, before anything is collected.

* ``group``: a group of people and a distribution: all unique, how many unique, one person
* ``summaries``: the same when only κ or power sums were published
* ``attributes``: rounded and correlated values, quasi-identifiers by size, splitting cells over columns
* ``population``: unique in the population, judged from a sample
* ``zipf``: popular places, and how few records single a person out
* ``questionnaire``: the meter for questions not yet asked

>>> from shoal import predict
>>> round(predict.uniqueness(365, group_size=23).value, 6)
0.492703
>>> s = predict.singletons([0.4, 0.3, 0.2, 0.1], group_size=5)
>>> round(float(s.mean), 3)
1.357
"""

from shoal.prediction.attributes.allocation import (
    Budget,
    cell_budget,
    cell_failure,
    chernoff_failure,
    greedy_split,
    integer_split,
    people_per_cell,
    split,
)
from shoal.prediction.attributes.correlation import (
    bivariate_normal,
    frechet_bounds,
    gaussian_copula,
    multivariate_normal,
    mutual_information,
    population_uniqueness,
    rho_for_information,
)
from shoal.prediction.attributes.quasi_identifier import (
    QuasiTest,
    needed_combinations,
    quasi_test,
    rank_subsets,
    unique_share_bound,
)
from shoal.prediction.attributes.rounding import expansion, interval_singletons, rounded, sd_from_singletons, width_for
from shoal.prediction.distribution import Distribution, as_distribution, log_uniform
from shoal.prediction.group.pmf import no_singleton, no_singleton_table
from shoal.prediction.group.singletons import Singletons, best_code_size, largest_mean, singletons
from shoal.prediction.group.uniqueness import Degradation, Person, degradation, person, uniqueness
from shoal.prediction.population.risk import PopulationRisk, population_risk
from shoal.prediction.population.uniques import PopulationEstimate, match_probability, population, sample_unique_risk
from shoal.prediction.questionnaire.meter import Meter
from shoal.prediction.questionnaire.questionnaire import Questionnaire
from shoal.prediction.questionnaire.questions import Question
from shoal.prediction.questionnaire.suggest import Suggestion
from shoal.prediction.summaries.kappa import (
    corrected_kappa,
    groups_from_kappa,
    largest_possible_mean,
    singletons_from_kappa,
    uniqueness_from_kappa,
    variance_from_kappa,
)
from shoal.prediction.summaries.power_sums import uniqueness_from_power_sums
from shoal.prediction.zipf.records import (
    Zipf,
    ZipfFit,
    expected_share,
    fit_zipf,
    mean_rank,
    pseudonym_life,
    share_below,
    threshold_rank,
    uniform_records,
)

__all__ = [
    "Budget", "Degradation", "Distribution", "Meter", "Person", "PopulationEstimate", "PopulationRisk", "QuasiTest", "Question",
    "Questionnaire", "Singletons", "Suggestion", "Zipf", "ZipfFit", "as_distribution", "best_code_size", "bivariate_normal",
    "cell_budget", "cell_failure", "chernoff_failure", "corrected_kappa", "degradation", "expansion", "expected_share",
    "fit_zipf", "frechet_bounds", "gaussian_copula", "greedy_split", "groups_from_kappa", "integer_split",
    "interval_singletons", "largest_mean", "largest_possible_mean", "log_uniform", "match_probability", "mean_rank",
    "multivariate_normal", "mutual_information", "needed_combinations", "no_singleton", "no_singleton_table", "people_per_cell",
    "person", "population", "population_risk", "population_uniqueness", "pseudonym_life", "quasi_test", "rank_subsets",
    "rho_for_information", "rounded", "sample_unique_risk", "sd_from_singletons", "share_below", "singletons",
    "singletons_from_kappa", "split", "threshold_rank", "uniform_records", "unique_share_bound", "uniqueness",
    "uniqueness_from_kappa", "uniqueness_from_power_sums", "variance_from_kappa", "width_for",
]  # fmt: skip
